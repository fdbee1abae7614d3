"""Results of a sweep: for each point and measure the mean over seeds, and paired differences."""

from __future__ import annotations

import json
import math
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..analysis import measures, overflows, statistics, window
from ..analysis.paired import passing_note
from ..analysis.quantity import Quantity
from ..analysis.statistics import Difference, Estimate
from ..analysis.window import Window
from ..document import Document
from ..store import DIGEST, Store
from ..store.names import Index, firsts, of_texts, words
from ..store.rows import columns_of, documents, matches, names_of
from . import settings
from .best import best
from .cells import Cell, Pair, Row, Tests, complete
from .execute import Failure, Tally
from .lazy import Lazy
from .matrix import matrix
from .matrix_text import Matrix
from .model import Factor, Point, Sweep
from .parts import is_pooled
from .plan import Array, Plan, label
from .row_file import Table
from .words import spoken, summary

T = TypeVar("T")

if TYPE_CHECKING:
    import polars


NOTHING = Cell(None)


PIECE, KEPT = 8192, 4
"""Runs that are read as one piece, and number of pieces that are kept."""
IDLE_POINTS = 1000
"""The most points that are looked at for disciplines that never acted."""


@dataclass
class Outcome:
    """The results of a sweep, read from its store.

    What depends on the number of runs is in a file; `rows` goes through the points, and everything that is asked for by
    its point is read when it is asked for.
    """

    plan: Plan
    table: Table
    tally: Tally
    version: str
    warmups: dict[int, Window | None] = field(default_factory=dict)
    """What is known of the measured window at the points that were examined; None where it has no steady mean."""
    passing: bool = False
    """Whether there is a run in which not all flows pass the measured queue."""
    idle: tuple[str, ...] = ()
    """Disciplines that never acted and where, in sentences."""
    unused: Array | None = None
    """For each point whether no queue formed in any of its runs."""
    _pieces: OrderedDict[tuple[int, int], tuple[Array, Array]] = field(default_factory=OrderedDict, repr=False)

    @property
    def sweep(self) -> Sweep:
        """The sweep that was asked for."""
        return self.plan.sweep

    def short(self, point: int) -> bool:
        """Whether the window of a point is too short for its means."""
        judged = self.warmups.get(point)
        return judged is not None and judged.short

    @property
    def short_pairs(self) -> frozenset[tuple[str, int]]:
        """Factors and points of the pairs that no sentence judges: the window of the point, or of its control, is too
        short.
        """
        if not any(map(self.short, self.warmups)):
            return frozenset()
        short = {k for k in self.warmups if self.short(k)}
        return frozenset((one.factor, one.point) for one in self.pairs if {one.point, one.control} & short)

    def source(self) -> list[str | bytes]:
        """The data from which every statement on the results follows."""
        plan, sweep = self.plan, self.plan.sweep
        given = [sweep.text, json.dumps(sweep.document, sort_keys=True), self.version, *plan.warnings]
        return [*given, *(a.tobytes() for a in (plan.words, plan.first, plan.counts)), self.table.digest()]

    @property
    def frame(self) -> polars.DataFrame:
        """One row per run that is there, in the order of the points and seeds: `point`, `seed` and the measures."""
        import polars as pl

        kinds = {"point": pl.UInt32, "seed": pl.Int64, **{m.id: pl.Float64 for m in self.sweep.measures}}
        return pl.concat([pl.DataFrame(schema=kinds), *self.frames()])

    def frames(self, runs: int = PIECE) -> Iterator[polars.DataFrame]:
        """The frame in pieces of about `runs` runs."""
        import polars as pl

        points = 0
        while points < len(self.plan.counts):
            end = points + max(1, int(np.searchsorted(np.cumsum(self.plan.counts[points : points + runs]), runs)))
            columns: list[list[Array]] = []
            for k in range(points, min(end, len(self.plan.counts))):
                there, values = self._read(k)
                at = np.flatnonzero(there)
                columns.append([np.full(len(at), k, np.uint32), self.plan.first[k] + at, values[at]])
            numbers, seeds, rows = (np.concatenate(c) for c in zip(*columns, strict=True))
            measures = {m.id: pl.Series(rows[:, k]).fill_nan(None) for k, m in enumerate(self.sweep.measures)}
            yield pl.DataFrame({"point": numbers, "seed": seeds, **measures})
            points = end

    def _read(self, point: int) -> tuple[Array, Array]:
        """Which runs of a point are there, and their values."""
        start, end = self.plan.rows.at(point)
        piece = start // PIECE * PIECE
        key = (piece, max(piece + PIECE, end))
        if key not in self._pieces:
            self._pieces[key] = self.table.get(*key)
            if len(self._pieces) > KEPT:
                self._pieces.popitem(last=False)
        self._pieces.move_to_end(key)
        there, values = self._pieces[key]
        return there[start - piece : end - piece], values[start - piece : end - piece]

    def row(self, point: int) -> Row:
        """A point with its runs."""
        there, values = self._read(point)
        at = np.flatnonzero(there)
        seeds = (int(self.plan.first[point]) + at).tolist()
        sending, digests = values[at, -2], values[at, -1]
        same = len(at) > 1 and bool((digests == digests[0]).all())
        return Row(point, seeds, values[at, :-2], self._measures, same, float(np.nan_to_num(sending).max(initial=0.0)))

    @cached_property
    def _measures(self) -> tuple[str, ...]:
        return tuple(m.id for m in self.sweep.measures)

    def rows(self) -> Iterator[Row]:
        """All points, in order."""
        return map(self.row, range(len(self.sweep.points)))

    @property
    def values(self) -> dict[str, Sequence[list[float | None]]]:
        """For each measure and point, one value per seed, in the order of the seeds."""
        return {m.id: self._lazy(partial(self._values, m.id)) for m in self.sweep.measures}

    def _values(self, measure: str, point: int) -> list[float | None]:
        return [None if math.isnan(v) else v for v in self.row(point).column(measure)]

    @property
    def seeds(self) -> Sequence[list[int]]:
        """The seeds of each point that have a run."""
        return self._lazy(lambda k: self.row(k).seeds)

    def _lazy(self, make: Callable[[int], T]) -> Lazy[T]:
        return Lazy(len(self.sweep.points), make)

    def series(self, measure: str, point: int) -> list[float]:
        """The values of a measure at a point; empty if any is missing."""
        return self.row(point).series(measure)

    @property
    def cells(self) -> dict[str, Sequence[Cell]]:
        """Cells by measure and point."""
        return {m.id: self._lazy(partial(self._cell, m.id)) for m in self.sweep.measures}

    def _cell(self, measure: str, point: int) -> Cell:
        return self.cell(self.row(point), measure)

    def row_cells(self, row: Row) -> dict[str, Cell]:
        """The cell of a point for each measure."""
        return {m.id: self.cell(row, m.id) for m in self.sweep.measures}

    def cell(self, row: Row, measure: str) -> Cell:
        """A measure at a point."""
        values = row.series(measure)
        if not values:
            return NOTHING
        found: Estimate = statistics.estimate(values, same_run=row.same_run)
        ends = found.within(self.sweep.measure(measure).bounds)
        half = found.half_width
        if self.sweep.interval == "bootstrap" and ends is not None:
            # A bootstrap interval lies between the smallest and the largest value that was seen.
            ends = statistics.bootstrap(values)
            half = None if ends is None else (ends[1] - ends[0]) / 2
        lower, upper = ends or (None, None)
        return Cell(found.mean, lower, upper, half, found.n, found.replicates)

    # ---- differences from the control ----------------------------------------------------------------------------

    @cached_property
    def pairs(self) -> Sequence[Pair]:
        """Each point paired with its control, factor by factor."""
        sweep = self.sweep
        if not sweep.control:
            return ()
        names = [f.name for f in sweep.factors]
        levels = of_texts(repr([level.name for level in p.levels]) for p in sweep.points)
        first = firsts(levels)
        # Of points with the same levels the last one counts.
        last = np.empty(len(first), np.int64)
        last[first] = np.arange(len(first))
        index = Index()
        own = np.flatnonzero(first == np.arange(len(first)))
        index.put(levels[own], last[own])
        factors, points, controls = array("B"), array("I"), array("I")
        for number, (factor, control) in enumerate(sweep.control.items()):
            at = names.index(factor)
            for k in last[own].tolist():
                here = [level.name for level in sweep.points[k].levels]
                if here[at] == control:
                    continue
                here[at] = control
                (other,) = index.find(of_texts([repr(here)])).tolist()
                if other >= 0:
                    factors.append(number)
                    points.append(k)
                    controls.append(other)
        named = list(sweep.control)
        return Lazy(len(points), lambda i: Pair(named[factors[i]], points[i], controls[i]))

    @cached_property
    def tests(self) -> Tests:
        """The t tests of all differences."""
        places, ps, clear_, tested_ = array("Q"), array("d"), array("B"), array("B")
        measures = len(self.sweep.measures)
        for number in range(len(self.pairs)):
            for k, found in enumerate(self._compared(number)):
                if found is not None:
                    p = found.t_p
                    places.append(number * measures + k)
                    ps.append(math.nan if p is None else p)
                    clear_.append(found.clear)
                    tested_.append(found.estimate.replicates > 1)
        plain, tested = np.asarray(ps, float), np.asarray(tested_, bool)
        # Differences that are all equal have no p value, and count as tests that found nothing.
        known = tested & ~np.isnan(plain)
        filled = np.where(known, plain, 1.0)
        holm, bh = np.full(len(plain), math.nan), np.full(len(plain), math.nan)
        holm[tested] = statistics.holm_array(filled[tested])
        bh[tested] = statistics.benjamini_hochberg_array(filled[tested])
        holm[~known] = bh[~known] = math.nan
        return Tests(places, holm, bh, np.asarray(clear_, bool), int(tested.sum()))

    def _compared(self, number: int) -> list[Difference | None]:
        """The differences of a pair, by measure."""
        pair = self.pairs[number]
        return self.between(pair.point, pair.control)

    def between(self, point: int, control: int) -> list[Difference | None]:
        """The differences of a point from another, by measure, over the seeds that both have."""
        here, there = self.row(point), self.row(control)
        both = here.seeds
        if here.seeds != there.seeds:
            common = set(there.seeds)
            both = [s for s in here.seeds if s in common]
        found: list[Difference | None] = []
        for m in self.sweep.measures:
            mine, other = _at(here, m.id, both), _at(there, m.id, both)
            same = here.same_run and there.same_run
            step = self._step(m, max(here.sending_ms, there.sending_ms), max([*mine, *other], default=0.0))
            found.append(statistics.paired(mine, other, same_run=same, step=step) if mine and other else None)
        return found

    def _step(self, measure: Quantity, sending_ms: float, largest: float) -> float:
        """What one packet changes in a percentile of the compared queue's delay."""
        if not measure.fields or not measures.is_percentile(measure.field, self.sweep.queue):
            return 0.0
        return measure.scale * max(sending_ms, measures.bin_ms(largest / measure.scale))

    @property
    def differences(self) -> Sequence[tuple[Pair, str, Difference]]:
        """Differences for each pair and measure, over the seeds that both points have."""
        places, measures = self.tests.places, self.sweep.measures
        before: dict[int, list[Difference | None]] = {}

        def one(k: int) -> tuple[Pair, str, Difference]:
            number, measure = divmod(places[k], len(measures))
            if number not in before:
                before.clear()
                before[number] = self._compared(number)
            found = before[number][measure]
            assert found is not None
            return self.pairs[number], measures[measure].id, found

        return Lazy(len(places), one)

    @property
    def corrected(self) -> Sequence[tuple[float | None, float | None]]:
        """p values of the t tests of all differences, after Holm and after Benjamini-Hochberg."""
        tests = self.tests

        def one(k: int) -> tuple[float | None, float | None]:
            holm, bh = float(tests.holm[k]), float(tests.benjamini_hochberg[k])
            return (None, None) if math.isnan(holm) else (holm, bh)

        return Lazy(len(tests.places), one)

    # ---- as plain values -----------------------------------------------------------------------------------------

    @cached_property
    def fixed(self) -> list[int]:
        """Points at which every seed gave the same run."""
        return [row.number for row in self.rows() if row.same_run]

    @cached_property
    def summary(self) -> list[str]:
        """What was found, in a few sentences."""
        return summary(self)

    @cached_property
    def matrix(self) -> Matrix:
        """Wins, ties and losses of the control, where the comparisons are many."""
        return matrix(self)

    @cached_property
    def best(self) -> Document | None:
        """Which level of a factor is best at each point of the others."""
        return best(self, [m for m in spoken(self.sweep) if m.better is not None])

    @property
    def notes(self) -> list[str]:
        """Whose figures they are where not all flows count, and why points have no interval."""
        found = [passing_note(self.sweep.queue, self.sweep.measures)] if self.passing else []
        if not self.fixed:
            return [note for note in found if note]
        count, seeds = len(self.sweep.points), max(int(self.plan.counts[k]) for k in self.fixed)
        where = [] if len(self.fixed) == count else [f"{len(self.fixed):,} of {count:,} points"]
        return [*(note for note in found if note), statistics.same_run_note(seeds, where)]

    @property
    def warnings(self) -> list[str]:
        """What the reader should know before believing the figures."""
        sweep = self.sweep
        found = [*self.plan.warnings, *self.idle]
        judged = {label(sweep, sweep.points[k]): w for k, w in self.warmups.items() if w is not None}
        found += window.sentences(judged)
        if sweep.stop is not None and self._wide:
            found.append(
                f"{self._wide} of {len(sweep.points)} points are not as narrow as asked for after "
                f"{sweep.stop.most} seeds"
            )
        return found

    @cached_property
    def _wide(self) -> int:
        """Points whose intervals are wider than the rule for stopping asks for."""
        sweep = self.sweep
        assert sweep.stop is not None
        narrow = sweep.stop.narrow
        every = ([row.series(m) for m in sweep.stop_measures] for row in self.rows())
        return sum(any(values and not narrow(values) for values in series) for series in every)

    def point_document(self, row: Row, cells: Mapping[str, Cell]) -> Document:
        """A point with its cells."""
        point = self.sweep.points[row.number]
        return {
            "levels": levels_of(self.sweep, point),
            "set": dict(point.sets),
            "scenario_key": self.plan.keys[row.number],
            "first_seed": int(self.plan.first[row.number]),
            "seeds": len(row.seeds),
            "replicates": 1 if row.same_run else len(row.seeds),
            "cells": {name: cell.document() for name, cell in cells.items()},
        }

    def document(self) -> Document:
        """Everything as plain values."""
        points = [self.point_document(row, self.row_cells(row)) for row in self.rows()]
        differences = [
            difference_document(*one, after) for one, after in zip(self.differences, self.corrected, strict=True)
        ]
        return {**self.head(), "points": points, "differences": differences, **self.tail()}

    def head(self) -> Document:
        """The part of the document before the points."""
        sweep = self.sweep
        return {
            "kind": "sweep",
            "name": sweep.name,
            "title": sweep.title,
            "version": self.version,
            "queue": sweep.queue,
            "summary": self.summary,
            "design": sweep.design,
            "interval": sweep.interval,
            "control": dict(sweep.control),
            "factors": [
                {
                    "name": f.name,
                    "title": f.title,
                    "head": f.head,
                    "plain": plain,
                    "unit": f.unit,
                    "range": [f.low, f.high] if f.ranged else None,
                    "log": f.log,
                    "levels": _levels(f),
                }
                for f, plain in zip(sweep.factors, sweep.plain, strict=True)
            ],
            "measures": {m.id: m.document() for m in sweep.measures},
            "parts": [{"title": part.title, "index": part.index} for part in sweep.parts or ()],
            "pooled": [m.id for m in sweep.measures if is_pooled(sweep, m)],
            "scenario": sweep.document,
            "runs": self.tally.total,
        }

    def tail(self) -> Document:
        """The part of the document after the differences."""
        sweep = self.sweep
        return {
            "warmup": [{"point": k, **w.document()} for k, w in self.warmups.items() if w is not None],
            "examined": list(self.warmups),
            "matrix": self.matrix.cells,
            "order_changes": self.matrix.changes,
            **({} if self.best is None else {"best": self.best}),
            "notes": self.notes,
            "warnings": self.warnings,
            "failures": [failure_document(sweep, f) for f in self.tally.failures],
            "failed": self.tally.failed,
        }


def _levels(factor: Factor) -> list[Document]:
    """The levels of a factor; of those with labels also what they set."""
    said = settings.by_label(factor)
    return [
        {
            "name": x.name,
            "title": factor.called(x.name),
            "value": x.value,
            **({"settings": said[x.name]} if x.name in said else {}),
        }
        for x in factor.levels
    ]


def _at(row: Row, measure: str, seeds: Sequence[int]) -> list[float]:
    """The values of a measure at some of a point's seeds; empty if any is missing."""
    values = row.column(measure)
    if row.seeds != seeds:
        by_seed = dict(zip(row.seeds, values, strict=True))
        values = [by_seed[s] for s in seeds]
    return complete(values)


def difference_document(
    pair: Pair, measure: str, difference: Difference, after: tuple[float | None, float | None]
) -> Document:
    """A difference as plain values."""
    return {
        "factor": pair.factor,
        "point": pair.point,
        "control_point": pair.control,
        "measure": measure,
        **difference.document(),
        "t_test_p_holm": after[0],
        "t_test_p_bh": after[1],
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


def collect(plan: Plan, store: Store, tally: Tally, version: str) -> Outcome:
    """Read the measures of all runs of a sweep from its store."""
    import polars as pl

    asked = plan.sweep.measures
    rows = plan.rows
    # Behind the measures of a run stand the time that a packet takes to send, and its digest.
    table = Table(rows.total, len(asked) + 2)
    queue = plan.sweep.queue
    counted = [f"queues.{queue}.{name}" for name in measures.PACKET]
    timed = any(measures.is_percentile(m.field, queue) for m in asked if m.fields)
    passing = False
    find = plan.finder()
    fields = overflows.fields(plan.sweep.queue)
    there, never, empty = (np.zeros(rows.total, bool) for _ in range(3))

    def take(found: polars.DataFrame) -> None:
        places = find(words(found["scenario_key"].to_list()), found["seed"].to_numpy())
        here = places >= 0
        if not here.any():
            return
        mine = found.filter(pl.Series(here))
        # What no column is by its name is looked up in the documents, as everywhere else.
        looked = _looked_up([m for m in asked if not set(m.fields) & set(found.columns)], mine, plan.sweep, version)
        columns = [
            looked[m.id] if m.id in looked else (_first_of(m.fields, found) * m.scale).fill_null(math.nan).alias(m.id)
            for m in asked
        ]
        nonlocal passing
        passing = passing or any(found[m.passing].count() > 0 for m in asked if m.passing in found.columns)
        sending = pl.lit(None, pl.Float64)
        if timed and set(counted) <= set(found.columns):
            packets, size, used, rate = (pl.col(name).cast(pl.Float64) for name in counted)
            sending = measures.sending_ms(packets, size, used, rate)
        columns.append(sending.fill_null(math.nan).alias("time to send a packet"))
        columns.append(pl.col(DIGEST).cast(pl.Float64).alias(f"{DIGEST} of the run"))
        table.put(places[here], mine.select(columns).to_numpy())
        there[places[here]] = True
        if set(fields.values()) <= set(found.columns):
            acts = pl.sum_horizontal(fields[name] for name in ("early_drops", "forced_drops", "marks"))
            idle = (pl.col(fields["overflow_drops"]) > 0) & (acts == 0) & ~pl.col(fields["aqm"]).is_in(overflows.PLAIN)
            never[places[here]] = mine.select(idle.fill_null(False)).to_series().to_numpy()
            used = pl.col(fields["utilisation"])
            packet_ms = pl.col(fields["departed_bytes"]) * 8e-3 / pl.col(fields["departures"])
            waits = pl.col(fields["delay_mean_ms"]) * pl.col(fields["throughput_mbps"]) / used / packet_ms
            nothing = (acts == 0) & (pl.col(fields["overflow_drops"]) == 0) & (used < overflows.NOT_FULL) & (waits < 1)
            empty[places[here]] = mine.select(nothing.fill_null(False)).to_series().to_numpy()

    wanted = lambda: ((keys, seeds) for _, keys, seeds in rows.pieces())  # noqa: E731
    names = {*(name for m in asked for name in m.fields), DIGEST, *fields.values(), *(counted if timed else ())}
    patterns = [p for m in asked for name in m.fields for p in (columns_of(name), *names_of(name)) if "." in name]
    whole = any(m.function is not None for m in asked)

    # Every part of the store has the same names.
    @cache
    def chosen(name: str) -> bool:
        return whole or name in names or any(matches(name, pattern) for pattern in patterns)

    store.gather(wanted, chosen, take, version)
    idle = tuple(_never_acted(plan, there, never))
    unused = _everywhere(plan, there, empty)
    return Outcome(plan, table, tally, version, passing=passing, idle=idle, unused=unused)


def _looked_up(
    asked: Sequence[Quantity], runs: polars.DataFrame, sweep: Sweep, version: str
) -> dict[str, polars.Series]:
    """Measures by the names of entries, of flows, and functions: their values in these runs' documents."""
    import polars as pl

    if not asked:
        return {}
    found: dict[str, list[float | None]] = {m.id: [] for m in asked}
    for seed, document in zip(runs["seed"].to_list(), documents(runs), strict=True):
        whole = {"scenario": sweep.name, "seed": seed, "version": version, "cost": {}, **document}
        for m in asked:
            found[m.id].append(m.value(whole))
    return {name: pl.Series(name, values, pl.Float64).fill_null(math.nan) for name, values in found.items()}


def _first_of(names: Iterable[str], found: polars.DataFrame) -> polars.Expr:
    """The first of these columns that has a value."""
    import polars as pl

    there = [pl.col(name).cast(pl.Float64) for name in names if name in found.columns]
    return pl.coalesce(there) if there else pl.lit(None, pl.Float64)


def _everywhere(plan: Plan, there: Array, found: Array) -> Array:
    """For each point whether it holds in all of the point's runs that were made."""
    held = []
    for k in range(len(plan.sweep.points)):
        start, end = plan.rows.at(k)
        made = there[start:end]
        held.append(bool(made.any() and found[start:end][made].all()))
    return np.array(held)


def _never_acted(plan: Plan, there: Array, never: Array) -> list[str]:
    """Sentences on disciplines that acted in no run of a point; of many such points the first are looked at."""
    import earlydrop._core as _core

    if not never.any():
        return []
    sweep, points = plan.sweep, []
    for k, point in enumerate(sweep.points):
        start, end = plan.rows.at(k)
        made = there[start:end]
        if made.any() and never[start:end][made].all():
            text = _core.Scenario.parse(sweep.document, point.sets).to_json()
            points.append((label(sweep, point), json.loads(text)))
            if len(points) == IDLE_POINTS:
                break
    return overflows.at_points(sweep.queue, points, len(sweep.points))


def wanted_seeds(outcome: Outcome) -> Array:
    """How many seeds each point should have by the sweep's rule for stopping."""
    sweep = outcome.sweep
    assert sweep.stop is not None
    counts = outcome.plan.counts.copy()
    for k, row in enumerate(outcome.rows()):
        now = int(counts[k])
        series = [row.series(m) for m in sweep.stop_measures]
        # A point whose runs fail is not run for ever.
        wanted = [sweep.stop.wanted(v) for v in series if len(v) >= now]
        counts[k] = max(now, max(wanted, default=now))
    return counts


def finite(value: float | None) -> bool:
    """Whether the value is a finite number."""
    return value is not None and math.isfinite(value)
