"""Flent's data files: a simulated run as one that `flent` summarises and plots, and recorded ones read again.

Flent (https://flent.org) runs netperf streams and a ping side by side. A run for Flent gets the ping, too: a packet of
84 B each way every 200 ms, as ping sends them.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import earlydrop._core as _core
from . import disk, foreign
from .document import Document
from .errors import EarlydropError
from .foreign import NUMBER, WHOLE

SUFFIX = ".flent.gz"
FORMAT = 4
"""Version of Flent's file format (Flent 1.3 and later)."""
STEP_S = 0.2
"""Flent's own interval between points."""
EDGE_S = 5.0
"""Flent pings for this long before and after its streams; its CDFs and box plots leave this time out."""
START = 946_684_800
"""When every run starts: 2000-01-01, in seconds since 1970. The same run gives the same bytes."""
START_TEXT = "2000-01-01T00:00:00.000000Z"
PING = {"kind": "cbr", "rate": f"{84 * 8 / STEP_S:g} bit/s", "segment": "56 B", "header": "28 B"}
DOWN, UP, RTT = "TCP download", "TCP upload", "Ping (ms) ICMP"
TESTS = {(True, False): "tcp_ndown", (False, True): "tcp_nup", (True, True): "rrul_be_nflows", (False, False): "ping"}
"""Flent's test by whether there are downloads and uploads."""


PINGS = "Ping (ms)"
_SYSCTLS = {"SYSCTLS?": (None, {"*": (str, float)})}
CONTENT: foreign.Shape = {
    "version": WHOLE,
    "metadata": {
        **dict.fromkeys(("NAME?", "TITLE?", "T0?"), (str, None)),
        "SERIES_META?": (None, {"*": (None, {"CONG_CONTROL?": (str, None)})}),
        "REMOTE_METADATA?": (None, {"*": (None, _SYSCTLS)}),
        **_SYSCTLS,
    },
    "x_values": [float],
    "results": {"*": list},
    "raw_values": {"*": list},
}
"""The shape of what is read of a Flent file, besides the values of its series."""


class FlentError(EarlydropError):
    """A Flent file cannot be written or read. The message says why."""


@dataclass(frozen=True)
class Streams:
    """The flows of a scenario that are in a Flent file, by number from 1."""

    down: Sequence[int]
    up: Sequence[int]
    ping: tuple[int, int]
    """The flows of the ping's two directions."""
    others: int
    """Number of flows that are not in the file: Flent has no series for them."""

    @property
    def test(self) -> str:
        """Flent's test with these streams."""
        return TESTS[bool(self.down), bool(self.up)]


@dataclass(frozen=True)
class Series:
    """A run as Flent sees it: values at 0, STEP_S, 2 STEP_S... seconds."""

    length_s: float
    rates: Mapping[str, Sequence[float | None]]
    """Mbit/s of each stream over the interval that ends at each time; None before its flow starts."""
    pings: Sequence[tuple[float, float]]
    """When a ping was sent, s, and its round-trip time, ms, for the pings that were answered."""

    def at(self) -> list[float]:
        """The times of the values, s."""
        return [k * STEP_S for k in range(math.floor(self.length_s / STEP_S + 1e-9) + 1)]


def instrumented(checked: Document) -> tuple[Document, Streams]:
    """A checked scenario with Flent's ping, and with the records of a Flent file.

    Endless transfers (`ftp`) in the direction `forward` are downloads, those in `reverse` uploads.
    """
    down: list[int] = []
    up: list[int] = []
    number, streams = 1, []
    for entry in checked["traffic"]:
        flows = range(number, number + int(entry.get("count", 1)))
        number += len(flows)
        if entry["kind"] == "ftp":
            streams.append(entry)
            (up if entry.get("direction") == "reverse" else down).extend(flows)
    first = (streams or checked["traffic"])[0]
    names = {entry.get("name") for entry in checked["traffic"]}
    pings = [
        {**PING, "name": _unused(f"ping {way}", names), "start": "0 s", **_ends(first, way)} for way in ("out", "back")
    ]
    record = {
        **checked.get("record", {}),
        "flows": True,
        "delay_flows": [number, number + 1],
        **({"rates": f"{STEP_S} s", "rate_flows": down + up} if down or up else {}),
    }
    document = {**checked, "traffic": [*checked["traffic"], *pings], "record": record}
    return document, Streams(down, up, (number, number + 1), number - 1 - len(down) - len(up))


def _unused(name: str, names: set[Any]) -> str:
    while name in names:
        name += "'"
    return name


def _ends(first: Mapping[str, Any], way: str) -> Document:
    """The ends of the ping: those of the first stream, which may go either way."""
    back = (way == "back") != (first.get("direction") == "reverse")
    ends = {key: first[key] for key in ("from", "to") if key in first}
    return {**ends, **({"direction": "reverse"} if back else {})}


def series(result: Mapping[str, Any], streams: Streams) -> Series:
    """What Flent measures, from the result of an instrumented scenario."""
    length, rates = float(result["duration_s"]), {}
    points = math.floor(length / STEP_S + 1e-9)
    recorded = {flow["id"]: flow["goodput_mbps"] for flow in (result.get("rates") or {"flows": []})["flows"]}
    starts = {flow["id"]: flow["start_s"] or 0.0 for flow in result["flows"]}
    for base, flows in ((DOWN, streams.down), (UP, streams.up)):
        stem = f"{base} BE" if streams.down and streams.up else base
        for at, flow in enumerate(flows, 1):
            values = [v if (k + 1) * STEP_S > starts[flow] else None for k, v in enumerate(recorded[flow][:points])]
            rates[f"{stem}::{at}"] = [None, *values]
    delays = {one["id"]: one for one in result["delays"]}
    out, back = (delays[flow] for flow in streams.ping)
    return Series(length, rates, list(_round_trips(out, back)))


def _round_trips(out: Mapping[str, Any], back: Mapping[str, Any]) -> Iterator[tuple[float, float]]:
    """Round-trip times: the delay of a packet out, and of the packet back that was sent nearest to its arrival."""
    import numpy as np

    sent = np.asarray(back["sent_s"], float)
    order = np.argsort(sent, kind="stable")
    sent, took = sent[order], np.asarray(back["delay_ms"], float)[order]
    for at, there in sorted(zip(out["sent_s"], out["delay_ms"], strict=True)):
        arrived = at + there / 1e3
        next_ = int(np.searchsorted(sent, arrived))
        near = [k for k in (next_ - 1, next_) if 0 <= k < len(sent)]
        nearest = min(near, key=lambda k: abs(sent[k] - arrived), default=None)
        # Where the packet back was lost, the ping had no answer.
        if nearest is not None and abs(sent[nearest] - arrived) <= 0.75 * STEP_S:
            yield max(at, 0.0), there + float(took[nearest])


def recording(
    result: Mapping[str, Any], checked: Mapping[str, Any], streams: Streams, title: str, file: str
) -> Document:
    """The content of a Flent file. `result` is of the instrumented scenario, `checked` the scenario itself."""
    made = series(result, streams)
    at = made.at()
    results: dict[str, Sequence[float | None]] = dict(made.rates)
    raw = {
        name: [{"t": START + t, "val": v, "dur": STEP_S} for t, v in zip(at, values, strict=True) if v is not None]
        for name, values in made.rates.items()
    }
    results |= _computed(made.rates, streams)
    results[RTT] = _on_grid(made.pings, at)
    raw[RTT] = [{"t": START + t, "val": v, "seq": k} for k, (t, v) in enumerate(made.pings, 1)]
    if streams.down and streams.up:
        results["Ping (ms) avg"] = results[RTT]
    return {
        "version": FORMAT,
        "metadata": _metadata(result, checked, streams, title, file, results),
        "x_values": at,
        "results": results,
        "raw_values": raw,
    }


def _computed(rates: Mapping[str, Sequence[float | None]], streams: Streams) -> dict[str, list[float | None]]:
    """Flent's sums and averages over streams, and Jain's index."""
    found: dict[str, list[float | None]] = {}
    both = bool(streams.down and streams.up)
    for base in (DOWN, UP):
        own = [values for name, values in rates.items() if name.startswith(base)]
        if not own:
            continue
        columns = [[v for v in column if v is not None] for column in zip(*own, strict=True)]
        found[f"{base} sum"] = [math.fsum(c) if c else None for c in columns]
        found[f"{base} avg"] = [math.fsum(c) / len(c) if c else None for c in columns]
        if not both:
            found[f"{base} fairness"] = [_jain(c) for c in columns]
    if both:
        sums = zip(found[f"{DOWN} sum"], found[f"{UP} sum"], strict=True)
        found["TCP totals"] = [None if d is None and u is None else (d or 0.0) + (u or 0.0) for d, u in sums]
    return found


def _jain(values: Sequence[float]) -> float | None:
    squares = math.fsum(v * v for v in values)
    return math.fsum(values) ** 2 / (len(values) * squares) if squares > 0 else None


def _on_grid(pings: Sequence[tuple[float, float]], at: Sequence[float]) -> list[float | None]:
    """The round-trip time at each point, between two pings on the line through them; None where pings were lost."""
    values: list[float | None] = []
    k = 0
    for x in at:
        while k + 1 < len(pings) and pings[k + 1][0] <= x:
            k += 1
        if not pings or pings[k][0] > x + STEP_S / 2:
            values.append(None)
            continue
        (t, v), (u, w) = pings[k], pings[min(k + 1, len(pings) - 1)]
        if u > x >= t and u - t < 1.5 * STEP_S:
            values.append(v + (w - v) * (x - t) / (u - t))
        else:
            values.append(v if x - t <= STEP_S / 2 else None)
    return values


def _metadata(
    result: Mapping[str, Any],
    checked: Mapping[str, Any],
    streams: Streams,
    title: str,
    file: str,
    results: Mapping[str, Sequence[float | None]],
) -> Document:
    """Flent's own fields, as far as a simulation has what Flent takes from machines, and the scenario."""
    length = float(result["duration_s"])
    queues = checked.get("queue", {})
    by_flow = [entry for entry in checked["traffic"] for _ in range(int(entry.get("count", 1)))]
    controls = {way: by_flow[flows[0] - 1]["tcp"] if flows else None for way, flows in _ways(streams)}
    sysctls = {way: {"net.ipv4.tcp_congestion_control": tcp} if tcp else {} for way, tcp in controls.items()}
    own = {name: tcp for name in results for way, tcp in controls.items() if name.startswith(f"{way}") and "::" in name}
    units = {name: "ms" if name.startswith("Ping") else "Mbits/s" for name in results}
    units |= {name: "Idx" for name in results if name.endswith("fairness")}
    parameters = {"download_streams": len(streams.down), "upload_streams": len(streams.up)}
    return {
        "NAME": streams.test,
        "TITLE": title,
        "NOTE": f"Simulated by earlydrop {result['version']}",
        "HOST": "receiver",
        "HOSTS": ["receiver"],
        "LOCAL_HOST": "sender",
        "TIME": START_TEXT,
        "T0": START_TEXT,
        "LENGTH": max(length - 2 * EDGE_S, STEP_S) if streams.down or streams.up else length,
        "TOTAL_LENGTH": length,
        "STEP_SIZE": STEP_S,
        "TEST_PARAMETERS": {key: str(value) for key, value in parameters.items() if value},
        "FLENT_VERSION": f"earlydrop {result['version']}",
        "IP_VERSION": 4,
        "DATA_FILENAME": file,
        "FAILED_RUNNERS": 0,
        "KERNEL_NAME": "earlydrop",
        "KERNEL_RELEASE": result["version"],
        "SYSCTLS": sysctls[UP],
        "REMOTE_METADATA": {"receiver": {"SYSCTLS": sysctls[DOWN]}},
        "INGRESS_INFO": _qdiscs(queues, "bottleneck"),
        "EGRESS_INFO": _qdiscs(queues, "reverse"),
        "BATCH_NAME": None,
        "BATCH_TIME": None,
        "BATCH_TITLE": None,
        "BATCH_UUID": None,
        "HTTP_GETTER_DNS": None,
        "HTTP_GETTER_URLLIST": None,
        "HTTP_GETTER_WORKERS": None,
        "SERIES_META": {
            name: {"UNITS": units[name]} | ({"CONG_CONTROL": own[name]} if name in own else {}) for name in results
        },
        "EARLYDROP": {"seed": result["seed"], "scenario": checked, "flows_without_series": streams.others},
    }


def _ways(streams: Streams) -> tuple[tuple[str, Sequence[int]], tuple[str, Sequence[int]]]:
    return (DOWN, streams.down), (UP, streams.up)


def _qdiscs(queues: Mapping[str, Any], name: str) -> Document:
    queue = queues.get(name)
    if queue is None:
        return {"qdiscs": []}
    own = {key: value for key, value in queue.items() if key not in ("aqm", "parent", "child")}
    found = [{"name": queue.get("parent") or queue["aqm"], "id": "1:", "parent": "root", "params": own}]
    if "parent" in queue:
        child = {key: value for key, value in queue["child"].items() if key != "aqm"}
        found.append({"name": queue["child"]["aqm"], "id": "2:", "parent": "1:1", "params": child})
    return {"iface": name, "qdiscs": found}


def write(path: Path, content: Document) -> None:
    """Write a Flent file: the same bytes for the same content."""
    text = json.dumps(content, indent=2, sort_keys=True, allow_nan=False)
    disk.replace(path, gzip.compress(text.encode(), mtime=0))


def run(scenario: _core.Scenario, seed: int | None, title: str, path: Path) -> tuple[Document, Streams]:
    """Run a scenario with Flent's ping, write the Flent file, and return the result with what is in the file.

    Raises:
        ScenarioError: the scenario cannot have the ping, or its rates are too many to record.
        RunError: the run failed.
    """
    from .runner import outcome

    checked = json.loads(scenario.to_json())
    document, streams = instrumented(checked)
    result: Document = json.loads(outcome(_core.Scenario.parse(document, []), seed).text())
    write(path, recording(result, checked, streams, title, path.name))
    return result, streams


def read(path: Path) -> Document:
    """The content of a Flent file.

    Raises:
        FlentError: the file is no Flent file, or has a format that is not known here.
    """
    try:
        content = foreign.content(path)
        document: Document = foreign.parsed(foreign.unpacked(content) if content[:2] == b"\x1f\x8b" else content)
    except OSError as error:
        raise FlentError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise FlentError(f"{path}: is no Flent file ({error}); allowed NAME.flent.gz, as flent writes it") from error
    said = foreign.complaint(document, CONTENT)
    if not said:
        # Of the other series, such as those of a qdisc, nothing is read.
        own = [name for name in document["results"] if name.startswith((DOWN, UP, PINGS))]
        raw = {f"{name}?": [{"t?": float, "val?": NUMBER}] for name in own if name.startswith(PINGS)}
        said = foreign.complaint(document, {"results": {name: [NUMBER] for name in own}, "raw_values": raw})
    if said:
        raise FlentError(f"{path}: is no Flent file that can be read: {said}")
    if document["version"] not in (3, FORMAT):
        raise FlentError(
            f"{path}: version: given {document['version']}; allowed 3 and {FORMAT}, which Flent 1 and later write"
        )
    return document
