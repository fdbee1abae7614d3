"""Small projects to start a discipline of one's own from, in Python, C or Rust."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from . import disk
from .aqm import entries
from .errors import EarlydropError

Language = Literal["python", "c", "rust"]
HEADER = Path(__file__).parent / "include" / "earlydrop_aqm.h"
"""The C ABI, which a project in C gets a copy of."""


class NewAqmError(EarlydropError):
    """A project cannot be written. The message says why."""


@dataclass(frozen=True)
class _Kind:
    """What is written for a language: templates below `new_aqm`, and what the README says."""

    written_in: str
    files: tuple[tuple[str, str], ...]
    """Name of the template and of the file made from it."""
    edited: str
    source: str
    """The file that is loaded as the discipline."""
    build: str = ""
    more: str = ""


_SHARED = (
    ("test_NAME.py.j2", "test_NAME.py"),
    ("scenario.toml.j2", "scenario.toml"),
    ("earlydrop.toml.j2", "earlydrop.toml"),
    ("README.md.j2", "README.md"),
)
_KINDS: dict[Language, _Kind] = {
    "python": _Kind(
        "Python",
        (("python/NAME.py.j2", "NAME.py"),),
        "NAME.py",
        "NAME.py",
        more="Plain Python is slow and easy to debug. `@ed.policy(jit=True)` compiles the class; it decides the same.",
    ),
    "c": _Kind(
        "C",
        (("c/NAME.c.j2", "NAME.c"), ("c/Makefile.j2", "Makefile")),
        "NAME.c",
        "libNAME.so",
        "make",
        "`earlydrop_aqm.h` explains every field. Without make: `cc -O2 -shared -fPIC -o libNAME.so NAME.c`.",
    ),
    "rust": _Kind(
        "Rust",
        (("rust/Cargo.toml.j2", "Cargo.toml"), ("rust/src/lib.rs.j2", "src/lib.rs"), ("rust/src/abi.rs", "src/abi.rs")),
        "src/lib.rs",
        "target/release/libNAME.so",
        "cargo build --release",
        "`src/abi.rs` has the trait that a discipline implements. There are no dependencies.",
    ),
}


@dataclass(frozen=True)
class Project:
    """A project that was written."""

    folder: Path
    files: Sequence[str]
    source: str
    build: str


def write(name: str, language: Language = "python", folder: Path | None = None) -> Project:
    """Write the project `name` into `folder`, by default one of its name here.

    Raises:
        NewAqmError: the name cannot be that of a discipline, or the folder has something in it.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    _check(name)
    kind = _KINDS[language]
    place = folder if folder is not None else Path(name)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise NewAqmError(f"{place}: has something in it; allowed a new or empty folder, with --folder")

    def named(text: str) -> str:
        return text.replace("NAME", name)

    environment = Environment(
        loader=PackageLoader("earlydrop", "templates/new_aqm"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    values = {
        "name": name,
        "title": "".join(part.capitalize() for part in name.split("_")),
        "written_in": kind.written_in,
        "edited": named(kind.edited),
        "source": named(kind.source),
        "build": named(kind.build),
        "more": named(kind.more),
    }
    files = (*kind.files, *_SHARED)
    texts = {named(file): environment.get_template(template).render(values) for template, file in files}
    if language == "c":
        texts["earlydrop_aqm.h"] = HEADER.read_text(encoding="utf-8")
    try:
        for file, text in texts.items():
            disk.make_folders((place / file).parent)
            disk.write(place / file, text)
    except OSError as error:
        raise NewAqmError(f"{error.filename or place}: {error.strerror}") from error
    return Project(place, sorted(texts), named(kind.source), kind.build)


def _check(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name):
        near = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()).strip("_")
        hint = f'; "{near}" would do' if re.fullmatch(r"[a-z][a-z0-9_]{0,63}", near) else ""
        raise NewAqmError(f'NAME: given "{name}"; allowed a-z, 0-9 and _, a letter first{hint}')
    if any(entry["name"] == name for entry in entries()):
        raise NewAqmError(f'NAME: "{name}" is a discipline already; allowed a name of its own, such as my_{name}')
    # The project's module is imported by this name, beside these modules.
    if name in sys.stdlib_module_names or name in {"earlydrop", "test", "numba", "numpy", "pytest"}:
        raise NewAqmError(f'NAME: "{name}" is a module of Python; allowed a name of its own, such as {name}_aqm')
