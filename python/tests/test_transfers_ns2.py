"""Finite transfers over many RED queues, as ns-2 ran them: the networks of the DDRED paper, the same transfers."""

from __future__ import annotations

import csv
import json
import statistics
from pathlib import Path
from typing import Any

import make_transfers as peers
import pytest

from earlydrop import _core
from earlydrop.runner import Job, run_all

ROOT = Path(__file__).parents[2] / "validation"
SEEDS = 5


@pytest.fixture(scope="module")
def reference() -> dict[tuple[str, int], dict[str, float]]:
    """What ns-2 gave, by case and seed."""
    with (ROOT / "reference" / "transfers" / "ns2_seeds.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {(row.pop("case"), int(row.pop("seed"))): {k: float(v) for k, v in row.items()} for row in rows}


@pytest.mark.parametrize("name", ["bus-fitted", "bus-proposed"])
def test_losses_and_times_are_those_of_ns2(name: str, reference: Any) -> None:
    case = next(c for c in peers.CASES if c.name == name)
    jobs = [Job(_core.Scenario.parse(peers.scenario(case, seed), []), seed) for seed in range(SEEDS)]
    ratios: dict[str, list[float]] = {"lost": [], "weighted": [], "time_sum_s": []}
    for seed, result in enumerate(map(json.loads, run_all(jobs, str))):
        theirs = reference[(name, seed)]
        times = [entry["transfers"] for entry in result["traffic"]]
        assert sum(t["completed"] for t in times) == theirs["completed"] == case.count
        ours = {
            "lost": sum(result["losses"]["by_distance"]),
            "weighted": result["losses"]["weighted"],
            "time_sum_s": sum(t["time_sum_s"] for t in times),
        }
        for key, found in ratios.items():
            found.append(ours[key] / theirs[key])
    for key, found in ratios.items():
        allowed = max(0.01 if key == "time_sum_s" else 0.05, 3 * statistics.stdev(found) / SEEDS**0.5)
        assert abs(statistics.mean(found) - 1) <= allowed, (key, found)


def test_the_reference_is_what_the_script_makes(reference: Any) -> None:
    assert set(reference) == {(c.name, seed) for c in peers.CASES for seed in range(c.seeds)}
    flower = peers.CASES[-1]
    assert len(flower.core) == 5 + 5 * 9
    away = peers.distances(flower)
    assert len(away) == 2 * flower.routers
    assert max(max(row.values()) for row in away.values()) == 2 + 4 + 2 + 4
