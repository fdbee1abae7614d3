//! # GK
//!
//! ## What it does
//! Gibbens and Kelly's virtual queue. Arrivals also go into a virtual queue whose capacity and buffer are `theta` times
//! the real ones. From the moment at which the virtual queue overflows until it is empty again, every packet that
//! leaves the real queue is marked: those that came before the overflow too, since all share its cost. Packets that
//! cannot be marked pass. Nothing is dropped before the real buffer is full, so GK needs `ecn`.
//!
//! | when | rule |
//! |---|---|
//! | arrival of `L` at `t` | `VQ = max(0, VQ - theta C (t - t_0))`; marking ends at `VQ = 0`; then `VQ + L` if that is at most `theta B`, else marking begins |
//! | departure at `t` | `VQ = max(0, VQ - theta C (t - t_0))`; marking ends at `VQ = 0` |
//!
//! No random number, no timer, no average.
//!
//! ## Source
//! R. J. Gibbens, F. P. Kelly, "Resource pricing and the evolution of congestion control", Automatica 35(12), 1999. The
//! paper's text was not at hand; the rule is that of the comment and code of ns-2.35, `queue/gk.cc`.
//!
//! ## Differences
//! 1. In ns-2, and with `dialect = "ns2"`, `t_0` (the last drain) stands while the virtual queue is empty. So the first
//!    departure afterwards drains for all the empty time, and the first arrivals of a burst do not count. By default
//!    `t_0` runs.
//! 2. ns-2 marks when the link asks for a packet and one has arrived: the same packets.
//! 3. In ns-2, and with `dialect = "ns2"`, a buffer of N packets holds N - 1: the test is after the arrival has joined.
//! 4. ns-2 counts packets; `unit = "byte"` counts bytes. `victim = "front"` is ns-2's `drop_front_`.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, discipline::Fifo, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{Discipline, Ecn, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let limit = Limit::Packets(10);
//! let catalogue::Built::Policy(gk) = (catalogue::find("gk").unwrap().build)(&Values::new(), &link, limit).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(gk, limit, true, Generator::stream(1, "queue")));
//! // Ten arrivals at once: the virtual buffer has room for nine, so all ten leave with a mark.
//! for _ in 0..10 {
//!     queue.enqueue(Packet { ecn: Ecn::Ect0, ..Packet::new(1, 1000) }, Time::ZERO, &mut |_, _| {});
//! }
//! let left = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut |_, _| {}));
//! assert_eq!(left.filter(|packet| packet.ecn == Ecn::Ce).count(), 10);
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::params::{words, Kind, Param, Unit, Values, Word};
use crate::parts::capacity;
use crate::parts::measure::{self, Measure};
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Room, Verdict};
use crate::{Packet, Time};

words! {
    /// When the virtual queue is drained.
    enum Dialect {
        /// Always (Gibbens and Kelly 1999).
        Paper = "paper",
        /// For the time since it last had packets (ns-2.35, `queue/gk.cc`).
        Ns2 = "ns2",
    }
}

words! {
    /// Which packet a full buffer drops.
    enum Victim {
        /// The arrival.
        Arrival = "arrival",
        /// The oldest packet that waits.
        Front = "front",
    }
}

const PARAMS: [Param; 5] = [
    Param::real("theta", Unit::None, Kind::above(0.0, 1.0), 0.95)
        .symbol("\\theta")
        .says("ns-2.35 (ecnlim_)", "Capacity and buffer of the virtual queue, as a share of the real ones."),
    Param::word("dialect", Dialect::WORDS, "paper").says(
        "Gibbens & Kelly 1999",
        "Whether the virtual queue's clock runs while it is empty, as in the paper; in ns-2.35 it stands.",
    ),
    Param::word("victim", Victim::WORDS, "arrival")
        .says("ns-2.35 (drop_front_)", "Which packet a full buffer drops: the arrival, or the oldest one waiting."),
    measure::unit("packet", "ns-2.35"),
    measure::mean_packet(1000.0, "ns-2.35 (mean_pktsize_)"),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Virtual queue of Gibbens and Kelly: marks all that leaves from its overflow until it is empty",
    source: "Gibbens, Kelly: Resource pricing and the evolution of congestion control, Automatica 35(12), 1999",
    params: &[&PARAMS],
    build: &|values, link, limit| Ok(Built::Policy(Box::new(read(values, link, limit)))),
    ..AqmSpec::named("gk", "GK", "load and queue control", 1999)
};

fn read(values: &Values, link: &Link, limit: Limit) -> Gk {
    let measure = Measure::read(values, &PARAMS);
    let buffer = measure.buffer(limit);
    let theta = values.real(&PARAMS, "theta");
    let dialect = values.choice(&PARAMS, "dialect");
    Gk {
        size: theta * buffer,
        capacity: theta * if measure.bytes { link.rate_bps / 8.0 } else { measure.capacity(link) },
        room: match dialect {
            Dialect::Ns2 => capacity::n_minus_1(limit),
            Dialect::Paper => Room::holding(limit),
        },
        dialect,
        victim: values.choice(&PARAMS, "victim"),
        measure,
        virtual_queue: 0.0,
        drained: Time::ZERO,
        marking: false,
    }
}

/// The policy. Its quantities are in packets, or in bytes with `unit = "byte"`.
pub struct Gk {
    /// theta B, the virtual buffer.
    size: f64,
    /// theta C, the virtual capacity per second.
    capacity: f64,
    /// When an arrival finds space in the real buffer.
    room: Room,
    /// Whether the clock runs while the virtual queue is empty.
    dialect: Dialect,
    /// Which packet a full buffer drops.
    victim: Victim,
    /// Packets or bytes.
    measure: Measure,
    /// VQ, the length of the virtual queue.
    virtual_queue: f64,
    /// t_0, until when the virtual queue is drained.
    drained: Time,
    /// Whether the virtual queue has overflowed since it was last empty.
    marking: bool,
}

impl Gk {
    /// Drains the virtual queue until `now`.
    fn drain(&mut self, now: Time) {
        if self.virtual_queue > 0.0 {
            self.virtual_queue -= self.capacity * (now - self.drained);
            self.drained = now;
            if self.virtual_queue <= 0.0 {
                self.virtual_queue = 0.0;
                self.marking = false;
            }
        } else if self.dialect == Dialect::Paper {
            self.drained = now;
        }
    }
}

impl Policy for Gk {
    fn needs(&self) -> Needs {
        Needs { dequeue: true, contents: self.victim == Victim::Front }
    }

    fn room(&self, _limit: Limit) -> Room {
        self.room
    }

    fn on_enqueue(&mut self, packet: &Packet, _queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        self.drain(cx.now);
        let amount = self.measure.amount(packet) as f64;
        if self.virtual_queue + amount > self.size {
            self.marking = true;
        } else {
            self.virtual_queue += amount;
        }
        Verdict::Pass
    }

    fn on_overflow(&mut self, _: Verdict, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        capacity::oldest_gives_way(self.room, packet, queue, cx)
    }

    fn on_dequeue(&mut self, packet: Option<&Packet>, _queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        self.drain(cx.now);
        match packet {
            Some(_) if self.marking => Verdict::Mark,
            _ => Verdict::Pass,
        }
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("vq", self.virtual_queue);
        out("marking", f64::from(u8::from(self.marking)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// 1000 packets of 1000 B a second; the virtual capacity is 950 packets a second.
    const LINK: Link = Link { rate_bps: 8e6, delay_s: 0.01 };

    fn behind(pairs: &[(&'static str, Value)], limit: Limit) -> Fifo {
        let values = Values::of(pairs);
        let random = Generator::custom(|| panic!("GK draws no random number"));
        Fifo::new(Gate::new(Box::new(read(&values, &LINK, limit)), limit, true, random))
    }

    fn arrive(queue: &mut Fifo, ms: f64, ecn: Ecn) -> bool {
        let packet = Packet { ecn, ..Packet::new(1, 1000) };
        queue.enqueue(packet, Time::from_seconds(ms / 1e3), &mut |_, _| {}).is_some()
    }

    /// Whether the packet that leaves at `ms` has a mark.
    fn leave(queue: &mut Fifo, ms: f64) -> Option<bool> {
        queue.dequeue(Time::from_seconds(ms / 1e3), &mut |_, _| {}).map(|packet| packet.ecn == Ecn::Ce)
    }

    fn gauge(queue: &Fifo, name: &str) -> f64 {
        let mut found = f64::NAN;
        queue.gauges(&mut |key, value| found = if key == name { value } else { found });
        found
    }

    const NS2: (&str, Value) = ("dialect", Value::Choice("ns2"));

    #[test]
    fn the_virtual_buffer_holds_theta_of_the_real_one() {
        // The virtual queue holds 0.95 of 20 packets: the twentieth overflows it.
        let mut queue = behind(&[], Limit::Packets(20));
        for k in 0..20 {
            assert_eq!(gauge(&queue, "marking"), 0.0, "{k}");
            assert!(arrive(&mut queue, 1.0, Ecn::Ect0));
        }
        assert_eq!((gauge(&queue, "marking"), gauge(&queue, "vq")), (1.0, 19.0), "what overflowed is not in it");
    }

    #[test]
    fn all_that_leaves_is_marked_until_the_virtual_queue_is_empty() {
        let mut queue = behind(&[], Limit::Packets(20));
        for k in 0..20 {
            arrive(&mut queue, 0.0, if k == 3 { Ecn::NotEct } else { Ecn::Ect0 });
        }
        // One packet leaves each ms; the virtual queue of 19 is empty after 20 ms.
        let marked: Vec<bool> = (0..20).filter_map(|k| leave(&mut queue, f64::from(k))).collect();
        assert_eq!(marked, (0..20).map(|k| k != 3).collect::<Vec<_>>(), "what cannot be marked passes");
        assert_eq!((queue.counters().marks, queue.counters().drops()), (19, 0));
        arrive(&mut queue, 19.99, Ecn::Ect0);
        assert_eq!(leave(&mut queue, 20.1), Some(true), "0.01 of 19 packets were left, and one came");
        assert_eq!(leave(&mut queue, 21.2), None);
        arrive(&mut queue, 21.3, Ecn::Ect0);
        assert_eq!(leave(&mut queue, 21.3), Some(false));
    }

    #[test]
    fn marking_ends_at_an_arrival_too() {
        let mut queue = behind(&[], Limit::Packets(20));
        assert!((0..20).all(|_| arrive(&mut queue, 0.0, Ecn::Ect0)));
        assert_eq!((leave(&mut queue, 0.0), gauge(&queue, "marking")), (Some(true), 1.0));
        // 19 packets of the real queue still wait when the virtual one is empty.
        arrive(&mut queue, 20.1, Ecn::Ect0);
        assert_eq!((gauge(&queue, "marking"), gauge(&queue, "vq")), (0.0, 1.0));
        assert_eq!(leave(&mut queue, 20.1), Some(false));
    }

    #[test]
    fn ns2_forgets_the_first_packet_after_the_virtual_queue_was_empty() {
        for (dialect, left) in [("paper", 1.0), ("ns2", 0.0)] {
            let mut queue = behind(&[("dialect", Value::Choice(dialect))], Limit::Packets(20));
            arrive(&mut queue, 1000.0, Ecn::Ect0);
            leave(&mut queue, 1000.0);
            assert_eq!(gauge(&queue, "vq"), left, "{dialect}");
            arrive(&mut queue, 1000.5, Ecn::Ect0);
            let then: f64 = gauge(&queue, "vq");
            assert!((then - if left > 0.0 { 2.0 - 0.475 } else { 1.0 }).abs() < 1e-9, "{dialect}: {then}");
        }
    }

    #[test]
    fn ns2_holds_one_packet_less() {
        for (pairs, held) in [(&[][..], 20), (&[NS2][..], 19)] {
            let mut queue = behind(pairs, Limit::Packets(20));
            let admitted = (0..25).filter(|_| arrive(&mut queue, 0.0, Ecn::Ect0)).count();
            assert_eq!((admitted, queue.counters().overflow_drops), (held, 25 - held as u64));
        }
        let mut bytes = behind(&[NS2], Limit::Bytes(5000));
        assert_eq!((0..9).filter(|_| arrive(&mut bytes, 0.0, Ecn::Ect0)).count(), 4);
    }

    #[test]
    fn the_front_can_be_dropped_in_favour_of_the_arrival() {
        let mut queue = behind(&[("victim", Value::Choice("front"))], Limit::Packets(3));
        let mut dropped = Vec::new();
        for tag in 0..5 {
            let packet = Packet { tag, ..Packet::new(1, 1000) };
            assert!(queue.enqueue(packet, Time::ZERO, &mut |packet, _| dropped.push(packet.tag)).is_some());
        }
        assert_eq!((dropped, queue.counters().overflow_drops), (vec![0, 1], 2));
    }

    #[test]
    fn packets_and_bytes_agree_for_packets_of_the_mean_size() {
        for limit in [Limit::Packets(8), Limit::Bytes(8000)] {
            let bytes = ("unit", Value::Choice("byte"));
            let mut both = [behind(&[], limit), behind(&[bytes], limit)];
            let mut marks = 0;
            for i in 0..3000_u32 {
                let now = f64::from(i) * 0.9;
                let admitted = both.each_mut().map(|queue| arrive(queue, now, Ecn::Ect0));
                assert_eq!(admitted[0], admitted[1], "{i}");
                if i % 17 > 4 {
                    let left = both.each_mut().map(|queue| leave(queue, now));
                    assert_eq!(left[0], left[1], "{i}");
                    marks += u32::from(left[0] == Some(true));
                }
            }
            assert!(marks > 100 && both[0].counters().overflow_drops > 100, "{marks}");
        }
    }
}
