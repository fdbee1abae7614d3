"""Flows that cannot send in the measured window: Jain's index and the coefficient of variation leave them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

NAMED = 4


def named(run: Mapping[str, Any]) -> list[str]:
    """The flows of one run that cannot send, each as `flow 7 starts after the window` and so on."""
    found = []
    for one in run.get("cannot_send", ()):
        first, last = one["flows"]
        who = f"flow {first}" if first == last else f"each of the flows {first} to {last}"
        found.append(f"{who} {one['why']}")
    return found


def note(runs: Iterable[Mapping[str, Any]]) -> str:
    """Flows that the index of these runs leaves out; empty if none. Where runs differ, the first run with any."""
    every = list(runs)
    each = [named(run) for run in every]
    first = next((k for k, texts in enumerate(each) if texts), None)
    if first is None:
        return ""
    found = each[first]
    rest = f"; and {len(found) - NAMED} more" if len(found) > NAMED else ""
    some = ""
    if any(texts != found for texts in each):
        having = sum(bool(texts) for texts in each)
        some = f", in {having} of {len(each)} runs, and in that with seed {every[first]['seed']} these"
    return f"Jain's index leaves out who cannot send in the window{some}: {'; '.join(found[:NAMED])}{rest}"
