"""The paper's own figures: looked up by cell, and how well a reading fits them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..analysis import statistics
from .experiment import Experiment
from .model import Printed, Study, Table
from .runs import Outcome
from .select import average_cells


class PrintedValues:
    """Values by the axes they are printed for. A value without a reading holds in every reading."""

    def __init__(self, printed: Sequence[Printed]) -> None:
        self._by_axes: dict[tuple[str, ...], dict[tuple[tuple[str, ...], str], float]] = {}
        for one in printed:
            axes = tuple(sorted(one.at))
            values = self._by_axes.setdefault(axes, {})
            values.setdefault((tuple(one.at[a] for a in axes), one.measure), one.value)

    def value(self, at: Mapping[str, str], measure: str) -> float | None:
        """The value printed for a cell. Axes that the paper does not tell apart are left aside."""
        for axes, values in self._by_axes.items():
            if all(a in at for a in axes):
                found = values.get((tuple(at[a] for a in axes), measure))
                if found is not None:
                    return found
        return None


def printed_values(study: Study, e: Experiment) -> PrintedValues:
    """Everything that the tables and figures of an experiment print."""
    printed: list[Printed] = []
    for shown in study.shown:
        if shown.experiment != e.id:
            continue
        fixed = {name: ids[0] for name, ids in shown.at.items() if len(ids) == 1}
        printed += [Printed({**fixed, **p.at}, p.measure, p.value) for p in shown.printed]
    return PrintedValues(printed)


@dataclass(frozen=True)
class Fit:
    """How far our figures are from a table's, for each level of a reading."""

    table: str
    axis: str
    distances: Mapping[str, tuple[float, int]]
    """Level: mean of |ours / published - 1|, and over how many values."""

    @property
    def best(self) -> str:
        """The level that comes nearest."""
        return min(self.distances, key=lambda name: self.distances[name][0])


def fit(outcome: Outcome, table: Table) -> Fit | None:
    """Which level of the table's reading fits the published figures best; None where nothing can be compared."""
    if not table.fit or not table.printed:
        return None
    e = outcome.study.experiment(table.experiment)
    distances: dict[str, tuple[float, int]] = {}
    for level in e.axis(table.fit).ids:
        found = []
        for one in table.printed:
            cells = average_cells(e, {**table.at, **{a: (i,) for a, i in one.at.items()}}, {table.fit: level})
            ours = outcome.estimate(e, cells, one.measure)
            if ours is not None and one.value:
                found.append(abs(ours.mean / one.value - 1))
        if found:
            distances[level] = (statistics.mean(found), len(found))
    return Fit(table.id, table.fit, distances) if distances else None
