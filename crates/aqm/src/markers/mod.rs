//! Traffic conditioners: meters that give each packet a class before it reaches a discipline, so that RIO and WRED get
//! what they assume (RFC 2475, section 2.3).
//!
//! A marker is declared once, in [`all`], as disciplines are. [`Conditioned`] puts it in front of any discipline.

mod buckets;
mod conditioned;
mod spec;
mod windows;

use crate::catalogue::{opening, text};
pub use conditioned::Conditioned;
pub use spec::{Build, Colour, MarkerSpec, Meter, SHARED};

/// Every marker, in the order people see them.
pub fn all() -> &'static [MarkerSpec] {
    const ALL: &[MarkerSpec] =
        &[buckets::TOKEN_BUCKET, buckets::SRTCM, buckets::TRTCM, windows::TSW2CM, windows::TSW3CM];
    ALL
}

/// The marker called `name`.
pub fn find(name: &str) -> Option<&'static MarkerSpec> {
    all().iter().find(|spec| spec.name == name)
}

/// The files' own words on their rules and differences from the sources, in Markdown.
pub fn documentation() -> String {
    let lines = |file: &'static str| -> String {
        let comment = text(&file.as_bytes()[..opening(file)]);
        comment
            .lines()
            .map(|line| line.trim_start_matches("//!").strip_prefix(' ').unwrap_or("").to_string() + "\n")
            .collect()
    };
    lines(include_str!("buckets.rs")) + "\n" + &lines(include_str!("windows.rs"))
}
