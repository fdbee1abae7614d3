"""Every command of the documentation runs: here, or where the table below says. A new command needs a decision."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import page_runner
import pytest
from test_docs import PAGES, fences, name

ROOT = page_runner.ROOT
COMMAND = re.compile(r"(?: {4}|\t)\s*(?:\$ )?(?:sudo )?(?:\.venv/bin/)?earlydrop +([a-z].*)")
WHOLE = {
    "README.md": "test_tutorials",
    "docs/python.md": "test_python_page",
    "docs/home.md": "test_home",
    "docs/flent.md": "test_flent",
    "docs/learning.md": "test_gym",
    **{f"docs/how-to/{path.name}": "test_how_to" for path in (ROOT / "docs/how-to").glob("*.md")},
    **{f"docs/tutorials/{path.name}": "test_tutorials" for path in (ROOT / "docs/tutorials").glob("[1-4]-*.md")},
}
"""Pages whose commands another file of tests runs."""
ELSEWHERE = {
    r"reproduce ": "test_study_runs and the other tests of studies; whole, minutes each",
    r"link |crosscheck ": "test_link, as root in namespaces of its own",
    r"break --known": "test_break; of all failures, minutes",
    r"conform mine.json": "test_conform; the measures are of a program in Rust",
    r"sweep .*--cluster": "test_clusters",
    r"bench ": "test_bench; compares times with programs that are not here",
    r"validate": "test_validate",
    r"play": "test_play; it serves until it is stopped",
    r"report out/link": "test_link; the folder is that of a real link",
}
FAILS = ("target=15",)
"""Ends of commands that are shown for their message."""
CHEAPER = {
    "break": ["--runs", "60"],
    "compare": ["--seeds", "2"],
    "trace": ["--set", "duration=5s", "--set", "warmup=1s"],
}
SHORT = {"seeds = 10": "seeds = 2", 'duration = "30 s"': 'duration = "6 s"', 'warmup = "10 s"': 'warmup = "2 s"'}
"""Of the sweep that the pages report on."""


def commands(page: Path) -> list[str]:
    """The commands of a page, without synopses."""
    found = []
    for line in page.read_text(encoding="utf-8").splitlines():
        one = COMMAND.match(line)
        if one and not re.search(r"\[|\||\.\.\.|[A-Z]{3}", one[1].split("#")[0]):
            found.append(re.split(r"\s{3,}|\s+# ", one[1])[0])
    return found


def here(page: Path) -> list[str]:
    """Those that run here."""
    if name(page) in WHOLE:
        return []
    return [text for text in commands(page) if not any(re.match(pattern, text) for pattern in ELSEWHERE)]


@pytest.mark.parametrize("page", [page for page in PAGES if here(page)], ids=name)
def test_the_commands_of_a_page_run(page: Path, tmp_path: Path) -> None:
    around = page_runner.environment(tmp_path / ".bin")
    (tmp_path / "validation").symlink_to(ROOT / "validation")
    run = lambda *words: page_runner.called(["earlydrop", *words], tmp_path, around)  # noqa: E731
    assert run("init", "first")[0] == 0
    assert run("init", "home")[0] == 0
    sweeps = [b for kind, b in fences((ROOT / "docs/sweeps.md").read_text(encoding="utf-8")) if kind == "toml sweep"]
    loads = sweeps[0]
    for whole, short in SHORT.items():
        assert whole in loads
        loads = loads.replace(whole, short)
    (tmp_path / "loads.toml").write_text(loads, encoding="utf-8")
    for text in here(page):
        words = shlex.split(text)
        if words[0] == "init":
            (tmp_path / f"{words[1]}.toml").unlink(missing_ok=True)
        if words[0] == "report" and not (tmp_path / "out/loads").is_dir():
            assert run("sweep", "loads.toml")[0] == 0
        code, printed = run(*words, *CHEAPER.get(words[0], []))
        assert code == (2 if text.endswith(FAILS) else 0), f"{name(page)}: {text}\n{printed}"


def test_no_entry_of_the_tables_is_idle() -> None:
    every = [text for page in PAGES if name(page) not in WHOLE for text in commands(page)]
    assert not [pattern for pattern in ELSEWHERE if not any(re.match(pattern, text) for text in every)]
    assert all((ROOT / page).is_file() for page in WHOLE)
    tests = {found for reason in [*ELSEWHERE.values(), *WHOLE.values()] for found in re.findall(r"test_\w+", reason)}
    assert not [test for test in tests if not (ROOT / "python/tests" / f"{test}.py").is_file()]
    assert sum(len(here(page)) for page in PAGES) > 20
