//! BBR's recoveries, fast or after a timeout.

use super::rules::BbrRules;
use crate::tcp::rfc::control::Acked;

/// A recovery, fast or after a timeout.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// Linux: the minimum of four segments holds outside of packet conservation only.
    pub small_conserving_cwnd: bool,
    /// Linux: after a timeout a lost retransmission starts a fast recovery.
    pub lost_retransmission_recovers: bool,
    pub active: bool,
    pub after_timeout: bool,
    pub packet_conservation: bool,
    /// cwnd before the recovery or ProbeRTT, segments.
    pub prior_cwnd: f64,
}

impl Recovery {
    pub fn new(rules: &BbrRules) -> Self {
        Recovery {
            small_conserving_cwnd: rules.small_conserving_cwnd,
            lost_retransmission_recovers: false,
            active: false,
            after_timeout: false,
            packet_conservation: false,
            prior_cwnd: 0.0,
        }
    }

    /// The retransmission timer has expired.
    pub fn on_timeout(&mut self) {
        (self.active, self.after_timeout) = (true, true);
    }

    /// A fast recovery starts, maybe within one after a timeout.
    pub fn starts(&self, ack: &Acked) -> bool {
        ack.recovering && (!self.active || self.restarts(ack))
    }

    pub fn restarts(&self, ack: &Acked) -> bool {
        self.lost_retransmission_recovers && self.after_timeout && !ack.timed_out
    }

    /// cwnd after the recovery.
    pub fn exit(&mut self, cwnd: f64) -> f64 {
        (self.active, self.packet_conservation) = (false, false);
        self.after_timeout = false;
        cwnd.max(self.prior_cwnd)
    }
}
