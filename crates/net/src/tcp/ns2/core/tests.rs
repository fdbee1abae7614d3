//! ECN, transfers and idle senders: what the congestion controls share.

use super::super::testing::{acks, established, established_from};
use super::super::{Blocks, Sender};
use super::*;
use crate::tcp::flavour::Flavour;

const WITH_ECN: [Flavour; 4] = [Flavour::Tahoe, Flavour::Reno, Flavour::NewReno, Flavour::Sack];

/// A sender with cwnd 16, segments 15..=30 in flight, and ECN agreed.
fn with_ecn(flavour: Flavour) -> (Sender, Output) {
    let mut sender = Sender::new(flavour, 1000, 0.0);
    sender.core.use_ecn();
    established_from(sender, 4)
}

fn sent(seq: u32, bits: u8) -> Sent {
    Sent { seq, payload: 0, bits }
}

fn echo(sender: &mut Sender, out: &mut Output, number: i32) -> Vec<Sent> {
    sender.on_ack(0.6, Ack { number, echo: true, blocks: &Blocks::NONE }, out);
    std::mem::take(&mut out.segments)
}

#[test]
fn a_sender_fits_into_two_cache_lines() {
    assert!(std::mem::size_of::<Sender>() <= 128);
}

#[test]
fn a_syn_asks_for_ecn_and_data_are_ecn_capable() {
    let mut sender = Sender::new(Flavour::Reno, 1000, 0.0);
    sender.core.use_ecn();
    let mut out = Output::default();
    sender.start(0.0, &mut out);
    assert_eq!(out.segments, [sent(0, SYN | ECE)]);
    assert_eq!(echo(&mut sender, &mut out, 0)[1..], [sent(1, ECT0), sent(2, ECT0)]);
    assert_eq!(sender.core.cwnd, 2.0, "the answer to the SYN is not a mark");
}

#[test]
fn an_echo_halves_the_window_once_in_a_window() {
    for flavour in WITH_ECN {
        let (mut sender, mut out) = with_ecn(flavour);
        assert_eq!(echo(&mut sender, &mut out, 15), []);
        assert_eq!((sender.core.cwnd, sender.core.ssthresh, sender.core.recover), (8.0, 8, 30), "{flavour:?}");
        for number in 16..=22 {
            assert_eq!(echo(&mut sender, &mut out, number), []);
        }
        // The window does not grow while marks are echoed; the first new segment carries CWR.
        let first = echo(&mut sender, &mut out, 23);
        assert_eq!((sender.core.cwnd, first), (8.0, vec![sent(31, ECT0 | CWR)]), "{flavour:?}");
        assert_eq!(echo(&mut sender, &mut out, 24), [sent(32, ECT0)]);
        acks(&mut sender, &mut out, 0.7, &[25]);
        assert_eq!(sender.core.cwnd, 8.125, "an ACK without an echo grows it");
        acks(&mut sender, &mut out, 0.7, &[26, 27, 28, 29, 30]);
        echo(&mut sender, &mut out, 31);
        assert!(sender.core.cwnd < 5.0, "the next window may be reduced again");
    }
}

#[test]
fn a_loss_in_a_window_reduced_by_an_echo_reduces_nothing() {
    for flavour in [Flavour::Reno, Flavour::NewReno] {
        let (mut sender, mut out) = with_ecn(flavour);
        echo(&mut sender, &mut out, 15);
        assert_eq!(acks(&mut sender, &mut out, 0.6, &[15, 15, 15]), [16], "{flavour:?}");
        assert_eq!((sender.core.cwnd, sender.core.ssthresh, sender.core.dupwnd), (8.0, 8, 3));
    }
    let (mut sender, mut out) = with_ecn(Flavour::Tahoe);
    echo(&mut sender, &mut out, 15);
    assert_eq!(acks(&mut sender, &mut out, 0.6, &[15, 15, 15]), [16]);
    assert_eq!((sender.core.cwnd, sender.core.ssthresh), (1.0, 8));
}

#[test]
fn a_timeout_after_an_echo_keeps_ssthresh() {
    let (mut sender, mut out) = with_ecn(Flavour::Reno);
    echo(&mut sender, &mut out, 15);
    sender.on_timeout(2.0, &mut out);
    assert_eq!((sender.core.cwnd, sender.core.ssthresh), (1.0, 8));
    // A reduction by a timeout does not keep an echo from reducing again.
    echo(&mut sender, &mut out, 16);
    assert_eq!(sender.core.ssthresh, 2);
}

#[test]
fn echoes_at_a_window_of_one_wait_for_the_timer_and_then_back_off() {
    let (mut sender, mut out) = with_ecn(Flavour::Reno);
    sender.on_timeout(2.0, &mut out);
    out.segments.clear();
    assert_eq!(echo(&mut sender, &mut out, 30), [], "half a segment cannot be sent");
    assert_eq!(sender.core.cwnd, 0.5);
    sender.on_timeout(4.0, &mut out);
    assert_eq!(out.segments.drain(..).map(|sent| sent.seq).collect::<Vec<_>>(), [31]);
    let before = sender.core.backoff;
    assert_eq!(echo(&mut sender, &mut out, 31), []);
    assert_eq!(sender.core.backoff, 2 * before);
}

#[test]
fn a_transfer_ends_with_its_data() {
    for flavour in Flavour::NS2 {
        let mut sender = Sender::new(flavour, 1000, 0.0);
        sender.wait_for_data();
        let mut out = Output::default();
        sender.offer(0.0, 0, &mut out);
        assert!(sender.finished() && out.segments.is_empty(), "nothing to send");
        sender.offer(0.0, 10, &mut out);
        // The first segment is a bare SYN or carries data.
        let last = if flavour.has_bare_syn() { 10 } else { 9 };
        let mut acked = -1;
        while !out.segments.is_empty() {
            assert!(!sender.finished());
            for sent in std::mem::take(&mut out.segments) {
                acked += 1;
                assert_eq!(sent.seq as i32, acked);
                sender.on_ack(0.1 * f64::from(acked + 1), Ack::plain(acked), &mut out);
            }
        }
        assert_eq!(acked, last, "{flavour:?}");
        assert!(sender.finished());
        sender.offer(9.0, 3, &mut out);
        let sent: Vec<i32> = out.segments.iter().map(|sent| sent.seq as i32).collect();
        assert!(sent.len() >= 2 && [last + 1, last + 2, last + 3].starts_with(&sent), "{flavour:?}: {sent:?}");
        assert!(!sender.finished());
    }
}

#[test]
fn an_idle_sender_starts_again_with_a_window_of_one() {
    let mut sender = Sender::new(Flavour::Reno, 1000, 0.0);
    sender.wait_for_data();
    let mut out = Output::default();
    sender.offer(0.0, 3, &mut out);
    for number in 0..=3 {
        sender.on_ack(0.1, Ack::plain(number), &mut out);
    }
    out = Output::default();
    sender.on_timeout(1.0, &mut out);
    assert_eq!((sender.core.cwnd, sender.core.timeouts, out.timer), (1.0, 0, None));
    assert_eq!(sender.core.ssthresh, 1000);
    sender.offer(2.0, 5, &mut out);
    assert_eq!(out.segments.len(), 1);
    assert!(out.timer.is_some());
}

#[test]
fn the_receivers_window_bounds_the_segments_in_flight() {
    for flavour in Flavour::NS2 {
        let (sender, _) = established_from(Sender::new(flavour, 6, 0.0), 6);
        assert!(sender.core.max_sent - sender.core.ack <= 6, "{flavour:?}");
    }
    let (mut sender, mut out) = established(Flavour::Reno, 4);
    sender.core.window = 16;
    assert_eq!(acks(&mut sender, &mut out, 0.6, &[14, 14]), [], "limited transmit too");
}
