#!/usr/bin/env python3
"""Make validation/reference/transfers: finite transfers over the DDRED paper's bus and flower, under RED, in ns-2.

    python3 make_transfers.py [--out DIR] [--seeds N]

Needs `ns` (ns-2 2.35) on the PATH. The transfers of a run (who, when, how much) are drawn here, from the seed, so that
another simulator can be given the same ones: `transfers` draws them, and `scenario` writes the run for earlydrop.
"""

from __future__ import annotations

import argparse
import csv
import random
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
COLUMNS = ("case", "seed", "lost", "weighted", "lost_acks", "time_sum_s", "completed")
PAYLOAD, HEADER = 1000, 40


@dataclass(frozen=True)
class Case:
    """A network and the RED of its routers; all links have 10 Mb/s."""

    name: str
    seeds: int
    loop: int
    """Routers of a loop beside the core's; 0 for a bus."""
    routers: int
    count: int
    core_ms: int
    access_ms: int
    window: int
    automatic: bool
    """RED as ns-2 ships it, in bytes; otherwise thresholds of 5 and 15 packets."""

    @property
    def core(self) -> list[tuple[int, int]]:
        """Links between routers: a line, or a ring of five with a loop at each."""
        if not self.loop:
            return [(i, i + 1) for i in range(1, self.routers)]
        found = [(i, i % 5 + 1) for i in range(1, 6)]
        for at in range(5):
            first = 6 + self.loop * at
            ring = [at + 1, *range(first, first + self.loop), at + 1]
            found += list(zip(ring, ring[1:], strict=False))
        return found


CASES = (
    Case("bus-fitted", 11, 0, 7, 100, 14, 14, 20, True),
    Case("bus-proposed", 11, 0, 10, 100, 5, 1, 64, False),
    Case("flower-fitted", 2, 7, 40, 500, 14, 14, 20, True),
    Case("flower-proposed", 2, 8, 45, 500, 5, 1, 64, False),
)


@dataclass(frozen=True)
class Transfer:
    """A file from one workstation to another."""

    source: int
    to: int
    start_s: float
    size: int


def transfers(case: Case, seed: int) -> Iterator[Transfer]:
    """The transfers of a run: two different workstations, 60 s, 100 kB to 6 MB."""
    stream = random.Random(seed)
    for _ in range(case.count):
        source, to = stream.sample(range(1, case.routers + 1), 2)
        yield Transfer(source, to, round(stream.uniform(0, 60), 6), int(stream.uniform(1e5, 6e6)))


def scenario(case: Case, seed: int) -> dict[str, Any]:
    """The same run for earlydrop."""
    link = {"rate": "10 Mbit/s"}
    queue: dict[str, Any] = {"aqm": "red", "dialect": "ns2", "wait": True, "gentle": True, "max_p": 0.1}
    if case.automatic:
        queue |= {"unit": "byte", "byte_scaling": True, "mean_packet": 500, "limit": "25000 B"}
        queue |= {"min_th": "auto", "max_th": "auto", "w_q": "auto"}
    else:
        queue |= {"unit": "packet", "mean_packet": 1000, "limit": "50 packets", "min_th": 5, "max_th": 15, "w_q": 0.002}
    shape = {"kind": "flower", "petal": case.loop} if case.loop else {"kind": "bus", "routers": case.routers}
    return {
        "name": case.name,
        "duration": "5000 s",
        "topology": {
            **shape,
            "core": {**link, "delay": f"{case.core_ms} ms"},
            "access": {**link, "delay": f"{case.access_ms} ms"},
        },
        "queue": {"routers": queue},
        "traffic": [
            {
                "kind": "transfers",
                "count": 1,
                "from": f"h{one.source}",
                "to": f"h{one.to}",
                "start": f"{one.start_s} s",
                "size": f"{one.size} B",
                "tcp": "newreno",
                "segment": f"{PAYLOAD} B",
                "window": case.window,
            }
            for one in transfers(case, seed)
        ],
    }


def description(case: Case, seed: int) -> str:
    """The run for transfers.tcl."""
    red = {"gentle_": "true", "setbit_": "false", "linterm_": 10}
    if case.automatic:
        red |= {"bytes_": "true", "queue_in_bytes_": "true", "mean_pktsize_": 500}
    else:
        red |= {"bytes_": "false", "queue_in_bytes_": "false", "mean_pktsize_": 1000}
        red |= {"thresh_": 5, "maxthresh_": 15, "q_weight_": 0.002}
    lines = [f"routers RED 50 {' '.join(f'{key} {value}' for key, value in red.items())}"]
    lines += [f"core r{a} r{b} 10Mb {case.core_ms}ms" for a, b in case.core]
    lines += [f"access h{i} r{i} 10Mb {case.access_ms}ms" for i in range(1, case.routers + 1)]
    lines += [
        f"send h{t.source} h{t.to} Newreno {PAYLOAD + HEADER} {case.window} {t.start_s:.6f} {t.size}"
        for t in transfers(case, seed)
    ]
    return "\n".join([*lines, "end 5000", ""])


def distances(case: Case) -> dict[int, dict[int, int]]:
    """Links from each node to each other, by ns-2's numbers: nodes are numbered in the order in which they are named."""
    links = [(f"r{a}", f"r{b}") for a, b in case.core]
    links += [(f"r{i}", f"h{i}") for i in range(1, case.routers + 1)]
    number: dict[str, int] = {}
    for name in (name for link in links for name in link):
        number.setdefault(name, len(number))
    near = defaultdict(list)
    for a, b in links:
        near[number[a]].append(number[b])
        near[number[b]].append(number[a])
    found = {}
    for start in near:
        away, queue = {start: 0}, [start]
        for node in queue:
            for other in near[node]:
                if other not in away:
                    away[other] = away[node] + 1
                    queue.append(other)
        found[start] = away
    return found


def run(case: Case, seed: int, scratch: Path) -> dict[str, Any]:
    """One ns-2 run; one row of the table."""
    (scratch / "description").write_text(description(case, seed))
    files = [str(scratch / name) for name in ("description", "drops", "times")]
    subprocess.run(["ns", str(HERE / "transfers.tcl"), *files], check=True)
    away = distances(case)
    lost = weighted = acks = 0
    with (scratch / "drops").open() as drops:
        # d TIME FROM TO KIND SIZE FLAGS FLOW SOURCE.PORT ...
        for line in drops:
            fields = line.split()
            lost += 1
            weighted += away[int(fields[8].split(".")[0])][int(fields[2])]
            acks += fields[4] == "ack"
    times = [tuple(map(float, line.split())) for line in (scratch / "times").read_text().splitlines()]
    total = sum(end - start for _, start, end in times)
    return dict(zip(COLUMNS, (case.name, seed, lost, weighted, acks, f"{total:.6f}", len(times)), strict=True))


def main() -> None:
    """Run every case with every seed and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "reference" / "transfers")
    parser.add_argument("--seeds", type=int, default=100, help="at most so many of each case")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with (options.out / "ns2_seeds.csv").open("w", newline="") as file, tempfile.TemporaryDirectory() as scratch:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        for case in CASES:
            for seed in range(min(case.seeds, options.seeds)):
                table.writerow(run(case, seed, Path(scratch)))
                file.flush()


if __name__ == "__main__":
    main()
