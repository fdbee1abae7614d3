//! Parents: shapers with a discipline of their own inside, their child, as Linux's classful queues have them.
//!
//! A parent is declared once, in [`all`], as disciplines are. It decides when a packet leaves and, with several
//! children, from which child; the child decides which packet.

mod htb;
mod ratecfg;
mod spec;
mod tbf;
mod wifi;

use crate::catalogue::{opening, text};
pub use spec::{Build, ParentSpec};

/// Every parent, in the order people see them.
pub fn all() -> &'static [ParentSpec] {
    &[tbf::SPEC, htb::SPEC, wifi::SPEC]
}

/// The parent called `name`.
pub fn find(name: &str) -> Option<&'static ParentSpec> {
    all().iter().find(|spec| spec.name == name)
}

/// The files' own words on their rules and differences from the sources, in Markdown.
pub fn documentation() -> String {
    const FILES: [&str; 3] = [include_str!("tbf.rs"), include_str!("htb.rs"), include_str!("wifi.rs")];
    let comment = |file: &'static str| {
        let lines = text(&file.as_bytes()[..opening(file)]).lines();
        lines.map(|line| line.trim_start_matches("//!").strip_prefix(' ').unwrap_or("").to_string() + "\n")
    };
    FILES.map(|file| comment(file).collect::<String>()).join("\n")
}
