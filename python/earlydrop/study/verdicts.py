"""Verdicts on the claims of a study.

The unit of replication is the seed. For each seed both sides of a comparison become one number; an interval that holds
for skewed data too is put round the mean of their difference (or the ratio of their means), and the predicate looks at
the whole interval (`analysis.samples`). Points of a sweep are not counted as replications, because the runs of one seed
share their random numbers; what is said of the extremes or the variation of an axis is said of its levels' means.

Runs that all have the same value have no interval. That they are equal bounds the share of all runs that differ
(26 % after ten), which decides a claim on a mean only where the measure is bounded, or where the value is the bound.

How often a claim on a null effect gets a verdict is measured by `make coverage`: at most one time in twenty. A claim is
supported only if all its cases are, so no case needs a correction for the others; it is contradicted, or no more than
equivalent, if one of its cases is, so for these a case is judged by an interval which is widened for their number
(Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..analysis import samples, statistics
from ..analysis.measures import KINDS, SCATTER, Margin
from ..analysis.samples import Array, Sample
from ..analysis.statistics import ALPHA
from .claim_results import (
    _ORDER,
    CONTRADICTED,
    DEPENDS,
    EQUIVALENT,
    NOT_TESTABLE,
    SUPPORTED,
    UNDECIDED,
    AtLevels,
    Case,
    ClaimResult,
    Judged,
    PartResult,
    Published,
    Reading,
    Tested,
)
from .experiment import Axis, Cell, Experiment, in_sentence
from .model import Claim, Part, Study
from .published_values import PrintedValues, printed_values
from .runs import Outcome
from .select import ALONE, Column, Row, along, cases_of, rows_of

EVERY_SEED = 6
"""Seeds that "in every run" needs: a null effect has the same sign in all of them one time in thirty-two."""


# ---- predicates ----------------------------------------------------------------------------------------------------


def conjunction(verdicts: Sequence[str]) -> str:
    """A claim fails if one of its cases does, and is as strong as the weakest of them."""
    return min(verdicts, key=_ORDER.index, default=UNDECIDED)


def headline(literal: str, others: Sequence[str]) -> str:
    """The verdict over all readings: that of the literal one if more than half of the others agree, else `depends`."""
    return literal if not others or 2 * others.count(literal) > len(others) else DEPENDS


@dataclass(frozen=True)
class Interval:
    """The 95 % interval of a number, and the one that is widened for the number of cases."""

    lower: float
    upper: float
    wide_lower: float
    wide_upper: float

    def minus(self, edge: float) -> Interval:
        """The interval of the number less an edge."""
        return Interval(*(x - edge for x in vars(self).values()))

    def flipped(self) -> Interval:
        """The interval of the number with the other sign."""
        return Interval(-self.upper, -self.lower, -self.wide_upper, -self.wide_lower)


def direction_verdict(expect: str, found: Interval, margin: float = 0.0) -> str:
    """Judge an interval, relative to its bound, against the side that was expected.

    Within the margin is equivalent; "at least" and "at most" are supported there.
    """
    if expect in {"less", "at_most"}:
        found = found.flipped()
    if expect in {"at_least", "at_most"}:
        if found.lower >= -margin:
            return SUPPORTED
        return CONTRADICTED if found.wide_upper < -margin else UNDECIDED
    if margin > 0 and -margin <= found.wide_lower and found.wide_upper <= margin:
        return EQUIVALENT
    if found.lower > 0:
        return SUPPORTED
    return CONTRADICTED if found.wide_upper < 0 else UNDECIDED


def inside_verdict(found: Interval, low: float, high: float) -> str:
    """Judge an interval against two limits: wholly inside, wholly outside, or neither."""
    if low <= found.lower and found.upper <= high:
        return SUPPORTED
    return CONTRADICTED if found.wide_upper < low or found.wide_lower > high else UNDECIDED


def seed_verdict(verdict: str, holds: Sequence[bool]) -> str:
    """The verdict on a claim for every seed: the interval supports it, and it holds in each of at least six seeds."""
    if verdict != SUPPORTED:
        return verdict
    return SUPPORTED if len(holds) >= EVERY_SEED and all(holds) else UNDECIDED


def best_verdict(holds: Sequence[bool]) -> str:
    """The verdict on a claim for the best seed: it holds in one, or in none of at least six."""
    if any(holds):
        return SUPPORTED
    return CONTRADICTED if len(holds) >= EVERY_SEED else UNDECIDED


@dataclass(frozen=True)
class Sides:
    """Both sides of a comparison, one number per seed; `to` is empty for a comparison with a constant."""

    of: Sequence[float]
    to: Sequence[float]
    columns_of: Sequence[Sequence[Array]] = ()
    columns_to: Sequence[Sequence[Array]] = ()
    """Columns by row: values by level and seed, where the sides are extremes or the variation of levels."""

    @property
    def whole(self) -> bool:
        """Whether both sides are numbers of a seed, not made of several levels' means."""
        return not self.columns_of

    def less(self, times: float) -> list[float]:
        """For each seed, the one side less `times` times the other."""
        return statistics.subtracted(self.of, self.to, times) if self.to else list(self.of)

    def equal_runs(self, times: float | None) -> bool:
        """Whether all runs give the same difference, or the same two sides of a ratio."""
        if self.whole:
            every = [self.less(times)] if times is not None else [self.of, self.to]
            return all(len(set(side)) == 1 for side in every)
        columns = [c for row in (*self.columns_of, *self.columns_to) for c in row]
        return all(bool((c == c[:, :1]).all()) for c in columns)


def _numbers(part: Part, sides: Sides) -> list[float] | None:
    """The number that the predicate tests, for each seed; None where a ratio has no value."""
    if part.to is None or not part.ratio:
        return sides.less(part.times)
    return None if 0 in sides.to else [a / b for a, b in zip(sides.of, sides.to, strict=True)]


def _effects(part: Part, sides: Sides) -> list[float] | None:
    """The effect for each seed: difference, ratio, or the one side; None where a ratio has no value."""
    return _numbers(part, sides) if part.ratio else sides.less(1.0)


def limits_of(part: Part, control: float | None, margin: float | None) -> tuple[float | None, float | None]:
    """The bounds of the predicate: the lowest and the highest number that agree, None for an open side."""
    if part.within is not None:
        return part.within
    if part.expect == "equal":
        centre = (1.0 if part.value is None else part.value) if part.to is None or part.ratio else 0.0
        reference = centre or part.times * (control or 0.0)
        slack = part.bound * abs(reference) if part.bound is not None else (margin or 0.0)
        return centre - slack, centre + slack
    edge = part.bound if part.bound is not None else (part.times if part.ratio else 0.0)
    return (edge, None) if part.expect in {"greater", "at_least"} else (None, edge)


def _judge_interval(part: Part, found: Interval, limits: tuple[float | None, float | None], margin: float) -> str:
    low, high = limits
    if low is not None and high is not None:
        return inside_verdict(found, low, high)
    edge = high if low is None else low
    assert edge is not None
    return direction_verdict(part.expect, found.minus(edge), margin)


def holds(part: Part, number: float, limits: tuple[float | None, float | None], margin: float = 0.0) -> bool:
    """Whether a single number agrees with what is expected. A strict direction has no margin here."""
    return _judge_interval(part, Interval(number, number, number, number), limits, margin) == SUPPORTED


def interval_of(numbers: Sequence[float] | Sample, cases: int) -> Interval | None:
    """The interval of the mean in one of `cases` cases; None for a single value and for values that are all equal."""
    if not isinstance(numbers, Sample):
        if len(numbers) < 2 or len(set(numbers)) == 1:
            return None
        numbers = samples.Mean(numbers)
    return Interval(*numbers.ends(), *numbers.ends(ALPHA / cases))


def decide(
    part: Part,
    found: Interval,
    limits: tuple[float | None, float | None],
    margin: float,
    holding: Sequence[bool],
) -> str:
    """The verdict on a case; `holding` says for each seed whether the predicate holds in it."""
    if part.some_seed:
        return best_verdict(holding)
    verdict = _judge_interval(part, found, limits, margin)
    return seed_verdict(verdict, holding) if part.every_seed else verdict


def equal_verdict(
    part: Part,
    value: float,
    n: int,
    limits: tuple[float | None, float | None],
    bounds: tuple[float, float],
    cases: int = 1,
) -> str:
    """The verdict where n runs, which differ in other things, all have this number.

    Of every run: what holds or fails in each of at least six. Of a mean: equivalent where no run is off the bound, and
    else by the interval of a mean of which at most `may_differ` of the runs lie elsewhere between the bounds.
    """
    if part.every_seed:
        held = holds(part, value, limits)
        return UNDECIDED if n < EVERY_SEED else SUPPORTED if held else CONTRADICTED
    low, high = limits
    centre = (low + high) / 2 if part.expect == "equal" and low is not None and high is not None else None
    if value in (x for x in (centre, *(limits if None in limits else ())) if x is not None):
        return EQUIVALENT if part.expect in {"greater", "less"} else SUPPORTED
    return _judge_interval(part, _equal_interval(value, n, bounds, cases), limits, 0.0)


def _equal_interval(value: float, n: int, bounds: tuple[float, float], cases: int) -> Interval:
    ends = []
    for alpha in (ALPHA, ALPHA / cases):
        share = samples.may_differ(n, alpha)
        ends += [value + share * (edge - value) if edge != value else value for edge in bounds]
    return Interval(*ends)


# ---- margins -------------------------------------------------------------------------------------------------------


def margin_of(
    part: Part, margin: Margin | None, axis: Axis | None, control: float | None, level: float
) -> float | None:
    """The largest difference that counts as equal, in the unit of the tested number; None without a margin.

    `control` is the mean of the other side (before `times`), `level` that of the measure itself along an axis.
    """
    edge = part.bound if part.bound is not None and part.expect != "equal" else part.value
    if part.along and part.reduce in ("correlation", "positive"):
        margin = KINDS["index"].margin
    elif part.along and part.reduce in ("deviation", "range", "cv"):
        margin = SCATTER
    elif part.along and part.reduce == "slope":
        if control is None and margin is not None and axis is not None:
            # The change over the whole axis that is within the margin of the measure.
            places = [axis.place(i) for i in axis.ids]
            return margin.around(level) / (max(places) - min(places))
        margin = SCATTER
    if margin is None:
        return None
    if part.ratio:
        whole = part.times if edge is None else edge
        return margin.size * abs(whole) if margin.relative else margin.size / abs(control) if control else None
    return margin.around(part.times * control if control is not None else (edge or 0.0))


# ---- one case ------------------------------------------------------------------------------------------------------


def _reduced(
    e: Experiment, part: Part, columns: Sequence[Column], series: Callable[[Cell], Sequence[float]]
) -> list[float]:
    """For each seed one number: along the axis first, then the mean over the columns of a row."""
    by_column = [
        [along(e, part, column, row) for row in zip(*(series(c) for c in column), strict=True)] for column in columns
    ]
    return [statistics.mean(row) for row in zip(*by_column, strict=True)]


@dataclass(frozen=True)
class _Place:
    """Where a case is judged: one part of a claim in one reading, for some levels."""

    outcome: Outcome
    e: Experiment
    part: Part
    at: Mapping[str, str]
    rows: Sequence[Row]
    cases: int
    """Cases of the claim."""
    reading: Reading

    @property
    def study(self) -> Study:
        return self.outcome.study

    def margin(self, control: float | None, level: float) -> float | None:
        part = self.part
        axis = self.e.axis(part.along) if part.along else None
        return margin_of(part, self.study.measure(part.measure).margin, axis, control, level)

    def bounds(self) -> tuple[float, float]:
        """The range of effects that are possible."""
        if self.part.to is not None:
            return -math.inf, math.inf
        return self._side_bounds()

    def _side_bounds(self) -> tuple[float, float]:
        if self.part.along and self.part.reduce == "slope":
            return -math.inf, math.inf
        if self.part.along and self.part.reduce == "correlation":
            return -1.0, 1.0
        if self.part.along and self.part.reduce in SPREADS:
            return 0.0, math.inf
        if self.part.reduce == "positive":
            return 0.0, 1.0
        return self.study.measure(self.part.measure).bounds

    def number_bounds(self) -> tuple[float, float]:
        """The range of the number that the predicate tests."""
        low, high = self._side_bounds()
        if self.part.to is None:
            return low, high
        if self.part.ratio:
            return 0.0 if low >= 0 else -math.inf, math.inf
        return low - self.part.times * high, high - self.part.times * low

    def sample(self, sides: Sides, times: float) -> Sample:
        """The sample of the one side less `times` times the other."""
        return sample_of(self.part.reduce, sides, times)

    def tested(self, sides: Sides) -> Sample:
        """The sample of the number that the predicate tests."""
        part = self.part
        if part.to is None or not part.ratio:
            return self.sample(sides, part.times)
        of, to = (self.sample(s, 0.0).centre for s in (sides, Sides(sides.to, (), sides.columns_to)))
        return samples.Ratio(lambda k: self.sample(sides, k), of / to, to)


SPREADS = ("deviation", "range", "cv")
"""Reductions that are zero where levels are equal."""
OF_MEANS = {*SPREADS, "min", "max"}
"""Reductions that are made of the levels' means over the seeds: made seed by seed they would count the noise."""


def sample_of(reduce: str, sides: Sides, times: float) -> Sample:
    """The sample of the one side less `times` times the other, of levels that are reduced in this way."""
    if sides.whole:
        return samples.Mean(sides.less(times))
    if reduce in ("deviation", "cv"):
        of, to = (
            samples.Spread([c for row in side for c in row], reduce == "cv") if side else None
            for side in (sides.columns_of, sides.columns_to)
        )
        assert of is not None
        return samples.scattered(of, to, times)
    return samples.Extremes(_extremes(reduce, sides, times))


def _extremes(reduce: str, sides: Sides, times: float) -> list[samples.Extreme]:
    """The terms of a mean over rows and columns; two sides of one column each make one term."""
    make = {"min": samples.smallest, "max": samples.largest, "range": samples.spanned}[reduce]
    found = []
    for k, row in enumerate(sides.columns_of):
        share = 1 / len(sides.columns_of)
        mine = [make(c).times(share / len(row)) for c in row]
        other = sides.columns_to[k] if sides.columns_to else ()
        theirs = [make(c).times(-times * share / len(other)) for c in other]
        found += [mine[0] + theirs[0]] if len(mine) == len(theirs) == 1 else mine + theirs
    return found


def _case(place: _Place, printed: PrintedValues | None) -> Case:
    """Judge one case."""
    e, part, at, rows = place.e, place.part, place.at, place.rows
    cells = {cell for row in rows for cell in row.cells}
    used = frozenset((e.id, cell) for cell in cells)
    names = [cell[e.names.index(part.along)] for cell in cells] if part.along else []
    if part.along and part.reduce not in ALONE and len(set(names)) < 2:
        return Case(at, UNDECIDED, f"a single value of the {in_sentence(e.axis(part.along).title)} was run", cells=used)
    known = {cell: place.outcome.series(e, cell, part.measure) for cell in cells}
    lacking = next((cell for cell in e.cells if cell in cells and None in known[cell]), None)
    if lacking is not None:
        missing, where = known[lacking].count(None), e.titled(lacking)
        return Case(at, UNDECIDED, f"has no value in {missing} of {e.seeds} runs at {where}", cells=used)
    series: Callable[[Cell], Any] = known.__getitem__

    def side(columns: Callable[[Row], Sequence[Column]]) -> list[float]:
        by_row = [_reduced(e, part, columns(row), series) for row in rows]
        return [statistics.mean(values) for values in zip(*by_row, strict=True)]

    def columns(chosen: Callable[[Row], Sequence[Column]]) -> list[list[Array]]:
        if not part.along or part.reduce not in OF_MEANS:
            return []
        return [[np.array([series(cell) for cell in column]) for column in chosen(row)] for row in rows]

    sides = Sides(
        side(lambda row: row.of),
        [] if part.to is None else side(lambda row: row.to),
        columns(lambda row: row.of),
        [] if part.to is None else columns(lambda row: row.to),
    )
    level = statistics.mean([statistics.mean(series(cell)) for cell in cells])
    found = replace(_judge(place, sides, level, place.outcome.same_run(e, list(cells))), cells=used)
    if not place.reading:
        found = replace(found, levels=_at_levels(place))
    published = None if printed is None else published_for(place, printed)
    if published is None:
        return found
    if any(part.measure in e.axis(a).level(i).fitted for cell in cells for a, i in zip(e.names, cell, strict=True)):
        return replace(found, fitted=True)
    return replace(found, published=published)


NO_RATIO = "a ratio to nothing has no value"


def _judge(place: _Place, sides: Sides, level: float, same_run: bool) -> Case:
    part, at = place.part, place.at
    numbers, effects = _numbers(part, sides), _effects(part, sides)
    if numbers is None or effects is None:
        return Case(at, UNDECIDED, NO_RATIO, n=len(sides.of))
    n = len(numbers)
    own, control = (statistics.mean(side) if side else None for side in (sides.of, sides.to))
    if not sides.whole and n > 2:
        own, control = (
            place.sample(one, 0.0).centre if one.of else None
            for one in (Sides(sides.of, (), sides.columns_of), Sides(sides.to, (), sides.columns_to))
        )
    assert own is not None
    if part.ratio and control == 0:
        return Case(at, UNDECIDED, NO_RATIO, n=n)
    margin = place.margin(control, level)
    limits = limits_of(part, control, margin)
    ratio = own / control if part.ratio and control else None
    effect = own - (control or 0.0) if ratio is None else ratio
    number = own - part.times * (control or 0.0) if ratio is None else ratio
    equal = n > 1 and not same_run and sides.equal_runs(part.times if ratio is None else None)
    case = Case(
        at=at,
        verdict=UNDECIDED,
        effect=effect,
        n=n,
        same_run=same_run,
        equal_runs=equal,
        tested=None if number == effect else Tested(number, None, None),
        low=limits[0],
        high=limits[1],
        margin=margin,
        control=None if part.ratio else control,
        one_run=None if same_run or equal else statistics.prediction(effects),
    )
    if same_run or n < 2 or (n < 3 and not sides.whole):
        return case
    slack = margin or 0.0
    holding = [holds(part, x, limits, slack if part.some_seed else 0.0) for x in numbers]
    edge = next((x for x in limits if x is not None), 0.0) if None in limits else None
    away = [] if edge is None else [x - edge for x in numbers]
    case = replace(
        case,
        holding=sum(holding),
        wins=sum(x > 0 for x in away),
        losses=sum(x < 0 for x in away),
        sign_p=statistics.sign_test(away) if any(away) else None,
    )
    if equal:
        spread = math.hypot(
            *(part.times * (statistics.deviation(side) or 0.0) for side in (sides.of, sides.to) if side)
        )
        return replace(
            case,
            verdict=best_verdict(holding)
            if part.some_seed
            else equal_verdict(part, number, n, limits, place.number_bounds(), place.cases),
            detectable=samples.detectable_effect(spread, n) if spread else None,
            p=None,
        )
    sample = place.tested(sides)
    interval = interval_of(sample, place.cases)
    assert interval is not None
    verdict = decide(part, interval, limits, slack, holding)
    shown: tuple[float, float] | None = interval.lower, interval.upper
    if number != effect:
        shown = None if sides.equal_runs(1.0) else place.sample(sides, 1.0).ends()
    ends = (None, None) if shown is None else statistics.clipped(shown[0], effect, shown[1], place.bounds())
    return replace(
        case,
        verdict=verdict,
        lower=ends[0],
        upper=ends[1],
        tested=None if case.tested is None else Tested(number, interval.lower, interval.upper),
        detectable=samples.detectable_effect(sample.deviation, n),
        p=_p(part, sample, verdict, limits, slack),
    )


def _p(
    part: Part, found: Sample, verdict: str, limits: tuple[float | None, float | None], margin: float
) -> float | None:
    """Two-sided p value of the test behind a verdict, against the bound of the predicate."""
    low, high = limits
    if verdict == UNDECIDED or part.some_seed:
        # The best seed is a choice, and no test finds it.
        return 1.0
    if low is not None and high is not None:
        # Inside is away from both bounds, outside is away from the nearer one.
        return max(found.p(edge) for edge in (low, high))
    edge = high if low is None else low
    assert edge is not None
    if verdict == EQUIVALENT:
        return max(found.p(edge + m) for m in (-margin, margin))
    if part.expect in {"at_least", "at_most"}:
        edge -= margin if part.expect == "at_least" else -margin
    return found.p(edge)


def _at_levels(place: _Place) -> tuple[AtLevels, ...]:
    """For each axis that a case is averaged over: at how many of its levels the means agree with what is expected."""
    e, part = place.e, place.part
    found = []
    for axis in e.axes:
        if axis.reading or axis.id in (part.along, *place.at):
            continue
        chosen = [side.get(axis.id) for side in (part.of, part.to) if side is not None]
        if len({None if ids is None else tuple(ids) for ids in chosen}) > 1:
            continue
        levels = [i for i in axis.ids if chosen[0] is None or i in chosen[0]]
        held = [x for i in levels if (x := _holds_at(place, {**place.at, axis.id: i})) is not None]
        if len(held) > 1:
            found.append(AtLevels(axis.id, axis.title, sum(held), len(held)))
    return tuple(found)


def _holds_at(place: _Place, at: Mapping[str, str]) -> bool | None:
    """Whether the means at some levels agree with what is expected; None where they were not run or have no value."""
    e, part = place.e, place.part
    rows = rows_of(e, part, at, place.reading)

    def level(cell: Cell) -> float:
        return statistics.mean([x for x in place.outcome.series(e, cell, part.measure) if x is not None])

    def side(columns: Callable[[Row], Sequence[Column]]) -> float:
        by_row = [[along(e, part, c, [level(x) for x in c]) for c in columns(row)] for row in rows]
        return statistics.mean([statistics.mean(found) for found in by_row])

    if not rows:
        return None
    of, to = side(lambda row: row.of), 0.0 if part.to is None else side(lambda row: row.to)
    number = _numbers(part, Sides([of], [to] if part.to is not None else []))
    control = None if part.to is None else to
    return number is not None and holds(part, number[0], limits_of(part, control, place.margin(control, of)))


def published_for(place: _Place, printed: PrintedValues) -> Published | None:
    """The same comparison from the paper's own figures, row by row."""
    e, part, given = place.e, place.part, place.part.published
    if given:
        return Published(0, 0, given.get("effect"), given.get("relative"), given.get("text", ""))
    effects, controls, agreeing = [], [], 0
    for row in place.rows:
        left = _printed_side(e, part, row.of, printed)
        right = _printed_side(e, part, row.to, printed) if part.to is not None else None
        if left is None or (part.to is not None and right is None):
            continue
        sides = Sides([left], [] if right is None else [right])
        found, tested = _effects(part, sides), _numbers(part, sides)
        if found is None or tested is None:
            continue
        effects.append(found[0])
        if right is not None:
            controls.append(right)
        margin = place.margin(right, left)
        agreeing += holds(part, tested[0], limits_of(part, right, margin))
    if not effects:
        return None
    effect = statistics.mean(effects)
    control = statistics.mean(controls) if controls and not part.ratio else 0.0
    return Published(len(effects), agreeing, effect, effect / control if control else None)


def _printed_side(e: Experiment, part: Part, columns: Sequence[Column], printed: PrintedValues) -> float | None:
    found = []
    for column in columns:
        values = [printed.value(dict(zip(e.names, cell, strict=True)), part.measure) for cell in column]
        known = [(c, v) for c, v in zip(column, values, strict=True) if v is not None]
        if not known or (not part.along and len(known) < len(column)):
            return None
        if part.reduce not in ALONE and len(known) < 2:
            return None
        found.append(along(e, part, tuple(c for c, _ in known), [v for _, v in known]))
    return statistics.mean(found) if found else None


# ---- claims --------------------------------------------------------------------------------------------------------


def judge(outcome: Outcome) -> list[ClaimResult]:
    """A verdict on every claim."""
    study = outcome.study
    printed = {e.id: printed_values(study, e) for e in study.experiments}
    results = [_claim(outcome, claim, printed) for claim in study.claims]
    testable = [r for r in results if r.claim.parts]
    ps = statistics.corrected(statistics.holm, [r.base.p for r in testable])
    corrected = dict(zip((r.claim.id for r in testable), ps, strict=True))
    return [replace(r, corrected=corrected.get(r.claim.id)) for r in results]


def _claim(outcome: Outcome, claim: Claim, printed: Mapping[str, PrintedValues]) -> ClaimResult:
    if claim.untestable:
        return ClaimResult(claim, NOT_TESTABLE, Judged({}, NOT_TESTABLE, ()))
    if claim.counted:
        verdict = SUPPORTED if all(one.holds for one in claim.counted) else CONTRADICTED
        return ClaimResult(claim, verdict, Judged({}, verdict, ()))
    base = judged(outcome, claim, {}, printed)
    assert base is not None
    tried, literal = [], None
    for axis, level, is_literal in variants(outcome.study, claim):
        found = judged(outcome, claim, {axis: level}, printed)
        if found is not None:
            tried.append(found)
            literal = found.reading if is_literal else literal
    result = ClaimResult(claim, base.verdict, base, tuple(tried), literal)
    first, *others = (j.verdict for j in result.voices)
    return replace(result, verdict=headline(first, others))


def variants(study: Study, claim: Claim) -> Iterable[tuple[str, str, bool]]:
    """Other readings in which a claim can be judged: axis, level, and whether it is the literal one."""
    seen: dict[tuple[str, str], bool] = {}
    for part in claim.parts:
        for axis in study.experiment(part.experiment).readings:
            if axis.id in part.chosen or axis.id in part.each or axis.id == part.along:
                continue
            for level in axis.ids:
                if level != axis.base:
                    seen[(axis.id, level)] = seen.get((axis.id, level), False) or level == axis.literal
    return [(axis, level, literal) for (axis, level), literal in seen.items()]


def judged(outcome: Outcome, claim: Claim, reading: Reading, printed: Mapping[str, PrintedValues]) -> Judged | None:
    """A claim in one reading, by the cases that were run in it; None where the reading was not run for it."""
    study = outcome.study
    planned: list[tuple[Part, list[tuple[dict[str, str], list[Row]]]]] = []
    for part in claim.parts:
        e = study.experiment(part.experiment)
        mine = {name: level for name, level in reading.items() if name in e.base}
        found = [(case, rows_of(e, part, case, mine)) for case in cases_of(e, part)]
        if mine and not any(rows for _, rows in found):
            return None
        planned.append((part, found))
    count = max(1, sum(bool(rows) for _, every in planned for _, rows in every))
    parts = []
    for part, every in planned:
        e = study.experiment(part.experiment)
        mine = {name: level for name, level in reading.items() if name in e.base}
        theirs = printed[e.id] if all(e.axis(a).level(i).published for a, i in {**e.base, **mine}.items()) else None
        cases = tuple(_case(_Place(outcome, e, part, at, rows, count, mine), theirs) for at, rows in every if rows)
        if not all(rows or (mine and rows_of(e, part, at, {})) for at, rows in every):
            cases = (*cases, Case({}, UNDECIDED, "needs levels that were not run"))
        parts.append(PartResult(part, conjunction([c.verdict for c in cases]), cases))
    return Judged(reading, conjunction([p.verdict for p in parts]), tuple(parts))


# ---- as plain values -----------------------------------------------------------------------------------------------
