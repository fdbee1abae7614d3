//! The hosts that run ahead of time.

use crate::engine::network::Network;
use crate::engine::plan::{Mode, Plan};
use crate::events::Event;
use std::collections::{BTreeMap, VecDeque};

/// A host that runs ahead of time.
#[derive(Default)]
pub struct Host {
    /// Its first flow, and whether it is its sender.
    pub one: (u32, bool),
    /// All of them, if it has several.
    pub flows: Vec<(u32, bool)>,
    /// When they start, s, the last first.
    pub starts: Vec<f64>,
    /// What must wait for its time.
    pub waiting: VecDeque<Event>,
}

/// The hosts, and by flow those of its receiver and sender.
#[derive(Default)]
pub struct Hosts {
    pub of: Vec<[u32; 2]>,
    pub all: Vec<Host>,
}

impl Hosts {
    pub fn new(network: &Network, plan: &Plan) -> Hosts {
        let mut hosts = Hosts::default();
        if !plan.hosts_ahead {
            return hosts;
        }
        let mut known = BTreeMap::new();
        for flow in 0..network.flows() {
            let (forward, reverse) = network.route(flow);
            let of = [(reverse, false), (forward, true)].map(|(route, sends)| {
                let Some(&out) = route.first().filter(|&&out| plan.modes[out as usize] == Mode::Fold) else {
                    return u32::MAX;
                };
                let host = *known.entry(out).or_insert_with(|| {
                    hosts.all.push(Host { one: (flow as u32, sends), ..Host::default() });
                    hosts.all.len() - 1
                });
                let at = &mut hosts.all[host];
                at.flows.push((flow as u32, sends));
                at.starts.push(network.specs.start(flow as u32));
                host as u32
            });
            hosts.of.push(of);
        }
        for host in &mut hosts.all {
            host.starts.sort_unstable_by(|a, b| b.total_cmp(a));
            if host.flows.len() == 1 {
                host.flows.clear();
            }
        }
        hosts
    }
}
