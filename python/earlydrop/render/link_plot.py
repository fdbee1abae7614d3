"""A recorded link over time: its rate, the delay of its packets and their drops, by flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import directions, plotting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = np.ndarray[Any, Any]
Columns = Mapping[str, Array]
"""The columns of a direction's arrivals, as a log has them."""

BINS = 150
"""Intervals over which rates and delays are averaged and drops counted."""
FLOWS = 5
"""Flows of a direction that are told apart: those with most bytes."""
DEPARTED = 1
UNLIMITED_MBPS = 1e6
SHARE = 0.01
"""A direction with a smaller share of the bytes is not drawn, nor is a flow."""


def figure(document: Mapping[str, Any], records: Mapping[str, Columns]) -> Figure | None:
    """Rate, delay and drops of each direction over time; None where nothing was carried."""
    shown = [(name, q) for name, q in directions.main_first(document) if len(records.get(name, {}).get("time_s", ()))]
    total = sum(float(records[name]["size"].sum()) for name, _ in shown)
    shown = [(name, q) for name, q in shown if records[name]["size"].sum() >= SHARE * total]
    if not shown:
        return None
    edges = np.linspace(0.0, max(float(document["duration_s"]), 1e-3), BINS + 1)
    with plotting.styled():
        drawing = plotting.figure(plotting.PAGE, 0.4 + 4.6 * len(shown))
        axes = drawing.subplots(3 * len(shown), 1, sharex=True, height_ratios=[1.4, 1.4, 0.7] * len(shown))
        for k, (name, queue) in enumerate(shown):
            mine = axes[3 * k : 3 * k + 3]
            _direction(mine, records[name], edges, float(queue.get("rate_mbps") or np.inf), _names(document, name))
            plotting.title(mine[0], f"What was {directions.carried(document, name)}, {name} ({queue['aqm']})")
            for ax in mine:
                for one in document.get("changes") or []:
                    ax.axvline(float(one["time_s"]), color="#888888", lw=0.7, ls=":")
        axes[-1].set_xlabel("Time (s)")
    return drawing


def _names(document: Mapping[str, Any], queue: str) -> list[tuple[str, int]]:
    """The flows of a direction in the order of their first packets: name, and number of arrivals."""
    return [
        (str(flow.get("name") or f"flow {flow['id']}"), int(flow.get("arrivals") or 0))
        for flow in document.get("flows") or []
        if flow.get("queue") == queue
    ]


def labels(flows: Sequence[int], arrivals: Sequence[int], names: Sequence[tuple[str, int]]) -> list[str]:
    """What the flows of a log are called: by the result's flows, where these have as many arrivals in the same order.

    A log has no addresses. With a warm-up, or where flows began before it, the numbers differ: then they are numbered.
    """
    if [count for _, count in names] == list(arrivals):
        return [name for name, _ in names]
    return [f"flow {k + 1}" for k in range(len(flows))]


def _direction(
    axes: Sequence[Axes], log: Columns, edges: Array, rate_mbps: float, names: list[tuple[str, int]]
) -> None:
    """Draw one direction: what left in each interval, the delay of what came in it, and how much was dropped."""
    width = float(edges[1] - edges[0])
    left, size = log["fate"] == DEPARTED, log["size"].astype(float)
    numbers, first, counts = np.unique(log["flow"], return_index=True, return_counts=True)
    order = np.argsort(first)
    flows, counts = numbers[order], counts[order]
    called = dict(zip(flows.tolist(), labels(flows.tolist(), counts.tolist(), names), strict=True))
    by_bytes = sorted(flows.tolist(), key=lambda flow: -float(size[left & (log["flow"] == flow)].sum()))
    rate, delay, drops = axes

    def sent(chosen: Array) -> Array:
        found: Array = np.histogram(log["settled_s"][chosen], edges, weights=8e-6 * size[chosen])[0] / width
        return found

    def waited(chosen: Array) -> Array:
        """The mean delay of the packets that came in each interval, ms; NaN where none did."""
        times = log["time_s"][chosen]
        total = np.histogram(times, edges, weights=1e3 * (log["settled_s"][chosen] - times))[0]
        packets = np.histogram(times, edges)[0]
        mean: Array = np.divide(total, packets, out=np.full(len(packets), np.nan), where=packets > 0)
        return mean

    rate.stairs(sent(left), edges, baseline=None, color="#000000", lw=1.3, label="all")
    few = [flow for flow in by_bytes if size[log["flow"] == flow].sum() >= SHARE * size.sum()]
    for k, flow in enumerate(few[:FLOWS] if len(few) > 1 else []):
        mine, own = left & (log["flow"] == flow), plotting.look(k)
        label = plotting.plain(called[flow])
        rate.stairs(sent(mine), edges, baseline=None, color=own.colour, ls=own.dashes, lw=0.9, label=label)
        delay.plot(edges[:-1] + width / 2, waited(mine), color=own.colour, ls=own.dashes, lw=0.9)
    delay.plot(edges[:-1] + width / 2, waited(left), color="#000000", lw=1.3)
    if rate_mbps < UNLIMITED_MBPS:
        rate.axhline(rate_mbps, color="#b3261e", lw=0.9, ls="--", label="rate of the link")
    gone = (log["fate"] != DEPARTED) & (log["fate"] != 0)
    drops.stairs(np.histogram(log["time_s"][gone], edges)[0], edges, fill=True, color="#b3261e")
    rate.set_ylabel("Rate (Mbit/s)")
    delay.set_ylabel("Queueing\ndelay (ms)")
    drops.set_ylabel("Drops")
    if not gone.any():
        drops.set_ylim(top=1)
    for ax in axes:
        ax.set_ylim(bottom=0)
        ax.margins(x=0)
    rate.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=2, fontsize=6.5)
