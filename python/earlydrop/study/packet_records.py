"""What the packet records of a queue say of its drops: which follow each other, whom they hit, how long until the lost
packet is sent again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..analysis import statistics

Row = tuple[float, str, int, int]
"""Time, event, flow and segment of a record."""


def _rows(trace: Mapping[str, Any]) -> list[Row]:
    time, event, flow, seq = (trace["columns"].index(name) for name in ("time_s", "event", "flow", "seq"))
    return [(row[time], row[event], row[flow], row[seq]) for row in trace["events"]]


def _repair(rows: Sequence[Row], flow: int | None) -> float | None:
    """Mean time from the drop of a packet to the arrival of the same segment at this queue, ms."""
    dropped: dict[tuple[int, int], float] = {}
    times = []
    for time, event, of, seq in rows:
        if event == "+" and (of, seq) in dropped:
            times.append(1e3 * (time - dropped.pop((of, seq))))
        elif event == "d" and flow in (None, of):
            dropped[(of, seq)] = time
    return statistics.mean(times) if times else None


def _followed(rows: Sequence[Row], flow: int | None) -> float | None:
    """The fraction of drops that an arrival caused whose predecessor had caused one, too."""
    drops = bursts = 0
    before = now = False
    for _, event, of, _ in rows:
        if event == "+":
            before, now = now, False
        elif event == "d":
            now = True
            if flow in (None, of):
                drops += 1
                bursts += before
    return bursts / drops if drops else None


def _hit(rows: Sequence[Row], flow: int | None) -> float | None:
    """The fraction of the drops made while this flow had a packet waiting that hit it."""
    waiting = drops = hits = 0
    # Whether the arrival is still to be told from a packet that waits: a drop of it takes none away.
    arrived: tuple[int, int] | None = None
    for _, event, of, seq in rows:
        if event == "+":
            if arrived is not None and arrived[0] == flow:
                waiting += 1
            arrived = (of, seq)
        elif event == "d":
            if waiting > 0:
                drops += 1
                hits += of == flow
            if arrived == (of, seq):
                arrived = None
            elif of == flow:
                waiting -= 1
        else:
            if arrived is not None and arrived[0] == flow:
                waiting += 1
            arrived = None
            if of == flow:
                waiting -= 1
    return hits / drops if drops else None


REDUCTIONS: dict[str, Callable[[Sequence[Row], int | None], float | None]] = {
    "repair": _repair,
    "followed": _followed,
    "hit": _hit,
}


def reduced(how: str, trace: Mapping[str, Any], flow: int | None) -> float | None:
    """One number from all records of a queue, of one flow or of all."""
    if trace["total"] > len(trace["events"]):
        raise ValueError(f"has {len(trace['events'])} of {trace['total']} records: record.trace is too small")
    return REDUCTIONS[how](_rows(trace), flow)
