//! The sender's reading of accurate ECN (RFC 9768, 3.2): how many marked packets an ACK reports, by its three bits
//! (ACE) and its option, and whether ECN works on the path.

use super::{is_valid, FIRST_CEP};
use crate::segment::CE;
use crate::tcp::rfc::accecn_option::{place, AccecnOption, FIRST_BYTES};

/// Packets that an ACK can deliver without the three bits having wrapped around.
const CERTAIN: u64 = 7;
/// Number of marked packets that first brings the three bits to zero.
const WRAPPED: u64 = 8 - FIRST_CEP;
/// If ACKs deliver more packets than this on average, they are taken to be thinned out, so that the bits have probably
/// not wrapped around (A.2.1; Linux, `ACK_COMP_THRESH`), and the weight of the newest ACK (`PKTS_ACKED_WEIGHT`).
const THINNED: f64 = 4.0;
const WEIGHT: f64 = 1.0 / 64.0;

/// Whether options come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Options {
    /// No option has come (3.2.3.2.3).
    Absent,
    /// Options have come.
    Come,
    /// Options come, but a middlebox has zeroed them (3.2.3.2.4).
    Zeroed,
}

/// What an ACK newly delivers.
#[derive(Clone, Copy, Debug)]
pub struct Newly {
    /// Packets newly delivered.
    pub packets: u64,
    /// Bytes newly delivered.
    pub bytes: u64,
    /// Whether the ACK's cumulative number is below an earlier one's.
    pub old: bool,
    /// The time stamp that the ACK echoes, s; 0 without time stamps.
    pub stamp: f64,
}

/// The sender's counters.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Marked packets (`s.cep`).
    cep: u64,
    /// Payload by ECN field (`s.e1b`, `s.e0b`, `s.ceb`), bytes.
    bytes: [u64; 3],
    options: Options,
    /// `cep` and `s.ceb` at the last option.
    told: (u64, u64),
    /// Packets and bytes delivered since the last option.
    since: (u64, u64),
    /// Average packets delivered by an ACK; 0 before the first.
    per_ack: f64,
    /// The newest time stamp echoed, s.
    newest: f64,
    /// Whether an ACK after the handshake has come.
    begun: bool,
    /// Whether segments are ECN-capable: the path leaves the ECN field alone, as far as is known.
    pub sends_capable: bool,
    /// Whether marks are responded to: the feedback is genuine, as far as is known.
    responds: bool,
}

impl Reading {
    /// The counters after the SYN-ACK with this option. `syn`: ECN field of the SYN as sent and as arrived, if known.
    pub fn new(syn: Option<(u8, u8)>, option: &AccecnOption) -> Self {
        let mut reading = Reading {
            cep: FIRST_CEP,
            bytes: FIRST_BYTES,
            options: Options::Absent,
            told: (FIRST_CEP, FIRST_BYTES[place(CE)]),
            since: (0, 0),
            per_ack: 0.0,
            newest: 0.0,
            begun: false,
            sends_capable: syn.is_none_or(|(sent, arrived)| is_valid(sent, arrived)),
            responds: true,
        };
        reading.note_option(option);
        reading
    }

    /// An option has come: the first may have been zeroed, as the counters of ECT(0) and ECT(1) start from 1.
    fn note_option(&mut self, option: &AccecnOption) {
        if option.is_present() && self.options == Options::Absent {
            let zeroed = option.counters().any(|(at, value)| at != place(CE) && value == 0);
            self.options = if zeroed { Options::Zeroed } else { Options::Come };
        }
    }

    /// Number of newly marked packets by an ACK with these three bits and this option, of segments of `mss` bytes.
    pub fn on_ack(&mut self, ace: u8, option: &AccecnOption, newly: &Newly, mss: u32) -> u64 {
        // Superseded by another ACK that came earlier (A.1).
        if newly.old || (newly.packets == 0 && newly.stamp <= self.newest) {
            return 0;
        }
        self.newest = self.newest.max(newly.stamp);
        let first = !std::mem::replace(&mut self.begun, true);
        if first && ace == 0 && newly.packets < WRAPPED && !tells_of_marks(option) {
            // 3.2.2.4: the counter starts from 5, so it is zeroed.
            (self.sends_capable, self.responds) = (false, false);
        }
        self.note_option(option);
        if newly.packets > 0 {
            let packets = newly.packets as f64;
            self.per_ack = if self.per_ack > 0.0 { self.per_ack + WEIGHT * (packets - self.per_ack) } else { packets };
        }
        self.since.0 += newly.packets;
        self.since.1 += newly.bytes;
        let marked = if option.is_present() && self.options == Options::Come {
            self.by_option(ace, option, mss)
        } else {
            self.by_bits(ace, newly.packets)
        };
        if self.responds {
            marked
        } else {
            0
        }
    }

    /// A.2.1: without an option the largest number of new marks that the bits and the delivered packets allow, unless
    /// ACKs are thinned out. More marks than delivered packets are of packets without payload.
    fn by_bits(&mut self, ace: u8, packets: u64) -> u64 {
        let least = apart(ace, self.cep);
        let certain = packets <= CERTAIN || least > packets || self.per_ack > THINNED;
        let marked = if certain { least } else { packets - (packets - least) % 8 };
        self.cep += marked;
        marked
    }

    /// With an option: the least number of marks since the last option that bits and marked bytes allow. It is exact
    /// for full segments, and corrects what [`Self::by_bits`] has overcounted.
    fn by_option(&mut self, ace: u8, option: &AccecnOption, mss: u32) -> u64 {
        let mut bytes = self.bytes;
        for (at, value) in option.counters() {
            let change = difference(value, bytes[at]);
            if change < 0 {
                // This ACK came late.
                return 0;
            }
            bytes[at] += change as u64;
        }
        self.bytes = bytes;
        let (cep, ceb) = self.told;
        let marked_bytes = bytes[place(CE)] - ceb;
        let least = marked_bytes.div_ceil(u64::from(mss.max(1)));
        let mut marked = apart(ace, cep);
        let (packets, delivered) = std::mem::take(&mut self.since);
        if marked == 0 && least > 0 && packets <= CERTAIN && marked_bytes <= delivered {
            // 3.2.3.2.5: marked bytes without marked packets, though the bits cannot have wrapped around.
            self.sends_capable = false;
            self.told.1 = bytes[place(CE)];
            return least;
        }
        marked += 8 * least.saturating_sub(marked).div_ceil(8);
        let known = std::mem::replace(&mut self.cep, cep + marked);
        self.told = (self.cep, bytes[place(CE)]);
        self.cep.saturating_sub(known)
    }

    /// Marked packets and marked bytes (`s.cep`, `s.ceb`).
    pub fn marks(&self) -> (u64, u64) {
        (self.cep, self.bytes[place(CE)])
    }
}

/// How far the three bits are ahead of the counter.
fn apart(ace: u8, cep: u64) -> u64 {
    (u64::from(ace) + 8 - cep % 8) % 8
}

/// How far a field of 24 bits is ahead of the counter, or behind it (A.1; Linux, `tcp_update_ecn_bytes`).
fn difference(field: u32, counter: u64) -> i64 {
    let apart = field.wrapping_sub(counter as u32) << 8;
    i64::from(apart as i32 >> 8)
}

/// Whether an option reports marked bytes.
fn tells_of_marks(option: &AccecnOption) -> bool {
    option.counters().any(|(at, value)| at == place(CE) && value > 0)
}

#[cfg(test)]
mod tests;
