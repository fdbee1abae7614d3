"""Pictures of a sweep: delay against goodput with ellipses, heat maps over two factors, load curves with bands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import plot, statistics
from ..documents import Document

if TYPE_CHECKING:
    import polars
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = 6
LINES = len(plot.LOOKS)
"""At most so many lines in one picture."""


@dataclass
class Data:
    """What a sweep wrote: its document, and its table of runs."""

    document: Document
    runs: polars.DataFrame

    @property
    def factors(self) -> list[Document]:
        """The factors as the document has them."""
        return list(self.document["factors"])

    def levels(self, name: str) -> list[Any]:
        """The values of a factor that occur, in order: numbers by size, names as the file has them."""
        values = list(dict.fromkeys(p["levels"][name] for p in self.document["points"]))
        return sorted(values) if self.numeric(name) else values

    def numeric(self, name: str) -> bool:
        """Whether a factor is a number."""
        values = (p["levels"][name] for p in self.document["points"])
        return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)

    def title(self, name: str) -> str:
        """A factor's title with its unit."""
        f = next(f for f in self.factors if f["name"] == name)
        return f"{f['title']} ({f['unit']})" if f["unit"] else str(f["title"])

    def label(self, measure: str) -> str:
        """A measure's title with its unit."""
        m = self.document["measures"][measure]
        return f"{m['title']} ({m['unit']})" if m["unit"] else str(m["title"])

    @property
    def gridded(self) -> bool:
        """Whether points lie on a grid, so that curves and maps can be drawn."""
        return bool(self.document["design"] == "grid")

    def varying(self) -> list[str]:
        """Factors with two levels or more."""
        return [f["name"] for f in self.factors if len(self.levels(f["name"])) > 1]

    def lines_by(self) -> str | None:
        """The factor that gives the lines: the one with a control, else the first that is no number."""
        names = [*self.document["control"], *(n for n in self.varying() if not self.numeric(n))]
        return next((n for n in names if n in self.varying()), None)

    def series(self, points: Sequence[int], measure: str) -> list[float]:
        """One value a seed: the mean over some points, of the seeds that all of them have."""
        import polars as pl

        some = self.runs.filter(pl.col("point").is_in(list(points))).drop_nulls(measure)
        by_seed = some.group_by("seed").agg(pl.col(measure).mean(), n=pl.len()).filter(pl.col("n") == len(points))
        return [float(v) for v in by_seed.sort("seed")[measure]]

    def points_at(self, **levels: Any) -> list[int]:
        """The points with these levels."""
        return [
            k
            for k, p in enumerate(self.document["points"])
            if all(p["levels"][name] == value for name, value in levels.items())
        ]


def delay_and_goodput(data: Data) -> tuple[str, str] | None:
    """The measures of the plane, if there are such."""
    measures = data.document["measures"]
    delay = next((m for m in ("queue_delay", "delay", "queue_delay_p99") if m in measures), None)
    goodput = next((m for m in ("goodput", "throughput", "utilisation") if m in measures), None)
    return (delay, goodput) if delay and goodput else None


def plane(data: Data) -> Figure | None:
    """Goodput over delay: the mean of each point, with the ellipse that one standard deviation of its seeds makes."""
    axes_of = delay_and_goodput(data)
    if axes_of is None:
        return None
    delay, goodput = axes_of
    by = data.lines_by()
    groups = data.levels(by)[:LINES] if by else [None]
    along = next((n for n in data.varying() if n != by and data.numeric(n)), None) if data.gridded else None
    with plot.styled():
        drawing = plot.figure(plot.PAGE, 4.0)
        ax = drawing.subplots()
        for number, level in enumerate(groups):
            own = plot.look(number)
            points = data.points_at(**({by: level} if by else {}))
            if along:
                points.sort(key=lambda k: (_others(data, k, {by, along}), data.document["points"][k]["levels"][along]))
            before: tuple[Any, ...] | None = None
            line: list[tuple[float, float]] = []
            lines = [line]
            for k in points:
                cells = data.document["points"][k]["cells"]
                x, y = cells[delay]["mean"], cells[goodput]["mean"]
                if x is None or y is None:
                    continue
                here = _others(data, k, {by, along})
                if here != before:
                    line = []
                    lines.append(line)
                before = here
                line.append((x, y))
                _ellipse(ax, data, k, delay, goodput, own.colour)
            for one in lines:
                if one:
                    xs, ys = zip(*one, strict=True)
                    style = own.dashes if along and len(one) > 1 else "none"
                    ax.plot(xs, ys, marker=own.marker, color=own.colour, linestyle=style, linewidth=0.9, markersize=4)
            ax.plot(
                [],
                [],
                marker=own.marker,
                color=own.colour,
                linestyle=own.dashes,
                label="all points" if by is None else str(level),
            )
        ax.set_xlabel(data.label(delay))
        ax.set_ylabel(data.label(goodput))
        ax.margins(0.08)
        if by:
            drawing.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=min(6, len(groups)))
    return drawing


def _others(data: Data, point: int, without: set[str | None]) -> tuple[Any, ...]:
    levels = data.document["points"][point]["levels"]
    return tuple(v for n, v in levels.items() if n not in without)


def _ellipse(ax: Axes, data: Data, point: int, x: str, y: str, colour: str) -> None:
    import polars as pl
    from matplotlib.patches import Ellipse

    some = data.runs.filter(pl.col("point") == point).drop_nulls([x, y])
    if len(some) < 3:
        return
    both = some.select(x, y).to_numpy()
    sizes, axes = np.linalg.eigh(np.cov(both.T))
    width, height = 2 * np.sqrt(np.maximum(sizes[::-1], 0))
    angle = math.degrees(math.atan2(axes[1, 1], axes[0, 1]))
    ax.add_patch(
        Ellipse(tuple(both.mean(axis=0)), width, height, angle=angle, facecolor=colour, edgecolor=colour, alpha=0.18)
    )


def curves(data: Data) -> Figure | None:
    """Measures over the numeric factor with most levels, a line a level, a band for the 95 % interval.

    Over factors that are neither, each seed is averaged first.
    """
    by = data.lines_by()
    numbers = [n for n in data.varying() if data.numeric(n) and n != by]
    if not data.gridded or not numbers:
        return None
    x = max(numbers, key=lambda n: len(data.levels(n)))
    groups = data.levels(by)[:LINES] if by else [None]
    measures = list(data.document["measures"])[:PANELS]
    rows = -(-len(measures) // 2)
    with plot.styled():
        drawing = plot.figure(plot.PAGE, 0.5 + 2.1 * rows)
        panels = drawing.subplots(rows, min(2, len(measures)), squeeze=False)
        for ax, measure in zip(panels.flat, measures, strict=False):
            for number, level in enumerate(groups):
                own = plot.look(number)
                xs, means, lows, highs = [], [], [], []
                for value in data.levels(x):
                    points = data.points_at(**{x: value}, **({by: level} if by else {}))
                    values = data.series(points, measure) if points else []
                    if not values:
                        continue
                    found = statistics.estimate(values)
                    xs.append(value)
                    means.append(found.mean)
                    lows.append(found.lower if found.lower is not None else found.mean)
                    highs.append(found.upper if found.upper is not None else found.mean)
                name = "all points" if by is None else str(level)
                ax.plot(xs, means, marker=own.marker, color=own.colour, linestyle=own.dashes, label=name)
                ax.fill_between(xs, lows, highs, color=own.colour, alpha=0.2, linewidth=0)
            _scale(ax.set_xscale, data.levels(x))
            ax.set_xlabel(data.title(x))
            ax.set_ylabel(data.label(measure))
        for ax in list(panels.flat)[len(measures) :]:
            ax.set_visible(False)
        if by:
            handles = panels.flat[0].get_legend_handles_labels()
            drawing.legend(*handles, loc="outside upper center", ncols=min(6, len(groups)))
    return drawing


def _scale(set_scale: Callable[[str], Any], values: Sequence[float]) -> None:
    """A logarithmic axis for levels that lie in ratios."""
    if len(values) > 2 and values[0] > 0 and values[-1] / values[0] >= 30:
        set_scale("log")


def maps(data: Data, measure: str) -> Figure | None:
    """A measure over two factors, a panel a level of the lines' factor; averaged over all other factors."""
    by = data.lines_by()
    pair = [n for n in data.varying() if n != by]
    if not data.gridded or len(pair) < 2:
        return None
    pair.sort(key=lambda n: (not data.numeric(n), -len(data.levels(n))))
    x, y = pair[:2]
    groups = data.levels(by)[:PANELS] if by else [None]
    columns = min(3, len(groups))
    rows = -(-len(groups) // columns)
    grids = []
    for level in groups:
        grid = np.full((len(data.levels(y)), len(data.levels(x))), np.nan)
        for i, b in enumerate(data.levels(y)):
            for j, a in enumerate(data.levels(x)):
                points = data.points_at(**{x: a, y: b}, **({by: level} if by else {}))
                means = [data.document["points"][k]["cells"][measure]["mean"] for k in points]
                if means and None not in means:
                    grid[i, j] = statistics.mean(means)
        grids.append(grid)
    if all(np.isnan(g).all() for g in grids):
        return None
    low, high = (
        min(float(np.nanmin(g)) for g in grids if not np.isnan(g).all()),
        max(float(np.nanmax(g)) for g in grids if not np.isnan(g).all()),
    )
    digits = data.document["measures"][measure]["digits"]
    with plot.styled():
        drawing = plot.figure(plot.PAGE, 0.6 + 2.3 * rows)
        panels = drawing.subplots(rows, columns, squeeze=False)
        image = None
        for ax, grid, level in zip(panels.flat, grids, groups, strict=False):
            image = ax.imshow(grid, origin="lower", aspect="auto", cmap="viridis", vmin=low, vmax=high)
            _ticks(ax.set_xticks, data.levels(x))
            _ticks(ax.set_yticks, data.levels(y))
            ax.set_xlabel(data.title(x))
            ax.set_ylabel(data.title(y))
            ax.grid(visible=False)
            if level is not None:
                ax.set_title(str(level))
            if grid.size <= 30:
                middle = (low + high) / 2
                for (i, j), value in np.ndenumerate(grid):
                    if not np.isnan(value):
                        colour = "white" if value < middle else "black"
                        text = f"{value:.{min(digits, 2)}f}"
                        ax.text(j, i, text, ha="center", va="center", fontsize=6.5, color=colour)
        for ax in list(panels.flat)[len(groups) :]:
            ax.set_visible(False)
        assert image is not None
        drawing.colorbar(image, ax=panels, label=data.label(measure), shrink=0.9)
    return drawing


def _ticks(set_ticks: Callable[..., Any], levels: Sequence[Any]) -> None:
    step = max(1, -(-len(levels) // 8))
    at = list(range(0, len(levels), step))
    set_ticks(at, [f"{levels[k]:.4g}" if isinstance(levels[k], float) else str(levels[k]) for k in at])


def scatters(data: Data) -> Figure | None:
    """For drawn points: delay and goodput over each numeric factor."""
    axes_of = delay_and_goodput(data)
    numbers = [n for n in data.varying() if data.numeric(n)][:PANELS]
    if data.gridded or axes_of is None or not numbers:
        return None
    by = data.lines_by()
    groups = data.levels(by)[:LINES] if by else [None]
    with plot.styled():
        drawing = plot.figure(plot.PAGE, 0.5 + 1.7 * len(numbers))
        panels = drawing.subplots(len(numbers), 2, squeeze=False)
        for row, name in zip(panels, numbers, strict=True):
            for ax, measure in zip(row, axes_of, strict=True):
                for number, level in enumerate(groups):
                    own = plot.look(number)
                    points = [data.document["points"][k] for k in data.points_at(**({by: level} if by else {}))]
                    kept = [p for p in points if p["cells"][measure]["mean"] is not None]
                    xs, ys = [p["levels"][name] for p in kept], [p["cells"][measure]["mean"] for p in kept]
                    ax.plot(
                        xs,
                        ys,
                        linestyle="none",
                        marker=own.marker,
                        color=own.colour,
                        markersize=3,
                        alpha=0.7,
                        label=str(level),
                    )
                _scale(ax.set_xscale, data.levels(name))
                ax.set_xlabel(data.title(name))
                ax.set_ylabel(data.label(measure))
        if by:
            drawing.legend(
                *panels[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=min(6, len(groups))
            )
    return drawing
