"""Does `break` find what is broken, and nothing where nothing is?

    python tools/planted_queues.py defects [--runs 20000] [--how random tpe cmaes] [--repeat 1]
    python tools/planted_queues.py equal [--runs 2000] [--searches 100]

`defects` attacks queues with a planted defect, each with the sound queue as its rival, on the space where it should
show; a row each: whether it was found, the median regret of the smallest scenario and its lines. `equal` attacks CoDel
and PIE with themselves at other seeds, in turns, and counts the searches that report a finding. Exit code 1: fewer
than eight defects, or more than five in a hundred equal searches.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast, get_args

from earlydrop import breaking, sweeps
from earlydrop.breaking import written
from earlydrop.breaking.search import How
from earlydrop.store import Store
from earlydrop.store.files import Memory

HEAD = """\
duration = "20 s"
warmup = "5 s"
name = "planted"
[topology]
kind = "dumbbell"
pairs = 4
senders = { rate = "1 Gbit/s", delay = { log = ["2 ms", "80 ms"] } }
receivers = { rate = "1 Gbit/s", delay = "1 ms" }
reverse = { rate = "50 Mbit/s", delay = "1 ms" }
bottleneck = { rate = { log = ["3 Mbit/s", "40 Mbit/s"] }, delay = "1 ms" }
[queue.bottleneck]
aqm = "droptail"
"""
LONG = """\
[[traffic]]
name = "downloads"
kind = "ftp"
tcp = { choice = ["cubic", "reno"] }
stack = "linux-6.18"
count = { whole = [1, 24] }
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


@dataclass(frozen=True)
class Defect:
    """A queue that is broken on purpose."""

    name: str
    broken: str
    sound: str
    objective: str
    space: str


DEFECTS = (
    Defect("CoDel, interval x 10", "codel interval=1s", "codel", "delay_p99", HEAD + LONG),
    Defect("RED, no idle decay", "red mean_packet=65535", "red", "utilisation", HEAD + BURSTS + LONG),
    Defect("ARED stuck at 0.02", "ared alpha=0 beta=1", "ared", "delay", HEAD + LONG),
    Defect("FQ-CoDel, two queues", "fq_codel queues=2", "fq_codel", "fairness", HEAD + LONG),
    Defect("SFB, p never falls", "sfb d2=0", "sfb", "utilisation", HEAD + LONG),
    Defect("DualPI2, no coupling", "dualpi2 k=0.001", "dualpi2", "fairness", HEAD + L4S),
    Defect("CAKE without hosts", "cake flow_mode=flows", "cake", "fairness:hosts", HEAD + HOSTS),
    Defect("PIE, no burst allowance", "pie max_burst=0s", "pie", "short", HEAD + BURSTS),
)
"""Of ten planted defects, the eight that a parameter makes."""


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("defects", "equal"))
    parser.add_argument("--runs", type=int, default=0, help="runs of a search (20,000; equal: 2,000)")
    parser.add_argument("--how", nargs="+", choices=get_args(How), default=["random"])
    parser.add_argument("--repeat", type=int, default=1, help="searches of each defect, by seeds from 1 on")
    parser.add_argument("--searches", type=int, default=100)
    parser.add_argument("--only", nargs="*", default=[], help="defects whose name has one of these texts")
    given = parser.parse_args()
    if given.what == "equal":
        return _equal(given.runs or 2000, given.searches)
    return _defects(given.runs or 20_000, [cast("How", how) for how in given.how], given.repeat, given.only)


def _attack(
    space: str, broken: str, sound: str, objective: str, runs: int, seed: int, how: How, *, equal: bool = False
) -> breaking.Found:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "space.toml"
        file.write_text(space, encoding="utf-8")
        asked = breaking.problem(file, broken, [sound], breaking.objective([objective]))
    if equal:
        asked = replace(asked, rivals=(replace(asked.attacked, first_seed=1_000_000),))
    executor = sweeps.Threads(None, None)
    try:
        made = breaking.Runs(asked, Store(Memory()), executor)
        return breaking.attack(asked, made, budget=runs, seed=seed, how=how)
    finally:
        executor.close()


def _defects(runs: int, hows: list[How], repeat: int, only: list[str]) -> int:
    found_at_all = 0
    chosen = [one for one in DEFECTS if not only or any(text in one.name for text in only)]
    print("defect,objective,search,seed,above,found,regret,lines,seconds")
    for one in chosen:
        once = False
        for how in hows:
            for seed in range(1, repeat + 1):
                begun = time.monotonic()
                found = _attack(one.space, one.broken, one.sound, one.objective, runs, seed, how)
                first = found.findings[0] if found.findings else None
                lines = len(written.compact(found.scenario(first)).splitlines()) if first else 0
                regret = f"{first.held.median:.3f}" if first else ""
                once = once or (first is not None and lines <= 15)
                took = time.monotonic() - begun
                row = [
                    f'"{one.name}"',
                    one.objective,
                    how,
                    seed,
                    found.above,
                    bool(first),
                    regret,
                    lines,
                    f"{took:.0f}",
                ]
                print(*row, sep=",", flush=True)
                if first is None:
                    for candidate in found.candidates:
                        print(f"# {candidate.held.median:.3f}: {candidate.reason}", flush=True)
        found_at_all += once
    print(f"# {found_at_all} of {len(chosen)} found")
    return int(found_at_all < min(8, len(chosen)))


def _equal(runs: int, searches: int) -> int:
    reported = 0
    for k in range(searches):
        aqm = ("codel", "pie")[k % 2]
        found = _attack(
            HEAD + LONG, aqm, "droptail", ("delay_p99", "fairness")[k // 2 % 2], runs, k + 1, "random", equal=True
        )
        reported += bool(found.findings)
        print(f"{k + 1} searches, {reported} with a finding", flush=True)
    return int(reported * 100 > 5 * searches)


if __name__ == "__main__":
    sys.exit(main())
