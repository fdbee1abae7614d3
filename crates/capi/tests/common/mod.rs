//! What the tests of both files need: places, commands, and stored files.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// Where cargo put the libraries that belong to this test.
pub fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

pub fn succeeds(command: &mut Command) -> String {
    let ran = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(ran.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

/// What the program answers to `input`.
pub fn fed(command: &mut Command, input: &[u8]) -> Output {
    let mut ran = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = ran.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A program that fails reads no further.
        scope.spawn(move || stdin.write_all(input));
        ran.wait_with_output().unwrap()
    })
}

/// The text of a file of the repository, which may be packed.
pub fn unpacked(file: &str) -> String {
    let bytes = fs::read(root().join(file)).unwrap();
    let mut text = String::new();
    match file.ends_with(".gz") {
        true => flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap(),
        false => (&bytes[..]).read_to_string(&mut text).unwrap(),
    };
    text
}
