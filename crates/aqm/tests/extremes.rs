//! Every parameter at the ends of its range, at links of every rate, with pauses of weeks: no call loops for long. A
//! call that does shows as a test that does not end.

use earlydrop_aqm::catalogue::AqmSpec;
use earlydrop_aqm::params::{Kind, Param, Text};
use earlydrop_aqm::prelude::*;

const RATES_BPS: [f64; 2] = [1e15, 8.0];
const PAUSES_S: [f64; 4] = [1e-6, 1e-3, 1.0, 1e6];
/// Timers that run in a pause.
const TIMERS: usize = 20;

/// Values at and near the ends.
fn ends(param: &Param) -> Vec<Value> {
    let all: Vec<Value> = match param.kind {
        Kind::Flag { .. } => [&[Value::Auto], &param.kind.listed()[..]].concat(),
        Kind::Choice(_) => param.kind.listed(),
        Kind::Text => {
            ["0", "1", "1/0", "exp(1e9)", "rate*rate*avg/dt"].map(|text| Value::Text(Text::new(text))).to_vec()
        }
        Kind::Whole { low, high } => [low, low.saturating_add(1), high.min(100_000)].map(Value::Whole).to_vec(),
        Kind::Real { low, high, .. } => {
            let mut all: Vec<Value> = [0.0, 1e-12, 1e-6, 1e-3].map(|more| Value::Real(low + more)).to_vec();
            all.extend([1.0, 1e9, 1e300].map(|most| Value::Real(high.min(most))));
            all
        }
    };
    all.into_iter().filter(|&value| param.allows(value)).collect()
}

/// A queue takes packets, lets them go, and pauses, again and again.
fn used(mut queue: Box<dyn Discipline>) -> (u64, u64) {
    let (mut now, mut dropped, mut left) = (0.0, 0, 0);
    for pause in PAUSES_S.repeat(3) {
        let time = Time::from_seconds(now);
        for flow in 0..8 {
            queue.enqueue(Packet::new(flow % 3, 1500), time, &mut |_, _| dropped += 1);
        }
        for _ in 0..8 {
            left += u64::from(queue.dequeue(time, &mut |_, _| dropped += 1).is_some());
        }
        for _ in 0..TIMERS {
            let Some(due) = queue.next_timer().filter(|due| due.seconds() <= now + pause) else { break };
            queue.on_timer(due);
        }
        // A link that stays idle leaves the timers of the pause unrun.
        now = queue.next_timer().map_or(now + pause, |due| due.seconds().min(now + pause));
    }
    (dropped, left + queue.packets())
}

fn check(spec: &'static AqmSpec, values: &Values, link: &Link) -> u64 {
    let limit = Limit::Packets(1000);
    if (spec.check)(values, link).is_err() {
        return 0;
    }
    let Ok(built) = (spec.build)(values, link, limit) else { return 0 };
    let (dropped, others) = used(built.queue(limit, true, Generator::stream(1, "queue")));
    assert_eq!(dropped + others, 8 * 12, "{} {values:?} at {} bit/s", spec.name, link.rate_bps);
    1
}

#[test]
fn no_parameter_makes_a_call_endless() {
    for rate_bps in RATES_BPS {
        let link = Link { rate_bps, delay_s: 0.01 };
        for spec in catalogue::all() {
            let mut used = 0;
            let dialects = spec.param("dialect").map_or(vec![None], |of| ends(of).into_iter().map(Some).collect());
            for dialect in dialects {
                for slow in [false, true].into_iter().filter(|slow| !slow || spec.param("w_q").is_some()) {
                    for param in spec.all_params() {
                        for value in ends(param) {
                            let mut values = Values::new();
                            // The idle time in packets is longest, and the average's memory.
                            let slowest = [("w_q", Value::Real(1e-7)), ("mean_packet", Value::Real(1.0))];
                            for (name, value) in
                                slowest.into_iter().filter(|(name, _)| slow && spec.param(name).is_some())
                            {
                                values.set(name, value);
                            }
                            if let Some(dialect) = dialect {
                                values.set("dialect", dialect);
                            }
                            values.set(param.name, value);
                            used += check(spec, &values, &link);
                        }
                    }
                }
            }
            assert!(used > 0 || spec.all_params().count() == 0, "{}: nothing is allowed", spec.name);
        }
    }
}
