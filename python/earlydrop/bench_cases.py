"""The networks on which speed is measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Case:
    """A network to run. RED (max_p 0.1, w_q 0.002), access links of 100 Mbit/s, starts in 0..1 s.

    `shape`: a `dumbbell`; `lean`, one bare queue between two hosts; a `chain` of `queues` in a row; or `random`, a
    network of `routers`, four links at each on average and a queue at each of their outputs. Arrivals are those at all
    queues together.
    """

    name: str
    flows: int
    rate_mbps: int
    duration_s: int
    limit: int
    min_th: int
    max_th: int
    spread: bool = False
    stepped: bool = False
    routers: int = 0
    shape: str = "dumbbell"
    queues: int = 1
    access_ms: float = 5
    delay_ms: float = 20
    stack: str | None = None

    @property
    def base(self) -> str:
        """The case that this one is a variant of."""
        return self.name.partition("-")[0]

    @property
    def built_in(self) -> bool:
        """Whether `earlydrop-engine` has the network under this name."""
        return self.base in ("A", "B", "C", "N10", "N100", "N1000") and self.stack is None

    def hops(self, arrivals: int, drops: int) -> float:
        """Transmissions over a link, of data and ACKs; in a random network packets at queues.

        A dropped packet has passed the links before its queue. In a row nearly all drops are at the first queue.
        """
        accepted = arrivals - drops
        if self.shape == "random":
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
        """The scenario for earlydrop."""
        if self.shape == "random":
            return self._network()
        topology = {"dumbbell": self._dumbbell, "lean": self._lean, "chain": self._chain}[self.shape]()
        traffic = {"kind": "ftp", "count": self.flows, "start": {"uniform": ["0 s", "1 s"]}}
        segments = {"segment": "960 B", "header": "40 B", "window": 1000}
        tcp = {"stack": self.stack, "tcp": "cubic"} if self.stack else {"tcp": "reno", **segments}
        ends = {"from": "a", "to": "b"} if self.shape == "lean" else {}
        return {
            "name": self.name,
            "duration": f"{self.duration_s} s",
            "warmup": "0 s",
            "seed": 1,
            **topology,
            "queue": {
                "bottleneck": {
                    "aqm": "red",
                    "dialect": "ns2",
                    "limit": f"{self.limit} packets",
                    "min_th": self.min_th,
                    "max_th": self.max_th,
                    "max_p": 0.1,
                    "w_q": 0.002,
                    "mean_packet": "1000 B",
                    "gentle": False,
                }
            },
            "traffic": [{**traffic, **tcp, **ends}],
        }

    def _lean(self) -> dict[str, Any]:
        link = {"from": "a", "to": "b", "rate": f"{self.rate_mbps} Mbit/s", "delay": f"{self.delay_ms:g} ms"}
        return {"topology": {"kind": "graph"}, "link": [{**link, "queue": "bottleneck"}]}

    def _chain(self) -> dict[str, Any]:
        return {
            "topology": {
                "kind": "parking_lot",
                "bottlenecks": self.queues,
                "pairs": self.flows,
                "cross": 0,
                "access": {"rate": "100 Mbit/s", "delay": f"{self.access_ms:g} ms"},
                "bottleneck": {"rate": f"{self.rate_mbps} Mbit/s", "delay": f"{self.delay_ms:g} ms"},
            }
        }

    def _dumbbell(self) -> dict[str, Any]:
        delays = [f"{d:g} ms" for d in self.sender_delays_ms()]
        receivers = {"rate": "100 Mbit/s", "delay": "5 ms"}
        sides = {"senders": {"rate": "100 Mbit/s", "delay": delays}, "receivers": receivers}
        return {
            "topology": {
                "kind": "dumbbell",
                "pairs": self.flows,
                **(sides if self.spread else {"access": receivers}),
                "bottleneck": {"rate": f"{self.rate_mbps} Mbit/s", "delay": "20 ms"},
            }
        }

    def _network(self) -> dict[str, Any]:
        queue = {"aqm": "red", "dialect": "ns2", "limit": self.limit, "min_th": self.min_th, "max_th": self.max_th}
        return {
            "name": self.name,
            "duration": f"{self.duration_s} s",
            "topology": {
                "kind": "random",
                "routers": self.routers,
                "core": {"rate": f"{self.rate_mbps} Mbit/s", "delay": "5 ms"},
                "access": {"rate": "100 Mbit/s", "delay": "1 ms"},
            },
            "queue": {"routers": {**queue, "max_p": 0.1, "mean_packet": "1040 B"}},
            "traffic": [{"kind": "ftp", "count": self.flows, "start": {"uniform": ["0 s", "1 s"]}}],
        }


BASES = (
    Case("A", 100, 10, 200, 120, 30, 90),
    Case("B", 100, 100, 100, 1200, 300, 900),
    Case("C", 1000, 1000, 10, 12000, 3000, 9000),
)

CASES: dict[str, Case] = {
    case.name: case
    for case in (
        *BASES,
        *(replace(c, name=f"{c.name}-spread", spread=True) for c in BASES),
        *(replace(c, name=f"{c.name}-stepped", stepped=True) for c in BASES),
        replace(BASES[0], name="A-linux", stack="linux-6.18"),
        replace(BASES[1], name="lean", shape="lean", delay_ms=30),
        Case("chain", 40, 20, 100, 120, 20, 60, shape="chain", queues=5, access_ms=2, delay_ms=4),
        Case("N10", 100, 10, 100, 60, 10, 30, shape="random", routers=10),
        Case("N100", 1000, 10, 10, 60, 10, 30, shape="random", routers=100),
        Case("N1000", 10000, 10, 2, 60, 10, 30, shape="random", routers=1000),
        Case("flows100k", 100_000, 10_000, 2, 120_000, 30_000, 90_000),
        Case("flows1m", 1_000_000, 100_000, 1, 1_200_000, 300_000, 900_000),
    )
}
"""A, B, C; with `-spread` every access delay differs, with `-stepped` earlydrop runs every hop as events, `A-linux` has
CUBIC of Linux. N10 to N1000 are random networks of 10 to 1000 routers."""
