"""Plans and makes the runs of a study.

Every scenario is parsed by the checker before the first run. Cells whose scenarios are equal (after all defaults are
filled in) are run once only. Of each result document only what measures and figures need is kept; it is taken on
the thread that made the run. The order of results never depends on the number of workers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from .. import runner, statistics
from ..documents import Document
from ..runner import Job, Progress, no_progress
from ..statistics import Estimate
from .model import Cell, Experiment, Figure, Measure, Study, StudyError
from .select import average_cells
from .take import MISSING, Take, TakeError, paired

Takes = tuple[Take, ...]
Kept = dict[Take, Any]
Run = tuple[str, int]
"""The key of a scenario, and a seed."""
Values = list[float | None]


# ---- the plan ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Planned:
    """A scenario that the checker has passed. Equal scenarios have equal keys, whatever they are called."""

    key: str
    scenario: runner.Runnable
    where: str


@dataclass(frozen=True)
class Drawn:
    """One scenario of a figure: which cell it is, the seeds it needs."""

    cell: Cell
    planned: Planned
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """Everything that will be run."""

    study: Study
    cells: Mapping[tuple[str, Cell], Planned]
    figures: Mapping[str, tuple[Drawn, ...]]

    @property
    def runs(self) -> int:
        """Number of different simulations."""
        wanted = {
            (self.cells[(e.id, cell)].key, seed)
            for e in self.study.experiments
            for cell in e.cells
            for seed in seeds_of(e)
        }
        wanted |= {(d.planned.key, seed) for drawn in self.figures.values() for d in drawn for seed in d.seeds}
        return len(wanted)


def seeds_of(e: Experiment, count: int | None = None) -> tuple[int, ...]:
    """The seeds of an experiment."""
    return tuple(runner.seeds(e.first_seed, count or e.seeds))


def plan(study: Study) -> Plan:
    """Check every scenario of a study."""
    known: dict[str, Planned] = {}
    cells = {
        (e.id, cell): _checked(study, e, e.document(cell, study.name), cell, known)
        for e in study.experiments
        for cell in e.cells
    }
    figures = {f.id: _drawn(study, f, cells, known) for f in study.figures if f.kind in RAW and f.experiment}
    _check_curves(study)
    return Plan(study, cells, figures)


def _checked(study: Study, e: Experiment, document: Document, cell: Cell, known: dict[str, Planned]) -> Planned:
    from .. import _core

    where = f"{study.folder / 'study.toml'}: experiment {e.id}, {e.titled(cell) or 'its only cell'}"
    try:
        scenario = _core.Scenario.parse(document, [])
    except _core.ScenarioError as error:
        assumed = "".join(f" --assume {k}={v}" for k, v in study.assuming.items())
        raise StudyError(f"{where}{' with' + assumed if assumed else ''}: {error}") from error
    normal = json.loads(scenario.to_json())
    normal.pop("name", None)
    normal.pop("seed", None)
    key = hashlib.sha256(json.dumps(normal, sort_keys=True).encode()).hexdigest()
    return known.setdefault(key, Planned(key, scenario, where))


RAW = frozenset({"series", "cdf", "histogram", "differences"})
"""Kinds of figures that need more of a run than its measures."""


def _drawn(
    study: Study, figure: Figure, cells: Mapping[tuple[str, Cell], Planned], known: dict[str, Planned]
) -> tuple[Drawn, ...]:
    """The scenarios a figure needs. With `set` they are its own, otherwise those that are measured."""
    e = study.experiment(figure.experiment)
    sides = [{**figure.at, **figure.of}, *([{**figure.at, **figure.to}] if figure.to else [])]
    wanted = [cell for side in sides for cell in average_cells(e, side)]
    seeds = (figure.seed,) if figure.seed is not None else seeds_of(e)
    if figure.seed is None and figure.kind in {"series", "differences"}:
        seeds = seeds[:1]
    found = []
    for cell in dict.fromkeys(wanted):
        if figure.set:
            document = e.document(cell, study.name, figure.set)
            found.append(Drawn(cell, _checked(study, e, document, cell, known), seeds))
        else:
            found.append(Drawn(cell, cells[(e.id, cell)], seeds))
    return tuple(found)


def takes_of(figure: Figure) -> Takes:
    """What a figure needs of each of its runs."""
    return tuple(line.take for line in figure.series) if figure.kind == "series" else (cast("Take", figure.take),)


def needed(study: Study, e: Experiment) -> Takes:
    """What the measures of an experiment need of each run."""
    found: dict[Take, None] = {}
    known = {m.id for m in study.measures}

    def visit(measure: Measure) -> None:
        if measure.take is not None:
            found[measure.take] = None
        for name in measure.formula.names if measure.formula else ():
            if name in known:
                visit(study.measure(name))

    for measure in study.measured(e):
        visit(measure)
    return tuple(found)


def curve_values(curve: Mapping[str, Any], averages: Sequence[float]) -> list[float] | None:
    """A drop curve at these averages."""
    from .. import _core

    return _core.drop_curve(curve["aqm"], json.dumps(dict(curve["parameters"])), averages)


def _check_curves(study: Study) -> None:
    for figure in study.figures:
        for curve in figure.curves:
            place = f"{study.folder / 'study.toml'}: figure {figure.id}: curve {curve['title']}"
            try:
                found = curve_values(curve, [0.0, 1.0])
            except ValueError as error:
                raise StudyError(f"{place}: {error}") from error
            if found is None:
                raise StudyError(f"{place}: the discipline {curve['aqm']} has no drop curve")


# ---- what came out -------------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What the runs of a study gave: for each cell and measure one value a seed, and what the figures need."""

    study: Study
    values: dict[str, dict[Cell, dict[str, Values]]]
    """By experiment, cell, measure. Cells of a claim that was undecided have more seeds than the others."""
    drawn: dict[str, dict[Cell, list[tuple[int, Kept]]]] = field(default_factory=dict)
    """By figure and cell: seeds, and what was kept of them."""
    cost: dict[str, float] = field(default_factory=dict)
    runs: int = 0

    def series(self, e: Experiment, cell: Cell, measure: str, count: int | None = None) -> Values:
        """One value a seed; as many as the experiment has seeds, or as were asked for."""
        return self.values[e.id][cell][measure][: count or e.seeds]

    def count(self, e: Experiment, cell: Cell) -> int:
        """How many seeds a cell has."""
        return max((len(v) for v in self.values[e.id][cell].values()), default=0)

    def mean_by_seed(self, e: Experiment, cells: Sequence[Cell], measure: str) -> list[float]:
        """For each seed the mean over some cells; empty where a value is missing."""
        columns = [self.series(e, cell, measure) for cell in cells]
        if not columns or any(v is None for column in columns for v in column):
            return []
        numbers = cast("list[list[float]]", columns)
        return [statistics.mean(row) for row in zip(*numbers, strict=True)]

    def estimate(self, e: Experiment, cells: Sequence[Cell], measure: str) -> Estimate | None:
        """Mean over some cells and the seeds, its interval over the seeds."""
        values = self.mean_by_seed(e, cells, measure)
        return statistics.estimate(values) if values else None


Wanted = dict[Run, tuple[Planned, dict[Take, None]]]
"""The runs to make, and what is to be kept of each."""


# ---- running -------------------------------------------------------------------------------------------------------


class Runs:
    """Makes runs and remembers what was kept of them. Progress counts all of them together."""

    def __init__(
        self, plan: Plan, *, workers: int | None = None, progress: Progress = no_progress, label: str = ""
    ) -> None:
        self.plan, self.workers = plan, workers
        self._report, self._label = progress, label or plan.study.name
        self._kept: dict[Run, Kept] = {}
        self._cost = {"run_wall_s": 0.0, "events": 0.0}
        self._done, self._total = 0, plan.runs
        self._counts: dict[tuple[str, Cell], int] = {
            (e.id, cell): e.seeds for e in plan.study.experiments for cell in e.cells
        }

    def all(self) -> Outcome:
        """Run everything that is planned."""
        study = self.plan.study
        wanted: Wanted = {}
        for e in study.experiments:
            takes = needed(study, e)
            for cell in e.cells:
                for seed in seeds_of(e):
                    _want(wanted, self.plan.cells[(e.id, cell)], seed, takes)
        for figure in study.figures:
            for one in self.plan.figures.get(figure.id, ()):
                for seed in one.seeds:
                    _want(wanted, one.planned, seed, takes_of(figure))
        self._probe(wanted)
        self._run(wanted)
        return self.outcome()

    def more(self, cells: Iterable[tuple[str, Cell]], count: int) -> Outcome:
        """Run some cells with more seeds."""
        study = self.plan.study
        wanted: Wanted = {}
        named = list(cells)
        for name, cell in list(named):
            e = study.experiment(name)
            named += [(name, other) for m in study.measured(e) if (other := _other(e, cell, m)) is not None]
        for name, cell in dict.fromkeys(named):
            e = study.experiment(name)
            self._counts[(name, cell)] = max(count, self._counts[(name, cell)])
            for seed in seeds_of(e, count):
                _want(wanted, self.plan.cells[(name, cell)], seed, needed(study, e))
        new = sum(run not in self._kept for run in wanted)
        self._total += new
        self._run(wanted)
        return self.outcome()

    def _run(self, wanted: Wanted) -> None:
        """Run what has not been run, or of which too little was kept."""
        todo = {
            run: (one, tuple(takes))
            for run, (one, takes) in wanted.items()
            if any(take not in self._kept.get(run, {}) for take in takes)
        }
        jobs = [Job(one.scenario, run[1], partial(_keep, takes, one.where)) for run, (one, takes) in todo.items()]
        before = self._done

        def progress(done: int, total: int, what: str) -> None:
            self._done = before + done
            self._report(self._done, max(self._total, self._done), self._label)

        found: list[tuple[Kept, dict[str, Any]]] = runner.run_all(
            jobs, workers=self.workers, progress=progress, label=self._label
        )
        for run, (kept, cost) in zip(todo, found, strict=True):
            self._kept[run] = {**self._kept.get(run, {}), **kept}
            self._cost["run_wall_s"] += cost.get("wall_s") or 0.0
            self._cost["events"] += cost.get("events") or 0

    def _probe(self, wanted: Wanted) -> None:
        """Run one cell of every experiment first, to find out whether the fields that are asked for exist.

        A field that the first cell lacks may belong to another level: one cell of each level is run before the field
        is called wrong. Nothing is run that would not be run anyway.
        """
        study, place = self.plan.study, self.plan.study.folder / "study.toml"
        asked: list[tuple[str, Takes, list[Run]]] = []
        for e in study.experiments:
            star = [(self.plan.cells[(e.id, cell)].key, e.first_seed) for cell in _star(e)]
            asked.append((f"experiment {e.id}", needed(study, e), star))
        for figure in study.figures:
            drawn = [(one.planned.key, one.seeds[0]) for one in self.plan.figures.get(figure.id, ())]
            if drawn:
                asked.append((f"figure {figure.id}", takes_of(figure), drawn))
        self._run({runs[0]: wanted[runs[0]] for _, _, runs in asked})
        more = [run for _, takes, runs in asked if self._lacking(takes, runs[:1]) for run in runs]
        self._run({run: wanted[run] for run in more})
        for whose, takes, runs in asked:
            for take in self._lacking(takes, runs):
                users = [f"measure {m.id}: " for m in study.measures if m.take == take]
                raise StudyError(f"{place}: {users[0] if users else ''}results of {whose} have no field {take.field}")

    def _lacking(self, takes: Takes, runs: Sequence[Run]) -> list[Take]:
        """What none of these runs had."""
        return [t for t in takes if all(self._kept[run].get(t, MISSING) is MISSING for run in runs)]

    def outcome(self) -> Outcome:
        """What all runs until now gave."""
        study = self.plan.study
        values: dict[str, dict[Cell, dict[str, Values]]] = {}
        for e in study.experiments:
            measures = study.measured(e)
            values[e.id] = {}
            for cell in e.cells:
                key = self.plan.cells[(e.id, cell)].key
                numbers = {a.id: a.level(level).value for a, level in zip(e.axes, cell, strict=True)}
                rows = [
                    _measure(study, measures, self._kept[(key, seed)], numbers, partial(self._opposite, e, cell, seed))
                    for seed in seeds_of(e, self._counts[(e.id, cell)])
                ]
                values[e.id][cell] = {m.id: [row[m.id] for row in rows] for m in measures}
        drawn: dict[str, dict[Cell, list[tuple[int, Kept]]]] = {}
        for name, scenarios in self.plan.figures.items():
            takes = takes_of(next(f for f in study.figures if f.id == name))
            drawn[name] = {
                one.cell: [(seed, {t: self._kept[(one.planned.key, seed)][t] for t in takes}) for seed in one.seeds]
                for one in scenarios
            }
        cost = {"runs": float(len(self._kept)), **self._cost}
        return Outcome(study, values, drawn, cost, len(self._kept))

    def _opposite(self, e: Experiment, cell: Cell, seed: int, measure: Measure) -> object:
        """What the run that a measure compares with gave; None where it was not made."""
        other = _other(e, cell, measure)
        key = "" if other is None else self.plan.cells[(e.id, other)].key
        return self._kept.get((key, seed), {}).get(cast("Take", measure.take))


def _other(e: Experiment, cell: Cell, measure: Measure) -> Cell | None:
    """The cell that a measure compares this one with; None where it does not, or where that cell is not run."""
    at = dict(zip(e.names, cell, strict=True)) | dict(measure.against)
    other = tuple(at[name] for name in e.names)
    return other if measure.against and other in e.cell_set else None


def _want(wanted: Wanted, one: Planned, seed: int, takes: Takes) -> None:
    wanted.setdefault((one.key, seed), (one, {}))[1].update(dict.fromkeys(takes))


def _keep(takes: Takes, where: str, text: str) -> tuple[Kept, dict[str, Any]]:
    document = json.loads(text)
    try:
        return {take: take(document) for take in takes}, document.get("cost", {})
    except TakeError as error:
        raise StudyError(f"{where}: field {error}") from error


def _measure(
    study: Study,
    measures: Sequence[Measure],
    kept: Kept,
    numbers: Mapping[str, float | None],
    opposite: Callable[[Measure], object],
) -> dict[str, float | None]:
    """The measures of one run. Scales go before formulas; `numbers` are those of the cell's levels."""
    found: dict[str, float | None] = {}
    known = {m.id for m in study.measures}

    def value(measure: Measure) -> float | None:
        if measure.id not in found:
            if measure.formula is not None:
                inner = {
                    name: value(study.measure(name)) if name in known else numbers.get(name)
                    for name in measure.formula.names
                }
                raw = measure.formula.value(inner)
            else:
                raw = kept[cast("Take", measure.take)]
                raw = None if raw is MISSING else raw
                if measure.against:
                    raw = paired(measure.pairing, raw, opposite(measure))
            found[measure.id] = None if raw is None else raw * measure.scale
        return found[measure.id]

    for measure in measures:
        value(measure)
    return found


def _star(e: Experiment) -> list[Cell]:
    """The first cell, and for each level of each axis the first cell that has it."""
    found: dict[Cell, None] = {e.cells[0]: None}
    for place, axis in enumerate(e.axes):
        for level in axis.ids:
            found |= dict.fromkeys([next((c for c in e.cells if c[place] == level), e.cells[0])])
    return list(found)


def rows(outcome: Outcome, e: Experiment) -> list[list[Any]]:
    """One row for each run of an experiment, with a head: for a table that other programs read."""
    measures = outcome.study.measured(e)
    table: list[list[Any]] = [[*e.names, "seed", *(m.id for m in measures)]]
    for cell in e.cells:
        values = outcome.values[e.id][cell]
        for k, seed in enumerate(seeds_of(e, outcome.count(e, cell))):
            table.append([*cell, seed, *(values[m.id][k] for m in measures)])
    return table


__all__ = ["Outcome", "Plan", "Runs", "plan", "rows", "seeds_of"]
