"""`earlydrop crosscheck`: the simulator against real links."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from .. import terminal
from .checks import check_count, parse_settings
from .exits import DONE
from .failures import InputError
from .options import Json, ScenarioFile, Sets, Trust
from .printing import print_json, version


def crosscheck(
    scenario: ScenarioFile | None = None,
    /,
    *,
    set_: Sets = [],  # noqa: B006
    at: Annotated[str | None, Parameter(help="Queue of the emulated link (default: bottleneck).")] = None,
    seeds: Annotated[
        int | None, Parameter(help="Runs of the simulator (default: 5; of a cell or a Flent run 10).")
    ] = None,
    realtime: Annotated[bool, Parameter(negative="", help="Real-time priority for the link.")] = False,
    grid: Annotated[
        str | None, Parameter(help="Instead of a scenario: the cells of the grid that match this regular expression.")
    ] = None,
    cells: Annotated[
        Literal["seen", "unseen"],
        Parameter(help="With --grid: those that rules were found with, or those that none was found with."),
    ] = "seen",
    jobs: Annotated[int, Parameter(help="With --grid: links that run concurrently.")] = 8,
    runs: Annotated[int, Parameter(help="With --grid: links for each cell, with the seeds from 1 on.")] = 1,
    stored: Annotated[
        Path | None, Parameter(help="With --grid: read the links' results from this CSV instead of running links.")
    ] = None,
    write: Annotated[
        Path | None,
        Parameter(help="With --grid: write the links' results to this CSV; what was interrupted goes on."),
    ] = None,
    page: Annotated[Path | None, Parameter(help="With --grid: write the tables into this Markdown page.")] = None,
    jitter: Annotated[
        str | None, Parameter(help="With --grid: longest extra delay on the simulator's link, such as '0.1 ms'.")
    ] = None,
    flent: Annotated[
        Path | None,
        Parameter(help="Instead of a scenario: a recorded Flent run (NAME.flent.gz), with --rate and --queue."),
    ] = None,
    rate: Annotated[str | None, Parameter(help="With --flent: rate of the bottleneck, of downloads.")] = None,
    queue: Annotated[
        str | None, Parameter(help="With --flent: queue of downloads, such as 'fq_codel' or 'pie limit=1000p'.")
    ] = None,
    up_rate: Annotated[str | None, Parameter(help="With --flent: rate of uploads (default: --rate).")] = None,
    up_queue: Annotated[str | None, Parameter(help="With --flent: queue of uploads (default: --queue).")] = None,
    rtt: Annotated[
        str | None, Parameter(help="With --flent: round-trip time without load (default: the least idle ping).")
    ] = None,
    tcp: Annotated[
        str | None, Parameter(help="With --flent: reno, cubic or bbr (default: as the file says, else cubic).")
    ] = None,
    trust: Trust = False,
    json: Json = False,
) -> int:
    """Run a scenario in the simulator and on a real link under the kernel's TCP, and print what differs.

    Takes as long as the scenario. Needs iperf3, and what `link` needs.

    With --grid: cells of congestion control, queue, rate, round-trip time and number of flows, which the
    documentation's page "Cross-check against the Linux kernel" lists; --set then changes the traffic's keys, such as
    tcp's.

    With --flent: a run that Flent recorded, against the simulator on the link that --rate and --queue name.
    """
    from .. import links
    from ..links import crosscheck as checking

    if stored is None and flent is None:
        links.require_linux()
    check_count("--seeds", 1 if seeds is None else seeds)
    given = [name for name, one in (("SCENARIO", scenario), ("--grid", grid), ("--flent", flent)) if one is not None]
    if len(given) != 1:
        raise InputError(f"SCENARIO, --grid or --flent: given {' and '.join(given) or 'none'}; allowed one of them")
    for option, word in (
        ("--rate", rate),
        ("--queue", queue),
        ("--up-rate", up_rate),
        ("--up-queue", up_queue),
        ("--rtt", rtt),
        ("--tcp", tcp),
    ):
        if word is not None and flent is None:
            raise InputError(f"{option}: belongs to --flent")
    if grid is not None:
        return _crossgrid(grid, cells, set_, seeds, realtime, jobs, runs, stored, write, page, jitter, json)
    for option, value in (
        ("--cells", None if cells == "seen" else cells),
        ("--stored", stored),
        ("--write", write),
        ("--page", page),
        ("--jitter", jitter),
    ):
        if value is not None:
            raise InputError(f"{option}: belongs to --grid")
    if flent is not None:
        if rate is None or queue is None:
            missing = "--rate" if rate is None else "--queue"
            raise InputError(f"{missing}: missing; --flent needs it, as a Flent file does not say it")
        from ..links import crosscheck_flent

        link = crosscheck_flent.Link(rate, queue, up_rate, up_queue, rtt, tcp)
        with terminal.Progress() as progress:
            recorded = crosscheck_flent.crosscheck(
                flent, link, seeds=seeds or crosscheck_flent.SEEDS, progress=progress
            )
        if json:
            print_json({**recorded.document(), "version": version()})
        else:
            print(recorded.text())
        return DONE
    assert scenario is not None
    with terminal.Progress() as progress:
        found = checking.crosscheck(
            scenario, parse_settings(set_), at=at, seeds=seeds or 5, real_time=realtime, progress=progress
        )
    if json:
        print_json({**found.document(), "version": version()})
    else:
        print(found.text())
    return DONE


def _crossgrid(
    pattern: str,
    of: str,
    sets: Sequence[str],
    seeds: int | None,
    real_time: bool,
    jobs: int,
    runs: int,
    stored: Path | None,
    write: Path | None,
    page: Path | None,
    jitter: str | None,
    as_json: bool,
) -> int:
    import re
    from dataclasses import asdict

    from ..links import campaign, crosscheck_agreement, crosscheck_grid, crosscheck_unseen
    from ..strict_toml import parse_value

    check_count("--jobs", jobs)
    check_count("--runs", runs)
    grid = crosscheck_unseen if of == "unseen" else crosscheck_grid
    try:
        wanted = list(grid.cells(pattern))
    except re.error as error:
        raise InputError(f"--grid: {pattern}: {error}") from None
    if not wanted:
        raise InputError(f"--grid: no cell has {pattern!r}; cells are such as {grid.cells()[0]}")
    changes = {key: parse_value(text) for key, text in parse_settings(sets, example="rules.hystart=false")}
    with terminal.Progress() as progress:
        if stored is None:
            about = grid.facts(jobs, real_time)
            store = campaign.Store(write, about)
            with store.going_on():
                found = crosscheck_grid.measure(
                    wanted, jobs=jobs, real_time=real_time, runs=runs, store=store, progress=progress
                )
            if write is not None:
                crosscheck_grid.write(write, found, about)
            store.close()
        else:
            known, about = crosscheck_grid.read(stored, grid.Cell)
            found = [run for run in known if run.cell in set(wanted)]
        real = crosscheck_grid.means(found)
        simulated = crosscheck_grid.simulate(
            [mean.cell for mean, _ in real],
            seeds=seeds or crosscheck_grid.SEEDS,
            changes=changes,
            jitter=jitter,
            progress=progress,
        )
    both = crosscheck_agreement.compare(real, simulated)
    head, body = crosscheck_agreement.rows(both)
    counts = crosscheck_agreement.summary(both)
    if page is not None:
        facts = "\n".join(f"- {key}: {value}" for key, value in about.items())
        campaign.put(page, "agreement", campaign.markdown(crosscheck_agreement.HEAD, counts))
        campaign.put(page, "cells", facts + "\n\n" + campaign.data(page, head, body))
    if as_json:
        cells = [
            {"link": o.real.row(), "links": o.links, "simulator": asdict(o.simulated), "agrees": o.holds} for o in both
        ]
        print_json({"about": about, "cells": cells, "version": version()})
    else:
        print(terminal.table(head, body, left=2))
        print()
        print(terminal.table(crosscheck_agreement.HEAD, counts))
    return DONE
