"""Whether 95 % intervals cover the truth in 95 % of all cases, on processes whose mean is known."""

from __future__ import annotations

import numpy as np
import pytest

from earlydrop import coverage
from earlydrop.statistics import Stopping

SETS = 1600
"""Sets of seeds: at 95 % the standard error of a share is 0.55 %."""


@pytest.fixture(scope="module")
def mm1() -> coverage.Array:
    return coverage.MM1.replications(30 * SETS, 7)


@pytest.fixture(scope="module")
def ar1() -> coverage.Array:
    return coverage.AR1.replications(30 * SETS, 7)


@pytest.mark.parametrize("n", [10, 30])
def test_t_intervals_cover_the_mean_wait_of_a_queue(mm1: coverage.Array, n: int) -> None:
    assert 0.93 <= coverage.share(mm1, coverage.MM1.mean, n, "t") <= 0.97


@pytest.mark.parametrize("n", [10, 30])
def test_t_intervals_cover_the_level_of_a_process_with_memory(ar1: coverage.Array, n: int) -> None:
    assert 0.93 <= coverage.share(ar1, coverage.AR1.mean, n, "t") <= 0.97


def test_bootstrap_intervals_cover_less(mm1: coverage.Array) -> None:
    # What docs/statistics.md says of ten seeds, and its reason not to be the default.
    assert 0.86 <= coverage.share(mm1[: 10 * SETS], coverage.MM1.mean, 10, "bootstrap") <= 0.92


def test_stopping_costs_a_little_coverage(ar1: coverage.Array) -> None:
    covered, seeds = coverage.sequential(ar1, coverage.AR1.mean, Stopping(0.03, least=10, most=60))
    assert 0.92 <= covered <= 0.97
    assert 15 <= seeds <= 40


def test_the_processes_have_the_means_they_are_said_to_have(mm1: coverage.Array, ar1: coverage.Array) -> None:
    for values, process in ((mm1, coverage.MM1), (ar1, coverage.AR1)):
        error = values.std() / np.sqrt(len(values))
        assert abs(values.mean() - process.mean) < 4 * error
