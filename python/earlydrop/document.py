"""Scenario and result documents as dicts: values by dotted path, trace files, equal results."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import foreign

Document = dict[str, Any]

TRACE = 16 << 20
"""Most bytes of a link's trace file, as the scenario checker has it."""


def discipline(queue: Mapping[str, Any]) -> Mapping[str, Any]:
    """The table of a queue's discipline: the queue's own, or that of its child where it has a parent."""
    inside: Mapping[str, Any] = queue["child"] if "parent" in queue else queue
    return inside


def effects(link: Mapping[str, Any]) -> dict[str, Any]:
    """What happens to the packets of `link` besides rate, delay and queue, by the keys that the engine declares."""
    import earlydrop._core as _core

    return {key: link[key] for key in _core.link_effects() if link.get(key) is not None}


def overlay(document: Mapping[str, Any], *layers: Mapping[str, Any]) -> Document:
    """A copy of `document` with each `"a.b.0.c" = value` of the layers put in its place, one layer after the other.

    A number in a path is the position in a list. Tables on the way are made where they are missing; a value
    that is a table replaces the table that was there.
    """
    result: Document = copy.deepcopy(dict(document))
    for changes in layers:
        for path, value in changes.items():
            _put(result, path, copy.deepcopy(value))
    return result


def _put(document: Document, path: str, value: Any) -> None:
    *parents, last = path.split(".")
    here: Any = document
    for step in parents:
        here = here[_position(here, step, path)] if isinstance(here, list) else here.setdefault(step, {})
        if not isinstance(here, (dict, list)):
            raise KeyError(f"{path}: {step} is not a table or a list")
    if isinstance(here, list):
        here[_position(here, last, path)] = value
    else:
        here[last] = value


def _position(items: list[Any], step: str, path: str) -> int:
    if not step.isdigit() or int(step) >= len(items):
        raise KeyError(f"{path}: there is no item {step} in a list of {len(items)}")
    return int(step)


def lookup(document: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, or None where there is none (a number that is none, NaN, has no value either)."""
    here: Any = document
    for step in path.split("."):
        if isinstance(here, Mapping):
            here = here.get(step)
        elif isinstance(here, list) and step.isdigit() and int(step) < len(here):
            here = here[int(step)]
        else:
            return None
    return None if isinstance(here, float) and math.isnan(here) else here


def flow_count(result: Mapping[str, Any]) -> int:
    """Number of flows of a simulated run, also where the result does not list them (`record.flows`)."""
    flows = result.get("flows")
    return len(flows) if flows is not None else sum(entry["flows"] for entry in result["traffic"])


def with_traces(value: Any, folder: Path) -> Any:
    """A copy in which every `trace = "FILE"` of a link's rate is replaced by the numbers in the file.

    The scenario then runs on any machine, and its key depends on the content of the file. A file that cannot be read is
    left to the scenario checker.
    """
    if isinstance(value, Mapping):
        if set(value) == {"trace"} and isinstance(value["trace"], str):
            try:
                lines = foreign.text(folder / value["trace"], TRACE).split()
                return {"trace": [int(line) for line in lines]}
            except (OSError, ValueError):
                return {"trace": str(folder / value["trace"])}
        return {key: with_traces(inner, folder) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_traces(inner, folder) for inner in value]
    return value


def digest(result: Mapping[str, Any]) -> str:
    """A hash of a result document without its name, seed, version and cost: equal for equal results."""
    import hashlib

    kept = {k: v for k, v in result.items() if k not in ("scenario", "seed", "version", "cost")}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def same_run(results: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the results of several seeds are all the same run."""
    return len(results) > 1 and len({digest(one) for one in results}) == 1
