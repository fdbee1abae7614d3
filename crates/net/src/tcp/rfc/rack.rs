//! RACK (RFC 8985): loss detection by time. A segment is lost if it is not delivered some time after a segment sent
//! later.
//!
//! Segments sent once are in the order of sending, retransmitted ones in a queue of their own, so losses are at the
//! front of either.

use super::scoreboard::{Delivered, Scoreboard, DUP_THRESH};
use super::settings::Settings;
use std::collections::VecDeque;

/// Number of recoveries for which a larger reordering window lasts (RFC 8985, 6.2, step 4).
const PERSIST: u32 = 16;
/// Largest remembered number of segments that overtook one (Linux, `tcp_max_reordering`).
const MOST_OVERTAKEN: u64 = 300;

/// RACK's state (RFC 8985, 5.2 to 5.4).
#[derive(Clone, Debug)]
pub struct Rack {
    /// The delivered segment that was sent last: departure time, s, end, RTT, s.
    sent: f64,
    end: u64,
    rtt: f64,
    /// The number after the highest delivered one.
    fack: u64,
    reordering_seen: bool,
    reo_wnd_mult: f64,
    reo_wnd_persist: u32,
    /// Until this number is acknowledged, duplicates do not count again.
    dsack_round: Option<u64>,
    /// Below this number no segment that was sent once is undecided.
    judged: u64,
    /// Retransmitted segments, in order of retransmission.
    retransmissions: VecDeque<Retransmission>,
    /// Whether a SACKed retransmission counts as delivered, whatever time stamp is echoed.
    trusts_sacks: bool,
    /// Whether the tolerance of reordering adapts as in Linux.
    adapts: bool,
    mss: u64,
    /// Largest number of segments that overtook one (Linux, `reordering`).
    overtaken: u64,
}

/// A retransmitted segment: its first number, the time, and the number of reductions of cwnd before it.
#[derive(Clone, Copy, Debug)]
struct Retransmission {
    start: u64,
    sent: f64,
    reductions: u32,
}

/// Newly detected losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Losses {
    /// Number of sequence numbers newly lost.
    pub lost: u64,
    /// When the reordering timer expires, s: once all undecided segments are late (6.2, step 5); infinite if none is
    /// undecided.
    pub again: f64,
    /// If a retransmission is lost: after how many reductions of cwnd the last one was sent.
    pub lost_retransmission: Option<u32>,
}

impl Default for Rack {
    fn default() -> Self {
        Rack {
            sent: f64::NEG_INFINITY,
            end: 0,
            rtt: 0.0,
            fack: 0,
            reordering_seen: false,
            reo_wnd_mult: 1.0,
            reo_wnd_persist: PERSIST,
            dsack_round: None,
            judged: 0,
            retransmissions: VecDeque::new(),
            trusts_sacks: false,
            adapts: false,
            mss: 1,
            overtaken: u64::from(DUP_THRESH),
        }
    }
}

/// `RACK_sent_after` (6.2, step 2).
fn sent_after(sent: f64, end: u64, than_sent: f64, than_end: u64) -> bool {
    sent > than_sent || (sent == than_sent && end > than_end)
}

impl Rack {
    /// No segment delivered yet. An ACK that SACKs beyond a hole echoes the time stamp of the segment before the hole,
    /// so it does not tell which transmission of a SACKed segment has arrived (RFC 8985, 6.2, step 2). With
    /// `rack_repeats_reported` it is the retransmission, if that took at least the min RTT (Linux, `tcp_sacktag_one`).
    pub fn new(settings: &Settings) -> Self {
        let (trusts_sacks, adapts) = (settings.rack.repeats_reported, settings.rack.reordering_adapts);
        Rack { trusts_sacks, adapts, mss: u64::from(settings.mss), ..Rack::default() }
    }

    /// Notes that the segment that starts here was overtaken (Linux, `tcp_check_sack_reordering`).
    pub fn reordered(&mut self, start: u64) {
        if start >= self.fack {
            return;
        }
        self.reordering_seen = true;
        if self.adapts {
            let by = (self.fack - start).div_ceil(self.mss).min(MOST_OVERTAKEN);
            self.overtaken = self.overtaken.max(by);
        }
    }

    /// Whether a segment was overtaken by so many that cwnd grows with SACKs too (Linux, `tcp_may_raise_cwnd`).
    pub fn is_reordering_high(&self) -> bool {
        self.overtaken > u64::from(DUP_THRESH)
    }

    /// The timer has expired outside of a recovery, though `sacked` segments are SACKed: they did not show reordering
    /// (Linux, `tcp_enter_loss`).
    pub fn timed_out(&mut self, sacked: usize) {
        if sacked >= DUP_THRESH as usize {
            self.overtaken = u64::from(DUP_THRESH);
        }
    }

    /// Notes a segment retransmitted after `reductions` reductions of cwnd.
    pub fn retransmitted(&mut self, start: u64, now: f64, reductions: u32) {
        self.retransmissions.push_back(Retransmission { start, sent: now, reductions });
    }

    /// Takes a newly delivered segment (6.2, steps 2 and 3). `echo` is the time stamp that the ACK echoes, if any.
    pub fn delivered(&mut self, delivered: &Delivered, now: f64, echo: Option<f64>, min_rtt: f64) {
        let record = &delivered.record;
        if record.end() >= self.fack {
            self.fack = record.end();
        } else if !record.is_retransmitted() {
            self.reordered(record.start);
        }
        let took = now - record.sent;
        if record.is_retransmitted() {
            // If the echo is older, the first transmission has arrived. Time stamps have a granularity.
            let before = echo.is_some_and(|echo| echo < record.sent - 1e-6);
            if (before && !(delivered.by_sack && self.trusts_sacks)) || took < min_rtt {
                return;
            }
        }
        self.rtt = took;
        if sent_after(record.sent, record.end(), self.sent, self.end) {
            self.sent = record.sent;
            self.end = record.end();
        }
    }

    /// Whether no outstanding segment was sent before the last delivered one, and none is undecided, so that an ACK of
    /// the first outstanding one detects no loss.
    pub fn allows_fast_path(&self, board: &Scoreboard) -> bool {
        self.retransmissions.is_empty()
            && board.front().is_none_or(|front| {
                self.judged <= front.start && !sent_after(self.sent, self.end, front.sent, front.end())
            })
    }

    /// A DSACK (6.2, step 4): the reordering window grows. `probe`: the DSACK is of a tail loss probe, which in Linux
    /// does not count (`tcp_dsack_seen`).
    pub fn duplicate(&mut self, una: u64, next: u64, probe: bool) {
        if self.adapts && (probe || !self.reordering_seen) {
            return;
        }
        if self.dsack_round.is_some_and(|round| una >= round) {
            self.dsack_round = None;
        }
        if self.dsack_round.is_none() {
            self.dsack_round = Some(next);
            self.reo_wnd_mult += 1.0;
            self.reo_wnd_persist = PERSIST;
        }
    }

    /// A recovery has ended.
    pub fn recovered(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1.0;
        }
    }

    /// The reordering window, s (6.2, step 4).
    pub fn reo_wnd(&self, board: &Scoreboard, recovering: bool, min_rtt: f64, srtt: f64) -> f64 {
        if !self.reordering_seen && (recovering || board.sacked_segments() >= DUP_THRESH as usize) {
            return 0.0;
        }
        (self.reo_wnd_mult * min_rtt / 4.0).min(srtt)
    }

    /// RTT of the delivered segment that was sent last, s.
    pub fn rtt(&self) -> f64 {
        self.rtt
    }

    /// Marks late segments lost (6.2, step 5).
    pub fn find_losses(&mut self, board: &mut Scoreboard, now: f64, reo_wnd: f64) -> Losses {
        let (mut lost, mut last, mut lost_retransmission) = (0, f64::NEG_INFINITY, None);
        let due = |sent: f64| sent + self.rtt + reo_wnd;
        let mut index = board.index_of(self.judged);
        while let Some(&record) = board.get(index) {
            if !record.is_sacked() && !record.is_retransmitted() {
                if !sent_after(self.sent, self.end, record.sent, record.end()) {
                    break;
                }
                if due(record.sent) > now {
                    last = self.last_undecided(board, index);
                    break;
                }
                lost += board.mark_lost(index);
            }
            self.judged = record.end();
            index += 1;
        }
        while let Some(&Retransmission { start, sent, reductions }) = self.retransmissions.front() {
            let index = board.index_of(start);
            let record = board.get(index).filter(|record| record.start == start && record.sent == sent);
            if let Some(record) = record.filter(|record| !record.is_sacked()) {
                if !sent_after(self.sent, self.end, sent, record.end()) {
                    break;
                }
                if due(sent) > now {
                    last = last.max(self.last_undecided_retransmission(board));
                    break;
                }
                let newly = board.mark_retransmission_lost(index);
                lost += newly;
                if newly > 0 {
                    lost_retransmission = Some(reductions);
                }
            }
            self.retransmissions.pop_front();
        }
        let again = if last > f64::NEG_INFINITY { due(last) } else { f64::INFINITY };
        Losses { lost, again, lost_retransmission }
    }

    /// When the last undecided segment among those sent once was sent, from `index` on, s.
    fn last_undecided(&self, board: &Scoreboard, index: usize) -> f64 {
        let mut last = f64::NEG_INFINITY;
        for record in (index..).map_while(|index| board.get(index)) {
            if !record.is_sacked() && !record.is_retransmitted() {
                if !sent_after(self.sent, self.end, record.sent, record.end()) {
                    break;
                }
                last = record.sent;
            }
        }
        last
    }

    /// When the last undecided retransmission was sent, s.
    fn last_undecided_retransmission(&self, board: &Scoreboard) -> f64 {
        let undecided = |repeat: &&Retransmission| {
            let record = board.get(board.index_of(repeat.start));
            record.is_some_and(|record| {
                (record.start, record.sent) == (repeat.start, repeat.sent)
                    && !record.is_sacked()
                    && sent_after(self.sent, self.end, repeat.sent, record.end())
            })
        };
        self.retransmissions.iter().rev().find(undecided).map_or(f64::NEG_INFINITY, |repeat| repeat.sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of 100 bytes, sent one each millisecond from 0 on.
    fn board(count: u64) -> Scoreboard {
        let mut board = Scoreboard::new(100);
        for i in 0..count {
            board.sent(1 + 100 * i, 100, false, i as f64 * 1e-3);
        }
        board
    }

    fn report(rack: &mut Rack, board: &mut Scoreboard, from: u64, to: u64, now: f64) {
        board.sack(&[(1 + 100 * (from - 1), 1 + 100 * to)], None, |d| rack.delivered(&d, now, None, 0.1));
    }

    #[test]
    fn the_third_report_ends_the_wait() {
        // RTTs are 100 ms; segment 1 is lost.
        let (mut rack, mut board) = (Rack::default(), board(10));
        for (segment, ms) in [(2, 101.0), (3, 102.0)] {
            let now = ms * 1e-3;
            report(&mut rack, &mut board, 2, segment, now);
            let reo_wnd = rack.reo_wnd(&board, false, 0.1, 0.1);
            assert_eq!(reo_wnd, 0.025);
            let Losses { lost, again, .. } = rack.find_losses(&mut board, now, reo_wnd);
            assert_eq!(lost, 0);
            assert!((again - 0.125).abs() < 1e-9, "{again}");
        }
        report(&mut rack, &mut board, 2, 4, 0.103);
        let reo_wnd = rack.reo_wnd(&board, false, 0.1, 0.1);
        assert_eq!((reo_wnd, rack.find_losses(&mut board, 0.103, reo_wnd).lost), (0.0, 100));
    }

    #[test]
    fn three_sacked_segments_at_a_timeout_end_the_wait() {
        for (sacked, overtaken) in [(2, 7), (3, 3), (4, 3)] {
            let mut rack = Rack { overtaken: 7, ..Rack::default() };
            rack.timed_out(sacked);
            assert_eq!(rack.overtaken, overtaken);
        }
    }

    #[test]
    fn the_timer_finds_it_where_no_more_reports_come() {
        let (mut rack, mut board) = (Rack::default(), board(3));
        report(&mut rack, &mut board, 2, 3, 0.102);
        let Losses { lost, again, .. } = rack.find_losses(&mut board, 0.102, 0.025);
        assert_eq!(lost, 0);
        assert_eq!(rack.find_losses(&mut board, again, 0.025).lost, 100);
    }

    #[test]
    fn the_timer_waits_for_the_last_undecided_segment() {
        // 1, 3 and 5 are undecided; 7 was sent after the delivered segment that was sent last.
        let (mut rack, mut board) = (Rack::default(), board(8));
        for segment in [2, 4, 6] {
            report(&mut rack, &mut board, segment, segment, 0.1 + 1e-3 * (segment - 1) as f64);
        }
        let Losses { lost, again, .. } = rack.find_losses(&mut board, 0.105, 0.025);
        assert_eq!(lost, 0);
        // 5 left at 4 ms, with an RTT of 100 ms and a window of 25 ms.
        assert!((again - 0.129).abs() < 1e-9, "{again}");
        // An ACK before that finds the first segment late.
        assert_eq!(rack.find_losses(&mut board, 0.1255, 0.025).lost, 100);
        let found = rack.find_losses(&mut board, again, 0.025);
        assert_eq!((found.lost, found.again), (200, f64::INFINITY));
        // 1 and 5 are sent again, 10 ms apart; then 8 is delivered, which was sent later than both.
        for (index, ms) in [(0, 130.0), (2, 140.0)] {
            board.retransmitted(index, ms * 1e-3, true);
            rack.retransmitted(1 + 100 * index as u64, ms * 1e-3, 0);
        }
        board.sent(801, 100, false, 0.15);
        report(&mut rack, &mut board, 9, 9, 0.25);
        let found = rack.find_losses(&mut board, 0.25, 0.025);
        // 7 and 8 are late; the time of the first retransmission ends at 255 ms, that of the second at 265 ms.
        assert_eq!(found.lost, 200);
        assert!((found.again - 0.265).abs() < 1e-9, "{}", found.again);
    }

    #[test]
    fn a_lost_repetition_is_found_by_what_was_sent_after_it() {
        let (mut rack, mut board) = (Rack::default(), board(6));
        report(&mut rack, &mut board, 2, 4, 0.103);
        let found = rack.find_losses(&mut board, 0.103, 0.0);
        assert_eq!((found.lost, found.lost_retransmission), (100, None), "it has been sent once");
        board.retransmitted(0, 0.103, true);
        rack.retransmitted(1, 0.103, 7);
        report(&mut rack, &mut board, 2, 6, 0.105);
        let found = rack.find_losses(&mut board, 0.105, 0.0);
        assert_eq!((found.lost, found.lost_retransmission), (0, None), "5 and 6 were sent before");
        board.sent(601, 100, false, 0.106);
        report(&mut rack, &mut board, 2, 7, 0.206);
        let found = rack.find_losses(&mut board, 0.206, 0.0);
        assert_eq!((found.lost, found.lost_retransmission), (100, Some(7)), "sent again after seven reductions");
        assert_eq!(board.next_lost(), Some(0));
        assert_eq!(rack.find_losses(&mut board, 0.207, 0.0).lost_retransmission, None, "found once");
    }

    #[test]
    fn reordering_widens_the_window() {
        let (mut rack, mut board) = (Rack::default(), board(10));
        report(&mut rack, &mut board, 3, 5, 0.104);
        report(&mut rack, &mut board, 2, 2, 0.105);
        assert_eq!(rack.reo_wnd(&board, false, 0.1, 1.0), 0.025, "seen: not 0, though three are reported");
        rack.duplicate(1, 1001, false);
        rack.duplicate(1, 1001, false);
        assert_eq!(rack.reo_wnd(&board, true, 0.1, 1.0), 0.05, "one duplicate a round");
        rack.duplicate(1001, 2001, false);
        assert!((rack.reo_wnd(&board, true, 0.1, 1.0) - 0.075).abs() < 1e-12);
        assert_eq!(rack.reo_wnd(&board, true, 0.1, 0.06), 0.06, "at most SRTT");
        (0..16).for_each(|_| rack.recovered());
        assert_eq!(rack.reo_wnd(&board, true, 0.1, 1.0), 0.025);
    }
}
