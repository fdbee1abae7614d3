"""The HTML report of a sweep: a single file."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import fields
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import disk, foreign, streamed
from ..analysis.statistics import ALPHA, CLEAR
from ..document import Document
from ..render import panels, plotting
from ..render.artists import Here, svg
from ..render.latex import MARK
from ..render.template import render
from ..runner import Progress, no_progress
from ..terminal import difference_text, signed
from ..toml_writer import to_toml
from . import best, figures, matrix_text, plots, result_file
from .cells import Cell
from .matrix_text import SCORES
from .model import level_name
from .outcome import Outcome
from .plots import Data
from .text import MARKS, cell_text, window_mark

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    Asked = Future[bytes | None]

CELLS, LEAST_ROWS = 26_000, 200
"""The table of points has this many cells, and no fewer rows than these."""
DIFFERENCES, SINGLE, FAILURES = 100, 8, 20
"""The most differences, single runs and failures that are shown."""
SLOW_S = 10.0
"""No more single runs are drawn after one that took this long."""


def write_report(
    folder: Path,
    outcome: Outcome,
    artists: Executor | None = None,
    made: Mapping[int, str] = MappingProxyType({}),
    progress: Progress = no_progress,
) -> Path:
    """Write `report.html` into a sweep's result folder. `artists` draw (without them this thread does).

    `made` are recorded runs of the first seed of points, which are then not made once more.
    """
    return _write(folder, read_data(folder), artists or Here(), made, progress)


def renew(folder: Path) -> Path:
    """Write `report.html` once more in a folder that `sweep` wrote.

    Raises:
        SweepError: `sweep` did not write this folder.
    """
    with result_file.reading(folder):
        return _write(folder, read_data(folder), Here())


def draw(folder: Path, texts: Sequence[str], formats: Sequence[str], style: str) -> list[Path]:
    """Draw figures of a sweep's result folder into its folder `figures`; without texts the plane and the load curves.

    Raises:
        SweepError: a text cannot be read, or the sweep has nothing to draw there.
    """
    with panels.using(style), result_file.reading(folder):
        return figures.write(folder, read_data(folder), texts, formats)


class Items:
    """The items of a list in a result's document, each read when it is its turn."""

    def __init__(self, file: Path, key: str) -> None:
        self._file, self._key = file, key

    def __iter__(self) -> Iterator[Document]:
        for key, value in streamed.read(self._file, [self._key]):
            if key == self._key:
                yield from value
                return


def read_data(folder: Path) -> Data:
    """What a sweep wrote into its result folder."""
    document, file = result_file.head(folder), folder / "sweep.json"
    return Data({**document, **{key: Items(file, key) for key in result_file.LISTS}}, result_file.runs(folder))


def _write(
    folder: Path,
    data: Data,
    artists: Executor,
    made: Mapping[int, str] = MappingProxyType({}),
    progress: Progress = no_progress,
) -> Path:
    path = folder / "report.html"
    # The conclusion of `advise` from the sweep, if this is one of its folders.
    advice = folder / "advice.txt"
    said = foreign.text(advice, inside=folder).rstrip() if advice.is_file() else ""
    text = render("sweep.html.j2", {**context(data, artists, made, progress), "advice": said})
    disk.replace(path, text)
    return path


def context(
    data: Data, artists: Executor, made: Mapping[int, str] = MappingProxyType({}), progress: Progress = no_progress
) -> dict[str, Any]:
    """The values that the page's template shows."""
    d = data.document

    def ask(draw: Callable[..., Figure | None], *of: Any) -> Asked:
        return artists.submit(svg, draw, *of)

    along = plots.along(data)
    # Single runs are made while the drawing processes start; the figures are drawn while the tables are made.
    runs = _single(data, made, progress)
    pairs = plots.pairs(data)
    of = [f" of {part['title']}" for part in d.get("parts", [])] or [""]
    figures = [
        (
            ask(plots.plane, data, pair),
            f"Delay and goodput{whose}",
            PLANE_TEXT + _drawn(data.count, plots.POINTS, "points"),
        )
        for pair, whose in zip(pairs, of, strict=False)
    ]
    figures.append(
        (
            ask(plots.curves, data),
            f"Over {result_file.said(data.factor(along)) if along else ''}",
            CURVES_TEXT + _drawn(_along(data), plots.LEVELS, "levels"),
        )
    )
    for measure in [m for pair in pairs for m in pair]:
        what = f"Heat map: {d['measures'][measure]['title'].lower()}"
        figures.append((ask(plots.maps, data, measure), what, MAPS_TEXT))
    few = f" No more than {plots.POINTS:,} points of a colour are drawn." if data.count > plots.POINTS else ""
    figures.append((ask(plots.scatters, data), "Each factor", SCATTER_TEXT + few))
    drawings = [ask(plotting.run_figure, result) for _, result in runs]
    labels = {m: data.label(m) for m in d["measures"]}
    heads, points = [f.get("head", f["name"]) for f in d["factors"]], _points(data)
    cells = [{**one, "title": ", ".join(f"{word} {one[word]:,}" for word in SCORES)} for one in d.get("matrix", [])]
    of_cell = ((one, d["measures"][one["measure"]]["digits"]) for one in cells)
    return {
        "labels": [
            f"{x.get('title', x['name'])}: {x['settings']}"
            for f in d["factors"]
            for x in f.get("levels", ())
            if "settings" in x
        ],
        "matrix": [
            {"head": grid.head, "rows": grid.rows, "legend": matrix_text.legend(grid.control)}
            for grid in matrix_text.grids(cells, labels)
        ],
        "best": _best(data),
        "signs": matrix_text.SIGNS,
        "change_head": matrix_text.CHANGE,
        "changes": [matrix_text.change_row(one, labels[one["measure"]]) for one in d.get("order_changes", [])],
        "ends_head": matrix_text.ENDS,
        "ends_text": matrix_text.ENDS_TEXT,
        "ends": [matrix_text.end_row(one, labels[one["measure"]], digits) for one, digits in of_cell],
        "d": d,
        "heads": heads,
        "measures": [plots.label(m) for m in d["measures"].values()],
        "points": points,
        "marks": [f"{mark}: {said}." for mark, said in MARKS.items() if any(mark in row[len(heads)] for row in points)],
        "count": data.count,
        "more_points": data.count - len(points),
        "differences": _differences(data),
        "more_differences": max(0, d["counts"]["differences"] - DIFFERENCES),
        "tests": _tests(data),
        "summary": d.get("summary", []),
        "notes": d.get("notes", []),
        "fixed": all(point.get("replicates", 2) == 1 for point in d["points"]),
        "failures": [{**f, "where": _where(data, f["levels"])} for f in d["failures"][:FAILURES]],
        "scenario": to_toml({k: v for k, v in d["scenario"].items() if k not in ("name", "seed")}),
        "against": _where(data, d["control"]),
        "figures": [
            {"title": title, "text": text, "data": picture}
            for asked, title, text in figures
            if (picture := _picture(asked)) is not None
        ],
        "runs": [{**run, "figure": _picture(asked)} for (run, _), asked in zip(runs, drawings, strict=True)],
    }


PLANE_TEXT = (
    "Mean of each point; the ellipse is what one standard deviation over its seeds covers. Up and to the left is "
    "better. Lines join points along a numeric factor."
)
CURVES_TEXT = (
    "Mean over the seeds with the 95 % interval of Student's t as a band; factors not shown are averaged over."
)
MAPS_TEXT = "Mean over the seeds; factors not shown are averaged over. White fields were not run."
SCATTER_TEXT = "Each point is the mean over its seeds."


def _best(data: Data) -> dict[str, Any] | None:
    """The table of the best levels, as the page shows it."""
    found = data.document.get("best")
    if found is None:
        return None
    heads = [*found["heads"], *(data.document["measures"][m]["title"] for m in found["measures"])]
    return {
        "head": heads,
        "rows": [[*row["levels"], *best.cells(row)] for row in found["rows"]],
        "text": best.legend(found),
    }


def _drawn(count: int, most: int, what: str) -> str:
    """The addition to a caption if not everything is drawn."""
    return f" Of {count:,} {what} {most:,} are drawn, spread over all." if count > most else ""


def _along(data: Data) -> int:
    """Levels of the factor that the load curves go along."""
    by = data.lines_by()
    return max((len(data.levels(n)) for n in data.varying() if data.numeric(n) and n != by), default=0)


def _picture(asked: Asked) -> str | None:
    """A drawing as the address of an image; None if there was nothing to draw."""
    made = asked.result()
    return None if made is None else plotting.address(made)


def _where(data: Data, levels: Document) -> str:
    return result_file.named(data.factors, levels)


def _points(data: Data) -> list[list[str]]:
    rows = []
    short, examined = data.short, set(data.document.get("examined", ()))
    columns = len(data.factors) + 1 + len(data.document["measures"])
    for k, point in enumerate(islice(data.document["points"], max(LEAST_ROWS, CELLS // columns))):
        mark = window_mark(k, examined, k in short)
        row = [data.titled(k, v) or level_name(v) for k, v in point["levels"].items()] + [f"{point['seeds']}{mark}"]
        for name, m in data.document["measures"].items():
            cell = point["cells"][name]
            known = {f.name: cell[f.name] for f in fields(Cell) if f.name in cell}
            row.append(cell_text(Cell(**known), m["digits"], data.document["interval"]))
        rows.append(row)
    return rows


def _differences(data: Data) -> list[dict[str, Any]]:
    d = data.document
    clearest = nsmallest(
        DIFFERENCES, d["differences"], key=lambda one: (_rank(one["t_test_p_holm"]), _rank(one["t_test_p"]))
    )
    places = {one["point"] for one in clearest}
    levels = {k: point["levels"] for k, point in enumerate(d["points"]) if k in places}
    rows = []
    for one in clearest:
        m = d["measures"][one["measure"]]
        share = "" if one["relative"] is None else f"{signed(100 * one['relative'], 1)} %"
        rows.append(
            {
                "where": _where(data, levels[one["point"]])
                + (f" {MARK}" if {one["point"], one.get("control_point")} & data.short else ""),
                "measure": plots.label(m),
                "difference": difference_text(one["mean"], one["half_width"], m["digits"]),
                "relative": share,
                "p": [_p(one[k]) for k in ("t_test_p_holm", "t_test_p_bh", "wilcoxon_p")],
                "clear": not {one["point"], one.get("control_point")} & data.short
                and one["n"] >= CLEAR
                and _rank(one["t_test_p_holm"]) < ALPHA,
            }
        )
    return rows


def _tests(data: Data) -> int:
    """The number of differences for which p values are corrected; 0 where none has one."""
    every = [(one["t_test_p_holm"] is not None, one.get("replicates", 1) > 1) for one in data.document["differences"]]
    return sum(map(any, every)) if any(has for has, _ in every) else 0


def _rank(p: float | None) -> float:
    """A p value to sort by; what could not be tested comes last."""
    return math.inf if p is None else p


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


# ---- single runs ---------------------------------------------------------------------------------------------------


def _single(data: Data, made: Mapping[int, str], progress: Progress) -> list[tuple[dict[str, Any], Document]]:
    """One run of some points, made again with its queue recorded over time unless `made` has it, and its result."""
    import earlydrop._core as _core
    from ..analysis.window import watched

    found = []
    chosen = set(_chosen(data))
    label = f"{data.document['name']}: single runs for the report"
    for number, (k, point) in enumerate((k, p) for k, p in enumerate(data.document["points"]) if k in chosen):
        progress(number, len(chosen), label)
        sets = list(point["set"].items())
        try:
            text = made.get(k)
            if text is None:
                plain = _core.Scenario.parse(data.document["scenario"], sets)
                seen, _ = watched(plain, data.document["scenario"], sets)
                text = seen.run(point["first_seed"])
            result = json.loads(text)
        except (_core.ScenarioError, RuntimeError):
            continue
        about = {"where": _where(data, point["levels"]), "seed": point["first_seed"], "queue": data.document["queue"]}
        found.append((about, result))
        if k not in made and result["cost"]["wall_s"] > SLOW_S:
            break
    progress(len(chosen), len(chosen), label)
    return found


def _chosen(data: Data) -> list[int]:
    """All points if they are few; else some spread over the sweep, and those with least delay and most goodput."""
    count = data.count
    if count <= SINGLE:
        return list(range(count))
    spread = {round(i * (count - 1) / (SINGLE - 3)) for i in range(SINGLE - 2)}
    for measure, most in zip(next(iter(plots.pairs(data)), ()), (np.nanargmin, np.nanargmax), strict=False):
        if not np.isnan(data.means[measure]).all():
            spread.add(int(most(data.means[measure])))
    return sorted(spread)
