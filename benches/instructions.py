"""How many instructions the engine runs in the cases of the speed comparison, held against the stored numbers.

python benches/instructions.py            fails if a case has become more than 2 or 3 % dearer
python benches/instructions.py --write    stores what is counted now
python benches/instructions.py A B        these cases only

Valgrind counts (cachegrind without its caches: 20 to 50 times slower than the run itself): the number is the same on
every repetition, whatever else the machine does. It is of the whole process and depends on the compiler, so the table
names it.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from earlydrop import bench_cases, bench_tools  # noqa: E402

TABLE = ROOT / "benches" / "instructions.csv"
COLUMNS = ["case", "million_instructions", "toolchain"]


def star() -> dict[str, Any]:
    """A sender, a queue, and 3000 receivers behind it. The run is short, so this counts the set-up, which must grow as
    the flows do.
    """
    rate = "100 Mbit/s"
    link = [{"from": "s", "to": "r", "rate": rate, "delay": "5 ms", "queue": "q"}]
    link += [{"from": "r", "to": f"d{n}", "rate": rate, "delay": f"{1000 + n} us"} for n in range(3000)]
    return {
        "topology": {"kind": "graph"},
        "link": link,
        "queue": {"q": {"aqm": "droptail", "limit": "100 packets"}},
        "traffic": [{"kind": "ftp", "count": 3000, "from": "s", "to": "d*"}],
    }


LEFT_OUT = {"home-bbr", "home-codel", "B-spread", "B-stepped", "C-spread", "C-stepped", "flows1m"}
SHORTER = {"N10": 10, "N100": 2, "N1000": 0.6, "flows100k": 0.5}
"""Of the cases of `earlydrop bench`: those not counted, and those simulated for so many seconds instead."""
CASES = {
    name: replace(case, duration_s=SHORTER.get(name, case.duration_s))
    for name, case in bench_cases.CASES.items()
    if name not in LEFT_OUT
}
CASES["setup"] = bench_cases.Case("setup", 0.001, own=star)

MOST = 0.03
GATED = {*bench_cases.HEADLINE, "A", "B", "C", "chain"} - {"N1000"}
MOST_GATED = 0.02
"""By what part a case may become dearer unnoticed, and the cases that people compare."""


def engine() -> Path:
    """Builds the engine's program; where it is."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "earlydrop-sim", "--bin", "earlydrop-engine"]
    told = subprocess.run([*command, "--message-format=json"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    for line in told.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "earlydrop-engine":
            return Path(message["executable"])
    raise SystemExit("cargo built no earlydrop-engine")


def toolchain() -> str:
    """The compiler, its version and what it compiles for."""
    told = subprocess.run(["rustc", "--version", "--verbose"], cwd=ROOT, check=True, capture_output=True, text=True)
    known = dict(line.split(": ", 1) for line in told.stdout.splitlines() if ": " in line)
    return f"rustc {known['release']} {known['host']}"


def millions(program: Path, case: str) -> float:
    """Instructions of a run, in millions."""
    with tempfile.TemporaryDirectory() as folder:
        return round(counted(bench_tools.Engine(None, program).command(CASES[case], folder))[0] / 1e6, 1)


def counted(command: Sequence[str | Path]) -> tuple[int, str]:
    """Instructions of a program, and what it printed."""
    grind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={os.devnull}"]
    told = subprocess.run([*grind, *command], check=True, capture_output=True, text=True)
    found = re.search(r"I\s+refs:\s+([\d,]+)", told.stderr)
    if not found:
        raise SystemExit(f"valgrind counted nothing: {told.stderr.strip()}")
    return int(found[1].replace(",", "")), told.stdout


def stored() -> dict[str, dict[str, str]]:
    """The table, by case."""
    if not TABLE.exists():
        return {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {row["case"]: row for row in csv.DictReader(file)}


def main() -> int:
    """Counts, compares, and prints a line a case; 1 if one has become too dear."""
    parser = argparse.ArgumentParser(description="Instructions of the engine against the stored numbers.")
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}; all by default")
    parser.add_argument("--write", action="store_true", help="store what is counted")
    given = parser.parse_args()
    cases = given.cases or list(CASES)
    if unknown := [case for case in cases if case not in CASES]:
        parser.error(f"no case {unknown[0]}: use {', '.join(CASES)}")
    if not shutil.which("valgrind"):
        sys.exit("instructions are counted by valgrind, which is not installed")
    program, compiler, table = engine(), toolchain(), stored()
    dear = False
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for case, now in zip(cases, pool.map(lambda case: millions(program, case), cases), strict=True):
            row = table.get(case)
            line = f"{case:<10}{now:>9.1f} million"
            if row:
                change = now / float(row["million_instructions"]) - 1
                most = MOST_GATED if case in GATED else MOST
                dear |= change > most and not given.write
                line += f", {change:+.1%} of {row['million_instructions']}"
                line += ": too dear" if change > most else ""
                line += f" (stored with {row['toolchain']})" if row["toolchain"] != compiler else ""
            print(line if row else f"{line}, nothing stored", flush=True)
            table[case] = {"case": case, "million_instructions": f"{now:.1f}", "toolchain": compiler}
    if given.write:
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(table[case] for case in CASES if case in table)
    if dear:
        gated = ", ".join(sorted(GATED))
        print(f"Dearer by more than {MOST_GATED:.0%} ({gated}) or {MOST:.0%}. If that is meant to be: --write.")
    return int(dear)


if __name__ == "__main__":
    sys.exit(main())
