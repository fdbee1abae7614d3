"""What would never end: files that are no files, networks that take long to check, times beyond any run."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from conftest import SCENARIO, take_signals

from earlydrop import _core

WITHIN = 5.0
"""Seconds for what takes one: other programs may run beside the tests."""

LARGE = """
name = "large"
duration = "1 s"
[topology]
kind = "parking_lot"
bottlenecks = 100000
pairs = 0
cross = 1
access = { rate = "10 Mbit/s", delay = "1 ms" }
bottleneck = { rate = "1 Mbit/s", delay = "1 ms" }
[queue.bottleneck]
aqm = "red"
limit = 50
[[traffic]]
kind = "ftp"
count = 1
"""
"""A minute of searching for ways."""

TRACED = SCENARIO.replace('rate = "2 Mbit/s"', 'rate = { trace = "pipe" }')


def spent(process: int) -> float:
    """Seconds of processor time of a process, or of the clock where there is no /proc."""
    if not (stat := Path(f"/proc/{process}/stat")).is_file():
        return time.sleep(3) or 3.0
    return sum(map(int, stat.read_text(encoding="utf-8").rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("command", ["check", "run", "show"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_long_check_ends_with_a_signal(command: str, number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "large.toml").write_text(LARGE, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-m", "earlydrop", command, "large.toml"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=take_signals,
    ) as process:
        # All that it loads takes less.
        while process.poll() is None and spent(process.pid) < 1.2:
            time.sleep(0.05)
        assert process.poll() is None, "it is still checking"
        begun = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert time.monotonic() - begun < WITHIN
    assert (process.returncode, out, err) == (128 + number, "", "interrupted: nothing was written\n")


def refused(folder: Path, *words: str) -> str:
    """What a command says that ends with 2, and soon."""
    command = [sys.executable, "-m", "earlydrop", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2, done.stderr
    return done.stderr


@pytest.mark.parametrize("command", ["check", "run", "show", "play", "trace"])
def test_a_pipe_is_no_trace(command: str, tmp_path: Path) -> None:
    assert "trace" in TRACED
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "scenario.toml").write_text(TRACED, encoding="utf-8")
    more = ["x.tr"] if command == "trace" else []
    assert "rate.trace: is not a regular file" in refused(tmp_path, command, "scenario.toml", *more)


@pytest.mark.parametrize(
    ("command", "says"), [("check", "no study.toml"), ("sweep", "regular file"), ("reproduce", "no study.toml")]
)
def test_a_pipe_is_no_sweep_and_no_study(command: str, says: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "study.toml")
    assert says in refused(tmp_path, command, "study.toml" if command != "reproduce" else ".")


def test_a_thousand_million_skipped_numbers_take_no_time() -> None:
    random = 'random = { generator = "mrg32k3a", seed = 7, skip = 1000000000 }'
    text = SCENARIO.replace('aqm = "red"', f'aqm = "red"\n{random}')
    assert "skip" in text
    scenario = _core.Scenario.parse(tomllib.loads(text) | {"duration": "1 s", "warmup": "0 s"}, [])
    begun = time.process_time()
    scenario.run()
    assert time.process_time() - begun < 1.0


@pytest.mark.parametrize(("arrival", "until"), [(1e300, 1.0), (0.5, 1e300), (0.5, float("inf")), (float("nan"), 1.0)])
def test_a_replay_has_an_end(arrival: float, until: float) -> None:
    scenario = _core.Scenario.parse(tomllib.loads(SCENARIO), [("queue.bottleneck.aqm", "pie")], strict=False)
    columns = {"time_s": struct.pack("<d", arrival), "flow": struct.pack("<Q", 1), "size": struct.pack("<I", 1000)}
    columns |= dict.fromkeys(("ecn", "class", "ttl", "initial_ttl"), b"\0")
    with pytest.raises(ValueError, match=r"10\^6 s"):
        _core.replay_link(scenario, "bottleneck", 1, False, until, columns)
