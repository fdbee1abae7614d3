"""Comparisons as figures: a dot with its 95 % interval for each discipline, one panel for each measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import plotting
from .panels import entries, legend
from .plotting import PAGE, figure, look, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..analysis.paired import Comparison
    from ..analysis.quantity import Quantity

COLUMNS = 3
ALONE = 4.6
"""Width of a figure with a single panel, in inches."""
SPREAD, STEP = 0.6, 0.09
"""Distances of disciplines side by side, as shares of that of two conditions: of all together, and of neighbours."""


def drawn_measures(results: Sequence[Comparison], measures: Sequence[str] | None) -> list[Quantity]:
    """The measures to draw: those asked for, else those that comparisons draw and that have values."""
    first = results[0]
    if measures is not None:
        return [next(m for m in first.measures if m.id == name) for name in measures]
    return [m for m in first.measures if m.drawn and any(r.series(a, m.id) for r in results for a in r.aqms)]


def comparison(results: Sequence[tuple[str, Comparison]], measures: Sequence[str] | None, along: str) -> Figure:
    """A comparison, or several of the same disciplines along an axis of that name: the pairs have its values."""
    chosen = drawn_measures([result for _, result in results], measures)
    if len(results) == 1:
        return plotting.comparison(results[0][1], chosen)
    columns = min(COLUMNS if len(results) <= 4 else 2, len(chosen))
    rows = -(-len(chosen) // columns)
    with styled():
        wide = PAGE if columns > 1 else ALONE
        drawing = figure(wide, 0.35 + 1.9 * rows)
        axes = drawing.subplots(rows, columns, squeeze=False)
        for k, ax in enumerate(axes.flat):
            if k >= len(chosen):
                ax.set_visible(False)
                continue
            _panel(ax, results, chosen[k])
            # Panels with another below them need no title of the axis.
            if k + columns >= len(chosen):
                ax.set_xlabel(along)
        legend(drawing, entries([axes.flat[0]]))
        plotting.explain(drawing, results[0][1])
    return drawing


def _panel(ax: Axes, results: Sequence[tuple[str, Comparison]], measure: Quantity) -> None:
    """One measure: the conditions from left to right, the disciplines beside each other at each."""
    first = results[0][1]
    step = min(STEP, SPREAD / max(1, len(first.aqms) - 1))
    for index, aqm in enumerate(first.aqms):
        own = look(index)
        xs, ys, below, above = [], [], [], []
        for place, (_, result) in enumerate(results):
            estimate = result.estimate(aqm, measure.id)
            if estimate is None:
                continue
            ends = estimate.within(measure.bounds) or (estimate.mean, estimate.mean)
            xs.append(place + (index - (len(first.aqms) - 1) / 2) * step)
            ys.append(estimate.mean)
            below.append(estimate.mean - ends[0])
            above.append(ends[1] - estimate.mean)
        ax.plot(xs, ys, color=own.colour, linestyle=own.dashes, linewidth=0.7, alpha=0.45, zorder=2)
        ax.errorbar(
            xs,
            ys,
            yerr=[below, above],
            linestyle="none",
            marker=own.marker,
            color=own.colour,
            capsize=2,
            linewidth=1.1,
            label=plotting.plain(first.titles[aqm]),
        )
    ax.set_xticks(range(len(results)), [label for label, _ in results])
    ax.set_xlim(-0.5, len(results) - 0.5)
    for place in range(len(results) - 1):
        ax.axvline(place + 0.5, color="#e3e3e3", linewidth=0.6, zorder=0)
    ax.grid(axis="x", visible=False)
    ax.locator_params(axis="y", nbins=5)
    ax.margins(y=0.1)
    ax.set_ylim(*plotting.no_closer(ax.get_ylim(), measure))
    ax.set_title(plotting.plain(measure.label), fontsize=8, fontweight="normal")
