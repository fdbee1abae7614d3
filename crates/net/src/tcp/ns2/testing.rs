//! Senders in a known state, for the tests of congestion controls.

use super::{Ack, Blocks, Sender};
use crate::tcp::flavour::Flavour;
use crate::tcp::output::Output;

/// Sends the SYN and `rounds` windows, 0.1 s each; the last one is in flight.
pub(super) fn established(flavour: Flavour, rounds: i32) -> (Sender, Output) {
    established_from(Sender::new(flavour, 1000, 0.0), rounds)
}

pub(super) fn established_from(mut sender: Sender, rounds: i32) -> (Sender, Output) {
    let mut out = Output::default();
    sender.start(0.0, &mut out);
    let mut acked = -1;
    for round in 0..rounds {
        for sent in std::mem::take(&mut out.segments) {
            acked += 1;
            assert_eq!(sent.seq as i32, acked);
            // The answer to the SYN agrees to ECN.
            let ack = Ack { number: acked, echo: acked == 0 && sender.core.uses_ecn(), blocks: &Blocks::NONE };
            sender.on_ack(f64::from(round + 1) * 0.1, ack, &mut out);
        }
    }
    out.segments.clear();
    (sender, out)
}

/// Plain ACKs at one time; returns the segments sent.
pub(super) fn acks(sender: &mut Sender, out: &mut Output, now: f64, numbers: &[i32]) -> Vec<i32> {
    out.segments.clear();
    for &number in numbers {
        sender.on_ack(now, Ack::plain(number), out);
    }
    out.segments.drain(..).map(|sent| sent.seq as i32).collect()
}
