//! Nanoseconds per decision of every discipline in the catalogue, and of RED in its other dialects.
//!
//!     cargo bench -p earlydrop-aqm --bench decisions [-- --json]
//!
//! The same arrivals go through a 10 Mbit/s link (1000 B packets, 120 of buffer, thresholds 24 and 72) whose load
//! swings between 0.9 and 1.3, so that the average crosses the whole drop curve. The time includes the queue itself:
//! one arrival and, where a packet was admitted, its departure. DropTail's row is the price of the queue without a policy.
//!
//! The passes over the disciplines take turns, so that other load on the machine falls on all alike; the least time is
//! the steadiest figure, the median tells how much there was to disturb it.

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

const ARRIVALS: usize = 400_000;
const PASSES: usize = 9;
const LIMIT: Limit = Limit::Packets(120);
const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.02 };
const SERVICE_S: f64 = 8.0 * 1000.0 / 10e6;

/// One line of the table.
struct Row {
    spec: &'static AqmSpec,
    dialect: Option<&'static str>,
    nanoseconds: Vec<f64>,
    drop_rate: f64,
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    // Without `--bench` this runs as a test: one short pass to see that it works.
    let (passes, count) = if given.iter().any(|a| a == "--bench") { (PASSES, ARRIVALS) } else { (1, 2_000) };
    let arrivals = arrival_times(count);
    let mut rows = rows();
    for _ in 0..passes {
        for row in &mut rows {
            let mut queue = build(row.spec, row.dialect);
            let begin = Instant::now();
            pass(&mut *queue, &arrivals);
            row.nanoseconds.push(begin.elapsed().as_secs_f64() * 1e9 / count as f64);
            let seen = queue.counters();
            assert_eq!(seen.arrivals, seen.departures + seen.drops() + queue.packets());
            row.drop_rate = seen.drops() as f64 / seen.arrivals as f64;
        }
    }
    for row in &mut rows {
        row.nanoseconds.sort_by(f64::total_cmp);
    }
    if given.iter().any(|a| a == "--json") {
        print_json(&rows, passes, count);
    } else {
        print_table(&rows);
    }
}

/// The catalogue in its order, each discipline with its defaults; after RED, RED in the other dialects.
fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for &spec in catalogue::all() {
        let others: &[_] = if spec.name == "red" { &[Some("ns2"), Some("ns3"), Some("linux")] } else { &[] };
        for &dialect in [None].iter().chain(others) {
            rows.push(Row { spec, dialect, nanoseconds: Vec::new(), drop_rate: 0.0 });
        }
    }
    rows
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

fn print_table(rows: &[Row]) {
    println!("{:<14}{:>11}{:>10}{:>12}", "discipline", "median ns", "least ns", "drop rate");
    for row in rows {
        let name = row.dialect.map_or(row.spec.name.to_string(), |dialect| format!("{} {dialect}", row.spec.name));
        let (median, least) = (median(&row.nanoseconds), row.nanoseconds[0]);
        println!("{name:<14}{median:>11.1}{least:>10.1}{:>11.2}%", row.drop_rate * 100.0);
    }
}

fn print_json(rows: &[Row], passes: usize, count: usize) {
    let lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let dialect = row.dialect.map_or("null".to_string(), |dialect| format!("\"{dialect}\""));
            format!(
                "    {{\"aqm\": \"{}\", \"dialect\": {dialect}, \"median_ns\": {:.2}, \"least_ns\": {:.2}, \"drop_rate\": {:.6}}}",
                row.spec.name,
                median(&row.nanoseconds),
                row.nanoseconds[0],
                row.drop_rate
            )
        })
        .collect();
    println!(
        "{{\n  \"passes\": {passes},\n  \"arrivals\": {count},\n  \"decisions\": [\n{}\n  ]\n}}",
        lines.join(",\n")
    );
}

/// Exponential gaps; the load rises and falls a few times.
fn arrival_times(count: usize) -> Vec<f64> {
    let mut random = Generator::stream(1, "arrivals");
    let mut now = 0.0;
    (0..count)
        .map(|i| {
            let load = 1.1 + 0.2 * (i as f64 * 12.0 / count as f64).sin();
            now -= (1.0 - random.uniform()).ln() * SERVICE_S / load;
            now
        })
        .collect()
}

/// The discipline with the parameters of this bench where it has them, its own defaults elsewhere.
fn build(spec: &AqmSpec, dialect: Option<&'static str>) -> Box<dyn Discipline> {
    let mut values = Values::new();
    for (name, value) in [("min_th", 24.0), ("max_th", 72.0), ("max_p", 0.1), ("w_q", 0.002), ("mean_packet", 1000.0)] {
        if spec.param(name).is_some() {
            values.set(name, Value::Real(value));
        }
    }
    if let Some(dialect) = dialect {
        values.set("dialect", Value::Choice(dialect));
    }
    let built = (spec.build)(&values, &LINK, LIMIT).unwrap_or_else(|error| panic!("{}: {error}", spec.name));
    match built {
        Built::Policy(policy) => Box::new(Fifo::new(Gate::new(policy, LIMIT, false, Generator::stream(1, "queue")))),
        Built::Discipline(finish) => finish(false, Generator::stream(1, "queue")),
    }
}

/// All arrivals, and the departures of a link that never waits while there is a packet.
fn pass(queue: &mut dyn Discipline, arrivals: &[f64]) {
    let mut busy_until = None;
    for &at in arrivals {
        while let Some(end) = busy_until.filter(|&end| end <= at) {
            busy_until = take(queue, end);
        }
        let now = Time::from_seconds(at);
        while queue.next_timer().is_some_and(|due| due <= now) {
            queue.on_timer(now);
        }
        black_box(queue.enqueue(Packet::new(1, 1000), now, &mut |_, _| {}));
        if busy_until.is_none() {
            busy_until = take(queue, at);
        }
    }
}

/// The free link asks for a packet; when it will be free again.
#[inline]
fn take(queue: &mut dyn Discipline, now: f64) -> Option<f64> {
    black_box(queue.dequeue(Time::from_seconds(now), &mut |_, _| {})).map(|_| now + SERVICE_S)
}
