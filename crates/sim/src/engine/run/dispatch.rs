//! The run loop: what each event does, and each segment at its next hop.
#![allow(unsafe_code)]

use super::Engine;
use crate::engine::outcome::Outcome;
use crate::engine::plan::Mode;
use crate::engine::state::analytic_port::Answer;
use crate::engine::state::link::NONE;
use crate::engine::state::order::{Hop, Key, AHEAD};
use crate::engine::state::packets::packet;
use crate::engine::state::routes::{Action, Step};
use crate::events::{Event, EventQueue, Kind};
use earlydrop_net::segment::CE;
use earlydrop_net::tcp::Sender;
use earlydrop_net::Segment;

impl<Q: EventQueue> Engine<Q> {
    /// Runs to the end.
    pub fn run(mut self) -> Outcome {
        self.run_until(self.settings.duration);
        debug_assert!(!self.contradicted, "a plan that may be contradicted");
        self.finish()
    }

    /// The same with any plan; none if the run contradicts it.
    pub fn try_run(mut self) -> Option<Outcome> {
        self.run_until(self.settings.duration);
        (!self.contradicted).then(|| self.finish())
    }

    /// Runs every event before `time`, s, but none at or after the end of the run.
    pub fn run_until(&mut self, time: f64) {
        let end = time.min(self.settings.duration);
        self.end = end;
        // Times are not negative: their bits have their order.
        let until = end.max(0.0).to_bits();
        let watches = self.watches;
        while let Some(event) = self.queue.pop_before(until, &mut self.net) {
            if watches && self.begins(&event) {
                self.events += 1;
                return;
            }
            self.carry_out(event);
        }
    }

    /// What an event does.
    #[inline(always)]
    pub(super) fn carry_out(&mut self, event: Event) {
        self.events += 1;
        if Q::LARGE {
            self.prefetch();
        }
        let (now, scheduled) = (f64::from_bits(event.time), f64::from_bits(event.scheduled));
        match event.kind() {
            Kind::Arrival => self.on_arrival(event.segment, now, scheduled, event.number),
            Kind::TransmissionEnd => self.on_transmission_end(event.segment, now, scheduled),
            other => self.on_other(other, event.segment, now, scheduled, event.number),
        }
    }

    /// An event begins where its place among others is watched; whether the run contradicts its plan.
    #[inline(always)]
    fn begins(&mut self, event: &Event) -> bool {
        let ties = self.instant.begins(event, self.counter);
        self.contradicted |= ties && self.mark > 0;
        self.contradicted
    }

    /// Every event but those of packets.
    #[inline(never)]
    fn on_other(&mut self, kind: Kind, segment: Segment, now: f64, scheduled: f64, number: u64) {
        let key = Key { now, scheduled, number };
        match kind {
            Kind::Timer => self.on_timer(segment.flow() as usize, key),
            Kind::AckTimer => self.on_ack_timer(segment.flow(), key),
            Kind::Start => self.on_start(segment, key),
            Kind::Retry => self.on_retry(segment, key),
            Kind::Web => self.on_web_request(segment.flow() as usize, key),
            Kind::Replay => self.on_replay(segment.seq() as usize, key),
            Kind::Stop => self.net.flows[segment.flow() as usize].sender.end(),
            Kind::Write => self.on_write(segment.flow(), key),
            Kind::PolicyTimer => self.on_policy_timer(segment.flow(), key),
            Kind::MergeTurn => self.on_merge_turn(segment.flow(), now),
            Kind::WindowStart => self.start_window(now),
            Kind::Sample => self.sample(now, segment.seq()),
            Kind::Arrival | Kind::TransmissionEnd => debug_assert!(false, "these are events of packets"),
        }
    }

    /// An application starts.
    fn on_start(&mut self, event: Segment, key: Key) {
        if let Some(next) = self.starts.after(key, self.specs.starts()) {
            self.queue.push(next, 3);
        }
        let flow = event.flow();
        if self.specs.kind(flow).interval.is_some() {
            if self.rtp.has(flow) {
                return self.on_rtp(event, key);
            }
            if self.outside.has(flow) {
                return;
            }
            return self.on_source(event, key);
        }
        if self.applications.has(flow) {
            return self.start_transfer(flow, key);
        }
        if self.writers.contains_key(&flow) {
            if let Sender::Ns2(sender) = &mut self.net.flows[flow as usize].sender {
                sender.wait_for_data();
            }
            return self.schedule_write(flow, key);
        }
        self.net.flows[flow as usize].sender.start(key.now, &mut self.out);
        self.flush(flow, key);
    }

    #[inline(always)]
    fn on_arrival(&mut self, segment: Segment, now: f64, scheduled: f64, number: u64) {
        let route = self.net.routes.of(segment.flow(), Q::LARGE);
        let step = self.net.step_of(route, segment.hop());
        match step.action() {
            Action::AtEvent | Action::Ahead => {
                // SAFETY: of a hop.
                let at = unsafe { self.net.links.get_unchecked(step.link as usize) };
                if number & AHEAD != 0 && (at.wire.free, at.wire.started) == (now, scheduled) {
                    self.contradicted |= self.mark > 0;
                }
                // Most events of a network that is run event by event.
                if at.mode == Mode::Stepped && at.head == NONE && at.is_free(Key { now, scheduled, number }) {
                    return self.transmit(step.link, segment, step.next_lane(), now, scheduled);
                }
                self.arrive_at(step, segment, now, scheduled, number)
            }
            Action::Sender => self.answer_at(segment, now, scheduled, number),
            Action::SenderAhead if self.mark > 0 => self.catch_up(segment.flow(), true),
            Action::SenderAhead => {
                self.net.flows[segment.flow() as usize].acks_coming -= 1;
                self.answer_at(segment, now, scheduled, number);
            }
            Action::ReceiverAtEvent => {
                let Some(ack) = self.receive(segment, now, scheduled, number) else { return };
                self.arrive_at(self.net.step_of(route, ack.hop()), ack, now, scheduled, number);
            }
            Action::Receiver if step.passes() => self.catch_up(segment.flow(), false),
            // Links without events are next.
            Action::Own | Action::Receiver | Action::Through | Action::Fold | Action::SlowFold => {
                self.forward_from(segment, now, scheduled, 0.0);
            }
            Action::Sink => self.sink(segment, now),
            Action::Server | Action::Client => self.on_transfer(step.action(), segment, now, scheduled, number),
            Action::Expired => self.expired(segment, now),
            Action::RecordedSink | Action::RecordedSinkAtEvent => self.recorded_sink(segment, now),
        }
    }

    /// A segment of finite transfers, of media, or of data both ways reaches its sender or receiver.
    #[inline(never)]
    fn on_transfer(&mut self, action: Action, segment: Segment, now: f64, scheduled: f64, number: u64) {
        let key = Key { now, scheduled, number };
        if action == Action::Server {
            return self.answer_server(segment, key);
        }
        if let Some(ack) = self.receive_client(segment, key) {
            self.set_out(ack, key);
        }
    }

    /// A segment reaches the near end of its next link, at the event `key`.
    pub(super) fn set_out(&mut self, segment: Segment, key: Key) {
        let route = self.net.routes.of(segment.flow(), Q::LARGE);
        self.arrive(self.net.step_of(route, segment.hop()), segment, key);
    }

    /// The same with a known hop.
    #[inline(always)]
    pub(super) fn arrive(&mut self, step: Step, segment: Segment, key: Key) {
        if step.action() == Action::Fold {
            return self.forward_from(segment, key.now, key.scheduled, 0.0);
        }
        self.arrive_at(step, segment, key.now, key.scheduled, key.number);
    }

    /// The same with the parts of a [`Key`], which stay in registers.
    #[inline(never)]
    fn arrive_at(&mut self, step: Step, mut segment: Segment, now: f64, scheduled: f64, number: u64) {
        let key = Key { now, scheduled, number };
        let link = step.link;
        // SAFETY: of a hop.
        let at = unsafe { self.net.links.get_unchecked_mut(link as usize) };
        match at.mode {
            Mode::Merge => {
                let (start, arrival, cause) = at.wire.relay(key.now, key.scheduled, segment.size());
                segment = segment.at_next_hop();
                let route = self.net.routes.of(segment.flow(), Q::LARGE);
                self.forward(route, segment, Hop { arrival, start, cause, order: 0 });
            }
            Mode::Stepped | Mode::Passed => {
                if at.mode == Mode::Passed {
                    at.port -= 1;
                }
                if at.head == NONE && at.is_free(key) {
                    self.transmit(link, segment, step.next_lane(), key.now, key.scheduled);
                } else {
                    self.wait(link, segment);
                }
            }
            Mode::AnalyticPort => {
                let port = &mut self.net.ports[at.port as usize];
                let mut packet = packet(&self.net.times_to_live, &segment, &step);
                match port.analytic_arrival(&at.wire, &segment, &mut packet, key.now, key.scheduled) {
                    Answer::Dropped => self.dropped(segment, key.now),
                    Answer::Leaves { start, marked } => {
                        if marked {
                            self.net.arrivals[segment.flow() as usize].marks += 1;
                            segment = segment.with_bits(segment.bits() | CE);
                        }
                        let cause = if start > key.now { at.wire.started } else { key.scheduled };
                        let arrival = at.wire.send(start, segment.size());
                        segment = segment.at_next_hop();
                        let route = self.net.routes.of(segment.flow(), Q::LARGE);
                        self.forward(route, segment, Hop { arrival, start, cause, order: 0 });
                    }
                }
            }
            Mode::SteppedPort => {
                let packet = packet(&self.net.times_to_live, &segment, &step);
                self.offer_at(link, segment, packet, step.next_lane(), now, scheduled, number);
            }
            Mode::Fold | Mode::SlowFold | Mode::Own => debug_assert!(false, "links without events have no row here"),
        }
    }
}
