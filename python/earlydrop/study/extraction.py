"""Values extracted from a result document: a number, a number calculated from a list, or a list."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

from ..analysis import statistics
from ..document import MISSING, steps_of, walk
from ..store.rows import columns_of, names_of
from . import packet_records


class ExtractionError(ValueError):
    """A field of a result document is not of the kind that was asked for."""


def _deviation(values: Sequence[float]) -> float | None:
    return statistics.deviation(values)


def _quantile(share: float) -> Callable[[Sequence[float]], float | None]:
    def quantile(values: Sequence[float]) -> float | None:
        # The smallest value that at least this share of the values does not exceed, as in result documents.
        return sorted(values)[max(0, math.ceil(share * len(values)) - 1)] if values else None

    return quantile


def _changes(values: Sequence[float]) -> float:
    """How often the sign changes; zeros have none."""
    signs = [x > 0 for x in values if x != 0]
    return float(sum(a != b for a, b in pairwise(signs)))


REDUCTIONS: dict[str, Callable[[Sequence[float]], float | None]] = {
    "sum": math.fsum,
    "mean": lambda values: statistics.mean(values) if values else None,
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
    "deviation": _deviation,
    "jain": statistics.jain,
    "cov": statistics.coefficient_of_variation,
    "p50": _quantile(0.50),
    "p95": _quantile(0.95),
    "p99": _quantile(0.99),
    "count": lambda values: float(len(values)),
    "changes": _changes,
    "positive": lambda values: sum(x > 0 for x in values) / len(values) if values else None,
}

TOGETHER = "together"
"""A reduction of several series: how far they rise and fall together."""


def _together(series: Sequence[Sequence[float]]) -> float | None:
    """The mean correlation of two of the series, each pair weighted by the product of its deviations: 1 where all move
    as one, 0 where none knows of another or none moves. It follows from the variance of their sum beside their own."""
    deviations = [_deviation(one) or 0.0 for one in series]
    own = math.fsum(x * x for x in deviations)
    pairs = math.fsum(deviations) ** 2 - own
    whole = _deviation([math.fsum(at) for at in zip(*series, strict=True)])
    if whole is None or len(series) < 2:
        return None
    return (whole * whole - own) / pairs if pairs > 0 else 0.0


def _smaller(of: Sequence[float], to: Sequence[float]) -> list[float]:
    return [b - a for a, b in zip(of, to, strict=True) if a < b]


RATIO = "ratio"
"""A pairing: a number of a run over that of the other run with the same seed."""

PAIRINGS: dict[str, Callable[[Sequence[float], Sequence[float]], float]] = {
    "below": lambda of, to: float(len(_smaller(of, to))),
    "above": lambda of, to: float(len(_smaller(to, of))),
    "below_sum": lambda of, to: math.fsum(_smaller(of, to)),
    "above_sum": lambda of, to: math.fsum(_smaller(to, of)),
}
"""How two runs of the same seed are compared entry by entry: how many entries of the first are smaller or larger than
those of the second, and by how much together."""


def paired(how: str, of: object, to: object) -> float | None:
    """Compare two lists entry by entry; entries without a value on either side are left out. A ratio of two numbers."""
    if how == RATIO:
        return of / to if isinstance(of, float) and isinstance(to, float) and to else None
    if not isinstance(of, list) or not isinstance(to, list) or len(of) != len(to):
        return None
    known = [(a, b) for a, b in zip(of, to, strict=True) if a is not None and b is not None]
    return PAIRINGS[how]([a for a, _ in known], [b for _, b in known])


@dataclass(frozen=True)
class Extraction:
    """A dotted path into the result document and what is done with it.

    A `*` in the path stands for every entry of a list (or of a table). `where` keeps the entries whose fields have
    these values, `at_most` the numbers up to this one. `from_s` and `to_s` cut a time series, whose times are
    `series.time_s`; with `repeat_s` the same part of every period of this length. Several series (a `*` in the path)
    are cut one by one and put together; with `added` they become one, their sum at each time. `when` keeps the entries
    at which other lists of the same length have one of these values.

    Of packet records (`trace`) `where` names the flow, and `at_most` is how many ms after the drop before a drop is
    still of the same burst.
    """

    field: str
    reduce: str = ""
    """A reduction; empty for a plain number, "list" for the list as it is, "times" for a series with its times."""
    where: tuple[tuple[str, Any], ...] = ()
    from_s: float | None = None
    to_s: float | None = None
    at_most: float | None = None
    repeat_s: float | None = None
    minus: str = ""
    """Another list of the same length, which is taken away entry by entry."""
    added: bool = False
    """Whether several series become one, their sum."""
    when: tuple[tuple[str, tuple[float, ...]], ...] = ()

    @property
    def columns(self) -> list[list[str]]:
        """The store's columns that the extraction needs, as `store.rows.columns_of` has them."""
        own = columns_of(self.field)
        if self.reduce in packet_records.REDUCTIONS:
            return [own]
        others = [columns_of(field) for field in (self.minus, *(field for field, _ in self.when)) if field]
        return [own, *names_of(self.field), *others, *([*own[:-1], *key.split(".")] for key, _ in self.where)]

    def __call__(self, document: Mapping[str, Any]) -> Any:
        """The value, None where it has none, MISSING where the document has no such field."""
        if self.reduce in packet_records.REDUCTIONS:
            return self._records(document)
        found = list(walk(document, steps_of(self.field), self.where))
        if not found and self.reduce in {"sum", "count"}:
            return 0.0
        if all(x is MISSING for x in found):
            return MISSING
        starred = "*" in steps_of(self.field)
        if not self.reduce:
            return self._plain(found, starred)
        values = found if starred else found[0]
        if values is None:
            return None
        if not isinstance(values, list):
            raise ExtractionError(f"{self.field} is no list, and cannot be reduced to its {self.reduce}")
        if self.reduce == "list":
            # Numbers are alike, whether a store has them as whole ones or not.
            return [None if x is MISSING or x is None else float(x) if isinstance(x, int) else x for x in values]
        for field, wanted in self.when:
            other = self._beside(document, field, values)
            values = [a if b in wanted else None for a, b in zip(values, other, strict=True)]
        if self.minus:
            other = self._beside(document, self.minus, values)
            values = [None if a is None or b is None else a - b for a, b in zip(values, other, strict=True)]
        if self.added:
            values = self._cut(document, self._sum(values))
        elif starred and any(isinstance(x, list) for x in values):
            several = [self._cut(document, one) for one in values if isinstance(one, list)]
            if self.reduce == TOGETHER:
                return _together(several)
            values = list(chain(*several))
        else:
            values = self._cut(document, values)
        if self.reduce == "times":
            return values
        if self.reduce == TOGETHER:
            raise ExtractionError(f"{self.field} gives no series that could move together")
        numbers = [self._number(x) for x in values if x is not None and x is not MISSING]
        if self.at_most is not None:
            numbers = [x for x in numbers if x <= self.at_most]
        return REDUCTIONS[self.reduce](numbers)

    def _beside(self, document: Mapping[str, Any], field: str, values: list[Any]) -> list[Any]:
        other = next(walk(document, steps_of(field)))
        if not isinstance(other, list) or len(other) != len(values):
            raise ExtractionError(f"{field} is no list as long as {self.field}")
        return other

    def _records(self, document: Mapping[str, Any]) -> Any:
        trace = next(walk(document, steps_of(self.field)))
        if trace is MISSING:
            return MISSING
        if not isinstance(trace, Mapping) or "events" not in trace:
            raise ExtractionError(f"{self.field} has no packet records, of which {self.reduce} is made")
        try:
            return packet_records.reduced(self.reduce, trace, dict(self.where).get("flow"), self.at_most)
        except ValueError as error:
            raise ExtractionError(f"{self.field} {error}") from error

    def _sum(self, series: list[Any]) -> list[float]:
        known = [one for one in series if isinstance(one, list)]
        if not known or len({len(one) for one in known}) > 1 or any(x is None for one in known for x in one):
            raise ExtractionError(f"{self.field} is no set of series of equal length: they cannot be added up")
        return [math.fsum(values) for values in zip(*known, strict=True)]

    def _plain(self, found: list[Any], starred: bool) -> float | None:
        if starred:
            raise ExtractionError(f"{self.field} gives a list; say how to reduce it: {', '.join(REDUCTIONS)}")
        return None if found[0] is None else self._number(found[0])

    def _number(self, value: Any) -> float:
        if isinstance(value, (int, float)):
            return float(value)
        if isinstance(value, list):
            raise ExtractionError(f"{self.field} is a list; say how to reduce it: {', '.join(REDUCTIONS)}")
        raise ExtractionError(f"{self.field} is {'a table' if isinstance(value, dict) else 'no number'}")

    def _cut(self, document: Mapping[str, Any], values: list[Any]) -> list[Any]:
        """The part of a series between two times; with its times for a figure."""
        wanted = self.reduce == "times"
        if self.from_s is None and self.to_s is None and not wanted:
            return values
        times = next(walk(document, _times_of(document, self.field, len(values))), MISSING)
        if not isinstance(times, list) or len(times) != len(values):
            raise ExtractionError(f"{self.field} is no time series: it cannot be cut by from_s and to_s")
        low = -math.inf if self.from_s is None else self.from_s
        high = math.inf if self.to_s is None else self.to_s
        period = self.repeat_s or math.inf
        pairs = [(t, x) for t, x in zip(times, values, strict=True) if low <= _within(t, period) < high]
        return [[t for t, _ in pairs], [x for _, x in pairs]] if wanted else [x for _, x in pairs]


def _within(time: float, period: float) -> float:
    """The place of a time in its period; a sample that stands a rounding before the next one belongs there."""
    if period == math.inf:
        return time
    place = math.fmod(time + 1e-9, period) - 1e-9
    return max(0.0, place)


def _times_of(document: Mapping[str, Any], field: str, count: int) -> list[str]:
    """The field with the times of a series: the nearest `time_s` above it that has as many entries."""
    steps = steps_of(field)
    for depth in range(len(steps) - 1, 0, -1):
        place = [*steps[:depth], "time_s"]
        found = next(walk(document, place), MISSING)
        if isinstance(found, list) and len(found) == count:
            return place
    return [steps[0], "time_s"]
