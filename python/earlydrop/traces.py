"""A queue's event trace in the formats of other tools: ns-2's trace file, pcap.

What the engine records of an event is its time, kind, flow, sequence number and size. Both formats want more; what
stands for it is said with each.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .document import Document
from .errors import EarlydropError

Format = Literal["ns2", "pcap"]
MOST = 10_000_000
"""Events of a trace, as `record.trace` allows them."""

LINK_RAW = 101
"""pcap's LINKTYPE_RAW: packets begin with their IP header."""
IP_HEADER, TCP_HEADER, UDP_HEADER = 20, 20, 8
PORT = 10_000


class TraceError(EarlydropError):
    """A trace cannot be made. The message says why."""


@dataclass(frozen=True)
class Trace:
    """What was recorded of a queue, and what the formats want besides."""

    events: list[Any]
    """Rows: time in s, event, flow from 1, segment, size in bytes, packets waiting."""
    total: int
    """Events of the whole run."""
    kinds: list[str]
    """`tcp`, or the kind of traffic over UDP, for each flow."""
    link: tuple[int, int]
    """Nodes at the ends of the queue's link, by their position among the network's nodes."""
    flows: list[tuple[int, int, bool]]
    """Of each flow the nodes of sender and receiver, and whether it is its ACKs that pass the queue."""

    def kind(self, flow: int) -> str:
        """What ns-2 calls the packets of a flow here."""
        return "ack" if self.flows[flow - 1][2] else self.kinds[flow - 1]

    def ports(self) -> list[tuple[int, int]]:
        """Of each flow the port at its sender and at its receiver: the agents of a node are numbered from 0."""
        used: dict[int, int] = {}

        def next_port(node: int) -> int:
            used[node] = used.get(node, -1) + 1
            return used[node]

        return [(next_port(sender), next_port(receiver)) for sender, receiver, _ in self.flows]


def record(document: Document, queue: str | None, events: int, seed: int | None) -> Trace:
    """Run a scenario with its trace recorded.

    Raises:
        TraceError: there is no such queue.
        ScenarioError: the scenario is wrong.
    """
    from . import _core

    wanted = {**document, "record": {"trace": events, **({"trace_queues": [queue]} if queue else {})}}
    try:
        scenario = _core.Scenario.parse(wanted, [])
    except _core.ScenarioError as error:
        if queue and error.path and "trace_queues" in error.path:
            raise TraceError(f"--queue {queue}: there is no such queue; {error.allowed or ''}".rstrip("; ")) from error
        raise
    result = json.loads(scenario.run(seed))
    trace = result.get("trace")
    if trace is None:
        raise TraceError("the scenario has no queue to trace")
    passing = scenario.passing(queue or next(iter(result["queues"])), seed)
    assert passing is not None
    kinds = protocols(json.loads(scenario.to_json()))
    return Trace(trace["events"], trace["total"], kinds, *passing)


def protocols(checked: Mapping[str, Any]) -> list[str]:
    """`tcp`, or the kind of traffic over UDP, for each flow from the first."""
    found: list[str] = []
    for traffic in checked["traffic"]:
        kind = "tcp" if traffic.get("tcp") else str(traffic["kind"])
        found += [kind] * int(traffic.get("count", 1))
    return found


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
    for time, event, flow, seq, size, _ in trace.events:
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


def pcap(trace: Trace, payload: int = 1000) -> Iterator[bytes]:
    """A pcap file (nanoseconds, raw IPv4) of the packets that left the queue, at the time their transmission began.

    Flow n goes from 10.0.x.y to 10.1.x.y with n = 256 x + y, ports 10000 to 10000, its ACKs the other way. Headers only
    are kept; the packet's length is the one on the wire. TCP's sequence number is the segment's times `payload`, 1 +
    that after the SYN; so is an ACK's acknowledgement number, of the next segment.
    """
    yield struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, IP_HEADER + TCP_HEADER, LINK_RAW)
    for count, (time, event, flow, seq, size, _) in enumerate(trace.events):
        if event != "-":
            continue
        kind = trace.kind(flow)
        udp = kind not in ("tcp", "ack")
        header = _datagram(size, seq) if udp else _segment(seq, payload, kind == "ack")
        ip = _ip(size, 17 if udp else 6, flow, count & 0xFFFF, kind == "ack")
        content = (ip + header)[: max(size, IP_HEADER)]
        seconds = int(time)
        nanoseconds = min(round((time - seconds) * 1e9), 999_999_999)
        yield struct.pack("<IIII", seconds, nanoseconds, len(content), max(size, len(content))) + content


def _ip(size: int, protocol: int, flow: int, number: int, back: bool) -> bytes:
    place = flow & 0xFFFF
    source, target = (bytes((10, side, place >> 8, place & 0xFF)) for side in ((1, 0) if back else (0, 1)))
    head = struct.pack(">BBHHHBBH", 0x45, 0, min(size, 0xFFFF), number, 0, 64, protocol, 0) + source + target
    total = sum(struct.unpack(">10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    total = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return head[:10] + struct.pack(">H", total) + head[12:]


def _segment(seq: int, payload: int, ack: bool) -> bytes:
    # An ACK names the highest segment received in order, TCP the next byte that is wanted; the SYN is one byte.
    place = 1 + (seq if ack else seq - 1) * payload
    flags = (0x12 if ack else 0x02) if seq == 0 else 0x10
    sent, wanted = (1 if seq else 0, place) if ack else (place if seq else 0, 0)
    return struct.pack(">HHIIBBHHH", PORT, PORT, sent & 0xFFFFFFFF, wanted & 0xFFFFFFFF, 5 << 4, flags, 0xFFFF, 0, 0)


def _datagram(size: int, seq: int) -> bytes:
    return struct.pack(">HHHH", PORT, PORT, max(UDP_HEADER, min(size - IP_HEADER, 0xFFFF)), 0)
