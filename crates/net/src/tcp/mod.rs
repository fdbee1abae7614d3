//! TCP senders and receivers.
//!
//! What every congestion control shares (sequence numbers, the retransmission timer, the RTT estimate, the window's
//! bookkeeping) is [`core::Core`]; a congestion control is one file that reacts to ACKs and timeouts on it. The
//! profile here is `ns2`: segments instead of bytes, coarse ticks, no handshake, event for event as ns-2.35 behaves.

pub mod core;
pub mod receiver;
mod reno;

pub use self::core::{Core, Output, Variable};
pub use receiver::Receiver;

/// Which congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// TCP Reno as ns-2.35's `Agent/TCP/Reno`.
    Reno,
}

impl Flavour {
    /// Every flavour with its name in scenarios.
    pub const ALL: [(&'static str, Flavour); 1] = [("reno", Flavour::Reno)];

    /// The flavour called `name`.
    pub fn find(name: &str) -> Option<Flavour> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, flavour)| flavour)
    }

    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|&&(_, flavour)| flavour == self).map_or("", |&(name, _)| name)
    }
}

/// A bulk sender. Each call answers with segments to send and perhaps a new timer deadline, in an [`Output`].
#[derive(Clone, Debug)]
pub struct Sender {
    /// State common to all congestion controls.
    pub core: Core,
    flavour: Flavour,
}

impl Sender {
    /// A sender that has sent nothing. `window` is the receiver's, in segments, and the initial ssthresh;
    /// `clock_phase` shifts its 10 ms RTT clock (ns-2's `boot_time_`), in seconds.
    pub fn new(flavour: Flavour, window: i32, clock_phase: f64) -> Self {
        Sender { core: Core::new(window, clock_phase), flavour }
    }

    /// The application has data: send what the window allows (at first the SYN).
    #[inline]
    pub fn start(&mut self, now: f64, out: &mut Output) {
        self.core.send_much(now, self.core.usable_window(), out);
    }

    /// A cumulative ACK of `ack` arrives.
    #[inline]
    pub fn on_ack(&mut self, now: f64, ack: i32, out: &mut Output) {
        match self.flavour {
            Flavour::Reno => reno::on_ack(&mut self.core, now, ack, out),
        }
    }

    /// The retransmission timer expires.
    pub fn on_timeout(&mut self, now: f64, out: &mut Output) {
        match self.flavour {
            Flavour::Reno => reno::on_timeout(&mut self.core, now, out),
        }
    }
}
