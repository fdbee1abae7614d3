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
        Path,
        Parameter(
            name="DIR", help="A folder that `sweep`, `advise`, `run --out`, `compare --out` or `link --out` wrote."
        ),
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
    from ..render import comparison_report, run_report
    from ..sweeps import report

    formats = figure_formats(figures)
    compared = output.kind_of(folder) == "comparison"
    if compared or run_report.is_run(folder):
        if plots or figures:
            what = "a comparison" if compared else "a single run"
            raise InputError(f"{folder}: is {what}; --plot and --figures draw sweeps", given=str(folder))
        path, drawn = (comparison_report if compared else run_report).renew(folder), []
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
