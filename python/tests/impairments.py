"""What a link does to packets, held against its law: of packets that a simulated or a real link has sent.

Each test has 10,000 packets and an interval that holds 99 % of what the law gives; seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

PACKETS = 10_000
RATE = 40e6
DELAY = 5e-3
Z = 2.5758293035489004
"""99 % of a normal variable's values lie within so many standard deviations."""

Columns = Mapping[str, np.ndarray[Any, Any]]


def within(value: float, mean: float, sd: float, what: str) -> None:
    """The value lies in the interval."""
    assert abs(value - mean) <= Z * sd, f"{what}: {value}, of {mean} +- {Z * sd}"


def lost(sent: Columns) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = np.isnan(sent["arrived_s"])
    return found


def extra(sent: Columns) -> np.ndarray[Any, Any]:
    """What each packet that arrives takes beyond transmission and propagation, s."""
    found: np.ndarray[Any, Any] = sent["arrived_s"] - sent["settled_s"] - 8 * sent["size"] / RATE - DELAY
    return found[~lost(sent)]


def runs(flags: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Lengths of the runs of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    lengths: np.ndarray[Any, Any] = edges[1::2] - edges[::2]
    return lengths


def random_loss(sent: Columns) -> None:
    """1 %, each packet independently: as many runs of losses as pairs of neighbours make."""
    flags, p = lost(sent), 0.01
    within(flags.sum(), PACKETS * p, math.sqrt(PACKETS * p * (1 - p)), "losses")
    within(runs(flags).mean(), 1 / (1 - p), math.sqrt(p) / (1 - p) / math.sqrt(len(runs(flags))), "run of losses")


def bursts(sent: Columns) -> None:
    """5 % in bursts of 4: Gilbert's chain, whose stays are geometric."""
    flags, mean, burst = lost(sent), 0.05, 4
    leaves = 1 / burst
    enters = leaves * mean / (1 - mean)
    memory = 1 - enters - leaves
    within(flags.sum(), PACKETS * mean, math.sqrt(PACKETS * mean * (1 - mean) * (1 + memory) / (1 - memory)), "losses")
    for lengths, p, what in ((runs(flags), leaves, "burst"), (runs(~flags)[1:-1], enters, "gap")):
        within(lengths.mean(), 1 / p, math.sqrt((1 - p) / len(lengths)) / p, what)


def elliott(sent: Columns) -> None:
    """10 % in the mean with half of the packets lost in stays of 20 in the bad state, and 2 % in the good one."""
    flags, mean, burst, bad, good = lost(sent), 0.1, 20, 0.5, 0.02
    share = (mean - good) / (bad - good)
    memory = 1 - 1 / burst - share / (1 - share) / burst
    # The variance of a chain's rewards: of one packet, and twice its covariance with those after it.
    covariance = share * (1 - share) * (bad - good) ** 2
    variance = mean * (1 - mean) + 2 * covariance * memory / (1 - memory)
    within(flags.mean(), mean, math.sqrt(variance / PACKETS), "losses")
    pairs = flags[1:] & flags[:-1]
    expected = mean**2 + covariance * memory
    # Of blocks long enough to be independent.
    blocks = pairs[: len(pairs) // 500 * 500].reshape(-1, 500).mean(axis=1)
    within(pairs.mean(), expected, blocks.std(ddof=1) / math.sqrt(len(blocks)), "two losses one after the other")


def every(sent: Columns) -> None:
    assert np.array_equal(np.flatnonzero(lost(sent)), np.arange(99, PACKETS, 100))


def uniform(values: np.ndarray[Any, Any], low: float, high: float) -> None:
    """Mean, and Kolmogorov and Smirnov's distance."""
    assert values.min() >= low - 1e-9
    assert values.max() <= high + 1e-9
    within(values.mean(), (low + high) / 2, (high - low) / math.sqrt(12 * len(values)), "extra delay")
    ranks = np.arange(1, len(values) + 1) / len(values)
    distance = np.abs(np.sort(values - low) / (high - low) - ranks).max()
    assert distance <= 1.6276 / math.sqrt(len(values)) + 1 / len(values), distance


def jitter(sent: Columns) -> None:
    """Up to 0.2 ms, which is a transmission: no packet would overtake another."""
    uniform(extra(sent), 0, 2e-4)
    assert (np.diff(sent["arrived_s"]) >= 0).all()


def overtaking(sent: Columns) -> None:
    uniform(extra(sent), 1e-3, 4e-3)
    assert (np.diff(sent["arrived_s"]) < 0).sum() > PACKETS / 4


def ordered(sent: Columns) -> None:
    """Up to 4 ms in order, of packets one transmission apart: the latest of their own draws and those before."""
    assert (np.diff(sent["arrived_s"]) >= 0).all()
    most, apart = 4e-3, 8000 / RATE
    assert extra(sent).max() <= most + 1e-9
    # The probability that neither a packet's draw nor one before it makes it later than x.
    x = np.linspace(0, most, 4001)
    none = np.prod([np.minimum(1, (x + k * apart) / most) for k in range(int(most / apart) + 1)], axis=0)
    blocks = extra(sent)[: PACKETS // 200 * 200].reshape(-1, 200).mean(axis=1)
    within(extra(sent).mean(), np.trapezoid(1 - none, x), blocks.std(ddof=1) / math.sqrt(len(blocks)), "extra delay")


def reorder(sent: Columns) -> None:
    late = extra(sent) > 1e-3
    assert np.allclose(extra(sent)[late], 3e-3, atol=1e-9)
    assert np.allclose(extra(sent)[~late], 0, atol=1e-9)
    within(late.sum(), PACKETS * 0.02, math.sqrt(PACKETS * 0.02 * 0.98), "late packets")


def waited(sent: Columns) -> np.ndarray[Any, Any]:
    """Whether each packet but the first was there when the one before it had been sent."""
    there: np.ndarray[Any, Any] = sent["time_s"][1:] < sent["arrived_s"][:-1] - DELAY - 1e-8
    assert there.sum() > PACKETS / 4, "the sender is faster than the link"
    return there


def framing(sent: Columns) -> None:
    """1000 B and 40 B more in cells of 53 B with 48 B each."""
    wire = 8 * 22 * 53 / RATE
    assert np.allclose(extra(sent), wire - 8000 / RATE, atol=1e-9)
    assert np.allclose(np.diff(sent["settled_s"])[waited(sent)], wire, atol=1e-9)


def aggregation(sent: Columns) -> None:
    """Ten packets of 1000 B at a time, each time 1 ms after the last; fewer if no more wait."""
    waits = np.round(extra(sent) * 1e6)
    assert np.isin(waits, (0, 1000)).all()
    first = np.flatnonzero(waits == 1000)
    sizes, there = np.diff(first), waited(sent)
    assert sizes.max() == 10
    assert (sizes == 10).sum() > PACKETS / 40
    assert not there[first[1:][sizes < 10] - 1].any(), "an aggregate ends before its most only if no packet waits"
    full = (sizes == 10) & there[first[1:] - 1]
    assert np.allclose(np.diff(sent["settled_s"][first])[full], 1e-3 + 10 * 8000 / RATE, atol=1e-9)


LAWS: dict[str, tuple[dict[str, Any], Callable[[Columns], None]]] = {
    "loss": ({"loss": "1%"}, random_loss),
    "bursts": ({"loss": "probability=5% burst=4"}, bursts),
    "elliott": ({"loss": "probability=10% burst=20 bad=50% good=2%"}, elliott),
    "every": ({"loss": "every=100"}, every),
    "jitter": ({"jitter": "0.2ms"}, jitter),
    "overtaking": ({"jitter": 'uniform=["1ms", "4ms"] keep_order=false'}, overtaking),
    "ordered": ({"jitter": "4ms"}, ordered),
    "reorder": ({"reorder": "probability=2% delay=3ms"}, reorder),
    "framing": ({"framing": "overhead=40B encoding=atm"}, framing),
    "aggregation": ({"aggregation": "access=1ms packets=10"}, aggregation),
}
"""Options of a link of `RATE` and `DELAY`, and their law of packets of 1000 B."""
