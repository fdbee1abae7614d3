//! Links with a single source: whether they need no events, and where folds start.

use super::feeders::{Feeder, Neighbour};
use super::mode::{is_fold, Mode};
use super::sketch::Sketch;
use super::times::{ahead, keeps_step, transmission, TOLERANCE};
use earlydrop_net::tcp::sizes::SYN_BYTES;

/// Longest fold, links: a longer one would lose the order of simultaneous arrivals.
pub const DEEPEST_FOLD: u8 = 2;

/// The mode of a link considered on its own; `demote` may change it.
pub fn first_guess(
    network: &Sketch,
    feeders: &[Feeder],
    neighbour: &Neighbour,
    decides_at_enqueue: &[bool],
    alike: &[bool],
    link: usize,
) -> Mode {
    if let Some(port) = network.links[link].port {
        return if decides_at_enqueue[port as usize] { Mode::AnalyticPort } else { Mode::SteppedPort };
    }
    match feeders[link] {
        Feeder::Link(source) | Feeder::ReceiverBehind(source)
            if never_waits(network, neighbour, source as usize, link, 0.0) =>
        {
            Mode::Fold
        }
        Feeder::Several => Mode::Merge,
        Feeder::Link(source) if alike[source as usize] => Mode::SlowFold,
        _ => Mode::Stepped,
    }
}

/// Whether no packet at `link` ever waits: the next one arrives no sooner than its transmission at the source takes.
///
/// With a `margin` (s), not even to the instant.
pub fn never_waits(network: &Sketch, at: &Neighbour, source: usize, link: usize, margin: f64) -> bool {
    let over_before =
        |first: u16, next: u16| transmission(network, link, first) + margin <= transmission(network, source, next);
    if at.flows == 1 {
        // A segment without payload ends at the receiver, which does not answer it. So it may wait for the packet
        // before it, as long as it does not delay the next one, and both together take no longer than at the source.
        let bare = at.bare.is_none_or(|(source, here)| {
            over_before(here, source) && (at.ends || (over_before(at.data.1, source) && over_before(at.syn.1, source)))
        });
        // A SYN never follows data of its flow.
        return bare
            && over_before(at.data.1, at.data.0)
            && over_before(at.syn.1, at.data.0)
            && (at.syns_apart || over_before(at.syn.1, at.syn.0));
    }
    over_before(at.largest_here, at.smallest_at_source)
}

/// For each source, whether the links behind it are alike: one flow each, one rate, one data size, and arrivals
/// scheduled further ahead than a transmission takes.
///
/// Two packets that start simultaneously on two such links are ordered by the events that started them. If a packet has
/// waited, that is the end of the transmission before it; else it is its arrival, which was scheduled before that. So
/// the packet with fewer transmissions before it since its link was idle comes first, and the numbers differ because
/// the source is serial. A SYN must take less time than data: a packet that follows it without a pause comes last.
///
/// At powers of two, where doubles become coarser, synchronous transmissions may round to one time; the engine notes
/// that.
pub fn alike(network: &Sketch, feeders: &[Feeder], neighbours: &[Neighbour]) -> Vec<bool> {
    let mut common = vec![None; network.links.len()];
    let mut alike = vec![true; network.links.len()];
    for (link, feeder) in feeders.iter().enumerate() {
        let Feeder::Link(source) = *feeder else { continue };
        let (at, source) = (&neighbours[link], source as usize);
        let here = (network.links[link].rate_bps, at.data.1);
        alike[source] &= at.flows == 1
            && at.one_size
            && (!at.carries_syns || at.data.1 > at.syn.1)
            && *common[source].get_or_insert(here) == here
            && keeps_step(transmission(network, link, at.data.1), ahead(network, source, SYN_BYTES))
            && [at.data, at.syn]
                .iter()
                .all(|size| transmission(network, link, at.largest_here) + TOLERANCE < ahead(network, source, size.0));
    }
    alike
}

/// Where a fold starts, and its number of links up to and including `link`; depth 0 is no fold.
pub fn origin(feeders: &[Feeder], modes: &[Mode], link: usize) -> (usize, u8) {
    let (mut at, mut depth) = (link, 0);
    while is_fold(modes[at]) && depth <= DEEPEST_FOLD {
        depth += 1;
        match feeders[at] {
            Feeder::Link(source) | Feeder::ReceiverBehind(source) => at = source as usize,
            _ => break,
        }
    }
    (at, depth)
}
