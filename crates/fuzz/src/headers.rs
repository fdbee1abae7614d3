//! IP headers of any bytes: what the link reads, and the mark that it may write.

use crate::Input;
use earlydrop_aqm::header::MOST_BLOCKS;
use earlydrop_aqm::Ecn;
use earlydrop_link::header::{clear_dscp, set_ce, without_payload, Fragments, Header};

pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mut fragments = Fragments::new();
    let shape = input.below(4);
    // One packet of all bytes, or several that may be fragments of one another.
    let mut packets = 0;
    loop {
        let packet = if shape == 0 { Vec::new() } else { packet(&mut input) };
        let last = shape == 0 || input.is_empty() || packets == 100;
        packets += 1;
        if shape == 0 {
            return examine(input.rest(), &mut fragments);
        }
        examine(&packet, &mut fragments);
        if last {
            return;
        }
    }
}

/// Bytes that look like an IP packet, with a length field that mostly fits.
pub fn packet(input: &mut Input<'_>) -> Vec<u8> {
    let first = input.of(&[0x45_u8, 0x60, 0x46, 0x4f, 0x6f, 0x00]);
    let mut bytes = vec![first];
    bytes.extend_from_slice(input.bytes(120));
    let (at, header) = if first >> 4 == 4 { (2, 0) } else { (4, 40) };
    if input.one_in(8) || bytes.len() < 20.max(header) {
        return bytes;
    }
    let length = (bytes.len() - header).min(usize::from(u16::MAX)) as u16;
    bytes[at..at + 2].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// What is read of `bytes` is within its bounds, and marking changes nothing but the ECN field and the checksum.
pub fn examine(bytes: &[u8], fragments: &mut Fragments) {
    let Ok(header) = Header::read(bytes) else { return };
    let endpoints = fragments.endpoints(&header);
    assert_eq!(endpoints.protocol, header.endpoints.protocol);
    let packet = header.packet(bytes.len() as u32, endpoints.key());
    assert!(packet.initial_ttl >= packet.ttl && packet.class < 8);
    assert!(bytes.starts_with(without_payload(bytes)));
    let seen = header.for_queue(bytes);
    assert!(seen.dscp < 64 && seen.tcp.is_none_or(|tcp| tcp.sacked().len() <= MOST_BLOCKS));
    let mut washed = bytes.to_vec();
    clear_dscp(&mut washed);
    assert_eq!(Header::read(&washed).expect("it breaks nothing"), Header { dscp: 0, ..header });
    let mut marked = bytes.to_vec();
    set_ce(&mut marked);
    let after = Header::read(&marked).expect("a mark breaks nothing");
    assert_eq!(after, Header { ecn: Ecn::Ce, ..header });
    let mut again = marked.clone();
    set_ce(&mut again);
    assert_eq!(again, marked, "a second mark is none");
    let differing = bytes.iter().zip(&marked).filter(|(a, b)| a != b).count();
    assert!(differing <= 3, "one byte of the mark, two of the checksum");
    if ends_there(bytes) {
        assert!(Header::read(&bytes[..bytes.len() - 1]).is_err(), "a truncated packet is malformed");
    }
    assert!(!endpoints.to_string().is_empty());
}

/// Whether the length field says that the packet ends where the bytes do.
fn ends_there(bytes: &[u8]) -> bool {
    let field = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    bytes.len() == if bytes[0] >> 4 == 4 { field(2) } else { 40 + field(4) }
}
