//! Finite transfers: what begins them, what a new connection is, when they are complete.
//!
//! A new connection of a flow has a fresh sender and receiver, which count segments from 0. On the way segments and ACKs
//! carry their number plus the connection's base, one beyond all numbers of the connection before: what is late from
//! there is told from what is new, and ignored. ns-2 has no such thing: an agent that is reset takes late packets for its
//! own.

use super::end_to_end::Ideal;
use super::network::{Asks, CrowdSpec, FlowSpec, PageHabits, TransferSpec};
use super::observer::Who;
use super::{hosts, Engine, Key, Rare, NONE, START};
use crate::events::{Event, EventQueue, Kind};
use earlydrop_aqm::random::Generator;
use earlydrop_net::segment::{REQUEST, SACK, SYN};
use earlydrop_net::source::{segments, Object, Sessions, Transfers};
use earlydrop_net::tcp::{Receiver, Sender};
use earlydrop_net::Segment;
use std::collections::VecDeque;

/// Length of a tick of the senders' clocks, s (ns-2's `tcpTick_`).
const TICK: f64 = 0.01;

/// Where a flow stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing to do: before the first transfer, between two, after the last.
    Idle,
    /// The request is on its way.
    Asking,
    /// Data are being sent.
    Sending,
}

/// What a TCP flow with finite transfers keeps beside its sender and receiver.
struct Application {
    spec: Behaviour,
    transfers: Option<Transfers>,
    random: Generator,
    state: State,
    /// Added to the numbers of this connection's segments on their way.
    base: i32,
    /// Bases of all connections, if segments are traced.
    bases: Vec<i32>,
    /// Whether the sender has been used.
    used: bool,
    /// Data of the transfer at hand or to come, bytes; whether it has been drawn.
    bytes: Option<u64>,
    /// Segments that carry them.
    segments: u32,
    /// Bytes that the last of them lacks.
    missing: u32,
    /// When the transfer began, s.
    begun: f64,
    /// First segment with its data, until that has been sent.
    first: Option<i64>,
    /// Whether the receiver has all of the transfer.
    received: bool,
    /// Requests sent, and when the present one is sent again, s.
    requests: i32,
    retry: f64,
    /// Segments sent again, and timeouts, of connections before this one, within the window.
    past: (u32, u32),
    completed: u32,
    ever_completed: u32,
    time: f64,
    slowdown: Option<f64>,
}

/// What does not change.
#[derive(Clone, Copy)]
struct Behaviour {
    fresh: bool,
    received: bool,
    request: Option<(u16, f64)>,
    group: u32,
    /// The crowd that the flow belongs to.
    crowd: u32,
    ideal: Ideal,
    /// What it transfers are objects of pages, which are counted as pages.
    pages: bool,
}

/// People who ask for objects over a pool of flows.
struct Crowd {
    asks: Asking,
    random: Generator,
    start: f64,
    /// Flows without a transfer, the longest idle first: what is late of their last one is gone.
    idle: VecDeque<u32>,
    /// Objects without a flow: since when they wait, and their bytes.
    waiting: VecDeque<(f64, u64)>,
}

/// Where a crowd stands.
enum Asking {
    /// The sessions, and the next object of all of them.
    Sessions { sessions: Sessions, next: Object },
    /// The page at hand.
    Pages { habits: PageHabits, page: Page },
}

/// A page that is being loaded.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    /// Pages that were begun.
    number: u64,
    /// When it was begun, s.
    begun: f64,
    /// Its objects that are not complete, and the bytes of all of them.
    open: u64,
    bytes: u64,
}

/// The transfers of a group within the window.
#[derive(Clone, Debug, Default)]
pub struct TransferOutcome {
    /// Transfers that began.
    pub begun: u64,
    /// Bytes of the transfers that were completed.
    pub bytes: u64,
    /// Times of the transfers that were completed, s, in the order of their ends.
    pub times: Vec<f64>,
    /// Times of those that had data, by what they would have been at best, in the order of their ends.
    pub slowdowns: Vec<f64>,
    /// Objects that had to wait for a flow.
    pub waited: u64,
    /// Sum of the times from the begin to the first segment with data, s, and how many.
    pub start_up: (f64, u64),
}

/// A flow's transfers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowTransfers {
    /// Completed within the window.
    pub completed: u32,
    /// Time of the only one that was ever completed, s.
    pub time: Option<f64>,
    /// That time by what it would have been at best, if there were data.
    pub slowdown: Option<f64>,
}

/// All finite transfers of a network.
#[derive(Default)]
pub(super) struct Applications {
    all: Vec<Application>,
    of_flow: Vec<u32>,
    crowds: Vec<Crowd>,
    groups: Vec<TransferOutcome>,
    traced: bool,
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

    fn find(&self, flow: u32) -> Option<&Application> {
        self.all.get(*self.of_flow.get(flow as usize)? as usize)
    }

    fn of(&mut self, flow: u32) -> &mut Application {
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
    fn shown(&self, segment: &Segment) -> i32 {
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
    fn completed(&mut self, flow: u32, now: f64) {
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
    fn completed_object(&mut self, crowd: u32, group: u32, now: f64) {
        let Asking::Pages { page, .. } = &mut self.crowds[crowd as usize].asks else { return };
        page.open -= 1;
        if page.open == 0 {
            let group = &mut self.groups[group as usize];
            group.bytes += page.bytes;
            group.times.push(now - page.begun);
        }
    }
}

impl Application {
    fn new(spec: TransferSpec, ideal: Ideal) -> Self {
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

impl<Q: EventQueue> Engine<Q> {
    /// Each crowd's first object, and the senders' wait for something to send.
    pub(super) fn schedule_crowds(&mut self) {
        if self.settings.trace.is_some() {
            self.applications.trace();
        }
        for flow in 0..self.applications.of_flow.len() {
            if self.applications.of_flow[flow] != NONE {
                if let Sender::Ns2(sender) = &mut self.net.flows[flow].sender {
                    sender.wait_for_data();
                }
            }
        }
        for index in 0..self.applications.crowds.len() {
            let crowd = &self.applications.crowds[index];
            let time = match &crowd.asks {
                Asking::Sessions { next, .. } => crowd.start + next.at,
                Asking::Pages { .. } => crowd.start,
            };
            self.schedule(time, START, Kind::Crowd, index as u32);
        }
    }

    /// A crowd asks for an object, or for a page.
    pub(super) fn on_crowd(&mut self, index: usize, key: Key) {
        let crowd = &mut self.applications.crowds[index];
        let Asking::Sessions { sessions, next: object } = &mut crowd.asks else { return self.begin_page(index, key) };
        let bytes = object.bytes;
        *object = sessions.next(&mut crowd.random);
        let next = crowd.start + object.at;
        match crowd.idle.pop_front() {
            Some(flow) => self.begin_object(flow, bytes, key.now, key),
            None => crowd.waiting.push_back((key.now, bytes)),
        }
        self.schedule(next, key, Kind::Crowd, index as u32);
    }

    /// Somebody asks for all objects of a page.
    fn begin_page(&mut self, index: usize, key: Key) {
        let crowd = &mut self.applications.crowds[index];
        let Asking::Pages { habits, page } = &mut crowd.asks else { return };
        let objects = ((habits.objects.draw(&mut crowd.random) + 0.5) as u64).max(1);
        *page = Page { number: page.number + 1, begun: key.now, open: objects, bytes: 0 };
        for _ in 0..objects {
            let bytes = (habits.size.draw(&mut crowd.random) + 0.5) as u64;
            page.bytes += bytes;
            crowd.waiting.push_back((key.now, bytes));
        }
        let Some(&flow) = crowd.idle.front() else { return };
        let group = self.applications.of(flow).spec.group as usize;
        self.applications.groups[group].begun += 1;
        loop {
            let crowd = &mut self.applications.crowds[index];
            if crowd.idle.is_empty() {
                return;
            }
            let Some((since, bytes)) = crowd.waiting.pop_front() else { return };
            let Some(flow) = crowd.idle.pop_front() else { return };
            self.begin_object(flow, bytes, since, key);
        }
    }

    /// After an object: the page may be over, and the next one comes when it has been read.
    fn plan_page(&mut self, index: usize, key: Key) {
        let crowd = &mut self.applications.crowds[index];
        let Asking::Pages { habits, page } = &crowd.asks else { return };
        if page.open == 0 && habits.number.is_none_or(|number| page.number < number) {
            let think = habits.think.draw(&mut crowd.random);
            self.schedule(key.now + think, key, Kind::Crowd, index as u32);
        }
    }

    /// An object that somebody has wanted since `since` gets a flow.
    fn begin_object(&mut self, flow: u32, bytes: u64, since: f64, key: Key) {
        self.applications.of(flow).bytes = Some(bytes);
        self.begin_transfer(flow, key);
        let application = self.applications.of(flow);
        application.begun = since;
        let group = application.spec.group as usize;
        self.applications.groups[group].waited += u64::from(since < key.now);
    }

    /// A flow begins its next transfer.
    pub(super) fn begin_transfer(&mut self, flow: u32, key: Key) {
        let application = self.applications.of(flow);
        if application.bytes.is_none() {
            // The first one; the others have been drawn at the end of the one before.
            let Some(transfers) = &mut application.transfers else { return };
            let Some(transfer) = transfers.next(&mut application.random) else { return };
            application.bytes = Some(transfer.bytes);
        }
        application.begun = key.now;
        application.received = false;
        let Behaviour { request, pages, .. } = application.spec;
        let group = application.spec.group as usize;
        self.applications.groups[group].begun += u64::from(!pages);
        match request {
            None => self.serve(flow, key),
            Some((_, retry)) => {
                let application = self.applications.of(flow);
                application.state = State::Asking;
                application.requests = application.requests.wrapping_add(1) & i32::MAX;
                application.retry = retry;
                self.ask(flow, key);
            }
        }
    }

    /// The client sends its request, the way the ACKs go.
    fn ask(&mut self, flow: u32, key: Key) {
        let application = self.applications.of(flow);
        let Some((bytes, _)) = application.spec.request else { return };
        let (number, retry) = (application.requests, application.retry);
        application.retry = 2.0 * retry;
        let born = Segment::stamp(key.now, self.ticks_per_second);
        let Some(receiver) = self.hop_of_receiver(flow) else { return };
        let request = Segment::new(flow, number, born, bytes).with_bits(REQUEST).at_hop(receiver + 1);
        self.set_out(request, key);
        self.counter += 1;
        let event = Segment::new(flow, number, 0, 0);
        let (time, cause) = (key.now + retry, key.scheduled.to_bits());
        self.queue.push(Event::new(time, key.now, cause, self.counter, Kind::Retry, event), 3);
    }

    /// Where on its route a flow has its receiver; nowhere if packets do not live to see it.
    fn hop_of_receiver(&self, flow: u32) -> Option<u8> {
        use super::Action::{Client, Expired};
        (0..=u8::MAX).find_map(|hop| match self.net.step(flow, usize::from(hop)).action {
            Client => Some(Some(hop)),
            Expired => Some(None),
            _ => None,
        })?
    }

    /// A request has been without an answer for so long.
    pub(super) fn on_retry(&mut self, event: Segment, key: Key) {
        let application = self.applications.of(event.flow());
        if application.state == State::Asking && application.requests == event.seq() {
            self.ask(event.flow(), key);
        }
    }

    /// The sender gets the transfer's data.
    fn serve(&mut self, flow: u32, key: Key) {
        let application = self.applications.of(flow);
        application.state = State::Sending;
        let again = application.used;
        application.used = true;
        let bytes = application.bytes.unwrap_or(0);
        if again && application.spec.fresh {
            self.reconnect(flow);
        }
        let (payload, last) = (u32::from(self.specs.kind(flow).payload), self.applications.of(flow).spec.fresh);
        let wanted = segments(bytes, payload) as u32;
        let whole = self.specs.kind(flow).options.rfc.is_none();
        let application = self.applications.of(flow);
        application.segments = wanted;
        // Segments of ns-2 are all of one size.
        application.missing =
            if whole { 0 } else { (u64::from(wanted) * u64::from(payload)).saturating_sub(bytes) as u32 };
        let sender = &mut self.net.flows[flow as usize].sender;
        let first = sender.offer_bytes(key.now, bytes, payload, last, &mut self.out);
        self.applications.of(flow).first = Some(first);
        self.note_start_up(flow, key.now);
        self.number_anew(flow);
        self.flush(flow, key);
    }

    /// A fresh sender and a fresh receiver, whose numbers begin behind all that are on their way.
    fn reconnect(&mut self, flow: u32) {
        let state = &mut self.net.flows[flow as usize];
        if self.rare.is_empty() {
            self.rare = vec![Rare::default(); self.specs.len()];
        }
        let rare = &mut self.rare[flow as usize];
        let application = &mut self.applications.all[self.applications.of_flow[flow as usize] as usize];
        application.past.0 += state.sender.retransmits() - rare.retransmits_before;
        application.past.1 += state.sender.timeouts() - rare.timeouts_before;
        (rare.retransmits_before, rare.timeouts_before) = (0, 0);
        self.opening += u32::from(state.sender.is_open());
        if let Some(losses) = &mut self.losses {
            losses.replaced(flow, &state.sender);
        }
        let mut first = 0;
        let traced_from = match &state.sender {
            Sender::Ns2(sender) => {
                let beyond = application.base.saturating_add(sender.core.max_sent).saturating_add(2);
                // After a thousand million segments nothing is late from the first ones.
                application.base = if beyond > i32::MAX / 2 { 0 } else { beyond };
                application.base
            }
            Sender::Rfc(connection) => {
                // What is late from the connection before lies below all numbers of this one. Traces show them less one.
                first = connection.numbers().1.wrapping_add(1);
                1
            }
        };
        if self.applications.traced {
            application.bases.push(traced_from);
        }
        // ns-2 draws a phase for every agent that is made.
        let clock_phase = TICK * application.random.uniform();
        let spec = FlowSpec { clock_phase, ..self.specs.kind(flow).clone() };
        let traced = state.sender.is_traced();
        state.sender = hosts::sender(&spec, first);
        if let Sender::Ns2(sender) = &mut state.sender {
            sender.wait_for_data();
        }
        state.sender.trace(traced);
        state.deadline = f64::INFINITY;
        state.armed_number = 0;
        let mut receiver = hosts::receiver(&spec, first);
        if self.watches_receivers() {
            receiver.watch();
        }
        self.net.arrivals[flow as usize].receiver = receiver;
        self.forget_ack(flow);
    }

    /// Gives what a sender has just sent its numbers on the way.
    pub(super) fn number_anew(&mut self, flow: u32) {
        let base = self.applications.base(flow);
        if base != 0 {
            self.out.segments.iter_mut().for_each(|sent| sent.seq = sent.seq.wrapping_add_signed(base));
        }
    }

    /// Counts the time to a transfer's first segment with data, once that is sent.
    fn note_start_up(&mut self, flow: u32, now: f64) {
        let highest = self.net.flows[flow as usize].sender.highest_sent();
        let application = self.applications.of(flow);
        if application.first.is_some_and(|first| first <= highest) {
            application.first = None;
            let (time, group) = (now - application.begun, application.spec.group as usize);
            let start_up = &mut self.applications.groups[group].start_up;
            *start_up = (start_up.0 + time, start_up.1 + 1);
        }
    }

    /// The sender of finite transfers takes an ACK, or a request.
    pub(super) fn answer_server(&mut self, segment: Segment, key: Key) {
        let flow = segment.flow();
        let application = self.applications.of(flow);
        if segment.bits() & REQUEST != 0 {
            // A request that has been sent twice is answered once.
            if application.state == State::Asking && application.requests == segment.seq() {
                self.serve(flow, key);
            }
            return;
        }
        let number = segment.seq() - application.base;
        let Sender::Ns2(sender) = &mut self.net.flows[flow as usize].sender else {
            return self.answer_server_rfc(segment, key);
        };
        if (number < 0 && application.base != 0) || number > sender.core.max_sent {
            if segment.bits() & SACK != 0 {
                self.blocks.free(segment);
            }
            return;
        }
        let opening = sender.core.ack < 0;
        let (ack, segment) = self.blocks.open(segment, number);
        sender.on_ack(key.now, ack, &mut self.out);
        self.opening -= u32::from(opening && sender.core.ack >= 0);
        let finished = sender.finished();
        if !self.round_trips.is_empty() {
            self.note_round_trip(segment, key.now);
        }
        if self.applications.of(flow).first.is_some() {
            self.note_start_up(flow, key.now);
        }
        self.number_anew(flow);
        self.flush(flow, key);
        self.end_if_finished(flow, finished, key);
    }

    /// The same in the `rfc` profile.
    fn answer_server_rfc(&mut self, segment: Segment, key: Key) {
        let flow = segment.flow();
        self.answer_rfc(segment, key);
        if self.applications.of(flow).first.is_some() {
            self.note_start_up(flow, key.now);
        }
        let finished = self.net.flows[flow as usize].sender.finished();
        self.end_if_finished(flow, finished, key);
    }

    /// After an ACK: the transfer may be complete.
    fn end_if_finished(&mut self, flow: u32, finished: bool, key: Key) {
        let application = self.applications.of(flow);
        if finished && application.state == State::Sending && application.spec.request.is_none() {
            if !application.spec.received {
                self.applications.completed(flow, key.now);
            }
            self.end_transfer(flow, key);
        }
    }

    /// The receiver takes a segment of a transfer; the ACK that leaves it at once, if one does.
    pub(super) fn receive_client(&mut self, segment: Segment, key: Key) -> Option<Segment> {
        let flow = segment.flow();
        let (max_sent, limit) = match &self.net.flows[flow as usize].sender {
            Sender::Ns2(sender) => (sender.core.max_sent, sender.core.limit),
            Sender::Rfc(connection) => {
                let limit = connection.limit();
                let ack = self.receive(segment, key);
                let receiver = &self.net.arrivals[flow as usize].receiver;
                let complete = matches!(receiver, Receiver::Rfc(receiver) if receiver.next() >= limit);
                return self.end_if_received(flow, complete, ack, key);
            }
        };
        let base = self.applications.base(flow);
        // From a connection before; the second where numbers have begun again at 0 since.
        if segment.seq() < base || segment.seq() - base > max_sent {
            self.opening -= u32::from(segment.bits() & SYN != 0);
            return None;
        }
        let ack = self.receive(segment.with_seq(segment.seq() - base), key);
        let receiver = &self.net.arrivals[flow as usize].receiver;
        let complete = matches!(receiver, Receiver::Ns2(receiver) if receiver.next() > limit);
        let ack = ack.map(|ack| ack.with_seq(ack.seq() + base));
        self.end_if_received(flow, complete, ack, key)
    }

    /// After a segment, which `ack` answers at once: the transfer may be complete. The ACK, if it has still to be sent.
    fn end_if_received(&mut self, flow: u32, has_all: bool, ack: Option<Segment>, key: Key) -> Option<Segment> {
        let application = self.applications.of(flow);
        let complete = has_all && application.state == State::Sending && !application.received;
        if !complete {
            return ack;
        }
        application.received = true;
        let asked = application.spec.request.is_some();
        if !asked {
            if application.spec.received {
                self.applications.completed(flow, key.now);
            }
            return ack;
        }
        // The client goes on; the ACK leaves before its next request.
        if let Some(ack) = ack {
            self.set_out(ack, key);
        }
        self.applications.completed(flow, key.now);
        self.end_transfer(flow, key);
        None
    }

    /// After a transfer: the next one, now or later, or none.
    fn end_transfer(&mut self, flow: u32, key: Key) {
        let application = self.applications.of(flow);
        application.state = State::Idle;
        application.bytes = None;
        let (crowd, fresh, asked) =
            (application.spec.crowd, application.spec.fresh, application.spec.request.is_some());
        if fresh && !asked {
            // The connection is closed: its timer must not run on.
            let state = &mut self.net.flows[flow as usize];
            state.deadline = f64::INFINITY;
            state.armed_number = 0;
        }
        if crowd != NONE {
            let crowd = &mut self.applications.crowds[crowd as usize];
            match crowd.waiting.pop_front() {
                Some((since, bytes)) => self.begin_object(flow, bytes, since, key),
                None => crowd.idle.push_back(flow),
            }
            let Behaviour { crowd, pages, .. } = self.applications.of(flow).spec;
            if pages {
                self.plan_page(crowd as usize, key);
            }
            return;
        }
        let application = self.applications.of(flow);
        let Some(transfers) = &mut application.transfers else { return };
        let Some(transfer) = transfers.next(&mut application.random) else { return };
        application.bytes = Some(transfer.bytes);
        if transfer.after > 0.0 {
            self.schedule(key.now + transfer.after, key, Kind::Start, flow);
        } else {
            self.begin_transfer(flow, key);
        }
    }
}
