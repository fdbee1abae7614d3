//! TCP Tahoe: fast retransmit, then slow start from the first unacknowledged segment (ns-2.35 `tcp.cc`).
//!
//! ns-2's choices: the count of duplicate ACKs survives a timeout; after every ACK, even an old one, the sender tries
//! to send; an ECN echo halves cwnd, and only a loss sets it to 1.

use super::ack::Ack;
use super::core::{Action, Core};
use crate::tcp::output::Output;

pub(super) fn on_ack(core: &mut Core, now: f64, ack: Ack, out: &mut Output) {
    core.respond_to_echo(ack, out);
    if ack.number > core.last_ack {
        core.advance(now, ack, out);
    } else if ack.number == core.last_ack {
        on_duplicate(core, now, out);
    }
    core.send_much(now, 0, out);
}

fn on_duplicate(core: &mut Core, now: f64, out: &mut Output) {
    core.set_dupacks(core.dupacks + 1, out);
    match core.dupacks {
        1 | 2 => core.limited_transmit(now, out),
        3 if core.may_retransmit() => {
            core.recover = core.max_sent;
            core.reduce(false, out);
            go_back(core, out);
        }
        3 if core.action == Action::Ecn => {
            // An echo has reduced ssthresh for this window already.
            core.reduce_to_one(out);
            go_back(core, out);
        }
        _ => {}
    }
}

fn go_back(core: &mut Core, out: &mut Output) {
    core.action = Action::Dupack;
    core.arm_timer(out);
    core.stop_timing();
    core.next = core.ack + 1;
}

pub(super) fn on_timeout(core: &mut Core, now: f64, out: &mut Output) {
    core.time_out(out);
    core.send_much(now, 0, out);
}

#[cfg(test)]
mod tests {
    use super::super::testing::{acks, established};
    use crate::tcp::flavour::Flavour;

    #[test]
    fn third_duplicate_starts_over_behind_the_last_ack() {
        let (mut sender, mut out) = established(Flavour::Tahoe, 4);
        assert_eq!((sender.core.ack, sender.core.max_sent), (14, 30));
        assert_eq!(acks(&mut sender, &mut out, 0.6, &[14, 14]), [31, 32], "limited transmit");
        assert_eq!(acks(&mut sender, &mut out, 0.6, &[14]), [15]);
        assert_eq!((sender.core.cwnd, sender.core.ssthresh, sender.core.recover), (1.0, 8, 32));
        assert_eq!(acks(&mut sender, &mut out, 0.7, &[14, 14]), [], "later ones do nothing");
        // Everything is retransmitted in slow start, and then new segments.
        assert_eq!(acks(&mut sender, &mut out, 0.8, &[15]), [16, 17]);
        assert_eq!(sender.core.cwnd, 2.0);
    }

    #[test]
    fn old_acks_and_duplicates_still_send_what_the_window_allows() {
        let (mut sender, mut out) = established(Flavour::Tahoe, 4);
        sender.core.cwnd = 18.0;
        assert_eq!(acks(&mut sender, &mut out, 0.6, &[3]), [31, 32]);
    }

    #[test]
    fn duplicates_are_counted_on_over_a_timeout() {
        let (mut sender, mut out) = established(Flavour::Tahoe, 4);
        acks(&mut sender, &mut out, 0.6, &[14, 14]);
        sender.on_timeout(2.0, &mut out);
        assert_eq!((sender.core.dupacks, sender.core.cwnd), (2, 1.0));
    }
}
