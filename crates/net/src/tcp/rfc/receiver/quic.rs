//! When QUIC's receiver sends ACKs (RFC 9000, 13.2.1), and how a sender may change that (draft-ietf-quic-ack-frequency).
//!
//! Packets are ordered by their time of sending, then by their data. A gap is a gap in the data.

use super::settings::ReceiverSettings;
use crate::tcp::rfc::wire::{Feedback, Range};

/// A packet that has arrived.
pub struct Packet {
    /// When the packet arrived, s.
    pub now: f64,
    /// When the packet was sent, s.
    pub sent: f64,
    /// The packet's data.
    pub data: Range,
    /// Whether it carries a CE mark.
    pub marked: bool,
    /// Whether it ends the data.
    pub fin: bool,
    /// Whether all of its data had arrived before.
    pub duplicate: bool,
}

/// When the ACK of a packet is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    Now,
    /// After so many seconds, unless another ACK is sent before.
    After(f64),
    /// With an ACK that is delayed already.
    WithAnother,
}

/// State of the receiver's ACKs.
#[derive(Clone, Debug)]
pub struct Acks {
    delay: Option<f64>,
    /// Packets that may wait for an ACK; below, by how many a packet may be overtaken (0: by any number).
    threshold: u32,
    reordering: u32,
    mss: u64,
    /// The largest packet: when it was sent and where its data ended; below, when it arrived, s.
    largest: (f64, u64),
    arrived: f64,
    /// Start of the data that came furthest, and of those acknowledged last.
    furthest: u64,
    reported: u64,
    /// Packets that wait for an ACK.
    waiting: u32,
    /// Data that came twice, to be reported.
    duplicate: Option<Range>,
    marked: bool,
}

impl Acks {
    /// The state for a connection with these settings, if it is QUIC's.
    pub fn new(settings: &ReceiverSettings) -> Option<Box<Self>> {
        settings.quic.then(|| {
            Box::new(Acks {
                delay: settings.rules.delay,
                threshold: settings.rules.ack_threshold,
                reordering: settings.rules.reordering_threshold,
                mss: u64::from(settings.mss),
                largest: (f64::NEG_INFINITY, 0),
                arrived: 0.0,
                furthest: 1,
                reported: 1,
                waiting: 0,
                duplicate: None,
                marked: false,
            })
        })
    }

    /// A packet has arrived. `has_all` says whether all data of a range have.
    pub fn on_packet(&mut self, packet: &Packet, has_all: impl Fn(u64, u64) -> bool) -> When {
        let order = (packet.sent, packet.data.1);
        let overtaken = order < self.largest;
        if !overtaken {
            (self.largest, self.arrived) = (order, packet.now);
        }
        self.furthest = self.furthest.max(packet.data.0);
        if packet.duplicate {
            self.duplicate = Some(packet.data);
        }
        let waiting = self.waiting > 0;
        self.waiting += 1;
        // A mark is news if the last packet had none (ack-frequency, 6.4).
        let news = packet.marked && (!self.marked || self.threshold <= 1);
        self.marked = packet.marked;
        let reordered = match u64::from(self.reordering) {
            0 => false,
            by => {
                // A packet is missing that is `by` before this packet, or before one that waits.
                let back = (by - 1) * self.mss;
                let (from, to) = (self.reported.saturating_sub(back), self.furthest.saturating_sub(back));
                (by == 1 && overtaken) || (from < to && !has_all(from, to))
            }
        };
        match self.delay {
            Some(delay) if !news && !reordered && !packet.fin && self.waiting <= self.threshold => {
                if waiting {
                    When::WithAnother
                } else {
                    When::After(delay)
                }
            }
            _ => When::Now,
        }
    }

    /// Whether an ACK waits.
    pub fn waits(&self) -> bool {
        self.waiting > 0
    }

    /// Data that came twice since the last ACK.
    pub fn take_duplicate(&mut self) -> Option<Range> {
        self.duplicate.take()
    }

    /// An ACK is sent now: it names the largest packet, by its time of sending, and says how long it has waited.
    pub fn fill(&mut self, now: f64, ack: &mut Feedback) {
        (self.waiting, self.reported) = (0, self.furthest);
        if self.largest.0 > f64::NEG_INFINITY {
            (ack.stamp, ack.one_way) = (self.largest.0, now - self.arrived);
        }
    }
}
