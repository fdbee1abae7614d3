"""Tables of a sweep's file: all errors are collected and reported together."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from ..strict_toml import Table
from .model import SweepError

LONGEST_TEXT = 1000


class Mistakes:
    """The errors in a file, each once, in order of discovery."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.found: dict[str, None] = {}

    def add(self, place: str, what: str) -> None:
        """Note an error at a place in the file."""
        self.found[f"{place}: {what}" if place else what] = None

    def __bool__(self) -> bool:
        return bool(self.found)

    def error(self) -> SweepError:
        """All mistakes as one error."""
        lines = list(self.found)
        if len(lines) == 1:
            return SweepError(f"{self.file}: {lines[0]}")
        return SweepError("\n".join([f"{self.file}: {len(lines)} mistakes", *(f"  {line}" for line in lines)]))


class SweepTable(Table):
    """A table of a sweep's file."""

    def __init__(self, data: Any, place: str, mistakes: Mistakes) -> None:
        self.mistakes = mistakes
        super().__init__(data, place)

    def _inner(self, data: Any, name: str) -> Self:
        return type(self)(data, self.path(name), self.mistakes)

    def report(self, key: str, message: str) -> None:
        self.mistakes.add(self.path(key), message)

    def text(self, key: str, default: str | Any = "") -> str:
        """A text that is not blank."""
        value = self.raw(key)
        if value is None:
            return str(default)
        if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_TEXT:
            self.refuse(key, value, "a text")
            return str(default)
        return value
