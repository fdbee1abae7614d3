"""What a sweep costs beside the engine, and what a second core and a cluster gain.

    python benches/sweep.py [--runs 1000] [--cluster]

Two cases: case A of the speed cases cut to 80 s, and runs of about a millisecond. Each is swept on one thread and on
two, with `--cluster` on two worker processes too, into an empty store. Overhead is by processor time, so that the
machine's other work counts little: of the process from the reading of the file to the written tables, less that of
the engine within the same threads, over the latter. Store and statistics are in it. Each sweep is a fresh process.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

CASES = {"long": (80, 100, 1), "short": (4, 10, 10)}
"""Simulated seconds, flows, and how many times more runs."""


def document(case: str, runs: int) -> dict[str, Any]:
    from earlydrop import bench_cases

    duration, flows, _ = CASES[case]
    base = next(c for c in bench_cases.BASES if c.name == "A")
    factor = {"path": "queue.bottleneck.max_p", "range": [0.05, 0.15], "steps": max(2, runs // 10)}
    scenario = replace(base, duration_s=duration, flows=flows).document()
    return {"name": case, "seeds": 10, "scenario": scenario, "factor": [factor]}


def measure(case: str, runs: int, workers: int, address: str, folder: Path) -> dict[str, float]:
    """One sweep, in this process."""
    from earlydrop import _core, sweeps
    from earlydrop.sweeps import parser, text

    asked = parser.parse_document(document(case, runs), Path(case))
    spent_in_engine: list[float] = []
    run_batch = _core.run_batch

    def timed(jobs: Any) -> Any:
        begin = time.thread_time()
        try:
            return run_batch(jobs)
        finally:
            spent_in_engine.append(time.thread_time() - begin)

    _core.run_batch = timed
    begin, wall = time.process_time(), time.monotonic()
    asked = parser.parse_document(document(case, runs), Path(case))
    planned = sweeps.plan(asked)
    executor = sweeps.Cluster(asked.document, address) if address else sweeps.Threads(asked.document, workers)
    found = sweeps.run(planned, sweeps.open_store(folder / "store"), executor)
    (folder / "out").mkdir()
    text.write(folder / "out", found, "")
    spent, wall = time.process_time() - begin, time.monotonic() - wall
    executor.close()
    assert found.tally.made == planned.runs
    engine = sum(spent_in_engine) / planned.runs
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"runs": planned.runs, "engine_s": engine, "cpu_s": spent, "wall_s": wall, "memory_mb": memory}


def fresh(case: str, runs: int, workers: int, address: str = "") -> dict[str, float]:
    """The same in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        one = [case, str(runs), str(workers), address, folder]
        made = subprocess.run([sys.executable, __file__, "--one", *one], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(made.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--cluster", action="store_true")
    parser.add_argument("--one", nargs=5)
    given = parser.parse_args()
    if given.one:
        case, runs, workers, address, folder = given.one
        print(json.dumps(measure(case, int(runs), int(workers), address, Path(folder))))
        return
    print("| case | runs | workers | engine, ms a run | overhead | wall, s | of one worker | memory, MB |")
    print("|---|---|---|---|---|---|---|---|")
    for case, (_, _, times) in CASES.items():
        runs = given.runs * times
        fresh(case, 100, 2)  # everything is in the page cache now
        first = 0.0
        for count, workers in ((runs // 10, 2), (runs, 1), (runs, 2)):
            found = fresh(case, count, workers)
            first = found["wall_s"] if (count, workers) == (runs, 1) else first
            _row(case, found, str(workers), first if count == runs else 0.0)
        if given.cluster:
            from distributed import LocalCluster

            with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
                found = fresh(case, runs, 2, cluster.scheduler_address)
            _row(case, found, "2 processes", first)


def _row(case: str, found: dict[str, float], workers: str, first: float) -> None:
    # The processor time of a cluster's workers is not seen here.
    far = workers.startswith("2 p")
    overhead = 0.0 if far else found["cpu_s"] / (found["runs"] * found["engine_s"]) - 1
    shown, engine = ("", "") if far else (f"{100 * overhead:.1f} %", f"{1e3 * found['engine_s']:.2f}")
    gain = "" if not first else f"{first / found['wall_s']:.2f}"
    print(
        f"| {case} | {found['runs']:,.0f} | {workers} | {engine} | {shown} | {found['wall_s']:.1f} | "
        f"{gain} | {found['memory_mb']:.0f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
