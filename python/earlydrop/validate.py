"""Agreement with ns-2 on scenarios S1 to S5: means over seeds, each held against a bound.

What ns-2 measured is stored in `validation/reference`; this module runs the same cases here and compares. The agreement
packet by packet is tested with the engine, not here.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any

from . import foreign
from .analysis.statistics import deviation, mean
from .errors import EarlydropError
from .runner import Job, Progress, no_progress, run_all
from .validation_cases import CASES, SCENARIOS, Case

LOCATION = "EARLYDROP_VALIDATION"
"""Environment variable that names the folder `validation`."""

SEEDS = 10
"""Fewest seeds of a cell."""
STANDARD_ERRORS = 3.0
"""A difference within this many of its standard errors is no sign of disagreement."""


class ValidationError(EarlydropError):
    """The comparison cannot be made. The message says why."""


@dataclass(frozen=True)
class Quantity:
    """One compared figure and how far it may lie from ns-2's mean."""

    key: str
    title: str
    unit: str
    bound: float
    relative: bool = True
    only: tuple[str, ...] = ("droptail", "red", "rem", "pi")
    """The kinds of cases in which the figure is compared."""

    def allowance(self, reference: float) -> float:
        """The bound in the figure's own unit."""
        return self.bound * abs(reference) if self.relative else self.bound


_CLOSE = (
    Quantity("throughput_mbps", "throughput", "Mbit/s", 0.005),
    Quantity("queue_mean_packets", "mean queue", "packets", 0.015),
    Quantity("average_mean_packets", "mean of avg", "packets", 0.015, only=("red",)),
    # ns-2 counts a forced drop (avg >= max_th) as an early one.
    Quantity("early_and_forced_drops", "early + forced drops", "packets", 0.04, only=("red", "rem", "pi")),
    # RED and REM keep the queue far enough from the limit for overflows to be a handful.
    Quantity("overflow_drops", "overflow drops", "packets", 0.04, only=("droptail", "pi")),
    Quantity("delay_p99_ms", "p99 delay", "ms", 0.04),
    Quantity("jain", "Jain index", "", 0.01, relative=False),
)
_USUAL = (
    Quantity("throughput_mbps", "throughput", "Mbit/s", 0.005),
    Quantity("queue_mean_packets", "mean queue", "packets", 0.02),
    Quantity("drops", "drops", "packets", 0.05),
)
_MARKS = Quantity("marks", "marks", "packets", 0.05, only=("red",))


def _goodput(flow: int) -> Quantity:
    return Quantity(f"goodput_{flow}_mbps", f"goodput of flow {flow}", "Mbit/s", 0.05)


QUANTITIES: dict[str, tuple[Quantity, ...]] = {
    "S1": _CLOSE,
    "S2": _CLOSE,
    "S3": (*_USUAL, *map(_goodput, (1, 2, 3, 4))),
    "S4": (*_USUAL, _MARKS, *map(_goodput, (1, 2, 3, 4))),
    "S5": (*_USUAL, *map(_goodput, (1, 2))),
}
"""The figures that are compared in each scenario."""


def quantities(case: Case) -> list[Quantity]:
    """The figures that are compared in one case."""
    chosen = [q for q in QUANTITIES[case.scenario] if case.kind in q.only]
    if "ecn" not in case.name:
        chosen = [q for q in chosen if q is not _MARKS]
    apart = {_goodput(flow).key for flow in range(1, case.apart + 1)}
    return [q for q in chosen if not q.key.startswith("goodput_") or q.key in apart]


def select(names: Sequence[str] | None) -> list[Case]:
    """The cases that `names` name: a case, a scenario (`S1`), or a pattern such as `S1-red-*`."""
    if not names:
        return list(CASES)
    chosen: set[str] = set()
    for name in names:
        pattern = f"{name}-*" if name.upper() in SCENARIOS else name
        matches = [case for case in CASES if fnmatchcase(case.name.lower(), pattern.lower())]
        if not matches:
            some = ", ".join(next(case.name for case in CASES if case.scenario == known) for known in SCENARIOS)
            raise ValidationError(
                f"no case named {name!r}; there are {', '.join(SCENARIOS)} (all of each), such as {some}"
            )
        chosen.update(case.name for case in matches)
    return [case for case in CASES if case.name in chosen]


def find_reference() -> Path:
    """The folder of ns-2's figures: the environment's, the checkout's or the package's."""
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


def load_reference(folder: Path, cases: Iterable[Case]) -> dict[str, Figures]:
    """ns-2's figures of `cases`, by name."""
    wanted = {case.name: {q.key: list[float]() for q in quantities(case)} for case in cases}
    for scenario in dict.fromkeys(case.scenario for case in cases):
        path = folder / scenario.lower() / "ns2_seeds.csv"
        try:
            with foreign.rows(path) as rows:
                for row in csv.DictReader(rows):
                    for key, values in wanted.get(row["case"], {}).items():
                        values.append(_stored(row, key))
        except (OSError, KeyError, ValueError, TypeError, IndexError) as error:
            raise ValidationError(f"{path}: not a table of reference figures ({error})") from error
    for case in cases:
        if not all(wanted[case.name].values()):
            raise ValidationError(f"{folder}: no reference figures for {case.name}")
    return wanted


def _stored(row: dict[str, str], key: str) -> float:
    """One stored figure of ns-2's."""
    if key == "early_and_forced_drops":
        return float(row["early_drops"])
    if key == "drops":
        return float(row["early_drops"]) + float(row["overflow_drops"])
    if key.startswith("goodput_"):
        return float(row["goodput_flows_mbps"].split()[int(key.split("_")[1]) - 1])
    return float(row[key])


def _figures(result: str) -> dict[str, float | None]:
    """The compared figures of one result document."""
    document = json.loads(result)
    queue = document["queues"]["bottleneck"]
    early_and_forced = queue["early_drops"] + queue["forced_drops"]
    copied = (
        "throughput_mbps",
        "queue_mean_packets",
        "average_mean_packets",
        "overflow_drops",
        "delay_p99_ms",
        "marks",
    )
    goodputs = {_goodput(flow["id"]).key: flow["goodput_mbps"] for flow in document["flows"][:4]}
    return {
        **{key: queue[key] for key in copied},
        "early_and_forced_drops": early_and_forced,
        "drops": early_and_forced + queue["overflow_drops"],
        "jain": document["jain"],
        **goodputs,
    }


def compare(case: Case, quantity: Quantity, ours: Sequence[float], reference: Sequence[float]) -> dict[str, Any]:
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
        "case": case.name,
        "scenario": case.scenario,
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


def _missing(case: Case, quantity: Quantity) -> dict[str, Any]:
    return {
        "case": case.name,
        "scenario": case.scenario,
        "quantity": quantity.key,
        "unit": quantity.unit,
        "ours": None,
        "ok": False,
        "note": "the result has no such figure",
    }


def run(cases: list[str] | None = None, seeds: int | None = None, progress: Progress = no_progress) -> dict[str, Any]:
    """Run the chosen cells over seeds 1..`seeds` and check them. `["ok"]` of the result is the verdict.

    Without `seeds` a cell gets ten, or as many as ns-2 has there: more where three standard errors of ten decided.
    """
    import earlydrop._core as _core

    if seeds is not None and seeds < 1:
        raise ValidationError(f"seeds must be at least 1, not {seeds}")
    chosen = select(cases)
    folder = find_reference()
    reference = load_reference(folder, chosen)
    stored = [min(len(values) for values in reference[case.name].values()) for case in chosen]
    counts = [seeds or max(SEEDS, there) for there in stored]
    jobs = [
        Job(_core.Scenario.parse({"name": case.name, "seed": 1} | case.document, []), seed)
        for case, count in zip(chosen, counts, strict=True)
        for seed in range(1, count + 1)
    ]
    results = iter(run_all(jobs, _figures, progress=progress, label="validate"))
    checks = [
        check
        for case, count in zip(chosen, counts, strict=True)
        for check in _checks(case, list(islice(results, count)), reference[case.name])
    ]
    scenarios = [name for name in SCENARIOS if any(case.scenario == name for case in chosen)]
    return {
        "ok": all(check["ok"] for check in checks),
        "scenarios": scenarios,
        "against": "ns-2 2.35",
        "version": _core.version(),
        "seeds": min(counts),
        "most_seeds": max(counts),
        "reference_seeds": min(stored),
        "most_reference_seeds": max(stored),
        "bounds": {
            name: {q.key: {"bound": q.bound, "relative": q.relative} for q in QUANTITIES[name]} for name in scenarios
        },
        "standard_errors": STANDARD_ERRORS,
        "checks": checks,
        "failed": sum(not check["ok"] for check in checks),
    }


def _checks(case: Case, results: Sequence[dict[str, float | None]], reference: Figures) -> Iterator[dict[str, Any]]:
    for quantity in quantities(case):
        ours = [value for value in (result.get(quantity.key) for result in results) if value is not None]
        if len(ours) < len(results):
            yield _missing(case, quantity)
        else:
            yield compare(case, quantity, ours, reference[quantity.key])


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


def render(report: dict[str, Any]) -> str:
    """The checks as a table, the verdict last."""
    titles = {q.key: q.title for name in report["scenarios"] for q in QUANTITIES[name]}
    heading = (
        f"{', '.join(report['scenarios'])} against {report['against']}: "
        f"means over {_range(report['seeds'], report['most_seeds'])} seeds here, "
        f"{_range(report['reference_seeds'], report['most_reference_seeds'])} there"
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
