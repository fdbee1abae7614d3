//! A hierarchical timing wheel that keeps the exact total order: a slot is sorted when it becomes current.

use super::heap::Ordered;
use super::{Event, Upcoming};
use crate::prefetch::prefetch;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Slots of the lowest level: 2^14, so that most events are placed once.
const LOW_BITS: u32 = 14;
const LOW: usize = 1 << LOW_BITS;
/// Slots of each level above: 2^10.
const HIGH_BITS: u32 = 10;
const HIGH: usize = 1 << HIGH_BITS;
const HIGH_LEVELS: usize = 5;
/// Events per slot on average, if those outside of lanes are as frequent as all.
const EVENTS_A_SLOT: f64 = 16.0;
/// Ticks per second.
const SLOWEST: f64 = 64.0;
const FASTEST: f64 = 16_777_216.0;

/// How many events of the current tick may run before one that joins them in their list.
const NEAR: usize = 32;
/// End of a list.
const NONE: u32 = u32::MAX;
const EVENTS_A_CHUNK: usize = 5;

/// A chunk of a slot's events, in 244 bytes.
#[derive(Clone, Copy)]
#[repr(Rust, packed(4))]
struct Chunk {
    events: [Event; EVENTS_A_CHUNK],
    /// The next chunk of the slot, or of the free list.
    next: u32,
}

/// The events of a slot: its first chunk and the number of events in it; all further chunks are full. A push into a
/// chunk with space reads nothing of it.
#[derive(Clone, Copy)]
struct Slot {
    head: u32,
    len: u32,
}

/// A place in the list of a slot's events: a chunk, and the number of its events that are still to come.
#[derive(Clone, Copy)]
struct Cursor {
    at: u32,
    left: u32,
}

const EMPTY: Slot = Slot { head: NONE, len: 0 };

/// Events by tick: levels of slots, each slot of a level as long as the whole level below. A slot is a list of chunks
/// in one pool, so that memory follows the number of events and not of slots, and events of similar times are adjacent.
pub struct Wheel<const LARGE: bool> {
    /// Powers of two, so that products with them are exact.
    ticks_per_second: f64,
    seconds_per_tick: f64,
    slots: Vec<Slot>,
    pool: Vec<Chunk>,
    free: u32,
    low_occupied: [u64; LOW / 64],
    /// Nonzero words of `low_occupied`.
    low_words: [u64; LOW / 64 / 64],
    high_occupied: [[u64; HIGH / 64]; HIGH_LEVELS],
    /// Tick of `current`; all events in slots are later.
    tick: u64,
    /// Events up to `tick`, latest first.
    current: Vec<Event>,
    /// More of them, none before the last of `current`: those that joined a tick of many events, where an insertion into
    /// the list would cost as much as there are events.
    late: BinaryHeap<Reverse<Ordered>>,
    /// Lower bound of the times here, in bits; the wheel answers without a search below it.
    quiet_until: u64,
    len: usize,
    /// The events of the next slot that are still to be announced.
    ahead: Cursor,
}

/// The first set bit at or after `from`.
#[inline(always)]
fn next_bit(map: &[u64], from: usize) -> Option<usize> {
    let mut word = from / 64;
    let mut bits = map.get(word)? & (!0 << (from % 64));
    while bits == 0 {
        word += 1;
        bits = *map.get(word)?;
    }
    Some(word * 64 + bits.trailing_zeros() as usize)
}

impl<const LARGE: bool> Wheel<LARGE> {
    /// An empty wheel for events about every `spacing` seconds.
    pub fn new(spacing: f64) -> Self {
        let mut ticks_per_second = SLOWEST;
        while ticks_per_second * EVENTS_A_SLOT * spacing < 1.0 && ticks_per_second < FASTEST {
            ticks_per_second *= 2.0;
        }
        Wheel {
            ticks_per_second,
            seconds_per_tick: 1.0 / ticks_per_second,
            slots: vec![EMPTY; LOW + HIGH_LEVELS * HIGH],
            pool: Vec::new(),
            free: NONE,
            low_occupied: [0; LOW / 64],
            low_words: [0; LOW / 64 / 64],
            high_occupied: [[0; HIGH / 64]; HIGH_LEVELS],
            tick: 0,
            current: Vec::new(),
            late: BinaryHeap::new(),
            quiet_until: u64::MAX,
            len: 0,
            ahead: Cursor { at: NONE, left: 0 },
        }
    }

    /// Bits of the time at which `tick` starts.
    fn start(&self, tick: u64) -> u64 {
        (tick as i64 as f64 * self.seconds_per_tick).to_bits()
    }

    /// Lower bound of the first event's time, in bits.
    #[inline(always)]
    pub fn quiet_until(&self) -> u64 {
        self.quiet_until
    }

    #[inline(always)]
    fn tick_of(&self, time: u64) -> u64 {
        (f64::from_bits(time) * self.ticks_per_second) as i64 as u64
    }

    #[inline(never)]
    pub fn push(&mut self, event: Event) {
        self.len += 1;
        let tick = self.tick_of(event.time);
        if tick <= self.tick {
            self.insert(&event);
        } else {
            self.quiet_until = self.quiet_until.min(self.start(tick));
            self.put(&event, tick);
        }
    }

    /// Inserts an event of a current or past tick.
    fn insert(&mut self, event: &Event) {
        self.quiet_until = self.quiet_until.min(event.time);
        let near = self.current.len().saturating_sub(NEAR);
        match self.current[near..].iter().rposition(|other| event.before(other)) {
            Some(i) => self.current.insert(near + i + 1, *event),
            None if near == 0 => self.current.insert(0, *event),
            None => self.late.push(Reverse(Ordered(*event))),
        }
    }

    /// Inserts an event into the slot of `tick`, which is later.
    #[inline(always)]
    fn put(&mut self, event: &Event, tick: u64) {
        let highest_difference = 63 - (tick ^ self.tick).leading_zeros();
        let slot = if highest_difference < LOW_BITS {
            let slot = tick as usize & (LOW - 1);
            self.low_occupied[slot / 64] |= 1 << (slot % 64);
            self.low_words[slot / 64 / 64] |= 1 << (slot / 64 % 64);
            slot
        } else {
            let level = ((highest_difference - LOW_BITS) / HIGH_BITS) as usize;
            let slot = (tick >> (LOW_BITS + HIGH_BITS * level as u32)) as usize & (HIGH - 1);
            self.high_occupied[level][slot / 64] |= 1 << (slot % 64);
            LOW + level * HIGH + slot
        };
        let Slot { head, len } = self.slots[slot];
        if head != NONE && (len as usize) < EVENTS_A_CHUNK {
            self.pool[head as usize].events[len as usize] = *event;
            self.slots[slot].len += 1;
            return;
        }
        self.slots[slot] = Slot { head: self.new_chunk(event, head), len: 1 };
    }

    /// A new chunk with its first event.
    #[inline(always)]
    fn new_chunk(&mut self, event: &Event, next: u32) -> u32 {
        let at = self.free;
        if at == NONE {
            return self.grow(event, next);
        }
        let chunk = &mut self.pool[at as usize];
        self.free = chunk.next;
        chunk.events[0] = *event;
        chunk.next = next;
        at
    }

    #[inline(never)]
    fn grow(&mut self, event: &Event, next: u32) -> u32 {
        if self.pool.len() == self.pool.capacity() {
            self.pool.reserve_exact(self.pool.len() / 8 + 64);
        }
        self.pool.push(Chunk { events: [*event; EVENTS_A_CHUNK], next });
        self.pool.len() as u32 - 1
    }

    /// The first event, if it is not later than the tick of `limit`; later slots are left alone. An event of a current
    /// slot is first shown to `upcoming`.
    #[inline(always)]
    pub fn first_until(&mut self, limit: u64, upcoming: &mut impl Upcoming) -> Option<&Event> {
        if self.current.is_empty() {
            // The time of an empty lane is a NaN, which no tick exceeds: no limit.
            self.advance(f64::from_bits(limit) * self.ticks_per_second, upcoming);
        }
        self.current.last()
    }

    /// Makes the next slot up to the tick `limit` current, sorted.
    #[inline(never)]
    fn advance(&mut self, limit: f64, upcoming: &mut impl Upcoming) {
        while self.current.is_empty() {
            if let Some(slot) = self.next_low(self.tick as usize & (LOW - 1)) {
                let tick = self.tick & !(LOW as u64 - 1) | slot as u64;
                if tick as f64 > limit {
                    self.quiet_until = self.start(tick);
                    return;
                }
                self.tick = tick;
                self.low_occupied[slot / 64] &= !(1 << (slot % 64));
                if self.low_occupied[slot / 64] == 0 {
                    self.low_words[slot / 64 / 64] &= !(1 << (slot / 64 % 64));
                }
                if LARGE {
                    self.announce_rest(upcoming, 1);
                }
                self.empty(slot, upcoming);
                self.current.sort_unstable_by_key(|event| std::cmp::Reverse(event.key()));
                if LARGE {
                    self.look_ahead(slot, upcoming);
                }
                continue;
            }
            let Some((level, slot)) = (0..HIGH_LEVELS).find_map(|level| {
                let here = (self.tick >> (LOW_BITS + HIGH_BITS * level as u32)) as usize & (HIGH - 1);
                next_bit(&self.high_occupied[level], here + 1).map(|slot| (level, slot))
            }) else {
                self.quiet_until = u64::MAX;
                return;
            };
            let shift = LOW_BITS + HIGH_BITS * level as u32;
            let tick = ((self.tick >> shift) & !(HIGH as u64 - 1) | slot as u64) << shift;
            if tick as f64 > limit {
                self.quiet_until = self.start(tick);
                return;
            }
            self.tick = tick;
            self.high_occupied[level][slot / 64] &= !(1 << (slot % 64));
            self.empty(LOW + level * HIGH + slot, upcoming);
            self.current.sort_unstable_by_key(|event| std::cmp::Reverse(event.key()));
        }
        self.quiet_until = self.first_time();
    }

    /// Lower bound of the time of what comes first here, in bits.
    #[inline(always)]
    fn first_time(&self) -> u64 {
        match self.current.last() {
            Some(first) => first.time,
            None if self.len == 0 => u64::MAX,
            None => self.start(self.tick + 1),
        }
    }

    /// The slot `slot` has become current: announces what is in the slots ahead, the farthest first, and what is now
    /// current; prefetches the slot after them. One by one, the events of the next slot follow as those of this one run.
    fn look_ahead(&mut self, slot: usize, upcoming: &impl Upcoming) {
        let (slots, one_by_one) = (upcoming.horizon(), upcoming.one_by_one());
        prefetch(&self.pool, self.slots[(slot + slots + 1) % LOW].head as usize);
        for ahead in (1..=slots).rev() {
            let Slot { head, len } = self.slots[(slot + ahead) % LOW];
            self.ahead = Cursor { at: head, left: len };
            if ahead > 1 || !one_by_one {
                self.announce_rest(upcoming, ahead);
            }
        }
        if !one_by_one {
            self.current.iter().rev().for_each(|event| upcoming.due_in(event, 0));
        }
    }

    /// Announces what is left of a slot.
    fn announce_rest(&mut self, upcoming: &impl Upcoming, slots: usize) {
        let Cursor { mut at, mut left } = std::mem::replace(&mut self.ahead, Cursor { at: NONE, left: 0 });
        while let Some(chunk) = self.pool.get(at as usize) {
            prefetch(&self.pool, chunk.next as usize);
            for i in 0..(left as usize).min(EVENTS_A_CHUNK) {
                upcoming.due_in(&{ chunk.events[i] }, slots);
            }
            (at, left) = (chunk.next, EVENTS_A_CHUNK as u32);
        }
    }

    /// Announces one event of the next slot.
    #[inline(always)]
    fn announce_one(&mut self, upcoming: &impl Upcoming) {
        let Cursor { at, left } = self.ahead;
        let Some(chunk) = self.pool.get(at as usize) else { return };
        upcoming.due_in(&{ chunk.events[left as usize - 1] }, 1);
        self.ahead.left = left - 1;
        if left == 1 {
            self.ahead = Cursor { at: chunk.next, left: EVENTS_A_CHUNK as u32 };
            prefetch(&self.pool, chunk.next as usize);
        }
    }

    /// The first occupied slot of the lowest level after `slot`.
    #[inline(always)]
    fn next_low(&self, slot: usize) -> Option<usize> {
        let from = slot + 1;
        let here = self.low_occupied.get(from / 64)? & (!0 << (from % 64));
        if here != 0 {
            return Some(from / 64 * 64 + here.trailing_zeros() as usize);
        }
        let word = next_bit(&self.low_words, from / 64 + 1)?;
        Some(word * 64 + self.low_occupied[word].trailing_zeros() as usize)
    }

    /// Empties a slot: events up to `tick` go into `current`, the others into later slots.
    #[inline(always)]
    fn empty(&mut self, slot: usize, upcoming: &mut impl Upcoming) {
        let Slot { head: mut at, mut len } = std::mem::replace(&mut self.slots[slot], EMPTY);
        while at != NONE {
            let next = self.pool[at as usize].next;
            prefetch(&self.pool, next as usize);
            for i in 0..len as usize {
                let mut event = self.pool[at as usize].events[i];
                if !upcoming.revise(&mut event) {
                    self.len -= 1;
                    continue;
                }
                let due = self.tick_of(event.time);
                if due <= self.tick {
                    self.current.push(event);
                } else {
                    self.put(&event, due);
                }
            }
            self.pool[at as usize].next = self.free;
            self.free = at;
            (at, len) = (next, EVENTS_A_CHUNK as u32);
        }
    }

    /// Removes the event that [`Wheel::first_until`] has just returned.
    #[inline(always)]
    pub fn pop_first(&mut self, upcoming: &impl Upcoming) -> Option<Event> {
        if LARGE {
            self.announce_one(upcoming);
        }
        let event = self.current.pop();
        self.len -= usize::from(event.is_some());
        if let Some(Reverse(Ordered(late))) = self.late.peek() {
            if self.current.last().is_none_or(|first| late.before(first)) {
                self.current.extend(self.late.pop().map(|Reverse(Ordered(late))| late));
            }
        }
        self.quiet_until = self.first_time();
        event
    }
}
