"""Disciplines that never acted in a run: every drop was an overflow of the buffer, or no queue formed at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..document import Document

PLAIN = frozenset(
    {"droptail", "drop_front", "drop_random", "ddtail", "fq", "fq_pacing", "sfq", "drr", "wrr", "prio", "sp_pifo"}
)
"""Disciplines that drop at a full buffer and nowhere else."""


def never_acted(run: Document, scenario: Document) -> list[str]:
    """One sentence for each queue of a run whose discipline neither marked nor dropped before the buffer was full.

    `scenario` is the completed scenario, whose limits the sentences name.
    """
    found = []
    for name, queue in run["queues"].items():
        overflows = queue["overflow_drops"]
        if queue["aqm"] in PLAIN or not overflows or queue["early_drops"] or queue["forced_drops"] or queue["marks"]:
            continue
        found.append(_sentence(name, queue["aqm"], "", f"all {overflows:,}", _limit(scenario, name, queue["aqm"])))
    return found


USE = ("departures", "departed_bytes", "throughput_mbps", "utilisation", "delay_mean_ms")
NOT_FULL = 0.95
"""Utilisation above which a link may have had a queue now and then."""


def no_queue(queue: Document) -> bool:
    """Whether no queue formed in a run: nothing dropped or marked, and packets wait for less than one is sent.

    `queue` is a queue's entry in a result.
    """
    counts = ("overflow_drops", "early_drops", "forced_drops", "marks")
    if not {*counts, *USE} <= queue.keys():
        return False
    if any(queue[name] for name in counts) or not queue["departures"] or not 0 < queue["utilisation"] < NOT_FULL:
        return False
    rate_mbps = queue["throughput_mbps"] / queue["utilisation"]
    packet_ms = queue["departed_bytes"] * 8e-3 / queue["departures"] / rate_mbps
    return bool(queue["delay_mean_ms"] < packet_ms)


def everywhere(runs: Sequence[Document], scenario: Document) -> list[str]:
    """The sentences that hold in each of several runs of one scenario."""
    each = [{text.split(":")[0]: text for text in never_acted(run, scenario)} for run in runs]
    common = set.intersection(*(set(one) for one in each)) if each else set()
    return [each[0][queue] for queue in each[0] if queue in common] if each else []


def fields(queue: str) -> dict[str, str]:
    """The fields of a result that tell whether the discipline of a queue acted, or a queue formed."""
    names = ("aqm", "overflow_drops", "early_drops", "forced_drops", "marks", *USE)
    return {name: f"queues.{queue}.{name}" for name in names}


def at_points(queue: str, points: Sequence[tuple[str, Document]], total: int) -> list[str]:
    """One sentence for each discipline and limit with which the discipline of a queue never acted at points of a sweep.

    `points` are those points out of `total`, each with its completed scenario.
    """
    from ..document import discipline

    found: dict[tuple[str, str], list[str]] = {}
    for where, scenario in points:
        aqm = discipline(scenario["queue"].get(queue, {})).get("aqm", "the discipline")
        found.setdefault((aqm, _limit(scenario, queue, aqm)), []).append(where)
    said = []
    for (aqm, limit), places in found.items():
        first = f", the first {places[0]}" if places[0] else ""
        said.append(_sentence(queue, aqm, f" at {len(places):,} of {total:,} points{first}", "all", limit))
    return said


def _limit(scenario: Document, queue: str, aqm: str) -> str:
    from ..document import discipline

    # A queue at one of many links has the link's name.
    inside = {key: discipline(one) for key, one in scenario["queue"].items()}
    limits = {one["limit"] for key, one in inside.items() if key == queue or one["aqm"] == aqm}
    return f" of {limits.pop()}" if len(limits) == 1 else ""


def _sentence(queue: str, aqm: str, where: str, drops: str, limit: str) -> str:
    return f"queue {queue}: {aqm} never acted{where}: {drops} drops are overflows of its limit{limit}; {_remedy(aqm)}"


def _remedy(aqm: str) -> str:
    from .. import discipline_names

    known = discipline_names.catalogue().get(aqm)
    default = f" (then {known['limit']['default']})" if known else ""
    return f'leave limit out{default}, or give one such as "1 bdp"'
