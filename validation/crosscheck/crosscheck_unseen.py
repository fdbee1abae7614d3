"""Cells that no rule of the simulator was found with: a second grid, chosen before any of it was run.

Bulk flows: for each congestion control and each of seven queues three cells, at the three rates (of the highest 100 and
200 Mbit/s in turn). With k = (q + 2 c) mod 9 for control c and queue q (from 0), the i-th rate (from 0) goes with
round-trip time (i + k) mod 3 and number of flows (2 i + k div 3) mod 3. So every control has every round-trip time and
every number of flows seven times, and every combination of the levels occurs two or three times in all.

Mixtures: two pairs of controls, each with half of eight flows, over four queues, with one of four paths each in turn.

Impairments: each control with 1 % random loss, and with 1 % of the packets 5 ms late, on two paths over DropTail.

Both ways: each control with one connection and with eight, which have data both ways, over four queues (each way one);
the path is (q + c + f) mod 4 of those of mixtures, for control c, queue q and f (0 for one connection, 1 for eight).

Flows are plain sockets (`bulk`), which connect at once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import bulk
import campaign
import crosscheck_grid
from crosscheck_grid import CONTROLS

from earlydrop import links
from earlydrop.links import crosscheck

QUEUES = ("droptail", "red", "pie", "codel", "fq_codel", "fq_pie", "dualpi2")
RATES = ((1,), (50,), (100, 200))
"""Mbit/s; of several, each control and queue has one in turn."""
ROUND_TRIPS = (5, 40, 200)
"""ms."""
FLOWS = (1, 8, 64)

MIXTURES = ("cubic+bbr", "reno+cubic")
MIXED_QUEUES = ("droptail", "red", "pie", "codel")
MIXED_PATHS = ((20, 40), (50, 5), (20, 200), (50, 40))
"""Mbit/s, ms."""

BOTH_WAYS = "both ways"
BOTH_QUEUES = ("droptail", "pie", "codel", "fq_codel")

IMPAIRMENTS: dict[str, dict[str, Any]] = {
    "loss": {"loss": 0.01},
    "reordering": {"reorder": {"probability": 0.01, "delay": "5 ms"}},
}
"""By name, keys of the link that the data take."""
IMPAIRED_PATHS = ((20, 40), (20, 200))
"""Mbit/s, ms."""

WINDOWS = ((10.0, 60.0), (6.0, 30.0), (6.0, 20.0))
"""The measured interval, s: below 50 Mbit/s, of mixtures, impairments and data both ways; of others with 200 ms; of all
others."""

ENOUGH = 20_000
"""Segments of the receive window, which never limits."""


@dataclass(frozen=True, order=True)
class Cell(crosscheck_grid.Cell):
    """What is run."""

    path: str = ""
    """The impairment of the link, if there is one, or that connections have data both ways."""

    def __str__(self) -> str:
        return super().__str__() + (f", {self.path}" if self.path else "")

    @property
    def group(self) -> str:
        return f"{self.control}, {self.path}" if self.path else self.control

    @property
    def window(self) -> tuple[float, float]:
        if self.rate < 50 or self.path or "+" in self.control:
            return WINDOWS[0]
        return WINDOWS[1] if self.rtt == 200 else WINDOWS[2]

    @property
    def starts(self) -> float:
        return 0.02

    @property
    def ecn(self) -> bool:
        return self.queue == "dualpi2" and self.control != "bbr"

    @property
    def both_ways(self) -> bool:
        return self.path == BOTH_WAYS

    def discipline(self) -> Mapping[str, Any]:
        """DropTail holds a bandwidth-delay product, RED's thresholds are 5 and 15 ms, the others are `tc`'s."""
        packets = self.rate * 1e6 / 8 / 1500
        low = max(5, round(0.005 * packets))
        disciplines: dict[str, dict[str, Any]] = {
            "droptail": {"aqm": "droptail", "limit": f"{max(20, math.ceil(packets * self.rtt / 1e3))} packets"},
            "red": {
                "aqm": "red",
                "limit": f"{max(100, 10 * low)} packets",
                "min_th": low,
                "max_th": 3 * low,
                "max_p": 0.1,
                "gentle": True,
            },
            "pie": {"aqm": "pie", "limit": "1000 packets"},
            "codel": {"aqm": "codel", "limit": "1000 packets"},
            "fq_codel": {"aqm": "fq_codel", "limit": "10240 packets"},
            "fq_pie": {"aqm": "fq_pie", "limit": "10240 packets"},
            "dualpi2": {"aqm": "dualpi2", "limit": "10000 packets", "ecn": self.ecn},
        }
        return disciplines[self.queue]

    def impairments(self) -> Mapping[str, Any]:
        return IMPAIRMENTS.get(self.path, {})

    def rules(self) -> Mapping[str, Any]:
        return {"window": ENOUGH}

    def send(self, plan: links.Plan, flows: crosscheck.Flows, port: int, stop: Callable[[], bool]) -> dict[str, Any]:
        return bulk.run(plan, self.loads, *self.window, port=port, both_ways=self.both_ways, stop=stop)


def _bulk() -> list[Cell]:
    found = []
    for c, control in enumerate(CONTROLS):
        for q, queue in enumerate(QUEUES):
            k = (q + 2 * c) % 9
            for i, rates in enumerate(RATES):
                rtt, flows = ROUND_TRIPS[(i + k) % 3], FLOWS[(2 * i + k // 3) % 3]
                found.append(Cell(control, queue, rates[(c + q) % len(rates)], rtt, flows))
    return found


def cells(pattern: str = "") -> list[Cell]:
    """All cells whose text the regular expression is found in."""
    every = _bulk()
    for m, mixture in enumerate(MIXTURES):
        for q, queue in enumerate(MIXED_QUEUES):
            rate, rtt = MIXED_PATHS[(q + m) % len(MIXED_PATHS)]
            every.append(Cell(mixture, queue, rate, rtt, 8))
    for path in IMPAIRMENTS:
        every += [Cell(control, "droptail", *way, 8, path) for control in CONTROLS for way in IMPAIRED_PATHS]
    for c, control in enumerate(CONTROLS):
        for q, queue in enumerate(BOTH_QUEUES):
            for f, flows in enumerate((1, 8)):
                way = MIXED_PATHS[(q + c + f) % len(MIXED_PATHS)]
                every.append(Cell(control, queue, *way, flows, BOTH_WAYS))
    return [cell for cell in every if re.search(pattern, str(cell))]


def facts(jobs: int, real_time: bool) -> dict[str, str]:
    """What measured, and when within a run."""
    windows = ", ".join(f"{begin:g} s to {end:g} s" for begin, end in WINDOWS)
    return {**campaign.facts(jobs, real_time), "sender": "plain sockets", "window": windows}
