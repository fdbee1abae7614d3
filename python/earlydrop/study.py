"""Studies: a paper's experiment as data, run and judged. This engine knows no paper.

A study folder holds `study.toml`, which says what is run, what is measured and what the paper claims, and perhaps
a table of published values. The runs are the product of readings (how the paper's text is understood), panels
(loads), a sweep (the axis of the figures), disciplines and seeds.

The unit of replication is the seed. For a claim that compares two disciplines, the difference is first averaged
over the sweep within each seed; the interval is then taken over the seeds. Points of the sweep are not counted as
replications, because runs of one seed share their random start times.
"""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from . import runner, statistics
from .documents import Document, lookup, overlay
from .runner import Job, Progress, no_progress
from .statistics import Difference, Estimate

SUPPORTED, CONTRADICTED, UNDECIDED = "supported", "contradicted", "undecided"

Settings = Mapping[str, Any]


class StudyError(Exception):
    """A study cannot be read, or asks for what does not exist. The message names the file or the study."""


# ---- the study as data ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Level:
    """One value of an axis: how it is called and what it changes in the scenario."""

    id: str
    title: str
    set: Settings = field(default_factory=dict)
    short: str = ""
    summary: str = ""
    primary: bool = False
    published: bool = False


@dataclass(frozen=True)
class Sweep:
    """The axis of the figures."""

    name: str
    title: str
    unit: str
    path: str
    format: str
    values: tuple[float, ...]

    def settings(self, value: float) -> Document:
        """What one point changes in the scenario."""
        return {self.path: self.format.format(value)}


@dataclass(frozen=True)
class Measure:
    """One figure taken from each result document."""

    id: str
    title: str
    unit: str
    field: str
    digits: int = 3
    scale: float = 1.0
    main: bool = False

    @property
    def label(self) -> str:
        """Title with unit, for axes and table heads."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


@dataclass(frozen=True)
class Part:
    """One thing a claim says about one measure."""

    measure: str
    expect: str
    bound: float = 0.0


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that can fail."""

    id: str
    text: str
    parts: tuple[Part, ...]
    where: str = ""
    panel: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Curve:
    """A drop curve to draw."""

    title: str
    aqm: str
    parameters: Settings
    aside: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure of the paper to draw again."""

    id: str
    title: str
    panel: str
    measure: str


Key = tuple[str, float, str, str]
"""Panel, sweep value, discipline, measure."""


@dataclass(frozen=True)
class Study:
    """A study as read from its folder. Changing it gives a new one."""

    name: str
    title: str
    question: str
    folder: Path
    source: Mapping[str, str]
    scenario: Document
    seeds: int
    first_seed: int
    control: str
    treatment: str
    readings: tuple[Level, ...]
    panel_title: str
    panels: tuple[Level, ...]
    sweep: Sweep
    disciplines: tuple[Level, ...]
    measures: tuple[Measure, ...]
    claims: tuple[Claim, ...]
    published: Mapping[Key, float]
    curves: tuple[Curve, ...]
    curve_options: Settings
    figures: tuple[Figure, ...]
    sections: tuple[Mapping[str, Any], ...]
    quick_options: Settings
    quick: bool = False
    all_points: int = 0
    """Points of the sweep in the full study."""

    @property
    def primary(self) -> Level:
        """The reading on which the claims are judged first."""
        return next((r for r in self.readings if r.primary), self.readings[0])

    @property
    def main_measures(self) -> tuple[Measure, ...]:
        """The measures the paper reports."""
        return tuple(m for m in self.measures if m.main) or self.measures

    def measure(self, name: str) -> Measure:
        """The measure called `name`."""
        return next(m for m in self.measures if m.id == name)

    def discipline(self, name: str) -> Level:
        """The discipline called `name`."""
        return next(d for d in self.disciplines if d.id == name)

    def panel(self, name: str) -> Level:
        """The panel called `name`."""
        return next(p for p in self.panels if p.id == name)

    def with_seeds(self, seeds: int) -> Study:
        """The same study with another number of seeds."""
        return replace(self, seeds=seeds)

    def as_quick(self) -> Study:
        """The short version: fewer points and seeds, shorter runs, as the study itself says."""
        options = self.quick_options
        sweep = replace(self.sweep, values=tuple(options.get("sweep", self.sweep.values)))
        scenario = overlay(self.scenario, options.get("set", {}))
        seeds = int(options.get("seeds", self.seeds))
        return replace(self, sweep=sweep, scenario=scenario, seeds=seeds, quick=True)

    def with_discipline(self, name: str, settings: Settings) -> Study:
        """The same study in which discipline `name` secretly runs with other settings.

        For tests: a comparison is worth something only if it can fail.
        """
        changed = tuple(replace(d, set=settings) if d.id == name else d for d in self.disciplines)
        return replace(self, disciplines=changed)

    def document(self, reading: Level, panel: Level, discipline: Level, value: float) -> Document:
        """The scenario of one cell."""
        document = self.scenario
        for settings in (reading.set, panel.set, discipline.set, self.sweep.settings(value)):
            document = overlay(document, settings)
        document["name"] = f"{self.name}/{reading.id}/{panel.id}/{discipline.id}/{value:g}"
        return document

    @property
    def runs(self) -> int:
        """Number of simulations."""
        cells = len(self.readings) * len(self.panels) * len(self.disciplines) * len(self.sweep.values)
        return cells * self.seeds


# ---- finding and reading -------------------------------------------------------------------------------------------


def home() -> Path:
    """Where the studies lie: in the package, which in a checkout has a link to the folder `studies`."""
    return Path(__file__).resolve().parent / "studies"


def available() -> list[str]:
    """Names of the studies that can be reproduced."""
    return sorted(p.parent.name for p in home().glob("*/study.toml"))


def find(name: str) -> Study:
    """The study called `name`."""
    if name in available():
        return read(home() / name)
    names = ", ".join(available()) or "none found"
    raise StudyError(f'there is no study "{name}"; studies: {names}')


def read(folder: Path) -> Study:
    """Read a study folder."""
    path = folder / "study.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: {error}") from error
    try:
        return _study(folder, data)
    except (KeyError, TypeError, ValueError) as error:
        raise StudyError(f"{path}: {type(error).__name__}: {error}") from error


def _study(folder: Path, data: Document) -> Study:
    measures = tuple(Measure(**m) for m in data["measure"])
    sweep = data["sweep"]
    study = Study(
        name=data["name"],
        title=data["title"],
        question=data["question"],
        folder=folder,
        source=data.get("source", {}),
        scenario=data["scenario"],
        seeds=int(data["seeds"]),
        first_seed=int(data.get("first_seed", 1)),
        control=data["control"],
        treatment=data["treatment"],
        readings=tuple(Level(**r) for r in data["reading"]),
        panel_title=data["panels"]["title"],
        panels=tuple(Level(**p) for p in data["panel"]),
        sweep=Sweep(**{**sweep, "values": tuple(sweep["values"])}),
        disciplines=tuple(Level(**d) for d in data["discipline"]),
        measures=measures,
        claims=tuple(
            Claim(**{**c, "parts": tuple(Part(**part) for part in c["parts"])}) for c in data.get("claim", [])
        ),
        published=_published(folder, data.get("published"), [m.id for m in measures]),
        curves=tuple(Curve(**c) for c in data.get("curve", [])),
        curve_options=data.get("curves", {}),
        figures=tuple(Figure(**f) for f in data.get("figure", [])),
        sections=tuple(data.get("section", [])),
        quick_options=data.get("quick", {}),
        all_points=len(sweep["values"]),
    )
    _check(study)
    return study


def _check(study: Study) -> None:
    panels = {p.id for p in study.panels}
    known = {m.id for m in study.measures}
    disciplines = {d.id for d in study.disciplines}
    for claim in study.claims:
        if claim.panel is not None and claim.panel not in panels:
            raise ValueError(f"claim {claim.id} names an unknown panel {claim.panel!r}")
        for part in claim.parts:
            if part.measure not in known:
                raise ValueError(f"claim {claim.id} names an unknown measure {part.measure!r}")
            if part.expect not in {"greater", "less", "at_least", "at_most", "spread"}:
                raise ValueError(f"claim {claim.id} expects {part.expect!r}, which is no predicate")
            if part.expect != "spread" and claim.panel is None:
                raise ValueError(f"claim {claim.id} compares disciplines but names no panel")
    for name in (study.control, study.treatment):
        if name not in disciplines:
            raise ValueError(f"unknown discipline {name!r}")


def _published(folder: Path, where: Mapping[str, Any] | None, measures: Iterable[str]) -> dict[Key, float]:
    if where is None:
        return {}
    columns = where["columns"]
    values: dict[Key, float] = {}
    with (folder / where["file"]).open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            cell = (row[columns["panel"]], float(row[columns["sweep"]]), row[columns["discipline"]])
            for measure in measures:
                if row.get(measure):
                    values[(*cell, measure)] = float(row[measure])
    return values


# ---- running -------------------------------------------------------------------------------------------------------

Cell = tuple[str, str, float, str]
"""Reading, panel, sweep value, discipline."""


@dataclass
class Outcome:
    """What all runs of a study gave: for each cell and measure, one value a seed."""

    study: Study
    seeds: tuple[int, ...]
    values: dict[Cell, dict[str, list[float | None]]]
    cost: dict[str, float] = field(default_factory=dict)

    def series(self, reading: str, panel: str, value: float, discipline: str, measure: str) -> list[float]:
        """The values of one cell by seed; empty where the discipline has no such measure."""
        found = self.values[(reading, panel, value, discipline)][measure]
        return [] if any(x is None for x in found) else cast("list[float]", found)

    def estimate(self, reading: str, panel: str, value: float, discipline: str, measure: str) -> Estimate | None:
        """Mean over the seeds with its interval."""
        values = self.series(reading, panel, value, discipline, measure)
        return statistics.estimate(values) if values else None

    def by_seed(self, reading: str, panel: str, discipline: str, measure: str) -> list[float]:
        """For each seed the mean over the sweep."""
        columns = [self.series(reading, panel, v, discipline, measure) for v in self.study.sweep.values]
        if not all(columns):
            return []
        return [statistics.mean(column) for column in zip(*columns, strict=True)]

    def over_sweep(self, reading: str, panel: str, discipline: str, measure: str) -> Estimate | None:
        """Mean over sweep and seeds, its interval over the seeds."""
        values = self.by_seed(reading, panel, discipline, measure)
        return statistics.estimate(values) if values else None

    def difference(self, reading: str, panel: str, measure: str, treatment: str, control: str) -> Difference:
        """Treatment minus control, paired by seed after averaging over the sweep."""
        return statistics.paired(
            self.by_seed(reading, panel, treatment, measure), self.by_seed(reading, panel, control, measure)
        )


def run(study: Study, *, workers: int | None = None, progress: Progress = no_progress) -> Outcome:
    """Run every cell of a study with every seed.

    The same seeds are used in every cell, so that disciplines are compared under common random numbers.
    """
    from . import _core

    seeds = tuple(runner.seeds(study.first_seed, study.seeds))
    cells: list[Cell] = []
    jobs: list[Job] = []
    for reading in study.readings:
        for panel in study.panels:
            for value in study.sweep.values:
                for discipline in study.disciplines:
                    document = study.document(reading, panel, discipline, value)
                    scenario = _core.Scenario.parse(document, [])
                    cells.append((reading.id, panel.id, value, discipline.id))
                    jobs += [Job(scenario, seed) for seed in seeds]
    rows = runner.run_all(jobs, partial(_extract, study.measures), workers=workers, progress=progress, label=study.name)
    values: dict[Cell, dict[str, list[float | None]]] = {}
    for index, cell in enumerate(cells):
        group = rows[index * len(seeds) : (index + 1) * len(seeds)]
        values[cell] = {m.id: [row[0][k] for row in group] for k, m in enumerate(study.measures)}
    cost = {
        "runs": float(len(rows)),
        "run_wall_s": sum(row[1].get("wall_s") or 0.0 for row in rows),
        "events": float(sum(row[1].get("events") or 0 for row in rows)),
    }
    return Outcome(study, seeds, values, cost)


def _extract(measures: Sequence[Measure], text: str) -> tuple[list[float | None], dict[str, Any]]:
    document = json.loads(text)
    row: list[float | None] = []
    for measure in measures:
        value = lookup(document, measure.field)
        row.append(None if value is None else float(value) * measure.scale)
    return row, document.get("cost", {})


# ---- judging -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Published:
    """What the paper's own table says about a part of a claim."""

    rows: int
    agreeing: int
    effect: float | None
    """Mean difference, or the largest relative spread."""
    relative: float | None
    lowest: float | None = None
    highest: float | None = None
    """Relative effects of the single rows."""

    @property
    def contradicts(self) -> bool:
        """Whether most rows say the opposite."""
        return self.agreeing * 2 < self.rows


@dataclass(frozen=True)
class PartResult:
    """One part of a claim, judged in one reading."""

    part: Part
    verdict: str
    effect: float
    lower: float | None
    upper: float | None
    n: int
    relative: float | None
    detectable: float | None
    sign_test_p: float | None = None
    wins: int | None = None
    cell: str = ""
    published: Published | None = None
    control: float | None = None
    """Mean of the control, to which relative effects refer."""

    @property
    def reproduces_size(self) -> bool | None:
        """Whether our interval holds the published effect, both relative to the control; None where one is missing."""
        theirs = None if self.published is None else self.published.relative
        if theirs is None or not self.control or self.lower is None or self.upper is None:
            return None
        ends = sorted((self.lower / self.control, self.upper / self.control))
        return ends[0] <= theirs <= ends[1]

    def document(self) -> Document:
        """Plain values."""
        shown: Document = {
            "measure": self.part.measure,
            "expect": self.part.expect,
            "verdict": self.verdict,
            "effect": self.effect,
            "lower": self.lower,
            "upper": self.upper,
            "n": self.n,
            "relative": self.relative,
            "detectable": self.detectable,
            "sign_test_p": self.sign_test_p,
            "wins": self.wins,
        }
        if self.part.expect == "spread":
            shown |= {"bound": self.part.bound, "cell": self.cell}
        if self.published is not None:
            p = self.published
            shown["published"] = {
                "rows": p.rows,
                "agreeing": p.agreeing,
                "effect": p.effect,
                "relative": p.relative,
                "within_our_interval": self.reproduces_size,
            }
        return shown


@dataclass(frozen=True)
class ClaimResult:
    """A claim judged in one reading."""

    claim: Claim
    reading: str
    verdict: str
    parts: tuple[PartResult, ...]

    def document(self) -> Document:
        """Plain values."""
        return {
            "id": self.claim.id,
            "reading": self.reading,
            "claim": self.claim.text,
            "where": self.claim.where,
            "verdict": self.verdict,
            "parts": [p.document() for p in self.parts],
            "note": self.claim.note,
        }


def judge(outcome: Outcome) -> list[ClaimResult]:
    """A verdict on every claim in every reading, the primary reading first."""
    readings = sorted(outcome.study.readings, key=lambda r: not r.primary)
    return [_judge(outcome, reading, claim) for reading in readings for claim in outcome.study.claims]


def _judge(outcome: Outcome, reading: Level, claim: Claim) -> ClaimResult:
    parts = tuple(
        _spread(outcome, reading, part) if part.expect == "spread" else _compare(outcome, reading, claim, part)
        for part in claim.parts
    )
    return ClaimResult(claim, reading.id, conjunction([p.verdict for p in parts]), parts)


def conjunction(verdicts: Sequence[str]) -> str:
    """A claim holds if all its parts do, and fails if one of them does."""
    if CONTRADICTED in verdicts:
        return CONTRADICTED
    return SUPPORTED if all(v == SUPPORTED for v in verdicts) else UNDECIDED


def direction_verdict(expect: str, lower: float | None, upper: float | None) -> str:
    """Judge an interval for treatment minus control against what was expected of it."""
    if lower is None or upper is None:
        return UNDECIDED
    if expect in {"less", "at_most"}:
        lower, upper = -upper, -lower
    if lower > 0 or (expect in {"at_least", "at_most"} and lower >= 0):
        return SUPPORTED
    return CONTRADICTED if upper < 0 else UNDECIDED


def _compare(outcome: Outcome, reading: Level, claim: Claim, part: Part) -> PartResult:
    study = outcome.study
    assert claim.panel is not None
    found = outcome.difference(reading.id, claim.panel, part.measure, study.treatment, study.control)
    published = None
    if reading.published and study.published:
        published = published_difference(study, claim.panel, part)
    estimate = found.estimate
    return PartResult(
        part=part,
        verdict=direction_verdict(part.expect, estimate.lower, estimate.upper),
        effect=estimate.mean,
        lower=estimate.lower,
        upper=estimate.upper,
        n=estimate.n,
        relative=found.relative,
        detectable=found.detectable,
        sign_test_p=found.sign_p,
        wins=found.wins,
        published=published,
        control=found.control,
    )


def published_difference(study: Study, panel: str, part: Part) -> Published | None:
    """How many of the paper's rows agree with a part of a claim, and by how much."""
    differences, controls = [], []
    for (p, value, discipline, measure), control in sorted(study.published.items()):
        if (p, discipline, measure) != (panel, study.control, part.measure):
            continue
        treatment = study.published.get((panel, value, study.treatment, part.measure))
        if treatment is not None:
            differences.append(treatment - control)
            controls.append(control)
    if not differences:
        return None
    effect = statistics.mean(differences)
    relatives = [d / c for d, c in zip(differences, controls, strict=True)]
    return Published(
        rows=len(differences),
        agreeing=sum(direction_verdict(part.expect, d, d) == SUPPORTED for d in differences),
        effect=effect,
        relative=effect / statistics.mean(controls),
        lowest=min(relatives),
        highest=max(relatives),
    )


def _spread(outcome: Outcome, reading: Level, part: Part) -> PartResult:
    """Relative standard deviation over the sweep: below the bound in every panel, for both disciplines?"""
    study = outcome.study
    worst: tuple[Estimate, str] | None = None
    verdicts = []
    for panel in study.panels:
        for name in (study.control, study.treatment):
            columns = [outcome.series(reading.id, panel.id, v, name, part.measure) for v in study.sweep.values]
            spreads = [statistics.relative_spread(column) for column in zip(*columns, strict=True)]
            estimate = statistics.estimate(spreads)
            verdicts.append(_below(part.bound, estimate))
            cell = f"{study.discipline(name).title}, {panel.title}"
            if worst is None or estimate.mean > worst[0].mean:
                worst = (estimate, cell)
    assert worst is not None
    estimate, cell = worst
    detectable = None if estimate.deviation is None else statistics.detectable_effect(estimate.deviation, estimate.n)
    published = published_spread(study, part) if reading.published and study.published else None
    one_point = len(study.sweep.values) < 2
    return PartResult(
        part=part,
        verdict=UNDECIDED if one_point else conjunction(verdicts),
        effect=estimate.mean,
        lower=estimate.lower,
        upper=estimate.upper,
        n=estimate.n,
        relative=estimate.mean,
        detectable=detectable,
        cell=cell,
        published=published,
    )


def _below(bound: float, estimate: Estimate) -> str:
    if estimate.lower is None or estimate.upper is None:
        return UNDECIDED
    if estimate.upper <= bound:
        return SUPPORTED
    return CONTRADICTED if estimate.lower > bound else UNDECIDED


def published_spread(study: Study, part: Part) -> Published | None:
    """The relative spread over the sweep of the paper's own rows: its largest value, and how many are in bounds."""
    spreads = []
    for panel in study.panels:
        for name in (study.control, study.treatment):
            values = [
                v for (p, _, d, m), v in sorted(study.published.items()) if (p, d, m) == (panel.id, name, part.measure)
            ]
            if len(values) > 1:
                spreads.append(statistics.relative_spread(values))
    if not spreads:
        return None
    return Published(
        rows=len(spreads),
        agreeing=sum(s <= part.bound for s in spreads),
        effect=max(spreads),
        relative=max(spreads),
    )


# ---- the result document -------------------------------------------------------------------------------------------


def document(outcome: Outcome, claims: Sequence[ClaimResult], version: str) -> Document:
    """Everything that was found, as plain values: claims, cells, paired differences, published values."""
    study = outcome.study
    cells = [
        {
            "reading": reading,
            "panel": panel,
            study.sweep.name: value,
            "discipline": discipline,
            **{m.id: _estimated(values[m.id]) for m in study.measures},
        }
        for (reading, panel, value, discipline), values in outcome.values.items()
    ]
    differences = [
        {
            "reading": reading.id,
            "panel": panel.id,
            "measure": measure.id,
            "treatment": other.id,
            "control": study.control,
            **outcome.difference(reading.id, panel.id, measure.id, other.id, study.control).document(),
        }
        for reading in study.readings
        for panel in study.panels
        for measure in study.main_measures
        for other in study.disciplines
        if other.id != study.control
    ]
    return {
        "study": study.name,
        "title": study.title,
        "version": version,
        "quick": study.quick,
        "seeds": list(outcome.seeds),
        "runs": study.runs,
        "claims": [c.document() for c in claims],
        "measures": {m.id: {"title": m.title, "unit": m.unit, "field": m.field} for m in study.measures},
        "cells": cells,
        "differences": differences,
        "published": [
            {"panel": p, study.sweep.name: v, "discipline": d, "measure": m, "value": x}
            for (p, v, d, m), x in study.published.items()
        ],
        "scenario": study.scenario,
        "cost": outcome.cost,
    }


def _estimated(values: Sequence[float | None]) -> Document | None:
    if any(v is None for v in values):
        return None
    return statistics.estimate(cast("Sequence[float]", values)).document()


def rows(outcome: Outcome) -> list[list[Any]]:
    """One row for each run, with a head: for a table that other programs read."""
    study = outcome.study
    head = ["reading", "panel", study.sweep.name, "discipline", "seed", *(m.id for m in study.measures)]
    table: list[list[Any]] = [head]
    for cell, values in outcome.values.items():
        for k, seed in enumerate(outcome.seeds):
            table.append([*cell, seed, *(values[m.id][k] for m in study.measures)])
    return table
