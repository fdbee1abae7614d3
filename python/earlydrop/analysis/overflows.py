"""Disciplines that never acted in a run: every drop was an overflow of the buffer."""

from __future__ import annotations

from collections.abc import Sequence

from ..document import Document

PLAIN = frozenset({"droptail", "drop_front", "drop_random", "ddtail", "fq", "sfq", "drr", "wrr"})
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
        # A queue at one of many links has the link's name.
        limits = {one["limit"] for key, one in scenario["queue"].items() if key == name or one["aqm"] == queue["aqm"]}
        limit = f" of {limits.pop()}" if len(limits) == 1 else ""
        found.append(
            f"queue {name}: {queue['aqm']} never acted: all {overflows:,} drops are overflows of its limit{limit}; "
            "without a limit it has its own"
        )
    return found


def everywhere(runs: Sequence[Document], scenario: Document) -> list[str]:
    """The same for several runs of one scenario: what holds in each of them."""
    each = [{text.split(":")[0]: text for text in never_acted(run, scenario)} for run in runs]
    common = set.intersection(*(set(one) for one in each)) if each else set()
    return [each[0][queue] for queue in each[0] if queue in common] if each else []
