"""Designs: which combinations of levels are run."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .lazy import Lazy
from .model import Design, Factor, Level, Point

if TYPE_CHECKING:
    import numpy

MOST = 1_000_000
"""Most points of a sweep."""
KEPT = 64
"""Number of points that are kept, because several tables ask for each."""


def size(kind: Design, factors: Sequence[Factor], points: int, cross: Sequence[str]) -> int:
    """How many points a design has before conditions are looked at."""
    if kind == "list":
        return points
    crossed = 1
    for factor in factors:
        if kind == "grid" or factor.name in cross:
            crossed *= len(factor.levels)
    return crossed if kind == "grid" else points * crossed


def points(kind: Design, factors: Sequence[Factor], count: int, seed: int, cross: Sequence[str]) -> Sequence[Point]:
    """The points of a grid, or of a random or Sobol design of `count` points crossed with the factors in `cross`.

    Each is made when it is asked for.
    """
    total = size(kind, factors, count, cross)
    if kind == "grid":
        return Lazy(total, lambda k: Point(_combination(factors, k)), KEPT)
    drawn = [k for k, f in enumerate(factors) if f.name not in cross]
    crossed = [k for k, f in enumerate(factors) if f.name in cross]
    shares = _shares(kind, count, len(drawn), seed)
    each = total // count

    def point(number: int) -> Point:
        row, place = divmod(number, each)
        chosen: dict[int, Level] = {
            k: factors[k].at(share) for k, share in zip(drawn, shares[row].tolist(), strict=True)
        }
        chosen |= dict(zip(crossed, _combination([factors[k] for k in crossed], place), strict=True))
        return Point(tuple(chosen[k] for k in range(len(factors))))

    return Lazy(total, point, KEPT)


def _combination(factors: Sequence[Factor], number: int) -> tuple[Level, ...]:
    """A combination of levels by its number; the last factor varies fastest."""
    found: list[Level] = []
    for factor in reversed(factors):
        number, place = divmod(number, len(factor.levels))
        found.append(factor.levels[place])
    return tuple(reversed(found))


def chosen(points: Sequence[Point], numbers: Iterable[int]) -> Sequence[Point]:
    """Some of the points, of which only the numbers are kept."""
    kept = array("I", numbers)
    return Lazy(len(kept), lambda k: points[kept[k]])


def _shares(kind: Design, count: int, dimensions: int, seed: int) -> numpy.ndarray[Any, Any]:
    """`count` points of the unit cube."""
    import numpy as np

    if dimensions == 0:
        return np.empty((count, 0))
    if kind == "random":
        # The raw output of PCG64 is promised to stay the same.
        raw = np.random.PCG64(seed).random_raw(count * dimensions) >> np.uint64(11)
        return (raw.astype(float) * 2.0**-53).reshape(count, dimensions)
    from scipy.stats import qmc

    sequence = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(seed))
    # A power of two keeps the sequence balanced; its first `count` points are taken.
    found: numpy.ndarray[Any, Any] = sequence.random_base2(max(0, (count - 1).bit_length()))[:count]
    return found
