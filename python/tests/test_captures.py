"""A queue's packets as pcapng: tshark finds well-formed packets, and the retransmissions that the trace has."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import dumbbell, peer

from earlydrop import _core, cli, disk, traces

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
ROW = """
name = "row"
duration = "4 s"
warmup = "0 s"
[topology]
kind = "parking_lot"
bottlenecks = 2
pairs = 4
access = { rate = "100 Mbit/s", delay = "5 ms" }
bottleneck = { rate = "10 Mbit/s", delay = "10 ms" }
[queue.bottleneck1]
aqm = "red"
ecn = true
limit = "60 packets"
[queue.bottleneck2]
aqm = "droptail"
limit = "1000 packets"
[[traffic]]
kind = "ftp"
count = 4
tcp = "cubic"
ecn = true
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
    *("frame.time_epoch", "frame.comment", "frame.interface_name", "frame.cap_len", "frame.len"),
    *("ip.src", "ip.len", "ip.proto", "ip.dsfield.ecn", "tcp.flags", "tcp.srcport"),
    *(f"tcp.analysis.{name}" for name in ANALYSIS),
]


def write(folder: Path, traffic: str, ecn: bool, aqm: str = "codel") -> Path:
    path = folder / "home.toml"
    content = (HOME + traffic).replace("ECN", str(ecn).lower()).replace('aqm = "codel"', f'aqm = "{aqm}"')
    path.write_text(content, encoding="utf-8")
    return path


def captured(scenario: Path, *options: str) -> Path:
    file = scenario.with_suffix(".pcapng")
    assert cli.main(["trace", str(scenario), str(file), *options]) == cli.DONE
    return file


def shown(file: Path, *fields: str) -> list[list[str]]:
    """These fields of each packet."""
    command = [peer("tshark"), "-r", str(file), "-T", "fields", *(word for name in fields for word in ("-e", name))]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in made.stdout.splitlines()]


def packets(file: Path) -> list[dict[str, str]]:
    """What tshark says of each packet, without wrong checksums: only headers are in the file."""
    return [dict(zip(FIELDS, row, strict=True)) for row in shown(file, *FIELDS)]


def left(file: Path) -> list[dict[str, str]]:
    """Those that were not dropped."""
    return [one for one in packets(file) if not one["frame.comment"].startswith("dropped")]


def recorded(scenario: Path, *queues: str) -> list[traces.Trace]:
    """The traces of queues, with headers: behind a row's packets ECN field, TCP flags, ACK and payload."""
    document = json.loads(_core.Scenario.load(str(scenario), []).to_json())
    record = {"trace": 1_000_000, "trace_headers": True, "trace_queues": list(queues)}
    checked = _core.Scenario.parse({**document, "record": record}, [])
    made, traffic = json.loads(checked.run())["traces"], traces.by_flow(document)
    ends = [checked.passing(name) or pytest.fail(name) for name in queues]
    return [
        traces.Trace(name, made[name]["events"], made[name]["total"], traffic, *passing)
        for name, passing in zip(queues, ends, strict=True)
    ]


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
    found = left(captured(scenario, *BOTH))
    made = recorded(scenario, "bottleneck", "reverse")
    counts = [again_and_gaps(trace) for trace in made]
    again = sum(1 for one in found if any(one[name] for name in AGAIN))
    assert again == sum(count for count, _ in counts) > 0
    assert sum(1 for one in found if one["tcp.analysis.lost_segment"]) == sum(gaps for _, gaps in counts) > 0
    # Every packet that left is there, with its size and time.
    gone = sorted((e[0], e[4]) for trace in made for e in trace.events if e[1] == "-")
    assert sorted(int(one["ip.len"]) for one in found) == sorted(size for _, size in gone)
    assert [float(one["frame.time_epoch"]) for one in found] == pytest.approx([t for t, _ in gone], abs=2e-9)


@pytest.mark.parametrize("aqm", ["codel", "droptail", "red"])
def test_drops_are_shown_and_leave_the_analysis_of_connections_alone(tmp_path: Path, aqm: str) -> None:
    """Tail drops are before what waits in front of them: as whole segments they would be out of order."""
    scenario = write(tmp_path, RFC, False, aqm)
    file = captured(scenario, *BOTH)
    found = packets(file)
    result = json.loads(_core.Scenario.load(str(scenario), []).run())["queues"]
    comments = Counter((one["frame.interface_name"], one["frame.comment"]) for one in found if one["frame.comment"])
    drops = {
        (queue, f"dropped: {reason}"): result[queue][f"{reason}_drops"]
        for queue in ("bottleneck", "reverse")
        for reason in ("early", "forced", "overflow")
    }
    assert comments == {key: count for key, count in drops.items() if count}
    dropped = [one for one in found if one["frame.comment"]]
    made = sorted((e[0], e[4]) for t in recorded(scenario, "bottleneck", "reverse") for e in t.events if e[1] == "d")
    assert [float(one["frame.time_epoch"]) for one in dropped] == pytest.approx([t for t, _ in made], abs=2e-9)
    assert sorted(int(one["frame.len"]) for one in dropped) == sorted(size for _, size in made)
    assert {one["frame.cap_len"] for one in dropped} == {"28"}
    assert {one["ip.src"].split(".")[1] for one in dropped} <= {"0", "1"}
    assert {one["tcp.srcport"] for one in dropped if one["ip.proto"] == "6"} >= {"10000"}
    assert not any(one[f"tcp.analysis.{name}"] for one in dropped for name in ANALYSIS)
    # What tshark says of the others is what it says of a file without these.
    without = tmp_path / "left.pcapng"
    command = [peer("tshark"), "-r", str(file), "-Y", "!frame.comment", "-w", str(without)]
    subprocess.run(command, capture_output=True, check=True)
    assert packets(without) == left(file)


def test_marks_say_where_they_were_made(tmp_path: Path) -> None:
    """CoDel marks what leaves, RED what arrives; each packet of the result's count says so, and is CE."""
    for aqm, where in (("codel", "marked in the queue"), ("red", "marked on arrival")):
        scenario = write(tmp_path, RFC, True, aqm)
        found = [one for one in packets(captured(scenario)) if one["frame.comment"].startswith("marked")]
        (trace,) = recorded(scenario, "bottleneck")
        result = json.loads(_core.Scenario.load(str(scenario), []).run())["queues"]["bottleneck"]
        assert {one["frame.comment"] for one in found} == {where}
        assert {int(one["ip.dsfield.ecn"], 0) for one in found} == {3}
        # RED's marks are counted at arrival, and some of these packets still wait.
        waiting = 0 if aqm == "codel" else trace.events[-1][5]
        assert result["marks"] - waiting <= len(found) <= result["marks"]
        assert len(found) > 10
        assert len(found) == sum(1 for e in trace.events if e[1] == "-" and e[6] == 3)


def test_marks_of_an_earlier_queue_are_not_this_ones(tmp_path: Path) -> None:
    scenario = tmp_path / "row.toml"
    scenario.write_text(ROW, encoding="utf-8")
    first, second = (packets(captured(scenario, "--queue", name)) for name in ("bottleneck1", "bottleneck2"))
    carrying = [one for one in second if int(one["ip.dsfield.ecn"], 0) == 3]
    assert len(carrying) > 10
    assert not any(one["frame.comment"] for one in second)
    assert len(carrying) <= sum(one["frame.comment"] == "marked on arrival" for one in first)


def test_packets_that_pass_two_queues_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "row.toml"
    scenario.write_text(ROW, encoding="utf-8")
    file = tmp_path / "x.pcapng"
    file.write_bytes(b"before")
    command = ["trace", str(scenario), str(file), "--queue", "bottleneck1", "--queue", "bottleneck2"]
    assert cli.main(command) == cli.WRONG_INPUT
    assert "error: packets of flow 1 pass bottleneck1 and bottleneck2, and would be" in capsys.readouterr().err
    assert file.read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["row.toml", "x.pcapng"]


def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Full(disk.System):
        def write(self, file: int, content: Any) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    scenario = write(tmp_path, NS2, False)
    file = scenario.with_suffix(".pcapng")
    file.write_bytes(b"before")
    monkeypatch.setattr(disk, "system", Full())
    assert cli.main(["trace", str(scenario), str(file)]) != cli.DONE
    assert f"No space left on device: '{file}'" in capsys.readouterr().err
    assert file.read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home.pcapng", "home.toml"]


def test_interfaces_are_the_queues_in_the_order_given(tmp_path: Path) -> None:
    scenario = write(tmp_path, RFC, False)
    for names in (["bottleneck", "reverse"], ["reverse", "bottleneck"]):
        file = captured(scenario, *(word for name in names for word in ("--queue", name)))
        found = dict(shown(file, "frame.interface_id", "frame.interface_name"))
        assert [found["0"], found["1"]] == names


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
    assert {group for group, _ in groups} <= {"Sequence", "Protocol", "Comment"}
    assert "SYN packet does not contain a MSS option" in made
    kinds = subprocess.run(
        [peer("tshark"), "-r", str(file), "-Y", "_ws.malformed"], capture_output=True, text=True, check=True
    )
    assert kinds.stdout == ""


def test_ecn_is_in_the_headers(tmp_path: Path) -> None:
    scenario = write(tmp_path, RFC, True)
    found = left(captured(scenario, *BOTH))
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
    found = left(captured(scenario, *BOTH))
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
    rows = shown(captured(scenario, *BOTH), *names, "tcp.hdr_len", "frame.comment")
    found = [row[:-1] for row in rows if not row[-1].startswith("dropped")]
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


@pytest.mark.parametrize("suffix", ["tr", "pcapng"])
def test_a_scenario_without_queues_has_nothing_to_trace(
    tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = tmp_path / "none.toml"
    ends = 'rate = "10 Mbit/s"\ndelay = "5 ms"\n'
    scenario.write_text(
        'name = "none"\nduration = "2 s"\n[topology]\nkind = "graph"\n[[node]]\nname = "a"\n'
        '[[node]]\nname = "b"\n[[link]]\nfrom = "a"\nto = "b"\n' + ends + "[[traffic]]\n"
        'kind = "cbr"\nrate = "1 Mbit/s"\nfrom = "a"\nto = "b"\n',
        encoding="utf-8",
    )
    assert cli.main(["trace", str(scenario), str(tmp_path / f"x.{suffix}")]) == cli.WRONG_INPUT
    assert "error: the scenario has no queue to trace" in capsys.readouterr().err
    assert list(tmp_path.glob("x*")) == []


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
