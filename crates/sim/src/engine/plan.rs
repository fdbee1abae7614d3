//! The plan: which links can be worked out by arithmetic, decided from the graph when the network is built.
//!
//! A link is *stepped* (arrival and end of transmission are events) wherever streams merge in an order that events
//! must decide, a discipline looks at departures, or packets wait in bursts. It is *arithmetic* where the order of
//! its packets is already fixed and nothing can be dropped: then its departures follow from two numbers, and the
//! packet goes on to the next hop in the same call. The choice changes no result; `docs/engine.md` has the argument,
//! and a test compares every run with the all-stepped one.

use super::network::Network;

/// How a link is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Arrivals are events, departures arithmetic; nothing is ever dropped.
    Merge,
    /// No event at all: one serial source feeds it, in the order of its packets.
    Fold,
    /// A plain FIFO with events.
    Stepped,
    /// A port whose discipline decides at enqueue: departures are arithmetic.
    ArithmeticPort,
    /// A port with events.
    SteppedPort,
}

/// Who feeds a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeder {
    Nobody,
    Link(u32),
    Sender,
    /// Receivers, all of them behind this link.
    ReceiverBehind(u32),
    Several,
}

/// A fold of more links would lose the order of simultaneous arrivals.
const DEEPEST_FOLD: u8 = 2;

/// Modes of all links of a network.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Mode by link.
    pub modes: Vec<Mode>,
}

impl Plan {
    /// Every hop stepped: right for any network, and the oracle.
    pub fn all_stepped(network: &Network) -> Plan {
        let mode =
            |link: &super::network::LinkSpec| if link.port.is_some() { Mode::SteppedPort } else { Mode::Stepped };
        Plan { modes: network.links.iter().map(mode).collect() }
    }

    /// Arithmetic where the graph allows it. `decides_at_enqueue[p]`: port p's discipline needs no events of its own.
    pub fn from_graph(network: &Network, decides_at_enqueue: &[bool]) -> Plan {
        let feeders = feeders(network);
        let mut modes: Vec<Mode> =
            (0..network.links.len()).map(|link| first_guess(network, &feeders, decides_at_enqueue, link)).collect();
        while demote(network, &feeders, &mut modes) {}
        Plan { modes }
    }

    /// How many links are run by arithmetic, and how many by events.
    pub fn count(&self) -> (usize, usize) {
        let arithmetic =
            self.modes.iter().filter(|m| matches!(m, Mode::Merge | Mode::Fold | Mode::ArithmeticPort)).count();
        (arithmetic, self.modes.len() - arithmetic)
    }
}

/// Calls `visit(feeder, link)` for every hop of every route.
fn each_hop(network: &Network, mut visit: impl FnMut(Feeder, usize)) {
    for flow in 0..network.flows() {
        let (forward, reverse) = network.route(flow);
        let mut feeder = Feeder::Sender;
        for &link in forward {
            visit(feeder, link as usize);
            feeder = Feeder::Link(link);
        }
        feeder = forward.last().map_or(Feeder::Several, |&last| Feeder::ReceiverBehind(last));
        for &link in reverse {
            visit(feeder, link as usize);
            feeder = Feeder::Link(link);
        }
    }
}

fn feeders(network: &Network) -> Vec<Feeder> {
    let mut feeders = vec![Feeder::Nobody; network.links.len()];
    each_hop(network, |feeder, link| {
        feeders[link] = match feeders[link] {
            Feeder::Nobody => feeder,
            known if known == feeder => known,
            _ => Feeder::Several,
        };
    });
    feeders
}

fn first_guess(network: &Network, feeders: &[Feeder], decides_at_enqueue: &[bool], link: usize) -> Mode {
    let rate = |link: usize| network.links[link].rate_bps;
    if let Some(port) = network.links[link].port {
        return if decides_at_enqueue[port as usize] { Mode::ArithmeticPort } else { Mode::SteppedPort };
    }
    match feeders[link] {
        // A link at least as fast as its only source never lets two packets wait for each other.
        Feeder::Link(source) | Feeder::ReceiverBehind(source) if rate(link) >= rate(source as usize) => Mode::Fold,
        Feeder::Several => Mode::Merge,
        _ => Mode::Stepped,
    }
}

/// Where a fold begins, and how many links it has up to and including `link`; depth 0 is not folded.
fn origin(feeders: &[Feeder], modes: &[Mode], link: usize) -> (usize, u8) {
    let (mut at, mut depth) = (link, 0);
    while modes[at] == Mode::Fold && depth <= DEEPEST_FOLD {
        depth += 1;
        match feeders[at] {
            Feeder::Link(source) | Feeder::ReceiverBehind(source) => at = source as usize,
            _ => break,
        }
    }
    (at, depth)
}

/// Takes back choices that the order of events does not allow; whether there were any.
fn demote(network: &Network, feeders: &[Feeder], modes: &mut [Mode]) -> bool {
    let mut changed = false;
    for link in 0..modes.len() {
        if modes[link] == Mode::Fold && origin(feeders, modes, link).1 > DEEPEST_FOLD {
            modes[link] = Mode::Stepped;
            changed = true;
        }
    }
    // Where streams merge, simultaneous arrivals must come in the order of their histories. That holds if every
    // stream arrives by events of its own; if every stream is a fold of one link from an origin that starts packets
    // by events; or if all are folds of one depth from one serial origin.
    let mut common: Vec<Option<(usize, u8)>> = vec![None; modes.len()];
    let mut mixed = vec![false; modes.len()];
    each_hop(network, |feeder, link| {
        if feeders[link] != Feeder::Several {
            return;
        }
        let here = match feeder {
            Feeder::Link(source) => match origin(feeders, modes, source as usize) {
                (origin, depth) if depth <= 1 && matches!(modes[origin], Mode::Stepped | Mode::SteppedPort) => {
                    (usize::MAX, depth)
                }
                found => found,
            },
            // Agents send at events of their own.
            _ => (usize::MAX, 0),
        };
        match common[link] {
            None => common[link] = Some(here),
            Some(known) if known == here => {}
            Some(_) => mixed[link] = true,
        }
    });
    let mut demoted = Vec::new();
    each_hop(network, |feeder, link| {
        if !mixed[link] {
            return;
        }
        if let Feeder::Link(source) = feeder {
            demoted.push(source as usize);
        } else if modes[link] == Mode::Merge {
            demoted.push(link);
        }
    });
    for link in demoted {
        let stepped = match modes[link] {
            Mode::Fold | Mode::Merge => Mode::Stepped,
            Mode::ArithmeticPort => Mode::SteppedPort,
            other => other,
        };
        changed |= stepped != modes[link];
        modes[link] = stepped;
    }
    // An arithmetic port settles a tie between an arrival and a departure by when each was scheduled. If both are
    // always scheduled a common time ahead, that is a tie too, which only events can settle.
    each_hop(network, |feeder, link| {
        if modes[link] != Mode::ArithmeticPort {
            return;
        }
        let ambiguous = match feeder {
            Feeder::Link(source) => {
                let source = &network.links[source as usize];
                network.sizes.iter().any(|&a| {
                    let ahead = 8.0 * f64::from(a) / source.rate_bps + source.delay_s;
                    network.sizes.iter().any(|&b| {
                        let transmission = 8.0 * f64::from(b) / network.links[link].rate_bps;
                        (ahead - transmission).abs() <= 1e-9 * transmission
                    })
                })
            }
            _ => true,
        };
        if ambiguous {
            modes[link] = Mode::SteppedPort;
            changed = true;
        }
    });
    changed
}
