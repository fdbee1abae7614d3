"""Data of a study's figures: points, bars, steps. `plots.py` draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from ..analysis import statistics
from ..document import MISSING
from .experiment import Axis, Cell, Experiment, Measure, Selection, in_sentence
from .model import Figure
from .runs import Outcome, extractions_of, seeds_of
from .select import average_cells

MOST_STEPS = 1500
"""The most points of a distribution function that are drawn."""


@dataclass(frozen=True)
class Curve:
    """One line, or one row of bars."""

    title: str
    look: int
    """Position of the curve's level on the axis: the same level looks the same in every figure."""
    of: int
    """Number of levels on the axis."""
    xs: Sequence[float]
    ys: Sequence[float]
    lows: Sequence[float] = ()
    highs: Sequence[float] = ()
    printed: Sequence[tuple[float, float]] = ()
    """The paper's points."""
    role: str = ""
    """In a time series: "average" for a slow line, "moving" for the fast one that it is the average of."""
    centre: tuple[float, float] | None = None
    """In a plane, the medians."""
    outline: tuple[Sequence[float], Sequence[float]] = ((), ())
    """In a plane, the ellipse of the Gaussian that fits the points."""


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    y_label: str
    curves: tuple[Curve, ...]
    words: str = ""
    """Text beside the curves."""
    x_label: str = ""
    """Label of the panel's own axis, where panels differ."""


@dataclass(frozen=True)
class Data:
    """Everything a figure shows."""

    figure: Figure
    panels: tuple[Panel, ...]
    x_label: str
    ticks: tuple[tuple[float, str], ...] = ()
    """Places and names on an axis without numbers."""
    columns: int = 1
    text: str = ""
    """Text below the figure."""
    bars: bool = field(default=False)


def data(outcome: Outcome, figure: Figure) -> Data:
    """The data that a figure shows."""
    make = {
        "lines": _lines,
        "bars": _bars,
        "series": _series,
        "cdf": _distribution,
        "histogram": _histogram,
        "differences": _differences,
        "scatter": _scatter,
        "plane": _plane,
    }[figure.kind]
    found = make(outcome, figure, outcome.study.experiment(figure.experiment))
    over = _averaged(outcome, figure)
    if over:
        found = replace(found, text=f"{found.text} Averaged over {over}.".strip())
    return found


def _averaged(outcome: Outcome, figure: Figure) -> str:
    """Axes over which a figure of measures is averaged."""
    if figure.kind not in {"lines", "bars"}:
        return ""
    e = outcome.study.experiment(figure.experiment)
    used = {figure.x, figure.lines, figure.panels, *(n for n, i in figure.at.items() if len(i) == 1)}
    return " and ".join(in_sentence(a.title) for a in e.axes if a.id not in used and not a.reading and len(a.ids) > 1)


def _levels(e: Experiment, name: str, chosen: Selection) -> list[str]:
    """Levels of an axis that a figure shows; a single nameless one without an axis."""
    return [i for i in e.axis(name).ids if name not in chosen or i in chosen[name]] if name else [""]


def _with(chosen: Selection, name: str, level: str) -> Selection:
    return {**chosen, name: (level,)} if name else chosen


def _look(e: Experiment, name: str, level: str) -> tuple[int, int]:
    return (e.axis(name).ids.index(level), len(e.axis(name).ids)) if name else (0, 1)


def _title(e: Experiment, name: str, level: str) -> str:
    return e.say(e.axis(name), level) if name else ""


def _ticks(axis: Axis, levels: Sequence[str]) -> tuple[tuple[float, str], ...]:
    if axis.numeric:
        return ()
    return tuple((float(k), axis.level(i).title) for k, i in enumerate(levels))


def _place(axis: Axis, levels: Sequence[str], name: str) -> float | None:
    """Where a level stands: at its number, or in the order in which the levels are shown."""
    if axis.numeric:
        return axis.place(name) if name in axis.ids else float(name)
    return float(levels.index(name)) if name in levels else None


# ---- measures ------------------------------------------------------------------------------------------------------


def _lines(outcome: Outcome, figure: Figure, e: Experiment) -> Data:
    measures = [outcome.study.measure(name) for name in figure.measures]
    panels = []
    for measure in measures:
        for panel in _levels(e, figure.panels, figure.at):
            chosen = _with(figure.at, figure.panels, panel)
            curves = []
            for level in _levels(e, figure.lines, figure.at):
                curve = _curve(outcome, figure, e, measure, _with(chosen, figure.lines, level), level)
                if curve is not None:
                    curves.append(curve)
            panels.append(Panel(_title(e, figure.panels, panel), measure.label, tuple(curves)))
    columns = len(panels) // len(measures) if len(measures) > 1 else 0
    ticks = () if figure.x == "seed" else _ticks(e.axis(figure.x), _levels(e, figure.x, figure.at))
    label = "Seed" if figure.x == "seed" else e.axis(figure.x).label
    return Data(figure, tuple(panels), label, ticks, columns)


def _curve(
    outcome: Outcome, figure: Figure, e: Experiment, measure: Measure, chosen: Selection, level: str
) -> Curve | None:
    look, count = _look(e, figure.lines, level)
    title = _title(e, figure.lines, level)
    if figure.x == "seed":
        values = outcome.mean_by_seed(e, average_cells(e, chosen), measure.id)
        printed = [(float(k), v) for k, v in _printed(figure, e, measure, chosen, "seed")]
        return Curve(title, look, count, [float(s) for s in seeds_of(e)], values, printed=printed) if values else None
    axis, shown = e.axis(figure.x), _levels(e, figure.x, figure.at)
    xs, ys, lows, highs = [], [], [], []
    for x in shown:
        place = _place(axis, shown, x)
        found = outcome.estimate(e, average_cells(e, _with(chosen, figure.x, x)), measure.id)
        if found is not None and place is not None:
            low, high = found.within(measure.bounds) or (found.mean, found.mean)
            xs.append(place)
            ys.append(found.mean)
            lows.append(low)
            highs.append(high)
    known = [(_place(axis, shown, x), value) for x, value in _printed(figure, e, measure, chosen, figure.x)]
    points = [(place, value) for place, value in known if place is not None]
    return Curve(title, look, count, xs, ys, lows, highs, sorted(points)) if xs or points else None


def _printed(figure: Figure, e: Experiment, measure: Measure, chosen: Selection, x: str) -> list[tuple[str, float]]:
    """The paper's points of one line."""
    found = []
    for one in figure.printed:
        same = all(level in chosen.get(name, (level,)) for name, level in one.at.items() if name != x)
        if one.measure == measure.id and same and x in one.at:
            found.append((one.at[x], one.value))
    return found


def _bars(outcome: Outcome, figure: Figure, e: Experiment) -> Data:
    return replace(_lines(outcome, figure, e), bars=True)


def _scatter(outcome: Outcome, figure: Figure, e: Experiment) -> Data:
    x, y = (outcome.study.measure(name) for name in figure.measures)
    levels = _levels(e, figure.lines, figure.at)
    panels = []
    for panel in _levels(e, figure.panels, figure.at):
        curves = []
        for level in levels:
            chosen = _with(_with(figure.at, figure.panels, panel), figure.lines, level)
            xs: list[float] = []
            ys: list[float] = []
            for cell in average_cells(e, chosen):
                pairs = zip(outcome.series(e, cell, x.id), outcome.series(e, cell, y.id), strict=True)
                known = [(a, b) for a, b in pairs if a is not None and b is not None]
                if len(levels) > 8 and known:
                    # One point a cell: a cloud of every run would hide the others.
                    known = [(statistics.mean([a for a, _ in known]), statistics.mean([b for _, b in known]))]
                xs += [a for a, _ in known]
                ys += [b for _, b in known]
            look, count = _look(e, figure.lines, level)
            title = _title(e, figure.lines, level)
            curves.append(Curve(title, look, count, xs, ys))
        panels.append(Panel(_title(e, figure.panels, panel), y.label, tuple(curves)))
    each = "One point for each cell: its mean over the seeds." if len(levels) > 8 else "One point for each run."
    return Data(figure, tuple(panels), x.label, text=each)


OUTLINE = 72
"""Points of an ellipse."""


def ellipse(xs: Sequence[float], ys: Sequence[float], epsilon: float) -> tuple[list[float], list[float]]:
    """The contour that holds 1 - epsilon of the Gaussian of maximum likelihood for points in the plane.

    A Gaussian in the plane leaves exp(-r^2 / 2) outside r standard deviations. Fewer than three points have none.
    """
    n = len(xs)
    if n < 3:
        return [], []
    mx, my = statistics.mean(xs), statistics.mean(ys)
    dx, dy = [x - mx for x in xs], [y - my for y in ys]
    a, b = math.fsum(d * d for d in dx) / n, math.fsum(d * d for d in dy) / n
    c = math.fsum(p * q for p, q in zip(dx, dy, strict=True)) / n
    # The covariance is L L', with L below the diagonal; L maps the circle to the contour.
    r = math.sqrt(-2 * math.log(epsilon))
    l11 = math.sqrt(a)
    l21 = c / l11 if l11 else 0.0
    l22 = math.sqrt(max(0.0, b - l21 * l21))
    turns = [2 * math.pi * k / OUTLINE for k in range(OUTLINE + 1)]
    u, v = [r * math.cos(w) for w in turns], [r * math.sin(w) for w in turns]
    return [mx + l11 * p for p in u], [my + l21 * p + l22 * q for p, q in zip(u, v, strict=True)]


def _plane(outcome: Outcome, figure: Figure, e: Experiment) -> Data:
    panels, several = [], False
    for plane in figure.planes:
        x, y = outcome.study.measure(plane.x), outcome.study.measure(plane.y)
        for panel in _levels(e, figure.panels, figure.at):
            curves = []
            for level in _levels(e, figure.lines, figure.at):
                chosen = _with(_with(figure.at, figure.panels, panel), figure.lines, level)
                cells = average_cells(e, chosen)
                several = several or len(cells) > 1
                points = _points(outcome, e, cells, x.id, y.id)
                look, count = _look(e, figure.lines, level)
                if points:
                    xs, ys = [a for a, _ in points], [b for _, b in points]
                    centre = (median(xs), median(ys))
                    outline = ellipse(xs, ys, figure.epsilon)
                    title = _title(e, figure.lines, level)
                    curves.append(Curve(title, look, count, xs, ys, centre=centre, outline=outline))
            said = ", ".join(part for part in (plane.title, _title(e, figure.panels, panel)) if part)
            panels.append(Panel(said, y.label, tuple(curves), x_label=x.label))
    what = "each cell's mean over the seeds" if several else "each run"
    text = f"Dots: {what}; marks: medians; ellipses: {100 * (1 - figure.epsilon):.0f} % of the Gaussian that fits them."
    return Data(figure, tuple(panels), "", columns=0, text=text)


def _points(outcome: Outcome, e: Experiment, cells: Sequence[Cell], x: str, y: str) -> list[tuple[float, float]]:
    """The runs of a single cell, or the means of several cells."""
    found = []
    for cell in cells:
        pairs = zip(outcome.series(e, cell, x), outcome.series(e, cell, y), strict=True)
        known = [(a, b) for a, b in pairs if a is not None and b is not None]
        if len(cells) > 1 and known:
            known = [(statistics.mean([a for a, _ in known]), statistics.mean([b for _, b in known]))]
        found += known
    return found


# ---- what needs more of a run than its measures --------------------------------------------------------------------


def _raw(outcome: Outcome, figure: Figure, cell: Cell) -> list[list[Any]]:
    """What was kept of each seed of a cell, in the order of the figure's fields."""
    kept = outcome.drawn.get(figure.id, {}).get(cell, [])
    return [[one[t] for t in extractions_of(figure)] for _, one in kept]


def _known(values: Any, scale: float) -> list[float]:
    if not isinstance(values, list):
        return []
    return [float(v) * scale for v in values if v is not None and v is not MISSING]


def _pooled(outcome: Outcome, figure: Figure, e: Experiment, chosen: Selection) -> list[list[float]]:
    """The list of every run of the chosen cells."""
    runs = [run for cell in average_cells(e, chosen) for run in _raw(outcome, figure, cell)]
    return [_known(run[0], figure.scale) for run in runs]


def _grouped(outcome: Outcome, figure: Figure, e: Experiment, make: Any, y_label: str) -> tuple[Panel, ...]:
    panels = []
    for panel in _levels(e, figure.panels, figure.at):
        curves = []
        for level in _levels(e, figure.lines, figure.at):
            chosen = _with(_with(figure.at, figure.panels, panel), figure.lines, level)
            xs, ys, lows, highs = make(_pooled(outcome, figure, e, chosen))
            look, count = _look(e, figure.lines, level)
            if len(xs):
                curves.append(Curve(_title(e, figure.lines, level), look, count, xs, ys, lows, highs))
        panels.append(Panel(_title(e, figure.panels, panel), y_label, tuple(curves)))
    return tuple(panels)


def _distribution(outcome: Outcome, figure: Figure, e: Experiment) -> Data:
    def steps(runs: list[list[float]]) -> tuple[list[float], list[float], list[float], list[float]]:
        values = sorted(v for run in runs for v in run)
        n = len(values)
        picked = range(n) if n <= MOST_STEPS else sorted({k * (n - 1) // (MOST_STEPS - 1) for k in range(MOST_STEPS)})
        return [values[k] for k in picked], [(k + 1) / n for k in picked], [], []

    panels = _grouped(outcome, figure, e, steps, "Share of all")
    return Data(figure, panels, figure.label or "Time (s)", text=_seeds_text(outcome, figure, e, "pooled over"))


def _histogram(outcome: Outcome, figure: Figure, e: Experiment) -> Data:
    def counts(runs: list[list[float]]) -> tuple[list[float], list[float], list[float], list[float]]:
        width = max((len(run) for run in runs), default=0)
        filled = [[*run, *[0.0] * (width - len(run))] for run in runs]
        found = [statistics.estimate([run[k] for run in filled]) for k in range(width)]
        # Counts are never negative.
        ends = [x.within((0.0, math.inf)) or (x.mean, x.mean) for x in found]
        return [float(k) for k in range(width)], [x.mean for x in found], [a for a, _ in ends], [b for _, b in ends]

    panels = _grouped(outcome, figure, e, counts, "Packets")
    text = _seeds_text(outcome, figure, e, "mean over")
    return Data(figure, panels, figure.label or "Distance", text=text, bars=True)


def _seeds_text(outcome: Outcome, figure: Figure, e: Experiment, how: str) -> str:
    if figure.seed is not None:
        return f"Seed {figure.seed}."
    return f"{how.capitalize()} {e.seeds} seeds." if e.seeds > 1 else f"Seed {e.first_seed}."


def _series(outcome: Outcome, figure: Figure, e: Experiment) -> Data:
    chosen: Selection = {**figure.at, **figure.of}
    panels = []
    for panel in _levels(e, figure.panels, chosen):
        cells = average_cells(e, _with(chosen, figure.panels, panel))
        runs = [run for cell in cells for run in _raw(outcome, figure, cell)]
        curves = []
        for k, line in enumerate(figure.series):
            found = runs[0][k] if runs else None
            if isinstance(found, list) and len(found) == 2:
                pairs = [(t, v * line.scale) for t, v in zip(*found, strict=True) if v is not None]
                xs, ys = [t for t, _ in pairs], [v for _, v in pairs]
                curves.append(Curve(line.title, k, len(figure.series), xs, ys, role=_role(figure, k)))
        panels.append(Panel(_title(e, figure.panels, panel), figure.label or _series_label(figure), tuple(curves)))
    seed = figure.seed if figure.seed is not None else e.first_seed
    several = any(len(average_cells(e, _with(chosen, figure.panels, p))) > 1 for p in _levels(e, figure.panels, chosen))
    more = " The first of several cells is shown." if several else ""
    return Data(figure, tuple(panels), "Time (s)", columns=1, text=f"Seed {seed}.{more}")


def _role(figure: Figure, place: int) -> str:
    last = [line.extraction.field.rpartition(".")[2] for line in figure.series]
    if "average" not in last:
        return ""
    return "average" if last[place] == "average" else "moving"


def _series_label(figure: Figure) -> str:
    names = {"packets": "Packets", "average": "Packets", "cwnd": "Segments", "dropped": "Packets dropped"}
    last = [line.extraction.field.rpartition(".")[2] for line in figure.series]
    return names.get(last[0], last[0].replace("_", " ").capitalize())


def _differences(outcome: Outcome, figure: Figure, e: Experiment) -> Data:
    panels, texts = [], []
    for panel in _levels(e, figure.panels, figure.at):
        sides = []
        for side in (figure.of, figure.to):
            chosen = _with({**figure.at, **side}, figure.panels, panel)
            runs = [run for cell in average_cells(e, chosen) for run in _raw(outcome, figure, cell)]
            sides.append(runs[0][0] if runs and isinstance(runs[0][0], list) else [])
        pairs = [
            (float(a) - float(b)) * figure.scale
            for a, b in zip(*sides, strict=False)
            if a is not None and b is not None and a is not MISSING and b is not MISSING
        ]
        pairs.sort()
        missing = max(map(len, sides)) - len(pairs)
        title = _title(e, figure.panels, panel)
        curve = Curve("", 1, 2, [float(k) for k in range(1, len(pairs) + 1)], pairs)
        words = difference_words(pairs, missing, [_names(e, s) for s in (figure.of, figure.to)])
        panels.append(Panel(title, figure.label or "Difference (s)", (curve,) if pairs else (), words))
        texts.append(f"{title}: {words}" if title else words)
    seed = figure.seed if figure.seed is not None else e.first_seed
    return Data(figure, tuple(panels), "Flow, by difference", text=f"Seed {seed}. {' '.join(texts)}")


def difference_words(pairs: Sequence[float], missing: int, names: Sequence[str]) -> str:
    """How many values are smaller and larger, and the surfaces on either side of zero."""
    below, above = [-d for d in pairs if d < 0], [d for d in pairs if d > 0]
    text = (
        f"{names[0]} smaller than {names[1]} in {len(below)} (surface {sum(below):.0f}), "
        f"larger in {len(above)} (surface {sum(above):.0f})"
    )
    equal = len(pairs) - len(below) - len(above)
    text += f", equal in {equal}" if equal else ""
    return text + (f", {missing} without a value" if missing else "") + "."


def _names(e: Experiment, chosen: Selection) -> str:
    return ", ".join(e.axis(name).level(i).title for name, ids in chosen.items() for i in ids)
