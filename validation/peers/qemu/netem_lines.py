"""Runs lines of `tc` and netem that mislead in a Debian kernel under QEMU, and says what they did.

    python validation/peers/qemu/netem_lines.py [--only TEXT] [--write CSV]

With --write the figures are stored case by case; what the file has already is not run again.
docs/coming-from.md says what is wrong with each. Needs what machine.py needs.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import machine

SECONDS = 15
"""Of traffic; the pings are sent from 5 s to 15 s."""
SINGLE = "gso_max_segs 1"
"""Words of devices whose packets are single segments."""


@dataclass(frozen=True)
class Case:
    """Lines of the router's device, and the traffic through it."""

    name: str
    lines: tuple[str, ...]
    client: str = "-C cubic"
    """Words of iperf3."""
    modules: str = ""
    gso: str = SINGLE
    access: str = ""
    """The sender's own qdisc."""


_ADD = "tc qdisc add dev $DEV"
_JITTER = f"{_ADD} root netem delay 20ms 5ms limit 100000"
_TSO = (f"{_ADD} root handle 1: tbf rate 20mbit burst 64kb limit 100000000", f"{_ADD} parent 1:1 pfifo limit 100")
_UDP = "-u -b 10M -l 1000"
_FAST = "tbf rate 50mbit burst 3000 limit 400000"
CASES = (
    Case("jitter", (_JITTER,), _UDP),
    Case("jitter, TCP", (_JITTER,), access=_FAST),
    Case("no jitter, TCP", (f"{_ADD} root netem delay 20ms limit 100000",), access=_FAST),
    Case("limit 1000", (f"{_ADD} root netem delay 300ms",), "-u -b 50M -l 1472"),
    Case(
        "rate",
        (f"{_ADD} root handle 1: netem rate 10mbit delay 20ms", f"{_ADD} parent 1:1 fq_codel"),
        modules="sch_fq_codel",
    ),
    Case("TSO", _TSO, gso=""),
    Case("TSO, single segments", _TSO),
    Case(
        "two queues",
        (
            f"{_ADD} root handle 1: tbf rate 10mbit burst 32kbit latency 50ms",
            f"{_ADD} parent 1:1 handle 10: netem delay 100ms",
        ),
    ),
)


@dataclass
class Figures:
    """What a case came to."""

    case: str
    kernel: str
    rate_mbps: float
    """What iperf3 received."""
    sent: int
    """Datagrams; 0 of TCP."""
    lost: int
    out_of_order: int
    ping_min_ms: float
    ping_mean_ms: float
    ping_max_ms: float
    drops: str = field(default="")
    """Of each qdisc."""


def _server(report: dict[str, Any]) -> dict[str, Any]:
    """What the server counted of its datagrams: the order of their arrival is known there alone."""
    streams = report.get("server_output_json", {}).get("end", {}).get("streams", [{}])
    return dict(streams[0].get("udp", {}))


def run(kernel: Path, image: Path, case: Case) -> Figures:
    """Runs a case in a machine of its own."""
    settings = {"modules": case.modules, "access": case.access, "client": case.client, "gso": case.gso}
    job = "".join(f'{key}="{value}"\n' for key, value in {**settings, "seconds": SECONDS}.items())
    files = {"init": machine.HERE / "netem_init", "job": job, "lines": "\n".join([*case.lines, ""])}
    parts = machine.run_job(kernel, image, files)
    if "refused" in parts["head"]:
        sys.exit(f"netem_lines: {case.name}: {parts['head']}")
    # Warnings may stand before the document.
    report = json.loads(parts["iperf"][parts["iperf"].index("{") :])
    end = report["end"]
    udp = end["streams"][0].get("udp", {})
    received = end["sum" if udp else "sum_received"]
    share = 1 - udp.get("lost_percent", 0.0) / 100
    pings = re.search(r"min/avg/max = ([\d.]+)/([\d.]+)/([\d.]+) ms", parts["ping"])
    if pings is None:
        sys.exit(f"netem_lines: {case.name}: no ping came back\n{parts['ping']}")
    qdiscs = json.loads(parts["qdiscs"])
    return Figures(
        case.name,
        parts["head"].split()[1],
        round(8e-6 * share * received["bytes"] / received["seconds"], 2),
        udp.get("packets", 0),
        udp.get("lost_packets", 0),
        _server(report).get("out_of_order", 0),
        *(float(one) for one in pings.groups()),
        "; ".join(f"{one['kind']} {one['drops']}" for one in qdiscs),
    )


def main() -> int:
    """Runs the cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--write", type=Path, help="CSV for the figures")
    given = parser.parse_args()
    if lacking := machine.missing():
        print(machine.left_out(lacking))
        return 0
    kernel, image = machine.prepare()
    rows: dict[str, dict[str, Any]] = {}
    if given.write and given.write.exists():
        with given.write.open(encoding="utf-8", newline="") as file:
            rows = {row["case"]: row for row in csv.DictReader(file)}
    for case in CASES:
        if given.only not in case.name or case.name in rows:
            continue
        rows[case.name] = vars(run(kernel, image, case))
        print(rows[case.name], flush=True)
        if given.write:
            with given.write.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, rows[case.name], lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows[one.name] for one in CASES if one.name in rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
