"""How large the surface of the project is, held against tools/surface.csv.

    python tools/surface.py            prints every figure beside its budget; exit code 1 where one is above it
    python tools/surface.py --write    makes what is counted the budget

A change takes away as much as it adds, or raises a budget in a commit of its own that says for what and by how much.
Counted are tracked files. Words are those between spaces; tables are lines that begin with a bar.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cyclopts import App

ROOT = Path(__file__).resolve().parents[1]
BUDGETS = ROOT / "tools/surface.csv"
FIRST = ("README.md", "docs/tutorials/", "docs/how-to/", "docs/scenarios.md", "docs/results.md")
"""Pages that a newcomer reads first."""


def tracked() -> list[str]:
    """The files of the project."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


def words(pages: Iterable[str], *, tables: bool = True) -> int:
    """Words of pages, with their tables or without."""
    lines = (line for page in pages for line in (ROOT / page).read_text(encoding="utf-8").splitlines())
    return sum(len(line.split()) for line in lines if tables or not line.lstrip().startswith("|"))


def rows(name: str) -> int:
    """Rows of a table of docs/data, without its head."""
    with (ROOT / "docs/data" / name).open(encoding="utf-8", newline="") as file:
        return sum(1 for _ in csv.reader(file)) - 1


def flags() -> int:
    """Options of all commands, those of several commands counted in each."""
    from earlydrop.cli.commands import COMMANDS, app

    def of(command: App) -> int:
        below = [name for name in command if not name.startswith("-")]
        if below:
            return sum(of(command[name]) for name in below)
        arguments = command.assemble_argument_collection(parse_docstring=False)
        return sum(any(name.startswith("--") for name in argument.names) for argument in arguments)

    return sum(of(app[command]) for command in COMMANDS)


def targets(makefile: str) -> int:
    """Targets of a Makefile that a person calls: names without a dot or a slash."""
    return len(set(re.findall(r"^([a-z][a-z-]*):(?!=)", makefile, re.MULTILINE)))


def figures() -> Mapping[str, Callable[[], int]]:
    """The counted figures, by name."""
    files = tracked()
    pages = [name for name in files if name.endswith(".md")]
    docs = [name for name in pages if name.startswith("docs/")]
    code = [name for name in files if name.endswith((".rs", ".py", ".pyi"))]
    return {
        "words in docs": lambda: words(docs),
        "words in docs outside tables": lambda: words(docs, tables=False),
        "words of the first pages": lambda: words(name for name in pages if name.startswith(FIRST)),
        "words in all pages": lambda: words(pages),
        "words in CONTRIBUTING": lambda: words(["CONTRIBUTING.md"]),
        "TCP options": lambda: rows("tcp-options.csv"),
        "parameters of disciplines": lambda: rows("parameters.csv"),
        "options of commands": flags,
        "make targets": lambda: targets((ROOT / "Makefile").read_text(encoding="utf-8")),
        "lines of Rust and Python": lambda: sum((ROOT / name).read_bytes().count(b"\n") for name in code),
    }


def budgets() -> dict[str, int]:
    """The highest value that each figure may have."""
    with BUDGETS.open(encoding="utf-8", newline="") as file:
        return {row["figure"]: int(row["budget"]) for row in csv.DictReader(file)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="make what is counted the budget")
    asked, files = parser.parse_args(), tracked()
    counted = {name: count() for name, count in figures().items()}
    if asked.write:
        with BUDGETS.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("figure", "budget"), *counted.items()])
    allowed = budgets()
    for name, count in counted.items():
        print(f"{name:32} {count:>9,} of {allowed[name]:>9,}{'  too many' if count > allowed[name] else ''}")
    print(f"{len(files):,} files of {sum((ROOT / name).stat().st_size for name in files) / 1e6:.0f} MB")
    return int(any(count > allowed[name] for name, count in counted.items()))


if __name__ == "__main__":
    sys.exit(main())
