"""Every discipline of the catalogue in a simulation: alone with TCP, and with a flow that does not slow down."""

from __future__ import annotations

import json
import keyword
from typing import Any

import pytest

from earlydrop import _core

NAMES = [entry["name"] for entry in json.loads(_core.catalogue())]


def scenario(aqm: str, *, mixed: bool) -> _core.Scenario:
    """Scenario S1 of the validation with 40 flows, shortened; with `mixed`, CBR at 80 % of the link beside it."""
    link = {"rate": "5 Mbit/s", "delay": "20 ms"}
    start = {"uniform": ["0 s", "1 s"]}
    document: dict[str, Any] = {
        "name": f"s1-{aqm}",
        "duration": "20 s",
        "warmup": "5 s",
        "topology": {
            "kind": "dumbbell",
            "pairs": 41,
            "access": link,
            "bottleneck": {"rate": "5 Mbit/s", "delay": "10 ms"},
        },
        "queue": {"bottleneck": {"aqm": aqm, "limit": "120 packets"}},
        "traffic": [{"kind": "ftp", "count": 40, "segment": "960 B", "start": start}],
    }
    if mixed:
        document["traffic"].append({"kind": "cbr", "rate": "4 Mbit/s", "segment": "1000 B"})
    return _core.Scenario.parse(document, [])


def outcome(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    del document["cost"]
    return document


@pytest.mark.parametrize("mixed", [False, True], ids=["tcp", "tcp and cbr"])
@pytest.mark.parametrize("aqm", NAMES)
def test_it_runs_conserves_and_repeats(aqm: str, mixed: bool) -> None:
    checked = scenario(aqm, mixed=mixed)
    first = outcome(checked.run(3))
    assert first == outcome(checked.run(3, links="stepped", events="heap"))
    queue = first["queues"]["bottleneck"]
    drops = queue["early_drops"] + queue["forced_drops"] + queue["overflow_drops"]
    assert queue["queued_at_start"] + queue["arrivals"] == queue["departures"] + drops + queue["queued_at_end"]
    assert queue["queue_max_packets"] <= 120
    # An idle link under 40 greedy flows would be a slip of the discipline; AVQ aims below the link on purpose.
    assert queue["utilisation"] > 0.7
    # SP-PIFO reorders: Reno takes that for losses, and 40 flows do not fill the buffer.
    assert drops > 0 or (aqm == "sp_pifo" and not mixed)


def test_there_are_at_least_forty() -> None:
    assert len(NAMES) == len(set(NAMES))
    assert len(NAMES) >= 40


def test_flow_aware_disciplines_hold_an_unresponsive_flow_back() -> None:
    share = {
        aqm: outcome(scenario(aqm, mixed=True).run(3))["flows"][-1]["goodput_mbps"] / 5
        for aqm in ("droptail", "red", "choke", "fred", "fq", "fq_codel", "sfb")
    }
    assert min(share["droptail"], share["red"]) > 0.5
    assert share["choke"] < 0.35
    assert max(share[aqm] for aqm in ("fred", "fq", "fq_codel", "sfb")) < 0.15


def test_every_parameter_can_be_given_from_python() -> None:
    for entry in json.loads(_core.catalogue()):
        assert not [p["name"] for p in entry["parameters"] if keyword.iskeyword(p["name"])]
