//! # RED-PD
//!
//! ## What it does
//! RED with preferential dropping: finds high-bandwidth flows in the history of RED's own drops, and drops packets of
//! these before they reach RED. With p the average drop rate, an epoch lasts `(X/Y) R/sqrt(1.5 p)`, between 2 R and 10 R:
//! the time in which a TCP flow of round-trip time R at that drop rate loses a packet. A flow that lost packets in X of
//! the last Y epochs is faster than that. At the end of an epoch in which more than `min_drop_rate` was dropped, each
//! such flow's pre-filter probability rises by its part of the drops, `p drops/(average drops)`, or doubles if that is
//! less; the first time it is at most 2 p. Flows that lost nothing in all Y epochs get less, and are released in the end. A
//! flow whose rate does not fall when its loss rises is unresponsive: its probability rises faster and falls slower.
//!
//! ## Source
//! R. Mahajan, S. Floyd, D. Wetherall, "Controlling high-bandwidth flows at the congested router", ICNP 2001, as
//! implemented in ns-2.35: `queue/red-pd.cc`, `tcl/ex/red-pd/helper.tcl`, `monitoring.tcl`.
//!
//! ## Differences
//! 1. Constants are ns-2's. Its scripts look at the first epoch after 10.1 s; here it ends after 10 R, as with p = 0
//!    (`first_epoch`).
//! 2. ns-2 lets flows go 1 ms after it has punished others, and takes the length of the epoch to come for one of the last
//!    three (five for unresponsive flows) that must have passed. Here both happen at once, and the last three are the last
//!    three. An increase waits for four, and all for `change_interval`.
//! 3. ns-2 keeps every flow it has ever seen. Here the `flows` that last lost a packet, by RED or the pre-filter.
//! 4. Pre-filtered packets do not reach RED: its average does not see them, and the pre-filter goes by the average of the
//!    arrival before. One that is dropped at an idle link decays the average, or the idle time would be lost.
//! 5. Probabilities are spaced as RED's, each flow with a count of its own that begins at 0 (the analysis' law). One number
//!    is drawn for each packet of a monitored flow, also where the queue is too short to drop.
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

use crate::catalogue::{AqmSpec, Built, Link};
use crate::early_detection::{hit, params, Defaults, EarlyDetection, SHARED};
use crate::params::{Kind, Param, ParamError, Unit, Value, Values};
use crate::parts::curve::{probability, Linear};
use crate::parts::losses;
use crate::parts::recent_flows::RecentFlows;
use crate::parts::spacing;
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Reason, Room, Verdict};
use crate::red::{self, GENTLE};
use crate::{Packet, Time};

const COMMON: [Param; SHARED] =
    params(Defaults { min_th: 5.0, max_th: 15.0, max_p: 0.1, source: "ns-2 before 2001-12-29" });

const NS2: &str = "ns-2.35 (tcl/ex/red-pd)";

/// Most epochs that can be remembered.
const EPOCHS: usize = 16;

/// How many rates and losses of a flow the test for unresponsive flows compares (ns-2's `Hist_Max_`).
const HISTORY: usize = 5;

const fn number(name: &'static str, unit: Unit, range: (f64, f64), default: f64, doc: &'static str) -> Param {
    let kind =
        Kind::Real { low: range.0, high: range.1, open_low: false, open_high: range.1.is_infinite(), auto: false };
    Param { name, symbol: "", unit, kind, default: Value::Real(default), source: NS2, doc }
}

const fn count(name: &'static str, symbol: &'static str, high: i64, default: i64, doc: &'static str) -> Param {
    let kind = Kind::Whole { low: 1, high };
    Param { name, symbol, unit: Unit::None, kind, default: Value::Whole(default), source: NS2, doc }
}

const fn flag(name: &'static str, default: bool, source: &'static str, doc: &'static str) -> Param {
    let (kind, default) = (Kind::Flag { auto: false }, Value::Flag(default));
    Param { name, symbol: "", unit: Unit::None, kind, default, source, doc }
}

const OWN: [Param; 14] = [
    number(
        "target_rtt",
        Unit::Seconds,
        (1e-3, 10.0),
        0.04,
        "R: flows faster than a TCP flow of this round-trip time are high-bandwidth.",
    ),
    count("regular", "X", EPOCHS as i64, 3, "Epochs with drops that make a flow high-bandwidth."),
    count("epochs", "Y", EPOCHS as i64, 5, "Epochs that are remembered."),
    count("list_size", "", 65_536, 50, "Most flows that one epoch notes, those with the most dropped bytes."),
    Param {
        name: "flows",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Whole { low: 1, high: 65_536 },
        default: Value::Whole(1024),
        source: "our choice",
        doc: "Flows of which anything is known: those that lost a packet last.",
    },
    number("drop_weight", Unit::None, (0.0, 1.0), 0.5, "Weight of an epoch in the average drop rate."),
    number("min_drop_rate", Unit::None, (0.0, 1.0), 0.001, "Drop rate of an epoch above which flows are punished."),
    number("most_at_first", Unit::None, (0.0, 1.0), 0.5, "Largest pre-filter probability a flow begins with."),
    number(
        "release_at",
        Unit::None,
        (0.0, 1.0),
        0.005,
        "Probability from which a flow is released (half of it if unresponsive).",
    ),
    number("most_decrease", Unit::None, (0.0, 1.0), 0.05, "Most by which a probability falls in one step."),
    number(
        "change_interval",
        Unit::Seconds,
        (0.0, 1e6),
        0.4,
        "Least time between two changes of a flow's probability.",
    ),
    Param {
        name: "first_epoch",
        symbol: "",
        unit: Unit::Seconds,
        kind: Kind::Real { low: 0.0, high: 1e9, open_low: true, open_high: false, auto: true },
        default: Value::Auto,
        source: "our choice; ns-2's scripts: 10.1 s",
        doc: "End of the first epoch; \"auto\" is 10 target_rtt.",
    },
    flag("unresponsive_test", true, NS2, "Whether flows are tested for not responding."),
    flag("noidle", false, "ns-2.35", "Spare packets of unresponsive flows too while no more than one packet waits."),
];

const COUNT_MARKS: [Param; 1] =
    [flag("count_marks", true, "our choice (ns-2: drops only)", "Whether a mark counts as a drop in the history.")];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    name: "red_pd",
    title: "RED-PD",
    family: "flow-aware RED",
    year: 2001,
    summary: "RED with preferential dropping: flows that lose packets again and again are thinned out before RED",
    source: "Mahajan, Floyd, Wetherall: Controlling high-bandwidth flows at the congested router, ICNP 2001",
    file: include_str!("red_pd.rs"),
    params: &[&COMMON, &GENTLE, &OWN, &COUNT_MARKS],
    check: &|values, link| {
        red::read(values, &COMMON, link)?;
        Rules::read(values).map(|_| ())
    },
    build: &|values, link, _| Ok(Built::Policy(Box::new(RedPd::new(values, link)?))),
    curve: Some(&|values, link, average| {
        red::read(values, &COMMON, link).map_or(f64::NAN, |(set, curve)| probability(&curve, set.in_unit(average)))
    }),
};

/// What is known of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// Bytes in this epoch: arrived, dropped by RED or for want of room, dropped by the pre-filter.
    arrived: f64,
    lost: f64,
    filtered: f64,
    /// Bytes dropped in each remembered epoch, the present one at 0; 0 where the flow was not noted.
    noted: [f64; EPOCHS],
    /// Pre-filter probability; 0 if the flow is not monitored.
    p: f64,
    /// Packets passed since the pre-filter last dropped.
    count: u32,
    unresponsive: bool,
    /// The epoch at whose end the probability last changed, and when that was.
    last_change: Option<(u64, Time)>,
    /// Rate (bytes/s) and loss when the probability was raised, the latest first.
    history: [(f64, f64); HISTORY],
    remembered: usize,
}

impl Flow {
    /// Whether the probability may change at the end of epoch `epoch`: not before `epochs` of them and `interval`
    /// seconds have passed since it last did.
    fn may_change(&self, epoch: u64, now: Time, epochs: u64, interval: f64) -> bool {
        // Five epochs of 80 ms must be 0.4 s, whatever the rounding of their sum.
        self.last_change.is_none_or(|(then, at)| epoch - then >= epochs && now - at > interval - 1e-9)
    }

    fn times_noted(&self) -> usize {
        self.noted.iter().filter(|&&bytes| bytes > 0.0).count()
    }

    /// ns-2's `check-unresponsive`: of all pairs in the history whose losses differ, but less than tenfold, does the rate
    /// fall with the root of the loss?
    fn does_not_respond(&self) -> bool {
        let history = &self.history[..self.remembered];
        let (mut good, mut bad) = (0, 0);
        for &(rate_at_less, less) in history {
            for &(rate_at_more, more) in history {
                if less < more && less > 0.1 * more && rate_at_less > 0.0 {
                    if rate_at_more / rate_at_less > (less / more).sqrt() {
                        bad += 1;
                    } else {
                        good += 1;
                    }
                }
            }
        }
        match good {
            0 => bad >= 3,
            _ => bad >= 4 * good,
        }
    }

    /// The probability after one more step up; `share` is the flow's part of the drop rate.
    fn raised(&self, share: f64) -> f64 {
        let times = if self.unresponsive { 3.0 } else { 2.0 };
        let p = if share > self.p { times * self.p } else { self.p + (times - 1.0) * share };
        // Past 1, what passes is halved instead, or divided by three.
        if p > 1.0 {
            1.0 - (1.0 - self.p) / times
        } else {
            p
        }
    }

    /// The probability after one more step down; `None` if the flow is released.
    fn lowered(&self, release_at: f64, most: f64) -> Option<f64> {
        let (release_at, by) = if self.unresponsive { (release_at / 2.0, 1.5) } else { (release_at, 2.0) };
        if self.p <= release_at {
            None
        } else if self.p > by * most {
            Some(self.p - most)
        } else {
            Some(self.p / by)
        }
    }
}

/// Own settings after checking.
#[derive(Clone, Copy, Debug)]
struct Rules {
    target_rtt: f64,
    regular: usize,
    epochs: usize,
    list_size: usize,
    drop_weight: f64,
    min_drop_rate: f64,
    most_at_first: f64,
    release_at: f64,
    most_decrease: f64,
    change_interval: f64,
    unresponsive_test: bool,
    noidle: bool,
    count_marks: bool,
}

impl Rules {
    /// The rules among `values`.
    fn read(values: &Values) -> Result<Self, ParamError> {
        let real = |name| values.real(&OWN, name);
        let whole = |name| values.whole(&OWN, name) as usize;
        let rules = Rules {
            target_rtt: real("target_rtt"),
            regular: whole("regular"),
            epochs: whole("epochs"),
            list_size: whole("list_size"),
            drop_weight: real("drop_weight"),
            min_drop_rate: real("min_drop_rate"),
            most_at_first: real("most_at_first"),
            release_at: real("release_at"),
            most_decrease: real("most_decrease"),
            change_interval: real("change_interval"),
            unresponsive_test: values.flag(&OWN, "unresponsive_test"),
            noidle: values.flag(&OWN, "noidle"),
            count_marks: values.flag(&COUNT_MARKS, "count_marks"),
        };
        if rules.regular > rules.epochs {
            let allowed = format!("at most epochs ({})", rules.epochs);
            return Err(ParamError::new("regular", rules.regular, allowed));
        }
        Ok(rules)
    }
}

/// The policy.
pub struct RedPd {
    core: EarlyDetection<Linear>,
    min_th: f64,
    rules: Rules,
    flows: RecentFlows<Flow>,
    monitored: usize,
    arrived: f64,
    lost: f64,
    /// Average drop rate; `None` before the first epoch has ended.
    drop_rate: Option<f64>,
    /// Epochs that have ended.
    epoch: u64,
    began: Time,
    next: Time,
    /// Dropped bytes of the flows of an epoch, to find the largest.
    scratch: Vec<f64>,
    /// The last arrival did not get past the pre-filter.
    filtered: bool,
}

impl RedPd {
    fn new(values: &Values, link: &Link) -> Result<Self, ParamError> {
        let (set, curve) = red::read(values, &COMMON, link)?;
        let rules = Rules::read(values)?;
        let first = values.real(&OWN, "first_epoch");
        let first = if first.is_nan() { 10.0 * rules.target_rtt } else { first };
        Ok(RedPd {
            core: EarlyDetection::new(set, curve),
            min_th: set.min_th / set.in_unit(1.0),
            rules,
            flows: RecentFlows::new(values.whole(&OWN, "flows") as usize),
            monitored: 0,
            arrived: 0.0,
            lost: 0.0,
            drop_rate: None,
            epoch: 0,
            began: Time::ZERO,
            next: Time::ZERO + first,
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
        let allowed = if flow.unresponsive {
            queue.packets > 1 || !self.rules.noidle
        } else {
            queue.packets > 1 && self.core.average() >= self.min_th
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

    /// Notes what `verdict` costs whom.
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

    fn epoch_length(&self, drop_rate: f64) -> f64 {
        let Rules { target_rtt, regular, epochs, .. } = self.rules;
        if drop_rate == 0.0 {
            return 10.0 * target_rtt;
        }
        let length = regular as f64 / epochs as f64 * target_rtt / (1.5 * drop_rate).sqrt();
        length.clamp(2.0 * target_rtt, 10.0 * target_rtt)
    }

    /// Writes this epoch's drops into the flows' notes: of too many flows those with the most dropped bytes.
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
        // The least number of bytes that is noted, and how many flows with just so many are.
        let (mut least, mut at_least) = (0.0, 0);
        if scratch.len() > list_size {
            scratch.select_nth_unstable_by(list_size - 1, |a, b| b.total_cmp(a));
            least = scratch[list_size - 1];
            at_least = scratch[..list_size].iter().filter(|&&bytes| bytes <= least).count();
        }
        self.flows.retain(|_, flow| {
            flow.noted[..epochs].rotate_right(1);
            let enough = flow.lost > least || flow.lost == least && at_least > 0;
            at_least -= usize::from(enough && flow.lost == least && at_least > 0);
            flow.noted[0] = if enough { flow.lost } else { 0.0 };
            true
        });
    }

    /// Raises the probability of the flows that are noted regularly; `p` is the drop rate to go by.
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
            let may_change = flow.may_change(epoch, now, 4, rules.change_interval);
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

    /// Lowers the probability of monitored flows that are noted nowhere, and forgets those of which nothing is left.
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
                return false;
            }
            if flow.may_change(epoch, now, if flow.unresponsive { 5 } else { 3 }, rules.change_interval) {
                match flow.lowered(rules.release_at, rules.most_decrease) {
                    Some(p) => flow.p = p,
                    None => {
                        *monitored -= 1;
                        return false;
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
        // What the pre-filter dropped never asked for room.
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
mod tests {
    use super::*;
    use crate::random::Generator;

    const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

    fn red_pd(pairs: &[(&'static str, Value)]) -> RedPd {
        let mut values = Values::new();
        for &(name, value) in pairs {
            assert!(SPEC.param(name).is_some_and(|param| param.allows(value)), "{name}");
            values.set(name, value);
        }
        RedPd::new(&values, &LINK).unwrap()
    }

    /// A packet of `flow` that finds `waiting` packets, with room or without; every draw is `draw`.
    fn arrive(pd: &mut RedPd, flow: u64, waiting: u64, has_room: bool, draw: f64) -> Verdict {
        let (mut random, mut victims) = (Generator::custom(move || draw), Vec::new());
        let queue = QueueView { packets: waiting, bytes: waiting * 1000, idle_since: None, contents: None };
        let mut cx = Context { now: Time::ZERO, ecn: false, has_room, random: &mut random, victims: &mut victims };
        let packet = Packet::new(flow, 1000);
        let verdict = pd.on_enqueue(&packet, &queue, &mut cx);
        if has_room {
            verdict
        } else {
            pd.on_overflow(verdict, &packet, &queue, &mut cx)
        }
    }

    fn flow(pd: &RedPd, flow: u64) -> Flow {
        pd.flows.find(flow).map_or(Flow::default(), |slot| *pd.flows.record(slot))
    }

    /// One epoch in which each flow's packets pass, and some of them find no room, until the epoch is over.
    fn epoch(pd: &mut RedPd, flows: &[(u64, u32, u32)]) {
        for &(flow, passed, lost) in flows {
            for i in 0..passed + lost {
                arrive(pd, flow, 0, i < passed, 1.0);
            }
        }
        let now = pd.next;
        let (mut random, mut victims) = (Generator::custom(|| 1.0), Vec::new());
        let mut cx = Context { now, ecn: false, has_room: true, random: &mut random, victims: &mut victims };
        pd.on_timer(&QueueView { packets: 0, bytes: 0, idle_since: None, contents: None }, &mut cx);
        assert!(pd.next > now);
    }

    #[test]
    fn epochs_last_as_long_as_a_tcp_flow_between_two_losses() {
        let pd = red_pd(&[]);
        // 0.6 * 40 ms / sqrt(1.5 p)
        assert!((pd.epoch_length(0.01) - 0.024 / 0.015_f64.sqrt()).abs() < 1e-12);
        assert_eq!(pd.epoch_length(0.06), 0.08, "0.08 s is 0.6 R/sqrt(0.09), and the shortest");
        assert_eq!((pd.epoch_length(0.0601), pd.epoch_length(1.0)), (0.08, 0.08));
        assert_eq!((pd.epoch_length(1e-9), pd.epoch_length(0.0)), (0.4, 0.4));
        assert_eq!(pd.next.seconds(), 0.4);
        assert_eq!(red_pd(&[("first_epoch", Value::Real(10.1))]).next.seconds(), 10.1);
    }

    /// Every second flow loses packets in each epoch; the third time it is monitored.
    #[test]
    fn three_epochs_with_drops_make_a_flow_high_bandwidth() {
        let mut pd = red_pd(&[]);
        let mut length = 0.0;
        for round in 1..=3 {
            length = pd.next - pd.began;
            epoch(&mut pd, &[(1, 90, 10), (2, 100, 0)]);
            assert_eq!(pd.drop_rate, Some(0.05));
            assert_eq!((flow(&pd, 1).times_noted(), flow(&pd, 2).times_noted()), (round, 0));
        }
        // It is the only one: its share is the whole drop rate.
        assert!((flow(&pd, 1).p - 0.05).abs() < 1e-12 && pd.monitored == 1);
        assert_eq!(flow(&pd, 1).history[0], (100_000.0 / length, 0.1));
        let mut gaps = red_pd(&[]);
        for lost in [1, 0, 1, 0, 1] {
            assert_eq!(flow(&gaps, 1).p, 0.0);
            epoch(&mut gaps, &[(1, 100, lost), (2, 100, 1)]);
        }
        assert_ne!(flow(&gaps, 1).p, 0.0, "1, 3 and 5 of the last five");
        let mut rare = red_pd(&[]);
        for lost in [1, 0, 0, 1, 0, 0, 1, 0, 0] {
            epoch(&mut rare, &[(1, 100, lost)]);
            assert_eq!(flow(&rare, 1).p, 0.0);
        }
    }

    #[test]
    fn shares_are_in_proportion_to_drops_and_at_most_double() {
        let mut pd = red_pd(&[]);
        for _ in 0..3 {
            epoch(&mut pd, &[(1, 24, 6), (2, 39, 1), (3, 29, 1)]);
        }
        // p = 8/100; on average 8/3 drops a flow; 6 and 1 of them, and at most twice p.
        assert!((flow(&pd, 1).p - 0.16).abs() < 1e-12, "0.18 is more than 2 p: {}", flow(&pd, 1).p);
        assert!((flow(&pd, 2).p - 0.03).abs() < 1e-12);
        let mut calm = red_pd(&[("min_drop_rate", Value::Real(0.08))]);
        for _ in 0..6 {
            epoch(&mut calm, &[(1, 24, 6), (2, 39, 1), (3, 29, 1)]);
        }
        assert_eq!(calm.monitored, 0, "a rate of exactly the least is not above it");
        let mut heavy = red_pd(&[]);
        for _ in 0..3 {
            epoch(&mut heavy, &[(1, 10, 90)]);
        }
        assert_eq!(flow(&heavy, 1).p, 0.5, "half at first");
    }

    /// The lower of the epoch's rate and the average counts.
    #[test]
    fn drop_rate_is_averaged_by_halves() {
        let mut pd = red_pd(&[]);
        for (lost, want) in [(10, 0.1), (0, 0.05), (20, 0.125), (20, 0.1625)] {
            epoch(&mut pd, &[(1, 100 - lost, lost)]);
            assert!((pd.drop_rate.unwrap() - want).abs() < 1e-12, "{:?}", pd.drop_rate);
        }
        // In the fourth epoch the flow was noted for the third time.
        assert!((flow(&pd, 1).p - 0.1625).abs() < 1e-12, "{}", flow(&pd, 1).p);
    }

    #[test]
    fn steps_up_add_or_multiply_and_never_reach_one() {
        let responsive = Flow { p: 0.2, ..Flow::default() };
        let unresponsive = Flow { p: 0.2, unresponsive: true, ..Flow::default() };
        let close = |found: f64, want: f64| assert!((found - want).abs() < 1e-12, "{found} not {want}");
        close(responsive.raised(0.05), 0.25);
        close(responsive.raised(0.2), 0.4);
        close(responsive.raised(0.3), 0.4);
        close(unresponsive.raised(0.05), 0.3);
        close(unresponsive.raised(0.3), 0.6);
        close(Flow { p: 0.7, ..responsive }.raised(0.8), 0.85);
        close(Flow { p: 0.7, ..unresponsive }.raised(0.8), 0.9);
    }

    #[test]
    fn steps_down_halve_or_subtract_and_end() {
        let at = |p, unresponsive| Flow { p, unresponsive, ..Flow::default() }.lowered(0.005, 0.05);
        let close = |found: Option<f64>, want: f64| assert!((found.unwrap() - want).abs() < 1e-12, "{found:?}");
        close(at(0.3, false), 0.25);
        close(at(0.1, false), 0.05);
        close(at(0.08, false), 0.04);
        close(at(0.006, false), 0.003);
        assert_eq!(at(0.005, false), None);
        close(at(0.3, true), 0.25);
        close(at(0.06, true), 0.04);
        close(at(0.003, true), 0.002);
        assert_eq!(at(0.0025, true), None);
    }

    #[test]
    fn changes_wait_for_four_epochs_and_releases_for_silence() {
        let mut pd = red_pd(&[]);
        let lossy = [(1, 80, 20), (2, 100, 0)];
        let mut changes = Vec::new();
        for round in 1..=12 {
            let before = flow(&pd, 1).p;
            epoch(&mut pd, &lossy);
            if flow(&pd, 1).p != before {
                changes.push(round);
            }
        }
        // Epochs of 80 ms: 0.4 s are five of them.
        assert_eq!(changes, [3, 8]);
        let mut short = red_pd(&[("change_interval", Value::Real(0.0))]);
        let mut changes = Vec::new();
        for round in 1..=12 {
            let before = flow(&short, 1).p;
            epoch(&mut short, &lossy);
            if flow(&short, 1).p != before {
                changes.push(round);
            }
        }
        assert_eq!(changes, [3, 7, 11]);
        // Five silent epochs later it is noted nowhere; then it gets less every 0.4 s and goes.
        let mut released = 0;
        while pd.monitored > 0 {
            epoch(&mut pd, &[(2, 100, 0)]);
            released += 1;
            assert!(released < 60);
        }
        assert!(pd.flows.is_empty(), "nothing is left of it");
        assert!(released > 8, "{released}");
    }

    #[test]
    fn a_flow_without_losses_in_the_epoch_is_not_punished() {
        let mut pd = red_pd(&[("change_interval", Value::Real(0.0))]);
        let mut changes = Vec::new();
        for (round, lost) in [10, 10, 10, 10, 10, 10, 0, 10].into_iter().enumerate() {
            let before = flow(&pd, 1).p;
            epoch(&mut pd, &[(1, 90, lost), (2, 90, 10)]);
            if flow(&pd, 1).p != before {
                changes.push(round + 1);
            }
        }
        assert_eq!(changes, [3, 8], "four epochs later, in the seventh, it is noted four times but loses nothing");
    }

    #[test]
    fn rates_that_do_not_fall_with_the_root_of_the_loss_are_unresponsive() {
        let with = |pairs: &[(f64, f64)]| {
            let mut flow = Flow { remembered: pairs.len(), ..Flow::default() };
            flow.history[..pairs.len()].copy_from_slice(pairs);
            flow.does_not_respond()
        };
        // Constant rate: of three losses, three pairs.
        assert!(with(&[(1e5, 0.1), (1e5, 0.2), (1e5, 0.4)]));
        assert!(!with(&[(1e5, 0.1), (1e5, 0.2)]), "one pair is not enough");
        // Rate in proportion to 1/sqrt(loss), a little below.
        assert!(!with(&[(1e5, 0.1), (0.7e5, 0.2), (0.49e5, 0.4)]));
        assert!(!with(&[(1e5, 0.01), (1e5, 0.2), (1e5, 0.4)]), "differences of tenfold and more do not count");
        assert!(!with(&[]));
        // Four bad pairs for each good one: at 0.5 the roots are 0.447, 0.632 and 0.894.
        let constant = [(1e5, 0.1), (1e5, 0.2), (1e5, 0.4)];
        let and = |rate: f64| [constant[0], constant[1], constant[2], (rate, 0.5)];
        assert!(with(&and(0.95e5)), "six bad");
        assert!(with(&and(0.7e5)), "five bad, one good");
        assert!(!with(&and(0.6e5)), "four bad, two good");
    }

    #[test]
    fn the_pre_filter_spares_short_queues_unless_the_flow_is_unresponsive() {
        let monitored = |unresponsive, noidle| {
            let mut pd =
                red_pd(&[("w_q", Value::Real(1.0)), ("min_th", Value::Real(3.0)), ("noidle", Value::Flag(noidle))]);
            pd.flows.see(1, Flow { p: 0.25, unresponsive, ..Flow::default() });
            pd
        };
        let filtered = Verdict::Drop(Reason::Early);
        // The average is that of the arrival before: 3 is enough, 2 is not.
        for (before, waiting, responsive, unresponsive, spared) in [
            (3, 2, filtered, filtered, filtered),
            (2, 2, Verdict::Pass, filtered, filtered),
            (3, 1, Verdict::Pass, filtered, Verdict::Pass),
            (3, 0, Verdict::Pass, filtered, Verdict::Pass),
        ] {
            for (mut pd, want) in [
                (monitored(false, false), responsive),
                (monitored(true, false), unresponsive),
                (monitored(true, true), spared),
            ] {
                arrive(&mut pd, 9, before, true, 1.0);
                assert_eq!(arrive(&mut pd, 1, waiting, true, 0.25), want, "{before} {waiting}");
                assert_eq!(flow(&pd, 1).filtered, if want == filtered { 1000.0 } else { 0.0 });
                assert_eq!(pd.core.average(), if want == filtered { before } else { waiting } as f64);
            }
        }
    }

    /// The gap of a pre-filter with p = 1/4: uniform on 1..4, as the count begins at 0.
    #[test]
    fn pre_filter_gaps_are_uniform() {
        let mut pd = red_pd(&[]);
        pd.flows.see(1, Flow { p: 0.25, unresponsive: true, ..Flow::default() });
        let mut numbers = Generator::stream(1, "gaps");
        let (mut gap, mut gaps) = (0, [0_u32; 4]);
        for _ in 0..100_000 {
            let draw = numbers.uniform();
            if arrive(&mut pd, 1, 0, true, draw) == Verdict::Pass {
                gap += 1;
            } else {
                gaps[gap] += 1;
                gap = 0;
            }
        }
        let drops: u32 = gaps.iter().sum();
        // A mean gap of 2.5. Five standard deviations of a quarter of 40,000 are 433.
        assert!((39_500..40_500).contains(&drops), "{gaps:?}");
        assert!(gaps.iter().all(|&n| n.abs_diff(drops / 4) < 433), "{gaps:?}");
    }

    #[test]
    fn pre_filtered_packets_are_not_in_the_history() {
        let mut pd = red_pd(&[]);
        pd.flows.see(1, Flow { p: 1.0, unresponsive: true, ..Flow::default() });
        for has_room in [true, false] {
            assert_eq!(arrive(&mut pd, 1, 20, has_room, 0.5), Verdict::Drop(Reason::Forced));
        }
        assert_eq!((pd.arrived, pd.lost, flow(&pd, 1).lost, flow(&pd, 1).filtered), (0.0, 0.0, 0.0, 2000.0));
        arrive(&mut pd, 2, 20, false, 0.5);
        assert_eq!((pd.arrived, pd.lost, flow(&pd, 2).lost), (1000.0, 1000.0, 1000.0));
    }

    #[test]
    fn an_epoch_notes_the_flows_with_the_most_drops() {
        let mut pd = red_pd(&[("list_size", Value::Whole(3))]);
        epoch(&mut pd, &[(1, 0, 1), (2, 0, 5), (3, 0, 2), (4, 0, 2), (5, 0, 2), (6, 0, 1)]);
        let noted: Vec<u64> = (1..=6).filter(|&id| flow(&pd, id).times_noted() == 1).collect();
        assert_eq!(noted, [2, 4, 5], "of those with two the later ones");
        let mut few = red_pd(&[("flows", Value::Whole(2))]);
        epoch(&mut few, &[(1, 0, 9), (2, 0, 1), (3, 0, 1)]);
        assert_eq!((flow(&few, 1).times_noted(), few.flows.len()), (0, 2), "flow 1 had to make room");
    }

    #[test]
    fn three_of_two_epochs_are_refused() {
        let mut values = Values::new();
        values.set("regular", Value::Whole(3)).set("epochs", Value::Whole(2));
        assert_eq!(RedPd::new(&values, &LINK).err().unwrap().name, "regular");
    }
}
