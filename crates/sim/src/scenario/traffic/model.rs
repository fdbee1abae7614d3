//! Checked traffic: plain typed data in SI units.

use earlydrop_net::media::{Algorithm, Ecn, Encoding, Settings};
use earlydrop_net::source::Distribution;
use earlydrop_net::tcp::stacks::Stack;
use earlydrop_net::tcp::TcpOptions;

use super::super::model::{Delays, InjectedRandom, Tcp};

/// One `[[traffic]]` entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// Name, different from all others.
    pub name: Option<String>,
    /// Number of flows.
    pub count: u32,
    /// Start times.
    pub start: Starts,
    /// Class of the packets, for disciplines that tell classes apart.
    pub class: u8,
    /// DSCP of the packets; `None` is the class selector of `class`.
    pub dscp: Option<u8>,
    /// Direction of the data between pairs.
    pub direction: Direction,
    /// Pairs, by index from 0, assigned to the flows in order; `None` continues after the pairs of the entry before.
    pub pairs: Option<Vec<u32>>,
    /// Random numbers from elsewhere, to follow another simulator's run; then there is one flow.
    pub random: Option<InjectedRandom>,
    /// What is sent.
    pub load: Load,
}

/// What the flows of an entry send.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// Endless files over TCP, one a flow.
    Ftp(Ftp),
    /// Finite transfers over TCP, one after the other.
    Transfers(Transfers),
    /// Requests and what a server answers over TCP.
    Requests(Requests),
    /// Objects of web sessions, over a pool of TCP connections.
    Web(Web),
    /// Pages that a browser loads, one after the other, over several TCP connections.
    Pages(Pages),
    /// Packets at a constant bit rate.
    Cbr(Cbr),
    /// Bursts and pauses.
    OnOff(OnOff),
    /// Packets at the times of a Poisson process.
    Poisson(Poisson),
    /// Speech: packets at even intervals while somebody talks.
    Voip(Voip),
    /// Frames at even intervals.
    Video(Video),
    /// Real-time media with feedback.
    Media(Media),
    /// Datagrams of a stack that a program brings.
    Outside(Outside),
}

impl Traffic {
    /// Number of flows.
    pub fn flows(&self) -> u64 {
        u64::from(self.count)
    }

    /// The earliest start that is possible, s; `None` where starts are drawn from a distribution.
    pub(crate) fn earliest_start(&self) -> Option<f64> {
        match &self.start {
            Starts::Times(Delays::Same(time) | Delays::Uniform(time, _)) => Some(*time),
            Starts::Times(Delays::List(times)) => times.iter().copied().min_by(f64::total_cmp),
            Starts::Every { from, .. } | Starts::Poisson { from, .. } => Some(*from),
            Starts::Drawn(_) => None,
        }
    }

    /// When its flows stop, s, if that is given.
    pub(crate) fn stop(&self) -> Option<f64> {
        match &self.load {
            Load::Cbr(Cbr { packets, .. }) | Load::Poisson(Poisson { packets, .. }) => packets.stop,
            Load::OnOff(load) => load.stop,
            Load::Voip(load) => load.stop,
            Load::Video(load) => load.stop,
            Load::Media(load) => load.stop,
            Load::Ftp(_) | Load::Transfers(_) | Load::Requests(_) | Load::Web(_) | Load::Pages(_) => None,
            Load::Outside(_) => None,
        }
    }

    /// The entry in whose connections the flows send the other way, by its place among all entries.
    pub fn reverse_of(&self) -> Option<usize> {
        match &self.load {
            Load::Ftp(load) => load.reverse_of,
            _ => None,
        }
    }

    /// Whether its flows take the topology's pairs in order.
    pub(crate) fn takes_pairs(&self) -> bool {
        self.pairs.is_none() && self.reverse_of().is_none()
    }

    /// The pair of `flow` among `pairs` pairs of hosts, where the entries before it have used `before` of them.
    pub(crate) fn pair(&self, flow: u64, before: u64, pairs: u32) -> u32 {
        match &self.pairs {
            Some(chosen) => chosen[flow as usize % chosen.len()],
            None => ((before + flow) % u64::from(pairs)) as u32,
        }
    }

    /// The kind's name in scenarios.
    pub fn kind(&self) -> &'static str {
        match &self.load {
            Load::Ftp(_) => "ftp",
            Load::Transfers(_) => "transfers",
            Load::Requests(_) => "requests",
            Load::Web(_) => "web",
            Load::Pages(_) => "pages",
            Load::Cbr(_) => "cbr",
            Load::OnOff(_) => "onoff",
            Load::Poisson(_) => "poisson",
            Load::Voip(_) => "voip",
            Load::Video(_) => "video",
            Load::Media(_) => "media",
            Load::Outside(_) => "outside",
        }
    }

    /// The entry's TCP, if it has one.
    pub fn tcp_spec(&self) -> Option<&TcpSpec> {
        match &self.load {
            Load::Ftp(load) => Some(&load.tcp),
            Load::Transfers(load) => Some(&load.tcp),
            Load::Requests(load) => Some(&load.tcp),
            Load::Web(load) => Some(&load.tcp),
            Load::Pages(load) => Some(&load.tcp),
            _ => None,
        }
    }

    /// The entry's congestion control, if it has one.
    pub fn tcp(&self) -> Option<Tcp> {
        self.tcp_spec().map(|spec| spec.tcp)
    }

    /// Whether the entry's receivers send something back: ACKs, or feedback.
    pub fn has_feedback(&self) -> bool {
        self.tcp_spec().is_some() || matches!(self.load, Load::Media(_))
    }

    /// Whether the entry's data are ECN-capable.
    pub fn sends_ecn(&self) -> bool {
        match &self.load {
            Load::Media(load) => load.ecn != Ecn::Off,
            _ => self.tcp_spec().is_some_and(TcpSpec::sends_ecn),
        }
    }

    /// Whether the entry's data are for the L queue of a coupled pair (RFC 9331).
    pub fn is_scalable(&self) -> bool {
        match &self.load {
            Load::Media(load) => load.ecn == Ecn::L4s,
            _ => self.tcp_spec().is_some_and(TcpSpec::is_scalable),
        }
    }

    /// Whether the entry has transfers that can be complete.
    pub fn is_finite(&self) -> bool {
        matches!(self.load, Load::Transfers(_) | Load::Requests(_) | Load::Web(_) | Load::Pages(_))
    }

    /// Size of the clients' requests on the wire, in bytes; they travel against the data.
    pub fn request(&self) -> u32 {
        match &self.load {
            Load::Requests(load) => load.request,
            Load::Pages(load) => load.request,
            _ => 0,
        }
    }

    /// The largest packet that is certain to occur, in bytes on the wire; of unbounded sizes, the smallest.
    pub fn packet(&self) -> u32 {
        let surely = |packets: &Packets| {
            let (low, high) = packets.segment.range();
            let bytes = packets.segment.values().map_or(low, |_| high);
            bytes.max(1.0) as u32 + packets.header
        };
        match &self.load {
            Load::Cbr(load) => surely(&load.packets),
            Load::OnOff(load) => load.segment + load.header,
            Load::Poisson(load) => surely(&load.packets),
            Load::Voip(load) => load.segment + load.header,
            Load::Video(load) => load.segment + load.header,
            Load::Media(load) => load.segment + load.header,
            // Of any size.
            Load::Outside(load) => load.header + 1,
            _ => self.tcp_spec().map_or(0, |spec| spec.segment + spec.header),
        }
    }
}

/// Start times of the flows of an entry, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Starts {
    /// One value, a list used in order, or drawn uniformly from an interval.
    Times(Delays),
    /// Flow i, from 0, at `from + i * gap`.
    Every {
        /// Time from flow to flow.
        gap: f64,
        /// Start of the first flow.
        from: f64,
    },
    /// One after the other with exponential times between them: a Poisson process from `from` on.
    Poisson {
        /// Mean time from flow to flow.
        gap: f64,
        /// Start of the process.
        from: f64,
    },
    /// Drawn independently for each flow.
    Drawn(Distribution),
}

/// Direction of the data between the pairs of a topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the first to the second host of a pair; over a dumbbell through `bottleneck`.
    Forward,
    /// From the second to the first host of a pair; over a dumbbell through `reverse`.
    Reverse,
}

impl Direction {
    /// Both directions.
    pub const ALL: [Direction; 2] = [Direction::Forward, Direction::Reverse];

    /// The other direction.
    pub fn other(self) -> Direction {
        match self {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
        }
    }

    /// Name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Forward => "forward",
            Direction::Reverse => "reverse",
        }
    }
}

/// A TCP sender and its receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpSpec {
    /// Congestion control.
    pub tcp: Tcp,
    /// The stack.
    pub stack: &'static Stack,
    /// Payload of a packet, in bytes.
    pub segment: u32,
    /// Headers of a packet, in bytes; on the wire a packet is payload and headers.
    pub header: u32,
    /// Largest window, in segments.
    pub window: u32,
    /// Phases of the senders' clock ticks, in seconds, used in order; `None`: they are drawn.
    pub clock_phase: Option<Vec<f64>>,
    /// ECN, delayed ACKs, limited transmit.
    pub options: TcpOptions,
}

/// An endless file.
#[derive(Clone, Debug, PartialEq)]
pub struct Ftp {
    /// The TCP.
    pub tcp: TcpSpec,
    /// When the application writes; `None`: all data are there from the start.
    pub writes: Option<Writes>,
    /// How long after its start a flow has data to send, in seconds; `None`: for ever.
    pub lifetime: Option<f64>,
    /// The entry in whose connections the flows send the other way, by its place among all entries.
    pub reverse_of: Option<usize>,
}

/// An application that writes a segment at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Writes {
    /// Rate of its data, in bit/s, while it writes.
    pub rate: f64,
    /// How long it writes and how long it then pauses, in seconds; `None`: it never pauses.
    pub periods: Option<(f64, f64)>,
}

impl Writes {
    /// Time between the writes of two segments with this payload.
    pub fn interval(&self, payload: u32) -> f64 {
        8.0 * f64::from(payload) / self.rate
    }
}

/// Whether a transfer opens a connection of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// Each transfer has a fresh sender and receiver.
    New,
    /// All transfers of a flow go over the same connection.
    Same,
}

impl Connection {
    /// Both values.
    pub const ALL: [Connection; 2] = [Connection::New, Connection::Same];

    /// Name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Connection::New => "new",
            Connection::Same => "same",
        }
    }
}

/// When a transfer is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// When the sender has the acknowledgement of its last segment.
    Acknowledged,
    /// When the receiver has all of its data.
    Received,
}

impl Completion {
    /// Both values.
    pub const ALL: [Completion; 2] = [Completion::Acknowledged, Completion::Received];

    /// Name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Completion::Acknowledged => "acknowledged",
            Completion::Received => "received",
        }
    }
}

/// Finite transfers over TCP, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfers {
    /// The TCP.
    pub tcp: TcpSpec,
    /// Size of a transfer, in bytes.
    pub size: Distribution,
    /// Transfers of a flow; `None`: without end.
    pub number: Option<u64>,
    /// Time from the end of a transfer to the start of the next, in seconds.
    pub think: Distribution,
    /// Whether each transfer has a connection of its own.
    pub connection: Connection,
    /// When a transfer is complete.
    pub completion: Completion,
}

/// Requests, and what a server answers over TCP.
#[derive(Clone, Debug, PartialEq)]
pub struct Requests {
    /// The server's TCP.
    pub tcp: TcpSpec,
    /// Size of a request on the wire, in bytes: one packet.
    pub request: u32,
    /// Size of an answer, in bytes.
    pub size: Distribution,
    /// Requests of a flow; `None`: without end.
    pub number: Option<u64>,
    /// Time from the end of an answer to the next request, in seconds.
    pub think: Distribution,
    /// Time without any part of the answer after which a request is retransmitted, in seconds; it doubles each time.
    pub retry: f64,
    /// Whether each answer has a connection of its own.
    pub connection: Connection,
}

/// Web sessions over a pool of connections.
#[derive(Clone, Debug, PartialEq)]
pub struct Web {
    /// The servers' TCP.
    pub tcp: TcpSpec,
    /// Mean time from session to session, in seconds; sessions are a Poisson process.
    pub session_gap: f64,
    /// Pages of a session.
    pub pages: Distribution,
    /// Time from page to page, in seconds.
    pub page_gap: Distribution,
    /// Objects of a page.
    pub objects: Distribution,
    /// Time from object to object, in seconds.
    pub object_gap: Distribution,
    /// Size of an object, in bytes.
    pub size: Distribution,
    /// When an object is complete.
    pub completion: Completion,
}

/// Pages, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Pages {
    /// The servers' TCP.
    pub tcp: TcpSpec,
    /// Connections of a browser.
    pub connections: u32,
    /// Objects of a page.
    pub objects: Distribution,
    /// Size of an object, in bytes.
    pub size: Distribution,
    /// Size of a request on the wire, in bytes: one packet.
    pub request: u32,
    /// Time from the end of a page to the start of the next, in seconds.
    pub think: Distribution,
    /// Pages of each browser; `None`: without end.
    pub number: Option<u64>,
    /// Time without any part of the answer after which a request is retransmitted, in seconds; it doubles each time.
    pub retry: f64,
    /// Whether each object has a connection of its own.
    pub connection: Connection,
}

/// Packets without feedback.
#[derive(Clone, Debug, PartialEq)]
pub struct Packets {
    /// Payload of a packet, in bytes.
    pub segment: Distribution,
    /// Headers of a packet, in bytes.
    pub header: u32,
    /// When the source falls silent, in seconds; `None`: never.
    pub stop: Option<f64>,
}

/// Packets at a constant bit rate, over UDP: nothing answers, nothing slows down (ns-2's `CBR`).
#[derive(Clone, Debug, PartialEq)]
pub struct Cbr {
    /// Rate of each flow, headers included, in bit/s.
    pub rate: f64,
    /// The packets.
    pub packets: Packets,
    /// Whether intervals are drawn (ns-2's `random_`).
    pub jitter: bool,
}

/// Distribution of the lengths of bursts and pauses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Exponential.
    Exponential,
    /// Pareto with this shape.
    Pareto(f64),
    /// All have the same length.
    Constant,
}

/// Bursts and pauses (ns-2's `Exponential` and `Pareto`).
#[derive(Clone, Debug, PartialEq)]
pub struct OnOff {
    /// Rate in a burst, headers included, in bit/s.
    pub rate: f64,
    /// Payload of a packet, in bytes.
    pub segment: u32,
    /// Headers of a packet, in bytes.
    pub header: u32,
    /// Mean length of a burst, in seconds.
    pub on: f64,
    /// Mean length of a pause, in seconds.
    pub off: f64,
    /// Distribution of bursts and pauses.
    pub law: Law,
    /// When the source falls silent, in seconds; `None`: never.
    pub stop: Option<f64>,
}

/// Packets at the times of a Poisson process.
#[derive(Clone, Debug, PartialEq)]
pub struct Poisson {
    /// Mean rate of each flow, headers included, in bit/s.
    pub rate: f64,
    /// The packets.
    pub packets: Packets,
}

/// Speech.
#[derive(Clone, Debug, PartialEq)]
pub struct Voip {
    /// Time from packet to packet, in seconds.
    pub interval: f64,
    /// Payload of a packet, in bytes.
    pub segment: u32,
    /// Headers of a packet, in bytes.
    pub header: u32,
    /// Mean length of talking, in seconds.
    pub on: f64,
    /// Mean length of silence, in seconds.
    pub off: f64,
    /// When the source falls silent for good, in seconds; `None`: never.
    pub stop: Option<f64>,
}

/// Frames at even intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct Video {
    /// Time from frame to frame, in seconds.
    pub interval: f64,
    /// Size of a frame, in bytes.
    pub frame: Distribution,
    /// Factors of the frames of a group, used in order.
    pub group: Vec<f64>,
    /// Largest payload of a packet, in bytes.
    pub segment: u32,
    /// Headers of a packet, in bytes.
    pub header: u32,
    /// When the source falls silent, in seconds; `None`: never.
    pub stop: Option<f64>,
}

/// Datagrams of a stack that a program brings.
#[derive(Clone, Debug, PartialEq)]
pub struct Outside {
    /// Headers of a datagram, in bytes.
    pub header: u32,
}

/// Real-time media with feedback.
#[derive(Clone, Debug, PartialEq)]
pub struct Media {
    /// What sets the rate.
    pub control: Algorithm,
    /// ECN field of the packets.
    pub ecn: Ecn,
    /// Smallest target rate, headers included, in bit/s.
    pub min_rate: f64,
    /// Largest target rate, headers included, in bit/s.
    pub max_rate: f64,
    /// Target rate before the first feedback, headers included, in bit/s.
    pub start_rate: f64,
    /// Frames per second.
    pub frame_rate: f64,
    /// Time constant with which the encoded rate follows the target rate, in seconds.
    pub lag: f64,
    /// Mean absolute deviation of a frame's size, relative to the expected size.
    pub variation: f64,
    /// Frames from key frame to key frame; 0: no key frames.
    pub key_interval: u32,
    /// Size of a key frame, as a multiple of other frames.
    pub key_factor: f64,
    /// Largest payload of a packet, in bytes.
    pub segment: u32,
    /// Headers of a packet, in bytes.
    pub header: u32,
    /// When the source falls silent, in seconds; `None`: never.
    pub stop: Option<f64>,
}

impl Media {
    /// The settings of the sender.
    pub fn settings(&self) -> Settings {
        let encoding = Encoding {
            interval: 1.0 / self.frame_rate,
            lag: self.lag,
            variation: self.variation,
            group: self.key_interval,
            key_factor: self.key_factor,
        };
        Settings {
            algorithm: self.control,
            ecn: self.ecn,
            min_rate: self.min_rate,
            max_rate: self.max_rate,
            start_rate: self.start_rate,
            encoding,
            segment: self.segment,
            header: self.header,
        }
    }
}
