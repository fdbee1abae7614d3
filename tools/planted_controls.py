"""Plants faults in congestion controls, in a copy of the checkout, and asks `earlydrop conform` for each.

python tools/planted_controls.py [--all] [FAULT ...]        one build, then half a minute a fault

Each fault breaks what one case tests, and that case must notice it; `--all` runs the other cases inside too, and says
which of them notice it as well. A fault is switched on by its number, as a mutant of `tools/mutants.py` is: one build
has all of them.
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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / "target/planted-controls"
CONTROL = "crates/net/src/tcp/rfc/control"
SWITCH = "EARLYDROP_PLANTED"
LISTENS = f"""
/// Whether the fault of this number is switched on.
pub fn planted(number: u32) -> bool {{
    static ON: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *ON.get_or_init(|| std::env::var("{SWITCH}").ok().and_then(|text| text.parse().ok()).unwrap_or(0)) == number
}}
"""


@dataclass(frozen=True)
class Fault:
    """A place in a file, what stands there with the fault (`ON` is its switch), and which case must notice it."""

    case: int
    what: str
    file: str
    old: str
    new: str
    tcp: str = "bbr3"


FAULTS = tuple(
    Fault(**one) for one in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["fault"]
)
TRIES = """
import json, sys, tempfile
from earlydrop import conform
from earlydrop.conform import running
from earlydrop.store import open_store
numbers, tcp = json.loads(sys.argv[1]), sys.argv[2]
first = int(sys.argv[3])
with tempfile.TemporaryDirectory() as folder:
    cases, store = [conform.case(n) for n in numbers], open_store(folder)
    found = conform.measure(cases, conform.Subject(tcp), store=store, first_seed=first)
print(json.dumps(found.document()))
"""


def build() -> None:
    """The copy, with every fault in it."""
    patches = []
    for number, fault in enumerate(FAULTS, 1):
        on = f"crate::tcp::rfc::control::planted({number})"
        patches.append((f"{CONTROL}/{fault.file}", fault.old, re.sub(r"\bON\b", on, fault.new)))
    patched(patches, COPY, {f"{CONTROL}/mod.rs": LISTENS})


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


def tried(number: int, cases: list[int], tcp: str, first: int = 1) -> str:
    """The measures of the cases with a fault, as JSON."""
    place = {**os.environ, "PYTHONPATH": str(COPY / "source/python"), SWITCH: str(number)}
    command = [sys.executable, "-c", TRIES, json.dumps(cases), tcp, str(first)]
    return subprocess.run(command, env=place, check=True, stdout=subprocess.PIPE, text=True).stdout


def noticed(number: int, fault: Fault, every: bool) -> list[int]:
    """The cases that notice a fault."""
    from earlydrop import conform

    if fault.case > 100:
        files = [COPY / "with.json", COPY / "without.json"]
        files[0].write_text(tried(number, [fault.case], fault.tcp), encoding="utf-8")
        files[1].write_text(tried(0, [fault.case], fault.tcp, 1_000_001), encoding="utf-8")
        judged = conform.judge(*map(conform.read, files))
        return sorted({one.case.number for one in judged if one.word == "worse"})
    cases = [one.number for one in conform.cases() if one.inside] if every else [fault.case]
    found = json.loads(tried(number, cases, fault.tcp))["cases"]
    return [int(n) for n, of in found.items() if not all(all(one["holds"]) for one in of["expected"])]


def main() -> int:
    """0 if every fault is noticed by its case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="run all cases inside")
    parser.add_argument("--built", action="store_true", help="take the copy as it is")
    parser.add_argument("fault", nargs="*", type=int, help="numbers of faults")
    asked = parser.parse_args()
    if not asked.built:
        build()
    missed = 0
    for number, fault in enumerate(FAULTS, 1):
        if asked.fault and number not in asked.fault:
            continue
        found = noticed(number, fault, asked.all)
        missed += fault.case not in found
        others = [n for n in found if n != fault.case]
        said = "noticed" if fault.case in found else "NOT NOTICED"
        print(f"{number} case {fault.case}: {fault.what}: {said}{f'; also by {others}' if others else ''}", flush=True)
    print(f"{missed} faults were not noticed")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
