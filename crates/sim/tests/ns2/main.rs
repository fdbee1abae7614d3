//! Event-by-event equality with ns-2.35 over whole runs. `validation/reference/README.md` describes the references.

mod events;
mod networks;
mod traffic;

use serde_json::Value as Json;
use std::io::Read;
use std::path::Path;

/// The cases of a folder of references.
fn cases(folder: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(folder.join("index.json")).expect("the index is there");
    let index: Json = serde_json::from_str(&text).expect("the index is JSON");
    index["cases"].as_array().expect("a list").clone()
}

/// The lines of a compressed reference, without its header.
fn lines(path: &Path) -> Vec<String> {
    let file = std::fs::File::open(path).expect("the reference is there");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("gzip");
    text.lines().skip(1).map(str::to_string).collect()
}
