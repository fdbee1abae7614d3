"""Errors of commands and their exit codes."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..errors import EarlydropError
from .exits import FAILED, INTERNAL, LINK_FAILED, WRONG_INPUT
from .printing import print_json


class Interrupted(KeyboardInterrupt):
    """An interruption, with its message."""


@contextmanager
def goes_on_from(store: str) -> Iterator[None]:
    """What an interruption says where finished runs are kept in a store."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted: what was run is in {store}; the same command goes on from there") from None


class InputError(EarlydropError):
    """The user's input is wrong."""


def failed(error: Exception, words: Sequence[str]) -> int:
    """Say what went wrong with the command of these words, and give its exit code."""
    code, fields = classified(error)
    message = _said(error) or type(error).__name__
    if code == INTERNAL:
        message = _internal(error, message, words)
    message = "; ".join([message, *getattr(error, "__notes__", [])])
    print(f"error: {message}", file=sys.stderr)
    if words[:1] == ["link"]:
        code = LINK_FAILED
    if "--json" in own(words):
        print_json({"error": {"message": message, **fields}, "exit": code})
    return code


def own(words: Sequence[str]) -> Sequence[str]:
    """This program's part of the command line: what follows `--` are the words of another command."""
    return words[: words.index("--")] if "--" in words else words


def _internal(error: Exception, message: str, words: Sequence[str]) -> str:
    """The message of a mistake of ours. A file beside the output, or in the current folder, has where it happened."""
    import platform
    import traceback

    from .printing import version

    mine = own(words)
    out = mine[mine.index("--out") + 1 : mine.index("--out") + 2] if "--out" in mine else []
    folder = Path(out[0]).absolute().parent if out else Path()
    place = folder / f"earlydrop-error-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    told = [
        f"earlydrop {version()}, Python {platform.python_version()}, {platform.platform()}",
        f"earlydrop {shlex.join(words)}",
        "",
        "".join(traceback.format_exception(error)),
    ]
    said = f"internal error: {message}\nThis is a mistake in earlydrop, not in your input. Please report it, with"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with place.open("x", encoding="utf-8", errors="replace") as file:
            file.write("\n".join(told))
    except OSError:
        print("\n".join(told), file=sys.stderr)
        return f"{said} the lines above and the files that the command read"
    return f"{said} {place} (read it before you send it: it has the command line) and the files that the command read"


def _said(error: Exception) -> str:
    """The message, with the likely mistake where one is found."""
    import earlydrop._core as _core

    if isinstance(error, _core.ScenarioError):
        from .likely import of_scenario

        return "\n  ".join(part for part in (str(error), of_scenario(getattr(error, "file", None))) if part)
    return str(error)


def classified(error: Exception) -> tuple[int, dict[str, str | None]]:
    """Exit code of an error, and what else is known about it."""
    import earlydrop._core as _core

    if isinstance(error, EarlydropError):
        return error.exit_code, error.fields
    if isinstance(error, _core.ScenarioError):
        return WRONG_INPUT, {k: getattr(error, k, None) for k in ("file", "path", "given", "allowed")}
    return (FAILED if isinstance(error, OSError) else INTERNAL), {}
