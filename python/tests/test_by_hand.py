"""Three figures that each paper prints, worked out from the raw events of a queue.

What `reproduce` puts beside the paper's figures comes from counters and integrals in the engine. Here the same figures
of the same runs are made from the list of arrivals (`+`), drops (`d`) and departures (`-`) alone, without that code.
"""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from earlydrop import _core
from earlydrop import study as studies
from earlydrop.study import runs

ALL = 10_000_000
"""More events than any of these runs has."""


class Event(NamedTuple):
    time: float
    kind: str
    flow: int
    seq: int
    size: int
    queue: int


class Raw(NamedTuple):
    """The events of one queue, and of the window that the paper measured."""

    events: Sequence[Event]
    begin: float
    end: float

    def inside(self, kind: str, flow: int | None = None) -> list[Event]:
        return [
            e
            for e in self.events
            if e.kind == kind and self.begin <= e.time < self.end and (flow is None or e.flow == flow)
        ]

    def bits(self, flow: int | None = None) -> float:
        return 8.0 * sum(e.size for e in self.inside("-", flow))

    @property
    def width(self) -> float:
        return self.end - self.begin

    def waits(self, flow: int | None = None) -> list[float]:
        """Times in the queue. An arrival that is dropped is the last that came with its number."""
        waiting: dict[tuple[int, int], list[float]] = defaultdict(list)
        found = []
        for e in self.events:
            key = (e.flow, e.seq)
            if e.kind == "+":
                waiting[key].append(e.time)
            elif e.kind == "d":
                waiting[key].pop()
            else:
                came = waiting[key].pop(0)
                if self.begin <= e.time < self.end and (flow is None or e.flow == flow):
                    found.append(e.time - came)
        return found

    def mean_queue(self) -> float:
        """The length over time. An arrival is in the length that its event states, be it admitted or not."""
        area, length, since = 0.0, 0, self.begin
        for e in self.events:
            if e.time >= self.end:
                break
            if e.time >= self.begin:
                area += length * (e.time - since)
                since = e.time
            length = e.queue
        return (area + length * (self.end - since)) / self.width


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def received(raw: Raw) -> float:
    """TRED: payload that has come to the receivers, Mbit/s. Behind the queue are 17.2 Mbit/s and 10 ms, then 100 Mbit/s
    and 20 ms; the first number of each flow is its SYN."""
    later = 8 * 1040 / 17.2e6 + 0.010 + 8 * 1040 / 100e6 + 0.020
    data = [e for e in raw.events if e.kind == "-" and e.seq > 0]
    return 8e-6 * 1000 * sum(e.time + later < raw.end for e in data) / raw.width


def lost(raw: Raw) -> float:
    return len(raw.inside("d"))


CASES: list[tuple[str, str, dict[str, str], int, str, Callable[[Raw], float]]] = [
    # TRED, Tables 1, 3 and 5.
    ("tred", "T", {"load": "low", "aqm": "red", "buffer": "150"}, 1, "throughput", received),
    ("tred", "T", {"load": "moderate", "aqm": "tred", "buffer": "150"}, 1, "throughput", received),
    ("tred", "T", {"load": "high", "aqm": "red", "buffer": "150"}, 1, "throughput", received),
    # FLoadAutoRED, Tables 6.4, 6.6 and 6.5.
    ("floadautored", "F", {"aqm": "floadautored"}, 1, "drop_rate", lambda r: 100 * lost(r) / len(r.inside("+"))),
    ("floadautored", "F", {"aqm": "floadautored"}, 1, "cbr", lambda r: 100 * r.bits(33) / r.width / 1e6),
    ("floadautored", "F", {"aqm": "autoredwithred"}, 1, "delay", lambda r: mean(r.waits())),
    # SFRED, the bandwidths that Figures 3 and 7 draw; NLRED, what Figures 14 and 16 draw.
    ("sfred", "S-1", {"aqm": "sfred"}, 1, "far", lambda r: r.bits(2) / r.width / 1e3),
    ("sfred", "S-4", {"aqm": "red"}, 1, "cbr1", lambda r: r.bits(3) / r.width / 1e3),
    ("nlred", "N-4", {"aqm": "nlred", "flows": "40"}, 1, "throughput", lambda r: r.bits() / r.width / 1e6),
    ("nlred", "N-4", {"aqm": "nlred", "flows": "40"}, 1, "queue", Raw.mean_queue),
    # AQM-QOS, Tables 2, 3 and 5.
    ("aqm-qos", "Q-2b", {"aqm": "red"}, 1, "delay_1", lambda r: 1e3 * mean(r.waits(1))),
    ("aqm-qos", "Q-3", {"size": "500", "mode": "packet"}, 1, "delivered", lambda r: len(r.inside("-"))),
    ("aqm-qos", "Q-5", {"size": "500", "ecn": "on"}, 1, "dropped", lost),
    # DDRED, Table I (kB/s).
    ("ddred", "D-3", {"aqm": "red", "latency": "20"}, 0, "first", lambda r: r.bits(1) / 8 / r.width / 1e3),
    ("ddred", "D-3", {"aqm": "red", "latency": "20"}, 0, "second", lambda r: r.bits(2) / 8 / r.width / 1e3),
    ("ddred", "D-3", {"aqm": "ddred", "latency": "50"}, 0, "first", lambda r: r.bits(1) / 8 / r.width / 1e3),
]


SHORTER = {"tred": {"duration": "50 s"}, "aqm-qos": {"duration": "40 s"}}
"""What holds of the whole run holds of its beginning."""


@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join((*c[:2], *c[2].values(), c[4])))
def test_figures_from_raw_events(case: tuple[str, str, dict[str, str], int, str, Callable[[Raw], float]]) -> None:
    name, experiment, levels, seed, measure, by_hand = case
    document, values = one_run(name, experiment, levels, seed, SHORTER.get(name, {}))
    raw = raw_events(document["trace"], document)
    assert raw.events, "nothing was traced"
    assert by_hand(raw) == pytest.approx(values[measure], rel=1e-9)


def test_losses_of_a_bus_from_raw_events() -> None:
    """DDRED's L: the drops of all queues together, of the run's first 40 s."""
    short, _ = one_run("ddred", "D-1", {"aqm": "ddred"}, 0, {"record.trace": 1, "duration": "1 s"})
    more = {"record.trace_queues": list(short["queues"]), "duration": "40 s"}
    document, values = one_run("ddred", "D-1", {"aqm": "ddred"}, 0, more)
    by_hand = sum(lost(raw_events(trace, document)) for trace in document["traces"].values())
    assert by_hand == values["lost"]
    assert by_hand > 500


def cell(name: str, experiment: str, levels: dict[str, str], more: dict[str, Any]) -> dict[str, Any]:
    """The scenario of one cell of a study; readings that are not named are at their base."""
    study = studies.find(name)
    e = study.experiment(experiment)
    chosen = tuple(levels.get(axis.id, axis.base) for axis in e.axes)
    assert chosen in e.cell_set, f"{chosen} is not run"
    return e.document(chosen, name, {"record.trace": ALL, **more})


def one_run(
    name: str, experiment: str, levels: dict[str, str], seed: int, more: dict[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, float | None]]:
    """A run with all its events, and what the study measures in it. The last one is kept: several figures are of it."""
    return _made(json.dumps([name, experiment, levels, seed, more]))


@functools.lru_cache(maxsize=1)
def _made(asked: str) -> tuple[dict[str, Any], dict[str, float | None]]:
    name, experiment, levels, seed, more = json.loads(asked)
    study = studies.find(name)
    e = study.experiment(experiment)
    scenario = _core.Scenario.parse(cell(name, experiment, levels, more or {}), [])
    document = json.loads(scenario.run(seed))
    kept = {extraction: extraction(document) for extraction in runs.needed(study, e)}
    chosen = (levels.get(axis.id, axis.base) for axis in e.axes)
    numbers = {axis.id: axis.level(level).value for axis, level in zip(e.axes, chosen, strict=True)}
    return document, runs._measure(study, study.measured(e), kept, numbers, lambda measure: None)


def raw_events(trace: dict[str, Any], document: dict[str, Any]) -> Raw:
    assert trace["columns"] == ["time_s", "event", "flow", "seq", "size", "queue_packets"]
    assert len(trace["events"]) == trace["total"], "the trace is not whole"
    return Raw([Event(*row) for row in trace["events"]], document["warmup_s"], document["duration_s"])
