//! Parents: shapers with a discipline of their own inside, their child, as Linux's classful queues have them.
//!
//! A parent is declared once, in [`all`], as disciplines are. It decides when a packet leaves, its child which one.

mod tbf;

use crate::catalogue::{opening, text};
use crate::params::{Link, Param, ParamError, Values};
use crate::Discipline;

/// Puts a child behind a parent with checked values at a link.
pub type Build = fn(&Values, &Link, Box<dyn Discipline>) -> Box<dyn Discipline>;

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
    /// Checks values against one another and the link.
    pub check: fn(&Values, &Link) -> Result<(), ParamError>,
    /// The rate that the child gets at a link, bit/s.
    pub rate: fn(&Values, &Link) -> f64,
    /// The largest packet that is not dropped, bytes.
    pub largest: fn(&Values) -> u32,
    /// Builds it.
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
    &[tbf::SPEC]
}

/// The parent called `name`.
pub fn find(name: &str) -> Option<&'static ParentSpec> {
    all().iter().find(|spec| spec.name == name)
}

/// What the files say about the rules and where they differ from their sources, in Markdown.
pub fn documentation() -> String {
    const TBF: &str = include_str!("tbf.rs");
    let comment = text(&TBF.as_bytes()[..opening(TBF)]);
    comment
        .lines()
        .map(|line| line.trim_start_matches("//!").strip_prefix(' ').unwrap_or("").to_string() + "\n")
        .collect()
}
