use super::*;
use crate::one_way::OneWaySpec;
use crate::run::RealTime;
use earlydrop_aqm::catalogue::{self, Built, Link};
use earlydrop_aqm::discipline::Fifo;
use earlydrop_aqm::gate::Gate;
use earlydrop_aqm::params::Values;
use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::random::Generator;

/// A direction without a rate limit, with half a second of delay.
fn long_line() -> Forwarder {
    let (link, limit) = (Link { rate_bps: 1e12, delay_s: 0.5 }, Limit::Packets(1_000_000));
    let spec = catalogue::find("droptail").expect("a discipline");
    let Ok(Built::Policy(policy)) = (spec.build)(&Values::new(), &link, limit) else { panic!("a policy") };
    let queue = Box::new(Fifo::new(Gate::new(policy, limit, false, Generator::stream(1, "q"))));
    let from = std::fs::File::open("/dev/null").expect("a file").into();
    let spec = OneWaySpec { queue, rate_bps: 1e12, delay_s: 0.5, medium: None };
    Forwarder::new(
        Direction { from, spec },
        &Settings { real_time: RealTime::Off, series: None, record: 0, keep_headers: false },
    )
}

fn packet(length: u16) -> Vec<u8> {
    let mut bytes = vec![0; usize::from(length)];
    (bytes[0], bytes[8], bytes[9]) = (0x45, 64, 17);
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
    bytes
}

#[test]
fn memory_is_bounded_and_what_exceeds_it_is_counted() {
    let mut line = long_line();
    line.ledger.max_held = 100 * (1500 + PLACE);
    for i in 0..150 {
        line.arrive(&packet(1500), Time::from_seconds(f64::from(i) * 1e-6));
    }
    assert_eq!((line.way.in_flight(), line.device_losses.over_memory), (100, 50));
    assert_eq!(line.way.port().counters().arrivals, 100, "the queue saw no other");
    assert!(line.ledger.held <= line.ledger.max_held);
    // Delivered packets free their memory.
    let nothing = std::fs::OpenOptions::new().write(true).open("/dev/null").expect("a file").into();
    let start = std::time::Instant::now().checked_sub(std::time::Duration::from_secs(1));
    line.deliver(&nothing, Clock(start.expect("a second ago")), &mut None);
    assert_eq!((line.way.in_flight(), line.ledger.held), (0, 0));
    line.arrive(&packet(1500), Time::from_seconds(2.0));
    assert_eq!((line.way.in_flight(), line.device_losses.over_memory), (1, 50));
}

#[test]
fn free_slots_keep_a_bounded_amount() {
    let mut line = long_line();
    let tags: Vec<u32> = (0..400).map(|_| line.ledger.take(65_000).expect("memory")).collect();
    tags.iter().for_each(|&tag| line.ledger.store(tag, &[0; 65_000]));
    tags.iter().for_each(|&tag| line.ledger.release(tag));
    let kept: usize = line.ledger.slots.iter().map(|slot| slot.bytes.capacity()).sum();
    assert_eq!((kept as u64, line.ledger.held), (line.ledger.spare, 0));
    assert!(line.ledger.spare <= SPARE && line.ledger.spare > SPARE / 2);
}

/// Packets of three tins at once, more than there is room for.
#[test]
fn a_real_line_measures_bands() {
    let (link, limit) = (Link { rate_bps: 8e6, delay_s: 0.0 }, Limit::Packets(4));
    let spec = catalogue::find("cake").expect("a discipline");
    let queue =
        (spec.build)(&Values::new(), &link, limit).expect("builds").queue(limit, false, Generator::stream(1, "q"));
    let from = std::fs::File::open("/dev/null").expect("a file").into();
    let spec = OneWaySpec { queue, rate_bps: 8e6, delay_s: 0.0, medium: None };
    let mut line = Forwarder::new(
        Direction { from, spec },
        &Settings { real_time: RealTime::Off, series: None, record: 0, keep_headers: false },
    );
    let of = |dscp: u8| {
        let mut bytes = packet(1000);
        bytes[1] = dscp << 2;
        bytes
    };
    for dscp in [0, 0, 0, 46, 46, 8, 8, 8] {
        line.arrive(&of(dscp), Time::ZERO);
    }
    let outcome = line.finish(Time::from_seconds(1.0));
    let found: Vec<_> = outcome.bands.iter().map(|band| (band.name, band.share)).collect();
    assert_eq!(found.iter().map(|one| one.0).collect::<Vec<_>>(), ["bulk", "best_effort", "voice"]);
    assert_eq!(found.iter().map(|one| one.1.arrivals).collect::<Vec<_>>(), [3, 3, 2]);
    let sums = |of: fn(&earlydrop_net::measure::Share) -> u64| found.iter().map(|one| of(&one.1)).sum::<u64>();
    assert_eq!(
        (sums(|one| one.departures), sums(|one| one.drops)),
        (3, 5),
        "packets take more memory than their bytes"
    );
    assert_eq!((outcome.counters.departures, outcome.counters.drops()), (3, 5));
    assert!(found.iter().all(|one| one.1.arrivals == one.1.departures + one.1.drops));
    let waits: Vec<_> = outcome.bands.iter().map(|band| band.sojourns.quantiles([1.0])[0]).collect();
    assert!(waits.iter().all(|&us| us <= 2100) && waits.iter().any(|&us| us >= 1900), "1 ms each: {waits:?}");
}
