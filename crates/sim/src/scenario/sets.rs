//! `PATH=VALUE` changes to a document before it is checked.

use super::document::Doc;
use super::error::{quoted, ScenarioError};
use super::nesting::MAX_DEPTH;

/// Most items of a list that a message names.
const MOST_SHOWN: usize = 20;

/// Changes `doc` at each path: dotted keys, and for list items their numbers from 0 (`traffic.0.count`), or a name that
/// one of them has (`traffic.web.count`).
///
/// A value is read as TOML (`40`, `true`, `["1 ms", "2 ms"]`), else it is a text (`red`, `20 ms`). Tables that are
/// missing on the path are created; list items are not.
///
/// # Errors
/// A path that is empty or too deep, or that leads through a plain value or beyond the end of a list.
pub fn apply_sets(doc: &mut Doc, sets: &[(String, String)]) -> Result<(), ScenarioError> {
    for (path, value) in sets {
        let place = find(doc, path)?;
        *place = self::value(value);
    }
    Ok(())
}

/// A value that is written as TOML, or else as a bare text.
pub(super) fn value(text: &str) -> Doc {
    let text = text.trim();
    Doc::from_toml_value(text).unwrap_or_else(|| Doc::String(text.to_string()))
}

/// The value at `path`, created if it is missing.
fn find<'a>(doc: &'a mut Doc, path: &str) -> Result<&'a mut Doc, ScenarioError> {
    let keys: Vec<&str> = path.split('.').take(MAX_DEPTH + 1).collect();
    let shown = || quoted(path);
    if keys.len() > MAX_DEPTH {
        return Err(ScenarioError::new("", "the path to set is too deep").given(shown()));
    }
    if keys.iter().any(|key| key.trim().is_empty()) {
        return Err(ScenarioError::new("", "the path to set has an empty part")
            .given(shown())
            .allowed("a path such as queue.bottleneck.max_p or traffic.0.count"));
    }
    let mut place = doc;
    for (i, key) in keys.iter().enumerate() {
        place = step(place, key.trim(), &keys[..i]).map_err(|error| error.given(shown()))?;
    }
    Ok(place)
}

/// Goes from `place`, which `before` leads to, one key further.
fn step<'a>(place: &'a mut Doc, key: &str, before: &[&str]) -> Result<&'a mut Doc, ScenarioError> {
    let here = || before.join(".");
    let (entries, at) = match place {
        Doc::Array(items) => {
            let position =
                key.parse().ok().filter(|&i: &usize| i < items.len()).or_else(|| only_one_called(items, key));
            let missing =
                || ScenarioError::new(here(), format!("has no item {}", quoted(key))).allowed(positions(items));
            let position = position.ok_or_else(missing)?;
            return Ok(&mut items[position]);
        }
        Doc::Table(entries) => {
            let at = entries.iter().position(|(name, _)| name == key);
            (entries, at)
        }
        plain => {
            let message = format!("is {}, which has no key {}", plain.describe(), quoted(key));
            return Err(ScenarioError::new(here(), message));
        }
    };
    let at = at.unwrap_or_else(|| {
        entries.push((key.to_string(), Doc::Table(Vec::new())));
        entries.len() - 1
    });
    Ok(&mut entries[at].1)
}

/// The name of an item of a list, if it has one.
fn name(item: &Doc) -> Option<&str> {
    let Doc::Table(entries) = item else { return None };
    entries.iter().find_map(|(key, value)| match value {
        Doc::String(name) if key == "name" => Some(name.as_str()),
        _ => None,
    })
}

/// The position of the one item of that name.
fn only_one_called(items: &[Doc], wanted: &str) -> Option<usize> {
    let mut called = items.iter().enumerate().filter(|(_, item)| name(item) == Some(wanted)).map(|(at, _)| at);
    called.next().filter(|_| called.next().is_none())
}

fn positions(items: &[Doc]) -> String {
    if items.is_empty() {
        return "nothing: the list is empty".to_string();
    }
    let named = |(at, item)| name(item).map_or(format!("{at}"), |name| format!("{at} ({name})"));
    let shown: Vec<String> = items.iter().enumerate().map(named).take(MOST_SHOWN).collect();
    let more = if items.len() > MOST_SHOWN { format!(", ... {}", items.len() - 1) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str, path: &str, value: &str) -> Result<Doc, ScenarioError> {
        let mut doc = Doc::from_toml(text, None).expect("TOML");
        apply_sets(&mut doc, &[(path.to_string(), value.to_string())]).map(|()| doc)
    }

    fn toml(text: &str) -> Doc {
        Doc::from_toml(text, None).expect("TOML")
    }

    #[test]
    fn values_are_toml_or_else_texts() {
        for (value, written) in [
            ("40", "a = 40"),
            ("0.5", "a = 0.5"),
            ("true", "a = true"),
            ("\"x\"", "a = 'x'"),
            ("red", "a = 'red'"),
            (" 20 ms ", "a = '20 ms'"),
            ("[1, 2]", "a = [1, 2]"),
            ("{ uniform = [\"0 s\", \"1 s\"] }", "a = { uniform = ['0 s', '1 s'] }"),
            ("1\nb = 2", "a = '''1\nb = 2'''"),
            ("", "a = ''"),
        ] {
            assert_eq!(changed("a = 1", "a", value), Ok(toml(written)), "{value}");
        }
    }

    #[test]
    fn paths_make_tables_but_not_items() {
        assert_eq!(changed("", "queue.bottleneck.aqm", "red"), Ok(toml("queue.bottleneck.aqm = 'red'")));
        assert_eq!(changed("t = [{ n = 1 }]", "t.0.n", "2"), Ok(toml("t = [{ n = 2 }]")));
        assert_eq!(changed("t = [{}]", "t.0.n", "2"), Ok(toml("t = [{ n = 2 }]")));
        let two = "t = [{ name = 'a' }, { name = 'b' }]";
        assert_eq!(changed(two, "t.b.n", "2"), Ok(toml("t = [{ name = 'a' }, { name = 'b', n = 2 }]")));
        let error = changed(two, "t.c.n", "2").expect_err("no item of that name");
        assert!(error.to_string().contains("allowed 0 (a), 1 (b)"), "{error}");
        changed("t = [{ name = 'a' }, { name = 'a' }]", "t.a.n", "2").expect_err("two of one name");
        for (path, start) in
            [("t.1.n", "t: has no item \"1\""), ("t.x", "t: has no item \"x\""), ("a.b.c", "a: is 1, which")]
        {
            let error = changed("a = 1\nt = [{ n = 1 }]", path, "2").expect_err(path);
            assert!(error.to_string().starts_with(start), "{error}");
        }
    }

    #[test]
    fn odd_paths_are_refused() {
        let long = "a.".repeat(1000);
        for path in ["", ".", "a.", ".a", "a..b", " . ", long.as_str()] {
            assert!(changed("", path, "1").is_err(), "{path}");
        }
    }
}
