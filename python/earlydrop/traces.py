"""The event trace of queues, also as a file of ns-2's. `pcap.py` writes pcap files.

The engine records an event's time, kind, flow, sequence number and size; ns-2's format wants more, and `ns2` says what
stands for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .document import Document
from .errors import EarlydropError

MOST = 10_000_000
"""Most events of a trace, as `record.trace` allows them."""


class TraceError(EarlydropError):
    """A trace cannot be made. The message says why."""


@dataclass(frozen=True)
class Trace:
    """The recorded events of a queue, and what the formats want besides."""

    queue: str
    """The queue's name."""
    events: list[Any]
    """Rows: time in s, event, flow from 1, segment, size in bytes, packets waiting; with headers the ECN field, the
    TCP flags, and with data both ways the acknowledgement number and the payload in bytes, else None."""
    total: int
    """Number of events of the whole run."""
    traffic: list[Mapping[str, Any]]
    """The entry in the checked scenario of each flow."""
    link: tuple[int, int]
    """Nodes at the ends of the queue's link, by their position among the network's nodes."""
    flows: list[tuple[int, int, bool]]
    """For each flow the nodes of sender and receiver, and whether its ACKs are what passes the queue."""

    def kind(self, flow: int) -> str:
        """ns-2's name for the packets of a flow here."""
        if self.flows[flow - 1][2]:
            return "ack"
        entry = self.traffic[flow - 1]
        return "tcp" if entry.get("tcp") else str(entry["kind"])

    def ports(self) -> list[tuple[int, int]]:
        """For each flow the port at its sender and at its receiver: the agents of a node are numbered from 0."""
        used: dict[int, int] = {}

        def next_port(node: int) -> int:
            used[node] = used.get(node, -1) + 1
            return used[node]

        return [(next_port(sender), next_port(receiver)) for sender, receiver, _ in self.flows]


def record(
    document: Document, queues: Sequence[str], events: int, seed: int | None, headers: bool = False
) -> list[Trace]:
    """Run a scenario with these queues traced, by default the first; with `headers` ECN fields and TCP flags, too.

    Raises:
        TraceError: there is no such queue.
        ScenarioError: the scenario is wrong.
    """
    import earlydrop._core as _core

    wanted = {"trace": events, "trace_headers": headers, **({"trace_queues": list(queues)} if queues else {})}
    try:
        scenario = _core.Scenario.parse({**document, "record": wanted}, [])
    except _core.ScenarioError as error:
        if queues and error.path and "trace_queues" in error.path:
            given = error.given.strip('"') if error.given else ", ".join(queues)
            allowed = f"; allowed {error.allowed}" if error.allowed else ""
            raise TraceError(f"--queue {given}: there is no such queue{allowed}") from error
        raise
    result = json.loads(scenario.run(seed))
    if not result["queues"]:
        raise TraceError("the scenario has no queue to trace")
    traffic = by_flow(json.loads(scenario.to_json()))
    found = []
    for name in queues or [next(iter(result["queues"]))]:
        passing = scenario.passing(name, seed)
        assert passing is not None
        trace = result["traces"][name] if queues else result["trace"]
        found.append(Trace(name, trace["events"], trace["total"], traffic, *passing))
    return found


def by_flow(checked: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The traffic entry of each flow."""
    return [entry for entry in checked["traffic"] for _ in range(int(entry.get("count", 1)))]


def ns2(trace: Trace) -> Iterator[str]:
    """Lines of ns-2's trace format, as its queues write them.

    Nodes are numbered as the network has them (`earlydrop show SCENARIO.toml --json`). An address is a node and the
    port of an agent there; ACKs are of the type `ack`, with the addresses of their flow's data the other way round.
    Sequence numbers are the segments'. The last column is ns-2's number of the packet: here packets are numbered in
    the order of their arrival at this queue.
    """
    numbers: dict[tuple[int, int, int], list[int]] = {}
    count = 0
    begin, end = trace.link
    addresses = []
    for (sender, receiver, back), (here, there) in zip(trace.flows, trace.ports(), strict=True):
        ends = (f"{sender}.{here}", f"{receiver}.{there}")
        addresses.append(" ".join(reversed(ends) if back else ends))
    for time, event, flow, seq, size, *_ in trace.events:
        waiting = numbers.setdefault((flow, seq, size), [])
        if event == "+":
            packet = count
            count += 1
            waiting.append(packet)
        else:
            packet = waiting.pop(0) if waiting else -1
        yield (
            f"{event} {time:.9g} {begin} {end} {trace.kind(flow)} {size} ------- {flow} {addresses[flow - 1]} "
            f"{seq} {packet}\n"
        )
