"""What `run` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..analysis import silent
from ..document import flow_count
from ..terminal import number, paragraph, table
from .queue_table import queue_table


def run_text(document: Mapping[str, Any]) -> str:
    """Everything `run` prints."""
    d = document
    lines = [
        f"{d['scenario']}, seed {d['seed']}: {flow_count(d)} flows, "
        f"{d['duration_s']:g} s (measured from {d['warmup_s']:g} s)",
        "",
    ]
    if asked := measure_rows(d):
        lines += [table(["measure", ""], asked, left=1), ""]
    head, body = queue_table(document)
    lines += [table(head, body, left=2), ""]
    head = ["queue", "at start", "arrivals", "departures", "early", "forced", "overflow", "at end"]
    body = [
        [
            name,
            *(
                number(q[k], 0)
                for k in (
                    "queued_at_start",
                    "arrivals",
                    "departures",
                    "early_drops",
                    "forced_drops",
                    "overflow_drops",
                    "queued_at_end",
                )
            ),
        ]
        for name, q in d["queues"].items()
    ]
    lines += [table(head, body, left=1), ""]
    goodputs = _goodputs(d)
    share = f" (per flow {min(goodputs):.4f} to {max(goodputs):.4f})" if goodputs else ""
    if len(d.get("traffic", [])) > 1:
        lines += [_traffic_table(d["traffic"]), ""]
    if calls := [entry for entry in d.get("traffic", []) if "frames_sent" in entry]:
        lines += [_call_table(calls), ""]
    if len(d.get("traffic", [])) > 1:
        lines.append("all flows")
    lines += [
        f"goodput     {number(d['goodput_total_mbps'], 3)} Mbit/s{share}",
        f"throughput  {number(d['throughput_total_mbps'], 3)} Mbit/s",
        f"delay       {number(d['delay_mean_ms'], 3)} ms one way, end to end",
        f"jain        {number(d['jain'], 4)}",
    ]
    if left_out := silent.note([d]):
        lines.append(paragraph(f"note: {left_out}"))
    cost = d.get("cost") or {}
    if cost.get("wall_s"):
        lines += [f"cost        {number(cost['wall_s'], 3)} s, {cost.get('events') or 0:,} events"]
    return "\n".join(lines)


def measure_rows(document: Mapping[str, Any]) -> list[list[str]]:
    """The measures that were asked for, each with its unit and its value."""
    return [
        [f"{one['title']} ({one['unit']})" if one["unit"] else one["title"], number(one["value"], one["digits"])]
        for one in document.get("measures", {}).values()
    ]


def _goodputs(document: Mapping[str, Any]) -> list[float]:
    """Goodputs of flows, the smallest and the largest among them; none if the result says nothing of flows."""
    if "flows" in document:
        found = [flow["goodput_mbps"] for flow in document["flows"]]
    else:
        each = [entry["flow_summary"]["goodput_mbps"] for entry in document["traffic"] if "flow_summary" in entry]
        found = [one[end] for one in each for end in ("min", "max")]
    return [one for one in found if one is not None and math.isfinite(one)]


def _traffic_table(entries: Sequence[Mapping[str, Any]]) -> str:
    """The totals of each traffic entry."""
    head = ["traffic", "kind", "flows", "goodput (Mbit/s)", "delay, one way (ms)", "jain"]
    body = [
        [
            _called(e),
            e["kind"] if e["tcp"] is None else f"{e['kind']}, {e['tcp']}",
            str(e["flows"]),
            number(e["goodput_mbps"], 3),
            number(e["delay_mean_ms"], 3),
            number(e["jain"], 4) if e["flows"] > 1 else "-",
        ]
        for e in entries
    ]
    return table(head, body, left=2)


def _call_table(entries: Sequence[Mapping[str, Any]]) -> str:
    """The frames of each entry with calls."""
    head = ["call", "frames", "lost", "p99 of frame delay (ms)", "freezes", "frozen (s)"]
    body = [
        [
            _called(e),
            number(e["frames_sent"], 0),
            number(e["frames_lost"], 0),
            number(e["frame_delay_p99_ms"], 1),
            number(e["freezes"], 0),
            number(e["freeze_s"], 3),
        ]
        for e in entries
    ]
    return table(head, body, left=1)


def _called(entry: Mapping[str, Any]) -> str:
    return str(entry["entry"]) if entry["name"] is None else str(entry["name"])
