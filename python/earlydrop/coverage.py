"""How often 95 % intervals cover the truth, measured on two processes whose mean is known.

    python -m earlydrop.coverage docs/statistics.md     writes the table there
    python -m earlydrop.coverage                        prints it

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

from . import statistics
from .statistics import Interval, Stopping

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


@dataclass(frozen=True)
class Process:
    """Something to simulate, with its true mean."""

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
    """Share of intervals that cover `truth` if seeds are run until `rule` is content; the mean number of seeds."""
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


def main(arguments: Sequence[str]) -> int:
    """Print the table, or write it between its marks in a page."""
    made = table()
    if not arguments:
        print(made)
        return 0
    path = Path(arguments[0])
    before, _, rest = path.read_text(encoding="utf-8").partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not end:
        print(f"{path}: has no {MARKS[0]} ... {MARKS[1]}", file=sys.stderr)
        return 2
    path.write_text(f"{before}{MARKS[0]}\n\n{made}\n\n{end}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
