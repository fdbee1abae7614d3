//! What listings and documentation are made from: every declaration is in it, and its parts agree.

use earlydrop_aqm::{catalogue, markers, parents};
use earlydrop_sim::scenario::{discipline_reference, marker_reference, parent_reference, reference, stack_catalogue};
use serde_json::Value;
use std::collections::BTreeSet;

fn names<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().expect("a list").iter().map(|one| one[key].as_str().expect("a name")).collect()
}

/// Sentences, and words in the place of numbers that are not there.
fn is_described(parameter: &Value) -> bool {
    let words = ["name", "unit", "kind", "default", "doc"].map(|key| parameter[key].as_str());
    let choices = parameter["choices"].as_array().map_or(0, Vec::len);
    words.iter().all(Option::is_some) && (parameter["kind"] == "choice") == (choices >= 2)
}

#[test]
fn every_parameter_is_listed() {
    for spec in catalogue::all() {
        let said = discipline_reference(spec);
        assert_eq!(said["name"], spec.name);
        let wanted: Vec<&str> = spec.all_params().map(|param| param.name).collect();
        assert_eq!(names(&said["parameters"], "name"), wanted);
        assert!(said["parameters"].as_array().is_some_and(|all| all.iter().all(is_described)), "{}", spec.name);
        assert!(said["doc"].as_str().is_some_and(|doc| doc.contains("## What it does")), "{}", spec.name);
    }
    let (markers_said, parents_said) = (marker_reference(), parent_reference());
    assert_eq!(names(&markers_said["markers"], "name"), Vec::from_iter(markers::all().iter().map(|spec| spec.name)));
    assert_eq!(names(&parents_said["parents"], "name"), Vec::from_iter(parents::all().iter().map(|spec| spec.name)));
    for said in [&markers_said, &parents_said] {
        assert!(said["doc"].as_str().is_some_and(|doc| doc.lines().count() > 20 && doc.contains("## ")), "{said}");
    }
    for (spec, said) in markers::all().iter().zip(markers_said["markers"].as_array().expect("a list")) {
        assert_eq!(names(&said["parameters"], "name"), Vec::from_iter(spec.all_params().map(|param| param.name)));
    }
}

#[test]
fn keys_of_a_table_differ_and_are_explained() {
    let all = reference();
    let tables = ["links", "node", "link", "entry", "tcp"].map(|name| &all[name]);
    let kinds = ["topologies", "traffic"].map(|name| all[name].as_array().expect("a list"));
    assert!(kinds[0].len() >= 5 && kinds[1].len() >= 10);
    for keys in tables.into_iter().chain(kinds.into_iter().flatten().map(|kind| &kind["keys"])) {
        let listed = names(keys, "key");
        assert_eq!(BTreeSet::from_iter(&listed).len(), listed.len());
        assert!(names(keys, "about").iter().all(|about| about.ends_with('.')), "{listed:?}");
    }
}

/// A row of a stack sets what the stack's TCPs then have.
#[test]
fn stacks_have_what_their_rows_say() {
    let all = stack_catalogue();
    let options = BTreeSet::from_iter(names(&all["options"], "key"));
    for stack in all["stacks"].as_array().expect("a list") {
        let values = stack["values"].as_object().expect("a table");
        for (tcp, of_tcp) in values {
            let of_tcp = of_tcp.as_object().expect("a table");
            assert!(of_tcp.keys().all(|key| options.contains(key.as_str())), "{} {tcp}", stack["name"]);
            let mut given = std::collections::BTreeMap::new();
            for row in stack["rows"].as_array().expect("a list") {
                let only = row["tcps"].as_array().expect("a list");
                if only.is_empty() || only.contains(&tcp.as_str().into()) {
                    given.insert(row["key"].as_str().expect("a key"), &row["value"]);
                }
            }
            for (key, value) in given {
                if let Some(found) = of_tcp.get(key) {
                    assert_eq!(found, value, "{} {tcp} {key}", stack["name"]);
                }
            }
        }
    }
}
