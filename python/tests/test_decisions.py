"""The tables of what a decision costs: every discipline is there, the bounds can fail, times survive a renewal."""

from __future__ import annotations

import csv
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from earlydrop import _core

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "performance.md"


@pytest.fixture(scope="module")
def decisions() -> ModuleType:
    spec = importlib.util.spec_from_file_location("decisions", ROOT / "benches" / "decisions.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def catalogue() -> dict[str, str]:
    return {entry["name"]: entry["family"] for entry in json.loads(_core.catalogue())}


def rows(decisions: ModuleType) -> list[dict[str, Any]]:
    """What a bench could have measured, all within the bounds."""

    def row(aqm: str, grows: str | None, size: int) -> dict[str, Any]:
        case = f"{aqm} {grows} {size}" if grows else aqm
        counts = {"instructions": 400.0, "misses": 1.5, "least_ns": 50.0, "drop_rate": 0.1}
        return {"case": case, "aqm": aqm, "grows": grows, "size": size, **counts}

    found = [row(name, None, 0) for name in catalogue()]
    found += [row(aqm, grows, size) for grows, aqm, low, _ in decisions.SIZES for size in (low, 5000)]
    next(r for r in found if r["case"] == "droptail")["instructions"] = 300.0
    return found


def data(place: str) -> list[dict[str, str]]:
    with (PAGE.parent / place).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_discipline_of_the_catalogue_has_its_costs(decisions: ModuleType) -> None:
    costs = {row["discipline"].strip("`"): row for row in data(decisions.DATA)}
    assert list(costs) == list(catalogue()), "benches/decisions.py --write docs/performance.md"
    for row in costs.values():
        assert all(cell for key, cell in row.items() if key != "bound"), row
    body = PAGE.read_text(encoding="utf-8").partition(decisions.BEGIN)[2].partition(decisions.END)[0]
    for name in decisions.SHOWN:
        *cells, bound = list(costs[name].values())[1:]
        assert f"| `{name}`{' *' if bound else ''} | {' | '.join(cells)} |" in body, name
    sizes = {(row["what grows"], row["discipline"].strip("`")) for row in data(decisions.SIZE_DATA)}
    for grows, aqm, *_ in decisions.SIZES:
        assert (grows, aqm) in sizes


@pytest.mark.parametrize("measure", ["least_ns", "instructions"])
@pytest.mark.parametrize(
    ("case", "factor"),
    [
        ("tred", 1.51),
        ("ared", 1.51),
        ("sfred flows, all listed 5000", 1.31),
        ("choke packets of buffer 5000", 2.01),
        ("ddred packets of buffer 5000", 2.01),
        ("fq_codel active flows 5000", 1.16),
    ],
)
def test_a_bound_fails_just_above_it(decisions: ModuleType, case: str, factor: float, measure: str) -> None:
    measured = rows(decisions)
    assert all(holds for holds, _ in decisions.judged(measured, catalogue()))
    row = next(r for r in measured if r["case"] == case)
    row[measure] *= factor
    failed = [line for holds, line in decisions.judged(measured, catalogue()) if not holds]
    if case.startswith("fq_codel") and measure == "least_ns":
        assert failed == [], "it is bounded by instructions only"
    else:
        assert len(failed) == 1
        assert case.split()[0] in failed[0]


def test_times_survive_when_only_counts_are_renewed(decisions: ModuleType, tmp_path: Path) -> None:
    measured = rows(decisions)
    for number, row in enumerate(measured):
        row["least_ns"] = 20.0 + number
    page = tmp_path / "performance.md"
    page.write_text(f"{decisions.BEGIN}\n{decisions.END}\n")
    decisions.write(page, measured, catalogue(), "hand")
    fresh = [{**row, "least_ns": 1.0} for row in measured]
    new = {"aqm": "new", "grows": None, "size": 0, "least_ns": 2.0}
    decisions.stored_times(page, [*fresh, new])
    assert new["least_ns"] == 2.0
    assert [row["least_ns"] for row in fresh] == [row["least_ns"] for row in measured]
