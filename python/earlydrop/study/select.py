"""Selections of cells, and the reduction of the cells along an axis to one number.

A part of a claim compares two sides. On each side the levels it names are chosen; a reading it does not name is at
its base (or at the level that is tried); over all other axes it is averaged. These form the *rows*: a row is one
combination of their levels, and it counts only if both sides were run for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from ..analysis import statistics
from .experiment import Cell, Experiment, Selection
from .model import Part

Column = tuple[Cell, ...]
"""The cells along one axis that become one number; a single cell without such an axis."""


@dataclass(frozen=True)
class Row:
    """One combination of the axes that are averaged: the columns of either side."""

    at: Mapping[str, str]
    of: tuple[Column, ...]
    to: tuple[Column, ...] = ()

    @property
    def cells(self) -> set[Cell]:
        """All cells of both sides."""
        return {cell for column in (*self.of, *self.to) for cell in column}


def levels_of(e: Experiment, name: str, chosen: Selection, reading: Mapping[str, str]) -> tuple[str, ...]:
    """The ids of the levels of an axis that a selection chooses."""
    axis = e.axis(name)
    if name in chosen:
        return tuple(i for i in axis.ids if i in chosen[name])
    if axis.reading:
        return (reading.get(name, axis.base),)
    return axis.ids


def rows_of(e: Experiment, part: Part, case: Mapping[str, str], reading: Mapping[str, str]) -> list[Row]:
    """The rows of one case of a part in one reading; without any, nothing that it needs was run."""
    fixed = {name: (level,) for name, level in case.items()}
    of: Selection = {**part.of, **fixed}
    to: Selection | None = None if part.to is None else {**part.to, **fixed}
    named = set(of) | set(to or ())
    free = [name for name in e.names if name not in named and name != part.along]
    rows = []
    for combination in product(*(levels_of(e, name, {}, reading) for name in free)):
        at = dict(zip(free, combination, strict=True))
        left = _columns(e, part, of, at, reading)
        right = () if to is None else _columns(e, part, to, at, reading)
        if left and (to is None or right):
            shown = {name: level for name, level in at.items() if name not in e.base}
            rows.append(Row(shown, left, right))
    return rows


def _columns(
    e: Experiment, part: Part, chosen: Selection, at: Mapping[str, str], reading: Mapping[str, str]
) -> tuple[Column, ...]:
    sets = [(at[name],) if name in at else levels_of(e, name, chosen, reading) for name in e.names]
    if not part.along:
        return tuple((cell,) for cell in product(*sets) if cell in e.cell_set)
    place = e.names.index(part.along)
    along, sets[place] = sets[place], ("",)
    columns = []
    for cell in product(*sets):
        column = tuple((*cell[:place], level, *cell[place + 1 :]) for level in along)
        column = tuple(c for c in column if c in e.cell_set)
        if column:
            columns.append(column)
    return tuple(columns)


def average_cells(e: Experiment, chosen: Selection, reading: Mapping[str, str] | None = None) -> list[Cell]:
    """All cells that a selection means: what a table or a figure averages over."""
    sets = (levels_of(e, name, chosen, reading or {}) for name in e.names)
    return [cell for cell in product(*sets) if cell in e.cell_set]


# ---- along an axis -------------------------------------------------------------------------------------------------


def _slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    mx, my = statistics.mean(xs), statistics.mean(ys)
    below = math.fsum((x - mx) ** 2 for x in xs)
    return math.fsum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True)) / below


def _correlation(xs: Sequence[float], ys: Sequence[float]) -> float:
    mx, my = statistics.mean(xs), statistics.mean(ys)
    below = math.sqrt(math.fsum((x - mx) ** 2 for x in xs) * math.fsum((y - my) ** 2 for y in ys))
    return math.fsum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True)) / below if below else 0.0


ALONG: dict[str, Callable[[Sequence[float], Sequence[float]], float]] = {
    "mean": lambda xs, ys: statistics.mean(ys),
    "deviation": lambda xs, ys: statistics.deviation(ys) or 0.0,
    "range": lambda xs, ys: max(ys) - min(ys),
    "min": lambda xs, ys: min(ys),
    "max": lambda xs, ys: max(ys),
    "slope": _slope,
    "cv": lambda xs, ys: statistics.relative_spread(ys),
    "correlation": _correlation,
    "positive": lambda xs, ys: sum(y > 0 for y in ys) / len(ys),
}
"""Functions that make one number of the values along an axis, from the levels' numbers and the values there."""

ALONE = frozenset({"mean", "min", "max"})
"""Functions for which one level is enough."""


def along(e: Experiment, part: Part, column: Column, values: Sequence[float]) -> float:
    """One number from the values in the cells of a column."""
    if not part.along:
        return values[0]
    axis = e.axis(part.along)
    place = e.names.index(part.along)
    return ALONG[part.reduce]([axis.place(cell[place]) for cell in column], values)


def cases_of(e: Experiment, part: Part) -> list[dict[str, str]]:
    """The levels for which a part is judged one by one; a single case without any where there is no `each`."""
    cases: list[dict[str, str]] = [{}]
    for name in part.each:
        ids = [i for i in part.of.get(name, e.axis(name).ids) if i in e.axis(name).ids]
        if name in e.base and name not in part.of:
            ids = [e.base[name]]
        cases = [{**case, name: i} for case in cases for i in ids]
    return cases
