//! The sending end of a connection: state and events.

mod ack;
mod both_ways;
mod device;
mod echoes;
mod handshake;
mod quic;
mod recover;
mod resume;
mod send;
mod state;
mod timers;
mod undo;
mod window;

use super::control::{Algorithm, Window};
use super::ecn::Ecn;
use super::losses::LossDetection;
use super::pacer::Pacer;
use super::quic::Quic;
use super::rate::Rate;
use super::recovery::{Phase, Recovery};
use super::resume::Resume;
use super::rtt::{earlier, Rtt};
use super::rules::Base;
use super::scoreboard::Scoreboard;
use super::settings::Settings;
use super::small_queue::SmallQueue;
use super::tso::Tso;
use super::undo::Undo;
use super::usage::Usage;
use super::vars::Vars;
use super::wire::{wrap, Feedback};
use crate::tcp::output::{Output, Sent, Timer};
use echoes::Echoes;
use state::{Handshake, State};

/// The end of the data of an application that never ends: more than a connection can ever carry.
const ENDLESS: u64 = u64::MAX / 4;

/// The sending end of a connection.
///
/// Sequence numbers are counted from the SYN, which is 0; the first byte of data is 1.
#[derive(Clone, Debug)]
pub struct Connection {
    pub(super) settings: Settings,
    pub(super) vars: Vars,
    /// The congestion control.
    pub(super) control: Algorithm,
    handshake: Handshake,
    /// One behind the last byte that the application has given, and whether a FIN follows.
    pub(super) limit: u64,
    closing: bool,
    /// First sequence number on the wire.
    first: u32,
    /// First number not acknowledged, and next to send.
    una: u64,
    next: u64,
    pub(super) scoreboard: Scoreboard,
    pub(super) rtt: Rtt,
    /// When the retransmission timer expires, s; infinite if it does not run.
    pub(super) rto_at: f64,
    pub(super) detection: LossDetection,
    /// QUIC's loss detection in its place.
    quic: Option<Box<Quic>>,
    pub(super) recovery: Recovery,
    pub(super) ecn: Ecn,
    pub(super) pacer: Pacer,
    tso: Tso,
    /// Detection of spurious losses, if there is any.
    undo: Option<Box<Undo>>,
    /// The delivery rate, for congestion controls that model the path.
    rate: Option<Box<Rate>>,
    /// When the last segment left, s, and whether new data have been sent since the last ACK or timer.
    pub(super) last_sent: f64,
    sent_new: bool,
    /// cwnd limited sending at the last ACK, not a lack of data.
    pub(super) window_limited: bool,
    /// The same over a window of data, if that decides growth.
    usage: Option<Usage>,
    /// The largest window that the receiver has told of, bytes, and probes of a closed window in a row.
    largest_window: u64,
    window_probes: u32,
    /// Time stamps that segments echo, if the receiver's window is autotuned.
    echoes: Option<Box<Echoes>>,
    /// The bound of the sender's own queue, if there is one.
    small_queue: Option<SmallQueue>,
    /// Careful Resume, if it is used.
    resume: Option<Box<Resume>>,
    /// When the last pure ACK left, s: it counts as a write (Linux, `tcp_wstamp_ns`).
    last_pure_ack: f64,
    /// Bytes of a segment's payload that options of acknowledgements take, with data both ways.
    room: u16,
    /// Every part of this connection allows the fast path of ACKs, and that of sending.
    fast_acks: bool,
    fast_sending: bool,
}

impl Connection {
    /// Closed, with nothing to send; its numbers on the wire start with `first`.
    pub fn new(settings: Settings, first: u32) -> Self {
        let control = settings.algorithm();
        let models = control.view().owns_window();
        let scoreboard = Scoreboard::new(settings.mss);
        let (rtt, tso) = (Rtt::new(&settings, models), Tso::new(&settings));
        let fast_acks = !models
            && rtt.allows_fast_path()
            && !settings.window_moves()
            && !settings.pacing.small_queue
            && !settings.resume.on
            && !settings.quic;
        Connection {
            vars: Vars::new(settings.recovery.ssthresh == Base::Cwnd),
            handshake: Handshake::new(),
            limit: 1,
            closing: false,
            first,
            una: 0,
            next: 0,
            scoreboard: match models && control.view().answers_marks() {
                true => scoreboard.noting_losses(),
                false => scoreboard,
            },
            fast_sending: fast_acks && tso.allows_fast_path() && !settings.growth.use_window,
            fast_acks,
            rtt,
            rto_at: f64::INFINITY,
            detection: LossDetection::new(&settings),
            quic: settings.quic.then(|| Box::new(Quic::new())),
            recovery: Recovery::new(),
            ecn: Ecn::new(&settings),
            pacer: Pacer::new(&settings, models),
            tso,
            undo: Undo::new(&settings),
            rate: models.then(Box::default),
            largest_window: settings.receiver.window,
            window_probes: 0,
            echoes: settings.receiver.window_tuned.then(Box::default),
            small_queue: settings.pacing.small_queue.then(SmallQueue::default),
            resume: Resume::new(&settings),
            last_pure_ack: 0.0,
            room: 0,
            last_sent: 0.0,
            sent_new: false,
            window_limited: false,
            usage: settings.growth.use_window.then(Usage::default),
            control,
            settings,
        }
    }

    /// First sequence number on the wire, and the one behind all that have been used.
    pub fn numbers(&self) -> (u32, u32) {
        (self.first, wrap(self.next.max(1), self.first))
    }

    /// One behind the last sequence number that the application has given, the FIN included.
    pub fn limit(&self) -> u64 {
        self.limit + u64::from(self.closing)
    }

    /// Next sequence number to send; 0 is the SYN.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// First sequence number not acknowledged.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Whether the SYN has been acknowledged.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.handshake.state == State::Established
    }

    /// Congestion window, segments.
    pub fn cwnd(&self) -> f64 {
        self.vars.cwnd
    }

    /// Calls `out` with the name and value of each inner value of a congestion control that has some, after `in_flight`,
    /// segments.
    pub fn inner(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let mut values = Vec::new();
        self.control.view().inner(&mut |name, value| values.push((name, value)));
        if !values.is_empty() {
            out("in_flight", self.pipe() as f64 / self.mss());
        }
        values.into_iter().for_each(|(name, value)| out(name, value));
    }

    /// Slow start threshold, segments.
    pub fn ssthresh(&self) -> f64 {
        self.vars.ssthresh
    }

    /// Retransmitted segments.
    pub fn retransmits(&self) -> u32 {
        self.vars.retransmits
    }

    /// Timeouts with segments outstanding, and of the SYN.
    pub fn timeouts(&self) -> u32 {
        self.vars.timeouts
    }

    /// Reductions of cwnd that were undone, as the losses were spurious.
    pub fn undos(&self) -> u32 {
        self.vars.undos
    }

    /// Packets that accurate ECN has reported as marked.
    pub fn marks(&self) -> u64 {
        self.ecn.counted()
    }

    /// The current timeout, s.
    pub fn rto(&self) -> f64 {
        self.rtt.rto.value()
    }

    /// Smoothed round-trip time, s, once there is a sample.
    pub fn srtt(&self) -> Option<f64> {
        self.rtt.rto.srtt()
    }

    /// What is in flight, bytes (RFC 6675, `pipe`).
    pub fn pipe(&self) -> u64 {
        self.scoreboard.pipe()
    }

    /// Whether changes of variables go to [`Output::changes`].
    pub fn is_traced(&self) -> bool {
        self.vars.traced
    }

    /// Turns that on or off.
    pub fn trace(&mut self, traced: bool) {
        self.vars.traced = traced;
    }

    /// State: `closed`, `listening`, `opening`, `open`, `recovery` or `loss`.
    pub fn standing(&self) -> &'static str {
        match (self.handshake.state, &self.recovery.phase) {
            (State::Closed, _) => "closed",
            (State::Listen, _) => "listening",
            (State::SynSent | State::SynReceived, _) => "opening",
            (State::Established, Phase::Open) => "open",
            (State::Established, Phase::Fast(_)) => "recovery",
            (State::Established, Phase::Loss) => "loss",
        }
    }

    /// The congestion control.
    pub fn algorithm(&self) -> &Algorithm {
        &self.control
    }

    /// Whether all data that the application has given are acknowledged.
    pub fn finished(&self) -> bool {
        self.handshake.state == State::Closed || self.una >= self.limit()
    }

    /// The application gives `bytes` more (`None`: without end), and says whether they are the last.
    pub fn offer(&mut self, now: f64, bytes: Option<u64>, last: bool, out: &mut Output) {
        let unsent = self.limit.saturating_sub(self.next);
        self.limit = match bytes {
            Some(bytes) => (self.limit + bytes).min(ENDLESS),
            None => ENDLESS,
        };
        self.closing |= last && self.settings.fin && bytes.is_some();
        match self.handshake.state {
            State::Closed => {
                self.vars.set_cwnd(1.0, out);
                self.handshake.state = State::SynSent;
                self.send_syn(now, out);
            }
            State::SynSent | State::Listen | State::SynReceived => {}
            State::Established => {
                self.note_write(unsent);
                self.halve_when_idle(now, out);
                self.transmit(now, out);
                self.plan_probe(now, false);
            }
        }
        self.end_event(out);
    }

    /// The application ends: unsent data are discarded.
    pub fn end(&mut self) {
        self.limit = self.limit.min(self.next.max(1));
    }

    /// An ACK arrives.
    pub fn on_feedback(&mut self, now: f64, feedback: &Feedback, out: &mut Output) {
        match self.handshake.state {
            State::Closed | State::Listen => return,
            State::SynReceived => self.open_passively(now, feedback, out),
            State::SynSent => self.open(now, feedback, out),
            State::Established if feedback.syn => {
                // Our ACK of the SYN-ACK was lost, or the SYN arrived twice.
                out.segments.push(Sent { seq: wrap(self.next, self.first), payload: 0, bits: 0 });
            }
            State::Established => self.on_ack(now, feedback, out),
        }
        self.end_event(out);
    }

    /// Ends an event: sets PSH in the segments sent, and the wake-up time.
    fn end_event(&mut self, out: &mut Output) {
        if self.tso.pushes {
            self.push(out);
        }
        let mut wake = earlier(self.rto_at, self.pacer.next_at);
        if let Some(time) = self.detection.by_time() {
            wake = earlier(wake, earlier(time.reorder_at, time.probe_at));
        }
        if let Some(queue) = &self.small_queue {
            wake = earlier(wake, queue.release_at());
        }
        debug_assert!(
            wake < f64::INFINITY || !self.is_open() || (self.scoreboard.is_empty() && self.next >= self.limit()),
            "data are left and no timer runs: a stalled flow"
        );
        out.timer = Some(Timer::At(wake));
    }

    fn mss(&self) -> f64 {
        f64::from(self.settings.mss)
    }

    fn segments(&self, bytes: u64) -> f64 {
        // The conversion of a signed number is one instruction.
        bytes as i64 as f64 / self.mss()
    }

    fn window(&self) -> Window {
        self.vars.window()
    }

    /// Whether the congestion control models the path and sets cwnd on its own, in a recovery too.
    fn owns_window(&self) -> bool {
        self.rate.is_some()
    }
}

#[cfg(test)]
mod tests;
