"""The queues of a run as a table of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..terminal import number


def queue_table(document: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """The queues' table that `run` prints: head and rows."""
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
    return head, body
