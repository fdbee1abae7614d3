"""Endless transfers of the kernel's TCP over an emulated link, by plain sockets: all connect at once.

iperf3 connects its flows one after the other, which takes 64 of them 13 s where the round trip takes 200 ms, gives all
the same congestion control, and has buffers that the kernel enlarges as it sees fit. Here they are large from the
start, so that neither the receive window nor the application limits, as in the simulator.
"""

from __future__ import annotations

import select
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from earlydrop import links
from earlydrop.links import crosscheck

BLOCK = 131_072
"""Bytes of a write, as iperf3's."""

BUFFERS = 32_000_000
"""Send buffers of all flows together, B, which are allocated twice: a flow never waits for its application."""

ENDED = "given up, or the sender or the receiver of the flows has ended early"

TAKE = """
import contextlib, os, socket, sys, threading
def take(s):
    into = memoryview(bytearray(1 << 20))
    with contextlib.suppress(ConnectionError):
        while s.recv_into(into):
            pass
"""

SENDER = f"""{TAKE}
host, block, buffer = sys.argv[1], bytes(int(sys.argv[2])), int(sys.argv[3])
def send(port, control):
    try:
        s = socket.socket()
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        s.setsockopt(socket.SOL_SOCKET, 32, buffer)  # SO_SNDBUFFORCE
        s.setsockopt(socket.SOL_SOCKET, 33, 1 << 25)  # SO_RCVBUFFORCE
        s.connect((host, int(port)))
        threading.Thread(target=take, args=(s,)).start()
        while True:
            s.sendall(block)
    except OSError as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(1)
for word in sys.argv[4:]:
    threading.Thread(target=send, args=word.split(":")).start()
"""

SINK = """
import select, socket, sys
poll, known, into = select.epoll(), {}, memoryview(bytearray(1 << 20))
for port in sys.argv[2:]:
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, 33, 1 << 25)  # SO_RCVBUFFORCE
    s.bind((sys.argv[1], int(port)))
    s.listen(1024)
    known[s.fileno()] = s
    poll.register(s, select.EPOLLIN)
listening = set(known)
print("ready", flush=True)
while True:
    for number, _ in poll.poll():
        if number in listening:
            s, _ = known[number].accept()
            if len(known) == len(listening):
                print("begun", flush=True)
            known[s.fileno()] = s
            poll.register(s, select.EPOLLIN)
        elif not known[number].recv_into(into):
            poll.unregister(number)
"""

BOTH = f"""{TAKE}
block, buffer = bytes(int(sys.argv[2])), int(sys.argv[3])
begun = threading.Lock()
def send(s):
    with contextlib.suppress(ConnectionError):
        while True:
            s.sendall(block)
def listen(port, control):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    s.setsockopt(socket.SOL_SOCKET, 32, buffer)  # SO_SNDBUFFORCE
    s.setsockopt(socket.SOL_SOCKET, 33, 1 << 25)  # SO_RCVBUFFORCE
    s.bind((sys.argv[1], int(port)))
    s.listen(1024)
    return s
def accept(s):
    while True:
        one, _ = s.accept()
        if begun.acquire(blocking=False):
            print("begun", flush=True)
        for task in (send, take):
            threading.Thread(target=task, args=(one,)).start()
listening = [listen(*word.split(":")) for word in sys.argv[4:]]
print("ready", flush=True)
for s in listening:
    threading.Thread(target=accept, args=(s,)).start()
"""
"""A receiver that sends too, in the same connections."""


@dataclass(frozen=True)
class Load:
    """Flows of one congestion control."""

    control: str
    flows: int


def run(
    plan: links.Plan,
    loads: Sequence[Load],
    warmup: float,
    duration: float,
    *,
    port: int,
    both_ways: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Send over the link until `duration` s after the first connection; the result document from `warmup` on.

    With `both_ways` the receivers send in the same connections. The flows of each load have a port of their own, from
    `port` on: the document's flows tell them apart.

    Raises:
        crosscheck.CrosscheckError: the sender or the receiver has failed, or it was to give up.
        links.LinkError: no link can be set up here.
    """
    ports = [str(port + k) for k in range(len(loads))]
    flows = [[f"{at}:{load.control}"] * load.flows for at, load in zip(ports, loads, strict=True)]
    words = [word for turn in zip_longest(*flows) for word in turn if word]
    there, back = plan.delays
    numbers = [str(BLOCK), str(BUFFERS // len(words))]
    with links.Running(plan) as running:
        listening = [f"{at}:{load.control}" for at, load in zip(ports, loads, strict=True)]
        receiver = [BOTH, running.outer, *numbers, *listening] if both_ways else [SINK, running.outer, *ports]
        sink = subprocess.Popen([sys.executable, "-I", "-c", *receiver], stdout=subprocess.PIPE)
        try:
            _wait(sink, b"ready", lambda: stop() or sink.poll() is not None)
            sender = running.start([sys.executable, "-I", "-c", SENDER, running.outer, *numbers, *words])

            def ended() -> bool:
                return stop() or sender.poll() is not None or sink.poll() is not None

            _wait(sink, b"begun", ended)
            # A connection is accepted with the third packet of its handshake.
            begin, measuring = time.monotonic() - (there + back + there), warmup == 0
            while (elapsed := time.monotonic() - begin) < duration:
                if ended():
                    raise crosscheck.CrosscheckError(ENDED)
                if not measuring and elapsed >= warmup:
                    running.restart()
                    measuring = True
                next_ = duration if measuring else warmup
                time.sleep(min(0.1, max(0.0, next_ - elapsed)))
            document: dict[str, Any] = running.stop(0).document
        finally:
            sink.kill()
            sink.communicate()
    return document


def _wait(sink: subprocess.Popen[bytes], word: bytes, ended: Callable[[], bool]) -> None:
    """Wait for a line of the receiver."""
    assert sink.stdout is not None
    while not select.select([sink.stdout], [], [], 0.1)[0]:
        if ended():
            raise crosscheck.CrosscheckError(ENDED)
    if sink.stdout.readline().strip() != word:
        raise crosscheck.CrosscheckError(ENDED)


def throughput(document: dict[str, Any], port: int) -> float:
    """Mbit/s that reached a port of `run`."""
    flows = [one for one in document["flows"] if one["destination"] and one["destination"].get("port") == port]
    return float(sum(one["throughput_mbps"] for one in flows))
