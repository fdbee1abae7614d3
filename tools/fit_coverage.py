"""How often the intervals of `earlydrop link-model fit` hold the truth, and which traces of another kind it refuses.

    python tools/fit_coverage.py [--traces N] [--seconds S] [--workers N]

N traces (100) of known processes, as whole packets in bins of 100 ms; the truth is in four million steps of the same
process, drawn as AR(1)s one after the other, not as the fit draws them. Then ten traces of other kinds.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.signal import lfilter

from earlydrop import link_model
from earlydrop.link_model import estimate, traces

Array = NDArray[np.float64]
STEP_S = 0.1
PACKET = traces.PACKET_BITS
LONG = 4_000_000


@dataclass(frozen=True)
class Known:
    """A process: time constants and weights of its Gaussian, shares and rates (Mbit/s) of its quantiles."""

    memory: tuple[tuple[float, float], ...]
    quantiles: tuple[tuple[float, float], ...]

    def normal(self, count: int, draw: np.random.Generator) -> Array:
        """The Gaussian."""
        rest = 1 - sum(weight for _, weight in self.memory)
        normal = np.sqrt(max(rest, 0)) * draw.standard_normal(count)
        for time, weight in self.memory:
            keeps = np.exp(-STEP_S / time)
            pushes = np.sqrt(1 - keeps**2) * draw.standard_normal(count)
            pushes[0] = draw.standard_normal()
            normal += np.sqrt(weight) * lfilter([1.0], [1.0, -keeps], pushes)
        return np.asarray(normal)

    def series(self, count: int, draw: np.random.Generator) -> Array:
        """Rates in bit/s."""
        normal = self.normal(count, draw)
        places = special.ndtri([share for share, _ in self.quantiles])
        rates = np.array([rate for _, rate in self.quantiles])
        slopes = np.diff(rates) / np.diff(places)
        found = np.interp(normal, places, rates)
        found += np.minimum(normal - places[0], 0) * slopes[0] + np.maximum(normal - places[-1], 0) * slopes[-1]
        return np.asarray(1e6 * found.clip(0))


LTE = ((0.051, 0.0), (0.5, 5.28), (0.95, 10.1))
KNOWN = {
    "LTE, long memory": Known(((3.88, 0.303), (57.2, 0.569)), LTE),
    "LTE, short memory": Known(((0.83, 0.27), (11.8, 0.606)), ((0.08, 0.0), (0.5, 10.1), (0.95, 33.0))),
    "LTE, uplink": Known(((3.48, 0.471), (176.0, 0.081)), ((0.076, 0.0), (0.5, 0.96), (0.95, 1.56))),
    "smooth, hardly at 0": Known(((3.0, 1.0),), ((0.05, 20.0), (0.5, 50.0), (0.95, 90.0))),
}
"""The first three have the figures of LTE links that drive."""


def packets(rates: Array) -> Array:
    """Rates as a trace of whole packets has them."""
    sent = np.floor(np.cumsum(rates.clip(0)) * STEP_S / PACKET)
    return np.asarray(np.diff(sent, prepend=0.0) * PACKET / STEP_S)


@functools.cache
def truth(name: str) -> dict[str, float]:
    """The figures of a known process."""
    rates = packets(KNOWN[name].series(LONG, np.random.default_rng(0)))
    ranked = np.sort(rates)
    none = rates <= 0
    around = rates - rates.mean()
    said = {"mean": float(rates.mean()), "share at 0": float(none.mean())}
    if none.any():
        said["mean time at 0"] = STEP_S * float(estimate.lengths(none).mean())
    for share in estimate.SHARES:
        said[f"{100 * share:g} %"] = float(ranked[int(share * LONG)])
    for lag in estimate.LAGS_S:
        far = round(lag / STEP_S)
        said[f"autocorrelation at {lag:g} s"] = float(around[far:] @ around[:-far] / (around @ around))
    return said


def tried(name: str, seed: int, count: int) -> tuple[str, dict[str, bool]]:
    """A trace of a known process: why it is refused, and which intervals hold the truth."""
    rates = packets(KNOWN[name].series(count, np.random.default_rng([seed, list(KNOWN).index(name)])))
    found = link_model.fitted(traces.Trace("Mahimahi", "rate", STEP_S, rates, PACKET / STEP_S))
    right = truth(name)
    return found.why_not, {
        one.name: (one.low is None or one.low <= right[one.name]) and (one.high is None or right[one.name] <= one.high)
        for one in found.measures
        if one.name in right
    }


def others(count: int, draw: np.random.Generator) -> Iterator[tuple[str, Array]]:
    """Traces of ten other kinds: rates in bit/s."""
    at = np.arange(count) * STEP_S
    noise = draw.standard_normal

    def wander(time: float) -> Array:
        return Known(((time, 1.0),), ()).normal(count, draw)

    yield "a constant rate", np.full(count, 8.123e6)
    yield "a constant rate with a step", np.where(at < 0.55 * at[-1], 10e6, 5e6) + 3e5 * noise(count)
    yield "a periodic square wave", np.where((at // 10) % 2 < 1, 10e6, 4e6) + 5e5 * noise(count)
    yield "too short", 1e6 * (5 + 2 * wander(1.0))[:250]
    yield "a trend", 1e6 * (5 + 8 * at / at[-1] + 1.5 * wander(2.0))
    up = np.ones(count)
    place = 0
    while place < count:
        place += int(draw.exponential(600)) + 1
        long = int(20 * draw.pareto(1.2) + 30)
        up[place : place + long] = 0
        place += long
    yield "outages without a warning, some of them long", 1e6 * up * (20 + 4 * wander(1.0))
    changes = np.cumsum(draw.random(count) < 1 / 40) % 2
    yield "a mixture of two states", 1e6 * (np.where(changes, 40, 8) + noise(count))
    yield "a sawtooth", 1e6 * (4 + 6 * ((at % 7.3) / 7.3)) + 3e5 * noise(count)
    yield "unrest in spells", 1e6 * (20 + 2 * np.exp(1.2 * wander(20.0)) * noise(count))
    swing = lfilter([1.0], [1.0, -1.9, 0.94], noise(count))
    yield "an oscillation", 1e6 * (20 + 4 * swing / swing.std())


def refusals(count: int, seed: int) -> dict[str, str]:
    """Why each trace of another kind is refused; empty where it is not."""
    return {
        name: link_model.fitted(traces.Trace("Mahimahi", "rate", STEP_S, packets(rates), PACKET / STEP_S)).why_not
        for name, rates in others(count, np.random.default_rng(seed))
    }


def main() -> int:
    """Tries all and prints the counts; 1 where fewer than 90 of 100 intervals hold the truth or 9 of 10 are refused."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--traces", type=int, default=100, help="traces of known processes")
    parser.add_argument("--seconds", type=float, default=1200.0, help="length of a trace")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    given = parser.parse_args()
    count = round(given.seconds / STEP_S)
    jobs = [(name, seed) for seed in range(-(-given.traces // len(KNOWN))) for name in KNOWN][: given.traces]
    held: dict[str, list[bool]] = {}
    with ProcessPoolExecutor(given.workers) as pool:
        every = pool.map(tried, *zip(*jobs, strict=True), [count] * len(jobs))
        fits = 0
        for (name, seed), (why, found) in zip(jobs, every, strict=True):
            fits += not why
            print(f"{name}, seed {seed}: {why or ', '.join(key for key in found if not found[key]) or 'all hold'}")
            for key, value in found.items():
                held.setdefault(key, []).append(value)
        kinds = pool.submit(refusals, count, 1).result()
    for key, values in held.items():
        print(f"{key}: {sum(values)} of {len(values)}")
    for key, why in kinds.items():
        print(f"{key}: {why or 'TAKEN'}")
    refused = sum(bool(why) for why in kinds.values())
    print(f"{fits} of {len(jobs)} traces are fitted, {refused} of {len(kinds)} of another kind are refused")
    return int(any(sum(one) < 0.9 * len(one) for one in held.values()) or refused < 9 or fits < 0.9 * len(jobs))


if __name__ == "__main__":
    sys.exit(main())
