"""Which wins where: the best levels of a factor at each point of the others, by tests of every two of them.

The matrix (matrix.py) is against a control; this needs none. A level is beaten where another one is better after Holm's
correction for all these differences. What is found is plain values, from which text and page are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Protocol

from ..analysis import statistics
from ..analysis.statistics import ALPHA
from ..analysis.words import listing
from ..document import Document

if TYPE_CHECKING:
    from ..analysis.quantity import Quantity
    from ..analysis.statistics import Difference
    from .cells import Cell, Row
    from .model import Sweep

LEVELS, TESTS = 8, 3000
"""The most levels that are compared with one another, and the most tests."""
NONE_BEATEN, LEFT_OUT = "no difference", "not judged"


class Points(Protocol):
    """What is known of the points of a sweep."""

    @property
    def sweep(self) -> Sweep: ...
    def short(self, point: int) -> bool: ...
    def row(self, point: int) -> Row: ...
    def cell(self, row: Row, measure: str) -> Cell: ...
    def between(self, point: int, control: int) -> list[Difference | None]: ...


def best(outcome: Points, judged: Sequence[Quantity]) -> Document | None:
    """The best levels of the factor with the control, or of the first that is no number; None where nothing is tested.

    At a point whose window is too short, a level is left out.
    """
    sweep = outcome.sweep
    names = [f.name for f in sweep.factors]
    chosen = [*(names.index(name) for name in sweep.control), *(k for k, one in enumerate(sweep.numeric) if not one)]
    if not chosen or not judged or sweep.most < 2:
        return None
    at = chosen[0]
    groups: dict[tuple[str, ...], dict[str, int]] = {}
    for k, point in enumerate(sweep.points):
        others = tuple(level.name for f, level in enumerate(point.levels) if f != at)
        groups.setdefault(others, {})[point.levels[at].name] = k
        if len(groups) * len(judged) > TESTS:
            return None
    several = {others: levels for others, levels in groups.items() if 2 <= len(levels) <= LEVELS}
    pairs = [
        (others, a, b)
        for others, levels in several.items()
        for a, b in combinations([name for name, k in levels.items() if not outcome.short(k)], 2)
    ]
    most = max((len(levels) for levels in several.values()), default=0)
    if len(several) < len(groups) or len(pairs) * len(judged) > TESTS or (len(several) < 2 and most < 3):
        return None
    ids = [m.id for m in sweep.measures]
    places = [ids.index(m.id) for m in judged]
    tests: dict[tuple[tuple[str, ...], str, str, int], tuple[float, float, bool]] = {}
    for others, a, b in pairs:
        found = outcome.between(several[others][a], several[others][b])
        for k, place in enumerate(places):
            one = found[place]
            if one is not None and one.estimate.replicates > 1:
                tests[others, a, b, k] = (
                    1.0 if one.t_p is None else one.t_p,
                    one.estimate.mean,
                    one.clear and one.t_p is not None,
                )
    if not tests:
        return None
    holm = statistics.corrected(statistics.holm, [p for p, *_ in tests.values()])
    beaten: set[tuple[tuple[str, ...], int, str]] = set()
    for (others, a, b, k), (_, mean, clear), after in zip(tests, tests.values(), holm, strict=True):
        if clear and after is not None and after < ALPHA:
            beaten.add((others, k, b if (mean < 0) == (judged[k].better == "less") else a))
    factor = sweep.factors[at]
    rows = []
    for others, levels in several.items():
        left_out = [name for name, k in levels.items() if outcome.short(k)]
        cells = {}
        for k, m in enumerate(judged):
            means = {name: outcome.cell(outcome.row(point), m.id).mean for name, point in levels.items()}
            ends = [name for name in levels if name not in left_out and means[name] is not None]
            ends.sort(key=lambda name: (means[name] or 0.0) * (1 if m.better == "less" else -1))
            cells[m.id] = {
                "best": [factor.called(name) for name in ends if (others, k, name) not in beaten],
                "of": len(ends),
            }
        called = iter(others)
        rows.append(
            {
                "levels": [f.called(next(called)) for f in (*sweep.factors[:at], *sweep.factors[at + 1 :])],
                "cells": cells,
                "left_out": [factor.called(name) for name in left_out],
            }
        )
    return {
        "factor": factor.said,
        "heads": [f.head for k, f in enumerate(sweep.factors) if k != at],
        "numbers": [f.said for k, f in enumerate(sweep.factors) if k != at and sweep.numeric[k] and len(f.levels) > 1],
        "measures": [m.id for m in judged],
        "tests": len(tests),
        "rows": rows,
    }


def legend(found: Document) -> str:
    """What the table says, and by which rule."""
    unjudged = any(row["left_out"] for row in found["rows"])
    between = f" Nothing was run between the levels of {listing(found['numbers'])}." if found["numbers"] else ""
    return (
        f"Which wins where, by {found['factor']}: named is what nothing else beats, by tests of every two after Holm's "
        f"correction for {found['tests']:,} differences. Several: none of them beats another; {NONE_BEATEN}: none "
        "beats any."
        + (f" {LEFT_OUT[0].upper()}{LEFT_OUT[1:]}: its window there is too short." if unjudged else "")
        + between
    )


def cells(row: Document) -> list[str]:
    """The texts of a row, a measure each."""
    return [_cell(one, row["left_out"]) for one in row["cells"].values()]


def _cell(cell: Document, left_out: Sequence[str]) -> str:
    named = list(cell["best"])
    if cell["of"] < 2:
        return LEFT_OUT if left_out else "-"
    said = NONE_BEATEN if len(named) == cell["of"] else ", ".join(named)
    return f"{said} ({LEFT_OUT}: {', '.join(left_out)})" if left_out else said
