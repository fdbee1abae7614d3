"""Examines the windows of a sweep: at which points, and the runs that are made once more for it, recorded."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np

from .. import runner
from ..analysis import round_trips, window
from ..analysis.window import WATCHED, Recording, Window
from ..runner import Job, Progress, no_progress
from .model import Sweep
from .plan import Plan

EXTRA, SHARE = 40, 0.01
"""The most runs that are made again and recorded, to judge windows: so many, or this share of all if that is more."""
FEWER = 3
"""Seeds of each point, where `WATCHED` of each would be more runs than these."""
KEPT = 16
"""Of so many points the recorded runs are kept for the report."""
CANDIDATES = 5000
"""Of larger grids, points are chosen by their numbers alone."""


def judge_warmups(
    planned: Plan,
    workers: int | None = None,
    progress: Progress = no_progress,
    kept: dict[int, str] | None = None,
) -> dict[int, Window | None]:
    """The window at the points that are examined (`examined`), from runs that are made once more, recorded.

    `kept` takes the result of the first seed of each, for the report.
    """
    sweep = planned.sweep
    chosen, seeds_each = examined(planned)
    jobs, places = [], []
    for k in chosen:
        plain = scenario(sweep, k)
        seen, _ = window.watched(plain, sweep.document, sweep.points[k].sets)
        first = int(planned.first[k])
        seeds = range(first, first + min(seeds_each, int(planned.counts[k])))
        of_first = kept if kept is not None and len(chosen) <= KEPT else None
        jobs += [
            Job(seen, seed, partial(_recording, sweep.queue, of_first if seed == first else None, k)) for seed in seeds
        ]
        places += [k] * len(seeds)
    try:
        label = f"{sweep.name}: windows of {len(chosen):,} points"
        made: list[Recording] = runner.run_all(jobs, workers=workers, progress=progress, label=label)
    except runner.RunError:
        # The sweep reports a run that fails.
        return {}
    found: dict[int, Window | None] = {}
    for k in chosen:
        runs = [one for one, place in zip(made, places, strict=True) if place == k]
        round_trip = round_trips.base(sweep.document, sweep.queue, sweep.points[k].sets)
        found[k] = window.judge(runs, round_trip)
    return found


def examined(planned: Plan) -> tuple[list[int], int]:
    """The points whose windows are examined, and the seeds of each: at most `EXTRA` runs, or `SHARE` of all.

    With `WATCHED` seeds of all points where these are no more; else with `FEWER`, of all or of points that are spread
    over the levels of all factors.
    """
    points = len(planned.sweep.points)
    extra = max(EXTRA, int(SHARE * planned.runs))
    each = WATCHED if points * WATCHED <= extra else FEWER
    return _spread(planned.sweep, min(points, extra // each)), each


def runs_again(planned: Plan) -> int:
    """The number of runs that are made again to examine windows."""
    points, each = examined(planned)
    return sum(min(each, int(planned.counts[k])) for k in points)


def _spread(sweep: Sweep, count: int) -> list[int]:
    """So many points, the first and the last among them; of a grid such that all levels are there, equally often."""
    points = len(sweep.points)
    even: list[int] = np.unique(np.linspace(0, points - 1, count).round().astype(int)).tolist()
    if count in (0, 1, points) or sweep.design != "grid" or points > CANDIDATES:
        return even
    names: list[dict[str, int]] = [{} for _ in sweep.factors]
    codes = np.array(
        [
            [known.setdefault(x.name, len(known)) for x, known in zip(point.levels, names, strict=True)]
            for point in sweep.points
        ]
    )
    times = [np.zeros(len(known)) for known in names]
    chosen: list[int] = []
    free = np.ones(points, bool)
    for number in range(count):
        # The rarest levels first; of equals the furthest from those that are chosen.
        rare = sum(of[codes[:, f]] for f, of in enumerate(times))
        near = np.abs(np.arange(points)[:, None] - np.array(chosen or [0])).min(axis=1)
        best = {0: 0, 1: points - 1}.get(number)
        if best is None:
            best = int(np.lexsort((-near, rare, ~free))[0])
        chosen.append(best)
        free[best] = False
        for f, of in enumerate(times):
            of[codes[best, f]] += 1
    return sorted(chosen)


def _recording(queue: str, kept: dict[int, str] | None, point: int, text: str) -> Recording:
    if kept is not None:
        kept[point] = text
    return window.recording(json.loads(text), queue)


def scenario(sweep: Sweep, point: int) -> Any:
    """The checked scenario of a point."""
    import earlydrop._core as _core

    return _core.Scenario.parse(sweep.document, sweep.points[point].sets)
