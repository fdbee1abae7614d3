"""A queue in front of a link, as classes of disciplines make it."""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Sequence
from typing import Any

NEEDED_UNITS = ("s", "bit/s")
"""Units of parameters that are given as a text with the unit, such as `"15 ms"`."""


class Queue:
    """A queue: its discipline, its limit, and the parameters that were given."""

    name: str = ""
    parameters: tuple[dict[str, Any], ...] = ()

    def __init__(self, *, limit: str | int | None = None, ecn: bool | None = None, **given: Any) -> None:
        known = [p["name"] for p in self.parameters]
        for key in given:
            if key not in known:
                near = difflib.get_close_matches(key, [*known, "limit", "ecn"], 1)
                hint = f"; did you mean {near[0]}?" if near else f"; it has {', '.join(['limit', 'ecn', *known])}"
                raise TypeError(f"{type(self).__name__} has no parameter {key}{hint}")
        fields = {"limit": f"{limit} packets" if isinstance(limit, int) else limit, "ecn": ecn, **given}
        self._document = {"aqm": self.name, **{k: v for k, v in fields.items() if v is not None}}

    def document(self) -> dict[str, Any]:
        """The queue's table in a scenario."""
        return dict(self._document)

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={v!r}" for k, v in self._document.items() if k != "aqm")
        return f"{type(self).__name__}({inside})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Queue) and self._document == other._document

    def __hash__(self) -> int:
        return hash(json.dumps(self._document, sort_keys=True))


_TYPES = {"flag": "bool", "whole": "int", "text": "str"}


def signature(parameters: Sequence[dict[str, Any]]) -> inspect.Signature:
    """The signature of a class with these parameters, with types and defaults: editors complete from it."""
    found = [_argument("limit", "str | int | None", None), _argument("ecn", "bool | None", None)]
    for p in parameters:
        kind = _TYPES.get(p["kind"], "float | str" if p["unit"] else "float")
        if p.get("choices"):
            kind = f"Literal[{', '.join(map(repr, p['choices']))}]"
        elif '"auto"' in p["range"] and "str" not in kind:
            kind += " | str"
        found.append(_argument(p["name"], kind, _default(p)))
    return inspect.Signature(found)


def about(parameter: dict[str, Any]) -> str:
    """A parameter's line in the text that `help` shows."""
    unit = parameter["unit"] if str(parameter["default"])[-1].isdigit() else ""
    default = f"{parameter['default']} {unit}".rstrip()
    return f"{parameter['name']}: {parameter['doc']} Default {default}; {parameter['range']}."


def _argument(name: str, annotation: str, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Written(annotation))


class Written(str):
    """An annotation that a signature shows without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _default(parameter: dict[str, Any]) -> Any:
    """A default as a caller would write it: numbers with a unit as a text."""
    text = str(parameter["default"])
    if text in ("true", "false") and parameter["kind"] == "flag":
        return text == "true"
    try:
        value = int(text) if parameter["kind"] == "whole" else float(text)
    except ValueError:
        return text
    if parameter["unit"] == "s":
        rounded = f"{value * 1e3:.6g}"
        return f"{rounded} ms" if value < 1 and float(rounded) / 1e3 == value else f"{value!r} s"
    whole = int(value) if value == int(value) else value
    return f"{whole} {parameter['unit']}" if parameter["unit"] in {"B", "bit/s"} else whole


QueueLike = Queue | str
"""A queue, or a text such as `"red limit=120p min_th=20"`."""
