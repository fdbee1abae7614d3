"""Runs a sweep: what the store lacks, more seeds where a rule for stopping asks for them, and its window."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from .. import runner
from ..analysis import round_trips, window
from ..analysis.window import WATCHED, Recording, Window
from ..runner import Job
from ..store import Store, engine, open_store
from .execute import Estimate, Runs, Tally
from .executors import Cluster, Executor, Threads
from .model import Sweep
from .outcome import collect, wanted_seeds
from .parser import parse_document, parse_file
from .plan import Plan, plan
from .shown import Swept, shown

WATCHED_POINTS = 8
"""The most points that are run again and recorded, to judge the window."""


def run(
    planned: Plan,
    store: Store,
    executor: Executor,
    *,
    tell: Callable[[Tally], None] = lambda _: None,
    told: Callable[[Estimate], None] | None = None,
) -> Swept:
    """Make the runs that the store lacks, read all results.

    With a rule for stopping, more seeds are run until every point has enough. `told` hears the estimate after the first
    few runs and may raise `Stop`.

    Raises:
        StoreError: the store cannot be read or written.
        SweepError: the cluster is gone.
    """
    total = Tally(0)
    first = True
    while True:
        runs = Runs(planned, store, executor, tell)
        tally = runs.make(told if first else None)
        total = (
            tally
            if first
            else replace(
                tally,
                found=total.found,
                made=total.made + tally.made,
                shared=total.shared + tally.shared,
                engine_s=total.engine_s + tally.engine_s,
                begin=total.begin,
            )
        )
        outcome = collect(planned, store, total, engine())
        if planned.sweep.stop is None:
            return shown(outcome)
        counts = wanted_seeds(outcome)
        if (counts == planned.counts).all() or tally.done < tally.total:
            return shown(outcome)
        planned, first = replace(planned, counts=counts), False


def judge_warmups(planned: Plan, workers: int | None = None) -> dict[int, Window]:
    """The window at a few points spread over the sweep, its ends at least: a hundredth of all runs, made once more."""
    sweep = planned.sweep
    count = min(max(2, min(WATCHED_POINTS, planned.runs // 300)), len(sweep.points))
    chosen = sorted({round(k * (len(sweep.points) - 1) / max(1, count - 1)) for k in range(count)})
    jobs, places = [], []
    for k in chosen:
        plain = scenario(sweep, k)
        seen, _ = window.watched(plain, sweep.document, sweep.points[k].sets)
        first = int(planned.first[k])
        seeds = range(first, first + min(WATCHED, int(planned.counts[k])))
        jobs += [Job(seen, seed, partial(_recording, sweep.queue)) for seed in seeds]
        places += [k] * len(seeds)
    try:
        made: list[Recording] = runner.run_all(jobs, workers=workers)
    except runner.RunError:
        # The sweep reports a run that fails.
        return {}
    found: dict[int, Window] = {}
    for k in chosen:
        runs = [one for one, place in zip(made, places, strict=True) if place == k]
        round_trip = round_trips.base(sweep.document, sweep.queue, sweep.points[k].sets)
        judged = window.judge(runs, round_trip)
        if judged is not None:
            found[k] = judged
    return found


def _recording(queue: str, text: str) -> Recording:
    return window.recording(json.loads(text), queue)


def scenario(sweep: Sweep, point: int) -> Any:
    """The checked scenario of a point."""
    import earlydrop._core as _core

    return _core.Scenario.parse(sweep.document, sweep.points[point].sets)


def sweep(
    document: dict[str, Any] | str | Path,
    *,
    store: str = "out/store",
    workers: int | None = None,
    cluster: str | None = None,
) -> Swept:
    """Run a sweep, given as a file or a document, and return what it found.

    Raises:
        SweepError: the sweep is wrong; the message names every mistake.
        StoreError: the store cannot be used.
    """
    if isinstance(document, dict):
        asked = parse_document(document, Path("sweep"), store=store)
    else:
        asked = parse_file(Path(document), store=store)
    planned = plan(asked)
    executor: Executor = Cluster(asked.document, cluster) if cluster else Threads(asked.document, workers)
    try:
        return run(planned, open_store(asked.store), executor)
    finally:
        executor.close()
