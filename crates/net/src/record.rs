//! Arrivals at a queue and their fates, in a form common to the simulator and to real links, so that their decisions can
//! be compared packet by packet.

use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::{Ecn, Header, Packet, Time};

/// Arrivals in order of time.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    /// Arrival time, and the packet as the queue saw it.
    pub packets: Vec<(Time, Packet)>,
    /// The header of each packet if the queue reads headers; else empty.
    pub headers: Vec<Header>,
}

impl Arrivals {
    /// The header of an arrival, as the queue saw it.
    ///
    /// # Panics
    /// If there is no arrival with this number, counted from 0.
    pub fn header(&self, number: usize) -> Header {
        self.headers.get(number).copied().unwrap_or_else(|| Header::of(&self.packets[number].1))
    }
}

impl Fate {
    /// Adds to a departure what the link does with the packet.
    pub fn sent(&mut self, to: Option<Time>) {
        if let Fate::Departed { arrival, .. } = self {
            *arrival = to;
        }
    }
}

/// Fate of an arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// It is still in the queue.
    Queued,
    /// Its transmission has started.
    Departed {
        /// When the transmission started.
        at: Time,
        /// The packet's ECN field at that time.
        ecn: Ecn,
        /// When it reaches the other end of the link; `None` if it is lost there.
        arrival: Option<Time>,
    },
    /// The queue dropped it.
    Dropped {
        /// When it was dropped.
        at: Time,
        /// Why it was dropped.
        reason: Reason,
    },
}
