//! SFQ as in ns-2.35, `queue/sfq.cc`.

use super::parameters::PARAMS;
use crate::params::Values;
use crate::parts::class_fifos::{ClassFifos, End};
use crate::parts::classful::Schedule;
use crate::parts::hash;
use crate::parts::round::Round;
use crate::policy::Limit;
use crate::{Packet, Time};

/// The parameters of this dialect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Number of FIFOs.
    pub buckets: usize,
    /// Bytes of a packet, for the rule for packets under a limit in bytes.
    pub mean_packet: f64,
}

impl Rules {
    pub fn read(values: &Values) -> Rules {
        Rules { buckets: values.whole(&PARAMS, "buckets") as usize, mean_packet: values.real(&PARAMS, "mean_packet") }
    }
}

/// The queues.
pub(super) struct Ns2 {
    /// The packets of each bucket.
    fifos: ClassFifos,
    /// The buckets with packets, in the order of their turns.
    round: Round,
    /// How many buckets there are.
    buckets: usize,
    /// Packets or bytes of all buckets.
    limit: Limit,
    /// Bytes of a packet, under a limit in bytes.
    mean_packet: f64,
}

impl Ns2 {
    pub fn new(rules: &Rules, limit: Limit) -> Self {
        let Rules { buckets, mean_packet } = *rules;
        Ns2 { fifos: ClassFifos::new(buckets), round: Round::new(buckets), buckets, limit, mean_packet }
    }

    /// SFQ::enque's test: whether `bucket` may take `size` bytes more.
    fn admits(&self, bucket: usize, size: u32) -> bool {
        let (limit, waiting, used, packet) = match self.limit {
            Limit::Packets(n) => (n, self.fifos.packets(), self.fifos.packets_of(bucket), 1.0),
            Limit::Bytes(n) => (n, self.fifos.bytes(), self.fifos.bytes_of(bucket), self.mean_packet),
        };
        let left = limit.saturating_sub(waiting);
        let scarce = (left as f64) < self.buckets as f64 * packet;
        // In packets, half of what is left is more than `used` only if something is left.
        let room = matches!(self.limit, Limit::Packets(_)) || left >= u64::from(size);
        used < left / 2 && !(scarce && used > limit / self.buckets as u64) && room
    }
}

impl Schedule for Ns2 {
    fn arrive(&mut self, packet: Packet, _now: Time, dropped: &mut dyn FnMut(&Packet)) -> bool {
        let bucket = hash::bucket(packet.flow, 0, self.buckets);
        if !self.admits(bucket, packet.size) {
            dropped(&packet);
            return false;
        }
        self.fifos.push(bucket, packet);
        if self.fifos.packets_of(bucket) == 1 {
            self.round.join(bucket);
        }
        true
    }

    fn take(&mut self, _now: Time, _dropped: &mut dyn FnMut(&Packet)) -> Option<Packet> {
        let bucket = self.round.current()?;
        let packet = self.fifos.take(bucket, End::Head);
        if self.fifos.packets_of(bucket) == 0 {
            self.round.leave(bucket);
        } else {
            self.round.advance();
        }
        packet
    }

    fn fifos(&self) -> &ClassFifos {
        &self.fifos
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("active", self.round.len() as f64);
    }
}
