"""Ctrl-C at every stage: the exit code says so, and no half of a result stays behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import take_signals

# Runs the command line, and says on stdout when a function is entered. There the main thread waits for the signal, so
# that it comes exactly then, however busy the machine is; a run goes on, on its own thread.
TOLD = """
import sys
import threading
import time
from importlib import import_module
from earlydrop import cli

module, name = sys.argv[1].split(":")
home = import_module(module)
real = getattr(home, name)

def told(*given, **named):
    told.calls += 1
    if told.calls == skipped + 1:
        print("entered", flush=True)
        if threading.current_thread() is threading.main_thread():
            time.sleep(60)
    return real(*given, **named)

told.calls = 0
setattr(home, name, told)
skipped = int(sys.argv[2])
sys.argv[1:] = sys.argv[3:]
sys.exit(cli.main())
"""

RUNNING = "earlydrop.runner:_said"
WRITING = "earlydrop.output:write_json"
DRAWING = "earlydrop.render.plotting:save"
# A study's figures are drawn by other processes, which the command waits for.
DRAWN = "earlydrop.study.report:write"


def interrupted(
    where: str,
    *arguments: str | Path,
    by: signal.Signals = signal.SIGINT,
    again: signal.Signals | None = None,
    skip: int = 0,
) -> tuple[int, str, str]:
    """Exit code, output and messages of a command that got a signal when it entered the function `where`.

    `again`: another signal, a few milliseconds later. `skip`: not when it entered it first, but after so many calls.
    """
    command = [sys.executable, "-c", TOLD, where, str(skip), *(str(a) for a in arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=take_signals
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(by)
        if again is not None:
            time.sleep(0.003)
            process.send_signal(again)
        out, err = process.communicate(timeout=60)
    assert first == "entered\n", err
    return process.returncode, out, err


def left(folder: Path) -> list[str]:
    """Everything in a folder, hidden or not."""
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*"))


@pytest.mark.parametrize("where", [RUNNING, WRITING, DRAWING])
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_an_interrupted_comparison_leaves_nothing(
    scenario: Path, tmp_path: Path, where: str, by: signal.Signals
) -> None:
    seeds = "50000" if where == RUNNING else "2"
    out = tmp_path / "deep" / "out"
    code, printed, said = interrupted(
        where, "compare", scenario, "--aqm", "red", "tred", "--seeds", seeds, "--out", out, by=by
    )
    assert code == 128 + by, said
    assert "interrupted" in said
    assert "Traceback" not in said
    assert printed == ""
    assert left(tmp_path) == ["small.toml"]


IN_THE_STORE = "earlydrop.sweeps.work:make"


@pytest.mark.parametrize(
    ("where", "study"),
    [*((where, "tred") for where in (IN_THE_STORE, WRITING, DRAWN)), (IN_THE_STORE, "all"), (WRITING, "all")],
)
def test_an_interrupted_study_leaves_what_was_run_and_nothing_else(tmp_path: Path, where: str, study: str) -> None:
    quick = ["--quick", "--seeds", "1"] if where != IN_THE_STORE else []
    code, printed, said = interrupted(where, "reproduce", study, *quick, "--out", tmp_path / "out")
    assert code == 130, said
    assert f"interrupted: what was run is in {tmp_path / 'store'}; the same command goes on from there" in said
    assert "Traceback" not in said
    assert printed == ""
    assert {name.split("/")[0] for name in left(tmp_path)} == {"store"}


def test_an_interrupted_comparison_keeps_the_result_that_was_there(scenario: Path, tmp_path: Path) -> None:
    command = ["compare", str(scenario), "--aqm", "red", "--seeds", "2", "--out", str(tmp_path / "out")]
    subprocess.run([sys.executable, "-m", "earlydrop", *command], check=True, capture_output=True)
    before = {name: (tmp_path / name).stat().st_mtime_ns for name in left(tmp_path)}
    code, _, said = interrupted(DRAWING, *command)
    assert code == 130, said
    # The folder that holds both was written to; nothing in it was.
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in left(tmp_path)} == before


# `timeout` signals the group of its command as well as the command.
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("again", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_changes_nothing(
    scenario: Path, tmp_path: Path, by: signal.Signals, again: signal.Signals
) -> None:
    long = ["run", scenario, "--set", "duration=1e6 s", "--out", tmp_path / "out"]
    for _ in range(3):
        code, printed, said = interrupted(RUNNING, *long, by=by, again=again)
        # On a busy machine both have come before either is heard.
        assert code in (128 + by, 128 + again)
        assert said == "interrupted: nothing was written\n"
        assert printed == ""


def test_an_interrupted_run_leaves_nothing(scenario: Path, tmp_path: Path) -> None:
    # More than a minute of computing, of which the signal leaves little.
    long = ["run", scenario, "--set", "duration=1e6 s", "--out", tmp_path / "out"]
    code, printed, said = interrupted(RUNNING, *long)
    assert code == 130, said
    assert printed == ""
    assert left(tmp_path) == ["small.toml"]


def test_a_sweep_interrupted_while_it_writes_says_where_its_runs_are(scenario: Path, tmp_path: Path) -> None:
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        'name = "small"\nscenario = "small.toml"\nseeds = 2\n\n'
        '[[factor]]\nname = "aqm"\npath = "queue.bottleneck.aqm"\nvalues = ["red", "tred"]\n'
    )
    code, printed, said = interrupted("earlydrop.sweeps.text:write", "sweep", sweep, "--out", tmp_path / "out")
    assert code == 130, said
    assert f"interrupted: what was run is in {tmp_path / 'store'}; the same command goes on from there" in said
    assert printed == ""
    assert {name.split("/")[0] for name in left(tmp_path)} == {"small.toml", "sweep.toml", "store"}


@pytest.mark.parametrize("where", ["earlydrop.vectors:record", "earlydrop.disk:write"])
def test_interrupted_vectors_leave_nothing(tmp_path: Path, where: str) -> None:
    out = tmp_path / "written"
    code, printed, said = interrupted(where, "vectors", "red", "codel", "--out", out, skip=1)
    assert (code, printed, said) == (130, "", "interrupted: nothing was written\n")
    assert left(tmp_path) == []


LOST = """
import os, signal, sys, time
from earlydrop.cli import entry

class Held:
    def __del__(self):
        os.kill(os.getpid(), signal.{name})
        for _ in range(100):
            time.sleep(0.001)

def work(tokens):
    held = Held()
    del held
    while True:
        time.sleep(0.01)

entry._dispatch = work
sys.argv = ["earlydrop"]
sys.exit(entry.main())
"""


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_where_python_swallows_exceptions_is_not_lost(by: signal.Signals) -> None:
    code = LOST.format(name=by.name)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=False)
    assert (ended.returncode, ended.stderr) == (128 + by, "interrupted: nothing was written\n")


IMPORTING = """
import os, signal, sys, time
from earlydrop.cli import entry

def work(tokens):
    where = "<frozen importlib._bootstrap>"
    text = "os.kill(os.getpid(), signal.SIGTERM); end = time.monotonic() + 0.3\\nwhile time.monotonic() < end: pass"
    exec(compile(text, where, "exec"))
    print("imported", flush=True)
    while True:
        time.sleep(0.01)

entry._dispatch = work
sys.argv = ["earlydrop"]
sys.exit(entry.main())
"""


def test_a_signal_waits_until_python_has_let_go_of_its_locks_of_imports() -> None:
    ended = subprocess.run([sys.executable, "-c", IMPORTING], capture_output=True, text=True, timeout=20, check=False)
    assert (ended.returncode, ended.stdout) == (128 + signal.SIGTERM, "imported\n"), ended.stderr


FAILING = """
import os, signal, sys
from earlydrop.cli import entry

def work(tokens):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        os.getpid()
    except KeyboardInterrupt:
        pass
    raise {error}("initialization failed")

entry._dispatch = work
sys.argv = ["earlydrop"]
sys.exit(entry.main())
"""


# A panic of an extension in Rust is no Exception.
@pytest.mark.parametrize("error", ["ImportError", "BaseException"])
def test_what_fails_because_of_a_signal_is_an_interruption(tmp_path: Path, error: str) -> None:
    code = FAILING.format(error=error)
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=False, cwd=tmp_path
    )
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGTERM, "interrupted: nothing was written\n")
    assert not left(tmp_path)


ENDED = """
import atexit, os, signal, sys, time
from earlydrop.cli import entry

def late():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.3)

atexit.register(late)
entry._dispatch = lambda tokens: print("done") or 0
sys.argv = ["earlydrop"]
sys.exit(entry.main())
"""


def test_a_signal_to_a_command_that_has_ended_changes_nothing() -> None:
    ended = subprocess.run([sys.executable, "-c", ENDED], capture_output=True, text=True, timeout=20, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")
