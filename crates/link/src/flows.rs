//! Counters of the flows of one direction.

use std::collections::HashMap;

use crate::header::Endpoints;

/// Flows counted one by one; later ones are counted together.
pub const MOST: usize = 4096;

/// Counters of one flow, in packets unless they say bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// The flow's endpoints; `None` for all flows beyond [`MOST`].
    pub endpoints: Option<Endpoints>,
    /// Arrivals at the queue.
    pub arrivals: u64,
    /// Bytes of these arrivals.
    pub arrived_bytes: u64,
    /// Packets delivered at the other end.
    pub delivered: u64,
    /// Bytes of these packets.
    pub delivered_bytes: u64,
    /// Packets dropped by the queue.
    pub drops: u64,
    /// Packets marked with CE by the queue.
    pub marks: u64,
    /// Packets lost by the loss model.
    pub lost: u64,
    /// Time of the first arrival, s.
    pub first: f64,
    /// Time of the last arrival, s.
    pub last: f64,
}

/// Flows in the order of their first packets.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    known: HashMap<u64, u32>,
    flows: Vec<Flow>,
}

impl Flows {
    /// The number of the flow with this key; an unknown flow is added, with `now` as its first arrival.
    #[inline]
    pub fn number(&mut self, key: u64, endpoints: &Endpoints, now: f64) -> u32 {
        if let Some(&number) = self.known.get(&key) {
            return number;
        }
        self.add(key, endpoints, now)
    }

    #[inline(never)]
    fn add(&mut self, key: u64, endpoints: &Endpoints, now: f64) -> u32 {
        if self.flows.len() > MOST {
            return MOST as u32;
        }
        let endpoints = (self.flows.len() < MOST).then_some(*endpoints);
        let number = self.flows.len() as u32;
        if endpoints.is_some() {
            self.known.insert(key, number);
        }
        self.flows.push(Flow { endpoints, first: now, last: now, ..Flow::default() });
        number
    }

    /// The flow with this number.
    #[inline]
    pub fn get_mut(&mut self, number: u32) -> &mut Flow {
        &mut self.flows[number as usize]
    }

    /// All flows.
    pub fn all(&self) -> &[Flow] {
        &self.flows
    }

    /// Sets all counters to 0 and keeps the flows.
    pub fn restart(&mut self) {
        for flow in &mut self.flows {
            *flow = Flow { endpoints: flow.endpoints, first: flow.first, last: flow.last, ..Flow::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_most_flows_count_together() {
        let endpoints = |port| Endpoints {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            protocol: 6,
            ports: (port, 80),
        };
        let mut flows = Flows::default();
        for port in 0..5000_u16 {
            let who = endpoints(port);
            let number = flows.number(who.key(), &who, 0.0);
            assert_eq!(number, u32::from(port).min(MOST as u32));
            flows.get_mut(number).arrivals += 1;
        }
        assert_eq!(flows.number(endpoints(7).key(), &endpoints(7), 1.0), 7);
        assert_eq!(flows.all().len(), MOST + 1);
        let others = flows.all().last().expect("flows");
        assert_eq!((others.endpoints, others.arrivals), (None, 5000 - MOST as u64));
    }
}
