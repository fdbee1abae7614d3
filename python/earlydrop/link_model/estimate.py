"""A model of a series: quantiles, memory, and what the series leaves open of both.

The model is a Gaussian process X, mapped: each value is the quantile of its share. Where in the series a quantile of
the process lies depends on X alone, whatever the mapping, so intervals of quantiles come from series of X, drawn with
memories that the series allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from . import gaussian, memory

Array = NDArray[np.float64]
DRAWN = 200
"""Series of X."""
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
LAGS_S = (0.1, 1.0, 5.0, 15.0, 30.0)
LEVEL = (0.025, 0.975)
_EVEN = 200
"""Shares whose quantiles make a mean."""
DIGIT = 0.01
"""The last digit of an autocorrelation: draws are never 0, but it may be."""


@dataclass(frozen=True)
class Measure:
    """A figure of the series, with the 95 % interval of the process; `None` is an end that the series does not fix."""

    name: str
    value: float
    low: float | None
    high: float | None
    unit: str = ""


@dataclass(frozen=True)
class Estimate:
    """What a series says of its process."""

    values: Array
    step_s: float
    grain: float
    ranked: Array
    """The values, sorted."""
    scores: Array
    ranked_scores: Array
    times: Array
    """Time constants, s."""
    spectrum: memory.Spectrum
    places: Array
    """Rows: memories of the scores that the series allows."""
    weights: Array
    """Rows: those of X that follow."""
    shape: gaussian.Mapped
    """What the mapping does to autocorrelations."""
    seed: int

    def quantile(self, share: Array) -> Array:
        """The series' own quantiles: the value at these shares of the sorted ones."""
        count = len(self.ranked)
        found: Array = self.ranked[np.clip((np.asarray(share) * count).astype(int), 0, count - 1)]
        return found

    def median_weights(self) -> Array:
        """The memory in the middle of what the series allows."""
        lags = np.geomspace(self.step_s, 2 * self.times[-1], 40)
        middle = np.median(gaussian.autocorrelation(self.weights, self.times, lags), axis=0)
        found: Array = memory.fitted(middle[None, :], self.times, lags)[0]
        return found

    def drawn(self, count: int) -> Array:
        """Rows: series of X of this length, each with a memory of its own."""
        draw = np.random.default_rng(self.seed)
        basis = np.exp(-np.arange(count + 1) * self.step_s / self.times[:, None])
        return np.array([gaussian.sample(row @ basis, draw) for row in self.weights])

    @property
    def unsettled(self) -> float:
        """The variance of a mean of X over the series, over that of X: what cannot be told from a trend."""
        every = memory.variance_of_mean(self.weights, self.times, self.step_s, len(self.values))
        return float(np.median(every))


def estimate(values: Array, step_s: float, grain: float, seed: int = 1) -> Estimate:
    """What values at even times say of their process; the same for the same values."""
    draw = np.random.default_rng(seed)
    scores, ranked_scores = memory.scores(values)
    times = memory.time_constants(step_s, len(values))
    found = memory.spectrum(scores, step_s, times)
    places, own_times = memory.posterior(found, draw)
    chosen = draw.choice(len(places), DRAWN, replace=False)
    places = places[chosen]
    ranked = np.sort(values)
    count = len(values)

    def at(ordered: Array) -> gaussian.Mapped:
        return gaussian.mapped(lambda shares: ordered[(shares * count).astype(int)])

    weights = memory.behind(memory.weights_of(places), own_times[chosen], times, at(ranked_scores))
    return Estimate(
        values,
        step_s,
        grain,
        ranked,
        scores,
        ranked_scores,
        times,
        found,
        places,
        weights,
        at(ranked),
        seed,
    )


def measures(found: Estimate, drawn: Array, zeros: bool = True) -> list[Measure]:
    """The figures of a series with their intervals; `drawn` are series of X of its length. `zeros`: values of 0 are a
    state of the link."""
    count = len(found.values)
    below = np.sort(drawn, axis=1)

    def shares_below(shares: Array) -> Array:
        thresholds = special.ndtri(shares)
        return np.array([np.searchsorted(row, thresholds, side="right") for row in below]) / count

    # The process' quantiles are the series' at other shares, by each series of X: their mean is the process'.
    every = (np.arange(_EVEN) + 0.5) / _EVEN
    low, high = np.quantile(found.quantile(shares_below(every)).mean(axis=1), LEVEL)
    said = [Measure("mean", float(found.values.mean()), max(0.0, float(low) - found.grain), float(high) + found.grain)]
    at = shares_below(np.array(SHARES))
    for share, every in zip(SHARES, at.T, strict=True):
        low, high = np.quantile(every, LEVEL)
        least = float(found.quantile(low)) - found.grain if low * count >= 1 else 0.0
        most = float(found.quantile(high)) + found.grain if high * count < count - 1 else None
        said.append(Measure(f"{100 * share:g} %", float(found.quantile(np.array(share))), max(0.0, least), most))
    said += _empty(found, drawn, shares_below) if zeros else []
    said += _correlations(found)
    return said


def _empty(found: Estimate, drawn: Array, shares_below: Callable[[Array], Array]) -> list[Measure]:
    """The share of values that are 0, and how long they last."""
    none = found.values <= 0
    share = float(none.mean())
    if not share:
        return []
    grid = special.ndtr(np.linspace(-4, 4, 321))
    every = shares_below(grid)
    low, high = np.quantile(every, LEVEL, axis=0)
    fits = grid[(low <= share) & (share <= high)]
    ends = (float(fits.min()), float(fits.max())) if len(fits) else (share, share)
    runs = lengths(none)
    # How far a series of this length is from what its own memory leads to.
    next_one = gaussian.autocorrelation(found.weights, found.times, np.array([found.step_s]))[:, 0]
    expected = gaussian.mean_run(np.full(len(drawn), share), next_one)
    low_enough = drawn <= special.ndtri(share)
    ratios = [law / lengths(row).mean() for law, row in zip(expected, low_enough, strict=True) if row.any()]
    mean = float(runs.mean()) * found.step_s
    low, high = mean * np.quantile(ratios, LEVEL)
    return [
        Measure("share at 0", share, *ends, unit="share"),
        Measure("mean time at 0", mean, float(low), float(high), unit="s"),
        Measure("longest time at 0", float(runs.max()) * found.step_s, None, None, unit="s"),
    ]


def lengths(flags: NDArray[np.bool_]) -> Array:
    """Lengths of the runs of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return (edges[1::2] - edges[::2]).astype(float)


def lags(step_s: float, count: int) -> list[float]:
    """The lags at which autocorrelations are shown."""
    longer = [lag for lag in LAGS_S if step_s * 1.01 < lag <= step_s * count / 20]
    return [step_s, *longer]


def _correlations(found: Estimate) -> list[Measure]:
    every = lags(found.step_s, len(found.values))
    at = found.shape.forward(gaussian.autocorrelation(found.weights, found.times, np.array(every)))
    middle = found.shape.forward(
        gaussian.autocorrelation(found.median_weights()[None, :], found.times, np.array(every))[0]
    )
    return [
        Measure(f"autocorrelation at {lag:g} s", float(value), low - DIGIT, high + DIGIT, unit="correlation")
        for lag, value, low, high in zip(every, middle, *np.quantile(at, LEVEL, axis=0).tolist(), strict=True)
    ]
