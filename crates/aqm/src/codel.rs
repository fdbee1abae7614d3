//! # CoDel
//!
//! ## What it does
//! Controls the time that packets spend in the queue, not its length. When every packet of the last `interval` waited
//! at least `target`, it drops the packet that is about to leave, and keeps dropping at shorter and shorter intervals
//! until a packet comes through below `target`:
//!
//! | | |
//! |---|---|
//! | late | `sojourn >= target`, and more than `max_packet` bytes wait behind the packet |
//! | first drop | the first late packet `interval` after packets became late |
//! | next drop | `drop_next = drop_next + interval/sqrt(count)`, `count` the drops so far |
//! | leaves | at the first packet that is not late |
//! | drops again | within `16 interval` of `drop_next`, it continues with the count it had gained, else with 1 |
//!
//! It decides at departure, needs no random number and no tuning to the link. Where a packet can be marked it is marked
//! and delivered instead of dropped. A full queue drops the arrival, and CoDel is not told.
//!
//! ## Source
//! K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, "Controlled Delay Active Queue Management", RFC 8289, 2018, the
//! pseudo-code of section 5; Linux `include/net/codel_impl.h`; ns-3 `codel-queue-disc.cc`.
//!
//! ## Differences
//! 1. `dialect` chooses among rules on which the sources differ:
//!
//!    | | rfc | linux | ns3 |
//!    |---|---|---|---|
//!    | first drop when | `now >= first_above` | `now > first_above` | as linux |
//!    | left alone | backlog `<= max_packet` | as rfc | `< max_packet` |
//!    | `max_packet`, auto | 1500 B | 1514 B | 1500 B |
//!    | `1/sqrt(count)`, auto | exact | one Newton step in 16 bits | as linux |
//!    | `drop_next` after a mark | from `drop_next` | as rfc | from now |
//!    | clock | exact | 1024 ns | 1024 ns |
//!    | empty queue | forgets since when packets are late | as rfc | remembers |
//!
//!    Kernels before 2026 remember too (`codel_dequeue`; 6.1.192 no longer does). In FQ-CoDel they so drop packets of
//!    flows that send now and then; in a single queue the last packet has no backlog behind it, so nothing is
//!    remembered. RFC 8289 prints 512 B for `max_packet` but wants the MTU, as here.
//! 2. One Newton step is far off for small counts: at 2, 3 and 4 it gives 0.5000, 0.5625, 0.4878 instead of 0.7071,
//!    0.5774, 0.5. Linux and ns-3 signal after 100, 200, 250, 306 ms where the law says 100, 200, 270.7, 328.4. Here
//!    `invsqrt = "auto"` follows the dialect, and so the default (rfc) is exact.
//! 3. RFC 8289 defines no marking. Here, as in Linux, a mark counts as a drop, and the marked packet is delivered at
//!    once.
//! 4. `ce_threshold` marks only if the port's ECN is on; in Linux it does not depend on that. A packet that CoDel marks
//!    too is counted once, as in ns-3; Linux counts it twice.
//! 5. Linux and ns-3 keep 32-bit clocks, which wrap after 73 minutes. Here they do not wrap.
//! 6. RFC 8289 reads the value 0 of `first_above_time` as unset, which is wrong at time 0. Here unset is a state.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 12e6, delay_s: 0.02 };
//! let catalogue::Built::Policy(policy) = (catalogue::find("codel").unwrap().build)(&Values::new(), &link, Limit::Packets(1000)).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, Limit::Packets(1000), false, Generator::stream(1, "queue")));
//! for _ in 0..500 {
//!     queue.enqueue(Packet::new(1, 1500), Time::ZERO, &mut |_, _| {});
//! }
//! let mut drops = Vec::new();
//! for ms in 0..400 {
//!     let now = Time::from_seconds(f64::from(ms) * 1.000_001e-3);
//!     queue.dequeue(now, &mut |_, _| drops.push(ms));
//! }
//! // Late since 5 ms: a drop 100 ms later, the next after 100 ms, 70.7 ms, 57.7 ms.
//! assert_eq!(drops, [105, 205, 276, 334, 384]);
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::default_limit::DefaultLimit;
use crate::parts::codel::{CodelState, Settings, PARAMS};
use crate::policy::{Context, Needs, Policy, QueueView, Verdict};
use crate::Packet;
use std::any::Any;

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Drops at departure, ever closer together, while packets wait too long",
    source: "Nichols, Jacobson, McGregor, Iyengar: Controlled Delay Active Queue Management, RFC 8289, 2018",
    params: &[&PARAMS],
    limit: DefaultLimit::Packets { packets: 1000, source: "Linux sch_codel" },
    check: &|values, _| Settings::read(values).map(|_| ()),
    build: &|values, _, _| {
        Ok(Built::Policy(Box::new(Codel { set: Settings::read(values)?, state: CodelState::default() })))
    },
    ..AqmSpec::named("codel", "CoDel", "sojourn time", 2012)
};

/// The policy.
pub struct Codel {
    /// The parameters.
    set: Settings,
    /// The state of the queue.
    state: CodelState,
}

impl Policy for Codel {
    fn needs(&self) -> Needs {
        Needs { dequeue: true, contents: false }
    }

    fn on_enqueue(&mut self, _packet: &Packet, _queue: &QueueView<'_>, _cx: &mut Context<'_>) -> Verdict {
        Verdict::Pass
    }

    fn on_dequeue(&mut self, packet: Option<&Packet>, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let can_mark = packet.is_some_and(|packet| cx.can_mark(packet));
        self.state.step(&self.set, packet, queue.bytes, cx.now, can_mark)
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.state.gauges(&self.set, out);
    }

    fn resume(&mut self, before: &dyn Any) -> bool {
        let Some(before) = before.downcast_ref::<Self>() else { return false };
        self.state = before.state.clone();
        self.set.same_states(&before.set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// A CoDel that the test shows packets one after the other, with their sojourn times.
    struct Bench {
        codel: Codel,
        random: Generator,
        ecn: bool,
        /// Time of the start; the clock's milliseconds are a nanosecond too long, so that rounding decides nothing.
        start: f64,
    }

    const MS: f64 = 1.000_001e-3;

    fn bench(given: &[(&'static str, Value)]) -> Bench {
        let values = Values::of(given);
        let codel = Codel { set: Settings::read(&values).unwrap(), state: CodelState::default() };
        Bench { codel, random: Generator::stream(1, "none"), ecn: false, start: 1.0 }
    }

    impl Bench {
        fn ask(&mut self, ms: f64, sojourn: Option<f64>, bytes: u64, ecn: Ecn) -> Verdict {
            let now = Time::from_seconds(self.start + ms * MS);
            let packet = sojourn.map(|s| Packet {
                enqueued: Time::from_seconds(now.seconds() - s * 1e-3),
                ecn,
                ..Packet::new(1, 1500)
            });
            let queue = QueueView { packets: 100, bytes, idle_since: None, contents: None };
            let random = &mut self.random;
            let mut cx = Context { now, ecn: self.ecn, has_room: true, random, victims: &mut Vec::new() };
            self.codel.on_dequeue(packet.as_ref(), &queue, &mut cx)
        }

        /// The drops of one dequeue at `ms` before it delivers a packet.
        fn dequeue(&mut self, ms: f64, sojourn: f64) -> u32 {
            let mut drops = 0;
            while matches!(self.ask(ms, Some(sojourn), 100_000, Ecn::NotEct), Verdict::Signal(_)) {
                drops += 1;
            }
            drops
        }

        fn count(&self) -> u32 {
            let mut count = 0.0;
            self.codel.gauges(&mut |name, value| count = if name == "count" { value } else { count });
            count as u32
        }
    }

    fn dialect(word: &'static str) -> (&'static str, Value) {
        ("dialect", Value::Choice(word))
    }

    fn drops(mut bench: Bench, step: usize, last: u32) -> Vec<u32> {
        (0..=last)
            .step_by(step)
            .flat_map(|ms| {
                let n = bench.dequeue(f64::from(ms), 20.0);
                std::iter::repeat_n(ms, n as usize)
            })
            .collect()
    }

    #[test]
    fn drops_when_the_control_law_of_rfc_8289_says() {
        // Exactly 100, 200, 270.711, 328.446, 378.446, 423.167, 463.992, 501.788, 537.144, 570.477.
        assert_eq!(drops(bench(&[]), 1, 610), [100, 200, 271, 329, 379, 424, 464, 502, 538, 571, 603]);
        let exact = ("invsqrt", Value::Choice("exact"));
        for word in ["linux", "ns3"] {
            assert_eq!(drops(bench(&[dialect(word), exact]), 1, 470), [101, 201, 272, 330, 380, 425, 465]);
        }
    }

    /// The n-th gap between drops is interval/sqrt(n); dequeues every 50 us. No random number, so no false alarm.
    #[test]
    fn the_nth_gap_is_the_interval_over_the_root_of_n() {
        let mut bench = bench(&[]);
        let mut drops = Vec::new();
        for step in 0..80_000 {
            let ms = f64::from(step) * 0.05;
            for _ in 0..bench.dequeue(ms, 20.0) {
                drops.push(ms * MS);
            }
        }
        assert!(drops.len() > 200, "{}", drops.len());
        let mut due = drops[0];
        for (n, &found) in (1..).zip(&drops[1..]) {
            due += 0.1 / f64::from(n).sqrt();
            assert!((0.0..=51e-6).contains(&(found - due)), "drop {n}: {found}, due at {due}");
        }
    }

    #[test]
    fn several_packets_die_in_one_dequeue_if_the_link_asks_rarely() {
        assert_eq!(
            drops(bench(&[]), 60, 840),
            [120, 240, 300, 360, 420, 480, 540, 540, 600, 600, 660, 660, 720, 720, 780, 780, 840, 840, 840]
        );
    }

    #[test]
    fn one_newton_step_drops_when_linux_does() {
        let bench = bench(&[dialect("linux")]);
        assert_eq!(drops(bench, 1, 580), [101, 201, 251, 308, 357, 401, 441, 479, 514, 547, 578]);
    }

    #[test]
    fn the_count_is_remembered_for_16_intervals() {
        let run = |pause: u32| {
            let mut bench = bench(&[]);
            let mut seen = Vec::new();
            for ms in 0..(pause + 800) {
                let sojourn = if (501..=pause).contains(&ms) { 1.0 } else { 20.0 };
                for _ in 0..bench.dequeue(f64::from(ms), sojourn) {
                    seen.push((ms, bench.count()));
                }
            }
            seen
        };
        let seen = run(520);
        assert_eq!(seen[5..12], [(424, 6), (464, 7), (621, 6), (662, 7), (700, 8), (735, 9), (769, 10)]);
        // drop_next was 501.8: 16 intervals later, from 2101.8 on, the count begins at 1.
        assert_eq!(run(2000)[7], (2101, 6));
        assert_eq!(run(2001)[7], (2102, 1));
    }

    #[test]
    fn target_and_backlog_are_compared_as_each_source_does() {
        for (word, at_edge, above) in [("rfc", 1500, 1501), ("linux", 1514, 1515), ("ns3", 1499, 1500)] {
            for (bytes, drops) in [(at_edge, false), (above, true)] {
                let mut bench = bench(&[dialect(word)]);
                bench.ask(0.0, Some(20.0), bytes, Ecn::NotEct);
                let verdict = bench.ask(101.0, Some(20.0), bytes, Ecn::NotEct);
                assert_eq!(verdict != Verdict::Pass, drops, "{word} at {bytes} B");
            }
        }
        for (sojourn, drops) in [(4.9999, 0), (5.0001, 1)] {
            let mut bench = bench(&[]);
            bench.dequeue(0.0, sojourn);
            assert_eq!(bench.dequeue(101.0, sojourn), drops, "{sojourn} ms");
        }
    }

    #[test]
    fn one_early_packet_starts_the_interval_anew() {
        let mut bench = bench(&[]);
        assert_eq!([0.0, 99.0, 100.0].map(|ms| bench.dequeue(ms, if ms == 99.0 { 4.0 } else { 20.0 })), [0, 0, 0]);
        assert_eq!([199.0, 200.0].map(|ms| bench.dequeue(ms, 20.0)), [0, 1]);
    }

    #[test]
    fn at_time_zero_it_waits_a_whole_interval_too() {
        let mut bench = bench(&[("target", Value::Real(1e-9))]);
        bench.start = 0.0;
        assert_eq!([0.0, 0.1, 100.0, 100.2].map(|ms| bench.dequeue(ms, ms.min(20.0))), [0, 0, 0, 1]);
    }

    #[test]
    fn an_empty_queue_leaves_the_dropping_state() {
        for word in ["rfc", "linux", "ns3"] {
            let mut bench = bench(&[dialect(word)]);
            bench.dequeue(0.0, 20.0);
            assert_eq!(bench.dequeue(101.0, 20.0), 1);
            assert_eq!(bench.ask(120.0, None, 0, Ecn::NotEct), Verdict::Pass);
            // rfc and linux have forgotten that packets were late; ns3 has not.
            let expected = u32::from(word == "ns3");
            assert_eq!(bench.dequeue(130.0, 20.0), expected, "{word}");
        }
    }

    #[test]
    fn a_mark_is_delivered_at_once_and_counts_as_a_drop() {
        for (word, third) in [("rfc", 331.0), ("ns3", 331.0)] {
            let mut bench = bench(&[dialect(word), ("invsqrt", Value::Choice("exact"))]);
            bench.ecn = true;
            let mut marks = Vec::new();
            for ms in [0.0, 101.0, 102.0, 260.0, 261.0, third, third + 1.0, third + 30.0] {
                if bench.ask(ms, Some(20.0), 100_000, Ecn::Ect0) != Verdict::Pass {
                    marks.push(ms);
                }
            }
            // Entered at 101, next due at 201, marked at 260. Then rfc: 201 + 70.7 = 271.7; ns3: 260 + 70.7 = 330.7.
            assert_eq!(marks[..3], [101.0, 260.0, third], "{word}");
            // rfc: 271.7 + 57.7 = 329.4 has passed as well; ns3: 331 + 57.7.
            assert_eq!(marks.len(), if word == "rfc" { 4 } else { 3 }, "{word}: {marks:?}");
        }
    }

    #[test]
    fn above_ce_threshold_every_packet_is_marked() {
        let mut bench = bench(&[("ce_threshold", Value::Real(0.001))]);
        bench.ecn = true;
        let verdicts = [0.9, 1.1, 4.0].map(|sojourn| bench.ask(0.0, Some(sojourn), 100_000, Ecn::Ect0));
        assert_eq!(verdicts, [Verdict::Pass, Verdict::Mark, Verdict::Mark]);
    }

    #[test]
    fn l4s_packets_see_the_threshold_and_nothing_else() {
        let given = [dialect("ns3"), ("ce_threshold", Value::Real(0.001)), ("l4s", Value::Flag(true))];
        let mut bench = bench(&given);
        bench.ecn = true;
        assert_eq!(bench.ask(0.0, Some(20.0), 100_000, Ecn::Ect0), Verdict::Pass);
        for (ecn, sojourn, want) in
            [(Ecn::Ect1, 0.9, Verdict::Pass), (Ecn::Ect1, 20.0, Verdict::Mark), (Ecn::Ce, 20.0, Verdict::Mark)]
        {
            assert_eq!(bench.ask(101.0, Some(sojourn), 100_000, ecn), want);
        }
        // CoDel's state has not moved: a packet with ECT(0) is the first to be hit.
        assert!(matches!(bench.ask(101.0, Some(20.0), 100_000, Ecn::Ect0), Verdict::Signal(_)));
        let values = Values::of(&[("l4s", Value::Flag(true))]);
        assert_eq!(Settings::read(&values).unwrap_err().name, "l4s");
    }
}
