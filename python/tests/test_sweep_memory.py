"""The memory of a sweep hardly grows with the number of its runs."""

from __future__ import annotations

import sys
import tomllib
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import dumbbell

from earlydrop import _core, store, streamed, sweeps
from earlydrop.sweeps import execute, outcome, parser, report, text

SWEEP = f"""
seeds = SEEDS
measures = ["goodput", "queue_delay", "jain"]
control = {{ aqm = "red" }}
where = "max_p > 0.02"
design = {{ kind = "random", points = POINTS, cross = ["aqm"] }}
[[factor]]
name = "aqm"
path = "queue.bottleneck.aqm"
values = ["red", "nlred"]
[[factor]]
path = "queue.bottleneck.max_p"
range = [0.01, 0.5]
[scenario]
duration = "1 s"
traffic = [{{ kind = "ftp", start = {{ uniform = ["0 s", "0.5 s"] }} }}]
{dumbbell("red", 30, pairs=2, of="scenario.")}
"""


class Engine:
    """Gives the columns of one real run again and again, with some noise on the measures."""

    def __init__(self, scenario: _core.Scenario) -> None:
        self.columns, _, failures = _core.run_batch([(scenario, 1)])
        assert not failures

    def __call__(self, jobs: list[Any]) -> Any:
        count = len(jobs)
        columns = []
        for path, kind, _, lengths, values, texts in self.columns:
            made = values * count
            if kind == "real":
                noise = np.array([1 + seed % 7 + len(jobs) % 3 for _, seed in jobs])
                made = (np.frombuffer(made) * np.repeat(noise, len(values) // 8)).tobytes()
            rows = np.arange(count, dtype=np.uint32).tobytes()
            columns.append((path, kind, rows, None if lengths is None else lengths * count, made, texts))
        return columns, np.full(count, 1e-3).tobytes(), []


def peak(points: int, seeds: int, folder: Path) -> tuple[int, int]:
    """Runs of such a sweep, and the most bytes that Python and NumPy had in use at once while it was made."""
    document = tomllib.loads(SWEEP.replace("SEEDS", str(seeds)).replace("POINTS", str(points)))
    folder.mkdir()
    tracemalloc.start()
    try:
        asked = parser.parse_document(document, Path("x.toml"))
        planned = sweeps.plan(asked)
        executor = sweeps.Threads(asked.document, 1)
        found = sweeps.run(planned, store.open_store(folder / "store"), executor)
        executor.close()
        assert found.tally.made == planned.runs
        text.write(folder, found, "")
        data = report.read_data(folder)
        assert data.count == len(asked.points)
        return planned.runs, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("points", "seeds", "bytes_a_run"), [(100, 1, 1500), (12, 20, 500)])
def test_memory_hardly_grows_with_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, points: int, seeds: int, bytes_a_run: int
) -> None:
    # About 100 bytes a run are expected; what happens to be held at the time may be 200 kB more. With objects for every
    # point, cell and run it would be 15,000 bytes in the first case and 1,000 in the second.
    # Everything that is held for a while is full with few runs already, so that only what grows is seen.
    monkeypatch.setattr(execute, "FLUSH_BYTES", 1 << 16)
    monkeypatch.setattr(execute, "MOST_RUNS", 40)
    for module in (execute, sys.modules[sweeps.Plan.__module__]):
        monkeypatch.setattr(module, "PIECE", 64)
    monkeypatch.setattr(outcome, "PIECE", 16)
    monkeypatch.setattr(text, "GROUP", 32)
    monkeypatch.setattr(streamed, "PIECE", 1 << 12)
    asked = parser.parse_document(tomllib.loads(SWEEP.replace("SEEDS", "1").replace("POINTS", "1")), Path("x.toml"))
    monkeypatch.setattr(_core, "run_batch", Engine(_core.Scenario.parse(asked.document, asked.points[0].sets)))
    # Python keeps some of what it has used for later use; after this there is enough of it.
    peak(4 * points, seeds, tmp_path / "first")
    few, low = peak(points, seeds, tmp_path / "few")
    many, high = peak(4 * points, seeds, tmp_path / "many")
    assert many > 3.5 * few
    assert (high - low) / (many - few) < bytes_a_run


class Watched:
    """An executor that notes how many batches it has at once."""

    def __init__(self, inner: sweeps.Threads) -> None:
        self.inner, self.slots = inner, inner.slots
        self.now = self.most = self.all = 0

    def submit(self, number: int, tasks: Any) -> None:
        self.now, self.all = self.now + 1, self.all + 1
        self.most = max(self.most, self.now)
        self.inner.submit(number, tasks)

    def next(self, timeout_s: float) -> Any:
        found = self.inner.next(timeout_s)
        self.now -= found is not None
        return found

    def close(self) -> None:
        self.inner.close()


def test_few_batches_are_handed_out_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "MOST_RUNS", 3)
    monkeypatch.setattr(execute, "PILOTS", 2)
    asked = parser.parse_document(tomllib.loads(SWEEP.replace("SEEDS", "6").replace("POINTS", "20")), Path("x.toml"))
    executor = Watched(sweeps.Threads(asked.document, 2))
    sweeps.run(sweeps.plan(asked), store.open_store(tmp_path), executor)
    executor.close()
    assert executor.all > 40
    assert executor.most <= 2 * executor.slots, "one for each worker, and one that waits for it"
