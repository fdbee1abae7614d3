"""Agreement with ns-2's stored figures, and that it can fail."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from earlydrop import cli, validate

REFERENCE = Path(__file__).parents[2] / "validation" / "reference"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = cli.main(["validate", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_s1_and_s2_agree_with_ns2(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = run(capsys)
    assert [c for c in found["checks"] if not c["ok"]] == []
    assert (code, found["ok"], found["failed"]) == (0, True, 0)
    assert (found["seeds"], found["scenarios"]) == (10, ["S1", "S2"])
    assert {(c["scenario"], c["queue"], c["flows"], c["buffer"]) for c in found["checks"]} == {
        *(("S1", q, n, b) for q in ("droptail", "red", "red_gentle") for n in (6, 40, 80) for b in (120, 200)),
        *(("S2", q, n, 120) for q in ("rem", "pi") for n in (5, 10, 20, 40, 80, 120)),
    }
    # Six figures of a RED queue and five of DropTail's at six loads and buffers; five of REM, six of PI at six loads.
    assert len(found["checks"]) == 6 * (6 + 6 + 5) + 6 * (5 + 6)


def test_one_scenario_needs_the_figures_of_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(REFERENCE / "s1", tmp_path / "reference" / "s1")
    monkeypatch.setenv(validate.LOCATION, str(tmp_path))
    code, found = run(capsys, "--case", "s1-red-n6-b120", "--seeds", "2")
    assert (code, found["scenarios"], {c["case"] for c in found["checks"]}) == (0, ["S1"], {"S1-red-n6-b120"})
    assert cli.main(["validate", "--case", "S2", "--seeds", "1"]) == 2
    assert "s2" in capsys.readouterr().err


def test_another_queue_is_not_rem(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(validate.DISCIPLINES, "rem", validate.DISCIPLINES["rem"] | {"q_ref": 22})
    code, found = run(capsys, "--case", "S2-rem-n10-*", "--seeds", "5")
    assert (code, {c["quantity"] for c in found["checks"] if not c["ok"]}) == (1, {"queue_mean_packets"})


def test_the_bounds_are_those_promised() -> None:
    bounds = {q.key: (q.bound, q.relative) for q in validate.QUANTITIES}
    assert bounds == {
        "throughput_mbps": (0.005, True),
        "queue_mean_packets": (0.015, True),
        "average_mean_packets": (0.015, True),
        "early_and_forced_drops": (0.04, True),
        "overflow_drops": (0.04, True),
        "delay_p99_ms": (0.04, True),
        "jain": (0.01, False),
    }


def test_other_figures_are_a_disagreement_and_end_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(REFERENCE / "s1", tmp_path / "reference" / "s1")
    table = tmp_path / "reference" / "s1" / "ns2_seeds.csv"
    with table.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["queue_mean_packets"] = str(1.1 * float(row["queue_mean_packets"]))
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    monkeypatch.setenv(validate.LOCATION, str(tmp_path))
    code, found = run(capsys, "--case", "S1-red-n40-*", "--seeds", "3")
    assert (code, found["ok"], found["failed"]) == (1, False, 2)
    assert {c["quantity"] for c in found["checks"] if not c["ok"]} == {"queue_mean_packets"}
    assert cli.main(["validate", "--case", "S1-red-n40-b120", "--seeds", "3"]) == 1
    assert "1 do not (marked !)" in capsys.readouterr().out


def test_without_a_checkout_it_says_what_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(validate.LOCATION, str(tmp_path))
    assert cli.main(["validate"]) == 2
    assert "checkout" in capsys.readouterr().err


def test_a_value_that_is_no_number_fails() -> None:
    cell, quantity = validate.CELLS[0], validate.QUANTITIES[0]
    assert validate.compare(cell, quantity, [float("nan")] * 3, [5.0, 5.0, 5.0])["ok"] is False
