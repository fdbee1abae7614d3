//! What a flow is for: data, the acknowledgements of data, control, ICMP, DNS. A link sees headers only, so these are
//! rules, applied when it stops.

use std::collections::HashMap;

use crate::flows::Flow;
use crate::header::Endpoints;

/// A control connection has at most this share of the bytes of the connection that it controls.
const CONTROL_SHARE: f64 = 0.1;
/// It may fall silent this much before the connection it controls, s, whose packets may have waited in the queue.
const CONTROL_SLACK: f64 = 1.0;
/// Largest mean size of packets that are acknowledgements (headers with time stamps and SACK blocks), B.
const ACK: f64 = 104.0;
const TCP: u8 = 6;
const ICMP: [u8; 2] = [1, 58];
const DNS: u16 = 53;

/// What a flow is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Any traffic that has none of the other roles.
    Data,
    /// The direction of a TCP connection in which mostly acknowledgements go.
    Acks,
    /// A connection that begins before a larger one between the same hosts and lasts until that ends, as those of
    /// iperf3 and netperf.
    Control,
    /// ICMP or ICMPv6.
    Icmp,
    /// Traffic to or from port 53.
    Dns,
    /// All flows beyond those that are counted one by one.
    Others,
}

impl Role {
    /// The role's name in results.
    pub fn name(self) -> &'static str {
        match self {
            Role::Data => "data",
            Role::Acks => "acks",
            Role::Control => "control",
            Role::Icmp => "icmp",
            Role::Dns => "dns",
            Role::Others => "others",
        }
    }
}

/// Both directions of a connection.
#[derive(Clone, Copy, Default)]
struct Both {
    bytes: u64,
    first: f64,
    last: f64,
}

/// The roles of the flows of both directions.
pub fn roles(directions: [&[Flow]; 2]) -> [Vec<Role>; 2] {
    let mut connections: HashMap<Endpoints, Both> = HashMap::new();
    let mut hosts: HashMap<_, Vec<Endpoints>> = HashMap::new();
    for flow in directions.into_iter().flatten() {
        let Some(endpoints) = flow.endpoints else { continue };
        let name = either_way(&endpoints);
        let both = connections.entry(name).or_insert_with(|| {
            hosts.entry((name.source, name.destination)).or_default().push(name);
            Both { bytes: 0, first: flow.first, last: flow.last }
        });
        both.bytes += flow.arrived_bytes;
        both.first = both.first.min(flow.first);
        both.last = both.last.max(flow.last);
    }
    let is_control = |name: &Endpoints| {
        let mine = &connections[name];
        let others = &hosts[&(name.source, name.destination)];
        others.iter().map(|other| &connections[other]).any(|other| {
            mine.bytes as f64 <= CONTROL_SHARE * other.bytes as f64
                && mine.first < other.first
                && mine.last + CONTROL_SLACK >= other.last
        })
    };
    directions.map(|flows| {
        let role = |flow: &Flow| {
            let Some(endpoints) = flow.endpoints else { return Role::Others };
            let name = either_way(&endpoints);
            if ICMP.contains(&endpoints.protocol) {
                return Role::Icmp;
            }
            if endpoints.ports.0 == DNS || endpoints.ports.1 == DNS {
                return Role::Dns;
            }
            if endpoints.protocol != TCP {
                return Role::Data;
            }
            let back = connections[&name].bytes - flow.arrived_bytes;
            if is_control(&name) {
                Role::Control
            } else if flow.arrived_bytes < back && flow.arrived_bytes as f64 <= ACK * flow.arrivals as f64 {
                Role::Acks
            } else {
                Role::Data
            }
        };
        flows.iter().map(role).collect()
    })
}

/// Endpoints that are equal for both directions of a connection.
fn either_way(endpoints: &Endpoints) -> Endpoints {
    let turned = Endpoints {
        source: endpoints.destination,
        destination: endpoints.source,
        protocol: endpoints.protocol,
        ports: (endpoints.ports.1, endpoints.ports.0),
    };
    turned.min(*endpoints)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(there: bool, protocol: u8, ports: (u16, u16), packets: u64, size: u64, (first, last): (f64, f64)) -> Flow {
        let (near, far) = ([100, 64, 0, 2].into(), [100, 64, 0, 1].into());
        let (source, destination, ports) = if there { (near, far, ports) } else { (far, near, (ports.1, ports.0)) };
        let endpoints = Some(Endpoints { source, destination, protocol, ports });
        Flow { endpoints, arrivals: packets, arrived_bytes: packets * size, first, last, ..Flow::default() }
    }

    #[test]
    fn one_transfer_of_iperf3_has_data_acks_and_control() {
        let times = [(1.0, 11.2), (1.1, 11.0), (0.5, 0.6)];
        let there = [
            flow(true, TCP, (40000, 5201), 20, 80, times[0]),
            flow(true, TCP, (40001, 5201), 9000, 1500, times[1]),
            flow(true, 1, (0, 0), 3, 84, times[2]),
            flow(true, 17, (50000, 53), 1, 60, times[2]),
            flow(true, 17, (50000, 443), 10, 60, times[2]),
            Flow::default(),
        ];
        let back =
            [flow(false, TCP, (40000, 5201), 18, 90, times[0]), flow(false, TCP, (40001, 5201), 4500, 52, times[1])];
        let [there, back] = roles([&there, &back]);
        let expected = [Role::Control, Role::Data, Role::Icmp, Role::Dns, Role::Data, Role::Others];
        assert_eq!(there, expected);
        assert_eq!(back, [Role::Control, Role::Acks]);
    }

    #[test]
    fn a_small_transfer_beside_a_large_one_is_data() {
        let times = [(1.0, 9.0), (2.0, 3.0), (0.5, 3.0)];
        let there = [
            flow(true, TCP, (1, 80), 9000, 1500, times[0]),
            // One later than the large connection; one earlier, but ended long before.
            flow(true, TCP, (2, 80), 100, 1500, times[1]),
            flow(true, TCP, (3, 80), 100, 1500, times[2]),
        ];
        assert_eq!(roles([&there, &[]])[0], [Role::Data; 3]);
    }

    #[test]
    fn what_carries_more_is_data_whatever_its_packets() {
        let there = [flow(true, TCP, (1, 22), 100, 60, (0.0, 1.0))];
        let back = [flow(false, TCP, (1, 22), 50, 60, (0.0, 1.0))];
        assert_eq!(roles([&there, &back]), [vec![Role::Data], vec![Role::Acks]]);
    }
}
