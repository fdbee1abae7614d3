//! What the plan is decided on: the network with two flows of each class. Flows of a class have the same settings, share
//! the same links, and have links of their own that are alike. Exchanging two of them changes nothing that the rules see,
//! so a rule for any two flows of a class holds for all of them; a million flows are decided like two.

use super::super::network::{FlowSettings, FlowSpec, LinkSpec, Network, PortSpec};
use std::collections::{BTreeMap, BTreeSet};

/// With more classes all flows are taken: those of a network whose flows all differ.
const MOST_CLASSES: usize = 4096;
/// No link of the sketch.
const NONE: u32 = u32::MAX;

/// A part of a network, with numbers of its own for links and flows, in the order of the network's.
pub struct Sketch<'a> {
    pub links: Vec<LinkSpec>,
    pub ports: &'a [PortSpec],
    pub sizes: &'a [u16],
    pub specs: &'a FlowSettings,
    network: &'a Network,
    /// By flow of the sketch: its number in the network.
    taken: Vec<u32>,
    /// By link of the sketch: the same.
    pub links_taken: Vec<u32>,
    hops: Vec<u32>,
    /// By flow: where its hops start, and how many lead there.
    routes: Vec<(u32, u8)>,
    /// By link of the network: its number in the sketch, or that of the link of the class that stands for it.
    pub link_of: Vec<u32>,
}

/// The first and the last flow of a class.
struct Class {
    first: u32,
    last: u32,
}

impl<'a> Sketch<'a> {
    /// The whole network.
    pub fn whole(network: &'a Network) -> Self {
        let links_taken = (0..network.links.len() as u32).collect();
        Self::of(network, (0..network.flows() as u32).collect(), links_taken)
    }

    /// Two flows of each class.
    pub fn new(network: &'a Network) -> Self {
        let passing = passing(network);
        let Some((classes, class_of)) = classes(network, &passing) else { return Self::whole(network) };
        let taken: BTreeSet<u32> = classes.iter().flat_map(|class| [class.first, class.last]).collect();
        let mut links_taken = BTreeSet::new();
        for &flow in &taken {
            let (out, back) = network.route(flow as usize);
            links_taken.extend(out.iter().chain(back).copied());
        }
        // Of links that no flow passes one of each kind: rules look at all rates and delays.
        let mut idle = BTreeMap::new();
        let kind = |link: &LinkSpec| (link.rate_bps.to_bits(), link.delay_s.to_bits(), link.port);
        for (link, index) in network.links.iter().zip(0..) {
            if passing[index as usize] == 0 && *idle.entry(kind(link)).or_insert(index) == index {
                links_taken.insert(index);
            }
        }
        let mut sketch = Self::of(network, taken.into_iter().collect(), links_taken.into_iter().collect());
        for (index, link) in network.links.iter().enumerate() {
            if passing[index] == 0 {
                sketch.link_of[index] = sketch.link_of[idle[&kind(link)] as usize];
            }
        }
        for (flow, &class) in class_of.iter().enumerate() {
            let (out, back) = network.route(flow);
            let (first_out, first_back) = network.route(classes[class as usize].first as usize);
            for (&link, &first) in out.iter().zip(first_out).chain(back.iter().zip(first_back)) {
                if sketch.link_of[link as usize] == NONE {
                    sketch.link_of[link as usize] = sketch.link_of[first as usize];
                }
            }
        }
        sketch
    }

    /// The sketch with these flows and links.
    fn of(network: &'a Network, taken: Vec<u32>, links_taken: Vec<u32>) -> Self {
        let mut link_of = vec![NONE; network.links.len()];
        for (&link, number) in links_taken.iter().zip(0..) {
            link_of[link as usize] = number;
        }
        let (mut hops, mut routes) = (Vec::new(), Vec::with_capacity(taken.len()));
        for &flow in &taken {
            let (out, back) = network.route(flow as usize);
            routes.push((hops.len() as u32, out.len() as u8));
            hops.extend(out.iter().chain(back).map(|&link| link_of[link as usize]));
        }
        Sketch {
            links: links_taken.iter().map(|&link| network.links[link as usize]).collect(),
            ports: &network.ports,
            sizes: &network.sizes,
            specs: &network.specs,
            network,
            taken,
            links_taken,
            hops,
            routes,
            link_of,
        }
    }

    /// Number of flows.
    pub fn flows(&self) -> usize {
        self.taken.len()
    }

    /// The settings of a flow.
    pub fn spec(&self, flow: usize) -> &FlowSpec {
        self.network.spec(self.taken[flow] as usize)
    }

    /// The links of a flow, forward and reverse.
    pub fn route(&self, flow: usize) -> (&[u32], &[u32]) {
        let (first, out) = self.routes[flow];
        let end = self.routes.get(flow + 1).map_or(self.hops.len(), |&(next, _)| next as usize);
        self.hops[first as usize..end].split_at(usize::from(out))
    }

    /// Whether the time to live of a flow expires.
    pub fn expires(&self, flow: usize) -> bool {
        self.network.time_to_live(self.taken[flow] as usize).expires.is_some()
    }
}

/// How often flows pass each link: never, once, or more often.
fn passing(network: &Network) -> Vec<u8> {
    let mut passing = vec![0_u8; network.links.len()];
    for flow in 0..network.flows() {
        let (out, back) = network.route(flow);
        out.iter().chain(back).for_each(|&link| passing[link as usize] = (passing[link as usize] + 1).min(2));
    }
    passing
}

/// The classes of all flows, and the class of each; `None` if there are too many.
fn classes(network: &Network, passing: &[u8]) -> Option<(Vec<Class>, Vec<u32>)> {
    let (mut known, mut classes): (BTreeMap<Vec<u64>, u32>, Vec<Class>) = Default::default();
    let mut class_of = Vec::with_capacity(network.flows());
    let (mut key, mut last_key, mut last_class) = (Vec::new(), Vec::new(), 0);
    let mut order: Vec<u32> = Vec::new();
    for flow in 0..network.flows() {
        let (out, back) = network.route(flow);
        key.clear();
        let kind = u64::from(network.specs.kind_number(flow as u32));
        key.extend([kind, out.len() as u64, u64::from(network.time_to_live(flow).expires.is_some())]);
        for &link in out.iter().chain(back) {
            let LinkSpec { rate_bps, delay_s, port } = network.links[link as usize];
            let own = passing[link as usize] == 1 && port.is_none();
            key.extend(if own { [1, rate_bps.to_bits(), delay_s.to_bits()] } else { [0, u64::from(link), 0] });
        }
        // Rules go through links by number.
        order.clear();
        order.extend(out.iter().chain(back));
        order.sort_unstable();
        let place = |link: &u32| order.binary_search(link).map_or(0, |place| place as u64);
        key.extend(out.iter().chain(back).map(place));
        if key != last_key || classes.is_empty() {
            last_key.clone_from(&key);
            last_class = match known.get(&key) {
                Some(&class) => class,
                None if classes.len() == MOST_CLASSES => return None,
                None => {
                    classes.push(Class { first: flow as u32, last: flow as u32 });
                    known.insert(key.clone(), classes.len() as u32 - 1);
                    classes.len() as u32 - 1
                }
            };
        }
        classes[last_class as usize].last = flow as u32;
        class_of.push(last_class);
    }
    Some((classes, class_of))
}

#[cfg(test)]
mod tests {
    use super::super::Plan;
    use super::*;
    use crate::scenario::{check, Doc};

    #[test]
    fn two_flows_stand_for_all_of_a_class() {
        // Receivers of two delays in turn, senders of one; flows of two TCPs; one pair without a flow.
        let text = "name = 'd'\nduration = '1 s'\n[topology]\nkind = 'dumbbell'\npairs = 61\n\
            senders = { rate = '100 Mbit/s', delay = '5 ms' }\n\
            receivers = { rate = '90 Mbit/s', delay = ['2 ms', '5 ms'] }\n\
            bottleneck = { rate = '1 Gbit/s', delay = '10 ms' }\n[queue.bottleneck]\naqm = 'red'\nlimit = 100\n\
            [[traffic]]\nkind = 'ftp'\ncount = 40\n[[traffic]]\nkind = 'ftp'\ncount = 20\nsegment = '500 B'\n";
        let scenario = Doc::from_toml(text, None).and_then(|doc| check(&doc, None)).unwrap();
        let network = crate::run::build(&scenario, 1).unwrap();
        let (sketch, whole) = (Sketch::new(&network), Sketch::whole(&network));
        assert_eq!((sketch.flows(), whole.flows()), (2 * 4, 60));
        assert_eq!((network.links.len(), whole.links.len()), (2 + 4 * 61, 2 + 4 * 61));
        let plan = |sketch: Sketch| {
            let plan = Plan::of_sketch(&sketch, &[true], true).unwrap();
            plan.of_whole(&sketch)
        };
        let (short, long) = (plan(sketch), plan(whole));
        assert_eq!(short, long);
        assert!(short.count().0 > 0, "some links need no events");
    }
}
