//! Hosts that run ahead of time: what the last queue sends them they process in the same call.

use super::mode::Mode;
use crate::engine::network::Network;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a link that may lead from a host or to it.
#[derive(Clone, Copy)]
struct End {
    fits: bool,
    /// The host's other link.
    other: Option<u32>,
    /// What comes before: a link, or the host.
    before: Option<Option<u32>>,
}

impl End {
    fn join(&mut self, other: u32, before: Option<u32>) {
        self.fits &= *self.other.get_or_insert(other) == other && *self.before.get_or_insert(before) == before;
    }
}

/// Modes that assume that no two events tie in an order that only their numbers decide (`docs/engine.md`, "Hosts ahead of
/// time"). `modes` are those without hosts ahead. None if no host could run ahead.
///
/// A host may run ahead if all its flows have endless data, and its two links lead from and to nothing else.
pub fn ahead(network: &Network, mut modes: Vec<Mode>) -> Option<Vec<Mode>> {
    let finite = network.transfers.iter().map(|&(flow, _)| flow);
    let media = network.media_flows.iter().map(|&(flow, _)| flow);
    let both = network.both_ways.iter().flat_map(|&(flow, back)| [flow, back]);
    let stopped = network.stops.iter().map(|&(flow, _)| flow);
    let written = network.writers.iter().map(|&(flow, ..)| flow);
    let others: BTreeSet<u32> = finite.chain(media).chain(both).chain(stopped).chain(written).collect();
    let plain = |link: usize| network.links[link].port.is_none() && !network.varies(link as u32);
    let end = |link| End { fits: plain(link), other: None, before: None };
    let mut ends: Vec<End> = (0..network.links.len()).map(end).collect();
    for flow in 0..network.flows() {
        let (forward, reverse) = network.route(flow);
        let fits = !others.contains(&(flow as u32))
            && forward.len() > 2
            && reverse.len() > 1
            && network.time_to_live(flow).expires.is_none()
            && !network.spec(flow).options.has_small_queue();
        for (there, back) in [(forward, reverse), (reverse, forward)] {
            let [out, .., last, home] = *there else { continue };
            let middle = &there[1..there.len() - 1];
            middle.iter().for_each(|&link| ends[link as usize].fits = false);
            let (Some(&back_out), Some(&back_home)) = (back.first(), back.last()) else {
                [out, home].into_iter().for_each(|link| ends[link as usize].fits = false);
                continue;
            };
            ends[out as usize].join(back_home, None);
            ends[home as usize].join(back_out, Some(last));
            ends[home as usize].fits &= network.keeps_order(last);
            [out, home].into_iter().for_each(|link| ends[link as usize].fits &= fits);
        }
    }
    let fits = |link: u32| {
        let end = ends[link as usize];
        end.fits && end.other.is_some_and(|other| ends[other as usize].fits)
    };
    let mut any = false;
    let mut round_trips = BTreeMap::new();
    for flow in 0..network.flows() {
        let (&[out, .., to], &[back, .., home]) = network.route(flow) else { continue };
        if !fits(out) && !fits(back) {
            continue;
        }
        let run_ahead = [out, to, back, home].into_iter().filter(|&link| fits(link));
        run_ahead.for_each(|link| modes[link as usize] = Mode::Fold);
        any = true;
        // Hosts in step tie sooner or later.
        let (forward, reverse) = network.route(flow);
        let delays = forward.iter().chain(reverse).map(|&link| network.links[link as usize].delay_s);
        let pair = (out.min(back), out.max(back));
        if *round_trips.entry(delays.sum::<f64>().to_bits()).or_insert(pair) != pair {
            return None;
        }
    }
    any.then_some(modes)
}
