//! # DDRED
//!
//! ## What it does
//! RED decides whether a packet is dropped, DDRED which one: of the queue and the arrival, the one that has come the
//! shortest way (of the smallest distance).
//!
//! | `method` | distance of a packet |
//! |---|---|
//! | 1 | the hops it has made, `d = TTL_i - TTL` |
//! | 2 | the share of its route, `d/(TTL_i - TTL_f)` |
//!
//! `TTL_i` is the time to live that the sender set, `TTL_f` the one that was left at the destination; the sender writes
//! both into the packet. With ECN the packet of the smallest distance is marked instead.
//!
//! ## Source
//! E. Dedu, S. Linck, F. Spies, "Distance-dependent RED policy (DDRED)", 2007, sections IV and VI; RED with gentle, as
//! in its simulations.
//!
//! ## Differences
//! 1. Who is searched (reconstruction): the paper has the router search the queue, and drop what it finds there instead
//!    of the arrival. Here the arrival is a candidate too; else a near arrival could push out a packet from farther
//!    away, against the paper's section IV. `searched = "queue"` follows the letter.
//! 2. Ties (reconstruction): the newest is dropped, so the arrival before a queued packet. The paper's remark that
//!    packets are marked "from up to bottom", so that the notice comes late, supports this. `tie = "oldest"` is the
//!    other rule.
//! 3. ECN (reconstruction): the paper says only that marking takes the place of dropping. Here the nearest packet is
//!    dropped if it is not ECN-capable. If it is marked already, the nearest unmarked ECN-capable packet is marked, if
//!    there is one. Past the end of the curve packets are dropped: the paper has ECN "between th_min and th_max" only
//!    (section III.B), like RFC 3168, section 7. The RED that the paper quotes marks even there:
//!    `ecn_over_max = "mark"`.
//! 4. Certain drops past the end of the curve, and overflow (reconstruction): the paper is silent; here too the nearest
//!    is dropped. `forced_victim = "arrival"` is a patch of ns-2's RED that changes the early victim only.
//! 5. RED's count and average do not depend on which packet is dropped. The paper says that its formula is unchanged.
//! 6. Method 2 (reconstruction): a packet without `TTL_f` (a SYN) counts as having its whole route behind it, for the
//!    loss of a SYN costs a whole timeout; with `TTL_f >= TTL_i` its distance is its hops. A packet on a longer
//!    route than the packet before it can have a share above 1.
//! 7. A packet without `TTL_i` counts as just sent; `no_option` has two other rules. (reconstruction)
//! 8. Thresholds and max_p are ours: the paper gives none.
//! 9. An arrival that would not fit into the empty queue is dropped itself, and no other packet is. (reconstruction)
//!
//! The cost of a packet does not depend on how many wait. Rules, errata of the paper and tests:
//! `docs/algorithms/ddred.md`.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{discipline::Fifo, Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let spec = catalogue::find("ddred").unwrap();
//! let catalogue::Built::Policy(policy) = (spec.build)(&Values::new(), &link, Limit::Packets(3)).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(policy, Limit::Packets(3), false, Generator::stream(1, "queue")));
//! // From 7, 2, 9 and 4 hops away: the buffer has no space for the fourth, and the second is dropped.
//! for hops in [7, 2, 9, 4] {
//!     let packet = Packet { initial_ttl: 32, ttl: 32 - hops, ..Packet::new(u64::from(hops), 1000) };
//!     queue.enqueue(packet, Time::ZERO, &mut |victim, _| assert_eq!(victim.flow, 2));
//! }
//! let left: Vec<u64> = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut |_, _| {})).map(|p| p.flow).collect();
//! assert_eq!(left, [7, 9, 4]);
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::early_detection::{params, Defaults, Dialect, EarlyDetection, Settings, SHARED};
use crate::params::{words, Param, ParamError, Values, Word};
use crate::parts::curve::{probability, Linear};
use crate::parts::distance::{self, Nearest};
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Reason, Room, Verdict};
use crate::ring::Ring;
use crate::{Ecn, Packet};

const COMMON: [Param; SHARED] = params(Defaults {
    min_th: 5.0,
    max_th: 15.0,
    max_p: 0.1,
    source: "our choice: the values of ns-2 before its automatic ones (the paper gives none)",
});

/// Without the last one, `overflow_victim`: the rule of distance takes its place.
const SHOWN: &[Param] = COMMON.split_at(SHARED - 1).0;

words! {
    /// Which packet is dropped past the end of the curve and when there is no space.
    enum ForcedVictim {
        /// The packet that has come the shortest way.
        Nearest = "nearest",
        /// The arrival.
        Arrival = "arrival",
    }
}

words! {
    /// Among which packets the nearest is searched.
    enum Searched {
        /// Those that wait, and the arrival.
        WithArrival = "with_arrival",
        /// Those that wait; the arrival only if none does.
        Queue = "queue",
    }
}

const OWN: [Param; 3] = [
    Param::flag("gentle", true)
        .says(
            "Dedu, Linck & Spies 2007, section III.A",
            "Between max_th and twice max_th the probability rises from max_p to 1 instead of jumping (not in linux).",
        ),
    Param::word("forced_victim", ForcedVictim::WORDS, "nearest")
        .says(
            "our reading; arrival: ns-2.35 with the early victim changed",
            "Which packet is dropped past the end of the curve and when the buffer is full: the nearest too, or the arrival.",
        ),
    Param::word("searched", Searched::WORDS, "with_arrival")
        .says(
            "our reading; queue: Dedu, Linck & Spies 2007, section IV.B, to the letter",
            "Where the nearest is searched: among the arrival and those that wait, or only those that wait.",
        ),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Distance-dependent RED: the packet that has come the shortest way is dropped instead of the arrival",
    source: "Dedu, Linck, Spies: Distance-dependent RED policy (DDRED), 2007",
    params: &[SHOWN, &OWN, &distance::PARAMS],
    limit: DefaultLimit::RED,
    check: &|values, link| read(values, link).map(|_| ()),
    build: &|values, link, limit| {
        let (set, curve) = read(values, link)?;
        let core = EarlyDetection::new(set, curve);
        Ok(Built::Policy(Box::new(Ddred {
            room: core.room(limit),
            core,
            overflow_wins: set.dialect() == Dialect::Ns2,
            forced_victim: values.choice(&OWN, "forced_victim"),
            searched: values.choice(&OWN, "searched"),
            waiting: Nearest::new(values),
            unmarked: Nearest::new(values),
            marks: false,
            victim: 0.0,
        })))
    },
    curve: Some(&|values, link, average| {
        read(values, link).map_or(f64::NAN, |(set, curve)| probability(&curve, set.in_unit(average)))
    }),
    ..AqmSpec::named("ddred", "DDRED", "flow-aware RED", 2007)
};

fn read(values: &Values, link: &Link) -> Result<(Settings, Linear), ParamError> {
    let set = Settings::read(values, &COMMON, link)?;
    let gentle = values.flag(&OWN, "gentle");
    if gentle && set.dialect() == Dialect::Linux {
        return Err(ParamError::new("gentle", true, "false: linux has no gentle RED"));
    }
    Ok((set, Linear::new(set.min_th, set.max_th, set.max_p, gentle)))
}

/// The policy.
pub struct Ddred {
    /// RED: average, spacing and drop curve.
    core: EarlyDetection<Linear>,
    /// When an arrival finds space in the buffer.
    room: Room,
    /// Whether an overflow overrides what the early test said, as in ns-2.
    overflow_wins: bool,
    /// Which packet is dropped past the end of the curve and when there is no space.
    forced_victim: ForcedVictim,
    /// Among which packets the nearest is searched.
    searched: Searched,
    /// Every packet of the queue, by distance.
    waiting: Nearest,
    /// The packets that can still be marked, while marking is on.
    unmarked: Nearest,
    /// Whether marking was on at the last arrival.
    marks: bool,
    /// Distance of the last packet that was dropped or marked.
    victim: f64,
}

impl Ddred {
    fn advance(&mut self, ring: &Ring) {
        self.waiting.advance(ring);
        self.unmarked.advance(ring);
    }

    /// The nearest packet that waits, if it goes in place of `arrival`.
    fn nearest(&mut self, arrival: &Packet) -> Option<u64> {
        match self.searched {
            Searched::WithArrival => self.waiting.nearer_than(arrival),
            Searched::Queue => self.waiting.least(),
        }
    }

    /// The nearest of the queue and the arrival is dropped.
    fn drop_nearest(&mut self, reason: Reason, arrival: &Packet, ring: &Ring, cx: &mut Context<'_>) -> Verdict {
        let queued = self.nearest(arrival).and_then(|serial| Some((serial, ring.get(serial)?)));
        let (_, nearest) = queued.unwrap_or((0, arrival));
        self.victim = self.waiting.distance().value(nearest);
        let Some((serial, packet)) = queued else { return Verdict::Drop(reason) };
        self.waiting.remove(packet, serial);
        self.unmarked.remove(packet, serial);
        cx.victims.push(serial);
        Verdict::Victims { reason, with_arrival: false, signal: false }
    }

    /// Signals the nearest of the queue and the arrival: drops it if it is not ECN-capable, else marks it or, if it is
    /// marked, the nearest that can still be marked.
    fn signal_nearest(&mut self, reason: Reason, arrival: &Packet, ring: &Ring, cx: &mut Context<'_>) -> Verdict {
        let nearest = self.nearest(arrival).and_then(|serial| ring.get(serial)).unwrap_or(arrival);
        if !cx.can_mark(nearest) {
            return self.drop_nearest(reason, arrival, ring, cx);
        }
        if !cx.has_room {
            // A mark frees no space: `on_overflow` chooses the packet to drop.
            return Verdict::Pass;
        }
        let arrival_can_be = can_still_be_marked(arrival);
        let compared = arrival_can_be && self.searched == Searched::WithArrival;
        let queued = if compared { self.unmarked.nearer_than(arrival) } else { self.unmarked.least() };
        let queued = queued.and_then(|serial| Some((serial, ring.get(serial)?)));
        if let Some((serial, packet)) = queued {
            self.victim = self.waiting.distance().value(packet);
            self.unmarked.remove(packet, serial);
            cx.victims.push(serial);
            return Verdict::Victims { reason, with_arrival: false, signal: true };
        }
        if arrival_can_be {
            self.victim = self.waiting.distance().value(arrival);
            return Verdict::Signal(reason);
        }
        Verdict::Pass
    }
}

fn can_still_be_marked(packet: &Packet) -> bool {
    matches!(packet.ecn, Ecn::Ect0 | Ecn::Ect1)
}

impl Policy for Ddred {
    fn needs(&self) -> Needs {
        Needs { dequeue: false, contents: true }
    }

    fn room(&self, _limit: Limit) -> Room {
        self.room
    }

    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        self.marks = cx.ecn;
        let verdict = self.core.on_enqueue(packet, queue, cx);
        let Some(ring) = queue.contents else { return verdict };
        self.advance(ring);
        match verdict {
            _ if !cx.has_room && (self.overflow_wins || !self.room.admits(packet, 0, 0)) => verdict,
            Verdict::Signal(Reason::Forced) | Verdict::Drop(Reason::Forced)
                if self.forced_victim == ForcedVictim::Arrival =>
            {
                verdict
            }
            Verdict::Signal(reason) => self.signal_nearest(reason, packet, ring, cx),
            Verdict::Drop(reason) => self.drop_nearest(reason, packet, ring, cx),
            other => other,
        }
    }

    fn on_overflow(
        &mut self,
        earlier: Verdict,
        packet: &Packet,
        queue: &QueueView<'_>,
        cx: &mut Context<'_>,
    ) -> Verdict {
        let verdict = self.core.on_overflow(earlier, packet, queue, cx);
        match (verdict, queue.contents) {
            (Verdict::Drop(Reason::Overflow), Some(ring))
                if self.forced_victim == ForcedVictim::Nearest && self.room.admits(packet, 0, 0) =>
            {
                self.advance(ring);
                self.drop_nearest(Reason::Overflow, packet, ring, cx)
            }
            _ => verdict,
        }
    }

    fn on_admitted(&mut self, packet: &Packet, serial: u64) {
        self.waiting.insert(packet, serial);
        if self.marks && can_still_be_marked(packet) {
            self.unmarked.insert(packet, serial);
        }
    }

    fn average(&self) -> Option<f64> {
        Some(self.core.average())
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.core.gauges(out);
        out("d", self.victim);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

    /// A queue whose average is what an arrival finds, and whose early test always hits from min_th = 3 on (not at 3).
    fn hitting(limit: u64, ecn: bool, more: &[(&'static str, Value)]) -> Fifo {
        let mut values =
            Values::of(&[("min_th", Value::Real(3.0)), ("max_th", Value::Real(100.0)), ("w_q", Value::Real(1.0))]);
        for &(name, value) in more {
            values.set(name, value);
        }
        let limit = Limit::Packets(limit);
        let Built::Policy(policy) = (SPEC.build)(&values, &LINK, limit).unwrap() else { unreachable!() };
        Fifo::new(Gate::new(policy, limit, ecn, Generator::custom(|| 0.0)))
    }

    fn from(hops: u8) -> Packet {
        Packet { initial_ttl: 32, ttl: 32 - hops, ..Packet::new(u64::from(hops), 1000) }
    }

    /// Distances of the packets that are dropped when packets arrive from `hops` and none leaves.
    fn dead(queue: &mut Fifo, hops: &[u8]) -> Vec<(u64, Reason)> {
        let mut dead = Vec::new();
        for &hops in hops {
            queue.enqueue(from(hops), Time::ZERO, &mut |packet, reason| dead.push((packet.flow, reason)));
        }
        dead
    }

    #[test]
    fn nobody_dies_up_to_min_th_and_the_nearest_above_it() {
        let mut queue = hitting(100, false, &[]);
        assert_eq!(dead(&mut queue, &[1, 9, 9, 9]), []);
        // Four packets wait: the average is above min_th for the first time.
        assert_eq!(dead(&mut queue, &[9]), [(1, Reason::Early)]);
        assert_eq!(queue.packets(), 4);
    }

    #[test]
    fn by_the_letter_the_arrival_never_dies_for_another() {
        let queue = ("searched", Value::Choice("queue"));
        for (hops, who) in [(4, 5), (6, 5)] {
            let mut ddred = hitting(100, false, &[queue]);
            assert_eq!(dead(&mut ddred, &[9, 5, 9, 9, hops]), [(who, Reason::Early)], "from {hops} hops away");
        }
        // `searched = "queue"` holds where the buffer overflows too, and for marks.
        let mut full = hitting(3, false, &[queue, ("min_th", Value::Real(50.0))]);
        assert_eq!(dead(&mut full, &[9, 5, 9, 1]), [(5, Reason::Overflow)]);
        let mut marking = hitting(100, true, &[queue]);
        for hops in [9, 5, 9, 9, 1] {
            let packet = Packet { ecn: Ecn::Ect0, ..from(hops) };
            assert!(marking.enqueue(packet, Time::ZERO, &mut |_, _| {}).is_some());
        }
        let marked = std::iter::from_fn(|| marking.dequeue(Time::ZERO, &mut |_, _| {}));
        assert_eq!(marked.filter(|packet| packet.ecn == Ecn::Ce).map(|packet| packet.flow).collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn the_arrival_dies_if_it_is_no_farther() {
        for (hops, who) in [(4, 4), (5, 5), (6, 5)] {
            let mut queue = hitting(100, false, &[]);
            dead(&mut queue, &[5, 8, 8, 8]);
            assert_eq!(dead(&mut queue, &[hops]), [(who, Reason::Early)], "{hops}");
        }
        let mut queue = hitting(100, false, &[("tie", Value::Choice("oldest"))]);
        dead(&mut queue, &[5, 8, 8, 8]);
        assert_eq!(dead(&mut queue, &[5]), [(5, Reason::Early)]);
        assert_eq!(queue.dequeue(Time::ZERO, &mut |_, _| {}).unwrap().flow, 8, "the old one died");
    }

    #[test]
    fn past_the_end_and_without_room_the_same_rule_or_the_arrival() {
        let past = [("max_th", Value::Real(3.5)), ("gentle", Value::Flag(false))];
        let arrival = ("forced_victim", Value::Choice("arrival"));
        let fill = [5, 8, 8, 8];
        for (limit, min_th, reason) in [(100, 3.0, Reason::Forced), (4, 50.0, Reason::Overflow)] {
            let mut more = past.to_vec();
            if reason == Reason::Overflow {
                more = vec![("min_th", Value::Real(min_th))];
            }
            let mut queue = hitting(limit, true, &more);
            assert_eq!(dead(&mut queue, &fill), []);
            assert_eq!(dead(&mut queue, &[9]), [(5, reason)]);
            more.push(arrival);
            let mut queue = hitting(limit, true, &more);
            dead(&mut queue, &fill);
            assert_eq!(dead(&mut queue, &[9]), [(9, reason)]);
        }
    }

    /// Every packet that leaves: its distance, and whether it is marked.
    fn left(mut queue: Fifo) -> Vec<(u64, bool)> {
        let packets = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut |_, _| {}));
        packets.map(|p| (p.flow, p.ecn == Ecn::Ce)).collect()
    }

    #[test]
    fn the_nearest_is_marked_and_passes_the_next_mark_on() {
        let mut queue = hitting(100, true, &[]);
        for (hops, ecn) in [(2, Ecn::Ect0), (4, Ecn::NotEct), (6, Ecn::Ect1), (9, Ecn::NotEct)] {
            queue.enqueue(Packet { ecn, ..from(hops) }, Time::ZERO, &mut |_, _| {});
        }
        let mut more = |hops, ecn| {
            let mut dead = Vec::new();
            queue.enqueue(Packet { ecn, ..from(hops) }, Time::ZERO, &mut |p, _| dead.push(p.flow));
            (dead, queue.counters().marks)
        };
        assert_eq!(more(9, Ecn::NotEct), (vec![], 1), "2 is marked");
        assert_eq!(more(9, Ecn::NotEct), (vec![], 2), "2 has its mark, 4 cannot be, 6 is marked");
        assert_eq!(more(9, Ecn::NotEct), (vec![], 2), "nobody is left to be marked");
        assert_eq!(more(9, Ecn::Ect0), (vec![], 3), "but the arrival");
        assert_eq!(more(1, Ecn::NotEct), (vec![1], 3), "the nearest of all cannot be marked");
        let marked: Vec<u64> = left(queue).into_iter().filter(|p| p.1).map(|p| p.0).collect();
        assert_eq!(marked, [2, 6, 9]);
    }

    #[test]
    fn an_arrival_at_an_empty_queue_is_the_only_candidate() {
        let mut queue = hitting(0, true, &[]);
        assert_eq!(dead(&mut queue, &[31, 0]), [(31, Reason::Overflow), (0, Reason::Overflow)]);
    }

    #[test]
    fn overflow_victim_is_not_a_parameter_here() {
        assert_eq!(COMMON[SHARED - 1].name, "overflow_victim");
        assert!(SPEC.param("overflow_victim").is_none() && SPEC.param("max_packet").is_some());
        let mut values = Values::of(&[("dialect", Value::Choice("linux"))]);
        assert_eq!((SPEC.check)(&values, &LINK).unwrap_err().name, "gentle");
        values.set("gentle", Value::Flag(false));
        assert!((SPEC.check)(&values, &LINK).is_ok());
    }
}
