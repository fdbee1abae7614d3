//! A scenario as a host sends it, checked, and the text that runs it elsewhere.

use crate::answer::{say, Wrong};
use crate::limits;
use earlydrop_sim::scenario::{self, Doc, Scenario, ScenarioError};
use serde_json::{json, Map, Value};

/// A checked scenario with the seed to run it with.
pub struct Loaded {
    /// The scenario; its seed is the one to run.
    pub scenario: Scenario,
    /// TOML of the same scenario, for `earlydrop run`.
    pub toml: String,
}

impl Loaded {
    /// What every answer about a scenario says.
    pub fn described(&self) -> Value {
        let scenario = &self.scenario;
        json!({
            "name": scenario.name,
            "seed": scenario.seed.to_string(),
            "duration_s": scenario.duration,
            "warmup_s": scenario.warmup,
            "flows": scenario.flows(),
            "flows_by_entry": scenario.traffic.iter().map(|entry| entry.flows()).collect::<Vec<_>>(),
            "scenario": scenario.to_json(),
            "warnings": scenario.warnings(),
            "toml": self.toml,
        })
    }
}

/// Reads `toml` (a text) or `json` (a table or its text), `sets` (pairs of a key and a value's text) and `seed` of a
/// request.
pub fn read(request: &Value) -> Result<Loaded, Wrong> {
    let mut text = None;
    let mut doc = match (&request["toml"], &request["json"]) {
        (Value::String(toml), Value::Null) => {
            text = Some(toml.clone());
            Doc::from_toml(toml, None)?
        }
        (Value::Null, Value::String(json)) => {
            let json: Value = serde_json::from_str(json).map_err(|e| Wrong::new(format!("not JSON: {e}")))?;
            Doc::from_json(&json)?
        }
        (Value::Null, json @ Value::Object(_)) => Doc::from_json(json)?,
        _ => return Err(Wrong::new("a request has \"toml\" (a text) or \"json\" (a table, or a text)")),
    };
    let sets = sets(&request["sets"])?;
    scenario::apply_sets(&mut doc, &sets)?;
    for (path, _) in &sets {
        if let Some(queue) = path.strip_prefix("queue.").and_then(|rest| rest.strip_suffix(".aqm")) {
            scenario::retain_known(&mut doc, queue);
        }
    }
    let seed = seed(&request["seed"])?;
    if let (Some(seed), Doc::Table(entries)) = (seed, &mut doc) {
        entries.retain(|(key, _)| key != "seed");
        let at = entries.iter().position(|(_, value)| !is_plain(value)).unwrap_or(entries.len());
        entries.insert(at, ("seed".to_string(), Doc::Integer(seed)));
    }
    let scenario = scenario::check(&doc, None)?;
    limits::check(&scenario)?;
    let toml = match text.filter(|_| sets.is_empty() && seed.is_none()) {
        Some(text) => text,
        None => toml::to_string(&json_of(&doc)).map_err(|e| Wrong::new(format!("cannot be written as TOML: {e}")))?,
    };
    Ok(Loaded { scenario, toml })
}

/// Checks a scenario and says what it is, without running it.
pub fn check(request: &Value) -> Result<i32, Wrong> {
    say(read(request)?.described().to_string());
    Ok(0)
}

fn is_plain(doc: &Doc) -> bool {
    !matches!(doc, Doc::Table(_) | Doc::Array(_))
}

fn sets(given: &Value) -> Result<Vec<(String, String)>, Wrong> {
    let wrong = || Wrong::new("\"sets\" is a list of pairs of texts, such as [\"queue.bottleneck.max_p\", \"0.2\"]");
    let pairs = match given {
        Value::Null => return Ok(Vec::new()),
        Value::Array(pairs) => pairs,
        _ => return Err(wrong()),
    };
    let pair = |pair: &Value| Some((pair[0].as_str()?.to_string(), pair[1].as_str()?.to_string()));
    pairs.iter().map(|one| pair(one).ok_or_else(wrong)).collect()
}

/// A seed is a whole number, or its text where a host's numbers are not exact enough.
fn seed(given: &Value) -> Result<Option<i64>, Wrong> {
    let seed = match given {
        Value::Null => return Ok(None),
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_i64(),
    };
    let wrong =
        || ScenarioError::new("seed", "is not a seed").given(given.to_string()).allowed("whole number 0..2^63 - 1");
    seed.filter(|&seed| seed >= 0).map(Some).ok_or_else(|| wrong().into())
}

fn json_of(doc: &Doc) -> Value {
    match doc {
        Doc::Table(entries) => {
            entries.iter().map(|(key, value)| (key.clone(), json_of(value))).collect::<Map<_, _>>().into()
        }
        Doc::Array(items) => items.iter().map(json_of).collect(),
        Doc::String(text) => json!(text),
        Doc::Float(x) => json!(x),
        Doc::Integer(x) => json!(x),
        Doc::Bool(x) => json!(x),
    }
}
