"""How often 95 % intervals cover the truth, and how often a study calls an effect that is not there.

    python tools/interval_coverage.py docs/statistics.md     writes the tables there
    python tools/interval_coverage.py                        prints them

A replication is one run of a process, reduced to its mean: the waiting time in an M/M/1 queue at a load of 0.8, whose
run means are skewed, and an autoregressive process of order 1, whose are normal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from earlydrop.analysis import statistics
from earlydrop.analysis.statistics import ALPHA, CONFIDENCE, Interval, Stopping
from earlydrop.study import verdicts
from earlydrop.study.claim_results import CONTRADICTED, EQUIVALENT, SUPPORTED
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

MARKS = ("<!-- coverage: made by make coverage -->", "<!-- end of coverage -->")
VERDICT_MARKS = ("<!-- verdicts: made by make coverage -->", "<!-- end of verdicts -->")
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
    """`(count, seed)`: so many run means."""


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


def table(sets: int = 2000, rules: Sequence[float] = (0.1, 0.05, 0.02)) -> str:
    """The measured coverage as a table in Markdown."""
    lines = ["| process | interval | seeds | coverage |", "|---|---|---|---|"]
    intervals: list[tuple[Interval, str]] = [("t", "Student's t"), ("bootstrap", "bootstrap")]
    for process in (MM1, AR1):
        values = process.replications(30 * sets, 1)
        for kind, title in intervals:
            for n in (10, 30):
                found = 100 * share(values[: n * sets], process.mean, n, kind)
                lines.append(f"| {process.title} | {title} | {n} | {found:.1f} % |")
        values = process.replications(200 * (sets // 2), 2)
        for relative in rules:
            found, seeds = sequential(values, process.mean, Stopping(relative))
            title = f"t, until its half-width is under {100 * relative:g} % or 200 seeds"
            lines.append(f"| {process.title} | {title} | {seeds:.0f} on average | {100 * found:.1f} % |")
    lines += ["", f"{sets:,} sets of seeds each, {sets // 2:,} for stopping; the standard error is about 0.5 to 0.7 %."]
    return "\n".join(lines)


# ---- verdicts ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Design:
    """A claim, the truth it is tested on, and which verdicts on it are false."""

    title: str
    part: Part
    truth: Callable[[float], float]
    """The true difference in every case, for this margin."""
    false: frozenset[str]
    process: Process
    margin: float = 0.0
    """In standard deviations of one value."""
    alone: bool = False
    """The claim compares one side with a number, not two sides with each other."""


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


def intervals(numbers: Array, cases: int) -> list[list[verdicts.Interval]]:
    """`verdicts.interval_of` for each case of each claim: numbers by claim, case and seed."""
    n = numbers.shape[-1]
    mean, error = numbers.mean(axis=-1), numbers.std(axis=-1, ddof=1) / n**0.5
    half = statistics.t_quantile(0.5 + CONFIDENCE / 2, n - 1) * error
    wide = statistics.t_quantile(1 - ALPHA / cases / 2, n - 1) * error
    ends = np.stack([mean - half, mean + half, mean - wide, mean + wide], axis=-1).tolist()
    return [[verdicts.Interval(*one) for one in claim] for claim in ends]


def false_verdicts(design: Design, n: int, cases: int, claims: int, seed: int = 1) -> float:
    """Share of claims of so many cases, on `n` seeds each, that get a verdict which is false."""
    count = claims * cases * n
    margin = design.margin * 2**0.5
    pairs = design.process.replications(count, seed)
    if not design.alone:
        pairs = pairs - design.process.replications(count, seed + 1)
    numbers = (pairs + design.truth(margin)).reshape(claims, cases, n)
    limits = verdicts.limits_of(design.part, 0.0, margin)
    # In every run: the smallest number has to hold.
    holding = (numbers.min(axis=-1) > 0).tolist()
    wrong = 0
    for every, all_hold in zip(intervals(numbers, cases), holding, strict=True):
        found = [
            verdicts.decide(design.part, one, limits, margin, [held] * n)
            for one, held in zip(every, all_hold, strict=True)
        ]
        wrong += verdicts.conjunction(found) in design.false
    return wrong / claims


def power(n: int, claims: int, seed: int = 1) -> float:
    """Share of claims that are supported where the true difference is the smallest that `n` seeds can show."""
    effect = statistics.detectable_effect(1.0, n)
    assert effect is not None
    numbers = effect + np.random.default_rng(seed).standard_normal((claims, 1, n))
    part = _part("greater")
    limits = verdicts.limits_of(part, 0.0, 0.0)
    found = [verdicts.decide(part, one, limits, 0.0, []) for (one,) in intervals(numbers, 1)]
    return found.count(SUPPORTED) / claims


def verdict_table(claims: int = 20_000) -> str:
    """False verdicts and power as tables in Markdown."""
    seeds, rule = " | ".join(f"{n} seeds" for n in SEEDS), "---|" * len(SEEDS)
    lines = [f"| claim, truth | false | cases | {seeds} |", f"|---|---|---|{rule}"]
    for design in DESIGNS:
        for cases in CASES:
            found = [f"{100 * false_verdicts(design, n, cases, claims):.1f} %" for n in SEEDS]
            lines.append(f"| {design.title} | {' or '.join(sorted(design.false))} | {cases} | {' | '.join(found)} |")
    found = [f"{100 * power(n, claims):.1f} %" for n in SEEDS]
    lines += [
        "",
        f"| | {seeds} |",
        f"|---|{rule}",
        f"| supported, of effects of the detectable size | {' | '.join(found)} |",
    ]
    errors = [100 * (p * (1 - p) / claims) ** 0.5 for p in (ALPHA, statistics.POWER)]
    lines += ["", f"{claims:,} claims each; standard errors of 5 % and 80 % are {errors[0]:.2f} and {errors[1]:.2f} %."]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Print the tables, or write them between their marks in a page."""
    made = {MARKS: table(), VERDICT_MARKS: verdict_table()}
    if not arguments:
        print("\n\n".join(made.values()))
        return 0
    path = Path(arguments[0])
    text = path.read_text(encoding="utf-8")
    for (begin, end), content in made.items():
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            print(f"{path}: has no {begin} ... {end}", file=sys.stderr)
            return 2
        text = f"{before}{begin}\n\n{content}\n\n{end}{after}"
    path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
