//! Random early detection for any drop curve, in four dialects. Each is a file in the order of its program: [`paper`],
//! [`ns2`], [`ns3`], [`linux`]. [`EarlyDetection`] puts the average and the decision of a dialect around a curve.
//!
//! | | paper (1993) | ns2 (2.35) | ns3 | linux (`sch_red`) |
//! |---|---|---|---|---|
//! | average after idle | decays only | decays, then adds w*q | as ns2 | decays by a table of shifts |
//! | arrival that finds 0 or 1 packets | tested | never dropped early | as ns2 | tested |
//! | first arrival that finds the average above min_th | tested | admitted, starts the count | as ns2 | admitted, draws R |
//! | count moves | between the thresholds | at every arrival | at every arrival | between the thresholds |
//! | spacing | p_b/(1 - count p_b) | `wait`: nothing before 1/p_b | as ns2 | one random number per drop |
//! | above max_th | dropped | spaced with p_b = 1 | dropped | marked if it can be |
//! | lengths | packets or bytes | packets or bytes | packets or bytes | bytes |

pub mod average;
mod common;
mod given;
pub mod linux;
pub mod ns2;
pub mod ns3;
pub mod paper;
mod red;
mod settings;
mod tc;

use crate::parts::curve::{Curve, Linear};
use crate::parts::pick;
use crate::policy::{Context, Limit, QueueView, Reason, Room, Verdict};
use crate::random::Generator;
use crate::{Packet, Time};
use average::Average;
pub use common::hit;
pub(crate) use given::OverMax;
use given::Victim;
pub use given::{only, params, replacing, without_linux, Defaults, Dialect, SHARED};
pub use red::Red;
use settings::Rules;
pub use settings::Settings;

/// What a dialect remembers from one arrival to the next beside the average. A discipline with several curves or
/// classes (SFRED, AECN) keeps one for each.
#[derive(Clone, Debug)]
// With its tag in a byte of its own RED takes 1 % fewer instructions a packet than with one in a niche of the variants.
#[repr(u8)]
pub enum Spacing {
    /// Floyd & Jacobson 1993.
    Paper(paper::Spacing),
    /// ns-2.35.
    Ns2(ns2::Spacing),
    /// ns-3.
    Ns3(ns2::Spacing),
    /// Linux.
    Linux(linux::Spacing),
}

impl Spacing {
    /// Nothing has arrived.
    pub fn new(set: &Settings) -> Self {
        match set.rules {
            Rules::Paper(rules) => Spacing::Paper(paper::Spacing::new(rules)),
            Rules::Ns2(rules) => Spacing::Ns2(ns2::Spacing::new(rules)),
            Rules::Ns3(rules) => Spacing::Ns3(ns2::Spacing::new(rules)),
            Rules::Linux(rules) => Spacing::Linux(linux::Spacing::new(rules)),
        }
    }

    /// Takes over the state of `before`; false if the dialects differ.
    fn resume(&mut self, before: &Spacing) -> bool {
        match (self, before) {
            (Spacing::Paper(red), Spacing::Paper(before)) => red.resume(before),
            (Spacing::Ns2(red), Spacing::Ns2(before)) => red.resume(before),
            (Spacing::Ns3(red), Spacing::Ns3(before)) => red.resume(before),
            (Spacing::Linux(red), Spacing::Linux(before)) => red.resume(before),
            _ => return false,
        }
        true
    }

    /// p_b when it was last worked out.
    pub fn p_b(&self) -> f64 {
        match self {
            Spacing::Paper(red) => red.p_b,
            Spacing::Ns2(red) => red.v_prob1,
            Spacing::Ns3(red) => red.v_prob1,
            Spacing::Linux(red) => red.p_b,
        }
    }

    /// Packets since the last drop, as the dialect counts them.
    pub fn count(&self) -> i64 {
        match self {
            Spacing::Paper(red) => red.count,
            Spacing::Ns2(red) => red.count,
            Spacing::Ns3(red) => red.count,
            Spacing::Linux(red) => red.qcount,
        }
    }

    /// Decides by `curve` over a packet of `size` bytes that has found `length` waiting (in the unit of the average)
    /// and moved the average to `average`.
    // Inlined into each discipline's curve, here and in [`EarlyDetection::on_enqueue`]: with plain `#[inline]` RED
    // takes 3 % more instructions a packet.
    #[inline(always)]
    pub fn decide(
        &mut self,
        curve: &impl Curve,
        average: f64,
        size: u32,
        length: f64,
        random: &mut Generator,
    ) -> Verdict {
        match self {
            Spacing::Paper(red) => red.decide(curve, average, size, random),
            Spacing::Ns2(red) => red.decide(curve, average, size, length, random),
            Spacing::Ns3(red) => ns3::decide(red, curve, average, size, length, random),
            Spacing::Linux(red) => red.decide(curve, average, random),
        }
    }

    /// Why `packet`, on which the decision was `earlier`, is dropped when the buffer has no room.
    pub fn on_overflow(&mut self, earlier: Verdict, packet: &Packet, cx: &Context<'_>) -> Reason {
        match self {
            Spacing::Paper(red) => red.on_overflow(earlier, packet, cx),
            Spacing::Ns2(red) => red.on_overflow(),
            Spacing::Ns3(_) => common::rejected_behind(earlier, packet, cx),
            Spacing::Linux(red) => red.on_overflow(earlier, packet, cx),
        }
    }
}

/// Average, spacing and decision around one drop curve. In this order of fields an arrival that finds a short queue
/// needs two cache lines.
#[repr(C, align(64))]
pub struct EarlyDetection<C> {
    /// What follows from the parameters.
    set: Settings,
    /// The averaged queue, in the unit of the thresholds.
    average: Average,
    /// What the dialect remembers between arrivals.
    spacing: Spacing,
    /// The drop curve: p_b at an average.
    curve: C,
}

impl<C: Curve> EarlyDetection<C> {
    /// The state of a queue that is empty and whose link is idle.
    pub fn new(set: Settings, curve: C) -> Self {
        EarlyDetection { curve, average: set.average(), spacing: Spacing::new(&set), set }
    }

    /// Takes over the average and the spacing of `before`; false if dialect or unit differ. A curve that moves is not
    /// taken over.
    pub fn resume(&mut self, before: &Self) -> bool {
        self.set.same_unit(&before.set) && self.spacing.resume(&before.spacing) && self.average.resume(&before.average)
    }

    /// When an arrival finds space in the buffer: [`Settings::room`].
    pub fn room(&self, limit: Limit) -> Room {
        self.set.room(limit)
    }

    /// Whether queued packets may have to be removed, to make space for the arrival.
    pub fn needs_contents(&self) -> bool {
        self.set.victim != Victim::Tail
    }

    /// The averaged queue in packets.
    #[inline]
    pub fn average(&self) -> f64 {
        self.set.in_packets(self.average.value())
    }

    /// The average as a timer sees it, in the unit of the thresholds; see [`Average::seen_at`].
    pub fn average_seen_at(&self, queue: &QueueView<'_>, now: Time) -> f64 {
        self.average.seen_at(queue, now)
    }

    /// The curve.
    pub fn curve(&self) -> &C {
        &self.curve
    }

    /// avg (in the unit of the thresholds), p_b, count.
    pub fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("avg", self.average.value());
        out("p_b", self.spacing.p_b());
        out("count", self.spacing.count() as f64);
    }

    /// The curve, for disciplines that move it: between [`EarlyDetection::observe`] and [`EarlyDetection::decide`], or
    /// on a timer.
    pub fn curve_mut(&mut self) -> &mut C {
        &mut self.curve
    }

    /// Gives the next samples this weight, for disciplines that choose one for each arrival (AutoRED). Not for linux.
    #[inline]
    pub fn set_weight(&mut self, weight: f64) {
        self.average.set_weight(weight);
    }

    /// The settings.
    #[inline]
    pub fn settings(&self) -> &Settings {
        &self.set
    }

    /// Updates the average with the queue that an arrival finds; gives it in the unit of the thresholds.
    #[inline]
    pub fn observe(&mut self, queue: &QueueView<'_>, now: Time) -> f64 {
        self.average.observe(self.set.length(queue), queue.idle_since, now)
    }

    /// Decides over `packet` with the average that [`EarlyDetection::observe`] has just returned.
    #[inline]
    pub fn decide(&mut self, average: f64, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        self.spacing.decide(&self.curve, average, packet.size, self.set.length(queue), cx.random)
    }

    /// [`EarlyDetection::decide`] with a curve of this packet's own: SFRED's differs from flow to flow.
    #[inline]
    pub fn decide_on(
        &mut self,
        curve: &impl Curve,
        average: f64,
        packet: &Packet,
        queue: &QueueView<'_>,
        cx: &mut Context<'_>,
    ) -> Verdict {
        self.spacing.decide(curve, average, packet.size, self.set.length(queue), cx.random)
    }

    /// Updates the average with the queue that `packet` finds, and decides.
    #[inline(always)]
    pub fn on_enqueue(&mut self, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        let length = self.set.length(queue);
        let average = self.average.observe(length, queue.idle_since, cx.now);
        self.spacing.decide(&self.curve, average, packet.size, length, cx.random)
    }

    /// The buffer has no room: the reason is that of [`Spacing::on_overflow`], the victim that of the settings.
    pub fn on_overflow(
        &mut self,
        earlier: Verdict,
        packet: &Packet,
        queue: &QueueView<'_>,
        cx: &mut Context<'_>,
    ) -> Verdict {
        let reason = self.spacing.on_overflow(earlier, packet, cx);
        if reason != Reason::Overflow {
            return Verdict::Drop(reason);
        }
        let ring = match (self.set.victim, queue.contents) {
            (Victim::Tail, _) | (_, None) => return Verdict::Drop(Reason::Overflow),
            (_, Some(ring)) => ring,
        };
        let victim = if self.set.victim == Victim::Front { ring.at(0) } else { pick::any(ring, cx.random) };
        let Some((serial, _)) = victim else { return Verdict::Drop(Reason::Overflow) };
        cx.victims.push(serial);
        Verdict::Victims { reason: Reason::Overflow, with_arrival: false, signal: false }
    }
}

impl EarlyDetection<Linear> {
    /// Gives the curve another max_p.
    pub fn set_max_p(&mut self, max_p: f64) {
        if let Spacing::Linux(red) = &mut self.spacing {
            red.max_p_moved(max_p / self.curve.max_p());
        }
        self.curve.set_max_p(max_p);
    }
}

/// Implements [`crate::policy::Policy`] for a discipline with early detection in its field `core`. Braces hold what the
/// discipline does otherwise (`on_enqueue` and `gauges`, perhaps a timer).
#[macro_export]
macro_rules! early_detection_policy {
    ($name:ty) => {
        $crate::early_detection_policy!($name, {
            #[inline]
            fn on_enqueue(
                &mut self,
                packet: &$crate::Packet,
                queue: &$crate::policy::QueueView<'_>,
                cx: &mut $crate::policy::Context<'_>,
            ) -> $crate::policy::Verdict {
                self.core.on_enqueue(packet, queue, cx)
            }
            fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
                self.core.gauges(out);
            }
            fn resume(&mut self, before: &dyn std::any::Any) -> bool {
                before.downcast_ref::<Self>().is_some_and(|before| self.core.resume(&before.core))
            }
        });
    };
    ($name:ty, { $($own:tt)* }) => {
        impl $crate::policy::Policy for $name {
            fn needs(&self) -> $crate::policy::Needs {
                $crate::policy::Needs { dequeue: false, contents: self.core.needs_contents() }
            }
            fn room(&self, limit: $crate::policy::Limit) -> $crate::policy::Room {
                self.core.room(limit)
            }
            fn on_overflow(
                &mut self,
                earlier: $crate::policy::Verdict,
                packet: &$crate::Packet,
                queue: &$crate::policy::QueueView<'_>,
                cx: &mut $crate::policy::Context<'_>,
            ) -> $crate::policy::Verdict {
                self.core.on_overflow(earlier, packet, queue, cx)
            }
            fn average(&self) -> Option<f64> {
                Some(self.core.average())
            }
            $($own)*
        }
    };
}
