//! Links that one source feeds: whether they need no events, and where folds begin.

use super::super::network::Network;
use super::feeders::{sizes, Feeder, Neighbour};
use super::mode::{is_fold, Mode};
use super::times::{ahead, keeps_step, transmission, TOLERANCE};
use earlydrop_net::tcp::sizes::{ACK_BYTES, SYN_BYTES};

/// A fold of more links would lose the order of simultaneous arrivals.
pub const DEEPEST_FOLD: u8 = 2;

/// How a link could be run if it were alone; the order of events may take it back.
pub fn first_guess(
    network: &Network,
    feeders: &[Feeder],
    neighbour: &Neighbour,
    decides_at_enqueue: &[bool],
    alike: &[bool],
    link: usize,
) -> Mode {
    if let Some(port) = network.links[link].port {
        return if decides_at_enqueue[port as usize] { Mode::ArithmeticPort } else { Mode::SteppedPort };
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

/// Whether no packet at `link` ever waits for the one before: the next one comes no sooner than its transmission at the
/// source takes.
///
/// With `margin` (s), not even to the instant.
pub fn never_waits(network: &Network, at: &Neighbour, source: usize, link: usize, margin: f64) -> bool {
    let over_before =
        |first: u16, next: u16| transmission(network, link, first) + margin <= transmission(network, source, next);
    if at.flows == 1 {
        // A segment without payload ends at the receiver, which does not answer it: it may wait there for the one before,
        // if that does not hold up the next one, and that takes no more time for both than the source does.
        let bare = at.bare.is_none_or(|(source, here)| {
            over_before(here, source) && (at.ends || (over_before(at.data.1, source) && over_before(at.syn.1, source)))
        });
        // A SYN never comes after data of its flow.
        return bare
            && over_before(at.data.1, at.data.0)
            && over_before(at.syn.1, at.data.0)
            && (at.syns_apart || over_before(at.syn.1, at.syn.0));
    }
    over_before(at.largest_here, at.smallest_at_source)
}

/// Whether the links that `source` feeds are all alike, for each source: one flow each, one rate, data of one size; and
/// an arrival there is scheduled longer ahead than a transmission there takes.
///
/// Two packets that start on two such links at one time do so in the order of the events that started them. Where a
/// packet has waited, that is the end of the transmission before it, else its arrival, which was scheduled before that.
/// So the one with fewer transmissions before it since the link was idle comes first, and these cannot be equally many,
/// as the source is serial. A SYN must take less time than data: what follows it without a pause comes last.
///
/// Where doubles become coarser, transmissions in step with one another may round to one time; the engine notes that.
pub fn alike(network: &Network, feeders: &[Feeder], neighbours: &[Neighbour]) -> Vec<bool> {
    let mut common = vec![None; network.links.len()];
    let mut alike = vec![true; network.links.len()];
    for (link, feeder) in feeders.iter().enumerate() {
        let Feeder::Link(source) = *feeder else { continue };
        let (at, source) = (&neighbours[link], source as usize);
        let here = (network.links[link].rate_bps, at.data.1);
        let spec = &network.flow_specs[at.flow as usize];
        alike[source] &= at.flows == 1
            && (at.one_size || spec.options.rfc.is_some())
            && (!at.carries_syns || at.data.1 > at.syn.1)
            && at.bare.is_none_or(|(_, bare)| at.data.1 > bare)
            && *common[source].get_or_insert(here) == here
            && keeps_step(transmission(network, link, at.data.1), ahead(network, source, SYN_BYTES))
            && [at.data, at.syn]
                .iter()
                .chain(&at.bare)
                .all(|size| transmission(network, link, at.largest_here) + TOLERANCE < ahead(network, source, size.0))
            && (spec.options.rfc.is_none() || {
                let (data, acks) = sizes(spec);
                let shortest = ahead(network, source, ACK_BYTES);
                let passing = if at.acks { acks } else { data };
                passing.iter().all(|&size| keeps_step(transmission(network, link, size), shortest))
            });
    }
    alike
}

/// Where a fold begins, and how many links it has up to and including `link`; depth 0 is not folded.
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
