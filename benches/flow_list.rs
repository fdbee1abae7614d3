//! What a packet costs in SFRED by the length N of its list.
//!
//!     cargo bench -p earlydrop-aqm --bench flow_list
//!
//! Two columns: as many flows as the list holds, each packet of one drawn at random, so that every place is used and
//! nothing is evicted; and four times as many, so that three of four packets evict a flow. The lengths take turns in
//! short passes; the least time of a pass is shown, and its ratio to that at N = 16.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use earlydrop_aqm::catalogue::{self, Built, Link};
use earlydrop_aqm::discipline::Fifo;
use earlydrop_aqm::gate::Gate;
use earlydrop_aqm::params::{Value, Values};
use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::{Discipline, Packet, Time};

const LENGTHS: [i64; 5] = [16, 64, 256, 1024, 4096];
const LIMIT: Limit = Limit::Packets(50);
const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.01 };

fn main() {
    // Without `--bench` this runs as a test: one short pass to see that it works.
    let full = std::env::args().any(|argument| argument == "--bench");
    let (passes, count) = if full { (400, 10_000) } else { (1, 1_000) };
    let mut runs: Vec<[Run; 2]> =
        LENGTHS.iter().map(|&length| [1, 4].map(|more| Run::new(length, more * length as u64))).collect();
    for _ in 0..passes {
        for run in runs.iter_mut().flatten() {
            run.pass(count);
        }
    }
    println!("{:>6}{:>12}{:>8}{:>14}{:>8}", "N", "N flows, ns", "ratio", "4 N flows, ns", "ratio");
    for (&length, [known, evicting]) in LENGTHS.iter().zip(&runs) {
        let ratios = [known.least / runs[0][0].least, evicting.least / runs[0][1].least];
        println!("{length:>6}{:>12.1}{:>8.2}{:>14.1}{:>8.2}", known.least, ratios[0], evicting.least, ratios[1]);
    }
}

/// One list with its flows.
struct Run {
    queue: Fifo,
    random: Generator,
    flows: f64,
    now: f64,
    /// Nanoseconds a packet, its departure and the choice of its flow included, in the best pass.
    least: f64,
}

impl Run {
    fn new(length: i64, flows: u64) -> Self {
        let mut values = Values::new();
        values.set("list_size", Value::Whole(length));
        let spec = catalogue::find("sfred").expect("in the catalogue");
        let Ok(Built::Policy(policy)) = (spec.build)(&values, &LINK, LIMIT) else { panic!("a policy") };
        let queue = Fifo::new(Gate::new(policy, LIMIT, false, Generator::stream(1, "queue")));
        Run { queue, random: Generator::stream(1, "flows"), flows: flows as f64, now: 0.0, least: f64::INFINITY }
    }

    /// Packets to fill the caches, and as many against the clock. The queue stands at 12 packets.
    fn pass(&mut self, count: usize) {
        self.packets(count);
        let begin = Instant::now();
        self.packets(count);
        self.least = self.least.min(begin.elapsed().as_secs_f64() * 1e9 / count as f64);
    }

    fn packets(&mut self, count: usize) {
        for _ in 0..count {
            self.now += 1e-6;
            let now = Time::from_seconds(self.now);
            let flow = (self.random.uniform() * self.flows) as u64;
            self.queue.enqueue(Packet::new(flow, 1000), now, &mut |_, _| {});
            if self.queue.packets() > 12 {
                self.queue.dequeue(now, &mut |_, _| {});
            }
        }
    }
}
