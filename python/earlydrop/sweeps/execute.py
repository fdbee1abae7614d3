"""Makes the runs that are missing in a store: in batches, on any executor, in parallel with other processes."""

from __future__ import annotations

import contextlib
import time
from bisect import insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..store import Folder, Run, Store
from . import work
from .executors import Executor
from .plan import PIECE, Array, Points

if TYPE_CHECKING:
    from .work import Done, Task

BATCH_S = 0.4
"""Intended duration of a batch: long compared with the cost of submitting one, short compared with the sweep."""
TASK_S, SHARE = 7e-3, 0.25
"""Processor time that a batch costs the calling process and Dask's scheduler, s, and the share of their time that
batches may take: with many workers batches last longer. docs/clusters.md has the measurement."""
MOST_RUNS = 5000
"""Most runs of a batch."""
FLUSH_S, FLUSH_BYTES = 5.0, 8 << 20
"""Time and number of bytes after which finished runs are written to the store together."""
PILOTS = 16
"""Runs that are made first, to estimate the cost of the rest."""
KEPT_FAILURES = 1000
"""The first failures, by point and seed, are kept with their reasons; the others are only counted."""

OPEN, OUT, DONE, FAILED = 0, 1, 2, 3


@dataclass(frozen=True)
class Failure:
    """A run that failed."""

    point: int
    seed: int
    reason: str


@dataclass
class Tally:
    """Progress of a sweep."""

    total: int
    """Number of runs of the sweep; equal runs count once."""
    found: int = 0
    """Number of runs found in the store."""
    made: int = 0
    """Number of runs made by this process."""
    shared: int = 0
    """Number of runs that other processes added to the store meanwhile."""
    failed: int = 0
    failures: list[Failure] = field(default_factory=list)
    engine_s: float = 0.0
    """Engine time, summed over all threads."""
    begin: float = field(default_factory=time.monotonic)

    @property
    def done(self) -> int:
        """Runs that are finished."""
        return self.found + self.made + self.shared + self.failed

    @property
    def elapsed_s(self) -> float:
        """Wall time so far."""
        return time.monotonic() - self.begin

    @property
    def rate(self) -> float:
        """Runs per second of this process so far."""
        return (self.made + self.failed) / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """Estimated remaining time."""
        return (self.total - self.done) / self.rate if self.rate > 0 else None


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of a sweep, from its first runs."""

    runs: int
    missing: int
    run_s: float
    workers: int
    row_bytes: float

    @property
    def wall_s(self) -> float:
        """Estimated duration."""
        return self.missing * self.run_s / self.workers

    @property
    def size(self) -> float:
        """Estimated growth of the store, bytes."""
        return self.missing * self.row_bytes


class Stop(Exception):
    """Raised by a callback that receives the estimate, to make no more runs."""


Tell = Callable[[Tally], None]
Told = Callable[[Estimate], None]


class Runs:
    """The runs that a store lacks, and the batches they are made in."""

    def __init__(self, plan: Points, store: Store, executor: Executor, tell: Tell) -> None:
        self.plan, self.store, self.executor, self.tell = plan, store, executor, tell
        self._rows = plan.rows
        self._state = np.full(self._rows.total, OPEN, np.uint8)
        store.look()
        for start, keys, seeds in self._rows.pieces():
            self._state[start : start + len(seeds)][store.find(keys, seeds) >= 0] = DONE
        self.missing = int(np.count_nonzero(self._state == OPEN))
        """Number of runs that the store lacked."""
        self._open = self.missing
        self.tally = Tally(self._rows.total, found=self._rows.total - self.missing)
        self._others_put = False
        self._next = 0
        self._batches: dict[int, Array] = {}
        self._number = 0
        self._buffer: list[work.Done] = []
        self._bytes, self._flushed, self._flush_s = 0, time.monotonic(), FLUSH_S
        self._run_s = 0.0
        self._row_bytes, self._looked = 0.0, 0.0

    def make(self, told: Told | None = None) -> Tally:
        """Make the missing runs. `told` is called with the estimate after the first few.

        Raises:
            StoreError: runs cannot be put into the store.
            SweepError: the cluster is lost, or its workers have another version of the engine.
        """
        self.tell(self.tally)
        try:
            if self.missing:
                self._pilot()
            if told is not None:
                self._flush()
                told(self._estimate())
            while True:
                self._hand_out()
                if not self._batches and not self._open:
                    break
                self._take_in(0.5 if self._batches else 0.2)
            self._flush()
            self.store.tidy()
        except Stop:
            self._flush()
        except KeyboardInterrupt:
            # Finished runs are stored all the same.
            with contextlib.suppress(Exception):
                self._flush()
            raise
        finally:
            if self.store.claims is not None:
                self.store.claims.close()
        return self.tally

    # ---- handing out ---------------------------------------------------------------------------------------------

    def _pilot(self) -> None:
        """Make a few runs spread over the sweep, one a batch."""
        spread = np.unique(np.linspace(0, self.missing - 1, min(PILOTS, self.missing)).astype(int))
        before, chosen = 0, []
        for rows in self._open_rows():
            here = spread[(spread >= before) & (spread < before + len(rows))]
            chosen.append(rows[here - before])
            before += len(rows)
        for row in self._claim(lambda others: self._free(np.concatenate(chosen), others)):
            self._submit(np.array([row]))
        while self._batches:
            self._take_in(0.5)

    def _hand_out(self) -> None:
        """Submit batches until every worker has one running and one waiting."""
        while self._open and len(self._batches) < 2 * self.executor.slots:
            count = self._size()
            rows = self._claim(lambda others, count=count: self._next_free(count, others))  # type: ignore[misc]
            if not len(rows):
                return
            self._submit(rows)

    def _size(self) -> int:
        """Size of the next batch: some tenths of a second, less towards the end so that all workers finish together."""
        left = self.tally.total - self.tally.done
        batch_s = max(BATCH_S, self.executor.slots * TASK_S / SHARE)
        by_time = batch_s / self._run_s if self._run_s > 0 else 1
        return int(max(1, min(by_time, left / (4 * self.executor.slots), MOST_RUNS)))

    def _open_rows(self) -> Iterator[Array]:
        """The rows that are not known to be made by any process, in pieces."""
        for start in range(self._next, len(self._state), PIECE):
            rows = np.flatnonzero(self._state[start : start + PIECE] == OPEN) + start
            if len(rows):
                yield rows

    def _claim(self, choose: Callable[[set[Run]], Array]) -> Array:
        """Claim rows that `choose` finds free, given the claims of other processes."""
        if self.store.claims is None or not isinstance(self.store.files, Folder):
            if self._looks_now():
                self._others_put |= bool(self.store.look())
            return choose(set())
        with self.store.files.lock():
            self._others_put |= bool(self.store.look())
            rows = choose(self.store.claims.others())
            if len(rows):
                self.store.claims.add(self._names(rows))
        return rows

    def _next_free(self, count: int, others: set[Run]) -> Array:
        """At most `count` next rows that no process has made or is making."""
        found: list[Array] = []
        got, skipped = 0, True
        for rows in self._open_rows():
            if skipped:
                # All earlier rows are made or claimed.
                self._next, skipped = int(rows[0]), False
            for start in range(0, len(rows), count):
                free = self._free(rows[start : start + count], others)[: count - got]
                found.append(free)
                got += len(free)
                if got == count:
                    return np.concatenate(found)
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def _free(self, rows: Array, others: set[Run]) -> Array:
        """The given rows that no process has made or is making; runs that others stored are marked."""
        if self._others_put:
            points, seeds = self._rows.of(rows)
            there = self.store.find(self.plan.words[points], seeds) >= 0
            self._mark(rows[there], DONE)
            self.tally.shared += int(there.sum())
            rows = rows[~there]
        if others:
            rows = rows[[name not in others for name in self._names(rows)]]
        return rows

    def _looks_now(self) -> bool:
        """Whether to look for runs of other processes: at an address without locks, from time to time."""
        now = time.monotonic()
        if now - self._looked < FLUSH_S:
            return False
        self._looked = now
        return True

    def _names(self, rows: Array) -> list[Run]:
        points, seeds = self._rows.of(rows)
        keys = {k: self.plan.keys[k] for k in np.unique(points).tolist()}
        return [(keys[k], seed) for k, seed in zip(points.tolist(), seeds.tolist(), strict=True)]

    def _mark(self, rows: Array, state: int) -> None:
        self._open -= int(np.count_nonzero(self._state[rows] == OPEN))
        self._state[rows] = state

    def _submit(self, rows: Array) -> None:
        self._mark(rows, OUT)
        self._number += 1
        self._batches[self._number] = rows
        self.executor.submit(self._number, self._tasks(rows))

    def _tasks(self, rows: Array) -> list[Task]:
        tasks: list[Task] = []
        before = -1
        for point, seed in zip(*(of.tolist() for of in self._rows.of(rows)), strict=True):
            if point == before:
                tasks[-1] = (tasks[-1][0], (*tasks[-1][1], seed))
            else:
                tasks.append((self.plan.source(point), (seed,)))
            before = point
        return tasks

    # ---- taking in -----------------------------------------------------------------------------------------------

    def _take_in(self, patience_s: float) -> None:
        """Wait for a batch; write results to the store that have waited long enough."""
        finished = self.executor.next(patience_s)
        if finished is not None:
            number, gave = finished
            rows = self._batches.pop(number)
            if isinstance(gave, BaseException):
                self._broken(rows, gave)
            else:
                self._keep(rows, gave)
        now = time.monotonic()
        if self._buffer and (now - self._flushed > self._flush_s or self._bytes > FLUSH_BYTES):
            self._flush()
        self.tell(self.tally)

    def _keep(self, rows: Array, done: Done) -> None:
        tasks = self._tasks(rows)
        starts = np.concatenate([[0], np.cumsum([len(seeds) for _, seeds in tasks])])
        failed = set()
        for number, seed, reason in done.failures:
            row = int(rows[starts[number] + tasks[number][1].index(seed)])
            failed.add(row)
            self._fail(row, reason)
        good = rows[[r not in failed for r in rows.tolist()]] if failed else rows
        self._mark(good, DONE)
        self.tally.made += len(good)
        spent = float(sum(done.wall_s))
        self.tally.engine_s += spent
        if len(good):
            mean = spent / len(good)
            self._run_s = mean if self._run_s == 0 else 0.8 * self._run_s + 0.2 * mean
            self._buffer.append(done)
            self._bytes += done.size

    def _broken(self, rows: Array, error: BaseException) -> None:
        """A batch that failed as a whole: make its runs one by one, to find the cause."""
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise error
        if len(rows) > 1:
            for row in rows:
                self._submit(np.array([row]))
            return
        self._fail(int(rows[0]), f"{type(error).__name__}: {error}")

    def _fail(self, row: int, reason: str) -> None:
        self._mark(np.array([row]), FAILED)
        self.tally.failed += 1
        # Failures are in the order of points and seeds, not of completion.
        failures = self.tally.failures
        point, seed = (int(of[0]) for of in self._rows.of(np.array([row])))
        one = Failure(point, seed, reason)
        insort(failures, one, key=lambda failure: (failure.point, failure.seed))
        del failures[KEPT_FAILURES:]

    def _flush(self) -> None:
        """Write the finished runs to the store, as one part."""
        if self._buffer:
            frame = work.frame(self._buffer)
            self.store.add(frame)
            self._row_bytes = self._bytes / max(1, len(frame))
        self._buffer, self._bytes, self._flushed = [], 0, time.monotonic()
        # A long sweep makes at most some hundreds of parts.
        self._flush_s = max(FLUSH_S, self.tally.elapsed_s / 100)
        if self.store.claims is not None and isinstance(self.store.files, Folder):
            out = [run for rows in self._batches.values() for run in self._names(rows)]
            with self.store.files.lock():
                self.store.claims.set(out)

    def _estimate(self) -> Estimate:
        # Parquet compresses the rows to about a third of their size in memory.
        row = self._row_bytes / 3
        left = self.tally.total - self.tally.done
        return Estimate(self.tally.total, left, self._mean_s(), self.executor.slots, row)

    def _mean_s(self) -> float:
        return self.tally.engine_s / self.tally.made if self.tally.made else 0.0
