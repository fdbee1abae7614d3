"""Networks beyond the dumbbell: those of the papers, the usual shapes, and any graph of nodes and links.

    import earlydrop as ed

    net = ed.parking_lot(
        bottlenecks=3,
        access=ed.link("100 Mbit/s", "5 ms"),
        bottleneck=ed.link("10 Mbit/s", "10 ms"),
        queue=ed.aqm.Red(limit="60 packets", min_th=10, max_th=30),
    )
    net.ftp(5)
    net.scenario(duration="60 s").picture().savefig("parking_lot.png")

Hosts and routers are named by a letter and a number (`s1`, `r2`); `docs/scenarios.md` draws them. Traffic goes between
the pairs of hosts that a network has; `from_` and `to` of a traffic call choose others:
`net.ftp(2, from_="d*", to="s*")`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .queue_settings import QueueLike
from .scenario import Document, Network

Link = Mapping[str, Any]
Queues = QueueLike | Mapping[str, QueueLike]


def _network(name: str, queues: Mapping[str, QueueLike | None], topology: Mapping[str, Any]) -> Network:
    given = {key: dict(value) if isinstance(value, Mapping) else value for key, value in topology.items()}
    kept = {key: queue for key, queue in queues.items() if queue is not None}
    return Network({key: value for key, value in given.items() if value is not None}, kept, name)


def _queues(key: str, queue: Queues) -> dict[str, QueueLike | None]:
    return dict(queue) if isinstance(queue, Mapping) else {key: queue}


def parking_lot(
    *,
    access: Link,
    bottleneck: Link,
    queue: Queues,
    bottlenecks: int = 2,
    pairs: int = 1,
    cross: int = 1,
    reverse: Link | None = None,
    reverse_queue: QueueLike | None = None,
    name: str = "parking_lot",
) -> Network:
    """Bottlenecks in series: `pairs` of hosts whose flows pass all of them, and `cross` pairs for each one alone.

    `queue` stands at every bottleneck; a mapping names them apart: `{"bottleneck1": ..., "bottleneck2": ...}`.
    """
    topology = {
        "kind": "parking_lot",
        "bottlenecks": bottlenecks,
        "pairs": pairs,
        "cross": cross,
        "access": access,
        "bottleneck": bottleneck,
        "reverse": reverse,
    }
    return _network(name, _queues("bottleneck", queue) | {"reverse": reverse_queue}, topology)


def star(*, hosts: int, access: Link, queue: QueueLike, name: str = "star") -> Network:
    """Hosts around one router, with `queue` at each of its outputs. All hosts send to the first."""
    return _network(name, {"bottleneck": queue}, {"kind": "star", "hosts": hosts, "access": access})


def sfred(
    *,
    pairs: int,
    queue: QueueLike,
    senders: Link | None = None,
    bottleneck: Link | None = None,
    receiver: Link | None = None,
    name: str = "sfred",
) -> Network:
    """The SFRED paper's network: senders (10 Mbit/s), a bottleneck of 1.5 Mbit/s, one receiver (10 Mbit/s, 5 ms)."""
    topology = {"senders": senders, "bottleneck": bottleneck, "receiver": receiver}
    return _network(name, {"bottleneck": queue}, {"kind": "sfred", "pairs": pairs, **topology})


def nlred(
    *,
    pairs: int,
    queue: QueueLike,
    senders: Link | None = None,
    bottleneck: Link | None = None,
    receiver: Link | None = None,
    name: str = "nlred",
) -> Network:
    """The NLRED paper's network; its rates and delays are ours, because the paper does not give them."""
    topology = {"senders": senders, "bottleneck": bottleneck, "receiver": receiver}
    return _network(name, {"bottleneck": queue}, {"kind": "nlred", "pairs": pairs, **topology})


def bus(
    *, queue: QueueLike, routers: int = 10, core: Link | None = None, access: Link | None = None, name: str = "bus"
) -> Network:
    """DDRED's bus: routers in a line, each with a workstation, and `queue` at every output of a router."""
    return _network(name, {"routers": queue}, {"kind": "bus", "routers": routers, "core": core, "access": access})


def flower(
    *,
    queue: QueueLike,
    petals: int = 5,
    petal: int = 8,
    core: Link | None = None,
    access: Link | None = None,
    name: str = "flower",
) -> Network:
    """DDRED's flower: a ring of routers, each with a loop of more, and `queue` at every output of a router."""
    topology = {"kind": "flower", "petals": petals, "petal": petal, "core": core, "access": access}
    return _network(name, {"routers": queue}, topology)


def two_flow(
    *, queue: QueueLike, first: Link | None = None, link: Link | None = None, name: str = "two_flow"
) -> Network:
    """DDRED's two flows: `s1` passes two routers, `s2` the second; they share its link to `d`. `first`: `s1`'s link."""
    return _network(name, {"bottleneck": queue}, {"kind": "two_flow", "first": first, "link": link})


def random_network(
    *,
    routers: int,
    queue: QueueLike,
    degree: float | None = None,
    hosts: int | None = None,
    core: Link | None = None,
    access: Link | None = None,
    graph_seed: int | None = None,
    name: str = "random",
) -> Network:
    """Routers joined at random, `degree` links at each on average, with `hosts` at each and a queue at each output."""
    topology = {"kind": "random", "routers": routers, "degree": degree, "hosts": hosts, "core": core, "access": access}
    return _network(name, {"routers": queue}, {**topology, "graph_seed": graph_seed})


def graph(
    links: Sequence[Document],
    *,
    queues: Mapping[str, QueueLike] | None = None,
    nodes: Sequence[Document] = (),
    pairs: Literal["random"] | Sequence[Sequence[str]] | None = None,
    name: str = "graph",
) -> Network:
    """Any network: links made with `join`, queues by the names that links call them by.

    Without `nodes` (made with `node`) every name in a link is a node. Traffic goes between `pairs`, or where it says.
    """
    topology: Document = {"kind": "graph"}
    if pairs is not None:
        topology["pairs"] = pairs if isinstance(pairs, str) else [list(pair) for pair in pairs]
    return Network(topology, queues or {}, name, nodes, links)


def join(
    from_: str,
    to: str,
    link: Link,
    *,
    queue: str | None = None,
    reverse: Link | Literal[False] | None = None,
    reverse_queue: str | None = None,
    name: str | None = None,
) -> Document:
    """Two nodes and the link between them, with the names of the queues in either direction.

    `reverse` is the other direction where it differs; False makes it a one-way link.
    """
    back: Any = reverse
    if reverse is not False and reverse_queue is not None:
        back = {**(reverse or {}), "queue": reverse_queue}
    more = {"name": name, "queue": queue, "reverse": dict(back) if isinstance(back, Mapping) else back}
    return {"from": from_, "to": to, **link, **{k: v for k, v in more.items() if v is not None}}


def node(name: str, *, router: bool | None = None, place: tuple[float, float] | None = None) -> Document:
    """A node of a graph; `place` is where a picture has it."""
    more = {"router": router, "place": None if place is None else list(place)}
    return {"name": name, **{k: v for k, v in more.items() if v is not None}}


def schedule(*steps: tuple[str, str], repeat: str | None = None) -> Document:
    """A rate that changes: `schedule(("0 s", "100 Mbit/s"), ("20 s", "10 Mbit/s"), repeat="40 s")`."""
    return {"schedule": [list(step) for step in steps], **({} if repeat is None else {"repeat": repeat})}


def trace(of: str | Sequence[int]) -> Document:
    """The rate of a trace: a file in Mahimahi's form, or its lines: milliseconds at which 1500 bytes may pass."""
    return {"trace": of if isinstance(of, str) else list(of)}
