"""Puts the TCP stacks and their options, as the engine declares them, into docs/tcp-stacks.md.

python tools/stack_pages.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import blocks  # noqa: E402
from earlydrop import stacks  # noqa: E402

PAGE = "tcp-stacks.md"


def _code(value: Any) -> str:
    return f"`{json.dumps(value)}`"


def rows_of_stacks() -> str:
    """For each stack the options in which it departs from the RFCs, with where that comes from."""
    parts = []
    for stack in stacks.catalogue()["stacks"]:
        parts += [f"### `{stack['name']}`", "", stack["about"]]
        parts += ["", f"TCPs: {', '.join(f'`{tcp}`' for tcp in stack['tcps'])}.", ""]
        if stack["rows"]:
            parts += ["| option | | TCPs | where it comes from |", "|---|---|---|---|"]
        for row in stack["rows"]:
            cells = (f"`{row['key']}`", _code(row["value"]), ", ".join(row["tcps"]) or "all", row["source"])
            parts.append("| " + " | ".join(cells) + " |")
        if stack["rows"]:
            parts.append("")
    return "\n".join(parts)


def table_of_options() -> str:
    """Every option, by what it is about."""
    parts = []
    options = stacks.catalogue()["options"]
    for group in dict.fromkeys(option["group"] for option in stacks.by_group(options)):
        parts += ["", f"### {group}", ""]
        parts += ["| option | what it does | values | TCPs | needs | source |", "|---|---|---|---|---|---|"]
        for option in (one for one in options if one["group"] == group):
            key = f"`{option['key']}`" + (" (in `rules`)" if option["in_rules"] else "")
            needs = "; ".join(option["needs"])
            cells = (
                key,
                option["about"],
                option["allowed"],
                ", ".join(option["tcps"]) or "all",
                needs,
                option["source"],
            )
            parts.append("| " + " | ".join(cells) + " |")
    return "\n".join(parts)


def write(docs: Path) -> bool:
    """Renew the page and return whether it changed."""
    changed = [
        blocks.put(docs / PAGE, "stacks", rows_of_stacks()),
        blocks.put(docs / PAGE, "options", table_of_options()),
    ]
    return any(changed)


if __name__ == "__main__":
    print(f"{'wrote' if write(ROOT / 'docs') else 'unchanged:'} docs/{PAGE}")
