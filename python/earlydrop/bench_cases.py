"""The networks on which speed is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """A network to run. RED (max_p 0.1, w_q 0.002), access links of 100 Mbit/s, starts in 0..1 s.

    With `routers` a random network of so many, four links at each on average and a queue at each of their outputs; its
    arrivals are those at all queues together, packet-hops.
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

    @property
    def base(self) -> str:
        """The engine's name of the network: a letter."""
        return self.name.partition("-")[0]

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
        if self.routers:
            return self._network()
        delays = [f"{d:g} ms" for d in self.sender_delays_ms()]
        receivers = {"rate": "100 Mbit/s", "delay": "5 ms"}
        sides = {"senders": {"rate": "100 Mbit/s", "delay": delays}, "receivers": receivers}
        return {
            "name": self.name,
            "duration": f"{self.duration_s} s",
            "warmup": "0 s",
            "seed": 1,
            "topology": {
                "kind": "dumbbell",
                "pairs": self.flows,
                **(sides if self.spread else {"access": receivers}),
                "bottleneck": {"rate": f"{self.rate_mbps} Mbit/s", "delay": "20 ms"},
            },
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
            "traffic": [
                {
                    "kind": "ftp",
                    "count": self.flows,
                    "tcp": "reno",
                    "segment": "960 B",
                    "header": "40 B",
                    "window": 1000,
                    "start": {"uniform": ["0 s", "1 s"]},
                }
            ],
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
