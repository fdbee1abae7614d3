//! The options of the RFC TCP: one table, from which the keys of scenarios and of test scripts, their checks and
//! messages, the JSON schema, and the documentation are generated.
//!
//! A row is an [`Opt`]. Without any option a connection follows the RFCs.

mod controls;
mod general;
mod hosts;
mod option;
mod quic;

pub use option::{Group, Need, Opt, Part, Value, Values, ACK_DELAY};

/// The table. An option precedes those whose conditions name it.
const TABLE: [&[Opt]; 4] = [quic::OPTIONS, general::OPTIONS, hosts::OPTIONS, controls::OPTIONS];

/// All options.
pub fn all() -> impl Iterator<Item = &'static Opt> {
    TABLE.into_iter().flatten()
}

/// The option with this key.
pub fn named(key: &str) -> Option<&'static Opt> {
    all().find(|opt| opt.key == key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::rfc::{ControlKind, Settings};

    #[test]
    fn keys_differ_and_sentences_end() {
        let keys: std::collections::BTreeSet<_> = all().map(|opt| opt.key).collect();
        assert_eq!(keys.len(), all().count());
        for opt in all() {
            assert!(opt.about.ends_with('.'), "{}", opt.key);
            assert!(!opt.source.is_empty(), "{}", opt.key);
        }
    }

    #[test]
    fn get_returns_what_was_set() {
        for opt in all() {
            let values: Vec<Value> = match &opt.values {
                Values::Flag(_) => vec![Value::Flag(true), Value::Flag(false)],
                Values::Whole(low, high, ..) => vec![Value::Whole(*low), Value::Whole(*high)],
                Values::Window(high, ..) => vec![Value::Whole(1), Value::Whole(*high)],
                Values::Seconds(low, high, ..) => vec![Value::Seconds(*low), Value::Seconds(*high)],
                Values::Number(low, high, ..) => vec![Value::Number(*low), Value::Number(*high)],
                Values::Wait(high, ..) => vec![Value::Flag(false), Value::Seconds(*high)],
                Values::Switch(words, ..) => {
                    let words = words.iter().map(|word| Value::Word(word));
                    [Value::Flag(true), Value::Flag(false)].into_iter().chain(words).collect()
                }
                Values::Table(words, _, parts) => {
                    let most = parts.each_ref().map(|part| match part.values {
                        Values::Seconds(_, high, ..) | Values::Number(_, high, ..) => Some(high),
                        Values::Whole(_, high, ..) | Values::Window(high, ..) => Some(high as f64),
                        _ => None,
                    });
                    vec![Value::Word(words[1]), Value::Word(words[0]), Value::Table(most)]
                }
                _ => opt.words().iter().map(|word| Value::Word(word)).collect(),
            };
            for value in values {
                let control = if opt.controls.contains(&"ledbat") {
                    ControlKind::Ledbat { target: 0.1, gain: 1.0 }
                } else {
                    ControlKind::NewReno
                };
                let mut settings = Settings { control, ..Settings::default() };
                opt.set(&mut settings, value).expect(opt.key);
                assert_eq!(opt.get(&settings), Some(value), "{}", opt.key);
            }
            assert!(opt.set(&mut Settings::default(), Value::Word("nonsense")).is_err(), "{}", opt.key);
        }
    }

    #[test]
    fn by_default_a_connection_follows_the_rfcs() {
        // The first word of an option is the RFCs'; a switch has none.
        for opt in all().filter(|opt| !matches!(opt.values, Values::Switch(..))) {
            let Some(first) = opt.words().first().map(|word| Value::Word(word)) else { continue };
            assert_eq!(opt.get(&Settings::default()), Some(first), "{}", opt.key);
        }
    }
}
