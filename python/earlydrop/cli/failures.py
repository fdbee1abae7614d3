"""Errors of commands and their exit codes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import EarlydropError
from .exits import FAILED, INTERNAL, WRONG_INPUT
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


def failed(error: Exception, wants_json: bool, always: int | None = None) -> int:
    """Say what went wrong, and give the exit code: that of the error, or one that it always is."""
    code, fields = classified(error)
    message = _said(error) or type(error).__name__
    if code == INTERNAL:
        import traceback

        traceback.print_exception(error)
        message = f"internal error: {message}"
    notes = getattr(error, "__notes__", [])
    message = "; ".join([message, *notes]) if code != INTERNAL else message
    print(f"error: {message}", file=sys.stderr)
    for note in notes if code == INTERNAL else []:
        print(note, file=sys.stderr)
    code = code if always is None else always
    if wants_json:
        print_json({"error": {"message": message, **fields}, "exit": code})
    return code


def _said(error: Exception) -> str:
    """The message, with the likely mistake where one is found."""
    from .. import _core

    if isinstance(error, _core.ScenarioError):
        from .likely import of_scenario

        return "\n  ".join(part for part in (str(error), of_scenario(getattr(error, "file", None))) if part)
    return str(error)


def classified(error: Exception) -> tuple[int, dict[str, str | None]]:
    """Exit code of an error, and what else is known about it."""
    from .. import _core

    if isinstance(error, EarlydropError):
        return error.exit_code, error.fields
    if isinstance(error, _core.ScenarioError):
        return WRONG_INPUT, {k: getattr(error, k, None) for k in ("file", "path", "given", "allowed")}
    return (FAILED if isinstance(error, OSError) else INTERNAL), {}
