"""Examples of ns-2 and ns-3 run whole, as docs/examples has them, and do what they do there."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from test_docs import ROOT

import earlydrop as ed

pytestmark = pytest.mark.filterwarnings("ignore::earlydrop.ScenarioWarning")


def examples() -> dict[str, dict[str, Any]]:
    files = (ROOT / "docs/examples").glob("*.toml")
    read = [tomllib.loads(file.read_text(encoding="utf-8")) for file in files]
    return {one["name"]: one for one in read}


def ran(name: str) -> dict[str, Any]:
    return ed.parse(examples()[name]).run(seed=1).document


def drops(queue: dict[str, Any]) -> int:
    return sum(queue[f"{why}_drops"] for why in ("early", "forced", "overflow"))


def test_simple_tcl() -> None:
    document = ran("simple.tcl")
    cbr0, cbr1, ftp = (entry["goodput_mbps"] * 3 for entry in document["traffic"])
    # 210 B each 3.75 ms from 1 s and 1.1 s on, less what is on its way at the end; the file is in slow start.
    assert cbr0 == pytest.approx(534 * 210 * 8 / 1e6, rel=0.02)
    assert cbr1 == pytest.approx(507 * 210 * 8 / 1e6, rel=0.02)
    assert 0.1 < ftp < 0.4
    assert drops(document["queues"]["bottleneck"]) == drops(document["queues"]["back"]) == 0


def test_the_tutorials_third_example() -> None:
    document = ran("example3.tcl")
    # 1.6 Mbit/s into 1 Mbit/s: SFQ halves it.
    assert [entry["goodput_mbps"] for entry in document["traffic"]] == pytest.approx([0.5, 0.5], abs=0.01)
    assert drops(document["queues"]["bottleneck"]) == pytest.approx(0.6e6 / 4000 * 3, rel=0.1)


def test_fifth_cc() -> None:
    document = ran("fifth.cc")
    (flow,) = document["flows"]
    # All that the application writes arrives, in spite of losses.
    assert flow["goodput_mbps"] * 20 == pytest.approx(8.32, rel=0.001)
    assert flow["retransmits"] >= flow["lost"] >= 3
    assert drops(document["queues"]["device"]) == 0


def test_traffic_control_cc() -> None:
    queue = ran("traffic-control.cc")["queues"]["root"]
    # 50 Mbit/s written to a link of 10: RED holds the queue of a full link between its thresholds.
    assert queue["utilisation"] > 0.95
    assert 5 < queue["queue_mean_packets"] < 15
    assert queue["early_drops"] > 20


def test_red_tests_cc() -> None:
    document = ran("red-tests.cc 1")
    queue = document["queues"]["red"]
    one, two = (flow["goodput_mbps"] * 11 for flow in document["flows"])
    # 1.5 Mbit/s for 8.8 s, of which the second flow is there for 6.
    assert 0.7 * 1.5 * 8.8 < one + two < 1.5 * 8.8
    assert one > two > 2
    assert queue["early_drops"] > 20
    assert queue["overflow_drops"] == 0
