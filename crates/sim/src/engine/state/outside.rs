//! Datagrams from outside of the engine: their payloads while they are under way, and what became of each.

use super::link::NONE;
use super::order::{Key, START};
use earlydrop_aqm::Ecn;
use std::collections::VecDeque;

/// What became of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ending {
    /// It reached the other host.
    Delivered = 0,
    /// A queue dropped it.
    Dropped = 1,
    /// It was lost on a link.
    Lost = 2,
    /// Its time to live expired.
    Expired = 3,
}

/// A datagram that reaches the other host.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// The flow.
    pub flow: u32,
    /// Its number in the flow, from 0.
    pub number: u32,
    /// When it was sent, and when it arrives, s.
    pub sent: f64,
    /// See [`sent`](Self::sent).
    pub at: f64,
    /// ECN field on arrival.
    pub ecn: Ecn,
    /// Payload.
    pub payload: Vec<u8>,
}

/// What the engine tells those outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// A datagram arrives.
    Delivered(Delivery),
    /// The timer of the sender of a flow expires, at a time in s.
    Timer(u32, f64),
}

/// A datagram under way.
struct UnderWay {
    payload: Vec<u8>,
    sent: f64,
    ecn: Ecn,
}

/// A flow.
struct OutsideFlow {
    header: u32,
    next: u32,
    /// Within the window: datagrams sent, and payload received, bytes.
    sent: u64,
    received_bytes: u64,
    told: Option<Told>,
}

/// What the stacks at both ends say of a flow, within the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Bytes that the receiving application has got, each once and in order, if that is known.
    pub delivered: Option<u64>,
    /// Packets sent again.
    pub retransmits: u32,
    /// Timeouts.
    pub timeouts: u32,
}

/// All flows, and their datagrams under way.
pub struct Outside {
    flows: Vec<OutsideFlow>,
    of_flow: Vec<u32>,
    under_way: Vec<UnderWay>,
    free: Vec<u32>,
    /// Places that are free once somebody has looked at what queues did, if somebody does.
    later: Option<Vec<u32>>,
    digest: u64,
    /// What has happened and nobody has taken.
    happened: VecDeque<Happening>,
    /// The event that made the latest of them.
    pub key: Key,
}

impl Outside {
    pub fn new(specs: &[(u32, u32)], flows: usize) -> Self {
        let mut of_flow = if specs.is_empty() { Vec::new() } else { vec![NONE; flows] };
        let all = specs.iter().zip(0..).map(|(&(flow, header), index)| {
            of_flow[flow as usize] = index;
            OutsideFlow { header, next: 0, sent: 0, received_bytes: 0, told: None }
        });
        Outside {
            flows: all.collect(),
            of_flow,
            under_way: Vec::new(),
            free: Vec::new(),
            later: None,
            digest: 0,
            happened: VecDeque::new(),
            key: START,
        }
    }

    /// Whether the datagrams of a flow come from outside.
    #[inline(always)]
    pub fn has(&self, flow: u32) -> bool {
        self.of_flow.get(flow as usize).is_some_and(|&index| index != NONE)
    }

    fn of(&mut self, flow: u32) -> &mut OutsideFlow {
        &mut self.flows[self.of_flow[flow as usize] as usize]
    }

    /// Headers of a flow's datagrams, bytes.
    pub fn header(&self, flow: u32) -> u32 {
        self.flows[self.of_flow[flow as usize] as usize].header
    }

    /// Datagrams that a flow has sent, and payload received, bytes, within the window.
    pub fn counted(&self, flow: usize) -> Option<(u64, u64)> {
        let at = *self.of_flow.get(flow)? as usize;
        self.flows.get(at).map(|flow| (flow.sent, flow.received_bytes))
    }

    /// What the stacks have said of a flow.
    pub fn told(&self, flow: usize) -> Option<Told> {
        self.flows.get(*self.of_flow.get(flow)? as usize)?.told
    }

    /// The stacks say so much more of a flow.
    pub fn tell(&mut self, flow: u32, more: Told, in_window: bool) {
        let told = self.of(flow).told.get_or_insert_default();
        if let Some(delivered) = more.delivered {
            *told.delivered.get_or_insert(0) += if in_window { delivered } else { 0 };
        }
        if in_window {
            told.retransmits += more.retransmits;
            told.timeouts += more.timeouts;
        }
    }

    /// A datagram sets out; its number in the flow, and its place.
    pub fn send(&mut self, flow: u32, payload: Vec<u8>, ecn: Ecn, now: f64, in_window: bool) -> (u32, u32) {
        let of = self.of(flow);
        let number = of.next;
        of.next = (number + 1) & i32::MAX as u32;
        of.sent += u64::from(in_window);
        let one = UnderWay { payload, sent: now, ecn };
        match self.free.pop() {
            Some(place) => {
                self.under_way[place as usize] = one;
                (number, place)
            }
            None => {
                self.under_way.push(one);
                (number, self.under_way.len() as u32 - 1)
            }
        }
    }

    /// The payload of the datagram at this place, under way or gone since the last [`settle`](Self::settle).
    pub fn payload(&self, place: u32) -> &[u8] {
        self.under_way.get(place as usize).map_or(&[], |one| &one.payload)
    }

    /// From now on the payloads of datagrams that are gone stay until [`settle`](Self::settle).
    pub fn keep(&mut self) {
        self.later = Some(Vec::new());
    }

    /// Nobody looks at datagrams that are gone any more.
    pub fn settle(&mut self) {
        if let Some(later) = &mut self.later {
            for &place in later.iter() {
                self.under_way[place as usize].payload = Vec::new();
            }
            self.free.append(later);
        }
    }

    /// What became of the datagram at `place`, number `number` of its flow, of so many bytes on the wire.
    pub fn end(&mut self, (flow, number, place): (u32, u32, u32), size: u16, ecn: Ecn, ending: Ending, now: f64) {
        let one = &self.under_way[place as usize];
        let fixed = u64::from(size) | (one.ecn as u64) << 16 | (ecn as u64) << 18 | (ending as u64) << 20;
        let words = [u64::from(flow) << 32 | u64::from(number), one.sent.to_bits(), now.to_bits(), fixed];
        for word in words {
            self.digest = (self.digest.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
        match &mut self.later {
            Some(later) => later.push(place),
            None => {
                self.under_way[place as usize].payload = Vec::new();
                self.free.push(place);
            }
        }
    }

    /// A datagram reaches its host at `key`; returns when it was sent, s.
    pub fn deliver(&mut self, ids: (u32, u32, u32), size: u16, ecn: Ecn, key: Key, in_window: bool) -> f64 {
        let (flow, number, place) = ids;
        let of = self.of(flow);
        if in_window {
            of.received_bytes += u64::from(u32::from(size).saturating_sub(of.header));
        }
        let one = &mut self.under_way[place as usize];
        let payload = if self.later.is_some() { one.payload.clone() } else { std::mem::take(&mut one.payload) };
        let sent = one.sent;
        self.end(ids, size, ecn, Ending::Delivered, key.now);
        let delivery = Delivery { flow, number, sent, at: key.now, ecn, payload };
        self.happens(Happening::Delivered(delivery), key);
        sent
    }

    /// Something happens at `key`.
    pub fn happens(&mut self, happening: Happening, key: Key) {
        self.key = key;
        self.happened.push_back(happening);
    }

    /// Whether something has happened that nobody has taken.
    #[inline(always)]
    pub fn is_ready(&self) -> bool {
        !self.happened.is_empty()
    }

    /// The first of what has happened.
    pub fn take(&mut self) -> Option<Happening> {
        self.happened.pop_front()
    }

    /// A digest of what became of each datagram since the start or the last [`restart_digest`](Self::restart_digest), in
    /// the order of the ends: flow, number, time sent, time of the end, size, ECN field at both ends, ending.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The digest starts anew.
    pub fn restart_digest(&mut self) {
        self.digest = 0;
    }
}
