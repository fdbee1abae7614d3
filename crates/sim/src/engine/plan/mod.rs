//! The plan: which links are analytic, decided from the graph when the network is built (`docs/engine.md`).
//!
//! A link is *stepped* (an event for each arrival and each end of transmission) where streams merge in an order that
//! only events can decide, where a discipline acts at departures, or where packets wait in bursts. It is *analytic*
//! where the order of its packets is fixed and nothing can be dropped: departures then follow from arrival and end of
//! the last transmission, and the packet goes on to its next hop in the same call, which saves two events per packet. A
//! *fold* is an analytic link with a single serial source. The choice changes no result; a test compares runs with
//! all-stepped ones.

mod ahead;
mod answers;
mod demote;
mod feeders;
mod folds;
mod merges;
mod mode;
mod passed;
mod sketch;
mod times;

pub use merges::Early;
pub use mode::Mode;

use super::network::{LinkSpec, Network, FLOWS_IN_CACHE};
use answers::answers_ahead;
use demote::demote;
use feeders::{feeders, neighbours, Feeder};
use folds::{alike, first_guess, never_waits};
use merges::early;
use sketch::Sketch;
use std::collections::BTreeSet;
use times::TOLERANCE;

/// In networks of so many flows checked builds compare the plan of a part with that of the whole.
const MOST_CHECKED: usize = 3000;

/// Modes of the links of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Mode by link.
    pub modes: Vec<Mode>,
    /// Merges that packets may pass ahead of time, by rising number of the link.
    pub early: Vec<(u32, Early)>,
    /// By link: whether there is a pause before every packet.
    pub apart: Vec<bool>,
    /// Whether senders process ACKs ahead of time; their own links are then analytic.
    pub answers_ahead: bool,
    /// Whether hosts run ahead, so that a tie of events ends the run.
    pub hosts_ahead: bool,
}

impl Plan {
    /// Every link stepped: valid for any network, and the reference of the tests.
    pub fn all_stepped(network: &Network) -> Plan {
        let mode = |link: &LinkSpec| if link.port.is_some() { Mode::SteppedPort } else { Mode::Stepped };
        let modes: Vec<Mode> = network.links.iter().map(mode).collect();
        let links = modes.len();
        Plan { apart: vec![false; links], modes, early: Vec::new(), answers_ahead: false, hosts_ahead: false }
    }

    /// The same, but packets pass idle links in front of hosts.
    fn passing(network: &Network) -> Plan {
        let mut plan = Plan::all_stepped(network);
        passed::passed(network, &plan.modes).into_iter().for_each(|link| plan.modes[link] = Mode::Passed);
        plan
    }

    /// Analytic where the graph allows it. `decides_at_enqueue[p]`: the discipline of port p needs no events of its
    /// own.
    pub fn from_graph(network: &Network, decides_at_enqueue: &[bool]) -> Plan {
        if network.needs_events || !network.media.is_empty() {
            return Plan::passing(network);
        }
        let of = |sketch: Sketch| {
            let plan = Self::of_sketch(&sketch, decides_at_enqueue, network.transfers.is_empty());
            plan.map_or_else(|| Plan::passing(network), |plan| plan.of_whole(&sketch))
        };
        let plan = of(Sketch::new(network));
        debug_assert!(network.flows() > MOST_CHECKED || plan == of(Sketch::whole(network)), "a class is not uniform");
        plan
    }

    /// The plan of a part of a network; none if it must be stepped. `endless`: no flow has finite transfers.
    fn of_sketch(network: &Sketch, decides_at_enqueue: &[bool], endless: bool) -> Option<Plan> {
        if !goes_one_way(network) {
            return None;
        }
        let feeders = feeders(network);
        let neighbours = neighbours(network);
        let alike = alike(network, &feeders, &neighbours);
        let mut modes: Vec<Mode> = (0..network.links.len())
            .map(|link| first_guess(network, &feeders, &neighbours[link], decides_at_enqueue, &alike, link))
            .collect();
        // All folds behind one source have the same mode, so that their packets stay distinguishable.
        let slow: BTreeSet<Feeder> =
            modes.iter().zip(&feeders).filter(|(&mode, _)| mode == Mode::SlowFold).map(|(_, &feeder)| feeder).collect();
        for (mode, feeder) in modes.iter_mut().zip(&feeders) {
            if *mode == Mode::Fold && slow.contains(feeder) {
                *mode = Mode::SlowFold;
            }
        }
        let apart: Vec<bool> = (0..network.links.len())
            .map(|link| match feeders[link] {
                Feeder::Link(source) | Feeder::ReceiverBehind(source) => {
                    never_waits(network, &neighbours[link], source as usize, link, TOLERANCE)
                }
                _ => false,
            })
            .collect();
        while demote(network, &feeders, &apart, &mut modes) {}
        let early = early(network, &feeders, &apart, &modes);
        // The end of a transfer is an event.
        let answers_ahead = endless && answers_ahead(network, &feeders, &neighbours, &modes);
        if answers_ahead {
            (0..network.flows()).for_each(|flow| modes[network.route(flow).0[0] as usize] = Mode::Own);
        }
        Some(Plan { modes, early, apart, answers_ahead, hosts_ahead: false })
    }

    /// The plan of the whole network; `self` is that of its `sketch`.
    fn of_whole(self, sketch: &Sketch) -> Plan {
        let early = self.early.into_iter().map(|(link, early)| {
            let origin = sketch.links_taken[early.origin as usize];
            (sketch.links_taken[link as usize], Early { origin, ..early })
        });
        let mut early: Vec<_> = early.collect();
        early.sort_unstable_by_key(|&(link, _)| link);
        let links = || sketch.link_of.iter().map(|&link| link as usize);
        Plan {
            modes: links().map(|link| self.modes[link]).collect(),
            early,
            apart: links().map(|link| self.apart[link]).collect(),
            answers_ahead: self.answers_ahead,
            hosts_ahead: false,
        }
    }

    /// The same with hosts ahead of time, where that is possible and this plan has less.
    pub fn with_hosts_ahead(&self, network: &Network) -> Option<Plan> {
        let modern = network.specs.kinds().iter().any(|spec| spec.options.rfc.is_some());
        if (self.count().0 > 0 && !modern) || network.flows() > FLOWS_IN_CACHE {
            return None;
        }
        let plan = Plan::passing(network);
        let modes = ahead::ahead(network, plan.modes)?;
        Some(Plan { modes, hosts_ahead: true, apart: plan.apart, ..Plan::all_stepped(network) })
    }

    /// Whether and when packets may pass `link` ahead of time.
    pub fn early(&self, link: u32) -> Option<Early> {
        let at = self.early.binary_search_by_key(&link, |&(merge, _)| merge).ok()?;
        Some(self.early[at].1)
    }

    /// Number of analytic and of stepped links.
    pub fn count(&self) -> (usize, usize) {
        let analytic =
            self.modes.iter().filter(|m| !matches!(m, Mode::Stepped | Mode::Passed | Mode::SteppedPort)).count();
        (analytic, self.modes.len() - analytic)
    }
}

/// Whether the rules below are proven for this network, and covered by the tests that compare plans: every flow passes
/// at most one port in each direction, the same for all; no link carries both data and ACKs; no time to live expires.
fn goes_one_way(network: &Sketch) -> bool {
    let mut out = vec![false; network.links.len()];
    let mut back = out.clone();
    let (mut port_out, mut port_back) = (None, None);
    let one_port = |links: &[u32], known: &mut Option<u32>| {
        let mut ports = links.iter().filter_map(|&link| network.links[link as usize].port);
        match (ports.next(), ports.next()) {
            (None, _) => true,
            (Some(port), None) => *known.get_or_insert(port) == port,
            _ => false,
        }
    };
    for flow in 0..network.flows() {
        let (forward, reverse) = network.route(flow);
        forward.iter().for_each(|&link| out[link as usize] = true);
        reverse.iter().for_each(|&link| back[link as usize] = true);
        if network.expires(flow) || !one_port(forward, &mut port_out) || !one_port(reverse, &mut port_back) {
            return false;
        }
    }
    !out.iter().zip(&back).any(|(&out, &back)| out && back)
}
