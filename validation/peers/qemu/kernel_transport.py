"""The kernel's DCTCP over queues that mark, in a virtual machine, and the simulator on the same.

The machine is that of kernel_qdiscs.py: a Debian kernel under QEMU, whose clock counts instructions; three network
namespaces in a row, htb with the qdisc under test between the second and the third. Congestion controls are set by
routes, so that both ends have them.

    python validation/peers/qemu/kernel_transport.py --write CSV [--only TEXT] [--simulator] [--page PAGE]

The figures are stored run by run; what the file has already is not run again.

Needs what kernel_qdiscs.py needs.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import re
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kernel_qdiscs as machine

HERE = Path(__file__).resolve().parent
WARMUP, SECONDS = machine.WARMUP, machine.SECONDS
SEGMENT, HEADER = machine.SEGMENT, machine.HEADER
RUNS = 3
"""Of each cell, each a little later on the machine's clock."""
SEEDS = 10
STACK = "linux-6.18"


@dataclass(frozen=True)
class Queue:
    """A qdisc and the discipline that is meant to be it."""

    name: str
    tc: str
    queue: dict[str, Any]

    @property
    def module(self) -> str:
        """The kernel's."""
        return f"sch_{self.tc.split()[0]}"


def step(name: str, milliseconds: int) -> Queue:
    """CoDel that only ever marks above a sojourn time."""
    tc = f"codel limit 1000 target 10s interval 100s ce_threshold {milliseconds}ms ecn"
    ours = {
        "aqm": "step",
        "limit": "1000 packets",
        "ecn": True,
        "measure": "sojourn",
        "threshold": f"{milliseconds} ms",
    }
    return Queue(name, tc, ours)


_RED = {"min_th": 15, "max_th": 45, "max_p": 0.1, "w_q": 1 / 128, "dialect": "linux", "ecn": True}
QUEUES = {
    one.name: one
    for one in (
        step("step 5 ms", 5),
        step("step 2 ms", 2),
        Queue(
            "red",
            "red limit 151400 min 22710 max 68130 avpkt 1514 burst 55 probability 0.1 bandwidth {rate}mbit ecn",
            {"aqm": "red", "limit": "151400 B", "mean_packet": 1514, **_RED},
        ),
        Queue(
            "codel", "codel limit 1000 ecn", {"aqm": "codel", "dialect": "linux", "ecn": True, "limit": "1000 packets"}
        ),
        Queue("pie", "pie limit 1000 ecn", {"aqm": "pie", "dialect": "linux", "ecn": True, "limit": "1000 packets"}),
    )
}


@dataclass(frozen=True)
class Cell:
    """Flows of a control over a queue."""

    queue: str
    control: str
    flows: int
    rate_mbps: int
    rtt_ms: int

    def __str__(self) -> str:
        return f"{self.queue}, {self.flows} {self.control}, {self.rate_mbps} Mbit/s, {self.rtt_ms} ms"


CELLS = (
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
)
COLUMNS = machine.COLUMNS
NAMES = ("queue", "control", "flows", "rate_mbps", "rtt_ms")
Figures = dict[str, float]


# ---- the kernel ----------------------------------------------------------------------------------------------------


def execute(kernel: Path, image: Path, cell: Cell, number: int) -> dict[str, str]:
    """Runs a cell for the time with this number, from 0; the parts of what the machine said."""
    queue = QUEUES[cell.queue]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "job"
        folder.mkdir()
        settings = {
            "qdisc": queue.tc.format(rate=cell.rate_mbps),
            "module": queue.module,
            "rate": f"{cell.rate_mbps}mbit",
            "rtt": f"{cell.rtt_ms}ms",
            "seconds": int(SECONDS),
        }
        text = "".join(f'{key}="{value}"\n' for key, value in settings.items())
        if number:
            text = f"busybox usleep {number * machine.LATER_US}\n" + text
        (folder / "job").write_text(text, encoding="ascii")
        (folder / "groups").write_text(f"{cell.control} {cell.flows} 0\n", encoding="ascii")
        init = folder / "init"
        init.write_bytes((HERE / "transport_init").read_bytes())
        init.chmod(0o755)
        machine._archive(folder, Path(scratch) / "job.cpio.gz")
        initrd = Path(scratch) / "initrd"
        initrd.write_bytes(image.read_bytes() + (Path(scratch) / "job.cpio.gz").read_bytes())
        return parts_of(machine.boot(kernel, initrd, Path(scratch), timeout=1200))


def parts_of(text: str) -> dict[str, str]:
    """What the machine said, by heading."""
    parts: dict[str, str] = {}
    name = "head"
    for line in text.splitlines(keepends=True):
        if line.startswith("== "):
            name = line[3:].strip()
        else:
            parts[name] = parts.get(name, "") + line
    return parts


def jain(parts: dict[str, str]) -> float:
    """Fairness among the flows, from iperf3's figures of the receivers."""
    rates = [
        float(found[1]) * {"K": 1e-3, "M": 1.0, "G": 1e3}[found[2]]
        for line in parts.get("iperf 1", "").splitlines()
        if "receiver" in line and "SUM" not in line and (found := re.search(r"([0-9.]+) ([KMG])bits/sec", line))
    ]
    return sum(rates) ** 2 / (len(rates) * math.fsum(rate * rate for rate in rates)) if rates else math.nan


# ---- the simulator -------------------------------------------------------------------------------------------------


def document(cell: Cell, rules: dict[str, Any] | None = None) -> dict[str, Any]:
    """The cell as a scenario."""
    # htb lets a packet go when its transmission would begin, and it is at the other end at once.
    transmission_ms = 8e-3 * (SEGMENT + HEADER) / cell.rate_mbps
    # iperf3 connects all flows before the first sends: no SYN meets data.
    traffic = {"kind": "ftp", "count": cell.flows, "start": {"uniform": ["0 s", "0.02 s"]}}
    traffic |= {"tcp": cell.control, "stack": STACK, "segment": f"{SEGMENT} B", "header": f"{HEADER} B", "ecn": True}
    # The machine's devices take one segment at a time (gso_max_segs). Writes and waits for room in the socket's buffer
    # set PSH, on 3.8 % of the segments (measured, 2 flows): here each burst ends with it. ACKs at the start and after
    # pauses decide nothing in flows of a minute; the tables were made without these rules.
    alone = {"send_pairs": False, "burst_size": "fixed", "first_ack": "waits", "ack_wait": "fixed"}
    return {
        "name": "kernel-transport",
        "duration": f"{SECONDS:g} s",
        "warmup": f"{WARMUP:g} s",
        "topology": {
            "kind": "dumbbell",
            "pairs": 1,
            "access": {"rate": "10 Gbit/s", "delay": "0 s"},
            "bottleneck": {"rate": f"{cell.rate_mbps} Mbit/s", "delay": f"{cell.rtt_ms / 2 - transmission_ms:g} ms"},
            "reverse": {"rate": "10 Gbit/s", "delay": f"{cell.rtt_ms / 2:g} ms"},
        },
        "queue": {"bottleneck": QUEUES[cell.queue].queue},
        "traffic": [traffic | {"rules": alone | (rules or {})}],
    }


def simulate(
    cells: list[Cell], seeds: int = SEEDS, rules: dict[str, Any] | None = None
) -> dict[Cell, tuple[Figures, Figures]]:
    """The same measures: means over the seeds, and the standard deviations of single runs."""
    from earlydrop import _core
    from earlydrop.runner import Job, run_all

    def reduce(text: str) -> list[float]:
        found = json.loads(text)
        queue = found["queues"]["bottleneck"]
        return [queue[key] or 0.0 for key in COLUMNS] + [found.get("jain") or 1.0]

    scenarios = [_core.Scenario.parse(document(cell, rules), []) for cell in cells]
    rows = run_all([Job(scenario, 1 + k) for scenario in scenarios for k in range(seeds)], reduce)
    answer = {}
    for at, cell in enumerate(cells):
        columns = dict(zip((*COLUMNS, "jain"), zip(*rows[at * seeds : (at + 1) * seeds], strict=True), strict=True))
        answer[cell] = (
            {key: math.fsum(column) / seeds for key, column in columns.items()},
            {key: statistics.stdev(column) if seeds > 1 else 0.0 for key, column in columns.items()},
        )
    return answer


# ---- the file and the table ----------------------------------------------------------------------------------------

Rows = dict[tuple[Cell, int], Figures]


def stored(file: Path) -> Rows:
    """The runs of a file that `store` has written; none without one."""
    if not file.exists():
        return {}
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {
        (
            Cell(row["queue"], row["control"], int(row["flows"]), int(row["rate_mbps"]), int(row["rtt_ms"])),
            int(row["run"]),
        ): {key: float(row[key]) for key in (*COLUMNS, "jain")}
        for row in csv.DictReader(lines)
    }


def store(file: Path, rows: Rows, version: str) -> None:
    """Writes them in the order in which they are run."""
    text = io.StringIO()
    text.write(f"# kernel: Linux {version} of Debian, under QEMU\n# window: {WARMUP:g} s to {SECONDS:g} s\n")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([*NAMES, "run", *COLUMNS, "jain"])
    for cell in CELLS:
        for number in range(RUNS):
            if found := rows.get((cell, number)):
                figures = [f"{found[key]:.6g}" for key in (*COLUMNS, "jain")]
                lines.writerow([cell.queue, cell.control, cell.flows, cell.rate_mbps, cell.rtt_ms, number, *figures])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.getvalue(), encoding="utf-8")


def means(rows: Rows) -> dict[Cell, tuple[Figures, Figures, int]]:
    """Means over the runs of each cell, the largest difference of a run from it, and the number of runs."""
    answer = {}
    for cell in CELLS:
        runs = [rows[cell, number] for number in range(RUNS) if (cell, number) in rows]
        if runs:
            mean = {key: math.fsum(run[key] for run in runs) / len(runs) for key in (*COLUMNS, "jain")}
            apart = {key: max(abs(run[key] - mean[key]) for run in runs) for key in mean}
            answer[cell] = mean, apart, len(runs)
    return answer


def table(rows: Rows, ours: dict[Cell, tuple[Figures, Figures]]) -> tuple[list[str], list[list[str]]]:
    """Head and lines."""
    head = ["queue", "flows", "Mbit/s", "ms", "runs", "throughput (Mbit/s)", "simulator"]
    head += ["mean queue (packets)", "simulator", "difference", "mark rate (%)", "simulator", "difference"]
    body = []
    for cell, (theirs, apart, runs) in means(rows).items():
        mine, deviation = ours[cell]
        line = [cell.queue, f"{cell.flows} {cell.control}", str(cell.rate_mbps), str(cell.rtt_ms), str(runs)]
        line += [f"{theirs['throughput_mbps']:.2f}", f"{mine['throughput_mbps']:.2f}"]
        for key, scale, digits in (("queue_mean_packets", 1, 2), ("mark_rate", 100, 2)):
            line.append(f"{scale * theirs[key]:.{digits}f} (±{scale * apart[key]:.{digits}f})")
            line.append(f"{scale * mine[key]:.{digits}f} ({scale * deviation[key]:.{digits}f})")
            line.append(f"{100 * (mine[key] / theirs[key] - 1):+.1f} %")
        body.append(line)
    return head, body


def main() -> int:
    """Runs the cells and prints both worlds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cells whose name has this text")
    parser.add_argument("--simulator", action="store_true", help="only the simulator, of what is in the file")
    parser.add_argument("--write", type=Path, required=True, help="CSV for the figures")
    parser.add_argument("--page", type=Path, help="page whose table is replaced")
    given = parser.parse_args()
    rows = stored(given.write)
    if not given.simulator:
        if lacking := machine.missing():
            print(
                f"kernel_transport: left out, not here: {', '.join(lacking)} (validation/peers/install.sh qemu iperf3)"
            )
            return 0
        kernel, image = machine.prepare()
        version = kernel.name.removeprefix("vmlinuz-")
        for number in range(RUNS):
            for cell in CELLS:
                if given.only in str(cell) and (cell, number) not in rows:
                    print(f"{cell}, run {number} ...", file=sys.stderr, flush=True)
                    parts = execute(kernel, image, cell, number)
                    rows[cell, number] = machine.figures(parts) | {"jain": jain(parts)}
                    store(given.write, rows, version)
    from earlydrop.links import campaign
    from earlydrop.terminal import table as show

    head, body = table(rows, simulate(list(means(rows))))
    print(show(head, body, left=2))
    if given.page:
        campaign.put(given.page, "kernel transport", campaign.markdown(head, body))
    return 0


if __name__ == "__main__":
    sys.exit(main())
