"""Strict parsing of TOML tables: each key is taken by name and type, and unknown keys are refused.

Errors name the place, the key, the value given and what is allowed: `claim C-1: digits: given 13; allowed whole numbers
from 0 to 12`. Studies stop at the first error, sweeps collect all of them: a subclass says which (`report`).

msgspec, pydantic and cattrs check types, too, but would not shorten this. Most checks of studies and sweeps are
references between tables (axes, levels, measures, paths of a scenario), which they do not know, and their errors would
have to be translated to these messages with their "did you mean".
"""

from __future__ import annotations

import difflib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from . import foreign

_REQUIRED: Any = object()


class TomlError(ValueError):
    """A file is missing or is not TOML. The message says why, without the file's name."""


def load(path: Path) -> dict[str, Any]:
    """The document in a TOML file."""
    try:
        return foreign.from_toml(path)
    except OSError as error:
        raise TomlError(error.strerror) from error
    except ValueError as error:
        raise TomlError(f"is not TOML: {error}") from error


def parse_value(text: str) -> Any:
    """A value given on the command line: TOML where it is valid TOML, else the text itself."""
    try:
        return foreign.parsed_toml(f"value = {text}")["value"]
    except ValueError:
        return text


class Table(ABC):
    """One table of a file.

    Methods return the value of a key, or its default where the key is absent. A wrong value is reported; where `report`
    does not raise, the default (or an empty value) is returned, so that further errors can be found.
    """

    def __init__(self, data: Any, place: str = "") -> None:
        self.place = place
        """Where the table is in the file, as error messages name it: `claim C-1: parts 2`."""
        self.data: Mapping[str, Any] = {}
        self._asked: list[str] = []
        if isinstance(data, Mapping):
            self.data = data
        else:
            self.report("", "must be a table")

    @abstractmethod
    def report(self, key: str, message: str) -> None:
        """Raise or collect an error about a key; an empty key stands for the whole table."""

    def path(self, key: str) -> str:
        """Where a key is, as error messages name it."""
        return ": ".join(part for part in (self.place, key) if part)

    def _inner(self, data: Any, name: str) -> Self:
        """A table within this one."""
        return type(self)(data, self.path(name))

    def refuse(self, key: str, value: Any, allowed: str) -> None:
        """Report a value that is not allowed; a missing one is reported already."""
        if value is not _REQUIRED:
            self.report(key, f"given {shown(value)}; allowed {allowed}")

    # ---- keys ----------------------------------------------------------------------------------------------------

    def has(self, key: str) -> bool:
        """Whether an optional key is given."""
        self._asked.append(key)
        return key in self.data

    def end(self) -> None:
        """Report the keys that nothing has asked for."""
        self.only(list(dict.fromkeys(self._asked)))

    def only(self, known: Sequence[str]) -> None:
        """Report the keys that are not among those given."""
        for key in self.data:
            if key not in known:
                self.report("", f'unknown key "{key}"; {suggestion(key, known)}')

    def raw(self, key: str, default: Any = None) -> Any:
        """A value of any type."""
        self._asked.append(key)
        if key in self.data:
            return self.data[key]
        if default is _REQUIRED:
            self.report("", f'"{key}" is missing{self.misspelt(key)}')
        return default

    def misspelt(self, *wanted: str) -> str:
        """A hint where keys are missing: the given key that is nearly one of them; nothing where there is none."""
        for key in self.data:
            # Nearness is stricter than elsewhere, as the key may be a known one that is asked for later.
            near = [] if key in self._asked else difflib.get_close_matches(key, wanted, 1, 0.7)
            if near:
                return f'; there is "{key}": did you mean "{near[0]}"?'
        return ""

    # ---- values --------------------------------------------------------------------------------------------------

    def text(self, key: str, default: str | Any = _REQUIRED) -> str:
        """A text."""
        value = self.raw(key, default)
        if not isinstance(value, str):
            self.refuse(key, value, "a text")
            return default if isinstance(default, str) else ""
        return value

    def word(self, key: str, allowed: Iterable[str], default: str | Any = _REQUIRED) -> str:
        """One of several words."""
        value = self.text(key, default)
        names = list(allowed)
        if value not in names and value != default:
            self.report("", f'{key} = "{value}": {unknown(value, names)}')
            return default if isinstance(default, str) else names[0]
        return value

    def number(self, key: str, default: float | Any | None = _REQUIRED) -> Any:
        """A number."""
        value = self.raw(key, default)
        if value is default:
            return value
        if not is_number(value) or not math.isfinite(value):
            self.refuse(key, value, "a finite number" if is_number(value) else "a number")
            return default
        return float(value)

    def whole(self, key: str, low: int, high: int, default: int | Any | None = _REQUIRED) -> Any:
        """A whole number between two bounds."""
        value = self.raw(key, default)
        if value is default:
            return value
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.refuse(key, value, f"whole numbers from {low} to {high}")
            return low
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false."""
        value = self.raw(key, default)
        if not isinstance(value, bool):
            self.refuse(key, value, "true or false")
            return default
        return value

    def texts(self, key: str, default: Sequence[str] | Any = _REQUIRED) -> tuple[str, ...]:
        """A list of texts; a single text is a list of one."""
        value = self.raw(key, default)
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, (list, tuple)) or not all(isinstance(x, str) for x in value):
            self.refuse(key, value, "a list of texts")
            return ()
        return tuple(value)

    def pair(self, key: str) -> tuple[float, float] | None:
        """Two numbers, the smaller first."""
        value = self.raw(key)
        if value is None:
            return None
        if not isinstance(value, list) or not all(map(is_number, value)) or len(value) != 2 or value[0] >= value[1]:
            self.refuse(key, value, "two numbers, the smaller first")
            return None
        return float(value[0]), float(value[1])

    def settings(self, key: str, default: Mapping[str, Any] | Any | None = _REQUIRED) -> dict[str, Any]:
        """A table with any keys: paths and values, or a scenario."""
        value = self.raw(key, {} if default is None else default)
        if not isinstance(value, Mapping):
            self.refuse(key, value, "a table")
            return {}
        return dict(value)

    def values(self, key: str) -> list[Any]:
        """A list of values of any type."""
        value = self.raw(key, [])
        if not isinstance(value, list):
            self.refuse(key, value, "a list")
            return []
        return value

    def table(self, key: str) -> Self | None:
        """A table within this one; None where it is absent."""
        value = self.raw(key)
        return None if value is None else self._inner(value, key)

    def tables(self, key: str) -> list[Self]:
        """A list of tables. Messages name each by its id or title, else by its number."""
        return list(self.each_table(key))

    def each_table(self, key: str) -> Iterator[Self]:
        """A list of tables one by one, for long lists."""
        value = self.raw(key, [])
        if not isinstance(value, list):
            self.refuse(key, value, "a list of tables")
            return
        for number, one in enumerate(value, 1):
            yield self._inner(one, _called(key, one, number))


def shown(value: Any) -> str:
    """A value in a message, as TOML has it rather than as Python does: `true`, `[1, true]`; a date is its text."""
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, (str, int, float)) else str(value)


def is_number(value: Any) -> bool:
    """Whether a value is a number; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _called(key: str, one: Any, number: int) -> str:
    name = (one.get("id") or one.get("title")) if isinstance(one, Mapping) else None
    return f"{key} {name}" if isinstance(name, str) and name else f"{key} {number}"


def meant(given: str, known: Sequence[str]) -> str | None:
    """The known name that `given` is, whatever its case and with or without `-`, `_` and spaces: `FQ-CoDel`."""
    if given in known:
        return given
    return next((name for name in known if letters(name) == letters(given)), None)


def letters(name: str) -> str:
    """A name without its case, `-`, `_` and spaces."""
    return "".join(c for c in name.lower() if c not in "-_ ")


def nearest(given: str, known: Sequence[str]) -> str:
    """`did you mean "x"?`, or nothing where no known name is near."""
    near = difflib.get_close_matches(given, known, 1)
    return f'did you mean "{near[0]}"?' if near else ""


def suggestion(given: str, known: Sequence[str]) -> str:
    """`did you mean "x"?`, or the list of known names."""
    return nearest(given, known) or f"known: {', '.join(known) or 'none'}"


def unknown(given: str, known: Sequence[str]) -> str:
    """What to say of a name that does not exist."""
    return f"there is no such name; {suggestion(given, known)}"
