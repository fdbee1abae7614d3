"""Writes documents as TOML, as people would: small tables inside a section on one line.

`tomli-w` writes no single value and puts every table into a section of its own: `access = { rate = "5 Mbit/s" }` would
become `[topology.access]`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


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
