"""The kernel's DCTCP over queues that mark, in a virtual machine, and the simulator on the same.

Congestion controls are set by routes, so that both ends have them.

    python validation/peers/qemu/kernel_transport.py --write CSV [--only TEXT] [--simulator] [--page PAGE]

The figures are stored run by run; what the file has already is not run again.

Needs what machine.py needs.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from pathlib import Path
from typing import Any

import machine
from kernel_runs import (
    COLUMNS,
    SECONDS,
    Cell,
    Figures,
    Qdisc,
    Rows,
    Table,
    campaign,
    document,
    figures,
    flows,
    job_text,
    kernel_version,
    queue_figures,
    simulate,
)

from earlydrop.terminal import table as show

SEEDS = 10


def step(name: str, milliseconds: int) -> Qdisc:
    """CoDel that only ever marks above a sojourn time."""
    tc = f"codel limit 1000 target 10s interval 100s ce_threshold {milliseconds}ms ecn"
    ours = {
        "aqm": "step",
        "limit": "1000 packets",
        "ecn": True,
        "measure": "sojourn",
        "threshold": f"{milliseconds} ms",
    }
    return Qdisc(name, tc, ours)


_RED = {"min_th": 15, "max_th": 45, "max_p": 0.1, "w_q": 1 / 128, "dialect": "linux", "ecn": True}
QDISCS = {
    one.name: one
    for one in (
        step("step 5 ms", 5),
        step("step 2 ms", 2),
        Qdisc(
            "red",
            "red limit 151400 min 22710 max 68130 avpkt 1514 burst 55 probability 0.1 bandwidth {rate}mbit ecn",
            {"aqm": "red", "limit": "151400 B", "mean_packet": 1514, **_RED},
        ),
        Qdisc(
            "codel", "codel limit 1000 ecn", {"aqm": "codel", "dialect": "linux", "ecn": True, "limit": "1000 packets"}
        ),
        Qdisc("pie", "pie limit 1000 ecn", {"aqm": "pie", "dialect": "linux", "ecn": True, "limit": "1000 packets"}),
    )
}
TABLE = Table(
    (
        Cell("step 5 ms", "dctcp", 1, 10, 40),
        Cell("step 5 ms", "dctcp", 2, 10, 40),
        Cell("step 5 ms", "dctcp", 8, 10, 40),
        Cell("step 5 ms", "dctcp", 1, 20, 20),
        Cell("step 5 ms", "dctcp", 4, 20, 20),
        Cell("step 5 ms", "dctcp", 4, 20, 80),
        Cell("step 2 ms", "dctcp", 2, 20, 20),
        Cell("red", "dctcp", 1, 10, 40),
        Cell("red", "dctcp", 4, 10, 40),
        Cell("codel", "dctcp", 4, 10, 40),
        Cell("pie", "dctcp", 4, 10, 40),
    ),
    (*COLUMNS, "jain"),
    runs=3,
)


# ---- the kernel ----------------------------------------------------------------------------------------------------


def execute(kernel: Path, image: Path, cell: Cell, number: int) -> Figures:
    """Runs a cell for the time with this number, from 0."""
    tc = QDISCS[cell.qdisc].tc
    settings = {
        "qdisc": tc.format(rate=cell.rate_mbps),
        "module": f"sch_{tc.split()[0]}",
        "rate": f"{cell.rate_mbps}mbit",
        "rtt": f"{cell.rtt_ms}ms",
        "seconds": int(SECONDS),
    }
    files = {
        "init": machine.HERE / "transport_init",
        "job": job_text(settings, number),
        "groups": f"{cell.control} {cell.flows} 0\n",
    }
    parts = machine.run_job(kernel, image, files)
    return figures(parts) | {"jain": jain(parts)}


def jain(parts: dict[str, str]) -> float:
    """Fairness among the flows, from iperf3's figures of the receivers."""
    rates = [
        float(found[1]) * {"K": 1e-3, "M": 1.0, "G": 1e3}[found[2]]
        for line in parts["iperf 1"].splitlines()
        if "receiver" in line and "SUM" not in line and (found := re.search(r"([0-9.]+) ([KMG])bits/sec", line))
    ]
    return sum(rates) ** 2 / (len(rates) * math.fsum(rate * rate for rate in rates)) if rates else math.nan


# ---- the simulator -------------------------------------------------------------------------------------------------


def simulated(
    cells: list[Cell], seeds: int = SEEDS, rules: dict[str, Any] | None = None
) -> dict[Cell, tuple[Figures, Figures]]:
    """The same measures: means over the seeds, and the standard deviations of single runs."""

    def measure(result: dict[str, Any]) -> Figures:
        return queue_figures(result) | {"jain": result.get("jain") or 1.0}

    # Writes and waits for room in the socket's buffer set PSH, on 3.8 % of the segments (measured, 2 flows): here each
    # burst ends with it.
    documents = [
        document(
            "kernel-transport",
            cell.rate_mbps,
            cell.rtt_ms,
            QDISCS[cell.qdisc].queue,
            [flows(cell.control, cell.flows, True, rules or {})],
        )
        for cell in cells
    ]
    return dict(zip(cells, simulate(documents, seeds, measure), strict=True))


# ---- the table -----------------------------------------------------------------------------------------------------


def table(rows: Rows[Cell], ours: dict[Cell, tuple[Figures, Figures]]) -> tuple[list[str], list[list[str]]]:
    """Head and lines."""
    head = ["queue", "flows", "Mbit/s", "ms", "runs", "throughput (Mbit/s)", "simulator"]
    head += ["mean queue (packets)", "simulator", "difference", "mark rate (%)", "simulator", "difference"]
    body = []
    for cell, (theirs, apart, runs) in TABLE.means(rows).items():
        mine, deviation = ours[cell]
        line = [*cell.words(), str(runs), f"{theirs['throughput_mbps']:.2f}", f"{mine['throughput_mbps']:.2f}"]
        for key, scale in (("queue_mean_packets", 1), ("mark_rate", 100)):
            line.append(f"{scale * theirs[key]:.2f} (±{scale * apart[key]:.2f})")
            line.append(f"{scale * mine[key]:.2f} ({scale * deviation[key]:.2f})")
            line.append(f"{100 * (mine[key] / theirs[key] - 1):+.1f} %")
        body.append(line)
    return head, body


def main() -> int:
    """Runs the cells and prints both worlds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cells whose name has this text")
    parser.add_argument("--simulator", action="store_true", help="only the simulator, of what is in the file")
    parser.add_argument("--write", type=Path, required=True, help="CSV for the figures")
    parser.add_argument("--page", type=Path, help="page whose table, data beside it, is replaced")
    given = parser.parse_args()
    rows = TABLE.stored(given.write)
    if not given.simulator:
        if lacking := machine.missing():
            print(machine.left_out(lacking))
            return 0
        kernel, image = machine.prepare()
        TABLE.complete(
            given.write,
            rows,
            given.only,
            kernel_version(kernel),
            lambda cell, number: execute(kernel, image, cell, number),
        )
    head, body = table(rows, simulated(list(TABLE.means(rows))))
    print(show(head, body, left=2))
    if given.page:
        campaign.put(given.page, "kernel transport", campaign.data(given.page, head, body, "kernel-transport"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
