//! Demotion: links that must be stepped after all because of the order of events.

use super::feeders::{each_hop, sizes, Feeder};
use super::folds::{origin, DEEPEST_FOLD};
use super::merges::{common_origins, Common};
use super::mode::{is_fold, stepped, Mode};
use super::sketch::Sketch;
use super::times::{ahead, shortest_timer, transmission, TOLERANCE};
use earlydrop_net::tcp::ns2::core::MIN_RTO;
use std::collections::BTreeMap;

/// Demotes links whose mode the order of events does not allow; returns whether there were any.
pub fn demote(network: &Sketch, feeders: &[Feeder], apart: &[bool], modes: &mut [Mode]) -> bool {
    let mut changed = demote_behind_delays(network, modes) | demote_small_queues(network, modes);
    for link in 0..modes.len() {
        let unfounded = match (modes[link], feeders[link]) {
            (Mode::SlowFold, Feeder::Link(source)) => {
                !matches!(modes[source as usize], Mode::Merge | Mode::AnalyticPort)
            }
            _ => false,
        };
        if is_fold(modes[link]) && (unfounded || origin(feeders, modes, link).1 > DEEPEST_FOLD) {
            modes[link] = Mode::Stepped;
            changed = true;
        }
    }
    // Where streams merge, simultaneous arrivals must be ordered by their histories. That holds if every stream arrives
    // by its own events; if all streams are folds of one link from an origin that starts packets by events; or if all
    // are folds of one depth from one serial origin.
    let common = common_origins(network, feeders, apart, modes);
    let mut demoted = Vec::new();
    each_hop(network, |feeder, link| {
        if common[link] != Common::Mixed {
            return;
        }
        if let Feeder::Link(source) = feeder {
            demoted.push(source as usize);
        } else if modes[link] == Mode::Merge {
            demoted.push(link);
        }
    });
    for link in demoted {
        let demoted = stepped(modes[link]);
        changed |= demoted != modes[link];
        modes[link] = demoted;
    }
    changed |= demote_mixed_streams(network, feeders, modes);
    changed |= demote_ambiguous_ports(network, modes);
    changed |= demote_ambiguous_ends(network, modes);
    changed
}

/// A receiver with delayed ACKs takes segments by events, since its timer may expire between them: the link in front of
/// it is stepped.
fn demote_behind_delays(network: &Sketch, modes: &mut [Mode]) -> bool {
    let mut changed = false;
    for flow in (0..network.flows()).filter(|&flow| network.spec(flow).options.ack_waits().next().is_some()) {
        if let Some(&first) = network.route(flow).1.first() {
            let demoted = stepped(modes[first as usize]);
            changed |= demoted != modes[first as usize];
            modes[first as usize] = demoted;
        }
    }
    changed
}

/// A sender that bounds its own queue hears of each end of a transmission on its first link, which is stepped.
fn demote_small_queues(network: &Sketch, modes: &mut [Mode]) -> bool {
    let mut changed = false;
    for flow in (0..network.flows()).filter(|&flow| network.spec(flow).options.has_small_queue()) {
        let first = network.route(flow).0[0] as usize;
        let demoted = stepped(modes[first]);
        changed |= demoted != modes[first];
        modes[first] = demoted;
    }
    changed
}

/// How far ahead links push arrivals, s: stepped ones, and folds with their index.
#[derive(Default)]
struct Pushed {
    stepped: Vec<f64>,
    folds: Vec<(usize, f64)>,
}

/// Streams can tie before they meet: on links equally far from the meeting point, packets sent simultaneously arrive
/// simultaneously. If one link is a fold and another is stepped, the fold's arrival gets its number ahead of time and
/// the other's does not (its packet may have waited behind a longer one). So the fold is stepped too.
fn demote_mixed_streams(network: &Sketch, feeders: &[Feeder], modes: &mut [Mode]) -> bool {
    // By meeting point and hops before it.
    let mut pushed: BTreeMap<(usize, usize), Pushed> = BTreeMap::new();
    for flow in 0..network.flows() {
        let (forward, reverse) = network.route(flow);
        let way: Vec<usize> = forward.iter().chain(reverse).map(|&link| link as usize).collect();
        let (data, acks) = sizes(network.spec(flow));
        for (meeting, &link) in way.iter().enumerate() {
            if feeders[link] != Feeder::Several {
                continue;
            }
            // Backwards, through the sender from its ACKs to its segments, to where the streams met before.
            for before in 1..way.len() {
                let hop = (meeting + way.len() - before) % way.len();
                let source = way[hop];
                if feeders[source] == Feeder::Several {
                    break;
                }
                if modes[source] != Mode::Stepped && !is_fold(modes[source]) {
                    continue;
                }
                let Pushed { stepped, folds } = pushed.entry((link, before)).or_default();
                for &size in if hop < forward.len() { &data } else { &acks } {
                    let ahead = ahead(network, source, size);
                    if is_fold(modes[source]) {
                        folds.push((source, ahead));
                    } else {
                        stepped.push(ahead);
                    }
                }
            }
        }
    }
    let mut changed = false;
    for Pushed { stepped, folds } in pushed.values_mut() {
        stepped.sort_unstable_by(f64::total_cmp);
        for &(fold, ahead) in folds.iter() {
            let next = stepped.partition_point(|&other| other < ahead - TOLERANCE);
            if is_fold(modes[fold]) && stepped.get(next).is_some_and(|&other| other <= ahead + TOLERANCE) {
                modes[fold] = Mode::Stepped;
                changed = true;
            }
        }
    }
    changed
}

/// Whether an arrival over `source` and an end of transmission at `link` can be scheduled equally far ahead.
pub fn is_ambiguous(network: &Sketch, source: usize, link: usize) -> bool {
    network.sizes.iter().any(|&a| {
        let ahead = ahead(network, source, a);
        network.sizes.iter().any(|&b| (ahead - transmission(network, link, b)).abs() <= TOLERANCE)
    })
}

/// The same where the sender of `flow` is in front of `link`: it sends when an ACK arrives or a timer expires. (What starts
/// a flow was scheduled before anything else.)
fn is_sender_ambiguous(network: &Sketch, flow: usize, link: usize) -> bool {
    let (spec, last) = (network.spec(flow), network.route(flow).1.last());
    let ends = || network.sizes.iter().map(|&size| transmission(network, link, size));
    let acks_tie = |last: usize| {
        sizes(spec).1.iter().any(|&size| ends().any(|end| (ahead(network, last, size) - end).abs() <= TOLERANCE))
    };
    spec.interval.is_some()
        || shortest_timer(spec).is_none_or(|timer| ends().any(|end| timer <= end + TOLERANCE))
        || last.is_none_or(|&last| acks_tie(last as usize))
}

/// An analytic port orders an arrival and a departure of the same time by when each was scheduled. If both are always
/// scheduled equally far ahead, that ties too, and only events decide.
fn demote_ambiguous_ports(network: &Sketch, modes: &mut [Mode]) -> bool {
    let mut changed = false;
    each_hop(network, |feeder, link| {
        if modes[link] != Mode::AnalyticPort {
            return;
        }
        let ambiguous = match feeder {
            Feeder::Link(source) => is_ambiguous(network, source as usize, link),
            // Below, flow by flow.
            Feeder::Sender => false,
            _ => true,
        };
        if ambiguous {
            modes[link] = Mode::SteppedPort;
            changed = true;
        }
    });
    for flow in 0..network.flows() {
        let first = network.route(flow).0[0] as usize;
        if modes[first] == Mode::AnalyticPort && is_sender_ambiguous(network, flow, first) {
            modes[first] = Mode::SteppedPort;
            changed = true;
        }
    }
    changed
}

/// An event pushed by a fold, a merge or an analytic port gets its number ahead of time. That matters only against an
/// end of transmission, a timer, or the next packet of a constant bit rate scheduled simultaneously for the same time.
/// Where one is possible, the last link of the fold is stepped.
fn demote_ambiguous_ends(network: &Sketch, modes: &mut [Mode]) -> bool {
    let mut ends: Vec<f64> = (0..modes.len())
        .filter(|&link| matches!(modes[link], Mode::Stepped | Mode::SteppedPort))
        .flat_map(|link| network.sizes.iter().map(move |&size| transmission(network, link, size)))
        // The next packet of a constant bit rate is such an event.
        .chain(network.specs.kinds().iter().filter_map(|flow| flow.interval))
        // So is the timer of a delayed ACK.
        .chain(network.specs.kinds().iter().flat_map(|flow| flow.options.ack_waits()))
        .collect();
    ends.sort_unstable_by(f64::total_cmp);
    ends.dedup();
    let meets_an_end = |ahead: f64| {
        let next = ends.partition_point(|&end| end < ahead - TOLERANCE);
        ends.get(next).is_some_and(|&end| end <= ahead + TOLERANCE)
    };
    let mut changed = false;
    for flow in 0..network.flows() {
        let (forward, reverse) = network.route(flow);
        let spec = network.spec(flow);
        let (data, acks) = sizes(spec);
        let hops = forward.iter().map(|&link| (link, &data)).chain(reverse.iter().map(|&link| (link, &acks)));
        let mut hops = hops.peekable();
        while let Some((link, sizes)) = hops.next() {
            let link = link as usize;
            let next = hops.peek().map(|&(next, _)| modes[next as usize]);
            // At a merge, ends of transmission do not matter.
            let early = !matches!(modes[link], Mode::Stepped | Mode::SteppedPort);
            if !early || next.is_some_and(|next| is_fold(next) || next == Mode::Merge) {
                continue;
            }
            let sink = next.is_none() && spec.interval.is_some();
            let ambiguous = !sink
                && sizes.iter().any(|&size| {
                    let ahead = ahead(network, link, size);
                    meets_an_end(ahead) || (next.is_none() && ahead >= MIN_RTO - TOLERANCE)
                });
            if ambiguous {
                modes[link] = stepped(modes[link]);
                changed = true;
            }
        }
    }
    changed
}
