"""Runs a sweep: what the store lacks, and more seeds where a rule for stopping asks for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..store import Store, engine, open_store
from .execute import Estimate, Runs, Tally
from .executors import Cluster, Executor, Threads
from .outcome import collect, wanted_seeds
from .parser import parse_document, parse_file
from .plan import Plan, plan
from .shown import Swept, shown


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
