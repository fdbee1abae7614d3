//! QUIC's reaction to ACKs and timers (RFC 9002), in place of TCP's: its Appendices A and B, in their order.

use super::Connection;
use crate::tcp::output::Output;
use crate::tcp::rfc::accecn::Newly;
use crate::tcp::rfc::quic::{Lost, Quic, Sent, LEAST_WINDOW, PROBES};
use crate::tcp::rfc::recovery::Phase;
use crate::tcp::rfc::scoreboard::Delivered;
use crate::tcp::rfc::wire::Feedback;

/// What an ACK newly delivers.
struct Arrived {
    bytes: u64,
    packets: u64,
    /// Bytes of packets sent since the recovery period began.
    outside: u64,
    /// The largest packet, if it is newly acknowledged.
    largest: Option<Sent>,
}

impl Connection {
    /// An ACK (A.7).
    #[inline(never)]
    pub(super) fn on_quic_ack(&mut self, now: f64, ack: u64, feedback: &Feedback, out: &mut Output) {
        let Some(mut quic) = self.quic.take() else { return };
        let (flight_before, pipe_before) = (self.scoreboard.outstanding(), self.scoreboard.pipe());
        let old = ack < self.una;
        let advanced = ack.saturating_sub(self.una);
        let arrived = self.take_in_quic(now, ack, feedback, &mut quic);
        let mut latest = None;
        if let Some(largest) = arrived.largest {
            let rtt = now - largest.at;
            latest = Some(rtt);
            let adjusted = quic.sample(now, rtt, feedback.one_way, self.max_ack_delay(), self.rtt.min);
            self.rtt.latest(latest);
            self.sample(adjusted, out);
        }
        if arrived.packets > 0 {
            quic.acknowledged();
        }
        let mut info = self.acked(now, latest, advanced, arrived.bytes, flight_before, feedback);
        info.marked = 0.0;
        if self.ecn.accurate() {
            let newly = Newly { packets: arrived.packets, bytes: arrived.bytes, old, stamp: 0.0 };
            info.marked = self.ecn.count(feedback, &newly, self.settings.mss);
        }
        if let Some(rate) = &mut self.rate {
            rate.forget_before(self.scoreboard.number(0));
            info.rate = rate.sample(self.rtt.min);
        }
        self.end_quic_recovery(arrived.outside > 0);
        let recovery = quic.recovery_from;
        if arrived.packets > 0 {
            let lost = quic.find_losses(&mut self.scoreboard, now, self.rtt.smoothed());
            info.lost = self.segments(lost.bytes);
            self.react_to_quic_losses(now, &lost, &mut quic, latest, out);
        }
        info.recovering = !self.recovery.is_open();
        info.timed_out = self.recovery.is_loss();
        self.tell_quic_control(now, pipe_before, &mut info, out);
        if info.marked > 0.0 || (self.ecn.agreed && !self.ecn.accurate() && feedback.echo) {
            // B.7.
            let number = arrived.largest.map_or(quic.next_number(), |largest| largest.number);
            self.congestion_event(now, number, true, &mut quic, out);
        }
        // B.5: no packet that this ACK acknowledges was sent since a recovery that it starts.
        let starts = quic.recovery_from > recovery;
        let grows = arrived.outside > 0 && info.window_limited && !self.owns_window() && !starts;
        if grows {
            info.segments = self.segments(arrived.outside);
            self.grow(&info, out);
        }
        if self.scoreboard.is_empty() {
            quic.clear();
            self.rto_at = f64::INFINITY;
        }
        self.quic = Some(quic);
        self.transmit(now, out);
        self.recovery.forced = 0;
        self.set_quic_timer();
    }

    fn max_ack_delay(&self) -> f64 {
        self.settings.receiver.delay.unwrap_or(0.0)
    }

    fn take_in_quic(&mut self, now: f64, ack: u64, feedback: &Feedback, quic: &mut Quic) -> Arrived {
        let mut arrived = Arrived { bytes: 0, packets: 0, outside: 0, largest: None };
        if feedback.duplicate {
            let (ranges, count) = feedback.ranges(self.first, self.una);
            ranges[..count.min(1)].iter().for_each(|&range| quic.duplicate(range));
        }
        let (from, mss) = (quic.recovery_from, f64::from(self.settings.mss));
        let mut rate = self.rate.as_deref_mut();
        let mut note = |delivered: Delivered| {
            let len = u64::from(delivered.record.len);
            let (sent, is_largest) = quic.delivered(&delivered, feedback.stamp);
            arrived.packets += 1;
            arrived.outside += if sent.number >= from { len } else { 0 };
            if is_largest {
                arrived.largest = Some(sent);
            }
            if let Some(rate) = &mut rate {
                rate.arrived(&delivered, f64::from(delivered.record.len) / mss, now);
            }
        };
        let mut bytes = 0;
        if ack > self.una {
            bytes += self.scoreboard.acknowledge(ack, &mut note);
            self.una = ack;
        }
        if feedback.count > 0 {
            let (ranges, count) = feedback.ranges(self.first, self.una);
            let skip = usize::from(feedback.duplicate);
            bytes += self.scoreboard.sack(&ranges[skip..count.max(skip)], None, &mut note);
        }
        arrived.bytes = bytes;
        arrived
    }

    /// Packets have been declared lost (B.8).
    fn react_to_quic_losses(&mut self, now: f64, lost: &Lost, quic: &mut Quic, latest: Option<f64>, out: &mut Output) {
        self.tell_losses(now);
        let Some(last) = lost.last else { return };
        self.congestion_event(now, last, false, quic, out);
        if !Quic::is_persistent(lost, &self.rtt, self.max_ack_delay()) {
            return;
        }
        // 7.6.2, and 5.2.
        let window = self.window();
        if self.owns_window() {
            self.control.control().on_timeout(&window, self.vars.cwnd, now);
            self.recovery.phase = Phase::Loss;
            self.recovery.point = self.next;
        } else {
            self.recovery.phase = Phase::Open;
        }
        self.vars.set_cwnd(LEAST_WINDOW, out);
        quic.recovery_from = 0;
        if let Some(rtt) = latest {
            self.rtt.min = rtt;
        }
    }

    /// The packet with this number is lost, or marked: cwnd is reduced once in a recovery period (B.6).
    fn congestion_event(&mut self, now: f64, number: u64, marked: bool, quic: &mut Quic, out: &mut Output) {
        if number < quic.recovery_from {
            return;
        }
        let owns = self.owns_window();
        if marked && owns && !self.control.view().answers_marks() {
            return;
        }
        quic.recovery_from = quic.next_number();
        let (window, cwnd) = (self.window(), self.vars.cwnd);
        let control = self.control.control();
        let left = match marked {
            true => control.on_mark(&window, cwnd, now),
            false => control.on_loss(&window, cwnd, now),
        };
        self.recovery.note_reduction(self.next);
        self.recovery.point = self.next;
        if !(owns && marked) {
            self.recovery.enter_fast(None, self.una);
        }
        if !owns {
            self.vars.set_ssthresh(left.max(LEAST_WINDOW), out);
            self.vars.set_cwnd(left.max(LEAST_WINDOW), out);
        }
        // One packet may go, to repair the loss sooner (7.3.2).
        self.recovery.forced = u32::from(!marked);
    }

    /// `later`: a packet sent in the recovery period is acknowledged, which ends it (7.3.2).
    fn end_quic_recovery(&mut self, later: bool) {
        if (later && self.recovery.is_fast()) || (self.recovery.is_loss() && self.una >= self.recovery.point) {
            self.recovery.phase = Phase::Open;
        }
    }

    /// The timer expires (A.9).
    #[inline(never)]
    pub(super) fn on_quic_timeout(&mut self, now: f64, out: &mut Output) {
        self.rto_at = f64::INFINITY;
        let Some(mut quic) = self.quic.take() else { return };
        let late = now >= quic.late_at;
        if late {
            let lost = quic.find_losses(&mut self.scoreboard, now, self.rtt.smoothed());
            let segments = self.segments(lost.bytes);
            self.react_to_quic_losses(now, &lost, &mut quic, None, out);
            self.control.control().on_timer_loss(segments, false);
        } else if !self.scoreboard.is_empty() {
            quic.expired();
            self.vars.timeouts += 1;
        }
        self.quic = Some(quic);
        if late {
            self.transmit(now, out);
        } else {
            (0..PROBES).for_each(|_| self.send_quic_probe(now, out));
        }
        self.recovery.forced = 0;
        self.set_quic_timer();
    }

    /// A probe of the PTO, whatever cwnd is (6.2.4): new data, else lost ones, else the oldest that no probe repeats.
    fn send_quic_probe(&mut self, now: f64, out: &mut Output) {
        if self.scoreboard.is_empty() || self.send_new(now, out) {
            return;
        }
        let waiting = self.scoreboard.next_lost();
        let records = (0..self.scoreboard.len()).filter_map(|index| Some((index, self.scoreboard.get(index)?)));
        let oldest = records.filter(|(_, record)| !record.is_sacked() && record.sent < now);
        let oldest = oldest.min_by(|(_, one), (_, other)| one.sent.total_cmp(&other.sent)).map(|(index, _)| index);
        if let Some(index) = waiting.or(oldest) {
            self.retransmit(now, index, true, out);
        }
    }

    /// A packet whose data start here has been sent.
    #[inline(never)]
    pub(super) fn note_quic_packet(&mut self, now: f64, start: u64) {
        if let Some(quic) = &mut self.quic {
            quic.sent(start, now);
        }
        self.set_quic_timer();
    }

    /// A.8.
    fn set_quic_timer(&mut self) {
        let Some(quic) = self.quic.as_ref().filter(|_| !self.scoreboard.is_empty()) else { return };
        let idle = self.scoreboard.pipe() == 0 && quic.late_at == f64::INFINITY;
        self.rto_at = if idle { f64::INFINITY } else { quic.timer(&self.rtt, self.max_ack_delay()) };
    }

    /// The congestion control sees every ACK.
    fn tell_quic_control(
        &mut self,
        now: f64,
        pipe_before: u64,
        info: &mut crate::tcp::rfc::control::Acked,
        out: &mut Output,
    ) {
        info.pipe = self.segments(self.scoreboard.pipe());
        if let Some(rate) = &self.rate {
            (info.tx_in_flight, info.lost_since_sent) = rate.since_sent();
            info.pipe_before = self.segments(pipe_before);
            info.departs_in = (self.pacer.released - now).max(0.0);
        }
        self.show_control(info, out);
    }
}
