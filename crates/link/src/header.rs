//! What a queue needs to know of an IP packet, and the one thing it may write: CE.
//!
//! Nothing here trusts the packet. What has no usable IP header is [`Malformed`], and the link drops and counts it as a
//! router would; anything else is forwarded, however odd it is behind that header.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use earlydrop_aqm::{Ecn, Packet};
use etherparse::{Ipv6ExtensionSlice, LaxIpSlice};

/// Bytes of an IPv4 header without options.
const IPV4_HEADER: usize = 20;
/// Bytes of an IPv6 header.
const IPV6_HEADER: usize = 40;
/// Protocols whose payload begins with two ports: TCP, UDP, DCCP, SCTP, UDP-Lite.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];
/// What hosts set the time to live to: 32, 64 (Linux, BSD), 128 (Windows), 255 (routers).
const INITIAL_TTLS: [u8; 4] = [32, 64, 128, 255];

/// Why a packet cannot be forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// It has no byte.
    Empty,
    /// It is neither IPv4 nor IPv6.
    Version,
    /// Its header says that it is shorter than a header can be.
    HeaderLength,
    /// It ends before its header does.
    TruncatedHeader,
    /// It ends before its length field says.
    Truncated,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::Empty => "empty",
            Malformed::Version => "neither IPv4 nor IPv6",
            Malformed::HeaderLength => "impossible header length",
            Malformed::TruncatedHeader => "truncated header",
            Malformed::Truncated => "truncated",
        })
    }
}

/// Which part of a datagram a fragment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Identification of the datagram.
    pub id: u32,
    /// It has the ports.
    pub first: bool,
    /// Others follow.
    pub more: bool,
}

/// What tells the flows apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoints {
    /// From where.
    pub source: IpAddr,
    /// To where.
    pub destination: IpAddr,
    /// Protocol above IP.
    pub protocol: u8,
    /// Source and destination port; 0 where the protocol has none.
    pub ports: (u16, u16),
}

impl Endpoints {
    /// The flow key: the same on every machine and in every run, and spread over all its bits.
    pub fn key(&self) -> u64 {
        let mut hash = Mixer(0x9e37_79b9_7f4a_7c15);
        for address in [self.source, self.destination] {
            match address {
                IpAddr::V4(address) => hash.add(u64::from(address.to_bits())),
                IpAddr::V6(address) => {
                    hash.add((address.to_bits() >> 64) as u64);
                    hash.add(address.to_bits() as u64);
                }
            }
        }
        let (from, to) = self.ports;
        hash.add(u64::from(self.protocol) << 32 | u64::from(from) << 16 | u64::from(to));
        hash.0
    }
}

impl fmt::Display for Endpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |f: &mut fmt::Formatter<'_>, address: IpAddr, port: u16| match (address, port) {
            (address, 0) => write!(f, "{address}"),
            (IpAddr::V4(address), port) => write!(f, "{address}:{port}"),
            (IpAddr::V6(address), port) => write!(f, "[{address}]:{port}"),
        };
        match self.protocol {
            6 => write!(f, "tcp ")?,
            17 => write!(f, "udp ")?,
            1 | 58 => write!(f, "icmp ")?,
            other => write!(f, "protocol {other} ")?,
        }
        end(f, self.source, self.ports.0)?;
        write!(f, " > ")?;
        end(f, self.destination, self.ports.1)
    }
}

/// A multiply-and-fold hash (the finalizer of SplitMix64 after each word).
struct Mixer(u64);

impl Mixer {
    fn add(&mut self, word: u64) {
        let mut x = (self.0 ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = x ^ (x >> 31);
    }
}

/// The header of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// From where to where.
    pub endpoints: Endpoints,
    /// ECN field.
    pub ecn: Ecn,
    /// DSCP.
    pub dscp: u8,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// Whether it is a fragment.
    pub fragment: Option<Fragment>,
}

impl Header {
    /// Reads the IP header, the extension headers as far as they can be read, and the ports.
    ///
    /// # Errors
    /// If there is no usable IP header.
    #[inline]
    pub fn read(packet: &[u8]) -> Result<Header, Malformed> {
        let version = packet.first().ok_or(Malformed::Empty)? >> 4;
        match version {
            4 => check_ipv4(packet)?,
            6 => check_ipv6(packet)?,
            _ => return Err(Malformed::Version),
        }
        let Ok((slice, _)) = LaxIpSlice::from_slice(packet) else { return Err(Malformed::TruncatedHeader) };
        Ok(match &slice {
            LaxIpSlice::Ipv4(ip) => {
                let header = ip.header();
                let fragment = header.is_fragmenting_payload().then(|| Fragment {
                    id: u32::from(header.identification()),
                    first: header.fragments_offset().value() == 0,
                    more: header.more_fragments(),
                });
                Header {
                    endpoints: Endpoints {
                        source: IpAddr::V4(Ipv4Addr::from(header.source())),
                        destination: IpAddr::V4(Ipv4Addr::from(header.destination())),
                        protocol: ip.payload().ip_number.0,
                        ports: ports(ip.payload().ip_number.0, fragment, ip.payload().payload),
                    },
                    ecn: ecn(header.ecn().value()),
                    dscp: header.dcp().value(),
                    ttl: header.ttl(),
                    fragment,
                }
            }
            LaxIpSlice::Ipv6(ip) => {
                let header = ip.header();
                let fragment = ip.extensions().clone().into_iter().find_map(|extension| match extension {
                    Ipv6ExtensionSlice::Fragment(part) if part.is_fragmenting_payload() => Some(Fragment {
                        id: part.identification(),
                        first: part.fragment_offset().value() == 0,
                        more: part.more_fragments(),
                    }),
                    _ => None,
                });
                Header {
                    endpoints: Endpoints {
                        source: IpAddr::V6(Ipv6Addr::from(header.source())),
                        destination: IpAddr::V6(Ipv6Addr::from(header.destination())),
                        protocol: ip.payload().ip_number.0,
                        ports: ports(ip.payload().ip_number.0, fragment, ip.payload().payload),
                    },
                    ecn: ecn(header.ecn().value()),
                    dscp: header.dscp().value(),
                    ttl: header.hop_limit(),
                    fragment,
                }
            }
        })
    }

    /// What the queue sees of it, with its flow key; `size` bytes on the wire.
    ///
    /// The class is the IP precedence (DSCP / 8). Senders write nothing about the time to live that they started with, so
    /// it is taken to be the next of 32, 64, 128 and 255, for the disciplines that want to know how far a packet has come.
    pub fn packet(&self, size: u32, key: u64) -> Packet {
        let initial = INITIAL_TTLS.into_iter().find(|&start| self.ttl <= start).unwrap_or(u8::MAX);
        Packet { ecn: self.ecn, class: self.dscp >> 3, ttl: self.ttl, initial_ttl: initial, ..Packet::new(key, size) }
    }
}

fn check_ipv4(packet: &[u8]) -> Result<(), Malformed> {
    let length = usize::from(packet[0] & 0xf) * 4;
    if length < IPV4_HEADER {
        return Err(Malformed::HeaderLength);
    }
    if packet.len() < length {
        return Err(Malformed::TruncatedHeader);
    }
    let total = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    if total < length {
        return Err(Malformed::HeaderLength);
    }
    if total > packet.len() {
        return Err(Malformed::Truncated);
    }
    Ok(())
}

fn check_ipv6(packet: &[u8]) -> Result<(), Malformed> {
    if packet.len() < IPV6_HEADER {
        return Err(Malformed::TruncatedHeader);
    }
    // A length of 0 says that a jumbogram's option has it (RFC 2675).
    let payload = usize::from(u16::from_be_bytes([packet[4], packet[5]]));
    if IPV6_HEADER + payload > packet.len() {
        return Err(Malformed::Truncated);
    }
    Ok(())
}

fn ecn(bits: u8) -> Ecn {
    match bits & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

fn ports(protocol: u8, fragment: Option<Fragment>, payload: &[u8]) -> (u16, u16) {
    if !WITH_PORTS.contains(&protocol) || fragment.is_some_and(|part| !part.first) {
        return (0, 0);
    }
    match payload {
        [a, b, c, d, ..] => (u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])),
        _ => (0, 0),
    }
}

/// Sets CE in a packet whose header [`Header::read`] has read, and keeps the IPv4 checksum as right or wrong as it was
/// (RFC 1624).
pub fn set_ce(packet: &mut [u8]) {
    match packet {
        [first, second, rest @ ..] if *first >> 4 == 4 && rest.len() >= 10 => {
            let before = u16::from_be_bytes([*first, *second]);
            *second |= 0b11;
            let after = u16::from_be_bytes([*first, *second]);
            let checksum = u16::from_be_bytes([rest[8], rest[9]]);
            // HC' = ~(~HC + ~m + m'), in ones' complement.
            let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
            let folded = (sum & 0xffff) + (sum >> 16);
            let folded = (folded & 0xffff) + (folded >> 16);
            rest[8..10].copy_from_slice(&(!(folded as u16)).to_be_bytes());
        }
        [first, second, ..] if *first >> 4 == 6 => *second |= 0b11 << 4,
        _ => {}
    }
}

/// Remembers the ports of datagrams that come in fragments, so that all of them belong to one flow.
///
/// A fragment that comes before the first of its datagram, or long after it, has the flow key of its addresses and
/// protocol alone.
pub struct Fragments {
    known: Vec<Option<(Endpoints, u32)>>,
    next: usize,
}

impl Fragments {
    /// So many datagrams are remembered.
    pub const KEPT: usize = 64;

    /// Nothing remembered.
    pub fn new() -> Self {
        Fragments { known: vec![None; Self::KEPT], next: 0 }
    }

    /// The endpoints of the flow that a packet belongs to.
    pub fn endpoints(&mut self, header: &Header) -> Endpoints {
        let Some(part) = header.fragment else { return header.endpoints };
        let bare = |endpoints: &Endpoints| Endpoints { ports: (0, 0), ..*endpoints };
        let same = |known: &(Endpoints, u32)| known.1 == part.id && bare(&known.0) == bare(&header.endpoints);
        if part.first {
            self.known[self.next] = Some((header.endpoints, part.id));
            self.next = (self.next + 1) % Self::KEPT;
            return header.endpoints;
        }
        let latest_first = (1..=Self::KEPT).map(|back| (self.next + Self::KEPT - back) % Self::KEPT);
        let found = latest_first.filter_map(|at| self.known[at]).find(same);
        found.map_or(header.endpoints, |(endpoints, _)| endpoints)
    }
}

impl Default for Fragments {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn the_time_to_live_at_the_start_is_the_next_usual_one() {
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
            fragments
                .endpoints(&Header { fragment: Some(Fragment { id: 1000 + id, first: true, more: true }), ..first });
        }
        assert_eq!(fragments.endpoints(&second).ports, (0, 0), "forgotten");
    }

    #[test]
    fn fragments_of_ipv6_are_seen() {
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
    fn what_has_no_usable_header_is_malformed() {
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
        assert!(Header::read(&long).is_ok(), "bytes behind the packet do no harm");
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
        // A discipline may take the low bits.
        let low: std::collections::BTreeSet<u64> = keys.iter().map(|key| key % 1024).collect();
        assert!(low.len() > 800, "{}", low.len());
    }
    const GOLDEN: u64 = 5_400_337_138_671_472_131;
}
