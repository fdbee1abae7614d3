"""What ns-3 measures of today's TCPs at one bottleneck: writes validation/reference/rfc/ns3.csv.

    python3 make_tcp.py PROGRAM [--seeds N]

PROGRAM is dumbbell.cc as built by build.sh. Access and receiver links 100 Mbit/s 5 ms, bottleneck 10 Mbit/s 20 ms, segments of
960 B, no time stamps, no delayed ACKs, shortest timer 0.2 s, starts uniform in the first second; statistics from 20 s to 60 s.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
from pathlib import Path

OUT = Path(__file__).resolve().parents[2] / "reference" / "rfc" / "ns3.csv"
COMMON = {
    "rate": "10Mbps",
    "delay": "20ms",
    "access-rate": "100Mbps",
    "access-delay": "5ms",
    "limit": 120,
    "window": 1000,
    "duration": 60,
    "warmup": 20,
    "initial-cwnd": 10,
    "granularity": 1,
}
QUEUES = {
    "droptail": {"queue": "droptail"},
    "red": {"queue": "red", "min-th": 30, "max-th": 90, "max-p": 0.1, "w-q": 0.002},
}
# Losses of CUBIC differ much between seeds.
SEEDS = {"cubic": 8}
STEP = {"queue": "red", "min-th": 20, "max-th": 20, "max-p": 1, "w-q": 1, "ecn": "true"}
COLUMNS = [
    "throughput_mbps",
    "queue_mean_packets",
    "queue_std_packets",
    "delay_mean_ms",
    "delay_p99_ms",
    "early_drops",
    "overflow_drops",
    "marks",
    "dequeued",
]


def cases() -> list[tuple[str, str, int, dict[str, object]]]:
    """Name of the TCP, of the queue, number of flows, and ns-3's options."""
    found: list[tuple[str, str, int, dict[str, object]]] = []
    # Without SACK ns-3 keeps its guesses of what has arrived; not so without limited transmit (docs/tcp-rfc.md).
    no_sack: dict[str, object] = {"sack": "false", "ns3::TcpSocketBase::LimitedTransmit": "false"}
    for flows in (5, 20):
        for tcp, name in (("NewReno", "reno"), ("Cubic", "cubic"), ("Bbr", "bbr")):
            for queue, options in QUEUES.items():
                found.append((name, queue, flows, {"tcp": tcp, **options}))
        for queue, options in QUEUES.items():
            found.append(("newreno", queue, flows, {"tcp": "NewReno", **no_sack, **options}))
        found.append(("dctcp", "step", flows, {"tcp": "Dctcp", **STEP}))
    return found


def main() -> None:
    """Run everything and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, help="for each case; without it 8 of CUBIC and 2 of the others")
    given = parser.parse_args()
    rows = []
    for tcp, queue, flows, options in cases():
        for seed in range(1, (given.seeds or SEEDS.get(tcp, 2)) + 1):
            chosen = {**COMMON, **options, "flows": flows, "seed": seed, "statistics": "true"}
            words = [given.program, *(f"--{key}={value}" for key, value in chosen.items())]
            result = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
            rows.append([tcp, queue, flows, seed, *(result[column] for column in COLUMNS)])
            print(*rows[-1], flush=True)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    with OUT.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["tcp", "queue", "flows", "seed", *COLUMNS])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
