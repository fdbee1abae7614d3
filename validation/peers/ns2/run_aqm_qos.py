#!/usr/bin/env python3
"""Run the set-ups of the study aqm-qos in ns-2: studies/aqm-qos/ns2/seeds.csv and summary.csv.

    python3 run_aqm_qos.py [--only PATTERN] [--workers 2] [--out DIR]

Needs `ns` (ns-2 2.35). Every case is one row of the list below: options of dumbbell.tcl, run with seeds from 1 on.
`--only` runs the cases whose names match and leaves the others in the files as they are. A case of ns-2 and one of the
study have the same settings but not the same random numbers, so that means and ranges are to be compared.
"""

from __future__ import annotations

import argparse
import fnmatch
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from run_scenarios import read_csv, write_csv

HERE = Path(__file__).resolve().parent
SIZES = (296, 500, 3000, 13000)
MEASURES = (
    "delivered",
    "dropped",
    "delivered_bytes",
    "dropped_bytes",
    "delay_ms",
    "delay_1_ms",
    "delay_2_ms",
    "delay_3_ms",
    "delay_4_ms",
)
# RED, senders and buffer by ns-2's defaults of 2002 to 2004; all flows start at 0 s.
BASE: dict[str, Any] = {
    "flows": 4,
    "tcp": "Vegas",
    "rate": "0.5Mb",
    "delay": "1ms",
    "access_rate": "10Mb",
    "access_delay": "1ms",
    "queue": "RED",
    "limit": 50,
    "automatic": 1,
    "gentle": "true",
    "mean_packet": 500,
    "window": 20,
    "min_rto": 1,
    "starts": "0",
}
FIXED = {"automatic": 0, "min_th": 5, "max_th": 15, "max_p": 0.1, "w_q": 0.002}
DRAWN = {"starts": "", "start_jitter": 1}
MODES = {
    "packet": {"byte_mode": 0, "byte_scaling": 0},
    "byte": {"byte_mode": 0, "byte_scaling": 1},
    "queue": {"byte_mode": 1, "byte_scaling": 0},
    "both": {"byte_mode": 1, "byte_scaling": 1},
}


@dataclass(frozen=True)
class Case:
    """One set-up and how many seeds it gets."""

    name: str
    seeds: int
    options: dict[str, Any]


def cases() -> Iterator[Case]:
    """Everything that is run."""
    for flows in (4, 32):
        for queue in ("DropTail", "RED"):
            options = {"flows": flows, "queue": queue, "rate": "10Mb", "wire_bytes": 500}
            yield Case(f"load-{flows}-{queue.lower()}", 3, options)
    sources = {
        "10-auto": {"flows": 10},
        "4-auto": {"flows": 4},
        "4-auto-drawn": {"flows": 4, **DRAWN},
        "4-5-15": {"flows": 4, **FIXED},
        "8-auto-short": {"flows": 8, "min_rto": 0.2},
        "11-5-15-short": {"flows": 11, "min_rto": 0.2, **FIXED},
        "4-reno": {"tcp": "Reno", "wire_bytes": 540, **FIXED},
        "4-tahoe": {"tcp": "Tahoe", "wire_bytes": 540, **FIXED},
    }
    for name, options in sources.items():
        for queue in ("DropTail", "RED"):
            yield Case(
                f"table2-{name}-{queue.lower()}",
                5,
                {"wire_bytes": 500, "rate": "10Mb", "limit": 20, "queue": queue, **options},
            )
    for size in SIZES:
        for mode, options in MODES.items():
            yield Case(f"table3-{size}-{mode}", 10, {"wire_bytes": size, **options})
        for mode in ("packet", "byte"):
            yield Case(f"table3-{size}-{mode}-drawn", 10, {"wire_bytes": size, **MODES[mode], **DRAWN})
    for mode, options in MODES.items():
        yield Case(f"table4-{mode}", 10, {"wire_bytes": " ".join(map(str, SIZES)), **options})
    for size in SIZES:
        for ecn, state in ((1, "on"), (0, "off")):
            # Of Tahoe's packets 40 B are header.
            options = {"tcp": "Tahoe", "wire_bytes": size + 40, "ecn": ecn}
            yield Case(f"table5-{size}-{state}", 10, options)
            yield Case(f"table5-{size}-{state}-short", 5, {**options, "min_rto": 0.2})
    for ecn, state in ((1, "on"), (0, "off")):
        wire = " ".join(str(size + 40) for size in SIZES)
        yield Case(f"table6-{state}", 10, {"tcp": "Tahoe", "wire_bytes": wire, "ecn": ecn})


def run(case: Case, seed: int) -> dict[str, Any]:
    """One run: what its trace of the bottleneck says."""
    with tempfile.TemporaryDirectory() as scratch:
        events = Path(scratch) / "events"
        options = {**BASE, **case.options, "seed": seed, "duration": 100, "warmup": 0, "statistics": 0}
        command = ["ns", str(HERE / "dumbbell.tcl"), "-events", str(events)]
        for key, value in options.items():
            command += [f"-{key}", str(value)]
        subprocess.run(command, check=True)
        return {"case": case.name, "seed": seed, **measured(events)}


def measured(events: Path) -> dict[str, Any]:
    """Packets that left and were dropped, and the waiting times of those that left, by flow."""
    waiting: dict[str, float] = {}
    delays: defaultdict[int, list[float]] = defaultdict(list)
    delivered = dropped = delivered_bytes = dropped_bytes = 0
    with events.open() as rows:
        for row in rows:
            kind, time, _, _, _, size, _, flow, _, _, _, packet = row.split()
            if kind == "+":
                waiting[packet] = float(time)
            elif kind == "d":
                del waiting[packet]
                dropped += 1
                dropped_bytes += int(size)
            elif kind == "-":
                delays[int(flow)].append(float(time) - waiting.pop(packet))
                delivered += 1
                delivered_bytes += int(size)
    everyone = [delay for each in delays.values() for delay in each]
    means = {f"delay_{flow}_ms": delays[flow] for flow in (1, 2, 3, 4)}
    return {
        "delivered": delivered,
        "dropped": dropped,
        "delivered_bytes": delivered_bytes,
        "dropped_bytes": dropped_bytes,
        "delay_ms": f"{1e3 * statistics.fmean(everyone):.4f}",
        **{name: f"{1e3 * statistics.fmean(each):.4f}" if each else "" for name, each in means.items()},
    }


def summarise(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean, smallest and largest over the seeds of each case."""
    out = []
    for name, group in groupby(rows, key=lambda row: row["case"]):
        seeds = list(group)
        line: dict[str, Any] = {"case": name, "seeds": len(seeds)}
        for key in MEASURES:
            values = [float(row[key]) for row in seeds if row[key] != ""]
            line[key] = f"{statistics.fmean(values):.6g}" if values else ""
            line[f"{key}_min"], line[f"{key}_max"] = (f"{min(values):g}", f"{max(values):g}") if values else ("", "")
        out.append(line)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*", metavar="PATTERN", help="cases to run, such as 'table3-*'")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=HERE.parents[2] / "studies" / "aqm-qos" / "ns2")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    stored = read_csv(options.out / "seeds.csv")
    rows: list[dict[str, Any]] = []
    with ThreadPoolExecutor(options.workers) as pool:
        for case in cases():
            if fnmatch.fnmatchcase(case.name, options.only):
                rows += pool.map(run, [case] * case.seeds, range(1, case.seeds + 1))
                print(case.name, file=sys.stderr, flush=True)
            else:
                rows += [row for row in stored if row["case"] == case.name]
    write_csv(options.out / "seeds.csv", rows)
    write_csv(options.out / "summary.csv", summarise(rows))


if __name__ == "__main__":
    main()
