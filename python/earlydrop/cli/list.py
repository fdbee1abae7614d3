"""`earlydrop list`: names of disciplines, markers, parents, TCPs, stacks, models, topologies, traffic and studies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, get_args

from .. import terminal
from .exits import DONE
from .options import Json, Trust
from .printing import print_json

Kind = Literal["aqms", "markers", "parents", "tcps", "stacks", "models", "topologies", "traffic", "studies"]


def list_(kind: Kind | None = None, /, *, trust: Trust = False, json: Json = False) -> int:
    """List disciplines, markers, parents, TCPs, stacks, models of links, topologies, traffic and studies.

    Parameters
    ----------
    kind
        aqms, markers, parents, tcps, stacks, models, topologies, traffic or studies; everything when left out.
    """
    kinds: list[Kind] = [kind] if kind else list(get_args(Kind))
    found = {k: _listed(k) for k in kinds}
    if json:
        print_json(found[kind] if kind else found)
        return DONE
    parts = []
    for name, entries in found.items():
        text = _families(entries) if name == "aqms" else _table_of(entries)
        parts.append(text if kind else f"{name}\n{text}")
    print("\n\n".join(parts))
    return DONE


def _table_of(entries: Sequence[dict[str, Any]]) -> str:
    rows = [[e["name"], e.get("title", ""), e.get("summary", "")] for e in entries]
    return terminal.wrapped(["name", "title", "what it is"], {"": rows}) if rows else "none"


def _families(entries: Sequence[dict[str, Any]]) -> str:
    """The disciplines by family."""
    groups: dict[str, list[list[str]]] = {}
    for e in entries:
        groups.setdefault(e["family"], []).append([e["name"], e["title"], str(e["year"] or "-"), e["summary"]])
    return terminal.wrapped(["name", "title", "year", "what it is"], groups, indent="  ")


def _own(keys: Sequence[str]) -> list[dict[str, Any]]:
    """The disciplines of this folder's `earlydrop.toml` and of installed packages.

    What the file names is not run without `--trust`; it then stands here by name and source alone.
    """
    from ..own_aqms import registry

    found = []
    for listed in registry.configured():
        if listed.trusted:
            entry = json.loads(listed.load().native.entry())
            found.append({k: entry[k] for k in keys} | {"from": f"{registry.CONFIGURATION}: {listed.source}"})
        else:
            said = f"{listed.source}, by {registry.CONFIGURATION}; --trust loads it"
            found.append({"name": listed.name, "title": "-", "family": "your own", "year": 0, "summary": said})
    for point in registry.points():
        entry = json.loads(registry.installed(point).native.entry())
        found.append({k: entry[k] for k in keys} | {"from": f"package: {point.value}"})
    return found


def _folded() -> list[dict[str, Any]]:
    """The schemes that are a setting of a discipline."""
    from .. import discipline_names

    return [
        {k: one[k] for k in ("name", "title", "year")}
        | {"family": "settings of others", "summary": f"{one['text']}: {one['summary']}", "source": ""}
        for one in discipline_names.all_folded()
    ]


def _listed(kind: Kind) -> list[dict[str, Any]]:
    import earlydrop._core as _core

    if kind == "aqms":
        keys = ("name", "title", "family", "year", "summary", "source")
        found = [{k: entry[k] for k in keys} for entry in json.loads(_core.catalogue())]
        return [*found, *_own(keys), *_folded()]
    if kind in ("markers", "parents"):
        found = json.loads(_core.markers() if kind == "markers" else _core.parents())[kind]
        return [{k: entry[k] for k in ("name", "title", "year", "summary", "source")} for entry in found]
    if kind == "models":
        return [{k: one[k] for k in ("name", "title", "summary")} for one in json.loads(_core.link_models())]
    if kind == "stacks":
        from .. import stacks

        return [
            {"name": s["name"], "title": ", ".join(s["tcps"]), "summary": s["about"]}
            for s in stacks.catalogue()["stacks"]
        ]
    if kind == "studies":
        from .. import study

        return [
            {"name": s.name, "title": s.title, "summary": s.question}
            for s in (study.find(name) for name in study.available())
        ]
    from ..schema import choices

    return choices(kind)
