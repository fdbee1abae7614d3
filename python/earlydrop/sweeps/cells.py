"""Results of a sweep at one point: means over seeds, and tests against the control."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..analysis import statistics
from .plan import Array

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Cell:
    """A measure at a point; None where a run lacks the value, no interval for a single replication."""

    mean: float | None
    lower: float | None = None
    upper: float | None = None
    """Ends of the interval, cut at the smallest and the largest value the measure can take."""
    half_width: float | None = None
    """Half-width of the interval before it is cut."""
    n: int = 0
    """Number of seeds."""
    replicates: int = 0
    """Number of independent values: 1 where every seed gave the same run."""

    @property
    def ends(self) -> tuple[float, float] | None:
        """Lower and upper end of the interval."""
        return None if self.lower is None or self.upper is None else (self.lower, self.upper)

    def document(self) -> dict[str, float | int | None]:
        """Plain values."""
        return vars(self).copy()


@dataclass(frozen=True)
class Pair:
    """A point and the control that differs from it only in one factor."""

    factor: str
    point: int
    control: int


@dataclass(frozen=True)
class Tests:
    """The t tests of all differences."""

    places: Sequence[int]
    """Place of each tested difference: the pair's number times the number of measures, plus the measure's number."""
    holm: Array
    """p values after Holm's correction."""
    benjamini_hochberg: Array
    """p values after Benjamini and Hochberg's. NaN in both where a single replication leaves nothing to test."""
    clear: Array
    """Whether the interval of each difference excludes zero."""
    count: int
    """The number of differences for which is corrected: those that are equal in all runs are tests, too."""

    @property
    def tested(self) -> int:
        """Number of differences with a p value."""
        return int((~np.isnan(self.holm)).sum())

    @property
    def holding(self) -> Array:
        """Whether each difference is significant after Holm's correction."""
        found: Array = self.clear & (self.holm < statistics.ALPHA)
        return found


@dataclass(frozen=True)
class Row:
    """A point and its finished runs."""

    number: int
    seeds: list[int]
    table: Array
    """One column per measure, one value per seed; NaN where it is missing."""
    measures: tuple[str, ...]
    same_run: bool = False
    """Whether every seed gave the same run."""
    sending_ms: float = 0.0
    """Time to send a packet at the compared queue, ms, of the run where it is longest; 0 if not known."""

    def column(self, measure: str) -> list[float]:
        """The values of a measure, one per seed; NaN where it is missing."""
        found: list[float] = self.table[:, self.measures.index(measure)].tolist()
        return found

    def series(self, measure: str) -> list[float]:
        """The values of a measure; empty if any is missing."""
        return complete(self.column(measure))


def complete(values: list[float]) -> list[float]:
    """The values; None if any is missing."""
    return [] if any(map(math.isnan, values)) else values
