"""Every predicate at its edges, on outcomes made by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from earlydrop import study as studies
from earlydrop.analysis import statistics
from earlydrop.study import CONTRADICTED, NOT_TESTABLE, SUPPORTED, UNDECIDED, case_text, text
from earlydrop.study.claim_results import DEPENDS, EQUIVALENT, Case, ClaimResult, claim_document
from earlydrop.study.verdicts import (
    Interval,
    conjunction,
    direction_verdict,
    headline,
    inside_verdict,
    interval_of,
    seed_verdict,
)

STUDY = """\
name = "hand"
title = "By hand"
question = "?"
seeds = 4
[scenario]
name = "hand"
duration = "1 s"
topology = {{ kind = "dumbbell", pairs = 1, access = {{ rate = "1 Mbit/s", delay = "1 ms" }}, \
bottleneck = {{ rate = "1 Mbit/s", delay = "1 ms" }} }}
queue = {{ bottleneck = {{ aqm = "red" }} }}
traffic = [{{ kind = "ftp" }}]
[[measure]]
id = "m"
title = "Measure"
unit = "ms"
field = "jain"
kind = "{kind}"
[[experiment]]
id = "E"
title = "Experiment"
{skip}
[[experiment.axis]]
id = "side"
title = "Side"
levels = [{{ id = "a" }}, {{ id = "b" }}]
[[experiment.axis]]
id = "x"
title = "X"
values = [1, 2, 4]
path = "traffic.0.window"
[[experiment.axis]]
id = "view"
title = "View"
reading = true
{literal}
base = "v1"
levels = [{{ id = "v1" }}, {{ id = "v2", published = false }}, {{ id = "v3", fitted = ["m"] }}]
[[experiment.axis]]
id = "other"
title = "Other"
reading = true
levels = [{{ id = "o1" }}, {{ id = "o2" }}]
[[claim]]
id = "C"
text = "It is so."
experiment = "E"
parts = [{part}]
{table}
"""

Value = Callable[[dict[str, str], int], float | None]
WOBBLE = 1e-8
"""Runs that are all equal decide little: so much the side a differs from seed to seed, up and down."""


@pytest.fixture
def judged(tmp_path: Path) -> Callable[..., ClaimResult]:
    def judge(
        part: str,
        value: Value,
        *,
        seeds: int = 4,
        literal: str = "",
        skip: str = "",
        printed: str = "",
        at: str = "",
        kind: str = "number",
        same_run: bool = False,
        wobble: float = WOBBLE,
    ) -> ClaimResult:
        table = ""
        if printed:
            (tmp_path / "t.csv").write_text(printed, encoding="utf-8")
            table = f'[[table]]\nid = "T"\ntitle = "T"\nexperiment = "E"\nrows = ["x"]\npublished = "t.csv"\n{at}'
        text_of = STUDY.format(part=part, literal=literal, skip=skip, table=table, kind=kind)
        (tmp_path / "study.toml").write_text(text_of, encoding="utf-8")
        study = studies.read(tmp_path)
        (e,) = study.experiments

        def made(at: dict[str, str], seed: int) -> float | None:
            found = value(at, seed)
            size = float(at["x"]) ** 2 * (2 if at["view"] == "v2" else 1)
            moved = wobble * size * (-1) ** seed if at["side"] == "a" and not same_run else 0.0
            return found if found is None else found + moved

        values = {
            cell: {"m": [made(dict(zip(e.names, cell, strict=True)), s) for s in range(1, seeds + 1)]}
            for cell in e.cells
        }
        fixed = frozenset(("E", cell) for cell in e.cells if same_run)
        (result,) = studies.judge(studies.Outcome(study, {"E": values}, fixed))
        judge.study = study  # type: ignore[attr-defined]
        return result

    return judge


def worst(result: ClaimResult) -> Case:
    return result.base.parts[0].worst


def sides(a: Sequence[float], b: Sequence[float]) -> Value:
    return lambda at, seed: (a if at["side"] == "a" else b)[seed - 1]


A_B = "of = { side = 'a' }, to = { side = 'b' }"


def plain(lower: float, upper: float, wider: float = 0.0) -> Interval:
    return Interval(lower, upper, lower - wider, upper + wider)


@pytest.mark.parametrize(
    ("expect", "lower", "upper", "verdict"),
    [
        ("greater", 0.1, 0.2, SUPPORTED),
        ("greater", 0.0, 0.2, UNDECIDED),
        ("greater", 0.0, 0.0, UNDECIDED),
        ("greater", -0.2, -0.1, CONTRADICTED),
        ("greater", -0.2, 0.0, UNDECIDED),
        ("less", -0.2, -0.1, SUPPORTED),
        ("less", -0.1, 0.1, UNDECIDED),
        ("less", 0.1, 0.2, CONTRADICTED),
        ("at_least", 0.0, 0.0, SUPPORTED),
        ("at_least", -0.1, 0.3, UNDECIDED),
        ("at_least", -0.3, -0.1, CONTRADICTED),
        ("at_most", -0.3, 0.0, SUPPORTED),
        ("at_most", 0.1, 0.3, CONTRADICTED),
    ],
)
def test_directions_at_their_edges(expect: str, lower: float, upper: float, verdict: str) -> None:
    assert direction_verdict(expect, plain(lower, upper)) == verdict


@pytest.mark.parametrize(
    ("expect", "lower", "upper", "verdict"),
    [
        # Within the margin of 1 is equivalent, whether zero is excluded or not.
        ("greater", -1.0, 1.0, EQUIVALENT),
        ("greater", 0.2, 0.9, EQUIVALENT),
        ("less", 0.2, 0.9, EQUIVALENT),
        ("greater", -0.9, -0.2, EQUIVALENT),
        ("greater", 0.2, 1.1, SUPPORTED),
        ("greater", -1.1, -0.2, CONTRADICTED),
        ("greater", -1.1, 0.2, UNDECIDED),
        # "At least" may be less by the margin.
        ("at_least", -1.0, 5.0, SUPPORTED),
        ("at_least", -0.9, -0.2, SUPPORTED),
        ("at_least", -1.1, 5.0, UNDECIDED),
        ("at_least", -1.5, -0.5, UNDECIDED),
        ("at_least", -1.5, -1.1, CONTRADICTED),
        ("at_most", -5.0, 1.0, SUPPORTED),
        ("at_most", 1.1, 5.0, CONTRADICTED),
    ],
)
def test_directions_with_a_margin(expect: str, lower: float, upper: float, verdict: str) -> None:
    assert direction_verdict(expect, plain(lower, upper), 1.0) == verdict


def test_one_case_of_many_contradicts_by_its_wider_interval_only() -> None:
    assert direction_verdict("greater", plain(-0.3, -0.1, 0.05)) == CONTRADICTED
    assert direction_verdict("greater", plain(-0.3, -0.1, 0.2)) == UNDECIDED
    assert direction_verdict("greater", plain(0.1, 0.3, 0.2)) == SUPPORTED
    assert direction_verdict("greater", plain(-0.3, 0.3, 0.2), 0.5) == EQUIVALENT
    assert direction_verdict("greater", plain(-0.3, 0.3, 0.3), 0.5) == UNDECIDED
    assert inside_verdict(plain(2.1, 3.0, 0.05), 1.0, 2.0) == CONTRADICTED
    assert inside_verdict(plain(2.1, 3.0, 0.2), 1.0, 2.0) == UNDECIDED


def test_the_wider_interval_is_bonferronis() -> None:
    # Symmetric values have Student's interval.
    values = [1.0, 2.0, 4.0, 3.0]
    found = interval_of(values, 3)
    assert found is not None
    one, three = statistics.estimate(values), statistics.estimate(values, 1 - 0.05 / 3)
    assert (found.lower, found.upper) == pytest.approx((one.lower, one.upper))
    assert (found.wide_lower, found.wide_upper) == pytest.approx((three.lower, three.upper))
    assert interval_of([1.0], 1) is None
    assert interval_of([2.0] * 10, 1) is None, "all equal"


@pytest.mark.parametrize(
    ("lower", "upper", "verdict"),
    [
        (1.0, 2.0, SUPPORTED),
        (1.2, 1.4, SUPPORTED),
        (0.9, 1.5, UNDECIDED),
        (1.5, 2.1, UNDECIDED),
        (0.0, 3.0, UNDECIDED),
        (0.0, 1.0, UNDECIDED),
        (0.0, 0.99, CONTRADICTED),
        (2.01, 3.0, CONTRADICTED),
    ],
)
def test_limits_at_their_edges(lower: float, upper: float, verdict: str) -> None:
    assert inside_verdict(plain(lower, upper), 1.0, 2.0) == verdict


@pytest.mark.parametrize(
    ("interval", "holds", "verdict"),
    [
        (SUPPORTED, [True] * 6, SUPPORTED),
        (SUPPORTED, [True] * 5, UNDECIDED),
        (SUPPORTED, [*[True] * 9, False], UNDECIDED),
        # The same sign in few seeds says nothing without the interval.
        (UNDECIDED, [True] * 6, UNDECIDED),
        (CONTRADICTED, [True, *[False] * 6], CONTRADICTED),
        (EQUIVALENT, [True] * 6, EQUIVALENT),
    ],
)
def test_a_sign_in_every_seed(interval: str, holds: list[bool], verdict: str) -> None:
    assert seed_verdict(interval, holds) == verdict


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([SUPPORTED, SUPPORTED], SUPPORTED),
        ([SUPPORTED, UNDECIDED], UNDECIDED),
        ([SUPPORTED, EQUIVALENT], EQUIVALENT),
        ([EQUIVALENT, UNDECIDED], UNDECIDED),
        ([UNDECIDED, CONTRADICTED], CONTRADICTED),
        ([SUPPORTED, CONTRADICTED], CONTRADICTED),
        ([], UNDECIDED),
    ],
)
def test_a_claim_is_as_strong_as_the_weakest_of_its_parts(parts: list[str], verdict: str) -> None:
    assert conjunction(parts) == verdict


@pytest.mark.parametrize(
    ("literal", "others", "verdict"),
    [
        (SUPPORTED, [], SUPPORTED),
        (UNDECIDED, [], UNDECIDED),
        (SUPPORTED, [SUPPORTED], SUPPORTED),
        (SUPPORTED, [CONTRADICTED], DEPENDS),
        (SUPPORTED, [SUPPORTED, CONTRADICTED], DEPENDS),
        (SUPPORTED, [SUPPORTED, SUPPORTED, CONTRADICTED], SUPPORTED),
        (UNDECIDED, [SUPPORTED, SUPPORTED, SUPPORTED], DEPENDS),
        (EQUIVALENT, [EQUIVALENT, EQUIVALENT, SUPPORTED], EQUIVALENT),
        (CONTRADICTED, [UNDECIDED, UNDECIDED], DEPENDS),
    ],
)
def test_the_literal_reading_and_most_others_make_the_headline(literal: str, others: list[str], verdict: str) -> None:
    assert headline(literal, others) == verdict


def test_a_difference_is_paired_by_seed(judged: Callable[..., ClaimResult]) -> None:
    # What both sides share is large and cancels.
    shared = [100.0, 50.0, 75.0, 20.0]
    found = judged(f"{{ measure = 'm', {A_B}, expect = 'greater' }}", sides([x + 1 for x in shared], shared))
    case = worst(found)
    assert found.verdict == SUPPORTED
    assert (case.n, case.holding) == (4, 4)
    assert case.effect == pytest.approx(1.0)
    assert case.relative == pytest.approx(1 / 61.25)


def test_axes_that_are_not_named_are_averaged_within_each_seed(judged: Callable[..., ClaimResult]) -> None:
    def value(at: dict[str, str], seed: int) -> float:
        return float(at["x"]) * (2 if at["side"] == "a" else 1) + seed

    case = worst(judged(f"{{ measure = 'm', {A_B}, expect = 'greater' }}", value))
    # The mean of x is 7/3; it is the same in every seed.
    assert case.effect == pytest.approx(7 / 3)
    assert case.n == 4
    assert case.cells == frozenset(("E", (s, x, "v1", "o1")) for s in "ab" for x in "124")


@pytest.mark.parametrize(
    ("bound", "verdict"),
    [(0.9, SUPPORTED), (1.0, UNDECIDED), (1.1, CONTRADICTED)],
)
def test_a_difference_against_a_bound(judged: Callable[..., ClaimResult], bound: float, verdict: str) -> None:
    part = f"{{ measure = 'm', {A_B}, expect = 'greater', bound = {bound} }}"
    assert judged(part, sides([2.0] * 4, [1.0] * 4)).verdict == verdict


@pytest.mark.parametrize(
    ("times", "expect", "verdict"),
    [
        (0.5, "less", SUPPORTED),
        (0.4, "less", UNDECIDED),
        (0.4, "at_most", UNDECIDED),
        (0.39, "at_most", CONTRADICTED),
        (0.41, "at_most", SUPPORTED),
        (0.3, "less", CONTRADICTED),
        (0.4, "equal", SUPPORTED),
    ],
)
def test_one_side_against_so_many_times_the_other(
    judged: Callable[..., ClaimResult], times: float, expect: str, verdict: str
) -> None:
    bound = ", bound = 0.01" if expect == "equal" else ""
    part = f"{{ measure = 'm', {A_B}, times = {times}, expect = '{expect}'{bound} }}"
    found = judged(part, sides([4.0] * 4, [10.0] * 4))
    assert found.base.verdict == verdict
    case = worst(found)
    # The effect is the difference of the two sides; what the predicate tests is reported separately.
    assert (case.effect, case.control, case.relative) == pytest.approx((-6.0, 10.0, -0.6))
    assert case.tested is not None
    assert case.tested.mean == pytest.approx(4 - times * 10)
    words = case_text.effect_text(judged.study, found.base.parts[0].part, case)  # type: ignore[attr-defined]
    assert words.startswith("-6.0000000 [-6.0000001, -5.9999999] ms (-60.000000 %)")
    if expect != "equal":
        assert f"against {times:g} times b: {4 - times * 10:+.7f}".replace("+0.0000000", "0.0000000") in words


def test_equal_without_a_bound_is_within_the_margin_of_the_measure(judged: Callable[..., ClaimResult]) -> None:
    part = f"{{ measure = 'm', {A_B}, expect = 'equal' }}"
    assert judged(part, sides([1.019] * 4, [1.0] * 4), kind="delay").verdict == SUPPORTED
    assert judged(part, sides([1.021] * 4, [1.0] * 4), kind="delay").verdict == CONTRADICTED
    with pytest.raises(studies.StudyError, match="this kind of measure has no margin"):
        judged(part, sides([1.0] * 4, [1.0] * 4))


def test_a_difference_within_the_margin_is_equivalent(judged: Callable[..., ClaimResult]) -> None:
    for expect, verdict in (("greater", EQUIVALENT), ("less", EQUIVALENT), ("at_least", SUPPORTED)):
        found = judged(
            f"{{ measure = 'm', {A_B}, expect = '{expect}' }}", sides([99.991] * 4, [100.0] * 4), kind="delay"
        )
        assert found.verdict == verdict
        case = worst(found)
        assert case.margin == pytest.approx(2.0)
        words = case_text.effect_text(judged.study, found.base.parts[0].part, case)  # type: ignore[attr-defined]
        assert "within the margin of ± 2.000 ms (2 %)" in words
    # Shares and indices have an absolute one.
    index = judged(f"{{ measure = 'm', {A_B}, expect = 'greater' }}", sides([0.509] * 4, [0.5] * 4), kind="index")
    assert (index.verdict, worst(index).margin) == (EQUIVALENT, 0.01)


@pytest.mark.parametrize(
    ("more", "margin"),
    [
        ("along = 'x', reduce = 'max', expect = 'greater', bound = 10", 0.2),
        ("along = 'x', reduce = 'cv', expect = 'less', bound = 0.4", 0.02),
        ("along = 'x', reduce = 'range', expect = 'less', bound = 10", 0.5),
        ("along = 'x', reduce = 'correlation', expect = 'greater', bound = 0.5", 0.01),
        ("along = 'x', reduce = 'positive', expect = 'greater', bound = 0.5", 0.01),
        # 2 % of the mean over the axis, spread over its length of 3.
        ("along = 'x', reduce = 'slope', expect = 'greater', bound = 0", 0.02 * 7 / 3),
    ],
)
def test_the_margin_along_an_axis(judged: Callable[..., ClaimResult], more: str, margin: float) -> None:
    case = worst(judged(f"{{ measure = 'm', {more} }}", lambda at, s: 3.0 * float(at["x"]), kind="delay"))
    assert case.margin == pytest.approx(margin)


def test_runs_that_are_all_the_same_decide_nothing(judged: Callable[..., ClaimResult]) -> None:
    part = f"{{ measure = 'm', {A_B}, expect = 'less' }}"
    found = judged(part, sides([1.0] * 4, [2.0] * 4), same_run=True)
    case = worst(found)
    assert (found.verdict, case.effect, case.lower, case.sign_p, case.one_run) == (UNDECIDED, -1.0, None, None, None)
    study = judged.study  # type: ignore[attr-defined]
    words = case_text.effect_text(study, found.base.parts[0].part, case)
    same = "one run: every seed gives the same, so there is no interval"
    assert words == f"-1.000 ms (-50.00 %); {same}; at 3 of 3 levels of x"
    assert case_text.doubt_text(study, found.base.parts[0].part, case) == ""


def test_the_published_effect_is_held_against_a_single_run(judged: Callable[..., ClaimResult]) -> None:
    part = f"{{ measure = 'm', {A_B}, expect = 'greater', published = {{ relative = 0.13 }} }}"
    a = [11.0, 12.0, 11.5, 10.5]
    found = judged(part, sides(a, [10.0] * 4), wobble=0)
    case = worst(found)
    assert case.lower is not None
    assert case.upper is not None
    low, high = statistics.prediction([x - 10 for x in a]) or (math.nan, math.nan)
    assert case.one_run == (low, high)
    assert (high - low) / (case.upper - case.lower) == pytest.approx(math.sqrt(5))
    assert case.reproduces_size is True
    assert case.distance == pytest.approx(0.125 - 0.13)
    far = worst(judged(part.replace("0.13", "0.5"), sides(a, [10.0] * 4)))
    assert far.reproduces_size is False
    words = case_text.published_text(judged.study, found.base.parts[0].part, [far])  # type: ignore[attr-defined]
    assert words == "published: +50.00 %; ours lies -37.50 % from there, outside of what 95 % of single runs would give"


def test_the_claims_of_a_study_are_corrected_for_their_number(judged: Callable[..., ClaimResult]) -> None:
    found = judged(f"{{ measure = 'm', {A_B}, expect = 'greater' }}", sides([2.0, 2.1, 2.2, 1.9], [1.0] * 4), wobble=0)
    assert found.verdict == SUPPORTED
    assert found.base.p == pytest.approx(statistics.t_test([1.0, 1.1, 1.2, 0.9]))
    assert found.corrected == found.base.p, "a single claim"
    # Of several cases the least sure one counts for support; contradiction is paid for by their number.
    part = f"{{ measure = 'm', {A_B}, expect = 'less', each = ['x'] }}"
    against = judged(part, sides([2.0, 2.1, 2.2, 1.9], [1.0] * 4), wobble=0)
    assert against.verdict == CONTRADICTED
    assert against.base.p == pytest.approx(3 * found.base.p)


@pytest.mark.parametrize(
    ("more", "verdict"),
    [
        ("expect = 'less'", SUPPORTED),
        ("expect = 'less', bound = 0.5", UNDECIDED),
        ("expect = 'at_most', bound = 0.51", SUPPORTED),
        ("expect = 'greater', bound = 0.49", SUPPORTED),
        ("expect = 'equal', bound = 0.01", CONTRADICTED),
        ("expect = 'equal', value = 0.5, bound = 0.001", SUPPORTED),
        ("expect = 'equal', value = 0.55, bound = 0.1", SUPPORTED),
        ("expect = 'equal', value = 0.56, bound = 0.1", CONTRADICTED),
        ("within = [0.49, 0.6]", SUPPORTED),
        ("expect = 'within', within = [0.51, 0.6]", CONTRADICTED),
    ],
)
def test_ratios(judged: Callable[..., ClaimResult], more: str, verdict: str) -> None:
    # The ratio is one half in each seed, whatever the size.
    found = judged(f"{{ measure = 'm', {A_B}, form = 'ratio', {more} }}", sides([1, 2, 3, 4], [2, 4, 6, 8]))
    assert found.verdict == verdict
    assert worst(found).effect == pytest.approx(0.5)
    assert worst(found).relative is None


def test_a_ratio_to_nothing_decides_nothing(judged: Callable[..., ClaimResult]) -> None:
    found = judged(f"{{ measure = 'm', {A_B}, form = 'ratio', expect = 'less' }}", sides([1] * 4, [0, 1, 1, 1]))
    assert found.verdict == UNDECIDED
    assert "nothing" in worst(found).reason


@pytest.mark.parametrize(
    ("a", "bound", "verdict"),
    [(102.0, 0.021, SUPPORTED), (102.0, 0.019, CONTRADICTED), (98.0, 0.021, SUPPORTED), (97.9, 0.02, CONTRADICTED)],
)
def test_equal_means_inside_the_bound(judged: Callable[..., ClaimResult], a: float, bound: float, verdict: str) -> None:
    part = f"{{ measure = 'm', {A_B}, expect = 'equal', bound = {bound} }}"
    assert judged(part, sides([a] * 4, [100.0] * 4)).verdict == verdict


def test_equal_is_undecided_where_the_interval_crosses_the_bound(judged: Callable[..., ClaimResult]) -> None:
    part = f"{{ measure = 'm', {A_B}, expect = 'equal', bound = 0.02 }}"
    assert judged(part, sides([99.0, 103.0, 101.0, 104.0], [100.0] * 4)).verdict == UNDECIDED


@pytest.mark.parametrize(
    ("more", "verdict"),
    [
        ("expect = 'greater', bound = 4.9", SUPPORTED),
        ("expect = 'greater', bound = 5", UNDECIDED),
        ("expect = 'at_least', bound = 5", UNDECIDED),
        ("expect = 'at_least', bound = 4.99", SUPPORTED),
        ("expect = 'less', bound = 4", CONTRADICTED),
        ("expect = 'equal', value = 5.2, bound = 0.05", SUPPORTED),
        ("expect = 'equal', value = 6, bound = 0.05", CONTRADICTED),
        ("within = [4.99, 6]", SUPPORTED),
        ("within = [1, 4.9]", CONTRADICTED),
    ],
)
def test_one_side_against_a_number(judged: Callable[..., ClaimResult], more: str, verdict: str) -> None:
    assert judged(f"{{ measure = 'm', of = {{ side = 'a' }}, {more} }}", lambda at, s: 5.0).verdict == verdict


@pytest.mark.parametrize(
    ("a", "verdict"),
    [
        ([2, 2.1, 2, 2, 2, 2], SUPPORTED),
        ([2, 2.1, 2, 2, 2], UNDECIDED),
        ([2, 2, 2, 2, 2, 0.9], UNDECIDED),
        ([0.9, 0.5, 0.8, 0.1, 0.5, 0.2], CONTRADICTED),
        ([1, 1, 1, 1, 1, 1], CONTRADICTED),
        ([2, 2, 2, 2, 2, 2], SUPPORTED),
        ([2, 2, 2, 2, 2], UNDECIDED),
        ([1, 2, 2, 2, 2, 2], UNDECIDED),
    ],
)
def test_every_seed(judged: Callable[..., ClaimResult], a: list[float], verdict: str) -> None:
    part = f"{{ measure = 'm', {A_B}, expect = 'greater', every_seed = true }}"
    found = judged(part, sides(a, [1] * len(a)), seeds=len(a), wobble=0)
    assert found.verdict == verdict
    assert worst(found).holding == sum(x > 1 for x in a)


@pytest.mark.parametrize(
    ("a", "verdict"),
    [
        ([0.2, 0.3, 0.9, 1.2, 0.4, 0.3], SUPPORTED),
        ([0.2, 1.2], SUPPORTED),
        ([0.2, 0.3, 0.9, 0.8, 0.4, 0.3], CONTRADICTED),
        ([0.2, 0.3, 0.9, 0.8, 0.4], UNDECIDED),
    ],
)
def test_some_seed(judged: Callable[..., ClaimResult], a: list[float], verdict: str) -> None:
    """`Up to`: the best of the runs, of which six must fail before none is said to hold."""
    part = f"{{ measure = 'm', {A_B}, expect = 'greater', some_seed = true }}"
    found = judged(part, sides(a, [1] * len(a)), seeds=len(a))
    assert found.verdict == verdict
    holding = sum(x > 1 for x in a)
    assert worst(found).holding == holding
    said = case_text.effect_text(judged.study, found.claim.parts[0], worst(found))  # type: ignore[attr-defined]
    assert f"holds in {holding} of {len(a)} seeds" in said


def test_some_seed_within_the_margin(judged: Callable[..., ClaimResult]) -> None:
    part = "{ measure = 'm', of = { side = 'a' }, expect = 'at_most', bound = 10, some_seed = true }"
    # The margin of a loss is 5 %.
    for least, verdict in ((10.4, SUPPORTED), (10.6, CONTRADICTED)):
        found = judged(part, sides([20, 30, 25, least, 28, 22], [0] * 6), seeds=6, kind="loss")
        assert found.verdict == verdict


@pytest.mark.parametrize(
    ("reduce", "value"),
    [
        ("mean", 7.0),
        ("min", 3.0),
        ("max", 12.0),
        ("range", 9.0),
        ("deviation", math.sqrt(21.0)),
        ("cv", math.sqrt(21.0) / 7),
        ("slope", 3.0),
        ("correlation", 1.0),
        ("positive", 1.0),
    ],
)
def test_along_an_axis(judged: Callable[..., ClaimResult], reduce: str, value: float) -> None:
    part = f"{{ measure = 'm', along = 'x', reduce = '{reduce}', expect = 'greater', bound = 0 }}"
    case = worst(judged(part, lambda at, s: 3.0 * float(at["x"]), seeds=10))
    assert case.effect == pytest.approx(value)
    assert case.verdict == SUPPORTED


@pytest.mark.parametrize(
    ("gains", "verdict", "share"),
    [
        ((0.1, 0.2, -5.0), SUPPORTED, 2 / 3),
        ((-0.1, 5.0, -0.1), CONTRADICTED, 1 / 3),
        ((0.0, 0.0, 5.0), CONTRADICTED, 1 / 3),
    ],
)
def test_at_most_levels_is_a_count_and_no_mean(
    judged: Callable[..., ClaimResult], gains: tuple[float, ...], verdict: str, share: float
) -> None:
    """Two of three levels are above zero, or one; the mean has the other sign in the first two."""
    part = "{ measure = 'm', along = 'x', reduce = 'positive', expect = 'greater', bound = 0.5 }"
    found = judged(
        part, lambda at, s: dict(zip("124", gains, strict=True))[at["x"]] * (1 + s / 100), seeds=20, wobble=0.0
    )
    case = worst(found)
    assert (found.verdict, case.effect) == (verdict, pytest.approx(share))
    assert case_text.effect_text(judged.study, found.base.parts[0].part, case).startswith(f"{share:.2f}")  # type: ignore[attr-defined]


def test_along_a_part_of_an_axis(judged: Callable[..., ClaimResult]) -> None:
    part = "{ measure = 'm', at = { x = '2..9' }, along = 'x', reduce = 'slope', expect = 'less', bound = 0 }"
    case = worst(judged(part, lambda at, s: {"1": 0.0, "2": 9.0, "4": 5.0}[at["x"]]))
    assert case.effect == pytest.approx(-2.0)


def test_one_level_has_no_spread(judged: Callable[..., ClaimResult]) -> None:
    part = "{ measure = 'm', at = { x = 2 }, along = 'x', reduce = 'cv', expect = 'at_most', bound = 1 }"
    found = judged(part, lambda at, s: 1.0)
    assert found.verdict == UNDECIDED
    assert "single value" in worst(found).reason


def test_each_level_is_judged_and_all_must_hold(judged: Callable[..., ClaimResult]) -> None:
    def value(at: dict[str, str], seed: int) -> float:
        gain = {"1": 1.0, "2": 0.1, "4": -0.2}[at["x"]]
        return 10.0 + (gain if at["side"] == "a" else 0.0)

    part = f"{{ measure = 'm', {A_B}, expect = 'greater', each = ['x'] }}"
    found = judged(part, value)
    assert found.verdict == CONTRADICTED
    assert [(dict(c.at), c.verdict) for c in found.base.parts[0].cases] == [
        ({"x": "1"}, SUPPORTED),
        ({"x": "2"}, SUPPORTED),
        ({"x": "4"}, CONTRADICTED),
    ]
    assert worst(found).at == {"x": "4"}
    some = judged(f"{{ measure = 'm', {A_B}, at = {{ x = [1, 2] }}, expect = 'greater', each = ['x'] }}", value)
    assert some.verdict == SUPPORTED
    # Of cases that agree the one nearest to its bound is shown first.
    assert worst(some).at == {"x": "2"}


def test_readings_are_tried_one_at_a_time(judged: Callable[..., ClaimResult]) -> None:
    def value(at: dict[str, str], seed: int) -> float:
        gain = {"v1": 1.0, "v2": -1.0, "v3": 0.0}[at["view"]] * (1 if at["other"] == "o1" else 2)
        return 10.0 + (gain if at["side"] == "a" else 0.0)

    part = f"{{ measure = 'm', {A_B}, expect = 'greater' }}"
    found = judged(part, value)
    assert (found.base.verdict, found.verdict, found.literal) == (SUPPORTED, DEPENDS, None)
    assert [(dict(j.reading), j.verdict) for j in found.tried] == [
        ({"view": "v2"}, CONTRADICTED),
        ({"view": "v3"}, UNDECIDED),
        ({"other": "o2"}, SUPPORTED),
    ]
    assert found.tried[2].parts[0].worst.effect == pytest.approx(2.0)
    words = text.headline_text(judged.study, found)  # type: ignore[attr-defined]
    assert words == "supported at the base; all readings: 2 supported, 1 contradicted, 1 undecided"
    # The literal reading counts, not the base.
    literal = judged(part, value, literal="literal = 'v2'")
    assert (literal.verdict, literal.literal) == (DEPENDS, {"view": "v2"})
    words = text.headline_text(judged.study, literal)  # type: ignore[attr-defined]
    assert words.startswith("contradicted taken literally (view: v2)")
    # A claim that names the reading is about that reading, whatever the base.
    named = judged(f"{{ measure = 'm', {A_B}, at = {{ view = 'v2' }}, expect = 'greater' }}", value)
    assert named.verdict == CONTRADICTED
    assert [dict(j.reading) for j in named.tried] == []
    # One that compares readings has them as its sides.
    compared = judged("{ measure = 'm', of = { view = 'v1' }, to = { view = 'v2' }, expect = 'greater' }", value)
    assert (compared.verdict, worst(compared).effect) == (SUPPORTED, pytest.approx(1.0))


def test_readings_that_change_nothing_are_one_voice(judged: Callable[..., ClaimResult]) -> None:
    def value(at: dict[str, str], seed: int) -> float:
        gain = -1.0 if at["view"] == "v2" else 1.0
        return 10.0 + (gain if at["side"] == "a" else 0.0)

    # Of v1, v2, v3 and o2 three give the same numbers: one voice for, one against, not three to one.
    found = judged(f"{{ measure = 'm', {A_B}, expect = 'greater' }}", value)
    assert [j.verdict for j in found.tried] == [CONTRADICTED, SUPPORTED, SUPPORTED]
    assert [dict(j.reading) for j in found.voices] == [{}, {"view": "v2"}]
    assert found.verdict == DEPENDS
    words = text.headline_text(judged.study, found)  # type: ignore[attr-defined]
    assert words.endswith("1 supported, 1 contradicted (2 left out, which change nothing it looks at)")
    # The literal reading speaks for those that find the same.
    literal = judged(f"{{ measure = 'm', {A_B}, expect = 'greater' }}", value, literal="literal = 'v3'")
    assert [dict(j.reading) for j in literal.voices] == [{"view": "v3"}, {"view": "v2"}]


def test_a_reading_is_judged_by_the_cases_that_were_run_in_it(judged: Callable[..., ClaimResult]) -> None:
    def value(at: dict[str, str], seed: int) -> float:
        return 10.0 + (1.0 if at["side"] == "a" else 0.0) + 0.1 * seed * (at["view"] == "v2")

    part = f"{{ measure = 'm', {A_B}, expect = 'greater', each = ['x'] }}"
    found = judged(part, value, skip="skip = [{ view = 'v2', x = [1, 2] }]")
    (v2,) = [j for j in found.tried if j.reading == {"view": "v2"}]
    assert (v2.verdict, [dict(c.at) for c in v2.parts[0].cases]) == (SUPPORTED, [{"x": "4"}])


def test_only_what_both_sides_were_run_for_is_compared(judged: Callable[..., ClaimResult]) -> None:
    def value(at: dict[str, str], seed: int) -> float:
        return float(at["x"]) + (1.0 if at["side"] == "a" else 0.0)

    skip = "skip = [{ side = 'b', x = [1, 2] }]"
    case = worst(judged(f"{{ measure = 'm', {A_B}, expect = 'greater' }}", value, skip=skip))
    assert case.effect == pytest.approx(1.0)
    assert {cell[1] for _, cell in case.cells} == {"4"}


def test_a_missing_value_decides_nothing(judged: Callable[..., ClaimResult]) -> None:
    part = f"{{ measure = 'm', {A_B}, expect = 'greater' }}"
    found = judged(part, lambda at, s: None if (at["side"], s) == ("a", 3) else 1.0)
    assert found.verdict == UNDECIDED
    assert worst(found).reason == "has no value in 1 of 4 runs at a, x 1, v1, o1"


def test_an_undecided_claim_says_what_could_have_been_seen(judged: Callable[..., ClaimResult]) -> None:
    def value(at: dict[str, str], seed: int) -> float:
        return 1.0 + (0.1 if seed % 2 else -0.1) * (at["side"] == "a")

    found = judged(f"{{ measure = 'm', {A_B}, at = {{ x = 2 }}, expect = 'greater' }}", value)
    assert (found.verdict, worst(found).n) == (UNDECIDED, 4)
    study = judged.study  # type: ignore[attr-defined]
    assert "smallest effect" in case_text.doubt_text(study, found.base.parts[0].part, worst(found))


def test_a_claim_that_cannot_be_tested_says_why(judged: Callable[..., ClaimResult], tmp_path: Path) -> None:
    judged("{ measure = 'm', expect = 'greater', bound = 0 }", lambda at, s: 1.0)
    path = tmp_path / "study.toml"
    untestable = path.read_text(encoding="utf-8").replace(
        "parts = [{ measure = 'm', expect = 'greater', bound = 0 }]", "untestable = 'lost'"
    )
    path.write_text(untestable, encoding="utf-8")
    study = studies.read(tmp_path)
    (result,) = studies.judge(studies.Outcome(study, {"E": {}}))
    assert result.verdict == NOT_TESTABLE
    assert "lost" in text.claim_text(study, result)


PRINTED = "x,side,m\n1,a,11\n1,b,10\n2,a,12\n2,b,10\n4,a,9\n4,b,\n"


@pytest.mark.parametrize(
    ("part", "rows", "agreeing", "effect", "relative"),
    [
        (f"{{ measure = 'm', {A_B}, expect = 'greater' }}", 2, 2, 1.5, 0.15),
        (f"{{ measure = 'm', {A_B}, expect = 'less' }}", 2, 0, 1.5, 0.15),
        (f"{{ measure = 'm', {A_B}, at = {{ x = 2 }}, expect = 'greater' }}", 1, 1, 2.0, 0.2),
        (f"{{ measure = 'm', {A_B}, form = 'ratio', within = [1.15, 2] }}", 2, 1, 1.15, None),
        (f"{{ measure = 'm', {A_B}, times = 1.1, expect = 'greater' }}", 2, 1, 1.5, 0.15),
        ("{ measure = 'm', of = { side = 'a' }, along = 'x', reduce = 'max', expect = 'greater', bound = 5 }",
         1, 1, 12.0, None),
    ],
)  # fmt: skip
def test_what_the_paper_prints_is_judged_row_by_row(
    judged: Callable[..., ClaimResult], part: str, rows: int, agreeing: int, effect: float, relative: float | None
) -> None:
    found = judged(part, lambda at, s: 10.0 + (at["side"] == "a"), printed=PRINTED)
    published = worst(found).published
    assert published is not None
    assert (published.rows, published.agreeing) == (rows, agreeing)
    assert published.effect == pytest.approx(effect)
    assert published.relative == (None if relative is None else pytest.approx(relative))
    # The level says that the paper's figures do not belong to it.
    views: dict[str, Any] = {j.reading["view"]: j.parts[0].worst for j in found.tried if "view" in j.reading}
    assert views["v2"].published is None
    # Chosen by the published values of this measure: they judge nothing.
    assert (views["v3"].published, views["v3"].fitted) == (None, True)
    # Where the paper prints nothing, nothing was used.
    unprinted = judged(part, lambda at, s: 10.0 + (at["side"] == "a"))
    assert not any(c.fitted for j in unprinted.tried for p in j.parts for c in p.cases)


def test_a_table_for_one_reading_says_nothing_of_others(judged: Callable[..., ClaimResult]) -> None:
    part = f"{{ measure = 'm', {A_B}, expect = 'greater' }}"
    found = judged(part, lambda at, s: 1.0, printed=PRINTED, at="at = { other = 'o2' }\n")
    assert worst(found).published is None
    assert found.tried[2].parts[0].worst.published is not None


def test_published_by_hand(judged: Callable[..., ClaimResult]) -> None:
    part = f"{{ measure = 'm', {A_B}, expect = 'greater', published = {{ relative = 0.1, text = 'a tenth' }} }}"
    found = judged(part, sides([11.0, 11.2, 10.9, 11.1], [10.0] * 4), printed=PRINTED)
    case = worst(found)
    assert case.published is not None
    assert (case.published.relative, case.published.text, case.reproduces_size) == (0.1, "a tenth", True)


# ---- runs that are all equal ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of", "more", "kind", "verdict"),
    [
        # No drop in any of ten runs says nothing of a mean of 0.05: a run in four may have some.
        (0.0, "expect = 'greater', bound = 0.05", "loss rate", UNDECIDED),
        (0.0, "expect = 'less', bound = 0.05", "loss rate", UNDECIDED),
        # But it does of 0.3, as a rate is at most 1.
        (0.0, "expect = 'less', bound = 0.3", "loss rate", SUPPORTED),
        (0.0, "expect = 'greater', bound = 0.3", "loss rate", CONTRADICTED),
        (0.0, "expect = 'less', bound = 0.3", "loss", UNDECIDED),
        (1.0, "expect = 'at_least', bound = 0.7", "utilisation", SUPPORTED),
        (1.0, "expect = 'at_least', bound = 0.8", "utilisation", UNDECIDED),
        (0.0, "expect = 'less', bound = 0.05, every_seed = true", "loss rate", SUPPORTED),
        (0.1, "expect = 'less', bound = 0.05, every_seed = true", "loss rate", CONTRADICTED),
        # The bound itself.
        (0.0, "expect = 'greater', bound = 0", "loss", EQUIVALENT),
        (0.0, "expect = 'at_most', bound = 0", "loss", SUPPORTED),
        (5.0, "expect = 'equal', value = 5, bound = 0.1", "loss", SUPPORTED),
        (5.1, "expect = 'equal', value = 5, bound = 0.1", "loss", UNDECIDED),
    ],
)
def test_runs_that_are_all_equal(
    judged: Callable[..., ClaimResult], of: float, more: str, kind: str, verdict: str
) -> None:
    found = judged(
        f"{{ measure = 'm', of = {{ side = 'a' }}, {more} }}", lambda at, s: of, seeds=10, kind=kind, wobble=0
    )
    case = worst(found)
    assert (found.verdict, case.equal_runs, case.lower, case.p, found.base.p) == (
        verdict, True, None, None, 1.0 if verdict == UNDECIDED else None
    )  # fmt: skip
    study, part = judged.study, found.base.parts[0].part  # type: ignore[attr-defined]
    assert "in all 10 runs, up to 26 % may differ" in case_text.effect_text(study, part, case)
    document = claim_document(found)["parts"][0]["cases"][0]
    assert (document["equal_runs"], document["p"]) == (True, None)
    assert document["may_differ"] == pytest.approx(1 - 0.05**0.1)
    assert ("every_seed" in case_text.doubt_text(study, part, case)) == (verdict == UNDECIDED)


def test_differences_that_are_all_zero_are_equivalent_and_have_no_p_value(judged: Callable[..., ClaimResult]) -> None:
    values = [3.0, 1.0, 4.0, 1.5]
    for expect, verdict in (("greater", EQUIVALENT), ("at_most", SUPPORTED)):
        found = judged(f"{{ measure = 'm', {A_B}, expect = '{expect}' }}", sides(values, values), wobble=0)
        assert (found.verdict, found.base.p, found.corrected) == (verdict, None, None)
        assert claim_document(found)["p"] is None
    assert text.together([found, found]).endswith("2 rest on runs that are all equal and have no p value")


# ---- levels --------------------------------------------------------------------------------------------------------


def noisy(at: dict[str, str], seed: int) -> float:
    return random.Random(f"{at['side']}{at['x']}{seed}").gauss(10.0, 1.0)


@pytest.mark.parametrize(
    ("more", "verdicts"),
    [
        # Seed by seed the range of three noisy levels is 1.7, and their smallest 9.15.
        ("along = 'x', reduce = 'range', expect = 'greater', bound = 1.2", {UNDECIDED, CONTRADICTED}),
        ("along = 'x', reduce = 'range', expect = 'at_most', bound = 1.6", {SUPPORTED}),
        ("along = 'x', reduce = 'min', expect = 'less', bound = 9.5", {UNDECIDED, CONTRADICTED}),
        ("along = 'x', reduce = 'min', expect = 'less', bound = 9", {CONTRADICTED}),
        ("along = 'x', reduce = 'max', expect = 'greater', bound = 10.5", {UNDECIDED, CONTRADICTED}),
        ("along = 'x', reduce = 'deviation', expect = 'greater', bound = 0.6", {UNDECIDED, CONTRADICTED}),
        ("along = 'x', reduce = 'cv', expect = 'at_most', bound = 0.06", {SUPPORTED}),
    ],
)
def test_noise_is_no_range(judged: Callable[..., ClaimResult], more: str, verdicts: set[str]) -> None:
    found = judged(f"{{ measure = 'm', of = {{ side = 'a' }}, {more} }}", noisy, seeds=20)
    assert found.verdict in verdicts
    case = worst(found)
    assert case.lower is not None
    assert case.upper is not None
    assert case.lower <= case.effect <= case.upper


def test_the_range_is_that_of_the_means(judged: Callable[..., ClaimResult]) -> None:
    part = "{ measure = 'm', of = { side = 'a' }, along = 'x', reduce = 'range', expect = 'greater', bound = 0 }"
    case = worst(judged(part, noisy, seeds=20))
    means = [statistics.mean([noisy({"side": "a", "x": x}, s) for s in range(1, 21)]) for x in "124"]
    assert case.effect == pytest.approx(max(means) - min(means), abs=1e-6)


def test_a_ratio_is_that_of_the_means_over_the_seeds(judged: Callable[..., ClaimResult]) -> None:
    a, b = [2.0, 2.1, 1.9, 2.05, 1.95, 2.0], [0.5, 2.0, 0.7, 1.5, 1.0, 0.6]
    found = judged(f"{{ measure = 'm', {A_B}, form = 'ratio', expect = 'greater' }}", sides(a, b), seeds=6)
    case = worst(found)
    assert case.effect == pytest.approx(sum(a) / sum(b))
    assert case.lower is not None
    # Its lower end is that k at which a - k b is just not excluded from zero.
    at_the_end = interval_of([x - case.lower * y for x, y in zip(a, b, strict=True)], 1)
    assert at_the_end is not None
    assert at_the_end.lower == pytest.approx(0, abs=1e-4)


def test_what_is_averaged_says_at_how_many_levels_it_holds(judged: Callable[..., ClaimResult]) -> None:
    def value(at: dict[str, str], seed: int) -> float:
        gain = {"1": 3.0, "2": 1.0, "4": -1.0}[at["x"]] + 0.1 * (seed % 3)
        return 10.0 + (gain if at["side"] == "a" else 0.0)

    found = judged(f"{{ measure = 'm', {A_B}, expect = 'greater' }}", value, seeds=6)
    (level,) = worst(found).levels
    assert (found.verdict, level.axis, level.holding, level.of) == (SUPPORTED, "x", 2, 3)
    words = case_text.effect_text(judged.study, found.base.parts[0].part, worst(found))  # type: ignore[attr-defined]
    assert words.endswith("at 2 of 3 levels of x")
    assert claim_document(found)["parts"][0]["cases"][0]["levels"] == [{"axis": "x", "holding": 2, "of": 3}]
    # Levels that both sides name are averaged over too; levels that are judged one by one are not.
    named = judged(f"{{ measure = 'm', {A_B}, at = {{ x = [1, 4] }}, expect = 'greater' }}", value, seeds=6)
    assert [(x.holding, x.of) for x in worst(named).levels] == [(1, 2)]
    each = judged(f"{{ measure = 'm', {A_B}, expect = 'greater', each = ['x'] }}", value, seeds=6)
    assert worst(each).levels == ()


def test_every_seed_says_of_how_many_runs(judged: Callable[..., ClaimResult]) -> None:
    part = f"{{ measure = 'm', {A_B}, expect = 'greater', every_seed = true }}"
    found = judged(part, sides([2.0, 2.3, 2.1, 2.2, 2.0, 2.4], [1.0] * 6), seeds=6)
    assert found.verdict == SUPPORTED
    words = case_text.effect_text(judged.study, found.base.parts[0].part, worst(found))  # type: ignore[attr-defined]
    assert "so in all 6 runs, up to 39 % may differ" in words
