"""`earlydrop init`: a scenario to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .. import disk
from .checks import check_folder, check_name
from .exits import DONE
from .failures import InputError


def init(
    name: str | None = None,
    /,
    *,
    topology: str | None = None,
    paper: Annotated[str | None, Parameter(help="Take the scenario of a paper's study instead, such as tred.")] = None,
) -> int:
    """A commented scenario to start from: written to NAME.toml, or printed when no name is given.

    Parameters
    ----------
    name
        Name of the scenario and of its file.
    topology
        Kind of its network (default: dumbbell); `earlydrop list topologies` names them all.
    """
    if paper is not None and topology is not None:
        raise InputError("--topology and --paper exclude each other: a paper has its own network", allowed="one")
    path = None if name is None else _file(name)
    called = "example" if path is None else path.stem
    text = _template(called, topology or "dumbbell") if paper is None else _of_paper(called, paper)
    if path is None:
        print(text, end="")
        return DONE
    try:
        disk.write(path, text, exclusive=True)
    except FileExistsError:
        raise InputError(f"{path}: exists already; choose another name", file=str(path)) from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", file=str(path)) from None
    print(f"wrote {path}; now: earlydrop run {shlex.quote(str(path))}")
    return DONE


def _file(name: str) -> Path:
    """The file of a scenario called `name`."""
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    # Without a stem it would be a hidden file, and the scenario in it would have no name.
    if not name.strip() or path.name == ".toml":
        allowed = "the name of the scenario, such as mine"
        raise InputError(f'NAME: given "{name}"; allowed {allowed}', given=name, allowed=allowed)
    check_folder(str(path), path)
    return path


def _template(name: str, topology: str) -> str:
    import earlydrop._core as _core
    from ..schema import choices

    return _core.template(name, check_name("topology", topology, [one["name"] for one in choices("topologies")]))


def _of_paper(name: str, paper: str) -> str:
    """The scenario that a study varies: its own, or that of its first experiment."""
    from .. import study as studies
    from ..strict_toml import load
    from ..toml_writer import to_toml

    study = studies.find(check_name("paper", paper, studies.available()))
    experiment = study.experiments[0]
    document = load(study.folder / "study.toml").get("scenario")
    if document is None:
        document = experiment.document(experiment.cells[0], name)
    head = f"# {study.title}.\n# `earlydrop reproduce {study.name}` varies this scenario and judges the claims.\n\n"
    return head + to_toml({**document, "name": name})
