#!/usr/bin/env python3
"""Make validation/reference/micro: ns-2 runs recorded event by event.

    python3 make_traces.py [--out DIR]

Needs `ns` (ns-2 2.35) on the PATH. The files are described in
validation/reference/README.md. Making them again gives the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
KEPT_EVENTS = 2_000
KEPT_CHANGES = 2_000
CHECKPOINT_EVERY = 10_000

FNV_OFFSET = 0xCBF29CE484222325
FNV_PRIME = 0x100000001B3
MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Red:
    """RED as ns-2 runs it: packet mode, `wait_` on, not gentle."""

    min_th: float
    max_th: float
    max_p: float
    w_q: float
    mean_packet_bytes: int = 1000


@dataclass(frozen=True)
class Controlled:
    """REM, PI or GK as ns-2 runs them by default, but for PI's `qref_`."""

    aqm: str
    q_ref: int
    mean_packet_bytes: int = 1000


@dataclass(frozen=True)
class Case:
    """One run: everything that decides what happens in it."""

    name: str
    n: int
    buffer: int
    duration_s: float
    access_rate_bps: int
    red: Red | None = None
    controlled: Controlled | None = None
    tcp: tuple[str, ...] = ("reno",)
    ecn: bool = False
    delayed_ack: bool = False
    limited_transmit: bool = True
    min_rto_s: float = 0.2
    access_delay_ms: int = 20
    sender_delays_ms: tuple[int, ...] = ()
    bottleneck_rate_bps: int = 5_000_000
    bottleneck_delay_ms: int = 10
    wire_bytes: int = 1000
    window: int = 1000
    stagger_s: float = 0.1


FAST, SLOW = 100_000_000, 5_000_000
S1_RED = Red(min_th=24, max_th=72, max_p=0.1, w_q=0.002)
CASES = [
    Case("reno_n1_b20", 1, 20, 60, FAST),
    Case("reno_n3_b20", 3, 20, 60, FAST),
    Case("reno_n6_b120", 6, 120, 200, SLOW),
    Case("reno_n20_b5", 20, 5, 60, FAST),
    Case("reno_n60_b4", 60, 4, 60, FAST),
    Case("red_n6_b120", 6, 120, 200, SLOW, S1_RED),
    Case("red_n40_b120", 40, 120, 200, SLOW, S1_RED),
    Case("rem_n6_b120", 6, 120, 200, SLOW, controlled=Controlled("rem", 20)),
    Case("rem_n40_b120", 40, 120, 100, FAST, controlled=Controlled("rem", 20)),
    Case("pi_n6_b120", 6, 120, 200, SLOW, controlled=Controlled("pi", 60)),
    Case("pi_n80_b120", 80, 120, 100, FAST, controlled=Controlled("pi", 60)),
    Case("gk_n6_b120", 6, 120, 100, SLOW, controlled=Controlled("gk", 0), tcp=("reno", "sack"), ecn=True),
    Case("gk_n40_b60", 40, 60, 60, FAST, controlled=Controlled("gk", 0), tcp=("newreno", "reno"), ecn=True),
]

# The congestion controls, with ns-2's names.
TCPS = {"tahoe": "Tahoe", "reno": "Reno", "newreno": "Newreno", "sack": "Sack1", "vegas": "Vegas"}
LOSSY = ((20, 5), (60, 4))
UNEQUAL = (1, 20, 7, 33, 15, 40, 2)
MORE_RED = Red(min_th=10, max_th=30, max_p=0.1, w_q=0.002)

for tcp in TCPS:
    if tcp != "reno":
        CASES += [Case(f"{tcp}_n{n}_b20", n, 20, 60, FAST, tcp=(tcp,)) for n in (1, 3)]
        CASES += [Case(f"{tcp}_n{n}_b{b}", n, b, 60, FAST, tcp=(tcp,)) for n, b in LOSSY]
    CASES += [
        Case(f"red_{tcp}_n{n}", n, 60, 60, FAST, MORE_RED, tcp=(tcp,), sender_delays_ms=UNEQUAL)
        for n in (6, 40)
    ]
    if tcp != "vegas":
        CASES += [
            Case(f"ecn_{tcp}_n{n}", n, 60, 60, FAST, MORE_RED, tcp=(tcp,), ecn=True, sender_delays_ms=UNEQUAL)
            for n in (3, 30)
        ]
CASES += [
    Case("vegas_n1_b4", 1, 4, 60, FAST, tcp=("vegas",)),
    Case("vegas_n3_b6", 3, 6, 60, FAST, tcp=("vegas",)),
    Case("mixed_n25_b20", 25, 20, 60, FAST, tcp=tuple(TCPS), sender_delays_ms=UNEQUAL),
    Case("delayed_reno_n1_b20", 1, 20, 60, FAST, delayed_ack=True),
    Case("delayed_newreno_n6_b10", 6, 10, 60, FAST, tcp=("newreno",), delayed_ack=True),
    Case("delayed_sack_n6_b10", 6, 10, 60, FAST, tcp=("sack",), delayed_ack=True),
    Case("delayed_mixed_n25_b20", 25, 20, 60, FAST, tcp=tuple(TCPS), delayed_ack=True, sender_delays_ms=UNEQUAL),
    Case("delayed_ecn_n12", 12, 60, 60, FAST, MORE_RED, tcp=("reno", "sack", "newreno", "tahoe"), ecn=True,
         delayed_ack=True, sender_delays_ms=UNEQUAL),
    Case("unlimited_n12_b10", 12, 10, 60, FAST, tcp=("reno", "sack", "newreno", "tahoe"), limited_transmit=False),
    Case("window_n5_b20", 5, 20, 60, FAST, tcp=tuple(TCPS), window=12),
    Case("patient_n25_b10", 25, 10, 60, FAST, tcp=tuple(TCPS), min_rto_s=1.0),
    Case("patient_ecn_n12", 12, 60, 60, FAST, MORE_RED, tcp=("reno", "sack", "newreno", "tahoe"), ecn=True,
         min_rto_s=1.0, sender_delays_ms=UNEQUAL),
]


class Digest:
    """FNV-1a, 64 bits, over ASCII lines; a checkpoint after every so many lines."""

    def __init__(self) -> None:
        self.value = FNV_OFFSET
        self.lines = 0
        self.checkpoints: list[str] = []

    def add(self, line: str) -> None:
        value = self.value
        for byte in line.encode("ascii"):
            value = ((value ^ byte) * FNV_PRIME) & MASK
        value = ((value ^ 0x0A) * FNV_PRIME) & MASK
        self.value = value
        self.lines += 1
        if self.lines % CHECKPOINT_EVERY == 0:
            self.checkpoints.append(self.text())

    def text(self) -> str:
        return f"{self.value:016x}"


def mrg32k3a(seed: int) -> Iterator[float]:
    """ns-2's default stream after `$defaultRNG seed`: L'Ecuyer's MRG32k3a (1999)."""
    m1, m2 = 4294967087, 4294944443
    s10 = s11 = s12 = s20 = s21 = s22 = seed
    while True:
        s10, s11, s12 = s11, s12, (1403580 * s11 - 810728 * s10) % m1
        s20, s21, s22 = s21, s22, (527612 * s22 - 1370589 * s20) % m2
        yield (s12 - s22 if s12 > s22 else s12 - s22 + m1) * (1 / (m1 + 1))


def boot_times(report: list[list[str]], seed: int) -> tuple[list[float], list[int]]:
    """The phase of each flow's clock, flow 1 first, and the order of the draws.

    The agents use the draw times the tick of 0.01 s. The script foretells the same
    draws through Tcl, which keeps 31 bits of each: good for the order and a check.
    """
    stream = mrg32k3a(seed)
    foretold = [(int(row[1]), float(row[2])) for row in report if row[0] == "boot"]
    exact = {flow: next(stream) * 0.01 for flow, _ in foretold}
    for flow, value in foretold:
        if abs(exact[flow] - value) > 1e-10:
            raise SystemExit(f"flow {flow + 1}: foretold phase {value}, drawn {exact[flow]}")
    return [exact[flow] for flow in sorted(exact)], [flow + 1 for flow, _ in foretold]


def write_gzip(path: Path, text: str) -> None:
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write(text.encode("ascii"))


def simulate(case: Case, scratch: Path) -> tuple[Path, Path, list[list[str]]]:
    """Run ns-2; return the event trace, the variable trace and the report."""
    events, variables, summary = (scratch / x for x in ("events", "variables", "summary"))
    options: dict[str, object] = {
        "flows": case.n,
        "tcp": " ".join(TCPS[tcp] for tcp in case.tcp),
        "ecn": int(case.ecn),
        "delayed_ack": int(case.delayed_ack),
        "limited_transmit": int(case.limited_transmit),
        "min_rto": case.min_rto_s,
        "sender_delay": " ".join(f"{delay}ms" for delay in case.sender_delays_ms),
        "limit": case.buffer,
        "wire_bytes": case.wire_bytes,
        "window": case.window,
        "access_rate": f"{case.access_rate_bps // 1_000_000}Mb",
        "access_delay": f"{case.access_delay_ms}ms",
        "rate": f"{case.bottleneck_rate_bps // 1_000_000}Mb",
        "delay": f"{case.bottleneck_delay_ms}ms",
        "duration": f"{case.duration_s:g}",
        "start_jitter": 0,
        "start_stagger": case.stagger_s,
        "seed": 1,
        "statistics": 0,
        "events": events,
        "variables": variables,
        "summary": summary,
    }
    if case.red is not None:
        options |= {
            "queue": "RED",
            "min_th": case.red.min_th,
            "max_th": case.red.max_th,
            "max_p": case.red.max_p,
            "w_q": case.red.w_q,
            "mean_packet": case.red.mean_packet_bytes,
        }
    if case.controlled is not None:
        options |= {
            "queue": case.controlled.aqm.upper(),
            "q_ref": case.controlled.q_ref,
            "mean_packet": case.controlled.mean_packet_bytes,
        }
    command = ["ns", str(HERE / "dumbbell.tcl")]
    for key, value in options.items():
        command += [f"-{key}", str(value)]
    subprocess.run(command, check=True)
    return events, variables, [line.split() for line in summary.read_text().splitlines()]


def most_waiting(case: Case) -> int:
    """Packets that the queue holds: DropTail, REM and GK hold one less than their limit."""
    one_less = case.red is None and (case.controlled is None or case.controlled.aqm in ("rem", "gk"))
    return case.buffer - one_less


def record(case: Case, out: Path, scratch: Path) -> dict[str, Any]:
    """Run one case and store its files; return its entry of the index."""
    events, variables, report = simulate(case, scratch)

    # Waiting packets in order of arrival: the head leaves at "-", and a refused
    # packet is the one that has just joined, as ns-2 traces "+" before "d".
    waiting: list[str] = []
    head = 0
    totals = {"+": 0, "-": 0, "d": 0}
    found_full = 0
    digest = Digest()
    kept = ["time_us,event,flow,seq,size,qlen_after"]
    with events.open() as rows:
        for row in rows:
            kind, time, _, _, _, size, _, flow, _, _, seq, packet = row.split()
            totals[kind] += 1
            if kind == "+":
                waiting.append(packet)
            elif kind == "-":
                if waiting[head] != packet:
                    raise SystemExit(f"{case.name}: not first come first served at {time}")
                head += 1
                if head == 4096:
                    del waiting[:head]
                    head = 0
            else:
                if waiting[-1] != packet:
                    raise SystemExit(f"{case.name}: dropped a packet that was waiting at {time}")
                waiting.pop()
                found_full += len(waiting) - head >= most_waiting(case)
            time_us = f"{float(time) * 1e6:.0f}"
            length = len(waiting) - head
            digest.add(f"{time_us},{kind},{flow},{seq},{length}")
            if digest.lines <= KEPT_EVENTS:
                kept.append(f"{time_us},{kind},{flow},{seq},{size},{length}")
    write_gzip(out / f"{case.name}_events.csv.gz", "\n".join(kept) + "\n")

    changes = Digest()
    kept = ["time_s,variable,value"]
    with variables.open() as rows:
        for row in rows:
            time, _, _, _, _, name, value = row.split()
            changes.add(f"{time},{name},{value}")
            if changes.lines <= KEPT_CHANGES:
                kept.append(f"{time},{name},{value}")
    write_gzip(out / f"{case.name}_flow1.csv.gz", "\n".join(kept) + "\n")

    values = {row[0]: row[1] for row in report if row[0] in ("scheduled", "default_seed")}
    entry = asdict(case)
    entry["red_seed"] = int(values["default_seed"])
    entry["red_draws_to_skip"] = case.n
    entry["boot_times_s"], entry["boot_draw_order"] = boot_times(report, entry["red_seed"])
    entry["arrivals"] = totals["+"]
    entry["departures"] = totals["-"]
    entry["drops"] = totals["d"]
    entry["drops_found_full"] = found_full
    entry["queued_at_end"] = len(waiting) - head
    entry["events"] = digest.lines
    entry["events_kept"] = min(digest.lines, KEPT_EVENTS)
    entry["digest"] = digest.text()
    entry["checkpoint_every"] = CHECKPOINT_EVERY
    entry["checkpoints"] = digest.checkpoints
    entry["flow1_changes"] = changes.lines
    entry["flow1_digest"] = changes.text()
    entry["flow1_checkpoints"] = changes.checkpoints
    return entry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "reference" / "micro")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        cases = []
        for case in CASES:
            cases.append(record(case, out, Path(scratch)))
            print(f"{case.name}: {cases[-1]['events']} events, {cases[-1]['digest']}", flush=True)
    index = {"tool": "ns-2 2.35 (Debian package ns2 2.35+dfsg-5)", "cases": cases}
    (out / "index.json").write_text(json.dumps(index, indent=1) + "\n")


if __name__ == "__main__":
    main()
