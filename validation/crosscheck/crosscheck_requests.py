"""Requests: answers of the kernel's TCP on emulated links against the simulator.

A server behind the link answers each request; the client pauses between the end of an answer and the next request. What
is compared is the time from a request to the end of its answer. `measure` runs links (Linux, root), `simulate` the
simulator. `python validation/crosscheck/crosscheck_requests.py --help` is the program.

Two sets of cells: after idle times, with which the rules for idle connections were checked; and `unseen`, answers of
three sizes on new connections and after two idle times. Of these, each of the three paths goes with every control, size
and kind of connection: path (c + s + k) mod 3 with control c, size s and kind k.
"""

from __future__ import annotations

import argparse
import math
import re
import socket
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import campaign
from crosscheck_grid import CONTROLS, SEGMENT

from earlydrop import _core, links, terminal
from earlydrop.errors import EarlydropError
from earlydrop.links import crosscheck
from earlydrop.runner import Job, run_all
from earlydrop.terminal import signed

PAUSES = (0.1, 0.5, 3.0, 12.0)
"""s."""
LIMITS = (400, 2000)
"""Buffers, packets: less than the bandwidth-delay product of 417, and more than an answer."""

SIZES = (100_000, 1_000_000, 10_000_000)
"""B."""
KINDS = (("new", 1.0), ("same", 0.5), ("same", 5.0))
"""Whether each answer has a new connection, and the pause, s."""
PATHS = ((5, 40), (50, 200), (100, 5))
"""Mbit/s, ms. DropTail holds a bandwidth-delay product, at least 20 packets."""
ANSWERS = 6
"""Answers of a run of `unseen` cells."""

WINDOW = 20_000
"""Segments, which never limit."""

REQUEST = 400
"""On the wire, B."""
BOUND = 0.1
"""Largest relative difference of the medians."""

PORT = 5700
"""Port of the first link's client."""
OVERHEAD = {"same": 52, "new": 28}
"""Headers of a request, B: a segment with time stamps, or a datagram."""

SERVER = """
import socket, sys
here, host, port, control, connection, answers, answer, request = sys.argv[1:6] + [int(one) for one in sys.argv[6:]]
def connect():
    s = socket.socket()
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.setsockopt(socket.SOL_SOCKET, 32, 1 << 24)  # SO_SNDBUFFORCE: an answer never waits for the buffer
    s.connect((host, int(port)))
    return s
asked = socket.socket(type=socket.SOCK_DGRAM)
asked.bind((here, int(port)))
s = connect()
for k in range(answers):
    if connection == "new":
        asked.recv(request)
        s = connect()
    else:
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
    rate: int = 50
    """Mbit/s."""
    rtt: int = 100
    """ms."""
    size: int = 2_000_000
    """Payload of an answer, B."""
    connection: str = "same"
    """Whether each answer has a "new" connection. The first one of "same" has one, too."""
    answers: int = 12

    def __str__(self) -> str:
        path = f"{self.rate} Mbit/s, {self.rtt} ms, {self.limit} packets"
        kind = "new" if self.connection == "new" else f"{self.pause:g} s"
        return f"{self.control}, {path}, {self.size / 1000:g} kB, {kind}"

    def scenario(self, changes: Mapping[str, Any] | None = None) -> _core.Scenario:
        """As the simulator runs it; `changes` are keys of the traffic."""
        way = {"rate": f"{self.rate} Mbit/s", "delay": f"{self.rtt / 2:g} ms"}
        traffic: dict[str, Any] = {
            "kind": "requests",
            "tcp": self.control,
            "stack": crosscheck.LINUX,
            "segment": f"{SEGMENT} B",
            # The server's buffer is larger than an answer.
            "window": WINDOW,
            "size": f"{self.size} B",
            "request": f"{REQUEST} B",
            "connection": self.connection,
            "number": self.answers,
            "think": f"{self.pause:g} s",
            **(changes or {}),
        }
        document = {
            "name": "requests",
            "duration": f"{self.answers * (self.pause + 8 + 10 * self.least):g} s",
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
        return _core.Scenario.parse(document, []).over_ip()

    @property
    def least(self) -> float:
        """What an answer takes at the link's rate, s."""
        return self.size * 8 / (self.rate * 1e6)


def cells(pattern: str = "", of: str = "seen") -> list[Cell]:
    """All cells of a set whose text the regular expression is found in."""
    every = [Cell(control, limit, pause) for control in CONTROLS for limit in LIMITS for pause in PAUSES]
    if of == "unseen":
        every = []
        for c, control in enumerate(CONTROLS):
            for s, size in enumerate(SIZES):
                for k, (connection, pause) in enumerate(KINDS):
                    rate, rtt = PATHS[(c + s + k) % len(PATHS)]
                    limit = max(20, math.ceil(rate * 1e3 * rtt / 8 / 1500))
                    every.append(Cell(control, limit, pause, rate, rtt, size, connection, ANSWERS))
    return [cell for cell in every if re.search(pattern, str(cell))]


def _answer(cell: Cell, running: links.Running, listening: socket.socket, connection: socket.socket) -> float:
    """The time from a request to the end of its answer, s."""
    begin = time.monotonic()
    request, left = bytes(REQUEST - OVERHEAD[cell.connection]), cell.size
    new = cell.connection == "new"
    if new:
        with socket.socket(type=socket.SOCK_DGRAM) as asking:
            asking.sendto(request, (running.inner, listening.getsockname()[1]))
        connection, _ = listening.accept()
        connection.settimeout(60)
    else:
        connection.sendall(request)
    while left:
        got = len(connection.recv(min(left, 1 << 20)))
        if got == 0:
            raise crosscheck.CrosscheckError("the server behind the link has ended early")
        left -= got
    taken = time.monotonic() - begin
    if new:
        connection.close()
    return taken


@dataclass(frozen=True)
class Times:
    """A run of a cell on a real link."""

    answers: tuple[float, ...]
    """s, in order."""
    lateness_p99_us: float
    """Of the link's deliveries."""


def measure(cell: Cell, *, port: int, real_time: bool = False, stop: Callable[[], bool] = lambda: False) -> Times:
    """The times of all answers of a run on a real link.

    Raises:
        crosscheck.CrosscheckError: the machine is too slow, or the server has failed.
        links.LinkError: no link can be set up here.
    """
    flows = crosscheck.Flows(1, SEGMENT, cell.control, timestamps=True, ecn=False)
    plan = links.from_scenario(cell.scenario(), None, mtu=flows.mtu, sysctls=flows.sysctls(), real_time=real_time)
    with links.Running(plan) as running, socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # SO_RCVBUFFORCE: the receive window never limits.
        listening.setsockopt(socket.SOL_SOCKET, 33, 1 << 23)
        listening.bind((running.outer, port))
        listening.listen(1)
        numbers = [str(one) for one in (cell.answers, cell.size, REQUEST - OVERHEAD[cell.connection])]
        words = [running.inner, running.outer, str(port), cell.control, cell.connection, *numbers]
        running.start([sys.executable, "-I", "-c", SERVER, *words])
        listening.settimeout(10)
        connection, _ = listening.accept()
        connection.settimeout(60)
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            times = []
            for _ in range(cell.answers):
                if stop():
                    raise crosscheck.CrosscheckError("given up")
                times.append(_answer(cell, running, listening, connection))
                time.sleep(cell.pause)
        found = running.stop(0).document["queues"][plan.queue]
    if found["device_overruns"] or found["refused"]:
        raise crosscheck.CrosscheckError(f"{cell}: the machine is too slow: packets were lost in front of the link")
    return Times(tuple(times), found["lateness"]["p99_us"])


def measure_all(wanted: Sequence[Cell], *, jobs: int, real_time: bool, store: campaign.Store) -> dict[Cell, Times]:
    """Runs cells on real links, at most `jobs` at a time. What `store` has already is not run again."""

    def work(cell: Cell, number: int, stop: Callable[[], bool]) -> Times:
        return campaign.most_punctual(
            lambda: measure(cell, port=PORT + number, real_time=real_time, stop=stop),
            lambda one: one.lateness_p99_us,
            real_time,
        )

    with terminal.Progress() as progress, store.going_on():
        campaign.run(
            [cell for cell in wanted if store.get(str(cell)) is None],
            work,
            # Links are idle for about half of the time.
            lambda cell: (cell.rate / 2, cell.answers * (cell.pause + cell.least)),
            jobs=jobs,
            progress=progress,
            came=lambda cell, times: store.add(str(cell), asdict(times)),
        )
    return {cell: Times(**store.get(str(cell))) for cell in wanted}


def simulate(wanted: Sequence[Cell], changes: Mapping[str, Any] | None = None) -> list[list[float]]:
    """The sorted times of all answers of each cell in the simulator, s; `changes` as in `Cell.scenario`."""
    found: list[dict[str, Any]] = run_all([Job(cell.scenario(changes), 1) for cell in wanted])
    return [one["traffic"][0]["transfers"]["times_s"] for one in found]


def write(path: Path, rows: Mapping[Cell, Times], about: Mapping[str, str]) -> None:
    """The CSV: a line for each run, with the facts as comments in front."""
    lines = [
        {
            **asdict(cell),
            "lateness_p99_us": times.lateness_p99_us,
            **{f"answer_{k + 1}_s": f"{one:.4f}" for k, one in enumerate(times.answers)},
        }
        for cell, times in rows.items()
    ]
    campaign.write(path, lines, about)


def read(path: Path) -> dict[Cell, float]:
    """By cell, the median of the answers that `write` has stored, s.

    Raises:
        crosscheck.CrosscheckError: the file is none of these.
    """
    rows, _ = campaign.read(path)
    kinds: dict[str, Callable[[str], Any]] = {"control": str, "pause": float, "connection": str}
    try:
        return {
            Cell(**{key: kinds.get(key, int)(row[key]) for key in Cell.__dataclass_fields__}): statistics.median(
                float(row[f"answer_{k + 1}_s"]) for k in range(int(row["answers"]))
            )
            for row in rows
        }
    except (KeyError, TypeError, ValueError, statistics.StatisticsError) as error:
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
    return campaign.markdown(head, body)


def unseen_table(stored: Mapping[Cell, float], simulated: Mapping[Cell, float]) -> str:
    """A Markdown table: a line for each control and size, with the three kinds of connection; `*` is outside BOUND."""
    head = ["control", "answer", *("new connection" if new == "new" else f"idle for {p:g} s" for new, p in KINDS)]
    body = []
    for control in CONTROLS:
        for size in SIZES:
            row = [control, f"{size / 1e6:g} MB"]
            for cell in (one for one in cells(of="unseen") if (one.control, one.size) == (control, size)):
                difference = simulated[cell] / stored[cell] - 1
                mark = " *" if abs(difference) > BOUND else ""
                row.append(
                    f"{cell.rate} Mbit/s, {cell.rtt} ms: {stored[cell]:.3f} s, {signed(100 * difference, 1)} %{mark}"
                )
            body.append(row)
    outside = sum(abs(simulated[cell] / stored[cell] - 1) > BOUND for cell in stored)
    return campaign.markdown(head, body) + f"\n\n{len(stored) - outside} of {len(stored)} within {100 * BOUND:.0f} %."


SETS = {
    "seen": ("requests after a pause", table),
    "unseen": ("short answers", unseen_table),
}
"""By name of a set, the place in a page, and what stands there."""
AGREE = {"seen": 1.0, "unseen": 0.8}
"""The share of a set's cells that must agree: the program ends with 1 if fewer do."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The program."""
    parser = argparse.ArgumentParser(prog="crosscheck_requests", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--cells", default="seen", choices=list(SETS), help="set of cells (default: seen)")
    parser.add_argument("--only", default="", help="cells that match this regular expression, such as '^bbr'")
    parser.add_argument("--jobs", type=int, default=4, help="links that run concurrently (default: 4)")
    parser.add_argument("--realtime", action="store_true", help="real-time priority for the links")
    parser.add_argument("--stored", type=Path, help="compare with this CSV instead of running links")
    parser.add_argument("--write", type=Path, help="write the links' times to this CSV; what was interrupted goes on")
    parser.add_argument("--page", type=Path, help="write the table into this Markdown page")
    given = parser.parse_args(arguments)
    try:
        return compare(given)
    except EarlydropError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def compare(given: argparse.Namespace) -> int:
    """Measure or read, simulate, and print both; 1 if fewer cells agree than must.

    Raises:
        crosscheck.CrosscheckError: a link or a file has failed.
    """
    wanted = cells(given.only, given.cells)
    if given.stored is None:
        about = campaign.facts(given.jobs, given.realtime)
        store = campaign.Store(given.write, about)
        found = measure_all(wanted, jobs=given.jobs, real_time=given.realtime, store=store)
        if given.write:
            write(given.write, found, about)
        store.close()
        stored = {cell: statistics.median(times.answers) for cell, times in found.items()}
    else:
        stored = {cell: median for cell, median in read(given.stored).items() if cell in set(wanted)}
        if absent := [cell for cell in wanted if cell not in stored]:
            first = f"{len(absent)} cells, the first {absent[0]}"
            raise crosscheck.CrosscheckError(f"{given.stored}: has no row for {first}")
    simulated = {cell: statistics.median(times) for cell, times in zip(wanted, simulate(wanted), strict=True)}
    outside = 0
    for cell in wanted:
        difference = simulated[cell] / stored[cell] - 1
        outside += abs(difference) > BOUND
        mark = " *" if abs(difference) > BOUND else ""
        print(f"{cell!s:<56}{stored[cell]:>8.3f} s{simulated[cell]:>8.3f} s {signed(100 * difference, 1):>6} %{mark}")
    if given.page:
        name, tabulate = SETS[given.cells]
        campaign.put(given.page, name, tabulate(stored, simulated))
    return int(outside > (1 - AGREE[given.cells]) * len(wanted))


if __name__ == "__main__":
    sys.exit(main())
