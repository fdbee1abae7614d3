//! Changes of a link while it runs, in one line: `rate=5Mbit/s reverse-delay=40ms queue.target=8ms`.

use earlydrop_aqm::catalogue::{Built, Link};
use earlydrop_aqm::changeable::changeable;
use earlydrop_aqm::policy::Policy;

use super::bounds::{self, TIMES};
use super::document::Doc;
use super::error::{quoted, ScenarioError};
use super::fields::{Checked, Field, Fields};
use super::model::QueueSpec;
use super::queue::parameter_of;
use super::values::seconds;
use super::{parameter_json, words};
use serde_json::{json, Map, Value as Json};

/// Longest line, bytes.
pub const LONGEST_LINE: usize = 1000;
/// What stands before a key of the other direction.
const REVERSE: &str = "reverse-";

/// One direction of a link, as it is now.
#[derive(Clone, Debug)]
pub struct Controlled {
    /// Its rate, bit/s; `None` if that changes by itself, which nothing else can change then.
    pub rate_bps: Option<f64>,
    /// Its propagation delay, s.
    pub delay_s: f64,
    /// Its queue; `None` if there is none.
    pub queue: Option<QueueSpec>,
    /// The link as the queue was built for it.
    pub link: Link,
}

/// What changes in one direction.
#[derive(Default)]
pub struct Change {
    /// The rate from the next transmission on, bit/s.
    pub rate_bps: Option<f64>,
    /// The propagation delay of the packets that are sent from now on, s.
    pub delay_s: Option<f64>,
    /// The queue's policy with its parameters, to change into.
    pub policy: Option<Box<dyn Policy>>,
}

impl Controlled {
    /// The parameters of the queue that can change while it runs.
    pub fn changeable(&self) -> Vec<&'static str> {
        // A shaper does not hand changes on to what is in it.
        let Some(queue) = self.queue.as_ref().filter(|queue| queue.parent.is_none()) else { return Vec::new() };
        changeable(queue.spec, &queue.values, &queue.link(&self.link), queue.limit)
    }

    /// The direction as JSON: rate, delay, and the parameters that can change.
    pub fn shown(&self) -> Json {
        let names = self.changeable();
        let queue: Map<String, Json> = self
            .queue
            .iter()
            .flat_map(|queue| {
                let params = queue.spec.all_params().filter(|param| names.contains(&param.name));
                params.filter_map(|param| Some((param.name.to_string(), parameter_json(queue.values.get(param))?)))
            })
            .collect();
        let rate = self.rate_bps.map(|rate| format!("{rate} bit/s"));
        json!({ "rate": rate, "delay": seconds(self.delay_s), "queue": queue })
    }

    /// Reads the keys of this direction; `prefix` stands before each.
    fn read(&mut self, fields: &Fields<'_>, prefix: &str) -> Checked<Change> {
        let mut change = Change::default();
        if let Some(field) = fields.optional(&format!("{prefix}rate")) {
            if self.rate_bps.is_none() {
                return Err(field.error("changes by itself").allowed("no such key for a link whose rate varies"));
            }
            change.rate_bps = Some(field.measure(&bounds::RATES, bounds::RATE)?);
            self.rate_bps = change.rate_bps;
        }
        if let Some(field) = fields.optional(&format!("{prefix}delay")) {
            let delay = field.measure(&TIMES, bounds::DELAY)?;
            (change.delay_s, self.delay_s) = (Some(delay), delay);
        }
        if let Some(field) = fields.optional(&format!("{prefix}queue")) {
            change.policy = Some(self.queue_of(&field)?);
        }
        Ok(change)
    }

    /// The queue with other parameters.
    fn queue_of(&mut self, field: &Field<'_>) -> Checked<Box<dyn Policy>> {
        let known = self.changeable();
        let allowed = || if known.is_empty() { "none: it has none that can change".into() } else { known.join(", ") };
        let parameters = field.any_table("its parameters, such as queue.target=8ms")?;
        let Some(queue) = &mut self.queue else { return Err(field.error("is none").allowed("no such key")) };
        let link = queue.link(&self.link);
        let mut values = queue.values.clone();
        for (name, field) in parameters.iter() {
            if !known.contains(&name) {
                return Err(ScenarioError::new(field.path, "cannot change while the link runs").allowed(allowed()));
            }
            let (name, value) = parameter_of(queue.spec, &field.path, name, field.doc)?;
            values.set(name, value);
        }
        let built = (queue.spec.check)(&values, &link).and_then(|()| (queue.spec.build)(&values, &link, queue.limit));
        let built = built.map_err(|error| {
            let path = format!("{}.{}", field.path, error.name);
            ScenarioError::new(path, "does not fit").given(error.given).allowed(error.allowed)
        })?;
        let Built::Policy(policy) = built else {
            return Err(field.error("cannot change while the link runs").allowed(allowed()));
        };
        queue.values = values;
        Ok(policy)
    }
}

/// What a line changes in the two directions of a link, and both as they are then.
///
/// # Errors
/// If the line is too long, has another form, or says what cannot be. Nothing changes then.
pub fn changes(line: &str, ways: &[Controlled; 2]) -> Checked<([Change; 2], [Controlled; 2])> {
    if line.len() > LONGEST_LINE {
        return Err(ScenarioError::new("", "the line is too long").allowed(format!("{LONGEST_LINE} bytes")));
    }
    if line.trim().is_empty() {
        return Err(ScenarioError::new("", "changes nothing").given(quoted(line)).allowed(KEYS.join(", ")));
    }
    let doc: Doc = words::table(line)?;
    let fields = Field::root(&doc).table(KEYS)?;
    let mut next = ways.clone();
    let there = next[0].read(&fields, "")?;
    let back = next[1].read(&fields, REVERSE)?;
    Ok(([there, back], next))
}

/// What a line can say.
pub const KEYS: &[&str] = &["rate", "delay", "queue", "reverse-rate", "reverse-delay", "reverse-queue"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::queue;
    use earlydrop_aqm::params::Value;

    fn ways(text: &str) -> [Controlled; 2] {
        let link = Link { rate_bps: 10e6, delay_s: 0.01 };
        let queue = Some(queue(text, &link).expect("a queue").spec);
        let there = Controlled { rate_bps: Some(10e6), delay_s: 0.01, queue, link };
        [there.clone(), Controlled { rate_bps: None, queue: None, ..there }]
    }

    #[test]
    fn a_line_changes_what_it_names() {
        let before = ways("codel target=5ms");
        let ([there, back], after) =
            changes("rate=5mbit delay=20ms reverse-delay=1ms queue.target=8ms queue.interval=120ms", &before)
                .expect("a change");
        assert_eq!((there.rate_bps, there.delay_s, there.policy.is_some()), (Some(5e6), Some(0.02), true));
        assert_eq!((back.rate_bps, back.delay_s, back.policy.is_some()), (None, Some(0.001), false));
        assert_eq!((after[0].rate_bps, after[0].delay_s, after[1].delay_s), (Some(5e6), 0.02, 0.001));
        let value = |ways: &[Controlled; 2], name| {
            let queue = ways[0].queue.as_ref().expect("a queue");
            queue.values.given(name)
        };
        let real = |x| Some(Value::Real(x));
        assert_eq!((value(&after, "target"), value(&after, "interval")), (real(0.008), real(0.12)));
        assert_eq!(value(&before, "target"), real(0.005));
    }

    #[test]
    fn what_cannot_be_is_refused_and_named() {
        for (text, line, said) in [
            ("codel", "", "changes nothing\n  given \"\"; allowed rate, delay, queue, reverse-rate"),
            ("codel", "rat=5mbit", "rat: unknown key; did you mean \"rate\"?"),
            ("codel", "rate=5", "rate: has no unit"),
            ("codel", "rate=0bit/s", "rate: is out of range"),
            ("codel", "reverse-rate=5mbit", "reverse-rate: changes by itself"),
            ("codel", "delay=-1ms", "delay: is out of range"),
            ("codel", "queue=red", "queue: cannot be a text\n  given \"red\"; allowed its parameters, such as"),
            ("codel", "queue.limit=5p", "queue.limit: cannot change while the link runs\n  allowed target, interval"),
            ("codel", "queue.target=0s", "queue.target: is out of range"),
            ("red", "queue.min_th=90 queue.max_th=30", "queue.max_th: does not fit"),
            ("fq_codel", "queue.target=8ms", "queue.target: cannot change while the link runs\n  allowed none"),
            ("parent=tbf rate=1mbit child.aqm=codel", "queue.target=8ms", "queue.target: cannot change while"),
            ("codel", "reverse-queue.target=8ms", "reverse-queue: is none"),
            ("codel", "rate=5mbit delay", "has a word that is no setting"),
        ] {
            let error = changes(line, &ways(text)).map(drop).expect_err(line).to_string();
            assert!(error.starts_with(said), "{line}: {error}");
        }
        let long = format!("rate=5mbit {}", "x".repeat(LONGEST_LINE));
        assert!(changes(&long, &ways("codel")).is_err());
    }
}
