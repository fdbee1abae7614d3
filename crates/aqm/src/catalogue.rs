//! The catalogue: every discipline, in the order people see them.

use crate::default_limit::DefaultLimit;
pub use crate::discipline::Built;
pub use crate::params::Link;
use crate::params::{Param, ParamError, Value, Values};
use crate::policy::Limit;

/// The families, in the order people see them: every [`AqmSpec::family`] is one of these.
pub const FAMILIES: &[&str] = &[
    "plain queues",
    "RED and its curves",
    "adaptive RED",
    "flow-aware RED",
    "load and queue control",
    "sojourn time",
    "several queues",
    "classes",
];

/// Checks values against one another and the link.
pub type Check = &'static (dyn Fn(&Values, &Link) -> Result<(), ParamError> + Sync);
/// Builds a discipline from checked values.
pub type Build = &'static (dyn Fn(&Values, &Link, Limit) -> Result<Built, ParamError> + Sync);
/// The drop probability p_b at an averaged queue in packets.
pub type DropCurve = &'static (dyn Fn(&Values, &Link, f64) -> f64 + Sync);

/// The declaration of a discipline.
pub struct AqmSpec {
    /// Name in scenarios (`tred`).
    pub name: &'static str,
    /// Title for people (`TRED`).
    pub title: &'static str,
    /// Family: one of [`FAMILIES`].
    pub family: &'static str,
    /// Year of publication.
    pub year: u16,
    /// What the discipline does, in one line.
    pub summary: &'static str,
    /// Authors, title and place of the publication.
    pub source: &'static str,
    /// The source of the module, or only its opening comment; see [`AqmSpec::documentation`].
    pub file: &'static str,
    /// The parameters, in groups.
    pub params: &'static [&'static [Param]],
    /// Whether it follows Linux without a `dialect` that says so; see [`AqmSpec::counts_header`].
    pub linux: bool,
    /// The buffer of a queue that gives no `limit`.
    pub limit: DefaultLimit,
    /// Checks values against one another and the link.
    pub check: Check,
    /// Builds the discipline from checked values.
    pub build: Build,
    /// The drop curve, where the discipline has one.
    pub curve: Option<DropCurve>,
}

impl AqmSpec {
    /// The defaults of a declaration: the buffer of a device, nothing to check, no curve, not Linux's. The list in
    /// `lib.rs` fills in `file`.
    pub const fn named(name: &'static str, title: &'static str, family: &'static str, year: u16) -> AqmSpec {
        AqmSpec {
            name,
            title,
            family,
            year,
            summary: "",
            source: "",
            file: "",
            params: &[],
            linux: false,
            limit: DefaultLimit::DEVICE,
            check: &|_, _| Ok(()),
            build: &|_, _, _| panic!("a declaration has `build`"),
            curve: None,
        }
    }

    /// All parameters in order.
    pub fn all_params(&self) -> impl Iterator<Item = &'static Param> {
        self.params.iter().flat_map(|group| group.iter())
    }

    /// The parameter called `name`.
    pub fn param(&self, name: &str) -> Option<&'static Param> {
        self.all_params().find(|p| p.name == name)
    }

    /// Whether the discipline counts the link layer's header ([`crate::link_layer`]), as all that follow Linux do.
    pub fn counts_header(&self, values: &Values) -> bool {
        let dialect = self.param("dialect").map(|param| values.get(param));
        self.linux || dialect == Some(Value::Choice("linux"))
    }

    /// The buffer of a queue at `link` that gives no `limit`; `values` have passed the checks.
    pub fn default_limit(&self, values: &Values, link: &Link) -> Limit {
        match self.limit {
            DefaultLimit::Packets { packets, .. } => Limit::Packets(packets),
            DefaultLimit::Rule { of, .. } => of(self.params, values, link),
        }
    }

    /// Whether people who write `text` mean this discipline; see [`meant`].
    pub fn is_meant(&self, text: &str) -> bool {
        alike(text, &[self.name, self.title])
    }

    /// The documentation page in Markdown: the module's own opening comment.
    pub fn documentation(&self) -> String {
        let lines = self.file.lines().take_while(|line| line.starts_with("//!"));
        lines.map(|line| line.trim_start_matches("//!").strip_prefix(' ').unwrap_or("")).collect::<Vec<_>>().join("\n")
    }
}

/// Whether `text` is one of `names`, whatever the case, with or without `-`, `_` and spaces.
pub(crate) fn alike(text: &str, names: &[&str]) -> bool {
    let letters =
        |text: &str| -> String { text.chars().filter(|c| !"-_ ".contains(*c)).flat_map(char::to_lowercase).collect() };
    let text = letters(text);
    names.iter().any(|name| letters(name) == text)
}

/// Length of the comment that opens the source of a module; for the page, which does not show the example, without it.
pub(crate) const fn opening(source: &str) -> usize {
    let bytes = source.as_bytes();
    let mut at = 0;
    while at + 2 < bytes.len() && bytes[at] == b'/' && bytes[at + 1] == b'/' && bytes[at + 2] == b'!' {
        if cfg!(target_family = "wasm") && begins(bytes, at, b"//! ## Example") {
            return at;
        }
        while at < bytes.len() && bytes[at] != b'\n' {
            at += 1;
        }
        at += 1;
    }
    if at < bytes.len() {
        at
    } else {
        bytes.len()
    }
}

const fn begins(bytes: &[u8], at: usize, with: &[u8]) -> bool {
    let mut same = 0;
    while same < with.len() && at + same < bytes.len() && bytes[at + same] == with[same] {
        same += 1;
    }
    same == with.len()
}

/// The first bytes of `source`.
pub(crate) const fn copied<const N: usize>(source: &str) -> [u8; N] {
    let mut text = [0; N];
    let mut at = 0;
    while at < N {
        text[at] = source.as_bytes()[at];
        at += 1;
    }
    text
}

/// `bytes`, whole lines of a source, as text.
pub(crate) const fn text(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("a source is UTF-8"),
    }
}

/// Every discipline, in the order of the list in `lib.rs`.
pub fn all() -> &'static [&'static AqmSpec] {
    crate::DISCIPLINES
}

/// The discipline called `name`.
pub fn find(name: &str) -> Option<&'static AqmSpec> {
    all().iter().copied().find(|spec| spec.name == name)
}

/// The discipline that people call `text`: its name or title whatever the case, with or without `-`, `_` and spaces
/// (`FQ-CoDel`, `fqcodel`, `RED`).
pub fn meant(text: &str) -> Option<&'static AqmSpec> {
    find(text).or_else(|| all().iter().copied().find(|spec| spec.is_meant(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_opening_comment_ends_where_code_starts() {
        for (source, length) in [("//! a\n//!\n\nuse b;\n//! c\n", 10), ("//! a\n//! b", 11), ("use a;", 0), ("", 0)] {
            assert_eq!(opening(source), length, "{source:?}");
        }
        for spec in all() {
            assert!(
                spec.file.lines().all(|line| line.starts_with("//!")) && spec.file.ends_with('\n'),
                "{}",
                spec.name
            );
            assert!(spec.documentation().contains("## Example"), "{}", spec.name);
        }
    }

    #[test]
    fn names_are_found_as_people_write_them() {
        for (text, name) in [
            ("fq-codel", "fq_codel"),
            ("FQ_CoDel", "fq_codel"),
            ("fqcodel", "fq_codel"),
            ("RED", "red"),
            ("DropTail", "droptail"),
            ("drop tail", "droptail"),
            ("Self-configuring RED", "feng_red"),
            ("Linux adaptive RED", "linux_ared"),
        ] {
            assert_eq!(meant(text).map(|spec| spec.name), Some(name), "{text}");
        }
        assert!(meant("codell").is_none() && meant("").is_none());
        for spec in all() {
            // No other discipline is meant by its name or title.
            for text in [spec.name, spec.title] {
                let meant: Vec<_> = all().iter().filter(|other| other.is_meant(text)).map(|other| other.name).collect();
                assert_eq!(meant, [spec.name], "{text}");
            }
        }
    }
}
