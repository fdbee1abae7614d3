"""How far the simulator is from real links, cell by cell: bounds, chance, tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from crosscheck_grid import Measured, Simulated

from earlydrop.terminal import number, signed

THROUGHPUT, QUEUE = 0.03, 0.15
"""Largest relative difference between simulator and link: of the throughput, and of the mean queue."""
QUEUE_PACKETS = 0.5
"""Absolute difference of the mean queue, packets, that always agrees."""

CHANCE = 2.0
"""Standard deviations of single runs within which one run on the link may differ by chance."""

SHARE = 0.05
"""Largest absolute difference of a congestion control's share of the throughput."""


@dataclass(frozen=True)
class Agreement:
    """A cell in both worlds."""

    real: Measured
    """The mean over the links."""
    simulated: Simulated
    links: int = 1

    def relative(self, measure: str) -> float:
        """Simulator minus link, over the link's."""
        real: float = getattr(self.real, measure)
        difference: float = getattr(self.simulated, measure) - real
        return difference / real if real else math.copysign(math.inf, difference) if difference else 0.0

    @property
    def throughput(self) -> bool:
        """Whether the throughput agrees."""
        return abs(self.relative("throughput_mbps")) <= THROUGHPUT

    @property
    def queue(self) -> bool:
        """Whether the mean queue agrees."""
        near = abs(self.simulated.queue_mean_packets - self.real.queue_mean_packets) <= QUEUE_PACKETS
        return near or abs(self.relative("queue_mean_packets")) <= QUEUE

    @property
    def share(self) -> bool:
        """Whether the share of the first of two congestion controls agrees."""
        return abs(self.simulated.share - self.real.share) <= SHARE

    @property
    def holds(self) -> bool:
        """Whether throughput and mean queue agree."""
        return self.throughput and self.queue

    def within(self, measure: str, deviation: str) -> bool:
        """Whether the links are within CHANCE standard deviations of a mean of as many simulated runs."""
        allowed = CHANCE / math.sqrt(self.links) * getattr(self.simulated, deviation)
        return bool(abs(getattr(self.simulated, measure) - getattr(self.real, measure)) <= allowed)

    @property
    def chance(self) -> bool:
        """Whether throughput and mean queue are within chance."""
        return self.within("throughput_mbps", "throughput_sd") and self.within("queue_mean_packets", "queue_sd")


def compare(real: Sequence[tuple[Measured, int]], simulated: Sequence[Simulated]) -> list[Agreement]:
    """Both, cell by cell: what `means` gives, and what `simulate` gives for the same cells."""
    return [Agreement(mean, ours, links) for (mean, links), ours in zip(real, simulated, strict=True)]


def summary(found: Sequence[Agreement]) -> list[list[str]]:
    """By group of cells, and of all: cells, and how many agree in throughput, mean queue and both."""
    groups = {
        one.real.cell.group: [other for other in found if other.real.cell.group == one.real.cell.group] for one in found
    }
    rows = []
    for group, of in [*groups.items(), ("all", list(found))]:
        counts = [sum(getattr(one, name) for one in of) for name in ("throughput", "queue", "holds")]
        by_chance = sum(one.chance and not one.holds for one in of)
        shares = [f"{count}" if group != "all" else f"{count} ({100 * count / len(of):.0f} %)" for count in counts]
        rows.append([group, str(len(of)), *shares, str(by_chance)])
    return rows


HEAD = ["cells", "number", "throughput", "mean queue", "both", "others within chance"]

COLUMNS = (
    ("throughput_mbps", "throughput (Mbit/s)", 1, 2),
    ("queue_mean_packets", "mean queue (packets)", 1, 1),
    ("drop_rate", "drop rate (%)", 100, 2),
    ("mark_rate", "mark rate (%)", 100, 2),
    ("share", "share of the first (%)", 100, 1),
)
OPTIONAL = ("mark_rate", "share")
"""Only where a link has them."""


def rows(found: Sequence[Agreement]) -> tuple[list[str], list[list[str]]]:
    """A table of all cells: the links' mean beside the simulator; `*` is outside the bounds, `~` too, but by chance."""
    used = [one for one in COLUMNS if one[0] not in OPTIONAL or any(getattr(of.real, one[0]) for of in found)]
    head = ["control", "queue", "Mbit/s", "ms", "flows", "links"]
    for _, label, *_ in used:
        head += [label, "simulator", "difference"]
    body = []
    for one in found:
        cell = one.real.cell
        row = [cell.group, cell.queue, str(cell.rate), str(cell.rtt), str(cell.flows), str(one.links)]
        for field, _, factor, digits in used:
            real, simulated = (factor * getattr(of, field) for of in (one.real, one.simulated))
            if field in OPTIONAL and not real and not simulated:
                row += ["", "", ""]
            else:
                row += [number(real, digits), number(simulated, digits), _difference(one, field, simulated - real)]
        body.append(row)
    return head, body


def _difference(one: Agreement, field: str, points: float) -> str:
    """In per cent, of a share in percentage points, with its mark."""
    relative = one.relative(field)
    if field == "share":
        text, agrees, chance = f"{signed(points, 1)} points", one.share, one.within("share", "share_sd")
    else:
        text = f"{signed(100 * relative, 1)} %" if math.isfinite(relative) else signed(None, 1)
        agrees = {"throughput_mbps": one.throughput, "queue_mean_packets": one.queue}.get(field, True)
        chance = one.chance
    return text if agrees else f"{text}~" if chance else f"{text} *"
