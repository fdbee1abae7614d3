//! Proportional rate reduction (RFC 9937, which obsoletes RFC 6937): how much to send on each ACK of a recovery.
//!
//! Units are full-sized segments. Whole segments are sent, so the proportional part is rounded up.

/// What bounds sending once pipe is below ssthresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Conservative reduction bound: as much as was delivered (CRB; RFC 6937, section 3).
    Conservative,
    /// Slow start reduction bound: one segment more on each ACK than was delivered (SSRB; RFC 6937, section 3).
    SlowStart,
    /// SSRB for an ACK that advances the window and reports no loss (`SafeACK`), else CRB (RFC 9937).
    SafeAck,
}

/// The state of one recovery.
#[derive(Clone, Debug)]
pub struct Prr {
    delivered: f64,
    out: f64,
    recover_fs: f64,
    bound: Bound,
}

impl Prr {
    /// A recovery that starts with `flight` segments to deliver (`RecoverFS`).
    pub fn new(flight: f64, bound: Bound) -> Self {
        Prr { delivered: 0.0, out: 0.0, recover_fs: flight.max(1.0), bound }
    }

    /// An ACK newly delivers `delivered` segments, with `pipe` in flight: returns how many may be sent (`sndcnt`).
    /// `safe`: the ACK advances the window and reports no loss.
    pub fn on_ack(&mut self, delivered: f64, pipe: f64, ssthresh: f64, safe: bool) -> f64 {
        self.delivered += delivered;
        let count = if pipe > ssthresh {
            (self.delivered * ssthresh / self.recover_fs).ceil() - self.out
        } else {
            let conservative = self.delivered - self.out;
            let limit = match self.bound {
                Bound::Conservative => conservative,
                Bound::SlowStart => conservative.max(delivered) + 1.0,
                Bound::SafeAck => conservative.max(delivered) + f64::from(u8::from(safe)),
            };
            (ssthresh - pipe).min(limit)
        };
        count.max(0.0)
    }

    /// The least that is sent: one segment until one has been sent (RFC 9937, 6).
    pub fn least(&self) -> f64 {
        if self.out > 0.0 {
            0.0
        } else {
            1.0
        }
    }

    /// Notes that `segments` have been sent or retransmitted (`prr_out`).
    pub fn sent(&mut self, segments: f64) {
        self.out += segments;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One segment of 20 is lost, limited transmit has sent two, and every ACK SACKs one more. Returns the ACKs (by
    /// segments delivered) that send, with `flight` as `RecoverFS`.
    fn sent_at(flight: u32, ssthresh: f64, acks: u32) -> Vec<u32> {
        let mut prr = Prr::new(f64::from(flight), Bound::SlowStart);
        // 22 are outstanding, less the lost one and two SACKed before.
        let mut pipe = 19.0;
        let mut at = Vec::new();
        for delivered in 1..=acks {
            pipe -= 1.0;
            let mut count = prr.on_ack(1.0, pipe, ssthresh, false);
            if delivered == 1 {
                // The first retransmission is always sent (RFC 9937, 6).
                count = count.max(1.0);
            }
            let whole = count.floor();
            assert!(whole <= 2.0, "{count} at {delivered}");
            prr.sent(whole);
            pipe += whole;
            at.extend((0..whole as u32).map(|_| delivered));
        }
        at
    }

    #[test]
    fn half_the_rate_for_a_halved_cwnd() {
        // With ssthresh 10 every second ACK sends; the first sends the retransmission.
        assert_eq!(sent_at(20, 10.0, 15), [1, 3, 5, 7, 9, 11, 13, 15]);
        assert_eq!(sent_at(22, 10.0, 15), [1, 3, 5, 7, 9, 12, 14]);
    }

    #[test]
    fn the_bounds_after_a_burst_of_losses() {
        // The first 15 of 20 are lost; with two segments of limited transmit seven ACKs come. The third starts the
        // recovery with 22 outstanding, 15 lost, 3 SACKed: pipe 4.
        let run = |bound| {
            let (mut prr, mut pipe, mut sent) = (Prr::new(22.0, bound), 4.0, Vec::new());
            for _ in 0..3 {
                let count = prr.on_ack(1.0, pipe, 10.0, false).max(1.0).floor();
                prr.sent(count);
                pipe += count - 1.0;
                sent.push(count);
            }
            sent
        };
        assert_eq!(run(Bound::SlowStart), [2.0, 2.0, 2.0]);
        assert_eq!(run(Bound::Conservative), [1.0, 1.0, 1.0]);
        assert_eq!(run(Bound::SafeAck), [1.0, 1.0, 1.0], "no ACK advances the window");
    }

    #[test]
    fn a_safe_ack_sends_one_more() {
        let mut prr = Prr::new(20.0, Bound::SafeAck);
        assert_eq!(prr.on_ack(1.0, 5.0, 10.0, true), 2.0);
        assert_eq!(prr.on_ack(1.0, 5.0, 10.0, false), 2.0, "two delivered, none sent");
        assert_eq!(prr.on_ack(9.0, 9.0, 10.0, true), 1.0, "not beyond ssthresh");
    }

    #[test]
    fn it_ends_at_ssthresh() {
        let mut prr = Prr::new(40.0, Bound::SlowStart);
        let mut pipe = 36.0;
        for _ in 0..38 {
            pipe -= 1.0;
            let count = prr.on_ack(1.0, pipe, 20.0, false).floor();
            prr.sent(count);
            pipe += count;
        }
        assert!((pipe - 20.0_f64).abs() <= 2.0, "{pipe}");
    }
}
