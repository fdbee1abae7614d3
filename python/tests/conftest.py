"""Shared helpers: golden texts, synthetic outcomes, a small scenario."""

from __future__ import annotations

import functools
import gc
import os
import random
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from axes import cut
from hypothesis import HealthCheck, settings

from earlydrop import study as studies

# A busy machine is no fault of the code; the same examples every time.
settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")


def pytest_collection_finish() -> None:
    """What is loaded stays, and is not looked through again each time that a test makes many objects."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)


GOLDEN = Path(__file__).parent / "golden"

SCENARIO = """\
name = "small"
duration = "5 s"
seed = 3

[topology]
kind = "dumbbell"
pairs = 4
access = { rate = "100 Mbit/s", delay = "5 ms" }
bottleneck = { rate = "2 Mbit/s", delay = "10 ms" }

[queue.bottleneck]
aqm = "red"
limit = "30 packets"
min_th = 5
max_th = 15
max_p = 0.1

[[traffic]]
kind = "ftp"
count = 4
tcp = "reno"
start = { uniform = ["0 s", "0.5 s"] }
"""


def dumbbell(
    aqm: str,
    limit: int,
    *,
    pairs: int = 4,
    bottleneck: tuple[str, str] = ("2 Mbit/s", "10 ms"),
    access: tuple[str, str] = ("100 Mbit/s", "5 ms"),
    of: str = "",
) -> str:
    """Topology and queue of a scenario as TOML, in the table `of`; links have a rate and a delay."""
    return f"""\
[{of}topology]
kind = "dumbbell"
pairs = {pairs}
access = {{ rate = "{access[0]}", delay = "{access[1]}" }}
bottleneck = {{ rate = "{bottleneck[0]}", delay = "{bottleneck[1]}" }}
[{of}queue.bottleneck]
aqm = "{aqm}"
limit = "{limit} packets"\
"""


HALF_FULL = """\
import earlydrop as ed

SHARE = 0.5


@ed.policy
class HalfFull:
    \"\"\"Drops above half of the buffer.\"\"\"

    def on_enqueue(self, packet, queue, cx):
        return ed.Verdict.drop() if queue.packets > SHARE * queue.limit else ed.Verdict.PASS
"""
"""A discipline of one's own, in Python."""


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compare a text with a file of golden/; GOLDEN=update writes the file instead."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("GOLDEN") == "update":
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"differs from {path.name}; GOLDEN=update rewrites it"

    return check


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A scenario file that runs in a moment."""
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def take_signals() -> None:
    """For a new process: whoever started the tests in the background may have made it deaf to Ctrl-C and others."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def peer(*programs: str) -> str:
    """The path of the first of `programs` that is installed; without one the test is skipped.

    With EARLYDROP_REQUIRE_PEERS=1 it fails instead, so that a machine which should have them cannot pass without.
    """
    for program in programs:
        found = shutil.which(program)
        if found:
            return found
    reason = f"{' or '.join(programs)} is not installed; validation/peers/install.sh installs it"
    if os.environ.get("EARLYDROP_REQUIRE_PEERS") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture(autouse=True)
def _no_axes_cut_what_they_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every figure that a test writes is looked at. Those of other processes are not: `artists(1, ...)` has none."""
    from earlydrop.render import plotting

    write = plotting.files

    def looked_at(drawing: Any, note: str, formats: Any) -> list[bytes]:
        written = write(drawing, note, formats)
        assert not cut(drawing)
        return written

    monkeypatch.setattr(plotting, "files", looked_at)


SMALL = Path(__file__).parent / "studies" / "small"
"""A study of nothing that has every part of the format, and runs in a moment."""

LEVELS = {
    "throughput": {"low": 13.8, "moderate": 15.9, "high": 16.4},
    "delay": {"low": 57.0, "moderate": 70.0, "high": 81.0},
}
EFFECTS = {
    "throughput": {"low": -0.2, "moderate": 0.06, "high": 0.1},
    "delay": {"low": 2.0, "moderate": -3.6, "high": -5.3},
}


def part_of(study: studies.Study, experiment: str) -> studies.Study:
    """One experiment of a study, with the claims that are judged on it alone."""
    claims = tuple(c for c in study.claims if c.parts and all(p.experiment == experiment for p in c.parts))
    kept = tuple(e for e in study.experiments if e.id == experiment)
    return replace(study.with_experiments(kept), claims=claims, tables=(), figures=())


def outcome(study: studies.Study, *, effect: float = 1.0, noise: float = 1.0) -> studies.Outcome:
    """What the study `tred` might give: the paper's effects times `effect`, under noise that is partly shared by seed.

    With `effect` 0 and `noise` 1 both disciplines are the same in distribution; what differs is chance.
    """
    values: dict[str, dict[tuple[str, ...], dict[str, list[float | None]]]] = {}
    for e in study.experiments:
        seeds = range(e.first_seed, e.first_seed + e.seeds)
        values[e.id] = {
            cell: {
                name: [_value(name, dict(zip(e.names, cell, strict=True)), s, effect, noise) for s in seeds]
                for name in e.measures
            }
            for cell in e.cells
        }
    return studies.Outcome(study, values, cost={"runs": 0.0, "made": 0.0, "run_wall_s": 0.0})


_normal = functools.cache(lambda of: random.Random(of).gauss(0, 1))


def _value(measure: str, at: dict[str, str], seed: int, effect: float, noise: float) -> float | None:
    load, aqm = at.get("load", "moderate"), at["aqm"]
    if measure == "average" and aqm == "droptail":
        return None
    if measure == "gain":
        own, red = (_value("throughput", {**at, "aqm": one}, seed, effect, noise) for one in (aqm, "red"))
        return 100 * (own / red - 1) if own and red else None
    level = LEVELS.get(measure, {}).get(load, 40.0)
    shared = 0.002 * _normal(f"{at['network']} {load} {measure} {seed}")
    own = 0.001 * _normal(f"{' '.join(at.values())} {measure} {seed}")
    moved = effect * EFFECTS.get(measure, {}).get(load, 0.0) if aqm == "tred" else 0.0
    return level * (1 + shared + noise * own) + moved
