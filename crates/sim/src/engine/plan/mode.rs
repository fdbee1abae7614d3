//! How a link is run.

/// How a link is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Arrivals are events, departures arithmetic; nothing is ever dropped.
    Merge,
    /// No event at all: one serial source feeds it, in the order of its packets.
    Fold,
    /// No event either, though packets may wait: all links from its source are alike, with one flow each.
    SlowFold,
    /// A sender's own link that needs no events.
    Own,
    /// A plain FIFO with events.
    Stepped,
    /// A port whose discipline decides at enqueue: departures are arithmetic.
    ArithmeticPort,
    /// A port with events.
    SteppedPort,
}

/// Whether a link needs no event to pass a packet on.
pub fn is_fold(mode: Mode) -> bool {
    matches!(mode, Mode::Fold | Mode::SlowFold)
}

/// Whether packets start there at events.
pub fn by_events(mode: Mode) -> bool {
    matches!(mode, Mode::Stepped | Mode::SteppedPort)
}

/// The same link, run by events.
pub fn stepped(mode: Mode) -> Mode {
    match mode {
        Mode::Fold | Mode::SlowFold | Mode::Merge => Mode::Stepped,
        Mode::ArithmeticPort => Mode::SteppedPort,
        other => other,
    }
}
