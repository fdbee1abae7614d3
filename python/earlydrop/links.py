"""Real links: the queues of a scenario, or of options, between real network namespaces.

`Plan` says what to emulate, `Running` is a link at work, `Link` is what `earlydrop.link(...)` gives: a link as a
scenario has it, and a context manager that makes it real. Linux only; a link needs the capabilities CAP_NET_ADMIN and
CAP_SYS_ADMIN.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    import numpy as np
    import polars

    from .aqm import Queue
    from .result import Result

UNLIMITED = "1 Tbit/s"
"""What "unlimited" stands for: a packet of 1500 B takes 12 ns."""

SERIES = 0.1
"""Interval at which queues are sampled, s."""

MOST_RECORDED = 20_000_000
"""Arrivals of each direction that a log can hold; about 60 B of memory each."""

MTU = (576, 65_535)
"""Smallest and largest MTU, B. IPv6 needs 1280."""

RING = 10_000
"""Packets that the kernel keeps in front of the link until the loop takes them; they are no queue of the link's."""

DRAIN = 1.0
"""How long a link that ends waits for packets under way, s at most."""

FATES = ("queued", "departed", "early drop", "forced drop", "overflow drop")
"""What the codes of a log's column `fate` mean."""

_COLUMNS = {
    "time_s": "<f8",
    "flow": "<u8",
    "size": "<u4",
    "ecn": "u1",
    "class": "u1",
    "ttl": "u1",
    "initial_ttl": "u1",
    "fate": "u1",
    "settled_s": "<f8",
    "ecn_out": "u1",
}

Spec = "str | Mapping[str, Any] | Queue"


class LinkError(Exception):
    """A link cannot be set up or has failed. The message says why."""


class OptionError(LinkError):
    """An option is wrong: which, what was given, what is allowed."""


# ---- what to emulate -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """A link to emulate: a checked scenario, and its queue that stands at the link."""

    scenario: _core.Scenario
    queue: str
    delays: tuple[float, float]
    """Propagation delay there and back, s."""
    seed: int
    mtu: int = 1500
    sysctls: tuple[tuple[str, str], ...] = ()
    """Sysctls of the namespace behind the link, such as `("net.ipv4.tcp_ecn", "1")`."""
    real_time: bool = False
    """Give the loop real-time priority (SCHED_FIFO)."""
    series: float | None = SERIES
    record: int = 0
    """Arrivals of each direction to keep with their fates."""


def queue_settings(spec: str | Mapping[str, Any] | Queue, prefix: str) -> list[tuple[str, str]]:
    """A queue's text such as `red limit=120p min_th=20`, its table or its class, as settings below `prefix`.

    Raises:
        OptionError: the text is no such list.
    """
    from .aqm import Queue

    if isinstance(spec, Queue):
        spec = spec.document()
    if isinstance(spec, Mapping):
        return [(f"{prefix}.{key}", v if isinstance(v, str) else json.dumps(v)) for key, v in spec.items()]
    try:
        words = shlex.split(spec)
    except ValueError as error:
        raise OptionError(f"{spec!r}: {error}") from None
    if not words or "=" in words[0]:
        raise OptionError(f'given "{spec}"; allowed a discipline with its settings, such as "red limit=120p min_th=20"')
    settings = [(f"{prefix}.aqm", words[0])]
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if not equals or not key or not value:
            raise OptionError(f'given "{word}" in "{spec}"; allowed NAME=VALUE, such as limit=120p')
        settings.append((f"{prefix}.{key}", value))
    return settings


def _rate(rate: str | Mapping[str, Any] | None, trace: str | PathLike[str] | None) -> Any:
    if trace is not None:
        return {"trace": fspath(trace)}
    return UNLIMITED if rate == "unlimited" else rate


_OPTIONS = (
    ("queue.bottleneck", "--queue"),
    ("queue.reverse", "--reverse-queue"),
    ("topology.bottleneck.rate.trace", "--trace"),
    ("topology.bottleneck.rate", "--rate"),
    ("topology.bottleneck.delay", "--delay"),
    ("topology.bottleneck.loss", "--loss"),
    ("topology.bottleneck.jitter", "--jitter"),
    ("topology.reverse.rate.trace", "--reverse-trace"),
    ("topology.reverse.rate", "--reverse-rate"),
    ("topology.reverse.delay", "--reverse-delay"),
    ("topology.reverse.loss", "--loss"),
    ("seed", "--seed"),
)


def _as_option(error: _core.ScenarioError) -> OptionError:
    """The checker's message with the option in the place of the field."""
    path = error.path or ""
    for field_path, option in _OPTIONS:
        if path == field_path or path.startswith(field_path + "."):
            rest = path[len(field_path) + 1 :]
            where = f"{option}: {rest}" if rest else option
            break
    else:
        return OptionError(str(error))
    hint = f"\n  given {error.given}" if error.given else ""
    if error.allowed:
        hint += f"{';' if hint else chr(10) + ' '} allowed {error.allowed}"
    return OptionError(f"{where}: {error.message}{hint}")


def plan(
    rate: str | Mapping[str, Any] | None = None,
    delay: str = "0 ms",
    *,
    queue: str | Mapping[str, Any] | Queue = "droptail",
    reverse_queue: str | Mapping[str, Any] | Queue | None = None,
    loss: float | str | Mapping[str, Any] | None = None,
    jitter: str | Mapping[str, Any] | None = None,
    reorder: Mapping[str, Any] | None = None,
    trace: str | PathLike[str] | None = None,
    reverse_rate: str | Mapping[str, Any] | None = None,
    reverse_delay: str | None = None,
    reverse_trace: str | PathLike[str] | None = None,
    seed: int = 1,
    **settings: Any,
) -> Plan:
    """A link from its parts, through the checker of scenarios.

    What is not said of the way back is as on the way there; without a `reverse_queue` it has room for everything.
    `settings` are the other fields of `Plan`.

    Raises:
        OptionError: which option is wrong, what was given, what is allowed.
    """
    if (rate is None) == (trace is None):
        given = "neither" if rate is None else "both"
        raise OptionError(f"--rate or --trace: given {given}; allowed one of the two")
    if reverse_rate is not None and reverse_trace is not None:
        raise OptionError("--reverse-rate or --reverse-trace: given both; allowed one of the two")
    mtu = settings.get("mtu", 1500)
    if not MTU[0] <= mtu <= MTU[1]:
        raise OptionError(f"--mtu: given {mtu}; allowed {MTU[0]} to {MTU[1]} B")
    forward = {"rate": _rate(rate, trace), "delay": delay}
    more = {"loss": loss, "jitter": jitter, "reorder": reorder}
    forward |= {key: value for key, value in more.items() if value is not None}
    back = dict(forward)
    if reverse_rate is not None or reverse_trace is not None:
        back["rate"] = _rate(reverse_rate, reverse_trace)
    if reverse_delay is not None:
        back["delay"] = reverse_delay
    host = {"rate": UNLIMITED, "delay": "0 s"}
    document = {
        "name": "link",
        "duration": "1 s",
        "topology": {"kind": "dumbbell", "pairs": 1, "access": host, "bottleneck": forward, "reverse": back},
        # The checker wants traffic, and that a queue can hold its packets.
        "traffic": [{"kind": "ftp", "segment": mtu - 40}],
    }
    sets: list[tuple[str, str]] = []
    queues: dict[str, Any] = {}
    for spec, name, option in ((queue, "bottleneck", "--queue"), (reverse_queue, "reverse", "--reverse-queue")):
        if spec is None:
            continue
        try:
            (_, aqm), *settings_of_queue = queue_settings(spec, f"queue.{name}")
        except OptionError as error:
            raise OptionError(f"{option}: {error}") from None
        # Not a setting too: with one, what the discipline does not know would be left out instead of refused.
        queues[name] = {"aqm": aqm}
        sets += settings_of_queue
    try:
        checked = _core.Scenario.parse({**document, "queue": queues, "seed": seed}, sets)
    except _core.ScenarioError as error:
        raise _as_option(error) from None
    delays = _delays(json.loads(checked.network()), "bottleneck")
    return Plan(checked, "bottleneck", delays, seed, **settings)


def from_scenario(scenario: _core.Scenario, at: str | None = None, seed: int | None = None, **settings: Any) -> Plan:
    """The link of a scenario that has the queue `at` (default: `bottleneck`, or the only queue).

    Delays are those of a whole path through that link, where all paths are alike: of a dumbbell, the bottleneck's and
    the mean of the access links'. For other networks it is the link's own delay.

    Raises:
        OptionError: there is no such queue.
    """
    network = json.loads(scenario.network())
    names = list(dict.fromkeys(network["queue"].values()))
    places = list(network["queue"])
    # A queue that stands at one link is called by its own name, else by its link's.
    known = [name if names.count(name) == 1 else place for place, name in network["queue"].items()]
    if at is None:
        at = "bottleneck" if "bottleneck" in known else known[0] if len(known) == 1 else None
    if at is None or at not in known:
        raise OptionError(f"--at: given {at or 'nothing'}; allowed {', '.join(known)}")
    link = places[known.index(at)]
    return Plan(scenario, at, _delays(network, link), scenario.seed if seed is None else seed, **settings)


def seconds(delay: Any) -> float:
    """A time as a completed scenario has it, s; the mean where it is drawn."""
    if isinstance(delay, str):
        number, _, unit = delay.partition(" ")
        return float(number) * {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]
    if isinstance(delay, Mapping):
        return statistics.fmean(seconds(end) for end in delay["uniform"])
    if isinstance(delay, list):
        return statistics.fmean(seconds(one) for one in delay)
    return float(delay)


def _delays(network: Mapping[str, Any], link: str) -> tuple[float, float]:
    """Delay there and back over the link of that name, with the access links of a dumbbell."""
    for one in network["link"]:
        there, back = one, one["reverse"] or one
        turned = bool(one["reverse"]) and one["reverse"]["name"] == link
        if one["name"] != link and not turned:
            continue
        delays = [seconds(there["delay"]), seconds(back["delay"])]
        ends = (one["from"], one["to"])
        others = [other for other in network["link"] if other is not one]
        # Two routers with hosts on both sides, and nothing else.
        if all((other["from"] in ends) != (other["to"] in ends) for other in others):
            for end in ends:
                mine = [other for other in others if end in (other["from"], other["to"])]
                if mine:
                    ways = [(o, o["reverse"] or o) for o in mine]
                    delays[0] += statistics.fmean(seconds(w[0]["delay"]) for w in ways)
                    delays[1] += statistics.fmean(seconds(w[1]["delay"]) for w in ways)
        return (delays[1], delays[0]) if turned else (delays[0], delays[1])
    raise OptionError(f"--at: the network has no link {link}")


# ---- a link at work ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class User:
    """Whom a command runs as."""

    uid: int
    gid: int
    groups: tuple[int, ...]
    name: str
    home: str

    @staticmethod
    def named(name: str) -> User:
        """The user of that name or number.

        Raises:
            OptionError: there is none.
        """
        import pwd

        try:
            entry = pwd.getpwuid(int(name)) if name.isdigit() else pwd.getpwnam(name)
        except KeyError:
            raise OptionError(f"--user: there is no user {name}") from None
        groups = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid))
        return User(entry.pw_uid, entry.pw_gid, groups, entry.pw_name, entry.pw_dir)

    @staticmethod
    def calling() -> User | None:
        """Who called this program, if it has other rights than his: through sudo, or as a setuid program."""
        if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdigit() and os.environ["SUDO_UID"] != "0":
            return User.named(os.environ["SUDO_UID"])
        if os.geteuid() != os.getuid():
            return User.named(str(os.getuid()))
        return None


class Command:
    """A command behind a link."""

    def __init__(self, child: _core.Child, args: Sequence[str]) -> None:
        self._child = child
        self.args = list(args)
        self.returncode: int | None = None

    @property
    def pid(self) -> int:
        """Its process number."""
        return self._child.pid

    def poll(self) -> int | None:
        """Its exit code, or minus the signal that ended it; None while it runs."""
        return self.wait_for(0)

    def wait_for(self, timeout: float) -> int | None:
        """The same after it has ended, or after `timeout` seconds."""
        if self.returncode is None:
            self.returncode = self._child.wait(timeout)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits until it ends.

        Raises:
            subprocess.TimeoutExpired: it has not, after `timeout` seconds.
        """
        begin = time.monotonic()
        while self.wait_for(0.1) is None:
            if timeout is not None and time.monotonic() - begin > timeout:
                raise subprocess.TimeoutExpired(self.args, timeout)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Sends it a signal, if it still runs."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


class Running:
    """A link at work. Use it as a context manager: its devices and its namespace are gone when the block ends."""

    def __init__(self, plan: Plan, ends: tuple[str, str] | None = None) -> None:
        self.plan = plan
        self.result: Result | None = None
        """What happened, once the link has been stopped."""
        self.records: dict[str, dict[str, np.ndarray[Any, Any]]] = {}
        """By queue, the arrivals that were kept."""
        if not hasattr(_core, "Link"):
            raise LinkError("links need Linux")
        if not _core.has_tun():
            raise LinkError("cannot open /dev/net/tun: links need Linux with TUN devices (modprobe tun)")
        try:
            self._core = _core.Link.open(
                plan.scenario,
                plan.queue,
                plan.seed,
                plan.delays,
                plan.mtu,
                RING,
                list(plan.sysctls),
                plan.real_time,
                plan.series,
                plan.record,
                ends,
            )
        except OSError as error:
            # The engine's text says what was being done; the number in front of it says it once more.
            raise LinkError(error.strerror or str(error)) from error
        self._addresses = self._core.addresses()

    @property
    def outer(self) -> str:
        """IPv4 address in front of the link: what a command behind it reaches through it."""
        return self._address(0, 0)

    @property
    def outer6(self) -> str:
        """IPv6 address there."""
        return self._address(0, 1)

    @property
    def inner(self) -> str:
        """IPv4 address behind the link."""
        return self._address(1, 0)

    @property
    def inner6(self) -> str:
        """IPv6 address there."""
        return self._address(1, 1)

    def _address(self, end: int, family: int) -> str:
        if self._addresses is None:
            raise LinkError("a link between two devices has no addresses")
        return self._addresses[end][family]

    @property
    def device(self) -> str | None:
        """Name of the device in front of the link."""
        return self._core.device()

    @property
    def namespace(self) -> int | None:
        """Number of the namespace behind the link, as `lsns -t net` shows it."""
        return self._core.namespace()

    def is_alive(self) -> bool:
        """Whether it carries packets."""
        return self._core.is_alive()

    def environment(self, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """`base`, or this program's environment, with the addresses of the link.

        `EARLYDROP_OUTER` and `EARLYDROP_INNER` (with a 6 for IPv6) are the link's ends, `EARLYDROP_BASE` the outer end
        of the outermost link.
        """
        env = dict(os.environ if base is None else base)
        env |= {
            "EARLYDROP_OUTER": self.outer,
            "EARLYDROP_OUTER6": self.outer6,
            "EARLYDROP_INNER": self.inner,
            "EARLYDROP_INNER6": self.inner6,
        }
        env.setdefault("EARLYDROP_BASE", self.outer)
        env.setdefault("EARLYDROP_BASE6", self.outer6)
        return env

    def start(
        self,
        args: Sequence[str | PathLike[str]],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | PathLike[str] | None = None,
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        user: User | None = None,
    ) -> Command:
        """Starts a command behind the link. `stdin`, `stdout`, `stderr`: file descriptors, or this program's.

        Raises:
            FileNotFoundError, PermissionError: as `subprocess` does.
        """
        words = [fspath(one) for one in args]
        variables = self.environment(env)
        if user is not None:
            variables |= {"USER": user.name, "LOGNAME": user.name, "HOME": user.home}
        child = self._core.spawn(
            words,
            list(variables.items()),
            None if cwd is None else fspath(cwd),
            (stdin, stdout, stderr),
            None if user is None else (user.uid, user.gid, list(user.groups)),
        )
        return Command(child, words)

    def run(
        self,
        args: Sequence[str | PathLike[str]],
        *,
        check: bool = False,
        capture_output: bool = False,
        timeout: float | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | PathLike[str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command behind the link, as `subprocess.run` does with texts.

        Raises:
            subprocess.TimeoutExpired: it took longer than `timeout` seconds and was killed.
            subprocess.CalledProcessError: with `check`, it failed.
        """
        with contextlib.ExitStack() as stack:
            out: Any = stack.enter_context(tempfile.TemporaryFile()) if capture_output else None
            err: Any = stack.enter_context(tempfile.TemporaryFile()) if capture_output else None
            files = {"stdout": out.fileno(), "stderr": err.fileno()} if capture_output else {}
            command = self.start(args, env=env, cwd=cwd, **files)
            try:
                code = command.wait(timeout)
            except BaseException:
                command.send_signal(9)
                command.wait(5)
                raise
            texts: list[str | None] = []
            for file in (out, err):
                if file is None:
                    texts.append(None)
                    continue
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
            ended = subprocess.CompletedProcess(command.args, code, texts[0], texts[1])
        if check:
            ended.check_returncode()
        return ended

    def view(self) -> dict[str, Any] | None:
        """How the queues look now: packets, average, counts, flows. None if the link no longer answers."""
        for _ in range(100):
            # The first question waits for the loop to look up.
            text = self._core.view()
            if text is not None:
                view: dict[str, Any] = json.loads(text)
                return view
            time.sleep(0.01)
        return None

    def restart(self) -> None:
        """Begins to measure anew: what happened before does not count."""
        self._core.restart()
        time.sleep(0.1)

    def stop(self, drain: float = DRAIN) -> Result:
        """Ends the processes behind the link, then the link; what happened."""
        from .result import Result

        if self.result is not None:
            return self.result
        try:
            text, columns = self._core.stop(drain)
        except OSError as error:
            raise LinkError(error.strerror or str(error)) from error
        self.result = Result(text, json.loads(self.plan.scenario.to_json()))
        self.records = {name: _arrays(one) for name, one in columns.items()}
        return self.result

    def log(self) -> polars.DataFrame:
        """The arrivals that were kept, both queues one after the other: when, what, and what became of each."""
        return log(self.records)

    def __enter__(self) -> Running:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class Link(dict[str, Any]):
    """A link as a scenario has it; and, as a context manager, that link for real.

    with ed.link("20 Mbit/s", "20 ms", queue="red limit=120p") as l:
        l.run(["iperf3", "-c", l.outer])
    print(l.result.queues)
    """

    def __init__(self, document: Mapping[str, Any], real: Mapping[str, Any]) -> None:
        super().__init__(document)
        self._real = dict(real)
        self._running: Running | None = None

    def __enter__(self) -> Running:
        if self._running is not None:
            raise LinkError("this link is at work already")
        parts = {key: self[key] for key in ("loss", "jitter", "reorder") if key in self}
        self._running = Running(plan(self["rate"], self["delay"], **parts, **self._real))
        return self._running

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.stop()


# ---- logs ----------------------------------------------------------------------------------------------------------


def _arrays(columns: Mapping[str, bytes]) -> dict[str, np.ndarray[Any, Any]]:
    import numpy as np

    return {name: np.frombuffer(columns[name], dtype=kind) for name, kind in _COLUMNS.items()}


def log(records: Mapping[str, Mapping[str, np.ndarray[Any, Any]]]) -> polars.DataFrame:
    """Records as one table, with a column `queue`."""
    import polars

    tables = [
        polars.DataFrame(dict(columns)).insert_column(0, polars.lit(queue).alias("queue"))
        for queue, columns in records.items()
    ]
    return polars.concat(tables) if tables else polars.DataFrame()


def write_log(path: Path, records: Mapping[str, Mapping[str, np.ndarray[Any, Any]]]) -> None:
    """Write the table as Parquet."""
    log(records).write_parquet(path)


@dataclass(frozen=True)
class Replay:
    """A log run through the simulator."""

    arrivals: int
    differing: int
    first: str = field(default="")
    """What the first difference is."""


def replay(plan: Plan, records: Mapping[str, Mapping[str, np.ndarray[Any, Any]]]) -> dict[str, Replay]:
    """Runs recorded arrivals through the simulator's ports; by queue, how many were decided otherwise there.

    Queues that the scenario does not have, because they have room for everything, are left out.
    """
    import numpy as np

    network = json.loads(plan.scenario.network())
    found = {}
    for name, columns in records.items():
        if name != plan.queue and name not in network["queue"].values() and name not in network["queue"]:
            continue
        settled = columns["settled_s"]
        last = max([*columns["time_s"][-1:], *settled[np.isfinite(settled)]], default=0.0)
        simulated = _core.replay_link(
            plan.scenario,
            plan.queue,
            plan.seed,
            name != plan.queue,
            float(last) + 1e-9,
            *(columns[key].tolist() for key in ("time_s", "flow", "size", "ecn", "class", "ttl", "initial_ttl")),
        )
        theirs = {key: np.frombuffer(simulated[key], dtype=_COLUMNS[key]) for key in ("fate", "settled_s", "ecn_out")}
        # What still waited when the link ended may have left by now in the simulator.
        same = (columns["fate"] == theirs["fate"]) & (columns["ecn_out"] == theirs["ecn_out"])
        same &= (columns["settled_s"] == theirs["settled_s"]) | np.isnan(settled)
        differing = np.flatnonzero(~same & (columns["fate"] != 0))
        first = ""
        if len(differing):
            at = int(differing[0])
            first = (
                f"arrival {at} at {columns['time_s'][at]:.9f} s: {FATES[columns['fate'][at]]} on the link, "
                f"{FATES[theirs['fate'][at]]} in the simulator"
            )
        found[name] = Replay(len(settled), len(differing), first)
    return found


# ---- the command ---------------------------------------------------------------------------------------------------


def supervise(running: Running, command: Command | None, caught: list[int], panel: Any = None) -> int:
    """Waits until the command ends, or without one until somebody interrupts; its exit code as a shell gives it.

    Signals that come meanwhile, see `signals`, go on to the command.
    """
    import signal

    while True:
        if command is None:
            if caught or not running.is_alive():
                return 0
            time.sleep(0.1)
        else:
            code = command.wait_for(0.1)
            if code is not None:
                return code if code >= 0 else 128 - code
            while caught:
                number = caught.pop(0)
                # The terminal has told the command itself.
                if number != signal.SIGINT or not _in_foreground():
                    command.send_signal(number)
        if panel is not None:
            panel.update()


def _in_foreground() -> bool:
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def signals() -> Iterator[list[int]]:
    """While the block runs, SIGINT, SIGTERM and SIGHUP interrupt nothing: they go into this list."""
    import signal

    caught: list[int] = []

    def note(number: int, frame: object) -> None:
        caught.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield caught
    finally:
        for number, old in before.items():
            signal.signal(number, old)
