//! What several tests need: building a discipline from the catalogue, and a link that takes its packets.

#![allow(dead_code)]

use earlydrop_aqm::catalogue::Built;
use earlydrop_aqm::prelude::*;

/// Values from pairs.
pub fn values(pairs: &[(&'static str, Value)]) -> Values {
    Values::of(pairs)
}

/// The queue of `aqm`.
pub fn queue(
    aqm: &str,
    values: &Values,
    link: &Link,
    limit: Limit,
    ecn: bool,
    random: Generator,
) -> Box<dyn Discipline> {
    let spec = catalogue::find(aqm).unwrap_or_else(|| panic!("no discipline {aqm}"));
    let built = (spec.build)(values, link, limit).unwrap_or_else(|error| panic!("{aqm}: {error}"));
    match built {
        Built::Policy(policy) => Box::new(Fifo::new(Gate::new(policy, limit, ecn, random))),
        Built::Discipline(finish) => finish(ecn, random),
    }
}

/// The value of a gauge.
pub fn gauge(queue: &dyn Discipline, name: &str) -> f64 {
    let mut found = f64::NAN;
    queue.gauges(&mut |key, value| {
        if key == name {
            found = value;
        }
    });
    found
}

/// A queue in front of a link of constant rate. Times are added as ns-2 adds them: the end of a transmission is its
/// start plus 8 * bytes / rate.
pub struct OpenLoop {
    /// The queue.
    pub queue: Box<dyn Discipline>,
    rate_bps: f64,
    busy_until: Option<f64>,
    /// Packets that have left, oldest first.
    pub departed: Vec<Packet>,
    /// Packets that were dropped, oldest first.
    pub dropped: Vec<(Packet, Reason)>,
}

impl OpenLoop {
    pub fn new(queue: Box<dyn Discipline>, rate_bps: f64) -> Self {
        OpenLoop { queue, rate_bps, busy_until: None, departed: Vec::new(), dropped: Vec::new() }
    }

    /// All transmissions that end before `now` or at it, and the discipline's timers, in the order of their times.
    pub fn run_to(&mut self, now: f64) {
        loop {
            let end = self.busy_until.filter(|&end| end <= now);
            let due = self.queue.next_timer().filter(|due| due.seconds() <= now);
            match (end, due) {
                (_, Some(due)) if end.is_none_or(|end| due.seconds() < end) => self.queue.on_timer(due),
                (Some(end), _) => {
                    self.busy_until = None;
                    self.take(end);
                }
                (None, _) => return,
            }
        }
    }

    /// The free link asks for a packet.
    fn take(&mut self, now: f64) {
        let dropped = &mut self.dropped;
        let packet = self.queue.dequeue(Time::from_seconds(now), &mut |packet, reason| dropped.push((*packet, reason)));
        if let Some(packet) = packet {
            self.busy_until = Some(now + 8.0 * f64::from(packet.size) / self.rate_bps);
            self.departed.push(packet);
        }
    }

    /// An arrival after everything before it; whether it was admitted.
    pub fn arrive(&mut self, packet: Packet, now: f64) -> bool {
        self.run_to(now);
        let dropped = &mut self.dropped;
        let admitted =
            self.queue.enqueue(packet, Time::from_seconds(now), &mut |packet, reason| dropped.push((*packet, reason)));
        if self.busy_until.is_none() {
            self.take(now);
        }
        admitted.is_some()
    }
}
