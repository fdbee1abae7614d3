//! The results of a run.

use super::Engine;
use crate::engine::outcome::{FlowOutcome, Outcome, PortOutcome};
use crate::engine::state::end_to_end::sent;
use crate::engine::state::recorder::Recorder;
use crate::events::EventQueue;
use crate::losses::FlowLosses;

impl<Q: EventQueue> Engine<Q> {
    /// Collects the results, after the last event.
    pub fn finish(mut self) -> Outcome {
        let (warmup, end) = (self.settings.warmup, self.settings.duration);
        let rate = |link: u32| {
            let medium = self.media.iter().find(|&&(at, _)| at == link);
            let mean = medium.and_then(|(_, medium)| medium.mean_rate(self.settings.warmup, end));
            mean.unwrap_or(self.net.links[link as usize].wire.rate_bps)
        };
        let (ports, passing) = (std::mem::take(&mut self.net.ports), std::mem::take(&mut self.passing));
        let ports = ports.into_vec().into_iter().zip(passing).map(|(mut port, passing)| {
            let Recorder { trace, shares, rates, synchronisation, fates, .. } = port.finish(end);
            let (rate_bps, counters, has_average) = (rate(port.link), *port.counters(), port.average().is_some());
            let (bands, groups, parent) = (port.bands().to_vec(), port.groups(), port.parent());
            let (queued_at_start, queued_at_end) = (port.queued_at_start(), port.packets());
            let (name, aqm, stats) = port.into_results();
            PortOutcome {
                rate_bps,
                counters,
                has_average,
                passing,
                queued_at_start,
                queued_at_end,
                trace,
                shares,
                rates,
                synchronisation,
                fates,
                bands,
                groups,
                parent,
                name,
                aqm,
                stats,
            }
        });
        let ports = ports.collect();
        let flow_losses = self.finish_losses();
        // With many flows, the results need as much memory as the state that they replace.
        (self.net.links, self.net.folds, self.net.alike) = Default::default();
        (self.net.routes, self.net.steps, self.net.lags) = Default::default();
        self.pool = Vec::new();
        drop(self.queue);
        let flows =
            (self.net.flows.iter().zip(self.net.arrivals.iter()).enumerate()).map(|(index, (flow, arrivals))| {
                let past = self.applications.past_connections(index as u32);
                let rare = self.rare.get(index).copied().unwrap_or_default();
                let told = self.outside.told(index);
                let segments = self.payloads.segments(index, self.specs.kind(index as u32));
                FlowOutcome {
                    start: self.specs.start(index as u32),
                    payload: self.specs.kind(index as u32).payload,
                    in_order: segments.unwrap_or(arrivals.in_order),
                    received: arrivals.received,
                    delay_mean: arrivals.delay_ticks as f64
                        / self.ticks_per_second
                        / f64::from(arrivals.received.max(1)),
                    retransmits: flow.sender.retransmits() - rare.retransmits_before
                        + past.0
                        + told.map_or(0, |told| told.retransmits),
                    timeouts: flow.sender.timeouts() - rare.timeouts_before
                        + past.1
                        + told.map_or(0, |told| told.timeouts),
                    drops: arrivals.drops,
                    marks: arrivals.marks,
                    datagrams: self
                        .sources
                        .counted(index)
                        .or_else(|| self.rtp.counted(index))
                        .or_else(|| self.outside.counted(index)),
                    media: self.rtp.find(index).map(|one| Box::new(one.measured.finish(warmup, end, one.stop))),
                    payloads: match (told.and_then(|told| told.delivered), self.outside.counted(index)) {
                        (Some(delivered), Some((_, all))) => Some((delivered, all)),
                        _ => self.payloads.counted(index, self.specs.kind(index as u32)),
                    },
                    transfers: self.applications.of_flow(index as u32),
                    lost: rare.lost,
                    expired: rare.expired,
                }
            });
        Outcome {
            ports,
            flows: flows.collect(),
            transfers: self.applications.finish(),
            losses_by_distance: self.losses_by_distance,
            lost: self.media.iter().map(|(link, medium)| (*link, medium.lost)).collect(),
            series: self.series,
            rates: self.rates.map(|rates| *rates),
            variables: self.variables,
            round_trips: self.round_trips,
            variations: self.variations,
            packet_delays: self.packet_delays,
            flow_losses,
            events: self.events,
            links: self.link_counts,
        }
    }

    /// By flow: packets sent and lost; empty if not asked for.
    fn finish_losses(&mut self) -> Vec<FlowLosses> {
        let Some(losses) = self.losses.take() else { return Vec::new() };
        let mut flows = losses.flows;
        for (index, (of_flow, flow)) in flows.iter_mut().zip(self.net.flows.iter()).enumerate() {
            let datagrams = self.datagrams(index).map_or(0, |(sent, _)| sent as i64);
            of_flow.sent += sent(&flow.sender) + datagrams;
        }
        flows
    }
}
