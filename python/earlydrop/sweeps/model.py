"""What a sweep is: a scenario, factors, a design that chooses points, seeds, and what is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..analysis.quantity import Quantity
from ..analysis.shared import Part
from ..analysis.statistics import Interval, Stopping
from ..document import Document
from ..errors import EarlydropError
from ..expressions import Condition
from .lazy import Lazy

if TYPE_CHECKING:
    import numpy

Design = Literal["grid", "list", "random", "sobol"]
DESIGNS: tuple[Design, ...] = ("grid", "list", "random", "sobol")
Sets = tuple[tuple[str, str], ...]
"""Paths with their values as TOML, to lay over a scenario."""


NAMED = 256
"""Levels of a factor that are looked at for names that say what they are."""


class SweepError(EarlydropError):
    """A sweep's file is wrong, or a sweep cannot be made. The message names everything that is wrong."""


@dataclass(frozen=True)
class Level:
    """One level of a factor."""

    name: str
    value: float | str | bool
    """The level's value in conditions and on axes."""
    sets: Sets
    scaled: str = ""
    """What it sets, in words, where that is more than values: all delays of a network."""


@dataclass(frozen=True)
class Factor:
    """Something that is varied: a list of levels, or a range of numbers."""

    name: str
    title: str
    unit: str
    levels: Sequence[Level]
    """The levels; empty for a factor that only has a range."""
    paths: tuple[str, ...] = ()
    form: str = "{}"
    """The form in which a number becomes a value of the scenario."""
    named: bool = False
    """Whether the title was given; else tables and sentences have the name, and axes the title."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """What tables and figures call the levels, by name; without an entry it is the name."""
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False

    @property
    def ranged(self) -> bool:
        """Whether the factor is a range."""
        return not self.levels

    @property
    def said(self) -> str:
        """What tables and sentences call it."""
        return self.title if self.named else self.name

    @property
    def label(self) -> str:
        """Title with unit, for tables of papers; without, where the levels' names have it."""
        bare = all(self.called(x.name) == level_name(x.value) for x in self.levels)
        return f"{self.title} ({self.unit})" if self.unit and bare else self.title

    @property
    def head(self) -> str:
        """The head of its column in other tables."""
        return self.label if self.named else self.name

    def called(self, name: str) -> str:
        """What tables, figures and sentences call a level."""
        return self.titles.get(name, name)

    def both(self, name: str) -> str:
        """A level as messages list it: its name, and its label in brackets if it has one."""
        return f"{name} ({self.titles[name]})" if self.titles.get(name, name) != name else name

    def at(self, share: float) -> Level:
        """The level at a share (0 to 1) of the way through the range, or through the levels."""
        if self.levels:
            return self.levels[min(int(share * len(self.levels)), len(self.levels) - 1)]
        return self.level(self.between(share))

    def between(self, share: float) -> float:
        """The value at a share (0 to 1) of the way through the range."""
        if self.whole:
            low, high = round(self.low), round(self.high)
            return min(low + int(share * (high - low + 1)), high)
        if self.log:
            return float(self.low * (self.high / self.low) ** share)
        return self.low + (self.high - self.low) * share

    def level(self, value: float | str | bool) -> Level:
        """The level with this value, put at the factor's paths."""
        from ..toml_writer import toml_value

        text = toml_value(value if self.form == "{}" else self.form.format(value))
        return Level(level_name(value), value, tuple((path, text) for path in self.paths))


def level_name(value: object) -> str:
    """A level's name: numbers as short as they can be told apart."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Point:
    """One choice of a level for each factor."""

    levels: tuple[Level, ...]

    @property
    def sets(self) -> Sets:
        """The changes of the scenario; the later factor wins."""
        return tuple(pair for level in self.levels for pair in level.sets)


@dataclass(frozen=True)
class Sweep:
    """A sweep as its file has it."""

    name: str
    title: str
    file: Path
    document: Document
    """The base scenario, with a neutral name."""
    factors: tuple[Factor, ...]
    design: Design
    points: Sequence[Point]
    """The points, made when they are asked for; see `design`."""
    seeds: int
    first_seed: int
    stop: Stopping | None
    stop_measures: tuple[str, ...]
    common: tuple[str, ...] | None
    """Factors across which seeds are the same; None for all."""
    control: Mapping[str, str]
    """A level's name by factor: the level that the factor's other levels are compared with."""
    measures: tuple[Quantity, ...]
    queue: str
    interval: Interval
    where: tuple[Condition, ...]
    store: str
    warmup_s: float
    text: str
    """The text of the file as it was read."""
    parts: tuple[Part, ...] | None = ()
    """Traffic entries with delays of their own at the queue; None if they have such delays and are not told apart."""

    def factor(self, name: str) -> Factor:
        """A factor by name."""
        return next(f for f in self.factors if f.name == name)

    def measure(self, name: str) -> Quantity:
        """A measure by id."""
        return next(m for m in self.measures if m.id == name)

    def called(self, point: Point, but: int = -1) -> str:
        """The levels of a point as text, `DualPI2, 100 ms`; without that of the factor at place `but`."""
        return ", ".join(self.level_called(k, level.name) for k, level in enumerate(point.levels) if k != but)

    def level_called(self, factor: int, name: str) -> str:
        """A level as text: labels speak for themselves, and numbers with a unit, if no other factor has such."""
        own = self.factors[factor]
        return own.called(name) if self.plain[factor] or name in own.titles else f"{own.said} = {name}"

    @cached_property
    def plain(self) -> tuple[bool, ...]:
        """For each factor whether its levels are understood without its name."""
        some = [list(f.levels[:NAMED]) for f in self.factors]
        named = [bool(levels) and not any(is_bare(x.name) for x in levels) for levels in some]
        numbers = [one and all(is_number(x.value) for x in levels) for one, levels in zip(named, some, strict=True)]
        words = [one and not number for one, number in zip(named, numbers, strict=True)]
        # Of several factors with names, or with units, the reader could take one for the other.
        alone = sum(numbers) == 1, sum(words) == 1
        return tuple((n and alone[0]) or (w and alone[1]) for n, w in zip(numbers, words, strict=True))

    @property
    def of_parts(self) -> frozenset[str]:
        """The ids of measures that traffic entries have of their own."""
        return frozenset(part.id(m.id) for part in self.parts or () for m in self.measures)

    @property
    def most(self) -> int:
        """The most seeds a point may have."""
        return self.stop.most if self.stop else self.seeds

    def first_seeds(self) -> Sequence[int]:
        """The first seed of each point: the same for points that differ in `common` factors only."""
        groups = self.groups()
        if groups is None:
            return Lazy(len(self.points), lambda _: self.first_seed)
        return Lazy(len(groups), lambda k: self.first_seed + int(groups[k]) * self.most)

    def groups(self) -> numpy.ndarray[Any, Any] | None:
        """For each point the number of its group, whose points have the same seeds; None if all are one group."""
        if self.common is None:
            return None
        import numpy as np

        from ..store.names import firsts, of_texts

        apart = [k for k, f in enumerate(self.factors) if f.name not in self.common]
        first = firsts(of_texts(repr([p.levels[k].name for k in apart]) for p in self.points))
        # Groups are numbered in the order of their first points.
        new = first == np.arange(len(first))
        found: np.ndarray[Any, Any] = (np.cumsum(new) - 1)[first]
        return found

    @cached_property
    def numeric(self) -> tuple[bool, ...]:
        """For each factor whether its values are numbers at all points."""
        found = []
        for k, factor in enumerate(self.factors):
            # A design by list may have values that are no level.
            known = self.design != "list" and all(is_number(level.value) for level in factor.levels)
            found.append(known or all(is_number(p.levels[k].value) for p in self.points))
        return tuple(found)


def is_bare(name: str) -> bool:
    """Whether a level's name is only a number or a flag, which does not say of what."""
    try:
        float(name)
    except ValueError:
        return name in ("true", "false")
    return True


def is_number(value: object) -> bool:
    """Whether a value is a number, and no flag."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
