//! Names what the engine was built from: a digest over its sources, which stores of results keep beside the version.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Crates whose code decides what a run gives.
const ENGINE: [&str; 3] = ["aqm", "net", "sim"];

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo names the folder"));
    let crates = here.parent().expect("crates");
    let mut digest = Fnv(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
    if !crates.join(ENGINE[0]).is_dir() {
        // Packaged alone: it is then built with the crates of its own version, which never change.
        digest.add(env::var("CARGO_PKG_VERSION").expect("cargo names the version").as_bytes());
        digest.print();
        return;
    }
    let mut files = Vec::new();
    for name in ENGINE {
        let folder = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        collect(&folder, &mut files);
    }
    // In an order that no file system chooses.
    files.sort();
    for file in &files {
        let name = file.strip_prefix(crates).expect("below crates").to_string_lossy().replace('\\', "/");
        digest.add(name.as_bytes());
        // The same text has the same digest, whatever ends its lines.
        digest.add(fs::read_to_string(file).expect("source is text").replace("\r\n", "\n").as_bytes());
    }
    digest.print();
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("sources are there") {
        let path = entry.expect("sources can be listed").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}

/// FNV-1a, 128 bits; each text ends with a byte that no text holds.
struct Fnv(u128);

impl Fnv {
    fn print(&self) {
        println!("cargo::rustc-env=EARLYDROP_BUILD={:016x}", (self.0 >> 64) as u64 ^ self.0 as u64);
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
    }
}
