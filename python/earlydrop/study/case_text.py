"""One case of a claim in words: effect, limits, margin, and what the paper published."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..analysis.samples import may_differ
from ..terminal import MOST_DIGITS, signed
from .claim_results import EQUIVALENT, SUPPORTED, UNDECIDED, Case
from .experiment import Experiment, in_sentence
from .model import Part, Study
from .verdicts import EVERY_SEED

SAME_RUN = "one run: every seed gives the same, so there is no interval"
MOST_NAMED = 12
"""With more levels than this, an axis is not named level by level."""
FEW = 3
"""With more other readings than this, only their verdicts are counted."""


def percent(value: float | None, digits: int = 2) -> str:
    """A share as text: `+1.23 %`."""
    return "-" if value is None else f"{signed(100 * value, digits)} %"


class _Words:
    """Format of the numbers of one part."""

    def __init__(self, study: Study, part: Part) -> None:
        self.part, self.measure = part, study.measure(part.measure)
        e = study.experiment(part.experiment)
        self.percent = part.along != "" and part.reduce == "cv"
        self.bare = part.ratio or (part.along != "" and part.reduce in ("correlation", "positive"))
        self.unit = "%" if self.percent else "" if self.bare else self.measure.unit
        if part.along and part.reduce == "slope":
            axis = e.axis(part.along)
            per = (axis.unit or f"unit of {in_sentence(axis.title)}") if axis.numeric else "level"
            self.unit = f"{self.unit} per {per}".strip()
        self.scale = 100.0 if self.percent else 1.0
        self.least = 2 if self.percent or self.bare else self.measure.digits
        self.difference = part.to is not None and not part.ratio
        if self.difference and self.unit == "%":
            self.unit = "points"

    def digits(self, case: Case) -> int:
        """The measure's digits, and more where the interval or its ends would not be seen with them."""
        return max(self.least, _needed(case, self.scale))

    def number(self, value: float, digits: int) -> str:
        """One value, with its sign where it is a difference."""
        if math.isinf(value):
            return "no bound"
        if self.difference:
            return signed(self.scale * value, digits)
        return f"{self.scale * value:.{digits}f}"


def _needed(case: Case, scale: float) -> int:
    if case.lower is None or case.upper is None:
        return 0
    halves = [abs(x) for x in (case.upper - case.effect, case.effect - case.lower) if math.isfinite(x)]
    # An end that only rounding keeps from zero is zero.
    ends = [abs(x) for x in (case.lower, case.upper) if math.isfinite(x) and abs(x) > 1e-3 * max(halves, default=0.0)]
    return max((_shows(abs(scale) * x) for x in (*halves, *ends) if x > 1e-9 * abs(case.effect)), default=0)


def _shows(half: float) -> int:
    """Digits after the point that show the first figure of `half`."""
    return min(MOST_DIGITS, -math.floor(math.log10(half))) if half > 0 else 0


def effect_text(study: Study, part: Part, case: Case) -> str:
    """The effect with its interval and its bound."""
    if case.reason:
        return case.reason
    words = _Words(study, part)
    digits = words.digits(case)
    text = words.number(case.effect, digits)
    if case.lower is not None and case.upper is not None:
        text += f" [{words.number(case.lower, digits)}, {words.number(case.upper, digits)}]"
    text += f" {words.unit}" if words.unit else ""
    if case.equal_runs:
        text += f" {runs_text(case.n)}"
    if part.ratio:
        text = f"ratio {text}"
    if case.relative is not None:
        more = max(2, _needed(case, 100 / abs(case.control or 1.0)))
        text += f" ({percent(case.relative, min(more, 6))})"
    found = f"holds in {case.holding} of {case.n} seeds" if part.some_seed else ""
    more_words = [limit_text(study, words, case), found, SAME_RUN if case.same_run else "", margin_text(words, case)]
    if part.every_seed and case.verdict == SUPPORTED and not case.equal_runs:
        more_words.append(f"so {runs_text(case.n)}")
    return "; ".join(x for x in (text, *more_words, levels_text(case)) if x)


def runs_text(n: int) -> str:
    """What n runs with one and the same value say: they have no interval."""
    return f"in all {n} runs, up to {100 * may_differ(n):.0f} % may differ"


def levels_text(case: Case) -> str:
    """At how many levels of the axes that a case is averaged over the means agree: `at 5 of 7 levels of the load`."""
    found = [f"{x.holding} of {x.of} levels of {in_sentence(x.title)}" for x in case.levels]
    return f"at {' and '.join(found)}" if found else ""


def limit_text(study: Study, words: _Words, case: Case) -> str:
    """The bound of the predicate, where it is not zero."""
    part = words.part
    unit = f" {words.unit}" if words.unit else ""
    if part.expect == "equal":
        slack = f"\u00b1 {100 * part.bound:g} %" if part.bound is not None else _margin(words, case)
        return f"limits {slack}"
    if case.tested is not None:
        digits = words.digits(case)
        ends = (case.tested.lower, case.tested.upper)
        shown = "" if None in ends else f" [{', '.join(words.number(x, digits) for x in ends if x is not None)}]"
        right = _said(study.experiment(part.experiment), dict(part.to or {})) or "the other"
        return f"against {part.times:g} times {right}: {words.number(case.tested.mean, digits)}{shown}{unit}"
    ends_ = [words.scale * x for x in (case.low, case.high) if x is not None]
    if len(ends_) == 2:
        return f"limits {ends_[0]:.6g} and {ends_[1]:.6g}{unit}"
    return f"bound {ends_[0]:.6g}{unit}" if ends_ and ends_[0] else ""


def margin_text(words: _Words, case: Case) -> str:
    """The margin within which the sides count as equal, where it decides the verdict."""
    decides = case.verdict == EQUIVALENT or (
        words.part.expect in {"at_least", "at_most"} and case.verdict == SUPPORTED and case.slack <= 0
    )
    return f"within the margin of {_margin(words, case)}" if decides and case.margin is not None else ""


def _margin(words: _Words, case: Case) -> str:
    if case.margin is None:
        return ""
    size = words.scale * case.margin
    # A margin that is a share of next to nothing is nothing, and one of more than all of it says nothing as a share.
    digits = max(words.least, _shows(size)) if size >= 1e-9 else words.least
    shown = f"\u00b1 {size:.{digits}f} {words.unit}".strip()
    share = case.margin / abs(case.control) if case.control else math.inf
    return f"{shown} ({100 * share:.2g} %)" if share <= 1 else shown


def expected_text(study: Study, part: Part) -> str:
    """The expectation of a part, in short: `FTP bandwidth: SFRED less than RED`."""
    measure, e = study.measure(part.measure), study.experiment(part.experiment)
    if part.title:
        return part.title
    words = {"greater": "greater than", "less": "less than", "at_least": "at least", "at_most": "at most"}
    same = {k for k in part.of if part.to is not None and part.to.get(k) == part.of[k]}
    named = same - set(part.each)
    left = _said(e, {k: v for k, v in part.of.items() if k not in same and k not in part.each})
    right = "" if part.to is None else _said(e, {k: v for k, v in part.to.items() if k not in same})
    what = measure.title
    if part.along:
        names = {"deviation": "standard deviation", "cv": "relative deviation", "max": "maximum", "min": "minimum"}
        names["positive"] = "share above zero"
        over = in_sentence(e.axis(part.along).title)
        what = f"{names.get(part.reduce, part.reduce).capitalize()} of {in_sentence(measure.title)} over {over}"
    relation = words.get(part.expect, "equal to" if part.expect == "equal" else "within its limits")
    times = f"{part.times:g} times " if part.times != 1.0 else ""
    if part.to is not None:
        tail = "" if part.expect == "within" else f" {times}{right or 'the other'}"
        text = f"{what}: {left or 'one'} {relation}{tail}"
        if part.expect == "within":
            text = f"{what}: {left or 'one'} against {right or 'the other'} {relation}"
    else:
        bound = part.value if part.expect == "equal" else part.bound
        words_of = _Words(study, part)
        unit = f" {words_of.unit}" if words_of.unit and bound else ""
        tail = "" if part.expect == "within" or bound is None else f" {words_of.scale * bound:g}{unit}"
        text = f"{what}{', ' + left if left else ''}: {relation}{tail}"
    where = _said(e, {k: v for k, v in part.of.items() if k in named})
    text += f"; {where}" if where else ""
    return text + ("; in every seed" if part.every_seed else "; in one seed at least" if part.some_seed else "")


def _said(e: Experiment, chosen: Any) -> str:
    found = []
    for name, ids in chosen.items():
        axis = e.axis(name)
        ids = [i for i in ids if i in axis.ids]
        if len(ids) == len(axis.ids) and len(ids) > 1:
            continue
        if len(ids) > MOST_NAMED:
            rest = [e.say(axis, i) for i in axis.ids if i not in ids]
            but = f" but {' and '.join(rest)}" if len(rest) <= FEW else ""
            found.append(f"{'all' if but else len(ids)} levels of {in_sentence(axis.title)}{but}")
        elif axis.numeric and len(ids) > 2:
            found.append(f"{in_sentence(axis.title)} {ids[0]} to {ids[-1]}")
        else:
            found.append(" and ".join(e.say(axis, i) for i in ids))
    return ", ".join(found)


def case_text(study: Study, part: Part, case: Case) -> str:
    """The levels of a case."""
    e = study.experiment(part.experiment)
    return ", ".join(e.say(e.axis(name), level) for name, level in case.at.items())


def doubt_text(study: Study, part: Part, case: Case) -> str:
    """For an undecided case: the smallest effect that these seeds can detect."""
    if case.verdict != UNDECIDED or case.reason or case.same_run:
        return ""
    if case.equal_runs:
        return "runs that are all equal do not decide a claim on a mean, but one on every run (every_seed)"
    if case.detectable is None:
        return "one seed has no interval: at least two are needed"
    words = _Words(study, part)
    size = f"{words.scale * case.detectable:.{max(words.least, _shows(words.scale * case.detectable))}f} {words.unit}"
    if case.control:
        share = 100 * case.detectable / abs(case.control)
        size += f" ({share:.{max(2, _shows(share))}f} %)"
    text = f"smallest effect these seeds could have shown: {size.strip()}"
    if not words.difference:
        text = f"smallest distance from a bound that these seeds could have shown: {size.strip()}"
    if part.every_seed:
        few = f" ({EVERY_SEED} are needed)" if case.n < EVERY_SEED else ""
        text = f"holds in {case.holding} of {case.n} seeds{few}; {text}"
    return text


def published_text(study: Study, part: Part, cases: Sequence[Case]) -> str:
    """The paper's own figures about a part, and how far ours are from them."""
    if any(c.fitted for c in cases):
        return "published: was used to choose this reading, and is not compared"
    found = [c for c in cases if c.published is not None]
    if not found:
        return ""
    words = _Words(study, part)
    rows = sum(c.published.rows for c in found if c.published)
    agreeing = sum(c.published.agreeing for c in found if c.published)
    shown = min(found, key=lambda c: _margin_of_published(c))
    p = shown.published
    assert p is not None
    if p.text:
        return f"published: {p.text}"
    pieces = []
    if p.relative is not None:
        pieces.append(percent(p.relative))
    elif p.effect is not None:
        value = words.number(p.effect, max(words.least, 2))
        pieces.append(f"{'ratio ' if part.ratio else ''}{value} {words.unit}".strip())
    if len(found) > 1:
        pieces[-1:] = [f"at worst {x}" for x in pieces[-1:]]
    if rows:
        pieces.append(f"{agreeing} of {rows} rows agree")
    text = "published: " + ", ".join(pieces)
    if shown.distance is not None:
        text += f"; ours lies {percent(shown.distance)} from there"
    inside = [c.reproduces_size for c in found if c.reproduces_size is not None]
    if inside and len(found) == 1:
        text += f", {'inside' if inside[0] else 'outside'} of what 95 % of single runs would give"
    elif inside:
        text += f"; {sum(inside)} of {len(inside)} inside of what 95 % of single runs would give"
    return text + ("; the paper's own figures contradict the claim" if rows and agreeing * 2 < rows else "")


def _margin_of_published(case: Case) -> float:
    effect = case.published.effect if case.published is not None else None
    if effect is None or case.tested is not None:
        return 0.0
    sides = [effect - x for x in (case.low,) if x is not None] + [x - effect for x in (case.high,) if x is not None]
    return min(sides, default=0.0)
