//! Ports of the engine, analytic and stepped: both keep the same statistics and notify observers alike.

use super::analytic_port::{AnalyticPort, Answer};
use super::link::Link;
use super::order::Key;
use super::recorder::Recorder;
use crate::engine::network::{PortKind, PortSpec};
use crate::measure::QueueStats;
use earlydrop_aqm::catalogue::Built;
use earlydrop_aqm::gate::Counters;
use earlydrop_aqm::{Packet, Time};
use earlydrop_net::bands::Band;
use earlydrop_net::{port, Segment, Wire};

/// The two ways to run a port.
enum Runner {
    /// Departures are computed at arrival.
    Analytic(AnalyticPort),
    /// Arrivals and departures are events.
    Stepped(port::Port),
}

/// A queue with its statistics. The fields that every packet needs are in the first two cache lines.
#[repr(C, align(64))]
pub struct Port {
    recorder: Option<Box<Recorder>>,
    pub link: u32,
    runner: Runner,
    pub name: String,
    pub aqm: String,
}

impl Port {
    /// For a link of `rate_bps`, whose row is `link`.
    pub fn new(spec: PortSpec, link: u32, rate_bps: f64, analytic: bool) -> Port {
        let runner = match (spec.kind, analytic) {
            (PortKind::Fifo(fifo), true) => Runner::Analytic(AnalyticPort::new(fifo.into_gate(), rate_bps)),
            (PortKind::Fifo(fifo), false) => Runner::Stepped(port::Port::new(port::Queue::Fifo(fifo))),
            (PortKind::Discipline(discipline), _) => Runner::Stepped(port::Port::new(discipline)),
        };
        Port { recorder: None, link, runner, name: spec.name, aqm: spec.aqm }
    }

    /// The recorder; creates it if necessary.
    pub fn recorder(&mut self) -> &mut Recorder {
        self.recorder.get_or_insert_default()
    }

    /// A stepped port, and its recorder.
    #[inline(always)]
    pub fn stepped(&mut self) -> Option<(&mut port::Port, Option<&mut Recorder>)> {
        match &mut self.runner {
            Runner::Analytic(_) => None,
            Runner::Stepped(port) => Some((port, self.recorder.as_deref_mut())),
        }
    }

    /// An arrival at an analytic port, see [`AnalyticPort::arrive`].
    #[inline(always)]
    pub fn analytic_arrival(
        &mut self,
        wire: &Wire,
        segment: &Segment,
        packet: &mut Packet,
        now: f64,
        scheduled: f64,
    ) -> Answer {
        let Runner::Analytic(port) = &mut self.runner else {
            unreachable!("a stepped port gets its arrivals as events")
        };
        port.arrive(wire, segment, packet, now, scheduled, &mut self.recorder)
    }

    /// Packets in the queue.
    pub fn packets(&self) -> u64 {
        match &self.runner {
            Runner::Analytic(port) => port.packets(),
            Runner::Stepped(port) => port.packets(),
        }
    }

    /// Bytes in the queue.
    pub fn bytes(&self) -> u64 {
        match &self.runner {
            Runner::Analytic(port) => port.bytes(),
            Runner::Stepped(port) => port.bytes(),
        }
    }

    /// The discipline's inner values.
    pub fn gauges(&self, out: &mut dyn FnMut(&'static str, f64)) {
        match &self.runner {
            Runner::Analytic(port) => port.gauges(out),
            Runner::Stepped(port) => port.gauges(out),
        }
    }

    /// The packets that wait, see [`earlydrop_aqm::Discipline::waiting`].
    pub fn waiting(&self, out: &mut dyn FnMut(usize, &Packet)) {
        match &self.runner {
            Runner::Analytic(port) => port.waiting(out),
            Runner::Stepped(port) => port.waiting(out),
        }
    }

    /// The discipline goes on as `built`, see [`earlydrop_aqm::Discipline::change`].
    pub fn change(&mut self, built: Built) -> bool {
        match &mut self.runner {
            Runner::Analytic(port) => port.change(built),
            Runner::Stepped(port) => port.change(built),
        }
    }

    /// Statistics over the measured window.
    pub fn stats(&self) -> &QueueStats {
        match &self.runner {
            Runner::Analytic(port) => port.stats(),
            Runner::Stepped(port) => port.stats(),
        }
    }

    /// Histogram of the sojourn times before the end, see [`QueueStats::sojourn_histogram`].
    pub fn sojourn_histogram(&self) -> Vec<(u64, u64)> {
        match &self.runner {
            Runner::Analytic(port) => port.stats().sojourn_histogram(),
            Runner::Stepped(port) => port.sojourn_histogram(),
        }
    }

    /// The policy's averaged queue, packets.
    pub fn average(&self) -> Option<f64> {
        match &self.runner {
            Runner::Analytic(port) => port.average(),
            Runner::Stepped(port) => port.average(),
        }
    }

    /// Statistics of the discipline's groups of queues, by group.
    pub fn groups(&self) -> Vec<Vec<(&'static str, f64)>> {
        let mut groups = Vec::new();
        if let Runner::Stepped(port) = &self.runner {
            port.groups(&mut |group, name, value| {
                if groups.len() <= group {
                    groups.resize(group + 1, Vec::new());
                }
                groups[group].push((name, value));
            });
        }
        groups
    }

    /// Statistics of the parent of the discipline: class, or none for the whole, name, value.
    pub fn parent(&self) -> Vec<(Option<usize>, &'static str, f64)> {
        let mut found = Vec::new();
        if let Runner::Stepped(port) = &self.runner {
            port.parent(&mut |class, name, value| found.push((class, name, value)));
        }
        found
    }

    /// What passed the discipline's bands over the measured window.
    pub fn bands(&self) -> &[Band] {
        match &self.runner {
            Runner::Analytic(_) => &[],
            Runner::Stepped(port) => port.bands(),
        }
    }

    /// Counters over the measured window.
    pub fn counters(&self) -> &Counters {
        match &self.runner {
            Runner::Analytic(port) => port.counters(),
            Runner::Stepped(port) => port.counters(),
        }
    }

    /// Packets in the queue when the measured window started.
    pub fn queued_at_start(&self) -> u64 {
        match &self.runner {
            Runner::Analytic(port) => port.queued_at_start(),
            Runner::Stepped(port) => port.queued_at_start(),
        }
    }

    /// At an analytic port, removes every packet that has started before `now`.
    pub fn catch_up(&mut self, now: f64) {
        if let Runner::Analytic(port) = &mut self.runner {
            port.catch_up(now, 0.0, &mut self.recorder);
        }
    }

    /// The measured window starts.
    pub fn restart(&mut self, now: f64) {
        self.catch_up(now);
        match &mut self.runner {
            Runner::Analytic(port) => port.restart(now),
            Runner::Stepped(port) => port.restart(Time::from_seconds(now)),
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.restart();
        }
    }

    /// The run ends; takes the recorder.
    pub fn finish(&mut self, now: f64) -> Recorder {
        self.catch_up(now);
        match &mut self.runner {
            Runner::Analytic(port) => port.finish(now),
            Runner::Stepped(port) => port.finish(Time::from_seconds(now)),
        }
        let mut recorder = *self.recorder.take().unwrap_or_default();
        recorder.finish();
        recorder
    }

    /// Name, discipline and statistics, after [`Port::finish`].
    pub fn into_results(self) -> (String, String, QueueStats) {
        let stats = match self.runner {
            Runner::Analytic(port) => port.into_stats(),
            Runner::Stepped(port) => port.into_stats(),
        };
        (self.name, self.aqm, stats)
    }

    /// Time of the policy's timer.
    pub fn next_timer(&self) -> Option<Time> {
        match &self.runner {
            Runner::Analytic(port) => port.next_timer(),
            Runner::Stepped(port) => port.next_timer(),
        }
    }

    /// The policy's timer expires at the event `key`; `link` is the port's.
    pub fn on_timer(&mut self, link: &Link, key: Key) {
        match &mut self.runner {
            Runner::Analytic(port) => port.on_timer(&link.wire, key.now, key.scheduled, &mut self.recorder),
            Runner::Stepped(port) => {
                port.note_idle(|| link.free_since(key));
                port.on_timer(Time::from_seconds(key.now));
            }
        }
    }

    /// After a timer at `now`: runs the timers before `until`, up to which there is no event, if nothing changes at the
    /// queue meanwhile. Their number, and the time of the last; `None` if there is none.
    pub fn on_timers(&mut self, link: &Link, now: f64, until: f64) -> Option<(u64, Time)> {
        match &mut self.runner {
            Runner::Analytic(port) => port.on_timers(&link.wire, now, until),
            Runner::Stepped(port) if port.is_steady() => port.on_timers(Time::from_seconds(until)),
            Runner::Stepped(_) => None,
        }
    }
}

/// Memory addresses, for prefetching.
impl Port {
    /// Address of the discipline; 0 if the port is not stepped.
    pub fn discipline_address(&self) -> usize {
        match &self.runner {
            Runner::Analytic(_) => 0,
            Runner::Stepped(port) => port.discipline_address(),
        }
    }

    /// Visits the discipline's other memory that its next arrival or departure needs.
    #[inline(always)]
    pub fn memory(&self, leaving: bool, visit: &mut dyn FnMut(*const u8, usize)) {
        if let Runner::Stepped(port) = &self.runner {
            port.memory(leaving, visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use earlydrop_aqm::policy::Limit;
    use earlydrop_aqm::random::Generator;
    use earlydrop_aqm::{catalogue, params::Values};

    #[test]
    #[should_panic(expected = "gets its arrivals as events")]
    fn a_packet_at_the_wrong_kind_of_port_does_not_vanish() {
        let (limit, link) = (Limit::Packets(5), earlydrop_aqm::Link { rate_bps: 1e6, delay_s: 0.0 });
        let built = (catalogue::find("droptail").unwrap().build)(&Values::new(), &link, limit).unwrap();
        let kind = PortKind::new(built, limit, false, Generator::stream(1, "queue"));
        let mut port = Port::new(PortSpec { name: "a".into(), aqm: "droptail".into(), kind }, 0, 1e6, false);
        let segment = Segment::new(0, 1, 0, 1000);
        port.analytic_arrival(&Wire::new(1e6, 0.0), &segment, &mut Packet::new(0, 1000), 0.0, 0.0);
    }
}
