"""Checks the measured windows of a study, on recorded runs of a few of its cells."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial

from .. import runner
from ..analysis import round_trips, window
from ..analysis.window import WATCHED, Recording, Window
from ..runner import Job
from .runs import Plan

CELLS = 8
"""The most cells that are looked at."""
FEWEST = 3
"""The fewest cells that are looked at, of a study that has them."""
SHARE = 300
"""Runs for each further cell, so that looking costs little beside them."""


def judge(planned: Plan, workers: int | None = None) -> dict[str, Window]:
    """What is known of the window, by experiment and cell.

    The cells are spread over the study. Of each, five seeds are run and recorded, and the queue `bottleneck`, or else
    the first one, is judged with the flows.
    """
    study = planned.study
    every = list({planned.cells[(e.id, cell)].key: (e, cell) for e in study.experiments for cell in e.cells}.values())
    count = min(max(FEWEST, min(CELLS, planned.runs // SHARE)), len(every))
    jobs: list[Job] = []
    chosen: list[tuple[str, float | None]] = []
    for k in sorted({round(k * (len(every) - 1) / max(1, count - 1)) for k in range(count)}):
        e, cell = every[k]
        plain, document = planned.cells[(e.id, cell)].scenario, e.document(cell, study.name)
        seen, _ = window.watched(plain, document)  # type: ignore[arg-type]
        queues = list(json.loads(plain.to_json())["queue"])  # type: ignore[attr-defined]
        queue = "bottleneck" if "bottleneck" in queues or not queues else queues[0]
        where = f"{e.id}, {said}" if (said := e.titled(cell)) else e.id
        mine = [Job(seen, seed, partial(_recording, queue)) for seed in runner.seeds(e.first_seed, WATCHED)]
        jobs += mine
        chosen += [(where, round_trips.base(document, queue))] * len(mine)
    made: list[Recording] = runner.run_all(jobs, workers=workers)
    found: dict[str, Window] = {}
    for where, round_trip in dict.fromkeys(chosen):
        runs = [run for run, (whose, _) in zip(made, chosen, strict=True) if whose == where]
        if (judged := window.judge(runs, round_trip)) is not None:
            found[where] = judged
    return found


def _recording(queue: str, text: str) -> Recording:
    return window.recording(json.loads(text), queue)


def warnings(found: Mapping[str, Window]) -> Sequence[str]:
    """One sentence on the cell whose window is worst, and how many are too short; none if all are long enough."""
    short = {where: w for where, w in found.items() if w.short}
    if not short:
        return []
    where = max(short, key=lambda name: short[name].excess)
    more = f" ({len(short)} of {len(found)} cells that were looked at are too short)" if len(found) > 1 else ""
    return [short[where].sentence(where) + more]
