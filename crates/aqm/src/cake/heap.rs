//! The heap that finds the longest queue when the memory limit is passed.
//!
//! It is Linux's heap, step by step, because it decides which of several nearly equally long queues loses a packet: an
//! element that sinks is compared with its children's old parent and so sinks one level only, and the heap is built
//! again only after 65535 departures without an overflow or when its top turns out empty.

use super::parameters::{QUEUES, TINS};

const PLACES: usize = QUEUES * TINS;

/// The heap of all queues of all tins, and where each queue is in it. Empty until the first overflow.
#[derive(Debug, Default)]
pub(super) struct Heap {
    /// Each element as `queue * TINS + tin`.
    places: Vec<u16>,
    /// The place of each queue, by its number.
    place_of: Vec<u16>,
    /// overflow_timeout: departures until the heap counts as stale; 0: stale.
    timeout: u16,
}

/// The number of a queue in the heap.
fn number(tin: usize, queue: usize) -> usize {
    queue * TINS + tin
}

impl Heap {
    /// Whether the heap must be told when a queue's length changes.
    #[inline]
    pub fn is_used(&self) -> bool {
        self.timeout > 0
    }

    /// The top turned out wrong: the heap is stale.
    pub fn is_wrong(&mut self) {
        self.timeout = 0;
    }

    /// A packet has left.
    #[inline]
    pub fn departed(&mut self) {
        self.timeout = self.timeout.saturating_sub(1);
    }

    /// The longest queue, as far as the heap knows: tin and queue. `length` gives the bytes of a tin's queue.
    pub fn top(&mut self, length: impl Fn(usize, usize) -> u32) -> (usize, usize) {
        if self.places.is_empty() {
            self.places = (0..PLACES as u16).collect();
            self.place_of = self.places.clone();
        }
        if self.timeout == 0 {
            for place in (0..=PLACES / 2).rev() {
                self.sink_at(place, &length);
            }
        }
        self.timeout = u16::MAX;
        let top = usize::from(self.places[0]);
        (top % TINS, top / TINS)
    }

    /// The top has become shorter (cake_heapify).
    pub fn sink_top(&mut self, length: impl Fn(usize, usize) -> u32) {
        self.sink_at(0, &length);
    }

    /// A queue has become shorter.
    pub fn shorter(&mut self, tin: usize, queue: usize, length: impl Fn(usize, usize) -> u32) {
        self.sink_at(self.place_of[number(tin, queue)].into(), &length);
    }

    /// A queue has become longer (cake_heapify_up).
    pub fn longer(&mut self, tin: usize, queue: usize, length: impl Fn(usize, usize) -> u32) {
        let mut place = usize::from(self.place_of[number(tin, queue)]);
        while place > 0 {
            let above = (place - 1) / 2;
            if self.at(place, &length) <= self.at(above, &length) {
                return;
            }
            self.swap(place, above);
            place = above;
        }
    }

    fn at(&self, place: usize, length: &impl Fn(usize, usize) -> u32) -> u32 {
        let number = usize::from(self.places[place]);
        length(number % TINS, number / TINS)
    }

    fn sink_at(&mut self, mut place: usize, length: &impl Fn(usize, usize) -> u32) {
        // Linux keeps this maximum from level to level, where the length of the sinking element was meant.
        let mut most = self.at(place, length);
        loop {
            let mut largest = place;
            for below in [2 * place + 1, 2 * place + 2] {
                if below < PLACES && self.at(below, length) > most {
                    largest = below;
                    most = self.at(below, length);
                }
            }
            if largest == place {
                return;
            }
            self.swap(place, largest);
            place = largest;
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.places.swap(one, other);
        for place in [one, other] {
            self.place_of[usize::from(self.places[place])] = place as u16;
        }
    }
}
