//! The ways to run a link.

/// The way to run a link (`docs/engine.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Analytic; arrivals are events, since streams merge here. Nothing is ever dropped.
    Merge,
    /// Analytic, without any event: one serial source feeds it in order, and no packet waits.
    Fold,
    /// Analytic, without any event, though packets may wait: all links behind its source are alike, with one flow each.
    SlowFold,
    /// A sender's own link, analytic, without any event.
    Own,
    /// A FIFO with unlimited buffer, by events.
    Stepped,
    /// The same; a packet that finds it idle passes it in the call before.
    Passed,
    /// A port whose discipline decides at enqueue: departures are computed at arrival.
    AnalyticPort,
    /// A port by events.
    SteppedPort,
}

/// Whether a link passes packets on without any event.
pub fn is_fold(mode: Mode) -> bool {
    matches!(mode, Mode::Fold | Mode::SlowFold)
}

/// Whether packets start there by events.
pub fn by_events(mode: Mode) -> bool {
    matches!(mode, Mode::Stepped | Mode::SteppedPort)
}

/// The mode of the same link by events.
pub fn stepped(mode: Mode) -> Mode {
    match mode {
        Mode::Fold | Mode::SlowFold | Mode::Merge => Mode::Stepped,
        Mode::AnalyticPort => Mode::SteppedPort,
        other => other,
    }
}
