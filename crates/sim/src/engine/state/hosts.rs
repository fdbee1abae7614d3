//! The sender and the receiver of a flow, as its settings want them, and what ACKs say beside their number while they
//! are on their way.

use crate::engine::network::FlowSpec;
use earlydrop_net::segment::{ECE, SACK};
use earlydrop_net::tcp::ns2::{Ack, Blocks};
use earlydrop_net::tcp::rfc::{Connection, Feedback};
use earlydrop_net::tcp::{ns2, rfc, Receiver, Sender};
use earlydrop_net::Segment;

/// The sender of a flow, whose numbers on the wire begin with `first` (as in the RFCs; 0 in ns-2).
pub fn sender(spec: &FlowSpec, first: u32) -> Sender {
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
pub fn receiver(spec: &FlowSpec, first: u32) -> Receiver {
    match &spec.options.rfc {
        Some(settings) => Receiver::Rfc(Box::new(settings.receiver(first))),
        None => Receiver::Ns2(ns2::Receiver::with(spec.flavour.uses_sack(), spec.options.delayed_ack)),
    }
}

/// Size on the wire of an ACK with time stamps and without blocks, bytes; 0 if its flow's have none.
pub fn stamped_ack(spec: &FlowSpec) -> u16 {
    let stamps = spec.options.rfc.as_ref().is_some_and(|settings| {
        // What else they say has to be kept too.
        settings.timestamps || settings.feedback == rfc::Feedbacks::Accurate
    });
    if stamps {
        spec.acks()[0]
    } else {
        0
    }
}

/// SACK blocks of ACKs on their way, so that a segment stays small. The place of an ACK's blocks stands where its time
/// stamp was, which is kept with them.
#[derive(Default)]
pub struct BlockPool {
    kept: Vec<(Blocks, u32)>,
    free: Vec<u32>,
    /// What ACKs of the `rfc` profile say.
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

    /// An ACK of `number` has arrived: what it says, and the segment with its time stamp. Its blocks are there until
    /// others are kept.
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

    /// The ACK has been dropped.
    pub fn free(&mut self, ack: Segment) {
        if ack.note() & RFC_PLACE != 0 {
            self.rfc.open(ack.note());
            return;
        }
        self.free.push(ack.note());
    }
}

/// What ACKs of this profile say while they are on their way, with their time stamps.
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

    /// The ACK whose place is `note` is gone. What it said, and its time stamp, are there until another is kept.
    pub fn open(&mut self, note: u32) -> &(Feedback, u32) {
        let place = note & !RFC_PLACE;
        self.free.push(place);
        &self.kept[place as usize]
    }
}

/// Of the place of an ACK's blocks: it is among those of this profile.
const RFC_PLACE: u32 = 1 << 31;
