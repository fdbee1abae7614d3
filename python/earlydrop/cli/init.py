"""`earlydrop init`: a scenario to start from."""

from __future__ import annotations

from pathlib import Path

from .checks import check_name
from .exits import DONE
from .failures import InputError


def init(name: str | None = None, /, *, topology: str = "dumbbell") -> int:
    """A commented scenario to start from: written to NAME.toml, or printed when no name is given.

    Parameters
    ----------
    name
        Name of the scenario and of its file.
    topology
        Kind of its network; `earlydrop list topologies` names them all.
    """
    from .. import _core
    from ..schema import choices

    check_name("topology", topology, [one["name"] for one in choices("topologies")])
    if name is None:
        print(_core.template("example", topology), end="")
        return DONE
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    text = _core.template(path.stem, topology)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{path}: exists already; choose another name", file=str(path)) from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", file=str(path)) from None
    print(f"wrote {path}; now: earlydrop run {path}")
    return DONE
