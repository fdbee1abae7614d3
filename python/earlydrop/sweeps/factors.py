"""Parses the factors of a sweep: their values, levels or ranges."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from .. import discipline_names
from ..own_aqms.declare import PolicyError
from ..store.names import firsts, of_texts
from ..strict_toml import is_number, nearest, parse_value, shown
from ..toml_writer import toml_value
from .base_scenario import with_traces
from .lazy import Lazy
from .model import Factor, Level, level_name
from .quantities import quantities
from .sweep_table import SweepTable

FACTOR_KEYS = (
    "name",
    "title",
    "unit",
    "path",
    "paths",
    "values",
    "titles",
    "levels",
    "range",
    "steps",
    "log",
    "whole",
    "format",
)
TOP = ("duration", "warmup", "topology", "node", "link", "aqms", "queue", "traffic", "record", "rtt")
"""Paths of a single word."""
RESERVED = ("seed", "name")
"""Keys of a scenario that a sweep sets itself."""
FEW = 256
"""Levels of a factor that are kept in memory; those of a longer list are made on demand."""
_AQM = re.compile(r"queue\.[^.]+\.(child\.)?aqm")
"""The paths whose values may be disciplines with settings."""
TITLES = (
    (r"traffic\.\w+\.count", "Flows"),
    (r"queue\.\w+\.limit", "Buffer"),
    (r"queue\.\w+\.aqm", "Discipline"),
    (r"topology\.bottleneck\.rate", "Rate of the bottleneck"),
    (r"topology\.bottleneck\.delay", "Delay of the bottleneck"),
    (r"topology\.pairs", "Senders"),
)
"""Titles in tables and figures for factors that have none, by the key that a factor varies."""


def titled(name: str, paths: Sequence[str]) -> str:
    """The title of a factor that has none: what its key is where it is called like it, else its name."""
    for pattern, title in TITLES:
        if len(paths) == 1 and re.fullmatch(pattern, paths[0]) and name == paths[0].rpartition(".")[2]:
            return title
    return name


def parse_factors(top: SweepTable, folder: Path) -> list[Factor]:
    """The factors of a sweep. Trace files are looked for in `folder`."""
    tables = top.tables("factor")
    if not tables and not top.data.get("factor"):
        top.report("factor", "is missing; a sweep has at least one [[factor]]")
    found: list[Factor] = []
    for number, table in enumerate(tables, 1):
        table.place = f"factor {number}"
        if not isinstance(top.raw("factor")[number - 1], dict):
            continue
        factor = _parse_factor(number, table, folder)
        if factor is None:
            continue
        if any(f.name == factor.name for f in found):
            top.report(f"factor {factor.name}", "is there twice; give one of them another name")
        found.append(factor)
    return found


def _parse_factor(number: int, t: SweepTable, folder: Path) -> Factor | None:
    paths = t.texts("paths" if t.has("paths") else "path", ())
    name = t.text("name", paths[0].rsplit(".", 1)[-1] if paths else f"factor_{number}")
    t.place = f"factor {name}"
    if not name.isidentifier():
        t.report("", "its name is not one word of letters, digits and _; give it a name")
    t.only(FACTOR_KEYS)
    ways = [key for key in ("values", "levels", "range") if t.has(key)]
    if len(ways) != 1:
        t.report("", f"given {' and '.join(ways) or 'none'}; allowed one of values, levels, range")
        return None
    if ways != ["levels"] and not paths:
        t.report("", "has no path; give path or paths")
        return None
    if ways == ["levels"] and paths:
        t.report("", f"given levels and the path {paths[0]}; allowed path with values, or levels that each have set")
        return None
    if any(path in RESERVED for path in paths):
        t.report("", f"{paths[0]} cannot be varied; seeds chooses the seeds")
        return None
    near = [path for path in paths if path not in TOP and nearest(path.lower(), ("rtt",))]
    if near:
        t.report("path", f'given "{near[0]}"; did you mean "rtt"?')
        return None
    form = t.text("format", "{}")
    samples = t.raw("values" if ways == ["values"] else "range") if ways != ["levels"] else [1]
    whole = ways != ["range"] or t.raw("whole") is True
    # A range without `whole` gives numbers with a fraction.
    for value in samples if isinstance(samples, list) else [1]:
        said = formless(form, value if whole or not is_number(value) else float(value))
        if said is not None:
            t.report("format", said)
            return None
    factor = Factor(
        name,
        t.text("title", titled(name, paths)),
        t.text("unit", "ms" if paths == ("rtt",) else ""),
        (),
        paths,
        form,
        log=t.flag("log"),
        whole=t.flag("whole"),
        named=t.has("title"),
    )
    if t.has("titles") and ways != ["values"]:
        t.report("titles", "belongs to values; each of levels has a title of its own")
    if ways == ["values"]:
        return _with_values(t, factor, folder)
    if ways == ["levels"]:
        return _with_levels(t, factor, folder)
    return _with_range(t, factor)


def formless(form: str, value: object) -> str | None:
    """Why a value cannot be written in this form; None if it can."""
    if form == "{}":
        return None
    try:
        form.format(value)
    except (ValueError, IndexError, KeyError, AttributeError, TypeError):
        return f"given {form!r}, in which {shown(value)} cannot be written; allowed a text with one {{}} for the value"
    return None


def _with_values(t: SweepTable, factor: Factor, folder: Path) -> Factor | None:
    values = t.raw("values")
    if not isinstance(values, list) or not values or not all(isinstance(v, (str, int, float, bool)) for v in values):
        t.refuse("values", values, "a list of numbers, texts or flags")
        return None
    if not all(math.isfinite(v) for v in values if isinstance(v, float)):
        t.refuse("values", values, "finite numbers, texts or flags")
        return None
    if len(factor.paths) == 1 and _AQM.fullmatch(factor.paths[0]) and any(" " in str(v).strip() for v in values):
        return _with_disciplines(t, factor, [str(v) for v in values], folder)
    titles = t.texts("titles", ())
    if titles and len(titles) != len(values):
        t.report("titles", f"given {len(titles)}; allowed as many as values, {len(values)}")
        titles = ()
    factor = replace(factor, titles=_titles(t, [factor.level(v).name for v in values] if titles else [], titles))
    known = quantities(values, factor.unit) if factor.form == "{}" else None
    if known is not None:
        unit, numbers = known
        made = [replace(factor.level(v), value=number) for v, number in zip(values, numbers, strict=True)]
        return _without_equals(t, replace(factor, unit=unit, levels=tuple(made)))
    return _without_equals(t, replace(factor, levels=_levels(len(values), lambda k: factor.level(values[k]))))


def _with_disciplines(t: SweepTable, factor: Factor, texts: Sequence[str], folder: Path) -> Factor | None:
    """Levels that are disciplines with settings, in the form of `compare --aqm`: perhaps with labels."""
    home = factor.paths[0].removesuffix("aqm")
    found: list[Level] = []
    titles = list(t.texts("titles", ()))
    labels = []
    for text in texts:
        try:
            label, discipline = discipline_names.labelled(text)
            name, settings = discipline_names.words(discipline)
            if settings:
                name = discipline_names.parse(discipline, str(folder)).name
        except (discipline_names.DisciplineError, PolicyError) as error:
            t.report("values", str(error))
            return None
        sets = ((factor.paths[0], toml_value(name)), *((home + key, toml_value(parse_value(v))) for key, v in settings))
        found.append(Level(discipline, discipline, sets))
        labels.append(label)
    if any(labels) and titles:
        t.report("titles", "and labels in values exclude each other; give one of them")
    if titles and len(titles) != len(texts):
        t.report("titles", f"given {len(titles)}; allowed as many as values, {len(texts)}")
        titles = []
    shown_ = titles or [label or level.name for label, level in zip(labels, found, strict=True)]
    named = _titles(t, [level.name for level in found], shown_)
    return _without_equals(t, replace(factor, levels=tuple(found), titles=named, paths=()))


def _with_levels(t: SweepTable, factor: Factor, folder: Path) -> Factor | None:
    tables = t.tables("levels")
    if not tables:
        t.refuse("levels", t.raw("levels"), "a list of tables with name and set")
        return None
    found, titles = [], []
    for number, level in enumerate(tables, 1):
        level.place = f"{t.place}: level {number}"
        level.only(("name", "title", "value", "set"))
        value = level.raw("value", level.raw("name", number))
        if not isinstance(value, (str, int, float)) or (isinstance(value, float) and not math.isfinite(value)):
            level.refuse("value", value, "a finite number, a text or a flag")
            value = number
        name = level.text("name", level_name(value))
        titles.append(level.text("title", name))
        found.append(Level(name, value, tuple(parse_sets(level, folder))))
    if len(found) > 1 and not any(level.sets for level in found):
        t.report("levels", "none has set, so that all are the same scenario; give set in each")
    named = _titles(t, [level.name for level in found], titles)
    return _without_equals(t, replace(factor, levels=tuple(found), titles=named))


def _titles(t: SweepTable, names: Sequence[str], titles: Sequence[str]) -> dict[str, str]:
    """The titles of levels that are not their names, by name; two levels with one title are reported."""
    made = []
    for title in titles:
        try:
            made.append(discipline_names.label(title))
        except discipline_names.DisciplineError as error:
            t.report("title", str(error))
            return {}
    if same := discipline_names.twice(made):
        first, second = (names[k] for k in same)
        if first != second:
            t.report("", f'"{made[same[0]]}" is the title of both {first} and {second}')
    return {name: title for name, title in zip(names, made, strict=True) if name != title}


def parse_sets(t: SweepTable, folder: Path) -> list[tuple[str, str]]:
    """The paths and values of `set`, as TOML."""
    found = []
    for path, value in t.settings("set", None).items():
        if path in RESERVED:
            t.report("set", f"{path} cannot be set; seeds and first_seed choose the seeds")
            continue
        found.append((path, toml_value(with_traces(value, folder))))
    return found


def _with_range(t: SweepTable, factor: Factor) -> Factor | None:
    ends = t.raw("range")
    good = isinstance(ends, list) and len(ends) == 2 and all(is_number(x) and math.isfinite(x) for x in ends)
    if not good or ends[0] >= ends[1]:
        t.refuse("range", ends, "[low, high] with low below high")
        return None
    if factor.log and ends[0] <= 0:
        t.report("range", f"given {ends!r}; with log = true both ends are above 0")
        return None
    if factor.whole and any(x != int(x) for x in ends):
        t.report("range", f"given {ends!r}; with whole = true both ends are whole")
        return None
    factor = replace(factor, low=float(ends[0]), high=float(ends[1]))
    if not t.has("steps"):
        return factor
    steps = t.whole("steps", 2, 100_000)
    whole = replace(factor, whole=False)
    if not factor.whole:
        return replace(factor, levels=_levels(steps, lambda k: factor.level(whole.between(k / (steps - 1)))))
    values = array("q", dict.fromkeys(round(whole.between(k / (steps - 1))) for k in range(steps)))
    return replace(factor, levels=_levels(len(values), lambda k: factor.level(values[k])))


def _without_equals(t: SweepTable, factor: Factor) -> Factor:
    """The factor itself; its levels with the same name are reported."""
    first = firsts(of_texts(level.name for level in factor.levels))
    for k in dict.fromkeys(first[first != range(len(first))].tolist()):
        t.report("", f"has the level {factor.levels[k].name} twice")
    return factor


def _levels(count: int, make: Callable[[int], Level]) -> Sequence[Level]:
    found = Lazy(count, make, FEW)
    return tuple(found) if count <= FEW else found
