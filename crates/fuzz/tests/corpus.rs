//! Every target on a short corpus: random bytes of fixed seeds, and every input that ever failed (`corpus/TARGET-*`).

use earlydrop_aqm::random::Generator;
use earlydrop_fuzz::{find, TARGETS};
use std::path::Path;

/// Runs of each target; some are much dearer than others.
fn runs(target: &str) -> usize {
    match target {
        "scenarios" | "networks" => 150,
        "documents" | "events" => 300,
        _ => 1000,
    }
}

#[test]
fn targets_pass_on_random_bytes() {
    for target in TARGETS {
        let mut random = Generator::stream(28, target.name);
        for run in 0..runs(target.name) {
            let length = run % 400;
            let bytes: Vec<u8> = (0..length).map(|_| (random.uniform() * 256.0) as u8).collect();
            (target.run)(&bytes);
        }
    }
}

#[test]
fn targets_pass_on_inputs_that_once_failed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for entry in std::fs::read_dir(&folder).expect("the corpus") {
        let path = entry.expect("a file").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_string();
        let (target, _) = name.split_once('-').expect("TARGET-NAME");
        let target = find(target).unwrap_or_else(|| panic!("{name} belongs to no target"));
        (target.run)(&std::fs::read(&path).expect("bytes"));
    }
}
