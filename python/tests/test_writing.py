"""Applications that write at a rate, over TCP, and constant bursts over UDP."""

from __future__ import annotations

from typing import Any

import pytest

import earlydrop as ed

STACKS = [
    {"tcp": "reno", "stack": "ns2-2.35"},
    {"tcp": "sack", "stack": "ns2-2.35"},
    {"tcp": "cubic", "stack": "rfc"},
    {"tcp": "bbr", "stack": "linux-6.18"},
    {"tcp": "cubic", "stack": "quic"},
]


def net(**bottleneck: Any) -> ed.Network:
    return ed.dumbbell(
        pairs=2,
        access=ed.link("100 Mbit/s", "1 ms"),
        bottleneck=ed.link("10 Mbit/s", "10 ms", **bottleneck),
        queue=ed.aqm.DropTail(limit="100 packets"),
    )


@pytest.mark.parametrize("stack", STACKS, ids=lambda s: f"{s['tcp']}-{s['stack']}")
def test_tcp_sends_what_the_application_writes_and_no_more(stack: dict[str, str]) -> None:
    made = net()
    made.ftp(1, segment="1000 B", start="0 s", rate="2 Mbit/s", name="writes", **stack)
    made.ftp(1, segment="1000 B", start="0 s", rate="2 Mbit/s", on="100 ms", off="300 ms", name="bursts", **stack)
    document = made.run(duration="40 s", warmup="4 s", record={"rates": "100 ms", "rate_flows": [1, 2]}).document
    writes, bursts = document["traffic"]
    # 25 segments each 400 ms: a quarter of the rate.
    assert writes["goodput_mbps"] == pytest.approx(2.0, rel=0.005)
    assert bursts["goodput_mbps"] == pytest.approx(0.5, rel=0.01)
    assert document["queues"]["bottleneck"]["utilisation"] < 0.3
    rates = document["rates"]["flows"][1]["goodput_mbps"]
    assert sum(rate == 0 for rate in rates) > 0.4 * len(rates)
    assert max(rates) < 2.5


def test_what_tcp_cannot_send_waits() -> None:
    made = net()
    made.ftp(2, tcp="cubic", stack="rfc", segment="1000 B", start="0 s", rate="20 Mbit/s", lifetime="10 s")
    full = made.run(duration="10 s", warmup="2 s").document["queues"]["bottleneck"]
    assert full["utilisation"] > 0.97
    late = made.run(duration="20 s", warmup="12 s").document
    assert sum(flow["goodput_mbps"] for flow in late["flows"]) == 0, "what was not sent by the end is never sent"


def test_a_faster_writer_is_as_an_endless_file_that_a_link_holds_up() -> None:
    """With more written than the window takes, the sender is never without data, but for the first write's interval."""
    made, endless = net(), net()
    made.ftp(1, tcp="reno", segment="1000 B", start="100 ms", rate="1 Gbit/s", rules={"clock_phase": "0 s"})
    endless.ftp(1, tcp="reno", segment="1000 B", start="100.008 ms", rules={"clock_phase": "0 s"})
    found = [one.run(duration="20 s").document["flows"][0] for one in (made, endless)]
    names = ("delivered_packets", "retransmits", "timeouts", "drops")
    assert [found[0][name] for name in names] == [found[1][name] for name in names]


@pytest.mark.parametrize("seed", [1, 2])
def test_constant_bursts_are_all_alike(seed: int) -> None:
    made = net()
    made.onoff(1, rate="1 Mbit/s", segment="1000 B", on="80 ms", off="120 ms", law="constant", start="0 s")
    result = made.run(duration="10.05 s", seed=seed, record={"rates": "200 ms", "rate_flows": [1]})
    # 10 packets each 200 ms, in whatever run.
    assert result.document["flows"][0]["delivered_packets"] == 500
    assert set(result.document["rates"]["flows"][0]["goodput_mbps"][1:-1]) == {0.4}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"on": "1 s"}, "traffic[0].on: goes with off, the length of the pauses"),
        ({"off": "1 s"}, "traffic[0].off: goes with on, the length of the periods between pauses"),
        ({"on": "1 s", "off": "1 s"}, "traffic[0].on: goes with rate, at which the application writes"),
        ({"rate": "0 bit/s"}, "traffic[0].rate"),
        ({"rate": "1e15 bit/s"}, "traffic[0].rate"),
        ({"rate": "1 Mbit/s", "on": "0 s", "off": "1 s"}, "traffic[0].on"),
    ],
)
def test_wrong_keys_are_refused(keys: dict[str, str], said: str) -> None:
    made = net()
    made.ftp(1, start="0 s", **keys)
    with pytest.raises(ed.ScenarioError) as error:
        made.scenario(duration="1000 s")
    assert said in str(error.value)


def test_data_of_the_other_way_are_endless() -> None:
    made = net()
    made.ftp(1, tcp="cubic", stack="rfc", start="0 s", rate="1 Mbit/s", name="there")
    made.ftp(reverse_of="there", start="0 s", rate="1 Mbit/s")
    with pytest.raises(ed.ScenarioError, match=r"traffic\[1\]\.rate"):
        made.scenario(duration="10 s")
    del made.traffic[1]["rate"]
    there, back = made.run(duration="10 s", warmup="2 s").document["traffic"]
    assert there["goodput_mbps"] == pytest.approx(1.0, rel=0.02)
    assert back["goodput_mbps"] > 8
