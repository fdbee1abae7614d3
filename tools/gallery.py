"""Draws the gallery: python tools/gallery.py

Each figure is a short program in docs/gallery/README.md, which leaves it in `figure`. It is saved under the name of the
image below the program. Programs share nothing but the page's first one, which comes before each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "gallery" / "README.md"
ENTRY = re.compile(r"```python\n(.*?)```\n\n!\[[^\]]*\]\(images/([\w-]+)\.png\)", re.DOTALL)
START = re.compile(r"```python\n(.*?)```", re.DOTALL)


def entries(text: str) -> Iterator[tuple[str, str]]:
    """Each figure's name and program; the page's first program comes before every one."""
    first = START.search(text)
    assert first is not None
    for found in ENTRY.finditer(text, first.end()):
        yield found[2], first[1] + found[1]


def drawn(name: str, program: str) -> Any:
    """The figure that a program makes."""
    names: dict[str, Any] = {"__name__": "gallery"}
    exec(compile(program, f"docs/gallery/README.md: {name}", "exec"), names)
    return names["figure"]


def main() -> None:
    """Draw all figures of the gallery."""
    from earlydrop.render import plotting

    count = 0
    for name, program in entries(PAGE.read_text(encoding="utf-8")):
        plotting.save(drawn(name, program), PAGE.parent / "images" / name, formats=("png",))
        count += 1
    print(f"gallery: {count} figures")


if __name__ == "__main__":
    main()
