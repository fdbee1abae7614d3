//! Traffic sources: what is sent and when, as state machines with injected random numbers.
//!
//! A [`Source`] sends packets without feedback. [`Transfers`] are the finite transfers of one TCP flow, [`Sessions`]
//! the requests of web sessions. None of them knows a network.

mod cbr;
mod distribution;
mod emission;
mod frames;
mod on_off;
mod poisson;
mod sessions;
mod transfers;

pub use cbr::Cbr;
pub(crate) use distribution::normal;
pub use distribution::Distribution;
pub use emission::{Emission, LARGEST_PAYLOAD};
pub use frames::Frames;
pub use on_off::OnOff;
pub use poisson::Poisson;
pub use sessions::{Object, SessionPattern, Sessions};
pub use transfers::{segments, Transfer, Transfers};

use earlydrop_aqm::random::Generator;
use emission::payloads;

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
