//! The fate of a packet at a queue, in a form common to the simulator and to real links, so that their decisions can be
//! compared packet by packet.

use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::{Ecn, Time};

/// Fate of an arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// Still in the queue.
    Queued,
    /// Its transmission has started.
    Departed {
        /// Time.
        at: Time,
        /// Its ECN field at that time.
        ecn: Ecn,
    },
    /// Dropped by the queue.
    Dropped {
        /// Time.
        at: Time,
        /// Reason.
        reason: Reason,
    },
}
