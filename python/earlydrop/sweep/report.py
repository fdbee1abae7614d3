"""The report of a sweep: one HTML file that needs no other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import plot
from ..documents import Document, to_toml
from ..statistics import ALPHA
from ..terminal import number, signed
from . import pictures
from .model import SweepError
from .outcome import Outcome
from .pictures import Data

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS, DIFFERENCES, SINGLE, FAILURES = 200, 100, 8, 20
"""At most so many points, differences, single runs and failures are shown."""
SLOW_S = 10.0
"""No more single runs are drawn after one that took so long."""


def write_report(folder: Path, outcome: Outcome) -> Path:
    """Write `report.html` into a sweep's result folder."""
    from .text import runs_table

    return _write(folder, Data(json.loads((folder / "sweep.json").read_text(encoding="utf-8")), runs_table(outcome)))


def renew(folder: Path) -> Path:
    """Write `report.html` of a folder that `sweep` wrote once more.

    Raises:
        SweepError: it is no such folder.
    """
    import polars as pl

    try:
        document = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
        runs = pl.read_parquet(folder / "runs.parquet")
    except FileNotFoundError as error:
        missing = Path(str(error.filename)).name
        raise SweepError(f"{folder}: is no result of a sweep, a run or a link: there is no {missing}") from None
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise SweepError(f"{folder}: cannot be read: {error}") from error
    return _write(folder, Data(document, runs))


def _write(folder: Path, data: Data) -> Path:
    from ..study.page import render

    path = folder / "report.html"
    # What `advise` has concluded from the sweep, if this is one of its folders.
    advice = folder / "advice.txt"
    said = advice.read_text(encoding="utf-8").rstrip() if advice.is_file() else ""
    text = render("sweep.html.j2", {**context(data), "advice": said})
    part = folder / ".report.html.partial"
    part.write_text(text, encoding="utf-8")
    part.replace(path)
    return path


def context(data: Data) -> dict[str, Any]:
    """What the page shows."""
    d = data.document
    figures = [
        _figure(pictures.plane(data), "Delay and goodput", PLANE_TEXT),
        _figure(pictures.curves(data), "Load curves", CURVES_TEXT),
    ]
    for measure in [m for m in (pictures.delay_and_goodput(data) or ()) if m]:
        what = f"Heat map: {d['measures'][measure]['title'].lower()}"
        figures.append(_figure(pictures.maps(data, measure), what, MAPS_TEXT))
    figures.append(_figure(pictures.scatters(data), "Each factor", SCATTER_TEXT))
    return {
        "d": d,
        "figures": [f for f in figures if f],
        "head": [*(f["name"] for f in d["factors"]), "n", *(data.label(m) for m in d["measures"])],
        "points": _points(data),
        "more_points": max(0, len(d["points"]) - ROWS),
        "differences": _differences(data),
        "more_differences": max(0, len(d["differences"]) - DIFFERENCES),
        "tests": len(d["differences"]),
        "runs": _single(data),
        "failures": [{**f, "where": _where(f["levels"])} for f in d["failures"][:FAILURES]],
        "scenario": to_toml({k: v for k, v in d["scenario"].items() if k not in ("name", "seed")}),
        "against": ", ".join(f"{k} = {v}" for k, v in d["control"].items()),
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


def _figure(made: Figure | None, title: str, text: str) -> dict[str, str] | None:
    return None if made is None else {"title": title, "text": text, "data": plot.inline(made)}


def _where(levels: Document) -> str:
    return ", ".join(f"{k} = {v:.6g}" if isinstance(v, float) else f"{k} = {v}" for k, v in levels.items())


def _points(data: Data) -> list[list[str]]:
    rows = []
    for point in data.document["points"][:ROWS]:
        row = [f"{v:.6g}" if isinstance(v, float) else str(v) for v in point["levels"].values()] + [str(point["seeds"])]
        for name, m in data.document["measures"].items():
            cell = point["cells"][name]
            half = "" if cell["half_width"] is None else f" ± {cell['half_width']:.{m['digits']}f}"
            row.append(number(cell["mean"], m["digits"]) + half)
        rows.append(row)
    return rows


def _differences(data: Data) -> list[dict[str, Any]]:
    d = data.document
    ordered = sorted(d["differences"], key=lambda one: (one["t_test_p_holm"], one["t_test_p"]))
    rows = []
    for one in ordered[:DIFFERENCES]:
        m = d["measures"][one["measure"]]
        half = "" if one["half_width"] is None else f" ± {one['half_width']:.{m['digits']}f}"
        share = "" if one["relative"] is None else f"{signed(100 * one['relative'], 1)} %"
        rows.append(
            {
                "where": _where(d["points"][one["point"]]["levels"]),
                "measure": data.label(one["measure"]),
                "difference": signed(one["mean"], m["digits"]) + half,
                "relative": share,
                "p": [_p(one[k]) for k in ("t_test_p_holm", "t_test_p_bh", "wilcoxon_p")],
                "clear": one["t_test_p_holm"] < ALPHA,
            }
        )
    return rows


def _p(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


# ---- single runs ---------------------------------------------------------------------------------------------------


def _single(data: Data) -> list[dict[str, Any]]:
    """One run of some points, made again with its queue recorded over time."""
    from .. import _core
    from ..compare import watched

    found = []
    for k in _chosen(data):
        point = data.document["points"][k]
        sets = list(point["set"].items())
        try:
            plain = _core.Scenario.parse(data.document["scenario"], sets)
            seen, _ = watched(plain, data.document["scenario"], sets)
            result = json.loads(seen.run(point["first_seed"]))
        except (_core.ScenarioError, RuntimeError):
            continue
        made = _figure(plot.run_figure(result), "", "")
        queue = data.document["queue"]
        found.append({"where": _where(point["levels"]), "seed": point["first_seed"], "queue": queue, "figure": made})
        if result["cost"]["wall_s"] > SLOW_S:
            break
    return found


def _chosen(data: Data) -> list[int]:
    """All points if they are few; else some spread over the sweep, and those with least delay and most goodput."""
    points = data.document["points"]
    count = len(points)
    if count <= SINGLE:
        return list(range(count))
    spread = {round(i * (count - 1) / (SINGLE - 3)) for i in range(SINGLE - 2)}
    extremes: list[Callable[[int], float]] = []
    for measure, sign in zip(pictures.delay_and_goodput(data) or (), (1, -1), strict=False):
        extremes.append(lambda k, m=measure, s=sign: s * _mean(points[k], m, s))  # type: ignore[misc]
    return sorted(spread | {min(range(count), key=rank) for rank in extremes})


def _mean(point: Document, measure: str, sign: int) -> float:
    value = point["cells"][measure]["mean"]
    return float("inf") * sign if value is None else float(value)
