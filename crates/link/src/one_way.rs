//! One direction of a link in virtual time: a port, a transmitter, a loss model, a delay line.
//!
//! Time is an argument, never read from a clock. Events happen at their exact times, however late the caller is: a
//! transmission starts when the one before it ends, so lateness of the machine does not accumulate. Simultaneous events
//! have the simulator's order: earlier scheduled first, timers before ends of transmission, arrivals last.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use earlydrop_aqm::catalogue::Built;
use earlydrop_aqm::policy::Policy;
use earlydrop_aqm::{Discipline, Packet, Time};
use earlydrop_net::measure::QueueStats;
use earlydrop_net::medium::{Medium, Rate};
use earlydrop_net::port::{Departure, Next, Observer, Port};
use earlydrop_net::Wire;

use crate::seconds::Seconds;

/// What one direction consists of.
pub struct OneWaySpec {
    /// The queue.
    pub queue: Box<dyn Discipline>,
    /// Rate, bit/s; the medium has it if it varies.
    pub rate_bps: f64,
    /// Propagation delay, s.
    pub delay_s: f64,
    /// Varying rate or delay, loss, reordering.
    pub medium: Option<Medium>,
}

/// Is told what happens to packets at the port and beyond it.
pub trait OneWayObserver: Observer {
    /// The transmission of `packet` has started; it reaches the other end at `arrival`, unless it is lost.
    fn sent(&mut self, _packet: &Packet, _arrival: Option<Time>) {}
}

/// A packet that reaches the other end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delivery {
    /// Arrival time.
    pub at: Time,
    /// Start and end of its transmission.
    pub sent: (Time, Time),
    /// The packet.
    pub packet: Packet,
}

/// What of a direction changes while it runs.
#[derive(Default)]
pub struct Change {
    /// The rate from the next transmission on, bit/s.
    pub rate_bps: Option<f64>,
    /// The propagation delay of the packets that are sent from now on, s. None of them overtakes another.
    pub delay_s: Option<f64>,
    /// The queue's policy with other parameters.
    pub policy: Option<Box<dyn Policy>>,
}

/// A packet in transmission or on the delay line.
struct InFlight {
    delivery: Delivery,
    number: u64,
}

impl InFlight {
    fn key(&self) -> (Time, u64) {
        (self.delivery.at, self.number)
    }
}

impl PartialEq for InFlight {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for InFlight {}

impl PartialOrd for InFlight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for InFlight {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// A scheduled event: its time, and when it was scheduled.
type Event = (Time, Time);

/// One direction of a link.
pub struct OneWay {
    port: Port,
    wire: Wire,
    medium: Option<Medium>,
    /// The end of the current transmission, if the port asked to be told.
    end: Option<Event>,
    /// The discipline's timer.
    timer: Option<Event>,
    in_flight: BinaryHeap<Reverse<InFlight>>,
    sent: u64,
    lost: u64,
    /// Whether packets may wait in front of the queue, to be read by a caller who is behind.
    outside: bool,
    seconds: Seconds,
    /// When the rate has changed, and what it was until then.
    rates: Vec<(f64, f64)>,
}

impl OneWay {
    /// A direction that has been idle since time zero.
    pub fn new(spec: OneWaySpec) -> OneWay {
        let port = Port::new(spec.queue);
        let timer = port.next_timer().map(|time| (time, Time::ZERO));
        OneWay {
            port,
            wire: Wire::new(spec.rate_bps, spec.delay_s),
            medium: spec.medium,
            end: None,
            timer,
            in_flight: BinaryHeap::new(),
            sent: 0,
            lost: 0,
            outside: false,
            seconds: Seconds::new(),
            rates: Vec::new(),
        }
    }

    /// Changes what `change` says at `now`, after all events up to and at that time; whether it can. If not, nothing has
    /// changed.
    pub fn change(&mut self, change: Change, now: Time, observer: &mut impl OneWayObserver) -> bool {
        self.advance(now, observer);
        let Change { rate_bps, delay_s, policy } = change;
        if policy.is_some_and(|policy| !self.port.change(Built::Policy(policy))) {
            return false;
        }
        if let Some(rate_bps) = rate_bps {
            self.rates.push((now.seconds(), self.wire.rate_bps));
            self.wire.rate_bps = rate_bps;
        }
        if let Some(delay_s) = delay_s {
            let latest = self.in_flight.iter().map(|one| one.0.delivery.at).max().unwrap_or(Time::ZERO);
            let medium = self.medium.get_or_insert_with(|| Medium::new(&Rate::Constant(self.wire.rate_bps)));
            medium.keep_order_from_now(latest.seconds());
            self.wire.delay_s = delay_s;
        }
        true
    }

    /// Runs all events due up to and at `now`.
    pub fn advance(&mut self, now: Time, observer: &mut impl OneWayObserver) {
        loop {
            let timer = self.timer.filter(|&(time, _)| time <= now);
            let end = self.end.filter(|&(time, _)| time <= now);
            match (timer, end) {
                (None, None) => return,
                (Some(timer), end) if end.is_none_or(|end| timer <= end) => self.on_timer(timer),
                (_, Some((time, _))) => {
                    self.end = None;
                    self.port.on_transmission_end(time);
                    self.dequeue(time, observer);
                }
                (Some(timer), None) => self.on_timer(timer),
            }
        }
    }

    /// `packet` arrives at `now`, which is not before the time of any earlier call.
    pub fn arrive(&mut self, packet: Packet, now: Time, observer: &mut impl OneWayObserver) {
        self.advance(now, observer);
        // `advance` has run every event up to `now`, and a transmission that ends now ends before the arrival.
        let free = Time::from_seconds(self.wire.free);
        self.port.note_idle(|| (free <= now).then_some(free));
        match self.port.arrive(packet, now, observer) {
            Next::Dequeue => self.dequeue(now, observer),
            Next::ScheduleEnd => self.schedule_end(),
            Next::Nothing => {}
        }
        self.note_waiting(now);
    }

    /// From `now` on packets may wait in front of the queue (`waiting`), or none does: the caller has taken all.
    pub fn outside(&mut self, now: Time, waiting: bool) {
        self.outside = waiting;
        self.note_waiting(now);
    }

    /// The next packet that has reached the other end by `now`.
    pub fn deliver(&mut self, now: Time) -> Option<Delivery> {
        let first = self.in_flight.peek()?;
        if first.0.delivery.at > now {
            return None;
        }
        self.in_flight.pop().map(|first| first.0.delivery)
    }

    /// When to call [`OneWay::advance`] and [`OneWay::deliver`] again so that no delivery is late, unless a packet
    /// arrives before: at the next delivery, or at the earliest possible delivery of the packet transmitted next.
    pub fn next_delivery(&self) -> Option<Time> {
        let known = self.in_flight.peek().map(|first| first.0.delivery.at);
        let next = self.end.filter(|_| self.port.packets() > 0).map(|(time, _)| time + self.wire.delay_s);
        match (known, next) {
            (Some(known), Some(next)) => Some(known.min(next)),
            (known, next) => known.or(next),
        }
    }

    fn on_timer(&mut self, (now, scheduled): Event) {
        let ended = (self.wire.free, self.wire.started) < (now.seconds(), scheduled.seconds());
        let free = self.wire.free;
        self.port.note_idle(|| ended.then(|| Time::from_seconds(free)));
        self.port.on_timer(now);
        self.timer = self.port.next_timer().map(|time| (time, now));
    }

    /// The transmitter is ready: it takes the next packet, or the link becomes idle.
    fn dequeue(&mut self, now: Time, observer: &mut impl OneWayObserver) {
        let before = self.port.held_until();
        let departure = self.port.dequeue(now, observer);
        self.note_waiting(now);
        let Some(Departure { packet, wants_end }) = departure else {
            if self.port.held_until() != before {
                self.end = self.port.held_until().map(|until| (until, now));
            }
            if let Some(until) = self.port.held_until() {
                self.seconds.held(now.seconds(), until.seconds());
            }
            return;
        };
        self.end = None;
        let bytes = packet.size.min(u32::from(u16::MAX)) as u16;
        let arrival = match &mut self.medium {
            None => Some(self.wire.send(now.seconds(), bytes)),
            Some(medium) => {
                let sent = medium.send(&self.wire, now.seconds(), bytes);
                (self.wire.started, self.wire.free) = (now.seconds(), sent.end);
                sent.arrival
            }
        };
        if wants_end {
            self.schedule_end();
        }
        let end = Time::from_seconds(self.wire.free);
        let arrival = arrival.map(Time::from_seconds);
        observer.sent(&packet, arrival);
        match arrival {
            Some(at) => {
                let delivery = Delivery { at, sent: (now, end), packet };
                self.in_flight.push(Reverse(InFlight { delivery, number: self.sent }));
                self.sent += 1;
            }
            None => {
                self.lost += 1;
                self.seconds.sent(now.seconds(), end.seconds(), 0);
            }
        }
    }

    fn schedule_end(&mut self) {
        self.end = Some((Time::from_seconds(self.wire.free), Time::from_seconds(self.wire.started)));
    }

    fn note_waiting(&mut self, now: Time) {
        self.seconds.waiting(now.seconds(), self.port.packets() > 0 || self.outside);
    }

    /// The least part of a second on the wire while packets waited ([`Seconds::least_share`]), of the seconds from which
    /// all has been delivered at `now`.
    pub fn least_share(&self, now: Time) -> Option<f64> {
        let first = self.in_flight.iter().map(|one| one.0.delivery.sent.0).min();
        self.seconds.least_share(first.map_or(now, |first| first.min(now)).seconds())
    }

    /// Starts a new measured window at `now`.
    pub fn restart(&mut self, now: Time, observer: &mut impl OneWayObserver) {
        self.advance(now, observer);
        self.port.restart(now);
        self.seconds.restart(now.seconds(), self.port.packets() > 0 || self.outside);
        self.lost = 0;
    }

    /// Ends the measured window at `now`.
    pub fn finish(&mut self, now: Time, observer: &mut impl OneWayObserver) {
        self.advance(now, observer);
        self.port.finish(now);
        // What is on its way has been sent, if only in part; what is overdue is as late as if it were delivered now.
        for delivery in self.in_flight.iter().map(|one| one.0.delivery) {
            let late = (now - delivery.at).max(0.0);
            let (from, until) = (delivery.sent.0.seconds() + late, delivery.sent.1.seconds() + late);
            let part = ((now.seconds() - from) / (until - from)).min(1.0);
            self.seconds.sent(from, until.min(now.seconds()), (part * f64::from(delivery.packet.size)) as u32);
        }
        self.seconds.finish(now.seconds());
    }

    /// The queue, without the packet in transmission.
    pub fn port(&self) -> &Port {
        &self.port
    }

    /// Packets in transmission or on the delay line.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// The statistics, after [`OneWay::finish`].
    pub fn into_stats(self) -> QueueStats {
        self.port.into_stats()
    }

    /// Packets lost by the loss model since the last restart.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Constant rate of the link, bit/s.
    pub fn rate_bps(&self) -> f64 {
        self.wire.rate_bps
    }

    /// Mean rate of the link between two times, bit/s; `None` if the rate is constant.
    pub fn mean_rate(&self, from: f64, to: f64) -> Option<f64> {
        let varies = self.medium.as_ref().and_then(|medium| medium.mean_rate(from, to));
        varies.or_else(|| (!self.rates.is_empty()).then(|| self.mean_of_changes(from, to)))
    }

    /// The mean between two times of a rate that was changed.
    fn mean_of_changes(&self, from: f64, to: f64) -> f64 {
        let (mut begin, mut bits) = (0.0_f64, 0.0);
        for &(until, rate) in self.rates.iter().chain([&(f64::INFINITY, self.wire.rate_bps)]) {
            bits += rate * (until.min(to) - begin.max(from)).max(0.0);
            begin = until;
        }
        bits / (to - from)
    }

    /// Bytes sent in each second.
    pub fn seconds(&mut self) -> &mut Seconds {
        &mut self.seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use earlydrop_aqm::catalogue::{self, Link};
    use earlydrop_aqm::discipline::Fifo;
    use earlydrop_aqm::gate::Gate;
    use earlydrop_aqm::params::Values;
    use earlydrop_aqm::policy::{Limit, Reason};
    use earlydrop_aqm::random::Generator;
    use earlydrop_net::medium::{Jitter, LossPattern};

    #[derive(Default)]
    struct Seen {
        dropped: Vec<(u32, f64, Reason)>,
        departed: Vec<(u32, f64)>,
        lost: Vec<u32>,
    }

    impl Observer for Seen {
        fn dropped(&mut self, packet: &Packet, now: Time, reason: Reason) {
            self.dropped.push((packet.tag, now.seconds(), reason));
        }
        fn departed(&mut self, packet: &Packet, now: Time, _length: u64) {
            self.departed.push((packet.tag, now.seconds()));
        }
    }

    impl OneWayObserver for Seen {
        fn sent(&mut self, packet: &Packet, arrival: Option<Time>) {
            self.lost.extend(arrival.is_none().then_some(packet.tag));
        }
    }

    fn t(seconds: f64) -> Time {
        Time::from_seconds(seconds)
    }

    /// DropTail for two packets on a link of 8 Mbit/s (1000 B take 1 ms) and 10 ms.
    fn way(medium: Option<Medium>) -> OneWay {
        let (link, limit) = (Link { rate_bps: 8e6, delay_s: 0.01 }, Limit::Packets(2));
        let spec = catalogue::find("droptail").expect("a discipline");
        let Ok(Built::Policy(policy)) = (spec.build)(&Values::new(), &link, limit) else { panic!("a policy") };
        let queue = Box::new(Fifo::new(Gate::new(policy, limit, false, Generator::stream(1, "q"))));
        OneWay::new(OneWaySpec { queue, rate_bps: 8e6, delay_s: 0.01, medium })
    }

    fn packet(tag: u32) -> Packet {
        Packet { tag, ..Packet::new(1, 1000) }
    }

    fn deliveries(way: &mut OneWay, now: f64) -> Vec<(u32, f64)> {
        std::iter::from_fn(|| way.deliver(t(now))).map(|d| (d.packet.tag, d.at.seconds())).collect()
    }

    #[test]
    fn packets_leave_one_after_the_other_however_late_the_caller() {
        let (mut way, mut seen) = (way(None), Seen::default());
        for tag in 0..4 {
            way.arrive(packet(tag), t(1.0), &mut seen);
        }
        assert_eq!(seen.dropped, [(3, 1.0, Reason::Overflow)], "one in transmission, two waiting");
        assert_eq!(way.next_delivery(), Some(t(1.0 + (0.001 + 0.01))));
        assert_eq!(deliveries(&mut way, 1.0109), []);
        // The caller comes seconds too late.
        way.advance(t(5.0), &mut seen);
        let starts = [1.0, 1.0 + 0.001, 1.0 + 0.001 + 0.001];
        assert_eq!(seen.departed, [(0, starts[0]), (1, starts[1]), (2, starts[2])]);
        let arrivals: Vec<(u32, f64)> = (0..3).map(|i| (i, starts[i as usize] + (0.001 + 0.01))).collect();
        assert_eq!(deliveries(&mut way, 5.0), arrivals);
        assert_eq!((way.port().packets(), way.in_flight(), way.next_delivery()), (0, 0, None));
        way.arrive(packet(9), t(6.0), &mut seen);
        assert_eq!(seen.departed.last(), Some(&(9, 6.0)), "an idle link transmits immediately");
    }

    #[test]
    fn the_end_of_a_transmission_comes_before_an_arrival_of_the_same_time() {
        let (mut way, mut seen) = (way(None), Seen::default());
        for tag in 0..3 {
            way.arrive(packet(tag), t(0.5), &mut seen);
        }
        way.arrive(packet(3), t(0.5 + 0.001), &mut seen);
        assert_eq!(seen.dropped, [], "the place of the packet that left is free");
        way.arrive(packet(4), t(0.5 + 0.001), &mut seen);
        assert_eq!(seen.dropped.len(), 1);
    }

    #[test]
    fn the_next_delivery_is_once_per_packet() {
        let (mut way, mut seen) = (way(None), Seen::default());
        way.arrive(packet(0), t(0.0), &mut seen);
        way.arrive(packet(1), t(0.0), &mut seen);
        // The second packet's transmission starts at 1 ms, so it cannot arrive before 11 ms.
        assert_eq!(way.next_delivery(), Some(t(0.011)));
        way.advance(t(0.011), &mut seen);
        assert_eq!(deliveries(&mut way, 0.011), [(0, 0.011)]);
        assert_eq!(way.next_delivery(), Some(t(0.012)));
    }

    #[test]
    fn a_lost_packet_takes_its_transmission_time() {
        let medium = Medium::new(&Rate::Constant(8e6)).with_loss(LossPattern::Every(2), Generator::stream(1, "loss"));
        let (mut way, mut seen) = (way(Some(medium)), Seen::default());
        for tag in 0..3 {
            way.arrive(packet(tag), t(0.0), &mut seen);
        }
        way.advance(t(1.0), &mut seen);
        assert_eq!((seen.lost, way.lost()), (vec![1], 1));
        assert_eq!(deliveries(&mut way, 1.0), [(0, 0.011), (2, 0.002 + (0.001 + 0.01))]);
    }

    #[test]
    fn jitter_delays_packets_in_their_order_where_it_keeps_it() {
        let tags = |keeps_order| {
            let jitter = Jitter { low: 0.0, high: 0.05, keeps_order };
            let medium = Medium::new(&Rate::Constant(8e6)).with_jitter(jitter, Generator::stream(1, "jitter"));
            let (mut way, mut seen) = (way(Some(medium)), Seen::default());
            for tag in 0..100 {
                way.arrive(packet(tag), t(0.001 * f64::from(tag)), &mut seen);
            }
            way.advance(t(1.0), &mut seen);
            deliveries(&mut way, 1.0).into_iter().map(|(tag, _)| tag).collect::<Vec<_>>()
        };
        let (kept, overtaking) = (tags(true), tags(false));
        assert!(kept.iter().copied().eq(0..100), "many at one time, in their order");
        assert!(overtaking.len() == 100 && overtaking.windows(2).filter(|pair| pair[1] < pair[0]).count() > 30);
    }

    #[test]
    fn a_busy_second_is_one_in_which_packets_waited_here_or_in_front() {
        let (mut way, mut seen) = (way(None), Seen::default());
        // Two seconds in which the queue is full: 1 ms for each packet, and 10 ms on the line.
        way.outside(t(0.0), true);
        way.restart(t(0.0), &mut seen);
        way.arrive(packet(0), t(0.0), &mut seen);
        way.arrive(packet(0), t(0.0), &mut seen);
        way.outside(t(0.0), false);
        for tag in 0..2000 {
            let now = t(0.001 * f64::from(tag) + 0.0005);
            way.arrive(packet(tag), now, &mut seen);
            for one in std::iter::from_fn(|| way.deliver(now)).collect::<Vec<_>>() {
                way.seconds().sent(one.sent.0.seconds(), one.sent.1.seconds(), 1000);
            }
        }
        assert_eq!(way.least_share(t(1.9995)).map(|share| (1e3 * share).round()), Some(1000.0));
        // A caller who reads one packet in 20 ms, while more of them wait in front.
        way.outside(t(1.9996), true);
        for tag in 0..100 {
            let now = t(2.0 + 0.02 * f64::from(tag));
            way.arrive(packet(tag), now, &mut seen);
            for one in std::iter::from_fn(|| way.deliver(now)).collect::<Vec<_>>() {
                way.seconds().sent(one.sent.0.seconds(), one.sent.1.seconds(), 1000);
            }
        }
        assert!(way.least_share(t(3.99)).is_some_and(|share| share < 0.06));
        way.outside(t(3.99), false);
        way.finish(t(4.0), &mut seen);
        assert!(way.least_share(t(4.0)).is_some_and(|share| share < 0.06), "of the third second");
        assert_eq!(way.seconds().busy().map(|busy| busy.seconds), Some(3), "all but the fourth");
    }

    #[test]
    fn a_lost_packet_and_a_packet_on_its_way_have_been_on_the_wire() {
        let medium = Medium::new(&Rate::Constant(8e6)).with_loss(LossPattern::Every(2), Generator::stream(1, "loss"));
        let (mut way, mut seen) = (way(Some(medium)), Seen::default());
        way.outside(t(0.0), true);
        way.restart(t(0.0), &mut seen);
        for tag in 0..1000 {
            let now = t(0.001 * f64::from(tag));
            way.arrive(packet(tag), now, &mut seen);
            // Nothing is delivered any more in the last 20 ms; half of that is on its way.
            for one in std::iter::from_fn(|| way.deliver(now).filter(|_| tag < 980)).collect::<Vec<_>>() {
                way.seconds().sent(one.sent.0.seconds(), one.sent.1.seconds(), 1000);
            }
        }
        way.finish(t(1.0005), &mut seen);
        let share = way.seconds().least_share(1.0005).expect("a second");
        assert!(
            (0.985..0.995).contains(&share),
            "{share}: ten packets are overdue, and were carried in the last 11 ms"
        );
        assert_eq!(way.lost(), 500);
    }

    #[test]
    fn a_restart_counts_nothing_twice() {
        let (mut way, mut seen) = (way(None), Seen::default());
        for tag in 0..3 {
            way.arrive(packet(tag), t(0.0), &mut seen);
        }
        way.restart(t(0.0005), &mut seen);
        way.arrive(packet(3), t(0.0007), &mut seen);
        way.finish(t(0.0015), &mut seen);
        let counters = way.port().counters();
        assert_eq!((counters.arrivals, counters.departures, counters.overflow_drops), (1, 1, 1));
        assert_eq!(
            way.port().queued_at_start() + counters.arrivals,
            counters.departures + counters.drops() + way.port().packets()
        );
        // Two packets wait for half of the time, then one.
        assert!((way.port().stats().mean() - 1.5).abs() < 1e-9);
    }
}
