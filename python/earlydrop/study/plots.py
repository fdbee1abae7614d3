"""Draws the figures of a study. Series are apart by colour, marker and dashes, so that any one of them suffices."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..render import panels, plotting
from ..render.artists import Sketch
from ..render.plotting import COLUMN, LOOKS, PAGE, Look, styled
from .figures import Curve, Data, Panel, data
from .model import Figure, Study
from .runs import Outcome, curve_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++", "oooo", "----")
PUBLISHED = "published"
SHARED, DOT_COLUMNS = 6, 3
"""The most bars side by side; more series become dots in rows, in at most this many panels side by side."""
MANY_POINTS = 3000
"""With this many points a line is drawn as an image inside the figure."""


def draw(outcome: Outcome, figure: Figure) -> tuple[Drawing, str]:
    """A figure of a study, and what is said below it."""
    found = sketch(outcome, figure)
    return found.draw(*found.of), found.text


def sketch(outcome: Outcome, figure: Figure) -> Sketch:
    """A figure before it is drawn."""
    if figure.kind == "curves":
        return _drop_curves(figure)
    if figure.kind == "picture":
        return _picture(outcome.study, figure)
    found = data(outcome, figure)
    return Sketch(_values, (found,), found.text)


def _values(found: Data) -> Drawing:
    with styled():
        if found.bars and found.figure.kind == "bars" and max(len(p.curves) for p in found.panels) > SHARED:
            return _dots(found)
        if found.bars and _lying(found):
            return _lying_bars(found)
        return _panels(found)


# ---- looks ---------------------------------------------------------------------------------------------------------


def _look(curve: Curve) -> Look:
    """Eight looks; of more levels than that each has its shade between blue and yellow, and a marker in turn."""
    if curve.of <= len(LOOKS):
        return LOOKS[curve.look]
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    shade = to_hex(colormaps["cividis"](0.95 * curve.look / max(1, curve.of - 1)))
    own = LOOKS[curve.look % len(LOOKS)]
    return Look(shade, own.marker, own.dashes)


def _legend(drawing: Drawing, axes: Sequence[Axes]) -> None:
    """The legend of all panels; none of our values alone."""
    named = panels.entries(axes)
    if list(named) == ["ours"]:
        return
    if PUBLISHED in named:
        # One entry, in no line's colour, stands for the open marks of all lines; it comes last.
        from matplotlib.lines import Line2D

        del named[PUBLISHED]
        named[PUBLISHED] = Line2D([], [], linestyle="none", marker="o", mfc="white", mec="#222222", markersize=4.8)
    panels.legend(drawing, named)


# ---- panels --------------------------------------------------------------------------------------------------------


def _panels(found: Data) -> Drawing:
    count = len(found.panels)
    kind = found.figure.kind
    columns = found.columns or (1 if kind == "series" else min(count, 2 if kind == "plane" else 3))
    rows = math.ceil(count / columns)
    entries = len({c.title for p in found.panels for c in p.curves})
    longest = max((len(c.title) for p in found.panels for c in p.curves), default=0)
    wide = columns > 1 or kind in {"series", "differences"} or entries > 6 or longest > 28 or _crowded(found)
    width = PAGE if wide else COLUMN
    high = {"series": 1.5}.get(kind, 2.3 if columns < 3 else 1.9)
    if kind == "scatter" and entries > len(LOOKS):
        high = 3.4
    if kind == "plane":
        high = 2.6 if columns > 1 else 3.2
    drawing = plotting.figure(width, 0.35 + high * rows)
    grid = drawing.subplots(rows, columns, squeeze=False, sharex=kind == "series")
    axes = list(grid.flat)
    for ax in axes[count:]:
        ax.set_visible(False)
    for index, (ax, panel) in enumerate(zip(axes, found.panels, strict=False)):
        _panel(ax, found, panel, width / columns)
        row, column = divmod(index, columns)
        if index + columns < count and not panel.x_label:
            ax.set_xlabel("")
        same = column > 0 and panel.y_label == found.panels[index - 1].y_label
        if same:
            ax.set_ylabel("")
        if panel.title and (row == 0 or found.columns == 0 or kind == "series"):
            plotting.title(ax, panel.title)
    _legend(drawing, axes[:count])
    return drawing


def _crowded(found: Data) -> bool:
    """Whether the names under the bars need more than a column."""
    names = [len(name) for _, name in found.ticks]
    return len(names) > 5 or sum(names) > 34


def _panel(ax: Axes, found: Data, panel: Panel, width: float) -> None:
    kind, log = found.figure.kind, found.figure.log
    if not any(len(c.xs) or c.printed for c in panel.curves):
        ax.text(0.5, 0.5, "no values", transform=ax.transAxes, ha="center", color="#777777", fontsize=8)
    if found.bars:
        _bars(ax, panel, found)
    else:
        for curve in panel.curves:
            {"cdf": _step, "series": _thin, "differences": _surfaces, "scatter": _cloud, "plane": _ellipse}.get(
                kind, _line
            )(ax, curve)
    if kind in {"series", "lines"}:
        for name, value in found.figure.options["marks"].items():
            ax.axhline(value, color="#444444", linestyle=(0, (6, 2, 1, 2)), linewidth=0.9, label=name, zorder=1.5)
    if "x" in log:
        ax.set_xscale("log")
        _plain_ticks(ax.xaxis, [x for c in panel.curves for x in c.xs])
    if "y" in log:
        ax.set_yscale("log")
        _plain_ticks(ax.yaxis, [y for c in panel.curves for y in c.ys])
    elif kind in {"lines", "bars"}:
        _honest(ax, bars=found.bars)
    if kind == "cdf":
        ax.set_ylim(0, 1.02)
    if kind in {"series"}:
        ax.margins(x=0)
        if "y" not in log and all(y >= 0 for c in panel.curves for y in c.ys):
            ax.set_ylim(bottom=0)
    if found.ticks:
        names = [name for _, name in found.ticks]
        longest = max(map(len, names))
        fits = longest * len(names) * 0.062 < width - 0.8
        ax.set_xticks([x for x, _ in found.ticks], names, rotation=0 if fits else 35, ha="center" if fits else "right")
        ax.grid(axis="x", visible=False)
    elif kind == "histogram" or found.figure.x == "seed":
        ax.locator_params(axis="x", integer=True)
    elif not log.startswith("x"):
        ax.locator_params(axis="x", nbins=6 if width > 2.6 else 4)
    if "y" not in log:
        ax.locator_params(axis="y", nbins=6)
    ax.set_xlabel(panel.x_label or found.x_label)
    ax.set_ylabel(panel.y_label)
    _papers_axis(ax, "x", found.figure.limits.get("x"))
    _papers_axis(ax, "y", found.figure.limits.get("y"))
    if kind in {"scatter", "plane"} and any(c.of > len(LOOKS) for c in panel.curves):
        _name_points(ax, panel)


def _honest(ax: Axes, bars: bool) -> None:
    """Never zoom into a band narrower than 2 % of the level: noise would look like an effect. Bars start at zero."""
    low, high = ax.get_ylim()
    if bars:
        ax.set_ylim(min(0.0, low), max(0.0, high))
        return
    least = 0.02 * max(abs(low), abs(high))
    if high - low < least:
        centre = (low + high) / 2
        ax.set_ylim(centre - least / 2, centre + least / 2)


BEYOND = 0.04
"""Of an axis: its room beyond a value that lies outside the paper's axis."""


def _papers_axis(ax: Axes, axis: str, limits: tuple[float, float] | None) -> None:
    """Give an axis the paper's limits; it is longer where our values lie outside."""
    if limits is None:
        return
    low, high = limits
    first, last = ax.dataLim.intervalx if axis == "x" else ax.dataLim.intervaly
    room = BEYOND * (max(last, high) - min(first, low))
    low, high = (first - room if first < low else low), (last + room if last > high else high)
    if axis == "x":
        ax.set_xlim(low, high)
    else:
        ax.set_ylim(low, high)


def _plain_ticks(axis: Any, values: Sequence[float]) -> None:
    """Numbers instead of powers of ten, where the range is small enough."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    known = [v for v in values if v > 0]
    if not known:
        return
    decades = math.log10(max(known) / min(known)) if min(known) < max(known) else 0.0
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 2.2 else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}".replace("-", "\u2212")))
    axis.set_minor_formatter(NullFormatter())


def _line(ax: Axes, curve: Curve) -> None:
    own = _look(curve)
    label = curve.title or "ours"
    if len(curve.lows):
        ax.fill_between(curve.xs, curve.lows, curve.highs, color=own.colour, alpha=0.18, linewidth=0)
    marker = own.marker if len(curve.xs) <= 40 else ""
    if len(curve.xs):
        ax.plot(curve.xs, curve.ys, color=own.colour, marker=marker, linestyle=own.dashes, label=label)
    if curve.printed:
        ax.plot(
            [x for x, _ in curve.printed],
            [y for _, y in curve.printed],
            linestyle="none",
            marker=own.marker,
            markersize=4.8,
            markerfacecolor="white",
            markeredgecolor=own.colour,
            label=PUBLISHED,
        )


def _step(ax: Axes, curve: Curve) -> None:
    own = _look(curve)
    ax.step(curve.xs, curve.ys, where="post", color=own.colour, linestyle=own.dashes, label=curve.title or "ours")


def _thin(ax: Axes, curve: Curve) -> None:
    own = _look(curve)
    # Of a queue and its average, the fast one lies below, thin and pale.
    colour, dashes, wide, alpha = {
        "average": ("#000000", "-", 1.2, 1.0),
        "moving": (LOOKS[1].colour, "-", 0.7, 0.6),
    }.get(curve.role, (own.colour, own.dashes, 1.2 if len(curve.xs) <= 400 else 0.8, 1.0))
    many = len(curve.xs) > MANY_POINTS
    ax.plot(
        curve.xs,
        curve.ys,
        color=colour,
        linestyle=dashes,
        linewidth=wide,
        alpha=alpha,
        label=curve.title,
        rasterized=many,
    )


def _cloud(ax: Axes, curve: Curve) -> None:
    own = _look(curve)
    many = curve.of > len(LOOKS)
    ax.plot(
        curve.xs,
        curve.ys,
        linestyle="none",
        marker=own.marker if not many else "o",
        color=own.colour if not many else "#0072B2",
        markersize=4,
        alpha=0.8,
        label="" if many else curve.title,
    )


def _ellipse(ax: Axes, curve: Curve) -> None:
    own = _look(curve)
    pale = 0.25 if len(curve.xs) > 20 else 0.45
    ax.plot(curve.xs, curve.ys, linestyle="none", marker=".", markersize=3, color=own.colour, alpha=pale, zorder=2)
    xs, ys = curve.outline
    if len(xs):
        ax.fill(xs, ys, color=own.colour, alpha=0.15, linewidth=0, zorder=1.5)
        ax.plot(xs, ys, color=own.colour, linestyle=own.dashes, linewidth=0.9, zorder=2.5)
    if curve.centre is not None:
        x, y = curve.centre
        many = curve.of > len(LOOKS)
        label = "_" if many else curve.title
        ax.plot(
            [x], [y], linestyle="none", marker=own.marker, markersize=5, color=own.colour, markeredgecolor="white",
            markeredgewidth=0.5, label=label, zorder=3,
        )  # fmt: skip


def _name_points(ax: Axes, panel: Panel) -> None:
    """Names beside the points, as far as there is room for them."""
    drawing = ax.get_figure()
    assert drawing is not None
    drawing.draw_without_rendering()  # type: ignore[union-attr]
    named = [(c, c.centre or (c.xs[0], c.ys[0])) for c in panel.curves if len(c.xs)]
    points = [
        ax.transData.transform(place)
        for c in panel.curves
        for place in ([c.centre] if c.centre else zip(c.xs, c.ys, strict=True))
    ]
    scale = drawing.dpi / 72
    taken = [(px - 3 * scale, py - 3 * scale, px + 3 * scale, py + 3 * scale) for px, py in points]
    frame = ax.get_window_extent()
    left_out = 0
    for curve, place in named:
        px, py = ax.transData.transform(place)
        wide, high = 3.6 * scale * len(curve.title), 7.0 * scale
        for dx, dy, ha, va in _AROUND:
            x0 = px + dx * scale - (0 if ha == "left" else wide if ha == "right" else wide / 2)
            y0 = py + dy * scale - (0 if va == "bottom" else high if va == "top" else high / 2)
            box = (x0, y0, x0 + wide, y0 + high)
            inside = frame.x0 <= box[0] and box[2] <= frame.x1 and frame.y0 <= box[1] and box[3] <= frame.y1
            if inside and not any(_meet(box, other) for other in taken):
                taken.append(box)
                ax.annotate(
                    curve.title, place, xytext=(dx, dy), textcoords="offset points",
                    ha=ha, va=va, fontsize=6, color="#333333",
                )  # fmt: skip
                break
        else:
            left_out += 1
    if left_out:
        names = "name" if left_out == 1 else "names"
        ax.annotate(
            f"{left_out} {names} left out for want of room", (1, 1), xycoords="axes fraction", xytext=(0, 2),
            textcoords="offset points", ha="right", va="bottom", fontsize=6, color="#777777",
        )  # fmt: skip


_AROUND = (
    (4, 0, "left", "center"), (-4, 0, "right", "center"), (0, 4, "center", "bottom"), (0, -4, "center", "top"),
    (4, 4, "left", "bottom"), (4, -4, "left", "top"), (-4, 4, "right", "bottom"), (-4, -4, "right", "top"),
    (5, 9, "left", "bottom"), (5, -9, "left", "top"), (-5, 9, "right", "bottom"), (-5, -9, "right", "top"),
)  # fmt: skip


def _meet(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _surfaces(ax: Axes, curve: Curve) -> None:
    xs, ys = curve.xs, curve.ys
    below, above = LOOKS[1].colour, LOOKS[0].colour
    ax.fill_between(xs, ys, 0, where=[y < 0 for y in ys], color=below, alpha=0.35, linewidth=0, label="smaller")
    ax.fill_between(xs, ys, 0, where=[y > 0 for y in ys], color=above, alpha=0.35, linewidth=0, label="larger")
    ax.plot(xs, ys, color="#333333", linewidth=1.0)
    ax.axhline(0, color="#333333", linewidth=0.8)
    ax.margins(x=0.01)


# ---- bars ----------------------------------------------------------------------------------------------------------


def _bars(ax: Axes, panel: Panel, found: Data) -> None:
    count = len(panel.curves) or 1
    places = sorted({x for c in panel.curves for x in (*c.xs, *(p for p, _ in c.printed))})
    # Numbers stand in their order, not at their distances.
    order = {x: k for k, x in enumerate(places)}
    if found.ticks or found.figure.kind == "histogram":
        order = {x: x for x in places}  # type: ignore[misc]
    width = 0.8 / count
    for k, curve in enumerate(panel.curves):
        own = _look(curve)
        middle = [order[x] + (k - (count - 1) / 2) * width for x in curve.xs]
        halves = [h - y for h, y in zip(curve.highs, curve.ys, strict=True)] if len(curve.highs) else None
        shown = halves is not None and any(halves)
        ax.bar(
            middle,
            curve.ys,
            width=0.92 * width,
            color=own.colour,
            hatch=HATCHES[curve.look % len(HATCHES)] if count > 1 else "",
            edgecolor="white",
            linewidth=0.0,
            yerr=halves if shown else None,
            error_kw={"elinewidth": 0.9, "capsize": 1.5, "ecolor": "#222222"},
            label=curve.title or "ours",
        )
        if curve.printed:
            ax.plot(
                [order[x] + (k - (count - 1) / 2) * width for x, _ in curve.printed],
                [y for _, y in curve.printed],
                linestyle="none",
                marker="D",
                markersize=4.5,
                markerfacecolor="white",
                markeredgecolor="#000000",
                label=PUBLISHED,
                zorder=4,
            )
    if not found.ticks and found.figure.kind == "bars":
        ax.set_xticks(range(len(places)), [f"{x:g}" for x in places])
    ax.grid(axis="x", visible=False)


def _dots(found: Data) -> Drawing:
    """A dot per series instead of a bar: rows with names, sorted by their mean; a panel for each place of the axis."""
    names = dict(found.ticks)
    rows: list[tuple[Panel, list[float]]] = []
    for panel in found.panels:
        places = sorted({x for c in panel.curves for x in (*c.xs, *(p for p, _ in c.printed))})
        rows += [(panel, places[k : k + DOT_COLUMNS]) for k in range(0, len(places), DOT_COLUMNS)]
    count = max(len(p.curves) for p in found.panels)
    drawing = plotting.figure(PAGE, 0.3 + (0.75 + 0.15 * count) * len(rows))
    across = max(len(places) for _, places in rows)
    grid = drawing.subplots(len(rows), across, squeeze=False, sharex="row", sharey="row")
    printed = False
    for axes, (panel, places) in zip(grid, rows, strict=True):
        order = sorted(panel.curves, key=lambda c: sum(c.ys) / len(c.ys) if len(c.ys) else math.inf)
        for ax in axes[len(places) :]:
            ax.set_visible(False)
        for ax, place in zip(axes, places, strict=False):
            for row, curve in enumerate(order):
                for k in (k for k, x in enumerate(curve.xs) if x == place):
                    if len(curve.lows):
                        ax.plot([curve.lows[k], curve.highs[k]], [row, row], color=LOOKS[1].colour, linewidth=1.2)
                    ax.plot([curve.ys[k]], [row], marker="o", markersize=3.5, color=LOOKS[1].colour, linestyle="none")
                for y in (y for x, y in curve.printed if x == place):
                    label = "_" if printed else PUBLISHED
                    printed = True
                    ax.plot([y], [row], "D", markersize=4, mfc="white", mec="#000000", label=label, zorder=4)
            ax.set_yticks(range(len(order)), [c.title for c in order], fontsize=6.5)
            ax.set_ylim(len(order) - 0.5, -0.5)
            ax.grid(axis="y", visible=False)
            title = names.get(place, f"{place:g}")
            plotting.title(ax, f"{panel.title}, {title}" if panel.title else title)
            ax.set_xlabel(panel.y_label)
            if "y" in found.figure.log:
                ax.set_xscale("log")
            _papers_axis(ax, "x", found.figure.limits.get("y"))
    if printed:
        _legend(drawing, list(grid.flat))
    return drawing


def _lying(found: Data) -> bool:
    """Many names on the axis are read more easily beside lying bars."""
    return len(found.ticks) > 8 and len(found.panels) == 1


def _lying_bars(found: Data) -> Drawing:
    panel = found.panels[0]
    count = len(panel.curves) or 1
    drawing = plotting.figure(PAGE, 0.7 + max(0.16, 0.09 * count) * len(found.ticks))
    ax = drawing.subplots()
    width = 0.8 / count
    for k, curve in enumerate(panel.curves):
        own = _look(curve)
        middle = [x + (k - (count - 1) / 2) * width for x in curve.xs]
        halves = [h - y for h, y in zip(curve.highs, curve.ys, strict=True)] if len(curve.highs) else None
        ax.barh(
            middle,
            curve.ys,
            height=0.92 * width,
            color=own.colour if count > 1 else LOOKS[1].colour,
            hatch=HATCHES[curve.look % len(HATCHES)] if count > 1 else "",
            edgecolor="white",
            linewidth=0.0,
            xerr=halves if halves is not None and any(halves) else None,
            error_kw={"elinewidth": 0.8, "capsize": 1.2, "ecolor": "#222222"},
            label=curve.title or "ours",
        )
        if curve.printed:
            ax.plot(
                [y for _, y in curve.printed],
                [x + (k - (count - 1) / 2) * width for x, _ in curve.printed],
                linestyle="none",
                marker="D",
                markersize=4.5,
                markerfacecolor="white",
                markeredgecolor="#000000",
                label=PUBLISHED,
                zorder=4,
            )
    ax.set_yticks([x for x, _ in found.ticks], [name for _, name in found.ticks], fontsize=6.5)
    ax.set_ylim(max(x for x, _ in found.ticks) + 0.6, min(x for x, _ in found.ticks) - 0.6)
    ax.set_xlabel(panel.y_label)
    if "y" in found.figure.log:
        ax.set_xscale("log")
    _papers_axis(ax, "x", found.figure.limits.get("y"))
    ax.grid(axis="y", visible=False)
    if any(c.title for c in panel.curves) or any(c.printed for c in panel.curves):
        _legend(drawing, [ax])
    return drawing


# ---- without runs --------------------------------------------------------------------------------------------------


def _drop_curves(figure: Figure) -> Sketch:
    low, high = figure.options.get("range") or (0.0, 100.0)
    steps = 1200
    averages = [low + (high - low) * k / steps for k in range(steps + 1)]
    drawn = []
    for curve in figure.curves:
        values = curve_values(curve, averages)
        if values is not None:
            drawn.append(plotting.DropCurve(curve["title"], averages, values, curve["aside"]))
    of = drawn, figure.options.get("marks") or {}, figure.options.get("detail")
    return Sketch(plotting.drop_curves, of)


def _picture(study: Study, figure: Figure) -> Sketch:
    import earlydrop._core as _core
    from ..render import network_plot
    from .select import average_cells

    e = study.experiment(figure.experiment)
    cells = average_cells(e, figure.at)
    document = e.document(cells[0] if cells else e.cells[0], study.name, figure.set)
    return Sketch(network_plot.draw, (json.loads(_core.Scenario.parse(document, []).network()),))


# ---- effects behind the claims -------------------------------------------------------------------------------------
