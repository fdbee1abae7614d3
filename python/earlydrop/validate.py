"""Agreement with ns-2 on scenarios S1 and S2: means over seeds, each held against a bound.

S1 is the network of the TRED paper: TCP Reno flows over one 5 Mbit/s queue, DropTail, RED and gentle RED. S2 is that of
the NLRED paper, 10 Mbit/s, with REM and PI. What ns-2 measured is stored in `validation/reference/s1` and `s2`; this
module runs the same cells here and compares. The agreement packet by packet is tested with the engine, not here.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from earlydrop.runner import Job, Progress, no_progress, run_all
from earlydrop.statistics import deviation, mean

LOCATION = "EARLYDROP_VALIDATION"
"""Environment variable that names the folder `validation`."""

STANDARD_ERRORS = 3.0
"""A difference within this many of its standard errors is not evidence of disagreement."""


class ValidationError(Exception):
    """The comparison cannot be made. The message says why."""


@dataclass(frozen=True)
class Quantity:
    """One compared figure and how far it may lie from ns-2's mean."""

    key: str
    title: str
    unit: str
    bound: float
    relative: bool = True
    only: tuple[str, ...] = ("droptail", "red", "red_gentle", "rem", "pi")

    def allowance(self, reference: float) -> float:
        """The bound in the figure's own unit."""
        return self.bound * abs(reference) if self.relative else self.bound


_RED = ("red", "red_gentle")
QUANTITIES = (
    Quantity("throughput_mbps", "throughput", "Mbit/s", 0.005),
    Quantity("queue_mean_packets", "mean queue", "packets", 0.015),
    Quantity("average_mean_packets", "mean of avg", "packets", 0.015, only=_RED),
    # ns-2 counts a forced drop (avg >= max_th) as an early one.
    Quantity("early_and_forced_drops", "early + forced drops", "packets", 0.04, only=(*_RED, "rem", "pi")),
    # RED and REM keep the queue far enough from the limit for these to be a handful.
    Quantity("overflow_drops", "overflow drops", "packets", 0.04, only=("droptail", "pi")),
    Quantity("delay_p99_ms", "p99 delay", "ms", 0.04),
    Quantity("jain", "Jain index", "", 0.01, relative=False),
)


@dataclass(frozen=True)
class Network:
    """What the cells of a scenario have in common."""

    warmup: str
    access: dict[str, str]
    bottleneck: dict[str, str]


NETWORKS = {
    "S1": Network("50 s", {"rate": "5 Mbit/s", "delay": "20 ms"}, {"rate": "5 Mbit/s", "delay": "10 ms"}),
    "S2": Network("100 s", {"rate": "100 Mbit/s", "delay": "5 ms"}, {"rate": "10 Mbit/s", "delay": "20 ms"}),
}

_S1_RED = {
    "aqm": "red",
    "dialect": "ns2",
    "min_th": 24,
    "max_th": 72,
    "max_p": 0.1,
    "w_q": 0.002,
    "mean_packet": "1000 B",
}
DISCIPLINES: dict[str, dict[str, Any]] = {
    "droptail": {"aqm": "droptail", "capacity_rule": "n_minus_1"},
    "red": _S1_RED | {"gentle": False},
    "red_gentle": _S1_RED | {"gentle": True},
    "rem": {"aqm": "rem", "dialect": "ns2", "mean_packet": "1000 B"},
    "pi": {"aqm": "pi", "dialect": "ns2", "mean_packet": "1000 B", "q_ref": 60},
}
"""The queues as ns-2 runs them."""


@dataclass(frozen=True)
class Cell:
    """One queue, load and buffer of a scenario."""

    scenario: str
    queue: str
    flows: int
    buffer: int

    @property
    def name(self) -> str:
        return f"{self.scenario}-{self.queue.replace('_', '-')}-n{self.flows}-b{self.buffer}"

    def document(self) -> dict[str, Any]:
        """The scenario that corresponds to what ns-2 ran."""
        network = NETWORKS[self.scenario]
        return {
            "name": self.name,
            "duration": "200 s",
            "warmup": network.warmup,
            "seed": 1,
            "topology": {
                "kind": "dumbbell",
                "pairs": self.flows,
                "access": network.access,
                "bottleneck": network.bottleneck,
            },
            "queue": {"bottleneck": {"limit": f"{self.buffer} packets"} | DISCIPLINES[self.queue]},
            "traffic": [
                {
                    "kind": "ftp",
                    "count": self.flows,
                    "tcp": "reno",
                    "segment": "960 B",
                    "header": "40 B",
                    "window": 1000,
                    "start": {"uniform": ["0 s", "1 s"]},
                }
            ],
        }


CELLS = (
    *(
        Cell("S1", queue, flows, buffer)
        for buffer in (120, 200)
        for flows in (6, 40, 80)
        for queue in ("droptail", "red", "red_gentle")
    ),
    *(Cell("S2", queue, flows, 120) for flows in (5, 10, 20, 40, 80, 120) for queue in ("rem", "pi")),
)


def select(cases: Sequence[str] | None) -> list[Cell]:
    """The cells that `cases` name: a cell's name, a scenario (`S1`), or a pattern such as `S1-red-*`."""
    if not cases:
        return list(CELLS)
    chosen = set()
    for case in cases:
        pattern = f"{case}-*" if case.upper() in NETWORKS else case
        matches = [cell for cell in CELLS if fnmatchcase(cell.name.lower(), pattern.lower())]
        if not matches:
            names = ", ".join(cell.name for cell in CELLS)
            raise ValidationError(f"no case named {case!r}; there are S1 and S2 (all of each) and {names}")
        chosen.update(matches)
    return [cell for cell in CELLS if cell in chosen]


def find_reference() -> Path:
    """The folder of ns-2's figures: named by the environment, in the checkout, or packaged."""
    here = Path(__file__).resolve()
    named = os.environ.get(LOCATION)
    if named:
        candidates = [Path(named), Path(named) / "reference"]
    else:
        candidates = [parent / "validation" / "reference" for parent in here.parents]
    for candidate in candidates:
        if (candidate / "s1" / "ns2_seeds.csv").is_file():
            return candidate
    where = f"{LOCATION}={named} does not hold" if named else "this installation does not have"
    raise ValidationError(
        f"{where} reference/s1/ns2_seeds.csv; set {LOCATION} to the folder `validation` of a checkout of earlydrop"
    )


Figures = dict[str, list[float]]
"""Values by quantity, one for each seed."""


def load_reference(folder: Path, scenarios: Iterable[str]) -> dict[Cell, Figures]:
    """ns-2's figures of every cell of `scenarios`."""
    cells: dict[Cell, Figures] = {}
    for scenario in scenarios:
        path = folder / scenario.lower() / "ns2_seeds.csv"
        try:
            with path.open(newline="", encoding="utf-8") as rows:
                for row in csv.DictReader(rows):
                    cell = Cell(scenario, row["queue"], int(row["n"]), int(row["buffer"]))
                    figures = cells.setdefault(cell, {q.key: [] for q in QUANTITIES if cell.queue in q.only})
                    for key, values in figures.items():
                        values.append(float(row["early_drops" if key == "early_and_forced_drops" else key]))
        except (OSError, KeyError, ValueError, TypeError) as error:
            raise ValidationError(f"{path}: not a table of reference figures ({error})") from error
    return cells


def _figures(result: str) -> dict[str, float | None]:
    """What is compared, out of one result document."""
    document = json.loads(result)
    queue = document["queues"]["bottleneck"]
    return {
        "throughput_mbps": queue["throughput_mbps"],
        "queue_mean_packets": queue["queue_mean_packets"],
        "average_mean_packets": queue["average_mean_packets"],
        "early_and_forced_drops": queue["early_drops"] + queue["forced_drops"],
        "overflow_drops": queue["overflow_drops"],
        "delay_p99_ms": queue["delay_p99_ms"],
        "jain": document["jain"],
    }


def compare(cell: Cell, quantity: Quantity, ours: Sequence[float], reference: Sequence[float]) -> dict[str, Any]:
    """One check: the difference of the two means against the larger of bound and three standard errors.

    With a single value on one side its variance is taken from the other side.
    """
    our_sd, their_sd = deviation(ours), deviation(reference)
    if our_sd is None:
        our_sd = their_sd
    if their_sd is None:
        their_sd = our_sd
    error = math.hypot((our_sd or 0.0) / math.sqrt(len(ours)), (their_sd or 0.0) / math.sqrt(len(reference)))
    our_mean, their_mean = mean(ours), mean(reference)
    difference = our_mean - their_mean
    bound = quantity.allowance(their_mean)
    allowed = max(bound, STANDARD_ERRORS * error)
    return {
        "case": cell.name,
        "scenario": cell.scenario,
        "queue": cell.queue,
        "flows": cell.flows,
        "buffer": cell.buffer,
        "quantity": quantity.key,
        "unit": quantity.unit,
        "ours": our_mean,
        "ours_sd": our_sd,
        "reference": their_mean,
        "reference_sd": their_sd,
        "difference": difference,
        "relative": difference / their_mean if their_mean else None,
        "standard_error": error,
        "allowed": allowed,
        "allowed_by": "bound" if bound >= STANDARD_ERRORS * error else "standard error",
        # Not `difference <= allowed` negated: a value that is not a number must fail.
        "ok": bool(abs(difference) <= allowed),
    }


def _missing(cell: Cell, quantity: Quantity) -> dict[str, Any]:
    return {
        "case": cell.name,
        "scenario": cell.scenario,
        "queue": cell.queue,
        "flows": cell.flows,
        "buffer": cell.buffer,
        "quantity": quantity.key,
        "unit": quantity.unit,
        "ours": None,
        "ok": False,
        "note": "the result has no such figure",
    }


def run(cases: list[str] | None = None, seeds: int = 10, progress: Progress = no_progress) -> dict[str, Any]:
    """Run the chosen cells over seeds 1..`seeds` and check them. `["ok"]` of the result is the verdict."""
    from earlydrop import _core

    if seeds < 1:
        raise ValidationError(f"seeds must be at least 1, not {seeds}")
    cells = select(cases)
    folder = find_reference()
    scenarios = [name for name in NETWORKS if any(cell.scenario == name for cell in cells)]
    reference = load_reference(folder, scenarios)
    for cell in cells:
        if cell not in reference:
            raise ValidationError(f"{folder}: no reference figures for {cell.name}")
    jobs = [
        Job(scenario, seed)
        for scenario in (_core.Scenario.parse(cell.document(), []) for cell in cells)
        for seed in range(1, seeds + 1)
    ]
    results = run_all(jobs, _figures, progress=progress, label="validate")
    checks = [
        check
        for index, cell in enumerate(cells)
        for check in _checks(cell, results[index * seeds : (index + 1) * seeds], reference[cell])
    ]
    return {
        "ok": all(check["ok"] for check in checks),
        "scenarios": scenarios,
        "against": "ns-2 2.35",
        "version": _core.version(),
        "seeds": seeds,
        "reference_seeds": min(len(values) for cell in cells for values in reference[cell].values()),
        "bounds": {q.key: {"bound": q.bound, "relative": q.relative} for q in QUANTITIES},
        "standard_errors": STANDARD_ERRORS,
        "checks": checks,
        "failed": sum(not check["ok"] for check in checks),
    }


def _checks(cell: Cell, results: Sequence[dict[str, float | None]], reference: Figures) -> Iterator[dict[str, Any]]:
    for quantity in QUANTITIES:
        if cell.queue not in quantity.only:
            continue
        ours = [value for value in (result[quantity.key] for result in results) if value is not None]
        if len(ours) < len(results):
            yield _missing(cell, quantity)
        else:
            yield compare(cell, quantity, ours, reference[quantity.key])


def render(report: dict[str, Any]) -> str:
    """The checks as a table, the verdict last."""
    titles = {q.key: q.title for q in QUANTITIES}
    heading = (
        f"{' and '.join(report['scenarios'])} against {report['against']}: "
        f"means over {report['seeds']} seeds here, {report['reference_seeds']} there"
    )
    lines = [
        heading,
        "",
        f"{'':2}{'quantity':22}{'earlydrop':>11}{'ns-2':>11}{'difference':>13}{'allowed':>11}",
    ]
    case = None
    for check in report["checks"]:
        if check["case"] != case:
            case = check["case"]
            lines.append(f"{case}")
        mark = " " if check["ok"] else "!"
        title = titles[check["quantity"]]
        if check["ours"] is None:
            lines.append(f"{mark} {title:22}{check['note']}")
            continue
        reference, difference, allowed = check["reference"], check["difference"], check["allowed"]
        if check["relative"] is None or check["quantity"] == "jain":
            shown = f"{difference:+13.4f}{allowed:11.4f}"
        else:
            shown = f"{difference / reference:+13.2%}{allowed / abs(reference):11.2%}"
        tail = "  3 s.e." if check["allowed_by"] == "standard error" else ""
        lines.append(f"{mark} {title:22}{check['ours']:11.4f}{reference:11.4f}{shown}{tail}")
    total, failed = len(report["checks"]), report["failed"]
    lines.append("")
    lines.append(f"{total - failed} of {total} checks agree" + (f"; {failed} do not (marked !)" if failed else ""))
    return "\n".join(lines)
