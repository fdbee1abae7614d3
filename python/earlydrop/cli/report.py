"""`earlydrop report`: write the report of a result folder again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .checks import figure_formats
from .exits import DONE
from .failures import InputError
from .options import Formats, Json, Plots, StyleName
from .printing import print_json


def report_(
    folder: Annotated[
        Path, Parameter(name="DIR", help="A folder that `sweep`, `advise`, `run --out` or `link --out` wrote.")
    ],
    /,
    *,
    plots: Plots = [],  # noqa: B006 - read only
    figures: Formats = None,
    style: StyleName = "paper",
    json: Json = False,
) -> int:
    """Write the report of a result folder, or write it again: one HTML file that opens offline.

    With `--plot` or `--figures`, draws figures of a sweep as well.
    """
    from .. import output
    from ..render import run_report
    from ..sweeps import report

    formats = figure_formats(figures)
    if output.kind_of(folder) == "comparison":
        raise InputError(
            f"{folder}: is a comparison, which has no page: its text is comparison.txt, its figure comparison.png. "
            "Pages are made of sweeps, runs and real links; a sweep with the disciplines as a factor has one",
            given=str(folder),
        )
    if run_report.is_run(folder):
        if plots or figures:
            raise InputError(f"{folder}: is a single run; --plot and --figures draw sweeps", given=str(folder))
        path, drawn = run_report.renew(folder), []
    else:
        path = report.renew(folder)
        drawn = report.draw(folder, plots, formats, style) if plots or figures else []
    output.add(folder, path, *drawn)
    if json:
        print_json({"report": str(path), **({"figures": [str(one) for one in drawn]} if drawn else {})})
    else:
        print(f"report: {path}")
        for one in drawn:
            print(f"figure: {one}")
    return DONE
