//! CHOKe's test: waiting packets are drawn at random, and those of the arrival's own flow are dropped with it.

use crate::parts::pick;
use crate::policy::{Context, QueueView, Reason, Verdict};
use crate::Packet;

/// How a waiting packet is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Each packet with the same probability.
    Even,
    /// As Linux's `sch_choke`: from three slots at random, else the oldest packet.
    Linux,
}

/// Draws `draws` packets, each among all that wait, and names those of `packet`'s flow as victims. The verdict, if any
/// is named: victims and arrival are dropped, never marked. An empty queue costs no random number.
#[inline]
pub fn drop_pair(
    packet: &Packet,
    queue: &QueueView<'_>,
    draw: Draw,
    draws: u32,
    cx: &mut Context<'_>,
) -> Option<Verdict> {
    let ring = queue.contents?;
    for _ in 0..draws {
        let (serial, drawn) = match draw {
            Draw::Even => pick::any(ring, cx.random),
            Draw::Linux => pick::any_or_oldest(ring, cx.random, 3),
        }?;
        if drawn.flow == packet.flow && !cx.victims.contains(&serial) {
            cx.victims.push(serial);
        }
    }
    let found = !cx.victims.is_empty();
    found.then_some(Verdict::Victims { reason: Reason::Forced, with_arrival: true, signal: false })
}
