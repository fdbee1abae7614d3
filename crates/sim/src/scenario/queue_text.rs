//! A queue in one line, as on a command line: `codel target=5ms limit=120p`.

use earlydrop_aqm::{parents, Link};

use super::bounds;
use super::document::Doc;
use super::error::{quoted, quoted_list, ScenarioError};
use super::fields::{Checked, Field};
use super::model::Queue;
use super::own::Aqms;
use super::queue::read;
use super::sets;

/// A discipline as it is written, and its settings: key and value as [`apply_sets`](super::apply_sets) takes them.
pub type QueueWords = (String, Vec<(String, String)>);

/// What may stand before the name of a parent.
const PARENT: &str = "parent=";

/// The words of a text such as `red limit=120p min_th=20`: parted at spaces, and quoted as in a shell.
///
/// # Errors
/// The text has another form, or gives a setting twice. What was given is the word at fault within the text.
pub fn queue_words(text: &str) -> Checked<QueueWords> {
    let mut words = split(text).map_err(|said| ScenarioError::new("", said).given(quoted(text)))?.into_iter();
    let first = words.next().map(|first| match first.strip_prefix(PARENT) {
        Some(name) if parents::find(name).is_none() => {
            let known = quoted_list(parents::all().iter().map(|spec| spec.name));
            Err(ScenarioError::new("", "names no parent").given(quoted(&first)).allowed(known))
        }
        Some(name) => Ok(name.to_string()),
        None => Ok(first),
    });
    let name = first.transpose()?.filter(|name| !name.is_empty() && !name.contains('=')).ok_or_else(|| {
        ScenarioError::new("", "does not begin with a discipline")
            .given(quoted(text))
            .allowed("a discipline with its settings in quotes, such as \"red limit=120p min_th=20\"")
    })?;
    let mut settings: Vec<(String, String)> = Vec::new();
    for word in words {
        let Some((key, value)) = word.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty())
        else {
            return Err(ScenarioError::new("", "has a word that is no setting")
                .given(format!("{} in {}", quoted(&word), quoted(text)))
                .allowed("NAME=VALUE, such as limit=120p"));
        };
        if settings.iter().any(|(known, _)| known == key) {
            return Err(ScenarioError::new("", format!("{key} is given twice")).given(quoted(text)));
        }
        settings.push((key.to_string(), value.to_string()));
    }
    Ok((name, settings))
}

/// The table `[queue.NAME]` that a text such as `codel target=5ms` stands for. A parent such as `tbf` may stand in the
/// place of the discipline, with a child: `parent=tbf rate=1mbit child.aqm=codel`.
///
/// # Errors
/// As [`queue_words`]; whether there is such a discipline with such settings is for the checker to say.
///
/// ```
/// use earlydrop_sim::scenario::{queue_text, Doc};
///
/// let table = queue_text("codel target=5ms ecn=true")?;
/// assert_eq!(table, Doc::from_toml("aqm = 'codel'\ntarget = '5ms'\necn = true", None)?);
/// # Ok::<(), earlydrop_sim::scenario::ScenarioError>(())
/// ```
pub fn queue_text(text: &str) -> Checked<Doc> {
    let (name, settings) = queue_words(text)?;
    let kind = if parents::find(&name).is_some() { "parent" } else { "aqm" };
    if settings.iter().any(|(key, _)| key == kind) {
        return Err(ScenarioError::new("", format!("{kind} is given twice")).given(quoted(text)));
    }
    let mut table = Doc::Table(vec![(kind.to_string(), Doc::String(name))]);
    sets::apply_sets(&mut table, &settings)?;
    Ok(table)
}

/// The queue that a text stands for, in front of `link`, checked; its key is `bottleneck`. It is one of the catalogue.
///
/// # Errors
/// The link's rate or delay is no such thing, the text has another form, or names what there is not; and a limit in
/// bandwidth-delay products, which only a scenario with its traffic has.
pub fn queue(text: &str, link: &Link) -> Checked<Queue> {
    for (name, x, within) in [("rate", link.rate_bps, bounds::RATE), ("delay", link.delay_s, bounds::DELAY)] {
        if !within.contains(x) {
            return Err(ScenarioError::new(name, "is out of range").given(x.to_string()).allowed(within.to_string()));
        }
    }
    let field = Field { doc: &queue_text(text)?, path: String::new() };
    let (spec, products) = read(&field, &[*link], Aqms { loaded: &[], listed: None })?;
    match products {
        None => Ok(Queue { key: "bottleneck".to_string(), spec }),
        Some(products) => Err(ScenarioError::new("limit", "is known only with the traffic")
            .given(format!("{products} bdp"))
            .allowed("packets or bytes, such as \"120 packets\", \"120p\" or \"15 kB\"")),
    }
}

/// The words of a line as a POSIX shell finds them, without its expansions.
fn split(text: &str) -> Result<Vec<String>, &'static str> {
    const UNCLOSED: &str = "No closing quotation";
    const UNESCAPED: &str = "No escaped character";
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                let (inside, after) = rest.as_str().split_once('\'').ok_or(UNCLOSED)?;
                word.push_str(inside);
                rest = after.chars();
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next().ok_or(UNCLOSED)? {
                        '"' => break,
                        '\\' => match rest.next().ok_or(UNESCAPED)? {
                            c @ ('"' | '\\') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(rest.next().ok_or(UNESCAPED)?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Python's `shlex.split` makes of the same texts.
    #[test]
    fn words_are_parted_as_in_a_shell() {
        for (text, words) in [
            ("", &[][..]),
            (" \t\r\n", &[]),
            ("red", &["red"]),
            ("  red  min_th=1\tlimit=2\n", &["red", "min_th=1", "limit=2"]),
            ("a 'b c' \"d e\"", &["a", "b c", "d e"]),
            ("a'b c'd\"e f\"", &["ab cde f"]),
            ("a '' \"\"", &["a", "", ""]),
            (r"a\ b \\ \'", &["a b", r"\", "'"]),
            (r#""a\"b\\c\d" 'e\f'"#, &[r#"a"b\c\d"#, r"e\f"]),
            ("a #b c#d", &["a", "#b", "c#d"]),
            ("ä\u{a0}b ö", &["ä\u{a0}b", "ö"]),
        ] {
            assert_eq!(split(text).unwrap(), words, "{text:?}");
        }
        for open in ["'", "a 'b", "\"", "a \"b", r#"a "b\""#] {
            assert_eq!(split(open), Err("No closing quotation"), "{open}");
        }
        for open in ["\\", r"a b\", r#""a\"#] {
            assert_eq!(split(open), Err("No escaped character"), "{open}");
        }
    }

    #[test]
    fn a_text_is_the_table_that_it_stands_for() {
        let table = |toml: &str| Doc::from_toml(toml, None).unwrap();
        for (text, toml) in [
            ("droptail", "aqm = 'droptail'"),
            ("red limit=120p min_th=20", "aqm = 'red'\nlimit = '120p'\nmin_th = 20"),
            ("codel 'target=5 ms' ecn=true", "aqm = 'codel'\ntarget = '5 ms'\necn = true"),
            ("red a=b=c", "aqm = 'red'\na = 'b=c'"),
            (
                r#"tbf rate=1mbit 'child={ aqm = "codel" }'"#,
                "parent = 'tbf'\nrate = '1mbit'\nchild = { aqm = 'codel' }",
            ),
            (
                "parent=tbf rate=1mbit child.aqm=codel child.target=5ms",
                "parent = 'tbf'\nrate = '1mbit'\nchild = { aqm = 'codel', target = '5ms' }",
            ),
        ] {
            assert_eq!(queue_text(text).unwrap(), table(toml), "{text}");
        }
        let link = Link { rate_bps: 1e6, delay_s: 0.01 };
        assert_eq!(queue("red limit=7p", &link).unwrap().spec.limit, earlydrop_aqm::policy::Limit::Packets(7));
        for (text, link, said) in [
            ("redd", link, ["aqm: is unknown", "did you mean \"red\""]),
            ("red min_t=2", link, ["min_t", "did you mean \"min_th\""]),
            ("red limit=2bdp", link, ["limit: is known only with the traffic", "2 bdp"]),
            ("red min_th=90 max_th=30", link, ["max_th: does not fit", "90"]),
            ("tbf rate=1mbit", link, ["child: is missing", "aqm"]),
            ("red", Link { rate_bps: 0.0, ..link }, ["rate: is out of range", "given 0"]),
            ("red", Link { delay_s: f64::NAN, ..link }, ["delay: is out of range", "NaN"]),
        ] {
            let error = queue(text, &link).unwrap_err().to_string();
            assert!(said.iter().all(|part| error.contains(part)), "{text}: {error}");
        }
        for (text, said) in [
            ("", ["does not begin", "such as"]),
            ("target=5ms", ["does not begin", "target=5ms"]),
            ("''", ["does not begin", "''"]),
            ("codel target", ["\"target\" in \"codel target\"", "NAME=VALUE"]),
            ("codel =5ms", ["\"=5ms\" in", "NAME=VALUE"]),
            ("codel target=", ["\"target=\" in", "NAME=VALUE"]),
            ("red min_th=1 min_th=2", ["min_th is given twice", "red min_th=1"]),
            ("red aqm=codel", ["aqm is given twice", "red aqm=codel"]),
            ("tbf parent=htb", ["parent is given twice", "tbf parent=htb"]),
            ("parent=red", ["names no parent", "\"tbf\""]),
            ("red 'min_th=1", ["No closing quotation", "red 'min_th=1"]),
        ] {
            let error = queue_text(text).unwrap_err().to_string();
            assert!(said.iter().all(|part| error.contains(part)), "{text}: {error}");
        }
    }
}
