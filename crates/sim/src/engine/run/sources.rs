//! Packets without feedback: sources and sinks.

use super::Engine;
use crate::engine::state::order::Key;
use crate::events::{Event, EventQueue, Kind};
use earlydrop_net::Segment;

impl<Q: EventQueue> Engine<Q> {
    /// A source starts, or its next packet is due. The time of the packet after it is drawn after sending.
    pub(super) fn on_source(&mut self, event: Segment, key: Key) {
        let flow = event.flow();
        let at = self.sources.of_flow[flow as usize] as usize;
        let mut seq = event.seq();
        if key.now >= self.sources.at_work[at].stop {
            return;
        }
        if self.sources.at_work[at].next > 0 {
            self.send_without_feedback(flow, at, seq, key);
            seq = seq.wrapping_add(1) & i32::MAX;
        }
        loop {
            let source = &mut self.sources.at_work[at];
            let emission = source.source.next(&mut source.random);
            source.next = emission.payload;
            if emission.after > 0.0 {
                self.counter += 1;
                let (time, cause) = (key.now + emission.after, key.scheduled.to_bits());
                let next = Segment::new(flow, seq, 0, 0);
                self.queue.push(Event::new(time, key.now, cause, self.counter, Kind::Start, next), 3);
                return;
            }
            self.send_without_feedback(flow, at, seq, key);
            seq = seq.wrapping_add(1) & i32::MAX;
        }
    }

    /// The application of a TCP flow writes a segment.
    pub(super) fn on_write(&mut self, flow: u32, key: Key) {
        let payload = u32::from(self.specs.kind(flow).payload);
        let sender = &mut self.net.flows[flow as usize].sender;
        sender.offer_bytes(key.now, u64::from(payload), payload, false, &mut self.out);
        self.flush(flow, key);
        self.schedule_write(flow, key);
    }

    /// The application of a TCP flow plans its next write.
    pub(super) fn schedule_write(&mut self, flow: u32, key: Key) {
        let Some(writer) = self.writers.get_mut(&flow) else { return };
        let time = key.now + writer.writes.next(&mut writer.random).after;
        if time < writer.stop {
            self.schedule(time, key, Kind::Write, flow);
        }
    }

    fn send_without_feedback(&mut self, flow: u32, at: usize, seq: i32, key: Key) {
        let source = &mut self.sources.at_work[at];
        source.sent += u64::from(key.now >= self.settings.warmup);
        let size = (source.next + source.header).min(u32::from(u16::MAX)) as u16;
        let born = Segment::stamp(key.now, self.ticks_per_second);
        self.set_out(Segment::new(flow, seq, born, size), key);
    }

    /// A packet without feedback reaches its receiver at `now`.
    pub(super) fn sink(&mut self, segment: Segment, now: f64) {
        if now >= self.settings.warmup && now < self.settings.duration {
            let arrivals = &mut self.net.arrivals[segment.flow() as usize];
            arrivals.received += 1;
            arrivals.in_order += 1;
            let now = Segment::stamp(now, self.ticks_per_second);
            arrivals.delay_ticks += u64::from(segment.age_ticks(now));
            let source = &mut self.sources.at_work[self.sources.of_flow[segment.flow() as usize] as usize];
            source.received_bytes += u64::from(u32::from(segment.size()).saturating_sub(source.header));
        }
    }

    /// The same with recorded rates or delays.
    #[inline(never)]
    pub(super) fn recorded_sink(&mut self, segment: Segment, now: f64) {
        if let Some(rates) = self.rates.as_mut().filter(|_| now < self.settings.duration) {
            let header = self.sources.at_work[self.sources.of_flow[segment.flow() as usize] as usize].header;
            rates.add(segment.flow(), now, u64::from(u32::from(segment.size()).saturating_sub(header)));
        }
        self.note_delay(segment, now);
        self.sink(segment, now);
    }
}
