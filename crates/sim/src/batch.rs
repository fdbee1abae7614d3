//! Many runs, with their result documents packed into columns for a store of results.
//!
//! A column is a field of the result document under its dotted path, as `queues.bottleneck.delay_mean_ms`. The fields
//! of `flows` (also in `flows` of a queue) are lists with one item per flow: `flows.goodput_mbps`. Other lists of
//! tables have the index in the path: `traffic.0.goodput_mbps`. Everything recorded over time is one text, `recorded`.
//! Name, seed, version and cost are no columns, since the caller knows them. The column `digest` is a hash of all
//! others: runs with equal digests have equal results.

use crate::flow_table::{self, Cell, FlowTable};
use crate::result::{self, Document};
use crate::run::{self, Events, Links};
use crate::scenario::Scenario;
use earlydrop_aqm::fault::Fault;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::Instant;

/// "No value" in a column of whole numbers.
pub const NO_WHOLE: i64 = i64::MIN;

/// Fields recorded over time.
const RECORDED: [&str; 6] = ["series", "rates", "trace", "traces", "variables", "delays"];
/// Fields that are not columns.
const LEFT_OUT: [&str; 4] = ["scenario", "seed", "version", "cost"];
/// Fields that are texts or null.
const TEXTS: [&str; 4] = ["aqm", "kind", "name", "tcp"];

/// Values of a column, in the order of its runs. The values of a list are consecutive.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Whole numbers; [`NO_WHOLE`] for no value.
    Whole(Vec<i64>),
    /// Real numbers; NaN for no value.
    Real(Vec<f64>),
    /// Texts, as indices into the list of different texts; [`NO_WHOLE`] for no value.
    Text(Vec<i64>, Vec<String>),
}

/// A column of the table of runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The runs that have the field, by position in the batch.
    pub runs: Vec<u32>,
    /// Number of values in each of these runs, if the field is a list.
    pub lengths: Option<Vec<u32>>,
    /// The values.
    pub values: Values,
}

/// The results of a batch.
#[derive(Debug, Default)]
pub struct Batch {
    /// Columns by dotted path.
    pub columns: BTreeMap<String, Column>,
    /// Wall time of each run, s; 0 if it failed.
    pub wall_s: Vec<f64>,
    /// Failed runs by position, with the error.
    pub failures: Vec<(usize, String)>,
}

/// Makes the runs one after the other. A run that fails or panics does not stop the others.
pub fn run(jobs: &[(&Scenario, u64)]) -> Batch {
    let mut table = Table::default();
    let mut batch = Batch::default();
    for (at, &(scenario, seed)) in jobs.iter().enumerate() {
        let start = Instant::now();
        let made = guarded(|| {
            let outcome = run::run(scenario, seed, Links::Auto, Events::Lanes).map_err(|e| e.to_string())?;
            table.add(at, &result::parts(scenario, seed, &outcome, 0.0, scenario.record.flows));
            Ok(())
        });
        batch.wall_s.push(if made.is_ok() { start.elapsed().as_secs_f64() } else { 0.0 });
        if let Err(why) = made {
            batch.failures.push((at, why));
        }
    }
    batch.columns = table.columns();
    batch
}

/// The table of flows of one run, packed: its columns by name, in the order of result documents.
pub fn flows(flows: FlowTable<'_>) -> Vec<(&'static str, Column)> {
    let mut table = Table::default();
    table.flow_table(0, flows);
    let columns = flows.columns().into_iter();
    columns
        .filter_map(|one| {
            table.fields.remove(&flow_path(one)).map(|field| (one.field.name, field.column(one.field.name)))
        })
        .collect()
}

fn flow_path(column: &flow_table::Column) -> String {
    format!("flows.{}", column.field.name)
}

/// The result of `work`; a panic, or a policy that cannot go on, is turned into an error.
///
/// # Errors
/// The error of `work`, of the policy, or the text of the panic.
pub fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        if let Some(fault) = Fault::of(payload.as_ref()) {
            return Err(fault.to_string());
        }
        let text = (payload.downcast_ref::<&str>().copied())
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        Err(format!("the engine panicked: {text}"))
    })
}

/// A field's value as runs are added: missing, whole, real or text.
#[derive(Clone, Copy)]
enum Item<'a> {
    None,
    Whole(i64),
    Real(f64),
    Text(&'a str),
}

impl<'a> Item<'a> {
    /// `None` for values that fit into no column.
    fn of(value: &'a Value) -> Option<Self> {
        Some(match value {
            Value::Null => Item::None,
            Value::Bool(flag) => Item::Whole(i64::from(*flag)),
            Value::Number(number) => match number.as_i64() {
                Some(whole) => Item::Whole(whole),
                None => Item::Real(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => Item::Text(text),
            Value::Array(_) | Value::Object(_) => return None,
        })
    }
}

#[derive(Default)]
struct Field {
    runs: Vec<u32>,
    lengths: Vec<u32>,
    is_list: bool,
    /// Kind of the first value that is present.
    kind: Option<Kind>,
    whole: Vec<i64>,
    real: Vec<f64>,
    texts: Vec<String>,
    known: HashMap<String, i64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Whole,
    Real,
    Text,
}

impl Field {
    fn push(&mut self, item: Item<'_>) {
        match item {
            Item::None => {}
            Item::Whole(_) => self.become_kind(Kind::Whole),
            Item::Real(_) => self.become_kind(Kind::Real),
            Item::Text(_) => self.become_kind(Kind::Text),
        }
        match (self.kind, item) {
            (Some(Kind::Real), Item::Real(x)) => self.real.push(x),
            (Some(Kind::Real), Item::Whole(n)) => self.real.push(n as f64),
            (Some(Kind::Real), _) => self.real.push(f64::NAN),
            (Some(Kind::Whole), Item::Whole(n)) => self.whole.push(n),
            (Some(Kind::Text), Item::Text(text)) => {
                let code = self.code(text);
                self.whole.push(code);
            }
            _ => self.whole.push(NO_WHOLE),
        }
    }

    /// Widens the kind of the column: from whole to real with the first fraction.
    fn become_kind(&mut self, kind: Kind) {
        let real = |n: &i64| if *n == NO_WHOLE { f64::NAN } else { *n as f64 };
        match (self.kind, kind) {
            (None | Some(Kind::Whole), Kind::Real) => {
                self.real = self.whole.iter().map(real).collect();
                self.whole.clear();
                self.kind = Some(Kind::Real);
            }
            (None, _) => self.kind = Some(kind),
            _ => {}
        }
    }

    fn code(&mut self, text: &str) -> i64 {
        if let Some(&code) = self.known.get(text) {
            return code;
        }
        let code = self.texts.len() as i64;
        self.texts.push(text.to_owned());
        self.known.insert(text.to_owned(), code);
        code
    }

    fn column(mut self, path: &str) -> Column {
        if self.kind.is_none() {
            // Only missing values: the name implies their kind.
            let last = path.rsplit('.').next().unwrap_or(path);
            self.become_kind(if TEXTS.contains(&last) { Kind::Text } else { Kind::Real });
        }
        let values = match self.kind {
            Some(Kind::Real) | None => Values::Real(self.real),
            Some(Kind::Whole) => Values::Whole(self.whole),
            Some(Kind::Text) => Values::Text(self.whole, self.texts),
        };
        Column { runs: self.runs, lengths: self.is_list.then_some(self.lengths), values }
    }
}

/// FNV-1a over 64-bit words, cut to the 53 bits that a double holds exactly.
#[derive(Clone, Copy)]
struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    fn word(&mut self, word: u64) {
        // Folds the high bits, which every later word changes, into the low ones.
        self.0 = (self.0 ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(23);
    }

    fn text(&mut self, text: &str) {
        self.word(text.len() as u64);
        text.bytes().for_each(|byte| self.word(u64::from(byte)));
    }

    fn item(&mut self, item: Item<'_>) {
        match item {
            Item::None => self.word(0),
            Item::Whole(n) => self.word(n as u64),
            Item::Real(x) => self.word(x.to_bits()),
            Item::Text(text) => self.text(text),
        }
    }

    fn whole(&self) -> i64 {
        (self.0 >> 11) as i64
    }
}

#[derive(Default)]
struct Table {
    fields: HashMap<String, Field>,
    /// Digest of the run being added.
    digest: Digest,
}

impl Table {
    fn add(&mut self, run: usize, document: &Document<'_>) {
        let top = document.fields();
        self.digest = Digest::default();
        let recorded: Map<String, Value> =
            RECORDED.iter().filter_map(|&key| Some((key.to_owned(), top.get(key)?.clone()))).collect();
        if !recorded.is_empty() {
            let text = Value::Object(recorded).to_string();
            self.one(run, "recorded", Item::Text(&text));
        }
        let mut path = String::new();
        for (key, value) in top {
            if let Some(table) = document.table().filter(|_| key == "flows") {
                self.flow_table(run, table);
            } else if !LEFT_OUT.contains(&key.as_str()) && !RECORDED.contains(&key.as_str()) {
                self.visit(run, &mut path, key, value);
            }
        }
        self.one(run, "digest", Item::Whole(self.digest.whole()));
    }

    fn visit(&mut self, run: usize, path: &mut String, key: &str, value: &Value) {
        let before = path.len();
        if before > 0 {
            path.push('.');
        }
        path.push_str(key);
        match value {
            Value::Object(table) => {
                for (key, inner) in table {
                    self.visit(run, path, key, inner);
                }
            }
            Value::Array(items) if key == "flows" => self.flows(run, path, items),
            Value::Array(items) if items.iter().any(Value::is_object) => {
                for (position, item) in items.iter().enumerate() {
                    self.visit(run, path, &position.to_string(), item);
                }
            }
            Value::Array(items) => {
                self.list(run, path, items.len(), items.iter().map(|item| Item::of(item).unwrap_or(Item::None)));
            }
            plain => self.one(run, path, Item::of(plain).unwrap_or(Item::None)),
        }
        path.truncate(before);
    }

    /// The table of flows, column by column.
    fn flow_table(&mut self, run: usize, table: FlowTable<'_>) {
        for column in table.columns() {
            let items = table.rows().map(|row| match (column.field.of)(&row) {
                Cell::Absent | Cell::Null => Item::None,
                Cell::Whole(n) => Item::Whole(n as i64),
                Cell::Real(x) => Item::Real(x),
                Cell::Text(word) => Item::Text(word),
            });
            self.list(run, &flow_path(column), table.len(), items);
        }
    }

    /// A list of tables as one list per field, each with one item per flow.
    fn flows(&mut self, run: usize, path: &str, flows: &[Value]) {
        let mut keys: Vec<&str> = Vec::new();
        for flow in flows.iter().filter_map(Value::as_object) {
            // Flows of one kind have the same keys in the same order; a flow of another kind adds keys.
            if flow.len() != keys.len() || !flow.keys().zip(&keys).all(|(mine, known)| mine == known) {
                for key in flow.keys() {
                    if !keys.contains(&key.as_str()) {
                        keys.push(key);
                    }
                }
            }
        }
        for key in keys {
            let items = flows.iter().map(|flow| flow.get(key).and_then(Item::of).unwrap_or(Item::None));
            self.list(run, &format!("{path}.{key}"), flows.len(), items);
        }
    }

    fn list<'a>(&mut self, run: usize, path: &str, count: usize, items: impl Iterator<Item = Item<'a>>) {
        let mut digest = self.digest;
        digest.text(path);
        digest.word(count as u64);
        let field = self.field(path);
        field.is_list = true;
        field.runs.push(run as u32);
        field.lengths.push(count as u32);
        items.for_each(|item| {
            field.push(item);
            digest.item(item);
        });
        self.digest = digest;
    }

    fn one(&mut self, run: usize, path: &str, item: Item<'_>) {
        self.digest.text(path);
        self.digest.item(item);
        let field = self.field(path);
        field.runs.push(run as u32);
        field.push(item);
    }

    fn field(&mut self, path: &str) -> &mut Field {
        if !self.fields.contains_key(path) {
            self.fields.insert(path.to_owned(), Field::default());
        }
        self.fields.get_mut(path).expect("was put there")
    }

    fn columns(self) -> BTreeMap<String, Column> {
        let fields: BTreeMap<String, Field> = self.fields.into_iter().collect();
        fields.into_iter().map(|(path, field)| (path.clone(), field.column(&path))).collect()
    }
}
