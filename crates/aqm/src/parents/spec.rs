//! The declaration of a parent, and what parents share.

use crate::discipline::OnDrop;
use crate::gate::Counters;
use crate::params::{Link, Param, ParamError, Value, Values};
use crate::Discipline;

/// A queue of a child has its number plus the child's times 2 to the power of this, see [`Discipline::waiting`].
pub(super) const CHILD: u32 = 20;

/// Builds a parent with checked values at a link, in front of its children.
pub type Build = fn(&Values, &Link, Vec<Box<dyn Discipline>>) -> Box<dyn Discipline>;

/// The declaration of a parent.
pub struct ParentSpec {
    /// Name in scenarios (`tbf`).
    pub name: &'static str,
    /// Title for people.
    pub title: &'static str,
    /// Year of publication.
    pub year: u16,
    /// What the parent does, in one line.
    pub summary: &'static str,
    /// Authors, title and place of the publication.
    pub source: &'static str,
    /// The parameters.
    pub params: &'static [Param],
    /// Whether the parent counts the link layer's header ([`crate::link_layer`]), as Linux's queues do.
    pub linux: bool,
    /// Checks values against one another and the link.
    pub check: fn(&Values, &Link) -> Result<(), ParamError>,
    /// The rate that the child gets at a link, bit/s.
    pub rate: fn(&Values, &Link) -> f64,
    /// The largest packet that is not dropped, bytes.
    pub largest: fn(&Values) -> u32,
    /// How many children the parent has, all of one discipline.
    pub children: fn(&Values) -> usize,
    /// Builds the parent with its children.
    pub build: Build,
}

impl ParentSpec {
    /// The link that the child seems to serve.
    pub fn link(&self, values: &Values, link: &Link) -> Link {
        Link { rate_bps: link.rate_bps.min((self.rate)(values, link)), ..*link }
    }
}

/// Calls `call` with a child, whose drops and marks count in the parent's `counters` too.
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

/// Refuses parameters of missing classes: `names` are those of each class; `what` is the parameter that counts classes.
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
