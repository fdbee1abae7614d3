//! RED as Floyd and Jacobson wrote it down (1993, Fig. 2):
//!
//! ```text
//! for each packet arrival
//!     calculate the new average queue size avg:
//!         if the queue is nonempty
//!             avg := (1 - w_q) avg + w_q q
//!         else
//!             m := f(time - q_time)
//!             avg := (1 - w_q)^m avg
//!     if min_th <= avg < max_th
//!         increment count
//!         calculate probability p_a:
//!             p_b := max_p (avg - min_th)/(max_th - min_th)
//!             p_a := p_b/(1 - count p_b)
//!         with probability p_a:
//!             mark the arriving packet
//!             count := 0
//!     else if max_th <= avg
//!         mark the arriving packet
//!         count := 0
//!     else count := -1
//! when queue becomes empty
//!     q_time := time
//! ```
//!
//! [`Average::observe`] is the first half, `Spacing::decide` the second. The curve has min_th, max_th and p_b. Section
//! 4 of the paper scales p_b by the size of the packet, and counts so that gaps are one packet longer than in Fig. 2.

use super::common::{decay_at_once, hit, idle_packets, past_the_end, rejected_behind, Decay};
use super::given::{CountBase, Given, OverMax};
use crate::params::ParamError;
use crate::parts::curve::Curve;
use crate::parts::spacing;
use crate::policy::{Context, Reason, Verdict};
use crate::random::Generator;
use crate::{Packet, Time};

/// avg and what it is worked out from.
#[derive(Clone, Debug)]
pub struct Average {
    /// avg: the averaged queue, packets or bytes.
    avg: f64,
    /// w_q: the weight of a new sample, in (0, 1].
    w_q: f64,
    /// f(t) = t times this: packets that the link can send in a second.
    packets_per_second: f64,
    /// Time of the last arrival, if it found the link idle.
    last: Option<Time>,
    /// Until when the last arrival counted the idle time, s.
    counted_until: f64,
    // Boxed: a busy link does not need it, and the average stays in two cache lines with what it does.
    decay: Box<Decay>,
}

impl Average {
    /// An average that has seen nothing.
    pub fn new(w_q: f64, packets_per_second: f64) -> Self {
        let decay = Box::new(Decay::new(w_q));
        Average { avg: 0.0, w_q, packets_per_second, last: None, counted_until: 0.0, decay }
    }

    /// The average after an arrival at `now` that finds `length` (packets or bytes) waiting.
    #[inline]
    pub fn observe(&mut self, length: f64, idle_since: Option<Time>, now: Time) -> f64 {
        match idle_since {
            None => {
                self.last = None;
                self.avg = (1.0 - self.w_q) * self.avg + self.w_q * length;
            }
            Some(since) => {
                let q_time = self.q_time(since);
                let m = idle_packets(now.seconds() - q_time, self.packets_per_second);
                self.avg = self.decay.of(self.avg, self.w_q, m);
                self.last = Some(now);
                self.counted_until = q_time + m as f64 / self.packets_per_second;
            }
        }
        self.avg
    }

    /// From when on the idle time of a link that is idle since `since` has not been counted, s.
    ///
    /// An arrival that is dropped at an idle link leaves the link idle. The next arrival counts what is left of the
    /// idle time, less than a packet's time: else arrivals faster than the link would never count any, and an average
    /// above max_th would stay there for ever.
    fn q_time(&self, since: Time) -> f64 {
        if self.last == Some(since) {
            self.counted_until
        } else {
            since.seconds()
        }
    }

    /// Takes over the value of `before`, which has another weight.
    pub(super) fn resume(&mut self, before: &Average) {
        *self = Average { w_q: self.w_q, packets_per_second: self.packets_per_second, ..before.clone() };
    }

    /// avg, packets or bytes.
    #[inline]
    pub fn value(&self) -> f64 {
        self.avg
    }

    /// avg as an arrival at `now` would find it on a link idle since `since`.
    pub fn decayed(&self, since: Time, now: Time) -> f64 {
        let m = idle_packets(now.seconds() - self.q_time(since), self.packets_per_second);
        decay_at_once(self.avg, self.w_q, m)
    }

    /// Gives the next samples the weight `w_q`.
    pub fn set_weight(&mut self, w_q: f64) {
        self.w_q = w_q;
    }
}

/// What a user can choose in this dialect beside the curve.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Bytes of the largest packet, where p_b is in proportion to the packet's size.
    max_packet: Option<f64>,
    /// What count is set to by a drop, packets: 0 in the figure, -1 for the gaps of the analysis.
    count_after_drop: i64,
    /// What becomes of an arrival with max_th <= avg.
    forced: Verdict,
    /// Whether p_a is p_b, without spacing.
    pub(super) independent: bool,
}

impl Rules {
    /// The rules that `given` describes.
    ///
    /// # Errors
    /// If `given` asks for what this dialect does not have.
    pub(super) fn read(given: &Given) -> Result<Self, ParamError> {
        given.refuse_wait()?;
        Ok(Rules {
            max_packet: given.byte_scaling.then_some(given.max_packet),
            count_after_drop: match given.count_base {
                CountBase::Pseudocode => 0,
                CountBase::Analysis => -1,
            },
            forced: past_the_end(given.over_max_but_mark_p(OverMax::Drop)?),
            independent: false,
        })
    }
}

/// What the figure remembers beside avg.
#[derive(Clone, Debug)]
pub struct Spacing {
    /// What the user chose.
    rules: Rules,
    /// count: packets since the last drop; -1 while avg < min_th.
    pub(super) count: i64,
    /// p_b of the last arrival that was tested, a probability.
    pub(super) p_b: f64,
}

impl Spacing {
    /// Nothing has arrived.
    pub(super) fn new(rules: Rules) -> Self {
        Spacing { rules, count: -1, p_b: 0.0 }
    }

    /// Takes over the state of `before`, which has other rules.
    pub(super) fn resume(&mut self, before: &Spacing) {
        *self = Spacing { rules: self.rules, ..before.clone() };
    }

    /// Decides over a packet of `size` bytes that has moved the average to `avg`.
    #[inline]
    pub(super) fn decide(&mut self, curve: &impl Curve, avg: f64, size: u32, random: &mut Generator) -> Verdict {
        if avg < curve.start() {
            self.count = -1;
            return Verdict::Pass;
        }
        if avg < curve.end() {
            self.count += 1;
            self.p_b = curve.base_probability(avg);
            if let Some(max_packet) = self.rules.max_packet {
                self.p_b = (self.p_b * f64::from(size) / max_packet).min(1.0);
            }
            let p_a = if self.rules.independent { self.p_b } else { spacing::uniform(self.p_b, self.count as f64) };
            if !hit(random.uniform(), curve.final_probability(p_a)) {
                return Verdict::Pass;
            }
            self.count = self.rules.count_after_drop;
            return Verdict::Signal(Reason::Early);
        }
        self.p_b = 1.0;
        self.count = self.rules.count_after_drop;
        self.rules.forced
    }

    /// Why `packet`, on which the decision was `earlier`, is dropped when the buffer has no room. The figure does not
    /// say: here as if a FIFO stood behind RED.
    pub(super) fn on_overflow(&self, earlier: Verdict, packet: &Packet, cx: &Context<'_>) -> Reason {
        rejected_behind(earlier, packet, cx)
    }
}
