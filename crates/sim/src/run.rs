//! From a checked scenario to the outcome: builds the network and runs it.

use crate::engine::network::{Network, PortKind, PortSpec, MOST_HOPS};
use crate::engine::plan::Plan;
use crate::engine::{is_large, Engine, Outcome, Settings};
use crate::events::{HeapQueue, Lanes, LargeLanes};
use crate::scenario::{Direction, InjectedRandom, Marker, Parent, Queue, Scenario, ScenarioError, Traffic};
use crate::topology::{access_links, default_name, Dumbbell, Graph, Routes};
use earlydrop_aqm::catalogue::Link;
use earlydrop_aqm::link_layer::{counting, LinkLayer};
use earlydrop_aqm::markers::Conditioned;
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::Discipline;

mod agents;
mod starts;

/// The numbers of a dumbbell's bottleneck and of its other direction.
const BOTTLENECK: u32 = 0;
const REVERSE: u32 = 1;

/// How links are run. Results do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// Analytic where the graph allows it.
    #[default]
    Auto,
    /// Stepped: every hop by events.
    Stepped,
}

/// Implementation of the event queue. Results do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Events {
    /// Lanes in front of a timing wheel.
    #[default]
    Lanes,
    /// `Lanes` with prefetching, which `Lanes` chooses itself where the state of the network exceeds the caches.
    Large,
    /// The standard library's heap.
    Heap,
}

/// Runs `scenario` with `seed`.
///
/// # Errors
/// If a discipline cannot be built from its parameters, which the checker has excluded.
pub fn run(scenario: &Scenario, seed: u64, links: Links, events: Events) -> Result<Outcome, ScenarioError> {
    let mut network = build(scenario, seed)?;
    let plan = plan(scenario, &network, links);
    let settings = settings(scenario, &network);
    // A sampled cwnd, and the order of losses among flows, are of one time.
    let may_be_ahead = links == Links::Auto && !settings.losses && settings.cwnd_flows.is_empty();
    if let Some(ahead) = plan.with_hosts_ahead(&network).filter(|_| may_be_ahead) {
        if let Some(outcome) = go(network, ahead, settings.clone(), events) {
            return Ok(outcome);
        }
        network = build(scenario, seed)?;
    }
    Ok(go(network, plan, settings, events).expect("a plan that nothing contradicts"))
}

/// Runs a network; none if that contradicts its plan.
fn go(network: Network, plan: Plan, settings: Settings, events: Events) -> Option<Outcome> {
    match events {
        Events::Heap => Engine::<HeapQueue>::new(network, plan, settings).try_run(),
        Events::Lanes if !is_large(&network) => Engine::<Lanes>::new(network, plan, settings).try_run(),
        Events::Lanes | Events::Large => Engine::<LargeLanes>::new(network, plan, settings).try_run(),
    }
}

/// How the links of `network` are run.
pub(crate) fn plan(scenario: &Scenario, network: &Network, links: Links) -> Plan {
    // An analytic port keeps no headers of the packets that wait.
    let headers = scenario.record.trace > 0 && scenario.record.trace_headers;
    let decides: Vec<bool> = network.ports.iter().map(|port| port.kind.decides_at_enqueue() && !headers).collect();
    match links {
        Links::Auto => Plan::from_graph(network, &decides),
        Links::Stepped => Plan::all_stepped(network),
    }
}

pub(crate) fn settings(scenario: &Scenario, network: &Network) -> Settings {
    let record = &scenario.record;
    let traced = |port: &&PortSpec| record.trace_queues.contains(&port.name);
    // By default rates are recorded at the first queue.
    let recorded = |at: u32, port: &PortSpec| match &record.rate_queues[..] {
        [] => at == 0,
        names => names.contains(&port.name),
    };
    Settings {
        duration: scenario.duration,
        warmup: scenario.warmup,
        series: record.series,
        gauges: record.gauges,
        cwnd_flows: record.cwnd_flows.iter().map(|&flow| (flow - 1) as u32).collect(),
        trace: (record.trace > 0).then_some(record.trace as usize),
        trace_ports: (network.ports.iter().zip(0..)).filter(|(port, _)| traced(port)).map(|(_, at)| at).collect(),
        trace_headers: record.trace_headers,
        trace_flow: record.trace_flow.map(|flow| (flow - 1) as u32),
        entry_of: record.by_flow.then(|| entries(scenario)),
        rates: record.rates,
        rate_flows: record.rate_flows.iter().map(|&flow| (flow - 1) as u32).collect(),
        rate_ports: (network.ports.iter().zip(0..))
            .filter(|&(port, at)| recorded(at, port))
            .map(|(_, at)| at)
            .collect(),
        jitter: record.jitter,
        delay_flows: record.delay_flows.iter().map(|&flow| (flow - 1) as u32).collect(),
        losses: record.losses,
        loss_rtt: record.loss_rtt,
    }
}

/// Traffic entry of each flow.
fn entries(scenario: &Scenario) -> Vec<u16> {
    let entries = scenario.traffic.iter().zip(0..);
    entries.flat_map(|(traffic, entry)| std::iter::repeat_n(entry, traffic.flows() as usize)).collect()
}

/// The network of `scenario`, with random streams derived from `seed`.
///
/// # Errors
/// As [`run`].
pub fn build(scenario: &Scenario, seed: u64) -> Result<Network, ScenarioError> {
    match scenario.pairs_alone() {
        Some(dumbbell) => build_dumbbell(scenario, dumbbell, seed),
        None => build_graph(scenario, &scenario.topology.drawn(seed), seed),
    }
}

/// A dumbbell without the graph of its hosts, which would take more memory than the run.
fn build_dumbbell(scenario: &Scenario, dumbbell: &Dumbbell, seed: u64) -> Result<Network, ScenarioError> {
    let mut network = Network::new();
    network.reserve(2 + 4 * dumbbell.pairs as usize, scenario.flows() as usize, 6);
    add_links(&mut network, scenario, &dumbbell.shared().drawn(seed), seed)?;
    for (number, delays) in (1..=dumbbell.pairs).zip(dumbbell.access_delays(seed)) {
        let sides = [(&dumbbell.senders, 's', "r1"), (&dumbbell.receivers, 'd', "r2")];
        for ((spec, host, router), delay_s) in sides.into_iter().zip(delays) {
            for to_host in [host == 'd', host == 's'] {
                let index = network.link(spec.rate.nominal(), delay_s, None);
                if spec.is_plain() {
                    continue;
                }
                let host = format!("{host}{number}");
                let name = if to_host { default_name(router, &host) } else { default_name(&host, router) };
                if let Some(medium) = spec.medium(&name, seed) {
                    network.medium(index, medium);
                }
            }
        }
    }
    let mut ways = scenario.pairs_of_flows(dumbbell.pairs);
    let mut route = |way: &mut Vec<u32>| {
        let Some((_, pair, direction)) = ways.next() else { return Ok(0) };
        let [out, home, to, from] = access_links(pair);
        way.extend(match direction {
            Direction::Forward => [out, BOTTLENECK, to, from, REVERSE, home],
            Direction::Reverse => [from, REVERSE, home, out, BOTTLENECK, to],
        });
        Ok(3)
    };
    add_traffic(&mut network, scenario, seed, &mut route)?;
    Ok(network)
}

fn build_graph(scenario: &Scenario, graph: &Graph, seed: u64) -> Result<Network, ScenarioError> {
    let mut network = Network::new();
    let links = add_links(&mut network, scenario, graph, seed)?;
    let ends = scenario.ends_of_flows(graph, seed);
    let both_ways: Vec<(u32, u32)> = ends.iter().flat_map(|&(from, to)| [(from, to), (to, from)]).collect();
    let name = |node: u32| &graph.nodes[node as usize].name;
    let refuse = |message: &str, from: u32, to: u32| {
        ScenarioError::new("topology", format!("{message} {:?} to {:?}", name(from), name(to)))
    };
    let routes = Routes::between(graph, &both_ways).map_err(|apart| refuse("has no way from", apart.from, apart.to))?;
    let answers = scenario.traffic.iter().flat_map(|one| std::iter::repeat_n(one.has_feedback(), one.flows() as usize));
    let mut ways = routes.chunks(2).zip(&ends).zip(answers);
    let mut route = |way: &mut Vec<u32>| {
        let Some(((routes, &(from, to)), answers)) = ways.next() else { return Ok(0) };
        let back = if answers { &routes[1][..] } else { &[] };
        way.extend(routes[0].iter().chain(back).map(|&link| links[link as usize]));
        if way.len() > MOST_HOPS {
            return Err(refuse("has too long a way there and back, from", from, to)
                .given(format!("{} links", way.len()))
                .allowed(format!("{MOST_HOPS} links")));
        }
        Ok(routes[0].len())
    };
    add_traffic(&mut network, scenario, seed, &mut route)?;
    Ok(network)
}

/// Adds the links of the next flow, out and back, to an empty list; returns how many lead out.
type Route<'a> = dyn FnMut(&mut Vec<u32>) -> Result<usize, ScenarioError> + 'a;

/// The start times of the flows of each traffic entry in a run with this seed, s.
pub fn start_times(scenario: &Scenario, seed: u64) -> Vec<Vec<f64>> {
    let of_entry = |(index, traffic): (usize, &Traffic)| {
        let mut starts = starts_of(traffic, index, seed);
        (0..traffic.flows() as usize).map(|i| starts.next(i)).collect()
    };
    scenario.traffic.iter().enumerate().map(of_entry).collect()
}

fn starts_of(traffic: &Traffic, index: usize, seed: u64) -> starts::Starts<'_> {
    starts::Starts::new(&traffic.start, seed, &format!("traffic.{index}.start"))
}

/// Adds the flows of all traffic entries.
fn add_traffic(
    network: &mut Network,
    scenario: &Scenario,
    seed: u64,
    route: &mut Route<'_>,
) -> Result<(), ScenarioError> {
    let (mut way, mut firsts) = (Vec::new(), Vec::with_capacity(scenario.traffic.len()));
    for (index, (traffic, given)) in scenario.traffic.iter().zip(&scenario.ends).enumerate() {
        let mut starts = starts_of(traffic, index, seed);
        firsts.push(network.flows() as u32);
        let phases = agents::phases(traffic);
        let mut agents = agents::Agents::new(traffic, given, &phases, index, seed);
        for i in 0..traffic.flows() as usize {
            way.clear();
            let there = route(&mut way)?;
            let (there, back) = way.split_at(there);
            let back = if traffic.has_feedback() { back } else { &[] };
            agents.add_flow(network, i, starts.next(i), there, back);
            if let Some(other) = traffic.reverse_of() {
                network.both_ways(firsts[other] + i as u32, firsts[index] + i as u32);
            }
        }
        agents.finish(network);
    }
    Ok(())
}

/// The flows that pass a queue: the ends of its link, and the hosts of each flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Passing {
    /// The nodes of the link's ends, by index.
    pub link: (u32, u32),
    /// For each flow its sender, its receiver, and whether its ACKs (and requests) pass the link rather than its data.
    pub flows: Vec<(u32, u32, bool)>,
}

/// The flows that pass the queue called `name` in a run with `seed`; `None` if there is no such queue.
pub fn passing(scenario: &Scenario, seed: u64, name: &str) -> Option<Passing> {
    let graph = scenario.topology.drawn(seed);
    let port = scenario.ports(&graph).into_iter().find(|port| port.name == name)?;
    let (_, from, to) = graph.link(port.link)?;
    let ends = scenario.ends_of_flows(&graph, seed);
    let ways = Routes::between(&graph, &ends).ok()?;
    let flows = ends.iter().zip(&ways).map(|(&(from, to), there)| (from, to, !there.contains(&port.link)));
    Some(Passing { link: (from, to), flows: flows.collect() })
}

/// Adds the links of `graph` with their queues; returns their indices by number in the graph.
fn add_links(network: &mut Network, scenario: &Scenario, graph: &Graph, seed: u64) -> Result<Vec<u32>, ScenarioError> {
    let mut indices = vec![u32::MAX; 2 * graph.edges.len()];
    let mut ports = scenario.ports(graph).into_iter().peekable();
    for (number, direction, ..) in graph.links() {
        let spec = &direction.link;
        let link = Link { rate_bps: spec.rate.nominal(), delay_s: spec.mean_delay() };
        let port = match ports.next_if(|port| port.link == number) {
            None => None,
            Some(port) => {
                let queue = &scenario.queues[port.queue];
                let streams = |stream: &str| Generator::stream(seed, stream);
                let kind = port_kind(&port.name, queue, &link, spec.link_layer, &streams)?;
                let (name, aqm) = (port.name, queue.spec.spec.name.to_string());
                Some(network.port(PortSpec { name, aqm, kind }))
            }
        };
        let index = network.link(link.rate_bps, link.delay_s, port);
        indices[number as usize] = index;
        if let Some(medium) = spec.medium(&direction.name, seed) {
            network.medium(index, medium);
        }
    }
    Ok(indices)
}

/// The random numbers of a component by the name of its stream, such as `queue.bottleneck`.
pub type Streams<'a> = &'a dyn Fn(&str) -> Generator;

/// The discipline of the port called `name` in front of `link`, with random numbers from `streams` unless the queue has
/// its own.
///
/// # Errors
/// If the discipline cannot be built from its parameters, which the checker has excluded.
pub fn port_kind(
    name: &str,
    queue: &Queue,
    link: &Link,
    layer: LinkLayer,
    streams: Streams<'_>,
) -> Result<PortKind, ScenarioError> {
    let header = |counts: bool| if counts { layer.header() } else { 0 };
    let own = header(queue.spec.spec.counts_header(&queue.spec.values));
    let Some(Parent { spec, values }) = &queue.spec.parent else {
        return without_parent(name, queue, link, own, streams);
    };
    let parents = header(spec.linux);
    let child = |number| {
        let name = if number == 0 { name.to_string() } else { format!("{name}.child{number}") };
        Ok(without_parent(&name, queue, link, own - parents, streams)?.into_discipline())
    };
    let children: Result<Vec<_>, ScenarioError> = (0..(spec.children)(values)).map(child).collect();
    Ok(PortKind::Discipline(counting((spec.build)(values, link, children?), parents)))
}

/// The queue that a text such as `codel target=5ms` stands for, in front of `link`, without a network: what a scenario's
/// queue `bottleneck` is on a link whose packets have no header.
///
/// # Errors
/// As [`scenario::queue`](crate::scenario::queue), and if the discipline cannot be built so.
pub fn queue_of_text(text: &str, link: &Link, streams: Streams<'_>) -> Result<Box<dyn Discipline>, ScenarioError> {
    let queue = crate::scenario::queue(text, link)?;
    let built = port_kind(&queue.key, &queue, link, LinkLayer::Ip, streams);
    built.map(PortKind::into_discipline).map_err(|error| {
        let path = error.path.strip_prefix("queue.bottleneck.").unwrap_or(&error.path).to_string();
        ScenarioError { path, ..error }
    })
}

/// The discipline alone or with its marker; it counts `header` bytes more of each packet.
fn without_parent(
    name: &str,
    queue: &Queue,
    link: &Link,
    header: i32,
    streams: Streams<'_>,
) -> Result<PortKind, ScenarioError> {
    let (path, queue) = (queue.path(), &queue.spec);
    let built = (queue.spec.build)(&queue.values, &queue.link(link), queue.limit).map_err(|e| {
        ScenarioError::new(format!("{path}.{}", e.name), "does not fit").given(e.given).allowed(e.allowed)
    })?;
    let random = match queue.random {
        None => streams(&format!("queue.{name}")),
        Some(InjectedRandom::Mrg32k3a { seed, skip }) => Generator::ns2(seed, skip),
    };
    let mut kind = PortKind::new(built, queue.limit, queue.ecn, random);
    if header != 0 {
        kind = PortKind::Discipline(counting(kind.into_discipline(), header));
    }
    if let Some(Marker { spec, values }) = &queue.marker {
        let random = streams(&format!("queue.{name}.marker"));
        kind = PortKind::Discipline(Box::new(Conditioned::new(kind.into_discipline(), spec, values, random)));
    }
    Ok(kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result;
    use crate::scenario::{check, Doc};

    /// Drawn and listed delays, links with media, flows both ways over chosen pairs and in order, over TCP and not.
    const SCENARIO: &str = "name = 'd'\nduration = '3 s'\n[topology]\nkind = 'dumbbell'\npairs = 3\n\
        senders = { rate = '10 Mbit/s', delay = { uniform = ['1 ms', '9 ms'] }, loss = 0.01, jitter = '1 ms' }\n\
        receivers = { rate = '20 Mbit/s', delay = ['2 ms', '5 ms'] }\n\
        bottleneck = { rate = '2 Mbit/s', delay = '10 ms' }\nreverse = { rate = '1 Mbit/s', delay = '7 ms' }\n\
        [queue.bottleneck]\naqm = 'red'\nlimit = '2 bdp'\n[queue.reverse]\naqm = 'droptail'\n\
        [[traffic]]\nkind = 'ftp'\ncount = 5\n[[traffic]]\nkind = 'ftp'\ncount = 2\ndirection = 'reverse'\n\
        [[traffic]]\nkind = 'cbr'\nrate = '100 kbit/s'\npairs = [3, 1]\ncount = 3\n";

    #[test]
    fn a_dumbbell_without_its_graph_is_the_same_network() {
        let scenario = Doc::from_toml(SCENARIO, None).and_then(|doc| check(&doc, None)).unwrap();
        for seed in [1, 2] {
            let graph = scenario.topology.drawn(seed);
            let networks = [build(&scenario, seed).unwrap(), build_graph(&scenario, &graph, seed).unwrap()];
            let parts = |network: &Network| {
                let links = network.links.iter().map(|link| (link.rate_bps, link.delay_s, link.port));
                let media: Vec<u32> = network.media.iter().map(|&(link, _)| link).collect();
                let routes =
                    (0..network.flows()).map(|flow| network.route(flow)).map(|(a, b)| [a.to_vec(), b.to_vec()]);
                (links.collect::<Vec<_>>(), media, routes.collect::<Vec<_>>())
            };
            assert_eq!(parts(&networks[0]), parts(&networks[1]));
            let [short, long] = networks.map(|network| {
                let plan = plan(&scenario, &network, Links::Auto);
                let settings = settings(&scenario, &network);
                let outcome = Engine::<HeapQueue>::new(network, plan, settings).run();
                result::document(&scenario, seed, &outcome, 0.0)
            });
            assert_eq!(short, long);
            assert_ne!(short["losses"]["on_links"], 0);
        }
    }
}
