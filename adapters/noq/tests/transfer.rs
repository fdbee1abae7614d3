//! 20 MB through six queues, in three processes each.

use adapter_testing::{same_in_three_processes, QUEUES};
use earlydrop_path::{run, Finished, Path, Stop};

/// A transfer of so many bytes; when it ended, s, and the result.
fn transfer(path: Path, bytes: u64) -> (f64, Finished) {
    let (mut network, client, server) = path.network().unwrap();
    let (mut sender, mut receiver) = adapter_noq::pair(bytes, 1, Default::default()).unwrap();
    let stop = run(&mut network, &mut [(client, &mut sender), (server, &mut receiver)], 600.0).unwrap();
    assert_eq!((stop, sender.lost, receiver.lost, receiver.received), (Stop::Done, None, None, bytes));
    (network.now(), network.finish().unwrap())
}

fn path() -> Path {
    Path::duplex("50 Mbit/s", "20 ms")
}

#[test]
fn a_transfer_has_the_same_datagrams_in_three_processes() {
    same_in_three_processes("a_transfer_has_the_same_datagrams_in_three_processes", || {
        let transfers = QUEUES.map(|queue| (queue, transfer(path().queue(queue).ecn(true), 20_000_000)));
        transfers.map(|(queue, (time, result))| format!("{queue} {:016x} {time} s", result.digest)).to_vec()
    });
}

#[test]
fn a_dead_link_ends_the_connection() {
    let (mut network, client, server) = path().loss(1.0).network().unwrap();
    let (mut sender, mut receiver) = adapter_noq::pair(1000, 1, Default::default()).unwrap();
    let stop = run(&mut network, &mut [(client, &mut sender), (server, &mut receiver)], 600.0).unwrap();
    assert_eq!((stop, sender.lost), (Stop::Idle, Some(noq_proto::ConnectionError::TimedOut)));
    assert!(receiver.lost.is_none() && receiver.received == 0);
}

#[test]
fn the_result_has_the_goodput_of_the_application() {
    let (time, result) = transfer(path().loss(0.01), 1_000_000);
    let goodput = result.document["flows"][0]["goodput_mbps"].as_f64().unwrap();
    assert!((goodput - 8.0 / time).abs() < 1e-6, "{goodput} Mbit/s in {time} s");
}
