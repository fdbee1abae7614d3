"""What the levels of a sweep set, in words: for the texts, pages and papers in which they have labels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..strict_toml import letters, parse_value
from ..toml_writer import toml_value
from .model import Factor, Level

if TYPE_CHECKING:
    from .model import Sweep

LISTED, LONGEST = 20, 160
"""The most levels of a factor of which it is said what they set, and the longest such text."""
_QUEUE = re.compile(r"(queue\.[^.]+(?:\.child)?)\.aqm")


def pairs(level: Level) -> Iterator[tuple[str, str]]:
    """The paths that a level sets, with their values as TOML; of a table each of its keys."""
    for path, text in level.sets:
        yield from _flat(path, parse_value(text))


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flat(f"{path}.{key}" if key.isidentifier() else f'{path}."{key}"', inner)
    else:
        yield path, toml_value(value)


def text(level: Level) -> str:
    """What a level sets: `fq_codel ce_threshold=1ms l4s=true`, or paths with their values."""
    if level.scaled:
        return level.scaled
    found = dict(pairs(level))
    parts = []
    for path in list(found):
        queue = _QUEUE.fullmatch(path)
        if queue is None:
            continue
        own = [key for key in found if key.startswith(f"{queue[1]}.") and "." not in key.removeprefix(f"{queue[1]}.")]
        bare = {key.removeprefix(f"{queue[1]}."): found.pop(key).strip('"').replace(" ", "") for key in own}
        parts.append(" ".join([bare.pop("aqm"), *(f"{key}={value}" for key, value in bare.items())]))
    whole = ", ".join([*parts, *(f"{path} = {value}" for path, value in found.items())])
    return whole if len(whole) <= LONGEST else f"{whole[:LONGEST]}..."


def by_label(factor: Factor) -> dict[str, str]:
    """What the levels of a factor set, by name: of those whose name or title does not say it."""
    if factor.ranged or len(factor.levels) > LISTED:
        return {}
    found = {}
    for level in factor.levels:
        said = text(level)
        # A single value, or a round-trip time, is understood from its name.
        alone = level.name if level.scaled else level.sets[0][1].strip('"') if len(level.sets) == 1 else said
        if factor.paths and level.name not in factor.titles:
            continue
        if level.sets and letters(factor.called(level.name)) not in (letters(said), letters(alone)):
            found[level.name] = said
    return found


def lines(sweep: Sweep) -> list[str]:
    """`FQ-L4S: fq_codel ce_threshold=1ms l4s=true`, for each level with a label."""
    return [f"{f.called(name)}: {said}" for f in sweep.factors for name, said in by_label(f).items()]
