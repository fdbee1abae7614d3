//! The queue: arrivals, departures and overflow, in the order of `cake_enqueue`, `cake_dequeue` and `cake_drop`.

use super::ack_filter::{self, Queued};
use super::flows::{Keys, List, Set, NONE};
use super::heap::Heap;
use super::parameters::{AckFilter, Diffserv, FlowMode, Settings};
use super::shaper::{self, Shaper};
use super::tin::{ewma, Tin};
use super::tins;
use crate::discipline::{Admitted, OnDrop};
use crate::gate::Counters;
use crate::header::{Header, TcpHeader};
use crate::parts::hash;
use crate::policy::{Limit, Reason};
use crate::random::Generator;
use crate::{Discipline, Packet, Time};

/// Where the clock starts, ns: a machine has been up for an hour when its queue is set up.
const START: i64 = 3_600_000_000_000;
const SECOND: u64 = 1_000_000_000;

/// `now` in Linux's whole nanoseconds, rounded to the nearest.
#[inline]
fn clock(now: Time) -> i64 {
    START + (now.seconds() * 1e9 + 0.5) as i64
}

/// A packet that waits.
#[derive(Debug)]
struct Slot {
    packet: Packet,
    /// enqueue_time, ns.
    enqueued: i64,
    /// adjusted_len: bytes on the link.
    on_link: u32,
    /// truesize: bytes of memory.
    memory: u32,
    /// Bytes of the packet before its IP header.
    offset: i32,
    /// The next packet of the queue, or the next free place.
    behind: u32,
}

/// The estimate of `autorate_ingress`.
#[derive(Debug, Default)]
struct Estimate {
    last_packet: i64,
    window_began: i64,
    packet_interval: u64,
    window_bytes: u64,
    peak: u64,
}

/// The discipline.
pub(super) struct Cake {
    set: Settings,
    tin_of_dscp: [u8; 64],
    tins: Vec<Tin>,
    /// cur_tin.
    tin: usize,
    shaper: Shaper,
    /// When the shaper lets the next packet go, if the last call held it back.
    held: Option<Time>,
    pool: Vec<Slot>,
    free: u32,
    /// TCP headers of the packets in the pool, with an ACK filter only.
    headers: Vec<Option<TcpHeader>>,
    heap: Heap,
    /// Memory in use and its limit, bytes.
    memory: u64,
    memory_limit: u64,
    /// Packets and bytes that wait.
    packets: u64,
    bytes: u64,
    limit: Limit,
    estimate: Estimate,
    /// Salts of the hashes of flows and hosts.
    salts: [u64; 2],
    ecn: bool,
    random: Generator,
    counters: Counters,
}

impl Cake {
    pub fn new(set: Settings, limit: Limit, ecn: bool, mut random: Generator) -> Self {
        let mut salt = || (random.uniform() * (1_u64 << 53) as f64) as u64;
        let salts = [salt(), salt()];
        let tins = tins::shares(&set, set.rate).into_iter().map(|share| Tin::new(share, set.flow_mode)).collect();
        let mut cake = Cake {
            tin_of_dscp: tins::tin_of_dscp(set.diffserv),
            tins,
            tin: 0,
            shaper: Shaper::default(),
            held: None,
            pool: Vec::new(),
            free: NONE,
            headers: Vec::new(),
            heap: Heap::default(),
            memory: 0,
            memory_limit: 0,
            packets: 0,
            bytes: 0,
            limit,
            estimate: Estimate { peak: set.rate, ..Estimate::default() },
            salts,
            ecn,
            random,
            counters: Counters::default(),
            set,
        };
        cake.memory_limit = cake.limit_of(cake.set.rate);
        cake
    }

    /// The memory limit at a rate in B/s (cake_reconfigure).
    fn limit_of(&self, rate: u64) -> u64 {
        let set = &self.set;
        let limit = match (set.given_memory, rate) {
            (0, 0) => u64::from(u32::MAX),
            // What four intervals send, in 32 bits.
            (0, rate) => u64::from((rate.wrapping_mul(set.interval_us) / 250_000) as u32).max(4 << 20),
            (given, _) => given,
        };
        limit.min(set.most_memory())
    }

    /// cake_reconfigure: the shaper's rate is now `rate`, B/s.
    fn reconfigure(&mut self, rate: u64) {
        for (tin, share) in self.tins.iter_mut().zip(tins::shares(&self.set, rate)) {
            tin.share = share;
        }
        self.memory_limit = self.limit_of(rate);
    }

    fn over(&self) -> bool {
        let over = match self.limit {
            Limit::Packets(packets) => self.packets > packets,
            Limit::Bytes(bytes) => self.bytes > bytes,
        };
        over || self.memory > self.memory_limit
    }

    /// The keys of cake_hash, from two salts that differ from run to run, as Linux's from boot to boot.
    #[inline]
    fn keys(&self, flow: u64, header: &Header) -> Keys {
        let mode = self.set.flow_mode;
        let by_flow = mode.by_flow();
        let mut keys = Keys::default();
        if by_flow {
            keys.flow = (hash::mix(flow, self.salts[0]) >> 32) as u32;
        }
        if mode.fair_sources() || mode.keeps_source() {
            keys.source = (hash::mix(header.source, self.salts[1]) >> 32) as u32;
        }
        if mode.fair_destinations() || mode.keeps_destination() {
            // The low half of the hash: as a destination a host has another key than as a source.
            keys.destination = hash::mix(header.destination, self.salts[1]) as u32;
        }
        if !by_flow {
            keys.flow = if mode.keeps_source() { keys.source } else { 0 };
            keys.flow ^= if mode.keeps_destination() { keys.destination } else { 0 };
        }
        keys
    }

    #[inline]
    fn tin_of(&self, dscp: u8) -> usize {
        match self.set.diffserv {
            Diffserv::Besteffort => 0,
            _ => usize::from(self.tin_of_dscp[usize::from(dscp & 63)]),
        }
    }

    fn store(&mut self, slot: Slot, tcp: Option<TcpHeader>) -> u32 {
        let place = if self.free == NONE {
            self.pool.push(slot);
            self.pool.len() as u32 - 1
        } else {
            let place = self.free;
            self.free = std::mem::replace(&mut self.pool[place as usize], slot).behind;
            place
        };
        if self.set.ack_filter != AckFilter::Off {
            self.headers.resize(self.pool.len(), None);
            self.headers[place as usize] = tcp;
        }
        place
    }

    /// Takes a queue's head (cake_dequeue_one, but for the heap); its place in the pool is valid until an arrival.
    #[inline]
    fn take(&mut self, tin: usize, queue: usize) -> Option<usize> {
        let at = &mut self.tins[tin];
        let flow = &mut at.flows.all[queue];
        let place = flow.first;
        if place == NONE {
            return None;
        }
        let slot = &mut self.pool[place as usize];
        flow.first = std::mem::replace(&mut slot.behind, self.free);
        self.free = place;
        let size = slot.packet.size;
        flow.backlog -= size;
        at.backlog -= u64::from(size);
        at.offsets -= i64::from(slot.offset);
        self.forget(place as usize);
        Some(place as usize)
    }

    /// The packet has left its place in the pool.
    #[inline]
    fn forget(&mut self, place: usize) {
        let Slot { packet, memory, .. } = &self.pool[place];
        self.memory -= u64::from(*memory);
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
    }

    /// The places of a queued ACK that the queue's tail makes redundant, and of the packet before that ACK.
    fn redundant(&self, tin: usize, queue: usize) -> Option<(u32, u32)> {
        let flow = &self.tins[tin].flows.all[queue];
        let new = self.headers[flow.last as usize].as_ref()?;
        let queued = Places { pool: &self.pool, next: flow.first, last: flow.last };
        let seen = queued.clone().enumerate().map(|(place, at)| Queued {
            place,
            flow: self.pool[at as usize].packet.flow,
            tcp: self.headers[at as usize].as_ref(),
        });
        let key = self.pool[flow.last as usize].packet.flow;
        let place = ack_filter::redundant(self.set.ack_filter, key, new, seen)?;
        let mut places = queued.skip(place.saturating_sub(1));
        match (places.next()?, place) {
            (first, 0) => Some((first, NONE)),
            (before, _) => Some((places.next()?, before)),
        }
    }

    /// Drops a queued ACK that the queue's tail makes redundant; its bytes, or 0.
    fn filter(&mut self, tin: usize, queue: usize, now: i64, on_drop: &mut OnDrop<'_>) -> u32 {
        let Some((place, before)) = self.redundant(tin, queue) else { return 0 };
        let slot = &mut self.pool[place as usize];
        let (packet, on_link, offset) = (slot.packet, slot.on_link, slot.offset);
        let behind = std::mem::replace(&mut slot.behind, self.free);
        self.free = place;
        let at = &mut self.tins[tin];
        let flow = &mut at.flows.all[queue];
        match before {
            NONE => flow.first = behind,
            before => self.pool[before as usize].behind = behind,
        }
        flow.backlog -= packet.size;
        at.backlog -= u64::from(packet.size);
        at.offsets -= i64::from(offset);
        at.seen.ack_drops += 1;
        self.forget(place as usize);
        if self.set.ingress {
            self.advance(tin, on_link, now, true);
        }
        self.counters.drop(Reason::Forced);
        on_drop(&packet, Reason::Forced);
        packet.size
    }

    #[inline]
    fn advance(&mut self, tin: usize, on_link: u32, now: i64, dropped: bool) {
        if self.tins[0].share.rate_ns == 0 {
            return;
        }
        let whole = self.tins[0].share;
        let tin = &mut self.tins[tin];
        self.shaper.advance(&whole, &tin.share, &mut tin.next, on_link, now, dropped);
    }

    /// The rate's estimate at an arrival (`autorate_ingress`).
    fn estimate(&mut self, now: i64) {
        let estimate = &mut self.estimate;
        let interval = ((now - estimate.last_packet) as u64).min(SECOND);
        let shift = if interval > estimate.packet_interval { 2 } else { 8 };
        estimate.packet_interval = ewma(estimate.packet_interval, interval, shift);
        estimate.last_packet = now;
        if interval <= estimate.packet_interval {
            return;
        }
        let window = (now - estimate.window_began) as u64;
        let rate = estimate.window_bytes.wrapping_mul(SECOND) / window.max(1);
        estimate.peak = ewma(estimate.peak, rate, if rate > estimate.peak { 2 } else { 8 });
        (estimate.window_bytes, estimate.window_began) = (0, now);
        // Linux waits until 250 ms after last_reconfig_time, which nothing sets.
        let rate = (estimate.peak * 15) >> 4;
        self.reconfigure(rate);
    }

    /// cake_drop: the longest queue loses its head.
    fn overflow(&mut self, now: i64, on_drop: &mut OnDrop<'_>) {
        let Cake { heap, tins, .. } = self;
        let length = |tin: usize, queue: usize| tins.get(tin).map_or(0, |tin| tin.flows.all[queue].backlog);
        let (tin, queue) = heap.top(length);
        // Linux's heap can be wrong and have a queue without packets at its top.
        let taken = if tin < self.tins.len() { self.take(tin, queue) } else { None };
        let Some(place) = taken else {
            self.heap.is_wrong();
            return;
        };
        let Slot { packet, on_link, .. } = self.pool[place];
        let at = &mut self.tins[tin];
        let times = at.share.times;
        at.seen.unresponsive += u64::from(at.flows.all[queue].cobalt.full(&times, now));
        at.seen.drops += 1;
        if self.set.ingress {
            self.advance(tin, on_link, now, true);
        }
        self.counters.drop(Reason::Overflow);
        on_drop(&packet, Reason::Overflow);
        let Cake { heap, tins, .. } = self;
        heap.sink_top(|tin, queue| tins.get(tin).map_or(0, |tin| tin.flows.all[queue].backlog));
    }

    /// The tin that sends next.
    #[inline]
    fn choose(&mut self, now: i64) -> Option<usize> {
        if self.tins[0].share.rate_ns > 0 {
            // The last of the tins that are on schedule, else the one whose time comes first.
            let mut best = None;
            let mut best_time = i64::MAX;
            for (i, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.is_active()) {
                let wait = tin.next - now;
                if wait <= 0 || wait <= best_time {
                    (best_time, best) = (wait, Some(i));
                }
            }
            self.tin = best.unwrap_or(0);
            return best;
        }
        let (mut wrapped, mut empty) = (false, true);
        loop {
            let tin = &mut self.tins[self.tin];
            let active = tin.is_active();
            if tin.deficit >= 0 && active {
                return Some(self.tin);
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.share.quantum;
            }
            empty &= !active;
            self.tin += 1;
            if self.tin == self.tins.len() {
                self.tin = 0;
                if wrapped && empty {
                    return None;
                }
                wrapped = true;
            }
        }
    }

    /// The queue whose turn it is in a tin; with `first` a decaying queue comes before all others.
    #[inline]
    fn turn(&mut self, tin: usize, mut first: bool) -> Option<usize> {
        let at = &mut self.tins[tin];
        loop {
            let flows = &at.flows;
            let decaying = flows.first(List::Decaying);
            let ready = || flows.first(List::New).or_else(|| flows.first(List::Old)).or(decaying);
            let queue = decaying.filter(|_| first).or_else(ready)?;
            first = false;
            let flow = &mut at.flows.all[queue];
            if flow.deficit > 0 {
                return Some(queue);
            }
            if flow.set == Set::Sparse {
                if flow.first == NONE {
                    flow.set = Set::SparseWait;
                } else {
                    flow.set = Set::Bulk;
                    at.sparse -= 1;
                    at.bulk += 1;
                    at.flows.busier(queue);
                }
            }
            at.flows.all[queue].deficit += at.quantum(queue, &mut self.random);
            at.flows.append(List::Old, queue);
        }
    }

    /// A queue turned out empty.
    fn emptied(&mut self, tin: usize, queue: usize, now: i64) {
        let at = &mut self.tins[tin];
        let times = at.share.times;
        let flow = &mut at.flows.all[queue];
        at.seen.unresponsive -= u64::from(flow.cobalt.empty(&times, now));
        let rests = flow.cobalt.p_drop == 0 && flow.cobalt.count == 0 && now >= flow.cobalt.drop_next;
        let before = std::mem::replace(&mut flow.set, if rests { Set::None } else { Set::Decaying });
        match before {
            Set::Bulk => {
                at.bulk -= 1;
                at.flows.less_busy(queue);
            }
            Set::Sparse | Set::SparseWait => at.sparse -= 1,
            Set::Decaying | Set::None => at.decaying -= 1,
        }
        if rests {
            at.flows.unlink(queue);
        } else {
            at.decaying += 1;
            at.flows.append(List::Decaying, queue);
        }
    }

    /// The place of the next packet that a queue sends or drops, and why it drops it.
    #[inline]
    fn serve(&mut self, tin: usize, queue: usize, now: i64) -> Option<(usize, Option<Reason>)> {
        let place = self.take(tin, queue)?;
        if self.heap.is_used() {
            let Cake { heap, tins, .. } = self;
            heap.shorter(tin, queue, |tin, queue| tins.get(tin).map_or(0, |tin| tin.flows.all[queue].backlog));
        }
        let at = &mut self.tins[tin];
        let bulk = if self.set.ingress { at.bulk } else { 0 };
        let flow = &mut at.flows.all[queue];
        let Slot { packet, enqueued, .. } = &mut self.pool[place];
        let can_mark = self.ecn && packet.ecn.is_capable();
        let random = &mut self.random;
        let draw = || (random.uniform() * 4_294_967_296.0) as u32;
        let verdict = flow.cobalt.step(&at.share.times, now, *enqueued, bulk, can_mark, draw);
        let marked = verdict.signal && can_mark;
        let reason = if verdict.signal && !marked { Reason::Forced } else { Reason::Early };
        let dropped = verdict.chance || verdict.signal && !marked;
        // The last packet of a queue may be marked, but is never dropped.
        if dropped && flow.first != NONE {
            at.seen.drops += 1;
            return Some((place, Some(reason)));
        }
        if marked {
            at.seen.marks += 1;
            self.counters.mark(packet, true);
        }
        at.note_delay((now - *enqueued) as u64);
        Some((place, None))
    }

    /// A packet, sent or dropped, counts against its queue and its tin.
    #[inline(always)]
    fn charge(&mut self, tin: usize, queue: usize, on_link: u32, now: i64, dropped: bool) {
        let at = &mut self.tins[tin];
        at.flows.all[queue].deficit -= on_link as i32;
        at.deficit -= on_link as i32;
        self.advance(tin, on_link, now, dropped);
    }
}

/// The places of a queue's packets before its last.
#[derive(Clone)]
struct Places<'a> {
    pool: &'a [Slot],
    next: u32,
    last: u32,
}

impl Iterator for Places<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let place = self.next;
        (place != self.last).then(|| {
            self.next = self.pool[place as usize].behind;
            place
        })
    }
}

impl Discipline for Cake {
    fn enqueue(&mut self, packet: Packet, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Admitted> {
        self.enqueue_with(packet, &Header::of(&packet), now, on_drop)
    }

    /// cake_enqueue.
    fn enqueue_with(
        &mut self,
        mut packet: Packet,
        header: &Header,
        time: Time,
        on_drop: &mut OnDrop<'_>,
    ) -> Option<Admitted> {
        self.counters.arrivals += 1;
        self.counters.arrived_bytes += u64::from(packet.size);
        let now = clock(time);
        let tin = self.tin_of(header.dscp);
        let keys = self.keys(packet.flow, header);
        let at = &mut self.tins[tin];
        let queue = if self.set.flow_mode == FlowMode::Flowblind { 0 } else { at.flows.classify(keys) };
        if at.backlog == 0 {
            at.next = at.next.max(now);
            if self.packets == 0 {
                self.shaper.refresh(now);
            }
        }
        let (offset, ip_size) = (header.offset, packet.size.saturating_add_signed(-header.offset));
        at.seen.largest = at.seen.largest.max(ip_size);
        at.seen.packets += 1;
        at.seen.bytes += u64::from(ip_size);
        if self.set.wash {
            packet.class = 0;
        }
        packet.admit(time);
        let on_link = shaper::on_link(&self.set, packet.size, offset);
        // The link layer's header has its place in the headroom.
        let memory = self.set.memory_of(ip_size);
        let place = self.store(Slot { packet, enqueued: now, on_link, memory, offset, behind: NONE }, header.tcp);
        let at = &mut self.tins[tin];
        let flow = &mut at.flows.all[queue];
        match flow.first {
            NONE => flow.first = place,
            _ => self.pool[flow.last as usize].behind = place,
        }
        flow.last = place;
        flow.backlog += packet.size;
        at.backlog += u64::from(packet.size);
        at.offsets += i64::from(offset);
        self.memory += u64::from(memory);
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        let mut less = 0;
        if self.set.ack_filter != AckFilter::Off {
            less = self.filter(tin, queue, now, on_drop);
        }
        if self.heap.is_used() {
            let Cake { heap, tins, .. } = self;
            heap.longer(tin, queue, |tin, queue| tins.get(tin).map_or(0, |tin| tin.flows.all[queue].backlog));
        }
        if self.set.autorate {
            // Bytes of an ACK dropped for this packet do not count; Linux's 64-bit sum wraps around.
            self.estimate.window_bytes =
                self.estimate.window_bytes.wrapping_add(u64::from(packet.size)).wrapping_sub(less.into());
            self.estimate(now);
        }
        let at = &mut self.tins[tin];
        match at.flows.all[queue].set {
            set @ (Set::None | Set::Decaying) => {
                at.decaying -= u32::from(set == Set::Decaying);
                at.sparse += 1;
                at.flows.append(List::New, queue);
                at.flows.all[queue].set = Set::Sparse;
                at.flows.all[queue].deficit = at.quantum(queue, &mut self.random);
            }
            Set::SparseWait => {
                at.sparse -= 1;
                at.bulk += 1;
                at.flows.all[queue].set = Set::Bulk;
                at.flows.busier(queue);
            }
            Set::Sparse | Set::Bulk => {}
        }
        while self.over() {
            self.overflow(now, on_drop);
        }
        // The arrival was the last packet of its queue: if it is gone, the queue is empty.
        (self.tins[tin].flows.all[queue].first != NONE).then_some(Admitted(false))
    }

    /// cake_dequeue.
    fn dequeue(&mut self, time: Time, on_drop: &mut OnDrop<'_>) -> Option<Packet> {
        self.held = None;
        let now = clock(time);
        let mut first = true;
        while self.packets > 0 {
            if let Some(next) = self.shaper.held(now) {
                self.held = Some(Time::from_seconds((next - START) as f64 / 1e9));
                return None;
            }
            let tin = self.choose(now)?;
            while let Some(queue) = self.turn(tin, std::mem::take(&mut first)) {
                let mut retry = false;
                while let Some((place, dropped)) = self.serve(tin, queue, now) {
                    let on_link = self.pool[place].on_link;
                    let Some(reason) = dropped else {
                        self.charge(tin, queue, on_link, now, false);
                        self.heap.departed();
                        let packet = self.pool[place].packet;
                        self.counters.depart(&packet);
                        return Some(packet);
                    };
                    self.counters.drop(reason);
                    on_drop(&self.pool[place].packet, reason);
                    if self.set.ingress {
                        self.charge(tin, queue, on_link, now, true);
                        retry = true;
                        break;
                    }
                }
                if !retry {
                    self.emptied(tin, queue, now);
                    break;
                }
            }
        }
        None
    }

    fn held_until(&self) -> Option<Time> {
        self.held
    }

    fn reads_headers(&self) -> bool {
        true
    }

    fn washes(&self, _class: u8) -> bool {
        self.set.wash
    }

    fn packets(&self) -> u64 {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn reset_counters(&mut self) {
        self.counters = Counters::default();
        self.tins.iter_mut().for_each(Tin::restart);
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let sum = |of: fn(&Tin) -> u32| f64::from(self.tins.iter().map(of).sum::<u32>());
        out("sparse_flows", sum(|tin| tin.sparse));
        out("bulk_flows", sum(|tin| tin.bulk));
        out("decaying_flows", sum(|tin| tin.decaying));
        out("ack_drops", self.tins.iter().map(|tin| tin.seen.ack_drops).sum::<u64>() as f64);
        out("memory", self.memory as f64);
        out("shaper_rate", 8.0 * self.tins[0].share.rate as f64);
    }

    /// The queues of the first tin, then those of the second.
    fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        for (number, flow) in self.tins.iter().flat_map(|tin| &tin.flows.all).enumerate() {
            let mut at = flow.first;
            while let Some(slot) = self.pool.get(at as usize) {
                out(number, &slot.packet);
                at = slot.behind;
            }
        }
    }

    fn bands(&self) -> &'static [&'static str] {
        tins::names(self.set.diffserv)
    }

    fn band_of(&self, _packet: &Packet, dscp: u8) -> usize {
        let tin = self.tin_of(dscp);
        tins::shown(self.set.diffserv).iter().position(|&shown| shown == tin).unwrap_or(0)
    }

    fn groups(&self, out: &mut dyn FnMut(usize, &'static str, f64)) {
        for (line, &tin) in tins::shown(self.set.diffserv).iter().enumerate() {
            self.tins[tin].statistics(&mut |name, value| out(line, name, value));
        }
    }
}
