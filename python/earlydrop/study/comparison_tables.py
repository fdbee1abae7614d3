"""The paper's tables beside ours, as rows of text: for the terminal and the HTML report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from ..analysis import statistics
from ..analysis.statistics import Estimate
from ..terminal import CUT, number, signed, with_interval, with_sign
from .experiment import Axis, Experiment, Measure, Selection, in_sentence
from .model import Study, Table
from .published_values import PrintedValues
from .runs import Outcome
from .select import average_cells

MOST = 1000
"""Most rows of an automatic table."""


@dataclass(frozen=True)
class Group:
    """Columns that belong together: published, ours, their difference."""

    title: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """One table as it is shown."""

    title: str
    corner: str
    groups: tuple[Group, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    """Label and cells of each row."""
    n: int
    averaged: str = ""
    """The axes over which the values are means, besides the seeds."""
    left_out: int = 0
    """Number of rows that are not shown."""
    fixed: bool = False
    """Whether some values have no interval, because every seed gave the same run."""


@dataclass(frozen=True)
class _Entry:
    measure: Measure
    ours: Estimate | None
    theirs: float | None = None


def replication(block: Block) -> str:
    """The replications behind the numbers of a table."""
    if block.n < 2:
        return "one seed"
    cells = [cell for _, row in block.rows for cell in row]
    if block.fixed and not any("\u00b1" in cell or "[" in cell for cell in cells):
        return f"one run (all {block.n} seeds give the same)"
    cut = f"; {CUT}" if any("[" in cell for cell in cells) else ""
    same = f"; without an interval where all {block.n} seeds give the same run" if block.fixed else ""
    return f"mean over seeds \u00b1 95 % half-width, n = {block.n}{same}{cut}"


def shown(outcome: Outcome, table: Table, reading: Mapping[str, str] | None = None) -> list[Block]:
    """A table of the paper beside ours; one block for each measure where it has columns."""
    study = outcome.study
    e = study.experiment(table.experiment)
    fixed = {name: ids[0] for name, ids in table.at.items() if len(ids) == 1}
    printed = PrintedValues([replace(p, at={**fixed, **p.at}) for p in table.printed])
    make = _Maker(outcome, e, table, dict(reading or {}), printed)
    measures = [study.measure(name) for name in table.measures]
    if table.rows and table.columns:
        return [make.by_columns(m) for m in measures]
    return [make.by_measures(measures)]


def facts(study: Study, table: Table) -> Block:
    """A table that needs no runs: the rows whose levels are in the study."""
    titles = {level.id: level.title for e in study.experiments for axis in e.axes for level in axis.levels}
    head, *body = table.facts
    rows = tuple((titles[row[0]], row[1:]) for row in body if row[0] in titles)
    return Block("", head[0], tuple(Group(name, ("ours",)) for name in head[1:]), rows, 0)


def automatic(outcome: Outcome, e: Experiment, reading: Mapping[str, str] | None = None, most: int = MOST) -> Block:
    """Every cell of an experiment in one reading, main measures first."""
    axes = tuple(a.id for a in e.axes if not a.reading)
    measures = sorted(outcome.study.measured(e), key=lambda m: not m.main)
    table = Table(id="", title="", experiment=e.id, rows=axes, measures=tuple(m.id for m in measures))
    return _Maker(outcome, e, table, dict(reading or {}), PrintedValues([])).by_measures(measures, most)


class _Maker:
    def __init__(
        self,
        outcome: Outcome,
        e: Experiment,
        table: Table,
        reading: dict[str, str],
        printed: PrintedValues,
    ) -> None:
        self.outcome, self.e, self.table, self.reading, self.printed = outcome, e, table, reading, printed

    def by_columns(self, measure: Measure) -> Block:
        """One measure: rows and columns are levels."""
        columns = self._places(self.table.columns)
        rows = self._places(self.table.rows)
        entries = [[self._entry({**row, **column}, measure) for column in columns] for row in rows]
        groups = [self._label(column, self.table.columns) for column in columns]
        return self._block(measure.label, rows, groups, entries, [measure])

    def by_measures(self, measures: Sequence[Measure], most: int = MOST) -> Block:
        """Rows are levels and groups are measures; without rows, rows are measures and groups are columns."""
        if not self.table.rows:
            columns = self._places(self.table.columns)
            entries = [[self._entry(column, m) for column in columns] for m in measures]
            groups = [self._label(column, self.table.columns) for column in columns]
            return self._finish("", "", groups, [m.label for m in measures], entries, self._contrasts(measures, {}))
        rows = self._places(self.table.rows)
        entries = [[self._entry(row, m) for m in measures] for row in rows[:most]]
        block = self._block("", rows[:most], [m.label for m in measures], entries, list(measures))
        return replace(block, left_out=max(0, len(rows) - most))

    def _places(self, names: Sequence[str]) -> list[dict[str, str]]:
        levels = []
        for name in names:
            axis = self.e.axis(name)
            if name in self.table.at:
                levels.append([i for i in axis.ids if i in self.table.at[name]])
            elif axis.reading and name in self.reading:
                levels.append([self.reading[name]])
            else:
                levels.append(list(axis.ids))
        found = [dict(zip(names, combination, strict=True)) for combination in product(*levels)]
        return [place for place in found if self._cells(place)]

    def _cells(self, place: Mapping[str, str]) -> list[tuple[str, ...]]:
        chosen: Selection = {**self.table.at, **{name: (level,) for name, level in place.items()}}
        return average_cells(self.e, chosen, self.reading)

    def _entry(self, place: Mapping[str, str], measure: Measure) -> _Entry:
        ours = self.outcome.estimate(self.e, self._cells(place), measure.id)
        fixed = {name: ids[0] for name, ids in self.table.at.items() if len(ids) == 1}
        return _Entry(measure, ours, self.printed.value({**self.reading, **fixed, **place}, measure.id))

    def _label(self, place: Mapping[str, str], names: Sequence[str]) -> str:
        axes = [self.e.axis(name) for name in names]
        if len(axes) == 1:
            return _bare(axes[0], place[axes[0].id])
        return ", ".join(self.e.say(axis, place[axis.id]) for axis in axes)

    def _block(
        self,
        title: str,
        rows: Sequence[Mapping[str, str]],
        groups: Sequence[str],
        entries: Sequence[Sequence[_Entry]],
        measures: Sequence[Measure],
    ) -> Block:
        names = self.table.rows
        corner = self.e.axis(names[0]).label if len(names) == 1 else ""
        labels = [self._label(row, names) for row in rows]
        contrasts = [self._contrast(m, row) for row in rows for m in measures] if self.table.of else []
        width = len(measures)
        by_row = [contrasts[k * width : (k + 1) * width] for k in range(len(rows))] if contrasts else []
        return self._finish(title, corner, list(groups), labels, entries, by_row)

    def _contrasts(self, measures: Sequence[Measure], row: Mapping[str, str]) -> list[list[tuple[str, str]]]:
        return [[self._contrast(m, row)] for m in measures] if self.table.of else []

    def _contrast(self, measure: Measure, row: Mapping[str, str]) -> tuple[str, str]:
        """Published and measured difference of the two sides."""
        own: Selection = {**self.table.at, **{name: (level,) for name, level in row.items()}}
        sides = [{**own, **side} for side in (self.table.of, self.table.to)]
        values = [self.outcome.mean_by_seed(self.e, average_cells(self.e, s, self.reading), measure.id) for s in sides]
        printed = [
            self.printed.value({**self.reading, **{n: i[0] for n, i in s.items() if len(i) == 1}}, measure.id)
            for s in sides
        ]
        theirs = printed[0] - printed[1] if printed[0] is not None and printed[1] is not None else None
        if not all(values):
            return signed(theirs, measure.digits), "-"
        every = [cell for side in sides for cell in average_cells(self.e, side, self.reading)]
        same = self.outcome.same_run(self.e, every)
        found = statistics.paired(values[0], values[1], same_run=same).estimate
        return signed(theirs, measure.digits), with_sign(found, measure.digits)

    def _finish(
        self,
        title: str,
        corner: str,
        titles: Sequence[str],
        labels: Sequence[str],
        entries: Sequence[Sequence[_Entry]],
        contrasts: Sequence[Sequence[tuple[str, str]]],
    ) -> Block:
        groups, columns = [], []
        for k, name in enumerate(titles):
            column = [row[k] for row in entries]
            printed = any(x.theirs is not None for x in column)
            groups.append(Group(name, ("published", "ours", "difference") if printed else ("ours",)))
            columns.append([_texts(x, printed) for x in column])
        cells = [tuple(text for column in columns for text in column[k]) for k in range(len(labels))]
        if contrasts:
            sides = [", ".join(_titles(self.e, s)) for s in (self.table.of, self.table.to)]
            name = f"{sides[0]} minus {sides[1]}"
            theirs = any(pair[0] != "-" for row in contrasts for pair in row)
            for k in range(len(contrasts[0])):
                more = f"{name}, {titles[k]}" if len(contrasts[0]) > 1 else name
                groups.append(Group(more, ("published", "ours") if theirs else ("ours",)))
                cells = [
                    (*cell, *(row[k] if theirs else row[k][1:])) for cell, row in zip(cells, contrasts, strict=True)
                ]
        fixed = any(x.ours is not None and x.ours.same_run for row in entries for x in row)
        rows = tuple(zip(labels, cells, strict=True))
        return Block(title, corner, tuple(groups), rows, self.e.seeds, self._averaged(), fixed=fixed)

    def _averaged(self) -> str:
        fixed = {*self.table.rows, *self.table.columns, *(n for n, i in self.table.at.items() if len(i) == 1)}
        fixed |= set(self.table.of)
        over = [in_sentence(a.title) for a in self.e.axes if a.id not in fixed and not a.reading and len(a.ids) > 1]
        return " and ".join(over)


def _titles(e: Experiment, chosen: Selection) -> list[str]:
    return [e.axis(name).level(i).title for name, ids in chosen.items() for i in ids]


def _bare(axis: Axis, name: str) -> str:
    return axis.level(name).title


def _texts(entry: _Entry, printed: bool) -> tuple[str, ...]:
    digits = entry.measure.digits
    ours = mean_text(entry.ours, entry.measure)
    if not printed:
        return (ours,)
    return (number(entry.theirs, _digits_of(entry.theirs, digits)), ours, distance(entry.ours, entry.theirs, digits))


def _digits_of(value: float | None, digits: int) -> int:
    """As many digits as the paper prints, where these are more than our own."""
    if value is None:
        return digits
    _, _, behind = f"{value:.12g}".partition(".")
    return max(digits, len(behind)) if "e" not in f"{value:.12g}" else digits


def mean_text(found: Estimate | None, measure: Measure) -> str:
    """A mean and its interval as text."""
    return with_interval(found, measure.digits, measure.bounds)


def distance(ours: Estimate | None, theirs: float | None, digits: int) -> str:
    """The distance of our value from the paper's, in per cent of the paper's."""
    if ours is None or theirs is None:
        return "-"
    if theirs == 0:
        return signed(ours.mean, digits)
    away = 100 * (ours.mean / theirs - 1) if theirs > 0 else -100 * (ours.mean / theirs - 1)
    return f"{signed(away, 1 if abs(away) >= 1 else 2)} %"


def summary(study: Study, e: Experiment) -> str:
    """What is run, in one line: the axes, the seeds, the number of runs."""
    factors = [f"{len(a.ids)} {_plural(a.title)}" for a in e.axes if not a.reading and len(a.ids) > 1]
    readings = [f"{len(a.ids)} readings of {in_sentence(a.title)}" for a in e.readings if len(a.ids) > 1]
    seeds = f"seeds {e.first_seed} to {e.first_seed + e.seeds - 1}" if e.seeds > 1 else f"seed {e.first_seed}"
    grid = " x ".join(factors) or "one cell"
    more = f"; one at a time: {', '.join(readings)}" if readings else ""
    return f"{grid}{more}; {seeds}; {len(e.cells) * e.seeds:,} runs"


def _plural(title: str) -> str:
    return f"levels of {in_sentence(title)}"
