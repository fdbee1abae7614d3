"""Documents: overlays by dotted path, writing them as TOML, and whether two results are the same."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

Document = dict[str, Any]


def overlay(document: Mapping[str, Any], changes: Mapping[str, Any]) -> Document:
    """A copy of `document` with each `"a.b.0.c" = value` of `changes` put in its place.

    A number in a path is the position in a list. Tables on the way are made where they are missing; a value
    that is a table replaces the table that was there.
    """
    result: Document = copy.deepcopy(dict(document))
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
    """The value at a dotted path, or None where there is none."""
    here: Any = document
    for step in path.split("."):
        if isinstance(here, Mapping):
            here = here.get(step)
        elif isinstance(here, list) and step.isdigit() and int(step) < len(here):
            here = here[int(step)]
        else:
            return None
    return here


def digest(result: Mapping[str, Any]) -> str:
    """A hash of a result document without its name, seed, version and cost: equal for equal results."""
    kept = {k: v for k, v in result.items() if k not in ("scenario", "seed", "version", "cost")}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def same_run(results: Sequence[Mapping[str, Any]]) -> bool:
    """Whether several seeds all gave the same run."""
    return len(results) > 1 and len({digest(one) for one in results}) == 1


def to_toml(document: Mapping[str, Any]) -> str:
    """Write a document as TOML: plain keys first, then tables, then lists of tables."""
    lines: list[str] = []
    _table(document, (), lines)
    return "\n".join(lines).strip() + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    tables = {k: v for k, v in table.items() if isinstance(v, Mapping) and _is_section(v, path)}
    lists = {k: v for k, v in table.items() if isinstance(v, list) and v and all(isinstance(x, Mapping) for x in v)}
    for key, value in table.items():
        if key not in tables and key not in lists and value is not None:
            lines.append(f"{_key(key)} = {_value(value)}")
    for key, value in tables.items():
        inner = (*path, _key(key))
        if not value or not all(isinstance(x, Mapping) and _is_section(x, inner) for x in value.values()):
            lines += ["", f"[{'.'.join(inner)}]"]
        _table(value, inner, lines)
    for key, value in lists.items():
        for item in value:
            inner = (*path, _key(key))
            lines += ["", f"[[{'.'.join(inner)}]]"]
            _table(item, inner, lines)


def _is_section(table: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    # Small tables inside a section read better on one line: access = { rate = "..", delay = ".." }.
    return not path or len(table) > 3 or any(isinstance(x, Mapping) for x in table.values())


def _key(key: str) -> str:
    bare = key.replace("_", "").replace("-", "")
    return key if bare.isalnum() and bare.isascii() else _text(key)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_value(value: Any) -> str:
    """One value as TOML, on one line.

    Raises:
        TypeError: TOML cannot hold it.
    """
    return _value(value)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items() if v is not None)
        return "{ " + inside + " }" if inside else "{}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    raise TypeError(f"a TOML document cannot hold {type(value).__name__}")
