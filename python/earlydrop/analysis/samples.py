"""Intervals and tests of the number that a claim is about, which hold for skewed data and for several levels too.

Student's interval is too short on the side of a long tail. Johnson (1978) corrects t for the skewness of the values,
Hall (1992) completes his correction to a function that rises everywhere:

    h(t) = t + a t^2 / 3 + a^2 t^3 / 27 + a / 6,    a = skewness / sqrt(n)

A number is excluded here where both t and h(t) exclude it, on the same side, so an interval is the hull of Student's
and of Hall's. Few values show less skewness than their distribution has: the estimate is raised (`RAISED`).

A number that is made of several levels of an axis is made of their means over the seeds, never seed by seed: the range
of six noisy values is not the range of what they are noisy values of.

- The largest and the smallest level and the range are extremes of means and differences of levels. "One of them is
  beyond" must hold for any, and pays for their number (Bonferroni); "none of them is" must hold for each, and pays
  nothing.
- The variance of levels is estimated by products of different seeds, whose noise is independent, so that it is zero on
  average where the levels are equal. It has its error by the jackknife, and is judged twice: by the squares, which hold
  their level where the levels hardly differ, and by their roots, which do where they differ.

How often all this is wrong is measured by `make coverage`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np

from .statistics import ALPHA, POWER, mean

Array = np.ndarray[Any, Any]

RAISED = (1.2, 1.5)
"""The estimated skewness is multiplied by the first plus the second over n."""


# ---- means ---------------------------------------------------------------------------------------------------------


class Means:
    """Means over the last axis of an array, with the limits that skewed data need."""

    def __init__(self, values: Array) -> None:
        self.n = n = values.shape[-1]
        self.mean = values.mean(axis=-1)
        away = values - self.mean[..., None]
        # The mean of equal values may differ from them by rounding.
        equal = (values == values[..., :1]).all(axis=-1)
        spread = np.where(equal, 0.0, np.sqrt((away**2).sum(axis=-1) / (n - 1)))
        self.error = spread / math.sqrt(n)
        with np.errstate(divide="ignore", invalid="ignore"):
            skewness = n / (n - 1) / (n - 2) * (away**3).sum(axis=-1) / spread**3 if n > 2 else 0 * spread
        self._a = np.where(spread > 0, (RAISED[0] + RAISED[1] / n) * skewness / math.sqrt(n), 0.0)

    def _inverse(self, h: float | Array) -> Array:
        """The value t at which h(t) has the given value."""
        a = np.where(np.abs(self._a) < 1e-9, 1.0, self._a)
        found: Array = np.where(a == self._a, 3 / a * (np.cbrt(1 + a * (h - a / 6)) - 1), h)
        return found

    def lower(self, tail: float) -> Array:
        """Lower ends that lie above the truth with this probability."""
        q = _quantile(self.n - 1, tail)
        found: Array = self.mean - np.maximum(q, self._inverse(q)) * self.error
        return found

    def upper(self, tail: float) -> Array:
        """Upper ends that lie below the truth with this probability."""
        q = _quantile(self.n - 1, tail)
        found: Array = self.mean + np.maximum(q, -self._inverse(-q)) * self.error
        return found

    def p(self, edge: float) -> Array:
        """Two-sided p values of the means being at an edge; 1 where all values are equal."""
        from scipy.special import stdtr

        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(self.error > 0, (self.mean - edge) / self.error, 0.0)
        a = self._a
        h = t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6
        weaker = np.where(h * t > 0, np.minimum(np.abs(t), np.abs(h)), 0.0)
        found: Array = 2 * stdtr(self.n - 1, -weaker)
        return found


@lru_cache(4096)
def _quantile(freedom: int, tail: float) -> float:
    """The value that Student's t exceeds with this probability."""
    from scipy.special import stdtrit

    return -float(stdtrit(freedom, tail))


DRAWS = 4000


@cache
def _detectable(n: int, tail: float, power: float) -> float:
    """The shift, in standard deviations, that the interval of n normal values excludes from zero with this power."""
    from scipy.optimize import brentq
    from scipy.special import ndtri

    # PCG64's raw output is promised to stay. Each draw is used with both signs.
    raw = np.random.PCG64(21).random_raw(DRAWS * n).reshape(DRAWS, n)
    draws = ndtri(((raw >> np.uint64(11)) + 0.5) * 2.0**-53)
    # The interval moves with the values: find by how much its lower end must move to reach zero.
    needed = -np.concatenate([Means(draws).lower(tail), Means(-draws).lower(tail)])
    return float(brentq(lambda shift: float((needed < shift).mean()) - power, 0, float(needed.max()), xtol=1e-3))


def detectable_effect(spread: float, n: int, alpha: float = ALPHA, power: float = POWER) -> float | None:
    """Smallest true mean that the interval of `n` normal values excludes from zero, on its side, with `power`."""
    return None if n < 2 else _detectable(n, alpha / 2, power) * spread


def may_differ(n: int, alpha: float = ALPHA) -> float:
    """The largest share of runs that may differ where n runs are all equal, at this confidence."""
    return float(1 - alpha ** (1 / n))


# ---- samples -------------------------------------------------------------------------------------------------------


class Sample(ABC):
    """What the runs of some seeds say of one number."""

    centre: float
    """Estimate of the number."""
    deviation: float
    """Standard deviation of one run's estimate of the number."""

    @abstractmethod
    def ends(self, alpha: float = ALPHA) -> tuple[float, float]:
        """The number's interval, which leaves out the truth with this probability at most."""

    def p(self, edge: float) -> float:
        """Two-sided p value of an edge: the alpha at which its interval reaches the edge."""

        def inside(alpha: float) -> bool:
            lower, upper = self.ends(alpha)
            return lower <= edge <= upper

        low, high = -40.0, 0.0
        if inside(1.0):
            return 1.0
        while high - low > 1e-3:
            middle = (low + high) / 2
            low, high = (middle, high) if inside(math.exp(middle)) else (low, middle)
        return math.exp(high)


class Mean(Sample):
    """The mean of one value per seed."""

    def __init__(self, values: Sequence[float]) -> None:
        self.centre = mean(values)
        self._found = Means(np.asarray(values, float))
        self.deviation = float(self._found.error) * math.sqrt(len(values))

    def ends(self, alpha: float = ALPHA) -> tuple[float, float]:
        return float(self._found.lower(alpha / 2)), float(self._found.upper(alpha / 2))

    def p(self, edge: float) -> float:
        return float(self._found.p(edge))


class Ratio(Sample):
    """A ratio of two numbers: the k at which the first less k times the second is zero.

    The mean of a seed's ratios is another number, which depends on how much the second varies.
    """

    def __init__(self, less: Callable[[float], Sample], centre: float, scale: float) -> None:
        """`less` gives the first less a multiple of the second; `scale` is the second."""
        self._less, self.centre, self._scale = less, centre, scale
        self.deviation = less(centre).deviation / abs(scale)

    def _end(self, alpha: float, side: int) -> float:
        from scipy.optimize import brentq

        # Where the second is negative, the first less k times it grows with k.
        at = side if self._scale > 0 else 1 - side
        step = max(self.deviation, 1e-9 * abs(self.centre), 1e-300)
        way = -1 if side == 0 else 1

        def f(k: float) -> float:
            return self._less(k).ends(alpha)[at]

        if f(self.centre) == 0:
            return self.centre
        for _ in range(40):
            if f(self.centre) * f(self.centre + way * step) <= 0:
                return float(brentq(f, self.centre, self.centre + way * step, rtol=1e-9))
            step *= 2
        return way * math.inf

    def ends(self, alpha: float = ALPHA) -> tuple[float, float]:
        return self._end(alpha, 0), self._end(alpha, 1)

    def p(self, edge: float) -> float:
        return self._less(edge).p(0.0)


# ---- extremes of levels --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Extreme:
    """The largest of the smallest: values by alternative of the former, of the latter, and seed."""

    values: Array
    several: int
    """Number of alternatives of the former: those that are surely smaller may be left out of the values."""
    each: int
    """Alternatives of the latter."""

    @property
    def _means(self) -> Array:
        found: Array = self.values.mean(axis=-1)
        return found

    @property
    def at(self) -> tuple[int, int]:
        """Row and column of the means at which the extreme lies."""
        row = int(self._means.min(axis=1).argmax())
        return row, int(self._means[row].argmin())

    def __add__(self, other: Extreme) -> Extreme:
        """The sum of two extremes: the largest over pairs of the smallest over pairs."""
        n = self.values.shape[-1]
        sums = self.values[:, None, :, None, :] + other.values[None, :, None, :, :]
        rows, columns = (a * b for a, b in zip(self.values.shape[:2], other.values.shape[:2], strict=True))
        return Extreme(sums.reshape(rows, columns, n), self.several * other.several, self.each * other.each)

    def times(self, factor: float) -> Extreme:
        """The extreme of the numbers times `factor`."""
        if factor >= 0:
            return Extreme(factor * self.values, self.several, self.each)
        # Only with a single alternative of one kind: with several of both the order would matter.
        assert 1 in self.values.shape[:2]
        return Extreme(np.swapaxes(factor * self.values, 0, 1), self.each, self.several)


def largest(levels: Array) -> Extreme:
    """The largest level, of values by level and seed."""
    return Extreme(levels[:, None, :], len(levels), 1)


def smallest(levels: Array) -> Extreme:
    """The smallest level."""
    return Extreme(levels[None, :, :], 1, len(levels))


def spanned(levels: Array) -> Extreme:
    """The range of the levels: the largest difference of two."""
    order = levels[np.argsort(levels.mean(axis=-1), kind="stable")]
    first, second = np.tril_indices(len(order), -1)
    # A difference in the other order is negative and never the largest.
    return Extreme((order[first] - order[second])[:, None, :], 2 * len(first), 1)


class Extremes(Sample):
    """A sum of extremes of means."""

    def __init__(self, terms: Sequence[Extreme]) -> None:
        self._terms = [(term, Means(term.values)) for term in terms]
        self.centre = math.fsum(float(m.mean.min(axis=1).max()) for _, m in self._terms)
        self.deviation = float(np.std(sum(t.values[t.at] for t in terms), ddof=1))

    def ends(self, alpha: float = ALPHA) -> tuple[float, float]:
        tail = alpha / 2 / len(self._terms)
        lower = math.fsum(float(m.lower(tail / t.several).min(axis=1).max()) for t, m in self._terms)
        upper = math.fsum(float(m.upper(tail / t.each).max(axis=0).min()) for t, m in self._terms)
        return lower, upper


# ---- how much levels vary ------------------------------------------------------------------------------------------


class Spread:
    """How much levels vary about their mean: a deviation, or relative to the mean; the mean square over columns."""

    def __init__(self, columns: Sequence[Array], relative: bool) -> None:
        """Each column holds values by level and seed."""
        found = [_variance(column, relative) for column in columns]
        self.squares = np.mean([pseudo for pseudo, _ in found], axis=0)
        """Values per seed, whose mean is the square of the spread."""
        self.plain = math.sqrt(np.mean([plain for _, plain in found]))
        """The spread of the means, which noise makes larger."""
        self.size = math.sqrt(max(0.0, float(self.squares.mean())))

    @cached_property
    def roots(self) -> Array:
        """Values per seed, whose mean is the spread."""
        away = self.squares - self.squares.mean()
        found: Array = self.size + (away / (2 * self.plain) if self.plain > 0 else away)
        return found


def _variance(levels: Array, relative: bool) -> tuple[Array, float]:
    """Pseudovalues of the variance of the levels' means, and the variance of the means as they are."""
    count, n = levels.shape
    centred = levels - levels.mean(axis=0)
    total, squares = centred.sum(axis=1), (centred**2).sum(axis=0)
    products = float((total**2).sum() - squares.sum())
    rest = products - 2 * (total @ centred - squares)
    whole, without = products / (n * (n - 1)), rest / ((n - 1) * (n - 2))
    plain = float((total**2).sum()) / n**2
    if relative:
        own = levels.mean(axis=0)
        pairs = own.sum() ** 2 - (own**2).sum()
        left = pairs - 2 * own * (own.sum() - own)
        whole, without = whole / pairs * n * (n - 1), without / left * (n - 1) * (n - 2)
        plain /= float(own.mean()) ** 2
    return (n * whole - (n - 1) * without) / (count - 1), plain / (count - 1)


class _Root(Sample):
    """The root of a mean of squares; negative squares have negative roots."""

    def __init__(self, squares: Array) -> None:
        self._squares = Mean(squares.tolist())
        self.centre, self.deviation = _root(self._squares.centre), math.nan

    def ends(self, alpha: float = ALPHA) -> tuple[float, float]:
        lower, upper = self._squares.ends(alpha)
        return _root(lower), _root(upper)

    def p(self, edge: float) -> float:
        return self._squares.p(edge * abs(edge))


def _root(x: float) -> float:
    return math.copysign(math.sqrt(abs(x)), x)


class _Both(Sample):
    """Excludes what two samples exclude."""

    def __init__(self, centre: float, first: Sample, second: Sample) -> None:
        self._both = (first, second)
        self.centre, self.deviation = centre, first.deviation

    def ends(self, alpha: float = ALPHA) -> tuple[float, float]:
        (a, b), (c, d) = (one.ends(alpha) for one in self._both)
        return min(a, c), max(b, d)

    def p(self, edge: float) -> float:
        return max(one.p(edge) for one in self._both)


def scattered(of: Spread, to: Spread | None = None, times: float = 1.0) -> Sample:
    """How much levels vary, or how much more than `times` times others do."""
    if to is None:
        return _Both(of.size, Mean(of.roots.tolist()), _Root(of.squares))
    whole = of.plain + times * to.plain
    squares = (of.squares - times**2 * to.squares) / (whole if whole > 0 else 1.0)
    roots = (of.roots - times * to.roots).tolist()
    return _Both(of.size - times * to.size, Mean(roots), Mean(squares.tolist()))
