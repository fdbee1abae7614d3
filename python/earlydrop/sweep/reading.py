"""Reads a sweep's file and checks it. All mistakes are found before anything is run, and named together."""

from __future__ import annotations

import difflib
import json
import math
import tomllib
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from .. import _core
from ..analysis.compare import QUANTITIES, Quantity
from ..analysis.statistics import Interval, Stopping
from ..documents import Document, toml_value
from ..store.names import firsts, of_texts
from . import design, where
from .lazy import Lazy
from .model import DESIGNS, Factor, Level, Point, Sweep, SweepError, level_name

KEYS = (
    "name",
    "title",
    "scenario",
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
FACTOR_KEYS = ("name", "title", "unit", "path", "paths", "values", "levels", "range", "steps", "log", "whole", "format")
NEUTRAL = "run"
"""Name of every scenario that is run, so that equal scenarios have equal keys whatever they are called."""
RESCUES = 300
"""Combinations with other levels that are tried before a level is called wrong."""
LONGEST_FILE = 4 << 20


class Mistakes:
    """What is wrong with a file, each once, in the order in which it was found."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.found: dict[str, None] = {}

    def add(self, where: str, what: str) -> None:
        self.found[f"{where}: {what}" if where else what] = None

    def __bool__(self) -> bool:
        return bool(self.found)

    def error(self) -> SweepError:
        """All of them as one error."""
        lines = list(self.found)
        if len(lines) == 1:
            return SweepError(f"{self.file}: {lines[0]}")
        return SweepError("\n".join([f"{self.file}: {len(lines)} mistakes", *(f"  {line}" for line in lines)]))


def one_line(error: BaseException) -> str:
    """A checker's message on one line."""
    return " ".join(part.strip() for part in str(error).splitlines())


def read(path: Path, store: str | None = None) -> Sweep:
    """Read and check a sweep's file, but not its points: `check_points` does that.

    Raises:
        SweepError: the file is wrong; the message names every mistake.
    """
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise SweepError(f"{path}: is larger than {LONGEST_FILE >> 20} MiB")
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except FileNotFoundError:
        raise SweepError(f"{path}: no such file") from None
    except OSError as error:
        raise SweepError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SweepError(f"{path}: is not TOML: {error}") from None
    return from_document(document, path, text, store)


def from_document(document: Document, path: Path, text: str = "", store: str | None = None) -> Sweep:
    """A sweep from a document; `path` is where its scenario's file is looked for, and what messages call it."""
    return _Reader(document, path).read(text, store)


class _Reader:
    def __init__(self, document: Document, path: Path) -> None:
        self.document, self.path = document, path
        self.mistakes = Mistakes(path)

    def read(self, text: str, store: str | None) -> Sweep:
        d, wrong = self.document, self.mistakes
        self._unknown("", d, KEYS)
        name = self._text("name", d.get("name"), self.path.stem)
        base = self._scenario()
        factors = self._factors()
        kind, count, seed, cross = self._design(factors)
        conditions = self._conditions(factors)
        seeds, stop, stop_measures = self._seeds()
        queue = self._queue(base)
        measures = self._measures(queue, stop_measures)
        common = self._common(factors)
        control = self._control(factors)
        interval = self._word("interval", d.get("interval", "t"), get_args(Interval))
        first_seed = self._whole("first_seed", d.get("first_seed", 1), 0, 2**62)
        checked = self._checked(base)
        if checked is not None:
            self._levels(base, factors)
            self._fields(base, measures)
        if wrong:
            raise wrong.error()
        points = self._points(kind, factors, count, seed, cross, conditions)
        if not points and not wrong:
            wrong.add("where", "leaves no point")
        if wrong:
            raise wrong.error()
        assert checked is not None
        return Sweep(
            name=name,
            title=self._text("title", d.get("title"), name),
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
            store=store or self._text("store", d.get("store"), ""),
            warmup_s=float(json.loads(checked.to_json())["warmup"].removesuffix(" s")),
            text=text,
        )

    # ---- small things --------------------------------------------------------------------------------------------

    def _unknown(self, place: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
        for key in table:
            if key not in known:
                near = difflib.get_close_matches(key, known, 1)
                hint = f"did you mean {near[0]}?" if near else f"allowed are {', '.join(known)}"
                self.mistakes.add(place, f"unknown key {key}; {hint}")

    def _text(self, place: str, value: Any, default: str) -> str:
        if value is None:
            return default
        if not isinstance(value, str) or not value.strip() or len(value) > 1000:
            self.mistakes.add(place, f"given {value!r}; allowed a text")
            return default
        return value

    def _whole(self, place: str, value: Any, low: int, high: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.mistakes.add(place, f"given {value!r}; allowed whole numbers from {low} to {high}")
            return low
        return value

    def _word(self, place: str, value: Any, words: Sequence[str]) -> str:
        if value not in words:
            self.mistakes.add(place, f"given {value!r}; allowed {', '.join(words)}")
            return words[0]
        return str(value)

    def _texts(self, place: str, value: Any) -> list[str]:
        if isinstance(value, str):
            return [value]
        if not isinstance(value, list) or not all(isinstance(x, str) for x in value):
            self.mistakes.add(place, f"given {value!r}; allowed a list of texts")
            return []
        return list(value)

    # ---- scenario ------------------------------------------------------------------------------------------------

    def _scenario(self) -> Document:
        given = self.document.get("scenario")
        folder = self.path.parent
        if isinstance(given, str):
            file = folder / given
            try:
                given = tomllib.loads(file.read_text(encoding="utf-8"))
                folder = file.parent
            except OSError as error:
                self.mistakes.add("scenario", f"{file}: {error.strerror}")
                return {}
            except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                self.mistakes.add("scenario", f"{file}: is not TOML: {error}")
                return {}
        if not isinstance(given, dict):
            self.mistakes.add("scenario", "is missing; allowed a scenario's file, or a table [scenario]")
            return {}
        base: Document = inlined({**given, "name": NEUTRAL, "seed": 1}, folder)
        sets = self.document.get("set", {})
        if not isinstance(sets, dict):
            self.mistakes.add("set", f"given {sets!r}; allowed a table of paths and values")
            return base
        pairs = self._pairs("set", sets)
        return base if not pairs else laid_over(base, pairs)

    def _pairs(self, place: str, sets: Mapping[str, Any]) -> list[tuple[str, str]]:
        found = []
        for path, value in sets.items():
            if path in ("seed", "name"):
                self.mistakes.add(place, f"{path} cannot be set; seeds and first_seed choose the seeds")
                continue
            found.append((path, toml_value(inlined(value, self.path.parent))))
        return found

    def _checked(self, base: Document) -> _core.Scenario | None:
        if not base:
            return None
        try:
            return _core.Scenario.parse(base, [])
        except _core.ScenarioError as error:
            self.mistakes.add("scenario", one_line(error))
            return None

    def _queue(self, base: Document) -> str:
        queues = base.get("queue")
        names = list(queues) if isinstance(queues, dict) else []
        default = "bottleneck" if "bottleneck" in names or not names else names[0]
        return self._text("queue", self.document.get("queue"), default)

    # ---- factors -------------------------------------------------------------------------------------------------

    def _factors(self) -> list[Factor]:
        given = self.document.get("factor", [])
        if not isinstance(given, list) or not given or not all(isinstance(f, dict) for f in given):
            self.mistakes.add("factor", "is missing; a sweep has at least one [[factor]]")
            return []
        found: list[Factor] = []
        for number, table in enumerate(given, 1):
            factor = self._factor(number, table)
            if factor is None:
                continue
            if any(f.name == factor.name for f in found):
                self.mistakes.add(f"factor {factor.name}", "is there twice; give one of them another name")
            found.append(factor)
        return found

    def _factor(self, number: int, table: Mapping[str, Any]) -> Factor | None:
        paths = self._texts(f"factor {number}: paths", table.get("paths", table.get("path", [])))
        default = paths[0].rsplit(".", 1)[-1] if paths else f"factor_{number}"
        name = self._text(f"factor {number}: name", table.get("name"), default)
        place = f"factor {name}"
        if not name.isidentifier():
            self.mistakes.add(place, "its name is not one word of letters, digits and _; give it a name")
        self._unknown(place, table, FACTOR_KEYS)
        ways = [key for key in ("values", "levels", "range") if key in table]
        if len(ways) != 1:
            given = " and ".join(ways) or "none"
            self.mistakes.add(place, f"given {given}; allowed one of values, levels, range")
            return None
        if ways != ["levels"] and not paths:
            self.mistakes.add(place, "has no path; give path or paths")
            return None
        if any(path in ("seed", "name") for path in paths):
            self.mistakes.add(place, f"{paths[0]} cannot be varied; seeds chooses the seeds")
            return None
        form = self._text(f"{place}: format", table.get("format"), "{}")
        try:
            form.format(1)
        except (ValueError, IndexError, KeyError):
            self.mistakes.add(f"{place}: format", f"given {form!r}; allowed a text with one {{}}")
            return None
        factor = Factor(
            name,
            self._text(f"{place}: title", table.get("title"), name),
            "" if table.get("unit") is None else self._text(f"{place}: unit", table.get("unit"), ""),
            (),
            tuple(paths),
            form,
            log=table.get("log") is True,
            whole=table.get("whole") is True,
        )
        return getattr(self, f"_of_{ways[0]}")(place, factor, table)  # type: ignore[no-any-return]

    def _of_values(self, place: str, factor: Factor, table: Mapping[str, Any]) -> Factor | None:
        values = table["values"]
        plain = (str, int, float, bool)
        if not isinstance(values, list) or not values or not all(isinstance(v, plain) for v in values):
            self.mistakes.add(f"{place}: values", f"given {values!r}; allowed a list of numbers, texts or flags")
            return None
        return self._different(place, replace(factor, levels=_levels(len(values), lambda k: factor.level(values[k]))))

    def _of_levels(self, place: str, factor: Factor, table: Mapping[str, Any]) -> Factor | None:
        levels = table["levels"]
        if not isinstance(levels, list) or not levels or not all(isinstance(x, dict) for x in levels):
            self.mistakes.add(f"{place}: levels", f"given {levels!r}; allowed a list of tables with name and set")
            return None
        found = []
        for number, level in enumerate(levels, 1):
            here = f"{place}: level {number}"
            self._unknown(here, level, ("name", "value", "set"))
            sets = level.get("set", {})
            if not isinstance(sets, dict):
                self.mistakes.add(here, f"set: given {sets!r}; allowed a table of paths and values")
                continue
            value = level.get("value", level.get("name", number))
            name = self._text(here, level.get("name"), level_name(value))
            found.append(Level(name, value, tuple(self._pairs(here, sets))))
        return self._different(place, replace(factor, levels=tuple(found)))

    def _of_range(self, place: str, factor: Factor, table: Mapping[str, Any]) -> Factor | None:
        ends = table["range"]
        number = (int, float)
        good = isinstance(ends, list) and len(ends) == 2 and all(isinstance(x, number) for x in ends)
        good = good and not any(isinstance(x, bool) or not math.isfinite(x) for x in ends) and ends[0] < ends[1]
        if not good:
            self.mistakes.add(f"{place}: range", f"given {ends!r}; allowed [low, high] with low below high")
            return None
        if factor.log and ends[0] <= 0:
            self.mistakes.add(f"{place}: range", f"given {ends!r}; with log = true both ends are above 0")
            return None
        if factor.whole and any(x != int(x) for x in ends):
            self.mistakes.add(f"{place}: range", f"given {ends!r}; with whole = true both ends are whole")
            return None
        factor = replace(factor, low=float(ends[0]), high=float(ends[1]))
        if "steps" not in table:
            return factor
        steps = self._whole(f"{place}: steps", table["steps"], 2, 100_000)
        whole = replace(factor, whole=False)
        if not factor.whole:
            return replace(factor, levels=_levels(steps, lambda k: factor.level(whole.between(k / (steps - 1)))))
        values = array("q", dict.fromkeys(round(whole.between(k / (steps - 1))) for k in range(steps)))
        return replace(factor, levels=_levels(len(values), lambda k: factor.level(values[k])))

    def _different(self, place: str, factor: Factor) -> Factor:
        first = firsts(of_texts(level.name for level in factor.levels))
        for k in dict.fromkeys(first[first != range(len(first))].tolist()):
            self.mistakes.add(place, f"has the level {factor.levels[k].name} twice")
        return factor

    # ---- design --------------------------------------------------------------------------------------------------

    def _design(self, factors: Sequence[Factor]) -> tuple[Any, int, int, list[str]]:
        table = self.document.get("design", {"kind": "list"} if "point" in self.document else {})
        if not isinstance(table, dict):
            self.mistakes.add("design", f"given {table!r}; allowed a table")
            return "grid", 0, 1, []
        self._unknown("design", table, ("kind", "points", "seed", "cross"))
        kind = self._word("design: kind", table.get("kind", "grid"), DESIGNS)
        cross = self._texts("design: cross", table.get("cross", []))
        names = [f.name for f in factors]
        for name in cross:
            if name not in names:
                self.mistakes.add("design: cross", f"there is no factor {name}; there are {', '.join(names)}")
        ranged = [f.name for f in factors if f.ranged and (kind == "grid" or f.name in cross)]
        for name in ranged:
            self.mistakes.add(f"factor {name}: range", "in a grid give steps = N beside it, or values")
        count = 0
        if kind in ("random", "sobol"):
            if "points" not in table:
                self.mistakes.add("design: points", f"is missing; a {kind} design says how many points")
            else:
                count = self._whole("design: points", table["points"], 1, design.MOST)
        elif "points" in table:
            self.mistakes.add("design: points", f"belongs to random and sobol; given with {kind}")
        if kind == "list" and not self.document.get("point"):
            self.mistakes.add("point", "is missing; a list has at least one [[point]]")
        if kind != "list" and "point" in self.document:
            self.mistakes.add("point", f"belongs to a list; given with {kind}")
        if not ranged and kind != "list":
            total = design.size(kind, factors, count, cross)  # type: ignore[arg-type]
            if total > design.MOST:
                self.mistakes.add("design", f"has {total:,} points; allowed are {design.MOST:,}")
        return kind, count, self._whole("design: seed", table.get("seed", 1), 0, 2**31), cross

    def _listed(self, factors: Sequence[Factor]) -> Sequence[Point]:
        given = self.document.get("point", [])
        if not isinstance(given, list) or not all(isinstance(p, dict) for p in given):
            self.mistakes.add("point", "allowed a list of tables [[point]], with a level for each factor")
            return ()

        # By point and factor the place of the level; -1 with the value for one that the factor does not name.
        places, own = array("i"), {}
        named = []
        for factor in factors:
            found: dict[Any, int] = {}
            for place, level in enumerate(factor.levels):
                found.setdefault(level.value, place)
                found.setdefault(level.name, place)
            named.append(found)
        for number, table in enumerate(given, 1):
            self._unknown(f"point {number}", table, [f.name for f in factors])
            for factor, known in zip(factors, named, strict=True):
                if factor.name not in table:
                    self.mistakes.add(f"point {number}", f"has no {factor.name}")
                    continue
                value = table[factor.name]
                at = known.get(value, -1) if isinstance(value, (str, int, float)) else -1
                if at < 0 and not (factor.ranged or factor.paths):
                    names = ", ".join(x.name for x in factor.levels)
                    what = f"{factor.name}: there is no level {value!r}; there are {names}"
                    self.mistakes.add(f"point {number}", what)
                if at < 0:
                    own[len(places)] = value
                places.append(at)
        if self.mistakes:
            return ()

        def point(k: int) -> Point:
            here = range(k * len(factors), (k + 1) * len(factors))
            pairs = zip(factors, here, strict=True)
            return Point(tuple(f.level(own[at]) if at in own else f.levels[places[at]] for f, at in pairs))

        return Lazy(len(given), point, design.KEPT)

    def _points(
        self,
        kind: Any,
        factors: Sequence[Factor],
        count: int,
        seed: int,
        cross: Sequence[str],
        conditions: Sequence[where.Condition],
    ) -> Sequence[Point]:
        found = self._listed(factors) if kind == "list" else design.points(kind, factors, count, seed, cross)
        if not conditions:
            return found

        def holds(point: Point) -> bool:
            values = {f.name: level.value for f, level in zip(factors, point.levels, strict=True)}
            return all(condition.holds(values) for condition in conditions)

        try:
            return design.chosen(found, (k for k, point in enumerate(found) if holds(point)))
        except where.ConditionError as error:
            self.mistakes.add("where", str(error))
            return ()

    def _conditions(self, factors: Sequence[Factor]) -> list[where.Condition]:
        found = []
        for text in self._texts("where", self.document.get("where", [])):
            try:
                found.append(where.parse(text, {f.name: f for f in factors}))
            except where.ConditionError as error:
                self.mistakes.add("where", str(error))
        return found

    # ---- seeds and measures --------------------------------------------------------------------------------------

    def _seeds(self) -> tuple[int, Stopping | None, tuple[str, ...]]:
        table = self.document.get("stop")
        if table is None:
            return self._whole("seeds", self.document.get("seeds", 10), 1, 100_000), None, ()
        if "seeds" in self.document:
            self.mistakes.add("seeds", "and stop exclude each other; stop has least and most")
        if not isinstance(table, dict):
            self.mistakes.add("stop", f"given {table!r}; allowed a table")
            return 10, None, ()
        self._unknown("stop", table, ("relative", "measures", "least", "most"))
        relative = table.get("relative")
        if isinstance(relative, bool) or not isinstance(relative, (int, float)) or not 0 < relative < 1:
            self.mistakes.add("stop: relative", f"given {relative!r}; allowed a number between 0 and 1")
            relative = 0.02
        most = self._whole("stop: most", table.get("most", 200), 2, 100_000)
        least = self._whole("stop: least", table.get("least", min(10, most)), 2, most)
        names = self._texts("stop: measures", table.get("measures", ["goodput", "queue_delay"]))
        return least, Stopping(float(relative), least, most), tuple(names)

    def _measures(self, queue: str, stop_measures: Sequence[str]) -> tuple[Quantity, ...]:
        known = {q.id: replace(q, field=q.field.replace("{queue}", queue)) for q in QUANTITIES}
        own: dict[str, Quantity] = {}
        tables = self.document.get("measure", [])
        if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
            self.mistakes.add("measure", "allowed a list of tables [[measure]] with id and field")
            tables = []
        for number, table in enumerate(tables, 1):
            place = f"measure {table.get('id', number)}"
            self._unknown(place, table, ("id", "title", "unit", "field", "digits", "scale"))
            name = self._text(f"{place}: id", table.get("id"), f"measure_{number}")
            if "field" not in table:
                self.mistakes.add(place, "has no field; give a field of the result document, as jain")
                continue
            scale = table.get("scale", 1.0)
            if isinstance(scale, bool) or not isinstance(scale, (int, float)):
                self.mistakes.add(f"{place}: scale", f"given {scale!r}; allowed a number")
                scale = 1.0
            own[name] = Quantity(
                name,
                self._text(f"{place}: title", table.get("title"), name),
                "" if not table.get("unit") else self._text(f"{place}: unit", table.get("unit"), ""),
                self._text(f"{place}: field", table["field"], ""),
                self._whole(f"{place}: digits", table.get("digits", 3), 0, 12),
                float(scale),
            )
        chosen = self._texts("measures", self.document.get("measures", list(known)))
        all_ = {**known, **own}
        for place, names in (("measures", chosen), ("stop: measures", stop_measures)):
            for name in names:
                if name not in all_:
                    near = difflib.get_close_matches(name, all_, 1)
                    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(all_)}"
                    self.mistakes.add(place, f"there is no measure {name}; {hint}")
        wanted = dict.fromkeys([*chosen, *own, *stop_measures])
        return tuple(all_[name] for name in wanted if name in all_)

    def _common(self, factors: Sequence[Factor]) -> tuple[str, ...] | None:
        given = self.document.get("common", "all")
        if given == "all":
            return None
        names = self._texts("common", given)
        for name in names:
            if name not in [f.name for f in factors]:
                self.mistakes.add("common", f'there is no factor {name}; allowed "all" or a list of factors')
        return tuple(names)

    def _control(self, factors: Sequence[Factor]) -> dict[str, str]:
        given = self.document.get("control", {})
        if not isinstance(given, dict):
            self.mistakes.add("control", f"given {given!r}; allowed a table of factors and levels")
            return {}
        found = {}
        for name, level in given.items():
            factor = next((f for f in factors if f.name == name), None)
            if factor is None:
                self.mistakes.add("control", f"there is no factor {name}")
                continue
            named = next((x.name for x in factor.levels if level in (x.value, x.name)), None)
            if named is None:
                names = ", ".join(x.name for x in factor.levels) or "none, because it is a range"
                self.mistakes.add("control", f"{name} has no level {level!r}; levels are {names}")
                continue
            found[name] = named
        return found

    # ---- against the checker -------------------------------------------------------------------------------------

    def _levels(self, base: Document, factors: Sequence[Factor]) -> None:
        """Every level by itself, laid over the base; if it fails so, with levels of other factors."""
        for factor in factors:
            ends = factor.levels or (factor.at(0.0), factor.at(1.0))
            seen = set()
            for level in ends:
                error = fault(base, level.sets)
                if error is None or self._rescued(base, factor, level, factors):
                    continue
                place = f"factor {factor.name}"
                # What is wrong with a path is wrong with all its levels.
                reason = (error.path, error.message, error.given)
                if reason in seen:
                    continue
                seen.add(reason)
                if error.given is not None and level.name not in one_line(error):
                    place += f", level {level.name}"
                self.mistakes.add(place, one_line(error))

    def _rescued(self, base: Document, factor: Factor, level: Level, factors: Sequence[Factor]) -> bool:
        """Whether some level of another factor makes this one right."""
        others = [
            other.levels or tuple(other.at(share) for share in (0.0, 0.25, 0.5, 0.75, 1.0))
            for other in factors
            if other is not factor
        ]
        tried = 0
        before = factors.index(factor)
        for number, levels in enumerate(others):
            for other in levels:
                sets = (*level.sets, *other.sets) if number >= before else (*other.sets, *level.sets)
                if fault(base, sets) is None:
                    return True
                tried += 1
                if tried >= RESCUES:
                    return False
        return False

    def _fields(self, base: Document, measures: Sequence[Quantity]) -> None:
        """Whether a result has the fields of the measures: asked of a run of a moment."""
        moment = laid_over(base, [("duration", '"1 ms"'), ("warmup", '"0 s"')])
        moment.pop("record", None)
        if "record" in base:
            moment["record"] = {k: v for k, v in base["record"].items() if k in ("by_flow", "transfers")}
        try:
            columns, _, failures = _core.run_batch([(_core.Scenario.parse(moment, []), 1)])
        except _core.ScenarioError:
            return
        if failures:
            return
        names = {path for path, *_ in columns}
        numbers = [path for path, kind, _, lengths, *_ in columns if kind != "text" and lengths is None]
        for m in measures:
            # Which queue there is may depend on a factor.
            if m.field not in names:
                near = difflib.get_close_matches(m.field, numbers, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                self.mistakes.add(f"measure {m.id}", f"a result has no field {m.field}{hint}")
            elif m.field not in numbers:
                self.mistakes.add(f"measure {m.id}", f"the field {m.field} is not a number")


FEW = 256
"""So many levels of a factor are kept; those of a longer list are made when they are asked for."""


def _levels(count: int, make: Callable[[int], Level]) -> Sequence[Level]:
    found = Lazy(count, make, FEW)
    return tuple(found) if count <= FEW else found


def fault(base: Document, sets: Sequence[tuple[str, str]]) -> _core.ScenarioError | None:
    """What the checker says against a scenario, if anything."""
    try:
        _core.Scenario.parse(base, sets)
    except _core.ScenarioError as error:
        return error
    return None


def laid_over(base: Document, pairs: Sequence[tuple[str, str]]) -> Document:
    """A copy of a scenario with values, given as TOML, laid over it."""
    from ..documents import overlay

    changes = {path: tomllib.loads(f"v = {text}")["v"] for path, text in pairs}
    try:
        return overlay(base, changes)
    except KeyError as error:
        raise SweepError(f"set: {error.args[0]}") from error


def inlined(value: Any, folder: Path) -> Any:
    """A copy in which every `trace = "FILE"` of a link's rate holds the file's numbers.

    So the scenario is whole wherever it is run, and its key depends on what the file holds. A file that cannot be read
    is left to the checker.
    """
    if isinstance(value, Mapping):
        if set(value) == {"trace"} and isinstance(value["trace"], str):
            try:
                lines = (folder / value["trace"]).read_text(encoding="utf-8").split()
                return {"trace": [int(line) for line in lines]}
            except (OSError, ValueError):
                return {"trace": str(folder / value["trace"])}
        return {key: inlined(inner, folder) for key, inner in value.items()}
    if isinstance(value, list):
        return [inlined(inner, folder) for inner in value]
    return value
