//! A scenario before checking: a tree of tables, lists and plain values, from TOML, JSON or by hand.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use serde_json::Value as Json;
use toml::de::{DeInteger, DeTable, DeValue};
use toml::Spanned;

use super::error::{quoted, ScenarioError};
use super::nesting::{too_deep, MAX_DEPTH};

/// Largest scenario file, in bytes.
pub const MAX_FILE_BYTES: u64 = 1 << 20;
/// Longest list that an error message repeats.
const SHOWN: usize = 3;

/// A document from TOML, JSON or Python, not yet checked.
///
/// A document built by hand must be no deeper than [`MAX_DEPTH`]; [`Doc::from_toml`] and [`Doc::from_json`] check that.
#[derive(Clone, Debug, PartialEq)]
pub enum Doc {
    /// Keys and values, in the order they were written.
    Table(Vec<(String, Doc)>),
    /// A list.
    Array(Vec<Doc>),
    /// A text.
    String(String),
    /// A real number; TOML can write NaN and infinity, and the checker refuses them.
    Float(f64),
    /// A whole number.
    Integer(i64),
    /// `true` or `false`.
    Bool(bool),
}

impl Doc {
    /// Reads TOML. Errors name line and column; `file` is only for them.
    pub fn from_toml(text: &str, file: Option<&str>) -> Result<Doc, ScenarioError> {
        let fail = |at: usize, message: &str| ScenarioError::new(place(text, at), message).in_file(file);
        if let Some(at) = too_deep(text) {
            return Err(fail(at, &depth_message()));
        }
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            fail(at, &format!("not TOML: {}", error.message().replace('\n', "; ")))
        })?;
        from_table(table.into_inner(), 0).map_err(|at| fail(at, &depth_message()))
    }

    /// One TOML value, such as `40`, `"red"` or `["1 ms", "2 ms"]`; `None` if `text` is not one.
    pub(super) fn from_toml_value(text: &str) -> Option<Doc> {
        if too_deep(text).is_some() {
            return None;
        }
        let value = DeValue::parse(text).ok()?;
        from_value(value, 0).ok()
    }

    /// A document from JSON; a key whose value is null counts as missing.
    pub fn from_json(json: &Json) -> Result<Doc, ScenarioError> {
        from_json(json, 0).ok_or_else(|| ScenarioError::new("", depth_message()))
    }

    /// The value of `key`, if this is a table that has it.
    pub fn get(&self, key: &str) -> Option<&Doc> {
        match self {
            Doc::Table(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The value of `key`, mutable.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Doc> {
        match self {
            Doc::Table(entries) => entries.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    fn is_plain(&self) -> bool {
        !matches!(self, Doc::Table(_) | Doc::Array(_))
    }

    /// A few words for an error message.
    pub(super) fn describe(&self) -> String {
        match self {
            Doc::Table(_) => "a table".to_string(),
            Doc::Array(items) if items.len() <= SHOWN && items.iter().all(Doc::is_plain) => {
                let shown: Vec<_> = items.iter().map(Doc::describe).collect();
                format!("[{}]", shown.join(", "))
            }
            Doc::Array(items) => format!("a list of {}", items.len()),
            Doc::String(text) => quoted(text),
            Doc::Float(x) => format!("{x:?}"),
            Doc::Integer(x) => x.to_string(),
            Doc::Bool(x) => x.to_string(),
        }
    }
}

/// What is found at a path.
pub(super) enum Contents {
    /// The bytes of a regular file.
    Whole(Vec<u8>),
    /// No regular file: reading it may never end.
    Special,
    /// A file larger than what is read: at least this many bytes.
    Larger(u64),
}

/// What a message says of [`Contents::Special`].
pub(super) const NOT_REGULAR: &str = "is not a regular file";

/// Reads a regular file of at most `most` bytes.
pub(super) fn contents(path: &Path, most: u64) -> std::io::Result<Contents> {
    let about = fs::metadata(path)?;
    if !about.is_file() {
        return Ok(Contents::Special);
    }
    if about.len() > most {
        return Ok(Contents::Larger(about.len()));
    }
    let mut bytes = Vec::new();
    // The file may have grown since its size was asked for.
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    let length = bytes.len() as u64;
    Ok(if length > most { Contents::Larger(length) } else { Contents::Whole(bytes) })
}

/// Reads a scenario file without checking its content: TOML, or JSON in a file of that suffix, as results have it.
pub fn load(path: &Path) -> Result<Doc, ScenarioError> {
    let file = path.display().to_string();
    let text = read(path, &file)?;
    if !path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("json")) {
        return Doc::from_toml(&text, Some(&file));
    }
    let json: Json = serde_json::from_str(&text).map_err(|error| {
        let place = format!("line {} column {}", error.line(), error.column());
        ScenarioError::new(place, "is no JSON")
            .allowed("a scenario, such as scenario.json of a result")
            .in_file(Some(&file))
    })?;
    if !json.is_object() {
        let message = "is no table";
        return Err(
            ScenarioError::in_whole_file(file, message).allowed("a scenario, such as scenario.json of a result")
        );
    }
    Doc::from_json(&json).map_err(|error| error.in_file(Some(&file)))
}

fn read(path: &Path, file: &str) -> Result<String, ScenarioError> {
    let fail = |message: &str| ScenarioError::in_whole_file(file, message);
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => fail("no such file"),
        std::io::ErrorKind::PermissionDenied => fail("no permission to read this file"),
        kind => fail(&format!("cannot be read ({kind})")),
    };
    if fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Err(fail("is a directory").allowed("a scenario file (TOML)"));
    }
    let bytes = match contents(path, MAX_FILE_BYTES).map_err(unreadable)? {
        Contents::Whole(bytes) => bytes,
        Contents::Special => return Err(fail(NOT_REGULAR).allowed("a scenario file (TOML)")),
        Contents::Larger(bytes) => return Err(too_large(fail, bytes)),
    };
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        fail(&format!("is not a text file (byte {at} is not UTF-8)")).allowed("a scenario file (TOML)")
    })
}

fn too_large(fail: impl Fn(&str) -> ScenarioError, bytes: u64) -> ScenarioError {
    fail("is too large for a scenario or a sweep")
        .given(format!("{bytes} bytes"))
        .allowed(format!("{MAX_FILE_BYTES} bytes"))
}

fn depth_message() -> String {
    format!("tables and lists nest deeper than {MAX_DEPTH}")
}

/// A byte offset as `line 3, column 5`.
fn place(text: &str, at: usize) -> String {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    format!("line {line}, column {column}")
}

/// The tree; as an error the offset at which it becomes too deep.
fn from_table(table: DeTable<'_>, depth: usize) -> Result<Doc, usize> {
    let mut entries: Vec<_> = table.into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let convert = |(key, value): (Spanned<_>, _)| Ok((String::from(key.into_inner()), from_value(value, depth)?));
    entries.into_iter().map(convert).collect::<Result<_, _>>().map(Doc::Table)
}

fn from_value(value: Spanned<DeValue<'_>>, depth: usize) -> Result<Doc, usize> {
    if depth > MAX_DEPTH {
        return Err(value.span().start);
    }
    Ok(match value.into_inner() {
        DeValue::Table(table) => return from_table(table, depth + 1),
        DeValue::Array(items) => {
            Doc::Array(items.into_iter().map(|item| from_value(item, depth + 1)).collect::<Result<_, _>>()?)
        }
        DeValue::String(text) => Doc::String(text.into_owned()),
        DeValue::Integer(number) => whole(&number),
        DeValue::Float(number) => Doc::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => Doc::Bool(flag),
        // No field takes a date. As a text it is refused by the check of the field.
        DeValue::Datetime(date) => Doc::String(date.to_string()),
    })
}

/// A whole number; beyond 64 bits it becomes a real number, which the field accepts or refuses.
fn whole(number: &DeInteger<'_>) -> Doc {
    match i64::from_str_radix(number.as_str(), number.radix()) {
        Ok(x) => Doc::Integer(x),
        Err(_) if number.radix() == 10 => Doc::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        Err(_) => Doc::Float(u128::from_str_radix(number.as_str(), number.radix()).map_or(f64::NAN, |x| x as f64)),
    }
}

fn from_json(json: &Json, depth: usize) -> Option<Doc> {
    if depth > MAX_DEPTH {
        return None;
    }
    Some(match json {
        Json::Object(entries) => {
            let given = entries.iter().filter(|(_, value)| !value.is_null());
            Doc::Table(
                given.map(|(key, value)| Some((key.clone(), from_json(value, depth + 1)?))).collect::<Option<_>>()?,
            )
        }
        Json::Array(items) => Doc::Array(items.iter().map(|item| from_json(item, depth + 1)).collect::<Option<_>>()?),
        Json::String(text) => Doc::String(text.clone()),
        Json::Bool(flag) => Doc::Bool(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(x) => Doc::Integer(x),
            None => Doc::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::Null => Doc::String("null".to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toml(text: &str) -> Doc {
        Doc::from_toml(text, None).expect("TOML")
    }

    #[test]
    fn tables_keep_the_order_of_the_file() {
        let doc = toml("b = 1\na = 2.5\n[[t]]\nx = true\n[[t]]\n[c]\nd.e = ['x']\n");
        let Doc::Table(entries) = &doc else { panic!("{doc:?}") };
        let keys: Vec<_> = entries.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["b", "a", "t", "c"]);
        assert_eq!(
            doc.get("c").and_then(|c| c.get("d")).and_then(|d| d.get("e")),
            Some(&Doc::Array(vec![Doc::String("x".into())]))
        );
    }

    #[test]
    fn numbers_of_every_kind() {
        assert_eq!(toml("x = 0x10").get("x"), Some(&Doc::Integer(16)));
        assert_eq!(toml("x = 1_000").get("x"), Some(&Doc::Integer(1000)));
        assert_eq!(toml("x = -inf").get("x"), Some(&Doc::Float(f64::NEG_INFINITY)));
        assert!(matches!(toml("x = nan").get("x"), Some(Doc::Float(x)) if x.is_nan()));
        assert_eq!(toml("x = 100000000000000000000").get("x"), Some(&Doc::Float(1e20)));
        assert_eq!(toml("x = 0xFFFFFFFFFFFFFFFFFFFF").get("x"), Some(&Doc::Float(2f64.powi(80))));
        assert_eq!(toml("x = 2026-01-01").get("x"), Some(&Doc::String("2026-01-01".into())));
    }

    #[test]
    fn syntax_errors_name_line_and_column() {
        let error = Doc::from_toml("a = 1\n\nb = = 2\n", Some("x.toml")).expect_err("no TOML");
        assert_eq!((error.file.as_deref(), error.path.as_str()), (Some("x.toml"), "line 3, column 5"));
        let error = Doc::from_toml("a = 1\nb = 2\na = 3\n", None).expect_err("twice");
        assert_eq!(error.path, "line 3, column 1");
        assert!(error.message.contains("duplicate"), "{error}");
    }

    #[test]
    fn depth_is_refused_however_it_is_written() {
        for text in [
            format!("a = {}", "[".repeat(500_000)),
            format!("a{} = 1", ".a".repeat(300_000)),
            format!("[a{}]", ".a".repeat(300_000)),
            "a={".repeat(200_000),
            format!("[a{}]\n[a{}.b.c.d]\n", ".a".repeat(29), ".a".repeat(30)),
            format!("[a{}]\nb{} = 1", ".a".repeat(28), ".b".repeat(28)),
        ] {
            let error = Doc::from_toml(&text, None).expect_err("deep");
            assert!(error.message.contains("deeper") || error.message.contains("not TOML"), "{error}");
        }
    }

    #[test]
    fn json_becomes_the_same_document() {
        let json = serde_json::json!({"a": [1, 2.5, "x", true], "b": {"c": null}});
        let expected = "a = [1, 2.5, 'x', true]\nb = {}\n";
        assert_eq!(Doc::from_json(&json), Ok(toml(expected)));
        let mut deep = serde_json::json!(1);
        for _ in 0..40 {
            deep = serde_json::json!([deep]);
        }
        assert!(Doc::from_json(&deep).is_err());
    }
}
