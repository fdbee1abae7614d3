"""A compact index of very many names: a 16-byte digest and a 4-byte number for each, found by bisection."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import polars

Words: TypeAlias = "np.ndarray[Any, np.dtype[np.uint64]]"
"""Digests as an array with a row of two words for each."""
Numbers: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"


def words(digests: Sequence[str]) -> Words:
    """Digests that are given as 32 hexadecimal digits each.

    Raises:
        ValueError: a digest is something else.
    """
    content = bytes.fromhex("".join(digests))
    if len(content) != 16 * len(digests):
        raise ValueError("a digest has 32 hexadecimal digits")
    return np.frombuffer(content, np.uint64).reshape(-1, 2)


def of_texts(texts: Iterable[str]) -> Words:
    """Digests of texts."""
    content = bytearray()
    for text in texts:
        content += hashlib.blake2b(text.encode(), digest_size=16).digest()
    return np.frombuffer(content, np.uint64).reshape(-1, 2)


def mixed(digests: Words, numbers: Numbers, text: str = "") -> Words:
    """Digests of the digests with a number each, and with a text: different where any of the three is.

    The numbers are spread by the finaliser of SplitMix64 (Steele, Lea, Flood 2014), which is one to one: one digest
    with different numbers never gives the same. Else two are the same as rarely as two digests of 128 bits are.
    """
    salt = np.frombuffer(hashlib.blake2b(text.encode(), digest_size=16).digest(), np.uint64)
    plain = numbers.astype(np.int64).view(np.uint64)
    found = np.empty((len(plain), 2), np.uint64)
    found[:, 0] = digests[:, 0] ^ _spread(plain) ^ salt[0]
    found[:, 1] = digests[:, 1] ^ _spread(~plain) ^ salt[1]
    return found


def _spread(x: Words) -> Words:
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def of_runs(frame: polars.DataFrame) -> Words:
    """Digests of the names of runs: `scenario_key`, `seed`, `engine`."""
    keys, seeds = words(frame["scenario_key"].to_list()), frame["seed"].to_numpy()
    engines = frame["engine"].unique().to_list()
    if len(engines) == 1:
        return mixed(keys, seeds, engines[0])
    found = np.empty((len(frame), 2), np.uint64)
    for engine in engines:
        here = (frame["engine"] == engine).to_numpy()
        found[here] = mixed(keys[here], seeds[here], engine)
    return found


def firsts(digests: Words) -> Numbers:
    """For each digest, the position at which the same digest stands first."""
    count = len(digests)
    order = np.lexsort((digests[:, 1], digests[:, 0]))
    ordered = digests[order]
    new = np.ones(count, bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    found = np.empty(count, np.int64)
    # The sort is stable: the first of equal ones comes first.
    found[order] = order[np.flatnonzero(new)][np.cumsum(new) - 1]
    return found


class Index:
    """Numbers below 2^32 by digest. Of a digest that was put in twice, one of the numbers is found."""

    def __init__(self) -> None:
        # Pieces sorted by the first word. Each is more than twice as long as the next one, so few are searched, and the
        # time for merging them grows hardly faster than their length.
        self._pieces: list[tuple[Words, Words, np.ndarray[Any, np.dtype[np.uint32]]]] = []

    def __len__(self) -> int:
        return sum(len(first) for first, _, _ in self._pieces)

    def put(self, digests: Words, numbers: int | Numbers) -> None:
        """Put digests in, each with its number or all with the same one."""
        if not len(digests):
            return
        order = np.argsort(digests[:, 0], kind="stable")
        every = np.broadcast_to(np.asarray(numbers, np.uint32), len(digests))
        self._pieces.append((digests[order, 0], digests[order, 1], every[order]))
        while len(self._pieces) > 1 and len(self._pieces[-2][0]) <= 2 * len(self._pieces[-1][0]):
            (a, b), self._pieces = self._pieces[-2:], self._pieces[:-2]
            first = np.concatenate([a[0], b[0]])
            # Two sorted stretches: a stable sort merges them.
            order = np.argsort(first, kind="stable").astype(np.uint32)
            self._pieces.append(
                (first[order], np.concatenate([a[1], b[1]])[order], np.concatenate([a[2], b[2]])[order])
            )

    def find(self, digests: Words) -> Numbers:
        """The number of each digest; -1 for those that are not there."""
        found = np.full(len(digests), -1, np.int64)
        for first, second, numbers in self._pieces:
            left = np.flatnonzero(found < 0)
            at = np.searchsorted(first, digests[left, 0])
            while len(left):
                # Different digests with the same first word lie side by side.
                near = at < len(first)
                left, at = left[near], at[near]
                near = first[at] == digests[left, 0]
                left, at = left[near], at[near]
                same = second[at] == digests[left, 1]
                found[left[same]] = numbers[at[same]]
                left, at = left[~same], at[~same] + 1
        return found

    def drop(self, numbers: Collection[int]) -> None:
        """Take out everything with one of these numbers."""
        gone = np.fromiter(numbers, np.uint32, len(numbers))
        kept = [(piece, ~np.isin(piece[2], gone)) for piece in self._pieces]
        self._pieces = [(a[k], b[k], c[k]) for (a, b, c), k in kept if k.any()]
