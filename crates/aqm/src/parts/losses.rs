//! Which flows lose a packet by a verdict, for schemes that keep a drop history.

use crate::policy::{Context, QueueView, Verdict};
use crate::Packet;

/// Calls `charge` with the flow and the size of every packet that `verdict` on `packet` drops: the arrival, or the
/// victims named in `cx`. With `marks`, a marked packet counts too.
///
/// For an arrival without room, pass the verdict of `on_overflow`, not the first verdict.
#[inline]
pub fn charge(
    verdict: Verdict,
    packet: &Packet,
    queue: &QueueView<'_>,
    cx: &Context<'_>,
    marks: bool,
    charge: impl FnMut(u64, u32),
) {
    // Most packets pass, and cost this one comparison only.
    if verdict != Verdict::Pass {
        charge_the_dead(verdict, packet, queue, cx, marks, charge);
    }
}

fn charge_the_dead(
    verdict: Verdict,
    packet: &Packet,
    queue: &QueueView<'_>,
    cx: &Context<'_>,
    marks: bool,
    mut charge: impl FnMut(u64, u32),
) {
    match verdict {
        Verdict::Pass => {}
        Verdict::Drop(_) => charge(packet.flow, packet.size),
        Verdict::Signal(_) => {
            if marks || !cx.can_mark(packet) {
                charge(packet.flow, packet.size);
            }
        }
        Verdict::Mark => {
            if marks && cx.can_mark(packet) {
                charge(packet.flow, packet.size);
            }
        }
        Verdict::Victims { with_arrival, signal, .. } => {
            if with_arrival {
                charge(packet.flow, packet.size);
            }
            for victim in cx.victims.iter().filter_map(|&serial| queue.contents?.get(serial)) {
                if marks || !(signal && cx.can_mark(victim)) {
                    charge(victim.flow, victim.size);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use crate::ring::Ring;

    fn charged(verdict: Verdict, ecn: Ecn, marks: bool) -> Vec<(u64, u32)> {
        let mut ring = Ring::new();
        ring.push(Packet::new(7, 700));
        let serial = ring.push(Packet { ecn: Ecn::Ect0, ..Packet::new(8, 800) });
        let queue = QueueView { packets: 2, bytes: 1500, idle_since: None, contents: Some(&ring) };
        let (mut random, mut victims) = (Generator::stream(1, "losses"), vec![serial - 1, serial]);
        let cx = Context { now: Time::ZERO, ecn: true, has_room: true, random: &mut random, victims: &mut victims };
        let mut seen = Vec::new();
        charge(verdict, &Packet { ecn, ..Packet::new(1, 100) }, &queue, &cx, marks, |flow, size| {
            seen.push((flow, size))
        });
        seen
    }

    #[test]
    fn the_one_who_dies_is_charged() {
        use Verdict::*;
        let arrival = [(1, 100)];
        assert_eq!(charged(Pass, Ecn::NotEct, true), []);
        assert_eq!(charged(Drop(Reason::Overflow), Ecn::Ect0, false), arrival);
        assert_eq!(charged(Signal(Reason::Early), Ecn::NotEct, false), arrival);
        assert_eq!(charged(Signal(Reason::Early), Ecn::Ect0, false), [], "marked, and marks do not count");
        assert_eq!(charged(Signal(Reason::Early), Ecn::Ect0, true), arrival);
        assert_eq!(charged(Mark, Ecn::NotEct, true), [], "it passes unmarked");
        assert_eq!(charged(Mark, Ecn::Ect0, true), arrival);
        let victims = |with_arrival, signal| Victims { reason: Reason::Early, with_arrival, signal };
        assert_eq!(charged(victims(false, false), Ecn::NotEct, false), [(7, 700), (8, 800)]);
        assert_eq!(charged(victims(true, true), Ecn::NotEct, false), [(1, 100), (7, 700)], "flow 8's is marked");
        assert_eq!(charged(victims(false, true), Ecn::NotEct, true), [(7, 700), (8, 800)], "and marks count");
    }
}
