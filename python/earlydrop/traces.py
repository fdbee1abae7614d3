"""The event trace of queues, also as a file of ns-2's or as a packet capture.

The engine records an event's time, kind, flow, sequence number and size; ns-2's format wants more, and `ns2` says what
stands for it. The engine writes captures itself (crates/sim/src/capture).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from .document import Document
from .errors import EarlydropError

if TYPE_CHECKING:
    import earlydrop._core as _core

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
    """Rows: time in s, event, flow from 1, segment, size in bytes, packets waiting."""
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


def record(document: Document, queue: str | None, events: int, seed: int | None) -> Trace:
    """Run a scenario with a queue traced, by default the first.

    Raises:
        TraceError: there is no such queue.
        ScenarioError: the scenario is wrong.
    """
    scenario = _traced(document, [queue] if queue else [], events)
    result = json.loads(scenario.run(seed))
    if not result["queues"]:
        raise TraceError("the scenario has no queue to trace")
    name = queue or next(iter(result["queues"]))
    passing = scenario.passing(name, seed)
    assert passing is not None
    trace = result["trace"]
    return Trace(name, trace["events"], trace["total"], by_flow(json.loads(scenario.to_json())), *passing)


def capture(
    document: Document, queues: Sequence[str], events: int, seed: int | None, file: IO[bytes]
) -> tuple[int, int]:
    """Run a scenario; write a packet capture of these queues, by default the first. How many events are in it, of all.

    Raises:
        TraceError: there is no such queue, or packets pass two of them. Nothing was written.
        ScenarioError: the scenario is wrong.
    """
    outcome = _traced(document, queues, events, trace_headers=True).outcome(seed)
    try:
        return outcome.capture(file)
    except ValueError as error:
        raise TraceError(str(error)) from error


def _traced(document: Document, queues: Sequence[str], events: int, **more: bool) -> _core.Scenario:
    """The scenario with these queues traced."""
    import earlydrop._core as _core

    wanted = {"trace": events, **more, **({"trace_queues": list(queues)} if queues else {})}
    try:
        return _core.Scenario.parse({**document, "record": wanted}, [])
    except _core.ScenarioError as error:
        if queues and error.path and "trace_queues" in error.path:
            given = error.given.strip('"') if error.given else ", ".join(queues)
            allowed = f"; allowed {error.allowed}" if error.allowed else ""
            raise TraceError(f"--queue {given}: there is no such queue{allowed}") from error
        raise


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
