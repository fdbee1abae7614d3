#!/usr/bin/env python3
"""Make validation/reference/traffic: ns-2 runs of finite transfers and of sources without feedback, event by event.

    python3 make_traffic.py [--out DIR]

Needs `ns` (ns-2 2.35) on the PATH. For each case it writes a scenario of earlydrop that describes the same run, and
what ns-2 traced at the bottleneck; validation/reference/README.md describes the files. Making them again gives the same
bytes.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from make_networks import digest, phases_of, record_all
from make_traces import KEPT_EVENTS

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Flow:
    """One flow: its command of traffic.tcl, and its entry of a scenario."""

    command: str
    entry: dict[str, str]
    tcp: bool = False
    # Draws from ns-2's default stream, behind the phases that the senders have drawn first.
    default_stream: bool = False


@dataclass(frozen=True)
class Case:
    """One run: everything that decides what happens in it."""

    name: str
    duration_s: float
    flows: list[Flow]
    limit: int = 20
    red: dict[str, float] = field(default_factory=dict)


def ftp(start: float) -> Flow:
    return Flow(f"ftp Reno {start!r}", {"kind": '"ftp"', "segment": "960", "start": f'"{start!r} s"'}, tcp=True)


# The congestion controls, with ns-2's names.
TCPS = {"tahoe": "Tahoe", "reno": "Reno", "newreno": "Newreno", "sack": "Sack1", "vegas": "Vegas"}


def produce(start: float, packets: list[int], think: float, tcp: str = "reno") -> Flow:
    """Transfers of these sizes over one connection; earlydrop takes equal ones, or one."""
    entry = {
        "kind": '"transfers"',
        "tcp": f'"{tcp}"',
        "segment": "1000" if tcp == "vegas" else "960",
        "start": f'"{start!r} s"',
        "size": f'"{packets[0]} packets"',
        "number": str(len(packets)),
        "think": f'"{think!r} s"',
        "connection": '"same"',
    }
    command = f"produce {TCPS[tcp]} {start!r} {{{' '.join(map(str, packets))}}} {think!r}"
    return Flow(command, entry, tcp=True)


def anew(start: float, packets: int, think: float) -> Flow:
    """Transfers over a new connection each, as SFRED's web-like flows."""
    entry = {
        "kind": '"transfers"',
        "segment": "960",
        "start": f'"{start!r} s"',
        "size": f'"{packets} packets"',
        "number": '"endless"',
        "think": f'"{think!r} s"',
    }
    return Flow(f"anew Reno {start!r} {packets} {think!r}", entry, tcp=True, default_stream=True)


def cbr(start: float, size: int, rate_kbps: int, jitter: bool = False) -> Flow:
    entry = {
        "kind": '"cbr"',
        "segment": str(size),
        "rate": f'"{rate_kbps} kbit/s"',
        "start": f'"{start!r} s"',
        "jitter": str(jitter).lower(),
    }
    settings = f"packetSize_ {size} rate_ {rate_kbps}Kb random_ {int(jitter)}"
    return Flow(f"udp CBR {start!r} 0 {{{settings}}}", entry, default_stream=jitter)


def on_off(law: str, start: float, seed: int, size: int, rate_kbps: int, on_ms: int, off_ms: int) -> Flow:
    entry = {
        "kind": '"onoff"',
        "law": f'"{law.lower()}"',
        "segment": str(size),
        "rate": f'"{rate_kbps} kbit/s"',
        "on": f'"{on_ms} ms"',
        "off": f'"{off_ms} ms"',
        "start": f'"{start!r} s"',
        "random": f'{{ generator = "mrg32k3a", seed = {seed} }}',
    }
    settings = f"packetSize_ {size} rate_ {rate_kbps}Kb burst_time_ {on_ms}ms idle_time_ {off_ms}ms"
    if law == "Pareto":
        entry["shape"] = "1.5"
        settings += " shape_ 1.5"
    return Flow(f"udp {law} {start!r} {seed} {{{settings}}}", entry)


RED = {"min_th": 5, "max_th": 15, "max_p": 0.1, "w_q": 0.002, "mean_packet": 1000}
CASES = [
    Case("finite", 60, [produce(0.1 * i, [size], 0) for i, size in enumerate([1, 2, 10, 57, 200, 1000])], limit=10),
    Case("finite_again", 60, [produce(0.1 * i, [40] * 30, 0.3 + 0.07 * i) for i in range(4)], limit=10),
    *(
        Case(f"finite_{tcp}", 60, [produce(0.1 * i, [40] * 25, 0.3 + 0.07 * i, tcp) for i in range(5)], limit=8)
        for tcp in TCPS
        if tcp != "reno"
    ),
    Case("new_connections", 60, [anew(0.0, 10, 0.05), cbr(0.05, 1000, 4600)], limit=3),
    Case("cbr", 30, [cbr(0.05 * i, 500 + 250 * i, 900 + 100 * i) for i in range(6)], limit=15),
    Case("cbr_and_tcp", 60, [ftp(0.0), ftp(0.1), ftp(0.2), cbr(0.05, 1000, 1000), cbr(0.25, 500, 700)]),
    Case("cbr_and_tcp_red", 60, [ftp(0.0), ftp(0.1), ftp(0.2), cbr(0.05, 1000, 2000)], limit=30, red=RED),
    Case("cbr_random", 60, [ftp(0.0), ftp(0.1), cbr(0.05, 1000, 2000, jitter=True)]),
    Case("exponential", 60, [*(on_off("Exponential", 0.0, 100 + i, 500, 2000, 500, 300) for i in range(4)), ftp(0.1)]),
    Case("pareto", 60, [*(on_off("Pareto", 0.0, 200 + i, 500, 2000, 500, 300) for i in range(4)), ftp(0.1)]),
]


def describe(case: Case) -> str:
    """The case in the commands of traffic.tcl."""
    queue = f"DropTail {case.limit}"
    if case.red:
        red = case.red
        queue = (
            f"RED {case.limit} thresh_ {red['min_th']} maxthresh_ {red['max_th']} linterm_ {1.0 / red['max_p']}"
            f" q_weight_ {red['w_q']} mean_pktsize_ {red['mean_packet']}"
        )
    commands = [flow.command for flow in case.flows]
    return "\n".join([f"bottleneck 5Mb 10ms {queue}", *commands, f"end {case.duration_s:g}"]) + "\n"


def scenario(case: Case, phases: list[float], seed: int) -> str:
    """The same run as a scenario."""
    link = '{ rate = "100 Mbit/s", delay = "20 ms" }'
    lines = [f'name = "{case.name}"', f'duration = "{case.duration_s:g} s"', "", "[topology]", 'kind = "dumbbell"']
    lines += [f"pairs = {len(case.flows)}", f"access = {link}", 'bottleneck = { rate = "5 Mbit/s", delay = "10 ms" }']
    lines += ["", "[queue.bottleneck]", f"limit = {case.limit}"]
    if case.red:
        lines += ['aqm = "red"', 'dialect = "ns2"', *(f"{key} = {value}" for key, value in case.red.items())]
        lines.append(f'random = {{ generator = "mrg32k3a", seed = {seed}, skip = {len(phases)} }}')
    else:
        lines += ['aqm = "droptail"', 'capacity_rule = "n_minus_1"']
    senders = iter(phases)
    for flow in case.flows:
        lines += ["", "[[traffic]]", "count = 1", *(f"{key} = {value}" for key, value in flow.entry.items())]
        if flow.tcp:
            lines.append(f"rules = {{ clock_phase = {next(senders)!r} }}")
        if flow.default_stream:
            lines.append(f'random = {{ generator = "mrg32k3a", seed = {seed}, skip = {len(phases)} }}')
    return "\n".join([*lines, "", "[record]", f"trace = {KEPT_EVENTS}"]) + "\n"


def record(case: Case, out: Path, folder: Path) -> dict[str, Any]:
    """Run one case and store its files; return its entry of the index."""
    if sum(flow.default_stream for flow in case.flows) + bool(case.red) > 1:
        raise SystemExit(f"{case.name}: two that draw from ns-2's default stream cannot be told apart")
    description, events, summary = (folder / name for name in ("description", "events", "summary"))
    description.write_text(describe(case))
    subprocess.run(["ns", str(HERE / "traffic.tcl"), str(description), str(events), str(summary)], check=True)
    report = [line.split() for line in summary.read_text().splitlines()]
    seed = int(next(row[1] for row in report if row[0] == "default_seed"))
    (out / f"{case.name}.toml").write_text(scenario(case, phases_of(report, seed), seed))
    return {"name": case.name, **digest(events, out / f"{case.name}_events.csv.gz")}


if __name__ == "__main__":
    record_all(__doc__.splitlines()[0], "traffic", CASES, record)
