"""What `break` prints, and the files that it writes."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np

from ..document import Document
from ..output import csv_rows, write_json
from ..toml_writer import toml_value
from .attacks import Found
from .search import FRESH, LONGER, SEEDS, Finding


def found_text(found: Found) -> str:
    """Everything that `break` prints."""
    from ..terminal import paragraph, table

    problem = found.problem
    against = (
        f"against {', '.join(one.title for one in problem.rivals)}" if problem.rivals else "against bars of its own"
    )
    lines = [
        f"{problem.space.name}: {problem.attacked.title} {against}, by {problem.objective.name}",
        f"{len(found.ledger):,} scenarios of 2 seeds each, {found.above:,} with a regret above {problem.delta:g}"
        + (f", {found.refused:,} refused" if found.refused else ""),
        "",
    ]
    if found.bound is not None:
        share = f"{100 * found.bound:.2g} %"
        lines.append(
            paragraph(f"No scenario was found. Less than {share} of the space has one (95 %, two seeds of each).")
        )
    elif not found.findings:
        lines.append(paragraph(f"Nothing was confirmed of the {len(found.candidates)} best scenarios:"))
    if found.candidates:
        rows = [
            [
                f"scenario {one.tried.number}",
                f"{one.tried.score:.2f}",
                f"{one.held.median:.2f}",
                one.reason or "a finding",
            ]
            for one in found.candidates
        ]
        lines += [table(["", "regret", f"median of {FRESH}", ""], rows, left=1), ""]
    for k, one in enumerate(found.findings):
        lines += [paragraph(f"{k + 1}. {sentence(found, one)}"), "", _indented(compact(found.scenario(one))), ""]
    return "\n".join(lines).rstrip()


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def sentence(found: Found, finding: Finding) -> str:
    """What a finding says."""
    problem, held = found.problem, finding.held
    kind = problem.objective.single
    name, rival = problem.attacked.title, found.rival(finding)
    if kind is None:
        said = f"{name} has a median regret of {held.median:.2f} in {problem.objective.name}"
        said += f" against {rival}" if rival else ""
    else:
        mine, other = (kind.shown(float(np.median(values))) for values in (held.mine, held.other))
        said = f"With {name} the {kind.says} is {mine}"
        said += f", with {rival} {other} (medians of {FRESH} seeds)" if rival else f"; it should reach {other}"
    more = f"; at {LONGER} times the length in {finding.longer.above}"
    return f"{said}. The regret is above {problem.delta:g} in {held.above} of {FRESH} fresh seeds{more}."


def compact(document: Document) -> str:
    """A scenario as TOML on few lines, without what says nothing: an entry of traffic on one, a queue on one."""
    document = plain(document)
    apart = ("topology", "queue", "traffic", "record", "aqms")
    lines = [f"{k} = {toml_value(v)}" for k, v in document.items() if k not in apart]
    traffic = document["traffic"]
    if len(traffic) == 1:
        lines.append(f"traffic = [{toml_value(traffic[0])}]")
    else:
        lines += ["traffic = [", *(f"    {toml_value(one)}," for one in traffic), "]"]
    lines += [f"queue.{name} = {toml_value(table)}" for name, table in document["queue"].items()]
    if document.get("aqms"):
        lines.append(f"aqms = {toml_value(document['aqms'])}")
    lines += [f"topology.{key} = {toml_value(value)}" for key, value in document["topology"].items()]
    return "\n".join(lines) + "\n"


def plain(document: Document) -> Document:
    """A scenario without the keys that say what would be so without them."""
    import earlydrop._core as _core

    def checked(one: Document) -> str:
        try:
            return str(_core.Scenario.parse(one, []).to_json())
        except _core.ScenarioError:
            return ""

    whole = checked(document)
    places: list[tuple[str | int, ...]] = [("queue", name) for name in document["queue"]]
    places += [("traffic", k) for k in range(len(document["traffic"]))]
    for place in places:
        for key in list(_at(document, place)):
            less = _without(document, place, key)
            if checked(less) == whole:
                document = less
    return document


def _at(document: Any, place: tuple[str | int, ...]) -> Any:
    for step in place:
        document = document[step]
    return document


def _without(document: Document, place: tuple[str | int, ...], key: str) -> Document:
    """A copy of a document that lacks a key of the table at a place."""
    less = copy.deepcopy(document)
    del _at(less, place)[key]
    return less


# ---- files ---------------------------------------------------------------------------------------------------------


def write(folder: Path, found: Found, version: str) -> None:
    """The findings as scenarios with figures, all that was tried, and the text."""
    from . import figure

    write_json(folder / "break.json", found.document(version))
    (folder / "break.txt").write_text(found_text(found) + "\n", encoding="utf-8")
    for k, one in enumerate(found.findings, 1):
        head = f"# {sentence(found, one)}\n"
        (folder / f"finding-{k}.toml").write_text(head + compact(found.scenario(one)), encoding="utf-8")
        figure.write(found, one, folder / f"finding-{k}")
    space = found.problem.space
    sides = [one.title for one in found.problem.sides]
    with csv_rows(folder / "ledger.csv") as row:
        row(["number", *(d.path for d in space.draws), *(f"J of {s}, seed {n}" for s in sides for n in SEEDS)])
        for tried in found.ledger:
            drawn = (_cell(d.draw.at(u)) for d, u in zip(space.draws, tried.point, strict=True))
            row([tried.number, *drawn, *(j for values in tried.values for j in values)])


def _cell(value: Any) -> Any:
    return value if isinstance(value, str | int | float) else toml_value(value)
