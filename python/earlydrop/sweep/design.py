"""Designs: which points of the factors' space are run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from .model import Design, Factor, Level, Point

MOST = 1_000_000
"""Points of a sweep."""


def size(kind: Design, factors: Sequence[Factor], points: int, cross: Sequence[str]) -> int:
    """How many points a design has before conditions are looked at."""
    if kind == "list":
        return points
    crossed = 1
    for factor in factors:
        if kind == "grid" or factor.name in cross:
            crossed *= len(factor.levels)
    return crossed if kind == "grid" else points * crossed


def points(kind: Design, factors: Sequence[Factor], count: int, seed: int, cross: Sequence[str]) -> Iterator[Point]:
    """The points of a grid, or of a random or Sobol design of `count` points crossed with the factors in `cross`."""
    if kind == "grid":
        yield from (Point(levels) for levels in itertools.product(*(f.levels for f in factors)))
        return
    drawn = [k for k, f in enumerate(factors) if f.name not in cross]
    crossed = [k for k, f in enumerate(factors) if f.name in cross]
    for row in _shares(kind, count, len(drawn), seed):
        chosen: dict[int, Level] = {k: factors[k].at(share) for k, share in zip(drawn, row, strict=True)}
        for combination in itertools.product(*(factors[k].levels for k in crossed)):
            chosen |= dict(zip(crossed, combination, strict=True))
            yield Point(tuple(chosen[k] for k in range(len(factors))))


def _shares(kind: Design, count: int, dimensions: int, seed: int) -> list[list[float]]:
    """`count` points of the unit cube."""
    import numpy as np

    if dimensions == 0:
        return [[] for _ in range(count)]
    if kind == "random":
        # The raw output of PCG64 is promised to stay the same.
        raw = np.random.PCG64(seed).random_raw(count * dimensions) >> np.uint64(11)
        shares: list[list[float]] = (raw.astype(float) * 2.0**-53).reshape(count, dimensions).tolist()
        return shares
    from scipy.stats import qmc

    sequence = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(seed))
    # A power of two keeps the sequence balanced; the first points of it are taken.
    found: list[list[float]] = sequence.random_base2(max(0, (count - 1).bit_length()))[:count].tolist()
    return found
