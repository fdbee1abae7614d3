"""The queues of a run as a table of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..terminal import number


def queue_table(document: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """The queues' table that `run` prints: head and rows, with a row for each band that had packets."""
    head = ["queue", "aqm", "Mbit/s", "util %", "queue", "max", "avg", "delay ms", "p99 ms", "drop %", "marks"]
    body = []
    for name, q in document["queues"].items():
        body.append(
            [
                name,
                q["aqm"],
                number(q["throughput_mbps"], 3),
                number(q["utilisation"], 2, 100),
                number(q["queue_mean_packets"], 2),
                number(q["queue_max_packets"], 0),
                number(q["average_mean_packets"], 2),
                number(q["delay_mean_ms"], 2),
                number(q["delay_p99_ms"], 2),
                number(q["drop_rate"], 3, 100),
                number(q["marks"], 0),
            ]
        )
        for band, share in q.get("bands", {}).items():
            if share["arrivals"] or share["departures"]:
                body.append(_band(f"{name}: {band}", share))
    return head, body


def _band(name: str, share: Mapping[str, Any]) -> list[str]:
    """The row of a band, whose length is not measured."""
    return [
        name,
        "",
        number(share["throughput_mbps"], 3),
        number(share["utilisation"], 2, 100),
        *[""] * 3,
        number(share["delay_mean_ms"], 2),
        number(share["delay_p99_ms"], 2),
        number(share["drop_rate"], 3, 100),
        number(share["marks"], 0),
    ]
