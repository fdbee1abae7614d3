"""The networks that `earlydrop validate` compares with ns-2: scenarios S1 to S5, as ns-2 ran them.

Names are those of `validation/peers/ns2/run_scenarios.py`, which made ns-2's figures; `validation/reference/README.md`
describes the scenarios.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

Document = dict[str, Any]

_START = {"uniform": ["0 s", "1 s"]}
_DROPTAIL = {"aqm": "droptail", "capacity_rule": "n_minus_1"}


@dataclass(frozen=True)
class Case:
    """One queue, load and network of a scenario."""

    scenario: str
    name: str
    kind: str
    """Which figures are compared: the discipline, `droptail`, `red`, `rem` or `pi`."""

    document: Document = field(compare=False, repr=False)
    """The scenario that corresponds to what ns-2 ran."""

    apart: int = 0
    """Number of flows that differ from one another, so that each one's goodput is compared."""


def _red(min_th: float, max_th: float, max_p: float, gentle: bool) -> Document:
    curve = {"min_th": min_th, "max_th": max_th, "max_p": max_p, "w_q": 0.002}
    return {"aqm": "red", "dialect": "ns2", "mean_packet": "1000 B", "gentle": gentle} | curve


def _ftp(tcp: str, wire: int, count: int, **more: Any) -> Document:
    # ns-2's Vegas counts no headers.
    header = 0 if tcp == "vegas" else 40
    size = {"segment": f"{wire - header} B", "header": f"{header} B"}
    return {"kind": "ftp", "count": count, "tcp": tcp, "window": 1000, "start": _START} | size | more


def _link(rate: str, delay: str | list[str]) -> Document:
    return {"rate": rate, "delay": delay}


def _s1() -> Iterator[Case]:
    queues = {"droptail": _DROPTAIL, "red": _red(24, 72, 0.1, False), "red-gentle": _red(24, 72, 0.1, True)}
    for buffer, flows, (queue, settings) in product((120, 200), (6, 40, 80), queues.items()):
        topology = {"kind": "dumbbell", "pairs": flows, "access": _link("5 Mbit/s", "20 ms")}
        document = {
            "duration": "200 s",
            "warmup": "50 s",
            "topology": topology | {"bottleneck": _link("5 Mbit/s", "10 ms")},
            "queue": {"bottleneck": {"limit": f"{buffer} packets"} | settings},
            "traffic": [_ftp("reno", 1000, flows)],
        }
        yield Case("S1", f"S1-{queue}-n{flows}-b{buffer}", queue.split("-")[0], document)


def _s2() -> Iterator[Case]:
    queues: dict[str, Document] = {"droptail": _DROPTAIL}
    queues["rem"] = {"aqm": "rem", "dialect": "ns2", "mean_packet": "1000 B"}
    queues["pi"] = {"aqm": "pi", "dialect": "ns2", "mean_packet": "1000 B", "q_ref": 60}
    for queue, max_p in product(("red", "red-gentle"), (0.02, 0.1, 0.5)):
        queues[f"{queue}-p{max_p}"] = _red(30, 90, max_p, queue == "red-gentle")

    def case(label: str, queue: str, flows: int, tcp: str) -> Case:
        topology = {"kind": "dumbbell", "pairs": flows, "access": _link("100 Mbit/s", "5 ms")}
        document = {
            "duration": "200 s",
            "warmup": "100 s",
            "topology": topology | {"bottleneck": _link("10 Mbit/s", "20 ms")},
            "queue": {"bottleneck": {"limit": "120 packets"} | queues[queue]},
            "traffic": [_ftp(tcp, 1000, flows)],
        }
        return Case("S2", f"S2-{label}-n{flows}-b120", queue.split("-")[0], document)

    for flows in (5, 10, 20, 40, 80, 120):
        for queue in queues:
            yield case(queue, queue, flows, "reno")
    for tcp, flows, queue in product(("newreno", "sack"), (5, 20, 80), ("droptail", "red-p0.1", "red-p0.5")):
        yield case(f"{tcp}-{queue}", queue, flows, tcp)


def _s3() -> Iterator[Case]:
    queues = {"droptail": _DROPTAIL, "red": _red(5, 15, 0.1, False), "red-gentle": _red(5, 15, 0.1, True)}
    for part, (queue, settings) in product("ab", queues.items()):
        delays, traffic = ["10 ms", "100 ms"], [_ftp("newreno", 1000, 2)]
        if part == "b":
            delays += ["10 ms", "10 ms"]
            for size in ("1000 B", "500 B"):
                traffic.append({"kind": "cbr", "rate": "0.8 Mbit/s", "segment": size, "start": _START})
        topology = {
            "kind": "dumbbell",
            "pairs": len(delays),
            "senders": _link("10 Mbit/s", delays),
            "receivers": _link("10 Mbit/s", "5 ms"),
            "bottleneck": _link("1.5 Mbit/s", "10 ms"),
        }
        document = {
            "duration": "200 s",
            "warmup": "50 s",
            "topology": topology,
            "queue": {"bottleneck": {"limit": "50 packets"} | settings},
            "traffic": traffic,
        }
        yield Case("S3", f"S3-{part}-{queue}", queue.split("-")[0], document, apart=len(delays))


_AUTOMATIC = {
    "aqm": "red",
    "dialect": "ns2",
    "mean_packet": "500 B",
    "gentle": True,
    "min_th": "auto",
    "max_th": "auto",
    "w_q": "auto",
    "max_p": 0.1,
}
"""RED as ns-2 ships it: ns-2 computes thresholds and weight from the link."""


def _in_bytes(queue: Document, packets: int, mean_packet: int) -> Document:
    """ns-2's `queue_in_bytes_` and `bytes_`: the limit counts packets of mean size."""
    if queue["aqm"] == "droptail":
        return queue | {"limit": f"{packets * mean_packet} B"}
    return queue | {"unit": "byte", "byte_scaling": True, "limit": f"{packets} packets"}


def _s4() -> Iterator[Case]:
    cases: list[tuple[str, str, str]] = [("vegas", "500", queue) for queue in ("droptail", "red")]
    sizes = ("296", "500", "3000", "13000", "mixed")
    cases += [("tahoe", size, queue) for size, queue in product(sizes, ("droptail", "red", "red-ecn"))]
    for (tcp, size, queue), mode in product(cases, ("packet", "byte")):
        settings: Document = dict(_DROPTAIL if queue == "droptail" else _AUTOMATIC)
        settings = settings | {"limit": "50 packets"} if mode == "packet" else _in_bytes(settings, 50, 500)
        more: Document = {}
        if queue == "red-ecn":
            settings["ecn"] = True
            more["ecn"] = True
        wires = (296, 500, 3000, 13000) if size == "mixed" else (int(size),)
        link = _link("10 Mbit/s", "1 ms")
        document = {
            "duration": "100 s",
            "warmup": "20 s",
            "topology": {"kind": "dumbbell", "pairs": 4, "access": link, "bottleneck": link},
            "queue": {"bottleneck": settings},
            "traffic": [_ftp(tcp, wire, 4 // len(wires), **more) for wire in wires],
        }
        apart = 4 if size == "mixed" else 0
        yield Case("S4", f"S4-{tcp}-{size}-{queue}-{mode}", queue.split("-")[0], document, apart)


def _s5() -> Iterator[Case]:
    link = _link("10 Mbit/s", "1 ms")
    windows, delays = (20, 64, 1000), (1, 20, 50, 100)
    for kind, window, queue, delay in product(("auto", "packets"), windows, ("droptail", "red"), delays):
        settings: Document = _DROPTAIL if queue == "droptail" else _red(5, 15, 0.1, True)
        limit: Document = {"limit": "50 packets"}
        if kind == "auto":
            settings = _in_bytes(_DROPTAIL if queue == "droptail" else _AUTOMATIC, 50, 500)
            limit = {}
        traffic = _ftp("newreno", 1040, 2, window=window, start={"uniform": ["0 s", "0.1 s"]})
        document = {
            "duration": "10 s",
            "warmup": "0 s",
            "topology": {"kind": "two_flow", "first": _link("10 Mbit/s", f"{delay} ms"), "link": link},
            "queue": {"bottleneck": limit | settings},
            "traffic": [traffic],
        }
        yield Case("S5", f"S5-{kind}-w{window}-{queue}-{delay}ms", queue, document, apart=2)


CASES: tuple[Case, ...] = (*_s1(), *_s2(), *_s3(), *_s4(), *_s5())
SCENARIOS: tuple[str, ...] = ("S1", "S2", "S3", "S4", "S5")
