"""What unchanged examples of ns-3 3.37 do at one link, over 20 seeds: writes validation/reference/examples/ns3.csv.

    python3 run_examples.py FOLDER

FOLDER has fifth.cc, tutorial-app.cc, tutorial-app.h, traffic-control.cc and red-tests.cc of ns-3's release 3.37.
watch.cc is compiled beside each. Options are those of the examples' own command line.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

OUT = Path(__file__).resolve().parents[2] / "reference" / "examples" / "ns3.csv"
LIBRARIES = "point-to-point applications traffic-control flow-monitor stats internet network core"
NEWRENO = "--ns3::TcpL4Protocol::SocketType=ns3::TcpNewReno"
ONE_PACKET = "--ns3::DropTailQueue<Packet>::MaxSize=1p"
NAGLE = "--ns3::TcpSocket::TcpNoDelay=false"
# Files, what is watched (node, device, from, to), and options.
RUNS = {
    "fifth.cc": (["fifth.cc", "tutorial-app.cc"], "0 0 0 20", []),
    "traffic-control.cc": (["traffic-control.cc"], "1 0 1 10", []),
    "traffic-control.cc, NewReno": (["traffic-control.cc"], "1 0 1 10", [NEWRENO]),
    "red-tests.cc 1": (["red-tests.cc"], "2 3 0 9", []),
    "red-tests.cc 1, device of 1 packet": (["red-tests.cc"], "2 3 0 9", [ONE_PACKET]),
    "red-tests.cc 1, device of 1 packet, Nagle": (["red-tests.cc"], "2 3 0 9", [ONE_PACKET, NAGLE]),
}
SEEDS = 20
OVERFLOW = "Dropped by internal queue"


def compiled(folder: Path, files: list[str], place: Path) -> Path:
    """The example with its main renamed, and the watcher."""
    program = place / files[0].removesuffix(".cc")
    if not program.exists():
        objects = []
        for file in (Path(__file__).with_name("watch.cc"), *(folder / name for name in files)):
            objects.append(place / f"{program.name}-{file.stem}.o")
            renamed = ["-Dmain=example_main"] if file.parent == folder else []
            subprocess.run(["g++", "-O2", "-std=c++17", *renamed, "-c", file, "-o", objects[-1]], check=True)
        libraries = [f"-lns3-{name}" for name in LIBRARIES.split()]
        subprocess.run(["g++", "-o", program, *objects, *libraries], check=True)
    return program


def ran(program: Path, watch: str, options: list[str], seed: int) -> dict[str, float]:
    around = {**os.environ, "WATCH": watch, "NS_GLOBAL_VALUE": f"RngRun={seed}"}
    made = subprocess.run(
        [program, *options], env=around, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    (line,) = (line for line in made.stdout.splitlines() if line.startswith('{"packets"'))
    found = json.loads(line)
    drops = found["drops"]
    overflow = drops.pop(OVERFLOW, 0)
    return {
        "packets": found["packets"],
        "bytes": found["bytes"],
        "delay_mean_ms": found["delay_mean_ms"],
        "red_drops": sum(drops.values()),
        "overflow_drops": overflow,
        "lost": found["lost"],
        "received_bytes": sum(found["received"].values()),
    }


def main(folder: Path) -> None:
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for name, (files, watch, options) in RUNS.items():
            program = compiled(folder, files, Path(place))
            for seed in range(1, SEEDS + 1):
                rows.append({"example": name, "seed": seed, **ran(program, watch, options, seed)})
    with OUT.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
