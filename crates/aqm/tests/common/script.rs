//! For the tests against slow transcriptions: random arrivals and requests, and a log of what a queue did with them.

#![allow(dead_code)]

use earlydrop_aqm::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Splitmix64 (Steele, Lea, Flood 2014): the scripts' own random numbers.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A whole number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }
}

/// Sizes of all kinds, and such as add up to round numbers.
pub const MIXED: &[u32] = &[40, 500, 1000, 1500, 1514];
pub const ROUND: &[u32] = &[500, 1000, 1500];

/// What happens to a queue.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Arrive(Packet),
    /// The link asks, whether anything waits or not.
    Ask,
    /// The timer runs.
    Timer,
}

/// What a queue did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seen {
    Admitted { marked: bool },
    Refused,
    Dropped(u32, Reason),
    Left(u32, Ecn),
    Empty,
    Probability(u64),
}

/// A script: times (s) and steps.
pub type Script = Vec<(f64, Step)>;

/// What arrives.
#[derive(Clone, Copy)]
pub struct Traffic {
    pub flows: u64,
    /// Sizes of packets, bytes.
    pub sizes: &'static [u32],
    /// Time is counted in steps of this, s.
    pub grid: f64,
    /// Time between requests in steps of the grid, on average.
    pub service: f64,
    /// The timer's period, s; 0: none.
    pub period: f64,
    pub steps: usize,
}

/// Loads that change: overload, idle, about as much as the link takes.
pub fn script(dice: &mut Dice, traffic: Traffic) -> Script {
    let mut steps = Vec::with_capacity(traffic.steps);
    let (mut arrival, mut ask, mut timer) = (0.0, 0.0, traffic.period);
    let mut load = 1.5;
    let mut tag = 0;
    while steps.len() < traffic.steps {
        if dice.below(400) == 0 {
            load = dice.one_of(&[0.02, 0.5, 0.9, 1.1, 1.3, 2.0, 4.0]);
        }
        if traffic.period > 0.0 && timer <= f64::min(arrival, ask) * traffic.grid {
            steps.push((timer, Step::Timer));
            timer += traffic.period;
        } else if arrival <= ask {
            let packet = Packet {
                tag,
                ecn: dice.one_of(&[Ecn::NotEct, Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]),
                ..Packet::new(dice.below(traffic.flows), dice.one_of(traffic.sizes))
            };
            tag += 1;
            steps.push((arrival * traffic.grid, Step::Arrive(packet)));
            arrival += gap(dice, traffic.service / load);
        } else {
            steps.push((ask * traffic.grid, Step::Ask));
            ask += gap(dice, traffic.service);
        }
    }
    steps
}

/// Whole steps of the grid, geometric, `mean` on average.
fn gap(dice: &mut Dice, mean: f64) -> f64 {
    (-(1.0 - dice.uniform()).ln() * mean).round()
}

/// A transcription that is run beside the crate's queue.
pub trait Slow {
    fn arrive(&mut self, packet: Packet, now: f64, seen: &mut Vec<Seen>);
    fn ask(&mut self, now: f64, seen: &mut Vec<Seen>);
    fn timer(&mut self, _now: f64, _seen: &mut Vec<Seen>) {}
}

pub fn run_slow(slow: &mut dyn Slow, script: &Script) -> Vec<Seen> {
    let mut seen = Vec::new();
    for &(now, step) in script {
        match step {
            Step::Arrive(packet) => slow.arrive(packet, now, &mut seen),
            Step::Ask => slow.ask(now, &mut seen),
            Step::Timer => slow.timer(now, &mut seen),
        }
    }
    seen
}

/// The same from the crate's queue; drops come before what became of the arrival or the request. `probe` names a gauge
/// to log after each timer.
pub fn run_queue(queue: &mut dyn Discipline, script: &Script, probe: &str) -> Vec<Seen> {
    let mut seen = Vec::new();
    for &(now, step) in script {
        let time = Time::from_seconds(now);
        match step {
            Step::Arrive(packet) => {
                let fate = queue.enqueue(packet, time, &mut |p, reason| seen.push(Seen::Dropped(p.tag, reason)));
                seen.push(fate.map_or(Seen::Refused, |marked| Seen::Admitted { marked: marked.0 }));
            }
            Step::Ask => {
                let packet = queue.dequeue(time, &mut |p, reason| seen.push(Seen::Dropped(p.tag, reason)));
                seen.push(packet.map_or(Seen::Empty, |p| Seen::Left(p.tag, p.ecn)));
            }
            Step::Timer => {
                queue.on_timer(time);
                queue.gauges(&mut |name, value| {
                    if name == probe {
                        seen.push(Seen::Probability(value.to_bits()));
                    }
                });
            }
        }
        let mut waiting = (0, 0);
        queue.waiting(&mut |_, packet| waiting = (waiting.0 + 1, waiting.1 + u64::from(packet.size)));
        assert_eq!(waiting, (queue.packets(), queue.bytes()), "what waits is all shown");
    }
    seen
}

/// The first place where two logs differ, with a little of both.
pub fn difference(fast: &[Seen], slow: &[Seen]) -> Option<String> {
    let at = fast.iter().zip(slow).position(|(a, b)| a != b);
    let at = at.or((fast.len() != slow.len()).then_some(fast.len().min(slow.len())))?;
    let around = |log: &[Seen]| format!("{:?}", &log[at.saturating_sub(3)..(at + 3).min(log.len())]);
    Some(format!("entry {at}: the crate {}, the transcription {}", around(fast), around(slow)))
}

thread_local! {
    static ASKED: RefCell<BTreeSet<&'static str>> = const { RefCell::new(BTreeSet::new()) };
}

/// Whether a transcription of which the rule `broken` is broken, or none, keeps `rule`.
pub fn keeps(broken: &str, rule: &'static str) -> bool {
    if broken.is_empty() {
        ASKED.with_borrow_mut(|asked| asked.insert(rule));
    }
    broken != rule
}

/// The rules for which an unbroken transcription asks [`keeps`].
pub fn rules(unbroken: impl FnOnce()) -> BTreeSet<&'static str> {
    ASKED.take();
    unbroken();
    ASKED.take()
}

/// A transcription must agree with the crate on every seed, and with any one of its `count` rules broken differ on one.
pub fn agrees_by_every_rule(
    count: usize,
    seeds: std::ops::Range<u64>,
    mut compare: impl FnMut(u64, &str) -> Option<String>,
) {
    let rules = rules(|| seeds.clone().for_each(|seed| assert_eq!(compare(seed, ""), None, "seed {seed}")));
    assert_eq!(rules.len(), count, "{rules:?}");
    for rule in rules {
        let shows = seeds.clone().any(|seed| compare(seed, rule).is_some());
        assert!(shows, "nothing shows that this rule is broken: {rule}");
    }
}
