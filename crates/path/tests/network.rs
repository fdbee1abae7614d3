//! What a network promises: the rate of a link, the order of calls, errors, captures.

use earlydrop_path::{run, Delivery, Drive, Ecn, Endpoint, Error, Network, Path, Stop, Transmit};
use proptest::prelude::*;
use std::fs;

/// A caller's step: how long it waits, s, and what it sends then, bytes of payload.
fn steps() -> impl Strategy<Value = Vec<(f64, Vec<u16>)>> {
    let wait = prop_oneof![Just(0.0), 0.0..0.002, 0.0..0.5];
    prop::collection::vec((wait, prop::collection::vec(1_u16..3000, 0..40)), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_link_ends_at_most_what_its_rate_allows_however_late_the_caller(steps in steps(), queue in 0..6_usize) {
        let queues = ["droptail", "red", "codel", "fq_codel", "dualpi2", "cake bandwidth=8mbit"];
        let rate = 10e6;
        let path = Path::duplex("10 Mbit/s", "3 ms").queue(queues[queue]).jitter("5 ms");
        let (mut network, client, server) = path.network().unwrap();
        network.simulation().unwrap().watch("up", usize::MAX);
        let (mut time, mut sent) = (0.0, 0);
        for (wait, sizes) in &steps {
            time += wait;
            network.advance_to(time).unwrap();
            for &size in sizes {
                network.send(client, vec![0; size.into()], Ecn::Ect0).unwrap();
                sent += 1;
            }
        }
        network.advance_to(time + 60.0).unwrap();
        let events: Vec<_> = network.simulation().unwrap().packets("up").unwrap().drain().1.collect();
        let left: Vec<_> = events.iter().filter(|event| event.kind as u8 >= 5).collect();
        // Start, end and bits of each transmission.
        let ends: Vec<(f64, f64)> = left.iter().map(|one| (one.time + 8.0 * f64::from(one.size) / rate, 8.0 * f64::from(one.size))).collect();
        for (from, &(start, first)) in ends.iter().enumerate() {
            let mut bits = 0.0;
            for &(end, size) in &ends[from..] {
                bits += size;
                prop_assert!(bits <= rate * (end - start) + first + 1e-3, "{bits} bits between {start} and {end}");
            }
        }
        let (mut got, mut before, mut number) = (0, 0.0, None);
        while let Some(Delivery { at, number: this, .. }) = network.poll(server) {
            prop_assert!(at >= before && number < Some(this), "in order");
            (before, number, got) = (at, Some(this), got + 1);
        }
        let dropped = events.iter().filter(|event| (2..=4).contains(&(event.kind as u8))).count();
        prop_assert_eq!((got + dropped, left.len()), (sent, got));
    }

    #[test]
    fn when_the_caller_looks_changes_nothing(steps in steps(), often in 1..200_u32) {
        let go = |looks: u32| {
            let (mut network, client, _) =
                Path::duplex("5 Mbit/s", "10 ms").queue("fq_codel").ecn(true).loss(0.02).network().unwrap();
            let mut time = 0.0;
            for (wait, sizes) in &steps {
                for look in 1..looks {
                    network.advance_to(time + wait * f64::from(look) / f64::from(looks)).unwrap();
                    network.next_event().unwrap();
                }
                time += wait;
                network.advance_to(time).unwrap();
                sizes.iter().for_each(|&size| network.send(client, vec![0; size.into()], Ecn::Ect0).unwrap());
            }
            network.advance_to(time + 20.0).unwrap();
            network.digest().unwrap()
        };
        prop_assert_eq!(go(1), go(often));
    }
}

fn call<T>(result: Result<T, Error>) -> String {
    match result {
        Err(error) => error.to_string(),
        Ok(_) => String::from("no error"),
    }
}

#[test]
fn calls_in_the_wrong_order_and_in_the_past_are_errors() {
    let (mut network, client, _) = Path::duplex("1 Mbit/s", "1 ms").duration("2 s").network().unwrap();
    assert!(call(network.send(client, vec![0; 65_508], Ecn::NotEct)).contains("65508 B; allowed 0 to 65507 B"));
    network.send(client, vec![0; 65_507], Ecn::NotEct).unwrap();
    assert!(call(network.attach("client", "server")).contains("attach hosts before the network starts"));
    network.advance_to(1.0).unwrap();
    assert!(
        call(network.advance_to(0.5)).contains("0.5 s; allowed from the present, 1 s, to the end of the network, 2 s")
    );
    assert!(call(network.advance_to(f64::NAN)).contains("allowed from the present"));
    assert!(call(network.advance_to(2.5)).contains("to the end of the network, 2 s"));
    network.advance_to(2.0).unwrap();
    assert!(call(network.send(client, vec![0; 10], Ecn::NotEct)).contains("before the end of the network, at 2 s"));
    let (mut other, ..) = Path::duplex("1 Mbit/s", "1 ms").network().unwrap();
    let mut many = Network::from_text("name = 'n'\nduration = '1 s'\n[topology]\nkind = 'graph'\n[[link]]\nfrom = 'a'\nto = 'b'\nrate = '1 Mbit/s'\ndelay = '1 ms'").unwrap();
    assert!(call(many.attach("a", "c")).contains("traffic[0].to"));
    assert!(call(many.send(client, vec![0; 10], Ecn::NotEct)).contains("attach hosts before"));
    let ends: Vec<_> = (0..3).map(|_| many.attach("a", "b").unwrap()).collect();
    assert!(call(other.send(ends[2].0, vec![0; 10], Ecn::NotEct)).contains("a host of another network"));
    assert!(call(Path::duplex("fast", "1 ms").network()).contains("link[0].rate"));
    assert!(call(Path::duplex("1 Mbit/s", "1 ms").queue("reed").network()).contains("red"));
    let (network, ..) = Path::duplex("1 Mbit/s", "1 ms").warmup("1 s").network().unwrap();
    assert!(call(network.finish()).contains("after time 0"));
    let (mut network, ..) = Path::duplex("1 Mbit/s", "1 ms").warmup("1 s").network().unwrap();
    network.advance_to(0.5).unwrap();
    assert!(call(network.finish()).contains("warmup"));
    // A buffer in bandwidth-delay products: 50 kB for 10 Mbit/s and 40 ms.
    let path = Path::duplex("10 Mbit/s", "20 ms").queue("droptail limit=1bdp");
    let (mut network, client, _) = path.network().unwrap();
    (0..200).for_each(|_| network.send(client, vec![0; 972], Ecn::NotEct).unwrap());
    network.advance_to(1.0).unwrap();
    assert_eq!(network.finish().unwrap().document["queues"]["up"]["departures"], 51, "one under way, 50 wait");
}

/// Sends `burst` datagrams at once; its timer stays where it is.
struct Stubborn {
    burst: u32,
    timer: Option<f64>,
}

impl Endpoint for Stubborn {
    fn handle(&mut self, _now: f64, _datagram: Delivery) {}
    fn poll_transmit(&mut self, _now: f64) -> Option<Transmit> {
        self.burst = self.burst.checked_sub(1)?;
        Some(Transmit { payload: vec![0; 100], ecn: Ecn::NotEct })
    }
    fn poll_timeout(&mut self) -> Option<f64> {
        self.timer
    }
    fn handle_timeout(&mut self, _now: f64) {}
    fn drive(&mut self, _now: f64) -> Drive {
        Drive::Wait
    }
}

#[test]
fn an_endpoint_that_makes_no_progress_is_an_error_and_one_with_nothing_to_do_ends_the_run() {
    let go = |burst, timer, until| {
        let (mut network, client, _) = Path::duplex("1 Mbit/s", "1 ms").network().unwrap();
        run(&mut network, &mut [(client, &mut Stubborn { burst, timer })], until)
    };
    assert!(call(go(u32::MAX, None, 1.0)).contains("sends without end at 0 s"));
    assert!(call(go(0, Some(0.5), 1.0)).contains("sets its timer to a time that is over, again and again, at 0.5 s"));
    assert_eq!(go(3, None, 1.0).unwrap(), Stop::Idle);
    assert_eq!(go(3, Some(2.0), 1.0).unwrap(), Stop::Until);
    let (mut network, client, _) = Path::duplex("1 Mbit/s", "1 ms").network().unwrap();
    let (mut one, mut two) = (Stubborn { burst: 0, timer: None }, Stubborn { burst: 0, timer: None });
    let twice = run(&mut network, &mut [(client, &mut one), (client, &mut two)], 1.0);
    assert!(call(twice).contains("two endpoints at client"));
}

#[test]
fn captures_have_payloads_marks_and_drops_with_their_reasons() {
    let folder = std::env::temp_dir().join(format!("earlydrop-path-{}", std::process::id()));
    let (mut network, client, _) = Path::duplex("1 Mbit/s", "1 ms")
        .capture(&folder)
        .queue("red limit=20packets min_th=2packets max_th=6packets")
        .ecn(true)
        .network()
        .unwrap();
    for number in 0..400_u32 {
        network.advance_to(f64::from(number) * 0.001).unwrap();
        let ecn = if number % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
        network.send(client, format!("datagram {number:04} of the program").into_bytes(), ecn).unwrap();
        network.send(client, vec![0; 300], ecn).unwrap();
    }
    network.advance_to(2.0).unwrap();
    let finished = network.finish().unwrap();
    finished.write(&folder).unwrap();
    let bytes = fs::read(folder.join("up.pcapng")).unwrap();
    let count = |what: &[u8]| bytes.windows(what.len()).filter(|here| *here == what).count() as u64;
    let queue = &finished.document["queues"]["up"];
    let field = |name: &str| queue[name].as_u64().unwrap();
    assert!(field("marks") > 0 && field("early_drops") > 0 && field("forced_drops") > 0, "{queue}");
    assert_eq!(count(b"marked on arrival"), field("marks"));
    assert_eq!(count(b"dropped: early"), field("early_drops"));
    assert_eq!(count(b"dropped: forced"), field("forced_drops"));
    assert_eq!(count(b"dropped: overflow"), field("overflow_drops"));
    // Each packet once: when it left, or when it was dropped.
    assert_eq!(count(b"of the program"), 400);
    assert!(fs::read_to_string(folder.join("scenario.json")).unwrap().contains("\"outside\""));
    let text = fs::read_to_string(folder.join("result.json")).unwrap();
    assert_eq!(text, format!("{:#}\n", finished.document));
    // A test that fails has captures too.
    let (mut network, client, _) = Path::duplex("1 Mbit/s", "1 ms").capture(&folder).network().unwrap();
    network.send(client, b"the last datagram".to_vec(), Ecn::NotEct).unwrap();
    network.advance_to(1.0).unwrap();
    drop(network);
    let bytes = fs::read(folder.join("up.pcapng")).unwrap();
    assert!(bytes.windows(17).any(|here| here == b"the last datagram"));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_file_gives_cross_traffic_and_hosts() {
    let folder = std::env::temp_dir().join(format!("earlydrop-path-file-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("home.toml");
    fs::write(&file, earlydrop_sim::scenario::template("first")).unwrap();
    let mut network = Network::from_toml(&file).unwrap().seed(4);
    let (sender, receiver) = network.attach("s1", "d1").unwrap();
    network.advance_to(9.0).unwrap();
    network.send(sender, b"hello".to_vec(), Ecn::Ect1).unwrap();
    network.advance_to(10.0).unwrap();
    let Delivery { at, sent, ecn, payload, .. } = network.poll(receiver).unwrap();
    assert_eq!((sent, ecn, &payload[..]), (9.0, Ecn::Ect1, &b"hello"[..]));
    let cross = network.simulation().unwrap().flow(1).unwrap().cwnd;
    assert!(at > 9.0 && cross > 4.0, "behind the cross traffic: {at} s, cwnd {cross}");
    fs::remove_dir_all(folder).unwrap();
    assert!(call(Network::from_toml("no/such/file.toml")).contains("no/such/file.toml: no such file"));
}
