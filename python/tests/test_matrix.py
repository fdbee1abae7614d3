"""Many points in place of prose: wins, ties and losses, where the order changes, and tables that sort and fit."""

from __future__ import annotations

import io
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Browser
from conftest import peer

from earlydrop import sweeps, terminal
from earlydrop.sweeps import matrix_text, report, text
from earlydrop.sweeps.execute import Tally
from earlydrop.sweeps.matrix import matrix
from earlydrop.sweeps.matrix_text import MANY
from earlydrop.sweeps.outcome import Outcome
from earlydrop.sweeps.row_file import Table

SWEEP = """\
name = "many"
title = "Many points | and <b>a</b> bar"
seeds = {seeds}
control = {{ aqm = "droptail" }}
measures = {measures}
[scenario]
duration = "1 s"
[scenario.topology]
kind = "dumbbell"
pairs = 4
access = {{ rate = "100 Mbit/s", delay = "2 ms" }}
bottleneck = {{ rate = "2 Mbit/s", delay = "5 ms" }}
[scenario.queue.bottleneck]
aqm = "droptail"
limit = "60 packets"
[[scenario.traffic]]
kind = "ftp"
start = {{ uniform = ["0 s", "0.2 s"] }}
[[factor]]
name = "aqm"
path = "queue.bottleneck.aqm"
values = {aqms}
[[factor]]
name = "flows"
path = "topology.pairs"
values = {flows}
[[factor]]
name = "limit"
path = "queue.bottleneck.limit"
values = {limits}
"""
NOISE = np.array([-1.5, -1.1, -0.7, -0.4, -0.1, 0.1, 0.4, 0.7, 1.1, 1.5])
FLOWS = [1, 2, 4, 8]


def made(
    value: Callable[..., float],
    *,
    measures: tuple[str, ...] = ("queue_delay", "goodput"),
    aqms: tuple[str, ...] = ("droptail", "pie", "codel"),
    flows: list[int] = FLOWS,
    limits: tuple[str, ...] = ("20 packets", "40 packets", "60 packets", "80 packets"),
    seeds: int = 10,
) -> Outcome:
    """What a sweep found if each measure is 50 and `value` more, with noise."""
    document = SWEEP.format(seeds=seeds, measures=list(measures), aqms=list(aqms), flows=flows, limits=list(limits))
    sweep = sweeps.parse_document(tomllib.loads(document), Path("x.toml"), document)
    plan = sweeps.plan(sweep)
    table = Table(plan.rows.total, len(measures) + 2)
    rng = np.random.default_rng(1)
    for k, point in enumerate(sweep.points):
        aqm, count, limit = (level.value for level in point.levels)
        noise = np.resize(NOISE, seeds)
        columns = [50 + value(aqm, count, limit, m) + 0.1 * rng.permutation(noise) for m in measures]
        start, end = plan.rows.at(k)
        table.put(np.arange(start, end), np.column_stack([*columns, np.zeros(seeds), rng.random(seeds)]))
    return Outcome(plan, table, Tally(plan.runs), "0.0.0")


def markdown(found: Outcome) -> str:
    return matrix_text.markdown(found.matrix, found.sweep, found.summary)


def turning(aqm: str, flows: float, limit: float, measure: str) -> float:
    """PIE's delay is less below four flows, more from there on; with CoDel it is less; goodputs are equal."""
    if measure != "queue_delay" or aqm == "droptail":
        return 0.0
    return -5.0 if aqm == "codel" or flows < (4 if limit < 70 else 8) else 5.0


def test_wins_ties_and_losses_are_counted() -> None:
    found = made(turning).matrix
    counted = {(c["level"], c["measure"]): [c[k] for k in ("win", "tie", "loss", "open")] for c in found.cells}
    assert counted == {
        ("pie", "queue_delay"): [7, 0, 9, 0],
        ("pie", "goodput"): [0, 16, 0, 0],
        ("codel", "queue_delay"): [0, 0, 16, 0],
        ("codel", "goodput"): [0, 16, 0, 0],
    }
    assert found.statements == 2 * 2 * 16


def test_more_is_a_loss_where_more_is_better() -> None:
    (delay, goodput) = made(
        lambda aqm, *_: 5.0 * (aqm == "pie"), aqms=("droptail", "pie"), flows=[*range(1, 8)]
    ).matrix.cells
    assert (delay["win"], delay["loss"]) == (28, 0)
    assert (goodput["win"], goodput["loss"]) == (0, 28)


def test_the_order_changes_between_levels_that_are_named() -> None:
    flows, limit = made(turning).matrix.changes
    assert flows == {
        "factor": "aqm",
        "level": "pie",
        "measure": "queue_delay",
        "along": "flows",
        "below": "pie",
        "above": "droptail",
        "between": [{"from": "2", "to": "4", "count": 3}, {"from": "4", "to": "8", "count": 1}],
        "count": 4,
        "lines": 4,
    }
    # With four flows PIE has more delay up to a limit of 60 packets, less with 80.
    assert (limit["along"], limit["below"], limit["above"], limit["lines"]) == ("limit", "droptail", "pie", 4)
    assert limit["between"] == [{"from": "60 packets", "to": "80 packets", "count": 1}]


def test_what_chance_may_have_done_is_open() -> None:
    """As many differences as the matrix has need more evidence than one: the correction is that of the sentences."""
    found = made(
        lambda aqm, flows, limit, measure: 0.12 * (aqm == "pie") * (flows == 1),
        aqms=("droptail", "pie"),
        flows=[*range(1, 8)],
        measures=("queue_delay",),
    )
    (cell,) = found.matrix.cells
    clear = sum(d.clear for _, _, d in found.differences)
    held = sum(p is not None and p < 0.05 for p, _ in found.corrected)
    assert cell["win"] + cell["loss"] <= held <= clear
    assert sum(cell[k] for k in ("win", "tie", "loss", "open")) == 28
    e = next(d for _, _, d in found.differences if d.estimate.mean == cell["most"]["mean"]).estimate
    assert e.lower is not None
    assert cell["most"]["lower"] < e.lower, "wider than the interval of one difference alone"


def test_few_points_have_sentences_and_one_seed_has_nothing() -> None:
    few = made(turning, flows=[1, 2], limits=("20 packets", "40 packets"))
    assert len(few.pairs) <= MANY
    assert matrix(few).cells == []
    assert few.summary[0].startswith("Queueing delay against droptail: ")
    assert markdown(few) == ""
    once = made(turning, seeds=1)
    assert once.matrix.cells == []
    assert once.summary[0].startswith("One seed cannot tell")


def test_sentences_are_short() -> None:
    said = made(turning).summary
    assert said[0] == (
        "Queueing delay: droptail wins 7, ties 0, loses 25 and leaves 0 open of 32 comparisons with 2 others."
    )
    assert said[2].startswith(
        "The order changes. Queueing delay along flows: pie is better below, droptail above; between "
    )
    assert said[-1] == (
        "Wins and losses remain after Holm's correction for 64 differences; ties lie within the measure's margin at a "
        "confidence widened for 64 statements; all else is open."
    )


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setattr(sys, "stdout", Screen())
    monkeypatch.setenv("COLUMNS", str(columns))
    printed = text.outcome_text(made(turning))
    assert max(map(len, printed.splitlines())) <= columns
    assert re.search(r"^pie .*\+7 -9", printed, re.M)
    assert "Where the order changes:" in printed
    head, rows = (
        ["", "a long name of a discipline", "another"],
        [["a very long name of a measure (Mbit/s)", "1.000", "2"]],
    )
    assert max(map(len, terminal.table(head, rows, indent="  ").splitlines())) <= columns
    folded = terminal.wrapped(
        ["name", "title", "what"], {"": [["x" * 15, "several words " * 3, "and more of them " * 9]]}
    )
    assert max(map(len, folded.splitlines())) <= columns


def test_markdown_shows_every_text_as_it_is() -> None:
    page = markdown(made(turning))
    assert page.startswith("# Many points \\| and \\<b\\>a\\</b\\> bar\n")
    assert "| droptail against | Queueing delay (ms) | Goodput (Mbit/s) |" in page
    assert "| pie | +7 -9 | =16 |" in page
    assert "## Where the order changes" in page
    assert {row.replace("\\|", "").count("|") for row in re.findall(r"^\| Queueing.*packets \|$", page, re.M)} == {7}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of 2,000 points."""
    folder = tmp_path_factory.mktemp("many")
    aqms = ("droptail", "pie", "codel", "red", "tred")
    limits = tuple(f"{n} packets" for n in range(20, 220, 10))
    measures = ("goodput", "queue_delay", "queue_delay_p99", "drop_rate", "jain", "utilisation", "queue", "delay")
    found = made(turning, measures=measures, aqms=aqms, flows=[*range(1, 21)], limits=limits, seeds=3)
    assert len(found.sweep.points) == 2000
    text.write(folder, found, "")
    report.write_report(folder, found)
    return folder


@pytest.fixture(scope="module")
def browser(written: Path) -> Iterator[Browser]:
    with Browser(peer("chromium", "chromium-browser", "google-chrome")) as opened:
        opened.call("Performance.enable", timeDomain="threadTicks")
        opened.width(390)
        opened.open(written / "report.html")
        yield opened


def test_the_report_of_2000_points_is_small_and_soon_usable(written: Path, browser: Browser) -> None:
    assert (written / "report.html").stat().st_size < 5e6
    # The processor's time of the page's thread, so that other work on the machine does not count.
    browser.value("new Promise(r => requestAnimationFrame(() => setTimeout(r, 0)))")
    spent = {one["name"]: one["value"] for one in browser.call("Performance.getMetrics")["metrics"]}
    assert spent["TaskDuration"] < 1
    assert browser.complaints == [], "nothing that its own policy refuses"


def test_the_matrix_is_legible_on_a_phone(browser: Browser) -> None:
    cells = browser.value(
        "[...document.querySelectorAll('.matrix td')].map(c => { const b = c.getBoundingClientRect();"
        "return [b.left, b.right, c.scrollWidth - c.clientWidth, parseFloat(getComputedStyle(c).fontSize)] })"
    )
    assert len(cells) == 8 * 5
    assert all(left >= 0 and right <= 390 and over <= 0 and size >= 12 for left, right, over, size in cells)
    assert browser.value("document.documentElement.scrollWidth") <= 390


def test_tables_sort_by_number_and_by_key(browser: Browser) -> None:
    table = "document.querySelector('#points ~ .scroll table')"
    column = f"[...{table}.tBodies[0].rows].map(r => parseFloat(r.cells[2].textContent))"
    head = f"{table}.tHead.rows[0].cells[2]"
    browser.value(f"{head}.querySelector('button').focus()")
    for way, ordered in (("ascending", sorted), ("descending", lambda x: sorted(x, reverse=True))):
        for kind in ("keyDown", "keyUp"):
            browser.call(
                "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13
            )
        found = browser.value(column)
        assert found == ordered(found)
        assert (min(found), max(found), len(found)) == (20, 210, 2000)
        assert browser.value(f"{head}.getAttribute('aria-sort')") == way
    assert browser.value(f"{table}.tHead.querySelectorAll('[aria-sort]').length") == 1


def test_a_report_runs_no_other_script(browser: Browser, written: Path, tmp_path: Path) -> None:
    page = (written / "report.html").read_text(encoding="utf-8")
    hostile = tmp_path / "hostile.html"
    hostile.write_text(
        page.replace("<main>", '<main><script>window.ran = 1</script><img src="x" onerror="window.ran = 1">')
    )
    browser.open(hostile)
    assert browser.value("window.ran") is None
    assert browser.value("document.querySelectorAll('.sort th button').length") > 0
    browser.open(written / "report.html")


def test_reports_are_written_again_from_what_is_stored(written: Path) -> None:
    before = (written / "report.html").read_text(encoding="utf-8")
    matrix_ = re.search(r'<h2 id="matrix">.*?</table>', before, re.S)
    again = report.renew(written).read_text(encoding="utf-8")
    assert matrix_ is not None
    assert matrix_[0] in again
    document: dict[str, Any] = json.loads((written / "sweep.json").read_text(encoding="utf-8"))
    assert len(document["matrix"]) == 4 * 8
