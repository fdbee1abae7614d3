//! Traffic sources: what is sent and when, as state machines with injected randomness.
//!
//! A [`Source`] sends packets that nobody answers. [`Transfers`] gives a TCP connection one finite amount of data after
//! the other, [`Sessions`] tells when people click. None of them knows a network.

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
pub use sessions::{Habits, Object, Sessions};
pub use transfers::{segments, Transfer, Transfers};

use earlydrop_aqm::random::Generator;

/// One packet of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Emission {
    /// Time since the packet before, or since the source's start for the first, in seconds.
    pub after: f64,
    /// Payload, in bytes.
    pub payload: u32,
}

/// A source of packets without feedback.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// At a constant bit rate.
    Cbr(Cbr),
    /// Bursts and pauses.
    OnOff(OnOff),
    /// At times without memory.
    Poisson(Poisson),
    /// Frames at even intervals, in several packets each.
    Frames(Frames),
}

impl Source {
    /// The next packet; a source never ends by itself.
    #[inline]
    pub fn next(&mut self, random: &mut Generator) -> Emission {
        match self {
            Source::Cbr(source) => source.next(random),
            Source::OnOff(source) => source.next(random),
            Source::Poisson(source) => source.next(random),
            Source::Frames(source) => source.next(random),
        }
    }

    /// Payloads that occur, in bytes, if they are few; `None` if they are not.
    pub fn payloads(&self) -> Option<Vec<u32>> {
        match self {
            Source::Cbr(source) => payloads(&source.payload),
            Source::OnOff(source) => Some(vec![source.payload]),
            Source::Poisson(source) => payloads(&source.payload),
            Source::Frames(source) => source.payloads(),
        }
    }

    /// The time between two packets that recurs, in seconds, if one does.
    pub fn interval(&self) -> Option<f64> {
        match self {
            Source::Cbr(source) => source.interval(),
            Source::OnOff(source) => Some(source.interval),
            Source::Poisson(_) => None,
            Source::Frames(source) => Some(source.interval),
        }
    }
}

/// Largest payload of a packet, in bytes: what IPv4's 16 bits of length allow.
pub const LARGEST_PAYLOAD: u32 = 65_535;

/// A drawn size as the payload of a packet: a whole number of bytes, at least one.
fn as_payload(bytes: f64) -> u32 {
    (bytes + 0.5).clamp(1.0, f64::from(LARGEST_PAYLOAD)) as u32
}

fn payloads(of: &Distribution) -> Option<Vec<u32>> {
    of.values().map(|values| values.into_iter().map(as_payload).collect())
}
