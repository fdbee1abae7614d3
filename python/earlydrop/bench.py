"""Speed of earlydrop, and of ns-2 and ns-3 on the same networks where they are installed.

A case is a dumbbell of TCP flows through one RED queue, run without traces. What counts is the user time of the
run without its set-up. Every run is a fresh process on one pinned core; the tools take turns, so that whatever
else the machine does falls on all of them.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from .bench_cases import BASES, Case
from .errors import EarlydropError
from .runner import Progress, no_progress

ENGINE = "EARLYDROP_ENGINE"
"""Environment variable that names the program `earlydrop-engine`."""

PEERS = ("ns2", "ns3")
SLOW_S = 20.0
"""A peer whose run took longer, s, is run once: the spread does not matter to the ratio."""


class BenchError(EarlydropError):
    """A benchmark is not possible. The message says why."""


class BenchFailure(BenchError):
    """A measured tool failed."""


CASES: dict[str, Case] = {
    case.name: case
    for case in (
        *BASES,
        *(replace(c, name=f"{c.name}-spread", spread=True) for c in BASES),
        *(replace(c, name=f"{c.name}-stepped", stepped=True) for c in BASES),
        Case("N10", 100, 10, 100, 60, 10, 30, routers=10),
        Case("N100", 1000, 10, 10, 60, 10, 30, routers=100),
        Case("N1000", 10000, 10, 2, 60, 10, 30, routers=1000),
    )
}
"""A, B, C; with `-spread` every access delay differs, with `-stepped` earlydrop runs every hop as events. N10 to N1000
are random networks of so many routers, for earlydrop alone."""


class Runner:
    """A tool that runs a case once and measures its cost."""

    name = ""
    note = ""

    def __init__(self, core: int | None) -> None:
        self.core = core

    def measure(self, case: Case) -> dict[str, Any]:
        """user_s, setup_user_s, peak_rss_mb and, where known, total_user_s, arrivals, drops and events."""
        raise NotImplementedError

    def process(self, command: Sequence[str | Path], env: dict[str, str] | None = None) -> tuple[str, float, float]:
        """Run a program; its output, user seconds and peak memory in MB.

        The kernel hands a parent's peak on to its child, so a program's own account of its memory is better.
        """
        pinned = [str(word) for word in command]
        pin = None if self.core is None else partial(os.sched_setaffinity, 0, {self.core})
        with tempfile.TemporaryFile("w+") as errors:
            child = subprocess.Popen(
                pinned,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **(env or {})},
                preexec_fn=pin,
            )
            assert child.stdout is not None
            try:
                output = child.stdout.read()
                _, status, usage = os.wait4(child.pid, 0)
            except BaseException:
                child.kill()
                child.wait()
                raise
            child.returncode = os.waitstatus_to_exitcode(status)
            child.stdout.close()
            if child.returncode:
                errors.seek(0)
                last = (errors.read().strip().splitlines() or ["no message"])[-1]
                raise BenchFailure(f"{Path(pinned[0]).name} ended with code {child.returncode}: {last}")
        # Linux counts ru_maxrss in kB, macOS in bytes.
        scale = 1024.0 if sys.platform != "darwin" else 1024.0 * 1024.0
        return output, usage.ru_utime, usage.ru_maxrss / scale


class Engine(Runner):
    """earlydrop's engine as a small program: no Python in its time and memory."""

    name = "earlydrop"

    def __init__(self, core: int | None, program: Path) -> None:
        super().__init__(core)
        self.program = program
        self.note = "engine alone (earlydrop-engine)"

    def measure(self, case: Case) -> dict[str, Any]:
        command: list[str | Path] = [self.program, case.base]
        if case.stepped:
            command += ["--links", "stepped"]
        if case.spread:
            command.append("--spread")
        output, _, peak = self.process(command)
        return {"peak_rss_mb": peak, **json.loads(output)}


class PythonModule(Runner):
    """earlydrop through its Python module, in a fresh interpreter."""

    name = "earlydrop"
    note = "through Python: the peak memory includes the interpreter"

    def measure(self, case: Case) -> dict[str, Any]:
        package = str(Path(__file__).resolve().parent.parent)
        path = os.pathsep.join(p for p in (package, os.environ.get("PYTHONPATH")) if p)
        output, _, peak = self.process([sys.executable, "-m", "earlydrop.bench", case.name], {"PYTHONPATH": path})
        return {"peak_rss_mb": peak, **json.loads(output)}


class Ns2(Runner):
    """ns-2 with the packet headers it needs and no others, and explicit routes."""

    name = "ns2"
    note = "ns-2, lean headers, static routes; user time less that of a run which ends at 0.1 ms"

    def __init__(self, core: int | None, program: str, script: Path, scratch: Path) -> None:
        super().__init__(core)
        self.program = program
        self.script = script
        self.scratch = scratch
        self.counted: dict[str, dict[str, int]] = {}

    def _command(self, case: Case, **changes: object) -> list[str]:
        options: dict[str, object] = {
            "flows": case.flows,
            "access_rate": "100Mb",
            "access_delay": "5ms",
            "sender_delay": " ".join(f"{d:g}ms" for d in case.sender_delays_ms()),
            "rate": f"{case.rate_mbps}Mb",
            "delay": "20ms",
            "queue": "RED",
            "limit": case.limit,
            "min_th": case.min_th,
            "max_th": case.max_th,
            "plain_limit": 20000,
            "duration": case.duration_s,
            "warmup": 0,
            "statistics": 0,
            **changes,
        }
        words = [self.program, str(self.script)]
        for key, value in options.items():
            words += [f"-{key}", str(value)]
        return words

    def _count(self, case: Case) -> dict[str, int]:
        """Packets at the queue, from a run of its own: counting them takes time."""
        if case.name not in self.counted:
            summary = self.scratch / "summary"
            self.process(self._command(case, count=1, summary=summary))
            rows = (line.split() for line in summary.read_text().splitlines())
            values = {row[0]: row[1] for row in rows if row[0] in ("arrivals", "drops", "scheduled")}
            self.counted[case.name] = {
                "arrivals": int(values["arrivals"]),
                "drops": int(values["drops"]),
                "events": int(values["scheduled"]),
            }
        return self.counted[case.name]

    def measure(self, case: Case) -> dict[str, Any]:
        counts = self._count(case)
        _, setup, _ = self.process(self._command(case, duration="0.0001"))
        summary = self.scratch / "summary"
        _, user, peak = self.process(self._command(case, summary=summary))
        for line in summary.read_text().splitlines():
            if line.startswith("peak_kb "):
                peak = int(line.split()[1]) / 1024
        return {
            "user_s": max(user - setup, 0.0),
            "setup_user_s": setup,
            "total_user_s": user,
            "peak_rss_mb": peak,
            **counts,
        }


class Ns3(Runner):
    """ns-3 as packaged (release build, logging compiled in)."""

    name = "ns3"
    note = "ns-3 as packaged, NewReno with selective acknowledgements; set-up measured inside"

    def __init__(self, core: int | None, program: Path) -> None:
        super().__init__(core)
        self.program = program

    def measure(self, case: Case) -> dict[str, Any]:
        options = {
            "flows": case.flows,
            "access-rate": "100Mbps",
            "access-delay": "5ms",
            "rate": f"{case.rate_mbps}Mbps",
            "delay": "20ms",
            "limit": case.limit,
            "min-th": case.min_th,
            "max-th": case.max_th,
            "duration": case.duration_s,
        }
        if case.spread:
            options["sender-delays"] = ",".join(f"{d:g}ms" for d in case.sender_delays_ms())
        output, _, peak = self.process([self.program, *(f"--{key}={value}" for key, value in options.items())])
        return {"peak_rss_mb": peak, **json.loads(output)}


def _upward(relative: str) -> Path | None:
    """A file of the checkout this module lies in, or of the installed package."""
    for parent in Path(__file__).resolve().parents:
        if (parent / relative).is_file():
            return parent / relative
    return None


def _ours(core: int | None) -> Runner:
    named = os.environ.get(ENGINE)
    if named and not Path(named).is_file():
        raise BenchError(f"{ENGINE}={named}: no such program")
    program = Path(named) if named else _upward("target/release/earlydrop-engine")
    if program is not None:
        return Engine(core, program)
    return PythonModule(core)


def _peer(name: str, core: int | None, scratch: Path) -> Runner | str:
    """The runner of a peer, or why there is none."""
    if name == "ns2":
        program = shutil.which("ns")
        script = _upward("validation/peers/ns2/dumbbell.tcl")
        if program is None:
            return "ns-2 is not installed (no `ns` on the PATH); validation/peers/install.sh installs it"
        if script is None:
            return "validation/peers/ns2/dumbbell.tcl is not here; run from a checkout of earlydrop"
        return Ns2(core, program, script, scratch)
    build = _upward("validation/peers/ns3/build.sh")
    if build is None:
        return "validation/peers/ns3/build.sh is not here; run from a checkout of earlydrop"
    if shutil.which("g++") is None:
        return "no g++ on the PATH to build the ns-3 program with; validation/peers/install.sh installs it"
    binary = scratch / "ns3-dumbbell"
    built = subprocess.run(["sh", str(build), str(binary)], capture_output=True, text=True, check=False)
    if built.returncode:
        lines = [line.strip() for line in built.stderr.splitlines() if line.strip()] or ["no message"]
        reason = next((line for line in lines if "error" in line), lines[-1])
        return f"the ns-3 program does not build ({reason}); validation/peers/install.sh installs ns-3"
    return Ns3(core, binary)


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
def _tools(against: Sequence[str]) -> Iterator[tuple[list[Runner], list[str]]]:
    core = _core()
    notes = []
    with tempfile.TemporaryDirectory(prefix="earlydrop-bench-") as scratch:
        tools = [_ours(core)]
        for name in against:
            peer = _peer(name, core, Path(scratch))
            if isinstance(peer, str):
                notes.append(f"{name} left out: {peer}")
            else:
                tools.append(peer)
        yield tools, notes


def run(
    against: Sequence[str] = (),
    cases: Sequence[str] = ("A", "B", "C"),
    runs: int = 5,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Measure `cases` `runs` times here and in the tools of `against`; a tool that is not installed gives a note."""
    if not hasattr(os, "wait4"):
        raise BenchError(f"bench needs the processor time of a process, which {platform.system()} does not tell")
    for name in against:
        if name not in PEERS:
            raise BenchError(f"cannot run against {name!r}; there are {', '.join(PEERS)}")
    names = [case if case in CASES else case[:1].upper() + case[1:].lower() for case in cases or ("A", "B", "C")]
    for name, given in zip(names, cases, strict=False):
        if name not in CASES:
            raise BenchError(f"no case named {given!r}; there are {', '.join(CASES)}")
    if runs < 1:
        raise BenchError(f"runs must be at least 1, not {runs}")
    with _tools(list(dict.fromkeys(against))) as (tools, notes):
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
    failed: set[str] = set()
    for _ in range(runs):
        for tool in tools:
            progress(done, total, f"case {case.name}, {tool.name}")
            done += 1
            before = taken[tool.name]
            slow = tool.name in PEERS and before and before[-1]["user_s"] + before[-1]["setup_user_s"] > SLOW_S
            if slow or tool.name in failed or (case.routers and tool.name in PEERS):
                continue
            try:
                before.append(tool.measure(case))
            except BenchError as error:
                if tool is tools[0]:
                    raise
                failed.add(tool.name)
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
        user = statistics.median(r.get("total_user_s", r["user_s"] + setup) for r in runs) - setup
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
                "packets_per_s": runs[0]["arrivals"] / user if user > 0 else None,
                "peak_rss_mb": max(r["peak_rss_mb"] for r in runs),
            }
        )
    ours = rows[0]
    for row in rows[1:]:
        row["ratio"] = row["user_s"] / ours["user_s"] if ours["user_s"] > 0 else None
        row["memory_ratio"] = row["peak_rss_mb"] / ours["peak_rss_mb"]
    return {
        "case": case.name,
        "flows": case.flows,
        "rate_mbps": case.rate_mbps,
        "duration_s": case.duration_s,
        "limit": case.limit,
        "min_th": case.min_th,
        "max_th": case.max_th,
        "spread": case.spread,
        "stepped": case.stepped,
        "tools": rows,
    }


def render(report: dict[str, Any]) -> str:
    """The measurements as a table: medians, and how many times longer each peer took."""
    machine = report["machine"]
    pinned = machine["pinned_to_core"]
    where = f"{machine['processor']}, " + ("not pinned" if pinned is None else f"pinned to core {pinned}")
    lines = [f"User time of the run without set-up, median; {where}", ""]
    lines.append(
        f"{'case':12}{'tool':12}{'runs':>5}{'user s':>10}{'packets/s':>13}{'peak MB':>10}{'ratio':>9}{'set-up s':>10}"
    )
    for case in report["cases"]:
        for index, row in enumerate(case["tools"]):
            speed = "" if row["packets_per_s"] is None else f"{row['packets_per_s']:,.0f}"
            ratio = f"{row['ratio']:.1f}" if row.get("ratio") is not None else ""
            lines.append(
                f"{case['case'] if index == 0 else '':12}{row['tool']:12}{row['runs']:5d}{row['user_s']:10.3f}"
                f"{speed:>13}{row['peak_rss_mb']:10.1f}{ratio:>9}{row['setup_user_s']:10.3f}"
            )
    lines.append("")
    hows = {row["tool"]: row["how"] for case in report["cases"] for row in case["tools"]}
    lines += [f"{tool}: {how}" for tool, how in hows.items()]
    lines += [f"note: {note}" for note in report["notes"]]
    return "\n".join(lines)


def _measure_here(name: str) -> dict[str, Any]:
    """Run one case in this process and measure its cost."""
    import resource

    from . import _core

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
