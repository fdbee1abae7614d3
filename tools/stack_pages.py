"""Puts the TCP stacks, as the engine declares them, into docs/tcp-stacks.md, and them and their options into its data.

python tools/stack_pages.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import blocks  # noqa: E402
from earlydrop import stacks  # noqa: E402

PAGE = "tcp-stacks.md"

# What the page adds about a stack.
NOTES = {
    "linux-6.18": (
        "`earlydrop show linux-6.18 --against rfc` prints each option in which it differs, with the RFC's value."
    )
}


def rows_of_stacks() -> list[list[str]]:
    """The options in which a stack departs from the RFCs, with where that comes from; the head first."""
    return [
        ["stack", "option", "value", "TCPs", "where it comes from"],
        *(
            [stack["name"], row["key"], json.dumps(row["value"]), ", ".join(row["tcps"]) or "all", row["source"]]
            for stack in stacks.catalogue()["stacks"]
            for row in stack["rows"]
        ),
    ]


def rows_of_options() -> list[list[str]]:
    """Every option, by what it is about; the head first."""
    return [
        ["option", "about", "what it does", "values", "TCPs", "needs", "source"],
        *(
            [
                option["key"],
                option["group"],
                option["about"],
                option["allowed"],
                ", ".join(option["tcps"]) or "all",
                "; ".join(option["needs"]),
                option["source"],
            ]
            for option in stacks.by_group(stacks.catalogue()["options"])
        ),
    ]


def names() -> str:
    """The stacks and their TCPs."""
    parts = []
    for stack in stacks.catalogue()["stacks"]:
        parts += [f"### `{stack['name']}`", "", stack["about"]]
        if note := NOTES.get(stack["name"]):
            parts += ["", note]
        parts += ["", f"TCPs: {', '.join(f'`{tcp}`' for tcp in stack['tcps'])}.", ""]
    return "\n".join(parts)


def write(docs: Path) -> bool:
    """Renew the page and its data, and return whether anything changed."""
    changed = [
        blocks.put(docs / PAGE, "stacks", names()),
        blocks.put_csv(docs / "data" / "tcp-stacks.csv", rows_of_stacks()),
        blocks.put_csv(docs / "data" / "tcp-options.csv", rows_of_options()),
    ]
    return any(changed)


if __name__ == "__main__":
    print(f"{'wrote' if write(ROOT / 'docs') else 'unchanged:'} docs/{PAGE}")
