//! Measuring load and queue: in packets, or in bytes that count as packets of a mean size.

use crate::catalogue::Link;
use crate::params::{words, Kind, Param, ParamError, Unit, Value, Values, Word};
use crate::policy::{Limit, QueueView};
use crate::Packet;

words! {
    /// What load and queue are counted in.
    enum MeasuredIn {
        Packets = "packet",
        Bytes = "byte",
    }
}

/// The parameter `unit`.
pub const fn unit(default: &'static str, source: &'static str) -> Param {
    Param::word("unit", MeasuredIn::WORDS, default)
        .says(source, "Whether load and queue count packets, or bytes in units of mean_packet.")
}

/// The parameter `mean_packet`.
pub const fn mean_packet(default: f64, source: &'static str) -> Param {
    Param::real("mean_packet", Unit::Bytes, Kind::real(1.0, 65535.0), default)
        .symbol("L_m")
        .says(source, "Mean packet size: turns the link's rate into packets per second, and bytes into packets.")
}

/// The parameter `byte_scaling`.
pub const fn byte_scaling(source: &'static str) -> Param {
    Param::flag("byte_scaling", false).says(source, "Probability in proportion to the packet's size.")
}

/// A parameter for the queue length aimed at.
pub const fn q_ref(symbol: &'static str, default: f64, source: &'static str) -> Param {
    Param::real("q_ref", Unit::QueueLength, Kind::above(0.0, 1e6), default)
        .symbol(symbol)
        .says(source, "Queue aimed at.")
}

/// A parameter for the time between two updates.
pub const fn tupdate(symbol: &'static str, default: Value, auto: bool, source: &'static str) -> Param {
    Param::new(
        "tupdate",
        Unit::Seconds,
        Kind::Real { low: 1e-4, high: 60.0, open_low: false, open_high: false, auto },
        default,
    )
    .symbol(symbol)
    .says(source, "Time between two updates; the first comes this long after the start.")
}

/// How a discipline measures load and queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// Bytes, not packets.
    pub bytes: bool,
    /// Mean packet size, bytes.
    pub mean_packet: f64,
}

impl Measure {
    /// Reads the parameters `unit` and `mean_packet`, which are among `declared`.
    pub fn read(values: &Values, declared: &[Param]) -> Self {
        let bytes = values.choice::<MeasuredIn>(declared, "unit") == MeasuredIn::Bytes;
        Measure { bytes, mean_packet: values.real(declared, "mean_packet") }
    }

    /// The parameter called `name` among `declared`, a queue length, in packets.
    ///
    /// # Errors
    /// If it was given in bytes while the queue is measured in packets.
    pub fn queue_length(&self, values: &Values, declared: &[Param], name: &'static str) -> Result<f64, ParamError> {
        match values.given(name) {
            Some(Value::QueueBytes(x)) if self.bytes => Ok(x / self.mean_packet),
            Some(Value::QueueBytes(x)) => Err(ParamError::new(
                name,
                format!("{x} B"),
                "packets, or unit = \"byte\" to measure the queue in bytes",
            )),
            _ => Ok(values.real(declared, name)),
        }
    }

    /// Packets per second that `link` can send.
    pub fn capacity(&self, link: &Link) -> f64 {
        link.rate_bps / (8.0 * self.mean_packet)
    }

    /// What waits in `queue`, packets.
    #[inline]
    pub fn length(&self, queue: &QueueView<'_>) -> f64 {
        if self.bytes {
            queue.bytes as f64 / self.mean_packet
        } else {
            queue.packets as f64
        }
    }

    /// What `packet` counts as: 1 packet, or its bytes.
    #[inline]
    pub fn amount(&self, packet: &Packet) -> u64 {
        if self.bytes {
            u64::from(packet.size)
        } else {
            1
        }
    }

    /// `limit` in packets or bytes, as counted here; converted by the mean packet if need be.
    pub fn buffer(&self, limit: Limit) -> f64 {
        match (limit, self.bytes) {
            (Limit::Packets(n), true) => n as f64 * self.mean_packet,
            (Limit::Bytes(n), false) => n as f64 / self.mean_packet,
            (Limit::Packets(n) | Limit::Bytes(n), _) => n as f64,
        }
    }

    /// `amount`, packets or bytes, in packets.
    #[inline]
    pub fn in_packets(&self, amount: f64) -> f64 {
        if self.bytes {
            amount / self.mean_packet
        } else {
            amount
        }
    }
}

/// `p` in proportion to the size of `packet`, at most 1.
#[inline]
pub fn in_proportion(p: f64, packet: &Packet, mean_packet: f64) -> f64 {
    (p * f64::from(packet.size) / mean_packet).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_as_mean_packets() {
        let queue = QueueView { packets: 7, bytes: 3000, idle_since: None, contents: None };
        let (packets, bytes) =
            (Measure { bytes: false, mean_packet: 500.0 }, Measure { bytes: true, mean_packet: 500.0 });
        assert_eq!((packets.length(&queue), bytes.length(&queue)), (7.0, 6.0));
        let packet = Packet::new(1, 1500);
        assert_eq!((packets.amount(&packet), bytes.amount(&packet)), (1, 1500));
        assert_eq!((packets.buffer(Limit::Bytes(1500)), bytes.buffer(Limit::Packets(3))), (3.0, 1500.0));
        assert_eq!((packets.buffer(Limit::Packets(3)), bytes.buffer(Limit::Bytes(1500))), (3.0, 1500.0));
        assert_eq!((packets.in_packets(1500.0), bytes.in_packets(1500.0)), (1500.0, 3.0));
        assert_eq!(bytes.capacity(&Link { rate_bps: 10e6, delay_s: 0.0 }), 2500.0);
        assert_eq!((in_proportion(0.25, &packet, 500.0), in_proportion(0.5, &packet, 500.0)), (0.75, 1.0));
    }

    #[test]
    fn a_queue_length_in_bytes_asks_for_a_queue_in_bytes() {
        let declared = [unit("packet", ""), mean_packet(500.0, ""), q_ref("q_{ref}", 50.0, "")];
        let mut values = Values::of(&[("q_ref", Value::QueueBytes(20_000.0))]);
        let refused = Measure::read(&values, &declared).queue_length(&values, &declared, "q_ref");
        assert_eq!(refused.err().map(|e| e.name), Some("q_ref"));
        values.set("unit", Value::Choice("byte"));
        assert_eq!(Measure::read(&values, &declared).queue_length(&values, &declared, "q_ref"), Ok(40.0));
    }
}
