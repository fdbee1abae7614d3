//! The simulator's port and a direction of a real link make the same decisions: with the same arrivals, discipline and
//! random numbers every packet has the same fate at the same time, to the last bit.

use earlydrop_aqm::catalogue::{self, AqmSpec, Built, Link};
use earlydrop_aqm::params::{Value, Values};
use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::{Ecn, Packet, Time};
use earlydrop_link::one_way::{OneWay, OneWaySpec};
use earlydrop_link::record::replay;
use earlydrop_net::medium::{LossPattern, Medium, Rate};
use earlydrop_net::model::{Model, MODELS};
use earlydrop_net::record::{Arrivals, Fate};
use earlydrop_sim::engine::network::PortKind;

const LINK: Link = Link { rate_bps: 1e6, delay_s: 0.01 };
/// Thresholds within reach of a queue of a few dozen packets.
const LIVELY: [(&str, f64); 6] =
    [("min_th", 10.0), ("max_th", 30.0), ("q_ref", 20.0), ("a", 9.11e-4), ("b", 9.08e-4), ("k_p", 9.08e-4)];
const ARRIVALS: usize = 6000;
const UNTIL: f64 = 120.0;

/// Overload, underload and pauses; eight flows with different sizes, ECN codepoints, classes and hop counts; bursts,
/// and arrivals at the exact times at which transmissions end.
fn trace() -> Vec<(Time, Packet)> {
    let mut random = Generator::stream(7, "trace");
    let mut arrivals = Vec::with_capacity(ARRIVALS);
    let (mut now, mut wire_free) = (Time::ZERO, Time::ZERO);
    for i in 0..ARRIVALS {
        let u = random.uniform();
        let mean = [0.009, 0.003, 0.0055][i / 500 % 3];
        now = match i % 401 {
            // A pause; the next packets arrive exactly when a transmission ends.
            0 => wire_free.max(now) + 2.0 * random.uniform(),
            1..=20 => wire_free.max(now),
            21..=40 => now,
            _ => now + -mean * (1.0 - u).ln(),
        };
        let flow = (random.uniform() * 8.0) as u64;
        let size = [40, 576, 1000, 1500, 1000, 1000, 1000, 250][flow as usize];
        let ecn = [Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::NotEct][flow as usize % 4];
        let packet = Packet {
            ecn: if flow == 6 && random.uniform() < 0.1 { Ecn::Ce } else { ecn },
            class: flow as u8,
            ttl: 64 - flow as u8,
            initial_ttl: 64,
            // Spread over all bits, as the keys of real flows are.
            ..Packet::new(flow.wrapping_mul(0x9e37_79b9_7f4a_7c15), size)
        };
        wire_free = wire_free.max(now) + 8.0 * f64::from(size) / LINK.rate_bps;
        arrivals.push((now, packet));
    }
    arrivals
}

fn values(spec: &'static AqmSpec) -> Values {
    let mut values = Values::new();
    for (name, value) in LIVELY {
        if let Some(param) = spec.param(name) {
            values.set(param.name, Value::Real(value));
        }
    }
    if (spec.check)(&values, &LINK).is_ok() {
        values
    } else {
        Values::new()
    }
}

fn random() -> Generator {
    Generator::stream(1, "queue.bottleneck")
}

fn build(spec: &'static AqmSpec, limit: Limit) -> Option<Built> {
    (spec.build)(&values(spec), &LINK, limit).ok()
}

/// Compares fates and counters of both; `None` if the discipline has no limit of this kind.
fn both(spec: &'static AqmSpec, limit: Limit, ecn: bool, medium: impl Fn() -> Option<Medium>) -> Option<Vec<Fate>> {
    let arrivals = Arrivals { packets: trace(), headers: Vec::new() };
    let kind = PortKind::new(build(spec, limit)?, limit, ecn, random());
    let simulated = earlydrop_sim::replay::replay(kind, &LINK, medium(), arrivals.clone(), Vec::new(), UNTIL);
    let queue = build(spec, limit)?.queue(limit, ecn, random());
    let mut way = OneWay::new(OneWaySpec { queue, rate_bps: LINK.rate_bps, delay_s: LINK.delay_s, medium: medium() });
    let linked = replay(&mut way, &arrivals, Time::from_seconds(UNTIL));
    let simulated_fates = simulated.fates.expect("a replay");
    let differ = linked.iter().zip(&simulated_fates).position(|(a, b)| a != b);
    if let Some(at) = differ {
        panic!(
            "{} ({limit:?}, ecn {ecn}): arrival {at} at {:?}: link {:?}, simulator {:?}",
            spec.name, arrivals.packets[at].0, linked[at], simulated_fates[at]
        );
    }
    assert_eq!(*way.port().counters(), simulated.counters, "{}", spec.name);
    assert_eq!(way.port().packets(), simulated.queued_at_end, "{}", spec.name);
    assert_eq!(way.port().stats().mean().to_bits(), simulated.stats.mean().to_bits(), "{}", spec.name);
    assert_eq!(way.port().stats().mean_sojourn().to_bits(), simulated.stats.mean_sojourn().to_bits(), "{}", spec.name);
    Some(linked)
}

fn plain() -> Option<Medium> {
    None
}

/// A rate that changes, also to zero, and loss.
fn varying() -> Option<Medium> {
    let steps = vec![(0.0, 1e6), (5.0, 3e6), (9.0, 0.0), (9.5, 0.5e6)];
    let medium = Medium::new(&Rate::Schedule { steps, repeat: Some(20.0) });
    Some(medium.with_loss(LossPattern::Random(0.02), Generator::stream(1, "link.loss")))
}

/// Delivery opportunities, several at once and with gaps.
fn opportunities() -> Option<Medium> {
    let at_ms = (0..1000).filter(|ms| ms % 7 != 3).map(|ms| ms * 11).collect();
    Some(Medium::new(&Rate::Opportunities { at_ms }))
}

#[test]
fn every_discipline_makes_the_same_decisions() {
    let mut signals = 0;
    for spec in catalogue::all() {
        let fates = both(spec, Limit::Packets(60), true, plain).expect("a limit of packets is always taken");
        assert!(fates.iter().any(|fate| matches!(fate, Fate::Departed { .. })), "{}", spec.name);
        assert!(fates.iter().any(|fate| matches!(fate, Fate::Dropped { .. })), "{} drops nothing", spec.name);
        let sent = trace();
        signals +=
            usize::from(fates.iter().zip(&sent).any(
                |(fate, (_, packet))| matches!(fate, Fate::Departed { ecn: Ecn::Ce, .. } if packet.ecn != Ecn::Ce),
            ));
    }
    assert!(signals > 30, "only {signals} disciplines marked anything");
}

#[test]
fn without_ecn_and_with_a_limit_in_bytes_too() {
    let mut bytes = 0;
    for spec in catalogue::all() {
        both(spec, Limit::Packets(25), false, plain);
        bytes += usize::from(both(spec, Limit::Bytes(30_000), true, plain).is_some());
    }
    assert!(bytes > 40, "only {bytes} disciplines took a limit in bytes");
}

#[test]
fn on_links_with_varying_rate_too() {
    for spec in catalogue::all() {
        both(spec, Limit::Packets(60), true, varying);
        both(spec, Limit::Packets(60), true, opportunities);
    }
}

/// Links by name: the simulator decides as the link does, to the last bit of each arrival, and nothing is overtaken.
#[test]
fn on_links_by_name_too() {
    for spec in MODELS {
        let medium = || {
            let model = Model::Named { spec, values: Values::new() };
            Some(Medium::new(&Rate::Constant(LINK.rate_bps)).with_model(&model, 1, "link.bottleneck.model"))
        };
        for name in ["droptail", "pie", "fq_codel"] {
            let aqm = catalogue::find(name).expect("a discipline");
            let fates = both(aqm, Limit::Packets(60), true, medium).expect("a limit of packets");
            let arrived: Vec<Time> = fates
                .iter()
                .filter_map(|fate| match fate {
                    Fate::Departed { arrival, .. } => *arrival,
                    _ => None,
                })
                .collect();
            assert!(arrived.len() > 300, "{}: {} arrive", spec.name, arrived.len());
            if name == "droptail" {
                assert!(arrived.is_sorted(), "{} lets packets overtake", spec.name);
            }
        }
    }
}

/// The trace covers ties: some arrivals coincide with ends of transmissions.
#[test]
fn the_trace_has_arrivals_at_the_ends_of_transmissions() {
    let arrivals = Arrivals { packets: trace(), headers: Vec::new() };
    let limit = Limit::Packets(60);
    let spec = catalogue::find("droptail").expect("a discipline");
    let queue = build(spec, limit).expect("built").queue(limit, false, random());
    let mut way = OneWay::new(OneWaySpec { queue, rate_bps: LINK.rate_bps, delay_s: LINK.delay_s, medium: None });
    let fates = replay(&mut way, &arrivals, Time::from_seconds(UNTIL));
    let mut ends: Vec<u64> = (fates.iter().zip(&arrivals.packets))
        .filter_map(|(fate, (_, packet))| match fate {
            Fate::Departed { at, .. } => Some((at.seconds() + 8.0 * f64::from(packet.size) / LINK.rate_bps).to_bits()),
            _ => None,
        })
        .collect();
    ends.sort_unstable();
    let together =
        arrivals.packets.iter().filter(|(time, _)| ends.binary_search(&time.seconds().to_bits()).is_ok()).count();
    assert!(together > 50, "{together}");
}
