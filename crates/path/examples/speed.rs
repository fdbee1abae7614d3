//! Packets a second of processor through a path alone, with payloads, and the memory of an hour at 100 Mbit/s:
//! `cargo run --release -p earlydrop-path --example speed [hour]`.

use earlydrop_path::{Ecn, Path};
use std::time::Instant;

/// Sends in bursts of `burst` payloads of 1,200 B as fast as a link of `rate` carries them, for `seconds`.
fn packets(queue: &str, rate: f64, seconds: f64, burst: usize) -> u64 {
    let path = Path::duplex(&format!("{rate} bit/s"), "5 ms").queue(queue).duration("2 h");
    let (mut network, client, server) = path.network().expect("a network");
    let gap = burst as f64 * 8.0 * 1228.0 / rate;
    let (mut sent, mut free) = (0_u64, Vec::new());
    let mut time = 0.0;
    while time < seconds {
        network.advance_to(time).expect("a later time");
        while let Some(delivery) = network.poll(server) {
            free.push(delivery.payload);
        }
        for _ in 0..burst {
            let payload = free.pop().unwrap_or_else(|| vec![0; 1200]);
            network.send(client, payload, Ecn::NotEct).expect("a datagram");
            sent += 1;
        }
        time += gap;
    }
    network.finish().expect("a result");
    sent
}

/// Peak memory of this process, MB.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) / 1e3
}

#[allow(clippy::print_stdout)]
fn main() {
    if std::env::args().nth(1).as_deref() == Some("hour") {
        let sent = packets("fq_codel", 100e6, 3600.0, 10);
        println!("an hour at 100 Mbit/s: {sent} packets, peak {:.1} MB", peak());
        return;
    }
    for queue in ["droptail", "red", "codel", "pie", "fq_codel", "dualpi2", "cake bandwidth=950mbit"] {
        let begin = Instant::now();
        let sent = packets(queue, 1e9, 20.0, 20);
        println!("{queue:24} {:.2} million packets a second", sent as f64 / begin.elapsed().as_secs_f64() / 1e6);
    }
}
