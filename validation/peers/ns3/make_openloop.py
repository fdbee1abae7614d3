#!/usr/bin/env python3
"""Fixed arrivals through ns-3's queue discs: writes validation/reference/ns3_openloop.

    make_openloop.py PROGRAM        PROGRAM: build.sh OUTPUT openloop
"""

import csv
import gzip
import io
import math
import random
import subprocess
import sys
from pathlib import Path

OUT = Path(__file__).resolve().parents[2] / "reference" / "ns3_openloop"
LOADS = [0.7, 1.1, 1.5, 0.4, 2.0, 1.0, 0.8, 1.3, 0.2, 1.2]
PHASE_S = 2.0
RATE = 10e6
SIZES = [1000] * 12 + [500] * 4 + [1500] * 3 + [40]
FLOWS = [1] * 6 + [2] * 3 + [3, 4, 5, 6, 7, 8, 9]

# No random number decides these: every drop and mark is kept.
EXACT = ["codel", "codel_ecn", "fq_codel", "fq_codel_ecn"]
BY_CHANCE = ["red", "red_ecn", "gentle", "nlred", "feng", "ared", "pie", "pie_ecn", "fq_pie", "fq_pie_ecn", "cobalt", "cobalt_ecn"]
# COBALT falls into one of two courses in the overload, by chance, so that its counts have two humps.
SEEDS = {"cobalt": 200, "cobalt_ecn": 200}
USUAL_SEEDS = 20


def arrivals() -> str:
    draw = random.Random(7928)
    mean_gap = 8 * sum(SIZES) / len(SIZES) / RATE
    rows = ["time_us,size,flow,ect"]
    now = 0.0
    while now < PHASE_S * len(LOADS):
        load = LOADS[int(now / PHASE_S)]
        now += -math.log(1 - draw.random()) * mean_gap / load
        size, flow = draw.choice(SIZES), draw.choice(FLOWS)
        # At most one arrival in a microsecond.
        time_us = int(now * 1e6)
        if len(rows) > 1 and time_us <= int(rows[-1].split(",")[0]):
            continue
        rows.append(f"{time_us},{size},{flow},{int(draw.random() < 0.5)}")
    return "\n".join(rows) + "\n"


def store(name: str, text: str) -> None:
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0, filename="") as file:
        file.write(text.encode())
    (OUT / name).write_bytes(buffer.getvalue())


def main() -> None:
    program = sys.argv[1]
    OUT.mkdir(parents=True, exist_ok=True)
    script = arrivals()
    store("arrivals.csv.gz", script)

    def run(case: str, seed: int) -> list[str]:
        done = subprocess.run([program, case, str(seed)], input=script, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    counts = [["case", "seed", "drops_before", "drops_after", "marks", "departures", "queued"]]
    for case in EXACT + BY_CHANCE:
        for seed in range(1, (1 if case in EXACT else SEEDS.get(case, USUAL_SEEDS)) + 1):
            lines = run(case, seed)
            told = [line.split(",") for line in lines[:-1]]
            kinds = [kind for _, kind, _ in told]
            dropped = {arrival for _, kind, arrival in told if kind != "m"}
            # ns-3's COBALT marks packets that it drops a moment later.
            marks = sum(kind == "m" and arrival not in dropped for _, kind, arrival in told)
            _, departures, queued = lines[-1].split(",")
            counts.append([case, seed, kinds.count("d"), kinds.count("D"), marks, departures, queued])
            if case in EXACT:
                store(f"{case}.csv.gz", "time_us,kind,arrival\n" + "\n".join(lines[:-1]) + "\n")
        print(*counts[-1])
    with (OUT / "counts.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(counts)


if __name__ == "__main__":
    main()
