//! Event traces of a queue, in ns-2's terms, with a digest over the whole run.

use earlydrop_aqm::policy::Reason;
use earlydrop_net::segment::{AE, CWR, ECE, FIN, PSH, REQUEST, SYN};
use earlydrop_net::tcp::rfc::Feedback;
use earlydrop_net::tcp::Variable;
use earlydrop_net::Segment;
use std::sync::Arc;

/// An event at a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueEvent {
    /// s.
    pub time: f64,
    /// `+` arrival, `-` start of transmission, `d` drop of the arrival just before.
    pub kind: char,
    /// Flow, from 1.
    pub flow: u32,
    /// Segment, 0 = SYN.
    pub seq: i32,
    /// Bytes on the wire.
    pub size: u32,
    /// Packets in the queue after the event, without the one in transmission; `+` counts the arrival even if it is
    /// dropped next.
    pub length: u64,
    /// ECN field and TCP flags, if headers are recorded.
    pub header: Option<Header>,
    /// Why the packet was dropped; where the queue marked it, if headers are recorded and it leaves.
    pub signal: Option<Signal>,
}

/// What the queue tells the sender by what it does to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Dropped.
    Dropped(Reason),
    /// Marked before it joined the queue.
    MarkedOnArrival,
    /// Marked while it waited, or as it left.
    MarkedInQueue,
}

impl Signal {
    /// The comment of the packet in a capture.
    pub fn text(self) -> &'static str {
        match self {
            Signal::Dropped(Reason::Early) => "dropped: early",
            Signal::Dropped(Reason::Forced) => "dropped: forced",
            Signal::Dropped(Reason::Overflow) => "dropped: overflow",
            Signal::MarkedOnArrival => "marked on arrival",
            Signal::MarkedInQueue => "marked in the queue",
        }
    }
}

/// What a packet's headers say of ECN, and its TCP flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// ECN field (RFC 3168, 5): 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
    /// TCP flags as in its header (RFC 9293, 3.1; AE is 0x100, RFC 9768); 0 without TCP.
    pub flags: u16,
    /// Of connections with data both ways.
    pub both_ways: Option<BothWays>,
}

/// What a segment of a connection with data both ways says beside its sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BothWays {
    /// The number that it acknowledges; 0 in the first SYN.
    pub ack: u32,
    /// Bytes of data.
    pub payload: u16,
}

/// What the headers of a flow over TCP depend on.
#[derive(Clone, Copy, Debug)]
pub struct TcpFlow {
    /// Links of its forward path.
    pub links: u8,
    /// Its ACKs count marks (accurate ECN).
    pub counts_marks: bool,
    /// Its data acknowledge others.
    pub both_ways: bool,
}

/// By flow; `None` over UDP.
pub type TcpFlows = Arc<[Option<TcpFlow>]>;

impl Header {
    const FIN: u16 = 0x01;
    const SYN: u16 = 0x02;
    const PSH: u16 = 0x08;
    const ACK: u16 = 0x10;
    const ECE: u16 = 0x40;
    const CWR: u16 = 0x80;
    const AE: u16 = 0x100;

    /// Those of `segment`, whose acknowledgement is `ack`, if its contents are kept.
    pub fn of(segment: Segment, flow: Option<TcpFlow>, ack: Option<&Feedback>) -> Header {
        let (bits, ecn) = (segment.bits(), segment.bits() & 3);
        let Some(TcpFlow { links, counts_marks, both_ways }) = flow else {
            return Header { ecn, flags: 0, both_ways: None };
        };
        let said =
            |pairs: &[(u8, u16)]| pairs.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, flag)| flag).sum::<u16>();
        let forward = segment.hop() < usize::from(links);
        let mut flags = match (forward, bits & SYN != 0) {
            (true, true) if ack.is_some() => Self::SYN + Self::ACK,
            (true, true) => Self::SYN + said(&[(ECE, Self::ECE), (CWR, Self::CWR), (AE, Self::AE)]),
            (true, false) => Self::ACK + said(&[(PSH, Self::PSH), (FIN, Self::FIN), (CWR, Self::CWR)]),
            (false, _) if bits & REQUEST != 0 => 0,
            (false, _) => Self::ACK + said(&[(ECE, Self::ECE)]),
        };
        match ack {
            // The counter of marked packets, or in a SYN-ACK how the SYN arrived.
            Some(ack) if counts_marks => {
                flags &= !(Self::AE | Self::CWR | Self::ECE);
                flags |= u16::from(ack.ace) << 6;
            }
            Some(ack) if ack.echo => flags |= Self::ECE,
            _ => {}
        }
        let both_ways = both_ways
            .then(|| BothWays { ack: ack.map_or(0, |ack| ack.ack), payload: ack.map_or(0, |ack| ack.carried) });
        Header { ecn, flags, both_ways }
    }
}

/// The first events of a queue, and a digest of all.
#[derive(Clone, Debug)]
pub struct QueueTrace {
    /// The first events.
    pub events: Vec<QueueEvent>,
    keep: usize,
    flows: Option<TcpFlows>,
    /// Number of all events, kept or not.
    pub total: u64,
    digest: u64,
    /// Digests after every [`QueueTrace::STRIDE`] events.
    pub checkpoints: Vec<u64>,
}

impl QueueTrace {
    /// Events between two checkpoints.
    pub const STRIDE: u64 = 10_000;

    /// Keeps the first `keep` events; headers too if the `flows` are given.
    pub fn new(keep: usize, flows: Option<TcpFlows>) -> Self {
        QueueTrace { events: Vec::new(), keep, flows, total: 0, digest: 0xcbf2_9ce4_8422_2325, checkpoints: Vec::new() }
    }

    /// FNV-1a (64 bits) over the lines `time_us,kind,flow,seq,length`, each ended by a line feed.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Whether the events have headers.
    pub fn has_headers(&self) -> bool {
        self.flows.is_some()
    }

    /// The headers of `segment`, whose acknowledgement is `ack`, if its contents are kept.
    pub(super) fn header(&self, segment: Segment, ack: Option<&Feedback>) -> Option<Header> {
        let flows = self.flows.as_ref()?;
        Some(Header::of(segment, flows[segment.flow() as usize], ack))
    }

    /// Adds an event, with its header if headers are recorded.
    pub(super) fn record(&mut self, event: QueueEvent) {
        let QueueEvent { time, kind, flow, seq, length, .. } = event;
        use std::io::Write;
        let mut line = [0_u8; 96];
        let mut rest = &mut line[..];
        // ns-2 prints times to the microsecond.
        let microseconds = (time * 1e6).round_ties_even() as u64;
        let written = writeln!(rest, "{microseconds},{kind},{flow},{seq},{length}");
        debug_assert!(written.is_ok());
        let unused = rest.len();
        let used = line.len() - unused;
        for &byte in &line[..used] {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        self.total += 1;
        if self.total.is_multiple_of(Self::STRIDE) {
            self.checkpoints.push(self.digest);
        }
        if self.events.len() < self.keep {
            self.events.push(event);
        }
    }
}

/// A change of a traced variable of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VariableChange {
    /// s.
    pub time: f64,
    /// Which.
    pub variable: Variable,
    /// New value.
    pub value: f64,
}
