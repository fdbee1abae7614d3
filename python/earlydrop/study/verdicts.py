"""Verdicts on the claims of a study.

The unit of replication is the seed. For each seed both sides of a comparison become one number; Student's interval
is put round the mean of their difference (or ratio), and the predicate looks at the whole interval. Points of a
sweep are not counted as replications, because the runs of one seed share their random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .. import statistics
from ..documents import Document
from ..statistics import Estimate
from .model import Cell, Claim, Experiment, Part, Study, in_sentence
from .published import PrintedValues, printed_values
from .reading import cases_of
from .runs import Outcome
from .select import ALONE, Column, Row, along, rows_of

SUPPORTED, CONTRADICTED, UNDECIDED, NOT_TESTABLE = "supported", "contradicted", "undecided", "not testable"
VERDICTS = (SUPPORTED, CONTRADICTED, UNDECIDED, NOT_TESTABLE)
ENOUGH = 30
"""Seeds that a claim gets before it may stay undecided."""

Reading = Mapping[str, str]
"""Readings that are off their base; empty for the base."""


@dataclass(frozen=True)
class Published:
    """What the paper's own figures say about a part of a claim."""

    rows: int
    agreeing: int
    effect: float | None
    relative: float | None
    text: str = ""

    @property
    def contradicts(self) -> bool:
        """Whether most rows say the opposite."""
        return self.rows > 0 and self.agreeing * 2 < self.rows


@dataclass(frozen=True)
class Case:
    """A part of a claim, judged for one level of each axis in its `each`."""

    at: Mapping[str, str]
    verdict: str
    reason: str = ""
    """Why nothing could be judged."""
    effect: float = 0.0
    """Mean over the seeds of what is judged: a difference, a ratio, or the one side itself."""
    lower: float | None = None
    upper: float | None = None
    n: int = 0
    low: float | None = None
    high: float | None = None
    """What the interval is held against; None where that side is open."""
    control: float | None = None
    """Mean of the other side, to which relative effects refer."""
    detectable: float | None = None
    holding: int = 0
    """Seeds in which the predicate holds."""
    wins: int = 0
    losses: int = 0
    """Seeds above and below what the interval is held against."""
    sign_p: float | None = None
    published: Published | None = None
    cells: frozenset[tuple[str, Cell]] = frozenset()
    """What it was judged from."""

    @property
    def relative(self) -> float | None:
        """The effect as a fraction of the other side."""
        return self.effect / self.control if self.control else None

    @property
    def margin(self) -> float:
        """How far inside its bounds the effect lies; negative outside."""
        sides = [self.effect - x for x in (self.low,) if x is not None]
        sides += [x - self.effect for x in (self.high,) if x is not None]
        return min(sides, default=0.0)

    @property
    def reproduces_size(self) -> bool | None:
        """Whether our interval holds the published effect; None where one is missing."""
        theirs = self.published
        if theirs is None or self.lower is None or self.upper is None:
            return None
        if theirs.relative is not None and self.control:
            ends = sorted((self.lower / self.control, self.upper / self.control))
            return ends[0] <= theirs.relative <= ends[1]
        return None if theirs.effect is None else self.lower <= theirs.effect <= self.upper


@dataclass(frozen=True)
class PartResult:
    """One part of a claim, judged in one reading: all its cases must hold."""

    part: Part
    verdict: str
    cases: tuple[Case, ...]

    @property
    def worst(self) -> Case:
        """The case that the verdict hangs on."""
        order = {CONTRADICTED: 0, UNDECIDED: 1, SUPPORTED: 2}
        return min(self.cases, key=lambda c: (order[c.verdict], c.margin))


@dataclass(frozen=True)
class Judged:
    """A claim judged in one reading."""

    reading: Reading
    verdict: str
    parts: tuple[PartResult, ...]


@dataclass(frozen=True)
class ClaimResult:
    """What became of a claim: its verdict, how it was reached at the base, and what other readings give."""

    claim: Claim
    verdict: str
    base: Judged
    tried: tuple[Judged, ...] = ()
    majority: tuple[Judged, ...] = field(default=())
    """The readings whose majority gives the verdict; empty where the base alone does."""

    @property
    def n(self) -> int:
        """Seeds behind the verdict: the fewest of any part."""
        return min((c.n for p in self.base.parts for c in p.cases if c.n), default=0)


# ---- predicates ----------------------------------------------------------------------------------------------------


def conjunction(verdicts: Sequence[str]) -> str:
    """A claim holds if all its parts do, and fails if one of them does."""
    if CONTRADICTED in verdicts:
        return CONTRADICTED
    return SUPPORTED if verdicts and all(v == SUPPORTED for v in verdicts) else UNDECIDED


def majority(verdicts: Sequence[str]) -> str:
    """What more than half of the verdicts say."""
    for verdict in (SUPPORTED, CONTRADICTED):
        if 2 * verdicts.count(verdict) > len(verdicts):
            return verdict
    return UNDECIDED


def direction_verdict(expect: str, lower: float | None, upper: float | None) -> str:
    """Judge an interval for a difference against the side of zero that was expected of it."""
    if lower is None or upper is None:
        return UNDECIDED
    if expect in {"less", "at_most"}:
        lower, upper = -upper, -lower
    if lower > 0 or (expect in {"at_least", "at_most"} and lower >= 0):
        return SUPPORTED
    return CONTRADICTED if upper < 0 else UNDECIDED


def inside_verdict(lower: float | None, upper: float | None, low: float, high: float) -> str:
    """Judge an interval against two limits: wholly inside, wholly outside, or neither."""
    if lower is None or upper is None:
        return UNDECIDED
    if low <= lower and upper <= high:
        return SUPPORTED
    return CONTRADICTED if upper < low or lower > high else UNDECIDED


def seed_verdict(interval: str, holds: Sequence[bool], opposite: Sequence[bool]) -> str:
    """A sign that must hold in every seed: it does, it never does, or neither."""
    if len(holds) < 2:
        return UNDECIDED
    if all(holds):
        return SUPPORTED
    if interval == CONTRADICTED or (not any(holds) and any(opposite)):
        return CONTRADICTED
    return UNDECIDED


@dataclass(frozen=True)
class _Sides:
    """Both sides of a comparison, one number a seed; `to` is empty where something is held against a number."""

    of: Sequence[float]
    to: Sequence[float]


def _numbers(part: Part, sides: _Sides) -> list[float] | None:
    """What is judged, seed by seed; None where a ratio has no value."""
    if part.to is None:
        return list(sides.of)
    if part.ratio:
        if any(b == 0 for b in sides.to):
            return None
        return [a / b for a, b in zip(sides.of, sides.to, strict=True)]
    return [a - part.times * b for a, b in zip(sides.of, sides.to, strict=True)]


def _limits(part: Part, control: float | None) -> tuple[float | None, float | None]:
    """What the numbers are held against: the lowest and the highest that agree, None where that side is open."""
    if part.within is not None:
        return part.within
    if part.expect == "equal":
        assert part.bound is not None
        if part.to is None or part.ratio:
            centre = 1.0 if part.value is None else part.value
            slack = part.bound * abs(centre)
            return centre - slack, centre + slack
        slack = part.bound * abs(part.times * (control or 0.0))
        return -slack, slack
    edge = part.bound if part.bound is not None else (part.times if part.ratio else 0.0)
    return (edge, None) if part.expect in {"greater", "at_least"} else (None, edge)


def _judge_interval(part: Part, lower: float | None, upper: float | None, limits: tuple[Any, Any]) -> str:
    low, high = limits
    if low is not None and high is not None:
        return inside_verdict(lower, upper, low, high)
    edge = high if low is None else low
    if lower is None or upper is None:
        return UNDECIDED
    return direction_verdict(part.expect, lower - edge, upper - edge)


def holds(part: Part, number: float, limits: tuple[float | None, float | None]) -> bool:
    """Whether a single number agrees with what is expected."""
    return _judge_interval(part, number, number, limits) == SUPPORTED


# ---- one case ------------------------------------------------------------------------------------------------------


def _reduced(
    e: Experiment, part: Part, columns: Sequence[Column], series: Callable[[Cell], Sequence[float]], n: int
) -> list[float]:
    """For each seed one number: along the axis first, then the mean over the columns of a row."""
    by_column = [
        [along(e, part, column, row) for row in zip(*(series(c)[:n] for c in column), strict=True)]
        for column in columns
    ]
    return [statistics.mean(row) for row in zip(*by_column, strict=True)]


def _case(
    outcome: Outcome, e: Experiment, part: Part, at: Mapping[str, str], reading: Reading, printed: PrintedValues | None
) -> Case | None:
    """Judge one case; None where nothing that it needs was run."""
    rows = rows_of(e, part, at, reading)
    if not rows:
        return None
    cells = {cell for row in rows for cell in row.cells}
    used = frozenset((e.id, cell) for cell in cells)
    names = [cell[e.names.index(part.along)] for cell in cells] if part.along else []
    if part.along and part.reduce not in ALONE and len(set(names)) < 2:
        return Case(at, UNDECIDED, f"a single value of the {in_sentence(e.axis(part.along).title)} was run", cells=used)
    n = min(outcome.count(e, cell) for cell in cells)
    known = {cell: outcome.series(e, cell, part.measure, n) for cell in cells}
    lacking = next((cell for cell in e.cells if cell in cells and None in known[cell]), None)
    if lacking is not None:
        where = e.titled(lacking)
        return Case(at, UNDECIDED, f"has no value in {known[lacking].count(None)} of {n} runs at {where}", cells=used)
    series: Callable[[Cell], Any] = known.__getitem__

    def side(columns: Callable[[Row], Sequence[Column]]) -> list[float]:
        by_row = [_reduced(e, part, columns(row), series, n) for row in rows]
        return [statistics.mean(values) for values in zip(*by_row, strict=True)]

    sides = _Sides(side(lambda row: row.of), [] if part.to is None else side(lambda row: row.to))
    theirs = None if printed is None else published_for(e, part, rows, printed)
    return replace(_judge(part, sides, at), published=theirs, cells=used)


def _judge(part: Part, sides: _Sides, at: Mapping[str, str]) -> Case:
    numbers = _numbers(part, sides)
    if numbers is None:
        return Case(at, UNDECIDED, "a ratio to nothing has no value", n=len(sides.of))
    control = statistics.mean(sides.to) if sides.to else None
    limits = _limits(part, control)
    estimate = statistics.estimate(numbers)
    verdict = _judge_interval(part, estimate.lower, estimate.upper, limits)
    edge = next((x for x in limits if x is not None), 0.0) if None in limits else None
    agree = [holds(part, x, limits) for x in numbers]
    if part.every_seed:
        against = [not ok and (edge is None or x != edge) for ok, x in zip(agree, numbers, strict=True)]
        verdict = seed_verdict(verdict, agree, against)
    away = [] if edge is None else [x - edge for x in numbers]
    return Case(
        at=at,
        verdict=verdict,
        effect=estimate.mean,
        lower=estimate.lower,
        upper=estimate.upper,
        n=estimate.n,
        low=limits[0],
        high=limits[1],
        control=None if part.ratio or control is None else part.times * control,
        detectable=_detectable(part, sides, estimate),
        holding=sum(agree),
        wins=sum(x > 0 for x in away),
        losses=sum(x < 0 for x in away),
        sign_p=statistics.sign_test(away) if away else None,
    )


def _detectable(part: Part, sides: _Sides, estimate: Estimate) -> float | None:
    """The smallest true effect that these seeds would have shown with a probability of 80 %."""
    if sides.to and not part.ratio:
        return statistics.paired(sides.of, [part.times * b for b in sides.to]).detectable
    if estimate.deviation is None:
        return None
    return statistics.detectable_effect(estimate.deviation, estimate.n)


def published_for(e: Experiment, part: Part, rows: Sequence[Row], printed: PrintedValues) -> Published | None:
    """The same comparison from the paper's own figures, row by row."""
    given = part.published
    if given:
        return Published(0, 0, given.get("effect"), given.get("relative"), given.get("text", ""))
    numbers, controls, agreeing = [], [], 0
    for row in rows:
        left = _printed_side(e, part, row.of, printed)
        right = _printed_side(e, part, row.to, printed) if part.to is not None else None
        if left is None or (part.to is not None and right is None):
            continue
        found = _numbers(part, _Sides([left], [] if right is None else [right]))
        if found is None:
            continue
        numbers.append(found[0])
        if right is not None:
            controls.append(part.times * right)
        agreeing += holds(part, found[0], _limits(part, right))
    if not numbers:
        return None
    effect = statistics.mean(numbers)
    control = statistics.mean(controls) if controls and not part.ratio else 0.0
    return Published(len(numbers), agreeing, effect, effect / control if control else None)


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
    return [_claim(outcome, claim, printed) for claim in study.claims]


def _claim(outcome: Outcome, claim: Claim, printed: Mapping[str, PrintedValues]) -> ClaimResult:
    if claim.untestable:
        return ClaimResult(claim, NOT_TESTABLE, Judged({}, NOT_TESTABLE, ()))
    base = judged(outcome, claim, {}, printed)
    assert base is not None
    tried, voting = [], [base]
    for axis, level, votes in variants(outcome.study, claim):
        found = judged(outcome, claim, {axis: level}, printed)
        if found is not None:
            tried.append(found)
            if votes:
                voting.append(found)
    if len(voting) > 1:
        return ClaimResult(claim, majority([v.verdict for v in voting]), base, tuple(tried), tuple(voting))
    return ClaimResult(claim, base.verdict, base, tuple(tried))


def variants(study: Study, claim: Claim) -> Iterable[tuple[str, str, bool]]:
    """Readings off their base in which a claim can be judged too: axis, level, and whether it has a vote."""
    seen: dict[tuple[str, str], bool] = {}
    for part in claim.parts:
        for axis in study.experiment(part.experiment).readings:
            if axis.id in part.chosen or axis.id in part.each or axis.id == part.along:
                continue
            for level in axis.ids:
                if level != axis.base:
                    seen[(axis.id, level)] = seen.get((axis.id, level), False) or axis.majority
    return [(axis, level, votes) for (axis, level), votes in seen.items()]


def judged(outcome: Outcome, claim: Claim, reading: Reading, printed: Mapping[str, PrintedValues]) -> Judged | None:
    """A claim in one reading; None where the reading was not run for it."""
    parts = []
    for part in claim.parts:
        e = outcome.study.experiment(part.experiment)
        mine = {name: level for name, level in reading.items() if name in e.base}
        theirs = printed[e.id] if all(e.axis(a).level(i).published for a, i in {**e.base, **mine}.items()) else None
        found = [_case(outcome, e, part, case, mine, theirs) for case in cases_of(e, part)]
        cases = tuple(c for c in found if c is not None)
        if not cases and mine:
            return None
        if not cases or len(cases) < len(found):
            cases = (*cases, Case({}, UNDECIDED, "needs levels that were not run"))
        parts.append(PartResult(part, conjunction([c.verdict for c in cases]), cases))
    return Judged(reading, conjunction([p.verdict for p in parts]), tuple(parts))


def open_cells(results: Sequence[ClaimResult], most: int = ENOUGH) -> set[tuple[str, Cell]]:
    """The cells that undecided claims were judged from, as far as they have fewer seeds than they may get."""
    found: set[tuple[str, Cell]] = set()
    for result in results:
        if result.verdict != UNDECIDED:
            continue
        for reading in result.majority or (result.base,):
            for part in reading.parts:
                for case in part.cases:
                    if case.verdict == UNDECIDED and not case.reason and case.n < most:
                        found |= case.cells
    return found


# ---- as plain values -----------------------------------------------------------------------------------------------


def claim_document(result: ClaimResult) -> Document:
    """A claim and its verdict as plain values."""
    claim = result.claim
    found: Document = {
        "id": claim.id,
        "claim": claim.text,
        "where": claim.where,
        "verdict": result.verdict,
        "parts": [_part_document(p) for p in result.base.parts],
        "note": claim.note,
    }
    if claim.untestable:
        found["reason"] = claim.untestable
    if claim.expected:
        found["expected"] = claim.expected
    if result.majority:
        found["verdict_by"] = "majority of readings"
        found["at_base"] = result.base.verdict
    found["also_tried"] = [
        {"reading": dict(j.reading), "verdict": j.verdict, "parts": [_part_document(p) for p in j.parts]}
        for j in result.tried
    ]
    found["peers"] = [{"tool": p.tool, "text": p.text, "agrees": p.agrees} for p in claim.peers]
    return found


def _part_document(result: PartResult) -> Document:
    part = result.part
    return {
        "experiment": part.experiment,
        "measure": part.measure,
        "expect": part.expect,
        "verdict": result.verdict,
        "cases": [_case_document(c) for c in result.cases],
    }


def _case_document(case: Case) -> Document:
    found: Document = {"at": dict(case.at), "verdict": case.verdict}
    if case.reason:
        return {**found, "reason": case.reason}
    found |= {
        "effect": case.effect,
        "lower": case.lower,
        "upper": case.upper,
        "n": case.n,
        "low": case.low,
        "high": case.high,
        "control": case.control,
        "relative": case.relative,
        "detectable": case.detectable,
        "seeds_that_hold": case.holding,
        "above": case.wins,
        "below": case.losses,
        "sign_test_p": case.sign_p,
    }
    if case.published is not None:
        p = case.published
        found["published"] = {
            "rows": p.rows,
            "agreeing": p.agreeing,
            "effect": p.effect,
            "relative": p.relative,
            "within_our_interval": case.reproduces_size,
            **({"text": p.text} if p.text else {}),
        }
    return found
