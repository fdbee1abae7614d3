"""A model of links: its page on a terminal, and its rate and delay over time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import earlydrop._core as _core
from .. import terminal
from . import plotting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OURS = "our choice"
"""The source of a figure that has none."""

SECONDS, SEED = 120.0, 1
"""What is drawn."""


@dataclass(frozen=True)
class Series:
    """A quantity of a model, constant in each step."""

    name: str
    label: str
    """With its unit."""
    step: float
    """s"""
    values: list[float]

    def points(self) -> tuple[list[float], list[float]]:
        """Times and values, with both ends of each step."""
        times = [self.step * (place + side) for place in range(len(self.values)) for side in (0, 1)]
        return times, [value for value in self.values for _ in range(2)]


def catalogue() -> list[dict[str, Any]]:
    """The models as the engine declares them."""
    return list(json.loads(_core.link_models()))


def names() -> list[str]:
    """Names of the models."""
    return [one["name"] for one in catalogue()]


def drawn(model: str) -> tuple[dict[str, Any], list[Series]]:
    """The declaration of a model by its text, and what of it changes over time.

    Raises:
        ScenarioError: it has no such parameter.
    """
    entry = next(one for one in catalogue() if one["name"] == model.split(" ")[0])
    found = _core.model_series(model, SEED, SECONDS)
    series = [
        Series("rate", "Rate (Mbit/s)", found["rate_step"], [rate * 1e-6 for rate in found["rate"]]),
        Series("delay", "Delay added (ms)", found["delay_step"], [delay * 1e3 for delay in found["delay"]]),
    ]
    return {**entry, "text": model}, [one for one in series if one.values]


def text(entry: dict[str, Any], series: Sequence[Series]) -> str:
    """The page of a model."""
    name = entry["name"]
    rate = "" if entry["rate"] else '"20 Mbit/s", '
    words = (
        f'`model = "{name}"` at a link of a scenario, `--model {name}` in `earlydrop link`, '
        f'`ed.link({rate}model="{name}")` in Python; `aqm = "default"` is the queue of its device.'
    )
    lines = [f"{entry['title']} ({name}): {entry['summary']}", terminal.paragraph(f"Use: {words}")]
    lines += [] if entry["rate"] else [terminal.paragraph("The link's `rate` is given beside it.")]
    if entry["parameters"]:
        lines += ["", "Parameters", "", *terminal.parameters(entry["parameters"])]
    for one in series:
        lines += ["", f"{one.label} of {entry['text']} over time (s), seed {SEED}", ""]
        # More steps than dots: each dot shows one of its steps.
        top = max(one.values)
        marks: tuple[list[float], list[float]] = ([], [float(f"{0.95 * top:.1g}")])
        columns = min(72, terminal.width() - 8)
        lines.append(terminal.plot([(one.name, *one.points())], columns, top=1.05 * top, marks=marks))
    lines += ["", "Figures", ""]
    # Each source once, below the table.
    sources = list(dict.fromkeys(one["source"] for one in entry["figures"] if one["source"] != OURS))
    rows = [[one["what"], one["value"], _kind(one, sources)] for one in entry["figures"]]
    lines.append(terminal.wrapped(["figure", "value", "source"], {"": rows}))
    lines += ["", *(terminal.paragraph(f"{number}: {source}.") for number, source in enumerate(sources, 1))]
    depth = f", {entry['depth']:g} s at the mean rate" if entry["depth"] else ""
    lines += ["", terminal.paragraph(f"Queue by default: {entry['queue']}{depth}. Source: {entry['queue_source']}.")]
    lines += ["", terminal.paragraph(f"Not modelled: {entry['missing']}.")]
    return "\n".join(lines)


def _kind(figure: dict[str, Any], sources: Sequence[str]) -> str:
    """The number of a figure's source, and whether a test compares the model with it."""
    if figure["source"] == OURS:
        return OURS
    return f"{sources.index(figure['source']) + 1}, {'tested' if figure['tested'] else 'shape only'}"


def figure(entry: dict[str, Any], series: Sequence[Series]) -> Figure:
    """Rate and delay over time."""
    with plotting.styled():
        drawing = plotting.figure(plotting.PAGE, 1.9 * len(series))
        for ax, one in zip(drawing.subplots(len(series), 1, squeeze=False, sharex=True)[:, 0], series, strict=True):
            times, values = one.points()
            ax.plot(times, values, color=plotting.look(0).colour, linewidth=0.7)
            ax.set_ylabel(one.label)
            ax.set_ylim(bottom=0)
            ax.margins(x=0)
        ax.set_xlabel("Time (s)")
        drawing.suptitle(f"{entry['title']}: {entry['text']}, seed {SEED}", fontsize=9)
        return drawing
