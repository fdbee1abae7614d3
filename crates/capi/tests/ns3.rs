//! The queue disc of ns-3 (`validation/peers/ns3/earlydrop-queue-disc.cc`) against ns-3's own, on its stored arrivals and
//! under its TCP. Needs ns-3 (`validation/peers/install.sh ns3 g++`): `make test-more SUITE=c`.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use common::{fed, folder, libraries, root, succeeds, unpacked};
use earlydrop_aqm::{catalogue, markers, parents};

/// A program of `validation/peers/ns3` with the queue disc, built once; `None` without ns-3.
fn program(name: &'static str, built: &'static OnceLock<Option<PathBuf>>) -> Option<&'static PathBuf> {
    let build = || {
        let header = ["/usr/include/ns3/core-module.h", "/usr/include/ns3.37/ns3/core-module.h"];
        if !header.iter().any(|header| fs::exists(header).unwrap_or(false)) {
            assert!(std::env::var_os("EARLYDROP_REQUIRE_PEERS").is_none(), "ns-3 is not installed");
            return None;
        }
        let (prefix, program) = (folder().join(format!("ns3_{name}")), folder().join(format!("ns3_{name}_program")));
        succeeds(Command::new("sh").arg(root().join("crates/capi/install.sh")).arg(&prefix).arg(libraries()));
        let mut build = Command::new("sh");
        build.arg(root().join("validation/peers/ns3/build.sh")).arg(&program).arg(name);
        succeeds(build.env("EARLYDROP", &prefix).env("OPTIMISE", "1"));
        Some(program)
    };
    built.get_or_init(build).as_ref()
}

fn open_loop() -> Option<&'static PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    program("openloop", &BUILT)
}

fn dumbbell() -> Option<&'static PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    program("dumbbell", &BUILT)
}

fn stored(file: &str) -> String {
    unpacked(&format!("validation/reference/ns3_openloop/{file}"))
}

/// What the queue disc with this text does with the stored arrivals: a line for each drop or mark, and the end.
fn told(program: &PathBuf, text: &str, seed: usize, arrivals: &str) -> Vec<String> {
    let mut command = Command::new(program);
    let ran = fed(command.arg(format!("earlydrop {text}")).arg(seed.to_string()), arrivals.as_bytes());
    assert!(ran.status.success(), "{text}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().lines().map(str::to_string).collect()
}

#[test]
#[ignore = "needs ns-3: make test-more SUITE=c"]
fn codel_decides_as_ns3s_own() {
    let Some(program) = open_loop() else { return };
    let (arrivals, counts) = (stored("arrivals.csv.gz"), stored("counts.csv"));
    for (case, ecn) in [("codel", ""), ("codel_ecn", " ecn=true")] {
        let ours = told(program, &format!("codel dialect=ns3 limit=1000p{ecn}"), 1, &arrivals);
        let theirs = stored(&format!("{case}.csv.gz"));
        let (end, signals) = ours.split_last().unwrap();
        assert!(signals.len() > 4000);
        let first = signals.iter().map(String::as_str).zip(theirs.lines().skip(1)).position(|(a, b)| a != b);
        assert_eq!((first, signals.len()), (None, theirs.lines().count() - 1), "{case}");
        let row = counts.lines().find(|row| row.starts_with(&format!("{case},1,"))).unwrap();
        let at_end = row.split(',').skip(5).collect::<Vec<_>>().join(",");
        assert_eq!(end, &format!("end,{at_end}"), "{case}");
    }
}

/// Mean and variance.
fn moments(counts: &[f64]) -> (f64, f64) {
    let n = counts.len() as f64;
    let mean = counts.iter().sum::<f64>() / n;
    (mean, counts.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0))
}

/// Drops and marks over twenty seeds within three standard errors, as `crates/aqm/tests/open_loop/ns3.rs` has them.
#[test]
#[ignore = "needs ns-3: make test-more SUITE=c"]
fn red_drops_and_marks_as_often_as_ns3s_own() {
    let Some(program) = open_loop() else { return };
    let (arrivals, counts) = (stored("arrivals.csv.gz"), stored("counts.csv"));
    let n = arrivals.lines().count() as f64 - 1.0;
    for (case, ecn) in [("red", ""), ("red_ecn", " ecn=true")] {
        let text = format!("red dialect=ns3 min_th=10 max_th=30 max_p=0.1 limit=100p{ecn}");
        let rows: Vec<Vec<&str>> =
            counts.lines().map(|row| row.split(',').collect()).filter(|row: &Vec<&str>| row[0] == case).collect();
        assert_eq!(rows.len(), 20);
        let number = |row: &Vec<&str>, k: usize| row[k].parse::<f64>().unwrap();
        let theirs = [
            rows.iter().map(|row| number(row, 2) + number(row, 3)).collect::<Vec<f64>>(),
            rows.iter().map(|row| number(row, 4)).collect(),
        ];
        let mut ours = [Vec::new(), Vec::new()];
        for seed in 1..=rows.len() {
            let lines = told(program, &text, seed, &arrivals);
            let marks = lines.iter().filter(|line| line.contains(",m,")).count();
            ours[0].push((lines.len() - 1 - marks) as f64);
            ours[1].push(marks as f64);
        }
        let (drops, varied) = moments(&ours[0]);
        assert!(drops > 1000.0 && varied > 0.0, "{case}: seeds differ");
        for (what, ours, theirs) in [("drops", &ours[0], &theirs[0]), ("marks", &ours[1], &theirs[1])] {
            let ((ours, own), (theirs, variance)) = (moments(ours), moments(theirs));
            let p = theirs / n;
            let bound = 3.0 * ((2.0 * n * p * (1.0 - p)).max(own + variance) / rows.len() as f64).sqrt();
            assert!((ours - theirs).abs() <= bound, "{case}: {what} {ours:.1}, ns-3 {theirs:.1}, bound {bound:.1}");
        }
    }
}

/// A run of four flows of ns-3's TCP: the program's line, a JSON object.
fn run(program: &PathBuf, queue: &str, more: &[&str]) -> String {
    let mut command = Command::new(program);
    command.arg(format!("--queue={queue}")).args(["--rate=10Mbps", "--access-rate=100Mbps", "--access-delay=5ms"]);
    command.args(["--sender-delays=5ms,7ms,9ms,13ms", "--flows=4", "--starts=0", "--warmup=0", "--statistics"]);
    succeeds(command.args(more).stderr(Stdio::piped()))
}

fn value(line: &str, key: &str) -> f64 {
    let after = line.split_once(&format!("\"{key}\": ")).unwrap_or_else(|| panic!("no {key} in {line}")).1;
    after.split([',', '}']).next().unwrap().parse().unwrap()
}

/// The same simulation, event for event, with ns-3's queue disc and with ours in its place.
#[test]
#[ignore = "needs ns-3: make test-more SUITE=c"]
fn ns3s_own_tcp_sees_no_difference_in_droptail_and_codel() {
    let Some(program) = dumbbell() else { return };
    for (theirs, ours) in [("droptail", "droptail|limit=100p"), ("codel", "codel|dialect=ns3|limit=100p")] {
        let line = |queue: &str| run(program, queue, &["--duration=10", "--limit=100"]);
        let (theirs, ours) = (line(theirs), line(&format!("earlydrop|{ours}")));
        for key in ["arrivals", "drops", "events", "throughput_mbps", "queue_mean_packets", "delay_p99_ms", "dequeued"]
        {
            assert_eq!(value(&theirs, key), value(&ours, key), "{key}\n{theirs}{ours}");
        }
        assert!(value(&ours, "drops") > 100.0, "{ours}");
    }
}

/// Every discipline, parent and marker carries ns-3's TCP with ECN; shapers shape. The queue disc itself ends the program
/// if its packets are not those of the library.
#[test]
#[ignore = "needs ns-3: make test-more SUITE=c"]
fn every_discipline_runs_in_ns3() {
    let Some(program) = dumbbell() else { return };
    let plain = catalogue::all().iter().map(|spec| format!("{}|ecn=true", spec.name));
    let behind = parents::all().iter().map(|spec| format!("{}|'child={{aqm=\"codel\",ecn=true}}'", spec.name));
    let marked = markers::all().iter().map(|spec| format!("rio|'marker={{kind=\"{}\"}}'", spec.name));
    let shaped = ["tbf|rate=4mbit|'child={aqm=\"codel\"}'", "cake|bandwidth=4mbit"].map(str::to_string);
    let mut marks = 0;
    for text in plain.chain(behind).chain(marked).chain(shaped) {
        let line = run(program, &format!("earlydrop|{text}"), &["--duration=4", "--ecn"]);
        let [arrivals, drops, dequeued, rate] =
            ["arrivals", "drops", "dequeued", "throughput_mbps"].map(|key| value(&line, key));
        // What is dropped from the queue is dequeued first, in ns-3's way to count.
        let accounted = dequeued <= arrivals && arrivals - drops - dequeued < 1500.0;
        assert!(arrivals > 1000.0 && accounted, "{text}: {line}");
        let most = if text.contains("4mbit") { 4.05 } else { 10.0 };
        let dropped = drops * 8000.0 / 4.0 / 1e6;
        assert!(rate > 1.0 && rate - dropped < most, "{text}: {line}");
        marks += usize::from(value(&line, "marks") > 0.0);
    }
    assert!(marks > 35, "{marks} disciplines mark");
    let wrong = Command::new(program).arg("--queue=earlydrop|coddle").output().unwrap();
    let said = String::from_utf8_lossy(&wrong.stderr);
    assert!(!wrong.status.success() && said.contains("did you mean \"codel\""), "{said}");
}
