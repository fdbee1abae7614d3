"""What ns-3 measures of today's TCPs at one bottleneck: writes validation/reference/rfc/ns3.csv, or ns3_s1_tcps.csv.

    python3 make_tcp.py PROGRAM [--net s1] [--seeds N] [--tcp NAME...] [--out FILE]

PROGRAM is dumbbell.cc as built by build.sh. Access and receiver links 100 Mbit/s 5 ms, bottleneck 10 Mbit/s 20 ms, segments of
960 B, no time stamps, no delayed ACKs, shortest timer 0.2 s, starts uniform in the first second; statistics from 20 s to 60 s.
With `--net s1` the network of scenario S1: all links 5 Mbit/s, 20 ms but for the bottleneck's 10 ms.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
from pathlib import Path

OUT = Path(__file__).resolve().parents[2] / "reference" / "rfc"
S2 = {
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
S1 = {
    **S2,
    "rate": "5Mbps",
    "delay": "10ms",
    "access-rate": "5Mbps",
    "access-delay": "20ms",
}
DROPTAIL = {"queue": "droptail"}
RED = {"queue": "red", "max-p": 0.1, "w-q": 0.002}
NETS = {
    "s2": ("ns3.csv", S2, (5, 20), {"droptail": DROPTAIL, "red": {**RED, "min-th": 30, "max-th": 90}}),
    "s1": ("ns3_s1_tcps.csv", S1, (6, 40), {"droptail": DROPTAIL, "red": {**RED, "min-th": 24, "max-th": 72}}),
}
"""File, options of the network, numbers of flows, queues."""
# Losses of CUBIC and queues of BBR differ much between seeds.
SEEDS = {
    "s2": {
        ("cubic", "droptail"): 8,
        ("cubic", "red"): 8,
        ("bbr", "droptail"): 24,
        ("bbr", "red"): 24,
        ("newreno", "droptail"): 8,
        ("newreno", "red"): 8,
        ("bbr_fresh", "droptail"): 4,
        ("bbr_fresh", "red"): 4,
    },
    "s1": {
        ("cubic", "droptail"): 4,
        ("cubic", "red"): 4,
        ("newreno", "droptail"): 8,
        ("newreno", "red"): 8,
        ("newreno_lt", "droptail"): 4,
        ("newreno_lt", "red"): 4,
        ("bbr", "droptail"): 24,
        ("bbr", "red"): 24,
        ("bbr_fresh", "droptail"): 4,
        ("bbr_fresh", "red"): 4,
    },
}
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


def cases(net: str) -> list[tuple[str, str, int, dict[str, object]]]:
    """Name of the TCP, of the queue, number of flows, and ns-3's options."""
    _, _, numbers, queues = NETS[net]
    found: list[tuple[str, str, int, dict[str, object]]] = []
    # Without SACK ns-3 keeps its guesses of what has arrived, more of them with limited transmit (docs/tcp-rfc.md).
    no_sack: dict[str, object] = {"tcp": "NewReno", "sack": "false"}
    no_transmit: dict[str, object] = {"ns3::TcpSocketBase::LimitedTransmit": "false"}
    for flows in numbers:
        for tcp, name in (("NewReno", "reno"), ("Cubic", "cubic")):
            for queue, options in queues.items():
                found.append((name, queue, flows, {"tcp": tcp, **options}))
        bbr: dict[str, object] = {"tcp": "Bbr", "ns3::TcpSocket::ConnTimeout": "1s"}
        for queue, options in queues.items():
            found.append(("bbr", queue, flows, {**bbr, **options}))
        for queue, options in queues.items():
            found.append(("newreno", queue, flows, {**no_sack, **no_transmit, **options}))
            if net == "s1":
                found.append(("newreno_lt", queue, flows, {**no_sack, **options}))
        found.append(("dctcp", "step", flows, {"tcp": "Dctcp", **STEP}))
        # Without the defect of its samples of the rate (docs/tcp-rfc.md).
        for queue, options in queues.items():
            found.append(("bbr_fresh", queue, flows, {**bbr, "fresh-samples": "true", **options}))
    return found


def main() -> None:
    """Run everything and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--net", choices=NETS, default="s2")
    parser.add_argument("--seeds", type=int, help="for each case; without it as the reference has: 2, 4, 8 or 24")
    parser.add_argument("--tcp", nargs="+", help="these alone")
    parser.add_argument("--out", type=Path, help="instead of the reference's file")
    given = parser.parse_args()
    file_name, common, _, _ = NETS[given.net]
    rows = []
    for tcp, queue, flows, options in cases(given.net):
        if given.tcp and tcp not in given.tcp:
            continue
        for seed in range(1, (given.seeds or SEEDS[given.net].get((tcp, queue), 2)) + 1):
            chosen = {**common, **options, "flows": flows, "seed": seed, "statistics": "true"}
            words = [given.program, *(f"--{key}={value}" for key, value in chosen.items())]
            result = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
            rows.append([tcp, queue, flows, seed, *(result[column] for column in COLUMNS)])
            print(*rows[-1], flush=True)
    out = given.out or OUT / file_name
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["tcp", "queue", "flows", "seed", *COLUMNS])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
