"""The plot of the effects behind the claims, with their intervals and margins."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

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
        ours: list[tuple[Case, float]] = []
        beside: list[tuple[Case, float]] = []
        published: list[tuple[float, float]] = []
        for k, (_, part, case, others) in enumerate(lines):
            y = len(lines) - k
            ours.append((case, y + 0.1))
            beside += [(other, y - 0.12 - 0.07 * index) for index, (_, other) in enumerate(others[:4])]
            if case.published is not None and case.published.relative is not None:
                published.append((100 * case.published.relative, y + 0.1))
            ax.annotate(
                "claimed \u2192" if part.part.expect in {"greater", "at_least"} else "\u2190 claimed",
                (1.0, y),
                xycoords=("axes fraction", "data"),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=7,
                color="#555555",
                # All lines have equally wide labels: one of them is enough to make room for all.
                in_layout=k == 0,
            )
        values = _effects(ax, ours, LOOKS[1], 5.0, "ours") + _effects(ax, beside, LOOKS[4], 3.5, other_name)
        if published:
            values += [theirs for theirs, _ in published]
            ax.plot(
                *zip(*published, strict=True),
                linestyle="none",
                marker="D",
                markersize=4.5,
                markerfacecolor="white",
                markeredgecolor=LOOKS[0].colour,
                label="published",
                zorder=4,
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


def _effects(ax: Axes, cases: Sequence[tuple[Case, float]], own: Look, size: float, label: str) -> list[float]:
    """Draw the effects of these cases at their heights; the ends of their intervals."""
    # Effects that look the same are drawn at once: one after the other they take several times as long.
    alike: dict[tuple[bool, bool], list[tuple[float, float, float]]] = {}
    for case, y in cases:
        assert case.relative is not None
        centre, half = 100 * case.relative, 0.0
        if case.upper is not None and case.control:
            half = abs(100 * (case.upper - case.effect) / case.control)
        open_ = case.verdict in (UNDECIDED, EQUIVALENT)
        alike.setdefault((open_, case.lower is not None), []).append((centre, y, half))
    values = []
    for (open_, known), drawn in alike.items():
        centres, heights, halves = zip(*drawn, strict=True)
        ax.errorbar(
            centres,
            heights,
            xerr=halves if known else None,
            linestyle="none",
            marker=own.marker,
            markersize=size,
            color=own.colour,
            capsize=2,
            linewidth=1.1,
            label=label,
            markerfacecolor="white" if open_ else own.colour,
        )
        label = "_"
        values += [end for x, half in zip(centres, halves, strict=True) for end in (x - half, x + half)]
    return values


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
        # The margins that were set on the linear axis do not fit the logarithmic one.
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
