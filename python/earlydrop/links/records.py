"""Recorded arrivals of an emulated link: as a table, and replayed in the simulator."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import earlydrop._core as _core
from .. import disk
from .planning import Plan

if TYPE_CHECKING:
    import numpy as np
    import polars


MOST_RECORDED = 20_000_000
"""Arrivals of each direction that a log can hold; about 70 B of memory each, 170 B where the queue reads
headers, and 60 B more for a capture."""

FATES = ("queued", "departed", "early drop", "forced drop", "overflow drop")
"""What the codes of a log's column `fate` mean."""
DEPARTED = FATES.index("departed")

COLUMNS = {
    "time_s": "<f8",
    "flow": "<u8",
    "size": "<u4",
    "ecn": "u1",
    "class": "u1",
    "ttl": "u1",
    "initial_ttl": "u1",
    "fate": "u1",
    "settled_s": "<f8",
    "ecn_out": "u1",
    "arrived_s": "<f8",
}
HEADERS = {
    "dscp": "u1",
    "source": "<u8",
    "destination": "<u8",
    "tcp": "u1",
    "ack": "<u4",
    "tsval": "<u4",
    "tsecr": "<u4",
    "sack_blocks": "u1",
    "sack": "(8,)<u4",
}
"""Columns of headers, for queues that read them, such as CAKE."""
KEPT = {"kept": "u1", "kept_bytes": "u1"}
"""The kept bytes of all packets, and how many are of each; not in a table."""
SETTLED = ("fate", "settled_s", "ecn_out", "arrived_s")
"""Columns with what the queue and the link made of an arrival; the others describe the arrival."""


def arrays(columns: Mapping[str, bytes]) -> dict[str, np.ndarray[Any, Any]]:
    """The columns that the engine hands over, as arrays."""
    import numpy as np

    kinds = COLUMNS | HEADERS | KEPT
    return {name: np.frombuffer(column, dtype=kinds[name]) for name, column in columns.items()}


def log(records: Mapping[str, Mapping[str, np.ndarray[Any, Any]]]) -> polars.DataFrame:
    """Records as one table, with a column `queue`."""
    import polars

    tables = [
        polars.DataFrame({name: one for name, one in columns.items() if name not in KEPT}).insert_column(
            0, polars.lit(queue).alias("queue")
        )
        for queue, columns in records.items()
    ]
    return polars.concat(tables, how="diagonal") if tables else polars.DataFrame()


def write_log(path: Path, records: Mapping[str, Mapping[str, np.ndarray[Any, Any]]]) -> None:
    """Write the table as Parquet."""
    from .. import columns

    frame = log(records)
    with disk.open_binary(path) as file:
        frame.write_parquet(file, metadata=columns.metadata(columns.of(frame.columns, "log")))


def write_capture(path: Path, records: Mapping[str, Mapping[str, np.ndarray[Any, Any]]]) -> None:
    """Write the packets that left the queues, and those that were dropped, as pcapng, with what was kept of each."""
    with disk.open_binary(path) as file:
        columns = [(name, {key: column.tobytes() for key, column in one.items()}) for name, one in records.items()]
        _core.capture_link(columns, file)


def _fate(columns: Mapping[str, np.ndarray[Any, Any]], at: int) -> str:
    """What happened to an arrival, in words."""
    code = int(columns["fate"][at])
    lost = code == DEPARTED and "arrived_s" in columns and math.isnan(columns["arrived_s"][at])
    return f"{FATES[code]}, and lost" if lost else FATES[code]


@dataclass(frozen=True)
class Replay:
    """A log replayed in the simulator."""

    arrivals: int
    differing: int
    first: str = field(default="")
    """The first difference."""


def replay(
    plan: Plan, records: Mapping[str, Mapping[str, np.ndarray[Any, Any]]], changes: Sequence[tuple[float, str]] = ()
) -> dict[str, Replay]:
    """Replay recorded arrivals in the simulator; by queue, the number of different decisions. `changes` were made while
    the link ran (`Running.changes`).

    Queues that the scenario does not have, because they have room for everything, are left out.
    """
    import numpy as np

    network = json.loads(plan.scenario.network())
    found = {}
    for name, columns in records.items():
        if name not in network["queue"].values() and name not in network["queue"]:
            continue
        settled = columns["settled_s"]
        last = max([*columns["time_s"][-1:], *settled[np.isfinite(settled)]], default=0.0)
        simulated = _core.replay_link(
            plan.scenario,
            plan.queue,
            plan.seed,
            name != plan.queue,
            float(last) + 1e-9,
            {key: column.tobytes() for key, column in columns.items() if key not in (*SETTLED, *KEPT)},
            plan.delays[name != plan.queue],
            list(changes),
        )
        theirs = {key: np.frombuffer(simulated[key], dtype=COLUMNS[key]) for key in SETTLED}
        # Packets that were queued when the link stopped may have departed in the simulator.
        same = (columns["fate"] == theirs["fate"]) & (columns["ecn_out"] == theirs["ecn_out"])
        same &= (columns["settled_s"] == theirs["settled_s"]) | np.isnan(settled)
        if "arrived_s" in columns:
            # Not so in logs of earlier versions.
            arrived = columns["arrived_s"], theirs["arrived_s"]
            same &= (arrived[0] == arrived[1]) | (np.isnan(arrived[0]) & np.isnan(arrived[1]))
        differing = np.flatnonzero(~same & (columns["fate"] != 0))
        first = ""
        if len(differing):
            at = int(differing[0])
            first = (
                f"arrival {at} at {columns['time_s'][at]:.9f} s: {_fate(columns, at)} on the link, "
                f"{_fate(theirs, at)} in the simulator"
            )
        found[name] = Replay(len(settled), len(differing), first)
    return found
