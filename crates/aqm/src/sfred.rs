//! # SFRED
//!
//! ## What it does
//! RED that looks at the flow of each arrival. A list of the N most recently seen flows (MRUL) counts the packets
//! received r_i and dropped d_i of each, beside the totals R and D. With A active flows, the fair share is F = R/A, the
//! average loss D/R, and each arrival is treated by the first line that fits:
//!
//! | flow i is | if | its packet meets |
//! |---|---|---|
//! | unresponsive | fast, and d_i/r_i > (1 + beta) D/R | a certain drop |
//! | fast | r_i > (1 + alpha) F | RED with max_p r_i/F, at most 1 |
//! | slow | r_i <= 10 and d_i = 0 | RED with both thresholds higher by `slow_bonus` |
//! | any other | | RED |
//!
//! A flow that is not in the list is put at its front with r = 1, d = 0, and the flow at the end gives way.
//!
//! ## Source
//! X. Lin, K. Zhou, H. Wang, G. Su, "Scalable fair random early detection", WiCOM 2006; H. Wang, X. Lin, K. Zhou, N. Xie,
//! H. Li, "On the scalable fairness and efficient active queue management of RED", International Journal of
//! Communications, Network and System Sciences 2(1), 2009, section 2. The text of the second was read; its displayed
//! formulas are lost in every copy at hand.
//!
//! ## Differences
//! 1. From the text: the list and its upkeep, r = 1 and d = 0 for a new flow, alpha = beta = 0.1, 10 packets for a slow
//!    flow, the certain drop, RED's values, that both thresholds rise for slow flows. Everything else here is our
//!    reconstruction, and a parameter: the page `docs/algorithms/sfred.md` gives the reasons and what each choice does.
//! 2. Fair rate: received packets by active flows. `fair_rate`, `throughput` and `active_flows` have the other readings.
//! 3. Margins are relative: constants of 0.1 that compare a flow with the average can be nothing else at every load.
//!    `fast_test` and `loss_test` have the absolute ones.
//! 4. The raised probability is linear in r_i/F, as the text argues from a throughput that is inversely proportional to
//!    the loss rate. By the square-root law it would be the square: `boost = "squared"`.
//! 5. The text never lets a count fall, so that a flow that has ended stays in A for ever. Here all counts are halved
//!    every `ageing_interval` seconds and flows below one packet leave the list; `ageing = "never"` is the letter, and
//!    the fair rate is then taken from the list (`fair_rate = "auto"`), as R knows more than the list remembers.
//! 6. "All the subsequent packets from the flow are dropped": until when, the text does not say. The raised probability
//!    itself lifts the loss rate of a fast TCP flow over the margin, and a flow that is condemned for good is dead. Here
//!    the test is made anew at each arrival; `release` has the others. Its state leaves RED's count alone.
//! 7. Slow flows share RED's count of packets since the last drop, which an average below their raised min_th resets.
//!    With `slow_count = "own"` they have one of their own.
//! 8. A list of N flows by hash and linked list, not searched one by one: a packet costs the same for every N. Halving
//!    costs N steps, once an interval, at the first arrival after it.
//! 9. d_i and D count every drop, also for want of room, and marks (`count_marks`).
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
//! // Of four packets one is flow 1's and three are flow 2's; the link takes three of the four.
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

use crate::catalogue::{AqmSpec, Built, Link};
use crate::early_detection::{params, Defaults, EarlyDetection, Settings, Spacing, SHARED};
use crate::params::{words, Kind, Param, ParamError, Unit, Value, Values, Word};
use crate::parts::curve::{probability, Linear};
use crate::parts::halving::Halving;
use crate::parts::losses;
use crate::parts::recent_flows::RecentFlows;
use crate::policy::{Context, Limit, Needs, Policy, QueueView, Reason, Room, Verdict};
use crate::red::{self, GENTLE};
use crate::Packet;

const COMMON: [Param; SHARED] =
    params(Defaults { min_th: 5.0, max_th: 15.0, max_p: 0.1, source: "Wang et al. 2009, section 3" });

const OURS: &str = "our reconstruction";

const fn choice(name: &'static str, words: &'static [&'static str], doc: &'static str) -> Param {
    let (kind, default) = (Kind::Choice(words), Value::Choice(words[0]));
    Param { name, symbol: "", unit: Unit::None, kind, default, source: OURS, doc }
}

const fn number(name: &'static str, symbol: &'static str, low: f64, default: f64, doc: &'static str) -> Param {
    let kind = Kind::Real { low, high: f64::INFINITY, open_low: false, open_high: true, auto: false };
    Param {
        name,
        symbol,
        unit: Unit::None,
        kind,
        default: Value::Real(default),
        source: "Wang et al. 2009, section 2",
        doc,
    }
}

const OWN: [Param; 18] = [
    Param {
        name: "list_size",
        symbol: "N",
        unit: Unit::None,
        kind: Kind::Whole { low: 1, high: 65_536 },
        default: Value::Whole(20),
        source: "our choice (the paper gives none)",
        doc: "Flows in the list of the most recently used.",
    },
    number("fast_margin", "\\alpha", 0.0, 0.1, "How far a flow must exceed the fair share to be fast."),
    number("loss_margin", "\\beta", 0.0, 0.1, "How far a fast flow's loss rate must exceed the average to condemn it."),
    number("slow_packets", "\\theta", 0.0, 10.0, "Packets up to which a flow without a drop is slow."),
    Param {
        name: "slow_bonus",
        symbol: "b",
        unit: Unit::QueueLength,
        kind: Kind::Real { low: 0.0, high: f64::INFINITY, open_low: false, open_high: true, auto: false },
        default: Value::Real(10.0),
        source: "our reading (the paper's symbol is lost; slow_packets may be meant)",
        doc: "By how much both thresholds are higher for slow flows.",
    },
    choice(
        "fair_rate",
        &["auto", "received", "accepted", "list"],
        "Fair share F: R/A, (R - D)/A, or the mean of r over the list; auto is received, and list if nothing ages.",
    ),
    choice("throughput", &["received", "accepted"], "A flow's throughput: r, or r - d."),
    choice("active_flows", &["list", "hits"], "A: the flows in the list, or these by the share of arrivals found in it."),
    Param {
        name: "hit_weight",
        symbol: "",
        unit: Unit::None,
        kind: Kind::Real { low: 0.0, high: 1.0, open_low: true, open_high: false, auto: false },
        default: Value::Real(0.001),
        source: "SRED (Ott, Lakshman, Wong 1999)",
        doc: "Weight of an arrival in that share.",
    },
    choice("fast_test", FastTest::WORDS, "Fast if T > (1 + alpha) F, T - F > alpha R, or T > F + alpha."),
    choice("boost", Boost::WORDS, "max_p of a fast flow is multiplied by T/F, its square, or 1 + T/F."),
    choice("loss_test", &["relative", "absolute"], "Condemned if l > (1 + beta) times the average loss, or l > average + beta."),
    choice("average_loss", &["all", "list"], "The average loss: D/R, or the sum of d by the sum of r over the list."),
    choice("slow_test", &["at_most", "below"], "Slow with r <= slow_packets, or with r < slow_packets."),
    choice("slow_count", &["shared", "own"], "Whether slow flows share RED's count of packets since the last drop."),
    choice("ageing", &["halve", "never"], "Whether all counts are halved every ageing_interval."),
    Param {
        name: "ageing_interval",
        symbol: "W",
        unit: Unit::Seconds,
        kind: Kind::Real { low: 0.1, high: 1e9, open_low: false, open_high: false, auto: false },
        default: Value::Real(5.0),
        source: OURS,
        doc: "Time between two halvings.",
    },
    choice(
        "release",
        Release::WORDS,
        "When a condemned flow is free again: as soon as the test fails, at the next halving, when it leaves the list, never.",
    ),
];

const COUNT_MARKS: [Param; 1] = [Param {
    name: "count_marks",
    symbol: "",
    unit: Unit::None,
    kind: Kind::Flag { auto: false },
    default: Value::Flag(true),
    source: "our choice (the paper has no ECN)",
    doc: "Whether a mark counts as a drop in d and D.",
}];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    name: "sfred",
    title: "SFRED",
    family: "flow-aware RED",
    year: 2006,
    summary: "Scalable fair RED: a list of the most recently seen flows tells fast, unresponsive and slow ones apart",
    source: "Lin, Zhou, Wang, Su: Scalable fair random early detection, WiCOM 2006; Wang, Lin, Zhou, Xie, Li, IJCNS 2(1), 2009",
    file: include_str!("sfred.rs"),
    params: &[&COMMON, &GENTLE, &OWN, &COUNT_MARKS],
    check: &|values, link| {
        red::read(values, &COMMON, link)?;
        Rules::read(values).map(|_| ())
    },
    build: &|values, link, _| Ok(Built::Policy(Box::new(Sfred::new(values, link)?))),
    curve: Some(&|values, link, average| {
        red::read(values, &COMMON, link).map_or(f64::NAN, |(set, curve)| probability(&curve, set.in_unit(average)))
    }),
};

words! {
    enum FairRate {
        Received = "received",
        Accepted = "accepted",
        List = "list",
    }
}

words! {
    enum FastTest {
        Relative = "relative",
        Share = "share",
        Absolute = "absolute",
    }
}

words! {
    enum Boost {
        Linear = "linear",
        Squared = "squared",
        OnePlus = "one_plus",
    }
}

words! {
    enum Release {
        EachArrival = "each_arrival",
        OnAgeing = "on_ageing",
        OnEviction = "on_eviction",
        Never = "never",
    }
}

/// What a flow is taken for at one arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kinds {
    Unresponsive,
    /// With the factor on max_p.
    Fast(f64),
    Slow,
    Plain,
}

/// Own settings after checking; the words of the parameters as switches.
#[derive(Clone, Copy, Debug)]
struct Rules {
    /// By how much the thresholds of a slow flow are higher, packets.
    slow_bonus: f64,
    fast_margin: f64,
    loss_margin: f64,
    slow_packets: f64,
    slow_below: bool,
    fair_rate: FairRate,
    accepted: bool,
    by_hits: bool,
    hit_weight: f64,
    fast_test: FastTest,
    boost: Boost,
    loss_absolute: bool,
    loss_of_list: bool,
    release: Release,
    count_marks: bool,
}

impl Rules {
    fn read(values: &Values) -> Result<Rules, ParamError> {
        let real = |name| values.real(&OWN, name);
        let word = |name| values.word(&OWN, name);
        let ages = word("ageing") == "halve";
        let release = values.choice(&OWN, "release");
        if release == Release::OnAgeing && !ages {
            let allowed = "another one: with ageing = \"never\" it never comes";
            return Err(ParamError::new("release", "on_ageing", allowed));
        }
        let slow_bonus = real("slow_bonus");
        if slow_bonus.is_nan() {
            return Err(ParamError::new("slow_bonus", "a length in bytes", "packets"));
        }
        Ok(Rules {
            slow_bonus,
            fast_margin: real("fast_margin"),
            loss_margin: real("loss_margin"),
            slow_packets: real("slow_packets"),
            slow_below: word("slow_test") == "below",
            fair_rate: match word("fair_rate") {
                "auto" if ages => FairRate::Received,
                "auto" => FairRate::List,
                _ => values.choice(&OWN, "fair_rate"),
            },
            accepted: word("throughput") == "accepted",
            by_hits: word("active_flows") == "hits",
            hit_weight: real("hit_weight"),
            fast_test: values.choice(&OWN, "fast_test"),
            boost: values.choice(&OWN, "boost"),
            loss_absolute: word("loss_test") == "absolute",
            loss_of_list: word("average_loss") == "list",
            release,
            count_marks: values.flag(&COUNT_MARKS, "count_marks"),
        })
    }
}

/// A flow in the list.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    received: f64,
    dropped: f64,
    condemned: bool,
}

/// Received and dropped packets together.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    received: f64,
    dropped: f64,
}

/// How many condemned flows are remembered outside the list with `release = "never"`; beyond, the oldest is forgotten.
const CONDEMNED: usize = 65_536;

/// The policy.
pub struct Sfred {
    core: EarlyDetection<Linear>,
    set: Settings,
    gentle: bool,
    slow: Linear,
    slow_spacing: Option<Spacing>,
    rules: Rules,
    list: RecentFlows<Flow>,
    condemned: RecentFlows<()>,
    all: Sum,
    listed: Sum,
    hit_rate: f64,
    halving: Option<Halving>,
    last: Kinds,
}

impl Sfred {
    fn new(values: &Values, link: &Link) -> Result<Self, ParamError> {
        let (set, curve) = red::read(values, &COMMON, link)?;
        let rules = Rules::read(values)?;
        let ages = values.word(&OWN, "ageing") == "halve";
        let halving = ages.then(|| Halving::every(values.real(&OWN, "ageing_interval")));
        let gentle = values.flag(&GENTLE, "gentle");
        let bonus = set.in_unit(rules.slow_bonus);
        let own_count = values.word(&OWN, "slow_count") == "own";
        Ok(Sfred {
            core: EarlyDetection::new(set, curve),
            set,
            gentle,
            slow: Linear::new(set.min_th + bonus, set.max_th + bonus, set.max_p, gentle),
            slow_spacing: own_count.then(|| Spacing::new(&set)),
            rules,
            list: RecentFlows::new(values.whole(&OWN, "list_size") as usize),
            condemned: RecentFlows::new(CONDEMNED),
            all: Sum::default(),
            listed: Sum::default(),
            hit_rate: 1.0,
            halving,
            last: Kinds::Plain,
        })
    }

    /// All counts shrink by `keep`; the sums over the list are formed anew.
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

    /// Counts an arrival of `flow`; its slot in the list.
    #[inline]
    fn count(&mut self, flow: u64) -> u32 {
        let seen = self.list.see(flow, Flow { received: 0.0, dropped: 0.0, condemned: false });
        if let Some(gone) = seen.evicted {
            self.listed.received -= gone.received;
            self.listed.dropped -= gone.dropped;
        }
        if !seen.known && self.rules.release == Release::Never {
            self.list.record_mut(seen.slot).condemned = self.condemned.find(flow).is_some();
        }
        self.list.record_mut(seen.slot).received += 1.0;
        self.listed.received += 1.0;
        self.all.received += 1.0;
        self.hit_rate += self.rules.hit_weight * (f64::from(u8::from(seen.known)) - self.hit_rate);
        seen.slot
    }

    /// A: the flows in the list. With `active_flows = "hits"` by the share of arrivals that the list knew: of n flows
    /// with equal rates a list of N knows the share N/n, whichever N of them it holds.
    #[inline]
    fn active_flows(&self) -> f64 {
        let listed = self.list.len() as f64;
        if self.rules.by_hits && self.hit_rate > 0.0 {
            listed / self.hit_rate
        } else {
            listed
        }
    }

    #[inline]
    fn fair_rate(&self) -> f64 {
        match self.rules.fair_rate {
            FairRate::Received => self.all.received / self.active_flows(),
            FairRate::Accepted => (self.all.received - self.all.dropped) / self.active_flows(),
            FairRate::List => self.listed.received / self.list.len() as f64,
        }
    }

    #[inline]
    fn average_loss(&self) -> f64 {
        let sum = if self.rules.loss_of_list { self.listed } else { self.all };
        if sum.received > 0.0 {
            sum.dropped / sum.received
        } else {
            0.0
        }
    }

    #[inline]
    fn classify(&mut self, flow: u64, slot: u32) -> Kinds {
        let Flow { received, dropped, condemned } = *self.list.record(slot);
        if condemned {
            return Kinds::Unresponsive;
        }
        let rules = &self.rules;
        let throughput = if rules.accepted { received - dropped } else { received };
        let fair = self.fair_rate();
        let fast = fair > 0.0
            && match rules.fast_test {
                FastTest::Relative => throughput > (1.0 + rules.fast_margin) * fair,
                FastTest::Share => throughput - fair > rules.fast_margin * self.all.received,
                FastTest::Absolute => throughput > fair + rules.fast_margin,
            };
        if !fast {
            let few = if rules.slow_below { received < rules.slow_packets } else { received <= rules.slow_packets };
            return if few && dropped == 0.0 { Kinds::Slow } else { Kinds::Plain };
        }
        let (loss, average) = (dropped / received, self.average_loss());
        let beyond =
            if rules.loss_absolute { average + rules.loss_margin } else { (1.0 + rules.loss_margin) * average };
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

    /// Counts what `verdict` costs.
    #[inline]
    fn settle(&mut self, verdict: Verdict, packet: &Packet, queue: &QueueView<'_>, cx: &Context<'_>) {
        losses::charge(verdict, packet, queue, cx, self.rules.count_marks, |flow, _| {
            self.all.dropped += 1.0;
            if let Some(slot) = self.list.find(flow) {
                self.list.record_mut(slot).dropped += 1.0;
                self.listed.dropped += 1.0;
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
        let slot = self.count(packet.flow);
        let average = self.core.observe(queue, cx.now);
        self.last = self.classify(packet.flow, slot);
        let verdict = match self.last {
            Kinds::Unresponsive => Verdict::Drop(Reason::Forced),
            Kinds::Fast(factor) => {
                let max_p = (self.set.max_p * factor).min(1.0);
                let raised = Linear::new(self.set.min_th, self.set.max_th, max_p, self.gentle);
                self.core.decide_on(&raised, average, packet, queue, cx)
            }
            Kinds::Slow => match &mut self.slow_spacing {
                Some(own) => own.decide(&self.slow, average, packet, self.set.length(queue), cx),
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
        // A condemned flow gets no place, even where another packet would give way (ns-2's front and random victims).
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
mod tests {
    use super::*;
    use crate::random::Generator;
    use crate::ring::Ring;
    use crate::{Ecn, Time};
    use Kinds::{Fast, Plain, Slow, Unresponsive};

    const LINK: Link = Link { rate_bps: 1.5e6, delay_s: 0.01 };

    fn chosen(pairs: &[(&'static str, Value)]) -> Values {
        let mut values = Values::new();
        for &(name, value) in pairs {
            assert!(SPEC.param(name).is_some_and(|param| param.allows(value)), "{name}");
            values.set(name, value);
        }
        values
    }

    fn word(name: &'static str, word: &'static str) -> (&'static str, Value) {
        (name, Value::Choice(word))
    }

    fn sfred(pairs: &[(&'static str, Value)]) -> Sfred {
        Sfred::new(&chosen(pairs), &LINK).unwrap()
    }

    /// Packets of `flow` that find `waiting` packets at a busy link at `now`; the last verdict. Every draw is `draw`.
    fn arrive(sfred: &mut Sfred, now: f64, flow: u64, times: u32, waiting: u64, draw: f64) -> Verdict {
        let mut random = Generator::custom(move || draw);
        let queue = QueueView { packets: waiting, bytes: waiting * 1000, idle_since: None, contents: None };
        let mut verdict = Verdict::Pass;
        for _ in 0..times {
            let mut victims = Vec::new();
            let now = Time::from_seconds(now);
            let mut cx =
                Context { now, ecn: false, has_room: waiting < 50, random: &mut random, victims: &mut victims };
            verdict = sfred.on_enqueue(&Packet::new(flow, 1000), &queue, &mut cx);
            if waiting >= 50 {
                verdict = sfred.on_overflow(verdict, &Packet::new(flow, 1000), &queue, &mut cx);
            }
        }
        verdict
    }

    fn flow(sfred: &Sfred, flow: u64) -> Option<(f64, f64)> {
        sfred.list.find(flow).map(|slot| (sfred.list.record(slot).received, sfred.list.record(slot).dropped))
    }

    #[test]
    fn ten_packets_without_a_drop_are_slow_and_eleven_are_not() {
        for (rule, last_slow) in [("at_most", 10), ("below", 9)] {
            let mut queue = sfred(&[word("slow_test", rule)]);
            for i in 1..=12 {
                // One flow alone has exactly the fair share.
                arrive(&mut queue, 0.0, 1, 1, 0, 1.0);
                assert_eq!(queue.last, if i <= last_slow { Slow } else { Plain }, "{rule}, packet {i}");
            }
        }
        let mut queue = sfred(&[]);
        arrive(&mut queue, 0.0, 1, 2, 0, 1.0);
        arrive(&mut queue, 0.0, 2, 3, 50, 1.0);
        arrive(&mut queue, 0.0, 3, 4, 0, 1.0);
        arrive(&mut queue, 0.0, 2, 1, 0, 1.0);
        assert_ne!(queue.last, Slow, "it has lost three packets");
    }

    #[test]
    fn fast_begins_above_eleven_tenths_of_the_fair_share() {
        // 21 flows' worth of packets in a list of two: with r packets of flow 1 and s of flow 2, F = (r + s)/2.
        let last = |alpha: f64, r: u32, s: u32, test: &'static str| {
            let mut queue = sfred(&[("fast_margin", Value::Real(alpha)), word("fast_test", test)]);
            arrive(&mut queue, 0.0, 2, s, 0, 1.0);
            arrive(&mut queue, 0.0, 1, r, 0, 1.0);
            queue.last
        };
        // 0.25 and 0.5 are exact in binary: r = 5, s = 3 gives F = 4 and a limit of exactly 5.
        assert_eq!(last(0.25, 5, 3, "relative"), Slow, "exactly at the limit");
        assert_eq!(last(0.25, 6, 3, "relative"), Fast(6.0 / 4.5));
        assert_eq!(last(0.25, 50, 31, "relative"), Plain, "50 < 50.6");
        assert_eq!(last(0.25, 50, 30, "relative"), Plain, "exactly 50");
        assert_eq!(last(0.25, 51, 30, "relative"), Fast(51.0 / 40.5));
        // The default: 55 of 100 is the limit, which 1.1 times 50 passes by a rounding error upwards.
        assert_eq!(last(0.1, 55, 45, "relative"), Plain);
        assert_eq!(last(0.1, 56, 45, "relative"), Fast(56.0 / 50.5));
        // T - F > alpha R: 0.25 of 80 is 20.
        assert_eq!(last(0.25, 60, 20, "share"), Plain);
        assert_eq!(last(0.25, 61, 20, "share"), Fast(61.0 / 40.5));
        // T > F + alpha.
        assert_eq!(last(0.5, 41, 40, "absolute"), Plain, "41 = 40.5 + 0.5");
        assert_eq!(last(0.5, 42, 40, "absolute"), Fast(42.0 / 41.0));
    }

    #[test]
    fn boosts_are_linear_squared_and_one_more() {
        for (boost, factor) in [("linear", 1.5), ("squared", 2.25), ("one_plus", 2.5)] {
            let mut queue = sfred(&[word("boost", boost)]);
            arrive(&mut queue, 0.0, 2, 10, 0, 1.0);
            arrive(&mut queue, 0.0, 1, 30, 0, 1.0);
            assert_eq!(queue.last, Fast(factor));
            // avg 10 between 5 and 15 with w_q 1: half of max_p, on the raised line.
            let mut values = chosen(&[word("boost", boost), ("w_q", Value::Real(1.0))]);
            for (max_p, p_b) in [(0.1, 0.05 * factor), (0.9, 0.5)] {
                values.set("max_p", Value::Real(max_p));
                let mut queue = Sfred::new(&values, &LINK).unwrap();
                arrive(&mut queue, 0.0, 2, 10, 0, 1.0);
                arrive(&mut queue, 0.0, 1, 29, 0, 1.0);
                assert_eq!(arrive(&mut queue, 0.0, 1, 1, 10, 1.0), Verdict::Pass);
                let mut found = 0.0;
                queue.gauges(&mut |name, value| found = if name == "p_b" { value } else { found });
                assert!((found - p_b).abs() < 1e-12, "{boost}: {found} not {p_b}; max_p is at most 1");
            }
        }
    }

    /// Both sides of each limit of the unresponsive test.
    #[test]
    fn unresponsive_is_a_fast_flow_that_loses_more_than_the_average() {
        let with = |more: &[(&'static str, Value)], lost: [f64; 2]| {
            let mut pairs = vec![("loss_margin", Value::Real(0.25))];
            pairs.extend_from_slice(more);
            let mut queue = sfred(&pairs);
            for (flow, received, dropped) in [(2, 20.0, lost[1]), (1, 59.0, lost[0])] {
                queue.list.see(flow, Flow { received, dropped, condemned: false });
                queue.all.received += received;
                queue.all.dropped += dropped;
            }
            arrive(&mut queue, 0.0, 1, 1, 0, 1.0);
            queue.last
        };
        // 60 and 20 packets. Losses of 15 and 1: 15/60 = 0.25 against 1.25 * 16/80 = 0.25.
        assert_eq!(with(&[], [15.0, 1.0]), Fast(1.5), "exactly at the limit");
        assert_eq!(with(&[], [15.0, 0.0]), Unresponsive, "0.25 > 1.25 * 0.1875");
        assert_eq!(with(&[], [15.0, 2.0]), Fast(1.5));
        assert_eq!(with(&[], [0.0, 0.0]), Fast(1.5), "no loss at all");
        // 30/60 = 0.5 against 0.375 + 0.25 and, relative, 1.25 * 0.375.
        assert_eq!(with(&[], [30.0, 0.0]), Unresponsive);
        assert_eq!(with(&[word("loss_test", "absolute")], [30.0, 0.0]), Fast(1.5));
        let strict = [word("loss_test", "absolute"), ("loss_margin", Value::Real(0.125))];
        assert_eq!(with(&strict, [30.0, 0.0]), Fast(1.5), "exactly at the limit, 0.5 = 0.375 + 0.125");
        assert_eq!(with(&strict, [31.0, 0.0]), Unresponsive);
    }

    #[test]
    fn the_flow_at_the_end_gives_way_and_is_new_when_it_returns() {
        let mut queue = sfred(&[("list_size", Value::Whole(2))]);
        arrive(&mut queue, 0.0, 1, 20, 0, 1.0);
        arrive(&mut queue, 0.0, 2, 3, 0, 1.0);
        assert_eq!((flow(&queue, 1), flow(&queue, 2)), (Some((20.0, 0.0)), Some((3.0, 0.0))));
        arrive(&mut queue, 0.0, 3, 1, 0, 1.0);
        assert_eq!(flow(&queue, 1), None);
        assert_eq!((queue.all.received, queue.listed.received, queue.active_flows()), (24.0, 4.0, 2.0));
        arrive(&mut queue, 0.0, 1, 1, 50, 1.0);
        assert_eq!(flow(&queue, 1), Some((1.0, 1.0)));
        assert_eq!((queue.all.dropped, queue.listed.dropped), (1.0, 1.0));
    }

    #[test]
    fn counts_are_halved_every_interval_and_flows_below_one_packet_leave() {
        let mut queue = sfred(&[("ageing_interval", Value::Real(2.0))]);
        arrive(&mut queue, 0.0, 1, 8, 0, 1.0);
        arrive(&mut queue, 0.0, 1, 4, 50, 1.0);
        arrive(&mut queue, 1.999, 2, 1, 0, 1.0);
        assert_eq!((flow(&queue, 1), flow(&queue, 2)), (Some((12.0, 4.0)), Some((1.0, 0.0))));
        arrive(&mut queue, 2.0, 3, 1, 0, 1.0);
        assert_eq!((flow(&queue, 1), flow(&queue, 2), flow(&queue, 3)), (Some((6.0, 2.0)), None, Some((1.0, 0.0))));
        assert_eq!((queue.all.received, queue.all.dropped, queue.listed.received), (7.5, 2.0, 7.0));
        // At 4, 6 and 8 s nothing arrives: three halvings at once, 6 to 0.75.
        arrive(&mut queue, 9.0, 4, 1, 0, 1.0);
        assert_eq!((flow(&queue, 1), flow(&queue, 3), queue.all.received), (None, None, 7.5 / 8.0 + 1.0));
        arrive(&mut queue, 10.0, 4, 1, 0, 1.0);
        assert_eq!(flow(&queue, 4), Some((1.0, 0.0)), "the next one is due at 10 s: 1 to 0.5, and it was new again");
        let mut never = sfred(&[word("ageing", "never")]);
        arrive(&mut never, 0.0, 1, 8, 0, 1.0);
        arrive(&mut never, 1e6, 1, 1, 0, 1.0);
        assert_eq!(flow(&never, 1), Some((9.0, 0.0)));
    }

    #[test]
    fn a_long_silence_empties_the_list_and_leaves_no_nan() {
        let mut queue = sfred(&[]);
        arrive(&mut queue, 0.0, 1, 30, 50, 1.0);
        arrive(&mut queue, 1e12, 1, 1, 0, 1.0);
        assert_eq!((flow(&queue, 1), queue.last), (Some((1.0, 0.0)), Slow));
        let mut seen = 0;
        queue.gauges(&mut |name, value| {
            assert!(value.is_finite(), "{name} = {value}");
            seen += 1;
        });
        assert_eq!(seen, 9);
    }

    /// A fast flow that has lost much is condemned; then another flow catches up, so that it is fast no more.
    #[test]
    fn releases_come_when_they_are_said_to() {
        let after = |release: &'static str| {
            let mut queue = sfred(&[word("release", release), ("list_size", Value::Whole(2))]);
            arrive(&mut queue, 0.0, 2, 20, 0, 1.0);
            arrive(&mut queue, 0.0, 1, 30, 0, 1.0);
            assert_eq!(queue.last, Fast(1.2));
            // The first drop is for want of room, the second because of it.
            arrive(&mut queue, 0.0, 1, 1, 50, 1.0);
            assert_eq!(arrive(&mut queue, 0.0, 1, 1, 0, 1.0), Verdict::Drop(Reason::Forced));
            assert_eq!(flow(&queue, 1), Some((32.0, 2.0)));
            arrive(&mut queue, 0.0, 2, 40, 0, 1.0);
            let mut condemned = Vec::new();
            arrive(&mut queue, 0.0, 1, 1, 0, 1.0);
            condemned.push(queue.last == Unresponsive);
            arrive(&mut queue, 5.0, 1, 1, 0, 1.0);
            condemned.push(queue.last == Unresponsive);
            arrive(&mut queue, 5.0, 3, 1, 0, 1.0);
            arrive(&mut queue, 5.0, 4, 1, 0, 1.0);
            arrive(&mut queue, 5.0, 1, 1, 0, 1.0);
            condemned.push(queue.last == Unresponsive);
            condemned
        };
        assert_eq!(after("each_arrival"), [false, false, false]);
        assert_eq!(after("on_ageing"), [true, false, false]);
        assert_eq!(after("on_eviction"), [true, true, false]);
        assert_eq!(after("never"), [true, true, true]);
    }

    #[test]
    fn slow_flows_meet_thresholds_higher_by_the_bonus() {
        // w_q = 1: the average is the queue found. A draw of 1e-9 hits wherever there is a chance but a rounding error.
        let pairs = [("w_q", Value::Real(1.0)), ("slow_bonus", Value::Real(7.0))];
        for (waiting, slow, plain) in [
            (5, Verdict::Pass, Verdict::Pass),
            (6, Verdict::Pass, Verdict::Signal(Reason::Early)),
            (12, Verdict::Pass, Verdict::Signal(Reason::Early)),
            (13, Verdict::Signal(Reason::Early), Verdict::Signal(Reason::Early)),
            (15, Verdict::Signal(Reason::Early), Verdict::Drop(Reason::Forced)),
            (21, Verdict::Signal(Reason::Early), Verdict::Drop(Reason::Forced)),
            (22, Verdict::Drop(Reason::Forced), Verdict::Drop(Reason::Forced)),
        ] {
            let mut queue = sfred(&pairs);
            assert_eq!(arrive(&mut queue, 0.0, 1, 1, waiting, 1e-9), slow, "{waiting}, slow");
            let mut queue = sfred(&pairs);
            arrive(&mut queue, 0.0, 1, 11, 0, 1.0);
            assert_eq!(arrive(&mut queue, 0.0, 1, 1, waiting, 1e-9), plain, "{waiting}, plain");
        }
    }

    /// A slow flow's packet below its own min_th starts the shared count again; a count of its own leaves it alone.
    #[test]
    fn slow_flows_share_the_count_unless_they_have_their_own() {
        for (rule, count) in [("shared", 0), ("own", 3)] {
            let mut queue = sfred(&[word("slow_count", rule), ("w_q", Value::Real(1.0))]);
            for (other, times) in [(1, 11), (2, 11)] {
                arrive(&mut queue, 0.0, other, times, 0, 1.0);
            }
            let mut random = Vec::new();
            for flow in [1, 2, 1, 3, 2] {
                arrive(&mut queue, 0.0, flow, 1, 8, 1.0);
                queue.gauges(&mut |name, value| {
                    if name == "count" {
                        random.push(value);
                    }
                });
            }
            assert_eq!(random, [0.0, 1.0, 2.0, if rule == "own" { 2.0 } else { -1.0 }, f64::from(count)], "{rule}");
        }
    }

    #[test]
    fn fair_rates_follow_their_definitions() {
        let fair = |pairs: &[(&'static str, Value)]| {
            let mut all = vec![("list_size", Value::Whole(2))];
            all.extend_from_slice(pairs);
            let mut queue = sfred(&all);
            for flow in [1, 2, 3] {
                arrive(&mut queue, 0.0, flow, 8 * flow as u32, 0, 1.0);
                arrive(&mut queue, 0.0, flow, 2, 50, 1.0);
            }
            (queue.fair_rate(), queue.average_loss())
        };
        // 10, 18 and 26 packets, of which 2 each are lost; flow 1 has left the list.
        assert_eq!(fair(&[word("fair_rate", "received")]), (27.0, 6.0 / 54.0));
        assert_eq!(fair(&[]), (27.0, 6.0 / 54.0));
        assert_eq!(fair(&[word("fair_rate", "accepted")]), (24.0, 6.0 / 54.0));
        assert_eq!(fair(&[word("fair_rate", "list"), word("average_loss", "list")]), (22.0, 4.0 / 44.0));
        assert_eq!(fair(&[word("ageing", "never")]), (22.0, 6.0 / 54.0));
    }

    /// Forty equal flows and a list of ten: the list's length says ten, the share of hits forty.
    #[test]
    fn hits_count_more_flows_than_the_list_holds() {
        let mut queue = sfred(&[("list_size", Value::Whole(10)), word("active_flows", "hits")]);
        let mut numbers = Generator::stream(1, "flows");
        let mut sum = 0.0;
        for i in 0..60_000 {
            arrive(&mut queue, 0.0, (numbers.uniform() * 40.0) as u64, 1, 0, 1.0);
            if i >= 20_000 {
                sum += queue.hit_rate;
            }
        }
        // The share is 0.25; its mean over 40,000 arrivals strays by sqrt(0.25 * 0.75/40,000) = 0.0022, and 4.5 times
        // that is a false alarm once in 150,000 seeds.
        let active = 10.0 / (sum / 40_000.0);
        assert!((active - 40.0).abs() < 1.6, "{active}");
        assert_eq!(queue.list.len(), 10);
    }

    #[test]
    fn marks_count_as_drops_unless_told_otherwise() {
        for (marks, dropped) in [(true, 1.0), (false, 0.0)] {
            let mut queue = sfred(&[("w_q", Value::Real(1.0)), ("count_marks", Value::Flag(marks))]);
            let (mut random, mut victims) = (Generator::custom(|| 0.0), Vec::new());
            let mut cx =
                Context { now: Time::ZERO, ecn: true, has_room: true, random: &mut random, victims: &mut victims };
            let view = QueueView { packets: 20, bytes: 20_000, idle_since: None, contents: None };
            let ect = Packet { ecn: Ecn::Ect0, ..Packet::new(1, 1000) };
            assert_eq!(queue.on_enqueue(&ect, &view, &mut cx), Verdict::Signal(Reason::Early));
            assert_eq!(flow(&queue, 1), Some((1.0, dropped)));
        }
    }

    /// A full queue where a queued packet gives way: its flow is charged, not the arrival's. A condemned flow gets no
    /// place that way.
    #[test]
    fn the_victim_of_an_overflow_is_charged() {
        let mut queue = sfred(&[word("overflow_victim", "front"), word("dialect", "ns2")]);
        let mut ring = Ring::new();
        for flow in [7, 8] {
            ring.push(Packet::new(flow, 1000));
            arrive(&mut queue, 0.0, flow, 1, 0, 1.0);
        }
        let offer = |queue: &mut Sfred, flow| {
            let (mut random, mut victims) = (Generator::custom(|| 1.0), Vec::new());
            let mut cx =
                Context { now: Time::ZERO, ecn: false, has_room: false, random: &mut random, victims: &mut victims };
            let view = QueueView { packets: 2, bytes: 2000, idle_since: None, contents: Some(&ring) };
            let earlier = queue.on_enqueue(&Packet::new(flow, 1000), &view, &mut cx);
            queue.on_overflow(earlier, &Packet::new(flow, 1000), &view, &mut cx)
        };
        assert!(matches!(offer(&mut queue, 9), Verdict::Victims { with_arrival: false, .. }));
        assert_eq!(
            (flow(&queue, 7), flow(&queue, 8), flow(&queue, 9)),
            (Some((1.0, 1.0)), Some((1.0, 0.0)), Some((1.0, 0.0)))
        );
        assert_eq!(queue.all.dropped, 1.0);
        for _ in 0..20 {
            offer(&mut queue, 9);
        }
        queue.list.record_mut(queue.list.find(9).unwrap()).condemned = true;
        let before = flow(&queue, 7).unwrap().1;
        assert_eq!(offer(&mut queue, 9), Verdict::Drop(Reason::Forced));
        assert_eq!((flow(&queue, 7).unwrap().1, flow(&queue, 9).unwrap().1), (before, 1.0));
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let error = |pairs: &[(&'static str, Value)]| Sfred::new(&chosen(pairs), &LINK).err().map(|e| e.name);
        assert_eq!(error(&[word("release", "on_ageing"), word("ageing", "never")]), Some("release"));
        assert_eq!(error(&[("slow_bonus", Value::QueueBytes(1000.0))]), Some("slow_bonus"));
        assert_eq!(error(&[word("dialect", "linux"), ("gentle", Value::Flag(true))]), Some("gentle"));
        assert_eq!(error(&[]), None);
    }
}
