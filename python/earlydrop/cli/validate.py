"""`earlydrop validate`: agreement with ns-2."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .. import terminal
from .checks import check_count
from .exits import DONE, FAILED
from .options import Json
from .printing import print_json


def validate(
    *,
    case: Annotated[
        list[str], Parameter(name="--case", negative="", consume_multiple=True, help="Only these cases.")
    ] = [],  # noqa: B006
    seeds: Annotated[int | None, Parameter(help="Seeds for each case. [default: as many as ns-2's, 10 to 40]")] = None,
    json: Json = False,
) -> int:
    """Check agreement with ns-2, case by case."""
    from .. import validate as validating

    if seeds is not None:
        check_count("--seeds", seeds)
    with terminal.Progress() as progress:
        found = validating.run(case or None, seeds, progress)
    if json:
        print_json(found)
    else:
        print(validating.render(found))
    return DONE if found["ok"] else FAILED
