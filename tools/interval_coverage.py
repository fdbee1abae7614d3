"""How often 95 % intervals cover the truth, and how often a study calls an effect that is not there.

    python tools/interval_coverage.py docs     writes docs/data/coverage.csv

A replication is one run of a process, reduced to its mean: the waiting time in an M/M/1 queue at a load of 0.8, whose
run means are skewed, and an autoregressive process of order 1, whose are normal. Verdicts are tested on values of many
distributions, stars on tables that are drawn from thousands of real runs.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import blocks
from earlydrop import _core
from earlydrop.analysis import quantity, samples, statistics
from earlydrop.analysis.samples import Sample
from earlydrop.analysis.statistics import ALPHA, CLEAR, Interval, Stopping
from earlydrop.study import verdicts
from earlydrop.study.claim_results import CONTRADICTED, EQUIVALENT, SUPPORTED, UNDECIDED
from earlydrop.study.model import Part

Array = np.ndarray[Any, Any]

LOAD = 0.8
CUSTOMERS = 4000
"""Customers in a replication of M/M/1."""
MEMORY = 0.9
"""Coefficient of the autoregressive process."""
STEPS = 200
LEVEL = 10.0
"""Mean of the autoregressive process."""

HEAD = ("measured", "on", "what is counted", "seeds", "percent")
Rows = list[list[str]]
DRAWS = 20_000
"""Claims or tables behind each figure."""
SEEDS = (2, 3, 5, 10, 20, 30)
"""Numbers of seeds that studies use, in full and in quick runs."""
CASES = (1, 2, 4)
"""Cases of a claim."""


@dataclass(frozen=True)
class Process:
    """A process to simulate, with its true mean."""

    title: str
    mean: float
    replications: Callable[[int, int], Array]
    """`(count, seed)`: run means of `count` replications."""


def mm1(count: int, seed: int, load: float = LOAD, customers: int = CUSTOMERS) -> Array:
    """Mean waiting times (in mean service times) of `count` runs of an M/M/1 queue, each from the stationary state.

    Lindley's recursion, all runs side by side.
    """
    draw = np.random.default_rng(seed)
    # Stationary waiting time: zero with probability 1 - load, else exponential with mean 1 / (1 - load).
    wait = np.where(draw.random(count) < load, draw.standard_exponential(count) / (1 - load), 0.0)
    total = np.zeros(count)
    for _ in range(customers):
        total += wait
        wait += draw.standard_exponential(count)
        wait -= draw.standard_exponential(count) / load
        np.maximum(wait, 0.0, out=wait)
    return total / customers


def ar1(count: int, seed: int, memory: float = MEMORY, steps: int = STEPS, level: float = LEVEL) -> Array:
    """Means of `count` runs of x(k + 1) = memory x(k) + noise of variance 1, about `level`, in its steady state."""
    draw = np.random.default_rng(seed)
    x = draw.standard_normal(count) / np.sqrt(1 - memory**2)
    total = np.zeros(count)
    for _ in range(steps):
        total += x
        x = memory * x + draw.standard_normal(count)
    return level + total / steps


MM1 = Process("M/M/1, load 0.8", LOAD / (1 - LOAD), mm1)
AR1 = Process("AR(1), 0.9", LEVEL, ar1)


def normal(count: int, seed: int) -> Array:
    """Run means as those of many packets: normal."""
    return np.random.default_rng(seed).standard_normal(count)


def skewed(count: int, seed: int, shape: float = 16.0) -> Array:
    """Run means that are skewed: gamma, with a skewness of a half."""
    found: Array = np.random.default_rng(seed).gamma(shape, shape**-0.5, count) - shape**0.5
    return found


NORMAL = Process("normal", 0.0, normal)
SKEWED = Process("skewed", 0.0, skewed)


def share(values: Array, truth: float, n: int, kind: Interval) -> float:
    """Share of intervals from `n` values each that cover `truth`."""
    groups = values[: len(values) // n * n].reshape(-1, n)
    covered = 0
    for group in groups.tolist():
        ends = statistics.interval(group, kind)
        assert ends is not None
        covered += ends[0] <= truth <= ends[1]
    return covered / len(groups)


def sequential(values: Array, truth: float, rule: Stopping) -> tuple[float, float]:
    """Share of intervals that cover `truth` if seeds are run until `rule` holds, and the mean number of seeds."""
    groups = values[: len(values) // rule.most * rule.most].reshape(-1, rule.most).tolist()
    covered = seeds = 0
    for group in groups:
        count = rule.wanted([])
        while (more := rule.wanted(group[:count])) > count:
            count = more
        found = statistics.estimate(group[:count])
        assert found.half_width is not None
        covered += abs(found.mean - truth) <= found.half_width
        seeds += count
    return covered / len(groups), seeds / len(groups)


def interval_rows(sets: int = 2000, rules: Sequence[float] = (0.1, 0.05, 0.02)) -> Rows:
    """How often intervals cover the truth."""
    rows = []
    intervals: list[tuple[Interval, str]] = [("t", "Student's t"), ("bootstrap", "bootstrap")]
    for process in (MM1, AR1):
        values = process.replications(30 * sets, 1)
        for kind, title in intervals:
            for n in (10, 30):
                found = 100 * share(values[: n * sets], process.mean, n, kind)
                rows.append(["coverage", process.title, title, f"{n}", f"{found:.1f}"])
        values = process.replications(200 * (sets // 2), 2)
        for relative in rules:
            found, seeds = sequential(values, process.mean, Stopping(relative))
            title = f"t, until its half-width is under {100 * relative:g} % or 200 seeds"
            rows.append(["coverage", process.title, title, f"{seeds:.0f} on average", f"{100 * found:.1f}"])
    return rows


# ---- verdicts ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Design:
    """A claim, the truth it is tested on, and which verdicts on it are false."""

    title: str
    part: Part
    truth: Callable[[float], float]
    """The true difference in every case, for a given margin."""
    false: frozenset[str]
    process: Process
    margin: float = 0.0
    """The margin, in standard deviations of one value."""
    alone: bool = False
    """Whether the claim compares one side with a number, not two sides with each other."""


def _part(expect: str, **more: Any) -> Part:
    return Part("", "", expect, {}, {}, **more)


def _null(_: float) -> float:
    return 0.0


def _same(margin: float) -> float:
    return margin


DIRECTIONAL = frozenset({SUPPORTED, CONTRADICTED})
DESIGNS = (
    Design("greater, no difference", _part("greater"), _null, DIRECTIONAL, NORMAL),
    Design("greater, no difference, skewed", _part("greater"), _null, DIRECTIONAL, SKEWED),
    Design("greater than its true value, skewed", _part("greater"), _null, DIRECTIONAL, SKEWED, alone=True),
    Design("greater in every run, no difference", _part("greater", every_seed=True), _null, DIRECTIONAL, NORMAL),
    Design(
        "greater, difference as large as the margin",
        _part("greater"),
        lambda m: m,
        frozenset({EQUIVALENT}),
        NORMAL,
        1.0,
    ),
    Design("at least, no difference", _part("at_least"), _null, frozenset({CONTRADICTED}), NORMAL, 0.2),
    Design(
        "at least, smaller by the margin",
        _part("at_least"),
        lambda m: -m,
        frozenset({SUPPORTED}),
        NORMAL,
        0.5,
    ),
    Design(
        "equal, as far apart as the margin",
        _part("equal"),
        lambda m: m,
        frozenset({SUPPORTED}),
        NORMAL,
        1.0,
    ),
)
"""Run means have a standard deviation of 1; two sides are two independent runs for each seed."""


def decided(
    part: Part, numbers: Array, limits: tuple[float | None, float | None], margin: float, holding: Array | None = None
) -> list[str]:
    """The verdicts on claims, as `verdicts` has them: numbers by claim, case and seed.

    `holding` says of each case whether the predicate holds in every seed.
    """
    cases, n = numbers.shape[1:]
    means = samples.Means(numbers)
    tails = [(way, alpha / 2) for alpha in (ALPHA, ALPHA / cases) for way in (means.lower, means.upper)]
    ends = np.stack([way(tail) for way, tail in tails], axis=-1)
    equal = (numbers == numbers[..., :1]).all(axis=-1)
    found = []
    for k in range(len(numbers)):
        every = []
        for c in range(cases):
            if equal[k, c]:
                anything = (-math.inf, math.inf)
                every.append(verdicts.equal_verdict(part, float(numbers[k, c, 0]), n, limits, anything, cases))
                continue
            held = [bool(holding[k, c])] * n if holding is not None else []
            every.append(verdicts.decide(part, verdicts.Interval(*ends[k, c].tolist()), limits, margin, held))
        found.append(verdicts.conjunction(every))
    return found


def false_verdicts(design: Design, n: int, cases: int, claims: int, seed: int = 1) -> float:
    """Share of claims of `cases` cases, on `n` seeds each, that get a verdict which is false."""
    count = claims * cases * n
    margin = design.margin * 2**0.5
    pairs = design.process.replications(count, seed) - design.process.mean
    if not design.alone:
        pairs = pairs - (design.process.replications(count, seed + 1) - design.process.mean)
    numbers = (pairs + design.truth(margin)).reshape(claims, cases, n)
    limits = verdicts.limits_of(design.part, 0.0, margin)
    # In every run, the smallest number has to hold.
    found = decided(design.part, numbers, limits, margin, numbers.min(axis=-1) > 0)
    return sum(verdict in design.false for verdict in found) / claims


def power(n: int, claims: int, seed: int = 1, effect: float | None = None) -> float:
    """Share of claims that are supported where the true difference is `effect`, or the smallest that `n` seeds show."""
    effect = samples.detectable_effect(1.0, n) if effect is None else effect
    assert effect is not None
    numbers = effect + np.random.default_rng(seed).standard_normal((claims, 1, n))
    part = _part("greater")
    found = decided(part, numbers, verdicts.limits_of(part, 0.0, 0.0), 0.0)
    return found.count(SUPPORTED) / claims


# ---- skewed data ---------------------------------------------------------------------------------------------------


def _drawn(title: str, mean: float, draw: Callable[[np.random.Generator, int], Array]) -> Process:
    return Process(title, mean, lambda count, seed: draw(np.random.default_rng(seed), count))


EXPONENTIAL = _drawn("exponential", 1.0, lambda draw, n: draw.standard_exponential(n))
LOGNORMAL = _drawn("lognormal, sigma 1", math.exp(0.5), lambda draw, n: draw.lognormal(size=n))
BETA = _drawn("Beta(20, 1)", 20 / 21, lambda draw, n: draw.beta(20, 1, n))
POISSON = _drawn("Poisson(0.3)", 0.3, lambda draw, n: draw.poisson(0.3, n).astype(float))
BERNOULLI = _drawn("Bernoulli(0.1)", 0.1, lambda draw, n: (draw.random(n) < 0.1).astype(float))
TENTH = 0.1
SKEWED_SEEDS = (3, 5, 6, 10, 11, 20)
BOUNDS: dict[str, tuple[float, float, float]] = {
    "normal": (5, 5, 5),
    "exponential": (6, 5, 5),
    "lognormal, sigma 1": (9, 8, 6),
    "Beta(20, 1)": (6, 5, 5),
    "Poisson(0.3)": (5, 5, 5),
    "Bernoulli(0.1)": (5, 5, 5),
    "exponential against normal": (6, 5, 5),
    "lognormal, sigma 1 against normal": (9, 8, 6),
}
"""Highest shares of false verdicts, in per cent, from 6, from 10 and from 20 seeds on."""


def _against(process: Process) -> Process:
    """A process against normal data of the same mean, whose deviation is a tenth of the mean."""

    def draw(count: int, seed: int) -> Array:
        other = np.random.default_rng(seed + 1000).normal(process.mean, TENTH * process.mean, count)
        return process.replications(count, seed) - other

    return Process(f"{process.title} against normal", 0.0, draw)


DATA = (NORMAL, EXPONENTIAL, LOGNORMAL, BETA, POISSON, BERNOULLI, _against(EXPONENTIAL), _against(LOGNORMAL))


def against_the_truth(process: Process, n: int, claims: int, seed: int = 1) -> tuple[float, float]:
    """Share of verdicts, all of them false, on "greater than its true mean": of Student's interval, and of ours."""
    values = process.replications(claims * n, seed).reshape(claims, 1, n)
    part = _part("greater", bound=process.mean)
    found = decided(part, values, verdicts.limits_of(part, None, None), 0.0)
    means = samples.Means(values[:, 0])
    half = statistics.t_quantile(0.975, n - 1) * means.error
    return float((np.abs(means.mean - process.mean) > half).mean()), sum(v != UNDECIDED for v in found) / claims


def skew_rows(claims: int = DRAWS) -> Rows:
    """False verdicts on skewed data, and power."""
    rows = []
    for process in DATA:
        for n in SKEWED_SEEDS:
            student, ours = against_the_truth(process, n, claims, 31)
            rows.append(["skewed data", process.title, "false by Student's interval", f"{n}", f"{100 * student:.1f}"])
            rows.append(["skewed data", process.title, "false verdicts", f"{n}", f"{100 * ours:.1f}"])
    for n in SKEWED_SEEDS:
        own = power(n, claims, 32, statistics.detectable_effect(1.0, n))
        title = "verdicts where Student's interval gives 80 %"
        rows.append(["skewed data", "normal", title, f"{n}", f"{100 * own:.0f}"])
    return rows


# ---- levels of an axis ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Levels:
    """A claim on what several levels have together, and the truth it is tested on."""

    title: str
    expect: str
    reduce: str
    bound: float | None
    """The bound of the claim; None for a comparison of two sides."""
    means: tuple[float, ...]
    noise: float
    """Standard deviation of a value."""
    other: tuple[tuple[float, ...], float] | None = None
    """Means and noise of the other side."""
    false: frozenset[str] = DIRECTIONAL


EQUAL = (0.0,) * 6
LEVELS = (
    Levels(
        "range of six equal levels greater than 2 s", "greater", "range", 2.0, EQUAL, 1.0, None, frozenset({SUPPORTED})
    ),
    Levels(
        "range of six equal levels greater than s / 5",
        "greater",
        "range",
        0.2,
        EQUAL,
        1.0,
        None,
        frozenset({SUPPORTED}),
    ),
    Levels("range at most 2 s, one level of six 2 s above the rest", "at_most", "range", 2.0, (2.0, *EQUAL[1:]), 1.0),
    Levels("range at most s / 2, levels evenly apart", "at_most", "range", 0.5, (0.0, 0.1, 0.2, 0.3, 0.4, 0.5), 1.0),
    Levels("smallest of seven equal levels less than theirs", "less", "min", 0.0, (0.0,) * 7, 1.0),
    Levels("largest of six greater than of six others, less noisy", "greater", "max", None, EQUAL, 1.0, (EQUAL, 0.3)),
    Levels("range of six greater than of six others, less noisy", "greater", "range", None, EQUAL, 1.0, (EQUAL, 0.3)),
    Levels(
        "deviation of six equal levels greater than s / 5",
        "greater",
        "deviation",
        0.2,
        EQUAL,
        1.0,
        None,
        frozenset({SUPPORTED}),
    ),
    Levels("deviation at most its true s, three levels", "at_most", "deviation", 1.0, (-1.0, 0.0, 1.0), 1.0),
    Levels("deviation greater than of six others, less noisy", "greater", "deviation", None, EQUAL, 1.0, (EQUAL, 0.3)),
    Levels("relative deviation at most its true tenth", "at_most", "cv", 0.1, (9.0, 10.0, 11.0), 1.0),
)
LEVEL_SEEDS = (3, 5, 10, 20)


def _sample(design: Levels, of: Array, to: Array | None) -> Sample:
    sides = verdicts.Sides([0.0], [0.0] if to is not None else [], [[of]], [] if to is None else [[to]])
    return verdicts.sample_of(design.reduce, sides, 1.0)


def false_of_levels(design: Levels, n: int, claims: int, seed: int = 1) -> float:
    """Share of claims on levels that get a false verdict."""
    draw = np.random.default_rng(seed)

    def values(means: tuple[float, ...], noise: float) -> Array:
        shape = (claims, len(means), n)
        # Half of the variance is the seed's: the levels share its random numbers.
        own, shared = draw.standard_normal(shape), draw.standard_normal((claims, 1, n))
        return np.asarray(means)[:, None] + noise * (own + shared) / 2**0.5

    of = values(design.means, design.noise)
    to = None if design.other is None else values(*design.other)
    part = _part(design.expect, along="x", reduce=design.reduce, bound=design.bound)
    limits = verdicts.limits_of(part, 0.0, None)
    wrong = 0
    for k in range(claims):
        found = verdicts.interval_of(_sample(design, of[k], None if to is None else to[k]), 1)
        assert found is not None
        wrong += verdicts.decide(part, found, limits, 0.0, []) in design.false
    return wrong / claims


def level_rows(claims: int = DRAWS) -> Rows:
    """False verdicts on levels."""
    pairs = [(design, n) for design in LEVELS for n in LEVEL_SEEDS]
    found = _all([partial(false_of_levels, design, n, claims, 41) for design, n in pairs], "levels")
    return [
        ["levels", design.title, f"false: {' or '.join(sorted(design.false))}", f"{n}", f"{100 * x:.1f}"]
        for (design, n), x in zip(pairs, found, strict=True)
    ]


def _all(tasks: Sequence[partial[Any]], what: str) -> list[Any]:
    """The results of tasks, on all cores."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        running = [pool.submit(task) for task in tasks]
        found = []
        for k, one in enumerate(running, 1):
            found.append(one.result())
            print(f"\r{what}: {k} of {len(tasks)}", end="", file=sys.stderr)
        print(file=sys.stderr)
    return found


# ---- stars ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Network:
    """A network whose runs are compared with each other."""

    title: str
    rate: str
    pairs: int
    duration_s: int
    warmup_s: int
    queue: dict[str, str]

    def scenario(self) -> _core.Scenario:
        """The network's scenario: NewReno flows that start in the first second."""
        start = {"uniform": ["0 s", "1 s"]}
        links = {"access": {"rate": "100 Mbit/s", "delay": "5 ms"}, "bottleneck": {"rate": self.rate, "delay": "10 ms"}}
        return _core.Scenario.parse(
            {
                "name": "null",
                "duration": f"{self.duration_s} s",
                "warmup": f"{self.warmup_s} s",
                "topology": {"kind": "dumbbell", "pairs": self.pairs, **links},
                "queue": {"bottleneck": self.queue},
                "traffic": [
                    {"kind": "ftp", "count": self.pairs, "tcp": "newreno", "segment": "1000 B", "start": start}
                ],
            },
            [],
        )


NETWORKS = (
    Network("5 Mbit/s, RED", "5 Mbit/s", 4, 20, 5, {"aqm": "red", "limit": "40 packets"}),
    Network("5 Mbit/s, DropTail", "5 Mbit/s", 4, 20, 5, {"aqm": "droptail", "limit": "30 packets"}),
    Network("50 Mbit/s, PIE", "50 Mbit/s", 8, 6, 2, {"aqm": "pie", "limit": "200 packets"}),
)
POOL = 8000
"""Number of runs of each network."""
STAR_SEEDS = (2, 3, 5, 10, 20)
ARMS = (2, 4)
"""Numbers of disciplines in a table."""


@dataclass(frozen=True)
class Pool:
    """The measures of a comparison in many runs of one network, and what one packet changes in them."""

    values: Array
    steps: Array


def pool_of(network: Network, seeds: range) -> Pool:
    """The pool of runs with these seeds."""
    scenario = network.scenario()
    quantities = [q.at("bottleneck") for q in quantity.COMPARED]
    values, steps = [], []
    for seed in seeds:
        run = json.loads(scenario.run(seed))
        values.append([q.value(run) for q in quantities])
        steps.append([q.step(run, "bottleneck") for q in quantities])
    return Pool(np.array(values, float), np.array(steps))


def pools(runs: int = POOL, piece: int = 500) -> list[Pool]:
    """The pool of each network."""
    parts = [range(first, min(first + piece, runs + 1)) for first in range(1, runs + 1, piece)]
    found = _all([partial(pool_of, network, part) for network in NETWORKS for part in parts], "runs")
    rows = [found[k * len(parts) : (k + 1) * len(parts)] for k in range(len(NETWORKS))]
    return [Pool(np.concatenate([p.values for p in row]), np.concatenate([p.steps for p in row])) for row in rows]


def drawn(pool: Pool, n: int, arms: int, tables: int, seed: int) -> tuple[Array, Array]:
    """Values and steps of tables in which every discipline is the same: by table, discipline, seed and measure."""
    at = np.random.default_rng(seed).integers(0, len(pool.values), (tables, arms, n))
    return pool.values[at], pool.steps[at]


def starred(values: Array, steps: Array, floor: bool = True) -> Array:
    """Which tables have a `**`, as `Comparison.stars` gives them; `floor=False` leaves out floor and least number."""
    from scipy.special import stdtr

    n = values.shape[2]
    differences = values[:, 1:] - values[:, :1]
    step = np.maximum(steps.max(axis=2)[:, 1:], steps.max(axis=2)[:, :1])
    mean, spread = differences.mean(axis=2), differences.std(axis=2, ddof=1)
    if floor:
        spread = np.where((differences != 0).any(axis=2), np.maximum(spread, step / math.sqrt(6)), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(n - 1, -np.abs(mean) / (spread / math.sqrt(n)))
    # Under Holm's correction the smallest p value is the first to remain.
    smallest = np.nan_to_num(p, nan=1.0).min(axis=(1, 2))
    found: Array = smallest * p[0].size < ALPHA
    return found & (n >= CLEAR) if floor else found


def star_rows(tables: int = DRAWS, runs: int = POOL) -> Rows:
    """How many tables without any difference have a false `**`."""
    rows = []
    for network, pool in zip(NETWORKS, pools(runs), strict=True):
        for arms in ARMS:
            for n in STAR_SEEDS:
                for floor, title in ((False, "false by Student's t alone"), (True, "false **")):
                    found = [starred(*drawn(pool, n, arms, tables // 10, 50 + k), floor) for k in range(10)]
                    on = f"{network.title}, {arms} disciplines"
                    rows.append(["stars", on, title, f"{n}", f"{100 * float(np.mean(found)):.1f}"])
    return rows


# ---- the data ------------------------------------------------------------------------------------------------------


def verdict_rows(claims: int = DRAWS) -> Rows:
    """False verdicts and power."""
    rows = []
    for design in DESIGNS:
        for cases in CASES:
            on = f"{design.title}, {cases} case{'s' * (cases > 1)}"
            title = f"false: {' or '.join(sorted(design.false))}"
            for n in SEEDS:
                rows.append(["verdicts", on, title, f"{n}", f"{100 * false_verdicts(design, n, cases, claims):.1f}"])
    on = "effects of the detectable size"
    return rows + [["verdicts", on, "supported", f"{n}", f"{100 * power(n, claims):.1f}"] for n in SEEDS]


def main(arguments: Sequence[str]) -> int:
    """Write the data."""
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    rows = [*interval_rows(), *star_rows(), *skew_rows(), *level_rows(), *verdict_rows()]
    blocks.put_csv(Path(arguments[0]) / "data" / "coverage.csv", [HEAD, *rows])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
