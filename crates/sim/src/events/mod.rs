//! The event queue: a total order of events, and two implementations.
//!
//! Events are ordered by (time, when they were scheduled, when the event that scheduled them was scheduled, number).
//! Equal times are common, because window-clocked arrivals coincide with departures; ns-2 then runs first what was
//! scheduled first, and so do we. The number comes from one counter and breaks the remaining ties. The third key is
//! needed for events that analytic links push ahead of time: for all others the number implies it.

mod heap;
mod lanes;
mod wheel;

pub use heap::HeapQueue;
pub use lanes::{LaneQueue, Lanes, LargeLanes};

use earlydrop_net::Segment;

/// What an event does. A small value, stored in the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The segment arrives at `hop` of its flow's route.
    Arrival,
    /// The link in `flow` ends a transmission while packets wait.
    TransmissionEnd,
    /// The retransmission timer of the flow.
    Timer,
    /// The delayed-ACK timer of the flow's receiver.
    AckTimer,
    /// The application of the flow starts.
    Start,
    /// The policy timer of the port in `flow`.
    PolicyTimer,
    /// The measured window starts.
    WindowStart,
    /// Packets held at the merge in `flow` may pass.
    MergeTurn,
    /// Sample the series.
    Sample,
    /// The flow's client retries its request, if it is still unanswered.
    Retry,
    /// The web clients in `flow` request their next object.
    Web,
    /// A recorded packet arrives at the port.
    Replay,
    /// The application of the flow stops.
    Stop,
    /// The application of the flow writes a segment.
    Write,
}

/// An event: 48 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event {
    /// Bits of the time, s; non-negative doubles have the order of their bits.
    pub time: u64,
    /// Bits of the time at which the event was (or, on an analytic link, would have been) scheduled.
    pub scheduled: u64,
    /// Bits of the time at which the event that scheduled this one was scheduled, or a substitute for it.
    pub cause: u64,
    /// Number from the global counter.
    pub number: u64,
    /// The arriving segment, or other data in its fields.
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
            10 => Kind::Web,
            11 => Kind::Replay,
            12 => Kind::Stop,
            13 => Kind::Write,
            _ => Kind::Sample,
        }
    }

    /// Key of the total order.
    #[inline(always)]
    pub fn key(&self) -> (u64, Tie) {
        (self.time, self.tie())
    }

    /// Key among events of the same time.
    #[inline(always)]
    pub fn tie(&self) -> Tie {
        #[cfg(test)]
        COMPARISONS.with(|count| count.set(count.get() + 1));
        (self.scheduled, self.cause, self.number)
    }

    /// Whether this event runs before `other`.
    #[inline(always)]
    pub fn before(&self, other: &Event) -> bool {
        #[cfg(test)]
        COMPARISONS.with(|count| count.set(count.get() + 1));
        self.time < other.time || (self.time == other.time && self.tie() < other.tie())
    }
}

#[cfg(test)]
thread_local! {
    static COMPARISONS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Keys of events that this thread has compared.
#[cfg(test)]
pub(crate) fn comparisons() -> u64 {
    COMPARISONS.with(std::cell::Cell::get)
}

/// Key among events of the same time.
pub type Tie = (u64, u64, u64);

/// Lets the engine revise or prefetch for events that the queue passes before their time.
pub trait Upcoming {
    /// Postpones an event whose timer has moved; returns false if the event is void. The queue need not call it.
    fn revise(&mut self, _event: &mut Event) -> bool {
        true
    }

    /// How many slots of the wheel ahead it is notified of an event, by a large queue ([`EventQueue::LARGE`]).
    fn horizon(&self) -> usize {
        1
    }

    /// Whether it is notified of the events of the next slot one by one, as those before them run, and of none of the
    /// current slot. Else of all of a slot at once.
    fn one_by_one(&self) -> bool {
        false
    }

    /// An event is due in so many slots, at most [`Upcoming::horizon`]; 0 means now: time to prefetch.
    fn due_in(&self, _event: &Event, _slots: usize) {}
}

/// Events in the order of insertion.
pub struct NoUpcoming;

impl Upcoming for NoUpcoming {}

/// Later than all times, in bits.
pub const NEVER: u64 = u64::MAX - 0xff;

/// A priority queue of events. A test compares the sequences that the implementations pop.
pub trait EventQueue {
    /// Whether it is for a network whose state exceeds the caches: it announces events ahead of their time.
    const LARGE: bool = false;

    /// An empty queue for events about every `spacing` seconds (a hint).
    fn new(spacing: f64) -> Self;

    /// Adds an event. `lane` groups events with rising times (a hint, not required); see [`LaneQueue`].
    fn push(&mut self, event: Event, lane: u8);

    /// Removes the first event if its time, in bits, is before `until`, at most [`NEVER`].
    fn pop_before(&mut self, until: u64, upcoming: &mut impl Upcoming) -> Option<Event>;

    /// Removes the first event.
    #[inline(always)]
    fn pop(&mut self, upcoming: &mut impl Upcoming) -> Option<Event> {
        self.pop_before(NEVER, upcoming)
    }

    /// Time of the first event, in bits; that of infinity or more if there is none.
    fn next_time(&mut self, upcoming: &mut impl Upcoming) -> u64;

    /// Prefetches the memory of the next events.
    #[inline(always)]
    fn prefetch(&self) {}

    /// An event about `ahead` events after the one just popped, of which no [`Upcoming`] is notified; for prefetching
    /// its state.
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
        let mut bounded = 0;
        for round in 0..40 {
            // Times rise on the whole, as in a run: no event is scheduled before one already popped.
            let scale = [1e-9, 1e-6, 1e-3, 1.0, 1e4][round % 5];
            let (mut heap, mut lanes) = (HeapQueue::new(scale), Lanes::new(scale));
            let mut large = LargeLanes::new(scale);
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
                    large.push(event, lane);
                }
                // Half of the time up to a bound, which may be before all events.
                let bound = (now + (random.uniform() * 40.0 - 1.0) * scale).max(0.0).to_bits();
                let until = if random.uniform() < 0.5 { bound } else { NEVER };
                let (a, b) = (heap.pop_before(until, &mut NoUpcoming), lanes.pop_before(until, &mut NoUpcoming));
                assert_eq!(a.map(|e| e.key()), b.map(|e| e.key()));
                assert_eq!(a.map(|e| e.key()), large.pop_before(until, &mut NoUpcoming).map(|e| e.key()));
                bounded += u32::from(a.is_none() && heap.next_time(&mut NoUpcoming) < NEVER);
                if let Some(event) = a {
                    now = f64::from_bits(event.time);
                }
            }
        }
        assert!(bounded > 1000, "{bounded} bounds were before all events");
    }

    /// Notes of which events it was notified, and how far ahead.
    struct Noted {
        one_by_one: bool,
        ahead: std::cell::RefCell<Vec<(u64, usize)>>,
    }

    impl Upcoming for Noted {
        fn horizon(&self) -> usize {
            2
        }

        fn one_by_one(&self) -> bool {
            self.one_by_one
        }

        fn due_in(&self, event: &Event, slots: usize) {
            self.ahead.borrow_mut().push((event.number, slots));
        }
    }

    #[test]
    fn a_large_queue_tells_of_each_event_once_two_slots_ahead_and_once_in_the_slot_before() {
        for one_by_one in [false, true] {
            let mut noted = Noted { one_by_one, ahead: Default::default() };
            let mut queue = LargeLanes::new(1e-3);
            let mut random = earlydrop_aqm::random::Generator::stream(3, "events");
            for number in 1..=4000 {
                // Lane 3 is the wheel.
                queue.push(Event::new(random.uniform(), 0.0, 0, number, Kind::Arrival, Segment::default()), 3);
            }
            let (mut run, mut alone) = (0, 0);
            let mut before = 0;
            while let Some(event) = queue.pop(&mut noted) {
                let told = noted.ahead.borrow();
                run += 1;
                alone += usize::from(matches!(told[before..], [(_, 1)]));
                before = told.len();
                // The first two slots come up unannounced.
                if run > 200 {
                    let of = |slots| told.iter().filter(|&&entry| entry == (event.number, slots)).count();
                    assert_eq!((of(2), of(1), of(0)), (1, 1, usize::from(!one_by_one)), "event {run}");
                }
            }
            assert_eq!((run, alone > 3000, alone > 0), (4000, one_by_one, one_by_one), "{alone} came alone");
        }
    }
}
