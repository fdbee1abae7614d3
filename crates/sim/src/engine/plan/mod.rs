//! The plan: which links can be worked out by arithmetic, decided from the graph when the network is built.
//!
//! A link is *stepped* (arrival and end of transmission are events) wherever streams merge in an order that events
//! must decide, a discipline looks at departures, or packets wait in bursts. It is *arithmetic* where the order of
//! its packets is already fixed and nothing can be dropped: then its departures follow from two numbers, and the
//! packet goes on to the next hop in the same call. The choice changes no result; `docs/engine.md` has the argument,
//! and a test compares every run with the all-stepped one.

mod answers;
mod demote;
mod feeders;
mod folds;
mod merges;
mod mode;
mod times;

pub use merges::Early;
pub use mode::Mode;

use super::network::{LinkSpec, Network};
use answers::answers_ahead;
use demote::demote;
use feeders::{feeders, neighbours, Feeder};
use folds::{alike, first_guess, never_waits};
use merges::early;
use std::collections::BTreeSet;
use times::TOLERANCE;

/// Modes of all links of a network.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Mode by link.
    pub modes: Vec<Mode>,
    /// The merges that packets may pass ahead of their time, by rising number of the link.
    pub early: Vec<(u32, Early)>,
    /// By link: whether every packet finds the one before gone for some time.
    pub apart: Vec<bool>,
    /// By link that needs no events though packets may wait: the size of a full segment there, bytes; 0 where ACKs of several
    /// sizes pass.
    pub full: Vec<u16>,
    /// Whether senders take ACKs ahead of their time; their own links need no events then.
    pub answers_ahead: bool,
}

impl Plan {
    /// Every hop stepped: right for any network, and the oracle.
    pub fn all_stepped(network: &Network) -> Plan {
        let mode = |link: &LinkSpec| if link.port.is_some() { Mode::SteppedPort } else { Mode::Stepped };
        let modes: Vec<Mode> = network.links.iter().map(mode).collect();
        let links = modes.len();
        Plan { apart: vec![false; links], full: vec![0; links], modes, early: Vec::new(), answers_ahead: false }
    }

    /// Arithmetic where the graph allows it. `decides_at_enqueue[p]`: port p's discipline needs no events of its own.
    pub fn from_graph(network: &Network, decides_at_enqueue: &[bool]) -> Plan {
        if network.needs_events || !goes_one_way(network) {
            return Plan::all_stepped(network);
        }
        let feeders = feeders(network);
        let neighbours = neighbours(network);
        let alike = alike(network, &feeders, &neighbours);
        let mut modes: Vec<Mode> = (0..network.links.len())
            .map(|link| first_guess(network, &feeders, &neighbours[link], decides_at_enqueue, &alike, link))
            .collect();
        // All links from one source in the same way, so that their packets can be told apart.
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
        let answers_ahead = network.transfers.is_empty() && answers_ahead(network, &feeders, &neighbours, &modes);
        if answers_ahead {
            (0..network.flows()).for_each(|flow| modes[network.route(flow).0[0] as usize] = Mode::Own);
        }
        let full = neighbours.iter().map(|at| if at.one_size { at.data.1 } else { 0 }).collect();
        Plan { modes, early, apart, full, answers_ahead }
    }

    /// Whether and when packets may pass `link` ahead of their time.
    pub fn early(&self, link: u32) -> Option<Early> {
        let at = self.early.binary_search_by_key(&link, |&(merge, _)| merge).ok()?;
        Some(self.early[at].1)
    }

    /// How many links are run by arithmetic, and how many by events.
    pub fn count(&self) -> (usize, usize) {
        let arithmetic = self.modes.iter().filter(|m| !matches!(m, Mode::Stepped | Mode::SteppedPort)).count();
        (arithmetic, self.modes.len() - arithmetic)
    }
}

/// Whether the rules below have been argued for this network, and drawn by the test that compares plans: every flow goes
/// through one port at most on its way out and one on its way back, the same for all; no link carries both data and ACKs;
/// nothing is lost or late on a link, and no time to live is used up.
fn goes_one_way(network: &Network) -> bool {
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
        if network.time_to_live(flow).expires.is_some()
            || !one_port(forward, &mut port_out)
            || !one_port(reverse, &mut port_back)
        {
            return false;
        }
    }
    network.media.is_empty() && !out.iter().zip(&back).any(|(&out, &back)| out && back)
}
