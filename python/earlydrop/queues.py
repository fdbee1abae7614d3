"""A queue in front of a link, as classes of disciplines make it."""

from __future__ import annotations

import difflib
import json
from typing import Any

NEEDED_UNITS = ("s", "bit/s")
"""A discipline's parameter in one of these is a text with its unit: `"15 ms"`."""


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


QueueLike = Queue | str
"""A queue, or a text such as `"red limit=120p min_th=20"`."""
