"""Runs what a profile-guided build is trained with (`tools/pgo.py`): every discipline, TCP and kind of traffic for a
moment, and longer what most runs spend their time in. None of it is a case of the benchmarks.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any, Literal

from earlydrop import _core

Links = Literal["auto", "stepped"]
TRAFFIC: tuple[dict[str, Any], ...] = (
    {"kind": "transfers", "size": "40 packets", "number": "endless", "think": "200 ms"},
    {"kind": "requests", "size": "5 packets", "think": "100 ms"},
    {"kind": "web", "session_gap": "50 ms", "size": "6 packets"},
    {"kind": "pages", "connections": 3, "objects": 4, "size": "5 packets", "think": "300 ms"},
    {"kind": "cbr", "rate": "300 kbit/s"},
    {"kind": "onoff", "rate": "900 kbit/s", "on": "0.2 s", "off": "0.3 s"},
    {"kind": "poisson", "rate": "300 kbit/s"},
    {"kind": "voip"},
    {"kind": "video", "interval": "40 ms", "frame": "1500 B"},
    {"kind": "media", "ecn": "l4s"},
    {"kind": "media", "control": "gcc"},
)
DELAYS = ["2 ms", "5 ms", "9 ms", "14 ms", "23 ms"]


def scenario(
    flows: int, mbps: float, seconds: float, queue: dict[str, Any], traffic: dict[str, Any], **topology: Any
) -> dict[str, Any]:
    """A dumbbell, unless `topology` says otherwise."""
    shape = {
        "kind": "dumbbell",
        "pairs": flows,
        "senders": {"rate": "155 Mbit/s", "delay": DELAYS},
        "receivers": {"rate": "155 Mbit/s", "delay": "3 ms"},
        "bottleneck": {"rate": f"{mbps} Mbit/s", "delay": "15 ms"},
    }
    start = {"uniform": ["0 s", "0.7 s"]}
    return {
        "name": "training",
        "duration": f"{seconds} s",
        "warmup": f"{seconds / 5} s",
        "topology": topology or shape,
        "queue": {"routers" if topology.get("kind") == "random" else "bottleneck": queue},
        "traffic": [{"count": flows, "start": start, **traffic}],
    }


def red(packets: int, dialect: str) -> dict[str, Any]:
    """RED before a buffer of so many packets."""
    thresholds = {"min_th": packets / 6, "max_th": packets / 2}
    return {"aqm": "red", "dialect": dialect, "limit": f"{packets} packets", **thresholds, "max_p": 0.08}


def cases() -> Iterator[tuple[dict[str, Any], Links]]:
    """The scenarios of the training, and how their links are run."""
    ftp = {"kind": "ftp"}
    for links in ("auto", "stepped"):
        for dialect in ("ns2", "paper"):
            yield scenario(70, 33, 30, red(240, dialect), ftp), links
        yield scenario(40, 60, 20, red(500, "paper"), {**ftp, "stack": "linux-6.18", "tcp": "cubic"}), links
    yield scenario(3000, 400, 4, red(3000, "ns2"), ftp), "auto"
    for discipline in json.loads(_core.catalogue()):
        queue = {"aqm": discipline["name"], "limit": "150 packets"}
        yield scenario(25, 20, 8, queue, ftp), "auto"
        yield scenario(25, 20, 4, {**queue, "ecn": True}, {**ftp, "stack": "rfc", "tcp": "cubic"}), "auto"
    for stack in json.loads(_core.stacks())["stacks"]:
        for tcp in stack["tcps"]:
            yield scenario(20, 15, 8, red(120, "paper"), {**ftp, "stack": stack["name"], "tcp": tcp}), "auto"
    for traffic in TRAFFIC:
        yield scenario(30, 12, 10, red(90, "paper"), traffic), "auto"
    access = {"rate": "80 Mbit/s", "delay": "2 ms"}
    row = {"kind": "parking_lot", "bottlenecks": 3, "pairs": 12, "cross": 6, "access": access}
    yield scenario(30, 0, 30, red(90, "ns2"), ftp, **row, bottleneck={"rate": "14 Mbit/s", "delay": "4 ms"}), "auto"
    grid = {"kind": "random", "routers": 40, "access": access}
    for aqm in (red(60, "ns2"), {"aqm": "codel", "limit": "60 packets"}):
        yield scenario(300, 0, 4, aqm, ftp, **grid), "auto"


def main() -> None:
    """Run all cases."""
    start = time.monotonic()
    count = 0
    for document, links in cases():
        _core.Scenario.parse(document, []).run(None, links)
        count += 1
    print(f"trained with {count} runs in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
