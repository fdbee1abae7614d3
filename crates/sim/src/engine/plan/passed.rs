//! Links that a packet passes in the call that sends it over the link before, if nothing can come between.

use super::mode::Mode;
use crate::engine::network::Network;

/// One hop in so many must be one over a passed link.
const FEWEST: u32 = 4;

/// The links of `network`, whose modes are all stepped, that packets may pass (`docs/engine.md`, "Passed links").
pub fn passed(network: &Network, modes: &[Mode]) -> Vec<usize> {
    let links = network.links.len();
    let (mut feeder, mut fits, mut firsts) = (vec![None; links], vec![true; links], vec![false; links]);
    let mut used = vec![0; links];
    for flow in 0..network.flows() {
        let (forward, reverse) = network.route(flow);
        let expires = network.time_to_live(flow).expires.is_some();
        for route in [forward, reverse] {
            let Some(&first) = route.first() else { continue };
            fits[first as usize] = false;
            firsts[first as usize] = true;
            route.iter().for_each(|&link| used[link as usize] += 1);
            for hop in route.windows(2) {
                let (from, to) = (hop[0], hop[1] as usize);
                fits[to] &= *feeder[to].get_or_insert(from) == from;
            }
            // Behind it is a host.
            let before = if expires { route } else { &route[..route.len() - 1] };
            before.iter().for_each(|&link| fits[link as usize] = false);
        }
    }
    let largest = match network.needs_events {
        true => u16::MAX,
        false => network.sizes.iter().copied().max().unwrap_or(u16::MAX),
    };
    let longest = |link: usize| 8.0 * f64::from(largest) / network.links[link].rate_bps;
    let of_hosts = (0..links).filter(|&link| firsts[link]).map(longest).fold(0.0, f64::max);
    let steady = |link: usize| !network.varies(link as u32);
    let passed: Vec<usize> = (0..links)
        .filter(|&link| fits[link] && modes[link] == Mode::Stepped && steady(link))
        .filter(|&link| of_hosts < network.links[link].delay_s)
        .filter(|&link| {
            feeder[link].is_some_and(|from| {
                let from = from as usize;
                steady(from) && longest(link) < network.links[from].delay_s
            })
        })
        .collect();
    // A passage saves an event; to watch the order of events costs a little with each.
    let saved: u32 = passed.iter().map(|&link| used[link]).sum();
    if saved * FEWEST < used.iter().sum() {
        return Vec::new();
    }
    passed
}
