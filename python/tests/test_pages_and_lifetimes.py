"""Traffic `pages`, and endless files with a `lifetime`."""

from __future__ import annotations

from typing import Any

import pytest

import earlydrop as ed

ROUND_TRIP = 0.1
"""Propagation there and back, s: 2 (1 + 48 + 1) ms."""


def network(pairs: int) -> Any:
    return ed.dumbbell(
        pairs=pairs,
        access=ed.link("1 Gbit/s", "1 ms"),
        bottleneck=ed.link("100 Mbit/s", "48 ms"),
        queue=ed.aqm.DropTail(limit="1000 packets"),
    )


def pages(stack: str, **more: Any) -> tuple[dict[str, Any], list[float]]:
    net = network(2)
    net.pages(2, size="1000 B", connections=2, objects=10, stack=stack, **more)
    scenario = net.scenario(duration="20 s", record={"transfers": True})
    (entry,) = scenario.run(seed=1).document["traffic"]
    return entry["transfers"], entry["transfers"]["times_s"]


@pytest.mark.parametrize("stack", ["ns2-2.35", "rfc"])
def test_a_page_is_complete_with_its_last_object(stack: str) -> None:
    """Ten objects of a segment over two connections: five in turn on each, a request and an answer each time.

    The first object of a connection waits for its SYN, too.
    """
    found, times = pages(stack, number=2, think="3 s")
    assert (found["begun"], found["completed"], found["completed_bytes"]) == (2, 2, 20_000)
    assert times[0] == pytest.approx(5 * ROUND_TRIP, rel=0.02)
    assert times[1] == pytest.approx(6 * ROUND_TRIP, rel=0.02)


def test_each_object_may_open_a_connection() -> None:
    _, times = pages("rfc", number=1, connection="new")
    assert times == [pytest.approx(10 * ROUND_TRIP, rel=0.02)]


def test_the_next_page_waits_for_this_one() -> None:
    found, times = pages("rfc", think="1 s")
    # 20 s hold so many pages of 0.5 s and thoughts of 1 s; the one at the end may be cut.
    assert found["completed"] == len(times) == int((20 - 0.6 - 1) / 1.5) + 1
    assert found["begun"] - found["completed"] in {0, 1}


def test_connections_belong_to_their_browsers() -> None:
    """Twelve connections are two browsers of six, each with a page of its own."""
    net = network(12)
    net.pages(12, size="1000 B", objects=6, number=1, stack="rfc", start=["0 s"] * 6 + ["5 s"] * 6)
    found = net.scenario(duration="10 s").run(seed=1).document["traffic"][0]["transfers"]
    assert found["completed"] == 2
    assert found["time_max_s"] == pytest.approx(2 * ROUND_TRIP, rel=0.02)


@pytest.mark.parametrize(
    ("tcp", "stack"), [("reno", "ns2-2.35"), ("sack", "ns2-2.35"), ("reno", "rfc"), ("cubic", "rfc")]
)
def test_data_end_with_the_lifetime(tcp: str, stack: str) -> None:
    net = ed.dumbbell(
        pairs=2,
        access=ed.link("100 Mbit/s", "1 ms"),
        bottleneck=ed.link("2 Mbit/s", "10 ms"),
        queue=ed.aqm.DropTail(limit="20 packets"),
    )
    net.ftp(2, tcp=tcp, stack=stack, start=["0 s", "4 s"], lifetime="3 s")
    document = net.scenario(duration="12 s", record={"rates": "1 s"}).run(seed=1).document
    for flow, start in zip(document["rates"]["flows"], (0, 4), strict=True):
        during, after = flow["goodput_mbps"][start : start + 3], flow["goodput_mbps"][start + 6 :]
        assert min(during) > 0
        assert sum(after) == 0
    assert document["queues"]["bottleneck"]["queued_at_end"] == 0


def test_a_lifetime_needs_some_length() -> None:
    with pytest.raises(ed.ScenarioError, match="lifetime"):
        network(1).ftp(1, lifetime="0 s").scenario(duration="1 s").run()
