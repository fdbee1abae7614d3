//! A real link's path in virtual time: from the bytes of packets and the times of their arrivals to deliveries.

use crate::{disciplines, headers, Input};
use earlydrop_aqm::policy::Reason;
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::{Link, Packet, Time};
use earlydrop_link::header::{set_ce, Fragments, Header};
use earlydrop_link::one_way::{OneWay, OneWayObserver, OneWaySpec};
use earlydrop_net::aggregation::Aggregation;
use earlydrop_net::medium::{Bursts, LossPattern, Medium, Rate, Reorder};
use earlydrop_net::port::Observer;

const BURSTS: Bursts = Bursts { probability: 0.1, burst: 4.0, bad: 0.9, good: 0.01 };
/// Longest pause, in periods of the discipline's timer.
const PERIODS: f64 = 200.0;

#[derive(Default)]
struct Seen {
    dropped: u64,
    departed: u64,
    lost: u64,
    last: f64,
}

impl Seen {
    fn at(&mut self, now: Time) {
        assert!(now.seconds() >= self.last, "time runs back from {} to {}", self.last, now.seconds());
        self.last = now.seconds();
    }
}

impl Observer for Seen {
    fn dropped(&mut self, _packet: &Packet, now: Time, _reason: Reason) {
        self.at(now);
        self.dropped += 1;
    }

    fn departed(&mut self, _packet: &Packet, now: Time, _length: u64) {
        self.at(now);
        self.departed += 1;
    }
}

impl OneWayObserver for Seen {
    fn sent(&mut self, _packet: &Packet, arrival: Option<Time>) {
        self.lost += u64::from(arrival.is_none());
    }
}

fn medium(input: &mut Input<'_>, rate_bps: f64) -> Option<Medium> {
    let rate = match input.below(4) {
        0 | 1 => return None,
        2 => Rate::Schedule {
            steps: vec![(0.0, rate_bps), (0.5, 3.0 * rate_bps), (0.75, 0.0), (0.8, rate_bps)],
            repeat: Some(1.0),
        },
        _ => Rate::Opportunities { at_ms: (0..50 + input.below(50) as u64).map(|ms| ms * 7).collect() },
    };
    let mut medium = Medium::new(&rate);
    if input.one_in(3) && matches!(rate, Rate::Schedule { .. }) {
        let limits = Aggregation { access: 0.002, packets: None, bytes: Some(6000), time: Some(0.01) };
        medium = medium.with_aggregation(limits);
    }
    if input.one_in(2) {
        let pattern = input.of(&[LossPattern::Random(0.1), LossPattern::Every(3), LossPattern::Bursts(BURSTS)]);
        medium = medium.with_loss(pattern, Generator::stream(1, "loss"));
    }
    if input.one_in(2) {
        medium = medium.with_reorder(Reorder { probability: 0.2, delay: 0.01 }, Generator::stream(1, "reorder"));
    }
    Some(medium)
}

pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let link = Link { rate_bps: input.of(&[1e6, 10e6, 64e3, 20e6]), delay_s: input.of(&[0.01, 0.0, 0.5]) };
    let drawn = disciplines::drawn(&mut input, &link);
    let spec = drawn.spec;
    let told = format!("{} {:?} {:?}", spec.name, drawn.values, drawn.limit);
    let medium = medium(&mut input, link.rate_bps);
    let in_order = medium.is_none();
    let way = OneWaySpec { queue: drawn.queue, rate_bps: link.rate_bps, delay_s: link.delay_s, medium };
    let (mut way, mut seen, mut fragments) = (OneWay::new(way), Seen::default(), Fragments::new());
    let (mut now, mut sent, mut delivered, mut latest) = (0.0_f64, 0_u64, 0_u64, 0.0_f64);
    while !input.is_empty() && sent < 2000 {
        let step = input.of(&[1e-4, 0.0, 1e-6, 1e-3, 0.1, 1.0]);
        let bytes = headers::packet(&mut input);
        let count = 1 + input.below(16);
        let Ok(header) = Header::read(&bytes) else { continue };
        let key = fragments.endpoints(&header).key();
        let size = input.of(&[bytes.len() as u32, 1500, 65_535]);
        for _ in 0..count {
            let pause =
                way.port().next_timer().map_or(f64::INFINITY, |next| PERIODS * (next.seconds() - now).max(1e-9));
            now += f64::min(step, pause);
            let time = Time::from_seconds(now);
            way.arrive(Packet { tag: sent as u32, ..header.packet(size, key) }, time, &mut seen);
            sent += 1;
            while let Some(delivery) = way.deliver(time) {
                let (at, (start, end)) = (delivery.at.seconds(), delivery.sent);
                assert!(at <= now && start <= end && end.seconds() <= at, "{told}: a delivery at {at} s");
                assert!(at >= latest || !in_order, "{told}: out of order at {at} s");
                latest = latest.max(at);
                delivered += 1;
                if delivery.packet.ecn != header.ecn {
                    set_ce(&mut bytes.clone());
                }
            }
        }
        let waiting = way.port().packets();
        assert_eq!(sent, seen.departed + seen.dropped + waiting, "{told}: packets at the queue");
        assert_eq!(seen.departed, delivered + seen.lost + way.in_flight() as u64, "{told}: packets on the link");
        disciplines::no_nan(spec, way.port().average());
        way.port().gauges(&mut |name, value| disciplines::gauge_is_number(spec, name, value));
    }
    way.finish(Time::from_seconds(now), &mut seen);
    let counters = *way.port().counters();
    assert_eq!((counters.arrivals, counters.drops()), (sent, seen.dropped), "{told}: counters");
    let stats = way.into_stats();
    assert!(stats.mean().is_finite() && stats.mean_sojourn().is_finite(), "{told}: statistics");
}
