//! Bytes sent in each second, and the rate over the seconds in which packets waited throughout.

/// One second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Second {
    /// Bytes sent; a packet counts in each second with the part of its transmission in it.
    pub bytes: f64,
    /// The part of this second in which a packet was on the wire.
    pub wire: f64,
    /// No packet waited at some time in this second.
    pub was_empty: bool,
    /// The queue kept its packets back at some time in this second, as a shaper does.
    pub was_held: bool,
}

/// The seconds of a measured window; 24 bytes each.
#[derive(Clone, Debug, Default)]
pub struct Seconds {
    begin: f64,
    seconds: Vec<Second>,
    /// Since when no packet waits; `None` while some do.
    empty_since: Option<f64>,
    end: f64,
}

/// The rate over the seconds in which packets waited throughout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Busy {
    /// Number of these seconds.
    pub seconds: usize,
    /// Mean rate, bit/s.
    pub mean_bps: f64,
    /// Rate in the slowest of these seconds, bit/s.
    pub least_bps: f64,
    /// Rate in the fastest of these seconds, bit/s.
    pub most_bps: f64,
}

impl Seconds {
    /// A window from time 0, with an empty queue.
    pub fn new() -> Self {
        Seconds { empty_since: Some(0.0), ..Seconds::default() }
    }

    /// Starts a new window at `now`.
    pub fn restart(&mut self, now: f64, waiting: bool) {
        *self = Seconds { begin: now, seconds: Vec::new(), empty_since: (!waiting).then_some(now), end: now };
    }

    fn at(&mut self, index: usize) -> &mut Second {
        if self.seconds.len() <= index {
            self.seconds.resize(index + 1, Second::default());
        }
        &mut self.seconds[index]
    }

    fn index(&self, time: f64) -> usize {
        (time - self.begin).max(0.0) as usize
    }

    /// From `now` on packets wait, or none does.
    #[inline]
    pub fn waiting(&mut self, now: f64, waiting: bool) {
        match (self.empty_since, waiting) {
            (None, false) => self.empty_since = Some(now),
            (Some(since), true) => {
                self.note_empty(since, now);
                self.empty_since = None;
            }
            _ => {}
        }
    }

    fn note_empty(&mut self, from: f64, to: f64) {
        for index in self.index(from)..=self.index(to) {
            self.at(index).was_empty = true;
        }
    }

    /// The queue keeps its packets back from `from` to `to`, of which an hour at most is noted.
    pub fn held(&mut self, from: f64, to: f64) {
        let to = to.min(from + 3600.0);
        for index in self.index(from)..=self.index(to) {
            self.at(index).was_held = true;
        }
    }

    /// `bytes` were on the wire from `from` to `to`.
    #[inline]
    pub fn sent(&mut self, from: f64, to: f64, bytes: u32) {
        let (first, last) = (self.index(from), self.index(to));
        if first == last && from >= self.begin {
            let second = self.at(first);
            second.bytes += f64::from(bytes);
            second.wire += to - from;
            return;
        }
        let per_second = f64::from(bytes) / (to - from);
        for index in first..=last {
            let begin = self.begin + index as f64;
            // Nothing of what was sent before the window.
            let share = (to.min(begin + 1.0) - from.max(begin)).max(0.0);
            let second = self.at(index);
            second.bytes += share * per_second;
            second.wire += share;
        }
    }

    /// Ends the window at `now`.
    pub fn finish(&mut self, now: f64) {
        if let Some(since) = self.empty_since {
            self.note_empty(since, now);
            self.empty_since = Some(now);
        }
        self.end = now;
    }

    /// The least part of a second in which a packet was on the wire, of the whole seconds before `until` in which packets
    /// waited throughout and were not kept back by their queue; `None` if there are no such seconds.
    pub fn least_share(&self, until: f64) -> Option<f64> {
        let until = self.empty_since.map_or(until, |since| until.min(since));
        let whole = &self.seconds[..self.index(until).min(self.seconds.len())];
        let busy = whole.iter().filter(|second| !second.was_empty && !second.was_held);
        busy.map(|second| second.wire).min_by(f64::total_cmp)
    }

    /// The rate over the whole seconds in which packets waited throughout; `None` if there are no such seconds. Call it
    /// after [`Seconds::finish`].
    pub fn busy(&self) -> Option<Busy> {
        let whole = &self.seconds[..self.index(self.end).min(self.seconds.len())];
        let busy: Vec<f64> = whole.iter().filter(|second| !second.was_empty).map(|second| 8.0 * second.bytes).collect();
        (!busy.is_empty()).then(|| Busy {
            seconds: busy.len(),
            mean_bps: busy.iter().sum::<f64>() / busy.len() as f64,
            least_bps: busy.iter().copied().fold(f64::INFINITY, f64::min),
            most_bps: busy.iter().copied().fold(0.0, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_seconds_without_an_empty_queue_count() {
        let mut seconds = Seconds::new();
        seconds.restart(10.0, false);
        seconds.waiting(10.5, true);
        for i in 0..60 {
            let from = 10.5 + 0.05 * f64::from(i);
            seconds.sent(from, from + 0.05, 100);
        }
        seconds.waiting(13.5, false);
        seconds.finish(14.2);
        let busy = seconds.busy().expect("two whole seconds");
        assert_eq!(busy.seconds, 2);
        assert!((busy.mean_bps - 16_000.0).abs() < 1e-6 && (busy.least_bps - busy.most_bps).abs() < 1e-6);
    }

    #[test]
    fn a_packet_is_divided_over_the_seconds_of_its_transmission() {
        let mut seconds = Seconds::new();
        seconds.restart(0.0, true);
        seconds.sent(0.75, 1.25, 1000);
        seconds.sent(1.25, 3.25, 4000);
        assert_eq!(seconds.seconds.iter().map(|s| s.bytes).collect::<Vec<_>>(), [500.0, 2000.0, 2000.0, 500.0]);
        seconds.finish(3.5);
        let busy = seconds.busy().expect("three");
        assert_eq!((busy.seconds, busy.least_bps, busy.most_bps), (3, 4000.0, 16_000.0));
    }

    #[test]
    fn a_busy_second_with_an_idle_wire_shows() {
        let mut seconds = Seconds::new();
        seconds.restart(5.0, true);
        // Sent before the window, in part and as a whole; then a second and a half, and a hole of 30 ms.
        seconds.sent(4.0, 5.0, 1000);
        seconds.sent(4.5, 5.5, 1000);
        seconds.sent(5.5, 6.97, 1470);
        seconds.sent(7.0, 9.0, 2000);
        assert_eq!(seconds.seconds[0].bytes, 500.0 + 500.0);
        assert_eq!(seconds.least_share(7.0).map(|share| (share * 1e6).round()), Some(970_000.0));
        assert_eq!(seconds.least_share(5.99), None, "no second is over");
        assert_eq!(seconds.least_share(6.5).map(f64::round), Some(1.0), "the first alone");
        // Not where the queue kept its packets back, or none waited.
        seconds.held(6.97, 7.0);
        assert_eq!(seconds.least_share(9.0).map(f64::round), Some(1.0), "6 to 8 are held");
        seconds.waiting(5.2, false);
        assert_eq!(seconds.least_share(9.0), None);
    }

    #[test]
    fn an_idle_path_has_no_busy_second() {
        let mut seconds = Seconds::new();
        seconds.finish(5.0);
        assert_eq!(seconds.busy(), None);
    }
}
