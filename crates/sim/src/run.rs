//! From a checked scenario to a result: builds the network, runs it, reports.

use crate::engine::network::{Network, PortKind, PortSpec};
use crate::engine::plan::Plan;
use crate::engine::{Engine, Outcome, Settings};
use crate::events::{HeapQueue, LaneQueue};
use crate::scenario::{Delays, Direction, Ends, InjectedRandom, QueueSpec, Scenario, ScenarioError};
use earlydrop_aqm::catalogue::Link;
use earlydrop_aqm::random::Generator;

mod agents;
mod starts;

/// How links are run. Changes no result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// By arithmetic where the graph allows it.
    #[default]
    Auto,
    /// Every hop by events.
    Stepped,
}

/// Which event queue. Changes no result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Events {
    /// Lanes in front of a timing wheel.
    #[default]
    Lanes,
    /// The standard library's heap.
    Heap,
}

/// Runs `scenario` with `seed`.
///
/// # Errors
/// If a discipline cannot be built from its parameters; a scenario that passed the checker can be.
pub fn run(scenario: &Scenario, seed: u64, links: Links, events: Events) -> Result<Outcome, ScenarioError> {
    let network = build(scenario, seed)?;
    let decides: Vec<bool> = network.ports.iter().map(|port| port.kind.decides_at_enqueue()).collect();
    let plan = match links {
        Links::Auto => Plan::from_graph(&network, &decides),
        Links::Stepped => Plan::all_stepped(&network),
    };
    let settings = settings(scenario);
    Ok(match events {
        Events::Heap => Engine::<HeapQueue>::new(network, &plan, settings).run(),
        Events::Lanes => Engine::<LaneQueue<8>>::new(network, &plan, settings).run(),
    })
}

fn settings(scenario: &Scenario) -> Settings {
    let record = &scenario.record;
    Settings {
        duration: scenario.duration,
        warmup: scenario.warmup,
        series: record.series,
        cwnd_flows: record.cwnd_flows.iter().map(|&flow| (flow - 1) as u32).collect(),
        trace: (record.trace > 0).then_some(record.trace as usize),
        trace_flow: record.trace_flow.map(|flow| (flow - 1) as u32),
    }
}

/// The network of `scenario`, its random streams derived from `seed`.
///
/// # Errors
/// As [`run`].
pub fn build(scenario: &Scenario, seed: u64) -> Result<Network, ScenarioError> {
    let mut network = Network::new();
    let topology = &scenario.topology;
    let ahead = Link { rate_bps: topology.bottleneck.rate, delay_s: topology.bottleneck.delay };
    let port = add_port(&mut network, "bottleneck", &scenario.bottleneck_queue, &ahead, seed)?;
    let bottleneck = network.link(ahead.rate_bps, ahead.delay_s, Some(port));
    let back = Link { rate_bps: topology.reverse.rate, delay_s: topology.reverse.delay };
    let port = match &scenario.reverse_queue {
        Some(queue) => Some(add_port(&mut network, "reverse", queue, &back, seed)?),
        None => None,
    };
    let reverse = network.link(back.rate_bps, back.delay_s, port);

    let mut sender_delays = Times::new(&topology.senders.delay, seed, "topology.senders.delay");
    let mut receiver_delays = Times::new(&topology.receivers.delay, seed, "topology.receivers.delay");
    let pairs: Vec<[u32; 4]> = (0..topology.pairs as usize)
        .map(|pair| {
            let (here, there) = (sender_delays.get(pair), receiver_delays.get(pair));
            [
                network.link(topology.senders.rate, here, None),
                network.link(topology.receivers.rate, there, None),
                network.link(topology.receivers.rate, there, None),
                network.link(topology.senders.rate, here, None),
            ]
        })
        .collect();

    let mut dealt = 0;
    for (index, traffic) in scenario.traffic.iter().enumerate() {
        let mut starts = starts::Starts::new(&traffic.start, seed, &format!("traffic.{index}.start"));
        let mut agents = agents::Agents::new(traffic, index, seed);
        for i in 0..traffic.count as usize {
            let (pair, direction) = match &traffic.ends {
                Ends::Pairs { direction, pairs: Some(chosen) } => (chosen[i % chosen.len()] as usize, *direction),
                Ends::Pairs { direction, pairs: None } => {
                    dealt += 1;
                    ((dealt - 1) % pairs.len(), *direction)
                }
                // A dumbbell has no nodes by name; the checker says so.
                Ends::Nodes { .. } => (i % pairs.len(), Direction::Forward),
            };
            let [up, down, back_up, back_down] = pairs[pair];
            let (there, back) = match direction {
                Direction::Forward => ([up, bottleneck, down], [back_up, reverse, back_down]),
                Direction::Reverse => ([back_up, reverse, back_down], [up, bottleneck, down]),
            };
            // Data and ACKs in one port are more than links without events have been proven for.
            network.needs_events |= direction == Direction::Reverse;
            agents.add_flow(&mut network, i, starts.next(i), &there, &back);
        }
        agents.finish(&mut network);
    }
    Ok(network)
}

fn add_port(
    network: &mut Network,
    name: &str,
    queue: &QueueSpec,
    link: &Link,
    seed: u64,
) -> Result<u32, ScenarioError> {
    let built = (queue.spec.build)(&queue.values, link, queue.limit).map_err(|e| {
        ScenarioError::new(format!("queue.{name}.{}", e.name), "does not fit").given(e.given).allowed(e.allowed)
    })?;
    let random = match queue.random {
        None => Generator::stream(seed, &format!("queue.{name}")),
        Some(InjectedRandom::Mrg32k3a { seed, skip }) => Generator::ns2(seed, skip),
    };
    let kind = PortKind::new(built, queue.limit, queue.ecn, random);
    Ok(network.port(PortSpec { name: name.to_string(), aqm: queue.spec.name.to_string(), kind }))
}

/// Values of a distribution, one after the other, from a stream of its own.
pub(crate) struct Times<'a> {
    of: &'a Delays,
    random: Generator,
}

impl<'a> Times<'a> {
    pub(crate) fn new(of: &'a Delays, seed: u64, name: &str) -> Self {
        Times { of, random: Generator::stream(seed, name) }
    }

    pub(crate) fn get(&mut self, index: usize) -> f64 {
        Times::draw(self.of, index, &mut self.random)
    }

    /// The value at `index`.
    pub(crate) fn draw(of: &Delays, index: usize, random: &mut Generator) -> f64 {
        match of {
            Delays::Same(value) => *value,
            Delays::List(values) => values[index % values.len()],
            Delays::Uniform(low, high) => low + (high - low) * random.uniform(),
        }
    }
}
