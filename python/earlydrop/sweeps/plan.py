"""Plans the runs of a sweep: every point is checked and gets its key before the first run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np

import earlydrop._core as _core
from ..runner import Progress, no_progress
from ..store import scenario_key
from ..store.names import Index, Words, firsts, mixed, words
from .base_scenario import one_line
from .lazy import Lazy
from .model import Point, Sweep
from .sweep_table import Mistakes
from .work import Source

SHOWN = 5
"""Largest number of different errors of points in a message."""


Array: TypeAlias = "np.ndarray[Any, Any]"
PIECE = 1 << 16
"""Runs that are processed together."""


@dataclass(eq=False)
class Plan:
    """The points of a sweep, the keys of their scenarios, and their current numbers of seeds."""

    sweep: Sweep
    words: Words
    """The scenario's key of each point, as 16 bytes."""
    first: Array
    """The first seed of each point."""
    counts: Array
    """The number of seeds of each point."""
    warnings: tuple[str, ...] = ()
    """Warnings about the scenario of the first point."""

    @property
    def keys(self) -> Sequence[str]:
        """The scenario's key of a point."""
        return Lazy(len(self.words), lambda k: self.words[k].tobytes().hex())

    def source(self, point: int) -> Source:
        """The changes of the base scenario at a point."""
        return self.sweep.points[point].sets

    @property
    def runs(self) -> int:
        """Runs of all points; equal scenarios count repeatedly."""
        return int(self.counts.sum())

    @cached_property
    def rows(self) -> Rows:
        """The runs, where equal ones are one row."""
        return Rows(self)

    def finder(self) -> Callable[[Words, Array], Array]:
        """A function that gives the rows of runs named by keys and seeds; -1 for those that are not in the plan."""
        sweep, starts = self.sweep, self.rows.starts
        index = Index()
        own = np.flatnonzero(np.diff(starts))
        index.put(mixed(self.words[own], self.first[own]), own)

        def find(keys: Words, seeds: Array) -> Array:
            first = np.full(len(seeds), sweep.first_seed, np.int64)
            if sweep.common is not None:
                first += (seeds - first) // sweep.most * sweep.most
            points = index.find(mixed(keys, first))
            rows = starts[points] + seeds - first
            good = (points >= 0) & (seeds >= first) & (rows < starts[points + 1])
            return np.where(good, rows, -1)

        return find


class Points(Protocol):
    """What is run: scenarios and their seeds."""

    @property
    def words(self) -> Words:
        """The scenario's key of each point, as 16 bytes."""

    @property
    def first(self) -> Array:
        """The first seed of each point."""

    @property
    def counts(self) -> Array:
        """The number of seeds of each point."""

    @property
    def keys(self) -> Sequence[str]:
        """The scenario's key of a point."""

    @property
    def rows(self) -> Rows:
        """The runs, where equal ones are one row."""

    def source(self, point: int) -> Source:
        """The scenario, or its changes, at a point."""


@dataclass(eq=False)
class Scenarios:
    """Unrelated scenarios, each with consecutive seeds; no run occurs twice."""

    texts: Sequence[str]
    """Checked scenarios as JSON, without name and seed of their own."""
    first: Array
    counts: Array

    @cached_property
    def keys(self) -> Sequence[str]:
        """The key of a scenario."""
        return [scenario_key(text) for text in self.texts]

    @cached_property
    def words(self) -> Words:
        """The key of each scenario, as 16 bytes."""
        return words(self.keys)

    def source(self, point: int) -> Source:
        """The text of a scenario."""
        return self.texts[point]

    @cached_property
    def rows(self) -> Rows:
        """The runs."""
        return Rows(self)


class Rows:
    """The runs of a plan, numbered in the order of points and seeds.

    Points with equal scenarios and equal first seeds have the same runs, and equally many, because a rule for stopping
    decides by what the runs gave. They are counted at the first of these points.
    """

    def __init__(self, plan: Points) -> None:
        self._plan = plan
        count = len(plan.words)
        same = firsts(mixed(plan.words, plan.first))
        alone = same == np.arange(count)
        self.starts = np.zeros(count + 1, np.int64)
        np.cumsum(np.where(alone, plan.counts, 0), out=self.starts[1:])
        self._same = None if alone.all() else same.astype(np.uint32)

    @property
    def total(self) -> int:
        """Number of runs."""
        return int(self.starts[-1])

    def of(self, rows: Array) -> tuple[Array, Array]:
        """Points and seeds of some rows."""
        points = np.searchsorted(self.starts, rows, "right") - 1
        return points, self._plan.first[points] + (rows - self.starts[points])

    def at(self, point: int) -> tuple[int, int]:
        """The first row of a point, and the one after its last."""
        first = point if self._same is None else int(self._same[point])
        return int(self.starts[first]), int(self.starts[first + 1])

    def pieces(self) -> Iterator[tuple[int, Words, Array]]:
        """All rows in pieces: number of the first, keys, seeds."""
        for start in range(0, self.total, PIECE):
            points, seeds = self.of(np.arange(start, min(start + PIECE, self.total)))
            yield start, self._plan.words[points], seeds


def label(sweep: Sweep, point: Point) -> str:
    """A point as text, `max_p = 0.1, pairs = 20` or `CoDel, 20 ms`."""
    return sweep.called(point)


def plan(sweep: Sweep, progress: Progress = no_progress) -> Plan:
    """Check every point.

    Raises:
        SweepError: the checker refuses some; the message names the different reasons, each with one such point.
    """
    keys = bytearray()
    wrong: dict[str, tuple[int, Point]] = {}
    for number, point in enumerate(sweep.points):
        if number % 1000 == 0:
            progress(number, len(sweep.points), f"{sweep.name}: checking points")
        try:
            keys += bytes.fromhex(scenario_key(_core.Scenario.parse(sweep.document, point.sets).to_json()))
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
    names = np.frombuffer(bytes(keys), np.uint64).reshape(-1, 2)
    groups = sweep.groups()
    starts = np.full(len(names), sweep.first_seed, np.int64)
    if groups is not None:
        starts += groups * sweep.most
    counts = np.full(len(names), sweep.seeds, np.int64)
    said = _core.Scenario.parse(sweep.document, sweep.points[0].sets).warnings()
    return Plan(sweep, names, starts, counts, tuple(said))


def point_values(sweep: Sweep, points: Iterable[int]) -> dict[str, list[Any]]:
    """One column per factor: its values at some points, as numbers where all points of the sweep have numbers."""
    found: dict[str, list[Any]] = {f.name: [] for f in sweep.factors}
    for k in points:
        for factor, numeric, level in zip(sweep.factors, sweep.numeric, sweep.points[k].levels, strict=True):
            found[factor.name].append(float(level.value) if numeric else level.name)
    return found
