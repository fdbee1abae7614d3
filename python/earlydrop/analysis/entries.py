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
    """What people see: the label, or the discipline's title, and what tells it from others of that title."""
    label: str = field(default="", compare=False)
    """The title that was asked for. It changes no result."""

    @property
    def text(self) -> str:
        """The discipline with its settings, as a command line has it."""
        return f"{self.aqm} {_text({**self.settings, **dict(self.given)})}".strip()


Item = str | Queue | type[Queue] | Entry
Items = Sequence[Item] | Mapping[str, Item]
"""Disciplines to compare; a mapping has them by their labels."""


def entries(items: Items, where: str = "--aqm", folder: str | None = None) -> tuple[Entry, ...]:
    """The disciplines to compare, with ids and titles that tell them apart.

    Texts are read by `earlydrop.discipline_names`; `where` is their place in messages, `folder` that of the scenario.

    Raises:
        CompareError: there is no such discipline, or a discipline or a label is given twice.
        PolicyError: the code of one's own discipline is broken.
    """
    if isinstance(items, str | Queue):
        raise CompareError(f"{where}: given {items!r}; allowed a list of disciplines")
    if not items:
        raise CompareError(f"{where}: given none; allowed one discipline or more, the first is the control")
    made: list[Entry] = []
    if isinstance(items, Mapping):
        for name, item in items.items():
            try:
                made.append(replace(_single(item, where, folder), label=discipline_names.label(name)))
            except discipline_names.DisciplineError as error:
                raise CompareError(f"{where}: {error}") from error
    else:
        for item in items:
            made += _of_text(item, where, folder) if isinstance(item, str) else [_entry(item, where)]
    for k, one in enumerate(made):
        if one in made[:k]:
            labels = [f'"{other.label}"' for other in (made[made.index(one)], one) if other.label]
            as_ = f", as {' and '.join(labels)}" if labels else ""
            raise CompareError(f'{where}: "{one.text}" is given twice{as_}')
    known = discipline_names.catalogue()
    found = tuple(_named(one, made, known) for one in made)
    if same := discipline_names.twice([one.title for one in found]):
        first, second = (found[k] for k in same)
        raise CompareError(f'{where}: "{first.title}" is the label of both "{first.text}" and "{second.text}"')
    return found


def _single(item: Item, where: str, folder: str | None) -> Entry:
    """One discipline, which has a label already."""
    found = _of_text(item, where, folder) if isinstance(item, str) else [_entry(item, where)]
    if len(found) != 1:
        raise CompareError(f"{where}: given {item!r} under one label; allowed one discipline")
    return found[0]


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
    made = []
    for one in discipline_names.split(text):
        try:
            asked = discipline_names.asked(one, folder)
        except discipline_names.DisciplineError as error:
            raise CompareError(f"{where}: {error}") from error
        # Of two files with one name, the last that was read is known by it.
        code = registry.find(asked.name)
        digest = None if code is None else code.digest
        made.append(Entry(asked.name, given=asked.settings, digest=digest, label=asked.label))
    return made


def _named(one: Entry, made: Sequence[Entry], known: Catalogue) -> Entry:
    def titled(aqm: str) -> str:
        return str(known[aqm]["title"]) if aqm in known else aqm

    same = [other for other in made if other.aqm == one.aqm and bool(other.given) == bool(one.given)]
    apart = _apart(one, same)
    if [_apart(other, same) for other in same].count(apart) > 1:
        # For versions of one's own discipline, the digest of the code tells them apart.
        apart = f"{apart} {(one.digest or '')[:6]}".strip()
    # Policies that were made of one class have its title, and names of their own.
    alike = any(other.aqm != one.aqm and titled(other.aqm) == titled(one.aqm) for other in made)
    title = f"{one.aqm if alike else titled(one.aqm)} {apart}".strip()
    return replace(one, id=f"{one.aqm} {apart}".strip(), title=one.label or title)


def _apart(one: Entry, same: Sequence[Entry]) -> str:
    """The settings in which these entries differ; all that stand in a text."""
    if one.given:
        return " ".join(f"{key}={value}" for key, value in one.given)
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
