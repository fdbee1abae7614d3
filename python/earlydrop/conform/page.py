"""The page: a row for each case, with its figure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import earlydrop._core as _core
from .. import disk
from ..render import plotting
from ..render.template import render
from ..toml_writer import to_toml
from . import text
from .expectations import samples
from .measured import Measured
from .model import STATES, Case, Subject, cases
from .verdicts import BETTER, OPEN, WITHIN, WORSE, Judged

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLASSES = {WITHIN: "tie", BETTER: "win", WORSE: "loss", OPEN: "open", text.HOLDS: "win", text.FAILS: "loss"}
"""The colour of each word, as the matrix of a sweep has it."""
SHADES = ("#E69F00", "#56B4E9", "#999999", "#009E73", "#F0E442", "#D55E00", "#CC79A7")
POINTS = 1000
"""Most points of a line."""


def write(folder: Path, subject: Measured, reference: Measured | None, judged: Sequence[Judged], version: str) -> Path:
    """Write `report.html` into a result folder."""
    path = folder / "report.html"
    rows = [_row(one, subject, judged) for one in cases() if one.number in {*subject.measures, *subject.expected}]
    context = {
        "name": subject.name,
        "reference": reference.name if reference else "",
        "summary": text.summary(subject, reference, judged),
        "rows": rows,
        "version": version,
        "measured": subject.version,
    }
    disk.replace(path, render("conform.html.j2", context))
    return path


def _row(case: Case, subject: Measured, judged: Sequence[Judged]) -> dict[str, Any]:
    mine = [one for one in judged if one.case.number == case.number]
    expected = [
        (says, text.HOLDS if all(holds) else text.FAILS) for says, holds in subject.expected.get(case.number, [])
    ]
    words = [one.word for one in mine] + [word for _, word in expected]
    counts = {word: words.count(word) for word in dict.fromkeys(words)}
    figure = None
    if mine:
        figure = strips(mine)
    elif expected and case.inside and (subject.tcp, subject.stack) == ("bbr3", "rfc"):
        figure = states(case, Subject("bbr3"))
    return {
        "number": case.number,
        "title": case.title,
        "area": case.area,
        "source": case.source,
        "says": case.says,
        "words": [(_counted(word, count), CLASSES[word]) for word, count in counts.items()],
        "measures": [
            {"cells": text.row(one)[2:], "class": CLASSES[one.word], "criterion": one.measure.criterion} for one in mine
        ],
        "expected": [(says, word, CLASSES[word]) for says, word in expected],
        "figure": plotting.picture(figure, case.title) if figure is not None else "",
        "toml": to_toml(dict(case.scenario)),
    }


def _counted(word: str, count: int) -> str:
    plural = {text.HOLDS: "hold", text.FAILS: "fail"}
    return word if count == 1 else f"{count} {plural.get(word, word)}"


def strips(judged: Sequence[Judged]) -> Figure:
    """Each measure as a strip: the band of the reference, and every run of both."""
    with plotting.styled():
        drawing = plotting.figure(plotting.PAGE, 0.42 + 0.62 * len(judged))
        panels = drawing.subplots(len(judged), 1, squeeze=False)[:, 0]
        for ax, one in zip(panels, judged, strict=True):
            low, high = one.band
            ax.axvspan(low, high, color="#cfd8e3", lw=0)
            for y, values, look in ((0.0, one.reference, plotting.look(1)), (1.0, one.subject, plotting.look(0))):
                ax.plot(values, [y] * len(values), look.marker, color=look.colour, ms=3.5, alpha=0.6, mew=0)
            ax.set_ylim(-0.7, 1.7)
            ax.set_yticks([1, 0], ["tried", "reference"])
            ax.grid(axis="y", visible=False)
            ax.margins(x=0.05)
            span = max(*one.subject, *one.reference) - min(*one.subject, *one.reference)
            if span <= 1e-6 * max(map(abs, one.band)):
                # Equal values have no axis of their own.
                ax.set_xlim(low - 0.05 * abs(low) - 0.01, high + 0.05 * abs(high) + 0.01)
            unit = f" ({one.measure.unit})" if one.measure.unit else ""
            plotting.title(ax, f"{one.measure.title}{unit}: {one.said}")
        return drawing


def states(case: Case, subject: Subject) -> Figure:
    """The first run of a case inside: states, what is in flight, bandwidth."""
    rows = list(samples(json.loads(_core.Scenario.parse(case.document(subject), []).run(1))))
    rows = rows[:: max(1, len(rows) // POINTS)]
    t = [row["t"] for row in rows]
    with plotting.styled():
        drawing = plotting.figure(plotting.PAGE, 3.0)
        upper, lower = drawing.subplots(2, 1, sharex=True)
        lines: Mapping[str, str] = {"in_flight": "in flight", "cwnd": "cwnd", "inflight_longterm": "inflight_longterm"}
        for index, (name, label) in enumerate(lines.items()):
            look = plotting.look(index)
            upper.plot(t, [_finite(row[name]) for row in rows], color=look.colour, ls=look.dashes, label=label)
        for index, (name, label) in enumerate({"max_bw": "max_bw", "bw": "bw"}.items()):
            look = plotting.look(index)
            lower.plot(t, [_finite(row[name]) for row in rows], color=look.colour, ls=look.dashes, label=label)
        upper.set_ylabel("segments")
        lower.set_ylabel("segments/s")
        lower.set_xlabel("time (s)")
        names = {number: name for name, number in STATES.items()}
        known = set()
        start = 0
        for k in range(1, len(rows) + 1):
            if k < len(rows) and rows[k]["state"] == rows[start]["state"]:
                continue
            state = int(rows[start]["state"])
            shown = None if state in known else names[state]
            known.add(state)
            end = t[k] if k < len(t) else t[-1]
            upper.axvspan(t[start], end, ymax=0.06, color=SHADES[state], lw=0, label=shown)
            lower.axvspan(t[start], end, ymax=0.06, color=SHADES[state], lw=0)
            start = k
        upper.legend(ncols=5, loc="lower left", bbox_to_anchor=(0, 1.0))
        lower.legend(ncols=2, loc="lower right", bbox_to_anchor=(1, 0.95))
        return drawing


def _finite(value: float) -> float:
    return value if abs(value) < 1e300 else float("nan")
