"""The HTML report of a study: a single file."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import disk
from ..document import Document
from ..render import plotting
from ..render.artists import Drawn, Here, Sketch, drawn
from ..render.template import MINUS, load
from ..toml_writer import to_toml
from . import case_text, comparison_tables, effect_plot, plots, text, warmups
from .answers import answer
from .claim_results import CONTRADICTED, EQUIVALENT, SUPPORTED, UNDECIDED, VERDICTS, Case, ClaimResult, PartResult
from .experiment import Axis, Experiment, Level
from .model import Assumption, Figure, Shown, Study
from .model import Table as TableSpec
from .published_values import fit
from .runs import Outcome

FOLDED = 30
"""A table with this many rows is folded."""
MARKS = {SUPPORTED: "+", CONTRADICTED: MINUS, EQUIVALENT: "=", UNDECIDED: "?"}
"""The signs of verdicts in the map of the readings."""
PAGES = "pages"
"""Folder of the pages of single levels."""


@dataclass(frozen=True)
class Page:
    """A page whose figures are being drawn."""

    path: Path
    context: dict[str, Any]
    gallery: _Gallery


def begin(
    folder: Path,
    outcome: Outcome,
    results: Sequence[ClaimResult],
    scenarios: Mapping[str, Any],
    version: str,
    artists: Executor | None = None,
    stop: threading.Event | None = None,
) -> list[Page]:
    """Have every figure drawn for `figures/` and for `report.html`, which is the first page.

    `artists` draw (without them this thread does); `stop` ends it between two figures.
    """
    figures = folder / "figures"
    disk.make_folder(figures)
    # A quick study is first looked at on the page; other formats take as long again to write.
    formats = ("svg",) if outcome.study.quick else ("png", "pdf", "svg")
    gallery = _Gallery(figures, " ".join(text.notes(outcome.study)), formats, artists or Here(), stop)
    pages = [Page(folder / "report.html", _context(outcome, results, scenarios, gallery, version), gallery)]
    if outcome.study.choice is not None and outcome.study.choice.pages:
        disk.make_folder(folder / PAGES)
        for level in _page_levels(outcome.study):
            own = _Embedded(gallery)
            path = folder / PAGES / f"{file_name(level.id)}.html"
            pages.append(Page(path, _level_page(outcome, results, level, own, version), own))
    return pages


def write(pages: Sequence[Page]) -> Path:
    """Write pages around their figures; the path of the first."""
    # The template is compiled while the figures are drawn.
    template = load("study.html.j2")
    for page in pages:
        page.gallery.hang()
        disk.write(page.path, template.render(**page.context))
    return pages[0].path


# ---- a page for each level of the choice ---------------------------------------------------------------------------


def _page_levels(study: Study) -> list[Level]:
    """The levels that are run of the axis that has a page for each."""
    choice = study.choice
    if choice is None or not choice.pages:
        return []
    found = {x.id: x for e in study.experiments if choice.axis in e.names for x in e.axis(choice.axis).levels}
    return list(found.values())


def _level_page(
    outcome: Outcome, results: Sequence[ClaimResult], level: Level, gallery: _Gallery, version: str
) -> dict[str, Any]:
    """Everything about one level, beside those that are always run."""
    study = outcome.study
    choice = study.choice
    assert choice is not None
    others = [x.title for x in _page_levels(study) if x.id in choice.always and x.id != level.id]
    narrowed = replace(study.among(choice.axis, (level.id, *choice.always)), sections=(), assumptions=())
    experiments = tuple(e for e in narrowed.experiments if choice.axis in e.names and e.cells)
    narrowed = narrowed.with_experiments(experiments)
    known = {e.id for e in experiments}
    narrowed = replace(
        narrowed,
        tables=tuple(t for t in narrowed.tables if t.experiment in known or t.facts),
        figures=tuple(f for f in narrowed.figures if f.experiment in known and f.only != "report"),
    )
    concerned = [r for r in results if _concerns(study, r, choice.axis, level.id)]
    first = {e.id: first_scenario(narrowed, e) for e in experiments}
    context = _context(replace(outcome, study=narrowed), [], first, gallery, version, level=level)
    # A claim may speak of other levels too.
    claims = [claim_row(study, r) for r in concerned]
    return {**context, "claims": claims, "beside": " and ".join(others)}


def _concerns(study: Study, result: ClaimResult, axis: str, level: str) -> bool:
    """Whether a claim is judged from runs of a level."""
    places = {e.id: e.names.index(axis) for e in study.experiments if axis in e.names}
    return any(
        name in places and cell[places[name]] == level
        for part in result.base.parts
        for case in part.cases
        for name, cell in case.cells
    )


def first_scenario(study: Study, e: Experiment) -> Document:
    """The scenario of an experiment's first cell at every base, as a document to run."""
    at = e.base
    cell = next(
        (c for c in e.cells if all(at.get(n, level) == level for n, level in zip(e.names, c, strict=True))), e.cells[0]
    )
    return e.document(cell, study.name)


def anchor(name: str) -> str:
    """A name as the target of a link."""
    return "at-" + re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()


# ---- figures -------------------------------------------------------------------------------------------------------


class Stopped(Exception):
    """The report was abandoned, because something else failed or was interrupted."""


class _Gallery:
    """Figures for the page: each saved beside it, and embedded as SVG.

    What a page says of a figure is a dict, which has its picture once `hang` was called.
    """

    saves = True

    def __init__(
        self, folder: Path, note: str, formats: Sequence[str], artists: Executor, stop: threading.Event | None
    ) -> None:
        self.folder, self.note, self.formats, self.artists, self.stop = folder, note, formats, artists, stop
        self.asked: list[tuple[dict[str, Any], Future[Drawn]]] = []

    def __call__(self, sketch: Sketch, name: str, *, runs: bool = True) -> dict[str, Any]:
        self._go_on()
        shown = {"name": file_name(name)}
        # Figures without runs are the same in a quick study.
        note = self.note if runs else ""
        self.asked.append((shown, self.artists.submit(drawn, sketch, note, self.formats)))
        return shown

    def hang(self) -> None:
        """Wait for the figures, and put them in their places."""
        for shown, drawing in self.asked:
            self._go_on()
            made = drawing.result()
            for kind, content in zip(self.formats, made.files, strict=True) if self.saves else ():
                disk.write(self.folder / f"{shown['name']}.{kind}", content)
            shown |= {"data": plotting.address(made.files[-1]), "wide": made.width > plotting.COLUMN + 0.1}
        self.asked.clear()

    def _go_on(self) -> None:
        if self.stop is not None and self.stop.is_set():
            raise Stopped


class _Embedded(_Gallery):
    """Figures that are on the page alone."""

    saves = False

    def __init__(self, like: _Gallery) -> None:
        super().__init__(like.folder, like.note, ("svg",), like.artists, like.stop)


def file_name(name: str) -> str:
    """A name for a file: letters, digits and dashes."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()


def _figure(outcome: Outcome, figure: Figure, gallery: _Gallery) -> dict[str, Any]:
    found: dict[str, Any] = {**_about(figure), "kind": "figure", "image": None, "blocks": [], "text": ""}
    if figure.kind and not figure.unreproduced:
        sketch = plots.sketch(outcome, figure)
        found["image"] = gallery(sketch, figure.id, runs=figure.kind not in {"curves", "picture"})
        found["text"] = sketch.text
    return found


def _about(one: Shown) -> dict[str, Any]:
    return {
        "id": one.id,
        "anchor": anchor(one.id),
        "title": one.title,
        "note": one.note,
        "lost": one.lost,
        "unreproduced": one.unreproduced,
        "printed": bool(one.printed),
    }


# ---- tables --------------------------------------------------------------------------------------------------------


def _table(outcome: Outcome, table: TableSpec) -> dict[str, Any]:
    found: dict[str, Any] = {**_about(table), "kind": "table", "blocks": [], "image": None, "fit": ""}
    if table.facts:
        found["blocks"].append(
            {"name": "", "folded": False, "tables": [_block(comparison_tables.facts(outcome.study, table))]}
        )
        return found
    if not table.experiment or table.unreproduced:
        return found
    e = outcome.study.experiment(table.experiment)
    best = fit(outcome, table)
    levels: Sequence[str | None] = e.axis(table.fit).ids if table.fit else (None,)
    for level in levels:
        reading = {} if level is None else {table.fit: level}
        name = "" if level is None else f"{e.axis(table.fit).title}: {e.axis(table.fit).level(level).title}"
        fits = best is not None and level == best.best
        base = level is not None and level == e.base[table.fit]
        said = [word for word, so in (("fits best", fits), ("base", base)) if so]
        name += f" ({', '.join(said)})" if said else ""
        blocks = [_block(block) for block in comparison_tables.shown(outcome, table, reading)]
        found["blocks"].append({"name": name, "folded": level is not None and not said, "tables": blocks})
    found["fit"] = text.fit_text(e, best) if best is not None else ""
    return found


def _block(block: comparison_tables.Block) -> dict[str, Any]:
    n = comparison_tables.replication(block) if block.n else ""
    over = f", averaged over {block.averaged}" if block.averaged else ""
    edges, place = [], 1
    for group in block.groups:
        edges.append(place)
        place += len(group.columns)
    return {
        "title": block.title,
        "caption": f"{n}{over}",
        "corner": block.corner,
        "groups": block.groups,
        "plain": all(len(g.columns) == 1 for g in block.groups),
        "edges": edges,
        "rows": block.rows,
        "folded": len(block.rows) > FOLDED,
        "left_out": block.left_out,
        "columns": place,
    }


# ---- claims --------------------------------------------------------------------------------------------------------


def claim_row(study: Study, result: ClaimResult) -> dict[str, Any]:
    """A claim for the scorecard."""
    claim, found = result.claim, text.tried(study, result)
    more = [f"also tried: {text.tried_counts(found)}"] if found else []
    more += ["other simulators"] if claim.peers else []
    more += ["a note"] if claim.note or claim.expected else []
    preview = " preview" * (result.preview is not None)
    return {
        "claim": claim,
        "anchor": anchor(f"claim {claim.id}"),
        "verdict": result.word,
        "word": result.verdict.replace(" ", "-") + preview,
        "headline": text.headline_short(result),
        "counted": [text.counted_text(one) for one in claim.counted],
        "parts": [_part(study, p, len(result.base.parts) > 1, preview) for p in result.base.parts],
        "tried": [{**vars(t), "word": t.verdict.replace(" ", "-") + preview} for t in found],
        "more": "; ".join(more).capitalize(),
        "peers": [{"tool": p.tool, "text": p.text, "agrees": text.AGREES[p.agrees]} for p in claim.peers],
    }


def _part(study: Study, result: PartResult, several: bool, preview: str) -> dict[str, Any]:
    part, worst = result.part, result.worst
    cases = [_case(study, result, c, preview) for c in result.cases if c.at] if len(result.cases) > 1 else []
    return {
        "says": case_text.expected_text(study, part),
        "verdict": result.verdict if several else "",
        "word": result.verdict.replace(" ", "-") + preview,
        "effect": case_text.effect_text(study, part, worst),
        "where": case_text.case_text(study, part, worst) if cases else "",
        "n": text.n_text(result),
        "doubt": case_text.doubt_text(study, part, worst),
        "published": case_text.published_text(study, part, result.cases).removeprefix("published: "),
        "cases": cases,
    }


def _case(study: Study, result: PartResult, case: Case, preview: str) -> dict[str, str]:
    return {
        "name": case_text.case_text(study, result.part, case),
        "verdict": case.verdict,
        "word": case.verdict.replace(" ", "-") + preview,
        "effect": case_text.effect_text(study, result.part, case),
    }


# ---- the whole -----------------------------------------------------------------------------------------------------


def _context(
    outcome: Outcome,
    results: Sequence[ClaimResult],
    scenarios: Mapping[str, Any],
    gallery: _Gallery,
    version: str,
    level: Level | None = None,
) -> dict[str, Any]:
    study = outcome.study
    notes = text.notes(study)
    # Figures come first, the largest before the others: they are drawn while the tables are made.
    overview = effect_plot.sketch(study, results) if level is None else None
    effects = gallery(overview, "effects") if overview is not None else None
    figures = [f for f in study.figures if level is not None or f.only != "pages"]
    drawings = [_figure(outcome, f, gallery) for f in figures]
    every = [*(_table(outcome, t) for t in study.tables), *drawings]
    by_experiment: dict[str, list[dict[str, Any]]] = {}
    for one, made in zip([*study.tables, *figures], every, strict=True):
        by_experiment.setdefault(one.experiment, []).append(made)
    experiments = [_experiment(outcome, e, by_experiment.get(e.id, []), scenarios[e.id]) for e in study.experiments]
    return {
        "study": study,
        "version": version,
        "notes": notes,
        "warnings": warmups.warnings(outcome.warmups),
        "answer": answer(study, results) if level is None else [],
        "sizes": text.sizes(results),
        "together": text.together(results),
        "map": readings_map(study, results) if level is None else None,
        "marks": MARKS,
        "base_changes": base_changes(study, results) if level is None else [],
        "claims": [claim_row(study, r) for r in results],
        "effects": effects,
        "loose": by_experiment.get("", []),
        "experiments": experiments,
        "every": every,
        "assumptions": [_assumption(study, a) for a in study.assumptions],
        "cost": outcome.cost,
        "again": _again(study),
        "seeds": _seeds(study),
        "level": level,
        "beside": "",
        "pages": []
        if level is not None
        else [(x.title, f"{PAGES}/{file_name(x.id)}.html") for x in _page_levels(study)],
    }


def readings_map(study: Study, results: Sequence[ClaimResult]) -> dict[str, Any] | None:
    """The verdict of each claim in each reading: one row per claim, one column per reading."""
    readings: dict[tuple[tuple[str, str], ...], str] = {}
    for result in results:
        for judged in result.tried:
            readings.setdefault(tuple(judged.reading.items()), text.reading_text(study, result.claim, judged))
    if not readings:
        return None
    rows = []
    for result in results:
        found = {tuple(j.reading.items()): j.verdict for j in result.tried}
        cells = [result.base.verdict, *(found.get(key, "") for key in readings)]
        rows.append({"claim": result.claim, "verdict": result.word, "cells": [(v, v.replace(" ", "-")) for v in cells]})
    literal = {tuple(r.literal.items()) for r in results if r.literal}
    names = [f"{name} (literal)" if key in literal else name for key, name in readings.items()]
    return {"columns": ["base" if literal else "base (literal)", *names], "rows": rows}


def base_changes(study: Study, results: Sequence[ClaimResult]) -> list[dict[str, Any]]:
    """Readings whose base was changed after results were seen, with the verdicts under both."""
    found = []
    for change in study.base_changes:
        e = study.experiment(change.experiments[0])
        axis = e.axis(change.axis)
        rows = []
        for result in results:
            before = next((j for j in result.tried if dict(j.reading) == {change.axis: change.before}), None)
            if before is not None and any(p.part.experiment in change.experiments for p in before.parts):
                rows.append((result.claim.id, before.verdict, result.base.verdict))
        found.append(
            {
                "where": ", ".join(change.experiments),
                "axis": axis.title,
                "before": axis.level(change.before).title if change.before in axis.ids else change.before,
                "after": axis.level(axis.base).title,
                "why": change.why,
                "rows": rows,
            }
        )
    return found


def tally(results: Sequence[ClaimResult]) -> list[tuple[int, str, str]]:
    """How many claims got each verdict: count, verdict, and the verdict as a class of the page."""
    found = [r.verdict for r in results]
    return [(found.count(v), v, v.replace(" ", "-")) for v in VERDICTS if v in found]


def _experiment(outcome: Outcome, e: Experiment, shown: list[dict[str, Any]], scenario: Any) -> dict[str, Any]:
    every = _block(comparison_tables.automatic(outcome, e))
    overlays = []
    for axis in e.axes:
        for level in axis.levels:
            changes = "\n".join(f"{path} = {_plain(value)}" for path, value in level.set.items()) or "(no change)"
            overlays.append((f"{axis.title}: {level.title}", changes))
    return {
        "experiment": e,
        "anchor": anchor(f"experiment {e.id}"),
        "grid": comparison_tables.summary(outcome.study, e),
        "readings": [{"axis": a, "levels": [(level, _role(a, level)) for level in a.levels]} for a in e.readings],
        "shown": shown,
        "every": every,
        "scenario": to_toml(scenario),
        "overlays": overlays,
    }


def _role(axis: Axis, level: Level) -> str:
    """What a level of a reading is: the base, the literal one."""
    roles = [word for word, one in (("base", axis.base), ("literal", axis.literal)) if one == level.id]
    return "base" if roles == ["base", "literal"] else ", ".join(roles)


def _assumption(study: Study, a: Assumption) -> dict[str, Any]:
    return {
        "about": a,
        "value": study.assuming.get(a.id, a.value),
        "changed": a.id in study.assuming,
        "others": ", ".join(x.value for x in a.alternatives) or ("any the scenario takes" if a.paths else ""),
    }


def _again(study: Study) -> str:
    command = f"earlydrop reproduce {study.name}"
    command += f" --aqm {' '.join(study.chosen)}" if study.chosen else ""
    command += " --quick" if study.quick else ""
    command += f" --seeds {study.experiments[0].seeds}" if study.fixed_seeds else ""
    return command + "".join(f" --assume {k}={_quoted(v)}" for k, v in study.assuming.items())


def _quoted(value: str) -> str:
    return value if re.fullmatch(r"[\w.:/-]+", value) else f"'{value}'"


def _seeds(study: Study) -> str:
    counts = sorted({e.seeds for e in study.experiments})
    return f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return "\n  " + to_toml(value).strip().replace("\n", "\n  ")
    return to_toml({"x": value}).removeprefix("x = ").strip()
