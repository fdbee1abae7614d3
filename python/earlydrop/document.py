"""Scenario and result documents as dicts: values by path, trace files, equal results."""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from . import foreign
from .errors import EarlydropError

Document = dict[str, Any]

TRACE = 16 << 20
"""Most bytes of a link's trace file, as the scenario checker has it."""
CDF = 1 << 20
"""Most bytes of the file of a distribution, as the scenario checker has it."""


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

    A number in a path is the position in a list, and a name that one item there has is that item. Tables on the way
    are made where they are missing; a value that is a table replaces the table that was there.
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
    names = [item.get("name") if isinstance(item, Mapping) else None for item in items]
    if step.isdigit() and int(step) < len(items):
        return int(step)
    if names.count(step) == 1:
        return names.index(step)
    there = ", ".join(f"{k} ({name})" if name else str(k) for k, name in enumerate(names))
    raise KeyError(f"{path}: there is no item {step} in a list of {len(items)}; allowed {there or 'none'}")


class PathError(EarlydropError):
    """A path of a result cannot be followed: a list has two entries of one name, or the path is none."""


class _Missing:
    """A document has no such field; a field that is there without a value is None."""

    def __repr__(self) -> str:
        return "missing"


MISSING = _Missing()


class Name(str):
    """A step in quotation marks: always a name, also where it looks like a number or `*`."""


_STEP = re.compile(r'"([^"]*)"|([^."]+)')


@lru_cache(1000)
def steps_of(path: str) -> tuple[str, ...]:
    """The steps of a path. A name with a dot, or of digits alone, is in quotation marks: `traffic."v1.5".goodput_mbps`.

    Raises:
        PathError: the path has an empty step, or a quotation mark out of place.
    """
    steps: list[str] = []
    at = 0
    while True:
        found = _STEP.match(path, at)
        if found is None:
            raise PathError(f'given "{path}"; allowed names and numbers with dots between, as traffic.0.goodput_mbps')
        steps.append(Name(found[1]) if found[1] is not None else found[2])
        at = found.end()
        if at == len(path):
            return tuple(steps)
        if path[at] != ".":
            raise PathError(f'given "{path}"; allowed a dot after "{found[0]}"')
        at += 1


def is_position(step: str) -> bool:
    """Whether a step is the number of an entry."""
    return step.isdigit() and not isinstance(step, Name)


def walk(here: Any, steps: Sequence[str], where: Sequence[tuple[str, Any]] = ()) -> Iterator[Any]:
    """The values at a path, MISSING where there is none.

    An entry of a list is its number from 0, or its name; `*` stands for every entry of a list or a table, of which
    `where` keeps those whose fields have these values.

    Raises:
        PathError: a list has two entries of a name.
    """
    if not steps:
        yield here
        return
    step, rest = steps[0], steps[1:]
    if step == "*" and not isinstance(step, Name):
        entries = list(here.values()) if isinstance(here, Mapping) else here
        if not isinstance(entries, list):
            yield MISSING
            return
        for entry in entries:
            if all(isinstance(entry, Mapping) and entry.get(key) == value for key, value in where):
                yield from walk(entry, rest, where)
    elif isinstance(here, Mapping):
        yield from walk(here[step], rest, where) if step in here else [MISSING]
    elif isinstance(here, list):
        entry = _entry(here, step)
        yield from [MISSING] if entry is MISSING else walk(entry, rest, where)
    else:
        yield MISSING


def _entry(items: list[Any], step: str) -> Any:
    if is_position(step):
        return items[int(step)] if int(step) < len(items) else MISSING
    named = [k for k, one in enumerate(items) if isinstance(one, Mapping) and one.get("name") == step]
    if len(named) > 1:
        raise PathError(f'entries {", ".join(map(str, named))} are both called "{step}"; allowed their numbers, from 0')
    return items[named[0]] if named else MISSING


def lookup(document: Mapping[str, Any], path: str) -> Any:
    """The value at a path, or None where there is none (a number that is none, NaN, has no value either).

    Raises:
        PathError: as for `walk` and `steps_of`.
    """
    found = next(walk(document, steps_of(path)), None)
    return None if found is MISSING or (isinstance(found, float) and math.isnan(found)) else found


def flow_count(result: Mapping[str, Any]) -> int:
    """Number of flows of a simulated run, also where the result does not list them (`record.flows`)."""
    flows = result.get("flows")
    return len(flows) if flows is not None else sum(entry["flows"] for entry in result["traffic"])


def with_traces(value: Any, folder: Path) -> Any:
    """A copy in which `trace = "FILE"` of a link's rate and `cdf_file = "FILE"` are replaced by the files' numbers.

    The scenario then runs on any machine, and its key depends on the content of the file. A file that cannot be read is
    left to the scenario checker.
    """
    if isinstance(value, Mapping):
        for kind, read in (("trace", _trace), ("cdf_file", _cdf)):
            if set(value) == {kind} and isinstance(value[kind], str):
                try:
                    return read(folder / value[kind])
                except (OSError, ValueError):
                    return {kind: str(folder / value[kind])}
        return {key: with_traces(inner, folder) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_traces(inner, folder) for inner in value]
    return value


def _trace(file: Path) -> Document:
    return {"trace": [int(line) for line in foreign.text(file, TRACE).split()]}


def _cdf(file: Path) -> Document:
    lines = (line.partition("#")[0].split() for line in foreign.text(file, CDF).splitlines())
    points = [[float(word) for word in line] for line in lines if line]
    if any(len(point) != 2 or not all(map(math.isfinite, point)) for point in points):
        raise ValueError
    return {"cdf": points}


def digest(result: Mapping[str, Any]) -> str:
    """A hash of a result document without its name, seed, version and cost: equal for equal results."""
    import hashlib

    kept = {k: v for k, v in result.items() if k not in ("scenario", "seed", "version", "cost")}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def same_run(results: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the results of several seeds are all the same run."""
    return len(results) > 1 and len({digest(one) for one in results}) == 1
