"""What the comparisons of the kernel in a virtual machine with the simulator share.

Three network namespaces in a row; between the second and the third an htb class with the qdisc under test, whose
`tc -s` is sampled 20 times a second.
"""

from __future__ import annotations

import dataclasses
import json
import math
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

sys.path.append(str(Path(__file__).resolve().parents[2] / "crosscheck"))

import campaign

from earlydrop import _core
from earlydrop.links import crosscheck
from earlydrop.runner import Job, run_all

WARMUP, SECONDS = 10.0, 60.0
WINDOW = f"{WARMUP:g} s to {SECONDS:g} s"
FRAME = 14
"""Ethernet's header, which the kernel's rates and queues count, B."""
SEGMENT, HEADER = 1448, 52 + FRAME
"""Of a packet, B."""
LATER_US = 1300
"""A run begins by so much later than the one before, on the machine's clock: its ticks meet other packets."""
COLUMNS = ("throughput_mbps", "queue_mean_packets", "drop_rate", "mark_rate")

Figures = dict[str, float]
C = TypeVar("C")
Found = TypeVar("Found")
Rows = dict[tuple[C, int], Figures]
"""By cell and number of the run, from 0."""


@dataclass(frozen=True)
class Qdisc:
    """A qdisc, and the discipline that is meant to be it."""

    name: str
    tc: str
    queue: dict[str, Any]
    ecn: bool = False
    """Of the flows."""
    shapes: bool = False
    """The qdisc has the rate, and what is around it is fast."""


@dataclass(frozen=True)
class Cell:
    """Bulk flows of one control over a qdisc, with a rate and a round-trip time."""

    qdisc: str
    control: str
    flows: int
    rate_mbps: int
    rtt_ms: int

    def __str__(self) -> str:
        return f"{self.qdisc}, {self.flows} {self.control}, {self.rate_mbps} Mbit/s, {self.rtt_ms} ms"

    def words(self) -> list[str]:
        """As the first columns of a table."""
        return [self.qdisc, f"{self.flows} {self.control}", str(self.rate_mbps), str(self.rtt_ms)]


# ---- the kernel ----------------------------------------------------------------------------------------------------


def job_text(settings: dict[str, Any], number: int) -> str:
    """The file that sets a job's variables for the run with this number."""
    wait = f"busybox usleep {number * LATER_US}\n" if number else ""
    return wait + "".join(f'{key}="{value}"\n' for key, value in settings.items())


def samples(parts: dict[str, str], read: Callable[[str], Iterable[Found]]) -> list[tuple[float, Found]]:
    """What `read` finds in the answers of `tc` from WARMUP on, each with its time in the job."""
    times = [float(line) for line in parts["times"].split()]
    lines = [line for line in parts["samples"].splitlines() if line.startswith("[")]
    found = [
        (when - times[0], one)
        for when, line in zip(times, lines, strict=False)
        if WARMUP <= when - times[0] <= SECONDS
        for one in read(line)
    ]
    if len(found) < 100:
        sys.exit(f"{Path(sys.argv[0]).stem}: {len(found)} samples only; the machine said\n{parts['head']}")
    return found


def figures(parts: dict[str, str]) -> Figures:
    """The measures of a job, from WARMUP on."""
    rows = samples(parts, lambda line: [one for one in json.loads(line) if one.get("handle") == "10:"])
    (begin, first), (end, last) = rows[0], rows[-1]
    packets, drops = last["packets"] - first["packets"], last["drops"] - first["drops"]
    marks = sum(last.get(key, 0) - first.get(key, 0) for key in ("ecn_mark", "marked", "ce_mark"))
    # What CoDel and its kin drop has arrived in the queue; what RED and its kin drop has not. Both have arrived here.
    arrivals = packets + drops
    return {
        "throughput_mbps": 8e-6 * (last["bytes"] - first["bytes"]) / (end - begin),
        "queue_mean_packets": math.fsum(row["qlen"] for _, row in rows) / len(rows),
        "drop_rate": drops / arrivals,
        "mark_rate": marks / arrivals,
    }


# ---- the simulator -------------------------------------------------------------------------------------------------


def flows(control: str, count: int, ecn: bool, rules: dict[str, Any]) -> dict[str, Any]:
    """Bulk flows as an entry of a scenario's traffic."""
    # iperf3 connects all flows before the first sends: no SYN meets data.
    traffic = {"kind": "ftp", "count": count, "start": {"uniform": ["0 s", "0.02 s"]}, "tcp": control}
    return traffic | {
        "stack": crosscheck.LINUX,
        "segment": f"{SEGMENT} B",
        "header": f"{HEADER} B",
        "ecn": ecn,
        # The machine's devices take one segment at a time (gso_max_segs): none leaves together with another. ACKs at
        # the start and after pauses decide nothing in flows of a minute; the tables were made without these rules.
        "rules": {"send_pairs": False, "burst_size": "fixed", "first_ack": "waits", "ack_wait": "fixed"} | rules,
    }


def document(
    name: str, rate_mbps: float, rtt_ms: float, queue: dict[str, Any], traffic: list[dict[str, Any]]
) -> dict[str, Any]:
    """A scenario: flows over a link with a queue."""
    # htb lets a packet go when its transmission would begin, and it is at the other end at once.
    transmission_ms = 8e-3 * (SEGMENT + HEADER) / rate_mbps
    return {
        "name": name,
        "duration": f"{SECONDS:g} s",
        "warmup": f"{WARMUP:g} s",
        "topology": {
            "kind": "dumbbell",
            # One host sends to one: CAKE shares a queue's turn by the flows of its hosts.
            "pairs": 1,
            "access": {"rate": "10 Gbit/s", "delay": "0 s"},
            # Ethernet's header is a part of the segments' here.
            "bottleneck": {
                "rate": f"{rate_mbps} Mbit/s",
                "delay": f"{rtt_ms / 2 - transmission_ms:g} ms",
                "link_layer": "ip",
            },
            "reverse": {"rate": "10 Gbit/s", "delay": f"{rtt_ms / 2:g} ms"},
        },
        "queue": {"bottleneck": queue},
        "traffic": traffic,
    }


def queue_figures(result: dict[str, Any]) -> Figures:
    """The kernel's measures of the bottleneck, in a result document."""
    queue = result["queues"]["bottleneck"]
    return {key: queue[key] or 0.0 for key in COLUMNS}


def simulate(
    documents: Sequence[dict[str, Any]], seeds: int, measure: Callable[[dict[str, Any]], Figures] = queue_figures
) -> list[tuple[Figures, Figures]]:
    """Of each scenario the means of the measures over the seeds, and the standard deviations of single runs."""
    scenarios = [_core.Scenario.parse(one, []) for one in documents]
    jobs = [Job(scenario, 1 + k) for scenario in scenarios for k in range(seeds)]
    runs = run_all(jobs, lambda text: measure(json.loads(text)))
    found = []
    for at in range(0, len(runs), seeds):
        columns = {key: [run[key] for run in runs[at : at + seeds]] for key in runs[at]}
        means = {key: math.fsum(column) / seeds for key, column in columns.items()}
        found.append((means, {key: statistics.stdev(column) for key, column in columns.items()}))
    return found


# ---- the file ------------------------------------------------------------------------------------------------------


class Table(Generic[C]):
    """A CSV of the kernel's runs: cells, which are data classes, each run some times."""

    def __init__(self, cells: Sequence[C], columns: Sequence[str], runs: int = 1, window: str = WINDOW) -> None:
        self.cells = cells
        self.columns = columns
        self.runs = runs
        self._window = window
        # The fields of a data class are annotated as texts.
        self._fields = {one.name: {"int": int, "str": str}[str(one.type)] for one in dataclasses.fields(cells[0])}

    def stored(self, file: Path | None) -> Rows[C]:
        """The runs of a file that `store` has written; none without one."""
        if file is None or not file.exists():
            return {}
        cell: Any = type(self.cells[0])
        return {
            (cell(**{name: kind(row[name]) for name, kind in self._fields.items()}), int(row.get("run", 0))): {
                key: float(row[key]) for key in self.columns
            }
            for row in campaign.read(file)[0]
        }

    def store(self, file: Path, rows: Rows[C], system: str) -> None:
        """Writes them in the order in which the cells are listed."""
        lines = [
            {name: getattr(cell, name) for name in self._fields}
            | ({"run": number} if self.runs > 1 else {})
            | {key: rows[cell, number][key] for key in self.columns}
            for cell in self.cells
            for number in range(self.runs)
            if (cell, number) in rows
        ]
        campaign.write(file, lines, {"kernel": f"Linux {system}", "window": self._window})

    def complete(self, file: Path, rows: Rows[C], only: str, system: str, measure: Callable[[C, int], Figures]) -> None:
        """Measures what `rows` lack of the cells whose name has the text `only`, and stores each run as it comes."""
        for number in range(self.runs):
            for cell in self.cells:
                if only in str(cell) and (cell, number) not in rows:
                    print(f"{cell}, run {number} ...", file=sys.stderr, flush=True)
                    rows[cell, number] = measure(cell, number)
                    self.store(file, rows, system)

    def means(self, rows: Rows[C]) -> dict[C, tuple[Figures, Figures, int]]:
        """Means over the runs of each cell, the largest difference of a run from it, and the number of runs."""
        found = {}
        for cell in self.cells:
            if runs := [rows[cell, number] for number in range(self.runs) if (cell, number) in rows]:
                mean = {key: math.fsum(run[key] for run in runs) / len(runs) for key in self.columns}
                apart = {key: max(abs(run[key] - mean[key]) for run in runs) for key in self.columns}
                found[cell] = mean, apart, len(runs)
        return found


def kernel_version(kernel: Path) -> str:
    """Of Debian's, as a table names it."""
    return f"{kernel.name.removeprefix('vmlinuz-')} of Debian, under QEMU"
