"""Parses experiments: scenario, axes and their levels, quick options, the choice of disciplines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...analysis.quantity import with_records
from ...strict_toml import unknown
from .. import discipline_levels
from ..experiment import Axis, Experiment, Level, StudyError
from ..model import Choice
from ..study_table import StudyTable
from .common import Context, as_list, laid_over, level_name, message_of, select, unique
from .measures import measure_named

SEEDS = 100_000
TOP_SEED = 2**63 - 1


def parse_experiment(
    context: Context,
    t: StudyTable,
    common: Mapping[str, Any],
    seeds: int,
    first: int,
    shared: Mapping[str, tuple[Level, ...]],
) -> Experiment:
    scenario = t.settings("scenario", None) or dict(common)
    if not scenario:
        raise t.fault("has no scenario, and there is no common one")
    base = laid_over(scenario, t.settings("set", None), t.fault)
    axes: tuple[Axis, ...] = ()
    for one in t.tables("axis"):
        axes = (*axes, parse_axis(one, shared, base, axes))
    unique(t, "axis", [a.id for a in axes])
    for axis in axes:
        if axis.id in context.measures:
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
                if name not in context.measures:
                    raise t.fault(f"level {level.id}: fitted: {unknown(name, tuple(context.measures))}")
    names = tuple(measure_named(context, text, t.fault) for text in t.texts("measures", context.listed))
    unique(t, "measure", names)
    e = Experiment(
        id=t.text("id"),
        title=t.text("title"),
        summary=t.text("summary", ""),
        scenario=with_records(base, context.paths(names)),
        seeds=t.whole("seeds", 1, SEEDS, seeds),
        first_seed=t.whole("first_seed", 0, TOP_SEED, first),
        axes=axes,
        measures=names,
        quick=parse_quick(t),
    )
    skip = []
    for number, rule in enumerate(t.values("skip"), 1):
        place = StudyTable({"rule": rule}, f"{t.place}: skip {number}")
        chosen = select(e, place.settings("rule"), place.fault)
        if not chosen:
            raise place.fault("names no axis")
        skip.append(chosen)
    t.end()
    e = replace(e, skip=tuple(skip))
    for axis in axes:
        for level in axis.levels:
            select(e, {k: list(ids) for k, ids in level.only.items()}, _fault_of_level(t, level))
    for name in names:
        for other, ids in select(e, context.measures[name].against, t.fault).items():
            if len(ids) != 1:
                raise t.fault(f'measure "{name}": against: {other} must be a single level')
    if not e.cells:
        raise t.fault("skips every combination")
    for cell in e.cells:
        # A path that leads nowhere is found here, the scenario checker's errors before the first run.
        try:
            e.document(cell, "check")
        except (KeyError, TypeError, AttributeError) as error:
            raise t.fault(f"{e.titled(cell) or 'its scenario'}: {message_of(error)}") from error
    return e


def _fault_of_level(t: StudyTable, level: Level) -> Callable[[str], StudyError]:
    return lambda said: t.fault(f"level {level.id}: only: {said}")


def parse_quick(table: StudyTable) -> dict[str, Any]:
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
        found["levels"] = {axis: tuple(level_name(v) for v in as_list(values)) for axis, values in levels.items()}
    quick.end()
    return found


def check_quick(context: Context, quick: Mapping[str, Any]) -> None:
    for e in context.experiments.values():
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
    known = {name for e in context.experiments.values() for name in e.names}
    for name in quick.get("levels", {}):
        if name not in known:
            raise StudyError(f"quick: levels: {name}: {unknown(name, sorted(known))}")


def parse_choice(context: Context, top: StudyTable) -> Choice | None:
    t = top.table("choice")
    if t is None:
        return None
    name = t.text("axis")
    having = [e for e in context.experiments.values() if name in e.names]
    if not having:
        raise t.fault(
            f'axis "{name}": {unknown(name, sorted({n for e in context.experiments.values() for n in e.names}))}'
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


def parse_levels(t: StudyTable, key: str) -> tuple[Level, ...]:
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
                only={k: tuple(level_name(v) for v in as_list(ids)) for k, ids in one.settings("only", None).items()},
            )
        )
        one.end()
    unique(t, "level", [level.id for level in found])
    return tuple(found)


def parse_shared_levels(name: str, given: Any) -> tuple[Level, ...]:
    """Levels for several axes: a list, or one for each discipline of the catalogue."""
    if isinstance(given, Mapping):
        return discipline_levels.levels(StudyTable(given, f"levels {name}"))
    return parse_levels(StudyTable({name: given}, "levels"), name)


def parse_axis(
    t: StudyTable, shared: Mapping[str, tuple[Level, ...]], scenario: Mapping[str, Any], before: Sequence[Axis]
) -> Axis:
    name = t.text("id")
    ways = [key for key in ("levels", "values", "use", "vary") if t.has(key)]
    if len(ways) != 1:
        raise t.lacks("needs one of levels, values, use and vary", "levels", "values", "use", "vary")
    if t.has("levels"):
        levels = parse_levels(t, "levels")
    elif t.has("values"):
        levels = _number_levels(t)
    elif t.has("vary"):
        levels = discipline_levels.settings(t, scenario, before)
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
        levels = tuple(_with_copies(level, path, [level_name(x) for x in as_list(others)]) for level in levels)
    reading = t.flag("reading")
    ids = tuple(level.id for level in levels)
    base = level_name(t.raw("base", ids[0]))
    literal = level_name(t.raw("literal", base))
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


def _with_copies(level: Level, path: str, others: Sequence[str]) -> Level:
    """A level that also sets elsewhere what it sets at a path or below it."""
    found = dict(level.set)
    for key, value in level.set.items():
        if key == path or key.startswith(f"{path}."):
            found |= dict.fromkeys((other + key[len(path) :] for other in others), value)
    return replace(level, set=found)


def _number_levels(t: StudyTable) -> tuple[Level, ...]:
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
    unique(t, "value", [level.id for level in found])
    return tuple(found)
