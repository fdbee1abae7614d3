"""Stationary Gaussian processes whose autocorrelation is a sum of exponentials, and what a mapping makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]
_TERMS = 24
"""Of the expansion of a mapping in Hermite polynomials; what is left counts as the last."""
_POINTS = 4000


def autocorrelation(weights: Array, times: Array, lags: Array) -> Array:
    """Of sums of exponentials at lags above 0, for each row of `weights`; what weights lack to 1 is white."""
    return weights @ np.exp(-lags[None, :] / times[:, None])


def sample(half: Array, draw: np.random.Generator) -> Array:
    """Values of the standard Gaussian process with this autocorrelation, from lag 0 on, by circulant embedding.

    There is one value less than there are lags.
    """
    circle = np.concatenate([[1.0], half[1:], half[-2:0:-1]])
    # Below 0 only where a memory outlasts the series.
    power = np.fft.rfft(circle).real.clip(0)
    size = len(circle)
    noise = draw.standard_normal(len(power)) + 1j * draw.standard_normal(len(power))
    noise[[0, -1]] = noise[[0, -1]].real * np.sqrt(2)
    series: Array = np.fft.irfft(noise * np.sqrt(power * size / 2), size)[: len(half) - 1]
    return series


@dataclass(frozen=True)
class Mapped:
    """How the autocorrelation of g(X) follows from that of X, for a rising g."""

    table: Array
    """Autocorrelation of g(X), at those of X in `GRID`."""

    def forward(self, correlation: Array) -> Array:
        """The autocorrelation of g(X), from that of X."""
        return np.interp(correlation, GRID, self.table)

    def backward(self, correlation: Array) -> Array:
        """The autocorrelation of X, from that of g(X)."""
        return np.interp(correlation, self.table, GRID)


GRID = np.linspace(0, 1, 401)


def mapped(of: Callable[[Array], Array]) -> Mapped:
    """The mapping's effect; `of` gives g's value for probabilities of X."""
    shares = (np.arange(_POINTS) + 0.5) / _POINTS
    normal = special.ndtri(shares)
    values = of(shares)
    values = values - values.mean()
    total = float(values @ values) / _POINTS
    if total <= 0:
        return Mapped(GRID)
    before, current = np.zeros(_POINTS), np.ones(_POINTS)
    terms = []
    for order in range(1, _TERMS + 1):
        # Hermite polynomials of unit variance.
        before, current = current, (normal * current - np.sqrt(order - 1) * before) / np.sqrt(order)
        terms.append((float(values @ current) / _POINTS) ** 2 / total)
    terms[-1] += max(0.0, 1 - sum(terms))
    table = sum(term * GRID**order for order, term in enumerate(terms, 1)) / sum(terms)
    return Mapped(np.asarray(table))


def mean_run(share: Array, next_correlation: Array) -> Array:
    """Mean length in steps of the runs in which X is below its quantile of `share`."""
    threshold = special.ndtri(share)
    leaves = 2 * special.owens_t(threshold, np.sqrt((1 - next_correlation) / (1 + next_correlation)))
    return np.asarray(share / np.maximum(leaves, 1e-12))
