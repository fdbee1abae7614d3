//! Loss statistics: the distance between losses of a flow, and how many flows lose packets at once (RFC 7928, 2.3 and
//! 2.4).

use crate::variation::{histogram, record};
use hdrhistogram::Histogram;
use std::sync::Arc;

/// The losses of a flow, in order of time.
#[derive(Clone, Debug, Default)]
pub struct Gaps {
    count: u64,
    first: f64,
    last: f64,
    /// Times between two losses, microseconds; allocated at the second loss.
    gaps: Option<Box<Histogram<u32>>>,
}

impl Gaps {
    /// A packet is lost at `now`, s.
    pub fn lost(&mut self, now: f64) {
        if self.count == 0 {
            self.first = now;
        } else {
            record(self.gaps.get_or_insert_with(|| Box::new(histogram())), now - self.last);
        }
        self.last = now;
        self.count += 1;
    }

    /// Packets lost.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// Times between consecutive losses of the same flow, over several flows.
pub struct GapsTogether {
    /// Mean, s.
    pub mean: f64,
    /// Distribution, microseconds.
    pub gaps: Histogram<u32>,
}

impl GapsTogether {
    /// The gaps of these flows; `None` if none of them lost two packets.
    pub fn of<'a>(flows: impl Iterator<Item = &'a Gaps>) -> Option<Self> {
        let mut gaps = histogram();
        let (mut sum, mut count) = (0.0, 0);
        for flow in flows {
            let Some(of_flow) = &flow.gaps else { continue };
            sum += flow.last - flow.first;
            count += flow.count - 1;
            // Both histograms grow as needed.
            let added = gaps.add(&**of_flow);
            debug_assert!(added.is_ok());
        }
        (count > 0).then(|| GapsTogether { mean: sum / count as f64, gaps })
    }
}

/// Packets that a flow sent and lost.
#[derive(Clone, Debug, Default)]
pub struct FlowLosses {
    /// Packets sent by its sender.
    pub sent: i64,
    /// Packets of these that were lost, and the gaps between losses.
    pub gaps: Gaps,
}

/// The flows that lose packets in the same loss event at a queue.
///
/// A loss event starts with a packet loss and lasts one RTT: it includes all losses within one RTT of the first. A flow
/// is active in it if one of its packets arrives or is lost meanwhile. Only packets of senders count, not ACKs.
#[derive(Clone, Debug)]
pub struct Synchronisation {
    /// Length of a loss event, s.
    rtt: f64,
    /// By flow: number of links of the forward path.
    out: Arc<[u8]>,
    /// Start of the current event, s, and the event's number, from 1.
    began: f64,
    number: u32,
    /// By flow: the last event in which it was active, and in which it lost packets.
    seen: Vec<(u32, u32)>,
    active: u32,
    losing: u32,
    events: u64,
    ratios: f64,
    losers: u64,
}

impl Synchronisation {
    /// No loss yet. `rtt` is the length of an event, s; `out` is by flow the number of links of the forward path.
    pub fn new(rtt: f64, out: Arc<[u8]>) -> Self {
        let seen = vec![(0, 0); out.len()];
        Synchronisation {
            rtt,
            out,
            began: f64::NEG_INFINITY,
            number: 0,
            seen,
            active: 0,
            losing: 0,
            events: 0,
            ratios: 0.0,
            losers: 0,
        }
    }

    /// The measured window starts.
    pub fn restart(&mut self) {
        *self = Synchronisation::new(self.rtt, self.out.clone());
    }

    fn is_data(&self, flow: u32, hop: usize) -> bool {
        hop < usize::from(self.out[flow as usize])
    }

    /// A packet of `flow` arrives at `now`, at the `hop`-th link of the flow's route.
    pub fn arrived(&mut self, now: f64, flow: u32, hop: usize) {
        if now - self.began < self.rtt && self.is_data(flow, hop) {
            self.see(flow);
        }
    }

    /// A packet of `flow` is lost at `now`.
    pub fn lost(&mut self, now: f64, flow: u32, hop: usize) {
        if !self.is_data(flow, hop) {
            return;
        }
        if self.number == 0 || now - self.began >= self.rtt {
            self.finish();
            self.number += 1;
            self.began = now;
        }
        self.see(flow);
        let seen = &mut self.seen[flow as usize];
        self.losing += u32::from(seen.1 != self.number);
        seen.1 = self.number;
    }

    fn see(&mut self, flow: u32) {
        let seen = &mut self.seen[flow as usize];
        self.active += u32::from(seen.0 != self.number);
        seen.0 = self.number;
    }

    /// Counts the current event: the next one starts, or the run ends.
    pub fn finish(&mut self) {
        if self.active > 0 {
            self.events += 1;
            self.losers += u64::from(self.losing);
            self.ratios += f64::from(self.losing) / f64::from(self.active);
        }
        (self.active, self.losing) = (0, 0);
    }

    /// Length of a loss event, s.
    pub fn rtt(&self) -> f64 {
        self.rtt
    }

    /// Number of events; after [`finish`](Self::finish).
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Flows with losses divided by active flows, mean over the events.
    pub fn mean(&self) -> Option<f64> {
        (self.events > 0).then(|| self.ratios / self.events as f64)
    }

    /// Flows with losses in an event, mean over the events.
    pub fn mean_losing(&self) -> Option<f64> {
        (self.events > 0).then(|| self.losers as f64 / self.events as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(times: &[f64]) -> Gaps {
        let mut gaps = Gaps::default();
        times.iter().for_each(|&now| gaps.lost(now));
        gaps
    }

    /// Losses at 1, 1.5 and 4 s: gaps of 0.5 and 2.5 s, mean 1.5.
    #[test]
    fn gaps_by_hand() {
        let one = gaps(&[1.0, 1.5, 4.0]);
        let found = GapsTogether::of(std::iter::once(&one)).expect("two gaps");
        assert_eq!((one.count(), found.mean, found.gaps.len()), (3, 1.5, 2));
        for (q, us) in [(0.5, 500_000), (0.51, 2_500_000)] {
            assert!(found.gaps.value_at_quantile(q).abs_diff(us) <= us / 1000);
        }
        // Together with a flow that lost at 0 and 0.1 s, and one that lost once: three gaps, 3.1 s in total.
        let flows = [one, gaps(&[0.0, 0.1]), gaps(&[7.0])];
        let found = GapsTogether::of(flows.iter()).expect("three gaps");
        assert!((found.mean - 3.1 / 3.0).abs() < 1e-12 && found.gaps.len() == 3);
        assert!(GapsTogether::of(flows[2..].iter()).is_none(), "one loss has no gap");
    }

    /// Flows with forward paths of one link; hops from 1 on are on the reverse path.
    fn four_flows(rtt: f64) -> Synchronisation {
        Synchronisation::new(rtt, Arc::from(&[1, 1, 1, 1][..]))
    }

    /// One event from 1 s on with three active flows of which two lose packets, one of them twice; then an event of a
    /// single loss.
    #[test]
    fn two_events_by_hand() {
        let mut queue = four_flows(0.1);
        queue.arrived(0.95, 3, 0);
        queue.arrived(1.0, 0, 0);
        queue.lost(1.0, 0, 0);
        queue.arrived(1.02, 1, 0);
        queue.arrived(1.03, 2, 0);
        queue.lost(1.03, 2, 0);
        queue.lost(1.04, 0, 0);
        queue.arrived(1.05, 3, 1);
        queue.lost(1.06, 3, 1);
        // The second event starts one RTT after the first.
        queue.lost(1.1, 1, 0);
        queue.finish();
        assert_eq!((queue.events(), queue.mean()), (2, Some((2.0 / 3.0 + 1.0) / 2.0)));
        assert_eq!(queue.mean_losing(), Some(1.5));
    }

    #[test]
    fn an_event_lasts_less_than_a_round_trip() {
        let mut queue = four_flows(0.25);
        // Losses less than an RTT after the first are in its event; a loss one RTT after it is not.
        for (now, flow) in [(0.0, 0), (0.125, 1), (0.249, 2), (0.25, 3)] {
            queue.lost(now, flow, 0);
        }
        queue.finish();
        assert_eq!((queue.events(), queue.mean(), queue.mean_losing()), (2, Some(1.0), Some(2.0)));
    }

    #[test]
    fn without_losses_there_is_no_event() {
        let mut queue = four_flows(0.1);
        queue.arrived(0.0, 0, 0);
        queue.finish();
        assert_eq!((queue.events(), queue.mean(), queue.mean_losing()), (0, None, None));
        queue.lost(1.0, 0, 0);
        queue.restart();
        queue.finish();
        assert_eq!(queue.events(), 0);
    }
}
