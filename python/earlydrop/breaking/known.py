"""Whether the failures of the catalogue are failures still."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..known_failures import Cell
from ..runner import Progress, no_progress
from ..store import Store
from ..sweeps.executors import Executor
from .attacks import posed
from .objectives import objective
from .search import FRESH, LONGER, Held, Problem, Runs, hold, longer
from .space import Space

KNOWN_SEEDS = 5_000_001
"""First of the seeds that `break --known` runs: none that a search, confirmation or shrinking has used."""


@dataclass(frozen=True)
class Stands:
    """A failure of the catalogue on new seeds."""

    cell: Cell
    held: Held
    longer: Held

    @property
    def holds(self) -> bool:
        """Whether it is a finding still."""
        return self.held.holds and self.longer.holds


def problem(cell: Cell) -> Problem:
    """A failure as a problem, whose space is its scenario."""
    assert cell.failure is not None
    document = tomllib.loads(cell.failure.scenario)
    alone = Space(cell.space, (), document)
    return posed(alone, Path(f"{cell.space}.toml"), cell.aqm, [cell.failure.against], objective(cell.objective.split()))


def stand(chosen: Sequence[Cell], store: Store, executor: Executor, progress: Progress = no_progress) -> list[Stands]:
    """Run these failures on twenty seeds that nothing has used, and at three times their length."""
    found = []
    for k, one in enumerate(chosen):
        progress(k, len(chosen), "checking what is known")
        asked = problem(one)
        runs, document = Runs(asked, store, executor), asked.space.document(())
        again = [hold(asked, runs, each, 0, KNOWN_SEEDS) for each in (document, longer(document))]
        found.append(Stands(one, *again))
    progress(len(chosen), len(chosen), "checking what is known")
    return found


def document(found: Sequence[Stands]) -> list[Mapping[str, Any]]:
    """What stands, as plain values."""
    return [
        {
            "aqm": one.cell.aqm,
            "space": one.cell.space,
            "objective": one.cell.objective,
            "against": one.cell.failure.against,
            "regret": one.cell.failure.regret,
            "median_regret": one.held.median,
            "above": one.held.above,
            "longer_above": one.longer.above,
            "holds": one.holds,
        }
        for one in found
        if one.cell.failure is not None
    ]


def text(found: Sequence[Stands]) -> str:
    """What stands, as a table."""
    from ..terminal import table

    rows = []
    for one in found:
        assert one.cell.failure is not None
        said = f"{one.held.above} of {FRESH}, {one.longer.above} at {LONGER} times the length"
        rows.append(
            [
                *one.cell.name,
                one.cell.failure.against,
                f"{one.cell.failure.regret:.2f}",
                f"{one.held.median:.2f}",
                said if one.holds else f"{said}: no more",
            ]
        )
    head = ["discipline", "space", "objective", "against", "regret", "now", "above delta"]
    return table(head, rows, left=4)
