//! Tail loss probes (RFC 8985, section 7): sent when ACKs are missing, before the retransmission timer expires.

/// Probe timeout without an RTT sample, s (RFC 8985, 7.2).
const WITHOUT_SRTT: f64 = 1.0;
/// Linux: what is added to two RTTs with more than one segment in flight, s (`TCP_TIMEOUT_MIN_US`).
pub const LEAST_MARGIN: f64 = 2e-3;

/// A probe in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Probe {
    /// `SND.NXT` when the probe was sent (`TLP.end_seq`).
    end: u64,
    /// Whether the probe was a retransmission (`TLP.is_retrans`).
    again: bool,
}

/// The result of an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No reaction.
    Nothing,
    /// The probe has repaired a loss: cwnd must be reduced.
    Repaired,
}

/// State of tail loss probes.
#[derive(Clone, Debug)]
pub struct Tlp {
    probe: Option<Probe>,
    /// Whether there was an RTT sample since the last probe.
    sampled: bool,
}

impl Default for Tlp {
    fn default() -> Self {
        Tlp { probe: None, sampled: true }
    }
}

/// Probe timeout, s (7.2). `margin` is what is added to two RTTs: with one segment in flight its ACK may be delayed.
pub fn timeout(srtt: Option<f64>, margin: f64) -> f64 {
    match srtt {
        Some(srtt) => 2.0 * srtt + margin,
        None => WITHOUT_SRTT,
    }
}

impl Tlp {
    /// Whether a probe may be sent (7.3): none is in flight, and there was an RTT sample since the last probe.
    pub fn may_probe(&self) -> bool {
        self.probe.is_none() && self.sampled
    }

    /// Whether a probe is in flight.
    pub fn is_out(&self) -> bool {
        self.probe.is_some()
    }

    /// Whether a retransmission is in flight as a probe.
    pub fn has_repeated(&self) -> bool {
        self.probe.is_some_and(|probe| probe.again)
    }

    /// Whether a probe is in flight that ends here.
    pub fn ends_at(&self, end: u64) -> bool {
        self.probe.is_some_and(|probe| probe.end == end)
    }

    /// A probe has been sent, new data or a retransmission; `next` is the next sequence number to send.
    pub fn sent(&mut self, next: u64, again: bool) {
        self.probe = Some(Probe { end: next, again });
        self.sampled = false;
    }

    /// Notes an RTT sample.
    pub fn sampled(&mut self) {
        self.sampled = true;
    }

    /// Takes an ACK of everything below `ack` (7.4); `duplicate`: with a DSACK of the probe; `bare`: a duplicate ACK
    /// without SACK blocks.
    pub fn on_ack(&mut self, ack: u64, duplicate: bool, bare: bool) -> Verdict {
        let Some(probe) = self.probe.filter(|probe| ack >= probe.end) else { return Verdict::Nothing };
        if !probe.again || duplicate {
            self.probe = None;
        } else if ack > probe.end {
            self.probe = None;
            return Verdict::Repaired;
        } else if bare {
            self.probe = None;
        }
        Verdict::Nothing
    }

    /// A timeout or a recovery cancels the probe.
    pub fn reset(&mut self) {
        self.probe = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_by_hand() {
        assert_eq!(timeout(Some(0.1), 0.0), 0.2);
        assert_eq!(timeout(Some(0.1), 0.2), 0.4);
        assert_eq!(timeout(None, 0.2), 1.0);
    }

    #[test]
    fn a_probe_ends_where_it_was_sent() {
        let mut tlp = Tlp::default();
        assert!(!tlp.ends_at(1000));
        tlp.sent(1000, true);
        assert_eq!([999, 1000, 1001].map(|end| tlp.ends_at(end)), [false, true, false]);
    }

    #[test]
    fn results_of_acks() {
        let probe = |again| {
            let mut tlp = Tlp::default();
            tlp.sent(1000, again);
            assert!(!tlp.may_probe());
            tlp
        };
        assert_eq!(probe(false).on_ack(1000, false, false), Verdict::Nothing, "new data have arrived");
        assert_eq!(probe(true).on_ack(1100, false, false), Verdict::Repaired, "beyond it, without a duplicate");
        assert_eq!(probe(true).on_ack(1000, true, false), Verdict::Nothing, "it came twice: nothing was lost");
        let mut tlp = probe(true);
        assert_eq!(tlp.on_ack(1000, false, false), Verdict::Nothing);
        assert_eq!(tlp.on_ack(1000, false, true), Verdict::Nothing);
        tlp.sampled();
        assert!(tlp.may_probe(), "the duplicate has come by itself");
    }
}
