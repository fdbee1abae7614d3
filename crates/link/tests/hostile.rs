//! Hostile packets: random bytes, and valid packets damaged or truncated. None may panic or be marked wrongly.

use earlydrop_aqm::header::MOST_BLOCKS;
use earlydrop_aqm::Ecn;
use earlydrop_link::header::{clear_dscp, set_ce, Fragments, Header, Malformed};
use etherparse::PacketBuilder;
use proptest::prelude::*;

fn sound() -> impl Strategy<Value = Vec<u8>> {
    let payload = prop::collection::vec(any::<u8>(), 0..100);
    (any::<bool>(), any::<bool>(), any::<(u16, u16)>(), any::<u8>(), payload).prop_map(
        |(six, tcp, ports, ttl, payload)| {
            let mut bytes = Vec::new();
            let ip = if six {
                PacketBuilder::ipv6([ttl; 16], [7; 16], ttl)
            } else {
                PacketBuilder::ipv4([10, 0, 0, ttl], [10, 1, 0, 1], ttl)
            };
            let written = if tcp {
                ip.tcp(ports.0, ports.1, 1, 1000).write(&mut bytes, &payload)
            } else {
                ip.udp(ports.0, ports.1).write(&mut bytes, &payload)
            };
            written.expect("it is written to memory");
            bytes
        },
    )
}

/// Parses `bytes`, and checks that marking changes nothing but the ECN field and the checksum.
fn examine(bytes: &[u8]) -> Result<Header, Malformed> {
    let header = Header::read(bytes)?;
    let mut fragments = Fragments::new();
    let key = fragments.endpoints(&header).key();
    let packet = header.packet(bytes.len() as u32, key);
    assert!(packet.initial_ttl >= packet.ttl && packet.class < 8);
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
    Ok(header)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = examine(&bytes);
    }

    #[test]
    fn bytes_that_look_like_ip_do_not_panic(
        first in prop::sample::select(vec![0x45_u8, 0x46, 0x4f, 0x60, 0x6f]),
        rest in prop::collection::vec(any::<u8>(), 19..200),
        total in 20_u16..220,
    ) {
        let mut bytes = vec![first];
        bytes.extend(rest);
        let at = if first >> 4 == 4 { 2 } else { 4 };
        bytes[at..at + 2].copy_from_slice(&total.to_be_bytes());
        let _ = examine(&bytes);
    }

    #[test]
    fn damaged_packets_do_not_panic(
        bytes in sound(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        length in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        prop_assert!(examine(&bytes).is_ok());
        let mut damaged = bytes.clone();
        for (place, value) in changes {
            let at = place.index(damaged.len());
            damaged[at] = value;
        }
        if cut {
            damaged.truncate(length.index(damaged.len()));
        }
        let _ = examine(&damaged);
    }

    #[test]
    fn a_truncated_packet_is_malformed(bytes in sound(), length in any::<prop::sample::Index>()) {
        prop_assert!(Header::read(&bytes[..length.index(bytes.len())]).is_err());
    }
}
