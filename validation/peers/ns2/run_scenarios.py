#!/usr/bin/env python3
"""Run the scenarios in ns-2 and write their per-seed figures and summaries.

    python3 run_scenarios.py [s1|s2]... [--seeds 1-10] [--out DIR]

S1 is the TRED paper's network: n Reno flows through one 5 Mbit/s queue; DropTail,
RED and gentle RED; 6, 40 and 80 flows; buffers of 120 and 200 packets; 200 s, of
which the first 50 s are not measured. S2 is the NLRED paper's: 10 Mbit/s, a buffer of
120 packets; REM and PI; 5 to 120 flows; 200 s, the first 100 s not measured. Needs
`ns` (ns-2 2.35) and `g++`. The files are described in
validation/reference/README.md.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DURATION_S = 200
PAYLOAD_BYTES = 960
QUEUES = {
    "droptail": {"queue": "DropTail"},
    "red": {"queue": "RED", "gentle": "false"},
    "red_gentle": {"queue": "RED", "gentle": "true"},
    "rem": {"queue": "REM"},
    "pi": {"queue": "PI", "q_ref": 60},
}


@dataclass(frozen=True)
class Scenario:
    """A grid of runs."""

    queues: tuple[str, ...]
    flows: tuple[int, ...]
    buffers: tuple[int, ...]
    warmup: int
    network: dict[str, str]
    """Options of dumbbell.tcl that differ from its defaults."""


SCENARIOS = {
    "s1": Scenario(("droptail", "red", "red_gentle"), (6, 40, 80), (120, 200), 50, {}),
    "s2": Scenario(
        ("rem", "pi"),
        (5, 10, 20, 40, 80, 120),
        (120,),
        100,
        {"rate": "10Mb", "delay": "20ms", "access_rate": "100Mb", "access_delay": "5ms"},
    ),
}
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
    "jain",
    "goodput_total_mbps",
)


def build_reader(scratch: Path) -> Path:
    reader = scratch / "queue_stats"
    subprocess.run(["g++", "-O2", "-o", reader, HERE / "queue_stats.cc"], check=True)
    return reader


def early_below(queue: str, buffer: int) -> int:
    """A drop that found fewer packets than this was the discipline's own; none was if 0."""
    return {"droptail": 0, "rem": buffer - 1}.get(queue, buffer)


def run_cell(
    scenario: Scenario, reader: Path, scratch: Path, buffer: int, n: int, queue: str, seed: int
) -> dict[str, Any]:
    """One ns-2 run, its trace read through a pipe; one row of the table."""
    pipe, summary = scratch / "events", scratch / "summary"
    if not pipe.exists():
        os.mkfifo(pipe)
    with pipe_reader(reader, pipe, early_below(queue, buffer), scenario.warmup) as statistics_process:
        command = ["ns", str(HERE / "dumbbell.tcl"), "-events", str(pipe), "-summary", str(summary)]
        options = {
            **scenario.network,
            **QUEUES[queue],
            "flows": n,
            "limit": buffer,
            "seed": seed,
            "duration": DURATION_S,
            "warmup": scenario.warmup,
        }
        for key, value in options.items():
            command += [f"-{key}", str(value)]
        subprocess.run(command, check=True)
        measured = json.loads(statistics_process.communicate()[0])
    if statistics_process.returncode:
        sys.exit("queue_stats failed")

    report = [line.split() for line in summary.read_text().splitlines()]
    windows = {row[1]: row[2:] for row in report if row[0] == "window"}
    start, end = windows[str(scenario.warmup)], windows["end"]
    # Goodput: segments acknowledged within the window.
    goodputs = [
        (float(b) - max(float(a), 0)) * PAYLOAD_BYTES * 8 / (DURATION_S - scenario.warmup) / 1e6
        for a, b in zip(start[2:], end[2:], strict=True)
    ]
    squares = sum(g * g for g in goodputs)
    samples = int(end[1]) - int(start[1])
    average = (float(end[0]) - float(start[0])) / samples if samples else None
    retransmits = next(row[1] for row in report if row[0] == "retransmits")
    del measured["window_start_s"]
    return {
        "buffer": buffer,
        "n": n,
        "queue": queue,
        "seed": seed,
        **measured,
        "average_mean_packets": "" if average is None else f"{average:.4f}",
        "jain": f"{sum(goodputs) ** 2 / (n * squares) if squares else 0:.5f}",
        "goodput_total_mbps": f"{sum(goodputs):.5f}",
        "retransmits_whole_run": retransmits,
    }


def pipe_reader(reader: Path, pipe: Path, capacity: int, warmup: int) -> subprocess.Popen[str]:
    command = f'exec "{reader}" {DURATION_S} {capacity} {warmup} < "{pipe}"'
    return subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, text=True)


def summarise(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean and standard deviation over the seeds of each cell."""
    out = []
    for key, group in itertools.groupby(rows, key=lambda r: (r["buffer"], r["n"], r["queue"])):
        cell = list(group)
        line: dict[str, Any] = dict(zip(("buffer", "n", "queue"), key, strict=True), seeds=len(cell))
        for name in SUMMARISED:
            values = [float(r[name]) for r in cell if r[name] != ""]
            line[name] = f"{statistics.fmean(values):.6g}" if values else ""
            line[f"{name}_sd"] = f"{statistics.stdev(values):.3g}" if len(values) > 1 else ""
        out.append(line)
    return out


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as out:
        writer = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="s1, s2 (default both)")
    parser.add_argument("--seeds", default="1-10", help="first and last seed (default %(default)s)")
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "reference")
    options = parser.parse_args()
    unknown = set(options.scenarios) - set(SCENARIOS)
    if unknown:
        parser.error(f"no scenario {', '.join(sorted(unknown))}")
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        reader = build_reader(scratch)
        for name in options.scenarios or SCENARIOS:
            scenario, rows = SCENARIOS[name], []
            for buffer, n, queue in itertools.product(scenario.buffers, scenario.flows, scenario.queues):
                for seed in seeds:
                    rows.append(run_cell(scenario, reader, scratch, buffer, n, queue, seed))
                print(f"{name}: buffer {buffer}, {n} flows, {queue}", file=sys.stderr, flush=True)
            folder = options.out / name
            folder.mkdir(parents=True, exist_ok=True)
            write_csv(folder / "ns2_seeds.csv", rows)
            write_csv(folder / "ns2_summary.csv", summarise(rows))


if __name__ == "__main__":
    main()
