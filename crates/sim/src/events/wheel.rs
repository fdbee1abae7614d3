//! A hierarchical timing wheel that keeps the total order exactly: a slot is sorted when its turn comes.

use super::Event;

const SLOTS: usize = 1024;
const BITS: u32 = 10;
const LEVELS: usize = 6;
/// Slots a second: a tick of 0.5 ms.
const TICKS_PER_SECOND: f64 = 2e3;

/// End of a list.
const NONE: u32 = u32::MAX;

/// Events by tick: levels of 1024 slots, each slot of a level as long as the level below; six reach 10^13 s. A slot is
/// a list in one pool, so that memory goes with the events that wait and not with the slots they have passed.
pub struct Wheel {
    slots: Vec<u32>,
    pool: Vec<(Event, u32)>,
    free: u32,
    occupied: [[u64; SLOTS / 64]; LEVELS],
    /// Tick of `current`; every event in the slots is later.
    tick: u64,
    /// Events up to `tick`, latest first.
    current: Vec<Event>,
    /// No event here has a time of fewer bits than this; lets the wheel say no without a search.
    quiet_until: u64,
    len: usize,
}

impl Wheel {
    pub fn new() -> Self {
        Wheel {
            slots: vec![NONE; LEVELS * SLOTS],
            pool: Vec::new(),
            free: NONE,
            occupied: [[0; SLOTS / 64]; LEVELS],
            tick: 0,
            current: Vec::new(),
            quiet_until: u64::MAX,
            len: 0,
        }
    }

    /// Bits of a time that is surely before `tick`, and not by much.
    fn just_before(tick: u64) -> u64 {
        (tick as f64 / TICKS_PER_SECOND * (1.0 - 1e-14)).to_bits()
    }

    /// The first event, if there is one, has a time of at least so many bits.
    #[inline(always)]
    pub fn quiet_until(&self) -> u64 {
        self.quiet_until
    }

    fn tick_of(time: u64) -> u64 {
        (f64::from_bits(time) * TICKS_PER_SECOND) as i64 as u64
    }

    pub fn push(&mut self, event: Event) {
        self.len += 1;
        let tick = Self::tick_of(event.time);
        if tick <= self.tick {
            self.insert(event);
            return;
        }
        self.quiet_until = self.quiet_until.min(Self::just_before(tick));
        let entry = self.free;
        if entry == NONE {
            self.pool.push((event, NONE));
            self.link(self.pool.len() as u32 - 1, tick);
        } else {
            self.free = self.pool[entry as usize].1;
            self.pool[entry as usize].0 = event;
            self.link(entry, tick);
        }
    }

    /// Puts an event of a tick that has come into `current`.
    fn insert(&mut self, event: Event) {
        let at = self.current.iter().rposition(|other| event.before(other)).map_or(0, |i| i + 1);
        self.current.insert(at, event);
        self.quiet_until = 0;
    }

    /// Puts an entry of the pool into the list of its slot; `tick` is to come.
    fn link(&mut self, entry: u32, tick: u64) {
        let highest_difference = 63 - (tick ^ self.tick).leading_zeros();
        let level = ((highest_difference / BITS) as usize).min(LEVELS - 1);
        let slot = (tick >> (BITS * level as u32)) as usize & (SLOTS - 1);
        let head = &mut self.slots[level * SLOTS + slot];
        self.pool[entry as usize].1 = *head;
        *head = entry;
        self.occupied[level][slot / 64] |= 1 << (slot % 64);
    }

    /// Frees an entry of the pool; its event and the next in its list.
    fn unlink(&mut self, entry: u32) -> (Event, u32) {
        let (event, next) = self.pool[entry as usize];
        self.pool[entry as usize].1 = self.free;
        self.free = entry;
        (event, next)
    }

    /// First occupied slot from `from` on.
    fn next_occupied(map: &[u64; SLOTS / 64], from: usize) -> Option<usize> {
        let first = from / 64;
        if first >= map.len() {
            return None;
        }
        let mut bits = map[first] & (!0 << (from % 64));
        let mut word = first;
        loop {
            if bits != 0 {
                return Some(word * 64 + bits.trailing_zeros() as usize);
            }
            word += 1;
            bits = *map.get(word)?;
        }
    }

    /// The first event, if it is not later than the tick of `limit`; later ones need not be looked at yet.
    #[inline(always)]
    pub fn first_until(&mut self, limit: u64) -> Option<&Event> {
        if self.current.is_empty() {
            // The bits of u64::MAX are a NaN: no limit.
            let limit = if limit == u64::MAX { f64::INFINITY } else { f64::from_bits(limit) * TICKS_PER_SECOND };
            self.advance(limit);
        }
        self.current.last()
    }

    /// Brings the next slot up to the tick `limit` into `current`, sorted.
    #[inline(never)]
    fn advance(&mut self, limit: f64) {
        while self.current.is_empty() {
            let low = self.tick as usize & (SLOTS - 1);
            if let Some(slot) = Self::next_occupied(&self.occupied[0], low + 1) {
                let tick = self.tick & !(SLOTS as u64 - 1) | slot as u64;
                if tick as f64 > limit {
                    self.quiet_until = Self::just_before(tick);
                    return;
                }
                self.tick = tick;
                self.quiet_until = 0;
                self.occupied[0][slot / 64] &= !(1 << (slot % 64));
                let mut entry = std::mem::replace(&mut self.slots[slot], NONE);
                while entry != NONE {
                    let (event, next) = self.unlink(entry);
                    self.current.push(event);
                    entry = next;
                }
                self.current.sort_unstable_by_key(|event| std::cmp::Reverse(event.key()));
                return;
            }
            let Some((level, slot)) = (1..LEVELS).find_map(|level| {
                let here = (self.tick >> (BITS * level as u32)) as usize & (SLOTS - 1);
                Self::next_occupied(&self.occupied[level], here + 1).map(|slot| (level, slot))
            }) else {
                self.quiet_until = u64::MAX;
                return;
            };
            let shift = BITS * level as u32;
            let tick = ((self.tick >> shift) & !(SLOTS as u64 - 1) | slot as u64) << shift;
            if tick as f64 > limit {
                self.quiet_until = Self::just_before(tick);
                return;
            }
            self.tick = tick;
            self.occupied[level][slot / 64] &= !(1 << (slot % 64));
            let mut entry = std::mem::replace(&mut self.slots[level * SLOTS + slot], NONE);
            while entry != NONE {
                let next = self.pool[entry as usize].1;
                let due = Self::tick_of(self.pool[entry as usize].0.time);
                if due <= self.tick {
                    let (event, _) = self.unlink(entry);
                    self.insert(event);
                } else {
                    self.link(entry, due);
                }
                entry = next;
            }
        }
    }

    /// Takes the event that [`Wheel::first_until`] has just shown.
    #[inline(always)]
    pub fn pop_first(&mut self) -> Option<Event> {
        let event = self.current.pop();
        self.len -= usize::from(event.is_some());
        if self.current.is_empty() {
            self.quiet_until = if self.len == 0 { u64::MAX } else { Self::just_before(self.tick + 1) };
        }
        event
    }
}
