//! TCP segments and ACKs as they travel between hosts, packed into two machine words.

/// Bit of a segment: ECT(1), set by senders that respond to marks in proportion.
pub const ECT1: u8 = 1;
/// Bit of a segment: ECT(0), set by ECN-capable senders.
pub const ECT0: u8 = 2;
/// Both bits of the ECN field: Congestion Experienced (CE).
pub const CE: u8 = 3;
/// Bit of a segment: it is a SYN.
pub const SYN: u8 = 4;
/// Bit of a segment: Congestion Window Reduced (CWR).
pub const CWR: u8 = 8;
/// In an ACK: echo of a CE mark. In a SYN: the sender asks for ECN.
pub const ECE: u8 = 16;
/// In a data segment, not in a SYN: the last segment of a burst (PSH).
pub const PSH: u8 = 16;
/// In an ACK: it has SACK blocks; [`Segment::note`] is their place in the pool.
pub const SACK: u8 = 32;
/// On the reverse path: a request of a client.
pub const REQUEST: u8 = 64;
/// On the reverse path: feedback of real-time media; [`Segment::note`] is its place. In media packets [`PSH`] is RTP's
/// marker bit, set in the last of a frame.
pub const RTCP: u8 = 64;
/// In a data segment: the sender has no more data.
pub const FIN: u8 = 64;
/// In a SYN: the sender asks for accurate ECN (AccECN).
pub const AE: u8 = 64;

/// A TCP segment or ACK: a small plain value, copied from hop to hop.
///
/// It is two machine words instead of six fields, so that a copy is two register moves. Narrow stores followed by a
/// wide load would stall the processor at every hop (no store forwarding).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Segment {
    /// Sequence number (high half) and flow (low half).
    who: u64,
    /// Time stamp (32 bits), size (16), hop (8), bits (8).
    what: u64,
}

impl Segment {
    /// Finest resolution of time stamps, ticks per second (2^26: 15 ns).
    const FINEST: f64 = 67_108_864.0;

    /// Resolution of time stamps in a run of `duration` seconds, ticks per second: the largest power of two with which
    /// no age wraps around 32 bits.
    pub fn ticks_per_second(duration: f64) -> f64 {
        let mut ticks = Self::FINEST;
        while ticks * duration >= 4_294_967_296.0 {
            ticks /= 2.0;
        }
        ticks
    }

    /// Segment `seq` (0 is the SYN; in an ACK the highest segment received in order) of `flow`, with `size` bytes on
    /// the wire and the time stamp `born`.
    #[inline(always)]
    pub fn new(flow: u32, seq: i32, born: u32, size: u16) -> Self {
        Segment {
            who: u64::from(seq as u32) << 32 | u64::from(flow),
            what: u64::from(born) << 32 | u64::from(size) << 16,
        }
    }

    /// [`Segment::new`] with these [`bits`](Self::bits).
    #[inline(always)]
    pub fn with(flow: u32, seq: i32, born: u32, size: u16, bits: u8) -> Self {
        let plain = Segment::new(flow, seq, born, size);
        Segment { what: plain.what | u64::from(bits), ..plain }
    }

    /// Index of the flow.
    #[inline(always)]
    pub fn flow(&self) -> u32 {
        self.who as u32
    }

    /// Sequence number in segments.
    #[inline(always)]
    pub fn seq(&self) -> i32 {
        (self.who >> 32) as i32
    }

    /// Size on the wire, bytes.
    #[inline(always)]
    pub fn size(&self) -> u16 {
        (self.what >> 16) as u16
    }

    /// Index of the hop on the flow's route, from the sender to the receiver and back.
    #[inline(always)]
    pub fn hop(&self) -> usize {
        (self.what >> 8) as usize & 0xff
    }

    /// ECN field in the two low bits, flags above ([`SYN`] and those after it). The highest bit belongs to the event
    /// queue.
    #[inline(always)]
    pub fn bits(&self) -> u8 {
        self.what as u8
    }

    /// The segment at the next hop. A route has fewer than 255 hops.
    #[inline(always)]
    pub fn at_next_hop(self) -> Self {
        Segment { what: self.what + (1 << 8), ..self }
    }

    /// The segment with other bits.
    #[inline(always)]
    pub fn with_bits(self, bits: u8) -> Self {
        Segment { what: self.what & !0xff | u64::from(bits), ..self }
    }

    /// Everything but flow and size, in the form in which a queued packet carries it: the sequence number, and a word
    /// for the rest with 16 bits left for `more`.
    #[inline(always)]
    pub fn packed(&self, more: u16) -> (u32, u64) {
        ((self.who >> 32) as u32, self.what & !0xffff_0000 | u64::from(more) << 16)
    }

    /// The segment of `flow` and `size` with what [`packed`](Self::packed) gave; and the `more` in that.
    #[inline(always)]
    pub fn unpacked(flow: u32, size: u16, (seq, rest): (u32, u64)) -> (Self, u16) {
        let who = u64::from(seq) << 32 | u64::from(flow);
        (Segment { who, what: rest & !0xffff_0000 | u64::from(size) << 16 }, (rest >> 16) as u16)
    }

    /// The segment with another sequence number.
    #[inline(always)]
    pub fn with_seq(self, seq: i32) -> Self {
        Segment { who: u64::from(seq as u32) << 32 | u64::from(self.flow()), ..self }
    }

    /// The segment at another hop of the flow's route.
    #[inline(always)]
    pub fn at_hop(self, hop: u8) -> Self {
        Segment { what: self.what & !0xff00 | u64::from(hop) << 8, ..self }
    }

    /// An event's data in place of a segment: `kind` replaces the hop, and the highest bit is set.
    #[inline(always)]
    pub fn as_kind(self, kind: u8) -> Self {
        Segment { what: self.what & !0xffff | u64::from(kind) << 8 | 0x80, ..self }
    }

    /// The `kind` of [`as_kind`](Self::as_kind); `None` for a segment.
    #[inline(always)]
    pub fn kind(&self) -> Option<u8> {
        (self.what & 0x80 != 0).then_some((self.what >> 8) as u8)
    }

    /// The ACK that answers this segment, at the next hop.
    #[inline(always)]
    pub fn answered(self, ack: i32, size: u16) -> Self {
        let kept = self.what & 0xffff_ffff_0000_ff00;
        Segment {
            who: u64::from(ack as u32) << 32 | u64::from(self.flow()),
            what: (kept + (1 << 8)) | (u64::from(size) << 16),
        }
    }

    /// The segment with `note` in place of its time stamp: the place of an ACK's SACK blocks, or the time stamp itself.
    #[inline(always)]
    pub fn with_note(self, note: u32) -> Self {
        Segment { what: self.what & 0xffff_ffff | u64::from(note) << 32, ..self }
    }

    /// The value in place of the time stamp.
    #[inline(always)]
    pub fn note(&self) -> u32 {
        (self.what >> 32) as u32
    }

    /// `seconds` as a time stamp.
    #[inline(always)]
    pub fn stamp(seconds: f64, ticks_per_second: f64) -> u32 {
        (seconds * ticks_per_second) as u32
    }

    /// Ticks from the sending of this segment to the time stamp `now`.
    #[inline(always)]
    pub fn age_ticks(&self, now: u32) -> u32 {
        now.wrapping_sub((self.what >> 32) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_its_fields_apart() {
        let segment = Segment::new(u32::MAX, -1, 7, u16::MAX).with_bits(0xf3).at_next_hop();
        assert_eq!((segment.flow(), segment.seq(), segment.size()), (u32::MAX, -1, u16::MAX));
        assert_eq!((segment.hop(), segment.bits()), (1, 0xf3));
        assert_eq!(Segment::unpacked(segment.flow(), segment.size(), segment.packed(0x1234)), (segment, 0x1234));
        let other = segment.with_seq(5).at_hop(200);
        assert_eq!((other.flow(), other.seq(), other.hop(), other.bits()), (u32::MAX, 5, 200, 0xf3));
        let ack = segment.answered(12, 40);
        assert_eq!((ack.flow(), ack.seq(), ack.size(), ack.hop(), ack.bits()), (u32::MAX, 12, 40, 2, 0));
        assert_eq!((ack.kind(), ack.as_kind(7).kind(), ack.as_kind(7).flow()), (None, Some(7), u32::MAX));
        let noted = ack.with_bits(ECE | SACK).with_note(u32::MAX - 1);
        assert_eq!((noted.note(), noted.bits(), noted.size(), noted.hop()), (u32::MAX - 1, ECE | SACK, 40, 2));
    }

    #[test]
    fn ages_are_right_up_to_the_length_of_the_run() {
        for duration in [1.0, 63.0, 64.0, 200.0, 3600.0, 1e6] {
            let ticks = Segment::ticks_per_second(duration);
            for (sent, now) in [(0.0, 0.999 * duration), (0.5 * duration, duration), (0.25 * duration, 0.26 * duration)]
            {
                let segment = Segment::new(0, 1, Segment::stamp(sent, ticks), 1000);
                let age = f64::from(segment.age_ticks(Segment::stamp(now, ticks))) / ticks;
                assert!((age - (now - sent)).abs() <= 1.0 / ticks, "{age} after {now} - {sent}");
            }
        }
        assert_eq!(Segment::ticks_per_second(60.0), 67_108_864.0);
        assert_eq!(Segment::ticks_per_second(200.0), 16_777_216.0);
    }
}
