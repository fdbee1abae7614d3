"""Traffic entries of a sweep that have delays of their own at its queue, at one point or more (analysis/shared.py)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import earlydrop._core as _core
from ..analysis import shared
from ..analysis.quantity import Quantity
from ..document import Document
from .base_scenario import overlay_toml
from .model import Factor, Sweep

DECIDES = re.compile(r"queue\.[^.]+(\.(aqm|parent|child)\b|$)|traffic\b")
"""Paths on which it depends how many queues and traffic entries there are."""

OF_ALL = re.compile(r"(queues\.[^.]+\.(passing\.)?)?delay_\w+_ms")
"""Fields with a delay of all traffic together."""


def is_pooled(sweep: Sweep, measure: Quantity) -> bool:
    """Whether a measure is a delay of all traffic together where entries have delays of their own: it is nobody's."""
    return sweep.parts != () and OF_ALL.fullmatch(measure.field) is not None


def parts(base: Document, factors: Sequence[Factor], queue: str) -> tuple[shared.Part, ...] | None:
    """The entries with delays of their own at a queue; none where no discipline has several queues, or where one entry
    passes. None if they are too many to be told apart.
    """
    levels = (level for factor in factors for level in factor.levels)
    touching = (level for level in levels if any(DECIDES.match(path) for path, _ in level.sets))
    documents = [base, *(overlay_toml(base, level.sets) for level in touching)]
    tables = [one.get("queue", {}) for one in documents]
    # A queue of the results has the scenario's key, or the name of a link with that key.
    queues = (one[key] for one in tables for key in ([queue] if queue in one else one))
    if not any(map(shared.has_several, queues)):
        return ()
    found = [_passing(one, queue) for one in documents]
    passing = frozenset().union(*(some for _, some in found if len(some) > 1))
    entries, _ = max(found, key=lambda one: len(one[0]))
    if len(entries) > shared.MOST:
        return None if passing else ()
    return tuple(
        shared.Part(title, queue, k, str(k + 1))
        for k, title in enumerate(_titled([one for one, _ in found]))
        if k in passing
    )


def _passing(document: Document, queue: str) -> tuple[Sequence[Any], frozenset[int]]:
    """The traffic entries of a scenario, and those whose data pass a queue."""
    try:
        checked = _core.Scenario.parse(document, [])
    except _core.ScenarioError:
        # Complete only at the points.
        given = [one for one in document.get("traffic", []) if isinstance(one, dict)]
        return given, frozenset(range(len(given)))
    return json.loads(checked.to_json())["traffic"], shared.with_data(checked, queue)


def _titled(documents: Sequence[Sequence[Any]]) -> list[str]:
    """A title for each place: that of the entries there, or its number where levels have different entries."""
    titles: list[set[str]] = [set() for _ in range(max(map(len, documents)))]
    for entries in documents:
        for k, title in enumerate(shared.titled(entries)):
            titles[k].add(title)
    return [next(iter(one)) if len(one) == 1 else f"entry {k + 1}" for k, one in enumerate(titles)]
