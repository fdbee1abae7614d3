//! Event traces of a queue, in ns-2's terms, with a digest over the whole run.

use earlydrop_net::segment::{AE, CWR, ECE, FIN, PSH, REQUEST, SYN};
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
}

/// What a packet's headers say of ECN, and its TCP flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// ECN field (RFC 3168, 5): 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
    /// TCP flags as in its header (RFC 9293, 3.1; AE is 0x100, RFC 9768); 0 without TCP.
    pub flags: u16,
}

/// Links of each flow's forward path; `None` over UDP.
pub type Forward = Arc<[Option<u8>]>;

impl Header {
    const FIN: u16 = 0x01;
    const SYN: u16 = 0x02;
    const PSH: u16 = 0x08;
    const ACK: u16 = 0x10;
    const ECE: u16 = 0x40;
    const CWR: u16 = 0x80;
    const AE: u16 = 0x100;

    /// Those of `segment`, where the receiver of its flow is `forward` links from the sender.
    pub fn of(segment: Segment, forward: Option<u8>) -> Header {
        let bits = segment.bits();
        let said =
            |pairs: &[(u8, u16)]| pairs.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, flag)| flag).sum::<u16>();
        let flags: u16 = match forward {
            None => 0,
            Some(links) if segment.hop() < usize::from(links) => match bits & SYN {
                0 => Self::ACK + said(&[(PSH, Self::PSH), (FIN, Self::FIN), (CWR, Self::CWR)]),
                _ => Self::SYN + said(&[(ECE, Self::ECE), (CWR, Self::CWR), (AE, Self::AE)]),
            },
            Some(_) if bits & REQUEST != 0 => 0,
            Some(_) => Self::ACK + said(&[(ECE, Self::ECE)]),
        };
        Header { ecn: bits & 3, flags }
    }
}

/// The first events of a queue, and a digest of all.
#[derive(Clone, Debug)]
pub struct QueueTrace {
    /// The first events.
    pub events: Vec<QueueEvent>,
    keep: usize,
    forward: Option<Forward>,
    /// Number of all events, kept or not.
    pub total: u64,
    digest: u64,
    /// Digests after every [`QueueTrace::STRIDE`] events.
    pub checkpoints: Vec<u64>,
}

impl QueueTrace {
    /// Events between two checkpoints.
    pub const STRIDE: u64 = 10_000;

    /// Keeps the first `keep` events; headers too if the lengths of the flows' paths are given.
    pub fn new(keep: usize, forward: Option<Forward>) -> Self {
        QueueTrace {
            events: Vec::new(),
            keep,
            forward,
            total: 0,
            digest: 0xcbf2_9ce4_8422_2325,
            checkpoints: Vec::new(),
        }
    }

    /// FNV-1a (64 bits) over the lines `time_us,kind,flow,seq,length`, each ended by a line feed.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Whether the events have headers.
    pub fn has_headers(&self) -> bool {
        self.forward.is_some()
    }

    pub(super) fn record(&mut self, time: f64, kind: char, segment: Segment, size: u32, length: u64) {
        let (flow, seq) = (segment.flow(), segment.seq());
        use std::io::Write;
        let mut line = [0_u8; 96];
        let mut rest = &mut line[..];
        // ns-2 prints times to the microsecond.
        let microseconds = (time * 1e6).round_ties_even() as u64;
        let written = writeln!(rest, "{microseconds},{kind},{},{seq},{length}", flow + 1);
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
            let header = self.forward.as_ref().map(|forward| Header::of(segment, forward[flow as usize]));
            self.events.push(QueueEvent { time, kind, flow: flow + 1, seq, size, length, header });
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
