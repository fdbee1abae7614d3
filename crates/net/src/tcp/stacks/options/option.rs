//! The declaration of an option: its values, its place in [`Settings`], its requirements.

use crate::tcp::rfc::{ControlKind, Feedbacks, Settings};

/// Delay of ACKs with `delayed_ack = true`, s (RFC 5681, 4.2 allows 0.5 s).
pub const ACK_DELAY: f64 = 0.2;

/// Subject of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Opening and closing a connection, header options.
    Handshake,
    /// RTT samples and the retransmission timeout.
    Timer,
    /// Loss detection.
    Loss,
    /// Retransmission and cwnd in a recovery.
    Recovery,
    /// ACKs of the receiver.
    Receiver,
    /// Departure times.
    Pacing,
    /// Growth of cwnd with any congestion control.
    Growth,
    /// CUBIC.
    Cubic,
    /// DCTCP.
    Dctcp,
    /// LEDBAT.
    Ledbat,
    /// Prague.
    Prague,
    /// BBR.
    Bbr,
}

impl Group {
    /// All groups, in the order of the documentation.
    pub const ALL: [Group; 12] = [
        Group::Handshake,
        Group::Timer,
        Group::Loss,
        Group::Recovery,
        Group::Receiver,
        Group::Pacing,
        Group::Growth,
        Group::Cubic,
        Group::Dctcp,
        Group::Ledbat,
        Group::Prague,
        Group::Bbr,
    ];

    /// The group's heading.
    pub fn title(self) -> &'static str {
        match self {
            Group::Handshake => "Handshake and header",
            Group::Timer => "Retransmission timeout",
            Group::Loss => "Loss detection",
            Group::Recovery => "Recovery",
            Group::Receiver => "Receiver",
            Group::Pacing => "Pacing",
            Group::Growth => "Window growth",
            Group::Cubic => "CUBIC",
            Group::Dctcp => "DCTCP",
            Group::Ledbat => "LEDBAT",
            Group::Prague => "Prague",
            Group::Bbr => "BBR",
        }
    }
}

/// A value of an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// On or off.
    Flag(bool),
    /// A word of the option's own.
    Word(&'static str),
    /// A whole number.
    Whole(u64),
    /// A time, s.
    Seconds(f64),
    /// A number without a unit.
    Number(f64),
    /// The numbers of a table, by the order of its parts; `None`: not given.
    Table([Option<f64>; 2]),
}

impl Value {
    /// The value as a number, if it is one.
    pub fn number(self) -> Option<f64> {
        match self {
            Value::Whole(number) => Some(number as f64),
            Value::Seconds(number) | Value::Number(number) => Some(number),
            _ => None,
        }
    }
}

type Get<T> = fn(&Settings) -> T;
type Set<T> = fn(&mut Settings, T);

/// Possible values of an option, and access to its field of [`Settings`].
pub enum Values {
    /// `true` or `false`.
    Flag(fn(&mut Settings) -> &mut bool),
    /// The first word for `false`, the second for `true`; the first is the RFC's.
    Either([&'static str; 2], fn(&mut Settings) -> &mut bool),
    /// One of several words, by their number; the first is the RFC's.
    Words(&'static [&'static str], Get<usize>, Set<usize>),
    /// One of several words, by their number; `true` stands for the first and `false` for the last.
    WordsOrFlag(&'static [&'static str], Get<usize>, Set<usize>),
    /// `false`, `true` or a word: 0, 1, and from 2 on the words in order.
    Switch(&'static [&'static str], Get<usize>, Set<usize>),
    /// A whole number within two bounds; `None` is a default without a number.
    Whole(u64, u64, Get<Option<u64>>, Set<u64>),
    /// A time within two bounds, s.
    Seconds(f64, f64, Get<f64>, Set<f64>),
    /// A number within two bounds.
    Number(f64, f64, Get<f64>, Set<f64>),
    /// `false`, `true` for [`ACK_DELAY`], or a time above 0 up to the bound, s.
    Wait(f64, Get<Option<f64>>, Set<Option<f64>>),
    /// Segments up to the first bound, or bytes up to the second. Counted in bytes.
    Window(u64, f64, Get<u64>, Set<u64>),
    /// As [`Values::Either`], or a table of numbers that go with the second word.
    Table([&'static str; 2], fn(&mut Settings) -> &mut bool, &'static [Part; 2]),
}

/// A part of an option that is a table.
pub struct Part {
    /// The part's key in the table.
    pub key: &'static str,
    /// The part's values: [`Values::Whole`], [`Values::Seconds`], [`Values::Number`] or [`Values::Window`].
    pub values: Values,
    /// Whether the table must have the part.
    pub needed: bool,
}

impl Values {
    /// The words.
    pub fn words(&self) -> &[&'static str] {
        match self {
            Values::Either(words, _) | Values::Table(words, ..) => words,
            Values::Words(words, ..) | Values::WordsOrFlag(words, ..) | Values::Switch(words, ..) => words,
            _ => &[],
        }
    }

    /// What is allowed, as text.
    pub fn allowed(&self) -> String {
        let quoted = self.words().iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ");
        match self {
            Values::Flag(_) => "true, false".into(),
            Values::Either(..) | Values::Words(..) => quoted,
            Values::WordsOrFlag(..) | Values::Switch(..) => format!("true, false, {quoted}"),
            Values::Whole(low, high, ..) => format!("a whole number {low}..{high}"),
            Values::Seconds(low, high, ..) => format!("a time, {low} to {high} s"),
            Values::Number(low, high, ..) => format!("a number, {low} to {high}"),
            Values::Wait(high, ..) => format!("true, false, a time up to {high} s"),
            Values::Window(segments, ..) => format!("segments, 1..{segments}, or bytes"),
            Values::Table(_, _, parts) => {
                let parts = parts.each_ref().map(|part| format!("{} = {}", part.key, part.values.allowed()));
                format!("{quoted}, {{ {} }}", parts.join("; "))
            }
        }
    }

    /// The value in `settings`; `None` for a default without a number.
    fn get(&self, settings: &Settings) -> Option<Value> {
        let mut copy = *settings;
        Some(match self {
            Values::Flag(field) => Value::Flag(*field(&mut copy)),
            Values::Either(words, field) => Value::Word(words[usize::from(*field(&mut copy))]),
            Values::Words(words, get, _) | Values::WordsOrFlag(words, get, _) => Value::Word(words[get(settings)]),
            Values::Switch(words, get, _) => match get(settings) {
                number @ 0..=1 => Value::Flag(number == 1),
                number => Value::Word(words[number - 2]),
            },
            Values::Whole(_, _, get, _) => Value::Whole(get(settings)?),
            Values::Seconds(_, _, get, _) => Value::Seconds(get(settings)),
            Values::Number(_, _, get, _) => Value::Number(get(settings)),
            Values::Wait(_, get, _) => get(settings).map_or(Value::Flag(false), Value::Seconds),
            Values::Window(_, _, get, _) => Value::Whole(get(settings)),
            Values::Table(words, field, parts) => {
                let of = |settings: &Settings| parts.each_ref().map(|part| part.values.get(settings)?.number());
                match *field(&mut copy) {
                    true if of(settings) != of(&Settings::default()) => Value::Table(of(settings)),
                    on => Value::Word(words[usize::from(on)]),
                }
            }
        })
    }

    /// The value that stands for this number.
    pub fn of_number(&self, number: f64) -> Value {
        match self {
            Values::Whole(..) | Values::Window(..) => Value::Whole(number as u64),
            Values::Seconds(..) => Value::Seconds(number),
            _ => Value::Number(number),
        }
    }

    /// Sets the value in `settings`. Numbers must be within the bounds.
    ///
    /// # Errors
    ///
    /// The allowed values, if `value` is not one of them.
    fn set(&self, settings: &mut Settings, value: Value) -> Result<(), String> {
        match (self, value) {
            (Values::Flag(field), Value::Flag(on)) => *field(settings) = on,
            (Values::Either(words, field) | Values::Table(words, field, _), Value::Word(word))
                if words.contains(&word) =>
            {
                *field(settings) = word == words[1];
            }
            (Values::Words(words, _, set) | Values::WordsOrFlag(words, _, set), Value::Word(word))
                if words.contains(&word) =>
            {
                set(settings, place(&word, words));
            }
            (Values::WordsOrFlag(words, _, set), Value::Flag(on)) => {
                set(settings, if on { 0 } else { words.len() - 1 })
            }
            (Values::Switch(_, _, set), Value::Flag(on)) => set(settings, usize::from(on)),
            (Values::Switch(words, _, set), Value::Word(word)) if words.contains(&word) => {
                set(settings, 2 + place(&word, words));
            }
            (Values::Whole(_, _, _, set) | Values::Window(_, _, _, set), Value::Whole(number)) => set(settings, number),
            (Values::Seconds(_, _, _, set), Value::Seconds(time)) => set(settings, time),
            (Values::Number(_, _, _, set), Value::Number(number)) => set(settings, number),
            (Values::Wait(_, _, set), Value::Flag(on)) => set(settings, on.then_some(ACK_DELAY)),
            (Values::Wait(_, _, set), Value::Seconds(time)) => set(settings, Some(time)),
            (Values::Table(_, field, parts), Value::Table(numbers)) => {
                *field(settings) = true;
                for (part, number) in parts.iter().zip(numbers) {
                    number.map_or(Ok(()), |number| part.values.set(settings, part.values.of_number(number)))?;
                }
            }
            _ => return Err(self.allowed()),
        }
        Ok(())
    }
}

/// A condition without which an option has no effect.
#[derive(Clone, Copy)]
pub struct Need {
    /// The condition as a scenario would write it.
    pub says: &'static str,
    /// Whether the condition holds.
    pub holds: fn(&Settings) -> bool,
}

/// An option.
pub struct Opt {
    /// The option's key.
    pub key: &'static str,
    /// The option's subject.
    pub group: Group,
    /// The option's values.
    pub values: Values,
    /// The TCPs that have the option; empty: all.
    pub controls: &'static [&'static str],
    /// The option's conditions.
    pub needs: &'static [Need],
    /// Source of the values: a section of an RFC, a function of Linux.
    pub source: &'static str,
    /// What the option does.
    pub about: &'static str,
}

impl Opt {
    /// An option of every TCP, without conditions.
    pub(super) const fn new(key: &'static str, group: Group, values: Values) -> Opt {
        Opt { key, group, values, controls: &[], needs: &[], source: "", about: "" }
    }

    /// The option, for these TCPs only.
    pub(super) const fn only(self, controls: &'static [&'static str]) -> Opt {
        Opt { controls, ..self }
    }

    /// The option, with these conditions.
    pub(super) const fn needs(self, needs: &'static [Need]) -> Opt {
        Opt { needs, ..self }
    }

    /// The option, with this source.
    pub(super) const fn source(self, source: &'static str) -> Opt {
        Opt { source, ..self }
    }

    /// The option, with this sentence.
    pub(super) const fn about(self, about: &'static str) -> Opt {
        Opt { about, ..self }
    }

    /// Whether `tcp` has the option.
    pub fn is_for(&self, tcp: &str) -> bool {
        self.controls.is_empty() || self.controls.contains(&tcp)
    }

    /// The option's value; `None` for a default without a number.
    pub fn get(&self, settings: &Settings) -> Option<Value> {
        self.values.get(settings)
    }

    /// Sets the option. Numbers must be within the bounds.
    ///
    /// # Errors
    ///
    /// The allowed values, if `value` is not one of them.
    pub fn set(&self, settings: &mut Settings, value: Value) -> Result<(), String> {
        self.values.set(settings, value)
    }

    /// The option's words.
    pub fn words(&self) -> &[&'static str] {
        self.values.words()
    }

    /// The option's allowed values, as text.
    pub fn allowed(&self) -> String {
        self.values.allowed()
    }

    /// The first condition of the option that does not hold.
    pub fn lacks(&self, settings: &Settings) -> Option<&'static Need> {
        self.needs.iter().find(|need| !(need.holds)(settings))
    }
}

/// The place of `value` in `all`, which contains it.
pub(super) fn place<T: PartialEq>(value: &T, all: &[T]) -> usize {
    all.iter().position(|one| one == value).unwrap_or(0)
}

const fn need(says: &'static str, holds: fn(&Settings) -> bool) -> Need {
    Need { says, holds }
}

pub(super) const SACK: Need = need("sack = true", |s| s.sack);
pub(super) const RACK: Need = need("rack = true", |s| s.rack.on);
pub(super) const NOT_QUIC: Need = need("loss_recovery = \"tcp\"", |s| !s.quic);
pub(super) const QUIC: Need = need("loss_recovery = \"rfc9002\"", |s| s.quic);
pub(super) const STAMPS: Need = need("timestamps = true", |s| s.timestamps);
pub(super) const PRR: Need = need("prr and sack", |s| s.recovery.prr.is_some() && s.sack);
pub(super) const NOT_BBR: Need =
    need("another tcp than bbr and bbr3, whose window is a model of the path", |s| !is_bbr(s));
pub(super) const SLOW_START: Need =
    need("slow start up to ssthresh, which bbr, bbr3, ledbat, ledbatpp and prague do not have", |s| {
        !matches!(
            s.control,
            ControlKind::Bbr
                | ControlKind::Bbr3
                | ControlKind::Ledbat { .. }
                | ControlKind::LedbatPlusPlus { .. }
                | ControlKind::Prague
        )
    });
pub(super) const MARKS: Need = need("ecn = true", |s| s.ecn.feedback != Feedbacks::None);
pub(super) const ECHOES: Need = need("ecn = true, with echoes as in RFC 3168 or of dctcp", |s| {
    matches!(s.asks(), Feedbacks::Classic | Feedbacks::Dctcp)
});
pub(super) const ACCECN_OR_CLASSIC_MARKS: Need = need("ecn = true, with echoes as in RFC 3168 or accurate ECN", |s| {
    matches!(s.asks(), Feedbacks::Classic | Feedbacks::Accecn)
});
pub(super) const PACED: Need = need("pacing = true", |s| s.pacing.on);
pub(super) const WAITING_ACKS: Need = need("delayed_ack", |s| s.receiver.delay.is_some());
pub(super) const PAIRS: Need = need("send_pairs = true", |s| s.pacing.pairs);
pub(super) const BURSTS: Need = need("pacing = true or send_pairs = true", |s| s.pacing.on || s.pacing.pairs);
pub(super) const COUNTED: Need = need("growth = \"acked\"", |s| !s.growth.arrived);

fn is_bbr(settings: &Settings) -> bool {
    matches!(settings.control, ControlKind::Bbr | ControlKind::Bbr3)
}
