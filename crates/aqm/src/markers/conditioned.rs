//! A marker in front of a discipline.

use super::spec::{Build, Colour, MarkerSpec, Meter, SHARED};
use crate::discipline::{Admitted, Built, Discipline, OnDrop};
use crate::gate::Counters;
use crate::header::Header;
use crate::params::{Value, Values};
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
    /// The marker's random numbers.
    random: Generator,
}

impl Conditioned {
    /// `queue` behind the marker `spec`, whose `values` are checked.
    pub fn new(queue: Box<dyn Discipline>, spec: &MarkerSpec, values: &Values, random: Generator) -> Self {
        let class = |name| values.whole(SHARED, name) as u8;
        Conditioned {
            queue,
            build: spec.build,
            values: values.clone(),
            meters: BTreeMap::new(),
            aggregate: SHARED.iter().any(|param| values.get(param) == Value::Choice("aggregate")),
            aware: spec.param("colour_aware").is_some_and(|param| values.get(param) == Value::Flag(true)),
            classes: [class("green"), class("yellow"), class("red")],
            random,
        }
    }

    /// Meters `packet` and gives it the class of its colour.
    fn mark(&mut self, packet: &mut Packet, now: Time) {
        let before = self.aware.then(|| self.colour_of(packet.class));
        let key = if self.aggregate { 0 } else { packet.flow };
        let meter = self.meters.entry(key).or_insert_with(|| (self.build)(&self.values));
        packet.class = self.classes[meter.colour(packet, before, now, &mut self.random) as usize];
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
        self.mark(&mut packet, now);
        self.queue.enqueue(packet, now, on_drop)
    }

    fn enqueue_with(
        &mut self,
        mut packet: Packet,
        header: &Header,
        now: Time,
        on_drop: &mut OnDrop<'_>,
    ) -> Option<Admitted> {
        self.mark(&mut packet, now);
        let header = Header { dscp: Header::of(&packet).dscp, ..*header };
        self.queue.enqueue_with(packet, &header, now, on_drop)
    }

    fn washes(&self, _class: u8) -> bool {
        self.classes.iter().any(|&class| self.queue.washes(class))
    }

    /// What an arrival looks like does not tell its band.
    fn bands(&self) -> &'static [&'static str] {
        &[]
    }

    fn dequeue(&mut self, now: Time, on_drop: &mut OnDrop<'_>) -> Option<Packet> {
        self.queue.dequeue(now, on_drop)
    }

    fn packets(&self) -> u64 {
        self.queue.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn counters(&self) -> &Counters {
        self.queue.counters()
    }

    fn reset_counters(&mut self) {
        self.queue.reset_counters();
    }

    fn on_timer(&mut self, now: Time) {
        self.queue.on_timer(now);
    }

    fn on_timers(&mut self, until: Time) -> Option<(u64, Time)> {
        self.queue.on_timers(until)
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

    #[test]
    fn rio_keeps_what_the_marker_calls_in() {
        assert_eq!(admitted("flow", 0, false), [2, 2], "two packets of each flow are in its profile");
        assert_eq!(admitted("aggregate", 0, false), [1, 1]);
        assert_eq!(admitted("flow", 2, true), [2, 2], "green before");
        assert_eq!(admitted("flow", 0, true), [1, 0], "red before: Out finds an empty queue once");
    }
}
