//! TCP with selective acknowledgements (ns-2.35 `tcp-sack1.cc`).
//!
//! In recovery a segment is sent while `pipe`, the estimate of the segments in flight, is below cwnd: first the holes
//! below the highest block, then new segments. Differences from RFC 6675, all ns-2's: `pipe` is a counter (minus 1 for
//! an ACK, minus 1 more for a partial ACK, plus 1 for a segment sent); every hole counts as lost; duplicates count only
//! if their blocks are new; the ACK that ends recovery does not grow cwnd; every partial ACK restarts the timer.

use super::ack::Ack;
use super::core::{Action, Core};
use super::scoreboard::Scoreboard;
use crate::tcp::output::Output;

/// State of SACK recovery.
#[derive(Clone, Debug)]
pub(super) struct Sack {
    board: Scoreboard,
    /// Estimate of the segments in flight.
    pipe: i32,
    /// Whether the sender is in fast recovery.
    recovering: bool,
    /// Whether no new data has been acknowledged since a timeout.
    after_timeout: bool,
}

impl Sack {
    pub(super) fn new() -> Self {
        Sack { board: Scoreboard::new(), pipe: -1, recovering: false, after_timeout: false }
    }

    pub(super) fn on_ack(&mut self, core: &mut Core, now: f64, ack: Ack, out: &mut Output) {
        core.respond_to_echo(ack, out);
        if self.recovering {
            self.on_ack_in_recovery(core, now, ack, out);
            self.send_much(core, now, out);
            return;
        }
        if ack.number > core.last_ack {
            core.advance(now, ack, out);
            self.after_timeout = false;
            self.board.clear();
        } else if ack.number == core.last_ack
            && !self.after_timeout
            && self.board.update(core.ack, ack.blocks.as_slice())
        {
            self.on_duplicate(core, now, out);
        }
        if core.dupacks == 0 {
            self.send_much(core, now, out);
        }
    }

    fn on_duplicate(&mut self, core: &mut Core, now: f64, out: &mut Output) {
        core.set_dupacks(core.dupacks + 1, out);
        match core.dupacks {
            1 | 2 => core.limited_transmit(now, out),
            3 if core.may_retransmit() => {
                core.recover = core.max_sent;
                core.reduce(true, out);
                self.enter_recovery(core, now, out);
            }
            // An echo has reduced the window already.
            3 if core.action == Action::Ecn => self.enter_recovery(core, now, out),
            _ => {}
        }
    }

    fn enter_recovery(&mut self, core: &mut Core, now: f64, out: &mut Output) {
        core.action = Action::Dupack;
        self.recovering = true;
        self.pipe = core.max_sent - core.ack - 3;
        self.board.mark(core.ack + 1);
        core.arm_timer(out);
        core.stop_timing();
        core.send(now, core.last_ack + 1, out);
    }

    fn on_ack_in_recovery(&mut self, core: &mut Core, now: f64, ack: Ack, out: &mut Output) {
        self.pipe -= 1;
        if ack.number >= core.recover {
            core.recover = 0;
            self.recovering = false;
            core.acknowledge(now, ack, out);
            self.after_timeout = false;
            self.board.clear();
        } else if ack.number > core.ack {
            // `last_ack` stays until recovery ends.
            core.set_ack(ack.number, out);
            self.board.update(core.ack, ack.blocks.as_slice());
            self.pipe -= 1;
            core.arm_timer(out);
            core.set_backoff(1, out);
        } else if !self.after_timeout && self.board.update(core.ack, ack.blocks.as_slice()) && core.dupacks > 0 {
            core.set_dupacks(core.dupacks + 1, out);
        }
    }

    /// Sends holes and new segments while the window or, in recovery, `pipe` allows.
    pub(super) fn send_much(&mut self, core: &mut Core, now: f64, out: &mut Output) {
        loop {
            let open = if self.recovering {
                self.pipe < core.cwnd as i32
            } else {
                core.next <= core.last_ack.saturating_add(core.usable_window())
            };
            if !open || core.last_ack >= core.limit {
                return;
            }
            let highest = core.ack.saturating_add(core.window);
            let seq = match self.board.next_hole() {
                None => {
                    let edge = if self.recovering { highest } else { core.ack.saturating_add(core.usable_window()) };
                    if core.next > edge.min(core.limit) {
                        return;
                    }
                    core.next += 1;
                    core.next - 1
                }
                Some(hole) => {
                    if core.recover <= 0 || hole > highest {
                        return;
                    }
                    self.board.mark(hole);
                    hole
                }
            };
            core.send(now, seq, out);
            core.next = core.next.max(seq + 1);
            self.pipe += 1;
        }
    }

    pub(super) fn on_timeout(&mut self, core: &mut Core, now: f64, out: &mut Output) {
        core.set_dupacks(0, out);
        self.recovering = false;
        self.after_timeout = true;
        core.last_ack = core.last_ack.max(core.ack);
        self.board.clear();
        core.time_out(out);
        self.send_much(core, now, out);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{acks, established};
    use super::super::{Block, Blocks, Sender};
    use super::*;
    use crate::tcp::flavour::Flavour;

    fn sacks(sender: &mut Sender, out: &mut Output, number: i32, blocks: &[(i32, i32)]) -> Vec<i32> {
        let mut report = Blocks::NONE;
        blocks.iter().for_each(|&(start, end)| report.push(Block { start, end }));
        sender.on_ack(0.6, Ack { number, echo: false, blocks: &report }, out);
        out.segments.drain(..).map(|sent| sent.seq as i32).collect()
    }

    /// A sender with cwnd 16 and segments 15..=30 in flight, of which 15, 18 and 19 are lost.
    fn in_recovery() -> (Sender, Output) {
        let (mut sender, mut out) = established(Flavour::Sack, 4);
        assert_eq!(sacks(&mut sender, &mut out, 14, &[(16, 17)]), [31]);
        assert_eq!(sacks(&mut sender, &mut out, 14, &[(16, 18)]), [32]);
        assert_eq!(sacks(&mut sender, &mut out, 14, &[(20, 21), (16, 18)]), [15]);
        assert_eq!((sender.core.cwnd, sender.core.ssthresh, sender.core.recover), (8.0, 8, 32));
        (sender, out)
    }

    #[test]
    fn pipe_estimates_the_segments_in_flight() {
        let (mut sender, mut out) = in_recovery();
        // 18 segments are sent and not acknowledged, three of them have arrived: pipe is 15, and each ACK subtracts one
        // until it is below 8.
        for end in 22..=28 {
            assert_eq!(sacks(&mut sender, &mut out, 14, &[(20, end), (16, 18)]), [], "{end}");
        }
        assert_eq!(sacks(&mut sender, &mut out, 14, &[(20, 29), (16, 18)]), [18]);
        assert_eq!(sacks(&mut sender, &mut out, 14, &[(20, 30), (16, 18)]), [19]);
        assert_eq!(sacks(&mut sender, &mut out, 14, &[(20, 31), (16, 18)]), [33], "no hole is left");
        // A partial ACK subtracts two and restarts the timer.
        out.timer = None;
        assert_eq!(sacks(&mut sender, &mut out, 17, &[(20, 31)]), [34, 35]);
        assert_eq!((sender.core.ack, sender.core.last_ack), (17, 14));
        assert!(out.timer.is_some());
        // The end of recovery does not grow cwnd.
        let sent = sacks(&mut sender, &mut out, 32, &[]);
        assert_eq!((sender.core.cwnd, sent[0], sent.len()), (8.0, 36, 5));
    }

    #[test]
    fn duplicates_without_new_blocks_are_not_counted() {
        let (mut sender, mut out) = established(Flavour::Sack, 4);
        sacks(&mut sender, &mut out, 14, &[(16, 17)]);
        for _ in 0..5 {
            assert_eq!(sacks(&mut sender, &mut out, 14, &[(16, 17)]), []);
        }
        assert_eq!(sender.core.dupacks, 1);
    }

    #[test]
    fn the_scoreboard_is_empty_after_a_timeout_until_a_new_ack() {
        let (mut sender, mut out) = in_recovery();
        sender.on_timeout(2.0, &mut out);
        assert_eq!(out.segments.drain(..).map(|sent| sent.seq).collect::<Vec<_>>(), [15]);
        assert_eq!(sacks(&mut sender, &mut out, 14, &[(20, 31), (16, 18)]), []);
        assert_eq!(sender.core.dupacks, 0);
        assert_eq!(acks(&mut sender, &mut out, 2.2, &[17]), [18, 19]);
    }
}
