"""Sends each signal at moments of each command, and says what did not end as it should.

    python tools/signals.py [--moments 10] [--seed 1] [COMMAND ...]

TERM, INT, HUP, QUIT and KILL go to the command's process and to its group, at moments spread over the length of the
command. Then the exit code must be 128 and the signal's number, or 0 where the command was done first; no process of it
is left, nothing in the folder of temporary files, nothing in /dev/shm (looked at as root on Linux, in a namespace of
its own); and what stands under the name of a result is whole. After KILL, what was being written may stay until the
same command has run again. Exit code 1: something was found.

`link` has rules of its own: tools/torture.py kills it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMAND = Path(sys.executable).with_name("earlydrop")
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL)
ENDS_S = 30.0
"""How long a command may take to end on a busy machine; more is a hang."""
TRIAL = "EARLYDROP_SIGNALS_TRIAL"
"""The environment variable that marks the processes of a trial."""

SCENARIO = """
name = "small"
duration = "DURATION"
[topology]
kind = "dumbbell"
pairs = 4
access = { rate = "100 Mbit/s", delay = "5 ms" }
bottleneck = { rate = "2 Mbit/s", delay = "10 ms" }
[queue.bottleneck]
aqm = "red"
limit = "30 packets"
[[traffic]]
kind = "ftp"
count = 4
"""
SWEEP = """
name = "s"
scenario = "small.toml"
seeds = SEEDS
measures = ["goodput", "queue_delay"]
[[factor]]
name = "aqm"
path = "queue.bottleneck.aqm"
values = ["droptail", "red", "codel"]
"""


@dataclass(frozen=True)
class Work:
    """A command: its words, and the length to take for it where it does not end by itself."""

    words: tuple[str, ...]
    endless_s: float | None = None


def _works(**lines: str) -> dict[str, Work]:
    return {name.replace("_", "-"): Work(tuple(line.split())) for name, line in lines.items()}


WORKS = {
    **_works(
        run="run long.toml --out out",
        compare="compare small.toml --aqm droptail red --seeds 4 --out out",
        sweep="sweep many.toml --workers 2 --out out",
        reproduce="reproduce ./study --quick --workers 2 --out out",
        report="report made",
        advise="advise --down 5mbit --up 1mbit --seeds 2 --aqm droptail pie --out out",
        check="check many.toml",
        show="show red --plot curve.png",
        trace="trace long.toml out.tr",
        bench="bench --case A --runs 1",
        validate="validate --case S1-droptail-n6-b120 --seeds 2",
        vectors="vectors --out written",
        diff="diff made made",
        test_aqm="test-aqm mine.py --packets 20000",
        break_="break mobile --aqm pie --against droptail --objective delay --runs 200 --workers 2 --out out",
        tune="tune small.toml --aqm red --trials 4 --seeds 2 --confirm 2",
        list="list aqms --json",
    ),
    "store verify": Work(("store", "verify", "runs")),
    "store gc": Work(("store", "gc", "runs")),
    "store export": Work(("store", "export", "runs", "table.csv")),
    "play": Work(("play", "small.toml", "--no-browser"), 2.0),
}
SAME = {".tr", ".gz", ".csv"}
"""Suffixes of files that are the same whenever they are written."""


def files(folder: Path) -> set[str]:
    """Everything in a folder, empty folders too, but what lies in stores, where finished runs stay."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir() or not any(path.iterdir()))
    return {path.as_posix() for path in found if "store" not in path.parts and path.parts[0] != "runs"}


@contextmanager
def shared_memory() -> Iterator[tuple[list[str], Path] | None]:
    """What a command is started by so that its /dev/shm is its own, and where that is seen; None where it cannot be."""
    if os.name != "posix" or os.geteuid() != 0 or not shutil.which("nsenter"):
        yield None
        return
    mounts = "mount -t tmpfs none /dev/shm && echo ready && exec sleep 100000"
    unshare = ["unshare", "--mount", "--propagation", "private", "sh", "-c", mounts]
    with subprocess.Popen(unshare, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as holder:
        try:
            assert holder.stdout is not None
            ready = holder.stdout.readline() == "ready\n"
            space = f"--mount=/proc/{holder.pid}/ns/mnt"
            yield (["nsenter", space, "--"], Path("/proc", str(holder.pid), "root", "dev", "shm")) if ready else None
        finally:
            holder.kill()


@dataclass
class Trials:
    """A prepared folder, and what the trials found."""

    base: Path
    shared: tuple[list[str], Path] | None
    sent: int = 0
    ended: dict[str, int] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)

    def prepare(self, names: Sequence[str]) -> None:
        """The files that the commands read."""
        source = self.base / "source"
        source.mkdir()
        (source / "small.toml").write_text(SCENARIO.replace("DURATION", "10 s"), encoding="utf-8")
        (source / "long.toml").write_text(SCENARIO.replace("DURATION", "400 s"), encoding="utf-8")
        (source / "many.toml").write_text(SWEEP.replace("SEEDS", "10"), encoding="utf-8")
        (source / "few.toml").write_text(SWEEP.replace("SEEDS", "2"), encoding="utf-8")
        mine = "import earlydrop as ed\n\n@ed.policy\nclass Mine:\n    def on_enqueue(self, packet, queue, cx):\n"
        (source / "mine.py").write_text(f"{mine}        return ed.Verdict.PASS\n", encoding="utf-8")
        shutil.copytree(ROOT / "python/tests/studies/small", source / "study")
        if {"report", "diff", "store verify", "store gc", "store export"} & {*names}:
            made = ["sweep", "few.toml", "--out", "made", "--store", "runs"]
            subprocess.run([COMMAND, *made], cwd=source, check=True, capture_output=True)

    def start(self, work: Work, folder: Path, trial: str) -> subprocess.Popen[str]:
        """The command in a folder, in a group of its own."""
        environment = {**os.environ, "TMPDIR": str(folder / "tmp"), TRIAL: trial}
        inside = ["env", "-C", str(folder / "work")] if self.shared else []
        with (folder / "said").open("w") as said:
            return subprocess.Popen(
                [*(self.shared[0] if self.shared else []), *inside, str(COMMAND), *work.words],
                cwd=folder / "work",
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
                preexec_fn=_hears,
            )

    def fresh(self) -> Path:
        """A folder with what the commands read."""
        folder = Path(tempfile.mkdtemp(dir=self.base))
        shutil.copytree(self.base / "source", folder / "work")
        (folder / "tmp").mkdir()
        return folder

    def whole(self, name: str) -> tuple[float, Path]:
        """Run a command to its end: its duration, and the folder after it."""
        work, folder = WORKS[name], self.fresh()
        if work.endless_s is not None:
            return work.endless_s, folder
        begin = time.monotonic()
        code = self.start(work, folder, "whole").wait()
        length = time.monotonic() - begin
        if code:
            self.findings.append(f"{name}: ends with {code}: {(folder / 'said').read_text(encoding='utf-8')[-500:]}")
        self.look(name, folder, folder)
        return length, folder

    def send(self, name: str, number: signal.Signals, group: bool, moment: float, whole: Path) -> None:
        """Send one signal at one moment, and note what came of it."""
        work, folder = WORKS[name], self.fresh()
        trial = folder.name
        what = f"{name}, {number.name} to the {'group' if group else 'process'} after {moment:.2f} s"
        process = self.start(work, folder, trial)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            (os.killpg if group else os.kill)(process.pid, number)
            self.sent += 1
        try:
            code = process.wait(ENDS_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self.findings.append(f"{what}: had not ended after {ENDS_S:.0f} s")
            code = 128 + number
        # The command was killed before it listened, or by KILL.
        code = 128 - code if code < 0 else code
        said = (folder / "said").read_text(encoding="utf-8", errors="replace")
        # Python itself hears Ctrl-C before it runs anything of ours.
        if number == signal.SIGINT and code == 1 and "KeyboardInterrupt" in said and "/earlydrop/" not in said:
            code = 128 + number
        self.ended[str(code)] = self.ended.get(str(code), 0) + 1
        if code not in (0, 128 + number):
            self.findings.append(f"{what}: exit code {code}: {said[-500:]}")
        if "internal error" in said or ("Traceback" in said and "KeyboardInterrupt" not in said):
            self.findings.append(f"{what}: {said[-800:]}")
        self.processes(what, trial)
        if number == signal.SIGKILL:
            self.again(what, work, folder, whole)
        else:
            self.look(what, folder, whole)
        if not any(finding.startswith(what) for finding in self.findings):
            shutil.rmtree(folder)

    def processes(self, what: str, trial: str) -> None:
        """Check that, a moment later, no process of the trial runs any more."""
        end = time.monotonic() + ENDS_S
        while (left := list(_running(trial))) and time.monotonic() < end:
            time.sleep(0.02)
        for process, words in left:
            self.findings.append(f"{what}: left the process {words}")
            os.kill(process, signal.SIGKILL)

    def again(self, what: str, work: Work, folder: Path, whole: Path) -> None:
        """After KILL: what is under the results' names is whole, and after the same command nothing else is left."""
        reference = files(whole / "work")
        for name in files(folder / "work") - reference:
            if ".partial-" not in name:
                self.findings.append(f"{what}: {name} is left")
        self.contents(what, folder, whole)
        if work.endless_s is None:
            code = self.start(work, folder, "again").wait()
            if code:
                self.findings.append(f"{what}: the next ends with {code}: {(folder / 'said').read_text()[-500:]}")
            self.look(what, folder, whole)

    def look(self, what: str, folder: Path, whole: Path) -> None:
        """Check that only what the command leaves when it ends well is there, whole or not at all."""
        before, reference = files(self.base / "source"), files(whole / "work")
        found = files(folder / "work")
        for name in sorted(found - reference):
            self.findings.append(f"{what}: {name} is left")
        made = found - before
        # The results of a command come together, in a folder or as a file.
        for top in {name.partition("/")[0] for name in made}:
            missing = {name for name in reference - before if name.partition("/")[0] == top} - made
            if missing:
                self.findings.append(f"{what}: {top} is there without {sorted(missing)[0]}")
        self.contents(what, folder, whole)
        for name in sorted(os.listdir(folder / "tmp")):
            self.findings.append(f"{what}: {name} is left among the temporary files")
        for path in sorted(self.shared[1].iterdir()) if self.shared else ():
            self.findings.append(f"{what}: {path.name} is left in /dev/shm")
            path.unlink()

    def contents(self, what: str, folder: Path, whole: Path) -> None:
        """Check that no file ends too early."""
        for name in files(folder / "work") & files(whole / "work"):
            path = folder / "work" / name
            if path.is_dir():
                continue
            content = path.read_bytes()
            try:
                json.loads(content if path.suffix == ".json" else "{}")
                good = True
            except ValueError:
                good = False
            good = good and (path.suffix != ".html" or content.rstrip().endswith(b"</html>"))
            if path.suffix in SAME:
                good = good and content == (whole / "work" / name).read_bytes()
            if not good:
                self.findings.append(f"{what}: {name} is half")


def _hears() -> None:
    """Make a new process hear signals to which the process that started this one was deaf."""
    for number in SIGNALS[:-1]:
        signal.signal(number, signal.SIG_DFL)


def _running(trial: str) -> Iterator[tuple[int, str]]:
    """The processes of a trial that live, and their command lines."""
    mark = f"{TRIAL}={trial}".encode()
    for entry in Path("/proc").iterdir() if sys.platform == "linux" else ():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name), (entry / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue


def main(words: Sequence[str] | None = None) -> int:
    """Try the commands that are named, or all commands."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help=", ".join(WORKS))
    parser.add_argument("--moments", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(words)
    names = asked.commands or list(WORKS)
    with tempfile.TemporaryDirectory() as base, shared_memory() as shared:
        trials = Trials(Path(base), shared)
        trials.prepare(names)
        for name in names:
            before, sent = len(trials.findings), trials.sent
            draw = random.Random(f"{asked.seed} {name}")
            length, whole = trials.whole(name)
            for number in SIGNALS:
                for group in (False, True):
                    for moment in range(asked.moments):
                        at = length * (moment + draw.random()) / asked.moments
                        trials.send(name, number, group, at, whole)
            wrong = len(trials.findings) - before
            print(f"{name}: {length:.1f} s, {trials.sent - sent} signals, {wrong} findings", flush=True)
            print(*trials.findings[before:], sep="\n", end="\n" if wrong else "", flush=True)
        ended = ", ".join(f"{code}: {count}" for code, count in sorted(trials.ended.items()))
        print(f"{trials.sent} signals, {len(trials.findings)} findings; exit codes {ended}")
        print("/dev/shm was looked at" if shared else "/dev/shm was not looked at: that needs root and nsenter")
        return 1 if trials.findings else 0


if __name__ == "__main__":
    sys.exit(main())
