"""Answers from sweeps: what changed, traces for other tools, completion."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import dumbbell

import earlydrop as ed
from earlydrop import _core, cli, toml_writer

SWEEP = f"""\
name = "two"
seeds = 4
measures = ["goodput", "queue_delay"]
[[factor]]
path = "queue.bottleneck.max_p"
values = VALUES
[scenario]
duration = "DURATION"
traffic = [{{ kind = "ftp" }}]
{dumbbell("red", 30, of="scenario.")}
"""


def swept(folder: Path, name: str, values: str = "[0.05, 0.2]", duration: str = "4 s") -> Path:
    file = folder / f"{name}.toml"
    file.write_text(SWEEP.replace("VALUES", values).replace("DURATION", duration), encoding="utf-8")
    assert cli.main(["sweep", str(file), "--out", str(folder / name)]) == cli.DONE
    return folder / name


def test_what_changed_between_two_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from earlydrop.sweeps import report

    monkeypatch.setattr(report, "_chosen", lambda data: [])
    one, two = swept(tmp_path, "one"), swept(tmp_path, "two", "[0.05, 0.3]", "6 s")
    same = tmp_path / "same"
    shutil.copytree(one, same)
    capsys.readouterr()
    assert cli.main(["diff", str(one), str(same), "--json"]) == cli.DONE
    found = json.loads(capsys.readouterr().out)
    assert (found["equal"], found["different"], found["changes"]) == (4, 0, [])
    assert cli.main(["diff", str(one), str(two), "--json"]) == cli.DONE
    found = json.loads(capsys.readouterr().out)
    assert found["different"] == 2
    assert found["only_first"] == [{"max_p": 0.2}]
    assert found["only_second"] == [{"max_p": 0.3}]
    change = next(c for c in found["changes"] if c["measure"] == "goodput")
    cells = [json.loads((f / "sweep.json").read_text())["points"][0]["cells"]["goodput"]["mean"] for f in (one, two)]
    assert change["mean"] == pytest.approx(cells[1] - cells[0])
    assert change["n"] == 4
    assert cli.main(["diff", str(one), str(two)]) == cli.DONE
    assert "max_p = 0.05" in capsys.readouterr().out
    assert cli.main(["diff", str(one), str(tmp_path)]) == cli.WRONG_INPUT
    assert r"\toprule" in (one / "points.tex").read_text(encoding="utf-8")


def test_a_trace_in_ns2s_format(tmp_path: Path, scenario: Path) -> None:
    file = tmp_path / "x.tr"
    assert cli.main(["trace", str(scenario), str(file)]) == cli.DONE
    lines = [line.split(" ") for line in file.read_text().splitlines()]
    result = json.loads(_core.Scenario.load(str(scenario), []).run())["queues"]["bottleneck"]
    kinds = [line[0] for line in lines]
    drops = result["early_drops"] + result["forced_drops"] + result["overflow_drops"]
    assert (kinds.count("+"), kinds.count("-"), kinds.count("d")) == (result["arrivals"], result["departures"], drops)
    assert all(len(line) == 12 and line[4] == "tcp" for line in lines)
    times = [float(line[1]) for line in lines]
    assert times == sorted(times)
    # A packet has one number from its arrival to its departure or drop.
    arrived = [line[11] for line in lines if line[0] == "+"]
    gone = [line[11] for line in lines if line[0] != "+"]
    assert len(set(arrived)) == len(arrived)
    assert len(set(gone)) == len(gone)
    assert set(gone) <= set(arrived)


def blocks(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and contents of each block of a pcapng file."""
    while content:
        kind, length = struct.unpack("<II", content[:8])
        assert content[length - 4 : length] == struct.pack("<I", length)
        yield kind, content[8 : length - 4]
        content = content[length:]


def packets(file: Path) -> list[tuple[int, int, bytes]]:
    """Time in ns, length on the wire, and what is kept, of each packet of a pcapng file that has no comment."""
    found = []
    for kind, block in blocks(file.read_bytes()):
        if kind == 6:
            _, high, low, kept, length = struct.unpack("<IIIII", block[:20])
            if len(block) == 20 + (kept + 3) // 4 * 4:
                found.append((high << 32 | low, length, block[20 : 20 + kept]))
    return found


@pytest.mark.parametrize("suffix", [".pcapng", ".pcap"])
def test_a_trace_as_pcapng(tmp_path: Path, scenario: Path, suffix: str) -> None:
    file = tmp_path / f"x{suffix}"
    assert cli.main(["trace", str(scenario), str(file), "--events", "2000", "--seed", "2"]) == cli.DONE
    head, interface, *_ = blocks(file.read_bytes())
    assert head == (0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    name = struct.pack("<HH12s", 2, 10, b"bottleneck")
    assert interface == (1, struct.pack("<HHI", 228, 0, 0) + name + struct.pack("<HHII", 9, 1, 9, 0))
    found, before = packets(file), 0
    for time, length, packet in found:
        assert packet[0] == 0x45
        assert int.from_bytes(packet[2:4], "big") == length
        words = sum(struct.unpack(">10H", packet[:20]))
        assert (words & 0xFFFF) + (words >> 16) == 0xFFFF, "the header's checksum"
        assert packet[9] == 6
        assert before <= time
        before = time
    assert 900 <= len(found) < 2000
    if shutil.which("tcpdump"):
        shown = subprocess.run(["tcpdump", "-nr", str(file)], capture_output=True, text=True, check=True)
        assert sum("[|tcp]" not in line for line in shown.stdout.splitlines()) == len(found)
        assert "10.0.0.1.10000 > 10.1.0.1.10000" in shown.stdout


def test_flows_the_other_way_have_number_and_tcp_of_the_others() -> None:
    ends = {"access": ed.link("1 Gbit/s", "1 ms"), "bottleneck": ed.link("10 Mbit/s", "10 ms")}
    net = ed.dumbbell(pairs=2, queue="codel", **ends)
    net.ftp(2, tcp="cubic", stack="linux-6.18", name="up", start=ed.uniform("0 s", "1 s"))
    net.ftp(name="down", reverse_of="up", start=ed.uniform("0 s", "1 s"))
    flows = net.run(duration="10 s").document["flows"]
    assert [flow["tcp"] for flow in flows] == ["cubic"] * 4
    assert all(flow["goodput_mbps"] > 1 for flow in flows)


def test_a_trace_of_udp_has_datagrams(tmp_path: Path, scenario: Path) -> None:
    cbr = 'traffic=[{ kind = "cbr", rate = "100 kbit/s", segment = "512 B", header = "28 B", dscp = 46 }]'
    pcapng, tr = tmp_path / "x.pcapng", tmp_path / "x.tr"
    for file in (pcapng, tr):
        assert cli.main(["trace", str(scenario), str(file), "--set", cbr]) == cli.DONE
    found, lines = packets(pcapng), [line.split() for line in tr.read_text(encoding="utf-8").splitlines()]
    assert len(found) == sum(line[0] == "-" for line in lines) > 100
    for number, (_, length, packet) in enumerate(found):
        assert (length, packet[9], packet[1]) == (540, 17, 46 << 2)
        assert struct.unpack(">HHHHH", packet[4:6] + packet[20:28]) == (number, 10_000, 10_000, 520, 0)
    assert {(line[4], line[5]) for line in lines} == {("cbr", "540")}


def test_acks_are_acks_with_the_addresses_of_their_data_the_other_way_round(tmp_path: Path, scenario: Path) -> None:
    back = ["--set", 'queue.reverse={ aqm = "droptail", limit = "100 packets" }']
    there, acks = tmp_path / "there.tr", tmp_path / "back.tr"
    assert cli.main(["trace", str(scenario), str(there), *back]) == cli.DONE
    assert cli.main(["trace", str(scenario), str(acks), "--queue", "reverse", *back]) == cli.DONE
    data, answers = ([line.split() for line in f.read_text(encoding="utf-8").splitlines()] for f in (there, acks))
    assert {line[4] for line in data} == {"tcp"}
    assert {line[4] for line in answers} == {"ack"}
    assert {line[5] for line in answers} == {"40"}
    # The link of the one is that of the other, the other way; so are the addresses of each flow.
    assert {(line[2], line[3]) for line in data} == {(line[3], line[2]) for line in answers}
    forth = {line[7]: (line[8], line[9]) for line in data}
    assert {line[7]: (line[9], line[8]) for line in answers} == forth
    network = json.loads(_core.Scenario.load(str(scenario), []).network())["node"]
    for source, target in forth.values():
        assert not network[int(source.split(".")[0])]["router"]
        assert not network[int(target.split(".")[0])]["router"]
    # An ACK names the highest segment received in order: never one that has not left the bottleneck before.
    left: dict[str, list[tuple[float, int]]] = {}
    for line in data:
        if line[0] == "-":
            left.setdefault(line[7], []).append((float(line[1]), int(line[10])))
    for line in answers[:2000]:
        sent = [seq for time, seq in left[line[7]] if time < float(line[1])]
        assert int(line[10]) <= max(sent)


def test_acks_in_a_capture_acknowledge(tmp_path: Path, scenario: Path) -> None:
    file = tmp_path / "x.pcapng"
    back = ["--set", 'queue.reverse={ aqm = "droptail", limit = "100 packets" }', "--queue", "reverse"]
    assert cli.main(["trace", str(scenario), str(file), "--events", "200", *back]) == cli.DONE
    last = 0
    for _, _, packet in packets(file):
        assert (packet[12:14], packet[16:18]) == (bytes((10, 1)), bytes((10, 0)))
        seq, ack = struct.unpack(">II", packet[24:32])
        assert packet[33] & 0x10, "the flag that the acknowledgement counts"
        assert (ack - 1) % 1000 == 0
        assert seq == (1 if ack > 1 else 0)
        last = max(last, ack)
    assert last > 1000


# What users of ns-2 have in their folders: one line of awk for each figure.
DELAY = """
$1 == "+" { arrived[$12] = $2 }
$1 == "-" && $8 == flow { sum += $2 - arrived[$12]; n++ }
END { printf "%.9f", sum / n }
"""
DELIVERED = '$1 == "-" && $5 == "tcp" { n++ } END { print n }'
DROPPED = '$1 == "d" { n++ } END { print n + 0 }'
RATE = '$1 == "-" && $5 == "tcp" && $9 == source { bits += 8 * $6 } END { printf "%.9f", bits / 8 / 10 / 1e3 }'


def awk(program: str, file: Path, **variables: str) -> float:
    """What a program prints of a trace."""
    given = [word for name, value in variables.items() for word in ("-v", f"{name}={value}")]
    made = subprocess.run(["awk", *given, program, str(file)], capture_output=True, text=True, check=True)
    return float(made.stdout)


def test_published_figures_are_recomputed_from_the_file_by_awk(tmp_path: Path) -> None:
    """AQM-QOS, Table 2 (queueing delay of a source) and Table 3 (packets), and DDRED's Table I (rate of a flow)."""
    from test_by_hand import SHORTER, cell, one_run

    def traced(study: str, experiment: str, levels: dict[str, str], seed: int) -> tuple[Path, dict[str, float]]:
        _, values = one_run(study, experiment, levels, seed, SHORTER.get(study, {}))
        file, scenario = tmp_path / f"{experiment}.tr", tmp_path / f"{experiment}.toml"
        document = cell(study, experiment, levels, SHORTER.get(study, {}))
        document.pop("record")
        scenario.write_text(toml_writer.to_toml(document), encoding="utf-8")
        command = ["trace", str(scenario), str(file), "--seed", str(seed), "--events", "10000000"]
        assert cli.main(command) == cli.DONE
        return file, values

    file, values = traced("aqm-qos", "Q-2b", {"aqm": "red"}, 1)
    assert 1e3 * awk(DELAY, file, flow="1") == pytest.approx(values["delay_1"], rel=1e-5)
    file, values = traced("aqm-qos", "Q-3", {"size": "500", "mode": "packet"}, 1)
    assert awk(DELIVERED, file) == values["delivered"]
    assert awk(DROPPED, file) == values["dropped"]
    file, values = traced("ddred", "D-3", {"aqm": "red", "latency": "20"}, 0)
    source = next(line.split()[8] for line in file.read_text().splitlines() if line.split()[7] == "1")
    assert awk(RATE, file, source=source) == pytest.approx(values["first"], rel=1e-9)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["x.txt"], "allowed .tr, .pcapng, .pcap"),
        (["x.tr", "--queue", "nowhere"], "--queue nowhere: there is no such queue"),
        (["x.tr", "--events", "0"], "--events: given 0"),
    ],
)
def test_wrong_traces_are_refused(
    tmp_path: Path, scenario: Path, options: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["trace", str(scenario), str(tmp_path / options[0]), *options[1:]]) == cli.WRONG_INPUT
    assert what in capsys.readouterr().err
    assert list(tmp_path.glob("x.*")) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_commands(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == cli.DONE
    script = capsys.readouterr().out
    assert all(word in script for word in ("sweep", "advise", "--cluster"))
