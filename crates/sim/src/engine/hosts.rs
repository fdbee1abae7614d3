//! The two ends of a flow: what its sender and receiver are told, SACK blocks on their way, delayed ACKs.

use super::network::FlowSpec;
use super::rfc::{FeedbackPool, RFC_PLACE};
use super::{Engine, Key, ACK_BYTES};
use crate::events::{Event, EventQueue, Kind};
use earlydrop_net::segment::{ECE, SACK, SYN};
use earlydrop_net::tcp::ns2::{self, Ack, Answer, Blocks, Reply};
use earlydrop_net::tcp::rfc::Connection;
use earlydrop_net::tcp::{Receiver, Sender};
use earlydrop_net::Segment;

/// The sender of a flow, whose numbers on the wire begin with `first` (as in the RFCs; 0 in ns-2).
pub(super) fn sender(spec: &FlowSpec, first: u32) -> Sender {
    if let Some(settings) = &spec.options.rfc {
        return Sender::Rfc(Box::new(Connection::new(**settings, first)));
    }
    let mut sender = ns2::Sender::new(spec.flavour, spec.window, spec.clock_phase);
    if spec.options.ecn && spec.flavour.knows_ecn() {
        sender.core.use_ecn();
    }
    sender.core.limited_transmit = spec.options.limited_transmit;
    sender.core.min_rto_ms = spec.options.min_rto_ms;
    Sender::Ns2(sender)
}

/// The receiver of a flow, for such a sender.
pub(super) fn receiver(spec: &FlowSpec, first: u32) -> Receiver {
    match &spec.options.rfc {
        Some(settings) => Receiver::Rfc(Box::new(settings.receiver(first))),
        None => Receiver::Ns2(ns2::Receiver::with(spec.flavour.uses_sack(), spec.options.delayed_ack)),
    }
}

/// SACK blocks of ACKs on their way, so that a segment stays small. The place of an ACK's blocks stands where its time
/// stamp was, which is kept with them.
#[derive(Default)]
pub(super) struct BlockPool {
    kept: Vec<(Blocks, u32)>,
    free: Vec<u32>,
    /// What ACKs of the `rfc` profile say.
    pub rfc: FeedbackPool,
}

impl BlockPool {
    fn keep(&mut self, ack: Segment, blocks: Blocks) -> Segment {
        let kept = (blocks, ack.note());
        if let Some(place) = self.free.pop() {
            self.kept[place as usize] = kept;
            return ack.with_note(place);
        }
        self.kept.push(kept);
        ack.with_note(self.kept.len() as u32 - 1)
    }

    /// An ACK of `number` has arrived: what it says, and the segment with its time stamp. Its blocks are there until
    /// others are kept.
    #[inline(always)]
    pub(super) fn open(&mut self, mut segment: Segment, number: i32) -> (Ack<'_>, Segment) {
        let mut ack = Ack::plain(number);
        if segment.bits() != 0 {
            ack.echo = segment.bits() & ECE != 0;
            if segment.bits() & SACK != 0 {
                self.free.push(segment.note());
                let (blocks, stamp) = &self.kept[segment.note() as usize];
                ack.blocks = blocks;
                segment = segment.with_note(*stamp);
            }
        }
        (ack, segment)
    }

    /// The ACK has been dropped.
    pub(super) fn free(&mut self, ack: Segment) {
        if ack.note() & RFC_PLACE != 0 {
            self.rfc.open(ack.note());
            return;
        }
        self.free.push(ack.note());
    }
}

/// The timer of a receiver that delays ACKs. As with the sender's, there is one entry in the event queue, which is put
/// off when it comes up early.
pub(super) struct AckTimer {
    /// The segment whose ACK waits, and when the wait is over; infinite if none waits.
    segment: Segment,
    deadline: f64,
    armed: Key,
    number: u64,
    /// Time of the entry in the event queue.
    entry: f64,
}

/// Timers for all flows, if any of them delays ACKs.
pub(super) fn ack_timers(specs: &[FlowSpec]) -> Vec<AckTimer> {
    let count = if specs.iter().any(|spec| spec.options.ack_waits().next().is_some()) { specs.len() } else { 0 };
    let none = || AckTimer {
        segment: Segment::default(),
        deadline: f64::INFINITY,
        armed: super::START,
        number: 0,
        entry: f64::INFINITY,
    };
    (0..count).map(|_| none()).collect()
}

impl<Q: EventQueue> Engine<Q> {
    /// As [`Engine::receive`], where the receiver reports blocks or delays ACKs, or the segment is a SYN or has ECN bits.
    #[inline(never)]
    pub(super) fn receive_specially(&mut self, segment: Segment, key: Key) -> Option<Segment> {
        match self.net.arrivals[segment.flow() as usize].receiver {
            Receiver::Rfc(_) => self.receive_rfc(segment, key),
            Receiver::Ns2(_) => self.receive_reporting(segment, key),
        }
    }

    #[inline(never)]
    fn receive_reporting(&mut self, segment: Segment, key: Key) -> Option<Segment> {
        let Receiver::Ns2(receiver) = &mut self.net.arrivals[segment.flow() as usize].receiver else { return None };
        let before = receiver.next();
        let reply = receiver.take(segment.seq(), segment.bits());
        let in_order = (receiver.next() - before) as u32;
        if segment.bits() & SYN != 0 {
            self.opening -= 1;
        } else {
            self.count_arrival(&segment, in_order, key.now);
            self.note_delivery(&segment, in_order, key.now);
            self.note_delay(segment, key.now);
        }
        match reply {
            Reply::Now(answer) => {
                if let Some(timer) = self.ack_timers.get_mut(segment.flow() as usize) {
                    timer.deadline = f64::INFINITY;
                }
                Some(self.acknowledgement(segment, &answer))
            }
            Reply::Later(delay) => {
                self.delay_ack(segment, delay, key);
                None
            }
        }
    }

    /// If rates are recorded: the payload that a segment made available in order.
    #[inline(never)]
    fn note_delivery(&mut self, segment: &Segment, in_order: u32, now: f64) {
        let Some(rates) = &mut self.rates else { return };
        if now < self.settings.duration {
            let flow = segment.flow();
            rates.add(flow, now, u64::from(in_order) * u64::from(self.specs.kind(flow).payload));
        }
    }

    fn acknowledgement(&mut self, segment: Segment, answer: &Answer) -> Segment {
        let blocks = answer.blocks.as_slice().len() as u16;
        let ack = segment.answered(answer.number, ACK_BYTES + 8 * blocks);
        let echo = if answer.echo { ECE } else { 0 };
        if blocks == 0 {
            return ack.with_bits(echo);
        }
        self.blocks.keep(ack.with_bits(echo | SACK), answer.blocks)
    }

    pub(super) fn delay_ack(&mut self, segment: Segment, delay: f64, key: Key) {
        self.counter += 1;
        let flow = segment.flow();
        let timer = &mut self.ack_timers[flow as usize];
        timer.segment = segment;
        timer.deadline = key.now + delay;
        timer.armed = key;
        timer.number = self.counter;
        if timer.entry > timer.deadline {
            self.push_ack_timer(flow);
        }
    }

    /// A flow's receiver has been replaced: nothing waits any more.
    pub(super) fn forget_ack(&mut self, flow: u32) {
        if let Some(timer) = self.ack_timers.get_mut(flow as usize) {
            timer.deadline = f64::INFINITY;
        }
    }

    fn push_ack_timer(&mut self, flow: u32) {
        let timer = &mut self.ack_timers[flow as usize];
        timer.entry = timer.deadline;
        let (at, cause) = (timer.armed.now, timer.armed.scheduled.to_bits());
        let event = Event::new(timer.deadline, at, cause, timer.number, Kind::AckTimer, Segment::new(flow, 0, 0, 0));
        self.queue.push(event, 3);
    }

    /// The entry of a receiver's timer comes up.
    pub(super) fn on_ack_timer(&mut self, flow: u32, key: Key) {
        let timer = &mut self.ack_timers[flow as usize];
        if timer.entry != key.now {
            // A shorter wait has begun since, and has an entry of its own.
            return;
        }
        timer.entry = f64::INFINITY;
        if timer.deadline == f64::INFINITY {
            return;
        }
        if timer.number != key.number {
            self.push_ack_timer(flow);
            return;
        }
        timer.deadline = f64::INFINITY;
        let segment = timer.segment;
        let Receiver::Ns2(receiver) = &mut self.net.arrivals[flow as usize].receiver else {
            return self.answer_late(segment, key);
        };
        if let Some(answer) = receiver.on_timer() {
            let ack = self.acknowledgement(segment, &answer);
            let ack = ack.with_seq(ack.seq() + self.applications.base(flow));
            self.set_out(ack, key);
        }
    }
}
