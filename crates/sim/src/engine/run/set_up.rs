//! Builds the state of a network from its description and schedules the first events.

use super::Engine;
use crate::engine::network::{Network, FLOWS_IN_CACHE};
use crate::engine::outcome::{SenderSeries, Series};
use crate::engine::plan::{Mode, Plan};
use crate::engine::settings::Settings;
use crate::engine::state::ahead::Hosts;
use crate::engine::state::applications::Applications;
use crate::engine::state::both_ways::BothWays;
use crate::engine::state::headers::Headers;
use crate::engine::state::hosts::BlockPool;
use crate::engine::state::link::{Link, NONE};
use crate::engine::state::net::{ack_timers, Arrivals, Flow, Net, Payloads, STAGES};
use crate::engine::state::order::{AheadMerge, Instant, AHEAD, START};
use crate::engine::state::outside::Outside;
use crate::engine::state::port::Port;
use crate::engine::state::recorder::Recorder;
use crate::engine::state::routes::{routes, TimesToLive, OWN_LINKS};
use crate::engine::state::rows::Rows;
use crate::engine::state::rtp::RtpFlows;
use crate::engine::state::sources::Sources;
use crate::engine::state::starts::Starts;
use crate::engine::state::{end_to_end, hosts};
use crate::engine::trace::QueueTrace;
use crate::events::{EventQueue, Kind};
use crate::pages::{give_back_free, space};
use crate::shares;
use crate::shares::Shares;
use earlydrop_net::tcp::sizes::SYN_BYTES;
use earlydrop_net::tcp::Output;
use earlydrop_net::Segment;

/// With more ports their state exceeds the caches.
const PORTS_IN_CACHE: usize = 100;

/// Whether the state of `network` exceeds the caches, so that a large queue ([`EventQueue::LARGE`]) is faster.
pub fn is_large(network: &Network) -> bool {
    network.flows() > FLOWS_IN_CACHE || network.ports.len() > PORTS_IN_CACHE
}

impl<Q: EventQueue> Engine<Q> {
    /// The engine for `network` with the modes of `plan`.
    pub fn new(mut network: Network, plan: Plan, settings: Settings) -> Self {
        let (rows, links) = Rows::new(&network, &plan);
        let (routes, steps, lags) = routes(&network, &plan, &rows, &settings, Q::LARGE);
        let passing = network.passing();
        let headers = Headers::new(&network);
        let ticks_per_second = Segment::ticks_per_second(settings.duration);
        let variations = end_to_end::variations(&network, &settings, ticks_per_second);
        let packet_delays = vec![Vec::new(); settings.delay_flows.len()];
        let tcp_flows = settings.trace_headers.then(|| end_to_end::tcp_flows(&network));
        let losses = settings.losses.then(|| Box::new(end_to_end::Losses::new(&network)));
        let loss_rtts = end_to_end::loss_rtts(&network, &settings);
        let ideals = end_to_end::ideals(&network);
        let flow_count = network.flows();
        let times_to_live = (0..flow_count).map(|flow| network.time_to_live(flow));
        let times_to_live = TimesToLive::new(times_to_live.map(|time| (time.initial, time.last)));
        let hosts = Hosts::new(&network, &plan);
        // Many flows: the network and the engine's state together would be the most memory of a run.
        network.forget_routes();
        let mut port_links = vec![0; network.ports.len()];
        for (index, link) in network.links.iter().enumerate() {
            if let Some(port) = link.port {
                port_links[port as usize] = index;
            }
        }
        let link_counts = plan.count();
        let timers = network.ports.len() as u64;
        let together: f64 = port_links.iter().map(|&link| network.links[link].rate_bps).sum();
        let largest = network.sizes.iter().copied().max().unwrap_or(SYN_BYTES);
        let spacing = if together > 0.0 { 8.0 * f64::from(largest) / together } else { 1e-3 };
        let ports: Vec<Port> = (network.ports.into_iter().zip(port_links))
            .map(|(spec, link)| {
                let rate_bps = network.links[link].rate_bps;
                Port::new(spec, rows.of[link], rate_bps, plan.modes[link] == Mode::AnalyticPort)
            })
            .collect();
        let stages = if ports.len() > PORTS_IN_CACHE { STAGES } else { 1 };
        let (mut port_of, mut disciplines) = (Vec::new(), Vec::new());
        if stages == STAGES {
            let port = |link: &Link| if link.has_port() { link.port } else { NONE };
            port_of.extend(links.links.iter().map(port));
            disciplines.extend(ports.iter().map(Port::discipline_address));
        }
        let media = network.media.into_iter().map(|(link, medium)| (rows.of[link as usize], medium)).collect();
        let hosts_ahead = plan.hosts_ahead;
        let watches = hosts_ahead || plan.modes.contains(&Mode::Passed);
        drop((network.links, rows, plan));
        let own_links =
            [links.links.len(), links.folds.len()].map(|rows| (rows / flow_count.max(1)).min(OWN_LINKS) as u32);
        let mut specs = network.specs;
        let mut flows = space(flow_count);
        flows.extend(specs.in_order().map(|(spec, clock_phase)| Flow {
            sender: hosts::sender(spec, clock_phase, 0),
            deadline: f64::INFINITY,
            armed_at: 0.0,
            armed_cause: 0.0,
            armed_number: 0,
            entry: f64::INFINITY,
            acks_coming: 0,
            wire: spec.wire,
            header: spec.wire.saturating_sub(spec.payload),
            chain_cause: 0,
            chain_number: 0,
        }));
        let both_ways = BothWays::new(&network.both_ways, &mut flows);
        let mut arrivals = space(flow_count);
        arrivals.extend(specs.in_order().map(|(spec, _)| Arrivals {
            receiver: hosts::receiver(spec, 0),
            in_order: 0,
            received: 0,
            delay_ticks: 0,
            drops: 0,
            marks: 0,
        }));
        let opening = specs.in_order().filter(|(spec, _)| spec.interval.is_none()).count() as u32;
        specs.forget_clock_phases();
        let mut engine = Engine {
            queue: Q::new(spacing),
            // The numbers up to here belong to the policies' timers.
            counter: timers,
            events: 0,
            instant: Instant::default(),
            watches,
            mark: if hosts_ahead { AHEAD } else { 0 },
            contradicted: false,
            hosts,
            end: 0.0,
            net: Net {
                links: links.links.into(),
                folds: links.folds.into(),
                alike: links.alike.into(),
                steps: steps.into(),
                lags: lags.into(),
                times_to_live,
                routes,
                flows: flows.into(),
                arrivals: arrivals.into(),
                ports: ports.into(),
                port_of,
                disciplines,
                end: settings.duration,
                stages,
                own_links: (own_links[0], own_links[1]),
            },
            sources: Sources::new(network.sources, flow_count),
            both_ways,
            rtp: RtpFlows::new(network.media_flows, flow_count),
            outside: Outside::new(&network.outside, flow_count),
            applications: Applications::new(
                network.transfers,
                &ideals,
                network.web_clients,
                network.groups,
                flow_count,
            ),
            starts: Starts::default(),
            stops: network.stops,
            writers: network.writers.into_iter().collect(),
            rare: Vec::new(),
            opening,
            small_queues: specs.kinds().iter().any(|spec| spec.options.has_small_queue()),
            ack_timers: ack_timers(&specs),
            payloads: Payloads::new(&specs),
            specs,
            merges: links.merges.into_iter().map(|early| AheadMerge::new(early, spacing)).collect::<Vec<_>>().into(),
            media,
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
            tcp_flows,
            losses,
            link_counts,
            passing,
            ticks_per_second,
            answers_until: if settings.warmup > 0.0 {
                settings.warmup.min(settings.duration)
            } else {
                settings.duration
            },
            replay: Default::default(),
            settings,
        };
        engine.schedule_starts();
        engine.watch_losses(&loss_rtts);
        if flow_count > FLOWS_IN_CACHE {
            give_back_free();
        }
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
            series.gauges = vec![vec![]; if self.settings.gauges { ports } else { 0 }];
            series.senders = vec![SenderSeries::default(); self.settings.cwnd_flows.len()];
            self.schedule(0.0, START, Kind::Sample, 0);
        }
        let traced = match &self.settings.trace_ports[..] {
            [] => &[0][..],
            ports => ports,
        };
        for (index, port) in self.net.ports.iter_mut().enumerate() {
            let keep = self.settings.trace.filter(|_| traced.contains(&(index as u32)));
            let trace = keep.map(|keep| QueueTrace::new(keep, self.tcp_flows.clone()));
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
            self.net.flows[flow as usize].sender.trace(true);
        }
        self.starts = Starts::new(self.specs.starts(), self.settings.duration, self.counter + 1);
        self.counter += self.net.flows.len() as u64;
        for event in self.starts.first_events(self.specs.starts()) {
            self.queue.push(event, 3);
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
