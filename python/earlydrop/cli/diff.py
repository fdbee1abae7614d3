"""`earlydrop diff`: differences between two results of a sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .exits import DONE
from .options import Json
from .printing import print_json


def diff(
    first: Annotated[Path, Parameter(name="FIRST", help="A folder that `sweep` wrote.")],
    second: Annotated[Path, Parameter(name="SECOND", help="Another one.")],
    /,
    *,
    json: Json = False,
) -> int:
    """Show differences between two results of a sweep, or of two sweeps. Differences are no failure (exit code 0)."""
    from ..analysis import differ

    found = differ.diff(first, second)
    if json:
        print_json(found.document())
    else:
        print(differ.text(found))
    return DONE
