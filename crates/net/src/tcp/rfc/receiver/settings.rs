//! Settings of a receiver, from those of the connection.

use super::super::rules::{Feedbacks, ReceiverRules};
use super::super::settings::Settings;

/// Settings of a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverSettings {
    /// First sequence number on the wire.
    pub first: u32,
    /// Most SACK blocks in an ACK; 0 without SACK.
    pub blocks: u8,
    /// How marks can be echoed; in a connection, how they are.
    pub feedback: Feedbacks,
    /// Whether time stamps take space of other options.
    pub timestamps: bool,
    /// Whether ACKs are QUIC's, with its two thresholds (`ack_threshold`, `reordering_threshold`).
    pub quic: bool,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// The least retransmission timeout, s.
    pub min_rto: f64,
    /// Whether that bounds what the RTT variation adds, not the timeout.
    pub min_rto_for_variation: bool,
    /// What the receiver does where there is a choice.
    pub rules: ReceiverRules,
}

impl Settings {
    /// The settings of the receiver for a sender with these, whose connection starts with the number `first`.
    pub fn receiver_settings(&self, first: u32) -> ReceiverSettings {
        ReceiverSettings {
            first,
            blocks: self.blocks(),
            feedback: self.serves(),
            timestamps: self.timestamps,
            quic: self.quic,
            mss: self.mss,
            min_rto: self.rto.min,
            min_rto_for_variation: self.rto.min_for_variation,
            rules: self.receiver,
        }
    }
}
