"""Single flipped bits in a store: how many are found before a number is printed.

    python tools/bit_flips.py [--flips 3000] [--seed 1]

Makes a store by a sweep and flips one bit at a time, four of five in its parts, else in its manifest and store.json:

- in a part, the sweep must fail and name it;
- in the manifest, `verify` must name the file;
- after a tenth of either, the sweep must make what is missing, with the results of before;
- in store.json, the sweep must fail and name it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import small_sweep
from earlydrop.store import StoreError, open_store
from earlydrop.sweeps.running import sweep


@dataclass
class Found:
    """The counts of flips, and what became of them."""

    flips: int = 0
    parts: int = 0
    """Number of flips that were in parts."""
    missed: list[str] = field(default_factory=list)


def swept(store: str) -> str:
    """The results of a sweep with a store, without what it costs."""
    asked = {**tomllib.loads(small_sweep.sweep()), "scenario": tomllib.loads(small_sweep.scenario())}
    found = sweep(asked, store=store, workers=1).document()
    return json.dumps({key: found[key] for key in ("points", "differences", "runs", "failed")})


def check(place: Path, flips: int, seed: int) -> Found:
    """Flip bits of a store in an empty folder, one at a time."""
    before = Path.cwd()
    os.chdir(place)
    try:
        return _check(flips, random.Random(seed))
    finally:
        os.chdir(before)


def _check(flips: int, rng: random.Random) -> Found:
    good = swept("whole")
    parts = sorted(Path("whole/parts").iterdir())
    others = [Path("whole/store.json"), *sorted(Path("whole/manifest").iterdir())]
    found = Found()
    for number in range(flips):
        shutil.rmtree("store", ignore_errors=True)
        shutil.copytree("whole", "store")
        # Every fifth flip is in the small files.
        files = parts if number % 5 else others
        sizes = [path.stat().st_size for path in files]
        bit = rng.randrange(8 * sum(sizes))
        at, byte = 0, bit // 8
        while byte >= sizes[at]:
            byte -= sizes[at]
            at += 1
        name = files[at].relative_to("whole")
        content = bytearray(files[at].read_bytes())
        content[byte] ^= 1 << bit % 8
        Path("store", name).write_bytes(content)
        found.flips += 1
        found.parts += name.parent.name == "parts"
        why = _missed(name, good, number % 20 < 2)
        if why:
            found.missed.append(f"{name}, byte {byte}, bit {bit % 8}: {why}")
    return found


def _missed(name: Path, good: str, again: bool) -> str:
    """Why a flip was missed; empty if it was found."""
    if name.parent.name == "manifest":
        problems = [problem.name for problem in open_store("store").verify() if not problem.harmless]
        if problems != [str(name)]:
            return f"verify names {problems}"
    else:
        try:
            swept("store")
            return "the sweep gives results"
        except StoreError as error:
            if str(name) not in str(error):
                return f"the sweep says {error}"
        if not name.parent.name:
            return ""
    return "" if not again or swept("store") == good else "the sweep gives other results"


def main() -> int:
    """Print the count; exit code 1 if a flip was missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flips", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        found = check(Path(place), asked.flips, asked.seed)
    for line in found.missed:
        print(f"missed: {line}")
    print(
        f"{found.flips - len(found.missed):,} of {found.flips:,} flipped bits found, {found.parts:,} of them in parts"
    )
    return 1 if found.missed else 0


if __name__ == "__main__":
    sys.exit(main())
