//! Traffic sources: what is sent and when, as state machines with injected random numbers.
//!
//! A [`Source`] sends packets without feedback. [`Transfers`] are the finite transfers of one TCP flow, [`Sessions`]
//! the requests of web sessions. None of them knows a network.

mod cbr;
mod distribution;
mod frames;
mod on_off;
mod poisson;
mod sessions;
mod transfers;

pub use cbr::Cbr;
pub use distribution::Distribution;
pub use frames::Frames;
pub use on_off::OnOff;
pub use poisson::Poisson;
pub use sessions::{Object, SessionPattern, Sessions};
pub use transfers::{segments, Transfer, Transfers};

use earlydrop_aqm::random::Generator;

/// One packet of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Emission {
    /// Time since the previous packet, or since the source's start for the first, in seconds.
    pub after: f64,
    /// Payload, in bytes.
    pub payload: u32,
}

/// A source of packets without feedback.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Constant bit rate.
    Cbr(Cbr),
    /// On-off: bursts and pauses.
    OnOff(OnOff),
    /// Poisson process.
    Poisson(Poisson),
    /// Video frames at a constant rate, each in several packets.
    Frames(Frames),
}

impl Source {
    /// The next packet; a source is endless.
    #[inline]
    pub fn next(&mut self, random: &mut Generator) -> Emission {
        match self {
            Source::Cbr(source) => source.next(random),
            Source::OnOff(source) => source.next(random),
            Source::Poisson(source) => source.next(random),
            Source::Frames(source) => source.next(random),
        }
    }

    /// Possible payloads, in bytes, if there are at most 16; else `None`.
    pub fn payloads(&self) -> Option<Vec<u32>> {
        match self {
            Source::Cbr(source) => payloads(&source.payload),
            Source::OnOff(source) => Some(vec![source.payload]),
            Source::Poisson(source) => payloads(&source.payload),
            Source::Frames(source) => source.payloads(),
        }
    }

    /// The time between two packets, in seconds, if it is constant (on-off: within a burst).
    pub fn interval(&self) -> Option<f64> {
        match self {
            Source::Cbr(source) => source.interval(),
            Source::OnOff(source) => Some(source.interval),
            Source::Poisson(_) => None,
            Source::Frames(source) => Some(source.interval),
        }
    }
}

/// Largest payload of a packet, in bytes, given IPv4's 16-bit length.
pub const LARGEST_PAYLOAD: u32 = 65_535;

/// A drawn size as a payload: a whole number of bytes, at least one.
fn as_payload(bytes: f64) -> u32 {
    (bytes + 0.5).clamp(1.0, f64::from(LARGEST_PAYLOAD)) as u32
}

fn payloads(of: &Distribution) -> Option<Vec<u32>> {
    of.values().map(|values| values.into_iter().map(as_payload).collect())
}
