"""Requests after a pause: the kernel's TCP on emulated links against the simulator.

A server behind the link answers each request with 2 MB; the client pauses between the end of an answer and the next
request. What is compared is the time from a request to the end of its answer. `measure` runs links (Linux, root),
`simulate` the simulator. `python -m earlydrop.links.crosscheck_requests --help` is the program.
"""

from __future__ import annotations

import argparse
import csv
import re
import socket
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _core, links
from ..runner import Job, run_all
from ..terminal import signed
from . import crosscheck, crosscheck_grid

CONTROLS = ("reno", "cubic", "bbr")
PAUSES = (0.1, 0.5, 3.0, 12.0)
"""s."""
LIMITS = (400, 2000)
"""Buffers, packets: less than the bandwidth-delay product of 417, and more than an answer."""

RATE, ROUND_TRIP = 50, 100
"""Mbit/s, ms."""
ANSWER, REQUEST = 2_000_000, 400
"""Payload of an answer, and a request on the wire, B."""
ANSWERS = 12
"""Of a run. The first is the slow start of a new connection; the median of all is compared."""
BOUND = 0.1
"""Largest relative difference of the medians."""

PORT = 5700
"""Port of the first link's client."""
OVERHEAD = 52
"""Headers of a segment with time stamps, B."""

SERVER = """
import socket, sys
host, port, control, answers, answer, request = sys.argv[1:4] + [int(one) for one in sys.argv[4:]]
s = socket.socket()
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
s.setsockopt(socket.SOL_SOCKET, 32, 1 << 23)  # SO_SNDBUFFORCE: an answer never waits for the buffer
s.connect((host, int(port)))
for _ in range(answers):
    left = request
    while left:
        left -= len(s.recv(left)) or sys.exit(0)
    s.sendall(bytes(answer))
s.recv(1)
"""


@dataclass(frozen=True, order=True)
class Cell:
    """What is run."""

    control: str
    limit: int
    pause: float

    def __str__(self) -> str:
        return f"{self.control}, {self.limit} packets, {self.pause:g} s"

    def scenario(self, changes: Mapping[str, Any] | None = None) -> _core.Scenario:
        """As the simulator runs it; `changes` are keys of the traffic."""
        way = {"rate": f"{RATE} Mbit/s", "delay": f"{ROUND_TRIP / 2:g} ms"}
        traffic: dict[str, Any] = {
            "kind": "requests",
            "tcp": self.control,
            "stack": crosscheck.LINUX,
            "segment": f"{crosscheck_grid.SEGMENT} B",
            "size": f"{ANSWER} B",
            "request": f"{REQUEST} B",
            "number": ANSWERS,
            "think": f"{self.pause:g} s",
            **(changes or {}),
        }
        document = {
            "name": f"{self.control}-{self.limit}-{self.pause:g}",
            "duration": f"{ANSWERS * (self.pause + 8):g} s",
            "warmup": "0 s",
            "topology": {
                "kind": "dumbbell",
                "pairs": 1,
                "access": {"rate": "10 Gbit/s", "delay": "0 s"},
                "bottleneck": way,
                "reverse": way,
            },
            "queue": {"bottleneck": {"aqm": "droptail", "limit": f"{self.limit} packets"}},
            "traffic": [traffic],
            "record": {"transfers": True},
        }
        return _core.Scenario.parse(document, [])


def cells(pattern: str = "") -> list[Cell]:
    """All cells whose text the regular expression is found in."""
    every = [Cell(control, limit, pause) for control in CONTROLS for limit in LIMITS for pause in PAUSES]
    return [cell for cell in every if re.search(pattern, str(cell))]


def _answer(connection: socket.socket) -> float:
    """The time from a request to the end of its answer, s."""
    begin = time.monotonic()
    connection.sendall(bytes(REQUEST - OVERHEAD))
    left = ANSWER
    while left:
        got = len(connection.recv(min(left, 1 << 20)))
        if got == 0:
            raise crosscheck.CrosscheckError("the server behind the link has ended early")
        left -= got
    return time.monotonic() - begin


def measure(cell: Cell, *, port: int, real_time: bool = False) -> list[float]:
    """The times of all answers of a run on a real link, s, in order.

    Raises:
        crosscheck.CrosscheckError: the machine is too slow, or the server has failed.
        links.LinkError: no link can be set up here.
    """
    flows = crosscheck.Flows(1, crosscheck_grid.SEGMENT, cell.control, timestamps=True, ecn=False)
    plan = links.from_scenario(cell.scenario(), None, mtu=flows.mtu, sysctls=flows.sysctls(), real_time=real_time)
    with links.Running(plan) as running, socket.socket() as listening:
        # SO_RCVBUFFORCE: the receive window never limits.
        listening.setsockopt(socket.SOL_SOCKET, 33, 1 << 23)
        listening.bind((running.outer, port))
        listening.listen(1)
        numbers = [str(one) for one in (port, cell.control, ANSWERS, ANSWER, REQUEST - OVERHEAD)]
        running.start([sys.executable, "-c", SERVER, running.outer, *numbers])
        listening.settimeout(10)
        connection, _ = listening.accept()
        connection.settimeout(60)
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            times = []
            for _ in range(ANSWERS):
                times.append(_answer(connection))
                time.sleep(cell.pause)
        found = running.stop(0).document["queues"][plan.queue]
    if found["device_overruns"] or found["refused"]:
        raise crosscheck.CrosscheckError(f"{cell}: the machine is too slow: packets were lost in front of the link")
    return times


def simulate(wanted: Sequence[Cell], changes: Mapping[str, Any] | None = None) -> list[list[float]]:
    """The sorted times of all answers of each cell in the simulator, s; `changes` as in `Cell.scenario`."""
    found: list[dict[str, Any]] = run_all([Job(cell.scenario(changes), 1) for cell in wanted])
    return [one["traffic"][0]["transfers"]["times_s"] for one in found]


def write(path: Path, rows: Sequence[tuple[Cell, Sequence[float]]], about: Mapping[str, str]) -> None:
    """The CSV: a line for each run, with the facts as comments in front."""
    lines = [f"# {key}: {value}" for key, value in about.items()]
    lines.append(",".join(["control", "limit", "pause_s", *(f"answer_{k + 1}_s" for k in range(ANSWERS))]))
    for cell, times in rows:
        lines.append(",".join([cell.control, str(cell.limit), f"{cell.pause:g}", *(f"{one:.4f}" for one in times)]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(path: Path) -> dict[Cell, float]:
    """By cell, the median of the answers that `write` has stored, s.

    Raises:
        crosscheck.CrosscheckError: the file is none of these.
    """
    times: dict[Cell, list[float]] = {}
    lines = path.read_text(encoding="utf-8").splitlines()
    try:
        for row in csv.reader([line for line in lines if not line.startswith("#")][1:]):
            times.setdefault(Cell(row[0], int(row[1]), float(row[2])), []).extend(float(one) for one in row[3:])
        return {cell: statistics.median(values) for cell, values in times.items()}
    except (ValueError, IndexError, statistics.StatisticsError) as error:
        raise crosscheck.CrosscheckError(f"{path}: is no table of requests ({error})") from None


def table(stored: Mapping[Cell, float], simulated: Mapping[Cell, float]) -> str:
    """A Markdown table: for each control and buffer the link's medians, and the simulator's difference."""
    head = ["control", "buffer (packets)", *(f"idle for {pause:g} s" for pause in PAUSES)]
    body = []
    for control in CONTROLS:
        for limit in LIMITS:
            row = [control, str(limit)]
            for pause in PAUSES:
                cell = Cell(control, limit, pause)
                row.append(f"{stored[cell]:.3f} s, {signed(100 * (simulated[cell] / stored[cell] - 1), 1)} %")
            body.append(row)
    return crosscheck_grid.markdown(head, body)


def main(arguments: Sequence[str] | None = None) -> int:
    """The program."""
    parser = argparse.ArgumentParser(prog="crosscheck_requests", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", default="", help="cells that match this regular expression, such as '^bbr'")
    parser.add_argument("--jobs", type=int, default=4, help="links that run concurrently (default: 4)")
    parser.add_argument("--realtime", action="store_true", help="real-time priority for the links")
    parser.add_argument("--stored", type=Path, help="compare with this CSV instead of running links")
    parser.add_argument("--write", type=Path, help="write the links' times to this CSV")
    parser.add_argument("--page", type=Path, help="write the table into this Markdown page")
    given = parser.parse_args(arguments)
    wanted = cells(given.only)
    if given.stored is None:
        # Long pauses first.
        order = sorted(wanted, key=lambda cell: -cell.pause)
        with ThreadPoolExecutor(given.jobs) as pool:
            runs = pool.map(lambda k: measure(order[k], port=PORT + k, real_time=given.realtime), range(len(order)))
            rows = list(zip(order, runs, strict=True))
        stored = {cell: statistics.median(times) for cell, times in rows}
        if given.write:
            about = crosscheck_grid.facts(given.jobs, given.realtime)
            write(given.write, sorted(rows), {key: about[key] for key in ("kernel", "processor", "links")})
    else:
        stored = read(given.stored)
    simulated = {cell: statistics.median(times) for cell, times in zip(wanted, simulate(wanted), strict=True)}
    outside = 0
    for cell in wanted:
        difference = simulated[cell] / stored[cell] - 1
        outside += abs(difference) > BOUND
        mark = " *" if abs(difference) > BOUND else ""
        print(f"{cell!s:<32}{stored[cell]:>8.3f} s{simulated[cell]:>8.3f} s {signed(100 * difference, 1):>6} %{mark}")
    if given.page:
        crosscheck_grid.put(given.page, "requests after a pause", table(stored, simulated))
    return int(outside > 0)


if __name__ == "__main__":
    sys.exit(main())
