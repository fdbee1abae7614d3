//! What is kept of finite transfers: where each flow stands, crowds, and what is counted.

use super::end_to_end::Ideal;
use super::link::NONE;
use super::observer::Who;
use crate::engine::network::{Asks, CrowdSpec, PageHabits, TransferSpec};
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
    pub crowds: Vec<Crowd>,
    pub groups: Vec<TransferOutcome>,
    pub traced: bool,
}

impl Applications {
    pub fn new(
        specs: Vec<(u32, TransferSpec)>,
        ideals: &[Ideal],
        crowds: Vec<CrowdSpec>,
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
        let crowds = crowds.into_iter().enumerate().map(|(index, spec)| {
            let CrowdSpec { asks, mut random, start, flows } = spec;
            for &flow in &flows {
                let behaviour = &mut all[of_flow[flow as usize] as usize].spec;
                behaviour.crowd = index as u32;
                behaviour.pages = matches!(asks, Asks::Pages(_));
            }
            let asks = match asks {
                Asks::Sessions(habits) => {
                    let mut sessions = Sessions::new(habits, &mut random);
                    let next = sessions.next(&mut random);
                    Asking::Sessions { sessions, next }
                }
                Asks::Pages(habits) => Asking::Pages { habits, page: Page::default() },
            };
            Crowd { asks, random, start, idle: flows.into(), waiting: VecDeque::new() }
        });
        let crowds = crowds.collect();
        Applications { all, of_flow, crowds, groups: vec![TransferOutcome::default(); groups as usize], traced: false }
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

    /// What is added to a flow's numbers on the way.
    pub fn base(&self, flow: u32) -> i32 {
        self.find(flow).map_or(0, |application| application.base)
    }

    /// From now on [`shown`](Self::shown) is asked for.
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

    /// A packet as observers see it.
    pub fn who(&self, segment: &Segment) -> Who {
        Who { seq: self.shown(segment), ..Who::from(segment) }
    }

    /// The window begins: what was counted before does not count.
    pub fn restart(&mut self) {
        for application in &mut self.all {
            application.past = (0, 0);
            application.completed = 0;
        }
        self.groups.iter_mut().for_each(|group| *group = TransferOutcome::default());
    }

    /// Segments sent again, and timeouts, of a flow's connections before the present one.
    pub fn past_connections(&self, flow: u32) -> (u32, u32) {
        self.find(flow).map_or((0, 0), |application| application.past)
    }

    /// A flow's transfers.
    pub fn of_flow(&self, flow: u32) -> Option<FlowTransfers> {
        self.find(flow).map(|application| FlowTransfers {
            completed: application.completed,
            time: (application.ever_completed == 1).then_some(application.time),
            slowdown: application.slowdown.filter(|_| application.ever_completed == 1),
        })
    }

    /// The groups' transfers.
    pub fn finish(&mut self) -> Vec<TransferOutcome> {
        std::mem::take(&mut self.groups)
    }

    /// A transfer of a flow is complete.
    pub fn completed(&mut self, flow: u32, now: f64) {
        let application = self.of(flow);
        let time = now - application.begun;
        application.completed += 1;
        application.ever_completed = application.ever_completed.saturating_add(1);
        application.time = time;
        let (bytes, group) = (application.bytes.unwrap_or(0), application.spec.group);
        if application.spec.pages {
            let crowd = application.spec.crowd;
            return self.completed_object(crowd, group, now);
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
    /// An object of a page is there; with the last one the page is complete.
    pub fn completed_object(&mut self, crowd: u32, group: u32, now: f64) {
        let Asking::Pages { page, .. } = &mut self.crowds[crowd as usize].asks else { return };
        page.open -= 1;
        if page.open == 0 {
            let group = &mut self.groups[group as usize];
            group.bytes += page.bytes;
            group.times.push(now - page.begun);
        }
    }
}

/// What a TCP flow with finite transfers keeps beside its sender and receiver.
pub struct Application {
    pub spec: Behaviour,
    pub transfers: Option<Transfers>,
    pub random: Generator,
    pub state: State,
    /// Added to the numbers of this connection's segments on their way.
    pub base: i32,
    /// Bases of all connections, if segments are traced.
    pub bases: Vec<i32>,
    /// Whether the sender has been used.
    pub used: bool,
    /// Data of the transfer at hand or to come, bytes; whether it has been drawn.
    pub bytes: Option<u64>,
    /// Segments that carry them.
    pub segments: u32,
    /// Bytes that the last of them lacks.
    pub missing: u32,
    /// When the transfer began, s.
    pub begun: f64,
    /// First segment with its data, until that has been sent.
    pub first: Option<i64>,
    /// Whether the receiver has all of the transfer.
    pub received: bool,
    /// Requests sent, and when the present one is sent again, s.
    pub requests: i32,
    pub retry: f64,
    /// Segments sent again, and timeouts, of connections before this one, within the window.
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
            spec: Behaviour { fresh, received, request, group, crowd: NONE, pages: false, ideal },
            transfers,
            random,
            state: State::Idle,
            base: 0,
            bases: Vec::new(),
            used: false,
            bytes: None,
            segments: 0,
            missing: 0,
            begun: 0.0,
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

/// Where a flow stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing to do: before the first transfer, between two, after the last.
    Idle,
    /// The request is on its way.
    Asking,
    /// Data are being sent.
    Sending,
}

/// What does not change.
#[derive(Clone, Copy)]
pub struct Behaviour {
    pub fresh: bool,
    pub received: bool,
    pub request: Option<(u16, f64)>,
    pub group: u32,
    /// The crowd that the flow belongs to.
    pub crowd: u32,
    pub ideal: Ideal,
    /// What it transfers are objects of pages, which are counted as pages.
    pub pages: bool,
}

/// People who ask for objects over a pool of flows.
pub struct Crowd {
    pub asks: Asking,
    pub random: Generator,
    pub start: f64,
    /// Flows without a transfer, the longest idle first: what is late of their last one is gone.
    pub idle: VecDeque<u32>,
    /// Objects without a flow: since when they wait, and their bytes.
    pub waiting: VecDeque<(f64, u64)>,
}

/// Where a crowd stands.
pub enum Asking {
    /// The sessions, and the next object of all of them.
    Sessions { sessions: Sessions, next: Object },
    /// The page at hand.
    Pages { habits: PageHabits, page: Page },
}

/// A page that is being loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Page {
    /// Pages that were begun.
    pub number: u64,
    /// When it was begun, s.
    pub begun: f64,
    /// Its objects that are not complete, and the bytes of all of them.
    pub open: u64,
    pub bytes: u64,
}
