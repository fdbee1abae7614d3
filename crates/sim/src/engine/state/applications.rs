//! State of finite transfers and web clients, and their counters.

use super::end_to_end::Ideal;
use super::link::NONE;
use crate::engine::network::{PagePattern, TransferSpec, WebRequests, WebSpec};
use crate::engine::outcome::{FlowTransfers, TransferOutcome};
use earlydrop_aqm::random::Generator;
use earlydrop_net::segment::REQUEST;
use earlydrop_net::source::{Object, Sessions, Transfers};
use earlydrop_net::Segment;
use std::collections::VecDeque;

/// All finite transfers of a network.
#[derive(Default)]
pub struct Applications {
    pub all: Vec<Application>,
    pub of_flow: Vec<u32>,
    pub web_clients: Vec<WebClients>,
    pub groups: Vec<TransferOutcome>,
    pub traced: bool,
}

impl Applications {
    pub fn new(
        specs: Vec<(u32, TransferSpec)>,
        ideals: &[Ideal],
        web_clients: Vec<WebSpec>,
        groups: u32,
        flows: usize,
    ) -> Self {
        let mut of_flow = if specs.is_empty() { Vec::new() } else { vec![NONE; flows] };
        let mut all: Vec<Application> = (specs.into_iter().zip(ideals).enumerate())
            .map(|(index, ((flow, spec), &ideal))| {
                of_flow[flow as usize] = index as u32;
                Application::new(spec, ideal)
            })
            .collect();
        let web_clients = web_clients.into_iter().enumerate().map(|(index, spec)| {
            let WebSpec { requests, mut random, start, flows } = spec;
            for &flow in &flows {
                let behaviour = &mut all[of_flow[flow as usize] as usize].spec;
                behaviour.clients = index as u32;
                behaviour.pages = matches!(requests, WebRequests::Pages(_));
            }
            let requests = match requests {
                WebRequests::Sessions(pattern) => {
                    let mut sessions = Sessions::new(pattern, &mut random);
                    let next = sessions.next(&mut random);
                    WebState::Sessions { sessions, next }
                }
                WebRequests::Pages(pattern) => WebState::Pages { pattern, page: Page::default() },
            };
            WebClients { requests, random, start, idle: flows.into(), waiting: VecDeque::new() }
        });
        let web_clients = web_clients.collect();
        Applications {
            all,
            of_flow,
            web_clients,
            groups: vec![TransferOutcome::default(); groups as usize],
            traced: false,
        }
    }

    /// Whether a flow has finite transfers.
    pub fn has(&self, flow: u32) -> bool {
        self.of_flow.get(flow as usize).is_some_and(|&index| index != NONE)
    }

    pub fn find(&self, flow: u32) -> Option<&Application> {
        self.all.get(*self.of_flow.get(flow as usize)? as usize)
    }

    pub fn of(&mut self, flow: u32) -> &mut Application {
        &mut self.all[self.of_flow[flow as usize] as usize]
    }

    /// The base added to a flow's numbers in flight.
    pub fn base(&self, flow: u32) -> i32 {
        self.find(flow).map_or(0, |application| application.base)
    }

    /// Keeps the bases, for [`shown`](Self::shown).
    pub fn trace(&mut self) {
        self.traced = true;
    }

    /// A segment's number within its connection.
    pub fn shown(&self, segment: &Segment) -> i32 {
        let Some(application) = self.find(segment.flow()) else { return segment.seq() };
        if segment.bits() & REQUEST != 0 {
            return segment.seq();
        }
        let before = application.bases.partition_point(|&base| base <= segment.seq());
        segment.seq() - before.checked_sub(1).map_or(0, |last| application.bases[last])
    }

    /// Starts the window: resets the counters.
    pub fn restart(&mut self) {
        for application in &mut self.all {
            application.past = (0, 0);
            application.completed = 0;
        }
        self.groups.iter_mut().for_each(|group| *group = TransferOutcome::default());
    }

    /// Retransmitted segments and timeouts of a flow's previous connections.
    pub fn past_connections(&self, flow: u32) -> (u32, u32) {
        self.find(flow).map_or((0, 0), |application| application.past)
    }

    /// The counters of a flow's transfers.
    pub fn of_flow(&self, flow: u32) -> Option<FlowTransfers> {
        self.find(flow).map(|application| FlowTransfers {
            completed: application.completed,
            ever_completed: application.ever_completed,
            time: (application.ever_completed == 1).then_some(application.time),
            slowdown: application.slowdown.filter(|_| application.ever_completed == 1),
        })
    }

    /// The counters of the groups.
    pub fn finish(&mut self) -> Vec<TransferOutcome> {
        std::mem::take(&mut self.groups)
    }

    /// A transfer of a flow completes.
    pub fn completed(&mut self, flow: u32, now: f64) {
        let application = self.of(flow);
        let time = now - application.started;
        application.completed += 1;
        application.ever_completed = application.ever_completed.saturating_add(1);
        application.time = time;
        let (bytes, group) = (application.bytes.unwrap_or(0), application.spec.group);
        if application.spec.pages {
            let clients = application.spec.clients;
            return self.completed_object(clients, group, now);
        }
        let slowdown =
            (bytes > 0).then(|| time / application.spec.ideal.time(application.segments, application.missing));
        application.slowdown = slowdown;
        let group = &mut self.groups[group as usize];
        group.bytes += bytes;
        group.times.push(time);
        group.slowdowns.extend(slowdown);
    }
}

impl Applications {
    /// An object of a page completes, and with the last one the page.
    fn completed_object(&mut self, clients: u32, group: u32, now: f64) {
        let WebState::Pages { page, .. } = &mut self.web_clients[clients as usize].requests else { return };
        page.open -= 1;
        if page.open == 0 {
            let group = &mut self.groups[group as usize];
            group.bytes += page.bytes;
            group.times.push(now - page.started);
        }
    }
}

/// State of a TCP flow's finite transfers.
pub struct Application {
    pub spec: Behaviour,
    pub transfers: Option<Transfers>,
    pub random: Generator,
    pub state: State,
    /// Added to the numbers of this connection's segments in flight.
    pub base: i32,
    /// Bases of all connections, if segments are traced.
    pub bases: Vec<i32>,
    /// Whether the sender has been used by a connection.
    pub used: bool,
    /// Data of the current or next transfer, bytes, and whether they have been drawn.
    pub bytes: Option<u64>,
    /// Number of its segments.
    pub segments: u32,
    /// Bytes that the last segment is short of a full one.
    pub missing: u32,
    /// Start of the transfer, s.
    pub started: f64,
    /// Its first data segment, until that is sent.
    pub first: Option<i64>,
    /// Whether the receiver has all data of the transfer.
    pub received: bool,
    /// Number of the requests sent, and time of the next retry, s.
    pub requests: i32,
    pub retry: f64,
    /// Retransmitted segments and timeouts of previous connections, within the window.
    pub past: (u32, u32),
    pub completed: u32,
    pub ever_completed: u32,
    pub time: f64,
    pub slowdown: Option<f64>,
}

impl Application {
    pub fn new(spec: TransferSpec, ideal: Ideal) -> Self {
        let TransferSpec { transfers, random, fresh, received, request, group } = spec;
        Application {
            spec: Behaviour { fresh, received, request, group, clients: NONE, pages: false, ideal },
            transfers,
            random,
            state: State::Idle,
            base: 0,
            bases: Vec::new(),
            used: false,
            bytes: None,
            segments: 0,
            missing: 0,
            started: 0.0,
            first: None,
            received: false,
            requests: 0,
            retry: 0.0,
            past: (0, 0),
            completed: 0,
            ever_completed: 0,
            time: 0.0,
            slowdown: None,
        }
    }
}

/// State of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Idle: before the first transfer, between two, after the last.
    Idle,
    /// The request is in flight.
    Requesting,
    /// Data are sent.
    Sending,
}

/// Constant properties.
#[derive(Clone, Copy)]
pub struct Behaviour {
    pub fresh: bool,
    pub received: bool,
    pub request: Option<(u16, f64)>,
    pub group: u32,
    /// The web clients to which the flow belongs.
    pub clients: u32,
    pub ideal: Ideal,
    /// Its transfers are objects of pages, which are counted as pages.
    pub pages: bool,
}

/// Web clients that request objects over a pool of flows.
pub struct WebClients {
    pub requests: WebState,
    pub random: Generator,
    pub start: f64,
    /// Idle flows, the longest idle first: late packets of its last transfer are gone.
    pub idle: VecDeque<u32>,
    /// Objects without a flow: request times and bytes.
    pub waiting: VecDeque<(f64, u64)>,
}

/// Requests of web clients.
pub enum WebState {
    /// The sessions, and their next object.
    Sessions { sessions: Sessions, next: Object },
    /// The current page.
    Pages { pattern: PagePattern, page: Page },
}

/// A page being loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Page {
    /// Number of pages started.
    pub number: u64,
    /// Start time, s.
    pub started: f64,
    /// Objects not complete, and the bytes of all objects.
    pub open: u64,
    pub bytes: u64,
}
