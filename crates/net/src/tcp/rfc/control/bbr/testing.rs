//! What the tests of BBR share.

pub(super) use super::super::tests::acked;
use super::{Acked, Bbr, BbrRules, Control, Sample, Window};

/// BBR before the first ACK, with a cwnd of ten segments of 960 B.
pub fn started(rules: BbrRules) -> (Bbr, Window) {
    (Bbr::new(rules, 960.0, true), Window { cwnd: 10.0, ssthresh: f64::INFINITY })
}

/// An ACK that starts a round and has this rate sample.
pub fn round(bbr: &mut Bbr, window: &mut Window, number: f64, rate: f64) {
    let (prior_delivered, delivered) = (100.0 * number, 100.0 * (number + 1.0));
    let sample = Sample { rate: Some(rate), prior_delivered, delivered, app_limited: false };
    let ack = Acked { now: 0.1 * number, rtt: Some(0.1), srtt: 0.1, pipe: 1000.0, rate: Some(sample), ..acked(1.0) };
    bbr.on_any_ack(window, &ack);
}

/// BBR after 20 rounds at 833.33 segments/s of 1448 B, with a min RTT of 40 ms.
pub fn warm(rules: BbrRules) -> Bbr {
    let (mut bbr, mut window) = (Bbr::new(rules, 1448.0, true), started(rules).1);
    for i in 0..20 {
        round(&mut bbr, &mut window, f64::from(i), 833.333_333);
    }
    bbr.min_rtt.rtt = 0.04;
    bbr
}

/// BBR after Startup, at 100 segments/s with a min RTT of 0.1 s.
pub fn full(rules: BbrRules) -> (Bbr, Window) {
    let (mut bbr, window) = started(rules);
    fill(&mut bbr);
    (bbr, window)
}

/// Ends Startup, at 100 segments/s with a min RTT of 0.1 s.
pub fn fill(bbr: &mut Bbr) {
    bbr.btl_bw.update(0, 100.0);
    (bbr.full_pipe.filled, bbr.min_rtt.rtt) = (true, 0.1);
}
