"""Queue disciplines as classes, made from the engine's catalogue.

`earlydrop.aqm.Tred(limit="120 packets", min_th=24)` is a queue for a link. Each parameter has the name, default and
range that `earlydrop show tred` prints; what is not given keeps its default. The build types the classes out in
`aqm.pyi`.
"""

from __future__ import annotations

import difflib
import json
import keyword
import os
from functools import cache
from typing import Any

import earlydrop._core as _core
from .queue_settings import Queue as Queue
from .queue_settings import about, signature


def class_name(entry: dict[str, Any]) -> str:
    """Class name of a catalogue entry: `TRED` becomes `Tred`, `DropTail` stays, `Gentle RED` becomes `GentleRed`."""
    words = "".join(c if c.isalnum() else " " for c in entry["title"]).split()
    name = "".join(w.capitalize() if w.isupper() or w.islower() else w for w in words)
    return name if name.isidentifier() and not keyword.iskeyword(name) else entry["name"].capitalize()


@cache
def entries() -> tuple[dict[str, Any], ...]:
    """The catalogue, in the order people see it."""
    return tuple(json.loads(_core.catalogue()))


@cache
def folded() -> tuple[dict[str, Any], ...]:
    """Schemes that are a setting of a discipline: `of` names the discipline, `values` the setting."""
    return tuple(json.loads(_core.folded()))


def call(one: dict[str, Any]) -> str:
    """How one of `folded` is written in Python: `FLoadAutoRED(stage="auto")`."""
    of = next(class_name(entry) for entry in entries() if entry["name"] == one["of"])
    return f"{of}({', '.join(f'{name}={json.dumps(value)}' for name, value in one['values'].items())})"


@cache
def classes() -> dict[str, type[Queue]]:
    """All classes by their names."""
    return {class_name(entry): _make(entry) for entry in entries()}


def _make(entry: dict[str, Any]) -> type[Queue]:
    lines = [f"{entry['title']}: {entry['summary']}.", ""]
    lines += [f"limit: The buffer. Default {entry['limit']['default']}; packets, bytes or bandwidth-delay products."]
    lines += map(about, entry["parameters"])
    body = {
        "__doc__": "\n".join(lines),
        "__module__": __name__,
        "name": entry["name"],
        "parameters": tuple(entry["parameters"]),
        "__signature__": signature(entry["parameters"]),
    }
    return type(class_name(entry), (Queue,), body)


def load(source: str | os.PathLike[str]) -> type[Queue]:
    """The discipline at `source` as a class: `mine.py`, `mine.py:MyRed`, or a shared library.

    It is code, and runs with the rights of this program.

    Raises:
        PolicyError: there is no discipline at `source`, or it is broken.
    """
    from .own_aqms import registry

    known = registry.load(source)
    if known.policy is not None:
        policy: type[Queue] = known.policy
        return policy
    made = _make(json.loads(known.native.entry()))
    made.digest = known.digest  # type: ignore[attr-defined]
    return made


def __getattr__(name: str) -> type[Queue]:
    if name.startswith("_"):
        raise AttributeError(name)
    made = classes()
    if name in made:
        return made[name]
    for one in folded():
        if class_name(one) == name:
            raise AttributeError(f"{name} is a setting of {one['of']}; write earlydrop.aqm.{call(one)}")
    near = difflib.get_close_matches(name.lower(), [n.lower() for n in made], 1)
    hint = next((n for n in made if near and n.lower() == near[0]), None)
    raise AttributeError(f"there is no discipline {name}" + (f"; did you mean {hint}?" if hint else ""))


def __dir__() -> list[str]:
    return [*classes(), "Queue", "classes", "entries", "folded", "load"]


def stub() -> str:
    """The text of `aqm.pyi`, from the catalogue."""
    lines = [
        '"""Queue disciplines as classes. Made from the catalogue by `python -m earlydrop.aqm`."""',
        "",
        "from os import PathLike",
        "from typing import Any, Literal",
        "",
        "from .queue_settings import Queue as Queue",
        "",
        "def class_name(entry: dict[str, Any]) -> str: ...",
        "def entries() -> tuple[dict[str, Any], ...]: ...",
        "def classes() -> dict[str, type[Queue]]: ...",
        "def folded() -> tuple[dict[str, Any], ...]: ...",
        "def call(one: dict[str, Any]) -> str: ...",
        "def load(source: str | PathLike[str]) -> type[Queue]: ...",
        "def stub() -> str: ...",
    ]
    for entry in entries():
        lines += ["", f"class {class_name(entry)}(Queue):"]
        lines += [f'    """{entry["title"]}: {entry["summary"]}."""', ""]
        lines += ["    def __init__(", "        self,", "        *,"]
        lines += ["        limit: str | int | None = None,", "        ecn: bool | None = None,"]
        for p in entry["parameters"]:
            lines.append(f"        {p['name']}: {_type(p)} | None = None,")
        lines += ["    ) -> None: ..."]
    return "\n".join(lines) + "\n"


def _type(parameter: dict[str, Any]) -> str:
    if parameter.get("choices"):
        return "Literal[" + ", ".join(f'"{c}"' for c in parameter["choices"]) + "]"
    kind = parameter["kind"]
    if kind in {"flag", "bool", "boolean"}:
        return 'bool | Literal["auto"]' if "auto" in str(parameter["range"]) else "bool"
    if kind in {"whole", "integer"}:
        return "int"
    if kind == "text":
        return "str"
    if parameter["unit"]:
        return "float | str"
    return 'float | Literal["auto"]' if "auto" in str(parameter["range"]) else "float"


if __name__ == "__main__":
    print(stub(), end="")
