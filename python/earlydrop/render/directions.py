"""The two directions of a real link, in words, the one that mattered first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def carried(document: Mapping[str, Any], name: str) -> str:
    """What passed a queue of a real link: "sent" or "received" by the command, or "A > B" between two namespaces."""
    # Results of earlier versions do not say it: the first of their queues is the one that the command sends through.
    first = next(iter(document["queues"]))
    sent = document["queues"][name].get("carried", "sent" if name == first else "received") == "sent"
    if between := document.get("between"):
        return " > ".join(between if sent else reversed(between))
    return "sent" if sent else "received"


def main_first(document: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The queues of a result; of a real link the one that delivered more bytes first."""
    queues = list(document["queues"].items())
    if document.get("kind") != "link":
        return queues
    return sorted(queues, key=lambda one: -(one[1].get("delivered_bytes") or 0))
