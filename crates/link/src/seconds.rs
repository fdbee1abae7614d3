//! Bytes sent in each second, and the rate over the seconds in which the queue was never empty.

/// One second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Second {
    /// Bytes sent; a packet counts in each second with the part of its transmission in it.
    pub bytes: f64,
    /// The queue was empty at some time in this second.
    pub was_empty: bool,
}

/// The seconds of a measured window; 16 bytes each.
#[derive(Clone, Debug, Default)]
pub struct Seconds {
    begin: f64,
    seconds: Vec<Second>,
    /// When the queue became empty; `None` while it holds packets.
    empty_since: Option<f64>,
    end: f64,
}

/// The rate over the seconds in which the queue was never empty.
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

    /// From `now` on the queue holds packets (`waiting`) or is empty.
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

    /// `bytes` were on the wire from `from` to `to`.
    #[inline]
    pub fn sent(&mut self, from: f64, to: f64, bytes: u32) {
        let (first, last) = (self.index(from), self.index(to));
        if first == last {
            self.at(first).bytes += f64::from(bytes);
            return;
        }
        let per_second = f64::from(bytes) / (to - from);
        for index in first..=last {
            let begin = self.begin + index as f64;
            let share = to.min(begin + 1.0) - from.max(begin);
            self.at(index).bytes += share.max(0.0) * per_second;
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

    /// The rate over the whole seconds in which the queue was never empty; `None` if there are no such seconds. Call it
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
    fn an_idle_path_has_no_busy_second() {
        let mut seconds = Seconds::new();
        seconds.finish(5.0);
        assert_eq!(seconds.busy(), None);
    }
}
