//! The properties of a segment that decide when its ACK is sent.

/// Properties of a segment, or of several that came as one, that decide when its ACK is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    /// When the segment came, and its one-way delay, s.
    pub now: f64,
    pub one_way: f64,
    /// Whether several segments came as one.
    pub several: bool,
    /// Whether it changes the ECN echo.
    pub news_of_marks: bool,
    /// Whether it advances the cumulative ACK.
    pub in_order: bool,
    /// Whether there was a gap before it came; below, whether there is one now.
    pub had_gap: bool,
    pub has_gap: bool,
    /// Whether it had arrived before; below, whether the cumulative ACK covered it.
    pub duplicate: bool,
    pub old: bool,
    /// Whether it ends the connection.
    pub fin: bool,
    /// Whether it is in order and carries PSH, or an autotuned window has doubled.
    pub pushed: bool,
    /// Payload, bytes.
    pub payload: u32,
    /// The next sequence number expected now; below, how many numbers before it have not been acknowledged.
    pub next: u64,
    pub unacknowledged: u64,
}
