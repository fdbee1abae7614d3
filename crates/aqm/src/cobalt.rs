//! # COBALT
//!
//! ## What it does
//! CoDel and BLUE in one: CoDel against queues that stand too long, BLUE against senders that do not answer. It decides
//! at departure, over one packet at a time.
//!
//! | | |
//! |---|---|
//! | late | `sojourn > target` |
//! | first late packet | the next signal is due after `interval/sqrt(count)` |
//! | due, and the packet is late | it is marked if it can be, else dropped; `count` grows by 1 |
//! | due, and it is not | `count` shrinks by 1; each step is one more `interval/sqrt(count)` |
//! | overflow | `p_blue` grows by `increment`, at most once per `target`; the next late packet is due |
//! | queue found empty | `p_blue` shrinks by `decrement`, at most once per `target` |
//! | every departure | dropped with probability `p_blue`, marked or not |
//!
//! Unlike CoDel it needs no re-entry rule: `count` is the memory, and it fades by itself.
//!
//! ## Source
//! J. Morton, in CAKE: T. Hoeiland-Joergensen, D. Taht, J. Morton, "Piece of CAKE: A Comprehensive Queue Management
//! Solution for Home Gateways", IEEE LANMAN, 2018 (not read by us); rules from Linux `net/sched/sch_cake.c` and ns-3
//! `cobalt-queue-disc.cc`.
//!
//! ## Differences
//! 1. `dialect` chooses among rules on which the two sources differ:
//!
//!    | | linux | ns3 |
//!    |---|---|---|
//!    | late | above `target` and above 4 packets of `max_packet` on this link | above `target` |
//!    | `target` | at least 1.5 such packets | as given |
//!    | `interval` | longer by what `target` was raised, at least twice `target` | as given |
//!    | last packet of the queue | never dropped | may be |
//!    | `overflow`, auto | the head dies | the arrival dies |
//!    | `blue_threshold`, auto | none | 400 ms |
//!    | `ce_threshold`, `l4s` | not in Linux, but work here | yes |
//!
//! 2. In Linux a fresh queue has 1/sqrt(count) = 0 until its first signal, as its memory is zeroed: its second late
//!    packet is signalled at once. The comments and ns-3 say 1, so that the first signal comes after `interval`; so
//!    here (a reconstruction: the published intent). `linux_r0` is Linux as it runs. In both, a queue whose first
//!    packet in more than an `interval` is late signals the second one: `drop_next` lies in the past, and is set to
//!    now.
//! 3. 1/sqrt(count) is computed as both sources do: a table below 16, one Newton step in 32 bits for each change above.
//! 4. Clocks: Linux and ns-3 count ns. Here seconds, without rounding. ns-3 (3.37) keeps the time at which BLUE moved in
//!    32 bits: after 4.3 s of a run the time since then is always longer than `target`, and BLUE moves at every event.
//!    That is an oversight there, and costs packets under overload; `ns3_clock` runs it, and with it the counts agree
//!    with ns-3's under fixed arrivals. Off by default, in the dialect ns3 too.
//! 5. CAKE's other parts (1024 queues with hosts, shaper, overhead, ACK filter, ingress mode with its rule for many
//!    flows) are not here: this is one queue with one COBALT.
//! 6. Where marking is off, CAKE still marks. Here as everywhere the port decides.
//! 7. The dialect is linux by default, as there is no RFC.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 12e6, delay_s: 0.02 };
//! let catalogue::Built::Policy(policy) = (catalogue::find("cobalt").unwrap().build)(&Values::new(), &link, Limit::Packets(1000)).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, Limit::Packets(1000), false, Generator::stream(1, "queue")));
//! for _ in 0..500 {
//!     queue.enqueue(Packet::new(1, 1500), Time::ZERO, &mut |_, _| {});
//! }
//! let mut drops = Vec::new();
//! for ms in 0..320 {
//!     queue.dequeue(Time::from_seconds(f64::from(ms) * 1e-3), &mut |_, _| drops.push(ms));
//! }
//! // Late since 6 ms: a drop 100 ms later, the next after 70.7 ms, 57.7 ms, 50 ms.
//! assert_eq!(drops, [106, 177, 235, 285]);
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::params::{Kind, Param, ParamError, Unit, Value, Values};
use crate::policy::{Context, Needs, Policy, QueueView, Reason, Verdict};
use crate::{Ecn, Packet};

const fn real(low: f64, high: f64, open_low: bool, auto: bool) -> Kind {
    Kind::Real { low, high, open_low, open_high: false, auto }
}

const PARAMS: [Param; 12] = [
    Param {
        name: "dialect",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Choice(&["linux", "ns3"]),
        default: Value::Choice("linux"),
        source: "Linux sch_cake",
        doc: "Whose COBALT: Linux's in CAKE or ns-3's; they differ in what is late, and in what an overflow costs.",
    },
    Param {
        name: "target",
        symbol: "",
        unit: Unit::Seconds,
        kind: real(0.0, 1e6, true, false),
        default: Value::Real(0.005),
        source: "Linux, ns-3",
        doc: "Sojourn time that may stand in the queue for ever.",
    },
    Param {
        name: "interval",
        symbol: "",
        unit: Unit::Seconds,
        kind: real(1e-6, 1e6, false, false),
        default: Value::Real(0.1),
        source: "Linux, ns-3",
        doc: "How long the sojourn time may stay above target before the first signal; about the largest round-trip time.",
    },
    Param {
        name: "increment",
        symbol: "",
        unit: Unit::None,
        kind: real(0.0, 1.0, false, false),
        default: Value::Real(1.0 / 256.0),
        source: "Linux, ns-3",
        doc: "What an overflow adds to p_blue.",
    },
    Param {
        name: "decrement",
        symbol: "",
        unit: Unit::None,
        kind: real(0.0, 1.0, false, false),
        default: Value::Real(1.0 / 4096.0),
        source: "Linux, ns-3",
        doc: "What an empty queue takes from p_blue.",
    },
    Param {
        name: "max_packet",
        symbol: "",
        unit: Unit::Bytes,
        kind: real(0.0, 1e9, false, false),
        default: Value::Real(1514.0),
        source: "Linux: psched_mtu",
        doc: "The packet whose time on the link bounds target, interval and what is late (linux only).",
    },
    Param {
        name: "linux_r0",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Flag { auto: false },
        default: Value::Flag(false),
        source: "ours: the published intent; Linux: true",
        doc: "1/sqrt(count) is 0 until the first signal, so that the second late packet is signalled at once.",
    },
    Param {
        name: "overflow",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Choice(&["auto", "head", "arrival"]),
        default: Value::Choice("auto"),
        source: "Linux: head; ns-3: arrival",
        doc: "Who dies at a full queue; auto is the head for linux, the arrival for ns3.",
    },
    Param {
        name: "blue_threshold",
        symbol: "",
        unit: Unit::Seconds,
        kind: real(0.0, f64::INFINITY, false, true),
        default: Value::Auto,
        source: "ns-3: 400 ms; Linux: none",
        doc: "A sojourn time above this counts for BLUE like an overflow; auto is 400 ms for ns3, none for linux.",
    },
    Param {
        name: "ns3_clock",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Flag { auto: false },
        default: Value::Flag(false),
        source: "ns-3.37, m_lastUpdateTimeBlue; off is what its authors meant",
        doc: "BLUE remembers when it moved in 32 bits of nanoseconds: after 4.3 s it moves at every event instead of once a target (ns3 only).",
    },
    Param {
        name: "ce_threshold",
        symbol: "",
        unit: Unit::Seconds,
        kind: real(0.0, f64::INFINITY, false, true),
        default: Value::Auto,
        source: "ns-3: off",
        doc: "Every packet that waited longer than this is marked too; auto is off.",
    },
    Param {
        name: "l4s",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Flag { auto: false },
        default: Value::Flag(false),
        source: "ns-3 UseL4s",
        doc: "Packets with ECT(1) or CE are marked above ce_threshold and see nothing else; the others see no ce_threshold.",
    },
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    name: "cobalt",
    title: "COBALT",
    family: "sojourn time",
    year: 2018,
    summary: "CoDel whose count fades by itself, with BLUE for senders that do not answer",
    source:
        "Hoeiland-Joergensen, Taht, Morton: Piece of CAKE, IEEE LANMAN, 2018; Linux sch_cake; ns-3 cobalt-queue-disc",
    file: include_str!("cobalt.rs"),
    params: &[&PARAMS],
    check: &|values, link| Settings::read(values, link).map(|_| ()),
    build: &|values, link, _| Ok(Built::Policy(Box::new(Cobalt::new(Settings::read(values, link)?)))),
    curve: None,
};

#[derive(Clone, Debug)]
struct Settings {
    linux: bool,
    target: f64,
    interval: f64,
    /// What is late must be above this too, s.
    floor: f64,
    increment: f64,
    decrement: f64,
    r0: bool,
    head_dies: bool,
    blue_threshold: f64,
    short_clock: bool,
    ce_threshold: f64,
    l4s: bool,
}

impl Settings {
    fn read(values: &Values, link: &Link) -> Result<Self, ParamError> {
        let number = |name| values.real(&PARAMS, name);
        let or = |name, auto| Some(number(name)).filter(|x| !x.is_nan()).unwrap_or(auto);
        let linux = values.word(&PARAMS, "dialect") == "linux";
        let packet = if linux { 8.0 * number("max_packet") / link.rate_bps } else { 0.0 };
        let target = f64::max(number("target"), 1.5 * packet);
        let raised = target - number("target");
        let interval = number("interval") + raised;
        let (l4s, ce_threshold) = (values.flag(&PARAMS, "l4s"), or("ce_threshold", f64::INFINITY));
        if l4s && ce_threshold.is_infinite() {
            return Err(ParamError::new(
                "l4s",
                true,
                "false, or with a ce_threshold: nothing else would act on L4S packets",
            ));
        }
        if linux && values.flag(&PARAMS, "ns3_clock") {
            return Err(ParamError::new("ns3_clock", true, "false: only ns-3 keeps this time in 32 bits"));
        }
        Ok(Settings {
            linux,
            target,
            interval: if linux { interval.max(2.0 * target) } else { interval },
            floor: 4.0 * packet,
            increment: number("increment"),
            decrement: number("decrement"),
            r0: values.flag(&PARAMS, "linux_r0"),
            head_dies: match values.word(&PARAMS, "overflow") {
                "auto" => linux,
                word => word == "head",
            },
            blue_threshold: or("blue_threshold", if linux { f64::INFINITY } else { 0.4 }),
            short_clock: values.flag(&PARAMS, "ns3_clock"),
            ce_threshold,
            l4s,
        })
    }
}

/// 1/sqrt(count) in 32 bits after the point for counts below 16, as the sources fill their table.
const TABLE: [u32; 16] = {
    let mut table = [u32::MAX; 16];
    let (mut count, mut root) = (1, u32::MAX);
    while count < 16 {
        let mut steps = 0;
        while steps < 4 {
            root = newton_step(root, count as u32);
            steps += 1;
        }
        table[count] = root;
        count += 1;
    }
    table
};

/// One Newton step towards 1/sqrt(`count`).
const fn newton_step(root: u32, count: u32) -> u32 {
    let root = root as u64;
    let square = (root * root) >> 32;
    let factor = (3_u64 << 32).wrapping_sub(count as u64 * square) >> 2;
    (factor.wrapping_mul(root) >> 31) as u32
}

/// The policy.
pub struct Cobalt {
    set: Settings,
    count: u32,
    root: u32,
    drop_next: f64,
    dropping: bool,
    p_blue: f64,
    blue_moved: f64,
}

impl Cobalt {
    fn new(set: Settings) -> Self {
        let root = if set.r0 { 0 } else { u32::MAX };
        Cobalt { set, count: 0, root, drop_next: 0.0, dropping: false, p_blue: 0.0, blue_moved: 0.0 }
    }

    fn control_law(&self, from: f64) -> f64 {
        from + self.set.interval * f64::from(self.root) / 4_294_967_296.0
    }

    /// The count has changed: `drop_next` moves on by the new distance.
    fn reschedule(&mut self) {
        self.root = TABLE.get(self.count as usize).copied().unwrap_or_else(|| newton_step(self.root, self.count));
        self.drop_next = self.control_law(self.drop_next);
    }

    fn is_due(&self, now: f64) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    /// Whether `target` has passed since BLUE moved last; if so, it moves now.
    fn blue_moves(&mut self, now: f64) -> bool {
        let moves = now - self.blue_moved > self.set.target;
        if moves {
            let low_bits = (now * 1e9) as u64 as u32;
            self.blue_moved = if self.set.short_clock { f64::from(low_bits) * 1e-9 } else { now };
        }
        moves
    }

    fn full(&mut self, now: f64) {
        if self.blue_moves(now) {
            self.p_blue = (self.p_blue + self.set.increment).min(1.0);
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    fn empty(&mut self, now: f64) {
        if self.p_blue > 0.0 && self.blue_moves(now) {
            self.p_blue = (self.p_blue - self.set.decrement).max(0.0);
        }
        self.dropping = false;
        if self.is_due(now) {
            self.count -= 1;
            self.reschedule();
        }
    }

    fn decide(&mut self, packet: &Packet, last: bool, cx: &mut Context<'_>) -> Verdict {
        let (now, sojourn) = (cx.now.seconds(), cx.now - packet.enqueued);
        if self.set.l4s && matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce) {
            return if sojourn > self.set.ce_threshold { Verdict::Mark } else { Verdict::Pass };
        }
        // Before the state moves: the packet that starts the dropping state is never hit.
        let due = self.is_due(now);
        let mut behind = now - self.drop_next;
        if sojourn > self.set.target && sojourn > self.set.floor {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control_law(now);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let signal = due && self.dropping;
        if signal {
            self.count = self.count.saturating_add(1);
            self.reschedule();
            behind = now - self.drop_next;
        } else if due {
            self.fade(now);
            behind = now - self.drop_next;
        }
        if sojourn > self.set.blue_threshold && self.blue_moves(now) {
            self.p_blue = (self.p_blue + self.set.increment).min(1.0);
        }
        let blue = self.p_blue > 0.0 && cx.random.uniform() < self.p_blue;
        let dropped = blue || signal && !cx.can_mark(packet);
        if self.count == 0 {
            self.drop_next = now + self.set.interval;
        } else if behind > 0.0 && !dropped {
            self.drop_next = now;
        }
        if dropped {
            // Linux spares the last packet of a queue, though the state has counted it.
            let spared = last && self.set.linux;
            let by_chance = !signal && self.p_blue < 1.0;
            let reason = if by_chance { Reason::Early } else { Reason::Forced };
            return match (spared, signal && cx.can_mark(packet)) {
                (true, true) => Verdict::Mark,
                (true, false) => Verdict::Pass,
                (false, _) => Verdict::Drop(reason),
            };
        }
        if signal {
            return Verdict::Signal(Reason::Forced);
        }
        if sojourn > self.set.ce_threshold && !self.set.l4s {
            return Verdict::Mark;
        }
        Verdict::Pass
    }

    /// Steps back, one distance after the other, to the count that belongs to `now`. Each step was a signal before.
    fn fade(&mut self, now: f64) {
        while self.is_due(now) {
            self.count -= 1;
            self.reschedule();
        }
    }
}

impl Policy for Cobalt {
    fn needs(&self) -> Needs {
        Needs { dequeue: true, contents: self.set.head_dies }
    }

    fn on_enqueue(&mut self, _packet: &Packet, _queue: &QueueView<'_>, _cx: &mut Context<'_>) -> Verdict {
        Verdict::Pass
    }

    fn on_overflow(&mut self, _: Verdict, _packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        self.full(cx.now.seconds());
        match queue.contents.filter(|ring| self.set.head_dies && ring.packets() > 0) {
            Some(ring) => {
                cx.victims.push(ring.serials().start);
                Verdict::Victims { reason: Reason::Overflow, with_arrival: false, signal: false }
            }
            None => Verdict::Drop(Reason::Overflow),
        }
    }

    fn on_dequeue(&mut self, packet: Option<&Packet>, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        match packet {
            Some(packet) => self.decide(packet, queue.packets == 0, cx),
            None => {
                self.empty(cx.now.seconds());
                Verdict::Pass
            }
        }
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("count", f64::from(self.count));
        out("dropping", f64::from(u8::from(self.dropping)));
        out("drop_next", self.drop_next);
        out("p_blue", self.p_blue);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Generator;
    use crate::Time;

    const FAST: Link = Link { rate_bps: 1e9, delay_s: 0.0 };
    const MS: f64 = 1e-3;

    struct Bench {
        cobalt: Cobalt,
        u: f64,
        ecn: bool,
    }

    fn bench(given: &[(&'static str, Value)]) -> Bench {
        let mut values = Values::new();
        for &(name, value) in given {
            values.set(name, value);
        }
        Bench { cobalt: Cobalt::new(Settings::read(&values, &FAST).unwrap()), u: 0.999, ecn: false }
    }

    impl Bench {
        fn with<T>(&mut self, ms: f64, act: impl FnOnce(&mut Cobalt, &mut Context<'_>) -> T) -> T {
            let u = self.u;
            let now = Time::from_seconds(1.0 + ms * MS);
            let mut random = Generator::custom(move || u);
            let mut cx = Context { now, ecn: self.ecn, has_room: true, random: &mut random, victims: &mut Vec::new() };
            act(&mut self.cobalt, &mut cx)
        }

        fn leave(&mut self, ms: f64, sojourn: f64, packets: u64, ecn: Ecn) -> Verdict {
            let queue = QueueView { packets, bytes: 1500 * packets, idle_since: None, contents: None };
            self.with(ms, |cobalt, cx| {
                let enqueued = Time::from_seconds(cx.now.seconds() - sojourn * MS);
                cobalt.on_dequeue(Some(&Packet { enqueued, ecn, ..Packet::new(1, 1500) }), &queue, cx)
            })
        }

        /// A departure after which much is left: whether it was hit.
        fn hit(&mut self, ms: f64, sojourn: f64) -> bool {
            self.leave(ms, sojourn, 100, Ecn::NotEct) != Verdict::Pass
        }

        fn full(&mut self, ms: f64) {
            let queue = QueueView { packets: 100, bytes: 150_000, idle_since: None, contents: None };
            self.with(ms, |cobalt, cx| cobalt.on_overflow(Verdict::Pass, &Packet::new(1, 1500), &queue, cx));
        }

        fn empty(&mut self, ms: f64) {
            let queue = QueueView { packets: 0, bytes: 0, idle_since: None, contents: None };
            self.with(ms, |cobalt, cx| cobalt.on_dequeue(None, &queue, cx));
        }
    }

    fn dialect(word: &'static str) -> (&'static str, Value) {
        ("dialect", Value::Choice(word))
    }

    #[test]
    fn signals_come_after_an_interval_over_the_root_of_the_count() {
        for word in ["linux", "ns3"] {
            let mut bench = bench(&[dialect(word)]);
            bench.hit(-1.0, 1.0);
            let mut signals = Vec::new();
            let mut counts = Vec::new();
            // A little longer than a millisecond, so that rounding decides nothing.
            for ms in 0..=1500 {
                let sojourn = if ms <= 600 { 20.0 } else { 1.0 };
                if bench.hit(f64::from(ms) * 1.000_001, sojourn) {
                    signals.push((ms, bench.cobalt.count));
                }
                if [700, 800, 1000, 1500].contains(&ms) {
                    counts.push(bench.cobalt.count);
                }
            }
            let want = [100, 171, 229, 279, 324, 364, 402, 438, 471, 503, 533, 562, 589];
            assert_eq!(signals, want.iter().copied().zip(2..).collect::<Vec<_>>(), "{word}");
            assert_eq!(counts, [11, 8, 3, 0], "{word}: it fades");
        }
    }

    #[test]
    fn with_linux_r0_a_fresh_queue_signals_its_second_late_packet() {
        let mut bench = bench(&[("linux_r0", Value::Flag(true))]);
        bench.hit(-1.0, 1.0);
        let signals: Vec<i32> = (0..=340).filter(|&ms| bench.hit(f64::from(ms) * 1.000_001, 20.0)).collect();
        assert_eq!(signals, [1, 71, 129, 179, 224, 264, 302, 338]);
    }

    #[test]
    fn blue_moves_once_per_target() {
        let mut bench = bench(&[]);
        (0..=100).for_each(|ms| bench.full(f64::from(ms)));
        assert_eq!(bench.cobalt.p_blue, 17.0 / 256.0);
        // The last move was at 96 ms.
        bench.empty(100.5);
        assert_eq!(bench.cobalt.p_blue, 17.0 / 256.0);
        bench.empty(101.5);
        assert_eq!(bench.cobalt.p_blue, 17.0 / 256.0 - 1.0 / 4096.0);
        assert!(!bench.cobalt.dropping);
    }

    #[test]
    fn after_an_overflow_the_next_late_packet_is_due_at_once() {
        let mut bench = bench(&[]);
        bench.hit(-1.0, 1.0);
        assert!(!bench.hit(0.0, 20.0), "due at 100 ms");
        bench.full(10.0);
        assert!(bench.hit(10.0, 20.0), "due at 10 ms exactly");
        assert!(!bench.hit(11.0, 20.0));
    }

    #[test]
    fn a_signal_long_overdue_does_not_bring_others() {
        let mut bench = bench(&[]);
        bench.ecn = true;
        bench.hit(-1.0, 1.0);
        let marks = [0.0, 400.0, 401.0, 402.0, 403.0].map(|ms| bench.leave(ms, 20.0, 100, Ecn::Ect0) != Verdict::Pass);
        // Due at 100, then 170.7, which has passed too: now. Then 57.7 ms after 400.
        assert_eq!(marks, [false, true, true, false, false]);
    }

    #[test]
    fn an_empty_queue_takes_one_from_the_count_when_due() {
        let mut bench = bench(&[]);
        bench.hit(-1.0, 1.0);
        bench.hit(0.0, 20.0);
        bench.empty(50.0);
        assert_eq!((bench.cobalt.count, bench.cobalt.dropping), (1, false));
        bench.empty(150.0);
        assert_eq!(bench.cobalt.count, 0);
    }

    #[test]
    fn the_roots_are_good_to_three_places() {
        for count in 1..16_u32 {
            let root = f64::from(TABLE[count as usize]) / 4_294_967_296.0;
            assert!((root - 1.0 / f64::from(count).sqrt()).abs() < 5e-4, "{count}: {root}");
        }
        let mut root = TABLE[15];
        for count in 16..2000 {
            root = newton_step(root, count);
            let found = f64::from(root) / 4_294_967_296.0 * f64::from(count).sqrt();
            assert!((found - 1.0).abs() < 2e-3, "{count}: {found}");
        }
    }

    #[test]
    fn at_target_exactly_a_packet_is_not_late() {
        // Powers of two: no rounding.
        let mut bench = bench(&[("target", Value::Real(0.0078125))]);
        bench.hit(0.0, 7.8125);
        assert!(!bench.cobalt.dropping);
        bench.hit(0.0, 7.9);
        assert!(bench.cobalt.dropping);
    }

    #[test]
    fn linux_counts_in_packets_of_the_link_too() {
        let slow = Link { rate_bps: 1514.0 * 8.0 * 100.0, delay_s: 0.0 };
        let set = Settings::read(&Values::new(), &slow).unwrap();
        // 10 ms a packet: target 15 ms, interval 110 ms, late above 40 ms.
        assert!((set.target - 0.015).abs() < 1e-12 && (set.interval - 0.11).abs() < 1e-12);
        assert!((set.floor - 0.04).abs() < 1e-12);
        let set = Settings::read(Values::new().set("dialect", Value::Choice("ns3")), &slow).unwrap();
        assert_eq!((set.target, set.interval, set.floor), (0.005, 0.1, 0.0));
    }

    #[test]
    fn a_signal_is_a_mark_where_it_can_be_and_blue_never_is() {
        for (p_blue, want) in [(0.0, Verdict::Signal(Reason::Forced)), (0.5, Verdict::Drop(Reason::Forced))] {
            let mut bench = bench(&[]);
            bench.ecn = true;
            bench.leave(0.0, 1.0, 100, Ecn::Ect0);
            bench.leave(1.0, 20.0, 100, Ecn::Ect0);
            (bench.cobalt.p_blue, bench.u) = (p_blue, 0.1);
            assert_eq!(bench.leave(102.0, 20.0, 100, Ecn::Ect0), want);
            // Not due: BLUE alone, by chance.
            let alone = if p_blue > 0.0 { Verdict::Drop(Reason::Early) } else { Verdict::Pass };
            assert_eq!(bench.leave(103.0, 20.0, 100, Ecn::Ect0), alone);
        }
    }

    #[test]
    fn linux_spares_the_last_packet() {
        for (word, want) in [("linux", Verdict::Pass), ("ns3", Verdict::Drop(Reason::Early))] {
            let mut bench = bench(&[dialect(word)]);
            (bench.cobalt.p_blue, bench.u) = (0.5, 0.1);
            assert_eq!(bench.leave(0.0, 1.0, 0, Ecn::NotEct), want, "{word}");
            assert_eq!(bench.leave(0.0, 1.0, 1, Ecn::NotEct), Verdict::Drop(Reason::Early), "{word}");
        }
    }

    #[test]
    fn in_ns3_a_long_wait_raises_blue() {
        let mut bench = bench(&[dialect("ns3")]);
        bench.hit(0.0, 400.5);
        assert_eq!(bench.cobalt.p_blue, 1.0 / 256.0);
        bench.hit(4.0, 400.5);
        assert_eq!(bench.cobalt.p_blue, 1.0 / 256.0, "once per target");
        bench.hit(6.0, 399.5);
        assert_eq!(bench.cobalt.p_blue, 1.0 / 256.0);
        bench.hit(7.0, 400.5);
        assert_eq!(bench.cobalt.p_blue, 2.0 / 256.0);
    }

    #[test]
    fn a_full_queue_loses_its_head_in_linux_and_the_arrival_in_ns3() {
        use crate::{discipline::Fifo, gate::Gate, policy::Limit, Discipline};
        for (word, dead) in [("linux", 0), ("ns3", 3)] {
            let mut values = Values::new();
            values.set("dialect", Value::Choice(word));
            let cobalt = Cobalt::new(Settings::read(&values, &FAST).unwrap());
            let random = Generator::stream(1, "none");
            let mut queue = Fifo::new(Gate::new(Box::new(cobalt), Limit::Packets(3), false, random));
            let mut died = Vec::new();
            for tag in 0..4 {
                let packet = Packet { tag, ..Packet::new(1, 1500) };
                queue.enqueue(packet, Time::ZERO, &mut |p, reason| died.push((p.tag, reason)));
            }
            assert_eq!(died, [(dead, Reason::Overflow)], "{word}");
        }
    }

    #[test]
    fn thresholds_mark_without_the_state() {
        let ce = ("ce_threshold", Value::Real(0.001));
        let mut plain = bench(&[dialect("ns3"), ce]);
        assert_eq!(plain.leave(0.0, 1.5, 100, Ecn::Ect0), Verdict::Mark);
        let mut l4s = bench(&[dialect("ns3"), ce, ("l4s", Value::Flag(true))]);
        assert_eq!(l4s.leave(0.0, 1.5, 100, Ecn::Ect0), Verdict::Pass);
        assert_eq!(l4s.leave(0.0, 20.0, 100, Ecn::Ect1), Verdict::Mark);
        assert!(!l4s.cobalt.dropping);
    }
}
