"""Speed of earlydrop, and of ns-2, ns-3 and htsim on the same networks where they are installed.

A case is a network of today's transports and queues, or of TCP through RED, run without traces. What counts is the user
time of the run without its set-up. Every run is a fresh process on one pinned core; the tools take turns, so that
whatever else the machine does falls on all of them.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .bench_cases import BASES, CASES, HEADLINE, HOME, Case
from .bench_tools import BenchError, Runner, ours, peer
from .runner import Progress, no_progress
from .terminal import table

RENO = tuple(case.name for case in BASES)
PEERS = {"ns2": RENO, "ns3": HOME, "htsim": RENO, "bare": RENO}
"""The tools to compare with, each with the cases that it runs by default."""
SLOW_S = 20.0
"""A peer whose run took longer than this, s, is run once: the spread does not matter to the ratio."""


def _core() -> int | None:
    """The core to pin to: the last this process may use; None where processes cannot be pinned."""
    try:
        return max(os.sched_getaffinity(0))
    except AttributeError:
        return None


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@contextmanager
def _tools(against: Sequence[str], htsim: Path | None) -> Iterator[tuple[list[Runner], list[str]]]:
    core = _core()
    notes: list[str] = []
    tools = [ours(core)]
    if not against:
        yield tools, notes
        return
    with tempfile.TemporaryDirectory(prefix="earlydrop-bench-") as scratch:
        for name in against:
            found = peer(name, core, Path(scratch), htsim)
            if isinstance(found, str):
                notes.append(f"{name} left out: {found}")
            else:
                tools.append(found)
        yield tools, notes


def run(
    against: Sequence[str] = (),
    cases: Sequence[str] = (),
    runs: int = 5,
    progress: Progress = no_progress,
    htsim: Path | None = None,
) -> dict[str, Any]:
    """Measure `cases` `runs` times here and in the tools of `against`; a tool that is not installed gives a note.

    By default the headline, or the cases of `against`. `htsim`: a checkout of csg-htsim to build that tool from.
    """
    if not hasattr(os, "wait4"):
        raise BenchError(f"bench needs the processor time of a process, which {platform.system()} does not tell")
    for name in against:
        if name not in PEERS:
            raise BenchError(f"cannot run against {name!r}; there are {', '.join(PEERS)}")
    known = {name.lower(): name for name in CASES}
    default = dict.fromkeys(name for peer in against for name in PEERS[peer]) or HEADLINE
    names = [known.get(case.lower(), case) for case in cases or default]
    for name in names:
        if name not in CASES:
            raise BenchError(f"no case named {name!r}; there are {', '.join(CASES)}")
    if runs < 1:
        raise BenchError(f"runs must be at least 1, not {runs}")
    with _tools(list(dict.fromkeys(against)), htsim) as (tools, notes):
        total = len(names) * runs * len(tools)
        measured = []
        for index, name in enumerate(names):
            taken = _take_turns(tools, CASES[name], runs, progress, index * runs * len(tools), total, notes)
            measured.append(_case_report(CASES[name], tools, taken))
        progress(total, total, "done")
        pinned = tools[0].core
    return {
        "machine": {"processor": _processor(), "cores": os.cpu_count(), "pinned_to_core": pinned},
        "runs": runs,
        "cases": measured,
        "notes": notes,
    }


def _take_turns(
    tools: Sequence[Runner], case: Case, runs: int, progress: Progress, done: int, total: int, notes: list[str]
) -> dict[str, list[dict[str, Any]]]:
    """A B A B: each round runs every tool once."""
    taken: dict[str, list[dict[str, Any]]] = {tool.name: [] for tool in tools}
    failed = [tool.name for tool in tools if not tool.runs(case)]
    notes += [f"case {case.name}: not one of {name}'s" for name in failed]
    for _ in range(runs):
        for tool in tools:
            progress(done, total, f"case {case.name}, {tool.name}")
            done += 1
            before = taken[tool.name]
            slow = tool.name in PEERS and before and before[-1]["user_s"] + before[-1]["setup_user_s"] > SLOW_S
            if slow or tool.name in failed:
                continue
            try:
                before.append(tool.measure(case))
            except BenchError as error:
                if tool is tools[0]:
                    raise
                failed.append(tool.name)
                notes.append(f"case {case.name}: {tool.name} failed: {error}")
    return taken


def _case_report(case: Case, tools: Sequence[Runner], taken: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    rows = []
    for tool in tools:
        runs = taken[tool.name]
        if not runs:
            continue
        # Where set-up and whole run are two processes, the difference of the medians is steadier than the median of
        # the differences.
        setup = statistics.median(r["setup_user_s"] for r in runs)
        whole = statistics.median(r.get("total_user_s", r["user_s"] + setup) for r in runs)
        # A busy machine can stretch the short run beyond the long one: then their difference says nothing.
        user = max(whole - setup, 0.0)
        hops = case.hops(runs[0]["arrivals"], runs[0]["drops"])
        rows.append(
            {
                "tool": tool.name,
                "how": tool.note,
                "runs": len(runs),
                "user_s": user,
                "user_s_min": min(r["user_s"] for r in runs),
                "user_s_max": max(r["user_s"] for r in runs),
                "setup_user_s": setup,
                "arrivals": runs[0]["arrivals"],
                "drops": runs[0]["drops"],
                "events": runs[0]["events"],
                "events_per_packet": runs[0]["events"] / runs[0]["arrivals"],
                "packets_per_s": runs[0]["arrivals"] / user if user > 0 else None,
                "ns_per_hop": user * 1e9 / hops if hops else None,
                "peak_rss_mb": max(r["peak_rss_mb"] for r in runs),
            }
        )
    ours = rows[0]
    for row in rows[1:]:
        row["ratio"] = row["user_s"] / ours["user_s"] if min(row["user_s"], ours["user_s"]) > 0 else None
        row["memory_ratio"] = row["peak_rss_mb"] / ours["peak_rss_mb"]
    return {"case": case.name, "scenario": case.document(), "stepped": case.stepped, "tools": rows}


def render(report: dict[str, Any]) -> str:
    """The measurements as a table: medians, and how many times longer each peer took."""
    machine = report["machine"]
    pinned = machine["pinned_to_core"]
    where = f"{machine['processor']}, " + ("not pinned" if pinned is None else f"pinned to core {pinned}")
    lines = [f"User time of the run without set-up, median; {where}", ""]
    head = ["case", "tool", "runs", "user s", "packets/s", "ns/hop", "events", "peak MB", "ratio", "set-up s"]
    rows = []
    for case in report["cases"]:
        for index, row in enumerate(case["tools"]):
            speed = "" if row["packets_per_s"] is None else f"{row['packets_per_s']:,.0f}"
            hop = "" if row["ns_per_hop"] is None else f"{row['ns_per_hop']:.0f}"
            ratio = f"{row['ratio']:.1f}" if row.get("ratio") is not None else ""
            name, counts = "" if index else case["case"], [str(row["runs"]), f"{row['user_s']:.3f}", speed, hop]
            more = [f"{row['events_per_packet']:.2f}", f"{row['peak_rss_mb']:.1f}", ratio, f"{row['setup_user_s']:.3f}"]
            rows.append([name, row["tool"], *counts, *more])
    lines.append(table(head, rows, left=2))
    lines += ["", "events: for each arrival at a queue"]
    hows = {row["tool"]: row["how"] for case in report["cases"] for row in case["tools"]}
    lines += [f"{tool}: {how}" for tool, how in hows.items()]
    lines += [f"note: {note}" for note in report["notes"]]
    return "\n".join(lines)


def _measure_here(name: str) -> dict[str, Any]:
    """Run one case in this process and measure its cost."""
    import resource

    import earlydrop._core as _core

    case = CASES[name]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    scenario = _core.Scenario.parse(case.document(), [])
    built = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    result = json.loads(scenario.run(1, links="stepped" if case.stepped else "auto"))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    queues = result["queues"].values()
    return {
        "user_s": after - built,
        "setup_user_s": built - before,
        "arrivals": sum(queue["arrivals"] for queue in queues),
        "drops": sum(queue[f"{why}_drops"] for queue in queues for why in ("early", "forced", "overflow")),
        "events": result["cost"]["events"],
        **_peak_memory(),
    }


def _peak_memory() -> dict[str, float]:
    """Peak memory of this process, where the kernel reports it."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return {}
    peaks = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return {"peak_rss_mb": int(peaks[0]) / 1024} if peaks else {}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_measure_here(sys.argv[1])) + "\n")
