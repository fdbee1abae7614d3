"""The benchmark command: what it measures, and its peers."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import peer

from earlydrop import _core, bench, bench_tools, cli
from earlydrop.cli import bench as bench_command


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code = cli.main(["bench", *arguments, "--json"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return json.loads(printed.out)


@pytest.mark.parametrize("name", list(bench.CASES))
def test_every_case_is_a_valid_scenario(name: str) -> None:
    _core.Scenario.parse(bench.CASES[name].document(), [])


def test_home_is_what_init_writes(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["init"]) == 0
    written = tomllib.loads(capsys.readouterr().out)
    assert bench.CASES["home"].document() == {**written, "name": "home", "warmup": "0 s"}


def test_by_default_the_headline_is_measured_and_beside_peers_their_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    monkeypatch.setattr(bench, "_take_turns", lambda tools, case, *rest: taken.append(case.name))
    monkeypatch.setattr(bench, "_case_report", lambda *given: {})
    monkeypatch.setattr(bench_tools.shutil, "which", lambda name: None)
    for against in ([], ["ns2", "bare"], ["ns3"]):
        bench.run(against)
    today = ["home", "access", "l4s", "call", "quic", "loss", "N1000"]
    assert taken == [*today, "A", "B", "C", "home", "home-bbr", "home-codel"]
    assert f"default: {', '.join(today)};" in bench_command.CASES


def test_a_peer_without_the_case_is_named() -> None:
    notes: list[str] = []
    ns2 = bench_tools.Ns2(None, "ns", Path(), Path())
    assert bench._take_turns([ns2], bench.CASES["loss"], 3, bench.no_progress, 0, 3, notes) == {"ns2": []}
    assert notes == ["case loss: not one of ns2's"]


def test_ns3_runs_the_same_home(tmp_path: Path) -> None:
    ns3 = bench_tools.peer("ns3", None, tmp_path, None)
    if isinstance(ns3, str):
        pytest.skip(ns3)
    for name in bench.HOME:
        case = replace(bench.CASES[name], duration_s=20)
        queues = json.loads(_core.Scenario.parse(case.document(), []).run(1))["queues"].values()
        assert ns3.measure(case)["arrivals"] == pytest.approx(sum(queue["arrivals"] for queue in queues), rel=0.2)


EVENTS = {
    "home": (20, 2.037),
    "access": (2, 2.674),
    "l4s": (10, 2.555),
    "call": (20, 2.467),
    "quic": (10, 2.587),
    "loss": (20, 3.641),
    "A": (20, 1.155),
    "A-stepped": (20, 6.227),
    "A-spread": (20, 1.201),
    "B": (5, 1.020),
    "C": (1, 1.031),
    "lean": (5, 0.936),
    "chain": (10, 3.778),
    "N10": (3, 2.081),
}
"""Seconds simulated, and events for each arrival at a queue."""


@pytest.mark.parametrize("name", list(EVENTS))
def test_a_packet_costs_no_more_events(name: str) -> None:
    # The cheapest measure of speed that is the same on every machine; instructions are counted by `make
    # bench-instructions`.
    seconds, most = EVENTS[name]
    case = replace(bench.CASES[name], duration_s=seconds)
    scenario = _core.Scenario.parse(case.document(), [])
    result = json.loads(scenario.run(1, links="stepped" if case.stepped else "auto"))
    arrivals = sum(queue["arrivals"] for queue in result["queues"].values())
    assert result["cost"]["events"] / arrivals == pytest.approx(most, rel=0.02)


def test_hops_count_every_transmission() -> None:
    assert bench.CASES["A"].hops(100, 10) == 100 + 2 * 90 + 3 * 90
    assert bench.CASES["lean"].hops(100, 10) == 2 * 90
    # Five queues, 20 packets each: out over seven links, back over seven.
    assert bench.CASES["chain"].hops(100, 0) == 14 * 20


def test_htsim_needs_a_folder_and_the_right_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = run(capsys, "--case", "lean", "--runs", "1", "--against", "htsim")
    assert "--htsim" in found["notes"][0]
    if bench_tools.shutil.which("g++"):
        found = run(capsys, "--case", "lean", "--runs", "1", "--against", "htsim", "--htsim", str(tmp_path))
        assert "no checkout of csg-htsim" in found["notes"][0]


def test_spread_delays_all_differ() -> None:
    delays = bench.CASES["C-spread"].sender_delays_ms()
    assert len(set(delays)) == len(delays) == 1000
    assert min(delays) >= 5
    assert max(delays) <= 10


def test_a_case_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    found = run(capsys, "--case", "A", "--runs", "1")
    (row,) = found["cases"][0]["tools"]
    assert row["tool"] == "earlydrop"
    # 10 Mbit/s for 200 s is 250,000 packets of 1000 B; what is dropped arrived besides.
    assert 250_000 < row["arrivals"] < 350_000
    assert 0 < row["drops"] < row["arrivals"] - 240_000
    assert row["user_s"] > 0
    assert row["peak_rss_mb"] > 1


def test_through_python_the_same_packets_arrive(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_tools, "upward", lambda relative: None)
    found = run(capsys, "--case", "A", "--runs", "1")
    (row,) = found["cases"][0]["tools"]
    assert row["how"] == bench_tools.PythonModule.note
    assert 250_000 < row["arrivals"] < 350_000


def test_ns2_runs_the_same_case(capsys: pytest.CaptureFixture[str]) -> None:
    peer("ns")
    found = run(capsys, "--case", "A", "--runs", "1", "--against", "ns2")
    ours, theirs = found["cases"][0]["tools"]
    assert theirs["tool"] == "ns2"
    assert ours["arrivals"] == pytest.approx(theirs["arrivals"], rel=0.05)
    assert ours["drops"] == pytest.approx(theirs["drops"], rel=0.10)


def test_a_run_shorter_than_its_set_up_has_no_ratio() -> None:
    def taken(total: float, setup: float) -> list[dict[str, float]]:
        counted = {"arrivals": 1000, "drops": 10, "events": 5000, "peak_rss_mb": 10.0}
        return [{"user_s": max(total - setup, 0.0), "setup_user_s": setup, "total_user_s": total, **counted}]

    tools = [bench_tools.Ns2(None, "ns", Path(), Path()), bench_tools.Ns2(None, "ns", Path(), Path())]
    tools[0].name = "earlydrop"
    steady = bench._case_report(bench.CASES["A"], tools, {"earlydrop": taken(0.2, 0.1), "ns2": taken(1.1, 0.1)})
    assert steady["tools"][1]["ratio"] == pytest.approx(10)
    disturbed = bench._case_report(bench.CASES["A"], tools, {"earlydrop": taken(0.2, 0.1), "ns2": taken(0.3, 0.4)})
    assert disturbed["tools"][1]["ratio"] is None
    assert disturbed["tools"][1]["user_s"] == 0


def test_a_peer_that_is_not_installed_is_left_out_with_a_note(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_tools.shutil, "which", lambda name: None)
    found = run(capsys, "--case", "A", "--runs", "1", "--against", "ns2")
    assert [row["tool"] for row in found["cases"][0]["tools"]] == ["earlydrop"]
    assert "ns2 left out" in found["notes"][0]
