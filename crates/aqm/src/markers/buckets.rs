//! ## Token buckets
//! A bucket of `B` bytes is full at first and fills at its rate; a packet takes its bytes out of it, or does not fit.
//!
//! | marker | buckets | a packet is |
//! |---|---|---|
//! | `token_bucket` | CIR, CBS | green if it fits, else red |
//! | `srtcm` (RFC 2697) | CBS, and EBS filled by what CBS spills, both at CIR | green if it fits into the first, yellow into the second, else red |
//! | `trtcm` (RFC 2698) | PIR with PBS, CIR with CBS | red if it does not fit into the first; else yellow, taken from the first, if it does not fit into the second; else green, taken from both |
//!
//! With `refill` `token_bucket` gets its tokens all at once, at multiples of that time: with a bucket of five packets,
//! a rate of ten packets/s and a `refill` of 0.5 s, the first five packets of each half second are green.
//!
//! With `colour_aware` a packet's class gives its present colour, and it never gets a better one: yellow packets do not
//! try for green, red ones stay red.
//!
//! Sources: J. Heinanen, R. Guerin, "A single rate three color marker", RFC 2697, 1999, section 3; "A two rate three
//! color marker", RFC 2698, 1999, section 3. The single bucket is the leaky-bucket profile of D. Clark, W. Fang,
//! "Explicit allocation of best-effort packet delivery service", ToN 6(4), 1998.
//!
//! Differences: tokens are bytes in real numbers and are added at each arrival for the time since the last; the RFCs
//! add whole bytes, 1/CIR apart.

use super::spec::{burst, rate, Colour, MarkerSpec, Meter};
use crate::params::{Kind, Param, ParamError, Unit, Values};
use crate::random::Generator;
use crate::{Packet, Time};

const PROFILE: &str = "our choice: 1 Mbit/s, ten packets of 1500 B";
const AWARE: Param = Param::flag("colour_aware", false)
    .says("RFC 2697, RFC 2698: a mode", "Whether a packet's class bounds its colour.");
const CIR: Param = rate("cir", "CIR", 1e6, PROFILE, "Committed information rate.");
const CBS: Param = burst("cbs", "CBS", 15e3, PROFILE, "Committed burst size.");

const ONE: [Param; 3] = [
    CIR,
    CBS,
    Param::real("refill", Unit::Seconds, Kind::real(0.0, 1e6), 0.0).says(
        "our choice; 0: continuously, as Clark and Fang",
        "Time from one refill of the bucket to the next; 0: it fills all the time.",
    ),
];
const SINGLE_RATE: [Param; 4] = [CIR, CBS, burst("ebs", "EBS", 15e3, PROFILE, "Excess burst size."), AWARE];
const TWO_RATES: [Param; 5] = [
    CIR,
    CBS,
    rate("pir", "PIR", 2e6, "our choice: twice cir", "Peak information rate, at least cir."),
    burst("pbs", "PBS", 15e3, PROFILE, "Peak burst size."),
    AWARE,
];

/// One token bucket.
pub(super) const TOKEN_BUCKET: MarkerSpec = MarkerSpec {
    name: "token_bucket",
    title: "Token bucket",
    year: 1998,
    summary: "In profile while a token bucket has tokens, else out of it",
    source: "Clark, Fang: Explicit allocation of best-effort packet delivery service, ToN 6(4), 1998",
    own: &ONE,
    yellow: false,
    check: |_| Ok(()),
    build: |values| {
        let (bucket, refill) = (Bucket::new(values, &ONE, "cir", "cbs"), values.real(&ONE, "refill"));
        Box::new(Single { bucket, refill, refills: 0.0 })
    },
};

/// srTCM.
pub(super) const SRTCM: MarkerSpec = MarkerSpec {
    name: "srtcm",
    title: "srTCM",
    year: 1999,
    summary: "Single rate three color marker: a committed and an excess burst at one rate",
    source: "Heinanen, Guerin: A single rate three color marker, RFC 2697, 1999",
    own: &SINGLE_RATE,
    yellow: true,
    check: |values| {
        let real = |name| values.real(&SINGLE_RATE, name);
        if real("cbs") == 0.0 && real("ebs") == 0.0 {
            return Err(ParamError::new("ebs", 0, "more than 0 where cbs is 0 (RFC 2697, section 2)"));
        }
        Ok(())
    },
    build: |values| {
        Box::new(SingleRate {
            committed: Bucket::new(values, &SINGLE_RATE, "cir", "cbs"),
            excess: Bucket::new(values, &SINGLE_RATE, "cir", "ebs"),
        })
    },
};

/// trTCM.
pub(super) const TRTCM: MarkerSpec = MarkerSpec {
    name: "trtcm",
    title: "trTCM",
    year: 1999,
    summary: "Two rate three color marker: a committed rate and a peak rate",
    source: "Heinanen, Guerin: A two rate three color marker, RFC 2698, 1999",
    own: &TWO_RATES,
    yellow: true,
    check: |values| {
        let real = |name| values.real(&TWO_RATES, name);
        if real("pir") < real("cir") {
            return Err(ParamError::new("pir", real("pir"), format!("at least cir ({})", real("cir"))));
        }
        Ok(())
    },
    build: |values| {
        Box::new(TwoRates {
            peak: Bucket::new(values, &TWO_RATES, "pir", "pbs"),
            committed: Bucket::new(values, &TWO_RATES, "cir", "cbs"),
        })
    },
};

/// A token bucket.
struct Bucket {
    /// Bytes a second.
    rate: f64,
    /// Most bytes.
    size: f64,
    /// Bytes in the bucket.
    tokens: f64,
    /// When tokens were last added.
    filled: Time,
}

impl Bucket {
    fn new(values: &Values, declared: &[Param], rate: &str, size: &str) -> Self {
        let size = values.real(declared, size);
        Bucket { rate: values.real(declared, rate) / 8.0, size, tokens: size, filled: Time::ZERO }
    }

    /// Adds the tokens of the time since the last call; returns the bytes that did not fit.
    fn fill(&mut self, now: Time) -> f64 {
        let earned = self.rate * (now - self.filled);
        self.filled = now;
        self.add(earned)
    }

    /// Adds `bytes`; returns those that did not fit.
    fn add(&mut self, bytes: f64) -> f64 {
        let tokens = self.tokens + bytes;
        self.tokens = tokens.min(self.size);
        tokens - self.tokens
    }

    fn holds(&self, bytes: f64) -> bool {
        self.tokens >= bytes
    }
}

struct Single {
    bucket: Bucket,
    /// Time between two refills, s; 0 if the bucket fills all the time.
    refill: f64,
    /// Refills so far.
    refills: f64,
}

impl Meter for Single {
    fn colour(&mut self, packet: &Packet, _before: Option<Colour>, now: Time, _random: &mut Generator) -> Colour {
        let bytes = f64::from(packet.size);
        if self.refill > 0.0 {
            let refills = (now.seconds() / self.refill).floor();
            self.bucket.add(self.bucket.rate * self.refill * (refills - self.refills));
            self.refills = refills;
        } else {
            self.bucket.fill(now);
        }
        if self.bucket.holds(bytes) {
            self.bucket.tokens -= bytes;
            return Colour::Green;
        }
        Colour::Red
    }
}

struct SingleRate {
    /// Tc, the committed bucket.
    committed: Bucket,
    /// Te, the excess bucket: what Tc spills.
    excess: Bucket,
}

impl Meter for SingleRate {
    fn colour(&mut self, packet: &Packet, before: Option<Colour>, now: Time, _random: &mut Generator) -> Colour {
        let (bytes, before) = (f64::from(packet.size), before.unwrap_or(Colour::Green));
        let spilt = self.committed.fill(now);
        self.excess.add(spilt);
        if before == Colour::Green && self.committed.holds(bytes) {
            self.committed.tokens -= bytes;
            return Colour::Green;
        }
        if before <= Colour::Yellow && self.excess.holds(bytes) {
            self.excess.tokens -= bytes;
            return Colour::Yellow;
        }
        Colour::Red
    }
}

struct TwoRates {
    /// Tp, the peak bucket.
    peak: Bucket,
    /// Tc, the committed bucket.
    committed: Bucket,
}

impl Meter for TwoRates {
    fn colour(&mut self, packet: &Packet, before: Option<Colour>, now: Time, _random: &mut Generator) -> Colour {
        let (bytes, before) = (f64::from(packet.size), before.unwrap_or(Colour::Green));
        self.peak.fill(now);
        self.committed.fill(now);
        if before == Colour::Red || !self.peak.holds(bytes) {
            return Colour::Red;
        }
        self.peak.tokens -= bytes;
        if before == Colour::Yellow || !self.committed.holds(bytes) {
            return Colour::Yellow;
        }
        self.committed.tokens -= bytes;
        Colour::Green
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markers::find;
    use crate::params::Value;
    use Colour::{Green, Red, Yellow};

    fn meter(name: &str, pairs: &[(&'static str, f64)]) -> Box<dyn Meter> {
        let mut values = Values::new();
        for &(name, value) in pairs {
            values.set(name, Value::Real(value));
        }
        (find(name).unwrap().build)(&values)
    }

    fn colours(meter: &mut dyn Meter, before: Option<Colour>, at: &[(f64, u32)]) -> Vec<Colour> {
        let mut random = Generator::custom(|| panic!("a bucket draws no number"));
        let mut colour =
            |&(t, size): &(f64, u32)| meter.colour(&Packet::new(1, size), before, Time::from_seconds(t), &mut random);
        at.iter().map(&mut colour).collect()
    }

    /// The rate of 8 kbit/s is 1000 B/s.
    #[test]
    fn a_bucket_is_full_at_first_and_holds_just_its_size() {
        let mut one = meter("token_bucket", &[("cir", 8e3), ("cbs", 1500.0)]);
        let at = [(0.0, 1500), (0.0, 1), (0.999, 1000), (1.0, 1000), (1.0, 1), (100.0, 1501), (100.0, 1500)];
        assert_eq!(colours(&mut *one, None, &at), [Green, Red, Red, Green, Red, Red, Green]);
    }

    /// The first two packets of each half second are green, whatever came before.
    #[test]
    fn a_bucket_that_is_refilled_at_intervals_passes_the_first_packets_of_each() {
        let mut one = meter("token_bucket", &[("cir", 32e3), ("cbs", 2000.0), ("refill", 0.5)]);
        let at = [0.1, 0.2, 0.3, 0.499, 0.5, 0.9, 0.999, 1.2, 1.7, 1.8, 1.9].map(|t| (t, 1000));
        let found = colours(&mut *one, None, &at);
        assert_eq!(found, [Green, Green, Red, Red, Green, Green, Red, Green, Green, Green, Red]);
        // Refills are 500 B, a quarter of the bucket: after its first 2000 B only refills are green.
        let mut slow = meter("token_bucket", &[("cir", 8e3), ("cbs", 2000.0), ("refill", 0.5)]);
        let at = [(0.1, 2000), (0.6, 500), (0.7, 1), (1.1, 501), (1.2, 500), (1.3, 1)];
        assert_eq!(colours(&mut *slow, None, &at), [Green, Green, Red, Red, Green, Red]);
        let mut rounded = meter("token_bucket", &[("cir", 80e3), ("cbs", 1000.0), ("refill", 0.1)]);
        let at: Vec<(f64, u32)> = (0..1000).map(|i| (f64::from(i) * 0.1 + 0.01, 1000)).collect();
        assert!(colours(&mut *rounded, None, &at).iter().all(|&colour| colour == Green));
    }

    #[test]
    fn excess_tokens_are_what_the_committed_bucket_spills() {
        let mut sr = meter("srtcm", &[("cir", 8e3), ("cbs", 1000.0), ("ebs", 500.0)]);
        // Both buckets are full; then 500 B come, all for the first; then 1500 B, of which 500 B fill the second.
        let at = [(0.0, 1000), (0.0, 500), (0.0, 1), (0.5, 500), (0.5, 1), (2.0, 1000), (2.0, 500), (2.0, 1)];
        assert_eq!(colours(&mut *sr, None, &at), [Green, Yellow, Red, Green, Red, Green, Yellow, Red]);
        let mut aware = meter("srtcm", &[("cir", 8e3), ("cbs", 1000.0), ("ebs", 500.0)]);
        assert_eq!(colours(&mut *aware, Some(Yellow), &[(0.0, 500), (0.0, 1)]), [Yellow, Red]);
        assert_eq!(colours(&mut *aware, Some(Red), &[(9.0, 1)]), [Red]);
        assert_eq!(colours(&mut *aware, Some(Green), &[(9.0, 1000)]), [Green], "the others took nothing from it");
    }

    #[test]
    fn beyond_the_peak_rate_nothing_is_taken() {
        let mut tr = meter("trtcm", &[("cir", 8e3), ("cbs", 500.0), ("pir", 16e3), ("pbs", 1000.0)]);
        let at = [(0.0, 1001), (0.0, 500), (0.0, 500), (0.0, 1), (0.25, 500), (0.5, 500)];
        assert_eq!(colours(&mut *tr, None, &at), [Red, Green, Yellow, Red, Yellow, Green]);
        let mut aware = meter("trtcm", &[("cir", 8e3), ("cbs", 500.0), ("pir", 16e3), ("pbs", 1000.0)]);
        assert_eq!(colours(&mut *aware, Some(Red), &[(0.0, 1)]), [Red]);
        assert_eq!(colours(&mut *aware, Some(Yellow), &[(0.0, 500)]), [Yellow]);
        assert_eq!(colours(&mut *aware, Some(Green), &[(0.0, 500)]), [Green]);
    }

    #[test]
    fn profiles_that_make_no_sense_are_refused() {
        let values = Values::of(&[("cbs", Value::Real(0.0)), ("ebs", Value::Real(0.0))]);
        assert!((find("srtcm").unwrap().check)(&values).is_err());
        let values = Values::of(&[("pir", Value::Real(9e5))]);
        assert_eq!((find("trtcm").unwrap().check)(&values).unwrap_err().name, "pir");
    }
}
