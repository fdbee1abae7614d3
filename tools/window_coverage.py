"""How often the window check warns: of series whose windows are long enough or too short, and of runs of our studies.

    python tools/window_coverage.py docs     writes docs/data/window.csv

A run of a study counts as stationary if nothing shows in a run ten times as long: over its ten windows, the means of
the queue and of the goodput have no trend, and neighbours are not correlated (t tests over the seeds, 5 %).
"""

from __future__ import annotations

import itertools
import json
import math
import random
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import lfilter

import blocks
from earlydrop import _core, runner, study
from earlydrop.analysis import round_trips, statistics, window
from earlydrop.analysis.window import Recording, Track
from earlydrop.runner import Job
from earlydrop.study.runs import plan

Array = np.ndarray[Any, Any]

DRAWS = 200
"""Draws of each series."""
CELLS = 100
"""Stationary cells of the studies."""
SEEDS = (5, 10)
LONGER = 10
"""Length in windows of the run that tells whether a window is stationary."""
DEAR_S = 0.4
"""Cells whose single run takes longer are left out."""
LEVEL = 0.05

# ---- series --------------------------------------------------------------------------------------------------------

DURATION, WARMUP, SAMPLES = 60.0, 15.0, 2000
TIMES = np.arange(SAMPLES) * DURATION / SAMPLES
PART = np.where(TIMES >= WARMUP, (TIMES - WARMUP) / (DURATION - WARMUP), 0.0)
"""Share of the window that is over, at each sample."""


def noise(draw: np.random.Generator, coefficient: float, deviation: float) -> Array:
    """An autoregressive process of order 1 in its steady state."""
    steps = draw.standard_normal(SAMPLES) * deviation * math.sqrt(1 - coefficient**2)
    steps[0] = deviation * draw.standard_normal()
    found: Array = lfilter([1.0], [1.0, -coefficient], steps)
    return found


def series(kind: str, draw: np.random.Generator, phase: float) -> Array:
    """The series of a kind for one seed."""
    name, _, period = kind.partition(", P = ")
    match name:
        case "white noise":
            return 50 + 5 * draw.standard_normal(SAMPLES)
        case "AR(1), 0.9":
            return 50 + noise(draw, 0.9, 5)
        case "AR(1), 0.98":
            return 50 + noise(draw, 0.98, 5)
        case "sawtooth, 20 periods":
            return 50 + 20 * ((20 * PART + phase) % 1 - 0.5) + noise(draw, 0.9, 2)
        case "one dip":
            return 99.9 + 0.01 * draw.standard_normal(SAMPLES) - ((TIMES > 15.5) & (TIMES < 16.5))
        case "growth":
            return 10 + 50 * PART + noise(draw, 0.9, 2)
        case "late start":
            return 10 + 50 * (PART > 0.5) + noise(draw, 0.9, 2)
        case "slow transient":
            return 10 + 50 * (1 - np.exp(-TIMES / 15)) + noise(draw, 0.9, 2)
        case "drift":
            return 50 * (1 - 0.2 * PART) + noise(draw, 0.9, 2.5)
        case _:
            return 50 + 20 * np.sin(2 * np.pi * (PART / float(period) + phase)) + noise(draw, 0.9, 5)


STEADY = ("white noise", "AR(1), 0.9", "AR(1), 0.98", "sawtooth, 20 periods", "one dip")
PERIODS = (0.7, 1.0, 1.5, 2.0)
MOVING = ("growth", "late start", "slow transient", "drift", *(f"sine, P = {period:g}" for period in PERIODS))


def recordings(kind: str, seeds: int, draw: np.random.Generator, *, in_step: bool = False) -> list[Recording]:
    """A draw: one series a seed, as a recorded queue."""
    phases = [draw.random()] * seeds if in_step else draw.random(seeds).tolist()
    each = [series(kind, draw, phase) for phase in phases]
    step = DURATION / SAMPLES
    tracks = [Track("the queue", step, values, 1.0) for values in each]
    return [Recording(seed, WARMUP, DURATION, 0.0, (track,)) for seed, track in enumerate(tracks)]


def warned(kind: str, seeds: int, draws: int, *, in_step: bool = False) -> float:
    """The share of draws with a warning."""
    draw = np.random.default_rng(seeds)
    judged = (window.judge(recordings(kind, seeds, draw, in_step=in_step)) for _ in range(draws))
    return sum(one is not None and one.short for one in judged) / draws


# ---- runs of the studies -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Looked:
    """A cell of a study: its runs as far as they go, and whether they stand for a longer run."""

    where: str
    runs: tuple[Recording, ...]
    round_trip_s: float | None
    stationary: bool


def cut(run: Recording, duration_s: float) -> Recording:
    """The first part of a run."""
    tracks = [replace(one, values=one.values[: round(duration_s / one.step_s)]) for one in run.tracks]
    return replace(run, duration_s=duration_s, tracks=tuple(tracks))


def stationary(runs: list[Recording], width: float) -> bool:
    """Whether ten windows show no trend and no correlation of neighbours, in the queue and in the goodput."""
    for k, track in enumerate(runs[0].tracks):
        if track.shared:
            continue
        first, step = round(runs[0].warmup_s / track.step_s), width / track.step_s
        ends = [first + round(step * i) for i in range(LONGER + 1)]
        each = np.array([[run.tracks[k].values[a:b].mean() for a, b in itertools.pairwise(ends)] for run in runs])
        place = np.arange(LONGER) - (LONGER - 1) / 2
        slopes = each @ place
        rest = each - each.mean(axis=1, keepdims=True)
        squares = (rest**2).sum(axis=1)
        if (squares < 1e-18).all():
            continue
        # Their own mean makes neighbours of independent values differ: the expectation is -1/n.
        neighbours = (rest[:, 1:] * rest[:, :-1]).sum(axis=1) / np.maximum(squares, 1e-18) + 1 / LONGER
        # Differences that are all equal have no p value.
        ps = (statistics.t_test(values.tolist()) for values in (slopes, neighbours))
        if any(p is not None and p < LEVEL for p in ps):
            return False
    return True


def cells() -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """Cells of all studies in a fixed random order, each scenario once: place, document and queue."""
    found: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for name in study.available():
        one = study.find(name)
        planned = plan(one)
        for e in planned.study.experiments:
            for cell in e.cells:
                key = planned.cells[(e.id, cell)].key
                found.setdefault(key, (f"{one.name}, {e.id}, {e.titled(cell)}", e.document(cell, one.name)))
    order = sorted(found)
    random.Random(1).shuffle(order)
    for key in order:
        where, document = found[key]
        queues = list(json.loads(_core.Scenario.parse(document, []).to_json())["queue"])
        if queues:
            yield where, document, "bottleneck" if "bottleneck" in queues else queues[0]


def look(where: str, document: Mapping[str, Any], queue: str, seeds: int) -> Looked | None:
    """Run a cell ten windows long; None if that takes too long."""
    plain = _core.Scenario.parse(document, [])
    normal = json.loads(plain.to_json())
    if sum(entry["count"] for entry in normal["traffic"]) > window.FLOWS:
        return None
    warmup, duration = (float(normal[name].removesuffix(" s")) for name in ("warmup", "duration"))
    if json.loads(plain.run(1))["cost"]["wall_s"] > DEAR_S:
        return None
    width = duration - warmup
    steps = [
        ("record.series", f'"{duration / window.SAMPLES!r} s"'),
        ("record.rates", f'"{duration / window.INTERVALS!r} s"'),
    ]
    try:
        long = _core.Scenario.parse(document, [("duration", f'"{warmup + LONGER * width!r} s"'), *steps])
    except _core.ScenarioError:
        return None
    keep = partial(_recording, queue)
    runs: list[Recording] = runner.run_all([Job(long, seed, keep) for seed in range(1, seeds + 1)])
    known = round_trips.base(document, queue)
    return Looked(where, tuple(cut(run, duration) for run in runs), known, stationary(runs, width))


def _recording(queue: str, text: str) -> Recording:
    return window.recording(json.loads(text), queue)


def looked_at(count: int) -> Iterator[Looked]:
    """Cells of the studies until `count` stationary ones are among them."""
    for where, document, queue in cells():
        one = look(where, document, queue, max(SEEDS))
        if one is None:
            continue
        yield one
        count -= one.stationary
        if count <= 0:
            return


def of_cells(looked: Iterable[Looked], seeds: int) -> dict[bool, tuple[int, int]]:
    """Numbers of cells that are not stationary and that are, and how many of each get a warning."""
    found = {True: (0, 0), False: (0, 0)}
    for one in looked:
        judged = window.judge(one.runs[:seeds], one.round_trip_s)
        cells, warned = found[one.stationary]
        found[one.stationary] = cells + 1, warned + (judged is not None and judged.short)
    return found


# ---- the data ------------------------------------------------------------------------------------------------------


def table(draws: int, looked: Iterable[Looked]) -> list[list[str]]:
    """Counts of what was looked at and of what got a warning, the head first."""
    rows = [["series", "should warn", "seeds", "looked at", "warned"]]
    for kind in (*STEADY, *MOVING):
        for in_step in (False, True) if kind.startswith("sine") else (False,):
            for n in SEEDS:
                found = round(draws * warned(kind, n, draws, in_step=in_step))
                phase = ", one phase for all seeds" if in_step else ""
                rows.append([kind + phase, "yes" if kind in MOVING else "no", str(n), str(draws), str(found)])
    cells = list(looked)
    for steady, title in ((True, "stationary"), (False, "not stationary")):
        for n in SEEDS:
            of, found = of_cells(cells, n)[steady]
            rows.append([f"cells of the studies, {title}", "no" if steady else "yes", str(n), str(of), str(found)])
    return rows


def main() -> None:
    """Write the data."""
    blocks.put_csv(Path(sys.argv[1]) / "data" / "window.csv", table(DRAWS, looked_at(CELLS)))


if __name__ == "__main__":
    main()
