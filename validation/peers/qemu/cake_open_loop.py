"""Linux's CAKE under fixed arrivals, in the virtual machine of machine.py.

Each case sends a script of packets (hosts, DSCPs, ECN, ACKs) through `tc qdisc ... cake` and records when each was
handed over and when it left, or that it did not. `crates/aqm/tests/open_loop/cake.rs` sends the same through ours.

    python validation/peers/qemu/cake_open_loop.py validation/reference/cake_openloop [--only TEXT]

Needs what machine.py needs, and gcc with a static libc.
"""

from __future__ import annotations

import argparse
import gzip
import random
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import machine

HERE = Path(__file__).resolve().parent
FRAME = 14
"""Ethernet's header, which the kernel's sizes count, B."""
UDP, TCP = 17, 6
ECT0 = 2


@dataclass(frozen=True)
class Packet:
    """A line of a script."""

    us: int
    source: int
    destination: int
    protocol: int
    tos: int
    size: int
    port: int
    ack: int = 0


@dataclass(frozen=True)
class Flow:
    """Packets at random times: its hosts, its DSCP, whether it is ECN-capable, and its rate, bit/s."""

    source: int
    destination: int
    rate: float
    dscp: int = 0
    ect: bool = False
    size: int = 1000


HOSTS = (
    *(Flow(1, 1 + k % 3, 2e6, ect=k % 2 == 0) for k in range(6)),
    *(Flow(2, 4, 2e6, ect=k == 0) for k in range(2)),
    Flow(3, 5, 64e3, size=200),
)
"""Source 1 has six flows to three destinations, source 2 two to one; and one is sparse: 16.1 Mbit/s."""
POINTS = (8, 0, 10, 18, 34, 32, 46, 48)
TINS = tuple(Flow(1 + k % 2, 1 + k % 3, 2.2e6, dscp=dscp, ect=k % 2 == 0) for k, dscp in enumerate(POINTS))
"""A flow with each of these code points."""
EVEN = tuple(Flow(k, k, 4e6, ect=k == 1, size=(1000, 300, 1480)[k - 1]) for k in (1, 2, 3))
"""Three flows of different packets."""
ACKS = 2
"""Flows of the cases with ACKs."""

# Case: `tc`'s words, our parameters, and the flows (none: ACKs).
CASES: dict[str, tuple[str, str, tuple[Flow, ...]]] = {
    **{
        mode: (
            f"cake bandwidth 10mbit besteffort {mode}",
            f"bandwidth=10e6 diffserv=besteffort flow_mode={mode}",
            HOSTS,
        )
        for mode in (
            "flowblind",
            "srchost",
            "dsthost",
            "hosts",
            "flows",
            "dual-srchost",
            "dual-dsthost",
            "triple-isolate",
        )
    },
    **{
        tins: (f"cake bandwidth 10mbit {tins}", f"bandwidth=10e6 diffserv={tins}", TINS)
        for tins in ("precedence", "diffserv3", "diffserv4", "diffserv8")
    },
    "overhead": (
        "cake bandwidth 8mbit besteffort overhead 38 mpu 84",
        "bandwidth=8e6 diffserv=besteffort overhead=38 mpu=84",
        EVEN,
    ),
    "atm": (
        "cake bandwidth 8mbit besteffort overhead 44 atm",
        "bandwidth=8e6 diffserv=besteffort overhead=44 framing=atm",
        EVEN,
    ),
    "ptm": (
        "cake bandwidth 8mbit besteffort overhead 30 ptm",
        "bandwidth=8e6 diffserv=besteffort overhead=30 framing=ptm",
        EVEN,
    ),
    "ingress": ("cake bandwidth 10mbit besteffort ingress", "bandwidth=10e6 diffserv=besteffort ingress=true", HOSTS),
    "memlimit": (
        "cake bandwidth 10mbit besteffort rtt 10s memlimit 200000",
        "bandwidth=10e6 diffserv=besteffort rtt=10 limit=200000",
        HOSTS,
    ),
    "rtt": ("cake bandwidth 10mbit diffserv4 rtt 20ms wash", "bandwidth=10e6 diffserv=diffserv4 rtt=0.02", TINS),
    "ack-filter": (
        "cake bandwidth 500kbit besteffort ack-filter",
        "bandwidth=500e3 diffserv=besteffort ack_filter=on",
        (),
    ),
    "ack-filter-aggressive": (
        "cake bandwidth 500kbit besteffort ack-filter-aggressive",
        "bandwidth=500e3 diffserv=besteffort ack_filter=aggressive",
        (),
    ),
}


def datagrams(flows: Iterable[Flow], draw: random.Random) -> list[Packet]:
    """Two seconds of all flows, and after a pause one at a third of the rates."""
    packets = []
    for number, flow in enumerate(flows):
        for begin, end, share in ((0.0, 2.0, 1.0), (2.6, 3.4, 0.33)):
            gap = 8 * flow.size / (share * flow.rate)
            now = begin + draw.random() * gap
            while now < end:
                tos = flow.dscp << 2 | (ECT0 if flow.ect else 0)
                line = Packet(round(now * 1e6), flow.source, flow.destination, UDP, tos, flow.size, 1000 + number)
                packets.append(line)
                now += gap * (0.5 + draw.random())
    return packets


def acks(draw: random.Random) -> list[Packet]:
    """ACKs of 40 B at twice the rate, some of them duplicates, with datagrams between them."""
    packets = []
    for flow in range(ACKS):
        now, number = 0.0, 1
        while now < 2.0:
            number += draw.choice((0, 0, 1448, 2896, 2896, 2896))
            packets.append(Packet(round(now * 1e6), 1 + flow, 1, TCP, 0, 40, 2000 + flow, number))
            now += 8 * 54 / 500e3 * (0.5 + draw.random())
    now = 0.0
    while now < 2.0:
        packets.append(Packet(round(now * 1e6), 5, 5, UDP, 0, 400, 3000))
        now += 0.05 * (0.5 + draw.random())
    return packets


def script(name: str) -> list[Packet]:
    """The packets of a case, in the order of their times."""
    draw = random.Random(f"cake {name}")
    flows = CASES[name][2]
    packets = datagrams(flows, draw) if flows else acks(draw)
    return sorted(packets, key=lambda packet: packet.us)


def execute(names: list[str]) -> tuple[str, dict[str, str]]:
    """Runs the cases in one machine: its kernel, and the parts of what it said."""
    kernel, image = machine.prepare()
    files: dict[str, str | Path] = {"init": HERE / "cake_init"}
    files["cases"] = "".join(f"{name} {CASES[name][0]}\n" for name in names)
    for name in names:
        files[f"scripts/{name}"] = "".join(
            f"{p.us} {number} {p.source} {p.destination} {p.protocol} {p.tos} {p.size} {p.port} {p.ack}\n"
            for number, p in enumerate(script(name), 1)
        )
    with tempfile.TemporaryDirectory() as scratch:
        files["probe"] = Path(scratch) / "probe"
        machine.run("gcc", "-static", "-O2", "-o", files["probe"], HERE / "probe.c")
        parts = machine.run_job(kernel, image, files, timeout=3000)
    return kernel.name.removeprefix("vmlinuz-"), parts


def store(folder: Path, name: str, version: str, parts: dict[str, str]) -> None:
    """A case's arrivals and what became of them. Times are ns since the first; an empty departure is a drop."""
    packets = script(name)
    sent = [int(line.split()[1]) for line in parts[f"{name} sent"].splitlines()]
    if len(sent) != len(packets) or min(sent) < 0:
        sys.exit(f"cake_open_loop: {name}: not every packet was sent; the machine said\n{parts['head']}")
    left = {}
    for line in parts[f"{name} received"].splitlines():
        number, when, tos = map(int, line.split())
        left[number] = (when - sent[0], tos)
    tc, ours, _ = CASES[name]
    lines = [f"# kernel: Linux {version} of Debian, under QEMU", f"# tc: {tc}", f"# ours: {ours}"]
    lines.append("time,source,destination,protocol,tos,size,port,ack,left,tos_left")
    # From 1: the kernel gives packets of the number 0 another.
    for number, (packet, when) in enumerate(zip(packets, sent, strict=True), 1):
        out = left.get(number)
        cells = [when - sent[0], packet.source, packet.destination, packet.protocol, packet.tos]
        cells += [packet.size + FRAME, packet.port, packet.ack]
        lines.append(",".join(map(str, cells)) + ("," + ",".join(map(str, out)) if out else ",,"))
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines) + "\n"
    (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    (folder / f"{name}.json").write_text(parts[f"{name} statistics"], encoding="utf-8")


def main() -> int:
    """Runs the cases and stores them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the cases are stored")
    parser.add_argument("--only", default="", help="cases whose name has this text")
    given = parser.parse_args()
    names = [name for name in CASES if given.only in name]
    version, parts = execute(names)
    for name in names:
        store(given.folder, name, version, parts)
        print(f"{name}: {len(script(name))} packets")
    return 0


if __name__ == "__main__":
    sys.exit(main())
