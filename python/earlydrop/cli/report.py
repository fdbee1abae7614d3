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

WRITERS = "`sweep`, `advise`, `run --out`, `compare --out`, `link --out` or a program"


def report_(
    folder: Annotated[
        Path,
        Parameter(name="DIR", help=f"A folder that {WRITERS} wrote."),
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
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "no such folder"
        raise InputError(f"{folder}: {what}; allowed a result folder", given=str(folder))
    kind = output.kind_of(folder)
    compared = kind == "comparison"
    if compared or kind in ("run", "link") or run_report.is_run(folder):
        if plots or figures:
            what = "a comparison" if compared else "a single run"
            raise InputError(f"{folder}: is {what}; --plot and --figures draw sweeps", given=str(folder))
        path, drawn = (comparison_report if compared else run_report).renew(folder), []
    elif kind in ("study", "studies"):
        said = "the result of studies, whose report `reproduce` writes"
        raise InputError(f"{folder}: is {said}; allowed a folder of {WRITERS}", given=str(folder))
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
