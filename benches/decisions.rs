//! Nanoseconds per decision of every discipline in the catalogue.
//!
//! The same arrivals go through a 10 Mbit/s link (1000 B packets, 120 of buffer, thresholds 24 and 72) whose load
//! swings between 0.9 and 1.3, so that the average crosses the whole drop curve. The time includes the queue itself:
//! one arrival and, where a packet was admitted, its departure. DropTail's row is the price of the queue without a policy.

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

fn main() {
    let arrivals = arrival_times();
    println!("{:<12}{:>10}{:>10}{:>12}", "discipline", "ns", "least", "drop rate");
    for spec in catalogue::all() {
        let mut times = Vec::with_capacity(PASSES);
        let mut drop_rate = 0.0;
        for _ in 0..PASSES {
            let mut queue = build(spec);
            let begin = Instant::now();
            pass(&mut *queue, &arrivals);
            times.push(begin.elapsed().as_secs_f64() * 1e9 / ARRIVALS as f64);
            let seen = queue.counters();
            drop_rate = seen.drops() as f64 / seen.arrivals as f64;
        }
        times.sort_by(f64::total_cmp);
        println!("{:<12}{:>10.1}{:>10.1}{:>11.2}%", spec.name, times[PASSES / 2], times[0], drop_rate * 100.0);
    }
}

/// Exponential gaps; the load rises and falls a few times.
fn arrival_times() -> Vec<f64> {
    let mut random = Generator::stream(1, "arrivals");
    let mut now = 0.0;
    (0..ARRIVALS)
        .map(|i| {
            let load = 1.1 + 0.2 * (i as f64 * 12.0 / ARRIVALS as f64).sin();
            now -= (1.0 - random.uniform()).ln() * SERVICE_S / load;
            now
        })
        .collect()
}

/// The discipline with the parameters of this bench where it has them, its own defaults elsewhere.
fn build(spec: &AqmSpec) -> Box<dyn Discipline> {
    let mut values = Values::new();
    for (name, value) in [("min_th", 24.0), ("max_th", 72.0), ("max_p", 0.1), ("w_q", 0.002)] {
        if spec.param(name).is_some() {
            values.set(name, Value::Real(value));
        }
    }
    let built = (spec.build)(&values, &LINK, LIMIT).unwrap_or_else(|error| panic!("{}: {error:?}", spec.name));
    match built {
        Built::Policy(policy) => Box::new(Fifo::new(Gate::new(policy, LIMIT, false, Generator::stream(1, "queue")))),
        Built::Discipline(discipline) => discipline,
    }
}

/// All arrivals, and the departures of a link that never waits while there is a packet.
fn pass(queue: &mut dyn Discipline, arrivals: &[f64]) {
    let mut free_at = 0.0;
    for &at in arrivals {
        while queue.packets() > 0 && free_at <= at {
            black_box(queue.dequeue(Time::from_seconds(free_at), &mut |_, _| {}));
            free_at += SERVICE_S;
        }
        let now = Time::from_seconds(at);
        while queue.next_timer().is_some_and(|due| due <= now) {
            queue.on_timer(now);
        }
        black_box(queue.enqueue(Packet::new(1, 1000), now, &mut |_, _| {}));
        if free_at <= at {
            black_box(queue.dequeue(now, &mut |_, _| {}));
            free_at = at + SERVICE_S;
        }
    }
}
