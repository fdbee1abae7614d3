"""What a study found, in words: for the terminal, and in pieces for the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..analysis.statistics import ALPHA
from ..terminal import paragraph, signed, table
from . import comparison_tables, verdicts, warmups
from .model import Claim, Counted, Experiment, Part, Study, in_sentence
from .model import Table as TableSpec
from .published_values import Fit, fit
from .runs import Outcome
from .verdicts import Case, ClaimResult, Judged, PartResult

AGREES = {"ours": "agrees with us", "paper": "agrees with the paper", "neither": "agrees with neither"}


def percent(value: float | None, digits: int = 2) -> str:
    """`+1.23 %`."""
    return "-" if value is None else f"{signed(100 * value, digits)} %"


def notes(study: Study) -> list[str]:
    """What must stand on every page of a study that is not run as it stands."""
    found = []
    if study.quick:
        found.append("Quick run: fewer seeds and levels, shorter runs. A look, not a result.")
    if study.choice is not None and study.chosen:
        found.append(f"Run with a choice of its own: {', '.join(chosen_titles(study))}.")
    if study.assuming:
        given = ", ".join(f"{k} = {v}" for k, v in study.assuming.items())
        found.append(f"Run with other assumptions than the study's own: {given}.")
    return found


def chosen_titles(study: Study) -> list[str]:
    """The levels that are run of the axis whose levels are chosen, by their titles."""
    if study.choice is None:
        return []
    levels = [x for e in study.experiments if study.choice.axis in e.names for x in e.axis(study.choice.axis).levels]
    return list(dict.fromkeys(level.title for level in levels))


# ---- one case ------------------------------------------------------------------------------------------------------


class _Words:
    """How the numbers of one part are written."""

    def __init__(self, study: Study, part: Part) -> None:
        self.part, self.measure = part, study.measure(part.measure)
        e = study.experiment(part.experiment)
        self.percent = part.along != "" and part.reduce == "cv"
        self.bare = part.ratio or (part.along != "" and part.reduce == "correlation")
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
        if self.difference:
            return signed(self.scale * value, digits)
        return f"{self.scale * value:.{digits}f}"


def _needed(case: Case, scale: float) -> int:
    if case.lower is None or case.upper is None:
        return 0
    return max(_shows(abs(scale * x)) for x in (case.upper - case.effect, case.lower, case.upper))


def _shows(half: float) -> int:
    """Digits after the point that show the first figure of `half`, at most six."""
    return min(6, -math.floor(math.log10(half))) if half > 0 else 0


SAME_RUN = "one run: every seed gives the same, so there is no interval"


def effect_text(study: Study, part: Part, case: Case) -> str:
    """The effect with its interval, and what it is held against."""
    if case.reason:
        return case.reason
    words = _Words(study, part)
    digits = words.digits(case)
    text = words.number(case.effect, digits)
    if case.lower is not None and case.upper is not None:
        text += f" [{words.number(case.lower, digits)}, {words.number(case.upper, digits)}]"
    text += f" {words.unit}" if words.unit else ""
    if part.ratio:
        text = f"ratio {text}"
    if case.relative is not None:
        more = max(2, _needed(case, 100 / abs(case.control or 1.0)))
        text += f" ({percent(case.relative, min(more, 6))})"
    more_words = [limit_text(study, words, case), SAME_RUN if case.same_run else "", margin_text(words, case)]
    return "; ".join(x for x in (text, *more_words) if x)


def limit_text(study: Study, words: _Words, case: Case) -> str:
    """What the interval is held against, where that is not zero."""
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
    """The margin within which the sides count as equal, where it decides."""
    decides = case.verdict == verdicts.EQUIVALENT or (
        words.part.expect in {"at_least", "at_most"} and case.verdict == verdicts.SUPPORTED and case.slack <= 0
    )
    return f"within the margin of {_margin(words, case)}" if decides and case.margin is not None else ""


def _margin(words: _Words, case: Case) -> str:
    if case.margin is None:
        return ""
    size = words.scale * case.margin
    shown = f"\u00b1 {size:.{max(words.least, _shows(size))}f} {words.unit}".strip()
    return f"{shown} ({100 * case.margin / abs(case.control):.2g} %)" if case.control else shown


def expected_text(study: Study, part: Part) -> str:
    """What a part says, in short: `FTP bandwidth: SFRED less than RED`."""
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
    return text + ("; in every seed" if part.every_seed else "")


MOST_NAMED = 12
"""More levels of an axis than these are not named one by one."""


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
    """For which levels a case stands."""
    e = study.experiment(part.experiment)
    return ", ".join(e.say(e.axis(name), level) for name, level in case.at.items())


def doubt_text(study: Study, part: Part, case: Case) -> str:
    """For an undecided case: the smallest effect these seeds could have shown."""
    if case.verdict != verdicts.UNDECIDED or case.reason or case.same_run:
        return ""
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
        few = f" ({verdicts.EVERY_SEED} are needed)" if case.n < verdicts.EVERY_SEED else ""
        text = f"holds in {case.holding} of {case.n} seeds{few}; {text}"
    return text


def published_text(study: Study, part: Part, cases: Sequence[Case]) -> str:
    """What the paper's own figures say about a part, and how far ours are from there."""
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


# ---- claims --------------------------------------------------------------------------------------------------------


def tally(results: Sequence[ClaimResult]) -> str:
    """`4 supported, 1 contradicted, 1 undecided`."""
    return counts([r.verdict for r in results])


def sizes(results: Sequence[ClaimResult]) -> str:
    """How many published effects have the size we find; empty where nothing is published."""
    inside = [c.reproduces_size for r in results for p in r.base.parts for c in p.cases]
    known = [x for x in inside if x is not None]
    return f"{sum(known)} of {len(known)} published effects are what 95 % of single runs would give" if known else ""


def together(results: Sequence[ClaimResult]) -> str:
    """What the number of claims means for their verdicts."""
    known = [r for r in results if r.corrected is not None]
    decided = [r for r in known if r.base.verdict in (verdicts.SUPPORTED, verdicts.CONTRADICTED, verdicts.EQUIVALENT)]
    if len(known) < 2 or not decided:
        return ""
    held = sum(r.corrected is not None and r.corrected < ALPHA for r in decided)
    return (
        f"{len(known)} claims are tested, each so that a null effect gets a verdict at most one time in twenty; "
        f"{held} of the {len(decided)} verdicts at the base also hold after Holm's correction for all of them"
    )


def reading_text(study: Study, claim: Claim, judged: Judged) -> str:
    """A reading in words."""
    found = []
    for name, level in judged.reading.items():
        for part in claim.parts:
            e = study.experiment(part.experiment)
            if name in e.names:
                axis = e.axis(name)
                found.append(f"{in_sentence(axis.title)}: {axis.level(level).title}")
                break
    return ", ".join(found)


@dataclass(frozen=True)
class Tried:
    """What a claim gives in another reading."""

    reading: str
    verdict: str
    effects: str


FEW = 3
"""More other readings than these are told in short, by verdict."""


def tried(study: Study, result: ClaimResult) -> list[Tried]:
    """What other readings give: reading, verdict, effects in short."""
    return [
        Tried(
            reading_text(study, result.claim, judged),
            judged.verdict,
            "; ".join(effect_text(study, p.part, p.worst) for p in judged.parts),
        )
        for judged in result.tried
    ]


def tried_counts(found: Sequence[Tried]) -> str:
    """How many readings give each verdict."""
    return counts([t.verdict for t in found])


def _tried_lines(found: Sequence[Tried]) -> list[str]:
    if len(found) <= FEW:
        return [f"also tried, {t.reading}: {t.verdict} ({t.effects})" for t in found]
    by_verdict = {v: [t.reading for t in found if t.verdict == v] for v in verdicts.VERDICTS}
    return [f"also tried, {v} with {'; '.join(names)}" for v, names in by_verdict.items() if names]


def headline_text(study: Study, result: ClaimResult) -> str:
    """How a verdict follows from those of the readings, where there are several."""
    if not result.tried:
        return ""
    every = result.voices
    silent = 1 + len(result.tried) - len(every)
    rest = f" ({silent} that change nothing it looks at are left out)" if silent else ""
    same = sum(j.verdict == result.verdict for j in every)
    base = "the base" if result.literal is None else "the base (not the literal reading)"
    if result.verdict == verdicts.DEPENDS:
        literal = next((j for j in result.tried if j.reading == result.literal), result.base)
        names = (
            "at the base"
            if result.literal is None
            else f"taken literally ({reading_text(study, result.claim, literal)})"
        )
        return f"{literal.verdict} {names}; all readings: {counts([j.verdict for j in every])}{rest}"
    own = f"; {base} is {result.base.verdict}" if result.base.verdict != result.verdict else ""
    return f"so in {same} of {len(every)} readings{rest}{own}"


def headline_short(result: ClaimResult) -> str:
    """The same in a few words."""
    if not result.tried:
        return ""
    every = result.voices
    if result.verdict == verdicts.DEPENDS:
        return f"{every[0].verdict} {'at the base' if result.literal is None else 'taken literally'}"
    return f"in {sum(j.verdict == result.verdict for j in every)} of {len(every)} readings"


def counts(words: Sequence[str]) -> str:
    """`7 supported, 2 contradicted`, in the order of the verdicts."""
    return ", ".join(f"{words.count(v)} {v}" for v in verdicts.VERDICTS if v in words)


def counted_text(one: Counted) -> str:
    """What was counted, and how much it varies."""
    ends = f"{min(one.values):g} to {max(one.values):g}{' ' if one.unit else ''}{one.unit}"
    return f"{one.title}: {ends}, ratio {one.ratio:.3f}; bound {one.ratio_at_most:g} (counted, not sampled)"


def n_text(part: PartResult) -> str:
    """Number of seeds, or their range where cases differ."""
    counts = sorted({c.n for c in part.cases if c.n})
    if not counts:
        return ""
    return f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}"


# ---- the whole -----------------------------------------------------------------------------------------------------


def study_text(outcome: Outcome, results: Sequence[ClaimResult], paint: Any = lambda text, kind: text) -> str:
    """Everything `reproduce` prints: tables, verdicts, assumptions."""
    study = outcome.study
    lines = [f"{study.title} ({study.name})", study.source.get("paper", "")]
    lines += [paragraph(note) for note in notes(study)]
    for e in study.experiments:
        lines += ["", "", f"== {e.id}  {e.title}", paragraph(comparison_tables.summary(study, e))]
        mine = [t for t in study.tables if t.experiment == e.id and not t.facts]
        for spec in mine:
            lines += ["", *_table_lines(outcome, spec)]
        if not mine:
            lines += ["", _block_text(comparison_tables.automatic(outcome, e, most=24))]
    for spec in (t for t in study.tables if t.facts):
        block = comparison_tables.facts(study, spec)
        lines += ["", "", paragraph(f"{spec.id}: {spec.title}"), _block_text(block) if block.rows else "  no rows"]
    gone = [t for t in study.shown if t.lost or t.unreproduced]
    if gone:
        lines += ["", "", "== What cannot be shown", ""]
        lines += [paragraph(f"{t.id}: {t.lost or t.unreproduced}", "  ") for t in gone]
    if study.assumptions:
        lines += ["", "", "== What is assumed", ""]
        for a in study.assumptions:
            value = study.assuming.get(a.id, a.value)
            whose = "the paper's" if a.by == "paper" else "ours"
            changed = f" (the study's own: {a.value})" if a.id in study.assuming else ""
            lines.append(paragraph(f"{a.id}: {a.title}: {value}{changed} [{whose}]", "  "))
    lines += ["", "", "== Claims", ""]
    lines += [paragraph(". ".join(x for x in (tally(results), sizes(results), together(results)) if x) + "."), ""]
    for result in results:
        lines += [claim_text(study, result, paint), ""]
    lines += [paragraph(note) for note in notes(study)]
    lines += [paragraph(f"warning: {text}") for text in warmups.warnings(outcome.warmups)]
    return "\n".join(lines).rstrip()


def _table_lines(outcome: Outcome, spec: TableSpec) -> list[str]:
    lines = [paragraph(f"{spec.id}: {spec.title}")]
    if spec.lost or spec.unreproduced:
        lines.append(paragraph(spec.lost or spec.unreproduced, "  "))
    e = outcome.study.experiment(spec.experiment)
    found = fit(outcome, spec)
    levels = e.axis(spec.fit).ids if spec.fit else (None,)
    for level in levels:
        reading = {} if level is None else {spec.fit: level}
        if level is not None:
            lines += ["", f"  {e.axis(spec.fit).title}: {e.axis(spec.fit).level(level).title}"]
        lines += [_block_text(block) for block in comparison_tables.shown(outcome, spec, reading)]
    if found is not None:
        lines.append(paragraph(fit_text(e, found), "  "))
    return lines


def fit_text(e: Experiment, found: Fit) -> str:
    """Which reading fits a table best."""
    axis = e.axis(found.axis)
    each = ", ".join(f"{axis.level(k).title} {100 * d:.1f} %" for k, (d, _) in found.distances.items())
    return f"Mean distance from the published figures: {each}. Best fit: {axis.level(found.best).title}."


def _block_text(block: comparison_tables.Block) -> str:
    over = f", averaged over {block.averaged}" if block.averaged else ""
    n = f"{comparison_tables.replication(block)}{over}" if block.n else ""
    plain = all(len(group.columns) == 1 for group in block.groups)
    heads = [_folded(g.title) if plain else [*_folded(g.title, 30), ""] for g in block.groups]
    depth = max((len(h) for h in heads), default=1)
    heads = [[""] * (depth - len(h)) + h for h in heads]
    names = [[h[-1]] if plain else list(g.columns) for h, g in zip(heads, block.groups, strict=True)]
    widths, place = [], 0
    for head, group, under in zip(heads, block.groups, names, strict=True):
        cells = [[c[place + k] for _, c in block.rows] for k in range(len(group.columns))]
        own = [max(map(len, [name, *column])) for name, column in zip(under, cells, strict=True)]
        lacking = max(map(len, head)) - sum(own) - 2 * (len(own) - 1)
        own[0] += max(0, lacking)
        widths.append(own)
        place += len(own)
    first = max(len(x) for x in [block.corner, *(label for label, _ in block.rows)])
    lines = [f"  {block.title}: {n}" if block.title else f"  {n}"] if n else []
    for row in range(depth - 1):
        spans = [sum(own) + 2 * (len(own) - 1) for own in widths]
        over_cells = [h[row].rjust(w) if plain else h[row].center(w) for h, w in zip(heads, spans, strict=True)]
        lines.append(("  " + "  ".join([" " * first, *over_cells])).rstrip())
    flat = [w for own in widths for w in own]
    last = [n.rjust(w) for n, w in zip([x for under in names for x in under], flat, strict=True)]
    lines.append(table([block.corner.ljust(first), *last], [[a, *b] for a, b in block.rows], left=1, indent="  "))
    if block.left_out:
        lines.append(f"  ... and {block.left_out} rows more")
    return "\n".join(lines)


def _folded(text: str, room: int = 18) -> list[str]:
    import textwrap

    return textwrap.wrap(text, room, break_long_words=False) or [""]


def claim_text(study: Study, result: ClaimResult, paint: Any = lambda text, kind: text) -> str:
    """A claim, its verdict, and how it was reached."""
    claim = result.claim
    verdict = paint(f"{result.verdict:<12}", result.verdict)
    lines = [paragraph(f"{claim.id:<6}@{claim.text}", "").replace("@", f"{verdict}  ", 1)]
    if claim.untestable:
        lines.append(paragraph(claim.untestable, "      "))
    lines += [paragraph(counted_text(one), "      ") for one in claim.counted]
    if claim.ours:
        lines.append(paragraph("our question, not the paper's", "      "))
    if more := headline_text(study, result):
        lines.append(paragraph(more, "      "))
    several = len(result.base.parts) > 1
    for part in result.base.parts:
        lines += _part_lines(study, part, several)
    lines += [paragraph(line, "        ") for line in _tried_lines(tried(study, result))]
    for peer in claim.peers:
        lines.append(paragraph(f"{peer.tool} {AGREES[peer.agrees]}: {peer.text}", "        "))
    return "\n".join(lines)


def _part_lines(study: Study, result: PartResult, several: bool) -> list[str]:
    part, worst = result.part, result.worst
    own = f"{result.verdict}: " if several else ""
    where = case_text(study, part, worst)
    where = f" ({where})" if where and len(result.cases) > 1 else ""
    n = n_text(result)
    text = f"{expected_text(study, part)}: {own}{effect_text(study, part, worst)}{where}{', ' + n if n else ''}"
    lines = [paragraph(text, "      ")]
    if len(result.cases) > 1:
        for case in result.cases:
            name = case_text(study, part, case)
            if name:
                lines.append(paragraph(f"{name}: {case.verdict}, {effect_text(study, part, case)}", "        "))
    for more in (doubt_text(study, part, worst), published_text(study, part, result.cases)):
        if more:
            lines.append(paragraph(more, "        "))
    return lines
