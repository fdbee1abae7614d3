//! What can go wrong.

use earlydrop_sim::scenario::ScenarioError;
use std::fmt;

/// What is wrong.
pub enum Error {
    /// The scenario: which field, what was given, what is allowed.
    Scenario(ScenarioError),
    /// A call that is not allowed here or now: what was given, what is allowed.
    Call(String),
    /// A file or folder cannot be read or written: which, and why.
    File(String, std::io::Error),
}

impl Error {
    pub(crate) fn call(message: impl Into<String>) -> Error {
        Error::Call(message.into())
    }
}

impl From<ScenarioError> for Error {
    fn from(error: ScenarioError) -> Error {
        Error::Scenario(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Scenario(error) => error.fmt(f),
            Error::Call(message) => f.write_str(message),
            Error::File(path, error) => write!(f, "{path}: {error}"),
        }
    }
}

/// As it is displayed, so that `unwrap` says what is wrong.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
