"""Cases: each is a file in `cases` with a scenario and what is measured, or expected, in it."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NoReturn

import earlydrop._core as _core
from ..analysis.measures import Margin
from ..document import Document
from ..errors import EarlydropError
from ..expressions import Condition, ExpressionError, parse_condition
from ..strict_toml import Table, TomlError, is_number, load

FOLDER = Path(__file__).parent / "cases"
AREAS = ("alone", "mixed", "general", "special", "inside")
"""Areas: those of RFC 9743, sections 5.1, 5.2, 6 and 7, and the states and variables of BBR."""
SUBJECT = "subject"
"""What the names of the traffic entries begin with whose congestion control is tried."""
SEGMENT = 1448
"""Payload of a segment: 1500 B with the headers of IPv4 and TCP with time stamps."""
TCPS = ("reno", "cubic", "dctcp", "bbr", "bbr3", "prague")
STACKS = ("rfc", "linux-6.18", "quic")
PICKS = ("every", "first", "last", "some", "none")
STATES = {
    "Startup": 0,
    "Drain": 1,
    "DOWN": 2,
    "CRUISE": 3,
    "REFILL": 4,
    "UP": 5,
    "ProbeRTT": 6,
}
"""The states of BBR by the names that conditions have for them; the numbers are those in series."""
GAUGES = (
    "in_flight",
    "state",
    "pacing_gain",
    "cwnd_gain",
    "round_count",
    "full_bw_now",
    "full_bw_reached",
    "max_bw",
    "bw",
    "min_rtt",
    "bw_shortterm",
    "inflight_shortterm",
    "inflight_longterm",
    "extra_acked",
    "probe_up_acked_per_inc",
    "bw_probe_wait",
    "idle_restart",
    "undo_state",
)
"""Inner values of BBR in series (docs/results.md)."""
DERIVED = ("t", "cwnd", "pacing", "queue", "dropped", "was", "lasted", "rounds", "last_lasted", "last_rounds")
"""Further names in conditions: time, s; cwnd, segments; pacing rate, segments/s; packets in the queue, and those
dropped there so far; the state before; how long the present state has lasted, s and round trips; and how long the one
before had."""


class ConformError(EarlydropError):
    """A case, a file of measures, or what was asked for is wrong. The message names file and field."""


@dataclass(frozen=True)
class Subject:
    """A congestion control of ours, in a stack of ours."""

    tcp: str
    stack: str = "rfc"

    def __str__(self) -> str:
        return f"{self.tcp} ({self.stack})"


@dataclass(frozen=True)
class Measure:
    """A number of a case's result."""

    id: str
    title: str
    path: str
    over: str | None
    """The path of what it is divided by."""
    unit: str
    scale: float
    better: Literal["less", "more"]
    margin: Margin
    criterion: str
    """The sentence of RFC 9743 that makes the comparison a verdict; empty for a description."""
    digits: int


@dataclass(frozen=True)
class Expectation:
    """What must hold of some samples of BBR's states and variables."""

    says: str
    when: Condition
    """Which samples are meant."""
    after: Condition | None
    """Only samples from the first on for which this holds."""
    pick: str
    then: Condition | None
    """What must hold at the samples that are picked; without it their being there is what is expected."""


@dataclass(frozen=True)
class Case:
    """A case."""

    number: int
    title: str
    area: str
    source: str
    says: str
    scenario: Document
    measures: tuple[Measure, ...]
    expected: tuple[Expectation, ...]
    values: Mapping[str, float]
    """Constants in conditions."""
    only: tuple[str, ...]
    """The congestion controls that it is for; empty for all."""
    outside: bool
    """Whether a stack from outside can be tried: all its flows of the subject send endless data."""
    corner: bool
    """Whether it is run only where it is asked for: at the ends of the draft's range of rates and round-trip times."""

    @property
    def inside(self) -> bool:
        """Whether it looks at states and variables."""
        return self.area == "inside"

    def document(self, subject: Subject) -> Document:
        """The scenario with this congestion control."""
        made: Document = copy.deepcopy(dict(self.scenario))
        for entry in made["traffic"]:
            if str(entry.get("name", "")).startswith(SUBJECT):
                rules = entry.pop("rules", None) if self.inside else None
                own = {"tcp": subject.tcp, "stack": subject.stack, "segment": SEGMENT, "window": 100_000}
                entry.update({key: value for key, value in own.items() if key not in entry})
                if rules is not None:
                    entry["rules"] = rules
        return {"name": f"case {self.number}", **made}


class _Table(Table):
    def report(self, key: str, message: str) -> NoReturn:
        raise ConformError(f"{self.path(key)}: {message}")


@cache
def cases() -> tuple[Case, ...]:
    """All cases, in the order of their numbers.

    Raises:
        ConformError: a file is wrong; the message names it.
    """
    found = sorted((parse(file) for file in FOLDER.glob("*.toml")), key=lambda one: one.number)
    for one, other in itertools.pairwise(found):
        if one.number == other.number:
            raise ConformError(f"{FOLDER}: two cases have the number {one.number}: {one.title}; {other.title}")
    return tuple(found)


def case(number: int) -> Case:
    """The case of this number.

    Raises:
        ConformError: there is none.
    """
    known = {one.number: one for one in cases()}
    if number not in known:
        listed = ", ".join(map(str, known))
        raise ConformError(f"there is no case {number}; allowed {listed}", given=str(number), allowed=listed)
    return known[number]


def parse(file: Path) -> Case:
    """The case in a file.

    Raises:
        ConformError: the file is wrong.
    """
    try:
        table = _Table(load(file), str(file))
    except TomlError as error:
        raise ConformError(f"{file}: {error}") from None
    area = table.word("area", AREAS)
    values = {key: _constant(table, key, value) for key, value in table.settings("values", {}).items()}
    scenario = table.settings("scenario")
    found = Case(
        number=table.whole("number", 1, 9999),
        title=table.text("title"),
        area=area,
        source=table.text("source"),
        says=table.text("says"),
        scenario=scenario,
        measures=tuple(_measure(one) for one in table.tables("measure")),
        expected=tuple(_expectation(one, values) for one in table.tables("expect")),
        values=values,
        only=table.texts("only", ()),
        outside=table.flag("outside", area != "inside"),
        corner=table.flag("corner", False),
    )
    table.end()
    if bool(found.measures) is found.inside or bool(found.expected) is not found.inside:
        table.report("", "a case of the area inside has [[expect]], any other [[measure]]")
    _checked(table, found)
    return found


def _constant(table: Table, key: str, value: Any) -> float:
    if not is_number(value) or not math.isfinite(value):
        table.refuse(f"values.{key}", value, "a number")
    return float(value)


def _measure(table: _Table) -> Measure:
    path = table.text("path")
    found = Measure(
        id=table.text("id"),
        title=table.text("title"),
        path=path,
        over=table.text("over", "") or None,
        unit=table.text("unit", ""),
        scale=table.number("scale", 1.0),
        better=table.word("better", ("less", "more")),  # type: ignore[arg-type]
        margin=_margin(table),
        criterion=table.text("criterion", ""),
        digits=table.whole("digits", 0, 6, 3),
    )
    table.end()
    return found


def _margin(table: _Table) -> Margin:
    """The largest difference that counts as equal: `"5 %"` of the reference, or a number in the measure's unit."""
    given = table.raw("margin", "5 %")
    reason = "the case's"
    if isinstance(given, str) and given.endswith("%"):
        try:
            return Margin(float(given[:-1]) / 100, True, reason)
        except ValueError:
            pass
    elif is_number(given) and given >= 0:
        return Margin(float(given), False, reason)
    table.report("margin", f'given {given!r}; allowed a number, or a share as "5 %"')
    return None


def _expectation(table: _Table, values: Mapping[str, float]) -> Expectation:
    known = [*GAUGES, *DERIVED, *STATES, *values]

    def condition(key: str) -> Condition | None:
        given = table.text(key, "")
        try:
            return parse_condition(given, known) if given else None
        except ExpressionError as error:
            table.report(key, str(error))

    when = condition("when")
    if when is None:
        table.report("when", "is missing; allowed a condition such as state == Drain")
    says, pick = table.text("says"), table.word("pick", PICKS)
    found = Expectation(says, when, condition("after"), pick, condition("then"))
    table.end()
    if found.then is None and pick in ("every", "first", "last"):
        table.report("then", f'is missing, which "{pick}" needs')
    if found.then is not None and pick == "none":
        table.report("then", 'has no place beside pick = "none"')
    return found


def _checked(table: _Table, found: Case) -> None:
    """Have the scenario checked, with a congestion control that every case allows."""
    subject = Subject("bbr3" if found.inside else "cubic")
    try:
        names = [entry.get("name", "") for entry in found.scenario["traffic"]]
        if not any(str(name).startswith(SUBJECT) for name in names):
            table.report("scenario.traffic", f"no entry has a name that begins with {SUBJECT}")
        _core.Scenario.parse(found.document(subject), [])
    except (KeyError, AttributeError, TypeError):
        table.report("scenario", "allowed a scenario with [[scenario.traffic]]")
    except _core.ScenarioError as error:
        table.report("scenario", str(error))
