//! The receiver: contents of its ACKs (RFC 9293), with SACK and DSACK (RFC 2018, RFC 2883), the echoed time stamp (RFC
//! 7323), and ECN (RFC 3168, RFC 8257, RFC 9768). [`ack_policy`] decides when ACKs are sent, [`gro`] which segments
//! come as one.
//!
//! The application reads data immediately, so that the offered window is constant, or as [`reader`] says; or the window
//! is autotuned ([`tuning`]).

mod ack_policy;
mod both_ways;
mod gro;
mod quic;
mod quick;
mod reader;
mod segment;
mod settings;
mod tuning;

use super::accecn::{answered, flags, served, Counters};
use super::accecn_option::AccecnOption;
use super::reading::Reading;
use super::rules::Feedbacks;
use super::settings::Settings;
use super::wire::Range;
use super::wire::{unwrap, wrap, Arrived, Feedback, SAME_WINDOW};
use crate::segment::{CE, CWR, FIN, PSH, SYN};
pub use ack_policy::SACK_WAIT;
use ack_policy::{AckPolicy, Held, When};
use gro::Gro;
use quic::Acks;
use reader::Reader;
use segment::Came;
pub use settings::ReceiverSettings;
use tuning::Sizes;

impl Reply {
    /// The immediate ACKs, and after how many seconds the timer expires (infinite: never); `None`: the timer goes on.
    pub(super) fn parts(self) -> ([Option<Feedback>; 2], Option<f64>) {
        match self {
            Reply::Nothing => ([None, None], None),
            Reply::Now(one) => ([Some(one), None], Some(f64::INFINITY)),
            Reply::Both(first, second, wait) => ([Some(first), Some(second)], Some(wait)),
            Reply::Later(wait) => ([None, None], Some(wait)),
            Reply::NowAndLater(one, wait) => ([Some(one), None], Some(wait)),
        }
    }
}

impl Settings {
    /// The receiver for a sender with these settings, whose connection starts with the number `first`.
    pub fn receiver(&self, first: u32) -> Receiver {
        Receiver::new(self.receiver_settings(first))
    }
}

/// The application and its buffer, unless it reads immediately and the window is constant.
fn reader(settings: &ReceiverSettings) -> Option<Box<Reader>> {
    let (mss, window) = (settings.mss, settings.rules.window);
    if !settings.rules.window_tuned {
        return settings.rules.reading.map(|of| Box::new(Reader::new(of, window, mss)));
    }
    let sizes = Sizes {
        mss,
        first: settings.rules.first_window,
        most: window,
        share: settings.rules.window_share,
        sack: settings.blocks > 0,
    };
    Some(Box::new(Reader::tuned(settings.rules.reading.unwrap_or(Reading::AT_ONCE), sizes)))
}

/// The reply to a segment.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)]
pub enum Reply {
    /// No ACK: the segment is empty, or its ACK is delayed with another.
    Nothing,
    /// An immediate ACK; the timer is cancelled.
    Now(Feedback),
    /// Two immediate ACKs, in this order, and after how many seconds the timer expires (infinite: never).
    Both(Feedback, Feedback, f64),
    /// An ACK delayed by so many seconds ([`Receiver::on_timer`]).
    Later(f64),
    /// An immediate ACK of earlier segments; the ACK of this one is delayed by so many seconds.
    NowAndLater(Feedback, f64),
}

/// The reply to the next segment expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// An immediate ACK; the timer is cancelled.
    Now(Feedback),
    /// An ACK delayed by so many seconds.
    Later(f64),
}

/// A receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    settings: ReceiverSettings,
    /// Next sequence number expected; 0 before the SYN.
    next: u64,
    /// Disjoint ranges received beyond it, the newest first.
    beyond: Vec<Range>,
    policy: AckPolicy,
    /// QUIC's ACKs, in place of `policy`.
    quic: Option<Box<Acks>>,
    /// Receive offload, if it is on.
    gro: Option<Box<Gro>>,
    /// The application, unless it reads immediately.
    reader: Option<Box<Reader>>,
    /// Time stamp to echo, and the last acknowledgement sent (RFC 7323, 4.3: `TS.Recent`, `Last.ACK.sent`).
    recent: f64,
    acked: u64,
    ecn: bool,
    /// Whether a marked segment has arrived, and no CWR since (RFC 3168, 6.1.3).
    unanswered_mark: bool,
    /// Whether the last segment was marked (RFC 8257, 3.2: `DCTCP.CE`).
    marked: bool,
    /// Marked packets that have arrived, plus 5 ([`Feedbacks::Counter`]).
    count: u64,
    /// The counters of accurate ECN.
    counters: Option<Box<Counters>>,
    /// The number after the FIN, once that has arrived.
    fin_at: Option<u64>,
    /// One-way delay of the last segment, s.
    one_way: f64,
    /// ECN field and time stamp of the SYN.
    syn: (u8, f64),
}

impl Receiver {
    /// A receiver that has received nothing.
    pub fn new(settings: ReceiverSettings) -> Self {
        Receiver {
            policy: AckPolicy::new(&settings),
            quic: Acks::new(&settings),
            gro: Gro::new(&settings),
            reader: reader(&settings),
            settings,
            next: 0,
            beyond: Vec::new(),
            recent: 0.0,
            acked: 0,
            ecn: false,
            unanswered_mark: false,
            marked: false,
            count: super::accecn::FIRST_CEP,
            counters: None,
            fin_at: None,
            one_way: 0.0,
            syn: (0, 0.0),
        }
    }

    /// Next sequence number expected: 0 before the SYN, then one more than the bytes received in order (two after a
    /// FIN).
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Payload received in order, bytes.
    pub fn bytes(&self) -> u64 {
        self.next.saturating_sub(1) - u64::from(self.fin_at == Some(self.next))
    }

    /// Whether an ACK is delayed.
    pub fn holds_an_ack(&self) -> bool {
        self.policy.holds_an_ack() || self.quic.as_ref().is_some_and(|quic| quic.waits())
    }

    /// Whether a segment carries payload only, and the ECN echo does not change.
    #[inline(always)]
    fn is_quiet(&self, arrived: &Arrived) -> bool {
        let reports = self.marked || arrived.bits & CE == CE || arrived.bits & CWR != 0;
        let marks = self.ecn && (reports || self.counters.is_some());
        arrived.payload > 0 && arrived.bits & (SYN | FIN) == 0 && !marks && self.next > 0
    }

    /// The fast path of [`take`](Self::take): takes in a segment with payload if it is the next one, and nothing has
    /// arrived beyond it. `None` if nothing was done.
    #[inline(always)]
    pub fn take_next(&mut self, arrived: &Arrived) -> Option<Next> {
        let expected = arrived.seq == wrap(self.next, self.settings.first) && self.beyond.is_empty();
        if !expected || !self.is_quiet(arrived) || !self.policy.answers_single_segments() {
            return None;
        }
        // RFC 7323, 4.3 (2).
        if self.next <= self.acked && arrived.stamp >= self.recent {
            self.recent = arrived.stamp;
        }
        self.next += u64::from(arrived.payload);
        if !self.policy.answers_all_at_once() {
            self.policy.on_any(arrived.now);
            let came = Came {
                now: arrived.now,
                one_way: arrived.now - arrived.stamp,
                several: false,
                news_of_marks: false,
                in_order: true,
                had_gap: false,
                has_gap: false,
                duplicate: false,
                old: false,
                fin: false,
                pushed: arrived.bits & PSH != 0,
                payload: arrived.payload,
                next: self.next,
                unacknowledged: self.next - self.acked,
            };
            if let When::After(delay) = self.policy.on_segment(&came) {
                self.one_way = came.one_way;
                return Some(Next::Later(delay));
            }
        }
        Some(Next::Now(self.quick_answer(arrived)))
    }

    /// The fast path for the segment after the newest range, if it touches no other: the first SACK block grows.
    #[inline]
    pub fn take_beyond(&mut self, arrived: &Arrived) -> Option<Feedback> {
        let &(_, start) = self.beyond.first()?;
        let end = start + u64::from(arrived.payload);
        if arrived.seq != wrap(start, self.settings.first)
            || !self.is_quiet(arrived)
            || !self.policy.answers_all_at_once()
            || self.beyond[1..].iter().any(|&(from, to)| from <= end && start <= to)
        {
            return None;
        }
        self.beyond[0].1 = end;
        let mut feedback = self.quick_answer(arrived);
        for &range in &self.beyond {
            feedback.push(range, self.settings.first, usize::from(self.settings.blocks));
        }
        Some(feedback)
    }

    #[inline(always)]
    fn quick_answer(&mut self, arrived: &Arrived) -> Feedback {
        self.acked = self.next;
        self.one_way = arrived.now - arrived.stamp;
        let mut feedback = Feedback::new(wrap(self.next, self.settings.first), self.recent);
        feedback.one_way = self.one_way;
        feedback.echo = self.unanswered_mark && self.settings.feedback == Feedbacks::Classic;
        feedback.ace = (self.count % 8) as u8;
        feedback
    }

    /// Takes in a segment.
    pub fn take(&mut self, arrived: &Arrived) -> Reply {
        if arrived.bits & SYN != 0 {
            return self.take_syn(arrived);
        }
        let Some(start) = unwrap(arrived.seq, self.settings.first, self.next) else { return Reply::Nothing };
        let end = start + u64::from(arrived.payload) + u64::from(arrived.bits & FIN != 0);
        self.read(arrived.now);
        if self.reader.is_some() && end == start && start < self.acked {
            // A probe of the window is no acceptable segment, so an ACK answers (RFC 9293, 3.10.7.4).
            let first = self.flush(arrived.now);
            let answer = self.release(arrived.now);
            return self.reply(arrived.now, first, Some(answer));
        }
        if self.next == 0 || end == start {
            // A segment before the SYN, the last segment of the handshake, or a pure ACK.
            self.policy.on_any(arrived.now);
            match &mut self.counters {
                Some(counters) => {
                    counters.count(arrived.bits & CE, 0);
                }
                // RFC 9768, 3.2: packets without data count too.
                None if self.settings.feedback == Feedbacks::Counter && self.next > 0 => {
                    self.count += u64::from(arrived.bits & CE == CE);
                }
                None => {}
            }
            return Reply::Nothing;
        }
        self.policy.on_any(arrived.now);
        if let Some(reader) = &mut self.reader {
            reader.before_segment(arrived.payload);
        }
        let before = match &self.gro {
            Some(gro) if !gro.joins(arrived, start) => self.flush(arrived.now),
            _ => None,
        };
        let was_marked = self.marked;
        let changed = self.ecn && self.note_mark(arrived);
        // RFC 8257, 3.2: delayed segments are acknowledged on their own, with the state they arrived in.
        let apart = changed && self.marked != was_marked && self.settings.feedback == Feedbacks::Dctcp;
        let earlier = if apart { self.policy.release().map(|held| self.answer_held(&held)) } else { None };
        if earlier.is_some() {
            self.note_ack_at(f64::INFINITY);
        }
        if arrived.bits & FIN != 0 {
            self.fin_at = Some(end);
        }
        // RFC 7323, 4.3 (2).
        if start <= self.acked && arrived.stamp >= self.recent {
            self.recent = arrived.stamp;
        }
        let one_way = arrived.now - arrived.stamp;
        self.one_way = one_way;
        let (duplicate, old) = (self.has(start, end), end <= self.next);
        if self.quic.is_some() {
            return self.take_packet(arrived, (start, end), duplicate);
        }
        let had_gap = !self.beyond.is_empty();
        let in_order = start <= self.next && end > self.next;
        if !duplicate {
            self.add(start, end);
        }
        self.read(arrived.now);
        if let Some(reader) = &mut self.reader {
            if reader.is_tuned() {
                let highest = self.beyond.iter().map(|&(_, to)| to).max().unwrap_or(self.next);
                let beyond = self.beyond.iter().map(|&(from, to)| to - from).sum();
                if reader.after_segment(arrived.payload, in_order, highest, beyond) {
                    self.policy.on_window_opened();
                }
            }
        }
        // An ACK tells of a window that has doubled (Linux, `tcp_cleanup_rbuf`).
        let doubled = self.reader.as_ref().is_some_and(|reader| reader.has_doubled());
        let came = Came {
            now: arrived.now,
            one_way,
            several: false,
            news_of_marks: changed,
            in_order,
            had_gap,
            has_gap: !self.beyond.is_empty(),
            duplicate,
            old,
            fin: arrived.bits & FIN != 0,
            pushed: doubled || (in_order && arrived.bits & PSH != 0 && !self.policy.is_interactive()),
            payload: arrived.payload,
            next: self.next,
            unacknowledged: self.next - self.acked,
        };
        if let Some(gro) = &mut self.gro {
            let flush = gro.add(came, arrived, (start, end));
            let (now, first) = (arrived.now, before.or(earlier));
            let second = if flush { self.flush(now) } else { None };
            return self.reply(now, first, second);
        }
        match self.policy.on_segment(&came) {
            When::WithAnother => Reply::Nothing,
            When::After(delay) => Reply::Later(delay),
            When::Now => {
                let answer = self.answer(one_way, duplicate.then_some((start, end)), (start, end));
                match earlier {
                    Some(earlier) => Reply::Both(earlier, answer, f64::INFINITY),
                    None => Reply::Now(answer),
                }
            }
        }
    }

    /// Takes a packet of QUIC's with these data.
    #[inline(never)]
    fn take_packet(&mut self, arrived: &Arrived, data: Range, duplicate: bool) -> Reply {
        if !duplicate {
            self.add(data.0, data.1);
        }
        let packet = quic::Packet {
            now: arrived.now,
            sent: arrived.stamp,
            data,
            marked: self.ecn && arrived.bits & CE == CE,
            fin: arrived.bits & FIN != 0,
            duplicate,
        };
        let (next, beyond) = (self.next, &self.beyond);
        let has_all = |from: u64, to: u64| {
            let mut have = from.max(next);
            while let Some(&(_, end)) = beyond.iter().find(|&&(start, end)| start <= have && have < end) {
                have = end;
            }
            have >= to
        };
        let Some(quic) = &mut self.quic else { return Reply::Nothing };
        let when = quic.on_packet(&packet, has_all);
        if self.gro.is_some() {
            // The application reads later: its window may have changed.
            let answer = match when {
                quic::When::WithAnother => None,
                quic::When::After(delay) => {
                    self.note_ack_at(arrived.now + delay);
                    None
                }
                quic::When::Now => Some(self.release(arrived.now)),
            };
            return self.reply(arrived.now, answer, None);
        }
        match when {
            quic::When::WithAnother => Reply::Nothing,
            quic::When::After(delay) => Reply::Later(delay),
            quic::When::Now => Reply::Now(self.answer_packets(arrived.now)),
        }
    }

    /// An ACK of QUIC's.
    #[inline(never)]
    fn answer_packets(&mut self, now: f64) -> Feedback {
        let duplicate = self.quic.as_mut().and_then(|quic| quic.take_duplicate());
        let mut feedback = self.answer(0.0, duplicate, duplicate.unwrap_or_default());
        if let Some(quic) = &mut self.quic {
            quic.fill(now, &mut feedback);
        }
        feedback
    }

    fn take_syn(&mut self, arrived: &Arrived) -> Reply {
        if arrived.seq != self.settings.first {
            // The segment is from an earlier connection.
            return Reply::Nothing;
        }
        let mut accecn = AccecnOption::NONE;
        if self.next == 0 {
            self.next = 1;
            self.recent = arrived.stamp;
            // Later SYNs do not change what the first has asked for (RFC 9768, 3.1.5).
            self.settings.feedback = served(self.settings.feedback, flags(arrived.bits));
            self.ecn = self.settings.feedback != Feedbacks::None;
            if self.settings.feedback == Feedbacks::Accecn {
                self.counters = Some(Box::new(Counters::new()));
                // Not in answer to a second SYN: the option may have been its reason (RFC 9768, 3.2.3.2.2).
                accecn = AccecnOption::first();
            }
        }
        self.syn = (arrived.bits & CE, arrived.stamp);
        if self.next == 1 {
            self.policy.on_syn(arrived.now);
            if let Some(reader) = &mut self.reader {
                reader.open(arrived.now);
            }
        }
        let mut answer = self.answer_syn();
        answer.accecn = accecn;
        answer.one_way = arrived.now - arrived.stamp;
        Reply::Now(answer)
    }

    /// The SYN-ACK.
    fn answer_syn(&mut self) -> Feedback {
        let mut answer = Feedback::new(wrap(1, self.settings.first), self.syn.1);
        answer.syn = true;
        answer.ace = answered(self.settings.feedback, self.syn.0);
        answer.echo = match self.settings.feedback {
            Feedbacks::Accecn => answer.ace & 1 != 0,
            _ => self.ecn,
        };
        if self.next == 1 {
            (answer.window, answer.sent) = self.window();
        }
        self.acked = self.acked.max(1);
        answer
    }

    /// The timer of a delayed ACK has expired.
    pub fn on_timer(&mut self, now: f64) -> Reply {
        self.read(now);
        let mut flushed = self.flush(now);
        if flushed.is_none() && self.reader.as_ref().is_some_and(|reader| reader.update_at() <= now) {
            flushed = Some(self.release(now));
        }
        if flushed.is_some() || self.gro.as_ref().is_some_and(|gro| now < gro.ack_at) {
            return self.reply(now, flushed, None);
        }
        self.note_ack_at(f64::INFINITY);
        if self.quic.is_some() {
            return match self.holds_an_ack() {
                true => {
                    let answer = self.answer_packets(now);
                    self.reply(now, Some(answer), None)
                }
                false => Reply::Nothing,
            };
        }
        match self.policy.on_timer() {
            None => Reply::Nothing,
            Some(held) => Reply::Now(self.answer(held.one_way, None, (self.next, self.next))),
        }
    }

    /// Ends the segments that come as one; returns their ACK, if it is immediate.
    fn flush(&mut self, now: f64) -> Option<Feedback> {
        let burst = self.gro.as_mut()?.take()?;
        match self.policy.on_segment(&burst.came) {
            When::WithAnother => None,
            When::After(delay) => {
                self.note_ack_at(now + delay);
                None
            }
            When::Now => {
                self.note_ack_at(f64::INFINITY);
                let repeated = burst.repeated;
                Some(self.answer(burst.came.one_way, repeated, repeated.unwrap_or_default()))
            }
        }
    }

    /// Lets the application read until `now`.
    fn read(&mut self, now: f64) {
        if let Some(reader) = &mut self.reader {
            reader.advance(now, self.next);
        }
    }

    /// An ACK that tells of the window, and acknowledges the segment of a delayed ACK too.
    fn release(&mut self, now: f64) -> Feedback {
        self.note_ack_at(f64::INFINITY);
        if self.quic.is_some() {
            return self.answer_packets(now);
        }
        self.policy.release();
        self.answer(self.one_way, None, (self.next, self.next))
    }

    fn note_ack_at(&mut self, time: f64) {
        if let Some(gro) = &mut self.gro {
            gro.ack_at = time;
        }
    }

    /// The reply with receive offload: up to two immediate ACKs, and when the next timer expires.
    fn reply(&self, now: f64, first: Option<Feedback>, second: Option<Feedback>) -> Reply {
        let update = self.reader.as_ref().map_or(f64::INFINITY, |reader| reader.update_at());
        let wait = self.gro.as_ref().map_or(f64::INFINITY, |gro| gro.wake()).min(update).max(now) - now;
        match (first, second) {
            (Some(first), Some(second)) => Reply::Both(first, second, wait),
            (Some(one), None) | (None, Some(one)) if wait == f64::INFINITY => Reply::Now(one),
            (Some(one), None) | (None, Some(one)) => Reply::NowAndLater(one, wait),
            (None, None) if wait == f64::INFINITY => Reply::Nothing,
            (None, None) => Reply::Later(wait),
        }
    }

    /// The delayed ACK without the newly arrived segment, with the echo before it.
    fn answer_held(&mut self, held: &Held) -> Feedback {
        let mut feedback = Feedback::new(wrap(held.next, self.settings.first), self.recent);
        (feedback.window, feedback.sent) = self.window();
        feedback.one_way = held.one_way;
        feedback.echo = !self.marked;
        self.acked = held.next;
        feedback
    }

    /// RFC 3168, 6.1.3: ECE from a mark on until CWR, which is processed first. Returns whether the sender is to be
    /// told at once.
    fn note_mark(&mut self, arrived: &Arrived) -> bool {
        let bits = arrived.bits;
        if let Some(counters) = &mut self.counters {
            return counters.count(bits & CE, arrived.payload);
        }
        let before = self.marked;
        self.marked = bits & CE == CE;
        if bits & CWR != 0 {
            self.unanswered_mark = false;
        }
        if bits & CE == CE {
            if !self.unanswered_mark && self.settings.feedback == Feedbacks::Classic {
                self.policy.on_first_mark();
            }
            self.unanswered_mark = true;
        }
        self.count += u64::from(self.marked);
        let answers_cwr = self.settings.rules.mark_ack_at_once && bits & CWR != 0;
        match self.settings.feedback {
            Feedbacks::Dctcp => self.marked != before || answers_cwr,
            // The ACK is immediate when marks start.
            Feedbacks::Counter => self.marked && !before,
            Feedbacks::Classic => answers_cwr,
            Feedbacks::None | Feedbacks::Accecn => false,
        }
    }

    fn has(&self, start: u64, end: u64) -> bool {
        end <= self.next || self.beyond.iter().any(|&(from, to)| from <= start && end <= to)
    }

    #[inline(always)]
    fn add(&mut self, start: u64, end: u64) {
        if start <= self.next {
            self.next = end;
            while let Some(at) = self.beyond.iter().position(|&(from, to)| from <= self.next && to > self.next) {
                self.next = self.beyond[at].1;
            }
            let next = self.next;
            self.beyond.retain(|&(_, to)| to > next);
            return;
        }
        let mut merged = (start, end);
        self.beyond.retain(|&(from, to)| {
            let touches = from <= merged.1 && merged.0 <= to;
            if touches {
                merged = (merged.0.min(from), merged.1.max(to));
            }
            !touches
        });
        self.beyond.insert(0, merged);
    }

    /// The window and the time stamp of an ACK.
    fn window(&mut self) -> (u32, f64) {
        self.reader.as_mut().map_or((SAME_WINDOW, 0.0), |reader| (reader.window(), reader.clock()))
    }

    /// Whether the window is autotuned, which needs the time stamps that segments echo.
    pub fn is_tuned(&self) -> bool {
        self.reader.as_ref().is_some_and(|reader| reader.is_tuned())
    }

    /// The segment that is taken next echoes the time stamp of an ACK that left at this time, s; of none without time
    /// stamps.
    pub fn note_echo(&mut self, sent: Option<f64>) {
        if let Some(reader) = &mut self.reader {
            reader.note_echo(sent.filter(|_| self.settings.timestamps));
        }
    }

    fn answer(&mut self, one_way: f64, duplicate: Option<Range>, came: Range) -> Feedback {
        let first = self.settings.first;
        let mut feedback = Feedback::new(wrap(self.next, first), self.recent);
        (feedback.window, feedback.sent) = self.window();
        feedback.one_way = one_way;
        feedback.echo = match self.settings.feedback {
            Feedbacks::Dctcp => self.marked && self.ecn,
            Feedbacks::Counter | Feedbacks::Accecn => false,
            _ => self.unanswered_mark,
        };
        feedback.ace = (self.count % 8) as u8;
        self.acked = self.next;
        if self.settings.blocks > 0 {
            self.add_blocks(&mut feedback, duplicate, came);
        }
        if let Some(counters) = &mut self.counters {
            feedback.ace = counters.ace();
            counters.add_option(&mut feedback, self.settings.timestamps);
        }
        feedback
    }

    /// SACK blocks.
    #[inline(always)]
    fn add_blocks(&mut self, feedback: &mut Feedback, duplicate: Option<Range>, came: Range) {
        let (first, most) = (self.settings.first, usize::from(self.settings.blocks));
        if let Some(range) = duplicate {
            // RFC 2883, section 4: the DSACK first, then the block around it.
            feedback.duplicate = true;
            feedback.push(range, first, most);
            if let Some(at) = self.beyond.iter().position(|&(from, to)| from <= came.0 && came.1 <= to) {
                let around = self.beyond.remove(at);
                self.beyond.insert(0, around);
            }
        }
        for &range in &self.beyond {
            feedback.push(range, first, most);
        }
    }
}

#[cfg(test)]
mod tests;
