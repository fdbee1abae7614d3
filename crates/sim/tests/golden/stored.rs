//! A stored result against this test's run, which is built with debug assertions. `python/tests/test_determinism.py`
//! compares the release build with the same file. With `EARLYDROP_BLESS=1` in the environment the file is written anew;
//! the changelog must then say what changed and why.

use earlydrop_sim::engine::plan::Plan;
use earlydrop_sim::result;
use earlydrop_sim::run::{build, run, Events, Links};
use earlydrop_sim::scenario::{check, load};
use std::path::Path;

#[test]
fn the_stored_result_is_reproduced() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden_run");
    let scenario = check(&load(&folder.join("mixed.toml")).expect("readable"), None).expect("valid");

    let network = build(&scenario, 7).expect("a network");
    let decides: Vec<bool> = network.ports.iter().map(|port| port.kind.decides_at_enqueue()).collect();
    let (arithmetic, stepped) = Plan::from_graph(&network, &decides).count();
    assert!(arithmetic > 10 && stepped > 10, "both kinds of links: {arithmetic} and {stepped}");

    let outcome = run(&scenario, 7, Links::Auto, Events::Lanes).expect("runs");
    let mut document = result::document(&scenario, 7, &outcome, 0.0);
    document.as_object_mut().expect("an object").shift_remove("cost");
    let text = serde_json::to_string_pretty(&document).expect("JSON") + "\n";
    let golden = folder.join("mixed.json");
    if std::env::var_os("EARLYDROP_BLESS").is_some() {
        std::fs::write(&golden, &text).expect("written");
    }
    assert_eq!(text, std::fs::read_to_string(&golden).expect("the stored result"));
}
