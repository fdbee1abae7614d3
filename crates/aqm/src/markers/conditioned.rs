//! A marker in front of a discipline.

use super::spec::{Build, Colour, MarkerSpec, Meter, SHARED};
use crate::discipline::{Admitted, Built, Discipline, OnDrop};
use crate::gate::Counters;
use crate::header::Header;
use crate::params::{Value, Values};
use crate::policy::Reason;
use crate::random::Generator;
use crate::{Packet, Time};
use std::collections::BTreeMap;

/// A discipline whose arrivals get their class from a marker.
pub struct Conditioned {
    queue: Box<dyn Discipline>,
    /// Makes the meter of a new flow.
    build: Build,
    /// The marker's parameters.
    values: Values,
    /// The meter of each flow; of flow 0 only, if all packets share it.
    meters: BTreeMap<u64, Box<dyn Meter>>,
    /// Whether all packets share one meter.
    aggregate: bool,
    /// Whether a packet's class before the marker bounds its colour.
    aware: bool,
    /// The class of green, yellow and red packets.
    classes: [u8; 3],
    /// Whether red packets are dropped.
    police: bool,
    /// Packets and bytes that were dropped for being red.
    policed: (u64, u64),
    /// The queue's counters with those packets.
    counters: Counters,
    /// The marker's random numbers.
    random: Generator,
}

impl Conditioned {
    /// `queue` behind the marker `spec`, whose `values` are checked.
    pub fn new(queue: Box<dyn Discipline>, spec: &MarkerSpec, values: &Values, random: Generator) -> Self {
        let class = |name| values.whole(SHARED, name) as u8;
        let is = |name, value| SHARED.iter().any(|param| param.name == name && values.get(param) == value);
        Conditioned {
            queue,
            build: spec.build,
            values: values.clone(),
            meters: BTreeMap::new(),
            aggregate: is("meter", Value::Choice("aggregate")),
            aware: spec.param("colour_aware").is_some_and(|param| values.get(param) == Value::Flag(true)),
            classes: [class("green"), class("yellow"), class("red")],
            police: is("police", Value::Flag(true)),
            policed: (0, 0),
            counters: Counters::default(),
            random,
        }
    }

    /// Whether a policer of these values drops a packet of this many bytes although nothing came before it.
    pub fn refuses(spec: &MarkerSpec, values: &Values, bytes: u32) -> bool {
        let police = SHARED.iter().find(|param| param.name == "police");
        police.is_some_and(|param| values.get(param) == Value::Flag(true))
            && (spec.build)(values).colour(&Packet::new(1, bytes), None, Time::ZERO, &mut Generator::stream(0, "check"))
                == Colour::Red
    }

    /// Meters `packet` and gives it the class of its colour; false if it is dropped for it.
    fn admits(&mut self, packet: &mut Packet, now: Time, on_drop: &mut OnDrop<'_>) -> bool {
        let before = self.aware.then(|| self.colour_of(packet.class));
        let key = if self.aggregate { 0 } else { packet.flow };
        let meter = self.meters.entry(key).or_insert_with(|| (self.build)(&self.values));
        let colour = meter.colour(packet, before, now, &mut self.random);
        packet.class = self.classes[colour as usize];
        if !(self.police && colour == Colour::Red) {
            return true;
        }
        self.policed = (self.policed.0 + 1, self.policed.1 + u64::from(packet.size));
        on_drop(packet, Reason::Forced);
        false
    }

    /// `result`, once the counters are those of the queue and of what was dropped in front of it.
    fn counted<T>(&mut self, result: T) -> T {
        if self.police {
            let inside = *self.queue.counters();
            let (packets, bytes) = self.policed;
            self.counters = Counters {
                arrivals: inside.arrivals + packets,
                arrived_bytes: inside.arrived_bytes + bytes,
                forced_drops: inside.forced_drops + packets,
                ..inside
            };
        }
        result
    }

    /// The colour that a class stands for; any other class is red.
    fn colour_of(&self, class: u8) -> Colour {
        match self.classes.iter().position(|&other| other == class) {
            Some(0) => Colour::Green,
            Some(1) => Colour::Yellow,
            _ => Colour::Red,
        }
    }
}

impl Discipline for Conditioned {
    fn inside(&self) -> Option<&dyn Discipline> {
        Some(&*self.queue)
    }

    fn enqueue(&mut self, mut packet: Packet, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Admitted> {
        let admitted = match self.admits(&mut packet, now, on_drop) {
            true => self.queue.enqueue(packet, now, on_drop),
            false => None,
        };
        self.counted(admitted)
    }

    fn enqueue_with(
        &mut self,
        mut packet: Packet,
        header: &Header,
        now: Time,
        on_drop: &mut OnDrop<'_>,
    ) -> Option<Admitted> {
        let admitted = match self.admits(&mut packet, now, on_drop) {
            true => {
                let header = Header { dscp: Header::of(&packet).dscp, ..*header };
                self.queue.enqueue_with(packet, &header, now, on_drop)
            }
            false => None,
        };
        self.counted(admitted)
    }

    fn washes(&self, _class: u8) -> bool {
        self.classes.iter().any(|&class| self.queue.washes(class))
    }

    /// What an arrival looks like does not tell its band.
    fn bands(&self) -> &'static [&'static str] {
        &[]
    }

    fn dequeue(&mut self, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Packet> {
        let packet = self.queue.dequeue(now, on_drop);
        self.counted(packet)
    }

    fn packets(&self) -> u64 {
        self.queue.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn counters(&self) -> &Counters {
        if self.police {
            &self.counters
        } else {
            self.queue.counters()
        }
    }

    fn reset_counters(&mut self) {
        self.queue.reset_counters();
        self.policed = (0, 0);
        self.counted(());
    }

    fn on_timer(&mut self, now: Time) {
        self.queue.on_timer(now);
        self.counted(());
    }

    fn on_timers(&mut self, until: Time) -> Option<(u64, Time)> {
        let ran = self.queue.on_timers(until);
        self.counted(ran)
    }

    fn change(&mut self, built: Built) -> bool {
        self.queue.change(built)
    }

    fn memory(&self, leaving: bool, out: &mut dyn FnMut(*const u8, usize)) {
        self.queue.memory(leaving, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markers::find;
    use crate::prelude::*;

    /// Packets of two flows that are admitted, of eight each at once, by RIO with Out's thresholds far below In's,
    /// behind a bucket of two packets for each flow or for both.
    fn admitted(meter: &'static str, class: u8, aware: bool) -> [usize; 2] {
        let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
        let mut rio = Values::new();
        rio.set("w_q", Value::Real(1.0)).set("min_th_out", Value::Real(0.5)).set("max_th_out", Value::Real(1.0));
        let built = (catalogue::find("rio").unwrap().build)(&rio, &link, Limit::Packets(50)).unwrap();
        let queue = built.queue(Limit::Packets(50), false, Generator::custom(|| 1.0));
        let mut values =
            Values::of(&[("cbs", Value::Real(2000.0)), ("ebs", Value::Real(0.0)), ("meter", Value::Choice(meter))]);
        values.set("colour_aware", Value::Flag(aware));
        let mut queue = Conditioned::new(queue, find("srtcm").unwrap(), &values, Generator::stream(1, "marker"));
        let mut passed = [0; 2];
        for i in 0..16 {
            let packet = Packet { class, ..Packet::new(i % 2, 1000) };
            passed[(i % 2) as usize] += usize::from(queue.enqueue(packet, Time::ZERO, &mut |_, _| {}).is_some());
        }
        assert_eq!(queue.packets() as usize, passed[0] + passed[1]);
        passed
    }

    /// CAKE's shaper holds the second packet back, and its tins are those of the colours.
    #[test]
    fn a_shaper_behind_a_marker_still_holds_packets_back() {
        let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
        let mut cake = Values::new();
        cake.set("bandwidth", Value::Real(8e6)).set("wash", Value::Flag(true));
        let built = (catalogue::find("cake").unwrap().build)(&cake, &link, Limit::Packets(50)).unwrap();
        let queue = built.queue(Limit::Packets(50), false, Generator::stream(1, "queue"));
        let values = Values::of(&[("cbs", Value::Real(1000.0)), ("ebs", Value::Real(0.0)), ("red", Value::Whole(1))]);
        let mut queue = Conditioned::new(queue, find("srtcm").unwrap(), &values, Generator::stream(1, "marker"));
        assert!(queue.reads_headers() && queue.washes(0));
        for _ in 0..2 {
            let header = Header { dscp: 46, ..Header::default() };
            queue.enqueue_with(Packet::new(1, 1000), &header, Time::ZERO, &mut |_, _| {});
        }
        assert!(queue.dequeue(Time::ZERO, &mut |_, _| {}).is_some());
        assert_eq!(queue.dequeue(Time::ZERO, &mut |_, _| {}), None);
        assert_eq!(queue.held_until().unwrap().seconds(), 1e-3);
        let mut tins = [0.0; 3];
        queue.groups(&mut |tin, name, value| {
            if name == "packets" {
                tins[tin] = value
            }
        });
        assert_eq!(tins, [1.0, 1.0, 0.0], "CS1 and CS2, not EF");
    }

    /// A bucket of two packets that gets a packet every second, in front of a long queue.
    #[test]
    fn a_policer_drops_what_finds_no_tokens_and_nothing_waits_for_it() {
        let link = catalogue::Link { rate_bps: 10e6, delay_s: 0.01 };
        let built = (catalogue::find("droptail").unwrap().build)(&Values::new(), &link, Limit::Packets(50)).unwrap();
        let queue = built.queue(Limit::Packets(50), false, Generator::stream(1, "queue"));
        let mut values = Values::of(&[("cir", Value::Real(8e3)), ("cbs", Value::Real(2000.0))]);
        values.set("police", Value::Flag(true)).set("meter", Value::Choice("aggregate"));
        let mut queue = Conditioned::new(queue, find("token_bucket").unwrap(), &values, Generator::stream(1, "marker"));
        let (mut admitted, mut dropped) = (Vec::new(), Vec::new());
        for (t, flow) in [(0.0, 1), (0.0, 2), (0.0, 3), (0.999, 4), (1.0, 5), (1.0, 6)] {
            let now = Time::from_seconds(t);
            let entered =
                queue.enqueue(Packet::new(flow, 1000), now, &mut |packet, why| dropped.push((packet.flow, why)));
            admitted.extend(entered.map(|_| flow));
            let left = queue.dequeue(now, &mut |_, _| {}).map(|packet| packet.flow);
            assert_eq!(left, entered.map(|_| flow), "it leaves at once");
        }
        assert_eq!(admitted, [1, 2, 5]);
        assert_eq!(dropped, [3, 4, 6].map(|flow| (flow, Reason::Forced)));
        let counters = *queue.counters();
        assert_eq!((counters.arrivals, counters.arrived_bytes, counters.departures), (6, 6000, 3));
        assert_eq!((counters.forced_drops, counters.drops()), (3, 3));
        queue.reset_counters();
        assert_eq!(*queue.counters(), Counters::default());
    }

    #[test]
    fn rio_keeps_what_the_marker_calls_in() {
        assert_eq!(admitted("flow", 0, false), [2, 2], "two packets of each flow are in its profile");
        assert_eq!(admitted("aggregate", 0, false), [1, 1]);
        assert_eq!(admitted("flow", 2, true), [2, 2], "green before");
        assert_eq!(admitted("flow", 0, true), [1, 0], "red before: Out finds an empty queue once");
    }
}
