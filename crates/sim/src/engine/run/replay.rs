//! Replay: recorded packets arrive at a port, in place of traffic.

use super::Engine;
use crate::engine::state::order::Key;
use crate::events::{Event, EventQueue, Kind};
use earlydrop_aqm::Time;
use earlydrop_net::record::{Arrivals, Fate};
use earlydrop_net::Segment;

impl<Q: EventQueue> Engine<Q> {
    /// Adds recorded packets, in rising order of time, as the only traffic of the first port. Their fates are in the
    /// port's outcome.
    pub fn replay(mut self, arrivals: Arrivals) -> Self {
        if let Some(port) = self.net.ports.first_mut() {
            port.recorder().fates = Some(vec![Fate::Queued; arrivals.packets.len()]);
        }
        self.replay = arrivals;
        self.schedule_replay(0);
        self
    }

    /// Schedules an arrival after all other events of its time, as if it had been scheduled at that time.
    fn schedule_replay(&mut self, index: usize) {
        if let Some(&(time, _)) = self.replay.packets.get(index) {
            self.counter += 1;
            let segment = Segment::new(0, index as i32, 0, 0);
            let event = Event::new(time.seconds(), time.seconds(), u64::MAX, self.counter, Kind::Replay, segment);
            self.queue.push(event, 3);
        }
    }

    /// A recorded packet has been sent, and reaches the other end at `arrival`, unless it is lost.
    pub(super) fn note_replayed(&mut self, segment: &Segment, arrival: Option<f64>) {
        let fates = self.net.ports.first_mut().and_then(|port| port.recorder().fates.as_mut());
        if let Some(fate) = fates.and_then(|fates| fates.get_mut(segment.seq() as usize)) {
            fate.sent(arrival.map(Time::from_seconds));
        }
    }

    pub(super) fn on_replay(&mut self, index: usize, key: Key) {
        self.schedule_replay(index + 1);
        let (_, packet) = self.replay.packets[index];
        let size = packet.size.min(u32::from(u16::MAX)) as u16;
        let segment = Segment::with(0, index as i32, 0, size, packet.ecn as u8);
        let lane = self.net.step(0, 0, Q::LARGE).next_lane();
        self.offer(self.net.ports[0].link, segment, packet, lane, key);
    }
}
