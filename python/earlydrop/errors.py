"""Errors of the package, and the exit codes of commands that fail with them."""

from __future__ import annotations

from typing import ClassVar

FAILED, WRONG_INPUT = 1, 2


class EarlydropError(Exception):
    """The base of this package's own exceptions. The message says what is wrong and where."""

    exit_code: ClassVar[int] = WRONG_INPUT
    """Exit code of a command that ends with it."""

    fields: dict[str, str | None]
    """Further fields of the message's JSON form."""

    def __init__(self, *said: object, **fields: str | None) -> None:
        super().__init__(*said)
        self.fields = fields


class CompareError(EarlydropError):
    """A comparison cannot be made; the message names the file, the field and what is allowed."""
