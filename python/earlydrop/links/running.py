"""An emulated link that runs, and the command behind it."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from types import TracebackType
from typing import TYPE_CHECKING, Any

import earlydrop._core as _core
from ..document import effects
from . import rights
from .keeper import Keeper
from .planning import MTU_IPV6, LinkError, OptionError, Plan, plan
from .records import arrays, log
from .resolver import Names, names

if TYPE_CHECKING:
    import numpy as np
    import polars

    from ..result import Result

RING = 10_000
"""Packets that the kernel buffers before the loop reads them; they are not part of the link's queue."""

PATIENCE = 5.0
"""Time that a command has from the signal that ends it to its end, s; then it is killed."""

MOST_CHANGES = 10_000
"""How often a link can be changed: all changes are kept, to be repeated."""

LONGEST_LINE = 1000
"""Characters of the link's options that are printed; a trace in a scenario has many more."""

DRAIN = 1.0
"""Longest time that a stopping link waits for packets in flight, s."""


def require_linux() -> None:
    """Raises LinkError on other systems, for which the engine is built without links."""
    if not hasattr(_core, "Link"):
        system = platform.system().replace("Darwin", "macOS")
        raise LinkError(
            f"real links need Linux (TUN devices and network namespaces); this is {system}. run, compare, sweep and "
            "all other commands that simulate work here"
        )


@dataclass(frozen=True)
class User:
    """The user that a command runs as."""

    uid: int
    gid: int
    groups: tuple[int, ...]
    name: str
    home: str

    @staticmethod
    def named(name: str) -> User:
        """The user of that name or number.

        Raises:
            OptionError: there is no such user.
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
        """The user who called this program through sudo or as a setuid program; None otherwise."""
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
        """Process number of the command."""
        return self._child.pid

    def poll(self) -> int | None:
        """The exit code, or minus the number of the signal that ended it; None while it runs."""
        return self.wait_for(0)

    def wait_for(self, timeout: float) -> int | None:
        """The exit code once it has ended, or after `timeout` seconds."""
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
    """An emulated link that runs. As a context manager, it removes its devices and its namespace at the end."""

    def __init__(self, plan: Plan, ends: tuple[str, str] | None = None) -> None:
        self.plan = plan
        self.ends = ends
        self.commands: list[str] = []
        """Commands that were started behind the link, as a shell would read them."""
        self.changes: list[tuple[float, str]] = []
        """When the link was changed, s since it started, and what was asked for."""
        self.result: Result | None = None
        """The result, once the link has stopped."""
        self.records: dict[str, dict[str, np.ndarray[Any, Any]]] = {}
        """The recorded arrivals, by queue."""
        require_linux()
        if not _core.has_tun():
            raise LinkError(f"cannot open /dev/net/tun: links need TUN devices (modprobe tun; {rights.CONTAINER})")
        if plan.nat and ends is not None:
            raise OptionError("--nat: belongs to a command behind the link; joined namespaces have routes of their own")
        self._names = names() if plan.nat else Names(())
        self._keeper = Keeper() if plan.nat else None
        try:
            self._core = _core.Link.open(
                plan.scenario,
                plan.queue,
                plan.seed,
                plan.delays,
                plan.mtu,
                RING,
                list(plan.sysctls),
                plan.nat,
                self._names.resolv_conf,
                plan.real_time,
                plan.series,
                plan.record,
                ends,
            )
        except OSError as error:
            self._release()
            # The engine's text names the operation; str(error) would repeat it after the error number.
            said = error.strerror or str(error)
            hint = f"\n  {rights.way_out(said)}" if isinstance(error, PermissionError) else ""
            raise LinkError(f"{said}{hint}") from error
        self._addresses = self._core.addresses()

    @property
    def outer(self) -> str:
        """IPv4 address of the near end: a command behind the link reaches it through the link."""
        return self._address(0, 0)

    @property
    def outer6(self) -> str:
        """IPv6 address of the near end."""
        return self._address(0, 1)

    @property
    def inner(self) -> str:
        """IPv4 address behind the link."""
        return self._address(1, 0)

    @property
    def inner6(self) -> str:
        """IPv6 address behind the link."""
        return self._address(1, 1)

    def _address(self, end: int, family: int) -> str:
        if self._addresses is None:
            raise LinkError("a link between two devices has no addresses")
        if family == 1 and self.plan.mtu < MTU_IPV6:
            raise LinkError(f"a link with an MTU of {self.plan.mtu} B has no IPv6 addresses; allowed from {MTU_IPV6} B")
        return self._addresses[end][family]

    @property
    def device(self) -> str | None:
        """Name of the device at the near end."""
        return self._core.device()

    @property
    def namespace(self) -> int | None:
        """Number of the namespace behind the link, as `lsns -t net` shows it."""
        return self._core.namespace()

    def is_alive(self) -> bool:
        """Whether the link forwards packets."""
        return self._core.is_alive()

    @property
    def real_time(self) -> bool:
        """Whether the link has real-time priority."""
        return self._core.real_time()

    def reach(self) -> str:
        """What commands behind the link reach, in a sentence."""
        here = f"the command reaches this machine at {self.outer} ($EARLYDROP_OUTER)"
        if not self.plan.nat and "EARLYDROP_BASE" in os.environ:
            # This link runs behind another link, whose namespace forwards.
            return f"{here} and what is reached from here, through the link around this one"
        if not self.plan.nat:
            return f"{here} and nothing beyond it; with --nat it reaches what this machine reaches"
        families = "" if _core.forwards_ipv6() else " by IPv4"
        servers = ", ".join(self._names.servers)
        resolved = f"names are resolved by {servers}" if servers else "no name server can be reached"
        return f"{here} and what this machine reaches{families} (NAT); {resolved}"

    def shape(self) -> str:
        """The options that make the link again, and what the user may not expect of its queues."""
        between = [] if self.ends is None else ["--between", *self.ends]
        words = shlex.join(["earlydrop", "link", *self.plan.options(), *between])
        if len(words) > LONGEST_LINE:
            words = f"{words[:LONGEST_LINE]}..."
        return "; ".join([words, *self.plan.remarks()])

    def environment(self, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """`base`, or this program's environment, with the addresses of the link.

        `EARLYDROP_OUTER` and `EARLYDROP_INNER` (with a 6 for IPv6) are the link's ends, `EARLYDROP_BASE` the outer end
        of the outermost link. An MTU below 1280 B leaves IPv6 out.
        """
        env = dict(os.environ if base is None else base)
        env |= {"EARLYDROP_OUTER": self.outer, "EARLYDROP_INNER": self.inner}
        env.setdefault("EARLYDROP_BASE", self.outer)
        if self.plan.mtu < MTU_IPV6:
            for name in ("OUTER", "INNER", "BASE"):
                env.pop(f"EARLYDROP_{name}6", None)
            return env
        env |= {"EARLYDROP_OUTER6": self.outer6, "EARLYDROP_INNER6": self.inner6}
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
        self.commands.append(shlex.join(words))
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
        """Current state of the queues: packets, average, counts, flows. None if the link has stopped."""
        for _ in range(100):
            # The loop answers the first request at its next wake-up.
            text = self._core.view()
            if text is not None:
                view: dict[str, Any] = json.loads(text)
                return view
            time.sleep(0.01)
        return None

    def change(self, line: str) -> float:
        """Change rate, delay or parameters of the queues, such as `rate=5Mbit/s queue.target=8ms`; with `reverse-` in
        front of a key it is that of the direction that the command receives. Returns the time since the start, s.

        Raises:
            OptionError: the line says what cannot be. Nothing has changed then.
        """
        if len(self.changes) >= MOST_CHANGES:
            raise OptionError(f"a link can be changed {MOST_CHANGES} times")
        try:
            time = self._core.change(line)
        except _core.ScenarioError as error:
            raise OptionError(str(error)) from None
        except RuntimeError as error:
            raise LinkError(str(error)) from None
        self.changes.append((time, line))
        return time

    def settings(self) -> dict[str, Any]:
        """Rate, delay and the parameters that can change, as they are now: `sent` by the command, and `received`."""
        found: dict[str, Any] = json.loads(self._core.shown())
        return found

    def restart(self) -> None:
        """Restart the measurement: earlier packets do not count."""
        self._core.restart()
        time.sleep(0.1)

    def stop(self, drain: float = DRAIN) -> Result:
        """Stop the processes behind the link, then the link, and return the result."""
        from ..result import Result

        if self.result is not None:
            return self.result
        try:
            text, columns = self._core.stop(drain)
        except OSError as error:
            raise LinkError(error.strerror or str(error)) from error
        finally:
            self._release()
        document = json.loads(text)
        document["commands"] = self.commands
        document["line"] = shlex.join(["earlydrop", "link", *self.plan.options()])
        document["changes"] = [{"time_s": time, "change": line} for time, line in self.changes]
        document["between"] = None if self.ends is None else list(self.ends)
        for name, delay in zip(document["queues"], self.plan.delays, strict=True):
            document["queues"][name]["propagation_ms"] = 1e3 * delay
        self.result = Result(document, json.loads(self.plan.scenario.to_json()))
        self.records = {name: arrays(one) for name, one in columns.items()}
        return self.result

    def _release(self) -> None:
        if self._keeper is not None:
            self._keeper.close()

    def log(self) -> polars.DataFrame:
        """The recorded arrivals of both queues, one after the other: time, packet and outcome of each."""
        return log(self.records)

    def __enter__(self) -> Running:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class Link(dict[str, Any]):
    """A link of a scenario; as a context manager, the same link emulated on this machine.

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
        self._running = Running(plan(self.get("rate"), self.get("delay", "0 ms"), **effects(self), **self._real))
        return self._running

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.stop()


def supervise(running: Running, command: Command | None, caught: list[int], panel: Any = None) -> int:
    """Wait until the command ends, or until an interruption if there is none, and return the exit code as a shell does.

    Signals in `caught` (see `signals`) are passed on to the command. One that does not end by the first of them that
    asks for it is killed after `PATIENCE`, or at the second.
    """
    import signal

    ending = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
    kill_at: float | None = None
    while True:
        if command is None:
            if caught or not running.is_alive():
                return 0
            time.sleep(0.1)
        else:
            code = command.wait_for(0.1)
            if code is not None:
                return code if code >= 0 else 128 - code
            # Signals that come together, as to a whole group of processes and again through sudo, are one.
            before = kill_at
            while caught:
                number = caught.pop(0)
                # The terminal has sent the command these signals already, and a shell there lives on.
                theirs = number in (signal.SIGINT, signal.SIGQUIT) and _in_foreground()
                if number in ending and before is not None:
                    kill_at = 0.0
                elif not theirs:
                    command.send_signal(number)
                    kill_at = time.monotonic() + PATIENCE if number in ending else kill_at
            if kill_at is not None and time.monotonic() >= kill_at:
                command.send_signal(signal.SIGKILL)
        if panel is not None:
            panel.update()


def _in_foreground() -> bool:
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def signals() -> Iterator[list[int]]:
    """Within the block the signals that end a program do not: their numbers are appended to the list."""
    import signal

    caught: list[int] = []

    def note(number: int, frame: object) -> None:
        caught.append(number)

    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
    before = {number: signal.signal(number, note) for number in ending}
    try:
        yield caught
    finally:
        for number, old in before.items():
            signal.signal(number, old)
