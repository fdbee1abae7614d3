//! Schemes of the literature that are a setting of another discipline. People look for them by their own names.

use crate::catalogue::alike;
use crate::params::Value;

/// A scheme, and the discipline of which it is a setting.
pub struct Folded {
    /// Its own name (`autored`).
    pub name: &'static str,
    /// Title for people (`AutoRED`).
    pub title: &'static str,
    /// Year of publication.
    pub year: u16,
    /// What the scheme does, in one line.
    pub summary: &'static str,
    /// Name of the discipline that it is a setting of.
    pub of: &'static str,
    /// The parameters that make the discipline this scheme.
    pub values: &'static [(&'static str, Value)],
}

/// All schemes.
pub const ALL: &[Folded] = &[
    Folded {
        name: "autored",
        title: "AutoRED",
        year: 2007,
        summary: "RED whose averaging weight is computed at each arrival",
        of: "floadautored",
        values: &[("stage", Value::Choice("auto"))],
    },
    Folded {
        name: "autoredwithred",
        title: "AutoREDwithRED",
        year: 2010,
        summary: "AutoRED's average, RED's line, and an upper threshold that is raised while the queue is long",
        of: "floadautored",
        values: &[("stage", Value::Choice("two_levels"))],
    },
    Folded {
        name: "fautoredwithred",
        title: "FAutoREDwithRED",
        year: 2010,
        summary:
            "AutoREDwithRED behind CHOKe's test: an arrival that meets its own flow is dropped with the packet it met",
        of: "floadautored",
        values: &[("stage", Value::Choice("match"))],
    },
    Folded {
        name: "pid",
        title: "PID",
        year: 2003,
        summary: "PI with a derivative term, which answers to a queue that grows",
        of: "pi",
        values: &[("a", Value::Real(1.822_001_321_877_064e-5)), ("kd", Value::Real(1.816e-4))],
    },
];

impl Folded {
    /// The setting as a scenario's queue writes it: `aqm = "floadautored", stage = "auto"`.
    pub fn setting(&self) -> String {
        let values = self.values.iter().map(|(name, value)| match value {
            Value::Choice(word) => format!("{name} = \"{word}\""),
            value => format!("{name} = {value}"),
        });
        std::iter::once(format!("aqm = \"{}\"", self.of)).chain(values).collect::<Vec<_>>().join(", ")
    }
}

/// The scheme that people call `text`, as [`crate::catalogue::meant`] reads it.
pub fn meant(text: &str) -> Option<&'static Folded> {
    ALL.iter().find(|one| alike(text, &[one.name, one.title]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[test]
    fn a_setting_is_one_that_its_discipline_takes_and_its_name_is_no_disciplines() {
        for one in ALL {
            let spec = catalogue::find(one.of).unwrap_or_else(|| panic!("{}: no {}", one.name, one.of));
            let mut values = Values::new();
            for &(name, value) in one.values {
                let param = spec.param(name).unwrap_or_else(|| panic!("{}: no {name}", one.name));
                assert!(param.allows(value) && value != param.default, "{}: {name}", one.name);
                values.set(name, value);
            }
            assert!((spec.check)(&values, &Link { rate_bps: 1e7, delay_s: 0.01 }).is_ok(), "{}", one.name);
            assert!(catalogue::meant(one.name).is_none() && catalogue::meant(one.title).is_none(), "{}", one.name);
        }
        assert_eq!(
            meant("AutoRED-with-RED").map(Folded::setting).unwrap(),
            r#"aqm = "floadautored", stage = "two_levels""#
        );
        assert!(meant("floadautored").is_none());
    }

    /// The textbook's gains: those of ns-2's PI at 170 Hz, t_i = 1.78 s, and a derivative of ten samples.
    #[test]
    fn the_gains_of_pid_are_the_textbooks() {
        let k_p = 1.816e-5;
        let wanted = [k_p * (1.0 + 1.0 / 170.0 / 1.78 + 10.0), k_p * 21.0, k_p * 10.0];
        let pid = meant("PID").unwrap();
        let (a, kd) = match pid.values {
            [("a", Value::Real(a)), ("kd", Value::Real(kd))] => (a, kd),
            _ => panic!("other gains"),
        };
        for (found, wanted) in [a + kd, k_p + 2.0 * kd, *kd].into_iter().zip(wanted) {
            assert!((found / wanted - 1.0).abs() < 1e-15, "{found} not {wanted}");
        }
    }
}
