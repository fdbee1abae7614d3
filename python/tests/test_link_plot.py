"""The figure of a link's log: what it sums, and which flows it names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from earlydrop.render import link_plot, plotting

DEPARTED, OVERFLOW = 1, 4


def log(packets: int = 3000, dropped: int = 300) -> dict[str, np.ndarray[Any, Any]]:
    """A packet of 1250 B each millisecond, of two flows in turn, that waits for 2 ms; every tenth is dropped."""
    time = np.arange(packets) * 1e-3
    fate = np.full(packets, DEPARTED)
    fate[:: packets // dropped] = OVERFLOW
    settled = np.where(fate == DEPARTED, time + 2e-3, time)
    flow = np.where(np.arange(packets) % 2, 9_000_000_000_000_000_009, 7).astype(np.uint64)
    return {"time_s": time, "flow": flow, "size": np.full(packets, 1250), "fate": fate, "settled_s": settled}


def document(**more: Any) -> dict[str, Any]:
    queue = {"aqm": "pie", "rate_mbps": 20.0, "delivered_bytes": 1, "carried": "sent"}
    flows = [
        {"id": 1, "name": "udp $a > b", "queue": "bottleneck", "arrivals": 1500},
        {"id": 2, "name": "udp c > d", "queue": "bottleneck", "arrivals": 1500},
    ]
    return {"kind": "link", "duration_s": 3.0, "queues": {"bottleneck": queue}, "flows": flows, **more}


def test_rate_delay_and_drops_are_those_of_the_log() -> None:
    drawing = link_plot.figure(document(changes=[{"time_s": 1.5, "change": "rate=5mbit"}]), {"bottleneck": log()})
    assert drawing is not None
    rate, delay, drops = drawing.axes
    total = rate.patches[0].get_data()
    # 9 of 10 packets of 1250 B in a millisecond; the last one leaves after the end.
    assert np.sum(total.values) * 0.02 == pytest.approx(2699 * 1250 * 8e-6)
    assert np.median(total.values) == pytest.approx(9.0, rel=0.06)
    shares = [np.sum(one.get_data().values) for one in rate.patches[1:3]]
    assert sum(shares) == pytest.approx(np.sum(total.values))
    means = delay.lines[-2].get_ydata()
    assert np.nanmax(np.abs(np.asarray(means, float) - 2.0)) < 1e-6
    assert np.sum(drops.patches[0].get_data().values) == 300
    assert any(line.get_xdata()[0] == 1.5 for line in drops.lines)
    labels = [text.get_text() for text in rate.get_legend().get_texts()]
    assert set(labels) == {"all", r"udp \$a > b", "udp c > d", "rate of the link"}
    plotting.inline(drawing)


def test_flows_have_names_only_where_the_result_counts_the_same_arrivals() -> None:
    names = [("a", 10), ("b", 5)]
    assert link_plot.labels([3, 1], [10, 5], names) == ["a", "b"]
    assert link_plot.labels([3, 1], [9, 5], names) == ["flow 1", "flow 2"]
    assert link_plot.labels([3, 1, 2], [10, 5, 1], names) == ["flow 1", "flow 2", "flow 3"]


def test_a_log_without_packets_has_no_figure() -> None:
    empty = {name: column[:0] for name, column in log().items()}
    assert link_plot.figure(document(), {"bottleneck": empty}) is None
    assert link_plot.figure(document(), {}) is None
