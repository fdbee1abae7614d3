"""Sweep files, study folders and stores, damaged at random: what reads them answers with its own error, or reads them.

    python tools/fuzz_files.py [--seconds 60 | --runs N] [--seed 1] [--keep FOLDER] [TARGET ...]

Targets: sweeps, studies, stores; all by default, the time divided among them. Any other exception than the package's
own, a run of more than two seconds of CPU time, and a peak memory of more than 512 MiB above what importing takes are
failures; what caused them is kept in FOLDER (out/fuzz). The inputs depend on the seed alone. Exit code 1: something
failed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from earlydrop import cli
from earlydrop.errors import EarlydropError
from earlydrop.store import open_store
from earlydrop.study.parser import parse_folder
from earlydrop.sweeps import plan
from earlydrop.sweeps.parser import parse_file

ROOT = Path(__file__).resolve().parents[1]
HANG_S = 2.0
MEMORY_KIB = 512 << 10
SWEEP = """name = "loads"
seeds = 2
control = { aqm = "red" }
measures = ["goodput", "queue_delay_p99", "jain"]
where = ["not (aqm == 'codel' and flows > 40)"]
[scenario]
duration = "3 s"
[scenario.topology]
kind = "dumbbell"
pairs = 2
access = { rate = "100 Mbit/s", delay = "5 ms" }
bottleneck = { rate = "5 Mbit/s", delay = "10 ms" }
[scenario.queue.bottleneck]
aqm = "red"
limit = "100 packets"
[[scenario.traffic]]
kind = "ftp"
start = { uniform = ["0 s", "1 s"] }
[[factor]]
name = "aqm"
path = "queue.bottleneck.aqm"
values = ["red", "tred", "codel"]
[[factor]]
name = "flows"
path = "topology.pairs"
values = [1, 2, 40]
"""
PIECES = [
    *("0", "-1", "1e308", "nan", '""', "[]", "{}", "true", "=", "#", "\n", '"""', "'", "\0", "\u2028"),
    *("[[factor]]", "[design]", 'kind = "lhs"', "points = 1000000000", "[stop]", "precision = 0.0", "seeds = [1, 1]"),
    *('where = ["1/0 > 2"]', 'where = ["a" ]', '["red", "red"]', "9223372036854775808", '"goodput"'),
    *('name = "../../evil"', 'formula = "9**9**9"'),
]
"""What replaces a piece of a file."""


def damaged(text: str, draw: random.Random) -> str:
    """A text with some pieces replaced, doubled or left out."""
    for _ in range(draw.randrange(1, 6)):
        start = draw.randrange(len(text) + 1)
        end = min(len(text), start + draw.choice([0, 0, 1, 4, 20, 100]))
        any_letter = chr(draw.randrange(1, 0xD000))
        piece = draw.choice([draw.choice(PIECES), draw.choice(PIECES), text[start:end] * 2, "", any_letter])
        text = text[:start] + piece + text[end:]
    return text


def sweeps(folder: Path, draw: random.Random) -> None:
    """A damaged sweep file is refused, or planned."""
    path = folder / "sweep.toml"
    path.write_text(damaged(SWEEP, draw), encoding="utf-8")
    plan(parse_file(path))


def studies(folder: Path, draw: random.Random) -> None:
    """A damaged study folder is refused, or parsed."""
    # Most of the time a small one: the papers' take twenty times as long.
    papers = sorted((ROOT / "studies").glob("*/study.toml"))
    source = draw.choice(papers).parent if draw.random() < 1 / 16 else ROOT / "python/tests/studies/small"
    shutil.copytree(source, folder, dirs_exist_ok=True)
    texts = sorted(path for path in folder.iterdir() if path.suffix in (".toml", ".csv"))
    path = draw.choice(texts)
    path.write_text(damaged(path.read_text(encoding="utf-8"), draw), encoding="utf-8")
    parse_folder(folder)


def stores(folder: Path, draw: random.Random) -> None:
    """A store with damaged files is read, or said to be damaged."""
    shutil.copytree(_store(), folder, dirs_exist_ok=True)
    path = draw.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
    content = bytearray(path.read_bytes())
    for _ in range(draw.randrange(1, 4)):
        if draw.random() < 0.2:
            del content[draw.randrange(len(content) + 1) :]
        elif content:
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)
    store = open_store(str(folder))
    with contextlib.suppress(EarlydropError):
        store.verify()
    store.table()


_kept: list[tempfile.TemporaryDirectory[str]] = []


def _store() -> Path:
    """The store of a small sweep, made once."""
    if not _kept:
        kept = tempfile.TemporaryDirectory()
        file, store = Path(kept.name) / "sweep.toml", Path(kept.name) / "store"
        file.write_text(SWEEP, encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = cli.main(["sweep", str(file), "--store", str(store), "--out", str(file.parent / "out")])
        if code:
            raise SystemExit(f"the sweep that fills a store ended with {code}")
        _kept.append(kept)
    return Path(_kept[0].name) / "store"


TARGETS: dict[str, Callable[[Path, random.Random], None]] = {"sweeps": sweeps, "studies": studies, "stores": stores}


def one(target: str, seed: int, keep: Path) -> bool:
    """One input; whether it failed."""
    draw = random.Random(f"{target} {seed}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        begun = time.process_time()
        fault = ""
        try:
            TARGETS[target](folder, draw)
        except EarlydropError as error:
            fault = "" if str(error).strip() else "a refusal without a word"
        except BaseException as error:
            # A panic of an extension module is no Exception.
            if isinstance(error, KeyboardInterrupt):
                raise
            fault = traceback.format_exc()
        if (took := time.process_time() - begun) > HANG_S:
            fault = fault or f"took {took:.1f} s of CPU time"
        if fault:
            place = keep / f"{target}-{seed}"
            shutil.copytree(folder, place, dirs_exist_ok=True)
            print(f"{target} {seed}: kept in {place}\n{fault}", file=sys.stderr, flush=True)
        return bool(fault)


def main() -> int:
    """Runs the targets; 1 if an input failed."""
    parser = argparse.ArgumentParser(description="Sweep files, study folders and stores, damaged at random.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all by default")
    parser.add_argument("--seconds", type=float, default=60.0, help="for all targets together (60)")
    parser.add_argument("--runs", type=int, help="inputs of each target, instead of a time")
    parser.add_argument("--seed", type=int, default=1, help="the first input's (1)")
    parser.add_argument(
        "--keep", type=Path, default=Path("out/fuzz"), help="where inputs that fail are kept (out/fuzz)"
    )
    given = parser.parse_args()
    if unknown := [target for target in given.targets if target not in TARGETS]:
        parser.error(f"no target {unknown[0]}: use {', '.join(TARGETS)}")
    targets = given.targets or list(TARGETS)
    at_start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    failed = 0
    if "stores" in targets:
        _store()
    for target in targets:
        begun, done, bad = time.monotonic(), 0, 0
        while done < given.runs if given.runs else time.monotonic() - begun < given.seconds / len(targets):
            bad += one(target, given.seed + done, given.keep)
            done += 1
        print(f"{target}: {done} runs in {time.monotonic() - begun:.0f} s, {bad} failed", flush=True)
        failed += bad
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - at_start
    if sys.platform == "linux" and grown > MEMORY_KIB:
        print(f"memory grew by {grown >> 10} MiB", file=sys.stderr)
        failed += 1
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
