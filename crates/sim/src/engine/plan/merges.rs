//! Where streams merge: what they have in common, and which merges packets may pass ahead of time.

use super::super::network::Network;
use super::feeders::{each_hop, Feeder};
use super::folds::origin;
use super::mode::{by_events, Mode};
use super::times::{ahead, TOLERANCE};
use std::collections::BTreeMap;

/// A merge whose packets all come, by folds, from one link that sends them one at a time. Then the first packet that
/// can still come after this one is known to be no earlier than the origin's next start plus the shortest way here;
/// what arrives before that may pass at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Early {
    /// The link that sends them.
    pub origin: u32,
    /// Shortest way from a start at the origin to the merge, for segments with data, s.
    pub latency: f64,
    /// The same if a SYN, which is shorter, may come.
    pub latency_of_syn: f64,
}

/// Merges that packets may pass ahead of time.
pub fn early(network: &Network, feeders: &[Feeder], apart: &[bool], modes: &[Mode]) -> Vec<(u32, Early)> {
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
            let spec = &network.flow_specs[flow];
            let latency = |data: u16| {
                let hops = way.iter().enumerate().take(end).skip(begin);
                let total: f64 = hops
                    .map(|(hop, &l)| ahead(network, l, if hop < forward.len() { data } else { spec.acks()[0] }))
                    .sum();
                total - TOLERANCE
            };
            let data = latency(spec.wire);
            // Its answer is no smaller than the smallest ACK.
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

/// What the streams that meet in a link have in common: the origin and depth of their folds, if all have the same.
/// `usize::MAX` stands for any origin that starts packets by events, if they are apart on the folded link: where one
/// begins as the one before ends, the event of that end decides its order among the streams.
pub fn common_origins(network: &Network, feeders: &[Feeder], apart: &[bool], modes: &[Mode]) -> Vec<Common> {
    let mut common = vec![Common::Nothing; modes.len()];
    each_hop(network, |feeder, link| {
        if feeders[link] != Feeder::Several {
            return;
        }
        let (from, depth) = match feeder {
            Feeder::Link(source) => descent(feeders, apart, modes, source as usize),
            // Agents send at events of their own.
            _ => (usize::MAX, 0),
        };
        common[link] = common[link].and(from, depth);
    });
    common
}

/// Origin and depth of the fold that ends in `link`, as far as streams that meet must have them in common: see
/// [`common_origins`].
fn descent(feeders: &[Feeder], apart: &[bool], modes: &[Mode], link: usize) -> (usize, u8) {
    match origin(feeders, modes, link) {
        (from, depth) if by_events(modes[from]) && (depth == 0 || (depth == 1 && apart[link])) => (usize::MAX, depth),
        found => found,
    }
}
