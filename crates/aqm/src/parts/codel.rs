//! CoDel's decision over one packet that has just been taken from the head of its queue (RFC 8289, 5). The single queue
//! of CoDel and every queue of FQ-CoDel use it.
//!
//! RFC 8289 writes the drops of one dequeue as a loop. Here each packet is one call: after a drop the caller takes the
//! next packet and calls again at the same instant, and the state remembers where the loop was left.

use crate::params::{words, Kind, Param, ParamError, Unit, Value, Values, Word};
use crate::policy::{Reason, Verdict};
use crate::{Ecn, Packet, Time};

words! {
    /// Whose CoDel.
    pub enum Dialect {
        /// RFC 8289, the pseudo-code of section 5.
        Rfc = "rfc",
        /// Linux = "linux", `codel_impl.h`.
        Linux = "linux",
        /// ns-3, `codel-queue-disc.cc`.
        Ns3 = "ns3",
    }
}

const fn real(low: f64, auto: bool) -> Kind {
    Kind::Real { low, high: f64::INFINITY, open_low: !auto, open_high: false, auto }
}

words! {
    /// How 1/sqrt(count) is computed.
    enum InvSqrt {
        /// As the dialect has it.
        Auto = "auto",
        /// In floating point (RFC 8289, section 5).
        Exact = "exact",
        /// One Newton step in 16 bits for each change of count (`codel_Newton_step`).
        Newton16 = "newton16",
    }
}

/// The parameters of one CoDel.
pub const PARAMS: [Param; 7] = [
    Param::real("target", Unit::Seconds, real(0.0, false), 0.005)
        .says("RFC 8289, 4.4", "Acceptable standing queueing delay; packets that waited less are not dropped."),
    Param::real("interval", Unit::Seconds, real(0.0, false), 0.1)
        .says(
            "RFC 8289, 4.3",
            "How long the sojourn time must stay above target before the first drop; about the largest round-trip time.",
        ),
    Param::word("dialect", Dialect::WORDS, "rfc")
        .says(
            "RFC 8289",
            "Whose CoDel: the pseudo-code of RFC 8289, Linux or ns-3; they differ in comparisons, clock and square root.",
        ),
    Param::new("max_packet", Unit::Bytes, real(0.0, true), Value::Auto)
        .says(
            "RFC 8289, 5.5: the MTU; Linux: psched_mtu, 1514 B; ns-3: MinBytes, 1500 B",
            "Nothing is dropped while at most this many bytes wait behind the packet; auto is 1500 B, and 1514 B for linux.",
        ),
    Param::word("invsqrt", InvSqrt::WORDS, "auto")
        .says(
            "RFC 8289: exact; Linux, ns-3: newton16",
            "1/sqrt(count): exact, or one Newton step in 16 bits for each change of count; auto is the dialect's own.",
        ),
    Param::new("ce_threshold", Unit::Seconds, real(0.0, true), Value::Auto)
        .says("Linux, ns-3: off", "Every packet that waited longer than this is marked too; auto is off."),
    Param::flag("l4s", false)
        .says(
            "ns-3 UseL4s",
            "Packets with ECT(1) or CE are marked above ce_threshold and see nothing of CoDel; the others see no ce_threshold.",
        ),
];

/// The settings of one CoDel. Lengths of time are seconds, or for Linux and ns-3 whole ticks of 1024 ns.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whose CoDel.
    dialect: Dialect,
    /// TARGET.
    target: f64,
    /// INTERVAL.
    interval: f64,
    /// maxpacket: a queue with no more bytes than this is left alone.
    max_packet: f64,
    /// Whether 1/sqrt(count) is computed by Newton steps in 16 bits.
    newton: bool,
    /// Sojourn time above which every packet is marked.
    ce_threshold: f64,
    /// Whether L4S packets see `ce_threshold` alone.
    l4s: bool,
}

impl Settings {
    /// Whether a state kept with `other` means the same with these settings.
    pub fn same_states(&self, other: &Settings) -> bool {
        self.dialect == other.dialect && self.newton == other.newton
    }

    /// The settings among `values`, declared as [`PARAMS`].
    pub fn read(values: &Values) -> Result<Self, ParamError> {
        let dialect = values.choice(&PARAMS, "dialect");
        let or = |name, auto| values.number(&PARAMS, name).unwrap_or(auto);
        let newton = match values.choice(&PARAMS, "invsqrt") {
            InvSqrt::Auto => dialect != Dialect::Rfc,
            InvSqrt::Exact => false,
            InvSqrt::Newton16 => true,
        };
        let ce_threshold = or("ce_threshold", f64::INFINITY);
        let l4s = values.flag(&PARAMS, "l4s");
        if l4s && ce_threshold.is_infinite() {
            return Err(ParamError::new(
                "l4s",
                true,
                "false, or with a ce_threshold: nothing else would act on L4S packets",
            ));
        }
        Ok(Settings {
            dialect,
            target: length(dialect, values.real(&PARAMS, "target")),
            interval: length(dialect, values.real(&PARAMS, "interval")),
            max_packet: or("max_packet", if dialect == Dialect::Linux { 1514.0 } else { 1500.0 }),
            newton,
            ce_threshold: if ce_threshold.is_finite() { length(dialect, ce_threshold) } else { f64::INFINITY },
            l4s,
        })
    }

    /// Whose CoDel this is.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Time in `packet`'s queue until `now`. Linux subtracts two readings of its clock; ns-3 cuts off the difference.
    fn sojourn(&self, packet: &Packet, now: Time) -> f64 {
        if self.dialect == Dialect::Linux {
            length(self.dialect, now.seconds()) - length(self.dialect, packet.enqueued.seconds())
        } else {
            length(self.dialect, now - packet.enqueued)
        }
    }

    /// Whether the packet's queue is so short that it is left alone.
    fn small(&self, backlog: u64) -> bool {
        if self.dialect == Dialect::Ns3 {
            (backlog as f64) < self.max_packet
        } else {
            backlog as f64 <= self.max_packet
        }
    }
}

/// `seconds` in the units of the dialect's clock: Linux and ns-3 shift nanoseconds right by 10.
fn length(dialect: Dialect, seconds: f64) -> f64 {
    if dialect == Dialect::Rfc {
        seconds
    } else {
        ((seconds * 1e9).round() as u64 >> 10) as f64
    }
}

/// Where the loop of one dequeue was left when its last packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeftOff {
    /// The last packet was not dropped.
    Nowhere,
    /// While entering the dropping state.
    Entering,
    /// Within the dropping state.
    InLoop,
}

/// The state of CoDel in one queue. Times are in the clock of [`Settings`].
#[derive(Clone, Debug)]
pub struct CodelState {
    /// first_above_time_: when an interval above target ends, if the sojourn time stays there; `None` below it.
    first_above: Option<f64>,
    /// drop_next_: time of the next drop.
    drop_next: f64,
    /// count_: packets dropped since the dropping state was entered.
    count: u32,
    /// lastcount_: `count` when the dropping state was last entered.
    last_count: u32,
    /// dropping_: whether CoDel is in the dropping state.
    dropping: bool,
    /// Where the loop of one dequeue was left.
    left_off: LeftOff,
    /// rec_inv_sqrt: 1/sqrt(count) as a 16-bit fraction.
    invsqrt: u16,
}

impl Default for CodelState {
    fn default() -> Self {
        CodelState {
            first_above: None,
            drop_next: 0.0,
            count: 0,
            last_count: 0,
            dropping: false,
            left_off: LeftOff::Nowhere,
            invsqrt: u16::MAX,
        }
    }
}

impl CodelState {
    /// Decides over `packet`, just taken from the head of its queue; `None` if the queue was empty. `backlog` is the
    /// bytes that wait behind it; `can_mark` is whether a signal on it would be a mark. After [`Verdict::Signal`] on a
    /// packet that cannot be marked, the next call must be for the next packet at the same instant.
    pub fn step(
        &mut self,
        set: &Settings,
        packet: Option<&Packet>,
        backlog: u64,
        now: Time,
        can_mark: bool,
    ) -> Verdict {
        let left_off = std::mem::replace(&mut self.left_off, LeftOff::Nowhere);
        let sojourn = packet.map(|packet| set.sojourn(packet, now));
        if left_off == LeftOff::Nowhere && set.dialect != Dialect::Rfc && packet.is_none() {
            // ns-3 returns before the test, and so did Linux until it reset first_above_time here (6.1.192 does): in
            // FQ-CoDel a sparse flow, whose queue is empty after each packet, lost packets for lateness long past.
            if set.dialect == Dialect::Linux {
                self.first_above = None;
            }
            self.dropping = false;
            return Verdict::Pass;
        }
        if set.l4s && left_off == LeftOff::Nowhere && packet.is_some_and(|p| matches!(p.ecn, Ecn::Ect1 | Ecn::Ce)) {
            return if sojourn > Some(set.ce_threshold) { Verdict::Mark } else { Verdict::Pass };
        }
        let clock = length(set.dialect, now.seconds());
        let late = self.late(set, sojourn, backlog, clock);
        match left_off {
            LeftOff::Entering => self.enter(set, clock),
            LeftOff::InLoop if late => self.drop_next = self.control_law(set, self.drop_next),
            LeftOff::InLoop => self.dropping = false,
            LeftOff::Nowhere if self.dropping => self.dropping = late,
            LeftOff::Nowhere if late => {
                if can_mark {
                    self.enter(set, clock);
                } else {
                    self.left_off = LeftOff::Entering;
                }
                return Verdict::Signal(Reason::Forced);
            }
            LeftOff::Nowhere => {}
        }
        // After the packet that enters the state, the next signal comes at the next dequeue at the earliest.
        if left_off != LeftOff::Entering && self.dropping && clock >= self.drop_next {
            self.count = self.count.saturating_add(1);
            self.invsqrt = newton_step(self.invsqrt, self.count);
            if can_mark {
                let from = if set.dialect == Dialect::Ns3 { clock } else { self.drop_next };
                self.drop_next = self.control_law(set, from);
            } else {
                self.left_off = LeftOff::InLoop;
            }
            return Verdict::Signal(Reason::Forced);
        }
        if !set.l4s && sojourn > Some(set.ce_threshold) {
            return Verdict::Mark;
        }
        Verdict::Pass
    }

    /// Notes that `packets` were dropped from this queue at the limit (in Linux they add to CoDel's count).
    pub fn overflowed(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    /// Whether the sojourn time has stayed above target for an interval (`dodequeue` of RFC 8289).
    fn late(&mut self, set: &Settings, sojourn: Option<f64>, backlog: u64, clock: f64) -> bool {
        if sojourn.is_none_or(|sojourn| sojourn < set.target) || set.small(backlog) {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(clock + set.interval);
                false
            }
            Some(since) if set.dialect == Dialect::Rfc => clock >= since,
            Some(since) => clock > since,
        }
    }

    /// Enters the dropping state; if the last one is not long ago, at the rate that it had reached.
    fn enter(&mut self, set: &Settings, clock: f64) {
        self.dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        if delta > 1 && clock - self.drop_next < 16.0 * set.interval {
            self.count = delta;
            self.invsqrt = newton_step(self.invsqrt, delta);
        } else {
            self.count = 1;
            self.invsqrt = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = self.control_law(set, clock);
    }

    /// RFC 8289, 5.3: `from` + interval/sqrt(count).
    fn control_law(&self, set: &Settings, from: f64) -> f64 {
        let gap = if set.newton {
            set.interval * f64::from(self.invsqrt) / 65536.0
        } else {
            set.interval / f64::from(self.count.max(1)).sqrt()
        };
        from + if set.dialect == Dialect::Rfc { gap } else { gap.floor() }
    }

    /// Inner values: `count`, `dropping` (0 or 1), `drop_next` (s).
    pub fn gauges(&self, set: &Settings, out: &mut dyn FnMut(&'static str, f64)) {
        out("count", f64::from(self.count));
        out("dropping", f64::from(u8::from(self.dropping)));
        out("drop_next", if set.dialect == Dialect::Rfc { self.drop_next } else { self.drop_next * 1024e-9 });
    }
}

/// One Newton step from 1/sqrt of an earlier count towards 1/sqrt(`count`), as 16-bit fractions. As in both sources,
/// 64-bit arithmetic wraps around: a jump of count (Linux's overflow) can throw the result far off.
fn newton_step(invsqrt: u16, count: u32) -> u16 {
    let root = u64::from(invsqrt) << 16;
    let square = (root * root) >> 32;
    let factor = (3_u64 << 32).wrapping_sub(u64::from(count).wrapping_mul(square)) >> 2;
    (factor.wrapping_mul(root) >> 31 >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Settings {
        fn of(dialect: Dialect) -> Settings {
            let (target, interval, max_packet, ce_threshold) = (0.005, 0.1, 1500.0, 1.0);
            Settings { dialect, target, interval, max_packet, newton: false, ce_threshold, l4s: false }
        }
    }

    #[test]
    fn the_state_fits_other_numbers_but_no_other_rules() {
        let one = Settings::of(Dialect::Rfc);
        assert!(one.same_states(&Settings { target: 0.01, interval: 0.2, ..one }));
        assert!(!one.same_states(&Settings { newton: true, ..one }));
        assert!(!one.same_states(&Settings { dialect: Dialect::Linux, ..one }));
    }

    /// Linux takes the difference of two clock readings in units of 1024 ns.
    #[test]
    fn linux_rounds_times_and_not_their_difference() {
        let packet = Packet { enqueued: Time::from_seconds(1000e-9), ..Packet::new(1, 1000) };
        let sojourn = |dialect, now: f64| {
            let set = Settings::of(dialect);
            set.sojourn(&packet, Time::from_seconds(now))
        };
        assert_eq!(sojourn(Dialect::Linux, 1100e-9), 1.0);
        assert!((sojourn(Dialect::Rfc, 1100e-9) - 100e-9).abs() < 1e-12);
    }

    #[test]
    fn one_newton_step_is_far_off_for_small_counts() {
        // Exact values: 0.7071, 0.5774, 0.5, 0.4472, 0.4082, 0.3780, 0.3536.
        let mut root = u16::MAX;
        for (count, want) in [(2, 0.5), (3, 0.5625), (4, 0.4878), (5, 0.4415), (6, 0.4041), (7, 0.3752), (8, 0.3515)] {
            root = newton_step(root, count);
            assert!((f64::from(root) / 65536.0 - want).abs() < 1e-4, "{count}: {root}");
        }
    }

    #[test]
    fn the_clock_of_linux_and_ns3_ticks_every_1024_ns() {
        assert_eq!(length(Dialect::Linux, 0.1), 97_656.0);
        assert_eq!(length(Dialect::Ns3, 0.005), 4882.0);
        assert_eq!(length(Dialect::Linux, 1_023e-9), 0.0);
        assert_eq!(length(Dialect::Linux, 1_024e-9), 1.0);
        assert_eq!(length(Dialect::Rfc, 0.1), 0.1);
    }

    #[test]
    fn a_jump_of_the_count_never_panics() {
        for root in [0, 1, 255, 4096, 65_535] {
            for count in [0, 1, 2, 100, 100_000, u32::MAX] {
                newton_step(root, count);
            }
        }
    }
}
