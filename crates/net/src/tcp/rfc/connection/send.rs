//! Sending: lost segments first, then new data, then segments that may be lost (RFC 6675, section 4, `NextSeg`).

use super::Connection;
use crate::segment::FIN;
use crate::tcp::output::{Output, Sent};
use crate::tcp::rfc::control::Idle;
use crate::tcp::rfc::quic::PACING_GAIN;
use crate::tcp::rfc::recovery::Phase;
use crate::tcp::rfc::rules::IdleRestart;
use crate::tcp::rfc::scoreboard::Record;
use crate::tcp::rfc::tso::{Lone, Tso, PAIR};
use crate::tcp::rfc::usage::Data;
use crate::tcp::rfc::wire::wrap;

impl Connection {
    /// Sends what cwnd, the receiver's window and the pacing rate allow.
    pub(super) fn transmit(&mut self, now: f64, out: &mut Output) {
        if !self.is_open() || self.ecn.halted {
            return;
        }
        self.restart_when_idle(now, out);
        if self.scoreboard.pipe() == 0 {
            self.start_from_nothing(now, out);
        }
        let quiet =
            self.recovery.is_open() && self.recovery.forced == 0 && self.recovery.dupacks == 0 && self.fast_sending;
        let nothing_else = self.ecn.reduction.is_none() && !self.closing && self.scoreboard.is_whole();
        if quiet && nothing_else && self.transmit_new(now, out) {
            return;
        }
        let next = self.next;
        let waits = self.send_allowed(now, out);
        if self.tso.autosized && self.pacer.is_in_burst() {
            // A burst that cwnd or the data end is as whole as a full one.
            self.pacer.end_burst(now);
        }
        if self.resume.is_some() {
            self.note_jump_sent(out);
        }
        if self.settings.window_moves() {
            self.plan_window_probe(now);
        }
        if self.usage.is_some() && next < self.limit() {
            self.note_usage(now, waits, self.next > next, out);
        }
    }

    /// The slow path of [`transmit`](Self::transmit). Whether cwnd ends sending.
    fn send_allowed(&mut self, now: f64, out: &mut Output) -> bool {
        let mut left_of_burst = 0;
        loop {
            if self.pacer.on && !self.may_release(now) {
                // Pacing holds back what cwnd allows.
                return false;
            }
            let index = if self.recovery.new_only { None } else { self.scoreboard.next_lost() };
            let wanted = match index {
                Some(index) => self.scoreboard.get(index).map_or(0, |record| u64::from(record.len)),
                None => self.current_mss(),
            };
            if !self.window_allows(wanted, index.is_none()) {
                self.window_limited = true;
                return true;
            }
            if self.small_queue.is_some() && self.device_is_full(now, index.is_some()) {
                self.window_limited = false;
                return false;
            }
            if index.is_none() && self.tso.pairs {
                if left_of_burst == 0 {
                    left_of_burst = if self.tso.autosized { self.burst(self.pacing_rate()) } else { PAIR };
                    if self.waits_for_more(now, left_of_burst) {
                        self.window_limited = true;
                        return true;
                    }
                }
                left_of_burst -= 1;
            }
            let sent = match index {
                Some(index) => {
                    self.retransmit(now, index, true, out);
                    true
                }
                None => self.send_new(now, out) || (!self.recovery.new_only && self.retransmit_perhaps_lost(now, out)),
            };
            if !sent {
                return false;
            }
            self.recovery.forced = self.recovery.forced.saturating_sub(1);
        }
    }

    /// The fast path for full segments of new data, with nothing lost. Whether cwnd or pacing ends sending; else less
    /// than a full segment is left, or the receiver's window is full.
    #[inline(always)]
    pub(super) fn transmit_new(&mut self, now: f64, out: &mut Output) -> bool {
        let mss = u64::from(self.settings.mss);
        let end = self.limit.min(self.una + self.settings.receiver.window);
        let (paced, payload) = (self.pacer.on, self.settings.mss as u16);
        let capable = self.ecn.capable();
        while self.next + mss <= end {
            if paced && !self.may_release(now) {
                return true;
            }
            if self.segments(self.scoreboard.pipe() + mss) > self.vars.cwnd + 1e-9 {
                self.window_limited = true;
                return true;
            }
            let bits = capable | self.ecn.take_cwr();
            out.segments.push(Sent { seq: wrap(self.next, self.first), payload, bits });
            self.scoreboard.sent(self.next, self.settings.mss, false, now);
            self.next += mss;
            self.sent_new = true;
            self.last_sent = now;
            self.set_timer_after_send(now);
            if paced {
                self.pace(now, 1.0);
            }
        }
        false
    }

    /// Notifies the congestion control if a segment is sent now with nothing in flight.
    #[inline(never)]
    fn start_from_nothing(&mut self, now: f64, out: &mut Output) {
        let some = self.next < self.limit() || !self.scoreboard.is_empty();
        if now >= self.pacer.released && some && self.scoreboard.pipe() == 0 {
            let app_limited = self.rate.as_ref().map_or(!self.window_limited, |rate| rate.is_app_limited());
            let mut window = self.window();
            let idle = Idle { now, time: now - self.last_sent, app_limited };
            self.control.control().on_idle_send(&mut window, &idle);
            self.vars.set_cwnd(window.cwnd, out);
        }
    }

    /// Sets PSH in the last of each burst of new segments that this event has sent.
    pub(super) fn push(&mut self, out: &mut Output) {
        let Some((from, new)) = self.tso.unpushed(self.next, self.current_mss() as u32) else { return };
        let burst = match self.pacing_rate() {
            rate if self.tso.autosized => self.burst(rate) as usize,
            Some(rate) if self.pacer.on => self.pacer.burst(rate) as usize,
            Some(rate) => Tso::burst(rate),
            None => 2,
        };
        Tso::push(&mut out.segments, wrap(from, self.first), new, burst);
    }

    /// Segments of a burst by autosizing, at this pacing rate, segments/s, real or virtual; without one any size.
    pub(super) fn burst(&self, rate: Option<f64>) -> u32 {
        let rate = rate.unwrap_or(f64::INFINITY);
        let least = if self.pacer.on { self.pacer.burst(rate) } else { PAIR };
        Tso::autosize(rate, self.mss(), self.rtt.min, self.vars.cwnd, least)
    }

    /// Whether new segments wait, though cwnd allows them, until it allows `burst` of them or all that are left.
    pub(super) fn waits_for_more(&self, now: f64, burst: u32) -> bool {
        let alone = self.recovery.is_open() && self.recovery.forced == 0 && !self.scoreboard.is_empty();
        let left = self.segments(self.limit().saturating_sub(self.next));
        let burst = f64::from(burst);
        alone
            && self.tso.waits(
                now,
                &Lone {
                    burst: if self.tso.autosized { burst.min(left) } else { burst },
                    cwnd: self.vars.cwnd,
                    free: self.vars.cwnd - self.segments(self.scoreboard.pipe()),
                    last_sent: self.last_sent.max(self.last_pure_ack),
                    first_sent: self.scoreboard.get(0).map_or(now, |record| record.sent),
                    srtt: self.rtt.smoothed(),
                },
            )
    }

    /// Whether cwnd has space for so many bytes more.
    fn window_allows(&self, bytes: u64, new: bool) -> bool {
        if self.recovery.forced > 0 {
            return true;
        }
        let mut window = self.vars.cwnd;
        // RFC 3042: one new segment on each of the first two duplicate ACKs.
        let duplicates = self.recovery.dupacks > 0 && self.recovery.is_open();
        if duplicates && new {
            if !self.settings.recovery.limited_transmit {
                // With SACK `pipe` would allow it.
                return self.segments(self.scoreboard.outstanding() + bytes) <= window;
            }
            if !self.settings.sack {
                window += f64::from(self.recovery.dupacks.min(2));
            }
        }
        // A segment that is not full needs no more space than it takes.
        let left = self.limit().saturating_sub(self.next).min(bytes);
        let bytes = if new && left > 0 { left } else { bytes };
        self.segments(self.scoreboard.pipe() + bytes) <= window + 1e-9
    }

    /// After an idle time longer than the timeout cwnd restarts (RFC 5681, 4.1).
    #[inline(always)]
    pub(super) fn restart_when_idle(&mut self, now: f64, out: &mut Output) {
        if self.scoreboard.is_empty()
            && self.next < self.limit()
            && now - self.last_sent > self.rtt.rto.value()
            && self.settings.growth.idle_restart == IdleRestart::Initial
        {
            self.vars.set_cwnd(self.vars.cwnd.min(self.settings.initial_window()), out);
        }
    }

    /// The application writes: after an idle time longer than the timeout cwnd is halved once for each timeout, down to
    /// the initial window, and ssthresh remembers three quarters of it (Linux, `tcp_slow_start_after_idle_check`,
    /// `tcp_cwnd_restart`).
    pub(super) fn halve_when_idle(&mut self, now: f64, out: &mut Output) {
        let rto = self.rtt.rto.value();
        let mut idle = now - self.last_sent;
        if self.settings.growth.idle_restart != IdleRestart::Halved || !self.scoreboard.is_empty() || idle <= rto {
            return;
        }
        let (mut cwnd, least) = (self.vars.cwnd, self.settings.initial_window().min(self.vars.cwnd));
        self.vars.set_ssthresh(self.remembered_ssthresh(), out);
        idle -= rto;
        while idle > 0.0 && cwnd > least {
            cwnd = (cwnd / 2.0).floor();
            idle -= rto;
        }
        self.vars.set_cwnd(cwnd.max(least), out);
        if let Some(usage) = &mut self.usage {
            usage.restart(now);
        }
    }

    /// ssthresh before cwnd shrinks for want of use: three quarters of cwnd at least (Linux, `tcp_current_ssthresh`).
    fn remembered_ssthresh(&self) -> f64 {
        let cwnd = self.vars.cwnd;
        self.vars.ssthresh.max((cwnd / 2.0).floor() + (cwnd / 4.0).floor())
    }

    /// New data were to be sent: notes whether cwnd limits, and shrinks it where it has not been used for a timeout.
    fn note_usage(&mut self, now: f64, waits: bool, sent: bool, out: &mut Output) {
        let window = self.vars.window();
        let limited = waits || self.segments(self.scoreboard.pipe()) >= window.cwnd - 1e-9;
        let Some(usage) = &mut self.usage else { return };
        if !limited && !sent {
            return;
        }
        let data = Data { outstanding: self.scoreboard.len() as f64, una: self.una, next: self.next };
        let used = usage.note(now, limited, &data, &window, self.rtt.rto.value());
        let open = self.recovery.is_open() && self.ecn.reduction.is_none();
        let Some(used) = used.filter(|_| open).map(|used| used.max(self.settings.initial_window())) else { return };
        if used < window.cwnd {
            let ssthresh = self.remembered_ssthresh();
            self.vars.set_ssthresh(ssthresh, out);
            self.vars.set_cwnd(((window.cwnd + used) / 2.0).floor(), out);
        }
    }

    /// Sends a segment of new data, or the FIN. Whether there was one, and the receiver's window had space for it.
    pub(super) fn send_new(&mut self, now: f64, out: &mut Output) -> bool {
        let left = self.limit.saturating_sub(self.next);
        let fin_due = self.closing && self.next <= self.limit;
        let space = (self.una + self.settings.receiver.window).saturating_sub(self.next);
        if left == 0 && !fin_due {
            self.window_limited = false;
            if !self.settings.controls.bbr.app_limited_at_write {
                self.note_app_limit();
            }
            return false;
        }
        let mut payload = left.min(self.current_mss());
        if payload > space && space > 0 && space >= self.largest_window / 2 {
            // The window never has room for much more (RFC 9293, 3.8.6.2.1, rule 3, with Fs = 1/2).
            payload = space;
        }
        if payload > space || (payload == 0 && space == 0) {
            // The receiver's window is full (RFC 9293, 3.8.6.2.1: no small segment to fill it).
            self.window_limited = false;
            return false;
        }
        let fin = fin_due && payload == left;
        let mut bits = if fin { FIN } else { 0 };
        if payload > 0 {
            // RFC 3168, 6.1: new data are ECN-capable, and the first after a reduction carry CWR.
            bits |= self.ecn.capable() | self.ecn.take_cwr();
        }
        let len = payload as u32 + u32::from(fin);
        out.segments.push(Sent { seq: wrap(self.next, self.first), payload: payload as u16, bits });
        self.note_queued(payload);
        self.note_rate(self.scoreboard.len(), now);
        self.scoreboard.sent(self.next, len, fin, now);
        self.sent_new = true;
        self.next += u64::from(len);
        if self.recovery.dupacks > 0 && self.recovery.is_open() {
            self.recovery.limited += u64::from(len);
        }
        self.after_send(now, len);
        if self.quic.is_some() {
            self.note_quic_packet(now, self.next - u64::from(len));
        }
        true
    }

    /// `NextSeg` rules 3 and 4 of RFC 6675.
    fn retransmit_perhaps_lost(&mut self, now: f64, out: &mut Output) -> bool {
        let Phase::Fast(recovery) = &mut self.recovery.phase else { return false };
        if !self.settings.sack || self.settings.quic {
            return false;
        }
        if let Some(index) = self.scoreboard.next_hole() {
            self.retransmit(now, index, true, out);
            return true;
        }
        if self.una <= recovery.rescue_from {
            return false;
        }
        recovery.rescue_from = u64::MAX;
        let Some(index) = self.scoreboard.last_hole() else { return false };
        if self.scoreboard.get(index).is_some_and(Record::is_in_flight_again) {
            return false;
        }
        self.retransmit(now, index, true, out);
        true
    }

    /// Retransmits the outstanding segment at `index`. `counts`: as one more in flight.
    pub(super) fn retransmit(&mut self, now: f64, index: usize, counts: bool, out: &mut Output) {
        let Some(&record) = self.scoreboard.get(index) else { return };
        let reordering = self.detection.by_time().is_some_and(|time| time.reorder_at < f64::INFINITY);
        if self.settings.rto.repair_restarts && index == 0 && !reordering {
            self.rto_at = now + self.rtt.rto.value();
        }
        self.push_repeat(&record, out);
        self.note_queued(u64::from(record.payload()));
        self.note_rate(index, now);
        self.scoreboard.retransmitted(index, now, counts);
        let reductions = self.recovery.reductions;
        if let Some(time) = self.detection.by_time_mut() {
            time.rack.retransmitted(record.start, now, reductions);
        }
        self.vars.retransmits += 1;
        if let Some(undo) = self.undo.as_mut().filter(|_| counts) {
            undo.repeated(now);
        }
        self.after_send(now, record.len);
        if self.quic.is_some() {
            self.note_quic_packet(now, record.start);
        }
    }

    /// The segment of `record` once more. With data both ways it is cut in two where the options of its acknowledgement
    /// have grown since (Linux, `tcp_set_skb_tso_segs` in `__tcp_retransmit_skb`).
    fn push_repeat(&self, record: &Record, out: &mut Output) {
        let bits = if record.is_fin() { FIN } else { 0 } | self.ecn.repeat_bits();
        let (whole, most) = (u64::from(record.payload()), self.current_mss());
        let mut push = |from: u64, payload: u64, bits| {
            out.segments.push(Sent { seq: wrap(record.start + from, self.first), payload: payload as u16, bits });
        };
        if whole <= most {
            return push(0, whole, bits);
        }
        push(0, most, bits & !FIN);
        push(most, whole - most, bits);
    }

    /// For a model of the path: the segment at `index` is about to leave.
    #[inline(always)]
    fn note_rate(&mut self, index: usize, now: f64) {
        if self.rate.is_some() {
            let in_flight = self.in_flight();
            if let Some(rate) = &mut self.rate {
                rate.sent(self.scoreboard.number(index), now, in_flight);
            }
        }
    }

    /// Rate samples of what is sent from now on, until what is in flight has been delivered, are application-limited.
    fn note_app_limit(&mut self) {
        let pipe = self.segments(self.scoreboard.pipe());
        if let Some(rate) = &mut self.rate {
            rate.app_limited(pipe);
        }
    }

    /// The application gives data, of which `unsent` bytes were still waiting.
    pub(super) fn note_write(&mut self, unsent: u64) {
        if self.settings.controls.bbr.app_limited_at_write
            && unsent < u64::from(self.settings.mss)
            && self.segments(self.scoreboard.pipe()) < self.vars.cwnd
            && self.scoreboard.next_lost().is_none()
        {
            self.note_app_limit();
        }
    }

    /// In flight by the rate sampling, which restarts with none, segments.
    pub(super) fn in_flight(&self) -> f64 {
        if self.settings.controls.bbr.sampling_restarts_if_none_outstanding {
            self.segments(self.scoreboard.outstanding())
        } else {
            self.segments(self.scoreboard.pipe())
        }
    }

    fn after_send(&mut self, now: f64, len: u32) {
        self.last_sent = now;
        self.set_timer_after_send(now);
        let segments = self.segments(u64::from(len));
        if let Some(prr) = self.recovery.prr() {
            prr.sent(segments);
        } else if let Some(prr) = &mut self.ecn.reduction {
            prr.sent(segments);
        }
        if self.pacer.on {
            self.pace(now, segments);
        }
    }

    /// So many segments have departed: sets when the next may.
    #[inline(always)]
    fn pace(&mut self, now: f64, segments: f64) {
        let Some(rate) = self.pacing_rate() else { return };
        let burst = if self.tso.autosized { self.burst(Some(rate)) } else { self.pacer.burst(rate) };
        self.pacer.sent(now, segments, rate, burst);
    }

    /// The pacing rate, segments/s, if sending is paced and there is one.
    pub fn paced_rate(&self) -> Option<f64> {
        self.pacing_rate().filter(|_| self.pacer.on)
    }

    /// Segments/s. The first window is sent as a burst, as there is no RTT sample of data yet.
    #[inline(always)]
    pub(super) fn pacing_rate(&self) -> Option<f64> {
        if let Some(rate) = self.control.view().pacing_rate() {
            return Some(rate);
        }
        if let Some(rate) = self.resume.as_ref().and_then(|resume| resume.pacing_rate()) {
            return Some(rate);
        }
        let srtt = self.rtt.rto.srtt().filter(|_| self.una > 1)?;
        if self.settings.quic {
            return Some(PACING_GAIN * self.vars.cwnd.max(1.0) / srtt);
        }
        Some(self.window().pacing_rate(srtt))
    }

    /// Whether pacing lets a segment depart now; else [`Pacer::next_at`](crate::tcp::rfc::pacer::Pacer::next_at) says
    /// when.
    #[inline(always)]
    fn may_release(&mut self, now: f64) -> bool {
        let may = self.pacer.may_release(now);
        self.window_limited |= !may;
        may
    }
}
