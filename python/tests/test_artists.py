"""Processes that draw: they draw what this one does, and end with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path

import pytest

from earlydrop.render import plotting
from earlydrop.render.artists import Here, Sketch, artists, drawn

SKETCH = Sketch(plotting.drop_curves, ([plotting.DropCurve("RED", [0.0, 50.0], [0.0, 0.1])], {"min_th": 10.0}))


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    with artists(2) as made:
        yield made


def test_other_processes_draw_the_same(pool: Executor) -> None:
    ours, theirs = (where.submit(drawn, SKETCH, "a note", ["png", "svg"]).result() for where in (Here(), pool))
    assert theirs == ours
    assert [content[:4] for content in ours.files] == [b"\x89PNG", b"<?xm"]


def test_ctrl_c_is_left_to_the_command(pool: Executor) -> None:
    assert pool.submit(signal.getsignal, signal.SIGINT).result() is signal.SIG_IGN


STOPPED = """
import signal, time
from earlydrop.render.artists import artists

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with artists(2) as pool:
            print("begun", flush=True)
            time.sleep(60)
    except KeyboardInterrupt:
        print("stopped")
"""


@pytest.mark.skipif(os.name == "nt", reason="process groups and their signals")
def test_ctrl_c_while_the_processes_load_is_quiet() -> None:
    command = [sys.executable, "-c", STOPPED]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        # Long enough for the first of them to be there, too short for what it loads.
        time.sleep(0.15)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (out, err) == ("stopped\n", "")


def test_a_fault_reaches_who_asked(pool: Executor) -> None:
    for where in (Here(), pool):
        with pytest.raises(TypeError, match="drop_curves"):
            where.submit(drawn, Sketch(plotting.drop_curves, ()), "", ["svg"]).result()


def test_after_an_error_nothing_more_is_drawn() -> None:
    with pytest.raises(KeyError), artists(2) as pool:  # noqa: PT012
        asked = [pool.submit(time.sleep, 0.2) for _ in range(200)]
        raise KeyError
    assert asked[-1].cancelled()


def test_one_worker_is_this_process() -> None:
    with artists(1) as here:
        assert here.submit(os.getpid).result() == os.getpid()


KILLED = """
import os, time
from earlydrop.render.artists import artists

if __name__ == "__main__":
    with artists(2) as pool:
        print(*{pool.submit(os.getpid).result() for _ in range(20)}, flush=True)
        time.sleep(60)
"""


@pytest.mark.parametrize("all_at_once", [False, True])
def test_processes_end_when_the_command_is_killed(all_at_once: bool) -> None:
    shared = Path("/dev/shm")
    before = set(shared.iterdir()) if shared.is_dir() else set()
    command = [sys.executable, "-c", KILLED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        theirs = [int(word) for word in process.stdout.readline().split()]
        made = set(shared.iterdir()) - before if shared.is_dir() else set()
        if all_at_once:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    # Semaphores with names would stay.
    assert not [path for path in made if path.name.startswith("sem.mp-")]
    end = time.monotonic() + 20
    while (left := [one for one in theirs if _lives(one)]) and time.monotonic() < end:
        time.sleep(0.05)
    assert theirs
    assert not left


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
