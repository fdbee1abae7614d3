"""Reads `study.toml` and its published tables, and checks all that can be checked without a run.

An error names the file and the place in it: `study.toml: claim S-1: parts 2: unknown key "mesure"; did you mean ...`.
"""

from __future__ import annotations

import csv
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ..analysis.measures import KINDS as OF_MEASURES
from ..analysis.measures import Kind, Margin, kind_of
from ..documents import overlay
from . import disciplines, formula
from .model import (
    Alternative,
    Assumption,
    Axis,
    BaseChange,
    Choice,
    Claim,
    Counted,
    Experiment,
    Figure,
    Level,
    Line,
    Measure,
    Part,
    Peer,
    Plane,
    Printed,
    Selection,
    Statement,
    Study,
    StudyError,
    Table,
)
from .select import ALONG, rows_of
from .table import Table as Reader
from .table import unknown
from .take import PAIRINGS, RATIO, REDUCTIONS, Take

DIRECTIONS = ("greater", "less", "at_least", "at_most")
KINDS = ("lines", "bars", "series", "cdf", "histogram", "differences", "scatter", "plane", "curves", "picture")
ONE_SIGMA = math.exp(-0.5)
"""What a Gaussian in the plane leaves outside the ellipse whose half-axes are its standard deviations."""
SEEDS = 100_000
TOP_SEED = 2**63 - 1

T = TypeVar("T")


def read(folder: Path) -> Study:
    """Read a study folder."""
    path = folder / "study.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: {error}") from error
    try:
        return _Reading(folder, Reader(data, "")).study()
    except StudyError as error:
        raise StudyError(f"{path}: {error}") from error


class _Reading:
    """One reading of one file."""

    def __init__(self, folder: Path, top: Reader) -> None:
        self.folder, self.top = folder, top
        self.measures: dict[str, Measure] = {}
        self.experiments: dict[str, Experiment] = {}

    def study(self) -> Study:
        top = self.top
        seeds = top.whole("seeds", 1, SEEDS)
        first = top.whole("first_seed", 0, TOP_SEED, 1)
        common = top.settings("scenario", None)
        quick = self._quick(top)
        self.measures = _keyed(top, "measure", self._measure)
        shared = {name: _shared(name, one) for name, one in top.settings("levels", None).items()}
        for table in top.tables("experiment"):
            e = self._experiment(table, common, seeds, first, shared)
            _once(table, e.id, self.experiments)
            self.experiments[e.id] = e
        if not self.experiments:
            raise top.fault("there is no [[experiment]]")
        self._check_formulas()
        choice = self._choice(top)
        assumptions = _keyed(top, "assumption", self._assumption)
        tables = tuple(self._table(t) for t in top.tables("table"))
        figures = tuple(self._figure(t) for t in top.tables("figure"))
        source = top.settings("source", None)
        study = Study(
            name=top.text("name"),
            title=top.text("title"),
            question=top.text("question"),
            summary=top.text("summary", ""),
            folder=self.folder,
            source={key: str(value) for key, value in source.items()},
            experiments=tuple(self.experiments.values()),
            measures=tuple(self.measures.values()),
            claims=tuple(_keyed(top, "claim", self._claim).values()),
            assumptions=tuple(assumptions.values()),
            tables=tables,
            figures=figures,
            sections=tuple(_section(t) for t in top.tables("section")),
            base_changes=tuple(self._base_change(t) for t in top.tables("base_change")),
            quick_options=quick,
            choice=choice,
        )
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", study.name):
            raise top.fault(f'name = "{study.name}": allowed are letters, digits, ".", "-" and "_"')
        top.end()
        study = replace(study, statements=_statements(self.folder / STATEMENTS, study))
        self._check_quick(quick)
        for kind, ids in (("table", [t.id for t in tables]), ("figure", [f.id for f in figures])):
            twice = [name for name in ids if ids.count(name) > 1]
            if twice:
                raise top.fault(f'{kind} "{twice[0]}" is there twice')
        return study

    # ---- experiments ----

    def _quick(self, table: Reader) -> dict[str, Any]:
        quick = table.table("quick")
        if quick is None:
            return {}
        found: dict[str, Any] = {}
        if quick.has("seeds"):
            found["seeds"] = quick.whole("seeds", 1, SEEDS)
        if quick.has("set"):
            found["set"] = quick.settings("set")
        if quick.has("rescaled"):
            found["rescaled"] = quick.flag("rescaled")
        if quick.has("levels"):
            levels = quick.settings("levels")
            found["levels"] = {axis: tuple(_name(v) for v in _as_list(values)) for axis, values in levels.items()}
        quick.end()
        return found

    def _check_quick(self, quick: Mapping[str, Any]) -> None:
        for e in self.experiments.values():
            for options, place in ((quick, "quick"), (e.quick, f"experiment {e.id}: quick")):
                for name, ids in options.get("levels", {}).items():
                    if name not in e.names:
                        if options is e.quick:
                            raise StudyError(f"{place}: levels: {name}: {unknown(name, e.names)}")
                        continue
                    axis = e.axis(name)
                    for one in ids:
                        if one not in axis.ids and options is e.quick:
                            raise StudyError(f'{place}: levels: {name}: "{one}": {unknown(one, axis.ids)}')
                    if not set(ids) & set(axis.ids):
                        raise StudyError(f"{place}: levels: {name}: no level of experiment {e.id} is left")
                    if axis.reading and axis.base not in ids:
                        raise StudyError(f'{place}: levels: {name}: the base "{axis.base}" is left out')
        known = {name for e in self.experiments.values() for name in e.names}
        for name in quick.get("levels", {}):
            if name not in known:
                raise StudyError(f"quick: levels: {name}: {unknown(name, sorted(known))}")

    def _experiment(
        self, t: Reader, common: Mapping[str, Any], seeds: int, first: int, shared: Mapping[str, tuple[Level, ...]]
    ) -> Experiment:
        scenario = t.settings("scenario", None) or dict(common)
        if not scenario:
            raise t.fault("has no scenario, and there is no common one")
        base = _laid(scenario, t.settings("set", None), t.fault)
        axes: tuple[Axis, ...] = ()
        for one in t.tables("axis"):
            axes = (*axes, _axis(one, shared, base, axes))
        _unique(t, "axis", [a.id for a in axes])
        for axis in axes:
            if axis.id in self.measures:
                raise t.fault(f'axis "{axis.id}" has the name of a measure')
            if axis.id == "seed":
                raise t.fault('an axis cannot be called "seed"')
        off = [axis.id for axis in axes if axis.literal != axis.base]
        if len(off) > 1:
            raise t.fault(
                f"axes {', '.join(off)}: readings are varied one at a time, so only one may have a literal level "
                "that is not its base"
            )
        for axis in axes:
            for level in axis.levels:
                for name in level.fitted:
                    if name not in self.measures:
                        raise t.fault(f"level {level.id}: fitted: {unknown(name, tuple(self.measures))}")
        names = t.texts("measures", tuple(self.measures))
        for name in names:
            if name not in self.measures:
                raise t.fault(f'measures: "{name}": {unknown(name, tuple(self.measures))}')
        e = Experiment(
            id=t.text("id"),
            title=t.text("title"),
            summary=t.text("summary", ""),
            scenario=base,
            seeds=t.whole("seeds", 1, SEEDS, seeds),
            first_seed=t.whole("first_seed", 0, TOP_SEED, first),
            axes=axes,
            measures=names,
            quick=self._quick(t),
        )
        skip = []
        for number, rule in enumerate(t.values("skip"), 1):
            place = Reader({"rule": rule}, f"{t.place}: skip {number}")
            chosen = _select(e, place.settings("rule"), place.fault)
            if not chosen:
                raise place.fault("names no axis")
            skip.append(chosen)
        t.end()
        e = replace(e, skip=tuple(skip))
        for axis in axes:
            for level in axis.levels:
                _select(e, {k: list(ids) for k, ids in level.only.items()}, _of_level(t, level))
        for name in names:
            for other, ids in _select(e, self.measures[name].against, t.fault).items():
                if len(ids) != 1:
                    raise t.fault(f'measure "{name}": against: {other} must be a single level')
        if not e.cells:
            raise t.fault("skips every combination")
        for cell in e.cells:
            # A path that leads nowhere is found here, what the scenario's checker has to say before the first run.
            try:
                e.document(cell, "check")
            except (KeyError, TypeError, AttributeError) as error:
                raise t.fault(f"{e.titled(cell) or 'its scenario'}: {_said(error)}") from error
        return e

    def _known(self, t: Reader, default: str = "") -> Experiment | None:
        name = t.text("experiment", default)
        if not name:
            return None
        if name not in self.experiments:
            raise t.fault(f'experiment "{name}": {unknown(name, tuple(self.experiments))}')
        return self.experiments[name]

    # ---- measures ----

    def _measure(self, t: Reader) -> Measure:
        name = t.text("id")
        given = [key for key in ("field", "formula") if t.has(key)]
        if len(given) != 1:
            raise t.fault("needs either a field or a formula")
        made: formula.Formula | None = None
        take: Take | None = None
        against: dict[str, str] = {}
        pairing = ""
        if t.has("formula"):
            try:
                made = formula.parse(t.text("formula"))
            except formula.FormulaError as error:
                raise t.fault(f"formula: {error}") from error
        elif t.has("against"):
            pairing = t.word("reduce", PAIRINGS, RATIO)
            take = _take(t, "" if pairing == RATIO else "list")
            against = {axis: _name(level) for axis, level in t.settings("against").items()}
        else:
            take = _take(t)
        measure = Measure(
            id=name,
            title=t.text("title"),
            unit=t.text("unit", ""),
            digits=t.whole("digits", 0, 12, 3),
            scale=t.number("scale", 1.0),
            main=t.flag("main"),
            take=take,
            formula=made,
            against=against,
            pairing=pairing,
            kind=_kind(t, take, against),
        )
        measure = replace(measure, margin=_margin(t, measure))
        t.end()
        return measure

    def _choice(self, top: Reader) -> Choice | None:
        t = top.table("choice")
        if t is None:
            return None
        name = t.text("axis")
        having = [e for e in self.experiments.values() if name in e.names]
        if not having:
            raise t.fault(
                f'axis "{name}": {unknown(name, sorted({n for e in self.experiments.values() for n in e.names}))}'
            )
        known = tuple(dict.fromkeys(i for e in having for i in e.axis(name).ids))
        if any(e.axis(name).reading for e in having):
            raise t.fault(f'axis "{name}" is a reading: its levels cannot be chosen')
        found = Choice(name, t.texts("default"), t.texts("always", ()), t.flag("pages"))
        for one in (*found.default, *found.always):
            if one not in known:
                raise t.fault(f'"{one}": {unknown(one, known)}')
        t.end()
        return found

    def _check_formulas(self) -> None:
        axes = {name for e in self.experiments.values() for name in e.names}
        known = (*self.measures, *sorted(axes))

        def visit(name: str, path: tuple[str, ...]) -> None:
            if name in path:
                raise StudyError(f"measure {name}: formula: needs itself ({' -> '.join([*path, name])})")
            found = self.measures[name].formula
            for other in found.names if found else ():
                if other not in known:
                    raise StudyError(f'measure {name}: formula: "{other}": {unknown(other, known)}')
                if other in self.measures:
                    visit(other, (*path, name))

        for name in self.measures:
            visit(name, ())

    # ---- claims ----

    def _claim(self, t: Reader) -> Claim:
        default = t.text("experiment", "")
        parts = tuple(self._part(p, default) for p in t.tables("parts"))
        untestable = t.text("untestable", "")
        counted = self._counted(t)
        if bool(parts) + bool(untestable) + bool(counted) != 1:
            raise t.fault("needs either parts, or counted, or a reason why it is untestable")
        peers = []
        for p in t.tables("peer"):
            agrees = p.word("agrees", ("ours", "paper", "neither"))
            peers.append(Peer(p.text("tool"), p.text("text"), agrees))
            p.end()
        claim = Claim(
            id=t.text("id"),
            text=t.text("text"),
            where=t.text("where", ""),
            ours=t.word("by", ("paper", "ours"), "paper") == "ours",
            note=t.text("note", ""),
            expected=t.text("expected", ""),
            parts=parts,
            untestable=untestable,
            counted=counted,
            peers=tuple(peers),
        )
        t.end()
        return claim

    def _counted(self, t: Reader) -> tuple[Counted, ...]:
        """What is judged by a table of counts in the study's folder, not by runs."""
        found = []
        for one in t.tables("counted"):
            name, column = one.text("file"), one.text("column")
            try:
                with (self.folder / name).open(newline="", encoding="utf-8") as file:
                    rows = list(csv.DictReader(file))
            except OSError as error:
                raise one.fault(f"file: {name}: {error.strerror}") from error
            except (UnicodeDecodeError, csv.Error) as error:
                raise one.fault(f"file: {name}: {error}") from error
            where = {key: [_name(v) for v in _as_list(ids)] for key, ids in one.settings("where", None).items()}
            head = list(rows[0]) if rows else []
            for key in (column, *where):
                if key not in head:
                    raise one.fault(f'{name}: column "{key}": {unknown(key, head)}')
            chosen = [row for row in rows if all(row[key] in ids for key, ids in where.items())]
            try:
                values = tuple(float(row[column]) for row in chosen)
            except ValueError as error:
                raise one.fault(f"{name}: {column}: {error}") from error
            if len(values) < 2:
                raise one.fault(f"{name}: {len(values)} rows fit; at least two are compared")
            found.append(Counted(one.text("title"), values, one.number("ratio_at_most"), one.text("unit", "")))
            one.end()
        return tuple(found)

    def _part(self, t: Reader, default: str) -> Part:
        e = self._known(t, default)
        if e is None:
            raise t.fault("names no experiment")
        within = t.pair("within")
        expect = t.word("expect", (*DIRECTIONS, "equal", "within"), "within" if within else None)
        measure = self._measured(t, e, "measure")
        at = _select(e, t.settings("at", None), t.fault)
        of = {**at, **_select(e, t.settings("of", None), t.fault)}
        to = {**at, **_select(e, t.settings("to"), t.fault)} if t.has("to") else None
        along = t.text("along", "")
        each = t.texts("each", ())
        for name in (*([along] if along else []), *each):
            if name not in e.names:
                raise t.fault(f'axis "{name}": {unknown(name, e.names)}')
        reduce = t.word("reduce", ALONG, "mean")
        part = Part(
            experiment=e.id,
            measure=measure,
            expect=expect,
            of=of,
            to=to,
            bound=t.number("bound", None),
            value=t.number("value", None),
            within=within,
            times=t.number("times", 1.0),
            ratio=t.word("form", ("difference", "ratio"), "difference") == "ratio",
            every_seed=t.flag("every_seed"),
            along=along,
            reduce=reduce,
            each=each,
            published=_by_hand(t),
            title=t.text("title", ""),
        )
        t.end()
        self._check_part(t, e, part)
        return part

    def _check_part(self, t: Reader, e: Experiment, part: Part) -> None:
        if part.reduce != "mean" and not part.along:
            raise t.fault(f'reduce = "{part.reduce}" needs "along", the axis whose levels are reduced')
        if part.along in part.each:
            raise t.fault(f'the axis "{part.along}" cannot stand in "along" and in "each"')
        for name in part.each:
            if part.to is not None and part.of.get(name) != part.to.get(name):
                raise t.fault(f'each: "{name}" is chosen differently in "of" and in "to"')
        if part.to is None and (part.ratio or part.times != 1.0):
            raise t.fault('"form" and "times" compare with something: "to" is missing')
        if (part.expect == "within") != (part.within is not None):
            raise t.fault('"within" needs two numbers, within = [low, high], and nothing else does')
        measure = self.measures[part.measure]
        if measure.kind is None:
            raise t.fault(f'measure "{measure.id}" has no kind, and so no margin; kinds: {", ".join(OF_MEASURES)}')
        if part.expect == "equal":
            if part.bound is None and measure.margin is None:
                raise t.fault('"equal" needs a bound: this kind of measure has no margin')
            if part.bound is not None and part.bound < 0:
                raise t.fault("bound: how far apart is still equal, as a fraction: 0 or more")
            if part.to is None and part.value is None:
                raise t.fault('"equal" needs "to" or "value"')
            if part.to is not None and part.value is not None and not part.ratio:
                raise t.fault('"equal" compares with "to" or with "value", not with both')
        elif part.value is not None:
            raise t.fault('"value" belongs to "equal"; the other predicates have a "bound"')
        if part.expect in DIRECTIONS and part.to is None and part.bound is None:
            raise t.fault(f'"{part.expect}" needs "to" or a "bound"')
        for case in cases_of(e, part):
            if not rows_of(e, part, case, {}):
                raise t.fault("no cell that is run fits what it selects")

    def _measured(self, t: Reader, e: Experiment | None, key: str) -> str:
        name = t.text(key)
        known = tuple(self.measures) if e is None else e.measures
        if name not in known:
            more = "" if e is None or name not in self.measures else f" in experiment {e.id}"
            raise t.fault(f'{key} "{name}"{more}: {unknown(name, known)}')
        return name

    def _base_change(self, t: Reader) -> BaseChange:
        names = t.texts("experiments")
        for name in names:
            if name not in self.experiments:
                raise t.fault(f'experiments: "{name}": {unknown(name, tuple(self.experiments))}')
            _axis_known(t, self.experiments[name], t.text("axis"))
            axis = self.experiments[name].axis(t.text("axis"))
            if t.text("before") not in axis.ids or t.text("before") == axis.base:
                raise t.fault(f'before = "{t.text("before")}": is no level of {axis.id} off its base')
        found = BaseChange(names, t.text("axis"), t.text("before"), t.text("why"))
        t.end()
        return found

    # ---- assumptions ----

    def _assumption(self, t: Reader) -> Assumption:
        paths = t.texts("paths", ()) or ((t.text("path"),) if t.has("path") else ())
        alternatives = []
        for a in t.tables("alternatives"):
            settings = a.settings("set", None)
            value = _plain(a.raw("value"))
            if not settings and not paths:
                raise a.fault('"set" is missing: what the alternative changes')
            alternatives.append(Alternative(value, settings, a.text("text", "")))
            a.end()
        among = t.texts("experiments", ())
        for name in among:
            if name not in self.experiments:
                raise t.fault(f'experiments: "{name}": {unknown(name, tuple(self.experiments))}')
        found = Assumption(
            id=t.text("id"),
            title=t.text("title"),
            by=t.word("by", ("paper", "ours")),
            value=_plain(t.raw("value", "")),
            text=t.text("text", ""),
            paths=paths,
            alternatives=tuple(alternatives),
            experiments=among,
        )
        t.end()
        return found

    # ---- tables and figures ----

    def _table(self, t: Reader) -> Table:
        e = self._known(t)
        lost, unreproduced = t.text("lost", ""), t.text("unreproduced", "")
        facts = self._facts(t)
        if e is None and not (lost or unreproduced or facts):
            raise t.fault("needs an experiment, or the reason why there is nothing to show (lost, unreproduced)")
        rows, columns = t.texts("rows", ()), t.texts("columns", ())
        for name in (*rows, *columns):
            _axis_known(t, e, name)
        fit = t.text("fit", "")
        if fit and e is not None:
            _axis_known(t, e, fit)
            if not e.axis(fit).reading:
                raise t.fault(f'fit = "{fit}": is no reading')
        table = Table(
            id=t.text("id"),
            title=t.text("title"),
            experiment="" if e is None else e.id,
            rows=rows,
            columns=columns,
            measures=self._several(t, e),
            at=_select(e, t.settings("at", None), t.fault),
            of=_select(e, t.settings("of", None), t.fault),
            to=_select(e, t.settings("to", None), t.fault),
            fit=fit,
            facts=facts,
            note=t.text("note", ""),
            lost=lost,
            unreproduced=unreproduced,
            printed=self._printed(t, e),
        )
        if bool(table.of) != bool(table.to):
            raise t.fault('"of" and "to" stand together: a column with their difference')
        t.end()
        return table

    def _facts(self, t: Reader) -> tuple[tuple[str, ...], ...]:
        """A table that stands in a file: its first column holds ids of levels of any axis."""
        name = t.text("facts", "")
        if not name:
            return ()
        try:
            with (self.folder / name).open(newline="", encoding="utf-8") as file:
                rows = tuple(tuple(row) for row in csv.reader(file))
        except OSError as error:
            raise t.fault(f"facts: {name}: {error.strerror}") from error
        except (UnicodeDecodeError, csv.Error) as error:
            raise t.fault(f"facts: {name}: {error}") from error
        uneven = [number for number, row in enumerate(rows, 1) if len(row) != len(rows[0])]
        if len(rows) < 2 or uneven:
            where = f"line {uneven[0]} has another number of columns than the head" if uneven else "has no rows"
            raise t.fault(f"facts: {name}: {where}")
        known = {level for e in self.experiments.values() for axis in e.axes for level in axis.ids}
        for number, row in enumerate(rows[1:], 2):
            if row[0] not in known:
                raise t.fault(f'facts: {name}: line {number}: "{row[0]}": {unknown(row[0], sorted(known))}')
        return rows

    def _several(self, t: Reader, e: Experiment | None) -> tuple[str, ...]:
        names = t.texts("measures", ()) or ((t.text("measure"),) if t.has("measure") else ())
        if e is None:
            return names
        for name in names:
            if name not in e.measures:
                raise t.fault(f'measure "{name}": {unknown(name, e.measures)}')
        if names:
            return names
        main = tuple(name for name in e.measures if self.measures[name].main)
        return main or e.measures

    def _printed(self, t: Reader, e: Experiment | None) -> tuple[Printed, ...]:
        name = t.text("published", "")
        if not name:
            return ()
        if e is None:
            raise t.fault("published needs an experiment")
        try:
            return published(self.folder / name, e)
        except StudyError as error:
            raise t.fault(f"published: {error}") from error

    def _figure(self, t: Reader) -> Figure:
        e = self._known(t)
        lost, unreproduced = t.text("lost", ""), t.text("unreproduced", "")
        kind = t.word("kind", KINDS, "")
        if not kind and not (lost or unreproduced):
            raise t.fault("needs a kind, or the reason why it cannot be drawn (lost, unreproduced)")
        if kind and kind != "curves" and e is None:
            raise t.fault("names no experiment")
        for name in ("lines", "panels"):
            if kind == "series" and name == "lines":
                continue
            if t.has(name):
                _axis_known(t, e, t.text(name))
        take: Take | None = None
        series: tuple[Line, ...] = ()
        if kind in {"cdf", "histogram", "differences"}:
            take = _take(t, "list")
        elif kind == "series":
            series = tuple(self._line(one, t) for one in t.tables("lines"))
            if not series:
                raise t.fault('a "series" needs lines: a list of fields')
        x = t.text("x") if kind in {"lines", "bars"} else ""
        if x and x != "seed":
            _axis_known(t, e, x)
        figure = Figure(
            id=t.text("id"),
            title=t.text("title"),
            kind=kind,
            experiment="" if e is None else e.id,
            x=x,
            lines="" if kind == "series" else t.text("lines", ""),
            panels=t.text("panels", ""),
            measures=self._figure_measures(t, e, kind),
            at=_select(e, t.settings("at", None), t.fault),
            of=_select(e, t.settings("of", None), t.fault),
            to=_select(e, t.settings("to", None), t.fault),
            seed=t.whole("seed", 0, TOP_SEED, None),
            take=take,
            label=t.text("label", ""),
            scale=t.number("scale", 1.0),
            series=series,
            planes=self._planes(t, e) if kind == "plane" else (),
            epsilon=t.number("epsilon", ONE_SIGMA),
            only=t.word("only", ("pages", "report"), ""),
            log=t.word("log", ("x", "y", "xy"), ""),
            limits=_limits(t),
            set=t.settings("set", None),
            curves=tuple(_curve(c) for c in (*t.tables("curves"), *t.tables("curve"))),
            options={
                "marks": t.settings("marks", None),
                "detail": t.pair("detail"),
                "range": t.pair("range"),
            },
            note=t.text("note", ""),
            lost=lost,
            unreproduced=unreproduced,
            printed=self._printed(t, e),
        )
        for name, value in figure.options["marks"].items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise t.fault(f'marks: "{name}" must be a number, not {value!r}')
        if not 0 < figure.epsilon < 1:
            raise t.fault(f"epsilon = {figure.epsilon:g}: allowed is a share above 0 and below 1")
        if kind == "differences" and not (figure.of and figure.to):
            raise t.fault('"differences" needs "of" and "to"')
        if kind == "curves" and not figure.curves:
            raise t.fault('"curves" needs a list of curves')
        t.end()
        return figure

    def _figure_measures(self, t: Reader, e: Experiment | None, kind: str) -> tuple[str, ...]:
        if kind == "scatter":
            return (self._measured(t, e, "x_measure"), self._measured(t, e, "y_measure"))
        if kind in {"lines", "bars"}:
            return self._several(t, e)
        return ()

    def _planes(self, t: Reader, e: Experiment | None) -> tuple[Plane, ...]:
        """The panels of a plane: one for each class, or a single one."""
        found = []
        for one in t.tables("classes"):
            found.append(
                Plane(one.text("title"), self._measured(one, e, "x_measure"), self._measured(one, e, "y_measure"))
            )
            one.end()
        if not found:
            found.append(Plane("", self._measured(t, e, "x_measure"), self._measured(t, e, "y_measure")))
        return tuple(found)

    def _line(self, t: Reader, figure: Reader) -> Line:
        low, high = figure.number("from_s", None), figure.number("to_s", None)
        line = Line(Take(t.text("field"), "times", (), low, high), t.text("title"), t.number("scale", 1.0))
        t.end()
        return line


# ---- pieces --------------------------------------------------------------------------------------------------------


def _keyed(top: Reader, key: str, make: Callable[[Reader], T]) -> dict[str, T]:
    found: dict[str, T] = {}
    for table in top.tables(key):
        one = make(table)
        name = one.id  # type: ignore[attr-defined]
        _once(table, name, found)
        found[name] = one
    return found


def _of_level(t: Reader, level: Level) -> Callable[[str], StudyError]:
    return lambda said: t.fault(f"level {level.id}: only: {said}")


def _once(table: Reader, name: str, known: Iterable[str]) -> None:
    if name in known:
        raise table.fault(f'the id "{name}" is there twice')


def _unique(t: Reader, kind: str, ids: Sequence[str]) -> None:
    for name in ids:
        if ids.count(name) > 1:
            raise t.fault(f'{kind} "{name}" is there twice')


def _axis_known(t: Reader, e: Experiment | None, name: str) -> None:
    known = () if e is None else e.names
    if name not in known:
        raise t.fault(f'axis "{name}": {unknown(name, known)}')


def _levels(t: Reader, key: str) -> tuple[Level, ...]:
    found = []
    for one in t.tables(key):
        name = one.text("id")
        found.append(
            Level(
                id=name,
                title=one.text("title", name),
                set=one.settings("set", None),
                value=one.number("value", None),
                text=one.text("text", ""),
                published=one.flag("published", True),
                fitted=one.texts("fitted", ()),
                only={k: tuple(_name(v) for v in _as_list(ids)) for k, ids in one.settings("only", None).items()},
            )
        )
        one.end()
    _unique(t, "level", [level.id for level in found])
    return tuple(found)


def _shared(name: str, given: Any) -> tuple[Level, ...]:
    """Levels for several axes: a list, or one for each discipline of the catalogue."""
    if isinstance(given, Mapping):
        return disciplines.levels(Reader(given, f"levels {name}"))
    return _levels(Reader({name: given}, "levels"), name)


def _axis(
    t: Reader, shared: Mapping[str, tuple[Level, ...]], scenario: Mapping[str, Any], before: Sequence[Axis]
) -> Axis:
    name = t.text("id")
    ways = [key for key in ("levels", "values", "use", "vary") if t.has(key)]
    if len(ways) != 1:
        raise t.fault("needs one of levels, values, use and vary")
    if t.has("levels"):
        levels = _levels(t, "levels")
    elif t.has("values"):
        levels = _numbers(t)
    elif t.has("vary"):
        levels = disciplines.settings(t, scenario, before)
    else:
        use = t.text("use")
        if use not in shared:
            raise t.fault(f'use = "{use}": {unknown(use, tuple(shared))}')
        levels = shared[use]
    if t.has("only"):
        only = t.texts("only")
        known = {level.id: level for level in levels}
        for one in only:
            if one not in known:
                raise t.fault(f'only: "{one}": {unknown(one, tuple(known))}')
        levels = tuple(known[one] for one in only)
    if not levels:
        raise t.fault("has no level")
    for path, others in t.settings("copy", None).items():
        levels = tuple(_copied(level, path, [_name(x) for x in _as_list(others)]) for level in levels)
    reading = t.flag("reading")
    ids = tuple(level.id for level in levels)
    base = _name(t.raw("base", ids[0]))
    literal = _name(t.raw("literal", base))
    for key, one in (("base", base), ("literal", literal)):
        if one not in ids:
            raise t.fault(f'{key} = "{one}": {unknown(one, ids)}')
        if not reading and t.has(key):
            raise t.fault(f'"{key}" belongs to a reading: reading = true is missing')
    axis = Axis(
        id=name,
        title=t.text("title", name),
        levels=levels,
        unit=t.text("unit", ""),
        reading=reading,
        base=base if reading else "",
        literal=literal if reading else "",
        why=t.text("why", ""),
    )
    t.end()
    return axis


def _copied(level: Level, path: str, others: Sequence[str]) -> Level:
    """A level that sets elsewhere too what it sets at a path or below it."""
    found = dict(level.set)
    for key, value in level.set.items():
        if key == path or key.startswith(f"{path}."):
            found |= dict.fromkeys((other + key[len(path) :] for other in others), value)
    return replace(level, set=found)


def _numbers(t: Reader) -> tuple[Level, ...]:
    values = t.values("values")
    paths = t.texts("paths", ()) or (t.text("path"),)
    form = t.text("format", "")
    found = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise t.fault(f"values must be numbers, not {value!r}")
        try:
            written = form.format(value) if form else value
        except (IndexError, KeyError, ValueError) as error:
            raise t.fault(f"format = {form!r}: {error}") from error
        found.append(Level(f"{value:g}", f"{value:g}", dict.fromkeys(paths, written), float(value)))
    _unique(t, "value", [level.id for level in found])
    return tuple(found)


def _select(e: Experiment | None, given: Mapping[str, Any], fault: Callable[[str], StudyError]) -> Selection:
    """Axis -> levels. A level is named by its id, several by a list, a range of numbers as "60..120"."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in given.items():
        known = () if e is None else e.names
        if e is None or name not in known:
            raise fault(f'axis "{name}": {unknown(name, known)}')
        axis = e.axis(name)
        ids: list[str] = []
        for one in _as_list(value):
            text = _name(one)
            if text.startswith("not ") and text not in axis.ids:
                left_out = text.removeprefix("not ").strip()
                if left_out not in axis.ids:
                    raise fault(f'{name} = "{text}": {unknown(left_out, axis.ids)}')
                ids += [i for i in axis.ids if i != left_out]
                continue
            ids += [text] if text in axis.ids else _range(axis, text, fault)
        found[name] = tuple(i for i in axis.ids if i in ids)
    return found


def _range(axis: Axis, text: str, fault: Callable[[str], StudyError]) -> list[str]:
    match = re.fullmatch(r"\s*(-?[\d.eE+-]*?\d\.?)\s*\.\.\s*(-?[\d.eE+-]+)\s*", text)
    try:
        low, high = (float(match[1]), float(match[2])) if match else (0.0, 0.0)
    except ValueError:
        match = None
    if match is None or not axis.numeric:
        raise fault(f'{axis.id} = "{text}": {unknown(text, axis.ids)}')
    ids = [level.id for level in axis.levels if level.value is not None and low <= level.value <= high]
    if not ids:
        raise fault(f'{axis.id} = "{text}": no level lies in this range')
    return ids


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _name(value: Any) -> str:
    """A level's id as it may be written: a text, or the number."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"{value:g}" if number else str(value)


def _plain(value: Any) -> str:
    """A value as `--assume` writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return _name(value)


def _laid(scenario: Mapping[str, Any], settings: Mapping[str, Any], fault: Callable[[str], StudyError]) -> Any:
    try:
        return overlay(scenario, settings)
    except (KeyError, TypeError, AttributeError) as error:
        raise fault(f"set: {_said(error)}") from error


def _said(error: BaseException) -> str:
    return str(error.args[0]) if error.args else type(error).__name__


def _take(t: Reader, reduce: str = "") -> Take:
    field = t.text("field")
    where = t.settings("where", None)
    chosen = reduce or t.word("reduce", REDUCTIONS, "")
    starred = "*" in field.split(".")
    if starred and not chosen:
        raise t.fault(f"field {field} gives a list: reduce is missing ({', '.join(REDUCTIONS)})")
    if where and not starred:
        raise t.fault("where chooses among the entries of a list: the field has no *")
    cut = (None, None) if reduce else (t.number("from_s", None), t.number("to_s", None))
    if cut != (None, None) and not chosen:
        raise t.fault("from_s and to_s cut a series: reduce is missing")
    repeat = None if reduce else t.number("repeat_s", None)
    if repeat is not None and (repeat <= 0 or cut == (None, None)):
        raise t.fault("repeat_s is the period, above 0 s, of a part that from_s and to_s cut out")
    at_most = None if reduce else t.number("at_most", None)
    if at_most is not None and not chosen:
        raise t.fault("at_most chooses among the numbers of a list: reduce is missing")
    minus = "" if reduce else t.text("minus", "")
    if minus and (starred or not chosen):
        raise t.fault("minus takes a list away from another one: reduce is missing, or the field has a *")
    return Take(field, chosen, tuple(where.items()), cut[0], cut[1], at_most, repeat, minus)


def _kind(t: Reader, take: Take | None, against: Mapping[str, str]) -> Kind | None:
    """What a measure says of its kind, or what its field says."""
    if t.has("kind"):
        return OF_MEASURES[t.word("kind", OF_MEASURES)]
    if take is None or against or take.reduce in ("count", "jain", "cov", "deviation"):
        known = {"jain": "index", "cov": "spread", "deviation": "spread"}
        name = known.get(take.reduce) if take is not None and not against else None
        return None if name is None else OF_MEASURES[name]
    return kind_of(take.field)


def _margin(t: Reader, measure: Measure) -> Margin | None:
    """The margin of a measure: that of its kind, or one of its own with its reason."""
    given = t.table("margin")
    if given is None:
        return None if measure.kind is None else measure.kind.margin_in(measure.unit)
    if given.has("relative") == given.has("absolute"):
        raise given.fault("needs either relative or absolute")
    relative = given.has("relative")
    size = given.number("relative" if relative else "absolute")
    if size <= 0:
        raise given.fault("must be above 0")
    found = Margin(size, relative, given.text("reason"))
    given.end()
    return found


STATEMENTS = "statements.toml"
"""The file with every sentence of the paper that asserts an effect."""


def _statements(path: Path, study: Study) -> tuple[Statement, ...]:
    """Read the paper's sentences; each is put to the test by a claim of the study, or it says why none does."""
    if not path.is_file():
        return ()
    try:
        top = Reader(tomllib.loads(path.read_text(encoding="utf-8")), "")
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"{path.name}: {error}") from error
    known = tuple(claim.id for claim in study.claims)
    found = []
    try:
        for t in top.tables("statement"):
            claims = t.texts("claims", ())
            for name in claims:
                if name not in known:
                    raise t.fault(f'claims: "{name}": {unknown(name, known)}')
            one = Statement(t.text("where"), t.text("text"), claims, t.text("untestable", ""))
            if bool(one.claims) == bool(one.untestable):
                raise t.fault("needs either claims or a reason why it is untestable")
            t.end()
            found.append(one)
        top.end()
    except StudyError as error:
        raise StudyError(f"{path.name}: {error}") from error
    return tuple(found)


def _by_hand(t: Reader) -> dict[str, Any]:
    given = t.table("published")
    if given is None:
        return {}
    found: dict[str, Any] = {}
    for key in ("effect", "relative"):
        if given.has(key):
            found[key] = given.number(key)
    if given.has("text"):
        found["text"] = given.text("text")
    given.end()
    return found


def _limits(t: Reader) -> dict[str, tuple[float, float]]:
    if isinstance(t.raw("limits"), list):
        pair = t.pair("limits")
        return {} if pair is None else {"y": pair}
    table = t.table("limits")
    if table is None:
        return {}
    found = {key: pair for key in ("x", "y") if (pair := table.pair(key)) is not None}
    table.end()
    return found


def _curve(t: Reader) -> dict[str, Any]:
    found = {
        "title": t.text("title"),
        "aqm": t.text("aqm"),
        "parameters": t.settings("parameters", None),
        "aside": t.flag("aside"),
    }
    t.end()
    return found


def _section(t: Reader) -> dict[str, Any]:
    items = []
    for one in t.tables("items"):
        items.append({"head": one.text("head"), "text": one.text("text")})
        one.end()
    found = {"title": t.text("title"), "text": t.text("text", ""), "items": items}
    t.end()
    return found


def cases_of(e: Experiment, part: Part) -> list[dict[str, str]]:
    """The levels for which a part is judged one by one; a single case without any where there is no `each`."""
    cases: list[dict[str, str]] = [{}]
    for name in part.each:
        ids = [i for i in part.of.get(name, e.axis(name).ids) if i in e.axis(name).ids]
        if name in e.base and name not in part.of:
            ids = [e.base[name]]
        cases = [{**case, name: i} for case in cases for i in ids]
    return cases


# ---- published values ----------------------------------------------------------------------------------------------


def published(path: Path, e: Experiment) -> tuple[Printed, ...]:
    """Read a table of the paper: columns are axes and measures, an empty cell is a value that is not printed."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            rows, columns = list(reader), reader.fieldnames or []
    except OSError as error:
        raise StudyError(f"{path.name}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise StudyError(f"{path.name}: {error}") from error
    if not rows:
        raise StudyError(f"{path.name}: has no rows")
    found = []
    for column in columns:
        if column not in e.names and column not in e.measures:
            known = (*e.names, *e.measures)
            raise StudyError(f'{path.name}: column "{column}": {unknown(str(column), known)}')
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise StudyError(f"{path.name}: line {number}: has another number of columns than the head")
        at = {name: _published_level(e.axis(name), row[name], path, number) for name in e.names if row.get(name)}
        for measure in e.measures:
            text = (row.get(measure) or "").strip()
            if text:
                try:
                    found.append(Printed(at, measure, float(text)))
                except ValueError:
                    raise StudyError(f'{path.name}: line {number}: {measure} = "{text}" is no number') from None
    return tuple(found)


def _published_level(axis: Axis, text: str, path: Path, number: int) -> str:
    text = text.strip()
    if text in axis.ids:
        return text
    if axis.numeric:
        # A point that is not run may still be drawn.
        try:
            return f"{float(text):g}"
        except ValueError:
            pass
    raise StudyError(f'{path.name}: line {number}: {axis.id} = "{text}": {unknown(text, axis.ids)}')
