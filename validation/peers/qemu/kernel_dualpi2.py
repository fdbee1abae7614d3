"""The kernel's DualPI2 with DCTCP and classic flows, in a virtual machine, and the simulator on the same.

    python validation/peers/qemu/kernel_dualpi2.py --write CSV [--machine DIR] [--simulator] [--page PAGE]

DIR is what dualpi2_module.sh has made: a kernel from 6.17 on, and its sch_dualpi2, which Debian leaves out. Otherwise
as kernel_transport.py.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import lzma
import math
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kernel_qdiscs as machine
import kernel_transport as transport

HERE = Path(__file__).resolve().parent
FROM, TO = 10, 59
"""Between these times, s, the receiver's packets are counted."""
RUNS = 2
SEEDS = 10
MODULES = ("veth", "sch_htb", "sch_netem", "tcp_dctcp", "act_gact", "act_pedit", "act_csum", "cls_u32", "sch_ingress")
Figures = dict[str, float]
COLUMNS = ("l4s_mbps", "classic_mbps", "l4s_marks", "classic_marks", "queue_mean_packets")


@dataclass(frozen=True)
class Cell:
    """Flows of DCTCP with ECT(1), and of a classic control with ECN."""

    dctcp: int
    classic: str
    flows: int
    rate_mbps: int
    rtt_ms: int

    def __str__(self) -> str:
        return f"{self.dctcp} dctcp, {self.flows} {self.classic}, {self.rate_mbps} Mbit/s, {self.rtt_ms} ms"


CELLS = (
    Cell(0, "cubic", 4, 20, 40),
    Cell(0, "reno", 4, 10, 40),
    Cell(2, "cubic", 0, 20, 20),
    Cell(4, "cubic", 4, 20, 40),
    Cell(1, "cubic", 1, 20, 20),
    Cell(4, "reno", 4, 20, 20),
)


# ---- the kernel ----------------------------------------------------------------------------------------------------


def prepare(folder: Path) -> tuple[Path, Path]:
    """The kernel, and the file system that it begins with, without a job."""
    (source,) = (folder / "root" / "usr" / "lib" / "modules").iterdir()
    image = folder / "base.cpio.gz"
    if not image.exists():
        with tempfile.TemporaryDirectory() as scratch:
            root = Path(scratch)
            machine._copy(Path(shutil.which("dash") or "/bin/dash"), root)
            for name in ("iperf3", "tc", "ip"):
                machine._copy(Path(shutil.which(name) or name), root)
            (root / "bin").mkdir(exist_ok=True)
            machine.prepare()
            shutil.copy(machine.CACHE / "root" / "bin" / "busybox", root / "bin" / "busybox")
            (root / "bin" / "sh").symlink_to(shutil.which("dash") or "/bin/dash")
            modules = root / "lib" / "modules" / source.name
            for packed in (source / "kernel").rglob("*.ko.xz"):
                if packed.name.removesuffix(".ko.xz").replace("-", "_") in MODULES:
                    target = modules / packed.relative_to(source).with_suffix("")
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(lzma.decompress(packed.read_bytes()))
            shutil.copy(folder / "dualpi2" / "sch_dualpi2.ko", modules / "kernel" / "net" / "sched")
            for name in ("modules.builtin", "modules.order"):
                (modules / name).touch()
            machine.run(shutil.which("depmod") or "/usr/sbin/depmod", "-b", root, source.name)
            for name in ("dev", "proc", "sys", "run", "tmp", "etc"):
                (root / name).mkdir(exist_ok=True)
            machine._archive(root, image)
    return source / "vmlinuz", image


def execute(kernel: Path, image: Path, cell: Cell, number: int) -> dict[str, str]:
    """Runs a cell for the time with this number, from 0; the parts of what the machine said."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "job"
        folder.mkdir()
        settings = {"qdisc": "dualpi2", "module": "sch_dualpi2", "rate": f"{cell.rate_mbps}mbit"}
        settings |= {"rtt": f"{cell.rtt_ms}ms", "seconds": f"{machine.SECONDS:g}", "from": str(FROM), "to": str(TO)}
        text = "".join(f'{key}="{value}"\n' for key, value in settings.items())
        if number:
            text = f"busybox usleep {number * machine.LATER_US}\n" + text
        (folder / "job").write_text(text, encoding="ascii")
        groups = [f"dctcp {cell.dctcp} 1\n"] * (cell.dctcp > 0) + [f"{cell.classic} {cell.flows} 0\n"] * (
            cell.flows > 0
        )
        (folder / "groups").write_text("".join(groups), encoding="ascii")
        init = folder / "init"
        init.write_bytes((HERE / "transport_init").read_bytes())
        init.chmod(0o755)
        machine._archive(folder, Path(scratch) / "job.cpio.gz")
        initrd = Path(scratch) / "initrd"
        initrd.write_bytes(image.read_bytes() + (Path(scratch) / "job.cpio.gz").read_bytes())
        return transport.parts_of(machine.boot(kernel, initrd, Path(scratch), timeout=1200))


def figures(cell: Cell, parts: dict[str, str]) -> Figures:
    """Rates and marks of both kinds at the receiver, and the mean queue."""
    counts = [
        [int(found[1]) for found in re.finditer(r"Sent \d+ bytes (\d+) pkt", parts[name])] for name in ("from", "to")
    ]
    packets = [after - before for before, after in zip(*counts, strict=True)]
    # An older tc says in its JSON that it does not know the qdisc's options, so it is no JSON.
    times = [float(line) for line in parts["times"].split()]
    lines = [line for line in parts["samples"].splitlines() if line.startswith("[")]
    lengths = [
        int(found[1])
        for when, line in zip(times, lines, strict=False)
        if machine.WARMUP <= when - times[0] <= machine.SECONDS
        and (found := re.search(r'"handle":"10:".*?"qlen":(\d+)', line))
    ]
    if len(lengths) < 100:
        sys.exit(f"kernel_dualpi2: {len(lengths)} samples only; the machine said\n{parts.get('head', '')}")
    found = {"queue_mean_packets": math.fsum(lengths) / len(lengths)}
    at = 0
    for kind, flows in (("l4s", cell.dctcp), ("classic", cell.flows)):
        marked, others = packets[at : at + 2] if flows else (0, 0)
        at += 2 if flows else 0
        size = transport.SEGMENT + transport.HEADER
        found[f"{kind}_mbps"] = 8e-6 * size * (marked + others) / (TO - FROM)
        found[f"{kind}_marks"] = marked / max(1, marked + others)
    return found


# ---- the simulator -------------------------------------------------------------------------------------------------


def document(cell: Cell) -> dict[str, Any]:
    """The cell as a scenario."""
    like = transport.Cell("step 5 ms", "dctcp", 1, cell.rate_mbps, cell.rtt_ms)
    found = transport.document(like)
    one = found["traffic"][0]
    dctcp = one | {"count": cell.dctcp, "rules": one["rules"] | {"dctcp_ect": "ect1"}}
    classic = one | {"tcp": cell.classic, "count": cell.flows}
    found["traffic"] = [entry for entry in (dctcp, classic) if entry["count"]]
    found["queue"] = {"bottleneck": {"aqm": "dualpi2", "dialect": "linux", "ecn": True, "limit": "10000 packets"}}
    return found | {"record": {"by_flow": True}, "name": "kernel-dualpi2"}


def simulate(cells: list[Cell], seeds: int = SEEDS) -> dict[Cell, tuple[Figures, Figures]]:
    """The same measures: means over the seeds, and the standard deviations of single runs."""
    from earlydrop import _core
    from earlydrop.runner import Job, run_all

    span = machine.SECONDS - machine.WARMUP
    scenarios = [_core.Scenario.parse(document(cell), []) for cell in cells]
    jobs = [Job(scenario, 1 + k) for scenario in scenarios for k in range(seeds)]

    def reduce(text: str) -> list[float]:
        queue = json.loads(text)["queues"]["bottleneck"]
        entries = queue["traffic"]
        return [queue["queue_mean_packets"]] + [
            value
            for entry in entries
            for value in (8e-6 * entry["departed_bytes"] / span, entry["marks"] / max(1, entry["departures"]))
        ]

    rows = run_all(jobs, reduce)
    answer = {}
    for at, cell in enumerate(cells):
        runs: list[Figures] = []
        for row in rows[at * seeds : (at + 1) * seeds]:
            run = dict.fromkeys(COLUMNS, 0.0) | {"queue_mean_packets": row[0]}
            rest = list(row[1:])
            for kind, flows in (("l4s", cell.dctcp), ("classic", cell.flows)):
                if flows:
                    run[f"{kind}_mbps"], run[f"{kind}_marks"] = rest.pop(0), rest.pop(0)
            runs.append(run)
        mean = {key: math.fsum(run[key] for run in runs) / seeds for key in COLUMNS}
        square = {key: math.fsum((run[key] - mean[key]) ** 2 for run in runs) for key in COLUMNS}
        answer[cell] = mean, {key: math.sqrt(square[key] / max(1, seeds - 1)) for key in COLUMNS}
    return answer


# ---- the file and the table ----------------------------------------------------------------------------------------

NAMES = ("dctcp", "classic", "flows", "rate_mbps", "rtt_ms")
Rows = dict[tuple[Cell, int], Figures]


def stored(file: Path) -> Rows:
    """The runs of a file that `store` has written; none without one."""
    if not file.exists():
        return {}
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    found = {}
    for row in csv.DictReader(lines):
        cell = Cell(int(row["dctcp"]), row["classic"], int(row["flows"]), int(row["rate_mbps"]), int(row["rtt_ms"]))
        found[cell, int(row["run"])] = {key: float(row[key]) for key in COLUMNS}
    return found


def store(file: Path, rows: Rows, version: str) -> None:
    """Writes them in the order in which they are run."""
    text = io.StringIO()
    text.write(f"# kernel: Linux {version} of Debian, under QEMU, with its source's sch_dualpi2\n")
    text.write(f"# rates and marks at the receiver, {FROM} s to {TO} s; queue from {machine.WARMUP:g} s on\n")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([*NAMES, "run", *COLUMNS])
    for cell in CELLS:
        for number in range(RUNS):
            if found := rows.get((cell, number)):
                key = [getattr(cell, name) for name in NAMES]
                lines.writerow([*key, number, *(f"{found[column]:.6g}" for column in COLUMNS)])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.getvalue(), encoding="utf-8")


def means(rows: Rows) -> dict[Cell, tuple[Figures, Figures]]:
    """Means over the runs of each cell, and the largest difference of a run from it."""
    answer = {}
    for cell in CELLS:
        if runs := [rows[cell, number] for number in range(RUNS) if (cell, number) in rows]:
            mean = {key: math.fsum(run[key] for run in runs) / len(runs) for key in COLUMNS}
            answer[cell] = mean, {key: max(abs(run[key] - mean[key]) for run in runs) for key in COLUMNS}
    return answer


def table(rows: Rows, ours: dict[Cell, tuple[Figures, Figures]]) -> tuple[list[str], list[list[str]]]:
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
    for cell, (theirs, apart) in means(rows).items():
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
    parser.add_argument("--page", type=Path, help="page whose table is replaced")
    given = parser.parse_args()
    rows = stored(given.write)
    if not given.simulator:
        if given.machine is None or machine.missing():
            lacking = ["--machine"] * (given.machine is None) + machine.missing()
            print(f"kernel_dualpi2: left out, not here: {', '.join(lacking)}")
            return 0
        kernel, image = prepare(given.machine)
        for number in range(RUNS):
            for cell in CELLS:
                if given.only in str(cell) and (cell, number) not in rows:
                    print(f"{cell}, run {number} ...", file=sys.stderr, flush=True)
                    rows[cell, number] = figures(cell, execute(kernel, image, cell, number))
                    store(given.write, rows, kernel.parent.name)
    from earlydrop.links import campaign
    from earlydrop.terminal import table as show

    head, body = table(rows, simulate(list(means(rows))))
    print(show(head, body, left=1))
    if given.page:
        campaign.put(given.page, "kernel dualpi2", campaign.markdown(head, body))
    return 0


if __name__ == "__main__":
    sys.exit(main())
