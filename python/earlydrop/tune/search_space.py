"""What is searched: the parameters of a discipline with their ranges, and the objectives."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from .. import foreign
from ..analysis.paired import CompareError
from ..analysis.quantity import KNOWN, Better, Quantity
from ..analysis.statistics import Difference
from ..document import Document
from ..errors import EarlydropError
from ..own_aqms import registry
from ..queue_settings import NEEDED_UNITS
from ..sweeps.base_scenario import (
    NEUTRAL,
    checker_error,
    one_line,
    overlay_toml,
    with_digest,
    with_traces,
)
from ..sweeps.quantities import in_unit
from ..toml_writer import toml_value

DEFAULT = ("delay", "goodput")
"""The objectives of a search that names none."""
ALIASES = {"fairness": "jain", "delay": "queue_delay"}


SPAN = 8.0
"""A parameter is searched from its value over this factor to its value times this factor."""


UNSEARCHED = frozenset({"mean_packet", "max_packet", "mark_p", "mark_ecnth", "quantum", "memory_limit"})
"""Parameters that describe packets, or matter only to marks; only `--param` has them searched."""


RATIO = (1.2, 6.0)
"""`max_th` is searched as a multiple of `min_th`: then it is always above."""


class TuneError(EarlydropError):
    """What was asked for cannot be searched. The message says why."""


@dataclass(frozen=True)
class Parameter:
    """A parameter to search, and its range."""

    name: str
    low: float
    high: float
    log: bool
    whole: bool
    form: str = "{}"
    of: str | None = None
    """The parameter of which this one is a multiple in the search."""

    def shown(self) -> str:
        """The range for people."""
        times = f" times {self.of}" if self.of else ""
        return f"{self.name}: {self.low:.4g} to {self.high:.4g}{times}{', in ratios' if self.log else ''}"


@dataclass(frozen=True)
class Objective:
    """A measure and which way is better."""

    measure: Quantity
    larger: bool

    @property
    def direction(self) -> Literal["minimize", "maximize"]:
        """Optuna's word for the direction."""
        return "maximize" if self.larger else "minimize"

    def better(self, difference: Difference) -> bool:
        """Whether a difference is an improvement whose 95 % interval excludes zero."""
        return difference.clear and (difference.estimate.mean > 0) == self.larger


@dataclass
class Problem:
    """A scenario with a discipline, and the parameters to search."""

    base: Document
    name: str
    aqm: str
    queue: str
    parameters: tuple[Parameter, ...]
    objectives: tuple[Objective, ...]
    baseline: dict[str, Any]
    label: str = ""
    """What the output calls the discipline, if it was given a name for it."""

    def sets(self, values: Mapping[str, float]) -> dict[str, Any]:
        """Paths and values for a choice of parameters."""
        return {f"queue.{self.queue}.{p.name}": formed(p, values[p.name]) for p in self.parameters}

    def refusal(self, values: Mapping[str, float]) -> str | None:
        """Why the checker refuses a choice of parameters; None if it does not."""
        found = checker_error(self.base, [(path, toml_value(v)) for path, v in self.sets(values).items()])
        return None if found is None else one_line(found)


def formed(parameter: Parameter, value: float) -> float | int | str:
    number: float | int = round(value) if parameter.whole else float(f"{value:.6g}")
    return number if parameter.form == "{}" else parameter.form.format(number)


def problem(
    path: Path,
    aqm: str,
    objectives: Sequence[str],
    parameters: Sequence[str] = (),
    sets: Sequence[tuple[str, str]] = (),
    measures: Sequence[Quantity] = (),
) -> Problem:
    """Read and check what is to be searched. `parameters` are `NAME=LOW..HIGH`; none means all that have a number.

    `objectives` may name `measures`; without objectives these are the objectives, or delay and goodput.

    Raises:
        TuneError: an objective or a parameter is unknown, or a range is wrong.
        ScenarioError: the scenario is wrong.
    """
    import earlydrop._core as _core
    from .. import discipline_names
    from ..analysis.paired import compared_queue

    discipline_names.load_sources([aqm])
    name = _core.Scenario.load(str(path), list(sets)).name
    document = registry.pinned(foreign.from_toml(path), str(path.parent), str(path))
    try:
        asked = discipline_names.asked(aqm, str(path.parent))
    except discipline_names.DisciplineError as error:
        raise TuneError(f"--aqm: {error}") from error
    aqm, entry = asked.name, asked.entry
    try:
        queue = compared_queue(path, document)
    except CompareError as error:
        raise TuneError(str(error)) from error
    parent = (document.get("queue") or {}).get(queue, {}).get("parent")
    if parent is not None:
        raise TuneError(f"{path}: queue.{queue}.parent: given {parent!r}; tune takes a queue without a parent")
    given = [(f"queue.{queue}.{key}", value) for key, value in asked.settings]
    base = overlay_toml(
        with_traces({**document, "name": NEUTRAL, "seed": 1}, path.parent), toml_settings([*sets, *given])
    )
    own = (base.get("queue") or {}).get(queue, {})
    if own.get("aqm") != aqm:
        known = {p["name"] for p in entry["parameters"]} | set(discipline_names.SHARED)
        base.setdefault("queue", {})[queue] = {**{k: v for k, v in own.items() if k in known}, "aqm": aqm}
    base = with_digest(base, aqm)
    checked = json.loads(_core.Scenario.parse(base, []).to_json())["queue"][queue]
    declared = {p["name"]: p for p in entry["parameters"]}
    chosen = [_asked(text, declared, aqm, f"queue.{queue}", base) for text in parameters] or _default(declared, checked)
    if not chosen:
        raise TuneError(f"{aqm} has no parameter with a number to search")
    if not parameters:
        chosen = _linked(chosen)
    baseline = {p.name: checked.get(p.name) for p in chosen}
    return Problem(
        base, name, aqm, queue, tuple(chosen), tuple(_objectives(objectives, queue, measures)), baseline, asked.label
    )


def toml_settings(sets: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Settings of the command line, of which a bare word is a text."""
    import tomllib

    found = []
    for path, text in sets:
        try:
            tomllib.loads(f"v = {text}")
        except tomllib.TOMLDecodeError:
            text = toml_value(text)
        found.append((path, text))
    return found


WAYS: dict[str, Better] = {"min": "less", "max": "more"}
"""What a name may end with, and which way is then better."""


def _objectives(asked: Sequence[str], queue: str, measures: Sequence[Quantity]) -> list[Objective]:
    own = {q.id: q.at(queue) for q in measures}
    known = {**{name: q.at(queue) for name, q in KNOWN.items()}, **own}
    found: list[Objective] = []
    for text in asked or [*own] or DEFAULT:
        name, _, way = text.rpartition(":") if text.rpartition(":")[2] in WAYS else (text, "", "")
        name = name if name in own else ALIASES.get(name, name)
        if name not in known:
            words = ", ".join([*known, "fairness"])
            raise TuneError(
                f"--objective {text}: allowed are {words}, with :min or :max appended to reverse the direction"
            )
        if any(o.measure.id == name for o in found):
            raise TuneError(f"--objective {text}: is there twice")
        better = WAYS[way] if way else known[name].better
        if better is None:
            raise TuneError(f"--objective {text}: nothing says which way is better; allowed {text}:min or {text}:max")
        found.append(Objective(known[name], better == "more"))
    return found


_BOUNDS = re.compile(r"[\[(]([0-9.e+-]+), (inf|[0-9.e+-]+)[\])]|whole number ([0-9]+)\.\.([0-9]+)")


def _bounds(declared: Document) -> tuple[float, float]:
    found = _BOUNDS.search(str(declared["range"]))
    if not found:
        return -math.inf, math.inf
    low, high = (found[1], found[2]) if found[1] else (found[3], found[4])
    return float(low), float(high)


def _default(declared: Mapping[str, Document], checked: Document) -> list[Parameter]:
    """Every parameter above zero, with a range from an eighth of its value to eight times its value."""
    found: list[Parameter] = []
    for name, p in declared.items():
        value = checked.get(name)
        number = _number(value)
        if p["kind"] not in ("real", "whole") or name in UNSEARCHED or p["unit"] == "B" or not number:
            continue
        low, high = _bounds(p)
        low, high = max(number / SPAN, low), min(number * SPAN, high)
        if p["kind"] == "whole":
            low, high = max(1.0, round(low)), round(high)
        if low < high:
            found.append(Parameter(name, low, high, True, p["kind"] == "whole", _form(p)))
    return found


def _number(value: Any) -> float | None:
    """The number of a value of a checked scenario, without its unit."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value) if isinstance(value, (int, float)) else float(str(value).split(" ")[0])
    except ValueError:
        return None


def _form(declared: Document) -> str:
    return "{} " + declared["unit"] if declared["unit"] in NEEDED_UNITS else "{}"


def _asked(text: str, declared: Mapping[str, Document], aqm: str, place: str, base: Document) -> Parameter:
    """A parameter as `--param` names it; `place` is the path of its queue in the scenario."""
    name, _, span = text.partition("=")
    if name not in declared:
        raise TuneError(f"--param {text}: {aqm} has no parameter {name}; it has {', '.join(declared)}")
    p = declared[name]
    low_text, dots, high_text = (part.strip() for part in span.partition(".."))
    united = p["unit"] in NEEDED_UNITS
    example = f"{name}={EXAMPLES[p['unit']]}" if united else "max_p=0.01..0.5"
    try:
        low, high = _ends(low_text, high_text, p["unit"]) if united else (float(low_text), float(high_text))
    except _NoUnit as error:
        refused = checker_error(base, [(f"{place}.{name}", str(error))])
        said = "has no unit" if refused is None else refused.message
        raise TuneError(f"--param {text}: {said}; allowed NAME=LOW..HIGH with a unit, as {example}") from None
    except ValueError:
        low, high = 1.0, 0.0
    if p["kind"] not in ("real", "whole") or not dots or not low < high:
        wanted = "a unit" if united else "numbers"
        raise TuneError(f"--param {text}: allowed NAME=LOW..HIGH with {wanted}, LOW below HIGH, as {example}")
    bottom, top = _bounds(p)
    if low < bottom or high > top:
        raise TuneError(f"--param {text}: is out of range; allowed {p['range']}{' ' + p['unit'] if united else ''}")
    return Parameter(name, low, high, low > 0 and high / low >= 10, p["kind"] == "whole", _form(p))


EXAMPLES = {"s": "1ms..100ms", "bit/s": "1Mbit/s..10Mbit/s"}
"""Examples of ranges for the units in `NEEDED_UNITS`."""


class _NoUnit(ValueError):
    """A range's end has no unit, but needs one."""


def _ends(low: str, high: str, unit: str) -> tuple[float, float]:
    """Both ends of a range in a unit; the lower one may leave out the unit of the other, as `1..100ms`.

    Raises:
        ValueError: the ends are no quantities of this kind.
    """
    import earlydrop._core as _core

    found = _core.quantity(high)
    if found is None:
        raise _NoUnit(str(float(high)))
    if _core.quantity(low) is None:
        low = f"{float(low)} {found[1]}"
    lower, upper = in_unit(low, unit), in_unit(high, unit)
    if lower is None or upper is None:
        raise ValueError("another kind of unit")
    return lower, upper


def _linked(parameters: list[Parameter]) -> list[Parameter]:
    """`max_th` as a multiple of `min_th`, where both are searched."""
    if not {"min_th", "max_th"} <= {p.name for p in parameters}:
        return parameters
    return [
        replace(p, low=RATIO[0], high=RATIO[1], log=False, of="min_th") if p.name == "max_th" else p for p in parameters
    ]


def resolved(parameters: Sequence[Parameter], values: Mapping[str, float]) -> dict[str, float]:
    """The parameters' own values: multiples multiplied out, whole numbers whole."""
    found = dict(values)
    for p in parameters:
        if p.of is not None:
            found[p.name] = values[p.name] * values[p.of]
    return {p.name: float(round(found[p.name]) if p.whole else f"{found[p.name]:.6g}") for p in parameters}
