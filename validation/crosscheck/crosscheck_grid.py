"""A grid of crosschecks: stored results of real kernels' TCP on emulated links, against the simulator.

`measure` runs the cells on real links and takes as long as they do (Linux only). What it found is stored as CSV;
`simulate` runs the simulator over the same cells; `crosscheck_agreement` compares. `crosscheck_unseen` has more cells.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import bulk
import campaign

from earlydrop import _core, links
from earlydrop.links import crosscheck
from earlydrop.runner import Job, Progress, no_progress, run_all

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

SEGMENT = 1448
"""Payload of a segment, B: 1500 B on the wire with time stamps."""

STARTS = 0.1
"""Seconds within which the simulator's flows start, or the round trips that iperf3 needs to connect them one by one, if
these are longer."""

MEASURES = ("throughput_mbps", "queue_mean_packets", "queue_std_packets", "delay_mean_ms", "delay_p99_ms", "drop_rate")
"""Fields of a queue's results that are stored."""

SPREAD = ("throughput_mbps", "queue_mean_packets")
"""Those whose standard deviation over the seeds is wanted."""


@dataclass(frozen=True, order=True)
class Cell:
    """What is run. Other grids have other windows, queues and links."""

    control: str
    """Congestion control; of a mixture, two with `+` between them, each with half of the flows."""
    queue: str
    rate: int
    """Mbit/s."""
    rtt: int
    """ms."""
    flows: int

    def __str__(self) -> str:
        flows = "1 flow" if self.flows == 1 else f"{self.flows} flows"
        return f"{self.control}, {self.queue}, {self.rate} Mbit/s, {self.rtt} ms, {flows}"

    @property
    def group(self) -> str:
        """Cells that are counted together."""
        return self.control

    @property
    def loads(self) -> list[bulk.Load]:
        """The flows by congestion control."""
        controls = self.control.split("+")
        return [bulk.Load(control, self.flows // len(controls)) for control in controls]

    @property
    def window(self) -> tuple[float, float]:
        """The measured interval, s."""
        return WARMUP, DURATION

    @property
    def starts(self) -> float:
        """Seconds within which the simulator's flows start."""
        return max(STARTS, self.flows * self.rtt / 1e3)

    @property
    def ecn(self) -> bool:
        """Whether the flows are ECN-capable."""
        return False

    @property
    def both_ways(self) -> bool:
        """Whether each connection has data both ways, over a queue each way."""
        return False

    def discipline(self) -> Mapping[str, Any]:
        """The queue as a scenario has it."""
        return QUEUES[self.queue]

    def impairments(self) -> Mapping[str, Any]:
        """Keys of the link of the data, beside rate and delay."""
        return {}

    def rules(self) -> Mapping[str, Any]:
        """Keys of the traffic that differ from the stack's."""
        return {}

    def scenario(
        self, changes: Mapping[str, Any] | None = None, effects: Mapping[str, Any] | None = None, seed: int = 1
    ) -> _core.Scenario:
        """As the simulator runs it.

        `changes` are keys of the traffic that replace Linux's (`rules.exit_ack`: one of a table); `effects` are
        further keys of the link in each direction; `seed` is that of a link's queue.
        """
        access = {"rate": "10 Gbit/s", "delay": "0 s"}
        way: dict[str, Any] = {"rate": f"{self.rate} Mbit/s", "delay": f"{self.rtt / 2:g} ms"}
        way |= effects or {}
        loads = []
        for load in self.loads:
            traffic: dict[str, Any] = {
                "kind": "ftp",
                **({"name": load.control} if self.both_ways else {}),
                "count": load.flows,
                "start": {"uniform": ["0 s", f"{self.starts:g} s"]},
                "tcp": load.control,
                "stack": crosscheck.LINUX,
                "segment": f"{SEGMENT} B",
                **({"ecn": True} if self.ecn else {}),
                **self.rules(),
            }
            for key, value in (changes or {}).items():
                table, _, part = key.partition(".")
                traffic[table] = {**traffic.get(table, {}), part: value} if part else value
            loads.append(traffic)
            if self.both_ways:
                loads.append({"kind": "ftp", "reverse_of": load.control})
        warmup, duration = self.window
        document = {
            "name": f"{self.control}-{self.queue}-{self.rate}-{self.rtt}-{self.flows}",
            "duration": f"{duration:g} s",
            "warmup": f"{warmup:g} s",
            "seed": seed,
            "topology": {
                "kind": "dumbbell",
                "pairs": self.flows,
                "access": access,
                "bottleneck": {**way, **self.impairments()},
                "reverse": way,
            },
            "queue": {way: self.discipline() for way in ("bottleneck", "reverse")[: 1 + self.both_ways]},
            "traffic": loads,
        }
        return _core.Scenario.parse(document, []).over_ip()

    def plan(self, seed: int, real_time: bool) -> tuple[links.Plan, crosscheck.Flows]:
        """The link, and the flows that it is for."""
        flows = crosscheck.Flows(self.flows, SEGMENT, self.control, timestamps=True, ecn=self.ecn)
        settings: dict[str, Any] = {"mtu": flows.mtu, "sysctls": flows.sysctls(), "real_time": real_time}
        return links.from_scenario(self.scenario(seed=seed), None, **settings), flows

    def send(self, plan: links.Plan, flows: crosscheck.Flows, port: int, stop: Callable[[], bool]) -> dict[str, Any]:
        """Runs the link: its result document. Two ports are free from `port` on."""
        crosscheck.need_iperf3()
        return crosscheck.run_real(plan, flows, *self.window, port=port, stop=stop)

    def measure(self, seed: int, *, port: int, real_time: bool, stop: Callable[[], bool] = lambda: False) -> Measured:
        """Runs it on a real link.

        Raises:
            crosscheck.CrosscheckError: the sender has failed, or the machine is too slow.
            links.LinkError: no link can be set up here.
        """
        plan, flows = self.plan(seed, real_time)
        document = self.send(plan, flows, port, stop)
        found = document["queues"][plan.queue]
        if found["device_overruns"] or found["refused"]:
            raise crosscheck.CrosscheckError(f"{self}: the machine is too slow: packets were lost in front of the link")
        rates = [bulk.throughput(document, port + k) for k in range(len(self.loads))]
        values: dict[str, Any] = {key: found[key] for key in (*MEASURES, "mark_rate")}
        return Measured(self, **values, lateness_p99_us=found["lateness"]["p99_us"], share=share(rates))


def share(rates: Sequence[float]) -> float:
    """Of the first congestion control; 0 if there is no other."""
    return rates[0] / sum(rates) if len(rates) > 1 else 0.0


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

    cell: Cell
    throughput_mbps: float
    queue_mean_packets: float
    queue_std_packets: float
    delay_mean_ms: float
    delay_p99_ms: float
    drop_rate: float
    lateness_p99_us: float
    """Of the link's deliveries."""
    mark_rate: float = 0.0
    share: float = 0.0
    """Of the throughput, that of the first of two congestion controls; 0 if there is one."""

    def row(self) -> dict[str, Any]:
        """As a line of a table."""
        return {**asdict(self.cell), **{one: getattr(self, one) for one in VALUES}}

    @staticmethod
    def of(row: Mapping[str, Any], kind: type[Cell] = Cell) -> Measured:
        """From a line of a table; what it does not have is 0."""
        keys: dict[str, Any] = {
            one.name: int(row[one.name]) if one.type == "int" else row[one.name] for one in fields(kind)
        }
        return Measured(kind(**keys), **{name: float(row[name]) for name in VALUES if name in row})


VALUES = [one.name for one in fields(Measured) if one.name != "cell"]


def measure(
    wanted: Sequence[Cell],
    *,
    jobs: int,
    real_time: bool,
    runs: int = 1,
    store: campaign.Store | None = None,
    progress: Progress = no_progress,
) -> list[Measured]:
    """Runs cells on real links, at most `jobs` at a time, each `runs` times with the seeds from 1 on.

    A cell's runs stand together in what is returned. What `store` has already is not run again.

    Raises:
        crosscheck.CrosscheckError: the sender is missing or has failed, or the machine is too slow.
        links.LinkError: no link can be set up here.
    """
    kept = campaign.Store(None, {}) if store is None else store
    every = [(cell, seed) for cell in wanted for seed in range(1, runs + 1)]

    def key(item: tuple[Cell, int]) -> str:
        return f"{item[0]}; seed {item[1]}"

    def load(item: tuple[Cell, int]) -> tuple[float, float]:
        return item[0].rate, item[0].window[1]

    def work(item: tuple[Cell, int], number: int, stop: Callable[[], bool]) -> Measured:
        cell, seed = item
        return campaign.most_punctual(
            lambda: cell.measure(seed, port=crosscheck.PORT + 2 * number, real_time=real_time, stop=stop),
            lambda one: one.lateness_p99_us,
            real_time,
        )

    campaign.run(
        [item for item in every if kept.get(key(item)) is None],
        work,
        load,
        jobs=jobs,
        progress=progress,
        came=lambda item, one: kept.add(key(item), one.row()),
    )
    return [Measured.of(kept.get(key(item)), type(item[0])) for item in every]


def means(runs: Iterable[Measured]) -> list[tuple[Measured, int]]:
    """For each cell the mean over its links, and how many there are."""
    by_cell: dict[Cell, list[Measured]] = {}
    for run in runs:
        by_cell.setdefault(run.cell, []).append(run)

    def mean(of: list[Measured]) -> Measured:
        values: dict[str, Any] = {key: statistics.fmean(getattr(run, key) for run in of) for key in VALUES}
        return replace(of[0], **values) if len(of) > 1 else of[0]

    return [(mean(of), len(of)) for of in by_cell.values()]


def write(path: Path, runs: Sequence[Measured], about: Mapping[str, str]) -> None:
    """The CSV, with the facts as comments in front. Columns without any value but 0 are left out."""
    unused = {name for name in ("mark_rate", "share") if not any(getattr(run, name) for run in runs)}
    rows = ({key: value for key, value in run.row().items() if key not in unused} for run in runs)
    campaign.write(path, rows, about)


def read(path: Path, kind: type[Cell] = Cell) -> tuple[list[Measured], dict[str, str]]:
    """What `write` has written.

    Raises:
        crosscheck.CrosscheckError: the file is none of these.
    """
    rows, about = campaign.read(path)
    try:
        return [Measured.of(row, kind) for row in rows], about
    except (KeyError, ValueError, TypeError) as error:
        raise crosscheck.CrosscheckError(f"{path}: is no table of a grid ({error})") from None


def facts(jobs: int, real_time: bool) -> dict[str, str]:
    """What measured, and when within a run."""
    window = f"{WARMUP:g} s to {DURATION:g} s"
    return {**campaign.facts(jobs, real_time), "sender": crosscheck.iperf3_version(), "window": window}


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
    mark_rate: float = 0.0
    share: float = 0.0
    throughput_sd: float = 0.0
    """Standard deviation over the seeds, Mbit/s: how far one run may be from the mean by chance."""
    queue_sd: float = 0.0
    """That of the mean queue, packets."""
    share_sd: float = 0.0


def _sd(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def _reduce(text: str) -> list[float]:
    document = json.loads(text)
    queue = document["queues"]["bottleneck"]
    traffic = document["traffic"]
    mixed = len({one["tcp"] for one in traffic}) > 1
    of_first = share([one["throughput_mbps"] for one in traffic]) if mixed else 0.0
    return [*(queue[key] for key in MEASURES), queue["mark_rate"], of_first]


def simulate(
    wanted: Sequence[Cell],
    *,
    seeds: int = SEEDS,
    changes: Mapping[str, Any] | None = None,
    effects: Mapping[str, Any] | None = None,
    progress: Progress = no_progress,
) -> list[Simulated]:
    """Means over the seeds for each cell; `changes` and `effects` as in `Cell.scenario`."""
    jobs = []
    for cell in wanted:
        scenario = cell.scenario(changes, effects)
        jobs += [Job(scenario, 1 + k) for k in range(seeds)]
    rows = run_all(jobs, _reduce, progress=progress, label="simulator")
    found = []
    for k in range(len(wanted)):
        columns = list(zip(*rows[seeds * k : seeds * (k + 1)], strict=True))
        spread = [_sd(columns[at]) for at in (*(MEASURES.index(key) for key in SPREAD), -1)]
        found.append(Simulated(*(math.fsum(column) / seeds for column in columns), *spread))
    return found
