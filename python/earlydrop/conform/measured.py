"""The JSON of measures: what a congestion control did, seed by seed, before anything is judged.

`earlydrop conform TCP --json FILE` and `conform::run` of the crate `earlydrop-path` write it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import foreign
from ..document import Document
from ..foreign import Shape
from .model import STACKS, TCPS, ConformError

FORMAT = "earlydrop conform 1"
MOST_CASES, MOST_MEASURES, MOST_SEEDS = 1000, 100, 10_000
SHAPE: Shape = {
    "format": str,
    "name": str,
    "version": str,
    "tcp?": (str, None),
    "stack?": (str, None),
    "cases": {"*": {"measures?": {"*": [(float, None)]}, "expected?": [{"says": str, "holds": [bool]}], "why?": str}},
}


@dataclass
class Measured:
    """What a congestion control did in each case, seed by seed."""

    name: str
    version: str
    measures: dict[int, dict[str, list[float | None]]] = field(default_factory=dict)
    """By case and measure; None where a run has no value, such as the completion of nothing."""
    expected: dict[int, list[tuple[str, list[bool]]]] = field(default_factory=dict)
    """By case: what is expected inside, and in which runs it holds."""
    why: dict[int, str] = field(default_factory=dict)
    """Cases that were left out, and why."""
    tcp: str | None = None
    stack: str | None = None

    def document(self) -> Document:
        """Plain values."""
        found: dict[int, dict[str, Any]] = {n: {"measures": of} for n, of in self.measures.items()}
        found |= {n: {"expected": [{"says": s, "holds": h} for s, h in of]} for n, of in self.expected.items()}
        found |= {n: {"why": text} for n, text in self.why.items()}
        return {
            "format": FORMAT,
            "name": self.name,
            "tcp": self.tcp,
            "stack": self.stack,
            "version": self.version,
            "cases": {str(n): found[n] for n in sorted(found)},
        }


def read(file: Path) -> Measured:
    """The measures in a file.

    Raises:
        ConformError: the file is missing, too large, or no such file; the message names file and field.
    """
    try:
        document = foreign.parsed(foreign.text(file))
    except OSError as error:
        raise ConformError(f"{file}: {error.strerror}") from None
    except ValueError as error:
        raise ConformError(f"{file}: is no JSON: {error}") from None
    said = foreign.complaint(document, SHAPE)
    if not said and document["format"] != FORMAT:
        said = f'format: given {foreign.shown(document["format"])}; allowed "{FORMAT}"'
    for key, allowed in (("tcp", TCPS), ("stack", STACKS)):
        if not said and document.get(key) not in (None, *allowed):
            said = f"{key}: given {foreign.shown(document[key])}; allowed null, {', '.join(allowed)}"
    if said:
        raise ConformError(f"{file}: {said}")
    found = Measured(document["name"], document["version"], tcp=document.get("tcp"), stack=document.get("stack"))
    if len(document["cases"]) > MOST_CASES:
        raise ConformError(f"{file}: cases: given {len(document['cases'])}; allowed {MOST_CASES}")
    for key, of in document["cases"].items():
        place = f"{file}: cases: {foreign.shown(key)}"
        if not (key.isascii() and key.isdecimal() and len(key) <= 4 and key == str(int(key))):
            raise ConformError(f"{place}: is no number of a case; allowed 1 to 9999")
        _put(found, int(key), of, place)
    return found


def _put(found: Measured, number: int, of: Mapping[str, Any], place: str) -> None:
    given = [key for key in ("measures", "expected", "why") if key in of]
    if len(given) != 1:
        raise ConformError(f"{place}: given {', '.join(given) or 'nothing'}; allowed one of measures, expected, why")
    if "why" in of:
        found.why[number] = of["why"]
        return
    series: Sequence[Sequence[Any]]
    if "measures" in of:
        found.measures[number] = of["measures"]
        series = list(of["measures"].values())
    else:
        found.expected[number] = [(one["says"], one["holds"]) for one in of["expected"]]
        series = [one["holds"] for one in of["expected"]]
    if not 1 <= len(series) <= MOST_MEASURES:
        raise ConformError(f"{place}: {given[0]}: given {len(series)}; allowed 1 to {MOST_MEASURES}")
    seeds = {len(one) for one in series}
    if len(seeds) != 1 or not 1 <= min(seeds) <= MOST_SEEDS:
        shown = ", ".join(map(str, sorted(seeds)))
        raise ConformError(
            f"{place}: {given[0]}: given {shown} values; allowed as many in each list, 1 to {MOST_SEEDS}"
        )
