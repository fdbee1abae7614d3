"""Comparisons as figures: means with 95 % intervals for each discipline, one panel for each measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import plotting
from .panels import band, entries, legend, of_zeros, scaled
from .plotting import PAGE, figure, look, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..analysis.paired import Comparison
    from ..analysis.quantity import Quantity

COLUMNS = 3
ALONE = 4.6
"""Width of a figure with a single panel, in inches."""


def drawn_measures(results: Sequence[Comparison], measures: Sequence[str] | None) -> list[Quantity]:
    """The measures to draw: those asked for, else those that comparisons draw and that have values."""
    first = results[0]
    if measures is not None:
        return [next(m for m in first.measures if m.id == name) for name in measures]
    there = [m for m in first.measures if any(r.series(a, m.id) for r in results for a in r.aqms)]
    return plotting.drawn(there)


def comparison(
    results: Sequence[tuple[str, Comparison]], measures: Sequence[str] | None, along: str, xs: Sequence[float]
) -> Figure:
    """A comparison, or several of the same disciplines at the places `xs` of an axis of that name."""
    chosen = drawn_measures([result for _, result in results], measures)
    if len(results) == 1:
        return plotting.comparison(results[0][1], chosen)
    columns = min(COLUMNS, len(chosen))
    rows = -(-len(chosen) // columns)
    placed = sorted(zip(xs, (result for _, result in results), strict=True), key=lambda one: one[0])
    with styled():
        wide = PAGE if columns > 1 else ALONE
        drawing = figure(wide, 0.35 + 1.9 * rows)
        axes = drawing.subplots(rows, columns, squeeze=False)
        for k, ax in enumerate(axes.flat):
            if k >= len(chosen):
                ax.set_visible(False)
                continue
            _panel(ax, placed, chosen[k])
            # Panels with another below them need no title of the axis.
            if k + columns >= len(chosen):
                ax.set_xlabel(along)
        legend(drawing, entries([axes.flat[0]]))
        plotting.explain(drawing, [result for _, result in results])
    return drawing


def _panel(ax: Axes, placed: Sequence[tuple[float, Comparison]], measure: Quantity) -> None:
    """One measure: a line for each discipline."""
    first = placed[0][1]
    for index, aqm in enumerate(first.aqms):
        found = [(x, e, r.short(aqm)) for x, r in placed if (e := r.estimate(aqm, measure.id)) is not None]
        ends = [e.within(measure.bounds) or (e.mean, e.mean) for _, e, _ in found]
        lows, highs = [low for low, _ in ends], [high for _, high in ends]
        xs, means, short = [x for x, *_ in found], [e.mean for _, e, _ in found], [short for *_, short in found]
        band(ax, xs, means, (lows, highs), look(index), plotting.plain(first.titles[aqm]), short)
    scaled(ax, "x", [x for x, _ in placed])
    ax.locator_params(axis="y", nbins=5)
    ax.margins(y=0.1)
    ax.set_ylim(*plotting.no_closer(ax.get_ylim(), measure))
    every = [e.mean for aqm in first.aqms for _, r in placed if (e := r.estimate(aqm, measure.id)) is not None]
    of_zeros(ax, "y", every, measure.bounds)
    ax.set_title(plotting.plain(measure.label), fontsize=8, fontweight="normal")
