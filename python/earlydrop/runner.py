"""Runs simulations on threads: the engine releases Python's interpreter lock while it runs.

Results are returned in the order of the jobs, not of completion, so they do not depend on the number of workers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from .errors import FAILED, EarlydropError

if TYPE_CHECKING:
    from concurrent.futures import Future

    import earlydrop._core as _core

T = TypeVar("T")
Progress = Callable[[int, int, str], None]
"""A function that is called with (done, total, what is going on), from the thread that asked for the runs."""


class Runnable(Protocol):
    """What the runner needs of a scenario."""

    @property
    def name(self) -> str: ...

    def run(self, seed: int | None = None) -> str: ...


@dataclass(frozen=True)
class Job:
    """One run: a scenario and its seed."""

    scenario: Runnable
    seed: int | None = None
    reduce: Callable[[str], Any] | None = None
    """Reduces its result document to what is kept, instead of the function that `run_all` has for all jobs."""


class RunError(EarlydropError):
    """A run failed. The message names the scenario and the seed."""

    exit_code = FAILED


def cores() -> int:
    """Processor cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def no_progress(done: int, total: int, what: str) -> None:
    """Shows no progress."""


def run_all(
    jobs: Sequence[Job],
    reduce: Callable[[str], T] = json.loads,
    *,
    workers: int | None = None,
    progress: Progress = no_progress,
    label: str = "runs",
) -> list[T]:
    """Run every job and return `reduce(result document)` of each, in the order of the jobs.

    `reduce` runs on the worker's thread and should keep little: the documents themselves are not kept. The first
    failure, or an interruption, cancels what has not started and is raised.
    """
    from concurrent.futures import ThreadPoolExecutor

    total = len(jobs)
    progress(0, total, label)
    results: list[Any] = [None] * total
    pool = ThreadPoolExecutor(max_workers=workers or cores(), thread_name_prefix="run")
    finished: SimpleQueue[tuple[int, Future[T]]] = SimpleQueue()
    try:
        for index, job in enumerate(jobs):
            future = pool.submit(_run, job, reduce)
            future.add_done_callback(partial(_report, finished, index))
        for done in range(1, total + 1):
            index, future = finished.get()
            results[index] = future.result()
            progress(done, total, label)
    except BaseException:
        # Runs that have begun cannot be stopped from here; do not wait for them.
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    return results


def _report(finished: SimpleQueue[tuple[int, Future[T]]], index: int, future: Future[T]) -> None:
    finished.put((index, future))


def _run(job: Job, reduce: Callable[[str], T]) -> T:
    text = _said(lambda: job.scenario.run(job.seed), job.scenario.name, job.seed)
    return (job.reduce or reduce)(text)


def _said(run: Callable[[], T], name: str, seed: int | None) -> T:
    """The value that `run` returns; an error says which run failed."""
    try:
        return run()
    except Exception as error:
        which = "" if seed is None else f", seed {seed}"
        raise RunError(f"run failed ({name}{which}): {error}") from error


def outcome(scenario: _core.Scenario, seed: int | None = None) -> _core.Outcome:
    """Run once, on a thread of its own, so that the calling thread can still be interrupted."""
    ended: SimpleQueue[_core.Outcome | BaseException] = SimpleQueue()

    def run() -> None:
        try:
            ended.put(_said(lambda: scenario.outcome(seed), scenario.name, seed))
        except BaseException as error:
            ended.put(error)

    Thread(target=run, name="run").start()
    found = ended.get()
    if isinstance(found, BaseException):
        raise found
    return found


def seeds(first: int, count: int) -> Iterable[int]:
    """`count` consecutive seeds."""
    return range(first, first + count)
