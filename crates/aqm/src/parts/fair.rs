//! Queues by flow, served in turn (DRR++ of RFC 8290, 4): a hash, a list of new queues, a list of old ones, and a
//! deficit in bytes for each. FQ-CoDel, FQ-PIE and FQ-COBALT use it.
//!
//! A queue is in exactly one of three lists: new, old, or idle (the RFCs' inactive). All packets lie in one pool, so
//! that memory follows the packets that wait, not the largest length of each queue. Every step costs the same whatever
//! the number of queues; only [`FairQueues::fattest`] takes a few times sqrt(queues) steps.

use crate::discipline::OnDrop;
use crate::gate::Counters;
use crate::params::{words, Kind, Param, ParamError, Unit, Value, Values, Word};
use crate::parts::hash;
use crate::policy::{Limit, Reason, Room};
use crate::random::Generator;
use crate::Packet;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

words! {
    /// How a flow finds its queue.
    enum Classify {
        /// By a hash.
        Hash = "hash",
        /// Among the 8 queues of its hash: its own, else an idle one (ns-3 `EnableSetAssociativeHash`).
        SetAssociative = "set_associative",
        /// A queue of its own while there are enough.
        Perfect = "perfect",
    }
}

words! {
    /// What the fattest queue halves when the limit is passed.
    enum BatchRule {
        /// As the program (RFC, Linux or ns-3) has it.
        Auto = "auto",
        /// Its bytes.
        Bytes = "bytes",
        /// Its packets.
        Packets = "packets",
    }
}

/// The parameters of the scheduler.
pub const PARAMS: [Param; 5] = [
    Param::whole("queues", Unit::None, (1, 65_536), 1024)
        .says("RFC 8290, 5.2; Linux; ns-3", "Number of queues among which the flows are spread."),
    Param::word("classify", Classify::WORDS, "hash")
        .says(
            "RFC 8290, 4.1.1; ns-3: set_associative as an option",
            "A flow's queue: by hash; its own or an idle one of the 8 of its hash; one to itself while any is idle.",
        ),
    Param::new("quantum", Unit::Bytes, Kind::real(256.0, 1e9).or_auto(), Value::Auto)
        .says(
            "RFC 8290, 5.2.2 and Linux: 1514 B; ns-3: the MTU; Linux refuses less than 256 B",
            "Bytes that a queue may send in its turn; auto is 1514 B, and 1500 B for ns3.",
        ),
    Param::whole("drop_batch", Unit::None, (1, 1_000_000), 64)
        .says(
            "RFC 8290, 4.1; Linux; ns-3",
            "Most packets that are dropped at once when the limit is passed (where the fattest queue loses them).",
        ),
    Param::word("batch_rule", BatchRule::WORDS, "auto")
        .says(
            "RFC 8290, 4.1: half the packets; Linux, ns-3: half the bytes",
            "What is halved when the limit is passed: the fattest queue's bytes or its packets; auto is packets for rfc, else bytes.",
        ),
];

/// Queues among which a flow may choose with `set_associative` (ns-3 SetWays).
const WAYS: usize = 8;

/// The settings of the scheduler.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many queues there are.
    queues: usize,
    /// How a flow finds its queue.
    classify: Classify,
    /// Bytes that a queue may send in its turn.
    quantum: i64,
    /// Most packets that are dropped at once.
    drop_batch: u64,
    /// Whether the fattest queue, when the limit is passed, loses half its packets, not half its bytes.
    half_the_packets: bool,
    /// Whether an empty new queue becomes an old one even if no old queue waits.
    always_through_old: bool,
}

/// What RFC 8290, Linux and ns-3 do differently where no parameter says otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Bytes that a queue may send in its turn.
    quantum: f64,
    /// Whether the fattest queue, when the limit is passed, loses half its packets, not half its bytes.
    half_the_packets: bool,
    /// Whether an empty new queue becomes an old one even if no old queue waits.
    always_through_old: bool,
}

impl Rules {
    /// RFC 8290, 4.1 and 5.2.2.
    pub const RFC: Rules = Rules { quantum: 1514.0, half_the_packets: true, always_through_old: true };
    /// Linux, `sch_fq_codel.c` and `sch_fq_pie.c`.
    pub const LINUX: Rules = Rules { quantum: 1514.0, half_the_packets: false, always_through_old: false };
    /// ns-3, `fq-codel-queue-disc.cc` and `fq-pie-queue-disc.cc`.
    pub const NS3: Rules = Rules { quantum: 1500.0, half_the_packets: false, always_through_old: true };
}

impl Settings {
    /// The settings among `values`, declared as [`PARAMS`]; `rules` where `values` leave them open.
    ///
    /// # Errors
    /// If the queues cannot be divided into sets (`set_associative`).
    pub fn read(values: &Values, rules: Rules) -> Result<Self, ParamError> {
        let queues = values.whole(&PARAMS, "queues") as usize;
        let classify = values.choice(&PARAMS, "classify");
        if classify == Classify::SetAssociative && !queues.is_multiple_of(WAYS) {
            return Err(ParamError::new("queues", queues, "a multiple of 8, the queues of one set (set_associative)"));
        }
        Ok(Settings {
            queues,
            classify,
            quantum: values.number(&PARAMS, "quantum").unwrap_or(rules.quantum) as i64,
            drop_batch: values.whole(&PARAMS, "drop_batch") as u64,
            half_the_packets: match values.choice(&PARAMS, "batch_rule") {
                BatchRule::Auto => rules.half_the_packets,
                BatchRule::Bytes => false,
                BatchRule::Packets => true,
            },
            always_through_old: rules.always_through_old,
        })
    }

    /// How many queues there are.
    pub fn queues(&self) -> usize {
        self.queues
    }
}

/// The three lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    /// Queues that have had no turn since they became active.
    New,
    /// The other active queues.
    Old,
    /// Queues without packets.
    Idle,
}

/// No queue, or no place of the pool.
const NONE: u32 = u32::MAX;

/// A list of queues, by its ends.
#[derive(Clone, Copy, Debug)]
struct List {
    /// The first queue, or `NONE`.
    first: u32,
    /// The last queue, or `NONE`.
    last: u32,
    /// How many queues the list holds.
    length: u32,
}

/// A list without queues.
const EMPTY: List = List { first: NONE, last: NONE, length: 0 };

/// A queue and its place on a list.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// Place of the oldest packet in the pool, or `NONE`.
    first: u32,
    /// Place of the newest packet in the pool, or `NONE`.
    last: u32,
    /// Packets in the queue.
    packets: u64,
    /// What the queue may still send (the byte credits of RFC 8290).
    deficit: i64,
    /// The list that the queue is on.
    list: Which,
    /// The queue before it on the list, or `NONE`.
    before: u32,
    /// The queue behind it on the list, or `NONE`.
    after: u32,
}

/// A place of the pool.
#[derive(Debug)]
struct Slot {
    /// The packet.
    packet: Packet,
    /// Place of the next packet of the queue, or of the next free place; `NONE` at the end.
    after: u32,
    /// What the discipline noted of the packet at its arrival.
    note: bool,
}

/// Which queue a flow has.
#[derive(Debug)]
enum Classifier {
    Hash,
    /// The last flow of each queue.
    SetAssociative {
        owners: Vec<Option<u64>>,
    },
    /// The flow of each queue, and the queue of each flow.
    Perfect {
        owners: Vec<Option<u64>>,
        queue_of: HashMap<u64, u32, BuildHasherDefault<FlowHasher>>,
    },
}

/// Queues by flow.
#[derive(Debug)]
pub struct FairQueues {
    /// The parameters.
    set: Settings,
    /// The salt of the hash.
    salt: u64,
    /// Which queue a flow has.
    classifier: Classifier,
    /// The queues.
    queues: Vec<Queue>,
    /// The lists of new, old and idle queues.
    lists: [List; 3],
    /// The packets of all queues, with free places among them.
    pool: Vec<Slot>,
    /// The first free place, or `NONE`.
    free: u32,
    /// The bytes of each queue.
    sizes: Sizes,
    /// Packets in all queues.
    packets: u64,
    /// Bytes in all queues.
    bytes: u64,
}

impl FairQueues {
    /// Calls `out` with each packet and its queue, the oldest of a queue first.
    pub fn each(&self, out: &mut dyn FnMut(usize, &Packet)) {
        for (number, queue) in self.queues.iter().enumerate() {
            let mut at = queue.first;
            while let Some(slot) = self.pool.get(at as usize) {
                out(number, &slot.packet);
                at = slot.after;
            }
        }
    }

    /// Empty queues. Draws one random number: the salt of the hash.
    pub fn new(set: Settings, random: &mut Generator) -> Self {
        let owners = vec![None; set.queues];
        let classifier = match set.classify {
            Classify::Hash => Classifier::Hash,
            Classify::SetAssociative => Classifier::SetAssociative { owners },
            Classify::Perfect => Classifier::Perfect { owners, queue_of: HashMap::default() },
        };
        let queue =
            Queue { first: NONE, last: NONE, packets: 0, deficit: 0, list: Which::Idle, before: NONE, after: NONE };
        let mut fair = FairQueues {
            salt: (random.uniform() * (1_u64 << 53) as f64) as u64,
            classifier,
            queues: vec![queue; set.queues],
            lists: [EMPTY; 3],
            pool: Vec::new(),
            free: NONE,
            sizes: Sizes::new(set.queues),
            packets: 0,
            bytes: 0,
            set,
        };
        (0..fair.set.queues).for_each(|queue| fair.append(Which::Idle, queue));
        fair
    }

    /// Packets waiting in all queues.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Bytes waiting in all queues.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Packets waiting in `queue`.
    pub fn packets_in(&self, queue: usize) -> u64 {
        self.queues[queue].packets
    }

    /// Bytes waiting in `queue`.
    pub fn bytes_in(&self, queue: usize) -> u64 {
        self.sizes.bytes[queue]
    }

    /// Whether more waits than `limit` allows.
    pub fn exceeds(&self, limit: Limit) -> bool {
        match limit {
            Limit::Packets(n) => self.packets > n,
            Limit::Bytes(n) => self.bytes > n,
        }
    }

    /// Whether `packet` fits into `queue` if `limit` were its own, as in ns-3.
    pub fn fits(&self, queue: usize, packet: &Packet, limit: Limit) -> bool {
        Room::holding(limit).admits(packet, self.packets_in(queue), self.bytes_in(queue))
    }

    /// How many queues there are.
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    /// False: there is at least one queue.
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Numbers of queues on the list of new and on that of old queues.
    pub fn new_and_old(&self) -> (u32, u32) {
        (self.lists[Which::New as usize].length, self.lists[Which::Old as usize].length)
    }

    /// Gauges: the lengths of both lists.
    pub fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let (new, old) = self.new_and_old();
        out("new_queues", f64::from(new));
        out("old_queues", f64::from(old));
    }

    /// The queue of `flow`, and whether the queue had another flow before, whose history must not count for `flow`
    /// (`perfect` only; the hashes keep a queue's state, as Linux and ns-3 do).
    #[inline]
    pub fn classify(&mut self, flow: u64) -> (usize, bool) {
        match self.classifier {
            Classifier::Hash => (hash::bucket(flow, self.salt, self.queues.len()), false),
            _ => self.classify_by_owner(flow),
        }
    }

    #[inline(never)]
    fn classify_by_owner(&mut self, flow: u64) -> (usize, bool) {
        let by_hash = |queues| hash::bucket(flow, self.salt, queues);
        match &mut self.classifier {
            Classifier::Hash => (by_hash(self.queues.len()), false),
            Classifier::SetAssociative { owners } => {
                let hash = by_hash(self.queues.len());
                let set = hash - hash % WAYS;
                let mut ways = set..set + WAYS;
                let own = ways.clone().find(|&queue| owners[queue] == Some(flow));
                let queue = own.or_else(|| ways.find(|&queue| self.queues[queue].list == Which::Idle)).unwrap_or(set);
                owners[queue] = Some(flow);
                (queue, false)
            }
            Classifier::Perfect { owners, queue_of } => {
                if let Some(&queue) = queue_of.get(&flow) {
                    return (queue as usize, false);
                }
                // The queue that has been idle longest; queues that never had a flow come first.
                let queue = self.lists[Which::Idle as usize].first;
                if queue == NONE {
                    return (by_hash(self.queues.len()), false);
                }
                let queue = queue as usize;
                if let Some(gone) = owners[queue].replace(flow) {
                    queue_of.remove(&gone);
                }
                queue_of.insert(flow, queue as u32);
                self.unlink(queue);
                self.append(Which::Idle, queue);
                (queue, true)
            }
        }
    }

    /// Makes an idle queue the last of the new ones, with a fresh quantum.
    pub fn activate(&mut self, queue: usize) {
        if self.queues[queue].list == Which::Idle {
            self.unlink(queue);
            self.append(Which::New, queue);
            self.queues[queue].deficit = self.set.quantum;
        }
    }

    /// Appends `packet` to `queue`, which becomes active.
    pub fn push(&mut self, queue: usize, packet: Packet) {
        self.push_noted(queue, packet, false);
    }

    /// [`FairQueues::push`] with a `note`, see [`FairQueues::note`].
    #[inline(always)]
    pub fn push_noted(&mut self, queue: usize, packet: Packet, note: bool) {
        self.activate(queue);
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        self.sizes.set(queue, self.sizes.bytes[queue] + u64::from(packet.size));
        let slot = Slot { packet, after: NONE, note };
        let index = if self.free == NONE {
            self.pool.push(slot);
            self.pool.len() as u32 - 1
        } else {
            let index = self.free;
            self.free = std::mem::replace(&mut self.pool[index as usize], slot).after;
            index
        };
        let queue = &mut self.queues[queue];
        queue.packets += 1;
        match std::mem::replace(&mut queue.last, index) {
            NONE => queue.first = index,
            last => self.pool[last as usize].after = index,
        }
    }

    /// The note on the head of `queue`; false if the queue is empty.
    pub fn note(&self, queue: usize) -> bool {
        match self.queues[queue].first {
            NONE => false,
            first => self.pool[first as usize].note,
        }
    }

    /// Takes the head of `queue`; the queue stays on its list.
    #[inline]
    pub fn pop(&mut self, queue: usize) -> Option<Packet> {
        let state = &mut self.queues[queue];
        let index = state.first;
        if index == NONE {
            return None;
        }
        let slot = &mut self.pool[index as usize];
        let packet = slot.packet;
        state.packets -= 1;
        state.first = std::mem::replace(&mut slot.after, self.free);
        if state.first == NONE {
            state.last = NONE;
        }
        self.free = index;
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
        self.sizes.set(queue, self.sizes.bytes[queue] - u64::from(packet.size));
        Some(packet)
    }

    /// The queue whose turn it is: the first of the new, else of the old queues that has not used up its quantum. If it
    /// is empty, call [`FairQueues::emptied`] and ask again.
    pub fn turn(&mut self) -> Option<usize> {
        loop {
            let first = match self.lists[Which::New as usize].first {
                NONE => self.lists[Which::Old as usize].first,
                first => first,
            };
            if first == NONE {
                return None;
            }
            let queue = first as usize;
            // RFC 8290 says "negative"; Linux and ns-3 end the turn at zero too.
            if self.queues[queue].deficit > 0 {
                return Some(queue);
            }
            self.queues[queue].deficit += self.set.quantum;
            self.unlink(queue);
            self.append(Which::Old, queue);
        }
    }

    /// `queue` has sent `bytes` in its turn.
    pub fn charge(&mut self, queue: usize, bytes: u32) {
        self.queues[queue].deficit -= i64::from(bytes);
    }

    /// `queue` was empty in its turn: a new queue goes through the old ones, lest it come back as new at once; an old
    /// one becomes idle. In Linux a new queue becomes idle too if there are no old ones.
    pub fn emptied(&mut self, queue: usize) {
        let through = self.set.always_through_old || self.lists[Which::Old as usize].first != NONE;
        let to = if self.queues[queue].list == Which::New && through { Which::Old } else { Which::Idle };
        self.unlink(queue);
        self.append(to, queue);
    }

    /// The queue with the most bytes, the first of several; `None` if nothing waits.
    pub fn fattest(&mut self) -> Option<usize> {
        self.sizes.largest()
    }

    /// Drops half of the fattest queue from its head when the limit is passed, at least one packet and at most a batch,
    /// counted and reported; the queue and the number of packets; `None` if nothing waits.
    pub fn drop_batch(&mut self, counters: &mut Counters, on_drop: &mut OnDrop<'_>) -> Option<(usize, u32)> {
        let queue = self.fattest()?;
        let (packets, bytes) = (self.packets_in(queue) / 2, self.bytes_in(queue) / 2);
        let (mut dropped, mut dropped_bytes) = (0, 0);
        while let Some(packet) = self.pop(queue) {
            counters.drop(Reason::Overflow);
            on_drop(&packet, Reason::Overflow);
            dropped += 1;
            dropped_bytes += u64::from(packet.size);
            let enough = if self.set.half_the_packets { dropped >= packets } else { dropped_bytes >= bytes };
            if enough || dropped >= self.set.drop_batch {
                break;
            }
        }
        Some((queue, dropped as u32))
    }

    /// Takes a queue off its list. Nobody asks for the order of idle queues but `perfect`.
    fn unlink(&mut self, queue: usize) {
        let Queue { before, after, list, .. } = self.queues[queue];
        if list == Which::Idle && self.set.classify != Classify::Perfect {
            return;
        }
        let list = &mut self.lists[list as usize];
        list.length -= 1;
        match before {
            NONE => list.first = after,
            before => self.queues[before as usize].after = after,
        }
        match after {
            NONE => list.last = before,
            after => self.queues[after as usize].before = before,
        }
    }

    fn append(&mut self, which: Which, queue: usize) {
        if which == Which::Idle && self.set.classify != Classify::Perfect {
            self.queues[queue].list = which;
            return;
        }
        let list = &mut self.lists[which as usize];
        list.length += 1;
        let before = std::mem::replace(&mut list.last, queue as u32);
        match before {
            NONE => list.first = queue as u32,
            before => self.queues[before as usize].after = queue as u32,
        }
        let state = &mut self.queues[queue];
        (state.list, state.before, state.after) = (which, before, NONE);
    }
}

/// The bytes of each queue, in blocks. No queue of a block has more than the block's bound, which is exact until the
/// queue that set it shrinks.
#[derive(Debug)]
struct Sizes {
    /// The bytes of each queue.
    bytes: Vec<u64>,
    /// Queues in a block, as a power of two.
    shift: u32,
    /// Each block's bound, bytes.
    bounds: Vec<u64>,
    /// Whether a block's bound may be too large.
    stale: Vec<bool>,
}

impl Sizes {
    fn new(queues: usize) -> Self {
        let shift = queues.ilog2() / 2;
        let blocks = queues.div_ceil(1 << shift);
        Sizes { bytes: vec![0; queues], shift, bounds: vec![0; blocks], stale: vec![false; blocks] }
    }

    #[inline]
    fn set(&mut self, queue: usize, bytes: u64) {
        let before = std::mem::replace(&mut self.bytes[queue], bytes);
        let block = queue >> self.shift;
        if bytes >= self.bounds[block] {
            self.bounds[block] = bytes;
            self.stale[block] = false;
        } else if before == self.bounds[block] {
            self.stale[block] = true;
        }
    }

    fn largest(&mut self) -> Option<usize> {
        loop {
            let most = self.bounds.iter().copied().max().filter(|&most| most > 0)?;
            let block = self.bounds.iter().position(|&bound| bound == most)?;
            let first = block << self.shift;
            let end = self.bytes.len().min(first + (1 << self.shift));
            let queues = &self.bytes[first..end];
            if !self.stale[block] {
                return queues.iter().position(|&bytes| bytes == most).map(|at| first + at);
            }
            self.bounds[block] = queues.iter().copied().max().unwrap_or(0);
            self.stale[block] = false;
        }
    }
}

/// The crate's own hash for the table of flows: the same on every machine, and quick.
#[derive(Debug, Default)]
struct FlowHasher(u64);

impl Hasher for FlowHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, flow: u64) {
        self.0 = hash::mix(flow, self.0);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fair(given: &[(&'static str, Value)], dialect: &str) -> FairQueues {
        let mut values = Values::of(&[("classify", Value::Choice("perfect"))]);
        for &(name, value) in given {
            values.set(name, value);
        }
        let rules = match dialect {
            "rfc" => Rules::RFC,
            "linux" => Rules::LINUX,
            "ns3" => Rules::NS3,
            other => unreachable!("no rules of {other}"),
        };
        FairQueues::new(Settings::read(&values, rules).unwrap(), &mut Generator::stream(1, "salt"))
    }

    fn arrive(fair: &mut FairQueues, flow: char, size: u32) {
        let (queue, _) = fair.classify(flow as u64);
        fair.push(queue, Packet::new(flow as u64, size));
    }

    /// The flow that sends next.
    fn serve(fair: &mut FairQueues) -> Option<char> {
        while let Some(queue) = fair.turn() {
            if let Some(packet) = fair.pop(queue) {
                fair.charge(queue, packet.size);
                return char::from_u32(packet.flow as u32);
            }
            fair.emptied(queue);
        }
        None
    }

    fn order(quantum: f64, sources: &[(char, u32, u32)]) -> String {
        let mut fair = fair(&[("quantum", Value::Real(quantum))], "rfc");
        for &(flow, packets, size) in sources {
            (0..packets).for_each(|_| arrive(&mut fair, flow, size));
        }
        std::iter::from_fn(|| serve(&mut fair)).collect()
    }

    #[test]
    fn queues_take_turns_by_bytes() {
        assert_eq!(order(1514.0, &[('A', 4, 1500), ('B', 6, 500), ('C', 2, 100)]), "AABBBBCCABBA");
        assert_eq!(order(300.0, &[('A', 2, 1500), ('B', 8, 100)]), "ABBBBBBBBA");
    }

    #[test]
    fn a_sparse_flow_goes_first_but_not_twice() {
        for (dialect, want) in [("rfc", "AABBSABSABABAB"), ("linux", "AABBSABSABABAB")] {
            let mut fair = fair(&[("quantum", Value::Real(1514.0))], dialect);
            for flow in ['A', 'B'] {
                (0..6).for_each(|_| arrive(&mut fair, flow, 1500));
            }
            let mut served = String::new();
            while let Some(flow) = serve(&mut fair) {
                served.push(flow);
                if [4, 7].contains(&served.len()) {
                    arrive(&mut fair, 'S', 200);
                }
            }
            assert_eq!(served, want, "{dialect}");
        }
    }

    #[test]
    fn an_emptied_new_queue_goes_through_the_old_ones() {
        for (dialect, old) in [("rfc", 1), ("linux", 0)] {
            let mut fair = fair(&[], dialect);
            arrive(&mut fair, 'A', 100);
            assert_eq!(serve(&mut fair), Some('A'));
            assert_eq!(fair.new_and_old(), (1, 0));
            let queue = fair.turn().unwrap();
            fair.emptied(queue);
            assert_eq!(fair.new_and_old(), (0, old), "{dialect}: with no old queue, Linux lets it go");
        }
    }

    fn batch(given: &[(&'static str, Value)], sizes: &[u32]) -> u32 {
        let mut fair = fair(given, "linux");
        sizes.iter().for_each(|&size| arrive(&mut fair, 'F', size));
        arrive(&mut fair, 'G', 40);
        fair.drop_batch(&mut Counters::default(), &mut |packet, _| assert_eq!(packet.flow, 'F' as u64)).unwrap().1
    }

    #[test]
    fn half_of_the_fattest_queue_dies_but_64_at_most() {
        assert_eq!(batch(&[], &[1500; 100]), 50);
        assert_eq!(batch(&[], &[1500; 200]), 64);
        assert_eq!(batch(&[], &[1500]), 1);
        assert_eq!(batch(&[], &[100, 100, 1500]), 3);
        let packets = ("batch_rule", Value::Choice("packets"));
        assert_eq!(batch(&[packets], &[100, 100, 1500]), 1);
        assert_eq!(batch(&[packets], &[1500; 100]), 50);
        assert_eq!(batch(&[packets, ("drop_batch", Value::Whole(7))], &[1500; 100]), 7);
    }

    #[test]
    fn the_fattest_is_the_first_of_the_largest() {
        for queues in [1, 2, 3, 8, 9, 100, 1024, 1025] {
            let mut sizes = Sizes::new(queues);
            let mut random = Generator::stream(queues as u64, "sizes");
            assert_eq!(sizes.largest(), None);
            for _ in 0..2000 {
                let pick = (random.uniform() * queues as f64) as usize;
                sizes.set(pick, (random.uniform() * 8.0) as u64);
                if random.uniform() < 0.3 {
                    let most = sizes.bytes.iter().copied().max().filter(|&most| most > 0);
                    let want = most.map(|most| sizes.bytes.iter().position(|&b| b == most).unwrap());
                    assert_eq!(sizes.largest(), want);
                }
            }
        }
    }

    #[test]
    fn with_perfect_classification_no_two_active_flows_share() {
        let mut fair = fair(&[("queues", Value::Whole(16))], "rfc");
        let queues: Vec<usize> = (0..16).map(|flow| fair.classify(flow).0).collect();
        let mut sorted = queues.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..16).collect::<Vec<_>>());
        assert_eq!(fair.classify(3), (queues[3], false), "and they keep theirs");
        (1..16).for_each(|flow| fair.push(queues[flow as usize], Packet::new(flow, 100)));
        // Only flow 0's queue is idle: a new flow gets it, and the next new flow shares a queue.
        assert_eq!(fair.classify(99), (queues[0], true));
        fair.push(queues[0], Packet::new(99, 100));
        assert!(!fair.classify(100).1);
        assert_eq!(fair.classify(99), (queues[0], false));
    }

    #[test]
    fn a_set_of_eight_holds_eight_flows_apart() {
        let set = [("queues", Value::Whole(8)), ("classify", Value::Choice("set_associative"))];
        let mut fair = fair(&set, "ns3");
        let mut taken = Vec::new();
        for flow in 0..8 {
            let queue = fair.classify(flow).0;
            fair.push(queue, Packet::new(flow, 100));
            assert_eq!(fair.classify(flow).0, queue);
            taken.push(queue);
        }
        // The first queue becomes idle: flow 5 stays in the queue that has its packets.
        fair.pop(0);
        fair.emptied(0);
        fair.emptied(0);
        assert_eq!(fair.classify(5).0, taken[5]);
        fair.push(0, Packet::new(0, 100));
        assert_eq!(taken, (0..8).collect::<Vec<_>>());
        assert_eq!(fair.classify(8).0, 0, "all taken: the first");
        let values = Values::of(&[("queues", Value::Whole(12)), ("classify", Value::Choice("set_associative"))]);
        assert_eq!(Settings::read(&values, Rules::NS3).unwrap_err().name, "queues");
    }

    #[test]
    fn the_pool_is_as_large_as_the_most_packets_that_waited() {
        let mut fair = fair(&[], "rfc");
        for round in 0..100 {
            (0..10).for_each(|i| arrive(&mut fair, char::from(b'A' + (i + round) % 26), 100));
            while serve(&mut fair).is_some() {}
        }
        assert_eq!((fair.pool.len(), fair.packets(), fair.bytes()), (10, 0, 0));
    }
}
