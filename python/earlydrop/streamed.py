"""Streaming JSON: objects are written and read key by key, and their lists item by item, to save memory."""

from __future__ import annotations

import collections
import io
import json
import math
from collections.abc import Collection, Iterable, Iterator
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any, TextIO

from . import foreign
from .output import to_json

PIECE = 1 << 18
"""Characters of a file that are read at once."""


class Writer:
    """Writes one object. With everything put, the text is that of `output.to_json` with the same `indent`."""

    def __init__(self, file: TextIO, indent: int | None = None) -> None:
        self._file, self._indent = file, indent
        self._keys = self._items = 0
        file.write("{")

    def put(self, key: str, value: Any) -> None:
        """A key with its whole value."""
        self._key(key)
        self._file.write(self._text(value, 1))

    def begin(self, key: str) -> None:
        """Begin a key whose value is a list: `item` for each of its items, then `end`."""
        self._key(key)
        self._items = 0

    def item(self, value: Any) -> None:
        """The next item of the open list."""
        self._file.write(("[" if not self._items else self._comma) + self._line(2) + self._text(value, 2))
        self._items += 1

    def end(self) -> None:
        """The list is complete."""
        self._file.write(self._line(1) + "]" if self._items else "[]")

    def items(self, key: str, values: Iterable[Any]) -> None:
        """A key with a list."""
        self.begin(key)
        for value in values:
            self.item(value)
        self.end()

    def close(self) -> None:
        """The object is complete; the file stays open."""
        self._file.write((self._line(0) if self._keys else "") + "}")

    @property
    def _comma(self) -> str:
        return ", " if self._indent is None else ","

    def _line(self, depth: int) -> str:
        return "" if self._indent is None else "\n" + " " * (self._indent * depth)

    def _key(self, key: str) -> None:
        self._file.write(
            (self._comma if self._keys else "") + self._line(1) + json.dumps(key, ensure_ascii=False) + ": "
        )
        self._keys += 1

    def _text(self, value: Any, depth: int) -> str:
        return to_json(value) if self._indent is None else _indented(value, self._line(depth), " " * self._indent)


def _indented(value: Any, line: str, step: str) -> str:
    """A value as `json.dumps` writes it with an indentation, several times as fast."""
    kind = type(value)
    if kind is float:
        return float.__repr__(value) if math.isfinite(value) else "null"
    if kind is str:
        return encode_basestring(value)
    if value is None:
        return "null"
    if kind is int:
        return int.__repr__(value)
    inner = line + step
    if kind is dict:
        if not value:
            return "{}"
        pairs = (f"{inner}{encode_basestring(str(k))}: {_indented(v, inner, step)}" for k, v in value.items())
        return f"{{{','.join(pairs)}{line}}}"
    if kind is list:
        if not value:
            return "[]"
        return f"[{','.join([inner + _indented(v, inner, step) for v in value])}{line}]"
    # A line break within a text is written as \n, so all that are here come from the indentation.
    return to_json(value, indent=len(step)).replace("\n", line)


def read(path: Path, lists: Collection[str] = ()) -> Iterator[tuple[str, Any]]:
    """The keys of the object in a file with their values; for the keys in `lists`, which are lists, an iterator.

    An iterator gives the items while its key is the last that was read.

    Raises:
        ValueError: the file holds no JSON object.
    """
    with io.TextIOWrapper(foreign.opened(path, path.parent), encoding="utf-8") as file:
        text = _Text(file)
        text.expect("{")
        if text.skip("}"):
            return
        while True:
            key = text.value()
            if not isinstance(key, str):
                raise ValueError("a key of an object is no text")
            text.expect(":")
            if key in lists:
                items = text.items()
                yield key, items
                # Skip the items that nobody asked for.
                collections.deque(items, 0)
            else:
                yield key, text.value()
            if not text.skip(","):
                text.expect("}")
                return


_AFTER = frozenset(" \n\r\t,:]}")
"""Characters that may follow a value."""


class _Text:
    """A file's text from where it was read to, as much of it as the next value needs."""

    def __init__(self, file: TextIO) -> None:
        self._file, self._text, self._at, self._whole = file, "", 0, False
        self._decoder = json.JSONDecoder()
        self._most = foreign.ceiling()

    def _more(self) -> bool:
        more = self._file.read(max(PIECE, len(self._text) - self._at))
        self._text, self._at = self._text[self._at :] + more, 0
        self._whole = not more
        return bool(more)

    def _next(self) -> str:
        """The next character that is no space; none at the end."""
        while True:
            while self._at < len(self._text):
                if not self._text[self._at].isspace():
                    return self._text[self._at]
                self._at += 1
            if not self._more():
                return ""

    def skip(self, mark: str) -> bool:
        """Whether this text comes next; it is then passed over."""
        found = self._next() == mark
        self._at += found
        return found

    def expect(self, mark: str) -> None:
        """Pass over this text, which must come next."""
        if not self.skip(mark):
            raise ValueError(f"no JSON: {self._next() or 'the end of the file'} where {mark} is expected")

    def value(self) -> Any:
        """The next value."""
        self._next()
        while True:
            if len(self._text) - self._at > self._most:
                raise ValueError(f"a value is larger than {self._most >> 20} MiB; {foreign.SWITCH} raises that")
            try:
                found, end = self._decoder.raw_decode(self._text, self._at)
                # A number that ends near the end of what was read may go on.
                if self._whole or self._text[end : end + 1] in _AFTER:
                    self._at = end
                    return foreign.shallow(found)
            except RecursionError:
                raise foreign.too_deep() from None
            except json.JSONDecodeError:
                if self._whole:
                    raise
            self._more()

    def items(self) -> Iterator[Any]:
        """The items of the list that comes next."""
        self.expect("[")
        if self.skip("]"):
            return
        yield self.value()
        while self.skip(","):
            yield self.value()
        self.expect("]")
