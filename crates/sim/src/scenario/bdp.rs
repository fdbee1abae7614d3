//! `limit = "2 bdp"`: a buffer given in bandwidth-delay products.
//!
//! The bandwidth is the nominal rate of the queue's link, or its parent's if that is less; the delay is the largest
//! base RTT of the TCP flows and stacks from outside that pass the link with data or ACKs: the propagation delays of all links there and back, with the means of those that models add.
//! A drawn delay counts with its upper end and drawn pairs are those of seed 1, so that the buffer does not depend on
//! the run's seed. A queue at several links has the largest of their products. The limit is in bytes, rounded up.

use std::collections::BTreeSet;

use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::Link;

use super::bounds;
use super::error::ScenarioError;
use super::fields::{join, Checked};
use super::model::{Delays, Topology};
use super::traffic::{Direction, Load, Traffic};
use super::whole::Scenario;
use crate::topology::{Dumbbell, Graph, LinkSpec, Routes};

const SEED: u64 = 1;

/// Fills in the limits of queues whose limit is a number of products.
pub(super) fn fill_in(scenario: &mut Scenario, products: &[Option<f64>]) -> Checked<()> {
    if products.iter().all(Option::is_none) {
        return Ok(());
    }
    let largest = largest(scenario);
    for ((queue, products), bytes) in scenario.queues.iter_mut().zip(products).zip(largest) {
        let Some(products) = products else { continue };
        let fail = |message: &str| {
            ScenarioError::new(join(&queue.path(), "limit"), message).given(format!("\"{products} bdp\""))
        };
        let Some(bytes) = bytes else {
            return Err(fail("has no round-trip time: no TCP flow passes its link").allowed("packets or bytes"));
        };
        let limit = (products * bytes).ceil();
        if limit > bounds::LIMIT_BYTES as f64 {
            return Err(fail("is out of range").allowed(format!("at most {} B", bounds::LIMIT_BYTES)));
        }
        queue.spec.limit = Limit::Bytes((limit as u64).max(1));
    }
    Ok(())
}

/// The bandwidth-delay product of each queue, bytes; `None` if no TCP flow passes it.
pub(super) fn largest(scenario: &Scenario) -> Vec<Option<f64>> {
    if let Some(dumbbell) = scenario.pairs_alone() {
        return largest_of_pairs(scenario, dumbbell);
    }
    let graph = longest(&scenario.topology);
    let mut rtts: Vec<Option<f64>> = vec![None; 2 * graph.edges.len()];
    let mut routes = Routes::new(&graph);
    let mut known = BTreeSet::new();
    let answered = |entry: &Traffic| entry.tcp().is_some() || matches!(entry.load, Load::Outside(_));
    let answered =
        scenario.traffic.iter().flat_map(|entry| std::iter::repeat_n(answered(entry), entry.flows() as usize));
    for ((from, to), _) in scenario.ends_of_flows(&graph, SEED).into_iter().zip(answered).filter(|(_, is)| *is) {
        if !known.insert((from, to)) {
            continue;
        }
        let mut way = routes.route(from, to).unwrap_or_default();
        way.extend(routes.route(to, from).unwrap_or_default());
        let delay = |&link: &u32| graph.link(link).map_or(0.0, |(direction, ..)| direction.link.usual_delay());
        let rtt: f64 = way.iter().map(delay).sum();
        for link in way {
            let longest = &mut rtts[link as usize];
            *longest = Some(longest.unwrap_or(0.0).max(rtt));
        }
    }
    products(scenario, &graph, |link| rtts[link as usize])
}

/// [`largest`] for a dumbbell, without the graph of its hosts: every flow passes the bottleneck in some direction.
fn largest_of_pairs(scenario: &Scenario, dumbbell: &Dumbbell) -> Vec<Option<f64>> {
    let mut dumbbell = dumbbell.clone();
    upper(&mut dumbbell.senders);
    upper(&mut dumbbell.receivers);
    let (there, back) = (dumbbell.bottleneck.usual_delay(), dumbbell.reverse.usual_delay());
    let access: Vec<[f64; 2]> = dumbbell.access_delays(SEED).collect();
    let flows = scenario.pairs_of_flows(dumbbell.pairs).filter(|(traffic, ..)| traffic.tcp().is_some());
    // The links are added in their order, so that the sum is rounded as in any other network.
    let rtts = flows.map(|(_, pair, direction)| {
        let [sender, receiver] = access[pair as usize];
        match direction {
            Direction::Forward => [sender, there, receiver, receiver, back, sender],
            Direction::Reverse => [receiver, back, sender, sender, there, receiver],
        }
        .iter()
        .sum::<f64>()
    });
    let longest = rtts.fold(None, |longest: Option<f64>, rtt| Some(longest.unwrap_or(0.0).max(rtt)));
    products(scenario, &dumbbell.shared(), |_| longest)
}

/// For each queue the largest product of its links in `graph`, bytes; `rtt` is the longest of the flows over a link.
fn products(scenario: &Scenario, graph: &Graph, rtt: impl Fn(u32) -> Option<f64>) -> Vec<Option<f64>> {
    let mut found = vec![None; scenario.queues.len()];
    for port in scenario.ports(graph) {
        let Some((direction, ..)) = graph.link(port.link) else { continue };
        let Some(rtt) = rtt(port.link) else { continue };
        let link = Link { rate_bps: direction.link.rate.nominal(), delay_s: 0.0 };
        let bytes = scenario.queues[port.queue].spec.link(&link).rate_bps * rtt / 8.0;
        let largest: &mut Option<f64> = &mut found[port.queue];
        *largest = Some(largest.unwrap_or(0.0).max(bytes));
    }
    found
}

/// Sets a drawn delay to its upper end.
fn upper(link: &mut LinkSpec) {
    if let Delays::Uniform(_, high) = link.delay {
        link.delay = Delays::Same(high);
    }
}

/// The network with drawn delays at their upper ends.
fn longest(topology: &Topology) -> Graph {
    match topology {
        Topology::Dumbbell(dumbbell) => {
            let mut dumbbell = dumbbell.clone();
            upper(&mut dumbbell.senders);
            upper(&mut dumbbell.receivers);
            dumbbell.graph(SEED)
        }
        Topology::Graph(graph) => {
            let mut graph = graph.clone();
            graph.directions_mut().for_each(|direction| upper(&mut direction.link));
            graph
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{check, Doc, Limit, Scenario};

    fn scenario(topology: &str, queue: &str, traffic: &str) -> Result<Scenario, String> {
        let text = format!("name = 'b'\nduration = '10 s'\n{topology}\n{queue}\n[[traffic]]\n{traffic}\n");
        check(&Doc::from_toml(&text, None).unwrap(), None).map_err(|error| error.to_string())
    }

    const DUMBBELL: &str = "[topology]\nkind = 'dumbbell'\npairs = 4\n\
        senders = { rate = '100 Mbit/s', delay = { uniform = ['1 ms', '25 ms'] } }\n\
        receivers = { rate = '100 Mbit/s', delay = ['5 ms', '10 ms'] }\n\
        bottleneck = { rate = '8 Mbit/s', delay = '15 ms' }";

    #[test]
    fn a_product_is_the_rate_times_the_largest_rtt_of_the_flows() {
        // 2 (25 + 10 + 15) ms at 1 MB/s.
        let limit = |queue: &str, traffic: &str| scenario(DUMBBELL, queue, traffic).unwrap().queues[0].spec.limit;
        let queue = |limit: &str| format!("[queue.bottleneck]\naqm = 'red'\nlimit = '{limit}'");
        assert_eq!(limit(&queue("1 bdp"), "kind = 'ftp'"), Limit::Bytes(100_000));
        assert_eq!(limit(&queue("0.5bdp"), "kind = 'ftp'"), Limit::Bytes(50_000));
        // Only the first pair counts, whose receiver is at 5 ms.
        assert_eq!(limit(&queue("1 bdp"), "kind = 'ftp'\npairs = [1]"), Limit::Bytes(90_000));
        // Written in full it is an equal scenario, whatever the seed.
        let one = scenario(DUMBBELL, &queue("1 bdp"), "kind = 'ftp'").unwrap();
        assert_eq!(one.to_json()["queue"]["bottleneck"]["limit"], "100000 B");
    }

    #[test]
    fn the_other_direction_has_its_own_rate() {
        let topology = format!("{DUMBBELL}\nreverse = {{ rate = '1 Mbit/s', delay = '15 ms' }}");
        let queues = "[queue.bottleneck]\naqm = 'red'\n[queue.reverse]\naqm = 'droptail'\nlimit = '2 bdp'";
        let two = scenario(&topology, queues, "kind = 'ftp'").unwrap();
        assert_eq!(two.queues[1].spec.limit, Limit::Bytes(25_000));
    }

    #[test]
    fn faults_name_the_field() {
        let fault = |limit: &str, traffic: &str| {
            let queue = format!("[queue.bottleneck]\naqm = 'red'\nlimit = '{limit}'");
            scenario(DUMBBELL, &queue, traffic).unwrap_err()
        };
        let without = fault("1 bdp", "kind = 'cbr'\nrate = '1 Mbit/s'");
        assert!(without.starts_with("queue.bottleneck.limit: has no round-trip time"), "{without}");
        for (limit, message) in [
            ("0 bdp", "is out of range"),
            ("1e6 bdp", "is out of range"),
            ("nan bdp", "is out of range"),
            ("bdp", "does not start with a number"),
            ("0.001 bdp", "holds no packet of this scenario"),
        ] {
            let found = fault(limit, "kind = 'ftp'");
            assert!(found.starts_with(&format!("queue.bottleneck.limit: {message}")), "{found}");
        }
    }
}
