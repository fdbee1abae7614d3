"""The documentation builds as a site: no dead link, no dead anchor, every page in its navigation, nothing fetched."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from browser import Browser
from conftest import peer

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material")
    place = tmp_path_factory.mktemp("site")
    made = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(place)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    # Strict: a dead link or anchor, or a page that nothing leads to, is an error.
    assert made.returncode == 0, made.stderr
    return place


def test_every_page_is_there(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    made = {path.relative_to(site) for path in site.rglob("*.html")}
    missing = {p for p in pages if p not in made and p.with_name("index.html") not in made}
    assert not missing
    assert {Path("reference/commands.html"), Path("reference/api.html"), Path("project/CHANGELOG.html")} <= made


def test_nothing_is_fetched_at_view_time(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|img|link)[^>]+(?:src|href)="((?:https?:)?//[^"]+)"', text), page
    for sheet in site.rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import )['\"]?(?:https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_the_reference_has_every_command_and_signatures(site: Path) -> None:
    import earlydrop
    from earlydrop.cli.commands import app

    text = (site / "reference/commands.html").read_text(encoding="utf-8")
    names = [name for name in app if not name.startswith("-")]
    assert len(names) > 15
    assert not [name for name in names if f"earlydrop {name}" not in text]
    api = (site / "reference/api.html").read_text(encoding="utf-8")
    assert "warmup" in api
    shown = set(re.findall(r'<h3 id="[\w.]*?(\w+)"', api))
    # What is made in Rust other pages name.
    assert set(earlydrop._HOME) - shown == {name for name, home in earlydrop._HOME.items() if home == "_core"}
    assert shown - set(earlydrop._HOME) == {"AqmEnv", "Endpoint", "Path", "Swept", "sweep"}


def test_search_knows_the_pages(site: Path) -> None:
    index = (site / "search/search_index.json").read_text(encoding="utf-8")
    assert "Your own AQM" in index
    assert "fq_codel" in index


# What people look for, and pages of which one must be among the first three.
QUERIES = {
    "bufferbloat": {"home"},
    "video call": {"media", "home"},
    "OpenWrt": {"home"},
    "tc": {"home"},
    "satellite": {"home"},
    "L4S": {"how-to/l4s"},
    "plot congestion window": {"how-to/figures"},
    "own AQM": {"tutorials/3-own-aqm"},
    "ns-3": {"coming-from"},
    "Mahimahi": {"coming-from"},
    "QUIC": {"quic"},
    "Wi-Fi": {"how-to/wireless"},
    "ECN": {"scenarios", "glossary"},
    "pcap": {"how-to/packets"},
    "sweep": {"sweeps"},
    "real link": {"link"},
    "confidence interval": {"statistics"},
    "install": {"install"},
    "PIE": {"aqms/pie"},
    "notebook": {"python"},
}
TYPED = """new Promise((done) => {
  const box = document.querySelector("#__search"), input = document.querySelector(".md-search__input");
  if (!box.checked) box.click();
  const before = document.querySelector(".md-search-result__list").textContent;
  input.focus();
  input.value = %s;
  input.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
  let last = "";
  const look = () => {
    const found = [...document.querySelectorAll(".md-search-result__item > a")].map((a) => a.href.split(/[?#]/)[0]);
    const text = document.querySelector(".md-search-result__list").textContent;
    if (found.length && text !== before && text === last) return done(found);
    last = text;
    setTimeout(look, 250);
  };
  look();
})"""


def test_search_finds_concepts_first(site: Path) -> None:
    last = _hooks().RANKS[0.001]
    with Browser(peer("chromium", "chromium-browser", "google-chrome")) as browser:
        # From a file, as where the site is copied to.
        browser.open(site / "index.html")
        root = site.resolve().as_uri() + "/"
        wrong = {}
        for query, wanted in QUERIES.items():
            found = [link.removeprefix(root) for link in browser.value(TYPED % json.dumps(query))][:3]
            if not wanted & {page.removesuffix(".html") for page in found} or any(map(_of(last), found)):
                wrong[query] = found
        assert not wrong


def _of(names: tuple[str, ...]) -> Callable[[str], bool]:
    return lambda page: page.replace(".html", ".md").startswith(names)


def test_words_are_of_pages() -> None:
    hooks = _hooks()
    assert not [page for page in hooks.FOUND_BY if not (ROOT / "docs" / page).is_file()]
    outside = tuple(hooks.PLACES)
    for names in hooks.RANKS.values():
        for name in names:
            assert (
                list((ROOT / "docs").glob(f"{name}*"))
                or any(page.startswith(name) for page in outside)
                or name == "reference/"
            ), name


def test_the_home_has_the_queue_two_commands_and_three_paths(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    assert text.index("<h1") < text.index("images/playground.png") < text.index("earlydrop init first")
    paths = text.partition('<div class="paths">')[2].partition("</div>")[0]
    assert re.findall(r'<h2 id="(\w+)"', paths) == ["understand", "measure", "build"]
    assert all(section.count("<li>") >= 5 for section in paths.split("</section>")[:3])
    assert '<details id="all-pages"><summary>All pages</summary>' in text


def test_the_home_shows_a_picture_where_no_script_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    hooks, page = _hooks(), (ROOT / "docs/README.md").read_text(encoding="utf-8")
    monkeypatch.setattr(hooks, "BUILT", True)
    shown = hooks._with_playground("README.md", page)
    assert '<iframe class="playground" src="playground/index.html#aqm=droptail,fq_codel&embed" loading="lazy"' in shown
    assert "(images/playground.png)](playground.md)\n</noscript>" in shown
    monkeypatch.setattr(hooks, "BUILT", False)
    assert hooks._with_playground("README.md", page) == page


LISTED = ("crosscheck-cells", "crosscheck-unseen", "kernel-qdiscs")
DATA = sorted([*(ROOT / "docs/data").glob("*.csv"), *(ROOT / "vectors").glob("*.csv")])


def test_every_table_of_data_has_a_page_that_shows_it() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "vectors").glob("*.md")]
    alone = re.compile(r"^\n\[[^\]]+\]\(([^)]+\.csv)\)\n$", re.MULTILINE)
    shown = [(page.parent / link).resolve() for page in pages for link in alone.findall(page.read_text("utf-8"))]
    assert sorted(shown) == DATA
    index = (ROOT / "docs/data/README.md").read_text(encoding="utf-8")
    listed = re.findall(r"\]\(([^)]+\.csv)\)", index)
    assert sorted((ROOT / "docs/data" / link).resolve() for link in listed) == DATA
    for name in ("claims", "readings", "readings-bus", *(f"lab-notes/{one}" for one in LISTED)):
        assert len((ROOT / f"docs/{name}.md").read_text(encoding="utf-8").splitlines()) <= 100, name


def test_the_pages_have_all_rows_of_their_data(site: Path) -> None:
    found = {}
    for page in site.rglob("*.html"):
        for name, rows in re.findall(
            r'<div class="data" data-file="([^"]+)">.*?<tbody>(.*?)</tbody>', page.read_text("utf-8"), re.DOTALL
        ):
            assert (page.parent / name).is_file(), "the file to keep"
            found[Path(name).name] = rows.count("<tr>")
    for file in DATA:
        with file.open(encoding="utf-8", newline="") as text:
            assert found.pop(file.name) == len(list(csv.reader(text))) - 1
    assert not found


def test_the_rows_can_be_searched(site: Path) -> None:
    with Browser(peer("chromium", "chromium-browser", "google-chrome")) as browser:
        browser.open(site / "claims.html")
        data = "document.querySelector('.data[data-file$=\"/claims.csv\"]')"
        shown = f"{data}.querySelectorAll('tbody tr:not([hidden])').length"
        every = browser.value(shown)
        assert every > 700
        search = f"const input = {data}.querySelector('input'); input.value = '%s';"
        search += "input.dispatchEvent(new Event('input', { bubbles: true }))"
        browser.value("{" + search % "tred T-7D contradicted" + "}")
        few = browser.value(shown)
        assert 0 < few < 20
        assert browser.value(f"{data}.querySelector('output').value") == f"{few} of {every} rows"
        row = browser.value(f"{data}.querySelector('tbody tr:not([hidden])').textContent")
        assert "tred" in row
        assert "T-7d contradicted" in row
        browser.value("{" + search % "" + "}")
        assert browser.value(shown) == every


def test_lists_keep_their_items(site: Path) -> None:
    text = (site / "aqms/codel.html").read_text(encoding="utf-8")
    differences = text.partition('id="differences"')[2].partition('id="parameters"')[0]
    # A table and a paragraph belong to the first.
    first = differences.partition("</li>")[0]
    assert "<table>" in first
    assert "RFC 8289 prints 512 B" in first
    assert differences.count("<li>") == 6


def test_the_whole_playground_is_a_click_away() -> None:
    assert '<a class="md-button" href="{up}playground/index.html#aqm={aqms}">' in _hooks().FRAME


def _hooks() -> ModuleType:
    # The standard library has a module of that name too.
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "tools" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_disciplines_pages_show_the_playground_where_it_is_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hooks, page = _hooks(), (ROOT / "docs/aqms/codel.md").read_text(encoding="utf-8")
    monkeypatch.setattr(hooks, "BUILT", True)
    shown = hooks._with_playground("aqms/codel.md", page)
    assert '<iframe class="playground" src="../playground/index.html#aqm=codel&embed" loading="lazy"' in shown
    assert shown.index("## Try it") < shown.index("## Parameters")
    monkeypatch.setattr(hooks, "BUILT", False)
    assert hooks._with_playground("aqms/codel.md", page) == page
    own = (ROOT / "docs/playground.md").read_text(encoding="utf-8")
    assert "built without the playground: `make web`" in hooks._with_playground("playground.md", own)
    # The files of the page, and nothing that a build leaves beside them.
    built, site = tmp_path / "web", tmp_path / "site"
    (built / "deps").mkdir(parents=True)
    (built / "index.html").write_text('<!doctype html>\n<html lang="en"></html>', encoding="utf-8")
    (built / "earlydrop.wasm").write_bytes(b"")
    site.mkdir()
    monkeypatch.setattr(hooks, "PLAYGROUND", built)
    monkeypatch.setattr(hooks, "BUILT", True)
    hooks.on_post_build(SimpleNamespace(site_dir=str(site)))
    assert sorted(one.name for one in (site / "playground").iterdir()) == ["earlydrop.wasm", "index.html"]
    assert '<html data-docs="../" lang="en">' in (site / "playground/index.html").read_text(encoding="utf-8")


def test_the_site_has_the_playground_or_says_that_it_has_not(site: Path) -> None:
    text = (site / "playground.html").read_text(encoding="utf-8")
    built = (site / "playground/index.html").is_file()
    assert built == ("<iframe" in text)
    assert built != ("built without the playground" in text)
