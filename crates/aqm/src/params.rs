//! Parameters: declared once beside each discipline, read everywhere.
//!
//! A discipline lists its parameters as [`Param`] values. The scenario checker, the command line, the JSON
//! schema, the Python classes and the documentation are all made from that list, so a name, a unit, a default or
//! a range is written down in exactly one place.

use std::collections::BTreeMap;
use std::fmt;

/// The link that a discipline serves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Rate, bit/s.
    pub rate_bps: f64,
    /// Propagation delay, s.
    pub delay_s: f64,
}

/// What a parameter measures. It decides which texts the checker accepts (`"20 ms"`, `"15 kB"`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A bare number: a probability, a weight, a factor.
    None,
    /// A queue length. A bare number counts packets; `"12 packets"`, `"12p"`, `"1500 B"`, `"15 kB"` are accepted too.
    QueueLength,
    /// Seconds; texts such as `"20 ms"` are accepted.
    Seconds,
    /// Bytes; texts such as `"1 kB"` are accepted.
    Bytes,
    /// Bits a second; texts such as `"10 Mbit/s"` are accepted.
    Rate,
}

impl Unit {
    /// The name people read in tables; empty for a bare number.
    pub fn name(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::QueueLength => "packets",
            Unit::Seconds => "s",
            Unit::Bytes => "B",
            Unit::Rate => "bit/s",
        }
    }
}

/// Which values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A real number in an interval; `open_low` and `open_high` exclude the ends.
    Real {
        /// Smallest value.
        low: f64,
        /// Largest value (may be infinite).
        high: f64,
        /// The smallest value itself is not allowed.
        open_low: bool,
        /// The largest value itself is not allowed.
        open_high: bool,
        /// The word `"auto"` is allowed too: the discipline works the value out from its link.
        auto: bool,
    },
    /// A whole number from `low` to `high`, both allowed.
    Whole {
        /// Smallest value.
        low: i64,
        /// Largest value.
        high: i64,
    },
    /// `true` or `false`; with `auto`, the dialect or discipline decides if nothing is given.
    Flag {
        /// The word `"auto"` is allowed too.
        auto: bool,
    },
    /// One word of a list.
    Choice(&'static [&'static str]),
    /// A text that the discipline reads itself.
    Text,
}

impl Kind {
    /// Every value, where they can be listed: those of a flag and of a list of words; of other kinds none.
    pub fn listed(self) -> Vec<Value> {
        match self {
            Kind::Flag { .. } => vec![Value::Flag(false), Value::Flag(true)],
            Kind::Choice(words) => words.iter().map(|&word| Value::Choice(word)).collect(),
            Kind::Real { .. } | Kind::Whole { .. } | Kind::Text => Vec::new(),
        }
    }

    /// A number from `low` to `high`, both allowed.
    pub const fn real(low: f64, high: f64) -> Kind {
        Kind::Real { low, high, open_low: false, open_high: false, auto: false }
    }

    /// A number above `low`, up to `high`.
    pub const fn above(low: f64, high: f64) -> Kind {
        Kind::Real { low, high, open_low: true, open_high: false, auto: false }
    }

    /// This kind without its largest value.
    pub const fn open_high(self) -> Kind {
        match self {
            Kind::Real { low, high, open_low, auto, .. } => Kind::Real { low, high, open_low, open_high: true, auto },
            other => other,
        }
    }

    /// This kind, or `"auto"`.
    pub const fn or_auto(self) -> Kind {
        match self {
            Kind::Real { low, high, open_low, open_high, .. } => {
                Kind::Real { low, high, open_low, open_high, auto: true }
            }
            other => other,
        }
    }
}

/// A short text of printable ASCII characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Text {
    bytes: [u8; Text::MOST],
    length: u8,
}

impl Text {
    /// Most characters.
    pub const MOST: usize = 200;

    /// The text, which a declaration has as a default.
    ///
    /// # Panics
    /// If it is too long or has other characters; in a constant, that is an error of the compiler.
    pub const fn new(text: &str) -> Text {
        match Text::copied(text) {
            Ok(text) => text,
            Err(_) => panic!("a text has at most 200 printable ASCII characters"),
        }
    }

    /// The text, or the place of the first character, from 1, that cannot be in it.
    const fn copied(text: &str) -> Result<Text, usize> {
        let (given, mut bytes, mut at) = (text.as_bytes(), [0; Text::MOST], 0);
        while at < given.len() {
            if at == Text::MOST || given[at] < b' ' || given[at] > b'~' {
                return Err(at + 1);
            }
            bytes[at] = given[at];
            at += 1;
        }
        Ok(Text { bytes, length: at as u8 })
    }

    /// The text.
    ///
    /// # Errors
    /// What is wrong with it, and at which character.
    pub fn read(text: &str) -> Result<Text, String> {
        Text::copied(text).map_err(|place| {
            let found = text.chars().nth(place - 1).unwrap_or(' ');
            if place > Text::MOST {
                format!("is longer than {} characters", Text::MOST)
            } else {
                format!("has {found:?} as character {place}")
            }
        })
    }

    /// The characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or("")
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// A parameter's value after checking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number in the parameter's own unit (packets, seconds, bytes or none).
    Real(f64),
    /// A queue length that was written in bytes.
    QueueBytes(f64),
    /// A whole number.
    Whole(i64),
    /// A switch.
    Flag(bool),
    /// One of the words of [`Kind::Choice`].
    Choice(&'static str),
    /// A text of [`Kind::Text`].
    Text(Text),
    /// To be worked out from the link.
    Auto,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Real(x) => write!(f, "{x}"),
            Value::QueueBytes(x) => write!(f, "{x} B"),
            Value::Whole(x) => write!(f, "{x}"),
            Value::Flag(x) => write!(f, "{x}"),
            Value::Choice(x) => write!(f, "{x}"),
            Value::Text(x) => f.write_str(x.as_str()),
            Value::Auto => write!(f, "auto"),
        }
    }
}

/// One parameter, with everything that is said about it.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name in scenarios and code, the field's own word (`min_th`).
    pub name: &'static str,
    /// Symbol in papers, in LaTeX (`min_{th}`).
    pub symbol: &'static str,
    /// What the parameter measures.
    pub unit: Unit,
    /// Which values the parameter takes.
    pub kind: Kind,
    /// Value when nothing is given.
    pub default: Value,
    /// Where the default comes from.
    pub source: &'static str,
    /// What the parameter is, in one sentence.
    pub doc: &'static str,
}

impl Param {
    /// A parameter whose source and sentence follow by [`Param::says`].
    pub const fn new(name: &'static str, unit: Unit, kind: Kind, default: Value) -> Param {
        Param { name, symbol: "", unit, kind, default, source: "", doc: "" }
    }

    /// A parameter that is a number.
    pub const fn real(name: &'static str, unit: Unit, kind: Kind, default: f64) -> Param {
        Param::new(name, unit, kind, Value::Real(default))
    }

    /// A parameter that is a whole number within bounds.
    pub const fn whole(name: &'static str, unit: Unit, (low, high): (i64, i64), default: i64) -> Param {
        Param::new(name, unit, Kind::Whole { low, high }, Value::Whole(default))
    }

    /// A parameter that is `true` or `false`.
    pub const fn flag(name: &'static str, default: bool) -> Param {
        Param::new(name, Unit::None, Kind::Flag { auto: false }, Value::Flag(default))
    }

    /// A parameter that is `true` or `false`, and chosen by the dialect or the discipline if nothing is given.
    pub const fn switch(name: &'static str) -> Param {
        Param::new(name, Unit::None, Kind::Flag { auto: true }, Value::Auto)
    }

    /// A parameter that is one of some words.
    pub const fn word(name: &'static str, words: &'static [&'static str], default: &'static str) -> Param {
        Param::new(name, Unit::None, Kind::Choice(words), Value::Choice(default))
    }

    /// A parameter that is a text.
    pub const fn text(name: &'static str, default: &'static str) -> Param {
        Param::new(name, Unit::None, Kind::Text, Value::Text(Text::new(default)))
    }

    /// Sets the parameter's symbol in papers, in LaTeX.
    pub const fn symbol(self, symbol: &'static str) -> Param {
        Param { symbol, ..self }
    }

    /// Sets where the default comes from, and the sentence that says what the parameter is.
    pub const fn says(self, source: &'static str, doc: &'static str) -> Param {
        Param { source, doc, ..self }
    }

    /// The allowed values as people read them, for tables and error messages.
    pub fn range(&self) -> String {
        match self.kind {
            Kind::Real { low, high, open_low, open_high, auto } => {
                let left = if open_low { "(" } else { "[" };
                let right = if open_high || high.is_infinite() { ")" } else { "]" };
                let high = if high.is_infinite() { "inf".to_string() } else { high.to_string() };
                let auto = if auto { " or \"auto\"" } else { "" };
                format!("{left}{low}, {high}{right}{auto}")
            }
            Kind::Whole { low, high } if high == i64::MAX => format!("whole number >= {low}"),
            Kind::Whole { low, high } => format!("whole number {low}..{high}"),
            Kind::Flag { auto: false } => "true, false".to_string(),
            Kind::Flag { auto: true } => "true, false, \"auto\"".to_string(),
            Kind::Choice(words) => words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", "),
            Kind::Text => format!("text of at most {} ASCII characters", Text::MOST),
        }
    }

    /// Whether `value` is of this parameter's kind and inside its range.
    pub fn allows(&self, value: Value) -> bool {
        match (self.kind, value) {
            (Kind::Real { auto: true, .. }, Value::Auto) | (Kind::Flag { auto: true }, Value::Auto) => true,
            (Kind::Real { low, high, open_low, open_high, .. }, Value::Real(x) | Value::QueueBytes(x)) => {
                if matches!(value, Value::QueueBytes(_)) && self.unit != Unit::QueueLength {
                    return false;
                }
                let above = if open_low { x > low } else { x >= low };
                let below = if open_high { x < high } else { x <= high };
                above && below && x.is_finite()
            }
            (Kind::Whole { low, high }, Value::Whole(x)) => (low..=high).contains(&x),
            (Kind::Flag { .. }, Value::Flag(_)) => true,
            (Kind::Choice(words), Value::Choice(word)) => words.contains(&word),
            (Kind::Text, Value::Text(_)) => true,
            _ => false,
        }
    }
}

/// The parameter called `name`.
fn named<'a>(declared: &'a [Param], name: &str) -> &'a Param {
    declared.iter().find(|p| p.name == name).unwrap_or_else(|| panic!("no parameter {name} is declared"))
}

/// Values by parameter name; parameters not given have the declared default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    /// The values given, by parameter name.
    given: BTreeMap<&'static str, Value>,
}

impl Values {
    /// No value given: every parameter at its default.
    pub fn new() -> Self {
        Self::default()
    }

    /// The values `given`.
    pub fn of(given: &[(&'static str, Value)]) -> Self {
        Self { given: given.iter().copied().collect() }
    }

    /// Sets a parameter. The caller has checked the value with [`Param::allows`].
    pub fn set(&mut self, name: &'static str, value: Value) -> &mut Self {
        self.given.insert(name, value);
        self
    }

    /// The value that was given, if any.
    pub fn given(&self, name: &str) -> Option<Value> {
        self.given.get(name).copied()
    }

    /// The value of `param`: given, or its default.
    pub fn get(&self, param: &Param) -> Value {
        self.given(param.name).unwrap_or(param.default)
    }

    /// The number of the parameter called `name` among `declared`, in its own unit; NaN for `"auto"` and for a queue
    /// length written in bytes: a discipline that takes these reads them with [`Values::get`].
    ///
    /// # Panics
    /// If `declared` has no such parameter: a slip in the discipline, not in the values given. So for the others.
    pub fn real(&self, declared: &[Param], name: &str) -> f64 {
        match self.get(named(declared, name)) {
            Value::Real(x) => x,
            Value::Whole(x) => x as f64,
            _ => f64::NAN,
        }
    }

    /// The number of the parameter called `name`; `None` for `"auto"`.
    pub fn number(&self, declared: &[Param], name: &str) -> Option<f64> {
        match self.get(named(declared, name)) {
            Value::Real(x) => Some(x),
            Value::Auto => None,
            other => unreachable!("{name} is a number, not {other}"),
        }
    }

    /// The whole number of the parameter called `name`.
    pub fn whole(&self, declared: &[Param], name: &str) -> i64 {
        match self.get(named(declared, name)) {
            Value::Whole(x) => x,
            other => unreachable!("{name} is a whole number, not {other}"),
        }
    }

    /// The switch called `name`; false for `"auto"`.
    pub fn flag(&self, declared: &[Param], name: &str) -> bool {
        self.get(named(declared, name)) == Value::Flag(true)
    }

    /// The switch called `name`; `None` for `"auto"`.
    pub fn switch(&self, declared: &[Param], name: &str) -> Option<bool> {
        match self.get(named(declared, name)) {
            Value::Flag(on) => Some(on),
            Value::Auto => None,
            other => unreachable!("{name} is a switch, not {other}"),
        }
    }

    /// The text of the parameter called `name`.
    pub fn text(&self, declared: &[Param], name: &str) -> Text {
        match self.get(named(declared, name)) {
            Value::Text(text) => text,
            other => unreachable!("{name} is a text, not {other}"),
        }
    }

    /// The word of the parameter called `name`; disciplines read it with [`Values::choice`].
    fn word(&self, declared: &[Param], name: &str) -> &'static str {
        match self.get(named(declared, name)) {
            Value::Choice(word) => word,
            other => unreachable!("{name} is a word, not {other}"),
        }
    }
}

/// The words of a parameter as a type, so that each is written once and a wrong one does not compile.
pub trait Word: Copy + 'static {
    /// The words, for [`Kind::Choice`].
    const WORDS: &'static [&'static str];

    /// What `word` stands for.
    fn of(word: &str) -> Option<Self>;
}

impl Values {
    /// The word of the parameter called `name`, as a type.
    pub fn choice<W: Word>(&self, declared: &[Param], name: &str) -> W {
        let word = self.word(declared, name);
        W::of(word).unwrap_or_else(|| unreachable!("{name} is one of {:?}, not {word}", W::WORDS))
    }
}

/// An enum that implements [`Word`]: each of its values with its word.
macro_rules! words {
    ($(#[$about:meta])* $seen:vis enum $name:ident { $($(#[$what:meta])* $value:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $seen enum $name { $($(#[$what])* $value,)+ }

        impl $crate::params::Word for $name {
            const WORDS: &'static [&'static str] = &[$($word),+];

            fn of(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$value),)+
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use words;

/// A value that does not fit with the others or with the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError {
    /// Name of the parameter at fault.
    pub name: &'static str,
    /// What was given, as text.
    pub given: String,
    /// What is allowed, and why.
    pub allowed: String,
}

impl ParamError {
    /// An error about `name`.
    pub fn new(name: &'static str, given: impl fmt::Display, allowed: impl Into<String>) -> Self {
        Self { name, given: given.to_string(), allowed: allowed.into() }
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: {}", self.name, self.given, self.allowed)
    }
}

impl std::error::Error for ParamError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_200_printable_ascii_characters() {
        let long = "a".repeat(200);
        assert_eq!(Text::read(&long).map(|text| text.as_str().to_string()), Ok(long.clone()));
        assert_eq!(Text::read(&(long + "b")).unwrap_err(), "is longer than 200 characters");
        assert_eq!(Text::read("a\tb").unwrap_err(), "has '\\t' as character 2");
        assert_eq!(Text::read("ab\u{e9}").unwrap_err(), "has '\u{e9}' as character 3");
        assert_eq!(Text::read("").unwrap(), Text::new(""));
        assert_eq!(format!("{:?} {}", Text::new("a \"~"), Value::Text(Text::new("a \"~"))), "\"a \\\"~\" a \"~");
    }

    #[test]
    fn values_are_listed_where_they_are_few() {
        assert_eq!(Kind::Choice(&["a", "b"]).listed(), [Value::Choice("a"), Value::Choice("b")]);
        assert_eq!(Kind::Flag { auto: true }.listed(), [Value::Flag(false), Value::Flag(true)]);
        assert!([Kind::Text, Kind::real(0.0, 1.0), Kind::Whole { low: 0, high: 1 }]
            .iter()
            .all(|k| k.listed().is_empty()));
    }
}
