//! TCP as in ns-2.35: segments instead of bytes, coarse ticks, no handshake.
//!
//! What the congestion controls have in common (sequence numbers, retransmission timer, RTT estimate, window, ECN) is
//! in [`core::Core`]. A congestion control is one file that reacts to ACKs and timeouts by calls to `Core`, with its
//! own state if needed. A call takes an [`Ack`] and fills an [`Output`].

mod ack;
pub mod core;
mod newreno;
mod receiver;
mod reno;
mod rtt;
mod sack;
mod scoreboard;
mod sink;
mod tahoe;
#[cfg(test)]
mod testing;
mod vegas;

use super::flavour::Flavour;
use super::output::Output;
use crate::source::segments;
pub use ack::{Ack, Answer, Block, Blocks, Reply, MOST_BLOCKS};
pub use core::Core;
pub use receiver::Receiver;
use sack::Sack;
use vegas::Vegas;

/// A congestion control with its own state.
#[derive(Clone, Debug)]
enum Control {
    Tahoe,
    Reno,
    NewReno { first_partial: bool },
    Sack(Box<Sack>),
    Vegas(Box<Vegas>),
}

impl Control {
    fn on_ack(&mut self, core: &mut Core, now: f64, ack: Ack, out: &mut Output) {
        match self {
            Control::Tahoe => tahoe::on_ack(core, now, ack, out),
            Control::Reno => reno::on_ack(core, now, ack, out),
            Control::NewReno { first_partial } => newreno::on_ack(core, first_partial, now, ack, out),
            Control::Sack(sack) => sack.on_ack(core, now, ack, out),
            Control::Vegas(vegas) => vegas.on_ack(core, now, ack, out),
        }
    }
}

/// A sender. Each call fills an [`Output`] with segments to send and perhaps a new timer.
#[derive(Clone, Debug)]
pub struct Sender {
    /// State common to all congestion controls.
    pub core: Core,
    control: Control,
}

impl Sender {
    /// A sender that has sent nothing, with unlimited data. `window` is the receiver's window, in segments (at least
    /// 1), and the initial ssthresh; `clock_phase` shifts the 10 ms RTT clock (ns-2's `boot_time_`), in seconds.
    ///
    /// # Panics
    /// If ns-2 does not have this congestion control ([`Flavour::NS2`]).
    pub fn new(flavour: Flavour, window: i32, clock_phase: f64) -> Self {
        assert!(Flavour::NS2.contains(&flavour), "ns-2 has no {}", flavour.name());
        let control = match flavour {
            Flavour::Tahoe => Control::Tahoe,
            Flavour::Reno => Control::Reno,
            Flavour::NewReno => Control::NewReno { first_partial: false },
            Flavour::Sack => Control::Sack(Box::new(Sack::new())),
            _ => Control::Vegas(Box::new(Vegas::new())),
        };
        Sender { core: Core::new(window, clock_phase), control }
    }

    /// Makes the sender wait: the application has written nothing yet, and data come by [`offer`](Self::offer).
    pub fn wait_for_data(&mut self) {
        self.core.limit = -1;
    }

    /// Whether the first segment is a SYN without payload.
    fn has_bare_syn(&self) -> bool {
        !matches!(self.control, Control::Vegas(_))
    }

    /// The application has data: sends what the window allows (at first the SYN).
    #[inline]
    pub fn start(&mut self, now: f64, out: &mut Output) {
        let core = &mut self.core;
        match &mut self.control {
            Control::Sack(sack) => sack.send_much(core, now, out),
            Control::Vegas(vegas) => vegas.send_much(core, now, out),
            _ => core.send_much(now, 0, out),
        }
    }

    /// The application writes `segments` more, and the sender sends what the window allows.
    ///
    /// A bare SYN ([`Flavour::has_bare_syn`]) counts as one more segment the first time.
    pub fn offer(&mut self, now: f64, segments: u32, out: &mut Output) {
        if segments > 0 {
            let first = self.core.limit < 0 && self.has_bare_syn();
            let given = self.core.limit + i32::from(first);
            self.core.extend(given, segments);
        }
        self.start(now, out);
    }

    /// The application writes `bytes`, which are sent in segments with `payload` bytes; 0 bytes open a connection that
    /// is not open. Returns the number of the first segment of the data.
    pub fn offer_bytes(&mut self, now: f64, bytes: u64, payload: u32, out: &mut Output) -> i64 {
        let wanted = segments(bytes, payload) as u32;
        let opens = self.core.limit < 0 && self.has_bare_syn();
        let first = self.core.limit + 1 + i32::from(opens);
        if opens && wanted == 0 {
            // No data: the connection only opens.
            self.core.limit = 0;
            self.start(now, out);
        } else {
            self.offer(now, wanted.max(1), out);
        }
        i64::from(first)
    }

    /// The application writes no more: data not sent yet are never sent.
    pub fn end(&mut self) {
        self.core.limit = self.core.limit.min(self.core.max_sent.max(0));
    }

    /// Whether all data written are acknowledged; true also if none were written.
    pub fn finished(&self) -> bool {
        self.core.ack >= self.core.limit
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
        }
    }
}
