"""What a study found, in three sentences made from its verdicts: its main claims, the counts, what is denied."""

from __future__ import annotations

from collections.abc import Sequence

from .case_text import case_text, effect_text
from .claim_results import (
    CONTRADICTED,
    DEPENDS,
    EQUIVALENT,
    NOT_TESTABLE,
    SUPPORTED,
    UNDECIDED,
    VERDICTS,
    ClaimResult,
    Judged,
)
from .model import Study

FIRST = 2
"""Number of main claims of a study that names none: the first that can be tested."""
NAMED = 6
"""The most claims that the answer names by their ids."""
SAID = {
    SUPPORTED: "is supported",
    CONTRADICTED: "is contradicted",
    EQUIVALENT: "is equivalent, a difference too small to count",
    UNDECIDED: "is undecided",
    DEPENDS: "depends on the reading",
    NOT_TESTABLE: "cannot be tested",
}


def answer(study: Study, results: Sequence[ClaimResult]) -> list[str]:
    """The answer to a study's question: three sentences, of a study without claims one."""
    if not results:
        return ["The study judges no claim: its tables and figures are the answer."]
    by_id = {r.claim.id: r for r in results}
    testable = [r for r in results if r.claim.parts] or results
    main = [by_id[name] for name in study.headline if name in by_id] or list(testable[:FIRST])
    return [
        f"{'In this preview ' if study.quick else ''}{listed([_said(study, r) for r in main], '; ')}.",
        f"{_counted(results)}.",
        _denied(study, [r for r in results if r not in main]),
    ]


def listed(words: Sequence[str], comma: str = ", ") -> str:
    """`a, b and c`."""
    *others, last = words
    return f"{comma.join(others)}{';' if comma == '; ' else ''} and {last}" if others else last


def beside_text(result: ClaimResult) -> str:
    """Text beside the verdict of a preview: the full run's verdict."""
    found = result.preview
    if found is None:
        return ""
    if found.full is None:
        return "no full run is stored"
    return f"{'too short to say; ' * found.withheld}full run: {found.full}"


def _said(study: Study, result: ClaimResult) -> str:
    """A claim, its verdict, and the effect behind it."""
    more = [_effect(study, result.base), beside_text(result)]
    if result.verdict == DEPENDS:
        more[0] = f"{result.base.verdict} at the base: {more[0]}"
    said = "; ".join(x for x in more if x)
    return f"{_quoted(result)} {SAID[result.verdict]}{f' ({said})' if said else ''}"


def _quoted(result: ClaimResult) -> str:
    return f"\u201c{result.claim.text.rstrip('.')}\u201d"


def _effect(study: Study, judged: Judged) -> str:
    """The effect of the part that decides the verdict."""
    part = next((p for p in judged.parts if p.verdict == judged.verdict), None)
    if part is None:
        return ""
    case = part.worst
    where = case_text(study, part.part, case) if len(part.cases) > 1 else ""
    effect = effect_text(study, part.part, case).partition(";")[0].replace(" (", ", ").replace(")", "")
    return f"{effect} with {where}" if where else effect


def _counted(results: Sequence[ClaimResult]) -> str:
    """`Of 9 claims, 4 are supported, 1 contradicted and 4 depend on the reading`."""
    found = [r.verdict for r in results]
    counts = [(found.count(v), v) for v in VERDICTS if v in found]
    words = []
    for k, (n, verdict) in enumerate(counts):
        are = "" if k else f"{'is' if n == 1 else 'are'} "
        words.append(f"{n} depend{'s' * (n == 1)} on the reading" if verdict == DEPENDS else f"{n} {are}{verdict}")
    return f"Of {len(results)} claim{'s' * (len(results) > 1)}, {listed(words)}"


def _denied(study: Study, others: Sequence[ClaimResult]) -> str:
    """The claims that are contradicted beside the main ones; without such, those that are not settled."""
    known = {v: [r for r in others if r.verdict == v] for v in (CONTRADICTED, DEPENDS, EQUIVALENT, UNDECIDED)}
    verdict = next((v for v, found in known.items() if found), None)
    if verdict is None:
        return "No other claim is contradicted."
    begin = {
        CONTRADICTED: f"The {'preview contradicts' if study.quick else 'runs contradict'}",
        DEPENDS: "No other claim is contradicted; the reading decides",
        EQUIVALENT: "No other claim is contradicted; too small to count is",
        UNDECIDED: "No other claim is contradicted; undecided is",
    }[verdict]
    first, *rest = known[verdict]
    effect = _effect(study, first.base)
    said = f"{begin} {_quoted(first)} ({first.claim.id}{f': {effect}' if effect else ''})"
    if not rest:
        return f"{said}."
    names = [r.claim.id for r in rest]
    if len(names) > NAMED:
        names = [*names[: NAMED - 1], f"{len(names) - NAMED + 1} more"]
    return f"{said}, and also {listed(names)}."
