"""TCP stacks by name: the values of their options, and the differences between two stacks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import earlydrop._core as _core
from . import terminal


@dataclass(frozen=True)
class Setting:
    """An option of a stack, for the TCPs that have it alike."""

    group: str
    key: str
    tcps: tuple[str, ...]
    """The TCPs that have these values; empty for all TCPs that both stacks have."""
    value: Any
    other: Any = None
    """The option's value in the stack that is compared with."""
    source: str = ""
    about: str = ""


@cache
def catalogue() -> dict[str, Any]:
    """`stacks` and `options`, as the engine declares them."""
    found: dict[str, Any] = json.loads(_core.stacks())
    return found


def names() -> list[str]:
    """Names of all stacks."""
    return [stack["name"] for stack in catalogue()["stacks"]]


def named(name: str) -> dict[str, Any]:
    """A stack."""
    found: dict[str, Any] = next(stack for stack in catalogue()["stacks"] if stack["name"] == name)
    return found


def settings(name: str) -> list[Setting]:
    """Every option of a stack, with what it does."""
    stack = named(name)
    found = []
    for option in _options():
        by_value: dict[str, list[str]] = {}
        values = stack["values"]
        for tcp in (t for t in values if option["key"] in values[t]):
            by_value.setdefault(json.dumps(values[tcp][option["key"]]), []).append(tcp)
        for value, tcps in by_value.items():
            shown = () if len(tcps) == len(values) else tuple(tcps)
            row = (option["group"], option["key"], shown, json.loads(value))
            found.append(Setting(*row, source=_source(name, option["key"], tcps), about=option["about"]))
    return found


def differences(name: str, other: str) -> list[Setting]:
    """The options in which one stack differs from another, for the TCPs that both have."""
    ours, theirs = named(name)["values"], named(other)["values"]
    both = [tcp for tcp in ours if tcp in theirs]
    found = []
    for option in _options():
        key = option["key"]
        by_values: dict[str, list[str]] = {}
        for tcp in both:
            pair = [ours[tcp].get(key), theirs[tcp].get(key)]
            if pair[0] != pair[1]:
                by_values.setdefault(json.dumps(pair), []).append(tcp)
        for pair_, tcps in by_values.items():
            value, against = json.loads(pair_)
            source = _source(name, key, tcps) or _source(other, key, tcps) or option["source"]
            shown = () if len(tcps) == len(both) else tuple(tcps)
            found.append(Setting(option["group"], key, shown, value, against, source, option["about"]))
    return found


def by_group(options: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """Options of one group beside each other, in the order of the groups' first options."""
    groups = list(dict.fromkeys(option["group"] for option in options))
    return sorted(options, key=lambda option: groups.index(option["group"]))


def _options() -> Sequence[dict[str, Any]]:
    return by_group(catalogue()["options"])


def _source(name: str, key: str, tcps: Sequence[str]) -> str:
    rows = (row for row in named(name)["rows"] if row["key"] == key)
    found: str = next((row["source"] for row in rows if not row["tcps"] or set(tcps) & set(row["tcps"])), "")
    return found


def word(value: Any) -> str:
    """A value as in a scenario, without quotes."""
    if value is None:
        return "-"
    return json.dumps(value) if isinstance(value, bool) else str(value)


def text(name: str, against: str | None) -> str:
    """A stack, or its differences from another, as text for a terminal."""
    stack = named(name)
    lines = [f"{name}: {stack['about']}", f"TCPs: {', '.join(stack['tcps'])}"]
    if not stack["values"] or (against is not None and not named(against)["values"]):
        return "\n".join(
            [*lines, "", terminal.paragraph("ns2-2.35 is not made of options: its rules are in the code.")]
        )
    rows = []
    if against is None:
        found = settings(name)
        head = ["option", "value", "tcps", "what it does"]
        rows = [[s.key, word(s.value), ", ".join(s.tcps) or "all", s.about] for s in found]
    else:
        found = differences(name, against)
        lines += ["", f"What differs from {against}, for the TCPs that both have:"]
        head = ["option", name, against, "tcps", "where it comes from"]
        rows = [[s.key, word(s.value), word(s.other), ", ".join(s.tcps) or "all", s.source] for s in found]
    if not found:
        return "\n".join([*lines, "nothing"])
    groups: dict[str, list[list[str]]] = {}
    for one, row in zip(found, rows, strict=True):
        groups.setdefault(one.group, []).append(row)
    return "\n".join([*lines, "", terminal.wrapped(head, groups, indent="  ")])


def document(name: str, against: str | None) -> dict[str, Any]:
    """A stack, or differences, as plain values."""
    stack = named(name)
    found = settings(name) if against is None else differences(name, against)
    options = [
        {
            "group": s.group,
            "option": s.key,
            "tcps": list(s.tcps),
            "value": s.value,
            "source": s.source,
            "about": s.about,
        }
        | ({} if against is None else {"against": s.other})
        for s in found
    ]
    head = {"stack": name, "about": stack["about"], "tcps": stack["tcps"]}
    return {**head, **({} if against is None else {"against": against}), "options": options}


def written(entries_json: str) -> list[str]:
    """For each traffic entry, the shortest way to write its TCP."""
    lines = []
    for entry in json.loads(entries_json):
        line = f'traffic[{entry["traffic"]}]: tcp = "{entry["tcp"]}", stack = "{entry["stack"]}"'
        if entry["rules"]:
            rules = ", ".join(f"{key} = {json.dumps(value)}" for key, value in entry["rules"].items())
            line += f", rules = {{ {rules} }}"
        lines.append(line)
    return lines
