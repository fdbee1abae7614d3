"""Pictures of a sweep: delay against goodput with ellipses, heat maps over two factors, load curves with bands."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..analysis import statistics
from ..analysis.quantity import kind_stored
from ..analysis.shared import Part
from ..analysis.words import LISTED, SPOKEN
from ..document import Document
from ..render import plotting
from ..render.latex import MARK
from ..render.panels import HOLLOW, band, entries, hollow_marker, legend, note, of_zeros, scaled
from . import result_file
from .model import is_number, level_name
from .plan import Array

if TYPE_CHECKING:
    import polars
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

T = TypeVar("T")
PANELS = 6
LINES = len(plotting.LOOKS)
"""The most lines in one picture."""


POINTS, LEVELS = 2000, 200
"""The most points, or levels along an axis, that are drawn: of more, some that are spread over all."""
DENSE = 300
"""More points than these are pixels, which are shown sooner than as many outlines."""


class Column:
    """The levels of a factor, point by point: 9 bytes for a number, 4 for a name."""

    def __init__(self) -> None:
        self.numeric = True
        self._numbers, self._whole = array("d"), array("B")
        self._names: dict[Any, int] = {}
        self._codes = array("I")

    def add(self, value: Any) -> None:
        """The next point's level."""
        if self.numeric and not is_number(value):
            # Some levels are names.
            self.numeric = False
            self._codes.extend(self._code(self._plain(k)) for k in range(len(self._numbers)))
        if self.numeric:
            self._numbers.append(value)
            self._whole.append(isinstance(value, int))
        else:
            self._codes.append(self._code(value))

    def _code(self, value: Any) -> int:
        return self._names.setdefault(value, len(self._names))

    def _plain(self, k: int) -> float:
        return int(self._numbers[k]) if self._whole[k] else self._numbers[k]

    def values(self) -> tuple[list[Any], Array]:
        """The levels that occur, in order (numbers by size, names as they came), and by point its level's place."""
        if not self.numeric:
            return list(self._names), np.asarray(self._codes)
        _, first, codes = np.unique(np.asarray(self._numbers), return_index=True, return_inverse=True)
        return [self._plain(k) for k in first.tolist()], codes


class Data:
    """What a sweep wrote: its document, and its table of runs.

    Of the points only levels and means are held, as numbers. `document["points"]` and `document["differences"]` may be
    anything that can be gone through again and again.
    """

    def __init__(self, document: Document, runs: polars.DataFrame | polars.LazyFrame) -> None:
        self.document = document
        self._runs = runs.lazy()
        self._columns: dict[str, Column] = {}
        self._titles: dict[str, dict[tuple[bool, Any], str]] = {}
        means: dict[str, array[float]] = {name: array("d") for name in document["measures"]}
        self.count = 0
        """Number of points."""
        for point in document["points"]:
            self.count += 1
            for name, value in point.get("levels", {}).items():
                self._columns.setdefault(name, Column()).add(value)
            for name, values in means.items():
                mean = point["cells"][name]["mean"]
                values.append(math.nan if mean is None else mean)
        self.means = {name: np.asarray(values) for name, values in means.items()}
        """For each measure, the mean at each point, NaN where there is none."""
        # Threads send this object to processes: nothing is added to it later.
        self.short = frozenset(one["point"] for one in document.get("warmup", ()) if one["short"])
        """The points whose windows are too short for their means."""
        self._levels = {name: column.values() for name, column in self._columns.items()}

    @property
    def factors(self) -> list[Document]:
        """The factors as the sweep's document has them."""
        return list(self.document["factors"])

    def levels(self, name: str) -> list[Any]:
        """The values of a factor that occur, in order: numbers by size, names as the file has them."""
        return self._levels[name][0]

    def places(self, name: str) -> Array:
        """For each point the place of its level among the factor's levels."""
        return self._levels[name][1]

    def numeric(self, name: str) -> bool:
        """Whether a factor is a number."""
        return self._columns[name].numeric

    def title(self, name: str) -> str:
        """A factor's title with its unit, as figures have it."""
        f = self.factor(name)
        return plotting.plain(f"{f['title']} ({f['unit']})" if f["unit"] else str(f["title"]))

    def label(self, measure: str) -> str:
        """A measure's title with its unit, as figures have it."""
        return plotting.plain(label(self.document["measures"][measure]))

    def factor(self, name: str) -> Document:
        """A factor as the sweep's document has it."""
        return next(f for f in self.factors if f["name"] == name)

    def titled(self, name: str, level: Any) -> str | None:
        """The title of a level; None for one without a title."""
        if name not in self._titles:
            self._titles[name] = result_file.titles(self.factor(name))
        return self._titles[name].get((type(level) is bool, level))

    def called(self, name: str | None, level: Any) -> str:
        """What figures call a level; without a factor it is that of all points."""
        if name is None:
            return "all points"
        return plotting.plain(self.titled(name, level) or level_name(level))

    def bounds(self, measure: str) -> tuple[float, float]:
        """The smallest and the largest value a measure can take."""
        m = self.document["measures"][measure]
        return kind_stored(m["field"]).bounds(m["unit"])

    @property
    def drawn(self) -> list[str]:
        """The measures of figures: those asked for, if any were; all but delays that are nobody's, which entries have
        of their own.
        """
        every = self.document["measures"]
        some = any(m.get("asked") for m in every.values())
        own = {Part("", "", one["index"], str(one["index"] + 1)).id(m) for one in self._parts for m in every}
        pooled = self.document.get("pooled", [])
        return [m for m, one in every.items() if m not in pooled and (not some or one.get("asked") or m in own)]

    @property
    def _parts(self) -> list[Document]:
        return list(self.document.get("parts", []))

    @property
    def gridded(self) -> bool:
        """Whether points lie on a grid, so that curves and maps can be drawn."""
        return bool(self.document["design"] == "grid")

    def varying(self) -> list[str]:
        """Factors with two levels or more."""
        return [f["name"] for f in self.factors if len(self.levels(f["name"])) > 1]

    def lines_by(self) -> str | None:
        """The factor that gives the lines: the one with a control, else the first that is no number."""
        varying = self.varying()
        names = [*self.document["control"], *(n for n in varying if not self.numeric(n))]
        return next((n for n in names if n in varying), None)

    def runs(self, points: Array, measures: Sequence[str]) -> polars.DataFrame:
        """`point`, `seed` and some measures of the runs of some points."""
        import polars as pl

        chosen = pl.Series("point", points, dtype=pl.UInt32)
        # A factor may have a measure's name; its column comes first, and the measure's is marked.
        columns = [pl.col(f"measure.{m}" if m in self._columns else m).alias(m) for m in measures]
        wanted = self._runs.filter(pl.col("point").is_in(chosen.implode())).select("point", "seed", *columns)
        return wanted.collect(engine="streaming")

    def points_at(self, **levels: Any) -> Array:
        """The points with these levels."""
        found = np.ones(self.count, bool)
        for name, value in levels.items():
            known, places = self._levels[name]
            found &= places == known.index(value)
        return np.flatnonzero(found)


def label(measure: Document) -> str:
    """The title of a measure of a result folder, with its unit."""
    return f"{measure['title']} ({measure['unit']})" if measure["unit"] else str(measure["title"])


def spread(items: Sequence[T], most: int) -> Sequence[T]:
    """At most `most` of some items, spread over all, with the first and the last."""
    if len(items) <= most:
        return items
    return [items[k] for k in np.linspace(0, len(items) - 1, most).round().astype(int)]


def pairs(data: Data) -> list[tuple[str, str]]:
    """Delay and goodput, if the sweep has them; of entries that have delays of their own those of each."""
    measures = data.drawn
    if parts := [
        Part(str(one["title"]), "", int(one["index"]), str(int(one["index"]) + 1))
        for one in data.document.get("parts", [])
    ]:
        own = [(part.id(SPOKEN[0][0]), part.id(SPOKEN[1][0])) for part in parts[:LISTED]]
        return [pair for pair in own if set(pair) <= set(measures)]
    delays, goodputs = SPOKEN
    delay = next((m for m in (*delays, "queue_delay_p99") if m in measures), None)
    goodput = next((m for m in (*goodputs, "utilisation") if m in measures), None)
    return [(delay, goodput)] if delay and goodput else []


def plane(data: Data, pair: tuple[str, str] | None = None) -> Figure | None:
    """Goodput over delay: the mean of each point, with the ellipse that one standard deviation of its seeds makes."""
    axes_of = pair or next(iter(pairs(data)), None)
    if axes_of is None:
        return None
    delay, goodput = axes_of
    by = data.lines_by()
    groups = data.levels(by)[:LINES] if by else [None]
    along = next((n for n in data.varying() if n != by and data.numeric(n)), None) if data.gridded else None
    others = [f["name"] for f in data.factors if f["name"] not in (by, along)]
    drawn = np.zeros(data.count, bool)
    drawn[spread(range(data.count), POINTS)] = True
    runs = data.runs(np.flatnonzero(drawn), [delay, goodput]).drop_nulls([delay, goodput])
    scatter = {key[0]: some.select(delay, goodput).to_numpy() for key, some in runs.group_by("point")}
    with plotting.styled():
        drawing = plotting.figure(plotting.PAGE, 4.0)
        ax = drawing.subplots()
        # What is below this height of the stack is drawn as pixels: points, lines and ellipses, but not the axes.
        ax.set_rasterization_zorder(2.3 if np.count_nonzero(drawn) > DENSE else None)
        for number, level in enumerate(groups):
            own = plotting.look(number)
            points = data.points_at(**({by: level} if by else {}))
            points = points[drawn[points]]
            if along:
                # Lines go along this factor, one for each choice of levels of the others.
                points = points[np.lexsort([data.places(n)[points] for n in (along, *reversed(others))])]
            before: tuple[int, ...] | None = None
            line: list[tuple[float, float]] = []
            lines = [line]
            for k in points.tolist():
                x, y = float(data.means[delay][k]), float(data.means[goodput][k])
                if math.isnan(x) or math.isnan(y):
                    continue
                here = tuple(int(data.places(n)[k]) for n in others)
                if here != before:
                    line = []
                    lines.append(line)
                before = here
                line.append((x, y))
                if k in scatter:
                    ellipse(ax, scatter[k], own.colour)
            for one in lines:
                if one:
                    xs, ys = zip(*one, strict=True)
                    style = own.dashes if along and len(one) > 1 else "none"
                    ax.plot(xs, ys, marker=own.marker, color=own.colour, linestyle=style, linewidth=0.9, markersize=4)
            for k in data.short.intersection(points.tolist()):
                hollow_marker(ax, float(data.means[delay][k]), float(data.means[goodput][k]), own)
            ax.plot(
                [],
                [],
                marker=own.marker,
                color=own.colour,
                linestyle=own.dashes,
                label=data.called(by, level),
            )
        ax.set_xlabel(data.label(delay))
        ax.set_ylabel(data.label(goodput))
        ax.margins(0.08)
        if by:
            legend(drawing, entries([ax]))
        if data.short:
            note(drawing, HOLLOW)
    return drawing


def ellipse(ax: Axes, both: Array, colour: str) -> None:
    """The ellipse of one standard deviation of these pairs; nothing for fewer than three."""
    from matplotlib.patches import Ellipse

    if len(both) < 3:
        return
    sizes, axes = np.linalg.eigh(np.cov(both.T))
    width, height = 2 * np.sqrt(np.maximum(sizes[::-1], 0))
    angle = math.degrees(math.atan2(axes[1, 1], axes[0, 1]))
    ax.add_patch(
        Ellipse(tuple(both.mean(axis=0)), width, height, angle=angle, facecolor=colour, edgecolor=colour, alpha=0.18)
    )


def along(data: Data) -> str | None:
    """The factor that `curves` go along: the numeric one with most levels."""
    numbers = [n for n in data.varying() if data.numeric(n) and n != data.lines_by()]
    return max(numbers, key=lambda n: len(data.levels(n))) if data.gridded and numbers else None


def curves(data: Data) -> Figure | None:
    """Measures over the numeric factor with most levels, a line per level, a band for the 95 % interval.

    Over factors that are neither, each seed is averaged first.
    """
    by, x = data.lines_by(), along(data)
    if x is None:
        return None
    groups = data.levels(by)[:LINES] if by else [None]
    measures = data.drawn[:PANELS]
    levels = spread(data.levels(x), LEVELS)
    cells = [
        (group, level, data.points_at(**{x: level}, **({by: group} if by else {})))
        for group in groups
        for level in levels
    ]
    rows = -(-len(measures) // 2)
    with plotting.styled():
        drawing = plotting.figure(plotting.PAGE, 0.5 + 2.1 * rows)
        panels = drawing.subplots(rows, min(2, len(measures)), squeeze=False)
        for ax, measure in zip(panels.flat, measures, strict=False):
            series = series_by_seed(data, [points for _, _, points in cells], measure)
            for number, group in enumerate(groups):
                own = plotting.look(number)
                xs, means, lows, highs, short = [], [], [], [], []
                for (of, level, points), values in zip(cells, series, strict=True):
                    if of != group or not values:
                        continue
                    found = statistics.estimate(values)
                    low, high = found.within(data.bounds(measure)) or (found.mean, found.mean)
                    xs.append(level)
                    means.append(found.mean)
                    lows.append(low)
                    highs.append(high)
                    short.append(not data.short.isdisjoint(points.tolist()))
                band(ax, xs, means, (lows, highs), own, data.called(by, group), short)
            scaled(ax, "x", data.levels(x))
            of_zeros(ax, "y", [value for values in series for value in values], data.bounds(measure))
            ax.set_xlabel(data.title(x))
            ax.set_ylabel(data.label(measure))
        for ax in list(panels.flat)[len(measures) :]:
            ax.set_visible(False)
        if by:
            legend(drawing, entries([panels.flat[0]]))
        if data.short:
            note(drawing, HOLLOW)
    return drawing


def series_by_seed(data: Data, cells: Sequence[Array], measure: str) -> list[list[float]]:
    """For each cell, which is some points, one value per seed that all of them have: the mean over the points."""
    import polars as pl

    place = np.full(data.count, -1, np.int32)
    for number, points in enumerate(cells):
        place[points] = number
    some = data.runs(np.flatnonzero(place >= 0), [measure]).drop_nulls(measure)
    some = some.with_columns(cell=pl.Series(place[some["point"].to_numpy()]))
    means = some.group_by("cell", "seed").agg(pl.col(measure).mean(), n=pl.len())
    sizes = pl.DataFrame({"cell": pl.Series(range(len(cells)), dtype=pl.Int32), "size": [len(c) for c in cells]})
    kept = means.join(sizes, on="cell").filter(pl.col("n") == pl.col("size")).sort("cell", "seed")
    found: list[list[float]] = [[] for _ in cells]
    for cell, values in kept.group_by("cell", maintain_order=True).agg(measure).iter_rows():
        found[cell] = values
    return found


def maps(data: Data, measure: str) -> Figure | None:
    """A measure over two factors, a panel per level of the lines' factor; averaged over all other factors."""
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
    short: set[tuple[Any, int, int]] = set()
    for level in groups:
        shape = len(data.levels(y)), len(data.levels(x))
        points = data.points_at(**({by: level} if by else {}))
        cell = data.places(y)[points] * shape[1] + data.places(x)[points]
        number = np.bincount(cell, minlength=shape[0] * shape[1])
        # A point without a mean leaves its place in the map white.
        total = np.bincount(cell, data.means[measure][points], minlength=len(number))
        grid = np.where(number > 0, total / np.maximum(number, 1), np.nan).reshape(shape)
        grids.append(grid)
        cells = zip(points.tolist(), cell.tolist(), strict=True)
        short |= {(level, *divmod(at, shape[1])) for k, at in cells if k in data.short}
    if all(np.isnan(g).all() for g in grids):
        return None
    low, high = (
        min(float(np.nanmin(g)) for g in grids if not np.isnan(g).all()),
        max(float(np.nanmax(g)) for g in grids if not np.isnan(g).all()),
    )
    digits = data.document["measures"][measure]["digits"]
    with plotting.styled():
        drawing = plotting.figure(plotting.PAGE, 0.6 + 2.3 * rows)
        panels = drawing.subplots(rows, columns, squeeze=False)
        image = None
        for ax, grid, level in zip(panels.flat, grids, groups, strict=False):
            image = ax.imshow(grid, origin="lower", aspect="auto", cmap="viridis", vmin=low, vmax=high)
            _ticks(ax.set_xticks, data, x)
            _ticks(ax.set_yticks, data, y)
            ax.set_xlabel(data.title(x))
            ax.set_ylabel(data.title(y))
            ax.grid(visible=False)
            if level is not None:
                ax.set_title(data.called(by, level))
            if grid.size <= 30:
                middle = (low + high) / 2
                for (i, j), value in np.ndenumerate(grid):
                    if not np.isnan(value):
                        colour = "white" if value < middle else "black"
                        mark = f" {MARK}" if (level, i, j) in short else ""
                        text = f"{value:.{min(digits, 2)}f}{mark}"
                        ax.text(j, i, text, ha="center", va="center", fontsize=6.5, color=colour)
        for ax in list(panels.flat)[len(groups) :]:
            ax.set_visible(False)
        assert image is not None
        drawing.colorbar(image, ax=panels, label=data.label(measure), shrink=0.9)
    return drawing


def _ticks(set_ticks: Callable[..., Any], data: Data, name: str) -> None:
    levels = data.levels(name)
    at = list(range(0, len(levels), max(1, -(-len(levels) // 8))))
    shown = [data.titled(name, levels[k]) or levels[k] for k in at]
    set_ticks(at, [f"{one:.4g}" if isinstance(one, float) else plotting.plain(str(one)) for one in shown])


def scatters(data: Data) -> Figure | None:
    """For drawn points: delay and goodput over each numeric factor."""
    axes_of = next(iter(pairs(data)), None)
    numbers = [n for n in data.varying() if data.numeric(n)][:PANELS]
    if data.gridded or axes_of is None or not numbers:
        return None
    by = data.lines_by()
    groups = data.levels(by)[:LINES] if by else [None]
    with plotting.styled():
        drawing = plotting.figure(plotting.PAGE, 0.5 + 1.7 * len(numbers))
        panels = drawing.subplots(len(numbers), 2, squeeze=False)
        for row, name in zip(panels, numbers, strict=True):
            for ax, measure in zip(row, axes_of, strict=True):
                for number, level in enumerate(groups):
                    own = plotting.look(number)
                    points = np.array(spread(data.points_at(**({by: level} if by else {})).tolist(), POINTS), int)
                    ys = data.means[measure][points]
                    xs = np.asarray(data.levels(name), float)[data.places(name)[points]]
                    ax.plot(
                        xs[~np.isnan(ys)],
                        ys[~np.isnan(ys)],
                        linestyle="none",
                        marker=own.marker,
                        color=own.colour,
                        markersize=3,
                        alpha=0.7,
                        label=data.called(by, level),
                    )
                scaled(ax, "x", data.levels(name))
                ax.set_xlabel(data.title(name))
                ax.set_ylabel(data.label(measure))
        if by:
            legend(drawing, entries([panels[0][0]]))
    return drawing
