"""What a sweep found: for each point and measure the mean over its seeds, and paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .. import statistics
from ..documents import Document
from ..statistics import Difference, Estimate, Warmup
from ..store import Store
from .execute import Failure, Tally
from .model import Point, Sweep
from .plan import Plan, label

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True)
class Cell:
    """A measure at a point: mean, ends of its interval, number of seeds; None where a run has no such value."""

    mean: float | None
    lower: float | None
    upper: float | None
    n: int

    def document(self) -> dict[str, float | int | None]:
        """Plain values."""
        half = None if self.lower is None or self.upper is None else (self.upper - self.lower) / 2
        return {"mean": self.mean, "lower": self.lower, "upper": self.upper, "half_width": half, "n": self.n}


NOTHING = Cell(None, None, None, 0)


@dataclass(frozen=True)
class Pair:
    """A point against the one that differs from it only in a factor's control level."""

    factor: str
    point: int
    control: int


@dataclass
class Outcome:
    """The results of a sweep, read from its store."""

    plan: Plan
    frame: polars.DataFrame
    """One row a run that is there, in the order of the points and seeds: `point`, `seed` and the measures."""
    tally: Tally
    version: str
    warmups: dict[int, Warmup] = field(default_factory=dict)
    """What MSER-5 says of the warm-up, by point."""

    @property
    def sweep(self) -> Sweep:
        """What was asked for."""
        return self.plan.sweep

    @cached_property
    def values(self) -> dict[str, list[list[float | None]]]:
        """By measure and point: one value a seed, in the order of the seeds."""
        grouped = self.frame.group_by("point", maintain_order=True).agg(m.id for m in self.sweep.measures)
        found: dict[str, list[list[float | None]]] = {
            m.id: [[] for _ in self.sweep.points] for m in self.sweep.measures
        }
        for row in grouped.iter_rows(named=True):
            for m in self.sweep.measures:
                found[m.id][row["point"]] = row[m.id]
        return found

    @cached_property
    def seeds(self) -> list[list[int]]:
        """By point: the seeds that are there."""
        found: list[list[int]] = [[] for _ in self.sweep.points]
        for point, seeds in self.frame.group_by("point", maintain_order=True).agg("seed").iter_rows():
            found[point] = seeds
        return found

    def series(self, measure: str, point: int) -> list[float]:
        """The values of a measure at a point; empty if any is missing."""
        values = self.values[measure][point]
        return [v for v in values if v is not None] if None not in values else []

    @cached_property
    def cells(self) -> dict[str, list[Cell]]:
        """By measure and point."""
        return {m.id: [self._cell(m.id, k) for k in range(len(self.sweep.points))] for m in self.sweep.measures}

    def _cell(self, measure: str, point: int) -> Cell:
        values = self.series(measure, point)
        if not values:
            return NOTHING
        if self.sweep.interval == "bootstrap":
            lower, upper = statistics.bootstrap(values) or (None, None)
            return Cell(statistics.mean(values), lower, upper, len(values))
        found: Estimate = statistics.estimate(values)
        return Cell(found.mean, found.lower, found.upper, found.n)

    @cached_property
    def pairs(self) -> list[Pair]:
        """Each point with its control, factor by factor."""
        names = [f.name for f in self.sweep.factors]
        places = {tuple(level.name for level in p.levels): k for k, p in enumerate(self.sweep.points)}
        found = []
        for factor, control in self.sweep.control.items():
            at = names.index(factor)
            for levels, k in places.items():
                other = (*levels[:at], control, *levels[at + 1 :])
                if levels[at] != control and other in places:
                    found.append(Pair(factor, k, places[other]))
        return found

    @cached_property
    def differences(self) -> list[tuple[Pair, str, Difference]]:
        """Each pair and measure, over the seeds that both points have."""
        found = []
        for pair in self.pairs:
            here, there = self.seeds[pair.point], self.seeds[pair.control]
            both = [s for s in here if s in set(there)] if here != there else here
            for m in self.sweep.measures:
                mine = self._at(m.id, pair.point, here, both)
                other = self._at(m.id, pair.control, there, both)
                if mine and other:
                    found.append((pair, m.id, statistics.paired(mine, other)))
        return found

    def _at(self, measure: str, point: int, seeds: Sequence[int], wanted: Sequence[int]) -> list[float]:
        values = self.values[measure][point]
        if seeds != wanted:
            by_seed = dict(zip(seeds, values, strict=True))
            values = [by_seed[s] for s in wanted]
        return [v for v in values if v is not None] if None not in values else []

    @cached_property
    def corrected(self) -> list[tuple[float, float]]:
        """p values of the t tests of all differences, after Holm and after Benjamini-Hochberg."""
        ps = [d.t_p for _, _, d in self.differences]
        return list(zip(statistics.holm(ps), statistics.benjamini_hochberg(ps), strict=True))

    @property
    def warnings(self) -> list[str]:
        """What the reader should know before believing the figures."""
        sweep = self.sweep
        found = [w.sentence(label(sweep, sweep.points[k])) for k, w in self.warmups.items() if w.short]
        if sweep.stop is not None:
            wide = [
                k
                for k in range(len(sweep.points))
                for m in sweep.stop_measures
                if (values := self.series(m, k)) and not sweep.stop.narrow(values)
            ]
            if wide:
                found.append(
                    f"{len(set(wide))} of {len(sweep.points)} points are not as narrow as asked for after "
                    f"{sweep.stop.most} seeds"
                )
        return found

    def document(self) -> Document:
        """Everything as plain values."""
        sweep = self.sweep
        points = [
            {
                "levels": levels_of(sweep, point),
                "set": dict(point.sets),
                "scenario_key": self.plan.keys[k],
                "first_seed": self.plan.first[k],
                "seeds": len(self.seeds[k]),
                "cells": {m.id: self.cells[m.id][k].document() for m in sweep.measures},
            }
            for k, point in enumerate(sweep.points)
        ]
        differences = [
            {
                "factor": pair.factor,
                "point": pair.point,
                "control": pair.control,
                "measure": m,
                **d.document(),
                "t_test_p_holm": after[0],
                "t_test_p_bh": after[1],
            }
            for (pair, m, d), after in zip(self.differences, self.corrected, strict=True)
        ]
        return {
            "kind": "sweep",
            "name": sweep.name,
            "title": sweep.title,
            "version": self.version,
            "queue": sweep.queue,
            "design": sweep.design,
            "interval": sweep.interval,
            "control": dict(sweep.control),
            "factors": [
                {
                    "name": f.name,
                    "title": f.title,
                    "unit": f.unit,
                    "range": [f.low, f.high] if f.ranged else None,
                    "log": f.log,
                    "levels": [{"name": x.name, "value": x.value} for x in f.levels],
                }
                for f in sweep.factors
            ],
            "measures": {
                m.id: {"title": m.title, "unit": m.unit, "field": m.field, "digits": m.digits, "scale": m.scale}
                for m in sweep.measures
            },
            "scenario": sweep.document,
            "runs": self.tally.total,
            "points": points,
            "differences": differences,
            "warmup": [{"point": k, **w.document()} for k, w in self.warmups.items()],
            "warnings": self.warnings,
            "failures": [failure_document(sweep, f) for f in self.tally.failures],
            "failed": self.tally.failed,
        }


def levels_of(sweep: Sweep, point: Point) -> dict[str, Any]:
    """The value of each factor."""
    return {f.name: level.value for f, level in zip(sweep.factors, point.levels, strict=True)}


def failure_document(sweep: Sweep, failure: Failure) -> Document:
    """A failed run with its scenario: what to run to see it again."""
    point = sweep.points[failure.point]
    return {
        "levels": levels_of(sweep, point),
        "seed": failure.seed,
        "set": dict(point.sets),
        "reason": failure.reason,
    }


def read(plan: Plan, store: Store, tally: Tally, version: str) -> Outcome:
    """Read the measures of all runs of a sweep from its store."""
    import polars as pl

    sweep = plan.sweep
    rows = plan.table().with_row_index("row")
    keys = rows.select("scenario_key", "seed").unique()
    found = store.read(keys, list(dict.fromkeys(m.field for m in sweep.measures)))
    frame = rows.join(found, on=["scenario_key", "seed"], how="inner").sort("row")
    columns = [
        (pl.col(m.field).cast(pl.Float64) * m.scale if m.field in found.columns else pl.lit(None, pl.Float64)).alias(
            m.id
        )
        for m in sweep.measures
    ]
    return Outcome(plan, frame.select("point", "seed", *columns), tally, version)


def wanted_seeds(outcome: Outcome) -> list[int]:
    """How many seeds each point should have by the sweep's rule for stopping."""
    sweep = outcome.sweep
    assert sweep.stop is not None
    counts = []
    for k, now in enumerate(outcome.plan.counts):
        series = [outcome.series(m, k) for m in sweep.stop_measures]
        # A point of which runs fail is not run for ever.
        wanted = [sweep.stop.wanted(v) for v in series if len(v) >= now]
        counts.append(max(now, max(wanted, default=now)))
    return counts


def clear(difference: Difference, after: tuple[float, float]) -> int:
    """Stars of a difference: its interval excludes zero; and after Holm's correction too."""
    return 0 if not difference.clear else 1 + (after[0] < statistics.ALPHA)


def finite(value: float | None) -> bool:
    """Whether there is a number."""
    return value is not None and math.isfinite(value)
