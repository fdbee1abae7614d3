"""Makes the runs of a sweep that its store lacks: in batches, on any executor, side by side with other processes."""

from __future__ import annotations

import contextlib
import time
from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..store import Folder, Store
from . import work
from .executors import Executor
from .model import Sweep
from .plan import Plan

if TYPE_CHECKING:
    from .work import Done, Task

BATCH_S = 0.4
"""How long a batch should take: long against what it costs to hand one out, short against the whole."""
MOST_RUNS = 5000
"""Runs of a batch."""
FLUSH_S, FLUSH_BYTES = 5.0, 64 << 20
"""How long runs wait, and how many bytes, until they are put into the store together."""
PILOTS = 16
"""Runs that are made first, to estimate what the rest costs."""
KEPT_FAILURES = 1000
"""So many failures, the first by point and seed, are kept with their reasons; of the others only the number."""

OPEN, OUT, DONE, FAILED = 0, 1, 2, 3


@dataclass(frozen=True)
class Failure:
    """A run that failed."""

    point: int
    seed: int
    reason: str


@dataclass
class Tally:
    """Where a sweep stands."""

    total: int
    """Runs of the sweep, equal ones counted once."""
    found: int = 0
    """Runs that the store had."""
    made: int = 0
    """Runs that were made here."""
    shared: int = 0
    """Runs that another process put into the store meanwhile."""
    failed: int = 0
    failures: list[Failure] = field(default_factory=list)
    engine_s: float = 0.0
    """Time of the engine, all threads together."""
    begin: float = field(default_factory=time.monotonic)

    @property
    def done(self) -> int:
        """Runs that need not be made any more."""
        return self.found + self.made + self.shared + self.failed

    @property
    def elapsed_s(self) -> float:
        """Wall time so far."""
        return time.monotonic() - self.begin

    @property
    def rate(self) -> float:
        """Runs a second, here and now."""
        return (self.made + self.failed) / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """Estimated time to go."""
        return (self.total - self.done) / self.rate if self.rate > 0 else None


@dataclass(frozen=True)
class Estimate:
    """What a sweep will cost, by its first runs."""

    runs: int
    missing: int
    run_s: float
    workers: int
    row_bytes: float

    @property
    def wall_s(self) -> float:
        """Time until it is done."""
        return self.missing * self.run_s / self.workers

    @property
    def size(self) -> float:
        """Bytes that the store grows by."""
        return self.missing * self.row_bytes


class Stop(Exception):
    """Raised by who was told the estimate, to make no more runs."""


Tell = Callable[[Tally], None]
Told = Callable[[Estimate], None]


class Runs:
    """The runs that a sweep lacks, and the batches they are made in."""

    def __init__(self, plan: Plan, store: Store, executor: Executor, tell: Tell) -> None:
        self.plan, self.store, self.executor, self.tell = plan, store, executor, tell
        self.sweep: Sweep = plan.sweep
        store.look()
        wanted = plan.table().unique(["scenario_key", "seed"], keep="first", maintain_order=True)
        missing = wanted.join(store.keys(), on=["scenario_key", "seed"], how="anti", maintain_order="left")
        self.tally = Tally(len(wanted), found=len(wanted) - len(missing))
        self._names = missing.select("scenario_key", "seed").with_row_index("row")
        self._point = missing["point"].to_numpy()
        self._seed = missing["seed"].to_numpy()
        self._state = np.zeros(len(missing), np.uint8)
        self._next = 0
        self._batches: dict[int, np.ndarray[Any, Any]] = {}
        self._number = 0
        self._buffer: list[work.Done] = []
        self._bytes, self._flushed, self._flush_s = 0, time.monotonic(), FLUSH_S
        self._run_s = 0.0
        self._row_bytes, self._looked = 0.0, 0.0

    @property
    def missing(self) -> int:
        """Runs that the store lacked."""
        return len(self._state)

    def make(self, told: Told | None = None) -> Tally:
        """Make what is missing. `told` hears the estimate after the first few runs.

        Raises:
            StoreError: runs cannot be put into the store.
            SweepError: the cluster is gone, or its workers have another engine.
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
                if not self._batches and not (self._state == OPEN).any():
                    break
                self._take_in(0.5 if self._batches else 0.2)
            self._flush()
        except Stop:
            self._flush()
        except KeyboardInterrupt:
            # What was made is kept.
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
        for row in self._claim(spread, len(spread)):
            self._submit(np.array([row]))
        while self._batches:
            self._take_in(0.5)

    def _hand_out(self) -> None:
        """Keep every worker busy, and a batch waiting for each."""
        while len(self._batches) < 2 * self.executor.slots:
            open_ = self._open(self._size())
            if not len(open_):
                return
            rows = self._claim(open_, len(open_))
            if not len(rows):
                return
            self._submit(rows)

    def _size(self) -> int:
        """Runs of the next batch: some tenths of a second, less towards the end, so that all workers end together."""
        left = self.tally.total - self.tally.done
        by_time = BATCH_S / self._run_s if self._run_s > 0 else 1
        return int(max(1, min(by_time, left / (4 * self.executor.slots), MOST_RUNS)))

    def _open(self, count: int) -> np.ndarray[Any, Any]:
        """The next rows that nobody works on, as far as is known here."""
        while self._next < len(self._state) and self._state[self._next] != OPEN:
            self._next += 1
        window = self._state[self._next :]
        found = np.flatnonzero(window[: 64 * count + 4096] == OPEN)
        if not len(found):
            found = np.flatnonzero(window == OPEN)
        rows: np.ndarray[Any, Any] = found[:count] + self._next
        return rows

    def _claim(self, rows: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
        """Of these rows those that no other process has made or is making; claim them."""
        if self.store.claims is None or not isinstance(self.store.files, Folder):
            self._seen(self.store.look() if self._shares_blindly() else [])
            still: np.ndarray[Any, Any] = rows[self._state[rows] == OPEN]
            return still
        with self.store.files.lock():
            self._seen(self.store.look())
            others = self.store.claims.others()
            rows = rows[self._state[rows] == OPEN]
            if others:
                free = [r for r in rows if self._name(r) not in others]
                if not free:
                    # All of these are being made elsewhere: look further for some that are not.
                    every = np.flatnonzero(self._state == OPEN)
                    free = [r for r in every if self._name(r) not in others][:count]
                rows = np.array(free, dtype=int)
            if len(rows):
                self.store.claims.add([self._name(r) for r in rows])
        return rows

    def _shares_blindly(self) -> bool:
        """Whether to look what others put in: at an address without locks, now and then."""
        now = time.monotonic()
        if now - self._looked < FLUSH_S:
            return False
        self._looked = now
        return True

    def _seen(self, parts: list[str]) -> None:
        """Mark what others put into the store."""
        if not parts:
            return
        keys = self.store.keys(parts=parts)
        rows = self._names.join(keys, on=["scenario_key", "seed"], how="semi")["row"].to_numpy()
        new = rows[self._state[rows] == OPEN]
        self._state[new] = DONE
        self.tally.shared += len(new)

    def _name(self, row: int | np.integer[Any]) -> tuple[str, int]:
        return self.plan.keys[int(self._point[row])], int(self._seed[row])

    def _submit(self, rows: np.ndarray[Any, Any]) -> None:
        self._state[rows] = OUT
        self._number += 1
        self._batches[self._number] = rows
        self.executor.submit(self._number, self._tasks(rows))

    def _tasks(self, rows: np.ndarray[Any, Any]) -> list[Task]:
        tasks: list[Task] = []
        points, before = self._point[rows], -1
        for point, seed in zip(points.tolist(), self._seed[rows].tolist(), strict=True):
            if point == before:
                tasks[-1] = (tasks[-1][0], (*tasks[-1][1], seed))
            else:
                tasks.append((self.sweep.points[point].sets, (seed,)))
            before = point
        return tasks

    # ---- taking in -----------------------------------------------------------------------------------------------

    def _take_in(self, patience_s: float) -> None:
        """Wait for a batch; put into the store what has waited long enough."""
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

    def _keep(self, rows: np.ndarray[Any, Any], done: Done) -> None:
        tasks = self._tasks(rows)
        starts = np.concatenate([[0], np.cumsum([len(seeds) for _, seeds in tasks])])
        failed = set()
        for number, seed, reason in done.failures:
            row = int(rows[starts[number] + tasks[number][1].index(seed)])
            failed.add(row)
            self._fail(row, reason)
        good = rows[[r not in failed for r in rows.tolist()]] if failed else rows
        self._state[good] = DONE
        self.tally.made += len(good)
        spent = float(sum(done.wall_s))
        self.tally.engine_s += spent
        if len(good):
            mean = spent / len(good)
            self._run_s = mean if self._run_s == 0 else 0.8 * self._run_s + 0.2 * mean
            self._buffer.append(done)
            self._bytes += done.size

    def _broken(self, rows: np.ndarray[Any, Any], error: BaseException) -> None:
        """A batch that gave nothing at all: make its runs one by one, to find the one that is to blame."""
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise error
        if len(rows) > 1:
            for row in rows:
                self._submit(np.array([row]))
            return
        self._fail(int(rows[0]), f"{type(error).__name__}: {error}")

    def _fail(self, row: int, reason: str) -> None:
        self._state[row] = FAILED
        self.tally.failed += 1
        # In the order of points and seeds, whichever thread came first.
        failures = self.tally.failures
        one = Failure(int(self._point[row]), int(self._seed[row]), reason)
        insort(failures, one, key=lambda failure: (failure.point, failure.seed))
        del failures[KEPT_FAILURES:]

    def _flush(self) -> None:
        """Put what was made into the store, as one part."""
        if self._buffer:
            frame = work.frame(self._buffer)
            self.store.add(frame)
            self._row_bytes = self._bytes / max(1, len(frame))
        self._buffer, self._bytes, self._flushed = [], 0, time.monotonic()
        # A long sweep makes no more than some hundreds of parts.
        self._flush_s = max(FLUSH_S, self.tally.elapsed_s / 100)
        if self.store.claims is not None and isinstance(self.store.files, Folder):
            out = [row for rows in self._batches.values() for row in rows.tolist()]
            with self.store.files.lock():
                self.store.claims.set([self._name(r) for r in out])

    def _estimate(self) -> Estimate:
        # Parquet packs what lies in memory to about a third.
        row = self._row_bytes / 3
        left = self.tally.total - self.tally.done
        return Estimate(self.tally.total, left, self._mean_s(), self.executor.slots, row)

    def _mean_s(self) -> float:
        return self.tally.engine_s / self.tally.made if self.tally.made else 0.0
