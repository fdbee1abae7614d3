//! SFQ as in Linux, `net/sched/sch_sfq.c`.

use super::parameters::PARAMS;
use crate::params::Values;
use crate::parts::class_fifos::{ClassFifos, End};
use crate::parts::classful::Schedule;
use crate::parts::hash;
use crate::parts::round::Round;
use crate::parts::slot_heap::SlotHeap;
use crate::policy::Limit;
use crate::random::Generator;
use crate::{Packet, Time};
use std::cmp::Reverse;

/// Stands for no FIFO, or no entry (`SFQ_EMPTY_SLOT`).
const NONE: u32 = u32::MAX;

/// The parameters of this dialect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Number of FIFOs.
    flows: u64,
    /// Entries of the hash table.
    divisor: usize,
    /// Most packets of one flow.
    depth: u64,
    /// What a flow may send in a turn, in units of `unit` bytes.
    quantum: i64,
    /// Bytes of a `unit`.
    unit: u32,
    /// At which end a flow loses a packet.
    end: End,
    /// Time between changes of the hash, s; 0 for never.
    perturb: f64,
}

impl Rules {
    pub fn read(values: &Values) -> Rules {
        let whole = |name| values.whole(&PARAMS, name) as u64;
        let unit = whole("allot_unit");
        Rules {
            flows: whole("flows"),
            divisor: whole("divisor") as usize,
            depth: whole("depth"),
            quantum: whole("quantum").div_ceil(unit) as i64,
            unit: unit as u32,
            end: if values.flag(&PARAMS, "headdrop") { End::Head } else { End::Tail },
            perturb: values.real(&PARAMS, "perturb"),
        }
    }
}

/// The queues.
pub(super) struct Linux {
    /// The packets of each flow.
    pub(super) fifos: ClassFifos,
    /// The flows with packets, in the order of their turns.
    round: Round,
    /// The FIFOs by length, the longest first, of equally long ones the last to change.
    longest: SlotHeap<(Reverse<u64>, Reverse<u64>)>,
    /// Changes of FIFOs so far.
    changes: u64,
    /// The FIFO of each entry of the hash table.
    pub(super) table: Vec<u32>,
    /// The entry of each FIFO.
    pub(super) entry: Vec<u32>,
    /// slot->allot: what each FIFO may still send in its turn, units.
    allotment: Vec<i64>,
    /// FIFOs without packets, the next one last.
    free: Vec<u32>,
    /// Packets or bytes of all flows.
    pub(super) limit: Limit,
    /// maxdepth: most packets of one flow.
    depth: u64,
    /// scaled_quantum: what a flow may send in a turn, units.
    quantum: i64,
    /// Bytes of a unit.
    unit: u32,
    /// At which end a flow loses a packet.
    end: End,
    /// q->perturbation: the salt of the hash.
    pub(super) salt: u64,
    /// Time between changes of the salt, s; 0 for never.
    perturb: f64,
    /// When the salt changes next.
    next_salt: Time,
    /// Random numbers, for the salt.
    random: Generator,
    /// Packets on their way to another FIFO while the salt changes; empty else.
    moving: Vec<Packet>,
}

impl Linux {
    pub fn new(rules: &Rules, limit: Limit, mut random: Generator) -> Self {
        let Rules { divisor, depth, quantum, unit, end, perturb, .. } = *rules;
        let mut flows = rules.flows.min(divisor as u64);
        let limit = match limit {
            Limit::Packets(n) => {
                let n = n.min(depth * flows);
                flows = flows.min(n);
                Limit::Packets(n)
            }
            bytes => bytes,
        };
        let slots = flows as usize;
        Linux {
            fifos: ClassFifos::new(slots),
            round: Round::new(slots),
            longest: SlotHeap::new(),
            changes: 0,
            table: vec![NONE; divisor],
            entry: vec![NONE; slots],
            allotment: vec![0; slots],
            // The kernel puts each free FIFO in front of the others, so that it starts with the last.
            free: (0..slots as u32).collect(),
            limit,
            depth,
            quantum,
            unit,
            end,
            salt: random.uniform().to_bits(),
            perturb,
            next_salt: Time::from_seconds(perturb),
            random,
            moving: Vec::new(),
        }
    }

    /// The FIFO of `flow`, or a free one for it; `None` if none is free.
    fn slot(&mut self, flow: u64) -> Option<usize> {
        let entry = hash::bucket(flow, self.salt, self.table.len());
        if self.table[entry] == NONE {
            let slot = self.free.pop()?;
            self.table[entry] = slot;
            self.entry[slot as usize] = entry as u32;
        }
        Some(self.table[entry] as usize)
    }

    /// A packet joins the FIFO in `slot`.
    fn append(&mut self, slot: usize, packet: Packet) {
        self.fifos.push(slot, packet);
        if self.fifos.packets_of(slot) == 1 {
            self.round.join(slot);
            self.allotment[slot] = self.quantum;
        }
        self.changed(slot);
    }

    /// A packet leaves the FIFO in `slot`, which becomes free if the packet was its last.
    fn remove(&mut self, slot: usize, end: End) -> Option<Packet> {
        let packet = self.fifos.take(slot, end);
        self.changed(slot);
        if self.fifos.packets_of(slot) == 0 {
            self.round.leave(slot);
            self.table[self.entry[slot] as usize] = NONE;
            self.free.push(slot as u32);
        }
        packet
    }

    /// The length of the FIFO in `slot` has changed.
    fn changed(&mut self, slot: usize) {
        self.changes += 1;
        match self.fifos.packets_of(slot) {
            0 => self.longest.remove(slot),
            packets => self.longest.set(slot, (Reverse(packets), Reverse(self.changes))),
        }
    }

    /// sfq_rehash: draws a new salt if it is time, and moves every packet to its new FIFO.
    pub(super) fn perturb(&mut self, now: Time, dropped: &mut dyn FnMut(&Packet)) {
        if self.perturb == 0.0 || now < self.next_salt {
            return;
        }
        let missed = ((now - self.next_salt) / self.perturb).floor();
        self.next_salt = self.next_salt + (missed + 1.0) * self.perturb;
        self.salt = self.random.uniform().to_bits();
        let mut moving = std::mem::take(&mut self.moving);
        for slot in 0..self.entry.len() {
            while self.fifos.packets_of(slot) > 0 {
                moving.extend(self.remove(slot, End::Head));
            }
        }
        for packet in moving.drain(..) {
            match self.slot(packet.flow).filter(|&slot| self.fifos.packets_of(slot) < self.depth) {
                Some(slot) => self.append(slot, packet),
                None => dropped(&packet),
            }
        }
        self.moving = moving;
    }
}

impl Schedule for Linux {
    fn arrive(&mut self, packet: Packet, now: Time, dropped: &mut dyn FnMut(&Packet)) -> bool {
        self.perturb(now, dropped);
        let slot = match self.slot(packet.flow) {
            Some(slot) if self.fifos.packets_of(slot) < self.depth || self.end == End::Head => slot,
            _ => {
                dropped(&packet);
                return false;
            }
        };
        if self.fifos.packets_of(slot) >= self.depth {
            // The flow keeps its place in the round and its length.
            if let Some(oldest) = self.fifos.take(slot, End::Head) {
                dropped(&oldest);
            }
            self.fifos.push(slot, packet);
        } else {
            self.append(slot, packet);
        }
        let mut admitted = true;
        while self.fifos.exceeds(self.limit) {
            let Some(((Reverse(packets), _), longest)) = self.longest.first() else { break };
            let loser = if packets == 1 { self.round.current().unwrap_or(longest) } else { longest };
            let Some(victim) = self.remove(loser, self.end) else { break };
            dropped(&victim);
            // The arrival is its flow's newest packet: from the tail it is dropped first, from the head last.
            admitted &= loser != slot || (self.end == End::Head && self.fifos.packets_of(slot) > 0);
        }
        admitted
    }

    fn take(&mut self, now: Time, dropped: &mut dyn FnMut(&Packet)) -> Option<Packet> {
        self.perturb(now, dropped);
        let mut passed = 0;
        let slot = loop {
            let slot = self.round.current()?;
            if self.allotment[slot] > 0 {
                break slot;
            }
            self.allotment[slot] += self.quantum;
            self.round.advance();
            passed += 1;
            if passed == self.round.len() {
                self.skip_rounds();
                passed = 0;
            }
        };
        let packet = self.remove(slot, End::Head)?;
        if self.fifos.packets_of(slot) > 0 {
            self.allotment[slot] -= i64::from(packet.size.div_ceil(self.unit));
        }
        Some(packet)
    }

    fn fifos(&self) -> &ClassFifos {
        &self.fifos
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("active", self.round.len() as f64);
    }
}

impl Linux {
    /// A whole round has passed without a packet. Adds the allotments of all further such rounds in one step.
    fn skip_rounds(&mut self) {
        // A FIFO is passed over until its allotment is at least 1.
        let rounds = |slot: usize| ((1 - self.allotment[slot]).max(0) + self.quantum - 1) / self.quantum;
        let idle = self.round.in_order().map(rounds).min().unwrap_or(0);
        for slot in self.round.in_order() {
            self.allotment[slot] += idle * self.quantum;
        }
    }
}
