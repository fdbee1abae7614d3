//! Whether senders may process ACKs ahead of their arrival time.

use super::demote::is_ambiguous;
use super::feeders::{sizes, Feeder, Neighbour};
use super::mode::{is_fold, Mode};
use super::sketch::Sketch;
use super::times::{ahead, keeps_step, transmission, TOLERANCE};
use earlydrop_net::tcp::ns2::core::MIN_RTO;
use earlydrop_net::tcp::sizes::SYN_BYTES;

/// Whether senders may process ACKs ahead of their arrival time: all their ACKs come, over folds, from one serial link,
/// and the segments sent in response go over the sender's own link and then by an event to a port. These links have one
/// rate and one data size, whose transmission takes less time than an ACK or a timer is scheduled ahead.
pub fn answers_ahead(network: &Sketch, feeders: &[Feeder], neighbours: &[Neighbour], modes: &[Mode]) -> bool {
    let mut serial = None;
    let mut uniform = None;
    (0..network.flows()).all(|flow| {
        let (forward, reverse) = network.route(flow);
        // Packets without feedback are sent by events of their own.
        let Some(&last) = reverse.last() else { return false };
        let spec = network.spec(flow);
        let (first, last) = (forward[0] as usize, last as usize);
        let Feeder::Link(from) = feeders[last] else { return false };
        let (data, _) = sizes(spec);
        let shortest = ahead(network, last, spec.acks()[0]);
        spec.options.rfc.is_none()
            && neighbours[first].flows == 1
            && spec.wire > SYN_BYTES
            && modes[first] == Mode::Stepped
            && forward.get(1).is_some_and(|&next| takes_early(network, modes, first, next as usize))
            && is_fold(modes[last])
            && !is_fold(modes[from as usize])
            && *serial.get_or_insert(from) == from
            && {
                let here = (network.links[first].rate_bps, spec.wire);
                *uniform.get_or_insert(here) == here
            }
            && keeps_step(transmission(network, first, spec.wire), shortest)
            && data.iter().all(|&size| transmission(network, first, size) + TOLERANCE < shortest.min(MIN_RTO))
    })
}

/// Whether arrivals over `link` may get their numbers ahead of time: `next` is a port, and none of its ends of
/// transmission can tie with one in both times. Analytic ports were chosen so.
fn takes_early(network: &Sketch, modes: &[Mode], link: usize, next: usize) -> bool {
    match modes[next] {
        Mode::AnalyticPort => true,
        Mode::SteppedPort => !is_ambiguous(network, link, next),
        _ => false,
    }
}
