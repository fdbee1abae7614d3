//! What a link layer adds to a packet: headers, a smallest frame, cells.
//!
//! The parameters and their order are those of `tc-stab(8)` and `tc-cake(8)`: overhead, smallest size, encoding.

/// How frames are encoded on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Frames are sent as they are.
    #[default]
    Plain,
    /// In ATM cells of 53 bytes, which carry 48 each; the last is padded (ITU-T I.432, AAL5).
    Atm,
    /// PTM's 64b/65b encoding: one byte more for each 64 bytes or part of them (ITU-T G.992.3, Annex N).
    Ptm,
}

impl Encoding {
    /// All encodings.
    pub const ALL: [Encoding; 3] = [Encoding::Plain, Encoding::Atm, Encoding::Ptm];

    /// The encoding's name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Plain => "plain",
            Encoding::Atm => "atm",
            Encoding::Ptm => "ptm",
        }
    }
}

/// The framing of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Framing {
    /// Bytes added to each packet.
    pub overhead: u32,
    /// Bytes of the smallest frame, overhead included; shorter frames are padded.
    pub mpu: u32,
    /// How the frame is encoded.
    pub encoding: Encoding,
}

impl Framing {
    /// Bytes on the wire of a packet of `bytes`.
    pub fn on_wire(&self, bytes: u16) -> u32 {
        let frame = (u32::from(bytes) + self.overhead).max(self.mpu);
        match self.encoding {
            Encoding::Plain => frame,
            Encoding::Atm => 53 * frame.div_ceil(48),
            Encoding::Ptm => frame + frame.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_filled_up() {
        let pppoe = Framing { overhead: 40, mpu: 0, encoding: Encoding::Atm };
        assert_eq!(pppoe.on_wire(1492), 32 * 53, "1532 bytes in 32 cells");
        assert_eq!(pppoe.on_wire(52), 2 * 53, "an ACK with time stamps");
        assert_eq!(pppoe.on_wire(56), 2 * 53, "two full cells");
        assert_eq!(pppoe.on_wire(57), 3 * 53);
    }

    #[test]
    fn ptm_adds_a_byte_to_64() {
        let pppoe = Framing { overhead: 30, mpu: 0, encoding: Encoding::Ptm };
        assert_eq!(pppoe.on_wire(34), 65);
        assert_eq!(pppoe.on_wire(35), 67);
    }

    #[test]
    fn short_frames_are_padded() {
        let ethernet = Framing { overhead: 38, mpu: 84, encoding: Encoding::Plain };
        assert_eq!(ethernet.on_wire(40), 84);
        assert_eq!(ethernet.on_wire(46), 84);
        assert_eq!(ethernet.on_wire(47), 85);
        assert_eq!(ethernet.on_wire(u16::MAX), 65_573);
    }
}
