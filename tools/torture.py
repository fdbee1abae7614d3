"""Kills earlydrop at random moments, and says what that cost.

    python tools/torture.py [--seconds 3600] [--seed 1]

In turn a sweep, two and four sweeps with one store, a study and a search of parameters are killed (SIGKILL) at a moment
drawn from the length of the whole command; beside them, as root on Linux, links with and without --nat in a network
namespace of their own. It counts

    kills            processes that were killed while they worked
    lost             runs that were in a store and are not any more, and results of before that are damaged
    duplicated       runs of one engine that a store has twice
    left behind      what is still there after the next command that ended well: partial files, claims, temporary
                     files; and ten seconds after the kill of a link: its processes and namespaces, devices, tables of
                     nftables, forwarding

Exit code 1 if one of the last three is not zero.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python/tests")]

import small_sweep  # noqa: E402

# Runs go into the store often, so that a kill finds some there.
COMMAND = """
import sys
from earlydrop import cli
from earlydrop.sweeps import execute
execute.FLUSH_S, execute.BATCH_S = 0.1, 0.02
sys.exit(cli.main(sys.argv[1:]))
"""
STORE = ["--store", "store"]
STUDY = str(ROOT / "python/tests/studies/small")
JOBS: dict[str, list[list[str]]] = {
    "sweep": [["sweep", "many.toml", *STORE, "--out", "r0"]],
    "two sweeps": [["sweep", "many.toml", *STORE, "--out", f"r{k}"] for k in range(2)],
    "four sweeps": [["sweep", "many.toml", *STORE, "--out", f"r{k}"] for k in range(4)],
    "reproduce": [["reproduce", STUDY, "--seeds", "3", *STORE, "--out", "r0"]],
    "tune": [["tune", "small.toml", "--aqm", "red", "--trials", "10", "--seeds", "2", "--confirm", "4", *STORE]],
}


@dataclass
class Count:
    """The counts, and what each finding was."""

    kills: dict[str, int] = field(default_factory=dict)
    lost: int = 0
    duplicated: int = 0
    left: int = 0
    findings: list[str] = field(default_factory=list)

    def killed(self, job: str) -> None:
        """Count one more kill."""
        self.kills[job] = self.kills.get(job, 0) + 1

    def find(self, kind: str, number: int, what: str) -> None:
        """Count something bad, if there is any."""
        if number:
            setattr(self, kind, getattr(self, kind) + number)
            self.findings.append(f"{kind}: {what}")


# ---- commands with a store -----------------------------------------------------------------------------------------


class Place:
    """A folder in which commands are killed, and what its store had at the last look."""

    def __init__(self, count: Count, rng: random.Random, base: Path, job: str) -> None:
        self.count, self.rng, self.job, self.commands = count, rng, job, JOBS[job]
        self.path = Path(tempfile.mkdtemp(dir=base))
        self.scratch = self.path / "tmp"
        self.work = self.path / "work"
        self.scratch.mkdir()
        self.work.mkdir()
        scenario = small_sweep.scenario(duration_s=10, flows=5, rate_mbps=4)
        (self.work / small_sweep.FILE).write_text(scenario, encoding="utf-8")
        sweep = small_sweep.sweep(seeds=60, max_p=[0.02, 0.05, 0.1, 0.2])
        (self.work / "many.toml").write_text(sweep, encoding="utf-8")
        self.there: set[tuple[object, ...]] = set()

    def start(self) -> list[subprocess.Popen[bytes]]:
        """Start all commands at once."""
        python = [sys.executable, "-c", COMMAND]
        env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "TMPDIR": str(self.scratch)}
        null, log = subprocess.DEVNULL, (self.work / "log").open("ab")
        with log:
            return [
                subprocess.Popen([*python, *words], cwd=self.work, env=env, stdin=null, stdout=log, stderr=log)
                for words in self.commands
            ]

    def kill(self, length_s: float) -> None:
        """Start the commands, and kill each at a moment of its own."""
        begin = time.monotonic()
        moments = sorted((begin + self.rng.uniform(0, length_s), process) for process in self.start())
        for moment, process in moments:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, moment - time.monotonic()))
            if process.poll() is None:
                process.kill()
                self.count.killed(self.job)
            process.wait()

    def finish(self) -> float:
        """Let the commands end well; how long that took."""
        begin = time.monotonic()
        for process in self.start():
            if process.wait():
                said = (self.work / "log").read_text(encoding="utf-8", errors="replace")
                self.count.find("lost", 1, f"{self.job} fails after kills: {said[-2000:]}")
        return time.monotonic() - begin

    def look(self) -> None:
        """Compare the store, and the results, with the last look."""
        from earlydrop import store

        if not (self.work / "store/store.json").exists():
            return
        opened = store.open_store(self.work / "store", create=False)
        bad = [f"{p.name} {p.what}" for p in opened.verify() if not p.harmless]
        keys = [row for name in opened.parts() for row in opened.part(name, list(store.KEYS)).iter_rows()]
        total, now = len(keys), set(keys)
        self.count.find("lost", len(self.there - now), f"{len(self.there - now)} runs after {self.job}")
        self.count.find("duplicated", total - len(now), f"{total - len(now)} runs after {self.job}")
        self.count.find("lost", len(bad), f"{bad} after {self.job}")
        self.there = now
        for folder in self.work.glob("r[0-9]"):
            listed = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"]
            missing = [name for name in listed if not (folder / name).is_file()]
            self.count.find("lost", len(missing), f"{folder.name} lacks {missing}")

    def left(self) -> None:
        """Count what is left after the commands have ended well."""
        found = [p for p in self.work.rglob("*") if ".partial-" in p.name or p.parent.name == "claims"]
        found += list(self.scratch.rglob("*"))
        names = sorted(str(p.relative_to(self.path)) for p in found)
        self.count.find("left", len(names), f"{names} after {self.job}")


def stores(count: Count, rng: random.Random, end: float, base: Path) -> None:
    """Kill commands with a store until the end: each some times, then let it end, and begin anew."""
    lengths = dict.fromkeys(JOBS, 4.0)
    while time.monotonic() < end:
        for job in JOBS:
            place = Place(count, rng, base, job)
            for _ in range(rng.randint(3, 6)):
                if time.monotonic() >= end:
                    break
                place.kill(lengths[job])
                place.look()
            # The rest of the command took this long; a whole command takes longer.
            lengths[job] = max(2.0, 1.3 * place.finish())
            place.look()
            place.left()
            shutil.rmtree(place.path)
            if time.monotonic() >= end:
                return


# ---- links ---------------------------------------------------------------------------------------------------------


def links(count: Count, rng: random.Random, end: float) -> None:
    """Kill links until the end. In a network namespace of its own."""
    from linking import differences, state  # type: ignore[import-not-found]
    from outside import COMMAND as WITH_NAT  # type: ignore[import-not-found]
    from outside import outside, tables

    with outside():
        before = state()
        while time.monotonic() < end:
            nat = rng.random() < 0.5
            command = WITH_NAT if nat else WITH_NAT[:-1]
            # The mark has our process id, which is not that of another torture.
            mark = f"{os.getpid()}{rng.randint(10**6, 10**7)}"
            script = f"trap '' TERM; setsid sleep {mark} & unshare --pid --fork sleep {mark} & sleep {mark}"
            process = subprocess.Popen(
                [*command, "--quiet", "--", "sh", "-c", script],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            time.sleep(rng.uniform(0.2, 4))
            inside = {os.readlink(f"/proc/{p}/ns/net") for p in running(mark) if p != process.pid}
            inside -= {os.readlink("/proc/self/ns/net")}
            if process.poll() is None:
                process.kill()
                count.killed("link --nat" if nat else "link")
            process.wait()
            deadline = time.monotonic() + 10
            left = [""]
            while left and time.monotonic() < deadline:
                time.sleep(0.1)
                left = [*what_is_left(mark, inside), *differences(before, state())]
                left += [f"table {name}" for name in tables()]
            count.find("left", len(left), f"{left} after a link{' with --nat' if nat else ''}")
            for pid in running(mark):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, 9)


def running(mark: str) -> list[int]:
    """Processes whose command line has these words."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if mark.encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def what_is_left(mark: str, namespaces: set[str]) -> list[str]:
    """Processes of a link that was killed, and processes in its namespaces."""
    found = [f"process {pid}" for pid in running(mark)]
    for path in Path("/proc").glob("[0-9]*/ns/net"):
        with contextlib.suppress(OSError):
            if os.readlink(path) in namespaces:
                found.append(f"namespace of process {path.parts[2]}")
    return found


# ---- all together --------------------------------------------------------------------------------------------------


def main() -> int:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--links", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    end = time.monotonic() + asked.seconds
    count, rng = Count(), random.Random(asked.seed)
    if asked.links:
        links(count, rng, end)
        print(json.dumps(asdict(count)))
        return 0
    beside = None
    if sys.platform == "linux" and os.geteuid() == 0 and Path("/dev/net/tun").exists():
        words = ["unshare", "--net", sys.executable, __file__, "--links", "--seconds", str(asked.seconds)]
        words += ["--seed", str(asked.seed)]
        env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
        beside = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True)
    else:
        print("no links: they need root on Linux, and TUN devices", flush=True)
    with tempfile.TemporaryDirectory() as base:
        stores(count, rng, end, Path(base))
    if beside is not None:
        text, _ = beside.communicate()
        if beside.returncode:
            count.find("lost", 1, "the part with links has failed")
        else:
            other = Count(**json.loads(text.splitlines()[-1]))
            count.kills |= other.kills
            count.left += other.left
            count.findings += other.findings
    for line in count.findings:
        print(line)
    jobs = ", ".join(f"{number} of {job}" for job, number in count.kills.items())
    print(f"{sum(count.kills.values())} kills ({jobs}) in {asked.seconds:.0f} s: {count.lost} lost, ", end="")
    print(f"{count.duplicated} duplicated, {count.left} left behind")
    return 1 if count.lost or count.duplicated or count.left else 0


if __name__ == "__main__":
    sys.exit(main())
