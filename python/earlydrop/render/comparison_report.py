"""The HTML report of a comparison: a single file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import disk, foreign
from ..analysis import window
from ..foreign import NUMBER, WHOLE
from ..toml_writer import to_toml
from . import plotting, result_text
from .run_report import RESULT
from .template import render

if TYPE_CHECKING:
    from ..analysis.paired import Comparison

REPORT = "report.html"


STORED: foreign.Shape = {
    **dict.fromkeys(("title", "unit"), str),
    "asked?": bool,
    "field?": str,
    "digits?": range(13),
    "scale?": float,
    "better?": (str, None),
    "margin?": (str, None),
    "values?": {"*": [NUMBER]},
}
SAID: foreign.Shape = {
    **dict.fromkeys(("scenario", "queue", "version"), str),
    **{key: [str] for key in ("aqms", "summary", "warnings", "queues?")},
    "seeds": [WHOLE],
    "titles": {"*": str},
    "left_out": {"*": [str]},
    "labels?": {"*": str},
    "warmup?": {"*": window.STORED},
    "measures?": {"*": STORED},
}
FILES = {"comparison.json": SAID, "scenario.json": dict}
"""The shape of what the page needs of the folder's files."""


def renew(folder: Path) -> Path:
    """Write `report.html` of a folder that `compare` wrote once more.

    Raises:
        ForeignError: the folder's files cannot be read.
    """
    from ..analysis.paired import compared, tabulate
    from ..analysis.quantity import stored

    with foreign.fitting(folder):
        said, base = (foreign.checked(folder / name, shape, folder) for name, shape in FILES.items())
        aqms, seeds = tuple(said["aqms"]), tuple(said["seeds"])
        files = [folder / "runs" / result_text.run_file(aqm, seed) for aqm in aqms for seed in seeds]
        runs = [foreign.checked(file, RESULT, folder) for file in files]
        own = tuple(stored(name, m) for name, m in said.get("measures", {}).items() if m.get("asked"))
        measures = compared(own, said["queue"])
        place, names = (said["scenario"], said["queue"], aqms, said["titles"]), said["left_out"]
        queues = dict.fromkeys([said["queue"], *said.get("queues", [])])
        data = {queue: _with_data(base, queue, len(runs[0]["traffic"])) for queue in queues}
        found = tabulate(*place, seeds, runs, names, measures, data, _kept(said.get("measures", {})))
        found.labels = said.get("labels", {})
        found.warmups = {aqm: window.stored(one) for aqm, one in said.get("warmup", {}).items()}
        return _write(folder, _context(found, base, said["summary"], said["warnings"], said["version"]))


def _with_data(base: Mapping[str, Any], queue: str, entries: int) -> frozenset[int]:
    """The traffic entries whose data pass the queue; all, if the scenario needs code that is not there."""
    import earlydrop._core as _core
    from ..analysis import shared

    try:
        return shared.with_data(_core.Scenario.parse(base, []), queue)
    except _core.ScenarioError:
        return frozenset(range(entries))


def _kept(measures: Mapping[str, Any]) -> dict[tuple[str, str], list[float | None]]:
    """The values of functions, which no result has, by discipline and measure."""
    return {(aqm, name): values for name, m in measures.items() for aqm, values in m.get("values", {}).items()}


def write(folder: Path, result: Comparison, version: str) -> Path:
    """Write `report.html` of a comparison into its result folder."""
    from ..analysis import words

    return _write(folder, _context(result, result.base, words.sentences([("", result)]), result.warnings, version))


def _write(folder: Path, context: Mapping[str, Any]) -> Path:
    disk.replace(folder / REPORT, render("comparison.html.j2", context))
    return folder / REPORT


def _context(
    result: Comparison, base: Mapping[str, Any], summary: list[str], warnings: list[str], version: str
) -> dict[str, Any]:
    """The values that the page's template shows."""
    means, differences = (result_text.marked(result, one) for one in result_text.comparison_tables(result))
    clear = [[result.stars(aqm, m.id) == 2 for aqm in result.aqms[1:]] for m in result.measures]
    return {
        "scenario": result.scenario,
        "where": result.where,
        "control": result.titles[result.aqms[0]],
        "titles": [result.titles[aqm] for aqm in result.aqms],
        "seeds": len(result.seeds),
        "replicated": result.replicated,
        "replication": result_text.replication(result),
        "cut": result_text.cut_note(means),
        "mark": result_text.mark_note(means),
        "labels": result.said,
        "summary": summary,
        "warnings": warnings,
        "notes": result.notes,
        "left_out": [
            f"{result.titles[aqm]} does not know {', '.join(names)}: run without."
            for aqm, names in result.dropped.items()
        ],
        "figure": plotting.inline(plotting.comparison(result)),
        "means": means,
        "differences": differences[:1]
        + [[row[0], *zip(row[1:], marks, strict=True)] for row, marks in zip(differences[1:], clear, strict=True)],
        "tests": len(result.corrected),
        "toml": to_toml(base) if base else "",
        "version": version,
    }
