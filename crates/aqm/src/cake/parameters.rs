//! CAKE's parameters.

use crate::params::{words, Kind, Param, ParamError, Unit, Value, Values, Word};
use crate::policy::Limit;

words! {
    /// The tins.
    pub(super) enum Diffserv {
        /// One tin.
        Besteffort = "besteffort",
        /// Eight tins, by the upper three bits of the code point.
        Precedence = "precedence",
        /// Three tins.
        Diffserv3 = "diffserv3",
        /// Four tins.
        Diffserv4 = "diffserv4",
        /// Eight tins, by the meaning of the code point.
        Diffserv8 = "diffserv8",
    }
}

words! {
    /// What has a queue of its own, and what shares fairly.
    pub(super) enum FlowMode {
        /// One queue for everything.
        Flowblind = "flowblind",
        /// A queue for each source.
        Srchost = "srchost",
        /// A queue for each destination.
        Dsthost = "dsthost",
        /// A queue for each pair of hosts.
        Hosts = "hosts",
        /// A queue for each flow.
        Flows = "flows",
        /// A queue for each flow; sources share fairly.
        DualSrchost = "dual-srchost",
        /// A queue for each flow; destinations share fairly.
        DualDsthost = "dual-dsthost",
        /// A queue for each flow; sources and destinations share fairly.
        TripleIsolate = "triple-isolate",
    }
}

impl FlowMode {
    /// Queues are for flows (`CAKE_FLOW_FLOWS`).
    pub fn by_flow(self) -> bool {
        !matches!(self, Self::Flowblind | Self::Srchost | Self::Dsthost | Self::Hosts)
    }

    /// Sources share fairly (`cake_dsrc`).
    pub fn fair_sources(self) -> bool {
        matches!(self, Self::DualSrchost | Self::TripleIsolate)
    }

    /// Destinations share fairly (`cake_ddst`).
    pub fn fair_destinations(self) -> bool {
        matches!(self, Self::DualDsthost | Self::TripleIsolate)
    }

    /// The source is a part of a host queue's key.
    pub fn keeps_source(self) -> bool {
        matches!(self, Self::Srchost | Self::Hosts)
    }

    /// The destination is a part of a host queue's key.
    pub fn keeps_destination(self) -> bool {
        matches!(self, Self::Dsthost | Self::Hosts)
    }
}

words! {
    /// What a link adds to a packet.
    pub(super) enum Framing {
        /// `overhead` and `mpu` only.
        None = "noatm",
        /// Cells of 53 bytes for each 48 bytes.
        Atm = "atm",
        /// One byte more for each 64.
        Ptm = "ptm",
    }
}

words! {
    /// Which ACKs are dropped.
    pub(super) enum AckFilter {
        /// No ACK.
        Off = "off",
        /// All ACKs but the last two of a queue.
        On = "on",
        /// All ACKs but the last of a queue.
        Aggressive = "aggressive",
    }
}

words! {
    /// What the memory limit counts.
    pub(super) enum Memory {
        /// What a packet of this size takes in Linux.
        Linux = "linux",
        /// Its size.
        Wire = "wire",
    }
}

const fn bytes(
    name: &'static str,
    low: f64,
    high: f64,
    default: Value,
    source: &'static str,
    doc: &'static str,
) -> Param {
    let auto = matches!(default, Value::Auto);
    Param::new(name, Unit::Bytes, Kind::Real { low, high, open_low: false, open_high: false, auto }, default)
        .says(source, doc)
}

/// The parameters, in `tc`'s order.
pub(super) const PARAMS: [Param; 15] = [
    // 64 B/s is the least that cake_set_rate takes.
    Param::new("bandwidth", Unit::Rate, Kind::real(512.0, 1e12).or_auto(), Value::Auto).says(
        "Linux cake_init: unlimited",
        "Rate of the shaper; auto is unlimited: the link's rate is the only one.",
    ),
    Param::flag("autorate_ingress", false).says("Linux cake_init", "The shaper's rate follows 15/16 of the peak of the arrival rate, from `bandwidth` on."),
    Param::word("diffserv", Diffserv::WORDS, "diffserv3")
        .says("Linux cake_init", "The tins to which DSCPs lead."),
    Param::word("flow_mode", FlowMode::WORDS, "triple-isolate")
        .says(
            "Linux cake_init",
            "What has a queue of its own: everything together, hosts, or flows; the last three share between hosts too.",
        ),
    Param::real("rtt", Unit::Seconds, Kind::real(1e-6, 1e4), 0.1)
        .says("Linux cake_init", "COBALT's interval: the round-trip time of most flows."),
    Param::new("target", Unit::Seconds, Kind::real(1e-6, 1e4).or_auto(), Value::Auto)
        .says("iproute2 tc cake: a twentieth of rtt", "Sojourn time above which packets are late; auto is rtt/20."),
    bytes("overhead", -64.0, 256.0, Value::Auto, "Linux cake_init: raw", "Bytes that the link adds to an IP packet; auto adds none and keeps what the packet has (`raw`)."),
    bytes("mpu", 0.0, 256.0, Value::Real(0.0), "Linux cake_init", "Least bytes of a packet on the link, overhead included."),
    Param::word("framing", Framing::WORDS, "noatm")
        .says(
            "Linux cake_init",
            "Framing of the link: none, ATM cells of 53 B for each 48 B, or PTM with one byte for each 64 B.",
        ),
    bytes("network_offset", 0.0, 64.0, Value::Real(0.0), "ours", "Bytes of a packet's size that precede its IP header, besides those of the link's `link_layer`; `overhead` replaces both."),
    Param::flag("ingress", false).says("Linux cake_init", "Packets that are dropped count for the shaper too: they have passed the bottleneck before it."),
    Param::word("ack_filter", AckFilter::WORDS, "off")
        .says(
            "Linux cake_init",
            "ACKs that a later one makes redundant are dropped: none, all but two of a queue, or all but one.",
        ),
    Param::flag("wash", false).says("Linux cake_init", "The class of packets is set to 0 once they have their tin."),
    bytes("max_packet", 1.0, 65_535.0, Value::Real(1514.0), "Linux psched_mtu on Ethernet", "Packet whose transmission time bounds target, interval and late sojourn times; with a limit in packets, the memory of each."),
    Param::word("memory", Memory::WORDS, "linux")
        .says("Linux skb->truesize", "What the memory limit counts: a packet's buffer in Linux, or its size."),
];

/// Queues of a tin, and places of a set.
pub(super) const QUEUES: usize = 1024;
pub(super) const WAYS: usize = 8;
pub(super) const TINS: usize = 8;

/// The parameters after checking. Times in ns, rates in B/s, as in Linux.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// Rate of the shaper, B/s; 0 is unlimited.
    pub rate: u64,
    pub autorate: bool,
    pub diffserv: Diffserv,
    pub flow_mode: FlowMode,
    /// interval and target, us.
    pub interval_us: u64,
    pub target_us: u64,
    /// What is added to an IP packet's size, `None` to keep the packet's own size; and the bytes before the IP header
    /// besides those of the link layer.
    pub overhead: Option<i64>,
    pub offset: i64,
    pub mpu: i64,
    pub framing: Framing,
    pub ingress: bool,
    pub ack_filter: AckFilter,
    pub wash: bool,
    pub mtu: u32,
    pub memory: Memory,
    /// buffer_config_limit: the memory limit as given, bytes; 0 is none.
    pub given_memory: u64,
    /// sch->limit: the number of packets up to which the memory suffices.
    pub packets: u64,
}

impl Settings {
    /// The settings among `values`, under `limit`: bytes are `memlimit`; packets bound the memory too.
    pub fn read(values: &Values, limit: Limit) -> Result<Self, ParamError> {
        let number = |name| values.real(&PARAMS, name);
        let rtt = number("rtt");
        let us = |seconds: f64| ((seconds * 1e6).round() as u64).max(1);
        let overhead = values.number(&PARAMS, "overhead");
        let (given_memory, packets) = match limit {
            Limit::Packets(packets) => (0, packets),
            Limit::Bytes(bytes) => (bytes.max(1), u64::from(u32::MAX)),
        };
        for name in ["overhead", "mpu", "network_offset", "max_packet"] {
            let given = values.number(&PARAMS, name).unwrap_or(0.0);
            if given.fract() != 0.0 {
                return Err(ParamError::new(name, given, "whole bytes"));
            }
        }
        Ok(Settings {
            rate: values.number(&PARAMS, "bandwidth").map_or(0, |bits| (bits / 8.0) as u64),
            autorate: values.flag(&PARAMS, "autorate_ingress"),
            diffserv: values.choice(&PARAMS, "diffserv"),
            flow_mode: values.choice(&PARAMS, "flow_mode"),
            interval_us: us(rtt),
            target_us: us(values.number(&PARAMS, "target").unwrap_or(rtt / 20.0)),
            overhead: overhead.map(|bytes| bytes as i64),
            offset: number("network_offset") as i64,
            mpu: number("mpu") as i64,
            framing: values.choice(&PARAMS, "framing"),
            ingress: values.flag(&PARAMS, "ingress"),
            ack_filter: values.choice(&PARAMS, "ack_filter"),
            wash: values.flag(&PARAMS, "wash"),
            mtu: number("max_packet") as u32,
            memory: values.choice(&PARAMS, "memory"),
            given_memory,
            packets,
        })
    }

    /// Bytes of memory at most, whatever the rate.
    pub fn most_memory(&self) -> u64 {
        self.packets.saturating_mul(self.mtu.into()).max(self.given_memory)
    }

    /// Bytes of memory of an IP packet. Linux: a buffer with headroom and trailer, rounded up to a power of two, and
    /// 256 bytes of `sk_buff`, as for a datagram that this machine sends.
    #[inline]
    pub fn memory_of(&self, size: u32) -> u32 {
        match self.memory {
            Memory::Wire => size,
            Memory::Linux => 256 + size.saturating_add(352).min(1 << 31).next_power_of_two().max(512),
        }
    }
}
