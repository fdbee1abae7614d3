"""What a result follows from, kept beside it: the command, and the files that it read.

The folder `inputs` of a result has these files, with the names by which they call each other there, and the manifest
has the command as one types it in that folder. `earlydrop pack` puts both into one file. A file that is called by a
path that leads down keeps that path, which may show in results as a level's name; others lie side by side.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from . import disk, foreign
from .output import NAME
from .own_aqms import registry
from .strict_toml import parse_value
from .toml_writer import to_toml, toml_value

FOLDER = "inputs"
OPTIONS = {
    "run": ("--seed", "--set", "--measure"),
    "compare": ("--aqm", "--seeds", "--until", "--most", "--set", "--measure", "--queue"),
    "sweep": (),
    "reproduce": ("--seeds", "--quick", "--assume", "--aqm"),
}
"""The commands whose results keep their inputs, and those of their options that results follow from."""
SUFFIXES = (".toml", ".json", ".csv", ".md", ".txt", ".py", *registry.LIBRARIES)
"""Suffixes of files in the folder; a file with another one gets `.txt` behind its name."""
LIBRARIES = ("numpy", "polars", "scipy")
"""Packages whose versions are noted: the statistics and the tables are made with them."""
DEPTH = 4
"""Folders above a file that keeps its path."""
_TOKEN = re.compile(r"""[^\s,="']+""")


def versions() -> dict[str, str]:
    """The versions that results are made with."""
    import earlydrop._core as _core

    found = {"earlydrop": _core.version(), "python": platform.python_version()}
    return found | {name: importlib.metadata.version(name) for name in LIBRARIES}


def is_code(name: str) -> bool:
    """Whether a file of this name is run, not read."""
    return name.endswith((".py", *registry.LIBRARIES))


class Inputs:
    """The inputs of one command, read when it begins."""

    def __init__(self, command: str, file: str | Path, options: Mapping[str, Any]) -> None:
        """Read them: `file` is the command's scenario, sweep or study; `options` are those of `OPTIONS`.

        Raises:
            OSError, ValueError: a file cannot be read.
        """
        self.files: dict[str, bytes] = {}
        """By name in the folder, what the files have."""
        self.reason = ""
        """Why these are not all that the command needs; empty if they are."""
        self._names: dict[str, str] = {}
        self._folders: list[Path] = []
        self.command = [command, self._first(file)]
        """The command line in the folder, without the program's name."""
        assert set(options) <= set(OPTIONS[command])
        for name, value in options.items():
            self.command += self._option(name, value)
        self._listed()

    def about(self) -> dict[str, Any]:
        """Entries of the result's manifest."""
        code = sorted(name for name in self.files if is_code(name))
        reason = {"reason": self.reason} if self.reason else {}
        return {"command": self.command, "code": code, "versions": versions(), **reason}

    def write(self, folder: Path) -> None:
        """Write the files into a result folder."""
        disk.make_folder(folder / FOLDER)
        for name, content in self.files.items():
            disk.make_folders((folder / FOLDER / name).parent)
            disk.write(folder / FOLDER / name, content)

    # ---- the command -------------------------------------------------------------------------------------------------

    def _first(self, file: str | Path) -> str:
        if isinstance(file, str):
            # A study of the package.
            return file
        return f"./{self._study(file)}" if file.is_dir() else self._toml(file, file.parent)

    def _option(self, name: str, value: Any) -> list[str]:
        if value is None or value is False:
            return []
        if value is True:
            return [name]
        if isinstance(value, (list, tuple)):
            return [word for one in value for word in self._option(name, one)]
        return [f"{name}={self._setting(value) if name == '--set' else self._text(str(value))}"]

    def _setting(self, text: str) -> str:
        path, _, value = text.partition("=")
        given = parse_value(value.strip())
        made = self._rewritten(given, Path())
        return text if made == given else f"{path.strip()}={toml_value(made)}"

    def _text(self, text: str) -> str:
        """A text of the command line, in which code is named."""

        def named(found: re.Match[str]) -> str:
            made = self._source(found[0], Path())
            if registry.is_source(made) and made.rpartition(":")[0] not in self.files and made not in self.files:
                self.reason = f"of {text} it is not clear which file it names"
            return made

        return _TOKEN.sub(named, text)

    # ---- files -------------------------------------------------------------------------------------------------------

    def _toml(self, path: Path, folder: Path, name: str = "") -> str:
        """Keep a TOML file: as it is, unless it names files."""
        self._folders.append(folder)
        text = foreign.text(path, foreign.SMALL)
        document = foreign.from_toml(path)
        made = self._rewritten(document, folder)
        if isinstance(scenario := made.get("scenario"), str):
            made = {**made, "scenario": self._toml(folder / scenario, (folder / scenario).parent)}
        made.pop("store", None)
        if made != document:
            text = json.dumps(made) if path.suffix.lower() == ".json" else to_toml(made)
        if name:
            self.files[name] = text.encode()
            return name
        return self._kept(path.name, text.encode())

    def _study(self, folder: Path) -> str:
        """Keep a study's folder, in one of its name."""
        home = re.sub(r"[^\w-]+", "_", folder.resolve().name).strip("_-")[:60] or "study"
        for path in sorted([*folder.glob("*"), *folder.glob("published/*")]):
            inside = f"{home}/{path.relative_to(folder).as_posix()}"
            if path.suffix not in (".toml", ".csv", ".md") or not path.is_file():
                continue
            if not re.fullmatch(NAME, path.name):
                self.reason = f"{path} has a name that not every system can have"
            elif not path.resolve().is_relative_to(folder.resolve()):
                # What it leads to was perhaps never meant to be handed on.
                self.reason = f"{path} is a link that leads out of its folder"
            elif path.name == "study.toml":
                self._toml(path, folder, inside)
            else:
                self.files[inside] = foreign.content(path, foreign.SMALL, folder)
        return home

    def _rewritten(self, value: Any, folder: Path) -> Any:
        """A copy in which files are called by their names here; relative paths start in `folder`."""
        if isinstance(value, Mapping):
            for kind in ("trace", "cdf_file"):
                if set(value) == {kind} and isinstance(value[kind], str):
                    return {kind: self._file(value[kind], folder)}
            return {key: self._rewritten(inner, folder) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._rewritten(inner, folder) for inner in value]
        if isinstance(value, str) and value:
            bare = value.strip("\"'")
            return value.replace(bare, self._source(bare, folder)) if bare else value
        return value

    def _source(self, text: str, folder: Path) -> str:
        """The source of code, such as `mine.py:MyRed`, as it is called here; another text as it is."""
        if not registry.is_source(text):
            return text
        path, colon, name = text.rpartition(":") if ".py:" in text else (text, "", "")
        return f"{self._file(path, folder)}{colon}{name}" if (folder / path).is_file() else text

    def _file(self, given: str, folder: Path) -> str:
        """Keep a file that another one names."""
        full = os.path.realpath(folder / given)
        if full not in self._names:
            self._names[full] = self._kept(given, foreign.content(folder / given))
        return self._names[full]

    def _kept(self, given: str, content: bytes) -> str:
        """Keep a file, under its path if this leads down; returns its name here."""
        *above, last = Path(given).parts
        stem, suffix = os.path.splitext(last)
        if suffix not in SUFFIXES:
            stem, suffix = last, ".txt"
        stem = re.sub(r"[^\w.-]+", "_", stem).strip("._-")[:60] or "file"
        if len(above) > DEPTH or not all(re.fullmatch(NAME, part) for part in above):
            above = []
        taken = {name.casefold(): name for name in self.files} | {registry.CONFIGURATION: ""}
        name = "/".join([*above, stem + suffix])
        there = taken.get(name.casefold())
        if there is not None and self.files.get(there) != content:
            name = "/".join([*above, f"{stem}-{sha256(content).hexdigest()[:8]}{suffix}"])
        self.files[name] = content
        return name

    def _listed(self) -> None:
        """Keep the disciplines of an `earlydrop.toml` that were loaded, and note those of installed packages."""
        used: dict[str, str] = {}
        for listed in (one for folder in self._folders or [Path()] for one in registry.configured(str(folder))):
            if listed.name not in used and registry.find(listed.name) is not None and listed.trusted:
                used[listed.name] = self._source(listed.source, Path(listed.folder))
        if used:
            self.files[registry.CONFIGURATION] = to_toml({"aqms": used}).encode()
        for point in registry.points() if registry.known() else ():
            if registry.find(point.name) is not None and self._names_it(point.name):
                self.reason = f"the discipline {point.name} is of an installed package, {point.value}"

    def _names_it(self, name: str) -> bool:
        """Whether the command or one of its files names a discipline."""
        texts = [*self.command, *(content.decode("utf-8", "replace") for content in self.files.values())]
        return any(re.search(rf"\b{re.escape(name)}\b", text) for text in texts)


def of(command: str, file: str | Path, options: Mapping[str, Any], sets: Sequence[tuple[str, str]] = ()) -> Inputs:
    """The inputs of a command; a scenario with its settings is checked first, so that its messages are the checker's.

    Raises:
        ScenarioError: the scenario is wrong.
    """
    import earlydrop._core as _core

    if command in ("run", "compare"):
        _core.Scenario.load(str(file), list(sets))
    return Inputs(command, file, options)
