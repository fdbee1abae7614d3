//! Hosts ahead of time: what reaches a host, and its timers before that, it processes as soon as the arrival is known
//! (`docs/engine.md`, "Hosts ahead of time").

use super::analytic::arrival;
use super::Engine;
use crate::engine::state::ahead::Host;
use crate::engine::state::order::{Hop, Key};
use crate::engine::state::routes::Action;
use crate::events::EventQueue;
use earlydrop_net::Segment;

impl<Q: EventQueue> Engine<Q> {
    /// Whether the host may process a segment now that arrives by `hop`, at the receiver of `flow` or the sender: else it
    /// waits for its time.
    #[inline(always)]
    pub(super) fn reaches(&mut self, segment: Segment, sends: bool, hop: Hop) -> bool {
        let host = self.hosts.of[segment.flow() as usize][usize::from(sends)] as usize;
        let ahead =
            self.hosts.all[host].waiting.is_empty() && self.may_be_ahead(host, segment.flow(), sends, hop.arrival);
        if !ahead {
            self.keep_waiting(host, segment, hop);
        }
        ahead
    }

    /// Whether nothing else can happen to the host up to `time`; its timers run if they expire before. The measured window
    /// must start or end on the same side of both times, and connections open at their time.
    #[inline(always)]
    fn may_be_ahead(&mut self, host: usize, flow: u32, sends: bool, time: f64) -> bool {
        if time >= self.answers_until
            || (sends && !self.net.flows[flow as usize].sender.is_open())
            || (!self.hosts.all[host].starts.is_empty() && self.starts_up_to(host, time))
        {
            return false;
        }
        loop {
            let Host { one, flows, .. } = &self.hosts.all[host];
            let (mut first, mut of, mut ties) = (self.deadline(*one), *one, false);
            for &other in flows.iter().skip(1) {
                let deadline = self.deadline(other);
                ties = deadline == first || (ties && deadline > first);
                if deadline < first {
                    (first, of) = (deadline, other);
                }
            }
            if time < first {
                return true;
            }
            if time == first || ties {
                return false;
            }
            match of {
                (flow, true) => self.expire_timer(flow),
                (flow, false) => self.expire_ack_timer(flow),
            }
        }
    }

    /// When the timer of the sender of a flow, or of its receiver, expires.
    #[inline(always)]
    fn deadline(&self, (flow, sends): (u32, bool)) -> f64 {
        match sends {
            true => self.net.flows[flow as usize].deadline,
            false => self.ack_timers.get(flow as usize).map_or(f64::INFINITY, |timer| timer.deadline),
        }
    }

    /// Whether a flow of the host starts from now on up to `time`.
    #[inline(never)]
    fn starts_up_to(&mut self, host: usize, time: f64) -> bool {
        let (now, starts) = (f64::from_bits(self.instant.now()), &mut self.hosts.all[host].starts);
        while starts.pop_if(|start| *start < now).is_some() {}
        starts.last().is_some_and(|&start| start <= time)
    }

    /// The delayed-ACK timer of a receiver expires ahead of time. Its entry in the event queue stays, and finds it moved.
    #[inline(never)]
    fn expire_ack_timer(&mut self, flow: u32) {
        let timer = &mut self.ack_timers[flow as usize];
        let key = Key { now: timer.deadline, scheduled: timer.armed.now, number: timer.number };
        timer.deadline = f64::INFINITY;
        let segment = timer.segment;
        self.delayed_ack(segment, key);
    }

    /// The same for the timer of a sender.
    #[inline(never)]
    fn expire_timer(&mut self, flow: u32) {
        let state = &self.net.flows[flow as usize];
        let key = Key { now: state.deadline, scheduled: state.armed_at, number: state.armed_number };
        self.time_out(flow, key);
    }

    /// A segment waits for its time of arrival. One event, of the first that waits, is enough.
    #[inline(never)]
    fn keep_waiting(&mut self, host: usize, segment: Segment, hop: Hop) {
        self.counter += 1;
        let event = arrival(segment, hop, self.counter);
        let waiting = &mut self.hosts.all[host].waiting;
        waiting.push_back(event);
        if waiting.len() == 1 {
            self.queue.push(event, 3);
        }
    }

    /// The first segment that waits has come: the host processes it, and those behind it that need not wait any longer.
    #[inline(never)]
    pub(super) fn catch_up(&mut self, flow: u32, sends: bool) {
        let host = self.hosts.of[flow as usize][usize::from(sends)] as usize;
        let mark = self.mark & !self.counter;
        self.counter += mark;
        let mut comes = true;
        while let Some(&event) = self.hosts.all[host].waiting.front() {
            let (segment, now, scheduled) =
                (event.segment, f64::from_bits(event.time), f64::from_bits(event.scheduled));
            let sends = self.net.step(segment.flow(), segment.hop(), Q::LARGE).action() == Action::SenderAhead;
            if !comes && !self.may_be_ahead(host, segment.flow(), sends, now) {
                self.queue.push(event, 3);
                break;
            }
            comes = false;
            self.hosts.all[host].waiting.pop_front();
            if sends {
                self.answer(segment, Key { now, scheduled, number: event.number });
            } else if let Some(ack) = self.receive(segment, now, scheduled, event.number) {
                self.forward_from(ack, now, scheduled, 0.0);
            }
        }
        self.counter -= mark;
    }
}
