"""The price of a decision: nanoseconds and instructions for an arrival and its departure.

python benches/decisions.py                              print the tables
python benches/decisions.py --write docs/performance.md  and put them there, with all rows in data/decisions.csv and
                                                         data/decision-sizes.csv beside the page
python benches/decisions.py --no-times                   instructions only; with --write the data keep their times, and
                                                         only rows that are new get theirs
python benches/decisions.py --new                        measure only disciplines that have no row yet, and add theirs

Each that writes also renews studies/rfc7928/cost.csv, which has what a decision costs and what the catalogue says; the
words for what a discipline keeps stay as they stand there.

Cases: `benches/decisions.rs`.

Instructions are those of six passes less those of two, by four: what building and filling cost falls out. They are
counted by the processor where the system lets one (perf), else by valgrind, which is slow and exact, and so are loads
and stores that miss the first cache (valgrind's is 32 KiB, 8 ways). They do not depend on what else the machine does;
times do.
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
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- decisions: made by benches/decisions.py -->", "<!-- /decisions -->"

DATA, SIZE_DATA = "data/decisions.csv", "data/decision-sizes.csv"
"""Beside the page: the disciplines, and what grows with a size."""
PAGE, COSTS = ROOT / "docs" / "performance.md", ROOT / "studies" / "rfc7928" / "cost.csv"

SHOWN = (
    "droptail",
    "red",
    "nlred",
    "tred",
    "choke",
    "sfb",
    "sfred",
    "ddred",
    "floadautored",
    "codel",
    "pie",
    "fq",
    "fq_codel",
    "fq_pie",
    "cake",
    "dualpi2",
)
"""Disciplines on the page."""

RED_FAMILY = ("RED and its curves", "adaptive RED")
RED_BOUND = 1.5

FLAT = 1.15
"""FQ-CoDel by active flows, in instructions: its time is that of the memory it touches."""

SIZES = [
    # what grows, discipline, from which size, the bound; None where nothing is promised.
    ("flows, all listed", "sfred", 16, 1.3),
    ("flows, 4 for each place", "sfred", 16, 1.3),
    ("packets of buffer", "red", 50, None),
    ("packets of buffer", "choke", 50, 2.0),
    ("packets of buffer", "ddred", 50, 2.0),
    ("packets of buffer", "ddtail", 50, 2.0),
    ("active flows", "fq_codel", 1, FLAT),
    ("active flows", "fq_pie", 1, None),
    ("active flows, 100 Mbit/s", "fq_pie", 1, None),
    ("active flows", "sfq", 1, None),
    ("active flows", "drr", 1, None),
    ("active flows", "fq", 1, None),
]

CAKE_BOUND, CAKE_FLOWS = 1.5, 64
"""CAKE with one tin, fair between flows, against FQ-CoDel, in instructions, up to so many flows."""

MEASURES = [("least_ns", "ns", ".0f"), ("instructions", "instructions", ".0f"), ("misses", "cache misses", ".1f")]

Row = dict[str, Any]


def program() -> Path:
    """Builds the bench; its executable."""
    command = ["cargo", "bench", "--quiet", "-p", "earlydrop-aqm", "--bench", "decisions", "--no-run"]
    told = subprocess.run([*command, "--message-format=json"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    for line in told.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "decisions":
            return Path(message["executable"])
    raise SystemExit("cargo built no bench")


def _numbers(pattern: str, text: str) -> list[int]:
    return [int(found.replace(",", "")) for found in re.findall(pattern, text, re.MULTILINE)]


def counters() -> Iterable[tuple[str, Callable[[Sequence[str]], list[int]]]]:
    """The ways to count a command's instructions and first-level misses, the best first."""

    def run(wrapped: Sequence[str]) -> str:
        return subprocess.run(wrapped, capture_output=True, text=True, check=True).stderr

    if shutil.which("perf"):
        perf = ["perf", "stat", "-x", ";", "-e", "instructions:u,L1-dcache-load-misses:u"]
        yield "the processor", lambda command: _numbers(r"^(\d+);", run([*perf, *command]))
    if shutil.which("valgrind"):
        cache = ["--cache-sim=yes", "--D1=32768,8,64"]
        grind = ["valgrind", "--tool=cachegrind", *cache, f"--cachegrind-out-file={os.devnull}"]
        yield "valgrind", lambda command: _numbers(r"(?:I\s+refs|D1\s+misses):\s+([\d,]+)", run([*grind, *command]))


def count(bench: Path, rows: Sequence[Row], progress: Callable[[str], None]) -> str | None:
    """Adds `instructions` and `misses` to each row; how they were counted."""
    for how, counted in counters():
        if len(counted(["true"])) != 2:
            continue

        def add(row: Row, counted: Callable[[Sequence[str]], list[int]] = counted) -> None:
            few, many = (counted([str(bench), "--work", row["case"], str(passes)]) for passes in (2, 6))
            packets = 4 * row["packets"]
            # A handful of misses more or less in a pass, where there are none, is no number below 0.
            row["instructions"], row["misses"] = (max(0, b - a) / packets for a, b in zip(few, many, strict=True))
            progress(row["case"])

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(add, rows))
        return how
    return None


# ---- tables --------------------------------------------------------------------------------------------------------


def cell(value: float | None, form: str = ".0f") -> str:
    return "" if value is None else format(value, form)


def ratio(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one / other


def beyond(row: Row, queue: Row, measure: str) -> float | None:
    """What the policy costs without its queue: less DropTail's."""
    return None if row.get(measure) is None else row[measure] - queue[measure]


def catalogue_table(rows: Sequence[Row], family: Mapping[str, str]) -> Iterable[list[str]]:
    """Each discipline, with its ratio to RED: in time, in instructions, and in instructions without the queue."""
    by_name = {row["aqm"]: row for row in rows if row["grows"] is None}
    red, queue = by_name["red"], by_name["droptail"]
    yield ["discipline", "ns", "ns, of RED", "instructions", "of RED's", "policy alone, of RED's", "dropped", "bound"]
    for name, row in by_name.items():
        ns, instructions = row.get("least_ns"), row.get("instructions")
        alone = ratio(beyond(row, queue, "instructions"), beyond(red, queue, "instructions"))
        yield [
            f"`{name}`",
            cell(ns),
            cell(ratio(ns, red.get("least_ns")), ".2f"),
            cell(instructions),
            cell(ratio(instructions, red.get("instructions")), ".2f"),
            cell(alone, ".2f"),
            f"{row['drop_rate'] * 100:.1f} %",
            str(RED_BOUND) if family[name] in RED_FAMILY else "",
        ]


def size_table(rows: Sequence[Row]) -> Iterable[list[str]]:
    """Each thing that grows at every size, and CAKE by what its user asks for, with its ratio to FQ-CoDel."""
    yield ["what grows", "size", "discipline", *(unit for _, unit, _ in MEASURES), "of FQ-CoDel"]
    for grows, aqm, *_ in SIZES:
        for row in rows:
            if (row["grows"], row["aqm"]) == (grows, aqm):
                yield [grows, str(row["size"]), f"`{aqm}`", *(cell(row.get(m), form) for m, _, form in MEASURES), ""]
    for row, found in against_fq_codel(rows):
        measures = (cell(row.get(m), form) for m, _, form in MEASURES)
        yield [row["grows"], str(row["size"]), "`cake`", *measures, cell(found, ".2f")]


def against_fq_codel(rows: Sequence[Row]) -> Iterable[tuple[Row, float | None]]:
    """CAKE's rows by flows and by mode, each with its ratio to FQ-CoDel in instructions."""
    fq_codel = {row["size"]: row for row in rows if (row["aqm"], row["grows"]) == ("fq_codel", "active flows")}
    for row in rows:
        if row["aqm"] == "cake" and row["grows"] is not None:
            yield row, ratio(row.get("instructions"), fq_codel[row["size"]].get("instructions"))


def judged(rows: Sequence[Row], family: Mapping[str, str]) -> Iterable[tuple[bool, str]]:
    """Each bound: whether it holds, and a line."""
    by_case = {row["case"]: row for row in rows}
    red = by_case["red"]
    for measure, unit in (("least_ns", "time"), ("instructions", "instructions")):
        if measure not in red:
            continue
        worst = max(
            (row for row in rows if row["grows"] is None and family[row["aqm"]] in RED_FAMILY),
            key=lambda row: float(row[measure]),
        )
        found = worst[measure] / red[measure]
        yield found <= RED_BOUND, f"RED family, {unit}: {found:.2f} of RED at most ({worst['aqm']}), bound {RED_BOUND}"
        for grows, aqm, low, bound in SIZES:
            if bound is None or (bound == FLAT and measure != "instructions"):
                continue
            own = [row for row in rows if (row["grows"], row["aqm"]) == (grows, aqm)]
            last = max(own, key=lambda row: int(row["size"]))
            found = last[measure] / by_case[f"{aqm} {grows} {low}"][measure]
            yield found <= bound, f"{aqm}, {grows} {low} to {last['size']}, {unit}: {found:.2f}, bound {bound}"


def judged_cake(rows: Sequence[Row]) -> Iterable[tuple[bool, str]]:
    """CAKE's bound, and a line."""
    own = [(row, found) for row, found in against_fq_codel(rows) if row["grows"] == "active flows"]
    found = max(found for row, found in own if found is not None and row["size"] <= CAKE_FLOWS)
    yield found <= CAKE_BOUND, f"cake, to {CAKE_FLOWS} flows, instructions: {found:.2f} of FQ-CoDel, bound {CAKE_BOUND}"


def section(rows: Sequence[Row], family: Mapping[str, str], how: str | None) -> str:
    """What stands between the marks in the page."""
    lines = [f"Instructions and cache misses counted by {how}." if how else "Instructions were not counted.", ""]
    head, *table = catalogue_table(rows, family)
    lines += [f"| {' | '.join(head[:-1])} |", "|---|---|---|---|---|---|---|"]
    for name, *cells, bound in table:
        if name.strip("`") in SHOWN:
            lines.append(f"| {name}{' *' if bound else ''} | {' | '.join(cells)} |")
    lines += ["", f"\\* bounded by {RED_BOUND} of RED. All disciplines:", "", f"[{DATA}]({DATA})", ""]
    lines += [
        "By the size of lists, buffers and active flows, and CAKE by its modes:",
        "",
        f"[{SIZE_DATA}]({SIZE_DATA})",
    ]
    return "\n".join(lines) + "\n"


def write(page: Path, rows: Sequence[Row], family: Mapping[str, str], how: str | None) -> None:
    """Renews the page and the data beside it."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{page}: no {BEGIN} and {END}")
    page.write_text(f"{before}{BEGIN}\n\n{section(rows, family, how)}\n{END}{after}", encoding="utf-8")
    for place, table in ((DATA, catalogue_table(rows, family)), (SIZE_DATA, size_table(rows))):
        (page.parent / place).parent.mkdir(exist_ok=True)
        with (page.parent / place).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(table)


def table_of(place: Path) -> dict[str, dict[str, str]]:
    """The rows of a stored table, by the discipline in their first column."""
    with place.open(encoding="utf-8", newline="") as file:
        return {next(iter(row.values())).strip("`"): row for row in csv.DictReader(file)}


def write_costs(place: Path, entries: Sequence[Mapping[str, Any]], instructions: Mapping[str, str]) -> None:
    """Renews the costs of the study of RFC 7928."""
    stored = table_of(place)
    rows = [
        ["Discipline", "Instructions a packet", "Timer", "Kept beside the packets", "Parameters", "Of these automatic"]
    ]
    for entry in entries:
        name, parameters = entry["name"], entry["parameters"]
        known = stored.get(name, {"Timer": entry.get("timer", "none"), "Kept beside the packets": "some numbers"})
        automatic = sum(p["default"] == "auto" for p in parameters)
        words = [known["Timer"], known["Kept beside the packets"]]
        rows.append([name, instructions[name], *words, str(len(parameters)), str(automatic)])
    with place.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def add_new(page: Path, costs: Path, entries: Sequence[dict[str, Any]]) -> list[str]:
    """Measures disciplines without a row, and adds theirs at their places; which these are."""
    place = page.parent / DATA
    stored = table_of(place)
    new = [entry for entry in entries if entry["name"] not in stored]
    rows: list[Row] = []
    for name in ("droptail", "red"):
        had = stored[name]
        rate = float(had["dropped"].rstrip(" %")) / 100
        cells = {"least_ns": float(had["ns"]), "instructions": float(had["instructions"]), "drop_rate": rate}
        rows.append({"aqm": name, "grows": None, **cells})
    bench = program() if new else None
    for entry in new:
        told = [str(bench), "--bench", "--json", "--only", entry["name"]]
        measured: list[Row] = json.loads(subprocess.run(told, check=True, stdout=subprocess.PIPE, text=True).stdout)
        if count(bench, measured, lambda _: None) is None:
            raise SystemExit("decisions: neither perf nor valgrind counts instructions here")
        entry["timer"] = "fixed" if measured[0]["timer"] else "none"
        rows += measured
    head, *made = catalogue_table(rows, {entry["name"]: entry["family"] for entry in entries})
    found = {row[0].strip("`"): row for row in made[2:]} | {name: list(row.values()) for name, row in stored.items()}
    with place.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *(found[entry["name"]] for entry in entries)])
    write_costs(costs, entries, {name: row[3] for name, row in found.items()})
    return [entry["name"] for entry in new]


def stored_times(page: Path, rows: Sequence[Row]) -> None:
    """Gives the rows the times that the data beside the page have; one that is not there keeps its own."""
    times: dict[tuple[str | None, str, int], str] = {}
    with (page.parent / DATA).open(encoding="utf-8", newline="") as file:
        times |= {(None, line["discipline"].strip("`"), 0): line["ns"] for line in csv.DictReader(file)}
    with (page.parent / SIZE_DATA).open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            times[line["what grows"], line["discipline"].strip("`"), int(line["size"])] = line["ns"]
    for row in rows:
        size = 0 if row["grows"] is None else row["size"]
        if found := times.get((row["grows"], row["aqm"], size)):
            row["least_ns"] = float(found)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if every bound holds by instructions (by time, where none were counted), else 1."""
    parser = argparse.ArgumentParser(description="nanoseconds and instructions per decision")
    parser.add_argument("--write", type=Path, help="page whose tables are renewed")
    parser.add_argument("--no-times", action="store_true", help="count instructions only")
    parser.add_argument("--no-instructions", action="store_true", help="measure times only")
    parser.add_argument("--new", action="store_true", help="measure only disciplines without a row, and add it")
    given = parser.parse_args(arguments)
    from earlydrop import _core

    entries = json.loads(_core.catalogue())
    if given.new:
        print(f"new: {', '.join(add_new(given.write or PAGE, COSTS, entries)) or 'none'}")
        return 0

    bench = program()
    told = subprocess.run([str(bench), "--bench", "--json"], check=True, stdout=subprocess.PIPE, text=True)
    rows: list[Row] = json.loads(told.stdout)
    if given.no_times and given.write:
        stored_times(given.write, rows)
    elif given.no_times:
        for row in rows:
            del row["least_ns"], row["median_ns"]
    how = None
    if not given.no_instructions:
        how = count(bench, rows, lambda case: print(f"\r{case:<60}", end="", file=sys.stderr))
        print(f"\r{'':<60}\r", end="", file=sys.stderr)

    family = {entry["name"]: entry["family"] for entry in entries}
    text = section(rows, family, how)
    print(text)
    verdicts = [*judged(rows, family), *(judged_cake(rows) if how else ())]
    for holds, line in verdicts:
        print("holds" if holds else "FAILS", line)
    if given.write:
        write(given.write, rows, family, how)
        write_costs(COSTS, entries, {row["aqm"]: cell(row.get("instructions")) for row in rows if row["grows"] is None})
    decisive = [holds for holds, line in verdicts if how is None or "instructions" in line]
    return 0 if all(decisive) else 1


if __name__ == "__main__":
    sys.exit(main())
