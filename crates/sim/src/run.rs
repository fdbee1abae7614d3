//! From a checked scenario to a result: builds the network, runs it, reports.

use crate::engine::network::{FlowSpec, Network, PortKind, PortSpec, TcpOptions};
use crate::engine::plan::Plan;
use crate::engine::{Engine, Outcome, Settings};
use crate::events::{HeapQueue, LaneQueue};
use crate::scenario::{Cbr, Delays, InjectedRandom, QueueSpec, Scenario, ScenarioError, Tcp, Traffic};
use earlydrop_aqm::catalogue::Link;
use earlydrop_aqm::random::Generator;
use earlydrop_net::tcp::Flavour;

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
        entry_of: record.by_flow.then(|| entries(scenario)),
    }
}

/// Index of its traffic entry, by flow.
fn entries(scenario: &Scenario) -> Vec<u16> {
    let entries = scenario.traffic.iter().zip(0..);
    entries.flat_map(|(traffic, entry)| std::iter::repeat_n(entry, traffic.flows() as usize)).collect()
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

    let mut flow_index = 0;
    for (index, traffic) in scenario.traffic.iter().enumerate() {
        let ftp = match traffic {
            Traffic::Ftp(ftp) => ftp,
            Traffic::Cbr(cbr) => {
                let mut starts = Times::new(&cbr.start, seed, &format!("traffic.{index}.start"));
                for i in 0..cbr.count as usize {
                    let [up, down, ..] = pairs[flow_index % pairs.len()];
                    flow_index += 1;
                    network.flow(constant_rate(cbr, starts.get(i)), &[up, bottleneck, down], &[]);
                }
                continue;
            }
        };
        let mut starts = Times::new(&ftp.start, seed, &format!("traffic.{index}.start"));
        let phases = ftp.clock_phase.as_ref().map_or(Delays::Uniform(0.0, 0.01), |list| Delays::List(list.clone()));
        let mut phases = Times::new(&phases, seed, &format!("traffic.{index}.clock_phase"));
        for i in 0..ftp.count as usize {
            let [up, down, back_up, back_down] = pairs[flow_index % pairs.len()];
            flow_index += 1;
            let flow = FlowSpec {
                flavour: match ftp.tcp {
                    Tcp::Reno => Flavour::Reno,
                },
                interval: None,
                start: starts.get(i),
                clock_phase: phases.get(i),
                window: ftp.window as i32,
                payload: ftp.segment as u16,
                wire: (ftp.segment + ftp.header) as u16,
                options: TcpOptions::default(),
            };
            network.flow(flow, &[up, bottleneck, down], &[back_up, reverse, back_down]);
        }
    }
    Ok(network)
}

fn constant_rate(cbr: &Cbr, start: f64) -> FlowSpec {
    FlowSpec {
        flavour: Flavour::Reno,
        interval: Some(cbr.interval()),
        start,
        clock_phase: 0.0,
        window: 1,
        payload: cbr.segment as u16,
        wire: (cbr.segment + cbr.header) as u16,
        options: TcpOptions::default(),
    }
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
struct Times<'a> {
    of: &'a Delays,
    random: Generator,
}

impl<'a> Times<'a> {
    fn new(of: &'a Delays, seed: u64, name: &str) -> Self {
        Times { of, random: Generator::stream(seed, name) }
    }

    fn get(&mut self, index: usize) -> f64 {
        match self.of {
            Delays::Same(value) => *value,
            Delays::List(values) => values[index % values.len()],
            Delays::Uniform(low, high) => low + (high - low) * self.random.uniform(),
        }
    }
}
