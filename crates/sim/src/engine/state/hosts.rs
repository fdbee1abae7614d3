//! Construction of a flow's sender and receiver, and the contents of ACKs in flight.

use crate::engine::network::FlowSpec;
use earlydrop_net::segment::{ECE, SACK};
use earlydrop_net::tcp::ns2::{Ack, Blocks};
use earlydrop_net::tcp::rfc::{Connection, Feedback};
use earlydrop_net::tcp::{ns2, Receiver, Sender};
use earlydrop_net::Segment;

/// The sender of a flow whose RTT clock has this phase, s; `first` is its initial sequence number (0 in ns-2).
pub fn sender(spec: &FlowSpec, clock_phase: f64, first: u32) -> Sender {
    if let Some(settings) = &spec.options.rfc {
        return Sender::Rfc(Box::new(Connection::new(**settings, first)));
    }
    let mut sender = ns2::Sender::new(spec.flavour, spec.window, clock_phase);
    if spec.options.ecn && spec.flavour.knows_ecn() {
        sender.core.use_ecn();
    }
    sender.core.limited_transmit = spec.options.limited_transmit;
    sender.core.set_min_rto(spec.options.min_rto_ms);
    Sender::Ns2(sender)
}

/// The receiver of a flow, with the same initial sequence number.
pub fn receiver(spec: &FlowSpec, first: u32) -> Receiver {
    match &spec.options.rfc {
        Some(settings) => Receiver::Rfc(Box::new(settings.receiver(first))),
        None => Receiver::Ns2(ns2::Receiver::with(spec.flavour.uses_sack(), spec.options.delayed_ack)),
    }
}

/// Size of an ACK with time stamps and without SACK blocks, bytes; 0 without time stamps.
pub fn stamped_ack(spec: &FlowSpec) -> u16 {
    let stamps = spec.options.rfc.as_ref().is_some_and(|settings| {
        // Its other fields must be kept too.
        settings.timestamps || settings.counts_marks()
    });
    if stamps {
        spec.acks()[0]
    } else {
        0
    }
}

/// SACK blocks of ACKs in flight, so that segments stay small. The place of an ACK's blocks replaces its time stamp,
/// which is stored with them.
#[derive(Default)]
pub struct BlockPool {
    kept: Vec<(Blocks, u32)>,
    free: Vec<u32>,
    /// Contents of ACKs of the RFC TCP.
    pub rfc: FeedbackPool,
}

impl BlockPool {
    pub fn keep(&mut self, ack: Segment, blocks: Blocks) -> Segment {
        let kept = (blocks, ack.note());
        if let Some(place) = self.free.pop() {
            self.kept[place as usize] = kept;
            return ack.with_note(place);
        }
        self.kept.push(kept);
        ack.with_note(self.kept.len() as u32 - 1)
    }

    /// The contents of an ACK `number` that has arrived, and its segment with the time stamp. The blocks are valid
    /// until the next call of [`keep`](Self::keep).
    #[inline(always)]
    pub fn open(&mut self, mut segment: Segment, number: i32) -> (Ack<'_>, Segment) {
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

    /// What the place `note` of an ACK in flight holds: its feedback in the RFC TCP, else its SACK blocks.
    pub fn look(&self, note: u32) -> (Option<&Feedback>, Vec<(u32, u32)>) {
        if note & RFC_PLACE != 0 {
            return (Some(&self.rfc.kept[(note & !RFC_PLACE) as usize].0), Vec::new());
        }
        let blocks = self.kept[note as usize].0.as_slice().iter();
        (None, blocks.map(|block| (block.start as u32, block.end as u32)).collect())
    }

    /// The acknowledgement that a segment carries, if its flow has data both ways or it is an ACK of that kind.
    pub fn carried(&self, segment: &Segment) -> Option<&Feedback> {
        let kept = segment.bits() & SACK != 0 && segment.note() & RFC_PLACE != 0;
        kept.then(|| &self.rfc.kept[(segment.note() & !RFC_PLACE) as usize].0)
    }

    /// Whether a segment is a pure ACK of the RFC TCP with its contents kept.
    pub fn is_pure_ack(&self, segment: &Segment) -> bool {
        self.carried(segment).is_some_and(|ack| ack.carried == 0 && !ack.syn)
    }

    /// The ACK was dropped.
    pub fn free(&mut self, ack: Segment) {
        if ack.note() & RFC_PLACE != 0 {
            self.rfc.open(ack.note());
            return;
        }
        self.free.push(ack.note());
    }
}

/// Contents of ACKs of the RFC TCP in flight, with their time stamps.
#[derive(Default)]
pub struct FeedbackPool {
    kept: Vec<(Feedback, u32)>,
    free: Vec<u32>,
}

impl FeedbackPool {
    #[inline]
    pub fn keep(&mut self, ack: Segment, feedback: &Feedback) -> Segment {
        let kept = (*feedback, ack.note());
        let place = match self.free.pop() {
            Some(place) => {
                self.kept[place as usize] = kept;
                place
            }
            None => {
                self.kept.push(kept);
                self.kept.len() as u32 - 1
            }
        };
        ack.with_note(place | RFC_PLACE)
    }

    /// Frees the place `note` of an ACK; its contents and time stamp are valid until the next call of
    /// [`keep`](Self::keep).
    pub fn open(&mut self, note: u32) -> &(Feedback, u32) {
        let place = note & !RFC_PLACE;
        self.free.push(place);
        &self.kept[place as usize]
    }
}

/// In the place of an ACK's blocks: it is in the pool of the RFC TCP.
const RFC_PLACE: u32 = 1 << 31;
