"""The kernel's DualPI2 with DCTCP and classic flows, in a virtual machine, and the simulator on the same.

    python validation/peers/qemu/kernel_dualpi2.py --write CSV [--machine DIR] [--simulator] [--page PAGE]

DIR is what dualpi2_module.sh has made: a kernel from 6.17 on, and its sch_dualpi2, which Debian leaves out. Otherwise
as kernel_transport.py.
"""

from __future__ import annotations

import argparse
import lzma
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
from kernel_runs import (
    HEADER,
    SECONDS,
    SEGMENT,
    WARMUP,
    Figures,
    Rows,
    Table,
    campaign,
    document,
    flows,
    job_text,
    samples,
    simulate,
)

from earlydrop.terminal import table as show

FROM, TO = 10, 59
"""Between these times, s, the receiver's packets are counted."""
SEEDS = 10
MODULES = ("veth", "sch_htb", "sch_netem", "tcp_dctcp", "act_gact", "act_pedit", "act_csum", "cls_u32", "sch_ingress")
COLUMNS = ("l4s_mbps", "classic_mbps", "l4s_marks", "classic_marks", "queue_mean_packets")


@dataclass(frozen=True)
class Mixture:
    """Flows of DCTCP with ECT(1), and of a classic control with ECN."""

    dctcp: int
    classic: str
    flows: int
    rate_mbps: int
    rtt_ms: int

    def __str__(self) -> str:
        return f"{self.dctcp} dctcp, {self.flows} {self.classic}, {self.rate_mbps} Mbit/s, {self.rtt_ms} ms"


TABLE = Table(
    (
        Mixture(0, "cubic", 4, 20, 40),
        Mixture(0, "reno", 4, 10, 40),
        Mixture(2, "cubic", 0, 20, 20),
        Mixture(4, "cubic", 4, 20, 40),
        Mixture(1, "cubic", 1, 20, 20),
        Mixture(4, "reno", 4, 20, 20),
    ),
    COLUMNS,
    runs=2,
    window=f"rates and marks at the receiver {FROM} s to {TO} s, queue from {WARMUP:g} s on",
)


# ---- the kernel ----------------------------------------------------------------------------------------------------


def prepare(folder: Path) -> tuple[Path, Path]:
    """The kernel, and the file system that it begins with, without a job."""
    (source,) = (folder / "root" / "usr" / "lib" / "modules").iterdir()

    def put_modules(modules: Path) -> None:
        for packed in (source / "kernel").rglob("*.ko.xz"):
            if packed.name.removesuffix(".ko.xz").replace("-", "_") in MODULES:
                target = modules / packed.relative_to(source).with_suffix("")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(lzma.decompress(packed.read_bytes()))
        shutil.copy(folder / "dualpi2" / "sch_dualpi2.ko", modules / "kernel" / "net" / "sched")
        for name in ("modules.builtin", "modules.order"):
            (modules / name).touch()

    image = folder / "base.cpio.gz"
    if not image.exists():
        machine.make_image(image, source.name, put_modules)
    return source / "vmlinuz", image


def execute(kernel: Path, image: Path, cell: Mixture, number: int) -> Figures:
    """Runs a cell for the time with this number, from 0."""
    settings = {"qdisc": "dualpi2", "module": "sch_dualpi2", "rate": f"{cell.rate_mbps}mbit"}
    settings |= {"rtt": f"{cell.rtt_ms}ms", "seconds": f"{SECONDS:g}", "from": str(FROM), "to": str(TO)}
    groups = ((cell.dctcp, f"dctcp {cell.dctcp} 1\n"), (cell.flows, f"{cell.classic} {cell.flows} 0\n"))
    files = {
        "init": machine.HERE / "transport_init",
        "job": job_text(settings, number),
        "groups": "".join(line for count, line in groups if count),
    }
    return figures(cell, machine.run_job(kernel, image, files))


def figures(cell: Mixture, parts: dict[str, str]) -> Figures:
    """Rates and marks of both kinds at the receiver, and the mean queue."""
    counts = [
        [int(found[1]) for found in re.finditer(r"Sent \d+ bytes (\d+) pkt", parts[name])] for name in ("from", "to")
    ]
    packets = [after - before for before, after in zip(*counts, strict=True)]
    # An older tc says in its JSON that it does not know the qdisc's options, so it is no JSON.
    lengths = samples(parts, re.compile(r'"handle":"10:".*?"qlen":(\d+)').findall)
    found = {"queue_mean_packets": sum(int(length) for _, length in lengths) / len(lengths)}
    at = 0
    for kind, count in (("l4s", cell.dctcp), ("classic", cell.flows)):
        marked, others = packets[at : at + 2] if count else (0, 0)
        at += 2 if count else 0
        size = SEGMENT + HEADER
        found[f"{kind}_mbps"] = 8e-6 * size * (marked + others) / (TO - FROM)
        found[f"{kind}_marks"] = marked / max(1, marked + others)
    return found


# ---- the simulator -------------------------------------------------------------------------------------------------


def scenario(cell: Mixture, **options: Any) -> dict[str, Any]:
    """The cell as a scenario; `options` of the queue."""
    kinds = (
        flows("dctcp", cell.dctcp, True, {"dctcp_ect": "ect1"}) | {"name": "l4s"},
        flows(cell.classic, cell.flows, True, {}) | {"name": "classic"},
    )
    queue = {"aqm": "dualpi2", "dialect": "linux", "ecn": True, "limit": "10000 packets", **options}
    traffic = [entry for entry in kinds if entry["count"]]
    return document("kernel-dualpi2", cell.rate_mbps, cell.rtt_ms, queue, traffic) | {"record": {"by_flow": True}}


def measure(result: dict[str, Any]) -> Figures:
    """The kernel's measures, of a result document."""
    queue = result["queues"]["bottleneck"]
    found = dict.fromkeys(COLUMNS, 0.0) | {"queue_mean_packets": queue["queue_mean_packets"]}
    for entry in queue["traffic"]:
        found[f"{entry['name']}_mbps"] = 8e-6 * entry["departed_bytes"] / (SECONDS - WARMUP)
        found[f"{entry['name']}_marks"] = entry["marks"] / max(1, entry["departures"])
    return found


def simulated(cells: list[Mixture], seeds: int = SEEDS, **options: Any) -> dict[Mixture, tuple[Figures, Figures]]:
    """The same measures: means over the seeds, and the standard deviations of single runs."""
    documents = [scenario(cell, **options) for cell in cells]
    return dict(zip(cells, simulate(documents, seeds, measure), strict=True))


# ---- the table -----------------------------------------------------------------------------------------------------


def table(rows: Rows[Mixture], ours: dict[Mixture, tuple[Figures, Figures]]) -> tuple[list[str], list[list[str]]]:
    """Head and lines."""
    head = ["flows", "Mbit/s", "ms", "DCTCP (Mbit/s)", "simulator", "its marks (%)", "simulator"]
    head += ["classic (Mbit/s)", "simulator", "their marks (%)", "simulator", "mean queue (packets)", "simulator"]
    body = []
    order = (
        ("l4s_mbps", 1),
        ("l4s_marks", 100),
        ("classic_mbps", 1),
        ("classic_marks", 100),
        ("queue_mean_packets", 1),
    )
    for cell, (theirs, apart, _) in TABLE.means(rows).items():
        mine, deviation = ours[cell]
        kinds = [f"{cell.dctcp} dctcp"] * (cell.dctcp > 0) + [f"{cell.flows} {cell.classic}"] * (cell.flows > 0)
        line = [" + ".join(kinds), str(cell.rate_mbps), str(cell.rtt_ms)]
        for key, scale in order:
            there = theirs[key] > 0
            line.append(f"{scale * theirs[key]:.2f} (±{scale * apart[key]:.2f})" if there else "")
            line.append(f"{scale * mine[key]:.2f} ({scale * deviation[key]:.2f})" if there else "")
        body.append(line)
    return head, body


def main() -> int:
    """Runs the cells and prints both worlds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--machine", type=Path, help="folder that dualpi2_module.sh has made")
    parser.add_argument("--only", default="", help="cells whose name has this text")
    parser.add_argument("--simulator", action="store_true", help="only the simulator, of what is in the file")
    parser.add_argument("--write", type=Path, required=True, help="CSV for the figures")
    parser.add_argument("--page", type=Path, help="page whose table, data beside it, is replaced")
    given = parser.parse_args()
    rows = TABLE.stored(given.write)
    if not given.simulator:
        if lacking := ["--machine"] * (given.machine is None) + machine.missing():
            print(machine.left_out(lacking))
            return 0
        kernel, image = prepare(given.machine)
        TABLE.complete(
            given.write,
            rows,
            given.only,
            f"{kernel.parent.name} of Debian, under QEMU, with its source's sch_dualpi2",
            lambda cell, number: execute(kernel, image, cell, number),
        )
    head, body = table(rows, simulated(list(TABLE.means(rows))))
    print(show(head, body, left=1))
    if given.page:
        campaign.put(given.page, "kernel dualpi2", campaign.data(given.page, head, body, "kernel-dualpi2"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
