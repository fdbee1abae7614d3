//! TCP stacks by name: defaults of all options in the RFCs, QUIC and Linux 6.18.
//!
//! A stack is a short list of rows over the table of [`options`], in a file of its own. Its name has a version: a newer
//! kernel is a new stack. Corrections of a row are in the changelog.

pub mod linux_6_18;
pub mod ns2_2_35;
pub mod options;
pub mod quic;
pub mod rfc;
mod stack;

use crate::tcp::rfc::{ControlKind, EcnRules, Feedbacks, Settings};
use options::{Opt, Value, Values};
pub use stack::{Row, Stack};

/// All stacks.
pub const STACKS: [&Stack; 4] = [&ns2_2_35::STACK, &rfc::STACK, &linux_6_18::STACK, &quic::STACK];

/// The stack with this name.
pub fn named(name: &str) -> Option<&'static Stack> {
    STACKS.into_iter().find(|stack| stack.name == name)
}

impl Stack {
    /// The stack's row for an option under a TCP.
    pub fn row(&self, key: &str, tcp: &str) -> Option<&'static Row> {
        let own = |rows: &'static [Row]| {
            rows.iter().find(|row| row.key == key && (row.only.is_empty() || row.only.contains(&tcp)))
        };
        own(self.rows).or_else(|| own(rfc::STACK.rows))
    }

    /// The settings of a connection: `given` has the options that a scenario sets. Segments have `mss` bytes of
    /// payload; with `ecn` data are ECN-capable.
    ///
    /// # Errors
    ///
    /// The errors of `given`.
    pub fn settings<E>(
        &self,
        tcp: &str,
        mss: u32,
        ecn: bool,
        mut given: impl FnMut(&'static Opt, &Settings) -> Result<Option<Value>, E>,
    ) -> Result<Settings, E> {
        let mut settings = start(tcp, mss, ecn);
        for opt in options::all().filter(|opt| opt.is_for(tcp)) {
            let value = match given(opt, &settings)? {
                Some(value) => Some(value),
                // A default yields if the scenario sets an option so that the default would have no effect.
                None if opt.lacks(&settings).is_some() => None,
                None => self.row(opt.key, tcp).map(|row| in_bytes(opt, row.value, mss)),
            };
            // The values that follow from earlier options are written down too.
            if let Some(value) = value.or_else(|| opt.get(&settings)) {
                let fits = opt.set(&mut settings, value);
                debug_assert!(fits.is_ok(), "{}: {value:?}", opt.key);
            }
        }
        Ok(settings)
    }

    /// The settings with the stack's defaults.
    pub fn plain(&self, tcp: &str, mss: u32, ecn: bool) -> Settings {
        match self.settings::<std::convert::Infallible>(tcp, mss, ecn, |_, _| Ok(None)) {
            Ok(settings) => settings,
            Err(never) => match never {},
        }
    }
}

/// A value that is a window in segments, in bytes.
fn in_bytes(opt: &Opt, value: Value, mss: u32) -> Value {
    match (&opt.values, value) {
        (Values::Window(..), Value::Whole(segments)) => Value::Whole(segments * u64::from(mss)),
        _ => value,
    }
}

/// The congestion control and its ECN feedback.
fn start(tcp: &str, mss: u32, ecn: bool) -> Settings {
    let control = match tcp {
        "cubic" => ControlKind::Cubic,
        "dctcp" => ControlKind::Dctcp,
        "bbr" => ControlKind::Bbr,
        "bbr3" => ControlKind::Bbr3,
        "ledbat" => ControlKind::Ledbat { target: 0.1, gain: 1.0 },
        "ledbatpp" => ControlKind::LedbatPlusPlus { target: 0.06 },
        "prague" => ControlKind::Prague,
        _ => ControlKind::NewReno,
    };
    let feedback = match (ecn, control) {
        (false, _) => Feedbacks::None,
        (true, ControlKind::Dctcp) => Feedbacks::Dctcp,
        (true, ControlKind::Prague) => Feedbacks::Counter,
        (true, _) => Feedbacks::Classic,
    };
    Settings { control, mss, ecn: EcnRules { feedback, ..EcnRules::default() }, ..Settings::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_options_of_the_tcp_and_allowed_values() {
        for stack in STACKS {
            for row in stack.rows {
                let opt = options::named(row.key).unwrap_or_else(|| panic!("{}: {}", stack.name, row.key));
                assert!(!row.source.is_empty(), "{}: {}", stack.name, row.key);
                let tcps = if row.only.is_empty() { stack.tcps } else { row.only };
                for tcp in tcps {
                    assert!(stack.tcps.contains(tcp) && opt.is_for(tcp), "{}: {} for {tcp}", stack.name, row.key);
                    let settings = stack.plain(tcp, 1000, true);
                    assert_eq!(opt.get(&settings), Some(in_bytes(opt, row.value, 1000)), "{}: {}", stack.name, row.key);
                }
            }
        }
    }

    #[test]
    fn no_row_repeats_the_rfcs() {
        for stack in STACKS.into_iter().filter(|stack| stack.name != rfc::STACK.name) {
            for row in stack.rows {
                let opt = options::named(row.key).expect(row.key);
                let tcps = if row.only.is_empty() { stack.tcps } else { row.only };
                let differs =
                    |tcp: &&str| opt.get(&stack.plain(tcp, 1000, true)) != opt.get(&rfc::STACK.plain(tcp, 1000, true));
                assert!(tcps.iter().any(differs), "{}: {}", stack.name, row.key);
            }
        }
    }
}
