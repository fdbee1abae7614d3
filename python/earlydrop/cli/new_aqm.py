"""`earlydrop new-aqm`: a project to start a discipline of your own from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from .exits import DONE
from .options import Json
from .printing import print_json


def new_aqm(
    name: Annotated[str, Parameter(name="NAME", help="Of the discipline: a-z, 0-9 and _.")],
    /,
    *,
    language: Annotated[Literal["python", "c", "rust"], Parameter(help="What it is written in.")] = "python",
    folder: Annotated[Path | None, Parameter(help="A new folder (default: NAME).")] = None,
    json: Json = False,
) -> int:
    """Write a small project for a discipline of your own: the discipline, its test, a scenario, a README."""
    from .. import new_aqm as projects

    made = projects.write(name, language, folder)
    if json:
        print_json({"folder": str(made.folder), "files": list(made.files), "build": made.build, "source": made.source})
        return DONE
    print(f"wrote {made.folder}: {', '.join(made.files)}\n\nnow:\n")
    for line in (f"cd {made.folder}", made.build, f"earlydrop test-aqm {made.source}"):
        if line:
            print(f"    {line}")
    print(f'    earlydrop compare scenario.toml --aqm droptail red "codel target=5ms" {made.source}')
    return DONE
