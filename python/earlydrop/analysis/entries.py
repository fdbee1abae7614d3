"""What is compared: disciplines by name or as objects, each laid into the scenario at the compared queue."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .. import _core
from ..document import Document
from ..errors import EarlydropError
from ..policies import registry
from ..queues import Queue
from ..strict_toml import nearest

Catalogue = Mapping[str, Any]
"""Entries of disciplines by name, as `_core.catalogue()` has them."""


class CompareError(EarlydropError):
    """A comparison cannot be made; the message names the file, the field and what is allowed."""


@dataclass(frozen=True)
class Entry:
    """One discipline of a comparison."""

    aqm: str
    """Its name in scenarios."""
    settings: Document = field(default_factory=dict)
    whole: bool = False
    """Whether the settings are all there are: of the scenario's queue only `limit` and `ecn` count then."""
    given: tuple[tuple[str, str], ...] = ()
    """Further settings as `--set` has them: names and values as TOML or bare words."""
    digest: str | None = None
    """Of the code of a discipline from outside."""
    id: str = ""
    """Its name in the results: that of the discipline, and what tells it from others of that name."""
    title: str = ""


def catalogue() -> dict[str, Any]:
    """The catalogue, and the disciplines from outside that this process knows."""
    own = {one.native.name: json.loads(one.native.entry()) for one in registry.known()}
    return own | {entry["name"]: entry for entry in json.loads(_core.catalogue())}


def entries(
    items: Sequence[str | Queue | type[Queue] | Entry], known: Catalogue, where: str = "--aqm"
) -> tuple[Entry, ...]:
    """The disciplines to compare, with ids and titles that tell them apart; `where` is their place in messages.

    Raises:
        CompareError: there is no such discipline, or one is given twice.
    """
    if isinstance(items, str | Queue):
        raise CompareError(f"{where}: given {items!r}; allowed a list of disciplines")
    if not items:
        raise CompareError(f"{where}: given none; allowed one discipline or more, the first is the control")
    made = [_entry(item, known, where) for item in items]
    for k, one in enumerate(made):
        if one in made[:k]:
            what = one.aqm if not one.settings else f"{one.aqm} {_text(one.settings)}"
            raise CompareError(f'{where}: "{what}" is given twice')
    return tuple(_named(one, made, known) for one in made)


def _entry(item: str | Queue | type[Queue] | Entry, known: Catalogue, where: str) -> Entry:
    if isinstance(item, Entry):
        return item
    if isinstance(item, Queue):
        settings = {k: v for k, v in item.document().items() if k != "aqm"}
        return Entry(item.name, settings, whole=True, digest=getattr(item, "digest", None))
    if isinstance(item, type) and issubclass(item, Queue):
        return _entry(item(), known, where)
    if not isinstance(item, str):
        raise CompareError(f"{where}: given {item!r}; allowed a discipline such as ed.aqm.Red(min_th=10), or its name")
    return _of_text(item, known, where)


def _of_text(text: str, known: Catalogue, where: str) -> Entry:
    if text not in known:
        near = nearest(text.lower(), list(known))
        hint = f"{near} Allowed" if near else "allowed"
        raise CompareError(f'{where}: there is no "{text}"; {hint}: {", ".join(known)}')
    own = registry.find(text) if text not in {entry["name"] for entry in json.loads(_core.catalogue())} else None
    return Entry(text, digest=None if own is None else own.digest)


def _named(one: Entry, made: Sequence[Entry], known: Catalogue) -> Entry:
    same = [other for other in made if other.aqm == one.aqm]
    title = known[one.aqm]["title"] if one.aqm in known else one.aqm
    if one.given:
        apart = " ".join(f"{key}={value}" for key, value in one.given)
        return replace(one, id=f"{one.aqm} {apart}", title=f"{title} {apart}")
    apart = _apart(one, same) if len(same) > 1 else ""
    if len(same) > 1 and [_apart(other, same) for other in same].count(apart) > 1:
        # Versions of one's own discipline: the code is what differs.
        apart = f"{apart} {(one.digest or '')[:6]}".strip()
    return replace(one, id=f"{one.aqm} {apart}".strip(), title=f"{title} {apart}".strip())


def _apart(one: Entry, same: Sequence[Entry]) -> str:
    """The settings that not all of these have."""
    return _text(
        {k: v for k, v in one.settings.items() if any(k not in o.settings or o.settings[k] != v for o in same)}
    )


def _text(settings: Mapping[str, Any]) -> str:
    """`target=5ms limit=100packets`: settings as a command line has them."""
    texts = {k: str(v).lower() if isinstance(v, bool) else str(v).replace(" ", "") for k, v in settings.items()}
    return " ".join(f"{k}={text}" for k, text in texts.items())


Sets = list[tuple[str, str]]


def with_entry(
    document: Mapping[str, Any], sets: Sequence[tuple[str, str]], queue: str, entry: Entry, known: Catalogue
) -> tuple[Document, Sets, list[str]]:
    """The scenario with a discipline at `queue`, and what of the queue's settings was left out.

    A name keeps what the scenario says of its own discipline, without the settings that are unknown to this one. An
    object is the whole queue: it keeps the scenario's `limit` and `ecn` where it has none.
    """
    mine: Document = json.loads(json.dumps(document, default=str))
    table = mine.setdefault("queue", {}).setdefault(queue, {})
    own = {p["name"] for p in known[entry.aqm]["parameters"]} if entry.aqm in known else set()
    foreign = {p["name"] for one in known.values() for p in one["parameters"]} - own
    prefix = f"queue.{queue}."
    if entry.whole:
        kept = {k: v for k, v in table.items() if k in ("limit", "ecn")}
        mine["queue"][queue] = {"aqm": entry.aqm, **kept, **entry.settings}
        here = {f"{prefix}{k}" for k in ("limit", "ecn") if k not in entry.settings}
        left = [(path, value) for path, value in sets if not path.startswith(prefix) or path in here]
        return _with_code(mine, entry), left, []
    gone = sorted(foreign & set(table))
    for name in gone:
        del table[name]
    table |= {"aqm": entry.aqm, **entry.settings}
    settings = {**entry.settings, **dict(entry.given)}
    left = []
    for path, value in sets:
        name = path.removeprefix(prefix)
        if path.startswith(prefix) and (name in foreign or name == "aqm" or name in settings):
            if name in foreign and name not in gone:
                gone.append(name)
        else:
            left.append((path, value))
    left += [(prefix + name, value) for name, value in entry.given]
    return _with_code(mine, entry), left, gone


def _with_code(document: Document, entry: Entry) -> Document:
    if entry.digest is not None:
        document["aqms"] = {**document.get("aqms", {}), entry.aqm: {"digest": entry.digest}}
    return document
