//! SFRED written down slowly a second time and held against the catalogue's, arrival by arrival.
//!
//! The oracle follows the words of Wang et al. 2009, section 2, in the order in which they come, with the formulas of
//! `docs/algorithms/sfred.md` in place of the lost ones. Its list is a plain vector that is searched from the front,
//! its queue a list of all transmissions there ever were, its RED the figure of 1993. It shares no code with the crate;
//! only comparisons that can end in a tie are written with the same arithmetic (`T > (1 + alpha) F`), since 11 packets
//! against a fair share of 10 are one.
//!
//! Each rule of the oracle is then broken in turn (`Slip`), and each reading replaced by its alternatives: the
//! comparison must notice every one of them.

use crate::common::{gauge, queue, OpenLoop};
use earlydrop_aqm::prelude::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const RATE_BPS: f64 = 1.5e6;

/// Knuth's MMIX generator: for both sides the same numbers, and nobody else's.
#[derive(Clone)]
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / 9_007_199_254_740_992.0
    }
}

/// One way to read the text.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reading {
    list_size: usize,
    fair_rate: &'static str,
    throughput: &'static str,
    active_flows: &'static str,
    fast_test: &'static str,
    boost: &'static str,
    loss_test: &'static str,
    average_loss: &'static str,
    slow_test: &'static str,
    slow_count: &'static str,
    ageing: &'static str,
    interval: f64,
    release: &'static str,
    fast_margin: f64,
    loss_margin: f64,
    slow_packets: f64,
    slow_bonus: f64,
    max_p: f64,
    w_q: f64,
    limit: u64,
}

const DEFAULT: Reading = Reading {
    list_size: 20,
    fair_rate: "auto",
    throughput: "received",
    active_flows: "list",
    fast_test: "relative",
    boost: "linear",
    loss_test: "relative",
    average_loss: "all",
    slow_test: "at_most",
    slow_count: "shared",
    ageing: "halve",
    interval: 5.0,
    release: "each_arrival",
    fast_margin: 0.1,
    loss_margin: 0.1,
    slow_packets: 10.0,
    slow_bonus: 10.0,
    max_p: 0.1,
    w_q: 0.002,
    limit: 50,
};

/// A rule of the oracle that is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slip {
    Unbroken,
    /// A flow that is found stays where it is.
    StaysInPlace,
    /// A new flow has 0 packets, not 1.
    NewFlowHasNone,
    /// A full list takes nobody in.
    FullListIsClosed,
    /// The second flow leaves a full list, not the last.
    SecondLeaves,
    /// R leaves out the first packet of a flow.
    NewFlowNotInTotal,
    /// The average moves only when RED is asked.
    CondemnedNotAveraged,
    /// A is N, not the flows there are.
    ActiveIsListSize,
    /// A flow is fast above the fair share itself.
    NoFastMargin,
    /// Fast with at least the limit.
    FastAtTheLimit,
    /// No raised probability.
    NoBoost,
    /// The raised max_p may pass 1.
    BoostNotCapped,
    /// Flows that lose more than the average at all are condemned.
    NoLossMargin,
    /// Slow flows can be condemned too.
    SlowCondemned,
    /// A condemned flow meets RED with the raised probability.
    CondemnedAsFast,
    /// A condemned packet starts RED's count anew.
    CondemnedRestartsCount,
    /// Slow is asked before fast.
    SlowFirst,
    /// A flow that has lost packets is slow too.
    SlowWithDrops,
    /// Slow up to 11 packets.
    SlowUpToEleven,
    /// Only min_th is higher for slow flows.
    OnlyMinThRaised,
    /// Only max_th is higher for slow flows.
    OnlyMaxThRaised,
    /// Certain drops do not count in d_i and D.
    CertainDropsNotCounted,
    /// Drops for want of room do not count in d_i and D.
    OverflowNotCounted,
    /// D stands still.
    TotalDropsNotCounted,
    /// Nothing is ever halved.
    NeverHalved,
    /// r_i and d_i are halved, R and D not.
    TotalsNotHalved,
    /// d_i is not halved.
    DropsNotHalved,
    /// Flows below one packet stay in the list.
    NobodyLeavesByAge,
    /// Flows at exactly one packet leave too.
    OnePacketLeaves,
}

const SLIPS: [Slip; 28] = {
    use Slip::*;
    [
        StaysInPlace,
        NewFlowHasNone,
        FullListIsClosed,
        SecondLeaves,
        NewFlowNotInTotal,
        CondemnedNotAveraged,
        ActiveIsListSize,
        NoFastMargin,
        FastAtTheLimit,
        NoBoost,
        BoostNotCapped,
        NoLossMargin,
        SlowCondemned,
        CondemnedAsFast,
        CondemnedRestartsCount,
        SlowFirst,
        SlowWithDrops,
        SlowUpToEleven,
        OnlyMinThRaised,
        OnlyMaxThRaised,
        CertainDropsNotCounted,
        OverflowNotCounted,
        TotalDropsNotCounted,
        NeverHalved,
        TotalsNotHalved,
        DropsNotHalved,
        NobodyLeavesByAge,
        OnePacketLeaves,
    ]
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Queued,
    Early,
    Forced,
    Overflow,
}

/// One entry of the list.
struct Entry {
    flow: u64,
    r: f64,
    d: f64,
    condemned: bool,
}

struct Oracle {
    read: Reading,
    slip: Slip,
    numbers: Numbers,
    mrul: Vec<Entry>,
    received: f64,
    dropped: f64,
    known_share: f64,
    next_halving: f64,
    condemned_for_good: Vec<u64>,
    avg: f64,
    count: i64,
    count_of_slow: i64,
    q_time: f64,
    transmissions: Vec<(f64, f64)>,
}

impl Oracle {
    fn new(read: Reading, slip: Slip, numbers: Numbers) -> Self {
        Oracle {
            read,
            slip,
            numbers,
            mrul: Vec::new(),
            received: 0.0,
            dropped: 0.0,
            known_share: 1.0,
            next_halving: read.interval,
            condemned_for_good: Vec::new(),
            avg: 0.0,
            count: -1,
            count_of_slow: -1,
            q_time: 0.0,
            transmissions: Vec::new(),
        }
    }

    fn halve(&mut self, time: f64) {
        while self.read.ageing == "halve" && time >= self.next_halving {
            self.next_halving += self.read.interval;
            if self.slip == Slip::NeverHalved {
                continue;
            }
            if self.slip != Slip::TotalsNotHalved {
                self.received /= 2.0;
                self.dropped /= 2.0;
            }
            for entry in &mut self.mrul {
                entry.r /= 2.0;
                if self.slip != Slip::DropsNotHalved {
                    entry.d /= 2.0;
                }
                if self.read.release == "on_ageing" {
                    entry.condemned = false;
                }
            }
            match self.slip {
                Slip::NobodyLeavesByAge => {}
                Slip::OnePacketLeaves => self.mrul.retain(|entry| entry.r > 1.0),
                _ => self.mrul.retain(|entry| entry.r >= 1.0),
            }
        }
    }

    /// "Upon receiving a packet, SFRED searches the list ...": the place of the flow afterwards.
    fn look_up(&mut self, flow: u64) -> usize {
        let found = self.mrul.iter().position(|entry| entry.flow == flow);
        let known = if found.is_some() { 1.0 } else { 0.0 };
        self.known_share += 0.001 * (known - self.known_share);
        match found {
            Some(at) => {
                self.received += 1.0;
                self.mrul[at].r += 1.0;
                if self.slip == Slip::StaysInPlace {
                    return at;
                }
                let entry = self.mrul.remove(at);
                self.mrul.insert(0, entry);
                0
            }
            None => {
                if self.slip != Slip::NewFlowNotInTotal {
                    self.received += 1.0;
                }
                if self.mrul.len() == self.read.list_size {
                    match self.slip {
                        Slip::FullListIsClosed => return usize::MAX,
                        Slip::SecondLeaves if self.mrul.len() > 1 => drop(self.mrul.remove(1)),
                        _ => drop(self.mrul.pop()),
                    }
                }
                let r = if self.slip == Slip::NewFlowHasNone { 0.0 } else { 1.0 };
                let condemned = self.condemned_for_good.contains(&flow);
                self.mrul.insert(0, Entry { flow, r, d: 0.0, condemned });
                0
            }
        }
    }

    fn listed(&self) -> (f64, f64) {
        (self.mrul.iter().map(|entry| entry.r).sum(), self.mrul.iter().map(|entry| entry.d).sum())
    }

    /// "Moves" the average: RED's first step, with its own queue.
    fn average(&mut self, time: f64, waiting: usize, link_free_at: f64) {
        if link_free_at > time {
            self.avg = (1.0 - self.read.w_q) * self.avg + self.read.w_q * waiting as f64;
        } else {
            let m = ((time - self.q_time.max(link_free_at)) * RATE_BPS / 4000.0).floor();
            for _ in 0..m as u64 {
                self.avg *= 1.0 - self.read.w_q;
            }
            self.q_time = self.q_time.max(link_free_at) + m * 4000.0 / RATE_BPS;
        }
    }

    /// RED's second step, with thresholds and max_p of this packet.
    fn red(&mut self, min_th: f64, max_th: f64, max_p: f64, slow: bool) -> Outcome {
        let own = slow && self.read.slow_count == "own";
        let mut count = if own { self.count_of_slow } else { self.count };
        let mut outcome = Outcome::Queued;
        if min_th <= self.avg && self.avg < max_th {
            count += 1;
            let p_b = (max_p * (self.avg - min_th) / (max_th - min_th)).min(1.0);
            let left = 1.0 - count as f64 * p_b;
            let p_a = if left > 0.0 { p_b / left } else { 1.0 };
            if self.numbers.next() <= p_a && p_b > 0.0 {
                count = 0;
                outcome = Outcome::Early;
            }
        } else if max_th <= self.avg {
            count = 0;
            outcome = Outcome::Forced;
        } else {
            count = -1;
        }
        if own {
            self.count_of_slow = count;
        } else {
            self.count = count;
        }
        outcome
    }

    fn arrival(&mut self, time: f64, flow: u64) -> Outcome {
        let waiting = self.transmissions.iter().filter(|t| t.0 > time).count();
        let link_free_at = self.transmissions.iter().map(|t| t.1).fold(0.0, f64::max);
        self.halve(time);
        let at = self.look_up(flow);
        let nobody = Entry { flow, r: 1.0, d: 0.0, condemned: false };
        let entry = self.mrul.get(at).unwrap_or(&nobody);
        let (r, d, condemned) = (entry.r, entry.d, entry.condemned);
        let Reading { fast_margin, loss_margin, slow_packets, slow_bonus, max_p, .. } = self.read;
        let (listed_r, listed_d) = self.listed();

        // 2.2: the fair rate, the throughput, the test
        let mut active = self.mrul.len() as f64;
        if self.read.active_flows == "hits" {
            active /= self.known_share;
        }
        if self.slip == Slip::ActiveIsListSize {
            active = self.read.list_size as f64;
        }
        let fair = match (self.read.fair_rate, self.read.ageing) {
            ("accepted", _) => (self.received - self.dropped) / active,
            ("list", _) | ("auto", "never") => listed_r / self.mrul.len() as f64,
            _ => self.received / active,
        };
        let throughput = if self.read.throughput == "accepted" { r - d } else { r };
        let fast = fair > 0.0
            && match (self.read.fast_test, self.slip) {
                (_, Slip::NoFastMargin) => throughput > fair,
                ("share", _) => throughput - fair > fast_margin * self.received,
                ("absolute", _) => throughput > fair + fast_margin,
                (_, Slip::FastAtTheLimit) => throughput >= (1.0 + fast_margin) * fair,
                _ => throughput > (1.0 + fast_margin) * fair,
            };

        // 2.3: the loss rates, the test
        let (all_r, all_d) =
            if self.read.average_loss == "list" { (listed_r, listed_d) } else { (self.received, self.dropped) };
        let average = if all_r > 0.0 { all_d / all_r } else { 0.0 };
        let loses_more = average > 0.0
            && match (self.read.loss_test, self.slip) {
                (_, Slip::NoLossMargin) => d / r > average,
                ("absolute", _) => d / r > average + loss_margin,
                _ => d / r > (1.0 + loss_margin) * average,
            };
        let unresponsive = condemned || (fast || self.slip == Slip::SlowCondemned) && loses_more;
        if unresponsive && self.read.release != "each_arrival" {
            if let Some(entry) = self.mrul.get_mut(at) {
                entry.condemned = true;
            }
            if self.read.release == "never" && !self.condemned_for_good.contains(&flow) {
                self.condemned_for_good.push(flow);
            }
        }

        // 2.4: the slow flows
        let most = if self.slip == Slip::SlowUpToEleven { slow_packets + 1.0 } else { slow_packets };
        let few = if self.read.slow_test == "below" { r < most } else { r <= most };
        let slow = few && (d == 0.0 || self.slip == Slip::SlowWithDrops);

        if !(unresponsive && self.slip == Slip::CondemnedNotAveraged) {
            self.average(time, waiting, link_free_at);
        }
        let ratio = throughput / fair;
        let mut raised = match self.read.boost {
            "squared" => max_p * (ratio * ratio),
            "one_plus" => max_p * (1.0 + ratio),
            _ => max_p * ratio,
        };
        if self.slip != Slip::BoostNotCapped {
            raised = raised.min(1.0);
        }
        if self.slip == Slip::NoBoost {
            raised = max_p;
        }
        let (min_th, max_th) = (5.0, 15.0);
        let mut outcome = if unresponsive && self.slip != Slip::CondemnedAsFast {
            if self.slip == Slip::CondemnedRestartsCount {
                self.count = 0;
            }
            Outcome::Forced
        } else if fast && !(slow && self.slip == Slip::SlowFirst) {
            self.red(min_th, max_th, raised, false)
        } else if slow {
            let low = if self.slip == Slip::OnlyMaxThRaised { 0.0 } else { slow_bonus };
            let high = if self.slip == Slip::OnlyMinThRaised { 0.0 } else { slow_bonus };
            self.red(min_th + low, max_th + high, max_p, true)
        } else {
            self.red(min_th, max_th, max_p, false)
        };
        if outcome == Outcome::Queued && waiting as u64 >= self.read.limit {
            outcome = Outcome::Overflow;
        }

        // 2.1: "... and changes the number of packet dropped accordingly"
        let counted = match outcome {
            Outcome::Queued => false,
            Outcome::Forced => self.slip != Slip::CertainDropsNotCounted,
            Outcome::Overflow => self.slip != Slip::OverflowNotCounted,
            Outcome::Early => true,
        };
        if counted {
            if let Some(entry) = self.mrul.get_mut(at) {
                entry.d += 1.0;
            }
            if self.slip != Slip::TotalDropsNotCounted {
                self.dropped += 1.0;
            }
        }
        if outcome == Outcome::Queued {
            let start = time.max(link_free_at);
            self.transmissions.push((start, start + 8000.0 / RATE_BPS));
            // Those that have long ended only make it slower still.
            if self.transmissions.len() > 200 {
                self.transmissions.drain(..100);
            }
        }
        outcome
    }
}

fn in_catalogue(read: &Reading, numbers: Numbers) -> OpenLoop {
    let values = Values::of(&[
        ("list_size", Value::Whole(read.list_size as i64)),
        ("fair_rate", Value::Choice(read.fair_rate)),
        ("throughput", Value::Choice(read.throughput)),
        ("active_flows", Value::Choice(read.active_flows)),
        ("fast_test", Value::Choice(read.fast_test)),
        ("boost", Value::Choice(read.boost)),
        ("loss_test", Value::Choice(read.loss_test)),
        ("average_loss", Value::Choice(read.average_loss)),
        ("slow_test", Value::Choice(read.slow_test)),
        ("slow_count", Value::Choice(read.slow_count)),
        ("ageing", Value::Choice(read.ageing)),
        ("ageing_interval", Value::Real(read.interval)),
        ("release", Value::Choice(read.release)),
        ("fast_margin", Value::Real(read.fast_margin)),
        ("loss_margin", Value::Real(read.loss_margin)),
        ("slow_packets", Value::Real(read.slow_packets)),
        ("slow_bonus", Value::Real(read.slow_bonus)),
        ("max_p", Value::Real(read.max_p)),
        ("w_q", Value::Real(read.w_q)),
    ]);
    let link = Link { rate_bps: RATE_BPS, delay_s: 0.0 };
    let mut numbers = numbers;
    let random = Generator::custom(move || numbers.next());
    OpenLoop::new(queue("sfred", &values, &link, Limit::Packets(read.limit), false, random), RATE_BPS)
}

/// 4000 packets of 1000 B at loads from 0.6 to 2: two floods, up to 40 steady flows of different rates, and short ones
/// of a dozen packets that come and go. Now and then a pause.
fn arrivals(seed: u64) -> Vec<(f64, u64)> {
    let mut numbers = Numbers(seed);
    let steady = 2 + (numbers.next() * 39.0) as u64;
    let mut time = 0.0;
    (0..4000)
        .map(|i| {
            let load = [1.3, 0.6, 2.0, 1.1, 1.6][(i / 200) % 5];
            time += -(1.0 - numbers.next()).ln() * 8000.0 / RATE_BPS / load;
            if numbers.next() < 0.001 {
                time += 4.0 * numbers.next();
            }
            let kind = numbers.next();
            let flow = if kind < 0.2 {
                1
            } else if kind < 0.3 && i / 500 % 2 == 0 {
                2
            } else if kind < 0.85 {
                // The square favours low numbers.
                let x = numbers.next();
                10 + (x * x * steady as f64) as u64
            } else {
                1000 + (i / 80) as u64 * 3 + (numbers.next() * 3.0) as u64
            };
            (time, flow)
        })
        .collect()
}

#[derive(Default)]
struct Tally {
    early: u32,
    forced: u32,
    overflow: u32,
}

/// The first arrival at which the oracle (with `slip` and `read`) and the catalogue's (with `ours`) differ.
fn first_difference(read: Reading, slip: Slip, ours: Reading, seed: u64, tally: &mut Tally) -> Option<String> {
    let numbers = Numbers(seed ^ 0x5555);
    let mut oracle = Oracle::new(read, slip, numbers.clone());
    let mut bench = in_catalogue(&ours, numbers);
    for (i, (time, flow)) in arrivals(seed).into_iter().enumerate() {
        let want = oracle.arrival(time, flow);
        let dropped = bench.dropped.len();
        let admitted = bench.arrive(Packet::new(flow, 1000), time);
        let found = match (admitted, bench.dropped.get(dropped).map(|d| d.1)) {
            (true, _) => Outcome::Queued,
            (false, Some(Reason::Early)) => Outcome::Early,
            (false, Some(Reason::Forced)) => Outcome::Forced,
            _ => Outcome::Overflow,
        };
        match want {
            Outcome::Queued => {}
            Outcome::Early => tally.early += 1,
            Outcome::Forced => tally.forced += 1,
            Outcome::Overflow => tally.overflow += 1,
        }
        if want != found {
            return Some(format!("arrival {i} of flow {flow}: {want:?}, ours {found:?}"));
        }
        let average = gauge(&*bench.queue, "avg");
        let (received, lost) = (gauge(&*bench.queue, "received"), gauge(&*bench.queue, "dropped"));
        if slip == Slip::Unbroken && read == ours {
            assert!((average - oracle.avg).abs() <= 1e-11 * oracle.avg + 1e-100, "arrival {i}: {average}");
            assert_eq!((received, lost), (oracle.received, oracle.dropped), "arrival {i}");
        }
    }
    None
}

fn readings() -> impl Strategy<Value = Reading> {
    fn pick(name: &'static str) -> impl Strategy<Value = &'static str> {
        use earlydrop_aqm::params::Kind;
        match catalogue::find("sfred").unwrap().param(name).unwrap().kind {
            Kind::Choice(words) => prop::sample::select(words),
            _ => panic!("{name} is no word"),
        }
    }
    let flows = (pick("fair_rate"), pick("throughput"), pick("active_flows"), pick("fast_test"), pick("boost"));
    let rest = (pick("loss_test"), pick("average_loss"), pick("slow_test"), pick("slow_count"), pick("release"));
    let ageing = (pick("ageing"), prop::sample::select(vec![0.5, 1.0, 2.5, 5.0]));
    let numbers = (1_usize..50, 0.0..0.6_f64, 0.0..0.6_f64, 0_u32..15, 0.0..20.0_f64);
    let red = (0.01..0.9_f64, prop_oneof![0.001..0.02_f64, 0.02..0.9_f64], 16_u64..60);
    (flows, rest, ageing, numbers, red).prop_filter_map("no ageing to wait for", |(flows, rest, ageing, n, red)| {
        let reading = Reading {
            fair_rate: flows.0,
            throughput: flows.1,
            active_flows: flows.2,
            fast_test: flows.3,
            boost: flows.4,
            loss_test: rest.0,
            average_loss: rest.1,
            slow_test: rest.2,
            slow_count: rest.3,
            release: rest.4,
            ageing: ageing.0,
            interval: ageing.1,
            list_size: n.0,
            fast_margin: n.1,
            loss_margin: n.2,
            slow_packets: f64::from(n.3),
            slow_bonus: n.4,
            max_p: red.0,
            w_q: red.1,
            limit: red.2,
        };
        (reading.release != "on_ageing" || reading.ageing == "halve").then_some(reading)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn every_verdict_equals_the_oracle_in_every_reading(read in readings(), seed in any::<u64>()) {
        prop_assert_eq!(first_difference(read, Slip::Unbroken, read, seed, &mut Tally::default()), None);
    }
}

/// The defaults of the catalogue are the reading called default here, and no kind of verdict is missing in its runs.
#[test]
fn the_default_reading_equals_the_oracle() {
    let mut tally = Tally::default();
    for seed in 0..20 {
        assert_eq!(first_difference(DEFAULT, Slip::Unbroken, DEFAULT, seed, &mut tally), None);
    }
    assert!(
        tally.early > 1000 && tally.forced > 1000 && tally.overflow > 100,
        "{} {} {}",
        tally.early,
        tally.forced,
        tally.overflow
    );
    let spec = catalogue::find("sfred").unwrap();
    let default = |name: &str| spec.param(name).unwrap().default;
    assert_eq!(default("list_size"), Value::Whole(20));
    for (name, value) in [
        ("ageing_interval", 5.0),
        ("fast_margin", 0.1),
        ("loss_margin", 0.1),
        ("slow_packets", 10.0),
        ("slow_bonus", 10.0),
        ("min_th", 5.0),
        ("max_th", 15.0),
        ("max_p", 0.1),
        ("w_q", 0.002),
    ] {
        assert_eq!(default(name), Value::Real(value), "{name}");
    }
    for (name, word) in [
        ("fair_rate", DEFAULT.fair_rate),
        ("throughput", DEFAULT.throughput),
        ("active_flows", DEFAULT.active_flows),
        ("fast_test", DEFAULT.fast_test),
        ("boost", DEFAULT.boost),
        ("loss_test", DEFAULT.loss_test),
        ("average_loss", DEFAULT.average_loss),
        ("slow_test", DEFAULT.slow_test),
        ("slow_count", DEFAULT.slow_count),
        ("ageing", DEFAULT.ageing),
        ("release", DEFAULT.release),
    ] {
        assert_eq!(default(name), Value::Choice(word), "{name}");
    }
}

/// Each rule broken by itself is noticed.
#[test]
fn every_broken_rule_is_noticed() {
    for slip in SLIPS {
        // A quick average and a large max_p, so that raised probabilities reach their cap.
        let steep = Reading { max_p: 0.6, w_q: 0.02, ..DEFAULT };
        let noticed = (0..6).any(|seed| {
            [DEFAULT, steep]
                .into_iter()
                .any(|read| first_difference(read, slip, read, seed, &mut Tally::default()).is_some())
        });
        assert!(noticed, "{slip:?} goes unnoticed");
    }
}

/// Each reading differs from the default in some verdict: none of the parameters is without effect.
#[test]
fn every_other_reading_is_noticed() {
    let never = Reading { ageing: "never", ..DEFAULT };
    // Half a second between halvings, so that "at the next one" is not the same as "never".
    let condemned = Reading { release: "on_eviction", interval: 0.5, ..DEFAULT };
    for (read, ours) in [
        (DEFAULT, Reading { list_size: 19, ..DEFAULT }),
        (DEFAULT, Reading { fair_rate: "accepted", ..DEFAULT }),
        (DEFAULT, Reading { fair_rate: "list", ..DEFAULT }),
        (never, Reading { fair_rate: "received", ..never }),
        (DEFAULT, Reading { throughput: "accepted", ..DEFAULT }),
        (DEFAULT, Reading { active_flows: "hits", ..DEFAULT }),
        (DEFAULT, Reading { fast_test: "share", ..DEFAULT }),
        (DEFAULT, Reading { fast_test: "absolute", ..DEFAULT }),
        (DEFAULT, Reading { boost: "squared", ..DEFAULT }),
        (DEFAULT, Reading { boost: "one_plus", ..DEFAULT }),
        (DEFAULT, Reading { loss_test: "absolute", ..DEFAULT }),
        (DEFAULT, Reading { average_loss: "list", ..DEFAULT }),
        (DEFAULT, Reading { slow_test: "below", ..DEFAULT }),
        (DEFAULT, Reading { slow_count: "own", ..DEFAULT }),
        (DEFAULT, Reading { slow_bonus: 9.0, ..DEFAULT }),
        (DEFAULT, never),
        (DEFAULT, Reading { interval: 4.0, ..DEFAULT }),
        (DEFAULT, Reading { release: "on_ageing", ..DEFAULT }),
        (DEFAULT, Reading { release: "on_eviction", ..DEFAULT }),
        (condemned, Reading { release: "on_ageing", ..condemned }),
        (condemned, Reading { release: "never", ..condemned }),
        (DEFAULT, Reading { fast_margin: 0.2, ..DEFAULT }),
        (DEFAULT, Reading { loss_margin: 0.2, ..DEFAULT }),
    ] {
        let noticed =
            (0..6).any(|seed| first_difference(read, Slip::Unbroken, ours, seed, &mut Tally::default()).is_some());
        assert!(noticed, "{ours:?} instead of {read:?} goes unnoticed");
    }
}
