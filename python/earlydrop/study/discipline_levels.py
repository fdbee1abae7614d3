"""Levels made from the catalogue: one for each discipline, and one for each change of a discipline's parameters."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..discipline_names import all_folded
from ..document import overlay
from ..queue_settings import NEEDED_UNITS
from ..strict_toml import unknown
from .experiment import Axis, Level
from .study_table import StudyTable

NUMBERS = frozenset({"real", "whole"})
"""Kinds of parameters that can be multiplied."""


def catalogue() -> dict[str, dict[str, Any]]:
    """The declarations of all disciplines, by name."""
    import earlydrop._core as _core

    return {entry["name"]: entry for entry in json.loads(_core.catalogue())}


def levels(t: StudyTable) -> tuple[Level, ...]:
    """One level for each discipline and each scheme that is a setting of one, with its queue at each path of the rules.

    A queue has the `limit`, of the parameters in `known` those that its discipline knows, and those that stand under
    its name in `own`. All else is the discipline's default.
    """
    entries: dict[str, dict[str, Any]] = {}
    for name, entry in catalogue().items():
        entries[name] = {**entry, "set": {"aqm": name}}
        for one in all_folded():
            if one["of"] == name:
                entries[one["name"]] = {**entry, "title": one["title"], "set": {"aqm": name, **one["values"]}}
    rules = {path: _rule(StudyTable(one, f"{t.place}: disciplines {path}"), entries) for path, one in
             t.settings("disciplines").items()}  # fmt: skip
    t.end()
    if not rules:
        raise t.fault("disciplines: names no queue")
    return tuple(
        Level(name, entry["title"], {path: rule[name] for path, rule in rules.items()})
        for name, entry in entries.items()
    )


def _rule(t: StudyTable, entries: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The queue of each discipline."""
    limit = t.text("limit")
    known, own, more = t.settings("known", None), t.settings("own", None), t.settings("all", None)
    t.end()
    parameters = {name: {p["name"] for p in entry["parameters"]} for name, entry in entries.items()}
    everything = set().union(*parameters.values())
    for name in known:
        if name not in everything:
            raise t.fault(f'known: "{name}": {unknown(name, sorted(everything))}')
    for name, settings in own.items():
        if name not in entries:
            raise t.fault(f'own: "{name}": {unknown(name, list(entries))}')
        for parameter in settings:
            if parameter not in parameters[name]:
                raise t.fault(f'own: {name}: "{parameter}": {unknown(parameter, sorted(parameters[name]))}')
    return {
        name: {
            **entries[name]["set"],
            "limit": limit,
            **{k: v for k, v in known.items() if k in parameters[name]},
            **own.get(name, {}),
            **more,
        }
        for name in entries
    }


def settings(t: StudyTable, base: Mapping[str, Any], before: Sequence[Axis]) -> tuple[Level, ...]:
    """A level without changes, then one for each numeric parameter of each discipline of an axis and each factor.

    A parameter is multiplied where it has a number; what the scenario's checker refuses is left out. A level's number
    is the factor.
    """
    import earlydrop._core as _core

    vary = t.table("vary")
    assert vary is not None
    name, queue = vary.text("axis"), vary.text("queue")
    factors = [vary_factor(vary, x) for x in vary.values("factors")]
    leave = set(vary.texts("leave", ()))
    vary.end()
    axis = next((a for a in before if a.id == name), None)
    if axis is None:
        raise vary.fault(f'axis "{name}": {unknown(name, [a.id for a in before])}')
    entries = catalogue()
    found = [Level("base", "as it stands")]
    for level in axis.levels:
        document = overlay(base, level.set)
        try:
            whole = json.loads(_core.Scenario.parse(document, []).to_json())["queue"]
        except (_core.ScenarioError, KeyError):
            # A fault in the scenario is reported when the study is planned.
            continue
        here: Any = {"queue": whole}
        for step in queue.split("."):
            here = here.get(step, {})
        entry = entries.get(here.get("aqm", ""))
        for parameter in entry["parameters"] if entry is not None else ():
            value = here.get(parameter["name"])
            if parameter["kind"] not in NUMBERS or isinstance(value, bool) or not isinstance(value, (int, float)):
                continue
            if leave & {parameter["name"], f"{level.id}.{parameter['name']}"} or not value:
                continue
            for factor in factors:
                number = _times(value, factor, parameter["kind"] == "whole")
                path = f"{queue}.{parameter['name']}"
                changed = f"{number!r} {parameter['unit']}" if parameter["unit"] in NEEDED_UNITS else number
                if number == value or not _allowed(document, {path: changed}):
                    continue
                found.append(
                    Level(
                        f"{level.id}.{parameter['name']}.{factor:g}",
                        f"{parameter['name']} \u00d7 {factor:g}",
                        {path: changed},
                        factor,
                        only={name: (level.id,)},
                    )
                )
    return tuple(found)


def vary_factor(t: StudyTable, value: Any) -> float:
    """A factor for a parameter: a number above 0 that is not 1."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0 or value == 1:
        raise t.fault(f"factors must be numbers above 0, not {value!r}")
    return float(value)


def _times(value: float, factor: float, whole: bool) -> float:
    if whole:
        return max(1, math.floor(value * factor + 0.5))
    return float(f"{value * factor:.12g}")


def _allowed(document: Mapping[str, Any], changes: Mapping[str, Any]) -> bool:
    import earlydrop._core as _core

    try:
        _core.Scenario.parse(overlay(document, changes), [])
    except _core.ScenarioError:
        return False
    return True
