"""What is measured: a number of a result, by its path or by a function, with unit, direction and margin.

Runs, comparisons, sweeps, studies and searches take measures from here, so that one path is one number in all of them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as item
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from ..document import MISSING, Document, PathError, is_position, lookup, steps_of, walk
from ..errors import EarlydropError
from ..strict_toml import nearest, suggestion
from .measures import NUMBER, Kind, Margin, declared, step

Better = Literal["less", "more"]
Function = Callable[[Document], float | None]
"""A measure that no path names: a number of a result document, or None where there is none."""


class MeasureError(EarlydropError):
    """A measure is wrong: its declaration, its path or its function."""


@dataclass(frozen=True)
class Quantity:
    """One number of a result. `{queue}` in its field stands for the queue that is compared."""

    id: str
    title: str
    unit: str
    field: str
    """Its path in the result; of a function, where that is from."""
    digits: int
    scale: float = 1.0
    drawn: bool = False
    passing: str = ""
    """A field that replaces `field` where a result has it: of the flows that pass the queue, not of all."""
    own_better: Better | None = None
    """The better direction, in place of that of the kind."""
    own_margin: Margin | None = None
    """A margin in place of that of the kind."""
    function: Function | None = item(default=None, compare=False)
    asked: bool = False
    """Whether it was asked for: it then comes first in sentences, tables and figures."""

    def at(self, queue: str) -> Quantity:
        """This quantity with the name of the queue in its fields."""
        return replace(self, field=self.field.replace("{queue}", queue), passing=self.passing.replace("{queue}", queue))

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields to look for: the first that exists counts. Of a function none."""
        if self.function is not None:
            return ()
        return (self.passing, self.field) if self.passing else (self.field,)

    def value(self, document: Document) -> float | None:
        """The quantity's value in a result, in its unit.

        Raises:
            MeasureError: the path means two entries, its value is no number, or the function fails.
        """
        if self.function is not None:
            return self._called(document)
        found = self._found(document)
        return None if found is None else found[1] * self.scale

    def _found(self, document: Document) -> tuple[str, float] | None:
        for name in self.fields:
            try:
                value = lookup(document, name)
            except PathError as error:
                raise MeasureError(f"measure {self.id}: {name}: {error}") from error
            if value is not None:
                if isinstance(value, str | list | Mapping):
                    raise MeasureError(f"measure {self.id}: the field {name} is not a number")
                return name, float(value)
        return None

    def found_in(self, documents: Iterable[Document]) -> list[str]:
        """Those of its fields from which its values in these results are."""
        found = (self._found(one) for one in documents if self.fields)
        return list(dict.fromkeys(one[0] for one in found if one is not None))

    def _called(self, document: Document) -> float | None:
        assert self.function is not None
        try:
            value = self.function(document)
            number = None if value is None else float(value)
        except Exception as error:
            raise MeasureError(f"measure {self.id}: {self.field}: {type(error).__name__}: {error}") from error
        return None if number is None or math.isnan(number) else number * self.scale

    def step(self, document: Document, queue: str) -> float:
        """What one packet more or less at a queue changes in its value in a result."""
        at = lookup(document, f"queues.{queue}")
        found = self._found(document) if self.fields and isinstance(at, Mapping) else None
        if found is None:
            return 0.0
        window = float(document.get("duration_s", 0)) - float(document.get("warmup_s", 0))
        return step(*found, at, window) * self.scale

    @property
    def label(self) -> str:
        """Title with unit."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def said(self) -> str:
        """The title inside a sentence."""
        return self.title if self.asked else self.title.lower()

    @property
    def kind(self) -> Kind:
        """The kind of measure, by its field."""
        return NUMBER if self.function is not None else kind_stored(self.field)

    @property
    def better(self) -> Better | None:
        """The better direction; without one no sentence judges a difference."""
        return self.own_better or self.kind.better

    @property
    def margin(self) -> Margin | None:
        """How far apart two values may be and still count as equal."""
        return self.own_margin or self.kind.margin_in(self.unit)

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest value."""
        return self.kind.bounds(self.unit)

    def document(self) -> Document:
        """Its declaration as plain values."""
        return {
            "title": self.title,
            "unit": self.unit,
            "field": self.field,
            "digits": self.digits,
            "scale": self.scale,
            "better": self.better,
            "margin": None if self.margin is None else str(self.margin).replace(" ", ""),
            "asked": self.asked,
        }


_OF_PASSING = "queues.{queue}.passing."


QUANTITIES = (
    Quantity("throughput", "Throughput", "Mbit/s", "throughput_total_mbps", 3, passing=_OF_PASSING + "throughput_mbps"),
    Quantity("goodput", "Goodput", "Mbit/s", "goodput_total_mbps", 3, drawn=True, passing=_OF_PASSING + "goodput_mbps"),
    Quantity("utilisation", "Utilisation", "%", "queues.{queue}.utilisation", 2, 100),
    Quantity("delay", "Delay, end to end", "ms", "delay_mean_ms", 2, passing=_OF_PASSING + "delay_mean_ms"),
    Quantity("queue_delay", "Queueing delay", "ms", "queues.{queue}.delay_mean_ms", 2, drawn=True),
    Quantity("queue_delay_p99", "Queueing delay, 99 %", "ms", "queues.{queue}.delay_p99_ms", 2, drawn=True),
    Quantity("queue", "Mean queue", "packets", "queues.{queue}.queue_mean_packets", 2, drawn=True),
    Quantity("drop_rate", "Drop rate", "%", "queues.{queue}.drop_rate", 3, 100, drawn=True),
    Quantity("jain", "Jain index", "", "jain", 4, drawn=True, passing=_OF_PASSING + "jain"),
)
KNOWN = {q.id: q for q in QUANTITIES}
"""Measures with a name of their own."""

MEAN, TAIL = "queue_delay", "queue_delay_p99"
LISTED = 4
"""The most disciplines, or traffic entries, that sentences name; of more, those with the largest differences."""

COMPARED = tuple(q for q in QUANTITIES if q.id != "throughput")
"""Quantities of a comparison's tables: throughput only adds to goodput what arrives twice or out of order."""

TARGETS = ("goodput", "queue_delay")
"""Quantities whose intervals must be narrow before seeds stop."""


# ---- declared by whoever asks --------------------------------------------------------------------------------------

OPTIONS = ("unit", "better", "margin", "digits", "scale")
"""Keys of a declaration beside title and path."""
FORM = '"TITLE = PATH", as "Prague p99 = queues.bottleneck.traffic.prague.delay_p99_ms"'
_PATH = re.compile(r'((?:"[^"]*"|[^\s"=])+)\s*')
_OPTION = re.compile(r'(\w+)\s*=\s*("[^"]*"|\S+)\s*')
_SOURCE = re.compile(r"(.+\.py):(\w+)")
_FUNCTION = re.compile(rf"function .+|{_SOURCE.pattern}")
MOST_DIGITS = 12


def declare(
    path: str | Function,
    *,
    title: str = "",
    id_: str = "",
    unit: str | None = None,
    better: object = None,
    margin: object = None,
    digits: int = 3,
    scale: float = 1.0,
    folder: str | None = None,
    named: bool = False,
) -> Quantity:
    """A measure that somebody asks for.

    What is not given follows from the path, as far as the engine declares its field. `path` may be the id of a measure
    of `compare`, or a function: one of Python, or `mine.py:stalls`, relative to `folder`. A function in a file is
    loaded if the user named it himself (`named`), or trusts the file.

    Raises:
        MeasureError: the path cannot be read, the function cannot be loaded, or a value is not allowed.
    """
    function: Function | None = None
    if callable(path):
        function, name = path, getattr(path, "__name__", "function")
        source, title = f"function {name}", title or name
    elif found := _SOURCE.fullmatch(path):
        function, title = _loaded(path, folder, named), title or found[2]
        # Where the file lies says nothing of what is measured.
        source = f"{Path(found[1]).name}:{found[2]}"
    elif path in KNOWN:
        known = KNOWN[path]
        name = id_ or (identifier(title) if title else path)
        made = replace(known, id=name, title=title or known.title, asked=True, drawn=True)
        if unit is not None or scale != 1.0:
            made = replace(made, unit=known.unit if unit is None else unit, scale=scale)
        return replace(made, own_better=_better(better), own_margin=_margin(margin))
    else:
        try:
            steps_of(path)
        except PathError as error:
            raise MeasureError(str(error)) from error
        source = path
    if function is None and unit is None and scale == 1.0:
        unit = declared(path)[1] if isinstance(path, str) else ""
    if not isinstance(digits, int) or isinstance(digits, bool) or not 0 <= digits <= MOST_DIGITS:
        raise MeasureError(f"digits: given {digits!r}; allowed whole numbers from 0 to {MOST_DIGITS}")
    return Quantity(
        id_ or (identifier(title) if title else source),
        title or source,
        unit or "",
        source,
        digits,
        scale,
        drawn=True,
        own_better=_better(better),
        own_margin=_margin(margin),
        function=function,
        asked=True,
    )


def kind_stored(field: str) -> Kind:
    """The kind of a measure of which only the field is known, as result folders have it: of a function no kind."""
    return NUMBER if _FUNCTION.fullmatch(field) else declared(field)[0]


def stored(id_: str, declared_: Mapping[str, Any]) -> Quantity:
    """A measure of a result folder; a function is not loaded, and has no value of its own."""
    path = str(declared_["field"])
    return Quantity(
        id_,
        str(declared_["title"]),
        str(declared_["unit"]),
        path,
        int(declared_["digits"]),
        float(declared_["scale"]),
        drawn=True,
        own_better=_better(declared_.get("better")),
        own_margin=_margin(declared_.get("margin")),
        function=_not_loaded if "values" in declared_ else None,
        asked=True,
    )


def _not_loaded(_: Document) -> None:
    raise MeasureError("is not loaded")


def identifier(title: str) -> str:
    """A title as the name of a column: `Prague p99` is `prague_p99`."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"'s?\b", "", title.lower())).strip("_") or "measure"


def parsed(text: str, *, folder: str | None = None, named: bool = False) -> Quantity:
    """A measure as `TITLE = PATH`, or as a path alone; after it may stand `unit=ms better=less margin=2% digits=1`.

    Raises:
        MeasureError: as for `declare`.
    """
    title, path = _title_of(text)
    found = _PATH.match(path)
    if found is None:
        raise MeasureError(f'given "{text}"; allowed {FORM}')
    options: dict[str, Any] = {}
    at = found.end()
    while at < len(path):
        option = _OPTION.match(path, at)
        if option is None or option[1] not in OPTIONS or option[1] in options:
            said = path[at:] if option is None else option[1]
            raise MeasureError(f'given "{text}": "{said}" is none of {", ".join(f"{o}=" for o in OPTIONS)} (each once)')
        options[option[1]] = option[2].strip('"')
        at = option.end()
    for name, kind in (("digits", int), ("scale", float)):
        if name in options:
            try:
                options[name] = kind(options[name])
            except ValueError:
                raise MeasureError(f'given "{text}": {name}: given {options[name]}; allowed a number') from None
    try:
        return declare(found[1], title=title, folder=folder, named=named, **options)
    except MeasureError as error:
        raise MeasureError(f'given "{text}": {error}') from error


def _title_of(text: str) -> tuple[str, str]:
    """The title and what comes behind it; no title where the first `=` belongs to an option."""
    head, equals, rest = text.partition("=")
    words = head.split()
    if not equals or (len(words) > 1 and words[-1] in OPTIONS and not head.endswith(" ")):
        return "", text.strip()
    return head.strip(), rest.strip()


Asked = Mapping[str, Any] | Sequence[Any] | str
"""Measures as Python takes them: texts as on the command line; or by title a path, a function, or a table."""


def asked(given: Asked | None, *, folder: str | None = None, where: str = "measures") -> tuple[Quantity, ...]:
    """The measures that somebody asks for, each with an id of its own.

    Raises:
        MeasureError: one is wrong, or two have one id; the message begins with `where`.
    """
    items: list[Quantity] = []
    pairs = list(given.items()) if isinstance(given, Mapping) else [("", one) for one in _several(given)]
    for title, one in pairs:
        try:
            items.append(_one(title, one, folder, named=True))
        except MeasureError as error:
            raise MeasureError(f"{where}: {error}") from error
    seen: dict[str, Quantity] = {}
    for one in items:
        if one.id in seen:
            raise MeasureError(f'{where}: "{seen[one.id].title}" and "{one.title}" are both called {one.id}')
        seen[one.id] = one
    return tuple(items)


def _several(given: Any) -> Sequence[Any]:
    if given is None:
        return ()
    return [given] if isinstance(given, str) or callable(given) or not isinstance(given, Sequence) else given


def _one(title: str, given: Any, folder: str | None, named: bool) -> Quantity:
    if isinstance(given, Quantity):
        return given
    if isinstance(given, str):
        return parsed(f"{title} = {given}" if title else given, folder=folder, named=named)
    if callable(given):
        return declare(given, title=title)
    if isinstance(given, Mapping) and (given.keys() & {"field", "path"}):
        options = {k: v for k, v in given.items() if k not in ("field", "path", "title")}
        if wrong := set(options) - set(OPTIONS):
            raise MeasureError(f'{title}: unknown key "{min(wrong)}"; {suggestion(min(wrong), ("path", *OPTIONS))}')
        path = given.get("path", given.get("field"))
        return declare(path, title=given.get("title", title), folder=folder, named=named, **options)
    raise MeasureError(f"{title or 'measure'}: given {given!r}; allowed a path, a function, or a table with `path`")


def _better(given: object) -> Better | None:
    if given is None or given in get_args(Better):
        return given  # type: ignore[return-value]
    raise MeasureError(f'better: given {given!r}; allowed "less", "more"')


def _margin(given: object) -> Margin | None:
    """A margin: `"5 %"` of the value, or a number in the unit of the measure."""
    if given is None:
        return None
    text = str(given).strip()
    number, percent, rest = text.partition("%")
    try:
        size = float(number) if not isinstance(given, bool) and not rest else math.nan
    except ValueError:
        size = math.nan
    if not 0 < size < math.inf:
        raise MeasureError(f'margin: given {given!r}; allowed "5 %", or a number above 0 in the unit of the measure')
    return Margin(size / 100 if percent else size, bool(percent), "declared with the measure")


def _loaded(source: str, folder: str | None, named: bool) -> Function:
    from ..own_aqms.declare import PolicyError
    from ..own_aqms.registry import function

    try:
        return function(source, folder, named=named)
    except PolicyError as error:
        raise MeasureError(str(error)) from error


def paths_of(measures: Iterable[Quantity]) -> list[str]:
    """The paths of measures; functions have none."""
    return [path for m in measures for path in m.fields]


# ---- in a scenario -------------------------------------------------------------------------------------------------

_WITH = re.compile(r"(.+) with `record\.(\w+)`")
_ROOTS = {"queues.NAME": "queues", "flows[i]": "flows", "traffic[i]": "traffic"}


@cache
def _recorded() -> dict[tuple[str, str], str]:
    """The key of `[record]` behind a field of queues, flows and traffic entries, as the engine declares it."""
    import earlydrop._core as _core

    found: dict[tuple[str, str], str] = {}
    for one in json.loads(_core.result_fields()):
        part = _WITH.fullmatch(one["part"])
        if part is not None:
            found |= {(_ROOTS[root], one["name"]): part[2] for root in part[1].split(", ") if root in _ROOTS}
    return found


def record_of(path: str) -> str | None:
    """The key of `[record]` that must be true for a result to have this path; None if it needs none."""
    steps = steps_of(path)
    return _recorded().get((steps[0], steps[2])) if len(steps) > 2 else None


def with_records(document: Mapping[str, Any], paths: Iterable[str]) -> Document:
    """A copy of a scenario in which `[record]` has what these paths need."""
    needed = {path.partition(".")[2]: True for path, _ in record_sets(paths)}
    return {**document, "record": {**document.get("record", {}), **needed}} if needed else dict(document)


def record_sets(paths: Iterable[str]) -> list[tuple[str, str]]:
    """What these paths need of `[record]`, as `--set` has it."""
    needed = {key for path in paths if (key := record_of(path)) is not None}
    return [(f"record.{key}", "true") for key in sorted(needed)]


def values(measures: Sequence[Quantity], document: Document, place: str) -> Document:
    """The values of measures in a result, by id.

    Raises:
        MeasureError: the result does not have one; the message begins with `place`.
    """
    first = next(iter(document["queues"]), "bottleneck")
    queue = "bottleneck" if "bottleneck" in document["queues"] else first
    found = {}
    for one in (m.at(queue) for m in measures):
        if said := complaint(one, document):
            raise MeasureError(f"{place}: measure {one.id}: {said}")
        found[one.id] = {**one.document(), "value": one.value(document)}
    return found


_KEPT = ("flows", "by_flow", "transfers", "jitter", "losses", "loss_rtt", "delay_histogram")
"""Keys of `[record]` that change which numbers a result has."""


def moment(document: Mapping[str, Any], sets: Sequence[tuple[str, str]] = ()) -> Document | None:
    """The result of the first millisecond of a scenario, for its fields; None if it cannot be run."""
    import earlydrop._core as _core

    record = {k: v for k, v in document.get("record", {}).items() if k in _KEPT}
    short = {**document, "duration": "1 ms", "warmup": "0 s", "record": record}
    kept = [(path, value) for path, value in sets if path not in ("duration", "warmup") and "record" not in path]
    try:
        found: Document = json.loads(_core.Scenario.parse(short, kept).run(1))
    except (_core.ScenarioError, ValueError, RuntimeError):
        return None
    return found


def complaint(quantity: Quantity, document: Document) -> str:
    """What is wrong with the path of a measure in this result; empty if nothing is."""
    if quantity.function is not None:
        return ""
    try:
        value = next(walk(document, steps_of(quantity.field)), MISSING)
    except PathError as error:
        return f"the field {quantity.field}: {error}"
    if value is MISSING:
        near = nearest(quantity.field, list(_numbers_of(document)))
        return f'a result has no field "{quantity.field}"' + (f"; {near}" if near else "")
    text = isinstance(value, str | list | Mapping) or quantity.field.rpartition(".")[2] in ("name", "tcp", "kind")
    return f"the field {quantity.field} is not a number" if text else ""


MOST_ENTRIES = 20
"""The most entries of a list whose fields are offered in place of one that does not exist."""


def _numbers_of(here: Any, at: str = "") -> Iterator[str]:
    """The paths of all numbers of a result; entries with names by these."""
    if isinstance(here, Mapping):
        for name, inner in here.items():
            step = f'"{name}"' if "." in str(name) or is_position(str(name)) else str(name)
            yield from _numbers_of(inner, f"{at}.{step}" if at else step)
    elif isinstance(here, list):
        for k, inner in enumerate(here[:MOST_ENTRIES]):
            name = inner.get("name") if isinstance(inner, Mapping) else None
            yield from _numbers_of(inner, f"{at}.{k}")
            if isinstance(name, str):
                yield from _numbers_of(inner, f'{at}."{name}"' if "." in name or is_position(name) else f"{at}.{name}")
    elif not isinstance(here, str):
        yield at
