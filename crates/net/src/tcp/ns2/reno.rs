//! TCP Reno: fast retransmit and fast recovery that ends with the first new ACK (ns-2.35 `tcp-reno.cc`).
//!
//! Differences from RFC 5681, all ns-2's: cwnd is halved at entry and the inflation kept apart (`dupwnd`); at exit cwnd
//! stays halved, and the ACK that ends recovery grows it; fast retransmit requires `ack > recover`.

use super::ack::Ack;
use super::core::{Action, Core};
use crate::tcp::output::Output;

pub(super) fn on_ack(core: &mut Core, now: f64, ack: Ack, out: &mut Output) {
    core.respond_to_echo(ack, out);
    if ack.number > core.last_ack {
        if core.action == Action::Dupack {
            core.action = Action::Exited;
        }
        core.dupwnd = 0;
        core.advance(now, ack, out);
    } else if ack.number == core.last_ack {
        on_duplicate(core, now, out);
    }
    if core.dupacks == 0 || core.dupacks > 2 {
        core.send_much(now, 0, out);
    }
}

fn on_duplicate(core: &mut Core, now: f64, out: &mut Output) {
    core.set_dupacks(core.dupacks + 1, out);
    match core.dupacks {
        1 | 2 => core.limited_transmit(now, out),
        3 if core.may_retransmit() || core.action == Action::Dupack => {
            core.recover = core.max_sent;
            core.reduce(true, out);
            retransmit(core, now, out);
        }
        // An echo has reduced the window already.
        3 if core.action == Action::Ecn => retransmit(core, now, out),
        3 => {}
        _ if core.action == Action::Dupack => core.dupwnd += 1,
        _ => {}
    }
}

/// Retransmits the first unacknowledged segment; three segments have left the network.
pub(super) fn retransmit(core: &mut Core, now: f64, out: &mut Output) {
    core.action = Action::Dupack;
    core.arm_timer(out);
    core.stop_timing();
    core.send(now, core.last_ack + 1, out);
    core.dupwnd = 3;
}

pub(super) fn on_timeout(core: &mut Core, now: f64, out: &mut Output) {
    core.dupwnd = 0;
    core.set_dupacks(0, out);
    core.time_out(out);
    core.send_much(now, 0, out);
}

#[cfg(test)]
mod tests {
    use super::super::testing::{acks, established};
    use super::super::Sender;
    use super::*;
    use crate::tcp::flavour::Flavour;

    #[test]
    fn slow_start_begins_with_two_segments_and_doubles() {
        for (rounds, want) in [(1, 2), (2, 4), (3, 8), (4, 16)] {
            let (sender, _) = established(Flavour::Reno, rounds);
            assert_eq!(sender.core.max_sent - sender.core.ack, want, "after {rounds} round trips");
            assert_eq!(sender.core.cwnd, f64::from(want));
        }
    }

    #[test]
    fn third_duplicate_halves_and_recovery_ends_at_the_new_ack() {
        let (mut sender, mut out) = established(Flavour::Reno, 4);
        // Segments 15..=30 are in flight, cwnd 16; 15 is lost, the rest give 15 duplicates of ACK 14.
        assert_eq!((sender.core.ack, sender.core.max_sent), (14, 30));
        assert_eq!(acks(&mut sender, &mut out, 0.6, &[14, 14]), [31, 32], "limited transmit");
        assert_eq!(acks(&mut sender, &mut out, 0.6, &[14]), [15]);
        assert_eq!((sender.core.cwnd, sender.core.ssthresh, sender.core.dupwnd), (8.0, 8, 3));
        acks(&mut sender, &mut out, 0.6, &[14; 12]);
        assert_eq!(sender.core.dupwnd, 15);
        assert_eq!(sender.core.max_sent, 14 + 8 + 15);
        acks(&mut sender, &mut out, 0.7, &[32]);
        assert_eq!((sender.core.cwnd, sender.core.dupwnd, sender.core.action), (8.125, 0, Action::Exited));
    }

    #[test]
    fn limited_transmit_can_be_left_out() {
        let (mut sender, mut out) = established(Flavour::Reno, 4);
        sender.core.limited_transmit = false;
        assert_eq!(acks(&mut sender, &mut out, 0.6, &[14, 14]), []);
        assert_eq!(acks(&mut sender, &mut out, 0.6, &[14]), [15]);
    }

    #[test]
    fn timeout_goes_back_to_the_first_unacknowledged_segment() {
        let (mut sender, mut out) = established(Flavour::Reno, 4);
        sender.on_timeout(2.0, &mut out);
        assert_eq!(out.segments[0].seq, 15);
        assert_eq!(out.segments.len(), 1);
        assert_eq!((sender.core.cwnd, sender.core.ssthresh, sender.core.retransmits), (1.0, 8, 1));
        assert!(out.timer.is_some());
    }

    #[test]
    fn lost_syn_leaves_an_initial_window_of_one() {
        let mut sender = Sender::new(Flavour::Reno, 1000, 0.0);
        let mut out = Output::default();
        sender.start(0.0, &mut out);
        sender.on_timeout(3.0, &mut out);
        assert_eq!(out.segments.iter().map(|sent| sent.seq).collect::<Vec<_>>(), [0, 0]);
        acks(&mut sender, &mut out, 3.1, &[0]);
        assert_eq!(sender.core.cwnd, 1.0);
    }
}
