//! Between events: what can be read of queues and flows, and other parameters for a discipline.

use super::Engine;
use crate::engine::outcome::Series;
use crate::engine::packet_log::PacketLog;
use crate::events::EventQueue;
use earlydrop_aqm::catalogue::Built;
use earlydrop_aqm::gate::Counters;

/// A queue between two events.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueState {
    /// Packets that wait; the one in transmission does not.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The averaged queue, packets, where the discipline keeps one.
    pub average: Option<f64>,
    /// The discipline's inner values, by name.
    pub gauges: Vec<(&'static str, f64)>,
    /// Counts since the start of the run, or of the measured window once that has started.
    pub counters: Counters,
    /// Mean number of packets that waited, over the same time.
    pub mean_packets: f64,
    /// Mean sojourn time of the packets that departed, s, over the same time; 0 if none did.
    pub mean_sojourn: f64,
}

/// A flow between two events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowState {
    /// Congestion window, segments; 0 without TCP.
    pub cwnd: f64,
    /// Slow start threshold, segments; infinite where there is none yet, 0 without TCP.
    pub ssthresh: f64,
    /// Smoothed round-trip time, s, once there is a sample.
    pub srtt: Option<f64>,
    /// Payload received in order since the start of the measured window, bytes; without feedback all that was received.
    pub delivered_bytes: u64,
    /// Data segments received since the start of the measured window, duplicates included.
    pub received: u64,
    /// Those in order.
    pub in_order: u64,
    /// Retransmitted segments since the start of the connection.
    pub retransmits: u32,
    /// Timeouts since the start of the connection.
    pub timeouts: u32,
    /// Drops at queues, counted anew from the start of the measured window.
    pub drops: u32,
    /// Marks at queues, over the same time.
    pub marks: u32,
}

impl<Q: EventQueue> Engine<Q> {
    /// Port number `port` at `now`, before the events at that time.
    pub fn queue_state(&mut self, port: usize, now: f64) -> QueueState {
        let port = &mut self.net.ports[port];
        port.catch_up(now);
        let mut gauges = Vec::new();
        port.gauges(&mut |name, value| gauges.push((name, value)));
        QueueState {
            packets: port.packets(),
            bytes: port.bytes(),
            average: port.average(),
            gauges,
            counters: *port.counters(),
            mean_packets: port.stats().mean_at(now, port.packets()),
            mean_sojourn: port.stats().mean_sojourn(),
        }
    }

    /// The packets that wait at port number `port` at `now`, before the events at that time: the number of the queue that
    /// each is in, its flow (from 0) and its bytes; the oldest of a queue first.
    pub fn waiting(&mut self, port: usize, now: f64) -> Vec<(usize, u64, u32)> {
        let port = &mut self.net.ports[port];
        port.catch_up(now);
        let mut found = Vec::with_capacity(port.packets() as usize);
        port.waiting(&mut |queue, packet| found.push((queue, packet.flow, packet.size)));
        found
    }

    /// The series sampled so far, if any are recorded.
    pub fn series(&self) -> Option<&Series> {
        self.series.as_ref()
    }

    /// Number of flows.
    pub fn flows(&self) -> usize {
        self.net.flows.len()
    }

    /// Flow number `flow`. Exact if every link is stepped; analytic links may be ahead of the time.
    pub fn flow_state(&self, flow: usize) -> FlowState {
        let arrivals = &self.net.arrivals[flow];
        let sender = &self.net.flows[flow].sender;
        let spec = self.specs.kind(flow as u32);
        let tcp = spec.interval.is_none();
        let delivered = match (self.datagrams(flow), self.payloads.counted(flow, spec)) {
            (Some((_, bytes)), _) | (None, Some((bytes, _))) => bytes,
            (None, None) => u64::from(arrivals.in_order) * u64::from(spec.payload),
        };
        FlowState {
            cwnd: if tcp { sender.cwnd() } else { 0.0 },
            ssthresh: if tcp { sender.ssthresh() } else { 0.0 },
            srtt: sender.srtt().filter(|_| tcp),
            delivered_bytes: delivered,
            received: u64::from(arrivals.received),
            in_order: u64::from(self.payloads.segments(flow, spec).unwrap_or(arrivals.in_order)),
            retransmits: sender.retransmits(),
            timeouts: sender.timeouts(),
            drops: arrivals.drops,
            marks: arrivals.marks,
        }
    }

    /// Packets over UDP that a flow has sent, and payload received, bytes, within the window.
    pub(super) fn datagrams(&self, flow: usize) -> Option<(u64, u64)> {
        self.sources.counted(flow).or_else(|| self.rtp.counted(flow)).or_else(|| self.outside.counted(flow))
    }

    /// Histogram of the sojourn times at port number `port` up to `now`, see
    /// [`QueueStats::sojourn_histogram`](crate::measure::QueueStats::sojourn_histogram).
    pub fn sojourns(&mut self, port: usize, now: f64) -> Vec<(u64, u64)> {
        let port = &mut self.net.ports[port];
        port.catch_up(now);
        port.sojourn_histogram()
    }

    /// Number of events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The time of the next event, s; `None` after the last of the run.
    pub fn next_time(&mut self) -> Option<f64> {
        let time = self.queue.next_time(&mut self.net);
        (time < self.settings.duration.to_bits()).then(|| f64::from_bits(time))
    }

    /// From now on keeps the latest `capacity` packet events at port number `port`.
    pub fn watch(&mut self, port: usize, capacity: usize) {
        let log = PacketLog::new(capacity, self.net.flows.len());
        self.net.ports[port].recorder().log = Some(Box::new(log));
    }

    /// The packet events at port number `port`, up to `now`; `None` if they are not watched.
    pub fn packets(&mut self, port: usize, now: f64) -> Option<&mut PacketLog> {
        let port = &mut self.net.ports[port];
        port.catch_up(now);
        port.recorder().log.as_deref_mut()
    }

    /// The link behind port number `port` has another rate, bit/s, from its next transmission on, or another delay, s,
    /// with which no packet overtakes another; its rate does not vary.
    pub fn change_link(&mut self, port: usize, rate_bps: Option<f64>, delay_s: Option<f64>) {
        let link = self.net.ports[port].link;
        let wire = &mut self.net.links[link as usize].wire;
        wire.rate_bps = rate_bps.unwrap_or(wire.rate_bps);
        let Some(delay_s) = delay_s else { return };
        wire.delay_s = delay_s;
        if let Ok(at) = self.media.binary_search_by_key(&link, |&(link, _)| link) {
            self.media[at].1.keep_order_from_now(0.0);
        }
    }

    /// The discipline of port number `port` goes on as `built`, which is the same with other parameters; whether it
    /// can. If not, nothing changes.
    pub fn change(&mut self, port: usize, now: f64, built: Built) -> bool {
        let port = &mut self.net.ports[port];
        port.catch_up(now);
        port.change(built)
    }
}
