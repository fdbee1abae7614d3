//! How a policy ends a run that cannot go on.

use std::fmt;

/// A policy written by a user is broken: its code raised an error, or gave an answer that means nothing. Its run has no
/// result.
///
/// A verdict cannot say so, and the catalogue's policies never need to. So the fault unwinds, without a message, to
/// whoever started the run, who makes an error of it (`std::panic::catch_unwind`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(pub String);

impl Fault {
    /// Ends the run.
    pub fn raise(message: impl Into<String>) -> ! {
        std::panic::resume_unwind(Box::new(Fault(message.into())))
    }

    /// The fault in `payload`, that of a caught panic, if it is one.
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
