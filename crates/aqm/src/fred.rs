//! # FRED
//!
//! ## What it does
//! Flow RED: counts the packets that each flow has in the buffer and treats flows by their use of it. With `avg` the
//! averaged queue and N_active the flows that have packets waiting, a flow's fair part is
//! `avgcq = max(1, avg/N_active)`. An arrival of a flow with `qlen` packets waiting is
//!
//! 1. dropped, and the flow gets a strike, if qlen >= min_th, or avg >= max_th and qlen > 2 avgcq, or the flow has more
//!    than one strike and qlen >= avgcq: such a flow does not adapt;
//! 2. between the thresholds, tested by RED if qlen >= max(min_q, avgcq), else admitted (the flow is "fragile");
//! 3. dropped from max_th on.
//!
//! Strikes are forgotten when a flow has no packet left in the buffer. With `many_flows` every flow may have two
//! packets waiting while there is room; from max_th on none may have more.
//!
//! ## Source
//! D. Lin, R. Morris, "Dynamics of random early detection", ACM SIGCOMM 1997, as known from the literature and from a
//! port of the authors' ns-2 code to ns-3; the text itself was not at hand.
//!
//! ## Differences
//! 1. The average moves at admitted arrivals (the queue with the arrival) and at departures (what remains): about twice
//!    as often as RED's. It decays from the moment the link goes idle, as everywhere in this catalogue.
//! 2. The ns-3 port's last branch follows the wrong test, "avg < min_th", and so drops every packet of robust flows
//!    between the thresholds. Here the last branch starts at max_th.
//! 3. `min_th = "auto"` is min(B/4, rtt C), and at most half of `max_th` if given; the paper's rtt is lost, 0.1 s is
//!    ours. `max_th = "auto"` is twice min_th. `min_q` is 2 in the paper for small buffers and 4 for large ones.
//! 4. The paper has no ECN. With ECN on, RED's hits in step 2 are marks; with `mark = false`, drops.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, discipline::Fifo, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let limit = Limit::Packets(40);
//! let catalogue::Built::Policy(fred) = (catalogue::find("fred").unwrap().build)(&Values::new(), &link, limit).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(fred, limit, false, Generator::stream(1, "queue")));
//! // A burst of 30 packets of one flow: it may have a quarter of the buffer, 10 packets.
//! for _ in 0..30 {
//!     queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
//! }
//! assert_eq!((queue.packets(), queue.counters().forced_drops), (10, 20));
//! assert!(queue.enqueue(Packet::new(2, 1000), Time::ZERO, &mut |_, _| {}).is_some(), "others are still welcome");
//! ```

use crate::catalogue::{AqmSpec, Built, Link};
use crate::early_detection::hit;
use crate::early_detection::paper::Average;
use crate::params::{Kind, Param, ParamError, Unit, Value, Values};
use crate::parts::curve::{probability, Curve, Linear};
use crate::parts::flow_table::FlowTable;
use crate::parts::spacing;
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Reason, Verdict};
use crate::{Packet, Time};

const PAPER: &str = "Lin & Morris 1997";

const fn positive(high: f64, auto: bool) -> Kind {
    Kind::Real { low: 0.0, high, open_low: true, open_high: high.is_infinite(), auto }
}

const OWN: [Param; 9] = [
    Param::new("min_th", Unit::QueueLength, positive(f64::INFINITY, true), Value::Auto)
        .symbol("min_{th}")
        .says(
            PAPER,
            "Average queue below which nothing is dropped, and the most a flow may have waiting; \"auto\" is min(B/4, rtt C).",
        ),
    Param::new("max_th", Unit::QueueLength, positive(f64::INFINITY, true), Value::Auto)
        .symbol("max_{th}")
        .says(PAPER, "Average queue from which every packet is dropped; \"auto\" is twice min_th."),
    Param::real("max_p", Unit::None, positive(1.0, false), 0.02)
        .symbol("max_p")
        .says(PAPER, "Drop probability of robust flows when the average reaches max_th."),
    Param::real("w_q", Unit::None, positive(1.0, false), 0.002)
        .symbol("w_q")
        .says(PAPER, "Weight of a new sample in the average."),
    Param::real("min_q", Unit::None, Kind::real(0.0, f64::INFINITY).open_high(), 2.0)
        .symbol("min_q")
        .says(
            "Lin & Morris 1997: 2 for small buffers, 4 for large ones",
            "Packets that a flow may have waiting before it meets RED.",
        ),
    Param::flag("many_flows", false).says(PAPER, "Every flow may have two packets waiting while there is room; from max_th on none may have more."),
    Param::real("rtt", Unit::Seconds, positive(1e6, false), 0.1)
        .says("our choice", "Round-trip time for min_th = \"auto\"."),
    Param::real("mean_packet", Unit::Bytes, Kind::real(1.0, 65535.0), 500.0)
        .symbol("L_m")
        .says("ns-2.35", "Mean packet size: sets the idle decay, and min_th = \"auto\"."),
    Param::flag("mark", true).says("our choice (the paper has no ECN)", "With ECN on, mark packets of robust flows instead of dropping them."),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Flow RED: drops by the number of packets that a flow has in the buffer",
    source: "Lin, Morris: Dynamics of random early detection, SIGCOMM 1997",
    params: &[&OWN],
    // With an unlimited buffer, min_th = "auto" depends on the link only.
    check: &|values, link| Rules::read(values, link, Limit::Packets(u64::MAX)).map(|_| ()),
    build: &|values, link, limit| Ok(Built::Policy(Box::new(Fred::new(Rules::read(values, link, limit)?)))),
    curve: Some(&|values, link, average| {
        let rules = Rules::read(values, link, Limit::Packets(u64::MAX));
        rules.map_or(f64::NAN, |rules| probability(&rules.curve, average))
    }),
    ..AqmSpec::named("fred", "FRED", "flow-aware RED", 1997)
};

/// A flow that has packets in the buffer.
#[derive(Clone, Copy, Debug, Default)]
struct Buffered {
    /// qlen_i: the flow's packets in the buffer.
    packets: u32,
    /// strike_i: how often the flow had more than it may have.
    strikes: u32,
}

/// The policy. Lengths are packets.
pub struct Fred {
    /// The parameters.
    rules: Rules,
    /// avg, the averaged queue.
    average: Average,
    /// The flows that have packets in the buffer.
    flows: FlowTable<Buffered>,
    /// Packets since the last drop or mark; -1 below `min_th`.
    count: i64,
    /// p_b when it was last worked out.
    p_b: f64,
    /// avgcq, what a flow has in the buffer on average.
    per_flow: f64,
}

/// The parameters after checking. Lengths are packets.
struct Rules {
    /// RED's line from `min_th` to `max_th`.
    curve: Linear,
    /// min_q.
    min_q: f64,
    /// Whether the paper's extension for many flows is on.
    many_flows: bool,
    /// Whether RED's hits on robust flows are marks.
    mark: bool,
    /// Weight of a new sample in the average.
    w_q: f64,
    /// What the link can send, packets/s: the average's decay while idle.
    packets_per_second: f64,
}

impl Rules {
    fn read(values: &Values, link: &Link, limit: Limit) -> Result<Rules, ParamError> {
        let real = |name| values.real(&OWN, name);
        let length = |name: &'static str| match values.given(name) {
            Some(Value::QueueBytes(bytes)) => Err(ParamError::new(name, format!("{bytes} B"), "packets")),
            _ => Ok(real(name)),
        };
        let (min_th, max_th) = (length("min_th")?, length("max_th")?);
        let packets_per_second = link.rate_bps / (8.0 * real("mean_packet"));
        let buffer = match limit {
            Limit::Packets(n) => n as f64,
            Limit::Bytes(n) => n as f64 / real("mean_packet"),
        };
        // `min` with NaN gives the other number.
        let auto = (buffer / 4.0).min(real("rtt") * packets_per_second).min(max_th / 2.0);
        let min_th = if min_th.is_nan() { auto } else { min_th };
        let max_th = if max_th.is_nan() { 2.0 * min_th } else { max_th };
        if max_th < min_th {
            return Err(ParamError::new("max_th", max_th, format!("not less than min_th ({min_th})")));
        }
        Ok(Rules {
            curve: Linear::new(min_th, max_th, real("max_p"), false),
            min_q: real("min_q"),
            many_flows: values.flag(&OWN, "many_flows"),
            mark: values.flag(&OWN, "mark"),
            w_q: real("w_q"),
            packets_per_second,
        })
    }
}

impl Fred {
    fn new(rules: Rules) -> Self {
        let average = Average::new(rules.w_q, rules.packets_per_second);
        Fred { rules, average, flows: FlowTable::new(), count: -1, p_b: 0.0, per_flow: 1.0 }
    }

    /// Takes a new sample into the average, or with `idle` (when the link went idle) decays it; then avgcq.
    #[inline]
    fn observe(&mut self, packets: u64, idle: Option<Time>, now: Time) {
        let average = self.average.observe(packets as f64, idle, now);
        self.per_flow = (average / self.flows.len().max(1) as f64).max(1.0);
    }

    #[inline]
    fn judge(&mut self, flow: Option<u32>, cx: &mut Context<'_>) -> Verdict {
        let Buffered { packets, strikes } = flow.map_or(Buffered::default(), |slot| *self.flows.record(slot));
        let (own, average) = (f64::from(packets), self.average.value());
        let above = average >= self.rules.curve.end();
        let most = if self.rules.many_flows && above { 2.0 } else { self.rules.curve.start() };
        if own >= most || above && own > 2.0 * self.per_flow || strikes > 1 && own >= self.per_flow {
            if let Some(slot) = flow {
                self.flows.record_mut(slot).strikes = strikes.saturating_add(1);
            }
            return Verdict::Drop(Reason::Forced);
        }
        if above {
            self.count = 0;
            // With the extension only a flow with fewer than two packets gets here.
            return if self.rules.many_flows { Verdict::Pass } else { Verdict::Drop(Reason::Forced) };
        }
        if average < self.rules.curve.start() {
            self.count = -1;
            return Verdict::Pass;
        }
        self.count += 1;
        if own < self.rules.min_q.max(self.per_flow) {
            return Verdict::Pass;
        }
        self.p_b = self.rules.curve.base_probability(average);
        if !hit(cx.random.uniform(), spacing::uniform(self.p_b, self.count as f64)) {
            return Verdict::Pass;
        }
        self.count = 0;
        if self.rules.mark {
            Verdict::Signal(Reason::Early)
        } else {
            Verdict::Drop(Reason::Early)
        }
    }
}

impl Policy for Fred {
    fn needs(&self) -> Needs {
        Needs { dequeue: true, contents: false }
    }

    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        if queue.idle_since.is_some() {
            self.observe(0, queue.idle_since, cx.now);
        }
        let flow = self.flows.find(packet.flow);
        let verdict = self.judge(flow, cx);
        let admitted = match verdict {
            Verdict::Pass => true,
            Verdict::Signal(_) => cx.can_mark(packet),
            _ => false,
        };
        if admitted && cx.has_room {
            match flow {
                Some(slot) => self.flows.record_mut(slot).packets += 1,
                None => {
                    self.flows.insert(packet.flow, Buffered { packets: 1, strikes: 0 });
                }
            }
            self.observe(queue.packets + 1, None, cx.now);
        }
        verdict
    }

    fn on_dequeue(&mut self, packet: Option<&Packet>, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        if let Some(slot) = packet.and_then(|packet| self.flows.find(packet.flow)) {
            self.flows.record_mut(slot).packets -= 1;
            self.observe(queue.packets, None, cx.now);
            if self.flows.record(slot).packets == 0 {
                self.flows.remove(slot);
            }
        }
        Verdict::Pass
    }

    fn average(&self) -> Option<f64> {
        Some(self.average.value())
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("avg", self.average.value());
        out("p_b", self.p_b);
        out("count", self.count as f64);
        out("avgcq", self.per_flow);
        out("active_flows", self.flows.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

    fn fred(pairs: &[(&'static str, Value)], limit: Limit) -> Fred {
        let mut values = Values::new();
        for &(name, value) in pairs {
            assert!(SPEC.param(name).is_some_and(|param| param.allows(value)), "{name}");
            values.set(name, value);
        }
        Fred::new(Rules::read(&values, &LINK, limit).unwrap())
    }

    /// Flow 0 has `own` packets and `strikes`; `active` flows, it included, have packets; the average is `average`.
    fn standing(average: f64, active: u64, own: u32, strikes: u32, many_flows: bool) -> Fred {
        let mut fred = fred(
            &[
                ("min_th", Value::Real(10.0)),
                ("max_th", Value::Real(20.0)),
                ("min_q", Value::Real(2.0)),
                ("many_flows", Value::Flag(many_flows)),
            ],
            Limit::Packets(100),
        );
        fred.flows.insert(0, Buffered { packets: own, strikes });
        for flow in 1..active {
            fred.flows.insert(flow, Buffered { packets: 1, strikes: 0 });
        }
        fred.average.set_weight(1.0);
        fred.average.observe(average, None, Time::ZERO);
        fred.per_flow = (average / active as f64).max(1.0);
        fred
    }

    fn judge(fred: &mut Fred, draw: f64) -> Verdict {
        let (mut random, mut victims) = (Generator::custom(move || draw), Vec::new());
        let mut cx =
            Context { now: Time::ZERO, ecn: false, has_room: true, random: &mut random, victims: &mut victims };
        let flow = fred.flows.find(0);
        fred.judge(flow, &mut cx)
    }

    const STRUCK: Verdict = Verdict::Drop(Reason::Forced);

    /// min_th 10, max_th 20, min_q 2: what becomes of an arrival by (avg, N_active, qlen, strikes).
    #[test]
    fn table_of_cases() {
        use Verdict::{Pass, Signal};
        let random = Signal(Reason::Early);
        // (avg, active, own, strikes), extension, verdict if every draw hits that can, strikes afterwards.
        let table = [
            ((15.0, 5, 2, 0), false, Pass, 0),
            ((15.0, 5, 3, 0), false, random, 0),
            ((15.0, 5, 3, 2), false, STRUCK, 3),
            ((15.0, 5, 10, 0), false, STRUCK, 1),
            ((8.0, 4, 3, 0), false, Pass, 0),
            ((8.0, 4, 3, 2), false, STRUCK, 3),
            ((22.0, 11, 1, 0), false, STRUCK, 0),
            ((22.0, 11, 1, 0), true, Pass, 0),
            ((22.0, 11, 5, 0), false, STRUCK, 1),
            // The edges of each test.
            ((15.0, 5, 9, 0), false, random, 0),
            ((15.0, 5, 3, 1), false, random, 1),
            ((15.0, 5, 2, 2), false, Pass, 2),
            ((22.0, 11, 4, 0), false, STRUCK, 0),
            ((22.0, 11, 2, 0), true, STRUCK, 1),
            ((9.999, 5, 9, 0), false, Pass, 0),
            ((19.999, 5, 4, 0), false, random, 0),
            ((20.0, 5, 4, 0), false, STRUCK, 0),
            ((12.0, 12, 1, 0), false, Pass, 0),
            ((12.0, 12, 2, 0), false, random, 0),
        ];
        for ((average, active, own, strikes), many_flows, want, after) in table {
            let mut fred = standing(average, active, own, strikes, many_flows);
            let case = (average, active, own, strikes, many_flows);
            assert_eq!(judge(&mut fred, 1e-9), want, "{case:?}");
            assert_eq!(fred.flows.record(fred.flows.find(0).unwrap()).strikes, after, "{case:?}");
            let mut fred = standing(average, active, own, strikes, many_flows);
            let spared = if want == random { Pass } else { want };
            assert_eq!(judge(&mut fred, 0.9), spared, "{case:?}: a random test can be passed");
        }
    }

    #[test]
    fn the_count_moves_for_fragile_flows_too() {
        let mut fred = standing(15.0, 5, 2, 0, false);
        for count in [0, 1, 2] {
            judge(&mut fred, 1.0);
            assert_eq!(fred.count, count);
        }
        let slot = fred.flows.find(0).unwrap();
        fred.flows.record_mut(slot).packets = 3;
        assert_eq!(judge(&mut fred, 1e-9), Verdict::Signal(Reason::Early));
        assert_eq!((fred.count, fred.p_b), (0, 0.01));
        fred.average.observe(9.0, None, Time::ZERO);
        judge(&mut fred, 1e-9);
        assert_eq!(fred.count, -1);
    }

    fn fifo(fred: Fred, limit: u64, ecn: bool) -> Fifo {
        Fifo::new(Gate::new(Box::new(fred), Limit::Packets(limit), ecn, Generator::custom(|| 1e-9)))
    }

    fn gauge(queue: &Fifo, name: &str) -> f64 {
        let mut found = f64::NAN;
        queue.gauges(&mut |key, value| found = if key == name { value } else { found });
        found
    }

    /// w_q = 1/2: every value of the average and of avgcq worked by hand.
    #[test]
    fn average_moves_at_arrivals_with_the_packet_and_at_departures_without() {
        let fred = fred(&[("w_q", Value::Real(0.5)), ("mean_packet", Value::Real(1000.0))], Limit::Packets(400));
        let mut queue = fifo(fred, 400, false);
        let at = Time::from_seconds;
        let mut averages = Vec::new();
        for flow in [1, 1, 2, 3] {
            queue.enqueue(Packet::new(flow, 1000), at(0.0), &mut |_, _| {});
            averages.push(gauge(&queue, "avg"));
        }
        assert_eq!(averages, [0.5, 1.25, 2.125, 3.0625]);
        assert_eq!((gauge(&queue, "active_flows"), gauge(&queue, "avgcq")), (3.0, 3.0625 / 3.0));
        for (average, active, per_flow) in
            [(3.03125, 3.0, 3.03125 / 3.0), (2.515625, 2.0, 1.0), (1.7578125, 1.0, 1.0), (0.87890625, 0.0, 1.0)]
        {
            assert!(queue.dequeue(at(0.1), &mut |_, _| {}).is_some());
            assert_eq!((gauge(&queue, "avg"), gauge(&queue, "active_flows")), (average, active));
            assert!((gauge(&queue, "avgcq") - per_flow).abs() < 1e-12, "with the flow that has just left");
        }
        // Idle for 8 ms, the time of ten packets of 1000 B at 10 Mbit/s; then the arrival's own sample.
        assert!(queue.dequeue(at(0.2), &mut |_, _| {}).is_none());
        queue.enqueue(Packet::new(1, 1000), at(0.2081), &mut |_, _| {});
        let want = 0.5 * (0.87890625 / 1024.0) + 0.5;
        assert!((gauge(&queue, "avg") - want).abs() < 1e-15, "{}", gauge(&queue, "avg"));
    }

    #[test]
    fn strikes_are_forgotten_with_the_last_packet() {
        let pairs = [("min_th", Value::Real(3.0)), ("max_th", Value::Real(50.0))];
        let mut queue = fifo(fred(&pairs, Limit::Packets(100)), 100, false);
        let admitted = |queue: &mut Fifo| queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {}).is_some();
        let offered: Vec<bool> = (0..5).map(|_| admitted(&mut queue)).collect();
        assert_eq!(offered, [true, true, true, false, false], "three at most, and two strikes");
        queue.dequeue(Time::ZERO, &mut |_, _| {});
        queue.dequeue(Time::ZERO, &mut |_, _| {});
        assert!(!admitted(&mut queue), "with two strikes avgcq = 1 is the most");
        queue.dequeue(Time::ZERO, &mut |_, _| {});
        assert_eq!((admitted(&mut queue), admitted(&mut queue)), (true, true), "a new flow");
    }

    /// A packet that is dropped, or finds no room, leaves no trace.
    #[test]
    fn only_admitted_packets_are_counted() {
        let pairs = [("min_th", Value::Real(90.0)), ("max_th", Value::Real(95.0))];
        let mut queue = fifo(fred(&pairs, Limit::Packets(3)), 3, false);
        for flow in 0..6 {
            queue.enqueue(Packet::new(flow, 1000), Time::ZERO, &mut |_, _| {});
        }
        assert_eq!((gauge(&queue, "active_flows"), queue.counters().overflow_drops), (3.0, 3));
        while queue.dequeue(Time::ZERO, &mut |_, _| {}).is_some() {}
        assert_eq!(gauge(&queue, "active_flows"), 0.0);
    }

    #[test]
    fn marks_are_admitted_and_counted() {
        for (mark, marks) in [(true, 1), (false, 0)] {
            let mut fred = standing(15.0, 5, 3, 0, false);
            fred.rules.mark = mark;
            let mut queue = fifo(fred, 100, true);
            let ect = Packet { ecn: Ecn::Ect0, ..Packet::new(0, 1000) };
            assert_eq!(queue.enqueue(ect, Time::ZERO, &mut |_, _| {}).is_some(), mark);
            assert_eq!((queue.counters().marks, queue.counters().early_drops), (marks, 1 - marks));
        }
    }

    #[test]
    fn thresholds_by_themselves() {
        let thresholds = |pairs: &[(&'static str, Value)], limit| {
            let fred = fred(pairs, limit);
            (fred.rules.curve.start(), fred.rules.curve.end())
        };
        assert_eq!(thresholds(&[], Limit::Packets(40)), (10.0, 20.0));
        assert_eq!(thresholds(&[], Limit::Bytes(40_000)), (20.0, 40.0), "80 mean packets of 500 B");
        // The packets of 0.1 s at 2500 packets/s.
        assert_eq!(thresholds(&[], Limit::Packets(4000)), (250.0, 500.0));
        assert_eq!(thresholds(&[("rtt", Value::Real(0.02))], Limit::Packets(4000)), (50.0, 100.0));
        assert_eq!(thresholds(&[("max_th", Value::Real(30.0))], Limit::Packets(4000)), (15.0, 30.0));
        let mut values = Values::of(&[("min_th", Value::Real(30.0)), ("max_th", Value::Real(20.0))]);
        assert_eq!(Rules::read(&values, &LINK, Limit::Packets(10)).err().unwrap().name, "max_th");
        values.set("min_th", Value::QueueBytes(3000.0));
        assert_eq!(Rules::read(&values, &LINK, Limit::Packets(10)).err().unwrap().name, "min_th");
    }
}
