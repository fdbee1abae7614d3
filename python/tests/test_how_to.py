"""The how-to guides, line by line, and programs and scenarios in the text of other pages: all of them run."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import page_runner
import pytest
from conftest import peer
from test_docs import PAGES, fences, name

from earlydrop import _core

ROOT = page_runner.ROOT
GUIDES = ROOT / "docs/how-to"
AS_ROOT = {"real-programs"}
"""Run by test_link, in a network namespace."""
IN_C = {"queue-from-c"}
"""Built and run by crates/capi/tests/c.rs."""
PAGES_HERE = sorted(path.stem for path in GUIDES.glob("*.md") if path.stem not in {*AS_ROOT, *IN_C, "README"})
SKIPS = ["--cluster slurm:20"]
"""No queueing system is here; test_clusters has one of its own."""
FIRST = {
    "docs/columns.md": ["run first.toml --out out"],
    "docs/moving.md": ["run first.toml --out out/run"],
    "docs/networks.md": [],
    "docs/store.md": ["sweep small.toml --store store"],
}
"""Pages whose programs run after these commands."""
SMALL = """\
scenario = "first.toml"
seeds = 2
set = { duration = "5 s", warmup = "1 s" }

[[factor]]
path = "queue.bottleneck.aqm"
values = ["red", "codel"]
"""


@pytest.mark.parametrize("guide", PAGES_HERE)
def test_a_guide_runs_line_by_line(guide: str, tmp_path: Path) -> None:
    if guide == "packets":
        peer("tshark")
    ran = page_runner.run(GUIDES / f"{guide}.md", tmp_path, skips=SKIPS)
    assert ran.done


def test_what_a_package_index_shows_runs_and_links_nowhere(tmp_path: Path) -> None:
    page = ROOT / "python/README.md"
    assert tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["readme"] == name(page)
    assert "](" not in page.read_text(encoding="utf-8")
    page_runner.run(page, tmp_path, skips=SKIPS, changes=[("reproduce tred --quick", "list studies")])


def test_every_guide_has_a_question_that_leads_to_it() -> None:
    index = (GUIDES / "README.md").read_text(encoding="utf-8")
    assert all(f"]({path.name})" in index for path in GUIDES.glob("*.md") if path.name != "README.md")


@pytest.mark.parametrize("page", FIRST)
def test_the_programs_of_a_page_run(page: str, tmp_path: Path) -> None:
    around = page_runner.environment(tmp_path / ".bin")
    around |= {"PYTHONWARNINGS": "ignore::DeprecationWarning"}
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    for words in ["init first", *FIRST[page]]:
        assert page_runner.called(["earlydrop", *words.split()], tmp_path, around)[0] == 0
    blocks = [b for kind, b in fences((ROOT / page).read_text(encoding="utf-8")) if kind == "python"]
    assert blocks
    for block in blocks:
        (tmp_path / "program.py").write_text(block, encoding="utf-8")
        made = subprocess.run(
            [sys.executable, "program.py"], cwd=tmp_path, env=around, capture_output=True, text=True, check=False
        )
        assert made.returncode == 0, f"{page}: {block}\n{made.stderr}"


def scenarios() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for kind, block in fences(page.read_text(encoding="utf-8")):
            if kind == "toml scenario":
                yield name(page), block


def test_scenarios_in_the_text_run() -> None:
    found = list(scenarios())
    assert len(found) >= 6
    for page, block in found:
        # Two seconds of each: it runs, and something arrives.
        scenario = _core.Scenario.parse(tomllib.loads(block), [("duration", '"2 s"'), ("warmup", '"0 s"')])
        queues = json.loads(scenario.run(1))["queues"]
        assert sum(queue["arrivals"] for queue in queues.values()), page
