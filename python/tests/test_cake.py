"""CAKE in a network: hosts, code points, the shaper and the ACK filter, from the scenario to the result."""

from __future__ import annotations

from typing import Any

import earlydrop as ed

FLOWS = {"kind": "ftp", "tcp": "cubic", "stack": "linux-6.18"}


def run(queue: dict[str, Any], back: dict[str, Any], back_rate: str, traffic: list[dict[str, Any]]) -> dict[str, Any]:
    """The result of a dumbbell of 20 Mbit/s with two hosts at each side."""
    document = {
        "name": "cake",
        "duration": "12 s",
        "warmup": "4 s",
        "topology": {
            "kind": "dumbbell",
            "pairs": 2,
            "access": {"rate": "1 Gbit/s", "delay": "1 ms"},
            "bottleneck": {"rate": "20 Mbit/s", "delay": "10 ms"},
            "reverse": {"rate": back_rate, "delay": "10 ms"},
        },
        "queue": {"bottleneck": queue, "reverse": back},
        "traffic": traffic,
    }
    return ed.parse(document).run(seed=1).document


PLENTY = {"aqm": "droptail", "limit": "1000 packets"}


def test_hosts_share_the_rate_that_the_shaper_keeps() -> None:
    """Host 1 has six flows, host 2 two."""
    traffic = [FLOWS | {"count": 8, "pairs": [1, 1, 1, 1, 1, 1, 2, 2]}]
    for mode, share in (("flows", 0.75), ("triple-isolate", 0.5), ("dual-srchost", 0.5), ("dual-dsthost", 0.5)):
        queue = {"aqm": "cake", "bandwidth": "10 Mbit/s", "flow_mode": mode}
        found = run(queue, PLENTY, "10 Mbit/s", traffic)
        goodputs = [flow["goodput_mbps"] for flow in found["flows"]]
        assert abs(sum(goodputs[:6]) / sum(goodputs) - share) < 0.04, (mode, goodputs)
        # The shaper counts Ethernet's header too.
        assert 9.9 < found["queues"]["bottleneck"]["throughput_mbps"] * 1514 / 1500 < 10.001


def test_a_code_point_leads_to_a_tin() -> None:
    """EF is voice, CS1 bulk; without `dscp` the class decides, and class 1 is CS1."""
    traffic = [FLOWS | {"count": 1, **more} for more in ({"dscp": 46}, {"dscp": 8}, {"class": 1}, {})]
    found = run({"aqm": "cake", "bandwidth": "10 Mbit/s"}, PLENTY, "10 Mbit/s", traffic)
    bulk, best, voice = found["queues"]["bottleneck"]["tins"]
    assert [tin["way_misses"] >= 0 and tin["packets"] > 0 for tin in (bulk, best, voice)] == [True] * 3
    assert [tin["threshold_bps"] for tin in (bulk, best, voice)] == [625e3, 10e6, 2.5e6]
    entries = [entry["goodput_mbps"] for entry in found["traffic"]]
    # Voice has its quarter; two bulk flows share a sixteenth.
    assert abs(entries[0] - 2.5) < 0.2, entries
    assert abs(entries[1] + entries[2] - 0.625) < 0.1, entries
    assert abs(entries[1] - entries[2]) < 0.1, entries


def test_the_ack_filter_keeps_acks_from_queueing() -> None:
    """ACKs need 400 kbit/s and have 150."""
    traffic = [FLOWS | {"count": 4}]
    found = {
        strength: run(PLENTY, {"aqm": "cake", "ack_filter": strength}, "150 kbit/s", traffic)
        for strength in ("off", "on", "aggressive")
    }
    dropped = {one: result["queues"]["reverse"]["tins"][1]["ack_drops"] for one, result in found.items()}
    delay = {one: result["queues"]["reverse"]["delay_mean_ms"] for one, result in found.items()}
    assert dropped["off"] == 0 < dropped["on"], dropped
    assert delay["aggressive"] < delay["on"] < delay["off"], delay
