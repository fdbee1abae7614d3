"""`earlydrop reproduce`: a study's experiments, claims and report."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from .. import terminal
from .checks import check_count, check_out, check_workers, parse_settings
from .exits import DONE
from .failures import goes_on_from
from .options import Json, Store, Trust, Workers
from .printing import print_json, version

if TYPE_CHECKING:
    from ..inputs import Inputs


def reproduce(
    study: str,
    /,
    *,
    seeds: Annotated[int | None, Parameter(help="Seeds for each cell (default: the study's).")] = None,
    quick: Annotated[
        bool,
        Parameter(negative="", help="Fewer levels and seeds, shorter runs: a first look, not a result."),
    ] = False,
    assume: Annotated[
        list[str],
        Parameter(name="--assume", negative="", help="Another value for an assumption: NAME=VALUE. May be repeated."),
    ] = [],  # noqa: B006
    aqm: Annotated[
        list[str],
        Parameter(
            name="--aqm",
            negative="",
            consume_multiple=True,
            help="Disciplines, in a study where they can be chosen, or all; or one of your own, as mine.py, to join.",
        ),
    ] = [],  # noqa: B006
    out: Annotated[
        Path | None, Parameter(name="--out", help="Folder for report and figures (default: out/STUDY).")
    ] = None,
    store: Store = None,
    workers: Workers = None,
    trust: Trust = False,
    json: Json = False,
) -> int:
    """Run a paper's experiments, judge its claims, write the report. Stored runs are not repeated.

    Parameters
    ----------
    study
        Name of a study, as `earlydrop list studies` prints it, a study's folder, or `all`.
    """
    from .. import inputs
    from .. import study as studies

    if seeds is not None:
        check_count("--seeds", seeds)
    check_workers(workers)
    assumed = dict(parse_settings(assume, "--assume", "NAME=VALUE", "tcp=newreno"))
    chosen = [studies.find(name) for name in (studies.available() if study == "all" else [study])]
    chosen = studies.choose(chosen, aqm)
    chosen = [s.as_quick() if quick else s for s in chosen]
    chosen = [s.with_seeds(seeds) if seeds is not None else s for s in chosen]
    place = out if out is not None else Path("out") / ("all" if study == "all" else chosen[0].name)
    check_out(place, "studies" if study == "all" else "study")
    kept = store or str(place.absolute().parent / "store")
    with goes_on_from(kept):
        if study == "all":
            return _reproduce_all(studies.assume_where_known(chosen, assumed), place, kept, workers, json)
        options = {"--seeds": seeds, "--quick": quick, "--assume": assume, "--aqm": aqm}
        first = study if study in studies.available() else chosen[0].folder
        given = inputs.of("reproduce", first, options)
        return _reproduce(studies.assume(chosen[0], assumed), given, place, kept, workers, json)


def _reproduce(study: Any, given: Inputs, place: Path, store: str, workers: int | None, as_json: bool) -> int:
    from .. import output
    from .. import study as studies
    from ..render.artists import artists
    from ..store import open_store
    from ..study import folder as folders
    from ..study import text, warmups

    plan = studies.plan(study)
    with artists(workers, "earlydrop.study.plots") as drawing:
        with terminal.Progress() as progress:
            outcome, results = studies.reproduce(plan, store=open_store(store), workers=workers, progress=progress)
            outcome.warmups = warmups.judge(plan, workers)
        about = {"kind": "study", "study": study.name, "quick": study.quick, "version": version(), **given.about()}
        with output.folder(place, about) as folder:
            given.write(folder)
            path = folders.write(folder, outcome, results, version(), drawing)
    if as_json:
        print_json({**folders.document(outcome, results, version()), "report": str(place / path.name)})
        return DONE
    print(text.study_text(outcome, results, terminal.coloured))
    print(f"\nreport: {place / path.name}")
    return DONE


def _reproduce_all(chosen: Sequence[Any], place: Path, store: str, workers: int | None, as_json: bool) -> int:
    from .. import output
    from .. import study as studies
    from ..render.artists import artists
    from ..store import open_store
    from ..study import scorecard

    # Every scenario of every study is checked before the first run.
    plans = [studies.plan(s) for s in chosen]
    about = {"kind": "studies", "studies": [s.name for s in chosen], "version": version()}
    with (
        artists(workers, "earlydrop.study.plots") as drawing,
        output.folder(place, about) as folder,
        terminal.Progress() as progress,
    ):
        entries = scorecard.reproduce_all(
            plans,
            folder,
            partial(studies.reproduce, store=open_store(store)),
            version(),
            artists=drawing,
            workers=workers,
            progress=progress,
        )
    if as_json:
        print_json({**scorecard.scorecard_document(entries, version()), "index": str(place / "index.html")})
        return DONE
    print(scorecard.scorecard_text(entries, terminal.coloured))
    print(f"\nreports: {place / 'index.html'}")
    return DONE
