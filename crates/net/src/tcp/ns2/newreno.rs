//! TCP NewReno: recovery lasts until everything sent before it is acknowledged (ns-2.35 `tcp-newreno.cc`, RFC 6582).
//!
//! ns-2's choices: only the first partial ACK restarts the timer (`newreno_changes1_`); a partial ACK deflates first
//! the inflation, then cwnd (`partial_window_deflation_`); the full ACK leaves cwnd as it is and grows it; an ACK in
//! recovery sends at most two segments.

use super::ack::Ack;
use super::core::{Action, Core};
use super::reno;
use crate::tcp::output::Output;

pub(super) fn on_ack(core: &mut Core, first_partial: &mut bool, now: f64, ack: Ack, out: &mut Output) {
    core.respond_to_echo(ack, out);
    if ack.number > core.last_ack {
        if ack.number >= core.recover || core.action != Action::Dupack {
            if core.dupwnd > 0 {
                core.dupwnd = 0;
                if core.action == Action::Dupack {
                    core.action = Action::Exited;
                }
            }
            *first_partial = false;
            core.advance(now, ack, out);
        } else {
            if !*first_partial {
                *first_partial = true;
                core.arm_timer(out);
            }
            on_partial(core, now, ack.number, out);
        }
    } else if ack.number == core.last_ack {
        on_duplicate(core, now, out);
    }
    match core.dupacks {
        0 => core.send_much(now, 0, out),
        1 | 2 => {}
        _ => core.send_much(now, 2, out),
    }
}

/// A partial ACK: the next segment is lost too. The count of duplicates stays, and there is no RTT sample.
fn on_partial(core: &mut Core, now: f64, ack: i32, out: &mut Output) {
    let acked = ack - core.last_ack;
    if core.dupwnd > acked {
        core.dupwnd -= acked - 1;
    } else {
        core.set_cwnd(core.cwnd - f64::from(acked - core.dupwnd), out);
        // 0 would mean that recovery is over.
        core.dupwnd = 1;
    }
    if core.cwnd < 1.0 {
        core.set_cwnd(1.0, out);
    }
    core.acknowledge_partial(ack, out);
    core.send(now, ack + 1, out);
}

fn on_duplicate(core: &mut Core, now: f64, out: &mut Output) {
    core.set_dupacks(core.dupacks + 1, out);
    match core.dupacks {
        1 | 2 => core.limited_transmit(now, out),
        3 if core.may_retransmit() => {
            core.recover = core.max_sent;
            core.reduce(true, out);
            reno::retransmit(core, now, out);
        }
        3 if core.action == Action::Ecn => reno::retransmit(core, now, out),
        3 => {}
        _ if core.action == Action::Dupack => core.dupwnd += 1,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{acks, established};
    use super::*;
    use crate::tcp::flavour::Flavour;

    /// Two losses in a window of 16: the partial ACK retransmits the second immediately.
    #[test]
    fn partial_ack_retransmits_and_deflates() {
        let (mut sender, mut out) = established(Flavour::NewReno, 4);
        // 15..=30 are in flight; 15 and 20 are lost, so 14 duplicate ACKs come.
        let sent = acks(&mut sender, &mut out, 0.6, &[14; 14]);
        assert_eq!(sent[..3], [31, 32, 15]);
        assert_eq!((sender.core.cwnd, sender.core.dupwnd, sender.core.recover), (8.0, 14, 32));
        let max = sender.core.max_sent;
        out.timer = None;
        assert_eq!(acks(&mut sender, &mut out, 0.7, &[19]), [20, 37]);
        // Five segments have left, one is retransmitted: the window allows one new segment.
        assert_eq!((sender.core.cwnd, sender.core.dupwnd), (8.0, 10));
        assert_eq!(19 + 8 + 10, max + 1);
        assert!(out.timer.is_some(), "the first partial ACK restarts the timer");
        assert_eq!(sender.core.dupacks, 14);
        out.timer = None;
        let sent = acks(&mut sender, &mut out, 0.8, &[37]);
        assert_eq!((sent[0], sent.len()), (38, 8), "all at once");
        assert_eq!((sender.core.cwnd, sender.core.dupwnd, sender.core.action), (8.125, 0, Action::Exited));
    }

    #[test]
    fn later_partial_acks_keep_the_timer_and_deflate_the_window() {
        let (mut sender, mut out) = established(Flavour::NewReno, 4);
        acks(&mut sender, &mut out, 0.6, &[14, 14, 14]);
        assert_eq!((sender.core.cwnd, sender.core.dupwnd), (8.0, 3));
        acks(&mut sender, &mut out, 0.7, &[16]);
        out.timer = None;
        // Eight segments are acknowledged, two of them taken from the inflation.
        assert_eq!(acks(&mut sender, &mut out, 0.8, &[24])[0], 25);
        assert_eq!((sender.core.cwnd, sender.core.dupwnd), (2.0, 1));
        assert!(out.timer.is_none());
    }

    #[test]
    fn an_ack_in_recovery_sends_at_most_two_segments() {
        let (mut sender, mut out) = established(Flavour::NewReno, 4);
        acks(&mut sender, &mut out, 0.6, &[14, 14, 14]);
        sender.core.dupwnd = 20;
        assert_eq!(acks(&mut sender, &mut out, 0.6, &[14]).len(), 2);
    }
}
