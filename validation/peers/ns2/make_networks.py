#!/usr/bin/env python3
"""Make validation/reference/networks: ns-2 runs of several bottlenecks and both directions, event by event.

    python3 make_networks.py [--out DIR]

Needs `ns` (ns-2 2.35) on the PATH. For each case it writes a scenario of earlydrop that describes the same run, and
what ns-2 traced at each watched queue; validation/reference/README.md describes the files. Making them again gives the
same bytes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from make_traces import CHECKPOINT_EVERY, KEPT_EVENTS, Digest, mrg32k3a, write_gzip

HERE = Path(__file__).resolve().parent
PLAIN_LIMIT = 10_000
C = TypeVar("C")


@dataclass(frozen=True)
class Queue:
    """A queue that is watched: DropTail, or RED in packet mode."""

    limit: int
    red: dict[str, float] | None = None


@dataclass(frozen=True)
class Loss:
    """Random loss on a link. ns-2's error model stands before the queue of a link, so that it is that of the `next` link,
    which all that comes over this one goes over."""

    probability: float
    seed: int
    next: tuple[str, str]


@dataclass(frozen=True)
class Wire:
    """One direction of a link."""

    source: str
    to: str
    rate_mbps: float
    delay_ms: float
    queue: Queue | None = None
    loss: Loss | None = None

    @property
    def name(self) -> str:
        return f"{self.source}>{self.to}"


@dataclass(frozen=True)
class Flow:
    """An endless transfer."""

    source: str
    to: str
    start_s: float
    wire_bytes: int = 1000
    ttl: int = 32


@dataclass(frozen=True)
class Case:
    """One run: everything that decides what happens in it."""

    name: str
    duration_s: float
    wires: list[Wire]
    flows: list[Flow]


def both(a: str, b: str, rate: float, delay: float, there: Queue | None = None, back: Queue | None = None) -> list[Wire]:
    return [Wire(a, b, rate, delay, there), Wire(b, a, rate, delay, back)]


RED = {"min_th": 5, "max_th": 15, "max_p": 0.1, "w_q": 0.002, "mean_packet": 1000}


def parking_lot(name: str, queues: list[Queue], rates: list[float], delays: list[float], two_way: bool) -> Case:
    """Routers r1.. in a row, long flows over all of them and cross traffic over each."""
    wires: list[Wire] = []
    flows: list[Flow] = []
    for i, (queue, rate, delay) in enumerate(zip(queues, rates, delays, strict=True), 1):
        wires += both(f"r{i}", f"r{i + 1}", rate, delay, queue, Queue(queue.limit) if two_way else None)
    last = f"r{len(queues) + 1}"
    pairs = [("s1", "r1", "d1", last), ("s2", "r1", "d2", last)]
    for i in range(1, len(queues) + 1):
        pairs += [(f"c{i}.{j}", f"r{i}", f"e{i}.{j}", f"r{i + 1}") for j in (1, 2)]
    for i, (sender, here, receiver, there) in enumerate(pairs):
        wires += both(sender, here, 100, 5 + i) + both(there, receiver, 100, 2)
        flows.append(Flow(sender, receiver, 0.1 * i))
        if two_way and i % 2:
            flows.append(Flow(receiver, sender, 0.1 * i + 0.05))
    return Case(name, 60, wires, flows)


def two_way(name: str, there: Queue, back: Queue) -> Case:
    """A dumbbell with two transfers in each direction."""
    wires = both("r1", "r2", 5, 10, there, back)
    flows = []
    for i in range(2):
        wires += both(f"s{i + 1}", "r1", 100, 10) + both("r2", f"d{i + 1}", 100, 10)
        flows += [Flow(f"s{i + 1}", f"d{i + 1}", 0.1 * i), Flow(f"d{i + 1}", f"s{i + 1}", 0.25 + 0.1 * i)]
    return Case(name, 60, wires, flows)


def unequal() -> Case:
    """A triangle of routers with unlike links, packets of two sizes, data and ACKs in every queue."""
    wires = [
        Wire("r1", "r2", 4, 7, Queue(20, RED)),
        Wire("r2", "r1", 1, 11, Queue(12)),
        Wire("r2", "r3", 3, 3, Queue(15)),
        Wire("r3", "r2", 2, 20, Queue(9)),
        *both("r1", "r3", 10, 40),
    ]
    for i in (1, 2, 3):
        wires += [Wire(f"h{i}", f"r{i}", 10 * i, i, None), Wire(f"r{i}", f"h{i}", 5 * i, 2 * i, None)]
    pairs = [(1, 2), (2, 3), (2, 1), (3, 2), (1, 3), (1, 2)]
    flows = [Flow(f"h{a}", f"h{b}", 0.1 * i, 1000 if i % 2 else 540) for i, (a, b) in enumerate(pairs)]
    return Case("unequal", 60, wires, flows)


def lossy() -> Case:
    """Random loss on the way to the bottleneck and on the way of the ACKs behind it."""
    wires = [
        Wire("r1", "r2", 5, 10, Queue(20)),
        Wire("r2", "r1", 5, 10, Queue(20), Loss(0.02, 1147, ("r1", "r0"))),
        Wire("r0", "r1", 100, 1, None, Loss(0.01, 4711, ("r1", "r2"))),
        Wire("r1", "r0", 100, 1),
    ]
    flows = []
    for i in range(3):
        wires += both(f"s{i + 1}", "r0", 100, 5) + both("r2", f"d{i + 1}", 100, 5)
        flows.append(Flow(f"s{i + 1}", f"d{i + 1}", 0.1 * i))
    return Case("lossy", 60, wires, flows)


def expiring() -> Case:
    """Times to live that are used up on the way out, back, and not at all."""
    wires = both("r1", "r2", 5, 10, Queue(8), Queue(8)) + both("r2", "r3", 4, 10, Queue(8), Queue(8))
    wires += both("s1", "r1", 100, 5) + both("r3", "d1", 100, 5)
    flows = [Flow("s1", "d1", 0.0, ttl=3), Flow("s1", "d1", 0.1, ttl=5), Flow("d1", "s1", 0.2, ttl=4)]
    return Case("expiring", 30, wires, flows)


CASES = [
    parking_lot("parking_lot", [Queue(20), Queue(20)], [5, 5], [10, 10], two_way=False),
    parking_lot("parking_lot_red", [Queue(30, RED), Queue(15), Queue(20)], [6, 5, 4], [10, 3, 12], two_way=False),
    parking_lot("parking_lot_two_way", [Queue(20), Queue(20)], [5, 5], [10, 10], two_way=True),
    two_way("two_way", Queue(20), Queue(20)),
    two_way("two_way_red", Queue(30, RED), Queue(25)),
    unequal(),
    lossy(),
    expiring(),
]


def nodes(case: Case) -> list[str]:
    return list(dict.fromkeys(end for wire in case.wires for end in (wire.source, wire.to)))


def next_hops(case: Case) -> list[tuple[str, str, str]]:
    """(node, destination, next) by fewest links; of equal ones the node that comes first."""
    order = {name: i for i, name in enumerate(nodes(case))}
    ways = []
    for target in {flow.source: 0 for flow in case.flows} | {flow.to: 0 for flow in case.flows}:
        hops = {target: 0}
        waiting = deque([target])
        while waiting:
            node = waiting.popleft()
            for wire in case.wires:
                if wire.to == node and wire.source not in hops:
                    hops[wire.source] = hops[node] + 1
                    waiting.append(wire.source)
        for node in order:
            if node != target and node in hops:
                after = [wire.to for wire in case.wires if wire.source == node and hops[wire.to] == hops[node] - 1]
                ways.append((node, target, min(after, key=order.__getitem__)))
    return ways


def describe(case: Case, folder: Path) -> str:
    """The case in the commands of networks.tcl."""
    lines = [f"node {name}" for name in nodes(case)]
    for wire in case.wires:
        queue, limit, keys = "DropTail", PLAIN_LIMIT, ""
        if wire.queue is not None:
            limit = wire.queue.limit
        if wire.queue is not None and wire.queue.red is not None:
            red, queue = wire.queue.red, "RED"
            keys = (
                f" thresh_ {red['min_th']} maxthresh_ {red['max_th']} linterm_ {1.0 / red['max_p']}"
                f" q_weight_ {red['w_q']} mean_pktsize_ {red['mean_packet']}"
            )
        rate = f"{wire.rate_mbps:g}Mb {wire.delay_ms:g}ms"
        lines.append(f"wire {wire.source} {wire.to} {rate} {queue} {limit}{keys}")
    lines += [f"way {node} {target} {after}" for node, target, after in next_hops(case)]
    for i, wire in enumerate(case.wires):
        if wire.queue is not None:
            lines.append(f"watch {wire.source} {wire.to} {folder / str(i)}")
        if wire.loss is not None:
            source, to = wire.loss.next
            lines.append(f"lossy {source} {to} {wire.loss.probability} {wire.loss.seed}")
    for flow in case.flows:
        lines.append(f"transfer {flow.source} {flow.to} Reno {flow.wire_bytes} 1000 {flow.start_s!r} {flow.ttl}")
    lines.append(f"end {case.duration_s:g}")
    return "\n".join(lines) + "\n"


def scenario(case: Case, phases: list[float], seed: int) -> str:
    """The same run as a scenario. Directions of one link come together, as earlydrop lists them."""
    lines = [f'name = "{case.name}"', f'duration = "{case.duration_s:g} s"', "", "[topology]", 'kind = "graph"']
    back = {(wire.to, wire.source): wire for wire in case.wires}
    done = set()
    for wire in case.wires:
        if wire.name in done:
            continue
        other = back[(wire.source, wire.to)]
        done |= {wire.name, other.name}
        lines += ["", "[[link]]", f'from = "{wire.source}"', f'to = "{wire.to}"', *link(wire)]
        lines.append("reverse = { " + ", ".join(link(other)) + " }")
    for wire in case.wires:
        if wire.queue is None:
            continue
        lines += ["", f'[queue."{wire.name}"]', f"limit = {wire.queue.limit}"]
        if wire.queue.red is None:
            lines += ['aqm = "droptail"', 'capacity_rule = "n_minus_1"']
        else:
            lines += ['aqm = "red"', 'dialect = "ns2"']
            lines += [f"{key} = {value}" for key, value in wire.queue.red.items()]
            lines.append(f'random = {{ generator = "mrg32k3a", seed = {seed}, skip = {len(case.flows)} }}')
    for flow, phase in zip(case.flows, phases, strict=True):
        lines += ["", "[[traffic]]", 'kind = "ftp"', f'from = "{flow.source}"', f'to = "{flow.to}"', "count = 1"]
        lines += [f"segment = {flow.wire_bytes - 40}", f'start = "{flow.start_s!r} s"', f"rules = {{ clock_phase = {phase!r} }}"]
        if flow.ttl != 32:
            lines.append(f"ttl = {flow.ttl}")
    lines += ["", "[record]", f"trace = {KEPT_EVENTS}", 'trace_queues = "all"']
    return "\n".join(lines) + "\n"


def link(wire: Wire) -> list[str]:
    lines = [f'rate = "{wire.rate_mbps:g} Mbit/s"', f'delay = "{wire.delay_ms:g} ms"']
    if wire.queue is not None:
        lines.append(f'queue = "{wire.name}"')
    if wire.loss is not None:
        random = f'{{ generator = "mrg32k3a", seed = {wire.loss.seed} }}'
        lines.append(f"loss = {{ probability = {wire.loss.probability}, random = {random} }}")
    return lines


def phases_of(report: list[list[str]], seed: int) -> list[float]:
    """The phase of each flow's clock, flow 1 first; see make_traces.boot_times."""
    stream = mrg32k3a(seed)
    exact = {}
    for row in report:
        if row[0] == "boot":
            exact[int(row[1])] = next(stream) * 0.01
            if abs(exact[int(row[1])] - float(row[2])) > 1e-10:
                raise SystemExit(f"flow {row[1]}: foretold phase {row[2]}, drawn {exact[int(row[1])]}")
    return [exact[flow] for flow in sorted(exact)]


def digest(events: Path, kept_file: Path) -> dict[str, Any]:
    """Store the first events of a queue; counts and a digest of all."""
    waiting: deque[str] = deque()
    totals = {"+": 0, "-": 0, "d": 0, "gone": 0}
    all_events = Digest()
    kept = ["time_us,event,flow,seq,size,qlen_after"]
    with events.open() as rows:
        for row in rows:
            kind, time, _, _, _, size, _, flow, _, _, seq, packet = row.split()
            if kind == "d" and (not waiting or waiting[-1] != packet):
                # Lost before the queue, or its time to live was used up at the far end of the link.
                totals["gone"] += 1
                continue
            totals[kind] += 1
            if kind == "+":
                waiting.append(packet)
            elif (waiting.popleft() if kind == "-" else waiting.pop()) != packet:
                raise SystemExit(f"{events}: not first come first served at {time}")
            line = f"{float(time) * 1e6:.0f},{kind},{flow},{seq}"
            all_events.add(f"{line},{len(waiting)}")
            if all_events.lines <= KEPT_EVENTS:
                kept.append(f"{line},{size},{len(waiting)}")
    write_gzip(kept_file, "\n".join(kept) + "\n")
    return {
        "arrivals": totals["+"],
        "departures": totals["-"],
        "drops": totals["d"],
        "gone": totals["gone"],
        "events": all_events.lines,
        "digest": all_events.text(),
        "checkpoints": all_events.checkpoints,
    }


def record(case: Case, out: Path, folder: Path) -> dict[str, Any]:
    """Run one case and store its files; return its entry of the index."""
    description, summary = folder / "description", folder / "summary"
    description.write_text(describe(case, folder))
    subprocess.run(["ns", str(HERE / "networks.tcl"), str(description), str(summary)], check=True)
    report = [line.split() for line in summary.read_text().splitlines()]
    seed = int(next(row[1] for row in report if row[0] == "default_seed"))
    phases = phases_of(report, seed)
    (out / f"{case.name}.toml").write_text(scenario(case, phases, seed))
    queues = {}
    for i, wire in enumerate(case.wires):
        if wire.queue is not None:
            file = f"{case.name}_{wire.source}_{wire.to}_events.csv.gz"
            queues[wire.name] = {"file": file, **digest(folder / str(i), out / file)}
    return {"name": case.name, "queues": queues}


def main() -> None:
    record_all(__doc__.splitlines()[0], "networks", CASES, record)


def record_all(
    description: str, name: str, cases: Iterable[C], record: Callable[[C, Path, Path], dict[str, Any]]
) -> None:
    """Runs the cases and writes what `record` has written of each, and an index, to a folder of this name."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "reference" / name)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    made = []
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            made.append(record(case, out, Path(folder)))
        print(made[-1]["name"], flush=True)
    index = {"tool": "ns-2 2.35 (Debian package ns2 2.35+dfsg-5)", "checkpoint_every": CHECKPOINT_EVERY, "cases": made}
    (out / "index.json").write_text(json.dumps(index, indent=1) + "\n")


if __name__ == "__main__":
    main()
