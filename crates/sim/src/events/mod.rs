//! The event queue: a total order, and two ways to keep it.
//!
//! Events run in the order of (time, when they were scheduled, when the event that scheduled them was scheduled,
//! number). Equal times are common, because window-clocked arrivals meet departures exactly; ns-2 runs first what was
//! scheduled first, and so do we. The number comes from one counter and settles the rest. If every event were scheduled
//! at its time, the number would say what the third part says; it is there for those that are scheduled ahead of it.

mod heap;
mod lanes;
mod wheel;

pub use heap::HeapQueue;
pub use lanes::LaneQueue;

use earlydrop_net::Segment;

/// What an event does. The value is small: it travels with the event through the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The segment arrives at position `hop` of its flow's route.
    Arrival,
    /// The link in `flow` ends a transmission while packets wait.
    TransmissionEnd,
    /// The retransmission timer of the flow.
    Timer,
    /// The timer of the ACK that the receiver of the flow delays.
    AckTimer,
    /// The application of the flow starts.
    Start,
    /// The policy timer of the port in `flow`.
    PolicyTimer,
    /// The measured window begins.
    WindowStart,
    /// Packets that wait at the merge in `flow` may pass.
    MergeTurn,
    /// Sample the series.
    Sample,
    /// The client of the flow asks again, if its request is still without an answer.
    Retry,
    /// The crowd in `flow` asks for its next object.
    Crowd,
    /// A recorded packet arrives at the port.
    Replay,
    /// The application of the flow stops.
    Stop,
}

/// One event: 48 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event {
    /// Bits of the time in seconds; for non-negative doubles they compare like the times.
    pub time: u64,
    /// Bits of the time at which the event was (or, on an arithmetic link, would have been) scheduled.
    pub scheduled: u64,
    /// Bits of the time at which the event that scheduled this one was scheduled, or what stands for them.
    pub cause: u64,
    /// From the global counter.
    pub number: u64,
    /// What arrives, or in its fields what else is meant.
    pub segment: Segment,
}

impl Event {
    /// An event.
    #[inline(always)]
    pub fn new(time: f64, scheduled: f64, cause: u64, number: u64, kind: Kind, segment: Segment) -> Self {
        let segment = if kind == Kind::Arrival { segment } else { segment.as_kind(kind as u8) };
        Event { time: time.to_bits(), scheduled: scheduled.to_bits(), cause, number, segment }
    }

    /// What it does.
    #[inline(always)]
    pub fn kind(&self) -> Kind {
        let Some(kind) = self.segment.kind() else { return Kind::Arrival };
        match kind {
            1 => Kind::TransmissionEnd,
            2 => Kind::Timer,
            3 => Kind::AckTimer,
            4 => Kind::Start,
            5 => Kind::PolicyTimer,
            6 => Kind::WindowStart,
            7 => Kind::MergeTurn,
            9 => Kind::Retry,
            10 => Kind::Crowd,
            11 => Kind::Replay,
            12 => Kind::Stop,
            _ => Kind::Sample,
        }
    }

    /// Position in the total order.
    #[inline(always)]
    pub fn key(&self) -> (u64, Tie) {
        (self.time, self.tie())
    }

    /// Position among the events of one time.
    #[inline(always)]
    pub fn tie(&self) -> Tie {
        (self.scheduled, self.cause, self.number)
    }

    /// Whether this event runs before `other`.
    #[inline(always)]
    pub fn before(&self, other: &Event) -> bool {
        self.time < other.time || (self.time == other.time && self.tie() < other.tie())
    }
}

/// What settles the order of events of one time.
pub type Tie = (u64, u64, u64);

/// What a queue may ask about events that it comes across before their time.
pub trait Watch {
    /// Puts an event off, if it has moved; false if it is void. An event that is not shown does nothing then.
    fn review(&mut self, _event: &mut Event) -> bool {
        true
    }

    /// How many slots ahead of its time it wants to hear of an event; 0: it does not.
    fn wants_to_know(&self) -> usize {
        0
    }

    /// An event comes after so many slots, at most [`Watch::wants_to_know`], none meaning now: time to fetch what it needs.
    fn soon(&self, _event: &Event, _slots: usize) {}
}

/// Events as they were pushed.
pub struct NoWatch;

impl Watch for NoWatch {}

/// A priority queue of events. All implementations pop the same sequence; a test holds them to it.
pub trait EventQueue {
    /// An empty queue for events that come about every `spacing` seconds (a hint).
    fn new(spacing: f64) -> Self;

    /// Adds an event. `lane` groups events whose times tend to rise (a hint, no promise); see [`LaneQueue`].
    fn push(&mut self, event: Event, lane: u8);

    /// Takes the first event of the total order.
    fn pop(&mut self, watch: &mut impl Watch) -> Option<Event>;

    /// Asks for the memory of events to come.
    #[inline(always)]
    fn prefetch(&self) {}

    /// An event that comes soon, about `ahead` events after the one just popped, and that no [`Watch`] is told of; to
    /// prefetch its state.
    #[inline(always)]
    fn upcoming(&self, _ahead: usize) -> Option<&Event> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_and_heap_pop_the_same_sequence() {
        let mut random = earlydrop_aqm::random::Generator::stream(7, "events");
        for round in 0..40 {
            // Times rise on the whole, as in a run: an event is never scheduled before one already popped.
            let scale = [1e-9, 1e-6, 1e-3, 1.0, 1e4][round % 5];
            let (mut heap, mut lanes) = (HeapQueue::new(scale), LaneQueue::<8>::new(scale));
            let mut now = 0.0;
            let mut number = 0;
            for _ in 0..3000 {
                for _ in 0..(random.uniform() * 3.0) as usize {
                    number += 1;
                    let step =
                        (random.uniform() * 20.0).floor() * scale * if random.uniform() < 0.1 { 1e3 } else { 1.0 };
                    let event = Event::new(
                        now + step,
                        now,
                        (random.uniform() * 3.0) as u64,
                        number,
                        Kind::Arrival,
                        Segment::default(),
                    );
                    let lane = (random.uniform() * 5.0) as u8;
                    heap.push(event, lane);
                    lanes.push(event, lane);
                }
                let (a, b) = (heap.pop(&mut NoWatch), lanes.pop(&mut NoWatch));
                assert_eq!(a.map(|e| e.key()), b.map(|e| e.key()));
                if let Some(event) = a {
                    now = f64::from_bits(event.time);
                }
            }
        }
    }
}
