//! RACK (RFC 8985): losses by time. A segment is lost if one sent later has arrived and it has not, some time after.
//!
//! Segments that were sent once are in the order of their sending, and those sent again are kept in a queue of their own, so
//! that a look at both fronts finds what is due.

use super::board::{Board, Delivered, DUP_THRESH};
use std::collections::VecDeque;

/// Recoveries for which a larger reordering window lasts (RFC 8985, 6.2, step 4).
const PERSIST: u32 = 16;

/// What RACK knows (RFC 8985, 5.2 to 5.4).
#[derive(Clone, Debug)]
pub struct Rack {
    /// Of the segment sent last of those that have arrived: when it was sent, its end, how long it took.
    sent: f64,
    end: u64,
    rtt: f64,
    /// One behind the highest that has arrived.
    fack: u64,
    reordering_seen: bool,
    reo_wnd_mult: f64,
    reo_wnd_persist: u32,
    /// Until then duplicates do not count again.
    dsack_round: Option<u64>,
    /// Below this, no segment that was sent once waits for its verdict.
    judged: u64,
    /// Segments sent again, in the order of that.
    repeats: VecDeque<Repeat>,
    /// What was sent again and SACK reports has arrived whatever time stamp is echoed.
    trusts_reports: bool,
}

/// A segment that has been sent again: its begin, when, and after how many reductions of the window.
#[derive(Clone, Copy, Debug)]
struct Repeat {
    start: u64,
    sent: f64,
    reductions: u32,
}

/// What is taken for lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Losses {
    /// Sequence numbers.
    pub lost: u64,
    /// When to look again, s; infinite if nothing waits.
    pub again: f64,
    /// Of the retransmissions among them: after how many reductions the last of them was sent.
    pub repeat: Option<u32>,
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
            repeats: VecDeque::new(),
            trusts_reports: false,
        }
    }
}

/// `RACK_sent_after` (6.2, step 2).
fn sent_after(sent: f64, end: u64, than_sent: f64, than_end: u64) -> bool {
    sent > than_sent || (sent == than_sent && end > than_end)
}

impl Rack {
    /// Nothing has arrived. An ACK that reports what lies beyond a hole echoes the time stamp of what came before that hole, so
    /// that what was sent again and is reported says nothing (RFC 8985, 6.2, step 2), or with `trusts_reports` it does, if it
    /// took the smallest round-trip time at least (Linux, `tcp_sacktag_one`).
    pub fn new(trusts_reports: bool) -> Self {
        Rack { trusts_reports, ..Rack::default() }
    }

    /// A segment has been sent again, after so many reductions of the window.
    pub fn sent_again(&mut self, start: u64, now: f64, reductions: u32) {
        self.repeats.push_back(Repeat { start, sent: now, reductions });
    }

    /// A segment has arrived (6.2, steps 2 and 3). `echo` is the time stamp that the ACK echoes, if any.
    pub fn delivered(&mut self, delivered: &Delivered, now: f64, echo: Option<f64>, min_rtt: f64) {
        let record = &delivered.record;
        if record.end() >= self.fack {
            self.fack = record.end();
        } else if !record.is_repeated() {
            self.reordering_seen = true;
        }
        let took = now - record.sent;
        if record.is_repeated() {
            // It may be the first transmission that has arrived. Time stamps are a little coarse.
            let before = echo.is_some_and(|echo| echo < record.sent - 1e-6);
            if (before && !(delivered.reported && self.trusts_reports)) || took < min_rtt {
                return;
            }
        }
        self.rtt = took;
        if sent_after(record.sent, record.end(), self.sent, self.end) {
            self.sent = record.sent;
            self.end = record.end();
        }
    }

    /// Whether the first segment outstanding, and so any, was not sent before the last that has arrived, and no verdict is
    /// due: an ACK of it finds no loss.
    pub fn is_quiet(&self, board: &Board) -> bool {
        self.repeats.is_empty()
            && board.front().is_none_or(|front| {
                self.judged <= front.start && !sent_after(self.sent, self.end, front.sent, front.end())
            })
    }

    /// A segment has come twice (6.2, step 4): reordering lasts longer than was thought.
    pub fn duplicate(&mut self, una: u64, next: u64) {
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

    /// How long a segment may come late, s (6.2, step 4).
    pub fn reo_wnd(&self, board: &Board, recovering: bool, min_rtt: f64, srtt: f64) -> f64 {
        if !self.reordering_seen && (recovering || board.reports() >= DUP_THRESH as usize) {
            return 0.0;
        }
        (self.reo_wnd_mult * min_rtt / 4.0).min(srtt)
    }

    /// Round-trip time of the segment that was sent last of those that have arrived, s.
    pub fn rtt(&self) -> f64 {
        self.rtt
    }

    /// Takes what is late for lost (6.2, step 5).
    pub fn find_losses(&mut self, board: &mut Board, now: f64, reo_wnd: f64) -> Losses {
        let (mut lost, mut again, mut repeat) = (0, f64::INFINITY, None);
        let due = |sent: f64| sent + self.rtt + reo_wnd;
        let mut index = board.index_of(self.judged);
        while let Some(&record) = board.get(index) {
            if !record.is_sacked() && !record.is_repeated() {
                if !sent_after(self.sent, self.end, record.sent, record.end()) {
                    break;
                }
                if due(record.sent) > now {
                    again = due(record.sent);
                    break;
                }
                lost += board.mark_lost(index);
            }
            self.judged = record.end();
            index += 1;
        }
        while let Some(&Repeat { start, sent, reductions }) = self.repeats.front() {
            let index = board.index_of(start);
            let record = board.get(index).filter(|record| record.start == start && record.sent == sent);
            if let Some(record) = record.filter(|record| !record.is_sacked()) {
                if !sent_after(self.sent, self.end, sent, record.end()) {
                    break;
                }
                if due(sent) > now {
                    again = again.min(due(sent));
                    break;
                }
                let newly = board.mark_lost_again(index);
                lost += newly;
                repeat = if newly > 0 { Some(reductions) } else { repeat };
            }
            self.repeats.pop_front();
        }
        Losses { lost, again, repeat }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of 100 bytes, one each millisecond from 0 on.
    fn board(count: u64) -> Board {
        let mut board = Board::new(100);
        for i in 0..count {
            board.sent(1 + 100 * i, 100, false, i as f64 * 1e-3);
        }
        board
    }

    fn report(rack: &mut Rack, board: &mut Board, from: u64, to: u64, now: f64) {
        board.report(&[(1 + 100 * (from - 1), 1 + 100 * to)], None, |d| rack.delivered(&d, now, None, 0.1));
    }

    #[test]
    fn the_third_report_ends_the_wait() {
        // Everything takes 100 ms; 1 is lost.
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
    fn the_timer_finds_it_where_no_more_reports_come() {
        let (mut rack, mut board) = (Rack::default(), board(3));
        report(&mut rack, &mut board, 2, 3, 0.102);
        let Losses { lost, again, .. } = rack.find_losses(&mut board, 0.102, 0.025);
        assert_eq!(lost, 0);
        assert_eq!(rack.find_losses(&mut board, again, 0.025).lost, 100);
    }

    #[test]
    fn a_lost_repetition_is_found_by_what_was_sent_after_it() {
        let (mut rack, mut board) = (Rack::default(), board(6));
        report(&mut rack, &mut board, 2, 4, 0.103);
        let found = rack.find_losses(&mut board, 0.103, 0.0);
        assert_eq!((found.lost, found.repeat), (100, None), "it has been sent once");
        board.sent_again(0, 0.103, true);
        rack.sent_again(1, 0.103, 7);
        report(&mut rack, &mut board, 2, 6, 0.105);
        let found = rack.find_losses(&mut board, 0.105, 0.0);
        assert_eq!((found.lost, found.repeat), (0, None), "5 and 6 were sent before");
        board.sent(601, 100, false, 0.106);
        report(&mut rack, &mut board, 2, 7, 0.206);
        let found = rack.find_losses(&mut board, 0.206, 0.0);
        assert_eq!((found.lost, found.repeat), (100, Some(7)), "sent again after seven reductions");
        assert_eq!(board.next_lost(), Some(0));
        assert_eq!(rack.find_losses(&mut board, 0.207, 0.0).repeat, None, "found once");
    }

    #[test]
    fn reordering_widens_the_window() {
        let (mut rack, mut board) = (Rack::default(), board(10));
        report(&mut rack, &mut board, 3, 5, 0.104);
        report(&mut rack, &mut board, 2, 2, 0.105);
        assert_eq!(rack.reo_wnd(&board, false, 0.1, 1.0), 0.025, "seen: not 0, though three are reported");
        rack.duplicate(1, 1001);
        rack.duplicate(1, 1001);
        assert_eq!(rack.reo_wnd(&board, true, 0.1, 1.0), 0.05, "one duplicate a round");
        rack.duplicate(1001, 2001);
        assert!((rack.reo_wnd(&board, true, 0.1, 1.0) - 0.075).abs() < 1e-12);
        assert_eq!(rack.reo_wnd(&board, true, 0.1, 0.06), 0.06, "at most SRTT");
        (0..16).for_each(|_| rack.recovered());
        assert_eq!(rack.reo_wnd(&board, true, 0.1, 1.0), 0.025);
    }
}
