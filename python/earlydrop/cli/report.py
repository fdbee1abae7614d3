"""`earlydrop report`: write the report of a result folder again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .exits import DONE
from .options import Json
from .printing import print_json


def report_(
    folder: Annotated[
        Path, Parameter(name="DIR", help="A folder that `sweep`, `advise`, `run --out` or `link --out` wrote.")
    ],
    /,
    *,
    json: Json = False,
) -> int:
    """Write the report of a result folder, or write it again: one HTML file that opens offline."""
    from ..render import run_report
    from ..sweeps import report

    path = run_report.renew(folder) if run_report.is_run(folder) else report.renew(folder)
    if json:
        print_json({"report": str(path)})
    else:
        print(f"report: {path}")
    return DONE
