"""What a worker does: make the runs of a batch and pack them as rows for the store.

This is all that runs on the machines of a cluster, and they need nothing but the installed package.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..documents import Document
from ..store import COST, engine, scenario_key

if TYPE_CHECKING:
    import polars

    from .. import _core

Sets = tuple[tuple[str, str], ...]
Task = tuple[Sets, tuple[int, ...]]
"""What a point changes of the base scenario, and the seeds to run it with."""


@dataclass
class Done:
    """What a batch gave. Rows are in the order of the tasks and their seeds; runs that failed have none."""

    frame: polars.DataFrame | bytes
    failures: list[tuple[int, int, str]]
    """Position of the task, seed, reason."""
    wall_s: list[float]
    """What each run took, s; 0 for one that failed."""
    engine: str


def make(base: Document, tasks: Sequence[Task]) -> Done:
    """Make the runs of a batch, one after the other. A run that fails does not keep the others from being made."""
    from .. import _core

    jobs: list[tuple[_core.Scenario, int]] = []
    keys: list[str] = []
    texts: list[str] = []
    places: list[tuple[int, int]] = []
    failures = []
    for number, (sets, seeds) in enumerate(tasks):
        try:
            scenario = _core.Scenario.parse(base, sets)
        except _core.ScenarioError as error:
            failures += [(number, seed, str(error)) for seed in seeds]
            continue
        text = scenario.to_json()
        key = scenario_key(text)
        for seed in seeds:
            jobs.append((scenario, seed))
            keys.append(key)
            texts.append(text)
            places.append((number, seed))
    columns, wall, failed = _core.run_batch(jobs)
    failures += [(*places[at], why) for at, why in failed]
    seconds = numbers(wall, float)
    frame = packed(columns, keys, [seed for _, seed in places], texts, seconds, {at for at, _ in failed})
    return Done(frame, failures, seconds.tolist(), engine())


def make_far(base: Document, tasks: Sequence[Task]) -> Done:
    """As `make`, on a worker of a cluster: the rows as bytes."""
    done = make(base, tasks)
    out = io.BytesIO()
    assert not isinstance(done.frame, bytes)
    done.frame.write_ipc(out, compression="zstd")
    done.frame = out.getvalue()
    return done


def numbers(content: bytes, kind: Any) -> Any:
    """An array over bytes of the engine's."""
    import numpy as np

    return np.frombuffer(content, dtype=kind)


def packed(
    columns: Sequence[tuple[str, str, bytes, bytes | None, bytes, list[str] | None]],
    keys: Sequence[str],
    seeds: Sequence[int],
    texts: Sequence[str],
    seconds: Any,
    failed: set[int],
) -> polars.DataFrame:
    """The rows of a batch as a frame, without those that failed."""
    import numpy as np
    import polars as pl

    count = len(keys)
    name = engine()
    frame = {
        "scenario_key": pl.Series(keys, dtype=pl.String),
        "seed": pl.Series(seeds, dtype=pl.Int64),
        "engine": pl.Series([name] * count, dtype=pl.String),
        "scenario": pl.Series(texts, dtype=pl.String),
        COST: pl.Series(seconds, dtype=pl.Float64),
    }
    for path, kind, runs, lengths, values, words in columns:
        rows = numbers(runs, np.uint32)
        series = _plain(kind, values, words)
        if lengths is not None:
            series = _lists(series, numbers(lengths, np.uint32))
        if len(rows) != count:
            # Runs without this field: a gap for each.
            at = np.full(count, -1, np.int64)
            at[rows] = np.arange(len(rows))
            series = series.gather(pl.Series(at).replace(-1, None))
        frame[path] = series
    table = pl.DataFrame(frame)
    return table if not failed else table.filter(~pl.Series([k in failed for k in range(count)]))


def _plain(kind: str, values: bytes, words: list[str] | None) -> polars.Series:
    import numpy as np
    import polars as pl

    if kind == "real":
        return pl.Series(numbers(values, np.float64)).fill_nan(None)
    whole = numbers(values, np.int64)
    series = pl.Series(whole)
    missing = whole == np.iinfo(np.int64).min
    if missing.any():
        series = series.set(pl.Series(missing), None)
    if kind == "whole":
        return series
    return pl.Series(words or [], dtype=pl.String).gather(series)


def _lists(values: polars.Series, lengths: Any) -> polars.Series:
    """Values that lie one after the other as lists of these lengths."""
    import numpy as np
    import polars as pl

    count = len(lengths)
    if count and lengths[0] > 0 and (lengths == lengths[0]).all():
        return values.reshape((count, int(lengths[0]))).arr.to_list()
    rows = pl.Series("row", np.repeat(np.arange(count, dtype=np.uint32), lengths))
    grouped = pl.DataFrame([rows, values.rename("v")]).group_by("row", maintain_order=True).agg("v")
    whole = pl.DataFrame({"row": pl.Series(np.arange(count, dtype=np.uint32))}).join(
        grouped, on="row", how="left", maintain_order="left"
    )
    empty = pl.lit([], dtype=pl.List(values.dtype))
    return whole.select(pl.col("v").fill_null(empty)).to_series()
