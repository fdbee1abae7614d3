"""Flows that cannot send in the measured window: Jain's index and the coefficient of variation leave them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

NAMED = 4


def named(run: Mapping[str, Any]) -> list[str]:
    """`flow 7 starts after the window`, and so on, for one run."""
    found = []
    for one in run.get("cannot_send", ()):
        first, last = one["flows"]
        who = f"flow {first}" if first == last else f"each of the flows {first} to {last}"
        found.append(f"{who} {one['why']}")
    return found


def note(runs: Iterable[Mapping[str, Any]]) -> str:
    """Whom the index of these runs leaves out; empty if nobody."""
    each = [named(run) for run in runs]
    found = list(dict.fromkeys(text for texts in each for text in texts))
    if not found:
        return ""
    rest = f"; and {len(found) - NAMED} more" if len(found) > NAMED else ""
    some = "" if all(texts == each[0] for texts in each) else ", in some of the runs"
    return f"Jain's index leaves out who cannot send in the window{some}: {'; '.join(found[:NAMED])}{rest}"
