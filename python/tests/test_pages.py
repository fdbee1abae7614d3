"""The pages of the disciplines are what the declarations say."""

from __future__ import annotations

from pathlib import Path

import pytest

import discipline_pages as pages

STORED = Path(__file__).parents[2] / "docs" / "aqms"


def test_the_pages_are_current() -> None:
    assert pages.stale(STORED) == []


def test_a_stale_page_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "images").mkdir()
    for name, text in pages.texts().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for entry in pages.entries():
        (tmp_path / "images" / f"{entry['name']}.png").touch()
    assert pages.main([str(tmp_path), "--check"]) == 0
    (tmp_path / "red.md").write_text(pages.texts()["red.md"].replace("0.002", "0.003"), encoding="utf-8")
    (tmp_path / "green.md").touch()
    (tmp_path / "images" / "tred.png").unlink()
    assert pages.main([str(tmp_path), "--check"]) == 1
    told = capsys.readouterr().err
    assert [name in told for name in ("red.md", "green.md", "tred.png", "nlred.md")] == [True, True, True, False]


def test_every_page_has_its_headings_and_every_parameter() -> None:
    for entry in pages.entries():
        text = pages.page(entry)
        for heading in ("## What it does", "## Source", "## Differences", "## Example", "## Parameters"):
            assert text.count(f"\n{heading}\n") == 1, (entry["name"], heading)
        assert all(f"| `{p['name']}`" in text for p in entry["parameters"])


def test_the_readme_counts_the_disciplines() -> None:
    count = len(pages.entries())
    assert f"runs {count} queue disciplines" in (STORED.parents[1] / "README.md").read_text(encoding="utf-8")
    assert f"| [{count}](aqms/README.md):" in (STORED.parents[1] / "docs/README.md").read_text(encoding="utf-8")


def test_the_step_shows_in_the_series() -> None:
    series = pages.step_response("red")
    queue = series["queues"]["bottleneck"]["average"]
    before = [q for t, q in zip(series["time_s"], queue, strict=True) if 10 < t < 20]
    after = [q for t, q in zip(series["time_s"], queue, strict=True) if 30 < t < 40]
    assert sum(after) / len(after) > 1.2 * sum(before) / len(before)
