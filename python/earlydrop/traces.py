"""A queue's event trace in the formats of other tools: ns-2's trace file, pcap.

What the engine records of an event is its time, kind, flow, sequence number and size. Both formats want more; what
stands for it is said with each.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from .documents import Document

Format = Literal["ns2", "pcap"]
MOST = 10_000_000
"""Events of a trace, as `record.trace` allows them."""

LINK_RAW = 101
"""pcap's LINKTYPE_RAW: packets begin with their IP header."""
IP_HEADER, TCP_HEADER, UDP_HEADER = 20, 20, 8
PORT = 10_000


class TraceError(Exception):
    """A trace cannot be made. The message says why."""


def record(document: Document, queue: str | None, events: int, seed: int | None) -> tuple[Document, list[Any], int]:
    """Run a scenario with its trace recorded: the checked scenario, the rows of the queue, how many events there were.

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
    return json.loads(scenario.to_json()), trace["events"], trace["total"]


def protocols(checked: Mapping[str, Any]) -> list[str]:
    """`tcp`, or the kind of traffic over UDP, for each flow from the first."""
    found: list[str] = []
    for traffic in checked["traffic"]:
        kind = "tcp" if traffic.get("tcp") else str(traffic["kind"])
        found += [kind] * int(traffic.get("count", 1))
    return found


def ns2(events: Sequence[Sequence[Any]], kinds: Sequence[str]) -> Iterator[str]:
    """Lines of ns-2's trace format, as its queues write them.

    The nodes are 0 and 1, the ends of the queue's link; a flow's addresses are its number at either. Sequence numbers
    are the segments'. The last column is ns-2's number of the packet: here packets are numbered in the order of their
    arrival.
    """
    numbers: dict[tuple[int, int, int], list[int]] = {}
    count = 0
    for time, event, flow, seq, size, _ in events:
        waiting = numbers.setdefault((flow, seq, size), [])
        if event == "+":
            packet = count
            count += 1
            waiting.append(packet)
        else:
            packet = waiting.pop(0) if waiting else -1
        kind = _kind(kinds, flow)
        yield f"{event} {time:.9g} 0 1 {kind} {size} ------- {flow} 0.{flow} 1.{flow} {seq} {packet}\n"


def _kind(kinds: Sequence[str], flow: int) -> str:
    return kinds[flow - 1] if 0 < flow <= len(kinds) else "tcp"


def pcap(events: Sequence[Sequence[Any]], kinds: Sequence[str], payload: int = 1000) -> Iterator[bytes]:
    """A pcap file (nanoseconds, raw IPv4) of the packets that left the queue, at the time their transmission began.

    Flow n goes from 10.0.x.y to 10.1.x.y with n = 256 x + y, ports 10000 to 10000. Headers only are kept; the packet's
    length is the one on the wire. TCP's sequence number is the segment's times `payload`, 1 + that after the SYN.
    """
    yield struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, IP_HEADER + TCP_HEADER, LINK_RAW)
    for count, (time, event, flow, seq, size, _) in enumerate(events):
        if event != "-":
            continue
        udp = _kind(kinds, flow) != "tcp"
        header = _datagram(size, seq) if udp else _segment(seq, payload, size)
        ip = _ip(size, 17 if udp else 6, flow, count & 0xFFFF)
        content = (ip + header)[: max(size, IP_HEADER)]
        seconds = int(time)
        nanoseconds = min(round((time - seconds) * 1e9), 999_999_999)
        yield struct.pack("<IIII", seconds, nanoseconds, len(content), max(size, len(content))) + content


def _ip(size: int, protocol: int, flow: int, number: int) -> bytes:
    place = flow & 0xFFFF
    source, target = (bytes((10, side, place >> 8, place & 0xFF)) for side in (0, 1))
    head = struct.pack(">BBHHHBBH", 0x45, 0, min(size, 0xFFFF), number, 0, 64, protocol, 0) + source + target
    total = sum(struct.unpack(">10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    total = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return head[:10] + struct.pack(">H", total) + head[12:]


def _segment(seq: int, payload: int, size: int) -> bytes:
    syn = seq == 0
    flags = 0x02 if syn else 0x10
    number = 0 if syn else 1 + (seq - 1) * payload
    return struct.pack(">HHIIBBHHH", PORT, PORT, number & 0xFFFFFFFF, 0, 5 << 4, flags, 0xFFFF, 0, 0)


def _datagram(size: int, seq: int) -> bytes:
    return struct.pack(">HHHH", PORT, PORT, max(UDP_HEADER, min(size - IP_HEADER, 0xFFFF)), 0)
