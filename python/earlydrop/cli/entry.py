"""Runs one command: signals, errors, exit codes."""

from __future__ import annotations

import os
import signal
import sys
import time
import weakref
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from ..controls import shown
from .exits import DONE, INTERRUPTED, SIGNALLED
from .failures import failed
from .printing import version

AT_ONCE: dict[tuple[str, ...], Callable[[], str]] = {("--version",): version}
"""Command lines that are answered at once, before the slower parser of all others is loaded."""
INTERRUPTION = "interrupted: nothing was written"
LOOKS_S = 0.05
"""Interval of the check whether an interruption has to wait, or was lost."""


class KeyboardInterrupted(KeyboardInterrupt):
    """The exception that a signal raises: it takes weak references, and has the name by which panics are recognised."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    tokens = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    first: list[int] = []
    ended: list[int] = []
    if argv is None:
        _stops_once(first, ended, waits=tokens[:1] == ["link"])
        if os.path.lexists("matplotlibrc"):
            from ..safe_path import load_matplotlib

            load_matplotlib()
    try:
        with shown():
            code = _guarded(tokens, first)
        ended.append(code)
    except KeyboardInterrupt:
        # The exit code of an interruption that ends a command in the usual way.
        code = INTERRUPTED
    if argv is None:
        heard()
    if argv is None and code == INTERRUPTED:
        # Threads may still be inside a run that cannot be stopped; do not wait for them.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(SIGNALLED + first[0] if first else code)
    return code


def _stops_once(first: list[int], ended: Sequence[int], waits: bool) -> None:
    """A signal interrupts once. Another is not heard while the command ends; after a second it ends at once.

    `first` gets the number of the first. Once the command has `ended`, none interrupts. `waits`: a real link is taken
    down whatever comes, and has rules of its own for other signals.
    """
    came: list[float] = []
    timed = hasattr(signal, "setitimer") and not waits
    raised: list[weakref.ref[KeyboardInterrupted]] = []

    def stop(frame: FrameType | None) -> None:
        # An exception amid Python's own importing leaves a lock taken, for which other threads then wait for ever.
        if timed and frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
            return
        error = KeyboardInterrupted()
        raised[:] = [weakref.ref(error)]
        try:
            raise error
        finally:
            del error

    def interrupted(number: int, frame: FrameType | None) -> None:
        if not first:
            first.append(number)
            came.append(time.monotonic())
            if ended:
                return
            if timed:
                signal.signal(signal.SIGALRM, again)
                signal.setitimer(signal.ITIMER_REAL, LOOKS_S, LOOKS_S)
            stop(frame)
        elif time.monotonic() - came[0] > 1 and not waits:
            os._exit(SIGNALLED + first[0])

    def again(number: int, frame: FrameType | None) -> None:
        # Destructors, and extensions that import modules, may drop an exception, also the one that a signal raised.
        # While the exception is on its way out somebody holds it, or handles another in its place.
        if _interrupting():
            return
        if raised and raised[-1]() is None:
            raised.clear()
        elif not raised:
            stop(frame)

    def unraised(told: Any) -> None:
        if told.exc_type is not KeyboardInterrupted:
            sys.__unraisablehook__(told)

    sys.unraisablehook = unraised
    signal.signal(signal.SIGTERM, interrupted)
    # The process that started this one may have made it deaf to Ctrl-C, or to the terminal's end (`nohup`).
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupted)
    for name in () if waits else ("SIGHUP", "SIGQUIT"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, interrupted)


def heard() -> None:
    """Note that an interruption has come to where it is meant to end."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)


def _interrupting() -> bool:
    """Whether code runs that handles an interruption, or cleans up after it."""
    handled = sys.exc_info()[1]
    while handled is not None and not isinstance(handled, KeyboardInterrupt):
        handled = handled.__context__
    return handled is not None


def _guarded(tokens: list[str], first: Sequence[int]) -> int:
    try:
        code = _dispatch(tokens)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as stop:
        heard()
        print(str(stop) or INTERRUPTION, file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has closed it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:  # the one place where everything ends
        if not first:
            return failed(error, tokens)
    except BaseException:
        if not first:
            raise
    # An extension that a signal interrupts, as it is loaded or while it calls Python, fails or panics in its own way.
    heard()
    print(INTERRUPTION, file=sys.stderr)
    return INTERRUPTED


def _dispatch(tokens: list[str]) -> int:
    if (answer := AT_ONCE.get(tuple(tokens))) is not None:
        print(answer())
        return DONE
    from .commands import run

    return run(tokens)
