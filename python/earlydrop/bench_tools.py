"""The tools whose speed is measured: how each runs a case once, and how it is found or built."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .bench_cases import HOME, Case
from .errors import EarlydropError
from .toml_writer import to_toml

ENGINE = "EARLYDROP_ENGINE"
"""Environment variable that names the program `earlydrop-engine`."""

MOST_NS_FLOWS = 10_000
MOST_HTSIM_FLOWS = 200_000
"""With more flows ns-2 and htsim need more memory than most machines have: 140 kB and 6 kB a flow."""


class BenchError(EarlydropError):
    """A benchmark is not possible. The message says why."""


class BenchFailure(BenchError):
    """A measured tool failed."""


class Runner:
    """A tool that runs a case once and measures its cost."""

    name = ""
    note = ""

    def __init__(self, core: int | None, program: str | Path = sys.executable) -> None:
        self.core = core
        self.program = program

    def runs(self, case: Case) -> bool:
        """Whether the tool can run this case."""
        return True

    def measure(self, case: Case) -> dict[str, Any]:
        """Run it: user_s, setup_user_s, peak_rss_mb and, where known, total_user_s, arrivals, drops and events."""
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
    note = "engine alone (earlydrop-engine)"

    def command(self, case: Case, scratch: str) -> list[str | Path]:
        """What runs it; the scenario lies in `scratch`."""
        links = ["--links", "stepped"] if case.stepped else []
        file = Path(scratch, f"{case.name}.toml")
        file.write_text(to_toml(case.document()), encoding="utf-8")
        return [self.program, file, *links]

    def measure(self, case: Case) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="earlydrop-bench-") as scratch:
            output, _, peak = self.process(self.command(case, scratch))
        return {"peak_rss_mb": peak, **json.loads(output)}


class Bare(Engine):
    """The engine built without its statistics, beside tools that keep none."""

    name = "bare"
    note = "earlydrop built without statistics of queues and receivers"

    def runs(self, case: Case) -> bool:
        return case.shape in ("dumbbell", "lean", "chain") and case.flows <= MOST_NS_FLOWS


class PythonModule(Runner):
    """earlydrop through its Python module, in a fresh interpreter."""

    name = "earlydrop"
    note = "through Python: the peak memory includes the interpreter"

    def measure(self, case: Case) -> dict[str, Any]:
        package = str(Path(__file__).resolve().parent.parent)
        path = os.pathsep.join(p for p in (package, os.environ.get("PYTHONPATH")) if p)
        output, _, peak = self.process([self.program, "-P", "-m", "earlydrop.bench", case.name], {"PYTHONPATH": path})
        return {"peak_rss_mb": peak, **json.loads(output)}


class Ns2(Runner):
    """ns-2 with the packet headers it needs and no others, and explicit routes."""

    name = "ns2"
    note = "ns-2, lean headers, static routes; user time less that of a run which ends at 0.1 ms"

    def __init__(self, core: int | None, program: str, script: Path, scratch: Path) -> None:
        super().__init__(core, program)
        self.script = script
        self.scratch = scratch
        self.counted: dict[str, dict[str, int]] = {}

    def runs(self, case: Case) -> bool:
        return case.shape == "dumbbell" and case.flows <= MOST_NS_FLOWS

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
        words = [str(self.program), str(self.script)]
        for key, value in options.items():
            words += [f"-{key}", str(value)]
        return words

    def _count(self, case: Case) -> dict[str, int]:
        """Number of packets at the queue, from a run of its own: counting them takes time."""
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
    """ns-3 as packaged (release build, logging compiled in), with its own CUBIC and BBR.

    BBR starves with ns-3's samples of the rate (docs/tcp-rfc.md), so it gets those of Linux.
    """

    name = "ns3"
    note = "ns-3 as packaged; set-up measured inside"
    linux = "--payload=1448 --window=4000 --initial-cwnd=10 --granularity=1 --timestamps=1 --ack-every=2"

    def runs(self, case: Case) -> bool:
        return case.name in HOME

    def measure(self, case: Case) -> dict[str, Any]:
        import earlydrop._core as _core

        scenario = _core.Scenario.parse(case.document(), [])
        whole, links = json.loads(scenario.to_json()), json.loads(scenario.network())["link"]
        sides, queues, (down, up) = whole["topology"], whole["queue"], whole["traffic"]
        options = {
            "flows": down["count"],
            "uploads": up["count"],
            "starts": down["start"]["uniform"][1].split()[0],
            "tcp": down["tcp"].capitalize(),
            "queue": queues["bottleneck"]["aqm"],
            "limit": round(float(queues["bottleneck"]["limit"].split()[0]) / 1500),
            "reverse-limit": round(float(queues["reverse"]["limit"].split()[0]) / 1500),
            "rate": sides["bottleneck"]["rate"],
            "reverse-rate": sides["reverse"]["rate"],
            "delay": sides["bottleneck"]["delay"],
            "access-rate": sides["receivers"]["rate"],
            "access-delay": sides["receivers"]["delay"],
            "sender-delays": ",".join(link["delay"] for link in links if link["to"] == "r1"),
            "duration": case.duration_s,
            "fresh-samples": int(down["tcp"] == "bbr"),
        }
        words = [f"--{key}={value}".replace(" ", "").replace("bit/s", "bps") for key, value in options.items()]
        output, _, peak = self.process([self.program, *words, *self.linux.split()])
        return {"peak_rss_mb": peak, **json.loads(output)}


class Htsim(Runner):
    """csg-htsim with a main and a RED of ours (validation/peers/htsim), built from a checkout that the user names."""

    name = "htsim"
    note = "csg-htsim, NewReno without selective acknowledgements, no statistics; set-up measured inside"

    def runs(self, case: Case) -> bool:
        return case.shape in ("dumbbell", "lean", "chain") and case.flows <= MOST_HTSIM_FLOWS

    def measure(self, case: Case) -> dict[str, Any]:
        options: dict[str, object] = {
            "shape": case.shape,
            "flows": case.flows,
            "rate": case.rate_mbps,
            "duration": case.duration_s,
            "limit": case.limit,
            "min-th": case.min_th,
            "max-th": case.max_th,
            "access-delay": case.access_ms,
            "delay": case.delay_ms,
            "queues": case.queues,
        }
        if case.spread:
            options["sender-delays"] = ",".join(f"{d:g}" for d in case.sender_delays_ms())
        output, _, peak = self.process([self.program, *(f"--{key}={value}" for key, value in options.items())])
        return {"peak_rss_mb": peak, **json.loads(output.strip().splitlines()[-1])}


def upward(relative: str) -> Path | None:
    """A file of the checkout this module lies in, or of the installed package."""
    for parent in Path(__file__).resolve().parents:
        if (parent / relative).is_file():
            return parent / relative
    return None


def ours(core: int | None) -> Runner:
    named = os.environ.get(ENGINE)
    if named and not Path(named).is_file():
        raise BenchError(f"{ENGINE}={named}: no such program")
    program = Path(named) if named else upward("target/release/earlydrop-engine")
    if program is not None:
        return Engine(core, program)
    return PythonModule(core)


def peer(name: str, core: int | None, scratch: Path, htsim: Path | None) -> Runner | str:
    """The runner of a peer, or why there is none."""
    if name == "ns2":
        program = shutil.which("ns")
        script = upward("validation/peers/ns2/dumbbell.tcl")
        if program is None:
            return "ns-2 is not installed (no `ns` on the PATH); validation/peers/install.sh installs it"
        if script is None:
            return "validation/peers/ns2/dumbbell.tcl is not here; run from a checkout of earlydrop"
        return Ns2(core, program, script, scratch)
    if name == "bare":
        engine = upward("target/bare/release/earlydrop-engine")
        return Bare(core, engine) if engine else "there is no engine without statistics; `benches/against.py` builds it"
    if name == "ns3":
        return _built(Ns3, core, scratch)
    if htsim is None:
        return "name a checkout of csg-htsim (https://github.com/Broadcom/csg-htsim) with --htsim"
    return _built(Htsim, core, scratch, htsim)


def _built(tool: type[Runner], core: int | None, scratch: Path, *sources: Path) -> Runner | str:
    script = f"validation/peers/{tool.name}/build.sh"
    build = upward(script)
    if build is None:
        return f"{script} is not here; run from a checkout of earlydrop"
    if shutil.which("g++") is None:
        return "no g++ on the PATH to build it with; validation/peers/install.sh installs it"
    binary = scratch / tool.name
    built = subprocess.run(["sh", build, *sources, binary], capture_output=True, text=True, check=False)
    if built.returncode:
        lines = [line.strip() for line in built.stderr.splitlines() if line.strip()] or ["no message"]
        reason = next((line for line in lines if "error" in line), lines[-1])
        return f"it does not build ({reason}); validation/peers/install.sh installs what it needs"
    return tool(core, binary)
