"""Fails every call that changes a file, one after the other, and says what that did.

    python tools/faults.py [CASE...] [--every 1]

The calls are those of `earlydrop.disk`: open, write, fsync, truncate, make a folder, rename, remove. For each case (the
store, then one command after the other) the n-th call fails, for each n until none is left: alone (`once`), with half
of its bytes written (`half`), or with all calls after it (`on`). Then

- the message names a file of the store or the result;
- every run that the store took is there, the store verifies, and the result of before is whole or replaced as a whole;
- nothing unfinished is left, by `on` not after the next command; every fifth time the same command is called again,
  and works.

Drawings are not drawn: only writing them is tested.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import hashlib
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

import small_sweep  # noqa: E402
from earlydrop import cli, disk, output, store  # noqa: E402
from earlydrop.render import artists, plotting  # noqa: E402

MODES = ("once", "half", "on")


class Fault(disk.System):
    """The system calls, of which the n-th fails."""

    def __init__(self, number: int, mode: str) -> None:
        self.number, self.mode, self.calls = number, mode, 0

    def _fails(self) -> bool:
        self.calls += 1
        return self.calls == self.number or (self.mode == "on" and self.calls > self.number > 0)

    def _call(self, real: Callable[..., Any], *given: Any) -> Any:
        if self._fails():
            name = str(given[0]) if isinstance(given[0], Path) else None
            raise OSError(errno.EIO, os.strerror(errno.EIO), name)
        return real(*given)

    def open(self, path: Path, flags: int) -> int:
        return int(self._call(super().open, path, flags))

    def write(self, file: int, content: Any) -> int:
        if self._fails():
            if self.mode == "half":
                super().write(file, content[: len(content) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(file, content)

    def sync(self, file: int) -> None:
        self._call(super().sync, file)

    def truncate(self, file: int) -> None:
        self._call(super().truncate, file)

    def make_folder(self, path: Path) -> None:
        self._call(super().make_folder, path)

    def rename(self, old: Path, new: Path) -> None:
        self._call(super().rename, old, new)

    def remove(self, path: Path) -> None:
        self._call(super().remove, path)


@dataclass
class Found:
    """What became of the faults of a case."""

    faults: int = 0
    wrong: list[str] = field(default_factory=list)


@contextlib.contextmanager
def failing(number: int, mode: str) -> Iterator[Fault]:
    """Within the block the n-th call fails; with 0, none."""
    fault = Fault(number, mode)
    before, disk.system = disk.system, fault
    try:
        yield fault
    finally:
        disk.system = before


def faults(case: Callable[[Path, int, str], tuple[int, str]], whole: Path, every: int) -> Found:
    """Fail each call of a case, which starts from a copy of the folder `whole` each time."""
    found = Found()
    for mode in MODES:
        number = 1
        while True:
            with tempfile.TemporaryDirectory() as name:
                place = Path(name) / "place"
                shutil.copytree(whole, place)
                with contextlib.chdir(place):
                    calls, wrong = case(place, number, mode)
            if calls < number:
                break
            found.faults += 1
            if wrong:
                found.wrong.append(f"call {number}, {mode}: {wrong}")
            number += every
    return found


# ---- the store -----------------------------------------------------------------------------------------------------


def rows(first: int) -> Any:
    """Results of two runs, made without running anything."""
    import polars as pl

    seeds = [first, first + 1]
    keys = [hashlib.sha256(str(seed).encode()).hexdigest()[:32] for seed in seeds]
    return pl.DataFrame(
        {
            "scenario_key": keys,
            "seed": seeds,
            "engine": store.engine(),
            "scenario": "{}",
            store.COST: 0.5,
            store.DIGEST: seeds,
            "jain": [float(seed) for seed in seeds],
        }
    )


def the_store(place: Path, number: int, mode: str) -> tuple[int, str]:
    """Make a store, claim, add three parts, merge them."""
    taken: list[int] = []
    said = ""
    opened = None
    with failing(number, mode) as fault:
        try:
            opened = store.open_store(place / "s")
            assert opened.claims is not None
            for first in (1, 3, 5):
                frame = rows(first)
                runs = list(zip(frame["scenario_key"], frame["seed"], strict=True))
                opened.claims.add(runs)
                opened.add(frame)
                taken += frame["seed"].to_list()
                opened.claims.set([])
            opened.gc()
        except store.StoreError as error:
            said = str(error)
        except OSError as error:
            return fault.calls, f"an error of the system comes through: {error!r}"
        finally:
            # The claims end as they do when their process ends.
            if opened is not None and opened.claims is not None:
                opened.claims.close()
    if fault.calls < number:
        return fault.calls, ""
    if said and str(place / "s") not in said:
        return fault.calls, f"the message names no file: {said}"
    again = store.open_store(place / "s")
    problems = [p for p in again.verify() if not p.harmless]
    there = sorted(again.table()["seed"].to_list())
    if problems or not set(taken) <= set(there) or len(set(there)) != len(there):
        return fault.calls, f"taken {taken}, there {there}, problems {problems}"
    if again.add(rows(9)) != 2 or again.gc()["runs"] != len(there) + 2:
        return fault.calls, "the store cannot be used any more"
    left = [p.name for p in (place / "s").rglob(".*")]
    return fault.calls, f"left: {left}" if left else ""


# ---- commands ------------------------------------------------------------------------------------------------------

COMMANDS: dict[str, list[str]] = {
    "run": ["run", "small.toml", "--out", "r"],
    "compare": ["compare", "small.toml", "--aqm", "red", "codel", "--seeds", "2", "--out", "r"],
    "sweep": ["sweep", "sweep.toml", "--store", "s", "--out", "r"],
    "reproduce": ["reproduce", str(ROOT / "python/tests/studies/small"), "--quick", "--store", "s", "--out", "r"],
    "trace": ["trace", "small.toml", "r.pcapng", "--events", "1000"],
    "export": ["store", "export", "s", "r.parquet"],
}


def run(words: list[str]) -> tuple[int, str]:
    """A command's exit code and its messages."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(words)
    return code, err.getvalue()


def prepare(place: Path) -> None:
    """The files of the commands, a store, and a result of before."""
    (place / small_sweep.FILE).write_text(small_sweep.scenario(), encoding="utf-8")
    (place / "sweep.toml").write_text(small_sweep.sweep(), encoding="utf-8")
    with contextlib.chdir(place):
        assert run(COMMANDS["sweep"])[0] == cli.DONE
        shutil.rmtree("r")


def command(words: list[str]) -> Callable[[Path, int, str], tuple[int, str]]:
    """The case of a command that writes `r...`, whose earlier result is there."""
    target = (
        next(Path(word) for word in words if word.startswith("r.")) if words[0] in ("trace", "store") else Path("r")
    )

    def case(place: Path, number: int, mode: str) -> tuple[int, str]:
        before = content(target)
        with failing(number, mode) as fault:
            code, said = run(words)
        if fault.calls < number:
            return fault.calls, ""
        if code == cli.FAILED and not any(
            name in said for name in (str(target), "parts/", "manifest/", "claims/", "s: ")
        ):
            return fault.calls, f"the message names no file: {said}"
        if code not in (cli.DONE, cli.FAILED):
            return fault.calls, f"exit code {code}: {said}"
        if mode != "on" and code == cli.FAILED and content(target) != before:
            return fault.calls, f"the earlier result has changed: {said}"
        if code == cli.FAILED and not target.exists() and " before is in " not in said:
            return fault.calls, f"the earlier result is gone: {said}"
        if mode != "on" and (left := unfinished(place)):
            return fault.calls, f"left: {left}"
        if number % 5 == 0:
            code, said = run(words)
            if code != cli.DONE:
                return fault.calls, f"the command works no more: {said}"
            if left := unfinished(place):
                return fault.calls, f"left after the next command: {left}"
        if any(not p.harmless for p in store.open_store("s").verify()):
            return fault.calls, "the store is damaged"
        return fault.calls, ""

    return case


def unfinished(place: Path) -> list[str]:
    """Names of unfinished files and folders."""
    return [path.name for path in place.rglob("*.partial-*")]


def content(path: Path) -> list[tuple[str, bytes]]:
    """The contents of a folder, or of a file."""
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    return [(str(p), hashlib.sha256(p.read_bytes()).digest()) for p in files]


def log(place: Path, number: int, mode: str) -> tuple[int, str]:
    """The log that `link --log --out` writes, of a link that has ended."""
    import numpy as np

    from earlydrop.links import records

    columns = {name: np.zeros(100, kind) for name, kind in records.COLUMNS.items()}

    def write() -> None:
        with output.folder(place / "r", {"kind": "link"}) as folder:
            records.write_log(folder / "log.parquet", {"queue": columns})

    write()
    before = content(place / "r")
    said = ""
    with failing(number, mode) as fault:
        try:
            write()
        except OSError as error:
            said = f"{error} {getattr(error, '__notes__', '')}"
    if fault.calls >= number and (
        (said and str(place / "r") not in said) or (mode != "on" and content(place / "r") != before)
    ):
        return fault.calls, f"{said}: the result is {content(place / 'r')}"
    write()
    left = unfinished(place)
    return fault.calls, f"left: {left}" if left or content(place / "r") != before else ""


CASES: dict[str, Callable[[Path, int, str], tuple[int, str]]] = {
    "store": the_store,
    "log": log,
    **{name: command(words) for name, words in COMMANDS.items()},
}


def check(name: str, every: int = 1) -> Found:
    """Try all faults of a case, or every so many."""
    plain = plotting._bytes, plotting._settle, artists._processes
    plotting._bytes = lambda drawing, kind: b"<svg/>"
    plotting._settle = lambda drawing, note: None
    # Processes that draw would really draw, and each command would wait for its own to start.
    artists._processes = lambda count, modules: artists.Here()
    try:
        with tempfile.TemporaryDirectory() as folder:
            whole = Path(folder)
            if name in COMMANDS:
                prepare(whole)
                with contextlib.chdir(whole):
                    code, said = run(COMMANDS[name])
                    assert code == cli.DONE, said
            return faults(CASES[name], whole, every)
    finally:
        plotting._bytes, plotting._settle, artists._processes = plain


def main() -> int:
    """Print the counts; exit code 1 if a fault had a consequence."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", choices=[[], *CASES], metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--every", type=int, default=1, help="only every so many calls")
    asked = parser.parse_args()
    total, wrong = 0, 0
    for name in asked.cases or CASES:
        found = check(name, asked.every)
        total, wrong = total + found.faults, wrong + len(found.wrong)
        print(f"{name}: {found.faults} faults, {len(found.wrong)} with consequences", flush=True)
        for line in found.wrong:
            print(f"  {line}")
    print(f"{total} faults, {total - wrong} survived")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
