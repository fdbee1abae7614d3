"""Results of a study as text: for the terminal, and in parts for the HTML report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..analysis.statistics import ALPHA
from ..terminal import paragraph, room, table
from . import comparison_tables, warmups
from .answers import answer, beside_text
from .case_text import FEW, case_text, doubt_text, effect_text, expected_text, published_text
from .claim_results import CONTRADICTED, DEPENDS, EQUIVALENT, SUPPORTED, VERDICTS, ClaimResult, Judged, PartResult
from .experiment import Experiment, in_sentence
from .model import Claim, Counted, Study
from .model import Table as TableSpec
from .published_values import Fit, fit
from .runs import Outcome

AGREES = {"ours": "agrees with us", "paper": "agrees with the paper", "neither": "agrees with neither"}


def notes(study: Study) -> list[str]:
    """Notes for every report of a study that is run with changes."""
    found = []
    if study.quick:
        found.append(
            "Quick run, a preview and no result: fewer seeds and levels, shorter runs. Where a full run is stored, a "
            "verdict is shown only if the full run has it, too."
        )
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
    """What the number of claims means for their verdicts, in a sentence."""
    known = [r for r in results if r.claim.parts]
    decided = [r for r in known if r.base.verdict in (SUPPORTED, CONTRADICTED, EQUIVALENT)]
    if len(known) < 2 or not decided:
        return ""
    held = sum(r.corrected is not None and r.corrected < ALPHA for r in decided)
    equal = sum(r.corrected is None for r in decided)
    more = (
        f"; {equal} {'rest' if equal > 1 else 'rests'} on runs that are all equal and have no p value" if equal else ""
    )
    return (
        f"{len(known)} claims are tested, each so that a null effect gets a verdict about one time in twenty; "
        f"{held} of the {len(decided)} verdicts at the base also hold after Holm's correction for all of them{more}"
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
    """The result of a claim in another reading."""

    reading: str
    verdict: str
    effects: str


def tried(study: Study, result: ClaimResult) -> list[Tried]:
    """The results of other readings: reading, verdict, effects in short."""
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
    by_verdict = {v: [t.reading for t in found if t.verdict == v] for v in VERDICTS}
    return [f"also tried, {v} with {'; '.join(names)}" for v, names in by_verdict.items() if names]


def headline_text(study: Study, result: ClaimResult) -> str:
    """How a verdict follows from those of the readings, where there are several; beside a preview, the full run's."""
    return _with_full_run(result, _readings_text(study, result))


def _with_full_run(result: ClaimResult, readings: str) -> str:
    # For a verdict that is held back, the readings tell nothing.
    if readings and result.preview is not None:
        words = readings.removeprefix("so in ").removeprefix("in ")
        said = words if words == readings else f"{result.verdict} in {words}"
        readings = "" if result.preview.withheld else f"in this preview {said}"
    return "; ".join(x for x in (beside_text(result), readings) if x)


def _readings_text(study: Study, result: ClaimResult) -> str:
    if not result.tried:
        return ""
    every = result.voices
    silent = 1 + len(result.tried) - len(every)
    rest = f" ({silent} left out, which change nothing it looks at)" if silent else ""
    same = sum(j.verdict == result.verdict for j in every)
    base = "the base" if result.literal is None else "the base (not the literal reading)"
    if result.verdict == DEPENDS:
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
    """The headline in a few words."""
    return _with_full_run(result, _readings_short(result))


def _readings_short(result: ClaimResult) -> str:
    if not result.tried:
        return ""
    every = result.voices
    if result.verdict == DEPENDS:
        return f"{every[0].verdict} {'at the base' if result.literal is None else 'taken literally'}"
    return f"in {sum(j.verdict == result.verdict for j in every)} of {len(every)} readings"


def counts(words: Sequence[str]) -> str:
    """`7 supported, 2 contradicted`, in the order of the verdicts."""
    found = [(words.count(v), v) for v in VERDICTS if v in words]
    return ", ".join(f"{n} {'depend on the reading' if v == DEPENDS and n > 1 else v}" for n, v in found)


def counted_text(one: Counted) -> str:
    """What was counted, and how much it varies, in words."""
    ends = f"{min(one.values):g} to {max(one.values):g}{' ' if one.unit else ''}{one.unit}"
    return f"{one.title}: {ends}, ratio {one.ratio:.3f}; bound {one.factor:g} (counted, not sampled)"


def n_text(part: PartResult) -> str:
    """Number of seeds, or their range where cases differ."""
    counts = sorted({c.n for c in part.cases if c.n})
    if not counts:
        return ""
    return f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}"


# ---- the whole -----------------------------------------------------------------------------------------------------


def study_text(outcome: Outcome, results: Sequence[ClaimResult], paint: Any = lambda text, kind: text) -> str:
    """Everything `reproduce` prints: the answer, verdicts, tables, assumptions."""
    study = outcome.study
    lines = [f"{study.title} ({study.name})", paragraph(study.question), study.source.get("paper", "")]
    lines += [paragraph(note) for note in notes(study)]
    lines += ["", paragraph(" ".join(answer(study, results))), *(["", "", "== Claims", ""] if results else [])]
    if about := ". ".join(x for x in (sizes(results), together(results)) if x):
        lines += [paragraph(f"{about}."), ""]
    for result in results:
        lines += [claim_text(study, result, paint), ""]
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
    lines.append("")
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
    about = f"  {block.title}: {n}" if block.title else f"  {n}"
    lines = [about if len(about) <= room() else paragraph(about.strip(), "  ")] if n else []
    lines.append("\n\n".join(map(_part_text, _parts(block))))
    if block.left_out:
        lines.append(f"  ... and {block.left_out} rows more")
    return "\n".join(lines)


def _parts(block: comparison_tables.Block) -> Iterator[comparison_tables.Block]:
    """The block in parts that are no wider than the terminal: as many groups in each as fit, one at least."""
    start, place = 0, 0
    for k in range(len(block.groups)):
        if k > start and _wide(_some(block, start, k + 1, place)) > room():
            yield _some(block, start, k, place)
            place += sum(len(one.columns) for one in block.groups[start:k])
            start = k
    yield _some(block, start, len(block.groups), place)


def _some(block: comparison_tables.Block, start: int, stop: int, place: int) -> comparison_tables.Block:
    """Some groups of a block, whose cells begin at `place`."""
    groups = block.groups[start:stop]
    end = place + sum(len(group.columns) for group in groups)
    return replace(block, groups=groups, rows=tuple((label, cells[place:end]) for label, cells in block.rows))


def _heads(block: comparison_tables.Block) -> tuple[list[list[str]], list[list[str]], list[list[int]]]:
    """The lines above each group of columns, the names of its columns, and their widths."""
    plain = _is_plain(block)
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
    return heads, names, widths


def _is_plain(block: comparison_tables.Block) -> bool:
    return all(len(group.columns) == 1 for group in block.groups)


def _first(block: comparison_tables.Block) -> int:
    return max(len(x) for x in [block.corner, *(label for label, _ in block.rows)])


def _wide(block: comparison_tables.Block) -> int:
    return 2 + _first(block) + sum(2 + w for own in _heads(block)[2] for w in own)


def _part_text(block: comparison_tables.Block) -> str:
    rows = [[a, *b] for a, b in block.rows]
    plain, first = _is_plain(block), _first(block)
    if _wide(block) > room():
        named = [g.title if plain else f"{g.title}: {column}" for g in block.groups for column in g.columns]
        return table([block.corner, *named], rows, left=1, indent="  ")
    heads, names, widths = _heads(block)
    lines = []
    for row in range(len(heads[0]) - 1 if heads else 0):
        spans = [sum(own) + 2 * (len(own) - 1) for own in widths]
        over_cells = [h[row].rjust(w) if plain else h[row].center(w) for h, w in zip(heads, spans, strict=True)]
        lines.append(("  " + "  ".join([" " * first, *over_cells])).rstrip())
    flat = [w for own in widths for w in own]
    last = [n.rjust(w) for n, w in zip([x for under in names for x in under], flat, strict=True)]
    lines.append(table([block.corner.ljust(first), *last], rows, left=1, indent="  "))
    return "\n".join(lines)


def _folded(text: str, room: int = 18) -> list[str]:
    import textwrap

    return textwrap.wrap(text, room, break_long_words=False) or [""]


def claim_text(study: Study, result: ClaimResult, paint: Any = lambda text, kind: text) -> str:
    """A claim, its verdict, and how it was reached."""
    claim = result.claim
    verdict = paint(f"{result.word:<12}", result.word)
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
