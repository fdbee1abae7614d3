//! # RED-PD
//!
//! ## What it does
//! RED with preferential dropping: finds high-bandwidth flows in the history of RED's own drops, and drops their
//! packets before RED. With p the average drop rate, an epoch lasts `(X/Y) R/sqrt(1.5 p)`, between 2 R and 10 R: the
//! time in which a TCP flow of round-trip time R loses a packet at p. A flow that lost packets in X of the last Y
//! epochs is faster than this TCP flow. At the end of an epoch in which more than `min_drop_rate` was dropped, each
//! faster flow's pre-filter probability rises by its part of the drops, `p drops/(average drops)`, or doubles if that
//! is less; the first time it is at most 2 p. It falls for flows that lost nothing in Y epochs, until
//! they are released. A flow whose rate does not fall when its loss rises is unresponsive: its probability rises faster
//! and falls slower.
//!
//! ## Source
//! R. Mahajan, S. Floyd, D. Wetherall, "Controlling high-bandwidth flows at the congested router", ICNP 2001, as
//! implemented in ns-2.35: `queue/red-pd.cc`, `tcl/ex/red-pd/helper.tcl`, `monitoring.tcl`.
//!
//! ## Differences
//! 1. Constants are ns-2's. Its scripts end the first epoch after 10.1 s; here it ends after 10 R, the length at p = 0
//!    (`first_epoch`).
//! 2. ns-2 lowers probabilities 1 ms after it raises others. Three epochs (five for unresponsive flows) must have
//!    passed since a change; ns-2 counts the next epoch among these. Here all changes come at once, and past epochs
//!    count. An increase waits for four epochs, also after a release, and any change for `change_interval`.
//! 3. ns-2 keeps every flow it has ever seen. Here the last `flows` that lost a packet, by RED or the pre-filter, are
//!    kept.
//! 4. Pre-filtered packets do not reach RED: RED's average does not see them, and the pre-filter uses the average of
//!    the arrival before. A packet dropped by it at an idle link decays the average; else the idle time would be lost.
//! 5. Probabilities are spaced as RED's, each flow with a count of its own that starts at 0 (the analysis' law). One
//!    number is drawn for each packet of a monitored flow, also where the queue is too short to drop.
//! 6. Of flows with equal drops, the list of 50 takes those that lost a packet last.
//! 7. The pre-filter always drops, also packets that could be marked: marks would leave the flow's rate as it is. RED's
//!    marks count as drops in the history (`count_marks`); ns-2 counts drops.
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, discipline::Fifo, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let limit = Limit::Packets(100);
//! let catalogue::Built::Policy(pd) = (catalogue::find("red_pd").unwrap().build)(&Values::new(), &link, limit).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(pd, limit, false, Generator::stream(1, "queue")));
//! // One packet in two is flow 1's, the others come from 20 flows; the link takes 9 of 10.
//! let mut passed = [0, 0];
//! for i in 0..60_000_u64 {
//!     let now = Time::from_seconds(i as f64 * 0.72e-3);
//!     while queue.next_timer().is_some_and(|due| due <= now) {
//!         queue.on_timer(queue.next_timer().unwrap());
//!     }
//!     let flow = if i % 2 == 0 { 1 } else { 10 + i % 20 };
//!     passed[usize::from(flow != 1)] += u32::from(queue.enqueue(Packet::new(flow, 1000), now, &mut |_, _| {}).is_some());
//!     if i % 10 != 0 {
//!         queue.dequeue(now, &mut |_, _| {});
//!     }
//! }
//! assert!(passed[0] * 10 < passed[1] * 9, "flow 1 takes the whole loss: {passed:?}");
//! ```

mod flow;
mod parameters;

use crate::catalogue::{AqmSpec, Built, Link};
use crate::default_limit::DefaultLimit;
use crate::early_detection::{hit, EarlyDetection};
use crate::params::{ParamError, Values};
use crate::parts::curve::{probability, Linear};
use crate::parts::losses;
use crate::parts::recent_flows::RecentFlows;
use crate::parts::spacing;
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Reason, Room, Verdict};
use crate::red::{self, GENTLE};
use crate::{Packet, Time};
use flow::{Flow, HISTORY};
use parameters::{Rules, COMMON, COUNT_MARKS, OWN};

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "RED with preferential dropping: flows that lose packets again and again are thinned out before RED",
    source: "Mahajan, Floyd, Wetherall: Controlling high-bandwidth flows at the congested router, ICNP 2001",
    params: &[&COMMON, &GENTLE, &OWN, &COUNT_MARKS],
    limit: DefaultLimit::RED,
    check: &|values, link| {
        red::read(values, &COMMON, link)?;
        Rules::read(values).map(|_| ())
    },
    build: &|values, link, _| Ok(Built::Policy(Box::new(RedPd::new(values, link)?))),
    curve: Some(&|values, link, average| {
        red::read(values, &COMMON, link).map_or(f64::NAN, |(set, curve)| probability(&curve, set.in_unit(average)))
    }),
    ..AqmSpec::named("red_pd", "RED-PD", "flow-aware RED", 2001)
};

/// Epochs that must pass after a change before a flow's probability rises, or starts.
const MONITORED_AGAIN: u64 = 4;

/// The policy.
pub struct RedPd {
    /// RED.
    core: EarlyDetection<Linear>,
    /// RED's lower threshold, packets.
    min_th: f64,
    /// The parameters.
    rules: Rules,
    /// The flows that lost a packet last.
    flows: RecentFlows<Flow>,
    /// Flows with a pre-filter probability.
    monitored: usize,
    /// Bytes that got to RED in this epoch.
    arrived: f64,
    /// Bytes that RED or a full buffer dropped in this epoch.
    lost: f64,
    /// Average drop rate; `None` before the first epoch has ended.
    drop_rate: Option<f64>,
    /// Epochs that have ended.
    epoch: u64,
    /// When this epoch started.
    began: Time,
    /// When this epoch ends.
    next: Time,
    /// Dropped bytes of the flows of an epoch, to find the largest.
    scratch: Vec<f64>,
    /// Whether the pre-filter dropped the last arrival.
    filtered: bool,
}

impl RedPd {
    fn new(values: &Values, link: &Link) -> Result<Self, ParamError> {
        let (set, curve) = red::read(values, &COMMON, link)?;
        let rules = Rules::read(values)?;
        Ok(RedPd {
            core: EarlyDetection::new(set, curve),
            min_th: set.min_th / set.in_unit(1.0),
            rules,
            flows: RecentFlows::new(rules.flows),
            monitored: 0,
            arrived: 0.0,
            lost: 0.0,
            drop_rate: None,
            epoch: 0,
            began: Time::ZERO,
            next: Time::ZERO + rules.first_epoch,
            scratch: Vec::new(),
            filtered: false,
        })
    }

    /// Whether the pre-filter drops `packet`, whose flow is in `slot` (ns-2's `RedPDQueue::enque`).
    #[inline]
    fn filters(&mut self, slot: u32, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> bool {
        let flow = self.flows.record_mut(slot);
        flow.arrived += f64::from(packet.size);
        if flow.p == 0.0 {
            return false;
        }
        let p = spacing::uniform(flow.p, f64::from(flow.count));
        let meant = hit(cx.random.uniform(), p);
        // As in ns-2: more than one packet waits, or with `unit = "byte"` more than one byte.
        let waiting = self.core.settings().length(queue) > 1.0;
        let allowed = if flow.unresponsive {
            waiting || !self.rules.noidle
        } else {
            waiting && self.core.average() >= self.min_th
        };
        if !(meant && allowed) {
            flow.count = flow.count.saturating_add(1);
            return false;
        }
        flow.count = 0;
        flow.filtered += f64::from(packet.size);
        if queue.idle_since.is_some() {
            self.core.observe(queue, cx.now);
        }
        true
    }

    /// Adds the drops of `verdict` to the flows' history.
    #[inline]
    fn note(&mut self, verdict: Verdict, packet: &Packet, queue: &QueueView<'_>, cx: &Context<'_>) {
        losses::charge(verdict, packet, queue, cx, self.rules.count_marks, |flow, size| {
            self.lost += f64::from(size);
            let arrived = if flow == packet.flow { f64::from(packet.size) } else { 0.0 };
            let seen = self.flows.see(flow, Flow { arrived, ..Flow::default() });
            self.monitored -= usize::from(seen.evicted.is_some_and(|gone| gone.p > 0.0));
            self.flows.record_mut(seen.slot).lost += f64::from(size);
        });
    }

    /// The end of an epoch (ns-2's `do_detect` and `do_reward`).
    fn end_epoch(&mut self, now: Time) {
        let elapsed = now - self.began;
        self.epoch += 1;
        let current = if self.arrived > 0.0 { (self.lost / self.arrived).min(1.0) } else { 0.0 };
        let weight = self.rules.drop_weight;
        let average = self.drop_rate.map_or(current, |old| weight * current + (1.0 - weight) * old);
        self.drop_rate = Some(average);
        self.note_epoch();
        if current > self.rules.min_drop_rate {
            self.punish(now, elapsed, current.min(average));
        }
        self.let_go(now);
        self.arrived = 0.0;
        self.lost = 0.0;
        self.began = now;
        self.next = now + self.epoch_length(average);
    }

    /// The length of the next epoch, s: X/Y of the time between two drops of a TCP flow at `drop_rate`.
    fn epoch_length(&self, drop_rate: f64) -> f64 {
        let Rules { target_rtt, regular, epochs, .. } = self.rules;
        if drop_rate == 0.0 {
            return 10.0 * target_rtt;
        }
        let length = regular as f64 / epochs as f64 * target_rtt / (1.5 * drop_rate).sqrt();
        length.clamp(2.0 * target_rtt, 10.0 * target_rtt)
    }

    /// Writes this epoch's drops into the flows' notes; of too many flows those with the most dropped bytes are noted.
    fn note_epoch(&mut self) {
        let Rules { list_size, epochs, .. } = self.rules;
        let scratch = &mut self.scratch;
        scratch.clear();
        self.flows.retain(|_, flow| {
            if flow.lost > 0.0 {
                scratch.push(flow.lost);
            }
            true
        });
        // The fewest bytes that are noted, and how many flows have exactly as many.
        let (mut least, mut at_least) = (0.0, 0);
        if scratch.len() > list_size {
            scratch.select_nth_unstable_by(list_size - 1, |a, b| b.total_cmp(a));
            least = scratch[list_size - 1];
            at_least = scratch[..list_size].iter().filter(|&&bytes| bytes <= least).count();
        }
        self.flows.retain(|_, flow| {
            flow.noted[..epochs].rotate_right(1);
            let enough = flow.lost > least || flow.lost == least && at_least > 0;
            at_least -= usize::from(enough && flow.lost == least);
            flow.noted[0] = if enough { flow.lost } else { 0.0 };
            true
        });
    }

    /// Raises the probability of flows noted in enough epochs; `p` is the drop rate to go by.
    fn punish(&mut self, now: Time, elapsed: f64, p: f64) {
        let rules = self.rules;
        let epoch = self.epoch;
        let (mut regulars, mut dropped) = (0_u32, 0.0);
        self.flows.retain(|_, flow| {
            if flow.times_noted() >= rules.regular {
                regulars += 1;
                dropped += flow.noted.iter().sum::<f64>();
            }
            true
        });
        let average = dropped / f64::from(regulars.max(1));
        let monitored = &mut self.monitored;
        self.flows.retain(|_, flow| {
            let may_change = flow.may_change(epoch, now, MONITORED_AGAIN, rules.change_interval);
            let losses = flow.lost + flow.filtered;
            if flow.times_noted() < rules.regular || !may_change || losses == 0.0 {
                return true;
            }
            let share = p * flow.noted.iter().sum::<f64>() / average;
            if flow.p > 0.0 {
                flow.unresponsive |= rules.unresponsive_test && flow.does_not_respond();
                flow.p = flow.raised(share);
            } else {
                flow.p = share.min(2.0 * p).min(rules.most_at_first);
                flow.count = 0;
                *monitored += usize::from(flow.p > 0.0);
            }
            flow.last_change = Some((epoch, now));
            if flow.arrived > 0.0 {
                flow.history.rotate_right(1);
                flow.history[0] = (flow.arrived / elapsed, losses / flow.arrived);
                flow.remembered = (flow.remembered + 1).min(HISTORY);
            }
            true
        });
    }

    /// Lowers the probability of monitored flows without a note, and releases those whose probability has become too
    /// small.
    fn let_go(&mut self, now: Time) {
        let rules = self.rules;
        let epoch = self.epoch;
        let monitored = &mut self.monitored;
        self.flows.retain(|_, flow| {
            flow.arrived = 0.0;
            flow.lost = 0.0;
            flow.filtered = 0.0;
            if flow.times_noted() > 0 {
                return true;
            }
            if flow.p == 0.0 {
                // A released flow is kept until it may be monitored again.
                return flow.last_change.is_some()
                    && !flow.may_change(epoch, now, MONITORED_AGAIN, rules.change_interval);
            }
            if flow.may_change(epoch, now, if flow.unresponsive { 5 } else { 3 }, rules.change_interval) {
                match flow.lowered(rules.release_at, rules.most_decrease) {
                    Some(p) => flow.p = p,
                    // ns-2's `unmonitor-flow`; the history of rates is dropped.
                    None => {
                        *monitored -= 1;
                        (flow.p, flow.unresponsive, flow.remembered) = (0.0, false, 0);
                    }
                }
                flow.last_change = Some((epoch, now));
            }
            true
        });
    }
}

impl Policy for RedPd {
    fn needs(&self) -> Needs {
        Needs { dequeue: false, contents: self.core.needs_contents() }
    }

    fn room(&self, limit: Limit) -> Room {
        self.core.room(limit)
    }

    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let known = self.flows.find(packet.flow);
        self.filtered = known.is_some_and(|slot| self.filters(slot, packet, queue, cx));
        if self.filtered {
            let certain = known.is_some_and(|slot| self.flows.record(slot).p >= 1.0);
            return Verdict::Drop(if certain { Reason::Forced } else { Reason::Early });
        }
        self.arrived += f64::from(packet.size);
        let verdict = self.core.on_enqueue(packet, queue, cx);
        if cx.has_room {
            self.note(verdict, packet, queue, cx);
        }
        verdict
    }

    fn on_overflow(
        &mut self,
        earlier: Verdict,
        packet: &Packet,
        queue: &QueueView<'_>,
        cx: &mut Context<'_>,
    ) -> Verdict {
        // A packet that the pre-filter dropped does not reach the buffer.
        if self.filtered {
            return earlier;
        }
        let verdict = self.core.on_overflow(earlier, packet, queue, cx);
        self.note(verdict, packet, queue, cx);
        verdict
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next)
    }

    fn on_timer(&mut self, _queue: &QueueView<'_>, cx: &mut Context<'_>) {
        self.end_epoch(cx.now);
    }

    fn average(&self) -> Option<f64> {
        Some(self.core.average())
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.core.gauges(out);
        out("p_drop_rate", self.drop_rate.unwrap_or(0.0));
        out("epoch", self.next - self.began);
        out("monitored_flows", self.monitored as f64);
    }
}

#[cfg(test)]
mod tests;
