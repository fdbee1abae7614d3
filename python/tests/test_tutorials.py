"""The tutorials, line by line: their programs and commands do what they say."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import page_runner
import pytest

TUTORIALS = page_runner.ROOT / "docs" / "tutorials"
OWN = TUTORIALS / "3-own-aqm.md"
SHORT = 'scenario = "first.toml"\nset = { duration = "20 s", warmup = "5 s" }\n'
CHEAPER = {
    "1-first-comparison": [("seeds 5", "seeds 2"), ("seeds 3", "seeds 2"), ("seeds=3", "seeds=2")],
    "2-home-link": [("seeds = 5", "seeds = 2"), ("seeds=3", "seeds=2"), ('scenario = "first.toml"\n', SHORT)],
    "3-own-aqm": [("seeds 3", "seeds 2"), ('max_p=0.5"', 'max_p=0.5" --seeds 2'), ("100000", "20000")],
    "4-reproduce-a-paper": [("--quick", "--quick --seeds 1"), ("seeds 3", "seeds 2")],
}
"""Where the page does not show what is printed, fewer runs do."""


@pytest.mark.parametrize(
    ("name", "least"), [("1-first-comparison", 9), ("2-home-link", 6), ("4-reproduce-a-paper", 5)], ids=str
)
def test_a_tutorial_runs_line_by_line(name: str, least: int, tmp_path: Path) -> None:
    assert len(page_runner.run(TUTORIALS / f"{name}.md", tmp_path, changes=CHEAPER[name]).done) >= least


@pytest.mark.parametrize("name", CHEAPER)
def test_every_change_is_in_its_page(name: str) -> None:
    text = (TUTORIALS / f"{name}.md").read_text(encoding="utf-8")
    assert [old for old, _ in CHEAPER[name] if old not in text] == []


def test_the_readme_shows_what_is_printed(tmp_path: Path) -> None:
    text = (page_runner.ROOT / "README.md").read_text(encoding="utf-8")
    first = text[text.index("    $ earlydrop init") :]
    (tmp_path / "first.md").write_text(first, encoding="utf-8")
    steps = [kind for kind, _ in page_runner.steps(first)]
    assert steps.count("output") > 12
    assert len(page_runner.run(tmp_path / "first.md", tmp_path).done) == 2


def test_your_own_aqm_runs_line_by_line(tmp_path: Path) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    ran = page_runner.run(OWN, tmp_path, fails=["aqm=my_red"], changes=CHEAPER[OWN.stem])
    assert len(ran.done) > 15
    assert len(ran.failed) == 1


def test_every_method_and_attribute_is_on_the_page() -> None:
    from earlydrop import _core
    from earlydrop.own_aqms.declare import METHODS

    text = OWN.read_text(encoding="utf-8")
    assert all(f"`{name}(" in text for name in (*METHODS, "check"))
    seen = {"packet": _core.PacketView, "queue": _core.QueueView, "cx": _core.Context}
    for name, cls in seen.items():
        for attribute in (a for a in vars(cls) if not a.startswith("_")):
            assert re.search(rf"`{name}\.{attribute}\b", text), f"{name}.{attribute}"
