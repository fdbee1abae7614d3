"""The pages of the disciplines are what the declarations say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import blocks
import discipline_pages as pages

STORED = Path(__file__).parents[2] / "docs" / "aqms"


def test_the_pages_are_current() -> None:
    assert pages.stale(STORED) == []


def test_a_stale_page_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, data = tmp_path / "aqms", tmp_path / pages.DATA
    (folder / "images").mkdir(parents=True)
    for name, text in pages.texts().items():
        (folder / name).write_text(text, encoding="utf-8")
    for entry in pages.entries():
        (folder / "images" / f"{entry['name']}.png").touch()
    blocks.put_csv(data, pages.parameters())
    assert pages.main([str(folder), "--check"]) == 0
    data.write_text(data.read_text(encoding="utf-8").replace("0.002", "0.003"), encoding="utf-8")
    (folder / "red.md").write_text(pages.texts()["red.md"].replace("0.002", "0.003"), encoding="utf-8")
    (folder / "green.md").touch()
    (folder / "images" / "tred.png").unlink()
    assert pages.main([str(folder), "--check"]) == 1
    told = capsys.readouterr().err
    found = [name in told for name in ("red.md", "green.md", "tred.png", "nlred.md", "parameters.csv")]
    assert found == [True, True, True, False, True]


def test_every_page_has_its_headings_and_every_parameter() -> None:
    catalogue = pages.entries()
    for entry in catalogue:
        text = pages.page(entry, catalogue)
        for heading in ("## What it does", "## Source", "## Differences", "## Parameters"):
            assert text.count(f"\n{heading}\n") == 1, (entry["name"], heading)
        # For users of the crate.
        assert "\n## Example\n" in entry["doc"]
        assert "earlydrop_aqm::" not in text
        table = text.partition("\n## Parameters\n")[2]
        assert all(f"`{p['name']}`" in table for p in entry["parameters"])


def test_what_disciplines_share_is_described_once() -> None:
    catalogue = pages.entries()
    described = {entry["name"]: pages.page(entry, catalogue).partition("\n## Parameters\n")[2] for entry in catalogue}
    red = next(entry for entry in catalogue if entry["name"] == "red")
    wait = next(p for p in red["parameters"] if p["name"] == "wait")
    assert [name for name, text in described.items() if wait["doc"] in text] == ["red"]
    referred = 0
    for entry in catalogue:
        for p in entry["parameters"]:
            (line,) = [
                line for line in described[entry["name"]].splitlines() if re.search(rf"^[|A][^|]*`{p['name']}`", line)
            ]
            assert p["default"] in line or "with its defaults" in line, (entry["name"], p["name"])
            first = re.search(r"As in \[[^\]]+\]\((\w+)\.md#parameters\)", line)
            if first:
                assert p["doc"] in described[first[1]], (entry["name"], p["name"])
                referred += 1
    assert referred > 200


def test_parameters_that_differ_in_a_number_are_one_row() -> None:
    catalogue = pages.entries()
    wrr = next(entry for entry in catalogue if entry["name"] == "wrr")
    assert pages.page(wrr, catalogue).count("\n| `weight_0`, `weight_1`, ") == 1


def test_the_step_shows_in_the_series() -> None:
    series = pages.step_response("red")
    queue = series["queues"]["bottleneck"]["average"]
    before = [q for t, q in zip(series["time_s"], queue, strict=True) if 10 < t < 20]
    after = [q for t, q in zip(series["time_s"], queue, strict=True) if 30 < t < 40]
    assert sum(after) / len(after) > 1.2 * sum(before) / len(before)
