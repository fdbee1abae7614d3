"""The benchmark command: what it measures, and its peers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import peer

from earlydrop import _core, bench, cli


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code = cli.main(["bench", *arguments, "--json"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return json.loads(printed.out)


@pytest.mark.parametrize("name", list(bench.CASES))
def test_every_case_is_a_valid_scenario(name: str) -> None:
    _core.Scenario.parse(bench.CASES[name].document(), [])


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
    monkeypatch.setattr(bench, "_upward", lambda relative: None)
    found = run(capsys, "--case", "A", "--runs", "1")
    (row,) = found["cases"][0]["tools"]
    assert row["how"] == bench.PythonModule.note
    assert 250_000 < row["arrivals"] < 350_000


def test_ns2_runs_the_same_case(capsys: pytest.CaptureFixture[str]) -> None:
    peer("ns")
    found = run(capsys, "--case", "A", "--runs", "1", "--against", "ns2")
    ours, theirs = found["cases"][0]["tools"]
    assert theirs["tool"] == "ns2"
    assert theirs["ratio"] > 0
    assert ours["arrivals"] == pytest.approx(theirs["arrivals"], rel=0.05)
    assert ours["drops"] == pytest.approx(theirs["drops"], rel=0.10)


def test_a_peer_that_is_not_installed_is_left_out_with_a_note(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.shutil, "which", lambda name: None)
    found = run(capsys, "--case", "A", "--runs", "1", "--against", "ns2")
    assert [row["tool"] for row in found["cases"][0]["tools"]] == ["earlydrop"]
    assert "ns2 left out" in found["notes"][0]
