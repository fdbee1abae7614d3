//! Headroom of cwnd, and recoveries.

use super::ns3::Ns3Recovery;
use super::rules::BbrRules;
use crate::tcp::rfc::control::Acked;

/// Headroom for hosts that process segments in batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headroom {
    None,
    /// Linux's quantization budget.
    Budget,
    /// ns-3's.
    Quanta,
}

impl Headroom {
    pub fn new(rules: &BbrRules) -> Self {
        match rules {
            _ if rules.ns3.quanta => Headroom::Quanta,
            _ if rules.linux.quantization_budget => Headroom::Budget,
            _ => Headroom::None,
        }
    }
}

/// A recovery, fast or after a timeout.
#[derive(Clone, Debug)]
pub struct Recovery {
    pub ns3: Ns3Recovery,
    /// Linux: four segments are the least outside of packet conservation alone.
    pub small_conserving_cwnd: bool,
    /// Linux: after a timeout a lost retransmission starts a fast recovery.
    pub lost_retransmission_recovers: bool,
    pub active: bool,
    pub after_timeout: bool,
    pub packet_conservation: bool,
    /// cwnd before the recovery or ProbeRTT, segments.
    pub prior_cwnd: f64,
    /// The bandwidth-delay product with headroom when Startup ended, segments.
    pub startup_bdp: Option<f64>,
}

impl Recovery {
    pub fn new(rules: &BbrRules) -> Self {
        Recovery {
            ns3: rules.ns3.recovery,
            small_conserving_cwnd: rules.linux.small_conserving_cwnd,
            lost_retransmission_recovers: false,
            active: false,
            after_timeout: false,
            packet_conservation: false,
            prior_cwnd: 0.0,
            startup_bdp: None,
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
        let timed_out = std::mem::take(&mut self.after_timeout);
        let own = self.ns3.exit_cwnd(cwnd, timed_out, self.startup_bdp);
        own.unwrap_or(cwnd.max(self.prior_cwnd))
    }

    /// Whether packet conservation sets cwnd to the packets in flight.
    pub fn conserves_packets(&self) -> bool {
        self.packet_conservation && !(self.after_timeout && self.ns3.grows_after_timeout)
    }
}
