//! # HHF
//!
//! ## What it does
//! Heavy-hitter filter. Two FIFOs share the link: one for the few flows that send most, the heavy hitters, and one for
//! all others. The others' FIFO goes first when a packet enters it empty, and in each round it sends `non_hh_weight` times
//! the bytes of the heavy hitters'. When the buffer is full, the oldest packet of the heavy hitters is dropped, or of the
//! others if no heavy hitter waits.
//!
//! A flow becomes a heavy hitter when the filter has counted more than `admit_bytes` of it since the last reset, which
//! comes every `reset_timeout`: 128 KiB in 40 ms are 26 Mbit/s. The filter has four arrays of 1024 counters. A packet
//! raises one counter in each, at positions from the hash of its flow: three chunks of 10 bits, and the exclusive or of
//! all. The least of the four is the flow's count. Two rules keep other flows' counts small: once a flow is a heavy
//! hitter its packets are not counted ("shielding"), and a counter rises at most to the least of the four plus the
//! packet ("conservative update"). A heavy hitter that sends nothing for `evict_timeout` ceases to be one.
//!
//! | event | rule (`sch_hhf.c`) |
//! |---|---|
//! | arrival | reset the counters if due; find the flow among the heavy hitters, else in the filter (`hhf_classify`) |
//! | its FIFO is not in line | heavy hitters: last of the old; others: last of the new; credit weight x quantum (`hhf_enqueue`) |
//! | departure | first of the new, else of the old; a FIFO without credit earns weight x quantum and goes last (`hhf_dequeue`) |
//! | a FIFO is empty at its turn | a new one passes once through the old ones, an old one leaves the line |
//!
//! ## Source
//! Linux 6.1, `net/sched/sch_hhf.c` (T. Lam and N. Dukkipati, 2013). After C. Estan, G. Varghese, "New directions in
//! traffic measurement and accounting", SIGCOMM 2002.
//!
//! ## Differences
//! 1. Linux counts time in jiffies (4 ms at 250 Hz); here it is exact.
//! 2. Linux hashes addresses and ports with a random key. Here the flow key is hashed with a salt, one random number.
//! 3. Expired heavy hitters count among the `flows_limit` until a packet meets their list, one of 1024, as in Linux.
//!    Then they are removed. Linux keeps and counts the list's last entry even then, to save an allocation.
//! 4. A limit in bytes drops until the arrival fits. Linux counts packets.
//! 5. The quantum is 1514 B, Linux's for Ethernet with 1500 B packets (`psched_mtu`).
//!
//! ## Example
//! ```
//! use earlydrop_aqm::{catalogue, params::Values, policy::Limit, random::Generator, Packet, Time};
//!
//! let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
//! let catalogue::Built::Discipline(finish) =
//!     (catalogue::find("hhf").unwrap().build)(&Values::new(), &link, Limit::Packets(1000)).unwrap() else { unreachable!() };
//! let mut queue = finish(false, Generator::stream(1, "queue"));
//! // 200 packets at once: from the 88th on, more than 128 KiB, flow 1 is a heavy hitter.
//! for _ in 0..200 {
//!     queue.enqueue(Packet::new(1, 1500), Time::ZERO, &mut |_, _| {});
//! }
//! let mut heavy = 0.0;
//! queue.gauges(&mut |name, value| if name == "hh_packets" { heavy = value });
//! assert_eq!(heavy, 113.0);
//! ```

use crate::catalogue::{AqmSpec, Built};
use crate::default_limit::DefaultLimit;
use crate::params::{Kind, Param, Unit, Values};
use crate::parts::class_fifos::{ClassFifos, End};
use crate::parts::classful::{Classful, Schedule};
use crate::parts::hash;
use crate::policy::Limit;
use crate::random::Generator;
use crate::{Packet, Time};
use std::collections::VecDeque;

const fn time(name: &'static str, default: f64, doc: &'static str) -> Param {
    Param::real(name, Unit::Seconds, Kind::real(1e-6, 4000.0), default).says("Linux", doc)
}

const PARAMS: [Param; 6] = [
    Param::whole("quantum", Unit::Bytes, (256, 1 << 20), 1514)
        .says("Linux, Ethernet", "Bytes that the heavy hitters' FIFO earns in a round."),
    Param::whole("non_hh_weight", Unit::None, (1, 1000), 2)
        .says("Linux", "Quanta that the FIFO of all other flows earns in a round."),
    Param::whole("admit_bytes", Unit::Bytes, (1, 1 << 31), 131_072)
        .says("Linux", "A flow of which the filter counts more is a heavy hitter."),
    time("reset_timeout", 0.04, "The filter's counters start from 0 after this time."),
    time("evict_timeout", 1.0, "A heavy hitter without an arrival for longer ceases to be one."),
    Param::whole("flows_limit", Unit::None, (1, 2048), 2048)
        .says("Linux (hh_limit)", "Heavy hitters at a time; more are not admitted."),
];

/// The declaration.
pub const SPEC: AqmSpec = AqmSpec {
    summary: "Two FIFOs, one for the flows that a multi-stage filter finds to send most, which are also dropped first",
    source: "Lam, Dukkipati: Linux net/sched/sch_hhf.c, 2013; Estan, Varghese: New directions in traffic measurement, SIGCOMM 2002",
    params: &[&PARAMS],
    linux: true,
    limit: DefaultLimit::Packets { packets: 1000, source: "Linux sch_hhf" },
    build: &|values, _, limit| {
        let settings = Settings::read(values);
        Ok(Built::Discipline(Box::new(move |_, random| Box::new(Classful::new(Hhf::new(settings, limit, random))))))
    },
    ..AqmSpec::named("hhf", "HHF", "several queues", 2013)
};

/// The parameters.
#[derive(Clone, Copy)]
struct Settings {
    /// Credit of a round by FIFO, bytes.
    earned: [i64; 2],
    /// Bytes that the filter counts before a flow is a heavy hitter.
    admit: u64,
    /// Time between two resets of the filter, seconds.
    reset: f64,
    /// Time without an arrival after which a heavy hitter is forgotten, seconds.
    evict: f64,
    /// Heavy hitters at a time.
    flows: usize,
}

impl Settings {
    fn read(values: &Values) -> Self {
        let whole = |name| values.whole(&PARAMS, name);
        let mut earned = [0; 2];
        earned[HEAVY] = whole("quantum");
        earned[OTHERS] = whole("quantum") * whole("non_hh_weight");
        Settings {
            earned,
            admit: whole("admit_bytes") as u64,
            reset: values.real(&PARAMS, "reset_timeout"),
            evict: values.real(&PARAMS, "evict_timeout"),
            flows: whole("flows_limit") as usize,
        }
    }
}

/// Places of the FIFO of the heavy hitters, and of that of the others.
const HEAVY: usize = 0;
const OTHERS: usize = 1;
/// Bits of a position in the filter, counters of an array, arrays.
const BITS: u32 = 10;
const COUNTERS: usize = 1 << BITS;
const ARRAYS: usize = 4;

/// Where a FIFO waits for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// Among those that have just become active.
    New,
    /// Behind the new ones.
    Old,
}

/// A heavy hitter.
#[derive(Clone, Copy)]
struct Heavy {
    /// The hash of the flow.
    hash: u32,
    /// When the flow's last packet arrived.
    seen: Time,
}

/// HHF.
struct Hhf {
    /// The parameters.
    settings: Settings,
    /// Most that waits.
    limit: Limit,
    /// Both FIFOs.
    fifos: ClassFifos,
    /// What each FIFO may still send in this round, bytes.
    deficits: [i64; 2],
    /// FIFOs in line, the new and the old ones.
    lines: [VecDeque<usize>; 2],
    /// The filter's counters, bytes.
    filter: Vec<[u64; COUNTERS]>,
    /// When the filter's counters were last reset.
    reset: Time,
    /// The heavy hitters, in lists by the last bits of their hashes.
    heavy: Vec<Vec<Heavy>>,
    /// How many heavy hitters there are, with expired ones that no packet has met yet.
    listed: usize,
    /// The salt of the hash.
    salt: u64,
}

impl Hhf {
    fn new(settings: Settings, limit: Limit, mut random: Generator) -> Self {
        Hhf {
            settings,
            limit,
            fifos: ClassFifos::new(2),
            deficits: [0; 2],
            lines: [VecDeque::new(), VecDeque::new()],
            filter: vec![[0; COUNTERS]; ARRAYS],
            reset: Time::ZERO,
            heavy: vec![Vec::new(); COUNTERS],
            listed: 0,
            salt: (random.uniform() * (1_u64 << 53) as f64) as u64,
        }
    }

    /// The FIFO of an arrival: looks its flow up, and counts it if it is no heavy hitter.
    fn classify(&mut self, packet: &Packet, now: Time) -> usize {
        if now - self.reset > self.settings.reset {
            self.filter.iter_mut().for_each(|array| array.fill(0));
            self.reset = now;
        }
        let hash = (hash::mix(packet.flow, self.salt) >> 32) as u32;
        let list = &mut self.heavy[hash as usize % COUNTERS];
        let before = list.len();
        list.retain(|known| now - known.seen <= self.settings.evict);
        self.listed -= before - list.len();
        if let Some(known) = list.iter_mut().find(|known| known.hash == hash) {
            known.seen = now;
            return HEAVY;
        }
        let places = positions(hash);
        let counted = places.iter().zip(&self.filter).map(|(&place, array)| array[place]).min().unwrap_or(0);
        let with_it = counted + u64::from(packet.size);
        if with_it > self.settings.admit {
            if self.listed >= self.settings.flows {
                return OTHERS;
            }
            self.listed += 1;
            self.heavy[hash as usize % COUNTERS].push(Heavy { hash, seen: now });
            return HEAVY;
        }
        for (&place, array) in places.iter().zip(&mut self.filter) {
            array[place] = array[place].max(with_it);
        }
        OTHERS
    }

    /// The line whose first FIFO has its turn.
    fn turn(&self) -> Option<Line> {
        [Line::New, Line::Old].into_iter().find(|&line| !self.lines[line as usize].is_empty())
    }
}

/// The counter of a flow in each array.
fn positions(hash: u32) -> [usize; ARRAYS] {
    let chunk = |k: u32| (hash >> (k * BITS)) as usize % COUNTERS;
    let rest = (hash >> (3 * BITS)) as usize;
    [chunk(0), chunk(1), chunk(2), chunk(0) ^ chunk(1) ^ chunk(2) ^ rest]
}

impl Schedule for Hhf {
    fn arrive(&mut self, packet: Packet, now: Time, dropped: &mut dyn FnMut(&Packet)) -> bool {
        let fifo = self.classify(&packet, now);
        self.fifos.push(fifo, packet);
        if !self.lines.iter().any(|line| line.contains(&fifo)) {
            let line = if fifo == HEAVY { Line::Old } else { Line::New };
            self.lines[line as usize].push_back(fifo);
            self.deficits[fifo] = self.settings.earned[fifo];
        }
        while self.fifos.exceeds(self.limit) {
            let loser = if self.fifos.packets_of(HEAVY) > 0 { HEAVY } else { OTHERS };
            let Some(victim) = self.fifos.take(loser, End::Head) else { break };
            dropped(&victim);
            if loser == fifo && self.fifos.packets_of(fifo) == 0 {
                return false;
            }
        }
        true
    }

    fn take(&mut self, _now: Time, _dropped: &mut dyn FnMut(&Packet)) -> Option<Packet> {
        while let Some(line) = self.turn() {
            let fifo = *self.lines[line as usize].front()?;
            if self.deficits[fifo] <= 0 {
                self.deficits[fifo] += self.settings.earned[fifo];
                self.lines[line as usize].pop_front();
                self.lines[Line::Old as usize].push_back(fifo);
            } else if let Some(packet) = self.fifos.take(fifo, End::Head) {
                self.deficits[fifo] -= i64::from(packet.size);
                return Some(packet);
            } else {
                self.lines[line as usize].pop_front();
                if line == Line::New && !self.lines[Line::Old as usize].is_empty() {
                    self.lines[Line::Old as usize].push_back(fifo);
                }
            }
        }
        None
    }

    fn fifos(&self) -> &ClassFifos {
        &self.fifos
    }

    /// When the link finds nothing, empty FIFOs leave the line.
    fn watches_departures(&self) -> bool {
        true
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("heavy_hitters", self.listed as f64);
        out("hh_packets", self.fifos.packets_of(HEAVY) as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Value;

    /// Ten bits of the hash for each of three arrays; for the fourth, their exclusive or with the last two bits.
    #[test]
    fn bits_of_the_hash_by_hand() {
        for (bit, places) in [(0, [1, 0, 0, 1]), (10, [0, 1, 0, 1]), (20, [0, 0, 1, 1]), (30, [0, 0, 0, 1])] {
            assert_eq!(positions(1 << bit), places, "bit {bit}");
        }
        assert_eq!(positions(0b11 << 10 | 0b101), [5, 3, 0, 6]);
    }

    const NONE: fn(&Packet) = |_| panic!("there is room");

    fn hhf(pairs: &[(&'static str, Value)], limit: Limit) -> Hhf {
        let values = Values::of(pairs);
        Hhf::new(Settings::read(&values), limit, Generator::stream(1, "salt"))
    }

    fn at(ms: f64) -> Time {
        Time::from_seconds(ms / 1e3)
    }

    /// Flow 1 becomes a heavy hitter with its third packet.
    const SOON: [(&str, Value); 1] = [("admit_bytes", Value::Whole(2500))];

    fn class(queue: &mut Hhf, flow: u64, size: u32, ms: f64) -> usize {
        queue.classify(&Packet::new(flow, size), at(ms))
    }

    #[test]
    fn a_flow_is_a_heavy_hitter_when_more_than_the_threshold_was_counted() {
        let mut queue = hhf(&[("admit_bytes", Value::Whole(3000))], Limit::Packets(100));
        let classes: Vec<usize> = (0..4).map(|_| class(&mut queue, 1, 1000, 0.0)).collect();
        assert_eq!(classes, [OTHERS, OTHERS, OTHERS, HEAVY], "3000 B are not more than 3000 B");
        assert_eq!(class(&mut queue, 2, 1000, 0.0), OTHERS);
        assert_eq!(queue.listed, 1);
    }

    #[test]
    fn the_counters_are_reset_and_heavy_hitters_are_not() {
        for (later, class_then) in [(40.0, HEAVY), (40.1, OTHERS)] {
            let mut queue = hhf(&SOON, Limit::Packets(100));
            assert_eq!([class(&mut queue, 1, 1000, 0.0), class(&mut queue, 1, 1000, 0.0)], [OTHERS; 2]);
            assert_eq!(class(&mut queue, 1, 1000, later), class_then, "{later} ms");
        }
        let mut queue = hhf(&SOON, Limit::Packets(100));
        let classes: Vec<usize> = (0..5).map(|k| class(&mut queue, 1, 1000, if k < 3 { 0.0 } else { 900.0 })).collect();
        assert_eq!(classes, [OTHERS, OTHERS, HEAVY, HEAVY, HEAVY]);
        assert_eq!(class(&mut queue, 1, 1000, 1900.0), HEAVY, "1 s after its last packet");
        assert_eq!(class(&mut queue, 1, 1000, 2900.1), OTHERS, "more than that");
        assert_eq!(queue.listed, 0);
    }

    #[test]
    fn a_heavy_hitter_does_not_count_and_counters_rise_only_to_the_least() {
        let mut queue = hhf(&SOON, Limit::Packets(100));
        for _ in 0..9 {
            class(&mut queue, 1, 1000, 0.0);
        }
        let most = queue.filter.iter().flatten().max().copied();
        assert_eq!(most, Some(2000), "shielding");
        // A flow that shares one counter with flow 1: the counter does not rise, as it is above the least.
        let mine = positions((hash::mix(1, queue.salt) >> 32) as u32);
        let of = |flow: u64, salt| positions((hash::mix(flow, salt) >> 32) as u32);
        let shares = |flow: u64| mine.iter().zip(of(flow, queue.salt)).filter(|(a, b)| **a == *b).count() == 1;
        let other = (2..).find(|&flow| shares(flow)).unwrap();
        class(&mut queue, other, 700, 0.0);
        let counters: Vec<u64> = of(other, queue.salt).iter().zip(&queue.filter).map(|(&p, a)| a[p]).collect();
        assert_eq!(counters.iter().filter(|&&c| c == 700).count(), 3, "{counters:?}");
        assert_eq!(counters.iter().filter(|&&c| c == 2000).count(), 1, "conservative update");
    }

    #[test]
    fn no_more_heavy_hitters_than_allowed() {
        let mut queue = hhf(&[("admit_bytes", Value::Whole(500)), ("flows_limit", Value::Whole(2))], Limit::Packets(9));
        let classes: Vec<usize> = [1, 2, 3, 1].iter().map(|&flow| class(&mut queue, flow, 1000, 0.0)).collect();
        assert_eq!(classes, [HEAVY, HEAVY, OTHERS, HEAVY]);
    }

    #[test]
    fn an_expired_heavy_hitter_counts_until_a_packet_meets_its_list() {
        let given = [("admit_bytes", Value::Whole(500)), ("flows_limit", Value::Whole(2))];
        let mut queue = hhf(&given, Limit::Packets(9));
        let mut class = |flow, size, now| class(&mut queue, flow, size, now);
        assert_eq!([class(1, 1000, 0.0), class(2, 1000, 0.0)], [HEAVY; 2]);
        // Flows 1 and 2 expire after a second. Flow 3 has another list; a small packet of flow 1 meets flow 1's entry.
        assert_eq!(class(3, 1000, 5e3), OTHERS);
        assert_eq!([class(1, 100, 6e3), class(3, 1000, 6e3)], [OTHERS, HEAVY]);
        // The expired flow 2 still counts.
        assert_eq!(class(4, 1000, 6e3), OTHERS);
    }

    #[test]
    fn others_go_first_and_get_twice_the_bytes() {
        let mut queue =
            hhf(&[("admit_bytes", Value::Whole(1000)), ("quantum", Value::Whole(1000))], Limit::Packets(100));
        // The first packet of flow 1 enters the others' FIFO, the next ones the heavy hitters'.
        for _ in 0..13 {
            queue.arrive(Packet::new(1, 1000), Time::ZERO, &mut { NONE });
        }
        for flow in 2..10 {
            queue.arrive(Packet::new(flow, 1000), Time::ZERO, &mut { NONE });
        }
        let order: Vec<u64> =
            std::iter::from_fn(|| queue.take(Time::ZERO, &mut { NONE })).map(|packet| packet.flow).collect();
        // Two packets of the others (the first is flow 1's), then one heavy; then two and one by turns.
        assert_eq!(order, [1, 2, 1, 3, 4, 1, 5, 6, 1, 7, 8, 1, 9, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert!(queue.lines.iter().all(VecDeque::is_empty), "the link has found nothing");
    }

    #[test]
    fn a_full_buffer_drops_the_oldest_heavy_packet_first() {
        let mut queue = hhf(&SOON, Limit::Packets(4));
        let mut lost = Vec::new();
        let mut arrive = |queue: &mut Hhf, flow, tag| {
            let packet = Packet { tag, ..Packet::new(flow, 1000) };
            queue.arrive(packet, Time::ZERO, &mut |victim| lost.push(victim.tag))
        };
        let admitted: Vec<bool> = (0..4).map(|tag| arrive(&mut queue, 1, tag)).collect();
        assert_eq!(admitted, [true; 4]);
        // Packets 2 and 3 are heavy: they are dropped for arrivals of others; then the oldest of the others is.
        let admitted: Vec<bool> = (4..8).map(|tag| arrive(&mut queue, u64::from(tag), tag)).collect();
        assert_eq!(admitted, [true; 4]);
        assert!(!arrive(&mut queue, 1, 8), "the only heavy packet is the arrival");
        assert_eq!(lost, [2, 3, 0, 1, 8]);
    }
}
