"""The work of a worker: make the runs of a batch and pack them as rows for the store.

Machines of a cluster run only this, and need only the installed package.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..document import Document
from ..packed import Packed, numbers, series
from ..store import COST, engine, scenario_key

if TYPE_CHECKING:
    import polars

    import earlydrop._core as _core
    from ..own_aqms.parcel import Parcel

Sets = tuple[tuple[str, str], ...]
Source = Sets | str
"""The changes of the base at a point; or a whole checked scenario as JSON, without name and seed of its own."""
Task = tuple[Source, tuple[int, ...]]
"""A scenario, and the seeds to run it with."""


@dataclass
class Done:
    """The results of a batch, as the engine packed them. Runs are in the order of the tasks and their seeds."""

    columns: Sequence[Packed]
    keys: list[str]
    seeds: list[int]
    scenarios: dict[str, str]
    """The checked scenario of each key."""
    wall_s: list[float]
    """Time that each run took, s; 0 for one that failed."""
    failed: set[int]
    """Positions of the runs that failed, in the order above."""
    failures: list[tuple[int, int, str]]
    """Position of its task, seed and reason for each run that failed."""
    engine: str

    @property
    def size(self) -> int:
        """Rough size of the results in bytes."""
        return sum(len(values) for _, _, _, _, values, _ in self.columns) + sum(map(len, self.scenarios.values()))


def make(base: Document | None, tasks: Sequence[Task], own: Sequence[Parcel] = ()) -> Done:
    """Make the runs of a batch, one after the other. A run that fails does not keep the others from being made.

    `own` are the disciplines from outside that the tasks name, where this process may not know them.
    """
    import earlydrop._core as _core

    if own:
        from ..own_aqms.parcel import unpack

        unpack(own)

    jobs: list[tuple[_core.Scenario, int]] = []
    keys: list[str] = []
    scenarios: dict[str, str] = {}
    places: list[tuple[int, int]] = []
    failures = []
    for number, (source, seeds) in enumerate(tasks):
        try:
            if isinstance(source, str):
                scenario = _core.Scenario.parse(json.loads(source), [])
            else:
                scenario = _core.Scenario.parse(base or {}, source)
        except _core.ScenarioError as error:
            failures += [(number, seed, str(error)) for seed in seeds]
            continue
        text = scenario.to_json()
        key = scenario_key(text)
        scenarios[key] = text
        for seed in seeds:
            jobs.append((scenario, seed))
            keys.append(key)
            places.append((number, seed))
    columns, wall, failed = _core.run_batch(jobs)
    failures += [(*places[at], why) for at, why in failed]
    seconds = numbers(wall, float).tolist()
    seeds_made = [seed for _, seed in places]
    return Done(columns, keys, seeds_made, scenarios, seconds, {at for at, _ in failed}, failures, engine())


def frame(batches: Sequence[Done]) -> polars.DataFrame:
    """The rows of some batches as one frame, without those that failed."""
    import numpy as np
    import polars as pl

    keys = [key for b in batches for key in b.keys]
    count = len(keys)
    names = [b.engine for b in batches for _ in b.keys]
    table: dict[str, pl.Series] = {
        "scenario_key": pl.Series(keys, dtype=pl.String),
        "seed": pl.Series([seed for b in batches for seed in b.seeds], dtype=pl.Int64),
        "engine": pl.Series(names, dtype=pl.String),
        "scenario": pl.Series([b.scenarios[key] for b in batches for key in b.keys], dtype=pl.String),
        COST: pl.Series([s for b in batches for s in b.wall_s], dtype=pl.Float64),
    }
    starts = np.cumsum([0, *(len(b.keys) for b in batches)])
    by_path: dict[str, list[tuple[int, Packed]]] = {}
    for start, batch in zip(starts.tolist(), batches, strict=False):
        for column in batch.columns:
            by_path.setdefault(column[0], []).append((start, column))
    # Columns of lists with the same lengths in the same rows.
    alike: dict[tuple[bytes, bytes], dict[str, pl.Series]] = {}
    for path in sorted(by_path):
        pieces = by_path[path]
        rows = np.concatenate([numbers(runs, np.uint32).astype(np.int64) + start for start, (_, _, runs, *_) in pieces])
        columns = [column for _, column in pieces]
        if any(column[3] is not None for column in columns):
            lengths = np.concatenate([numbers(column[3] or b"", np.uint32) for column in columns])
            # The column takes its place among the others.
            table[path] = alike.setdefault((rows.tobytes(), lengths.tobytes()), {})[path] = series(columns)
        else:
            table[path] = series(columns, None if len(rows) == count else rows, count)
    for (at, counts), flat in alike.items():
        table |= _lists(flat, numbers(at, np.int64), numbers(counts, np.uint32), count).to_dict()
    made = pl.DataFrame(table)
    failed = {start + at for start, b in zip(starts.tolist(), batches, strict=False) for at in b.failed}
    return made if not failed else made.filter(~pl.Series([k in failed for k in range(count)]))


def _lists(flat: Mapping[str, polars.Series], rows: Any, lengths: Any, count: int) -> polars.DataFrame:
    """Values that lie one after the other, as lists of these lengths in these of `count` rows, the rest null."""
    import numpy as np
    import polars as pl

    filled = lengths > 0
    frame = pl.DataFrame(flat)
    if filled.any() and (lengths == lengths[0]).all():
        lists = frame.select(pl.all().reshape((len(lengths), int(lengths[0]))).arr.to_list())
    else:
        of = pl.Series("", np.repeat(np.arange(len(lengths)), lengths))
        lists = frame.group_by(of, maintain_order=True).agg(pl.all()).drop("")
    if filled.sum() == count:
        return lists
    place = np.full(count, -1, np.int64)
    place[rows[filled]] = np.arange(filled.sum())
    lists = lists.select(pl.all().gather(pl.Series(place).set(pl.Series(place < 0), None)))
    if filled.all():
        return lists
    empty = np.zeros(count, bool)
    empty[rows[~filled]] = True
    nothing = {name: pl.lit([], dtype=kind) for name, kind in lists.schema.items()}
    return lists.select(
        pl.when(pl.Series(empty)).then(nothing[name]).otherwise(pl.col(name)).alias(name) for name in lists.columns
    )
