//! Parents: shapers with a discipline of their own inside, their child, as Linux's classful queues have them.
//!
//! A parent is declared once, in [`all`], as disciplines are. It decides when a packet leaves and, with several
//! children, from which; the child decides which packet.

mod htb;
mod ratecfg;
mod tbf;
mod wifi;

use crate::catalogue::{opening, text};
use crate::discipline::OnDrop;
use crate::gate::Counters;
use crate::params::{Link, Param, ParamError, Value, Values};
use crate::Discipline;

/// Puts children behind a parent with checked values at a link.
pub type Build = fn(&Values, &Link, Vec<Box<dyn Discipline>>) -> Box<dyn Discipline>;

/// The declaration of a parent.
pub struct ParentSpec {
    /// Name in scenarios (`tbf`).
    pub name: &'static str,
    /// Title for people.
    pub title: &'static str,
    /// Year of publication.
    pub year: u16,
    /// One line.
    pub summary: &'static str,
    /// Authors, title, place.
    pub source: &'static str,
    /// Parameters.
    pub params: &'static [Param],
    /// Whether it counts the link layer's header ([`crate::link_layer`]), as Linux's queues do.
    pub linux: bool,
    /// Checks values against one another and the link.
    pub check: fn(&Values, &Link) -> Result<(), ParamError>,
    /// The rate that the child gets at a link, bit/s.
    pub rate: fn(&Values, &Link) -> f64,
    /// The largest packet that is not dropped, bytes.
    pub largest: fn(&Values) -> u32,
    /// How many children it has, all of one discipline.
    pub children: fn(&Values) -> usize,
    /// Builds it, with that many children.
    pub build: Build,
}

impl ParentSpec {
    /// The link as the child sees it.
    pub fn link(&self, values: &Values, link: &Link) -> Link {
        Link { rate_bps: link.rate_bps.min((self.rate)(values, link)), ..*link }
    }
}

/// Every parent, in the order people see them.
pub fn all() -> &'static [ParentSpec] {
    &[tbf::SPEC, htb::SPEC, wifi::SPEC]
}

/// The parent called `name`.
pub fn find(name: &str) -> Option<&'static ParentSpec> {
    all().iter().find(|spec| spec.name == name)
}

/// What `call` does with a child, whose drops and marks count in the parent's `counters`, too.
fn counted<T>(
    counters: &mut Counters,
    child: &mut dyn Discipline,
    on_drop: &mut OnDrop<'_>,
    call: impl FnOnce(&mut dyn Discipline, &mut OnDrop<'_>) -> T,
) -> T {
    let marks = child.counters().marks;
    let result = call(child, &mut |packet, reason| {
        counters.drop(reason);
        on_drop(packet, reason);
    });
    counters.marks += child.counters().marks - marks;
    result
}

/// Refuses parameters of missing classes: `names` are those of each class, and `what` counts classes.
fn beyond<const N: usize>(
    values: &Values,
    names: &[[&'static str; N]],
    count: usize,
    what: &str,
) -> Result<(), ParamError> {
    let changed = |name| values.given(name).is_some_and(|value| !matches!(value, Value::Auto | Value::Whole(0)));
    for (class, names) in names.iter().enumerate().skip(count) {
        if let Some(name) = names.iter().find(|name| changed(name)) {
            return Err(ParamError::new(name, class as f64, format!("{what} below {count}")));
        }
    }
    Ok(())
}

/// What the files say about the rules and where they differ from their sources, in Markdown.
pub fn documentation() -> String {
    const FILES: [&str; 3] = [include_str!("tbf.rs"), include_str!("htb.rs"), include_str!("wifi.rs")];
    let comment = |file: &'static str| {
        let lines = text(&file.as_bytes()[..opening(file)]).lines();
        lines.map(|line| line.trim_start_matches("//!").strip_prefix(' ').unwrap_or("").to_string() + "\n")
    };
    FILES.map(|file| comment(file).collect::<String>()).join("\n")
}
