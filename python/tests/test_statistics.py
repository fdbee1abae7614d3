"""Statistics against textbook values and laws."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from earlydrop.analysis import statistics

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


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000, 1100, 100_000])
def test_the_sign_test_is_exact_for_any_number_of_pairs(n: int) -> None:
    from fractions import Fraction

    for fewer in {0, n // 3, n // 2}:
        found = statistics.sign_test([1.0] * (n - fewer) + [-1.0] * fewer)
        if n <= 1100:
            tail, term = Fraction(0), Fraction(1)
            for k in range(fewer + 1):
                tail, term = tail + term, term * (n - k) / (k + 1)
            exact = min(Fraction(1), 2 * tail / 2**n)
            assert found == pytest.approx(float(exact), rel=1e-11, abs=1e-300)
        assert 0 <= found <= 1
    # Half and half is no evidence; two thirds of a hundred thousand are beyond any doubt.
    assert statistics.sign_test([1.0] * n + [-1.0] * n) == 1.0


def test_one_run_is_one_replication_however_many_seeds() -> None:
    found = statistics.estimate([3.0] * 10, same_run=True)
    assert (found.n, found.replicates, found.half_width, found.lower) == (10, 1, None, None)
    difference = statistics.paired([3.0] * 10, [2.0] * 10, same_run=True)
    assert (difference.estimate.mean, difference.clear, difference.wins, difference.losses) == (1.0, False, 1, 0)
    assert (difference.t_p, difference.wilcoxon_p, difference.sign_p, difference.detectable) == (None, None, None, None)
    # Runs that differ in other things may agree in a measure: these are ten values.
    agreed = statistics.estimate([3.0] * 10)
    assert (agreed.replicates, agreed.half_width) == (10, 0.0)


def test_a_single_pair_has_no_p_value() -> None:
    found = statistics.paired([3.0], [2.0])
    assert (found.t_p, found.wilcoxon_p, found.sign_p, found.estimate.replicates) == (None, None, None, 1)


def test_a_prediction_interval_holds_one_more_run_as_often_as_it_says() -> None:
    draw = random.Random(11)
    hits = 0
    for _ in range(4000):
        ends = statistics.prediction([draw.gauss(5, 2) for _ in range(6)])
        assert ends is not None
        hits += ends[0] <= draw.gauss(5, 2) <= ends[1]
    # The standard error of 95 % is 0.34 %.
    assert abs(hits / 4000 - 0.95) < 0.014
    assert statistics.prediction([1.0]) is None


@pytest.mark.parametrize("n", [2, 3, 5, 10, 30])
def test_the_detectable_effect_has_its_power_for_few_seeds_too(n: int) -> None:
    from scipy.stats import nct

    effect = statistics.detectable_effect(2.0, n)
    assert effect is not None
    shift = effect / 2.0 * math.sqrt(n)
    assert nct.sf(statistics.t_quantile(0.975, n - 1), n - 1, shift) == pytest.approx(0.8, abs=1e-4)


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


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=30))
def test_the_coefficient_of_variation_is_jains_companion(values: list[float]) -> None:
    found = statistics.coefficient_of_variation(values)
    assert found is not None
    assert statistics.jain(values) == pytest.approx(1 / (1 + found**2))
    assert statistics.coefficient_of_variation([0.0, 0.0]) is None


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


def test_bootstrap_is_scipys() -> None:
    from scipy.stats import bootstrap

    draw = random.Random(4)
    for n in (8, 30):
        values = [draw.expovariate(1) for _ in range(n)]
        lower, upper = statistics.bootstrap(values) or (math.nan, math.nan)
        theirs = bootstrap((values,), np.mean, n_resamples=20000, method="BCa", rng=1).confidence_interval
        width = theirs.high - theirs.low
        # Both are random: quantiles of so many resamples agree to a few per cent of the width.
        assert lower == pytest.approx(theirs.low, abs=0.05 * width)
        assert upper == pytest.approx(theirs.high, abs=0.05 * width)


def test_bootstrap_of_few_or_equal_values() -> None:
    assert statistics.bootstrap([1.0]) is None
    assert statistics.bootstrap([2.0, 2.0, 2.0]) == (2.0, 2.0)
    assert statistics.interval([1.0], "t") is None
    assert statistics.interval([1.0, 2.0, 4.0], "bootstrap") == statistics.bootstrap([1.0, 2.0, 4.0])


def test_t_test_and_interval_say_the_same() -> None:
    from scipy.stats import ttest_1samp

    draw = random.Random(9)
    for _ in range(200):
        values = [draw.gauss(0.7, 1) for _ in range(9)]
        found = statistics.estimate(values)
        assert found.lower is not None
        assert found.upper is not None
        p = statistics.t_test(values)
        assert p is not None
        assert (p < 0.05) == (found.lower > 0 or found.upper < 0)
        assert p == pytest.approx(ttest_1samp(values, 0).pvalue)


def test_values_that_are_all_equal_have_no_p_value() -> None:
    for values in ([1.0], [0.0, 0.0], [2.0, 2.0], [2.0] * 10):
        assert statistics.t_test(values) is None
        found = statistics.paired(values, [0.0] * len(values))
        assert (found.t_p, found.clear, found.stars(None)) == (None, False, 0)
    # It counts as a test of the table all the same.
    assert statistics.corrected(statistics.holm, [0.01, None, 0.04]) == pytest.approx([0.03, None, 0.08])


def test_differences_in_steps_have_a_variance_of_at_least_that_of_the_steps() -> None:
    # Three values of 99 % that all fell one step of 1.7 ms higher: no difference, were it not for the step.
    treatment, control = [30.7, 32.4, 29.0], [29.0, 30.7, 27.3]
    bare = statistics.paired(treatment, control)
    assert (bare.estimate.deviation, bare.t_p) == (0.0, None)
    found = statistics.paired(treatment, control, step=1.7)
    assert found.estimate.deviation == pytest.approx(1.7 / math.sqrt(6))
    assert found.t_p == pytest.approx(0.0513, abs=1e-4)
    assert not found.clear
    assert found.around(0.9) != found.around(0.95)
    # What varies by more is not touched, and what is the same value twice has no steps.
    assert statistics.paired([1.0, 5.0, 9.0], [0.0, 0.0, 0.0], step=1.7).estimate.deviation == 4.0
    assert statistics.paired(treatment, treatment, step=1.7).estimate.deviation == 0.0


def test_two_pairs_get_no_star() -> None:
    two = statistics.paired([10.0, 10.001], [1.0, 1.0])
    assert two.t_p is not None
    assert two.t_p < 0.001
    assert (two.clear, two.stars(0.001)) == (False, 0)
    three = statistics.paired([10.0, 10.001, 10.002], [1.0, 1.0, 1.0])
    assert (three.clear, three.stars(0.001), three.stars(0.5)) == (True, 2, 1)


def test_rounding_is_no_spread() -> None:
    shared = [100.1, 50.3, 75.7, 20.9]
    assert statistics.paired([x + 0.1 for x in shared], shared).estimate.deviation == 0.0
    assert statistics.subtracted([0.3, 0.6], [0.1, 0.2], 3.0) == [0.0, 0.0]


def test_wilcoxon_of_a_worked_example() -> None:
    # Ranks of the negative ones: 1 and 2, so W = 3; 5 of the 2**7 sign patterns have a rank sum of at most 3.
    assert statistics.wilcoxon([-1.0, -2.0, 3.0, 4.0, 5.0, 6.0, 7.0]) == pytest.approx(2 * 5 / 128)
    assert statistics.wilcoxon([0.0, 0.0]) == 1.0
    assert statistics.wilcoxon([0.0, -1.0, -2.0, 3.0, 4.0, 5.0, 6.0, 7.0]) == pytest.approx(2 * 5 / 128)
    assert statistics.wilcoxon([1.0, 1.0, 1.0, 1.0, 1.0, 1.0]) < 0.05  # tied: the normal approximation


def test_corrections_of_a_worked_example() -> None:
    ps = [0.01, 0.04, 0.03, 0.005]
    assert statistics.holm(ps) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert statistics.benjamini_hochberg(ps) == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert statistics.holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=30))
def test_corrections_only_raise_and_keep_the_order(ps: list[float]) -> None:
    from scipy.stats import false_discovery_control

    holm, bh = statistics.holm(ps), statistics.benjamini_hochberg(ps)
    assert all(p <= b + 1e-15 and b <= h + 1e-15 <= 1 + 1e-14 for p, b, h in zip(ps, bh, holm, strict=True))
    order = sorted(range(len(ps)), key=lambda k: ps[k])
    for corrected in (holm, bh):
        assert [corrected[k] for k in order] == sorted(corrected)
    if ps:
        assert bh == pytest.approx(list(false_discovery_control(ps)))


def test_holm_keeps_its_promise() -> None:
    # 20 true hypotheses at a time: in at most 5 % of 1000 families one is rejected (up to 72 with probability 0.999).
    draw = random.Random(3)
    wrong = sum(min(statistics.holm([draw.random() for _ in range(20)])) < 0.05 for _ in range(1000))
    assert wrong <= 72


def test_stopping_runs_what_is_needed_and_no_more() -> None:
    rule = statistics.Stopping(0.02, least=5, most=50)
    assert rule.wanted([]) == 5
    assert rule.wanted([100.0, 100.1, 99.9, 100.0, 100.1]) == 5, "narrow enough"
    wide = [100.0, 110.0, 90.0, 105.0, 95.0]
    assert 5 < rule.wanted(wide) <= 10, "at most twice as many"
    assert rule.wanted(wide * 10) == 50
    assert rule.enough(wide * 10)
    assert not rule.enough(wide)
    assert rule.wanted([0.0, 1.0, -1.0, 0.0, 0.0]) == 6, "a mean of zero gives no measure of how many are needed"
