"""Parses a sweep's file and checks it. All errors are found before the first run, and reported together."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import earlydrop._core as _core
from .. import foreign
from ..analysis import shared, words
from ..analysis.quantity import (
    KNOWN,
    MOST_DIGITS,
    TARGETS,
    MeasureError,
    Quantity,
    declare,
    parsed,
    paths_of,
    with_records,
)
from ..analysis.statistics import Interval, Stopping
from ..document import Document
from ..expressions import Condition, ExpressionError, parse_condition
from ..output import NAME, NAME_ALLOWED
from ..own_aqms import registry
from ..strict_toml import TomlError, is_number, load, shown, suggestion
from . import design
from .base_scenario import NEUTRAL, checker_error, levels_with_code, one_line, overlay_toml, with_traces
from .checks import check_fields, check_levels, check_queue
from .factors import formless, parse_factors, parse_sets
from .lazy import Lazy
from .model import DESIGNS, Factor, Point, Sweep, SweepError
from .parts import parts
from .quantities import level_at, with_units
from .rtt import PATH as RTT
from .rtt import with_round_trips
from .sweep_table import Mistakes, SweepTable

KEYS = (
    "name",
    "title",
    "scenario",
    "aqms",
    "set",
    "seeds",
    "first_seed",
    "common",
    "control",
    "where",
    "interval",
    "store",
    "queue",
    "measures",
    "measure",
    "factor",
    "point",
    "design",
    "stop",
)
RUN_COLUMNS = ("point", "seed")
"""Columns of the table of runs beside factors and measures; factors that are called like a measure are told apart."""


def parse_file(path: Path, store: str | None = None) -> Sweep:
    """Parse and check a sweep's file. Its points are checked by `plan`.

    Raises:
        SweepError: the file is wrong; the message names every error.
    """
    try:
        text = foreign.text(path, foreign.SMALL)
        document = foreign.parsed_toml(text)
    except FileNotFoundError:
        raise SweepError(f"{path}: no such file") from None
    except OSError as error:
        raise SweepError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise SweepError(f"{path}: is not TOML: {error}") from None
    return parse_document(document, path, text, store)


def parse_document(
    document: Document,
    path: Path,
    text: str = "",
    store: str | None = None,
    measures: Sequence[Quantity] = (),
    *,
    apart: bool = True,
) -> Sweep:
    """Parse and check a sweep given as a document; `path` is its file in messages, and relative paths start there.

    `measures` are further ones, which `measures` and `stop` of the document may name. With `apart`, traffic entries
    that have delays of their own are measured one by one, too.

    Raises:
        SweepError: the sweep is wrong; the message names every error.
    """
    return _Parser(document, path, measures, apart).parse(text, store)


def _of_parts(split: Sequence[shared.Part], measures: Sequence[Quantity]) -> list[Quantity]:
    """Of each of these entries what is measured of all traffic, if a delay is: that of all together is nobody's."""
    known = {m.id for m in measures}
    if not known & {words.MEAN, words.TAIL}:
        return []
    return [m for m in shared.measures(split, known) if m.id not in known]


class _Parser:
    def __init__(self, document: Document, path: Path, measures: Sequence[Quantity], apart: bool) -> None:
        self.path, self.given, self.apart = path, measures, apart
        self.mistakes = Mistakes(path)
        self.top = SweepTable(document, "", self.mistakes)
        self.file: Path | None = None
        """The scenario's file, if it has one of its own."""
        self.without_set: Document | None = None
        """The scenario without `set`, if the sweep has a `set`."""

    def parse(self, text: str, store: str | None) -> Sweep:
        top, wrong = self.top, self.mistakes
        top.only(KEYS)
        name = top.text("name", self.path.stem)
        title, kept = top.text("title", name), top.text("store", "")
        if "name" in self.top.data and not re.fullmatch(NAME, name):
            top.report("name", f'given "{name}"; allowed {NAME_ALLOWED}')
        base = self._scenario()
        checked = self._checked(base)
        factors = parse_factors(top, self.path.parent)
        loaded = True
        try:
            factors = levels_with_code(factors, base, self.path.parent)
            factors = with_round_trips(factors, base, self._queue(base)) if checked is not None else factors
        except _core.ScenarioError as error:
            loaded = False
            top.report("factor", one_line(error))
        except SweepError as error:
            top.report("", str(error))
        kind, count, seed, cross = self._design(factors)
        conditions = self._conditions(factors)
        seeds, stop, stop_measures = self._seeds()
        queue = self._queue(base)
        measures = self._measures(queue, stop_measures)
        common = self._common(factors)
        control = self._control(factors)
        interval = top.word("interval", get_args(Interval), "t")
        first_seed = top.whole("first_seed", 0, 2**62, 1)
        if checked is not None:
            if loaded:
                # The delays of a round-trip time that was refused above are unknown.
                check_levels(base, [f for f in factors if RTT not in f.paths], wrong)
            if check_queue(checked, queue, wrong):
                base = with_records(base, paths_of(measures))
                check_fields(base, measures, factors, wrong)
        if wrong:
            raise wrong.error()
        split = parts(base, factors, queue) if self.apart else ()
        measures = (*measures, *_of_parts(split or (), measures))
        own = [m for m in measures if m.asked]
        entries = [one.get("name") if isinstance(one, dict) else None for one in base.get("traffic", ())]
        # Whether results have a path of some flows only is known after the runs.
        twice = [m for m in measures if not (m.asked or m.passing or m.id in stop_measures)]
        twice = [m for m in twice if shared.asked_already(m, own, entries) is not None]
        measures = tuple(m for m in measures if m not in twice)
        base = with_records(base, paths_of(measures))
        points = self._points(kind, factors, count, seed, cross, conditions)
        if not points and not wrong:
            top.report("where", "leaves no point")
        if wrong:
            raise wrong.error()
        assert checked is not None
        return Sweep(
            name=name,
            title=title,
            file=self.path,
            document=base,
            factors=tuple(factors),
            design=kind,
            points=points,
            seeds=seeds,
            first_seed=first_seed,
            stop=stop,
            stop_measures=stop_measures,
            common=common,
            control=control,
            measures=measures,
            queue=queue,
            interval="bootstrap" if interval == "bootstrap" else "t",
            where=tuple(conditions),
            store=store or kept,
            warmup_s=float(json.loads(checked.to_json())["warmup"].removesuffix(" s")),
            text=text,
            parts=split,
        )

    # ---- scenario ------------------------------------------------------------------------------------------------

    def _scenario(self) -> Document:
        given = self.top.raw("scenario")
        folder = self.path.parent
        if isinstance(given, str):
            self.file = folder / given
            try:
                given, folder = load(self.file), self.file.parent
            except TomlError as error:
                self.top.report("scenario", f"{self.file}: {error}")
                return {}
        elif isinstance(given, dict) and "aqms" in given:
            self.top.report("scenario.aqms", "stands at the top of a sweep; write [aqms] in place of [scenario.aqms]")
            return {}
        if not isinstance(given, dict):
            said = "is missing" if given is None else f"given {shown(given)}"
            self.top.report("scenario", f"{said}; allowed a scenario's file, or a table [scenario]")
            return {}
        base: Document = with_traces({**given, "name": NEUTRAL, "seed": 1}, folder)
        own = self.top.table("aqms")
        if own is not None:
            wrong = {name: source for name, source in own.data.items() if not isinstance(source, str | dict)}
            for name, source in wrong.items():
                own.refuse(name, source, 'a source such as "mine.py:MyRed" or "libmine.so"')
            if wrong:
                return {}
            try:
                listed = registry.pinned({"aqms": own.data}, str(self.path.parent))["aqms"]
            except _core.ScenarioError as error:
                self.top.report("", one_line(error))
                return {}
            base["aqms"] = {**base.get("aqms", {}), **listed}
        try:
            base = registry.pinned(base, str(folder), None if self.file is None else str(self.file))
        except _core.ScenarioError as error:
            self.top.report("scenario", one_line(error))
            return {}
        pairs = parse_sets(self.top, self.path.parent)
        if not pairs:
            return base
        self.without_set = base
        try:
            return overlay_toml(base, pairs)
        except SweepError as error:
            self.top.report("", str(error))
            return {}

    def _checked(self, base: Document) -> _core.Scenario | None:
        if not base:
            return None
        try:
            return _core.Scenario.parse(base, [])
        except _core.ScenarioError as error:
            # A scenario that is right without `set` is wrong because of it.
            blamed = self.without_set is not None and checker_error(self.without_set, []) is None
            file = f"{self.file}: " if self.file is not None and not blamed else ""
            self.top.report("set" if blamed else "scenario", file + one_line(error))
            return None

    def _queue(self, base: Document) -> str:
        queues = base.get("queue")
        names = list(queues) if isinstance(queues, dict) else []
        default = "bottleneck" if "bottleneck" in names or not names else names[0]
        return self.top.text("queue", default)

    # ---- design --------------------------------------------------------------------------------------------------

    def _design(self, factors: Sequence[Factor]) -> tuple[Any, int, int, tuple[str, ...]]:
        top = self.top
        table = top.table("design")
        if table is None:
            table = SweepTable({"kind": "list"} if top.has("point") else {}, "design", self.mistakes)
        table.only(("kind", "points", "seed", "cross"))
        kind = table.word("kind", DESIGNS, "grid")
        cross = table.texts("cross", ())
        names = [f.name for f in factors]
        for name in cross:
            if name not in names:
                table.report("cross", f"there is no factor {name}; there are {', '.join(names)}")
        ranged = [f.name for f in factors if f.ranged and (kind == "grid" or f.name in cross)]
        for name in ranged:
            top.report(f"factor {name}: range", "in a grid give steps = N beside it, or values")
        count = 0
        if kind in ("random", "sobol"):
            if table.has("points"):
                count = table.whole("points", 1, design.MOST)
            else:
                table.report("points", f"is missing; a {kind} design says how many points")
        elif table.has("points"):
            table.report("points", f"belongs to random and sobol; given with {kind}")
        if kind == "list" and not top.raw("point"):
            top.report("point", "is missing; a list has at least one [[point]]")
        if kind != "list" and top.has("point"):
            top.report("point", f"belongs to a list; given with {kind}")
        if not ranged and kind != "list":
            total = design.size(kind, factors, count, cross)  # type: ignore[arg-type]
            if total > design.MOST:
                top.report("design", f"has {total:,} points; allowed are {design.MOST:,}")
        return kind, count, table.whole("seed", 0, 2**31, 1), cross

    def _listed(self, factors: Sequence[Factor]) -> Sequence[Point]:
        # The number of each factor's level at each point; -1 for a value that is no level of the factor.
        levels, own = array("i"), {}
        named = []
        for factor in factors:
            found: dict[Any, int] = {}
            for number, level in enumerate(factor.levels):
                found.setdefault(level.value, number)
                found.setdefault(level.name, number)
                found.setdefault(factor.called(level.name), number)
            named.append(found)
        count = 0
        for table in self.top.each_table("point"):
            count += 1
            table.place = f"point {count}"
            table.only([f.name for f in factors])
            for factor, known in zip(factors, named, strict=True):
                if not table.has(factor.name):
                    table.report("", f"has no {factor.name}")
                    continue
                value = table.raw(factor.name)
                at = known.get(value, -1) if isinstance(value, (str, int, float)) else -1
                # To Python, true is 1.
                if at >= 0 and isinstance(value, bool) != isinstance(factor.levels[at].value, bool):
                    at = -1
                if at < 0 and (factor.ranged or factor.paths):
                    if not isinstance(value, (str, int, float)):
                        table.refuse(factor.name, value, "a number, a text or a flag")
                        continue
                    if (said := formless(factor.form, value)) is not None:
                        table.report(factor.name, said)
                        continue
                elif at < 0:
                    names = ", ".join(x.name for x in factor.levels)
                    table.report(factor.name, f"there is no level {shown(value)}; there are {names}")
                if at < 0:
                    own[len(levels)] = value
                levels.append(at)
        if self.mistakes:
            return ()

        def point(k: int) -> Point:
            here = range(k * len(factors), (k + 1) * len(factors))
            pairs = zip(factors, here, strict=True)
            return Point(tuple(level_at(f, own[at]) if at in own else f.levels[levels[at]] for f, at in pairs))

        return Lazy(count, point, design.KEPT)

    def _points(
        self,
        kind: Any,
        factors: Sequence[Factor],
        count: int,
        seed: int,
        cross: Sequence[str],
        conditions: Sequence[Condition],
    ) -> Sequence[Point]:
        found = self._listed(factors) if kind == "list" else design.points(kind, factors, count, seed, cross)
        if not conditions:
            return found

        def holds(point: Point) -> bool:
            values = {f.name: level.value for f, level in zip(factors, point.levels, strict=True)}
            return all(condition.holds(values) for condition in conditions)

        try:
            return design.chosen(found, (k for k, point in enumerate(found) if holds(point)))
        except ExpressionError as error:
            said = str(error)
            if isinstance(error.__cause__, TypeError):
                # Python's own words, which speak of its types, are left out.
                said = said.removesuffix(str(error.__cause__)) + "it compares or adds a text and a number"
            self.top.report("where", said)
            return ()

    def _conditions(self, factors: Sequence[Factor]) -> list[Condition]:
        found = []
        for text in self.top.texts("where", ()):
            try:
                found.append(with_units(parse_condition(text, [f.name for f in factors]), factors))
            except ExpressionError as error:
                self.top.report("where", str(error))
        return found

    # ---- seeds and measures --------------------------------------------------------------------------------------

    def _seeds(self) -> tuple[int, Stopping | None, tuple[str, ...]]:
        top = self.top
        table = top.table("stop")
        if table is None:
            return top.whole("seeds", 1, 100_000, 10), None, ()
        if top.has("seeds"):
            top.report("seeds", "and stop exclude each other; stop has least and most")
        table.only(("relative", "measures", "least", "most"))
        relative = table.raw("relative")
        if not is_number(relative) or not 0 < relative < 1:
            table.refuse("relative", relative, "a number between 0 and 1")
            relative = 0.02
        most = table.whole("most", 2, 100_000, 200)
        least = table.whole("least", 2, most, min(10, most))
        return least, Stopping(float(relative), least, most), table.texts("measures", TARGETS)

    def _measures(self, queue: str, stop_measures: Sequence[str]) -> tuple[Quantity, ...]:
        known = {name: q.at(queue) for name, q in KNOWN.items()}
        own = {q.id: q.at(queue) for q in self.given}
        places: dict[str, int] = {}
        for number, table in enumerate(self.top.tables("measure"), 1):
            table.place = f"measure {number}"
            table.only(("id", "title", "unit", "field", "digits", "scale", "better", "margin"))
            name = table.text("id", f"measure_{number}")
            # Tables and documents have one column for each id: of two measures with one id, one would be missing.
            if name in known:
                table.report("id", f'given "{name}", as one of the built-in `measures`; allowed another id')
            elif name in places:
                table.report("id", f'given "{name}", as measure {places[name]}; allowed another id')
            elif name in RUN_COLUMNS:
                table.report("id", f'given "{name}", a column of every table of runs; allowed another id')
            places.setdefault(name, number)
            if not table.has("field"):
                table.report("", "has no field; give a field of the result document, as jain")
                continue
            field = table.text("field")
            unit = (table.text("unit", "") if table.raw("unit") else "") if table.has("unit") else None
            digits, scale = table.whole("digits", 0, MOST_DIGITS, 3), table.number("scale", 1.0)
            # A field that is no text is reported already.
            if not field:
                continue
            try:
                made = declare(
                    field,
                    id_=name,
                    title=table.text("title", name),
                    unit=unit,
                    better=table.raw("better"),
                    margin=table.raw("margin"),
                    digits=digits,
                    scale=scale,
                    folder=str(self.path.parent),
                )
                own[name] = made.at(queue)
            except MeasureError as error:
                table.report("", str(error))
        chosen = list(self.top.texts("measures", ()))
        if self.top.data.get("measures") == [] and not own and not stop_measures:
            self.top.report("measures", "given none, and there is no [[measure]]; allowed one measure or more")
        all_ = {**known, **own}
        for k, text in enumerate(chosen):
            if text not in all_ and not text.isidentifier():
                chosen[k] = self._inline(text, all_, queue)
        for place, names in (("measures", chosen), ("stop: measures", stop_measures)):
            for name in names:
                if name and name not in all_:
                    self.top.report(place, f'there is no measure "{name}"; {suggestion(name, list(all_))}')
        every = () if "measures" in self.top.data else known
        wanted = dict.fromkeys([*chosen, *own, *every, *stop_measures])
        asked = {*chosen, *own}
        return tuple(replace(all_[name], asked=name in asked) for name in wanted if name in all_)

    def _inline(self, text: str, all_: dict[str, Quantity], queue: str) -> str:
        """The id of a measure that `measures` gives as a path; it is then one of `all_`."""
        try:
            made = parsed(text, folder=str(self.path.parent)).at(queue)
        except MeasureError as error:
            self.top.report("measures", str(error))
            return ""
        if made.id in all_ or made.id in RUN_COLUMNS:
            self.top.report("measures", f'given "{text}", whose id {made.id} is taken; allowed another title')
        all_[made.id] = made
        return made.id

    def _common(self, factors: Sequence[Factor]) -> tuple[str, ...] | None:
        names = self.top.texts("common", "all")
        if names == ("all",):
            return None
        for name in names:
            if name not in [f.name for f in factors]:
                self.top.report("common", f'there is no factor {name}; allowed "all" or a list of factors')
        return names

    def _control(self, factors: Sequence[Factor]) -> dict[str, str]:
        found = {}
        for name, level in self.top.settings("control", None).items():
            factor = next((f for f in factors if f.name == name), None)
            if factor is None:
                self.top.report("control", f"there is no factor {name}")
                continue
            named = next((x.name for x in factor.levels if level in (x.value, x.name)), None)
            named = named or next((x.name for x in factor.levels if level == factor.called(x.name)), None)
            if named is None:
                names = ", ".join(factor.both(x.name) for x in factor.levels) or "none, because it is a range"
                self.top.report("control", f"{name} has no level {shown(level)}; levels are {names}")
                continue
            found[name] = named
        return found
