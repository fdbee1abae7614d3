"""Adds a discipline that the catalogue has to what is measured or stored of every one, and tests it.

python tools/new_disciplines.py

`make pages` runs it last. It measures only what has no row yet: what a decision costs (benches/decisions.py), the
league's runs (docs/data/league.csv), a stored run (crates/sim/tests/golden_run) and the vectors' options. Rows of
disciplines that the catalogue no longer has go. Numbers of disciplines on the first pages, and the counted surface, are
renewed. Then the tests run that compare disciplines with all of this.
"""

from __future__ import annotations

import csv
import json
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import blocks  # noqa: E402
from earlydrop import _core, document, runner  # noqa: E402
from earlydrop import study as studies  # noqa: E402
from earlydrop.discipline_names import all_folded  # noqa: E402

LEAGUE = ROOT / "docs/data/league.csv"
COLUMNS = {
    "L-tfit": (("throughput", ".2f"), ("delay_p50", ".0f"), ("delay_p99", ".0f"), ("loss", ".1f"), ("jain", ".3f")),
    "L-fload": (("cbr", ".1f"), ("delay_p99 s", ".2f"), ("jain", ".3f")),
    "L-twoflow": (("throughput", ".2f"), ("delay_p99", ".0f"), ("ratio", ".2f")),
    "L-congestion mild": (("throughput", ".3f"), ("delay_p50", ".0f"), ("delay_p99", ".0f")),
    "L-congestion medium": (("throughput", ".3f"), ("delay_p50", ".0f"), ("delay_p99", ".0f")),
    "L-congestion heavy": (
        ("throughput", ".3f"),
        ("delay_p50", ".0f"),
        ("delay_p99", ".0f"),
        ("loss", ".1f"),
        ("jain", ".3f"),
    ),
}
"""Measures of the league's table and how they are written, by experiment and level of its load."""
COUNTED = ("README.md", "docs/README.md", "python/README.md", "CHANGELOG.md")
"""Pages that say how many disciplines there are."""
PYTHON_TESTS = (
    "disciplines",
    "decisions",
    "new_disciplines",
    "pages",
    "pgo",
    "python",
    "studies_of_ours",
    "study_rfc7928",
    "surface",
    "vectors",
)


def titles() -> dict[str, str]:
    """Title by name of every discipline and every scheme that is a setting of one, in the catalogue's order."""
    found = {}
    for entry in json.loads(_core.catalogue()):
        found[entry["name"]] = entry["title"]
        found |= {one["name"]: one["title"] for one in all_folded() if one["of"] == entry["name"]}
    return found


def _value(study: Any, name: str, result: Mapping[str, Any]) -> float:
    name, _, unit = name.partition(" ")
    if name == "ratio":
        return _value(study, "far", result) / _value(study, "near", result)
    measure = study.measure(name)
    value: float = document.lookup(result, measure.extraction.field) * measure.scale
    return value / 1e3 if unit else value


def league_row(name: str, only: Sequence[str] = tuple(COLUMNS)) -> list[str]:
    """The row of a discipline in the league's table: means over the study's seeds."""
    study, cells = studies.find("league"), []
    for where in only:
        experiment, _, load = where.partition(" ")
        e = study.experiment(experiment)
        checked = _core.Scenario.parse(e.document((name, load) if load else (name,), study.name), [])
        results = [json.loads(runner.outcome(checked, seed).text()) for seed in studies.runs.seeds_of(e)]
        cells += [format(statistics.fmean(_value(study, m, r) for r in results), form) for m, form in COLUMNS[where]]
    return cells


def add_to_league(place: Path = LEAGUE) -> list[str]:
    """Run the league for the disciplines that its table lacks; their names."""
    with place.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    stored, every = {row[0]: row for row in rows}, titles()
    new = [name for name, title in every.items() if title not in stored]
    stored |= {every[name]: [every[name], *league_row(name)] for name in new}
    blocks.put_csv(place, [head, *(stored[title] for title in every.values())])
    return new


def counted(text: str) -> str:
    """A page with the number of disciplines in each place that says it."""
    places = r"\b\d+(?= queue disciplines)|(?<=\[)\d+(?=\]\(aqms/README\.md\))"
    return re.sub(places, str(len(json.loads(_core.catalogue()))), text)


def _run(*command: str, **environment: str) -> None:
    print("$", *(f"{name}={value}" for name, value in environment.items()), *command, flush=True)
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, **environment})


def stored_names() -> Iterable[str]:
    """Disciplines of the stored runs that have a row in the vectors' options too."""
    text = (ROOT / "crates/sim/tests/golden_run/drawn.txt").read_text(encoding="utf-8")
    rows = (ROOT / "vectors/options.csv").read_text(encoding="utf-8")
    return {*re.findall(r'"aqm":"(\w+)"', text)} & {*re.findall(r"^(\w+),", rows, re.MULTILINE)}


def main() -> int:
    """Add everything, then test; the exit code of the command that failed."""
    for name in COUNTED:
        page = ROOT / name
        page.write_text(counted(page.read_text(encoding="utf-8")), encoding="utf-8")
    names = [entry["name"] for entry in json.loads(_core.catalogue())]
    new = sorted(set(names) - set(stored_names()), key=names.index)
    python = sys.executable
    try:
        _run(python, "benches/decisions.py", "--new")
        add_to_league()
        if not new:
            return 0
        sim = ("cargo", "test", "--quiet", "-p", "earlydrop-sim")
        _run(*sim, "--test", "golden", "drawn_runs", EARLYDROP_BLESS="add")
        _run(*sim, "--lib", "the_table_is_what", "--", "--include-ignored", EARLYDROP_BLESS="add")
        _run(python, "tools/surface.py", "--write")
        print(f"new: {', '.join(new)}; its tests:", flush=True)
        _run(
            "cargo", "test", "--quiet", "-p", "earlydrop-aqm", "--lib", "--test", "properties", "--test", "idle_timers"
        )
        _run(*sim, "--test", "golden")
        _run(*sim, "--lib", "vectors")
        _run(python, "-m", "pytest", "-q", *(f"python/tests/test_{name}.py" for name in PYTHON_TESTS))
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
