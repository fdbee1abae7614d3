"""docs/own-aqm.md, line by line: its programs and commands do what it says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "own-aqm.md"
PROGRAMS = ("earlydrop", "cd", "make", "cargo")


def steps(text: str) -> Iterator[tuple[str, str]]:
    """The page's programs ("python"), commands ("command"), and what commands print ("output"), in order."""
    lines = iter(text.splitlines())
    for line in lines:
        if line == "```python":
            yield "python", "\n".join(iter(lambda: next(lines), "```")) + "\n"
        elif line.startswith("    $ "):
            yield "command", line[6:]
            yield "output", next(lines)[4:]
        elif re.match(rf"    ({'|'.join(PROGRAMS)}) ?", line):
            yield "command", line.strip()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which `earlydrop` is this one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "earlydrop"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m earlydrop "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(PAGE.parents[1] / "python"), "CARGO_NET_OFFLINE": "true"}


def test_the_page_runs_line_by_line(tmp_path: Path, environment: dict[str, str]) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    here, printed, done = tmp_path, "", []
    for kind, text in steps(PAGE.read_text(encoding="utf-8")):
        if kind == "output":
            assert text.strip() in printed
            done[-1] += " fails"
            continue
        if text.startswith("cd "):
            here = (here / text[3:]).resolve()
            assert here.is_relative_to(tmp_path)
            continue
        if kind == "python":
            named = re.match(r"# (\w+\.py)\n", text)
            file = here / (named[1] if named else "program.py")
            file.write_text(text, encoding="utf-8")
            command = [sys.executable, str(file)]
        else:
            command = shlex.split(text)
        made = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, check=False)
        printed = made.stdout + made.stderr
        fails = text.endswith("aqm=my_red")
        assert made.returncode == (2 if fails else 0), f"{text}\n{printed}"
        done.append(text)
    assert len(done) > 15
    assert sum(one.endswith(" fails") for one in done) == 1


def test_every_method_and_attribute_is_on_the_page() -> None:
    from earlydrop import _core
    from earlydrop.policies.declare import METHODS

    text = PAGE.read_text(encoding="utf-8")
    assert all(f"`{name}(" in text for name in (*METHODS, "check"))
    seen = {"packet": _core.PacketView, "queue": _core.QueueView, "cx": _core.Context}
    for name, cls in seen.items():
        for attribute in (a for a in vars(cls) if not a.startswith("_")):
            assert re.search(rf"`{name}\.{attribute}\b", text), f"{name}.{attribute}"
