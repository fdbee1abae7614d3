//! A table in one line, as on a command line: `probability=1% burst=4`.

use serde_json::Value as Json;

use super::document::Doc;
use super::error::{quoted, ScenarioError};
use super::fields::{Checked, Field};
use super::sets::{self, apply_sets};
use super::units;

/// The field as its readers want it: a text of words is the table that it stands for.
pub(super) fn unfolded(field: &Field<'_>) -> Checked<Option<Doc>> {
    match field.doc {
        Doc::String(text) if text.contains('=') => table(text).map(Some).map_err(|error| ScenarioError {
            path: [field.path.as_str(), &error.path].join(if error.path.is_empty() { "" } else { "." }),
            ..error
        }),
        _ => Ok(None),
    }
}

/// [`unfolded`], where the first word may be the table's `name`: `lte-drive direction=up`.
pub(super) fn unfolded_with_name(field: &Field<'_>) -> Checked<Option<Doc>> {
    let Doc::String(text) = field.doc else { return Ok(None) };
    let (first, rest) = text.trim().split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((text.trim(), ""));
    if first.is_empty() || first.contains('=') {
        return unfolded(field);
    }
    let rest = Doc::String(rest.trim().to_string());
    let rest = unfolded(&Field { doc: &rest, path: field.path.clone() })?.map_or(Vec::new(), |table| match table {
        Doc::Table(entries) => entries,
        _ => Vec::new(),
    });
    let name = ("name".to_string(), Doc::String(first.to_string()));
    Ok(Some(Doc::Table(std::iter::once(name).chain(rest).collect())))
}

/// Most settings in a text: more than any table here has keys.
const MOST: usize = 32;

/// The table of words `KEY=VALUE` between spaces. Values are read as by [`apply_sets`]; they have spaces only within
/// quotes and brackets. A key may have dots.
pub(super) fn table(text: &str) -> Checked<Doc> {
    let (mut table, mut seen) = (Doc::Table(Vec::new()), Vec::new());
    for word in parts(text) {
        let setting = word.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty());
        let (key, value) = setting.ok_or_else(|| {
            ScenarioError::new("", "has a word that is no setting")
                .given(format!("{} in {}", quoted(word), quoted(text)))
                .allowed("KEY=VALUE, with spaces only between settings")
        })?;
        if seen.contains(&key) {
            return Err(ScenarioError::new("", format!("{} is given twice", quoted(key))).given(quoted(text)));
        }
        seen.push(key);
        if seen.len() > MOST {
            return Err(ScenarioError::new("", "has too many settings").allowed(format!("{MOST}")));
        }
        apply_sets(&mut table, &[(key.to_string(), value.to_string())])?;
    }
    Ok(table)
}

/// Parts a text at spaces outside of quotes and brackets.
fn parts(text: &str) -> Vec<&str> {
    let (mut found, mut begin) = (Vec::new(), None);
    let (mut depth, mut quote) = (0_usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) => quote = Some(open).filter(|&open| open != c),
            (None, '\'' | '"') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        let parts = quote.is_none() && depth == 0 && c.is_ascii_whitespace();
        match begin {
            None if !parts => begin = Some(at),
            Some(from) if parts => {
                found.push(&text[from..at]);
                begin = None;
            }
            _ => {}
        }
    }
    found.extend(begin.map(|from| &text[from..]));
    found
}

/// A value of a document in one line: the settings of a table, which [`table`] reads between spaces, or one word.
pub fn words(value: &Json) -> Vec<String> {
    let Json::Object(map) = value else {
        return vec![match value {
            Json::String(text) => short(text),
            other => inside(other),
        }];
    };
    let mut found = Vec::new();
    for (key, value) in map {
        match value {
            Json::Object(table) if !table.is_empty() => {
                found.extend(words(value).into_iter().map(|word| format!("{key}.{word}")));
            }
            Json::String(text) => {
                let short = short(text);
                // A text with spaces, or that would be read as something else, is quoted.
                let same = matches!(sets::value(&short), Doc::String(read) if read == short);
                let bare = same && !short.contains([' ', '\'', '"', '[', ']', '{', '}']);
                found.push(format!("{key}={}", if bare { short } else { inside(value) }));
            }
            other => found.push(format!("{key}={}", inside(other))),
        }
    }
    found
}

/// A value as TOML has it within a list or a table.
fn inside(value: &Json) -> String {
    match value {
        Json::String(text) => serde_json::Value::from(short(text)).to_string(),
        Json::Number(number) => number.as_f64().map_or_else(|| number.to_string(), |x| x.to_string()),
        Json::Array(items) => format!("[{}]", items.iter().map(inside).collect::<Vec<_>>().join(", ")),
        Json::Object(map) => {
            let entries = map.iter().map(|(key, value)| format!("{key} = {}", inside(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// The same quantity in the unit in which its number is shortest, without a space: `5ms` for `0.005 s`. Other texts stay.
fn short(text: &str) -> String {
    let Some((number, _, factor, base)) = units::quantity(text) else { return text.to_string() };
    let x = number * factor;
    let names: &[&str] = match base {
        "s" => &["s", "ms", "us", "ns"],
        "bit/s" => &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"],
        "B" => &["B"],
        _ => &["p"],
    };
    let forms = names.iter().filter_map(|name| {
        let (_, _, factor, _) = units::quantity(&format!("1 {name}"))?;
        let form = format!("{}{name}", x / factor);
        // Only what is read as the same number.
        let (number, _, factor, _) = units::quantity(&form)?;
        (number * factor == x).then_some(form)
    });
    forms.min_by_key(String::len).unwrap_or_else(|| text.replace(' ', ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_are_parted_outside_of_quotes_and_brackets() {
        for (text, toml) in [
            ("probability=1% burst=4", "probability = '1%'\nburst = 4"),
            ("  a=1\tb=x  ", "a = 1\nb = 'x'"),
            ("uniform=[\"1 ms\", '5 ms'] keep_order=false", "uniform = ['1 ms', '5 ms']\nkeep_order = false"),
            ("trace='my file'", "trace = 'my file'"),
            ("child.aqm=codel child.target=5ms", "child = { aqm = 'codel', target = '5ms' }"),
            ("a={ b = 1, c = [2, 3] } d=e=f", "a = { b = 1, c = [2, 3] }\nd = 'e=f'"),
            ("", ""),
        ] {
            assert_eq!(table(text), Doc::from_toml(toml, None), "{text}");
        }
    }

    #[test]
    fn wrong_words_are_named() {
        for (text, said) in [
            ("a=1 b", "\"b\" in \"a=1 b\"; allowed KEY=VALUE"),
            ("=1", "\"=1\" in"),
            ("a=", "\"a=\" in"),
            ("a=1 a=2", "\"a\" is given twice"),
            ("a=1 a.b=2", "has no key"),
            ("a..b=2", "empty part"),
        ] {
            let error = table(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for (value, text) in [
            (json!("20000000 bit/s"), "20Mbit/s"),
            (json!("0.0005 s"), "0.5ms"),
            (json!("0 s"), "0s"),
            (json!("0.0123456 s"), "12.3456ms"),
            (json!("1500 packets"), "1500p"),
            (json!(0.01), "0.01"),
            (json!(4.0), "4"),
            (json!({ "uniform": ["0s", "5ms"], "keep_order": false }), "uniform=[\"0s\", \"5ms\"] keep_order=false"),
            (json!({ "trace": "my \"file\"" }), "trace=\"my \\\"file\\\"\""),
            (json!({ "a": "true", "b": "x y", "c": "40" }), "a=\"true\" b=\"x y\" c=\"40\""),
            (json!({ "child": { "aqm": "codel", "target": "5ms" } }), "child.aqm=codel child.target=5ms"),
            (json!({ "class": [{ "a": 1 }] }), "class=[{ a = 1 }]"),
        ] {
            assert_eq!(words(&value).join(" "), text);
            if value.is_object() {
                assert_eq!(table(text), Doc::from_json(&value), "{text}");
            }
        }
        let sevenths = format!("{} s", 1.0 / 7.0);
        let (number, _, factor, _) = units::quantity(&words(&json!(sevenths))[0]).expect("a time");
        assert_eq!(number * factor, 1.0 / 7.0);
    }

    #[test]
    fn a_text_of_many_words_is_refused_at_once() {
        let text: String = (0..300_000).map(|i| format!("a{i}=1 ")).collect();
        assert_eq!(table(&text).unwrap_err().message, "has too many settings");
    }
}
