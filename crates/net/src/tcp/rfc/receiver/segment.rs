//! What of a segment decides when its ACK is sent.

/// Properties of a segment, or of several that came as one, that decide when its ACK is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    /// When it came, and its one-way delay, s.
    pub now: f64,
    pub one_way: f64,
    /// Several segments came as one.
    pub several: bool,
    /// It changes the ECN echo.
    pub news_of_marks: bool,
    /// It advances the cumulative ACK.
    pub in_order: bool,
    /// There was a gap before it came, and there is one now.
    pub had_gap: bool,
    pub has_gap: bool,
    /// It had arrived before; the cumulative ACK covered it.
    pub duplicate: bool,
    pub old: bool,
    /// It ends the connection.
    pub fin: bool,
    /// It is in order and carries PSH, or an autotuned window has doubled.
    pub pushed: bool,
    /// Bytes.
    pub payload: u32,
    /// The next sequence number expected now, and how many below it have not been acknowledged.
    pub next: u64,
    pub unacknowledged: u64,
}
