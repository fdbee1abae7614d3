//! The fields of a TCP header that an ACK filter compares (RFC 9293, 2018, 7323), as Linux's `sch_cake` reads them.

use earlydrop_aqm::header::{TcpHeader, MOST_BLOCKS};
use etherparse::TcpHeaderSlice;

/// Kinds of TCP options.
const END: u8 = 0;
const NOTHING: u8 = 1;
const SACK: u8 = 5;
const TIME_STAMPS: u8 = 8;
/// Signature option, which says nothing that a later ACK would have to repeat.
const MD5: u8 = 19;

/// Reads the header of a segment; `None` if it is not there whole.
pub(super) fn read(segment: &[u8]) -> Option<TcpHeader> {
    let header = TcpHeaderSlice::from_slice(segment).ok()?;
    // Four reserved bits, of which accurate ECN uses the last; then CWR, ECE, URG, ACK, PSH, RST, SYN, FIN.
    let (reserved, flags) = (header.slice()[12] & 0x0f, header.slice()[13]);
    let mut seen = TcpHeader {
        plain_ack: reserved == 0 && flags & 0x3f == 0x10,
        acknowledges: flags & 0x12 == 0x10,
        ecn_flags: flags >> 6,
        data: segment.len() > header.slice().len(),
        ack: header.acknowledgment_number(),
        ..TcpHeader::default()
    };
    let mut options = header.options();
    while let [kind, rest @ ..] = options {
        options = match (*kind, rest.first().map(|&length| usize::from(length))) {
            (END, _) => break,
            (NOTHING, _) => rest,
            (kind, Some(length)) if (2..=options.len()).contains(&length) => {
                option(&mut seen, kind, &options[2..length]);
                &options[length..]
            }
            // Linux stops at such options too.
            _ => break,
        };
    }
    Some(seen)
}

/// Notes an option of this kind with this content.
fn option(seen: &mut TcpHeader, kind: u8, content: &[u8]) {
    let word = |at: usize| u32::from_be_bytes([content[at], content[at + 1], content[at + 2], content[at + 3]]);
    match (kind, content.len()) {
        (SACK, length) if length % 8 == 0 && length / 8 <= MOST_BLOCKS => {
            for block in 0..length / 8 {
                seen.blocks[block] = (word(8 * block), word(8 * block + 4));
            }
            seen.block_count = (length / 8) as u8;
        }
        (TIME_STAMPS, 8) => seen.stamps = Some((word(0), word(4))),
        (MD5, _) => {}
        _ => seen.other_options = true,
    }
}
