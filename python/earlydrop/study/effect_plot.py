"""The plot of the effects behind the claims, with their intervals and margins."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..render import panels, plotting
from ..render.artists import Sketch
from ..render.plotting import LOOKS, PAGE, Look, styled
from .case_text import expected_text
from .claim_results import EQUIVALENT, UNDECIDED, Case, ClaimResult, Judged, PartResult
from .model import Study
from .text import reading_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

Line = tuple[ClaimResult, PartResult, Case, list[tuple[Judged, Case]]]
"""A part of a claim, its worst case, and the same case in other readings."""


def sketch(study: Study, results: Sequence[ClaimResult]) -> Sketch | None:
    """Every comparison of two sides as one line: the relative effect with its interval, and the published one."""
    lines: list[Line] = []
    for result in results:
        for number, part in enumerate(result.base.parts):
            case = part.worst
            if case.relative is None or case.reason or part.part.expect in {"equal", "within"}:
                continue
            others = []
            for judged in result.tried:
                other = judged.parts[number].worst
                if other.relative is not None and not other.reason:
                    others.append((judged, other))
            lines.append((result, part, case, others))
    return Sketch(_draw, (study, lines)) if lines else None


def _draw(study: Study, lines: Sequence[Line]) -> Drawing:
    readings = {reading_text(study, result.claim, judged) for result, _, _, others in lines for judged, _ in others}
    other_name = readings.pop() if len(readings) == 1 else "other readings"
    with styled():
        drawing = plotting.figure(PAGE, 0.7 + 0.34 * len(lines))
        ax = drawing.subplots()
        values: list[float] = []
        for k, (_, part, case, others) in enumerate(lines):
            y = len(lines) - k
            values += _effect(ax, case, y + 0.1, LOOKS[1], 5.0, "ours" if k == 0 else "")
            for index, (_, other) in enumerate(others[:4]):
                first = other_name if all(not o for _, _, _, o in lines[:k]) and index == 0 else ""
                values += _effect(ax, other, y - 0.12 - 0.07 * index, LOOKS[4], 3.5, first)
            theirs = case.published.relative if case.published is not None else None
            if theirs is not None:
                values.append(100 * theirs)
                ax.plot(
                    [100 * theirs],
                    [y + 0.1],
                    linestyle="none",
                    marker="D",
                    markersize=4.5,
                    markerfacecolor="white",
                    markeredgecolor=LOOKS[0].colour,
                    label="published",
                    zorder=4,
                )
            ax.annotate(
                "claimed \u2192" if part.part.expect in {"greater", "at_least"} else "\u2190 claimed",
                (1.0, y),
                xycoords=("axes fraction", "data"),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=7,
                color="#555555",
            )
        ax.axvline(0, color="#333333", linewidth=0.8)
        names = [f"{result.claim.id}  {_short(expected_text(study, part.part))}" for result, part, _, _ in lines]
        ax.set_yticks(range(len(lines), 0, -1), names)
        ax.set_ylim(0.4, len(lines) + 0.6)
        ax.set_xlabel("Difference of the two sides, % of the second (mean over seeds, 95 % interval)")
        ax.grid(axis="y", visible=False)
        _spread(ax, values)
        panels.legend(drawing, panels.entries([ax]))
    return drawing


def _effect(ax: Axes, case: Any, y: float, own: Look, size: float, label: str) -> list[float]:
    centre = 100 * case.relative
    half = 0.0
    if case.upper is not None and case.control:
        half = abs(100 * (case.upper - case.effect) / case.control)
    ax.errorbar(
        [centre],
        [y],
        xerr=[half] if case.lower is not None else None,
        linestyle="none",
        marker=own.marker,
        markersize=size,
        color=own.colour,
        capsize=2,
        linewidth=1.1,
        label=label or "_",
        markerfacecolor="white" if case.verdict in (UNDECIDED, EQUIVALENT) else own.colour,
    )
    return [centre - half, centre + half]


def _spread(ax: Axes, values: Sequence[float]) -> None:
    """Effects of very different sizes stand on an axis that is straight near zero and logarithmic beyond."""
    sizes = sorted(abs(v) for v in values if v)
    if not sizes:
        return
    middle = sizes[len(sizes) // 2]
    if sizes[-1] > 12 * middle:
        from matplotlib.ticker import FuncFormatter

        ax.set_xscale("symlog", linthresh=max(1.0, 10 ** math.floor(math.log10(middle))))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}".replace("-", "\u2212")))
        # The margins that were taken on the straight axis are nothing on this one.
        low, high = (ax.transData.transform((v, 0))[0] for v in (min(values), max(values)))
        room = 0.05 * (high - low)
        back = ax.transData.inverted()
        ax.set_xlim(*(float(back.transform((x, 0))[0]) for x in (low - room, high + room)))


def _short(text: str, room: int = 48) -> str:
    """At most two lines of words."""
    lines = textwrap.wrap(text, room)
    if len(lines) > 2:
        lines = [lines[0], lines[1][: room - 1].rstrip(" ,;:") + "\u2026"]
    return "\n".join(lines)
