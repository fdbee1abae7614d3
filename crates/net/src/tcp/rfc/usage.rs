//! Whether cwnd limits sending, over a window of data, and cwnd's decay while it does not (RFC 2861; Linux,
//! `tcp_cwnd_validate`, `tcp_is_cwnd_limited`, `tcp_cwnd_application_limited`).

use super::control::Window;

/// What is outstanding.
pub(super) struct Data {
    /// Segments outstanding, SACKed and lost ones included.
    pub outstanding: f64,
    /// First sequence number not acknowledged; below, the next to send.
    pub una: u64,
    pub next: u64,
}

/// State of cwnd's use.
#[derive(Clone, Debug, Default)]
pub(super) struct Usage {
    /// Whether cwnd has limited sending in this window of data.
    limited: bool,
    /// Most segments outstanding in this window of data, and its end.
    most: f64,
    end: u64,
    /// Most segments outstanding since `stamp`, s, when cwnd last limited sending.
    used: f64,
    stamp: f64,
}

impl Usage {
    /// Whether cwnd may grow. In slow start it grows to twice what was outstanding.
    pub fn limits(&self, window: &Window) -> bool {
        self.limited || (window.slow_start() && window.cwnd < 2.0 * self.most)
    }

    /// cwnd has restarted after an idle time.
    pub fn restart(&mut self, now: f64) {
        (self.used, self.stamp) = (0.0, now);
    }

    /// New data have been sent, or cwnd has `limited` sending. If cwnd has not limited for a timeout of `rto` seconds,
    /// returns the most segments outstanding since.
    pub fn note(&mut self, now: f64, limited: bool, data: &Data, window: &Window, rto: f64) -> Option<f64> {
        if data.una >= self.end || limited || (!self.limited && data.outstanding > self.most) {
            (self.limited, self.most, self.end) = (limited, data.outstanding, data.next);
        }
        if self.limits(window) {
            self.restart(now);
            return None;
        }
        self.used = self.used.max(data.outstanding);
        let starved = now - self.stamp >= rto;
        let used = self.used;
        if starved {
            self.restart(now);
        }
        starved.then_some(used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(usage: &mut Usage, now: f64, limited: bool, outstanding: f64, una: u64, next: u64) -> Option<f64> {
        usage.note(now, limited, &Data { outstanding, una, next }, &Window { cwnd: 40.0, ssthresh: 20.0 }, 0.3)
    }

    #[test]
    fn a_limit_holds_for_a_window_of_data() {
        let (mut usage, window) = (Usage::default(), Window { cwnd: 40.0, ssthresh: 20.0 });
        assert_eq!(note(&mut usage, 0.0, true, 40.0, 0, 40), None);
        note(&mut usage, 0.01, false, 40.0, 20, 50);
        assert!(usage.limits(&window), "cwnd limited what ends at 40");
        note(&mut usage, 0.02, false, 30.0, 40, 60);
        assert!(!usage.limits(&window));
        assert!(usage.limits(&Window { cwnd: 40.0, ssthresh: 50.0 }), "slow start, up to twice 30");
        assert!(!usage.limits(&Window { cwnd: 60.0, ssthresh: 80.0 }));
    }

    #[test]
    fn the_most_outstanding_of_a_timeout_without_a_limit() {
        let mut usage = Usage::default();
        usage.restart(1.0);
        assert_eq!(note(&mut usage, 1.2, false, 25.0, 0, 25), None);
        assert_eq!(note(&mut usage, 1.3, false, 20.0, 0, 30), Some(25.0));
        assert_eq!(note(&mut usage, 1.5, false, 4.0, 30, 40), None);
        assert_eq!(note(&mut usage, 1.7, false, 3.0, 40, 44), Some(4.0));
        assert_eq!(note(&mut usage, 2.1, true, 40.0, 44, 84), None, "cwnd limits");
    }
}
