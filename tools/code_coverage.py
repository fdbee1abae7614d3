"""How much of the code the tests reach: what `cargo llvm-cov` and coverage.py counted, as tables on a page.

`make coverage OF=code` runs both and then this. Lines of Rust include the tests within a file; statements of Python do
not include `python/tests`. Not counted are crates that are tested through Python, as root, or in node: the bindings,
real links and the engine in a page.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from pathlib import Path

import blocks

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "validation.md"
# Shorter files tell little: a line is several per cent of them.
SHORTEST = 20
LEAST = 5

NOT_COUNTED = ("crates/python/", "crates/link/", "crates/web/")

# Covered lines and all lines, by file.
Counts = dict[str, tuple[int, int]]


def of_rust(path: Path) -> Counts:
    """The counts that `cargo llvm-cov --json --summary-only` wrote, without files of tests alone."""
    files = json.loads(path.read_text(encoding="utf-8"))["data"][0]["files"]
    lines = {str(Path(file["filename"]).relative_to(ROOT)): file["summary"]["lines"] for file in files}
    return {
        name: (counts["covered"], counts["count"])
        for name, counts in lines.items()
        if "tests" not in name and not name.startswith(NOT_COUNTED)
    }


def of_python(path: Path) -> Counts:
    """The counts that `coverage json` wrote."""
    files = json.loads(path.read_text(encoding="utf-8"))["files"]
    return {name: (file["summary"]["covered_lines"], file["summary"]["num_statements"]) for name, file in files.items()}


def share(covered: int, lines: int) -> str:
    """A share as people read it."""
    return f"{covered / lines:.1%}"


def tables(counts: Counts) -> str:
    """Tables of the crates and the package, and of the files that are covered least."""
    parts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for name, pair in counts.items():
        parts["/".join(name.split("/")[:2])].append(pair)
    lines = ["| part | lines | covered |", "|---|---|---|"]
    for part, pairs in sorted(parts.items()):
        covered, total = (sum(column) for column in zip(*pairs, strict=True))
        lines.append(f"| `{part}` | {total} | {share(covered, total)} |")
    long = {name: pair for name, pair in counts.items() if pair[1] >= SHORTEST}
    least = sorted(long, key=lambda name: long[name][0] / long[name][1])[:LEAST]
    lines += ["", f"The {LEAST} files of at least {SHORTEST} lines that are covered least:", ""]
    lines += ["| file | lines | covered |", "|---|---|---|"]
    lines += [f"| `{name}` | {long[name][1]} | {share(*long[name])} |" for name in least]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=re.split(r"\n\n", __doc__ or "")[0])
    parser.add_argument("--rust", type=Path, required=True, help="what cargo llvm-cov wrote")
    parser.add_argument("--python", type=Path, required=True, help="what coverage json wrote")
    asked = parser.parse_args()
    blocks.put(PAGE, "code coverage", tables(of_rust(asked.rust) | of_python(asked.python)))


if __name__ == "__main__":
    main()
