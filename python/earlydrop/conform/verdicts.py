"""Verdicts: a congestion control beside the band of one of ours, in words, corrected for their number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..analysis import statistics
from ..analysis.statistics import ALPHA
from .measured import Measured
from .model import Case, Measure, cases

WITHIN, BETTER, WORSE, OPEN = "within the band", "better", "worse", "not decided"
WORDS = (WITHIN, BETTER, WORSE, OPEN)


@dataclass(frozen=True)
class Judged:
    """A measure of the subject beside that of the reference."""

    case: Case
    measure: Measure
    subject: tuple[float, ...]
    reference: tuple[float, ...]
    word: str
    p: float
    """p value of the Mann-Whitney test after Holm's correction for all measures judged together."""

    @property
    def band(self) -> tuple[float, float]:
        """The smallest and the largest value of the reference."""
        return min(self.reference), max(self.reference)

    @property
    def difference(self) -> float:
        """Mean of the subject less that of the reference."""
        return statistics.mean(self.subject) - statistics.mean(self.reference)

    @property
    def by(self) -> str:
        """How far the means are apart, in the measure's unit and as a share."""
        digits, unit = self.measure.digits, {"": "", "%": " points"}.get(self.measure.unit, f" {self.measure.unit}")
        size, base = abs(self.difference), abs(statistics.mean(self.reference))
        share = f" ({100 * size / base:.0f} %)" if base > 0 else ""
        return f"{size:.{digits}f}{unit}{share}"

    @property
    def said(self) -> str:
        """The verdict in words."""
        return f"{self.word} by {self.by}" if self.word in (BETTER, WORSE) else self.word

    def document(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "verdict": self.word,
            "criterion": bool(self.measure.criterion),
            "mean": statistics.mean(self.subject),
            "reference": statistics.mean(self.reference),
            "band": list(self.band),
            "difference": self.difference,
            "p_holm": self.p,
        }


def interval(subject: Sequence[float], reference: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the difference of the means, by Welch's t."""
    a, b = statistics.estimate(subject), statistics.estimate(reference)
    parts = [(one.deviation or 0.0) ** 2 / one.n for one in (a, b)]
    centre, variance = a.mean - b.mean, sum(parts)
    if variance == 0:
        return centre, centre
    from scipy.special import stdtrit

    least = sum(part**2 / max(1, one.n - 1) for part, one in zip(parts, (a, b), strict=True))
    half = float(stdtrit(variance**2 / least, 0.5 + statistics.CONFIDENCE / 2)) * math.sqrt(variance)
    return centre - half, centre + half


def test(subject: Sequence[float], reference: Sequence[float]) -> float:
    """Two-sided p value of the Mann-Whitney test: whatever the distribution, it errs as often as it says."""
    if len({*subject, *reference}) == 1:
        return 1.0
    from scipy.stats import mannwhitneyu

    ties = len({*subject, *reference}) < len(subject) + len(reference)
    return float(mannwhitneyu(subject, reference, method="asymptotic" if ties else "exact").pvalue)


def judge(subject: Measured, reference: Measured) -> list[Judged]:
    """Every measure that both have values of. Cases and measures that there are no more are left out."""
    rows: list[tuple[Case, Measure, tuple[float, ...], tuple[float, ...]]] = []
    for one in cases():
        number = one.number
        if number not in subject.measures or number not in reference.measures:
            continue
        for measure in one.measures:
            ours, theirs = (
                tuple(v for v in of.measures[number].get(measure.id, ()) if v is not None)
                for of in (subject, reference)
            )
            if ours and theirs:
                rows.append((one, measure, ours, theirs))
    corrected = statistics.holm([test(ours, theirs) for _, _, ours, theirs in rows])
    return [Judged(*row, word_of(*row[1:], p), p) for row, p in zip(rows, corrected, strict=True)]


def word_of(measure: Measure, subject: Sequence[float], reference: Sequence[float], p: float) -> str:
    """The verdict's word.

    Better or worse: the test finds a difference, and the means are further apart than the margin. Within the band: the
    interval of the difference keeps the subject's mean between the reference's smallest and largest value, each moved
    out by the margin.
    """
    base, centre = statistics.mean(reference), statistics.mean(subject)
    margin = measure.margin.around(base)
    if p < ALPHA and abs(centre - base) > margin:
        return BETTER if (centre > base) == (measure.better == "more") else WORSE
    low, high = interval(subject, reference)
    inside = min(reference) - margin <= base + low and base + high <= max(reference) + margin
    return WITHIN if inside else OPEN


def left(new: Measured, base: Measured) -> list[str]:
    """Which measures of a stack have left the band of an older run of it, in either direction; and what fails since."""
    found = [
        f"case {one.case.number}: {one.measure.title}: {one.said}"
        for one in judge(new, base)
        if one.word in (BETTER, WORSE)
    ]
    for number in sorted(base.expected.keys() & new.expected.keys()):
        held = {says for says, holds in base.expected[number] if all(holds)}
        found += [
            f"case {number}: no longer holds: {says}"
            for says, holds in new.expected[number]
            if says in held and not all(holds)
        ]
    gone = [n for n in sorted({*base.measures, *base.expected}) if n not in new.measures and n not in new.expected]
    return found + [f"case {n}: was tried before, and is not any more" for n in gone]
