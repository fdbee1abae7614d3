"""The page of readings is what the declarations say, and what a few new runs give."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import reading_sections
import readings

PAGE = Path(__file__).parents[2] / "docs" / "readings.md"


def test_the_page_is_current() -> None:
    assert readings.stale(PAGE.read_text(encoding="utf-8")) == []
    assert (PAGE.parent / "images" / "readings.png").is_file()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('| `reading = "printed"`', '| `reading = "misprinted"`', "tred: other rows"),
        ("| `method = 1` | ", "| `method = 1` | 1", "ddred: other values, `method = 1`"),
        ("<!-- readings: autored -->", "", "autored: no tables"),
    ],
)
def test_a_stale_page_is_noticed(
    old: str, new: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = told.partition(":")[0]
    monkeypatch.setattr(readings, "SECTIONS", tuple(s for s in reading_sections.SECTIONS if s.id == name))
    page = tmp_path / "readings.md"
    page.write_text(PAGE.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    assert readings.main([str(page), "--check"]) == 1
    assert told in capsys.readouterr().err


def test_a_new_reading_needs_a_row() -> None:
    red = reading_sections.SECTIONS[0]
    short = reading_sections.Section(red.id, red.title, red.common, red.rows[:3], red.covers)
    assert readings.uncovered(short) == ["red: dialect = ns3", "red: dialect = linux", "red: count_base = analysis"]


def test_every_table_has_every_reading_and_every_interval_is_judged() -> None:
    text = PAGE.read_text(encoding="utf-8")
    cells = re.findall(r"(\*\*)?([+-]?\d+\.\d+)(?:\*\*)? ± (\d+\.\d+)", text)
    assert not re.search(r"± 0\.0+\b", text), "a half-width that prints as 0"
    assert len(cells) > 700
    for bold, value, half in cells:
        # The printed digits may hide on which side of the bound a value lies when both are the same.
        if abs(float(value)) != float(half):
            assert bool(bold) == (abs(float(value)) > float(half)), (value, half)
