//! What docs/design.md says of adding a discipline is true: one new file and one line in the list.
//! The code is taken from the page and added to a copy of the crate, which must build without a warning, list the
//! discipline at its place, and pass its documentation's test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A discipline as a page has it.
struct Example {
    name: String,
    file: String,
    /// The line of the list after which it stands.
    after: &'static str,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The block of Rust in `page` that begins with a title, without its indentation in the page.
fn example(page: &str, after: &'static str) -> Example {
    let text = fs::read_to_string(root().join(page)).expect("the page");
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim_start() == "```rust" {
            let indent = line.len() - line.trim_start().len();
            let inside = lines.by_ref().map(|line| line.get(indent..).unwrap_or("")).take_while(|line| *line != "```");
            blocks.push(inside.map(|line| format!("{line}\n")).collect::<String>());
        }
    }
    let file = blocks.into_iter().find(|block| block.starts_with("//! # ")).expect("a discipline");
    let name = file.split("include_str!(\"").nth(1).and_then(|rest| rest.split(".rs").next()).expect("its own text");
    assert!(text.contains(&format!("`crates/aqm/src/{name}.rs`")), "{page} says where {name} goes");
    assert!(text.contains(&format!("{name},")), "{page} says what the line is");
    Example { name: name.to_string(), file, after }
}

/// Writes `content` if the file has another: what is built from it stays.
fn put(path: &Path, content: &str) {
    if fs::read_to_string(path).is_ok_and(|old| old == content) {
        return;
    }
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, content).expect("a file");
}

/// Copies `from`, and removes from `to` what is not there.
fn copy(from: &Path, to: &Path, keep: &[String]) {
    fs::create_dir_all(to).expect("a folder");
    for old in fs::read_dir(to).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let name = old.file_name().expect("a name");
        if old.is_file() && !from.join(name).exists() && !keep.iter().any(|keep| name == keep.as_str()) {
            fs::remove_file(&old).expect("an old file");
        }
    }
    for path in fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target, &[]);
        } else if target.file_name().is_none_or(|name| name != "lib.rs") {
            put(&target, &fs::read_to_string(&path).expect("text"));
        }
    }
}

/// `manifest` without the sections that begin with one of `headings`.
fn without(manifest: &str, headings: &[&str]) -> String {
    let mut keeps = true;
    let lines = manifest.lines().filter(|line| {
        if line.starts_with('[') {
            keeps = !headings.contains(line);
        }
        keeps
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// A workspace with nothing but this crate, and the examples added to it.
fn workspace(examples: &[Example]) -> PathBuf {
    let copied = Path::new(env!("CARGO_TARGET_TMPDIR")).join("adding");
    let crate_ = copied.join("crates/aqm");
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("text");
    let manifest = without(&read("Cargo.toml"), &["[workspace]", "[workspace.dependencies]"]);
    put(
        &copied.join("Cargo.toml"),
        &format!("[workspace]\nresolver = \"2\"\nmembers = [\"crates/aqm\"]\n\n{manifest}"),
    );
    put(&copied.join("Cargo.lock"), &read("Cargo.lock"));
    // What the tests and benches of the crate need would take longer to build than the crate.
    put(&crate_.join("Cargo.toml"), &without(&read("crates/aqm/Cargo.toml"), &["[dev-dependencies]", "[[bench]]"]));
    // The text of the crate's documentation.
    put(&crate_.join("README.md"), &read("crates/aqm/README.md"));
    let files: Vec<String> = examples.iter().map(|example| format!("{}.rs", example.name)).collect();
    copy(&root().join("crates/aqm/src"), &crate_.join("src"), &files);
    let mut list = read("crates/aqm/src/lib.rs");
    for example in examples {
        let line = format!("    {},\n", example.after);
        assert!(list.contains(&line), "the list has {}", example.after);
        list = list.replacen(&line, &format!("{line}    {},\n", example.name), 1);
        put(&crate_.join(format!("src/{}.rs", example.name)), &example.file);
    }
    put(&crate_.join("src/lib.rs"), &list);
    let names: String = examples.iter().map(|example| format!("({:?}, {:?}), ", example.name, example.after)).collect();
    put(&crate_.join("tests/added.rs"), &LISTING.replace("NAMES", &names));
    copied
}

/// A test in the copy.
const LISTING: &str = r#"//! The catalogue has what was added, each after its neighbour, with its page and its
//! parameters.

use earlydrop_aqm::catalogue::{all, find, FAMILIES};

const ADDED: &[(&str, &str)] = &[NAMES];

#[test]
fn the_catalogue_has_them() {
    let place = |name: &str| all().iter().position(|spec| spec.name == name);
    for (name, after) in ADDED {
        assert_eq!(place(name), place(after).map(|at| at + 1));
        let spec = find(name).unwrap();
        assert!(FAMILIES.contains(&spec.family));
        assert!(spec.all_params().all(|param| param.allows(param.default)));
        for heading in ["What it does", "Source", "Differences", "Example"] {
            assert!(spec.documentation().contains(&format!("\n## {heading}")), "{heading}");
        }
    }
}
"#;

/// Runs cargo in `folder` without network, and returns what it prints.
fn cargo(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("CARGO_PROFILE_TEST_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_TEST_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "0")
        .env("RUSTFLAGS", "-D warnings")
        .output()
        .expect("cargo runs");
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(output.status.success(), "cargo {arguments:?}:\n{said}");
    said
}

#[test]
fn one_file_and_one_line_add_a_discipline() {
    let examples = [example("docs/design.md", "tred")];
    let folder = workspace(&examples);
    cargo(&folder, &["test", "--quiet", "--offline", "--test", "added"]);
    let names: Vec<&str> = examples.iter().map(|example| example.name.as_str()).collect();
    let said = cargo(&folder, &[&["test", "--quiet", "--offline", "--doc", "--"], &names[..]].concat());
    assert!(said.contains(&format!("{} passed", names.len())), "the examples' documentation was tested: {said}");
}
