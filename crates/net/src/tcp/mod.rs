//! TCP senders and receivers.
//!
//! What every congestion control shares (sequence numbers, the retransmission timer, the RTT estimate, the window's
//! bookkeeping, ECN) is [`core::Core`]; a congestion control is one file that reacts to ACKs and timeouts on it, with
//! state of its own if it needs any. A call gives it an [`Ack`] and the [`Output`] to fill; when segments really leave
//! is not its concern. That is the profile `ns2`: segments instead of bytes, coarse ticks, no handshake, event for
//! event as ns-2.35 behaves. The profile `rfc` is one more control on the same core, [`rfc::Connection`].

pub mod core;
mod newreno;
pub mod receiver;
mod reno;
pub mod rfc;
mod rtt;
mod sack;
mod scoreboard;
mod sink;
mod tahoe;
#[cfg(test)]
mod testing;
mod vegas;

pub use self::core::{Core, Output, Sent, Variable};
use crate::source::segments;
pub use receiver::{Answer, Blocks, Receiver, Reply, MOST_BLOCKS};
use sack::Sack;
use vegas::Vegas;

/// Segments from `start` up to, not including, `end`, as a SACK block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// First segment.
    pub start: i32,
    /// One behind the last.
    pub end: i32,
}

impl Block {
    /// How many segments it has.
    pub fn len(&self) -> i32 {
        self.end - self.start
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.end <= self.start
    }
}

/// An acknowledgement as its sender sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Highest segment received in order; -1 before the SYN.
    pub number: i32,
    /// Whether it echoes a mark (ECE).
    pub echo: bool,
    /// Its SACK blocks. A reference to them keeps the value in two registers.
    pub blocks: &'a Blocks,
}

impl Ack<'static> {
    /// A cumulative ACK without more.
    pub fn plain(number: i32) -> Self {
        Ack { number, echo: false, blocks: &Blocks::NONE }
    }
}

/// Which congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// TCP Tahoe as ns-2.35's `Agent/TCP`.
    Tahoe,
    /// TCP Reno as ns-2.35's `Agent/TCP/Reno`.
    Reno,
    /// TCP NewReno as ns-2.35's `Agent/TCP/Newreno`.
    NewReno,
    /// TCP with selective acknowledgements as ns-2.35's `Agent/TCP/Sack1`.
    Sack,
    /// TCP Vegas as ns-2.35's `Agent/TCP/Vegas`.
    Vegas,
    /// CUBIC (RFC 9438); profile `rfc`, like all that follow.
    Cubic,
    /// DCTCP (RFC 8257).
    Dctcp,
    /// BBR, version 1.
    Bbr,
    /// LEDBAT (RFC 6817).
    Ledbat,
    /// A scalable control for L4S, like TCP Prague.
    Prague,
}

impl Flavour {
    /// All there are.
    pub const ALL: [Flavour; 10] = [
        Flavour::Tahoe,
        Flavour::Reno,
        Flavour::NewReno,
        Flavour::Sack,
        Flavour::Vegas,
        Flavour::Cubic,
        Flavour::Dctcp,
        Flavour::Bbr,
        Flavour::Ledbat,
        Flavour::Prague,
    ];

    /// Those that ns-2 has.
    pub const NS2: [Flavour; 5] = [Flavour::Tahoe, Flavour::Reno, Flavour::NewReno, Flavour::Sack, Flavour::Vegas];

    /// The flavour called `name`.
    pub fn find(name: &str) -> Option<Flavour> {
        Self::ALL.into_iter().find(|flavour| flavour.name() == name)
    }

    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Flavour::Tahoe => "tahoe",
            Flavour::Reno => "reno",
            Flavour::NewReno => "newreno",
            Flavour::Sack => "sack",
            Flavour::Vegas => "vegas",
            Flavour::Cubic => "cubic",
            Flavour::Dctcp => "dctcp",
            Flavour::Bbr => "bbr",
            Flavour::Ledbat => "ledbat",
            Flavour::Prague => "prague",
        }
    }

    /// Whether its receiver reports blocks.
    pub fn uses_sack(self) -> bool {
        self == Flavour::Sack
    }

    /// Whether it answers ECN marks. ns-2's Vegas sends segments without ECN.
    pub fn knows_ecn(self) -> bool {
        self != Flavour::Vegas
    }

    /// Whether its first segment is a SYN without payload. ns-2's Vegas sends a segment like all others.
    pub fn has_bare_syn(self) -> bool {
        self != Flavour::Vegas
    }
}

/// A congestion control with its own state.
#[derive(Clone, Debug)]
enum Control {
    Tahoe,
    Reno,
    NewReno { first_partial: bool },
    Sack(Box<Sack>),
    Vegas(Box<Vegas>),
    Rfc(Box<rfc::Connection>),
}

impl Control {
    fn on_ack(&mut self, core: &mut Core, now: f64, ack: Ack, out: &mut Output) {
        match self {
            Control::Tahoe => tahoe::on_ack(core, now, ack, out),
            Control::Reno => reno::on_ack(core, now, ack, out),
            Control::NewReno { first_partial } => newreno::on_ack(core, first_partial, now, ack, out),
            Control::Sack(sack) => sack.on_ack(core, now, ack, out),
            Control::Vegas(vegas) => vegas.on_ack(core, now, ack, out),
            // ACKs of this profile say more.
            Control::Rfc(_) => {}
        }
    }
}

/// A sender. Each call answers with segments to send and perhaps a new timer deadline, in an [`Output`].
#[derive(Clone, Debug)]
pub struct Sender {
    /// State common to all congestion controls.
    pub core: Core,
    control: Control,
}

impl Sender {
    /// A sender that has sent nothing and whose application never ends. `window` is the receiver's, in segments (at
    /// least 1), and the initial ssthresh; `clock_phase` shifts its 10 ms RTT clock (ns-2's `boot_time_`), in seconds.
    ///
    /// # Panics
    /// If ns-2 does not have it ([`Flavour::NS2`]).
    pub fn new(flavour: Flavour, window: i32, clock_phase: f64) -> Self {
        assert!(Flavour::NS2.contains(&flavour), "{} is of the profile rfc", flavour.name());
        let control = match flavour {
            Flavour::Tahoe => Control::Tahoe,
            Flavour::Reno => Control::Reno,
            Flavour::NewReno => Control::NewReno { first_partial: false },
            Flavour::Sack => Control::Sack(Box::new(Sack::new())),
            _ => Control::Vegas(Box::new(Vegas::new())),
        };
        Sender { core: Core::new(window, clock_phase), control }
    }

    /// A sender of the `rfc` profile; its sequence numbers on the wire begin with `first`. [`finite`](Self::finite) changes
    /// nothing: it is closed until something is offered.
    pub fn rfc(settings: rfc::Settings, first: u32) -> Self {
        let window = (settings.window / u64::from(settings.mss.max(1))).min(i32::MAX as u64) as i32;
        let connection = rfc::Connection::new(settings, first);
        Sender { core: Core::new(window, 0.0), control: Control::Rfc(Box::new(connection)) }
    }

    /// The connection, in the `rfc` profile.
    #[inline(always)]
    pub fn connection(&self) -> Option<&rfc::Connection> {
        match &self.control {
            Control::Rfc(connection) => Some(connection),
            _ => None,
        }
    }

    /// Whether it is of the `rfc` profile.
    #[inline(always)]
    pub fn is_rfc(&self) -> bool {
        matches!(self.control, Control::Rfc(_))
    }

    /// An ACK arrives, in the `rfc` profile.
    pub fn on_feedback(&mut self, now: f64, feedback: &rfc::Feedback, out: &mut Output) {
        if let Control::Rfc(connection) = &mut self.control {
            connection.on_feedback(&mut self.core, now, feedback, out);
        }
    }

    /// The same with an application that has given nothing yet ([`offer`](Self::offer)).
    pub fn finite(mut self) -> Self {
        self.core.limit = -1;
        self
    }

    /// Whether its first segment is a SYN without payload.
    fn has_bare_syn(&self) -> bool {
        !matches!(self.control, Control::Vegas(_))
    }

    /// The application has data: send what the window allows (at first the SYN).
    #[inline]
    pub fn start(&mut self, now: f64, out: &mut Output) {
        let core = &mut self.core;
        match &mut self.control {
            Control::Sack(sack) => sack.send_much(core, now, out),
            Control::Vegas(vegas) => vegas.send_much(core, now, out),
            Control::Rfc(connection) => connection.offer(core, now, None, false, out),
            _ => core.send_much(now, 0, out),
        }
    }

    /// The application gives `segments` more, and the sender sends what the window allows.
    ///
    /// The SYN comes on top of the first ones, where it carries nothing ([`Flavour::has_bare_syn`]).
    pub fn offer(&mut self, now: f64, segments: u32, out: &mut Output) {
        if segments > 0 {
            let first = self.core.limit < 0 && self.has_bare_syn();
            let given = self.core.limit + i32::from(first);
            self.core.extend(given, segments);
        }
        self.start(now, out);
    }

    /// The application gives `bytes` more, which are sent in segments with `payload` bytes. Nothing still opens a connection
    /// that is not open. `last`: it will not give any more. The number of the first byte or segment with them.
    pub fn offer_bytes(&mut self, now: f64, bytes: u64, payload: u32, last: bool, out: &mut Output) -> i64 {
        if let Control::Rfc(connection) = &mut self.control {
            let first = connection.limit() as i64;
            connection.offer(&mut self.core, now, Some(bytes), last, out);
            return first;
        }
        let wanted = segments(bytes, payload) as u32;
        let opens = self.core.limit < 0 && self.has_bare_syn();
        let first = self.core.limit + 1 + i32::from(opens);
        if opens && wanted == 0 {
            // Nothing to send: the connection opens, and that is all.
            self.core.limit = 0;
            self.start(now, out);
        } else {
            self.offer(now, wanted.max(1), out);
        }
        i64::from(first)
    }

    /// The application gives nothing more: what has not been sent is never sent.
    pub fn end(&mut self) {
        match &mut self.control {
            Control::Rfc(connection) => connection.end(),
            _ => self.core.limit = self.core.limit.min(self.core.max_sent.max(0)),
        }
    }

    /// The highest number of a segment (profile `ns2`) or byte (`rfc`) sent; -1 before the SYN, which is 0.
    pub fn highest_sent(&self) -> i64 {
        match &self.control {
            Control::Rfc(connection) => connection.next() as i64 - 1,
            _ => i64::from(self.core.max_sent),
        }
    }

    /// Whether all that the application has given is acknowledged. Also if it has given nothing.
    pub fn finished(&self) -> bool {
        match &self.control {
            Control::Rfc(connection) => connection.finished(),
            _ => self.core.ack >= self.core.limit,
        }
    }

    /// An ACK arrives.
    #[inline]
    pub fn on_ack(&mut self, now: f64, ack: Ack, out: &mut Output) {
        let core = &mut self.core;
        match &mut self.control {
            Control::Reno => reno::on_ack(core, now, ack, out),
            other => other.on_ack(core, now, ack, out),
        }
    }

    /// The retransmission timer expires.
    pub fn on_timeout(&mut self, now: f64, out: &mut Output) {
        let core = &mut self.core;
        match &mut self.control {
            Control::Tahoe => tahoe::on_timeout(core, now, out),
            Control::Reno | Control::NewReno { .. } => reno::on_timeout(core, now, out),
            Control::Sack(sack) => sack.on_timeout(core, now, out),
            Control::Vegas(vegas) => vegas.on_timeout(core, now, out),
            Control::Rfc(connection) => connection.on_wake(core, now, out),
        }
    }
}
