//! Where a connection stands in its handshake.

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Closed,
    /// Passive, with data both ways.
    Listen,
    SynSent,
    /// Passive; the SYN-ACK has been sent.
    SynReceived,
    Established,
}

/// The handshake.
#[derive(Clone, Debug)]
pub(super) struct Handshake {
    pub state: State,
    /// Timeouts of the SYN, and when the timed one was sent, s.
    pub timeouts: u32,
    pub sent: f64,
}

impl Handshake {
    pub fn new() -> Self {
        Handshake { state: State::Closed, timeouts: 0, sent: 0.0 }
    }
}
