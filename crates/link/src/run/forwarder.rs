//! One direction in operation: a [`OneWay`] and the memory of its packets.
//!
//! A packet is copied once, from the read buffer into a slot; the direction carries only the number of the slot (`tag`).
//! Slots are reused, so that memory grows with the queue and not with the traffic, and never beyond a bound.

use std::os::fd::OwnedFd;

use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::{Ecn, Header as Seen, Packet, Time};
use earlydrop_net::port::Observer;
use earlydrop_net::record::Fate;
use hdrhistogram::Histogram;

use super::outcome::{PathOutcome, Series, View};
use super::{Clock, Direction, Settings};
use crate::burst::{self, Burst};
use crate::flows::Flows;
use crate::header::{clear_dscp, set_ce, Fragments, Header, Malformed};
use crate::one_way::{Change, Delivery, OneWay, OneWayObserver};
use crate::record::{Kept, Record};
use crate::trust::{DeviceLosses, Signs};

/// Up to this many due deliveries are written one at a time; more are written as a burst.
const SINGLY: usize = 3;
/// Upper bound of the lateness histogram, ns.
const LATEST_NS: u64 = 60_000_000_000;
/// Flows in a [`View`].
const FLOWS_IN_VIEW: usize = 10;

/// Memory that the packets of one direction may take, queued and in flight, bytes. At 1 Gbit/s that is 2 s.
pub const MOST_HELD: u64 = 256 << 20;
/// What a packet takes beside its bytes: its slot and its places in the queue and on the delay line.
const PLACE: u64 = 256;
/// Memory that free slots keep for the packets to come, bytes.
const SPARE: u64 = 16 << 20;

/// A packet in memory.
#[derive(Default)]
struct Slot {
    bytes: Vec<u8>,
    flow: u32,
    /// Number in the record.
    number: Option<u32>,
    /// ECN field and class at arrival.
    ecn: Ecn,
    class: u8,
}

/// The stored packets and everything that is counted when their fates are known.
struct Ledger {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Memory of the slots in use, and of the free ones, bytes.
    held: u64,
    spare: u64,
    max_held: u64,
    flows: Flows,
    /// The header of the packet that is arriving, if the queue reads headers.
    arriving: Option<Seen>,
    record: Option<Record>,
    /// Longest record, arrivals.
    max_record: usize,
}

impl Ledger {
    /// A slot for a packet of `length` bytes; `None` if there is no memory for it.
    fn take(&mut self, length: usize) -> Option<u32> {
        if self.held + PLACE + length as u64 > self.max_held {
            return None;
        }
        Some(match self.free.pop() {
            Some(tag) => {
                self.spare -= self.slots[tag as usize].bytes.capacity() as u64;
                tag
            }
            None => {
                self.slots.push(Slot::default());
                self.slots.len() as u32 - 1
            }
        })
    }

    /// Copies a packet to the slot.
    fn store(&mut self, tag: u32, bytes: &[u8]) {
        let slot = &mut self.slots[tag as usize];
        slot.bytes.clear();
        slot.bytes.extend_from_slice(bytes);
        self.held += PLACE + slot.bytes.capacity() as u64;
    }

    /// Frees the slot: its packet is gone.
    fn release(&mut self, tag: u32) {
        let bytes = &mut self.slots[tag as usize].bytes;
        let size = bytes.capacity() as u64;
        self.held -= PLACE + size;
        if self.spare + size > SPARE {
            *bytes = Vec::new();
        } else {
            self.spare += size;
        }
        self.free.push(tag);
    }

    /// Whether `packet` carries CE now and arrived without.
    fn is_marked(&self, packet: &Packet) -> bool {
        packet.ecn == Ecn::Ce && self.slots[packet.tag as usize].ecn != Ecn::Ce
    }

    fn settle(&mut self, packet: &Packet, fate: Fate) {
        if let (Some(record), Some(number)) = (&mut self.record, self.slots[packet.tag as usize].number) {
            record.settle(number as usize, fate);
        }
    }
}

impl Observer for Ledger {
    fn header(&self, packet: &Packet) -> Seen {
        self.arriving.unwrap_or_else(|| Seen::of(packet))
    }

    fn dropped(&mut self, packet: &Packet, now: Time, reason: Reason) {
        self.settle(packet, Fate::Dropped { at: now, reason });
        self.flows.get_mut(self.slots[packet.tag as usize].flow).drops += 1;
        self.release(packet.tag);
    }

    fn departed(&mut self, packet: &Packet, now: Time, _length: u64) {
        self.settle(packet, Fate::Departed { at: now, ecn: packet.ecn, arrival: None });
        let slot = &self.slots[packet.tag as usize];
        if packet.ecn != slot.ecn {
            self.flows.get_mut(slot.flow).marks += 1;
        }
    }
}

impl OneWayObserver for Ledger {
    fn sent(&mut self, packet: &Packet, arrival: Option<Time>) {
        let slot = &self.slots[packet.tag as usize];
        if let (Some(record), Some(number)) = (&mut self.record, slot.number) {
            record.sent(number as usize, arrival);
        }
        if arrival.is_none() {
            self.flows.get_mut(slot.flow).lost += 1;
            self.release(packet.tag);
        }
    }
}

/// One direction in operation.
pub(super) struct Forwarder {
    pub(super) from: OwnedFd,
    pub(super) way: OneWay,
    ledger: Ledger,
    fragments: Fragments,
    lateness: Histogram<u64>,
    device_losses: DeviceLosses,
    delivered: (u64, u64),
    ce_set: u64,
    /// Packets read, and written, in bursts.
    pub(super) in_bursts: (u64, u64),
    series: Option<Series>,
    window_start: f64,
    /// Deliveries being written.
    due: Vec<Delivery>,
    /// Packets read one right after the other.
    pub(super) streak: u32,
    /// When the last packet arrived.
    pub(super) last: Time,
}

impl Forwarder {
    pub(super) fn new(direction: Direction, settings: &Settings) -> Forwarder {
        let way = OneWay::new(direction.spec);
        let kept = settings.keep_headers.then(Kept::default);
        let record = Record { reads_headers: way.port().reads_headers(), kept, ..Record::default() };
        Forwarder {
            from: direction.from,
            way,
            ledger: Ledger {
                slots: Vec::new(),
                free: Vec::new(),
                held: 0,
                spare: 0,
                max_held: MOST_HELD,
                flows: Flows::default(),
                arriving: None,
                record: (settings.record > 0).then_some(record),
                max_record: settings.record,
            },
            fragments: Fragments::new(),
            lateness: Histogram::new_with_bounds(1, LATEST_NS, 3).expect("these bounds are valid"),
            device_losses: DeviceLosses::default(),
            delivered: (0, 0),
            ce_set: 0,
            in_bursts: (0, 0),
            series: settings.series.map(|_| Series::default()),
            window_start: 0.0,
            due: Vec::with_capacity(burst::MOST),
            streak: 0,
            last: Time::ZERO,
        }
    }

    /// Changes the direction at `now`; whether it can.
    pub(super) fn change(&mut self, change: Change, now: Time) -> bool {
        self.way.change(change, now, &mut self.ledger)
    }

    /// Takes a packet that was read at `now`.
    pub(super) fn arrive(&mut self, bytes: &[u8], now: Time) {
        let header = match Header::read(bytes) {
            Ok(header) => header,
            Err(malformed) => {
                let kind = match malformed {
                    Malformed::Empty => 0,
                    Malformed::Version => 1,
                    Malformed::HeaderLength => 2,
                    Malformed::TruncatedHeader => 3,
                    Malformed::Truncated => 4,
                };
                self.device_losses.malformed[kind] += 1;
                return;
            }
        };
        self.last = now;
        let endpoints = self.fragments.endpoints(&header);
        let key = endpoints.key();
        let ledger = &mut self.ledger;
        let Some(tag) = ledger.take(bytes.len()) else {
            self.device_losses.over_memory += 1;
            return;
        };
        let packet = Packet { tag, ..header.packet(bytes.len() as u32, key) };
        let flow = ledger.flows.number(key, &endpoints, now.seconds());
        let counts = ledger.flows.get_mut(flow);
        counts.arrivals += 1;
        counts.arrived_bytes += bytes.len() as u64;
        counts.last = now.seconds();
        ledger.arriving = self.way.port().reads_headers().then(|| header.for_queue(bytes));
        let (seen, max_record) = (ledger.arriving, ledger.max_record);
        let record = ledger.record.as_mut().filter(|record| record.fates.len() < max_record);
        let number = record.map(|record| {
            if let Some(kept) = &mut record.kept {
                kept.add(bytes);
            }
            record.arrived(packet, seen, now) as u32
        });
        ledger.store(tag, bytes);
        let slot = &mut ledger.slots[tag as usize];
        (slot.flow, slot.number, slot.ecn, slot.class) = (flow, number, header.ecn, packet.class);
        self.way.arrive(packet, now, ledger);
        // Until a read finds none.
        self.way.outside(now, true);
    }

    /// The device has no more packets at `now`.
    pub(super) fn drained(&mut self, now: Time) {
        self.streak = 0;
        self.way.outside(now, false);
    }

    fn signs(&self, least_share: Option<f64>) -> Signs {
        Signs { p99_ns: self.lateness.value_at_quantile(0.99), losses: self.device_losses, least_share }
    }

    /// Writes every delivery that is due to `to`, several at a time if there is a `burst`.
    pub(super) fn deliver(&mut self, to: &OwnedFd, clock: Clock, burst: &mut Option<Burst>) {
        let mut now = clock.now();
        self.way.advance(now, &mut self.ledger);
        let at_once = if burst.is_some() { burst::MOST } else { 1 };
        loop {
            self.due.clear();
            let way = &mut self.way;
            self.due.extend(std::iter::from_fn(|| way.deliver(now)).take(at_once));
            if self.due.is_empty() {
                return;
            }
            for delivery in &self.due {
                let marked = self.ledger.is_marked(&delivery.packet);
                let slot = &mut self.ledger.slots[delivery.packet.tag as usize];
                if marked {
                    set_ce(&mut slot.bytes);
                }
                if self.way.port().washes(slot.class) {
                    clear_dscp(&mut slot.bytes);
                }
            }
            // Packets that the kernel did not take in a burst are written one at a time.
            let mut done = 0;
            if let Some(ring) = burst.as_mut().filter(|_| self.due.len() > SINGLY) {
                let slots = &self.ledger.slots;
                let packets = self.due.iter().map(|delivery| slots[delivery.packet.tag as usize].bytes.as_slice());
                match ring.write(to, packets) {
                    Ok(results) => {
                        now = clock.now();
                        done = results.len();
                        self.in_bursts.1 += done as u64;
                        for (i, &result) in results.iter().enumerate() {
                            self.delivered(i, result >= 0, now);
                        }
                    }
                    Err(_) => *burst = None,
                }
            }
            for i in done..self.due.len() {
                let written = nix::unistd::write(to, &self.ledger.slots[self.due[i].packet.tag as usize].bytes);
                self.delivered(i, written.is_ok(), now);
                now = clock.now();
            }
            self.way.advance(now, &mut self.ledger);
        }
    }

    /// The delivery `self.due[i]` was `written`, or refused, at `now`.
    fn delivered(&mut self, i: usize, written: bool, now: Time) {
        let delivery = self.due[i];
        let tag = delivery.packet.tag;
        let late = now - delivery.at;
        self.lateness.saturating_record((late * 1e9) as u64);
        let (from, until) = delivery.sent;
        self.way.seconds().sent(from.seconds() + late, until.seconds() + late, delivery.packet.size);
        if written {
            let slot = &self.ledger.slots[tag as usize];
            let (flow, bytes) = (slot.flow, slot.bytes.len() as u64);
            self.ce_set += u64::from(self.ledger.is_marked(&delivery.packet));
            let flow = self.ledger.flows.get_mut(flow);
            flow.delivered += 1;
            flow.delivered_bytes += bytes;
            self.delivered.0 += 1;
            self.delivered.1 += bytes;
        } else {
            self.device_losses.refused += 1;
        }
        self.ledger.release(tag);
    }

    pub(super) fn sample(&mut self, now: Time) {
        let Some(series) = &mut self.series else { return };
        self.way.advance(now, &mut self.ledger);
        series.time.push(now.seconds());
        series.packets.push(self.way.port().packets());
        series.average.push(self.way.port().average().unwrap_or(f64::NAN));
        series.dropped.push(self.way.port().counters().drops());
    }

    /// Starts the measured window at `now`.
    pub(super) fn restart(&mut self, now: Time) {
        self.way.restart(now, &mut self.ledger);
        self.ledger.flows.restart();
        self.lateness.reset();
        self.device_losses = DeviceLosses::default();
        (self.delivered, self.ce_set, self.in_bursts) = ((0, 0), 0, (0, 0));
        self.window_start = now.seconds();
        if let Some(series) = &mut self.series {
            *series = Series::default();
        }
    }

    pub(super) fn view(&mut self, now: Time) -> View {
        self.way.advance(now, &mut self.ledger);
        let mut gauges = Vec::new();
        self.way.port().gauges(&mut |name, value| gauges.push((name, value)));
        let all = self.ledger.flows.all();
        let mut order: Vec<usize> = (0..all.len()).collect();
        let shown = order.len().min(FLOWS_IN_VIEW);
        if order.len() > shown {
            order.select_nth_unstable_by_key(shown - 1, |&i| std::cmp::Reverse(all[i].delivered_bytes));
        }
        View {
            time: now.seconds(),
            packets: self.way.port().packets(),
            bytes: self.way.port().bytes(),
            average: self.way.port().average(),
            sojourn_mean: self.way.port().stats().mean_sojourn(),
            counters: *self.way.port().counters(),
            gauges,
            signs: self.signs(self.way.least_share(now)),
            flows: order[..shown].iter().map(|&i| (i, all[i].clone())).collect(),
        }
    }

    pub(super) fn finish(mut self, now: Time) -> PathOutcome {
        self.way.finish(now, &mut self.ledger);
        let window = (self.window_start, now.seconds());
        let rate_bps = self.way.mean_rate(window.0, window.1).unwrap_or(self.way.rate_bps());
        let least_share = self.way.seconds().least_share(window.1);
        let signs = self.signs(least_share);
        PathOutcome {
            window,
            rate_bps,
            counters: *self.way.port().counters(),
            has_average: self.way.port().average().is_some(),
            queued: (self.way.port().queued_at_start(), self.way.port().packets()),
            bands: self.way.port().bands().to_vec(),
            lost: self.way.lost(),
            delivered: self.delivered,
            ce_set: self.ce_set,
            in_bursts: self.in_bursts,
            in_flight: self.way.in_flight() as u64,
            busy: self.way.seconds().busy(),
            signs,
            lateness: self.lateness,
            flows: self.ledger.flows.all().to_vec(),
            device_losses: self.device_losses,
            series: self.series,
            record: self.ledger.record,
            stats: self.way.into_stats(),
        }
    }

    /// Whether no packet is queued, in transmission or on the delay line.
    pub(super) fn is_empty(&self) -> bool {
        self.way.port().packets() == 0 && self.way.in_flight() == 0
    }
}

#[cfg(test)]
mod cake_tests;
#[cfg(test)]
mod tests;
