"""What the packet records of a queue say of its drops: which follow each other, whom they hit, how long until the lost
packet is sent again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ..analysis import statistics

Row = tuple[float, str, int, int]
"""Time, event, flow and segment of a record."""


def _rows(trace: Mapping[str, Any]) -> list[Row]:
    time, event, flow, seq = (trace["columns"].index(name) for name in ("time_s", "event", "flow", "seq"))
    return [(row[time], row[event], row[flow], row[seq]) for row in trace["events"]]


def _repair(rows: Sequence[Row], flow: int | None, _: float) -> float | None:
    """Mean time from the drop of a packet to the arrival of the same segment at this queue, ms."""
    dropped: dict[tuple[int, int], float] = {}
    times = []
    for time, event, of, seq in rows:
        if event == "+" and (of, seq) in dropped:
            times.append(1e3 * (time - dropped.pop((of, seq))))
        elif event == "d" and flow in (None, of):
            dropped[(of, seq)] = time
    return statistics.mean(times) if times else None


def _followed(rows: Sequence[Row], flow: int | None, within_ms: float) -> float | None:
    """The fraction of drops that followed the drop before within the time of a burst."""
    times = [time for time, event, of, _ in rows if event == "d" and flow in (None, of)]
    close = sum(1e3 * (b - a) <= within_ms for a, b in pairwise(times))
    return close / len(times) if times else None


def _hit(rows: Sequence[Row], flow: int | None, _: float) -> float | None:
    """The fraction of the drops made while this flow had a packet waiting that hit it."""
    waiting = drops = hits = 0
    # The last arrival, until it is dropped or joins the waiting packets.
    arrived: tuple[int, int] | None = None
    for _time, event, of, seq in rows:
        if event == "d":
            if waiting > 0:
                drops += 1
                hits += of == flow
            if arrived == (of, seq):
                arrived = None
            elif of == flow:
                waiting -= 1
            continue
        if arrived is not None and arrived[0] == flow:
            waiting += 1
        arrived = (of, seq) if event == "+" else None
        if event == "-" and of == flow:
            waiting -= 1
    return hits / drops if drops else None


REDUCTIONS: dict[str, Callable[[Sequence[Row], int | None, float], float | None]] = {
    "repair": _repair,
    "followed": _followed,
    "hit": _hit,
}


def reduced(how: str, trace: Mapping[str, Any], flow: int | None, within_ms: float | None) -> float | None:
    """One number from all records of a queue, of one flow or of all; `within_ms` is how close drops are a burst."""
    if trace["total"] > len(trace["events"]):
        raise ValueError(f"has {len(trace['events'])} of {trace['total']} records: record.trace is too small")
    return REDUCTIONS[how](_rows(trace), flow, math.inf if within_ms is None else within_ms)
