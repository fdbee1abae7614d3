"""What `break` finds of ten disciplines, in the spaces that come with earlydrop, by each objective: the catalogue.

    python tools/break_catalogue.py run [--runs 5000] [--small 20] [--store out/break-catalogue]
                                        [--aqm ...] [--space ...] [--objective ...]
    python tools/break_catalogue.py link [--most 3]
    python tools/break_catalogue.py page

`run` searches every cell, confirms its best scenarios until one is a finding, and makes the `--small` worst small. All
cells of a space share the runs of the search. What is in the catalogue with as many runs is left alone, and runs are
in the store: an interrupted `run` goes on. `link` runs the worst on real links, with the discipline and with its rival,
as far as `earlydrop crosscheck` has their traffic: a row each, with the regret under the kernel's TCP. `page` writes
docs/failures.md and docs/data/failures.csv from the catalogue.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from blocks import put, put_csv
from earlydrop import breaking, discipline_names, known_failures, sweeps
from earlydrop.breaking import known, written
from earlydrop.breaking.search import BEST, LAST_SEEDS, SEEDS, Candidate, bound, examined, lasts, measurable, search
from earlydrop.known_failures import Cell, Failure
from earlydrop.links.crosscheck import crosscheck
from earlydrop.store import Store, open_store

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/failures.md"
TITLES = {one["name"]: one["title"] for one in discipline_names.catalogue().values()}
AQMS = ("droptail", "red", "ared", "codel", "pie", "fq_codel", "fq_pie", "cobalt", "cake", "dualpi2")
RIVALS = AQMS[1:]
"""DropTail is attacked, but no rival: it fills any link, at the price of the delay that the others are there for."""
SPACES = ("home", "mobile")
OF_QUEUES = ("utilisation", "delay", "delay_p99")
"""Objectives that a queue's own figures give."""
OBJECTIVES = ("utilisation", "delay", "delay_p99", "fairness:downloads", "starvation:downloads", "calls", "short")


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "link", "page"))
    parser.add_argument("--runs", type=int, default=5000, help="runs of the search of a space, for all disciplines")
    parser.add_argument("--small", type=int, default=20, help="how many of the worst are made small")
    parser.add_argument("--store", default=str(ROOT / "out/break-catalogue"))
    parser.add_argument("--aqm", nargs="+", choices=AQMS, default=AQMS)
    parser.add_argument("--space", nargs="+", choices=SPACES, default=SPACES)
    parser.add_argument("--objective", nargs="+", choices=OBJECTIVES, default=OBJECTIVES)
    parser.add_argument("--most", type=int, default=3, help="failures that `link` runs")
    given = parser.parse_args()
    if given.what == "link":
        return _link(_worst(known_failures.read(known_failures.FILE)), given.most)
    if given.what == "page":
        found = known_failures.read(known_failures.FILE)
        put(PAGE, "matrix", matrix(found))
        put_csv(ROOT / "docs/data/failures.csv", told(found))
        return 0
    store, executor = open_store(given.store), sweeps.Threads(None, None)
    try:
        wanted = [(a, s, o) for s in given.space for o in given.objective for a in given.aqm]
        catalogue = {one.name: one for one in known_failures.read(known_failures.FILE)}
        for name in wanted:
            if name not in catalogue or catalogue[name].runs < given.runs:
                _put(catalogue, _cell(name, given.runs, store, executor, small=False))
        for one in _worst(catalogue.values())[: given.small]:
            if one.failure is not None and not one.failure.small:
                _put(catalogue, _cell(one.name, one.runs, store, executor, small=True))
    finally:
        executor.close()
    return 0


def _put(catalogue: dict[tuple[str, str, str], Cell], one: Cell) -> None:
    """Take a cell in, and write the catalogue."""
    catalogue[one.name] = one
    order = [(a, s, o) for s in SPACES for o in OBJECTIVES for a in AQMS]
    known_failures.write(known_failures.FILE, sorted(catalogue.values(), key=lambda cell: order.index(cell.name)))
    said = "nothing" if one.failure is None else f"{one.failure.regret:.2f} against {one.failure.against}"
    print(f"{time.strftime('%H:%M:%S')} {' '.join(one.name)}: {one.above} of {one.scenarios}, {said}", flush=True)


def _worst(cells: Iterable[Cell]) -> list[Cell]:
    """The worst of each discipline and space, then the rest, the largest regrets in units of delta first."""
    ranked = sorted((one for one in cells if one.failure is not None), key=lambda one: -one.weight)
    first = {(one.aqm, one.space): one for one in reversed(ranked)}
    return sorted(ranked, key=lambda one: (one is not first[one.aqm, one.space], -one.weight))


def _cell(name: tuple[str, str, str], runs: int, store: Store, executor: sweeps.Executor, *, small: bool) -> Cell:
    """Search, confirm until one scenario is a finding, and perhaps make it small."""
    aqm, space, objective = name
    rivals = [one for one in RIVALS if one != aqm]
    asked = breaking.problem(Path(space), aqm, rivals, breaking.objective([objective]))
    made = breaking.Runs(asked, store, executor)
    # As many scenarios for each discipline, so that they are the same ones.
    scenarios = runs // (len(SEEDS) * len(AQMS))
    budget = scenarios * len(SEEDS) * len(asked.sides)
    found = breaking.Found(asked, search(asked, made, budget), budget, 1, "random")
    cell = Cell(aqm, space, objective, runs, scenarios - found.refused, asked.delta, found.above, None)
    # The spaces' own window only: wider ones make a cell minutes long.
    for tried in islice(measurable(asked, found.ledger), BEST):
        candidate = examined(asked, made, tried, 0)
        finding = None if candidate.reason else _finding(asked, made, candidate, small=small)
        if finding is None:
            continue
        assert finding.rival is not None
        laid = asked.attacked.laid(finding.scenario, asked.queue, asked.known)
        failure = Failure(
            rivals[finding.rival],
            round(finding.held.median, 3),
            finding.held.above,
            finding.longer.above,
            small,
            written.sentence(found, finding),
            written.compact({**laid, "name": f"{space}-{aqm}-{objective.partition(':')[0]}"}),
        )
        return replace(cell, failure=failure)
    return cell


def _finding(
    asked: breaking.Problem, made: breaking.Runs, candidate: Candidate, *, small: bool
) -> breaking.Finding | None:
    """A candidate as a finding, on seeds that nothing was chosen by."""
    if small:
        return breaking.shrunk(asked, made, candidate)
    scenario, tried = candidate.scenario(asked.space), candidate.tried
    last = lasts(asked, made, scenario, tried.rival, LAST_SEEDS)
    if last is None:
        return None
    return breaking.Finding(tried, tried.point, scenario, tried.rival, candidate.held, *last)


# ---- real links ----------------------------------------------------------------------------------------------------


def _link(cells: Sequence[Cell], most: int) -> int:
    """The regrets of the worst failures on real links; 1 if one is not above delta."""
    print("aqm,space,objective,against,simulator,link")
    done = low = 0
    for one in cells:
        asked = known.problem(one)
        document = asked.space.document(())
        plain = one.objective in OF_QUEUES and all(entry["kind"] == "ftp" for entry in document["traffic"])
        if done == most or one.failure is None or not plain:
            continue
        js = []
        for side in asked.sides:
            with tempfile.TemporaryDirectory() as place:
                file = Path(place) / "scenario.toml"
                file.write_text(written.compact(side.laid(document, asked.queue, asked.known)), encoding="utf-8")
                real = crosscheck(file, seeds=1).real
            js.append(asked.objective.value({"queues": {asked.port: real}}, {}, asked.port) or 0.0)
        done, low = done + 1, low + (js[1] - js[0] <= one.delta)
        print(*one.name, one.failure.against, one.failure.regret, f"{js[1] - js[0]:.3f}", sep=",", flush=True)
    return int(low > 0)


# ---- the page ------------------------------------------------------------------------------------------------------


def matrix(cells: Sequence[Cell]) -> str:
    """What was found of each discipline by each objective, a table for each space."""
    by_name = {one.name: one for one in cells}
    lines = []
    for space in [one for one in SPACES if any(cell.space == one for cell in cells)]:
        searched = [o for o in OBJECTIVES if any((cell.space, cell.objective) == (space, o) for cell in cells)]
        least = min(cell.scenarios for cell in cells if cell.space == space)
        lines += [f"| `{space}`, {least} scenarios | {' | '.join(o.partition(':')[0] for o in searched)} |"]
        lines += ["|---" * (1 + len(searched)) + "|"]
        for aqm in AQMS:
            found = [_word(by_name.get((aqm, space, objective))) for objective in searched]
            lines.append(f"| [{TITLES[aqm]}](aqms/{aqm}.md) | {' | '.join(found)} |")
        lines.append("")
    return "\n".join(lines)


def _word(cell: Cell | None) -> str:
    if cell is None:
        return ""
    if cell.failure is not None:
        return f"{cell.weight:.1f}"
    return "-" if cell.above else f"< {100 * bound(cell.scenarios):.2g} %"


def told(cells: Iterable[Cell]) -> list[list[str]]:
    """The failures as rows of a table, the worst first."""
    rows = [["discipline", "space", "objective", "measured", "rival", "rival_measured", "regret", "above", "small"]]
    for one in sorted(cells, key=lambda one: (-one.weight, one.name)):
        if (found := one.failure) is not None:
            rival = TITLES[found.against]
            mine, _, other = found.sentence.partition(" (medians")[0].partition(f", with {rival} ")
            measured = one.space, one.objective, mine.rpartition(" is ")[2], rival, other
            rows.append(
                [TITLES[one.aqm], *measured, f"{found.regret:.2f}", str(found.above), "yes" if found.small else "no"]
            )
    return rows


if __name__ == "__main__":
    sys.exit(main())
