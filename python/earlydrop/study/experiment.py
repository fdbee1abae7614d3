"""Experiments of a study: axes, levels, cells and measures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..analysis.measures import Kind, Margin
from ..document import Document, overlay
from ..errors import EarlydropError
from ..expressions import Formula
from .extraction import Extraction

Settings = Mapping[str, Any]


Selection = Mapping[str, tuple[str, ...]]
"""Ids of the chosen levels, by axis."""


Cell = tuple[str, ...]
"""The id of a level for each axis of an experiment, in their order."""


class StudyError(EarlydropError):
    """A study cannot be read, or asks for what does not exist. The message names the file or the study."""


def in_sentence(title: str) -> str:
    """A title inside a sentence: `Buffer` becomes `buffer`, `RED underneath` stays."""
    first = title.partition(" ")[0]
    return title if any(c.isupper() or c.isdigit() for c in first[1:]) else title[:1].lower() + title[1:]


@dataclass(frozen=True)
class Level:
    """One value of an axis: how it is called and what it changes in the scenario."""

    id: str
    title: str
    set: Settings = field(default_factory=dict)
    value: float | None = None
    """The number itself, where the axis is numeric."""
    text: str = ""
    published: bool = True
    """Whether the paper's figures belong to this level."""
    fitted: tuple[str, ...] = ()
    """Measures whose published values were used to choose this level: they do not judge it."""
    only: Selection = field(default_factory=dict)
    """Levels of other axes together with which alone this level is run."""


@dataclass(frozen=True)
class Axis:
    """A factor of an experiment, or a reading: a way to understand the paper, varied one at a time."""

    id: str
    title: str
    levels: tuple[Level, ...]
    unit: str = ""
    reading: bool = False
    base: str = ""
    """Of a reading, the level that all other readings are varied from."""
    literal: str = ""
    """Of a reading, the level that the paper's words mean; the base unless the study says otherwise."""
    why: str = ""
    """Why this level is the base."""

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Ids of the levels."""
        return tuple(level.id for level in self.levels)

    @property
    def numeric(self) -> bool:
        """Whether all levels are numbers."""
        return all(level.value is not None for level in self.levels)

    @property
    def label(self) -> str:
        """Title with unit, for axes and table heads."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    def among(self, names: Iterable[str]) -> Axis:
        """The same axis with some of its levels."""
        chosen = set(names)
        return replace(self, levels=tuple(level for level in self.levels if level.id in chosen))

    @cached_property
    def _by_id(self) -> Mapping[str, Level]:
        return {level.id: level for level in self.levels}

    def level(self, name: str) -> Level:
        """The level called `name`."""
        return self._by_id[name]

    def place(self, name: str) -> float:
        """Where a level stands: its number, or its position on an axis without numbers."""
        value = self.level(name).value
        return float(self.ids.index(name)) if value is None else value


@dataclass(frozen=True)
class Experiment:
    """A grid of scenarios: the product of its axes, each run with the same seeds."""

    id: str
    title: str
    summary: str
    scenario: Document
    """The base scenario, with the experiment's own overlay on it."""
    seeds: int
    first_seed: int
    axes: tuple[Axis, ...]
    measures: tuple[str, ...]
    skip: tuple[Selection, ...] = ()
    quick: Settings = field(default_factory=dict)
    shortened: tuple[Settings, ...] = ()
    """Overlays of --quick, on every scenario."""
    assumed: tuple[Settings, ...] = ()
    """Overlays of --assume, on every scenario and after all others."""
    rescaled: bool = False
    """Whether a quick run changes the sizes of what is measured: the paper's figures are then left out."""

    @cached_property
    def _by_id(self) -> Mapping[str, Axis]:
        return {axis.id: axis for axis in self.axes}

    def axis(self, name: str) -> Axis:
        """The axis called `name`."""
        return self._by_id[name]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Ids of the axes."""
        return tuple(axis.id for axis in self.axes)

    @property
    def readings(self) -> tuple[Axis, ...]:
        """The axes that are readings."""
        return tuple(axis for axis in self.axes if axis.reading)

    @cached_property
    def base(self) -> Mapping[str, str]:
        """The base of every reading."""
        return {axis.id: axis.base for axis in self.readings}

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Every combination that is run: at most one reading off its base, nothing that is skipped."""
        return tuple(cell for cell in self._few_readings() if self._runs(cell))

    @cached_property
    def cell_set(self) -> frozenset[Cell]:
        """The cells as a set, for look-up."""
        return frozenset(self.cells)

    def _few_readings(self) -> Iterator[Cell]:
        """The product of the axes, without the cells in which several readings are off their base: most of them."""
        cells: list[tuple[Cell, bool]] = [((), False)]
        for axis in self.axes:
            own = set(axis.ids) - {axis.base} if axis.reading else set()
            cells = [
                ((*cell, name), off or name in own)
                for cell, off in cells
                for name in axis.ids
                if not off or name not in own
            ]
        return (cell for cell, _ in cells)

    def _runs(self, cell: Cell) -> bool:
        at = dict(zip(self.names, cell, strict=True))
        for axis in self.axes:
            if any(at[name] not in ids for name, ids in axis.level(at[axis.id]).only.items()):
                return False
        return not any(all(at[name] in ids for name, ids in rule.items()) for rule in self.skip)

    def document(self, cell: Cell, study: str, more: Settings | None = None) -> Document:
        """The scenario of one cell. `more` is laid over it for a figure."""
        levels = (axis.level(name).set for axis, name in zip(self.axes, cell, strict=True))
        document = overlay(self.scenario, *levels, *self.shortened, more or {}, *self.assumed)
        document["name"] = "/".join([study, self.id, *cell])
        return document

    def titled(self, cell: Cell, among: Iterator[str] | None = None) -> str:
        """A cell in words: `RED, 40 flows`."""
        wanted = set(self.names if among is None else among)
        return ", ".join(self.say(a, name) for a, name in zip(self.axes, cell, strict=True) if a.id in wanted)

    @staticmethod
    def say(axis: Axis, name: str) -> str:
        """A level in words; a bare number gets the name of its axis and its unit."""
        level = axis.level(name)
        if level.value is None or level.title != level.id:
            return level.title
        return f"{in_sentence(axis.title)} {level.title}" + (f" {axis.unit}" if axis.unit else "")


@dataclass(frozen=True)
class Measure:
    """One number of each run: extracted from the result document, or calculated from other measures."""

    id: str
    title: str
    unit: str = ""
    digits: int = 3
    scale: float = 1.0
    main: bool = False
    extraction: Extraction | None = None
    formula: Formula | None = None
    against: Mapping[str, str] = field(default_factory=dict)
    """Levels of the cell whose run each run is compared with: two lists entry by entry, or a number as a part of the
    other's."""
    pairing: str = ""
    """How the two runs are compared."""
    kind: Kind | None = None
    """The values that the measure can take, and which differences are none; None if that is not known."""
    margin: Margin | None = None
    """How far apart two values may be and still count as equal."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest value that the measure can take."""
        return (-math.inf, math.inf) if self.kind is None else self.kind.bounds(self.unit)

    @property
    def label(self) -> str:
        """Title with unit, for axes and table heads."""
        return f"{self.title} ({self.unit})" if self.unit else self.title
