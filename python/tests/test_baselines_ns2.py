"""What ns-2 has of a study's set-up, beside the study's own cells: the TRED paper's network without TRED."""

from __future__ import annotations

import csv
import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from earlydrop import _core
from earlydrop import study as studies
from earlydrop.runner import Job, run_all

ROOT = Path(__file__).parents[2]
NAMES = {"droptail": "droptail", "red": "red", "red-gentle": "gentle"}
LOADS = {6: "low", 40: "moderate", 80: "high"}
SEEDS = range(1, 4)


def rows() -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    with (ROOT / "validation" / "reference" / "tred" / "ns2_seeds.csv").open() as file:
        for row in csv.DictReader(file):
            found.setdefault(row["case"], []).append(row)
    return found


def value(figures: dict[str, Any], field: str) -> float:
    """A figure of a queue; `drops` is the sum over all reasons, as ns-2 counts forced drops as early."""
    parts = ("early_drops", "forced_drops", "overflow_drops") if field == "drops" else (field,)
    return sum(float(figures.get(part, 0)) for part in parts)


@pytest.mark.parametrize("flows", LOADS)
@pytest.mark.parametrize("name", NAMES)
def test_the_study_runs_what_ns2_ran(name: str, flows: int) -> None:
    study = studies.find("tred")
    e = study.experiment("T")
    at = {**e.base, "load": LOADS[flows], "aqm": NAMES[name], "buffer": "150"}
    document = e.document(tuple(at[axis] for axis in e.names), study.name)
    scenario = _core.Scenario.parse(document, [])
    ours = [json.loads(text)["queues"]["bottleneck"] for text in run_all([Job(scenario, seed) for seed in SEEDS], str)]
    theirs = rows()[f"T-{name}-n{flows}"]
    assert len(theirs) == 5
    for field, bound in {"throughput_mbps": 0.005, "queue_mean_packets": 0.015, "drops": 0.04}.items():
        mine, other = [value(one, field) for one in ours], [value(one, field) for one in theirs]
        error = (statistics.variance(mine) / len(mine) + statistics.variance(other) / len(other)) ** 0.5
        difference = abs(statistics.mean(mine) - statistics.mean(other))
        assert difference <= max(bound * statistics.mean(other), 3 * error), (field, mine, other)
