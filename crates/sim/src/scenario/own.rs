//! `[aqms]`: disciplines that the catalogue does not have. Whoever reads the scenario has loaded them; the scenario has
//! their names, and if completed the digests of their code.

use earlydrop_aqm::catalogue::{self, AqmSpec};

use super::document::Doc;
use super::error::ScenarioError;
use super::fields::{join, Checked, Field};
use super::nearest::some_of;

/// A discipline that was loaded from outside.
#[derive(Clone)]
pub struct OwnAqm {
    /// Its declaration.
    pub spec: &'static AqmSpec,
    /// Identifies the code: other code has another digest.
    pub digest: String,
}

/// All disciplines that a scenario can name: the catalogue's, then those from outside.
#[derive(Clone, Copy)]
pub(super) struct Aqms<'a> {
    /// Those from outside that were loaded: the ones that queues name.
    pub loaded: &'a [OwnAqm],
    /// `[aqms]` of the scenario.
    pub listed: Option<&'a Doc>,
}

impl<'a> Aqms<'a> {
    /// The discipline called `name`, as people may write it, and its digest if it is from outside.
    pub fn find(self, name: &str) -> Option<(&'static AqmSpec, Option<&'a str>)> {
        let own = |is: &dyn Fn(&AqmSpec) -> bool| {
            self.loaded.iter().find(|own| is(own.spec)).map(|own| (own.spec, Some(own.digest.as_str())))
        };
        let exact = catalogue::find(name).map(|spec| (spec, None)).or_else(|| own(&|spec| spec.name == name));
        exact.or_else(|| catalogue::meant(name).map(|spec| (spec, None))).or_else(|| own(&|spec| spec.is_meant(name)))
    }

    /// What `name`, which none of them is called, can have been meant to be.
    pub fn names(self, name: &'a str) -> impl Iterator<Item = &'a str> + Clone {
        let listed = match self.listed {
            Some(Doc::Table(entries)) => entries.as_slice(),
            _ => &[],
        };
        let loaded = move |name: &str| self.loaded.iter().any(|own| own.spec.name == name);
        let others = listed.iter().map(|(key, _)| key.as_str()).filter(move |key| *key != name && !loaded(key));
        self.all().map(|spec| spec.name).chain(others)
    }

    /// All of these disciplines.
    pub fn all(self) -> impl Iterator<Item = &'static AqmSpec> + Clone + 'a {
        catalogue::all().iter().copied().chain(self.loaded.iter().map(|own| own.spec))
    }
}

/// Checks `[aqms]`: a discipline named in `queues` was loaded, and has the digest given, if any. Others may be needed
/// by other points of a sweep.
pub(super) fn check(field: &Field<'_>, queues: Option<&Doc>, aqms: Aqms<'_>) -> Checked<()> {
    const WANTED: &str = "a source such as \"mine.py:MyRed\" or \"libmine.so\", or a table with digest";
    let Doc::Table(entries) = field.doc else { return Err(field.wrong_type("a table [aqms]")) };
    for (name, doc) in entries {
        let path = join(&field.path, name);
        let wanted = match doc {
            Doc::String(_) => None,
            Doc::Table(keys)
                if keys.iter().all(|(key, value)| {
                    ["digest", "source"].contains(&key.as_str()) && matches!(value, Doc::String(_))
                }) =>
            {
                doc.get("digest")
            }
            _ => return Err(Field { doc, path }.wrong_type(WANTED)),
        };
        let named = |queue: &Doc| queue.get("aqm") == Some(&Doc::String(name.clone()));
        if !matches!(queues, Some(Doc::Table(queues)) if queues.iter().any(|(_, queue)| named(queue))) {
            continue;
        }
        let Some(own) = aqms.loaded.iter().find(|own| own.spec.name == name) else {
            let known = aqms.loaded.iter().map(|own| own.spec.name);
            let error = ScenarioError::new(path, "is no discipline that was loaded");
            return Err(if aqms.loaded.is_empty() { error } else { error.allowed(some_of(known)) });
        };
        if let Some(Doc::String(digest)) = wanted.filter(|digest| **digest != Doc::String(own.digest.clone())) {
            return Err(ScenarioError::new(path, "is another version of this discipline than the one loaded")
                .given(digest.clone())
                .allowed(own.digest.clone()));
        }
    }
    Ok(())
}
