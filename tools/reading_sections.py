"""What docs/readings.md varies: readings, loads, measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from earlydrop.document import Document

Settings = Mapping[str, Any]

THRESHOLDS: Settings = {"min_th": 24, "max_th": 72, "max_p": 0.1, "mean_packet": 1000}
"""The TRED paper's thresholds, for all disciplines."""

BUS_THRESHOLDS: Settings = {"min_th": 5, "max_th": 15, "max_p": 0.1, "mean_packet": 1000}
"""Thresholds on the bus: the DDRED paper gives none, these are the discipline's own."""


@dataclass(frozen=True)
class Measure:
    """A column: how it is extracted from a result document, and its digits."""

    title: str
    digits: int
    of: Callable[[Document], float]
    """A function that takes the value from a run's result."""


def _bottleneck(field: str, factor: float = 1) -> Callable[[Document], float]:
    return lambda document: factor * float(document["queues"]["bottleneck"][field])


def _jain(document: Document) -> float:
    return float(document["jain"])


def _share(document: Document, flows: Sequence[Document]) -> float:
    return 100 * sum(float(flow["goodput_mbps"]) for flow in flows) / float(document["goodput_total_mbps"])


MEASURES = (
    Measure("throughput, Mbit/s", 3, _bottleneck("throughput_mbps")),
    Measure("mean queue, packets", 1, _bottleneck("queue_mean_packets")),
    Measure("p99 delay, ms", 1, _bottleneck("delay_p99_ms")),
    Measure("drops, %", 2, _bottleneck("drop_rate", 100)),
    Measure("Jain", 3, _jain),
)


CBR_SHARE = Measure("CBR's share, %", 1, lambda document: _share(document, document["flows"][-1:]))


def _drops(document: Document) -> float:
    return float(sum(document["losses"]["by_distance"]))


def _wasted(document: Document) -> float:
    return float(document["losses"]["weighted"])


def _carried(document: Document) -> float:
    """What the links between routers carried, ACKs included, in packets."""
    queues = document["queues"].items()
    return float(sum(queue["departed_bytes"] for name, queue in queues if name.count("r") == 2)) / 1000


def _per_delivered(of: Callable[[Document], float], factor: float = 1) -> Callable[[Document], float]:
    return lambda document: factor * of(document) / sum(flow["delivered_packets"] for flow in document["flows"])


BUS_MEASURES = (
    Measure("goodput, Mbit/s", 3, lambda document: float(document["goodput_total_mbps"])),
    Measure("drops per 1000", 1, _per_delivered(_drops, 1000)),
    Measure("links passed by a drop", 2, lambda document: _wasted(document) / max(_drops(document), 1)),
    Measure("links wasted per 1000", 1, _per_delivered(_wasted, 1000)),
    Measure("links per packet", 2, _per_delivered(_carried)),
    Measure("Jain", 3, _jain),
)


# Flows are dealt to the nine senders in turn, the farthest first.
FAR_SHARE = Measure(
    "far third's share, %",
    1,
    lambda document: _share(document, [flow for flow in document["flows"] if (flow["id"] - 1) % 9 < 3]),
)


@dataclass(frozen=True)
class Load:
    """TCP flows over a network, and optionally a flow at a constant bit rate."""

    id: str
    title: str
    flows: int
    cbr: str | None = None
    network: Literal["dumbbell", "bus"] = "dumbbell"
    to_one_end: bool = False
    """On the bus: from every other host to the last; else between hosts drawn at random."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The columns of the load's table."""
        if self.network == "bus":
            return (*BUS_MEASURES, FAR_SHARE) if self.to_one_end else BUS_MEASURES
        return (*MEASURES, CBR_SHARE) if self.cbr else MEASURES


LOADS = (
    Load("6", "6 TCP", 6),
    Load("40", "40 TCP", 40),
    Load("cbr", "10 TCP, 1 CBR", 10, "2.5 Mbit/s"),
)


BUS_LOADS = (
    Load("end", "36 TCP to one end", 36, network="bus", to_one_end=True),
    Load("random", "40 TCP between random hosts", 40, network="bus"),
)


@dataclass(frozen=True)
class Section:
    """One discipline: the reading that others are compared with, then the other readings."""

    id: str
    title: str
    common: Settings
    rows: tuple[Settings, ...]
    covers: tuple[str, ...]
    """Parameters for which every declared word has a row."""
    loads: tuple[Load, ...] = LOADS


def _each(name: str, *words: Any) -> tuple[Settings, ...]:
    return tuple({name: word} for word in words)


SECTIONS = (
    Section(
        "red",
        "RED",
        {"aqm": "red", **THRESHOLDS},
        (
            {"dialect": "paper"},
            {"dialect": "ns2"},
            {"dialect": "ns2", "wait": False},
            {"dialect": "ns3"},
            {"dialect": "ns3", "wait": False},
            {"dialect": "linux"},
            {"count_base": "analysis"},
            {"dialect": "ns2", "unit": "byte", "byte_scaling": True, "gentle": True, "mean_packet": 500},
        ),
        ("dialect", "count_base"),
    ),
    Section("tred", "TRED", {"aqm": "tred", **THRESHOLDS}, _each("reading", "corrected", "printed"), ("reading",)),
    Section(
        "sfred",
        "SFRED",
        {"aqm": "sfred", **THRESHOLDS, "list_size": 64},
        (
            {},
            *_each("boost", "squared", "one_plus"),
            *_each("release", "on_ageing", "on_eviction", "never"),
            {"ageing": "never"},
            *_each("fair_rate", "received", "accepted", "list"),
            {"throughput": "accepted"},
            {"fair_rate": "accepted", "throughput": "accepted"},
            {"active_flows": "hits"},
            *_each("fast_test", "share", "absolute"),
            {"loss_test": "absolute"},
            {"average_loss": "list"},
            {"slow_test": "below"},
            {"slow_count": "own"},
            {"slow_bonus": 0},
            {"list_size": 20},
        ),
        (
            *("boost", "release", "ageing", "fair_rate", "throughput", "active_flows", "fast_test", "loss_test"),
            *("average_loss", "slow_test", "slow_count"),
        ),
    ),
    Section(
        "autored",
        "AutoRED",
        {"aqm": "floadautored", "stage": "auto", **THRESHOLDS},
        _each("weight", "traffic", "scaled", "plain", "constant"),
        ("weight",),
    ),
    Section(
        "autoredwithred",
        "AutoREDwithRED",
        {"aqm": "floadautored", "stage": "two_levels", **THRESHOLDS},
        _each("raising", "one", "band"),
        ("raising",),
    ),
    Section(
        "floadautored",
        "FLoadAutoRED",
        {"aqm": "floadautored", **THRESHOLDS},
        (
            {"reading": "intended"},
            {"reading": "literal"},
            *_each("load", "capacity", "yellow"),
            {"accumulate": True},
            {"accumulate": True, "measured": "offered"},
            {"measured": "accepted"},
            {"delta_norm": False},
            {"estimator": "exponential"},
            {"raising": "band"},
            *_each("weight", "scaled", "plain", "constant"),
        ),
        ("reading", "load", "measured", "estimator", "raising", "weight"),
    ),
    Section(
        "ddred",
        "DDRED",
        {"aqm": "ddred", **THRESHOLDS},
        (
            {"method": 1},
            {"method": 2},
            {"tie": "oldest"},
            {"forced_victim": "arrival"},
            {"aqm": "red", "gentle": True},
        ),
        ("tie", "forced_victim"),
    ),
    Section(
        "ddred-bus",
        "DDRED on a bus",
        {"aqm": "ddred", **BUS_THRESHOLDS},
        (
            {"method": 1},
            {"method": 2},
            {"tie": "oldest"},
            {"method": 2, "tie": "oldest"},
            {"forced_victim": "arrival"},
            {"aqm": "red", "gentle": True},
            {"aqm": "ddtail"},
            {"aqm": "ddtail", "method": 2},
            {"aqm": "ddtail", "scan": 5},
            {"aqm": "droptail"},
        ),
        ("tie", "forced_victim"),
        BUS_LOADS,
    ),
)
