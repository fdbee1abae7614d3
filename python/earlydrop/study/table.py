"""Strict reading of tables from TOML: every key is taken by name and kind, and what is left over is refused."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .model import StudyError

_REQUIRED: Any = object()


class Table:
    """One table of a study's file, and where it stands there."""

    def __init__(self, data: Any, place: str) -> None:
        self.place = place
        if not isinstance(data, Mapping):
            raise self.fault("must be a table")
        self._data = data
        self._known: list[str] = []

    def fault(self, message: str) -> StudyError:
        """An error that names the place."""
        return StudyError(f"{self.place}: {message}" if self.place else message)

    def has(self, key: str) -> bool:
        """Whether a key that may be left out is given."""
        self._known.append(key)
        return key in self._data

    def _take(self, key: str, default: Any) -> Any:
        self._known.append(key)
        if key in self._data:
            return self._data[key]
        if default is _REQUIRED:
            raise self.fault(f'"{key}" is missing')
        return default

    def text(self, key: str, default: str | Any = _REQUIRED) -> str:
        """A text."""
        value = self._take(key, default)
        if not isinstance(value, str):
            raise self.fault(f"{key} must be a text, not {value!r}")
        return value

    def word(self, key: str, allowed: Iterable[str], default: str | Any = _REQUIRED) -> str:
        """One of several words."""
        value = self.text(key, default)
        names = list(allowed)
        if value not in names and value != default:
            raise self.fault(f'{key} = "{value}": {unknown(value, names)}')
        return value

    def number(self, key: str, default: float | Any | None = _REQUIRED) -> Any:
        """A number."""
        value = self._take(key, default)
        if value is default:
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.fault(f"{key} must be a number, not {value!r}")
        return float(value)

    def whole(self, key: str, low: int, high: int, default: int | Any | None = _REQUIRED) -> Any:
        """A whole number between two bounds."""
        value = self._take(key, default)
        if value is default:
            return value
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.fault(f"{key} must be a whole number from {low} to {high}, not {value!r}")
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false."""
        value = self._take(key, default)
        if not isinstance(value, bool):
            raise self.fault(f"{key} must be true or false, not {value!r}")
        return value

    def texts(self, key: str, default: Sequence[str] | Any = _REQUIRED) -> tuple[str, ...]:
        """A list of texts; a single text is a list of one."""
        value = self._take(key, default)
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, (list, tuple)) or not all(isinstance(x, str) for x in value):
            raise self.fault(f"{key} must be a list of texts, not {value!r}")
        return tuple(value)

    def pair(self, key: str) -> tuple[float, float] | None:
        """Two numbers, the smaller first."""
        value = self._take(key, None)
        if value is None:
            return None
        numbers = isinstance(value, list) and all(
            isinstance(x, (int, float)) and not isinstance(x, bool) for x in value
        )
        if not numbers or len(value) != 2 or value[0] >= value[1]:
            raise self.fault(f"{key} must be two numbers, the smaller first, not {value!r}")
        return float(value[0]), float(value[1])

    def settings(self, key: str, default: Mapping[str, Any] | Any | None = _REQUIRED) -> dict[str, Any]:
        """A table whose keys are free: paths and values, or a scenario."""
        value = self._take(key, {} if default is None else default)
        if not isinstance(value, Mapping):
            raise self.fault(f"{key} must be a table, not {value!r}")
        return dict(value)

    def table(self, key: str) -> Table | None:
        """A table whose keys are known; None where it is not given."""
        value = self._take(key, None)
        return None if value is None else Table(value, self._inner(key))

    def tables(self, key: str) -> list[Table]:
        """A list of tables. Each is called by its id where it has one."""
        value = self._take(key, [])
        if not isinstance(value, list):
            raise self.fault(f"{key} must be a list of tables")
        return [Table(one, self._inner(_called(key, one, number))) for number, one in enumerate(value, 1)]

    def values(self, key: str) -> list[Any]:
        """A list of anything."""
        value = self._take(key, [])
        if not isinstance(value, list):
            raise self.fault(f"{key} must be a list, not {value!r}")
        return value

    def raw(self, key: str, default: Any = None) -> Any:
        """Anything at all."""
        return self._take(key, default)

    def _inner(self, name: str) -> str:
        return f"{self.place}: {name}" if self.place else name

    def end(self) -> None:
        """Refuse whatever was not asked for."""
        for key in self._data:
            if key not in self._known:
                raise self.fault(f'unknown key "{key}"; {suggestion(key, list(dict.fromkeys(self._known)))}')


def _called(key: str, one: Any, number: int) -> str:
    name = one.get("id") if isinstance(one, Mapping) else None
    if not name and isinstance(one, Mapping) and isinstance(one.get("title"), str):
        name = one["title"]
    return f"{key} {name}" if isinstance(name, str) and name else f"{key} {number}"


def suggestion(given: str, known: Sequence[str]) -> str:
    """`did you mean "x"?`, or all that is known."""
    near = difflib.get_close_matches(given, known, 1)
    return f'did you mean "{near[0]}"?' if near else f"known: {', '.join(known) or 'none'}"


def unknown(given: str, known: Sequence[str]) -> str:
    """What to say of a name that does not exist."""
    return f"there is no such name; {suggestion(given, known)}"
