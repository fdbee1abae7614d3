//! Builds the state of a network from its description and schedules the first events.

use super::Engine;
use crate::engine::network::Network;
use crate::engine::outcome::Series;
use crate::engine::plan::{Mode, Plan};
use crate::engine::settings::Settings;
use crate::engine::state::applications::Applications;
use crate::engine::state::headers::Headers;
use crate::engine::state::hosts::BlockPool;
use crate::engine::state::link::{Link, NONE};
use crate::engine::state::net::{ack_timers, Arrivals, Flow, Net, Payloads, Tally, STAGES};
use crate::engine::state::order::{AheadMerge, START};
use crate::engine::state::port::Port;
use crate::engine::state::recorder::Recorder;
use crate::engine::state::routes::routes;
use crate::engine::state::sources::Sources;
use crate::engine::state::{end_to_end, hosts};
use crate::engine::trace::QueueTrace;
use crate::events::{EventQueue, Kind};
use crate::shares;
use crate::shares::Shares;
use earlydrop_net::tcp::sizes::SYN_BYTES;
use earlydrop_net::tcp::Output;
use earlydrop_net::{Segment, Wire};

/// With more flows, the state of a coming event's flow is prefetched.
const FLOWS_IN_CACHE: usize = 2000;
/// With more ports, the state of a coming event's port is prefetched.
const PORTS_IN_CACHE: usize = 100;

impl<Q: EventQueue> Engine<Q> {
    /// The engine for `network` with the modes of `plan`.
    pub fn new(mut network: Network, plan: &Plan, settings: Settings) -> Self {
        let (routes, steps, lags) = routes(&network, plan, &settings);
        let passing = network.passing();
        let headers = Headers::new(&network);
        let ticks_per_second = Segment::ticks_per_second(settings.duration);
        let variations = end_to_end::variations(&network, &settings, ticks_per_second);
        let packet_delays = vec![Vec::new(); settings.delay_flows.len()];
        let forward = settings.trace_headers.then(|| end_to_end::forward(&network));
        let losses = settings.losses.then(|| Box::new(end_to_end::Losses::new(&network)));
        let loss_rtts = end_to_end::loss_rtts(&network, &settings);
        let ideals = end_to_end::ideals(&network);
        let flow_count = network.flows();
        let times_to_live = (0..flow_count).map(|flow| network.time_to_live(flow));
        let times_to_live = times_to_live.map(|time| (time.initial, time.last)).collect::<Vec<_>>();
        // Many flows: the network and the engine's state together would be the most memory of a run.
        network.forget_routes();
        let mut port_links = vec![0; network.ports.len()];
        let mut early_merges = Vec::new();
        let mut links = Vec::with_capacity(network.links.len());
        links.extend((network.links.iter().zip(&plan.modes).enumerate()).map(|(index, (link, &mode))| {
            let mut place = NONE;
            if let Some(port) = link.port {
                port_links[port as usize] = index as u32;
                place = port;
            } else if let Some(early) = plan.early(index as u32) {
                place = early_merges.len() as u32;
                early_merges.push(early);
            }
            let wire = Wire::new(link.rate_bps, link.delay_s);
            let varies = network.varies(index as u32);
            let tail = match mode {
                Mode::SlowFold | Mode::Own => u32::from(plan.full[index]),
                _ => NONE,
            };
            Link { wire, cause: 0.0, reserved: 0, head: NONE, tail, mode, varies, port: place }
        }));
        let link_counts = plan.count();
        let timers = network.ports.len() as u64;
        let together: f64 = port_links.iter().map(|&link: &u32| network.links[link as usize].rate_bps).sum();
        let largest = network.sizes.iter().copied().max().unwrap_or(SYN_BYTES);
        let spacing = if together > 0.0 { 8.0 * f64::from(largest) / together } else { 1e-3 };
        let ports: Vec<Port> = (network.ports.into_iter().zip(port_links))
            .map(|(spec, link)| Port::new(spec, link, plan.modes[link as usize] == Mode::AnalyticPort))
            .collect();
        let stages = if ports.len() > PORTS_IN_CACHE { STAGES } else { usize::from(flow_count > FLOWS_IN_CACHE) };
        let (mut port_of, mut disciplines) = (Vec::new(), Vec::new());
        if stages == STAGES {
            port_of.extend(network.links.iter().map(|link| link.port.unwrap_or(NONE)));
            disciplines.extend(ports.iter().map(Port::discipline_address));
        }
        drop(network.links);
        let mut specs = network.specs;
        let mut flows = Vec::with_capacity(flow_count);
        flows.extend(specs.in_order().map(|(spec, clock_phase)| Flow {
            sender: hosts::sender(spec, clock_phase, 0),
            deadline: f64::INFINITY,
            armed_at: 0.0,
            armed_cause: 0.0,
            armed_number: 0,
            entry: f64::INFINITY,
            acks_coming: 0,
            wire: spec.wire,
            syn: spec.syn(),
            header: spec.wire.saturating_sub(spec.payload),
        }));
        let mut arrivals = Vec::with_capacity(flow_count);
        arrivals.extend(specs.in_order().map(|(spec, _)| Arrivals {
            receiver: hosts::receiver(spec, 0),
            in_order: 0,
            received: 0,
            delay_ticks: 0,
            header: spec.wire.saturating_sub(spec.payload),
            stamped_ack: hosts::stamped_ack(spec),
        }));
        let opening = specs.in_order().filter(|(spec, _)| spec.interval.is_none()).count() as u32;
        specs.forget_clock_phases();
        let mut engine = Engine {
            queue: Q::new(spacing),
            // The numbers up to here belong to the policies' timers.
            counter: timers,
            events: 0,
            end: 0.0,
            net: Net {
                links: links.into(),
                steps: steps.into(),
                lags: lags.into(),
                times_to_live: times_to_live.into(),
                routes: routes.into(),
                flows: flows.into(),
                arrivals: arrivals.into(),
                ports: ports.into(),
                port_of,
                disciplines,
                stages,
            },
            sources: Sources::new(network.sources, flow_count),
            applications: Applications::new(
                network.transfers,
                &ideals,
                network.web_clients,
                network.groups,
                flow_count,
            ),
            stops: network.stops,
            tallies: vec![Tally::default(); specs.len()].into(),
            rare: Vec::new(),
            opening,
            ack_timers: ack_timers(&specs),
            payloads: Payloads::new(&specs),
            specs,
            merges: early_merges.into_iter().map(|early| AheadMerge::new(early, spacing)).collect::<Vec<_>>().into(),
            media: network.media,
            losses_by_distance: Vec::new(),
            pool: Vec::new(),
            free_slot: NONE,
            out: Output::default(),
            dropped: Vec::new(),
            blocks: BlockPool::default(),
            headers,
            series: settings.series.map(|_| Series::default()),
            rates: settings.new_rates().map(Box::new),
            variables: Vec::new(),
            round_trips: Vec::new(),
            variations,
            packet_delays,
            forward,
            losses,
            link_counts,
            passing,
            ticks_per_second,
            answers_until: if settings.warmup > 0.0 {
                settings.warmup.min(settings.duration)
            } else {
                settings.duration
            },
            replay: Vec::new(),
            settings,
        };
        engine.schedule_starts();
        engine.watch_losses(&loss_rtts);
        engine
    }

    fn schedule_starts(&mut self) {
        if self.settings.warmup > 0.0 {
            self.schedule(self.settings.warmup, START, Kind::WindowStart, 0);
        }
        if let Some(series) = &mut self.series {
            let ports = self.net.ports.len();
            (series.packets, series.average, series.dropped) =
                (vec![vec![]; ports], vec![vec![]; ports], vec![vec![]; ports]);
            series.cwnd = vec![vec![]; self.settings.cwnd_flows.len()];
            self.schedule(0.0, START, Kind::Sample, 0);
        }
        let traced = match &self.settings.trace_ports[..] {
            [] => &[0][..],
            ports => ports,
        };
        for (index, port) in self.net.ports.iter_mut().enumerate() {
            let keep = self.settings.trace.filter(|_| traced.contains(&(index as u32)));
            let trace = keep.map(|keep| QueueTrace::new(keep, self.forward.clone()));
            let shares = self.settings.entry_of.as_deref().map(Shares::new);
            let recorded = self.settings.rate_ports.contains(&(index as u32));
            let rates = if recorded { self.settings.new_rates() } else { None };
            if trace.is_some() || shares.is_some() || rates.is_some() {
                *port.recorder() = Recorder::new(trace, shares, rates);
            }
        }
        if self.watches_receivers() {
            self.net.arrivals.iter_mut().for_each(|arrivals| arrivals.receiver.watch());
        }
        if let Some(entry_of) = &self.settings.entry_of {
            let entries = entry_of.iter().map(|&entry| usize::from(entry) + 1).max().unwrap_or(0);
            self.round_trips = vec![shares::histogram(); entries];
        }
        if let Some(flow) = self.settings.trace_flow {
            self.net.flows.rows_mut()[flow as usize].sender.trace(true);
        }
        for flow in 0..self.net.flows.len() as u32 {
            let start = self.specs.start(flow);
            // A flow of a web clients' pool waits for an object.
            if start < f64::INFINITY {
                self.schedule(start, START, Kind::Start, flow);
            }
        }
        for (flow, time) in std::mem::take(&mut self.stops) {
            self.schedule(time, START, Kind::Stop, flow);
        }
        self.schedule_web();
        for port in 0..self.net.ports.len() as u32 {
            self.schedule_policy_timer(port, START.now);
        }
    }
}
