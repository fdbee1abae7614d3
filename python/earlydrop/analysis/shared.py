"""Queues in which traffic entries have delays of their own: a mean over all of them is nobody's delay.

A discipline with several queues gives each its own delay, so a comparison with one of them speaks of each entry.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from ..document import Document
from .quantity import KNOWN, LISTED, MEAN, TAIL, Quantity

if TYPE_CHECKING:
    import earlydrop._core as _core

SEVERAL = "several queues"
"""The family of disciplines with queues of their own for flows or classes."""
APART = ("htb", "wifi")
"""Parents with a queue for each class or station."""
MOST = 12
"""The most entries that a comparison tells apart."""


@dataclass(frozen=True)
class Part:
    """A traffic entry that passes a queue."""

    title: str
    index: int
    """Its number, from 0."""

    def id(self, quantity: str) -> str:
        """The id of a quantity of this entry."""
        return f"{quantity}_{self.index + 1}"


def title(measure: str, part: Part) -> str:
    """The title of a measure of one entry: `Queueing delay of prague, 99 %`."""
    what, comma, rest = measure.partition(",")
    return f"{what} of {part.title}{comma}{rest}"


_AT_QUEUE = "queues.{queue}.traffic"
OF_PART = {
    MEAN: f"{_AT_QUEUE}.%d.delay_mean_ms",
    TAIL: f"{_AT_QUEUE}.%d.delay_p99_ms",
    "goodput": "traffic.%d.goodput_mbps",
}
"""Measures that each entry has of its own: their fields."""


def measures(parts: Iterable[Part], of: Iterable[str] = tuple(OF_PART)) -> list[Quantity]:
    """Those of some measures that each of these entries has of its own. Figures have those of the first entries."""
    named = set(of)
    return [
        replace(
            KNOWN[name],
            id=part.id(name),
            title=title(KNOWN[name].title, part),
            field=place % part.index,
            drawn=number < LISTED,
            passing="",
            asked=False,
        )
        for number, part in enumerate(parts)
        for name, place in OF_PART.items()
        if name in named
    ]


@cache
def _several() -> frozenset[str]:
    from .. import discipline_names

    return frozenset(name for name, one in discipline_names.catalogue().items() if one.get("family") == SEVERAL)


def has_several(queue: Mapping[str, Any]) -> bool:
    """Whether a queue, of a checked scenario or of a result, has a discipline with several queues."""
    child = queue.get("child", queue)
    parent = queue.get("parent")
    return parent in APART or "classes" in (parent or {}) or child.get("aqm") in _several()


def with_data(scenario: _core.Scenario, queue: str) -> frozenset[int]:
    """The traffic entries whose data pass a queue, from 0; of a queue that the scenario does not have all."""
    counts = [int(entry["count"]) for entry in json.loads(scenario.to_json())["traffic"]]
    found = scenario.passing(queue)
    if found is None:
        return frozenset(range(len(counts)))
    of_flow = (k for k, count in enumerate(counts) for _ in range(count))
    return frozenset(k for k, (_, _, acks) in zip(of_flow, found[1], strict=True) if not acks)


def is_pooled(scenarios: Iterable[Document], queue: str, entries: frozenset[int]) -> bool:
    """Whether one of these checked scenarios or results has such a discipline at `queue`, for the data of several of
    its `entries`."""
    return len(entries) > 1 and any(
        has_several(one["queues"].get(queue, {}) if "queues" in one else one["queue"].get(queue, {}))
        for one in scenarios
    )


def parts(results: Sequence[Document], queue: str, entries: frozenset[int]) -> tuple[Part, ...] | None:
    """Those of the traffic entries that have delays of their own at a queue; None where results do not tell them apart.

    There are none if no result has a discipline with several queues there, or a single entry passes.
    """
    if not is_pooled(results, queue, entries):
        return ()
    at = [one["queues"][queue] for one in results]
    if not all("traffic" in one for one in at) or len(results[0]["traffic"]) > MOST:
        return None
    passing = sorted(
        {k for one in at for k, entry in enumerate(one["traffic"]) if entry["departures"] and k in entries}
    )
    titles = titled(at[0]["traffic"])
    return tuple(Part(titles[k], k) for k in passing) if len(passing) > 1 else ()


def titled(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Titles of traffic entries: their names; their numbers too where a name is missing, or given twice."""
    names = [entry.get("name") for entry in entries]
    return [
        name if name and names.count(name) == 1 else f"{name or entries[k]['kind']} (entry {k + 1})"
        for k, name in enumerate(names)
    ]
