"""What unchanged examples of ns-2 do at one link: writes validation/reference/examples/ns2.csv.

    apt-get download ns2-examples && dpkg -x ns2-examples_*.deb FOLDER
    python3 run_examples.py FOLDER

example2.tcl of Greis's tutorial is `Test/example2` of test-suite-greis.tcl.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

OUT = Path(__file__).resolve().parents[2] / "reference" / "examples" / "ns2.csv"
EXAMPLES = "usr/share/doc/ns2/examples/tcl"
# Words of `ns`, the trace that the example writes, link, and the window in seconds.
RUNS = {
    "simple.tcl": (["../ex/simple.tcl"], "out.tr", ("2", "3"), (0.0, 3.0)),
    "simple.tcl, back": (["../ex/simple.tcl"], "out.tr", ("3", "2"), (0.0, 3.0)),
    "example2.tcl": (["test-suite-greis.tcl", "example2", "QUIET"], "temp.rands", ("2", "3"), (1.0, 4.0)),
}


def event(line: str) -> tuple[str, float, tuple[str, str], str] | None:
    """Kind, time, link and packet, of a trace for people (out.tr) or for nam."""
    words = line.split()
    if not words or words[0] not in "+-dr":
        return None
    if words[1] == "-t":
        named = dict(zip(words[1::2], words[2::2], strict=False))
        return words[0], float(named["-t"]), (named["-s"], named["-d"]), named["-i"]
    return words[0], float(words[1]), (words[2], words[3]), words[11]


def measured(trace: Path, link: tuple[str, str], window: tuple[float, float]) -> dict[str, float]:
    taken: dict[str, float] = {}
    packets = drops = 0
    waited = 0.0
    for kind, time, at, packet in filter(None, map(event, trace.read_text().splitlines())):
        if at != link:
            continue
        within = window[0] <= time < window[1]
        if kind == "+":
            taken[packet] = time
        elif kind == "-" and within:
            packets += 1
            waited += time - taken[packet]
        drops += kind == "d" and within
    return {"packets": packets, "delay_mean_ms": round(1e3 * waited / packets, 6), "drops": drops}


def main(folder: Path) -> None:
    rows = []
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(folder / EXAMPLES, place, dirs_exist_ok=True)
        work = Path(place) / "test"
        # The examples end by showing their trace.
        (work / "nam").write_text("#!/bin/sh\n")
        (work / "nam").chmod(0o755)
        around = {**os.environ, "PATH": f"{work}:{os.environ['PATH']}"}
        for name, (words, trace, link, window) in RUNS.items():
            subprocess.run(["ns", *words], cwd=work, env=around, check=True, stdout=subprocess.DEVNULL)
            rows.append({"example": name, **measured(work / trace, link, window)})
    with OUT.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
