"""`earlydrop break`: scenarios in which a discipline fails."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .checks import check_count, check_name, check_out, check_workers
from .exits import DONE, FAILED
from .failures import InputError, goes_on_from
from .options import Cluster, Json, Out, Trust, Workers
from .printing import print_json, version


def break_(
    space: Annotated[
        Path | None, Parameter(name="SPACE", help="home, mobile, or the file of a space of scenarios.")
    ] = None,
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
    ] = [],  # noqa: B006
    known: Annotated[
        bool, Parameter(negative="", help="Run the failures that are known, of --aqm or of all, on new seeds instead.")
    ] = False,
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
    if known:
        return _known(aqm, store, workers, json, given=(space, tcp, *against, *objective, out, cluster))
    if space is None or not objective:
        missing = "SPACE" if space is None else "--objective"
        raise InputError(
            f"{missing}: is missing; as in: earlydrop break home --aqm pie --against codel --objective delay"
        )
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


def _known(aqm: str | None, store: str | None, workers: int | None, as_json: bool, *, given: Sequence[object]) -> int:
    """Whether the failures of the catalogue are failures still; exit code 1 if one is not."""
    from .. import known_failures, sweeps, terminal
    from ..breaking import known
    from ..store import Store, open_store
    from ..store.files import Memory

    if any(one is not None for one in given):
        raise InputError("--known: allowed beside it --aqm, --store, --workers and --json")
    check_workers(workers)
    every = [one for one in known_failures.cells() if one.failure is not None]
    names = list(dict.fromkeys(one.aqm for one in every))
    if aqm is not None:
        aqm = check_name("discipline with known failures", aqm, names)
    chosen = [one for one in every if aqm in (None, one.aqm)]
    executor = sweeps.Threads(None, workers)
    try:
        with terminal.Progress(quiet=as_json) as progress:
            found = known.stand(chosen, Store(Memory()) if store is None else open_store(store), executor, progress)
    finally:
        executor.close()
    if as_json:
        print_json({"known": known.document(found), "version": version()})
    else:
        print(known.text(found))
    return DONE if all(one.holds for one in found) else FAILED
