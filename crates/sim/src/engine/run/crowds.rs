//! Crowds on the web: objects of sessions, pages, and the flows of a pool that carry them.

use super::Engine;
use crate::engine::state::applications::{Asking, Page};
use crate::engine::state::link::NONE;
use crate::engine::state::order::{Key, START};
use crate::events::{EventQueue, Kind};
use earlydrop_net::tcp::Sender;

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
    pub(super) fn plan_page(&mut self, index: usize, key: Key) {
        let crowd = &mut self.applications.crowds[index];
        let Asking::Pages { habits, page } = &crowd.asks else { return };
        if page.open == 0 && habits.number.is_none_or(|number| page.number < number) {
            let think = habits.think.draw(&mut crowd.random);
            self.schedule(key.now + think, key, Kind::Crowd, index as u32);
        }
    }

    /// An object that somebody has wanted since `since` gets a flow.
    pub(super) fn begin_object(&mut self, flow: u32, bytes: u64, since: f64, key: Key) {
        self.applications.of(flow).bytes = Some(bytes);
        self.begin_transfer(flow, key);
        let application = self.applications.of(flow);
        application.begun = since;
        let group = application.spec.group as usize;
        self.applications.groups[group].waited += u64::from(since < key.now);
    }
}
