"""The memory of a series: weights of exponentials in its autocorrelation, as a sample of what the series allows.

The likelihood is Whittle's with the expected periodogram of a series of this length (the debiased one of Sykulski et
al., Biometrika 2019): it knows nothing of the mean, whose error is what makes sample autocorrelations too small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.optimize import nnls

from .gaussian import Mapped, autocorrelation

Array = NDArray[np.float64]
PARTS = 3
"""Exponentials that a memory is drawn as; white noise comes on top."""
GRID = 48
"""Time constants for which the expected periodogram is at hand."""
MOST_TIMES = 8
"""Most time constants of a model."""
LONGEST = 1 / 4
"""The longest time constant, as a share of the series: more cannot be told from a trend."""
_SINGLE = 16
"""Lowest frequencies that stand alone; above them bins widen."""
_WIDER = 1.12
_WALKERS, _WARM, _KEPT, _STEPS = 64, 1200, 600, 200
_SHAPE = 0.3
"""Of the gamma priors of the parts' variances: small, as a part may be nothing."""


@dataclass(frozen=True)
class Spectrum:
    """A periodogram in bins of frequency, and the expected ones of the parts of a memory."""

    observed: Array
    ordinates: Array
    """How many of the periodogram's values are in each bin."""
    parts: Array
    """Rows: of each time constant; white noise has 1 everywhere."""
    times: Array
    periodogram: Array
    """Before it was binned."""

    def peak(self, model: Array) -> float:
        """The largest value of the periodogram over what is expected there."""
        return float((self.periodogram / np.repeat(model, self.ordinates.astype(int))).max())


def time_constants(step: float, count: int) -> Array:
    """From half a step to a share of the series."""
    return step * np.geomspace(0.5, max(count * LONGEST, 4), GRID)


def spectrum(scores: Array, step: float, times: Array, parts: Array | None = None) -> Spectrum:
    """The binned periodogram of a series, and what to expect: `parts`, if they are known of a series of this length."""
    count = len(scores)
    periodogram = np.abs(np.fft.rfft(scores - scores.mean())) ** 2 / count
    upper = (count - 1) // 2
    edges = list(range(1, min(_SINGLE, upper) + 1))
    while edges[-1] < upper:
        edges.append(min(upper, max(edges[-1] + 1, int(edges[-1] * _WIDER))))
    starts, ends = np.array(edges), np.array([*edges[1:], upper + 1])
    ordinates = (ends - starts).astype(float)

    def binned(values: Array) -> Array:
        sums: Array = np.add.reduceat(values[: upper + 1], starts) / ordinates
        return sums

    if parts is None:
        lags = np.arange(count)
        kernels = ((1 - lags / count) * np.exp(-lags * step / time) for time in times)
        parts = np.array([binned(2 * np.fft.rfft(kernel).real - 1) for kernel in kernels]).clip(1e-9)
    observed = binned(periodogram)
    return Spectrum(observed, ordinates, parts, times, periodogram[1 : upper + 1])


def expected(places: Array, spectrum: Spectrum) -> Array:
    """The expected spectrum of each row: logarithms of PARTS + 1 variances, then places in the grid of constants."""
    grid = places[:, PARTS + 1 :].clip(0, GRID - 1)
    index = np.minimum(grid.astype(int), GRID - 2)
    beyond = grid - index
    parts = spectrum.parts[index] * (1 - beyond)[..., None] + spectrum.parts[index + 1] * beyond[..., None]
    variances = np.exp(places[:, : PARTS + 1].clip(-30, 30))
    return np.asarray((variances[:, :PARTS, None] * parts).sum(axis=1) + variances[:, PARTS:])


def _log_posterior(places: Array, spectrum: Spectrum) -> Array:
    grid = places[:, PARTS + 1 :]
    inside = ((grid >= 0) & (grid <= GRID - 1)).all(axis=1)
    model = expected(places, spectrum)
    fit = -(np.log(model) + spectrum.observed / model) @ spectrum.ordinates
    logs = places[:, : PARTS + 1]
    prior = _SHAPE * (logs - (PARTS + 1) * np.exp(logs) / 2).sum(axis=1)
    return np.where(inside & (np.abs(logs) < 30).all(axis=1), fit + prior, -np.inf)


def _likely(spectrum: Spectrum) -> Array:
    """Variances on the whole grid, and at last of white noise, of nearly the greatest likelihood."""
    parts = np.vstack([spectrum.parts, np.ones(len(spectrum.observed))])
    found = np.full(len(parts), 1 / len(parts))
    # Multiplicative steps keep them from 0 up.
    for _ in range(_STEPS):
        model = found @ parts
        up = parts @ (spectrum.ordinates * spectrum.observed / model**2)
        found *= np.sqrt(up / (parts @ (spectrum.ordinates / model)))
    return found


def _starts(spectrum: Spectrum, draw: np.random.Generator) -> Array:
    """Places to begin at: the likely variances, a third of their sum to each part."""
    likely = _likely(spectrum)
    share = np.cumsum(likely[:-1]) / likely[:-1].sum()
    part = np.minimum((share * PARTS - 1e-9).astype(int), PARTS - 1)
    sums = np.bincount(part, likely[:-1], PARTS)
    grid = np.bincount(part, likely[:-1] * np.arange(GRID), PARTS) / np.maximum(sums, 1e-12)
    logs = np.log(np.append(sums, likely[-1]) + 1e-3)
    noise = draw.standard_normal((_WALKERS, 2 * PARTS + 1)) * np.array([0.3] * (PARTS + 1) + [2.0] * PARTS)
    places = np.concatenate([logs, grid]) + noise
    places[:, PARTS + 1 :] = places[:, PARTS + 1 :].clip(0, GRID - 1)
    return np.asarray(places)


def posterior(spectrum: Spectrum, draw: np.random.Generator) -> tuple[Array, Array]:
    """What the series allows: weights and time constants, a row for each draw (Goodman and Weare's stretch moves)."""
    walkers = _starts(spectrum, draw)
    values = _log_posterior(walkers, spectrum)
    half, size = _WALKERS // 2, walkers.shape[1]
    kept = []
    for turn in range(_WARM + _KEPT):
        for here, there in ((slice(0, half), slice(half, None)), (slice(half, None), slice(0, half))):
            stretch = (1 + draw.random(half)) ** 2 / 2
            others = walkers[there][draw.integers(half, size=half)]
            moved = others + stretch[:, None] * (walkers[here] - others)
            new = _log_posterior(moved, spectrum)
            accept = np.log(draw.random(half)) < (size - 1) * np.log(stretch) + new - values[here]
            walkers[here] = np.where(accept[:, None], moved, walkers[here])
            values[here] = np.where(accept, new, values[here])
        if turn >= _WARM and turn % 20 == 0:
            kept.append(walkers.copy())
    places = np.concatenate(kept)
    return places, np.exp(np.interp(places[:, PARTS + 1 :], np.arange(GRID), np.log(spectrum.times)))


def weights_of(places: Array) -> Array:
    """The parts' shares of the variance; what they lack to 1 is white."""
    variances = np.exp(places[:, : PARTS + 1])
    return np.asarray(variances[:, :PARTS] / variances.sum(axis=1, keepdims=True))


def misfit(model: Array, spectrum: Spectrum) -> float:
    """Deviance of the bins from an expected spectrum, over the number of bins; about 1 where it fits."""
    ratio = spectrum.observed / model
    return float(2 * np.mean(spectrum.ordinates * (ratio - 1 - np.log(ratio))))


def behind(weights: Array, times: Array, grid: Array, mapping: Mapped) -> Array:
    """Weights, on the grid of time constants, of the X of which these rows are the memory of g(X)."""
    lags = np.geomspace(2 * grid[0], 2 * grid[-1], 40)
    wanted = np.array([autocorrelation(one[None, :], own, lags)[0] for one, own in zip(weights, times, strict=True)])
    return fitted(mapping.backward(wanted), grid, lags)


def fitted(wanted: Array, times: Array, lags: Array) -> Array:
    """Weights whose autocorrelation is nearest to the wanted one, for each row of it."""
    basis = np.exp(-lags[:, None] / times[None, :])
    found = np.array([nnls(basis, row)[0] for row in wanted])
    total = found.sum(axis=1, keepdims=True)
    return np.asarray(found / np.maximum(total, 1))


def variance_of_mean(weights: Array, times: Array, step: float, count: int) -> Array:
    """Of the mean of a series with unit variance."""
    ratio = count * step / times
    share = 2 * (ratio - 1 + np.exp(-ratio)) / ratio**2
    white = 1 - weights.sum(axis=-1)
    return np.asarray(weights @ share + white / count)


def scores(values: Array) -> tuple[Array, Array]:
    """Normal scores of a series, equal values alike, and the sorted ones."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    first = np.concatenate([[True], ranked[1:] != ranked[:-1]])
    group = np.cumsum(first) - 1
    each = special.ndtri((np.arange(len(values)) + 0.5) / len(values))
    means = np.bincount(group, each) / np.bincount(group)
    sorted_scores = means[group]
    found = np.empty(len(values))
    found[order] = sorted_scores
    deviation = float(sorted_scores.std())
    return found / deviation, sorted_scores / deviation
