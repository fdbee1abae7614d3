//! Fuzz targets with random bytes, where libFuzzer is missing, and again with the inputs that it found.
//!
//! `earlydrop-fuzz TARGET [--runs N] [--seconds S] [--seed N] [--keep FOLDER]` runs a target, or `all` one after the other;
//! `earlydrop-fuzz TARGET FILE...` runs it on files, with `--text` at the end it prints the scenarios they make. A run of more than two seconds of CPU time and a peak memory of more than
//! 512 MiB count as failures, as panics do. The inputs that fail are kept in FOLDER (target/fuzz). The inputs depend on the
//! seed alone. Exit code 1: something failed.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use earlydrop_aqm::random::Generator;
use earlydrop_fuzz::{find, Target, TARGETS};
use std::panic::{catch_unwind, set_hook};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longest run of one input.
const HANG: Duration = Duration::from_secs(2);
/// Most memory, KiB.
const MEMORY: u64 = 512 << 10;
/// Longest input, bytes.
const LONGEST: usize = 600;
/// Between two lines that say how far it is.
const PROGRESS: Duration = Duration::from_secs(60);
/// Inputs that failed and are kept.
const KEPT: usize = 20;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1))
    };
    let number = |name: &str| option(name).and_then(|text| text.parse::<u64>().ok());
    let given = arguments.first().map_or("", String::as_str);
    let targets: Vec<&Target> =
        if given == "all" { TARGETS.iter().collect() } else { find(given).into_iter().collect() };
    if targets.is_empty() {
        eprintln!(
            "usage: earlydrop-fuzz all|TARGET [--runs N] [--seconds S] [--seed N] [--keep FOLDER] | TARGET FILE... [--text]"
        );
        TARGETS.iter().for_each(|target| eprintln!("  {:<12} {}", target.name, target.about));
        std::process::exit(2);
    }
    let files: Vec<&String> = arguments[1..].iter().take_while(|argument| !argument.starts_with("--")).collect();
    if let (true, Some(text)) = (arguments.iter().any(|argument| argument == "--text"), targets[0].text) {
        return files.iter().for_each(|file| println!("{}", text(&contents(Path::new(file)))));
    }
    let folder = PathBuf::from(option("--keep").map_or("target/fuzz", String::as_str));
    let watch = Watch::new(folder);
    let mut failed = 0;
    for target in targets {
        failed += match files.is_empty() {
            false => files.iter().map(|file| watch.file(target, Path::new(file))).sum(),
            true => {
                let seconds = number("--seconds").unwrap_or(if number("--runs").is_some() { u64::MAX } else { 60 });
                watch.random(target, number("--runs").unwrap_or(u64::MAX), seconds, number("--seed").unwrap_or(1))
            }
        };
    }
    std::process::exit(i32::from(failed > 0));
}

/// The input that runs, and how many ran before it.
struct Watch {
    folder: PathBuf,
    /// Inputs begun and ended: odd while one runs.
    count: Arc<AtomicU64>,
    current: Arc<Mutex<(&'static str, Vec<u8>)>>,
}

impl Watch {
    fn new(folder: PathBuf) -> Watch {
        let count = Arc::new(AtomicU64::new(0));
        let current = Arc::new(Mutex::new(("", Vec::new())));
        let (of, input, kept) = (Arc::clone(&count), Arc::clone(&current), folder.clone());
        let begun = Instant::now();
        std::thread::spawn(move || {
            let (mut running, mut since) = (0, Duration::ZERO);
            loop {
                std::thread::sleep(Duration::from_millis(100));
                let (now, busy) = (of.load(Ordering::Relaxed), busy(begun));
                if now != running || now % 2 == 0 {
                    (running, since) = (now, busy);
                } else if busy > since + HANG {
                    if let Ok(current) = input.lock() {
                        eprintln!("{}: over {} s; {}", current.0, HANG.as_secs(), keep(&kept, current.0, &current.1));
                    }
                    std::process::exit(1);
                }
            }
        });
        Watch { folder, count, current }
    }

    /// Whether `bytes` failed.
    fn fails(&self, target: &'static Target, bytes: &[u8]) -> bool {
        if let Ok(mut current) = self.current.lock() {
            current.0 = target.name;
            current.1.clear();
            current.1.extend_from_slice(bytes);
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        let failed = catch_unwind(|| (target.run)(bytes)).is_err();
        self.count.fetch_add(1, Ordering::Relaxed);
        failed
    }

    fn file(&self, target: &'static Target, path: &Path) -> usize {
        let failed = self.fails(target, &contents(path));
        println!("{} {}: {}", target.name, path.display(), if failed { "fails" } else { "passes" });
        usize::from(failed)
    }

    fn random(&self, target: &'static Target, runs: u64, seconds: u64, seed: u64) -> usize {
        let mut random = Generator::stream(seed, target.name);
        let (begun, mut failed, mut done) = (Instant::now(), 0, 0);
        let (mut bytes, mut told) = (Vec::new(), Duration::ZERO);
        // The message of the first failures is enough.
        let shown = AtomicU64::new(0);
        set_hook(Box::new(move |panic| {
            if shown.fetch_add(1, Ordering::Relaxed) < KEPT as u64 {
                eprintln!("{panic}");
            }
        }));
        while done < runs && (done % 64 > 0 || begun.elapsed().as_secs() < seconds) {
            fill(&mut bytes, &mut random);
            done += 1;
            if self.fails(target, &bytes) {
                failed += 1;
                if failed <= KEPT {
                    eprintln!("{}: {}", target.name, keep(&self.folder, target.name, &bytes));
                }
            }
            if done % 1024 == 0 && begun.elapsed() > told + PROGRESS {
                told = begun.elapsed();
                eprintln!("{}: {done} runs in {:.0} s, {failed} failed", target.name, told.as_secs_f64());
            }
            if (done % 4096 == 0 || target.text.is_some()) && peak_kib() > MEMORY {
                eprintln!("{}: more than {} MiB after {done} runs", target.name, MEMORY >> 10);
                eprintln!("{}: {}", target.name, keep(&self.folder, target.name, &bytes));
                failed += 1;
                break;
            }
        }
        let took = begun.elapsed().as_secs_f64();
        println!("{}: {done} runs in {took:.0} s, {failed} failed, peak memory {} MiB", target.name, peak_kib() >> 10);
        failed
    }
}

fn contents(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| {
        eprintln!("{}: {error}", path.display());
        std::process::exit(2);
    })
}

/// Random bytes; lengths of all magnitudes. Half of the inputs repeat a few values, which lead to choices that are rare
/// among all of them.
fn fill(bytes: &mut Vec<u8>, random: &mut Generator) {
    bytes.clear();
    let length = ((LONGEST as f64).powf(random.uniform()) * 1.5) as usize;
    let few = random.uniform() < 0.5;
    let values = [0, 1, 0xff, (random.uniform() * 256.0) as u8];
    for _ in 0..length {
        let any = (random.uniform() * 256.0) as u8;
        bytes.push(if few && random.uniform() < 0.5 { values[usize::from(any) % values.len()] } else { any });
    }
}

/// Writes an input that failed; says where it is.
fn keep(folder: &Path, target: &str, bytes: &[u8]) -> String {
    let digest = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let path = folder.join(format!("{target}-{digest:016x}"));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, bytes));
    match written {
        Ok(()) => format!("kept in {}", path.display()),
        Err(error) => format!("not kept: {}: {error}", path.display()),
    }
}

/// CPU time of the main thread, which other programs do not lengthen; elapsed time where the system does not say.
fn busy(begun: Instant) -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|number| number.parse().ok());
    nanoseconds.map_or_else(|| begun.elapsed(), Duration::from_nanos)
}

/// Peak memory of this process, KiB; 0 where the system does not say.
fn peak_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}
