//! What there is to choose from, as JSON.

use crate::answer::{say, Wrong};
use crate::limits;
use earlydrop_aqm::catalogue::{all, AqmSpec, Link, FAMILIES};
use earlydrop_aqm::changeable::changeable;
use earlydrop_aqm::gauges::{self, Gauge};
use earlydrop_aqm::params::{Kind, Param, Value as Given, Values};
use earlydrop_sim::{result, scenario};
use serde_json::{json, Value};

/// The link that defaults are worked out for: 10 Mbit/s, 20 ms.
const LINK: Link = Link { rate_bps: 10e6, delay_s: 0.02 };

/// Every discipline.
pub fn disciplines() -> Result<i32, Wrong> {
    let entries: Vec<Value> = all().iter().map(|spec| entry(spec)).collect();
    say(json!({ "families": FAMILIES, "disciplines": entries }).to_string());
    Ok(0)
}

/// A discipline: what listings say of it, and what a form and a display need.
fn entry(spec: &AqmSpec) -> Value {
    let mut entry = scenario::discipline_reference(spec);
    let values = Values::new();
    let live = changeable(spec, &values, &LINK, spec.default_limit(&values, &LINK));
    for (row, param) in entry["parameters"].as_array_mut().into_iter().flatten().zip(spec.all_params()) {
        add_form(row, param);
        row["live"] = live.contains(&param.name).into();
    }
    entry["gauges"] = gauges::of(spec).iter().map(gauge).collect();
    entry["has_curve"] = spec.curve.is_some().into();
    entry
}

/// The default and range of a parameter as numbers.
fn add_form(row: &mut Value, param: &Param) {
    row["default_value"] = value(param.default);
    let (low, high, open_low, open_high, auto) = match param.kind {
        Kind::Real { low, high, open_low, open_high, auto } => (low, high, open_low, open_high, auto),
        Kind::Whole { low, high } => (low as f64, high as f64, false, false, false),
        Kind::Flag { auto } => (0.0, 1.0, false, false, auto),
        Kind::Choice(_) | Kind::Text => return,
    };
    // Infinity becomes null.
    (row["low"], row["high"]) = (json!(low), json!(high));
    (row["open_low"], row["open_high"], row["auto"]) = (open_low.into(), open_high.into(), auto.into());
}

/// A gauge with its unit and its sentence.
pub fn gauge(gauge: &Gauge) -> Value {
    json!({ "name": gauge.name, "unit": gauge.unit, "about": gauge.about })
}

/// A parameter's value: a number in its own unit, a flag or a word; a queue length in bytes is a text.
pub fn value(given: Given) -> Value {
    match given {
        Given::Real(x) => json!(x),
        Given::Whole(x) => json!(x),
        Given::Flag(on) => json!(on),
        other => json!(other.to_string()),
    }
}

/// Stacks, TCPs, kinds of traffic and of topologies with their keys, the schema of a scenario, and the limits.
pub fn reference() -> Result<i32, Wrong> {
    let mut reference = scenario::reference();
    reference["version"] = result::VERSION.into();
    reference["stacks"] = scenario::stack_catalogue();
    reference["schema"] = scenario::schema();
    reference["limits"] = limits::listed();
    say(reference.to_string());
    Ok(0)
}

/// A commented scenario called `name` on a topology of kind `topology`, as TOML.
pub fn template(input: &Value) -> Result<i32, Wrong> {
    let text = |key: &str, default: &'static str| input[key].as_str().unwrap_or(default).to_string();
    say(scenario::template_of(&text("name", "scenario"), &text("topology", "dumbbell"))?);
    Ok(0)
}
