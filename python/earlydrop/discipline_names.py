"""Disciplines as users name them, on the command line and for real links: `codel target=5ms`, `mine.py min_th=10`.

A discipline is a name of the catalogue, a file of one's own, or a name of an `earlydrop.toml` or an installed package.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from .errors import EarlydropError
from .strict_toml import meant, nearest

SHARED = ("limit", "ecn", "random")
"""Settings of every queue, whatever its discipline."""


_LABELLED = re.compile(r"\s*(.*?\S)\s+=\s+(\S.*)", re.DOTALL)
LONGEST_LABEL = 60


class DisciplineError(EarlydropError):
    """A text names no discipline, or gives it settings that it does not have; or a label cannot be one."""


@dataclass(frozen=True)
class Asked:
    """A discipline with its own settings."""

    name: str
    settings: tuple[tuple[str, str], ...] = ()
    """Name and value as TOML or a bare word, as `--set` has them."""
    entry: dict[str, Any] = field(default_factory=dict, compare=False, hash=False)
    """The declaration of the discipline, as an entry of the catalogue."""
    label: str = field(default="", compare=False)
    """What tables and figures call it, if it was given a name for them."""

    @property
    def text(self) -> str:
        """Name and settings, in the form that is parsed."""
        set_ = (f"{key}={value}" for key, value in self.settings)
        return " ".join([self.name, *(shlex.quote(word) if " " in word else word for word in set_)])

    @property
    def title(self) -> str:
        """The label; or the title with the settings, for tables: `CoDel target=5ms`."""
        return self.label or " ".join([self.entry["title"], *(f"{key}={value}" for key, value in self.settings)])


def words(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Name and settings of `red limit=120p min_th=20`; a value with spaces is quoted.

    Raises:
        DisciplineError: the text has another form, or gives a setting twice.
    """
    import earlydrop._core as _core

    try:
        return _core.queue_words(text)
    except _core.ScenarioError as error:
        said = f"; allowed {error.allowed}" if error.allowed else f": {error.message}"
        raise DisciplineError(f"given {error.given}{said}") from None


def labelled(text: str) -> tuple[str, str]:
    """Label and discipline of `FQ-L4S = fq_codel ce_threshold=1ms`: before the first `=` between spaces is the label.

    Raises:
        DisciplineError: the label cannot be one.
    """
    found = _LABELLED.fullmatch(text)
    return (label(found[1]), found[2]) if found else ("", text)


def label(given: object) -> str:
    """A label: text on one line, without spaces around it.

    Raises:
        DisciplineError: it is something else, or longer than `LONGEST_LABEL`.
    """
    if not isinstance(given, str) or not given.strip().isprintable() or not 0 < len(given.strip()) <= LONGEST_LABEL:
        shown = repr(given) if len(repr(given)) <= LONGEST_LABEL else f"{repr(given)[:LONGEST_LABEL]}..."
        raise DisciplineError(
            f'label: given {shown}; allowed 1 to {LONGEST_LABEL} characters on one line, in front of " = "'
        )
    return given.strip()


def twice(labels: Sequence[str]) -> tuple[int, int] | None:
    """The first place of a label that is there twice, and its second one."""
    for second, one in enumerate(labels):
        if one in labels[:second]:
            return labels.index(one), second
    return None


def parse(text: str, folder: str | None = None) -> Asked:
    """The discipline that `text` names, with its settings; code that it names is loaded.

    `folder` is that of a scenario, whose `earlydrop.toml` counts too.

    Raises:
        DisciplineError: there is no such discipline, or it has no such parameter.
        PolicyError: the code is broken.
    """
    name, settings = words(text)
    entry = find(name, folder)
    known = [*SHARED, *(p["name"] for p in entry["parameters"])]
    for key, _ in settings:
        if key not in known:
            here = entry["tc_options"].get(key)
            said = f"tc's {key} is {here} here." if here else nearest(key, known)
            allowed = f"{said} Allowed" if said else "allowed"
            raise DisciplineError(f'"{text}": {entry["name"]} has no parameter {key}; {allowed}: {", ".join(known)}')
    return Asked(entry["name"], tuple(settings), entry)


def asked(text: str, folder: str | None = None) -> Asked:
    """As `parse`, of a text that may begin with a label.

    Raises:
        DisciplineError, PolicyError: as for `labelled` and `parse`.
    """
    called, discipline = labelled(text)
    try:
        return replace(parse(discipline, folder), label=called)
    except DisciplineError as error:
        if not called:
            raise
        raise DisciplineError(f'{error} ("{called}" is the label: a setting has no spaces around its =)') from error


def load_sources(texts: Sequence[str]) -> None:
    """Load the code that the user names in these texts: a scenario that names the same code then finds it.

    Raises:
        PolicyError: the code is broken.
    """
    from .own_aqms import registry

    for text in texts:
        name = labelled(text)[1].split(" ")[0]
        if registry.is_source(name):
            registry.load(name)


def split(text: str) -> list[str]:
    """The texts in a list: `red,codel` names two disciplines; a text with settings is one."""
    return [text] if "=" in text or " " in text else [name for name in text.split(",") if name]


@cache
def _built_in() -> dict[str, dict[str, Any]]:
    import earlydrop._core as _core

    return {entry["name"]: entry for entry in json.loads(_core.catalogue())}


def catalogue() -> dict[str, dict[str, Any]]:
    """The catalogue's disciplines by name, and those from outside that this process has loaded."""
    from .own_aqms import registry

    return _built_in() | {known.native.name: json.loads(known.native.entry()) for known in registry.known()}


def find(name: str, folder: str | None = None) -> dict[str, Any]:
    """The declaration of the discipline that `name` or a source names; its code is loaded.

    Raises:
        DisciplineError: there is no such discipline.
        PolicyError: the code is broken.
    """
    from .own_aqms import registry

    if registry.is_source(name):
        return dict(json.loads(registry.load(name).native.entry()))
    entries = catalogue()
    written = meant(name, list(entries))
    if written is not None:
        return entries[written]
    known = registry.by_name(name, folder)
    if known is not None:
        return dict(json.loads(known.native.entry()))
    one = folded(name)
    if one is not None:
        raise DisciplineError(f'"{name}" is a setting of {one["of"]}; write "{one["text"]}"')
    names = [*entries, *(one.name for one in registry.configured(folder)), *(p.name for p in registry.points())]
    here = next((entry["name"] for entry in entries.values() if name in entry["tc_names"]), None)
    near = f"tc's {name} is {here} here." if here else nearest(name.lower(), names)
    raise DisciplineError(f'there is no "{name}"; {near + " Allowed" if near else "allowed"}: {", ".join(names)}')


def folded(name: str) -> dict[str, Any] | None:
    """The scheme of this name or title that is a setting of a discipline; `text` is how this is written here."""
    return next((one for one in all_folded() if meant(name, [one["name"], one["title"]])), None)


def all_folded() -> list[dict[str, Any]]:
    """The schemes that are a setting of a discipline."""
    import earlydrop._core as _core

    def text(one: dict[str, Any]) -> str:
        return " ".join([one["of"], *(f"{name}={value}" for name, value in one["values"].items())])

    return [one | {"text": text(one)} for one in json.loads(_core.folded())]


def own(name: str) -> Any:
    """The discipline from outside (`_core.Aqm`) that `name` or a source names.

    Raises:
        DisciplineError: there is no such discipline, or it is one of the catalogue.
        PolicyError: the code is broken.
    """
    from .own_aqms import registry

    known = registry.find(find(name)["name"])
    if known is None:
        raise DisciplineError(
            f"{name} is a discipline of the catalogue, which the project's tests hold to the same; "
            "allowed one of your own: a file such as mine.py, mine.py:MyRed or libmine.so"
        )
    return known
