"""`earlydrop link-model`: models of links from traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from .checks import check_folder
from .exits import DONE, FAILED
from .failures import InputError
from .helping import examples
from .options import Json
from .printing import print_json, version

link_models = App(
    name="link-model",
    help="Fit a model of a link, for its key `model`, to a trace.",
    help_format="plaintext",
    help_epilogue=examples("link-model"),
)


@link_models.command(name="fit")
def link_model_fit(
    trace: Annotated[Path, Parameter(name="TRACE", help="Trace of Mahimahi, JSON of irtt or iperf3, output of ping.")],
    /,
    *,
    out: Annotated[Path | None, Parameter(help="File for the model (.toml).")] = None,
    json: Json = False,
) -> int:
    """Estimate the process of a trace's rates or delays; exit code 1 if the trace is of another kind."""
    from .. import disk, link_model
    from ..link_model import text

    if out is not None:
        if wrong := text.suffix_error(out):
            raise InputError(wrong)
        check_folder(str(out), out)
    found = link_model.fit(trace)
    if out is not None and not found.why_not:
        with disk.staged(out) as place:
            disk.write(place, text.toml(found, trace.name).encode())
    if json:
        print_json({**text.document(found, trace.name), "version": version()})
    else:
        print(text.text(found, trace.name))
        if out is not None and not found.why_not:
            print(f'\nwrote {out}; a link has it with model = "file={out.name}"')
    return FAILED if found.why_not else DONE
