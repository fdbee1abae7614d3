//! Packet captures for Wireshark, tshark and tcpdump: the pcapng format (draft-ietf-opsawg-pcapng), and headers of
//! simulated packets.
//!
//! A packet is captured from its IP header on and may be cut: what is kept of it is shorter than it was on the wire, so
//! that nobody must invent the payload of simulated data.

pub mod traced;

use std::io::{Error, ErrorKind, Result, Write};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Packets start with their IP header, of version 4 or 6 (`LINKTYPE_RAW`).
const RAW: u16 = 101;
/// Packets start with their IPv4 header (`LINKTYPE_IPV4`).
const IPV4: u16 = 228;
/// Most bytes of a packet that Wireshark and libpcap read.
const MOST_KEPT: u32 = 262_144;
/// Times are in units of 10^-9 s.
const NANOSECONDS: u8 = 9;

const SECTION: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;

/// A capture that is being written, in little-endian order.
#[derive(Debug)]
pub struct Capture<W: Write> {
    out: W,
    interfaces: u32,
    /// Time of the latest packet, ns.
    latest: u64,
    /// The block that is being made, whose memory is used again.
    block: Vec<u8>,
}

impl<W: Write> Capture<W> {
    /// Starts a capture of IP packets at interfaces of these names, which packets name by their position in the list.
    /// `out` should be buffered.
    ///
    /// # Errors
    /// If a name has 65,536 bytes or more, and those of `out`.
    pub fn new(out: W, interfaces: &[&str]) -> Result<Self> {
        Self::at(out, interfaces, RAW)
    }

    /// The same for IPv4 packets only. tcpdump (libpcap 1.10) reads raw IP from a single interface, and IPv4 from many:
    /// it compares the link type of the second interface with its own number for that of the first.
    ///
    /// # Errors
    /// As [`Capture::new`].
    pub fn ipv4(out: W, interfaces: &[&str]) -> Result<Self> {
        Self::at(out, interfaces, IPV4)
    }

    fn at(out: W, interfaces: &[&str], link_type: u16) -> Result<Self> {
        let mut capture = Capture { out, interfaces: interfaces.len() as u32, latest: 0, block: Vec::new() };
        capture.word(BYTE_ORDER);
        // Version 1.0, of a section whose length is not known.
        capture.block.extend([1, 0, 0, 0]);
        capture.block.extend(u64::MAX.to_le_bytes());
        capture.end_block(SECTION)?;
        for name in interfaces {
            // Its packets have no common limit of length.
            capture.block.extend(link_type.to_le_bytes());
            capture.block.extend([0; 6]);
            capture.option(IF_NAME, name.as_bytes())?;
            capture.option(IF_TSRESOL, &[NANOSECONDS])?;
            capture.option(END_OF_OPTIONS, &[])?;
            capture.end_block(INTERFACE)?;
        }
        Ok(capture)
    }

    /// Adds a packet that passed an interface at a time in seconds, which is rounded to nanoseconds: `kept` are its
    /// first bytes, `length` is its length on the wire.
    ///
    /// # Errors
    /// If there is no such interface; if the time is negative, no number, or before that of the packet before; if
    /// `kept` is longer than `length`, or than 256 KiB; if the comment has 65,536 bytes or more; and those of `out`.
    pub fn packet(
        &mut self,
        interface: u32,
        time_s: f64,
        kept: &[u8],
        length: u32,
        comment: Option<&str>,
    ) -> Result<()> {
        if interface >= self.interfaces {
            return Err(wrong(format!("interface {interface} of a capture at {}", self.interfaces)));
        }
        // A number that is too large becomes the largest of 64 bits, 584 years.
        let time = (time_s * 1e9).round_ties_even() as u64;
        if !(0.0..f64::INFINITY).contains(&time_s) || time < self.latest {
            let latest = self.latest as f64 / 1e9;
            return Err(wrong(format!("a packet at {time_s} s; allowed from the time of the one before, {latest} s")));
        }
        let most = length.min(MOST_KEPT);
        if kept.len() > most as usize {
            return Err(wrong(format!("{} B are kept of a packet of {length} B; allowed {most} B", kept.len())));
        }
        self.block.clear();
        for word in [interface, (time >> 32) as u32, time as u32, kept.len() as u32, length] {
            self.word(word);
        }
        self.padded(kept);
        if let Some(comment) = comment {
            self.option(COMMENT, comment.as_bytes())?;
            self.option(END_OF_OPTIONS, &[])?;
        }
        self.end_block(ENHANCED_PACKET)?;
        self.latest = time;
        Ok(())
    }

    /// Ends the capture; returns the writer after flushing it.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn finish(mut self) -> Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn word(&mut self, word: u32) {
        self.block.extend(word.to_le_bytes());
    }

    /// Adds bytes, and zeros up to a multiple of four.
    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) -> Result<()> {
        let length = u16::try_from(value.len());
        let length = length.map_err(|_| wrong(format!("a text of {} B; allowed 65535 B", value.len())))?;
        self.block.extend(code.to_le_bytes());
        self.block.extend(length.to_le_bytes());
        self.padded(value);
        Ok(())
    }

    /// Writes what was added as the contents of a block, between its type and its length.
    fn end_block(&mut self, kind: u32) -> Result<()> {
        let length = (self.block.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length)?;
        self.out.write_all(&self.block)?;
        self.block.clear();
        self.out.write_all(&length)
    }
}

/// The address of a host: 10.0.0.0 plus its number, of which the low 24 bits count.
pub fn address(host: u32) -> Ipv4Addr {
    Ipv4Addr::from(10 << 24 | host & 0xff_ffff)
}

/// The packet's IPv4 header, without options and not to be fragmented, and the ports behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Address and port of the sender.
    pub source: SocketAddrV4,
    /// Address and port of the receiver.
    pub destination: SocketAddrV4,
    /// The packet's number.
    pub identification: u16,
    /// Differentiated services code point, 0 to 63 (higher bits do not count).
    pub dscp: u8,
    /// ECN field, 0 to 3 (higher bits do not count).
    pub ecn: u8,
    /// Time to live.
    pub ttl: u8,
}

/// A TCP header. Its options are no-operations, its window is 65,535.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Flags as in the header (RFC 9293, 3.1), AE (0x100) the highest; those above do not count.
    pub flags: u16,
    /// Bytes of options, 0 to 40 in steps of 4.
    pub options: u8,
}

impl Ip {
    /// Bytes of an IPv4 header.
    pub const HEADER: u32 = 20;
    /// Bytes of an IPv4 and a UDP header.
    pub const UDP: u32 = Self::HEADER + 8;
    /// Bytes of an IPv4 header and a TCP header without options.
    pub const TCP: u32 = Self::HEADER + 20;

    /// The first bytes of a packet of `length` bytes that carries a UDP datagram: the headers, and `payload`, which may
    /// be cut. The checksum of UDP is right for a whole payload; for one that is cut it is 0, "not computed".
    ///
    /// # Errors
    /// If headers and payload do not fit into `length`, or that not into 16 bits.
    pub fn udp(&self, payload: &[u8], length: u32) -> Result<Vec<u8>> {
        let kept = Self::UDP as usize + payload.len();
        let mut packet = self.header(17, kept, length)?;
        packet.extend(((length - Self::HEADER) as u16).to_be_bytes());
        packet.extend([0; 2]);
        packet.extend(payload);
        if kept == length as usize {
            // The pseudo-header (RFC 768): addresses, protocol, length of the datagram.
            let pseudo = sum(&packet[12..20]) + 17 + u64::from(length - Self::HEADER);
            let checksum = match folded(pseudo + sum(&packet[20..])) {
                0 => u16::MAX,
                other => other,
            };
            packet[26..28].copy_from_slice(&checksum.to_be_bytes());
        }
        Ok(packet)
    }

    /// The headers of a packet of `length` bytes that carries a TCP segment. The checksum of TCP is 0, as the payload is
    /// not known.
    ///
    /// # Errors
    /// If the options are not of 0 to 40 bytes in steps of 4, if the headers do not fit into `length`, or that not into
    /// 16 bits.
    pub fn tcp(&self, tcp: &Tcp, length: u32) -> Result<Vec<u8>> {
        const NO_OPERATION: u8 = 1;
        if tcp.options > 40 || !tcp.options.is_multiple_of(4) {
            return Err(wrong(format!("{} B of TCP options; allowed 0 to 40 B in steps of 4", tcp.options)));
        }
        let kept = Self::TCP as usize + usize::from(tcp.options);
        let mut packet = self.header(6, kept, length)?;
        packet.extend(tcp.seq.to_be_bytes());
        packet.extend(tcp.ack.to_be_bytes());
        let words = u16::from(5 + tcp.options / 4);
        packet.extend((words << 12 | tcp.flags & 0x1ff).to_be_bytes());
        // Window, checksum, urgent pointer.
        packet.extend([0xff, 0xff, 0, 0, 0, 0]);
        packet.resize(kept, NO_OPERATION);
        Ok(packet)
    }

    /// The IPv4 header (RFC 791) and the ports of a packet of which `kept` bytes will be known.
    fn header(&self, protocol: u8, kept: usize, length: u32) -> Result<Vec<u8>> {
        const DONT_FRAGMENT: u8 = 0x40;
        let total = u16::try_from(length).ok().filter(|&total| kept <= usize::from(total));
        let total = total.ok_or_else(|| wrong(format!("a packet of {length} B; allowed {kept} to 65535 B")))?;
        let mut packet = Vec::with_capacity(kept);
        packet.extend([0x45, self.dscp << 2 | self.ecn & 3]);
        packet.extend(total.to_be_bytes());
        packet.extend(self.identification.to_be_bytes());
        packet.extend([DONT_FRAGMENT, 0, self.ttl, protocol, 0, 0]);
        packet.extend(self.source.ip().octets());
        packet.extend(self.destination.ip().octets());
        let checksum = folded(sum(&packet));
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        packet.extend(self.source.port().to_be_bytes());
        packet.extend(self.destination.port().to_be_bytes());
        Ok(packet)
    }
}

/// Sum of the 16-bit words (RFC 1071); a last byte alone is the upper half of one.
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    words.map(u64::from).sum()
}

/// The checksum for a sum of words.
fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}
