"""Many points in place of prose: how often the control wins, ties and loses, and where the order changes.

A win, a loss and a tie are what sentences call "less" or "more" and "equal" (analysis/words.py), for all measures with
a better direction: after Holm's correction, and at a confidence widened for the number of statements. All else is open.
What is found is plain values, from which text, page and Markdown are made (matrix_text.py).
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.statistics import ALPHA
from ..analysis.words import Finding, finding
from ..document import Document
from .matrix_text import MANY, NONE, SCORES, Matrix
from .parts import is_pooled
from .plan import Array, label

if TYPE_CHECKING:
    from ..analysis.quantity import Quantity
    from ..analysis.statistics import Difference
    from .outcome import Outcome

WIN, TIE, LOSS, OPEN, MISSING = range(5)


@dataclass(frozen=True)
class Places:
    """Where the compared points lie, as numbers of levels: a row for each factor, a column for each pair."""

    codes: Array
    levels: list[dict[str, tuple[int, Any]]]
    """For each factor the number and the value of its levels by name, in the order of the numbers."""
    rivals: Array
    """The number of each pair's rival."""
    named: list[tuple[str, str]]
    """The rivals: factor with a control, and level."""


def matrix(outcome: Outcome) -> Matrix:
    """The matrix of a sweep with many comparisons; an empty one of a sweep with few, or where nothing can be tested."""
    sweep = outcome.sweep
    judged = [m for m in sweep.measures if m.better is not None and not is_pooled(sweep, m)]
    if len(outcome.pairs) <= MANY or not judged or not outcome.tests.tested:
        return NONE
    left_out = outcome.short_pairs
    statements, at = (len(outcome.pairs) - len(left_out)) * len(judged), _places(outcome)
    scores, ends = _scores(outcome, judged, statements, at)
    found = []
    factors = {f.name: f for f in sweep.factors}
    for number, (factor, level) in enumerate(at.named):
        called = factors[factor].called
        for k, m in enumerate(judged):
            if (number, k) not in ends:
                continue
            counted = np.bincount(scores[at.rivals == number, k], minlength=len(SCORES)).tolist()
            counts: Document = dict(zip(SCORES, counted, strict=False))
            found.append(
                {
                    "factor": factor,
                    "control": called(sweep.control[factor]),
                    "level": called(level),
                    "measure": m.id,
                    **counts,
                    "least": _end(outcome, *ends[number, k][0], statements),
                    "most": _end(outcome, *ends[number, k][1], statements),
                }
            )
    return Matrix(found, _changes(outcome, judged, at, scores), statements)


def _places(outcome: Outcome) -> Places:
    sweep = outcome.sweep
    names = [f.name for f in sweep.factors]
    codes = [array("i") for _ in names]
    levels: list[dict[str, tuple[int, Any]]] = [{} for _ in names]
    rivals = array("i")
    named: dict[tuple[str, str], int] = {}
    for pair in outcome.pairs:
        here = sweep.points[pair.point].levels
        for level, code, known in zip(here, codes, levels, strict=True):
            code.append(known.setdefault(level.name, (len(known), level.value))[0])
        rival = pair.factor, here[names.index(pair.factor)].name
        rivals.append(named.setdefault(rival, len(named)))
    return Places(np.array(codes, np.int32), levels, np.array(rivals, np.int32), list(named))


Ends = dict[tuple[int, int], list[tuple[int, "Difference"]]]
"""For each rival and measure the points with the smallest and the largest difference."""


def _scores(outcome: Outcome, judged: Sequence[Quantity], statements: int, at: Places) -> tuple[Array, Ends]:
    """The score of each pair and measure, and the ends."""
    measures = len(outcome.sweep.measures)
    ends: Ends = {}
    left_out = outcome.short_pairs
    known = {m.id: k for k, m in enumerate(judged)}
    scores = np.full((len(outcome.pairs), len(judged)), MISSING, np.uint8)
    every = zip(outcome.tests.places, outcome.differences, outcome.corrected, strict=True)
    for place, (pair, name, difference), (holm, _) in every:
        if name not in known:
            continue
        number, k = place // measures, known[name]
        if (pair.factor, pair.point) in left_out:
            scores[number, k] = OPEN
            continue
        scores[number, k] = _score(finding(difference, judged[k], holm, statements))
        mean = difference.estimate.mean
        here = ends.setdefault((int(at.rivals[number]), k), [(pair.point, difference)] * 2)
        if mean < here[0][1].estimate.mean:
            here[0] = pair.point, difference
        if mean > here[1][1].estimate.mean:
            here[1] = pair.point, difference
    return scores, ends


def _score(one: Finding) -> int:
    """The control's score, where a rival was found to have less or more."""
    if one.found == "equal":
        return TIE
    if one.found not in ("less", "more"):
        return OPEN
    return LOSS if one.found == one.quantity.better else WIN


def _end(outcome: Outcome, point: int, difference: Difference, statements: int) -> Document:
    lower, upper = difference.around(1 - ALPHA / statements) or (None, None)
    where = label(outcome.sweep, outcome.sweep.points[point])
    return {"mean": difference.estimate.mean, "lower": lower, "upper": upper, "where": where}


def _changes(outcome: Outcome, judged: Sequence[Quantity], at: Places, scores: Array) -> list[Document]:
    """Along each factor with numbers, all other levels being the same: between which of its values another one wins."""
    sweep, found = outcome.sweep, []
    factors = {f.name: f for f in sweep.factors}
    for axis, factor in enumerate(sweep.factors):
        if not sweep.numeric[axis]:
            continue
        names = [factor.called(name) for name in at.levels[axis]]
        values = np.array([float(value) for _, value in at.levels[axis].values()])[at.codes[axis]]
        others = np.vstack([np.delete(at.codes, axis, axis=0), at.rivals])
        order = np.lexsort((values, *others))
        # Levels of a factor with a control are rivals of that control, and no axis.
        order = order[np.array([of != factor.name for of, _ in at.named])[at.rivals[order]]]
        if not len(order):
            continue
        begins = np.r_[True, (others[:, order[1:]] != others[:, order[:-1]]).any(axis=0)]
        line = np.cumsum(begins) - 1
        lines = np.bincount(at.rivals[order[begins & (np.bincount(line)[line] > 1)]], minlength=len(at.named))
        for k, m in enumerate(judged):
            decided = np.isin(scores[order, k], (WIN, LOSS))
            here, of, wins = order[decided], line[decided], scores[order[decided], k] == WIN
            turns = (of[1:] == of[:-1]) & (wins[1:] != wins[:-1])
            starts, stops = here[:-1][turns], here[1:][turns]
            kinds = zip(
                at.rivals[starts].tolist(),
                wins[:-1][turns].tolist(),
                at.codes[axis][starts].tolist(),
                at.codes[axis][stops].tolist(),
                strict=True,
            )
            counted: dict[tuple[int, bool], Counter[tuple[int, int]]] = {}
            for rival, control_below, low, high in kinds:
                counted.setdefault((rival, control_below), Counter())[low, high] += 1
            for (rival, control_below), places in counted.items():
                with_control, level = at.named[rival]
                called = factors[with_control].called
                sides = [called(sweep.control[with_control]), called(level)]
                below, above = sides if control_below else sides[::-1]
                ranked = sorted(places.items(), key=lambda one: (-one[1], one[0]))
                found.append(
                    {
                        "factor": with_control,
                        "level": called(level),
                        "measure": m.id,
                        "along": factor.said,
                        "below": below,
                        "above": above,
                        "between": [{"from": names[a], "to": names[b], "count": n} for (a, b), n in ranked],
                        "count": places.total(),
                        "lines": int(lines[rival]),
                    }
                )
    return sorted(found, key=lambda one: -int(one["count"]))
