//! When flows start. With many of them most start long after others, and their events would be a quarter of all that
//! wait: so only the next ones are in the event queue.

use super::order::{Key, START};
use crate::events::{Event, Kind};
use crate::prefetch::prefetch;
use earlydrop_net::Segment;

/// Starts that are in the event queue: more than it prefetches for.
const AHEAD: usize = 64;
/// Whose times are prefetched: so many after the last one there.
const PREFETCHED: usize = 16;
/// After so many their memory is given back.
const GIVEN_BACK: usize = 1 << 16;

/// The starts of all flows, in the order of their events. `times` are those of all flows, s, in every call the same.
#[derive(Default)]
pub struct Starts {
    /// Those that are not in the event queue yet, the next one last.
    flows: Vec<u32>,
    /// The number of the event of flow 0; that of another flow is as much higher as its own number.
    first: u64,
}

impl Starts {
    /// Those before `end`. (A flow of a web clients' pool waits for an object and has none.) The events have a number for
    /// each flow, from `first` on.
    pub fn new(times: &[f64], end: f64, first: u64) -> Self {
        let mut flows: Vec<u32> = (0..times.len() as u32).filter(|&flow| times[flow as usize] < end).collect();
        flows.sort_by(|&flow, &other| times[flow as usize].total_cmp(&times[other as usize]));
        flows.reverse();
        Starts { flows, first }
    }

    /// The events that are in the queue at first.
    pub fn first_events(&mut self, times: &[f64]) -> Vec<Event> {
        (0..AHEAD).filter_map(|_| self.next(times)).collect()
    }

    /// An event at `key` runs. If it is one of these, this is the next one, which must go into the queue.
    pub fn after(&mut self, key: Key, times: &[f64]) -> Option<Event> {
        if key.number < self.first + times.len() as u64 {
            self.next(times)
        } else {
            None
        }
    }

    fn next(&mut self, times: &[f64]) -> Option<Event> {
        let flow = self.flows.pop()?;
        if let Some(&far) = self.flows.len().checked_sub(1 + PREFETCHED).and_then(|at| self.flows.get(at)) {
            prefetch(times, far as usize);
        }
        if self.flows.len().is_multiple_of(GIVEN_BACK) {
            self.flows.shrink_to_fit();
        }
        let (time, number) = (times[flow as usize], self.first + u64::from(flow));
        let segment = Segment::new(flow, 0, 0, 0);
        Some(Event::new(time, START.now, START.scheduled.to_bits(), number, Kind::Start, segment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{EventQueue, HeapQueue, NoUpcoming};

    /// Among events of other numbers, many starts at one time, and some that never come.
    #[test]
    fn starts_run_in_the_order_that_they_would_have_all_at_once() {
        let mut random = earlydrop_aqm::random::Generator::stream(3, "starts");
        let times: Vec<f64> = (0..500)
            .map(|flow| match flow % 5 {
                0 => f64::INFINITY,
                1 => 1.0,
                _ => (random.uniform() * 40.0).floor(),
            })
            .collect();
        let mut starts = Starts::new(&times, 30.0, 7);
        let mut queue = HeapQueue::new(1.0);
        let first = starts.first_events(&times);
        assert_eq!(first.len(), AHEAD);
        first.into_iter().for_each(|event| queue.push(event, 3));
        let other = |number, time| Event::new(time, 0.0, 0, number, Kind::Start, Segment::new(9, 1, 0, 0));
        (0..30).for_each(|second| queue.push(other(1000 + second, second as f64), 3));
        let mut seen = Vec::new();
        while let Some(event) = queue.pop(&mut NoUpcoming) {
            let key = Key { now: f64::from_bits(event.time), scheduled: 0.0, number: event.number };
            if let Some(next) = starts.after(key, &times) {
                queue.push(next, 3);
            }
            seen.push((event.time, event.number));
        }
        let wanted =
            times.iter().zip(7..).filter(|(time, _)| **time < 30.0).map(|(time, number)| (time.to_bits(), number));
        let mut wanted: Vec<(u64, u64)> = wanted.chain((0..30).map(|s| ((s as f64).to_bits(), 1000 + s))).collect();
        wanted.sort_unstable();
        assert_eq!(seen, wanted);
    }
}
