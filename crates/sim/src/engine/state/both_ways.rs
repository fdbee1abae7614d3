//! Pairs of flows that are the two ways of one connection.

use super::link::NONE;
use super::net::{Arrivals, Flow};
use earlydrop_net::tcp::rfc::Endpoint;
use earlydrop_net::tcp::{Receiver, Sender};

/// The other way of each flow's connection.
#[derive(Default)]
pub struct BothWays {
    /// By flow: the other one, or `NONE`; empty if there is none at all.
    of_flow: Vec<u32>,
}

impl BothWays {
    /// Of these pairs among so many flows. Their senders are told; the second of a pair waits for the first one's SYN.
    pub fn new(pairs: &[(u32, u32)], flows: &mut [Flow]) -> Self {
        let mut of_flow = vec![NONE; if pairs.is_empty() { 0 } else { flows.len() }];
        for &(first, second) in pairs {
            for (flow, other, passive) in [(first, second, false), (second, first, true)] {
                of_flow[flow as usize] = other;
                if let Sender::Rfc(connection) = &mut flows[flow as usize].sender {
                    connection.make_both_ways(passive);
                }
            }
        }
        BothWays { of_flow }
    }

    /// The other way of this flow's connection.
    #[inline(always)]
    pub fn other(&self, flow: u32) -> Option<u32> {
        self.of_flow.get(flow as usize).copied().filter(|&other| other != NONE)
    }
}

/// The end at which `flow` has its sender, and `other`, the other way, its receiver.
pub fn endpoint<'a>(flow: &'a mut Flow, other: &'a mut Arrivals) -> Option<Endpoint<'a>> {
    match (&mut flow.sender, &mut other.receiver) {
        (Sender::Rfc(sender), Receiver::Rfc(receiver)) => Some(Endpoint { sender, receiver }),
        _ => None,
    }
}
