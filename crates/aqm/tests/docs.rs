//! The pages in `docs/algorithms` say what is true: the tests they name exist, their tables are computed.

use earlydrop_aqm::prelude::*;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages() -> Vec<(PathBuf, String)> {
    let mut pages: Vec<PathBuf> = std::fs::read_dir(root().join("docs/algorithms"))
        .expect("the pages are there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .collect();
    pages.push(root().join("docs/decisions/0001-traits-of-the-queue-floor.md"));
    pages.sort();
    pages.into_iter().map(|path| (path.clone(), std::fs::read_to_string(&path).expect("text"))).collect()
}

#[test]
fn every_test_that_the_pages_name_exists() {
    let tests = root().join("crates/aqm/tests");
    let mut named = 0;
    for (page, text) in pages() {
        for quoted in text.split('`').skip(1).step_by(2) {
            let Some((module, function)) = quoted.rsplit_once("::") else { continue };
            let file = tests.join(format!("{}.rs", module.replace("::", "/")));
            let Ok(source) = std::fs::read_to_string(file) else { continue };
            assert!(source.contains(&format!("fn {function}(")), "{}: no test {quoted}", page.display());
            named += 1;
        }
    }
    assert!(named > 40, "only {named} tests are named");
}

#[test]
fn every_file_that_the_code_refers_to_exists() {
    let sources = root().join("crates/aqm/src");
    let mut stack = vec![sources];
    let mut seen = 0;
    while let Some(path) = stack.pop() {
        if path.is_dir() {
            stack.extend(std::fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path()));
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("text");
        for quoted in text.split('`').filter(|quoted| quoted.starts_with("docs/") && quoted.ends_with(".md")) {
            assert!(root().join(quoted).is_file(), "{}: no page {quoted}", path.display());
            seen += 1;
        }
    }
    assert!(seen >= 3);
}

#[test]
fn tables_of_the_drop_curves_are_what_the_catalogue_computes() {
    let text = std::fs::read_to_string(root().join("docs/algorithms/curves.md")).expect("the page");
    let table = text.split("| avg | RED |").nth(1).expect("the table");
    let columns: [(&str, &[(&'static str, Value)]); 5] = [
        ("red", &[]),
        ("red", &[("gentle", Value::Flag(true))]),
        ("nlred", &[]),
        ("tred", &[]),
        ("tred", &[("reading", Value::Choice("printed"))]),
    ];
    let mut rows = 0;
    for line in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<f64> =
            line.trim_matches('|').split('|').map(|cell| cell.trim().parse().expect("a number")).collect();
        for (&(aqm, own), &printed) in columns.iter().zip(&cells[1..]) {
            let mut values = Values::of(&[
                ("min_th", Value::Real(24.0)),
                ("max_th", Value::Real(72.0)),
                ("max_p", Value::Real(0.1)),
            ]);
            for &(name, value) in own {
                values.set(name, value);
            }
            let link = Link { rate_bps: 5e6, delay_s: 0.01 };
            let p_b = (catalogue::find(aqm).unwrap().curve.unwrap())(&values, &link, cells[0]);
            assert!((p_b - printed).abs() < 6e-7, "{aqm} {own:?} at {}: {p_b}, printed {printed}", cells[0]);
        }
        rows += 1;
    }
    assert_eq!(rows, 11);
}
