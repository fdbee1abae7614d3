//! An application that lags: it reads at a rate, or pauses, so that the receive window closes (RFC 9293, 3.8.6).
//!
//! The window is what is left of the buffer. Its right edge never moves back, and only by a segment or half of the
//! buffer at once (3.8.6.2.2); an ACK tells of a window that has doubled by reading (Linux, `tcp_cleanup_rbuf`).

use super::tuning::{Queues, Sizes, Tuning};
use crate::tcp::rfc::reading::Reading;

/// A time later by this, s, is surely later, however times are rounded; for bytes alike.
const LATER: f64 = 1e-9;
const MORE: f64 = 1.0;

/// The application of a receiver, and the window that it leaves.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    of: Reading,
    /// Bytes of the buffer, and the least by which the window's edge moves.
    buffer: u64,
    step: u64,
    /// Most bytes of window that an ACK tells of.
    limit: u64,
    /// Whether the application never lags.
    reads_at_once: bool,
    /// The buffer's autotuning, if it has any.
    tuning: Option<Box<Tuning>>,
    /// The last event, s since the start of the run, and the window that the last ACK told of, bytes.
    clock: f64,
    told: u64,
    /// When the connection opened; the last event, s since then.
    start: f64,
    now: f64,
    /// Bytes in order that are not read, and the next number expected, both at the last event.
    unread: f64,
    next: u64,
    /// The right edge of the window.
    edge: u64,
}

impl Reader {
    /// Nothing has been received; the buffer has `window` bytes.
    pub fn new(of: Reading, window: u64, mss: u32) -> Self {
        let step = u64::from(mss).min(window / 2).max(1);
        Reader {
            of,
            reads_at_once: of == Reading::AT_ONCE,
            buffer: window,
            step,
            limit: u64::MAX,
            tuning: None,
            clock: 0.0,
            told: window,
            start: 0.0,
            now: 0.0,
            unread: 0.0,
            next: 1,
            edge: 1 + window,
        }
    }

    /// [`Reader::new`] with an autotuned buffer.
    pub fn tuned(of: Reading, sizes: Sizes) -> Self {
        let tuning = Tuning::new(sizes);
        let mut reader = Reader::new(of, tuning.clamp(), sizes.mss);
        (reader.limit, reader.told, reader.edge) = (tuning.limit(), tuning.limit(), 1 + tuning.limit());
        reader.tuning = Some(Box::new(tuning));
        reader
    }

    /// When the last event was, s since the start of the run: an ACK's time stamp.
    pub fn clock(&self) -> f64 {
        self.clock
    }

    /// Whether the buffer is autotuned.
    pub fn is_tuned(&self) -> bool {
        self.tuning.is_some()
    }

    /// The next segment echoes the time stamp of an ACK that left at this time, s.
    pub fn note_echo(&mut self, sent: Option<f64>) {
        if let Some(tuning) = &mut self.tuning {
            tuning.note_echo(sent);
        }
    }

    /// A segment has come: called before it is taken in.
    pub fn before_segment(&mut self, payload: u32) {
        let all_read = self.unread == 0.0;
        if let Some(tuning) = &mut self.tuning {
            tuning.before_segment(self.clock, payload, all_read);
        }
    }

    /// The segment has been taken in, and the application has read. `highest` is the number after the highest that has
    /// come; `beyond` bytes are out of order. Returns whether the segment opens the window.
    pub fn after_segment(&mut self, payload: u32, in_order: bool, highest: u64, beyond: u64) -> bool {
        let queues = self.queues(highest);
        let Some(tuning) = &mut self.tuning else { return false };
        let opens = tuning.after_segment(payload, in_order, &queues);
        tuning.adjust(&queues);
        (self.buffer, self.limit) = (tuning.clamp().saturating_sub(beyond), tuning.limit());
        opens
    }

    fn queues(&self, highest: u64) -> Queues {
        let (now, next) = (self.clock, self.next);
        Queues { now, next, copied: next - (self.unread.ceil() as u64).min(next - 1), highest, window: self.told }
    }

    /// The connection opens.
    pub fn open(&mut self, now: f64) {
        (self.start, self.clock) = (now, now);
        if let Some(tuning) = &mut self.tuning {
            tuning.open(now);
        }
    }

    /// Time passes to `now`, when the next number expected is `next`.
    pub fn advance(&mut self, now: f64, next: u64) {
        self.clock = now;
        if self.reads_at_once {
            self.next = next.max(self.next);
            return;
        }
        let now = (now - self.start).max(self.now);
        let active = self.of.active(now) - self.of.active(self.now);
        if active > 0.0 {
            self.unread = (self.unread - self.of.rate * active).max(0.0);
        }
        self.unread += next.saturating_sub(self.next) as f64;
        (self.now, self.next) = (now, next.max(self.next));
        if self.of.rate == f64::INFINITY && !self.pauses() {
            self.unread = 0.0;
        }
    }

    fn pauses(&self) -> bool {
        if self.of.every == f64::INFINITY {
            return false;
        }
        let within = self.now - (self.now / self.of.every).floor() * self.of.every;
        within >= self.of.every - self.of.pause
    }

    /// Whether the application reads immediately and the window is twice what ACKs have told of.
    pub fn has_doubled(&self) -> bool {
        self.reads_at_once && {
            let window = self.edge.saturating_sub(self.next);
            (2 * window).max(window + self.step) <= self.buffer.min(self.limit)
        }
    }

    /// Bytes of the window that an ACK tells of now.
    pub fn window(&mut self) -> u32 {
        let edge = self.next + self.buffer.saturating_sub(self.unread.ceil() as u64).min(self.limit);
        if edge >= self.edge + self.step {
            self.edge = edge;
        }
        self.told = self.edge.saturating_sub(self.next);
        self.told.min(u64::from(u32::MAX - 1)) as u32
    }

    /// When an ACK is due that tells of a larger window, s; infinite if none is.
    pub fn update_at(&self) -> f64 {
        let window = self.edge.saturating_sub(self.next);
        let wanted = (2 * window).max(window + self.step);
        if wanted > self.buffer.min(self.limit) {
            return f64::INFINITY;
        }
        let need = self.unread - (self.buffer - wanted) as f64;
        if need <= 0.0 {
            return self.start + self.now;
        }
        let at = if self.of.rate == f64::INFINITY {
            ((self.now / self.of.every).floor() + 1.0) * self.of.every
        } else {
            self.of.after(self.of.active(self.now) + (need + MORE) / self.of.rate)
        };
        self.start + at.max(self.now) + LATER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_ONCE: Reading = Reading::AT_ONCE;

    #[test]
    fn a_slow_reader_leaves_what_it_has_not_read() {
        let mut reader = Reader::new(Reading { rate: 1000.0, ..AT_ONCE }, 10_000, 1000);
        reader.open(5.0);
        reader.advance(5.0, 6001);
        assert_eq!(reader.window(), 4000);
        reader.advance(5.5, 6001);
        assert_eq!(reader.window(), 4000, "less than a segment does not move the edge");
        reader.advance(7.0, 6001);
        assert_eq!(reader.window(), 6000);
        reader.advance(8.0, 10_001);
        assert_eq!((reader.window(), reader.unread), (3000, 7000.0));
    }

    #[test]
    fn a_closed_window_opens_with_a_segment_and_then_doubles() {
        let mut reader = Reader::new(Reading { rate: 1000.0, ..AT_ONCE }, 8000, 1000);
        reader.advance(0.0, 8001);
        assert_eq!((reader.window(), (reader.update_at() * 1e3).round()), (0, 1001.0), "a byte more than a segment");
        reader.advance(1.001 + 1e-9, 8001);
        assert_eq!(reader.window(), 1001);
        assert_eq!((reader.update_at() * 1e3).round(), 2003.0);
        reader.advance(3.5, 8001);
        assert_eq!((reader.window(), (reader.update_at() * 1e3).round()), (3500, 7001.0));
    }

    #[test]
    fn pauses_end() {
        let mut reader = Reader::new(Reading { every: 10.0, pause: 4.0, ..AT_ONCE }, 8000, 1000);
        reader.advance(5.0, 4001);
        assert_eq!((reader.window(), reader.update_at()), (8000, f64::INFINITY));
        reader.advance(7.0, 9001);
        assert_eq!((reader.window(), reader.update_at().round()), (3000, 10.0));
        reader.advance(reader.update_at(), 9001);
        assert_eq!(reader.window(), 8000);
        let half = Reading { rate: 1000.0, every: 10.0, pause: 4.0 };
        assert_eq!([0.0, 3.0, 6.0, 9.0, 12.0].map(|time| half.active(time)), [0.0, 3.0, 6.0, 6.0, 8.0]);
        assert_eq!([3.0, 8.0].map(|active| half.after(active)), [3.0, 12.0]);
    }
}
