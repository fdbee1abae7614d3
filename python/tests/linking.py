"""What the tests of real links do inside a network namespace of their own: `unshare --net python linking.py NAME ...`.

Each function prints one JSON document. Nothing here touches the machine's own network.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import outside

from earlydrop import _core, links

PORT = 7000


def counters(name: str) -> dict[str, int]:
    """A group of counters of this namespace's kernel: TcpExt, IpExt, or of /proc/net/snmp."""
    found: dict[str, int] = {}
    if name == "Ip6":
        lines = Path("/proc/thread-self/net/snmp6").read_text().split()
        return {key.removeprefix(name): int(value) for key, value in zip(lines[::2], lines[1::2], strict=True)}
    for path in ("/proc/thread-self/net/netstat", "/proc/thread-self/net/snmp"):
        lines = Path(path).read_text().splitlines()
        for head, values in zip(lines[::2], lines[1::2], strict=True):
            if head.startswith(f"{name}:"):
                found |= dict(zip(head.split()[1:], map(int, values.split()[1:]), strict=True))
    return found


SENDER = """
import socket, sys, threading, time
port, flows, seconds, control = int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
done = []
def one(host):
    s = socket.create_connection((host, port))
    if control != "-":
        s.setsockopt(socket.IPPROTO_TCP, 13, control.encode())
    # What waits in the sender has to be sent before the end.
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    end, chunk, sent = time.monotonic() + seconds, bytes(16384), 0
    s.settimeout(seconds + 40)
    # On a busy machine it may have sent little when the time is over.
    while time.monotonic() < end or sent < 200_000:
        s.sendall(chunk)
        sent += len(chunk)
    s.shutdown(socket.SHUT_WR)
    done.append(s.recv(1))
all = [threading.Thread(target=one, args=(host,)) for host in sys.argv[1].split(",") for _ in range(flows)]
for t in all: t.start()
for t in all: t.join()
sys.exit(len(done) != len(all))
"""


class Sink:
    """Takes what TCP connections bring, and says so when they end."""

    def __init__(self, address: str) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.listener = socket.socket(family, socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((address, PORT))
        self.listener.listen(64)
        self.received = 0
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self._take, args=(connection,), daemon=True).start()

    def _take(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(1 << 16):
                self.received += len(data)
            connection.sendall(b".")

    def close(self) -> None:
        # Wakes who waits in accept; the port is free only then.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join(5)
        self.listener.close()


@contextlib.contextmanager
def sink(address: str) -> Iterator[Sink]:
    one = Sink(address)
    try:
        yield one
    finally:
        one.close()


def send(running: links.Running, flows: int, seconds: float, control: str = "-", address: str = "") -> None:
    """TCP flows from behind the link to its outer end, until all of what they sent has arrived."""
    address = address or running.outer
    with sink(address):
        code = running.start(sending(address, flows, seconds, control)).wait(seconds + 60)
        assert code == 0, code


def sending(address: str, flows: int, seconds: float, control: str) -> list[str]:
    """The command of so many flows to each of the addresses, which have commas between them."""
    return [sys.executable, "-c", SENDER, address, str(PORT), str(flows), str(seconds), control]


def longest_gap(record: dict[str, Any]) -> float:
    """The longest time without a departure while packets waited, s."""
    import numpy as np

    left = record["fate"] == 1
    order = np.argsort(record["settled_s"][left])
    departures, arrivals = record["settled_s"][left][order], record["time_s"][left][order]
    waited = arrivals[1:] <= departures[:-1]
    gaps = np.diff(departures)[waited]
    return float(gaps.max(initial=0.0))


def kept(document: dict[str, Any]) -> bool:
    """Whether every queue's packets are all accounted for."""
    return all(
        q["queued_at_start"] + q["arrivals"]
        == q["departures"] + q["early_drops"] + q["forced_drops"] + q["overflow_drops"] + q["queued_at_end"]
        and q["departures"] == q["delivered"] + q["lost"] + q["in_flight_at_end"] + q["refused"]
        for q in document["queues"].values()
    )


def state() -> dict[str, Any]:
    """What a link must leave as it was."""
    shell = ["ip", "-json", "addr"], ["ip", "-json", "route", "show", "table", "all"], ["ip", "-6", "-json", "route"]
    texts = [subprocess.run(one, capture_output=True, text=True, check=True).stdout for one in shell]
    sysctls = sorted(
        (str(path), path.read_text())
        for path in Path("/proc/sys/net/ipv4").rglob("*")
        if path.is_file() and os.access(path, os.R_OK) and "tcp_fastopen_key" not in path.name
    )
    # Claims of links that are no more; others may be at work on this machine.
    entries = Path("/run/earlydrop").glob("nat-*")
    stale = [path.name for path in entries if not Path("/proc", path.name.split("-")[1]).exists()]
    return {
        "addresses": _without_times(json.loads(texts[0])),
        "routes": texts[1:],
        "sysctls": sysctls,
        "links": sorted(stale),
    }


def _without_times(devices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    keys = ("ifname", "flags", "mtu", "addr_info")
    return [{key: device.get(key) for key in keys} for device in devices]


# ---- what the tests ask for ----------------------------------------------------------------------------------------


def carried(queue: Any, seconds: str, dropped: int = 0) -> Any:
    """What a queue did with real TCP, and whether the simulator decides over the same packets as the link did.

    For so many seconds, and until it has carried some packets and dropped so many. Senders need not come to an end:
    some disciplines condemn a flow for good.
    """
    # Half of the senders with ECN.
    sysctls = (("net.ipv4.tcp_ecn", "1"),)
    plan = links.plan("20 Mbit/s", "2 ms", queue=queue, record=1_000_000, sysctls=sysctls)
    begin = time.monotonic()
    with links.Running(plan) as running, sink(running.outer) as taken:
        running.start(sending(running.outer, 4, 600, "cubic"))
        while taken.received == 0:
            time.sleep(0.01)
        time.sleep(float(seconds))
        # A busy machine sends less in that time.
        while (view := running.view()) and time.monotonic() < begin + 30:
            seen = view["bottleneck"]
            if seen["departed_bytes"] > 200_000 and seen["early_drops"] + seen["forced_drops"] >= dropped:
                break
            time.sleep(0.05)
        running.stop(0)
    assert running.result is not None
    found = running.result.document["queues"]["bottleneck"]
    replay = links.replay(plan, running.records)["bottleneck"]
    print(found["aqm"], f"{time.monotonic() - begin:.2f} s", file=sys.stderr)
    return {
        "delivered": found["delivered"],
        "dropped": found["early_drops"] + found["forced_drops"],
        "arrivals": replay.arrivals,
        "differing": replay.differing,
        "first": replay.first,
        "gap": longest_gap(running.records["bottleneck"]),
        "kept": kept(running.result.document),
    }


def every_discipline(seconds: str) -> Any:
    """Each discipline of the catalogue carries real TCP."""
    names = [entry["name"] for entry in json.loads(_core.catalogue())]
    return {name: carried({"aqm": name, "limit": "40 packets", "ecn": True}, seconds) for name in names}


def own_disciplines(library: str, seconds: str) -> Any:
    """A discipline in C and one in compiled Python carry real TCP."""
    sys.path.insert(0, str(Path(__file__).parent / "policies"))
    from own_red import OwnRed

    import earlydrop as ed

    own = {"c": ed.aqm.load(library), "jit": ed.policy(jit=True)(OwnRed)}
    given = {"limit": "40 packets", "ecn": True, "w_q": 0.02, "max_p": 0.1}
    return {name: carried(queue(**given), seconds, dropped=1) for name, queue in own.items()}


def ecn(family: str) -> Any:
    """CE marks that the link sets, CE packets that the receiver's kernel counts, what the sender's kernel hears."""
    plan = links.plan(
        "10 Mbit/s",
        "5 ms",
        queue="red limit=100p min_th=5 max_th=15 max_p=0.1 w_q=0.02 ecn=true",
        record=1_000_000,
        sysctls=(("net.ipv4.tcp_ecn", "1"),),
    )
    before = counters("IpExt" if family == "4" else "Ip6")
    checksums = counters("TcpExt").get("TCPInCsumErrors", 0) + counters("Tcp")["InCsumErrors"]
    with links.Running(plan) as running:
        address = running.outer if family == "4" else running.outer6
        send(running, 2, 2.0, "reno", address)
        read = running.run(
            [sys.executable, "-c", "print(open('/proc/thread-self/net/netstat').read())"], capture_output=True
        )
    assert running.result is not None
    lines = read.stdout.splitlines()
    sender: dict[str, int] = {}
    for head, values in zip(lines[::2], lines[1::2], strict=False):
        sender |= dict(zip(head.split()[1:], map(int, values.split()[1:]), strict=False))
    after = counters("IpExt" if family == "4" else "Ip6")
    queue = running.result.document["queues"]["bottleneck"]
    replay = links.replay(plan, running.records)["bottleneck"]
    return {
        "ce_set": queue["ce_set"],
        "marks": queue["marks"],
        "received": {key: after[key] - before[key] for key in ("InCEPkts",) if key in after},
        "delivered_ce": sender.get("TCPDeliveredCE", 0),
        "checksum_errors": counters("TcpExt").get("TCPInCsumErrors", 0) + counters("Tcp")["InCsumErrors"] - checksums,
        "differing": replay.differing,
        "kept": kept(running.result.document),
    }


def api() -> Any:
    """The context manager, both address families, the delay, measuring anew."""
    import earlydrop as ed

    here = state()
    echo = (
        "import socket, time, sys\n"
        "s = socket.socket(socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)\n"
        "s.settimeout(20)\n"
        "s.connect((sys.argv[1], 7001))\n"
        "best = 1e9\n"
        "for _ in range(5):\n"
        "    begin = time.monotonic(); s.send(b'x' * 100); s.recv(1000); best = min(best, time.monotonic() - begin)\n"
        "print(best)\n"
    )
    round_trips = {}
    with ed.link("20 Mbit/s", "15 ms", queue=ed.aqm.Red(limit=60, min_th=5, max_th=15)) as link:
        for address in (link.outer, link.outer6):
            server = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
            server.bind((address, 7001))

            def answer(server: socket.socket = server) -> None:
                with contextlib.suppress(OSError):
                    while True:
                        data, back = server.recvfrom(2000)
                        server.sendto(data, back)

            threading.Thread(target=answer, daemon=True).start()
            ended = link.run([sys.executable, "-c", echo, address], capture_output=True, check=True)
            round_trips[address] = float(ended.stdout)
        view = link.view()
        link.restart()
        environment = link.run(["sh", "-c", "echo $EARLYDROP_OUTER $EARLYDROP_INNER6"], capture_output=True).stdout
        inside = link.run(
            ["sh", "-c", "ls /proc/thread-self/net/dev && cat /proc/thread-self/net/dev"], capture_output=True
        )
        during = state()
        try:
            link.start(["true"], stdout=9999)
            closed = ""
        except OSError as error:
            closed = str(error)
    return {
        "round_trips": round_trips,
        "closed": closed,
        "view": view,
        "environment": environment.split(),
        "inside": inside.stdout,
        "result": link.result.document,
        "same": state() == here,
        "changed": during != here,
    }


def fuzz(count: str, seed: str) -> Any:
    """Writes packets into the device behind the link that nobody should send: how many."""
    draw = random.Random(int(seed))
    device = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    device.bind(("edlup", 0x0800))
    sent = 0
    for i in range(int(count)):
        body = draw.randbytes(draw.randrange(400))
        match i % 5:
            case 1:
                body = _ipv4(draw) + body
            case 2:
                body = _ipv6(draw) + body
            case 3:
                # A sound length, perhaps longer or shorter than the packet.
                whole = bytearray(_ipv4(draw) + body)
                whole[2:4] = struct.pack(">H", min(len(whole), draw.randrange(20, 420)))
                body = bytes(whole)
            case 4:
                body = bytes([draw.choice([0x45, 0x46, 0x4F, 0x60])]) + body
        try:
            device.send(body or b"\0")
            sent += 1
        except OSError:
            # Too short for the kernel itself.
            continue
        if i % 50 == 49:
            time.sleep(0.002)
    return sent


def _ipv4(draw: random.Random) -> bytes:
    fields = (0x45, draw.randrange(256), 0, draw.randrange(65536), draw.randrange(65536), 64)
    protocol = draw.choice([1, 6, 17, 44, 50, 255])
    return struct.pack(">BBHHHBBH4s4s", *fields, protocol, 0, bytes([100, 64, 0, 2]), bytes([100, 64, 0, 1]))


def _ipv6(draw: random.Random) -> bytes:
    following = draw.choice([0, 6, 17, 43, 44, 51, 58, 60])
    head = struct.pack(">IHBB", 6 << 28 | draw.getrandbits(28), draw.randrange(200), following, 64)
    return head + draw.randbytes(32)


def hostile(count: str) -> Any:
    """Random packets into the device behind the link, then some with sound beginnings; the link must live on."""
    plan = links.plan("unlimited", "0 ms", queue="red limit=1000p", record=1_000_000, mtu=9000)
    with links.Running(plan) as running:
        ended = running.run([sys.executable, __file__, "fuzz", count, "1"], capture_output=True, check=True)
        time.sleep(0.3)
        alive = running.is_alive()
        send(running, 1, 0.3)
    assert running.result is not None
    queue = running.result.document["queues"]["bottleneck"]
    replay = links.replay(plan, running.records)["bottleneck"]
    return {
        "sent": int(ended.stdout),
        "alive": alive,
        "kept": kept(running.result.document),
        "differing": replay.differing,
        **{key: queue[key] for key in ("malformed", "malformed_by_kind", "arrivals", "refused", "device_overruns")},
    }


FLOOD = """
import socket, struct, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 2)
s.setsockopt(socket.IPPROTO_UDP, 103, 1400)
s.connect((sys.argv[1], 7003))
for first in range(0, int(sys.argv[2]), 40):
    s.send(b"".join(struct.pack(">I", first + i).ljust(1400, b"%c" % (first + i & 127)) for i in range(40)))
    time.sleep(0.004)
"""


def flooded(count: str) -> Any:
    """Datagrams that come 40 at a time (UDP_SEGMENT) to a link without a limit, which marks some: what arrives."""
    queue = "red limit=1000p min_th=5 max_th=15 w_q=1 max_p=1 ecn=true"
    seen: list[tuple[bytes, int]] = []
    ring = ctypes.CDLL(None).syscall(425, 2, ctypes.create_string_buffer(256))
    with links.Running(links.plan("10 Gbit/s", "1 ms", queue=queue)) as running:
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)
        receiver.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        receiver.bind((running.outer, 7003))
        receiver.settimeout(1)
        running.run([sys.executable, "-c", FLOOD, running.outer, count], check=True)
        try:
            while True:
                data, extra, _, _ = receiver.recvmsg(2000, 64)
                seen.append((data, extra[0][2][0] & 3))
        except TimeoutError:
            pass
    if ring >= 0:
        os.close(ring)
    assert running.result is not None
    queue_entry = running.result.document["queues"]["bottleneck"]
    numbers = [int.from_bytes(data[:4]) for data, _ in seen]
    return {
        "ring": ring >= 0,
        "in_order": numbers == sorted(set(numbers)),
        "whole": all(data[4:] == bytes([number & 127]) * 1396 for (data, _), number in zip(seen, numbers, strict=True)),
        "seen": len(seen),
        "ce": sum(ecn == 3 for _, ecn in seen),
        "kept": kept(running.result.document),
        **{
            key: queue_entry[key]
            for key in ("arrivals", "delivered", "ce_set", "read_in_bursts", "written_in_bursts", "device_overruns")
        },
    }


def killed(times: str, seed: str) -> Any:
    """kill -9 at random moments; the next start removes what is left."""
    draw = random.Random(int(seed))
    before = state()
    remains = []
    for _ in range(int(times)):
        # A command that leaves a child behind, and a link behind the link.
        nested = [sys.executable, "-m", "earlydrop", "link", "--rate", "5Mbit/s", "--quiet", "--", "sleep", "60"]
        shell = f"sleep 60 & setsid sleep 61 & exec {' '.join(nested)}"
        command = [sys.executable, "-m", "earlydrop", "link", "--rate", "10Mbit/s", "--delay", "1ms", "--quiet", "--"]
        process = subprocess.Popen([*command, "sh", "-c", shell], stdin=subprocess.DEVNULL)
        time.sleep(draw.uniform(0.05, 2.5))
        process.kill()
        process.wait()
        _core.sweep_links()
        # The kernel takes a namespace apart when its last process has gone, a little later.
        end = time.monotonic() + 10
        while (left := differences(before, state())) and time.monotonic() < end:
            time.sleep(0.05)
            _core.sweep_links()
        remains += left
    end = time.monotonic() + 10
    while (left := sleepers()) and time.monotonic() < end:
        time.sleep(0.05)
    return {"remains": remains, "sleepers": left}


def sleepers() -> list[str]:
    """Commands of killed links that are there yet."""
    return [
        path.parent.name
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if _reads(path) in (b"sleep\x0060\x00", b"sleep\x0061\x00") and _outside(path.parent)
    ]


def _reads(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _outside(process: Path) -> bool:
    """Whether a process is one of this test's: a descendant of it or an orphan that was born after it."""
    try:
        theirs = int((process / "stat").read_text().rsplit(")", 1)[1].split()[19])
    except (OSError, IndexError, ValueError):
        return False
    return theirs >= int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [key for key in before if before[key] != after[key]]


def escaped(*who: str) -> Any:
    """Processes that try to outlive the link, by all means that they have: those that are left."""
    mark = f"sleep {10_000 + os.getpid()}"
    ways = [
        f"setsid {mark}",
        f"setsid unshare -n {mark}",
        f"setsid unshare -fp {mark}",
        f"(trap '' TERM HUP; setsid sh -c '{mark}; true')",
        f"(sh -c 'kill -STOP $$; exec {mark}')",
    ]
    if who:
        ways = [way for way in ways if "unshare" not in way]
    script = " ".join(f"{way} & " for way in ways) + "sleep 0.5"
    options = ["--rate", "10Mbit/s", "--quiet", *(("--user", *who) if who else ())]
    code = subprocess.run([sys.executable, "-m", "earlydrop", "link", *options, "--", "sh", "-c", script]).returncode
    left = [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in _words(path)]
    return {"code": code, "left": left}


def _words(path: Path) -> bytes:
    return _reads(path).replace(b"\0", b" ")


def interrupted(name: str) -> Any:
    """A signal to the link ends the command, and leaves nothing."""
    before = state()
    command = [sys.executable, "-m", "earlydrop", "link", "--rate", "10Mbit/s", "--quiet", "--"]
    process = subprocess.Popen([*command, "sh", "-c", "echo up; exec sleep 60"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    first = process.stdout.readline()
    process.send_signal(getattr(signal, name))
    code = process.wait(30)
    return {"first": first, "code": code, "remains": differences(before, state())}


def stubborn(second: str) -> Any:
    """A command that ignores SIGTERM, and gets another, or none: when it is killed."""
    before = state()
    command = [sys.executable, "-m", "earlydrop", "link", "--rate", "10Mbit/s", "--quiet", "--"]
    ignores = [sys.executable, "-c", IGNORES]
    process = subprocess.Popen([*command, *ignores], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    begin = time.monotonic()
    process.terminate()
    time.sleep(2)
    alive = process.poll() is None
    if second == "1":
        process.terminate()
    code = process.wait(30)
    return {
        "code": code if alive else None,
        "seconds": time.monotonic() - begin,
        "remains": differences(before, state()),
    }


IGNORES = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(60)
"""


def rested() -> Any:
    """The near ends of links one after the other; after a killed one; and when their rest is over."""

    def address() -> str:
        with links.Running(links.plan("10 Mbit/s")) as running:
            return running.outer

    seen = [address() for _ in range(3)]
    words = [sys.executable, "-m", "earlydrop", "link", "--rate", "10Mbit/s", "--quiet", "--"]
    process = subprocess.Popen(
        [*words, "sh", "-c", "echo $EARLYDROP_OUTER; exec sleep 60"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    killed = [process.stdout.readline().strip()]
    process.kill()
    process.wait()
    # Its device goes a little later.
    while any(one.startswith("edl") for one in os.listdir("/proc/sys/net/ipv4/conf")):
        time.sleep(0.05)
    killed.append(address())
    with socket.socket() as own:
        (namespace,) = struct.unpack("Q", own.getsockopt(socket.SOL_SOCKET, 71, 8))
    # As if it had been a minute ago.
    file = Path(f"/run/earlydrop/blocks-{namespace}")
    ended = [line.split() for line in file.read_text().splitlines()]
    file.write_text("".join(f"{number} {int(since) - 60}\n" for number, since in ended))
    later = address()
    return {"seen": seen, "killed": killed, "later": later, "files": file.read_text().count("\n")}


def trusted() -> Any:
    """Why a sound link is not to be trusted, and one whose device's ring is too small for what is sent."""
    plan = links.plan("20 Mbit/s", "2 ms", queue="droptail limit=50p")
    with links.Running(plan) as running:
        send(running, 2, 2.0)
    assert running.result is not None
    sound = running.result.document["reasons"]
    found: dict[str, Any] = {"sound": sound}
    with links.Running(links.plan("10 Gbit/s", queue="droptail limit=10000p")) as running:
        # Stopped threads read nothing: the kernel's ring overflows.
        blast = [sys.executable, "-c", BLAST, running.outer, "4"]
        running.run(blast, check=True)
        view = running.view()
        assert view is not None
        found["live"] = view["bottleneck"]["reasons"]
        time.sleep(1.5)
        running.restart()
        view = running.view()
        assert view is not None
        found["again"] = view["bottleneck"]["reasons"]
        running.run(blast, check=True)
    assert running.result is not None
    assert not running.result.document["trustworthy"]
    return {**found, "overloaded": running.result.document["reasons"]}


BLAST = """
import socket, sys, threading, time
def one():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_UDP, 103, 1400)
    s.connect((sys.argv[1], 7009))
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        try:
            s.send(bytes(40 * 1400))
        except OSError:
            pass
for t in [threading.Thread(target=one) for _ in range(int(sys.argv[2]))]: t.start()
"""


def joined(first: str = "namespace") -> Any:
    """A named namespace and another, or a TUN device of this one that is there already, with a link between them."""
    names = ["edltest1", "edltest2"]
    device = first == "device"
    ends = ["dev:edltest", names[1]] if device else names
    inside = [] if device else ["ip", "netns", "exec", names[0]]
    for name in names:
        subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        if device:
            for words in (
                "tuntap add edltest mode tun",
                "address add 100.64.0.2/30 dev edltest",
                "link set edltest up",
            ):
                subprocess.run(["ip", *words.split()], check=True)
        command = [sys.executable, "-m", "earlydrop", "link", "--rate", "10Mbit/s", "--delay", "10ms", "--json"]
        process = subprocess.Popen(
            [*command, "--between", *ends], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        told = process.stderr.readline()
        server = subprocess.Popen(
            ["ip", "netns", "exec", names[1], sys.executable, "-c", SERVER], stdout=subprocess.PIPE
        )
        assert server.stdout is not None
        server.stdout.readline()
        arguments = sending("100.64.0.1", 1, 0.5, "-")
        code = subprocess.run([*inside, *arguments], check=False).returncode
        server.kill()
        process.send_signal(signal.SIGINT)
        out, _err = process.communicate(timeout=30)
        found = {"first": told, "sender": code, "code": process.returncode, "document": json.loads(out)}
        if device:
            # Whoever made it keeps it, with its address.
            shown = subprocess.run(["ip", "-o", "-4", "address", "show", "edltest"], capture_output=True, text=True)
            found["address"] = shown.stdout.split()[3]
        return found
    finally:
        if device:
            subprocess.run(["ip", "tuntap", "del", "edltest", "mode", "tun"], check=False)
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


SERVER = f"""
import socket
s = socket.create_server(("100.64.0.1", {PORT}))
print("listening", flush=True)
c, _ = s.accept()
while c.recv(65536): pass
c.sendall(b".")
c.recv(1)
"""


def traced(path: str) -> Any:
    """A link whose rate follows a trace."""
    plan = links.plan(f"trace={path}", queue="droptail limit=50p", record=100_000)
    with links.Running(plan) as running:
        send(running, 1, 1.0)
    assert running.result is not None
    replay = links.replay(plan, running.records)["bottleneck"]
    queue = running.result.document["queues"]["bottleneck"]
    return {"differing": replay.differing, "arrivals": replay.arrivals, **{k: queue[k] for k in ("rate_mbps", "lost")}}


def lossy() -> Any:
    """Loss on the wire, and a queue each way."""
    plan = links.plan(
        "20 Mbit/s", "2 ms", queue="codel", reverse_queue="pie limit=100p", loss=0.02, record=100_000, seed=5
    )
    with links.Running(plan) as running:
        send(running, 2, 1.0)
    assert running.result is not None
    replays = links.replay(plan, running.records)
    document = running.result.document
    return {
        "lost": {name: queue["lost"] for name, queue in document["queues"].items()},
        "arrivals": {name: queue["arrivals"] for name, queue in document["queues"].items()},
        "differing": {name: one.differing for name, one in replays.items()},
        "kept": kept(document),
    }


DATAGRAMS = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((sys.argv[1], 7010))
begin, count = time.monotonic(), int(sys.argv[2])
for i in range(count):
    # 1000 B with their headers, faster than the link sends them.
    s.send(bytes(972))
    if i % 16 == 15:
        time.sleep(max(0, begin + i * 1.6e-4 - time.monotonic()))
"""


def impaired(name: str) -> Any:
    """10,000 datagrams over a link that does something to them; raises if that is not its law."""
    import impairments

    options, law = impairments.LAWS[name]
    # So small that the kernel sends no packet of IPv6.
    shape: dict[str, Any] = {"queue": "droptail limit=20000p", "seed": 7, "mtu": 1200, "record": 20_000}
    plan = links.plan("40 Mbit/s", "5 ms", **shape, **options)
    with links.Running(plan) as running, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind((running.outer, 7010))
        running.run([sys.executable, "-c", DATAGRAMS, running.outer, str(impairments.PACKETS)], check=True)
        running.stop(20)
    assert running.result is not None
    sent = running.records["bottleneck"]
    law(sent)
    queue = running.result.document["queues"]["bottleneck"]
    replayed = links.replay(plan, running.records)
    return {
        "packets": len(sent["size"]),
        "lost": queue["lost"] - int(impairments.lost(sent).sum()),
        "differing": {name: one.differing for name, one in replayed.items()},
        "kept": kept(running.result.document),
    }


def controlled(who: str) -> Any:
    """A link that is changed through its socket, forty times under load; what is refused there."""
    with tempfile.TemporaryDirectory() as folder:
        # Of pytest's own folders nobody else may read one.
        os.chmod(folder, 0o777)
        return _controlled(os.path.join(folder, "socket"), who)


def _controlled(path: str, who: str) -> Any:
    plan = links.plan("20 Mbit/s", "15 ms", queue="codel", jitter="2ms", mtu=1200, record=20_000)
    file = Path(path)
    found: dict[str, Any] = {"answers": [], "refused": []}

    def dial() -> Any:
        one = socket.socket(socket.AF_UNIX)
        one.connect(path)
        return one.makefile("rwb")

    def ask(one: Any, line: bytes) -> str:
        one.write(line + b"\n")
        one.flush()
        return str(one.readline().decode().strip())

    with (
        links.Running(plan) as running,
        links.Control(running, file, links.User.named(who)),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
    ):
        receiver.bind((running.outer, 7010))
        state = file.stat()
        found["owner"] = [oct(state.st_mode), state.st_uid == links.User.named(who).uid]
        try:
            with links.Control(running, file, None):
                pass
        except links.OptionError as error:
            found["refused"].append(str(error).replace(path, "SOCKET"))
        sender = running.start([sys.executable, "-c", DATAGRAMS, running.outer, "10000"])
        one = dial()
        for k in range(40):
            line = f"rate={5 + k % 3 * 20}mbit delay={1 + k * 7 % 30}ms queue.target={1 + k % 4}ms"
            found["answers"].append(ask(one, line.encode())[:2])
            time.sleep(0.03)
        found["settings"] = json.loads(ask(one, b"show"))["sent"]
        found["errors"] = [ask(one, line) for line in (b"rate=5", b"\xff", b"queue.limit=3p")]
        others = [dial() for _ in range(3)]
        found["more"] = [ask(other, b"delay=5ms")[:2] for other in others]
        with contextlib.suppress(OSError):
            fifth = dial()
            found["fifth"] = fifth.readline().decode().strip()
        others[0].write(b"x" * 5000)
        with contextlib.suppress(OSError):
            others[0].flush()
            found["long"] = others[0].readline().decode().strip()
        # A line that does not end, and one whose end is there later.
        others[1].write(b"rate=40mb")
        others[1].flush()
        others[2].close()
        found["late"] = ask(others[1], b"it")[:2]
        sender.wait(60)
        running.stop(20)
    found["left"] = os.path.lexists(path)
    assert running.result is not None
    queue = running.result.document["queues"]["bottleneck"]
    assert [(one["time_s"], one["change"]) for one in running.result.document["changes"]] == running.changes
    replays = links.replay(plan, running.records, running.changes)
    arrived = running.records["bottleneck"]["arrived_s"]
    arrived = arrived[arrived == arrived]
    return {
        **found,
        "changes": len(running.changes),
        "differing": {name: one.differing for name, one in replays.items()},
        "without": links.replay(plan, running.records)["bottleneck"].differing,
        "overtaken": int((arrived[1:] < arrived[:-1]).sum()),
        "rate": queue["rate_mbps"],
    }


def crosschecked() -> dict[str, Any]:
    """A short cell of two controls on a link that loses, one with data both ways, and answers on new connections."""
    sys.path.append(str(Path(__file__).parents[2] / "validation/crosscheck"))
    import crosscheck_requests
    import crosscheck_unseen

    crosscheck_unseen.WINDOWS = ((0.5, 2.5),) * 3
    cell = crosscheck_unseen.Cell("reno+cubic", "pie", 20, 20, 4, "loss")
    asked = crosscheck_requests.Cell("cubic", 60, 0.1, 20, 20, 100_000, "new", 3)
    measured = cell.measure(1, port=PORT, real_time=True)
    both = crosscheck_unseen.Cell("cubic", "droptail", 20, 20, 2, crosscheck_unseen.BOTH_WAYS)
    way = both.measure(1, port=PORT + 6, real_time=True)
    times = crosscheck_requests.measure(asked, port=PORT + 2, real_time=True)
    return {
        "cell": measured.row(),
        "both_ways": way.row(),
        "answers": times.answers,
        "simulated": crosscheck_requests.simulate([asked])[0],
    }


VOICE = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 46 << 2 | 2)
for _ in range(20):
    s.sendto(bytes(100), (sys.argv[1], 7003))
    time.sleep(0.02)
"""


def cake() -> Any:
    """CAKE both ways: three flows of one host beside one of another (IPv4, IPv6), their ACKs over a slow way back, and
    datagrams of a higher tin, whose DSCP it washes."""
    plan = links.plan(
        "20 Mbit/s",
        "5 ms",
        queue="cake bandwidth=3Mbit/s diffserv=diffserv4 wash=true ecn=true",
        reverse_queue="cake bandwidth=80kbit/s ack_filter=aggressive",
        record=100_000,
        sysctls=(("net.ipv4.tcp_ecn", "1"),),
    )
    classes: list[int] = []
    with links.Running(plan) as running, sink(running.outer) as one, sink(running.outer6) as other:
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        receiver.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        receiver.bind((running.outer, 7003))
        receiver.settimeout(1)
        child = running.start(sending(",".join([running.outer] * 3 + [running.outer6]), 1, 2.5, "-"))
        while not (one.received and other.received):
            time.sleep(0.01)
        before = one.received, other.received
        running.run([sys.executable, "-c", VOICE, running.outer], check=True)
        with contextlib.suppress(TimeoutError):
            while len(classes) < 20:
                classes.append(receiver.recvmsg(2000, 64)[1][0][2][0])
        shares = [one.received - before[0], other.received - before[1]]
        code = child.wait(60)
    assert running.result is not None
    document, records = running.result.document, running.records
    replays = links.replay(plan, records)
    bare = {key: column for key, column in records["reverse"].items() if key not in links.records.HEADERS}
    return {
        "code": code,
        "differing": {name: one.differing for name, one in replays.items()},
        "without_headers": links.replay(plan, {"reverse": bare})["reverse"].differing,
        "arrivals": {name: one.arrivals for name, one in replays.items()},
        "shares": shares,
        "filtered": document["queues"]["reverse"]["forced_drops"],
        "ce_set": document["queues"]["bottleneck"]["ce_set"],
        "classes": classes,
        "voice": int((records["bottleneck"]["dscp"] == 46).sum()),
        "kept": kept(document),
    }


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        every_discipline,
        own_disciplines,
        ecn,
        api,
        fuzz,
        hostile,
        flooded,
        killed,
        escaped,
        interrupted,
        stubborn,
        rested,
        trusted,
        joined,
        traced,
        lossy,
        impaired,
        controlled,
        crosschecked,
        cake,
        outside.nat_reached,
        outside.nat_ipv6,
        outside.nat_killed,
        outside.nat_named,
    )
}

if __name__ == "__main__":
    assert struct.calcsize("d") == 8
    print(json.dumps(FUNCTIONS[sys.argv[1]](*sys.argv[2:])))
