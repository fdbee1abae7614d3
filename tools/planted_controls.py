"""Plants faults in congestion controls, in a copy of the checkout, and asks `earlydrop conform` for each.

python tools/planted_controls.py [--own] [FAULT ...]        one build, then half a minute a fault

Each fault breaks what one case tests. That case must notice it, and no other of its kind, inside or outside, but those
that the fault names in `also`; `--own` tries the case alone. A fault is switched on by its number, as a mutant of
`tools/mutants.py` is: one build has all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / "target/planted-controls"
CONTROL = "crates/net/src/tcp/rfc/control"
SWITCH = "EARLYDROP_PLANTED"
OTHERS = 4
"""Runs of a case outside that is not the fault's: against twenty of the reference enough for a verdict. Where the first
is what it is without the fault, the rest are not run."""


@dataclass(frozen=True)
class Fault:
    """A place in a file, what stands there with the fault (`ON` is its switch), and which case must notice it."""

    case: int
    what: str
    file: str
    old: str
    new: str
    tcp: str = "bbr3"
    also: tuple[int, ...] = ()
    """Cases that cannot but notice it, too: their other flows have the fault, or they are in the same state."""
    broad: bool = False
    """Whether it is one that most cases notice, so that its own alone is tried."""


DECLARED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
FAULTS = tuple(Fault(**{**one, "also": tuple(one.get("also", ()))}) for one in DECLARED["fault"])
OUTSIDE = """
import json, sys, tempfile
from earlydrop import conform
from earlydrop.store import open_store
numbers, tcp, first, seeds = json.loads(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    cases = [conform.case(n) for n in numbers]
    found = conform.measure(cases, conform.Subject(tcp), store=open_store(folder), first_seed=first, seeds=seeds)
print(json.dumps(found.document()))
"""
INSIDE = """
import hashlib, json, sys
import earlydrop._core as core
from earlydrop import conform
from earlydrop.conform import expectations, running
numbers, own, known = json.loads(sys.argv[1])
failing, digests = [], {}
for n in numbers:
    case = conform.case(n)
    scenario = core.Scenario.parse(case.document(conform.Subject("bbr3")), [])
    for seed in range(1, 1 + (running.INSIDE_SEEDS if n == own else 1)):
        text = scenario.run(seed)
        digests[f"{n} {seed}"] = digest = hashlib.sha256(text.encode()).hexdigest()
        # A run that the fault leaves as it was holds what it held.
        if known and known.get(f"{n} {seed}") != digest and not all(expectations.held(case, text)):
            failing.append(n)
            break
print(json.dumps([failing, digests]))
"""
"""Which cases fail, of those whose runs are not the known ones; all runs of a fault's own, the first of the others."""


def build() -> None:
    """The copy, with every fault in it."""
    for file in COPY.glob("reference-*.json"):
        file.unlink()
    patches = [(f"{CONTROL}/{one['file']}", one["old"], one["new"]) for one in DECLARED["aid"]]
    for number, fault in enumerate(FAULTS, 1):
        on = f"crate::tcp::rfc::control::planted({number})"
        patches.append((f"{CONTROL}/{fault.file}", fault.old, re.sub(r"\bON\b", on, fault.new)))
    patched(patches, COPY, {f"{CONTROL}/mod.rs": "\n" + Path(__file__).with_suffix(".rs").read_text(encoding="utf-8")})


def patched(
    patches: Sequence[tuple[str, str, str]], copy: Path, ends: Mapping[str, str] | None = None, level: int = 1
) -> None:
    """A copy of the checkout, built: in each of these files a text is replaced, and some have more at their ends."""
    shutil.rmtree(copy / "source", ignore_errors=True)
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if not name.startswith(("crates/", "python/earlydrop/", "studies/", "Cargo", "rust-toolchain")):
            continue
        (copy / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / "source" / name, follow_symlinks=False)
    for name, old, new in patches:
        file = copy / "source" / name
        text = file.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise SystemExit(f"{name}: there {text.count(old)} times; allowed once: {old!r}")
        file.write_text(text.replace(old, new), encoding="utf-8")
    for name, end in (ends or {}).items():
        with (copy / "source" / name).open("a", encoding="utf-8") as out:
            out.write(end)
    place = {
        **os.environ,
        "CARGO_TARGET_DIR": str(copy / "target"),
        "CARGO_PROFILE_QUICK_OPT_LEVEL": str(level),
        "PYO3_PYTHON": sys.executable,
    }
    command = ["cargo", "build", "--quiet", "--profile", "quick", "-p", "earlydrop-python"]
    subprocess.run(command, cwd=copy / "source", env=place, check=True)
    (library,) = (copy / "target/quick").glob("lib_core.*[!d]")
    shutil.copy2(library, copy / "source/python/earlydrop/_core.abi3.so")


def tried(number: int, script: str, *words: Any) -> Any:
    """What a script prints with a fault; 0 is none."""
    place = {**os.environ, "PYTHONPATH": str(COPY / "source/python"), SWITCH: str(number)}
    command = [sys.executable, "-c", script, json.dumps(words)]
    return json.loads(subprocess.run(command, env=place, check=True, stdout=subprocess.PIPE, text=True).stdout)


def noticed(number: int, fault: Fault, own: bool) -> list[int]:
    """The cases of the fault's kind that notice it."""
    from earlydrop import conform

    inside = fault.case < 100
    cases = [fault.case] if own or fault.broad else _cases(inside)
    if inside:
        return list(tried(number, INSIDE, cases, fault.case, _digests())[0])
    found = tried(number, OUTSIDE, [fault.case], fault.tcp, 1, 20)
    others = [n for n in cases if n != fault.case]
    if others:
        first, usual = tried(number, OUTSIDE, others, fault.tcp, 1, 1)["cases"], _usual(fault.tcp)
        others = [n for n in others if first[str(n)] != usual[str(n)]]
    if others:
        found["cases"] |= tried(number, OUTSIDE, others, fault.tcp, 1, OTHERS)["cases"]
    files = [COPY / "with.json", COPY / "without.json"]
    for file, document in zip(files, (found, _reference(fault.tcp)), strict=True):
        file.write_text(json.dumps(document), encoding="utf-8")
    judged = conform.judge(*map(conform.read, files))
    return sorted({one.case.number for one in judged if one.word == "worse"})


def _cases(inside: bool) -> list[int]:
    from earlydrop import conform

    return [one.number for one in conform.cases() if one.inside is inside and not one.corner]


@cache
def _digests() -> Any:
    """The digests of the runs inside without a fault."""
    return tried(0, INSIDE, _cases(inside=True), 0, None)[1]


@cache
def _usual(tcp: str) -> Any:
    """The measures of the first run of each case outside without a fault."""
    return tried(0, OUTSIDE, _cases(inside=False), tcp, 1, 1)["cases"]


@cache
def _reference(tcp: str) -> Any:
    """The measures outside without a fault, which `--built` finds."""
    file = COPY / f"reference-{tcp}.json"
    if not file.exists():
        file.write_text(json.dumps(tried(0, OUTSIDE, _cases(inside=False), tcp, 1_000_001, 20)), encoding="utf-8")
    return json.loads(file.read_text(encoding="utf-8"))


def main() -> int:
    """0 if every fault is noticed by its case, and by no other that it does not name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--own", action="store_true", help="try each fault's own case alone")
    parser.add_argument("--built", action="store_true", help="take the copy as it is")
    parser.add_argument("fault", nargs="*", type=int, help="numbers of faults")
    asked = parser.parse_args()
    if not asked.built:
        build()
    wrong, alone = 0, set()
    for number, fault in enumerate(FAULTS, 1):
        if asked.fault and number not in asked.fault:
            continue
        found = noticed(number, fault, asked.own)
        others = [n for n in found if n != fault.case]
        missed, more = fault.case not in found, set(others) - set(fault.also)
        wrong += missed or bool(more)
        if not (missed or others or fault.broad or asked.own):
            alone.add(fault.case)
        said = "NOT NOTICED" if missed else "noticed"
        by = f"; also by {others}{', which it does not name' if more else ''}" if others else ""
        print(f"{number} case {fault.case}: {fault.what}: {said}{by}", flush=True)
    print(f"{wrong} faults are not as they should be; {len(alone)} cases have one that no other notices")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
