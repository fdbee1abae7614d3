"""`earlydrop sweep`: a scenario at many points."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .. import terminal
from .checks import check_out, check_workers, figure_formats
from .exits import DONE, FAILED
from .failures import InputError, goes_on_from
from .likely import check_sweep
from .options import Cluster, Formats, Json, Plots, Store, StyleName, Trust, Workers
from .printing import version


def sweep(
    file: Annotated[Path, Parameter(name="SWEEP", help="A sweep's file.")],
    /,
    *,
    out: Annotated[
        Path | None, Parameter(name="--out", help="Folder for tables and report (default: out/NAME).")
    ] = None,
    store: Store = None,
    workers: Workers = None,
    cluster: Cluster = None,
    plan: Annotated[
        bool,
        Parameter(
            name="--plan",
            negative="",
            help="Check, make the first few runs, print the estimated cost, stop.",
        ),
    ] = False,
    plots: Plots = [],  # noqa: B006 - read only
    figures: Formats = None,
    style: StyleName = "paper",
    trust: Trust = False,
    json: Json = False,
) -> int:
    """Run a scenario at many points, on all cores or a cluster. Stored runs are not repeated."""
    from .. import disk, inputs, output, sweeps
    from ..render.artists import artists
    from ..sweeps import text
    from ..sweeps.report import draw, write_report

    check_workers(workers)
    if workers is not None and cluster is not None:
        raise InputError("--workers and --cluster exclude each other", allowed="one of them")
    formats = figure_formats(figures)
    check_sweep(file)
    asked = sweeps.parse_file(file, store)
    sweeps.check_plots(asked, plots)
    place = out if out is not None else Path("out") / asked.name
    check_out(place, "sweep")
    kept = inputs.of("sweep", file, {})
    with terminal.Progress() as progress:
        planned = sweeps.plan(asked, progress)
    opened = sweeps.open_store(asked.store or place.absolute().parent / "store")
    said = terminal.say
    said(text.plan_text(planned))
    executor: sweeps.Executor = (
        sweeps.Cluster(asked.document, cluster) if cluster else sweeps.Threads(asked.document, workers)
    )
    try:
        with goes_on_from(opened.url), terminal.Meter(asked.name) as meter:

            def told(estimate: sweeps.Estimate) -> None:
                said(text.estimate_text(estimate, planned))
                if plan:
                    raise sweeps.Stop

            outcome = sweeps.run(planned, opened, executor, tell=meter, told=told)
    finally:
        executor.close()
    if plan:
        return DONE if not outcome.tally.failed else FAILED
    of = output.identity(*outcome.source(), opened.url, *plots, ",".join(formats), style)
    if not outcome.tally.failed and not (plots or figures) and output.holds(place, of):
        said(f"{place} has these results already: nothing is written")
        disk.remove_left(place.absolute())  # of a command that was killed while it wrote this folder
        if json:
            text.print_json(place, {"out": str(place)}, sys.stdout)
        else:
            print((place / "sweep.txt").read_text(encoding="utf-8"))
            print(f"report: {place / 'report.html'}; every run is in {opened.url}")
        return DONE
    about = {"kind": "sweep", "name": asked.name, "version": version(), "of": of, **kept.about()}
    drawers = artists(workers, "earlydrop.sweeps.plots", "polars")
    recorded: dict[int, str] = {}
    said(text.examined_text(planned))
    with goes_on_from(opened.url), drawers as drawing, output.folder(place, about) as folder:
        with terminal.Progress() as progress:
            outcome.warmups = sweeps.judge_warmups(planned, workers, progress, recorded)
        kept.write(folder)
        text.write(folder, outcome, opened.url)
        with terminal.Progress() as progress:
            write_report(folder, outcome, drawing, recorded, progress)
        drawn = draw(folder, plots, formats, style) if plots or figures else []
    if json:
        text.print_json(place, {"out": str(place)}, sys.stdout)
    else:
        print(text.outcome_text(outcome))
        print(f"\nreport: {place / 'report.html'}; every run is in {opened.url}")
        for path in drawn:
            print(f"figure: {place / 'figures' / path.name}")
    return FAILED if outcome.tally.failed else DONE
