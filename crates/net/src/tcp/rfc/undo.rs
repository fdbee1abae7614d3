//! What is remembered of an episode of losses, to undo its reduction of cwnd if the losses turn out to be spurious:
//! segments were late, not lost.
//!
//! Three detections: F-RTO (RFC 5682), time stamps (Eifel, RFC 3522), and DSACKs of all retransmissions (RFC 3708). The
//! names in parentheses are those of Linux (`struct tcp_sock`), whose rules these are.

use super::control::Window;
use super::settings::Settings;

/// Times that differ by less, s, are the same time stamp.
const SAME_STAMP: f64 = 1e-6;

/// The last episode of losses: a fast recovery, or what follows a timeout.
#[derive(Clone, Debug)]
pub(super) struct Undo {
    /// The detections that are on.
    with_frto: bool,
    with_stamps: bool,
    with_dsacks: bool,
    /// First number not acknowledged when the episode started (`undo_marker`); none if there is nothing to undo.
    marker: Option<u64>,
    /// Retransmissions that no DSACK has reported (`undo_retrans`); none before the first.
    unreported: Option<u64>,
    /// When the episode's first retransmission was sent, s (`retrans_stamp`).
    first_repeat: Option<f64>,
    /// cwnd and ssthresh before the episode (`prior_cwnd`, `prior_ssthresh`); none if the reduction stays.
    before: Option<Window>,
    /// Segments that DSACKs have reported on the whole connection.
    reported: u64,
    /// Whether F-RTO is under way (`frto`).
    pub frto: bool,
}

/// What an ACK means for sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sends {
    /// All data that cwnd allows.
    All,
    /// New data only, and no segment counts as lost by this ACK: an original segment has arrived.
    NewOnly,
    /// New data only, if there are any: F-RTO's probe (RFC 5682, 3.1, step 2b).
    Probe,
}

impl Undo {
    /// The state; none if no detection is on.
    pub fn new(settings: &Settings) -> Option<Box<Undo>> {
        let with_stamps = settings.undo.eifel && settings.timestamps;
        let any = settings.undo.frto || with_stamps || settings.undo.dsack;
        (any && settings.sack).then(|| {
            Box::new(Undo {
                with_frto: settings.undo.frto,
                with_stamps,
                with_dsacks: settings.undo.dsack,
                marker: None,
                unreported: None,
                first_repeat: None,
                before: None,
                reported: 0,
                frto: false,
            })
        })
    }

    /// An episode starts when everything below `una` is acknowledged and `repeats` retransmissions are in flight.
    pub fn start(&mut self, una: u64, repeats: u64, before: Option<Window>) {
        self.marker = Some(una);
        self.unreported = (repeats > 0).then_some(repeats);
        self.before = before;
        self.frto = false;
    }

    /// No retransmission is outstanding.
    pub fn nothing_repeated(&mut self) {
        self.first_repeat = None;
    }

    /// The timer has expired; `first`: outside of a recovery, or for the same segment again (RFC 5682, 3.1, step 1).
    pub fn timed_out(&mut self, first: bool) {
        self.frto = self.with_frto && first;
    }

    /// A segment has been retransmitted.
    #[inline(always)]
    pub fn repeated(&mut self, now: f64) {
        self.first_repeat.get_or_insert(now);
        self.unreported = Some(self.unreported.unwrap_or(0) + 1);
    }

    /// A DSACK reports `segments` segments that end at `end`; `repeats` have been retransmitted on the connection.
    pub fn duplicated(&mut self, end: u64, segments: u64, repeats: u64) {
        self.reported += segments;
        let ours = self.reported <= repeats;
        if let Some(left) = self.unreported.as_mut().filter(|_| ours && self.marker.is_some_and(|marker| end > marker))
        {
            *left = left.saturating_sub(segments);
        }
    }

    /// A mark is echoed: the reduction stays (RFC 4015, step 5; Linux, `tcp_fastretrans_alert`).
    pub fn prohibit(&mut self) {
        self.before = None;
    }

    /// Whether every retransmission has been reported as a duplicate (Linux, `tcp_try_undo_dsack`).
    pub fn all_reported(&self) -> bool {
        self.with_dsacks && self.marker.is_some() && self.unreported == Some(0)
    }

    /// Whether an ACK that advances the window and echoes this time stamp is of an original segment: one sent before
    /// the first retransmission, if there is any (Linux, `tcp_packet_delayed`).
    pub fn original_arrived(&self, echo: f64) -> bool {
        self.with_stamps && self.marker.is_some() && self.first_repeat.is_none_or(|sent| echo < sent - SAME_STAMP)
    }

    /// The episode was spurious: returns what an undo restores, if an undo is allowed.
    pub fn take(&mut self) -> Option<Window> {
        (self.marker, self.frto) = (None, false);
        self.before.take()
    }
}

#[cfg(test)]
mod tests {
    use super::super::rules::UndoRules;
    use super::*;

    fn undo() -> Undo {
        let settings = Settings { undo: UndoRules { frto: true, eifel: true, dsack: true }, ..Settings::default() };
        *Undo::new(&settings).expect("detections are on")
    }

    #[test]
    fn dsacks_of_other_segments_do_not_count() {
        let mut undo = undo();
        undo.start(100, 0, None);
        assert!(!undo.all_reported(), "nothing was retransmitted");
        undo.repeated(1.0);
        undo.repeated(1.0);
        undo.duplicated(100, 1, 2);
        assert!(!undo.all_reported(), "before the episode");
        undo.duplicated(200, 1, 2);
        undo.duplicated(300, 1, 2);
        assert!(!undo.all_reported(), "more duplicates than retransmissions: the network duplicates");
        undo.duplicated(300, 1, 4);
        assert!(undo.all_reported());
        undo.take();
        assert!(!undo.all_reported());
    }

    #[test]
    fn an_echo_from_before_the_first_retransmission() {
        let mut undo = undo();
        assert!(!undo.original_arrived(0.5), "no episode");
        undo.start(100, 0, None);
        assert!(undo.original_arrived(0.5), "nothing retransmitted yet");
        undo.repeated(1.0);
        undo.repeated(2.0);
        assert!(undo.original_arrived(0.99) && !undo.original_arrived(1.0) && !undo.original_arrived(1.5));
    }
}
