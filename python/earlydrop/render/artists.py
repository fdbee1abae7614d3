"""Processes that draw figures: in one process Python draws on one core."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import wait
from threading import Thread
from typing import TYPE_CHECKING, Any

from .. import runner, safe_path
from . import plotting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 8
"""Processes; each takes about 100 MB."""
MATPLOTLIB = (f"{__package__}.drawing", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg")
"""What every figure needs: layouts are measured by agg."""


@dataclass(frozen=True)
class Sketch:
    """A figure before it is drawn: everything that drawing it needs, so that another process can do it."""

    draw: Callable[..., Figure]
    """A function of a module."""
    of: tuple[Any, ...]
    """Its arguments."""
    text: str = ""
    """Said below the figure."""


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
    # Not by a fork server: its socket lies in a folder of its own, which stays when the command is killed.
    context = multiprocessing.get_context("spawn")
    loaded = (*modules, *MATPLOTLIB)
    try:
        pool = ProcessPoolExecutor(count, context, _begin, (loaded,))
    except (ImportError, NotImplementedError, OSError):
        # A system without semaphores that processes share.
        return Here()
    Thread(target=_start, args=(pool, count)).start()
    return pool


def _start(pool: Executor, count: int) -> None:
    """Starts the processes, one with each task."""
    if hasattr(signal, "pthread_sigmask"):
        # Processes have the mask of the thread that starts them; Ctrl-C is for the command alone.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    with suppress(Exception):
        # The command may have ended meanwhile; whoever asks for a figure hears of all else.
        for _ in range(count):
            pool.submit(os.getpid)


def _begin(modules: Sequence[str]) -> None:
    """In a new process: it leaves Ctrl-C to the one that asks for figures, and ends with it, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()
    # Collections of garbage need not go through all that is loaded.
    gc.disable()
    safe_path.load_matplotlib()
    for name in modules:
        import_module(name)
    gc.freeze()
    gc.enable()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
