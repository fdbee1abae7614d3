"""Models of links from traces: the process behind a trace, where it is of the kind that a link's key `model` takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import checks, estimate, memory, traces
from .checks import Held
from .estimate import Measure
from .traces import LinkModelError, Trace

__all__ = ["Fit", "Held", "LinkModelError", "Measure", "Trace", "fit"]

SHARES = (0.01, 0.02, 0.05, *np.arange(0.1, 0.95, 0.1).round(1).tolist(), 0.95, 0.98, 0.99)
"""Quantiles that a model is written with."""
FEW = 5
"""Values of the trace beyond an outermost quantile, at least."""
SMALL = 5e-4
"""Weights below this are left out."""


@dataclass(frozen=True)
class Fit:
    """A trace, and the model that was fitted to it."""

    trace: Trace
    why_not: str
    """Why no model of this kind fits; empty if one does. What follows is empty then."""
    measures: list[Measure]
    held_out: list[Held]
    quantiles: list[tuple[float, float]]
    """Shares and values: rates in bit/s, or delays above the smallest in s."""
    memory: list[tuple[float, float]]
    """Time constants in s, and weights."""
    base_s: float
    """The smallest round-trip time of the trace, s; 0 for rates."""


def fit(path: str | Path) -> Fit:
    """Fit a model to a trace of Mahimahi, irtt, iperf3 or ping. The same trace gives the same model.

    Raises:
        LinkModelError: the file cannot be read, or is none of these.
    """
    return fitted(traces.read(Path(path)))


def fitted(trace: Trace) -> Fit:
    """Fit a model to what was read."""
    base = float(trace.values.min()) if trace.kind == "delay" and len(trace.values) else 0.0
    values = trace.values - base
    why = checks.too_plain(values, trace.step_s, trace.grain)
    if why:
        return Fit(trace, why, [], [], [], [], base)
    found = estimate.estimate(values, trace.step_s, trace.grain)
    drawn = found.drawn(len(values))
    why = checks.wrong_kind(found, drawn)
    if why:
        return Fit(trace, why, [], [], [], [], base)
    held = checks.held_out(values, trace.step_s, trace.grain)
    kept = sum(one.inside for one in held)
    if 2 * kept < len(held):
        why = f"its last third is not what the rest leads to: {kept} of {len(held)} figures are in their 95 % ranges"
        return Fit(trace, why, [], held, [], [], base)
    return Fit(
        trace, "", estimate.measures(found, drawn, trace.kind == "rate"), held, _quantiles(values), _memory(found), base
    )


def _quantiles(values: estimate.Array) -> list[tuple[float, float]]:
    none = float((values <= 0).mean())
    shares = [share for share in SHARES if share > none + 1e-3 and FEW <= share * len(values) <= len(values) - FEW]
    points = [(share, float(value)) for share, value in zip(shares, np.quantile(values, shares), strict=True)]
    if none * len(values) >= FEW:
        points.insert(0, (round(none, 6), 0.0))
    return points


def _memory(found: estimate.Estimate) -> list[tuple[float, float]]:
    """Time constants and weights; neighbours of the grid are one."""
    weights = found.median_weights()
    groups = np.split(np.arange(len(weights)), np.flatnonzero(weights < SMALL))
    joined = []
    for group in groups:
        weight = float(weights[group].sum())
        if weight >= SMALL:
            joined.append((float(np.exp(np.log(found.times[group]) @ weights[group] / weight)), weight))
    joined = sorted(joined, key=lambda one: -one[1])[: memory.MOST_TIMES]
    # Their digits must not add up to more than 1.
    return sorted((max(time, 1e-3), np.floor(1e4 * weight) / 1e4) for time, weight in joined)
