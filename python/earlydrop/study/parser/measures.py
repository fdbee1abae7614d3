"""Parses measures: fields of result documents, formulas, kinds and margins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ...analysis import quantity
from ...analysis.measures import KINDS, FieldError, Kind, Margin, kind_of
from ...analysis.quantity import MeasureError
from ...expressions import ExpressionError, Formula, parse_formula
from ...strict_toml import unknown
from .. import packet_records
from ..experiment import Measure, StudyError
from ..extraction import PAIRINGS, RATIO, REDUCTIONS, TOGETHER, Extraction
from ..study_table import StudyTable
from .common import Context, as_list, level_name


def parse_measure(t: StudyTable) -> Measure:
    name = t.text("id")
    given = [key for key in ("field", "formula") if t.has(key)]
    if len(given) != 1:
        raise t.lacks("needs either a field or a formula", "field", "formula")
    made: Formula | None = None
    extraction: Extraction | None = None
    against: dict[str, str] = {}
    pairing = ""
    if t.has("formula"):
        try:
            made = parse_formula(t.text("formula"))
        except ExpressionError as error:
            raise t.fault(f"formula: {error}") from error
    elif t.has("against"):
        pairing = t.word("reduce", PAIRINGS, RATIO)
        extraction = parse_extraction(t, "" if pairing == RATIO else "list")
        against = {axis: level_name(level) for axis, level in t.settings("against").items()}
    else:
        extraction = parse_extraction(t)
    measure = Measure(
        id=name,
        title=t.text("title"),
        unit=t.text("unit", ""),
        digits=t.whole("digits", 0, 12, 3),
        scale=t.number("scale", 1.0),
        main=t.flag("main"),
        extraction=extraction,
        formula=made,
        against=against,
        pairing=pairing,
        kind=_parse_kind(t, extraction, against),
    )
    measure = replace(measure, margin=_parse_margin(t, measure))
    t.end()
    return measure


def measure_named(context: Context, text: str, fault: Callable[[str], StudyError]) -> str:
    """The id of a measure that an experiment names, by its id or as a path; it is then one of the context."""
    if text in context.measures:
        return text
    try:
        # Ids have no dot.
        made = quantity.parsed(text) if "." in text else None
    except MeasureError as error:
        raise fault(f"measures: {error}") from error
    if made is None or made.function is not None:
        raise fault(f'measures: "{text}": {unknown(text, tuple(context.measures))}')
    known = context.measures.get(made.id)
    found = Measure(
        id=made.id,
        title=made.title,
        unit=made.unit,
        digits=made.digits,
        scale=made.scale,
        extraction=Extraction(made.field),
        kind=made.kind,
        margin=made.margin,
    )
    if known not in (None, found):
        raise fault(f'measures: given "{text}", whose id {made.id} another measure has; allowed another title')
    context.measures[made.id] = found
    return made.id


def parse_extraction(t: StudyTable, reduce: str = "") -> Extraction:
    field = t.text("field")
    where = t.settings("where", None)
    chosen = reduce or t.word("reduce", (*REDUCTIONS, TOGETHER, *packet_records.REDUCTIONS), "")
    starred = "*" in field.split(".")
    if chosen in packet_records.REDUCTIONS:
        if not field.startswith("trace") or not set(where) <= {"flow"}:
            said = "is made of packet records, trace or traces.QUEUE, perhaps of one flow: where = { flow = 1 }"
            raise t.fault(f"{chosen} {said}")
        within = t.number("at_most", None)
        if (chosen == "followed") != (within is not None):
            raise t.fault("followed needs at_most, the ms after a drop within which the next is of the same burst")
        return Extraction(field, chosen, tuple(where.items()), at_most=within)
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
    added = not reduce and t.flag("added")
    if (added or chosen == TOGETHER) and not starred:
        raise t.fault(f"{'added' if added else TOGETHER} is said of several series: the field has no *")
    when = {} if reduce else t.settings("when", None)
    if when and (starred or not chosen):
        raise t.fault("when chooses among the entries of a list: reduce is missing, or the field has a *")
    for other, ids in when.items():
        if not all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in as_list(ids)):
            raise t.fault(f'when: "{other}": a number, or a list of numbers')
    chosen_at = tuple((other, tuple(map(float, as_list(ids)))) for other, ids in when.items())
    return Extraction(field, chosen, tuple(where.items()), cut[0], cut[1], at_most, repeat, minus, added, chosen_at)


def _parse_kind(t: StudyTable, extraction: Extraction | None, against: Mapping[str, str]) -> Kind | None:
    """The kind that a measure names, or that its field has."""
    if t.has("kind"):
        return KINDS[t.word("kind", KINDS)]
    if extraction is None or against or extraction.reduce in ("count", "jain", "cov", "deviation"):
        known = {"jain": "index", "cov": "spread", "deviation": "spread"}
        name = known.get(extraction.reduce) if extraction is not None and not against else None
        return None if name is None else KINDS[name]
    try:
        return kind_of(extraction.field)
    except FieldError as error:
        raise t.fault(f"field {error}") from None


def _parse_margin(t: StudyTable, measure: Measure) -> Margin | None:
    """The margin of a measure: its kind's, or one of its own with its reason."""
    given = t.table("margin")
    if given is None:
        return None if measure.kind is None else measure.kind.margin_in(measure.unit)
    if given.has("relative") == given.has("absolute"):
        raise given.lacks("needs either relative or absolute", "relative", "absolute")
    relative = given.has("relative")
    size = given.number("relative" if relative else "absolute")
    if size <= 0:
        raise given.fault("must be above 0")
    found = Margin(size, relative, given.text("reason"))
    given.end()
    return found


def check_formulas(context: Context) -> None:
    axes = {name for e in context.experiments.values() for name in e.names}
    known = (*context.measures, *sorted(axes))

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise StudyError(f"measure {name}: formula: needs itself ({' -> '.join([*path, name])})")
        found = context.measures[name].formula
        for other in found.names if found else ():
            if other not in known:
                raise StudyError(f'measure {name}: formula: "{other}": {unknown(other, known)}')
            if other in context.measures:
                visit(other, (*path, name))

    for name in context.measures:
        visit(name, ())
