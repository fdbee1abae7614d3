//! The stages of FLoadAutoRED before the load: RED whose weight follows the buffer ([`crate::parts::auto_weight`]), whose
//! upper threshold may have two levels ([`crate::parts::two_levels`]), and CHOKe's test before it.

use crate::catalogue::Link;
use crate::early_detection::{only, params, Defaults, EarlyDetection, Settings, SHARED};
use crate::params::{Kind, Param, ParamError, Value, Values};
use crate::parts::auto_weight::{self, AutoWeight, Occupancy};
use crate::parts::curve::{Linear, Movable};
use crate::parts::flow_match::{drop_pair, Draw};
use crate::parts::two_levels::TwoLevels;
use crate::policy::{Context, Limit, QueueView, Room, Verdict};
use crate::{Packet, Time};

const ALL: [Param; SHARED] =
    params(Defaults { min_th: 100.0, max_th: 200.0, max_p: 0.02, source: "FLoadAutoRED, Table 6.2" });

/// RED's parameters without the weight; the dialect linux is left out, as its weight is fixed.
pub const RED: [Param; 13] = {
    let mut some = only(
        &ALL,
        [
            "dialect",
            "min_th",
            "max_th",
            "max_p",
            "wait",
            "unit",
            "byte_scaling",
            "count_base",
            "ecn_over_max",
            "mark_p",
            "mean_packet",
            "max_packet",
            "overflow_victim",
        ],
    );
    some[0].kind = Kind::Choice(&["paper", "ns2", "ns3"]);
    some[0].doc =
        "Whose RED decides: the 1993 pseudo-code, ns-2.35 or ns-3; idle decay, spacing and forced drops differ.";
    some
};

/// RED's settings and its drop curve, a line.
///
/// # Errors
/// Where values do not fit together.
pub fn red(values: &Values, link: &Link) -> Result<(Settings, Linear), ParamError> {
    // AutoRED sets the weight of the average at each arrival; RED's own is not among its parameters.
    let mut values = values.clone();
    let set = Settings::read(values.set("w_q", Value::Real(0.002)), &ALL, link)?;
    Ok((set, Linear::new(set.min_th, set.max_th, set.max_p, false)))
}

/// Whether the values of these stages fit together.
///
/// # Errors
/// If they do not.
pub fn check(values: &Values, link: &Link) -> Result<(), ParamError> {
    red(values, link)?;
    auto_weight::Settings::read(values)?;
    Ok(())
}

/// p_b at an averaged queue in packets, while the upper threshold is at its start value.
pub fn curve(values: &Values, link: &Link, average: f64) -> f64 {
    red(values, link).map_or(f64::NAN, |(set, line)| crate::parts::curve::probability(&line, set.in_unit(average)))
}

/// RED with AutoRED's average, around one drop curve.
pub struct AutoRed<C> {
    /// RED: average, spacing and drop curve.
    red: EarlyDetection<C>,
    /// How full the buffer is.
    occupancy: Occupancy,
    /// p_t at the last arrival, in [0, 1].
    part_taken: f64,
    /// The weight of the next sample.
    weight: AutoWeight,
    /// The upper threshold of two levels, with that stage.
    levels: Option<TwoLevels>,
}

impl<C: Movable> AutoRed<C> {
    /// AutoRED with an upper threshold that stays where it is.
    ///
    /// # Errors
    /// Where values do not fit together.
    pub fn new(values: &Values, set: Settings, curve: C, limit: Limit) -> Result<Self, ParamError> {
        let weight = AutoWeight::new(auto_weight::Settings::read(values)?);
        let occupancy = Occupancy::new(limit);
        Ok(AutoRed { red: EarlyDetection::new(set, curve), occupancy, part_taken: 0.0, weight, levels: None })
    }

    /// Adds an upper threshold of two levels.
    pub fn with_two_levels(self, values: &Values) -> Self {
        let mean_packet = values.real(&ALL, "mean_packet");
        let levels = TwoLevels::new(values, self.red.settings(), &self.occupancy, mean_packet);
        AutoRed { levels: Some(levels), ..self }
    }

    /// Takes over the average, its weight and the spacing of `before`; false if it cannot: a threshold that moves is
    /// not taken over.
    pub fn resume(&mut self, before: &Self) -> bool {
        self.weight.resume(&before.weight);
        self.part_taken = before.part_taken;
        self.levels.is_none() && before.levels.is_none() && self.red.resume(&before.red)
    }

    /// Moves the threshold and updates the average with the queue that an arrival finds; returns the average, in the
    /// unit of the thresholds.
    #[inline]
    pub fn observe(&mut self, queue: &QueueView<'_>, now: Time) -> f64 {
        self.part_taken = self.occupancy.of(queue);
        if let Some(levels) = &mut self.levels {
            if let Some(max_th) = levels.update(self.part_taken, self.red.settings().length(queue)) {
                self.red.curve_mut().set_max_th(max_th);
            }
        }
        self.red.set_weight(self.weight.next(queue.packets, self.part_taken));
        self.red.observe(queue, now)
    }

    /// Decides over `packet` with the average that [`AutoRed::observe`] has just returned.
    #[inline]
    pub fn decide(&mut self, average: f64, packet: &Packet, queue: &QueueView<'_>, cx: &mut Context<'_>) -> Verdict {
        self.red.decide(average, packet, queue, cx)
    }

    /// With CHOKe's test first, from min_th on: an arrival that meets its own flow is dropped with the packet it met,
    /// and `matched` counts it; RED's count stays.
    #[inline]
    pub fn decide_behind_match(
        &mut self,
        average: f64,
        packet: &Packet,
        queue: &QueueView<'_>,
        cx: &mut Context<'_>,
        matched: &mut u64,
    ) -> Verdict {
        if average >= self.settings().min_th {
            if let Some(verdict) = drop_pair(packet, queue, Draw::Even, 1, cx) {
                *matched += 1;
                return verdict;
            }
        }
        self.red.decide(average, packet, queue, cx)
    }

    /// RED's verdict when the buffer is full.
    pub fn on_overflow(
        &mut self,
        earlier: Verdict,
        packet: &Packet,
        queue: &QueueView<'_>,
        cx: &mut Context<'_>,
    ) -> Verdict {
        self.red.on_overflow(earlier, packet, queue, cx)
    }

    /// When an arrival finds space in the buffer.
    pub fn room(&self, limit: Limit) -> Room {
        self.red.room(limit)
    }

    /// Whether queued packets may have to be removed.
    pub fn needs_contents(&self) -> bool {
        self.red.needs_contents()
    }

    /// RED's settings.
    #[inline]
    pub fn settings(&self) -> &Settings {
        self.red.settings()
    }

    /// RED's drop curve.
    #[inline]
    pub fn curve_mut(&mut self) -> &mut C {
        self.red.curve_mut()
    }

    /// The averaged queue in packets.
    #[inline]
    pub fn average(&self) -> f64 {
        self.red.average()
    }

    /// RED's inner values, p_t, w_q, and the threshold if it moves.
    pub fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.red.gauges(out);
        out("p_t", self.part_taken);
        out("w_q", self.weight.weight());
        if let Some(levels) = &self.levels {
            out("cur_max_th", levels.current());
        }
    }
}
