"""`earlydrop vectors`: recorded decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .. import terminal
from .exits import DONE, FAILED
from .failures import InputError
from .options import Json, Trust
from .printing import print_json


def vectors(
    aqm: Annotated[
        list[str],
        Parameter(
            name="--aqm", negative="", consume_multiple=True, help="Disciplines, parents, markers; default: all."
        ),
    ] = [],  # noqa: B006
    *,
    out: Annotated[Path | None, Parameter(name="--out", help="Write NAME.jsonl.gz for each into this folder.")] = None,
    check: Annotated[
        Path | None,
        Parameter(name="--check", help="Compare the files in this folder with current decisions."),
    ] = None,
    trust: Trust = False,
    json: Json = False,
) -> int:
    """Print, write or check decision vectors: recorded decisions against which other implementations are tested."""
    from .. import discipline_names
    from .. import vectors as recorded

    known = recorded.names()
    aqm = [name if name in known else discipline_names.find(name)["name"] for name in aqm]
    if out is not None and check is not None:
        raise InputError("--out and --check exclude each other", allowed="one of them")
    if check is not None and not check.is_dir():
        raise InputError(f"--check {check}: is not a folder", given=str(check), allowed="a folder of vectors")
    if out is None and check is None:
        if len(aqm) != 1:
            raise InputError(
                "vectors are printed for one discipline at a time; name one, or give --out DIR or --check DIR",
                allowed=", ".join(known),
            )
        if json:
            raise InputError("--json: the vectors are JSON lines already; leave it out, or give --out or --check")
        print(recorded.record(aqm[0]).text, end="")
        return DONE
    with terminal.Progress() as progress:
        if check is not None:
            found = recorded.check(check, aqm or known, progress)
        else:
            assert out is not None
            found = [
                {"aqm": r.aqm, "cases": r.cases, "steps": r.steps, "sha256": r.sha256, "ok": True}
                for r in recorded.write(out, aqm or known, progress)
            ]
    if json:
        print_json({"vectors": found, "ok": all(f["ok"] for f in found)})
    else:
        print(recorded.render(found, check or out))
    return DONE if all(f["ok"] for f in found) else FAILED
