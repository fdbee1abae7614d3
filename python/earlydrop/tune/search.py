"""Searches parameters with Optuna, and confirms the best on fresh seeds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import extras
from ..analysis import statistics
from ..analysis.statistics import Difference
from ..document import Document
from ..store import Store
from ..sweeps import Executor, Outcome, Tally, parse_document, run
from ..sweeps import plan as planned
from ..sweeps.base_scenario import of_sweep
from .search_space import Objective, Parameter, Problem, TuneError, resolved

Told = Callable[[int, int, str], None]

ROUND = 10
"""Trials proposed together, whatever the number of workers: so the same search gives the same trials."""
FINALISTS = 5
SECOND_SEEDS, FRESH_SEEDS = 1_000_001, 2_000_001
"""First seeds of the second round and of the confirmation; the search begins at 1."""


@dataclass(frozen=True)
class Trial:
    """Parameters that were tried, and their mean scores."""

    number: int
    values: dict[str, float]
    scores: tuple[float, ...]

    def document(self) -> dict[str, Any]:
        """Plain values."""
        return {"number": self.number, "parameters": self.values, "scores": list(self.scores)}


@dataclass
class Found:
    """The result of a search."""

    scenario: str
    aqm: str
    queue: str
    parameters: tuple[Parameter, ...]
    objectives: tuple[Objective, ...]
    baseline: dict[str, Any]
    start: tuple[float, ...]
    """Scores of the baseline, on the seeds of the search."""
    trials: list[Trial]
    refused: int
    seeds: int
    confirmed: int
    best: Trial | None = None
    label: str = ""
    """What the output calls the discipline, if it was given a name for it."""
    same_run: bool = False
    """Whether all fresh seeds gave the same run, so that nothing is confirmed."""
    differences: list[Difference] = field(default_factory=list)
    """The best minus the baseline on fresh seeds, by objective."""

    @property
    def success(self) -> bool:
        """Whether the best is better in every objective, each with an interval that excludes zero."""
        return bool(self.differences) and all(
            o.better(d) for o, d in zip(self.objectives, self.differences, strict=True)
        )

    @property
    def note(self) -> str:
        """Why the differences have no intervals; empty where they have them."""
        return statistics.same_run_note(self.confirmed) if self.same_run else ""

    @property
    def front(self) -> list[Trial]:
        """Trials that no other is better than in one objective without being worse in another."""
        return [t for t in self.trials if not any(_dominates(self.objectives, u.scores, t.scores) for u in self.trials)]

    def document(self, version: str) -> Document:
        """Everything as plain values."""
        return {
            "scenario": self.scenario,
            "version": version,
            "aqm": self.aqm,
            "label": self.label or self.aqm,
            "queue": self.queue,
            "parameters": [vars(p) for p in self.parameters],
            "objectives": [{"measure": o.measure.id, "direction": o.direction} for o in self.objectives],
            "baseline": {"parameters": self.baseline, "scores": list(self.start)},
            "seeds": self.seeds,
            "fresh_seeds": self.confirmed,
            "trials": [t.document() for t in self.trials],
            "refused": self.refused,
            "front": [t.number for t in self.front],
            "best": None if self.best is None else self.best.document(),
            "differences": {
                o.measure.id: d.document() for o, d in zip(self.objectives, self.differences, strict=bool(self.best))
            },
            "better": self.success,
            "notes": [self.note] if self.note else [],
        }


# ---- what is searched ----------------------------------------------------------------------------------------------


# ---- running -------------------------------------------------------------------------------------------------------


class Runs:
    """Runs choices of parameters over seeds, through the store."""

    def __init__(self, problem: Problem, store: Store, executor: Callable[[Document], Executor]) -> None:
        self.problem, self.store = problem, store
        self._make = executor
        self._executor: Executor | None = None
        self.failed = 0
        self.same_run = False
        """Whether every choice run last gave the same run with all seeds."""

    def close(self) -> None:
        """Stop the executor."""
        if self._executor is not None:
            self._executor.close()

    def __call__(
        self, choices: Sequence[Mapping[str, float] | None], seeds: int, first: int
    ) -> list[list[list[float]]]:
        """Values by choice (None is the baseline) and objective, one per seed; no values where a run failed."""
        levels = [
            {"name": f"c{k}", "set": {} if choice is None else self.problem.sets(choice)}
            for k, choice in enumerate(choices)
        ]
        measures = [o.measure.id for o in self.problem.objectives]
        document = {
            **of_sweep(self.problem.base),
            "seeds": seeds,
            "first_seed": first,
            "queue": self.problem.queue,
            "measures": measures,
            "factor": [{"name": "choice", "levels": levels}],
        }
        sweep = parse_document(
            document, Path("tune"), measures=[o.measure for o in self.problem.objectives], apart=False
        )
        if self._executor is None:
            self._executor = self._make(sweep.document)
        outcome: Outcome = run(planned(sweep), self.store, self._executor, tell=self._tell)
        self.failed += outcome.tally.failed
        self.same_run = len(outcome.fixed) == len(choices)
        return [[s if len(s := outcome.series(m, k)) == seeds else [] for m in measures] for k in range(len(choices))]

    def _tell(self, tally: Tally) -> None:
        """Report progress trial by trial."""


def tune(
    asked: Problem,
    runs: Runs,
    *,
    trials: int = 100,
    seeds: int = 5,
    confirm: int = 20,
    seed: int = 1,
    told: Told = lambda done, total, what: None,
) -> Found:
    """Search, then confirm the best on `confirm` fresh seeds.

    Raises:
        TuneError: Optuna is not installed, or the baseline's runs fail.
    """
    try:
        import optuna
    except ImportError as error:
        raise TuneError(f"tune needs Optuna: {extras.command('tune')}") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True, n_startup_trials=20)
        search = optuna.create_study(directions=[o.direction for o in asked.objectives], sampler=sampler)
        (base,) = runs([None], seeds, 1)
        if not all(base):
            raise TuneError(f"the runs of {asked.aqm} with the scenario's own parameters fail")
        start = tuple(statistics.mean(values) for values in base)
        found = Found(
            asked.name,
            asked.aqm,
            asked.queue,
            asked.parameters,
            asked.objectives,
            asked.baseline,
            start,
            [],
            0,
            seeds,
            confirm,
            label=asked.label,
        )
        while len(found.trials) + found.refused < trials:
            count = min(ROUND, trials - len(found.trials) - found.refused)
            proposed = [search.ask() for _ in range(count)]
            choices = [resolved(asked.parameters, _proposal(trial, asked.parameters)) for trial in proposed]
            good = [k for k, choice in enumerate(choices) if asked.refusal(choice) is None]
            values = runs([choices[k] for k in good], seeds, 1) if good else []
            by_trial = dict(zip(good, values, strict=True))
            for k, trial in enumerate(proposed):
                series = by_trial.get(k)
                if series is None or not all(series):
                    search.tell(trial, state=optuna.trial.TrialState.FAIL)
                    found.refused += 1
                    continue
                scores = tuple(statistics.mean(v) for v in series)
                search.tell(trial, list(scores))
                found.trials.append(Trial(len(found.trials), choices[k], scores))
            told(len(found.trials) + found.refused, trials, f"tuning {asked.aqm}")
    _confirm(asked, runs, found, seeds, confirm)
    return found


def _proposal(trial: Any, parameters: Sequence[Parameter]) -> dict[str, float]:
    return {
        p.name: float(
            trial.suggest_int(p.name, int(p.low), int(p.high), log=p.log)
            if p.whole and p.of is None
            else trial.suggest_float(p.name, p.low, p.high, log=p.log)
        )
        for p in parameters
    }


def _confirm(asked: Problem, runs: Runs, found: Found, seeds: int, confirm: int) -> None:
    """Run the most promising trials on new seeds, and the best of them on fresh ones: what was only lucky is out.

    The fresh seeds are looked at once, for one choice, so that their intervals are what they say.
    """
    promising = sorted(found.trials, key=lambda t: _gain(asked, t.scores, found.start), reverse=True)[:FINALISTS]
    if not promising:
        return
    base, *others = runs([None, *(t.values for t in promising)], 2 * seeds, SECOND_SEEDS)
    start = tuple(statistics.mean(v) for v in base)
    scores = [tuple(statistics.mean(v) for v in series) if all(series) else start for series in others]
    gains = [_gain(asked, s, start) for s in scores]
    best = promising[gains.index(max(gains))]
    control, treatment = runs([None, best.values], confirm, FRESH_SEEDS)
    found.best, found.same_run = best, runs.same_run
    found.differences = [
        statistics.paired(a, b, same_run=runs.same_run) for a, b in zip(treatment, control, strict=True)
    ]


def _gain(asked: Problem, scores: Sequence[float], start: Sequence[float]) -> float:
    """The least relative improvement over the objectives: positive if all improve."""
    return min(
        (s - b if o.larger else b - s) / (abs(b) or 1.0)
        for o, s, b in zip(asked.objectives, scores, start, strict=True)
    )


def _dominates(objectives: Sequence[Objective], a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether a is nowhere worse than b, and somewhere better."""
    gains = [(x - y) if o.larger else (y - x) for o, x, y in zip(objectives, a, b, strict=True)]
    return all(g >= 0 for g in gains) and any(g > 0 for g in gains)


# ---- sensitivity ---------------------------------------------------------------------------------------------------


# ---- text ----------------------------------------------------------------------------------------------------------
