"""`ed.break_(...)`: scenarios in which a discipline fails, as `earlydrop break` finds them."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from .own_aqms.registry import trusting
from .terminal import Progress

if TYPE_CHECKING:
    from .breaking import Found


def break_(
    space: str | PathLike[str],
    aqm: str | None = None,
    against: Sequence[str] = (),
    *,
    objective: str | Sequence[str],
    tcp: str | None = None,
    runs: int = 20_000,
    seed: int = 1,
    store: str | PathLike[str] | None = None,
    out: str | PathLike[str] | None = None,
    trust: bool = False,
    workers: int | None = None,
    cluster: str | None = None,
    progress: bool = True,
) -> Found:
    """Search scenarios in which a discipline does much worse than others, confirm them, and make them small.

        found = ed.break_("mobile", "pie", ["fq_codel"], objective="utilisation", runs=5000)
        for one in found.findings:
            print(found.sentence(one))
            found.scenario(one)  # a dict, for ed.compare or ed.parse

    Args:
        space: `home`, `mobile`, or the file of a space of scenarios (docs/break.md).
        aqm: the discipline that is attacked, perhaps with parameters.
        against: what could be had instead; in each scenario the best of these counts. Without any, `utilisation`,
            `delay` and `starvation` have bars of their own.
        objective: what is measured, as `--objective` has it.
        tcp: attack a congestion control in place of a discipline; `against` are then congestion controls too.
        runs: runs of the search.
        seed: seed of the search.
        store: where runs are kept; by default nowhere.
        out: a folder for the scenarios, figures and all that was tried.
        trust: let the space load code that it names as a discipline. It has the rights of this program.
        workers: threads; all cores if None. They change no result.
        cluster: workers of a Dask cluster instead, as `--cluster` has them.
        progress: whether a bar is shown.

    Raises:
        BreakError, SpaceError, ObjectiveError, CompareError: what is asked for is wrong; the message says what.
    """
    import earlydrop._core as _core
    from . import breaking, output, sweeps
    from .breaking import written
    from .store import Store, open_store
    from .store.files import Memory

    texts = [objective] if isinstance(objective, str) else list(objective)
    if out is not None:
        output.check(Path(out), "break")
    with trusting(trust):
        asked = breaking.problem(Path(space), aqm, against, breaking.objective(texts), tcp=tcp)
        executor: sweeps.Executor = sweeps.Cluster(None, cluster) if cluster else sweeps.Threads(None, workers)
        try:
            made = breaking.Runs(asked, Store(Memory()) if store is None else open_store(store), executor)
            with Progress(quiet=not progress) as bar:
                found = breaking.attack(asked, made, budget=runs, seed=seed, progress=bar)
        finally:
            executor.close()
    if out is not None:
        with output.folder(Path(out), {"kind": "break", "version": _core.version()}) as folder:
            written.write(folder, found, _core.version())
    return found
