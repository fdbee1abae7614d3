"""The likely mistake behind a wrong command line or a wrong file, and what to do instead."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from cyclopts import CycloptsError, MissingArgumentError, UnknownOptionError

from .failures import InputError
from .helping import EXAMPLES

LISTED = {"reproduce": "studies", "show": "aqms", "vectors": "aqms"}
"""What lists the names that a command's first word may be."""


def said(error: CycloptsError) -> str:
    """What a wrong command line is answered with."""
    command = error.command_chain[0] if error.command_chain else ""
    argument = error.argument
    missing = isinstance(error, MissingArgumentError) and error.keyword is None
    if missing and command in EXAMPLES and argument is not None and not argument.tokens:
        names = f" (`earlydrop list {LISTED[command]}` names all)" if command in LISTED else ""
        return f"{argument.name}: is missing; as in: {EXAMPLES[command][0]}{names}"
    if isinstance(error, UnknownOptionError) and command:
        option = (error.token.keyword or error.token.value).partition("=")[0]
        having = _having(option)
        if having:
            why = "makes one run and " if (command, option) == ("run", "--seeds") else ""
            return f"{option}: {command} {why}has no such option; {', '.join(having)} {'have' if having[1:] else 'has'}"
    return str(error)


def _having(option: str) -> list[str]:
    """The commands that have this option."""
    from .entry import COMMANDS, app

    found = []
    for name in COMMANDS:
        command = app[name]
        if command.default_command is not None:
            arguments = command.assemble_argument_collection()
            if any(option in argument.names for argument in arguments if argument.parse):
                found.append(name)
    return found


def of_scenario(file: str | None) -> str:
    """What is likely behind a scenario that cannot be read: another name, or a file of another kind."""
    if file is None:
        return ""
    path = Path(file)
    if not path.exists():
        return _near(path)
    return f"{file} is a sweep: `earlydrop sweep {file}` runs it" if "factor" in _tables(path) else ""


def check_sweep(file: Path) -> None:
    """Refuse a sweep's file that does not exist or is a scenario.

    Raises:
        InputError: which file may be meant, or what takes a scenario.
    """
    if not file.exists():
        near = _near(file)
        raise InputError(f"{file}: no such file{'; ' if near else ''}{near}", file=str(file))
    document = _tables(file)
    if "topology" in document and "factor" not in document:
        raise InputError(
            f"{file}: is a scenario: `earlydrop run` and `compare` take it; a sweep's file has "
            f'scenario = "{file.name}" and a table [[factor]] for each thing that varies',
            file=str(file),
        )


def _near(path: Path) -> str:
    """A file beside it whose name is near: `first.toml` for `first`, `frist.toml`."""
    from ..strict_toml import nearest

    try:
        known = [one.name for one in path.parent.iterdir() if one.suffix == ".toml"]
    except OSError:
        return ""
    if f"{path.name}.toml" in known:
        return f'did you mean "{path}.toml"?'
    return nearest(path.name, known)


def _tables(path: Path) -> dict[str, Any]:
    """The document in a TOML file; empty if it cannot be read."""
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
