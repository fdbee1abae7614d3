"""Instructions per packet against the number of flows, for every kind of traffic and every TCP of every stack.

python benches/complexity.py                  prints the table; fails if a slope is above 0.15
python benches/complexity.py --write PAGE     puts it into data/complexity.csv beside the page, and what follows from it
                                              between the marks of the page
python benches/complexity.py cbr "rfc bbr"    these entries only
python benches/complexity.py --most 10000     with at most so many flows (100,000)

The scenarios are in complexity.toml: the bottleneck grows with the flows, which start at once or at random times. A
slope is that of a straight line through the logarithms of instructions per packet and flows. Valgrind counts, so the
numbers do not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import shutil
import statistics
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from instructions import ROOT, counted, engine

SCENARIOS = ROOT / "benches" / "complexity.toml"
FLOWS = [1000, 10_000, 100_000]
SLOPE = 0.15
DATA = "data/complexity.csv"
"""Beside the page."""
MARKS = ("<!-- complexity: made by benches/complexity.py -->", "<!-- /complexity -->")


def scenario(network: str, entry: str, flows: int, at_once: bool) -> str:
    """The text of a scenario."""
    # Endless flows send all the time: five round trips show what a packet costs.
    span_s = 0.3 if "kind = 'ftp'" in entry else 1.0
    values = {
        "{flows}": str(flows),
        "{rate}": f"{80 * flows} kbit/s",
        "{limit}": str(4 * flows),
        "{gap}": f"{10 / flows} s",
        "{start}": "'0 s'" if at_once else f"{{ uniform = ['0 s', '{span_s / 2} s'] }}",
        "{duration}": f"{span_s} s",
    }
    text = network + entry
    for key, value in values.items():
        text = text.replace(key, value)
    return text


def per_packet(program: Path, text: str) -> float:
    """Instructions of a run for each packet that arrives at the bottleneck."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        instructions, told = counted([program, file.name])
    return instructions / int(json.loads(told)["arrivals"])


def slope(flows: list[int], costs: list[float]) -> float:
    """Slope of the logarithms, by least squares."""
    return statistics.linear_regression([math.log(n) for n in flows], [math.log(cost) for cost in costs]).slope


def summary(table: Sequence[Sequence[str]]) -> str:
    """What the page says of the table, whose head is its first row."""
    head, *rows = table
    steepest = max(rows, key=lambda row: float(row[-1]))
    growth = sorted(float(row[-2]) / float(row[2]) for row in rows)
    least, most = (int(name.partition(" ")[0]) for name in (head[2], head[-2]))
    return (
        f"From {least:,} to {most:,} flows a packet costs {growth[0]:.2f} to {growth[-1]:.2f} "
        f"times as much (median of {len(rows)} rows: {growth[len(rows) // 2]:.2f}). The largest slope is "
        f"{steepest[-1]} ({steepest[0]}, {steepest[1]}).\n\n[{DATA}]({DATA})"
    )


def write(page: Path, table: Sequence[Sequence[str]]) -> None:
    """Renews the data beside a page, and what stands between its marks."""
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(MARKS[0])
    _, after = rest.split(MARKS[1])
    page.write_text(f"{before}{MARKS[0]}\n\n{summary(table)}\n\n{MARKS[1]}{after}", encoding="utf-8")
    (page.parent / DATA).parent.mkdir(exist_ok=True)
    with (page.parent / DATA).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(table)


def main() -> int:
    """Counts and prints a row an entry and way to start; 1 if a slope is too steep."""
    parser = argparse.ArgumentParser(description="Instructions per packet against the number of flows.")
    parser.add_argument("entries", nargs="*", help="of complexity.toml; all by default")
    parser.add_argument("--most", type=int, default=FLOWS[-1], help="most flows (100000)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    parser.add_argument("--write", metavar="PAGE", type=Path, help="put the table into this page")
    given = parser.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("instructions are counted by valgrind, which is not installed")
    document = tomllib.loads(SCENARIOS.read_text(encoding="utf-8"))
    known = document["entries"]
    if unknown := [entry for entry in given.entries if entry not in known]:
        parser.error(f"no entry {unknown[0]}: use {', '.join(known)}")
    flows = [n for n in FLOWS if n <= given.most]
    if len(flows) < 2:
        parser.error(f"--most: at least {FLOWS[1]}")
    program = engine()
    table = [["traffic", "starts", *(f"{n} flows" for n in flows), "slope"]]
    print(*table[0], sep="\t", flush=True)
    steep = []
    with ThreadPoolExecutor(given.jobs) as pool:
        for entry in given.entries or list(known):
            for at_once in (True, False):
                texts = [scenario(document["network"], known[entry], n, at_once) for n in flows]
                costs = list(pool.map(lambda text: per_packet(program, text), texts))
                found = slope(flows, costs)
                start = "at once" if at_once else "at random"
                table.append([entry, start, *(f"{cost:.0f}" for cost in costs), f"{found:+.2f}"])
                print(*table[-1], sep="\t", flush=True)
                if found > SLOPE:
                    steep.append(f"{entry}, {start}")
    if given.write:
        write(given.write, table)
    for entry in steep:
        print(f"steeper than {SLOPE}: {entry}", file=sys.stderr)
    return int(bool(steep))


if __name__ == "__main__":
    sys.exit(main())
