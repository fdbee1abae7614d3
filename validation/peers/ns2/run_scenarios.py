#!/usr/bin/env python3
"""Run the scenarios in ns-2 and write the figures of every seed and their summaries.

    python3 run_scenarios.py [s1|s2|s3|s4|s5]... [--seeds 1-10] [--only PATTERN,...] [--out DIR]

Needs `ns` (ns-2 2.35) and `g++`. What the scenarios are and what the files hold is
described in validation/reference/README.md. `--only` runs the cases whose names match
and leaves the others in the files as they are.
"""

from __future__ import annotations

import argparse
import csv
import fnmatch
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, product
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RED = {
    "droptail": {"queue": "DropTail"},
    "red": {"queue": "RED", "gentle": "false"},
    "red-gentle": {"queue": "RED", "gentle": "true"},
}


@dataclass(frozen=True)
class Case:
    """One network, queue and load."""

    name: str
    duration: int
    warmup: int
    options: dict[str, Any]
    """Options of dumbbell.tcl that differ from its defaults."""

    @property
    def wires(self) -> list[int]:
        """Size on the wire of each TCP flow's segments."""
        sizes = [int(size) for size in str(self.options.get("wire_bytes", 1000)).split()]
        return [sizes[i % len(sizes)] for i in range(self.options["flows"])]

    @property
    def header_bytes(self) -> int:
        """Of what is on the wire; ns-2's Vegas counts none."""
        return 0 if self.options.get("tcp") == "Vegas" else 40

    @property
    def early_below(self) -> str:
        """A drop that found fewer packets (or, with B, bytes) than this was the discipline's own; none was if 0."""
        limit = self.options["limit"]
        match self.options["queue"]:
            case "DropTail":
                return "0"
            case "REM" if not self.options.get("byte_mode"):
                return str(limit - 1)
            case _ if self.options.get("byte_mode"):
                return f"{limit * self.options['mean_packet']}B"
            case _:
                return str(limit)


def s1() -> Iterator[Case]:
    """The TRED paper's network: Reno through 5 Mbit/s."""
    for buffer, flows, (queue, options) in product((120, 200), (6, 40, 80), RED.items()):
        yield Case(f"S1-{queue}-n{flows}-b{buffer}", 200, 50, {**options, "flows": flows, "limit": buffer})


S2 = {
    "rate": "10Mb",
    "delay": "20ms",
    "access_rate": "100Mb",
    "access_delay": "5ms",
    "limit": 120,
    "min_th": 30,
    "max_th": 90,
}


def s2() -> Iterator[Case]:
    """The NLRED paper's network, 10 Mbit/s: five queues under Reno, two under NewReno and SACK."""
    for flows in (5, 10, 20, 40, 80, 120):
        for queue, options in (
            ("droptail", RED["droptail"]),
            ("rem", {"queue": "REM"}),
            ("pi", {"queue": "PI", "q_ref": 60}),
            *(
                (f"{queue}-p{max_p}", {**RED[queue], "max_p": max_p})
                for queue in ("red", "red-gentle")
                for max_p in (0.02, 0.1, 0.5)
            ),
        ):
            yield Case(f"S2-{queue}-n{flows}-b120", 200, 100, {**S2, **options, "flows": flows})
    for (tcp, name), flows, max_p in product(
        (("Newreno", "newreno"), ("Sack1", "sack")), (5, 20, 80), (None, 0.1, 0.5)
    ):
        queue = "droptail" if max_p is None else "red"
        options = RED[queue] | ({} if max_p is None else {"max_p": max_p})
        label = queue if max_p is None else f"{queue}-p{max_p}"
        yield Case(f"S2-{name}-{label}-n{flows}-b120", 200, 100, {**S2, **options, "flows": flows, "tcp": tcp})


def s3() -> Iterator[Case]:
    """The SFRED paper's network, 1.5 Mbit/s: two NewReno flows with unlike delays, alone and beside two of CBR."""
    network = {
        "flows": 2,
        "tcp": "Newreno",
        "rate": "1.5Mb",
        "delay": "10ms",
        "access_rate": "10Mb",
        "access_delay": "5ms",
        "sender_delay": "10ms 100ms",
        "limit": 50,
        "min_th": 5,
        "max_th": 15,
    }
    for part, (queue, options) in product("ab", RED.items()):
        cbr = {"cbr": "{1000 0.01 10ms} {500 0.005 10ms}"} if part == "b" else {}
        yield Case(f"S3-{part}-{queue}", 200, 50, {**network, **options, **cbr})


def s4() -> Iterator[Case]:
    """The AQM-QOS paper's network: four Vegas or Tahoe flows of various packet sizes, automatic RED, ECN."""
    network = {
        "flows": 4,
        "rate": "10Mb",
        "delay": "1ms",
        "access_rate": "10Mb",
        "access_delay": "1ms",
        "limit": 50,
        "mean_packet": 500,
        "gentle": "true",
        "automatic": 1,
    }
    cases = [("Vegas", "500", queue) for queue in ("droptail", "red")]
    sizes = ("296", "500", "3000", "13000", "296 500 3000 13000")
    cases += [("Tahoe", size, queue) for size, queue in product(sizes, ("droptail", "red", "red-ecn"))]
    for (tcp, size, queue), mode in product(cases, ("packet", "byte")):
        options = {
            "tcp": tcp,
            "wire_bytes": size,
            "queue": "DropTail" if queue == "droptail" else "RED",
            "ecn": int(queue == "red-ecn"),
            "byte_mode": int(mode == "byte"),
        }
        label = "mixed" if " " in size else size
        yield Case(f"S4-{tcp.lower()}-{label}-{queue}-{mode}", 100, 20, {**network, **options})


def s5() -> Iterator[Case]:
    """The DDRED paper's two flows: NewReno with 1000 B of payload, one from near and one from farther away."""
    network = {
        "flows": 2,
        "two_flows": 1,
        "tcp": "Newreno",
        "wire_bytes": 1040,
        "rate": "10Mb",
        "delay": "1ms",
        "access_rate": "10Mb",
        "limit": 50,
        "gentle": "true",
        "start_jitter": 0.1,
    }
    automatic = {"automatic": 1, "byte_mode": 1, "mean_packet": 500}
    for (kind, red), window, queue, delay in product(
        (("auto", automatic), ("packets", {"min_th": 5, "max_th": 15})),
        (20, 64, 1000),
        ("droptail", "red"),
        (1, 20, 50, 100),
    ):
        options = {
            **red,
            "window": window,
            "queue": "DropTail" if queue == "droptail" else "RED",
            "access_delay": f"{delay}ms",
        }
        yield Case(f"S5-{kind}-w{window}-{queue}-{delay}ms", 10, 0, {**network, **options})


SCENARIOS = {"s1": s1, "s2": s2, "s3": s3, "s4": s4, "s5": s5}
SUMMARISED = (
    "throughput_mbps",
    "queue_mean_packets",
    "queue_std_packets",
    "average_mean_packets",
    "delay_mean_ms",
    "delay_p95_ms",
    "delay_p99_ms",
    "early_drops",
    "overflow_drops",
    "marks",
    "jain",
    "goodput_total_mbps",
)


def build_reader(scratch: Path) -> Path:
    reader = scratch / "queue_stats"
    subprocess.run(["g++", "-O2", "-o", reader, HERE / "queue_stats.cc"], check=True)
    return reader


def run_case(case: Case, reader: Path, scratch: Path, seed: int) -> dict[str, Any]:
    """One ns-2 run, its trace read through a pipe; one row of the table."""
    pipe, summary = scratch / "events", scratch / "summary"
    if not pipe.exists():
        os.mkfifo(pipe)
    command = f'exec "{reader}" {case.duration} {case.early_below} {case.warmup} < "{pipe}"'
    with subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, text=True) as statistics_process:
        options = {**case.options, "seed": seed, "duration": case.duration, "warmup": case.warmup}
        program = ["ns", str(HERE / "dumbbell.tcl"), "-events", str(pipe), "-summary", str(summary)]
        for key, value in options.items():
            program += [f"-{key}", str(value)]
        subprocess.run(program, check=True)
        measured = json.loads(statistics_process.communicate()[0])
    if statistics_process.returncode:
        sys.exit("queue_stats failed")

    report = [line.split() for line in summary.read_text().splitlines()]
    windows = {row[1]: row[2:] for row in report if row[0] == "window"}
    start, end = windows[str(case.warmup)], windows["end"]
    samples = int(end[1]) - int(start[1])
    average = (float(end[0]) - float(start[0])) / samples if samples else None
    goodputs = []
    for i, (a, b) in enumerate(zip(start[2:], end[2:], strict=True)):
        # Segments acknowledged within the window; bytes received of a constant rate.
        payload = case.wires[i] - case.header_bytes if i < len(case.wires) else 1
        size = (float(b) - max(float(a), 0)) * payload
        goodputs.append(size * 8 / (case.duration - case.warmup) / 1e6)
    squares = sum(g * g for g in goodputs)
    del measured["window_start_s"]
    return {
        "case": case.name,
        "seed": seed,
        **measured,
        "average_mean_packets": "" if average is None else f"{average:.4f}",
        "jain": f"{sum(goodputs) ** 2 / (len(goodputs) * squares) if squares else 0:.5f}",
        "goodput_total_mbps": f"{sum(goodputs):.5f}",
        "goodput_flows_mbps": " ".join(f"{g:.5f}" for g in goodputs) if len(goodputs) <= 4 else "",
        "retransmits_whole_run": next(row[1] for row in report if row[0] == "retransmits"),
    }


def summarise(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean and standard deviation over the seeds of each case."""
    out = []
    for name, group in groupby(rows, key=lambda row: row["case"]):
        seeds = list(group)
        line: dict[str, Any] = {"case": name, "seeds": len(seeds)}
        for key in SUMMARISED:
            values = [float(row[key]) for row in seeds if row[key] != ""]
            line[key] = f"{statistics.fmean(values):.6g}" if values else ""
            line[f"{key}_sd"] = f"{statistics.stdev(values):.3g}" if len(values) > 1 else ""
        out.append(line)
    return out


def read_csv(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    with path.open(newline="") as rows:
        return list(csv.DictReader(rows))


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as out:
        writer = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(
    description: str = __doc__.splitlines()[0],
    scenarios: Mapping[str, Callable[[], Iterator[Case]]] = SCENARIOS,
    seeds: str = "1-10",
) -> None:
    """Runs what the arguments choose of `scenarios`, with so many seeds by default."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("scenarios", nargs="*", metavar="NAME", help=f"{', '.join(scenarios)} (default all)")
    parser.add_argument("--seeds", default=seeds, help="first and last seed (default %(default)s)")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="cases to run, such as 'S2-red-*,S1-*'")
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "reference")
    options = parser.parse_args()
    unknown = set(options.scenarios) - set(scenarios)
    if unknown:
        parser.error(f"no {', '.join(sorted(unknown))}")
    first, _, last = options.seeds.partition("-")
    chosen = range(int(first), int(last or first) + 1)
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        reader = build_reader(scratch)
        for name in options.scenarios or scenarios:
            folder = options.out / name
            folder.mkdir(parents=True, exist_ok=True)
            stored = read_csv(folder / "ns2_seeds.csv")
            rows: list[dict[str, Any]] = []
            for case in scenarios[name]():
                if any(fnmatch.fnmatchcase(case.name, pattern) for pattern in options.only.split(",")):
                    made = [run_case(case, reader, scratch, seed) for seed in chosen]
                    print(case.name, file=sys.stderr, flush=True)
                    # The file is whole after each case, so that a long run may be cut short.
                    place = next((i for i, row in enumerate(stored) if row["case"] == case.name), len(stored))
                    stored[:] = [row for row in stored if row["case"] != case.name]
                    stored[place:place] = made
                    write_csv(folder / "ns2_seeds.csv", stored)
                    stored = read_csv(folder / "ns2_seeds.csv")
                    write_csv(folder / "ns2_summary.csv", summarise(stored))
                rows += [row for row in stored if row["case"] == case.name]
            write_csv(folder / "ns2_seeds.csv", rows)
            write_csv(folder / "ns2_summary.csv", summarise(rows))


if __name__ == "__main__":
    main()
