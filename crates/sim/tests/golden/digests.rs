//! What is stored of runs: `golden_run/columns.txt` has a digest of each column over all runs, and the files of runs one of
//! each run over the columns that are not `alone`. A column is a field of the result document, whichever queue, flow or
//! traffic entry it is of: `queues.*.marks`. So a new field adds a line and moves no other, and a result that changes
//! shows where: its runs and its columns.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files of runs: each line has a digest and a scenario.
pub const RUNS: [&str; 2] = ["drawn.txt", "stacks.txt"];
/// What marks a column that the digests of runs leave out: the file of columns was older than the field.
const ALONE: &str = "alone";

/// FNV-1a, continued from `hash`.
fn fold(hash: u64, text: &str) -> u64 {
    text.bytes().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// FNV-1a.
fn digest(text: &str) -> u64 {
    fold(0xcbf2_9ce4_8422_2325, text)
}

/// The stored file of this name.
pub fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden_run").join(name)
}

/// A digest of each column of a result document.
#[derive(Default)]
pub struct Columns(BTreeMap<String, u64>);

impl Columns {
    /// Of a document, without its cost and the engine's version.
    pub fn of(document: &Value) -> Self {
        let mut columns = Columns::default();
        for (key, value) in document.as_object().expect("an object") {
            if !["cost", "version"].contains(&key.as_str()) {
                columns.add(value, key, key, ["queues", "traces"].contains(&key.as_str()));
            }
        }
        columns
    }

    /// Adds every value below `path`; `named` says whether the keys there are names of queues or bands.
    fn add(&mut self, value: &Value, path: &str, column: &str, named: bool) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                for (key, inner) in map {
                    let name = if named { "*" } else { key };
                    let holds_names = !named && ["queues", "bands"].contains(&key.as_str());
                    self.add(inner, &format!("{path}.{key}"), &format!("{column}.{name}"), holds_names);
                }
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                for (at, inner) in items.iter().enumerate() {
                    self.add(inner, &format!("{path}.{at}"), &format!("{column}.*"), false);
                }
            }
            value => {
                let hash = self.0.entry(column.to_string()).or_insert_with(|| digest(""));
                *hash = fold(*hash, &format!("{path}={value}\n"));
            }
        }
    }
}

/// The stored columns.
pub struct Stored {
    /// Name, digest over all runs, and whether the digests of runs leave it out.
    columns: Vec<(String, u64, bool)>,
}

impl Stored {
    /// Those of the file.
    pub fn read() -> Self {
        let text = std::fs::read_to_string(file("columns.txt")).expect("the stored columns");
        let column = |line: &str| {
            let mut parts = line.split('\t');
            let hash = u64::from_str_radix(parts.next()?, 16).ok()?;
            Some((parts.next()?.to_string(), hash, parts.next() == Some(ALONE)))
        };
        Stored { columns: text.lines().map(|line| column(line).expect("digest and column")).collect() }
    }

    /// Whether there is a column of this name.
    pub fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.0 == name)
    }

    /// The digest of a run.
    pub fn digest(&self, run: &Columns) -> u64 {
        let listed = self.columns.iter().filter(|(_, _, alone)| !alone);
        let text = listed.filter_map(|(name, ..)| Some(format!("{name}={:016x}\n", run.0.get(name)?)));
        digest(&text.collect::<String>())
    }

    /// Columns whose digest over the runs, given with their scenarios, is another than the stored one.
    pub fn differing<'a>(&self, runs: impl Iterator<Item = (&'a str, &'a Columns)>) -> Vec<String> {
        let mut found = over_all(runs);
        let other = |(name, hash, _): &&(String, u64, bool)| found.remove(name) != Some(*hash);
        let mut differing: Vec<String> = self.columns.iter().filter(other).map(|(name, ..)| name.clone()).collect();
        differing.extend(found.into_keys());
        differing
    }

    /// The same columns with the digests over these runs, then those that are new, alone; all together if there were none.
    pub fn renewed<'a>(&self, runs: impl Iterator<Item = (&'a str, &'a Columns)>) -> Self {
        let mut found = over_all(runs);
        let kept = |(name, _, alone): &(String, u64, bool)| Some((name.clone(), found.remove(name)?, *alone));
        let mut columns: Vec<_> = self.columns.iter().filter_map(kept).collect();
        columns.extend(found.into_iter().map(|(name, hash)| (name, hash, !self.columns.is_empty())));
        Stored { columns }
    }

    /// Writes the file.
    pub fn write(&self) {
        let line = |(name, hash, alone): &(String, u64, bool)| {
            format!("{hash:016x}\t{name}{}\n", if *alone { format!("\t{ALONE}") } else { String::new() })
        };
        std::fs::write(file("columns.txt"), self.columns.iter().map(line).collect::<String>()).expect("written");
    }
}

/// A digest of each column over runs in any order: a sum, over the runs that have it.
fn over_all<'a>(runs: impl Iterator<Item = (&'a str, &'a Columns)>) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::<String, u64>::new();
    for (scenario, columns) in runs {
        for (name, hash) in &columns.0 {
            let sum = all.entry(name.clone()).or_default();
            *sum = sum.wrapping_add(digest(&format!("{scenario}={hash:016x}\n")));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_new_field_adds_a_line_and_moves_none() {
        let before = json!({ "seed": 1, "cost": 2, "queues": { "queues": { "marks": 3, "flows": [{ "id": 1 }] } } });
        let mut after = before.clone();
        after["queues"]["queues"]["flows"][0]["kept"] = json!([0.5, null]);
        let (old, new) = (Columns::of(&before), Columns::of(&after));
        assert_eq!(old.0.keys().collect::<Vec<_>>(), ["queues.*.flows.*.id", "queues.*.marks", "seed"]);
        let stored = Stored { columns: Vec::new() }.renewed([("a", &old)].into_iter());
        assert_eq!(stored.differing([("a", &new)].into_iter()), ["queues.*.flows.*.kept"]);
        let renewed = stored.renewed([("a", &new)].into_iter());
        assert_eq!(renewed.columns[..3], stored.columns[..]);
        assert_eq!(renewed.columns[3..].iter().map(|(_, _, alone)| *alone).collect::<Vec<_>>(), [true]);
        assert_eq!(renewed.digest(&new), stored.digest(&old));
        after["queues"]["queues"]["marks"] = json!(4);
        let other = Columns::of(&after);
        assert_eq!(renewed.differing([("a", &other)].into_iter()), ["queues.*.marks"]);
        assert_ne!(renewed.digest(&other), stored.digest(&old));
    }
}
