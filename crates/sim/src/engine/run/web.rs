//! Web clients: sessions, pages, and the pools of flows that carry their objects.

use super::Engine;
use crate::engine::state::applications::{Page, WebState};
use crate::engine::state::link::NONE;
use crate::engine::state::order::{Key, START};
use crate::events::{EventQueue, Kind};
use earlydrop_net::tcp::Sender;

impl<Q: EventQueue> Engine<Q> {
    /// Schedules the first requests; the senders wait for data.
    pub(super) fn schedule_web(&mut self) {
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
        for index in 0..self.applications.web_clients.len() {
            let clients = &self.applications.web_clients[index];
            let time = match &clients.requests {
                WebState::Sessions { next, .. } => clients.start + next.at,
                WebState::Pages { .. } => clients.start,
            };
            self.schedule(time, START, Kind::Web, index as u32);
        }
    }

    /// Web clients request an object, or a page.
    pub(super) fn on_web_request(&mut self, index: usize, key: Key) {
        let clients = &mut self.applications.web_clients[index];
        let WebState::Sessions { sessions, next: object } = &mut clients.requests else {
            return self.start_page(index, key);
        };
        let bytes = object.bytes;
        *object = sessions.next(&mut clients.random);
        let next = clients.start + object.at;
        match clients.idle.pop_front() {
            Some(flow) => self.start_object(flow, bytes, key.now, key),
            None => clients.waiting.push_back((key.now, bytes)),
        }
        self.schedule(next, key, Kind::Web, index as u32);
    }

    /// A client requests all objects of a page.
    fn start_page(&mut self, index: usize, key: Key) {
        let clients = &mut self.applications.web_clients[index];
        let WebState::Pages { pattern, page } = &mut clients.requests else { return };
        let objects = ((pattern.objects.draw(&mut clients.random) + 0.5) as u64).max(1);
        *page = Page { number: page.number + 1, started: key.now, open: objects, bytes: 0 };
        for _ in 0..objects {
            let bytes = (pattern.size.draw(&mut clients.random) + 0.5) as u64;
            page.bytes += bytes;
            clients.waiting.push_back((key.now, bytes));
        }
        let Some(&flow) = clients.idle.front() else { return };
        let group = self.applications.of(flow).spec.group as usize;
        self.applications.groups[group].begun += 1;
        loop {
            let clients = &mut self.applications.web_clients[index];
            if clients.idle.is_empty() {
                return;
            }
            let Some((since, bytes)) = clients.waiting.pop_front() else { return };
            let Some(flow) = clients.idle.pop_front() else { return };
            self.start_object(flow, bytes, since, key);
        }
    }

    /// After an object: the page may be complete, and the next one is requested after the think time.
    pub(super) fn plan_page(&mut self, index: usize, key: Key) {
        let clients = &mut self.applications.web_clients[index];
        let WebState::Pages { pattern, page } = &clients.requests else { return };
        if page.open == 0 && pattern.number.is_none_or(|number| page.number < number) {
            let think = pattern.think.draw(&mut clients.random);
            self.schedule(key.now + think, key, Kind::Web, index as u32);
        }
    }

    /// Assigns an object requested at `since` to a flow.
    pub(super) fn start_object(&mut self, flow: u32, bytes: u64, since: f64, key: Key) {
        self.applications.of(flow).bytes = Some(bytes);
        self.start_transfer(flow, key);
        let application = self.applications.of(flow);
        application.started = since;
        let group = application.spec.group as usize;
        self.applications.groups[group].waited += u64::from(since < key.now);
    }
}
