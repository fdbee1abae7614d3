"""Plans and makes the runs of a study.

Every scenario is parsed by the checker before the first run. Runs are kept in a store and looked for there first, so a
study that was stopped goes on where it was. Cells whose scenarios are equal (after all defaults are filled in) are run
once only. What measures and figures need is taken from the rows of the store, so the result never depends on who made
a run, when, and on how many workers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from typing import Any, cast

import numpy as np

from .. import runner
from ..analysis import statistics
from ..analysis.statistics import Estimate
from ..analysis.window import Window
from ..document import MISSING, Document, PathError
from ..runner import Progress, RunError, no_progress
from ..store import DIGEST, KEYS, Store, scenario_key
from ..store.files import Memory
from ..store.names import words
from ..store.rows import documents, matches
from ..sweeps import execute
from ..sweeps.base_scenario import NEUTRAL
from ..sweeps.executors import Executor, Threads
from ..sweeps.plan import Scenarios
from .experiment import Cell, Experiment, Measure, StudyError
from .extraction import Extraction, ExtractionError, paired
from .model import Figure, Study
from .select import average_cells

Extractions = tuple[Extraction, ...]
Kept = dict[Extraction, Any]
Run = tuple[str, int]
"""The key of a scenario, and a seed."""
Values = list[float | None]


# ---- the plan ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Planned:
    """A checked scenario. Equal scenarios have equal keys, independent of their names."""

    key: str
    scenario: runner.Runnable
    where: str
    text: str
    """The scenario as JSON, without name and seed of its own."""


@dataclass(frozen=True)
class Drawn:
    """One scenario of a figure: its cell, and the seeds it needs."""

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


def seeds_of(e: Experiment) -> tuple[int, ...]:
    """The seeds of an experiment: the same in every cell (common random numbers)."""
    return tuple(runner.seeds(e.first_seed, e.seeds))


def plan(study: Study) -> Plan:
    """Check every scenario of a study."""
    _check_names(study)
    known: dict[str, Planned] = {}
    cells = {
        (e.id, cell): _checked(study, e, e.document(cell, study.name), cell, known)
        for e in study.experiments
        for cell in e.cells
    }
    figures = {f.id: _drawn(study, f, cells, known) for f in study.figures if f.kind in RAW and f.experiment}
    _check_curves(study)
    return Plan(study, cells, figures)


def _check_names(study: Study) -> None:
    """Refuse an unknown discipline in a base scenario, even if the levels of an axis replace it in every cell.

    Nothing else of a base is checked by itself: it need not be a whole scenario, only its cells must be.
    """
    import earlydrop._core as _core

    for e in study.experiments:
        try:
            _core.Scenario.parse({**e.scenario, "name": NEUTRAL, "seed": 1}, [])
        except _core.ScenarioError as error:
            if (error.path or "").endswith(".aqm") and (error.message or "").startswith("is unknown"):
                raise StudyError(f"{study.folder / 'study.toml'}: experiment {e.id}: scenario: {error}") from error


def _checked(study: Study, e: Experiment, document: Document, cell: Cell, known: dict[str, Planned]) -> Planned:
    import earlydrop._core as _core

    where = f"{study.folder / 'study.toml'}: experiment {e.id}, {e.titled(cell) or 'its only cell'}"
    try:
        scenario = _core.Scenario.parse({**document, "name": NEUTRAL, "seed": 1}, [])
    except _core.ScenarioError as error:
        assumed = "".join(f" --assume {k}={v}" for k, v in study.assuming.items())
        raise StudyError(f"{where}{' with' + assumed if assumed else ''}: {error}") from error
    text = scenario.to_json()
    key = scenario_key(text)
    return known.setdefault(key, Planned(key, scenario, where, text))


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


def extractions_of(figure: Figure) -> Extractions:
    """The values that a figure needs from each of its runs."""
    return (
        tuple(line.extraction for line in figure.series)
        if figure.kind == "series"
        else (cast("Extraction", figure.extraction),)
    )


def needed(study: Study, e: Experiment) -> Extractions:
    """The values that the measures of an experiment need from each run."""
    found: dict[Extraction, None] = {}
    known = {m.id for m in study.measures}

    def visit(measure: Measure) -> None:
        if measure.extraction is not None:
            found[measure.extraction] = None
        for name in measure.formula.names if measure.formula else ():
            if name in known:
                visit(study.measure(name))

    for measure in study.measured(e):
        visit(measure)
    return tuple(found)


def curve_values(curve: Mapping[str, Any], averages: Sequence[float]) -> list[float] | None:
    """A drop curve at these averages."""
    import earlydrop._core as _core

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
    """Results of a study's runs: for each cell and measure one value per seed, and the data of the figures."""

    study: Study
    values: dict[str, dict[Cell, dict[str, Values]]]
    """Values by experiment, cell and measure."""
    fixed: frozenset[tuple[str, Cell]] = frozenset()
    """Cells in which every seed gave the same run."""
    drawn: dict[str, dict[Cell, list[tuple[int, Kept]]]] = field(default_factory=dict)
    """Seeds and their extracted values, by figure and cell."""
    cost: dict[str, float] = field(default_factory=dict)
    runs: int = 0
    warmups: dict[str, Window] = field(default_factory=dict)
    """What is known of the measured windows, by experiment and cell."""

    def series(self, e: Experiment, cell: Cell, measure: str) -> Values:
        """A measure's values, one per seed."""
        return self.values[e.id][cell][measure]

    def same_run(self, e: Experiment, cells: Sequence[Cell]) -> bool:
        """Whether every seed gave the same run in all of these cells."""
        return bool(cells) and all((e.id, cell) in self.fixed for cell in cells)

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
        return statistics.estimate(values, same_run=self.same_run(e, cells)) if values else None


Wanted = dict[Run, tuple[Planned, dict[Extraction, None]]]
"""The runs to make, and the values to extract from each."""


# ---- running -------------------------------------------------------------------------------------------------------


class Runs:
    """Makes the runs that the store lacks, and extracts what is needed. Without a store nothing is kept."""

    def __init__(
        self,
        plan: Plan,
        *,
        store: Store | None = None,
        workers: int | None = None,
        progress: Progress = no_progress,
        label: str = "",
    ) -> None:
        self.plan, self.store, self.workers = plan, store or Store(Memory()), workers
        self._report, self._label = progress, label or plan.study.name
        self._kept: dict[Run, Kept] = {}
        self._digests: dict[Run, float | None] = {}
        self._cost = {"made": 0.0, "run_wall_s": 0.0}

    def all(self) -> Outcome:
        """Run everything that is planned."""
        study = self.plan.study
        wanted: Wanted = {}
        for e in study.experiments:
            extractions = needed(study, e)
            for cell in e.cells:
                for seed in seeds_of(e):
                    _want(wanted, self.plan.cells[(e.id, cell)], seed, extractions)
        for figure in study.figures:
            for one in self.plan.figures.get(figure.id, ()):
                for seed in one.seeds:
                    _want(wanted, one.planned, seed, extractions_of(figure))
        executor = Threads(None, self.workers)
        try:
            self._probe(wanted, executor)
            self._run(wanted, executor, lambda done: self._report(done, len(wanted), self._label))
        finally:
            executor.close()
        self._read(wanted)
        return self.outcome()

    def _run(self, wanted: Wanted, executor: Executor, report: Callable[[int], None]) -> None:
        """Make the runs that the store does not have."""
        todo = _scenarios(wanted)
        runs = execute.Runs(todo, self.store, executor, lambda tally: report(tally.done))
        tally = runs.make()
        if tally.failed:
            failure = tally.failures[0]
            where = wanted[(todo.keys[failure.point], failure.seed)][0].where
            more = f" ({tally.failed - 1} more failed)" if tally.failed > 1 else ""
            raise RunError(f"run failed ({where}, seed {failure.seed}): {failure.reason}{more}")
        self._cost["made"] += tally.made
        self._cost["run_wall_s"] += tally.engine_s

    def _read(self, wanted: Wanted) -> None:
        """Extract the needed values from the rows of the store."""
        extractions = {extraction for _, needed in wanted.values() for extraction in needed}
        columns = {tuple(column) for extraction in extractions for column in extraction.columns}

        # Every part of the store has the same names.
        @cache
        def chosen(name: str) -> bool:
            return name == DIGEST or any(matches(name, column) for column in columns)

        def read(found: Any) -> None:
            here = [run in wanted and run not in self._kept for run in _names(found)]
            frame = found.filter(here)
            digests = frame[DIGEST].to_list() if DIGEST in frame.columns else [None] * len(frame)
            for run, digest, document in zip(_names(frame), digests, documents(frame), strict=True):
                one, extractions = wanted[run]
                self._kept[run] = _keep(tuple(extractions), one.where, document)
                self._digests[run] = digest

        names = words([key for key, _ in wanted]), np.array([seed for _, seed in wanted], np.int64)
        self.store.gather(lambda: [names], chosen, read)

    def _probe(self, wanted: Wanted, executor: Executor) -> None:
        """Run one cell of every experiment first, to find out whether the fields that are asked for exist.

        A field that the first cell lacks may belong to another level: one cell of each level is run before the field
        is called wrong. Nothing is run that would not be run anyway.
        """
        study, place = self.plan.study, self.plan.study.folder / "study.toml"
        asked: list[tuple[str, Extractions, list[Run]]] = []
        for e in study.experiments:
            star = [(self.plan.cells[(e.id, cell)].key, e.first_seed) for cell in _star(e)]
            asked.append((f"experiment {e.id}", needed(study, e), star))
        for figure in study.figures:
            drawn = [(one.planned.key, one.seeds[0]) for one in self.plan.figures.get(figure.id, ())]
            if drawn:
                asked.append((f"figure {figure.id}", extractions_of(figure), drawn))
        for some in ({runs[0] for _, _, runs in asked}, {run for _, _, runs in asked for run in runs}):
            first = {run: wanted[run] for run in some}
            self._run(first, executor, lambda done: None)
            self._read(first)
            lacking = [
                (whose, extraction)
                for whose, extractions, runs in asked
                for extraction in self._lacking(extractions, runs)
            ]
            if not lacking:
                return
        whose, extraction = lacking[0]
        users = [f"measure {m.id}: " for m in study.measures if m.extraction == extraction]
        raise StudyError(f"{place}: {users[0] if users else ''}results of {whose} have no field {extraction.field}")

    def _lacking(self, extractions: Extractions, runs: Sequence[Run]) -> list[Extraction]:
        """The values that none of these finished runs has."""
        made = [run for run in runs if run in self._kept]
        return [t for t in extractions if all(self._kept[run].get(t, MISSING) is MISSING for run in made)]

    def outcome(self) -> Outcome:
        """The values of all runs."""
        study = self.plan.study
        values: dict[str, dict[Cell, dict[str, Values]]] = {}
        fixed = set()
        for e in study.experiments:
            measures = study.measured(e)
            values[e.id] = {}
            for cell in e.cells:
                key = self.plan.cells[(e.id, cell)].key
                numbers = {a.id: a.level(level).value for a, level in zip(e.axes, cell, strict=True)}
                rows = [
                    _measure(study, measures, self._kept[(key, seed)], numbers, partial(self._opposite, e, cell, seed))
                    for seed in seeds_of(e)
                ]
                values[e.id][cell] = {m.id: [row[m.id] for row in rows] for m in measures}
                digests = {self._digests[(key, seed)] for seed in seeds_of(e)}
                if e.seeds > 1 and len(digests) == 1 and None not in digests:
                    fixed.add((e.id, cell))
        drawn: dict[str, dict[Cell, list[tuple[int, Kept]]]] = {}
        for name, scenarios in self.plan.figures.items():
            extractions = extractions_of(next(f for f in study.figures if f.id == name))
            drawn[name] = {
                one.cell: [
                    (seed, {t: self._kept[(one.planned.key, seed)][t] for t in extractions}) for seed in one.seeds
                ]
                for one in scenarios
            }
        cost = {"runs": float(self.plan.runs), **self._cost}
        return Outcome(study, values, frozenset(fixed), drawn, cost, self.plan.runs)

    def _opposite(self, e: Experiment, cell: Cell, seed: int, measure: Measure) -> object:
        """The value of the run that a measure compares with; None where it was not made."""
        other = _other(e, cell, measure)
        key = "" if other is None else self.plan.cells[(e.id, other)].key
        return self._kept.get((key, seed), {}).get(cast("Extraction", measure.extraction))


def _other(e: Experiment, cell: Cell, measure: Measure) -> Cell | None:
    """The cell that a measure compares this one with; None if it compares with none, or that cell is not run."""
    at = dict(zip(e.names, cell, strict=True)) | dict(measure.against)
    other = tuple(at[name] for name in e.names)
    return other if measure.against and other in e.cell_set else None


def _scenarios(wanted: Wanted) -> Scenarios:
    """The runs as scenarios with seeds in a row."""
    seeds: dict[str, list[int]] = {}
    for key, seed in wanted:
        seeds.setdefault(key, []).append(seed)
    texts, firsts, counts = [], [], []
    for key, numbers in seeds.items():
        numbers.sort()
        breaks = [0, *(k for k in range(1, len(numbers)) if numbers[k] != numbers[k - 1] + 1), len(numbers)]
        for start, end in pairwise(breaks):
            texts.append(wanted[(key, numbers[start])][0].text)
            firsts.append(numbers[start])
            counts.append(end - start)
    return Scenarios(texts, np.array(firsts, np.int64), np.array(counts, np.int64))


def _names(frame: Any) -> list[Run]:
    return list(frame.select(*KEYS[:2]).iter_rows())


def _want(wanted: Wanted, one: Planned, seed: int, extractions: Extractions) -> None:
    wanted.setdefault((one.key, seed), (one, {}))[1].update(dict.fromkeys(extractions))


def _keep(extractions: Extractions, where: str, document: Mapping[str, Any]) -> Kept:
    try:
        return {extraction: extraction(document) for extraction in extractions}
    except (ExtractionError, PathError) as error:
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
                raw = kept[cast("Extraction", measure.extraction)]
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
        for k, seed in enumerate(seeds_of(e)):
            table.append([*cell, seed, *(values[m.id][k] for m in measures)])
    return table


__all__ = ["Outcome", "Plan", "Runs", "plan", "rows", "seeds_of"]
