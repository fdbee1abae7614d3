//! What left traced queues and what they dropped, as a capture.
//!
//! A trace has each packet's time, size, sequence number, ECN field and TCP flags. What else headers hold is made up
//! here, so that the tools' analysis of sequence numbers sees the simulated connections.

use super::{address, Capture, Ip, Tcp};
use crate::engine::trace::{BothWays, Header, QueueEvent, QueueTrace, Signal};
use crate::engine::Outcome;
use crate::run::passing;
use crate::scenario::{Scenario, Traffic};
use std::collections::HashMap;
use std::io::{Result, Write};
use std::net::SocketAddrV4;

const PORT: u16 = 10_000;
const MOST_OPTIONS: u32 = 40;
const SYN: u16 = 0x02;

/// The traced queues of a run.
pub struct TracedQueues<'a> {
    queues: Vec<Queue<'a>>,
    flows: Vec<Flow<'a>>,
}

/// A traced queue.
struct Queue<'a> {
    name: &'a str,
    trace: &'a QueueTrace,
    /// For each flow whether its ACKs (and requests) pass rather than its data.
    back: Vec<bool>,
}

/// What the headers of a flow are made of.
struct Flow<'a> {
    entry: &'a Traffic,
    /// The number of the flow in whose connection this one sends the other way.
    opened_by: Option<u32>,
    /// Bytes of options of a segment with data.
    options: u32,
    /// Bytes of data of a whole segment.
    payload: i64,
    /// Sequence numbers count bytes.
    bytes: bool,
}

/// What is known of a flow's connection so far.
#[derive(Clone, Copy, Default)]
struct Connection {
    /// Number of the flow's earlier connections.
    number: u16,
    /// The SYN's sequence number in the trace.
    first: Option<i64>,
    /// Whether data were sent.
    data: bool,
    /// Whether the SYN was answered.
    answered: bool,
}

impl<'a> TracedQueues<'a> {
    /// Those of a run of `scenario` with `seed`, in the order in which the scenario names them.
    ///
    /// # Errors
    /// If no queue was traced with headers, or if packets pass two of those that were: they would be in a capture twice.
    pub fn new(scenario: &'a Scenario, seed: u64, outcome: &'a Outcome) -> std::result::Result<Self, String> {
        let mut queues = Vec::new();
        for port in &outcome.ports {
            let Some(trace) = port.trace.as_ref().filter(|trace| trace.has_headers()) else { continue };
            let Some(passing) = passing(scenario, seed, &port.name) else { continue };
            let back = passing.flows.iter().map(|&(.., back)| back).collect();
            queues.push(Queue { name: &port.name, trace, back });
        }
        queues.sort_by_key(|queue| scenario.record.trace_queues.iter().position(|name| name == queue.name));
        if queues.is_empty() {
            return Err("the scenario has no queue to trace".into());
        }
        let mut seen = HashMap::new();
        for queue in &queues {
            for event in queue.trace.events.iter().filter(|event| event.kind != '+') {
                let first = *seen.entry((event.flow, queue.back[event.flow as usize - 1])).or_insert(queue.name);
                if first != queue.name {
                    return Err(format!(
                        "packets of flow {} pass {first} and {}, and would be in the file twice; name queues of which \
                         each packet passes one",
                        event.flow, queue.name
                    ));
                }
            }
        }
        Ok(TracedQueues { queues, flows: flows(scenario) })
    }

    /// Number of events that were kept of these queues, and of all.
    pub fn events(&self) -> (u64, u64) {
        let traces = self.queues.iter().map(|queue| queue.trace);
        traces.fold((0, 0), |(kept, total), trace| (kept + trace.events.len() as u64, total + trace.total))
    }

    /// Writes a capture of what left the queues, at the start of its transmission, and what they dropped. Each queue is
    /// an interface. Headers only are kept; a packet's length is that on the wire.
    ///
    /// Flow n goes from 10.0.x.y to 10.1.x.y with n = 256 x + y, and its ACKs the other way. The receiver's port is 10000,
    /// the sender's 10000 plus the number of the flow's earlier connections. A flow with `reverse_of` is in the connection
    /// of the named one. Sequence numbers count bytes. Requests of clients are UDP datagrams, since the simulator sends
    /// them outside of the connection.
    ///
    /// Of a dropped packet only the first 8 bytes behind the IP header are kept, as in an ICMP error: ports and sequence
    /// number. An arrival is dropped before what waits in front of it leaves, so that a whole segment at that time would
    /// be out of order in its connection; tools leave a cut header out of their analysis of connections.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: impl Write) -> Result<()> {
        let names: Vec<&str> = self.queues.iter().map(|queue| queue.name).collect();
        let mut capture = Capture::ipv4(out, &names)?;
        let mut connections = vec![Connection::default(); self.flows.len()];
        let gone = |queue: &Queue<'a>| queue.trace.events.iter().filter(|event| event.kind != '+').peekable();
        let mut events: Vec<_> = self.queues.iter().map(gone).collect();
        let mut identification = 0;
        loop {
            let times = events.iter_mut().enumerate().filter_map(|(at, queue)| Some((at, queue.peek()?.time)));
            let Some((at, _)) = times.min_by(|(_, a), (_, b)| a.total_cmp(b)) else { break };
            let Some(event) = events[at].next() else { break };
            let connection = &mut connections[event.flow as usize - 1];
            let before = *connection;
            let (mut packet, length) = self.packet(&self.queues[at], event, connection, identification)?;
            if event.kind == 'd' {
                packet.truncate(Ip::UDP as usize);
                *connection = before;
            }
            capture.packet(at as u32, event.time, &packet, length, event.signal.map(Signal::text))?;
            identification = identification.wrapping_add(1);
        }
        capture.finish().map(drop)
    }

    /// The headers of a packet, and its length on the wire.
    fn packet(
        &self,
        queue: &Queue<'_>,
        event: &QueueEvent,
        connection: &mut Connection,
        identification: u16,
    ) -> Result<(Vec<u8>, u32)> {
        let flow = &self.flows[event.flow as usize - 1];
        let header = event.header.unwrap_or(Header { ecn: 0, flags: 0, both_ways: None });
        let back = queue.back[event.flow as usize - 1];
        let said = match header {
            Header { flags: 0, .. } => None,
            Header { both_ways: Some(said), .. } => Some(both_ways(event, header.flags, said)),
            _ if back => Some(flow.acknowledgement(event, header.flags, connection)),
            _ => Some(flow.data(event, header.flags, connection)),
        };
        // A flow that answers has no connection of its own: its number is 0.
        let opener = flow.opened_by.filter(|_| header.both_ways.is_some()).unwrap_or(event.flow) & 0xffff;
        let port = if said.is_some() { PORT.wrapping_add(connection.number) } else { PORT };
        let ends = [SocketAddrV4::new(address(opener), port), SocketAddrV4::new(address(0x1_0000 | opener), PORT)];
        let reversed = if header.both_ways.is_some() { flow.opened_by.is_some() } else { back };
        let [source, destination] = if reversed { [ends[1], ends[0]] } else { ends };
        let dscp = flow.entry.dscp.unwrap_or(0);
        let ip = Ip { source, destination, identification, dscp, ecn: header.ecn, ttl: 64 };
        let headers = said.map_or(Ip::UDP, |tcp| Ip::TCP + u32::from(tcp.options));
        let length = event.size.max(headers);
        Ok((said.map_or_else(|| ip.udp(&[], length), |tcp| ip.tcp(&tcp, length))?, length))
    }
}

/// By flow.
fn flows(scenario: &Scenario) -> Vec<Flow<'_>> {
    let (mut flows, mut firsts) = (Vec::new(), Vec::new());
    for entry in &scenario.traffic {
        firsts.push(flows.len() as u32 + 1);
        let opened_by = entry.reverse_of().map(|other| firsts[other]);
        let tcp = entry.tcp_spec();
        let (segment, header) = tcp.map_or((0, 0), |tcp| (tcp.segment, tcp.header));
        let options = options(header, 0);
        let payload = (i64::from(segment + header) - i64::from(Ip::TCP + options)).max(1);
        let bytes = tcp.is_some_and(|tcp| !tcp.stack.is_ns2);
        flows.extend((0..entry.count).map(|number| {
            let opened_by = opened_by.map(|first| first + number);
            Flow { entry, opened_by, options, payload, bytes }
        }));
    }
    flows
}

/// Bytes of options of a segment of `size` bytes with `payload` bytes of data.
fn options(size: u32, payload: u32) -> u32 {
    (size.saturating_sub(payload + Ip::TCP) / 4 * 4).min(MOST_OPTIONS)
}

/// The header of a segment of a connection with data both ways.
fn both_ways(event: &QueueEvent, flags: u16, said: BothWays) -> Tcp {
    let options = options(event.size, u32::from(said.payload)) as u8;
    Tcp { seq: event.seq as u32, ack: said.ack, flags, options }
}

impl Flow<'_> {
    /// The header of a segment.
    fn data(&self, event: &QueueEvent, flags: u16, connection: &mut Connection) -> Tcp {
        let seq = i64::from(event.seq);
        if flags & SYN != 0 {
            // A SYN sent again has the number of the first. With ns-2's TCPs every connection starts at 0.
            if connection.data || connection.first.is_some_and(|first| first != seq) {
                *connection = Connection { number: connection.number.wrapping_add(1), ..Connection::default() };
            }
            connection.first = Some(seq);
            let first = if self.bytes { seq as u32 } else { 0 };
            return Tcp { seq: first, ack: 0, flags, options: options(event.size, 0) as u8 };
        }
        connection.data |= !self.bytes || seq > connection.first.unwrap_or(0) + 1;
        let number = if self.bytes { seq } else { 1 + (seq - 1) * self.payload };
        // What a segment without data has beyond 40 B are options.
        let plain = self.bytes && event.size <= Ip::TCP + self.options;
        let options = if plain { options(event.size, 0) } else { self.options };
        Tcp { seq: number as u32, ack: 1, flags, options: options as u8 }
    }

    /// The header of an ACK: it names the next byte, or (ns-2) the last segment received in order.
    fn acknowledgement(&self, event: &QueueEvent, flags: u16, connection: &mut Connection) -> Tcp {
        let seq = i64::from(event.seq);
        let opening = if self.bytes { seq - 1 } else { seq };
        let opens = !connection.answered && connection.first.is_none_or(|first| first == opening);
        connection.answered = true;
        let number = if self.bytes { seq } else { 1 + seq * self.payload };
        let (seq, flags) = if opens { (0, flags | SYN) } else { (1, flags) };
        Tcp { seq, ack: number as u32, flags, options: options(event.size, 0) as u8 }
    }
}
