//! The price of a decision: every discipline of the catalogue, and the same discipline at growing sizes.
//!
//!     cargo bench -p earlydrop-aqm --bench decisions                       nanoseconds
//!     cargo bench -p earlydrop-aqm --bench decisions -- --json
//!     cargo bench -p earlydrop-aqm --bench decisions -- --json --only red
//!     cargo bench -p earlydrop-aqm --bench decisions -- --work red 3       three passes, no clock: for a counter
//!
//! `benches/decisions.py` runs it, counts instructions, and makes the tables of `docs/performance.md`.
//!
//! **The catalogue.** The same packets go through a 10 Mbit/s link (1000 B, 120 packets of buffer, thresholds 24 and 72)
//! whose load swings between 0.9 and 1.3, so that the average crosses the whole drop curve; a pass is one swing. Each is
//! of one of 40 flows, drawn at random, of 8 classes and up to 31 hops. The time is that of an arrival and, where it was
//! admitted, its departure, the queue itself included: DropTail's row is the price of the queue without a policy.
//!
//! **Sizes.** One thing grows: a list, a buffer, the flows that have packets waiting. The queue stands at a given
//! length: each packet that arrives pushes one out at the other end. Everything else stays, the packets that wait and
//! the time they wait included, but for the buffers, where they are what grows.
//!
//! The cases take turns in short passes, so that other load on the machine falls on all alike. The least time of a pass
//! is the steadiest figure, the median tells how much there was to disturb it.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use earlydrop_aqm::catalogue::{self, AqmSpec, Built, Link};
use earlydrop_aqm::discipline::Fifo;
use earlydrop_aqm::gate::Gate;
use earlydrop_aqm::params::{Value, Values};
use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::{Discipline, Packet, Time};

const TURNS: usize = 100;
const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.02 };
const SERVICE_S: f64 = 8.0 * 1000.0 / 10e6;
const SWING: usize = 20_000;
/// Of a steady load.
const GAP_S: f64 = 1e-6;

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| given.iter().any(|a| a == word);
    let mut cases = cases();
    if let Some(at) = given.iter().position(|a| a == "--work") {
        let case = cases.iter_mut().find(|case| case.name() == given[at + 1]).expect("the name of a case");
        let passes: usize = given[at + 2].parse().expect("a number of passes");
        (0..passes).for_each(|_| case.pass(case.packets));
        return;
    }
    if let Some(at) = given.iter().position(|a| a == "--only") {
        cases.retain(|case| given.get(at + 1) == Some(&case.name()));
    }
    // Without `--bench` this runs as a test: one short pass to see that it works.
    let full = has("--bench");
    for _ in 0..if full { TURNS } else { 1 } {
        for case in &mut cases {
            let packets = if full { case.packets } else { 200 };
            let begin = Instant::now();
            case.pass(packets);
            case.nanoseconds.push(begin.elapsed().as_secs_f64() * 1e9 / packets as f64);
        }
    }
    for case in &mut cases {
        let seen = case.queue.counters();
        assert_eq!(seen.arrivals, seen.departures + seen.drops() + case.queue.packets(), "{}", case.name());
        // The first pass of a case fills its queue and the caches.
        case.nanoseconds.drain(..usize::from(full));
        case.nanoseconds.sort_by(f64::total_cmp);
    }
    if has("--json") {
        let lines: Vec<String> = cases.iter().map(Case::json).collect();
        println!("[\n{}\n]", lines.join(",\n"));
    } else {
        println!("{:<28}{:>11}{:>10}{:>12}", "", "median ns", "least ns", "drop rate");
        for case in &cases {
            let [least, median] = case.times();
            println!("{:<28}{median:>11.1}{least:>10.1}{:>11.2}%", case.name(), case.drop_rate() * 100.0);
        }
    }
}

/// One row of a table.
struct Case {
    aqm: &'static str,
    /// What grows, and how far; none in the catalogue.
    size: Option<(&'static str, u64)>,
    queue: Box<dyn Discipline>,
    load: Load,
    /// In a pass.
    packets: usize,
    nanoseconds: Vec<f64>,
}

impl Case {
    fn name(&self) -> String {
        self.size.map_or(self.aqm.to_string(), |(what, size)| format!("{} {what} {size}", self.aqm))
    }

    fn pass(&mut self, packets: usize) {
        self.load.pass(&mut *self.queue, packets);
    }

    fn drop_rate(&self) -> f64 {
        let seen = self.queue.counters();
        seen.drops() as f64 / seen.arrivals as f64
    }

    fn times(&self) -> [f64; 2] {
        [self.nanoseconds[0], self.nanoseconds[self.nanoseconds.len() / 2]]
    }

    fn json(&self) -> String {
        let [least, median] = self.times();
        let (what, size) = self.size.map_or(("null".to_string(), 0), |(what, size)| (format!("\"{what}\""), size));
        format!(
            "  {{\"case\": \"{}\", \"aqm\": \"{}\", \"grows\": {what}, \"size\": {size}, \"packets\": {}, \
             \"least_ns\": {least:.2}, \"median_ns\": {median:.2}, \"drop_rate\": {:.6}, \"timer\": {}}}",
            self.name(),
            self.aqm,
            self.packets,
            self.drop_rate(),
            self.queue.next_timer().is_some()
        )
    }
}

/// What is set beside one tin and flows, by the name of what grows.
const CAKE_MODES: [(&str, &[(&str, Value)]); 6] = [
    ("mode: one queue", &[("flow_mode", Value::Choice("flowblind"))]),
    ("mode: sources", &[("flow_mode", Value::Choice("dual-srchost"))]),
    ("mode: both hosts", &[("flow_mode", Value::Choice("triple-isolate"))]),
    ("mode: four tins", &[("diffserv", Value::Choice("diffserv4"))]),
    ("mode: shaper", &[("bandwidth", Value::Real(10e9)), ("framing", Value::Choice("ptm"))]),
    ("mode: ACK filter", &[("ack_filter", Value::Choice("on"))]),
];

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let swing = swing();
    for &spec in catalogue::all() {
        let queue = build(spec, &thresholds(24.0, 72.0), Limit::Packets(120));
        let load = Load::Swing(Swing { gaps: swing.clone(), at: 0, now: 0.0, busy_until: None, random: 1 });
        cases.push(Case { aqm: spec.name, size: None, queue, load, packets: SWING, nanoseconds: Vec::new() });
    }
    let mut add = |aqm, what, size, values: &[(&'static str, Value)], limit, steady: Steady| {
        let queue = build(catalogue::find(aqm).expect("in the catalogue"), values, Limit::Packets(limit));
        // The first pass fills the queue and the lists.
        let packets = SWING.max(limit as usize * 2);
        cases.push(Case {
            aqm,
            size: Some((what, size)),
            queue,
            load: Load::Steady(steady),
            packets,
            nanoseconds: vec![],
        });
    };
    for length in [16, 64, 256, 1024, 4096] {
        let values = [("list_size", Value::Whole(length as i64))];
        for (what, flows) in [("flows, all listed", length), ("flows, 4 for each place", 4 * length)] {
            add("sfred", what, length, &values, 50, Steady::new(flows, 12, GAP_S));
        }
    }
    for buffer in [50, 500, 5_000, 50_000] {
        let part = |share: f64| buffer as f64 * share;
        let values = thresholds(part(0.2), part(0.6));
        for aqm in ["red", "choke", "ddred"] {
            add(aqm, "packets of buffer", buffer, &values, buffer, Steady::new(40, buffer * 2 / 5, GAP_S));
        }
        // Two arrivals for a departure: every other one finds the queue full, and the nearest packet dies.
        let full = Steady { departs_every: 2, ..Steady::new(40, 0, GAP_S) };
        add("ddtail", "packets of buffer", buffer, &values, buffer, full);
    }
    for flows in [1, 4, 16, 64, 256, 1024] {
        let queues = Value::Whole(1024);
        let by_flow = [("queues", queues), ("classify", Value::Choice("perfect"))];
        let sfq = [("flows", queues), ("divisor", Value::Whole(65_536)), ("depth", Value::Whole(4096))];
        let drr = [("buckets", queues), ("quantum", Value::Whole(1500)), ("classify", Value::Choice("modulo"))];
        let cake = [("diffserv", Value::Choice("besteffort")), ("flow_mode", Value::Choice("flows"))];
        // 2048 packets wait for 10 ms, twice CoDel's target, at 200,000 packets a second.
        let busy = || Steady::new(flows, 2_048, 5e-6);
        for (aqm, values) in [
            ("fq_codel", &by_flow[..]),
            ("fq_pie", &by_flow),
            ("cake", &cake),
            ("sfq", &sfq),
            ("drr", &drr),
            ("fq", &[]),
        ] {
            add(aqm, "active flows", flows, values, 4_096, busy());
        }
        // The rules that CAKE adds one by one; the shaper is faster than the departures, which never wait for it.
        for (what, more) in CAKE_MODES.iter().filter(|_| flows == 64) {
            add("cake", what, flows, &[&cake[..], more].concat(), 4_096, busy());
        }
        // What the timer adds where few packets come between two of its rounds. A target that nothing exceeds keeps
        // PIE from dropping; its steps are the same.
        let slow = [by_flow[0], by_flow[1], ("qdelay_ref", Value::Real(10.0))];
        add("fq_pie", "active flows, 100 Mbit/s", flows, &slow, 4_096, Steady::new(flows, 2_048, 80e-6));
    }
    cases
}

fn thresholds(min_th: f64, max_th: f64) -> [(&'static str, Value); 5] {
    [("min_th", min_th), ("max_th", max_th), ("max_p", 0.1), ("w_q", 0.002), ("mean_packet", 1000.0)]
        .map(|(name, value)| (name, Value::Real(value)))
}

/// The discipline with those of the values that it has, its own defaults elsewhere.
fn build(spec: &AqmSpec, given: &[(&'static str, Value)], limit: Limit) -> Box<dyn Discipline> {
    let mut values = Values::new();
    for &(name, value) in given.iter().filter(|(name, _)| spec.param(name).is_some()) {
        values.set(name, value);
    }
    let built = (spec.build)(&values, &LINK, limit).unwrap_or_else(|error| panic!("{}: {error}", spec.name));
    match built {
        Built::Policy(policy) => Box::new(Fifo::new(Gate::new(policy, limit, false, Generator::stream(1, "queue")))),
        Built::Discipline(finish) => finish(false, Generator::stream(1, "queue")),
    }
}

/// Where packets come from, and when they leave.
enum Load {
    Swing(Swing),
    Steady(Steady),
}

/// Gaps between arrivals of one swing of the load, over and over, and a link that never waits while there is a packet.
struct Swing {
    gaps: Vec<f64>,
    at: usize,
    now: f64,
    busy_until: Option<f64>,
    random: u64,
}

/// Arrivals in equal steps; with each `departs_every`-th one, a departure while more than `waiting` packets wait.
struct Steady {
    flows: u64,
    waiting: u64,
    gap_s: f64,
    departs_every: u64,
    count: u64,
    random: u64,
}

impl Steady {
    fn new(flows: u64, waiting: u64, gap_s: f64) -> Self {
        Steady { flows, waiting, gap_s, departs_every: 1, count: 0, random: 1 }
    }
}

impl Load {
    fn pass(&mut self, queue: &mut dyn Discipline, packets: usize) {
        match self {
            Load::Swing(load) => (0..packets).for_each(|_| load.packet(queue)),
            Load::Steady(load) => (0..packets).for_each(|_| load.packet(queue)),
        }
    }
}

impl Swing {
    #[inline]
    fn packet(&mut self, queue: &mut dyn Discipline) {
        self.now += self.gaps[self.at];
        self.at = (self.at + 1) % self.gaps.len();
        while let Some(end) = self.busy_until.filter(|&end| end <= self.now) {
            self.busy_until = take(queue, end);
        }
        arrive(queue, &mut self.random, 40, self.now);
        if self.busy_until.is_none() {
            self.busy_until = take(queue, self.now);
        }
    }
}

impl Steady {
    #[inline]
    fn packet(&mut self, queue: &mut dyn Discipline) {
        self.count += 1;
        let now = self.count as f64 * self.gap_s;
        arrive(queue, &mut self.random, self.flows, now);
        if self.count.is_multiple_of(self.departs_every) && queue.packets() > self.waiting {
            take(queue, now);
        }
    }
}

/// Timers that are due, then a packet of one of the flows.
#[inline]
fn arrive(queue: &mut dyn Discipline, random: &mut u64, flows: u64, now: f64) {
    let now = Time::from_seconds(now);
    while let Some(due) = queue.next_timer().filter(|&due| due <= now) {
        queue.on_timer(due);
    }
    // Knuth's linear congruential generator (MMIX); its upper half.
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let flow = ((*random >> 33) * flows) >> 31;
    let packet =
        Packet { class: flow as u8 % 8, initial_ttl: 64, ttl: 64 - flow as u8 % 32, ..Packet::new(flow, 1000) };
    black_box(queue.enqueue(packet, now, &mut |_, _| {}));
}

/// The free link asks for a packet; when it will be free again.
#[inline]
fn take(queue: &mut dyn Discipline, now: f64) -> Option<f64> {
    black_box(queue.dequeue(Time::from_seconds(now), &mut |_, _| {})).map(|_| now + SERVICE_S)
}

/// Exponential gaps around a load that rises and falls once.
fn swing() -> Vec<f64> {
    let mut random = Generator::stream(1, "arrivals");
    let mut gap = |i: usize| {
        let load = 1.1 + 0.2 * (i as f64 * std::f64::consts::TAU / SWING as f64).sin();
        -(1.0 - random.uniform()).ln() * SERVICE_S / load
    };
    (0..SWING).map(&mut gap).collect()
}
