"""Executors of batches: threads of this process, or the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import math
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from .. import extras, safe_path, terminal
from ..document import Document
from ..runner import cores
from ..store import engine
from . import clusters, work
from .model import SweepError

Finished = tuple[int, work.Done | BaseException]
"""A batch's number, and its result or the error that it ended with."""


SILENCE_S = 5.0
"""After this long a wait for workers is reported."""


class Executor(Protocol):
    """Makes batches of runs, in any order."""

    @property
    def slots(self) -> int:
        """How many batches it can make at once."""

    def submit(self, number: int, tasks: Sequence[work.Task]) -> None:
        """Have a batch made."""

    def next(self, timeout_s: float) -> Finished | None:
        """A batch that is done; None if none was done within the time."""

    def close(self) -> None:
        """Stop; batches that have not begun are not made."""


class Threads:
    """Threads of this process: the engine releases the interpreter lock while it runs.

    `base` is the scenario that tasks change; none is needed for tasks that are whole scenarios.
    """

    def __init__(self, base: Document | None = None, workers: int | None = None) -> None:
        self._base = base
        self.slots = workers or cores()
        self._pool = ThreadPoolExecutor(self.slots, thread_name_prefix="sweep")
        self._done: SimpleQueue[Finished] = SimpleQueue()

    def submit(self, number: int, tasks: Sequence[work.Task]) -> None:
        self._pool.submit(work.make, self._base, tasks).add_done_callback(partial(self._report, number))

    def _report(self, number: int, future: Future[work.Done]) -> None:
        if not future.cancelled():
            self._done.put((number, future.exception() or future.result()))

    def next(self, timeout_s: float) -> Finished | None:
        with contextlib.suppress(Empty):
            return self._done.get(timeout=timeout_s)
        return None

    def close(self) -> None:
        # Runs that have begun cannot be stopped from here; do not wait for them.
        self._pool.shutdown(wait=False, cancel_futures=True)


class Cluster:
    """Workers of a Dask cluster: of one that runs at an address, or one that is started (`clusters.py`) and ended here.

    They need the same earlydrop, and nothing else. A batch whose worker dies is given to another one by Dask's
    scheduler.
    """

    def __init__(self, base: Document | None, where: str, patience_s: float = 30.0) -> None:
        wanted = clusters.request(where)
        try:
            import distributed
        except ImportError as error:
            raise SweepError(f"--cluster needs dask.distributed: {extras.command('cluster')}") from error
        self._base, self._address = base, where
        # A local cluster starts its workers again where they die.
        self._safe = contextlib.ExitStack()
        if wanted is not None:
            self._safe.enter_context(safe_path.children())
        try:
            self._started: Any = None if wanted is None else clusters.start(wanted)
        except BaseException:
            self._safe.close()
            raise
        address = where if self._started is None else str(self._started.scheduler_address)
        try:
            # The package has no types of its own: Any.
            client: Any = distributed.Client
            self._client: Any = client(address, timeout=patience_s, name="earlydrop-sweep", set_as_default=False)
        except (OSError, ValueError, TimeoutError, ImportError) as error:
            self._end_started()
            raise SweepError(f"--cluster {where}: no scheduler answers there: {error}") from error
        self._name = f"earlydrop-{secrets.token_hex(4)}"
        self._finished: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        self._futures: dict[int, Any] = {}
        self._slots, self._looked = 0, 0.0
        try:
            # Jobs may wait for long in the queueing system.
            there = self._wait_for_workers(patience_s if wanted is None else math.inf)
        except BaseException:
            self.close()
            raise
        if not there:
            self.close()
            raise SweepError(f"--cluster {where}: has no worker after {patience_s:g} s")

    def _wait_for_workers(self, patience_s: float) -> bool:
        begin, said = time.monotonic(), False
        while time.monotonic() - begin < patience_s:
            if self._count():
                return True
            if not said and time.monotonic() - begin > SILENCE_S:
                terminal.say(f"waiting for the first worker of {self._address}")
                said = True
            time.sleep(0.2)
        return False

    def _count(self) -> int:
        self._slots, self._looked = sum(self._client.nthreads().values()), time.monotonic()
        return self._slots

    @property
    def slots(self) -> int:
        """Threads of all workers; they may come and go."""
        if time.monotonic() - self._looked > 5:
            self._count()
        return max(1, self._slots)

    def submit(self, number: int, tasks: Sequence[work.Task]) -> None:
        from ..own_aqms.parcel import pack

        own = pack([self._base, *tasks])
        submitted: Any = self._client.submit(
            work.make, self._base, list(tasks), own, key=f"{self._name}-{number}-{secrets.token_hex(4)}", pure=False
        )
        self._futures[number] = submitted
        submitted.add_done_callback(lambda finished: self._finished.put((number, finished)))

    def next(self, timeout_s: float) -> Finished | None:
        try:
            number, finished = self._finished.get(timeout=timeout_s)
        except Empty:
            if self._client.status not in ("running", "connecting", "newly-created"):
                raise SweepError(f"--cluster {self._address}: the scheduler is gone ({self._client.status})") from None
            return None
        future: Any = finished
        if number not in self._futures or self._futures[number] is not future:
            return None
        try:
            done: work.Done = future.result()
        except (CancelledError, OSError) as error:
            raise SweepError(f"--cluster {self._address}: the scheduler is gone: {error}") from error
        except Exception as error:
            del self._futures[number]
            return number, error
        del self._futures[number]
        future.release()
        return number, _near(done)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._client.cancel(list(self._futures.values()), force=True)
        with contextlib.suppress(Exception):
            self._client.close(timeout=5)
        self._end_started()

    def _end_started(self) -> None:
        clusters.close(self._started)
        self._safe.close()


def _near(done: work.Done) -> work.Done:
    """The result of a remote worker, if it has the same engine."""
    if done.engine != engine():
        raise SweepError(
            f"a worker of the cluster has the engine {done.engine}, here it is {engine()}; install the same earlydrop"
        )
    return done


Make = Callable[[Document], Executor]
