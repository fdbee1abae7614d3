"""Checks the warm-up of a study: MSER-5 on recorded queues at a few of its cells."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .. import runner
from ..analysis.compare import WATCHED, judge_warmup, watched
from ..analysis.statistics import Warmup
from ..runner import Job
from .runs import Plan

CELLS = 8
"""At most so many cells are looked at."""
FEWEST = 3
"""At least so many, of a study that has them."""
SHARE = 300
"""One more cell for so many runs, so that looking costs little beside them."""


def judge(planned: Plan, workers: int | None = None) -> dict[str, Warmup]:
    """What MSER-5 says, by experiment and cell.

    The cells are spread over the study. Of each, five seeds are run with the queues recorded over time, and the
    queue `bottleneck`, or else the first one, is judged.
    """
    study = planned.study
    every = list({planned.cells[(e.id, cell)].key: (e, cell) for e in study.experiments for cell in e.cells}.values())
    count = min(max(FEWEST, min(CELLS, planned.runs // SHARE)), len(every))
    jobs: list[Job] = []
    chosen: list[tuple[str, str]] = []
    for k in sorted({round(k * (len(every) - 1) / max(1, count - 1)) for k in range(count)}):
        e, cell = every[k]
        plain = planned.cells[(e.id, cell)].scenario
        seen, _ = watched(plain, e.document(cell, study.name))  # type: ignore[arg-type]
        queues = list(json.loads(plain.to_json())["queue"])  # type: ignore[attr-defined]
        where = f"{e.id}, {said}" if (said := e.titled(cell)) else e.id
        mine = [Job(seen, seed, _series) for seed in runner.seeds(e.first_seed, WATCHED)]
        jobs += mine
        chosen += [(where, "bottleneck" if "bottleneck" in queues or not queues else queues[0])] * len(mine)
    made: list[Any] = runner.run_all(jobs, workers=workers)
    found: dict[str, Warmup] = {}
    for where, queue in dict.fromkeys(chosen):
        runs = [run for run, (whose, _) in zip(made, chosen, strict=True) if whose == where]
        if (judged := judge_warmup(runs, queue)) is not None:
            found[where] = judged
    return found


def _series(text: str) -> dict[str, Any]:
    document = json.loads(text)
    return {key: document[key] for key in ("seed", "warmup_s", "series")}


def warnings(found: Mapping[str, Warmup]) -> Sequence[str]:
    """One sentence on the cell whose warm-up is worst, and how many are too short; none if all are long enough."""
    short = {where: w for where, w in found.items() if w.short}
    if not short:
        return []
    where = max(short, key=lambda name: short[name].excess)
    more = f" ({len(short)} of {len(found)} cells that were looked at are too short)" if len(found) > 1 else ""
    return [short[where].sentence(where) + more]
