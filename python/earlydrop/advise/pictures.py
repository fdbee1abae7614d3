"""Pictures of `advise`: a call's delay before and after over time and as a distribution, and the ranking."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..document import Document
from ..render import panels, plotting
from ..runner import Job, Progress, no_progress, run_all
from .model import TODAY, scenario
from .ranking import Advice

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Times = dict[str, list[float]]
"""Values by direction, `down` and `up`."""
BEFORE, AFTER = (look.colour for look in plotting.LOOKS[:2])
BITS = 1e9
"""The line carries about this many in the recorded run, which lasts from 3 to 16 s."""
EVENTS = 2_000_000
"""Most events that are recorded at a queue."""


@dataclass(frozen=True)
class Call:
    """A call's voice packets of one run: when each was sent, and how long it waited in queues."""

    title: str
    load_s: float
    """When downloads and uploads begin."""
    sent_s: Times
    waited_ms: Times


def calls(advice: Advice, progress: Progress = no_progress) -> list[Call]:
    """One run of today's line and one of the recommended queue, with every event of the queues recorded."""
    import earlydrop._core as _core

    home, queues = advice.home, (TODAY, advice.use)
    length = round(max(3.0, min(16.0, BITS / (home.down_bps + home.up_bps))), 1)
    load = round(length / 4, 2)
    jobs = []
    for queue in queues:
        document = scenario(home, queue, home.rtts_ms[0])
        document |= {"duration": f"{length:g} s", "warmup": "0 s"}
        document["record"] = {"trace": EVENTS, "trace_queues": "all"}
        for entry in document["traffic"][:4]:
            entry["start"] = {"uniform": [f"{load:g} s", f"{load + 0.5:g} s"]}
        jobs.append(Job(_core.Scenario.parse(document, []), 1, _voice(document)))
    titles = (f"today: the modem's FIFO, {home.buffer}", f"{advice.use}, shaped")
    found: list[tuple[Times, Times]] = run_all(jobs, progress=progress, label="recording a call")
    return [Call(title, load, *both) for title, both in zip(titles, found, strict=True)]


def _voice(document: Document) -> Any:
    """A function that reduces a result to the times of the voice packets."""
    flows, number = {}, 1
    for entry in document["traffic"]:
        if entry["name"].startswith("voice_"):
            flows[number] = entry["name"].removeprefix("voice_")
        number += entry["count"]

    def reduce(text: str) -> tuple[Times, Times]:
        sent: dict[str, dict[int, float]] = {"down": {}, "up": {}}
        waited: dict[str, dict[int, float]] = {"down": {}, "up": {}}
        dropped: set[tuple[str, int]] = set()
        for trace in json.loads(text)["traces"].values():
            arrived: dict[tuple[str, int], float] = {}
            for time, event, flow, seq, *_ in trace["events"]:
                way = flows.get(flow)
                if way is None:
                    continue
                if event == "+":
                    arrived[way, seq] = time
                    sent[way][seq] = min(time, sent[way].get(seq, time))
                elif event == "-":
                    waited[way][seq] = waited[way].get(seq, 0.0) + 1e3 * (time - arrived[way, seq])
                else:
                    dropped.add((way, seq))
        there = {way: [seq for seq in sorted(waited[way]) if (way, seq) not in dropped] for way in sent}
        return (
            {way: [sent[way][seq] for seq in seqs] for way, seqs in there.items()},
            {way: [waited[way][seq] for seq in seqs] for way, seqs in there.items()},
        )

    return reduce


def _note_load(ax: Axes, time: float) -> None:
    """Label the time at which the load begins."""
    ax.annotate(
        "load begins",
        (time, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(-3, -2),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=7,
        color="#555555",
    )


def _draw_ways(drawing: Figure, axes: Sequence[Axes], both: Sequence[Call]) -> None:
    """Draw how long the packets of both calls waited over time, a panel for each direction."""
    for ax, way, title in zip(axes, ("down", "up"), ("Download direction", "Upload direction"), strict=True):
        for call, colour in zip(both, (BEFORE, AFTER), strict=True):
            ax.plot(call.sent_s[way], call.waited_ms[way], color=colour, linewidth=1.1, label=call.title)
        ax.axvline(both[0].load_s, color="#999999", linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
        ax.set_title(title)
        ax.margins(x=0)
    for ax in axes:
        # Of panels with one axis, a limit that is set early cuts what comes later.
        ax.set_ylim(bottom=0)
    _note_load(axes[0], both[0].load_s)
    panels.legend(drawing, panels.entries([axes[0]]))


def over_time(both: Sequence[Call]) -> Figure:
    """How long the call's packets waited over time, in each direction."""
    with plotting.styled():
        drawing = plotting.figure(plotting.COLUMN, 3.2)
        axes = drawing.subplots(2, 1, sharex=True)
        axes[0].set_ylabel("Waiting (ms)")
        axes[1].set(xlabel="Time (s)", ylabel="Waiting (ms)")
        _draw_ways(drawing, axes, both)
    return drawing


def distribution(both: Sequence[Call]) -> Figure:
    """The distribution of the waiting time under load, in each direction."""
    with plotting.styled():
        drawing = plotting.figure(plotting.COLUMN, 3.2)
        ax = drawing.subplots()
        for call, colour in zip(both, (BEFORE, AFTER), strict=True):
            for way, dashes in (("down", "-"), ("up", (0, (4, 1.5)))):
                pairs = zip(call.sent_s[way], call.waited_ms[way], strict=True)
                loaded = sorted(max(wait, 0.1) for at, wait in pairs if at >= call.load_s)
                shares = [100 * (k + 1) / len(loaded) for k in range(len(loaded))]
                label = f"{'today' if colour == BEFORE else call.title.split()[0]}, {way}"
                ax.plot(loaded, shares, color=colour, linestyle=dashes, drawstyle="steps-post", label=label)
        ax.set_xscale("log")
        ax.set_xlabel("Waiting (ms); 0.1 stands for less, too")
        ax.set_ylabel("Packets that waited no longer (%)")
        ax.set_ylim(0, 101)
        ax.xaxis.set_major_formatter("{x:g}")
        panels.legend(drawing, panels.entries([ax]))
    return drawing


def ranking(advice: Advice) -> Figure:
    """The latency under load of every queue, with its 95 % interval."""
    rows = [*advice.ranks, advice.today]
    with plotting.styled():
        drawing = plotting.figure(plotting.COLUMN, 0.9 + 0.27 * len(rows))
        ax = drawing.subplots()
        places = range(len(rows), 0, -1)
        for row, y in zip(rows, places, strict=True):
            found = row.latency_ms
            colour = BEFORE if row.queue == TODAY else AFTER if row.queue in advice.shared else "#666666"
            half = None if found.half_width is None else [[min(found.half_width, 0.9 * found.mean)], [found.half_width]]
            inside = "white" if row.lossy else colour
            ax.errorbar([found.mean], [y], xerr=half, marker="o", mfc=inside, color=colour, capsize=2.5, linewidth=1.3)
        ax.axvline(max(advice.idle.latency_ms.mean, 0.1), color="#999999", linewidth=0.8, linestyle=(0, (2, 2)))
        ax.annotate(
            "idle line",
            (max(advice.idle.latency_ms.mean, 0.1), len(rows) + 0.5),
            xytext=(3, -1),
            textcoords="offset points",
            va="top",
            fontsize=7,
            color="#555555",
        )
        names = [f"{r.queue} ({r.place})" if r.place else "today's FIFO" for r in rows]
        ax.set_yticks(list(places), names)
        ax.set_ylim(0.5, len(rows) + 0.5)
        ax.set_xscale("log")
        low, high = ax.get_xlim()
        steps = (1, 2, 5) if high > 10 * low else (1, 1.5, 2, 3, 4, 5, 7)
        ticks = [m * 10.0**e for e in range(-1, 6) for m in steps if low <= m * 10.0**e <= high]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.set_xticks([], minor=True)
        ax.set_xlabel("Latency under load (ms)")
        ax.grid(axis="y", visible=False)
    return drawing


def before_and_after(both: Sequence[Call]) -> Figure:
    """One figure with both directions over time and the distribution beside each other."""
    with plotting.styled():
        drawing = plotting.figure(plotting.PAGE, 2.6)
        axes = drawing.subplots(1, 2, sharey=True)
        axes[0].set(xlabel="Time (s)", ylabel="Waiting of a call's packets (ms)")
        axes[1].set_xlabel("Time (s)")
        _draw_ways(drawing, axes, both)
    return drawing
