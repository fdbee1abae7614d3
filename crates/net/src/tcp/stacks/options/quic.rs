//! Options of QUIC's loss recovery and ACKs.

use super::option::{Group::*, Opt, Values::*, QUIC};
use crate::tcp::rfc::Settings;

/// The TCPs that have these options.
const CONTROLS: &[&str] = &["reno", "sack", "cubic", "bbr", "bbr3"];

/// Chooses the word, and switches off what TCP has by default and QUIC never.
fn choose(settings: &mut Settings, word: usize) {
    settings.quic = word == 1;
    if settings.quic {
        (settings.timestamps, settings.rack.on, settings.recovery.prr) = (false, false, None);
    }
}

pub(super) const OPTIONS: &[Opt] = &[
    Opt::new("loss_recovery", Loss, Words(&["tcp", "rfc9002"], |s| usize::from(s.quic), choose))
        .only(CONTROLS)
        .source("RFC 9002")
        .about("Loss detection, timers and recovery are TCP's, or QUIC's: by packet numbers that are never used again, with probe timeouts."),
    Opt::new(
        "ack_threshold",
        Receiver,
        Whole(0, 1000, |s| Some(u64::from(s.receiver.ack_threshold)), |s, n| s.receiver.ack_threshold = n as u32),
    )
    .only(CONTROLS)
    .needs(&[QUIC])
    .source("RFC 9000, 13.2.2; draft-ietf-quic-ack-frequency, Ack-Eliciting Threshold")
    .about("Packets that may wait for an ACK: one more is acknowledged at once. The longest wait is delayed_ack."),
    Opt::new(
        "reordering_threshold",
        Receiver,
        Whole(
            0,
            255,
            |s| Some(u64::from(s.receiver.reordering_threshold)),
            |s, n| s.receiver.reordering_threshold = n as u32,
        ),
    )
    .only(CONTROLS)
    .needs(&[QUIC])
    .source("RFC 9000, 13.2.1; draft-ietf-quic-ack-frequency, Reordering Threshold")
    .about("A missing packet is reported at once when one this many later has arrived; 1: as soon as one is out of order; 0: never."),
];
