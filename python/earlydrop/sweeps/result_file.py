"""Checks of the result folder of a sweep: whether it is one that a sweep wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import foreign, streamed
from ..errors import EarlydropError
from ..foreign import ANY, NUMBER, WHOLE, Shape
from .matrix_text import SCORES
from .model import SweepError, level_name

if TYPE_CHECKING:
    import polars

LISTS = ("points", "differences")
"""Lists in the document that may be long, and are read item by item."""
LEVEL: Shape = (float, str, bool)
LISTED: Shape = {"name": str, "title?": str, "value": LEVEL, "settings?": str}
HEAD: Shape = {
    "name": str,
    "title": str,
    "version": str,
    "queue": str,
    "design": str,
    "interval": str,
    "control": {"*": LEVEL},
    "factors": [{"name": str, "title": str, "head?": str, "plain?": bool, "unit": str, "levels?": [LISTED]}],
    "measures": {"*": {"title": str, "unit": str, "field": str, "digits": range(13), "asked?": bool}},
    "scenario": dict,
    "runs": WHOLE,
    "failed": WHOLE,
    "failures": [{"levels": {"*": LEVEL}, "seed": WHOLE, "reason": str}],
    "summary?": [str],
    "parts?": [{"title": str, "index": WHOLE}],
    "pooled?": [str],
    "notes?": [str],
    "warnings": [str],
    "warmup?": [{"point": WHOLE, "short": bool}],
    "examined?": [WHOLE],
}
END: Shape = {"mean": NUMBER, "lower": NUMBER, "upper": NUMBER, "where": str}
RIVAL: Shape = {"factor": str, "control": str, "level": str, "measure": str, "least": END, "most": END}
CHANGE: Shape = {"factor": str, "level": str, "measure": str, "along": str, "below": str, "above": str}
PLACE: Shape = {"from": str, "to": str, "count": WHOLE}
MANY: Shape = {
    "matrix?": [{**RIVAL, **dict.fromkeys(SCORES, WHOLE)}],
    "order_changes?": [{**CHANGE, "between": [PLACE], "count": WHOLE, "lines": WHOLE}],
}
BEST: Shape = {
    "best?": {
        "factor": str,
        "heads": [str],
        "numbers": [str],
        "measures": [str],
        "tests": WHOLE,
        "rows": [{"levels": [str], "left_out": [str], "cells": {"*": {"best": [str], "of": WHOLE}}}],
    }
}
CELL: Shape = {"mean": NUMBER, "lower?": NUMBER, "upper?": NUMBER, "half_width?": NUMBER, "n?": WHOLE}
POINT: Shape = {"set": {"*": str}, "seeds": range(1, 100_001), "first_seed": WHOLE, "replicates?": WHOLE}
DIFFERENCE: Shape = {
    "point": WHOLE,
    "control_point?": WHOLE,
    "measure": str,
    "mean": float,
    "half_width": NUMBER,
    "n": WHOLE,
    **dict.fromkeys(("relative", "t_test_p", "t_test_p_holm", "t_test_p_bh", "wilcoxon_p"), NUMBER),
}
COLUMNS = ("point", "seed")
"""Columns of the table of runs besides factors and measures."""


def titles(factor: Mapping[str, Any]) -> dict[tuple[bool, Any], str]:
    """The titles of a factor's levels that have one, by value and by name; in Python, true is 1."""
    found: dict[tuple[bool, Any], str] = {}
    for x in factor.get("levels", ()):
        if "title" in x and x["title"] != x["name"]:
            found |= dict.fromkeys([(type(x["value"]) is bool, x["value"]), (False, x["name"])], x["title"])
    return found


def said(factor: Mapping[str, Any]) -> str:
    """What tables and sentences call a factor: its title, if it was given one."""
    return str(factor["title"] if factor.get("head", factor["name"]) != factor["name"] else factor["name"])


def named(factors: Sequence[Mapping[str, Any]], levels: Mapping[str, Any]) -> str:
    """Levels as tables call them, with their factors where they need them: `CoDel, flows = 20`."""
    parts = []
    for factor in (f for name in levels for f in factors if f["name"] == name):
        value = levels[factor["name"]]
        unit = f" {factor['unit']}" if factor["unit"] and isinstance(value, float) else ""
        own = titles(factor).get((type(value) is bool, value))
        name = (
            next((x["name"] for x in factor.get("levels", ()) if x["value"] == value), "")
            if factor.get("plain")
            else ""
        )
        called = own or name or f"{level_name(value)}{unit}"
        parts.append(called if factor.get("plain") or own is not None else f"{said(factor)} = {called}")
    return ", ".join(parts)


@contextmanager
def reading(*folders: Path) -> Iterator[None]:
    """The files of these result folders are read and shown within.

    What is long is looked through for what is wrong in it only when something went wrong.

    Raises:
        SweepError: a file is not what a sweep wrote; the message names it and the place in it.
        ForeignError: what they say does not fit together.
    """
    with foreign.fitting(folders[0]):
        try:
            yield
        except EarlydropError:
            raise
        except Exception:
            for folder in folders:
                check(folder)
            raise


def check(folder: Path) -> None:
    """Check that the document and the table of runs have what their readers need.

    Raises:
        SweepError: the document or the table is wrong; the message names what is missing.
    """
    found = head(folder)
    factors = {f["name"]: LEVEL for f in found["factors"]}
    point = {**POINT, "levels": {**factors, "*": LEVEL}, "cells": dict.fromkeys(found["measures"], CELL)}
    file = folder / "sweep.json"
    with _readable(file):
        for key, value in streamed.read(file, LISTS):
            for number, one in enumerate(value, 1) if key in LISTS else ():
                _has(file, one, point if key == "points" else DIFFERENCE, f"{key}, item {number}")
    runs(folder)


def head(folder: Path) -> dict[str, Any]:
    """The document without the items of its long lists, but with their numbers as `counts`."""
    file = folder / "sweep.json"
    found: dict[str, Any] = {}
    counts: dict[str, int] = {}
    with _readable(file):
        for key, value in streamed.read(file, LISTS):
            if key in LISTS:
                counts[key] = sum(1 for _ in value)
            else:
                found[key] = value
        _has(file, {**counts, **found}, {**HEAD, **MANY, **BEST, **dict.fromkeys(LISTS, ANY)}, "")
    return {**found, "counts": counts}


def whole(folder: Path) -> dict[str, Any]:
    """The document with all its items, at most as large as a file may be."""
    head(folder)
    file = folder / "sweep.json"
    with _readable(file):
        found: dict[str, Any] = foreign.from_json(file, folder)
    return found


def runs(folder: Path) -> polars.LazyFrame:
    """The table of runs."""
    file = folder / "runs.parquet"
    with _readable(file):
        found = foreign.table(file, folder)
        for name in COLUMNS:
            if name not in found.collect_schema():
                raise _wrong(file, f"there is no column {name}")
        return found


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise SweepError(f"{file.parent}: is no result of a sweep: there is no {file.name}") from None
    except (OSError, ValueError) as error:
        raise SweepError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _has(file: Path, value: Any, shape: Mapping[str, Shape], place: str) -> None:
    if said := foreign.complaint(value, shape, place):
        raise _wrong(file, said)


def _wrong(file: Path, what: str) -> SweepError:
    return SweepError(f"{file}: {what}; it is not as `earlydrop sweep` wrote it")
