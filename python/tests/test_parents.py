"""Queues with a parent: a shaper whose child is any discipline."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from earlydrop import _core, cli, playground, tune
from earlydrop.analysis import entries
from earlydrop.analysis.entries import Entry
from earlydrop.document import discipline

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = {entry["name"]: entry for entry in json.loads(_core.catalogue())}


HEAD = """name = "shaped"
duration = "10 s"

[topology]
kind = "dumbbell"
pairs = 4
access = { rate = "100 Mbit/s", delay = "2 ms" }
bottleneck = { rate = "20 Mbit/s", delay = "10 ms" }

[[traffic]]
kind = "ftp"
count = 4
start = { uniform = ["0 s", "1 s"] }

"""


def text(example: int = 0) -> str:
    """Four flows at one of the queues of docs/aqms/parents.md."""
    page = (ROOT / "docs/aqms/parents.md").read_text(encoding="utf-8")
    return HEAD + page.split("```toml\n")[1 + example].split("```")[0]


def shaped() -> dict[str, Any]:
    return tomllib.loads(text())


def run(document: dict[str, Any], sets: list[tuple[str, str]]) -> dict[str, Any]:
    result = json.loads(_core.Scenario.parse(document, sets).run(1))
    queue: dict[str, Any] = result["queues"]["bottleneck"]
    return queue


def test_the_example_of_the_page_runs_at_its_parents_rate() -> None:
    queue = run(shaped(), [])
    assert queue["aqm"] == "fq_codel"
    assert 7.5 < queue["throughput_mbps"] < 8.01
    assert queue["parent"]["sent_bytes"] == queue["departed_bytes"]


def _counted(queue: dict[str, Any]) -> list[float]:
    """What HTB counts of its classes in 10 s, Mbit/s: with the 14 B of Ethernet's header."""
    return [(row["sent_bytes"] + 14 * row["sent_packets"]) * 8 / 10e6 for row in queue["parent"]["classes"]]


def test_classes_of_htb_share_the_rate_as_the_page_says() -> None:
    document = tomllib.loads(text(1))
    # UDP, more than the link takes, in both classes.
    document["traffic"] = [{"kind": "cbr", "rate": "9 Mbit/s", "class": number} for number in (0, 1)]
    queue = run(document, [])
    shares = _counted(queue)
    assert 7.95 < sum(shares) < 8.01
    assert 1.99 < shares[1] < 2.01
    first = queue["parent"]["classes"][0]
    assert (first["drops"] > 0, first["borrows"] + first["lends"]) == (True, first["sent_packets"])
    # The first class leaves most of its rate: the second has its ceil.
    document["traffic"][0]["rate"] = "1 Mbit/s"
    queue = run(document, [])
    shares = _counted(queue)
    assert 0.98 < shares[0] < 1.02
    assert 3.95 < shares[1] < 4.01
    assert queue["parent"]["classes"][1]["borrows"] > 0


def test_children_of_htb_draw_their_own_numbers() -> None:
    document = tomllib.loads(text(1))
    document["queue"]["bottleneck"]["child"] = {"aqm": "red", "limit": "100 packets"}
    document["queue"]["bottleneck"] |= {"rate_0": "4 Mbit/s", "rate_1": "4 Mbit/s", "prio_0": 0}
    document["traffic"] = [{"kind": "cbr", "rate": "4.1 Mbit/s", "class": number} for number in (0, 1)]
    first, second = run(document, [])["parent"]["classes"]
    assert 0 < first["drops"] != second["drops"] > 0


def test_airtime_fairness_ends_the_anomaly_of_wifi_as_the_page_says() -> None:
    document = tomllib.loads(text(2))
    document["topology"]["bottleneck"]["rate"] = "1 Gbit/s"
    document["topology"]["access"]["rate"] = "1 Gbit/s"
    start = {"uniform": ["0 s", "0.1 s"]}
    # Unlimited windows, so that the queue and not the receiver sets the rate.
    document["traffic"] = [
        {"kind": "ftp", "count": 2, "class": number, "start": start, "tcp": "cubic", "stack": "rfc"}
        for number in range(3)
    ]
    document["warmup"] = "2 s"

    def shares(queue: dict[str, Any]) -> tuple[list[float], list[float], float]:
        rows = queue["parent"]["classes"]
        total = sum(row["airtime_ms"] for row in rows)
        assert total < 8010
        rates = [row["sent_bytes"] * 8 / 8e6 for row in rows]
        return [row["airtime_ms"] / total for row in rows], rates, queue["delay_mean_ms"]

    airtime, rates, delay = shares(run(document, []))
    assert all(abs(share - 1 / 3) < 0.03 for share in airtime)
    document["queue"]["bottleneck"] |= {"queues": "shared", "child": {"aqm": "droptail", "limit": "1000 packets"}}
    before, slow, late = shares(run(document, []))
    assert before[2] > 0.5
    assert rates[0] > 2 * slow[0]
    assert late > 5 * delay


def test_settings_reach_parent_and_child() -> None:
    assert 3.7 < run(shaped(), [("queue.bottleneck.rate", '"4 Mbit/s"')])["throughput_mbps"] < 4.01
    # What FQ-CoDel has and RED has not is left out, as without a parent.
    assert run(shaped(), [("queue.bottleneck.child.aqm", '"red"')])["aqm"] == "red"


def test_a_comparison_replaces_the_child() -> None:
    sets = [("queue.bottleneck.child.target", '"7 ms"'), ("queue.bottleneck.rate", '"4 Mbit/s"')]
    mine, left, gone = entries.with_entry(shaped(), sets, "bottleneck", Entry("red"), CATALOGUE)
    assert mine["queue"]["bottleneck"]["child"] == {"aqm": "red", "limit": "1000 packets"}
    assert mine["queue"]["bottleneck"]["parent"] == "tbf"
    assert (left, gone) == (sets[1:], ["target"])
    whole = Entry("red", {"min_th": 5, "max_th": 15}, whole=True)
    mine, _, _ = entries.with_entry(shaped(), [], "bottleneck", whole, CATALOGUE)
    assert mine["queue"]["bottleneck"]["child"] == {"aqm": "red", "limit": "1000 packets", "min_th": 5, "max_th": 15}
    assert discipline(mine["queue"]["bottleneck"]) == mine["queue"]["bottleneck"]["child"]


def test_parents_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "parents", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    names = [(parent["name"], parent["title"]) for parent in found]
    assert names == [("tbf", "TBF"), ("htb", "HTB"), ("wifi", "Wi-Fi")]


def test_who_takes_no_parent_says_so(tmp_path: Path) -> None:
    with pytest.raises(playground.PlaygroundError, match=r"shaped\.toml: queue\.bottleneck\.parent: given 'tbf'"):
        playground.check(_core.Scenario.parse(shaped(), []), "shaped.toml")
    file = tmp_path / "shaped.toml"
    file.write_text(text(), encoding="utf-8")
    with pytest.raises(tune.TuneError, match=r"shaped\.toml: queue\.bottleneck\.parent: given 'tbf'"):
        tune.problem(file, "codel", ["delay"])
