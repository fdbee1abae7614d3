//! The receiver's reports: for each packet its arrival time and ECN field, as RFC 8888 has them.

use std::collections::VecDeque;

/// Number of packets after which a report is sent (draft-ietf-ccwg-rfc8298bis-screamv2-01, 5).
const PACKETS: u32 = 16;
/// Longest time from the first unreported packet to its report, s (section 5 too).
const LONGEST: f64 = 0.04;
/// Units per second of arrival times, which are counted back from the report (RFC 8888, 3.1).
const PER_SECOND: f64 = 1024.0;
/// Bytes of a report without packets: IPv4 and UDP; header, both SSRCs, first number, count, time (RFC 8888, 3.1).
const EMPTY: u32 = 28 + 4 + 4 + 4 + 4 + 4;

/// A report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Feedback {
    /// When the report was made, s.
    pub at: f64,
    /// Number of the first packet that the report covers.
    pub first: u32,
    /// For each packet from `first` on: the time of arrival, and whether it was marked; `None` if it is missing.
    pub packets: Vec<Option<(f64, bool)>>,
}

impl Feedback {
    /// Bytes on the wire: two for each packet, filled up to a multiple of four.
    pub fn size(&self) -> u16 {
        (EMPTY + 4 * (self.packets.len() as u32).div_ceil(2)).min(u32::from(u16::MAX)) as u16
    }
}

/// A receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Number of the first packet in `packets`, which holds the arrivals from there on.
    first: u32,
    packets: VecDeque<Option<(f64, bool)>>,
    /// The next number that no report has covered.
    fresh: u32,
    /// Packets since the last report.
    waiting: u32,
    due: f64,
}

impl Default for Receiver {
    fn default() -> Self {
        Receiver { first: 0, packets: VecDeque::new(), fresh: 0, waiting: 0, due: f64::INFINITY }
    }
}

impl Receiver {
    /// Takes packet `number`; `last` of its frame. Returns whether to report at once.
    pub fn take(&mut self, number: u32, now: f64, marked: bool, last: bool) -> bool {
        let Some(at) = number.checked_sub(self.first) else { return false };
        while self.packets.len() <= at as usize {
            self.packets.push_back(None);
        }
        self.packets[at as usize] = Some((now, marked));
        self.waiting += 1;
        self.due = self.due.min(now + LONGEST);
        // "more than N data units", "a data unit with marker bit set" (5).
        self.waiting > PACKETS || last
    }

    /// When a report is due, s; infinite if there is nothing to report.
    pub fn due(&self) -> f64 {
        self.due
    }

    /// Fills a report. It covers new packets and those that the last report covered first, which makes up for one lost
    /// report (6: "overlapping RTCP feedback").
    pub fn report(&mut self, now: f64, to: &mut Feedback) {
        (to.at, to.first) = (now, self.first);
        to.packets.clear();
        // The offset is rounded down to its resolution.
        let told = |arrived: f64| now - ((now - arrived) * PER_SECOND).floor() / PER_SECOND;
        to.packets.extend(self.packets.iter().map(|packet| packet.map(|(arrived, marked)| (told(arrived), marked))));
        let end = self.first + self.packets.len() as u32;
        self.packets.drain(..(self.fresh - self.first) as usize);
        (self.first, self.fresh) = (self.fresh, end);
        (self.waiting, self.due) = (0, f64::INFINITY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(receiver: &mut Receiver, now: f64) -> Feedback {
        let mut feedback = Feedback::default();
        receiver.report(now, &mut feedback);
        feedback
    }

    #[test]
    fn a_report_follows_a_frame_or_seventeen_packets_or_forty_milliseconds() {
        let mut receiver = Receiver::default();
        assert_eq!(receiver.due(), f64::INFINITY);
        assert!((0..16).all(|number| !receiver.take(number, 1.0, false, false)));
        assert!(receiver.take(16, 1.0, false, false));
        assert_eq!(receiver.due(), 1.04);
        report(&mut receiver, 1.0);
        assert_eq!(receiver.due(), f64::INFINITY);
        assert!(receiver.take(17, 2.0, false, true));
    }

    #[test]
    fn a_report_has_arrival_times_marks_and_gaps_and_repeats_the_one_before() {
        let mut receiver = Receiver::default();
        receiver.take(0, 1.0, false, false);
        receiver.take(2, 1.0101, true, true);
        let first = report(&mut receiver, 1.0101);
        // 10.1 ms are 10.34 units of 1/1024 s.
        let expected = vec![Some((1.0101 - 10.0 / 1024.0, false)), None, Some((1.0101, true))];
        assert_eq!((first.first, &first.packets), (0, &expected));
        assert_eq!(first.size(), 48 + 8);
        receiver.take(3, 1.03, false, false);
        receiver.take(1, 1.03, false, true);
        let second = report(&mut receiver, 1.03);
        assert_eq!((second.first, second.packets.len()), (0, 4));
        assert_eq!(second.packets[1], Some((1.03, false)));
        receiver.take(4, 1.05, false, true);
        let third = report(&mut receiver, 1.05);
        assert_eq!((third.first, third.packets.len()), (3, 2));
        // The packet comes too late to be reported.
        assert!(!receiver.take(2, 1.06, false, true));
    }
}
