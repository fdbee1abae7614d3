//! 20 MB through six queues, in three processes each.

use adapter_testing::QUEUES;
use earlydrop_path::{run, Path, Stop};
use std::process::Command;

/// What a process says about a transfer.
fn transfer(queue: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_transfer-quinn")).args([queue, "20000000", "1"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{queue}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_transfer_has_the_same_datagrams_in_three_processes() {
    let mut digests = Vec::new();
    for queue in QUEUES {
        let first = transfer(queue);
        for _ in 1..3 {
            assert_eq!(transfer(queue), first);
        }
        digests.push(first.rsplit(' ').next().unwrap().to_string());
    }
    // The digest tells transfers apart. For one flow FQ-CoDel is CoDel.
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), 5, "{digests:?}");
}

#[test]
fn a_dead_link_ends_the_connection() {
    let (mut network, client, server) = Path::duplex("50 Mbit/s", "20 ms").loss(1.0).network().unwrap();
    let (mut sender, mut receiver) = adapter_quinn::pair(1000, 1, Default::default()).unwrap();
    let stop = run(&mut network, &mut [(client, &mut sender), (server, &mut receiver)], 600.0).unwrap();
    assert_eq!((stop, sender.lost), (Stop::Idle, Some(quinn_proto::ConnectionError::TimedOut)));
    assert!(receiver.lost.is_none() && receiver.received == 0);
}

#[test]
fn the_result_has_the_goodput_of_the_application() {
    let (mut network, client, server) = Path::duplex("50 Mbit/s", "20 ms").loss(0.01).network().unwrap();
    let (mut sender, mut receiver) = adapter_quinn::pair(1_000_000, 1, Default::default()).unwrap();
    let stop = run(&mut network, &mut [(client, &mut sender), (server, &mut receiver)], 60.0).unwrap();
    assert_eq!((stop, receiver.received), (Stop::Done, 1_000_000));
    let (time, result) = (network.now(), network.finish().unwrap());
    let goodput = result.document["flows"][0]["goodput_mbps"].as_f64().unwrap();
    assert!((goodput - 8.0 / time).abs() < 1e-6, "{goodput} Mbit/s in {time} s");
}
