"""The HTML report of a comparison: a single file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import disk
from ..errors import EarlydropError
from ..toml_writer import to_toml
from . import plotting, result_text
from .template import render

if TYPE_CHECKING:
    from ..analysis.compare import Comparison

REPORT = "report.html"


class ComparisonPageError(EarlydropError):
    """The folder holds no comparison. The message says what is missing."""


def renew(folder: Path) -> Path:
    """Write `report.html` of a folder that `compare` wrote once more.

    Raises:
        ComparisonPageError: its files cannot be read.
    """
    from ..analysis.compare import tabulate

    place = folder
    try:
        place = folder / "comparison.json"
        said = json.loads(place.read_text(encoding="utf-8"))
        place = folder / "scenario.json"
        base = json.loads(place.read_text(encoding="utf-8"))
        place = folder / "runs"
        aqms, seeds = tuple(said["aqms"]), tuple(said["seeds"])
        files = [folder / "runs" / result_text.run_file(aqm, seed) for aqm in aqms for seed in seeds]
        runs = [json.loads(place.read_text(encoding="utf-8")) for place in files]
        titles, name, queue = said["titles"], said["scenario"], said["queue"]
        summary, warnings, left_out = said["summary"], said["warnings"], said["left_out"]
    except OSError as error:
        raise ComparisonPageError(f"{error.filename}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ComparisonPageError(f"{place}: is not what `compare` writes: {error}") from error
    found = tabulate(name, queue, aqms, titles, seeds, runs, left_out)
    return _write(folder, _context(found, base, summary, warnings, said["version"]))


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
    """What the page shows."""
    means, differences = result_text.comparison_tables(result)
    clear = [[result.stars(aqm, m.id) == 2 for aqm in result.aqms[1:]] for m in result.measures]
    return {
        "scenario": result.scenario,
        "queue": result.queue,
        "control": result.titles[result.aqms[0]],
        "titles": [result.titles[aqm] for aqm in result.aqms],
        "seeds": len(result.seeds),
        "replicated": result.replicated,
        "replication": result_text.replication(result),
        "cut": result_text.cut_note(means),
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
