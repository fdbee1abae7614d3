"""Protocol stacks in simulated time from Python: `ed.path`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import peer

import earlydrop as ed


class Sender:
    """Sends a datagram of 1,000 B every `gap` seconds; what arrives is kept."""

    def __init__(self, left: int = 0, gap: float = 0.001, size: int = 1000) -> None:
        self.left, self.gap, self.size, self.next = left, gap, size, 0.0
        self.got: list[ed.paths.Delivery] = []

    def handle(self, now: float, datagram: ed.paths.Delivery) -> None:
        assert now == datagram.at
        self.got.append(datagram)

    def poll_transmit(self, now: float) -> tuple[bytes, int] | None:
        if not self.left or now < self.next:
            return None
        self.left, self.next = self.left - 1, now + self.gap
        return b"x" * self.size, 2

    def poll_timeout(self) -> float | None:
        return self.next if self.left else None

    def handle_timeout(self, now: float) -> None:
        pass

    def drive(self, now: float) -> bool:
        return self.left == 0


def go(queue: str = "fq_codel", seed: int = 1, **more: object) -> tuple[int, Sender, ed.Result]:
    net = ed.path("4 Mbit/s", "10 ms", queue=queue, ecn=True, seed=seed, **more)
    sender, receiver = Sender(2000), Sender()
    assert net.run([(net.client, sender), (net.server, receiver)], until=20) == "done"
    net.advance_to(20)
    late = iter(lambda: net.poll(net.server), None)
    receiver.got.extend(late)
    return net.digest, receiver, net.finish()


def test_the_same_seed_gives_the_same_datagrams_in_every_process() -> None:
    digest, receiver, result = go()
    assert go()[0] == digest != go(seed=2, jitter="1 ms")[0]
    code = "import sys; sys.path.insert(0, sys.argv[1]); import test_path; print(test_path.go()[0])"
    there = subprocess.run([sys.executable, "-c", code, str(Path(__file__).parent)], capture_output=True, text=True)
    assert int(there.stdout) == digest, there.stderr
    queue = result.document["queues"]["up"]
    assert len(receiver.got) == queue["departures"]
    assert sum(datagram.ecn == 3 for datagram in receiver.got) == queue["marks"] > 0
    assert [datagram.number for datagram in receiver.got] == sorted(datagram.number for datagram in receiver.got)


def test_a_folder_is_one_for_report(tmp_path: Path) -> None:
    net = ed.path("4 Mbit/s", "10 ms", queue="red", series="100 ms")
    net.run([(net.client, Sender(3000)), (net.server, Sender())], until=5)
    result = net.finish(tmp_path)
    assert json.loads((tmp_path / "result.json").read_text())["queues"] == result.document["queues"]
    subprocess.run([Path(sys.executable).with_name("earlydrop"), "report", tmp_path], check=True, capture_output=True)
    assert "aqm = &#34;red&#34;" in (tmp_path / "report.html").read_text()


def test_a_scenario_is_the_cross_traffic(tmp_path: Path) -> None:
    net = ed.dumbbell(
        pairs=2, access=ed.link("1 Gbit/s", "2 ms"), bottleneck=ed.link("5 Mbit/s", "5 ms"), queue=ed.aqm.CoDel()
    )
    net.ftp(2)
    path = ed.path(net.scenario(duration="5 s", seed=3))
    with pytest.raises(ValueError, match="no host is attached"):
        _ = path.client
    with pytest.raises(ed.ScenarioError, match="d9"):
        path.attach("s1", "d9")
    one, other = path.attach("s1", "d1")
    assert (one, other) == (path.client, path.server)
    path.advance_to(3)
    path.send(one, b"hello", ecn=1)
    path.advance_to(4)
    found = path.poll(other)
    assert found is not None
    assert (found.sent, found.ecn, found.payload) == (3.0, 1, b"hello")
    assert path.poll(other) is None
    assert path.next_event() is not None
    document = path.finish().document
    assert document["duration_s"] == 4.0
    assert [flow["kind"] for flow in document["flows"]] == ["ftp", "ftp", "outside", "outside"]
    assert document["flows"][0]["goodput_mbps"] > 1


def test_wrong_calls_are_errors() -> None:
    net = ed.path("1 Mbit/s", "1 ms", duration="2 s")
    for call, message in [
        (lambda: net.send(7, b""), "host 7: there are 2"),
        (lambda: net.send(0, b"", ecn=4), "ecn = 4; allowed 0"),
        (lambda: net.send(0, bytes(65_508)), "allowed 0 to 65507 B"),
        (lambda: net.advance_to(3), "to the end of the network, 2 s"),
        (lambda: net.run([(0, Sender()), (0, Sender())], 1), "two endpoints at client"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(ed.ScenarioError, match="rate"):
        ed.path("fast", "1 ms")
    with pytest.raises(TypeError, match="a scenario says itself"):
        ed.path({"name": "x"}, queue="red")
    net.advance_to(1)
    net.finish()
    with pytest.raises(ValueError, match="has finished"):
        net.advance_to(2)


def test_an_exception_in_an_endpoint_is_raised_and_ends_the_run() -> None:
    class Broken(Sender):
        def handle(self, now: float, datagram: ed.paths.Delivery) -> None:
            raise LookupError("a bug in the stack")

    net = ed.path("1 Mbit/s", "1 ms")
    with pytest.raises(LookupError, match="a bug in the stack"):
        net.run([(net.client, Sender(100)), (net.server, Broken())], until=5)
    assert net.now < 0.1

    class Wrong(Sender):
        def poll_transmit(self, now: float) -> tuple[bytes, int] | None:
            return "text", 9  # type: ignore[return-value]

    with pytest.raises(TypeError):
        net.run([(net.client, Wrong(1))], until=5)


def test_tshark_reads_the_capture_of_a_queue(tmp_path: Path) -> None:
    tshark = peer("tshark")
    result = go("red limit=20packets min_th=2packets max_th=6packets", capture=tmp_path)[2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["down.pcapng", "up.pcapng"]
    fields = ["frame.comment", "ip.dsfield.ecn", "udp.length", "ip.src", "ip.dst", "udp.checksum.status"]
    command = [tshark, "-r", tmp_path / "up.pcapng", "-o", "udp.check_checksum:TRUE", "-T", "fields"]
    read = subprocess.run([*command, *(f"-e{field}" for field in fields)], capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in read.stdout.splitlines()]
    queue = result.document["queues"]["up"]
    assert len(rows) == queue["departures"] + queue["early_drops"] + queue["forced_drops"] + queue["overflow_drops"]
    assert {(row[2], row[5]) for row in rows} == {("1008", "1")}, "payloads and checksums"
    assert len({(row[3], row[4]) for row in rows}) == 1
    comments = [row[0] for row in rows]
    assert comments.count("marked on arrival") == queue["marks"] > 0
    assert comments.count("dropped: forced") == queue["forced_drops"] > 0
    assert [row[1] for row in rows].count("3") == queue["marks"]
