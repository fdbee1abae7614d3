"""Results of judging claims: cases, parts, readings, and their documents."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..analysis.samples import may_differ
from ..document import Document
from ..terminal import PREVIEW
from .experiment import Cell
from .model import Claim, Part

SUPPORTED, CONTRADICTED, EQUIVALENT, UNDECIDED = "supported", "contradicted", "equivalent", "undecided"


DEPENDS, NOT_TESTABLE = "depends on the reading", "not testable"


VERDICTS = (SUPPORTED, CONTRADICTED, EQUIVALENT, UNDECIDED, DEPENDS, NOT_TESTABLE)


Reading = Mapping[str, str]
"""Levels of the readings that are off their base, by reading; empty for the base."""


@dataclass(frozen=True)
class Published:
    """What the paper's own figures say about a part of a claim."""

    rows: int
    agreeing: int
    effect: float | None
    relative: float | None
    text: str = ""


@dataclass(frozen=True)
class Tested:
    """The number that a predicate tests, where it is not the effect itself: `of` minus `times` times `to`."""

    mean: float
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class AtLevels:
    """An axis that a case is averaged over, and at how many of its levels the means agree with what is expected."""

    axis: str
    title: str
    holding: int
    of: int


@dataclass(frozen=True)
class Case:
    """A part of a claim, judged for one level of each axis in its `each`."""

    at: Mapping[str, str]
    verdict: str
    reason: str = ""
    """Why nothing could be judged."""
    effect: float = 0.0
    """Mean over the seeds of the two sides' difference, of their ratio, or of the only side."""
    lower: float | None = None
    upper: float | None = None
    """The 95 % interval of the effect, cut at the values the measure can take; None where all runs are equal."""
    n: int = 0
    """Number of seeds."""
    same_run: bool = False
    """Whether every seed gave the same run: one replication, no interval."""
    equal_runs: bool = False
    """Whether runs that differ in other things all have this number: no interval, no p value."""
    levels: tuple[AtLevels, ...] = ()
    tested: Tested | None = None
    low: float | None = None
    high: float | None = None
    """The bounds of the predicate; None for an open side."""
    margin: float | None = None
    """Largest difference that still counts as equal."""
    control: float | None = None
    """Mean of the other side, to which relative effects refer."""
    one_run: tuple[float, float] | None = None
    """95 % prediction interval for the effect in a single run."""
    detectable: float | None = None
    holding: int = 0
    """Seeds in which the predicate holds."""
    wins: int = 0
    losses: int = 0
    """Seeds in which the number is above and below its bound."""
    sign_p: float | None = None
    p: float | None = 1.0
    """Two-sided p value of the test behind the verdict; 1 if undecided, None where all runs are equal."""
    published: Published | None = None
    fitted: bool = False
    """The published values were used to choose the reading, and judge nothing."""
    cells: frozenset[tuple[str, Cell]] = frozenset()
    """The cells that the case was evaluated on."""

    @property
    def relative(self) -> float | None:
        """The effect as a fraction of the other side."""
        return self.effect / self.control if self.control else None

    @property
    def number(self) -> float:
        """The mean of the number that the predicate tests."""
        return self.effect if self.tested is None else self.tested.mean

    @property
    def slack(self) -> float:
        """Distance of the predicate's number from the nearest bound; negative outside the bounds."""
        sides = [self.number - x for x in (self.low,) if x is not None]
        sides += [x - self.number for x in (self.high,) if x is not None]
        return min(sides, default=0.0)

    @property
    def distance(self) -> float | None:
        """Distance from the published effect, as a fraction of the other side or of the published effect."""
        theirs = self.published
        if theirs is None or self.reason:
            return None
        if theirs.relative is not None and self.relative is not None:
            return self.relative - theirs.relative
        return (self.effect - theirs.effect) / abs(theirs.effect) if theirs.effect else None

    @property
    def reproduces_size(self) -> bool | None:
        """Whether the published effect lies in the prediction interval of a run; None where one is missing."""
        theirs = self.published
        if theirs is None or self.one_run is None:
            return None
        if theirs.relative is not None and self.control:
            ends = sorted(x / self.control for x in self.one_run)
            return ends[0] <= theirs.relative <= ends[1]
        return None if theirs.effect is None else self.one_run[0] <= theirs.effect <= self.one_run[1]


_ORDER = (CONTRADICTED, UNDECIDED, EQUIVALENT, SUPPORTED)


@dataclass(frozen=True)
class PartResult:
    """One part of a claim, judged in one reading: all its cases must hold."""

    part: Part
    verdict: str
    cases: tuple[Case, ...]

    @property
    def worst(self) -> Case:
        """The case that decides the verdict."""
        return min(self.cases, key=lambda c: (_ORDER.index(c.verdict), c.slack))


@dataclass(frozen=True)
class Judged:
    """A claim judged in one reading."""

    reading: Reading
    verdict: str
    parts: tuple[PartResult, ...]

    @property
    def numbers(self) -> tuple[object, ...]:
        """All numbers of this result: readings that change nothing have the same."""
        cases = [c for part in self.parts for c in part.cases]
        return tuple((c.effect, c.lower, c.upper, c.control, c.n, c.reason and c.cells) for c in cases)

    @property
    def p(self) -> float | None:
        """p value of the verdict: what supports a claim must hold in all cases, what contradicts it in one.

        None where it rests on runs that are all equal.
        """
        if self.verdict not in (SUPPORTED, EQUIVALENT, CONTRADICTED):
            return 1.0
        cases = [c for part in self.parts for c in part.cases]
        ps = [c.p for c in cases if c.verdict == self.verdict and c.p is not None]
        if not ps:
            return None
        return min(1.0, min(ps) * len(cases)) if self.verdict == CONTRADICTED else max(ps)


@dataclass(frozen=True)
class Preview:
    """What stands beside the verdict of a quick run."""

    full: str | None
    """The stored verdict of the full run; None where none is stored."""
    withheld: bool = False
    """The quick run found a verdict that the full run does not have: undecided stands in its place."""


@dataclass(frozen=True, repr=False)
class ClaimResult:
    """The result of a claim: its verdict over all readings, and the result in each of them."""

    claim: Claim
    verdict: str
    base: Judged
    tried: tuple[Judged, ...] = ()
    """The claim judged in each reading off the base."""
    literal: Reading | None = None
    """The reading that the paper's words mean, where it is not the base."""
    corrected: float | None = None
    """p value of the base's verdict after Holm's correction for all claims of the study."""
    preview: Preview | None = None
    """The full run's part in the verdict of a quick run; None for a full run."""

    def __repr__(self) -> str:
        return f"<Claim {self.claim.id}: {self.word}>"

    @property
    def word(self) -> str:
        """The verdict in words: that of a quick run is called a preview."""
        return self.verdict if self.preview is None else f"{PREVIEW}{self.verdict}"

    @property
    def n(self) -> int:
        """Seeds behind the verdict: the fewest of any part."""
        return min((c.n for p in self.base.parts for c in p.cases if c.n), default=0)

    @property
    def voices(self) -> tuple[Judged, ...]:
        """The readings with different numbers, the literal one first; readings with the same runs count once."""
        every = (self.base, *self.tried)
        literal = next((j for j in every if j.reading == self.literal), self.base)
        own: dict[tuple[object, ...], Judged] = {}
        for one in (literal, *every):
            own.setdefault(one.numbers, one)
        return tuple(own.values())

    def alone(self) -> ClaimResult:
        """This result with the verdict of the base."""
        return replace(self, verdict=self.base.verdict)


def claim_document(result: ClaimResult) -> Document:
    """A claim and its verdict as plain values."""
    claim = result.claim
    found: Document = {
        "id": claim.id,
        "claim": claim.text,
        "where": claim.where,
        "by": "ours" if claim.ours else "paper",
        "verdict": result.verdict,
        **preview_document(result),
        "at_base": result.base.verdict,
        "parts": [_part_document(p) for p in result.base.parts],
        "note": claim.note,
    }
    if claim.untestable:
        found["reason"] = claim.untestable
    elif claim.counted:
        found["counted"] = [
            {
                "title": c.title,
                "ratio": c.ratio,
                f"ratio_at_{'least' if c.at_least else 'most'}": c.factor,
                "holds": c.holds,
            }
            for c in claim.counted
        ]
    else:
        found |= {"p": result.base.p, "p_holm": result.corrected}
    if claim.expected:
        found["expected"] = claim.expected
    if result.literal is not None:
        found["literal_reading"] = dict(result.literal)
    found["also_tried"] = [
        {"reading": dict(j.reading), "verdict": j.verdict, "parts": [_part_document(p) for p in j.parts]}
        for j in result.tried
    ]
    found["peers"] = [{"tool": p.tool, "text": p.text, "agrees": p.agrees} for p in claim.peers]
    return found


def preview_document(result: ClaimResult) -> Document:
    """The note in the document that a verdict is a preview, with the full run's; empty for a full run."""
    found = result.preview
    return {} if found is None else {"preview": True, "full_run": found.full, "withheld": found.withheld}


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
        "lower": _finite(case.lower),
        "upper": _finite(case.upper),
        "n": case.n,
        "replicates": 1 if case.same_run else case.n,
        "equal_runs": case.equal_runs,
        "low": case.low,
        "high": case.high,
        "margin": case.margin,
        "control": case.control,
        "relative": case.relative,
        "detectable": case.detectable,
        "seeds_that_hold": case.holding,
        "above": case.wins,
        "below": case.losses,
        "sign_test_p": case.sign_p,
        "p": case.p,
        "one_run": None if case.one_run is None else list(case.one_run),
    }
    if case.equal_runs:
        found["may_differ"] = may_differ(case.n)
    if case.levels:
        found["levels"] = [{"axis": x.axis, "holding": x.holding, "of": x.of} for x in case.levels]
    if case.tested is not None:
        found["tested"] = {k: _finite(v) for k, v in vars(case.tested).items()}
    if case.published is not None:
        p = case.published
        found["published"] = {
            "rows": p.rows,
            "agreeing": p.agreeing,
            "effect": p.effect,
            "relative": p.relative,
            "distance": case.distance,
            "within_one_run": case.reproduces_size,
            **({"text": p.text} if p.text else {}),
        }
    return found


def _finite(end: float | None) -> float | None:
    """An end of an interval; None where the interval has none on this side."""
    return end if end is None or math.isfinite(end) else None
