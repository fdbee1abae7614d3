//! 20 MB over TCP through each queue.

use adapter_smoltcp::Tcp;
use adapter_testing::{same_in_three_processes, QUEUES};
use earlydrop_path::{run, Endpoint, Finished, Path, Stop};
use smoltcp::socket::tcp::CongestionControl;

const BYTES: usize = 20_000_000;

/// A transfer behind a queue; the time that it took, s, and the result.
fn transfer(queue: &str, congestion: CongestionControl, seed: u64) -> (f64, Finished) {
    let path = Path::duplex("50 Mbit/s", "20 ms").queue(queue).overhead(0);
    let (mut network, client, server) = path.network().unwrap();
    let (mut sender, mut receiver) = (Tcp::client(BYTES, congestion, seed), Tcp::server(congestion, seed + 1));
    let stop = run(&mut network, &mut [(client, &mut sender), (server, &mut receiver)], 3600.0).unwrap();
    assert_eq!((stop, receiver.received), (Stop::Done, BYTES), "{queue}");
    (network.now(), network.finish().unwrap())
}

#[test]
fn every_queue_carries_it_and_every_process_gives_the_same_packets() {
    same_in_three_processes("every_queue_carries_it_and_every_process_gives_the_same_packets", || {
        QUEUES
            .map(|queue| {
                let (time, finished) = transfer(queue, CongestionControl::Cubic, 1);
                let dropped = finished.document["queues"]["up"]["drop_rate"].as_f64().unwrap();
                // The receiver's buffer is twice what the path holds: each queue but a long one has to drop.
                assert_eq!(dropped > 0.0, queue != "droptail", "{queue}: {dropped}");
                format!("{queue} {:016x} {time} s", finished.digest)
            })
            .to_vec()
    });
}

/// smoltcp 0.12 reckons a congestion window, but holds no more back than its receiver's window does: it compares the
/// window with what is left to send, not with what is under way. A queue shows it in a second.
#[test]
fn the_congestion_window_changes_nothing() {
    let all = [CongestionControl::None, CongestionControl::Reno, CongestionControl::Cubic];
    let [none, reno, cubic] = all.map(|congestion| transfer("codel", congestion, 1));
    assert_eq!((none.1.digest, cubic.1.digest), (reno.1.digest, reno.1.digest));
    // Nor is CoDel's delay anywhere near its target of 5 ms.
    assert!(cubic.1.document["queues"]["up"]["delay_mean_ms"].as_f64() > Some(50.0));
}

#[test]
fn the_seed_draws_the_sequence_numbers() {
    let first = |seed| {
        let mut tcp = Tcp::client(1, CongestionControl::Cubic, seed);
        tcp.drive(0.0);
        tcp.poll_transmit(0.0).unwrap().payload
    };
    assert_eq!(first(1), first(1));
    assert_ne!(first(1), first(2));
}
