//! Links by name in scenarios: read and written, in every way to run them, with the queues of their devices.

use earlydrop_sim::result;
use earlydrop_sim::run::{run, Events, Links};
use earlydrop_sim::scenario::{check, link_words, Doc, Scenario};
use serde_json::{json, Value as Json};

const KINDS: &[(&str, &str)] = &[
    ("lte-drive", ""),
    ("starlink-drive", ""),
    ("docsis-up", "rate = '20 Mbit/s', "),
    ("docsis-down", "rate = '50 Mbit/s', "),
    ("wifi", "rate = '50 Mbit/s', "),
    ("geo", "rate = '20 Mbit/s', "),
];

fn text(rate: &str, model: &str, aqm: &str) -> String {
    format!(
        "name = 'by name'\nduration = '20 s'\n[topology]\nkind = 'dumbbell'\npairs = 3\n\
         access = {{ rate = '1 Gbit/s', delay = '5 ms' }}\nbottleneck = {{ {rate}model = {model} }}\n\
         [queue.bottleneck]\naqm = '{aqm}'\n[queue.reverse]\naqm = '{aqm}'\n\
         [[traffic]]\nkind = 'ftp'\ntcp = 'cubic'\nstack = 'linux-6.18'\nstart = {{ uniform = ['0 s', '1 s'] }}\n"
    )
}

fn checked(text: &str) -> Scenario {
    check(&Doc::from_toml(text, None).expect("TOML"), None).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

fn document(scenario: &Scenario) -> Json {
    scenario.to_json()
}

#[test]
fn a_model_is_written_with_all_its_parameters_and_read_again() {
    for (name, rate) in KINDS {
        let scenario = checked(&text(rate, &format!("'{name}'"), "droptail"));
        let written = document(&scenario);
        let again = check(&Doc::from_json(&written).expect("a document"), None).expect("what was written");
        assert_eq!(document(&again), written, "{name}");
        let link = &written["topology"]["bottleneck"];
        assert_eq!(link["model"]["name"], **name);
        assert_eq!(link.get("rate").is_some(), !rate.is_empty(), "{name}");
        assert_eq!(link["delay"], "0 s");
    }
}

#[test]
fn the_other_direction_has_the_models_other_direction() {
    let other =
        |model: &str, rate: &str| document(&checked(&text(rate, model, "droptail")))["topology"]["reverse"].clone();
    assert_eq!(other("'lte-drive'", "")["model"], json!({ "name": "lte-drive", "operator": "att", "direction": "up" }));
    let tmobile = other("'lte-drive operator=tmobile'", "");
    assert_eq!(tmobile["model"], json!({ "name": "lte-drive", "operator": "att", "direction": "up" }));
    assert_eq!(other("'starlink-drive direction=up'", "")["model"]["direction"], "down");
    let down = other("'docsis-up propagation=1ms'", "rate = '20 Mbit/s', ");
    assert_eq!((&down["model"]["name"], &down["model"]["propagation"]), (&json!("docsis-down"), &json!("0.001 s")));
    assert_eq!(down["rate"], "20000000 bit/s");
}

#[test]
fn the_words_of_a_link_make_the_same_link() {
    let models = [
        "'lte-drive operator=tmobile'",
        "{ name = 'starlink-drive', direction = 'up', change_loss = 0.5, change_time = '50 ms' }",
        "'process step=0.1s rate=[[0.05, \"0 Mbit/s\"], [0.5, \"5 Mbit/s\"]] memory=[[\"4 s\", 0.5]] delay_step=20ms \
         delay=[[0.1, \"1 ms\"], [0.9, \"9 ms\"]]'",
    ];
    for model in models {
        let scenario = checked(&text("", model, "droptail"));
        let graph = scenario.topology.graph(1).into_owned();
        let link = &graph.links().find(|(_, one, ..)| one.name == "bottleneck").expect("a link").1.link;
        let words = link_words(link).into_iter().find(|(key, _)| *key == "model").expect("a model").1;
        let again = checked(&text("", &format!("'{words}'"), "droptail"));
        assert_eq!(document(&again), document(&scenario), "{words}");
    }
}

#[test]
fn a_models_file_is_read_from_the_scenarios_folder() {
    let folder = std::env::temp_dir().join(format!("earlydrop-model-{}", std::process::id()));
    let file = folder.join("scenario.toml");
    std::fs::create_dir_all(&folder).expect("a folder");
    let process =
        "name = 'process'\nstep = '0.1 s'\nrate = [[0.1, '1 Mbit/s'], [0.9, '9 Mbit/s']]\nmemory = [['4 s', 0.5]]\n";
    std::fs::write(folder.join("mine.toml"), process).expect("a file");
    let doc = Doc::from_toml(&text("", "'file=mine.toml'", "droptail"), None).expect("TOML");
    let scenario = check(&doc, file.to_str()).expect("a scenario");
    let model = &document(&scenario)["topology"]["bottleneck"]["model"];
    assert_eq!(model["name"], "process");
    assert_eq!(model["memory"], json!([["4 s", 0.5]]));
    for (content, said) in [
        ("name = 'lte-drive'\nx = 1\n", "model.file.x: unknown key"),
        ("[[", "is no TOML"),
        (
            "name = 'process'\nstep = '1 ms'\nrate = [[0.1, '1 bit/s'], [0.9, '100 bit/s']]\n",
            "rate: is too slow for its step",
        ),
        (&"#".repeat(70_000), "is too large a file"),
    ] {
        std::fs::write(folder.join("mine.toml"), content).expect("a file");
        let error = check(&doc, file.to_str()).expect_err(said).to_string();
        assert!(error.contains(said), "{error}");
    }
    std::fs::remove_dir_all(folder).expect("to remove it");
}

#[test]
fn runs_are_the_same_in_every_way_to_run_them_and_depend_on_the_seed() {
    for (name, rate) in KINDS {
        let scenario = checked(&text(rate, &format!("'{name}'"), "droptail"));
        let run = |seed, links, events| {
            let outcome = run(&scenario, seed, links, events).expect("a run");
            let mut found = result::document(&scenario, seed, &outcome, 0.0);
            found.as_object_mut().expect("a table").remove("cost");
            found
        };
        let first = run(1, Links::Auto, Events::Lanes);
        assert_eq!(run(1, Links::Stepped, Events::Heap), first, "{name}");
        assert_ne!(run(2, Links::Auto, Events::Lanes)["queues"], first["queues"], "{name}");
    }
}

#[test]
fn the_default_queue_is_that_of_the_models_device() {
    let queue = |model: &str, rate: &str| document(&checked(&text(rate, model, "default")))["queue"].clone();
    let lte = queue("'lte-drive'", "");
    assert_eq!(lte["bottleneck"]["aqm"], "droptail");
    // 1.5 s at the mean of 5.23 Mbit/s, and 0.86 Mbit/s.
    let bytes = |queue: &Json| queue["limit"].as_str().and_then(|text| text.strip_suffix(" B")?.parse::<f64>().ok());
    let (down, up) = (bytes(&lte["bottleneck"]).expect("bytes"), bytes(&lte["reverse"]).expect("bytes"));
    assert!(
        (down - 1.5 * 5.23e6 / 8.0).abs() < 0.01 * down && (up - 1.5 * 0.861e6 / 8.0).abs() < 0.01 * up,
        "{down} {up}"
    );

    let cable = queue("'docsis-up'", "rate = '20 Mbit/s', ");
    let pie = &cable["bottleneck"];
    assert_eq!((&pie["aqm"], &pie["dialect"], &pie["limit"]), (&json!("pie"), &json!("docsis"), &json!("250000 B")));
    for (key, value) in [
        ("qdelay_ref", 0.01),
        ("tupdate", 0.016),
        ("alpha", 0.25),
        ("beta", 2.5),
        ("max_burst", 0.142),
        ("burst_reset", 1.0),
    ] {
        assert!((pie[key].as_f64().expect(key) - value).abs() < 1e-12, "{key}");
    }
    assert_eq!(cable["reverse"]["aqm"], "droptail", "the CMTS's");
    assert_eq!(queue("'wifi'", "rate = '50 Mbit/s', ")["bottleneck"]["aqm"], "fq_codel");

    // Other keys of the table stay.
    let longer = text("", "'lte-drive'", "default")
        .replace("aqm = 'default'\n[queue.reverse]", "aqm = 'default'\nlimit = '9 packets'\n[queue.reverse]");
    assert_eq!(document(&checked(&longer))["queue"]["bottleneck"]["limit"], "9 packets");
}

/// RFC 8034's PIE holds the delay of a full upstream near its 10 ms.
#[test]
fn docsis_pie_holds_its_target() {
    let scenario = checked(&text("rate = '20 Mbit/s', ", "'docsis-up'", "default"));
    let outcome = run(&scenario, 1, Links::Auto, Events::Lanes).expect("a run");
    let found = result::document(&scenario, 1, &outcome, 0.0);
    let delay = found["queues"]["bottleneck"]["delay_mean_ms"].as_f64().expect("a delay");
    assert!((5.0..20.0).contains(&delay), "{delay}");
}
