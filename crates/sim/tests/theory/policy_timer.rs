//! A policy's timer in the engine: when it expires, and the state of the queue that it sees.

use earlydrop_aqm::policy::{Context, Policy, QueueView, Verdict};
use earlydrop_aqm::prelude::*;
use earlydrop_net::tcp::Flavour;
use earlydrop_sim::engine::network::{FlowSpec, Network, PortKind, PortSpec, TcpOptions};
use earlydrop_sim::engine::plan::Plan;
use earlydrop_sim::engine::{Engine, Settings};
use earlydrop_sim::events::LaneQueue;
use std::sync::{Arc, Mutex};

/// Time of the timer, packets in the queue, start of the link's idle time.
type Tick = (f64, u64, Option<f64>);

/// Records what it sees every 100 ms.
struct Watcher {
    next: Time,
    seen: Arc<Mutex<Vec<Tick>>>,
}

impl Policy for Watcher {
    fn on_enqueue(&mut self, _: &Packet, _: &QueueView<'_>, _: &mut Context<'_>) -> Verdict {
        Verdict::Pass
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next)
    }

    fn on_timer(&mut self, queue: &QueueView<'_>, cx: &mut Context<'_>) {
        self.seen.lock().unwrap().push((cx.now.seconds(), queue.packets, queue.idle_since.map(Time::seconds)));
        self.next = self.next + 0.1;
    }
}

/// One flow with this window over 80 kbit/s (1000 B take 0.1 s) and 0.5 s each way, from 0.25 s on.
fn ticks(window: i32) -> Vec<Tick> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let policy = Watcher { next: Time::from_seconds(0.1), seen: Arc::clone(&seen) };
    let gate = Gate::new(Box::new(policy), Limit::Packets(50), false, Generator::stream(1, "watcher"));
    let mut network = Network::new();
    let kind = PortKind::Fifo(Box::new(Fifo::new(gate)));
    let port = network.port(PortSpec { name: "bottleneck".into(), aqm: "watcher".into(), kind });
    let ahead = network.link(80e3, 0.5, Some(port));
    let [up, down, back, back_down] = [(); 4].map(|()| network.link(80e6, 0.0, None));
    let flavour = Flavour::Reno;
    let (start, options) = (0.25, TcpOptions::default());
    let flow = FlowSpec { flavour, interval: None, start, clock_phase: 0.0, window, payload: 960, wire: 1000, options };
    network.flow(flow, &[up, ahead, down], &[back, back_down]);
    let plan = Plan::from_graph(&network, &[false]);
    let settings = Settings { duration: 5.0, ..Settings::default() };
    Engine::<LaneQueue<8>>::new(network, plan, settings).run();
    let ticks = seen.lock().unwrap().clone();
    ticks
}

#[test]
fn ticks_come_at_the_times_that_the_policy_asks_for() {
    let times: Vec<f64> = ticks(1).iter().map(|tick| tick.0).collect();
    let mut due = 0.1;
    for &time in &times {
        assert_eq!(time, due);
        due += 0.1;
    }
    assert_eq!(times.len(), 50, "fifty times 0.1 s, added up, are a little less than the 5 s of the run");
}

#[test]
fn a_tick_sees_an_idle_link_without_an_arrival() {
    let ticks = ticks(1);
    assert_eq!(ticks[1].2, Some(0.0), "idle from the start");
    // The SYN takes 4 ms from 0.25 s on; the first data arrive 0.5 s after that and take 0.1 s.
    let since = |tick: &Tick| tick.2.expect("idle");
    for tick in &ticks[2..7] {
        assert!((since(tick) - 0.254).abs() < 1e-3, "{tick:?}");
    }
    assert_eq!((ticks[7].1, ticks[7].2), (0, None), "0.8 s: in transmission, which is no part of the queue");
    for tick in &ticks[8..13] {
        assert!((since(tick) - 0.854).abs() < 1e-3, "{tick:?}");
    }
}

#[test]
fn a_tick_sees_the_queue() {
    let longest = ticks(20).iter().map(|tick| tick.1).max();
    assert!(longest > Some(3), "{longest:?}");
    assert!(ticks(20).iter().all(|tick| tick.1 == 0 || tick.2.is_none()), "a link with packets waiting is not idle");
}
