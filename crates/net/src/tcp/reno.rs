//! TCP Reno: fast retransmit and fast recovery that ends with the first new ACK (ns-2.35 `tcp-reno.cc`).
//!
//! Differences from RFC 5681, all ns-2's: cwnd is halved at entry and the window inflated apart from it (`dupwnd`);
//! at exit cwnd stays as halved, and the ACK grows it; the gate of the fast retransmit is `ack > recover`.

use super::core::{Action, Core, Output};

pub(super) fn on_ack(core: &mut Core, now: f64, ack: i32, out: &mut Output) {
    if ack > core.last_ack {
        if core.action == Action::Dupack {
            core.action = Action::Exited;
        }
        core.dupwnd = 0;
        core.acknowledge(now, ack, out);
        core.grow(out);
    } else if ack == core.last_ack {
        on_duplicate(core, now, out);
    }
    if core.dupacks == 0 || core.dupacks > 2 {
        core.send_much(now, core.usable_window(), out);
    }
}

fn on_duplicate(core: &mut Core, now: f64, out: &mut Output) {
    core.set_dupacks(core.dupacks + 1, out);
    match core.dupacks {
        1 | 2 => core.limited_transmit(now, out),
        3 if core.ack > core.recover || core.action == Action::Dupack || core.ack == 0 => {
            core.recover = core.max_sent;
            core.action = Action::Dupack;
            core.cut(true, out);
            core.arm_timer(out);
            core.stop_timing();
            core.send(now, core.last_ack + 1, out);
            core.dupwnd = 3;
        }
        3 => {}
        _ if core.action == Action::Dupack => core.dupwnd += 1,
        _ => {}
    }
}

pub(super) fn on_timeout(core: &mut Core, now: f64, out: &mut Output) {
    core.dupwnd = 0;
    core.set_dupacks(0, out);
    core.time_out(now, out);
}

#[cfg(test)]
mod tests {
    use super::super::{Flavour, Sender};
    use super::*;

    /// Sends the SYN and lets `rounds` windows through; segments sent since.
    fn established(rounds: i32) -> (Sender, Output) {
        let mut sender = Sender::new(Flavour::Reno, 1000, 0.0);
        let mut out = Output::default();
        sender.start(0.0, &mut out);
        assert_eq!(out.segments, [0]);
        let mut acked = -1;
        for round in 0..rounds {
            let sent = std::mem::take(&mut out.segments);
            for seq in sent {
                acked += 1;
                assert_eq!(seq, acked);
                sender.on_ack(f64::from(round + 1) * 0.1, seq, &mut out);
            }
        }
        (sender, out)
    }

    #[test]
    fn slow_start_begins_with_two_segments_and_doubles() {
        for (rounds, want) in [(1, 2), (2, 4), (3, 8), (4, 16)] {
            let (sender, out) = established(rounds);
            assert_eq!(out.segments.len(), want, "after {rounds} round trips");
            assert_eq!(sender.core.cwnd, want as f64);
        }
    }

    #[test]
    fn third_duplicate_halves_and_recovery_ends_at_the_new_ack() {
        let (mut sender, mut out) = established(4);
        // 16 segments 15..=30 are out, cwnd 16; 15 is lost, the rest give 15 duplicates of ACK 14.
        assert_eq!((sender.core.ack, sender.core.max_sent), (14, 30));
        out.segments.clear();
        for dup in 1..=15 {
            sender.on_ack(0.6, 14, &mut out);
            match dup {
                2 => assert_eq!(out.segments, [31, 32], "limited transmit"),
                3 => {
                    assert_eq!(out.segments, [31, 32, 15]);
                    assert_eq!((sender.core.cwnd, sender.core.ssthresh, sender.core.dupwnd), (8.0, 8, 3));
                }
                _ => {}
            }
        }
        assert_eq!(sender.core.dupwnd, 15);
        assert_eq!(sender.core.max_sent, 14 + 8 + 15);
        sender.on_ack(0.7, 32, &mut out);
        assert_eq!((sender.core.cwnd, sender.core.dupwnd, sender.core.action), (8.125, 0, Action::Exited));
    }

    #[test]
    fn timeout_goes_back_to_the_first_unacknowledged_segment() {
        let (mut sender, mut out) = established(4);
        out = Output { segments: vec![], ..std::mem::take(&mut out) };
        sender.on_timeout(2.0, &mut out);
        assert_eq!(out.segments, [15]);
        assert_eq!((sender.core.cwnd, sender.core.ssthresh, sender.core.retransmits), (1.0, 8, 1));
        assert!(out.timer.is_some());
    }

    #[test]
    fn lost_syn_leaves_an_initial_window_of_one() {
        let mut sender = Sender::new(Flavour::Reno, 1000, 0.0);
        let mut out = Output::default();
        sender.start(0.0, &mut out);
        sender.on_timeout(3.0, &mut out);
        assert_eq!(out.segments, [0, 0]);
        sender.on_ack(3.1, 0, &mut out);
        assert_eq!(sender.core.cwnd, 1.0);
    }
}
