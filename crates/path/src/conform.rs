//! The cases that a congestion control has to pass, for a stack from outside: RFC 9743's, as far as the path sees them.
//!
//! [`run`] tries a stack in each case with several seeds and gives the measures as JSON. `earlydrop conform FILE.json` judges
//! them beside ours and makes a page.
//!
//! ```no_run
//! use earlydrop_path::{conform, Endpoint};
//!
//! fn pair(flow: &conform::Flow) -> Result<conform::Pair, earlydrop_path::Error> {
//!     // A sender with endless data, and its receiver; `flow.seed` is for what the stack draws.
//! #   let _ = flow;
//! #   unimplemented!()
//! }
//!
//! let measures = conform::run(&conform::About::new("mine 1.0"), pair)?;
//! std::fs::write("mine.json", format!("{measures:#}"))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::endpoint::{run as run_network, Drive, Endpoint, Transmit};
use crate::error::Error;
use crate::network::{Counts, Delivery, Network};
use earlydrop_sim::result::Json;
use earlydrop_sim::run::start_times;
use earlydrop_sim::scenario::{self, Doc, Limit, Scenario};
use serde_json::{json, Map};

/// The cases, as `earlydrop conform --explain` shows them.
const CASES: &[&str] = include!(concat!(env!("OUT_DIR"), "/cases.rs"));
/// What the names of the traffic entries begin with that the stack takes the place of.
const SUBJECT: &str = "subject";
const FORMAT: &str = "earlydrop conform 1";

/// A sender with endless data, and its receiver.
pub type Pair = (Box<dyn Endpoint>, Box<dyn Endpoint>);

/// A flow that the stack is to have.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// The number of the case.
    pub case: u32,
    /// The run's seed; what the stack draws must follow from it and from the flow's number, so that a run can be repeated.
    pub seed: u64,
    /// The number of the flow in the run, from 0.
    pub number: usize,
    /// Whether the case is about ECN: the queue marks.
    pub ecn: bool,
}

/// What is tried, and how.
#[derive(Clone, Debug)]
pub struct About {
    name: String,
    kin: String,
    overhead: u32,
    seeds: u64,
    cases: Vec<u32>,
}

impl About {
    /// A stack over UDP with this name and version; 20 seeds; all cases.
    pub fn new(name: &str) -> About {
        About { name: name.into(), kin: "quic".into(), overhead: 28, seeds: 20, cases: Vec::new() }
    }

    /// Bytes on the wire beside a datagram's payload: 28, for UDP over IPv4, unless said.
    pub fn overhead(mut self, bytes: u32) -> About {
        self.overhead = bytes;
        self
    }

    /// Which of our stacks the reference has: `quic` unless said, or `rfc`, `linux-6.18`.
    pub fn kin(mut self, stack: &str) -> About {
        self.kin = stack.into();
        self
    }

    /// Runs of each case.
    pub fn seeds(mut self, seeds: u64) -> About {
        self.seeds = seeds;
        self
    }

    /// Only these cases.
    pub fn cases(mut self, numbers: &[u32]) -> About {
        self.cases = numbers.into();
        self
    }
}

/// Tries a stack in the cases; `pair` makes the two ends of each flow.
///
/// # Errors
/// If a case asked for is not there, a stack makes a call that is not allowed, or `pair` fails.
pub fn run(about: &About, mut pair: impl FnMut(&Flow) -> Result<Pair, Error>) -> Result<Json, Error> {
    let cases = CASES.iter().map(|text| Case::read(text)).collect::<Result<Vec<_>, _>>()?;
    if let Some(unknown) = about.cases.iter().find(|number| cases.iter().all(|case| case.number != **number)) {
        let known: Vec<String> = cases.iter().map(|case| case.number.to_string()).collect();
        return Err(Error::call(format!("case {unknown}; allowed {}", known.join(", "))));
    }
    let mut found = Map::new();
    for case in cases.iter().filter(|case| about.cases.is_empty() || about.cases.contains(&case.number)) {
        let value = match case.left_out {
            Some(why) => json!({ "why": why }),
            None => json!({ "measures": case.measure(about, &mut pair)? }),
        };
        found.insert(case.number.to_string(), value);
    }
    Ok(json!({
        "format": FORMAT,
        "name": about.name,
        "tcp": null,
        "stack": about.kin,
        "version": env!("CARGO_PKG_VERSION"),
        "cases": found,
    }))
}

/// A case, as far as it is needed here.
struct Case {
    number: u32,
    /// Why a stack from outside is not tried in it.
    left_out: Option<&'static str>,
    /// The scenario, with our CUBIC for the stack.
    whole: Scenario,
    /// The scenario without the stack's entries.
    rest: Doc,
    /// The entries that the stack takes the place of: index, name, number of flows, whether they are ECN-capable.
    entries: Vec<(usize, String, usize, bool)>,
    measures: Vec<Measure>,
}

struct Measure {
    id: String,
    path: Vec<String>,
    over: Option<Vec<String>>,
    scale: f64,
}

impl Case {
    fn read(text: &str) -> Result<Case, Error> {
        let doc = Doc::from_toml(text, None)?;
        let wrong = |what: &str| Error::call(format!("a case has no {what}: {}", text.lines().next().unwrap_or("")));
        let Some(Doc::Integer(number)) = doc.get("number") else { return Err(wrong("number")) };
        let mut rest = doc.get("scenario").ok_or_else(|| wrong("scenario"))?.clone();
        if let Doc::Table(keys) = &mut rest {
            keys.insert(0, ("name".into(), Doc::String(format!("case {number}"))));
        }
        let mut whole = rest.clone();
        let mut entries = Vec::new();
        if let Some(Doc::Array(traffic)) = whole.get_mut("traffic") {
            for (index, entry) in traffic.iter_mut().enumerate() {
                let Some(name) = text_of(entry.get("name")).filter(|name| name.starts_with(SUBJECT)) else { continue };
                let count = if let Some(Doc::Integer(count)) = entry.get("count") { *count as usize } else { 1 };
                entries.push((index, name, count, matches!(entry.get("ecn"), Some(Doc::Bool(true)))));
                if let Doc::Table(keys) = entry {
                    let inside = keys.iter().any(|(key, _)| key == "tcp");
                    keys.extend((!inside).then(|| ("tcp".to_string(), Doc::String("cubic".into()))));
                }
            }
        }
        if let Some(Doc::Array(traffic)) = rest.get_mut("traffic") {
            traffic.retain(|entry| text_of(entry.get("name")).is_none_or(|name| !name.starts_with(SUBJECT)));
        }
        let left_out = match (text_of(doc.get("area")).as_deref(), doc.get("outside")) {
            (Some("inside"), _) => Some("looks at the states of our bbr3"),
            (_, Some(Doc::Bool(false))) => Some("its flows are finite"),
            _ => None,
        };
        let mut measures = Vec::new();
        if let Some(Doc::Array(tables)) = doc.get("measure") {
            for table in tables {
                let path = text_of(table.get("path")).ok_or_else(|| wrong("path of a measure"))?;
                let id = text_of(table.get("id")).ok_or_else(|| wrong("id of a measure"))?;
                let scale = match table.get("scale") {
                    Some(Doc::Integer(scale)) => *scale as f64,
                    Some(Doc::Float(scale)) => *scale,
                    _ => 1.0,
                };
                let over = text_of(table.get("over")).map(|over| steps(&over));
                measures.push(Measure { id, path: steps(&path), over, scale });
            }
        }
        let whole = scenario::check(&whole, None)?;
        Ok(Case { number: *number as u32, left_out, whole, rest, entries, measures })
    }

    /// The values of each measure, seed by seed.
    fn measure(&self, about: &About, pair: &mut impl FnMut(&Flow) -> Result<Pair, Error>) -> Result<Json, Error> {
        let mut found: Vec<Vec<Json>> = vec![Vec::new(); self.measures.len()];
        for seed in 1..=about.seeds {
            let (document, subjects) = self.run(about, seed, pair)?;
            for (measure, values) in self.measures.iter().zip(&mut found) {
                let value = look(&document, &subjects, &measure.path);
                let over = measure.over.as_ref().map_or(Some(1.0), |path| look(&document, &subjects, path));
                values.push(match (value, over) {
                    (Some(value), Some(over)) if over != 0.0 => json!(measure.scale * value / over),
                    _ => Json::Null,
                });
            }
        }
        Ok(self.measures.iter().zip(found).map(|(one, values)| (one.id.clone(), Json::from(values))).collect())
    }

    /// A run: the result, and the names in it of the entries that stand for each of the stack's.
    fn run(
        &self,
        about: &About,
        seed: u64,
        pair: &mut impl FnMut(&Flow) -> Result<Pair, Error>,
    ) -> Result<(Json, Subjects), Error> {
        let mut network = Network::from_doc(self.rest.clone(), None).seed(seed).overhead(about.overhead);
        if self.measures.iter().any(|one| one.path.iter().any(|step| step == "traffic") && one.path[0] == "queues") {
            network = network.set("record.by_flow", "true")?;
        }
        // A buffer in bandwidth-delay products is that of our TCP: the flows of a stack have no round-trip time here.
        for queue in &self.whole.queues {
            let limit = match queue.spec.limit {
                Limit::Packets(packets) => format!("{packets} packets"),
                Limit::Bytes(bytes) => format!("{bytes} B"),
            };
            network = network.set(&format!("queue.{}.limit", queue.key), &format!("\"{limit}\""))?;
        }
        let starts = start_times(&self.whole, seed);
        let pairs = self.pairs();
        let (mut subjects, mut stacks, mut number) = (Subjects::new(), Vec::new(), 0);
        for (index, name, count, ecn) in &self.entries {
            let mut names = Vec::new();
            for start in starts[*index].iter().take(*count) {
                let (from, to) = (format!("s{}", number % pairs + 1), format!("d{}", number % pairs + 1));
                let (sender, receiver) = network.attach(&from, &to)?;
                names.push(network.entry_of(sender));
                let flow = Flow { case: self.number, seed, number, ecn: *ecn };
                let (sending, receiving) = pair(&flow)?;
                let sending = Box::new(Late { inner: sending, start: *start, begun: false });
                stacks.push(((sender, sending as Box<dyn Endpoint>), (receiver, receiving)));
                number += 1;
            }
            subjects.push((name.clone(), names));
        }
        let mut endpoints: Vec<(_, &mut dyn Endpoint)> = Vec::new();
        for ((sender, sending), (receiver, receiving)) in &mut stacks {
            endpoints.push((*sender, &mut **sending));
            endpoints.push((*receiver, &mut **receiving));
        }
        run_network(&mut network, &mut endpoints, self.whole.duration)?;
        // A stack that is done early leaves the rest of the time to the others.
        network.advance_to(self.whole.duration)?;
        Ok((network.finish()?.document, subjects))
    }

    /// Pairs of hosts of the dumbbell.
    fn pairs(&self) -> usize {
        match self.rest.get("topology").and_then(|topology| topology.get("pairs")) {
            Some(Doc::Integer(pairs)) => *pairs as usize,
            _ => 1,
        }
    }
}

/// The names in the result of the entries that stand for each of the stack's.
type Subjects = Vec<(String, Vec<String>)>;

/// An endpoint whose application begins at a time.
struct Late {
    inner: Box<dyn Endpoint>,
    start: f64,
    begun: bool,
}

impl Endpoint for Late {
    fn handle(&mut self, now: f64, datagram: Delivery) {
        self.inner.handle(now, datagram);
    }

    fn poll_transmit(&mut self, now: f64) -> Option<Transmit> {
        self.begun.then(|| self.inner.poll_transmit(now))?
    }

    fn poll_timeout(&mut self) -> Option<f64> {
        if self.begun {
            self.inner.poll_timeout()
        } else {
            Some(self.start)
        }
    }

    fn handle_timeout(&mut self, now: f64) {
        if self.begun {
            return self.inner.handle_timeout(now);
        }
        self.begun = now >= self.start;
        // A timer of the stack may have expired while it waited.
        if self.begun && self.inner.poll_timeout().is_some_and(|timeout| timeout <= now) {
            self.inner.handle_timeout(now);
        }
    }

    fn drive(&mut self, now: f64) -> Drive {
        self.begun |= now >= self.start;
        if self.begun {
            self.inner.drive(now)
        } else {
            Drive::Wait
        }
    }

    fn counts(&self) -> Option<Counts> {
        self.inner.counts()
    }
}

fn text_of(doc: Option<&Doc>) -> Option<String> {
    match doc {
        Some(Doc::String(text)) => Some(text.clone()),
        _ => None,
    }
}

/// The steps of a path; quotation marks keep the dots and blanks of a name.
fn steps(path: &str) -> Vec<String> {
    let (mut found, mut quoted) = (vec![String::new()], false);
    for letter in path.chars() {
        match letter {
            '"' => quoted = !quoted,
            '.' if !quoted => found.push(String::new()),
            other => found.last_mut().expect("a step").push(other),
        }
    }
    found
}

/// The number at a path of the result. An entry of the stack's is what its flows are together: sums, or Jain's index.
fn look(document: &Json, subjects: &Subjects, path: &[String]) -> Option<f64> {
    let words: Vec<&str> = path.iter().map(String::as_str).collect();
    let named = |table: &Json, name: &str| {
        table.as_array().and_then(|all| all.iter().find(|entry| entry["name"] == name).cloned())
    };
    let of = |table: &Json, name: &str, field: &str| -> Vec<f64> {
        match subjects.iter().find(|(subject, _)| subject == name) {
            Some((_, names)) => names.iter().filter_map(|name| named(table, name)?.get(field)?.as_f64()).collect(),
            None => named(table, name).and_then(|entry| entry.get(field)?.as_f64()).into_iter().collect(),
        }
    };
    let one = |values: &[f64]| if let [value] = values { Some(*value) } else { None };
    match words[..] {
        // The acknowledgements of a stack are flows, too, but carry nothing for an application.
        ["goodput_total_mbps"] => {
            let entries = document["traffic"].as_array()?;
            let counts = |entry: &&Json| {
                entry["kind"] != "outside"
                    || subjects.iter().any(|(_, names)| names.iter().any(|n| entry["name"] == **n))
            };
            Some(entries.iter().filter(counts).filter_map(|entry| entry["goodput_mbps"].as_f64()).sum())
        }
        ["traffic", name, "jain"] => {
            let values = of(&document["traffic"], name, "goodput_mbps");
            let (sum, squares) = (values.iter().sum::<f64>(), values.iter().map(|x| x * x).sum::<f64>());
            (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
        }
        ["traffic", name, "goodput_mbps"] => Some(of(&document["traffic"], name, "goodput_mbps").iter().sum()),
        ["traffic", name, field] => one(&of(&document["traffic"], name, field)),
        ["queues", queue, "traffic", name, field] => one(&of(&document["queues"][queue]["traffic"], name, field)),
        _ => words.iter().try_fold(document, |here, step| here.get(step))?.as_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_can_be_read() {
        let cases: Vec<Case> = CASES.iter().map(|text| Case::read(text).expect("a case")).collect();
        assert!(cases.len() >= 50);
        for case in cases {
            assert!(!case.entries.is_empty(), "case {}", case.number);
            assert_eq!(case.measures.is_empty(), case.left_out == Some("looks at the states of our bbr3"));
        }
    }

    #[test]
    fn quotation_marks_keep_the_dots_of_a_name() {
        assert_eq!(steps(r#"traffic."a. b".jain"#), ["traffic", "a. b", "jain"]);
        assert_eq!(steps("jain"), ["jain"]);
    }

    #[test]
    fn a_subject_is_its_flows_together() {
        let entry = |name: &str, goodput: f64| json!({ "name": name, "kind": "outside", "goodput_mbps": goodput });
        let rival = json!({ "name": "rival", "kind": "ftp", "goodput_mbps": 4.0 });
        let traffic = json!([rival, entry("a", 1.0), entry("a back", 0.5), entry("b", 3.0), entry("b back", 0.5)]);
        let document = json!({ "traffic": traffic, "queues": { "bottleneck": { "drop_rate": 0.25 } } });
        let subjects = vec![("subject".to_string(), vec!["a".to_string(), "b".to_string()])];
        let value = |path: &str| look(&document, &subjects, &steps(path));
        assert_eq!(value("traffic.subject.goodput_mbps"), Some(4.0));
        assert_eq!(value("traffic.subject.jain"), Some(0.8));
        assert_eq!(value("traffic.rival.goodput_mbps"), Some(4.0));
        assert_eq!(value("goodput_total_mbps"), Some(8.0), "without the acknowledgements");
        assert_eq!(value("queues.bottleneck.drop_rate"), Some(0.25));
        assert_eq!(value("queues.bottleneck.delay"), None);
    }
}
