//! The sources, senders and receivers of a traffic entry.

use crate::engine::network::{
    FlowSpec, MediaSpec, Network, PagePattern, SourceSpec, TransferSpec, WebRequests, WebSpec, WriterSpec,
};
use crate::scenario::{
    Completion, Connection, Delays, Ends, Ftp, InjectedRandom, Law, Load, Packets, Pages, TcpSpec, Traffic, Web, Writes,
};
use crate::topology::Times;
use earlydrop_aqm::random::Generator;
use earlydrop_net::source::{Cbr, Distribution, Frames, OnOff, Poisson, SessionPattern, Source, Transfers};

/// Phases of the RTT clocks of an entry's senders; by default uniform in a tick of 10 ms.
pub(super) fn phases(traffic: &Traffic) -> Delays {
    let given = traffic.tcp_spec().and_then(|spec| spec.clock_phase.clone());
    given.map_or(Delays::Uniform(0.0, 0.01), Delays::List)
}

/// Adds the flows of one traffic entry to a network.
pub(super) struct Agents<'a> {
    traffic: &'a Traffic,
    ends: &'a Ends,
    index: usize,
    seed: u64,
    phases: Times<'a>,
    /// Web clients to which the flows belong, the current client last.
    web_clients: Vec<WebSpec>,
}

impl<'a> Agents<'a> {
    pub fn new(traffic: &'a Traffic, ends: &'a Ends, phases: &'a Delays, index: usize, seed: u64) -> Self {
        let phases = Times::new(phases, seed, &format!("traffic.{index}.clock_phase"));
        Agents { traffic, ends, index, seed, phases, web_clients: Vec::new() }
    }

    /// Adds flow `i` of the entry with its start time, its forward path `there` and its reverse path `back`.
    pub fn add_flow(&mut self, network: &mut Network, i: usize, start: f64, there: &[u32], back: &[u32]) {
        let flow = match self.traffic.tcp_spec() {
            Some(spec) => {
                let phase = self.phases.get(i);
                let begin = start;
                let start = self.start(i, start);
                let flow = network.flow_with_ttl(
                    connection(spec, start, phase),
                    there,
                    back,
                    self.ends.ttl,
                    self.ends.ttl_option,
                );
                if let Some(transfers) = self.transfers(i) {
                    network.transfer(flow, transfers);
                    if let Some(clients) = self.web_clients.last_mut() {
                        clients.flows.push(flow);
                    }
                }
                if let Load::Ftp(Ftp { writes, lifetime, .. }) = &self.traffic.load {
                    let stop = lifetime.map(|lifetime| begin + lifetime);
                    if let Some(stop) = stop {
                        network.stop(flow, stop);
                    }
                    if let Some(writes) = writes {
                        let (stop, random) = (stop.unwrap_or(f64::INFINITY), self.random(i));
                        network.write(flow, WriterSpec { writes: writer(writes, spec.segment), stop, random });
                    }
                }
                flow
            }
            None => {
                if let Load::Media(media) = &self.traffic.load {
                    let stop = media.stop.unwrap_or(f64::INFINITY);
                    let spec = MediaSpec { settings: media.settings(), start, stop, random: self.random(i) };
                    let flow = network.media_flow(spec, there, back, self.ends.ttl, self.ends.ttl_option);
                    self.classify(network, flow);
                    return;
                }
                if let Load::Outside(load) = &self.traffic.load {
                    let flow = network.outside_flow(load.header, there, self.ends.ttl, self.ends.ttl_option);
                    self.classify(network, flow);
                    return;
                }
                let Some((source, header, stop)) = source(&self.traffic.load) else { return };
                let stop = stop.unwrap_or(f64::INFINITY);
                let spec = SourceSpec { source, header, start, stop, random: self.random(i) };
                network.source(spec, there, self.ends.ttl, self.ends.ttl_option)
            }
        };
        self.classify(network, flow);
    }

    fn classify(&self, network: &mut Network, flow: u32) {
        network.classify(flow, self.traffic.class);
        if let Some(dscp) = self.traffic.dscp {
            network.set_dscp(flow, dscp);
        }
    }

    /// The random numbers of flow `i`.
    fn random(&self, i: usize) -> Generator {
        match self.traffic.random {
            None => Generator::stream(self.seed, &format!("traffic.{}.flow.{i}", self.index)),
            Some(InjectedRandom::Mrg32k3a { seed, skip }) => Generator::ns2(seed, skip),
        }
    }

    /// Start time of a TCP flow. Flows of web clients wait for requests; the clients start with their first flow.
    fn start(&mut self, i: usize, start: f64) -> f64 {
        let requests = match &self.traffic.load {
            Load::Web(web) if i == 0 => WebRequests::Sessions(session_pattern(web)),
            Load::Pages(pages) if i.is_multiple_of(pages.connections as usize) => {
                WebRequests::Pages(page_pattern(pages))
            }
            Load::Web(_) | Load::Pages(_) => return f64::INFINITY,
            _ => return start,
        };
        let name = match self.web_clients.len() {
            0 => format!("traffic.{}.crowd", self.index),
            number => format!("traffic.{}.crowd.{number}", self.index),
        };
        let random = Generator::stream(self.seed, &name);
        self.web_clients.push(WebSpec { requests, random, start, flows: Vec::new() });
        f64::INFINITY
    }

    /// The finite transfers of TCP flow `i`; `None` if its data are unlimited.
    fn transfers(&self, i: usize) -> Option<TransferSpec> {
        if let Load::Ftp(_) = self.traffic.load {
            return None;
        }
        // Flows of one entry are counted together.
        let group = self.index as u32;
        let random = self.random(i);
        let spec = TransferSpec { transfers: None, random, fresh: true, received: false, request: None, group };
        match &self.traffic.load {
            Load::Transfers(load) => Some(TransferSpec {
                transfers: Some(Transfers::new(load.size.clone(), load.think.clone(), load.number)),
                fresh: load.connection == Connection::New,
                received: load.completion == Completion::Received,
                ..spec
            }),
            Load::Requests(load) => Some(TransferSpec {
                transfers: Some(Transfers::new(load.size.clone(), load.think.clone(), load.number)),
                fresh: load.connection == Connection::New,
                received: true,
                request: Some((load.request as u16, load.retry)),
                ..spec
            }),
            Load::Pages(load) => Some(TransferSpec {
                fresh: load.connection == Connection::New,
                received: true,
                request: Some((load.request as u16, load.retry)),
                ..spec
            }),
            Load::Web(load) => Some(TransferSpec { received: load.completion == Completion::Received, ..spec }),
            _ => None,
        }
    }

    /// Ends the entry: adds its web clients.
    pub fn finish(self, network: &mut Network) {
        network.web_clients.extend(self.web_clients);
    }
}

fn session_pattern(web: &Web) -> SessionPattern {
    SessionPattern {
        session_gap: Distribution::Exponential { mean: web.session_gap },
        pages: web.pages.clone(),
        page_gap: web.page_gap.clone(),
        objects: web.objects.clone(),
        object_gap: web.object_gap.clone(),
        size: web.size.clone(),
    }
}

fn page_pattern(pages: &Pages) -> PagePattern {
    PagePattern {
        objects: pages.objects.clone(),
        size: pages.size.clone(),
        think: pages.think.clone(),
        number: pages.number,
    }
}

fn connection(spec: &TcpSpec, start: f64, clock_phase: f64) -> FlowSpec {
    FlowSpec {
        flavour: spec.tcp,
        interval: None,
        start,
        clock_phase,
        window: spec.window as i32,
        payload: spec.segment as u16,
        wire: (spec.segment + spec.header) as u16,
        options: spec.options.clone(),
    }
}

/// When an application writes segments with this payload.
fn writer(writes: &Writes, payload: u32) -> OnOff {
    let interval = writes.interval(payload);
    let (on, off) = writes.periods.unwrap_or((interval, 0.0));
    OnOff::constant(interval, payload, on, off)
}

/// A source without feedback, its headers in bytes, and its stop time.
fn source(load: &Load) -> Option<(Source, u32, Option<f64>)> {
    let sizes = |packets: &Packets| packets.segment.clone();
    let interval = |bytes: u32, rate: f64| 8.0 * f64::from(bytes) / rate;
    Some(match load {
        Load::Cbr(cbr) => {
            let header = cbr.packets.header;
            (Source::Cbr(Cbr::new(cbr.rate, sizes(&cbr.packets), header, cbr.jitter)), header, cbr.packets.stop)
        }
        Load::OnOff(load) => {
            let interval = interval(load.segment + load.header, load.rate);
            let source = match load.law {
                Law::Exponential => OnOff::exponential(interval, load.segment, load.on, load.off),
                Law::Constant => OnOff::constant(interval, load.segment, load.on, load.off),
                Law::Pareto(shape) => OnOff::pareto(interval, load.segment, load.on, load.off, shape),
            };
            (Source::OnOff(source), load.header, load.stop)
        }
        Load::Poisson(load) => {
            let mean = load.packets.segment.mean() + f64::from(load.packets.header);
            let source = Poisson::new(load.rate / (8.0 * mean), sizes(&load.packets));
            (Source::Poisson(source), load.packets.header, load.packets.stop)
        }
        Load::Voip(load) => {
            let source = OnOff::exponential(load.interval, load.segment, load.on, load.off);
            (Source::OnOff(source), load.header, load.stop)
        }
        Load::Video(load) => {
            let frame: Distribution = load.frame.clone();
            let source = Frames::new(load.interval, frame, load.group.clone(), load.segment);
            (Source::Frames(source), load.header, load.stop)
        }
        _ => return None,
    })
}
