"""Agreement with ns-2's stored figures, and that it can fail."""

from __future__ import annotations

import csv
import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from earlydrop import cli, validate, validation_cases
from earlydrop.validation_cases import CASES

REFERENCE = Path(__file__).parents[2] / "validation" / "reference"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = cli.main(["validate", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_sixth_of_all_cases_agrees_with_ns2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of them: `make test-more`."""
    some = CASES[::6]
    monkeypatch.setattr(validate, "CASES", some)
    code, found = run(capsys)
    assert [c for c in found["checks"] if not c["ok"]] == []
    assert (code, found["ok"], found["failed"]) == (0, True, 0)
    assert (found["seeds"], found["scenarios"]) == (10, ["S1", "S2", "S3", "S4", "S5"])
    assert list(dict.fromkeys(c["case"] for c in found["checks"])) == [case.name for case in some]


def test_every_case_is_there() -> None:
    cases = [case.name for case in CASES]
    assert {s: sum(c.startswith(s) for c in cases) for s in validation_cases.SCENARIOS} == {
        "S1": 18,
        "S2": 72,
        "S3": 6,
        "S4": 34,
        "S5": 48,
    }


def test_each_figure_is_compared_where_it_means_something() -> None:
    def keys(name: str) -> set[str]:
        return {q.key for q in validate.quantities(next(case for case in CASES if case.name == name))}

    usual = {"throughput_mbps", "queue_mean_packets", "drops"}
    goodputs = {f"goodput_{flow}_mbps" for flow in (1, 2, 3, 4)}
    assert keys("S1-droptail-n6-b120") == usual - {"drops"} | {"overflow_drops", "delay_p99_ms", "jain"}
    assert keys("S3-a-red") == usual | {"goodput_1_mbps", "goodput_2_mbps"}
    assert keys("S4-tahoe-mixed-red-ecn-byte") == usual | goodputs | {"marks"}
    assert keys("S4-tahoe-500-red-packet") == usual


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
    other = [dataclasses.replace(case, document=json.loads(json.dumps(case.document))) for case in CASES]
    for case in other:
        if case.kind == "rem":
            case.document["queue"]["bottleneck"]["q_ref"] = 22
    monkeypatch.setattr(validate, "CASES", other)
    code, found = run(capsys, "--case", "S2-rem-n10-*", "--seeds", "5")
    assert (code, {c["quantity"] for c in found["checks"] if not c["ok"]}) == (1, {"queue_mean_packets"})


def test_the_bounds_are_those_promised() -> None:
    def bounds(scenario: str) -> dict[str, tuple[float, bool]]:
        return {q.key: (q.bound, q.relative) for q in validate.QUANTITIES[scenario]}

    assert bounds("S1") == bounds("S2")
    assert bounds("S1") == {
        "throughput_mbps": (0.005, True),
        "queue_mean_packets": (0.015, True),
        "average_mean_packets": (0.015, True),
        "early_and_forced_drops": (0.04, True),
        "overflow_drops": (0.04, True),
        "delay_p99_ms": (0.04, True),
        "jain": (0.01, False),
    }
    unlike = {f"goodput_{flow}_mbps": (0.05, True) for flow in (1, 2, 3, 4)}
    usual = {"throughput_mbps": (0.005, True), "queue_mean_packets": (0.02, True), "drops": (0.05, True)}
    assert bounds("S3") == usual | unlike
    assert bounds("S4") == usual | unlike | {"marks": (0.05, True)}
    assert tuple(bounds("S5")) == (*usual, "goodput_1_mbps", "goodput_2_mbps")
    assert tuple(validate.QUANTITIES) == validation_cases.SCENARIOS


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
    quantity = validate.QUANTITIES["S1"][0]
    assert validate.compare(CASES[0], quantity, [float("nan")] * 3, [5.0, 5.0, 5.0])["ok"] is False
