"""`earlydrop tune`: better parameters for a discipline."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from .. import terminal
from .checks import check_count, check_workers, parse_settings
from .exits import DONE
from .failures import InputError, Interrupted
from .options import Cluster, Json, Measures, ScenarioFile, Sets, Trust, Workers
from .printing import print_json, version


def tune(
    scenario: ScenarioFile,
    /,
    *,
    aqm: Annotated[
        str,
        Parameter(name="--aqm", help="The discipline whose parameters are searched, perhaps as LABEL = DISCIPLINE."),
    ],
    objective: Annotated[
        list[str],
        Parameter(
            name="--objective",
            negative="",
            consume_multiple=True,
            help="Measures to improve (default: those of --measure, or delay and goodput).",
        ),
    ] = [],  # noqa: B006
    measure: Measures = [],  # noqa: B006
    trials: Annotated[int, Parameter(help="Number of parameter sets to try.")] = 100,
    param: Annotated[
        list[str],
        Parameter(name="--param", negative="", help="A parameter and its range: NAME=LOW..HIGH. May be repeated."),
    ] = [],  # noqa: B006
    seeds: Annotated[int, Parameter(help="Runs of each parameter set.")] = 5,
    confirm: Annotated[int, Parameter(help="New seeds on which the best parameter set is confirmed.")] = 20,
    sensitivity: Annotated[
        Literal["morris", "sobol"] | None,
        Parameter(help="Analyse which parameters matter instead of searching; --trials is the sample size."),
    ] = None,
    seed: Annotated[int, Parameter(help="Seed of the search.")] = 1,
    store: Annotated[str, Parameter(name="--store", help="Folder or address where runs are stored.")] = "out/store",
    set_: Sets = [],  # noqa: B006
    workers: Workers = None,
    cluster: Cluster = None,
    trust: Trust = False,
    json: Json = False,
) -> int:
    """Search for better parameters of a discipline than the scenario's own, and confirm them on new seeds."""
    from .. import sweeps
    from .. import tune as tuning
    from ..analysis.quantity import asked as asked_for

    check_workers(workers)
    check_count("--trials", trials)
    check_count("--seeds", seeds)
    if confirm < 2:
        raise InputError(f"--confirm: given {confirm}; allowed 2 or more", given=str(confirm), allowed="2 or more")
    measures = asked_for(measure, where="--measure")
    asked = tuning.problem(scenario, aqm, objective, param, parse_settings(set_), measures)
    opened = sweeps.open_store(store)
    runs = tuning.Runs(
        asked, opened, lambda base: sweeps.Cluster(base, cluster) if cluster else sweeps.Threads(base, workers)
    )
    try:
        if sensitivity is not None:
            effects, count = tuning.sensitivity(asked, runs, sensitivity, trials, seeds)
            if json:
                print_json({"method": sensitivity, "choices": count, "effects": [vars(e) for e in effects]})
            else:
                print(tuning.effects_text(effects, sensitivity, count))
            return DONE
        with terminal.Progress() as progress:
            found = tuning.tune(asked, runs, trials=trials, seeds=seeds, confirm=confirm, seed=seed, told=progress)
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted: what was run is in {opened.url}; the same command goes on from there"
        ) from None
    finally:
        runs.close()
    if json:
        print_json(found.document(version()))
    else:
        print(tuning.found_text(found))
    return DONE
