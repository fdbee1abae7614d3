"""Studies: a paper's experiments as data, run and judged. This engine knows no paper.

A study folder holds `study.toml` and perhaps tables of published values (docs/studies.md describes both). The way
through it:

    parser/             study.toml -> model.py, all checked (discipline_levels.py makes levels from the catalogue)
    runs.py             model -> runs -> one value for each cell, measure and seed (extraction.py)
    verdicts.py         values -> verdicts on the claims (select.py says which cells)
    previews.py         what a quick run may say beside the full run
    published_values.py the paper's figures, and which reading fits them
    comparison_tables.py, figures.py, plots.py   the paper's tables and figures beside ours
    warmups.py          are the windows long enough?
    text.py, report.py, folder.py, scorecard.py  what is printed and written
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from threading import Thread

from ..runner import Progress
from ..store import Store
from ..strict_toml import meant, nearest, parse_value, unknown
from ..terminal import Progress as Shown
from . import own_discipline, runs
from .claim_results import CONTRADICTED, NOT_TESTABLE, SUPPORTED, UNDECIDED, ClaimResult
from .experiment import StudyError
from .model import Study
from .parser import parse_folder
from .previews import judge
from .runs import Outcome, Plan, plan
from .shown import Reproduced, shown

__all__ = [
    "CONTRADICTED",
    "NOT_TESTABLE",
    "SUPPORTED",
    "UNDECIDED",
    "ClaimResult",
    "Outcome",
    "Plan",
    "Reproduced",
    "Study",
    "StudyError",
    "assume",
    "assume_where_known",
    "available",
    "choose",
    "find",
    "home",
    "judge",
    "plan",
    "read",
    "reproduce",
    "run",
]

read = parse_folder


def home() -> Path:
    """Where the studies lie: in the package, which in a checkout has a link to the folder `studies`."""
    return Path(__file__).resolve().parents[1] / "studies"


def available() -> list[str]:
    """Names of the studies that can be reproduced."""
    return sorted(p.parent.name for p in home().glob("*/study.toml"))


def find(name: str) -> Study:
    """The study called `name`, or the one in a folder if `name` is a path (`./studies/mine`)."""
    if name in available():
        return read(home() / name)
    path = Path(name)
    if "/" in name or path.is_dir():
        folder = path.parent if path.name == "study.toml" else path
        if (folder / "study.toml").is_file():
            return read(folder)
        raise StudyError(f"{path}: there is no study.toml")
    names = ", ".join(available()) or "none found"
    near = nearest(name, available())
    raise StudyError(f'there is no study "{name}"; {near + " " if near else ""}studies: {names}')


def choose(studies: Sequence[Study], names: Sequence[str]) -> list[Study]:
    """The studies with these levels of their choice, `["all"]` for all of them; without names with the default.

    Disciplines of one's own join the levels that are named, and the default ones where no others are.
    """
    own, names = own_discipline.among(names)
    studies = [own_discipline.with_own(s, own) for s in studies]
    if names and not any(s.choice for s in studies):
        known = [name for name in available() if find(name).choice is not None]
        raise StudyError(f"--aqm: the disciplines of this study are fixed; they can be chosen in: {', '.join(known)}")
    found = []
    for study in studies:
        choice = study.choice
        if choice is None:
            found.append(study)
            continue
        levels = {i for e in study.experiments if choice.axis in e.names for i in e.axis(choice.axis).ids}
        chosen = sorted(levels) if list(names) == ["all"] else []
        for name in names if not chosen else ():
            level = meant(name, sorted(levels))
            if level is None:
                raise StudyError(f'--aqm {name}: study {study.name}: "{name}": {unknown(name, sorted(levels))}')
            chosen.append(level)
        mine = [one.name for one in own]
        found.append(study.choosing([*(chosen or choice.default), *mine] if mine else chosen))
    return found


def assume(study: Study, values: Mapping[str, str]) -> Study:
    """The same study under other assumptions; `values` are those of `--assume NAME=VALUE`."""
    known = {a.id: a for a in study.assumptions}
    for name, value in values.items():
        if name not in known:
            raise StudyError(f'--assume {name}={value}: study {study.name}: "{name}": {unknown(name, tuple(known))}')
        assumption = known[name]
        listed = {a.value: a for a in assumption.alternatives}
        if value in listed and listed[value].set:
            settings = dict(listed[value].set)
        elif assumption.paths:
            settings = dict.fromkeys(assumption.paths, parse_value(value))
        elif value == assumption.value:
            settings = {}
        elif listed:
            raise StudyError(f'--assume {name}={value}: "{value}": {unknown(value, (assumption.value, *listed))}')
        else:
            raise StudyError(f"--assume {name}={value}: this assumption is a statement; no other value can be run")
        study = study.with_assumption(name, value, settings)
    return study


def assume_where_known(studies: Sequence[Study], values: Mapping[str, str]) -> list[Study]:
    """Several studies under other assumptions, each under those that it knows; one at least must know each."""
    for name, value in values.items():
        ids = [a.id for s in studies for a in s.assumptions]
        if name not in ids:
            raise StudyError(f'--assume {name}={value}: "{name}": {unknown(name, tuple(dict.fromkeys(ids)))}')
    return [assume(s, {k: v for k, v in values.items() if k in {a.id for a in s.assumptions}}) for s in studies]


def run(
    study: Study,
    *,
    store: Store | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Reproduced:
    """Run every cell of a study with every seed. The same seeds are used in every cell (common random numbers).

    Runs that the store has are not made again; without a store nothing is kept. Without `progress`, terminals and
    notebooks show a bar.
    """
    with Shown(bars=True) as bar:
        return shown(runs.Runs(plan(study), store=store, workers=workers, progress=progress or bar).all())


def reproduce(
    study: Study | Plan,
    *,
    store: Store | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    label: str = "",
) -> tuple[Reproduced, list[ClaimResult]]:
    """Run a study and judge its claims.

    The number of seeds is fixed beforehand: nothing is looked at before all of them have run, and no more are run
    after that. Without `progress`, terminals and notebooks show a bar.
    """
    planned = study if isinstance(study, Plan) else plan(study)
    # What `judge` needs is loaded while the runs are made.
    Thread(target=import_module, args=("scipy.special",)).start()
    with Shown(bars=True) as bar:
        made = runs.Runs(planned, store=store, workers=workers, progress=progress or bar, label=label).all()
    outcome = shown(made)
    return outcome, judge(outcome)
