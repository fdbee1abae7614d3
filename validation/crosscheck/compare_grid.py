"""The cells of a grid on real links, or as they are stored, against the simulator.

    python validation/crosscheck/compare_grid.py REGEX [--cells seen|unseen] [--stored CSV | --write CSV] [--page PAGE]

Measuring takes as long as the cells do, and needs Linux, root and iperf3.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import campaign
import crosscheck_agreement
import crosscheck_grid
import crosscheck_unseen

from earlydrop import _core, links, terminal
from earlydrop.cli.checks import parse_settings
from earlydrop.errors import EarlydropError
from earlydrop.strict_toml import parse_value

GRIDS = {"seen": crosscheck_grid, "unseen": crosscheck_unseen}


def main(arguments: Sequence[str] | None = None) -> int:
    """The program."""
    parser = argparse.ArgumentParser(prog="compare_grid", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("pattern", metavar="REGEX", help="cells that match this regular expression")
    parser.add_argument("--cells", default="seen", choices=list(GRIDS), help="those that rules were found with, or not")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the simulator's traffic")
    parser.add_argument("--seeds", type=int, default=crosscheck_grid.SEEDS, help="runs of the simulator (default: 10)")
    parser.add_argument("--jobs", type=int, default=8, help="links that run concurrently (default: 8)")
    parser.add_argument("--runs", type=int, default=1, help="links for each cell, with the seeds from 1 on")
    parser.add_argument("--realtime", action="store_true", help="real-time priority for the links")
    parser.add_argument("--stored", type=Path, help="compare with this CSV instead of running links")
    parser.add_argument("--write", type=Path, help="write the links' results to this CSV; what was interrupted goes on")
    parser.add_argument("--page", type=Path, help="write the tables into this Markdown page")
    for key in _core.link_effects():
        parser.add_argument(f"--{key}", help="of the simulator's link, as `earlydrop link` has it")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    given = parser.parse_args(arguments)
    if min(given.seeds, given.jobs, given.runs) < 1:
        parser.error("--seeds, --jobs and --runs are at least 1")
    try:
        compare(given)
    except (EarlydropError, _core.ScenarioError, re.error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def compare(given: argparse.Namespace) -> None:
    """Measure or read, simulate, and print both.

    Raises:
        EarlydropError: no cell matches, or a link or a file has failed.
    """
    grid = GRIDS[given.cells]
    wanted = list(grid.cells(given.pattern))
    if not wanted:
        raise EarlydropError(f"no cell has {given.pattern!r}; cells are such as {grid.cells()[0]}")
    changes = {key: parse_value(text) for key, text in parse_settings(given.set, example="rules.hystart=false")}
    with terminal.Progress() as progress:
        if given.stored is None:
            links.require_linux()
            about = grid.facts(given.jobs, given.realtime)
            store = campaign.Store(given.write, about)
            with store.going_on():
                found = crosscheck_grid.measure(
                    wanted, jobs=given.jobs, real_time=given.realtime, runs=given.runs, store=store, progress=progress
                )
            if given.write is not None:
                crosscheck_grid.write(given.write, found, about)
            store.close()
        else:
            known, about = crosscheck_grid.read(given.stored, grid.Cell)
            found = [run for run in known if run.cell in set(wanted)]
        real = crosscheck_grid.means(found)
        simulated = crosscheck_grid.simulate(
            [mean.cell for mean, _ in real],
            seeds=given.seeds,
            changes=changes,
            effects={key: parse_value(text) for key in _core.link_effects() if (text := getattr(given, key)) is not None},
            progress=progress,
        )
    both = crosscheck_agreement.compare(real, simulated)
    head, body = crosscheck_agreement.rows(both)
    counts = crosscheck_agreement.summary(both)
    if given.page is not None:
        facts = "\n".join(f"- {key}: {value}" for key, value in about.items())
        campaign.put(given.page, "agreement", campaign.markdown(crosscheck_agreement.HEAD, counts))
        campaign.put(given.page, "cells", facts + "\n\n" + campaign.data(given.page, head, body))
    if given.json:
        cells = [
            {"link": o.real.row(), "links": o.links, "simulator": asdict(o.simulated), "agrees": o.holds} for o in both
        ]
        print(json.dumps({"about": about, "cells": cells}))
    else:
        print(terminal.table(head, body, left=2))
        print()
        print(terminal.table(crosscheck_agreement.HEAD, counts))


if __name__ == "__main__":
    sys.exit(main())
