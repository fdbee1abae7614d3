//! What the inner values of disciplines mean: the names that [`Policy::gauges`](crate::policy::Policy::gauges) reports,
//! with their units.

use crate::catalogue::{AqmSpec, Link};
use crate::params::Values;
use crate::random::Generator;

/// An inner value of a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauge {
    /// Name, as [`Discipline::gauges`](crate::Discipline::gauges) reports it.
    pub name: &'static str,
    /// Unit; empty for a bare number.
    pub unit: &'static str,
    /// What the value is, in one sentence.
    pub about: &'static str,
}

const fn gauge(name: &'static str, unit: &'static str, about: &'static str) -> Gauge {
    Gauge { name, unit, about }
}

/// Gauges whose meaning is one discipline's own: they come before [`COMMON`].
const OWN: &[(&str, Gauge)] = &[
    ("blue", gauge("p", "", "Probability p_m with which an arrival is signalled.")),
    ("sred", gauge("p", "", "Drop probability of the last arrival.")),
    ("sred", gauge("flows", "flows", "Estimated number of active flows, 1/P(t).")),
    ("dualpi2", gauge("p", "", "Base probability p' of the PI controller.")),
    ("floadautored", gauge("p", "", "Probability p_a that the load replaces RED's by.")),
    ("floadautored", gauge("z", "", "Load factor: arrival rate divided by the virtual capacity.")),
    ("yellow", gauge("z", "", "Load factor at the last update: arrival rate divided by the virtual capacity.")),
    ("pd_red", gauge("error", "", "Average queue less its target, as a share of the buffer, at the last update.")),
    ("sfred", gauge("received", "packets", "Packets received of all listed flows.")),
    ("sfred", gauge("dropped", "packets", "Packets dropped of all listed flows.")),
    ("sfred", gauge("flow", "", "Flow of the last arrival; in a simulation its number, from 0.")),
    ("sfred", gauge("class", "", "Class of the last arrival's flow: 0 none, 1 slow, 2 fast, 3 unresponsive.")),
    ("ddred", gauge("d", "links", "Distance in links of the last packet that was chosen to be dropped.")),
    ("cake", gauge("shaper_rate", "bit/s", "Rate of the shaper; 0 is unlimited.")),
    ("cake", gauge("memory", "B", "Memory of the packets that wait, as the memory limit counts it.")),
    ("cake", gauge("sparse_flows", "queues", "Queues that have sent less than their turn.")),
    ("cake", gauge("bulk_flows", "queues", "Queues with a backlog.")),
    ("cake", gauge("decaying_flows", "queues", "Empty queues whose COBALT is not at rest yet.")),
    ("cake", gauge("ack_drops", "packets", "ACKs that the ACK filter has dropped.")),
    ("pi2", gauge("p", "", "Output of the PI controller: probability of a mark for scalable senders.")),
    ("expression", gauge("delay", "s", "How long the packet that left last has waited.")),
    ("expression", gauge("rate", "bit/s", "What the link sends while packets wait, averaged.")),
    ("ecn_sharp", gauge("marking", "", "1 while the queue is held to be persistent, else 0.")),
    ("aifo", gauge("quantile", "", "Share of the window's ranks that are below the last arrival's.")),
    ("afq", gauge("round", "", "Round that is served.")),
    ("sp_pifo", gauge("bound", "", "Rank bound of the FIFO that is served last.")),
    ("fq_pacing", gauge("active", "flows", "Flows with packets, without those of the fast path.")),
    ("fq_pacing", gauge("throttled", "flows", "Flows whose next packet waits for its time.")),
    ("fq_pacing", gauge("fast_packets", "packets", "Packets of the fast path.")),
    ("fq", gauge("active", "flows", "Flows with packets in the queue.")),
];

/// Gauges of any discipline.
const COMMON: &[Gauge] = &[
    gauge("accu", "", "Sum of the probabilities since the last drop (derandomisation)."),
    gauge("active", "queues", "Queues with packets."),
    gauge("active_flows", "flows", "Flows with packets in the queue or on the list."),
    gauge("avg", "packets", "Averaged queue length; bytes where the discipline counts bytes."),
    gauge("avg_in", "packets", "Averaged number of queued in-profile packets."),
    gauge("avgcq", "packets", "Average number of packets that a flow has in the buffer."),
    gauge("burst_allowance", "s", "Time for which bursts still pass without drops."),
    gauge("c_packets", "packets", "Packets in the Classic queue."),
    gauge("c_virtual", "", "Virtual capacity as a share of the link's."),
    gauge("cached_flows", "flows", "Flows in the LRU cache."),
    gauge("count", "packets", "Packets since the last drop or mark (RED), or signals of this dropping phase (CoDel)."),
    gauge("count_in", "packets", "In-profile packets since the last of them was dropped or marked."),
    gauge("count_out", "packets", "Out-of-profile packets since the last of them was dropped or marked."),
    gauge("credit", "", "Credit of weighted round robin between L4S and Classic."),
    gauge("cur_max_th", "packets", "The upper threshold that is in force."),
    gauge("drop_next", "s", "When the next drop or mark is due while the sojourn time stays above target."),
    gauge("dropping", "", "1 while the discipline is in its dropping state, else 0."),
    gauge("epoch", "s", "Length of the current epoch."),
    gauge("error", "packets", "Queue length less its target at the last sample."),
    gauge("fair_rate", "packets", "Fair share of a listed flow, packets."),
    gauge("heavy_hitters", "flows", "Heavy hitters, with those that have expired since their last packet."),
    gauge("hh_packets", "packets", "Packets in the FIFO of the heavy hitters."),
    gauge("l_packets", "packets", "Packets in the L4S queue."),
    gauge("lambda", "packets/s", "Averaged arrival rate."),
    gauge("load", "packets", "Averaged number of arrivals in an update interval."),
    gauge("load_change", "", "What the load adds to RED's probability."),
    gauge("loss", "", "Average loss rate of the listed flows."),
    gauge("marking", "", "1 while packets that leave are marked, else 0."),
    gauge("matched", "packets", "Arrivals that met a packet of their own flow."),
    gauge("max_p", "", "The adapted max_p."),
    gauge("max_p_average", "", "The adapted max_p of average flows."),
    gauge("max_p_fragile", "", "The adapted max_p of fragile flows."),
    gauge("max_p_robust", "", "The adapted max_p of robust flows."),
    gauge("monitored_flows", "flows", "Flows that are monitored."),
    gauge("new_queues", "queues", "Queues on the list of new queues."),
    gauge("old_queues", "queues", "Queues on the list of old queues."),
    gauge("p", "", "Drop or mark probability."),
    gauge("p_b", "", "Probability from the drop curve, before spacing."),
    gauge("p_b_in", "", "p_b for in-profile packets."),
    gauge("p_b_out", "", "p_b for out-of-profile packets."),
    gauge("p_blue", "", "Probability of the BLUE part."),
    gauge("p_c", "", "Probability of a Classic drop or mark."),
    gauge("p_cl", "", "Coupled probability of an L4S mark."),
    gauge("p_drop_rate", "", "Average drop rate of the queue."),
    gauge("p_hit", "", "Averaged share of arrivals that hit a flow on the list, P(t)."),
    gauge("p_max", "", "Largest drop probability of all queues."),
    gauge("p_min", "", "Least probability of the last arrival's bins."),
    gauge("p_t", "", "Share of the buffer that was taken at the last arrival."),
    gauge("price", "", "The link's price."),
    gauge("qdelay", "s", "Queueing delay at the last update."),
    gauge("tokens", "packets", "Tokens of the penalty box."),
    gauge("virtual_capacity", "packets/s", "The virtual capacity."),
    gauge("virtual_time", "B", "Virtual time of fair queueing, bytes per unit of weight."),
    gauge("vq", "packets", "Length of the virtual queue; bytes where the discipline counts bytes."),
    gauge("w_q", "", "The adapted weight of the average."),
];

/// The gauge called `name` of the discipline called `aqm`.
pub fn about(aqm: &str, name: &str) -> Option<Gauge> {
    let own = OWN.iter().find(|(of, gauge)| *of == aqm && gauge.name == name).map(|(_, gauge)| *gauge);
    own.or_else(|| COMMON.iter().copied().find(|gauge| gauge.name == name))
}

/// The inner values of a discipline with its default parameters, in the order in which it reports them.
pub fn of(spec: &AqmSpec) -> Vec<Gauge> {
    let (values, link) = (Values::new(), Link { rate_bps: 10e6, delay_s: 0.02 });
    let limit = spec.default_limit(&values, &link);
    let Ok(built) = (spec.build)(&values, &link, limit) else { return Vec::new() };
    let mut found = Vec::new();
    built
        .queue(limit, false, Generator::stream(1, "gauges"))
        .gauges(&mut |name, _| found.extend(about(spec.name, name)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::all;
    use crate::params::{Kind, Value};
    use crate::{Packet, Time};
    use std::collections::BTreeSet;

    /// Exactly the names that disciplines report, with any choice of parameters, are described.
    #[test]
    fn every_gauge_is_described() {
        let link = Link { rate_bps: 10e6, delay_s: 0.02 };
        let mut seen = BTreeSet::new();
        for spec in all() {
            let words = spec.all_params().flat_map(|param| {
                let values: Vec<_> = match param.kind {
                    Kind::Choice(words) => words.iter().map(|&word| Value::Choice(word)).collect(),
                    Kind::Flag { .. } => vec![Value::Flag(true), Value::Flag(false)],
                    _ => Vec::new(),
                };
                values.into_iter().map(|value| {
                    let mut changed = Values::new();
                    changed.set(param.name, value);
                    changed
                })
            });
            for values in words.chain([Values::new()]) {
                let limit = spec.default_limit(&values, &link);
                let Ok(built) = (spec.build)(&values, &link, limit) else { continue };
                let mut queue = built.queue(limit, false, Generator::stream(1, "gauges"));
                queue.enqueue(Packet::new(1, 1000), Time::ZERO, &mut |_, _| {});
                queue.gauges(&mut |name, _| {
                    assert!(about(spec.name, name).is_some(), "{}: {name}", spec.name);
                    seen.insert((spec.name, name));
                });
            }
        }
        let names: BTreeSet<_> = seen.iter().map(|&(_, name)| name).collect();
        for gauge in COMMON {
            assert!(names.contains(gauge.name), "no discipline has {}", gauge.name);
        }
        for (aqm, gauge) in OWN {
            assert!(seen.contains(&(*aqm, gauge.name)), "{aqm} has no {}", gauge.name);
        }
    }
}
