"""What is expected of BBR's states and variables, sample by sample."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from ..document import Document
from .model import GAUGES, SEGMENT, STATES, Case, Expectation

BITS = 8.0 * SEGMENT


def samples(document: Document) -> Iterator[dict[str, float]]:
    """The samples of a run's first recorded flow once its connection is open, by the names that conditions have."""
    series = document["series"]
    (flow, *_), queues = series["flows"], series["queues"]
    queue = queues["bottleneck"]
    gauges = flow.get("gauges", {})
    pacing = flow["pacing_mbps"] or [None] * len(series["time_s"])
    was, state, since, round_since = math.inf, math.inf, 0.0, 0.0
    last_lasted = last_rounds = 0.0
    for k, t in enumerate(series["time_s"]):
        # Without a bound, without a value: infinite.
        now = {
            name: math.inf if gauges[name][k] is None else float(gauges[name][k]) for name in GAUGES if name in gauges
        }
        if not now or now["min_rtt"] == math.inf:
            continue
        if now["state"] != state:
            last_lasted, last_rounds = t - since, now["round_count"] - round_since
            was, state, since, round_since = state, now["state"], t, now["round_count"]
        yield {
            **now,
            "t": t,
            "cwnd": flow["cwnd"][k],
            "pacing": math.inf if pacing[k] is None else pacing[k] * 1e6 / BITS,
            "queue": queue["packets"][k],
            "dropped": queue["dropped"][k],
            "was": was,
            "lasted": t - since,
            "rounds": now["round_count"] - round_since,
            "last_lasted": last_lasted,
            "last_rounds": last_rounds,
        }


def held(case: Case, text: str) -> list[bool]:
    """Which of a case's expectations a run meets; the run is its result as JSON."""
    rows = list(samples(json.loads(text)))
    constants = {**STATES, **case.values}
    return [_holds(one, rows, constants) for one in case.expected]


def _holds(one: Expectation, rows: list[dict[str, float]], constants: Mapping[str, Any]) -> bool:
    picked = _picked(one, rows, constants)
    if one.pick == "none":
        return next(picked, None) is None
    if one.then is None:
        return next(picked, None) is not None
    then = one.then
    if one.pick == "some":
        return any(then.holds(row) for row in picked)
    if one.pick == "first":
        first = next(picked, None)
        return first is not None and then.holds(first)
    found = list(picked)
    if one.pick == "last":
        return bool(found) and then.holds(found[-1])
    return bool(found) and all(then.holds(row) for row in found)


def _picked(one: Expectation, rows: list[dict[str, float]], constants: Mapping[str, Any]) -> Iterator[dict[str, float]]:
    begun = one.after is None
    for row in rows:
        names = {**row, **constants}
        begun = begun or (one.after is not None and one.after.holds(names))
        if begun and one.when.holds(names):
            yield names
