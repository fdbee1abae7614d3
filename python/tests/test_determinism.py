"""The same scenario and seed give the same bytes, however and beside whatever they run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from earlydrop import _core, output

# Access links as slow as the bottleneck on one side: packets can meet there, and where that is so the link is
# stepped. On the other side they cannot, and the link is arithmetic.
MIXED = """\
name = "mixed"
duration = "20 s"
seed = 1

[topology]
kind = "dumbbell"
pairs = 12
senders = { rate = "10 Mbit/s", delay = ["1 ms", "7 ms", "20 ms"] }
receivers = { rate = "100 Mbit/s", delay = "5 ms" }
bottleneck = { rate = "5 Mbit/s", delay = "10 ms" }

[queue.bottleneck]
aqm = "tred"
limit = "60 packets"
min_th = 10
max_th = 30
max_p = 0.1

[[traffic]]
kind = "ftp"
count = 12
tcp = "reno"
start = { uniform = ["0 s", "1 s"] }
"""


def without_cost(text: str) -> str:
    """A result document as bytes to compare: all but what the run cost."""
    document = json.loads(text)
    assert document.pop("cost")
    return output.to_json(document)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.toml"
    path.write_text(MIXED, encoding="utf-8")
    return path


def command(*arguments: str | Path) -> str:
    line = [sys.executable, "-m", "earlydrop", *(str(a) for a in arguments)]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout


def test_a_run_is_the_same_again_and_inside_a_parallel_comparison(mixed: Path, tmp_path: Path) -> None:
    alone = without_cost(command("run", mixed, "--seed", "7", "--json"))
    assert without_cost(command("run", mixed, "--seed", "7", "--json")) == alone
    out = tmp_path / "out"
    command(
        "compare", mixed, "--aqm", "red", "tred", "droptail", "--seeds", "4", "--set", "seed=5",
        "--workers", "4", "--out", out,
    )  # fmt: skip
    assert without_cost((out / "runs" / "tred-seed7.json").read_text(encoding="utf-8")) == alone
    assert without_cost((out / "runs" / "tred-seed8.json").read_text(encoding="utf-8")) != alone


def test_the_release_build_gives_the_stored_bytes_that_the_debug_build_gives() -> None:
    # crates/sim/tests/golden/stored.rs holds a build with debug assertions to the same file.
    folder = Path(__file__).resolve().parents[2] / "crates" / "sim" / "tests" / "golden_run"
    stored = json.loads((folder / "mixed.json").read_text(encoding="utf-8"))
    assert without_cost(command("run", folder / "mixed.toml", "--seed", "7", "--json")) == output.to_json(stored)


DIALECTS = ("paper", "ns2", "ns3", "linux")


@pytest.mark.parametrize(
    ("aqm", "dialect"), [("droptail", None), *((a, d) for a in ("red", "nlred", "tred") for d in DIALECTS)]
)
def test_stepped_links_and_the_plain_heap_change_nothing(mixed: Path, aqm: str, dialect: str | None) -> None:
    given = json.loads(_core.Scenario.load(str(mixed), []).to_json())
    given["queue"]["bottleneck"] = {"aqm": aqm, "limit": "60 packets"}
    if dialect is not None:
        given["queue"]["bottleneck"]["dialect"] = dialect
    scenario = _core.Scenario.parse(given, [])
    usual = scenario.run(7)
    others: list[dict[str, Any]] = [{"links": "stepped"}, {"events": "heap"}, {"links": "stepped", "events": "heap"}]
    for other in others:
        assert without_cost(scenario.run(7, **other)) == without_cost(usual), other
    # The two ways are different work: equality would say little if both did the same.
    assert json.loads(usual)["cost"]["events"] < json.loads(scenario.run(7, links="stepped"))["cost"]["events"]


def test_a_comparison_is_the_same_with_any_number_of_workers(mixed: Path) -> None:
    line = ["compare", mixed, "--aqm", "red", "tred", "--seeds", "3", "--json", "--set", "duration=5 s"]
    assert command(*line, "--workers", "1") == command(*line, "--workers", "3")
