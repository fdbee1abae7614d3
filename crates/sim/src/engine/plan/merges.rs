//! Where streams merge: what they have in common, and which merges packets may pass ahead of time.

use super::feeders::{each_hop, Feeder};
use super::folds::origin;
use super::mode::{by_events, Mode};
use super::sketch::Sketch;
use super::times::{ahead, TOLERANCE};
use std::collections::BTreeMap;

/// A merge all of whose packets come, over folds, from one link, the origin, which sends them one at a time. None comes
/// before the origin's next start plus the shortest path to here, so packets that arrive before that may pass at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Early {
    /// The origin: the link that sends them.
    pub origin: u32,
    /// Shortest path from a start at the origin to the merge, for data segments, s.
    pub latency: f64,
    /// The same if a SYN, which is shorter, may come.
    pub latency_of_syn: f64,
}

/// Merges that packets may pass ahead of time.
pub fn early(network: &Sketch, feeders: &[Feeder], apart: &[bool], modes: &[Mode]) -> Vec<(u32, Early)> {
    let common = common_origins(network, feeders, apart, modes);
    let mut early = BTreeMap::new();
    for flow in 0..network.flows() {
        let (forward, reverse) = network.route(flow);
        let way: Vec<usize> = forward.iter().chain(reverse).map(|&link| link as usize).collect();
        for (end, &link) in way.iter().enumerate() {
            let Common::Origin(from, _) = common[link] else { continue };
            if modes[link] != Mode::Merge || from == usize::MAX {
                continue;
            }
            let Some(begin) = way[..end].iter().rposition(|&l| l == from) else { continue };
            let spec = network.spec(flow);
            let latency = |data: u16| {
                let hops = way.iter().enumerate().take(end).skip(begin);
                let total: f64 = hops
                    .map(|(hop, &l)| ahead(network, l, if hop < forward.len() { data } else { spec.acks()[0] }))
                    .sum();
                total - TOLERANCE
            };
            let data = latency(spec.wire);
            // The answer is at least as large as the smallest ACK.
            let syn = latency(spec.syn()).min(data);
            let new = Early { origin: from as u32, latency: data, latency_of_syn: syn };
            let at = early.entry(link as u32).or_insert(new);
            at.latency = at.latency.min(data);
            at.latency_of_syn = at.latency_of_syn.min(syn);
        }
    }
    early.into_iter().collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Common {
    Nothing,
    Origin(usize, u8),
    Mixed,
}

impl Common {
    pub fn and(self, from: usize, depth: u8) -> Common {
        match self {
            Common::Nothing => Common::Origin(from, depth),
            known if known == Common::Origin(from, depth) => known,
            _ => Common::Mixed,
        }
    }
}

/// Common origin and depth of the folds that meet in a link, if they have one. `usize::MAX` stands for any origin that
/// starts packets by events, provided that they are apart on the folded link: if one starts as the one before ends, the
/// event of that end decides their order.
pub fn common_origins(network: &Sketch, feeders: &[Feeder], apart: &[bool], modes: &[Mode]) -> Vec<Common> {
    let mut common = vec![Common::Nothing; modes.len()];
    each_hop(network, |feeder, link| {
        if feeders[link] != Feeder::Several {
            return;
        }
        let (from, depth) = match feeder {
            Feeder::Link(source) => descent(feeders, apart, modes, source as usize),
            // Senders start packets by their own events.
            _ => (usize::MAX, 0),
        };
        common[link] = common[link].and(from, depth);
    });
    common
}

/// Origin and depth of the fold that ends in `link`, as far as meeting streams must have them in common; see
/// [`common_origins`].
fn descent(feeders: &[Feeder], apart: &[bool], modes: &[Mode], link: usize) -> (usize, u8) {
    match origin(feeders, modes, link) {
        (from, depth) if by_events(modes[from]) && (depth == 0 || (depth == 1 && apart[link])) => (usize::MAX, depth),
        found => found,
    }
}
