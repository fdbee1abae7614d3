"""The arrivals of a recorded link at other queues, in open loop: packets come as they came, whatever the queue does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import earlydrop._core as _core
from .. import foreign
from ..errors import WRONG_INPUT, EarlydropError
from ..terminal import number, paragraph, table
from .planning import OptionError, queue_settings
from .records import COLUMNS, HEADERS, SETTLED

if TYPE_CHECKING:
    import numpy as np

LOG = "log.parquet"
OPEN_LOOP = (
    "Open loop: packets arrive as they did behind the recorded queue. Real senders would react to another queue's "
    "drops, marks and delays; how the queues compare then, a run or a link shows."
)
MEASURES = (
    ("arrivals", "Arrivals", 1, 0),
    ("throughput_mbps", "Throughput (Mbit/s)", 1, 3),
    ("delay_mean_ms", "Queueing delay (ms)", 1, 2),
    ("delay_p99_ms", "Queueing delay, 99 % (ms)", 1, 2),
    ("drop_rate", "Drop rate (%)", 100, 3),
    ("mark_rate", "Mark rate (%)", 100, 3),
)
"""Field, label, factor, digits."""
CE = 3


class LogError(EarlydropError):
    """What was given is no log of a link, with the files beside it. The message says why."""

    exit_code = WRONG_INPUT


@dataclass(frozen=True)
class Recorded:
    """The log of a link, and what the files beside it say of the link."""

    scenario: Mapping[str, Any]
    seed: int
    delays: Mapping[str, float]
    """Propagation delay of the direction with each queue, s."""
    carried: Mapping[str, str]
    changes: Sequence[tuple[float, str]]
    columns: Mapping[str, Mapping[str, np.ndarray[Any, Any]]]
    """The columns of each queue's arrivals."""


def read(place: Path) -> Recorded:
    """The log at `place`, a file or the folder of a link's result.

    Raises:
        LogError: a file is missing or damaged.
    """
    folder = place if place.is_dir() else place.parent
    log = folder / LOG if place.is_dir() else place
    try:
        result, scenario = (foreign.from_json(folder / name) for name in ("result.json", "scenario.json"))
    except (OSError, ValueError) as error:
        raise LogError(f"{folder}: needs result.json and scenario.json of the link beside its log: {error}") from None
    try:
        if result["kind"] != "link":
            raise LogError(f"{folder}: given the result of a {result['kind']}; allowed one of `link --log --out`")
        queues = {
            str(name): (float(one["propagation_ms"]) / 1e3, str(one["carried"]))
            for name, one in result["queues"].items()
        }
        changes = [(float(one["time_s"]), str(one["change"])) for one in result.get("changes", [])]
        return Recorded(
            scenario,
            int(result["seed"]),
            {name: delay for name, (delay, _) in queues.items()},
            {name: carried for name, (_, carried) in queues.items()},
            changes,
            {name: _columns(log, name) for name in queues},
        )
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise LogError(f"{folder}: result.json: is no result of a link: {error}") from None


def _columns(log: Path, queue: str) -> dict[str, np.ndarray[Any, Any]]:
    import numpy as np
    import polars

    try:
        with foreign.unfit():
            frame = foreign.table(log).filter(polars.col("queue") == queue).collect()
    except (OSError, ValueError) as error:
        raise LogError(f"{log}: {error}") from None
    kinds = COLUMNS | HEADERS
    found = {}
    for name in frame.columns:
        if name not in kinds or frame[name].null_count():
            continue
        kind = np.dtype(kinds[name])
        found[name] = np.ascontiguousarray(frame[name].to_numpy()).astype(kind.base)
    missing = [name for name in COLUMNS if name not in found and name != "arrived_s"]
    if missing:
        raise LogError(f"{log}: lacks the column {missing[0]}")
    return found


@dataclass(frozen=True)
class Queue:
    """What a queue did with the arrivals of one direction."""

    carried: str
    queue: str
    measures: Mapping[str, float | None]


def replay(recorded: Recorded, queues: Sequence[str]) -> list[Queue]:
    """The recorded queue of each direction with arrivals, and what others make of the same arrivals.

    Raises:
        OptionError: a text names no queue that can be there.
        LogError: the columns of the log contradict themselves.
    """
    import numpy as np

    found = []
    for name, columns in recorded.columns.items():
        if not len(columns["time_s"]):
            continue
        here = recorded.carried[name]
        found.append(Queue(here, f"{_aqm(recorded, name)} (recorded)", _measures(columns)))
        given = {key: one.tobytes() for key, one in columns.items() if key not in SETTLED}
        settled = columns["settled_s"]
        until = max([float(columns["time_s"][-1]), *settled[np.isfinite(settled)].tolist()[-1:]]) + 60.0
        for text in queues:
            scenario = _with(recorded, name, text)
            # Parameters that were changed are not this queue's.
            changes = [(time, _link_only(line)) for time, line in recorded.changes]
            try:
                made = _core.replay_link(
                    scenario,
                    name,
                    recorded.seed,
                    False,
                    until,
                    given,
                    recorded.delays[name],
                    [(time, line) for time, line in changes if line],
                )
            except ValueError as error:
                raise LogError(f"the log: {error}") from None
            theirs = {key: np.frombuffer(made[key], dtype=COLUMNS[key]) for key in SETTLED}
            found.append(Queue(here, text, _measures({**columns, **theirs})))
    return found


def _link_only(line: str) -> str:
    return " ".join(word for word in line.split() if not word.startswith(("queue.", "reverse-queue.")))


def _key(recorded: Recorded, name: str) -> str:
    """The key of the scenario's queue that results call `name`."""
    network = json.loads(_core.Scenario.parse(dict(recorded.scenario), []).network())
    return str(network["queue"].get(name, name))


def _aqm(recorded: Recorded, name: str) -> str:
    table_ = recorded.scenario.get("queue", {}).get(_key(recorded, name), {})
    return str((table_["child"] if "parent" in table_ else table_).get("aqm", "unlimited buffer"))


def _with(recorded: Recorded, name: str, text: str) -> _core.Scenario:
    key = _key(recorded, name)
    try:
        (kind, aqm), *settings = queue_settings(text, f"queue.{key}")
        queues = {**recorded.scenario["queue"], key: {kind.rpartition(".")[2]: aqm}}
        return _core.Scenario.parse({**recorded.scenario, "queue": queues}, settings)
    except (OptionError, _core.ScenarioError) as error:
        raise OptionError(f"--queue: {str(error).removeprefix(f'queue.{key}.')}") from None


def _measures(columns: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, float | None]:
    import numpy as np

    fate, arrivals = columns["fate"], len(columns["fate"])
    departed = fate == 1
    delays = columns["settled_s"][departed] - columns["time_s"][departed]
    # From the first arrival to the last departure.
    width = columns["settled_s"][departed].max() - columns["time_s"][0] if departed.any() else 0.0
    marked = departed & (columns["ecn_out"] == CE) & (columns["ecn"] != CE)
    return {
        "arrivals": float(arrivals),
        "throughput_mbps": float(8e-6 * columns["size"][departed].sum() / width) if width > 0 else None,
        "delay_mean_ms": float(1e3 * delays.mean()) if len(delays) else None,
        "delay_p99_ms": float(1e3 * np.quantile(delays, 0.99)) if len(delays) else None,
        "drop_rate": float((fate > 1).sum() / arrivals),
        "mark_rate": float(marked.sum() / arrivals),
    }


def text(found: Sequence[Queue]) -> str:
    """What `replay` prints: a table, and what it does not show."""
    head = ["carried", "queue", *(label for _, label, _, _ in MEASURES)]
    body = [
        [one.carried, one.queue, *(number(one.measures[key], digits, factor) for key, _, factor, digits in MEASURES)]
        for one in found
    ]
    return f"{table(head, body, left=2)}\n\n{paragraph(OPEN_LOOP)}"


def document(found: Sequence[Queue]) -> dict[str, Any]:
    """The same for machines."""
    rows = [{"carried": one.carried, "queue": one.queue, **one.measures} for one in found]
    return {"open_loop": True, "about": OPEN_LOOP, "queues": rows}
