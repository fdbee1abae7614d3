"""Real links measured: `python benches/link.py bench` and `python benches/link.py soak`.

Both need root on Linux, TUN devices and iperf3, and run in a network namespace that they make for themselves. `bench`
says how late deliveries are, by the link's own histogram and by a capture at both ends, and how much passes without a
limit. `soak` holds links to what docs/link.md promises, and exits with 1 where they do not keep it.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from earlydrop import _core, links
from earlydrop.terminal import table

sys.path.insert(0, str(Path(__file__).parent.parent / "python" / "tests"))

import linking

INSIDE = "EARLYDROP_BENCH_INSIDE"
RATES = (1, 10, 50, 100, 200)
CONTROLS = ("reno", "cubic", "bbr")
UDP_PORT = 7002


def say(text: str) -> None:
    print(text, flush=True)


# ---- traffic -------------------------------------------------------------------------------------------------------


@contextmanager
def iperf3_server(address: str) -> Iterator[None]:
    command = ["iperf3", "-s", "-B", address, "-p", "5400"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        yield
    finally:
        process.terminate()
        process.wait()


def iperf3(plan: links.Plan, control: str, seconds: int, flows: int = 1, omit: int = 1) -> tuple[dict[str, Any], Any]:
    """One client behind the link: what iperf3 says at its end, and the running link's result document."""
    with links.Running(plan) as running, iperf3_server(running.outer):
        command = [
            "iperf3",
            "-c",
            running.outer,
            "-p",
            "5400",
            "-C",
            control,
            "-t",
            str(seconds),
            "-O",
            str(omit),
            "-J",
        ]
        ended = running.run([*command, "-P", str(flows)], capture_output=True, check=True)
    assert running.result is not None
    return json.loads(ended.stdout)["end"], running


def loop_seconds() -> float:
    """Processor time of the link's thread so far, s."""
    total = 0
    for task in Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().strip() == "link":
            fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


# ---- bench ---------------------------------------------------------------------------------------------------------

BLAST = """
import socket, struct, sys, time
host, port, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[5])
rate, seconds = float(sys.argv[3]), float(sys.argv[4])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((host, port))
body = bytes(size - 28 - 8)
begin, sent = time.monotonic(), 0
while (now := time.monotonic() - begin) < seconds:
    due = int(now * rate / (8 * size))
    while sent < due:
        s.send(struct.pack("<Q", sent) + body)
        sent += 1
    time.sleep(0.0002)
"""

CAPTURE = """
import socket, struct, sys
device, outgoing, port = sys.argv[1], sys.argv[2] == "out", int(sys.argv[3])
s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
s.setsockopt(socket.SOL_SOCKET, 35, 1)
s.setsockopt(socket.SOL_SOCKET, 33, 256 << 20)
s.bind((device, 3))
s.settimeout(2)
print("ready", flush=True)
found = []
try:
    while True:
        data, extra, _, address = s.recvmsg(64, 64)
        if (address[2] == 4) != outgoing or len(data) < 36 or data[9] != 17 or data[22:24] != port.to_bytes(2, "big"):
            continue
        seconds, nanoseconds = struct.unpack("qq", extra[0][2])
        found.append((struct.unpack_from("<Q", data, 28)[0], seconds * 10**9 + nanoseconds))
except TimeoutError:
    pass
sys.stdout.write("".join(f"{number} {at}\\n" for number, at in found))
"""


class Capture:
    """Numbers and times (ns) of the probe packets that pass a device, by the kernel's own time stamps."""

    def __init__(self, start: Callable[[list[str], int], Any], device: str, way: str) -> None:
        self._read, write = os.pipe()
        self._process = start([sys.executable, "-W", "ignore", "-c", CAPTURE, device, way, str(UDP_PORT)], write)
        os.close(write)
        self._file = os.fdopen(self._read)
        assert self._file.readline() == "ready\n"

    def result(self) -> dict[int, int]:
        lines = self._file.read().splitlines()
        self._process.wait()
        return {int(number): int(at) for number, at in (line.split() for line in lines)}


MACHINE = """
import ctypes, os, sys, time
seconds = float(sys.argv[1])
ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
late, taken = [], 0
end = time.monotonic_ns() + int(seconds * 1e9)
while (before := time.monotonic_ns()) < end:
    time.sleep(0.0005)
    late.append(time.monotonic_ns() - before - 500_000)
end = before = time.monotonic_ns()
end += int(seconds * 5e8)
while before < end:
    now = time.monotonic_ns()
    taken += now - before if now - before > 50_000 else 0
    before = now
late.sort()
print(late[len(late) // 2] / 1e3, late[len(late) * 99 // 100] / 1e3, late[-1] / 1e3, taken / (seconds * 5e8))
"""


def machine(seconds: float) -> dict[str, float]:
    """What a thread with real-time priority gets from this machine without any link: how late it wakes up from sleeps
    of 0.5 ms, and the part of the time that a thread which never sleeps misses in pieces of more than 50 us."""
    ended = subprocess.run(
        [sys.executable, "-c", MACHINE, str(seconds)], capture_output=True, text=True, check=True, timeout=60 + seconds
    )
    values = [float(word) for word in ended.stdout.split()]
    return dict(zip(("wake_p50_us", "wake_p99_us", "wake_max_us", "taken_share"), values, strict=True))


def stolen() -> float:
    """Processor time that a virtual machine's host took while there was work here, s; all processors."""
    return int(Path("/proc/stat").read_text().split("\n", 1)[0].split()[8]) / os.sysconf("SC_CLK_TCK")


def lateness(rate_mbps: float, load: float, seconds: float, real_time: bool) -> dict[str, Any]:
    """How late probe packets of 1000 B are over an ideal link, by the link's histogram and by captures."""
    delay = 0.005
    plan = links.plan(f"{rate_mbps} Mbit/s", "5 ms", queue="droptail limit=200p", real_time=real_time)
    with links.Running(plan) as running:
        device = running.device
        assert device is not None
        behind = Capture(lambda command, out: running.start(command, stdout=out), "edlup", "out")
        front = Capture(lambda command, out: subprocess.Popen(command, stdout=out), device, "in")
        listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        listener.bind((running.outer, UDP_PORT))
        before, kept, begin = loop_seconds(), stolen(), time.monotonic()
        rate = 1e6 * rate_mbps * load
        blast = [sys.executable, "-c", BLAST, running.outer, str(UDP_PORT), str(rate), str(seconds), "1000"]
        running.run(blast, check=True)
        used = loop_seconds() - before
        kept = (stolen() - kept) / (time.monotonic() - begin) / (os.cpu_count() or 1)
        came, left = behind.result(), front.result()
        listener.close()
    assert running.result is not None
    queue = running.result.document["queues"]["bottleneck"]
    # From the first packet on: a double has no nanoseconds to spare for those since 1970.
    zero = min(came.values())
    free, late = 0.0, []
    for number in sorted(left):
        # Packets that the queue dropped take no time on the link.
        start = max((came[number] - zero) * 1e-9, free)
        free = start + 8 * 1000 / (rate_mbps * 1e6)
        late.append((left[number] - zero) * 1e-9 - (free + delay))
    found = np.array(late) * 1e6
    return {
        "rate_mbps": rate_mbps,
        "load": load,
        "real_time": real_time,
        "packets": len(left),
        "histogram_us": queue["lateness"],
        "capture_us": {
            name: float(np.quantile(found, q))
            for name, q in (("p50_us", 0.5), ("p90_us", 0.9), ("p99_us", 0.99), ("p999_us", 0.999))
        },
        "core_share": used / seconds,
        "stolen_share": kept,
    }


def repeated(times: int, rate_mbps: float, load: float, seconds: float, real_time: bool) -> dict[str, Any]:
    """`lateness` several times: the one whose p99 by the histogram is the median, and the least p99 of all, to which
    other work of the machine has added least."""
    runs = sorted(
        (lateness(rate_mbps, load, seconds, real_time) for _ in range(times)),
        key=lambda run: run["histogram_us"]["p99_us"],
    )
    least = {
        "histogram_p99_us": runs[0]["histogram_us"]["p99_us"],
        "capture_p99_us": min(run["capture_us"]["p99_us"] for run in runs),
    }
    return {**runs[len(runs) // 2], "least": least}


def unlimited(seconds: int, real_time: bool) -> dict[str, Any]:
    """What passes without a limit: one TCP flow of full packets, one core for the link. That core does much of both
    ends' TCP: the kernel receives a packet while the link writes it, and an ACK makes it send."""
    plan = links.plan("unlimited", "0 ms", queue="droptail limit=1000p", real_time=real_time)
    end, running = iperf3(plan, "cubic", seconds)
    queues = running.result.document["queues"]
    width = running.result.document["duration_s"]
    return {
        "load": "tcp",
        "mbps": end["sum_received"]["bits_per_second"] / 1e6,
        "packets_per_s": queues["bottleneck"]["delivered"] / width,
        "back_packets_per_s": queues["reverse"]["delivered"] / width,
        "device_overruns": queues["bottleneck"]["device_overruns"],
    }


FLOOD = """
import socket, sys, time
host, port, size, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_UDP, 103, size)
s.connect((host, port))
body = bytes(size * min(60, 65000 // size))
end = time.monotonic() + seconds
while time.monotonic() < end:
    s.send(body)
"""


def flooded(payload: int, seconds: float, real_time: bool) -> dict[str, Any]:
    """What passes without a limit of datagrams with `payload` bytes. The kernel cuts what the sender writes at once
    into dozens of packets (UDP_SEGMENT), so that the sender is not what limits. Nobody reads them at the other end."""
    plan = links.plan("unlimited", "0 ms", queue="droptail limit=1000p", real_time=real_time)
    with links.Running(plan) as running, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind((running.outer, UDP_PORT))
        before, kept, begin = loop_seconds(), stolen(), time.monotonic()
        flood = [sys.executable, "-c", FLOOD, running.outer, str(UDP_PORT), str(payload), str(seconds)]
        running.run(flood, check=True)
        used = loop_seconds() - before
        kept = (stolen() - kept) / (time.monotonic() - begin) / (os.cpu_count() or 1)
    assert running.result is not None
    queue = running.result.document["queues"]["bottleneck"]
    return {
        "load": f"udp {payload} B",
        "mbps": 8e-6 * queue["delivered_bytes"] / seconds,
        "packets_per_s": queue["delivered"] / seconds,
        "packets_per_core_s": queue["delivered"] / used,
        "device_overruns": queue["device_overruns"],
        "stolen_share": kept,
    }


def bench(options: argparse.Namespace) -> int:
    found: dict[str, Any] = {"machine": machine(options.seconds / 2), "lateness": [], "unlimited": []}
    for real_time in (True, False):
        for rate in (10.0, 100.0, 200.0):
            for load in (0.5, 1.2):
                found["lateness"].append(repeated(options.times, rate, load, options.seconds, real_time))
        measured = [unlimited(int(options.seconds), real_time)]
        measured += [flooded(payload, options.seconds, real_time) for payload in (1472, 200)]
        found["unlimited"] += [{"real_time": real_time, **one} for one in measured]
    if options.json:
        print(json.dumps(found, indent=1))
        return 0
    head = [
        "priority",
        "Mbit/s",
        "load %",
        "p50 us",
        "p99 us",
        "least",
        "capture p50",
        "p99",
        "least",
        "core %",
        "host %",
    ]
    rows = [
        [
            "real-time" if one["real_time"] else "normal",
            f"{one['rate_mbps']:g}",
            f"{100 * one['load']:g}",
            *(f"{one['histogram_us'][key]:.1f}" for key in ("p50_us", "p99_us")),
            f"{one['least']['histogram_p99_us']:.1f}",
            *(f"{one['capture_us'][key]:.1f}" for key in ("p50_us", "p99_us")),
            f"{one['least']['capture_p99_us']:.1f}",
            f"{100 * one['core_share']:.0f}",
            f"{100 * one['stolen_share']:.1f}",
        ]
        for one in found["lateness"]
    ]
    own = found["machine"]
    say(
        f"The machine itself, real-time priority: wakes up {own['wake_p50_us']:.0f} us late (p50), "
        f"{own['wake_p99_us']:.0f} us (p99), {own['wake_max_us']:.0f} us at worst; a thread that never sleeps misses "
        f"{100 * own['taken_share']:.2f} % of the time, which others take.\n"
    )
    say(
        f"Lateness of deliveries over an ideal link, packets of 1000 B, {options.times} times {options.seconds:g} s: "
        "the time with the median p99,\nand the least p99. Host: processor time that the host took meanwhile.\n"
    )
    say(table(head, rows, left=1))
    say("\nWithout a limit, one TCP flow, and datagrams as fast as the kernel makes them:\n")
    head = ["priority", "load", "Mbit/s", "packets/s", "and back", "packets/core s", "overruns"]
    rows = [
        [
            "real-time" if one["real_time"] else "normal",
            one["load"],
            f"{one['mbps']:.0f}",
            f"{one['packets_per_s']:.0f}",
            f"{one['back_packets_per_s']:.0f}" if "back_packets_per_s" in one else "",
            f"{one['packets_per_core_s']:.0f}" if "packets_per_core_s" in one else "",
            str(one["device_overruns"]),
        ]
        for one in found["unlimited"]
    ]
    say(table(head, rows, left=2))
    return 0


# ---- soak ----------------------------------------------------------------------------------------------------------


class Checks:
    """What was promised, and whether it was kept."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def __call__(self, name: str, kept: bool, details: str) -> None:
        say(f"{'ok    ' if kept else 'FAILED'}  {name}: {details}")
        if not kept:
            self.failed.append(name)


def rate_grid(check: Checks, seconds: int) -> None:
    for control in CONTROLS:
        for rate in RATES:
            limit = max(50, 10 * rate)
            plan = links.plan(f"{rate} Mbit/s", "10 ms", queue=f"droptail limit={limit}p", real_time=True)
            # A slow link takes its time to begin with.
            end, running = iperf3(plan, control, max(seconds, 10) if rate == 1 else seconds, omit=2)
            document = running.result.document
            queue = document["queues"]["bottleneck"]
            goodput = end["sum_received"]["bits_per_second"] / 1e6 / rate
            busy = queue["backlogged"]["mean_mbps"] / rate if queue["backlogged"] else None
            wanted = 0.92 if control == "bbr" else 0.94
            kept = goodput >= wanted and (busy is None or abs(busy - 1) <= 0.01) and linking.kept(document)
            shown = "no second" if busy is None else f"{100 * busy:.2f} %"
            check(f"{control} at {rate} Mbit/s", kept, f"goodput {100 * goodput:.1f} %, while packets waited {shown}")


def disciplines(check: Checks, seconds: float) -> None:
    for entry in json.loads(_core.catalogue()):
        name = entry["name"]
        queue = {"aqm": name, "limit": "100 packets", "ecn": False}
        plan = links.plan("20 Mbit/s", "20 ms", queue=queue, record=1_000_000)
        with links.Running(plan) as running, linking.sink(running.outer):
            running.start(linking.sending(running.outer, 4, 600, "cubic"))
            time.sleep(seconds)
            running.stop(0)
        assert running.result is not None
        document = running.result.document
        one = document["queues"]["bottleneck"]
        gap = linking.longest_gap(running.records["bottleneck"])
        differing = links.replay(plan, running.records)["bottleneck"].differing
        kept = gap < 0.5 and differing == 0 and linking.kept(document) and one["delivered"] > 100
        check(
            name,
            kept,
            f"{one['delivered_mbps']:.2f} Mbit/s, longest gap {1e3 * gap:.0f} ms, "
            f"{one['arrivals']} arrivals, {differing} decided otherwise by the simulator",
        )


def kills(check: Checks, times: int) -> None:
    found = linking.killed(str(times), "7")
    check(f"{times} times kill -9", found == {"remains": [], "sleepers": []}, json.dumps(found))


def resident_kib() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def full_rate(check: Checks, minutes: float) -> None:
    """Without a limit for a long time: memory, and every packet accounted for."""
    plan = links.plan("unlimited", "0 ms", queue="red limit=1000p min_th=200 max_th=600", series=1.0)
    sizes: list[int] = []
    seconds = max(20, int(60 * minutes))
    with links.Running(plan) as running, iperf3_server(running.outer):
        command = ["iperf3", "-c", running.outer, "-p", "5400", "-C", "cubic", "-t", str(seconds), "-P", "2"]
        client = running.start(command, stdout=os.open(os.devnull, os.O_WRONLY))
        stop = threading.Event()

        def watch() -> None:
            while not stop.wait(seconds / 40):
                sizes.append(resident_kib())

        watcher = threading.Thread(target=watch)
        watcher.start()
        code = client.wait(seconds + 60)
        stop.set()
        watcher.join()
    assert running.result is not None
    document = running.result.document
    queue = document["queues"]["bottleneck"]
    # The first quarter is for buffers to find their size.
    early, late = max(sizes[5:15], default=0), max(sizes[-10:], default=0)
    grown = late - early
    kept = code == 0 and linking.kept(document) and grown < 1024
    check(
        f"{minutes:g} minutes at full rate",
        kept,
        f"{queue['delivered_mbps']:.0f} Mbit/s, {queue['delivered'] / document['duration_s']:.0f} packets/s, "
        f"{queue['arrivals']} arrivals all accounted for: {linking.kept(document)}, memory {early} kB, later {late} kB",
    )


def soak(options: argparse.Namespace) -> int:
    check = Checks()
    before = linking.state()
    rate_grid(check, 8 if not options.quick else 3)
    disciplines(check, 10 if not options.quick else 1)
    kills(check, 20 if not options.quick else 3)
    full_rate(check, options.minutes if not options.quick else 0.4)
    left = linking.differences(before, linking.state())
    check("nothing is left", not left, ", ".join(left) or "addresses, routes and sysctls as before")
    say(f"\n{len(check.failed)} failed" if check.failed else "\nall kept")
    return 1 if check.failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["bench", "soak"])
    parser.add_argument("--json", action="store_true", help="bench: one JSON document")
    parser.add_argument("--seconds", type=float, default=4, help="bench: of each measurement")
    parser.add_argument("--times", type=int, default=5, help="bench: how often lateness is measured")
    parser.add_argument("--minutes", type=float, default=10, help="soak: at full rate")
    parser.add_argument("--quick", action="store_true", help="soak: everything, shorter")
    options = parser.parse_args()
    if os.environ.get(INSIDE) != "1":
        words = ["unshare", "--net", sys.executable, "-W", "ignore", *sys.argv]
        try:
            return subprocess.run(words, env={**os.environ, INSIDE: "1"}, check=False).returncode
        except FileNotFoundError:
            print("error: unshare is not installed (util-linux)", file=sys.stderr)
            return 2
    assert struct.calcsize("qq") == 16
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    return bench(options) if options.what == "bench" else soak(options)


if __name__ == "__main__":
    sys.exit(main())
