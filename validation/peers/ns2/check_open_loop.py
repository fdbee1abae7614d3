#!/usr/bin/env python3
"""Run the cases of validation/reference/red_openloop in ns-2 again and compare.

    python3 check_open_loop.py

Needs `ns` (ns-2 2.35) and `gcc`. The column `draws` is not compared: ns-2 does not
tell how many random numbers it has used.
"""

from __future__ import annotations

import csv
import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
REFERENCE = HERE.parents[1] / "reference" / "red_openloop"


def build_shim(scratch: Path) -> Path:
    shim = scratch / "full_precision.so"
    flags = ["-O1", "-U_FORTIFY_SOURCE", "-fno-builtin", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-o", shim, HERE / "full_precision.c"], check=True)
    return shim


def stored(name: str) -> list[dict[str, str]]:
    with gzip.open(REFERENCE / f"{name}.csv.gz", "rt", newline="") as rows:
        return list(csv.DictReader(rows))


def rerun(case: dict[str, str], shim: Path, scratch: Path) -> list[list[str]]:
    arrivals, output = scratch / "arrivals.csv", scratch / "out.csv"
    arrivals.write_bytes(gzip.decompress((REFERENCE / f"arrivals_{case['arrivals']}.csv.gz").read_bytes()))
    command = ["ns", str(HERE / "open_loop.tcl"), str(arrivals), str(output), case["class"].removeprefix("Queue/")]
    command += [case["seed"], case["limit"]]
    for setting in case["parameters_other_than_default"].split():
        command += setting.split("=")
    subprocess.run(command, check=True, env={**os.environ, "LD_PRELOAD": str(shim)})
    return [line.split(",") for line in output.read_text().splitlines()]


def differences(case: dict[str, str], rows: list[list[str]]) -> int:
    """Rows that differ; the average is stored with 10 digits, probabilities with 9."""
    wrong = 0
    for old, new in zip(stored(case["case"]), rows, strict=True):
        expected = [old["drop"], old["q_after"]]
        found = new[-2:]
        if "avg" in old:
            expected += [f"{float(old['avg']):.10g}", f"{float(old['pb']):.9g}"]
            found += [f"{float(new[1]):.10g}", f"{float(new[2]):.9g}"]
        if "max_p" in old:
            expected.append(f"{float(old['max_p']):.9g}")
            found.append(f"{float(new[4]):.9g}")
        if "prob" in old:
            expected.append(f"{float(old['prob']):.9g}")
            found.append(f"{float(new[1]):.9g}")
        wrong += expected != found
    return wrong


def main() -> None:
    failed = False
    with tempfile.TemporaryDirectory() as name, (REFERENCE / "index.csv").open(newline="") as index:
        scratch = Path(name)
        shim = build_shim(scratch)
        for case in csv.DictReader(index):
            rows = rerun(case, shim, scratch)
            wrong = differences(case, rows)
            failed = failed or wrong > 0
            print(f"{case['case']}: {len(rows)} arrivals, {wrong} differ")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
