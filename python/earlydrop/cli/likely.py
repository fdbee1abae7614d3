"""The likely mistake behind a wrong file, and what to do instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .. import foreign
from .failures import InputError


def of_scenario(file: str | None) -> str:
    """The likely mistake behind a scenario that cannot be read: another name, or a file of another kind."""
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
    """A file in the same folder whose name is near: `first.toml` for `first`, `frist.toml`."""
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
    try:
        return foreign.from_toml(path)
    except (OSError, ValueError):
        return {}
