//! Settings of a receiver, from those of the connection.

use super::super::rules::{Feedbacks, ReceiverRules};
use super::super::settings::Settings;

/// Settings of a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverSettings {
    /// First sequence number on the wire.
    pub first: u32,
    /// SACK blocks in an ACK, at most; 0 without SACK.
    pub blocks: u8,
    /// How marks can be echoed; once there is a connection, how they are.
    pub feedback: Feedbacks,
    /// Time stamps take room of other options.
    pub timestamps: bool,
    /// ACKs are QUIC's, with its two thresholds (`ack_threshold`, `reordering_threshold`).
    pub quic: bool,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// The least retransmission timeout, s.
    pub min_rto: f64,
    /// That is for what its variation adds.
    pub min_rto_for_variation: bool,
    /// What it does where there is a choice.
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
