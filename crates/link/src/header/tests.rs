use super::*;
use earlydrop_aqm::header::TcpHeader;
use etherparse::PacketBuilder;

fn udp4(payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 61).udp(1000, 2000);
    builder.write(&mut bytes, payload).expect("a packet");
    bytes
}

fn tcp6() -> Vec<u8> {
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(443, 55_555, 7, 1000);
    builder.write(&mut bytes, &[0; 30]).expect("a packet");
    bytes
}

#[test]
fn reads_addresses_ports_ecn_and_ttl() {
    let mut bytes = udp4(&[1, 2, 3]);
    bytes[1] = 46 << 2 | 0b10;
    let header = Header::read(&bytes).expect("sound");
    assert_eq!(header.endpoints.to_string(), "udp 10.0.0.1:1000 > 10.0.0.2:2000");
    assert_eq!((header.ecn, header.dscp, header.ttl, header.fragment), (Ecn::Ect0, 46, 61, None));
    let packet = header.packet(bytes.len() as u32, 5);
    assert_eq!((packet.class, packet.ttl, packet.initial_ttl, packet.size, packet.flow), (5, 61, 64, 31, 5));

    let bytes = tcp6();
    let header = Header::read(&bytes).expect("sound");
    assert_eq!(
        header.endpoints.to_string(),
        "tcp [101:101:101:101:101:101:101:101]:443 > [202:202:202:202:202:202:202:202]:55555"
    );
    assert_eq!((header.ecn, header.ttl), (Ecn::NotEct, 64));
}

#[test]
fn the_initial_time_to_live_is_the_next_usual_one() {
    let mut bytes = udp4(&[]);
    for (ttl, initial) in [(1, 32), (32, 32), (33, 64), (64, 64), (65, 128), (128, 128), (129, 255), (255, 255)] {
        bytes[8] = ttl;
        let packet = Header::read(&bytes).expect("sound").packet(28, 1);
        assert_eq!((packet.ttl, packet.initial_ttl), (ttl, initial));
    }
}

#[test]
fn options_and_extension_headers_do_not_hide_the_ports() {
    let mut bytes = udp4(&[9; 8]);
    // Two words of options (NOP).
    bytes[0] = 0x47;
    let total = (bytes.len() + 8) as u16;
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    bytes.splice(20..20, [1; 8]);
    assert_eq!(Header::read(&bytes).expect("sound").endpoints.ports, (1000, 2000));

    let mut bytes = tcp6();
    // Hop-by-hop options in front of TCP.
    bytes[6] = 0;
    let length = (bytes.len() - 40 + 8) as u16;
    bytes[4..6].copy_from_slice(&length.to_be_bytes());
    bytes.splice(40..40, [6, 0, 1, 4, 0, 0, 0, 0]);
    let header = Header::read(&bytes).expect("sound");
    assert_eq!((header.endpoints.protocol, header.endpoints.ports), (6, (443, 55_555)));
}

#[test]
fn every_fragment_of_a_datagram_is_of_its_flow() {
    let whole = udp4(&[7; 64]);
    let mut first = whole[..52].to_vec();
    first[2..4].copy_from_slice(&52_u16.to_be_bytes());
    first[4..6].copy_from_slice(&99_u16.to_be_bytes());
    first[6..8].copy_from_slice(&0x2000_u16.to_be_bytes());
    let mut second = whole[..20].to_vec();
    second.extend_from_slice(&whole[52..]);
    let total = second.len() as u16;
    second[2..4].copy_from_slice(&total.to_be_bytes());
    second[4..6].copy_from_slice(&99_u16.to_be_bytes());
    second[6..8].copy_from_slice(&4_u16.to_be_bytes());
    let (first, second) = (Header::read(&first).expect("sound"), Header::read(&second).expect("sound"));
    assert_eq!(first.fragment, Some(Fragment { id: 99, first: true, more: true }));
    assert_eq!(second.fragment, Some(Fragment { id: 99, first: false, more: false }));
    let mut fragments = Fragments::new();
    assert_eq!(fragments.endpoints(&second).ports, (0, 0), "the first has not come yet");
    assert_eq!(fragments.endpoints(&first).ports, (1000, 2000));
    assert_eq!(fragments.endpoints(&second).ports, (1000, 2000));
    let other = Header { fragment: Some(Fragment { id: 98, first: false, more: false }), ..second };
    assert_eq!(fragments.endpoints(&other).ports, (0, 0));
    for id in 0..Fragments::KEPT as u32 {
        fragments.endpoints(&Header { fragment: Some(Fragment { id: 1000 + id, first: true, more: true }), ..first });
    }
    assert_eq!(fragments.endpoints(&second).ports, (0, 0), "forgotten");
}

#[test]
fn ipv6_fragments_are_recognised() {
    let mut bytes = tcp6();
    bytes[6] = 44;
    let length = (bytes.len() - 40 + 8) as u16;
    bytes[4..6].copy_from_slice(&length.to_be_bytes());
    bytes.splice(40..40, [6, 0, 0, 1, 0, 0, 0, 77]);
    let header = Header::read(&bytes).expect("sound");
    assert_eq!(header.fragment, Some(Fragment { id: 77, first: true, more: true }));
    assert_eq!((header.endpoints.protocol, header.endpoints.ports), (6, (443, 55_555)));
}

#[test]
fn a_packet_without_a_usable_header_is_malformed() {
    let sound = udp4(&[5; 10]);
    assert_eq!(Header::read(&[]), Err(Malformed::Empty));
    assert_eq!(Header::read(&[0x55; 60]), Err(Malformed::Version));
    assert_eq!(Header::read(&sound[..19]), Err(Malformed::TruncatedHeader));
    assert_eq!(Header::read(&sound[..20]), Err(Malformed::Truncated));
    assert_eq!(Header::read(&sound[..37]), Err(Malformed::Truncated));
    let mut short = sound.clone();
    short[0] = 0x44;
    assert_eq!(Header::read(&short), Err(Malformed::HeaderLength));
    let mut short = sound.clone();
    short[2..4].copy_from_slice(&19_u16.to_be_bytes());
    assert_eq!(Header::read(&short), Err(Malformed::HeaderLength));
    let mut long = sound.clone();
    long.extend_from_slice(&[0; 8]);
    assert!(Header::read(&long).is_ok(), "trailing bytes are ignored");
    assert_eq!(Header::read(&tcp6()[..39]), Err(Malformed::TruncatedHeader));
    assert_eq!(Header::read(&tcp6()[..59]), Err(Malformed::Truncated));
}

/// Ones' complement sum over the header; 0xffff where the checksum is right.
fn sum(header: &[u8]) -> u32 {
    let mut sum: u32 = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

#[test]
fn a_mark_keeps_the_checksum_right_and_a_wrong_one_wrong() {
    for bits in [0b01, 0b10, 0b11] {
        for id in (0..=u16::MAX).step_by(251) {
            let mut bytes = udp4(&[]);
            bytes[1] = bits;
            bytes[4..6].copy_from_slice(&id.to_be_bytes());
            bytes[10..12].copy_from_slice(&[0, 0]);
            let checksum = !(sum(&bytes[..20]) as u16);
            bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
            assert_eq!(sum(&bytes[..20]), 0xffff);
            set_ce(&mut bytes);
            assert_eq!((bytes[1], sum(&bytes[..20])), (0b11, 0xffff));
            assert_eq!(Header::read(&bytes).expect("sound").ecn, Ecn::Ce);
        }
    }
    let mut wrong = udp4(&[]);
    wrong[10] ^= 1;
    let before = sum(&wrong[..20]);
    set_ce(&mut wrong);
    assert_eq!(sum(&wrong[..20]), before);
    let mut six = tcp6();
    six[1] = 0b10 << 4;
    let mut expected = six.clone();
    expected[1] = 0b11 << 4;
    set_ce(&mut six);
    assert_eq!(six, expected, "IPv6 has no checksum, and nothing else moves");
    assert_eq!(Header::read(&six).expect("sound").ecn, Ecn::Ce);
    set_ce(&mut []);
    set_ce(&mut [0x45, 0]);
}

#[test]
fn flow_keys_differ_and_do_not_depend_on_the_run() {
    let of = |from, to| {
        let source = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
        Endpoints { source, destination: source, protocol: 6, ports: (from, to) }.key()
    };
    assert_eq!(of(1, 2), GOLDEN);
    let keys: std::collections::BTreeSet<u64> = (0..1000).flat_map(|from| [of(from, 80), of(80, from)]).collect();
    assert_eq!(keys.len(), 2000 - 1, "only 80 to 80 is there twice");
    // A discipline may use only the low bits of a key.
    let low: std::collections::BTreeSet<u64> = keys.iter().map(|key| key % 1024).collect();
    assert!(low.len() > 800, "{}", low.len());
}
const GOLDEN: u64 = 5_400_337_138_671_472_131;

#[test]
fn a_washed_packet_keeps_its_ecn_field_and_its_checksum() {
    let mut bytes = udp4(&[]);
    bytes[1] = 46 << 2 | 0b11;
    bytes[10..12].copy_from_slice(&[0, 0]);
    let checksum = !(sum(&bytes[..20]) as u16);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    clear_dscp(&mut bytes);
    assert_eq!((bytes[1], sum(&bytes[..20])), (0b11, 0xffff));
    let mut six = tcp6();
    (six[0], six[1]) = (0x6f, 0b1110_1010);
    clear_dscp(&mut six);
    assert_eq!((six[0], six[1]), (0x60, 0b0010_1010), "the flow label stays");
}

#[test]
fn a_queue_sees_hosts_and_dscp() {
    let seen = |bytes: &[u8]| Header::read(bytes).expect("sound").for_queue(bytes);
    let of = |from: u8, to: u8, ports: (u16, u16)| {
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, from], [10, 0, 0, to], 61).udp(ports.0, ports.1);
        builder.write(&mut bytes, &[]).expect("a packet");
        bytes[1] = 46 << 2;
        seen(&bytes)
    };
    let (first, other) = (of(1, 2, (7, 8)), of(1, 3, (9, 9)));
    assert_eq!((first.dscp, first.tcp, first.source == first.destination), (46, None, false));
    assert_eq!((first.source == other.source, first.destination == other.destination), (true, false));
    assert_eq!(of(2, 1, (1, 1)).source, first.destination, "a host is one both ways");
    let six = seen(&tcp6());
    assert!(six.source != six.destination && six.tcp.is_some_and(|tcp| tcp.data));
}

/// What the ACK filter compares, from options in any order; and where Linux's reader stops.
#[test]
fn a_queue_sees_acks() {
    let read = |flags: u8, options: &[u8], payload: &[u8]| {
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 61).tcp(80, 5000, 1, 1000).ack(77);
        builder.options_raw(options).expect("room for them").write(&mut bytes, payload).expect("a packet");
        bytes[33] = flags;
        Header::read(&bytes).expect("sound").for_queue(&bytes).tcp.expect("a TCP header")
    };
    let stamps = [8, 10, 0, 0, 0, 5, 0, 0, 0, 6];
    let sack = [5, 18, 0, 0, 0, 10, 0, 0, 0, 20, 0, 0, 0, 30, 0, 0, 0, 40];
    let plain = TcpHeader { plain_ack: true, acknowledges: true, ack: 77, ..TcpHeader::default() };
    assert_eq!(read(0x10, &[], &[]), plain);
    assert_eq!(read(0x10, &[], &[0]), TcpHeader { data: true, ..plain });
    assert_eq!(read(0xd0, &[], &[]), TcpHeader { ecn_flags: 0b11, ..plain }, "ECE and CWR");
    assert_eq!(read(0x50, &[], &[]), TcpHeader { ecn_flags: 0b01, ..plain }, "ECE");
    assert_eq!(read(0x18, &[], &[]), TcpHeader { plain_ack: false, ..plain }, "PSH");
    assert_eq!(read(0x12, &[], &[]), TcpHeader { plain_ack: false, acknowledges: false, ..plain }, "SYN");
    let stamped = TcpHeader { stamps: Some((5, 6)), ..plain };
    assert_eq!(read(0x10, &[&[1, 1], &stamps[..]].concat(), &[]), stamped);
    let mut selective = TcpHeader { block_count: 2, ..stamped };
    (selective.blocks[0], selective.blocks[1]) = ((10, 20), (30, 40));
    assert_eq!(read(0x10, &[&[1, 1], &stamps[..], &[1, 1], &sack[..]].concat(), &[]), selective);
    let other = TcpHeader { other_options: true, ..plain };
    assert_eq!(read(0x10, &[2, 4, 5, 180], &[]), other, "MSS");
    assert_eq!(read(0x10, &[5, 9, 0, 0, 0, 10, 0, 0, 0, 1, 1, 1], &[]), other, "a SACK option of 7 bytes");
    assert_eq!(read(0x10, &[8, 8, 0, 0, 0, 5, 0, 0], &[]), other, "time stamps of 6 bytes");
    assert_eq!(read(0x10, &[19, 4, 0, 0], &[]), plain, "a signature");
    for broken in [[0, 2, 4, 5], [2, 1, 1, 1], [2, 40, 1, 1], [1, 1, 1, 2]] {
        assert_eq!(read(0x10, &broken, &[]), plain, "{broken:?}");
    }
}

/// A reserved bit, which accurate ECN uses, makes an ACK stay; fragments and short headers have no ACK.
#[test]
fn where_there_is_no_plain_ack() {
    let mut bytes = tcp6();
    let tcp = |bytes: &[u8]| Header::read(bytes).expect("sound").for_queue(bytes).tcp;
    bytes[53] = 0x10;
    assert!(tcp(&bytes).is_some_and(|tcp| tcp.plain_ack));
    bytes[52] |= 1;
    assert!(tcp(&bytes).is_some_and(|tcp| !tcp.plain_ack));
    bytes[52] = 4 << 4;
    assert_eq!(tcp(&bytes), None, "a header of 16 bytes");
    bytes[52] = 15 << 4;
    assert_eq!(tcp(&bytes), None, "longer than the segment");
    let mut first = udp4(&[0; 40]);
    (first[9], first[32]) = (6, 5 << 4);
    assert!(tcp(&first).is_some());
    first[6] = 0x20;
    assert_eq!(tcp(&first), None, "a fragment");
}

/// The extension headers of a hostile packet end nowhere: the first byte of each names another one, the second a length
/// beyond the packet. Reading stops at the end.
#[test]
fn extension_headers_beyond_the_packet_are_not_read() {
    for extension in [0_u8, 43, 44, 51, 60] {
        for behind in [&[][..], &[44, 255], &[60, 255, 0, 0, 0, 0, 0, 0], &[43, 0, 0, 0, 0, 0, 0, 0, 60, 9]] {
            let mut bytes = vec![0x60, 0, 0, 0, 0, behind.len() as u8, extension, 64];
            bytes.extend([7; 32]);
            bytes.extend(behind);
            let header = Header::read(&bytes).expect("the header itself is sound");
            assert_eq!((header.fragment, header.endpoints.ports), (None, (0, 0)), "{extension} {behind:?}");
        }
    }
}

/// A fragment header is found behind other extension headers.
#[test]
fn a_fragment_header_behind_other_extensions_is_found() {
    let extensions =
        [[43, 0, 0, 0, 0, 0, 0, 0], [60, 0, 0, 0, 0, 0, 0, 0], [44, 0, 0, 0, 0, 0, 0, 0], [17, 0, 0, 1, 0, 0, 1, 2]];
    let mut bytes = vec![0x60, 0, 0, 0, 0, 40, 0, 64];
    bytes.extend([7; 32]);
    bytes.extend(extensions.concat());
    bytes.extend([0, 80, 1, 0, 0, 8, 0, 0]);
    let header = Header::read(&bytes).expect("sound");
    assert_eq!(header.fragment, Some(Fragment { id: 0x0102, first: true, more: true }));
    assert_eq!(header.endpoints.ports, (80, 256));
}

#[test]
fn a_capture_keeps_headers_and_no_data() {
    let udp = udp4(&[9; 100]);
    assert_eq!(without_payload(&udp), &udp[..28]);
    let tcp = tcp6();
    assert_eq!(without_payload(&tcp), &tcp[..60]);
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 61).tcp(80, 5000, 1, 1000);
    let builder = builder.options_raw(&[1; 12]).expect("options");
    builder.write(&mut bytes, &[7; 40]).expect("a packet");
    assert_eq!(without_payload(&bytes), &bytes[..52]);
    // A TCP header that says it is longer than the packet; the second fragment of a datagram.
    let mut long = bytes[..52].to_vec();
    long[2..4].copy_from_slice(&52_u16.to_be_bytes());
    long[32] = 0xf0;
    assert_eq!(without_payload(&long), &long[..]);
    let mut second = udp;
    second[6..8].copy_from_slice(&4_u16.to_be_bytes());
    assert_eq!(without_payload(&second), &second[..20]);
}
