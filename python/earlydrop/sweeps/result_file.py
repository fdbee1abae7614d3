"""Checks of `sweep.json`, the document of a result folder: whether it is one that a sweep wrote.

Whoever reads one looks here for the reason only when reading has failed, so that large documents are read once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .. import streamed
from .model import SweepError

LISTS = ("points", "differences")
"""What may be long: read item by item."""
KINDS: Mapping[str, type] = {
    "name": str,
    "title": str,
    "version": str,
    "queue": str,
    "design": str,
    "interval": str,
    "control": dict,
    "factors": list,
    "measures": dict,
    "scenario": dict,
    "failures": list,
}
WORDS: Mapping[type, str] = {str: "a text", dict: "an object", list: "a list"}
FACTOR = ("name", "title", "unit")
MEASURE = ("title", "unit", "field", "digits")
POINT = ("levels", "set", "seeds", "first_seed", "cells")
SHOWN = 40
"""Characters of a wrong value in a message."""
DIFFERENCE = ("point", "measure", "mean", "half_width", "n", "relative", "t_test_p", "t_test_p_holm")


def check(folder: Path) -> None:
    """Nothing, if the document and the table of runs have what their readers need.

    Raises:
        SweepError: they do not; the message names the file and the place in it.
    """
    file = folder / "sweep.json"
    try:
        _check_document(file)
    except FileNotFoundError:
        raise SweepError(f"{folder}: is no result of a sweep: there is no {file.name}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise SweepError(f"{file}: cannot be read: {error}") from error
    _check_runs(folder / "runs.parquet")


def _check_document(file: Path) -> None:
    found: dict[str, Any] = {}
    for key, value in streamed.read(file, LISTS):
        if key in LISTS:
            found[key] = True
            _check_items(file, key, value, found)
            continue
        found[key] = value
        if key in KINDS and not isinstance(value, KINDS[key]):
            raise _wrong(file, f"{key}: given {_short(value)}; allowed {WORDS[KINDS[key]]}")
        if key == "factors":
            for number, one in enumerate(value, 1):
                _has(file, f"factors, item {number}", one, FACTOR)
        elif key == "measures":
            for name, one in value.items():
                _has(file, f"measures, {name}", one, MEASURE)
                if not isinstance(one["digits"], int):
                    raise _wrong(file, f"measures, {name}: digits: given {_short(one['digits'])}")
    for key in (*KINDS, *LISTS):
        if key not in found:
            raise _wrong(file, f'there is no "{key}"')


def _check_items(file: Path, key: str, items: Any, before: Mapping[str, Any]) -> None:
    for number, one in enumerate(items, 1):
        place = f"{key}, item {number}"
        _has(file, place, one, POINT if key == "points" else DIFFERENCE)
        if key == "points":
            _has(file, f"{place}: levels", one["levels"], [f["name"] for f in before.get("factors", ())])
            for name, value in one["levels"].items():
                if isinstance(value, (list, dict)):
                    raise _wrong(file, f"{place}: levels, {name}: given {_short(value)}")
            _has(file, f"{place}: cells", one["cells"], before.get("measures", ()))
            for name, cell in one["cells"].items():
                _has(file, f"{place}: cells, {name}", cell, ("mean",))
                if cell["mean"] is not None and not isinstance(cell["mean"], (int, float)):
                    raise _wrong(file, f"{place}: cells, {name}: mean: given {_short(cell['mean'])}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _has(file: Path, place: str, one: Any, keys: Iterable[str]) -> None:
    if not isinstance(one, dict):
        raise _wrong(file, f"{place}: given {_short(one)}; allowed an object")
    for key in keys:
        if key not in one:
            raise _wrong(file, f'{place}: there is no "{key}"')


def _wrong(file: Path, what: str) -> SweepError:
    return SweepError(f"{file}: {what}; it is not as `earlydrop sweep` wrote it")


def _check_runs(file: Path) -> None:
    import polars as pl

    try:
        columns = pl.read_parquet_schema(file)
    except FileNotFoundError:
        raise SweepError(f"{file.parent}: is no result of a sweep: there is no {file.name}") from None
    except (OSError, pl.exceptions.PolarsError) as error:
        raise SweepError(f"{file}: cannot be read: {error}") from error
    for name in ("point", "seed"):
        if name not in columns:
            raise SweepError(f"{file}: there is no column {name}; it is not as `earlydrop sweep` wrote it")
