//! The declaration of a parent, and what parents share.

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

/// What `call` does with a child, whose drops and marks count in the parent's `counters`, too.
pub(super) fn counted<T>(
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
pub(super) fn beyond<const N: usize>(
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
