"""Which parameters matter: Morris' elementary effects and Sobol's indices, by SALib."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Literal

from .. import extras
from ..analysis import statistics
from .search import Runs
from .search_space import Problem, TuneError, resolved

Method = Literal["morris", "sobol"]


@dataclass(frozen=True)
class Effect:
    """How much a parameter matters to an objective.

    Morris: `total` is mu*, the mean absolute elementary effect over the range, in the measure's unit; `alone` is mu,
    the mean with its sign; `spread` is sigma, which tells of curves and interactions. Sobol: `total` and `alone` are
    the total and first-order index, shares of the variance; `spread` is the half-width of the total's 95 % interval.
    """

    parameter: str
    objective: str
    total: float
    alone: float
    spread: float


def sensitivity(asked: Problem, runs: Runs, method: Method, size: int, seeds: int = 3) -> tuple[list[Effect], int]:
    """Effects of every parameter on every objective, and the number of choices that were run.

    `size` is the number of trajectories (Morris) or the base sample, best a power of two (Sobol). Logarithmic ranges
    are varied in ratios.

    Raises:
        TuneError: SALib is not installed, or the checker refuses part of the ranges.
    """
    try:
        from SALib.analyze import morris as analyse_morris
        from SALib.analyze import sobol as analyse_sobol
        from SALib.sample import morris as sample_morris
        from SALib.sample import sobol as sample_sobol
    except ImportError as error:
        raise TuneError(f"--sensitivity needs SALib: {extras.command('tune')}") from error
    import numpy as np

    ps = asked.parameters
    ends = [(math.log(p.low), math.log(p.high)) if p.log else (p.low, p.high) for p in ps]
    space = {"num_vars": len(ps), "names": [p.name for p in ps], "bounds": [list(e) for e in ends]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method == "morris":
            sample = sample_morris.sample(space, size, num_levels=4, seed=1)
        else:
            sample = sample_sobol.sample(space, size, calc_second_order=False, seed=1)
    choices = []
    for row in sample.tolist():
        values = {p.name: math.exp(x) if p.log else x for p, x in zip(ps, row, strict=True)}
        choice = resolved(ps, values)
        why = asked.refusal(choice)
        if why is not None:
            raise TuneError(f"the ranges hold what the checker refuses ({why}); give narrower ones with --param")
        choices.append(choice)
    gave = runs(choices, seeds, 1)
    found = []
    for k, objective in enumerate(asked.objectives):
        if not all(series[k] for series in gave):
            raise TuneError("some runs failed; sensitivity needs all of them")
        y = np.array([statistics.mean(series[k]) for series in gave])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if method == "morris":
                got = analyse_morris.analyze(space, sample, y, num_levels=4, seed=1)
                columns = (got["mu_star"], got["mu"], got["sigma"])
            else:
                got = analyse_sobol.analyze(space, y, calc_second_order=False, seed=1)
                columns = (got["ST"], got["S1"], got["ST_conf"])
        found += [
            Effect(p.name, objective.measure.id, float(a), float(b), float(c))
            for p, a, b, c in zip(ps, *columns, strict=True)
        ]
    return found, len(choices)
