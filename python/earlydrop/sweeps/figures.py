"""Figures of a sweep that a reader chooses: lines, dots, boxes, ellipses, distributions of delay, queues over time.

More than six series never share a panel: lines then get a panel each, with the others pale behind, sorted by the
measure; dots and boxes stand in rows with their names, sorted likewise.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import earlydrop._core as _core
from .. import disk
from ..analysis import statistics
from ..analysis.window import watched
from ..document import Document
from ..render import panels, plotting
from . import plots, result_file
from .model import SweepError
from .plan import Array
from .plot_spec import QUEUE, PlotSpec, parse_plot
from .plots import LEVELS, Data, ellipse, series_by_seed, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHARED = 6
"""The most series that share a panel."""
MOST = 24
"""The most levels of a factor that are drawn, as lines or panels."""
RUNS = 200
"""The most runs that are made again for one figure."""
BESIDE = 4
"""The most panels side by side, where each row is a measure."""
PALE = "#c8c8c8"
Place = tuple[str, str, Any, Any]
"""A panel: its title, measure, level of `in`, level of a further factor."""


@dataclass(frozen=True)
class Drawn:
    """The points of one line: mean and 95 % interval."""

    level: Any
    xs: list[float]
    means: list[float]
    lows: list[float]
    highs: list[float]
    short: list[bool] = field(default_factory=list)
    """Whether the window of a point of each mean is too short."""

    @property
    def height(self) -> float:
        """Value by which lines are sorted: their mean."""
        return float(np.mean(self.means))

    @property
    def median(self) -> float:
        """Value by which distributions are sorted."""
        return next((x for x, share in zip(self.xs, self.means, strict=True) if share >= 0.5), self.xs[-1])


Panel = tuple[str, str, list[Drawn]]
"""A panel with lines: its title, measure, lines."""


def parse(text: str, data: Data) -> PlotSpec:
    """Read a plot's text for a sweep.

    Raises:
        SweepError: the text cannot be read, or names what the sweep does not have.
    """
    factors = {f["name"]: (data.numeric(f["name"]), data.levels(f["name"])) for f in data.factors}
    measures = {name: str(m["title"]) for name, m in data.document["measures"].items()}
    titles = {f["name"]: str(f["title"]) for f in data.factors}
    labels = {
        f["name"]: [
            (x["value"], str(said))
            for x in f.get("levels", ())
            if x["value"] in factors[f["name"]][1]
            for said in (x["name"], x.get("title", x["name"]))
        ]
        for f in data.factors
    }
    return parse_plot(text, measures, factors, titles, labels)


def draw(data: Data, spec: PlotSpec) -> Figure:
    """One figure.

    Raises:
        SweepError: the sweep has nothing to draw there.
    """
    for name in (spec.by, spec.panels):
        if name is not None and len(data.levels(name)) > MOST:
            raise SweepError(
                f'plot "{spec.text}": {name} has {len(data.levels(name))} levels; allowed {MOST}; choose some by "at"'
            )
    with plotting.styled():
        return {
            "lines": _lines,
            "points": _points,
            "box": _boxes,
            "ellipse": _ellipses,
            "cdf": _distributions,
            "ccdf": _distributions,
            "time": _over_time,
        }[spec.kind](data, spec)


def write(folder: Path, data: Data, texts: Sequence[str], formats: Sequence[str]) -> list[Path]:
    """Write the figures that the texts name, or without any the plane and the load curves, into `folder/figures`.

    Raises:
        SweepError: a text cannot be read, or nothing can be drawn.
    """
    specs = [parse(text, data) for text in texts]
    slugs = [spec.slug for spec in specs]
    names = [slug if slugs.index(slug) == k else f"{slug}-{k + 1}" for k, slug in enumerate(slugs)]
    made: list[tuple[str, Figure | None]] = [(name, draw(data, spec)) for name, spec in zip(names, specs, strict=True)]
    if not made:
        planes = [plots.plane(data, pair) for pair in plots.pairs(data)]
        made = [(f"plane-{k}" if k > 1 else "plane", one) for k, one in enumerate(planes, 1)]
        made.append(("curves", plots.curves(data)))
    drawn = [(name, one) for name, one in made if one is not None]
    if not drawn:
        raise SweepError("the sweep has neither delay and goodput nor a numeric factor; choose figures by --plot")
    where = folder / "figures"
    if where.is_symlink():
        raise SweepError(f"{where}: is a link, which no result has")
    disk.make_folders(where)
    return [path for name, one in drawn for path in plotting.save(one, where / name, formats=formats)]


# ---- what is drawn -------------------------------------------------------------------------------------------------


def _choices(data: Data, name: str | None, spec: PlotSpec) -> list[Any]:
    """The levels of a factor that are drawn; [None] for no factor."""
    if name is None:
        return [None]
    return [spec.at[name]] if name in spec.at else list(data.levels(name))


def _select(data: Data, spec: PlotSpec, **levels: Any) -> Array:
    return data.points_at(**{**spec.at, **{k: v for k, v in levels.items() if v is not None}})


def _title(data: Data, name: str | None, level: Any) -> str:
    """A panel's title: names and titles speak for themselves, numbers need their factor."""
    if name is None:
        return ""
    called = data.called(name, level)
    if not data.numeric(name) or data.titled(name, level) is not None:
        return called
    factor = data.factor(name)
    title = str(factor["title"])
    # The panel is narrow: a long title that nobody gave is left out.
    if result_file.said(factor) == name and len(title) > 12:
        title = "RTT" if name == "rtt" else name
    return f"{plotting.plain(title)} {called} {factor['unit']}".strip()


def _line(data: Data, measure: str, level: Any, xs: Sequence[Any], cells: Sequence[Array]) -> Drawn:
    found = Drawn(level, [], [], [], [])
    for x, points, values in zip(xs, cells, series_by_seed(data, cells, measure), strict=True):
        if not values:
            continue
        found.short.append(not data.short.isdisjoint(points.tolist()))
        estimate = statistics.estimate(values)
        low, high = estimate.within(data.bounds(measure)) or (estimate.mean, estimate.mean)
        for own, value in zip(
            (found.xs, found.means, found.lows, found.highs), (x, estimate.mean, low, high), strict=True
        ):
            own.append(value)
    return found


def _nothing(spec: PlotSpec) -> SweepError:
    return SweepError(f'plot "{spec.text}": no point of the sweep has these levels and a value')


# ---- lines ---------------------------------------------------------------------------------------------------------


def _lines(data: Data, spec: PlotSpec) -> Figure:
    assert spec.x is not None
    xs = list(spread(_choices(data, spec.x, spec), LEVELS))
    places, columns = _places(data, spec)
    found: list[Panel] = []
    for title, measure, panel, _ in places:
        fixed = {spec.panels: panel} if spec.panels else {}
        lines = [
            _line(
                data,
                measure,
                level,
                xs,
                [_select(data, spec, **fixed, **{spec.x: x}, **({spec.by: level} if spec.by else {})) for x in xs],
            )
            for level in _choices(data, spec.by, spec)
        ]
        found.append((title, measure, [line for line in lines if line.xs]))
    if not any(lines for *_, lines in found):
        raise _nothing(spec)
    count = max(len(lines) for *_, lines in found)
    if count > SHARED:
        if len(places) > 1:
            one = f'without "in {spec.panels}"' if spec.panels else "of one measure"
            raise SweepError(f'plot "{spec.text}": {count} lines in each panel; allowed {SHARED}, or more {one}')
        drawing, axes = _multiples(data, spec, found[0][2])
        for ax in axes:
            _axis(ax, data, spec, xs, spec.measures[0])
        panels.share_labels(axes)
        _note(drawing, any(any(line.short) for line in found[0][2]))
        return drawing
    # What a reader compares has one scale.
    high: panels.Shared = "all" if len(spec.measures) == 1 else "none" if columns is None else "row"
    drawing, axes = panels.grid(len(found), columns=columns, shared=("none", high))
    order = {level: k for k, level in enumerate(_choices(data, spec.by, spec))}
    for ax, (title, measure, lines) in zip(axes, found, strict=True):
        for line in lines:
            own = plotting.look(order[line.level])
            label = "" if line.level is None else _title(data, spec.by, line.level)
            panels.band(ax, line.xs, line.means, (line.lows, line.highs), own, label, line.short)
        _zeros(data, ax, "y", measure, found)
        _axis(ax, data, spec, xs, measure)
        ax.set_title(title)
    panels.share_labels(axes)
    if spec.by:
        panels.legend_of_several(drawing, axes)
    _note(drawing, any(any(line.short) for *_, lines in found for line in lines))
    return drawing


def _zeros(data: Data, ax: Axes, which: Literal["x", "y"], measure: str, found: list[Panel]) -> None:
    """The axis of a measure that is 0 everywhere; panels that share it are all looked at."""
    values = [x for _, of, lines in found if of == measure for line in lines for x in line.means]
    panels.of_zeros(ax, which, values, data.bounds(measure))


def _note(drawing: Figure, hollow: bool) -> None:
    if hollow:
        panels.note(drawing, panels.HOLLOW)


def _axis(ax: Axes, data: Data, spec: PlotSpec, xs: Sequence[Any], measure: str) -> None:
    assert spec.x is not None
    panels.scaled(ax, "x", xs)
    ax.set_xlabel(data.title(spec.x))
    ax.set_ylabel(data.label(measure))


def _multiples(data: Data, spec: PlotSpec, lines: list[Drawn], step: bool = False) -> tuple[Figure, list[Axes]]:
    """A panel per line, sorted by height; the others pale behind it, on the same axes."""
    drawing, axes = panels.grid(len(lines), shared=("all", "all"))
    lines = sorted(lines, key=lambda line: line.median if step and spec.kind == "cdf" else line.height)
    style = "steps-post" if step else "default"
    for ax, line in zip(axes, lines, strict=True):
        for other in lines:
            if other is not line:
                ax.plot(other.xs, other.means, color=PALE, linewidth=0.7, zorder=1, drawstyle=style)
        own = plotting.LOOKS[1]
        ax.fill_between(line.xs, line.lows, line.highs, color=own.colour, alpha=0.25, linewidth=0, zorder=2)
        marker = "" if step else own.marker
        ax.plot(line.xs, line.means, color=own.colour, marker=marker, markersize=3, zorder=3, drawstyle=style)
        for x, mean, short in zip(line.xs, line.means, line.short, strict=False):
            if short:
                panels.hollow_marker(ax, x, mean, own)
        ax.set_title(textwrap.fill(_title(data, spec.by, line.level), plotting.TITLE))
    return drawing, axes


# ---- dots and boxes ------------------------------------------------------------------------------------------------


def _places(data: Data, spec: PlotSpec, across: str | None = None) -> tuple[list[Place], int | None]:
    """The panels, and how many stand side by side, if that is fixed: with several measures each has a row of its own.

    `across` is a further factor with a panel for each level.
    """
    beside = [(p, x) for p in _choices(data, spec.panels, spec) for x in _choices(data, across, spec)]
    several = len(spec.measures) > 1 and len(beside) > 1
    most = BESIDE if several else MOST
    if len(beside) > most:
        side = " side by side" if several else ""
        raise SweepError(f'plot "{spec.text}": {len(beside)} panels{side}; allowed {most}; choose some by "at"')
    named = [", ".join(t for t in (_title(data, spec.panels, p), _title(data, across, x)) if t) for p, x in beside]
    titles = [textwrap.fill(title, plotting.TITLE) for title in named]
    places = [(title, m, p, x) for m in spec.measures for title, (p, x) in zip(titles, beside, strict=True)]
    return places, len(beside) if several else None


def _rows(data: Data, spec: PlotSpec) -> list[Any]:
    """The names of the rows, lowest of the first measure first."""
    levels = _choices(data, spec.by, spec)
    means = []
    for level in levels:
        values = data.means[spec.measures[0]][_select(data, spec, **({spec.by: level} if spec.by else {}))]
        known = values[~np.isnan(values)]
        means.append(float(known.mean()) if len(known) else math.inf)
    return [levels[k] for k in np.argsort(means, kind="stable")]


def _cells(data: Data, spec: PlotSpec, rows: list[Any], measure: str, panel: Any, x: Any) -> list[list[float]]:
    fixed = {k: v for k, v in ((spec.panels, panel), (spec.x, x)) if k is not None}
    cells = [_select(data, spec, **fixed, **({spec.by: row} if spec.by else {})) for row in rows]
    return series_by_seed(data, cells, measure)


def _in_rows(data: Data, spec: PlotSpec, paint: Callable[[Axes, int, list[float], str, bool], None]) -> Figure:
    """A row for each level of the lines' factor; `paint` draws the runs of one row and measure."""
    rows, (places, columns) = _rows(data, spec), _places(data, spec, spec.x)
    # What a reader compares has one scale.
    along: panels.Shared = "all" if len(spec.measures) == 1 else "none" if columns is None else "row"
    names = [_title(data, spec.by, row) if spec.by else "all points" for row in rows]
    names = [textwrap.fill(name, plotting.NAME) for name in names]
    high = len(rows) * (1 + 0.6 * max(name.count("\n") for name in names))
    drawing, axes = panels.grid(len(places), columns=columns, rows=high, shared=(along, "all"))
    some = hollow = False
    every: dict[str, list[float]] = {}
    for ax, (title, measure, panel, x) in zip(axes, places, strict=True):
        for row, values in enumerate(_cells(data, spec, rows, measure, panel, x)):
            if values:
                some = True
                every.setdefault(measure, []).extend(values)
                fixed = {n: v for n, v in ((spec.panels, panel), (spec.x, x), (spec.by, rows[row])) if n is not None}
                empty = not data.short.isdisjoint(_select(data, spec, **fixed).tolist())
                hollow |= empty
                paint(ax, row, values, measure, empty)
        ax.set_yticks(range(len(rows)), names)
        ax.set_ylim(len(rows) - 0.5, -0.5)
        ax.margins(x=0.08)
        ax.grid(axis="y", visible=False)
        ax.set_xlabel(data.label(measure))
        ax.set_title(title)
    if not some:
        raise _nothing(spec)
    for ax, (_, measure, _, _) in zip(axes, places, strict=True):
        panels.of_zeros(ax, "x", every.get(measure, ()), data.bounds(measure))
    panels.share_labels(axes)
    _note(drawing, hollow)
    return drawing


def _points(data: Data, spec: PlotSpec) -> Figure:
    """Mean and interval of each level, a row each, sorted by the measure."""

    def paint(ax: Axes, row: int, values: list[float], measure: str, hollow: bool) -> None:
        own = plotting.LOOKS[1]
        estimate = statistics.estimate(values)
        ends = estimate.within(data.bounds(measure))
        if ends:
            ax.plot(ends, [row, row], color=own.colour, solid_capstyle="butt")
        face = "white" if hollow else own.colour
        ax.plot([estimate.mean], [row], marker="o", color=own.colour, markerfacecolor=face, linestyle="none")

    return _in_rows(data, spec, paint)


def _boxes(data: Data, spec: PlotSpec) -> Figure:
    """Quartiles, whiskers to the furthest run within 1.5 quartile distances, single runs beyond them."""

    def paint(ax: Axes, row: int, values: list[float], _: str, hollow: bool) -> None:
        line = {"color": "#333333", "linewidth": 0.9}
        ax.boxplot(
            [values],
            positions=[row],
            orientation="horizontal",
            widths=0.6,
            manage_ticks=False,
            patch_artist=True,
            boxprops={"facecolor": "white" if hollow else "#cfe3f1", "edgecolor": "#333333", "linewidth": 0.9},
            medianprops={"color": plotting.LOOKS[1].colour, "linewidth": 1.6},
            whiskerprops=line,
            capprops=line,
            flierprops={"marker": ".", "markersize": 3, "markeredgecolor": "#333333"},
        )

    return _in_rows(data, spec, paint)


# ---- two measures --------------------------------------------------------------------------------------------------


def _ellipses(data: Data, spec: PlotSpec) -> Figure:
    """Two measures: each run a dot, the mean of each level, the ellipse of one standard deviation of its runs."""
    assert spec.x is not None
    places, columns = _places(data, spec)
    same: panels.Shared = "all" if len(spec.measures) == 1 else "none" if columns is None else "row"
    drawing, axes = panels.grid(len(places), columns=columns, high=1.25, shared=("all", same))
    levels = _choices(data, spec.by, spec)
    some = hollow = False
    for ax, (title, measure, panel, _) in zip(axes, places, strict=True):
        for k, level in enumerate(levels):
            fixed = {n: v for n, v in ((spec.panels, panel), (spec.by, level)) if n is not None}
            runs = data.runs(_select(data, spec, **fixed), [spec.x, measure]).drop_nulls()
            both = runs.select(spec.x, measure).to_numpy()
            if not len(both):
                continue
            some = True
            own = plotting.look(k)
            many = len(levels) > SHARED
            colour = own.colour if not many else plotting.LOOKS[1].colour
            ax.plot(*both.T, linestyle="none", marker=".", markersize=2.5, color=colour, alpha=0.4)
            ellipse(ax, both, colour)
            x, y = both.mean(axis=0)
            label = "" if level is None or many else _title(data, spec.by, level)
            empty = not data.short.isdisjoint(_select(data, spec, **fixed).tolist())
            hollow |= empty
            face = "white" if empty else colour
            ax.plot(
                [x],
                [y],
                linestyle="none",
                marker=own.marker if not many else "o",
                color=colour,
                markerfacecolor=face,
                label=label,
            )
            if many:
                called = data.called(spec.by, level)
                ax.annotate(called, (x, y), xytext=(4, 3), textcoords="offset points", fontsize="x-small")
        ax.set_xlabel(data.label(spec.x))
        ax.set_ylabel(data.label(measure))
        ax.set_title(title)
        ax.margins(0.1)
    if not some:
        raise _nothing(spec)
    panels.share_labels(axes)
    if spec.by and len(levels) <= SHARED:
        panels.legend_of_several(drawing, axes)
    _note(drawing, hollow)
    return drawing


# ---- runs made again -----------------------------------------------------------------------------------------------


def _again(data: Data, points: Array, record: list[tuple[str, str]], seeds: int | None, spec: PlotSpec) -> list[Any]:
    """The results of the runs of some points, made again with more recorded; all seeds of each, or the first few."""
    wanted = [p for k, p in enumerate(data.document["points"]) if k in set(points.tolist())]
    count = sum(p["seeds"] if seeds is None else min(seeds, p["seeds"]) for p in wanted)
    if count > RUNS:
        raise SweepError(f'plot "{spec.text}": {count:,} runs would be made again; allowed {RUNS}; choose some by "at"')
    found = []
    for point in wanted:
        scenario = _core.Scenario.parse(data.document["scenario"], [*point["set"].items(), *record])
        last = point["seeds"] if seeds is None else min(seeds, point["seeds"])
        found += [json.loads(scenario.run(point["first_seed"] + k)) for k in range(last)]
    return found


def _distributions(data: Data, spec: PlotSpec) -> Figure:
    """The share of packets whose queueing delay is at most (`cdf`), or above (`ccdf`), each value; all seeds pooled."""
    chosen, levels = _choices(data, spec.panels, spec), _choices(data, spec.by, spec)
    above = spec.kind == "ccdf"
    found: list[tuple[str, list[Drawn]]] = []
    for panel in chosen:
        lines = []
        for level in levels:
            fixed = {n: v for n, v in ((spec.panels, panel), (spec.by, level)) if n is not None}
            delays, shares = _shares(data, _select(data, spec, **fixed), above, spec)
            if delays:
                lines.append(Drawn(level, delays, shares, shares, shares))
        found.append((_title(data, spec.panels, panel), lines))
    if not any(lines for _, lines in found):
        raise _nothing(spec)
    if max(len(lines) for _, lines in found) > SHARED and not spec.panels:
        drawing, axes = _multiples(data, spec, found[0][1], step=True)
    else:
        drawing, axes = panels.grid(len(found), high=1.1)
        order = {level: k for k, level in enumerate(levels)}
        for ax, (title, lines) in zip(axes, found, strict=True):
            for line in lines:
                own = plotting.look(order[line.level])
                label = "" if line.level is None else _title(data, spec.by, line.level)
                ax.step(line.xs, line.means, where="post", color=own.colour, linestyle=own.dashes, label=label)
            ax.set_title(title)
        if spec.by:
            panels.legend_of_several(drawing, axes)
    for ax in axes:
        ax.set_xlabel("Queueing delay (ms)")
        ax.set_ylabel("Share of packets above" if above else "Share of packets")
        ax.set_xlim(left=0)
        if above:
            ax.set_yscale("log")
        else:
            ax.set_ylim(0, 1.02)
    panels.share_labels(axes)
    return drawing


def _shares(data: Data, points: Array, above: bool, spec: PlotSpec) -> tuple[list[float], list[float]]:
    """Queueing delays of some points, ms, and the share of packets with at most, or more than, each."""
    counts: dict[float, int] = {}
    for run in _again(data, points, [("record.delay_histogram", "true")], None, spec):
        one = run["queues"][data.document["queue"]]["delay_histogram"]
        for delay, packets in zip(one["delay_ms"], one["packets"], strict=True):
            counts[delay] = counts.get(delay, 0) + packets
    delays = sorted(counts)
    share = np.cumsum([counts[d] for d in delays]) / max(1, sum(counts.values()))
    if above:
        # Above the longest delay there is no packet, and a logarithmic axis has no zero.
        return delays[:-1], (1 - share[:-1]).tolist()
    return delays, share.tolist()


def _over_time(data: Data, spec: PlotSpec) -> Figure:
    """What the text names over time: a row of panels per level, of the first seed."""
    levels = _choices(data, spec.by, spec)
    queue = data.document["queue"]
    chosen = [(panel, level) for panel in _choices(data, spec.panels, spec) for level in levels]
    if len(chosen) * len(spec.over_time) > MOST:
        many = len(chosen) * len(spec.over_time)
        raise SweepError(f'plot "{spec.text}": {many} panels; allowed {MOST}; choose some by "at"')
    # All panels have the same axes: a limit that is set early would cut what comes later.
    documents = list(data.document["points"])
    rows = []
    for panel, level in chosen:
        fixed = {n: v for n, v in ((spec.panels, panel), (spec.by, level)) if n is not None}
        points = _select(data, spec, **fixed)
        title = ", ".join(t for t in (_title(data, spec.panels, panel), _title(data, spec.by, level)) if t)
        if not len(points):
            raise _nothing(spec)
        rows.append((title, _series(data, spec, documents[int(points[0])])))
    found = [name for _, series in rows for name in _over(series, queue)]
    for name in spec.over_time:
        if name not in found:
            there = ", ".join(dict.fromkeys(found))
            more = f"; {name} needs record.cwnd_flows in the scenario" if name in plotting.SENDERS else ""
            raise SweepError(f'plot "{spec.text}": no run has {name}; allowed {there}{more}')
    one = spec.over_time == (QUEUE,)
    columns = len(spec.over_time)
    shared: tuple[panels.Shared, panels.Shared] = ("all", "all") if one else ("none", "none")
    drawing, axes = panels.grid(len(rows) * columns, columns=columns, high=0.62, shared=shared)
    for k, ax in enumerate(axes):
        (title, series), name = rows[k // columns], spec.over_time[k % columns]
        lines = _over(series, queue).get(name, {})
        for at, (label, values) in enumerate(lines.items()):
            known = [math.nan if value is None else value for value in values]
            colour = "#000000" if label == "average" else plotting.look(at + 1).colour
            ax.plot(series["time_s"], known, color=colour, linewidth=1.1 if label == "average" else 0.6, label=label)
        if not lines:
            ax.text(0.5, 0.5, f"has no {name}", ha="center", va="center", transform=ax.transAxes)
            ax.set_xlim(0, series["time_s"][-1])
        ax.set_title(title)
        ax.set_xlabel("Time (s)")
        ax.set_ylabel("Packets" if name == QUEUE else plotting.SENDERS.get(name, name))
        ax.margins(x=0)
    for name, column in zip(spec.over_time, (axes[k::columns] for k in range(columns)), strict=True):
        # What a reader compares has one scale.
        ends = [ax.get_ylim() for ax in column if ax.lines]
        for ax in column:
            ax.set_ylim(0 if name == QUEUE else min(low for low, _ in ends), max(high for _, high in ends))
    if one:
        panels.share_labels(axes)
    panels.legend_of_several(drawing, axes)
    return drawing


def _series(data: Data, spec: PlotSpec, point: Document) -> Document:
    """The series of the first seed of a point, which is run again."""
    scenario, sets = data.document["scenario"], list(point["set"].items())
    seen, _ = watched(_core.Scenario.parse(scenario, sets), scenario, sets)
    if spec.over_time != (QUEUE,):
        interval = json.loads(seen.to_json())["record"]["series"]
        more = [("record.series", json.dumps(interval)), ("record.gauges", "true")]
        seen = _core.Scenario.parse(scenario, [*sets, *more])
    found: Document = json.loads(seen.run(point["first_seed"]))["series"]
    return found


def _over(series: Document, queue: str) -> dict[str, dict[str, Sequence[float | None]]]:
    """The lines that series have of a queue and of senders, by name and label."""
    own = series["queues"][queue]
    lines = {"queue": own["packets"], **({"average": own["average"]} if own.get("average") else {})}
    found = {QUEUE: lines, **{name: {name: values} for name, values in own.get("gauges", {}).items()}}
    for key in plotting.SENDERS:
        flows = {f"flow {flow['id']}": flow[key] for flow in series.get("flows") or [] if flow.get(key)}
        if flows:
            found[key] = dict(list(flows.items())[:SHARED])
    return found
