//! Hosts that run ahead of time: what the last queue sends them they process in the same call.

use super::mode::Mode;
use super::Plan;
use crate::engine::network::Network;
use std::collections::BTreeSet;

/// A plan that assumes that no two events tie in an order that only their numbers decide; the run stops if two do
/// (`docs/engine.md`, "Hosts ahead of time"). None if no host could run ahead, or if the proven `plan` is as good.
///
/// A host may run ahead if it has one flow, of endless data, whose links to and from both hosts are its own.
pub fn ahead(network: &Network, plan: &Plan) -> Option<Plan> {
    let modern = (network.specs.kinds()).iter().any(|spec| spec.options.rfc.is_some());
    if plan.count().0 > 0 && !modern {
        return None;
    }
    let mut flows_of = vec![0_u32; network.links.len()];
    for flow in 0..network.flows() {
        let (forward, reverse) = network.route(flow);
        forward.iter().chain(reverse).for_each(|&link| flows_of[link as usize] += 1);
    }
    let finite = network.transfers.iter().map(|&(flow, _)| flow);
    let media = network.media_flows.iter().map(|&(flow, _)| flow);
    let both = network.both_ways.iter().flat_map(|&(flow, back)| [flow, back]);
    let stopped = network.stops.iter().map(|&(flow, _)| flow);
    let others: BTreeSet<u32> = finite.chain(media).chain(both).chain(stopped).collect();
    let own = |link: u32| {
        let at = &network.links[link as usize];
        at.port.is_none() && flows_of[link as usize] == 1 && !network.varies(link)
    };
    let mut ahead = Plan::passing(network);
    let mut round_trips = BTreeSet::new();
    for flow in (0..network.flows()).filter(|&flow| !others.contains(&(flow as u32))) {
        let (forward, reverse) = network.route(flow);
        let (&[_, .., last, to], &[.., last_back, home]) = (forward, reverse) else { continue };
        let (out, back) = (forward[0], reverse[0]);
        let fits = [out, to, back, home].into_iter().all(own)
            && [last, last_back].into_iter().all(|link| network.keeps_order(link))
            && network.time_to_live(flow).expires.is_none()
            && !network.spec(flow).options.has_small_queue();
        if fits {
            [out, to, back, home].into_iter().for_each(|link| ahead.modes[link as usize] = Mode::Fold);
            ahead.hosts_ahead = true;
            let delays = forward.iter().chain(reverse).map(|&link| network.links[link as usize].delay_s);
            // Flows in step tie sooner or later.
            if !round_trips.insert(delays.sum::<f64>().to_bits()) {
                return None;
            }
        }
    }
    ahead.hosts_ahead.then_some(ahead)
}
