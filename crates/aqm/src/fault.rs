//! What a policy does that cannot go on.

use std::fmt;

/// A policy written by a user is broken: its code raised an error, or gave an answer that means nothing. The run that it
/// is part of has no result.
///
/// A verdict cannot say so, and the policies of the catalogue never need to. So it unwinds, without a message of its
/// own, to whoever started the run, who makes an error of it (`std::panic::catch_unwind`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(pub String);

impl Fault {
    /// Ends the run.
    pub fn raise(message: impl Into<String>) -> ! {
        std::panic::resume_unwind(Box::new(Fault(message.into())))
    }

    /// The fault that `payload` of a caught panic is, if it is one.
    pub fn of(payload: &(dyn std::any::Any + Send)) -> Option<&Fault> {
        payload.downcast_ref()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}
