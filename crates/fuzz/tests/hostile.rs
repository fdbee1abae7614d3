//! Hostile packets: random bytes, and valid packets damaged or truncated. None may panic or be marked wrongly.

use earlydrop_link::header::{Fragments, Header};
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

fn examine(bytes: &[u8]) {
    earlydrop_fuzz::examine(bytes, &mut Fragments::new());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn random_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        examine(&bytes);
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
        examine(&bytes);
    }

    #[test]
    fn damaged_packets_do_not_panic(
        bytes in sound(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        length in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        prop_assert!(Header::read(&bytes).is_ok());
        examine(&bytes);
        let mut damaged = bytes.clone();
        for (place, value) in changes {
            let at = place.index(damaged.len());
            damaged[at] = value;
        }
        if cut {
            damaged.truncate(length.index(damaged.len()));
        }
        examine(&damaged);
    }

    #[test]
    fn a_truncated_packet_is_malformed(bytes in sound(), length in any::<prop::sample::Index>()) {
        prop_assert!(Header::read(&bytes[..length.index(bytes.len())]).is_err());
    }
}
