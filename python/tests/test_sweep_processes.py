"""Sweeps in several processes: shared stores, kills, a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest
from conftest import take_signals

import small_sweep
from earlydrop import cli, store

# Runs go into the store often. With HOLD a sweep stops after a hundred runs, until it is killed or interrupted, so that
# no fast machine can have ended it before.
COMMAND = """
import os, sys, time
from pathlib import Path
from earlydrop import cli
from earlydrop.sweeps import execute
from earlydrop.sweeps import report
execute.FLUSH_S, execute.BATCH_S = 0.2, 0.05
report.write_report = lambda *_: None
take_in = execute.Runs._take_in
def hold(self, patience_s):
    take_in(self, patience_s)
    if self.tally.made >= 100 and not Path("held").exists():
        self._flush()
        Path("held").touch()
        time.sleep(600)
if "HOLD" in os.environ:
    execute.Runs._take_in = hold
sys.exit(cli.main(sys.argv[1:]))
"""


SEEDS, RUNS = 150, 600


def write(folder: Path, seeds: int = SEEDS) -> None:
    scenario = small_sweep.scenario(duration_s=20, flows=5, rate_mbps=4)
    (folder / small_sweep.FILE).write_text(scenario, encoding="utf-8")
    (folder / "many.toml").write_text(small_sweep.sweep(seeds, [0.02, 0.05, 0.1, 0.2]), encoding="utf-8")


def start(folder: Path, out: str, *more: str, hold: bool = False) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", COMMAND, "sweep", "many.toml", "--out", out, "--store", "store", *more]
    env = os.environ | ({"HOLD": "yes"} if hold else {})
    pipe = subprocess.PIPE
    # Windows has no such functions.
    before = take_signals if os.name == "posix" else None
    return subprocess.Popen(command, cwd=folder, text=True, stdout=pipe, stderr=pipe, env=env, preexec_fn=before)


def finish(process: subprocess.Popen[str]) -> str:
    """What it prints, once it has ended well."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == cli.DONE, err
    return err + out


def parts(folder: Path) -> int:
    place = folder / "store" / "parts"
    return len(list(place.glob("[!.]*.parquet"))) if place.exists() else 0


def wait(process: subprocess.Popen[str], until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 100
    while not until() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert process.poll() is None, "ended before it could be killed"
    assert until()


def wait_for_hold(folder: Path, process: subprocess.Popen[str]) -> None:
    wait(process, lambda: (folder / "held").exists())


def whole(folder: Path) -> None:
    """Every run once, as the parts themselves say, and nothing wrong."""
    table = pl.concat(
        [pl.read_parquet(p, columns=list(store.KEYS)) for p in (folder / "store" / "parts").glob("[!.]*.parquet")]
    )
    assert len(table) == len(table.unique()) == RUNS
    assert [p for p in store.open_store(folder / "store").verify() if not p.harmless] == []


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The table of the same sweep in one go."""
    folder = tmp_path_factory.mktemp("once")
    write(folder)
    assert cli.main(["sweep", str(folder / "many.toml"), "--out", str(folder / "out")]) == cli.DONE
    return (folder / "out" / "runs.parquet").read_bytes()


def test_two_processes_share_a_store(tmp_path: Path, reference: bytes) -> None:
    write(tmp_path)
    both = [start(tmp_path, out) for out in ("one", "two")]
    for process in both:
        finish(process)
    whole(tmp_path)
    for out in ("one", "two"):
        assert (tmp_path / out / "runs.parquet").read_bytes() == reference
    assert list((tmp_path / "store" / "claims").iterdir()) == []


def test_a_killed_sweep_goes_on_where_it_was(tmp_path: Path, reference: bytes) -> None:
    write(tmp_path)
    process = start(tmp_path, "out", hold=True)
    wait_for_hold(tmp_path, process)
    process.kill()
    process.communicate()
    before = len(store.open_store(tmp_path / "store").table())
    assert 0 < before < RUNS
    finish(start(tmp_path, "out"))
    whole(tmp_path)
    assert json.loads((tmp_path / "out" / "sweep.json").read_text())["runs"] == RUNS
    assert (tmp_path / "out" / "runs.parquet").read_bytes() == reference


def test_what_a_killed_process_had_claimed_is_made_by_the_other(tmp_path: Path) -> None:
    write(tmp_path)
    first = start(tmp_path, "one", hold=True)
    wait_for_hold(tmp_path, first)
    before = parts(tmp_path)
    second = start(tmp_path, "two")
    # It cannot end while the other lives: that has claimed some.
    wait(second, lambda: parts(tmp_path) > before)
    first.kill()
    first.communicate()
    finish(second)
    whole(tmp_path)


def test_an_interrupted_sweep_keeps_what_it_made(tmp_path: Path) -> None:
    write(tmp_path)
    process = start(tmp_path, "out", hold=True)
    wait_for_hold(tmp_path, process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == cli.INTERRUPTED
    assert "the same command goes on from there" in err
    assert not (tmp_path / "out").exists()
    kept = len(store.open_store(tmp_path / "store").table())
    assert 0 < kept < RUNS
    # It may have come between a part and its line in the manifest: the part counts, and is entered by who looks.
    assert all(problem.harmless for problem in store.open_store(tmp_path / "store").verify())
    assert store.open_store(tmp_path / "store").verify() == []
    assert len(store.open_store(tmp_path / "store").table()) == kept


# ---- a cluster -----------------------------------------------------------------------------------------------------

CLUSTER = """
import sys, time
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    pids = [nanny.pid for nanny in cluster.workers.values()]
    print(cluster.scheduler_address, *pids, flush=True)
    sys.stdin.read()
    cluster.close()
"""


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[int]]]:
    script = folder / "cluster.py"
    script.write_text(CLUSTER, encoding="utf-8")
    with (folder / "cluster.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, str(script)],
            cwd=folder,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    assert process.stdout is not None
    address, *pids = process.stdout.readline().split()
    try:
        yield address, [int(pid) for pid in pids]
    finally:
        try:
            process.communicate("", timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def test_a_cluster_gives_the_same_and_survives_kills(tmp_path: Path, reference: bytes) -> None:
    pytest.importorskip("distributed")
    write(tmp_path)
    with cluster(tmp_path) as (address, pids):
        process = start(tmp_path, "out", "--cluster", address, hold=True)
        wait(process, lambda: parts(tmp_path) > 0)
        os.kill(pids[0], signal.SIGKILL)
        wait_for_hold(tmp_path, process)
        process.kill()
        process.communicate()
        before = len(store.open_store(tmp_path / "store").table())
        assert 0 < before < RUNS
        assert "failed" not in finish(start(tmp_path, "out", "--cluster", address))
    whole(tmp_path)
    assert (tmp_path / "out" / "runs.parquet").read_bytes() == reference


def test_a_cluster_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    write(tmp_path, 1)
    assert distributed is not None
    code = (
        "import sys; from earlydrop import cli; from earlydrop.sweeps import executors; "
        "executors.Cluster.__init__.__defaults__ = (1.0,); sys.exit(cli.main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "sweep", "many.toml", "--cluster", "tcp://127.0.0.1:9"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert found.returncode == cli.WRONG_INPUT
    assert "--cluster tcp://127.0.0.1:9: no scheduler answers there" in found.stderr
