"""Requests after a pause: the stored times of the kernel on real links, with which the simulator still agrees."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from earlydrop.links import crosscheck, crosscheck_grid
from earlydrop.links import crosscheck_requests as requests
from earlydrop.links.crosscheck_requests import Cell

ROOT = Path(__file__).parents[2]
STORED = ROOT / "validation" / "reference" / "crosscheck" / "requests.csv"


def test_medians_agree_with_the_stored_links() -> None:
    stored, wanted = requests.read(STORED), requests.cells()
    assert sorted(stored) == sorted(wanted)
    for cell, times in zip(wanted, requests.simulate(wanted), strict=True):
        assert len(times) == requests.ANSWERS
        assert statistics.median(times) == pytest.approx(stored[cell], rel=requests.BOUND), str(cell)


def test_without_the_rules_the_answers_are_far_from_the_links() -> None:
    # The bound of 10 % tells the rules from those of the RFCs.
    cell = Cell("bbr", 2000, 3.0)
    (times,) = requests.simulate([cell], {"rules": {"idle_restart": "initial"}})
    assert statistics.median(times) > 1.5 * requests.read(STORED)[cell]
    cell = Cell("reno", 2000, 0.5)
    (times,) = requests.simulate([cell], {"rules": {"cwnd_use": "now", "idle_restart": "initial"}})
    assert statistics.median(times) > 1.5 * requests.read(STORED)[cell]


def test_the_page_has_the_table_of_the_stored_figures() -> None:
    wanted = requests.cells()
    medians = [statistics.median(times) for times in requests.simulate(wanted)]
    text = requests.table(requests.read(STORED), dict(zip(wanted, medians, strict=True)))
    assert text in (ROOT / "docs" / "crosscheck.md").read_text(encoding="utf-8")


def test_the_table_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "requests.csv"
    cell = Cell("reno", 400, 0.5)
    requests.write(path, [(cell, [0.1] * 5 + [0.3] * 7)], {"kernel": "Linux 1.2.3"})
    assert requests.read(path) == {cell: 0.3}
    assert path.read_text(encoding="utf-8").startswith("# kernel: Linux 1.2.3\ncontrol,limit,pause_s,answer_1_s,")
    path.write_text("control\nreno\n", encoding="utf-8")
    with pytest.raises(crosscheck.CrosscheckError, match="is no table of requests"):
        requests.read(path)


def test_the_program_prints_a_line_for_each_cell(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    begin, end = (mark.format("requests after a pause") for mark in (crosscheck_grid.BEGIN, crosscheck_grid.END))
    page.write_text(f"{begin}\n{end}\n", encoding="utf-8")
    assert requests.main(["--stored", str(STORED), "--page", str(page)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 24
    assert "| bbr | 2000 |" in page.read_text(encoding="utf-8")
