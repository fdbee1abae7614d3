//! What a sender is given, and what its control learns from feedback.

use super::encoder::Encoding;

/// The control that sets the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// SCReAMv2.
    Scream,
    /// Google congestion control.
    Gcc,
}

/// The ECN field of the packets, and with it what a mark means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Not-ECT.
    Off,
    /// ECT(0): a mark counts as a loss, but less.
    Classic,
    /// ECT(1): the response is in proportion to the fraction of marks.
    L4s,
}

/// The settings of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The control.
    pub algorithm: Algorithm,
    /// ECN field of the packets.
    pub ecn: Ecn,
    /// Smallest target rate, headers included, bit/s.
    pub min_rate: f64,
    /// Largest target rate, headers included, bit/s.
    pub max_rate: f64,
    /// First target rate, headers included, bit/s.
    pub start_rate: f64,
    /// How the encoder makes frames.
    pub encoding: Encoding,
    /// Largest payload of a packet, bytes.
    pub segment: u32,
    /// Headers of a packet, bytes.
    pub header: u32,
}

impl Settings {
    /// Size of a full packet, bytes.
    pub(super) fn mss(&self) -> f64 {
        f64::from(self.segment + self.header)
    }
}

/// A packet that feedback reports for the first time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Acked {
    /// Bytes of the packet, headers included.
    pub(super) size: u32,
    pub(super) sent: f64,
    pub(super) arrived: f64,
    /// Whether it carries Congestion Experienced.
    pub(super) ce: bool,
}

/// What a sender learns from feedback.
#[derive(Clone, Copy, Debug)]
pub(super) struct News<'a> {
    pub(super) now: f64,
    /// Packets reported for the first time, in the order of their numbers.
    pub(super) acked: &'a [Acked],
    /// Packets that are now taken for lost.
    pub(super) lost: u32,
    /// Bytes by which the highest number reported has advanced, lost packets included, and those of them marked.
    pub(super) advanced: u64,
    pub(super) advanced_ce: u64,
    /// Bytes sent after the highest number reported.
    pub(super) in_flight: u64,
    /// Smoothed round-trip time, s.
    pub(super) srtt: f64,
}
