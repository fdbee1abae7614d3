"""Whether a series can be of the kind that the model describes, and how the model does on a part that it has not seen.

Each statistic of the series stands against the same of series of the model, with memories that the series allows: what
a long memory does to halves or gaps is not held against it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from . import memory
from .estimate import LEVEL, SHARES, Estimate, estimate, lags, lengths

Array = NDArray[np.float64]
FEWEST = 300
"""Values of the shortest series."""
UNSETTLED = 0.1
"""Largest variance of the mean of X, over that of X: with more, a trace is as good as ten values that know nothing of
each other."""
FAR = 5.0
"""Deviations of the model's series from their median at which a statistic is none of theirs. A series has some ten
statistics, and those that count runs have long tails."""
PART = 2 / 3
"""Of the series, that a model is fitted to before it is held against the rest."""


@dataclass(frozen=True)
class Held:
    """A figure of the part held out beside the model of the part before it."""

    name: str
    value: float
    low: float
    high: float
    """The 95 % range of parts of this length under the model."""
    model: float
    """The model's own value."""

    @property
    def inside(self) -> bool:
        """Whether the part's value is in the range."""
        return self.low <= self.value <= self.high


def too_plain(values: Array, step_s: float, grain: float) -> str:
    """Why there is nothing to fit; empty if there is."""
    if len(values) < FEWEST:
        return f"it is too short: given {len(values)} values of {step_s:g} s; allowed {FEWEST} or more"
    low, middle, high = np.quantile(values, [0.02, 0.5, 0.98])
    if high - low <= 2 * grain:
        return f"it is constant, {middle:.6g}: a constant rate or delay needs no model"
    _, counts = np.unique(np.round(values / grain), return_counts=True)
    if 2 * counts.max() > len(values):
        share = 100 * counts.max() / len(values)
        return f"{share:.0f} % of its values are equal: what is beside them is too little to fit"
    return ""


def wrong_kind(found: Estimate, drawn: Array) -> str:
    """Which statistic of the series the model's series do not have; empty if they have all."""
    count = len(found.values)
    if found.unsettled > UNSETTLED:
        return (
            "its level moves over the whole trace: a trend, a step, or a memory that it is too short for "
            f"(it settles its mean as {1 / found.unsettled:.1f} independent values would; allowed 10 or more)"
        )
    index = np.clip((special.ndtr(drawn) * count).astype(int), 0, count - 1)
    none = found.values <= 0
    threshold = special.ndtri(none.mean()) if none.any() else -np.inf
    theirs: dict[str, list[float]] = {}
    for row, ranks, places in zip(drawn, index, found.places, strict=True):
        for name, value in _statistics(found, found.ranked_scores[ranks], row <= threshold, places).items():
            theirs.setdefault(name, []).append(value)
    # The series' own spectrum is held against each memory.
    for name in theirs:
        every = np.array([_statistics(found, found.scores, none, places)[name] for places in found.places[:8]])
        low, middle, high = np.quantile(theirs[name], [0.16, 0.5, 0.84])
        value = float(np.median(every))
        width = max((high - middle if value > middle else middle - low), 1e-9)
        if abs(value - middle) > FAR * width:
            more = "more" if value > middle else "less"
            return f"{name}: {more} than in series of the model ({value:.3g} against {middle:.3g})"
    return ""


def _statistics(found: Estimate, scores: Array, none: NDArray[np.bool_], places: Array) -> dict[str, float]:
    """By name what tells series of other kinds apart."""
    half = len(scores) // 2
    said: dict[str, float] = {"its halves have other values": _apart(scores[:half], scores[half:])}
    own = memory.spectrum(scores, found.step_s, found.times, found.spectrum.parts)
    model = memory.expected(places[None, :], own)[0]
    said["it has a period"] = float(np.log(own.peak(model)))
    said["its memory is no sum of exponentials"] = memory.misfit(model, own)
    for far in (1, 10):
        change = scores[far:] - scores[:-far]
        square = change**2
        scale = float(square.mean()) + 1e-12
        said[f"it jumps (over {far} of its steps)"] = float(np.log((square**2).mean() / scale**2))
        said[f"it rises otherwise than it falls (over {far} of its steps)"] = float((change**3).mean() / scale**1.5)
    square = np.abs(scores[1:] - scores[:-1])
    square = square - square.mean()
    said["its unrest comes in spells"] = sum(
        float(square[far:] @ square[:-far]) / (float(square @ square) + 1e-12) for far in (5, 10, 20, 50)
    )
    said["its halves are of other unrest"] = abs(_spread(scores[:half]) - _spread(scores[half:]))
    runs = lengths(none)
    if none.any():
        said["how often it is at 0"] = float(np.log(len(runs) + 1))
        said["its longest time at 0"] = float(np.log(runs.max() + 1)) if len(runs) else 0.0
    return said


def _spread(scores: Array) -> float:
    return float(np.log(np.abs(np.diff(scores)).mean() + 1e-12))


def _apart(first: Array, second: Array) -> float:
    """The largest difference of two distributions (Kolmogorov and Smirnov's)."""
    first, second = np.sort(first), np.sort(second)
    every = np.concatenate([first, second])
    return float(
        np.abs(
            np.searchsorted(first, every, side="right") / len(first)
            - np.searchsorted(second, every, side="right") / len(second)
        ).max()
    )


def held_out(values: Array, step_s: float, grain: float) -> list[Held]:
    """The last third of a series, beside the model of what comes before it."""
    count = len(values)
    split = round(count * PART)
    before, after = values[:split], values[split:]
    found = estimate(before, step_s, grain)
    drawn = found.drawn(count)
    index = np.clip((special.ndtr(drawn) * split).astype(int), 0, split - 1)
    series = found.ranked[index]
    said = []
    shares = np.array(SHARES)
    # Where a quantile of the part lies among the values before it.
    levels = [np.searchsorted(np.sort(row[:split]), _quantiles(row[split:], shares)) / split for row in drawn]
    for share, every, value in zip(shares, np.array(levels).T, _quantiles(after, shares), strict=True):
        low, high = np.quantile(every, LEVEL)
        # Beyond the values before it nothing is known but that it is beyond.
        least = max(0.0, float(found.quantile(low)) - grain) if low * split >= 1 else 0.0
        most = float(found.quantile(high)) + grain if high * split < split - 1 else np.inf
        said.append(Held(f"{100 * share:g} %", float(value), least, most, float(found.quantile(share))))
    for lag in lags(step_s, len(after)):
        far = max(1, round(lag / step_s))
        every = np.array([_correlation(row[split:], far) for row in series])
        low, middle, high = np.quantile(every, [LEVEL[0], 0.5, LEVEL[1]])
        name = f"autocorrelation at {lag:g} s"
        said.append(Held(name, _correlation(after, far), float(low), float(high), float(middle)))
    return said


def _quantiles(values: Array, shares: Array) -> Array:
    found: Array = np.sort(values)[np.clip((shares * len(values)).astype(int), 0, len(values) - 1)]
    return found


def _correlation(values: Array, far: int) -> float:
    around = values - values.mean()
    total = float(around @ around)
    return float(around[far:] @ around[:-far]) / total if total else 0.0
