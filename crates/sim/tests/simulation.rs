//! A run in steps: what is read on the way, and parameters that are set.

use earlydrop_aqm::catalogue;
use earlydrop_aqm::params::{Unit, Value as Default};
use earlydrop_aqm::Packet;
use earlydrop_sim::engine::packet_log::{Kind, PacketEvent};
use earlydrop_sim::result;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, Doc, Scenario};
use earlydrop_sim::simulation::Simulation;
use serde_json::Value;

fn scenario(queue: &str, record: &str) -> Scenario {
    scenario_with(queue, record, "")
}

fn scenario_with(queue: &str, record: &str, traffic: &str) -> Scenario {
    let text = format!(
        "name = \"steps\"\nduration = \"20 s\"\nwarmup = \"0 s\"\n{record}\n[topology]\nkind = \"dumbbell\"\n\
         pairs = 10\naccess = {{ rate = \"20 Mbit/s\", delay = \"5 ms\" }}\n\
         bottleneck = {{ rate = \"4 Mbit/s\", delay = \"10 ms\" }}\n[queue.bottleneck]\n{queue}\n\
         [[traffic]]\nkind = \"ftp\"\ncount = 10\nsegment = 1000\nstart = {{ uniform = [\"0 s\", \"1 s\"] }}\n{traffic}\n"
    );
    check(&Doc::from_toml(&text, None).expect("TOML"), None).expect("a scenario")
}

fn without_cost(mut document: Value) -> Value {
    document.as_object_mut().expect("an object").shift_remove("cost");
    document
}

fn p(simulation: &mut Simulation, gauge: &str) -> f64 {
    let state = simulation.queue("bottleneck").expect("a queue");
    state.gauges.iter().find(|(name, _)| *name == gauge).expect("a gauge").1
}

/// What is read at a time is what the series holds there.
#[test]
fn steps_see_what_samples_see() {
    let scenario = scenario(
        "aqm = \"red\"\nlimit = 60\nmin_th = 5\nmax_th = 30",
        "[record]\nseries = \"70 ms\"\ngauges = true\ncwnd_flows = [1, 7]",
    );
    for links in [Links::Auto, Links::Stepped] {
        let mut simulation = Simulation::new(&scenario, 3, links).expect("builds");
        let (mut packets, mut average, mut dropped, mut cwnd) = (vec![], vec![], vec![], vec![]);
        let mut gauges = Vec::new();
        for sample in 0..200_usize {
            simulation.run_until(f64::from(sample as u32) * 0.07);
            assert_eq!(simulation.series().expect("a series").time.len(), sample, "the next is due at this time");
            let state = simulation.queue("bottleneck").expect("a queue");
            packets.push(state.packets);
            average.push(state.average.expect("an average"));
            dropped.push(state.counters.drops());
            gauges.push(state.gauges);
            cwnd.push([1, 7].map(|flow| simulation.flow(flow).expect("a flow").cwnd));
            assert_eq!(state.counters.arrivals, state.counters.departures + state.counters.drops() + state.packets);
        }
        let outcome = run(&scenario, 3, Links::Auto, Events::Lanes).expect("runs");
        let series = outcome.series.as_ref().expect("a series");
        assert!(dropped[199] > 0 && packets.iter().any(|&n| n > 0));
        assert_eq!((&series.packets[0][..200], &series.dropped[0][..200]), (&packets[..], &dropped[..]));
        assert_eq!(series.average[0][..200], average);
        assert!(series.gauges[0].iter().any(|(_, values)| values.windows(2).any(|pair| pair[0] != pair[1])));
        for (at, state) in gauges.into_iter().enumerate() {
            let sampled = series.gauges[0].iter().filter(|(_, values)| !values[at].is_nan());
            assert_eq!(sampled.map(|(name, values)| (*name, values[at])).collect::<Vec<_>>(), state, "{links:?}");
        }
        assert!(
            series.senders.iter().zip(0..).all(|(of, at)| (0..200).all(|i| of.cwnd[i] == cwnd[i][at])),
            "{links:?}"
        );
        let whole = result::document(&scenario, 3, &outcome, 0.0);
        assert_eq!(without_cost(simulation.finish(0.0)), without_cost(whole), "{links:?}");
    }
}

#[test]
fn the_mean_queue_at_the_end_is_the_result_s() {
    let scenario = scenario("aqm = \"codel\"\nlimit = 60", "");
    let mut simulation = Simulation::new(&scenario, 1, Links::Stepped).expect("builds");
    simulation.run_until(1e9);
    assert_eq!(simulation.now(), 20.0);
    let state = simulation.queue("bottleneck").expect("a queue");
    let flow = simulation.flow(3).expect("a flow");
    let document = simulation.finish(0.0);
    let queue = &document["queues"]["bottleneck"];
    assert_eq!(queue["queue_mean_packets"].as_f64(), Some(state.mean_packets));
    assert_eq!(document["flows"][2]["retransmits"].as_u64(), Some(u64::from(flow.retransmits)));
    assert_eq!(document["flows"][2]["timeouts"].as_u64(), Some(u64::from(flow.timeouts)));
    assert!(document.get("changes").is_none());
}

#[test]
fn a_value_that_is_set_again_changes_nothing() {
    for queue in [
        "aqm = \"red\"\nmax_p = 0.1",
        "aqm = \"red\"\nw_q = 0.002\ndialect = \"linux\"",
        "aqm = \"nlred\"\nw_q = 0.002\ndialect = \"ns2\"",
        "aqm = \"tred\"\nmax_p = 0.1\ndialect = \"ns3\"",
        "aqm = \"floadautored\"\nmax_p = 0.1\nstage = \"auto\"",
        "aqm = \"blue\"\nd1 = 0.01",
        "aqm = \"rem\"\nq_ref = 20",
        "aqm = \"pi\"\nq_ref = 20",
        "aqm = \"pi\"\nkd = 0.00018",
        "aqm = \"codel\"\ntarget = \"5 ms\"",
        "aqm = \"pie\"\nqdelay_ref = \"10 ms\"",
    ] {
        let (mut field, mut value) = queue.lines().nth(1).expect("a line").split_once(" = ").expect("a value");
        (field, value) = (field.trim(), value.trim_matches('"'));
        let scenario = scenario(queue, "");
        let value = value.parse().map_or(Doc::String(value.to_string()), Doc::Float);
        for links in [Links::Auto, Links::Stepped] {
            let mut simulation = Simulation::new(&scenario, 1, links).expect("builds");
            for second in 0..18 {
                simulation.run_until(f64::from(second) + 0.123);
                simulation.set("bottleneck", field, &value).expect("can be set");
            }
            let mut document = without_cost(simulation.finish(0.0));
            let changes = document.as_object_mut().expect("an object").shift_remove("changes").expect("changes");
            assert_eq!((changes.as_array().map(Vec::len), changes[2]["time_s"].as_f64()), (Some(18), Some(2.123)));
            let outcome = run(&scenario, 1, Links::Auto, Events::Lanes).expect("runs");
            assert_eq!(document, without_cost(result::document(&scenario, 1, &outcome, 0.0)), "{queue}");
        }
    }
}

#[test]
fn a_parameter_takes_effect_and_the_state_stays() {
    let scenario = scenario("aqm = \"red\"\nlimit = 100\nmin_th = 10\nmax_th = 90\nmax_p = 0.02", "");
    let mut simulation = Simulation::new(&scenario, 1, Links::Stepped).expect("builds");
    simulation.run_until(10.0);
    let before = simulation.queue("bottleneck").expect("a queue");
    simulation.set("bottleneck", "max_p", &Doc::Float(0.5)).expect("can be set");
    assert_eq!(simulation.queue("bottleneck").expect("a queue"), before, "nothing moves by itself");
    simulation.run_until(20.0);
    let after = simulation.queue("bottleneck").expect("a queue");
    assert!(before.average.unwrap() > 15.0, "{before:?}");
    assert!(after.average.unwrap() < 0.8 * before.average.unwrap(), "{after:?}");

    let pie = self::scenario("aqm = \"pie\"\nlimit = 100", "");
    let mut simulation = Simulation::new(&pie, 1, Links::Stepped).expect("builds");
    simulation.run_until(10.0);
    let before = p(&mut simulation, "p");
    simulation.set("bottleneck", "qdelay_ref", &Doc::String("60 ms".into())).expect("can be set");
    assert!(before > 0.0 && p(&mut simulation, "p") == before);
    simulation.run_until(20.0);
    assert!(p(&mut simulation, "p") < before);
}

#[test]
fn what_cannot_be_set_is_refused_in_words() {
    let scenario = scenario("aqm = \"red\"\nlimit = 100\nmin_th = 10\nmax_th = 90", "");
    let mut simulation = Simulation::new(&scenario, 1, Links::Stepped).expect("builds");
    simulation.run_until(5.0);
    let mut refused =
        |queue: &str, name: &str, value: Doc| simulation.set(queue, name, &value).expect_err("is refused").to_string();
    assert_eq!(
        refused("up", "max_p", Doc::Float(0.1)),
        "queue: there is no such queue\n  given \"up\"; allowed \"bottleneck\""
    );
    let text = refused("bottleneck", "maxp", Doc::Float(0.1));
    assert!(text.starts_with("queue.bottleneck.maxp: red has no such parameter; did you mean"), "{text}");
    let text = refused("bottleneck", "max_p", Doc::Float(1.5));
    assert!(text.starts_with("queue.bottleneck.max_p: is out of range\n  given 1.5; allowed (0, 1]"), "{text}");
    let text = refused("bottleneck", "min_th", Doc::Float(95.0));
    assert!(text.starts_with("queue.bottleneck.max_th: does not fit"), "{text}");
    let text = refused("bottleneck", "dialect", Doc::String("linux".into()));
    assert_eq!(text, "queue.bottleneck.dialect: red cannot change it while it runs");
    let document = without_cost(simulation.finish(0.0));
    let outcome = run(&scenario, 1, Links::Auto, Events::Lanes).expect("runs");
    assert_eq!(document, without_cost(result::document(&scenario, 1, &outcome, 0.0)));
}

/// The disciplines of which parameters can be set are those that `docs/python.md` names.
#[test]
fn the_page_names_the_disciplines_of_which_parameters_can_be_set() {
    let can: Vec<&str> = catalogue::all()
        .iter()
        .filter(|spec| {
            let scenario = scenario(&format!("aqm = \"{}\"", spec.name), "");
            let mut simulation = Simulation::new(&scenario, 1, Links::Stepped).expect("builds");
            simulation.run_until(2.0);
            spec.all_params().any(|param| {
                let doc = match param.default {
                    Default::Real(x) if matches!(param.unit, Unit::Seconds | Unit::Rate) => {
                        Doc::String(format!("{x} {}", param.unit.name()))
                    }
                    Default::Real(x) => Doc::Float(x),
                    _ => return false,
                };
                simulation.set("bottleneck", param.name, &doc).is_ok()
            })
        })
        .map(|spec| spec.name)
        .collect();
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/python.md")).expect("the page");
    let named = can.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    assert!(page.replace('\n', " ").contains(&named), "docs/python.md: {named}");
}

/// Every arrival has one event, every packet that joined another one when it leaves; both ways to run links tell the same,
/// and watching changes nothing.
#[test]
fn packet_events_are_what_the_counters_count() {
    let mut kinds_seen = [0_u64; Kind::ALL.len()];
    for (aqm, ecn) in [
        ("red", true),
        ("codel", true),
        ("codel", false),
        ("choke", false),
        ("drop_front", false),
        ("fq_codel", true),
        ("pie", false),
        ("dualpi2", true),
        ("droptail", false),
    ] {
        let scenario =
            scenario_with(&format!("aqm = \"{aqm}\"\nlimit = 25\necn = {ecn}\n"), "", &format!("ecn = {ecn}"));
        let mut logs = Vec::new();
        for links in [Links::Auto, Links::Stepped] {
            let mut simulation = Simulation::new(&scenario, 3, links).expect("builds");
            assert!(simulation.watch("bottleneck", usize::MAX) && !simulation.watch("top", 1));
            let mut events = Vec::new();
            for second in 1..=15 {
                simulation.run_until(f64::from(second));
                let (missed, new) = simulation.packets("bottleneck").expect("a log").drain();
                assert_eq!(missed, 0);
                // An analytic port keeps less of its packets.
                events.extend(new.map(|event| PacketEvent { packet: Packet::new(0, event.size), ..event }));
            }
            let counters = simulation.queue("bottleneck").expect("a queue").counters;
            let packets = simulation.queue("bottleneck").expect("a queue").packets;
            let count = |kind: Kind| events.iter().filter(|event| event.kind == kind).count() as u64;
            let arrivals = events.iter().filter(|event| event.sojourn.is_none()).count() as u64;
            let joined = count(Kind::Passed) + count(Kind::Marked);
            let left = events.iter().filter(|event| event.sojourn.is_some()).count() as u64;
            assert_eq!(arrivals, counters.arrivals, "{aqm}");
            assert_eq!(joined, left + packets, "{aqm}");
            assert_eq!(count(Kind::Departed) + count(Kind::DepartedMarked), counters.departures, "{aqm}");
            let drops = [Kind::Early, Kind::Forced, Kind::Overflow].map(count);
            assert_eq!(drops, [counters.early_drops, counters.forced_drops, counters.overflow_drops], "{aqm}");
            assert_eq!(count(Kind::Marked) + count(Kind::DepartedMarked), counters.marks, "{aqm}");
            assert!(events.windows(2).all(|two| two[0].time <= two[1].time), "{aqm}");
            let log = simulation.packets("bottleneck").expect("a log");
            assert_eq!(log.departed_bytes().iter().sum::<u64>(), counters.departed_bytes, "{aqm}");
            for (seen, (kind, _)) in kinds_seen.iter_mut().zip(Kind::ALL) {
                *seen += count(kind);
            }
            logs.push(events);
            let outcome = run(&scenario, 3, Links::Auto, Events::Lanes).expect("runs");
            let whole = result::document(&scenario, 3, &outcome, 0.0);
            assert_eq!(without_cost(simulation.finish(0.0)), without_cost(whole), "{aqm}");
        }
        assert_eq!(logs[0], logs[1], "{aqm}");
    }
    assert!(kinds_seen.iter().all(|&seen| seen > 0), "{kinds_seen:?}");
}

/// Run event by event, or in pieces of about so many events, it is the same run.
#[test]
fn single_events_and_pieces_are_the_same_run() {
    let scenario = scenario("aqm = \"pie\"\nlimit = 60", "[record]\nseries = \"70 ms\"");
    let outcome = run(&scenario, 3, Links::Auto, Events::Lanes).expect("runs");
    let whole = without_cost(result::document(&scenario, 3, &outcome, 0.0));
    for links in [Links::Auto, Links::Stepped] {
        let mut simulation = Simulation::new(&scenario, 3, links).expect("builds");
        let (mut times, mut next) = (0, simulation.next_time());
        while simulation.now() < 4.0 && simulation.run_next() {
            let after = simulation.next_time();
            assert!(next < after && next < Some(simulation.now()), "{links:?}");
            (times, next) = (times + 1, after);
        }
        assert!(times > 2000, "{links:?}: {times}");
        let mut pieces = 0;
        while !simulation.run_some(f64::INFINITY, 1000) {
            pieces += 1;
        }
        assert!(pieces > 5 && simulation.now() == 20.0, "{links:?}: {pieces}");
        assert!(!simulation.run_next(), "{links:?}");
        assert_eq!(without_cost(simulation.finish(0.0)), whole, "{links:?}");
    }
}
