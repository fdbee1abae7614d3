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


def test_s1_agrees_with_ns2(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = run(capsys)
    assert [c for c in found["checks"] if not c["ok"]] == []
    assert (code, found["ok"], found["failed"]) == (0, True, 0)
    assert found["seeds"] == 10
    assert {(c["queue"], c["flows"], c["buffer"]) for c in found["checks"]} == {
        (q, n, b) for q in ("droptail", "red", "red_gentle") for n in (6, 40, 80) for b in (120, 200)
    }
    # Six figures of a RED queue and five of DropTail's, at six loads and buffers.
    assert len(found["checks"]) == 6 * (6 + 6 + 5)


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
