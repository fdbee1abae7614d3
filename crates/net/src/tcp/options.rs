//! What a network says of a TCP connection beside its congestion control.

use super::ns2::core::MIN_RTO_MS;
use super::rfc::{Settings, SACK_WAIT};
use std::sync::Arc;

/// Options of a TCP connection.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpOptions {
    /// Whether data are sent as ECT(0), and CE marks reduce cwnd, if the congestion control knows ECN.
    pub ecn: bool,
    /// Longest delay of an ACK, s; with `None` every segment is acknowledged at once.
    pub delayed_ack: Option<f64>,
    /// Whether limited transmit is on: a new segment on each of the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Smallest retransmission timeout before backoff, ms; at least [`MIN_RTO_MS`], which the engine's plan relies on.
    pub min_rto_ms: u16,
    /// Settings of a stack other than ns-2's, which replace all of the above. Flows of one kind share them.
    pub rfc: Option<Arc<Settings>>,
}

impl TcpOptions {
    /// Whether the sender bounds its own queue, so that it must know which segments have left its first link.
    pub fn has_small_queue(&self) -> bool {
        self.rfc.as_ref().is_some_and(|settings| settings.pacing.small_queue)
    }

    /// How long the receiver may delay an ACK, s; empty if it delays none.
    pub fn ack_waits(&self) -> impl Iterator<Item = f64> {
        let compressed = self.rfc.as_ref().is_some_and(|settings| settings.receiver.compressed);
        let gro = self.rfc.as_ref().map(|settings| settings.receiver.gro).filter(|&gap| gap > 0.0);
        // Window updates come at any time.
        let lags = self.rfc.as_ref().is_some_and(|settings| settings.window_moves());
        let waits = self.delayed_ack.into_iter().chain(compressed.then_some(SACK_WAIT)).chain(gro);
        waits.chain(lags.then_some(f64::INFINITY))
    }
}

impl Default for TcpOptions {
    fn default() -> Self {
        TcpOptions { ecn: false, delayed_ack: None, limited_transmit: true, min_rto_ms: MIN_RTO_MS, rfc: None }
    }
}
