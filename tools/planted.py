"""Adds the discipline of docs/design.md to a copy of the checkout, in target/planted, as a hand does: its file and its
line. Then `make pages` there must do all the rest, its tests must pass, and a second `make pages` changes nothing.

python tools/planted.py         a quarter of an hour: everything is built anew
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / "target/planted"
NAME, AFTER = "cubic_red", "tred"


def plant(root: Path) -> list[str]:
    """Edit the files that a hand edits."""
    page = (ROOT / "docs/design.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^   ```rust\n(.*?)^   ```$", page, re.MULTILINE | re.DOTALL)
    text = next(block for block in blocks if "//! # " in block)
    (root / f"crates/aqm/src/{NAME}.rs").write_text(re.sub(r"^   ", "", text, flags=re.MULTILINE), encoding="utf-8")
    library = root / "crates/aqm/src/lib.rs"
    lines = library.read_text(encoding="utf-8")
    library.write_text(lines.replace(f"    {AFTER},\n", f"    {AFTER},\n    {NAME},\n"), encoding="utf-8")
    return [f"crates/aqm/src/{NAME}.rs", "crates/aqm/src/lib.rs"]


def run(*command: str) -> str:
    """The output of a command in the copy."""
    return subprocess.run(command, cwd=COPY, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> int:
    """0 if the second `make pages` changes nothing."""
    shutil.rmtree(COPY, ignore_errors=True)
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        (COPY / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, COPY / name, follow_symlinks=False)
    for command in (["init", "--quiet"], ["add", "--all"]):
        run("git", *command)
    run("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "before")
    by_hand = plant(COPY)
    # The build is that of `make build`, in less time.
    run("make", "dev")
    (COPY / ".venv/.built").touch()
    subprocess.run(["make", "pages"], cwd=COPY, check=True)
    run("git", "add", "--all")
    changed = run("git", "diff", "--cached", "--name-only").split()
    print(f"by hand: {', '.join(by_hand)}; by make pages: {', '.join(sorted(set(changed) - set(by_hand)))}")
    subprocess.run(["make", "pages"], cwd=COPY, check=True)
    again = run("git", "diff", "--name-only").split()
    # Pictures are drawn anew in any case.
    again = [name for name in again if not name.endswith(".png")]
    print(f"changed by a second time: {', '.join(again) or 'nothing'}")
    return int(bool(again))


if __name__ == "__main__":
    sys.exit(main())
