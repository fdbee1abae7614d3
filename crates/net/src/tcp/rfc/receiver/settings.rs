//! Settings of a receiver, from those of the connection.

use super::super::settings::{Feedbacks, Settings};
use super::reading::Reading;

/// Settings of a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiverSettings {
    /// First sequence number on the wire.
    pub first: u32,
    /// SACK blocks in an ACK, at most; 0 without SACK.
    pub blocks: u8,
    /// How long an ACK may be delayed, s. `None`: every ACK is immediate.
    pub delay: Option<f64>,
    /// How marks can be echoed; once there is a connection, how they are.
    pub feedback: Feedbacks,
    /// Time stamps take room of other options.
    pub timestamps: bool,
    /// With [`Feedbacks::Classic`]: the first mark, the segment behind it and each CWR get an immediate ACK (Linux,
    /// `tcp_enter_quickack_mode` in `tcp_ecn_check_ce`, and `tcp_ecn_accept_cwr`).
    pub mark_ack_at_once: bool,
    /// SACK compression: from the fourth on, SACKs of a loss are delayed by 1 ms (Linux, `__tcp_ack_snd_check`).
    pub compressed: bool,
    /// The first ACKs, and those after a pause or old data, are immediate (Linux, `tcp_event_data_recv`).
    pub first_ack_at_once: bool,
    /// The delay of ACKs follows the time between segments (Linux, `tcp_event_data_recv`).
    pub ack_wait_adapts: bool,
    /// Segments that come within this time of each other come as one (GRO), s; 0: each comes on its own.
    pub gro: f64,
    /// ACKs are QUIC's, with its two thresholds ([`Settings::ack_threshold`]).
    pub quic: bool,
    /// See above.
    pub ack_threshold: u32,
    /// See above.
    pub reordering_threshold: u32,
    /// How the application reads; `None`: immediately.
    pub reading: Option<Reading>,
    /// Payload of a full segment, bytes.
    pub mss: u32,
    /// The window, bytes.
    pub window: u64,
    /// It is autotuned up to that.
    pub window_tuned: bool,
    /// From this on, bytes.
    pub first_window: u64,
    /// With this share of the buffer once a full segment has come (Linux, `scaling_ratio`).
    pub window_share: f64,
    /// The least retransmission timeout, s.
    pub min_rto: f64,
    /// That is for what its variation adds.
    pub min_rto_for_variation: bool,
}

impl Settings {
    /// The settings of the receiver for a sender with these, whose connection starts with the number `first`.
    pub fn receiver_settings(&self, first: u32) -> ReceiverSettings {
        ReceiverSettings {
            first,
            blocks: self.blocks(),
            delay: self.delayed_ack,
            feedback: self.serves(),
            timestamps: self.timestamps,
            mark_ack_at_once: self.mark_ack_at_once,
            compressed: self.late_sack_compressed,
            first_ack_at_once: self.first_ack_at_once,
            ack_wait_adapts: self.ack_wait_adapts,
            gro: self.gro,
            quic: self.quic,
            ack_threshold: self.ack_threshold,
            reordering_threshold: self.reordering_threshold,
            reading: self.reading,
            mss: self.mss,
            window: self.window,
            window_tuned: self.window_tuned,
            first_window: self.first_window,
            window_share: self.window_share,
            min_rto: self.min_rto,
            min_rto_for_variation: self.min_rto_for_variation,
        }
    }
}
