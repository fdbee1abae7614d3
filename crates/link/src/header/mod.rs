//! What a queue reads from an IP packet, and what it may write: CE, or DSCP 0 (RFC 791, 2474, 3168, 8200).
//!
//! Nothing here trusts the packet. A packet without a usable IP header is [`Malformed`]; the link drops and counts it
//! as a router would. Every other packet is forwarded, whatever follows its IP header.

mod flow;
mod tcp;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use earlydrop_aqm::{Ecn, Header as Read, Packet};
use etherparse::ip_number::{AUTH, IPV6_DEST_OPTIONS, IPV6_FRAG, IPV6_HOP_BY_HOP, IPV6_ROUTE, TCP};
use etherparse::{IpAuthHeaderSlice, Ipv6ExtensionsSlice, Ipv6FragmentHeaderSlice, Ipv6RawExtHeaderSlice, LaxIpSlice};
pub use flow::{Endpoints, Fragment, Fragments};

/// Bytes of an IPv4 header without options.
const IPV4_HEADER: usize = 20;
/// Bytes of an IPv6 header.
const IPV6_HEADER: usize = 40;
/// Protocols whose header starts with two ports: TCP, UDP, DCCP, SCTP, UDP-Lite.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];
/// Usual initial times to live: 32, 64 (Linux, BSD), 128 (Windows), 255 (routers).
const INITIAL_TTLS: [u8; 4] = [32, 64, 128, 255];

/// Why a packet cannot be forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The packet has no bytes.
    Empty,
    /// The packet is neither IPv4 nor IPv6.
    Version,
    /// A length field is smaller than the header.
    HeaderLength,
    /// The packet is shorter than its header.
    TruncatedHeader,
    /// The packet is shorter than its length field says.
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

/// The header of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Addresses, protocol and ports.
    pub endpoints: Endpoints,
    /// ECN field.
    pub ecn: Ecn,
    /// DSCP.
    pub dscp: u8,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// Which fragment it is, if it is one.
    pub fragment: Option<Fragment>,
}

impl Header {
    /// Reads the IP header, the extension headers as far as they are sound, and the ports.
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
                    ecn: Ecn::from_bits(header.ecn().value()),
                    dscp: header.dcp().value(),
                    ttl: header.ttl(),
                    fragment,
                }
            }
            LaxIpSlice::Ipv6(ip) => {
                let header = ip.header();
                let fragment = fragment(ip.extensions());
                Header {
                    endpoints: Endpoints {
                        source: IpAddr::V6(Ipv6Addr::from(header.source())),
                        destination: IpAddr::V6(Ipv6Addr::from(header.destination())),
                        protocol: ip.payload().ip_number.0,
                        ports: ports(ip.payload().ip_number.0, fragment, ip.payload().payload),
                    },
                    ecn: Ecn::from_bits(header.ecn().value()),
                    dscp: header.dscp().value(),
                    ttl: header.hop_limit(),
                    fragment,
                }
            }
        })
    }

    /// The packet as a queue sees it; `size` is its bytes on the wire, `key` its flow key.
    ///
    /// The class is the IP precedence (DSCP / 8). No header field holds the initial time to live, so it is taken to be
    /// the next of 32, 64, 128 and 255, for disciplines that use the number of hops behind a packet.
    pub fn packet(&self, size: u32, key: u64) -> Packet {
        let initial = INITIAL_TTLS.into_iter().find(|&start| self.ttl <= start).unwrap_or(u8::MAX);
        Packet { ecn: self.ecn, class: self.dscp >> 3, ttl: self.ttl, initial_ttl: initial, ..Packet::new(key, size) }
    }

    /// The header for a queue that reads headers; `packet` is what [`Header::read`] has read. Fragments have no TCP
    /// header.
    pub fn for_queue(&self, packet: &[u8]) -> Read {
        let tcp = (self.endpoints.protocol == TCP.0 && self.fragment.is_none())
            .then(|| LaxIpSlice::from_slice(packet).ok().and_then(|(ip, _)| tcp::read(ip.payload().payload)))
            .flatten();
        let (source, destination) = self.endpoints.hosts();
        Read { dscp: self.dscp, offset: 0, source, destination, tcp }
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
    // A length of 0 means that a jumbo payload option holds the length (RFC 2675).
    let payload = usize::from(u16::from_be_bytes([packet[4], packet[5]]));
    if IPV6_HEADER + payload > packet.len() {
        return Err(Malformed::Truncated);
    }
    Ok(())
}

/// Which fragment an IPv6 packet is. The library's iterator over extension headers is not used: it goes on behind the
/// last sound header, and reads memory outside of a truncated packet.
fn fragment(extensions: &Ipv6ExtensionsSlice<'_>) -> Option<Fragment> {
    let (mut next, mut rest) = (extensions.first_header()?, extensions.slice());
    loop {
        let length;
        (next, length) = match next {
            IPV6_FRAG => {
                let part = Ipv6FragmentHeaderSlice::from_slice(rest).ok()?;
                if part.is_fragmenting_payload() {
                    return Some(Fragment {
                        id: part.identification(),
                        first: part.fragment_offset().value() == 0,
                        more: part.more_fragments(),
                    });
                }
                (part.next_header(), part.slice().len())
            }
            IPV6_HOP_BY_HOP | IPV6_ROUTE | IPV6_DEST_OPTIONS => {
                let header = Ipv6RawExtHeaderSlice::from_slice(rest).ok()?;
                (header.next_header(), header.slice().len())
            }
            AUTH => {
                let header = IpAuthHeaderSlice::from_slice(rest).ok()?;
                (header.next_header(), header.slice().len())
            }
            _ => return None,
        };
        rest = &rest[length..];
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

/// The IP header with its extensions, and of what follows the TCP header or eight bytes, which is all of UDP's and the
/// beginning of others: nothing of what a program sends by TCP or UDP. `packet` is what [`Header::read`] has accepted.
pub fn without_payload(packet: &[u8]) -> &[u8] {
    const USUAL: usize = 8;
    let Ok((ip, _)) = LaxIpSlice::from_slice(packet) else { return &[] };
    let inside = ip.payload();
    let fragment = match &ip {
        LaxIpSlice::Ipv4(ip) => ip.header().is_fragmenting_payload() && ip.header().fragments_offset().value() > 0,
        LaxIpSlice::Ipv6(ip) => fragment(ip.extensions()).is_some_and(|part| !part.first),
    };
    let behind = match inside.payload.get(12) {
        _ if fragment => 0,
        Some(offset) if inside.ip_number == TCP => usize::from(offset >> 4) * 4,
        _ => USUAL,
    };
    // The payload is a part of the packet.
    let before = inside.payload.as_ptr() as usize - packet.as_ptr() as usize;
    &packet[..(before + behind).min(packet.len())]
}

/// Sets CE in a packet that [`Header::read`] has accepted.
pub fn set_ce(packet: &mut [u8]) {
    change_traffic_class(packet, |class| class | 0b11);
}

/// Sets DSCP 0 in a packet that [`Header::read`] has accepted; ECN stays.
pub fn clear_dscp(packet: &mut [u8]) {
    change_traffic_class(packet, |class| class & 0b11);
}

/// Changes the eight bits of DSCP and ECN. The IPv4 checksum is updated by the difference (RFC 1624), so that a wrong
/// checksum stays wrong.
fn change_traffic_class(packet: &mut [u8], change: impl Fn(u8) -> u8) {
    match packet {
        [first, second, rest @ ..] if *first >> 4 == 4 && rest.len() >= 10 => {
            let before = u16::from_be_bytes([*first, *second]);
            *second = change(*second);
            let after = u16::from_be_bytes([*first, *second]);
            let checksum = u16::from_be_bytes([rest[8], rest[9]]);
            // HC' = ~(~HC + ~m + m'), in ones' complement.
            let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
            let folded = (sum & 0xffff) + (sum >> 16);
            let folded = (folded & 0xffff) + (folded >> 16);
            rest[8..10].copy_from_slice(&(!(folded as u16)).to_be_bytes());
        }
        [first, second, ..] if *first >> 4 == 6 => {
            let class = change(*first << 4 | *second >> 4);
            (*first, *second) = (*first & 0xf0 | class >> 4, *second & 0x0f | class << 4);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
