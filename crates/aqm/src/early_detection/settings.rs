//! The settings that follow from the parameters given.

use super::average::Average;
use super::given::{Dialect, Given, MeasuredIn, Victim};
use super::{linux, ns2, ns3, paper};
use crate::default_limit::automatic_threshold;
use crate::params::{Link, Param, ParamError, Value, Values};
use crate::policy::{Limit, QueueView, Room};

/// Settings after checking, in the unit in which the average is kept. What every arrival needs comes last.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Settings {
    /// Lower threshold, packets (bytes in byte mode).
    pub min_th: f64,
    /// Upper threshold, packets (bytes in byte mode).
    pub max_th: f64,
    /// Probability at the upper threshold.
    pub max_p: f64,
    /// Weight of a new sample in the average, in (0, 1]; Linux takes the next power of two.
    w_q: f64,
    /// The link's rate, bit/s.
    rate_bps: f64,
    /// What only one dialect has.
    pub(super) rules: Rules,
    /// Which packet is dropped when the buffer is full.
    pub(super) victim: Victim,
    /// Bytes of a mean packet.
    mean_packet: f64,
    /// Byte mode: the average and the thresholds are bytes.
    bytes: bool,
}

/// What a user chose, in the terms of one dialect.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rules {
    Paper(paper::Rules),
    Ns2(ns2::Rules),
    Ns3(ns2::Rules),
    Linux(linux::Rules),
}

impl Settings {
    /// Reads the shared parameters; `declared` is the discipline's [`super::params`]. Without `max_p` in it, max_p is
    /// 1.
    ///
    /// # Errors
    /// Where values do not fit together: `min_th >= max_th`, a switch that the dialect does not have.
    pub fn read(values: &Values, declared: &[Param], link: &Link) -> Result<Settings, ParamError> {
        let given = Given::read(values, declared);
        let rules = match given.dialect {
            Dialect::Paper => Rules::Paper(paper::Rules::read(&given)?),
            Dialect::Ns2 => Rules::Ns2(ns2::Rules::read(&given)),
            Dialect::Ns3 => Rules::Ns3(ns3::rules(&given)?),
            Dialect::Linux => Rules::Linux(linux::Rules::read(&given, link.rate_bps)?),
        };
        let bytes = match given.unit {
            MeasuredIn::Auto => given.dialect == Dialect::Linux,
            MeasuredIn::Packets => false,
            MeasuredIn::Bytes => true,
        };
        let mean_packet = given.mean_packet;
        let packets_per_second = packets_per_second(link.rate_bps, mean_packet);
        let per_unit = if bytes { mean_packet } else { 1.0 };
        let threshold = |name, value, auto| length_given(name, value, bytes, mean_packet, auto);
        let min_th = threshold("min_th", given.min_th, automatic_threshold(packets_per_second) * per_unit)?;
        let max_th = threshold("max_th", given.max_th, 3.0 * min_th)?;
        if max_th <= min_th {
            return Err(ParamError::new(
                "max_th",
                max_th / per_unit,
                format!("more than min_th ({})", min_th / per_unit),
            ));
        }
        let w_q = match (given.w_q, given.dialect) {
            (Some(w_q), _) => w_q,
            (None, Dialect::Linux) => linux::automatic_weight(min_th, max_th, mean_packet)?,
            (None, Dialect::Paper | Dialect::Ns2 | Dialect::Ns3) => ns2::automatic_weight(link, packets_per_second),
        };
        Ok(Settings {
            min_th,
            max_th,
            max_p: given.max_p,
            w_q,
            rate_bps: link.rate_bps,
            rules,
            victim: given.overflow_victim,
            mean_packet,
            bytes,
        })
    }

    /// Whose RED.
    pub fn dialect(&self) -> Dialect {
        match self.rules {
            Rules::Paper(_) => Dialect::Paper,
            Rules::Ns2(_) => Dialect::Ns2,
            Rules::Ns3(_) => Dialect::Ns3,
            Rules::Linux(_) => Dialect::Linux,
        }
    }

    /// Whether both settings keep the average in the same unit.
    pub(super) fn same_unit(&self, other: &Settings) -> bool {
        self.bytes == other.bytes
    }

    /// `packets` in the unit in which the average is kept.
    pub fn in_unit(&self, packets: f64) -> f64 {
        if self.bytes {
            packets * self.mean_packet
        } else {
            packets
        }
    }

    /// `limit` in the unit in which the average is kept.
    pub fn limit_in_unit(&self, limit: Limit) -> f64 {
        match limit {
            Limit::Packets(n) => self.in_unit(n as f64),
            Limit::Bytes(n) if self.bytes => n as f64,
            Limit::Bytes(n) => n as f64 / self.mean_packet,
        }
    }

    /// The discipline's own queue length `name`, in the unit in which the average is kept; `auto` stands for `"auto"`.
    ///
    /// # Errors
    /// If the length is in bytes and the average in packets.
    pub fn queue_length(&self, name: &'static str, value: Value, auto: f64) -> Result<f64, ParamError> {
        length_given(name, value, self.bytes, self.mean_packet, auto)
    }

    /// These settings without spacing: p_a is p_b, each packet is drawn independently.
    pub fn without_spacing(mut self) -> Settings {
        match &mut self.rules {
            Rules::Paper(rules) => rules.independent = true,
            Rules::Ns2(rules) => rules.independent = true,
            Rules::Ns3(rules) => rules.independent = true,
            Rules::Linux(rules) => rules.independent = true,
        }
        self
    }

    /// What waits in `queue`, in the unit in which the average is kept.
    #[inline]
    pub fn length(&self, queue: &QueueView<'_>) -> f64 {
        // One instruction, where the conversion of an unsigned number takes six.
        (if self.bytes { queue.bytes } else { queue.packets }) as i64 as f64
    }

    /// When an arrival finds space in the buffer.
    pub fn room(&self, limit: Limit) -> Room {
        match self.rules {
            Rules::Ns2(_) => ns2::room(limit, self.bytes, self.mean_packet),
            Rules::Paper(_) | Rules::Ns3(_) | Rules::Linux(_) => Room::holding(limit),
        }
    }

    /// `length`, given in the unit of the average, in packets.
    #[inline]
    pub fn in_packets(&self, length: f64) -> f64 {
        if self.bytes {
            length / self.mean_packet
        } else {
            length
        }
    }

    /// An average that has seen nothing, of the chosen dialect.
    pub fn average(&self) -> Average {
        let packets_per_second = packets_per_second(self.rate_bps, self.mean_packet);
        match self.rules {
            Rules::Paper(_) => Average::paper(self.w_q, packets_per_second),
            Rules::Ns2(_) | Rules::Ns3(_) => Average::ns(self.w_q, packets_per_second),
            Rules::Linux(rules) => {
                let wlog = linux::Average::wlog_near(self.w_q);
                Average::linux(linux::Average::new(wlog, self.mean_packet, self.rate_bps, rules.tc))
            }
        }
    }
}

/// Packets of `mean_packet` bytes that a link of `rate_bps` can send in a second.
fn packets_per_second(rate_bps: f64, mean_packet: f64) -> f64 {
    rate_bps / (8.0 * mean_packet)
}

/// `value` of the queue length called `name`, in the unit in which the average is kept; `auto` stands for `"auto"`.
fn length_given(name: &'static str, value: Value, bytes: bool, mean_packet: f64, auto: f64) -> Result<f64, ParamError> {
    match value {
        Value::Real(x) if bytes => Ok(x * mean_packet),
        Value::Real(x) => Ok(x),
        Value::QueueBytes(x) if bytes => Ok(x),
        Value::QueueBytes(x) => {
            Err(ParamError::new(name, format!("{x} B"), "packets, or unit = \"byte\" to measure the queue in bytes"))
        }
        Value::Auto => Ok(auto),
        other => unreachable!("{name} is a length, not {other}"),
    }
}
