"""What a discipline needs beside its file, its line and its page's prose is made (tools/new_disciplines.py).

`make test-more SUITE=adding` plants one in a copy of the checkout and compiles it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from test_decisions import decisions as decisions

import discipline_pages
import new_disciplines
import planted
from earlydrop import _core
from earlydrop import study as studies

ROOT = Path(__file__).parents[2]
NAME, TITLE = "planted", "Planted RED"


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The catalogue with a discipline that looks like RED, after TRED."""
    found: list[dict[str, Any]] = json.loads(_core.catalogue())
    names = [entry["name"] for entry in found]
    found.insert(names.index("tred") + 1, {**found[names.index("red")], "name": NAME, "title": TITLE})
    text = json.dumps(found)
    monkeypatch.setattr(_core, "catalogue", lambda: text)
    monkeypatch.setattr(_core, "drop_curve", lambda *_: None)
    return found


def test_pages_and_levels_have_it(entries: list[dict[str, Any]]) -> None:
    texts = discipline_pages.texts()
    assert f"\n| [`{NAME}`]({NAME}.md) | {TITLE} | 1993 |" in texts["README.md"]
    assert texts[f"{NAME}.md"].startswith(f"# {TITLE}\n")
    rows = [row for row in discipline_pages.parameters() if row[0] == NAME]
    assert len(rows) == 1 + len(next(e for e in entries if e["name"] == "red")["parameters"])
    for name in ("league", "rfc7928"):
        study = studies.read(ROOT / "studies" / name)
        for e in study.experiments:
            (axis,) = (axis for axis in e.axes if axis.id == "aqm")
            assert axis.ids[axis.ids.index("tred") + 1] == NAME, e.id
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{len(entries)} queue disciplines" in new_disciplines.counted(page)


def test_the_league_runs_what_it_lacks_and_keeps_the_rest(
    entries: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = tmp_path / "league.csv"
    shutil.copy(new_disciplines.LEAGUE, place)
    before = place.read_text(encoding="utf-8").splitlines()
    monkeypatch.setattr(new_disciplines, "league_row", lambda name: [name] * 22)
    assert new_disciplines.add_to_league(place) == [NAME]
    after = place.read_text(encoding="utf-8").splitlines()
    made = f"{TITLE}{22 * f',{NAME}'}"
    assert after.index(made) == next(k for k, line in enumerate(after) if line.startswith("TRED,")) + 1
    assert [line for line in after if line != made] == before
    assert new_disciplines.add_to_league(place) == []


def test_the_league_s_rows_are_what_its_runs_give() -> None:
    text = new_disciplines.LEAGUE.read_text(encoding="utf-8")
    short = [where for where in new_disciplines.COLUMNS if where in ("L-twoflow", "L-congestion mild")]
    for name in ("choke", "pid"):
        title = new_disciplines.titles()[name]
        (row,) = (line.split(",") for line in text.splitlines() if line.startswith(f"{title},"))
        assert new_disciplines.league_row(name, short) == row[9:15]


def test_costs_are_measured_of_the_new_one_alone(
    decisions: Any, entries: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bench = tmp_path / "bench"
    said = {"case": NAME, "aqm": NAME, "grows": None, "size": 0, "packets": 9, "least_ns": 61.0, "drop_rate": 0.05}
    bench.write_text(f"#!/bin/sh\necho '{json.dumps([{**said, 'timer': True}])}'\n", encoding="utf-8")
    bench.chmod(0o755)
    built = []
    monkeypatch.setattr(decisions, "program", lambda: built.append(1) or bench)

    def count(_: Path, rows: list[dict[str, Any]], __: Any) -> str:
        assert [row["aqm"] for row in rows] == [NAME]
        rows[0]["instructions"] = 443.0
        return "hand"

    monkeypatch.setattr(decisions, "count", count)
    page, costs = tmp_path / "performance.md", tmp_path / "cost.csv"
    (tmp_path / "data").mkdir()
    shutil.copy(ROOT / "docs" / decisions.DATA, tmp_path / decisions.DATA)
    shutil.copy(decisions.COSTS, costs)
    before = [path.read_text(encoding="utf-8").splitlines() for path in (tmp_path / decisions.DATA, costs)]
    assert decisions.add_new(page, costs, entries) == [NAME]
    after = [path.read_text(encoding="utf-8").splitlines() for path in (tmp_path / decisions.DATA, costs)]
    for old, new in zip(before, after, strict=True):
        (at,) = (k for k, line in enumerate(new) if line.strip("`").startswith(NAME))
        assert new[:at] + new[at + 1 :] == old
        assert new[at - 1].strip("`").startswith("tred")
    assert next(line for line in after[1] if line.startswith(NAME)) == f"{NAME},443,fixed,some numbers,16,3"
    assert decisions.add_new(page, costs, entries) == []
    assert built == [1]


def test_numbers_on_the_first_pages_are_the_catalogue_s() -> None:
    for name in new_disciplines.COUNTED:
        page = (ROOT / name).read_text(encoding="utf-8")
        assert new_disciplines.counted(page) == page, name
        assert str(len(json.loads(_core.catalogue()))) in page, name


def test_a_hand_edits_two_files(tmp_path: Path) -> None:
    """What is planted is the page's example, by one file and one line."""
    (tmp_path / "crates/aqm/src").mkdir(parents=True)
    library = tmp_path / "crates/aqm/src/lib.rs"
    shutil.copy(ROOT / "crates/aqm/src/lib.rs", library)
    assert planted.plant(tmp_path) == ["crates/aqm/src/cubic_red.rs", "crates/aqm/src/lib.rs"]
    old = (ROOT / "crates/aqm/src/lib.rs").read_text(encoding="utf-8").splitlines()
    new = library.read_text(encoding="utf-8").splitlines()
    assert len(new) == len(old) + 1
    assert new[new.index("    tred,") + 1] == "    cubic_red,"
    assert (tmp_path / "crates/aqm/src/cubic_red.rs").read_text(encoding="utf-8").startswith("//! # Cubic RED\n")
