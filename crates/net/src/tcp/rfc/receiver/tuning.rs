//! Receive window autotuning as in Linux (dynamic right-sizing).
//!
//! The buffer starts small. The receiver estimates the round-trip time (`tcp_rcv_rtt_measure`, `tcp_rcv_rtt_measure_ts`)
//! and counts what its application copies in one (`tcp_rcv_space_adjust`); if that is more than ever, the window becomes
//! twice as much, and more while that grows, as the sender may be in slow start (`tcp_rcvbuf_grow`). A new window opens
//! with the segments that come, two segments for each (`tcp_grow_window`).
//!
//! Memory is counted in window bytes: `share` of a byte of the buffer is window (`scaling_ratio`, once
//! `tcp_adv_win_scale`).

/// The window's share of the buffer before a full segment has come (Linux, `TCP_DEFAULT_SCALING_RATIO`).
const FIRST_SHARE: f64 = 0.5;
/// The largest first window, bytes: that of a SYN-ACK is not scaled (RFC 7323, 2.2).
const UNSCALED: u64 = 65_535;
/// Segments copied in a round trip before the first measurement (Linux, `TCP_INIT_CWND`).
const FIRST_SPACE: u64 = 10;
/// Least bytes of segments that open the window (Linux, `tcp_event_data_recv`).
const LEAST: u32 = 128;

/// The sizes of a window that is autotuned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Payload of a full segment, the first window and the largest, bytes.
    pub mss: u32,
    pub first: u64,
    pub most: u64,
    /// The window's share of the buffer once a full segment has come.
    pub share: f64,
    /// Whether ACKs of segments out of order have SACK blocks.
    pub sack: bool,
}

/// What has come and what the application has taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queues {
    pub now: f64,
    /// The next number expected, and the first that the application has not read.
    pub next: u64,
    pub copied: u64,
    /// The number after the highest that has come; [`Self::next`] if nothing is missing.
    pub highest: u64,
    /// The window that the last ACK told of, bytes.
    pub window: u64,
}

/// The state of a receiver whose window is autotuned.
#[derive(Clone, Debug)]
pub(super) struct Tuning {
    mss: u32,
    sack: bool,
    /// The window's share of the buffer: at first, now, and once a full segment has come.
    share: f64,
    measured_share: f64,
    /// The buffer, and the most that it becomes, bytes (`sk_rcvbuf`, `tcp_rmem[2]`).
    buffer: f64,
    most: f64,
    /// The largest window that an ACK tells of (`rcv_ssthresh`).
    limit: u64,
    /// The round-trip time, s; 0 without a sample (`rcv_rtt_est`).
    rtt: f64,
    /// Once this number is reached, a window's data have come since the time below, s.
    window_end: u64,
    window_start: f64,
    /// When the ACK left that the present segment echoes, s; NaN if it echoes none. Below, the last one used.
    echo: f64,
    used_echo: f64,
    /// The most copied in a round trip, bytes, and the count in progress: from this number and time on (`rcvq_space`).
    space: f64,
    from: u64,
    since: f64,
}

impl Tuning {
    pub fn new(sizes: Sizes) -> Self {
        let Sizes { mss, first, most, share, sack } = sizes;
        let first = first.min(most);
        let limit = first.min(UNSCALED);
        Tuning {
            mss,
            sack,
            share: FIRST_SHARE,
            measured_share: share,
            buffer: first as f64 / FIRST_SHARE,
            most: most as f64 / share,
            limit,
            rtt: 0.0,
            window_end: 0,
            window_start: f64::NAN,
            echo: f64::NAN,
            used_echo: f64::NAN,
            space: limit.min(FIRST_SPACE * u64::from(mss)) as f64,
            from: 1,
            since: 0.0,
        }
    }

    /// The connection opens.
    pub fn open(&mut self, now: f64) {
        self.since = now;
    }

    /// The largest window that the buffer allows (`window_clamp`), and that an ACK tells of, bytes.
    pub fn clamp(&self) -> u64 {
        (self.buffer * self.share) as u64
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The segment that comes next echoes the time stamp of an ACK that left at this time, s.
    pub fn note_echo(&mut self, sent: Option<f64>) {
        self.echo = sent.unwrap_or(f64::NAN);
    }

    /// A segment has come, and is not yet taken in: a full one measures the round-trip time by its echo
    /// (`tcp_rcv_rtt_measure_ts`). Clocks count milliseconds.
    pub fn before_segment(&mut self, now: f64, payload: u32, all_read: bool) {
        let echo = std::mem::replace(&mut self.echo, f64::NAN);
        if echo.is_nan() || echo == self.used_echo {
            return;
        }
        self.used_echo = echo;
        let sample = ((now * 1e3).floor() - (echo * 1e3).floor()) / 1e3;
        if payload >= self.mss && sample > 0.0 && (all_read || self.rtt == 0.0 || sample < self.rtt) {
            self.take_sample(sample, false);
        }
    }

    /// `tcp_rcv_rtt_update`: smaller samples count at once, larger ones by an eighth, unless the window limits them.
    fn take_sample(&mut self, sample: f64, by_window: bool) {
        if self.rtt == 0.0 || sample < self.rtt {
            self.rtt = sample;
        } else if !by_window {
            self.rtt += (sample - self.rtt) / 8.0;
        }
    }

    /// The segment has been taken in. Returns whether it opens the window.
    pub fn after_segment(&mut self, payload: u32, in_order: bool, queues: &Queues) -> bool {
        if payload >= self.mss && self.share != self.measured_share {
            // tcp_measure_rcv_mss.
            self.share = self.measured_share;
            self.space = self.space.min(self.clamp() as f64);
        }
        if in_order {
            self.measure_by_window(queues);
        } else if queues.highest > queues.next {
            self.grow_buffer(self.space, queues);
        }
        let before = self.limit;
        if payload >= LEAST && (in_order || self.sack) {
            self.open_window(queues);
        }
        self.limit > before
    }

    /// `tcp_rcv_rtt_measure`: the time of a window's data.
    fn measure_by_window(&mut self, queues: &Queues) {
        if !self.window_start.is_nan() {
            if queues.next < self.window_end {
                return;
            }
            self.take_sample((queues.now - self.window_start).max(1e-6), true);
        }
        self.window_start = queues.now;
        self.window_end = queues.next + queues.window;
    }

    /// `tcp_grow_window`: two segments more, if the buffer has room for them.
    fn open_window(&mut self, queues: &Queues) {
        let free = self.clamp().saturating_sub(queues.highest - queues.copied);
        self.limit += free.saturating_sub(self.limit).min(2 * u64::from(self.mss));
    }

    /// `tcp_rcv_space_adjust`: the application has read.
    pub fn adjust(&mut self, queues: &Queues) {
        if self.rtt == 0.0 || queues.now - self.since < self.rtt {
            return;
        }
        let waiting = queues.next - queues.copied;
        let copied = (queues.copied - self.from).saturating_sub(waiting) as f64;
        if copied > self.space {
            self.grow_buffer(copied, queues);
        }
        (self.from, self.since) = (queues.copied, queues.now);
    }

    /// `tcp_rcvbuf_grow`: twice what was copied, plus as much as that grows by in two round trips, plus what has come
    /// out of order.
    fn grow_buffer(&mut self, copied: f64, queues: &Queues) {
        let before = std::mem::replace(&mut self.space, copied);
        let mut window = 2.0 * copied;
        window += 2.0 * (window * (copied - before) / before).max(0.0).floor();
        window += (queues.highest - queues.next) as f64;
        self.buffer = self.buffer.max((window / self.share).min(self.most));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { mss: 1000, first: 20_000, most: 1_000_000, share: 0.5, sack: true };

    fn tuning(first: u64, most: u64) -> Tuning {
        Tuning::new(Sizes { first, most, ..SIZES })
    }

    fn queues(now: f64, next: u64, highest: u64) -> Queues {
        Queues { now, next, copied: next, highest, window: 20_000 }
    }

    #[test]
    fn the_smallest_time_counts_at_once_and_larger_ones_by_an_eighth() {
        let mut tuning = tuning(20_000, 1_000_000);
        let mut sample = |now: f64, echo: f64, all_read| {
            tuning.note_echo(Some(echo));
            tuning.before_segment(now, 1000, all_read);
            (tuning.rtt * 1e6).round() / 1e3
        };
        assert_eq!(sample(1.0504, 1.0, true), 50.0, "whole milliseconds");
        assert_eq!(sample(1.0904, 1.0, true), 50.0, "one sample for an echo");
        assert_eq!(sample(1.1004, 1.01, true), 55.0);
        assert_eq!(sample(1.1404, 1.02, false), 55.0, "not while data wait for the application");
        assert_eq!(sample(1.1504, 1.11, false), 40.0);
        assert_eq!(sample(1.2, 1.2, true), 40.0, "less than a millisecond is no sample");
    }

    #[test]
    fn without_echoes_a_window_of_data_is_a_round_trip() {
        let mut tuning = tuning(20_000, 1_000_000);
        tuning.after_segment(1000, true, &queues(1.0, 1001, 1001));
        tuning.after_segment(1000, true, &queues(1.2, 21_000, 21_000));
        assert_eq!(tuning.rtt, 0.0);
        tuning.after_segment(1000, true, &queues(1.25, 21_001, 21_001));
        assert_eq!(tuning.rtt, 0.25);
        tuning.after_segment(1000, true, &queues(1.75, 41_001, 41_001));
        assert_eq!(tuning.rtt, 0.25, "the least");
    }

    #[test]
    fn the_window_becomes_twice_what_was_copied_and_more_while_that_grows() {
        let mut tuning = tuning(20_000, 1_000_000);
        tuning.open(0.0);
        tuning.take_sample(0.1, false);
        tuning.adjust(&queues(0.05, 30_001, 30_001));
        assert_eq!(tuning.clamp(), 20_000, "a round trip is not over");
        tuning.adjust(&queues(0.1, 15_001, 15_001));
        assert_eq!((tuning.space, tuning.clamp()), (15_000.0, 60_000), "30,000, and 2 * 30,000 * 5,000/10,000 more");
        tuning.adjust(&queues(0.2, 30_001, 30_001));
        assert_eq!((tuning.space, tuning.clamp()), (15_000.0, 60_000), "no more than before");
        tuning.adjust(&queues(0.31, 75_001, 75_001));
        assert_eq!(tuning.clamp(), 450_000);
        tuning.adjust(&queues(0.42, 375_001, 375_001));
        assert_eq!(tuning.clamp(), 1_000_000, "tcp_rmem[2]");
    }

    #[test]
    fn what_comes_out_of_order_makes_room_for_itself() {
        let mut tuning = tuning(20_000, 1_000_000);
        tuning.after_segment(1000, false, &queues(0.1, 1001, 16_001));
        assert_eq!(tuning.clamp(), 35_000);
    }

    #[test]
    fn segments_open_the_window_up_to_the_buffer() {
        let mut tuning = tuning(20_000, 1_000_000);
        tuning.buffer = 50_000.0;
        let mut limit = |next| {
            tuning.after_segment(1000, true, &queues(0.1, next, next));
            tuning.limit()
        };
        assert_eq!([1001, 2001, 3001, 4001].map(&mut limit), [22_000, 24_000, 25_000, 25_000]);
        assert_eq!(Tuning::new(Sizes { first: 200_000, ..SIZES }).limit, 65_535);
    }

    #[test]
    fn the_share_of_the_buffer_is_measured_by_the_first_full_segment() {
        let mut tuning = Tuning::new(Sizes { share: 0.75, ..SIZES });
        tuning.after_segment(500, true, &queues(0.1, 501, 501));
        assert_eq!(tuning.clamp(), 20_000);
        tuning.after_segment(1000, true, &queues(0.1, 1501, 1501));
        assert_eq!(tuning.clamp(), 30_000);
    }
}
