"""`earlydrop break`: scenarios in which a discipline fails."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .checks import check_count, check_out, check_workers
from .exits import DONE
from .failures import goes_on_from
from .options import Cluster, Json, Out, Trust, Workers
from .printing import print_json, version


def break_(
    space: Annotated[Path, Parameter(name="SPACE", help="home, mobile, or the file of a space of scenarios.")],
    /,
    *,
    aqm: Annotated[str | None, Parameter(name="--aqm", help="The discipline that is attacked.")] = None,
    tcp: Annotated[
        str | None,
        Parameter(
            help='Attack a congestion control in its place, as "bbr stack=linux-6.18"; so are those of --against.'
        ),
    ] = None,
    against: Annotated[
        list[str],
        Parameter(
            name="--against",
            negative="",
            consume_multiple=True,
            help="What could be had instead: in each scenario the best of these.",
        ),
    ] = [],  # noqa: B006
    objective: Annotated[
        list[str],
        Parameter(
            name="--objective",
            negative="",
            consume_multiple=True,
            help="utilisation, delay, delay_p99, fairness, starvation, calls or short; with weights, as 2*delay.",
        ),
    ],
    runs: Annotated[int, Parameter(help="Runs of the search.")] = 20_000,
    seed: Annotated[int, Parameter(help="Seed of the search.")] = 1,
    store: Annotated[str | None, Parameter(name="--store", help="Folder or address where runs are kept.")] = None,
    out: Out = None,
    workers: Workers = None,
    cluster: Cluster = None,
    trust: Trust = False,
    json: Json = False,
) -> int:
    """Search scenarios in which a discipline does much worse than others, confirm them, and make them small."""
    from ..api_break import break_ as attack
    from ..breaking import written

    check_workers(workers)
    check_count("--runs", runs)
    check_out(out, "break")
    # Without a store nothing is kept of an interrupted search.
    with goes_on_from(store) if store else contextlib.nullcontext():
        found = attack(
            space,
            aqm,
            against,
            objective=objective,
            tcp=tcp,
            runs=runs,
            seed=seed,
            store=store,
            out=out,
            workers=workers,
            cluster=cluster,
        )
    if json:
        print_json(found.document(version()))
        return DONE
    print(written.found_text(found))
    if out is not None:
        print(f"\nwritten to {out}")
    return DONE
