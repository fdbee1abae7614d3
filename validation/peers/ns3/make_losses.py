"""What ns-3's senders send on a path that loses given packets: writes validation/reference/rfc/ns3_losses.csv.

    python3 make_losses.py PROGRAM [--out FILE] [--seeds N]

PROGRAM is dumbbell.cc as built by build.sh. One flow, all links 2 Mbit/s, 20 ms but for the bottleneck's 10 ms, nothing
is dropped at queues; segments of 960 B, no time stamps, no delayed ACKs, shortest timer 0.2 s. A row is a case: the
seed; when the first segment is sent, s; the packets that are lost, as they reach the bottleneck's far end, the SYN 0; the
times of sending in tenths of a millisecond since the first segment, and the numbers of the segments.

A sender of BBR draws the phase that it begins ProbeBW in, ns-3's from its seed and ours from the time. Of ns-3's seeds the first
with ours is taken (SEEDS); `--seeds N` runs BBR with all seeds up to N, to see which agree.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import tempfile
from pathlib import Path

OUT = Path(__file__).resolve().parents[2] / "reference" / "rfc" / "ns3_losses.csv"
OPTIONS = {
    "flows": 1,
    "rate": "2Mbps",
    "access-rate": "2Mbps",
    "delay": "10ms",
    "access-delay": "20ms",
    "queue": "droptail",
    "limit": 1000,
    "window": 1000,
    "initial-cwnd": 10,
    "granularity": 1,
    "warmup": 0,
    "duration": 8,
}
TCPS: dict[str, tuple[int, dict[str, object]]] = {
    "reno": (400, {"tcp": "NewReno"}),
    "cubic": (400, {"tcp": "Cubic", "ns3::TcpCubic::HyStart": "false"}),
    "bbr_fresh": (400, {"tcp": "Bbr", "fresh-samples": "true"}),
    "bbr": (400, {"tcp": "Bbr"}),
}
"""How many segments are kept, and ns-3's options. Later ns-3's NewReno has grown by whole bytes."""
LOST: list[list[int]] = [
    [30],
    [30, 32, 33],
    [60, 61, 62, 63, 64, 65],
    [60, 62, 64, 66, 68, 70, 72, 74],
    [30, 100, 200, 300],
]
"""Packets that are lost, case by case."""
MORE: list[list[int]] = [
    list(range(5, 12)),
    list(range(60, 120)),
    [*range(40, 44), *range(46, 80)],
]
"""With BBR these, too."""
SEEDS: dict[str, list[int]] = {"bbr_fresh": [1, 1, 22, 1, 2, 4, 13, 2], "bbr": [1, 1, 6, 14, 3, 1, 9, 3]}
"""By case."""
PAYLOAD = 960


def sent(program: str, tcp: str, lost: list[int], seed: int) -> list[tuple[float, int]]:
    """Times and numbers of the segments."""
    kept, options = TCPS[tcp]
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        chosen = {**OPTIONS, **options, "lose": ",".join(map(str, lost)), "seed": seed, "trace": trace}
        words = [program, *(f"--{key}={value}" for key, value in chosen.items())]
        subprocess.run(words, check=True, capture_output=True, text=True)
        rows = [line.split() for line in trace.read_text().splitlines()]
    # The first is the end of the handshake; a sequence number counts the SYN as a byte.
    found = [(float(row[0]), round(float(row[2]) - 1 / PAYLOAD)) for row in rows if row[1] == "sent"][1:]
    return found[:kept]


def main() -> None:
    """Run everything and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--seeds", type=int)
    given = parser.parse_args()
    with given.out.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["tcp", "seed", "first", "lost", "times", "segments"])
        for tcp in TCPS:
            chosen = SEEDS.get(tcp)
            for case, lost in enumerate([*LOST, *MORE] if chosen else LOST):
                every = given.seeds and chosen
                for seed in range(1, given.seeds + 1) if every else [chosen[case] if chosen else 1]:
                    times, numbers = zip(*sent(given.program, tcp, lost, seed), strict=True)
                    since = [round(1e4 * (time - times[0])) for time in times]
                    lists = (" ".join(map(str, column)) for column in (lost, since, numbers))
                    writer.writerow([tcp, seed, f"{times[0]:.9f}", *lists])


if __name__ == "__main__":
    main()
