"""Puts the keys of topologies and of traffic, as the engine declares them, into the pages that describe scenarios.

python tools/key_pages.py
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import blocks  # noqa: E402
from earlydrop import _core  # noqa: E402

SCENARIOS, NETWORKS, TRAFFIC = PAGES = ("scenarios.md", "networks.md", "traffic.md")

_SCALES = {"bit/s": [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")], "s": [(1.0, "s"), (1e-3, "ms"), (1e-6, "us")]}


def toml(value: Any) -> str:
    """A value as a scenario has it on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(_in_fitting_unit(value) if isinstance(value, str) else value)


def _in_fitting_unit(text: str) -> str:
    """ "10000000 bit/s" as "10 Mbit/s", "0.005 s" as "5 ms"."""
    number, _, unit = text.partition(" ")
    for factor, name in _SCALES.get(unit, []):
        if float(number) >= factor:
            return f"{float(number) / factor:.12g} {name}"
    return text


def _default(key: dict[str, Any]) -> str:
    return key["otherwise"] or f"`{toml(key['default'])}`"


def _allowed(key: dict[str, Any]) -> str:
    text: str = key["allowed"]
    return text if "`" in text else re.sub(r"\"[^\"]*\"|\b(?:true|false)\b", lambda word: f"`{word[0]}`", text)


def table(keys: Sequence[dict[str, Any]], above: Sequence[dict[str, Any]] = ()) -> str:
    """The keys of a table. Rows that stand in a table of one of the kinds `above` are named with that kind."""
    rows, same = ["| key | type | default | allowed | meaning |", "|---|---|---|---|---|"], dict[str, list[str]]()
    for key in keys:
        if kind := next((kind["name"] for kind in above if key in kind["keys"]), None):
            same.setdefault(kind, []).append(f"`{key['key']}`")
            continue
        cells = (f"`{key['key']}`", key["type"], _default(key), _allowed(key), key["about"])
        rows.append("| " + " | ".join(cells) + " |")
    rows += [f"| {', '.join(names)} | | | | As for `{kind}`. |" for kind, names in same.items()]
    return "\n".join(rows)


def _kinds(kinds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The row for the `kind` of an entry."""
    names = ", ".join(json.dumps(kind["name"]) for kind in kinds)
    about = "What is sent; see [traffic](traffic.md)."
    return {"key": "kind", "type": "text", "otherwise": "required", "allowed": names, "about": about}


def overview(kinds: Sequence[dict[str, Any]]) -> str:
    """The kinds of entries, each in a line with the names of its keys."""
    rows = ["| `kind` | what it is | keys |", "|---|---|---|"]
    for kind in kinds:
        keys = ", ".join(f"`{key['key']}`" for key in kind["keys"])
        rows.append(f"| `{json.dumps(kind['name'])}` | {kind['about']} | {keys} |")
    return "\n".join(rows)


def models() -> str:
    """The models of links, each in a line with its parameters and the queue of its device."""
    rows = ['| `model` | what it is | rate | parameters | `aqm = "default"` |', "|---|---|---|---|---|"]
    for one in json.loads(_core.link_models()):
        parameters = ", ".join(f"`{key['name']}`" for key in one["parameters"])
        depth = ", " + _in_fitting_unit(f"{one['depth']} s") if one["depth"] else ""
        name = one["queue"].partition(" ")[0]
        rate = "its own" if one["rate"] else "`rate`"
        rows.append(f"| `{one['name']}` | {one['summary']} | {rate} | {parameters} | `{name}`{depth} |")
    return "\n".join(rows)


def generated() -> Iterator[tuple[str, str, str]]:
    """Page, name and text of each block."""
    tables = json.loads(_core.reference())
    yield SCENARIOS, "topologies", overview(tables["topologies"])
    # The page gives the keys that all links have once.
    tables["link"] = [key for key in tables["link"] if key not in tables["links"]]
    for name in ("links", "node", "link", "entry", "tcp", "ns2"):
        keys = [_kinds(tables["traffic"])] if name == "entry" else []
        yield SCENARIOS, f"keys of {name}", table(keys + tables[name])
    yield NETWORKS, "models", models()
    builders = (f"### `{kind['name']}`\n\n{table(kind['keys'])}" for kind in tables["topologies"])
    yield NETWORKS, "keys of builders", "\n\n".join(builders)
    for k, kind in enumerate(tables["traffic"]):
        yield TRAFFIC, f"keys of {kind['name']}", table(kind["keys"], tables["traffic"][:k])


def write(docs: Path) -> bool:
    """Renew the pages; whether any has changed."""
    changed = [blocks.put(docs / page, name, text) for page, name, text in generated()]
    return any(changed)


if __name__ == "__main__":
    print(f"{'wrote' if write(ROOT / 'docs') else 'unchanged:'} {', '.join(f'docs/{page}' for page in PAGES)}")
