//! `[aqms]`: disciplines that were loaded from outside, by their names and digests.

use earlydrop_aqm::catalogue::{self, AqmSpec};
use earlydrop_sim::scenario::{check_with, Doc, OwnAqm};

/// The scenario's answer, with DropTail loaded as `my_queue` from outside.
fn answer(aqms: &str, loaded: bool) -> Result<String, String> {
    let spec: &'static AqmSpec =
        Box::leak(Box::new(AqmSpec { name: "my_queue", ..*catalogue::find("droptail").expect("there") }));
    let own = if loaded { vec![OwnAqm { spec, digest: "abc".to_string() }] } else { vec![] };
    let text = format!(
        "name = 's'\nduration = '1 s'\n[topology]\nkind = 'dumbbell'\npairs = 1\n\
         access = {{ rate = '10 Mbit/s', delay = '1 ms' }}\nbottleneck = {{ rate = '1 Mbit/s', delay = '10 ms' }}\n\
         [queue.bottleneck]\naqm = 'my_queue'\nlimit = '50 packets'\n[[traffic]]\nkind = 'ftp'\n{aqms}"
    );
    let doc = Doc::from_toml(&text, None).expect("TOML");
    check_with(&doc, None, &own).map(|full| full.to_json().to_string()).map_err(|error| error.to_string())
}

#[test]
fn a_loaded_discipline_is_named_and_kept_with_its_digest() {
    for aqms in ["[aqms]\nmy_queue = 'mine.py:Mine'", "[aqms.my_queue]\ndigest = 'abc'\nsource = 'mine.py:Mine'"] {
        let full = answer(aqms, true).expect(aqms);
        assert!(full.contains("\"aqm\":\"my_queue\"") && full.contains("abc"), "{full}");
    }
    assert!(answer("[aqms]\nmy_queue = 'mine.py:Mine'\nunused = 'other.py:Other'", true).is_ok(), "for other points");
}

#[test]
fn another_version_and_other_forms_are_refused() {
    for (aqms, loaded, said) in [
        ("[aqms]\nmy_queue = 'mine.py:Mine'", false, "is no discipline that was loaded"),
        ("[aqms.my_queue]\ndigest = 'other'", true, "is another version"),
        ("[aqms]\nmy_queue = 3", true, "a source such as"),
        ("[aqms.my_queue]\ncolour = 'red'", true, "a source such as"),
    ] {
        let error = answer(aqms, loaded).expect_err(aqms);
        assert!(error.contains(said) && error.contains("aqms.my_queue"), "{error}");
    }
}

#[test]
fn a_mistyped_name_is_compared_with_those_listed_too() {
    let said = answer("[aqms]\nmy_queues = 'mine.py:Mine'", false).expect_err("unknown");
    assert!(said.contains("queue.bottleneck.aqm: is unknown; did you mean \"my_queues\"?"), "{said}");
    assert!(said.ends_with(", \"my_queues\""), "{said}");
}
