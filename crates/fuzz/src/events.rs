//! The event queue of lanes against the heap: any pushes and pops that a run could make.

use crate::Input;
use earlydrop_net::Segment;
use earlydrop_sim::events::{Event, EventQueue, HeapQueue, Kind, Lanes, LargeLanes, NoUpcoming, NEVER};

/// Most events of an input: enough to fill a tick of the wheel many times over.
const MOST: usize = 4000;

struct Both {
    heap: HeapQueue,
    lanes: Lanes,
    large: LargeLanes,
    now: f64,
    number: u64,
    waiting: usize,
}

impl Both {
    fn push(&mut self, after: f64, cause: u64, lane: u8) {
        self.number += 1;
        let time = self.now + after;
        let event = Event::new(time, self.now, cause, self.number, Kind::Arrival, Segment::default());
        self.heap.push(event, lane);
        self.lanes.push(event, lane);
        self.large.push(event, lane);
        self.waiting += 1;
    }

    fn pop(&mut self) {
        self.pop_before(NEVER);
    }

    fn pop_before(&mut self, until: u64) {
        let expected = self.heap.pop_before(until, &mut NoUpcoming);
        let found = self.lanes.pop_before(until, &mut NoUpcoming);
        assert_eq!(expected.map(|event| event.key()), found.map(|event| event.key()), "{} wait", self.waiting);
        let found = self.large.pop_before(until, &mut NoUpcoming);
        assert_eq!(expected.map(|event| event.key()), found.map(|event| event.key()), "{} wait", self.waiting);
        if let Some(event) = expected {
            self.now = f64::from_bits(event.time);
            self.waiting -= 1;
        }
    }
}

pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let spacing = input.of(&[1e-6, 1e-9, 1e-3, 1.0, 1e4]);
    let mut both = Both {
        heap: HeapQueue::new(spacing),
        lanes: Lanes::new(spacing),
        large: LargeLanes::new(spacing),
        now: 0.0,
        number: 0,
        waiting: 0,
    };
    while !input.is_empty() && both.number < MOST as u64 {
        let lane = input.below(5) as u8;
        let step = spacing * input.of(&[1.0, 0.0, 1e-3, 16.0, 1e3, 1e6]);
        match input.below(9) {
            // Many events, at one time or at times that fall.
            0 => {
                let (count, falls) = (1 + input.below(200), input.one_in(2));
                for i in 0..count {
                    both.push(if falls { step * (count - i) as f64 } else { step }, 0, lane);
                }
            }
            1..=4 => {
                let (steps, cause) = (input.below(20) as f64, input.below(3) as u64);
                both.push(step * steps, cause, lane);
            }
            // Events that are popped and come back, as sources do.
            5 => {
                for _ in 0..input.below(200) {
                    both.pop();
                    both.push(step, 0, lane);
                }
            }
            // A run up to a time.
            6 => {
                let until = (both.now + step * input.below(20) as f64).to_bits();
                (0..input.below(100)).for_each(|_| both.pop_before(until));
            }
            _ => (0..=input.below(100)).for_each(|_| both.pop()),
        }
    }
    while both.waiting > 0 {
        both.pop();
    }
    both.pop();
}
