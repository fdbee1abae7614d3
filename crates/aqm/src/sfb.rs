//! # SFB
//!
//! ## What it does
//! Stochastic Fair BLUE: a BLUE probability for each bin of a Bloom filter instead of one for the queue. A flow is
//! hashed into one of `bins` bins on each of `levels` levels. Each arrival, in each of its bins,
//!
//! | packets of the bin in the queue | then |
//! |---|---|
//! | none | `p := max(0, p - d2)` |
//! | `bin_size` or more | `p := min(1, p + d1)` |
//!
//! and the least of these probabilities, `p_min`, is the flow's own: a flow that does not respond drives its own to 1;
//! other flows get there only if they share a bin with such flows on every level.
//!
//! | what holds, first to last | the arrival is |
//! |---|---|
//! | buffer full | dropped |
//! | `max` packets or more in its emptiest bin | dropped |
//! | `p_min >= 1` | admitted at `penalty_rate` packets/s at most, without a mark, else dropped |
//! | `r < 2 (p_min - 1/2)`, r uniform | dropped |
//! | `r < p_min` | marked, or dropped if it cannot be |
//!
//! Every `rehash` seconds the hash functions change; in the last `warmup` seconds before that, flows with `p_min >= 1`
//! also train the other set of bins.
//!
//! ## Source
//! W. Feng, D. D. Kandlur, D. Saha, K. G. Shin, "Stochastic Fair Blue: a queue management algorithm for enforcing
//! fairness", INFOCOM 2001 (its text was not at hand). The rules are those of Linux, `net/sched/sch_sfb.c`. (Linux)
//!
//! ## Differences
//! 1. Linux keeps probabilities in 16 bits; here they are real numbers, with Linux's steps, 66/65535 and 11/65535, as
//!    defaults. From 0 to 1 are 993 steps in both. If none are given, `tc` sends its own steps, 33/65535 and 3/65535
//!    (iproute2, `q_sfb.c`); the defaults here are the kernel's, for a queue set up without `tc`.
//! 2. The paper has 2 levels of 23 bins, moves a bin's `p` at most once a BLUE freeze time, and has a fixed-rate
//!    penalty box. [paper?] `levels`, `bins`, `freeze` give the first two; Linux has no freeze time.
//! 3. The penalty: Linux restarts counting time at each arrival that finds less than one token, and rounds tokens down,
//!    so a flow whose packets come closer than 1/`penalty_rate` gets nothing after its burst. That is the default here;
//!    `token_rule = "exact"` keeps the fraction of a token, and such a flow gets `penalty_rate`. (reconstruction) With
//!    a `penalty_rate` or `penalty_burst` of 0 none of its packets is admitted, as in Linux, which tests both before
//!    the tokens.
//! 4. Linux takes its limit from the device's queue length; here it is the queue's own limit. It is tested before all
//!    else.
//! 5. Hashes are this crate's own (`parts::hash`), 16 bits for each level. Both salts are drawn at the first arrival
//!    that finds room, a new one at each rehash, and then one random number for each arrival that gets as far as `r`.
//! 6. Linux keeps the probabilities of a set of bins when it gives the set a new salt, so the warm-up begins with what
//!    other flows left there ten minutes ago. Here too.
//! 7. Drops by `max` and by the penalty count as forced, those by `r` as early.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let limit = Limit::Packets(100);
//! let catalogue::Built::Policy(policy) = (catalogue::find("sfb").unwrap().build)(&Values::new(), &link, limit).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, limit, false, Generator::stream(1, "queue")));
//! // One flow cannot have more than 25 packets in the queue; a packet of another flow still fits.
//! for _ in 0..60 {
//!     queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//! }
//! assert_eq!(queue.packets(), 25);
//! assert!(queue.enqueue(Packet::new(2, 1000), Time::ZERO, &mut |_, _| {}).is_some());
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::params::{words, Kind, Param, Unit, Values, Word};
use crate::parts::hash;
use crate::policy::{Context, Needs, Policy, QueueView, Reason, Verdict};
use crate::{Packet, Time};
use std::collections::VecDeque;

const LINUX: &str = "Linux sch_sfb";

const fn real(name: &'static str, unit: Unit, high: f64, default: f64, doc: &'static str) -> Param {
    Param::real(name, unit, Kind::real(0.0, high), default).says(LINUX, doc)
}

words! {
    /// What becomes of the time counted towards a token when a packet is refused.
    enum TokenRule {
        /// The time is lost (`sfb_rate_limit`).
        Linux = "linux",
        /// The time is kept, with the fraction of a token that it is worth.
        Exact = "exact",
    }
}

const PARAMS: [Param; 12] = [
    Param::whole("levels", Unit::None, (1, 16), 8)
        .symbol("L")
        .says(LINUX, "Levels of bins, each with a hash of its own (paper: 2)."),
    Param::whole("bins", Unit::None, (1, 1024), 16).symbol("N").says(LINUX, "Bins on each level (paper: 23)."),
    Param::whole("bin_size", Unit::None, (1, 1_000_000), 20)
        .says(LINUX, "Packets of a bin in the queue from which its probability rises."),
    Param::whole("max", Unit::None, (1, 1_000_000), 25)
        .says(LINUX, "Packets in a flow's emptiest bin from which its arrivals are dropped."),
    real("d1", Unit::None, 1.0, 66.0 / 65535.0, "What an arrival adds to the probability of a full bin.")
        .symbol("\\delta_1"),
    real("d2", Unit::None, 1.0, 11.0 / 65535.0, "What an arrival takes off the probability of an empty bin.")
        .symbol("\\delta_2"),
    real("rehash", Unit::Seconds, 1e9, 600.0, "Time after which the hash functions change; 0: never."),
    real(
        "warmup",
        Unit::Seconds,
        1e9,
        60.0,
        "Time before a rehash in which unresponsive flows warm up the other bins.",
    ),
    real(
        "penalty_rate",
        Unit::None,
        1e9,
        10.0,
        "Packets per second that all unresponsive flows (p_min = 1) share; 0: none of their packets.",
    ),
    Param::whole("penalty_burst", Unit::None, (0, 1_000_000), 20)
        .says(LINUX, "Largest burst of these flows, packets; 0: none of their packets."),
    Param::word("token_rule", TokenRule::WORDS, "linux")
        .says(LINUX, "Whether the time counted towards a token is lost at each drop (linux) or kept (exact)."),
    Param {
        source: "Linux sch_sfb has none; the paper's BLUE has",
        ..real(
            "freeze",
            Unit::Seconds,
            1000.0,
            0.0,
            "A bin's probability changes only if its last change is longer ago than this.",
        )
    },
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Stochastic Fair BLUE: a BLUE probability per bin of a Bloom filter finds unresponsive flows",
    source: "Feng, Kandlur, Saha, Shin: Stochastic Fair Blue, INFOCOM 2001; Linux net/sched/sch_sfb.c",
    params: &[&PARAMS],
    build: &|values, _, _| Ok(Built::Policy(Box::new(Sfb::new(values)))),
    ..AqmSpec::named("sfb", "SFB", "flow-aware RED", 2001)
};

/// A bin of the Bloom filter.
#[derive(Clone, Copy, Debug)]
struct Bin {
    /// Packets in the queue of the bin's flows.
    packets: u32,
    /// p_m, the bin's marking probability.
    p: f64,
    /// When `p` last changed.
    changed: Option<Time>,
}

/// One of the two sets of bins.
struct Bins {
    /// The bins, level by level.
    bins: Vec<Bin>,
    /// Bins on a level.
    per_level: usize,
    /// The salt of the hashes.
    salt: u64,
}

impl Bins {
    fn new(levels: usize, per_level: usize) -> Self {
        Bins { bins: vec![Bin { packets: 0, p: 0.0, changed: None }; levels * per_level], per_level, salt: 0 }
    }

    /// A flow's bin on each level.
    fn of(&mut self, hash: u64) -> impl Iterator<Item = &mut Bin> {
        let (mut word, number) = (hash, self.per_level as u64);
        self.bins.chunks_exact_mut(self.per_level).enumerate().map(move |(level, bins)| {
            if level > 0 && level % 4 == 0 {
                word = hash::mix(word, level as u64);
            }
            let bits = word >> (16 * (level % 4)) & 0xffff;
            &mut bins[((bits * number) >> 16) as usize]
        })
    }
}

/// The policy.
pub struct Sfb {
    /// Two sets of bins, used in turn (moving hash functions).
    sets: [Bins; 2],
    /// The set that decides.
    active: usize,
    /// Whether the first salts are drawn.
    salted: bool,
    /// Whether the other set is being trained.
    doubled: bool,
    /// When the sets last changed roles.
    rehashed: Time,
    /// Packets that unresponsive flows may still send.
    tokens: u64,
    /// Since when time counts towards a token.
    tokens_since: Time,
    /// p_min of the last arrival, a probability.
    p_min: f64,
    /// For each waiting packet, oldest first, its hash in each set of bins that counts it.
    waiting: VecDeque<[Option<u64>; 2]>,
    /// Packets of a bin from which its probability rises.
    bin_size: u32,
    /// Packets in a flow's emptiest bin from which its arrivals are dropped.
    max: u32,
    /// What an arrival adds to the probability of a full bin.
    d1: f64,
    /// What an arrival takes off the probability of an empty bin.
    d2: f64,
    /// Time between two changes of the sets' roles, s; 0 for never.
    rehash: f64,
    /// How long before such a change the other set is trained, s.
    warmup: f64,
    /// What unresponsive flows get in all, packets/s.
    penalty_rate: f64,
    /// Most tokens, packets.
    penalty_burst: u64,
    /// What becomes of time counted towards a token.
    token_rule: TokenRule,
    /// Least time between two changes of a bin's probability, s.
    freeze: f64,
}

impl Sfb {
    fn new(values: &Values) -> Self {
        let real = |name| values.real(&PARAMS, name);
        let whole = |name| values.whole(&PARAMS, name) as usize;
        let set = || Bins::new(whole("levels"), whole("bins"));
        Sfb {
            sets: [set(), set()],
            active: 0,
            salted: false,
            doubled: false,
            rehashed: Time::ZERO,
            tokens: whole("penalty_burst") as u64,
            tokens_since: Time::ZERO,
            p_min: 0.0,
            waiting: VecDeque::new(),
            bin_size: whole("bin_size") as u32,
            max: whole("max") as u32,
            d1: real("d1"),
            d2: real("d2"),
            rehash: real("rehash"),
            warmup: real("warmup"),
            penalty_rate: real("penalty_rate"),
            penalty_burst: whole("penalty_burst") as u64,
            token_rule: values.choice(&PARAMS, "token_rule"),
            freeze: real("freeze"),
        }
    }

    fn draw_salt(set: &mut Bins, cx: &mut Context<'_>) {
        set.salt = (cx.random.uniform() * (1_u64 << 53) as f64) as u64;
    }

    /// Draws the first salts, and new ones when it is time.
    fn keep_salts(&mut self, cx: &mut Context<'_>) {
        if !self.salted {
            self.salted = true;
            self.sets.iter_mut().for_each(|set| Self::draw_salt(set, cx));
        }
        if self.rehash <= 0.0 {
            return;
        }
        let age = cx.now - self.rehashed;
        if age > self.rehash {
            // The trained set takes over; the other gets a new salt.
            Self::draw_salt(&mut self.sets[self.active], cx);
            self.active ^= 1;
            self.doubled = false;
            self.rehashed = cx.now;
        } else if self.warmup > 0.0 && age > self.rehash - self.warmup {
            self.doubled = true;
        }
    }

    /// Moves the probabilities of the bins of `hash` in one set; the packets in the emptiest bin and the least
    /// probability.
    fn touch(&mut self, set: usize, hash: u64, now: Time) -> (u32, f64) {
        let (mut packets, mut p_min) = (u32::MAX, 1.0_f64);
        for bin in self.sets[set].of(hash) {
            let change = if bin.packets == 0 {
                -self.d2
            } else if bin.packets >= self.bin_size {
                self.d1
            } else {
                0.0
            };
            let frozen = self.freeze > 0.0 && bin.changed.is_some_and(|last| now - last <= self.freeze);
            if change != 0.0 && !frozen {
                bin.p = (bin.p + change).clamp(0.0, 1.0);
                bin.changed = Some(now);
            }
            packets = packets.min(bin.packets);
            p_min = p_min.min(bin.p);
        }
        (packets, p_min)
    }

    /// Whether unresponsive flows have no token left.
    fn is_spent(&mut self, now: Time) -> bool {
        if self.penalty_rate == 0.0 || self.penalty_burst == 0 {
            return true;
        }
        if self.tokens < 1 {
            let earned = self.penalty_rate * (now - self.tokens_since).min(10.0);
            self.tokens = (libm::floor(earned) as u64).min(self.penalty_burst);
            match self.token_rule {
                TokenRule::Linux => self.tokens_since = now,
                // Full, the bucket keeps no fraction.
                TokenRule::Exact if self.tokens == self.penalty_burst => self.tokens_since = now,
                TokenRule::Exact if self.tokens >= 1 => {
                    let left = (earned - libm::floor(earned)) / self.penalty_rate;
                    self.tokens_since = Time::from_seconds((now.seconds() - left).max(0.0));
                }
                TokenRule::Exact => {}
            }
            if self.tokens < 1 {
                return true;
            }
        }
        self.tokens -= 1;
        false
    }

    fn admit(&mut self, hashes: [Option<u64>; 2]) {
        for (set, hash) in self.sets.iter_mut().zip(hashes) {
            hash.into_iter().for_each(|hash| set.of(hash).for_each(|bin| bin.packets += 1));
        }
        self.waiting.push_back(hashes);
    }
}

impl Policy for Sfb {
    fn needs(&self) -> Needs {
        Needs { dequeue: true, contents: false }
    }

    fn on_enqueue(&mut self, packet: &Packet, _queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        if !cx.has_room {
            return Verdict::Drop(Reason::Overflow);
        }
        self.keep_salts(cx);
        let (active, other) = (self.active, self.active ^ 1);
        let mut hashes = [None; 2];
        let hash = hash::mix(packet.flow, self.sets[active].salt);
        hashes[active] = Some(hash);
        let (packets, p_min) = self.touch(active, hash, cx.now);
        self.p_min = p_min;
        if packets >= self.max {
            return Verdict::Drop(Reason::Forced);
        }
        if p_min >= 1.0 {
            if self.doubled {
                let hash = hash::mix(packet.flow, self.sets[other].salt);
                hashes[other] = Some(hash);
                self.touch(other, hash, cx.now);
            }
            if self.is_spent(cx.now) {
                return Verdict::Drop(Reason::Forced);
            }
            self.admit(hashes);
            return Verdict::Pass;
        }
        let uniform = cx.random.uniform();
        if uniform < p_min {
            if uniform < 2.0 * (p_min - 0.5) || !cx.can_mark(packet) {
                return Verdict::Drop(Reason::Early);
            }
            self.admit(hashes);
            return Verdict::Signal(Reason::Early);
        }
        self.admit(hashes);
        Verdict::Pass
    }

    fn on_dequeue(&mut self, packet: Option<&Packet>, _queue: &QueueView<'_>, _cx: &mut Context<'_>) -> Verdict {
        if let Some(hashes) = packet.and_then(|_| self.waiting.pop_front()) {
            for (set, hash) in self.sets.iter_mut().zip(hashes) {
                hash.into_iter().for_each(|hash| set.of(hash).for_each(|bin| bin.packets -= 1));
            }
        }
        Verdict::Pass
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p_min", self.p_min);
        out("tokens", self.tokens as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;
    use crate::random::Generator;
    use crate::Ecn;

    const EMPTY: QueueView<'static> = QueueView { packets: 0, bytes: 0, idle_since: None, contents: None };

    fn sfb(pairs: &[(&'static str, Value)]) -> Sfb {
        let values = Values::of(pairs);
        Sfb::new(&values)
    }

    /// The verdict on a packet of `flow` that arrives at `now`, with r = `uniform`.
    fn arrive(policy: &mut Sfb, flow: u64, ecn: Ecn, now: f64, uniform: f64) -> Verdict {
        let (mut random, mut victims) = (Generator::custom(move || uniform), Vec::new());
        let now = Time::from_seconds(now);
        let mut cx = Context { now, ecn: true, has_room: true, random: &mut random, victims: &mut victims };
        policy.on_enqueue(&Packet { ecn, ..Packet::new(flow, 1000) }, &EMPTY, &mut cx)
    }

    #[test]
    fn bins_share_the_hash_equally() {
        let mut bins = Bins::new(1, 3);
        for (hash, bin) in [(0, 0), (21_845, 0), (21_846, 1), (43_690, 1), (43_691, 2), (65_535, 2)] {
            bins.of(hash).for_each(|found| found.packets += 1);
            assert_eq!(bins.bins.iter().position(|bin| bin.packets == 1), Some(bin), "{hash}");
            bins.bins[bin].packets = 0;
        }
    }

    fn leave(policy: &mut Sfb) {
        let (mut random, mut victims) = (Generator::custom(|| 0.0), Vec::new());
        let mut cx = Context { now: Time::ZERO, ecn: true, has_room: true, random: &mut random, victims: &mut victims };
        policy.on_dequeue(Some(&Packet::new(0, 1000)), &EMPTY, &mut cx);
    }

    fn set_p(policy: &mut Sfb, p: f64) {
        policy.sets.iter_mut().for_each(|set| set.bins.iter_mut().for_each(|bin| bin.p = p));
    }

    #[test]
    fn above_one_half_drops_mix_with_marks() {
        for (p, drops, marks) in
            [(0.0, 0, 0), (0.3, 0, 300), (0.5, 0, 500), (0.6, 200, 400), (0.75, 500, 250), (0.9, 800, 100)]
        {
            for (ecn, drops, marks) in [(Ecn::Ect0, drops, marks), (Ecn::NotEct, drops + marks, 0)] {
                let mut policy =
                    sfb(&[("d1", Value::Real(0.0)), ("d2", Value::Real(0.0)), ("max", Value::Whole(10_000))]);
                set_p(&mut policy, p);
                let verdicts: Vec<Verdict> =
                    (0..1000).map(|i| arrive(&mut policy, 1, ecn, 0.0, (f64::from(i) + 0.5) * 1e-3)).collect();
                let count = |verdict| verdicts.iter().filter(|&&found| found == verdict).count();
                let found = (count(Verdict::Drop(Reason::Early)), count(Verdict::Signal(Reason::Early)));
                assert_eq!(found, (drops, marks), "p_min {p}, {ecn:?}");
            }
        }
    }

    #[test]
    fn p_saturates_after_993_arrivals_at_a_full_bin() {
        let mut policy = sfb(&[("max", Value::Whole(1_000_000)), ("penalty_burst", Value::Whole(0))]);
        for _ in 0..20 {
            assert_eq!(arrive(&mut policy, 1, Ecn::NotEct, 0.0, 1.0), Verdict::Pass);
            assert_eq!(policy.p_min, 0.0, "up to the twentieth, nobody found a full bin");
        }
        for i in 1..993 {
            assert_eq!(arrive(&mut policy, 1, Ecn::NotEct, 0.0, 1.0), Verdict::Pass);
            assert!((policy.p_min - f64::from(i) * 66.0 / 65535.0).abs() < 1e-9);
        }
        assert_eq!(arrive(&mut policy, 1, Ecn::NotEct, 0.0, 1.0), Verdict::Drop(Reason::Forced));
        assert_eq!(policy.p_min, 1.0);
    }

    #[test]
    fn an_empty_bin_forgets_and_a_half_full_one_does_not() {
        let mut policy = sfb(&[("d2", Value::Real(0.125))]);
        set_p(&mut policy, 0.75);
        arrive(&mut policy, 1, Ecn::NotEct, 0.0, 1.0);
        assert_eq!(policy.p_min, 0.625);
        arrive(&mut policy, 1, Ecn::NotEct, 0.0, 1.0);
        assert_eq!(policy.p_min, 0.625, "one packet of it waits");
        leave(&mut policy);
        leave(&mut policy);
        arrive(&mut policy, 1, Ecn::NotEct, 0.0, 1.0);
        assert_eq!(policy.p_min, 0.5);
    }

    #[test]
    fn a_freeze_time_holds_a_bin() {
        let mut policy = sfb(&[("d2", Value::Real(0.125)), ("freeze", Value::Real(0.5))]);
        set_p(&mut policy, 1.0);
        let mut at = |now| {
            arrive(&mut policy, 1, Ecn::NotEct, now, 1.0);
            leave(&mut policy);
            policy.p_min
        };
        assert_eq!([at(1.0), at(1.25), at(1.5), at(1.75)], [0.875, 0.875, 0.875, 0.75]);
    }

    #[test]
    fn the_emptiest_bin_is_bounded() {
        let mut policy = sfb(&[("max", Value::Whole(3)), ("d1", Value::Real(0.0))]);
        let verdicts: Vec<Verdict> = (0..4).map(|_| arrive(&mut policy, 1, Ecn::Ect0, 0.0, 1.0)).collect();
        assert_eq!(verdicts[2..], [Verdict::Pass, Verdict::Drop(Reason::Forced)]);
        leave(&mut policy);
        assert_eq!(arrive(&mut policy, 1, Ecn::Ect0, 0.0, 1.0), Verdict::Pass);
    }

    /// Packets admitted in 100 s, beyond a burst of 5, of a flow with p_min = 1 that sends one every `gap` s.
    fn admitted(rule: &'static str, gap: f64) -> usize {
        let mut policy =
            sfb(&[("token_rule", Value::Choice(rule)), ("penalty_burst", Value::Whole(5)), ("d2", Value::Real(0.0))]);
        set_p(&mut policy, 1.0);
        let arrivals = (100.0 / gap) as u32;
        let passed = (0..arrivals)
            .filter(|&i| {
                let passed = arrive(&mut policy, 1, Ecn::Ect0, f64::from(i) * gap, 0.0) == Verdict::Pass;
                if passed {
                    leave(&mut policy);
                }
                passed
            })
            .count();
        passed - 5
    }

    #[test]
    fn the_penalty_box_of_linux_starves_a_fast_flow() {
        assert_eq!(admitted("linux", 1.0 / 64.0), 0, "no arrival finds a tenth of a second gone");
        assert!((950..=1000).contains(&admitted("exact", 1.0 / 1024.0)));
        // Ten arrivals in 0.99 s: without fractions of tokens nine would be admitted each second.
        assert!((990..=1000).contains(&admitted("exact", 0.099)), "{}", admitted("exact", 0.099));
        assert!((450..=500).contains(&admitted("linux", 0.2)), "a slow one has what it sends");
    }

    #[test]
    fn a_penalty_of_nothing_admits_nothing() {
        for (name, value) in [("penalty_rate", Value::Real(0.0)), ("penalty_burst", Value::Whole(0))] {
            let mut policy = sfb(&[(name, value), ("d2", Value::Real(0.0))]);
            set_p(&mut policy, 1.0);
            for second in 0..50 {
                let verdict = arrive(&mut policy, 1, Ecn::Ect0, f64::from(second), 1.0);
                assert_eq!(verdict, Verdict::Drop(Reason::Forced), "{name} = 0");
            }
        }
    }

    #[test]
    fn flows_are_hashed_anew_after_ten_minutes() {
        let mut policy = sfb(&[("penalty_burst", Value::Whole(5)), ("d2", Value::Real(0.0))]);
        set_p(&mut policy, 0.25);
        let first = policy.sets.as_ptr();
        arrive(&mut policy, 1, Ecn::Ect0, 540.0, 0.75);
        assert!(!policy.doubled && policy.active == 0);
        arrive(&mut policy, 1, Ecn::Ect0, 540.5, 0.75);
        assert!(policy.doubled && policy.waiting.back().unwrap()[1].is_none(), "a flow that responds trains nothing");
        set_p(&mut policy, 1.0);
        arrive(&mut policy, 1, Ecn::Ect0, 541.0, 0.75);
        assert!(policy.waiting.back().unwrap()[1].is_some(), "one that does not is counted in both sets");
        arrive(&mut policy, 1, Ecn::Ect0, 600.0, 0.75);
        assert_eq!((policy.active, policy.doubled), (0, true));
        arrive(&mut policy, 1, Ecn::Ect0, 600.5, 0.75);
        assert_eq!((policy.active, policy.doubled), (1, false));
        for _ in 0..5 {
            leave(&mut policy);
        }
        assert!(policy.sets.iter().all(|set| set.bins.iter().all(|bin| bin.packets == 0)), "under any salt");
        assert_eq!(policy.sets.as_ptr(), first);
    }

    /// One flow at twice the link's rate and thirty slow flows at six tenths of it together: the slow flows lose
    /// nothing, and the fast one gets the rest. DropTail would take 62 % from every flow.
    #[test]
    fn a_flow_that_does_not_respond_gets_what_the_others_leave() {
        use crate::discipline::Fifo;
        use crate::gate::Gate;
        use crate::policy::Limit;
        use crate::Discipline;
        let gate = Gate::new(Box::new(sfb(&[])), Limit::Packets(200), false, Generator::stream(1, "queue"));
        let mut queue = Fifo::new(gate);
        let (mut sent, mut lost) = ([0_u32; 2], [0_u32; 2]);
        // The link takes a packet each ms; the fast flow sends one each half ms, each slow flow one in 50 ms.
        for half in 0..60_000_u32 {
            let now = Time::from_seconds(f64::from(half) * 0.5e-3);
            let slow = u64::from(half % 100);
            for flow in [Some(0), (slow < 30).then_some(1 + slow)].into_iter().flatten() {
                let kind = usize::from(flow > 0);
                let packet = Packet::new(flow, 1000);
                let died = queue.enqueue(packet, now, &mut |_, _| {}).is_none();
                if half > 20_000 {
                    sent[kind] += 1;
                    lost[kind] += u32::from(died);
                }
            }
            if half % 2 == 0 {
                queue.dequeue(now, &mut |_, _| {});
            }
        }
        let passed = sent[0] - lost[0];
        assert!((7500..8500).contains(&passed), "{passed} in 20 s at 400 packets/s");
        assert!(lost[1] * 1000 < sent[1], "{lost:?} of {sent:?}");
    }
}
