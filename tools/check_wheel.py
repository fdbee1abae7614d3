"""Whether a wheel works where nothing else is: a fresh virtual environment, without Rust and without the checkout.

`python tools/check_wheel.py dist/earlydrop-*.whl` installs it as a user does, runs what a user first runs, and prints
each command with its time and its processor time (which Windows does not tell): on a busy machine they differ. It stops
at the first command that fails. What the package needs comes from the package index.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

WINDOWS = sys.platform == "win32"

PYTHON_AQM = '''"""A discipline in plain Python, and the same compiled."""

import earlydrop as ed


@ed.policy{options}
class {name}:
    """Drops above a share of the buffer."""

    share: float = ed.param(0.5, range=(0, 1), doc="Of the buffer, above which arrivals are dropped.")

    def on_enqueue(self, packet, queue, cx):
        return ed.Verdict.drop() if queue.packets > self.share * queue.limit else ed.Verdict.PASS
'''

RUN = """import sys

import earlydrop as ed

queue = ed.aqm.load(sys.argv[1])(limit="60 packets")
net = ed.dumbbell(
    pairs=10, access=ed.link("100 Mbit/s", "5 ms"), bottleneck=ed.link("10 Mbit/s", "20 ms"), queue=queue
)
net.ftp(10, tcp="reno", segment="1000 B", start=ed.uniform("0 s", "1 s"))
found = net.run(duration="20 s").document["queues"]["bottleneck"]
assert found["early_drops"] > 0, found
print(found["aqm"])
"""

C_AQM = """#include "earlydrop_aqm.h"

static ed_verdict on_enqueue(void *state, const ed_packet *packet, const ed_queue *queue, const ed_context *cx) {
    (void)state; (void)packet; (void)cx;
    return queue->packets >= 20 ? ED_SIGNAL : ED_PASS;
}

static const ed_aqm short_queue = {
    .abi = EARLYDROP_AQM_ABI, .size = sizeof(ed_aqm), .name = "short_queue", .on_enqueue = on_enqueue,
};

const ed_aqm *earlydrop_aqm(void) { return &short_queue; }
"""


class Failure(Exception):
    """A command did not do what it should."""


class Clock:
    """Time since the clock was made: on the wall, and of the processor in child processes."""

    def __init__(self) -> None:
        self._began, self._used = time.monotonic(), self._children()

    @staticmethod
    def _children() -> float:
        times = os.times()
        return times.children_user + times.children_system

    def tell(self, what: str) -> None:
        """Print both times, and what took so long."""
        wall, used = time.monotonic() - self._began, self._children() - self._used
        print(f"{wall:7.1f} s {used:7.1f} s  {what}", flush=True)


class Installed:
    """A wheel in an environment of its own, with a folder to work in."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        self.bin = folder / "venv" / ("Scripts" if WINDOWS else "bin")
        system = os.environ["PATH"] if WINDOWS else "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        # The environment has neither Rust nor settings of the caller's Python.
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "CARGO", "RUST", "VIRTUAL"))}
        self.env |= {"PATH": os.pathsep.join([str(self.bin), system]), "HOME": str(self.work)}
        rust = shutil.which("cargo", path=self.env["PATH"])
        if rust is not None and not WINDOWS:
            raise Failure(f"Rust is on the path: {rust}")
        self.wheel = wheel
        print("   time  processor  command")
        clock = Clock()
        venv.create(folder / "venv", with_pip=True)
        clock.tell("python -m venv venv")

    def run(self, *command: str, code: int = 0, says: str = "") -> str:
        """Run a command; its output. Failure if it ends with another code, or does not say what it should."""
        clock = Clock()
        program = shutil.which(command[0], path=self.env["PATH"]) or command[0]
        ended = subprocess.run(
            [program, *command[1:]],
            cwd=self.work,
            env=self.env,
            text=True,
            encoding="utf-8",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        clock.tell(" ".join(command))
        if ended.returncode != code or says not in ended.stdout:
            wanted = f"exit code {code}" + (f" and {says!r}" if says else "")
            raise Failure(f"exit code {ended.returncode}, wanted {wanted}:\n{ended.stdout}")
        return ended.stdout

    def install(self) -> None:
        """Install the wheel, and what it needs."""
        self.run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(self.wheel))

    def file(self, name: str) -> Path:
        """A file that a command should have written."""
        path = self.work / name
        if not path.is_file() or not path.stat().st_size:
            raise Failure(f"no {name}")
        return path


def first_steps(at: Installed) -> None:
    """From the wheel to a comparison, as a newcomer goes."""
    clock = Clock()
    at.install()
    version = at.wheel.name.split("-")[1]
    at.run("earlydrop", "--version", says=version)
    at.run("earlydrop", "init", "first")
    at.run("earlydrop", "compare", "first.toml", "--aqm", "red", "codel", says="CoDel")
    clock.tell("from the installation to the first comparison")
    at.run("earlydrop", "check", "first.toml")
    at.run("earlydrop", "run", "first.toml", "--seed", "7", "--out", "out/run", says="out")
    at.file("out/run/result.json")


def carried_files(at: Installed) -> None:
    """Studies, templates, scripts for shells, the C header, and the licences of what is linked."""
    at.run("earlydrop", "completion", "bash", says="complete -F")
    at.run("earlydrop", "list", "studies", says="tred")
    at.run("earlydrop", "reproduce", "tred", "--quick", "--out", "out/tred", says="report:")
    at.file("out/tred/report.html")
    at.run("earlydrop", "sweep", "sweep.toml", "--out", "out/sweep")
    at.file("out/sweep/report.html")
    places = at.run("python", "-c", "import earlydrop, sysconfig; print(earlydrop.get_include())").strip()
    if not (Path(places) / "earlydrop_aqm.h").is_file():
        raise Failure(f"no earlydrop_aqm.h in {places}")
    notices = "import importlib.metadata as m; print([str(f) for f in m.files('earlydrop') if 'licenses' in str(f)])"
    at.run("python", "-c", notices, says="THIRD-PARTY.md")


def real_links(at: Installed) -> None:
    """On Linux, help works; elsewhere a message comes instead of a link."""
    at.run("earlydrop", "link", "--help", says="--rate")
    if platform.system() != "Linux":
        at.run("earlydrop", "link", "--rate", "1Mbit/s", "--", "echo", code=125, says="need Linux")


def own_disciplines(at: Installed) -> None:
    """Disciplines in plain Python, in C, and compiled by numba, which is an extra."""
    (at.work / "own.py").write_text(RUN, encoding="utf-8")
    (at.work / "mine.py").write_text(PYTHON_AQM.format(options="", name="HalfFull"), encoding="utf-8")
    at.run("python", "own.py", "mine.py", says="half_full")
    if shutil.which("cc", path=at.env["PATH"]) is not None:
        (at.work / "short.c").write_text(C_AQM, encoding="utf-8")
        include = at.run("python", "-c", "import earlydrop; print(earlydrop.get_include())").strip()
        at.run("cc", "-O2", "-shared", "-fPIC", f"-I{include}", "-o", "libshort.so", "short.c")
        at.run("python", "own.py", "libshort.so", says="short_queue")
    (at.work / "fast.py").write_text(PYTHON_AQM.format(options="(jit=True)", name="Fast"), encoding="utf-8")
    install(at, at.run("python", "own.py", "fast.py", code=1, says="numba"))
    at.run("python", "own.py", "fast.py", says="fast")


def packs(at: Installed) -> None:
    """200 runs with an own discipline, packed, and made again where only the wheel and the pack are."""
    seen, runs = at.work / "code-ran", 200
    traced = PYTHON_AQM.format(options="", name="Packed") + f'\n\nopen(r"{seen}", "w").close()\n'
    (at.work / "packed.py").write_text(traced, encoding="utf-8")
    short = ["--set", "duration=1 s", "--set", "warmup=0.2 s", "--seeds", str(runs // 2), "--out", "out/pack"]
    at.run("earlydrop", "compare", "first.toml", "--aqm", "packed.py", "pie", *short)
    at.run("earlydrop", "pack", "out/pack", "it.zip", says="with code: packed.py")
    there = Installed(at.work / "elsewhere", at.wheel)
    there.install()
    shutil.move(at.file("it.zip"), there.work)
    for left in ("first.toml", "packed.py"):
        (at.work / left).rename(at.work / f"{left}.away")
    seen.unlink()
    there.run("earlydrop", "run", "it.zip", code=2, says="--trust")
    if seen.exists():
        raise Failure("the code of a pack ran without --trust")
    there.run("earlydrop", "run", "it.zip", "--trust", "--out", "new", says="tables and results as in it.zip")
    if not seen.exists():
        raise Failure("the code of a pack did not run with --trust")
    compared = [same_result(at.work / "out/pack", there.work / "new", file) for file in tables(at.work / "out/pack")]
    if sum(compared) != runs:
        raise Failure(f"{sum(compared)} results of runs, wanted {runs}")
    (at.work / "first.toml.away").rename(at.work / "first.toml")


def tables(folder: Path) -> list[str]:
    """The tables and results of a comparison, beside its manifest, which says when it was made, and its inputs."""
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.suffix in (".json", ".csv", ".tex", ".txt"))
    return sorted(str(file) for file in files if file.parts[0] not in ("inputs", "manifest.json"))


def same_result(old: Path, new: Path, file: str) -> bool:
    """Whether a file is the result of a run. Failure if it differs in more than what a run costs."""
    contents = [(folder / file).read_bytes() for folder in (old, new)]
    is_run = file.endswith(".json")
    if is_run:
        contents = [json.dumps(without_cost(json.loads(content))).encode() for content in contents]
    if contents[0] != contents[1]:
        raise Failure(f"{file} differs between {old} and {new}")
    return is_run and Path(file).parts[0] == "runs"


def without_cost(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_cost(inner) for key, inner in value.items() if key != "cost"}
    return [without_cost(inner) for inner in value] if isinstance(value, list) else value


def tuning(at: Installed) -> None:
    """`tune`, which is another extra."""
    command = ["earlydrop", "tune", "first.toml", "--aqm", "red", "--trials", "2", "--seeds", "2", "--confirm", "2"]
    install(at, at.run(*command, code=2, says="Optuna"))
    at.run(*command)


def notebook(at: Installed) -> None:
    """The documentation's notebook, run from its first cell to its last as Jupyter does."""
    shutil.copy(Path(__file__).resolve().parents[1] / "docs/notebooks/own-aqm.ipynb", at.work)
    at.run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "nbclient", "ipykernel")
    at.run("jupyter", "execute", "own-aqm.ipynb")


def install(at: Installed, said: str) -> None:
    """Run the installation that a message names: it must be enough."""
    found = re.search(r'(\S*pip|\S+ -m pip) install "(earlydrop\[\w+\])"', said)
    if found is None:
        raise Failure(f"the message names no command that installs the extra:\n{said}")
    at.run(*found[1].split(), "install", "--quiet", "--disable-pip-version-check", found[2])


SWEEP = """scenario = "first.toml"
seeds = 2
set = { duration = "10 s", warmup = "2 s" }

[[factor]]
name = "aqm"
path = "queue.bottleneck.aqm"
values = ["red", "codel"]
"""


def main(arguments: Iterable[str]) -> int:
    try:
        (wheel,) = (Path(argument).resolve(strict=True) for argument in arguments)
    except (ValueError, OSError):
        print("usage: check_wheel.py WHEEL", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="earlydrop-wheel-") as folder:
        try:
            at = Installed(Path(folder), wheel)
            (at.work / "sweep.toml").write_text(SWEEP, encoding="utf-8")
            for part in (first_steps, carried_files, real_links, own_disciplines, packs, tuning, notebook):
                part(at)
        except Failure as failure:
            print(f"error: {failure}", file=sys.stderr)
            return 1
    print(f"{wheel.name} works: {wheel.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
