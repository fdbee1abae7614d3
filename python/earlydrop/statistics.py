"""Statistics of replicated simulations: intervals, paired differences, sign tests.

The unit of replication is the seed. Two disciplines that were run with the same seeds saw the same random
start times, so their difference is taken seed by seed (common random numbers) and Student's t is applied to
the differences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
POWER = 0.8


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


def t_quantile(probability: float, freedom: int) -> float:
    """The value below which Student's t with `freedom` degrees lies with `probability`."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with the half-width of its confidence interval (None for a single seed)."""

    mean: float
    half_width: float | None
    n: int
    deviation: float | None = None

    @property
    def lower(self) -> float | None:
        """Lower end of the interval."""
        return None if self.half_width is None else self.mean - self.half_width

    @property
    def upper(self) -> float | None:
        """Upper end of the interval."""
        return None if self.half_width is None else self.mean + self.half_width

    def document(self) -> dict[str, float | int | None]:
        """Plain values for a result document."""
        return {"mean": self.mean, "half_width": self.half_width, "n": self.n}


def estimate(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Mean and Student-t confidence half-width of independent values."""
    centre, spread, n = mean(values), deviation(values), len(values)
    if spread is None:
        return Estimate(centre, None, n)
    if spread == 0.0:
        return Estimate(centre, 0.0, n, 0.0)
    t = t_quantile(0.5 + confidence / 2, n - 1)
    return Estimate(centre, t * spread / math.sqrt(n), n, spread)


def sign_test(differences: Iterable[float]) -> float:
    """Two-sided exact sign test: how likely a split at least this uneven is if both signs are equally likely.

    Differences of exactly zero carry no sign and are left out; with none left the answer is 1.
    """
    signs = [d > 0 for d in differences if d != 0]
    n = len(signs)
    if n == 0:
        return 1.0
    fewer = min(sum(signs), n - sum(signs))
    tail = sum(math.comb(n, k) for k in range(fewer + 1)) / 2.0**n
    return min(1.0, 2 * tail)


def detectable_effect(spread: float, n: int, confidence: float = CONFIDENCE, power: float = POWER) -> float | None:
    """Smallest true mean that a two-sided t test on `n` values would detect with probability `power`.

    `spread` is the standard deviation of one value. The usual approximation is used: the quantile of the test
    plus the quantile of the power, times the standard error.
    """
    if n < 2:
        return None
    quantiles = t_quantile(0.5 + confidence / 2, n - 1) + t_quantile(power, n - 1)
    return quantiles * spread / math.sqrt(n)


@dataclass(frozen=True)
class Difference:
    """Treatment minus control, pair by pair."""

    estimate: Estimate
    control: float
    """Mean of the control, to which relative effects refer."""
    wins: int
    """Pairs in which the treatment was larger."""
    losses: int
    """Pairs in which the treatment was smaller."""
    sign_p: float
    """Two-sided p value of the sign test."""
    detectable: float | None
    """Smallest true difference these pairs would have shown with 80 % probability."""

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
            "relative": self.relative,
            "control": self.control,
            "wins": self.wins,
            "losses": self.losses,
            "sign_test_p": self.sign_p,
            "detectable": self.detectable,
        }


def paired(treatment: Sequence[float], control: Sequence[float], confidence: float = CONFIDENCE) -> Difference:
    """Compare two series whose i-th values were made with the same seed.

    Where every difference is exactly zero the pairs say nothing about their own noise; the detectable effect
    is then computed as for two independent samples, which is the larger and therefore the safe answer.
    """
    if len(treatment) != len(control):
        raise ValueError(f"pairs needed: {len(treatment)} values against {len(control)}")
    differences = [a - b for a, b in zip(treatment, control, strict=True)]
    result = estimate(differences, confidence)
    spread = result.deviation
    if spread == 0.0:
        own, other = deviation(treatment) or 0.0, deviation(control) or 0.0
        spread = math.hypot(own, other)
    return Difference(
        estimate=result,
        control=mean(control),
        wins=sum(d > 0 for d in differences),
        losses=sum(d < 0 for d in differences),
        sign_p=sign_test(differences),
        detectable=None if spread is None else detectable_effect(spread, len(differences), confidence),
    )


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
