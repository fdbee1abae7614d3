//! Which flow a packet belongs to: its endpoints, the flow key made of them, and the ports of fragmented datagrams.

use std::fmt;
use std::net::IpAddr;

use super::Header;

/// A fragment's place in its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Identification of the datagram.
    pub id: u32,
    /// Whether it is the first fragment, which holds the ports.
    pub first: bool,
    /// Whether more fragments follow.
    pub more: bool,
}

/// The five-tuple of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoints {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Protocol number.
    pub protocol: u8,
    /// Source and destination port; 0 where the protocol has none.
    pub ports: (u16, u16),
}

impl Endpoints {
    /// The flow key: the same on every machine and in every run, with entropy in all bits.
    pub fn key(&self) -> u64 {
        let mut hash = Mixer(SEED);
        hash.add_address(self.source);
        hash.add_address(self.destination);
        let (from, to) = self.ports;
        hash.add(u64::from(self.protocol) << 32 | u64::from(from) << 16 | u64::from(to));
        hash.0
    }

    /// The keys of source and destination: equal for equal addresses.
    pub fn hosts(&self) -> (u64, u64) {
        let of = |address| {
            let mut hash = Mixer(SEED);
            hash.add_address(address);
            hash.0
        };
        (of(self.source), of(self.destination))
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

/// Start value of the hashes.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// A hash of words: the finalizer of SplitMix64 after each word.
struct Mixer(u64);

impl Mixer {
    fn add_address(&mut self, address: IpAddr) {
        match address {
            IpAddr::V4(address) => self.add(u64::from(address.to_bits())),
            IpAddr::V6(address) => {
                self.add((address.to_bits() >> 64) as u64);
                self.add(address.to_bits() as u64);
            }
        }
    }

    fn add(&mut self, word: u64) {
        let mut x = (self.0 ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.0 = x ^ (x >> 31);
    }
}

/// The ports of recently fragmented datagrams, so that every fragment is counted to its flow.
///
/// A fragment that arrives before its datagram's first fragment, or long after it, has the flow key of its addresses
/// and protocol alone.
pub struct Fragments {
    known: Vec<Option<(Endpoints, u32)>>,
    next: usize,
}

impl Fragments {
    /// Datagrams whose ports are kept.
    pub const KEPT: usize = 64;

    /// No datagrams yet.
    pub fn new() -> Self {
        Fragments { known: vec![None; Self::KEPT], next: 0 }
    }

    /// The endpoints of the flow to which a packet belongs.
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
