//! Wrong scenarios: each is refused with one clear message.
//!
//! `bad_scenarios` holds pairs of a scenario and the message it gets. With `EARLYDROP_BLESS=1` in the environment
//! the messages are written anew, to be reviewed as a diff.

use std::fs;
use std::path::{Path, PathBuf};

use earlydrop_aqm::catalogue;
use earlydrop_sim::scenario::{check, load, Doc, Scenario, ScenarioError, MAX_DEPTH, MAX_FILE_BYTES};

fn load_and_check(path: &Path) -> Result<Scenario, ScenarioError> {
    check(&load(path)?, Some(&path.display().to_string()))
}

fn bad_scenarios() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad_scenarios");
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths
}

/// The message, with the file's name in place of its whole path, and the list of all disciplines left out.
fn message(path: &Path) -> String {
    let error = load_and_check(path).expect_err(&path.display().to_string());
    let folder = format!("{}/", path.parent().expect("a folder").display());
    let all: Vec<String> = catalogue::all().iter().map(|spec| format!("{:?}", spec.name)).collect();
    format!("{error}\n").replacen(&folder, "", 1).replace(&all.join(", "), "(every discipline)")
}

#[test]
fn each_wrong_scenario_has_its_message() {
    let bless = std::env::var_os("EARLYDROP_BLESS").is_some();
    let mut wrong = Vec::new();
    for path in bad_scenarios() {
        let golden = path.with_extension("expected");
        let message = message(&path);
        if bless {
            fs::write(&golden, &message).expect("written");
        } else if fs::read_to_string(&golden).unwrap_or_default() != message {
            wrong.push(format!("{}:\n{message}", golden.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_message_names_file_and_place_on_three_lines_at_most() {
    let paths = bad_scenarios();
    assert!(paths.len() >= 25, "only {} wrong scenarios", paths.len());
    for path in paths {
        let message = message(&path);
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        let place = message.strip_prefix(&format!("{name}: ")).unwrap_or_else(|| panic!("{message}"));
        assert!(place.contains(": "), "{message}");
        assert!(message.lines().count() <= 3, "{message}");
    }
}

#[test]
fn no_message_is_for_nothing() {
    for path in bad_scenarios() {
        let expected = path.with_extension("expected");
        assert!(expected.is_file(), "{} is missing", expected.display());
    }
}

/// A path of this test's own.
fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", std::process::id()))
}

/// The error for a file with these bytes.
fn refused(name: &str, bytes: &[u8]) -> String {
    let path = scratch(name);
    fs::write(&path, bytes).expect("written");
    let message = message(&path);
    fs::remove_file(&path).expect("removed");
    message
}

#[test]
fn a_missing_file() {
    let error = load(Path::new("no/such.toml")).expect_err("missing");
    assert_eq!(error.to_string(), "no/such.toml: no such file");
}

#[test]
fn a_directory() {
    let folder = env!("CARGO_TARGET_TMPDIR");
    let error = load(Path::new(folder)).expect_err("a directory");
    assert_eq!(error.to_string(), format!("{folder}: is a directory\n  allowed a scenario file (TOML)"));
}

#[cfg(unix)]
#[test]
fn a_device() {
    let error = load(Path::new("/dev/zero")).expect_err("endless");
    assert_eq!(error.message, "is not a regular file");
}

#[test]
fn a_binary_file() {
    let message = refused("binary.toml", b"\x7fELF\x02\x01\x01\x00\xff\xfe\x80");
    assert!(message.contains("is not a text file (byte 8 is not UTF-8)"), "{message}");
}

#[test]
fn a_text_with_null_bytes() {
    let message = refused("null.toml", b"name = \"x\"\n\0\0\0");
    assert!(message.contains(": line 2, column "), "{message}");
}

#[test]
fn two_hundred_megabytes() {
    let path = scratch("large.toml");
    let file = fs::File::create(&path).expect("created");
    file.set_len(200_000_000).expect("sparse");
    let message = message(&path);
    fs::remove_file(&path).expect("removed");
    assert!(message.contains("is too large for a scenario or a sweep"), "{message}");
    assert!(message.contains(&format!("given 200000000 bytes; allowed {MAX_FILE_BYTES} bytes")), "{message}");
}

#[test]
fn deep_nesting_of_every_kind() {
    for (name, text) in [
        ("lists.toml", format!("name = {}", "[".repeat(500_000))),
        ("tables.toml", format!("name = {}", "{a=".repeat(300_000))),
        ("keys.toml", format!("a{} = 1", ".a".repeat(500_000))),
        ("header.toml", format!("[a{}]", ".a".repeat(500_000))),
        ("mixed.toml", format!("[a{0}]\na{0} = {{ a{0} = {1}", ".a".repeat(MAX_DEPTH - 1), "[".repeat(1000))),
    ] {
        let message = refused(name, text.as_bytes());
        assert!(message.contains(": line "), "{message}");
        assert!(message.contains("nest deeper than 32"), "{message}");
    }
}

#[test]
fn a_document_that_is_no_table() {
    for doc in [Doc::Bool(true), Doc::Array(vec![]), Doc::String("x".into()), Doc::Integer(1), Doc::Float(f64::NAN)] {
        assert!(check(&doc, None).is_err(), "{doc:?}");
    }
}
