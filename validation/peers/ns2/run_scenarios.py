#!/usr/bin/env python3
"""Run scenario S1 in ns-2 and write its per-seed figures and their summary.

    python3 run_s1.py [--seeds 1-10] [--out DIR]

S1 is the TRED paper's network: n Reno flows through one 5 Mbit/s queue; DropTail,
RED and gentle RED; 6, 40 and 80 flows; buffers of 120 and 200 packets; 200 s, of
which the first 50 s are not measured. Needs `ns` (ns-2 2.35) and `g++`. The files
are described in validation/reference/README.md.
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
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DURATION_S = 200
WARMUP_S = 50
PAYLOAD_BYTES = 960
BUFFERS = (120, 200)
FLOWS = (6, 40, 80)
QUEUES = ("droptail", "red", "red_gentle")
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


def run_cell(reader: Path, scratch: Path, buffer: int, n: int, queue: str, seed: int) -> dict[str, Any]:
    """One ns-2 run, its trace read through a pipe; one row of the table."""
    pipe, summary = scratch / "events", scratch / "summary"
    if not pipe.exists():
        os.mkfifo(pipe)
    capacity = 0 if queue == "droptail" else buffer
    with pipe_reader(reader, pipe, capacity) as statistics_process:
        command = ["ns", str(HERE / "dumbbell.tcl"), "-events", str(pipe), "-summary", str(summary)]
        options = {
            "flows": n,
            "queue": "DropTail" if queue == "droptail" else "RED",
            "gentle": "true" if queue == "red_gentle" else "false",
            "limit": buffer,
            "seed": seed,
            "duration": DURATION_S,
            "warmup": WARMUP_S,
        }
        for key, value in options.items():
            command += [f"-{key}", str(value)]
        subprocess.run(command, check=True)
        measured = json.loads(statistics_process.communicate()[0])
    if statistics_process.returncode:
        sys.exit("queue_stats failed")

    report = [line.split() for line in summary.read_text().splitlines()]
    windows = {row[1]: row[2:] for row in report if row[0] == "window"}
    start, end = windows[str(WARMUP_S)], windows["end"]
    # Goodput: segments acknowledged within the window.
    goodputs = [
        (float(b) - max(float(a), 0)) * PAYLOAD_BYTES * 8 / (DURATION_S - WARMUP_S) / 1e6
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


def pipe_reader(reader: Path, pipe: Path, capacity: int) -> subprocess.Popen[str]:
    command = f'exec "{reader}" {DURATION_S} {capacity} {WARMUP_S} < "{pipe}"'
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
    parser.add_argument("--seeds", default="1-10", help="first and last seed (default %(default)s)")
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "reference" / "s1")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        reader = build_reader(scratch)
        for buffer, n, queue in itertools.product(BUFFERS, FLOWS, QUEUES):
            for seed in seeds:
                rows.append(run_cell(reader, scratch, buffer, n, queue, seed))
            print(f"buffer {buffer}, {n} flows, {queue}", file=sys.stderr, flush=True)
    write_csv(options.out / "ns2_seeds.csv", rows)
    write_csv(options.out / "ns2_summary.csv", summarise(rows))


if __name__ == "__main__":
    main()
