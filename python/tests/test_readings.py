"""The data of readings are what the declarations say, and what a few new runs give."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

import pytest

import reading_sections
import readings

DOCS = Path(__file__).parents[2] / "docs"


def test_the_data_are_current() -> None:
    assert readings.stale(DOCS / "data") == []
    assert (DOCS / "images" / "readings.png").is_file()
    for name, sections in readings.FILES.items():
        page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        assert f"\n[data/{name}.csv](data/{name}.csv)\n" in page
        assert all(re.search(rf"^##? {section.title}$", page, re.MULTILINE) for section in sections)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('reading = ""printed""', 'reading = ""misprinted""', "tred: other rows"),
        ("DDRED,6 TCP,method = 1,", "DDRED,6 TCP,method = 1,1", "ddred: other values, method = 1"),
        ("\nAutoRED,", "\nAutoREDs,", "autored: other rows"),
    ],
)
def test_stale_data_are_noticed(
    old: str, new: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = told.partition(":")[0]
    monkeypatch.setattr(readings, "SECTIONS", tuple(s for s in reading_sections.SECTIONS if s.id == name))
    shutil.copytree(DOCS / "data", tmp_path / "data")
    stored = tmp_path / "data" / "readings.csv"
    text = stored.read_text(encoding="utf-8")
    assert old in text
    stored.write_text(text.replace(old, new, 1), encoding="utf-8")
    assert readings.main([str(tmp_path), "--check"]) == 1
    assert told in capsys.readouterr().err


def test_a_new_reading_needs_a_row() -> None:
    red = reading_sections.SECTIONS[0]
    short = reading_sections.Section(red.id, red.title, red.common, red.rows[:3], red.covers)
    assert readings.uncovered(short) == ["red: dialect = ns3", "red: dialect = linux", "red: count_base = analysis"]


def test_every_interval_is_judged() -> None:
    found = 0
    for name in readings.FILES:
        with (DOCS / "data" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row[3:]]
        for value, half, star in re.findall(r"([+-]?\d+\.\d+) ± (\d+\.\d+)( \*)?", "\n".join(cells)):
            found += 1
            assert float(half) > 0, "a half-width that prints as 0"
            # The printed digits may hide on which side of the bound a value lies when both are the same.
            if abs(float(value)) != float(half):
                assert bool(star) == (abs(float(value)) > float(half)), (value, half)
    assert found > 700
