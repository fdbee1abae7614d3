"""Choices in the scenario schema: TCPs, topologies, kinds of traffic."""

from __future__ import annotations

import json
from typing import Any

_WHERE = {
    "tcps": ("traffic", "tcp"),
    "topologies": ("topology", "kind"),
    "traffic": ("traffic", "kind"),
}

_ABOUT = {
    ("tcps", "tahoe"): ("Tahoe", "Fast retransmit, then slow start"),
    ("tcps", "reno"): ("Reno", "Fast retransmit and fast recovery"),
    ("tcps", "newreno"): ("NewReno", "Recovers from several losses in a window, one in a round trip"),
    ("tcps", "sack"): ("SACK", "Knows from selective acknowledgements what is missing"),
    ("tcps", "cubic"): ("CUBIC", "Grows as a cubic function of the time since the last loss (stack rfc)"),
    ("tcps", "dctcp"): ("DCTCP", "Shrinks by the fraction of marked packets (stack rfc)"),
    ("tcps", "bbr"): ("BBR", "Version 1: sends at the bandwidth it measures (stack rfc)"),
    ("tcps", "ledbat"): ("LEDBAT", "Yields: keeps a small queueing delay (stack rfc)"),
    ("tcps", "prague"): ("Prague", "Scalable, for L4S: exact counts of marks (stack rfc)"),
    ("tcps", "vegas"): ("Vegas", "Holds a few segments in the queue, by its round-trip times"),
    ("topologies", "dumbbell"): ("Dumbbell", "Pairs of senders and receivers on either side of one bottleneck"),
    ("topologies", "parking_lot"): ("Parking lot", "Bottlenecks in a row, with flows over all of them and over each"),
    ("topologies", "star"): ("Star", "Hosts round one router; all others send to the first"),
    ("topologies", "sfred"): ("SFRED's network", "Senders, a bottleneck of 1.5 Mbit/s, one receiver"),
    ("topologies", "nlred"): ("NLRED's network", "Senders, a bottleneck of 10 Mbit/s, one receiver"),
    ("topologies", "bus"): ("DDRED's bus", "Routers in a line, each with a workstation"),
    ("topologies", "flower"): ("DDRED's flower", "A ring of routers, each with a loop of more"),
    ("topologies", "two_flow"): ("DDRED's two flows", "A flow over two routers and one over the second of them"),
    ("topologies", "random"): ("Random network", "Routers joined at random, each with hosts"),
    ("topologies", "graph"): ("Any graph", "Nodes and links as [[node]] and [[link]] list them"),
    ("traffic", "ftp"): ("FTP", "Endless files over TCP, one a flow"),
    ("traffic", "transfers"): ("Transfers", "Finite transfers over TCP, one after the other, and how long each takes"),
    ("traffic", "requests"): ("Requests", "A client asks, a server answers over TCP"),
    ("traffic", "web"): ("Web", "A crowd whose sessions are a Poisson process, over a pool of TCP connections"),
    ("traffic", "pages"): ("Pages", "Pages of objects over several TCP connections, one page after the other"),
    ("traffic", "onoff"): ("On/off", "Bursts and pauses over UDP, exponential or Pareto"),
    ("traffic", "poisson"): ("Poisson", "Packets at the times of a Poisson process, over UDP"),
    ("traffic", "voip"): ("VoIP", "Speech over UDP: packets at even intervals while somebody talks"),
    ("traffic", "video"): ("Video", "Frames at even intervals over UDP, each in as many packets as it needs"),
    ("traffic", "cbr"): ("CBR", "Packets at a constant bit rate over UDP, which never slow down"),
}


def choices(kind: str) -> list[dict[str, str]]:
    """The words allowed for `tcps`, `topologies` or `traffic`, with a title and a line about each."""
    from . import _core

    part, key = _WHERE[kind]
    schema = json.loads(_core.schema())
    words: list[str] = []
    for form in _forms(schema, schema["properties"][part]):
        for field in _forms(schema, form.get("properties", {}).get(key, {})):
            words += field.get("enum", []) or ([field["const"]] if "const" in field else [])
    found = []
    for word in dict.fromkeys(words):
        title, summary = _ABOUT.get((kind, word), (word, ""))
        found.append({"name": word, "title": title, "summary": summary})
    return found


def _forms(schema: dict[str, Any], part: dict[str, Any]) -> list[dict[str, Any]]:
    """A part of a schema with references followed and alternatives and list items spread out."""
    if "$ref" in part:
        here: Any = schema
        for step in part["$ref"].removeprefix("#/").split("/"):
            here = here[step]
        return _forms(schema, here)
    if "items" in part:
        return _forms(schema, part["items"])
    spread = [form for way in ("oneOf", "anyOf") for form in part.get(way, []) if set(form) - {"required", "not"}]
    if not spread:
        return [part]
    return [part, *(inner for form in spread for inner in _forms(schema, form))]
