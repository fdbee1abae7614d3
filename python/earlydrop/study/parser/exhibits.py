"""Parses the tables and figures of the paper, its published values and the sections of the report."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

from ... import foreign
from ...strict_toml import unknown
from ..experiment import Axis, Experiment, StudyError
from ..extraction import Extraction
from ..model import Figure, Line, Plane, Printed, Table
from ..study_table import StudyTable
from .common import Context, known_axis, select
from .experiments import TOP_SEED
from .measures import parse_extraction

FIGURES = ("lines", "bars", "series", "cdf", "histogram", "differences", "scatter", "plane", "curves", "picture")
ONE_SIGMA = math.exp(-0.5)
"""Share of a Gaussian in the plane outside the ellipse whose half-axes are its standard deviations."""


def parse_table(context: Context, t: StudyTable) -> Table:
    e = context.experiment(t)
    lost, unreproduced = t.text("lost", ""), t.text("unreproduced", "")
    facts = parse_facts(context, t)
    if e is None and not (lost or unreproduced or facts):
        said = "needs an experiment, or the reason why there is nothing to show (lost, unreproduced)"
        raise t.lacks(said, "experiment", "lost", "unreproduced")
    rows, columns = t.texts("rows", ()), t.texts("columns", ())
    for name in (*rows, *columns):
        known_axis(t, e, name)
    fit = t.text("fit", "")
    if fit and e is not None:
        known_axis(t, e, fit)
        if not e.axis(fit).reading:
            raise t.fault(f'fit = "{fit}": is no reading')
    table = Table(
        id=t.text("id"),
        title=t.text("title"),
        experiment="" if e is None else e.id,
        rows=rows,
        columns=columns,
        measures=parse_measures(context, t, e),
        at=select(e, t.settings("at", None), t.fault),
        of=select(e, t.settings("of", None), t.fault),
        to=select(e, t.settings("to", None), t.fault),
        fit=fit,
        facts=facts,
        note=t.text("note", ""),
        lost=lost,
        unreproduced=unreproduced,
        printed=parse_printed(context, t, e),
    )
    if bool(table.of) != bool(table.to):
        raise t.fault('"of" and "to" stand together: a column with their difference')
    t.end()
    return table


def parse_facts(context: Context, t: StudyTable) -> tuple[tuple[str, ...], ...]:
    """A table from a file; its first column holds ids of levels of any axis."""
    name = t.text("facts", "")
    if not name:
        return ()
    try:
        with foreign.rows(context.folder / name) as file:
            rows = tuple(tuple(row) for row in csv.reader(file))
    except OSError as error:
        raise t.fault(f"facts: {name}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise t.fault(f"facts: {name}: {error}") from error
    uneven = [number for number, row in enumerate(rows, 1) if len(row) != len(rows[0])]
    if len(rows) < 2 or uneven or not rows[0]:
        where = f"line {uneven[0]} has another number of columns than the head" if uneven else "has no rows"
        raise t.fault(f"facts: {name}: {where}")
    known = {level for e in context.experiments.values() for axis in e.axes for level in axis.ids}
    for number, row in enumerate(rows[1:], 2):
        if row[0] not in known:
            raise t.fault(f'facts: {name}: line {number}: "{row[0]}": {unknown(row[0], sorted(known))}')
    return rows


def parse_measures(context: Context, t: StudyTable, e: Experiment | None) -> tuple[str, ...]:
    names = t.texts("measures", ()) or ((t.text("measure"),) if t.has("measure") else ())
    if e is None:
        return names
    for name in names:
        if name not in e.measures:
            raise t.fault(f'measure "{name}": {unknown(name, e.measures)}')
    if names:
        return names
    main = tuple(name for name in e.measures if context.measures[name].main)
    return main or e.measures


def parse_printed(context: Context, t: StudyTable, e: Experiment | None) -> tuple[Printed, ...]:
    name = t.text("published", "")
    if not name:
        return ()
    if e is None:
        raise t.fault("published needs an experiment")
    try:
        return parse_published(context.folder / name, e)
    except StudyError as error:
        raise t.fault(f"published: {error}") from error


def parse_published(path: Path, e: Experiment) -> tuple[Printed, ...]:
    """Parse a table of the paper: columns are axes and measures, an empty cell is a value that is not printed."""
    try:
        with foreign.rows(path) as file:
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


def parse_figure(context: Context, t: StudyTable) -> Figure:
    e = context.experiment(t)
    lost, unreproduced = t.text("lost", ""), t.text("unreproduced", "")
    kind = t.word("kind", FIGURES, "")
    if not kind and not (lost or unreproduced):
        said = "needs a kind, or the reason why it cannot be drawn (lost, unreproduced)"
        raise t.lacks(said, "kind", "lost", "unreproduced")
    if kind and kind != "curves" and e is None:
        raise t.fault("names no experiment")
    for name in ("lines", "panels"):
        if kind == "series" and name == "lines":
            continue
        if t.has(name):
            known_axis(t, e, t.text(name))
    extraction: Extraction | None = None
    series: tuple[Line, ...] = ()
    if kind in {"cdf", "histogram", "differences"}:
        extraction = parse_extraction(t, "list")
    elif kind == "series":
        series = tuple(parse_line(context, one, t) for one in t.tables("lines"))
        if not series:
            raise t.fault('a "series" needs lines: a list of fields')
    x = t.text("x") if kind in {"lines", "bars"} else ""
    if x and x != "seed":
        known_axis(t, e, x)
    figure = Figure(
        id=t.text("id"),
        title=t.text("title"),
        kind=kind,
        experiment="" if e is None else e.id,
        x=x,
        lines="" if kind == "series" else t.text("lines", ""),
        panels=t.text("panels", ""),
        measures=figure_measures(context, t, e, kind),
        at=select(e, t.settings("at", None), t.fault),
        of=select(e, t.settings("of", None), t.fault),
        to=select(e, t.settings("to", None), t.fault),
        seed=t.whole("seed", 0, TOP_SEED, None),
        extraction=extraction,
        label=t.text("label", ""),
        scale=t.number("scale", 1.0),
        series=series,
        planes=parse_planes(context, t, e) if kind == "plane" else (),
        epsilon=t.number("epsilon", ONE_SIGMA),
        only=t.word("only", ("pages", "report"), ""),
        log=t.word("log", ("x", "y", "xy"), ""),
        limits=_parse_limits(t),
        set=t.settings("set", None),
        curves=tuple(_parse_curve(c) for c in (*t.tables("curves"), *t.tables("curve"))),
        options={
            "marks": t.settings("marks", None),
            "detail": t.pair("detail"),
            "range": t.pair("range"),
        },
        note=t.text("note", ""),
        lost=lost,
        unreproduced=unreproduced,
        printed=parse_printed(context, t, e),
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


def figure_measures(context: Context, t: StudyTable, e: Experiment | None, kind: str) -> tuple[str, ...]:
    if kind == "scatter":
        return (context.measure(t, e, "x_measure"), context.measure(t, e, "y_measure"))
    if kind in {"lines", "bars"}:
        return parse_measures(context, t, e)
    return ()


def parse_planes(context: Context, t: StudyTable, e: Experiment | None) -> tuple[Plane, ...]:
    """The panels of a plane: one for each class, or a single one."""
    found = []
    for one in t.tables("classes"):
        found.append(
            Plane(one.text("title"), context.measure(one, e, "x_measure"), context.measure(one, e, "y_measure"))
        )
        one.end()
    if not found:
        found.append(Plane("", context.measure(t, e, "x_measure"), context.measure(t, e, "y_measure")))
    return tuple(found)


def parse_line(context: Context, t: StudyTable, figure: StudyTable) -> Line:
    low, high = figure.number("from_s", None), figure.number("to_s", None)
    line = Line(Extraction(t.text("field"), "times", (), low, high), t.text("title"), t.number("scale", 1.0))
    t.end()
    return line


def _parse_limits(t: StudyTable) -> dict[str, tuple[float, float]]:
    if isinstance(t.raw("limits"), list):
        pair = t.pair("limits")
        return {} if pair is None else {"y": pair}
    table = t.table("limits")
    if table is None:
        return {}
    found = {key: pair for key in ("x", "y") if (pair := table.pair(key)) is not None}
    table.end()
    return found


def _parse_curve(t: StudyTable) -> dict[str, Any]:
    found = {
        "title": t.text("title"),
        "aqm": t.text("aqm"),
        "parameters": t.settings("parameters", None),
        "aside": t.flag("aside"),
    }
    t.end()
    return found


def parse_section(t: StudyTable) -> dict[str, Any]:
    items = []
    for one in t.tables("items"):
        items.append({"head": one.text("head"), "text": one.text("text")})
        one.end()
    found = {"title": t.text("title"), "text": t.text("text", ""), "items": items}
    t.end()
    return found
