//! One transfer behind a queue: `transfer-quinn QUEUE BYTES SEED`. Prints what must be the same in every process to the
//! standard output, and the speed to the standard error.

use earlydrop_path::{run, Path, Stop};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [queue, bytes, seed] = &arguments[..] else { return Err("usage: transfer-quinn QUEUE BYTES SEED".into()) };
    let (bytes, seed) = (bytes.parse()?, seed.parse()?);
    let path = Path::duplex("50 Mbit/s", "20 ms").queue(queue).ecn(true).seed(seed);
    let (mut network, client, server) = path.network()?;
    let (mut sender, mut receiver) = adapter_quinn::pair(bytes, seed, Default::default())?;
    let stop = run(&mut network, &mut [(client, &mut sender), (server, &mut receiver)], 600.0)?;
    if let Some(error) = sender.lost.or(receiver.lost) {
        return Err(error.into());
    }
    if stop != Stop::Done || receiver.received != bytes {
        return Err(format!("{stop:?} after {} of {bytes} B", receiver.received).into());
    }
    let (time, result) = (network.now(), network.finish()?);
    let packets = |queue: &str, counts: &[&str]| -> u64 {
        counts.iter().filter_map(|count| result.document["queues"][queue][count].as_u64()).sum()
    };
    let (drops, marks) = (packets("up", &["early_drops", "forced_drops", "overflow_drops"]), packets("up", &["marks"]));
    println!("{queue}: {bytes} B in {time} s, {drops} drops, {marks} marks, digest {:016x}", result.digest);
    // The time of the processor that the main thread has had, ns: on Linux.
    if let Ok(spent) = std::fs::read_to_string("/proc/self/schedstat") {
        let spent: f64 = spent.split(' ').next().unwrap_or("").parse()?;
        let all = (packets("up", &["departures"]) + packets("down", &["departures"])) as f64;
        eprintln!("{all} datagrams, {:.0} a second of processor", all * 1e9 / spent);
    }
    Ok(())
}
