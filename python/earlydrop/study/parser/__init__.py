"""Parses `study.toml`, its published tables and its statements, and checks all that can be checked without a run.

An error names the file and the place in it: `study.toml: claim S-1: parts 2: unknown key "mesure"; did you mean ...`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from ...strict_toml import TomlError, load, unknown
from ..experiment import StudyError
from ..model import Study
from ..study_table import StudyTable
from .claims import STATEMENTS, parse_assumption, parse_base_change, parse_claim, parse_statements
from .common import Context, keyed, refuse_second
from .exhibits import parse_figure, parse_section, parse_table
from .experiments import SEEDS, TOP_SEED, check_quick, parse_choice, parse_experiment, parse_quick, parse_shared_levels
from .measures import check_formulas, parse_measure

__all__ = ["parse_folder"]


def parse_folder(folder: Path) -> Study:
    """Parse a study folder.

    Raises:
        StudyError: the study is wrong; the message names file and place.
    """
    path = folder / "study.toml"
    try:
        return _parse(folder, StudyTable(load(path)))
    except (StudyError, TomlError) as error:
        raise StudyError(f"{path}: {error}") from error


KEYS = (
    "name",
    "title",
    "question",
    "summary",
    "headline",
    "source",
    "seeds",
    "first_seed",
    "quick",
    "scenario",
    "levels",
    "measure",
    "experiment",
    "choice",
    "assumption",
    "claim",
    "table",
    "figure",
    "section",
    "base_change",
)


def _parse(folder: Path, top: StudyTable) -> Study:
    # Unknown keys come first, as a table with another name is missed by all that refer to it.
    top.only(KEYS)
    context = Context(folder)
    seeds = top.whole("seeds", 1, SEEDS)
    first = top.whole("first_seed", 0, TOP_SEED, 1)
    common = top.settings("scenario", None)
    quick = parse_quick(top)
    context.measures = keyed(top, "measure", parse_measure)
    context.listed = tuple(context.measures)
    shared = {name: parse_shared_levels(name, one) for name, one in top.settings("levels", None).items()}
    for table in top.tables("experiment"):
        e = parse_experiment(context, table, common, seeds, first, shared)
        refuse_second(table, e.id, context.experiments)
        context.experiments[e.id] = e
    if not context.experiments:
        raise top.fault("there is no [[experiment]]")
    check_formulas(context)
    choice = parse_choice(context, top)
    assumptions = keyed(top, "assumption", lambda t: parse_assumption(context, t))
    tables = tuple(parse_table(context, t) for t in top.tables("table"))
    figures = tuple(parse_figure(context, t) for t in top.tables("figure"))
    source = top.settings("source", None)
    study = Study(
        name=top.text("name"),
        title=top.text("title"),
        question=top.text("question"),
        summary=top.text("summary", ""),
        headline=top.texts("headline", ()),
        folder=folder,
        source={key: str(value) for key, value in source.items()},
        experiments=tuple(context.experiments.values()),
        measures=tuple(context.measures.values()),
        claims=tuple(keyed(top, "claim", lambda t: parse_claim(context, t)).values()),
        assumptions=tuple(assumptions.values()),
        tables=tables,
        figures=figures,
        sections=tuple(parse_section(t) for t in top.tables("section")),
        base_changes=tuple(parse_base_change(context, t) for t in top.tables("base_change")),
        quick_options=quick,
        choice=choice,
    )
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", study.name):
        raise top.fault(f'name = "{study.name}": allowed are letters, digits, ".", "-" and "_"')
    # Names of files for experiments and figures.
    for kind, ids in (("experiment", list(context.experiments)), ("figure", [f.id for f in figures])):
        named: dict[str, str] = {}
        for one in ids:
            plain = re.sub(r"[^a-z0-9]+", "-", one.lower()).strip("-")
            if not plain or len(plain) > 100:
                raise top.fault(f'{kind} "{one}": allowed is an id with letters or digits, of at most 100 characters')
            if named.setdefault(plain, one) != one:
                raise top.fault(f'{kind} "{one}" and "{named[plain]}" would be the same file')
    for name in study.headline:
        if name not in (known := tuple(c.id for c in study.claims)):
            raise top.fault(f'headline: "{name}": {unknown(name, known)}')
    study = replace(study, statements=parse_statements(folder / STATEMENTS, study))
    check_quick(context, quick)
    for kind, ids in (("table", [t.id for t in tables]), ("figure", [f.id for f in figures])):
        twice = [name for name in ids if ids.count(name) > 1]
        if twice:
            raise top.fault(f'{kind} "{twice[0]}" is there twice')
    return study
