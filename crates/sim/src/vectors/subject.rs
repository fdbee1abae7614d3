//! What vectors are of: a discipline; a parent with a DropTail in each class; a marker in front of a DropTail.

use super::script::Kind as Arrivals;
use earlydrop_aqm::catalogue::{self, AqmSpec, Built};
use earlydrop_aqm::discipline::Fifo;
use earlydrop_aqm::gate::Gate;
use earlydrop_aqm::markers::{self, Conditioned, MarkerSpec};
use earlydrop_aqm::params::{Link, Param, Values};
use earlydrop_aqm::parents::{self, ParentSpec};
use earlydrop_aqm::policy::Limit;
use earlydrop_aqm::random::Generator;
use earlydrop_aqm::Discipline;

/// The link: 1000 B take 8 ms.
pub const LINK: Link = Link { rate_bps: 1e6, delay_s: 0.01 };

/// One setting of a discipline.
#[derive(Clone)]
pub struct Case {
    /// The case's name.
    pub name: String,
    /// Parameters that are given.
    pub values: Values,
    /// The buffer.
    pub limit: Limit,
    /// Whether signals mark.
    pub ecn: bool,
    /// The script of arrivals.
    pub script: Arrivals,
    /// How many packets.
    pub arrivals: usize,
}

/// A declaration whose decisions are recorded.
#[derive(Clone, Copy)]
pub enum Subject {
    Aqm(&'static AqmSpec),
    Parent(&'static ParentSpec),
    Marker(&'static MarkerSpec),
}

use Subject::{Aqm, Marker, Parent};

/// The discipline of parents and behind markers.
const INNER: &str = "droptail";

impl Subject {
    /// Everything that has vectors in the repository.
    pub fn all() -> Vec<Subject> {
        let parents = parents::all().iter().map(Parent);
        catalogue::all().iter().map(|spec| Aqm(spec)).chain(parents).chain(markers::all().iter().map(Marker)).collect()
    }

    pub fn name(&self) -> &'static str {
        match self {
            Aqm(spec) => spec.name,
            Parent(spec) => spec.name,
            Marker(spec) => spec.name,
        }
    }

    /// What the head of a case says of the subject.
    pub fn head(&self) -> Vec<(&'static str, &'static str)> {
        match self {
            Aqm(spec) => vec![("aqm", spec.name)],
            Parent(spec) => vec![("aqm", INNER), ("parent", spec.name)],
            Marker(spec) => vec![("aqm", INNER), ("marker", spec.name)],
        }
    }

    /// All parameters.
    pub fn params(&self) -> Box<dyn Iterator<Item = &'static Param>> {
        match self {
            Aqm(spec) => Box::new(spec.all_params()),
            Parent(spec) => Box::new(spec.params.iter()),
            Marker(spec) => Box::new(spec.all_params()),
        }
    }

    /// The parameter called `name`.
    pub fn param(&self, name: &str) -> Option<&'static Param> {
        self.params().find(|param| param.name == name)
    }

    /// Whether `values` fit together.
    pub fn takes(&self, values: &Values) -> bool {
        match self {
            Aqm(spec) => (spec.check)(values, &LINK).is_ok(),
            Parent(spec) => (spec.check)(values, &LINK).is_ok(),
            Marker(spec) => (spec.check)(values).is_ok(),
        }
    }

    /// Whether `param` is one of those that RED's family shares, which RED's own cases vary: by RED's doc sentence.
    pub fn shares(&self, param: &Param) -> bool {
        let of_red = catalogue::find("red").and_then(|red| red.param(param.name));
        matches!(self, Aqm(spec) if spec.name != "red") && of_red.is_some_and(|other| other.doc == param.doc)
    }

    /// The queue of a case, which draws from `random`.
    pub fn build(&self, case: &Case, random: Generator) -> Option<Box<dyn Discipline>> {
        match self {
            Aqm(spec) => discipline(spec, &case.values, &LINK, case, random),
            Parent(spec) => {
                let link = spec.link(&case.values, &LINK);
                let children = (0..(spec.children)(&case.values)).map(|_| inner(&link, case)).collect::<Option<_>>()?;
                Some((spec.build)(&case.values, &LINK, children))
            }
            Marker(spec) => Some(Box::new(Conditioned::new(inner(&LINK, case)?, spec, &case.values, random))),
        }
    }
}

fn inner(link: &Link, case: &Case) -> Option<Box<dyn Discipline>> {
    discipline(catalogue::find(INNER)?, &Values::new(), link, case, Generator::stream(1, "vectors.inner"))
}

fn discipline(
    spec: &AqmSpec,
    values: &Values,
    link: &Link,
    case: &Case,
    random: Generator,
) -> Option<Box<dyn Discipline>> {
    Some(match (spec.build)(values, link, case.limit).ok()? {
        Built::Policy(policy) => Box::new(Fifo::new(Gate::new(policy, case.limit, case.ecn, random))),
        Built::Discipline(finish) => finish(case.ecn, random),
    })
}
