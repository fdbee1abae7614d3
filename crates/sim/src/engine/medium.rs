//! What a link does to packets beyond one rate and one delay: rates that change, loss, jitter, reordering.
//!
//! Everything is settled when a packet begins to be sent, in the order in which the link sends, so that a link draws the
//! same numbers however events are kept.

use crate::scenario::InjectedRandom;
use crate::topology::{Jitter, LinkSpec, LossPattern, Rate, Reorder, OPPORTUNITY_BYTES};
use earlydrop_aqm::random::Generator;
use earlydrop_net::Wire;

/// What a link is beside its [`Wire`]. Each of its random choices has a stream of its own.
pub struct Medium {
    rate: Varying,
    loss: Option<(LossPattern, Generator, u64)>,
    jitter: Option<(Jitter, Generator)>,
    reorder: Option<(Reorder, Generator)>,
    /// Latest arrival so far.
    latest: f64,
    /// Packets lost in the measured window.
    pub lost: u64,
}

/// A transmission: when it ends, and when the packet arrives unless it is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    /// When the link is free again, s; infinite if its rate stays 0.
    pub end: f64,
    /// When the packet is at the other end, s.
    pub arrival: Option<f64>,
}

impl Medium {
    /// The medium of `link`, whose name is part of its streams' names; `None` for a plain link.
    pub fn new(link: &LinkSpec, name: &str, seed: u64) -> Option<Medium> {
        if link.is_plain() {
            return None;
        }
        let stream = |what: &str| Generator::stream(seed, &format!("link.{name}.{what}"));
        Some(Medium {
            rate: Varying::new(&link.rate),
            loss: link.loss.as_ref().map(|loss| {
                let random = match loss.random {
                    None => stream("loss"),
                    Some(InjectedRandom::Mrg32k3a { seed, skip }) => Generator::ns2(seed, skip),
                };
                (loss.pattern, random, 0)
            }),
            jitter: link.jitter.map(|jitter| (jitter, stream("jitter"))),
            reorder: link.reorder.map(|reorder| (reorder, stream("reorder"))),
            latest: 0.0,
            lost: 0,
        })
    }

    /// The link begins to send `bytes` at `start`.
    pub fn send(&mut self, wire: &Wire, start: f64, bytes: u16) -> Sent {
        let (end, mut arrival) = match &mut self.rate {
            Varying::Constant => (start + wire.transmission(bytes), wire.arrival(start, bytes)),
            Varying::Steps(steps) => {
                let end = steps.end(start, 8.0 * f64::from(bytes));
                (end, end + wire.delay_s)
            }
            Varying::Opportunities(trace) => {
                let end = trace.end(start, u32::from(bytes));
                (end, end + wire.delay_s)
            }
        };
        if let Some((pattern, random, count)) = &mut self.loss {
            let lost = match *pattern {
                LossPattern::Random(probability) => random.uniform() < probability,
                LossPattern::Every(every) => {
                    *count += 1;
                    *count % every == 0
                }
            };
            if lost {
                self.lost += 1;
                return Sent { end, arrival: None };
            }
        }
        if let Some((jitter, random)) = &mut self.jitter {
            arrival += jitter.low + (jitter.high - jitter.low) * random.uniform();
            if jitter.keeps_order {
                arrival = arrival.max(self.latest);
            }
        }
        if let Some((reorder, random)) = &mut self.reorder {
            if random.uniform() < reorder.probability {
                arrival += reorder.delay;
            }
        }
        self.latest = self.latest.max(arrival);
        Sent { end, arrival: arrival.is_finite().then_some(arrival) }
    }

    /// What it can send between two times, bit/s on average; `None` where its rate never changes.
    pub fn mean_rate(&self, from: f64, to: f64) -> Option<f64> {
        match &self.rate {
            Varying::Constant => None,
            Varying::Steps(steps) => Some((steps.bits_until(to) - steps.bits_until(from)) / (to - from)),
            Varying::Opportunities(trace) => {
                let bytes = f64::from(OPPORTUNITY_BYTES) * (trace.count_until(to) - trace.count_until(from)) as f64;
                Some(8.0 * bytes / (to - from))
            }
        }
    }
}

enum Varying {
    /// As the wire says.
    Constant,
    Steps(Steps),
    Opportunities(Opportunities),
}

impl Varying {
    fn new(rate: &Rate) -> Self {
        match rate {
            Rate::Constant(_) => Varying::Constant,
            Rate::Schedule { steps, repeat } => Varying::Steps(Steps::new(steps.clone(), *repeat)),
            Rate::Opportunities { at_ms } => Varying::Opportunities(Opportunities::new(at_ms)),
        }
    }
}

/// A rate that is constant between given times. A transmission goes on through a change: each part of the packet takes as
/// long as the rate of that moment makes it take.
struct Steps {
    /// From when on (s, the first 0) at which rate, bit/s.
    steps: Vec<(f64, f64)>,
    /// Period, s; infinite without one.
    period: f64,
    bits_per_period: f64,
    /// Where the latest transmission began.
    at: Place,
}

/// A step of a period.
#[derive(Clone, Copy, PartialEq)]
struct Place {
    period: f64,
    step: usize,
}

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

    /// When a step ends, from the begin of its period.
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

    /// When `bits` have been sent that begin at `start`, which is not before any earlier one.
    fn end(&mut self, start: f64, mut bits: f64) -> f64 {
        if self.end_of(self.at) <= start && self.period.is_finite() {
            let period = (start / self.period).floor();
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
                bits -= whole * self.bits_per_period;
                at.period += whole;
                now = at.period * self.period;
            }
        }
    }

    /// Bits it can have sent by `time`.
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

/// Delivery opportunities, each for [`OPPORTUNITY_BYTES`]. Packets share one as far as it reaches, and a packet may need
/// several; what is left of one when no packet is there is lost.
struct Opportunities {
    at_ms: Vec<u64>,
    period_ms: u64,
    /// The opportunity in use: period and place, and what is left of it.
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

    /// When the last of `bytes` leaves that may begin to leave at `start`.
    fn end(&mut self, start: f64, mut bytes: u32) -> f64 {
        if self.now() < start {
            let period = (start * 1e3 / self.period_ms as f64) as u64;
            // One before, for the sake of rounding.
            if period > self.period + 1 {
                (self.period, self.place, self.left) = (period - 1, 0, OPPORTUNITY_BYTES);
            }
            while self.now() < start {
                self.advance();
            }
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

    /// Opportunities up to `time`.
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
    use crate::topology::{Delays, Loss};

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
    fn loss_jitter_and_reordering_draw_from_their_own_streams() {
        let wire = Wire::new(8e6, 0.01);
        let mut link = LinkSpec::new(Rate::Constant(8e6), Delays::Same(0.01));
        assert!(Medium::new(&link, "x", 1).is_none(), "a plain link has none");
        link.loss = Some(Loss { pattern: LossPattern::Every(3), random: None });
        let mut medium = Medium::new(&link, "x", 1).expect("lossy");
        let lost: Vec<bool> = (0..6).map(|i| medium.send(&wire, f64::from(i), 1000).arrival.is_none()).collect();
        assert_eq!((lost, medium.lost), (vec![false, false, true, false, false, true], 2));
        assert_eq!(medium.send(&wire, 7.0, 1000), Sent { end: 7.001, arrival: Some(7.0 + (0.001 + 0.01)) });

        link.loss = Some(Loss { pattern: LossPattern::Random(0.5), random: None });
        let alone: Vec<bool> = {
            let mut medium = Medium::new(&link, "x", 1).expect("lossy");
            (0..100).map(|i| medium.send(&wire, f64::from(i), 1000).arrival.is_some()).collect()
        };
        link.jitter = Some(Jitter { low: 0.0, high: 0.5, keeps_order: false });
        link.reorder = Some(Reorder { probability: 0.5, delay: 0.5 });
        let mut medium = Medium::new(&link, "x", 1).expect("lossy");
        let arrivals: Vec<Option<f64>> =
            (0..100).map(|i| medium.send(&wire, 0.01 * f64::from(i), 1000).arrival).collect();
        assert_eq!(arrivals.iter().map(Option::is_some).collect::<Vec<_>>(), alone, "the same packets are lost");
        let arrivals: Vec<f64> = arrivals.into_iter().flatten().collect();
        assert!(arrivals.windows(2).any(|pair| pair[1] < pair[0]), "some overtake others");
        link.jitter = Some(Jitter { low: 0.0, high: 0.5, keeps_order: true });
        link.reorder = None;
        let mut medium = Medium::new(&link, "x", 1).expect("lossy");
        let arrivals: Vec<f64> =
            (0..100).filter_map(|i| medium.send(&wire, 0.01 * f64::from(i), 1000).arrival).collect();
        assert!(arrivals.windows(2).all(|pair| pair[1] >= pair[0]), "none overtakes another");
    }
}
