"""tools/signals.py: each signal at a few moments of some commands; and what it looks for is found."""

from __future__ import annotations

import random
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import signals as tool

pytestmark = [
    pytest.mark.skipif(not tool.COMMAND.is_file(), reason="the command is not installed beside this Python"),
    pytest.mark.skipif(sys.platform == "win32", reason="has no such signals"),
]


@pytest.fixture
def trials(tmp_path: Path) -> Iterator[tool.Trials]:
    """A prepared folder."""
    with tool.shared_memory() as shared:
        made = tool.Trials(tmp_path, shared)
        made.prepare([])
        yield made


@pytest.mark.parametrize("name", ["compare"])
def test_a_few_moments_leave_nothing(trials: tool.Trials, name: str) -> None:
    draw = random.Random(47)
    length, whole = trials.whole(name)
    for number in tool.SIGNALS:
        trials.send(name, number, draw.random() < 0.5, length * draw.random(), whole)
    assert trials.findings == []
    assert set(trials.ended) <= {"0", "129", "130", "131", "137", "143"}


SLOPPY = """\
#!{python}
import os, signal, subprocess, sys, tempfile, time
tempfile.mkdtemp()
os.mkdir("out")
open("out/result.json", "w").write("{{")
open("stray", "w").write("x")
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
signal.signal(signal.SIGTERM, lambda *_: os._exit(1))
print("Traceback (most recent call last)", flush=True)
open("../ready", "w").close()
time.sleep(60)
"""
GOOD = """\
#!{python}
import os
os.mkdir("out")
open("out/result.json", "w").write("{{}}")
open("out/result.csv", "w").write("1")
"""


def test_what_is_left_behind_is_found(trials: tool.Trials, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "earlydrop"
    monkeypatch.setattr(tool, "COMMAND", command)
    monkeypatch.setattr(tool, "ENDS_S", 1.0)

    def installed(text: str) -> None:
        command.write_text(text.format(python=sys.executable), encoding="utf-8")
        command.chmod(0o755)

    installed(GOOD)
    _, whole = trials.whole("run")
    assert trials.findings == []
    installed(SLOPPY)
    trials.send("run", signal.SIGTERM, False, 3.0, whole)
    found = "\n".join(trials.findings)
    for said in (
        "exit code 1: Traceback",
        "left the process",
        "stray is left",
        "out is there without out/result.csv",
        "out/result.json is half",
        "is left among the temporary files",
    ):
        assert said in found, found
