//! The driver: random inputs by a seed, files, and what it does not know.

use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_earlydrop-fuzz")).args(arguments).output().expect("runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn so_many_random_inputs_pass() {
    for target in ["headers", "paths"] {
        let keep = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
        let (code, said, _) = run(&[target, "--runs", "130", "--seed", "3", "--keep", keep.to_str().expect("a path")]);
        assert_eq!(code, Some(0));
        assert!(said.starts_with(&format!("{target}: 130 runs in ")) && said.contains(", 0 failed"), "{said}");
    }
}

#[test]
fn a_file_is_an_input() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let file = file.to_str().expect("a path");
    assert_eq!(run(&["documents", file]), (Some(0), format!("documents {file}: passes\n"), String::new()));
    assert_eq!(run(&["documents", "missing"]).0, Some(2));
}

#[test]
fn an_unknown_target_is_answered_with_all_of_them() {
    let (code, _, said) = run(&["nonsense"]);
    assert_eq!(code, Some(2));
    assert!(earlydrop_fuzz::TARGETS.iter().all(|target| said.contains(target.about)), "{said}");
}
