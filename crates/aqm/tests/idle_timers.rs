//! All timers of a pause at once give the state that one after the other gives, to the bit, in every discipline.

mod common;

use common::OpenLoop;
use earlydrop_aqm::prelude::*;

const LINK: Link = Link { rate_bps: 1e6, delay_s: 0.01 };

/// A queue that has been full; where `empties`, it is now empty and its link idle.
fn filled(aqm: &str, empties: bool) -> (Box<dyn Discipline>, f64) {
    let random = Generator::stream(1, "queue");
    let mut open = OpenLoop::new(common::queue(aqm, &Values::new(), &LINK, Limit::Packets(200), false, random), 1e6);
    let mut now = 0.0;
    for i in 0..3000_u64 {
        now = i as f64 * 0.005;
        open.arrive(Packet::new(i % 7, 1000), now);
    }
    if !empties {
        // AVQ's virtual capacity goes to zero under this load.
        assert!(open.queue.packets() > 0 || aqm == "avq", "{aqm}");
        return (open.queue, now);
    }
    open.run_to(now + 10.0);
    assert_eq!(open.queue.packets(), 0, "{aqm}");
    (open.queue, now + 10.0)
}

/// What can be seen of it, in bits.
fn state(queue: &dyn Discipline) -> Vec<(String, u64)> {
    let mut seen = vec![("average".to_string(), queue.average().map_or(0, f64::to_bits))];
    queue.gauges(&mut |name, value| seen.push((name.to_string(), value.to_bits())));
    seen.push(("timer".to_string(), queue.next_timer().map_or(0, |time| time.seconds().to_bits())));
    seen
}

#[test]
fn timers_of_a_pause_at_once_are_one_after_the_other() {
    let mut with_timers = 0;
    for (spec, empties) in catalogue::all().iter().flat_map(|spec| [(spec, true), (spec, false)]) {
        let ((mut at_once, begin), (mut in_turn, _)) = (filled(spec.name, empties), filled(spec.name, empties));
        with_timers += usize::from(at_once.next_timer().is_some());
        let mut from = begin;
        // Pauses before and after the state has come to rest.
        for pause in [0.0, 0.1, 3.0, 40.0, 1000.0] {
            from += pause;
            let until = Time::from_seconds(from);
            let ran = at_once.on_timers(until);
            let mut expected = None;
            while let Some(next) = in_turn.next_timer().filter(|&next| next < until) {
                in_turn.on_timer(next);
                expected = Some((expected.map_or(1, |(count, _)| count + 1), next));
            }
            assert_eq!(ran, expected, "{} until {from}", spec.name);
            assert_eq!(state(&*at_once), state(&*in_turn), "{} until {from}", spec.name);
        }
    }
    assert!(with_timers >= 16, "{with_timers}");
}

/// A million seconds of REM's timers, five hundred million of them, once it is at rest.
#[test]
fn timers_at_rest_cost_nothing() {
    for aqm in ["rem", "pi", "pie", "yellow"] {
        let (mut queue, begin) = filled(aqm, true);
        let (count, _) = queue.on_timers(Time::from_seconds(begin + 1e6)).expect("timers");
        assert!(count > 1_000_000, "{aqm}: {count}");
    }
}
