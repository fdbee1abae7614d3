//! What a packet in and out costs through the C library, beside the same calls in Rust.
//!
//!     cargo build --release -p earlydrop-capi && cargo bench -p earlydrop-capi
//!
//! The loop is that of `queue_from_c.c`, which is compiled here. Both take turns; the least time of a short pass is shown.

#![allow(clippy::print_stdout)]

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use earlydrop_aqm::random::Generator;
use earlydrop_aqm::{Ecn, Header, Link, Packet, Time};
use earlydrop_sim::run::queue_of_text;

const TURNS: usize = 5;
const PASSES: u32 = 100;
const PACKETS: u32 = 10_000;
const TEXTS: [&str; 4] = ["droptail", "codel", "fq_codel", "cake"];

fn in_rust(text: &str) -> f64 {
    let link = Link { rate_bps: 1e10, delay_s: 0.01 };
    let mut queue = queue_of_text(text, &link, &|stream| Generator::stream(1, stream)).expect("a queue");
    let reads = queue.reads_headers();
    let (mut now, mut seen, mut least) = (0.0, 0, f64::INFINITY);
    for pass in 0..PASSES {
        let begin = Instant::now();
        for i in 0..PACKETS {
            let packet = Packet { ecn: Ecn::Ect0, ttl: 64, ..Packet::new(u64::from(i & 7), 1000) };
            let header = Header { source: packet.flow, destination: 9, ..Header::default() };
            now += 1e-6;
            let time = Time::from_seconds(now);
            match reads {
                true => queue.enqueue_with(packet, &header, time, &mut |_, _| ()),
                false => queue.enqueue(packet, time, &mut |_, _| ()),
            };
            if pass > 0 || i >= 20 {
                seen += queue.dequeue(time, &mut |_, _| ()).map_or(0, |packet| packet.size);
            }
        }
        least = least.min(begin.elapsed().as_nanos() as f64 / f64::from(PACKETS));
    }
    assert_eq!(seen, 1000 * (PASSES * PACKETS - 20));
    least
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (built, program) = (root.join("target/release"), root.join("target/tmp/queue_from_c"));
    let include = |folder: &str| format!("-I{}", root.join(folder).display());
    let made = Command::new("cc")
        .args(["-O2", "-std=c11", "-o"])
        .arg(&program)
        .args([include("crates/aqm/include"), include("crates/capi/include")])
        .arg(root.join("benches/queue_from_c.c"))
        .args([format!("-L{}", built.display()), format!("-Wl,-rpath,{}", built.display()), "-learlydrop".into()])
        .status();
    assert!(made.is_ok_and(|made| made.success()), "cargo build --release -p earlydrop-capi first");
    let in_c = |text: &str| -> f64 {
        let ran =
            Command::new(&program).args([text, &PASSES.to_string(), &PACKETS.to_string()]).output().expect("it runs");
        String::from_utf8_lossy(&ran.stdout).trim().parse().expect("nanoseconds")
    };
    println!("{:10} {:>8} {:>8} {:>8}", "ns", "Rust", "C", "more");
    for text in TEXTS {
        let least = |one: &dyn Fn(&str) -> f64, least: f64| one(text).min(least);
        let (rust, c) =
            (0..TURNS).fold((f64::INFINITY, f64::INFINITY), |(rust, c), _| (least(&in_rust, rust), least(&in_c, c)));
        println!("{text:10} {rust:8.1} {c:8.1} {:8.1}", c - rust);
    }
}
