"""Style of all plots: for papers, without a display, with colours for colour blindness and print."""

from __future__ import annotations

import base64
import html
import io
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .. import disk
from . import panels
from .directions import carried, main_first

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..analysis.paired import Comparison
    from ..analysis.quantity import Quantity

COLUMN, PAGE = 3.5, 7.2
"""Widths in inches: one column and two columns of a journal page."""
LABEL = 28
"""The most letters in a line below a panel of a comparison."""

STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8,
    "axes.labelcolor": "#222222",
    "axes.edgecolor": "#555555",
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-5, 7),
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "xtick.color": "#333333",
    "ytick.color": "#333333",
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "figure.dpi": 110,
    "savefig.dpi": 220,
    # Each figure asks for it itself: with this on, matplotlib lays out, and so draws, once more for each format.
    "figure.constrained_layout.use": False,
    "figure.constrained_layout.w_pad": 0.08,
    "figure.constrained_layout.h_pad": 0.05,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "earlydrop",
}


@dataclass(frozen=True)
class Look:
    """How one series is drawn: apart by colour, marker and dashes, so that any one of them suffices."""

    colour: str
    marker: str
    dashes: str | tuple[int, tuple[int, ...]]


# Okabe & Ito's colours, in an order that keeps neighbours far apart in grey too.
LOOKS = (
    Look("#D55E00", "o", "-"),
    Look("#0072B2", "s", "-"),
    Look("#009E73", "^", (0, (5, 1))),
    Look("#B05A97", "D", (0, (3, 1, 1, 1))),
    Look("#666666", "v", (0, (1, 1))),
    Look("#E69F00", "P", (0, (6, 2))),
    Look("#56B4E9", "X", (0, (4, 1, 1, 1, 1, 1))),
    Look("#000000", "*", "-"),
)

MOST_RATES = 10
"""Flows whose rates over time can still be told apart in one plot."""

VERDICT_COLOURS = {"supported": "#1b7f4b", "contradicted": "#b3261e", "undecided": "#7a6a00"}


def look(index: int) -> Look:
    """The look of the series at a position; positions beyond the list start again."""
    return LOOKS[index % len(LOOKS)]


@contextmanager
def styled() -> Iterator[None]:
    """Draw and save in this style and nobody else's, leaving matplotlib's own settings as they were."""
    from matplotlib import style

    with style.context(["default", {**STYLE, **dict(panels.current().settings)}]):
        yield


NAME, TITLE = 30, 22
"""Letters in a line of a row's name, and of a narrow panel's title."""


def plain(text: str, wide: int = 0) -> str:
    """A text of somebody else's, in which matplotlib finds no formula; broken into lines of `wide` letters."""
    return (textwrap.fill(text, wide) if wide else text).replace("$", r"\$")


def figure(width: float, height: float) -> Figure:
    """An empty figure that needs no display, and that a notebook shows."""
    from .drawing import Drawing

    return Drawing(figsize=(width, height), layout="constrained")


def title(ax: Axes, text: str) -> None:
    """The title of a panel whose limits are known."""
    # Left to itself, matplotlib measures all tick labels whenever it places a title: a common factor of them, which
    # such numbers do not have, would move it up.
    plain = 1e-3 < max(map(abs, ax.get_ylim())) < 1e7
    ax.set_title(text, y=1.0 if plain else None)


def save(drawing: Figure, base: Path, note: str = "", formats: Sequence[str] = ("png", "pdf")) -> list[Path]:
    """Write several formats beside each other; `note` is printed small below, for runs that are no result."""
    paths = [base.with_name(f"{base.name}.{name}") for name in formats]
    for path, content in zip(paths, files(drawing, note, formats), strict=True):
        disk.replace(path, content)
    return paths


def files(drawing: Figure, note: str, formats: Sequence[str]) -> list[bytes]:
    """The contents of the files that `save` writes."""
    with styled():
        _settle(drawing, note)
        return [_bytes(drawing, name) for name in formats]


_UNDATED = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}


def write(drawing: Figure, path: Path) -> None:
    """Write one file, in the format that its suffix names; it appears whole or not at all."""
    disk.replace(path, files(drawing, "", [path.suffix[1:]])[0])


def _bytes(drawing: Figure, kind: str) -> bytes:
    # SVG is written in many small pieces: they are encoded together.
    out: io.BytesIO | io.StringIO = io.StringIO() if kind == "svg" else io.BytesIO()
    drawing.savefig(out, format=kind, metadata=cast("Any", _UNDATED.get(kind)))
    content = out.getvalue()
    return content.encode() if isinstance(content, str) else content


def inline(drawing: Figure) -> str:
    """A drawing as the address of an image in a page: SVG, in base64."""
    return address(files(drawing, "", ["svg"])[0])


def picture(drawing: Figure, what: str) -> str:
    """A matplotlib figure as an image of a page, no wider than the page; `what` is for readers who do not see it."""
    width = round(drawing.get_figwidth() * drawing.dpi)
    return f'<img src="{inline(drawing)}" style="width: {width}px; max-width: 100%" alt="{html.escape(what)}">'


def address(svg: bytes) -> str:
    """An SVG image as its own address."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode('ascii')}"


def _settle(drawing: Figure, note: str) -> None:
    """Add the note and work the layout out once, so that every format shows the same picture."""
    engine = drawing.get_layout_engine()
    if engine is None:
        return
    if note:
        # About 0.05 inches a letter of this size.
        note = textwrap.fill(note, max(20, int(drawing.get_figwidth() / 0.05)))
        drawing.supxlabel(note, fontsize=6.5, color="#b3261e", x=0.99, ha="right")
    engine.execute(drawing)
    drawing.set_layout_engine(None)


# ---- drop curves ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DropCurve:
    """p_b over the average queue; `aside` curves are drawn thin and only in the wide view."""

    title: str
    averages: Sequence[float]
    probabilities: Sequence[float]
    aside: bool = False


def drop_curves(
    curves: Sequence[DropCurve],
    marks: Mapping[str, float],
    detail: tuple[float, float] | None = None,
) -> Figure:
    """Drop curves over the average queue; with `detail`, a close view of that range on the left."""
    with styled():
        drawing = figure(PAGE if detail else COLUMN * 1.3, 2.7)
        axes = drawing.subplots(1, 2 if detail else 1, squeeze=False)[0]
        views: list[tuple[Axes, bool]] = [(axes[-1], False)]
        if detail:
            views.insert(0, (axes[0], True))
        for ax, close in views:
            _curves(ax, [c for c in curves if not (close and c.aside)])
            ax.set_xlabel("Average queue (packets)")
            ax.set_ylabel("Drop probability $p_b$")
            if close and detail:
                inside = [
                    p
                    for c in curves
                    if not c.aside
                    for a, p in zip(c.averages, c.probabilities, strict=True)
                    if detail[0] <= a <= detail[1] and p < 1
                ]
                ax.set_xlim(*detail)
                ax.set_ylim(0, 1.25 * max(inside, default=1.0))
            else:
                ax.set_ylim(-0.02, 1.18)
                ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
                ax.margins(x=0.01)
            _thresholds(ax, marks)
        drawing.legend(*_legend(axes[-1]), loc="outside upper center", ncols=min(len(curves), 5), handlelength=2.6)
        if detail:
            axes[0].set_title("Between the thresholds")
            axes[1].set_title("Whole range")
    return drawing


def _curves(ax: Axes, curves: Sequence[DropCurve]) -> None:
    for k, curve in enumerate(curves):
        if curve.aside:
            style: dict[str, Any] = {"color": "#000000", "linewidth": 0.9, "linestyle": (0, (2, 2)), "zorder": 1.5}
        else:
            own = look(k)
            style = {"color": own.colour, "linestyle": own.dashes, "zorder": 3 - 0.1 * k}
        ax.plot(curve.averages, curve.probabilities, label=curve.title, **style)


def _legend(ax: Axes) -> tuple[list[Any], list[Any]]:
    handles, labels = ax.get_legend_handles_labels()
    return handles, labels


def _thresholds(ax: Axes, marks: Mapping[str, float]) -> None:
    for name, value in marks.items():
        ax.axvline(value, color="#999999", linewidth=0.7, linestyle=(0, (2, 2)), zorder=1)
        stem, _, index = name.partition("_")
        text = f"${stem}_{{{index}}}$" if index else name
        ax.annotate(
            text,
            (value, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(2, -2),
            textcoords="offset points",
            va="top",
            fontsize=7,
            color="#555555",
            bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"},
            zorder=5,
        )


# ---- comparisons and single runs -----------------------------------------------------------------------------------


def comparison(result: Comparison, chosen: Sequence[Quantity] | None = None) -> Figure:
    """One panel for each measure, one line for each discipline: mean and interval."""
    measures = drawn(result.measures) if chosen is None else chosen
    columns = min(3, len(measures))
    rows = -(-len(measures) // columns)
    with styled():
        drawing = figure(PAGE, 0.5 + rows * (0.75 + 0.26 * len(result.aqms)))
        axes = drawing.subplots(rows, columns, squeeze=False, sharey=True)
        positions = list(range(len(result.aqms), 0, -1))
        for k, ax in enumerate(axes.flat):
            if k >= len(measures):
                ax.set_visible(False)
                continue
            measure = measures[k]
            for index, (aqm, y) in enumerate(zip(result.aqms, positions, strict=True)):
                estimate = result.estimate(aqm, measure.id)
                if estimate is None:
                    continue
                own = look(index)
                ends = estimate.within(measure.bounds)
                bars = None if ends is None else [[estimate.mean - ends[0]], [ends[1] - estimate.mean]]
                ax.errorbar(
                    [estimate.mean],
                    [y],
                    xerr=bars,
                    marker=own.marker,
                    color=own.colour,
                    capsize=2.5,
                    linewidth=1.3,
                    markerfacecolor="white" if result.short(aqm) else own.colour,
                )
            ax.set_yticks(positions, [plain(result.titles[a], NAME) for a in result.aqms])
            ax.set_ylim(0.5, len(result.aqms) + 0.5)
            ax.set_xlabel(plain(textwrap.fill(measure.label, LABEL)))
            ax.locator_params(axis="x", nbins=5)
            ax.margins(x=0.12)
            ax.set_xlim(*no_closer(ax.get_xlim(), measure))
            means = [e.mean for aqm in result.aqms if (e := result.estimate(aqm, measure.id)) is not None]
            panels.of_zeros(ax, "x", means, measure.bounds)
            ax.grid(axis="y", visible=False)
        explain(drawing, [result])
    return drawing


def drawn(measures: Sequence[Quantity]) -> list[Quantity]:
    """The measures of a figure that names none: those asked for, else those that comparisons draw."""
    return [m for m in measures if m.asked] or [m for m in measures if m.drawn]


def explain(drawing: Figure, results: Sequence[Comparison]) -> None:
    """Say below the figure of comparisons of the same disciplines what its dots and bars are."""
    result = results[0]
    seeds = len(result.seeds)
    text = f"mean and 95 % interval over {seeds} seeds" if result.replicated else "one run of each"
    marked = f"; {panels.HOLLOW}" if any(one.short(aqm) for one in results for aqm in one.aqms) else ""
    panels.note(drawing, plain(f"{result.scenario}, {result.where}: {text}{marked}"))


def no_closer(ends: tuple[float, float], measure: Quantity) -> tuple[float, float]:
    """The ends of an axis, at least two margins of the measure apart: what counts as equal does not look different."""
    margin = measure.margin
    middle = (ends[0] + ends[1]) / 2
    half = 0.0 if margin is None else margin.around(middle)
    if ends[1] - ends[0] >= 2 * half:
        return ends
    return middle - half, middle + half


def run_figure(document: Mapping[str, Any]) -> Figure:
    """One run: queueing delay and the goodput of the flows; above them, over time, what was recorded.

    That is the queue, the rates of the flows if these are few, and what changes of disciplines' and senders' inner
    values.
    """
    over_time: list[tuple[Callable[..., None], Mapping[str, Any]]] = []
    if (series := document.get("series")) and series["queues"]:
        over_time.append((_queue_series, {**series, "names": _queue_names(document)}))
    rates = document.get("rates")
    if rates and len(rates["flows"]) <= MOST_RATES:
        over_time.append((_flow_rates, {**rates, "end_s": document["duration_s"]}))
    inner = list(_inner_values(document))
    wide, rows = len(over_time), 1 + len(over_time) + -(-len(inner) // 2)
    with styled():
        drawing = figure(PAGE, 0.6 + 1.9 * rows)
        grid = drawing.add_gridspec(rows, 2)
        for row, (draw, what) in enumerate(over_time):
            draw(drawing.add_subplot(grid[row, :]), what)
        for k, (title, lines) in enumerate(inner):
            _lines_over_time(
                drawing.add_subplot(grid[wide + k // 2, k % 2]), document["series"]["time_s"], title, lines
            )
        _delays(drawing.add_subplot(grid[-1, 0]), document)
        _goodputs(drawing.add_subplot(grid[-1, 1]), document)
    return drawing


SENDERS = {"cwnd": "cwnd (segments)", "srtt_ms": "Smoothed RTT (ms)", "pacing_mbps": "Pacing rate (Mbit/s)"}
"""Samples of a sender, and what figures call them."""


def _inner_values(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Sequence[float | None]]]]:
    """Samples of disciplines' and senders' inner values, by title and line; without what never changes."""
    series = document.get("series") or {"queues": {}}
    names = _queue_names(document)
    gauges: dict[str, dict[str, Sequence[float | None]]] = {}
    for queue, found in series["queues"].items():
        prefix = f"{names.get(queue, queue)}: " if len(series["queues"]) > 1 else ""
        for name, values in found.get("gauges", {}).items():
            gauges[prefix + name] = {"": values}
    for key, title in SENDERS.items():
        lines = {f"flow {flow['id']}": flow[key] for flow in series.get("flows") or [] if flow.get(key)}
        gauges[title] = dict(list(lines.items())[: len(LOOKS)])
    for title, lines in gauges.items():
        if any(len(set(values)) > 1 for values in lines.values()):
            yield title, lines


def _lines_over_time(ax: Axes, times: Sequence[float], title: str, lines: Mapping[str, Sequence[float | None]]) -> None:
    for k, (name, values) in enumerate(lines.items()):
        known = [math.nan if value is None else value for value in values]
        ax.plot(times, known, color=look(k).colour, linestyle=look(k).dashes, linewidth=0.9, label=name)
    ax.set_title(title, fontsize=8, fontweight="normal")
    ax.set_xlabel("Time (s)")
    ax.margins(x=0)
    if any(lines):
        ax.legend(loc="upper right", ncols=3)


def _flow_rates(ax: Axes, rates: Mapping[str, Any]) -> None:
    edges = [*rates["time_s"], rates["end_s"]]
    for k, flow in enumerate(rates["flows"]):
        own = look(k)
        ax.stairs(
            flow["goodput_mbps"],
            edges,
            baseline=None,
            color=own.colour,
            linestyle=own.dashes,
            linewidth=1.2,
            label=f"flow {flow['id']}",
        )
    ax.set_xlabel("Time (s)")
    ax.set_ylabel("Goodput (Mbit/s)")
    # Room for the legend.
    highest = max((rate for flow in rates["flows"] for rate in flow["goodput_mbps"]), default=0.0)
    ax.set_ylim(0, 1.25 * highest or 1)
    ax.margins(x=0)
    ax.legend(loc="upper right", ncols=5)


def _queue_names(document: Mapping[str, Any]) -> dict[str, str]:
    """The queues of a run with what figures call them; of a real link the one that delivered more first."""
    real = document.get("kind") == "link"
    queues = main_first(document)
    return {name: f"{carried(document, name)} ({q['aqm']})" if real else name for name, q in queues}


def _queue_series(ax: Axes, series: Mapping[str, Any]) -> None:
    names = series["names"]
    # Thousands of samples are a band, in which a thick line would hide the average.
    few = len(series["time_s"]) <= 1000
    width, alpha = (1.1, 0.9) if few else (0.6, 0.55)
    for k, (name, title) in enumerate(names.items()):
        own, queue = look(k), series["queues"].get(name)
        if queue is None:
            continue
        prefix = "" if len(names) == 1 else f"{title}: "
        ax.plot(
            series["time_s"], queue["packets"], color=own.colour, linewidth=width, alpha=alpha, label=f"{prefix}queue"
        )
        if queue.get("average"):
            ax.plot(series["time_s"], queue["average"], color="#000000", linewidth=1.2, label=f"{prefix}average")
    ax.set_xlabel("Time (s)")
    ax.set_ylabel("Packets")
    ax.set_ylim(bottom=0)
    ax.margins(x=0)
    ax.legend(loc="upper right", ncols=4)


def _delays(ax: Axes, document: Mapping[str, Any]) -> None:
    names = ["mean", "p50", "p95", "p99"]
    queues = _queue_names(document)
    for k, (name, title) in enumerate(queues.items()):
        queue = document["queues"][name]
        values = [queue.get(f"delay_{n}_ms") for n in names]
        shown = [(i, v) for i, v in enumerate(values) if v is not None]
        width = 0.8 / len(queues)
        places = [i + (k - (len(queues) - 1) / 2) * width for i, _ in shown]
        ax.bar(places, [v for _, v in shown], width=width * 0.9, color=look(k).colour, label=title)
    ax.set_xticks(range(len(names)), ["mean", "median", "95 %", "99 %"])
    ax.set_ylabel("Queueing delay (ms)")
    ax.grid(axis="x", visible=False)
    if len(queues) > 1:
        ax.legend()


NO_FLOWS = "This result does not list its flows\n(record.flows of the scenario)"


def entries(document: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """The flows of a simulated run by the traffic entry that they are of: its name, else its number, kind and TCP."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    all_flows = document.get("flows") or []
    at = 0
    for entry in document.get("traffic") or []:
        flows = all_flows[at : at + entry["flows"]]
        at += entry["flows"]
        if flows:
            parts = (str(entry["entry"]), entry["kind"], entry.get("tcp"))
            found.setdefault(entry["name"] or ", ".join(filter(None, parts)), []).extend(flows)
    # Entries with flows of unknown numbers.
    return found if at == len(all_flows) else {"": list(all_flows)}


def _goodputs(ax: Axes, document: Mapping[str, Any]) -> None:
    if "flows" not in document:
        ax.set_axis_off()
        ax.text(0.5, 0.5, NO_FLOWS, ha="center", va="center", transform=ax.transAxes)
        return
    # A real link sees packets, not the goodput that receivers make of them.
    real = document.get("kind") == "link"
    of = "throughput_mbps" if real else "goodput_mbps"
    # It also sees each connection twice, once in each direction, with control connections and ICMP among them.
    titles = _queue_names(document)
    first = next(iter(titles), "")
    flows = [f for f in document["flows"] if not real or (f["queue"] == first and f.get("role", "data") == "data")]
    groups = {"": flows} if real else entries(document)
    goodputs: list[float] = []
    for k, (name, own_flows) in enumerate(groups.items()):
        known = (f[of] for f in own_flows if f[of] is not None)
        ranked = sorted(filter(math.isfinite, known), reverse=True)
        ranks = range(len(goodputs) + 1, len(goodputs) + len(ranked) + 1)
        goodputs += ranked
        # Flows have no queue's colour, except that flows on a link are those of its first queue.
        own = look(0 if real else len(titles) + k)
        marker = own.marker if len(flows) <= 60 else ""
        ax.plot(ranks, ranked, color=own.colour, marker=marker, linewidth=1, label=name)
    if len(groups) > 1:
        ax.legend()
    elif goodputs:
        fair = sum(goodputs) / len(goodputs)
        ax.axhline(fair, color="#555555", linewidth=0.9, linestyle=(0, (4, 2)))
        ax.annotate(
            "mean",
            (1.0, fair),
            xycoords=("axes fraction", "data"),
            xytext=(-2, 2),
            textcoords="offset points",
            ha="right",
            fontsize=7,
            color="#555555",
        )
    ax.set_ylim(0, 1.08 * max(goodputs, default=0.0) or 1)
    if len(goodputs) == 1:
        # Room for a whole number on the axis.
        ax.set_xlim(0, 2)
    each = " in its entry" if len(groups) > 1 else ""
    ax.set_xlabel("Data flow, by rank" if real else f"Flow, by rank{each}")
    way = carried(document, first) if real else ""
    ax.set_ylabel(f"Throughput, {way} (Mbit/s)" if real else "Goodput (Mbit/s)")
    ax.locator_params(axis="x", integer=True)
