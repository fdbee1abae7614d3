//! Measurement during a run: the window, the series, end-to-end delays and losses.

use super::Engine;
use crate::engine::outcome::Gauges;
use crate::engine::state::end_to_end::sent;
use crate::engine::state::net::Rare;
use crate::events::{Event, EventQueue, Kind};
use crate::losses::{FlowLosses, Synchronisation};
use earlydrop_net::Segment;

/// Notes the inner value `name` in sample number `count`, counted from 1.
fn note_gauge(gauges: &mut Gauges, count: usize, name: &'static str, value: f64) {
    let at = gauges.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
        gauges.push((name, Vec::new()));
        gauges.len() - 1
    });
    let values = &mut gauges[at].1;
    values.resize(count - 1, f64::NAN);
    values.push(value);
}

impl<Q: EventQueue> Engine<Q> {
    /// Starts the measured window: resets all counters.
    pub(super) fn start_window(&mut self, now: f64) {
        self.answers_until = self.settings.duration;
        for port in self.net.ports.iter_mut() {
            port.restart(now);
        }
        self.losses_by_distance.clear();
        self.media.iter_mut().for_each(|(_, medium)| medium.lost = 0);
        for arrivals in self.net.arrivals.iter_mut() {
            (arrivals.drops, arrivals.marks) = (0, 0);
        }
        let before = self.net.flows.iter().map(|flow| Rare {
            retransmits_before: flow.sender.retransmits(),
            timeouts_before: flow.sender.timeouts(),
            ..Rare::default()
        });
        self.rare = before.collect();
        self.restart_losses();
        self.applications.restart();
    }

    /// Takes sample `index` of the series, and schedules the next.
    pub(super) fn sample(&mut self, now: f64, index: i32) {
        let Some(series) = &mut self.series else { return };
        series.time.push(now);
        for (i, port) in self.net.ports.iter_mut().enumerate() {
            port.catch_up(now);
            series.packets[i].push(port.packets());
            series.average[i].push(port.average().unwrap_or(f64::NAN));
            series.dropped[i].push(port.counters().drops());
            if let Some(gauges) = series.gauges.get_mut(i) {
                port.gauges(&mut |name, value| note_gauge(gauges, series.time.len(), name, value));
                // What was not there this time.
                gauges.iter_mut().for_each(|(_, values)| values.resize(series.time.len(), f64::NAN));
            }
        }
        for (values, &flow) in series.senders.iter_mut().zip(&self.settings.cwnd_flows) {
            let sender = &self.net.flows[flow as usize].sender;
            values.cwnd.push(sender.cwnd());
            values.srtt.push(sender.srtt().unwrap_or(f64::NAN));
            let bits = 8.0 * f64::from(self.specs.kind(flow).payload);
            values.pacing.push(sender.pacing_rate().map_or(f64::NAN, |rate| rate * bits));
            if !series.gauges.is_empty() {
                let gauges = &mut values.gauges;
                sender.inner(&mut |name, value| note_gauge(gauges, series.time.len(), name, value));
                gauges.iter_mut().for_each(|(_, values)| values.resize(series.time.len(), f64::NAN));
            }
        }
        let interval = self.settings.series.unwrap_or(f64::INFINITY);
        self.counter += 1;
        let segment = Segment::new(0, index + 1, 0, 0);
        let next = f64::from(index + 1) * interval;
        self.queue.push(Event::new(next, 0.0, 0, self.counter, Kind::Sample, segment), 3);
    }

    /// Whether receivers record more than counters.
    pub(super) fn watches_receivers(&self) -> bool {
        self.rates.is_some() || self.notes_delays()
    }

    /// Whether receivers record delays.
    #[inline(always)]
    pub(super) fn notes_delays(&self) -> bool {
        !self.variations.is_empty() || !self.packet_delays.is_empty()
    }

    /// Creates recorders where losses are measured; `rtts` are the lengths of a loss event at each port, s.
    pub(super) fn watch_losses(&mut self, rtts: &[f64]) {
        let Some(losses) = &self.losses else { return };
        for (port, &rtt) in self.net.ports.iter_mut().zip(rtts) {
            port.recorder().synchronisation = Some(Synchronisation::new(rtt, losses.out.clone()));
        }
    }

    /// Starts the measured window.
    fn restart_losses(&mut self) {
        let Some(losses) = &mut self.losses else { return };
        for (of_flow, flow) in losses.flows.iter_mut().zip(self.net.flows.iter()) {
            *of_flow = FlowLosses { sent: -sent(&flow.sender), ..FlowLosses::default() };
        }
    }

    /// A data segment reaches its receiver at `now`; records its delay if delays are measured.
    #[inline(never)]
    pub(super) fn note_delay(&mut self, segment: Segment, now: f64) {
        if now >= self.settings.duration {
            return;
        }
        let age = segment.age_ticks(Segment::stamp(now, self.ticks_per_second));
        if let Some(at) = self.settings.delay_flows.iter().position(|&flow| flow == segment.flow()) {
            let delay = f64::from(age) / self.ticks_per_second;
            self.packet_delays[at].push((now - delay, delay));
        }
        let Some(variation) = self.variations.get_mut(segment.flow() as usize) else { return };
        if now >= self.settings.warmup {
            variation.record(age);
        }
    }
}
