"""What ns-3's senders send on a path that loses given packets: writes validation/reference/rfc/ns3_losses.csv.

    python3 make_losses.py PROGRAM [--out FILE]

PROGRAM is dumbbell.cc as built by build.sh. One flow, all links 2 Mbit/s, 20 ms but for the bottleneck's 10 ms, nothing
is dropped at queues; segments of 960 B, no time stamps, no delayed ACKs, shortest timer 0.2 s. A row is a case: the
packets that are lost, as they reach the bottleneck's far end, the SYN 0; the times of sending in tenths of a
millisecond since the first segment, and the numbers of the segments.
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
    "bbr_fresh": (180, {"tcp": "Bbr", "fresh-samples": "true"}),
}
"""How many segments are kept, and ns-3's options. Later ns-3's NewReno has grown by whole bytes, and its BBR has drawn
a phase."""
LOST: list[list[int]] = [
    [30],
    [30, 32, 33],
    [60, 61, 62, 63, 64, 65],
    [60, 62, 64, 66, 68, 70, 72, 74],
    [30, 100, 200, 300],
]
"""Packets that are lost, case by case."""
PAYLOAD = 960


def sent(program: str, tcp: str, lost: list[int]) -> list[tuple[float, int]]:
    """Times and numbers of the segments."""
    kept, options = TCPS[tcp]
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        chosen = {**OPTIONS, **options, "lose": ",".join(map(str, lost)), "trace": trace}
        words = [program, *(f"--{key}={value}" for key, value in chosen.items())]
        subprocess.run(words, check=True, capture_output=True, text=True)
        rows = [line.split() for line in trace.read_text().splitlines()]
    # The first is the end of the handshake; a sequence number counts the SYN as a byte.
    found = [(float(row[0]), round(float(row[2]) - 1 / PAYLOAD)) for row in rows if row[1] == "sent"][1:]
    return [(time - found[0][0], number) for time, number in found[:kept]]


def main() -> None:
    """Run everything and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    with given.out.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["tcp", "lost", "times", "segments"])
        for tcp in TCPS:
            for lost in LOST:
                times, numbers = zip(*sent(given.program, tcp, lost), strict=True)
                columns = (lost, (round(1e4 * time) for time in times), numbers)
                writer.writerow([tcp, *(" ".join(map(str, column)) for column in columns)])


if __name__ == "__main__":
    main()
