//! Conversion between a segment and the packet that a queue sees and stores.

use super::routes::{Step, TimesToLive, LAST};
use earlydrop_aqm::{Ecn, Packet, Time};
use earlydrop_net::segment::{CE, SYN};
use earlydrop_net::Segment;

/// The queue's view of a segment.
#[inline(always)]
pub fn packet(times_to_live: &TimesToLive, segment: &Segment, step: &Step) -> Packet {
    let ecn = Ecn::from_bits(segment.bits());
    let mut packet = Packet {
        size: u32::from(segment.size()),
        ecn,
        class: step.class(),
        ttl: step.ttl(),
        initial_ttl: 0,
        final_ttl: 0,
        rtt_hint_ms: 0,
        admitted_ecn: ecn,
        tag: 0,
        note: 0,
        flow: u64::from(segment.flow()),
        enqueued: Time::ZERO,
    };
    if step.tells() != 0 {
        let (initial, last) = times_to_live.of(segment.flow());
        packet.initial_ttl = initial;
        // The sender of a SYN does not know it yet.
        packet.final_ttl = if step.tells() & LAST != 0 && segment.bits() & SYN == 0 { last } else { 0 };
    }
    packet
}

/// The segment that a packet carries, with the packet's ECN field, and the lane of its next event. In a `replay`
/// packets have their own flow keys.
#[inline(always)]
pub fn unpacked(packet: &Packet, replay: bool) -> (Segment, u8) {
    let flow = if replay { 0 } else { packet.flow as u32 };
    let size = packet.size.min(u32::from(u16::MAX)) as u16;
    let (segment, lane) = Segment::unpacked(flow, size, (packet.tag, packet.note));
    (segment.with_bits(segment.bits() & !CE | packet.ecn as u8), lane as u8)
}
