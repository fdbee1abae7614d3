//! The queues of a tin: a hash with eight places for each key, hosts with their number of bulk queues, and the lists in
//! which queues take turns.

use super::cobalt::Cobalt;
use super::parameters::{FlowMode, QUEUES, WAYS};

/// Stands for no packet.
pub(super) const NONE: u32 = u32::MAX;

/// Where a queue stands (`CAKE_SET_*`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Set {
    /// On no list.
    #[default]
    None,
    /// Has sent less than its turn.
    Sparse,
    /// Has no backlog, but has used up its turn and takes turns with the bulk queues.
    SparseWait,
    /// Has a backlog.
    Bulk,
    /// Empty, and stays on a list until COBALT's count and probability are 0.
    Decaying,
}

/// A queue (`struct cake_flow`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub cobalt: Cobalt,
    /// Places of the queue's oldest and newest packet in the pool.
    pub first: u32,
    pub last: u32,
    /// Bytes that the queue may still send in its turn.
    pub deficit: i32,
    /// Bytes that wait.
    pub backlog: u32,
    /// The hash key of the queue's last packet.
    tag: u32,
    /// Places of the source and destination in the table of hosts.
    pub source: u16,
    pub destination: u16,
    pub set: Set,
}

/// A host (`struct cake_host`), as a source and as a destination.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    /// The host's keys, by side.
    tags: [u32; 2],
    /// The host's bulk queues, by side.
    busy: [u16; 2],
}

/// The two sides of [`Host`].
const SOURCE: usize = 0;
const DESTINATION: usize = 1;

/// The heads of the lists, behind the queues in the ring of links.
#[derive(Clone, Copy, Debug)]
pub(super) enum List {
    New = QUEUES as isize,
    Old,
    Decaying,
}

/// Hash keys of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Keys {
    pub flow: u32,
    pub source: u32,
    pub destination: u32,
}

/// What the hash found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ways {
    /// Keys found in another place of the set; keys that took a free place; keys that found none and share a queue.
    pub hits: u64,
    pub misses: u64,
    pub collisions: u64,
}

/// The queues of a tin.
#[derive(Debug)]
pub(super) struct Flows {
    pub all: Vec<Flow>,
    hosts: Vec<Host>,
    /// The neighbours before and behind a queue on its list; the heads of the lists come last.
    links: Vec<(u16, u16)>,
    fair: [bool; 2],
    pub ways: Ways,
}

impl Flows {
    pub fn new(mode: FlowMode) -> Self {
        let flow = Flow {
            cobalt: Cobalt::default(),
            first: NONE,
            last: NONE,
            deficit: 0,
            backlog: 0,
            tag: 0,
            source: 0,
            destination: 0,
            set: Set::None,
        };
        let fair = [mode.fair_sources(), mode.fair_destinations()];
        Flows {
            all: vec![flow; QUEUES],
            hosts: vec![Host::default(); if fair == [false; 2] { 1 } else { QUEUES }],
            links: (0..QUEUES as u16 + 3).map(|own| (own, own)).collect(),
            fair,
            ways: Ways::default(),
        }
    }

    /// cake_hash: the queue of a packet.
    #[inline]
    pub fn classify(&mut self, keys: Keys) -> usize {
        let direct = keys.flow as usize % QUEUES;
        let queue = &self.all[direct];
        if queue.tag == keys.flow && queue.set != Set::None {
            return direct;
        }
        self.search(keys, direct)
    }

    /// cake_hash for a key that does not find itself in its first place.
    fn search(&mut self, keys: Keys, direct: usize) -> usize {
        let base = direct - direct % WAYS;
        let place = |i: usize| base + (direct + i) % WAYS;
        let own = (0..WAYS).find(|&i| self.all[place(i)].tag == keys.flow);
        let queue;
        let mut joins = true;
        if let Some(i) = own {
            queue = place(i);
            self.ways.hits += u64::from(i > 0);
            joins = self.all[queue].set == Set::None;
        } else if let Some(i) = (0..WAYS).find(|&i| self.all[place(i)].set == Set::None) {
            queue = place(i);
            self.ways.misses += 1;
        } else {
            queue = direct;
            self.ways.collisions += 1;
            if self.all[queue].set == Set::Bulk {
                self.less_busy(queue);
            }
        }
        self.all[queue].tag = keys.flow;
        if joins {
            let busy = self.all[queue].set == Set::Bulk;
            if self.fair[SOURCE] {
                self.all[queue].source = self.host(SOURCE, keys.source, busy);
            }
            if self.fair[DESTINATION] {
                self.all[queue].destination = self.host(DESTINATION, keys.destination, busy);
            }
        }
        queue
    }

    /// The place of a host with this key: the one that has it in the set, else one without bulk queues, else the first.
    fn host(&mut self, side: usize, key: u32, busy: bool) -> u16 {
        let direct = key as usize % QUEUES;
        let base = direct - direct % WAYS;
        let place = |i: usize| base + (direct + i) % WAYS;
        let own = (0..WAYS).find(|&i| self.hosts[place(i)].tags[side] == key);
        let at = own.or_else(|| (0..WAYS).find(|&i| self.hosts[place(i)].busy[side] == 0)).map_or(direct, place);
        self.hosts[at].tags[side] = key;
        if busy {
            self.count(side, at, true);
        }
        at as u16
    }

    /// cake_inc_*_bulk_flow_count and cake_dec_*.
    fn count(&mut self, side: usize, host: usize, up: bool) {
        if self.fair[side] {
            let busy = &mut self.hosts[host].busy[side];
            *busy = if up { (*busy + 1).min(QUEUES as u16) } else { busy.saturating_sub(1) };
        }
    }

    /// A queue of these hosts becomes a bulk queue.
    #[inline]
    pub fn busier(&mut self, queue: usize) {
        let Flow { source, destination, .. } = self.all[queue];
        self.count(SOURCE, source.into(), true);
        self.count(DESTINATION, destination.into(), true);
    }

    /// A queue of these hosts is no longer a bulk queue.
    #[inline]
    pub fn less_busy(&mut self, queue: usize) {
        let Flow { source, destination, .. } = self.all[queue];
        self.count(SOURCE, source.into(), false);
        self.count(DESTINATION, destination.into(), false);
    }

    /// Bulk queues of the busier of the queue's hosts, at least 1.
    #[inline]
    pub fn load(&self, queue: usize) -> u32 {
        let Flow { source, destination, .. } = self.all[queue];
        let mut load = 1;
        if self.fair[SOURCE] {
            load = load.max(self.hosts[usize::from(source)].busy[SOURCE]);
        }
        if self.fair[DESTINATION] {
            load = load.max(self.hosts[usize::from(destination)].busy[DESTINATION]);
        }
        load.into()
    }

    /// The first queue of a list.
    #[inline]
    pub fn first(&self, list: List) -> Option<usize> {
        let (_, behind) = self.links[list as usize];
        (usize::from(behind) < QUEUES).then_some(behind.into())
    }

    /// Takes a queue off its list.
    #[inline]
    pub fn unlink(&mut self, queue: usize) {
        self.join_neighbours(queue);
        self.links[queue] = (queue as u16, queue as u16);
    }

    #[inline]
    fn join_neighbours(&mut self, queue: usize) {
        let (before, behind) = self.links[queue];
        self.links[usize::from(before)].1 = behind;
        self.links[usize::from(behind)].0 = before;
    }

    /// Moves a queue to the end of a list.
    #[inline]
    pub fn append(&mut self, list: List, queue: usize) {
        self.join_neighbours(queue);
        let head = list as usize;
        let (last, _) = self.links[head];
        self.links[usize::from(last)].1 = queue as u16;
        self.links[queue] = (last, head as u16);
        self.links[head].0 = queue as u16;
    }
}
