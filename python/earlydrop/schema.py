"""The TCPs, topologies and kinds of traffic that a scenario may name."""

from __future__ import annotations

import json

_TCPS = {
    "tahoe": ("Tahoe", "Fast retransmit, then slow start"),
    "reno": ("Reno", "Fast retransmit and fast recovery"),
    "newreno": ("NewReno", "Recovers from several losses in a window, one in a round trip"),
    "sack": ("SACK", "Knows from selective acknowledgements what is missing"),
    "cubic": ("CUBIC", "Grows as a cubic function of the time since the last loss (stack rfc)"),
    "dctcp": ("DCTCP", "Shrinks by the fraction of marked packets (stack rfc)"),
    "bbr": ("BBR", "Version 1: sends at the bandwidth it measures (stack rfc)"),
    "bbr3": ("BBRv3", "Version 3: as BBR, with bounds from losses (stack rfc)"),
    "ledbat": ("LEDBAT", "Yields: keeps a small queueing delay (stack rfc)"),
    "ledbatpp": ("LEDBAT++", "Yields, and slows down now and then to see the empty path (stack rfc)"),
    "prague": ("Prague", "Scalable, for L4S: exact counts of marks (stack rfc)"),
    "vegas": ("Vegas", "Holds a few segments in the queue, by its round-trip times"),
}


def choices(kind: str) -> list[dict[str, str]]:
    """The words allowed for `tcps`, `topologies` or `traffic`, each with a title and a line about it."""
    import earlydrop._core as _core

    if kind != "tcps":
        kinds = json.loads(_core.reference())[kind]
        return [{"name": one["name"], "title": one["title"], "summary": one["about"]} for one in kinds]
    schema = json.loads(_core.schema())
    entries = schema["properties"]["traffic"]["items"]["oneOf"]
    words = [word for entry in entries for word in entry["properties"].get("tcp", {}).get("enum", [])]
    named = ((word, *_TCPS.get(word, (word, ""))) for word in dict.fromkeys(words))
    return [{"name": name, "title": title, "summary": summary} for name, title, summary in named]
