"""Statistics against textbook values and laws."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earlydrop import statistics

numbers = st.floats(-1e6, 1e6, allow_nan=False)


def test_t_quantiles_are_the_tables() -> None:
    assert statistics.t_quantile(0.975, 1) == pytest.approx(12.7062, abs=1e-4)
    assert statistics.t_quantile(0.975, 9) == pytest.approx(2.2622, abs=1e-4)
    assert statistics.t_quantile(0.8, 9) == pytest.approx(0.8834, abs=1e-4)


def test_interval_of_a_worked_example() -> None:
    found = statistics.estimate([10.0, 12.0, 14.0])
    assert found.mean == 12.0
    assert found.half_width == pytest.approx(4.3027 * 2 / math.sqrt(3), rel=1e-4)
    assert (found.lower, found.upper) == pytest.approx((7.0317, 16.9683), rel=1e-4)


def test_one_value_has_no_interval() -> None:
    found = statistics.estimate([3.0])
    assert (found.mean, found.half_width, found.lower, found.upper, found.n) == (3.0, None, None, None, 1)


def test_equal_values_have_width_zero_exactly() -> None:
    assert statistics.estimate([0.1] * 7).half_width == 0.0


def test_interval_covers_the_truth_as_often_as_it_says() -> None:
    # 2000 intervals of 95 %: between 1862 and 1938 with probability 0.9999.
    draw = random.Random(20)
    hits = 0
    for _ in range(2000):
        found = statistics.estimate([draw.gauss(5, 2) for _ in range(6)])
        hits += found.lower is not None and found.upper is not None and found.lower <= 5 <= found.upper
    assert 1862 <= hits <= 1938


def test_sign_test_counts_tails() -> None:
    assert statistics.sign_test([1.0] * 10) == pytest.approx(2 / 1024)
    assert statistics.sign_test([1, 1, 1, -1]) == pytest.approx(2 * 5 / 16)
    assert statistics.sign_test([1, -1]) == 1.0
    assert statistics.sign_test([0.0, 0.0]) == 1.0
    assert statistics.sign_test([0.0, 1.0, 1.0]) == pytest.approx(0.5)


def test_pairing_removes_what_both_share() -> None:
    shared = [100.0, 50.0, 75.0, 20.0]
    found = statistics.paired([x + 1 for x in shared], shared)
    assert found.estimate.mean == 1.0
    assert found.estimate.half_width == pytest.approx(0.0, abs=1e-9)
    assert (found.wins, found.losses) == (4, 0)
    assert found.relative == pytest.approx(1 / 61.25)


def test_identical_series_still_state_a_detectable_effect() -> None:
    found = statistics.paired([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert found.estimate.half_width == 0.0
    assert found.detectable is not None
    assert found.detectable > 0


def test_pairs_must_match() -> None:
    with pytest.raises(ValueError, match="pairs needed"):
        statistics.paired([1.0], [1.0, 2.0])


def test_the_detectable_effect_is_detected_four_times_in_five() -> None:
    n, spread = 10, 1.0
    effect = statistics.detectable_effect(spread, n)
    assert effect is not None
    draw = random.Random(5)
    found = 0
    for _ in range(2000):
        lower = statistics.estimate([draw.gauss(effect, spread) for _ in range(n)]).lower
        found += lower is not None and lower > 0
    assert 0.76 <= found / 2000 <= 0.86


def test_jain_at_its_ends() -> None:
    assert statistics.jain([3.0] * 8) == pytest.approx(1.0)
    assert statistics.jain([1.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    assert statistics.jain([]) == 1.0


@given(st.lists(st.floats(0, 1e6, allow_nan=False), min_size=1, max_size=30))
def test_jain_lies_between_one_share_and_one(values: list[float]) -> None:
    assert 1 / len(values) - 1e-9 <= statistics.jain(values) <= 1 + 1e-9


@given(st.lists(numbers, min_size=2, max_size=20), st.randoms())
def test_the_order_of_values_does_not_matter(values: list[float], shuffle: random.Random) -> None:
    other = list(values)
    shuffle.shuffle(other)
    assert statistics.estimate(values).mean == statistics.estimate(other).mean


@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=20))
def test_swapping_the_arms_turns_the_sign(pairs: list[tuple[float, float]]) -> None:
    left, right = [a for a, _ in pairs], [b for _, b in pairs]
    there, back = statistics.paired(left, right), statistics.paired(right, left)
    assert there.estimate.mean == -back.estimate.mean
    assert there.sign_p == back.sign_p
    assert (there.wins, there.losses) == (back.losses, back.wins)


def test_relative_spread_is_free_of_scale() -> None:
    assert statistics.relative_spread([9.0, 10.0, 11.0]) == pytest.approx(0.1)
    assert statistics.relative_spread([90.0, 100.0, 110.0]) == pytest.approx(0.1)
    assert statistics.relative_spread([4.0]) == 0.0
