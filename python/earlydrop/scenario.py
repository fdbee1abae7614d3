"""Scenarios: read from a file or built in Python, always checked by the same checker before they run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from . import _core
from .aqm import Queue
from .documents import to_toml
from .result import Result
from .runner import Job, run_one

Document = dict[str, Any]


class Scenario:
    """A checked scenario, ready to run."""

    def __init__(self, core: _core.Scenario) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self._core.name

    @property
    def document(self) -> Document:
        """The checked and completed document."""
        document: Document = json.loads(self._core.to_json())
        return document

    def run(self, seed: int | None = None) -> Result:
        """Run once; without a seed, with the scenario's own."""
        return Result(run_one(Job(self._core, seed)), self.document)

    def __repr__(self) -> str:
        return f"<Scenario {self.name}>"


def _pairs(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(path, value if isinstance(value, str) else json.dumps(value)) for path, value in settings.items()]


def load(path: str | PathLike[str], settings: Mapping[str, Any] | None = None) -> Scenario:
    """Read and check a scenario file. `settings` are laid over it: `{"queue.bottleneck.aqm": "red"}`."""
    return Scenario(_core.Scenario.load(fspath(path), _pairs(settings or {})))


def parse(document: Mapping[str, Any], settings: Mapping[str, Any] | None = None) -> Scenario:
    """Check a scenario given as a dict."""
    return Scenario(_core.Scenario.parse(dict(document), _pairs(settings or {})))


def link(rate: str, delay: str | list[str] | Mapping[str, Any]) -> Document:
    """A link: `link("5 Mbit/s", "20 ms")`."""
    return {"rate": rate, "delay": delay}


def uniform(low: str, high: str) -> Document:
    """A time drawn evenly between two: `uniform("0 s", "1 s")`."""
    return {"uniform": [low, high]}


class Network:
    """A network under construction: topology and queues, then traffic, then `run`."""

    def __init__(self, topology: Document, queues: Mapping[str, Queue], name: str) -> None:
        self.name = name
        self.topology = topology
        self.queues = dict(queues)
        self.traffic: list[Document] = []

    def ftp(
        self,
        count: int = 1,
        *,
        tcp: str = "reno",
        segment: str | None = None,
        start: str | Mapping[str, Any] | None = None,
        window: int | None = None,
        header: str | None = None,
        profile: str | None = None,
        **more: Any,
    ) -> Network:
        """Add greedy TCP flows. Returns the network, so that calls can be chained."""
        given = {
            "segment": segment,
            "start": start,
            "window": window,
            "header": header,
            "profile": profile,
            **more,
        }
        flow = {"kind": "ftp", "count": count, "tcp": tcp}
        self.traffic.append({**flow, **{k: v for k, v in given.items() if v is not None}})
        return self

    def cbr(
        self,
        count: int = 1,
        *,
        rate: str,
        segment: str | None = None,
        start: str | Mapping[str, Any] | None = None,
        header: str | None = None,
        **more: Any,
    ) -> Network:
        """Add flows at a constant bit rate over UDP, which never slow down. Returns the network."""
        given = {"segment": segment, "start": start, "header": header, **more}
        flow = {"kind": "cbr", "count": count, "rate": rate}
        self.traffic.append({**flow, **{k: v for k, v in given.items() if v is not None}})
        return self

    def document(self, **top: Any) -> Document:
        """The scenario as a dict; `top` holds its own fields, such as `duration="200 s"`."""
        return {
            "name": self.name,
            **{k: v for k, v in top.items() if v is not None},
            "topology": self.topology,
            "queue": {name: queue.document() for name, queue in self.queues.items()},
            "traffic": self.traffic,
        }

    def scenario(self, *, duration: str, warmup: str | None = None, **top: Any) -> Scenario:
        """The checked scenario."""
        return parse(self.document(duration=duration, warmup=warmup, **top))

    def run(self, *, duration: str, warmup: str | None = None, seed: int = 1, **top: Any) -> Result:
        """Check and run once."""
        return self.scenario(duration=duration, warmup=warmup, seed=seed, **top).run()

    def save(self, path: str | PathLike[str], *, duration: str, warmup: str | None = None, **top: Any) -> None:
        """Write the scenario as TOML, after checking it."""
        self.scenario(duration=duration, warmup=warmup, **top)
        Path(path).write_text(to_toml(self.document(duration=duration, warmup=warmup, **top)), encoding="utf-8")


def dumbbell(
    *,
    pairs: int,
    bottleneck: Mapping[str, Any],
    queue: Queue,
    access: Mapping[str, Any] | None = None,
    senders: Mapping[str, Any] | None = None,
    receivers: Mapping[str, Any] | None = None,
    name: str = "dumbbell",
) -> Network:
    """`pairs` senders and receivers on either side of one bottleneck, with `queue` in front of it.

    `access` is the link of every host; `senders` and `receivers` give the two sides apart.
    """
    sides = {"access": access, "senders": senders, "receivers": receivers}
    topology = {
        "kind": "dumbbell",
        "pairs": pairs,
        **{k: dict(v) for k, v in sides.items() if v is not None},
        "bottleneck": dict(bottleneck),
    }
    return Network(topology, {"bottleneck": queue}, name)
