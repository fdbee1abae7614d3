"""The scenario below a sweep: values laid over it, its trace files, and what the scenario checker says."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import _core
from ..document import Document, overlay
from .model import Factor, SweepError

NEUTRAL = "run"
"""Name of every scenario that is run, so that equal scenarios have equal keys whatever they are called."""


def one_line(error: BaseException) -> str:
    """A checker's message on one line."""
    return " ".join(part.strip() for part in str(error).splitlines())


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


def with_code(base: Document, folder: Path, file: Path) -> Document:
    """A copy that names disciplines from outside by the digests of their code, so that it means the same anywhere.

    Raises:
        ScenarioError: a discipline cannot be loaded, or is not trusted.
    """
    from ..policies import registry

    return registry.pinned(base, str(folder), str(file))


def with_digest(base: Document, aqm: str) -> Document:
    """A copy that names the discipline `aqm` by the digest of its code, if it is one from outside."""
    from ..policies import registry

    known = registry.find(aqm)
    return base if known is None else {**base, "aqms": {**base.get("aqms", {}), aqm: {"digest": known.digest}}}


def levels_with_code(factors: Sequence[Factor], base: Document, folder: Path, file: Path) -> list[Factor]:
    """The factors, with names for the disciplines that levels give as sources; `base` then lists these.

    Raises:
        ScenarioError: a discipline cannot be loaded, or is not trusted.
    """
    from ..policies import registry

    def named(path: str, text: str) -> tuple[str, str]:
        if not (path.startswith("queue.") and path.endswith(".aqm") and registry.is_source(text.strip("\"'"))):
            return path, text
        queue = path.removeprefix("queue.").removesuffix(".aqm")
        document = {"queue": {queue: {"aqm": text.strip("\"'")}}}
        pinned = registry.pinned(document, str(folder), str(file))
        base["aqms"] = {**base.get("aqms", {}), **pinned["aqms"]}
        return path, f'"{pinned["queue"][queue]["aqm"]}"'

    return [
        replace(f, levels=[replace(v, sets=tuple(named(*pair) for pair in v.sets)) for v in f.levels]) for f in factors
    ]


def with_traces(value: Any, folder: Path) -> Any:
    """A copy in which every `trace = "FILE"` of a link's rate is replaced by the numbers in the file.

    The scenario then runs on any machine, and its key depends on the content of the file. A file that cannot be read is
    left to the scenario checker.
    """
    if isinstance(value, Mapping):
        if set(value) == {"trace"} and isinstance(value["trace"], str):
            try:
                lines = (folder / value["trace"]).read_text(encoding="utf-8").split()
                return {"trace": [int(line) for line in lines]}
            except (OSError, ValueError):
                return {"trace": str(folder / value["trace"])}
        return {key: with_traces(inner, folder) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_traces(inner, folder) for inner in value]
    return value
