"""What a comparison speaks of one by one: traffic entries with delays of their own, and several queues.

A discipline with several queues gives each its own delay: a mean over all of them is nobody's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from ..document import Document, is_position, steps_of
from .quantity import COMPARED, KNOWN, LISTED, MEAN, TAIL, Quantity

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
    """A queue, or a traffic entry that passes it."""

    title: str
    queue: str
    index: int | None = None
    """The entry's number, from 0; None for all that passes the queue."""
    key: str = ""
    """What tells the ids of its quantities from those of others."""

    def id(self, quantity: str) -> str:
        """The id of one of its quantities."""
        return f"{quantity}_{self.key}" if self.key else quantity


def title(measure: str, part: Part) -> str:
    """The title of a measure of one part: `Queueing delay of prague, 99 %`."""
    what, comma, rest = measure.partition(",")
    return f"{what} of {part.title}{comma}{rest}"


def path_of(field: str, names: Sequence[str | None]) -> tuple[str, ...]:
    """The steps of a path, with traffic entries by their numbers; `names` are the entries' names."""
    steps = list(steps_of(field))
    of_queue = steps[:1] == ["queues"] and steps[2:3] == ["traffic"]
    at = 1 if steps[:1] == ["traffic"] else 3 if of_queue else 0
    if 0 < at < len(steps) and not is_position(steps[at]) and names.count(steps[at]) == 1:
        steps[at] = str(names.index(steps[at]))
    return tuple(map(str, steps))


def asked_already(
    one: Quantity, asked: Iterable[Quantity], names: Sequence[str | None], fields: Sequence[str] | None = None
) -> Quantity | None:
    """The measure asked for with the path of this one, which is then not there twice; `fields` are those of this one
    that results have.
    """
    paths = {path_of(field, names) for field in (one.fields if fields is None else fields)}
    if not paths:
        return None
    return next((m for m in asked if m.fields and {path_of(name, names) for name in m.fields} == paths), None)


_AT_QUEUE = "queues.{queue}.traffic"
OF_PART = {
    MEAN: f"{_AT_QUEUE}.%d.delay_mean_ms",
    TAIL: f"{_AT_QUEUE}.%d.delay_p99_ms",
    "goodput": "traffic.%d.goodput_mbps",
}
"""Measures that each entry has of its own: their fields."""


def measures(parts: Iterable[Part], of: Iterable[str] = tuple(OF_PART)) -> list[Quantity]:
    """Those of some measures that each of these parts has of its own. Figures have those of the first ones.

    A queue has its drop rate too, and the first one all that is compared.
    """
    named = set(of)
    made = []
    for number, part in enumerate(parts):
        if part.index is None:
            pooled = list(COMPARED) if not part.key else [KNOWN[name] for name in (*OF_PART, "drop_rate")]
        else:
            pooled = [
                replace(KNOWN[name], field=place % part.index, drawn=number < LISTED, passing="")
                for name, place in OF_PART.items()
                if name in named
            ]
        own = (replace(q, id=part.id(q.id), title=title(q.title, part), asked=False) for q in pooled)
        made += [q.at(part.queue) for q in own]
    return made


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
    return tuple(Part(titles[k], queue, k, str(k + 1)) for k in passing) if len(passing) > 1 else ()


def titled(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Titles of traffic entries: their names; their numbers too where a name is missing, or given twice."""
    names = [entry.get("name") for entry in entries]
    return [
        name if name and names.count(name) == 1 else f"{name or entries[k]['kind']} (entry {k + 1})"
        for k, name in enumerate(names)
    ]


def parts_of(results: Sequence[Document], queues: Mapping[str, frozenset[int]]) -> tuple[Part, ...] | None:
    """The parts at each of these queues, the compared one first; `queues` has the entries whose data pass it.

    A single queue is no part of its own. None as for `parts`, of any of them.
    """
    found: list[Part] = []
    for k, (queue, entries) in enumerate(queues.items()):
        here = parts(results, queue, entries)
        if here is None:
            return None
        if len(queues) > 1:
            here = tuple(
                replace(one, title=f"{one.title} at {queue}", key=f"{queue}_{one.key}" if k else one.key)
                for one in here
            ) or (Part(queue, queue, key=queue if k else ""),)
        found += here
    return tuple(found)
