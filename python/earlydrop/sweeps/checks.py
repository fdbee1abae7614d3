"""Checks of a sweep against the engine: levels against the scenario checker, measures against a result."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import earlydrop._core as _core
from ..analysis.quantity import Quantity, complaint, moment
from ..document import Document
from ..strict_toml import letters, suggestion
from .base_scenario import checker_error, one_line
from .model import Factor, Level
from .sweep_table import Mistakes

RESCUES = 300
"""Combinations with other levels that are tried before a level is called wrong."""


def check_levels(base: Document, factors: Sequence[Factor], mistakes: Mistakes) -> None:
    """Check each level alone; if it is not valid alone, with levels of other factors."""
    for factor in factors:
        ends = factor.levels or (factor.at(0.0), factor.at(1.0))
        seen = set()
        spelt: dict[object, Level] = {}
        for level in ends:
            other = spelt.setdefault(_spelt(level), level)
            if other.name != level.name and _same(base, other, level):
                mistakes.add(
                    f"factor {factor.name}",
                    f'given "{other.name}" and "{level.name}", which are the same; allowed each level once',
                )
            error = checker_error(base, level.sets)
            if error is None or _rescued(base, factor, level, factors):
                continue
            place = f"factor {factor.name}"
            # A fault in a path is a fault in all its levels.
            reason = (error.path, error.message, error.given)
            if reason in seen:
                continue
            seen.add(reason)
            if error.given is not None and level.name not in one_line(error):
                place += f", level {level.name}"
            mistakes.add(place, one_line(error))


def _spelt(level: Level) -> object:
    """A spelling that equal values share: `20 ms` and `0.02 s`, `fq_codel` and `FQ-CoDel`."""
    found = _core.quantity(level.name)
    if found is not None:
        number, _, factor, kind = found
        return f"{number * factor:.12g}", kind
    # Units that have a meaning only in a scenario: `1.0 bdp`.
    other = re.fullmatch(r"([0-9.]+) *([A-Za-z]+)", level.name)
    if other is not None and other[1].count(".") < 2 and other[1] != ".":
        return f"{float(other[1]):.12g}", other[2]
    # Names of levels that are numbers are as short as the numbers can be told apart.
    return letters(level.name) if isinstance(level.value, str) else level.name


def _same(base: Document, one: Level, other: Level) -> bool:
    """Whether two levels with one `_spelt` make the same scenario.

    Where they make none by themselves, equal quantities are the same, and names that look alike are not.
    """
    try:
        texts = [_core.Scenario.parse(base, level.sets).to_json() for level in (one, other)]
    except _core.ScenarioError:
        return _core.quantity(one.name) is not None
    return texts[0] == texts[1]


def _rescued(base: Document, factor: Factor, level: Level, factors: Sequence[Factor]) -> bool:
    """Whether this level is valid together with a level of another factor."""
    others = [
        other.levels or tuple(other.at(share) for share in (0.0, 0.25, 0.5, 0.75, 1.0))
        for other in factors
        if other is not factor
    ]
    tried = 0
    before = factors.index(factor)
    for number, levels in enumerate(others):
        for other in levels:
            sets = (*level.sets, *other.sets) if number >= before else (*other.sets, *level.sets)
            if checker_error(base, sets) is None:
                return True
            tried += 1
            if tried >= RESCUES:
                return False
    return False


def check_queue(checked: _core.Scenario, queue: str, mistakes: Mistakes) -> bool:
    """Whether results of the scenario have this queue; if not, it is reported."""
    names = list(dict.fromkeys(json.loads(checked.network())["queue"].values()))
    if queue in names or not names:
        return True
    mistakes.add("queue", f'given "{queue}", which is no queue of the scenario; {suggestion(queue, names)}')
    return False


def check_fields(base: Document, measures: Sequence[Quantity], factors: Sequence[Factor], mistakes: Mistakes) -> None:
    """Check the fields of the measures against the result of a run of 1 ms.

    A factor may decide which queues, bands and traffic entries there are: what the base lacks is looked for with each
    level alone.
    """
    document = moment(base)
    if document is None:
        return
    wrong = {m.id: (m, said) for m in measures if (said := complaint(m, document))}
    for level in [level for factor in factors for level in factor.levels][:RESCUES]:
        if not wrong:
            return
        found = moment(base, level.sets)
        if found is not None:
            wrong = {name: (m, said) for name, (m, said) in wrong.items() if complaint(m, found)}
    for name, (_, said) in wrong.items():
        mistakes.add(f"measure {name}", said)
