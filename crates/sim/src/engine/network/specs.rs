//! The parts of a network: links, ports with their disciplines, flows, sources, transfers, web clients.

use earlydrop_aqm::catalogue::Built;
use earlydrop_aqm::discipline::Fifo;
use earlydrop_aqm::gate::Gate;
use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::Discipline;
use earlydrop_net::media::Settings;
use earlydrop_net::source::{Distribution, OnOff, SessionPattern, Source, Transfers};
use earlydrop_net::tcp::sizes::{ack_sizes, syn_ack_bytes, syn_bytes, ACK_SIZES, SYN_BYTES};
use earlydrop_net::tcp::{Flavour, TcpOptions};
use earlydrop_net::TtlOption;

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSpec {
    /// Rate, bit/s.
    pub rate_bps: f64,
    /// Propagation delay, s.
    pub delay_s: f64,
    /// Index of the port in front of it; without one its buffer is unlimited.
    pub port: Option<u32>,
}

/// A measured queue with its discipline.
pub struct PortSpec {
    /// Name in results.
    pub name: String,
    /// Name of the discipline.
    pub aqm: String,
    /// The discipline.
    pub kind: PortKind,
}

/// The discipline of a port.
pub enum PortKind {
    /// A policy on one FIFO.
    Fifo(Box<Fifo>),
    /// A discipline with several queues.
    Discipline(Box<dyn Discipline>),
}

impl PortKind {
    /// The discipline that the catalogue built.
    pub fn new(built: Built, limit: Limit, ecn: bool, random: Generator) -> Self {
        match built {
            // Boxed, so that in networks with thousands of ports the queue lies on the same page of memory as its
            // policy.
            Built::Policy(policy) => PortKind::Fifo(Box::new(Fifo::new(Gate::new(policy, limit, ecn, random)))),
            Built::Discipline(finish) => PortKind::Discipline(finish(ecn, random)),
        }
    }

    /// As a discipline, whichever it is.
    pub fn into_discipline(self) -> Box<dyn Discipline> {
        match self {
            PortKind::Fifo(fifo) => fifo,
            PortKind::Discipline(discipline) => discipline,
        }
    }

    /// Whether departures follow from arrivals alone: nothing is decided at dequeue, or on queued packets.
    pub fn decides_at_enqueue(&self) -> bool {
        match self {
            PortKind::Fifo(fifo) => fifo.gate().decides_at_arrivals(),
            PortKind::Discipline(_) => false,
        }
    }
}

/// A source of packets without feedback.
pub struct SourceSpec {
    /// What is sent, and when.
    pub source: Source,
    /// Headers of a packet, bytes.
    pub header: u32,
    /// When it starts, s.
    pub start: f64,
    /// When it stops, s.
    pub stop: f64,
    /// Its random stream.
    pub random: Generator,
}

/// The application of a TCP flow that writes a segment at a time.
pub struct WriterSpec {
    /// When it writes, after its start.
    pub writes: OnOff,
    /// When it stops, s.
    pub stop: f64,
    /// Its random stream.
    pub random: Generator,
}

/// Real-time media with feedback.
pub struct MediaSpec {
    /// Sender and encoder.
    pub settings: Settings,
    /// When it starts, s.
    pub start: f64,
    /// When the encoder stops, s.
    pub stop: f64,
    /// Its random stream.
    pub random: Generator,
}

/// The finite transfers of a TCP flow.
pub struct TransferSpec {
    /// Sizes and think times; `None` if web clients assign objects to the flow.
    pub transfers: Option<Transfers>,
    /// Its random stream.
    pub random: Generator,
    /// Each transfer has a new connection.
    pub fresh: bool,
    /// A transfer is complete when the receiver has all data, rather than when the sender knows.
    pub received: bool,
    /// The receiver requests each transfer: bytes of the request on the wire, and its retry interval, s.
    pub request: Option<(u16, f64)>,
    /// Group in which its transfers are counted.
    pub group: u32,
}

impl TransferSpec {
    /// Whether there is one transfer only, which starts with the flow and completes at its sender.
    pub(in crate::engine) fn is_plain(&self) -> bool {
        let once = self.transfers.as_ref().is_some_and(|transfers| transfers.left() == Some(1));
        once && !self.received && self.request.is_none()
    }
}

/// When web clients request objects.
pub enum WebRequests {
    /// Sessions that arrive and end.
    Sessions(SessionPattern),
    /// Pages, one after the other.
    Pages(PagePattern),
}

/// A client that loads pages; each starts after the last object of the previous one.
pub struct PagePattern {
    /// Objects of a page.
    pub objects: Distribution,
    /// Size of an object, bytes.
    pub size: Distribution,
    /// Think time from the end of a page to the start of the next, s.
    pub think: Distribution,
    /// Number of pages; `None` for infinitely many.
    pub number: Option<u64>,
}

/// Web clients that request objects over a pool of flows.
pub struct WebSpec {
    /// Requests.
    pub requests: WebRequests,
    /// Their random stream.
    pub random: Generator,
    /// When they start, s.
    pub start: f64,
    /// The pool.
    pub flows: Vec<u32>,
}

/// A flow: TCP, or packets over UDP.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// Congestion control.
    pub flavour: Flavour,
    /// Over UDP: the constant interval of packets, s; infinite if it varies. `None`: TCP.
    pub interval: Option<f64>,
    /// When it starts, s.
    pub start: f64,
    /// Phase of the sender's RTT clock, s.
    pub clock_phase: f64,
    /// Receiver's window (rwnd), segments.
    pub window: i32,
    /// Payload of a segment, bytes.
    pub payload: u16,
    /// Size of a segment on the wire, bytes.
    pub wire: u16,
    /// Options of the TCP connection.
    pub options: TcpOptions,
}

impl FlowSpec {
    /// Size of the SYN, or of the first packet without one, on the wire, bytes.
    pub fn syn(&self) -> u16 {
        if let Some(settings) = &self.options.rfc {
            return syn_bytes(settings);
        }
        if self.interval.is_none() && self.flavour.has_bare_syn() {
            SYN_BYTES
        } else {
            self.wire
        }
    }

    /// Size of a segment without payload, which the RFC TCP sends when a connection opens, bytes.
    pub fn bare(&self) -> Option<u16> {
        self.options.rfc.is_some().then_some(self.wire.saturating_sub(self.payload))
    }

    /// Size of the SYN's ACK (or SYN-ACK), bytes.
    pub fn syn_answer(&self) -> u16 {
        self.options.rfc.as_ref().map_or(self.acks()[0], |settings| syn_ack_bytes(settings))
    }

    /// Sizes of the ACKs of data on the wire, bytes, in rising order.
    pub fn acks(&self) -> &'static [u16] {
        if let Some(settings) = &self.options.rfc {
            ack_sizes(settings)
        } else if self.flavour.uses_sack() {
            &ACK_SIZES
        } else {
            &ACK_SIZES[..1]
        }
    }
}

/// The time to live of a flow's packets and ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeToLive {
    /// Initial time to live.
    pub initial: u8,
    /// Which packets carry the initial time to live as an option that routers read.
    pub option: TtlOption,
    /// The direction in which it expires, if it does.
    pub expires: Option<Way>,
    /// Its value at the receiver.
    pub last: u8,
}

/// A direction of a flow's route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the sender to the receiver.
    Forward,
    /// From the receiver to the sender.
    Reverse,
}
