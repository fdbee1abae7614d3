"""Terminal output of an emulated link: live status while it runs, a summary afterwards."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..controls import raw
from ..terminal import number, table
from .directions import carried, main_first

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from ..links import Running

RATE_HZ = 10
"""Interval at which the status is redrawn."""

SHOWN_FLOWS = 8
"""Flows of each direction in the panel, those with the highest rates first, and in the summary of both."""

HISTORY = 60
"""Queue lengths in the small chart, the latest last."""

_BARS = " ▁▂▃▄▅▆▇█"


def link_text(document: Mapping[str, Any]) -> str:
    """What `link` prints of a result."""
    d = document
    width = d["duration_s"] - d["warmup_s"]
    queues = [(carried(d, name), name, q) for name, q in main_first(d)]
    lines = [f"{d['scenario']}: {flows_text(d['flows'])} in {width:.1f} s", ""]
    head = ["carried", "queue", "aqm", "Mbit/s", "of", "queue", "max", "avg", "delay ms", "p99 ms", "drop %", "marks"]
    body = [
        [
            way,
            name,
            q["aqm"],
            number(q["delivered_mbps"], 3),
            "no limit" if q["rate_mbps"] >= 1e6 else number(q["rate_mbps"], 3),
            number(q["queue_mean_packets"], 2),
            number(q["queue_max_packets"], 0),
            number(q["average_mean_packets"], 2),
            number(q["delay_mean_ms"], 2),
            number(q["delay_p99_ms"], 2),
            number(q["drop_rate"], 3, 100),
            str(q["marks"]),
        ]
        for way, name, q in queues
    ]
    lines += [table(head, body, left=3), ""]
    head = [
        "carried",
        "arrivals",
        "departures",
        "early",
        "forced",
        "overflow",
        "lost",
        "malformed",
        "late us",
        "p99 us",
    ]
    keys = ("arrivals", "departures", "early_drops", "forced_drops", "overflow_drops", "lost", "malformed")
    body = []
    for way, _, q in queues:
        late = q["lateness"] or {}
        body.append([way, *(str(q[key]) for key in keys), number(late.get("p50_us"), 1), number(late.get("p99_us"), 1)])
    lines.append(table(head, body, left=1))
    lines.append(f"{'real-time' if d['real_time'] else 'normal'} priority; {trust_text(d)}")
    shown = sorted(d["flows"], key=lambda flow: -flow["delivered_bytes"])[:SHOWN_FLOWS]
    if shown:
        head = ["flow", "role", "carried", "Mbit/s", "packets", "drops", "marks"]
        body = [
            [
                flow["name"],
                flow["role"],
                carried(d, flow["queue"]),
                number(flow["throughput_mbps"], 3),
                *(str(flow[key]) for key in ("delivered", "drops", "marks")),
            ]
            for flow in shown
        ]
        lines += ["", table(head, body, left=3)]
    return "\n".join(lines)


def trust_text(found: Mapping[str, Any]) -> str:
    """Whether the figures are to be trusted, of a result or of one direction while it runs."""
    return "trustworthy" if found["trustworthy"] else f"not trustworthy: {'; '.join(found['reasons'])}"


ROLES = {"data": "data", "acks": "ACKs", "control": "control", "icmp": "ICMP", "dns": "DNS", "others": "others"}
"""How texts name the roles of flows on real links."""


def flows_text(flows: Sequence[Mapping[str, Any]]) -> str:
    """How many flows there are, and on a real link how many of each role."""
    counts = Counter(flow.get("role") for flow in flows)
    parts = ", ".join(f"{counts[role]} {name}" for role, name in ROLES.items() if counts[role])
    return f"{len(flows):,} flow{'s' * (len(flows) != 1)}" + (f" ({parts})" if parts else "")


def sparkline(values: list[float], columns: int) -> str:
    """The latest values as bars, the highest full."""
    latest = values[-columns:]
    top = max(latest, default=0.0)
    return "".join(_BARS[round(8 * value / top)] if top > 0 else _BARS[0] for value in latest)


class Panel:
    """A panel on stderr, drawn ten times a second. What the command prints scrolls past above it.

    `ways`: what the first queue carries, and the second.
    """

    def __init__(self, running: Running, title: str, ways: Sequence[str] = ("sent", "received")) -> None:
        self.running = running
        self.title = title
        self.ways = ways
        self._live: Live | None = None
        self._before: dict[str, Any] = {}
        self._rates: dict[str, dict[str, float]] = {}
        self._lengths: dict[str, deque[float]] = {}
        self._pipe: tuple[int, int] | None = None
        self._reader: threading.Thread | None = None

    def __enter__(self) -> Panel:
        from rich.console import Console
        from rich.live import Live

        console = Console(file=raw(sys.stderr))
        self._live = Live(self._drawn(), console=console, refresh_per_second=RATE_HZ, transient=True)
        self._live.start()
        self._pipe = os.pipe()
        self._reader = threading.Thread(target=self._copy, name="panel", daemon=True)
        self._reader.start()
        return self

    @property
    def output(self) -> int | None:
        """A descriptor to which the command should print."""
        return None if self._pipe is None else self._pipe[1]

    def _copy(self) -> None:
        assert self._pipe is not None
        assert self._live is not None
        with os.fdopen(self._pipe[0], encoding="utf-8", errors="replace") as lines:
            for line in lines:
                self._live.console.print(line.rstrip("\n"), markup=False, highlight=False)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pipe is not None:
            os.close(self._pipe[1])
        if self._reader is not None:
            self._reader.join(1)
        if self._live is not None:
            self._live.stop()

    def update(self) -> None:
        """Draw the current state."""
        if self._live is not None:
            self._live.update(self._drawn())

    def _drawn(self) -> RenderableType:
        from rich.console import Group
        from rich.panel import Panel as Frame
        from rich.text import Text

        views = self.running.view()
        if views is None:
            return Frame(Text("waiting"), title=self.title)
        # Lines that are too long are cut: a panel that jumps cannot be read.
        parts = [
            Text(f"{way}, {self.of_queue(name, view)}", no_wrap=True, overflow="ellipsis")
            for way, (name, view) in zip(self.ways, views.items(), strict=True)
        ]
        self._before = views
        return Frame(Group(*parts), title=self.title)

    def of_queue(self, name: str, view: Mapping[str, Any]) -> str:
        """The lines about one direction."""
        before = self._before.get(name)
        lengths = self._lengths.setdefault(name, deque(maxlen=HISTORY))
        rates = self._rates.setdefault(name, {})
        flows = {flow["name"]: flow for flow in view["flows"]}
        rate = 0.0
        if before and view["time_s"] > before["time_s"]:
            lengths.append(view["packets"])
            since = view["time_s"] - before["time_s"]
            rate = (view["departed_bytes"] - before["departed_bytes"]) * 8e-6 / since
            earlier = {flow["name"]: flow["delivered_bytes"] for flow in before["flows"]}
            for flow_name, flow in flows.items():
                if flow_name in earlier:
                    now = (flow["delivered_bytes"] - earlier[flow_name]) * 8e-6 / since
                    # A moving average over about a second.
                    rates[flow_name] = rates.get(flow_name, now) + 0.2 * (now - rates.get(flow_name, now))
        average = "" if view["average"] is None else f", average {view['average']:.1f}"
        lines = [
            f"{name} ({view['aqm']}): {rate:.3f} Mbit/s, {view['packets']} packets waiting{average}, "
            f"sojourn {1e3 * view['sojourn_mean_s']:.2f} ms",
            f"  {sparkline(list(lengths), HISTORY)}",
            f"  arrivals {view['arrivals']}, early drops {view['early_drops']}, forced {view['forced_drops']}, "
            f"overflow {view['overflow_drops']}, marks {view['marks']}",
            *([] if view["trustworthy"] else [f"  {trust_text(view)}"]),
        ]
        shown = sorted(flows.values(), key=lambda flow: -rates.get(flow["name"], 0.0))[:SHOWN_FLOWS]
        lines += [
            f"  {rates.get(flow['name'], 0.0):9.3f} Mbit/s  {flow['drops']:6} drops  {flow['marks']:6} marks  "
            f"{flow['name']}"
            for flow in shown
        ]
        return "\n".join(lines)


def wanted() -> bool:
    """Whether stderr is a terminal that a panel can be drawn on."""
    return sys.stderr.isatty()
