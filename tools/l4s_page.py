"""Puts how Prague and CUBIC share DualPI2 into docs/tcp-rfc.md, as tables and as docs/images/l4s-balance.png.

python tools/l4s_page.py
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import blocks  # noqa: E402
import earlydrop as ed  # noqa: E402
from earlydrop.render import plotting  # noqa: E402

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE = "tcp-rfc.md"
FIGURE = "l4s-balance.png"
RATES = (10, 40, 100, 200, 400, 800)
"""Rates of the link, Mbit/s."""
RTTS = (10, 25, 50, 100)
"""Round-trip times without a queue, ms."""
SEVERAL = {rate: 4 if rate == 10 else 8 for rate in RATES}
"""Flows of each TCP by rate, where it has several: with eight, 10 Mbit/s leave windows of one to six segments."""
SEGMENT, PACKET = 1448, 1500
"""Bytes of a segment's data, and of the packet with headers."""
BAND = (0.7, 1.5)
FRIENDLY = 1.6
"""W sqrt(p) of CUBIC up to which it is in its Reno-friendly region; 1.2 to 1.3 within, more beyond."""
Scheduler = Literal["wrr", "tsfifo"]
SCHEDULERS: dict[Scheduler, str] = {"wrr": "weighted round robin", "tsfifo": "time-shifted FIFO"}
"""The two that RFC 9332 names."""
MEASURED = {
    (10, 10): (2.12, 2.13),
    (10, 20): (1.81, 1.86),
    (10, 80): (1.70, 1.74),
    (50, 10): (2.73, 2.61),
    (50, 20): (2.17, 2.05),
    (50, 80): (1.66, 1.71),
}
"""Goodput of Prague over that of CUBIC with Linux, by rate (Mbit/s) and base RTT (ms).

Heist and Morton, github.com/heistp/l4s-tests, README, "Scenario 1 Fairness Table": CUBIC first, Prague first.
"""
SEEDS = range(1, 9)
"""Seeds of the runs that are compared with these measurements."""


@dataclass(frozen=True)
class Cell:
    """The results at a rate and round-trip time."""

    balance: float
    """Prague's goodput over CUBIC's."""
    friendly: bool
    """Whether CUBIC is in its Reno-friendly region."""
    delay_p99_ms: float
    """Queueing delay of Prague's packets."""


Setting = tuple[int, int, int, Scheduler]
"""Flows of each TCP, rate in Mbit/s, round-trip time in ms, scheduler."""


def run(setting: Setting) -> Cell:
    """Run a setting and return its cell."""
    count, rate, rtt, scheduler = setting
    net = ed.dumbbell(
        pairs=2 * count,
        access=ed.link("10 Gbit/s", "1 ms"),
        bottleneck=ed.link(f"{rate} Mbit/s", f"{rtt / 2 - 2} ms"),
        queue=ed.aqm.DualPI2(dialect="rfc", ecn=True, scheduler=scheduler),
    )
    for tcp in ("prague", "cubic"):
        net.ftp(
            count, tcp=tcp, stack="rfc", ecn=True, segment=f"{SEGMENT} B", window=20_000, start=ed.uniform("0 s", "1 s")
        )
    longer = count == 1 and rate <= 200
    times = {"duration": "120 s", "warmup": "30 s"} if longer else {"duration": "60 s", "warmup": "20 s"}
    with warnings.catch_warnings():
        # The step's ramp is shorter than a packet at 10 Mbit/s; the page says so.
        warnings.simplefilter("ignore")
        runs = [net.run(**times, seed=seed, record={"by_flow": True}).document for seed in (1, 2)]
    rates = [
        [sum(flow["goodput_mbps"] for flow in doc["flows"] if flow["tcp"] == tcp) for tcp in ("prague", "cubic")]
        for doc in runs
    ]
    prague, cubic = (sum(column) / len(runs) for column in zip(*rates, strict=True))
    shares = [doc["queues"]["bottleneck"]["traffic"] for doc in runs]
    marked = sum(share[1]["mark_rate"] for share in shares) / len(runs)
    waits = sum(share[1]["delay_mean_ms"] for share in shares) / len(runs)
    window = cubic / count * 1e6 * (rtt + waits) * 1e-3 / (8 * SEGMENT)
    delay = max(share[0]["delay_p99_ms"] for share in shares)
    return Cell(prague / cubic, window * sqrt(marked) <= FRIENDLY, delay)


def pair(setting: tuple[int, int, int]) -> float:
    """Prague's goodput over CUBIC's as in the measurements: rate in Mbit/s, round-trip time in ms, seed."""
    rate, rtt, seed = setting
    net = ed.dumbbell(
        pairs=2,
        access=ed.link("10 Gbit/s", "1 ms"),
        bottleneck=ed.link(f"{rate} Mbit/s", f"{rtt / 2 - 2} ms"),
        # The measured kernel applies the step only if more than one packet waits (apply_step).
        queue=ed.aqm.DualPI2(dialect="linux", min_qlen_step=2, ecn=True),
    )
    both: dict[str, Any] = {"ecn": True, "segment": f"{SEGMENT} B", "window": 20_000}
    net.ftp(1, tcp="prague", stack="rfc", rules={"prague_rtt_target": "0 s"}, **both)
    net.ftp(1, tcp="cubic", stack="linux-6.18", **both)
    with warnings.catch_warnings():
        # The flows start together, and the step is shorter than a packet at 10 Mbit/s.
        warnings.simplefilter("ignore")
        flows = net.run(duration="180 s", warmup="120 s", seed=seed).document["flows"]
    prague, cubic = (float(flow["goodput_mbps"]) for flow in flows)
    return prague / cubic


def pairs() -> dict[tuple[int, int], list[float]]:
    """Prague's goodput over CUBIC's for each of `MEASURED`, by seed."""
    settings = [(*cell, seed) for cell in MEASURED for seed in SEEDS]
    with ProcessPoolExecutor() as pool:
        found = dict(zip(settings, pool.map(pair, settings), strict=True))
    return {cell: [found[(*cell, seed)] for seed in SEEDS] for cell in MEASURED}


def pair_lines(found: dict[tuple[int, int], list[float]]) -> Iterator[str]:
    """The table that stands beside the measurements."""
    yield "| Mbit/s, base RTT | Linux, CUBIC first | Prague first | here: mean (range) |"
    yield "|---|---|---|---|"
    for (rate, rtt), (second, first) in MEASURED.items():
        ours = found[rate, rtt]
        yield (
            f"| {rate}, {rtt} ms | {second:.2f} | {first:.2f} "
            f"| {sum(ours) / len(ours):.2f} ({min(ours):.2f} to {max(ours):.2f}) |"
        )


def cells() -> dict[Setting, Cell]:
    """The cells of all settings."""
    settings = [
        (count, rate, rtt, scheduler)
        for rate, rtt, scheduler in product(RATES, RTTS, SCHEDULERS)
        for count in ((1, SEVERAL[rate]) if scheduler == "wrr" else (1,))
    ]
    with ProcessPoolExecutor() as pool:
        # The longest runs come first.
        order = sorted(settings, key=lambda setting: -setting[1])
        found = {}
        for number, (setting, cell) in enumerate(zip(order, pool.map(run, order), strict=True), 1):
            found[setting] = cell
            print(f"{number} of {len(order)}", file=sys.stderr)
    return found


def lines(found: dict[Setting, Cell]) -> Iterator[str]:
    """The table of shares."""
    yield (
        "| | "
        + " | ".join([*(f"{rtt} ms" for rtt in RTTS), f"several: {RTTS[0]} ms", *(f"{r} ms" for r in RTTS[1:])])
        + " |"
    )
    yield "|---" * (1 + 2 * len(RTTS)) + "|"
    for rate in RATES:
        shown = []
        for count, rtt in product((1, SEVERAL[rate]), RTTS):
            cell = found.get((count, rate, rtt, "wrr"))
            text = f"{cell.balance:.2f}" if cell else ""
            shown.append(text if cell is None or cell.friendly else f"*{text}*")
        yield f"| {rate} Mbit/s | " + " | ".join(shown) + " |"


def delays(found: dict[Setting, Cell], scheduler: Scheduler) -> list[float]:
    """The largest of Prague's queueing delays (99 %) at each rate, one flow of each, ms."""
    return [max(found[1, rate, rtt, scheduler].delay_p99_ms for rtt in RTTS) for rate in RATES]


def delay_lines(found: dict[Setting, Cell]) -> Iterator[str]:
    """The table of Prague's queueing delay."""
    yield "| | " + " | ".join(f"{rate} Mbit/s" for rate in RATES) + " |"
    yield "|---" * (1 + len(RATES)) + "|"
    yield "| a packet of 1500 B | " + " | ".join(f"{8e-3 * PACKET / rate:.3f} ms" for rate in RATES) + " |"
    for scheduler, name in SCHEDULERS.items():
        row = " | ".join(f"{delay:.3f} ms" for delay in delays(found, scheduler))
        yield f"| {name} (`{scheduler}`) | {row} |"


def figure(found: dict[Setting, Cell]) -> Figure:
    """Balance with one and with several flows of each, and Prague's queueing delay with one of each."""
    with plotting.styled():
        drawing = plotting.figure(plotting.PAGE, 2.6)
        panels = drawing.subplots(1, 3)
        for ax, several in zip(panels, (False, True), strict=False):
            ax.axhspan(*BAND, color="#dcefe4", lw=0)
            ax.axhline(1, color="#555555", lw=0.6)
            for rtt in RTTS:
                _series(ax, rtt, {r: found[SEVERAL[r] if several else 1, r, rtt, "wrr"] for r in RATES})
            ax.set_yscale("log")
            ax.set_ylim(0.09, 2.5)
            ax.set_yticks([0.1, 0.2, 0.5, 0.7, 1, 1.5, 2], ["0.1", "0.2", "0.5", "0.7", "1", "1.5", "2"])
            ax.set_yticks([], minor=True)
            ax.set_title(f"{'Four or eight flows' if several else 'One flow'} of each")
        panels[0].set_ylabel("Prague's goodput over CUBIC's")
        for scheduler, marker, where in zip(SCHEDULERS, "os", ((4, 4), (-4, -8)), strict=True):
            row = delays(found, scheduler)
            panels[2].plot(RATES, row, color="#444444", marker=marker, ls="-")
            side = "left" if where[0] > 0 else "right"
            panels[2].annotate(scheduler, (RATES[1], row[1]), where, textcoords="offset points", ha=side, fontsize=7)
        bound = [10 * 1.1**step for step in range(47)]
        panels[2].plot(bound, [max(1, 8e-3 * PACKET / rate) for rate in bound], color="#222222", lw=0.8, ls=":")
        panels[2].annotate(
            "1 ms or a packet", (RATES[-1], 1), (0, 3), textcoords="offset points", ha="right", fontsize=7
        )
        panels[2].set_yscale("log")
        panels[2].set_yticks([0.03, 0.1, 0.3, 1, 3], ["0.03", "0.1", "0.3", "1", "3"])
        panels[2].set_yticks([], minor=True)
        panels[2].set_title("One flow of each")
        panels[2].set_ylabel("Prague's delay, 99 %, ms")
        for ax in panels:
            ax.set_xscale("log")
            ax.set_xlim(8, 1000)
            ax.set_xticks(RATES, [str(rate) for rate in RATES])
            ax.set_xticks([], minor=True)
            ax.set_xlabel("Bottleneck, Mbit/s")
        handles, labels = panels[0].get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside upper center", ncols=len(RTTS), title=None)
    return drawing


def _series(ax: Axes, rtt: int, row: dict[int, Cell]) -> None:
    look = plotting.look(RTTS.index(rtt))
    rates = list(row)
    ax.plot(rates, [row[rate].balance for rate in rates], color=look.colour, ls=look.dashes)
    for friendly, face in ((True, look.colour), (False, "white")):
        chosen = [rate for rate in rates if row[rate].friendly is friendly]
        style: dict[str, Any] = {"color": look.colour, "marker": look.marker, "ls": "", "mfc": face, "mew": 1}
        ax.plot(chosen, [row[rate].balance for rate in chosen], label=f"RTT {rtt} ms" if friendly else None, **style)


def write(folder: Path) -> bool:
    """Write tables and figure into `folder`; whether a table changed."""
    found = cells()
    plotting.write(figure(found), folder / "images" / FIGURE)
    tables = {"l4s": lines(found), "l4s-delay": delay_lines(found), "l4s-linux": pair_lines(pairs())}
    changed = [blocks.put(folder / PAGE, name, "\n".join(table)) for name, table in tables.items()]
    return any(changed)


if __name__ == "__main__":
    write(ROOT / "docs")
