"""Crosscheck of a scenario: simulated, and on an emulated link with the kernel's TCP (iperf3)."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import earlydrop._core as _core
from .. import links
from ..errors import EarlydropError
from ..runner import Job, Progress, no_progress, run_all
from ..terminal import number, paragraph, signed, table
from .planning import NO_QUEUE

PORT = 5301
"""Port of the first iperf3 server; each server has flows for one client."""

MOST_STREAMS = 100
"""Flows of one iperf3 process (it takes 128)."""

KERNEL = {
    "ns2-2.35": {"tahoe": "reno", "reno": "reno", "newreno": "reno", "sack": "reno"},
    "rfc": {"reno": "reno", "sack": "reno", "cubic": "cubic", "bbr": "bbr"},
}
"""For each stack, the kernel's congestion control nearest to each of the scenario's."""

LINUX = "linux-6.18"
"""The stack of the kernel with which links were measured."""

MEASURES = (
    ("throughput_mbps", "Throughput (Mbit/s)", 1, 3),
    ("queue_mean_packets", "Mean queue (packets)", 1, 2),
    ("queue_std_packets", "Standard deviation of the queue (packets)", 1, 2),
    ("delay_mean_ms", "Queueing delay (ms)", 1, 2),
    ("delay_p99_ms", "Queueing delay, 99 % (ms)", 1, 2),
    ("drop_rate", "Drop rate (%)", 100, 3),
    ("mark_rate", "Mark rate (%)", 100, 3),
)
"""Field, label, factor, digits."""

REASONS = {
    "ns2-2.35": (
        "The kernel's TCP is another one. It begins with a window of 10 segments, sends again what RACK and tail "
        "loss probes find lost, and waits for a timer of at least 200 ms only then; the scenario's senders begin with "
        'one segment and know duplicate ACKs and a coarse timer. stack = "rfc" is nearer.',
        "The kernel's receivers acknowledge every second segment, but its senders count segments, not ACKs: windows "
        "grow as in a scenario without delayed_ack, which is the one to compare with.",
        "All real flows begin at once, whatever start the scenario gives them. The warm-up should outlast it.",
    ),
    "rfc": (
        'The kernel\'s TCP has rules that no RFC has, or had when it got them; stack = "linux-6.18" has them.',
        "All real flows begin at once, whatever start the scenario gives them. The warm-up should outlast it.",
    ),
}
"""For each stack, why simulator and link can differ, in order of weight."""


class CrosscheckError(EarlydropError):
    """The scenario cannot be run on a real link. The message says why."""


SPREAD = "On the link all flows have one round-trip time, the mean of the scenario's."
"""Why both can differ where the scenario's flows differ in round-trip time."""


@dataclass(frozen=True)
class Crosscheck:
    """Results of the simulator and of the link."""

    scenario: str
    aqm: str
    queue: str
    flows: int
    back: int
    """Flows in the reverse direction."""
    control: str
    stack: str
    """The key of the stack in `REASONS`: `rfc` also for the stacks of Linux and QUIC."""
    window: tuple[float, float]
    simulated: list[dict[str, Any]]
    """Queue entries of the result documents, one a seed."""
    real: dict[str, Any]
    """The link's queue entry."""
    spread: bool = False
    """Whether the scenario's round-trip times differ."""

    @property
    def reasons(self) -> list[str]:
        """Why simulator and link can differ."""
        return [*([SPREAD] if self.spread else []), *REASONS[self.stack]]

    def simulated_mean(self, measure: str) -> float | None:
        """The simulator's mean over the seeds."""
        values = [one[measure] for one in self.simulated if one[measure] is not None]
        return sum(values) / len(values) if values else None

    def difference(self, measure: str) -> float | None:
        """Link minus simulator."""
        simulated = self.simulated_mean(measure)
        return None if simulated is None or self.real[measure] is None else self.real[measure] - simulated

    def relative(self, measure: str) -> float | None:
        """The difference over the simulator's value; None where that is 0."""
        simulated, difference = self.simulated_mean(measure), self.difference(measure)
        return difference / simulated if simulated and difference is not None else None

    def document(self) -> dict[str, Any]:
        """Everything, for machines."""
        measures = {
            field: {
                "simulated": self.simulated_mean(field),
                "real": self.real[field],
                "difference": self.difference(field),
                "relative": self.relative(field),
            }
            for field, *_ in MEASURES
        }
        return {
            "scenario": self.scenario,
            "queue": self.queue,
            "aqm": self.aqm,
            "flows": self.flows,
            "flows_reverse": self.back,
            "congestion_control": self.control,
            "window_s": list(self.window),
            "measures": measures,
            "simulated": self.simulated,
            "real": self.real,
            "stack": self.stack,
            "reasons": self.reasons,
        }

    def text(self) -> str:
        """What `crosscheck` prints."""
        head = ["", f"simulator, n = {len(self.simulated)}", "real link", "difference", "%"]
        body = []
        for field, label, factor, digits in MEASURES:
            simulated, relative = self.simulated_mean(field), self.relative(field)
            scaled = [None if v is None else factor * v for v in (simulated, self.real[field], self.difference(field))]
            body.append(
                [
                    label,
                    number(scaled[0], digits),
                    number(scaled[1], digits),
                    signed(scaled[2], digits),
                    signed(None if relative is None else 100 * relative, 1),
                ]
            )
        begin, end = self.window
        flows = f"{self.flows} flows" + (f" and {self.back} the other way" if self.back else "")
        lines = [
            f"{self.scenario}: queue {self.queue} ({self.aqm}), {flows} of the kernel's {self.control}, "
            f"measured from {begin:g} s to {end:g} s",
            "",
            table(head, body, left=1),
            "",
            "Why they can differ:",
        ]
        lines += [paragraph(f"- {reason}", "  ").replace("  - ", "- ", 1) for reason in self.reasons]
        return "\n".join(lines)


@dataclass(frozen=True)
class Flows:
    """The traffic that iperf3 sends."""

    count: int
    segment: int
    """Payload, B."""
    control: str
    timestamps: bool
    ecn: bool
    back: int = 0
    """Flows in the reverse direction. This machine's namespace sends them, with its own sysctls."""

    @property
    def options(self) -> int:
        """Bytes of options in a segment's header."""
        return 12 if self.timestamps else 0

    @property
    def mtu(self) -> int:
        """MTU that holds a segment."""
        return max(1500, self.segment + 40 + self.options)

    def sysctls(self) -> tuple[tuple[str, str], ...]:
        """Sysctls of the sending namespace.

        A socket that was made while the namespace's congestion control was BBR stays paced, whatever control it is
        given before it connects. That default is the machine's, so it is set to one that every kernel has and that
        does not pace; the control of the flows is set by their sockets.
        """
        return (
            ("net.ipv4.tcp_congestion_control", "reno"),
            ("net.ipv4.tcp_timestamps", "1" if self.timestamps else "0"),
            ("net.ipv4.tcp_no_metrics_save", "1"),
            ("net.ipv4.tcp_ecn", "1" if self.ecn else "0"),
        )


def _traffic(file: str | Path, document: Mapping[str, Any]) -> tuple[Flows, str]:
    """The traffic to send, and the stack of the scenario's senders."""
    entries = document["traffic"]
    for number_, entry in enumerate(entries):
        if entry["kind"] != "ftp":
            raise CrosscheckError(
                f'{file}: traffic[{number_}].kind: given "{entry["kind"]}"; allowed "ftp": iperf3 sends endless '
                "transfers; take the other entries out of a copy of the file"
            )
        if "reverse_of" in entry:
            raise CrosscheckError(
                f'{file}: traffic[{number_}].reverse_of: given "{entry["reverse_of"]}"; allowed no such key: the data '
                "of iperf3 go one way in a connection"
            )
        known = KERNEL[entry["stack"]]
        if entry["tcp"] not in known:
            raise CrosscheckError(f"{file}: traffic[{number_}].tcp: given {entry['tcp']}; allowed {', '.join(known)}")
    first = entries[0]
    for key in ("tcp", "stack", "segment", "header", "ecn", "timestamps"):
        if any((entry | entry["rules"]).get(key) != (first | first["rules"]).get(key) for entry in entries):
            raise CrosscheckError(
                f"{file}: traffic: entries differ in {key}; a real link is compared under one kind of flow"
            )
    counts = dict.fromkeys(("forward", "reverse"), 0)
    for entry in entries:
        counts[entry.get("direction", "forward")] += entry["count"]
    return Flows(
        counts["forward"],
        _bytes(first["segment"]),
        KERNEL[first["stack"]][first["tcp"]],
        # Without time stamps a segment's headers are 40 B, as in ns-2.
        bool(first["rules"].get("timestamps")),
        bool(first["ecn"]),
        counts["reverse"],
    ), first["stack"]


def _bytes(size: Any) -> int:
    return int(float(size.split()[0])) if isinstance(size, str) else int(size)


def _duration(value: Any) -> float:
    return links.seconds(value)


def crosscheck(
    path: str | Path,
    sets: Sequence[tuple[str, str]] = (),
    *,
    at: str | None = None,
    seeds: int = 5,
    real_time: bool | None = None,
    progress: Progress = no_progress,
) -> Crosscheck:
    """Runs a scenario in the simulator with several seeds and once on a real link.

    Raises:
        CrosscheckError: the scenario has traffic that iperf3 does not send, or iperf3 is missing.
        links.LinkError: no link can be set up here.
    """
    # The real link's TUN devices have no link layer.
    scenario = _core.Scenario.load(str(path), list(sets)).over_ip()
    document = json.loads(scenario.to_json())
    flows, stack = _traffic(path, document)
    plan, queue = _link(scenario, at, mtu=flows.mtu, sysctls=flows.sysctls(), real_time=real_time)
    need_iperf3()
    warmup, duration = _duration(document["warmup"]), _duration(document["duration"])
    jobs = [Job(scenario, scenario.seed + k) for k in range(seeds)]
    documents: list[dict[str, Any]] = run_all(jobs, progress=progress, label="simulator")
    real = run_real(plan, flows, warmup, duration, progress=progress)
    return Crosscheck(
        scenario.name,
        real["queues"][queue]["aqm"],
        queue,
        flows.count,
        flows.back,
        flows.control,
        stack,
        (warmup, duration),
        [one["queues"][queue] for one in documents],
        real["queues"][queue],
        spread=_spread(document),
    )


def _spread(document: Mapping[str, Any]) -> bool:
    """Whether the access links of a dumbbell differ in their delays."""
    sides = [document["topology"].get(side) or {} for side in ("access", "senders", "receivers")]
    return any(not isinstance(side.get("delay", ""), str) for side in sides)


def _link(scenario: _core.Scenario, at: str | None, **settings: Any) -> tuple[links.Plan, str]:
    """The link with the commands where the scenario's senders are, and the queue to compare."""
    plan = links.from_scenario(scenario, at, **settings)
    there, back = plan.ways()
    if there.aqm == NO_QUEUE:
        raise CrosscheckError(f"--at: given {there.name}; there is no queue in that direction of the scenario")
    network = json.loads(scenario.network())
    turned = [one["reverse"]["name"] for one in network["link"] if one["reverse"]]
    if plan.queue in turned or plan.queue in [network["queue"].get(name) for name in turned]:
        plan = links.from_scenario(scenario, back.name, **settings)
    return plan, there.name


def need_iperf3() -> None:
    """Raises CrosscheckError where iperf3 is missing."""
    if shutil.which("iperf3") is None:
        raise CrosscheckError("iperf3 is not installed; it sends the real traffic (validation/peers/install.sh iperf3)")


def iperf3_version() -> str:
    """What iperf3 calls itself."""
    ended = subprocess.run(["iperf3", "--version"], capture_output=True, text=True, check=False)
    return " ".join(ended.stdout.split()[:2]) or "iperf3"


def run_real(
    plan: links.Plan,
    flows: Flows,
    warmup: float,
    duration: float,
    *,
    port: int = PORT,
    stop: Callable[[], bool] = lambda: False,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Send the flows over the link until `duration`, s, and return the result document from `warmup` on.

    Every hundred flows need a port, from `port` on. `stop` is asked now and then whether to give up.

    Raises:
        CrosscheckError: iperf3 has failed, or it was to give up.
        links.LinkError: no link can be set up here.
    """
    with links.Running(plan) as running, contextlib.ExitStack() as stack:
        shares = [
            (min(MOST_STREAMS, count - k), options)
            for count, options in ((flows.count, []), (flows.back, ["-R"]))
            for k in range(0, count, MOST_STREAMS)
        ]
        null = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
        errors = [stack.enter_context(_scratch()) for _ in shares]
        for k in range(len(shares)):
            stack.enter_context(_server(running.outer, port + k))
        begin = time.monotonic()
        clients = []
        for k, (share, options) in enumerate(shares):
            arguments = ["iperf3", "-c", running.outer, "-p", str(port + k), "-P", str(share), "-C", flows.control]
            arguments += options
            # iperf3's segment size includes TCP options.
            arguments += ["-M", str(flows.segment + flows.options), "-t", str(int(duration) + 5)]
            clients.append(running.start(arguments, stdout=null.fileno(), stderr=errors[k].fileno()))
        measuring = warmup == 0
        while (elapsed := time.monotonic() - begin) < duration:
            progress(int(elapsed), max(2, int(duration)), "real link")
            if stop():
                raise CrosscheckError("given up")
            for client, error in zip(clients, errors, strict=True):
                if client.poll() is not None:
                    error.seek(0)
                    said = error.read().strip() or f"exit code {client.returncode}"
                    raise CrosscheckError(f"iperf3 ended early: {said}")
            if not measuring and elapsed >= warmup:
                running.restart()
                measuring = True
            time.sleep(min(0.1, max(0.0, duration - elapsed)))
        result = running.stop(0)
    document: dict[str, Any] = result.document
    return document


@contextlib.contextmanager
def _scratch() -> Iterator[Any]:
    import tempfile

    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as file:
        yield file


@contextlib.contextmanager
def _server(address: str, port: int) -> Iterator[None]:
    """An iperf3 server in this namespace that listens to one address."""
    command = ["iperf3", "-s", "-1", "-B", address, "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port, process)
        yield
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a process listens at a port, without connecting to it."""
    wanted = f":{port:04X} "
    for _ in range(500):
        for name in ("tcp", "tcp6"):
            with contextlib.suppress(OSError):
                lines = Path(f"/proc/thread-self/net/{name}").read_text(encoding="ascii").splitlines()
                # In column 4, 0A means listening.
                if any(wanted in line and line.split()[3] == "0A" for line in lines[1:]):
                    return
        if process.poll() is not None:
            break
        time.sleep(0.01)
    raise CrosscheckError(f"iperf3 cannot listen on port {port}")
