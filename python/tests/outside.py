"""An outside for the tests of links with address translation: a network namespace with a web server and a name server.

The caller's namespace, which has to be a test's own, stands for a machine: it has a default route to the outside and
does not forward. The outside has no route to the addresses of links.
"""

from __future__ import annotations

import contextlib
import http.server
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import earlydrop as ed
from earlydrop import _core, links

OUTSIDE, MACHINE = "203.0.113.1", "203.0.113.2"
OUTSIDE6, MACHINE6 = "2001:db8::1", "2001:db8::2"
NAME = "web.test"
DEVICE = "world0"

COMMAND = [
    sys.executable,
    "-m",
    "earlydrop",
    "link",
    "--rate",
    "20Mbit/s",
    "--delay",
    "5ms",
    "--queue",
    "codel",
    "--nat",
]


class Web6(http.server.ThreadingHTTPServer):
    """A web server of IPv6."""

    address_family = socket.AF_INET6


class Web(http.server.BaseHTTPRequestHandler):
    """Answers with the address of the client."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.client_address[0].encode())

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing."""


def resolve(server: socket.socket) -> None:
    """A name server that knows one name."""
    while True:
        question, client = server.recvfrom(512)
        end = question.index(0, 12) + 5
        kind = struct.unpack(">H", question[end - 4 : end - 2])[0]
        address = socket.inet_aton(OUTSIDE) if kind == 1 else b""
        answer = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + address if address else b""
        head = question[:2] + struct.pack(">HHHHH", 0x8180, 1, bool(answer), 0, 0)
        server.sendto(head + question[12:end] + answer, client)


def serve() -> None:
    """The outside, as a program: its servers, from the moment that its device has an address."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    print(os.getpid(), flush=True)
    sys.stdin.readline()
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((OUTSIDE, 53))
    threading.Thread(target=resolve, args=(server,), daemon=True).start()
    web6 = Web6((OUTSIDE6, 80), Web)
    threading.Thread(target=web6.serve_forever, daemon=True).start()
    web = http.server.ThreadingHTTPServer((OUTSIDE, 80), Web)
    print("serving", flush=True)
    web.serve_forever()


@contextlib.contextmanager
def outside() -> Iterator[int]:
    """The outside beyond a device of this namespace; gives its process number."""
    words = ["unshare", "--net", sys.executable, __file__]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        pid = int(process.stdout.readline())
        there = ["nsenter", "--target", str(pid), "--net"]
        for words in (
            ["ip", "link", "set", "lo", "up"],
            ["ip", "link", "add", DEVICE, "type", "veth", "peer", "name", DEVICE, "netns", str(pid)],
            ["ip", "link", "set", DEVICE, "addrgenmode", "none"],
            [*there, "ip", "link", "set", DEVICE, "addrgenmode", "none"],
            ["ip", "address", "add", f"{MACHINE}/24", "dev", DEVICE],
            ["ip", "address", "add", f"{MACHINE6}/64", "dev", DEVICE, "nodad"],
            ["ip", "link", "set", DEVICE, "up"],
            [*there, "ip", "address", "add", f"{OUTSIDE}/24", "dev", DEVICE],
            [*there, "ip", "address", "add", f"{OUTSIDE6}/64", "dev", DEVICE, "nodad"],
            [*there, "ip", "link", "set", DEVICE, "up"],
            ["ip", "route", "add", "default", "via", OUTSIDE],
        ):
            subprocess.run(words, check=True)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "serving\n"
        yield pid
    finally:
        process.kill()
        process.wait()


def forwards(device: str = DEVICE) -> bool:
    """Whether a device forwards."""
    return Path(f"/proc/sys/net/ipv4/conf/{device}/forwarding").read_text() == "1\n"


def tables() -> list[str]:
    """The names of this namespace's tables of nftables, asked of the kernel (NFT_MSG_GETTABLE)."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as asked:
        asked.bind((0, 0))
        asked.send(struct.pack("=IHHIIBBH", 20, 10 << 8 | 1, 0x301, 1, 0, 0, 0, 0))
        found = []
        while True:
            answer = asked.recv(1 << 16)
            while answer:
                length, kind = struct.unpack_from("=IH", answer)
                if kind in (2, 3):
                    return found
                size, _ = struct.unpack_from("=HH", answer, 20)
                found.append(answer[24 : 20 + size].rstrip(b"\0").decode())
                answer = answer[(length + 3) & ~3 :]


def fetch(host: str = OUTSIDE) -> list[str]:
    """The command that asks the web server."""
    return ["curl", "--silent", "--max-time", "5", f"http://{host}/"]


def nat_reached() -> Any:
    """What a command reaches with and without translation, and what is there before, meanwhile and after."""
    from linking import differences, state

    with outside() as pid:
        before = state()
        with ed.link("20 Mbit/s", "5 ms", queue="codel") as link:
            without = link.run(["curl", "--silent", "--max-time", "1", f"http://{OUTSIDE}/"]).returncode
        with ed.link("20 Mbit/s", "5 ms", queue="codel", nat=True) as link:
            body = link.run(fetch(), capture_output=True, check=True).stdout
            during = (forwards(), tables())
            # An outsider who knows the way reaches neither the command nor, through this machine, anyone else.
            listener = link.start([sys.executable, "-c", LISTENER])
            enter = ["nsenter", "--target", str(pid), "--net"]
            subprocess.run([*enter, "ip", "route", "add", "100.64.0.0/10", "via", MACHINE], check=True)
            intrusion = subprocess.run([*enter, sys.executable, "-c", INTRUDER, link.inner]).returncode
            listener.send_signal(9)
            other = ed.link("20 Mbit/s", "5 ms", nat=True).__enter__()
            both = tables()
            also = other.run(fetch(), capture_output=True).stdout
        # The first has gone, the second goes on.
        still = other.run(fetch(), capture_output=True).stdout
        other.stop()
        # The kernel removes the rules when the socket is gone.
        return {
            "without": without,
            "body": body,
            "during": during,
            "intrusion": intrusion,
            "both": both,
            "also": [also, still],
            "queue": link.result.document["queues"]["bottleneck"]["delivered"],
            "after": [differences(before, state()), forwards(), tables()],
        }


def nat_ipv6() -> Any:
    """IPv6 on a machine that does not forward it, and on one that does."""
    switch = Path("/proc/sys/net/ipv6/conf/all/forwarding")
    found = {}
    with outside():
        for forwarding in ("0", "1"):
            switch.write_text(forwarding)
            with ed.link("20 Mbit/s", "5 ms", nat=True) as link:
                ended = link.run(fetch(f"[{OUTSIDE6}]"), capture_output=True)
                near = link.run(["ip", "-6", "route", "get", link.outer6], capture_output=True).returncode
                found[forwarding] = [ended.returncode, ended.stdout, near, " by IPv4 (NAT)" in link.reach()]
            found[forwarding].append(switch.read_text())
    return found


LISTENER = """
import socket, time
s = socket.create_server(("", 7005))
time.sleep(60)
"""

INTRUDER = """
import socket, sys
s = socket.socket()
s.settimeout(1)
sys.exit(s.connect_ex((sys.argv[1], 7005)) == 0)
"""


def nat_killed(whom: str) -> Any:
    """kill -9 of a link with translation, alone or with its keeper: what is left, and after the next link."""
    from linking import differences, state

    with outside():
        before = state()
        process = subprocess.Popen([*COMMAND, "--", "sleep", "60"], stdin=subprocess.DEVNULL)
        while not (forwards() and tables()):
            time.sleep(0.02)
        children = subprocess.run(["pgrep", "-P", str(process.pid), "-f", "sweep_links"], capture_output=True)
        (keeper,) = map(int, children.stdout.split())
        if whom == "both":
            os.kill(keeper, 9)
        process.kill()
        process.wait()
        end = time.monotonic() + 30
        while (tables() or (whom == "link" and Path(f"/proc/{keeper}").exists())) and time.monotonic() < end:
            time.sleep(0.02)
        left = [forwards(), tables(), differences(before, state()) if whom == "link" else []]
        if whom == "both":
            subprocess.run([*COMMAND[:-1], "--quiet", "--", "true"], check=True)
        return {"left": left, "later": [forwards(), tables(), differences(before, state())]}


def nat_named() -> Any:
    """Names behind a machine whose own name server is systemd-resolved's; in a mount namespace of the caller."""
    run = Path("/run/systemd/resolve")
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    run.mkdir(parents=True)
    (run / "stub-resolv.conf").write_text("nameserver 127.0.0.53\noptions edns0\n")
    (run / "resolv.conf").write_text(f"nameserver {OUTSIDE}\n")
    subprocess.run(["mount", "--bind", run / "stub-resolv.conf", "/etc/resolv.conf"], check=True)
    with outside():
        ended = subprocess.run([*COMMAND, "--", *fetch(NAME)], capture_output=True, text=True)
        shown = subprocess.run([*COMMAND, "--quiet", "--", "cat", "/etc/resolv.conf"], capture_output=True, text=True)
    own = Path("/etc/resolv.conf").read_text()
    return {"code": ended.returncode, "body": ended.stdout, "said": ended.stderr, "seen": shown.stdout, "own": own}


if __name__ == "__main__":
    assert links.names
    assert _core.has_tun()
    serve()
