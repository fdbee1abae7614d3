"""Processes that draw figures: in one process Python draws on one core."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from .. import runner, safe_path
from . import plotting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 8
"""Most processes; each takes about 100 MB."""
MATPLOTLIB = (f"{__package__}.drawing", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg")
"""Modules that every figure needs: layouts are measured by agg."""


@dataclass(frozen=True)
class Sketch:
    """A figure before it is drawn: everything that drawing it needs, so that another process can do it."""

    draw: Callable[..., Figure]
    """A function of a module."""
    of: tuple[Any, ...]
    """The function's arguments."""
    text: str = ""
    """Text below the figure."""


@dataclass(frozen=True)
class Drawn:
    """A figure's files, in the order of the formats that were asked for, and its width in inches."""

    files: Sequence[bytes] = field(repr=False)
    width: float


def drawn(sketch: Sketch, note: str, formats: Sequence[str]) -> Drawn:
    """Draw a figure, with a note printed small below it."""
    made = sketch.draw(*sketch.of)
    return Drawn(plotting.files(made, note, formats), made.get_figwidth())


def svg(draw: Callable[..., Figure | None], *of: Any) -> bytes | None:
    """A figure as an SVG image; None if `draw` finds nothing to draw."""
    made = draw(*of)
    return None if made is None else plotting.files(made, "", ["svg"])[0]


class Here(Executor):
    """Draws at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def artists(workers: int | None, *modules: str) -> Iterator[Executor]:
    """Processes that draw, at most `workers`; they load matplotlib and these modules while this process goes on.

    Only for programs that end in `if __name__ == "__main__"`, as commands do: the processes import the main module.
    """
    count = min(workers or runner.cores(), MOST)
    with safe_path.children():
        pool = Here() if count == 1 else _processes(count, modules)
        try:
            yield pool
        finally:
            # After an error nothing more is drawn.
            pool.shutdown(cancel_futures=True)


def _processes(count: int, modules: Sequence[str]) -> Executor:
    return _Processes(count, (*modules, *MATPLOTLIB))


class _Processes(Executor):
    """Processes, each with a thread here that asks it for one figure after the other over a pipe.

    `ProcessPoolExecutor` shares semaphores that have names in the system, and these stay when all are killed at once.
    """

    def __init__(self, count: int, modules: Sequence[str]) -> None:
        self._idle: SimpleQueue[Connection | Exception] = SimpleQueue()
        self._threads = ThreadPoolExecutor(count)
        self._ends: list[Connection] = []
        self._begun = self._threads.submit(self._begin, count, modules)

    def _begin(self, count: int, modules: Sequence[str]) -> None:
        # Spawned, not forked by a server: its socket has a folder of its own, which stays when the command is killed.
        context = multiprocessing.get_context("spawn")
        if os.name == "posix":
            # The tracker otherwise starts with the first process, and leaves this thread without its mask.
            resource_tracker = import_module("multiprocessing.resource_tracker")
            resource_tracker.ensure_running()
            _leave_signals()
        for _ in range(count):
            try:
                here, there = context.Pipe()
                context.Process(target=_draw, args=(there, modules), daemon=True).start()
                there.close()
            except Exception as error:
                # Whoever asks for a figure gets the error.
                self._idle.put(error)
            else:
                self._ends.append(here)
                self._idle.put(here)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._threads.submit(self._ask, partial(fn, *args, **kwargs))

    def _ask(self, what: Callable[[], Any]) -> Any:
        one = self._idle.get()
        try:
            if isinstance(one, Exception):
                raise one
            one.send(what)
            drawn, made = one.recv()
        except EOFError:
            raise RuntimeError("a process that draws figures has ended") from None
        finally:
            self._idle.put(one)
        if not drawn:
            raise made
        return made

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        for one in self._ends:
            one.close()


def _leave_signals() -> None:
    """Signals are for the command alone. A process has the mask of the thread that starts it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT})


def _draw(asked: Connection, modules: Sequence[str]) -> None:
    """In a new process: draws what it is asked for, and ends when nobody is left who could ask."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_after, daemon=True).start()
    # Collections of garbage need not go through all that is loaded.
    gc.disable()
    safe_path.load_matplotlib()
    for name in modules:
        import_module(name)
    gc.freeze()
    gc.enable()
    with suppress(EOFError, OSError):
        while True:
            what = asked.recv()
            try:
                answer = (True, what())
            except Exception as error:
                answer = (False, error)
            asked.send(answer)


def _end_after() -> None:
    """Ends this process with the one that started it, however that ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
