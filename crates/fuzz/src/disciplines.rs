//! Every discipline with any parameters of its ranges, under any arrivals, departures and timers.

use crate::{expressions, Input};
use earlydrop_aqm::catalogue::{self, AqmSpec};
use earlydrop_aqm::params::{Kind, Param, Value, Values};
use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::{Discipline, Ecn, Link, Packet, Time};

/// Most timers that run between two packets; a longer pause ends there.
const TIMERS: usize = 200;

/// A queue, its discipline and its limit.
pub struct Drawn {
    pub spec: &'static AqmSpec,
    pub values: Values,
    pub limit: Limit,
    pub queue: Box<dyn Discipline>,
}

/// A discipline with parameters, where they fit one another, else with its defaults.
pub fn drawn(input: &mut Input<'_>, link: &Link) -> Drawn {
    let spec = input.of(catalogue::all());
    let values = values(input, spec.all_params());
    let limit = match input.below(4) {
        0 => Limit::Bytes(1500 + 100 * input.below(1000) as u64),
        _ => Limit::Packets(1 + input.of(&[20, 0, 3, 100, 1000]) + input.below(8) as u64),
    };
    let (ecn, seed) = (input.one_in(2), input.below(256) as u64);
    let random = || Generator::stream(seed, "queue");
    let checked = if (spec.check)(&values, link).is_ok() { values } else { Values::new() };
    match (spec.build)(&checked, link, limit) {
        Ok(built) => Drawn { spec, values: checked, limit, queue: built.queue(limit, ecn, random()) },
        // Some have no limit in bytes, or need more room than it gives.
        Err(_) => {
            let (values, limit) = (Values::new(), Limit::Packets(1000));
            let built = (spec.build)(&values, link, limit).unwrap_or_else(|error| panic!("{}: {error}", spec.name));
            Drawn { spec, values, limit, queue: built.queue(limit, ecn, random()) }
        }
    }
}

/// Some of these parameters, within their ranges.
pub fn values(input: &mut Input<'_>, params: impl Iterator<Item = &'static Param>) -> Values {
    let mut values = Values::new();
    let often = input.below(4);
    for param in params {
        if often == 0 || input.below(4) >= often {
            continue;
        }
        let value = value(input, param);
        if param.allows(value) {
            values.set(param.name, value);
        }
    }
    values
}

fn value(input: &mut Input<'_>, param: &Param) -> Value {
    match param.kind {
        Kind::Flag { .. } => input.of(&[Value::Flag(true), Value::Flag(false), Value::Auto]),
        Kind::Choice(words) => Value::Choice(input.of(words)),
        Kind::Text => Value::Text(expressions::short(input)),
        Kind::Whole { low, high } => {
            let near = low.saturating_add(input.below(40) as i64);
            Value::Whole(input.of(&[near, low, high, low.saturating_add(1), 1, 1000]))
        }
        Kind::Real { low, high, .. } => {
            let most = high.min(100.0_f64.max(2.0 * low));
            let between = low + (most - low) * input.fraction();
            let default = match param.default {
                Value::Real(default) => default * (0.25 + 4.0 * input.fraction()),
                _ => between,
            };
            let tiny = low + 1e-9;
            let number = input.of(&[default, between, default, tiny, low, high.min(1e9), 1.0]);
            if input.one_in(16) {
                Value::QueueBytes(number)
            } else if input.one_in(16) {
                Value::Auto
            } else {
                Value::Real(number)
            }
        }
    }
}

/// What happens between two times: timers in the order of their times, none standing still. Returns the time reached.
fn run_timers(queue: &mut dyn Discipline, until: f64) -> f64 {
    for _ in 0..TIMERS {
        let Some(due) = queue.next_timer().filter(|due| due.seconds() <= until) else { return until };
        queue.on_timer(due);
        assert!(queue.next_timer().is_none_or(|next| next > due), "a timer stands still at {} s", due.seconds());
    }
    match queue.next_timer() {
        Some(next) if next.seconds() <= until => next.seconds(),
        _ => until,
    }
}

/// A packet leaves the queue or is dropped, once.
fn gone(waits: &mut [bool], packet: &Packet, told: &str) {
    let waits = &mut waits[packet.tag as usize];
    assert!(*waits, "{told}: packet {} is gone twice", packet.tag);
    *waits = false;
}

/// What a queue shows is never NaN.
pub fn no_nan(spec: &AqmSpec, average: Option<f64>) {
    assert!(average.is_none_or(|average| average.is_finite()), "{}: average {average:?}", spec.name);
}

/// The same of its inner values, which it gives one by one.
pub fn gauge_is_number(spec: &AqmSpec, name: &str, value: f64) {
    assert!(!value.is_nan(), "{}: {name} is NaN", spec.name);
}

pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    // ns-2's average decays by one multiplication for each packet that the idle link could have sent: neither rates nor
    // pauses are long.
    let link = Link { rate_bps: input.of(&[10e6, 1e6, 64e3, 20e6, 8.0]), delay_s: input.of(&[0.02, 0.0, 1.0]) };
    let drawn = drawn(&mut input, &link);
    let (spec, mut queue) = (drawn.spec, drawn.queue);
    let told = format!("{} {:?} {:?}", spec.name, drawn.values, drawn.limit);
    let (mut now, mut tag, mut dropped, mut left) = (0.0_f64, 0_u32, 0_u64, 0_u64);
    let mut waits: Vec<bool> = Vec::new();
    while !input.is_empty() && tag < 2000 {
        let step = input.of(&[1e-4, 0.0, 1e-6, 1e-3, 0.1, 1.0]);
        let (count, what) = (1 + input.below(32), input.below(5));
        let (size, flow) = (input.of(&[1000, 40, 1500, 1, 65_535, 576]), input.below(12) as u64);
        let ecn = input.of(&[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
        for _ in 0..count {
            now = run_timers(&mut *queue, now + step);
            let time = Time::from_seconds(now);
            if what < 3 {
                waits.push(true);
                let key = if what == 2 { u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15) } else { flow };
                let packet = Packet {
                    ecn,
                    tag,
                    class: flow as u8 % 8,
                    ttl: 64 - flow as u8,
                    initial_ttl: 64,
                    rtt_hint_ms: flow as u16 * 10,
                    ..Packet::new(key, size)
                };
                tag += 1;
                queue.enqueue(packet, time, &mut |packet, _| {
                    dropped += 1;
                    gone(&mut waits, packet, &told);
                });
            } else {
                let taken = queue.dequeue(time, &mut |packet, _| {
                    dropped += 1;
                    gone(&mut waits, packet, &told);
                });
                if let Some(packet) = taken {
                    left += 1;
                    gone(&mut waits, &packet, &told);
                    assert!(packet.enqueued <= time, "{told}: packet {} left before it came", packet.tag);
                }
            }
            assert_eq!(u64::from(tag), dropped + left + queue.packets(), "{told}: packets");
        }
        no_nan(spec, queue.average());
        queue.gauges(&mut |name, value| gauge_is_number(spec, name, value));
    }
    let counters = queue.counters();
    let counted = (counters.arrivals, counters.departures, counters.drops());
    assert_eq!((u64::from(tag), left, dropped), counted, "{told}: counters");
}
