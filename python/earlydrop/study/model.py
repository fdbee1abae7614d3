"""A study as data: experiments, measures, claims, tables and figures. Nothing here runs or judges.

Every object is frozen; a change gives a new study. `parser` makes one from `study.toml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .experiment import Axis, Experiment, Measure, Selection, Settings
from .extraction import Extraction

# ---- experiments ---------------------------------------------------------------------------------------------------


def _beside(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """The axes without levels that belong to levels which are not there."""
    left = {a.id: set(a.ids) for a in axes}
    return tuple(
        a.among(x.id for x in a.levels if all(left[name] & set(ids) for name, ids in x.only.items())) for a in axes
    )


# ---- what is measured ----------------------------------------------------------------------------------------------


# ---- what is claimed -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """One thing a claim says about one measure."""

    experiment: str
    measure: str
    expect: str
    of: Selection
    to: Selection | None = None
    bound: float | None = None
    value: float | None = None
    within: tuple[float, float] | None = None
    times: float = 1.0
    ratio: bool = False
    every_seed: bool = False
    some_seed: bool = False
    along: str = ""
    reduce: str = "mean"
    each: tuple[str, ...] = ()
    published: Settings = field(default_factory=dict)
    """What the paper says of this, given by hand."""
    title: str = ""

    @property
    def chosen(self) -> frozenset[str]:
        """Axes on which the part names levels."""
        return frozenset(self.of) | frozenset(self.to or ())


@dataclass(frozen=True)
class Peer:
    """What another simulator says of a claim's set-up."""

    tool: str
    text: str
    agrees: str


@dataclass(frozen=True)
class Counted:
    """Something that is counted exactly and not sampled: it grows by no more, or by no less, than a factor."""

    title: str
    values: tuple[float, ...]
    factor: float
    at_least: bool = False
    unit: str = ""

    @property
    def ratio(self) -> float:
        """The largest value over the smallest."""
        return max(self.values) / min(self.values)

    @property
    def holds(self) -> bool:
        """Whether the largest is at most, or at least, that many times the smallest."""
        return self.ratio >= self.factor if self.at_least else self.ratio <= self.factor


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that can fail."""

    id: str
    text: str
    where: str = ""
    """The place in the paper: section, paragraph, table."""
    ours: bool = False
    """A question of ours: the paper does not say it."""
    note: str = ""
    expected: str = ""
    parts: tuple[Part, ...] = ()
    untestable: str = ""
    counted: tuple[Counted, ...] = ()
    """Values of a table of counts, for a claim that is not evaluated on runs."""
    peers: tuple[Peer, ...] = ()


@dataclass(frozen=True)
class Statement:
    """A sentence of the paper that asserts something, and the claims that test it or the tests that hold us to it."""

    where: str
    text: str
    """The sentence in our words."""
    claims: tuple[str, ...] = ()
    """Ids of the claims that put the sentence to the test."""
    tests: tuple[str, ...] = ()
    """Of a definition, which no run can deny, the tests that hold the code to it, each as `FILE::NAME`."""
    untestable: str = ""
    """Why neither claims nor tests do."""


@dataclass(frozen=True)
class BaseChange:
    """A reading whose base was changed after results were seen."""

    experiments: tuple[str, ...]
    axis: str
    before: str
    why: str


@dataclass(frozen=True)
class Assumption:
    """Something the paper states, or leaves open and we had to choose."""

    id: str
    title: str
    by: str
    value: str = ""
    text: str = ""
    paths: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    experiments: tuple[str, ...] = ()
    """The experiments that it concerns; empty for all."""

    @property
    def open(self) -> bool:
        """Whether another value of the assumption can be tried."""
        return bool(self.paths or self.alternatives)


@dataclass(frozen=True)
class Alternative:
    """Another value of an assumption and what it changes."""

    value: str
    set: Settings
    text: str = ""


# ---- tables and figures of the paper -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Printed:
    """One number that the paper prints."""

    at: Mapping[str, str]
    measure: str
    value: float


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What tables and figures of a paper have in common."""

    id: str
    title: str
    experiment: str = ""
    measures: tuple[str, ...] = ()
    at: Selection = field(default_factory=dict)
    of: Selection = field(default_factory=dict)
    to: Selection = field(default_factory=dict)
    note: str = ""
    lost: str = ""
    """Why none of the paper's own numbers is left."""
    unreproduced: str = ""
    """Why the table or figure cannot be made."""
    printed: tuple[Printed, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Table(Shown):
    """A table of the paper, to be shown beside ours. With `of` and `to` it has a last column, of minus to."""

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    facts: tuple[tuple[str, ...], ...] = ()
    """Rows of a table that needs no runs: its head, then rows that begin with the id of a level."""
    fit: str = ""
    """A reading: the table is shown for each of its levels, and the best fit is named."""


@dataclass(frozen=True)
class Plane:
    """One panel of a delay-goodput plane: a class of traffic, and its two measures."""

    title: str
    x: str
    y: str


@dataclass(frozen=True)
class Line:
    """One line of a figure of time series."""

    extraction: Extraction
    title: str
    scale: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Figure(Shown):
    """A figure of the paper, to be drawn again. Which fields count depends on `kind`."""

    kind: str = ""
    x: str = ""
    lines: str = ""
    panels: str = ""
    seed: int | None = None
    extraction: Extraction | None = None
    label: str = ""
    """The axis label for the values of `field`."""
    scale: float = 1.0
    series: tuple[Line, ...] = ()
    planes: tuple[Plane, ...] = ()
    epsilon: float = 0.0
    """An ellipse of a plane holds 1 - epsilon of the Gaussian that fits its points."""
    only: str = ""
    """Where the figure is shown: "pages" of single levels, the "report" on all of them; both where it is empty."""
    log: str = ""
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The paper's axes; ours are longer where our values lie outside."""
    set: Settings = field(default_factory=dict)
    """Overlays on the scenario in runs made for this figure alone."""
    curves: tuple[Mapping[str, Any], ...] = ()
    options: Settings = field(default_factory=dict)


# ---- the whole -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """An axis whose levels are chosen from run to run, and may have a page each."""

    axis: str
    default: tuple[str, ...]
    always: tuple[str, ...] = ()
    """Levels that are run whatever is chosen: what the others are compared with."""
    pages: bool = False


@dataclass(frozen=True)
class Study:
    """A study as read from its folder."""

    name: str
    title: str
    question: str
    folder: Path
    source: Mapping[str, str]
    experiments: tuple[Experiment, ...]
    measures: tuple[Measure, ...]
    claims: tuple[Claim, ...]
    assumptions: tuple[Assumption, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    sections: tuple[Mapping[str, Any], ...] = ()
    statements: tuple[Statement, ...] = ()
    """Every sentence of the paper that asserts an effect."""
    base_changes: tuple[BaseChange, ...] = ()
    summary: str = ""
    """What the paper proposes."""
    headline: tuple[str, ...] = ()
    """Ids of the claims that answer the question."""
    quick_options: Settings = field(default_factory=dict)
    quick: bool = False
    fixed_seeds: bool = False
    """Whether the user chose the number of seeds."""
    assuming: Mapping[str, str] = field(default_factory=dict)
    """Assumptions that were exchanged, and the values taken."""
    choice: Choice | None = None
    chosen: tuple[str, ...] = ()
    """Levels of the choice that are run, if they are not the default."""

    def experiment(self, name: str) -> Experiment:
        """The experiment called `name`."""
        return next(e for e in self.experiments if e.id == name)

    def measure(self, name: str) -> Measure:
        """The measure called `name`."""
        return next(m for m in self.measures if m.id == name)

    def claim(self, name: str) -> Claim:
        """The claim called `name`."""
        return next(c for c in self.claims if c.id == name)

    def measured(self, experiment: Experiment) -> tuple[Measure, ...]:
        """The measures of an experiment."""
        return tuple(self.measure(name) for name in experiment.measures)

    @property
    def shown(self) -> tuple[Shown, ...]:
        """All tables and figures."""
        return (*self.tables, *self.figures)

    @property
    def paper(self) -> bool:
        """Whether the study is a paper's; else it is one of our own."""
        return bool(self.source.get("paper"))

    @property
    def runs(self) -> int:
        """Number of simulations requested; equal ones are run only once."""
        return sum(len(e.cells) * e.seeds for e in self.experiments)

    def with_experiments(self, experiments: tuple[Experiment, ...]) -> Study:
        """The same study with other experiments."""
        return replace(self, experiments=experiments)

    def among(self, axis: str, names: Iterable[str]) -> Study:
        """The same study with some levels of an axis, and of other axes what is left beside them."""
        kept = tuple(names)

        def narrowed(e: Experiment) -> Experiment:
            if axis not in e.names:
                return e
            return replace(e, axes=_beside(tuple(a.among(kept) if a.id == axis else a for a in e.axes)))

        return self.with_experiments(tuple(narrowed(e) for e in self.experiments))

    def choosing(self, names: Iterable[str] | None = None) -> Study:
        """The same study with the chosen levels of its choice; without names those that it runs by default."""
        if self.choice is None:
            return self
        chosen = tuple(names or ())
        kept = {*(chosen or self.choice.default), *self.choice.always}
        return replace(self.among(self.choice.axis, kept), chosen=chosen)

    def with_seeds(self, seeds: int) -> Study:
        """The same study with another number of seeds."""
        changed = tuple(replace(e, seeds=seeds) for e in self.experiments)
        return replace(self, experiments=changed, fixed_seeds=True)

    def with_level(self, axis: str, level: str, settings: Settings) -> Study:
        """The same study in which a level secretly changes something else.

        For tests: a comparison is worth something only if it can fail.
        """

        def changed(one: Axis) -> Axis:
            if one.id != axis:
                return one
            return replace(one, levels=tuple(replace(x, set=settings) if x.id == level else x for x in one.levels))

        return self.with_experiments(
            tuple(replace(e, axes=tuple(changed(a) for a in e.axes)) for e in self.experiments)
        )

    def as_quick(self) -> Study:
        """The short version: fewer levels and seeds, shorter runs, as the study itself says."""
        common = self.quick_options
        experiments = []
        for e in self.experiments:
            kept = {**common.get("levels", {}), **e.quick.get("levels", {})}
            if self.choice is not None and self.chosen:
                kept.pop(self.choice.axis, None)
            axes = _beside(tuple(a.among(kept[a.id]) if a.id in kept else a for a in e.axes))
            seeds = e.quick.get("seeds", common.get("seeds", min(e.seeds, 3)))
            shortened = tuple(q["set"] for q in (common, e.quick) if "set" in q)
            rescaled = any(q.get("rescaled", False) for q in (common, e.quick))
            experiments.append(replace(e, axes=axes, seeds=min(seeds, e.seeds), shortened=shortened, rescaled=rescaled))
        quick = replace(self, experiments=tuple(experiments), quick=True)
        gone = {e.id for e in experiments if e.rescaled}
        return replace(
            quick,
            tables=tuple(replace(t, printed=()) if t.experiment in gone else t for t in quick.tables),
            figures=tuple(replace(f, printed=()) if f.experiment in gone else f for f in quick.figures),
        )

    def with_assumption(self, name: str, value: str, settings: Settings) -> Study:
        """The same study under another assumption; `settings` is what it changes in the scenarios."""
        assumption = next(a for a in self.assumptions if a.id == name)
        among = assumption.experiments or tuple(e.id for e in self.experiments)
        experiments = tuple(
            replace(e, assumed=(*e.assumed, settings)) if e.id in among else e for e in self.experiments
        )
        return replace(self, experiments=experiments, assuming={**self.assuming, name: value})
