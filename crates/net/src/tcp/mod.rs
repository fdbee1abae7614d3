//! TCP senders and receivers.
//!
//! There are two, side by side. [`ns2`] is event for event as ns-2.35: segments instead of bytes, coarse ticks, no
//! handshake. [`rfc`] is today's TCP: bytes, a handshake, SACK, RACK-TLP, pacing. A [`Sender`] and a [`Receiver`] are of
//! the one or the other. A call gives a sender what has happened and the [`Output`] to fill; when segments really leave
//! is not its concern.

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
    /// As in ns-2.
    Ns2(ns2::Sender),
    /// As in the RFCs.
    Rfc(Box<rfc::Connection>),
}

impl Sender {
    /// The application has data without end: sends what the window allows, at first the SYN.
    #[inline]
    pub fn start(&mut self, now: f64, out: &mut Output) {
        match self {
            Sender::Ns2(sender) => sender.start(now, out),
            Sender::Rfc(connection) => connection.offer(now, None, false, out),
        }
    }

    /// The application gives `bytes` more, which are sent in segments with `payload` bytes. Nothing still opens a connection
    /// that is not open. `last`: it will not give any more. The number of the first byte or segment with them.
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

    /// The application gives nothing more: what has not been sent is never sent.
    pub fn end(&mut self) {
        match self {
            Sender::Ns2(sender) => sender.end(),
            Sender::Rfc(connection) => connection.end(),
        }
    }

    /// The timer expires.
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

    /// Whether the SYN has been acknowledged.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        match self {
            Sender::Ns2(sender) => sender.core.ack >= 0,
            Sender::Rfc(connection) => connection.is_open(),
        }
    }

    /// The highest number of a segment or byte sent; -1 before the SYN, which is 0.
    pub fn highest_sent(&self) -> i64 {
        match self {
            Sender::Ns2(sender) => i64::from(sender.core.max_sent),
            Sender::Rfc(connection) => connection.next() as i64 - 1,
        }
    }

    /// Whether all that the application has given is acknowledged. Also if it has given nothing.
    pub fn finished(&self) -> bool {
        match self {
            Sender::Ns2(sender) => sender.finished(),
            Sender::Rfc(connection) => connection.finished(),
        }
    }

    /// Segments sent again.
    pub fn retransmits(&self) -> u32 {
        match self {
            Sender::Ns2(sender) => sender.core.retransmits,
            Sender::Rfc(connection) => connection.retransmits(),
        }
    }

    /// Timeouts with segments outstanding.
    pub fn timeouts(&self) -> u32 {
        match self {
            Sender::Ns2(sender) => sender.core.timeouts,
            Sender::Rfc(connection) => connection.timeouts(),
        }
    }

    /// Phase of the clock, s; 0 where it is exact.
    pub fn clock_phase(&self) -> f64 {
        match self {
            Sender::Ns2(sender) => sender.core.clock_phase(),
            Sender::Rfc(_) => 0.0,
        }
    }

    /// Whether changes of variables go to [`Output::changes`].
    pub fn is_traced(&self) -> bool {
        match self {
            Sender::Ns2(sender) => sender.core.traced,
            Sender::Rfc(connection) => connection.is_traced(),
        }
    }

    /// From now on they do, or do not.
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
    /// As in ns-2.
    Ns2(ns2::Receiver),
    /// As in the RFCs.
    Rfc(Box<rfc::Receiver>),
}

impl Receiver {
    /// From now on each segment goes through [`ns2::Receiver::take`]: somebody wants to see what it takes in.
    pub fn watch(&mut self) {
        if let Receiver::Ns2(receiver) = self {
            receiver.watch();
        }
    }
}
