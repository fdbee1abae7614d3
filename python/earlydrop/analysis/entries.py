"""What is compared: disciplines by name or as objects, each laid into the scenario at the compared queue."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .. import discipline_names
from ..document import Document
from ..errors import CompareError
from ..own_aqms import registry
from ..queue_settings import Queue

Catalogue = Mapping[str, Any]
"""Entries of disciplines by name, as `_core.catalogue()` has them."""


@dataclass(frozen=True)
class Entry:
    """One discipline of a comparison."""

    aqm: str
    """The discipline's name in scenarios."""
    settings: Document = field(default_factory=dict)
    whole: bool = False
    """Whether the entry has all settings: of the scenario's queue then only `limit` and `ecn` are kept."""
    given: tuple[tuple[str, str], ...] = ()
    """Further settings as `--set` has them: names and values as TOML or bare words."""
    digest: str | None = None
    """Digest of the code of a discipline from outside."""
    id: str = ""
    """Its name in the results: the discipline's name, and what tells it from other entries of that name."""
    title: str = ""


def entries(
    items: Sequence[str | Queue | type[Queue] | Entry], where: str = "--aqm", folder: str | None = None
) -> tuple[Entry, ...]:
    """The disciplines to compare, with ids and titles that tell them apart.

    Texts are read by `earlydrop.discipline_names`; `where` is their place in messages, `folder` that of the scenario.

    Raises:
        CompareError: there is no such discipline, or one is given twice.
        PolicyError: the code of one's own discipline is broken.
    """
    if isinstance(items, str | Queue):
        raise CompareError(f"{where}: given {items!r}; allowed a list of disciplines")
    if not items:
        raise CompareError(f"{where}: given none; allowed one discipline or more, the first is the control")
    made: list[Entry] = []
    for item in items:
        made += _of_text(item, where, folder) if isinstance(item, str) else [_entry(item, where)]
    for k, one in enumerate(made):
        if one in made[:k]:
            settings = _text({**one.settings, **dict(one.given)})
            raise CompareError(f'{where}: "{f"{one.aqm} {settings}".strip()}" is given twice')
    known = discipline_names.catalogue()
    return tuple(_named(one, made, known) for one in made)


def _entry(item: Queue | type[Queue] | Entry, where: str) -> Entry:
    if isinstance(item, Entry):
        return item
    if isinstance(item, Queue):
        settings = {k: v for k, v in item.document().items() if k != "aqm"}
        return Entry(item.name, settings, whole=True, digest=getattr(item, "digest", None))
    if isinstance(item, type) and issubclass(item, Queue):
        return _entry(item(), where)
    raise CompareError(f"{where}: given {item!r}; allowed a discipline such as ed.aqm.Red(min_th=10), or its name")


def _of_text(text: str, where: str, folder: str | None) -> list[Entry]:
    # A list such as `red,pie` may have empty parts; a list that is empty as a whole is a variable without a value.
    if not text.strip(", "):
        raise CompareError(f'{where}: given "{text}"; allowed a discipline such as red or "codel target=5ms"')
    try:
        found = [discipline_names.parse(one, folder) for one in discipline_names.split(text)]
    except discipline_names.DisciplineError as error:
        raise CompareError(f"{where}: {error}") from error
    own = [registry.find(one.name) for one in found]
    return [
        Entry(one.name, given=one.settings, digest=None if code is None else code.digest)
        for one, code in zip(found, own, strict=True)
    ]


def _named(one: Entry, made: Sequence[Entry], known: Catalogue) -> Entry:
    same = [other for other in made if other.aqm == one.aqm]
    title = known[one.aqm]["title"] if one.aqm in known else one.aqm
    if one.given:
        apart = " ".join(f"{key}={value}" for key, value in one.given)
        return replace(one, id=f"{one.aqm} {apart}", title=f"{title} {apart}")
    same = [other for other in same if not other.given]
    apart = _apart(one, same)
    if [_apart(other, same) for other in same].count(apart) > 1:
        # For versions of one's own discipline, the digest of the code tells them apart.
        apart = f"{apart} {(one.digest or '')[:6]}".strip()
    return replace(one, id=f"{one.aqm} {apart}".strip(), title=f"{title} {apart}".strip())


def _apart(one: Entry, same: Sequence[Entry]) -> str:
    """The settings in which these entries differ."""
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
    object is the whole queue: it keeps the scenario's `limit` and `ecn` where it has none. A discipline of a queue with
    a parent is the child.
    """
    mine: Document = json.loads(json.dumps(document, default=str))
    home, key, prefix = mine.setdefault("queue", {}), queue, f"queue.{queue}."
    if "parent" in home.get(queue, {}):
        home, key, prefix = home[queue], "child", f"{prefix}child."
    table = home.setdefault(key, {})
    own = {p["name"] for p in known[entry.aqm]["parameters"]} if entry.aqm in known else set()
    foreign = {p["name"] for one in known.values() for p in one["parameters"]} - own
    if entry.whole:
        kept = {k: v for k, v in table.items() if k in ("limit", "ecn")}
        home[key] = {"aqm": entry.aqm, **kept, **entry.settings}
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
