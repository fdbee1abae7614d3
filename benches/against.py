"""Speed beside ns-2, ns-3 and htsim, as the table of docs/performance.md.

python benches/against.py [--runs 9] [--against bare ns2 ns3 htsim] [--htsim FOLDER] [--write PAGE] [CASE ...]

It builds the engines and prints the table; with --write it replaces the one in that page, and all rows in
data/against.csv beside it, where htsim's stay if it is not measured. What is measured, and how: benches/README.md.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from earlydrop import bench, terminal  # noqa: E402

LEFT_OUT = {"B-spread", "B-stepped", "C-spread", "C-stepped", "N10"}
CASES = [case for case in bench.CASES if case not in LEFT_OUT]
OURS = ("earlydrop", "bare")
BEGIN = "<!-- against: made by benches/against.py -->"
END = "<!-- /against -->"
DATA = "data/against.csv"
"""Beside the page: all rows, those of `bare` among them."""
HEAD = ["case", "tool", "s", "packets/s", "ns a hop", "events a packet", "peak, MB", "ratio", "ratio to bare", "date"]


def rows(found: dict[str, Any]) -> list[list[str]]:
    """What was measured."""
    lines = []
    for case in found["cases"]:
        ours = {row["tool"]: row for row in case["tools"] if row["tool"] in OURS}
        counts = {tuple(row[count] for count in ("arrivals", "drops", "events")) for row in ours.values()}
        if len(counts) > 1:
            raise SystemExit(f"case {case['case']}: without statistics the engine runs otherwise: {counts}")
        bare = ours.get("bare", {}).get("user_s")
        for row in case["tools"]:
            to_bare = f"{row['user_s'] / bare:.1f}" if bare and row["tool"] not in OURS else ""
            ratio = "" if row.get("ratio") is None else f"{row['ratio']:.1f}"
            numbers = (f"{row['user_s']:.3g}", f"{row['packets_per_s']:.0f}", f"{row['ns_per_hop']:.0f}")
            events, peak = f"{row['events_per_packet']:.2f}", f"{row['peak_rss_mb']:.0f}"
            today = date.today().isoformat()
            lines.append([case["case"], row["tool"], *numbers, events, peak, ratio, to_bare, today])
    return lines


def with_htsim(lines: list[list[str]], stored: Path) -> list[list[str]]:
    """`lines`, with htsim's stored rows if it is not among them: its folder was not named."""
    if not stored.exists() or any(line[1] == "htsim" for line in lines):
        return lines
    with stored.open(encoding="utf-8", newline="") as file:
        kept = [[row[name] for name in HEAD] for row in csv.DictReader(file) if row["tool"] == "htsim"]
    order = list(dict.fromkeys(line[0] for line in lines))
    return sorted(lines + [line for line in kept if line[0] in order], key=lambda line: order.index(line[0]))


def build() -> None:
    """The engine, and the one without statistics."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "earlydrop-sim", "--bin", "earlydrop-engine"]
    subprocess.run(command, cwd=ROOT, check=True)
    bare = {**os.environ, "RUSTFLAGS": "--cfg no_statistics"}
    subprocess.run([*command, "--target-dir", "target/bare"], cwd=ROOT, check=True, env=bare)


def table(found: dict[str, Any], lines: list[list[str]], load: float) -> str:
    """The page's table."""
    machine = found["machine"]
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    text = [
        f"{date.today():%-d %B %Y}, {machine['processor']}, {machine['cores']} cores, load {load:.0f}.",
        f"{compiler}. Medians of {found['runs']} runs in turns, each on one core.",
        "",
        *shown(lines),
        "",
        f"With packets/s and `bare`'s own rows:\n\n[{DATA}]({DATA})",
    ]
    return "\n".join([*text, *("\n" + note for note in found["notes"] if " failed: " in note)])


def shown(lines: list[list[str]]) -> list[str]:
    """The rows that stand on the page; a row of another day has its date."""
    made = ["| case | tool | s | ns a hop | events a packet | peak, MB | ratio |", "|---|---|---|---|---|---|---|"]
    for case, tool, user_s, _, per_hop, events, peak, ratio, to_bare, day in lines:
        if tool != "bare":
            both = f"{ratio} ({to_bare})" if to_bare else ratio
            name = tool if day == date.today().isoformat() else f"{tool}, {day}"
            made.append(f"| {case} | {name} | {user_s} | {per_hop} | {events} | {peak} | {both} |")
    return made


def main() -> int:
    """Measures, prints, and writes if asked to."""
    parser = argparse.ArgumentParser(description="Speed beside other simulators.")
    parser.add_argument("cases", nargs="*", default=CASES, metavar="CASE", help=f"of {', '.join(bench.CASES)}")
    parser.add_argument("--against", nargs="*", default=list(bench.PEERS), choices=bench.PEERS)
    parser.add_argument("--htsim", type=Path, help="a checkout of csg-htsim")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--write", type=Path, help="the page whose table is replaced")
    given = parser.parse_args()
    build()
    with terminal.Progress() as progress:
        found = bench.run(given.against, given.cases, given.runs, progress, given.htsim)
    stored = (given.write or ROOT / "docs" / "performance.md").parent / DATA
    lines = with_htsim(rows(found), stored)
    text = table(found, lines, os.getloadavg()[2])
    print(text)
    if given.write:
        page = given.write.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        _, after = rest.split(END)
        given.write.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
        stored.parent.mkdir(exist_ok=True)
        with stored.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([HEAD, *lines])
    return 0


if __name__ == "__main__":
    sys.exit(main())
