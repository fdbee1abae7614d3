"""A space of scenarios: a scenario whose values may be ranges, choices or optional parts.

A point of the space has one coordinate in [0, 1) for each of these, so that any search proposes points alike, and a
point's scenario depends on nothing else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from .. import foreign
from ..document import Document
from ..errors import EarlydropError

Point = tuple[float, ...]
"""Coordinates in [0, 1), in the order of `Space.draws`."""

MOST_DRAWS = 60
"""Most coordinates of a space: no search covers more with tens of thousands of runs."""
MOST_CHOICES = 100
DIGITS = 3
"""Significant digits of a value that is drawn."""
RATIO = 10.0
"""A range of whole numbers is drawn by ratios where its ends are this factor apart."""
DEEPEST = 32
"""Tables and lists within each other, as in any scenario."""

SHAPES = ("steady", "square", "saw", "outage", "walk")
"""How a rate may vary: not at all, between two values, in falling steps, with gaps, or at random."""
STEPS = 8
"""Steps of a saw, and of a walk, in a period."""


class SpaceError(EarlydropError):
    """A space is wrong. The message names the file, the path, what was given and what is allowed."""


# ---- what is drawn -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Range:
    """A number between two others, in a unit."""

    low: float
    high: float
    log: bool
    whole: bool
    unit: str = ""

    def at(self, u: float, digits: int = DIGITS) -> Any:
        """The value at a coordinate, rounded to significant digits."""
        if self.log:
            value = math.exp(math.log(self.low) + u * (math.log(self.high) - math.log(self.low)))
        else:
            value = self.low + u * (self.high - self.low)
        if self.whole:
            return max(round(self.low), min(round(self.high), round(value)))
        value = max(self.low, min(self.high, float(f"{value:.{digits}g}")))
        return f"{value:g} {self.unit}" if self.unit else value

    def simpler(self, u: float) -> Iterator[float]:
        """Coordinates of rounder numbers near this one; of counts, of smaller ones, the smallest first."""
        if self.whole:
            value = int(self.at(u))
            for wanted in dict.fromkeys([round(self.low), *(value * k // 8 for k in range(1, 8))]):
                if round(self.low) <= wanted < value:
                    yield self._of(wanted)
            return
        for digits in (1, 2):
            if self.at(u, digits) != self.at(u):
                yield self._of(self._number(u, digits))

    def _number(self, u: float, digits: int) -> float:
        return float(str(self.at(u, digits)).split(" ")[0])

    def _of(self, value: float) -> float:
        """The coordinate of a value."""
        if self.low == self.high:
            return 0.0
        if self.log:
            u = (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        else:
            u = (value - self.low) / (self.high - self.low)
        return min(max(u, 0.0), 1.0)


@dataclass(frozen=True)
class Choice:
    """One of some values; the first is the simplest."""

    values: tuple[Any, ...]

    def at(self, u: float) -> Any:
        """The value at a coordinate."""
        return self.values[min(int(u * len(self.values)), len(self.values) - 1)]

    def simpler(self, u: float) -> Iterator[float]:
        """The coordinates of the values before this one."""
        for k in range(min(int(u * len(self.values)), len(self.values) - 1)):
            yield (k + 0.5) / len(self.values)


THERE = Choice((False, True))
"""Whether an optional part is there."""

Draw = Range | Choice


@dataclass(frozen=True)
class Drawn:
    """A coordinate of a space."""

    path: str
    draw: Draw


@dataclass(frozen=True)
class _Place:
    """A value that is drawn, in place of its table."""

    number: int
    draw: Draw


@dataclass(frozen=True)
class _Maybe:
    """A part that may not be there."""

    number: int
    part: Any


@dataclass(frozen=True)
class _Rate:
    """A rate that may vary: its coordinates by name."""

    parts: Mapping[str, _Place]


_GONE = object()


# ---- the space -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Space:
    """A scenario with values that are drawn."""

    name: str
    draws: tuple[Drawn, ...]
    _tree: Document

    def document(self, point: Sequence[float]) -> Document:
        """The scenario at a point."""
        found = _filled(self._tree, point)
        assert isinstance(found, dict)
        return found

    @cached_property
    def always(self) -> tuple[Document, ...]:
        """The traffic entries that every scenario of the space has."""
        return tuple(one for one in self._tree.get("traffic", ()) if not isinstance(one, _Maybe))

    @cached_property
    def order(self) -> list[int]:
        """The coordinates, those first that take most away: optional parts, choices, whole numbers, the rest."""
        return sorted(range(len(self.draws)), key=lambda k: _kind(self.draws[k]))

    def simpler(self, point: Point, number: int) -> Iterator[Point]:
        """Points of which one coordinate is simpler, the simplest first."""
        document = self.document(point)
        for u in self.draws[number].draw.simpler(point[number]):
            changed = (*point[:number], u, *point[number + 1 :])
            if self.document(changed) != document:
                yield changed


def _kind(one: Drawn) -> int:
    if isinstance(one.draw, Choice):
        return 0 if one.draw is THERE else 1
    return 2 if one.draw.whole else 3


def read(path: Path) -> Space:
    """The space in a file.

    Raises:
        SpaceError: it is wrong, or no point of it is a scenario.
    """
    from ..own_aqms import registry

    try:
        document = foreign.from_toml(path)
    except OSError as error:
        raise SpaceError(f"{path}: {error.strerror}; allowed the file of a space, home, mobile") from error
    except ValueError as error:
        raise SpaceError(f"{path}: is not TOML: {error}") from error
    return space(registry.pinned(document, str(path.parent), str(path)), str(path))


def space(document: Mapping[str, Any], where: str = "space") -> Space:
    """The space of a document: a scenario's, with tables in place of the values that are drawn.

    Raises:
        SpaceError: a table of a drawn value is wrong, or nothing is drawn.
    """
    draws: list[Drawn] = []
    try:
        tree = _read(document, "", draws, 0)
    except SpaceError as error:
        raise SpaceError(f"{where}: {error}") from None
    if not isinstance(tree, dict):
        raise SpaceError(f"{where}: given an optional whole; allowed a scenario")
    if not 0 < len(draws) <= MOST_DRAWS:
        raise SpaceError(f"{where}: has {len(draws)} values that are drawn; allowed 1 to {MOST_DRAWS}")
    return Space(str(document.get("name", "space")), tuple(draws), tree)


RANGES = ("log", "linear", "whole")
FORMS = (
    '{ log = ["2 Mbit/s", "50 Mbit/s"] }, { linear = [0.1, 0.9] }, { whole = [1, 30] }, { choice = [...] }, '
    "{ optional = VALUE }"
)


def _read(value: Any, path: str, draws: list[Drawn], deep: int) -> Any:
    """A copy of a document with marks where a value is drawn."""
    if deep > DEEPEST:
        raise SpaceError(f"{path}: is nested too deep; allowed {DEEPEST} tables and lists within each other")
    if isinstance(value, list):
        return [_read(one, f"{path}.{k}", draws, deep + 1) for k, one in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    keys = list(value)
    if "shape" in value and path.endswith("rate"):
        return _rate(value, path, draws)
    if len(keys) == 1 and keys[0] in RANGES:
        return _place(_range(keys[0], value[keys[0]], path)[0], path, draws)
    if keys == ["choice"]:
        return _place(_choice(value["choice"], path), path, draws)
    if keys == ["optional"]:
        if isinstance(value["optional"], bool):
            raise SpaceError(f"{path}: given optional alone; allowed {{ optional = VALUE }}, or more keys beside it")
        number = _place(THERE, path, draws).number
        return _Maybe(number, _read(value["optional"], path, draws, deep + 1))
    if "optional" in value:
        if value["optional"] is not True:
            raise SpaceError(f"{path}.optional: given {_shown(value['optional'])}; allowed true beside other keys")
        number = _place(THERE, path, draws).number
        rest = {k: v for k, v in value.items() if k != "optional"}
        return _Maybe(number, _read(rest, path, draws, deep + 1))
    return {k: _read(v, f"{path}.{k}" if path else str(k), draws, deep + 1) for k, v in value.items()}


def _place(draw: Draw, path: str, draws: list[Drawn]) -> _Place:
    draws.append(Drawn(path, draw))
    return _Place(len(draws) - 1, draw)


def _choice(given: Any, path: str) -> Choice:
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_CHOICES:
        raise SpaceError(f"{path}.choice: given {_shown(given)}; allowed a list of 1 to {MOST_CHOICES} values")
    return Choice(tuple(given))


def _range(kind: str, given: Any, path: str) -> tuple[Range, str]:
    """The range between two ends, and the unit of which theirs are multiples."""
    import earlydrop._core as _core

    def refuse(allowed: str) -> SpaceError:
        return SpaceError(f"{path}.{kind}: given {_shown(given)}; allowed {allowed}")

    if not isinstance(given, list) or len(given) != 2:
        raise refuse(f"a list of two ends, as in {FORMS}")
    ends: list[tuple[float, str, float, str]] = []
    for end in given:
        if isinstance(end, str):
            found = _core.quantity(end)
            if found is None:
                raise refuse("numbers, or texts with a unit such as 20 ms")
            ends.append(found)
        elif isinstance(end, bool) or not isinstance(end, int | float) or not math.isfinite(end):
            raise refuse("numbers, or texts with a unit such as 20 ms")
        else:
            ends.append((float(end), "", 1.0, ""))
    (low, _, factor, base), (high, unit, scale, other) = ends
    if base != other:
        raise refuse("two ends of one kind, such as two times")
    low = low if unit == ends[0][1] else low * factor / scale
    if not low <= high or (kind == "log" and low <= 0):
        raise refuse("a lower end up to the higher one" + (", above 0" if kind == "log" else ""))
    if kind == "whole":
        if unit or low != round(low) or high != round(high):
            raise refuse("two whole numbers")
        return Range(low, high, 0 < low * RATIO <= high, whole=True), base
    return Range(low, high, kind == "log", whole=False, unit=unit), base


RATE_KEYS = ("shape", "top", "low", "period", "seed")


def _rate(given: Mapping[str, Any], path: str, draws: list[Drawn]) -> _Rate:
    """A rate by the grammar: its shape, its top, its lowest part, and the time of a cycle."""
    for key in given:
        if key not in RATE_KEYS:
            raise SpaceError(f"{path}.{key}: unknown key; allowed {', '.join(RATE_KEYS)}")
    shapes = given["shape"] if isinstance(given["shape"], list) else [given["shape"]]
    for one in shapes:
        if one not in SHAPES:
            raise SpaceError(f"{path}.shape: given {_shown(one)}; allowed {', '.join(SHAPES)}")
    parts: dict[str, _Place] = {"shape": _place(_choice(shapes, f"{path}.shape"), f"{path}.shape", draws)}
    wanted = {"top": "bit/s", "low": "", "period": "s", "seed": ""}
    for key in RATE_KEYS[1:] if "walk" in shapes else RATE_KEYS[1:-1]:
        place = f"{path}.{key}"
        if key not in given and key != "seed":
            raise SpaceError(f"{place}: is missing; allowed a value or a range")
        value = given.get(key, {"whole": [1, 1000]})
        ranged = isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in RANGES
        drawn, base = _range(next(iter(value)), next(iter(value.values())), place) if ranged else _fixed(value, place)
        if base != wanted[key]:
            raise SpaceError(f"{place}: given {_shown(value)}; allowed {ALLOWED[key]}, or a range of these")
        if (key == "low" and not 0 < drawn.low <= drawn.high <= 1) or (key == "seed" and not drawn.whole):
            raise SpaceError(f"{place}: given {_shown(value)}; allowed {ALLOWED[key]}, or a range of these")
        parts[key] = _place(drawn, place, draws)
    return _Rate(parts)


ALLOWED = {
    "top": "a rate such as 20 Mbit/s",
    "low": "a number above 0 and up to 1",
    "period": "a time such as 2 s",
    "seed": "a whole number",
}


def _fixed(value: Any, path: str) -> tuple[Range, str]:
    """A value that is always the same, as a range."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return _range("whole" if whole else "linear", [value, value], path)


def _shown(given: Any) -> str:
    text = json.dumps(given, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


# ---- a point's scenario --------------------------------------------------------------------------------------------


def _filled(value: Any, point: Sequence[float]) -> Any:
    if isinstance(value, _Maybe):
        return _filled(value.part, point) if THERE.at(point[value.number]) else _GONE
    if isinstance(value, _Place):
        return value.draw.at(point[value.number])
    if isinstance(value, _Rate):
        return _varied(**{key: _filled(part, point) for key, part in value.parts.items()})
    if isinstance(value, list):
        return [one for one in (_filled(v, point) for v in value) if one is not _GONE]
    if isinstance(value, dict):
        return {k: one for k, one in ((k, _filled(v, point)) for k, v in value.items()) if one is not _GONE}
    return value


DOWN = 0.2
"""Share of a cycle for which a link with outages is down."""


def _varied(shape: str, top: str, low: float, period: str, seed: int = 0) -> Any:
    """A rate of this shape. `low` is its lowest part over `top`; an outage is a rate of 0 instead."""
    if shape == "steady":
        return top
    number, unit = top.split(" ")
    cycle, second = float(period.split(" ")[0]), period.split(" ")[1]
    full = float(number)
    if shape == "square":
        rates = [1.0, low]
    elif shape == "saw":
        rates = [1 - (1 - low) * k / (STEPS - 1) for k in range(STEPS)]
    elif shape == "outage":
        return {
            "schedule": [[f"0 {second}", top], [f"{cycle * (1 - DOWN):.4g} {second}", f"0 {unit}"]],
            "repeat": period,
        }
    else:
        rates = list(_walk(low, seed))
    schedule = [
        [f"{cycle * k / len(rates):.4g} {second}", f"{full * rate:.{DIGITS}g} {unit}"] for k, rate in enumerate(rates)
    ]
    return {"schedule": schedule, "repeat": period}


def _walk(low: float, seed: int) -> Iterator[float]:
    """A walk in ratios between `low` and 1 that is turned back at both ends."""
    # Python promises the same numbers of `random()` for a seed in all versions.
    drawn, at = Random(seed), 0.5
    for _ in range(STEPS):
        yield low ** (1 - at)
        at = abs(at + drawn.random() - 0.5)
        at = 2 - at if at > 1 else at
