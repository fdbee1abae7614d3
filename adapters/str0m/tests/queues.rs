//! A minute of video through each queue.

use adapter_str0m::{call, Peer, FRAMES};
use adapter_testing::{same_in_three_processes, QUEUES};
use earlydrop_path::{run, Endpoint, Finished, Path, Stop};

/// The first frame is sent, s. The handshake is over by then.
const START: f64 = 1.0;
const END: f64 = 61.0;

/// A call behind a queue: sender, receiver, and the result from the first frame on.
fn video(rate: &str, queue: &str, seed: u64) -> (Peer, Peer, Finished) {
    let (mut network, client, server) = Path::duplex(rate, "20 ms").queue(queue).network().unwrap();
    let (mut sender, mut receiver) = call(START, END, 10_000_000, seed);
    let mut endpoints: [_; 2] = [(client, &mut sender as _), (server, &mut receiver as _)];
    assert_eq!(run(&mut network, &mut endpoints, START.next_down()).unwrap(), Stop::Until);
    network.restart_digest().unwrap();
    assert_eq!(run(&mut network, &mut endpoints, END).unwrap(), Stop::Done);
    (sender, receiver, network.finish().unwrap())
}

#[test]
fn every_queue_carries_a_call_and_every_process_gives_the_same_datagrams() {
    same_in_three_processes("every_queue_carries_a_call_and_every_process_gives_the_same_datagrams", || {
        QUEUES
            .map(|queue| {
                let (sender, receiver, finished) = video("5 Mbit/s", queue, 1);
                let part = receiver.frames as f64 / sender.frames as f64;
                assert_eq!(sender.frames, ((END - START) * FRAMES) as u64);
                assert!((0.8..=1.0).contains(&part), "{queue}: {part} of the frames arrive");
                format!("{queue} {:016x} {} of {} B", finished.digest, receiver.bytes, sender.bytes)
            })
            .to_vec()
    });
}

#[test]
fn the_rate_follows_the_link() {
    for rate in [1.0, 2.0, 4.0] {
        let (sender, receiver, finished) = video(&format!("{rate} Mbit/s"), "codel", 1);
        let used = receiver.bytes as f64 * 8.0 / (END - START) / (rate * 1e6);
        assert!((0.6..0.95).contains(&used), "{used} of {rate} Mbit/s");
        let estimate = sender.estimate as f64 / (rate * 1e6);
        assert!((0.3..2.0).contains(&estimate), "the last estimate is {estimate} of {rate} Mbit/s");
        assert!(finished.document["queues"]["up"]["drop_rate"].as_f64() > Some(0.0), "CoDel had nothing to do");
    }
}

#[test]
fn the_seed_draws_what_is_not_dtls() {
    // The first datagram is a STUN request with a random transaction, names and passwords.
    let first = |seed| {
        let (mut sender, _receiver) = call(START, END, 1_000_000, seed);
        sender.handle_timeout(0.0);
        sender.poll_transmit(0.0).unwrap().payload
    };
    assert_eq!(first(1), first(1));
    assert_ne!(first(1), first(2));
}
