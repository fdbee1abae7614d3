//! TCP senders and receivers.
//!
//! There are two implementations. [`ns2`] reproduces ns-2.35 event by event: segments instead of bytes, coarse ticks,
//! no handshake. [`rfc`] is modern TCP: bytes, a handshake, SACK, RACK-TLP, pacing. [`Sender`] and [`Receiver`] hold
//! either. A call tells a sender what has happened and fills an [`Output`]; transmission and timers are the caller's.

mod flavour;
pub mod ns2;
mod options;
mod output;
pub mod rfc;
pub mod sizes;
pub mod stacks;

pub use flavour::Flavour;
pub use options::TcpOptions;
pub use output::{Output, Sent, Timer, Variable};

/// A sender.
#[derive(Clone, Debug)]
pub enum Sender {
    /// A sender as in ns-2.
    Ns2(ns2::Sender),
    /// A sender as in the RFCs.
    Rfc(Box<rfc::Connection>),
}

impl Sender {
    /// The application has unlimited data: sends what the window allows, at first the SYN.
    #[inline]
    pub fn start(&mut self, now: f64, out: &mut Output) {
        match self {
            Sender::Ns2(sender) => sender.start(now, out),
            Sender::Rfc(connection) => connection.offer(now, None, false, out),
        }
    }

    /// The application writes `bytes`, which are sent in segments with `payload` bytes; 0 bytes open a connection that
    /// is not open. `last`: these are the last. Returns the number of the first byte or segment of the data.
    pub fn offer_bytes(&mut self, now: f64, bytes: u64, payload: u32, last: bool, out: &mut Output) -> i64 {
        match self {
            Sender::Ns2(sender) => sender.offer_bytes(now, bytes, payload, out),
            Sender::Rfc(connection) => {
                let first = connection.limit() as i64;
                connection.offer(now, Some(bytes), last, out);
                first
            }
        }
    }

    /// The application writes no more: data not sent yet are never sent.
    pub fn end(&mut self) {
        match self {
            Sender::Ns2(sender) => sender.end(),
            Sender::Rfc(connection) => connection.end(),
        }
    }

    /// The sender's timer expires.
    pub fn on_timeout(&mut self, now: f64, out: &mut Output) {
        match self {
            Sender::Ns2(sender) => sender.on_timeout(now, out),
            Sender::Rfc(connection) => connection.on_wake(now, out),
        }
    }

    /// Congestion window, segments.
    pub fn cwnd(&self) -> f64 {
        match self {
            Sender::Ns2(sender) => sender.core.cwnd,
            Sender::Rfc(connection) => connection.cwnd(),
        }
    }

    /// Calls `out` with the name and value of each inner value of its congestion control: rates in segments/s, windows in
    /// segments.
    pub fn inner(&self, out: &mut dyn FnMut(&'static str, f64)) {
        match self {
            Sender::Ns2(_) => {}
            Sender::Rfc(connection) => connection.inner(out),
        }
    }

    /// Slow start threshold, segments; infinite where there is none yet.
    pub fn ssthresh(&self) -> f64 {
        match self {
            Sender::Ns2(sender) => f64::from(sender.core.ssthresh),
            Sender::Rfc(connection) => connection.ssthresh(),
        }
    }

    /// Smoothed round-trip time, s, once there is a sample.
    pub fn srtt(&self) -> Option<f64> {
        match self {
            Sender::Ns2(sender) => sender.core.smoothed_rtt(),
            Sender::Rfc(connection) => connection.srtt(),
        }
    }

    /// Rate at which segments leave, segments/s, where sending is paced and there is a sample of the round-trip time.
    pub fn pacing_rate(&self) -> Option<f64> {
        match self {
            Sender::Ns2(_) => None,
            Sender::Rfc(connection) => connection.paced_rate(),
        }
    }

    /// Whether the connection is open: the SYN has been acknowledged.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        match self {
            Sender::Ns2(sender) => sender.core.ack >= 0,
            Sender::Rfc(connection) => connection.is_open(),
        }
    }

    /// The highest segment or byte sent; -1 before the SYN, which is number 0.
    pub fn highest_sent(&self) -> i64 {
        match self {
            Sender::Ns2(sender) => i64::from(sender.core.max_sent),
            Sender::Rfc(connection) => connection.next() as i64 - 1,
        }
    }

    /// Whether all data written are acknowledged; true also if none were written.
    pub fn finished(&self) -> bool {
        match self {
            Sender::Ns2(sender) => sender.finished(),
            Sender::Rfc(connection) => connection.finished(),
        }
    }

    /// Number of retransmitted segments.
    pub fn retransmits(&self) -> u32 {
        match self {
            Sender::Ns2(sender) => sender.core.retransmits,
            Sender::Rfc(connection) => connection.retransmits(),
        }
    }

    /// Number of timeouts with segments in flight.
    pub fn timeouts(&self) -> u32 {
        match self {
            Sender::Ns2(sender) => sender.core.timeouts,
            Sender::Rfc(connection) => connection.timeouts(),
        }
    }

    /// Phase of the RTT clock, s; 0 if the clock is exact.
    pub fn clock_phase(&self) -> f64 {
        match self {
            Sender::Ns2(sender) => sender.core.clock_phase(),
            Sender::Rfc(_) => 0.0,
        }
    }

    /// Whether changes of variables are added to [`Output::changes`].
    pub fn is_traced(&self) -> bool {
        match self {
            Sender::Ns2(sender) => sender.core.traced,
            Sender::Rfc(connection) => connection.is_traced(),
        }
    }

    /// Switches the tracing of variables on or off.
    pub fn trace(&mut self, traced: bool) {
        match self {
            Sender::Ns2(sender) => sender.core.traced = traced,
            Sender::Rfc(connection) => connection.trace(traced),
        }
    }
}

/// A receiver.
#[derive(Clone, Debug)]
pub enum Receiver {
    /// A receiver as in ns-2.
    Ns2(ns2::Receiver),
    /// A receiver as in the RFCs.
    Rfc(Box<rfc::Receiver>),
}

impl Receiver {
    /// From now on each segment passes [`ns2::Receiver::take`], so that observers see it.
    pub fn watch(&mut self) {
        if let Receiver::Ns2(receiver) = self {
            receiver.watch();
        }
    }
}
