"""The packets that left queues as a pcap file, for Wireshark, tshark and tcpdump.

The engine's trace has each packet's time, size, sequence number, ECN field and TCP flags. What else headers hold is
made up here, so that the tools' analysis of sequence numbers sees the simulated connections.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import earlydrop._core as _core
from .traces import Trace, TraceError

LINK_RAW = 101
"""LINKTYPE_RAW: packets start with their IP header."""
NANOSECONDS = 0xA1B23C4D
"""Magic number of files whose times are in nanoseconds."""
IP_HEADER, TCP_HEADER, UDP_HEADER, MOST_OPTIONS = 20, 20, 8, 40
PORT = 10_000
SYN, ACK = 0x02, 0x10


@dataclass
class _Connection:
    """What is known of a flow's connection so far."""

    number: int = 0
    """Number of the flow's earlier connections."""
    first: int | None = None
    """The SYN's sequence number in the trace."""
    data: bool = False
    """Whether data was sent."""
    answered: bool = False
    """Whether the SYN was answered."""


class _Flow:
    """Sequence numbers, options and connections of a flow over TCP."""

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self.bytes = entry.get("stack") == "rfc"
        header = _size(entry["header"])
        self.options = min(max(header - IP_HEADER - TCP_HEADER, 0) // 4 * 4, MOST_OPTIONS)
        self.payload = max(_size(entry["segment"]) + header - IP_HEADER - TCP_HEADER - self.options, 1)
        self.connection = _Connection()

    def data(self, seq: int, flags: int) -> tuple[int, int, int]:
        """Sequence number, acknowledgement number and flags of a segment."""
        connection = self.connection
        if flags & SYN:
            # A SYN sent again has the number of the first. With ns-2's TCPs every connection starts at 0.
            if connection.data or connection.first not in (None, seq):
                connection = self.connection = _Connection(connection.number + 1)
            connection.first = seq
            return (seq if self.bytes else 0), 0, flags
        connection.data = connection.data or not self.bytes or seq > (connection.first or 0) + 1
        return (seq if self.bytes else 1 + (seq - 1) * self.payload), 1, flags

    def acknowledgement(self, seq: int, flags: int) -> tuple[int, int, int]:
        """Numbers and flags of an ACK: it names the next byte (stack `rfc`) or the last segment received in order."""
        connection = self.connection
        opens = not connection.answered and connection.first in (None, seq - 1 if self.bytes else seq)
        connection.answered = True
        number = seq if self.bytes else 1 + seq * self.payload
        return (0, number, flags | SYN) if opens else (1, number, flags)


def pcap(traces: Sequence[Trace]) -> Iterator[bytes]:
    """A pcap file (nanoseconds, raw IPv4) of the packets that left these queues, when their transmission started.

    Flow n goes from 10.0.x.y to 10.1.x.y with n = 256 x + y, and its ACKs the other way. The receiver's port is 10000,
    the sender's 10000 plus the number of the flow's earlier connections. A flow with `reverse_of` is in the connection
    of the named one. Headers only are kept; a packet's length is that on the wire. Sequence numbers count bytes.
    Requests of clients are UDP datagrams, since the simulator sends them outside of the connection.

    Raises:
        TraceError: packets pass two of the queues: each would be in the file twice.
    """
    _check_once(traces)
    yield struct.pack("<IHHiIII", NANOSECONDS, 2, 4, 0, 0, IP_HEADER + TCP_HEADER + MOST_OPTIONS, LINK_RAW)
    flows = {
        number: _Flow(entry) for trace in traces for number, entry in enumerate(trace.traffic, 1) if entry.get("tcp")
    }
    opened_by = _opened_by(traces[0].traffic) if traces else {}
    left = heapq.merge(*map(_departures, traces), key=lambda one: one[1][0])
    for count, (back, event) in enumerate(left):
        time, number = event[0], event[2]
        # The traffic class is DSCP and ECN field.
        traffic_class = int(traces[0].traffic[number - 1].get("dscp") or 0) << 2 | event[6]
        if event[-1] is None:
            headers, length = _headers(flows.get(number), number, back, event, traffic_class, count & 0xFFFF)
        else:
            headers, length = _headers_both_ways(
                opened_by.get(number, number), number in opened_by, event, traffic_class, count & 0xFFFF
            )
        seconds = int(time)
        nanoseconds = min(round((time - seconds) * 1e9), 999_999_999)
        yield struct.pack("<IIII", seconds, nanoseconds, len(headers), length) + headers


def _departures(trace: Trace) -> Iterator[tuple[bool, Sequence[Any]]]:
    """The packets that left, and for each whether it goes back against its flow's direction."""
    return ((trace.flows[event[2] - 1][2], event) for event in trace.events if event[1] == "-")


def _opened_by(traffic: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """The flow that opens the connection of each flow with `reverse_of`."""
    first: dict[str, int] = {}
    passed: dict[str, int] = {}
    found = {}
    for number, entry in enumerate(traffic, 1):
        if entry.get("name"):
            first.setdefault(entry["name"], number)
        if of := entry.get("reverse_of"):
            found[number] = first[of] + passed.get(of, 0)
            passed[of] = passed.get(of, 0) + 1
    return found


def _ends(number: int, port: int) -> tuple[tuple[bytes, int], tuple[bytes, int]]:
    """Address and port of a flow's sender and of its receiver."""
    place = number & 0xFFFF
    sender, receiver = (bytes((10, side, place >> 8, place & 0xFF)) for side in (0, 1))
    return (sender, port), (receiver, PORT)


def _headers(
    flow: _Flow | None, number: int, back: bool, event: Sequence[Any], traffic_class: int, identification: int
) -> tuple[bytes, int]:
    """The headers of a packet, and its length on the wire."""
    seq, size, _, _, flags = event[3:8]
    port, options, sent, acknowledged = PORT, 0, 0, 0
    length = max(size, IP_HEADER + UDP_HEADER)
    if flow is not None and flags:
        sent, acknowledged, flags = (flow.acknowledgement if back else flow.data)(seq, flags)
        port = PORT + flow.connection.number
        # SYNs and ACKs have no payload: what they have beyond 40 B are options.
        plain = back or flags & SYN or (flow.bytes and size <= IP_HEADER + TCP_HEADER + flow.options)
        beyond = max(size - IP_HEADER - TCP_HEADER, 0) // 4 * 4
        options = min(beyond, MOST_OPTIONS) if plain else flow.options
        length = max(size, IP_HEADER + TCP_HEADER + options)
    ends = _ends(number, port)
    source, target = reversed(ends) if back else ends
    headers = _core.packet_headers(
        source,
        target,
        length,
        identification,
        traffic_class,
        flags,
        sent & 0xFFFFFFFF,
        acknowledged & 0xFFFFFFFF,
        options,
    )
    return headers, length


def _headers_both_ways(
    opened_by: int, answers: bool, event: Sequence[Any], traffic_class: int, identification: int
) -> tuple[bytes, int]:
    """Headers in a connection with data both ways, of the end that opens it or (`answers`) the other."""
    seq, size, _, _, flags, acknowledged, payload = event[3:10]
    ends = _ends(opened_by, PORT)
    source, target = reversed(ends) if answers else ends
    options = min(max(size - payload - IP_HEADER - TCP_HEADER, 0) // 4 * 4, MOST_OPTIONS)
    headers = _core.packet_headers(
        source, target, size, identification, traffic_class, flags, seq & 0xFFFFFFFF, acknowledged, options
    )
    return headers, size


def _check_once(traces: Sequence[Trace]) -> None:
    seen: dict[tuple[int, bool], str] = {}
    for trace in traces:
        for flow in {event[2] for event in trace.events if event[1] == "-"}:
            first = seen.setdefault((flow, trace.flows[flow - 1][2]), trace.queue)
            if first != trace.queue:
                raise TraceError(
                    f"--queue: packets of flow {flow} pass {first} and {trace.queue}, and would be in the file twice; "
                    "name queues of which each packet passes one"
                )


def _size(value: Any) -> int:
    """A packet size as a checked scenario has it, B; 0 for a mix of sizes, which is UDP's."""
    return round(float(value.split()[0])) if isinstance(value, str) else 0
