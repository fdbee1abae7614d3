//! # SFRED
//!
//! ## What it does
//! RED that looks at the flow of each arrival. A list of the N most recently seen flows (MRUL) counts packets received
//! and dropped: r_i and d_i of flow i, R and D in total. With A active flows, the fair share is F = R/A and the average
//! loss D/R. The first line that fits decides on an arrival:
//!
//! | flow i is | if | its packet meets |
//! |---|---|---|
//! | unresponsive | fast, and d_i/r_i > (1 + beta) D/R | a certain drop |
//! | fast | r_i > (1 + alpha) F | RED with max_p r_i/F, at most 1 |
//! | slow | r_i <= 10 and d_i = 0 | RED with both thresholds higher by `slow_bonus` |
//! | any other | | RED |
//!
//! A flow that is not in the list is put at its front with r = 1, d = 0, and the flow at the end is evicted.
//!
//! ## Source
//! X. Lin, K. Zhou, H. Wang, G. Su, "Scalable fair random early detection", WiCOM 2006; H. Wang, X. Lin, K. Zhou, N.
//! Xie, H. Li, "On the scalable fairness and efficient active queue management of RED", International Journal of
//! Communications, Network and System Sciences 2(1), 2009, section 2. The text of the second was read; its displayed
//! formulas are lost in every copy at hand.
//!
//! ## Differences
//! 1. From the text: the list and its upkeep, r = 1 and d = 0 for a new flow, alpha = beta = 0.1, 10 packets for a slow
//!    flow, the certain drop, RED's values, that both thresholds rise for slow flows. Everything else here is our
//!    reconstruction, and a parameter: the page `docs/algorithms/sfred.md` gives the reasons and what each choice does.
//! 2. The fair rate is received packets divided by active flows. `fair_rate`, `throughput`, `active_flows` offer other
//!    readings.
//! 3. Margins are relative: an absolute distance of 0.1 from the average would not suit every load. `fast_test` and
//!    `loss_test` offer absolute margins.
//! 4. The raised probability is linear in r_i/F, as the text argues from a throughput that is inversely proportional to
//!    the loss rate. By the square-root law it would be the square: `boost = "squared"`.
//! 5. The text never lets a count fall, so a flow that has ended stays in A for ever. Here all counts are halved every
//!    `ageing_interval` seconds and flows below one packet leave the list; `ageing = "never"` follows the letter, and
//!    the fair rate is then taken from the list (`fair_rate = "auto"`), as R includes flows that the list has
//!    forgotten.
//! 6. "All the subsequent packets from the flow are dropped": the text does not say until when. The raised probability
//!    itself lifts the loss rate of a fast TCP flow over the margin, and a flow that is condemned for good gets
//!    nothing. Here the test is repeated at each arrival; `release` has other rules. These drops leave RED's count
//!    alone.
//! 7. Slow flows share RED's count of packets since the last drop, which an average below their raised min_th resets.
//!    With `slow_count = "own"` they have a count of their own.
//! 8. A hash table finds flows in the list, so that a packet costs the same for every N. Halving costs N steps, at the
//!    first arrival after each interval.
//! 9. The paper works in packets ("packet mode") and says that all can be computed in bits. `counts = "bits"` does: a
//!    packet then counts as its part of `mean_packet`, so that a slow flow's 10 are the bits of ten mean packets.
//!    (reconstruction)
//! 10. d_i and D count every drop, also at a full buffer, and marks (`count_marks`).
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, discipline::Fifo, gate::Gate, params::Values, policy::Limit, random::Generator};
//! use earlydrop_aqm::{Discipline, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 1.5e6, delay_s: 0.01 };
//! let limit = Limit::Packets(50);
//! let catalogue::Built::Policy(sfred) = (catalogue::find("sfred").unwrap().build)(&Values::new(), &link, limit).unwrap()
//!     else { unreachable!() };
//! let mut queue = Fifo::new(Gate::new(sfred, limit, false, Generator::stream(1, "queue")));
//! // One packet of four is flow 1's, three are flow 2's; the link takes three of the four.
//! let mut lost = [0, 0];
//! for i in 0..20_000_u32 {
//!     let flow = if i % 4 == 0 { 1 } else { 2 };
//!     let now = Time::from_seconds(f64::from(i) * 4e-3);
//!     queue.enqueue(Packet::new(flow, 1000), now, &mut |p, _| lost[p.flow as usize - 1] += 1);
//!     if i % 4 != 0 {
//!         queue.dequeue(now, &mut |_, _| {});
//!     }
//! }
//! assert!(lost[0] < 500 && lost[1] > 4500, "flow 2 pays for what it takes beyond its half: {lost:?}");
//! ```

mod parameters;

use crate::catalogue::{AqmSpec, Built};
use crate::default_limit::DefaultLimit;
use crate::early_detection::{EarlyDetection, Settings, Spacing};
use crate::parts::curve::{probability, Linear};
use crate::parts::halving::Halving;
use crate::parts::losses;
use crate::parts::recent_flows::RecentFlows;
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Reason, Room, Verdict};
use crate::red::GENTLE;
use crate::Packet;
use parameters::{
    ActiveFlows, AverageLoss, Boost, FairRate, FastTest, LossTest, Release, Rules, SlowCount, SlowTest, Throughput,
    COMMON, COUNT_MARKS, OWN,
};

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Scalable fair RED: a list of the most recently seen flows separates fast, unresponsive and slow ones",
    source: "Lin, Zhou, Wang, Su: Scalable fair random early detection, WiCOM 2006; Wang, Lin, Zhou, Xie, Li, IJCNS 2(1), 2009",
    params: &[&COMMON, &GENTLE, &OWN, &COUNT_MARKS],
    limit: DefaultLimit::RED,
    check: &|values, link| Rules::read(values, link).map(|_| ()),
    build: &|values, link, _| {
        let (rules, curve) = Rules::read(values, link)?;
        Ok(Built::Policy(Box::new(Sfred::new(rules, curve))))
    },
    curve: Some(&|values, link, average| {
        Rules::read(values, link).map_or(f64::NAN, |(rules, curve)| probability(&curve, rules.set.in_unit(average)))
    }),
    ..AqmSpec::named("sfred", "SFRED", "flow-aware RED", 2006)
};

/// What a flow is taken for at one arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kinds {
    /// The flow's packet is dropped.
    Unresponsive,
    /// The flow's packet meets RED with `max_p` times this.
    Fast(f64),
    /// The flow's packet meets RED with higher thresholds.
    Slow,
    /// The flow's packet meets RED.
    Plain,
}

/// A flow in the list.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// r_i, packets received.
    received: f64,
    /// d_i, packets dropped.
    dropped: f64,
    /// Whether the flow was found unresponsive and is not released yet.
    condemned: bool,
}

/// Sums over flows.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    /// Packets received.
    received: f64,
    /// Packets dropped.
    dropped: f64,
}

/// How many condemned flows are remembered outside the list with `release = "never"`; beyond, the oldest is forgotten.
const CONDEMNED: usize = 65_536;

/// The policy.
pub struct Sfred {
    /// RED.
    core: EarlyDetection<Linear>,
    /// RED's line for slow flows.
    slow: Linear,
    /// Slow flows' own spacing, if they do not share RED's.
    slow_spacing: Option<Spacing>,
    /// The parameters.
    rules: Rules,
    /// MRUL, the flows seen last.
    list: RecentFlows<Flow>,
    /// Unresponsive flows, with `release = "never"`.
    condemned: RecentFlows<()>,
    /// R and D, sums over all flows.
    all: Sum,
    /// Sums over the flows in the list.
    listed: Sum,
    /// Averaged share of arrivals whose flow was in the list.
    hit_rate: f64,
    /// When all counts are halved; `None` if they are kept.
    halving: Option<Halving>,
    /// What the flow of the last arrival was taken for.
    last: Kinds,
    /// The flow of the last arrival.
    last_flow: u64,
}

impl Sfred {
    fn new(rules: Rules, curve: Linear) -> Self {
        let set = rules.set;
        let bonus = set.in_unit(rules.slow_bonus);
        Sfred {
            core: EarlyDetection::new(set, curve),
            slow: Linear::new(set.min_th + bonus, set.max_th + bonus, set.max_p, rules.gentle),
            slow_spacing: match rules.slow_count {
                SlowCount::Shared => None,
                SlowCount::Own => Some(Spacing::new(&set)),
            },
            list: RecentFlows::new(rules.list_size),
            condemned: RecentFlows::new(CONDEMNED),
            all: Sum::default(),
            listed: Sum::default(),
            hit_rate: 1.0,
            halving: rules.halving_interval.map(Halving::every),
            last: Kinds::Plain,
            last_flow: 0,
            rules,
        }
    }

    /// Multiplies all counts by `keep`; the sums over the list are recomputed.
    fn age(&mut self, keep: f64) {
        let free = self.rules.release == Release::OnAgeing;
        self.all = Sum { received: self.all.received * keep, dropped: self.all.dropped * keep };
        let mut listed = Sum::default();
        self.list.retain(|_, flow| {
            flow.received *= keep;
            flow.dropped *= keep;
            flow.condemned &= !free;
            if flow.received < 1.0 {
                return false;
            }
            listed.received += flow.received;
            listed.dropped += flow.dropped;
            true
        });
        self.listed = listed;
    }

    /// Counts an arrival of `packet`'s flow; returns the flow's slot in the list.
    #[inline]
    fn count(&mut self, packet: &Packet) -> u32 {
        let (flow, amount) = (packet.flow, self.rules.amount(packet.size));
        let seen = self.list.see(flow, Flow { received: 0.0, dropped: 0.0, condemned: false });
        if let Some(gone) = seen.evicted {
            self.listed.received -= gone.received;
            self.listed.dropped -= gone.dropped;
        }
        if !seen.known && self.rules.release == Release::Never {
            self.list.record_mut(seen.slot).condemned = self.condemned.find(flow).is_some();
        }
        self.list.record_mut(seen.slot).received += amount;
        self.listed.received += amount;
        self.all.received += amount;
        self.hit_rate += self.rules.hit_weight * (f64::from(u8::from(seen.known)) - self.hit_rate);
        seen.slot
    }

    /// A, the flows in the list, or with `active_flows = "hits"` an estimate from the share of arrivals that the list
    /// knew: of n flows with equal rates a list of N knows the share N/n, whichever N of them it holds.
    #[inline]
    fn active_flows(&self) -> f64 {
        let listed = self.list.len() as f64;
        if self.rules.active_flows == ActiveFlows::Hits && self.hit_rate > 0.0 {
            listed / self.hit_rate
        } else {
            listed
        }
    }

    /// F, packets.
    #[inline]
    fn fair_rate(&self) -> f64 {
        match self.rules.fair_rate {
            FairRate::Received => self.all.received / self.active_flows(),
            FairRate::Accepted => (self.all.received - self.all.dropped) / self.active_flows(),
            FairRate::List => self.listed.received / self.list.len() as f64,
        }
    }

    /// The average loss rate.
    #[inline]
    fn average_loss(&self) -> f64 {
        let sum = match self.rules.average_loss {
            AverageLoss::All => self.all,
            AverageLoss::List => self.listed,
        };
        if sum.received > 0.0 {
            sum.dropped / sum.received
        } else {
            0.0
        }
    }

    /// What `flow`, in `slot` of the list, is taken for: the lines of the table above.
    #[inline]
    fn classify(&mut self, flow: u64, slot: u32) -> Kinds {
        let Flow { received, dropped, condemned } = *self.list.record(slot);
        if condemned {
            return Kinds::Unresponsive;
        }
        let rules = &self.rules;
        let throughput = match rules.throughput {
            Throughput::Received => received,
            Throughput::Accepted => received - dropped,
        };
        let fair = self.fair_rate();
        let fast = fair > 0.0
            && match rules.fast_test {
                FastTest::Relative => throughput > (1.0 + rules.fast_margin) * fair,
                FastTest::Share => throughput - fair > rules.fast_margin * self.all.received,
                FastTest::Absolute => throughput > fair + rules.fast_margin,
            };
        if !fast {
            let few = match rules.slow_test {
                SlowTest::AtMost => received <= rules.slow_packets,
                SlowTest::Below => received < rules.slow_packets,
            };
            return if few && dropped == 0.0 { Kinds::Slow } else { Kinds::Plain };
        }
        let (loss, average) = (dropped / received, self.average_loss());
        let beyond = match rules.loss_test {
            LossTest::Relative => (1.0 + rules.loss_margin) * average,
            LossTest::Absolute => average + rules.loss_margin,
        };
        if average > 0.0 && loss > beyond {
            if rules.release != Release::EachArrival {
                self.list.record_mut(slot).condemned = true;
            }
            if self.rules.release == Release::Never {
                self.condemned.see(flow, ());
            }
            return Kinds::Unresponsive;
        }
        let ratio = throughput / fair;
        Kinds::Fast(match rules.boost {
            Boost::Linear => ratio,
            Boost::Squared => ratio * ratio,
            Boost::OnePlus => 1.0 + ratio,
        })
    }

    /// Counts the drops by `verdict`.
    #[inline]
    fn settle(&mut self, verdict: Verdict, packet: &Packet, queue: &QueueView<'_>, cx: &Context<'_>) {
        losses::charge(verdict, packet, queue, cx, self.rules.count_marks, |flow, size| {
            let amount = self.rules.amount(size);
            self.all.dropped += amount;
            if let Some(slot) = self.list.find(flow) {
                self.list.record_mut(slot).dropped += amount;
                self.listed.dropped += amount;
            }
        });
    }
}

impl Policy for Sfred {
    fn needs(&self) -> Needs {
        Needs { dequeue: false, contents: self.core.needs_contents() }
    }

    fn room(&self, limit: Limit) -> Room {
        self.core.room(limit)
    }

    fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        if let Some(keep) = self.halving.as_mut().and_then(|halving| halving.due(cx.now)) {
            self.age(keep);
        }
        let slot = self.count(packet);
        let average = self.core.observe(queue, cx.now);
        self.last = self.classify(packet.flow, slot);
        self.last_flow = packet.flow;
        let verdict = match self.last {
            Kinds::Unresponsive => Verdict::Drop(Reason::Forced),
            Kinds::Fast(factor) => {
                let Settings { min_th, max_th, max_p, .. } = self.rules.set;
                let raised = Linear::new(min_th, max_th, (max_p * factor).min(1.0), self.rules.gentle);
                self.core.decide_on(&raised, average, packet, queue, cx)
            }
            Kinds::Slow => match &mut self.slow_spacing {
                Some(own) => own.decide(&self.slow, average, packet.size, self.rules.set.length(queue), cx.random),
                None => self.core.decide_on(&self.slow, average, packet, queue, cx),
            },
            Kinds::Plain => self.core.decide(average, packet, queue, cx),
        };
        if cx.has_room {
            self.settle(verdict, packet, queue, cx);
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
        // A condemned flow's packet is never admitted, not even at the cost of another packet (front and random
        // victims).
        let verdict = match self.last {
            Kinds::Unresponsive => Verdict::Drop(Reason::Forced),
            _ => self.core.on_overflow(earlier, packet, queue, cx),
        };
        self.settle(verdict, packet, queue, cx);
        verdict
    }

    fn average(&self) -> Option<f64> {
        Some(self.core.average())
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.core.gauges(out);
        out("received", self.all.received);
        out("dropped", self.all.dropped);
        out("active_flows", self.active_flows());
        out("fair_rate", if self.list.is_empty() { 0.0 } else { self.fair_rate() });
        out("loss", self.average_loss());
        out("flow", self.last_flow as f64);
        out(
            "class",
            match self.last {
                Kinds::Plain => 0.0,
                Kinds::Slow => 1.0,
                Kinds::Fast(_) => 2.0,
                Kinds::Unresponsive => 3.0,
            },
        );
    }
}

#[cfg(test)]
mod tests;
