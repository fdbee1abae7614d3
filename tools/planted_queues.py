"""Does `break` find what is broken, and nothing where nothing is?

    python tools/planted_queues.py defects [--runs 20000]
    python tools/planted_queues.py samplers [--runs 500] [--how random tpe cmaes] [--repeat 5]
    python tools/planted_queues.py figure
    python tools/planted_queues.py equal [--runs 2000] [--searches 100] [--first 1]

`defects` attacks queues with a planted defect, each with the sound queue as its rival, on the space where it should
show; a row each: whether it was found, the median regret of the smallest scenario, its lines, and the seconds of a
core. Two defects are patches, which a copy of the checkout is built with; eight are parameters. `samplers` searches
alike without making anything small, and prints the largest regret that held on fresh seeds; `figure` draws the medians
of docs/data/break-samplers.csv. `equal` attacks CoDel and
PIE with themselves at other seeds, in turns, and counts the searches that report a finding. Exit code 1: fewer than
eight defects, or more than five in a hundred equal searches.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast, get_args

import numpy as np

from earlydrop import breaking, sweeps
from earlydrop.breaking import written
from earlydrop.breaking.search import BEST, FRESH_SEEDS, How, hold, ranked, search
from earlydrop.store import Store
from earlydrop.store.files import Memory
from planted_controls import ROOT, patched

HEAD = """\
duration = "30 s"
warmup = "15 s"
name = "planted"
[topology]
kind = "dumbbell"
pairs = 4
senders = { rate = "1 Gbit/s", delay = { log = ["2 ms", "80 ms"] } }
receivers = { rate = "1 Gbit/s", delay = "1 ms" }
reverse = { rate = "50 Mbit/s", delay = "1 ms" }
bottleneck = { rate = { log = ["2 Mbit/s", "10 Mbit/s"] }, delay = "1 ms" }
[queue.bottleneck]
aqm = "droptail"
"""
SHORTER = HEAD.replace('"30 s"', '"20 s"').replace('"15 s"', '"5 s"')
"""With the window of the spaces that come with earlydrop."""
RTT = 'delay = { log = ["2 ms", "80 ms"] }'
UNLIKE = HEAD.replace(RTT, RTT.replace("{ log", "[{ log").replace("] }", '] }, { log = ["2 ms", "80 ms"] }]'))
"""Hosts of two round-trip times."""
LONG = """\
[[traffic]]
name = "downloads"
kind = "ftp"
tcp = { choice = ["cubic", "reno"] }
stack = "linux-6.18"
count = { whole = [1, 24] }
start = { uniform = ["0 s", "1 s"] }
"""
OTHERS = """\
[[traffic]]
name = "others"
kind = "ftp"
tcp = "bbr"
stack = "linux-6.18"
count = { whole = [1, 8] }
start = { uniform = ["0 s", "1 s"] }
"""
BURSTS = """\
[[traffic]]
name = "bursts"
kind = "requests"
size = { choice = ["100 kB", "1 MB"] }
think = "1 s"
count = { whole = [1, 24] }
tcp = "cubic"
stack = "linux-6.18"
start = { uniform = ["0 s", "1 s"] }
"""
L4S = """\
ecn = true
[[traffic]]
name = "prague"
kind = "ftp"
tcp = "prague"
ecn = true
count = { whole = [1, 8] }
start = { uniform = ["0 s", "1 s"] }
[[traffic]]
name = "cubic"
kind = "ftp"
tcp = "cubic"
stack = "linux-6.18"
count = { whole = [1, 8] }
start = { uniform = ["0 s", "1 s"] }
"""
HOSTS = """\
[[traffic]]
name = "many"
kind = "ftp"
tcp = "cubic"
stack = "linux-6.18"
pairs = [1]
count = { whole = [2, 16] }
start = { uniform = ["0 s", "1 s"] }
[[traffic]]
name = "one"
kind = "ftp"
tcp = "cubic"
stack = "linux-6.18"
pairs = [2]
count = 1
start = { uniform = ["0 s", "1 s"] }
"""
MARKS = """\
ecn = true
[[traffic]]
name = "downloads"
kind = "ftp"
tcp = "cubic"
ecn = true
count = { whole = [1, 24] }
start = { uniform = ["0 s", "1 s"] }
"""


@dataclass(frozen=True)
class Defect:
    """A queue, or a congestion control, that is broken on purpose."""

    name: str
    broken: str
    sound: str
    objective: str
    space: str
    patch: tuple[str, str, str] | None = None
    """File, what stands there, and what stands there with the defect, which a setting of `broken` switches on."""
    tcp: bool = False


WIDE_RED = "red min_th=10 max_th=200 max_p=0.1 limit=400p"
"""With room between the thresholds: early drops, and not `max_th`, keep the queue short."""

DEFECTS = (
    Defect("CoDel, interval x 10", "codel interval=1s", "codel", "delay_p99", HEAD + LONG),
    Defect("RED, no idle decay", "red mean_packet=65535", "red", "utilisation", HEAD + BURSTS + LONG),
    Defect("ARED stuck at 0.02", "ared alpha=0 beta=1", "ared", "delay", HEAD + LONG),
    Defect("FQ-CoDel, two queues", "fq_codel queues=2", "fq_codel", "fairness", UNLIKE + LONG + OTHERS),
    Defect("SFB, p never falls", "sfb d2=0", "sfb", "utilisation", HEAD + LONG),
    Defect("DualPI2, no coupling", "dualpi2 k=0.001", "dualpi2", "fairness", HEAD + L4S),
    Defect("CAKE without hosts", "cake flow_mode=flows", "cake", "fairness:hosts", HEAD + HOSTS),
    Defect("PIE, no burst allowance", "pie max_burst=0s", "pie", "short", HEAD + BURSTS),
    Defect(
        "RED, no clamp at count p >= 1",
        f"{WIDE_RED} count_base=analysis",
        WIDE_RED,
        "delay_p99",
        HEAD + BURSTS + LONG,
        (
            "crates/aqm/src/early_detection/paper.rs",
            "{ spacing::uniform(self.p_b, self.count as f64) }",
            "if self.rules.count_after_drop < 0 { self.p_b / (1.0 - self.count as f64 * self.p_b) } "
            "else { spacing::uniform(self.p_b, self.count as f64) }",
        ),
    ),
    Defect(
        "Sender that ignores ECN",
        "cubic ecn=true",
        "cubic ecn=true",
        "delay_p99",
        (HEAD + MARKS).replace("droptail", "codel"),
        (
            "crates/net/src/tcp/rfc/control/cubic.rs",
            "fn on_mark(&mut self, window: &Window, flight: f64, _: f64) -> f64 {\n",
            "fn on_mark(&mut self, window: &Window, flight: f64, _: f64) -> f64 {\n"
            "        if self.abe {\n            return window.cwnd.max(window.ssthresh);\n        }\n",
        ),
        tcp=True,
    ),
)
"""Ten planted defects. `count_base` and `abe` switch the two patches on, as both sides run in one process."""

COPY = ROOT / "target/planted-queues"
INSIDE = "EARLYDROP_PLANTED_QUEUES"
"""Set where the package is that of the copy."""


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("defects", "samplers", "figure", "equal"))
    parser.add_argument("--runs", type=int, default=0, help="runs of a search (20,000; samplers 500; equal 2,000)")
    parser.add_argument("--how", nargs="+", choices=get_args(How), default=list(get_args(How)))
    parser.add_argument("--repeat", type=int, default=5, help="searches of each defect, by seeds from 1 on")
    parser.add_argument("--searches", type=int, default=100)
    parser.add_argument("--first", type=int, default=1, help="seed of the first search of `equal`")
    parser.add_argument("--only", nargs="*", default=[], help="defects whose name has one of these texts")
    parser.add_argument("--built", action="store_true", help="take the copy as it is")
    given = parser.parse_args()
    if given.what == "equal":
        return _equal(given.runs or 2000, given.searches, given.first)
    if given.what == "figure":
        _figure()
        return 0
    chosen = [one for one in DEFECTS if not given.only or any(text in one.name for text in given.only)]
    inside = bool(os.environ.get(INSIDE))
    if not inside:
        head = HEADS[given.what]
        print(head, flush=True)
    found = 0
    for one in chosen if inside else [one for one in chosen if one.patch is None]:
        if given.what == "samplers":
            found += _samplers(one, given.runs or 500, [cast("How", how) for how in given.how], given.repeat)
        else:
            found += _found(one, given.runs or 20_000)
    if not inside:
        found += _inside([one for one in chosen if one.patch is not None], built=given.built)
        print(f"# {found} of {len(chosen)} found")
    return found if inside else int(given.what == "defects" and found < min(8, len(chosen)))


HEADS = {
    "defects": "defect,objective,scenarios,above,confirmed,regret,lines,core_s",
    "samplers": "defect,objective,search,seed,above,regret,core_s",
}


def _inside(chosen: Sequence[Defect], *, built: bool) -> int:
    """The defects that are patches, in a copy that has them; how many are found."""
    if not chosen:
        return 0
    if not built:
        patched([one.patch for one in DEFECTS if one.patch is not None], COPY, level=3)
    command = [sys.executable, *sys.argv[: sys.argv.index("--only") if "--only" in sys.argv else None]]
    place = {**os.environ, "PYTHONPATH": str(COPY / "source/python"), INSIDE: "1"}
    return subprocess.run([*command, "--only", *(one.name for one in chosen)], env=place, check=False).returncode


def _problem(one: Defect) -> breaking.Problem:
    """A defect and its sound rival, on the space where it should show."""
    by = breaking.objective([one.objective])
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "space.toml"
        file.write_text(one.space, encoding="utf-8")
        if not one.tcp:
            return breaking.problem(file, one.broken, [one.sound], by)
        sound = breaking.problem(file, None, ["reno"], by, tcp=one.sound)
    side = sound.attacked
    return replace(
        sound, attacked=replace(side, title=one.name, tcp={**(side.tcp or {}), "rules": {"abe": True}}), rivals=(side,)
    )


def _found(one: Defect, runs: int) -> bool:
    """Attack a defect, print its row, and say whether it is found and small."""
    begun = time.process_time()
    found = _attack(_problem(one), runs, 1)
    first = found.findings[0] if found.findings else None
    lines = len(written.compact(found.scenario(first)).splitlines()) if first else 0
    _row(
        one,
        len(found.ledger),
        found.above,
        sum(not c.reason for c in found.candidates),
        f"{first.held.median:.3f}" if first else "",
        lines or "",
        f"{time.process_time() - begun:.0f}",
    )
    for k, other in enumerate(found.candidates):
        print(f"# candidate {k + 1}: {other.held.median:.3f} {other.reason}", flush=True)
    if first:
        print(*(f"#   {line}" for line in written.compact(found.scenario(first)).splitlines()), sep="\n", flush=True)
    return 0 < lines <= 15


def _samplers(one: Defect, runs: int, hows: Sequence[How], repeat: int) -> bool:
    """Search for a defect in several ways, and print the largest regret of each that held on fresh seeds."""
    asked = _problem(one)
    largest = 0.0
    for seed in range(1, repeat + 1):
        for how in hows:
            begun = time.process_time()
            made = breaking.Runs(asked, Store(Memory()), sweeps.Threads(None, None))
            ledger = search(asked, made, runs, seed, how)
            held = [
                hold(asked, made, asked.space.document(tried.point), tried.rival, FRESH_SEEDS)
                for tried in ranked(ledger, asked.delta)[:BEST]
            ]
            regret = max((some.median for some in held if some.holds), default=0.0)
            largest = max(largest, regret)
            above = sum(tried.score is not None and tried.score > asked.delta for tried in ledger)
            _row(one, how, seed, above, f"{regret:.3f}", f"{time.process_time() - begun:.0f}")
    return largest > 0


def _figure() -> None:
    """The medians of each way to search, for each defect, in units of the objective's delta."""
    from earlydrop.render import plotting

    found: dict[str, dict[str, list[float]]] = {}
    with (ROOT / "docs/data/break-samplers.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            delta = breaking.objective([row["objective"]]).delta
            found.setdefault(row["defect"], {}).setdefault(row["search"], []).append(float(row["regret"]) / delta)
    with plotting.styled():
        drawing = plotting.figure(plotting.PAGE, 0.6 + 0.3 * len(found))
        ax = drawing.subplots()
        for k, how in enumerate(get_args(How)):
            look = plotting.look(k)
            medians = [float(np.median(by_how[how])) for by_how in found.values()]
            ax.plot(medians, range(len(found)), look.marker, color=look.colour, label=LABELS[how])
        ax.set_yticks(range(len(found)), list(found))
        ax.invert_yaxis()
        ax.grid(axis="y", linewidth=0.4, color="#dddddd")
        ax.set_xlabel("Largest confirmed regret over delta, median of five searches")
        drawing.legend(loc="outside upper right", ncols=len(LABELS))
    plotting.write(drawing, ROOT / "docs/images/break-samplers.png")


LABELS = {"random": "random", "tpe": "TPE", "cmaes": "CMA-ES"}


def _row(one: Defect, *cells: object) -> None:
    print(f'"{one.name}"', one.objective, *cells, sep=",", flush=True)


def _attack(asked: breaking.Problem, runs: int, seed: int) -> breaking.Found:
    executor = sweeps.Threads(None, None)
    try:
        return breaking.attack(asked, breaking.Runs(asked, Store(Memory()), executor), budget=runs, seed=seed, most=1)
    finally:
        executor.close()


def _equal(runs: int, searches: int, first: int) -> int:
    reported = 0
    print("search,aqm,objective,above,found", flush=True)
    for k in range(first - 1, first - 1 + searches):
        aqm, by = ("codel", "pie")[k % 2], ("delay_p99", "fairness")[k // 2 % 2]
        asked = _problem(Defect("", aqm, "droptail", by, SHORTER + LONG))
        asked = replace(asked, rivals=(replace(asked.attacked, first_seed=1_000_000),))
        found = _attack(asked, runs, k + 1)
        reported += bool(found.findings)
        print(k + 1, aqm, by, found.above, int(bool(found.findings)), sep=",", flush=True)
    print(f"# {searches} searches, {reported} with a finding")
    return int(reported * 100 > 5 * searches)


if __name__ == "__main__":
    sys.exit(main())
