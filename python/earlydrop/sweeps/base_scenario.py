"""The scenario below a sweep: values laid over it, its trace files, and what the scenario checker says."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import earlydrop._core as _core
from ..document import Document, overlay
from ..document import with_traces as with_traces
from .model import Factor, SweepError

NEUTRAL = "run"
"""Name of every scenario that is run, so that equal scenarios have equal keys whatever they are called."""


def one_line(error: BaseException) -> str:
    """A checker's message on one line."""
    parts = [part.strip() for part in str(error).splitlines()]
    return " ".join([*(p if p[-1:] in "?.;:,!" else f"{p};" for p in parts[:-1]), *parts[-1:]])


def checker_error(base: Document, sets: Sequence[tuple[str, str]]) -> _core.ScenarioError | None:
    """The error that the scenario checker finds; None where the scenario is valid."""
    try:
        _core.Scenario.parse(base, sets)
    except _core.ScenarioError as error:
        return error
    return None


def overlay_toml(base: Document, pairs: Sequence[tuple[str, str]]) -> Document:
    """A copy of a scenario with values, given as TOML, at their paths."""
    changes = {path: tomllib.loads(f"v = {text}")["v"] for path, text in pairs}
    try:
        return overlay(base, changes)
    except KeyError as error:
        raise SweepError(f"set: {error.args[0]}") from error


def of_sweep(base: Document) -> Document:
    """The keys of a sweep's document that stand for this scenario."""
    own = {"aqms": base["aqms"]} if "aqms" in base else {}
    return {**own, "scenario": {key: value for key, value in base.items() if key != "aqms"}}


def with_digest(base: Document, aqm: str) -> Document:
    """A copy that names the discipline `aqm` by the digest of its code, if it is one from outside."""
    from ..own_aqms import registry

    known = registry.find(aqm)
    return base if known is None else {**base, "aqms": {**base.get("aqms", {}), aqm: {"digest": known.digest}}}


def levels_with_code(factors: Sequence[Factor], base: Document, folder: Path) -> list[Factor]:
    """The factors, with names for the disciplines that levels give as sources; `base` then lists these.

    Raises:
        ScenarioError: a discipline cannot be loaded, or is not trusted.
    """
    from ..own_aqms import registry

    def named(path: str, text: str) -> tuple[str, str]:
        if not (path.startswith("queue.") and path.endswith(".aqm") and registry.is_source(text.strip("\"'"))):
            return path, text
        queue = path.removeprefix("queue.").removesuffix(".aqm")
        document = {"queue": {queue: {"aqm": text.strip("\"'")}}}
        pinned = registry.pinned(document, str(folder))
        base["aqms"] = {**base.get("aqms", {}), **pinned["aqms"]}
        return path, f'"{pinned["queue"][queue]["aqm"]}"'

    return [
        replace(f, levels=[replace(v, sets=tuple(named(*pair) for pair in v.sets)) for v in f.levels]) for f in factors
    ]
