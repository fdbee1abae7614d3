"""Statistics of replicated simulations: intervals, paired differences, tests, corrections, stopping.

The unit of replication is the seed. Two disciplines that were run with the same seeds saw the same random
start times, so their difference is taken seed by seed (common random numbers) and Student's t is applied to
the differences. `compare`, `reproduce` and `sweep` all compute here. How often the intervals hold what they
promise is measured in `make coverage`.

Where nothing in a scenario is random, all its seeds give the same run. That is one replication, however many seeds
were run: callers who find it so (by the digests of the results) say `same_run`, and get no interval and no test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy

CONFIDENCE = 0.95
ALPHA = 0.05
"""A p value below this counts as clear."""
POWER = 0.8
CLEAR = 3
"""Pairs that a difference needs to be called clear: two that agree say nearly nothing of what a third would be."""
ALL_RUNS = "in all runs"
"""Said of runs that differ in other things and all have the same value."""
Interval = Literal["t", "bootstrap"]


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean, summed exactly so that the order of the values does not matter."""
    if not values:
        raise ValueError("the mean of no values is undefined")
    if all(x == values[0] for x in values):
        return float(values[0])
    return math.fsum(values) / len(values)


def deviation(values: Sequence[float]) -> float | None:
    """Standard deviation of a sample (divisor n - 1); None for fewer than two values."""
    if len(values) < 2:
        return None
    if all(x == values[0] for x in values):
        return 0.0
    centre = mean(values)
    return math.sqrt(math.fsum((x - centre) ** 2 for x in values) / (len(values) - 1))


@cache
def t_quantile(probability: float, freedom: int) -> float:
    """The value below which Student's t with `freedom` degrees lies with `probability`."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with the half-width of its confidence interval (None for a single replication)."""

    mean: float
    half_width: float | None
    n: int
    """Number of seeds."""
    deviation: float | None = None
    same_run: bool = False
    """Whether every seed gave the same run: then there is one replication."""

    @property
    def replicates(self) -> int:
        """Independent values behind the mean."""
        return min(self.n, 1) if self.same_run else self.n

    @property
    def lower(self) -> float | None:
        """Lower end of the interval."""
        return None if self.half_width is None else self.mean - self.half_width

    @property
    def upper(self) -> float | None:
        """Upper end of the interval."""
        return None if self.half_width is None else self.mean + self.half_width

    def within(self, bounds: tuple[float, float]) -> tuple[float, float] | None:
        """The interval, cut at the smallest and the largest value the measure can take; None without an interval.

        A mean beyond a bound (a utilisation of 1.0001, where a packet is counted when its transmission starts) moves
        the bound.
        """
        if self.half_width is None:
            return None
        return clipped(self.mean - self.half_width, self.mean, self.mean + self.half_width, bounds)

    def document(self) -> dict[str, float | int | None]:
        """Plain values for a result document."""
        return {"mean": self.mean, "half_width": self.half_width, "n": self.n, "replicates": self.replicates}


def clipped(lower: float, centre: float, upper: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """An interval cut at bounds, which never cut off its centre."""
    return max(lower, min(bounds[0], centre)), min(upper, max(bounds[1], centre))


def estimate(
    values: Sequence[float], confidence: float = CONFIDENCE, *, same_run: bool = False, step: float = 0.0
) -> Estimate:
    """Mean and Student-t confidence half-width of independent values; no interval if all seeds gave the same run.

    Of differences of two values that each come in steps the variance is at least step^2 / 6: either value stands for
    all that lie within half a step of it, which adds step^2 / 12 to its variance. So few values that happen to fall on
    the same step are not taken for values that never vary. Zeros alone get no variance: they may be the same value.
    """
    if same_run:
        return Estimate(mean(values), None, len(values), same_run=True)
    centre, spread, n = mean(values), deviation(values), len(values)
    if spread is not None and any(values):
        spread = max(spread, step / math.sqrt(6))
    if spread is None:
        return Estimate(centre, None, n)
    if spread == 0.0:
        return Estimate(centre, 0.0, n, 0.0)
    t = t_quantile(0.5 + confidence / 2, n - 1)
    return Estimate(centre, t * spread / math.sqrt(n), n, spread)


def interval(
    values: Sequence[float], kind: Interval = "t", confidence: float = CONFIDENCE
) -> tuple[float, float] | None:
    """Ends of the confidence interval of the mean; None for a single value.

    `kind` is "t" (Student) or "bootstrap" (`bootstrap`).
    """
    if kind == "bootstrap":
        return bootstrap(values, confidence)
    found = estimate(values, confidence)
    return None if found.lower is None or found.upper is None else (found.lower, found.upper)


RESAMPLES = 5000
"""Resamples of a bootstrap interval."""


@cache
def _resamples(n: int) -> numpy.ndarray[Any, Any]:
    """Which of n values are drawn, resample by resample; the same in every process and version of numpy."""
    import numpy as np

    # PCG64's raw output is promised to stay; what Generator makes of it is not.
    raw = np.random.PCG64(20).random_raw(RESAMPLES * n).reshape(RESAMPLES, n)
    # The upper 32 bits times n: no value is favoured by more than n / 2**32.
    return ((raw >> np.uint64(32)) * np.uint64(n) >> np.uint64(32)).astype(np.intp)


def bootstrap(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Bootstrap interval of the mean, bias-corrected and accelerated (Efron 1987); None for a single value.

    It assumes no form of the distribution, but with few values it is too short: `make coverage` measures by how much.
    The resamples are always the same, so equal values give equal intervals.
    """
    import numpy as np
    from scipy.special import ndtr, ndtri

    n = len(values)
    if n < 2:
        return None
    x = np.asarray(values, float)
    if np.all(x == x[0]):
        return float(x[0]), float(x[0])
    means = np.sort(x[_resamples(n)].mean(axis=1))
    centre = mean(values)
    below = (np.searchsorted(means, centre, "left") + np.searchsorted(means, centre, "right")) / 2
    bias = ndtri(below / RESAMPLES)
    # Jackknife: the means without one value each.
    left = (x.sum() - x) / (n - 1)
    away = left.mean() - left
    acceleration = float((away**3).sum() / (6 * (away**2).sum() ** 1.5))
    ends = bias + ndtri([(1 - confidence) / 2, (1 + confidence) / 2])
    share = ndtr(bias + ends / (1 - acceleration * ends))
    lower, upper = np.quantile(means, share)
    return float(lower), float(upper)


def t_test(differences: Sequence[float], step: float = 0.0) -> float | None:
    """Two-sided p value of Student's one-sample test of mean zero; `step` is that of `estimate`.

    None for a single value, and for values that are all equal: they do not say how much they vary. It is below 0.05
    exactly where the 95 % interval excludes zero.
    """
    from scipy.special import stdtr

    found = estimate(differences, step=step)
    if not found.deviation:
        return None
    t = abs(found.mean) / (found.deviation / math.sqrt(found.n))
    return float(2 * stdtr(found.n - 1, -t))


def wilcoxon(differences: Sequence[float]) -> float:
    """Two-sided p value of Wilcoxon's signed-rank test: are the differences symmetric about zero?

    Differences of exactly zero are left out, as in the sign test; with none left the answer is 1. The test is exact up
    to 50 differences without ties, and uses the normal approximation beyond (scipy).
    """
    from scipy.stats import wilcoxon as test

    kept = [d for d in differences if d != 0]
    if not kept:
        return 1.0
    ties = len({abs(d) for d in kept}) < len(kept)
    method = "exact" if len(kept) <= 50 and not ties else "approx"
    return float(test(kept, method=method).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """p values corrected for their number by Holm's method (1979).

    With a probability of 95 % none that falls below 0.05 after it is false, whatever depends on what.
    """
    import numpy as np

    found: list[float] = holm_array(np.asarray(p_values, float)).tolist()
    return found


def holm_array(p_values: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """`holm` for an array."""
    import numpy as np

    order = np.argsort(p_values, kind="stable")
    found = np.empty(len(order))
    found[order] = np.maximum.accumulate(np.minimum(1.0, np.arange(len(order), 0, -1) * p_values[order]))
    return found


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """p values corrected by Benjamini and Hochberg's method (1995).

    Of all that fall below 0.05 after it, a share of at most 5 % is false on average, if the tests are independent or
    positively dependent.
    """
    import numpy as np

    found: list[float] = benjamini_hochberg_array(np.asarray(p_values, float)).tolist()
    return found


def benjamini_hochberg_array(p_values: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """`benjamini_hochberg` for an array."""
    import numpy as np

    order = np.argsort(-p_values, kind="stable")
    count = len(order)
    found = np.empty(count)
    found[order] = np.minimum.accumulate(np.minimum(1.0, p_values[order] * count / np.arange(count, 0, -1)))
    return found


def corrected(method: Callable[[Sequence[float]], list[float]], p_values: Sequence[float | None]) -> list[float | None]:
    """p values after `holm` or `benjamini_hochberg`; a missing one counts as a test that found nothing."""
    found = method([1.0 if p is None else p for p in p_values])
    return [None if p is None else q for p, q in zip(p_values, found, strict=True)]


def sign_test(differences: Iterable[float]) -> float:
    """Two-sided exact sign test: how likely a split at least this uneven is if both signs are equally likely.

    Differences of exactly zero carry no sign and are left out; with none left the answer is 1.
    """
    signs = [d > 0 for d in differences if d != 0]
    n = len(signs)
    if n == 0:
        return 1.0
    fewer = min(sum(signs), n - sum(signs))
    from scipy.special import bdtr

    # The binomial distribution function, exact to some 14 digits for any number of pairs.
    return min(1.0, 2 * float(bdtr(fewer, n, 0.5)))


def detectable_effect(spread: float, n: int, confidence: float = CONFIDENCE, power: float = POWER) -> float | None:
    """Smallest true mean that a two-sided t test on `n` values detects, on its side, with probability `power`.

    `spread` is the standard deviation of one value. By the non-central t distribution.
    """
    if n < 2:
        return None
    from scipy.special import nctdtrinc

    shift = float(nctdtrinc(n - 1, 1 - power, t_quantile(0.5 + confidence / 2, n - 1)))
    return shift * spread / math.sqrt(n)


def prediction(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Prediction interval for one more value of the same distribution; None for a single value."""
    found = estimate(values, confidence)
    if found.half_width is None:
        return None
    half = found.half_width * math.sqrt(found.n + 1)
    return found.mean - half, found.mean + half


@dataclass(frozen=True)
class Difference:
    """Treatment minus control, for each pair."""

    estimate: Estimate
    control: float
    """Mean of the control, to which relative effects refer."""
    wins: int
    """Pairs in which the treatment was larger."""
    losses: int
    """Pairs in which the treatment was smaller."""
    sign_p: float | None
    """Two-sided p value of the sign test; None for a single replication."""
    detectable: float | None
    """Smallest true difference these pairs would have shown with 80 % probability."""
    values: tuple[float, ...] = ()
    """The difference of each pair."""
    step: float = 0.0
    """What one packet more or less changes in a value."""

    @property
    def clear(self) -> bool:
        """Whether the interval excludes zero, of enough pairs that are not all equal."""
        found = self.estimate
        if found.lower is None or found.upper is None or found.n < CLEAR or not found.deviation:
            return False
        return found.lower > 0 or found.upper < 0

    def stars(self, p_holm: float | None) -> int:
        """1 if the difference is clear, 2 if it is so after Holm's correction too."""
        return 0 if not self.clear or p_holm is None else 1 + (p_holm < ALPHA)

    def around(self, confidence: float) -> tuple[float, float] | None:
        """The interval at another confidence; None for a single replication."""
        found = estimate(self.values, confidence, same_run=self.estimate.same_run, step=self.step)
        return None if found.lower is None or found.upper is None else (found.lower, found.upper)

    @property
    def t_p(self) -> float | None:
        """Two-sided p value of the t test; None for a single replication and for differences that are all equal."""
        return t_test(self.values, self.step) if self.estimate.replicates > 1 else None

    @property
    def wilcoxon_p(self) -> float | None:
        """Two-sided p value of Wilcoxon's signed-rank test; None for a single replication."""
        return wilcoxon(self.values) if self.estimate.replicates > 1 else None

    @property
    def relative(self) -> float | None:
        """Mean difference as a fraction of the control's mean."""
        return self.estimate.mean / self.control if self.control else None

    def document(self) -> dict[str, float | int | None]:
        """Plain values for a result document."""
        return {
            "mean": self.estimate.mean,
            "lower": self.estimate.lower,
            "upper": self.estimate.upper,
            "half_width": self.estimate.half_width,
            "n": self.estimate.n,
            "replicates": self.estimate.replicates,
            "relative": self.relative,
            "control": self.control,
            "wins": self.wins,
            "losses": self.losses,
            "t_test_p": self.t_p,
            "sign_test_p": self.sign_p,
            "wilcoxon_p": self.wilcoxon_p,
            "detectable": self.detectable,
        }


def paired(
    treatment: Sequence[float],
    control: Sequence[float],
    confidence: float = CONFIDENCE,
    *,
    same_run: bool = False,
    step: float = 0.0,
) -> Difference:
    """Compare two series whose i-th values were made with the same seed.

    `same_run` says that in either series every seed gave the same run: the difference is then one value. `step` is what
    one packet more or less changes in a value, and bounds the variance of the differences (`estimate`).

    Where every difference is exactly zero the pairs say nothing about their own noise; the detectable effect
    is then computed as for two independent samples, which is the larger and therefore the safe answer.
    """
    if len(treatment) != len(control):
        raise ValueError(f"pairs needed: {len(treatment)} values against {len(control)}")
    differences = subtracted(treatment, control)
    result = estimate(differences, confidence, same_run=same_run, step=step)
    spread = result.deviation
    if spread == 0.0:
        own, other = deviation(treatment) or 0.0, deviation(control) or 0.0
        spread = math.hypot(own, other)
    counted = differences[: result.replicates]
    return Difference(
        estimate=result,
        control=mean(control),
        wins=sum(d > 0 for d in counted),
        losses=sum(d < 0 for d in counted),
        sign_p=sign_test(differences) if result.replicates > 1 else None,
        detectable=None if spread is None else detectable_effect(spread, len(differences), confidence),
        values=tuple(differences),
        step=step,
    )


def subtracted(first: Sequence[float], second: Sequence[float], times: float = 1.0) -> list[float]:
    """The first list less `times` times the second, value by value; all equal where only rounding tells them apart."""
    found = [a - times * b for a, b in zip(first, second, strict=True)]
    size = max((abs(x) for a, b in zip(first, second, strict=True) for x in (a, times * b)), default=0.0)
    if found and max(found) - min(found) <= 8 * math.ulp(size):
        near = mean(found)
        return [0.0 if abs(near) <= 8 * math.ulp(size) else near] * len(found)
    return found


def same_run_note(seeds: int, where: Sequence[str] = ()) -> str:
    """Why there is no interval: every seed gave the same run, everywhere or in some places."""
    add = 'add a random `start`, such as start = { uniform = ["0 s", "1 s"] }, to have replications'
    if not where:
        return f"all {seeds} seeds give the same run: nothing in this scenario is random; {add}"
    names = ", ".join(where)
    return f"{names}: all {seeds} seeds give the same run, because nothing there is random; {add}"


def relative_spread(values: Sequence[float]) -> float:
    """Standard deviation as a fraction of the mean (coefficient of variation)."""
    centre = mean(values)
    spread = deviation(values)
    if spread is None or centre == 0:
        return 0.0
    return spread / abs(centre)


def jain(values: Sequence[float]) -> float:
    """Jain's fairness index: 1 when all shares are equal, 1/n when one has everything."""
    squares = math.fsum(x * x for x in values)
    if not values or squares == 0:
        return 1.0
    return math.fsum(values) ** 2 / (len(values) * squares)


def coefficient_of_variation(values: Sequence[float]) -> float | None:
    """Standard deviation of the population by the mean, as a result's `cov`: Jain's index is 1 / (1 + its square).

    None if all values are zero.
    """
    if not values or (centre := math.fsum(values) / len(values)) <= 0:
        return None
    return math.sqrt(math.fsum((x - centre) ** 2 for x in values) / len(values)) / centre


# ---- how many seeds ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stopping:
    """Run seeds until the interval is narrow enough, at most `most`.

    `relative` bounds the half-width as a fraction of the mean. At least `least` seeds are run. Looking again after each
    seed makes the interval cover a little less than it says: `make coverage` measures by how much.
    """

    relative: float
    least: int = 10
    most: int = 200
    confidence: float = CONFIDENCE

    def narrow(self, values: Sequence[float]) -> bool:
        """Whether the interval of these values is narrow enough."""
        found = estimate(values, self.confidence)
        return found.half_width is not None and found.half_width <= self.relative * abs(found.mean)

    def enough(self, values: Sequence[float]) -> bool:
        """Whether to stop after these values."""
        return len(values) >= self.most or (len(values) >= self.least and self.narrow(values))

    def wanted(self, values: Sequence[float]) -> int:
        """Number of seeds to run before the next check: as the variance requires, at most twice as many."""
        n = len(values)
        if n < self.least:
            return self.least
        if self.enough(values):
            return n
        found = estimate(values, self.confidence)
        if not found.half_width or not found.mean:
            return min(self.most, n + 1)
        needed = n * (found.half_width / (self.relative * abs(found.mean))) ** 2
        return min(self.most, 2 * n, max(n + 1, math.ceil(min(needed, 1e9))))
