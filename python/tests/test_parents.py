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


def text() -> str:
    """Four flows at the queue of docs/aqms/parents.md."""
    page = (ROOT / "docs/aqms/parents.md").read_text(encoding="utf-8")
    return HEAD + page.split("```toml\n")[1].split("```")[0]


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
    (tbf,) = json.loads(capsys.readouterr().out)
    assert (tbf["name"], tbf["title"]) == ("tbf", "TBF")


def test_who_takes_no_parent_says_so(tmp_path: Path) -> None:
    with pytest.raises(playground.PlaygroundError, match=r"shaped\.toml: queue\.bottleneck\.parent: given 'tbf'"):
        playground.check(_core.Scenario.parse(shaped(), []), "shaped.toml")
    file = tmp_path / "shaped.toml"
    file.write_text(text(), encoding="utf-8")
    with pytest.raises(tune.TuneError, match=r"shaped\.toml: queue\.bottleneck\.parent: given 'tbf'"):
        tune.problem(file, "codel", ["delay"])
