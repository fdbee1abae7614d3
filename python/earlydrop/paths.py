"""A protocol stack of one's own in simulated time, behind any queue discipline.

    net = ed.path("10 Mbit/s", "20 ms", queue="fq_codel target=5ms", ecn=True)
    net.run([(net.client, mine), (net.server, yours)], until=10)
    result = net.finish()

`mine` and `yours` have the methods of `Endpoint`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path as FilePath
from typing import Literal, NamedTuple, Protocol

import earlydrop._core as _core
from . import output
from .result import Result
from .simulation import Source, scenario_of

NOT_ECT, ECT1, ECT0, CE = range(4)
"""The values of IP's ECN field."""


class Delivery(NamedTuple):
    """A datagram that has arrived."""

    at: float
    """Arrival, s."""
    sent: float
    """When it was sent, s."""
    number: int
    """Its number among those of its sender, from 0."""
    ecn: int
    """ECN field on arrival: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE."""
    payload: bytes
    """Payload."""


class Endpoint(Protocol):
    """A protocol stack with its application at a host. Times are seconds from the start of the network.

    After each `handle` and `handle_timeout`, and once at the start, come `drive` and `poll_transmit`, again and again
    until there is nothing left to send, then `poll_timeout`.
    """

    def handle(self, now: float, datagram: Delivery) -> None:
        """A datagram arrives."""

    def poll_transmit(self, now: float) -> tuple[bytes, int] | None:
        """The next datagram to be sent now: its payload and its ECN field; None if there is none."""

    def poll_timeout(self) -> float | None:
        """When `handle_timeout` is to be called, if nothing else happens before; None if never."""

    def handle_timeout(self, now: float) -> None:
        """The time that `poll_timeout` gave has come."""

    def drive(self, now: float) -> bool:
        """The application has its turn: it reads and writes. True once it has all that it wanted."""


@dataclass
class _Adapted:
    """An endpoint as the engine calls it."""

    endpoint: Endpoint

    def handle(self, now: float, datagram: tuple[float, float, int, int, bytes]) -> None:
        self.endpoint.handle(now, Delivery(*datagram))

    def counts(self) -> tuple[int, int, int] | None:
        """What the stack counts, if it does: bytes delivered to its application, packets sent again, timeouts."""
        counts = getattr(self.endpoint, "counts", None)
        return None if counts is None else counts()


class Path:
    """A network in simulated time whose hosts a program moves; `ed.path` makes it.

    Hosts are attached first; the first call beyond that starts the network, at time 0. Calls in the wrong order, in the
    past, or after the end raise a `ValueError`.
    """

    def __init__(self, core: _core.PathNetwork, ends: int) -> None:
        self._core = core
        self._ends = ends

    @property
    def client(self) -> int:
        """The first host that was attached; of two hosts with one link `client`."""
        return self._host(0)

    @property
    def server(self) -> int:
        """Its peer; of two hosts with one link `server`."""
        return self._host(1)

    def _host(self, number: int) -> int:
        if self._ends == 0:
            raise ValueError("no host is attached; attach(host, peer) gives both ends")
        return number

    def attach(self, host: str, peer: str) -> tuple[int, int]:
        """Attach two hosts of the network to each other; both ends, `host`'s first. What one sends reaches the other.

        Raises:
            ScenarioError: there is no such host, or no way between them.
        """
        ends = self._core.attach(host, peer)
        self._ends += 2
        return ends

    @property
    def now(self) -> float:
        """The present time, s."""
        return self._core.now

    def send(self, host: int, payload: bytes, ecn: int = NOT_ECT) -> None:
        """A host sends a datagram to its peer now; on the wire it has the overhead more."""
        self._core.send(host, payload, ecn)

    def poll(self, host: int) -> Delivery | None:
        """The next datagram that has arrived at a host; None if there is none."""
        found = self._core.poll(host)
        return None if found is None else Delivery(*found)

    def next_event(self) -> float | None:
        """The time of the next event, s: the first at which something can change if no host sends; None if never."""
        return self._core.next_event()

    def advance_to(self, time: float) -> None:
        """Run up to `time`, s, with all that happens at that time. What arrives waits for `poll`."""
        self._core.advance_to(time)

    def run(self, endpoints: Sequence[tuple[int, Endpoint]], until: float) -> Literal["done", "until", "idle"]:
        """Run endpoints at hosts until all are done, up to `until`, s, or until nothing happens any more; which it was.

        Raises:
            ValueError: a host has two endpoints, the network ends before `until`, a datagram is too large, or an
                endpoint makes no progress.
        """
        return self._core.run([(host, _bound(endpoint)) for host, endpoint in endpoints], until)

    @property
    def digest(self) -> int:
        """A digest of what became of each datagram: number, times, size, ECN field, fate. Payloads are not in it."""
        return self._core.digest()

    def restart_digest(self) -> None:
        """The digest starts anew: of a handshake with random sizes, what comes after can still be compared."""
        self._core.restart_digest()

    def finish(self, folder: str | PathLike[str] | None = None) -> Result:
        """End the network now; what was measured from the end of the warmup until now.

        Args:
            folder: where to write `result.json` and `scenario.json`, of which `earlydrop report` makes a page.
        """
        document, scenario = (json.loads(text) for text in self._core.finish())
        if folder is not None:
            where = FilePath(folder)
            where.mkdir(parents=True, exist_ok=True)
            output.write_json(where / "result.json", document)
            output.write_json(where / "scenario.json", scenario)
        return Result(json.dumps(document), scenario)


def _bound(endpoint: Endpoint) -> object:
    """The endpoint with the calls that the engine makes; its own are called directly where they are the same."""
    adapted = _Adapted(endpoint)
    for name in ("poll_transmit", "poll_timeout", "handle_timeout", "drive"):
        setattr(adapted, name, getattr(endpoint, name))
    return adapted


def path(
    link: Source,
    delay: str | None = None,
    *,
    queue: str | None = None,
    queue_down: str | None = None,
    rate_down: str | None = None,
    ecn: bool = False,
    jitter: str | None = None,
    loss: float | None = None,
    duration: str | None = None,
    warmup: str | None = None,
    series: str | None = None,
    seed: int | None = None,
    overhead: int = 28,
    capture: str | PathLike[str] | None = None,
) -> Path:
    """A network in simulated time for protocol stacks of one's own.

    Args:
        link: the rate of a link between two hosts, `client` and `server` (`"50 Mbit/s"`); or, without `delay`, a
            scenario: a network, a dict, or the path of a file. Its traffic is the cross traffic, and hosts are attached
            by name.
        delay: propagation delay each way (`"20 ms"`).
        queue: the queue in both directions, as on the command line (`"fq_codel target=5ms"`); DropTail unless given.
        queue_down: the queue to the client, if it is another.
        rate_down: the rate to the client, if it is another.
        ecn: whether the queues mark ECN-capable packets instead of dropping them.
        jitter: extra delay of each packet, drawn from 0 up to this; packets stay in order.
        loss: probability that the link loses a packet, in each direction.
        duration: the longest time of the network, an hour unless given.
        warmup: the time before the measured window.
        series: interval at which the queues are recorded.
        seed: of what the queues and the link draw: 1, or the scenario's.
        overhead: bytes on the wire beside a datagram's payload: 28 for UDP over IPv4, 0 for stacks that make IP
            packets.
        capture: a folder for a packet capture of each queue (`up.pcapng`), for Wireshark.

    Raises:
        ScenarioError: a value does not fit; or the scenario is wrong.
    """
    folder = None if capture is None else os.fspath(capture)
    if delay is None:
        of_link = [queue, queue_down, rate_down, jitter, loss, duration, warmup, series]
        if ecn or any(value is not None for value in of_link):
            raise TypeError("a scenario says itself what a link with rate and delay is given by arguments")
        return Path(_core.PathNetwork.of(scenario_of(link, {})._core, seed, overhead, folder), 0)
    if not isinstance(link, str):
        raise TypeError('the first argument is a rate such as "50 Mbit/s", or a scenario without a delay')
    texts = (queue, queue_down, rate_down)
    times = (duration, warmup, series)
    seed = 1 if seed is None else seed
    return Path(_core.PathNetwork.duplex(link, delay, *texts, ecn, jitter, loss, *times, seed, overhead, folder), 2)
