"""Points to runs: every point is passed by the checker and gets its key before the first run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _core
from ..runner import Progress, no_progress
from ..store import scenario_key
from .model import Point, Sweep
from .reading import Mistakes, one_line

if TYPE_CHECKING:
    import polars

SHOWN = 5
"""So many different mistakes of points are named."""


@dataclass
class Plan:
    """The points of a sweep with the keys of their scenarios, and how many seeds each has by now."""

    sweep: Sweep
    keys: list[str]
    first: list[int]
    counts: list[int]

    @property
    def runs(self) -> int:
        """Runs of all points; equal scenarios count as often as they stand there."""
        return sum(self.counts)

    def table(self) -> polars.DataFrame:
        """One row a run: `point`, `scenario_key`, `seed`, in the order of the points and their seeds."""
        import numpy as np
        import polars as pl

        counts = np.asarray(self.counts)
        points = np.repeat(np.arange(len(counts), dtype=np.uint32), counts)
        starts = np.repeat(np.asarray(self.first, np.int64), counts)
        within = np.arange(len(points)) - np.repeat(counts.cumsum() - counts, counts)
        keys = pl.Series(self.keys, dtype=pl.String).gather(pl.Series(points))
        return pl.DataFrame({"point": points, "scenario_key": keys, "seed": starts + within})


def label(sweep: Sweep, point: Point) -> str:
    """A point in words."""
    return ", ".join(f"{f.name} = {level.name}" for f, level in zip(sweep.factors, point.levels, strict=True))


def plan(sweep: Sweep, progress: Progress = no_progress) -> Plan:
    """Check every point.

    Raises:
        SweepError: the checker refuses some; the message names the different reasons, each with one such point.
    """
    keys: list[str] = []
    wrong: dict[str, tuple[int, Point]] = {}
    for number, point in enumerate(sweep.points):
        if number % 1000 == 0:
            progress(number, len(sweep.points), f"{sweep.name}: checking points")
        try:
            keys.append(scenario_key(_core.Scenario.parse(sweep.document, point.sets).to_json()))
        except _core.ScenarioError as error:
            reason = f"{error.path}: {error.message}" if error.path else one_line(error)
            count, first = wrong.get(reason, (0, point))
            wrong[reason] = (count + 1, first)
    if wrong:
        mistakes = Mistakes(sweep.file)
        for _, (count, point) in list(wrong.items())[:SHOWN]:
            try:
                _core.Scenario.parse(sweep.document, point.sets)
            except _core.ScenarioError as error:
                also = f" (and {count - 1} points more)" if count > 1 else ""
                mistakes.add(f"point {label(sweep, point)}{also}", f"{one_line(error)}; `where` can leave points out")
        if len(wrong) > SHOWN:
            mistakes.add("", f"and points with {len(wrong) - SHOWN} other mistakes")
        raise mistakes.error()
    return Plan(sweep, keys, sweep.first_seeds(), [sweep.seeds] * len(keys))


def point_values(sweep: Sweep) -> dict[str, list[Any]]:
    """A column a factor: the value of each point, numbers where all are."""
    found: dict[str, list[Any]] = {}
    for k, factor in enumerate(sweep.factors):
        values = [p.levels[k].value for p in sweep.points]
        numeric = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
        found[factor.name] = [float(v) for v in values] if numeric else [p.levels[k].name for p in sweep.points]
    return found


def checked_document(sweep: Sweep, point: Point) -> dict[str, Any]:
    """The whole scenario of a point, with every default."""
    document: dict[str, Any] = json.loads(_core.Scenario.parse(sweep.document, point.sets).to_json())
    return document
