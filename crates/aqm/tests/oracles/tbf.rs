//! TBF against a slow, direct transcription of Linux's `sch_tbf.c` over a plain FIFO: random arrivals and requests,
//! decision for decision, and the time until which it waits, to the nanosecond. Each rule of the transcription is then
//! changed, and the change must show.

use crate::common::{queue, values};
use crate::script::{agrees_by_every_rule, keeps, script, Dice, Seen, Step, Traffic, MIXED};
use earlydrop_aqm::parents;
use earlydrop_aqm::prelude::*;
use std::collections::VecDeque;

const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.0 };

#[derive(Debug)]
struct Setting {
    /// B/s.
    rate: u64,
    peak: u64,
    burst: u32,
    mtu: u32,
    limit: usize,
}

/// psched_ratecfg_precompute__ and psched_l2t_ns.
fn l2t_ns(rate: u64, len: u32, exact: bool) -> i64 {
    let (mut factor, mut shift) = (1_000_000_000_u64, 0_u8);
    if !exact {
        return (u64::from(len) * factor / rate) as i64;
    }
    loop {
        let mult = (factor / rate) as u32;
        if mult & (1 << 31) != 0 || factor & (1 << 63) != 0 {
            return ((u64::from(len) * u64::from(mult)) >> shift) as i64;
        }
        factor <<= 1;
        shift += 1;
    }
}

/// What is seen: drops, departures, and until when nothing leaves, ns.
#[derive(Debug, PartialEq)]
enum Event {
    Of(Seen),
    Until(i64),
}

fn transcription(set: &Setting, steps: &[(f64, Step)], broken: &str) -> Vec<Event> {
    let keeps = |rule| keeps(broken, rule);
    let l2t = |rate, len| l2t_ns(rate, len, keeps("mult and shift"));
    let (buffer, mtu) = (l2t(set.rate, set.burst), if set.peak > 0 { l2t(set.peak, set.mtu) } else { 0 });
    let mut max_size = if keeps("too large") { set.burst } else { u32::MAX };
    if set.peak > 0 && keeps("too large for the peak") {
        max_size = max_size.min(set.mtu);
    }
    let (mut tokens, mut ptokens, mut t_c) = (buffer, mtu, 0_i64);
    let mut fifo: VecDeque<Packet> = VecDeque::new();
    // The FIFO has one place less while its head has been looked at.
    let mut peeked = false;
    let mut seen = Vec::new();
    for &(time, step) in steps {
        let now = (time * 1e9).round() as i64;
        match step {
            Step::Arrive(packet) => {
                let full = fifo.len() - usize::from(peeked) >= set.limit;
                let reason = if packet.size > max_size { Reason::Forced } else { Reason::Overflow };
                if packet.size > max_size || full {
                    seen.extend([Event::Of(Seen::Dropped(packet.tag, reason)), Event::Of(Seen::Refused)]);
                } else {
                    fifo.push_back(packet);
                    seen.push(Event::Of(Seen::Admitted { marked: false }));
                }
            }
            Step::Ask => {
                let Some(skb) = fifo.front().copied() else {
                    seen.push(Event::Of(Seen::Empty));
                    continue;
                };
                peeked = true;
                let mut toks = (now - t_c).min(buffer);
                let mut ptoks = 0;
                if set.peak > 0 {
                    ptoks = toks + ptokens;
                    if ptoks > mtu && keeps("no more than the peak's bucket") {
                        ptoks = mtu;
                    }
                    if keeps("bytes cost peak tokens") {
                        ptoks -= l2t(set.peak, skb.size);
                    }
                }
                toks += tokens;
                if toks > buffer && keeps("no more than the bucket") {
                    toks = buffer;
                }
                if keeps("bytes cost tokens") {
                    toks -= l2t(set.rate, skb.size);
                }
                let leaves =
                    if keeps("both must have them") { toks >= 0 && ptoks >= 0 } else { toks >= 0 || ptoks >= 0 };
                if leaves || !keeps("tokens are taken only if it leaves") {
                    (t_c, tokens, ptokens) = (now, toks, ptoks);
                }
                if leaves {
                    fifo.pop_front();
                    peeked = false;
                    seen.push(Event::Of(Seen::Left(skb.tag, skb.ecn)));
                } else {
                    let wait = if keeps("the longer wait") { (-toks).max(-ptoks) } else { -toks };
                    seen.extend([Event::Of(Seen::Empty), Event::Until(now + wait)]);
                }
            }
            Step::Timer => {}
        }
    }
    seen
}

fn crates(set: &Setting, steps: &[(f64, Step)]) -> Vec<Event> {
    let limit = Limit::Packets(set.limit as u64);
    let child = queue("droptail", &Values::new(), &LINK, limit, false, Generator::stream(1, "queue"));
    let mut given = values(&[
        ("rate", Value::Real(8.0 * set.rate as f64)),
        ("burst", Value::Whole(set.burst.into())),
        ("mtu", Value::Whole(set.mtu.into())),
    ]);
    if set.peak > 0 {
        given.set("peakrate", Value::Real(8.0 * set.peak as f64));
    }
    let spec = parents::find("tbf").unwrap();
    (spec.check)(&given, &LINK).unwrap();
    let mut tbf = (spec.build)(&given, &LINK, vec![child]);
    let mut seen = Vec::new();
    for &(time, step) in steps {
        let now = Time::from_seconds(time);
        let dropped = &mut |packet: &Packet, reason| seen.push(Event::Of(Seen::Dropped(packet.tag, reason)));
        let event = match step {
            Step::Arrive(packet) => match tbf.enqueue(packet, now, dropped) {
                Some(marked) => Seen::Admitted { marked: marked.0 },
                None => Seen::Refused,
            },
            Step::Ask => tbf.dequeue(now, dropped).map_or(Seen::Empty, |packet| Seen::Left(packet.tag, packet.ecn)),
            Step::Timer => continue,
        };
        seen.push(Event::Of(event));
        if let (Step::Ask, Some(until)) = (step, tbf.held_until()) {
            seen.push(Event::Until((until.seconds() * 1e9).round() as i64));
        }
    }
    seen
}

fn compare(seed: u64, broken: &str) -> Option<String> {
    let dice = &mut Dice(seed);
    let rate = dice.one_of(&[41_666, 125_000, 1_000_000, 12_345_678]);
    let set = Setting {
        rate,
        peak: dice.one_of(&[0, rate + rate / 3, 2 * rate]),
        burst: dice.one_of(&[1200, 3000, 15_140]),
        mtu: dice.one_of(&[1000, 1514, 2500]),
        limit: dice.one_of(&[3, 50]),
    };
    let grid = 500.0 / rate as f64 / 8.0;
    let traffic = Traffic { flows: 3, sizes: MIXED, grid, service: 16.0, period: 0.0, steps: 400 };
    let steps = script(dice, traffic);
    let (one, other) = (crates(&set, &steps), transcription(&set, &steps, broken));
    let at = (0..one.len().max(other.len())).find(|&at| one.get(at) != other.get(at))?;
    Some(format!("{set:?}, event {at}: {:?} and {:?}", one.get(at), other.get(at)))
}

#[test]
fn it_decides_as_the_transcription_of_sch_tbf() {
    agrees_by_every_rule(10, 0..400, compare);
}
