//! Event traces of a queue, in ns-2's terms, with a digest over the whole run.

use earlydrop_net::tcp::Variable;

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
}

/// The first events of a queue, and a digest of all.
#[derive(Clone, Debug)]
pub struct QueueTrace {
    /// The first events.
    pub events: Vec<QueueEvent>,
    keep: usize,
    /// Number of all events, kept or not.
    pub total: u64,
    digest: u64,
    /// Digests after every [`QueueTrace::STRIDE`] events.
    pub checkpoints: Vec<u64>,
}

impl QueueTrace {
    /// Events between two checkpoints.
    pub const STRIDE: u64 = 10_000;

    /// Keeps the first `keep` events.
    pub fn new(keep: usize) -> Self {
        QueueTrace { events: Vec::new(), keep, total: 0, digest: 0xcbf2_9ce4_8422_2325, checkpoints: Vec::new() }
    }

    /// FNV-1a (64 bits) over the lines `time_us,kind,flow,seq,length`, each ended by a line feed.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    pub(super) fn record(&mut self, time: f64, kind: char, flow: u32, seq: i32, size: u32, length: u64) {
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
            self.events.push(QueueEvent { time, kind, flow: flow + 1, seq, size, length });
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
