"""A queue's packets as pcap: tshark finds well-formed packets, and the retransmissions that the trace has."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import dumbbell, peer

from earlydrop import _core, cli, pcap, traces

HOME = f"""\
name = "home"
duration = "8 s"
warmup = "0 s"

{dumbbell("codel", 60, pairs=5, bottleneck=("10 Mbit/s", "10 ms"), access=("1 Gbit/s", "2 ms"))}
ecn = ECN

[queue.reverse]
aqm = "droptail"
limit = "40 packets"
"""
TCP = 'tcp = "cubic"\nstack = "linux-6.18"\nsegment = "1448 B"\necn = ECN\n'
RFC = f"""
[[traffic]]
kind = "ftp"
count = 3
start = {{ uniform = ["0 s", "1 s"] }}
{TCP}
[[traffic]]
kind = "transfers"
name = "short"
size = "30 kB"
number = "endless"
think = "300 ms"
connection = "new"
start = {{ uniform = ["0 s", "1 s"] }}
{TCP}
[[traffic]]
kind = "requests"
size = "20 kB"
think = "200 ms"
start = {{ uniform = ["0 s", "1 s"] }}
{TCP}
[[traffic]]
kind = "ftp"
name = "up"
direction = "reverse"
start = {{ uniform = ["0 s", "1 s"] }}
{TCP}
[[traffic]]
kind = "voip"
"""
NS2 = """
[[traffic]]
kind = "ftp"
count = 5
tcp = "sack"
ecn = ECN
start = { uniform = ["0 s", "1 s"] }
"""
BOTH = ["--queue", "bottleneck", "--queue", "reverse"]
ANALYSIS = (
    "retransmission",
    "out_of_order",
    "fast_retransmission",
    "spurious_retransmission",
    "lost_segment",
)
AGAIN = [f"tcp.analysis.{name}" for name in ANALYSIS[:-1]]
FIELDS = [
    *("frame.time_epoch", "ip.src", "ip.len", "ip.proto", "ip.dsfield.ecn", "tcp.flags", "tcp.srcport"),
    *(f"tcp.analysis.{name}" for name in ANALYSIS),
]


def write(folder: Path, traffic: str, ecn: bool) -> Path:
    path = folder / "home.toml"
    path.write_text((HOME + traffic).replace("ECN", str(ecn).lower()), encoding="utf-8")
    return path


def captured(scenario: Path, *options: str) -> Path:
    file = scenario.with_suffix(".pcap")
    assert cli.main(["trace", str(scenario), str(file), *options]) == cli.DONE
    return file


def packets(file: Path) -> list[dict[str, str]]:
    """What tshark says of each packet, without wrong checksums: only headers are in the file."""
    command = [peer("tshark"), "-r", str(file), "-T", "fields", *(word for name in FIELDS for word in ("-e", name))]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    return [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in made.stdout.splitlines()]


def recorded(scenario: Path, *queues: str) -> list[traces.Trace]:
    document = json.loads(_core.Scenario.load(str(scenario), []).to_json())
    return traces.record(document, queues, 1_000_000, None, headers=True)


def data(trace: traces.Trace) -> Iterator[tuple[int, int, int, bool]]:
    """Of each data segment that left: flow, sequence number, the next one's, and whether it opens a connection."""
    for _, event, flow, seq, size, _, _, flags, *_ in trace.events:
        entry = trace.traffic[flow - 1]
        if event == "-" and entry.get("tcp") and flags and not trace.flows[flow - 1][2]:
            in_bytes = entry.get("stack") == "rfc"
            header = 52 if in_bytes else 0
            yield flow, seq, seq + (max(size - header, 0) if in_bytes else 1), bool(flags & 2)


def again_and_gaps(trace: traces.Trace) -> tuple[int, int]:
    """Segments that do not advance beyond all that left before, and gaps in front of those that do."""
    following: dict[int, int] = {}
    again = gaps = 0
    for flow, seq, end, opens in data(trace):
        if opens:
            again += seq + 1 == following.get(flow)
            following[flow] = seq + 1
        elif seq < following[flow]:
            again += end > seq
        else:
            gaps += seq > following[flow]
            following[flow] = end
    return again, gaps


@pytest.mark.parametrize("ecn", [False, True])
@pytest.mark.parametrize("traffic", [RFC, NS2], ids=["rfc", "ns2"])
def test_tshark_finds_the_retransmissions_of_the_trace(tmp_path: Path, traffic: str, ecn: bool) -> None:
    scenario = write(tmp_path, traffic, ecn)
    found = packets(captured(scenario, *BOTH))
    made = recorded(scenario, "bottleneck", "reverse")
    counts = [again_and_gaps(trace) for trace in made]
    again = sum(1 for one in found if any(one[name] for name in AGAIN))
    assert again == sum(count for count, _ in counts) > 0
    assert sum(1 for one in found if one["tcp.analysis.lost_segment"]) == sum(gaps for _, gaps in counts) > 0
    # Every packet that left is there, with its size and time.
    left = sorted((e[0], e[4]) for trace in made for e in trace.events if e[1] == "-")
    assert sorted(int(one["ip.len"]) for one in found) == sorted(size for _, size in left)
    assert [float(one["frame.time_epoch"]) for one in found] == pytest.approx([t for t, _ in left], abs=2e-9)


@pytest.mark.parametrize("traffic", [RFC, NS2], ids=["rfc", "ns2"])
def test_arrivals_again_are_the_engines_retransmissions(tmp_path: Path, traffic: str) -> None:
    """The rule of the count above, at arrivals, where nothing was dropped before."""
    scenario = write(tmp_path, traffic, False)
    result = json.loads(_core.Scenario.load(str(scenario), []).run())
    flows = [flow["id"] for flow in result["flows"] if flow["kind"] == "ftp" and flow["id"] < 4]
    (trace,) = recorded(scenario, "bottleneck")
    arrived = Counter((e[2], e[3]) for e in trace.events if e[1] == "+" and e[2] in flows and e[4] > 60)
    assert sum(n - 1 for n in arrived.values()) == sum(result["flows"][flow - 1]["retransmits"] for flow in flows) > 0


def test_tshark_finds_nothing_malformed(tmp_path: Path) -> None:
    file = captured(write(tmp_path, RFC, True), *BOTH)
    command = [peer("tshark"), "-r", str(file), "-q", "-z", "expert"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Errors" not in made
    groups = {tuple(line.split()[1:3]) for line in made.splitlines() if line.strip()[:1].isdigit()}
    assert {group for group, _ in groups} <= {"Sequence", "Protocol"}
    assert "SYN packet does not contain a MSS option" in made
    kinds = subprocess.run(
        [peer("tshark"), "-r", str(file), "-Y", "_ws.malformed"], capture_output=True, text=True, check=True
    )
    assert kinds.stdout == ""


def test_ecn_is_in_the_headers(tmp_path: Path) -> None:
    scenario = write(tmp_path, RFC, True)
    found = packets(captured(scenario, *BOTH))
    (bottleneck, reverse) = recorded(scenario, "bottleneck", "reverse")
    made = Counter(e[6] for trace in (bottleneck, reverse) for e in trace.events if e[1] == "-")
    assert Counter(int(one["ip.dsfield.ecn"], 0) for one in found) == made
    result = json.loads(_core.Scenario.load(str(scenario), []).run())
    assert made[3] == result["queues"]["bottleneck"]["marks"] - marked_in_queue(bottleneck)
    assert made[3] > 0
    flags = Counter(int(one["tcp.flags"], 0) for one in found if one["tcp.flags"])
    assert flags[0x0C2] > 0, "SYNs ask for ECN"
    assert flags[0x052] > 0, "SYN-ACKs agree"
    assert flags[0x050] >= made[3] / 2, "ACKs echo marks"
    assert flags[0x090] + flags[0x098] > 0, "senders answer with CWR"


def marked_in_queue(trace: traces.Trace) -> int:
    """Packets marked at their arrival that have not left."""
    arrived = Counter((e[2], e[3]) for e in trace.events if e[1] == "+")
    gone = Counter((e[2], e[3]) for e in trace.events if e[1] != "+")
    return 0 if trace.events[-1][5] == 0 else min(0, sum((arrived - gone).values()))


def test_each_connection_has_a_stream_of_its_own(tmp_path: Path) -> None:
    scenario = write(tmp_path, RFC, False)
    found = packets(captured(scenario, *BOTH))
    (trace, _) = recorded(scenario, "bottleneck", "reverse")
    short = [e for e in trace.events if e[1] == "-" and e[2] == 4]
    opened = len({e[3] for e in short if e[7] & 2})
    ports = {one["tcp.srcport"] for one in found if one["ip.src"] == "10.0.0.4" and one["tcp.srcport"]}
    assert opened > 5
    assert ports == {str(10_000 + k) for k in range(opened)}
    # Requests are datagrams of the client.
    requests = [one for one in found if one["ip.src"].startswith("10.1.") and one["ip.proto"] == "17"]
    assert len(requests) > 3
    assert {one["ip.len"] for one in requests} == {"400"}


BOTH_WAYS = """
[[traffic]]
kind = "ftp"
name = "up"
count = 2
start = { uniform = ["0 s", "1 s"] }
tcp = "cubic"
stack = "linux-6.18"
segment = "1448 B"
ecn = ECN

[[traffic]]
kind = "ftp"
reverse_of = "up"
"""


@pytest.mark.parametrize("ecn", [False, True])
def test_data_both_ways_are_one_stream(tmp_path: Path, ecn: bool) -> None:
    scenario = write(tmp_path, BOTH_WAYS, ecn)
    names = ("tcp.stream", "ip.src", "tcp.srcport", "ip.len", "tcp.len", "tcp.seq_raw", "tcp.ack_raw", "tcp.flags")
    fields = (*names, "tcp.hdr_len")
    command = [peer("tshark"), "-r", str(captured(scenario, *BOTH)), "-T", "fields"]
    made = subprocess.run(
        [*command, *(word for name in fields for word in ("-e", name))], capture_output=True, text=True, check=True
    )
    found = [line.split("\t") for line in made.stdout.splitlines()]
    events = sorted(
        (e for trace in recorded(scenario, "bottleneck", "reverse") for e in trace.events if e[1] == "-"),
        key=lambda e: e[0],
    )
    assert len(found) == len(events) > 1000
    carrying, streams = 0, dict[int, set[str]]()
    for (stream, source, port, size, payload, seq, ack, flags, header), event in zip(found, events, strict=True):
        flow, answers = (event[2] - 1) % 2, event[2] > 2
        assert (source, port) == (f"10.{int(answers)}.0.{flow + 1}", "10000")
        assert (int(size), int(payload), int(seq), int(ack)) == (event[4], event[9], event[3], event[8])
        assert int(size) == 20 + int(header) + int(payload)
        assert int(flags, 0) == event[7]
        carrying += int(payload) > 0 and bool(event[7] & 16)
        streams.setdefault(flow, set()).add(stream)
    assert carrying > 0.8 * len(found)
    assert sorted(map(sorted, streams.values())) == [["0"], ["1"]]
    assert any(event[7] & 0x40 and event[9] for event in events) == ecn, "data echo marks"


def test_acks_count_marks(tmp_path: Path) -> None:
    """With accurate ECN the three flags are the counter of marked packets."""
    scenario = write(tmp_path, '[[traffic]]\nkind = "ftp"\ncount = 2\ntcp = "prague"\n', True)
    bottleneck, reverse = recorded(scenario, "bottleneck", "reverse")
    acks = [e for e in reverse.events if e[1] == "-" and e[2] == 1]
    counters = [e[7] >> 6 & 7 for e in acks]
    (syn,) = [e[6] for e in bottleneck.events if e[1] == "-" and e[2] == 1 and e[7] & 2]
    # The SYN-ACK says how the SYN arrived (RFC 9768, table 2), the counter starts at 5.
    assert counters[:2] == [{0: 0b010, 1: 0b011, 2: 0b100, 3: 0b110}[syn], 5]
    marked = sum(1 for e in bottleneck.events if e[1] == "-" and e[2] == 1 and e[6] == 3)
    steps = sum((after - before) % 8 for before, after in pairwise(counters[1:]))
    assert 0 < steps <= marked
    assert steps > 0.9 * marked


def test_packets_that_pass_two_queues_are_refused() -> None:
    entry: dict[str, Any] = {"kind": "cbr", "tcp": None}
    rows = [[0.5, "-", 1, 1, 500, 0, 0, 0, None, None]]
    both = [traces.Trace(name, rows, 1, [entry], (0, 1), [(2, 3, False)]) for name in ("first", "second")]
    with pytest.raises(traces.TraceError, match="packets of flow 1 pass first and second"):
        list(pcap.pcap(both))


def test_ns2s_format_has_one_queue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["trace", str(write(tmp_path, NS2, False)), str(tmp_path / "x.tr"), *BOTH]
    assert cli.main(command) == cli.WRONG_INPUT
    assert "--queue: given 2 queues; allowed one" in capsys.readouterr().err


def test_headers_change_nothing_else(tmp_path: Path) -> None:
    document = json.loads(_core.Scenario.load(str(write(tmp_path, RFC, True)), []).to_json())
    plain, headed = (
        json.loads(_core.Scenario.parse({**document, "record": {"trace": 10**6, **more}}, []).run())
        for more in ({}, {"trace_headers": True, "delay_flows": [1, 7]})
    )
    del plain["cost"], headed["cost"]
    delays = headed.pop("delays")
    rows = [row[:6] for row in headed["trace"]["events"]]
    assert rows == plain["trace"]["events"]
    assert headed["trace"]["columns"] == [*plain["trace"]["columns"], "ecn", "tcp_flags", "ack", "payload"]
    assert headed["trace"]["digest"] == plain["trace"]["digest"]
    del plain["trace"], headed["trace"]
    assert headed == plain
    for one in delays:
        flow = headed["flows"][one["id"] - 1]
        assert len(one["sent_s"]) == flow["received_packets"]
        assert sum(one["delay_ms"]) / len(one["delay_ms"]) == pytest.approx(flow["delay_mean_ms"], rel=1e-9)
