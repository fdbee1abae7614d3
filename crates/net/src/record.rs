//! What became of a packet at a queue: the common word of the simulator and of a real link, so that their decisions can be
//! compared packet by packet.

use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::{Ecn, Time};

/// What became of an arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// It waits still.
    Queued,
    /// The link began to send it.
    Departed {
        /// When.
        at: Time,
        /// Its ECN field then.
        ecn: Ecn,
    },
    /// The queue dropped it.
    Dropped {
        /// When.
        at: Time,
        /// Why.
        reason: Reason,
    },
}
