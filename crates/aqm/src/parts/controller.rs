//! A digital controller that turns the queue into a probability: proportional and integral (PI), or with a
//! derivative as well (PID), in incremental form; and the policy around it.

use crate::params::{Param, ParamError, Values};
use crate::parts::independent;
use crate::parts::measure::{self, Measure};
use crate::parts::ticks::{self, Ticks};
use crate::policy::{Context, Limit, Policy, QueueView, Room, Verdict};
use crate::{Packet, Time};
use std::any::Any;

/// p_k = p_(k-1) + a e_k - b e_(k-1) + d e_(k-2), kept in [0, 1], with the error e = queue - `q_ref`.
#[derive(Clone, Debug)]
pub struct Controller {
    /// a, b and d, per packet.
    gains: [f64; 3],
    /// The queue aimed at, packets.
    q_ref: f64,
    /// The last two errors, the latest first.
    errors: [f64; 2],
    /// The probability.
    p: f64,
}

impl Controller {
    /// A controller with gains `[a, b, d]` whose queue has always been empty.
    pub fn new(gains: [f64; 3], q_ref: f64) -> Self {
        Controller { gains, q_ref, errors: [-q_ref; 2], p: 0.0 }
    }

    /// Takes one sample of the queue, in the unit of `q_ref`.
    pub fn sample(&mut self, queue: f64) {
        let [a, b, d] = self.gains;
        let error = queue - self.q_ref;
        // The order of the additions is ns-2's (`pi.cc`, `calculate_p`).
        let mut p = a * error - b * self.errors[0];
        if d != 0.0 {
            p += d * self.errors[1];
        }
        self.p = (p + self.p).clamp(0.0, 1.0);
        self.errors = [error, self.errors[0]];
    }

    /// The probability in force.
    #[inline]
    pub fn p(&self) -> f64 {
        self.p
    }

    /// The error at the last sample.
    pub fn error(&self) -> f64 {
        self.errors[0]
    }
}

/// A controller that samples the queue at fixed intervals. Every arrival that finds room is signalled with the
/// probability in force.
pub struct Sampled {
    /// The control law.
    pub(crate) control: Controller,
    /// When the queue is sampled.
    ticks: Ticks,
    /// Packets or bytes.
    measure: Measure,
    /// Whether the probability is in proportion to the packet's size.
    byte_scaling: bool,
    /// Whether the limit is tested as in ns-2.
    room_as_ns2: bool,
}

impl Sampled {
    /// Of gains `[a, b, d]`; `q_ref`, `tupdate`, `unit`, `mean_packet` and `byte_scaling` are among `declared`.
    ///
    /// # Errors
    /// If `q_ref` is in bytes while the queue is measured in packets.
    pub fn read(values: &Values, declared: &[Param], gains: [f64; 3]) -> Result<Self, ParamError> {
        let measure = Measure::read(values, declared);
        Ok(Sampled {
            control: Controller::new(gains, measure.queue_length(values, declared, "q_ref")?),
            ticks: Ticks::every(values.real(declared, "tupdate")),
            measure,
            byte_scaling: values.flag(declared, "byte_scaling"),
            room_as_ns2: false,
        })
    }

    /// Tests the limit before the arrival is added, in packets of `mean_packet` if bytes are measured, as ns-2 does.
    pub fn with_room_as_ns2(self) -> Self {
        Sampled { room_as_ns2: true, ..self }
    }
}

impl Policy for Sampled {
    fn room(&self, limit: Limit) -> Room {
        match limit {
            Limit::Packets(n) if self.room_as_ns2 && self.measure.bytes => {
                Room::BytesBelow((n as f64 * self.measure.mean_packet) as u64)
            }
            Limit::Bytes(n) if self.room_as_ns2 => Room::BytesBelow(n),
            _ => Room::holding(limit),
        }
    }

    fn on_enqueue(&mut self, packet: &Packet, _queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        if !cx.has_room {
            return Verdict::Pass;
        }
        let p = self.control.p();
        let p = if self.byte_scaling { measure::in_proportion(p, packet, self.measure.mean_packet) } else { p };
        independent::draw(p, cx)
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.ticks.next())
    }

    fn on_timer(&mut self, queue: &QueueView<'_>, _cx: &mut Context<'_>) {
        self.control.sample(self.measure.length(queue));
        self.ticks.advance();
    }

    fn on_timers(&mut self, queue: &QueueView<'_>, until: Time, cx: &mut Context<'_>) -> Option<(u64, Time)> {
        let state = |of: &Self| (of.control.p.to_bits(), of.control.errors.map(f64::to_bits));
        ticks::run(self, queue, until, cx, state, |of| &mut of.ticks)
    }

    fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("p", self.control.p());
        out("error", self.control.error());
    }

    fn resume(&mut self, before: &dyn Any) -> bool {
        let Some(before) = before.downcast_ref::<Self>() else { return false };
        (self.control.errors, self.control.p) = (before.control.errors, before.control.p);
        self.ticks.resume(&before.ticks);
        self.measure.bytes == before.measure.bytes && self.room_as_ns2 == before.room_as_ns2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_stays_a_probability() {
        let mut control = Controller::new([0.1, 0.05, 0.0], 10.0);
        let mut seen = Vec::new();
        for queue in [0.0, 40.0, 40.0, 40.0, 0.0, 0.0] {
            control.sample(queue);
            seen.push(control.p());
        }
        // Errors -10, 30, 30, 30, -10, -10: steps -0.5, 3.5, 1.5, 1.5, -2.5, -0.5.
        assert_eq!(seen, [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
        assert_eq!(control.error(), -10.0);
    }

    #[test]
    fn the_derivative_term_reaches_two_samples_back() {
        let mut control = Controller::new([0.02, 0.03, 0.01], 1.0);
        control.sample(2.0);
        // Errors 1, 1, 1: 0.02 * 1 + 0.03 * 1 - 0.01 * 1.
        assert!((control.p() - 0.04).abs() < 1e-15);
        control.sample(2.0);
        // 0.02 - 0.03 - 0.01: two samples ago the queue was empty.
        assert!((control.p() - 0.02).abs() < 1e-15);
        control.sample(2.0);
        // Now all three errors are 1, and the gains add up to nothing.
        assert!((control.p() - 0.02).abs() < 1e-15);
    }
}
