//! Real-time media with feedback: an encoder, a paced sender, a receiver that reports arrivals, and the controls that
//! set the encoder's rate.
//!
//! ## What it does
//! The [`Encoder`] captures a frame at even intervals; its size follows the target rate. The [`Sender`] splits it into
//! packets, queues and paces them. The [`Receiver`] reports the arrival time and the ECN field of each packet (RFC
//! 8888), and the control, [`Scream`] or [`Gcc`], sets the next target rate. None of them knows a network or a clock.
//!
//! ## Source
//! SCReAMv2: draft-ietf-ccwg-rfc8298bis-screamv2-01. GCC: draft-ietf-rmcat-gcc-02. Feedback: RFC 8888.
//!
//! ## Differences
//! 1. No retransmission, no forward error correction and no dependence between frames: a frame with a lost packet is
//!    lost, and the next frame can be shown.
//! 2. There is one stream, and no rate that several streams share (priorities).
//! 3. Sequence numbers have 32 bits and do not wrap; both hosts have the same clock.
//! 4. The differences of a control are in its file.

mod encoder;
mod gcc;
mod receiver;
mod scream;
mod sender;
mod settings;

pub use encoder::{Encoder, Encoding};
pub use gcc::Gcc;
pub use receiver::{Feedback, Receiver};
pub use scream::Scream;
pub use sender::{Packet, Sender};
use settings::News;
pub use settings::{Algorithm, Ecn, Settings};

/// The control of a sender.
#[derive(Clone, Debug)]
enum Control {
    Scream(Box<Scream>),
    Gcc(Box<Gcc>),
}

impl Control {
    fn new(settings: &Settings) -> Self {
        match settings.algorithm {
            Algorithm::Scream => Control::Scream(Box::new(Scream::new(settings))),
            Algorithm::Gcc => Control::Gcc(Box::new(Gcc::new(settings))),
        }
    }

    /// Target rate of the encoder, headers included, bit/s.
    fn target(&self) -> f64 {
        match self {
            Control::Scream(scream) => scream.target(),
            Control::Gcc(gcc) => gcc.target(),
        }
    }

    /// Rate at which queued packets leave, bit/s.
    fn pacing_rate(&self) -> f64 {
        match self {
            Control::Scream(scream) => scream.pacing_rate(),
            Control::Gcc(gcc) => gcc.pacing_rate(),
        }
    }

    /// Time for each of which the packets leave in one group, s; 0: one by one.
    fn burst(&self) -> f64 {
        match self {
            Control::Scream(_) => 0.0,
            Control::Gcc(_) => gcc::BURST_TIME,
        }
    }

    /// Bytes that may be in flight.
    fn window(&self) -> f64 {
        match self {
            Control::Scream(scream) => scream.window(),
            Control::Gcc(_) => f64::INFINITY,
        }
    }

    /// A frame of `bytes`, headers included, is queued; the oldest packet before it has waited `waited` s.
    fn on_frame(&mut self, bytes: f64, waited: f64) {
        if let Control::Scream(scream) = self {
            scream.on_frame(bytes, waited);
        }
    }

    fn on_sent(&mut self, in_flight: u64) {
        if let Control::Scream(scream) = self {
            scream.on_sent(in_flight);
        }
    }

    fn on_feedback(&mut self, news: &News<'_>) {
        match self {
            Control::Scream(scream) => scream.on_feedback(news),
            Control::Gcc(gcc) => gcc.on_feedback(news),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::settings::Acked;
    use super::*;

    /// Rates from 0.1 to 10 Mbit/s, 1 Mbit/s at first, 25 frames a second, packets of 1200 B.
    pub fn settings(algorithm: Algorithm) -> Settings {
        let encoding = Encoding { interval: 0.04, lag: 0.0, variation: 0.0, group: 0, key_factor: 1.0 };
        let (min_rate, max_rate, start_rate) = (1e5, 1e7, 1e6);
        Settings { algorithm, ecn: Ecn::L4s, min_rate, max_rate, start_rate, encoding, segment: 1160, header: 40 }
    }

    pub fn acked(sent: f64, arrived: f64, ce: bool) -> Acked {
        Acked { size: 1200, sent, arrived, ce }
    }
}
