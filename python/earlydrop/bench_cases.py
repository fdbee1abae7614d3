"""The networks on which speed is measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from . import foreign

_SOON = {"uniform": ["0 s", "1 s"]}


@dataclass(frozen=True)
class Case:
    """A network to run: a scenario of its `own`, or Reno through RED (max_p 0.1, w_q 0.002), starts in 0..1 s.

    `shape`: a `dumbbell` with access links of 100 Mbit/s; `lean`, one bare queue between two hosts; or a `chain` of
    `queues` in a row. Arrivals are those at all queues together.
    """

    name: str
    duration_s: float
    shape: str = "own"
    flows: int = 0
    rate_mbps: int = 0
    limit: int = 0
    min_th: int = 0
    max_th: int = 0
    spread: bool = False
    stepped: bool = False
    queues: int = 1
    access_ms: float = 5
    delay_ms: float = 20
    own: Callable[[], dict[str, Any]] | None = None

    def hops(self, arrivals: int, drops: int) -> float:
        """Transmissions over a link, of data and ACKs; in a scenario of its own packets at queues.

        A dropped packet has passed the links before its queue. In a row nearly all drops are at the first queue.
        """
        accepted = arrivals - drops
        if self.own:
            return arrivals
        if self.shape == "lean":
            return 2 * accepted
        if self.shape == "chain":
            return accepted + (self.queues + 4) * accepted / self.queues
        return arrivals + 5 * accepted

    def sender_delays_ms(self) -> list[float]:
        """Access delays of the senders: all 5 ms, or all different within 5..10 ms.

        The fractional parts of multiples of the golden ratio: even, in no order, the same in every tool.
        """
        if not self.spread:
            return [5.0]
        golden = (5**0.5 - 1) / 2
        return [round(5 + 5 * ((i + 1) * golden % 1), 6) for i in range(self.flows)]

    def document(self) -> dict[str, Any]:
        """The scenario for earlydrop, without warm-up: every packet counts."""
        return {**(self.own or self._red)(), "name": self.name, "duration": f"{self.duration_s:g} s", "warmup": "0 s"}

    def _red(self) -> dict[str, Any]:
        link = {"rate": f"{self.rate_mbps} Mbit/s", "delay": f"{self.delay_ms:g} ms"}
        access = {"rate": "100 Mbit/s", "delay": f"{self.access_ms:g} ms"}
        senders = {**access, "delay": [f"{d:g} ms" for d in self.sender_delays_ms()]} if self.spread else access
        ends = {"from": "a", "to": "b"} if self.shape == "lean" else {}
        pairs = {"pairs": self.flows, "bottleneck": link}
        row = {**pairs, "bottlenecks": self.queues, "cross": 0, "access": access}
        networks: dict[str, dict[str, Any]] = {
            "dumbbell": {"topology": {"kind": "dumbbell", **pairs, "senders": senders, "receivers": access}},
            "lean": {"topology": {"kind": "graph"}, "link": [{**ends, **link, "queue": "bottleneck"}]},
            "chain": {"topology": {"kind": "parking_lot", **row}},
        }
        limits = {"limit": f"{self.limit} packets", "min_th": self.min_th, "max_th": self.max_th}
        red = {"aqm": "red", "dialect": "ns2", **limits, "max_p": 0.1, "w_q": 0.002, "mean_packet": "1000 B"}
        tcp = {"tcp": "reno", "segment": "960 B", "header": "40 B", "window": 1000}
        traffic = [{"kind": "ftp", "count": self.flows, "start": _SOON, **tcp, **ends}]
        queues = {"bottleneck": {**red, "gentle": False}}
        return {"seed": 1, **networks[self.shape], "queue": queues, "traffic": traffic}


BASES = (
    Case("A", 200, "dumbbell", 100, 10, 120, 30, 90),
    Case("B", 100, "dumbbell", 100, 100, 1200, 300, 900),
    Case("C", 10, "dumbbell", 1000, 1000, 12000, 3000, 9000),
)


def _home(tcp: str = "cubic", aqm: str = "fq_codel") -> dict[str, Any]:
    """What `earlydrop init` writes, also with another TCP or discipline."""
    import earlydrop._core as _core

    home = foreign.parsed_toml(_core.template("home", "dumbbell"))
    for entry in home["traffic"]:
        entry["tcp"] = tcp
    for queue in home["queue"].values():
        queue["aqm"] = aqm
    return home


def _call() -> dict[str, Any]:
    home = _home()
    media = {"kind": "media", "count": 1, "control": "scream"}
    pages = {"size": {"pareto": "10 kB", "shape": 1.2, "max": "1 MB"}, "think": {"exponential": "5 s"}}
    traffic = [
        {**media, "name": "call"},
        {**media, "name": "call_back", "direction": "reverse"},
        {**home["traffic"][0], "name": "downloads", "count": 2},
        {"kind": "pages", "count": 6, "stack": "linux-6.18", "tcp": "cubic", **pages},
    ]
    return {**home, "traffic": traffic}


_ACCESS = [(80, "linux-6.18", "cubic"), (60, "linux-6.18", "bbr"), (60, "linux-6.18", "reno")]
_L4S = [(5, "rfc", "prague"), (5, "linux-6.18", "cubic")]
"""Number, stack, TCP."""


def _today(pairs: int, rate: str, queue: dict[str, Any], flows: Sequence[tuple[int, str, str]]) -> dict[str, Any]:
    """Endless flows from senders near and far through `queue`."""
    senders = {"rate": "10 Gbit/s", "delay": {"uniform": ["2 ms", "40 ms"]}}
    sides = {"senders": senders, "receivers": {"rate": "10 Gbit/s", "delay": "1 ms"}}
    shared = {"kind": "ftp", "segment": "1448 B", "start": _SOON, "ecn": queue.get("ecn", False)}
    return {
        "topology": {"kind": "dumbbell", "pairs": pairs, **sides, "bottleneck": {"rate": rate, "delay": "2 ms"}},
        "queue": {"bottleneck": queue},
        "traffic": [{**shared, "count": count, "stack": stack, "tcp": tcp} for count, stack, tcp in flows],
    }


def _loss() -> dict[str, Any]:
    return {**BASES[0].document(), "traffic": [{"kind": "ftp", "stack": "linux-6.18", "tcp": "cubic", "start": _SOON}]}


def _network(routers: int) -> dict[str, Any]:
    """A random network: four links at each router on average, a RED queue at each of their outputs, ten flows each."""
    links = {"core": {"rate": "10 Mbit/s", "delay": "5 ms"}, "access": {"rate": "100 Mbit/s", "delay": "1 ms"}}
    red = {"aqm": "red", "dialect": "ns2", "limit": 60, "min_th": 10, "max_th": 30, "max_p": 0.1}
    return {
        "topology": {"kind": "random", "routers": routers, **links},
        "queue": {"routers": {**red, "mean_packet": "1040 B"}},
        "traffic": [{"kind": "ftp", "count": 10 * routers, "start": _SOON}],
    }


CASES: dict[str, Case] = {
    case.name: case
    for case in (
        Case("home", 60, own=_home),
        Case("access", 6, own=partial(_today, 200, "1 Gbit/s", {"aqm": "cake"}, _ACCESS)),
        Case("l4s", 30, own=partial(_today, 10, "100 Mbit/s", {"aqm": "dualpi2", "ecn": True}, _L4S)),
        Case("call", 60, own=_call),
        Case("quic", 30, own=partial(_today, 20, "100 Mbit/s", {"aqm": "codel"}, [(20, "quic", "cubic")])),
        Case("loss", 50, own=_loss),
        Case("N1000", 2, own=partial(_network, 1000)),
        Case("home-bbr", 60, own=partial(_home, tcp="bbr")),
        Case("home-codel", 60, own=partial(_home, aqm="codel")),
        *BASES,
        *(replace(c, name=f"{c.name}-spread", spread=True) for c in BASES),
        *(replace(c, name=f"{c.name}-stepped", stepped=True) for c in BASES),
        replace(BASES[1], name="lean", shape="lean", delay_ms=30),
        Case("chain", 100, "chain", 40, 20, 120, 20, 60, queues=5, access_ms=2, delay_ms=4),
        Case("N10", 100, own=partial(_network, 10)),
        Case("N100", 10, own=partial(_network, 100)),
        Case("flows100k", 2, "dumbbell", 100_000, 10_000, 120_000, 30_000, 90_000),
        Case("flows1m", 1, "dumbbell", 1_000_000, 100_000, 1_200_000, 300_000, 900_000),
    )
}
"""The first seven are the headline. A, B, C: with `-spread` every access delay differs, with `-stepped` earlydrop runs
every hop as events."""
HEADLINE = tuple(CASES)[:7]
HOME = ("home", "home-bbr", "home-codel")
