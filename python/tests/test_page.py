"""The HTML report as a browser shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser
from conftest import outcome, peer

from earlydrop import study as studies
from earlydrop.study import folder as folders


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a whole study, from invented figures."""
    found = outcome(studies.find("tred"))
    return folders.write(tmp_path_factory.mktemp("report"), found, studies.judge(found), "0.0.0")


@pytest.fixture(scope="module")
def chromium() -> str:
    return peer("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser(chromium: str, page: Path) -> Iterator[Browser]:
    with Browser(chromium) as opened:
        opened.width(1200)
        opened.open(page)
        yield opened


def test_a_page_that_asks_and_complains_is_noticed(browser: Browser, page: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.html"
    wrong.write_text('<img src="missing.png"><script>console.error("no")</script>', encoding="utf-8")
    browser.open(wrong)
    assert [r.rsplit("/", 1)[-1] for r in browser.requests] == ["wrong.html", "missing.png"]
    assert any("no" in c for c in browser.complaints)
    browser.open(page)


def test_it_asks_for_nothing_but_itself(browser: Browser, page: Path) -> None:
    assert browser.requests[0] == page.as_uri()
    assert [r[:60] for r in browser.requests[1:] if not r.startswith("data:")] == []


def test_it_has_nothing_to_complain_of(browser: Browser) -> None:
    assert browser.complaints == []


def test_the_verdict_table_has_every_claim(browser: Browser) -> None:
    claims = [c.id for c in studies.find("tred").claims]
    rows = "[...document.querySelectorAll('table.claims td.id')]"
    assert browser.value(f"{rows}.map(c => c.innerText)") == claims
    words = browser.value("[...document.querySelectorAll('.claims .verdict-cell .verdict')].map(v => v.innerText)")
    assert len(words) == len(claims)
    assert set(words) <= {"supported", "contradicted", "equivalent", "undecided", "depends on the reading"}
    tried = browser.value("[...document.querySelectorAll('.claims .more')].map(r => r.textContent)")
    assert len([t for t in tried if "T-literal" in t]) == len(claims)


def test_every_figure_is_there(browser: Browser) -> None:
    sizes = browser.value("[...document.images].map(i => [i.alt, i.naturalWidth, i.naturalHeight, i.width])")
    # Effects; three drop curves; the network; six of the paper; two of ours.
    assert len(sizes) == 1 + 3 + 1 + 6 + 2
    for name, across, down, shown in sizes:
        assert name
        assert across > 200, name
        assert down > 100, name
        assert shown > 200, name


def test_every_table_and_figure_is_in_the_contents(browser: Browser) -> None:
    names = browser.value("[...document.querySelectorAll('table.contents a')].map(a => a.innerText)")
    assert {f"Table {k}" for k in range(1, 7)} <= set(names)
    assert {f"Figure {k}" for k in range(3, 10)} <= set(names)
    lost = "[...document.querySelectorAll('.contents a')].filter(a => !document.querySelector(a.hash)).map(a => a.hash)"
    assert browser.value(lost) == []


@pytest.mark.parametrize("pixels", [1200, 420])
def test_nothing_sticks_out(browser: Browser, pixels: int) -> None:
    browser.width(pixels)
    assert browser.value("document.documentElement.scrollWidth") <= pixels


def test_every_link_of_the_contents_leads_somewhere(browser: Browser) -> None:
    lost = "[...document.querySelectorAll('nav a')].filter(a => !document.querySelector(a.hash)).map(a => a.hash)"
    assert browser.value(lost) == []
    assert browser.value("document.querySelectorAll('nav a').length") >= 6


def test_the_published_tables_stand_beside_ours(browser: Browser) -> None:
    # Each in four networks, two of them at two buffers; the base is open, and what fits best, which may be any.
    tables = browser.value(
        "[...document.querySelectorAll('table')].filter(t => /published/.test(t.tHead?.textContent))"
        ".map(t => [t.tBodies[0].rows.length, t.closest('details') === null])"
    )
    assert [rows for rows, _ in tables] == [10, 10, 2, 2] * 6
    assert 6 <= sum(open_ for _, open_ in tables) <= 12
