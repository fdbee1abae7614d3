"""The HTML report of one run, simulated or over an emulated link: a single file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import disk, foreign
from ..document import flow_count
from ..foreign import NUMBER, WHOLE
from ..terminal import number
from ..toml_writer import to_toml
from . import directions, link_status, plotting
from .run_text import measure_rows
from .template import render

FLOWS = 200
"""The most flows that are shown, those with the highest throughput."""

QUEUE_ROWS = (
    ("delivered_mbps", "Delivered (Mbit/s)", 1, 3),
    ("throughput_mbps", "Throughput (Mbit/s)", 1, 3),
    ("utilisation", "Utilisation (%)", 100, 2),
    ("queue_mean_packets", "Mean queue (packets)", 1, 2),
    ("queue_std_packets", "Standard deviation of the queue (packets)", 1, 2),
    ("queue_max_packets", "Longest queue (packets)", 1, 0),
    ("average_mean_packets", "Mean of the average (packets)", 1, 2),
    ("delay_mean_ms", "Queueing delay, mean (ms)", 1, 3),
    ("delay_p50_ms", "Queueing delay, median (ms)", 1, 3),
    ("delay_p95_ms", "Queueing delay, 95 % (ms)", 1, 3),
    ("delay_p99_ms", "Queueing delay, 99 % (ms)", 1, 3),
    ("drop_rate", "Drop rate (%)", 100, 3),
    ("mark_rate", "Mark rate (%)", 100, 3),
    ("queued_at_start", "Queued at the start (packets)", 1, 0),
    ("arrivals", "Arrivals (packets)", 1, 0),
    ("departures", "Departures (packets)", 1, 0),
    ("early_drops", "Early drops (packets)", 1, 0),
    ("forced_drops", "Forced drops (packets)", 1, 0),
    ("overflow_drops", "Overflow drops (packets)", 1, 0),
    ("marks", "Marks (packets)", 1, 0),
    ("queued_at_end", "Queued at the end (packets)", 1, 0),
    ("ce_set", "Delivered with a CE set here (packets)", 1, 0),
    ("lost", "Lost on the link (packets)", 1, 0),
    ("malformed", "Malformed (packets)", 1, 0),
    ("refused", "Refused by the device (packets)", 1, 0),
    ("over_memory", "Beyond the link's memory (packets)", 1, 0),
    ("device_overruns", "Dropped by the kernel before the link read them (packets)", 1, 0),
)
"""Field of a queue's entry, label, factor and digits; fields that no queue has are left out."""

FLOW_COLUMNS = (
    ("name", "Flow", 1, 0),
    ("id", "Flow", 1, 0),
    ("role", "Role", 1, 0),
    ("queue", "Queue", 1, 0),
    ("kind", "Traffic", 1, 0),
    ("tcp", "TCP", 1, 0),
    ("goodput_mbps", "Goodput (Mbit/s)", 1, 4),
    ("throughput_mbps", "Throughput (Mbit/s)", 1, 4),
    ("delay_mean_ms", "One-way delay (ms)", 1, 3),
    ("drops", "Drops", 1, 0),
    ("marks", "Marks", 1, 0),
    ("retransmits", "Sent again", 1, 0),
    ("timeouts", "Timeouts", 1, 0),
)
"""Field of a flow's entry, label, factor and digits."""

ENTRY = ("entry", "Entry", 1, 0)
"""The column with a flow's traffic entry, where there are several entries."""


_TEXTS = dict.fromkeys(("name?", "role?", "queue?", "kind?", "tcp?"), (str, None))
_QUEUE = {
    "aqm": str,
    **{f"{key}?": NUMBER for key, *_ in QUEUE_ROWS},
    **dict.fromkeys(("rate_mbps?", "propagation_ms?"), float),
    **dict.fromkeys(("delivered_bytes?", "departed_bytes?"), NUMBER),
    "passing?": {"*": NUMBER},
    "lateness?": (None, {"*": NUMBER}),
}
_FLOW = {**{f"{key}?": NUMBER for key, *_ in FLOW_COLUMNS}, **_TEXTS, "id": (float, str)}
_SERIES = {"time_s": [float], "queues": {"*": {"packets": [NUMBER], "average?": (None, [NUMBER])}}}
_RATES = {"time_s": [float], "flows": [{"id": WHOLE, "goodput_mbps": [NUMBER]}]}
RESULT: foreign.Shape = {
    "scenario": str,
    "version": str,
    "seed?": WHOLE,
    **dict.fromkeys(("duration_s", "warmup_s"), float),
    "queues": {"*": _QUEUE},
    "flows?": (None, [_FLOW]),
    "traffic?": (None, [{"entry": WHOLE, "flows?": WHOLE, **_TEXTS, "kind": str}]),
    "series?": (None, _SERIES),
    "rates?": (None, _RATES),
    "kind?": str,
    "line?": str,
    "changes?": [{"time_s": float, "change?": str}],
    **dict.fromkeys(("real_time?", "trustworthy?"), bool),
    "reasons?": [str],
    "measures?": {"*": {"title": str, "unit": str, "digits": range(13), "value": NUMBER}},
    **dict.fromkeys(("between?", "commands?"), (None, [str])),
    **dict.fromkeys(("goodput_total_mbps?", "throughput_total_mbps?", "delay_mean_ms?", "jain?", "power?"), NUMBER),
}
"""The shape of what the page and the figures of a run need of its document."""
FILES = {"result.json": RESULT, "scenario.json": dict}


def is_run(folder: Path) -> bool:
    """Whether `run` or `link` wrote this folder."""
    return (folder / "scenario.json").is_file() and (folder / "result.json").is_file()


def renew(folder: Path) -> Path:
    """Write `report.html` into a folder that `run` or `link` wrote.

    Raises:
        ForeignError: the folder's files cannot be read.
    """
    with foreign.fitting(folder):
        document, scenario = (foreign.checked(folder / name, shape, folder) for name, shape in FILES.items())
        return write(folder, document, scenario, _log(folder, document))


def write(folder: Path, document: Mapping[str, Any], scenario: Mapping[str, Any], log: str = "") -> Path:
    """Write `report.html` of a result document into a folder; `log` is the figure of a link's log, as an address."""
    path = folder / "report.html"
    disk.replace(path, render("run.html.j2", {**context(document, scenario), "log": log}))
    return path


def _log(folder: Path, document: Mapping[str, Any]) -> str:
    """The figure of the log in a link's folder; empty without one.

    Raises:
        LogError: the log cannot be read.
    """
    from ..links import open_loop
    from . import link_plot

    if document.get("kind") != "link" or not (folder / open_loop.LOG).is_file():
        return ""
    drawing = link_plot.figure(document, open_loop.read(folder).columns)
    return "" if drawing is None else plotting.inline(drawing)


def context(document: Mapping[str, Any], scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The values that the page's template shows."""
    queues = directions.main_first(document)
    link, listed = document.get("kind") == "link", "flows" in document
    rows, zeros = _queue_rows([q for _, q in queues])
    flows = sorted(document.get("flows") or [], key=lambda flow: -(flow.get("throughput_mbps") or 0.0))
    columns = [c for c in FLOW_COLUMNS if any(flow.get(c[0]) is not None for flow in flows)]
    if any(c[0] == "goodput_mbps" for c in columns):
        columns = [c for c in columns if c[0] != "throughput_mbps"]
    if any(c[0] == "name" for c in columns):
        columns = [c for c in columns if c[0] != "id"]
    entries = plotting.entries(document)
    if len(entries) > 1 and flows:
        columns.insert(1, ENTRY)
        order = list(entries)
        of = {flow["id"]: name for name, own in entries.items() for flow in own}
        flows = [{**flow, "entry": of[flow["id"]]} for flow in flows]
        # The entries keep their order.
        flows = sorted(flows[:FLOWS], key=lambda flow: order.index(flow["entry"])) + flows[FLOWS:]
    shown = [dict(flow) for flow in flows[:FLOWS]]
    for flow in shown if link else []:
        flow["carried"] = directions.carried(document, flow["queue"])
    if link:
        columns = [("carried", "Carried", 1, 0) if c[0] == "queue" else c for c in columns]
    return {
        "d": document,
        "link": link,
        "title": _title(document),
        "carried": _carried(document) if link else "",
        "trust": link_status.trust_text(document) if "trustworthy" in document else "",
        "counted": link_status.flows_text(document["flows"]) if listed else f"{flow_count(document):,} flows",
        "listed": listed,
        "figure": plotting.inline(plotting.run_figure(document)),
        "asked": measure_rows(document),
        "over_time": bool(document.get("series") or document.get("rates")),
        "head": [
            f"{directions.carried(document, name)}, {name} ({q['aqm']})" if link else f"{name} ({q['aqm']})"
            for name, q in queues
        ],
        "rows": rows,
        "zeros": zeros,
        "flow_head": [c[1] for c in columns],
        "flows": [[_cell(flow.get(key), factor, digits) for key, _, factor, digits in columns] for flow in shown],
        "more_flows": max(0, len(flows) - FLOWS),
        "totals": [] if link else _totals(document),
        "scenario": _line(document) if document.get("line") else to_toml(scenario) if scenario else "",
    }


def _line(document: Mapping[str, Any]) -> str:
    """The command line that makes a real link again, and how the link was changed while it ran."""
    changes = [f"at {one['time_s']:.3f} s: {one['change']}" for one in document.get("changes") or [] if "change" in one]
    return "\n".join([document["line"], *changes])


def _queue_rows(queues: Sequence[Mapping[str, Any]]) -> tuple[list[list[str]], list[str]]:
    """The table of the queues, and the names of the measures that are 0 at all of them."""
    rows, zeros = [], []
    for key, label, factor, digits in QUEUE_ROWS:
        values = [q.get(key) for q in queues]
        if any(values):
            rows.append([label, *(_cell(value, factor, digits) for value in values)])
        elif any(value is not None for value in values):
            zeros.append(label.rpartition(" (")[0])
    for quantile, label in (("p50_us", "median"), ("p99_us", "99 %")):
        late = [(q.get("lateness") or {}).get(quantile) for q in queues]
        if any(value is not None for value in late):
            rows.append([f"Written late, {label} (us)", *(_cell(value, 1, 1) for value in late)])
    # Within a sentence only the first begins with a capital.
    return rows, [name if k == 0 else name[:1].lower() + name[1:] for k, name in enumerate(zeros)]


def _title(document: Mapping[str, Any]) -> str:
    """The scenario's name; of a real link the command behind it, or the namespaces that it joined."""
    if between := document.get("between"):
        return " and ".join(between)
    commands = document.get("commands") or []
    if not commands:
        return str(document["scenario"])
    return commands[0] if len(commands) == 1 else f"{len(commands)} commands"


def _carried(document: Mapping[str, Any]) -> str:
    """What passed a real link in each direction, and of what link: "Received: 9.6 of 10 Mbit/s (20 ms, codel)"."""
    queues = directions.main_first(document)
    ways = []
    for name, q in queues:
        rate = "Mbit/s, no rate limit" if q["rate_mbps"] >= 1e6 else f"of {q['rate_mbps']:.6g} Mbit/s"
        delay = f"{q['propagation_ms']:.4g} ms, " if "propagation_ms" in q else ""
        way = directions.carried(document, name)
        ways.append(f"{way}: {number(q['delivered_mbps'], 3)} {rate} ({delay}{q['aqm']})")
    said = "; ".join(ways)
    data = [flow for flow in document["flows"] if flow["queue"] == queues[0][0] and flow.get("role") == "data"]
    if len(data) > 1:
        way = directions.carried(document, queues[0][0])
        said += f". Jain's index of the {len(data)} data flows {way}: {number(document['jain'], 4)}"
    return said if document.get("between") else said[:1].upper() + said[1:]


def _totals(document: Mapping[str, Any]) -> list[str]:
    """The totals of all flows of a simulated run."""
    return [
        f"{label} {number(document[key], digits)}{unit}"
        for key, label, digits, unit in (
            ("goodput_total_mbps", "goodput", 3, " Mbit/s"),
            ("throughput_total_mbps", "throughput", 3, " Mbit/s"),
            ("delay_mean_ms", "one-way delay", 3, " ms"),
            ("jain", "Jain's index", 4, ""),
        )
        if document.get(key) is not None
    ]


def _cell(value: Any, factor: float, digits: int) -> str:
    if isinstance(value, str):
        return value
    return number(value, digits, factor)
