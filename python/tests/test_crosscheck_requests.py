"""Requests after a pause: the stored times of the kernel on real links, with which the simulator still agrees."""

from __future__ import annotations

import statistics
from pathlib import Path

import campaign
import crosscheck_requests as requests
import pytest
from crosscheck_requests import Cell, Times

from earlydrop.links import crosscheck

ROOT = Path(__file__).parents[2]
STORED = ROOT / "validation" / "reference" / "crosscheck" / "requests.csv"
UNSEEN = STORED.with_name("unseen_requests.csv")


def test_medians_agree_with_the_stored_links() -> None:
    stored, wanted = requests.read(STORED), requests.cells()
    assert sorted(stored) == sorted(wanted)
    for cell, times in zip(wanted, requests.simulate(wanted), strict=True):
        assert len(times) == cell.answers
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
    requests.write(path, {cell: Times((0.1,) * 5 + (0.3,) * 7, 40.0)}, {"kernel": "Linux 1.2.3"})
    assert requests.read(path) == {cell: 0.3}
    assert path.read_text(encoding="utf-8").startswith("# kernel: Linux 1.2.3\ncontrol,limit,pause,rate,rtt,size,")
    path.write_text("control\nreno\n", encoding="utf-8")
    with pytest.raises(crosscheck.CrosscheckError, match="is no table of requests"):
        requests.read(path)


def test_unseen_answers_are_of_every_size_kind_and_path() -> None:
    wanted = requests.cells(of="unseen")
    assert len(wanted) == len(set(wanted)) == 27
    assert not set(wanted) & set(requests.cells())
    for control in ("reno", "cubic", "bbr"):
        of = [cell for cell in wanted if cell.control == control]
        assert len({(cell.size, cell.connection, cell.pause) for cell in of}) == 9
        assert len({(cell.size, cell.rate) for cell in of}) == 9, "each size on each path"
    assert {cell.limit for cell in wanted} == {20, 834, 42}


def test_unseen_answers_agree_but_for_the_one_that_the_page_names() -> None:
    stored, wanted = requests.read(UNSEEN), requests.cells(of="unseen")
    assert sorted(stored) == sorted(wanted)
    medians = {cell: statistics.median(times) for cell, times in zip(wanted, requests.simulate(wanted), strict=True)}
    outside = [cell for cell in wanted if medians[cell] != pytest.approx(stored[cell], rel=requests.BOUND)]
    assert [(cell.control, cell.rate, cell.size, cell.pause) for cell in outside] == [("reno", 100, 1_000_000, 0.5)]
    page = (ROOT / "docs" / "lab-notes" / "crosscheck-unseen.md").read_text(encoding="utf-8")
    assert requests.unseen_table(stored, medians) in page


def test_answers_on_new_connections_begin_with_a_handshake_each() -> None:
    new = Cell("cubic", 834, 1.0, 50, 200, 100_000, "new", 3)
    times, again = requests.simulate([new, Cell("cubic", 834, 0.1, 50, 200, 100_000, "same", 3)])
    # A request, the handshake, three flights.
    assert times == pytest.approx([0.1 + 0.2 + 0.1 + 2 * 0.2] * 3, abs=0.03)
    assert again[0] < times[0] - 0.3, "the window is open"


def test_the_program_prints_a_line_for_each_cell(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    begin, end = (mark.format("requests after a pause") for mark in (campaign.BEGIN, campaign.END))
    page.write_text(f"{begin}\n{end}\n", encoding="utf-8")
    assert requests.main(["--stored", str(STORED), "--page", str(page)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 24
    assert "| bbr | 2000 |" in page.read_text(encoding="utf-8")


def test_the_program_fails_if_too_few_cells_agree(capsys: pytest.CaptureFixture[str]) -> None:
    def ends(of: str, path: Path, only: str) -> int:
        return requests.main(["--cells", of, "--stored", str(path), "--only", only])

    one = "^reno, 100 Mbit/s, 5 ms"
    assert ends("unseen", UNSEEN, one) == 1, "one of three is a third"
    assert ends("unseen", UNSEEN, "^reno") == 0, "one of nine"
    assert ends("seen", STORED, "^cubic, .* 0.1 s") == 0
    assert capsys.readouterr().out.count(" *\n") == 2


def test_a_table_that_is_missing_or_of_other_cells_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = tmp_path / "absent.csv"
    assert requests.main(["--stored", str(absent)]) == 2
    assert capsys.readouterr().err == f"error: {absent}: cannot be read: No such file or directory\n"
    assert requests.main(["--cells", "unseen", "--stored", str(STORED)]) == 2
    assert f"{STORED}: has no row for 27 cells" in capsys.readouterr().err
