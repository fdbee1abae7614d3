"""Lazy sequences: items are made on access, so that a million of them need no memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeVar, overload

T = TypeVar("T")


class Lazy(Sequence[T]):
    """`count` items; `make` gives the item at a place. The `kept` items that were asked for last are kept."""

    def __init__(self, count: int, make: Callable[[int], T], kept: int = 0) -> None:
        self._count = count
        self._make: Callable[[int], T] = lru_cache(kept)(make) if kept else make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        if isinstance(at, slice):
            places = range(self._count)[at]
            return Lazy(len(places), lambda k: self._make(places[k]))
        place = at + self._count if at < 0 else at
        if not 0 <= place < self._count:
            raise IndexError(f"there are {self._count} items; no {at} is among them")
        return self._make(place)

    def __iter__(self) -> Iterator[T]:
        return map(self._make, range(self._count))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown: list[Any] = list(self[:3])
        return f"[{', '.join(map(repr, shown))}{', ...' if self._count > 3 else ''}]"
