"""Styles of figures for papers, pages and slides, and panels whose sizes follow them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .plotting import Look


@dataclass(frozen=True)
class Style:
    """A style: sizes in inches, and changes of the common settings of matplotlib."""

    name: str
    single: float
    """Width of a figure with one panel."""
    full: float
    """Width of a figure with several panels."""
    panel: float
    """Height of a panel."""
    row: float
    """Height of a row with a name beside it."""
    columns: int
    """Panels beside one another."""
    settings: tuple[tuple[str, Any], ...] = ()


_LARGE = {
    "font.size": 15,
    "axes.titlesize": 15,
    "axes.labelsize": 15,
    "xtick.labelsize": 13,
    "ytick.labelsize": 13,
    "legend.fontsize": 13,
    "lines.linewidth": 2.6,
    "lines.markersize": 8,
    "axes.linewidth": 1.0,
    "grid.linewidth": 0.9,
}
STYLES = {
    "paper": Style("paper", 3.5, 7.2, 2.2, 0.19, 3),
    "slides": Style("slides", 10.0, 12.8, 5.0, 0.42, 2, tuple(_LARGE.items())),
}
"""`paper`: one and two columns of a journal page, 8 point. `slides`: 16 to 9, 15 point."""
_chosen: ContextVar[Style] = ContextVar("style", default=STYLES["paper"])


def current() -> Style:
    """The style in use."""
    return _chosen.get()


@contextmanager
def using(name: str) -> Iterator[None]:
    """Draw in one of `STYLES`.

    Raises:
        KeyError: there is no such style.
    """
    token = _chosen.set(STYLES[name])
    try:
        yield
    finally:
        _chosen.reset(token)


Shared = Literal["all", "row", "none"]


def grid(
    count: int,
    *,
    columns: int | None = None,
    rows: float | None = None,
    high: float = 1.0,
    shared: tuple[Shared, Shared] = ("none", "none"),
) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels: `high` times the style's height, or as high as `rows` with names need.

    `shared` says which panels have the same horizontal, and the same vertical axis, to be compared by eye.
    """
    from .drawing import Drawing

    style = current()
    # Four panels stand in a square.
    across = min(count, columns or (2 if count == 4 else style.columns))
    down = math.ceil(count / across)
    each = style.panel * high if rows is None else 0.75 * style.panel / 2.2 + style.row * rows
    width = style.single if count == 1 and rows is None and columns is None else style.full
    drawing = Drawing(figsize=(width, 0.25 + each * down), layout="constrained")
    made = drawing.subplots(down, across, squeeze=False, sharex=shared[0], sharey=shared[1])
    axes = list(made.flat)
    for ax in axes[count:]:
        ax.set_visible(False)
    if shared[0] == "all":
        # The last panel of each column carries the numbers, also where a panel below it is missing.
        for k in range(max(0, count - across), count):
            axes[k].tick_params(labelbottom=True)
    return drawing, axes[:count]


TICKS = 8
"""The most levels of a logarithmic axis that are its ticks."""


def scaled(ax: Axes, which: Literal["x", "y"], values: Sequence[float]) -> None:
    """A logarithmic axis for levels that lie in ratios; few levels are its ticks, as plain numbers."""
    if len(values) <= 2 or values[0] <= 0 or values[-1] / values[0] < 30:
        return
    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    if len(values) <= TICKS:
        axis = ax.xaxis if which == "x" else ax.yaxis
        axis.set_ticks(list(values), [f"{value:g}" for value in values])
        axis.set_ticks([], minor=True)


def band(
    ax: Axes,
    xs: Sequence[float],
    means: Sequence[float],
    ends: tuple[Sequence[float], Sequence[float]],
    own: Look,
    label: str,
    hollow: Sequence[bool] = (),
) -> None:
    """Means as a line, with their intervals as a band; some with hollow markers."""
    ax.fill_between(xs, *ends, color=own.colour, alpha=0.18, linewidth=0)
    ax.plot(xs, means, color=own.colour, marker=own.marker, linestyle=own.dashes, label=label)
    for x, mean, empty in zip(xs, means, hollow, strict=False):
        if empty:
            hollow_marker(ax, x, mean, own)


def of_zeros(ax: Axes, which: Literal["x", "y"], values: Sequence[float], bounds: tuple[float, float]) -> None:
    """An axis from 0 up, with whole numbers, where all values are the smallest that the measure can take, 0."""
    if not values or any(values) or bounds[0] != 0:
        return
    (ax.set_xlim if which == "x" else ax.set_ylim)(-0.05, 1.0)
    (ax.set_xticks if which == "x" else ax.set_yticks)([0, 1])


HOLLOW = "hollow: the window is too short"
"""What a figure says of its hollow markers."""


def hollow_marker(ax: Axes, x: float, y: float, own: Look) -> None:
    """A hollow marker over a full one."""
    import matplotlib

    size = float(matplotlib.rcParams["lines.markersize"])
    ax.scatter([x], [y], s=size**2, marker=own.marker, facecolors="white", edgecolors=own.colour, zorder=3)


def note(drawing: Figure, text: str) -> None:
    """A small text below all panels."""
    drawing.supxlabel(text, fontsize=6.5, color="#5b6167")


def share_labels(axes: Sequence[Axes]) -> None:
    """Drop labels that the panel to the left, or below, has too."""
    known = {}
    for ax in axes:
        spec = ax.get_subplotspec()
        assert spec is not None
        known[spec.rowspan.start, spec.colspan.start] = ax
    for (row, column), ax in known.items():
        left, below = known.get((row, column - 1)), known.get((row + 1, column))
        if left is not None and left.get_ylabel() == ax.get_ylabel():
            ax.yaxis.label.set_visible(False)
        if below is not None and below.get_xlabel() == ax.get_xlabel():
            ax.xaxis.label.set_visible(False)


def entries(axes: Sequence[Axes]) -> dict[str, Any]:
    """Entries of a legend for these panels: the first handle of each label."""
    named: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    return named


def legend(drawing: Figure, named: Mapping[str, Any]) -> None:
    """One legend for all panels, above them, in as many columns as there is room for. The figure grows by its rows."""
    if not named:
        return
    import matplotlib

    letter = float(matplotlib.rcParams["legend.fontsize"]) / 120
    room = int((drawing.get_figwidth() - 0.2) / letter) - 8
    named = {textwrap.fill(name, room): handle for name, handle in named.items()}
    longest = max(len(line) for name in named for line in name.split("\n"))
    lines = max(name.count("\n") for name in named) + 1
    columns = max(1, min(len(named), int((drawing.get_figwidth() - 0.2) / (letter * longest + 8 * letter))))
    rows = math.ceil(len(named) / columns)
    drawing.set_figheight(drawing.get_figheight() + 2.7 * letter * rows * lines)
    # The entries of a legend run down its columns.
    drawing.legend(
        list(named.values()),
        list(named),
        loc="outside upper center",
        ncols=math.ceil(len(named) / rows),
        handlelength=2.2,
    )


def legend_of_several(drawing: Figure, axes: Sequence[Axes]) -> None:
    """The legend of these panels, if they have several labels."""
    named = entries(axes)
    if len(named) > 1:
        legend(drawing, named)
