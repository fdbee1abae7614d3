"""Parses claims and their parts, changes of the base, assumptions, and the statements of the paper."""

from __future__ import annotations

import csv
from math import isfinite
from pathlib import Path
from typing import Any

from ... import foreign
from ...analysis.measures import KINDS
from ...strict_toml import TomlError, load, unknown
from ..experiment import Experiment, StudyError
from ..model import Alternative, Assumption, BaseChange, Claim, Counted, Part, Peer, Statement, Study
from ..select import ALONG, cases_of, rows_of
from ..study_table import StudyTable
from .common import Context, as_list, known_axis, level_name, plain_text, select

DIRECTIONS = ("greater", "less", "at_least", "at_most")
STATEMENTS = "statements.toml"
"""The file with every sentence of the paper that asserts an effect."""


def parse_claim(context: Context, t: StudyTable) -> Claim:
    default = t.text("experiment", "")
    parts = tuple(parse_part(context, p, default) for p in t.tables("parts"))
    untestable = t.text("untestable", "")
    counted = parse_counted(context, t)
    if bool(parts) + bool(untestable) + bool(counted) != 1:
        said = "needs either parts, or counted, or a reason why it is untestable"
        raise t.lacks(said, "parts", "counted", "untestable")
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


def parse_counted(context: Context, t: StudyTable) -> tuple[Counted, ...]:
    """Tables of counts in the study's folder, for a claim that is not evaluated on runs."""
    found = []
    for one in t.tables("counted"):
        name, column = one.text("file"), one.text("column")
        try:
            with foreign.rows(context.folder / name) as file:
                rows = list(csv.DictReader(file))
        except OSError as error:
            raise one.fault(f"file: {name}: {error.strerror}") from error
        except (UnicodeDecodeError, csv.Error) as error:
            raise one.fault(f"file: {name}: {error}") from error
        where = {key: [level_name(v) for v in as_list(ids)] for key, ids in one.settings("where", None).items()}
        for number, row in enumerate(rows, 2):
            if None in row or None in row.values():
                raise one.fault(f"{name}: line {number}: has another number of columns than the head")
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
        if not all(map(isfinite, values)):
            raise one.fault(f"{name}: {column}: all values must be finite")
        if one.has("ratio_at_most") == one.has("ratio_at_least"):
            raise one.lacks("needs either ratio_at_most or ratio_at_least", "ratio_at_most", "ratio_at_least")
        at_least = one.has("ratio_at_least")
        factor = one.number("ratio_at_least" if at_least else "ratio_at_most")
        found.append(Counted(one.text("title"), values, factor, at_least, one.text("unit", "")))
        one.end()
    return tuple(found)


def parse_part(context: Context, t: StudyTable, default: str) -> Part:
    e = context.experiment(t, default)
    if e is None:
        raise t.fault("names no experiment")
    within = t.pair("within")
    expect = t.word("expect", (*DIRECTIONS, "equal", "within"), "within" if within else None)
    measure = context.measure(t, e, "measure")
    at = select(e, t.settings("at", None), t.fault)
    of = {**at, **select(e, t.settings("of", None), t.fault)}
    to = {**at, **select(e, t.settings("to"), t.fault)} if t.has("to") else None
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
        some_seed=t.flag("some_seed"),
        along=along,
        reduce=reduce,
        each=each,
        published=_parse_published_effect(t),
        title=t.text("title", ""),
    )
    t.end()
    check_part(context, t, e, part)
    return part


def check_part(context: Context, t: StudyTable, e: Experiment, part: Part) -> None:
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
    measure = context.measures[part.measure]
    if measure.kind is None:
        raise t.fault(f'measure "{measure.id}" has no kind, and so no margin; kinds: {", ".join(KINDS)}')
    if part.every_seed and part.some_seed:
        raise t.fault('"every_seed" and "some_seed" exclude each other')
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


def _parse_published_effect(t: StudyTable) -> dict[str, Any]:
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


def parse_base_change(context: Context, t: StudyTable) -> BaseChange:
    names = t.texts("experiments")
    for name in names:
        if name not in context.experiments:
            raise t.fault(f'experiments: "{name}": {unknown(name, tuple(context.experiments))}')
        known_axis(t, context.experiments[name], t.text("axis"))
        axis = context.experiments[name].axis(t.text("axis"))
        if t.text("before") not in axis.ids or t.text("before") == axis.base:
            raise t.fault(f'before = "{t.text("before")}": is no level of {axis.id} off its base')
    found = BaseChange(names, t.text("axis"), t.text("before"), t.text("why"))
    t.end()
    return found


def parse_assumption(context: Context, t: StudyTable) -> Assumption:
    paths = t.texts("paths", ()) or ((t.text("path"),) if t.has("path") else ())
    alternatives = []
    for a in t.tables("alternatives"):
        settings = a.settings("set", None)
        value = plain_text(a.raw("value"))
        if not settings and not paths:
            raise a.fault('"set" is missing: what the alternative changes')
        alternatives.append(Alternative(value, settings, a.text("text", "")))
        a.end()
    among = t.texts("experiments", ())
    for name in among:
        if name not in context.experiments:
            raise t.fault(f'experiments: "{name}": {unknown(name, tuple(context.experiments))}')
    found = Assumption(
        id=t.text("id"),
        title=t.text("title"),
        by=t.word("by", ("paper", "ours")),
        value=plain_text(t.raw("value", "")),
        text=t.text("text", ""),
        paths=paths,
        alternatives=tuple(alternatives),
        experiments=among,
    )
    t.end()
    return found


def parse_statements(path: Path, study: Study) -> tuple[Statement, ...]:
    """Parse the paper's sentences; each is tested by a claim of the study or by the code's tests, or says why not."""
    if not path.is_file():
        return ()
    try:
        top = StudyTable(load(path))
    except TomlError as error:
        raise StudyError(f"{path.name}: {error}") from error
    known = tuple(claim.id for claim in study.claims)
    found = []
    try:
        for t in top.tables("statement"):
            claims = t.texts("claims", ())
            for name in claims:
                if name not in known:
                    raise t.fault(f'claims: "{name}": {unknown(name, known)}')
            tests = t.texts("tests", ())
            if any(not (test.partition("::")[0] and test.partition("::")[2]) for test in tests):
                raise t.fault(f"tests: {', '.join(tests)}: each is a file and the name of a test in it, FILE::NAME")
            one = Statement(t.text("where"), t.text("text"), claims, tests, t.text("untestable", ""))
            if bool(one.claims) + bool(one.tests) + bool(one.untestable) != 1:
                said = "needs either claims, or tests, or a reason why it is untestable"
                raise t.lacks(said, "claims", "tests", "untestable")
            t.end()
            found.append(one)
        top.end()
    except StudyError as error:
        raise StudyError(f"{path.name}: {error}") from error
    return tuple(found)
