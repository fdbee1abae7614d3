"""The catalogue of failures: what searches have found of ten disciplines, as data.

`tools/break_catalogue.py` writes it. Each cell is a discipline, a space and an objective; a failure is there as a
scenario with the attacked discipline, and its rival. `earlydrop.breaking.known` runs them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("catalogue.json")


@dataclass(frozen=True)
class Failure:
    """A finding of the catalogue."""

    against: str
    """The rival."""
    regret: float
    """Median of twenty seeds that nothing was chosen by."""
    above: int
    """Of these seeds, with a regret above delta."""
    longer: int
    """The same at three times the length."""
    small: bool
    """Whether everything was taken away that it does not need."""
    sentence: str
    scenario: str
    """As TOML."""


@dataclass(frozen=True)
class Cell:
    """What a search has found of a discipline, in a space, by an objective."""

    aqm: str
    space: str
    objective: str
    runs: int
    scenarios: int
    """That could be run."""
    delta: float
    """The smallest regret that counts."""
    above: int
    """Of these, with a regret above delta on both seeds of the search."""
    failure: Failure | None

    @property
    def name(self) -> tuple[str, str, str]:
        """What tells it from others."""
        return self.aqm, self.space, self.objective

    @property
    def weight(self) -> float:
        """The regret in units of delta."""
        return 0.0 if self.failure is None else self.failure.regret / self.delta


@cache
def cells() -> tuple[Cell, ...]:
    """The catalogue."""
    return read(FILE)


def read(file: Path) -> tuple[Cell, ...]:
    """The catalogue of a file; nothing if there is none."""
    if not file.exists():
        return ()
    document: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return tuple(
        Cell(**{**one, "failure": None if one["failure"] is None else Failure(**one["failure"])}) for one in document
    )


def write(file: Path, found: Sequence[Cell]) -> None:
    """A catalogue to a file."""
    text = json.dumps([asdict(one) for one in found], indent=1, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")


def worst(aqm: str) -> Cell | None:
    """The worst that is known of a discipline: the largest regret in units of delta."""
    own = [one for one in cells() if one.aqm == aqm and one.failure is not None]
    return max(own, key=lambda one: one.weight, default=None)
