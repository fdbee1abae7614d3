//! A link beyond a constant rate and delay: varying rates, models, framing, aggregation, loss, jitter, reordering.
//!
//! Everything is decided when a transmission starts, in the order of transmissions. So a link draws the same random
//! numbers whichever way the engine runs it.

use crate::aggregation::{Aggregate, Aggregation};
use crate::framing::Framing;
use crate::loss::Losses;
pub use crate::loss::{Bursts, LossPattern};
use crate::model::{Lag, Model, Rates, Upstream, Walk};
use crate::wire::Wire;
use earlydrop_aqm::random::Generator;

/// Bytes of one delivery opportunity of a trace (Mahimahi's link emulation counts packets of 1504 B, of which 4 are the
/// header of its tunnel).
pub const OPPORTUNITY_BYTES: u32 = 1500;

/// The rate of a link over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Rate {
    /// Constant, bit/s.
    Constant(f64),
    /// Piecewise constant.
    Schedule {
        /// Start (s; the first is 0, and they rise) and rate (bit/s; 0 if the link is down) of each step.
        steps: Vec<(f64, f64)>,
        /// Period after which the steps repeat, s; with `None` the last rate stays for ever.
        repeat: Option<f64>,
    },
    /// Delivery opportunities of [`OPPORTUNITY_BYTES`] each, as in Mahimahi's traces.
    Opportunities {
        /// Times, ms, in order; the last one is also the period after which all repeat.
        at_ms: Vec<u64>,
    },
    /// As the link's [`Model`] has it: its mean and its largest value, bit/s.
    OfModel {
        /// Mean, bit/s.
        mean: f64,
        /// Largest, bit/s.
        most: f64,
    },
}

impl Rate {
    /// The single rate given to disciplines and shown in pictures, bit/s: the mean over the period; without one, over
    /// the steps and as long again at the last rate; for a trace or a model its mean.
    pub fn nominal(&self) -> f64 {
        match self {
            Rate::Constant(rate) | Rate::OfModel { mean: rate, .. } => *rate,
            Rate::Schedule { steps, repeat } => {
                let last = steps.last().map_or(0.0, |&(from, _)| from);
                let end = repeat.unwrap_or(if last > 0.0 { 2.0 * last } else { 1.0 });
                let ends = steps.iter().skip(1).map(|&(from, _)| from).chain([end]);
                steps.iter().zip(ends).map(|(&(from, rate), to)| rate * (to - from)).sum::<f64>() / end
            }
            Rate::Opportunities { at_ms } => {
                let period = at_ms.last().map_or(1.0, |&last| last as f64 * 1e-3);
                8.0 * f64::from(OPPORTUNITY_BYTES) * at_ms.len() as f64 / period
            }
        }
    }
}

/// An extra delay for each packet, uniform between two bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jitter {
    /// Lower bound, s.
    pub low: f64,
    /// Upper bound, s.
    pub high: f64,
    /// Whether packets keep their order: none arrives before a packet that was sent earlier. What a [`Reorder`] adds to a
    /// packet's delay is not of jitter and delays no other.
    pub keeps_order: bool,
}

/// Extra delay for some packets, so that later ones overtake them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// Fraction of the packets that are delayed.
    pub probability: f64,
    /// Their extra delay, s.
    pub delay: f64,
}

/// All of a link but its [`Wire`]. Each random choice has a stream of its own.
pub struct Medium {
    rate: Varying,
    framing: Framing,
    aggregate: Option<Aggregate>,
    upstream: Option<Upstream>,
    lag: Option<Lag>,
    loss: Option<Losses>,
    jitter: Option<(Jitter, Generator)>,
    reorder: Option<(Reorder, Generator)>,
    /// Latest arrival so far, before reordering.
    latest: f64,
    /// No packet arrives before this time: the latest arrival when the delay became shorter.
    not_before: f64,
    /// Packets lost in the measured window.
    pub lost: u64,
}

/// A transmission: its end, and the packet's arrival unless it is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// When the link is ready again, s; infinite if its rate stays 0.
    pub end: f64,
    /// Arrival at the other end, s.
    pub arrival: Option<f64>,
}

impl Medium {
    /// A medium of this `rate`, without loss, jitter or reordering.
    pub fn new(rate: &Rate) -> Medium {
        Medium {
            rate: Varying::new(rate),
            framing: Framing::default(),
            aggregate: None,
            upstream: None,
            lag: None,
            loss: None,
            jitter: None,
            reorder: None,
            latest: 0.0,
            not_before: 0.0,
            lost: 0,
        }
    }

    /// Adds a model, whose random streams begin with `name`. What is added after it replaces its own framing and
    /// aggregation.
    pub fn with_model(mut self, model: &Model, seed: u64, name: &str) -> Medium {
        let parts = model.parts();
        self.lag = Lag::new(&parts, seed, name);
        if let Some(rate) = &parts.rate {
            self.rate = Varying::Process(Box::new(Rates::new(Walk::new(rate, seed, format!("{name}.rate")))));
        }
        self.framing = parts.framing.unwrap_or(self.framing);
        self.aggregate = parts.aggregation.map(Aggregate::new);
        self.upstream =
            parts.grants.map(|grants| Upstream::new(grants, Generator::stream(seed, &format!("{name}.grants"))));
        self
    }

    /// Adds framing, which sets what is sent for each packet.
    pub fn with_framing(mut self, framing: Framing) -> Medium {
        self.framing = framing;
        self
    }

    /// Adds aggregation; the rate must not be a trace.
    pub fn with_aggregation(mut self, aggregation: Aggregation) -> Medium {
        self.aggregate = Some(Aggregate::new(aggregation));
        self
    }

    /// Adds loss; random loss draws from `random`.
    pub fn with_loss(mut self, pattern: LossPattern, random: Generator) -> Medium {
        self.loss = Some(Losses::new(pattern, random));
        self
    }

    /// Adds jitter.
    pub fn with_jitter(mut self, jitter: Jitter, random: Generator) -> Medium {
        self.jitter = Some((jitter, random));
        self
    }

    /// Adds reordering.
    pub fn with_reorder(mut self, reorder: Reorder, random: Generator) -> Medium {
        self.reorder = Some((reorder, random));
        self
    }

    /// Whether packets arrive in the order in which they are sent.
    pub fn keeps_order(&self) -> bool {
        self.reorder.is_none() && self.jitter.as_ref().is_none_or(|(jitter, _)| jitter.keeps_order)
    }

    /// The delay of the link changes: no packet that is sent from now on arrives before one that was sent until now, the
    /// latest of which arrives at `latest` or by what this medium has sent. Where packets overtake each other anyway,
    /// this holds of them too.
    pub fn keep_order_from_now(&mut self, latest: f64) {
        self.not_before = self.latest.max(latest);
    }

    /// Starts the transmission of a packet of `bytes` at `start`.
    pub fn send(&mut self, wire: &Wire, start: f64, bytes: u16) -> Sent {
        let bytes = self.framing.on_wire(bytes);
        let rate = &mut self.rate;
        let mut transmit = |start: f64| rate.transmit(wire, start, bytes);
        let (end, mut arrival) = match (&mut self.upstream, &mut self.aggregate) {
            (Some(upstream), _) => {
                let (end, received) = upstream.send(wire.rate_bps, start, bytes);
                (end, received + wire.delay_s)
            }
            (None, Some(aggregate)) => aggregate.send(start, bytes, transmit),
            (None, None) => transmit(start),
        };
        if let Some(lag) = &mut self.lag {
            match lag.arrival(end, arrival) {
                Some(later) => arrival = later,
                None => {
                    self.lost += 1;
                    return Sent { end, arrival: None };
                }
            }
        }
        if self.loss.as_mut().is_some_and(Losses::next) {
            self.lost += 1;
            return Sent { end, arrival: None };
        }
        if let Some((jitter, random)) = &mut self.jitter {
            arrival += jitter.low + (jitter.high - jitter.low) * random.uniform();
            if jitter.keeps_order {
                arrival = arrival.max(self.latest);
            }
        }
        arrival = arrival.max(self.not_before);
        self.latest = self.latest.max(arrival);
        if let Some((reorder, random)) = &mut self.reorder {
            if random.uniform() < reorder.probability {
                arrival += reorder.delay;
            }
        }
        Sent { end, arrival: arrival.is_finite().then_some(arrival) }
    }

    /// Mean rate of the link between two times, bit/s; `None` if the rate is constant.
    pub fn mean_rate(&self, from: f64, to: f64) -> Option<f64> {
        match &self.rate {
            Varying::Constant => None,
            Varying::Process(rates) => Some(rates.bits(from, to) / (to - from)),
            Varying::Steps(steps) => Some((steps.bits_until(to) - steps.bits_until(from)) / (to - from)),
            Varying::Opportunities(trace) => {
                let bytes = f64::from(OPPORTUNITY_BYTES) * (trace.count_until(to) - trace.count_until(from)) as f64;
                Some(8.0 * bytes / (to - from))
            }
        }
    }
}

enum Varying {
    /// The wire's rate.
    Constant,
    Steps(Steps),
    Opportunities(Opportunities),
    Process(Box<Rates>),
}

impl Varying {
    fn new(rate: &Rate) -> Self {
        match rate {
            // A model brings its rate.
            Rate::Constant(_) | Rate::OfModel { .. } => Varying::Constant,
            Rate::Schedule { steps, repeat } => Varying::Steps(Steps::new(steps.clone(), *repeat)),
            Rate::Opportunities { at_ms } => Varying::Opportunities(Opportunities::new(at_ms)),
        }
    }

    /// End of the transmission of `bytes` that starts at `start`, and the arrival, s.
    #[inline(always)]
    fn transmit(&mut self, wire: &Wire, start: f64, bytes: u32) -> (f64, f64) {
        let end = match self {
            Varying::Constant => {
                // The order of the additions is the wire's.
                let transmission = 8.0 * f64::from(bytes) / wire.rate_bps;
                return (start + transmission, start + (transmission + wire.delay_s));
            }
            Varying::Steps(steps) => steps.end(start, 8.0 * f64::from(bytes)),
            Varying::Opportunities(trace) => trace.end(start, bytes),
            Varying::Process(rates) => rates.end(start, 8.0 * f64::from(bytes)),
        };
        (end, end + wire.delay_s)
    }
}

/// A piecewise constant rate. A transmission continues through a change: each part of the packet is sent at the rate of
/// the moment.
struct Steps {
    /// Start of each step (s, the first 0) and its rate, bit/s.
    steps: Vec<(f64, f64)>,
    /// Period, s; infinite without one.
    period: f64,
    bits_per_period: f64,
    /// Step in which the last transmission started.
    at: Place,
}

/// A step, and the period in which it is.
#[derive(Clone, Copy, PartialEq)]
struct Place {
    period: f64,
    step: usize,
}

/// Period from which on the floating-point numbers of times no longer tell steps apart; no run gets there.
const LAST_PERIOD: f64 = 1e12;

impl Steps {
    fn new(steps: Vec<(f64, f64)>, repeat: Option<f64>) -> Self {
        let period = repeat.unwrap_or(f64::INFINITY);
        let mut new = Steps { steps, period, bits_per_period: f64::INFINITY, at: Place { period: 0.0, step: 0 } };
        if repeat.is_some() {
            let whole = |step: usize| new.steps[step].1 * (new.end_within(step) - new.steps[step].0);
            new.bits_per_period = (0..new.steps.len()).map(whole).sum();
        }
        new
    }

    /// End of a step, from the start of its period.
    fn end_within(&self, step: usize) -> f64 {
        self.steps.get(step + 1).map_or(self.period, |&(from, _)| from)
    }

    fn end_of(&self, place: Place) -> f64 {
        let begin = if place.period == 0.0 { 0.0 } else { place.period * self.period };
        begin + self.end_within(place.step)
    }

    fn after(&self, place: Place) -> Place {
        if place.step + 1 < self.steps.len() {
            Place { step: place.step + 1, ..place }
        } else {
            Place { period: place.period + 1.0, step: 0 }
        }
    }

    /// End of a transmission of `bits` that starts at `start`, not before any earlier one; infinite after
    /// [`LAST_PERIOD`].
    fn end(&mut self, start: f64, mut bits: f64) -> f64 {
        if self.end_of(self.at) <= start && self.period.is_finite() {
            let period = (start / self.period).floor();
            if period > LAST_PERIOD {
                return f64::INFINITY;
            }
            if period > self.at.period {
                self.at = Place { period, step: 0 };
            }
        }
        while self.end_of(self.at) <= start {
            self.at = self.after(self.at);
        }
        let (mut at, mut now) = (self.at, start);
        loop {
            let (rate, end) = (self.steps[at.step].1, self.end_of(at));
            if rate > 0.0 && now + bits / rate <= end {
                return now + bits / rate;
            }
            if end == f64::INFINITY {
                return f64::INFINITY;
            }
            bits -= rate * (end - now);
            (at, now) = (self.after(at), end);
            if at.step == 0 && bits > self.bits_per_period {
                let whole = (bits / self.bits_per_period).floor();
                at.period += whole;
                if at.period > LAST_PERIOD {
                    return f64::INFINITY;
                }
                bits -= whole * self.bits_per_period;
                now = at.period * self.period;
            }
        }
    }

    /// Bits that the link can send up to `time`.
    fn bits_until(&self, time: f64) -> f64 {
        let periods = if self.period.is_finite() { (time / self.period).floor() } else { 0.0 };
        let within = if periods > 0.0 { time - periods * self.period } else { time };
        let before = if periods > 0.0 { periods * self.bits_per_period } else { 0.0 };
        let part = |step: usize| {
            let (from, rate) = self.steps[step];
            rate * (self.end_within(step).min(within) - from).max(0.0)
        };
        before + (0..self.steps.len()).map(part).sum::<f64>()
    }
}

/// Delivery opportunities of [`OPPORTUNITY_BYTES`] each. Packets share an opportunity, and a packet may need several;
/// what remains of an opportunity when the queue is empty is lost.
struct Opportunities {
    at_ms: Vec<u64>,
    period_ms: u64,
    /// The current opportunity: period, index, and bytes left.
    period: u64,
    place: usize,
    left: u32,
}

impl Opportunities {
    fn new(at_ms: &[u64]) -> Self {
        let period_ms = at_ms.last().copied().unwrap_or(1).max(1);
        Opportunities { at_ms: at_ms.to_vec(), period_ms, period: 0, place: 0, left: OPPORTUNITY_BYTES }
    }

    fn now(&self) -> f64 {
        (self.period * self.period_ms + self.at_ms[self.place]) as f64 / 1e3
    }

    fn advance(&mut self) {
        self.left = OPPORTUNITY_BYTES;
        self.place += 1;
        if self.place == self.at_ms.len() {
            self.place = 0;
            self.period += 1;
        }
    }

    /// Goes on to the first opportunity that is not before `start`.
    fn skip_to(&mut self, start: f64) {
        let period = (start * 1e3 / self.period_ms as f64) as u64;
        // One period less, because the quotient is rounded.
        if period > self.period + 1 {
            (self.period, self.place) = (period - 1, 0);
        }
        self.left = OPPORTUNITY_BYTES;
        while self.now() < start {
            let begin = self.period * self.period_ms;
            let before = |at: &u64| ((begin + at) as f64 / 1e3) < start;
            self.place += self.at_ms[self.place..].partition_point(before);
            if self.place == self.at_ms.len() {
                (self.place, self.period) = (0, self.period + 1);
            }
        }
    }

    /// When the last of `bytes` leaves, if the transmission may start at `start`; infinite after [`LAST_PERIOD`].
    fn end(&mut self, start: f64, mut bytes: u32) -> f64 {
        if start * 1e3 > LAST_PERIOD * self.period_ms as f64 {
            return f64::INFINITY;
        }
        if self.now() < start {
            self.skip_to(start);
        }
        loop {
            if self.left == 0 {
                self.advance();
            }
            let taken = bytes.min(self.left);
            self.left -= taken;
            bytes -= taken;
            if bytes == 0 {
                return self.now();
            }
        }
    }

    /// Number of opportunities up to `time`.
    fn count_until(&self, time: f64) -> u64 {
        let ms = time * 1e3;
        let periods = (ms / self.period_ms as f64).floor() as u64;
        let within = ms - (periods * self.period_ms) as f64;
        let part = self.at_ms.partition_point(|&at| at as f64 <= within);
        periods * self.at_ms.len() as u64 + part as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(steps: &[(f64, f64)], repeat: Option<f64>) -> Steps {
        Steps::new(steps.to_vec(), repeat)
    }

    #[test]
    fn a_transmission_goes_on_through_a_change_of_rate() {
        let mut rate = steps(&[(0.0, 1000.0), (1.0, 500.0), (2.0, 0.0), (3.0, 2000.0)], None);
        assert_eq!(rate.end(0.25, 500.0), 0.75);
        assert_eq!(rate.end(0.75, 500.0), 1.5, "250 bits before the change, 250 after");
        assert_eq!(rate.end(1.5, 500.0), 3.125, "250 bits, a second of nothing, 250 bits");
        assert_eq!(rate.end(10.0, 500.0), 10.25, "the last rate stays");
        let mut ends = steps(&[(0.0, 1000.0), (1.0, 0.0)], None);
        assert_eq!(ends.end(0.5, 500.0), 1.0);
        assert_eq!(ends.end(1.0, 1.0), f64::INFINITY, "a link that never comes back");
    }

    #[test]
    fn a_schedule_repeats() {
        let mut rate = steps(&[(0.0, 1000.0), (1.0, 0.0)], Some(4.0));
        assert_eq!(rate.end(0.5, 1000.0), 4.5);
        assert_eq!(rate.end(6.0, 1000.0), 9.0);
        assert_eq!(rate.end(400.0, 10_500.0), 440.5, "ten whole periods at once");
        assert_eq!(rate.bits_until(4.0), 1000.0);
        assert_eq!(rate.bits_until(9.5), 3000.0);
        assert_eq!(rate.bits_until(0.5), 500.0);
        assert_eq!(steps(&[(0.0, 8.0), (2.0, 1.0)], None).bits_until(10.0), 24.0);
    }

    /// Each once took for ever: a period below the spacing of floating-point numbers, and rates of next to nothing.
    #[test]
    fn no_time_and_no_rate_is_too_much_for_a_schedule() {
        assert_eq!(steps(&[(0.0, 1000.0), (1e-17, 10.0)], Some(2e-17)).end(5.0, 8000.0), f64::INFINITY);
        assert_eq!(steps(&[(0.0, 1000.0), (1.0, 10.0)], Some(2.0)).end(1e300, 8000.0), f64::INFINITY);
        assert_eq!(steps(&[(0.0, 1e-300), (1.0, 0.0)], Some(2.0)).end(0.0, 8000.0), f64::INFINITY);
        assert_eq!(steps(&[(0.0, 5e-324), (1e-3, 0.0)], Some(2.0)).end(0.0, 8000.0), f64::INFINITY);
        assert_eq!(steps(&[(0.0, 1000.0), (1.0, 0.0)], Some(2.0)).end(1e9, 500.0), 1e9 + 0.5);
    }

    #[test]
    fn no_time_is_too_much_for_a_trace() {
        assert_eq!(Opportunities::new(&[1]).end(1e300, 40), f64::INFINITY);
        assert_eq!(Opportunities::new(&[1, 2]).end(1e6, 40), 1e6);
    }

    /// A million opportunities in each millisecond, but one packet: the search must not go through them.
    #[test]
    fn a_trace_is_searched_and_not_walked() {
        let mut trace = Opportunities::new(&vec![1; 1_000_000]);
        for ms in 1..20_000 {
            assert_eq!(trace.end(f64::from(ms) / 1e3, 40), f64::from(ms) / 1e3);
        }
    }

    #[test]
    fn packets_share_opportunities_and_may_need_several() {
        let mut trace = Opportunities::new(&[1, 1, 5]);
        assert_eq!(trace.end(0.0, 1500), 0.001);
        assert_eq!(trace.end(0.001, 500), 0.001, "the second at 1 ms");
        assert_eq!(trace.end(0.001, 1000), 0.001, "what is left of it");
        assert_eq!(trace.end(0.001, 40), 0.005);
        assert_eq!(trace.end(0.0055, 3001), 0.010, "1500 at 6 ms, again at 6 ms, and one byte at 10 ms");
        assert_eq!(trace.end(1.0, 100), 1.0, "an opportunity at the very instant");
        assert_eq!(trace.end(1.002, 100), 1.005, "what came between is lost");
        assert_eq!((trace.count_until(0.0), trace.count_until(0.005), trace.count_until(0.0061)), (0, 3, 5));
    }

    #[test]
    fn nominal_rates_are_means() {
        assert_eq!(Rate::Constant(5e6).nominal(), 5e6);
        let steps = vec![(0.0, 100e6), (20.0, 10e6)];
        assert_eq!(Rate::Schedule { steps: steps.clone(), repeat: Some(40.0) }.nominal(), 55e6);
        assert_eq!(Rate::Schedule { steps: steps.clone(), repeat: None }.nominal(), 55e6);
        assert_eq!(Rate::Schedule { steps, repeat: Some(80.0) }.nominal(), 32.5e6);
        assert_eq!(Rate::Schedule { steps: vec![(0.0, 3e6)], repeat: None }.nominal(), 3e6);
        // Two opportunities in 3 ms: 24,000 bit.
        assert_eq!(Rate::Opportunities { at_ms: vec![1, 3] }.nominal().round(), 8e6);
    }

    #[test]
    fn loss_jitter_and_reordering_draw_from_their_own_streams() {
        let wire = Wire::new(8e6, 0.01);
        let plain = || Medium::new(&Rate::Constant(8e6));
        let stream = |what: &str| Generator::stream(1, what);
        let mut medium = plain().with_loss(LossPattern::Every(3), stream("loss"));
        let lost: Vec<bool> = (0..6).map(|i| medium.send(&wire, f64::from(i), 1000).arrival.is_none()).collect();
        assert_eq!((lost, medium.lost), (vec![false, false, true, false, false, true], 2));
        assert_eq!(medium.send(&wire, 7.0, 1000), Sent { end: 7.001, arrival: Some(7.0 + (0.001 + 0.01)) });

        let arrivals = |mut medium: Medium| -> Vec<Option<f64>> {
            (0..100).map(|i| medium.send(&wire, 0.01 * f64::from(i), 1000).arrival).collect()
        };
        let lossy = || plain().with_loss(LossPattern::Random(0.5), stream("loss"));
        let alone = arrivals(lossy());
        let jitter = |keeps_order| Jitter { low: 0.0, high: 0.5, keeps_order };
        let reorder = Reorder { probability: 0.5, delay: 0.5 };
        let all =
            arrivals(lossy().with_jitter(jitter(false), stream("jitter")).with_reorder(reorder, stream("reorder")));
        let which = |times: &[Option<f64>]| times.iter().map(Option::is_some).collect::<Vec<_>>();
        assert_eq!(which(&all), which(&alone), "the same packets are lost");
        let all: Vec<f64> = all.into_iter().flatten().collect();
        assert!(all.windows(2).any(|pair| pair[1] < pair[0]), "some overtake others");
        let ordered_medium = || lossy().with_jitter(jitter(true), stream("jitter"));
        let ordered: Vec<f64> = arrivals(ordered_medium()).into_iter().flatten().collect();
        assert!(ordered.windows(2).all(|pair| pair[1] >= pair[0]), "none overtakes another");
        assert_eq!(which(&arrivals(ordered_medium())), which(&alone));

        // What reordering delays is overtaken, and delays none of the others.
        let late = arrivals(ordered_medium().with_reorder(reorder, stream("reorder"))).into_iter().flatten();
        let mut of = [0, 0];
        for (late, kept) in late.zip(ordered) {
            assert!(late == kept || late == kept + reorder.delay, "{late} {kept}");
            of[usize::from(late > kept)] += 1;
        }
        assert!(of.iter().all(|&packets| packets > 10), "{of:?}");
    }
}
