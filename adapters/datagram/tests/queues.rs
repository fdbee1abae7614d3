//! 20 MB of datagrams through each queue.

use adapter_datagram::{Receiver, Sender, SIZE};
use adapter_testing::{same_in_three_processes, QUEUES};
use earlydrop_path::{run, Finished, Path, Stop};

const BYTES: u64 = 20_000_000;
const RATE: f64 = 50e6;

/// A transfer over a path: its rate, bit/s, and the result.
fn transfer(path: Path) -> (f64, Finished) {
    let goal = BYTES.div_ceil(SIZE as u64);
    let (mut sender, mut receiver) = (Sender::new(goal), Receiver::default());
    let (mut network, client, server) = path.network().unwrap();
    let stop = run(&mut network, &mut [(client, &mut sender), (server, &mut receiver)], 600.0).unwrap();
    assert_eq!((stop, sender.acknowledged), (Stop::Done, goal));
    (BYTES as f64 * 8.0 / network.now(), network.finish().unwrap())
}

fn path() -> Path {
    Path::duplex("50 Mbit/s", "20 ms")
}

#[test]
fn every_queue_carries_it_and_every_process_gives_the_same_datagrams() {
    same_in_three_processes("every_queue_carries_it_and_every_process_gives_the_same_datagrams", || {
        QUEUES
            .map(|queue| {
                let (rate, finished) = transfer(path().queue(queue).ecn(true));
                // A flow alone fills most of a link behind any queue, and no more than the headers leave.
                assert!((0.55 * RATE..0.98 * RATE).contains(&rate), "{queue}: {rate} bit/s");
                format!("{queue} {:016x} {rate} bit/s", finished.digest)
            })
            .to_vec()
    });
}

#[test]
fn marks_are_answered_as_drops_are() {
    let (_, marked) = transfer(path().queue("codel").ecn(true));
    let up = &marked.document["queues"]["up"];
    assert!(up["marks"].as_u64() > Some(0));
    assert_eq!(up["drop_rate"].as_f64(), Some(0.0));
    // CoDel holds its delay only for a sender that answers.
    assert!(up["delay_mean_ms"].as_f64() < Some(10.0), "{}", up["delay_mean_ms"]);
}

#[test]
fn for_what_is_lost_comes_more() {
    let (rate, _) = transfer(path().loss(0.01));
    // AIMD with this probability of loss: 1.22 / sqrt(p) datagrams in a round trip (Mathis et al. 1997).
    let bound = 1.22 / 0.01_f64.sqrt() * SIZE as f64 * 8.0 / 0.04;
    assert!((0.5 * bound..1.2 * bound).contains(&rate), "{rate} bit/s; Mathis et al.: {bound}");
}

#[test]
fn silence_is_answered_by_a_new_start() {
    // Nearly all is lost, so the timer has to go on.
    let (mut sender, mut receiver) = (Sender::new(20), Receiver::default());
    let (mut network, client, server) = path().loss(0.7).network().unwrap();
    let stop = run(&mut network, &mut [(client, &mut sender), (server, &mut receiver)], 600.0).unwrap();
    assert_eq!((stop, sender.acknowledged), (Stop::Done, 20));
    assert!(network.now() > 1.0, "{} s without a timeout", network.now());
}
