"""A grid of crosschecks: stored results of real kernels' TCP on emulated links, against the simulator.

`measure` runs the cells on real links and takes as long as they do. What it found is stored as CSV; `simulate` runs the
simulator over the same cells, and `Agreement` compares. Linux only for `measure`.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import platform
import re
import statistics
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from .. import _core, disk, links
from ..runner import Job, Progress, no_progress, run_all
from ..terminal import number, signed
from . import crosscheck

CONTROLS = ("reno", "cubic", "bbr")
QUEUES: dict[str, dict[str, Any]] = {
    "droptail": {"aqm": "droptail", "limit": "60 packets"},
    "red": {"aqm": "red", "limit": "100 packets", "min_th": 10, "max_th": 30, "max_p": 0.1, "gentle": True},
    "pie": {"aqm": "pie", "limit": "200 packets"},
    "codel": {"aqm": "codel", "limit": "200 packets"},
    "fq_codel": {"aqm": "fq_codel", "limit": "200 packets"},
}
"""By name, the queue as a scenario has it."""

RATES = (5, 20)
"""Mbit/s."""
ROUND_TRIPS = (20, 80)
"""Propagation delay there and back, ms."""
FLOWS = (1, 8)

WARMUP, DURATION = 10.0, 60.0
"""The measured interval, s after the start of the flows."""
SEEDS = 10
"""Runs of the simulator for each cell."""

THROUGHPUT, QUEUE = 0.03, 0.15
"""Largest relative difference between simulator and link: of the throughput, and of the mean queue."""
QUEUE_PACKETS = 0.5
"""Absolute difference of the mean queue, packets, that always agrees."""

CHANCE = 2.0
"""Standard deviations of single runs within which one run on the link may differ by chance."""

SEGMENT = 1448
"""Payload of a segment, B: 1500 B on the wire with time stamps."""

STARTS = 0.1
"""The simulator's flows start within so many seconds, or within the round trips that iperf3 needs to connect them one
by one, if that is longer."""

MEASURES = ("throughput_mbps", "queue_mean_packets", "queue_std_packets", "delay_mean_ms", "delay_p99_ms", "drop_rate")
"""Fields of a queue's results that are stored."""


@dataclass(frozen=True, order=True)
class Cell:
    """What is run."""

    control: str
    queue: str
    rate: int
    """Mbit/s."""
    rtt: int
    """ms."""
    flows: int

    def __str__(self) -> str:
        flows = "1 flow" if self.flows == 1 else f"{self.flows} flows"
        return f"{self.control}, {self.queue}, {self.rate} Mbit/s, {self.rtt} ms, {flows}"

    def scenario(
        self, changes: Mapping[str, Any] | None = None, jitter: str | None = None, seed: int = 1
    ) -> _core.Scenario:
        """As the simulator runs it.

        `changes` are keys of the traffic that replace Linux's (`rules.exit_ack`: one of a table); `jitter` is the
        longest extra delay in each direction; `seed` is that of a link's queue.
        """
        half = f"{self.rtt / 2:g} ms"
        access = {"rate": "10 Gbit/s", "delay": "0 s"}
        way: dict[str, Any] = {"rate": f"{self.rate} Mbit/s", "delay": half}
        if jitter is not None:
            way["jitter"] = {"uniform": ["0 s", jitter], "keep_order": True}
        traffic: dict[str, Any] = {
            "kind": "ftp",
            "count": self.flows,
            "start": {"uniform": ["0 s", f"{max(STARTS, self.flows * self.rtt / 1e3):g} s"]},
            "tcp": self.control,
            "stack": crosscheck.LINUX,
            "segment": f"{SEGMENT} B",
        }
        for key, value in (changes or {}).items():
            table, _, part = key.partition(".")
            traffic[table] = {**traffic.get(table, {}), part: value} if part else value
        document = {
            "name": f"{self.control}-{self.queue}-{self.rate}-{self.rtt}-{self.flows}",
            "duration": f"{DURATION:g} s",
            "warmup": f"{WARMUP:g} s",
            "seed": seed,
            "topology": {"kind": "dumbbell", "pairs": self.flows, "access": access, "bottleneck": way, "reverse": way},
            "queue": {"bottleneck": QUEUES[self.queue]},
            "traffic": [traffic],
        }
        return _core.Scenario.parse(document, [])


def cells(pattern: str = "") -> list[Cell]:
    """All cells whose text the regular expression is found in."""
    every = [
        Cell(control, queue, rate, rtt, flows)
        for control in CONTROLS
        for queue in QUEUES
        for rate in RATES
        for rtt in ROUND_TRIPS
        for flows in FLOWS
    ]
    return [cell for cell in every if re.search(pattern, str(cell))]


# ---- the real side -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """A run of a cell on a real link."""

    control: str
    queue: str
    rate: int
    rtt: int
    flows: int
    throughput_mbps: float
    queue_mean_packets: float
    queue_std_packets: float
    delay_mean_ms: float
    delay_p99_ms: float
    drop_rate: float
    lateness_p99_us: float
    """Of the link's deliveries."""

    @property
    def cell(self) -> Cell:
        """What was run."""
        return Cell(self.control, self.queue, self.rate, self.rtt, self.flows)


def _measure(cell: Cell, seed: int, port: int, real_time: bool, stop: Callable[[], bool]) -> Measured:
    entry = crosscheck.Flows(cell.flows, SEGMENT, cell.control, timestamps=True, ecn=False)
    scenario = cell.scenario(seed=seed)
    plan = links.from_scenario(scenario, None, mtu=entry.mtu, sysctls=entry.sysctls(), real_time=real_time)
    document = crosscheck.run_real(plan, entry, WARMUP, DURATION, port=port, stop=stop)
    found = document["queues"][plan.queue]
    if found["device_overruns"] or found["refused"]:
        raise crosscheck.CrosscheckError(f"{cell}: the machine is too slow: packets were lost in front of the link")
    return Measured(
        **asdict(cell), **{key: found[key] for key in MEASURES}, lateness_p99_us=found["lateness"]["p99_us"]
    )


def measure(
    wanted: Sequence[Cell], *, jobs: int, real_time: bool, runs: int = 1, progress: Progress = no_progress
) -> list[Measured]:
    """Runs cells on real links, `jobs` at a time, each `runs` times with the seeds from 1 on.

    A cell's runs stand together in what is returned.

    Raises:
        crosscheck.CrosscheckError: iperf3 is missing or has failed, or the machine is too slow.
        links.LinkError: no link can be set up here.
    """
    crosscheck.need_iperf3()
    stopped = threading.Event()
    found: dict[tuple[Cell, int], Measured] = {}
    total = runs * len(wanted)
    progress(0, total, "real links")
    pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="cell")
    # Light and heavy cells are under way at the same time.
    order = sorted(wanted, key=lambda cell: (cell.rtt, cell.flows, cell.queue, cell.control, cell.rate))
    try:
        futures = {
            pool.submit(_measure, cell, seed, crosscheck.PORT + k, real_time, stopped.is_set): (cell, seed)
            for k, (seed, cell) in enumerate((seed, cell) for seed in range(1, runs + 1) for cell in order)
        }
        for future in as_completed(futures):
            found[futures[future]] = future.result()
            progress(len(found), total, "real links")
    finally:
        stopped.set()
        pool.shutdown(wait=True, cancel_futures=True)
    return [found[cell, seed] for cell in wanted for seed in range(1, runs + 1)]


def means(runs: Iterable[Measured]) -> list[tuple[Measured, int]]:
    """For each cell the mean over its links, and how many there are."""
    by_cell: dict[Cell, list[Measured]] = {}
    for run in runs:
        by_cell.setdefault(run.cell, []).append(run)

    def mean(of: list[Measured]) -> Measured:
        values: dict[str, Any] = {
            key: statistics.fmean(getattr(run, key) for run in of) for key in (*MEASURES, "lateness_p99_us")
        }
        return replace(of[0], **values) if len(of) > 1 else of[0]

    return [(mean(of), len(of)) for of in by_cell.values()]


def facts(jobs: int, real_time: bool) -> dict[str, str]:
    """What machine and kernel measured, without a date."""
    model = "unknown"
    for line in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": f"{model}, {os.cpu_count()} cores",
        "sender": crosscheck.iperf3_version(),
        "links": f"{jobs} at a time, {'real-time' if real_time else 'normal'} priority",
        "window": f"{WARMUP:g} s to {DURATION:g} s",
    }


def write(path: Path, runs: Iterable[Measured], about: Mapping[str, str]) -> None:
    """The CSV, with the facts as comments in front."""
    text = io.StringIO()
    text.writelines(f"# {key}: {value}\n" for key, value in about.items())
    table = csv.writer(text, lineterminator="\n")
    names = [one.name for one in fields(Measured)]
    table.writerow(names)
    for run in runs:
        table.writerow([f"{v:.6g}" if isinstance(v := getattr(run, name), float) else v for name in names])
    disk.make_folders(path.parent)
    disk.replace(path, text.getvalue())


def read(path: Path) -> tuple[list[Measured], dict[str, str]]:
    """What `write` has written.

    Raises:
        crosscheck.CrosscheckError: the file is none of these.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    about = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    kinds = {one.name: {"str": str, "int": int}.get(str(one.type), float) for one in fields(Measured)}
    try:
        return [Measured(**{name: kind(row[name]) for name, kind in kinds.items()}) for row in rows], about
    except (KeyError, ValueError, TypeError) as error:
        raise crosscheck.CrosscheckError(f"{path}: is no table of a grid ({error})") from None


# ---- the simulator -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Simulated:
    """Means over the seeds."""

    throughput_mbps: float
    queue_mean_packets: float
    queue_std_packets: float
    delay_mean_ms: float
    delay_p99_ms: float
    drop_rate: float
    throughput_sd: float = 0.0
    """Standard deviation over the seeds, Mbit/s: how far one run may be from the mean by chance."""
    queue_sd: float = 0.0
    """The same of the mean queue, packets."""


def _sd(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _reduce(text: str) -> list[float]:
    queue = json.loads(text)["queues"]["bottleneck"]
    return [queue[key] for key in MEASURES]


def simulate(
    wanted: Sequence[Cell],
    *,
    seeds: int = SEEDS,
    changes: Mapping[str, Any] | None = None,
    jitter: str | None = None,
    progress: Progress = no_progress,
) -> list[Simulated]:
    """Means over the seeds for each cell; `changes` and `jitter` as in `Cell.scenario`."""
    jobs = []
    for cell in wanted:
        scenario = cell.scenario(changes, jitter)
        jobs += [Job(scenario, 1 + k) for k in range(seeds)]
    rows = run_all(jobs, _reduce, progress=progress, label="simulator")
    means = []
    for k in range(len(wanted)):
        columns = list(zip(*rows[seeds * k : seeds * (k + 1)], strict=True))
        spread = [_sd(columns[MEASURES.index(key)]) for key in ("throughput_mbps", "queue_mean_packets")]
        means.append(Simulated(*(math.fsum(column) / seeds for column in columns), *spread))
    return means


# ---- agreement -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Agreement:
    """A cell in both worlds."""

    real: Measured
    """The mean over the links."""
    simulated: Simulated
    links: int = 1

    def relative(self, measure: str) -> float:
        """Simulator minus link, over the link's."""
        real: float = getattr(self.real, measure)
        difference: float = getattr(self.simulated, measure) - real
        return difference / real if real else math.copysign(math.inf, difference) if difference else 0.0

    @property
    def throughput(self) -> bool:
        """Whether the throughput agrees."""
        return abs(self.relative("throughput_mbps")) <= THROUGHPUT

    @property
    def queue(self) -> bool:
        """Whether the mean queue agrees."""
        near = abs(self.simulated.queue_mean_packets - self.real.queue_mean_packets) <= QUEUE_PACKETS
        return near or abs(self.relative("queue_mean_packets")) <= QUEUE

    @property
    def holds(self) -> bool:
        """Whether both agree."""
        return self.throughput and self.queue

    @property
    def chance(self) -> bool:
        """Whether the links are, in both, within CHANCE standard deviations of a mean of as many simulated runs."""
        pairs = (("throughput_mbps", "throughput_sd"), ("queue_mean_packets", "queue_sd"))
        ours, allowed = self.simulated, CHANCE / math.sqrt(self.links)
        return all(
            abs(getattr(ours, mean) - getattr(self.real, mean)) <= allowed * getattr(ours, sd) for mean, sd in pairs
        )


def compare(real: Sequence[tuple[Measured, int]], simulated: Sequence[Simulated]) -> list[Agreement]:
    """Both, cell by cell: what `means` gives, and what `simulate` gives for the same cells."""
    return [Agreement(mean, ours, links) for (mean, links), ours in zip(real, simulated, strict=True)]


def summary(found: Sequence[Agreement]) -> list[list[str]]:
    """By congestion control: cells, and how many agree in throughput, mean queue and both."""
    rows = []
    for control in CONTROLS:
        of = [one for one in found if one.real.control == control]
        if of:
            counts = [sum(getattr(one, name) for one in of) for name in ("throughput", "queue", "holds")]
            by_chance = sum(one.chance and not one.holds for one in of)
            share = f"{100 * counts[2] / len(of):.0f} %"
            rows.append([control, str(len(of)), *(str(count) for count in counts), share, str(by_chance)])
    return rows


HEAD = ["control", "cells", "throughput", "mean queue", "both", "of all", "others within chance"]

COLUMNS = (
    ("throughput_mbps", "throughput (Mbit/s)", 1, 2),
    ("queue_mean_packets", "mean queue (packets)", 1, 1),
    ("drop_rate", "drop rate (%)", 100, 2),
)


def rows(found: Sequence[Agreement]) -> tuple[list[str], list[list[str]]]:
    """A table of all cells: the links' mean beside the simulator; `*` is outside the bounds, `~` too, but by chance."""
    head = ["control", "queue", "Mbit/s", "ms", "flows", "links"]
    for _, label, *_ in COLUMNS:
        head += [label, "simulator", "difference"]
    body = []
    for one in found:
        real = one.real
        row = [real.control, real.queue, str(real.rate), str(real.rtt), str(real.flows), str(one.links)]
        for field, _, factor, digits in COLUMNS:
            outside = {"throughput_mbps": not one.throughput, "queue_mean_packets": not one.queue}.get(field, False)
            relative = one.relative(field)
            text = signed(100 * relative if math.isfinite(relative) else None, 1)
            row += [
                number(factor * getattr(real, field), digits),
                number(factor * getattr(one.simulated, field), digits),
                (f"{text} %" if math.isfinite(relative) else text) + (("~" if one.chance else " *") if outside else ""),
            ]
        body.append(row)
    return head, body


def markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A table for a page."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


BEGIN, END = "<!-- begin {} -->", "<!-- end {} -->"


def put(page: Path, name: str, text: str) -> None:
    """Replace the text between the two comments of that name in a page.

    Raises:
        crosscheck.CrosscheckError: the page has no such place.
    """
    old = page.read_text(encoding="utf-8")
    begin, end = BEGIN.format(name), END.format(name)
    before, found, rest = old.partition(begin)
    _, also, after = rest.partition(end)
    if not found or not also:
        raise crosscheck.CrosscheckError(f"{page}: has no place for {name}; wanted {begin} and {end}")
    disk.replace(page, f"{before}{begin}\n\n{text}\n\n{end}{after}")
